#!/usr/bin/python3
"""All verbs on random maps: every two of the factors verb, operator, type, map of the input, other map, rank, number of nodes,
place and settings in all combinations, compared by runner.c with plain loops.

A text (what a kernel is built for) has a verb, an operator, a type and a rank; a case is a text with maps, extents, values,
nodes, a place and settings. Rounds of cases are pairwise covering arrays over the factors: greedily, each row covers as many
pairs that no row before has as it can. Source of the method: D. Cohen et al., "The AETG System" (IEEE Transactions on
Software Engineering 23, 1997).

Settings: TEST_DCL and TEST_VERBS, the programs (build/dcl, and test/verbs beside it); TEST_SEED (a new one), printed;
TEST_CASES, how many (24, on few clusters); TEST_KERNELS, how many texts at most (5); TEST_CASE, to run a single case again; TEST_PLACES,
of - (threads), local and tcp (-,local). TEST_JOBS, how many processes share the texts (1). TEST_PARTS, to run a part of the cases only:
2/8 for the third of eight, 0-3/8 for the first four, one process for each. Ends with `N passed, M failed`."""
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave the source folder as it is
for folder in ("support", "oracle", "eval"):
    sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), folder))
import draw
import workers
from drive import Devices, environment
from lines import Ended, Lines

DCL = os.path.abspath(os.environ.get("TEST_DCL") or "build/dcl")
RUNNER = os.path.abspath(os.environ.get("TEST_VERBS") or f"{os.path.dirname(DCL)}/test/verbs")
SEED = int(os.environ.get("TEST_SEED") or time.time_ns() % 1000000)
CASES = int(os.environ.get("TEST_CASES") or 24)
TEXTS = int(os.environ.get("TEST_KERNELS") or 5)
SKIPPED = 77  # how CTest is told
NODES_MOST = 5
JOBS = int(os.environ.get("TEST_JOBS") or 1)
PARTS = os.environ.get("TEST_PARTS") or (f"0-{JOBS - 1}/{JOBS}" if JOBS > 1 else None)
MOST_FAILURES = int(os.environ.get("TEST_FAILURES") or 10)

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float", "double"]
KINDS = draw.KINDS + draw.PERIODIC
FACTORS = {
    "verb": ["forall", "value", "along", "scan", "keyed", "element"],
    "op": ["+", "-", "*", "min", "max", "&", "|", "^", "any", "all", "combine"],
    "type": INTEGERS + FLOATS,
    "rank": [1, 2, 3, 4],
    "input": KINDS,
    "other": KINDS,
    "nodes": list(range(1, NODES_MOST + 1)),
    "place": (os.environ.get("TEST_PLACES") or "-,local").split(","),
    "settings": [("auto", 0, "pays", "-"), ("send", 256, "always", "partials"), ("auto", 1024, "always", "-"),
                 ("send", 0, "never", "partials")],
}
if TEXTS < 20:  # a short run
    FACTORS["nodes"], FACTORS["settings"] = [1, 4], FACTORS["settings"][:2]
OF_TEXTS = ["verb", "op", "type", "rank"]
OF_CASES = [name for name in FACTORS if name not in OF_TEXTS]
BITS = ["&", "|", "^"]
SMALL, FACTOR, WHOLE, SPECIAL, NEAR_ONE = range(5)  # values.h
WINDOW = 3  # oracle.h


def is_valid(verb, op, type_name):
    """What the library offers."""
    if type_name in FLOATS and (op in BITS or (op == "*" and verb == "keyed")):
        return False
    if op in ("any", "all"):
        return type_name in INTEGERS and verb in ("value", "along", "element")
    if op == "combine":
        return verb in ("value", "along", "scan", "element")
    return verb != "scan" or op != "-"


# ---- texts ----------------------------------------------------------------------------------------------------------------


class Text:
    """Operands are (indices along the axes, shifts); None: there is none."""

    def __init__(self, rng, verb, op, type_name, rank):
        self.factors = {"verb": verb, "op": op, "type": type_name, "rank": rank}
        self.verb, self.op, self.type, self.rank = verb, op, type_name, rank
        self.input_type = self.draw_input_type(rng)
        self.flags, self.along, self.second = "", 0, self.draw_second(rng)
        self.indices, self.b, self.keys, self.range, self.bounds = rank, None, None, None, ""
        getattr(self, f"draw_{verb}")(rng)
        if self.b is not None and not set(self.flags) & set("cw") and rng.random() < 0.3:
            self.draw_bounds(rng)
        if verb not in ("scan", "keyed") and rng.random() < 0.3:
            self.draw_range(rng)

    def draw_input_type(self, rng):
        if rng.random() < 0.6:
            return self.type
        return rng.choice(INTEGERS if self.type in INTEGERS else FLOATS + INTEGERS)

    def draw_second(self, rng):
        return rng.choice(["none", "none", "*", "+", "-"] + (["^", "&"] if self.input_type in INTEGERS else ["*", "*"]))

    def permuted(self, rng, indices, shifted=False):
        indices = list(indices)
        if rng.random() < 0.6:
            rng.shuffle(indices)
        return indices, [rng.choice([0, 0, 1, -2]) if shifted else 0 for _ in indices]

    def some(self, rng, indices, shifted=False):
        indices = list(indices)
        return self.permuted(rng, sorted(rng.sample(indices, rng.randint(1, len(indices)))), shifted)

    def draw_forall(self, rng):
        every, shifted = range(self.rank), rng.random() < 0.3
        self.out, self.a = self.permuted(rng, every), self.permuted(rng, every, shifted)
        if rng.random() < 0.4:
            self.flags, self.input_type, self.second = "i", self.type, "none"
        else:
            self.second, self.b = self.op, self.some(rng, every, shifted)
            self.flags = rng.choice(["", "", "w"])

    def draw_value(self, rng):
        every = range(self.rank)
        self.out, self.a = ([], []), self.permuted(rng, every)
        self.second = rng.choice(["*", "+"]) if self.second == "none" else self.second
        self.b = self.some(rng, every, rng.random() < 0.3)
        if self.type in FLOATS and self.op in "+-" and rng.random() < 0.1:
            self.flags = "f"
        if self.verb == "value" and self.op in ("min", "max") and rng.random() < 0.5:
            self.flags = "t"
            self.input_type = rng.choice([self.input_type] + INTEGERS)
        if self.verb == "value":
            ordered = self.op == "combine" or (self.op == "*" and self.type in FLOATS)  # not beside outputs
            self.flags += rng.choice(["", "", "m"] if ordered else ["", "", "m", "e", "me"])

    def draw_along(self, rng):
        a = list(range(self.rank))
        if self.type in FLOATS and self.op in "+-" and self.rank > 1 and rng.random() < 0.7:
            return self.draw_product(rng)
        kept = rng.sample(a, rng.randint(1, self.rank - 1)) if self.rank > 1 else []
        own = self.rank == 1 or rng.random() < 0.4  # an index that only B has
        if own:
            self.second = rng.choice(["*", "+"]) if self.second == "none" else self.second
            kept.append(self.rank)
            self.indices += 1
        self.a = self.permuted(rng, a)
        self.out = self.permuted(rng, sorted(kept))
        if self.second != "none":
            b = sorted(set(rng.sample(a, rng.randint(0 if own else 1, min(3, self.rank)))) | ({self.rank} if own else set()))
            self.b = self.permuted(rng, b)
        self.flags = rng.choice(["", "i"])
        if self.op in ("min", "max") and rng.random() < 0.5:
            self.flags += "t"
        if (self.type in FLOATS and self.type == self.input_type and self.op in "+-" and self.second == "*" and
                set(kept) & set(a) and set(kept) & set(self.b[0])):
            self.flags += "c"

    def draw_product(self, rng):
        """A matrix product, perhaps of many at once."""
        *batch, i, k = rng.sample(range(self.rank), self.rank)
        j, self.indices = self.rank, self.rank + 1
        self.input_type, self.second = self.type, "*"
        self.a, self.b = self.permuted(rng, range(self.rank)), self.permuted(rng, batch + [k, j])
        self.out, self.flags = self.permuted(rng, batch + [i, j]), rng.choice(["c", "ci"])

    def draw_scan(self, rng):
        every = range(self.rank)
        self.out, self.a = self.permuted(rng, every), self.permuted(rng, every)
        self.along = rng.randrange(self.rank)
        if self.second != "none":
            self.b = self.some(rng, every, rng.random() < 0.3)
        self.flags = rng.choice(["", "x"])

    def draw_keyed(self, rng):
        """The key is one more index, which only the output has."""
        every = range(self.rank)
        self.a, self.keys = self.permuted(rng, every), self.some(rng, every, rng.random() < 0.3)
        if self.second != "none":
            self.b = self.some(rng, every, rng.random() < 0.3)
        kept = rng.sample(every, rng.choice([0, 0, rng.randint(0, self.rank)]))
        self.out, self.indices = self.permuted(rng, kept + [self.rank]), self.rank + 1
        self.flags, self.key_type = rng.choice(["", "i"]), rng.choice(["int32", "int64"])
        if self.op in ("min", "max") and len(kept) < self.rank and rng.random() < 0.5:
            self.flags += "t"

    def draw_element(self, rng):
        self.draw_value(rng)
        self.out, self.indices = ([self.rank], [0]), self.rank + 1
        self.flags += rng.choice(["", "i"])

    def draw_bounds(self, rng):
        """Boundaries of B's subscripts, where A gives the range of the index."""
        self.bounds = "".join(rng.choice("-cnxwrsz") if x in self.a[0] else "-" for x in self.b[0])
        if set(self.bounds) == {"-"}:
            self.bounds = ""
            return
        allowed = {"-": [0], "c": [-2, 0, 1], "n": [0, 1], "x": [0, -2], "w": [-2, 0, 1], "r": [-2, 0, 3],
                   "s": [-2, 0, 3], "z": [-2, 0, 1]}
        self.b = self.b[0], [rng.choice(allowed[bound]) if bound != "-" else shift
                             for bound, shift in zip(self.bounds, self.b[1])]

    def draw_range(self, rng):
        """(low, high, x, y, slope) of a test_range: a triangle, a band, a part."""
        indices = list(self.a[0])
        x, y = rng.sample(indices, 2) if len(indices) > 1 else indices * 2
        low, high = rng.choice([(0, 0), (0, 1), (1, 0), (1, 1)]) if x != y else (0, 0)
        self.range = low, high, x, y, rng.choice([1, 1, 1, 2, -1])

    def spread(self, rng):
        """Products and sums of two signed integers must not overflow in a body; floating-point ones stay finite if multiplied."""
        if self.op == "*" and self.type in FLOATS and self.verb != "forall":
            return NEAR_ONE if self.input_type in FLOATS and self.second in ("none", "*") else SMALL
        if "t" in self.flags:  # many equal values
            return rng.choice([FACTOR, FACTOR, SPECIAL if self.input_type in FLOATS else SMALL])
        computes = self.second in "*+-" or "w" in self.flags or (self.verb == "forall" and self.op in "*+-")
        if self.input_type in INTEGERS and computes:
            return SMALL
        return rng.choice([SMALL, WHOLE, WHOLE, SPECIAL])


def draw_texts(count):
    """Texts that have all pairs of their factors, as far as so many can, then others."""
    rng = random.Random(f"{SEED}/texts")
    valid = [t for t in itertools.product(*(FACTORS[name] for name in OF_TEXTS)) if is_valid(*t[:3])]
    missing = {pair for t in valid for pair in itertools.combinations(enumerate(t), 2)}
    texts = []
    while len(texts) < count:
        candidates = rng.sample(valid, 60)
        best = max(candidates, key=lambda t: sum(pair in missing for pair in itertools.combinations(enumerate(t), 2)))
        missing.difference_update(itertools.combinations(enumerate(best), 2))
        texts.append(Text(rng, *best))
        if len(texts) % 15 == 5:  # products have kernels of their own, and need three of the factors
            texts.append(Text(rng, "along", rng.choice("+-"), rng.choice(FLOATS), rng.choice([2, 2, 3])))
    for number, text in enumerate(texts):
        text.number = number
    return texts[:count], len(missing)


# ---- covering arrays --------------------------------------------------------------------------------------------------------


NAMES = list(FACTORS)


def pairs_of(row):
    """The pairs of factors of a row, a dictionary that may lack some."""
    known = [(n, row[name]) for n, name in enumerate(NAMES) if name in row]
    return itertools.combinations(known, 2)


def all_pairs(texts):
    rows = [text.factors for text in texts]
    missing = {pair for row in rows for pair in pairs_of(row)}
    for name in OF_CASES:
        for value in FACTORS[name]:
            for row in rows:
                missing.update(pair for pair in pairs_of({**row, name: value}) if pair[1] == (NAMES.index(name), value))
    for one, two in itertools.combinations(OF_CASES, 2):
        missing.update(((NAMES.index(one), x), (NAMES.index(two), y)) for x in FACTORS[one] for y in FACTORS[two])
    return missing


def draw_row(rng, texts, missing):
    """A text and the other factors, that cover a pair that is missing and as many others as are found quickly."""
    (one, x), (two, y) = rng.choice(list(missing))
    row = {NAMES[n]: value for n, value in ((one, x), (two, y)) if NAMES[n] in OF_CASES}
    wanted = {NAMES[n]: value for n, value in ((one, x), (two, y)) if NAMES[n] in OF_TEXTS}
    fitting = [text for text in texts if all(text.factors[name] == value for name, value in wanted.items())]
    text = max(rng.sample(fitting, min(8, len(fitting))),
               key=lambda t: sum(pair in missing for pair in pairs_of({**t.factors, **row})))
    row.update(text.factors)
    for name in rng.sample(OF_CASES, len(OF_CASES)):
        if name not in row:
            n, known = NAMES.index(name), [(NAMES.index(k), v) for k, v in row.items()]
            gain = {value: sum(tuple(sorted(((n, value), other), key=lambda p: p[0])) in missing for other in known)
                    for value in FACTORS[name]}
            best = max(gain.values())
            row[name] = rng.choice([value for value in FACTORS[name] if gain[value] == best])
    missing.difference_update(pairs_of(row))
    return text, row


def draw_rows(texts, count):
    """@return [(text, row)], and how many rows the first covering array has; 0: it is not complete"""
    rows, first = [], 0
    for number in itertools.count():
        rng, missing = random.Random(f"{SEED}/{number}"), dict.fromkeys(sorted(all_pairs(texts), key=str))
        missing = Ordered(missing)
        while missing and len(rows) < count:
            rows.append(draw_row(rng, texts, missing))
        first = first or (0 if missing else len(rows))
        if len(rows) >= count:
            return rows, first


class Ordered(dict):
    """A set whose order does not depend on addresses."""

    def difference_update(self, members):
        for member in members:
            self.pop(member, None)


# ---- cases ------------------------------------------------------------------------------------------------------------------


class Case:
    def __init__(self, number, text, row):
        self.number, self.text, self.row = number, text, row
        rng = random.Random(f"{SEED}/{number}/case")
        self.shape = self.draw_shape(rng)
        shifted = rng.random() < 0.3
        self.start = [rng.choice([-7, 1, 5, 100, -10**9, 10**12]) if shifted else 0 for _ in self.shape]
        for x, bound in zip(text.b[0] if text.bounds else [], text.bounds):
            self.start[x] = 0 if bound == "w" else self.start[x]
        self.flags = text.flags
        if text.verb == "keyed" and text.key_type == "int32":
            self.start[-1] = self.start[-1] if abs(self.start[-1]) < 2**31 else 0
        kinds = {"a": row["input"], "out": row["other"], "b": row["other"] if text.verb == "value" else rng.choice(KINDS),
                 "keys": rng.choice(KINDS)}
        types = {"out": text.type, "keys": getattr(text, "key_type", None)}
        self.fields = {name: self.operand(rng, getattr(text, name), kinds[name], types.get(name, text.input_type))
                       for name in kinds}
        if text.verb == "keyed" and rng.random() < 0.2:
            self.flags += "o"
        self.element = self.start[-1] + rng.randrange(self.shape[-1])
        self.range = self.draw_range(rng)
        if text.verb != "scan" and rng.random() < 0.25:
            self.flags += "b"
        self.spread, self.seed = text.spread(rng), rng.randrange(1 << 32)

    def draw_shape(self, rng):
        n = self.text.indices
        shape = draw.draw_shape(rng, min(n, 4)) + [rng.randint(1, 5)] * max(0, n - 4)
        if "c" in self.text.flags and n == 3 and rng.random() < 0.5:  # computed in blocks
            shape = [rng.randint(1, 45) for _ in shape]
        elif rng.random() < 0.2:  # long axes take other ways
            shape = [min(e, 3) for e in shape]
            shape[rng.choice([self.text.along, rng.randrange(n)])] = rng.choice([97, 260, 700, 1025, 2500])
        return shape

    def operand(self, rng, operand, kind, type_name):
        if operand is None:
            return "-"
        indices, shifts = operand
        bounds = self.text.bounds if operand is self.text.b else ""
        first = [self.start[x] + (s if not bounds or bounds[d] == "-" else 0)
                 for d, (x, s) in enumerate(zip(indices, shifts))]
        shape = [self.shape[x] for x in indices]
        if "w" in self.flags and operand is self.text.b:
            shape[0] += WINDOW - 1
        text = draw.draw_map(rng, kind, shape, first, self.row["nodes"]) if indices else ""
        if type_name.startswith("u"):
            text = text.replace(";rest=-", ";rest=")  # negative numbers are refused
        return "|".join([type_name, ",".join(map(str, indices)), ",".join(map(str, shifts)), text] + ([bounds] if bounds else []))

    def draw_range(self, rng):
        if self.text.range is None:
            return "-"
        low, high, x, y, slope = self.text.range
        start, extent = self.start[x], self.shape[x]
        least = start + rng.choice([0, 0, rng.randrange(extent)])
        most = rng.choice([start + extent - 1, rng.randint(least - 1, start + extent - 1)])
        diagonal = slope * self.start[y] - start
        below, above = (rng.choice([0, 1, rng.randint(-2, extent)]) for _ in range(2))
        return ",".join(map(str, (low, high, x, y, slope, least, most, diagonal + below, above - diagonal)))

    def line(self, devices, addresses):
        place, nodes, (move, tile, steal, fault) = self.row["place"], self.row["nodes"], self.row["settings"]
        workers_text = {"-": "-", "local": f"local:{nodes}", "tcp": ",".join(addresses[:nodes])}[place]
        space = ",".join(f"{s}:{e}" for s, e in zip(self.start, self.shape))
        fields = {"workers": workers_text, "devices": devices.first(nodes), "move": move, "tile": tile, "steal": steal, "fault": fault,
                  "verb": self.text.verb, "op": self.text.op, "second": self.text.second, "flags": self.flags,
                  "along": self.text.along, "space": space, "element": self.element, "over": self.range, **self.fields,
                  "seed": self.seed, "spread": self.spread}
        return "\t".join(f"{name}={value}" for name, value in fields.items())

    def order(self):
        """Cases of one cluster follow each other."""
        return FACTORS["place"].index(self.row["place"]), self.row["nodes"], str(self.row["settings"]), self.number


class Lane:
    def __init__(self, devices, addresses, variables):
        self.devices, self.addresses = devices, addresses
        self.runner = Lines(RUNNER, {**environment(NODES_MOST), **variables}, 120)
        self.passed = self.failed = 0

    def take(self, case):
        line = case.line(self.devices, self.addresses)
        try:
            answer = self.runner.ask(line)
        except Ended as ended:
            answer = ["wrong", str(ended), ""]
        if answer[0] == "good":
            self.passed += 1
            return
        self.failed += 1
        by_hand = line.replace("\t", "\\t")
        print(f"FAILED case {case.number}: {answer[1]}\n  {answer[2]}\n"
              f"  again: TEST_DCL={DCL} TEST_SEED={SEED} TEST_KERNELS={TEXTS} TEST_PLACES={','.join(FACTORS['place'])} "
              f"TEST_CASE={case.number} {os.path.abspath(__file__)}\n"
              f"  by hand: printf '{by_hand}\\n' | TEST_DCL={DCL} POCL_DEVICES='{environment(NODES_MOST)['POCL_DEVICES']}' {RUNNER}",
              file=sys.stderr, flush=True)


def run(devices, cases, folder):
    """@return passed, failed"""
    variables = {"TEST_DCL": DCL}
    if "tcp" not in FACTORS["place"]:
        return run_all(Lane(devices, [], variables), cases)
    with workers.open_place(f"tcp:{NODES_MOST}", DCL, folder) as place:
        return run_all(Lane(devices, [offer.address for offer in place.offers], variables), cases)


def run_all(lane, cases):
    for case in sorted(cases, key=Case.order):
        if lane.failed < MOST_FAILURES:
            lane.take(case)
    problem = lane.runner.end()
    if problem:
        print(f"FAILED at the end: {problem}", file=sys.stderr)
    return lane.passed, lane.failed + bool(problem)


def parts_of(text):
    """"2-4/8": the parts 2, 3, 4 of 8. @return range, number of parts"""
    which, _, total = text.partition("/")
    first, _, last = which.partition("-")
    try:
        parts, total = range(int(first), int(last or first) + 1), int(total)
    except ValueError:
        sys.exit(f"TEST_PARTS is '{text}'; expected parts and their number, such as 0-3/8")
    if not parts or not 0 <= parts[0] <= parts[-1] < total:
        sys.exit(f"TEST_PARTS is '{text}'; expected parts from 0 to one less than their number")
    return parts, total


def run_parts(parts, total):
    """A process for each part. @return exit status"""
    command = [sys.executable, os.path.abspath(__file__)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "TEST_SEED": str(SEED), "TEST_PARTS": f"{part}/{total}"}) for part in parts]
    passed = failed = status = 0
    for part, process in zip(parts, processes):
        lines = process.communicate()[0].splitlines()
        print(f"part {part} of {total}: " + "; ".join(lines), flush=True)
        last = lines[-1].split() if lines else []
        if len(last) == 4 and last[1] == "passed," and last[3] == "failed":
            passed, failed = passed + int(last[0]), failed + int(last[2])
        status = status or process.returncode
    print(f"{passed} passed, {failed} failed")
    return status


def is_chosen(case, only, parts, total):
    """The cases of a text are in one part, so that one process compiles its kernels."""
    return case.number == int(only) if only else case.text.number % total in parts


def main():
    parts, total = parts_of(PARTS or "0/1")
    if len(parts) > 1:
        return run_parts(parts, total)
    devices = Devices(DCL)
    if len(devices.numbers) < NODES_MOST:
        print(f"skipped: {len(devices.numbers)} OpenCL devices serve as nodes (`dcl devices`); {NODES_MOST} are needed")
        return SKIPPED
    begin = time.monotonic()
    texts, missing = draw_texts(TEXTS)
    only = os.environ.get("TEST_CASE")
    rows, first = draw_rows(texts, int(only) + 1 if only else CASES)
    cases = [case for number, row in enumerate(rows) if is_chosen(case := Case(number, *row), only, parts, total)]
    covered = f"the first {first} have every two factors" if first and not missing else "too few for every two factors"
    print(f"seed {SEED}: {len(cases)} cases of {len({id(case.text) for case in cases})} texts; {covered}", flush=True)
    folder = tempfile.mkdtemp(prefix="dcl-verbs-")
    os.mkdir(f"{folder}/tcp")
    passed, failed = run(devices, cases, f"{folder}/tcp")
    shutil.rmtree(folder)
    print(f"{time.monotonic() - begin:.1f} seconds\n{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
