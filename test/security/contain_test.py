#!/usr/bin/python3
"""What a hostile client's kernel can do on a processor, where it is native code: no text is refused here, the process that
runs it is what holds."""
import ctypes
import glob
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import struct
import subprocess
import unittest

import siege  # first: it finds the others

import processes

ATTEMPTS = pathlib.Path(__file__).with_name("attempts.cl").read_text(encoding="ascii")
FORBIDDEN = {0: "read a secret file", 1: "read /etc/passwd", 2: "read the token", 3: "read it by the C library",
             4: "make a file beside", 5: "remove a file", 6: "change a file's mode", 7: "read the supervisor's environment",
             8: "open another session's memory", 9: "write into another client's kernel cache",
             10: "connect to a port of this host", 11: "connect to the worker's own port", 12: "make a Unix socket",
             13: "make a UDP socket", 14: "make an MPTCP socket", 15: "signal the supervisor",
             16: "signal another session's process", 17: "trace a process of the user", 18: "trace another session's process",
             19: "read another process' memory", 20: "make itself traceable", 21: "signal a thread of the supervisor",
             22: "ask for the supervisor's limits", 23: "send to a port of this host", 24: "share memory with the user",
             25: "make a namespace", 26: "cut a file by its name", 27: "have the supervisor signalled"}
NEEDED = {32: "read a library", 33: "read a file of --files", 34: "write into its own kernel cache", 35: "start a process"}
SECRET = "b5f1c0de" * 8

# The client and the command without the filter of kernels' texts. The command is where its processes look for it.
UNFILTERED = os.path.abspath(os.environ.get("TEST_SECURITY_UNFILTERED", "build/test/security_client_unfiltered"))

CREATE_RULESET, SECCOMP, NO_NEW_PRIVS = 444, 317, 38


def landlock():
    return ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, 1)


def without_landlock():
    """For Popen(preexec_fn): the system seems to have none."""
    load, equal, leave = 0x20, 0x15, 0x06
    steps = [(load, 0, 0, 0), (equal, 0, 1, CREATE_RULESET), (leave, 0, 0, 0x50000 | 38), (leave, 0, 0, 0x7fff0000)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    text = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(text))
    libc = ctypes.CDLL(None)
    if libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.syscall(SECCOMP, 1, 0, program) != 0:
        os._exit(1)


def anybody_may_trace():
    ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)


class Contained(siege.Siege):
    def setUp(self):
        super().setUp()
        if platform.machine() != "x86_64":
            self.skipTest("the kernels are written for x86-64")
        if landlock() < 6:
            self.skipTest(f"Landlock of this system is {landlock()}; 6 has all that is tested")
        self.files, self.cache = self.inner("files"), self.inner("cache")
        program = shutil.copy(f"{os.path.dirname(UNFILTERED)}/dcl_unfiltered", f"{self.inner('bin')}/dcl")
        for name, path in (("DCL", program), ("CLIENT", UNFILTERED)):
            self.addCleanup(setattr, siege, name, getattr(siege, name))
            setattr(siege, name, path)
        pathlib.Path(f"{self.files}/given").write_text("given", encoding="ascii")
        self.secret = f"{self.folder}/secret"
        pathlib.Path(self.secret).write_text(f'"{SECRET}"\n', encoding="ascii")
        os.chmod(self.secret, 0o600)

    def start(self, client_keys, worker):
        """A client that has opened its session and waits."""
        client = siege.start([siege.CLIENT, "open", "pause", "close"], **{**worker.variables, **client_keys})
        self.addCleanup(client.communicate)
        siege.line_of(client, "pause DCL_OK")
        return client

    def spy(self, worker, keys, **values):
        """Make all the attempts; @return what each returned."""
        text = ATTEMPTS
        for name, value in values.items():
            text = text.replace(f"@{name.upper()}@", str(value))
        path = f"{self.folder}/attempts.cl"
        pathlib.Path(path).write_text(text, encoding="ascii")
        done = self.client(worker, "open", f"spy:{path}", "close", **keys)
        self.assertEqual(done.code, 0, f"{done.text}\nworker: {worker.log()}")
        return [int(word) for word in re.search(r"spy:\S+ DCL_OK (.*)", done.out)[1].split()]

    def world(self, *options):
        """A worker with keys, a sibling session of another client, and the words for the attempts."""
        worker_keys, one, two = self.keys("worker", "one", "two")
        worker = self.worker("--files", self.files, "--cache", self.cache, *options, keys=worker_keys,
                             SESSION_TOKEN=SECRET)
        self.start({"DCL_KEYS": two}, worker)
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        doomed = f"{self.folder}/doomed"
        pathlib.Path(doomed).write_text("doomed", encoding="ascii")
        victim = subprocess.Popen(["sleep", "600"], preexec_fn=anybody_may_trace)
        self.addCleanup(victim.wait)
        self.addCleanup(victim.kill)
        own, other = (self.cache_of(keys) for keys in (one, two))
        return worker, {"DCL_KEYS": one}, {
            "secret": self.secret, "token": f"{worker_keys}/own.secret", "made": f"{self.folder}/made", "leave": 1,
            "doomed": doomed, "victim": victim.pid,
            "library": "/usr/lib/os-release", "given": f"{self.files}/given", "parent": worker.pid,
            "sibling": next(iter(worker.children())), "other": f"{other}/planted", "own": f"{own}/planted",
            "port": listener.getsockname()[1], "listener": worker.port}

    def cache_of(self, keys):
        text = pathlib.Path(f"{keys}/own.public").read_text(encoding="ascii")
        return f"{self.cache}/{re.search(r'[0-9a-f]{64}', text)[0]}"

    def test_native_code(self):
        worker, keys, words = self.world()
        before = worker.children()
        found = self.spy(worker, keys, **words)
        for number, what in FORBIDDEN.items():
            with self.subTest(what):
                self.assertLess(found[number], 0, f"a kernel could {what}")
        for number, what in NEEDED.items():
            with self.subTest(what):
                self.assertEqual(found[number], 1, f"a kernel could not {what}")
        self.assertTrue(os.path.exists(words["doomed"]))
        self.assertFalse(os.path.exists(f"{self.folder}/made"))
        # What it started outlives neither the session nor its process.
        processes.wait_until(lambda: worker.children() <= before, 5, "the end of what a kernel has started")
        self.works(worker, **keys)

    def test_contained_no_more_than_asked(self):
        """The attempts themselves are right: without containment they succeed."""
        worker, keys, words = self.world("--contain", "off")
        self.assertTrue(worker.logs("not contained"), worker.log())
        found = self.spy(worker, keys, **{**words, "leave": 0})
        done = [number for number in FORBIDDEN if found[number] >= 0]
        self.assertTrue({0, 1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 15, 16, 19, 20, 21, 22, 24, 26, 27} <= set(done),
                        found)

    def test_included_file(self):
        """The compiler reads as the process does."""
        worker, keys, _ = self.world()
        path = f"{self.folder}/include.cl"
        pathlib.Path(path).write_text(f'#include "{self.secret}"\nint attempt(long i) {{ return 0; }}\n',
                                      encoding="ascii")
        done = self.client(worker, "open", f"spy:{path}", **keys)
        self.assertEqual(done.code, 1, done.text)
        self.assertIn("DCL_ERR_BODY", done.text)
        self.assertNotIn(SECRET, done.text + worker.log())

    def test_process(self):
        """No core dump, no new privileges, not traced, nothing of the worker's environment but what drivers read."""
        worker, _, words = self.world()
        pid = words["sibling"]
        limits = pathlib.Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
        self.assertRegex(limits, r"Max core file size\s+0\s+0")
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        self.assertRegex(status, r"NoNewPrivs:\s+1")
        self.assertRegex(status, r"Seccomp:\s+2")
        variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
        self.assertNotIn(SECRET, variables)
        self.assertIn(f"POCL_CACHE_DIR={self.cache}/", variables)
        self.assertIn(f"CUDA_CACHE_PATH={self.cache}/", variables)
        if siege.SLOW == 1:  # sanitizers need it
            owner = os.stat(f"/proc/{pid}/environ").st_uid
            self.assertEqual(owner, 0, "can be traced")

    def test_kernels_of_others(self):
        """What one client leaves in its cache, no other one runs."""
        worker_keys, one, two = self.keys("worker", "one", "two")
        worker = self.worker("--cache", self.cache, keys=worker_keys)
        self.works(worker, DCL_KEYS=one)
        planted = glob.glob(f"{self.cache_of(one)}/pocl/**/*.so*", recursive=True)
        self.assertTrue(planted, os.listdir(self.cache))
        for path in planted:
            pathlib.Path(path).write_bytes(b"planted")
        self.works(worker, DCL_KEYS=two)
        self.assertTrue(glob.glob(f"{self.cache_of(two)}/pocl/**/*.so*", recursive=True))

    def test_group(self):
        """Where the worker may make control groups, each session has one, which ends with it."""
        worker, _, words = self.world()
        line = next(line for line in pathlib.Path(f"/proc/{words['sibling']}/cgroup").read_text().splitlines()
                    if line.startswith("0::")) if os.path.exists("/proc/self/cgroup") else ""
        if "dcl-session-" not in line:
            self.skipTest("no control groups of version 2 can be made here")
        mount = next(line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()
                     if line.split()[2] == "cgroup2")
        folder = mount + line[3:]
        self.assertTrue(os.path.isdir(folder), folder)
        worker.process.terminate()
        processes.wait_until(lambda: not os.path.exists(folder), 10, "the end of the session's group")

    def test_ports_of_others(self):
        """Members of a session meet where all workers have the same ports, or --peer-ports says which."""
        def free():
            with socket.create_server(("127.0.0.1", 0)) as listener:
                return listener.getsockname()[1]
        first, second = free(), free()
        keys, own = self.keys("worker", "one")
        one = self.worker("--ports", f"{first}-{first}", keys=keys)
        for more, code in (([], 1), (["--peer-ports", f"{first}-{first}"], 0)):
            other = self.worker("--ports", f"{second}-{second}", *more, keys=keys)
            done = self.client(one, "open", "work", "close", DCL_KEYS=own, DCL_WORKERS=f"{one.address},{other.address}",
                               DCL_SILENCE_MS="3000")
            self.assertEqual(done.code, code, f"{more}: {done.text}\nworker: {other.log()}")
            self.assertEqual(code == 1, other.logs(f"node 0 listens at port {first}.*--peer-ports", 0.5), other.log())
            other.stop()

    def test_system_without_landlock(self):
        log = f"{self.folder}/log"
        argv = [siege.DCL, "worker", "--listen", siege.LOOPBACK, "--token", f"{self.folder}/token"]
        for more, words, ends in (([], "not wholly contained: this system has no Landlock", False),
                                  (["--contain", "strict"], "no Landlock", True)):
            with open(log, "wb") as file, subprocess.Popen([*argv, *more], stdin=subprocess.DEVNULL, stdout=file,
                                                           stderr=file, env=siege.environment(),
                                                           preexec_fn=without_landlock) as worker:
                processes.wait_until(lambda: re.search(words, pathlib.Path(log).read_text()), 10, words)
                if not ends:
                    processes.wait_until(lambda: "listening" in pathlib.Path(log).read_text(), 10, "a listener")
                    worker.send_signal(signal.SIGTERM)
                self.assertEqual(worker.wait(10), 1 if ends else 0)


if __name__ == "__main__":
    siege.main()
