#!/usr/bin/python3
"""Clusters of worker processes are started and stopped many times, and nothing is left.

    start_test.py DCL PROGRAMS     the dcl command, and the folder with `starts`

Settings: TEST_WORKERS, a place of support/workers.py (local:2); TEST_STARTS, how many (20). A start takes 150 ms at most, or
on a busy machine not much more than the dcl command takes to list its devices."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, processes, test_in_folder
from workers import open_place

PLACE = os.environ.get("TEST_WORKERS") or "local:2"
STARTS = int(os.environ.get("TEST_STARTS") or 20)
WARM_UP = 3
MOST_MS, MOST_LISTINGS = 150 * SLOW, 5 * SLOW
MOST_SECONDS_EACH = 5


def listing_ms(dcl):
    """What a program takes to start and to find its device, here and now."""
    times = []
    for _ in range(5):
        begin = time.monotonic()
        subprocess.run([dcl, "devices"], env=processes.environment(POCL_DEVICES="pthread"), stdout=subprocess.DEVNULL)
        times.append((time.monotonic() - begin) * 1000)
    return sorted(times)[2]


def run(dcl, programs, place, folder):
    before = processes.snapshot(folders=[folder])
    listing = listing_ms(dcl)
    program = Program([f"{programs}/starts", str(STARTS), str(WARM_UP)], place.variables, f"{folder}/errors", place.prefix)
    try:
        held = program.expect("descriptors", 60 + WARM_UP * MOST_SECONDS_EACH)
        if program.expect("descriptors", 60 + STARTS * MOST_SECONDS_EACH) != held:
            raise Failed(f"more is held than before: {program.said()}")
        median, _, longest = program.expect("open", 10).partition(" ")
        if program.end(20) != 0:
            raise Failed(program.said())
    finally:
        program.kill()
    os.remove(f"{folder}/errors")
    processes.nothing_left(before, 2 * SLOW, folders=[folder])
    listing = max(listing, listing_ms(dcl))
    print(f"{STARTS} starts under {PLACE}: dcl_open {median} ms (longest, and dcl_close: {longest}); "
          f"dcl devices {listing:.1f} ms; descriptors {held}, before and after")
    if processes.is_late(float(median), max(MOST_MS, MOST_LISTINGS * listing)):
        raise Failed(f"dcl_open takes {median} ms; expected {MOST_MS:g} ms at most")


def check(dcl, programs, base):
    with open_place(PLACE, dcl, f"{base}/workers") as place:
        run(dcl, programs, place, f"{base}/work")


if __name__ == "__main__":
    sys.exit(test_in_folder("start", check))
