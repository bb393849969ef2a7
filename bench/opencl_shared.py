#!/usr/bin/python3
"""Two programs on one device of a worker by the OpenCL driver, against one: what part of its rate alone each reaches.

    opencl_shared.py DCL LINKS [PLACE...]   the dcl command, bench/links, and who serves: tcp:1 local:1

Launches in batches of 100, writes of 16 MB and reads, each for SECONDS, alone and together, in turns. The same with the native driver shows how the
system divides the processors among programs. Other programs change the rate from one second to the next, so a program's rate alone is the mean
of those before and after, and the median of the rounds is printed, too."""
import contextlib
import os
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True  # leave the source folder as it is
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from links import Side
from workers import open_place

ROUNDS, SECONDS = 3, 1


def rates(links, what, variables, programs):
    """@return how much each of them does in a second."""
    running = [Side(None, 0).start([links, "repeat", what, str(SECONDS)], variables) for _ in range(programs)]
    for one in running:
        if one.stdout.readline() != "ready\n":
            raise RuntimeError(f"links repeat {what} ended with {one.wait()}")
    for one in running:
        one.stdin.write("\n")
        one.stdin.flush()
    return [float(one.communicate(timeout=60)[0]) for one in running]


@contextlib.contextmanager
def opened(text, dcl):
    """@return the variables of programs that use the place."""
    if text == "native":
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="dcl-opencl-shared-") as folder, open_place(text, dcl, folder) as place:
        yield {**place.variables, "OCL_ICD_VENDORS": os.path.join(os.path.dirname(dcl), "dcl.icd"), "DCL_PROGRAM": dcl}


def parts_of(links, what, variables):
    """@return what part of its rate alone each of two programs reaches, in all rounds."""
    parts = []
    before = rates(links, what, variables, 1)[0]
    for _ in range(ROUNDS):
        together = rates(links, what, variables, 2)
        after = rates(links, what, variables, 1)[0]
        parts += [2 * rate / (before + after) for rate in together]
        before = after
    return parts


def main(dcl, links, *places):
    dcl, links = os.path.abspath(dcl), os.path.abspath(links)
    least = 1.0
    for text in ("native", *(places or ("tcp:1", "local:1"))):
        with opened(text, dcl) as variables:
            for what in ("launch", "write", "read"):
                parts = parts_of(links, what, variables)
                least = least if text == "native" else min(least, *parts)
                print(f"{text}: {what}: each of two programs reaches {min(parts):.2f} to {max(parts):.2f} of its rate alone, median {statistics.median(parts):.2f}", flush=True)
    print(f"the least by DCL is {least:.2f}; expected at least 0.4")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
