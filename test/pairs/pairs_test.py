#!/usr/bin/python3
"""Every ordered pair of kinds of maps: arrays under the one and under the other, and all operations between them, compared
with plain loops by runner.c, which also compares what moves with what was explained.

Settings: TEST_DCL and TEST_PAIRS, the programs (build/dcl, and test/pairs beside it); TEST_SEED (a new one), printed;
TEST_CASE, to run a single case again; TEST_LONG=1: every pair in all ranks 1-4 and on all numbers of nodes 1-5, instead
of once; TEST_CASES, fewer cases than that; TEST_PARTS, to run a part of them only: 2/8 for the third of eight; TEST_WORKERS, a place of
support/workers.py local:N, tcp:N or tree:N: all cases run on the nodes of these workers. Ends with `N passed, M failed`."""
import contextlib
import itertools
import os
import random
import shutil
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # leave the source folder as it is
for folder in ("support", "oracle", "eval"):
    sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), folder))
import draw
from drive import Devices, environment
from lines import Ended, Lines
from workers import Unavailable, open_place, parse

DCL = os.path.abspath(os.environ.get("TEST_DCL") or "build/dcl")
RUNNER = os.path.abspath(os.environ.get("TEST_PAIRS") or f"{os.path.dirname(DCL)}/test/pairs")
SEED = int(os.environ.get("TEST_SEED") or time.time_ns() % 1000000)
LONG = bool(os.environ.get("TEST_LONG"))
WORKERS = os.environ.get("TEST_WORKERS")
SKIPPED = 77  # how CTest is told
NODES_MOST = 5
SHRINK_SECONDS = 30
MOST_FAILURES = 10

KINDS = draw.KINDS
TYPES = {1: "int16", 2: "float", 3: "int32", 4: "double"}  # by rank: a kernel is built for few of them
AXES = {1: [0], 2: [1, 0], 3: [2, 0, 1], 4: [3, 1, 0, 2]}  # how bodies.c permutes the axes of B and E
MOVES = {1: ["auto"], 2: ["auto", "send"], 3: ["send,256,128,32768", "auto"], 4: ["auto", "send"],
         5: ["auto,256,0,0", "send,256,128,32768"]}  # DCL_TRANSFER, tile, chunk, pool, by number of nodes


class Broken(Exception):
    """A case failed; the text says at which step and how."""


class Case:
    def __init__(self, pair, nodes, move, shape, origin, seed):
        self.pair, self.nodes, self.move, self.shape, self.origin, self.seed = pair, nodes, move, shape, origin, seed
        rng = random.Random(seed)
        permuted = [shape[d] for d in AXES[len(shape)]], [origin[d] for d in AXES[len(shape)]]
        grids = {"A": (shape, origin), "B": permuted, "C": (shape, origin), "D": (shape, origin), "E": permuted}
        self.maps = {name: draw.draw_map(rng, pair[name in "CD"], *grids[name], nodes) for name in grids}
        self.data = rng.randrange(1 << 32)

    def line(self, nodes_of, path):
        return "\t".join([nodes_of(self.nodes), self.move, str(self.data), path, TYPES[len(self.shape)],
                          ",".join(map(str, self.origin)), ",".join(map(str, self.shape))] + list(self.maps.values()))

    def describe(self):
        maps = "; ".join(f"{name} {text}" for name, text in self.maps.items())
        return (f"{self.pair[0]} and {self.pair[1]}: {self.nodes} nodes, {self.move}, {TYPES[len(self.shape)]} "
                f"{'x'.join(map(str, self.shape))} from {self.origin}; {maps}")


def draw_case(number, pairs):
    rng = random.Random(f"{SEED}/{number}")
    rank, nodes = rng.choice([1, 2, 2, 3, 4]), rng.choice([3, 3, 5])  # every cluster builds its kernels; maps may leave nodes out
    if LONG:
        number, nodes = number // NODES_MOST, number % NODES_MOST + 1
        number, rank = number // 4, number % 4 + 1
    if WORKERS:
        nodes = parse(WORKERS)[1]
    move = rng.choice(MOVES[nodes] if LONG else MOVES[nodes][:1])
    shape = [rng.randint(1, nodes)] if rank == 1 and rng.random() < 0.3 else draw.draw_shape(rng, rank, 400)
    shifted = rng.random() < 0.3
    origin = [rng.choice([-7, 1, 5, 100, -10**9, 10**12]) if shifted else 0 for _ in shape]
    return Case(pairs[number % len(pairs)], nodes, move, shape, origin, f"{SEED}/{number}/maps")


def simpler(case, rng):
    if any(case.origin):
        yield Case(case.pair, case.nodes, case.move, case.shape, [0] * len(case.shape), case.seed)
    if case.move != "auto":
        yield Case(case.pair, case.nodes, "auto", case.shape, case.origin, case.seed)
    for d, extent in enumerate(case.shape):
        for less in sorted({1, 2, extent // 2, extent - 1}):
            if 0 < less < extent:
                yield Case(case.pair, case.nodes, case.move, case.shape[:d] + [less] + case.shape[d + 1:], case.origin,
                           case.seed)
    for kind in ("block", "rows:cyclic"):
        for pair in ((kind, case.pair[1]), (case.pair[0], kind)):
            if not {"block", "rows:cyclic"} & {old for old, new in zip(case.pair, pair) if old != new} and pair != case.pair:
                yield Case(pair, case.nodes, case.move, case.shape, case.origin, case.seed)
    total = sum(case.shape) + 10 * len(case.shape)
    for n in range(30):
        shape = [rng.choice([1, 2, 3, 4, 6]) for _ in range(rng.randint(1, len(case.shape)))]
        if sum(shape) + 10 * len(shape) < total:
            yield Case(case.pair, case.nodes if WORKERS else rng.randint(1, case.nodes), case.move, shape, [0] * len(shape), f"{case.seed}/{n}")


class Lane:
    """Runs cases one after the other, with a program of its own."""

    def __init__(self, nodes_of, variables, path):
        self.nodes_of, self.path = nodes_of, path
        self.runner = Lines(RUNNER, {**environment(NODES_MOST), **variables}, 120)
        self.passed = self.failed = 0

    def attempt(self, case):
        try:
            answer = self.runner.ask(case.line(self.nodes_of, self.path))
        except Ended as ended:
            raise Broken(str(ended)) from None
        if answer[0] != "good":
            raise Broken(": ".join(answer[1:]))

    def take(self, number, pairs):
        case = draw_case(number, pairs)
        try:
            self.attempt(case)
            self.passed += 1
        except Broken as broken:
            self.failed += 1
            self.report(number, case, broken, self.shrink(case))

    def shrink(self, case):
        """A smaller case that fails too, if one is found. @return (case, Broken) or None"""
        best, until, rng = None, time.monotonic() + SHRINK_SECONDS, random.Random(SEED)
        for _ in range(12):
            for other in simpler(case, rng):
                if time.monotonic() > until:
                    return best
                try:
                    self.attempt(other)
                except Broken as broken:
                    case, best = other, (other, broken)
                    break
            else:
                break
        return best

    def report(self, number, case, broken, smaller):
        lines = [f"FAILED case {number}: {broken}", f"  {case.describe()}",
                 f"  again: {'TEST_LONG=1 ' * LONG}TEST_DCL={DCL} TEST_SEED={SEED} TEST_CASE={number} {os.path.abspath(__file__)}"]
        if smaller:
            case, broken = smaller
            lines += [f"  smaller: {broken}", f"  {case.describe()}"]
        line = case.line(self.nodes_of, "/tmp/pairs.npy").replace("\t", "\\t")
        lines.append(f"  by hand: printf '{line}\\n' | POCL_DEVICES='{environment(NODES_MOST)['POCL_DEVICES']}' {RUNNER}")
        print("\n".join(lines), file=sys.stderr, flush=True)


def run(lanes, numbers, pairs):
    def work(lane, mine):
        for number in mine:
            if sum(lane.failed for lane in lanes) < MOST_FAILURES:
                lane.take(number, pairs)

    threads = [threading.Thread(target=work, args=(lane, numbers[n::len(lanes)])) for n, lane in enumerate(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def open_workers(folder):
    if not WORKERS:
        return contextlib.nullcontext()
    os.mkdir(f"{folder}/workers")
    return open_place(WORKERS, DCL, f"{folder}/workers")


def main():
    devices = Devices(DCL)
    if not WORKERS and len(devices.numbers) < NODES_MOST:
        print(f"skipped: {len(devices.numbers)} OpenCL devices serve as nodes (`dcl devices`); {NODES_MOST} are needed")
        return SKIPPED
    begin = time.monotonic()
    pairs = list(itertools.product(KINDS, KINDS))
    random.Random(SEED).shuffle(pairs)
    only = os.environ.get("TEST_CASE")
    numbers = [int(only)] if only else list(range(len(pairs) * (NODES_MOST * 4 if LONG else 1)))
    numbers = numbers[:int(os.environ.get("TEST_CASES") or len(numbers))]
    part, parts = map(int, (os.environ.get("TEST_PARTS") or "0/1").split("/"))
    numbers = numbers[part::parts]
    print(f"seed {SEED}: {len(numbers)} cases, {len(KINDS)} kinds of maps{f', on {WORKERS}' if WORKERS else ''}", flush=True)
    folder = tempfile.mkdtemp(prefix="dcl-pairs-")
    try:
        with open_workers(folder) as place:
            variables = place.variables if place else {}
            nodes_of = (lambda _: variables["DCL_WORKERS"]) if place else devices.first
            lanes = [Lane(nodes_of, variables, f"{folder}/{n}.npy") for n in range(2 if LONG and not only else 1)]
            run(lanes, numbers, pairs)
            failed = sum(lane.failed for lane in lanes)
            for problem in filter(None, [lane.runner.end() for lane in lanes]):
                failed += 1
                print(f"FAILED at the end: {problem}", file=sys.stderr)
    except Unavailable as why:
        print(f"skipped: {WORKERS}: {why}")
        return SKIPPED
    finally:
        shutil.rmtree(folder)
    passed = sum(lane.passed for lane in lanes)
    print(f"{time.monotonic() - begin:.1f} seconds\n{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed == len(numbers) else 1


if __name__ == "__main__":
    sys.exit(main())
