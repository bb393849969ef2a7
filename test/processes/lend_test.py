#!/usr/bin/python3
"""What a program gave to dcl_read() and dcl_write() is its own again when they return, also with an error.

    lend_test.py DCL PROGRAMS FAKE_OPENCL     the dcl command, the folder with `lend`, the driver that hangs

ROUNDS: how often a worker is killed (5)."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, processes

DCL, PROGRAMS, FAKE = sys.argv[1:4]
ROUNDS = int(os.environ.get("ROUNDS") or 5)


def start(folder, *arguments, **variables):
    return Program([f"{PROGRAMS}/lend", *arguments], {"DCL_PROGRAM": DCL, **variables}, f"{folder}/errors")


def ends(program):
    program.expect("end", 30 * SLOW)
    if program.process.wait(10 * SLOW) != 0:
        raise Failed(f"it ended with status {program.process.returncode}: {program.said()}")


def kills(folder):
    """A late access ends the program by a signal; a call that waits for ever, by the deadline."""
    program = start(folder, "kills", str(ROUNDS))
    failed = int(program.expect("failed", (30 + 10 * ROUNDS) * SLOW))
    ends(program)
    if failed == 0:
        raise Failed("no call gave an error: nothing was tried")


def stuck(folder):
    """The worker's thread hangs in the third launch, which is the body: the first two are the probe's and the zeros'."""
    program = start(folder, "stuck", DCL_WORKERS="local:1", DCL_SILENCE_MS="1000", OCL_ICD_VENDORS=FAKE,
                    TEST_OPENCL="hang clEnqueueNDRangeKernel 3")
    took, status = program.expect("took", 60 * SLOW).split()
    ends(program)
    if status != "DCL_ERR_NODE_LOST" or processes.is_late(int(took), 2000 * SLOW):
        raise Failed(f"dcl_read took {took} ms and gave {status}; expected DCL_ERR_NODE_LOST within {2000 * SLOW} ms")


def main():
    plain = {name: value for name, value in processes.environment().items() if not name.startswith("DCL_")}
    if subprocess.run([DCL, "devices"], env={**plain, "OCL_ICD_VENDORS": FAKE}, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: there is no device behind the fake driver")
        return 77
    wrong = 0
    for case in (kills, stuck):
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(folder)
            except Failed as failed:
                print(f"{case.__name__}: {failed}")
                wrong += 1
    print(f"{2 - wrong} of 2 passed")
    return 1 if wrong > 0 else 0


sys.exit(main())
