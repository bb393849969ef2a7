#!/usr/bin/python3
"""Random moves of elements ahead of use, under threads of the program and under worker processes: the same elements as in
plain C, and the counts that were explained.

    moves_test.py DCL PROGRAMS     the dcl command, and the folder with `moves`

Settings: TEST_WORKERS, a place of support/workers.py (local:2); TEST_CASES, how many under each (40); TEST_SEED (1)."""
import os
import sys

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, run_to_end, test_in_folder
from workers import open_place

PLACE = os.environ.get("TEST_WORKERS") or "local:2"
CASES = int(os.environ.get("TEST_CASES") or 40)
SEED = int(os.environ.get("TEST_SEED") or 1)


def run(programs, what, seed, variables, prefix, folder):
    _, calls = run_to_end([f"{programs}/moves", str(seed), str(CASES)], ["right"], (30 + CASES) * SLOW, variables, prefix,
                          folder)
    print(f"{CASES} cases from seed {seed}, {calls} calls under {what}")


def check(dcl, programs, base):
    threads = {"POCL_DEVICES": "pthread pthread pthread"}
    send = {**threads, "DCL_TRANSFER": "send"}
    run(programs, "3 threads", SEED, threads, [], f"{base}/work")
    run(programs, "3 threads that send", SEED + CASES, send, [], f"{base}/work")
    run(programs, "3 threads with little room", SEED + 2 * CASES,
        {**send, "DCL_KEPT_BYTES": "600", "DCL_TILE_BYTES": "128", "DCL_CHUNK_BYTES": "128", "DCL_POOL_BYTES": "4096"}, [],
        f"{base}/work")
    with open_place(PLACE, dcl, f"{base}/workers") as place:
        run(programs, PLACE, SEED + 3 * CASES, place.variables, place.prefix, f"{base}/work")


if __name__ == "__main__":
    sys.exit(test_in_folder("moves", check))
