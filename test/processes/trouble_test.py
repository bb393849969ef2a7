#!/usr/bin/python3
"""Kernels that run wild, and worker processes that cannot start.

    trouble_test.py DCL PROGRAMS     the dcl command, and the folder with `kernels` and `work`

Settings: TEST_WORKERS, a place of support/workers.py (local:2); over tcp only the kernels."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, Rounds, processes, workers_of
from workers import Unavailable, open_place

SKIPPED = 77
PLACE = os.environ.get("TEST_WORKERS") or "local:2"
KERNEL_MS = int(1500 * SLOW)
BODY = "(while it ran|what it ran last was) " + re.escape("`wild(i) = f(i, bad);` (body 2)")

CRASH = "(SIGSEGV|SIGBUS|status 1)"  # a sanitizer ends the process by itself

# how, settings, the worker program, most descriptors, what the sentence has
STARTS = [
    ("a worker that dies at once",      {}, "kill -9 $$",                              None, r"worker \d .*did not start: was killed by signal 9"),
    ("a worker that gives up",          {}, "exit 3",                                  None, r"worker \d .*did not start: ended by itself with status 3"),
    ("a worker of another version",     {}, "echo 'no such command: worker' >&2; exit 2", None, r"worker \d .*did not start: ended by itself with status 2"),
    ("a worker program that is gone",   {"DCL_PROGRAM": "GONE"}, None,                 None, r"DCL_PROGRAM is \"[^\"]*/gone\".*No such file.*path of the dcl command"),
    ("a host without a device",         {"OCL_ICD_VENDORS": "EMPTY"}, None,            None, r"no OpenCL (device|platform)"),
    ("no descriptors for one worker",   {}, None,                                      12,   r"ulimit -n|descriptor"),
    ("too few descriptors for many",    {"DCL_WORKERS": "local:8"}, None,              40,   r"ulimit -n|descriptor"),
]  # fmt: skip


class Trouble:
    def __init__(self, dcl, programs, place, folder):
        self.dcl, self.programs, self.place, self.folder = dcl, programs, place, folder

    def program(self, name, *arguments, **variables):
        return Program([f"{self.programs}/{name}", *arguments], {**self.place.variables, **variables},
                       f"{self.folder}/errors-{name}", self.place.prefix)

    def wild_kernel(self, how, words, **variables):
        """Another program is at work meanwhile, and does not notice. With stealing, another node might borrow the batch."""
        before = processes.snapshot()
        other, wild = self.program("work", "1", str(5 + SLOW)), None
        try:
            other.expect("ready", 30)
            wild = self.program("kernels", how, DCL_STEAL="never", **variables)
            took, _, sentence = wild.expect("lost", 60).partition(" ")
            if not re.search(f"node 1 is lost: worker 1 .*{words}.*{BODY}.*arrays that had a part on it have failed: wild",
                             sentence):
                raise Failed(f"expected node 1, {words} and the body: {sentence}")
            wild.expect("kept", 10)
            wild.expect("end", 10)
            if wild.end(20) != 0 or other.expect("end", 30 * SLOW) != "DCL_OK" or other.end(20) != 0:
                raise Failed(f"{wild.said()}; the other program: {other.said()}")
            print(f"  {how}: told after {float(took):.3f} s")
        finally:
            for program in filter(None, (wild, other)):
                program.kill()
        processes.nothing_left(before, 2 * SLOW)

    def innocent_body(self):
        """SIGKILL comes from others, or from the system when memory runs out: no body is to blame. With stealing, the
        other node might borrow the batch that does not end."""
        before = processes.snapshot()
        program = self.program("blame", "killed", DCL_STEAL="never")
        try:
            program.expect("running", 60 * SLOW)
            time.sleep(0.5)
            os.kill(workers_of(program, self.place)[1], signal.SIGKILL)
            sentence = program.expect("lost", 30 * SLOW)
            if "SIGKILL" not in sentence or "(body " in sentence:
                raise Failed(f"expected SIGKILL, and no body: {sentence}")
            program.expect("end", 60 * SLOW)
            if program.end(20) != 0:
                raise Failed(program.said())
        finally:
            program.kill()
        processes.nothing_left(before, 2 * SLOW)

    def skipped_body(self):
        """Who has not begun a body that has ended another node does not begin it."""
        before = processes.snapshot()
        program = self.program("blame", "skipped", DCL_WORKERS="local:3", DCL_STEAL="never")
        try:
            sentence = program.expect("lost", 120 * SLOW)
            if not re.search(f"node 1 is lost: .*{CRASH}.*\\(body ", sentence):
                raise Failed(f"expected node 1, {CRASH} and the body: {sentence}")
            program.expect("end", 30 * SLOW)
            if program.end(20) != 0:
                raise Failed(program.said())
        finally:
            program.kill()
        processes.nothing_left(before, 2 * SLOW)

    def failed_start(self, row):
        what, variables, script, descriptors, words = row
        before = processes.snapshot()
        environment = {**processes.environment(POCL_DEVICES="pthread"), **self.place.variables, **variables}
        if variables.get("OCL_ICD_VENDORS"):
            os.makedirs(f"{self.folder}/empty", exist_ok=True)
            environment["OCL_ICD_VENDORS"] = f"{self.folder}/empty"
        if variables.get("DCL_PROGRAM"):
            environment["DCL_PROGRAM"] = f"{self.folder}/gone"
        if script:
            with open(f"{self.folder}/program", "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\n{script}\n")
            os.chmod(f"{self.folder}/program", 0o755)
            environment["DCL_PROGRAM"] = f"{self.folder}/program"
        argv = [self.dcl, "eval", "T(i) = i;", f"T={self.folder}/t.npy:10"]
        if descriptors:
            argv = ["/bin/sh", "-c", f"ulimit -n {descriptors}; exec \"$@\"", "sh", *argv]
        done = subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        if done.returncode != 1 or not re.search(words, done.stderr):
            raise Failed(f"{what}: expected {words}, but it ended with {done.returncode}: {done.stderr.strip()}")
        processes.nothing_left(before, 2 * SLOW)


def main():
    dcl, programs = (os.path.abspath(path) for path in sys.argv[1:3])
    base = tempfile.mkdtemp(prefix="dcl-trouble-")
    for name in ("work", "workers"):
        os.mkdir(f"{base}/{name}")
    rounds = Rounds("")
    try:
        with open_place(PLACE, dcl, f"{base}/workers") as place:
            trouble = Trouble(dcl, programs, place, f"{base}/work")
            rounds.run("a kernel that crashes", 1, lambda _: trouble.wild_kernel("crash", CRASH))
            rounds.run("a kernel that never ends", 1, lambda _: trouble.wild_kernel(
                "endless", "its kernel took longer than DCL_KERNEL_MS allows", DCL_KERNEL_MS=str(KERNEL_MS)))
            if not place.offers:
                rounds.run("a kernel whose process is killed", 1, lambda _: trouble.innocent_body())
                rounds.run("a body that others have not begun", 1, lambda _: trouble.skipped_body())
            for row in () if place.offers else STARTS:
                rounds.run(row[0], 1, lambda _, row=row: trouble.failed_start(row))
    except Unavailable as why:
        print(f"skipped: {PLACE}: {why}")
        return SKIPPED
    finally:
        processes.kill_all()
        shutil.rmtree(base)
    return 1 if rounds.failed else 0


if __name__ == "__main__":
    sys.exit(main())
