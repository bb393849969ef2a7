#!/usr/bin/python3
"""Random views under threads of the program and under worker processes: the same elements as in plain C.

    views_test.py DCL PROGRAMS     the dcl command, and the folder with `views`

Settings: TEST_WORKERS, a place of support/workers.py (local:2); TEST_CASES, how many under each (60); TEST_SEED (1)."""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, processes
from workers import Unavailable, open_place

SKIPPED = 77
PLACE = os.environ.get("TEST_WORKERS") or "local:2"
CASES = int(os.environ.get("TEST_CASES") or 60)
SEED = int(os.environ.get("TEST_SEED") or 1)


def run(programs, what, seed, variables, prefix, folder):
    before = processes.snapshot(folders=[folder])
    program = Program([f"{programs}/views", str(seed), str(CASES)], variables, f"{folder}/errors", prefix)
    try:
        operations = program.expect("right", (30 + CASES) * SLOW)
        if program.end(20 * SLOW) != 0:
            raise Failed(program.said())
    finally:
        program.kill()
    os.remove(f"{folder}/errors")
    processes.nothing_left(before, 2 * SLOW, folders=[folder])
    print(f"{CASES} cases from seed {seed}, {operations} operations under {what}")


def main():
    dcl, programs = (os.path.abspath(path) for path in sys.argv[1:3])
    base = tempfile.mkdtemp(prefix="dcl-views-")
    for name in ("work", "workers"):
        os.mkdir(f"{base}/{name}")
    threads = {"POCL_DEVICES": "pthread pthread pthread"}
    try:
        run(programs, "3 threads", SEED, threads, [], f"{base}/work")
        run(programs, "3 threads that send", SEED + CASES, {**threads, "DCL_MOVE": "send"}, [], f"{base}/work")
        with open_place(PLACE, dcl, f"{base}/workers") as place:
            run(programs, PLACE, SEED + 2 * CASES, place.variables, place.prefix, f"{base}/work")
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
