#!/usr/bin/python3
"""Worker processes that cannot have the memory they are asked for: memory_test.py DCL PROGRAMS

The device's memory, a control group (where this user may make one) and `ulimit -f` are limits: what is beyond is an error of
the array, with a sentence; no process is killed by the system. What a session takes beside its arrays counts, too."""
import errno
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
SLOW = float(os.environ.get("TEST_SLOW") or 1)
DCL, PROGRAMS = sys.argv[1:3]
BODY = "T(i) = i;"
KINDS = {"staged": ["node 1", "for what a batch of a loop body stages exceed the quota", f"arrays {18 << 20}",
                    "received data 4"],
         "spare": []}
READERS = {"readers": 4, "reversed": 6, "all": 4}  # of one node's part, and the nodes there are


def environment(settings):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("DCL_", "POCL_MEMORY"))}
    return {**env, "DCL_WORKERS": "local:1", "POCL_DEVICES": "pthread", **settings}


def evaluate(folder, elements, settings, before=""):
    command = f'{before} exec "{DCL}" eval "{BODY}" T={folder}/t.npy:{elements}:float'
    return subprocess.run(["bash", "-c", command], env=environment(settings), timeout=60 * SLOW, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def compute(kind, nodes, quota):
    """The output of the program `quota` with so much room a node."""
    settings = {"DCL_WORKERS": f"local:{nodes}", "DCL_PROGRAM": DCL, "DCL_TRANSFER": "send", "DCL_QUOTA_BYTES": quota}
    return subprocess.run([f"{PROGRAMS}/quota", kind], env=environment(settings), timeout=60 * SLOW, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def check_kind(kind, words, nodes=2, quota="20M"):
    done = compute(kind, nodes, quota)
    faults = [f"'{word}' is not in what it says" for word in [*words, "right"] if word not in done.stdout]
    if done.returncode != 0:
        faults.append(f"it ended with {done.returncode}")
    for fault in faults:
        print(f"{kind}: {fault}\n  {done.stdout.strip()}")
    return not faults


def check(what, done, words):
    """@param words  of the sentence; none: it succeeds."""
    faults = [f"'{word}' is not in the sentence" for word in words if word not in done.stderr]
    if (done.returncode != 0) != bool(words) or done.returncode < 0 or done.returncode > 125:
        faults.append(f"it ended with {done.returncode}")
    if "is lost" in done.stderr:
        faults.append("a node was lost")
    for fault in faults:
        print(f"{what}: {fault}\n  {done.stderr.strip()}")
    return not faults


def make_group():
    """A control group of this test's own with 300 MiB. None: not to be had here."""
    for mount, name, others in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", ()),
                                ("/sys/fs/cgroup", "memory.max", ("memory.swap.max",))):
        folder = f"{mount}/dcl-test-{os.getpid()}"
        try:
            os.mkdir(folder)
        except OSError:
            continue
        try:
            with open(f"{folder}/{name}", "w", encoding="ascii") as file:
                file.write(str(300 << 20))
            for other in others:
                if os.path.exists(f"{folder}/{other}"):
                    with open(f"{folder}/{other}", "w", encoding="ascii") as file:
                        file.write("0")
            return folder
        except OSError:
            os.rmdir(folder)
    return None


def remove_group(group):
    """Processes that have ended may be counted for a moment yet."""
    end = time.monotonic() + 2 * SLOW
    while True:
        try:
            return os.rmdir(group)
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
        time.sleep(0.02)


def main():
    passed = []
    with tempfile.TemporaryDirectory() as folder:
        done = evaluate(folder, 1000, {})
        if done.returncode != 0 and "device" in done.stderr:
            print(f"skipped: {done.stderr.strip()}")
            return 77
        passed.append(check("a small array", done, []))
        passed.append(check("more than the device has", evaluate(folder, 400 << 20, {"POCL_MEMORY_LIMIT": "1"}),
                            ["node 0", "exceed the quota of this session", "DCL_QUOTA_BYTES"]))
        passed.append(check("larger than a file may be", evaluate(folder, 16 << 20, {"DCL_FILES": "stream"},
                                                                  "ulimit -f 32768;"),
                            ["node 0", "ftruncate", "File too large"]))
        passed.append(check("more than a process's share of the device's memory",
                            evaluate(folder, 300 << 20, {"POCL_MEMORY_LIMIT": "1", "DCL_WORKERS": "local:2"}),
                            ["exceed the quota of this session", f" of {(512 << 20) * 4 // 5 + 1} bytes"]))
        for kind, words in KINDS.items():
            passed.append(check_kind(kind, words))
        for kind, nodes in READERS.items():
            passed.append(check_kind(kind, [], nodes, "256M"))
        group = make_group()
        if group:
            try:
                enter = f"echo $$ > {group}/cgroup.procs;"
                passed.append(check("a small array in a control group", evaluate(folder, 1000, {}, enter), []))
                passed.append(check("more than the control group has", evaluate(folder, 200 << 20, {}, enter),
                                    ["node 0", "exceed the quota of this session"]))
            finally:
                remove_group(group)
        else:
            print("without a control group, which cannot be made here")
    print(f"{sum(passed)} of {len(passed)} passed")
    return 0 if all(passed) else 1


sys.exit(main())
