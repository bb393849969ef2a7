#!/usr/bin/python3
"""What kernels print reaches the program whose kernels they are: marked, harmless for terminals, limited, in time."""
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import siege

UNFILTERED = os.path.abspath(os.environ.get("TEST_SECURITY_UNFILTERED", "build/test/security_client_unfiltered"))
MUCH = "print:350000"  # more than 10 MB
FLOOD = 1 << 20  # bytes that are more than what is shown of it

# The system is asked without the driver's buffer, which a process that crashes takes with it.
LAST_WORDS = """int attempt(long i) {
    if (i == 0) {
        char text[] = "last \\033words";
        long result;
        __asm__ volatile("syscall" : "=a"(result) : "a"(1L), "D"(2L), "S"(text), "d"(sizeof text - 1)
                         : "rcx", "r11", "memory");
        *(volatile int *)0 = 1;
    }
    return 0;
}
"""

# In place of the process that the program starts: that one is its child.
AT_THE_END = """#!{python}
import os, re, subprocess, sys
arguments = [re.sub(r"parent=[0-9]+", f"parent={{os.getpid()}}", argument) for argument in sys.argv[1:]]
subprocess.run(["{program}", *arguments], close_fds=False)
for n in range(60000):  # more than the 256 KB of a pipe
    print(n)
sys.stdout.flush()
open("{ended}", "w").close()
"""


class Printed(siege.Siege):
    def places(self, *options):
        """Where programs find nodes: (what they call its host, variables, the worker or None)."""
        worker = self.worker(*options)
        return (("this host", {"DCL_WORKERS": "local:2"}, None), (re.escape(worker.address), worker.variables, worker))

    def together(self, *commands, **variables):
        """A program whose standard error goes where its standard output goes; @return it all."""
        done = subprocess.run([siege.CLIENT, *commands], env=siege.environment(**variables), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        text = done.stdout.decode("ascii", errors="replace")
        self.assertEqual(done.returncode, 0, text[-2000:])
        return text

    def test_reaches_the_program_in_time(self):
        """Before the call returns that waits; no line of it looks like another's."""
        for host, variables, worker in self.places():
            mark = rf"dcl node [01] \({host}\): "
            line = rf"{mark}x0\n{mark}dcl info: forged \\e\[2J\n"
            in_time = rf"^open DCL_OK \n{line}print DCL_OK \n{line}print DCL_OK \nwork DCL_OK [^\n]*\nclose DCL_OK"
            for _ in range(3):  # a call waits no longer than a second for lines: a busy machine may need more
                text = self.together("open", "print", "print", "work", "close", **variables)
                self.assertEqual(len(re.findall(line, text)), 2, text)
                if re.search(in_time, text):
                    break
            self.assertRegex(text, in_time)
            if worker:
                self.assertTrue(worker.logs("its client has gone"), worker.log())
                log = worker.log()
                self.assertRegex(log, r"(?m)^dcl info: session [0-9a-f]{16}: process 0 prints: dcl info: forged \\e\[2J$")
                self.assertNotRegex(log, "(?m)^dcl info: forged|prints: x0")
                self.assertNotIn("\033", log)

    def test_waits_often(self):
        """Short waits for bodies that may print do not exceed what a worker takes of a client."""
        for _, variables, worker in self.places():
            text = self.together("open", "often:3000", "work", "close", **variables)
            self.assertIn("close DCL_OK", text)
            if worker:
                self.assertNotIn("hung up", worker.log())

    def test_polls_often(self):
        for _, variables, worker in self.places():
            text = self.together("open", "poll:3000", "work", "close", **variables)
            self.assertIn("close DCL_OK", text)
            if worker:
                self.assertNotIn("hung up", worker.log())

    def test_much_is_cut_short(self):
        """A flood of output ends no session, uses bounded memory, and the dropped bytes are counted."""
        for host, variables, worker in self.places():
            text = self.together("open", MUCH, "work", "close", **variables)
            self.assertIn("close DCL_OK", text)
            self.assertNotIn("\033", text)
            self.assertLess(len(text), FLOOD)
            self.assertRegex(text, rf"dcl node [01] \({host}\): x0\n")
            dropped = sum(int(number) for number in re.findall(r"\((\d+) bytes dropped\)", text))
            self.assertGreater(dropped, 9 * FLOOD)
            if worker:
                status = pathlib.Path(f"/proc/{worker.pid}/status").read_text(encoding="ascii")
                peak, now = (int(re.search(rf"{name}:\s*(\d+) kB", status)[1]) for name in ("VmHWM", "VmRSS"))
                self.assertLess(peak - now, 16384 * siege.SLOW, status)
                self.assertLess(len(worker.log()), 40000)

    def test_nobody_reads(self):
        """The program's standard error is a pipe that is full: it goes on, a line is missing at most."""
        for _, variables, _ in self.places():
            with open(f"{self.folder}/out", "w+", encoding="ascii") as out:
                client = subprocess.Popen([siege.CLIENT, "open", MUCH, "work:3", "print", "work:3", "close"],
                                          env=siege.environment(**variables), stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=subprocess.PIPE)
                try:
                    self.assertEqual(client.wait(timeout=30 * siege.SLOW), 0)
                finally:
                    client.kill()
                    client.communicate()
                out.seek(0)
                self.assertIn("close DCL_OK", out.read())

    def test_much_at_the_end(self):
        """A process of this host that prints more than its pipe holds when it ends is read meanwhile, not killed."""
        ended = pathlib.Path(self.folder, "ended")
        program = pathlib.Path(self.inner("bin"), "dcl")
        program.write_text(AT_THE_END.format(python=sys.executable, program=siege.DCL, ended=ended), encoding="ascii")
        program.chmod(0o755)
        text = self.together("open", "work", "close", DCL_WORKERS="local:1", DCL_PROGRAM=str(program))
        self.assertIn("close DCL_OK", text)
        self.assertTrue(ended.exists(), text[-2000:])

    def test_program_that_is_stopped(self):
        """It takes nothing while a kernel of its prints, and goes on afterwards."""
        worker = self.worker()
        client = siege.start([siege.CLIENT, "open", "work", "pause", MUCH, "work", "close"], **worker.variables)
        self.addCleanup(client.communicate)
        siege.line_of(client, "pause DCL_OK")
        client.stdin.write("go on\n")
        client.stdin.flush()
        for _ in range(10):
            time.sleep(0.1)
            os.kill(client.pid, signal.SIGSTOP)
            time.sleep(0.1)
            os.kill(client.pid, signal.SIGCONT)
        text = client.communicate(timeout=120)[0]
        self.assertIn("close DCL_OK", text[-2000:])
        self.assertNotIn("DCL_ERR", text)

    @unittest.skipUnless(platform.machine() == "x86_64", "the kernel is written for x86-64")
    def test_last_words(self):
        """What a process has printed before it dies comes before the sentence on its end."""
        program = shutil.copy(f"{os.path.dirname(UNFILTERED)}/dcl_unfiltered", f"{self.inner('bin')}/dcl")
        for name, path in (("DCL", program), ("CLIENT", UNFILTERED)):
            self.addCleanup(setattr, siege, name, getattr(siege, name))
            setattr(siege, name, path)
        path = f"{self.folder}/words.cl"
        pathlib.Path(path).write_text(LAST_WORDS, encoding="ascii")
        for host, variables, _ in self.places():
            client = siege.start([siege.CLIENT, "open", f"spy:{path}"], **variables, DCL_PROGRAM=program)
            text = client.communicate(timeout=60)[0]
            self.assertRegex(text, rf"dcl node 0 \({host}\): last \\ewords.*\n(.*\n)*.*DCL_ERR_NODE_LOST.*node 0 is lost")

    def test_lines_of_several_sessions(self):
        """Each program is shown what its own kernels print."""
        worker = self.worker()
        clients = [siege.start([siege.CLIENT, "open", *["print"] * count, "pause", "close"], **worker.variables)
                   for count in (1, 3)]
        for client in clients:
            self.addCleanup(client.communicate)
        texts = [client.communicate("go on\n", timeout=60)[0] for client in clients]
        self.assertEqual([text.count("forged") for text in texts], [1, 3], texts)


if __name__ == "__main__":
    siege.main()
