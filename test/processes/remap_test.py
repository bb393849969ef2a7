#!/usr/bin/python3
"""Arrays are remapped and copied by worker processes: contents stay, also where there is no room, and where a node is lost.

    remap_test.py DCL PROGRAMS      the dcl command, and the folder with `remap`

Settings: TEST_SEED (1); TEST_CHAINS, how many arrays go through random maps in each way (60)."""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, processes
from workers import Unavailable, open_place

SKIPPED = 77
SEED = os.environ.get("TEST_SEED") or "1"
CHAINS = os.environ.get("TEST_CHAINS") or "60"


def cases():
    """Arguments, place, variables, first words of the lines that are expected."""
    for move in ("auto", "send"):
        yield ["chains", SEED, CHAINS], "local:2", {"DCL_MOVE": move}, ["right"]
        yield ["chains", SEED + "1", CHAINS], "local:3", {"DCL_MOVE": move, "DCL_TILE_BYTES": "4K"}, ["right"]
        yield ["quota"], "local:2", {"DCL_MOVE": move, "DCL_QUOTA_BYTES": "150000"}, ["right"]
        yield ["lost"], "local:3", {"DCL_MOVE": move}, ["lost", "right"]


def run(dcl, programs, base, arguments, where, variables, words):
    folder = tempfile.mkdtemp(dir=base)
    before = processes.snapshot(folders=[folder])
    with open_place(where, dcl, base) as place:
        program = Program([f"{programs}/remap", *arguments], {**place.variables, **variables}, f"{folder}/errors",
                          place.prefix)
        try:
            for word in words:
                program.expect(word, 60 * SLOW)
            if program.end(20 * SLOW) != 0:
                raise Failed(program.said())
        finally:
            program.kill()
        os.remove(f"{folder}/errors")
        processes.nothing_left(before, 2 * SLOW, folders=[folder])
    print(f"{' '.join(arguments)} under {where} {variables}: {'; '.join(program.seen)}")


def main():
    dcl, programs = (os.path.abspath(path) for path in sys.argv[1:3])
    base = tempfile.mkdtemp(prefix="dcl-remap-")
    try:
        for arguments, where, variables, words in cases():
            run(dcl, programs, base, arguments, where, variables, words)
    except Unavailable as why:
        print(f"skipped: {why}")
        return SKIPPED
    except (Failed, AssertionError) as problem:
        print(f"FAILED: {' '.join(arguments)} under {where} {variables}: {problem}", file=sys.stderr)
        return 1
    finally:
        processes.kill_all()
        shutil.rmtree(base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
