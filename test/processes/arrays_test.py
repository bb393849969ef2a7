#!/usr/bin/python3
"""Thousands of arrays are made while a node compiles, or stands still: no healthy node is taken for lost.

    arrays_test.py DCL PROGRAMS     the dcl command, and the folder with `arrays`

Settings: TEST_WORKERS, a place of support/workers.py (local:2); TEST_ARRAYS, how many at a time (2000)."""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, processes
from workers import Unavailable, open_place

SKIPPED = 77
PLACE = os.environ.get("TEST_WORKERS") or "local:2"
ARRAYS = os.environ.get("TEST_ARRAYS") or "2000"


def run(programs, place, folder):
    before = processes.snapshot(folders=[folder])
    program = Program([f"{programs}/arrays", ARRAYS], place.variables, f"{folder}/errors", place.prefix)
    try:
        for _ in range(2):
            program.expect("made", 60 * SLOW)
        looked = program.expect("right", 60 * SLOW)
        if program.end(20 * SLOW) != 0:
            raise Failed(program.said())
    finally:
        program.kill()
    os.remove(f"{folder}/errors")
    processes.nothing_left(before, 2 * SLOW, folders=[folder])
    print(f"twice {ARRAYS} arrays under {PLACE}; {looked} looked at")


def main():
    dcl, programs = (os.path.abspath(path) for path in sys.argv[1:3])
    base = tempfile.mkdtemp(prefix="dcl-arrays-")
    for name in ("work", "workers"):
        os.mkdir(f"{base}/{name}")
    try:
        with open_place(PLACE, dcl, f"{base}/workers") as place:
            run(programs, place, f"{base}/work")
    except Unavailable as why:
        print(f"skipped: {PLACE}: {why}")
        return SKIPPED
    except (Failed, AssertionError) as problem:
        print(f"FAILED: {problem}", file=sys.stderr)
        return 1
    finally:
        processes.kill_all()
        shutil.rmtree(base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
