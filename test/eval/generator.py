#!/usr/bin/python3
"""Random evaluations, through `dcl eval` and through C, compared with NumPy.

Settings: TEST_DCL and TEST_CASE_RUNNER, the programs (build/dcl, and test/case_runner beside it); TEST_CASES, how many (500); TEST_SEED (a new one), printed;
TEST_CASE, to run a single case again; TEST_KEEP=1 keeps its files. TEST_WORKERS, a place of support/workers.py such as local:2: each
case runs on so many nodes, first in one process, then under these workers: the same bytes in its files and the same movement.

Of every case: its results (bit for bit; sin and exp within OpenCL's bounds), that explain and stats agree on every node,
and for small arrays that bytes and blocks moved are those counted here element by element. Every tenth case is run again
on other numbers of nodes and under other maps, and must give the same bits. Ends with `N passed, M failed`."""
import contextlib
import copy
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback

import numpy

sys.dont_write_bytecode = True  # leave the source folder as it is
sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import maps
import movement
from bodies import DTYPES, FLOATS, INDICES, TYPES, choose_kernels, evaluate, ulps_off
from drive import Broken, Command, Devices, Runner
from workers import Unavailable, open_place, parse

DCL = os.path.abspath(os.environ.get("TEST_DCL") or "build/dcl")
RUNNER = os.path.abspath(os.environ.get("TEST_CASE_RUNNER") or f"{os.path.dirname(DCL)}/test/case_runner")
WORKERS = os.environ.get("TEST_WORKERS")
SKIPPED = 77  # how CTest is told
NODES = [1, 2, 3, 5]  # as far as there are devices
CASES = int(os.environ.get("TEST_CASES") or 500)
SEED = int(os.environ.get("TEST_SEED") or time.time_ns() % 1000000)
EVAL_SHARE = {1: 0.4, 2: 0.4, 3: 0.3, 4: 0, 5: 0.15}  # a process that opens many devices takes long
MOST_KERNELS = 60
SHRINK_SECONDS = 20
SMALL = 4000  # elements up to which movement is counted here

STAYS = [{}, {"tile": 256}, {"move": "place", "tile": 1024, "block": 512}]
SENDS = [{"move": "send"}, {"move": "send", "tile": 256, "chunk": 128, "pool": 32768},
         {"move": "send", "tile": 2048, "chunk": 512, "pool": 262144, "block": 1024}]


# ---- making a case ------------------------------------------------------------------------------------------------------


def draw_extents(rng, body, number, positive):
    small = {1: [1, 2, 3, 7, 13, 61, 127, 1009], 2: [1, 2, 3, 5, 7, 11, 13, 17, 31, 37], 3: [1, 2, 3, 5, 7, 11],
             4: [1, 2, 3, 5]}[body.rank]
    extents = [rng.choice(small + [rng.randint(1, small[-1])]) for _ in range(body.rank)]
    kind = rng.random()
    if kind < 0.1:
        extents[rng.randrange(body.rank)] = 1
    elif kind < 0.17 and not positive:
        extents[rng.randrange(body.rank)] = 0
    elif kind < 0.25 and body.rank < 3 and not body.most:
        extents = [rng.choice([61, 101, 150, 257]) for _ in extents] if body.rank == 2 else [rng.choice([4099, 100003])]
    elif body.origin and body.rank == 2 and number % 25 == 7:
        extents = [1000, 1003]
    return [min(e, body.most or e) for e in extents]


def draw_values(rng, type_name, shape, generator):
    dtype = DTYPES[type_name]
    if dtype.kind == "f":
        return generator.uniform(-30, 30, shape).astype(dtype)
    low = 0 if dtype.kind == "u" else -5
    high = 10 if dtype.kind == "u" else 5
    scale = rng.choice([1, 1, 100 ** (dtype.itemsize // 4)])
    return (generator.integers(low, high + 1, shape) * scale).astype(dtype)


class Case:
    """Everything about one case; made again from (seed, number), so that it can be run again."""

    def __init__(self, number, kernels, pairs):
        self.number = number
        rng = self.rng = random.Random(f"{SEED}/{number}")
        self.kernel = kernels[number % len(kernels)]
        body = self.kernel.body
        first_round = number < len(pairs)
        self.nodes = rng.choice([n for n in [2, 2, 3, 3, 5] + [1] * (not first_round) if n in NODES] or [1])
        if 5 in NODES and rng.random() < 0.1:
            self.nodes = 4  # the only one of these that can be arranged over two axes
        self.pair = pairs[number % len(pairs)]
        if not first_round and rng.random() < 0.5:
            self.pair = rng.choice(maps.KINDS + maps.MORE), rng.choice(maps.KINDS + maps.MORE)
        self.extents = draw_extents(rng, body, number, first_round)
        self.via = "eval" if body.eval and rng.random() < EVAL_SHARE[self.nodes] else "c"
        self.sends = (number + number // len(kernels)) % 3 == 0
        self.choice = number % len(kernels) * 7 + SEED
        self.kinds = {name: rng.choice(maps.KINDS + maps.MORE + [maps.DEFAULT]) for name in body.shapes}
        self.kinds[body.first] = self.pair[0]
        inputs = [name for name in body.shapes if name != body.first]
        if inputs:
            self.kinds[rng.choice(inputs)] = self.pair[1]
        self.wants_box = self.via == "c" and body.box and rng.random() < 0.15
        self.wants_origin = self.via == "c" and body.origin and rng.random() < 0.2
        self.shift = {name: rng.choice([-7, 1, 5, 100, -10**9, 10**12]) for name in INDICES}
        self.fractions = [rng.choice([(0, 1, 1), (0, 1, 2), (1, 1, 1), (1, 2, 3), (0, 3, 4)]) for _ in range(8)]
        self.map_seed = 0
        self.plain = False
        self.wants_twin = self.via == "c" and rng.random() < 0.15
        self.again = 0
        self.complete()

    def complete(self):
        """All that follows from the choices above; called again when one of them was changed."""
        rng = random.Random(f"{SEED}/{self.number}/rest")
        body = self.kernel.body
        self.values = {name: self.scalar(make(rng, self.extents)) for name, make in body.scalars.items()}
        self.values.update({f"N{d}": ("int64", e) for d, e in enumerate(self.extents)
                            if f"N{d}" in body.text})
        self.shapes = {name: body.shape(name, self.extents, self.values) for name in body.shapes}
        self.origins = {name: [self.shift[axis.strip()] if self.wants_origin else 0 for axis in axes]
                        if body.origin else [0] * len(axes) for name, axes in body.shapes.items()}
        generator = numpy.random.default_rng([SEED, self.number])
        self.start = {name: draw_values(rng, self.kernel.type_of(name), shape, generator)
                      if body.access[name] != "out" else numpy.zeros(shape, DTYPES[self.kernel.type_of(name)])
                      for name, shape in self.shapes.items()}
        self.settings = self.settings_that_fit()
        self.maps = {name: maps.make(random.Random(f"{SEED}/{self.number}/{name}/{self.map_seed}"), self.kinds[name],
                                     shape, self.origins[name], self.nodes, DTYPES[self.kernel.type_of(name)].itemsize, not self.plain)
                     for name, shape in self.shapes.items()}
        self.twin = self.find_twin()
        for name, other in self.twin.items():
            self.start[name], self.maps[name] = self.start[other], self.maps[other]
        self.swapped, self.spares = self.find_swap(rng), rng.randrange(3)
        if self.swapped:
            self.maps[self.swapped[1]] = self.maps[self.swapped[0]]
        self.inferred = body.infer and rng.random() < 0.5
        self.times = rng.choice([1] * 7 + [3]) if "inout" not in body.access.values() else 1
        self.saved_order = rng.choice([None, "C", "F"])
        self.file_form = {name: {"fortran": rng.random() < 0.4, "swapped": rng.random() < 0.25,
                                 "version": rng.choice([None, None, (2, 0)])} for name in self.shapes}
        self.way_in = {name: rng.choice(["npy", "npy", "c", "f", "r", "cb", "fb", "rb"]) for name in self.shapes
                       if body.access[name] != "out"}
        self.way_in.update(dict.fromkeys(self.twin, "same"))
        self.way_over = rng.choice(["c", "cb"])
        self.rewritten = [name for name in self.shapes if body.access[name].startswith("in") and name not in self.twin
                          and body.access[name] != "inout"]
        self.way_out = {name: rng.choice(["npy", "npyf", "c", "f", "r", "cb", "fb", "rb"]) for name in self.outputs()}
        self.listed = [name for name in self.shapes if name not in self.twin and self.start[name].size <= 600
                       and rng.random() < 0.4]
        self.box = self.draw_box()

    def alike(self, a, b):
        return (self.shapes[a] == self.shapes[b] and self.origins[a] == self.origins[b] and
                self.kernel.type_of(a) == self.kernel.type_of(b))

    def find_twin(self):
        """Two inputs that are one array: {second: first}."""
        inputs = [name for name in self.shapes if self.access(name) == "in"]
        if self.wants_twin and len(inputs) > 1 and self.alike(inputs[0], inputs[1]):
            return {inputs[1]: inputs[0]}
        return {}

    def find_swap(self, rng):
        """An output and an input that can be exchanged between two runs; () where there is none."""
        pairs = [(x, y) for x in self.shapes for y in self.shapes
                 if self.access(x) == "out" and self.access(y) == "in" and self.alike(x, y)]
        second = [(x, y) for x, y in pairs if x != self.kernel.body.first]  # written by nodes that do not own it
        return rng.choice(second or pairs) if self.again and pairs and not self.twin else ()

    def scalar(self, drawn):
        kind, value = drawn
        type_name = self.kernel.scalar_type(kind)
        if type_name in FLOATS:
            return type_name, float(numpy.dtype(DTYPES[type_name]).type(value + 0.3125 + (type_name == "double") * 1e-9))
        return type_name, value

    def draw_box(self):
        shape, origin = self.shapes[self.kernel.body.first], self.origins[self.kernel.body.first]
        self.boxed = self.wants_box and min(shape) > 0
        if not self.boxed:
            return [(low, count, 1) for low, count in zip(origin, shape)]
        box = []
        for low, extent, (start, cut, stride) in zip(origin, shape, self.fractions):
            start = min(start, extent - 1)
            end = max(start + 1, extent - extent * cut // 4 + (cut == 1) * (extent // 4))
            box.append((low + start, (end - start + stride - 1) // stride, stride))
        return box

    def settings_that_fit(self):
        table = SENDS if self.sends else STAYS
        chosen = {} if self.plain and not self.sends else table[0] if self.plain else table[self.choice % len(table)]
        if sum(values.size for values in self.start.values()) * 8 > chosen.get("pool", 1 << 40):
            chosen = table[0]
        if sum(values.size for values in self.start.values()) > 20000:
            chosen = table[0]
        return chosen

    def access(self, name):
        return self.kernel.body.access[name]

    def is_empty(self):
        return any(count == 0 for _, count, _ in self.box)

    def ends(self):
        """What dcl_wait() has to say."""
        return "DCL_OK" if self.is_empty() else self.kernel.body.ends

    def outputs(self):
        return [name for name in self.shapes if self.access(name) in ("out", "inout")]

    def varied(self, **changes):
        other = copy.copy(self)
        for key, value in changes.items():
            setattr(other, key, value)
        other.complete()
        return other

    def describe(self):
        where = "; ".join(f"{name} {self.kernel.type_of(name)} {'x'.join(map(str, shape))}"
                          f" [{self.maps[name].text or 'default map'}]" for name, shape in self.shapes.items())
        more = f" {self.settings}" if self.settings else ""
        more += f" box {self.box}" if self.boxed else ""
        more += f" values { {k: v for k, (_, v) in self.values.items()} }" if self.values else ""
        more += f" {self.twin}" if self.twin else ""
        more += f" then {self.again} times more, {self.swapped} exchanged with {self.spares} spare, inputs overwritten" if self.again else ""
        more += f" origins {self.origins}" if any(any(o) for o in self.origins.values()) else ""
        return f"{self.kernel.body.name}: {self.kernel.text!r} on {self.nodes} nodes; {where}{more}; through {self.via}"


# ---- checking -----------------------------------------------------------------------------------------------------------


def expected(case):
    arrays = {name: values.copy() for name, values in case.start.items()}
    evaluate(case.kernel, arrays, case.origins, case.values, case.box)
    spares = [numpy.zeros_like(arrays[name]) for name in case.swapped[:1] * case.spares]
    for n in range(case.again):
        if case.swapped:
            x, y = case.swapped
            arrays[x], arrays[y] = arrays[y], arrays[x]
            if spares:
                arrays[x], spares[n % case.spares] = spares[n % case.spares], arrays[x]
        evaluate(case.kernel, arrays, case.origins, case.values, case.box)
    return arrays


def first_difference(found, wanted):
    at = numpy.argwhere(found.view(f"u{found.dtype.itemsize}") != wanted.view(f"u{wanted.dtype.itemsize}"))
    where = tuple(int(n) for n in at[0])
    return f"{len(at)} of {found.size} elements differ, the first at {where}: {found[where]}; expected {wanted[where]}"


def check_array(case, name, found, wanted):
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        raise Broken(f"{name} is {found.dtype} {found.shape}; expected {wanted.dtype} {wanted.shape}")
    found = numpy.ascontiguousarray(found)
    bound = case.kernel.body.ulps
    if bound is None:
        if found.tobytes() != wanted.tobytes():
            raise Broken(f"{name}: {first_difference(found, wanted)}")
        return
    if case.boxed:  # outside of the box nothing is written
        return
    off = ulps_off(case.kernel, found, case.start, case.origins, case.values, case.box)
    if not off <= bound:
        raise Broken(f"{name} is off by {off} units of the last place; expected at most {bound}")


def check_movement(case, planned):
    """@return whether it was small enough to be counted here."""
    body = case.kernel.body
    total = planned[-1]
    if (total[3] > 0) != (body.inexact and not case.is_empty()) and not case.is_empty():
        raise Broken(f"approximate is {total[3]}, but subscripts are {'in' if body.inexact else ''}exact")
    if any(sum(row[n] for row in planned[:-1]) != total[n] for n in range(4)):
        raise Broken(f"nodes do not add up to the total: {planned}")
    if sum(values.size for values in case.start.values()) > SMALL:
        return False
    block_bytes = case.settings.get("block", maps.BLOCK_BYTES)
    counted = movement.count(case.kernel, case.shapes, case.origins, case.values, case.box, case.maps, case.nodes,
                             block_bytes)
    for node, ((blocks, size), row) in enumerate(zip(counted, planned)):
        if row[2] != size if not body.inexact else row[2] < size:
            raise Broken(f"node {node} plans to move {row[2]} bytes; expected {size}")
        if not body.inexact and blocks is not None and row[1] != blocks:
            raise Broken(f"node {node} plans to move {row[1]} blocks; expected {blocks}")
    return not body.inexact


class Lane:
    """Runs cases one after the other, with programs of its own."""

    def __init__(self, number, devices, folder, report, place):
        self.folder, self.report = folder, report
        self.drivers = {"eval": Command(DCL, devices), "c": Runner(RUNNER, devices, f"{folder}/runner{number}.err")}
        self.under_workers = place and {"eval": Command(DCL, devices, place),
                                        "c": Runner(RUNNER, devices, f"{folder}/runner{number}-workers.err", place)}
        self.counts = dict.fromkeys(["eval", "c", "sent", "repeats", "sequences", "counted", "inexact", "passed", "failed"], 0)
        self.seen = {"pairs": set(), "types": set(), "nodes": set(), "kernels": set()}

    def attempt(self, case, wanted=None):
        """@return (results, whether movement was counted)"""
        folder = tempfile.mkdtemp(prefix=f"case{case.number}-", dir=self.folder)
        driver = self.drivers[case.via]
        try:
            found, planned = driver.run(case, folder)
            arrays = wanted or expected(case)
            for name in case.outputs():
                check_array(case, name, found[name], arrays[name])
            result = found, check_movement(case, planned)
            if self.under_workers:
                driver = self.under_workers[case.via]
                self.run_again(case, driver, folder, planned)
        except Broken as broken:
            broken.case, broken.said = case, driver.said
            raise
        if not os.environ.get("TEST_KEEP"):
            shutil.rmtree(folder)
        return result

    def run_again(self, case, driver, folder, planned):
        """Under worker processes: what it saves are the same bytes, and the same moves."""
        there = f"{folder}/workers"
        os.mkdir(there)
        found, planned_there = driver.run(case, there)
        if planned_there != planned:
            raise Broken(f"under {WORKERS} tasks, blocks, bytes are {planned_there}; in one process {planned}")
        for name in case.outputs():
            file = f"{name}.npy" if case.via == "eval" else f"{name}.out"
            with open(f"{folder}/{file}", "rb") as one, open(f"{there}/{file}", "rb") as other:
                if one.read() != other.read():
                    check_array(case, name, found[name], expected(case)[name])
                    raise Broken(f"{file} has other bytes under {WORKERS} than in one process")

    def runners(self):
        return [drivers["c"] for drivers in (self.drivers, self.under_workers) if drivers]

    def repeat(self, case, found):
        """The same on other numbers of nodes and under other maps: the same bits."""
        rng = random.Random(f"{SEED}/{case.number}/repeats")
        others = [case.varied(via="c", nodes=n) for n in NODES if n != case.nodes]
        others += [case.varied(via="c", map_seed=k, kinds={name: rng.choice(maps.KINDS + maps.MORE) for name in case.kinds})
                   for k in (1, 2)]
        for other in others:
            again, _ = self.attempt(other)
            self.counts["repeats"] += 1
            for name in case.outputs():
                if numpy.ascontiguousarray(again[name]).tobytes() != numpy.ascontiguousarray(found[name]).tobytes():
                    raise Broken(f"{name} has other bits on {other.describe()}")

    def take(self, case):
        try:
            found, counted = self.attempt(case)
            self.note(case, counted)
            if (case.number + case.number // MOST_KERNELS) % 10 == 0:  # not always of the same kernels
                self.repeat(case, found)
            elif case.number % 8 == 1 and as_sequence(case).ends() == "DCL_OK" and not case.kernel.body.grows:
                self.attempt(as_sequence(case))
                self.counts["sequences"] += 1
            self.counts["passed"] += 1
        except Broken as broken:
            self.counts["failed"] += 1
            case = getattr(broken, "case", case)
            self.report(case, broken, self.shrink(case))

    def note(self, case, counted):
        self.counts[case.via] += 1
        self.counts["sent"] += case.sends
        self.counts["counted"] += counted
        self.counts["inexact"] += case.kernel.body.inexact
        self.seen["types"].update(case.kernel.type_of(name) for name in case.shapes)
        self.seen["nodes"].add(case.nodes)
        self.seen["kernels"].add((case.kernel.body.name, case.kernel.type))
        if case.nodes > 1 and not case.is_empty():
            first = case.kernel.body.first
            self.seen["pairs"].update((case.kinds[first], case.kinds[name]) for name in case.shapes if name != first)

    def shrink(self, case):
        """A simpler case that fails too, if a few attempts find one. @return (case, Broken) or None"""
        best, until = None, time.monotonic() + SHRINK_SECONDS
        for _ in range(4):
            for other in simpler(case):
                if time.monotonic() > until:
                    return best
                try:
                    self.attempt(other)
                except Broken as broken:
                    case, best = other, (other, broken)
                    break
            else:
                return best
        return best


def as_sequence(case):
    """The same body several times in a row on arrays so large that a node that did not wait would be seen."""
    extent = min({1: 20011, 2: 203, 3: 37, 4: 13}[case.kernel.body.rank], case.kernel.body.most or 20011)
    times = 3 if case.kernel.type in ("int32", "int64") else 8  # sums of more could overflow
    return case.varied(via="c", again=times, extents=[extent] * case.kernel.body.rank, nodes=max(case.nodes, min(2, NODES[-1])),
                       sends=case.number % 16 == 1, plain=True)


def simpler(case):
    changes = []
    if not case.plain:
        changes.append({"plain": True})
    for d, extent in enumerate(case.extents):
        for less in {extent // 2, min(extent, 3), extent - 1}:
            if 0 < less < extent:
                changes.append({"extents": case.extents[:d] + [less] + case.extents[d + 1:]})
    if case.nodes > 2 and 2 in NODES:
        changes.append({"nodes": 2})
    if case.again:
        changes += [{"again": 0}, {"again": 1}]
    if case.wants_twin:
        changes.append({"wants_twin": False})
    if case.wants_box:
        changes.append({"wants_box": False})
    if case.wants_origin:
        changes.append({"wants_origin": False})
    for name, kind in case.kinds.items():
        if kind not in ("block", "rows:cyclic"):
            changes += [{"kinds": {**case.kinds, name: simple}} for simple in ("block", "rows:cyclic")]
    if case.via == "eval":
        changes.append({"via": "c"})
    for change in changes:
        yield case.varied(**change)


# ---- all of it ----------------------------------------------------------------------------------------------------------


class Report:
    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, case, broken, shrunk):
        with self.lock:
            print(f"FAILED case {case.number}: {broken}\n  {case.describe()}", file=sys.stderr)
            where = f"TEST_WORKERS={WORKERS} " if WORKERS else ""
            print(f"  again: {where}TEST_DCL={DCL} TEST_SEED={SEED} TEST_CASES={CASES} TEST_CASE={case.number} "
                  f"{sys.executable} {os.path.abspath(__file__)}", file=sys.stderr)
            if shrunk is not None:
                case, broken = shrunk
                print(f"  smaller: {broken}\n  {case.describe()}", file=sys.stderr)
            if hasattr(broken, "said"):
                print(f"  by hand: {broken.said}", file=sys.stderr)
            sys.stderr.flush()


def run_lanes(lanes, numbers, kernels, pairs):
    """Cases of one kernel go to one lane, so that no kernel is built in two."""
    def work(lane, mine):
        for number in mine:
            try:
                lane.take(Case(number, kernels, pairs))
            except Exception:
                lane.counts["failed"] += 1
                print(f"FAILED case {number} of seed {SEED}: the generator itself\n{traceback.format_exc()}",
                      file=sys.stderr)

    threads = [threading.Thread(target=work, args=(lane, [k for k in numbers if k % len(kernels) % len(lanes) == n]))
               for n, lane in enumerate(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def close(lanes):
    """Runners end like any program; their ending is tested too. @return how many did it wrong"""
    wrong = 0
    for lane in lanes:
        for problem in filter(None, [runner.end() for runner in lane.runners()]):
            wrong += 1
            print(f"FAILED at the end: {problem}", file=sys.stderr)
    return wrong


def check_coverage(lanes, pairs, kernels, failed):
    """What the whole run has seen. @return problems"""
    seen = {key: set().union(*(lane.seen[key] for lane in lanes)) for key in lanes[0].seen}
    counts = {key: sum(lane.counts[key] for lane in lanes) for key in lanes[0].counts}
    covered = len(seen["pairs"] & set(pairs))
    print(f"{counts['c']} cases through C, {counts['eval']} through dcl eval, {counts['sent']} of them sent; "
          f"{counts['repeats']} repeats on other nodes and maps, "
          f"{counts['sequences']} operations in sequence; movement counted element by element in "
          f"{counts['counted']}; {len(seen['kernels'])} kernels; pairs of maps {covered} of {len(pairs)}; "
          f"types {len(seen['types'])} of {len(TYPES)}; nodes {sorted(seen['nodes'])}")
    if CASES < 300 or failed or len(NODES) < 4:
        return []
    problems = [f"pair of maps never met: {pair}" for pair in pairs if pair not in seen["pairs"]]
    problems += [f"type never met: {name}" for name in TYPES if name not in seen["types"]]
    problems += [f"number of nodes never met: {n}" for n in NODES if n not in seen["nodes"]]
    if len(kernels) > MOST_KERNELS:
        problems.append(f"{len(kernels)} kernels; expected at most {MOST_KERNELS}")
    if 3 * counts["sent"] < 0.9 * CASES:
        problems.append(f"only {counts['sent']} cases with DCL_TRANSFER=send; expected a third")
    return problems


def run_all(folder, devices, place):
    """@return how many passed, and failed."""
    rng = random.Random(SEED)
    kernels = choose_kernels(rng, max(10, min(MOST_KERNELS, CASES // 2)))
    pairs = maps.all_pairs(rng)
    only = os.environ.get("TEST_CASE")
    numbers = [int(only)] if only else range(CASES)
    print(f"seed {SEED}: {len(numbers)} cases, {len(kernels)} kernels" + (f", under {WORKERS}" if place else ""), flush=True)
    lanes = [Lane(n, devices, folder, Report(), place)
             for n in range(1 if only else max(1, min(4, os.cpu_count() or 1)))]
    run_lanes(lanes, numbers, kernels, pairs)
    wrong = close(lanes)
    failed = sum(lane.counts["failed"] for lane in lanes) + wrong
    problems = [] if only else check_coverage(lanes, pairs, kernels, failed)
    for problem in problems:
        print(f"FAILED coverage: {problem}", file=sys.stderr)
    return sum(lane.counts["passed"] for lane in lanes), failed + len(problems)


def open_workers(folder):
    """A context with the place; None without TEST_WORKERS."""
    if not WORKERS:
        return contextlib.nullcontext()
    os.mkdir(f"{folder}/workers")
    return open_place(WORKERS, DCL, f"{folder}/workers")


def main():
    devices = Devices(DCL)
    if not devices.numbers:
        print("skipped: no OpenCL device serves as a node (`dcl devices`)")
        return SKIPPED
    NODES[:] = [parse(WORKERS)[1]] if WORKERS else [n for n in NODES if n <= len(devices.numbers)]
    begin = time.monotonic()
    folder = tempfile.mkdtemp(prefix="dcl-cases-")
    try:
        with open_workers(folder) as place:
            passed, failed = run_all(folder, devices, place)
    except Unavailable as why:
        os.rmdir(f"{folder}/workers")
        os.rmdir(folder)
        print(f"skipped: {WORKERS}: {why}")
        return SKIPPED
    if failed or os.environ.get("TEST_KEEP"):
        print(f"files are kept in {folder}")
    else:
        shutil.rmtree(folder)
    print(f"{time.monotonic() - begin:.1f} seconds\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
