#!/usr/bin/python3
"""Arrays are remapped and copied by worker processes: contents stay, also where there is no room, and where a node is lost.

    remap_test.py DCL PROGRAMS      the dcl command, and the folder with `remap`

Settings: TEST_SEED (1); TEST_CHAINS, how many arrays go through random maps in each way (60)."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, run_to_end, test_in_folder
from workers import open_place

SEED = os.environ.get("TEST_SEED") or "1"
CHAINS = os.environ.get("TEST_CHAINS") or "60"


def cases():
    """Arguments, place, variables, first words of the lines that are expected."""
    for move in ("auto", "send"):
        yield ["chains", SEED, CHAINS], "local:2", {"DCL_TRANSFER": move}, ["right"]
        yield ["chains", SEED + "1", CHAINS], "local:3", {"DCL_TRANSFER": move, "DCL_TILE_BYTES": "4K"}, ["right"]
        yield ["quota"], "local:2", {"DCL_TRANSFER": move, "DCL_QUOTA_BYTES": "19000000"}, ["right", "counted"]
        yield ["lost"], "local:3", {"DCL_TRANSFER": move}, ["lost", "right"]
    yield ["chunks", "2"], "local:2", {"DCL_TRANSFER": "send"}, ["right"]  # of 4 MB
    yield ["chunks", "6"], "tcp:2", {}, ["right"]  # over tcp chunks are smaller
    yield ["chunks", "12"], "tcp:2", {"DCL_CHUNK_BYTES": "512K"}, ["right"]


def run(dcl, programs, base, arguments, where, variables, words):
    folder = tempfile.mkdtemp(dir=base)
    what = f"{' '.join(arguments)} under {where} {variables}"
    try:
        with open_place(where, dcl, base) as place:
            program, _ = run_to_end([f"{programs}/remap", *arguments], words, 60 * SLOW, {**place.variables, **variables},
                                    place.prefix, folder)
    except (Failed, AssertionError) as problem:
        raise Failed(f"{what}: {problem}") from None
    print(f"{what}: {'; '.join(program.seen)}")


def check(dcl, programs, base):
    for arguments, where, variables, words in cases():
        run(dcl, programs, base, arguments, where, variables, words)


if __name__ == "__main__":
    sys.exit(test_in_folder("remap", check))
