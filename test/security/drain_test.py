#!/usr/bin/python3
"""How waiting ends: a worker that is told to stop drains, and programs wait no longer than they said."""
import ctypes
import os
import pathlib
import signal
import struct
import subprocess
import time

import siege  # first: it finds the others

import processes

PIDFD_OPEN, SECCOMP, NO_NEW_PRIVS, ENOSYS = 434, 317, 38, 38


def without_pidfd():
    """For Popen(preexec_fn): the system seems to have no descriptors of processes."""
    load, equal, leave = 0x20, 0x15, 0x06
    steps = [(load, 0, 0, 0), (equal, 0, 1, PIDFD_OPEN), (leave, 0, 0, 0x50000 | ENOSYS), (leave, 0, 0, 0x7fff0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(text))
    libc = ctypes.CDLL(None)
    if libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.syscall(SECCOMP, 1, 0, program) != 0:
        os._exit(1)


class Drain(siege.Siege):
    def body(self, rounds):
        """A file with a function that takes its time; rounds 0: for ever."""
        path = f"{self.folder}/slow{rounds}.cl"
        ends = f"n < {rounds}L" if rounds else "x >= 0"
        pathlib.Path(path).write_text("int attempt(long i) { volatile int x = 1; if (i > 0) return 0;"
                                      f" for (volatile long n = 0; {ends}; n++) {{}} return x; }}\n", encoding="ascii")
        return path

    def begin(self, worker, *commands, word="pause DCL_OK", **more):
        client = siege.start([siege.CLIENT, "open", "work", "pause", *commands], **{**worker.variables, **more})
        self.addCleanup(client.communicate)
        siege.line_of(client, word)
        return client

    def ends(self, worker, within):
        """@return seconds until it has ended well."""
        start = time.monotonic()
        self.assertEqual(worker.process.wait(60), 0, worker.log())
        took = time.monotonic() - start
        self.assertFalse(processes.is_late(took, within * siege.SLOW), f"{took:.2f} s: {worker.log()}")

    def test_idle_session(self):
        worker = self.worker("--grace", "60")
        client = self.begin(worker, "work")
        worker.process.send_signal(signal.SIGTERM)
        self.ends(worker, 10)
        text, _ = client.communicate("go on\n", timeout=30)
        self.assertRegex(text, "DCL_ERR_NODE_LOST .*its worker is being stopped")

    def test_running_operation(self):
        """It ends, and its program has the result; who comes meanwhile is told."""
        worker = self.worker("--grace", "60")
        client = self.begin(worker, f"spy:{self.body(6000000000)}")
        client.stdin.write("go on\n")
        client.stdin.flush()
        time.sleep(1.0 * siege.SLOW)  # it computes; when it has not begun yet, that is as good
        worker.process.send_signal(signal.SIGTERM)
        self.assertTrue(worker.logs("stopping: 1 session", 10), worker.log())
        other = self.client(worker)
        self.assertRegex(other.text, "DCL_ERR_NETWORK.*being stopped")
        text, _ = client.communicate(timeout=60)
        self.assertIn("DCL_OK 1 0 0", text)
        self.ends(worker, 10)

    def test_endless_operation(self):
        worker = self.worker("--grace", "1")
        client = self.begin(worker, f"spy:{self.body(0)}")
        client.stdin.write("go on\n")
        client.stdin.flush()
        time.sleep(1.0 * siege.SLOW)
        worker.process.send_signal(signal.SIGTERM)
        text, _ = client.communicate(timeout=60)
        self.assertRegex(text, "DCL_ERR_NODE_LOST .*longer than its --grace")
        self.ends(worker, 10)

    def test_told_twice(self):
        worker = self.worker("--grace", "60")
        client = self.begin(worker, f"spy:{self.body(0)}")
        client.stdin.write("go on\n")
        client.stdin.flush()
        time.sleep(1.0 * siege.SLOW)
        worker.process.send_signal(signal.SIGTERM)
        self.assertTrue(worker.logs("stopping: 1 session", 10), worker.log())
        worker.process.send_signal(signal.SIGTERM)
        self.ends(worker, 10)
        text, _ = client.communicate(timeout=60)
        self.assertIn("DCL_ERR_NODE_LOST", text)

    def test_waits_that_end(self):
        """dcl_wait_all(), a read and closing, with an operation that never ends."""
        endless = self.body(0)
        done = siege.run([siege.CLIENT, "open", f"begin:{endless}", "wait:0.5", "close"], seconds=60,
                         DCL_WORKERS="local:1", DCL_WAIT_MS="1500")
        self.assertRegex(done.text, "wait:0.5 DCL_ERR_TIMEOUT .*not complete after 0.5 seconds; wait longer")
        self.assertRegex(done.text, "close DCL_ERR_TIMEOUT .*after 1.5 seconds; raise DCL_WAIT_MS")
        done = siege.run([siege.CLIENT, "open", f"spy:{endless}"], seconds=60, DCL_WORKERS="local:1",
                         DCL_WAIT_MS="1500")
        self.assertRegex(done.text, "spy:.* DCL_ERR_TIMEOUT .*raise DCL_WAIT_MS")

    def test_system_without_pidfd(self):
        done = subprocess.run([siege.CLIENT, "open"], env=siege.environment(DCL_WORKERS="local:1"), timeout=60,
                              capture_output=True, text=True, check=False, preexec_fn=without_pidfd)
        self.assertRegex(done.stdout, "DCL_ERR_UNSUPPORTED .*pidfd_open: this system has no descriptors of processes")


if __name__ == "__main__":
    siege.main()
