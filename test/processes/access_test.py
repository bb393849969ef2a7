#!/usr/bin/python3
"""Bodies that read elsewhere than they declare are found, wherever they run, and the examples never report anything.

    access_test.py DCL PROGRAMS EXAMPLES     the dcl command, the folders with `access` and with the examples

Settings: TEST_WORKERS, a place of support/workers.py beside threads of the program (local:2)."""
import os
import sys

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, test_in_folder
from workers import open_place

PLACE = os.environ.get("TEST_WORKERS") or "local:2"
THREADS = {"POCL_DEVICES": "pthread pthread pthread"}
CHECK = {"DCL_CHECK": "access"}


def end(program):
    code = program.end(120 * SLOW)
    if code != 0:
        raise Failed(f"it ended with {code}: {program.said()}")


def strays(programs, what, variables, prefix, folder):
    program = Program([f"{programs}/access"], variables, f"{folder}/errors", prefix)
    try:
        for word in ("found", "quiet"):
            if program.expect(word, 300 * SLOW) != "100 of 100":
                raise Failed(f"{what}: {program.said()}")
        end(program)
    finally:
        program.kill()
    print(f"100 strays found of 100, none reported of 100 correct bodies: {what}")


def examples(folder_of_examples, what, variables, prefix, folder):
    names = sorted(name for name in os.listdir(folder_of_examples) if os.access(f"{folder_of_examples}/{name}", os.X_OK)
                   and os.path.isfile(f"{folder_of_examples}/{name}"))
    if not names:
        raise Failed(f"there are no examples in {folder_of_examples}")
    for name in names:
        program = Program([f"{folder_of_examples}/{name}"], variables, f"{folder}/errors", prefix)
        try:
            while program.next(120 * SLOW) is not None:
                pass
            end(program)
        except Failed as problem:
            raise Failed(f"{name}: {problem}") from None
        finally:
            program.kill()
    print(f"nothing reported by {', '.join(names)}: {what}")


def check(dcl, programs, base):
    folder_of_examples = os.path.abspath(sys.argv[3])
    strays(programs, "threads, unchecked", THREADS, (), base)
    strays(programs, "threads", {**THREADS, **CHECK}, (), base)
    examples(folder_of_examples, "threads", {**THREADS, **CHECK}, (), base)
    with open_place(PLACE, dcl, f"{base}/workers") as place:
        strays(programs, PLACE, {**place.variables, **CHECK}, place.prefix, base)
        examples(folder_of_examples, PLACE, {**place.variables, **CHECK}, place.prefix, base)


if __name__ == "__main__":
    sys.exit(test_in_folder("access", check))
