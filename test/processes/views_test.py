#!/usr/bin/python3
"""Random views under threads of the program and under worker processes: the same elements as in plain C.

    views_test.py DCL PROGRAMS     the dcl command, and the folder with `views`

Settings: TEST_WORKERS, a place of support/workers.py (local:2); TEST_CASES, how many under each (60); TEST_SEED (1)."""
import os
import sys

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, run_to_end, test_in_folder
from workers import open_place

PLACE = os.environ.get("TEST_WORKERS") or "local:2"
CASES = int(os.environ.get("TEST_CASES") or 60)
SEED = int(os.environ.get("TEST_SEED") or 1)


def run(programs, what, seed, variables, prefix, folder):
    _, operations = run_to_end([f"{programs}/views", str(seed), str(CASES)], ["right"], (30 + CASES) * SLOW, variables,
                               prefix, folder)
    print(f"{CASES} cases from seed {seed}, {operations} operations under {what}")


def check(dcl, programs, base):
    threads = {"POCL_DEVICES": "pthread pthread pthread"}
    run(programs, "3 threads", SEED, threads, [], f"{base}/work")
    run(programs, "3 threads that send", SEED + CASES, {**threads, "DCL_TRANSFER": "send"}, [], f"{base}/work")
    with open_place(PLACE, dcl, f"{base}/workers") as place:
        run(programs, PLACE, SEED + 2 * CASES, place.variables, place.prefix, f"{base}/work")


if __name__ == "__main__":
    sys.exit(test_in_folder("views", check))
