#!/usr/bin/python3
"""Nodes join a cluster that is at work, and are lost again.

    join_test.py DCL PROGRAMS     the dcl command, and the folder with `join`

Settings: TEST_WORKERS, a place of support/workers.py (local:2); over tcp one of five, tcp:5."""
import os
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, Rounds, processes, workers_of
from workers import Unavailable, open_place

SKIPPED = 77
PLACE = os.environ.get("TEST_WORKERS") or "local:2"


class Joining:
    def __init__(self, programs, place, folder):
        self.programs, self.place, self.folder = programs, place, folder

    def more(self):
        """Three that may join: the place has as many more than the program begins with."""
        return [offer.address for offer in self.place.offers[-3:]] or ["local:1"] * 3

    def first(self):
        """Variables of a program that begins with two."""
        if not self.place.offers:
            return {}
        return {"DCL_WORKERS": ",".join(offer.address for offer in self.place.offers[:2])}

    def start(self, *arguments, **variables):
        return Program([f"{self.programs}/join", *arguments], {**self.place.variables, **self.first(), **variables},
                       f"{self.folder}/errors", self.place.prefix)

    def watched(self, one, **variables):
        before = processes.snapshot()
        program = self.start(*self.more(), **variables)
        try:
            one(program)
        finally:
            program.kill()
        processes.nothing_left(before, 2 * SLOW)

    def newest(self, program):
        """Of its workers: the last one that was started."""
        return max(workers_of(program, self.place), key=lambda pid: (processes.stat_of(pid) or (0, 0, 0, 0))[3])

    def join_and_lose(self, _):
        def one(program):
            for node in (2, 3):
                if program.expect("joined", 60) != str(node):
                    raise Failed(program.said())
            program.expect("kill", 60)
            begin = time.monotonic()
            processes.kill(self.newest(program))
            program.expect("lost", 5)
            took = time.monotonic() - begin
            if processes.is_late(took, SLOW):
                raise Failed(f"the loss was told after {took:.2f} s; expected {SLOW:g} s")
            if program.expect("end", 30) != "DCL_OK" or program.end(20) != 0:
                raise Failed(program.said())

        self.watched(one, DCL_SPARE="2")

    def no_number_is_free(self, _):
        """The program takes every refusal for wrong: this one it has to tell."""
        words = ["1 nodes would join; expected at most 0", "set DCL_SPARE to more"]
        try:
            self.watched(lambda program: program.expect("joined", 60), DCL_SPARE="0")
        except Failed as problem:
            if all(part in str(problem) for part in words):
                return
            raise
        raise Failed("a node has joined, but no number was free")


def main():
    dcl, programs = (os.path.abspath(path) for path in sys.argv[1:3])
    base = tempfile.mkdtemp(prefix="dcl-join-")
    for name in ("work", "workers"):
        os.mkdir(f"{base}/{name}")
    rounds = Rounds("")
    try:
        with open_place(PLACE, dcl, f"{base}/workers") as place:
            joining = Joining(programs, place, f"{base}/work")
            rounds.run("joined, used and lost", 1, joining.join_and_lose)
            rounds.run("no number is free", 1, joining.no_number_is_free)
    except Unavailable as why:
        print(f"skipped: {PLACE}: {why}")
        return SKIPPED
    finally:
        processes.kill_all()
        shutil.rmtree(base)
    return 1 if rounds.failed else 0


if __name__ == "__main__":
    sys.exit(main())
