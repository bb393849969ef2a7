#!/usr/bin/python3
"""Thousands of arrays are made while a node compiles, or stands still: no healthy node is taken for lost.

    arrays_test.py DCL PROGRAMS     the dcl command, and the folder with `arrays`

Settings: TEST_WORKERS, a place of support/workers.py (local:2); TEST_ARRAYS, how many at a time (2000)."""
import os
import sys

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, run_to_end, test_in_folder
from workers import open_place

PLACE = os.environ.get("TEST_WORKERS") or "local:2"
ARRAYS = os.environ.get("TEST_ARRAYS") or "2000"


def check(dcl, programs, base):
    with open_place(PLACE, dcl, f"{base}/workers") as place:
        _, looked = run_to_end([f"{programs}/arrays", ARRAYS], ["made", "made", "right"], 60 * SLOW, place.variables,
                               place.prefix, f"{base}/work")
    print(f"twice {ARRAYS} arrays under {PLACE}; {looked} looked at")


if __name__ == "__main__":
    sys.exit(test_in_folder("arrays", check))
