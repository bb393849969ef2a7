#!/usr/bin/python3
"""Random arrays with halos, some of them periodic, on 1, 3 and 5 nodes: what bodies read around them is what plain loops find.

    halos_test.py DCL PROGRAMS     the dcl command, and the folder with `halos`

Settings: TEST_WORKERS, a place of support/workers.py (local:2); TEST_CASES, how many under each (20); TEST_SEED (1)."""
import os
import sys

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, run_to_end, test_in_folder
from workers import open_place

PLACE = os.environ.get("TEST_WORKERS") or "local:2"
CASES = int(os.environ.get("TEST_CASES") or 20)
SEED = int(os.environ.get("TEST_SEED") or 1)


def run(programs, what, seed, variables, prefix, folder):
    _, said = run_to_end([f"{programs}/halos", str(seed), str(CASES)], ["right"], (30 + CASES) * SLOW, variables,
                               prefix, folder)
    print(f"{CASES} cases from seed {seed}, {said} under {what}")


def check(dcl, programs, base):
    small = {"DCL_TILE_BYTES": "64", "DCL_CHUNK_BYTES": "64"}  # several batches, several chunks
    for number, (nodes, move, sizes) in enumerate([(1, "auto", {}), (3, "place", small), (5, "send", small)]):
        threads = {"POCL_DEVICES": " ".join(["pthread"] * nodes), "DCL_TRANSFER": move, **sizes}
        run(programs, f"threads, {nodes} nodes, {move}", SEED + number * CASES, threads, [], f"{base}/work")
    checked = {"POCL_DEVICES": "pthread pthread", "DCL_CHECK": "access"}
    run(programs, "threads that check every access", SEED + 3 * CASES, checked, [], f"{base}/work")
    with open_place(PLACE, dcl, f"{base}/workers") as place:
        run(programs, PLACE, SEED + 4 * CASES, place.variables, place.prefix, f"{base}/work")


if __name__ == "__main__":
    sys.exit(test_in_folder("halos", check))
