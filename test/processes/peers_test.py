#!/usr/bin/python3
"""Random views under GPUs that read each other's memory, threads and worker processes: the same elements as in plain C.

    peers_test.py DCL PROGRAMS FAKE_OPENCL FAKE_CUDA     the dcl command, the folder with `views`, the drivers that stand for
                                                         those of GPUs

Settings: TEST_CASES, how many under each (12); TEST_SEED (1)."""
import os
import sys

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, run_to_end, test_in_folder

FAKE_OPENCL, FAKE_CUDA = sys.argv[3:5]
CASES = int(os.environ.get("TEST_CASES") or 12)
SEED = int(os.environ.get("TEST_SEED") or 1)


def check(dcl, programs, base):
    gpus = {"DCL_PROGRAM": dcl, "DCL_TRANSFER": "place", "POCL_DEVICES": "pthread pthread", "OCL_ICD_VENDORS": FAKE_OPENCL,
            "TEST_OPENCL": "apart; peers", "LD_LIBRARY_PATH": os.path.dirname(FAKE_CUDA)}
    late = {"TEST_OPENCL": gpus["TEST_OPENCL"] + "; late clEnqueueNDRangeKernel 1+ 2; late clEnqueueFillBuffer 1+ 2"}
    for number, workers in enumerate([{}, late, {"DCL_WORKERS": "local:2"}]):
        seed = SEED + number * CASES
        _, operations = run_to_end([f"{programs}/views", str(seed), str(CASES)], ["right"], (30 + CASES) * SLOW,
                                   {**gpus, **workers}, [], f"{base}/work")
        print(f"{CASES} cases from seed {seed}, {operations} operations under {workers or 'threads'}")
    # Where the setting rules it out, worker processes do not touch libcuda: the fake one ends a process that reads this plan.
    untouched = {"DCL_WORKERS": "local:2", "DCL_TRANSFER": "send", "TEST_CUDA": "this is no rule"}
    run_to_end([f"{programs}/views", str(SEED), "2"], ["right"], 60 * SLOW, {**gpus, **untouched}, [], f"{base}/work")


if __name__ == "__main__":
    sys.exit(test_in_folder("peers", check))
