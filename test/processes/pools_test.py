#!/usr/bin/python3
"""Ten thousand arrays under a limit of 1,024 descriptors, and arrays that are remapped without fresh memory.

    pools_test.py DCL PROGRAMS     the dcl command, and the folder with `pools`

Settings: TEST_WORKERS, a place of support/workers.py (local:2); TEST_ARRAYS, how many (10000)."""
import os
import sys

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, run_to_end, test_in_folder
from workers import open_place

PLACE = os.environ.get("TEST_WORKERS") or "local:2"
ARRAYS = os.environ.get("TEST_ARRAYS") or "10000"
LIMITED = ["bash", "-c", 'ulimit -n 1024 && exec "$@"', "limited"]
MEMORY = {"POCL_MEMORY_LIMIT": "1"}  # GB: a process keeps a sixteenth of it at most when nothing is in use


def check(dcl, programs, base):
    folder = f"{base}/work"
    os.makedirs(folder, exist_ok=True)
    with open_place(PLACE, dcl, f"{base}/workers") as place:
        variables = {**place.variables, **MEMORY}
        program, kept = run_to_end([f"{programs}/pools", "many", ARRAYS],
                                   ["made", "right", "zero", "descriptors", "kept"], 60 * SLOW, variables,
                                   [*place.prefix, *LIMITED], folder)
        print(f"{ARRAYS} arrays under {PLACE}: {'; '.join(program.seen)}")
        if int(kept) > 64:
            raise Failed(f"a process keeps {kept} MB of released arrays; expected 64 at most")
        program, _ = run_to_end([f"{programs}/pools", "remap"], ["remaps", "memories"], 60 * SLOW, variables, place.prefix, folder)
        print(f"an array is remapped under {PLACE}: {'; '.join(program.seen)}")


if __name__ == "__main__":
    sys.exit(test_in_folder("pools", check))
