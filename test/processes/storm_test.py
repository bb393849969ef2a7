#!/usr/bin/python3
"""A worker process is killed during joins, reads, writes and saves: no report of a sanitizer, no hang, no false success.

    storm_test.py DCL PROGRAMS     the dcl command, and the folder with `storm`

Settings: TEST_ROUNDS (a few); TEST_SEED (a new one), printed; TEST_ROUND, to run one round again, as it was named."""
import os
import random
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, Rounds, processes, workers_of
from workers import Place

SEED = os.environ.get("TEST_SEED") or str(time.time_ns() % 1000000)
ROUNDS = int(os.environ.get("TEST_ROUNDS") or 6)
CALLS = 100
LOCAL = Place(0, {})  # processes that the program starts itself
ANSWER_SECONDS = 20 * SLOW  # most for one call: a newcomer may have to compile
REPORTS = ("AddressSanitizer", "LeakSanitizer", "runtime error:", "ThreadSanitizer")


class Storm:
    def __init__(self, programs, dcl, folder, rounds):
        self.programs, self.dcl, self.folder, self.rounds = programs, dcl, folder, rounds
        self.killed, self.noticed = 0, 0

    def kill_one(self, program, rng):
        try:
            processes.kill(rng.choice(workers_of(program, LOCAL)))
            self.killed += 1
        except (IndexError, ProcessLookupError):
            pass  # it has ended meanwhile

    def follow(self, program, rng, kind):
        """Kill a process a moment after one of the calls of this kind has begun; then the program goes on to its end."""
        left, due = rng.randrange(1, 5), True
        program.expect("ready", ANSWER_SECONDS)
        while line := program.next(ANSWER_SECONDS):
            word, _, rest = line.partition(" ")
            if word == "end":
                return
            left -= word == "begin" and rest == kind
            if left == 0 and due:
                due = False
                time.sleep(rng.random() * (0.15 * SLOW if kind == "join" else 0.01))
                self.kill_one(program, rng)
            self.noticed += word == "lost"
        raise Failed(f"it ended early: {program.said()}")

    def one(self, seed):
        rng = random.Random(seed)
        kind = rng.choice(["join", "join", "read", "write", "save"])
        before = processes.snapshot(folders=[self.folder])
        program = Program([f"{self.programs}/storm", str(rng.randrange(1 << 40)), str(CALLS), f"{self.folder}/saved.npy"],
                          {"DCL_WORKERS": f"local:{rng.randrange(1, 3)}", "DCL_SPARE": "4", "DCL_PROGRAM": self.dcl},
                          f"{self.folder}/errors")
        try:
            self.follow(program, rng, kind)
            if program.end(20 * SLOW) != 0 or any(report in program.errors() for report in REPORTS):
                raise Failed(f"it ended with {program.process.returncode}: {program.said()}")
        finally:
            program.kill()
            for name in ("saved.npy", "errors"):
                if os.path.exists(f"{self.folder}/{name}"):
                    os.remove(f"{self.folder}/{name}")
        processes.nothing_left(before, 2 * SLOW, folders=[self.folder])


def main():
    dcl, programs = (os.path.abspath(path) for path in sys.argv[1:3])
    folder = tempfile.mkdtemp(prefix="dcl-storm-")
    rounds = Rounds(SEED)
    storm = Storm(programs, dcl, folder, rounds)
    print(f"seed {SEED}", flush=True)
    try:
        again = os.environ.get("TEST_ROUND")
        rounds.run("storm", 1 if again else ROUNDS, lambda seed: storm.one(again or seed))
    finally:
        processes.kill_all()
        shutil.rmtree(folder)
    print(f"{storm.killed} processes were killed, {storm.noticed} losses were told; {rounds.failed} failed")
    if storm.killed < ROUNDS / 2 and not again:
        print(f"too few processes were killed: {storm.killed} in {ROUNDS} rounds", file=sys.stderr)
        return 1
    return 1 if rounds.failed else 0


if __name__ == "__main__":
    sys.exit(main())
