#!/usr/bin/env python3
"""Worker processes whose driver hangs or fails: deadline_test.py DCL PROGRAMS FAKE_OPENCL.

The driver is the fake one of test/support/fake_opencl: in each process the n-th call hangs or fails. A process that hangs
is ended by its deadline, or by its silence; the program gets an error that names the worker, the body and the setting.
"""
import os
import subprocess
import sys
import tempfile
import time

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(os.path.dirname(HERE), "support"))
import processes
from workers import open_place

DCL, PROGRAMS, FAKE = sys.argv[1:4]
BODY = "T(i,j) = A(j,i);"
LIMIT = 30  # seconds for a program that is to end within one
SLOW = float(os.environ.get("TEST_SLOW") or 1)  # how much longer things may take: sanitizers, busy machines

# what happens, plan of the driver, settings, most seconds, words of the sentence
CASES = [
    ("a compiler that hangs", "hang clBuildProgram 2", {"DCL_BUILD_MS": "500"}, 4,
     ["is lost: worker ", "was ended: its compiler took longer than DCL_BUILD_MS allows",
      f"while it built `{BODY}`", "arrays that had a part on it have failed: ", "T", "A"]),
    ("a kernel that never ends", "hang kernel 3", {"DCL_KERNEL_MS": "500"}, 4,
     ["is lost: worker ", "was ended: its kernel took longer than DCL_KERNEL_MS allows", f"while it ran `{BODY}`"]),
    ("a call that never returns", "hang clEnqueueNDRangeKernel 3", {"DCL_SILENCE_MS": "1000"}, 6,
     ["is lost: worker ", "does not answer (it has been silent for longer than DCL_SILENCE_MS)"]),
    ("a device that cannot be opened", "fail clCreateContext 1 -6", {}, 4,
     ["worker ", "did not start: clCreateContext gave CL_OUT_OF_HOST_MEMORY (-6)"]),
    ("a kernel that cannot be started", "fail clEnqueueNDRangeKernel 3 -5", {}, 4,
     ["node ", "clEnqueueNDRangeKernel gave CL_OUT_OF_RESOURCES (-5)"]),
]


# Pieces of two elements, transposed: each is planned for itself, on this node and for its peer.
PLANNED = ["--map", "rows:hash(1x2)"]
PLANS = [
    ("planning that takes too long", {"DCL_PLAN_MS": "50"},
     ["is lost: worker ", "was ended: planning took longer than DCL_PLAN_MS allows", f"while it planned `{BODY}`"]),
    ("planning that takes longer than the silence", {"DCL_SILENCE_MS": "250"}, []),
]


def environment(plan, settings):
    env = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
    return {**env, "OCL_ICD_VENDORS": FAKE, "TEST_OPENCL": plan, "DCL_WORKERS": "local:2", "DCL_KERNEL_MS": "20000",
            "DCL_BUILD_MS": "20000", **settings}


def children_of(mark):
    """Processes that carry the mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def run(folder, what, plan, settings, most, words):
    mark = f"TEST_MARK=deadline-{os.getpid()}-{what}"
    env = environment(plan, settings)
    env["TEST_MARK"] = mark.split("=", 1)[1]
    start = time.monotonic()
    done = subprocess.run([DCL, "eval", BODY, f"A={folder}/a.npy", f"T={folder}/t.npy"], env=env, timeout=LIMIT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    took = time.monotonic() - start
    faults = [f"'{word}' is not in the sentence" for word in words if word not in done.stderr]
    if done.returncode == 0:
        faults.append("the program succeeded")
    if processes.is_late(took, most * SLOW):
        faults.append(f"it took {took:.1f} s; expected at most {most * SLOW}")
    if os.path.exists(f"{folder}/t.npy"):
        faults.append("a result was saved")
    until = time.monotonic() + 2 * SLOW
    while children_of(mark) and time.monotonic() < until:
        time.sleep(0.05)
    if children_of(mark):
        faults.append(f"processes {children_of(mark)} are left")
    for fault in faults:
        print(f"{what}: {fault}\n  {done.stderr.strip()}")
    return not faults


def plan(folder, what, settings, words):
    env = environment("", {"DCL_TRANSFER": "send", **settings})
    done = subprocess.run([DCL, "eval", *PLANNED, BODY, f"A={folder}/large.npy", f"T={folder}/t.npy"], env=env,
                          timeout=LIMIT * SLOW, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    faults = [f"'{word}' is not in the sentence" for word in words if word not in done.stderr]
    if (done.returncode == 0) != (not words):
        faults.append(f"the program ended with {done.returncode}")
    elif not words and not numpy.array_equal(numpy.load(f"{folder}/t.npy"), numpy.load(f"{folder}/large.npy").T):
        faults.append("the result is wrong")
    for fault in faults:
        print(f"{what}: {fault}\n  {done.stderr.strip()}")
    return not faults


def host(folder):
    """The program plans what it reads, too: its workers do not take it for lost meanwhile, nor it them."""
    what, silence_ms = "a program that plans for longer than the silence", int(700 * SLOW)
    os.mkdir(f"{folder}/workers")
    with open_place("tcp:2", DCL, f"{folder}/workers") as place:
        env = {**environment("", {"DCL_SILENCE_MS": str(silence_ms)}), **place.variables}
        del env["OCL_ICD_VENDORS"]
        done = subprocess.run([f"{PROGRAMS}/slow_plan", str(2 * silence_ms)], env=env, timeout=4 * LIMIT * SLOW,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = done.stdout.split()
    if done.returncode == 0 and said[:1] + said[2:] == ["took", "end"] and int(said[1]) >= 2 * silence_ms:
        return True
    print(f"{what}: the program ended with {done.returncode}: {done.stdout.strip()} {done.stderr.strip()}")
    return False


def main():
    if subprocess.run([DCL, "devices"], env=environment("", {}), stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: there is no device behind the fake driver")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        numpy.save(f"{folder}/a.npy", numpy.arange(90000, dtype=numpy.float32).reshape(300, 300))
        numpy.save(f"{folder}/large.npy", numpy.arange(360000, dtype=numpy.float32).reshape(600, 600))
        passed = [run(folder, *case) for case in CASES] + [plan(folder, *case) for case in PLANS]
        passed.append(host(folder))
    print(f"{sum(passed)} of {len(passed)} passed")
    return 0 if all(passed) else 1


sys.exit(main())
