#!/usr/bin/python3
"""Programs that use one worker at the same time share its device, and nothing else."""
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

import siege  # first: it finds the others

import processes

ROUNDS = "40" if siege.LONG else "6"

TRACER = """import ctypes, sys
SEIZE = 0x4206
print(ctypes.CDLL(None).ptrace(SEIZE, int(sys.argv[1]), None, None), flush=True)
sys.stdin.read()"""


class Isolation(siege.Siege):
    def clients(self, worker, *programs, **variables):
        """Start them, each up to its `pause`; @return [process]."""
        started = []
        for commands in programs:
            client = siege.start([siege.CLIENT, *commands], **{**worker.variables, **variables})
            self.addCleanup(client.communicate)
            started.append(client)
        for client in started:
            siege.line_of(client, "pause DCL_OK")
        return started

    def go_on(self, clients):
        """Let all go on at once; @return their texts, all having ended well."""
        for client in clients:
            client.stdin.write("go on\n")
            client.stdin.flush()
        texts = [client.communicate(timeout=600)[0] for client in clients]
        for client, text in zip(clients, texts):
            self.assertEqual(client.returncode, 0, text)
        return texts

    @staticmethod
    def times(text):
        """@return seconds of all operations together, and of the slowest one."""
        return tuple(float(word) for word in re.search(r"rounds, ([0-9.]+) s, slowest ([0-9.]+) s", text).groups())

    @staticmethod
    def silence(least):
        """How long a program may be silent, in seconds: longer on a busy machine, which may stop all of it for as long."""
        return max(least * siege.SLOW, min(2 * processes.slowness() * siege.SLOW, 6))

    def test_ten_operations_each(self):
        """Two programs with the same names and shapes of arrays: each finds its own values, every one compared."""
        worker = self.worker()
        program = ["open", "work", "pause", f"work:{ROUNDS}", "close"]
        for _ in range(3):  # a moment in which the machine does something else says nothing
            _, alone = self.times(self.go_on(self.clients(worker, program))[0])
            beside = [self.times(text) for text in self.go_on(self.clients(worker, program, program))]
            # Sharing the device may cost twice; one that waited for the other's program would wait for all its rounds, which
            # is at least half of its own time.
            if all(slowest < max(10 * alone + 1.0 * siege.SLOW, taken / 3) for taken, slowest in beside):
                return
        self.fail(f"seconds of all operations, and of the slowest: {beside} beside each other; slowest alone {alone:.3f}")

    def test_errors_stay_with_who_makes_them(self):
        worker = self.worker()
        wrong, right = self.go_on(self.clients(
            worker, ["open", "work", "pause", "range:3", "body:2", "range:3", "work", "close"],
            ["open", "work", "pause", f"work:{ROUNDS}", "close"]))
        self.assertIn("DCL_ERR_RANGE", wrong)
        self.assertIn("DCL_ERR_BODY", wrong)
        self.assertNotIn("DCL_ERR", right)

    def test_quota_is_each_ones_own(self):
        worker = self.worker("--quota", "64M")
        greedy, right = self.go_on(self.clients(
            worker, ["open", "work", "pause", "fill", "work", "fill", "close"],
            ["open", "work", "pause", f"work:{ROUNDS}", "close"]))
        self.assertEqual(len(re.findall(r"fill DCL_ERR_NOMEM .*exceed the quota of this session", greedy)), 2, greedy)
        self.assertRegex(greedy, "raise DCL_QUOTA_BYTES or the worker's --quota")
        self.assertNotIn("DCL_ERR", right)

    def test_own_quota_below_the_workers(self):
        worker = self.worker("--quota", "64M")
        done = self.client(worker, "open", "fill", "close", DCL_QUOTA_BYTES="24M")
        self.assertEqual(done.code, 0, done.text)
        self.assertRegex(done.text, r"fill DCL_ERR_NOMEM .* of 25165824 bytes are in use")

    def test_crash_stays_with_who_made_it(self):
        worker = self.worker()
        for _ in range(3):
            crashed, right = self.clients(worker, ["open", "work", "pause", "crash"],
                                          ["open", "work", "pause", f"work:{ROUNDS}", "close"])
            crash, text = self.go_on([crashed, right])
            self.assertRegex(crash, "crash DCL_ERR_NODE_LOST")
            self.assertNotIn("DCL_ERR", text)
            self.no_children(worker)
            if "the connection has ended" not in crash:  # a worker on a busy machine may say how it ended too late
                break
        self.assertRegex(crash, r"(SIGSEGV|ended by itself).*die\(i\)")
        self.works(worker)

    def test_program_that_is_killed(self):
        worker = self.worker()
        killed, right = self.clients(worker, ["open", "work", "pause"], ["open", "work", "pause", "work:2", "close"])
        before = len(worker.children())
        processes.kill(killed.pid)
        processes.wait_until(lambda: len(worker.children()) < before, 3, "the end of its session's process")
        self.assertNotIn("DCL_ERR", self.go_on([right])[0])

    def test_process_that_does_not_go_away(self):
        """A process that was killed and cannot be reaped, as it is traced: the other clients do not wait for it."""
        worker = self.worker()
        (killed,) = self.clients(worker, ["open", "work", "pause"])
        tracer = subprocess.Popen([sys.executable, "-c", TRACER, str(*worker.children())], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(tracer.communicate)
        if tracer.stdout.readline() != "0\n":
            self.skipTest("processes may not be traced here")
        silence = self.silence(2.0)
        (right,) = self.clients(worker, ["open", "work", "pause", "work:2", "close"],
                                DCL_SILENCE_MS=str(int(1000 * silence)))
        processes.kill(killed.pid)
        self.assertTrue(worker.logs("its client has gone"), worker.log())
        time.sleep(1.25 * silence)  # longer than the other may be silent
        self.assertTrue(worker.children())
        self.assertNotIn("DCL_ERR", self.go_on([right])[0])
        tracer.communicate()
        self.no_children(worker)

    def stopped_while_opening(self, quick, slow, seconds, **variables):
        """A program opens sessions at both; the process of the slow one is stopped for a while before it listens.
        @return what it printed; None: it listened already."""
        logged = len(slow.log())
        client = siege.start([siege.CLIENT, "open", "work", "close"], DCL_WORKERS=f"{quick.address},{slow.address}",
                             **variables)
        processes.wait_until(slow.children, 20 * siege.SLOW, "a process of the slow worker", every=0.001)
        (process,) = slow.children()
        os.kill(process, signal.SIGSTOP)
        opened = "is open" in slow.log()[logged:]
        time.sleep(0 if opened else seconds)
        with contextlib.suppress(ProcessLookupError):  # its session has ended
            os.kill(process, signal.SIGCONT)
        text = client.communicate(timeout=600)[0]
        self.no_children(slow)
        return None if opened else text

    def test_opening_longer_than_the_silence(self):
        """While one worker takes its time, the others do not take the program for silent."""
        own, programs = self.keys("worker", "program")
        quick, slow = self.worker(keys=own), self.worker(keys=own)
        self.works(quick, DCL_KEYS=programs)
        silence = self.silence(1.0)  # the slow one must open within 15 s
        for _ in range(5):
            text = self.stopped_while_opening(quick, slow, 1.6 * silence, DCL_KEYS=programs,
                                              DCL_SILENCE_MS=str(int(1000 * silence)))
            if text is not None:
                break
        self.assertIsNotNone(text, slow.log())
        self.assertNotIn("silent", quick.log())
        self.assertIn("close DCL_OK", text)

    @unittest.skipUnless(os.geteuid() == 0, "becoming another user takes root")
    def test_port_that_another_user_took(self):
        """A worker was killed, its token is still there, and another user listens in its place."""
        worker = siege.Worker(self.inner())
        processes.kill(worker.pid)
        worker.process.wait()
        os.seteuid(siege.NOBODY)
        try:
            listener = socket.create_server(("127.0.0.1", worker.port))
        finally:
            os.seteuid(0)
        with listener:
            self.refuses(self.client(worker), "DCL_ERR_NETWORK", f"is user {siege.NOBODY}'s", "no token is shown")
            listener.setblocking(False)
            with self.assertRaises(BlockingIOError, msg="somebody has called"):
                listener.accept()

    def follows(self, worker, first, **variables):
        """A program calls while another one that takes its place still runs, and is served as soon as that ends, as
        programs are that a script starts one after the other."""
        waits, limit = "waits until a session ends", 1
        before, ended = (len(re.findall(text, worker.log())) for text in (waits, r"session \w+ has ended"))
        began = time.monotonic()
        second = siege.start([siege.CLIENT, "open", "work:2", "close"], **{**worker.variables, **variables})
        self.addCleanup(second.communicate)
        self.assertTrue(worker.logs(f"(?s)({waits}.*){{{before + 1}}}", 10 * siege.SLOW), worker.log())
        self.go_on([first])
        seconds = time.monotonic() - began
        text = second.communicate(timeout=600)[0]
        if seconds < limit:  # on a busy machine the time limit of the second one may have passed
            self.assertEqual(second.returncode, 0, f"{text}\nworker: {worker.log()}")
        ended += 1 + (second.returncode == 0)
        self.assertTrue(worker.logs(rf"(?s)(session \w+ has ended.*){{{ended}}}", 10 * siege.SLOW), worker.log())
        self.works(worker, **variables)

    def test_most_sessions_of_a_key(self):
        """Who has one key cannot keep those with others out."""
        own, one, two = self.keys("worker", "one", "two")
        for options, most in ((["--sessions", "2"], 1), (["--sessions", "8", "--sessions-per-key", "2"], 2)):
            worker = self.worker(*options, keys=own)
            clients = [self.clients(worker, ["open", "pause", "close"], DCL_KEYS=one)[0] for _ in range(most)]
            self.refuses(self.client(worker, DCL_KEYS=one), "DCL_ERR_NETWORK",
                         f"{most} sessions of this key are open here", "--sessions-per-key", seconds=6.0)
            self.works(worker, DCL_KEYS=two)
            self.follows(worker, clients.pop(), DCL_KEYS=one)
            self.go_on(clients)

    def test_most_time_of_a_kernel(self):
        """Whatever the program allows."""
        worker = self.worker("--most-kernel-ms", "500")
        path = f"{self.folder}/endless.cl"
        with open(path, "w", encoding="ascii") as file:
            file.write("int attempt(long i) { volatile int go = 1; while (go) {} return 0; }\n")
        done = self.client(worker, "open", f"spy:{path}")
        self.assertEqual(done.code, 1, done.text)
        self.assertRegex(done.text, "DCL_ERR_NODE_LOST .*its kernel took longer than the worker's --most-kernel-ms allows")

    def test_most_sessions(self):
        worker = self.worker("--sessions", "1")
        (first,) = self.clients(worker, ["open", "work", "pause", "close"])
        self.refuses(self.client(worker), "DCL_ERR_NETWORK", "1 sessions? (is|are) open here", "--sessions", seconds=6.0)
        self.assertTrue(worker.logs("refused .*--sessions"), worker.log())
        self.follows(worker, first)


if __name__ == "__main__":
    siege.main()
