#!/usr/bin/python3
"""Children that a program forks while it uses a cluster are refused and harm nothing: forked_test.py DCL PROGRAMS

Nodes are threads, then processes."""
import sys
import tempfile

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, run_to_end

DCL, PROGRAMS = sys.argv[1:3]


def main():
    wrong = 0
    for workers in ("", "local:2"):
        variables = {"POCL_DEVICES": "pthread pthread", "DCL_PROGRAM": DCL, **({"DCL_WORKERS": workers} if workers else {})}
        with tempfile.TemporaryDirectory() as folder:
            try:
                program, _ = run_to_end([f"{PROGRAMS}/forked"], ["children", "end"], 60 * SLOW, variables, (), folder)
                right, of = program.seen[0].split()[1::2]
                if right != of:
                    raise Failed(f"{right} of {of} children ended as they should")
            except Failed as failed:
                print(f"with DCL_WORKERS={workers}: {failed}")
                wrong += 1
    return 1 if wrong > 0 else 0


sys.exit(main())
