#!/usr/bin/python3
"""Worker processes come and go at moments that matter: the last one while another joins, one of two newcomers. And they
bear it that descriptors run out.

    members_test.py DCL PROGRAMS     the dcl command, and the folder with `members`"""
import sys

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, run_to_end, test_in_folder

FEW = ["/bin/sh", "-c", "ulimit -n 100; exec \"$@\"", "sh"]
SCENES = [("replace-the-last", ()), ("lose-the-last", ()), ("join-in-part", ()), ("reductions", ()), ("many-arrays", FEW)]


def play(dcl, programs, base):
    for scene, prefix in SCENES:
        program, _ = run_to_end([f"{programs}/members", scene], ["end"], 60 * SLOW, {"DCL_PROGRAM": dcl}, prefix,
                                f"{base}/work")
        print(f"{scene}: {'; '.join(program.seen)}", flush=True)


if __name__ == "__main__":
    sys.exit(test_in_folder("members", play))
