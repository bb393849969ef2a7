#!/usr/bin/python3
"""Random maps: owners and offsets of all elements as the library gives them, compared with those of owners.py.

Settings: TEST_DCL and TEST_PROBE, the programs (build/dcl, and test/probe beside it); TEST_CASES, how many (1000);
TEST_SEED (a new one), printed; TEST_CASE, to run a single case again. Owners are compared as `dcl map --owners` prints
them, too. Beside the comparison, the probe checks of each map that its boxes are disjoint, cover the grid once and agree
with owners and offsets, that offsets are distinct and within the storage, and that what it prints is read back as an
equal map."""
import itertools
import os
import random
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # leave the source folder as it is
sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import draw
import owners
from lines import Ended, Lines

DCL = os.path.abspath(os.environ.get("TEST_DCL") or "build/dcl")
PROBE = os.path.abspath(os.environ.get("TEST_PROBE") or f"{os.path.dirname(DCL)}/test/probe")
CASES = int(os.environ.get("TEST_CASES") or 1000)
SEED = int(os.environ.get("TEST_SEED") or time.time_ns() % 1000000)
SHRINK_SECONDS = 20
MOST_FAILURES = 10

KINDS = draw.KINDS + draw.PERIODIC


class Broken(Exception):
    """Library and oracle differ; the text says how."""


class Case:
    def __init__(self, kind, nodes, type_name, origin, shape, text):
        self.kind, self.nodes, self.type, self.origin, self.shape, self.text = kind, nodes, type_name, origin, shape, text

    def line(self):
        return "\t".join([str(self.nodes), self.type, ",".join(map(str, self.origin)), ",".join(map(str, self.shape)),
                          self.text])

    def commands(self):
        """How a person asks for the same."""
        lines = [f"printf '{self.line()}\\n' | {PROBE}".replace("\t", "\\t")]
        if not any(self.origin):
            lines.append(" ".join([DCL] + [f"'{word}'" for word in self.command()]))
        return lines

    def command(self):
        return ["map", "--owners", "--grid", "x".join(map(str, self.shape)), "--nodes", str(self.nodes), "--map", self.text]


def draw_case(number):
    rng = random.Random(f"{SEED}/{number}")
    kind = KINDS[number % len(KINDS)]
    type_name, nodes = rng.choice(list(draw.TYPES)), rng.randint(1, 5)
    if kind in draw.AXES and rng.random() < 0.15:
        shape = draw.draw_long_rows(rng, type_name, nodes)
    else:
        shape = draw.draw_shape(rng, rng.choice([1, 2, 2, 3, 4]))
    return redraw(rng, kind, nodes, type_name, shape, rng.random() < 0.5)


def redraw(rng, kind, nodes, type_name, shape, shifted):
    origin = [rng.choice([-7, 1, 5, 100, -10**9, 10**12]) if shifted else 0 for _ in shape]
    return Case(kind, nodes, type_name, origin, shape, draw.draw_map(rng, kind, shape, origin, nodes))


# ---- checking -----------------------------------------------------------------------------------------------------------


def numbers(text):
    return [int(n) for n in text.split(",")]


def compare(case, what, found, wanted):
    if len(found) != len(wanted):
        raise Broken(f"{what} of {len(found)} elements; the grid has {len(wanted)}")
    differ = [n for n, (a, b) in enumerate(zip(found, wanted)) if a != b]
    if differ:
        index = list(itertools.product(*map(range, case.shape)))[differ[0]]
        raise Broken(f"{what} of {len(differ)} elements differ, first {index} from the origin: {found[differ[0]]}; "
                     f"expected {wanted[differ[0]]}")


def check(case, probe, through_command=True):
    wanted, storage = owners.lay(case.text, case.shape, case.origin, case.nodes, draw.TYPES[case.type])
    try:
        answer = probe.ask(case.line())
    except Ended as ended:
        raise Broken(str(ended)) from None
    if answer[0] != "laid":
        raise Broken(" ".join(answer))
    owner = [-1 if at is None else at[0] for at in wanted]
    compare(case, "owners", numbers(answer[1]), owner)
    compare(case, "offsets", numbers(answer[2]), [-1 if at is None else at[1] for at in wanted])
    if numbers(answer[3]) != storage:
        raise Broken(f"nodes store {answer[3]} elements; expected {storage}")
    if through_command and not any(case.origin):
        done = subprocess.run([DCL] + case.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise Broken(f"dcl map ended with {done.returncode}: {done.stderr.strip()}")
        compare(case, "owners by dcl map", [-1 if word == "-" else int(word) for word in done.stdout.split()], owner)


# ---- a smaller case that fails too --------------------------------------------------------------------------------------


def simpler(case, rng):
    keeps_text = "owners=" not in case.text and "boxes" not in case.text  # which are for one grid only
    suffixes = owners.outside_of_brackets(case.text, ";")
    for n, suffix in enumerate(suffixes):
        if suffix.startswith(("block=", "tile=")) and n > 0:
            yield Case(case.kind, case.nodes, case.type, case.origin, case.shape, ";".join(suffixes[:n] + suffixes[n + 1:]))
    if keeps_text and any(case.origin):
        yield Case(case.kind, case.nodes, case.type, [0] * len(case.shape), case.shape, case.text)
    for d, extent in enumerate(case.shape):
        for less in sorted({1, 2, extent // 2, extent - 1}):
            if keeps_text and 0 < less < extent:
                yield Case(case.kind, case.nodes, case.type, case.origin, case.shape[:d] + [less] + case.shape[d + 1:],
                           case.text)
    total = len(owners.lay(case.text, case.shape, case.origin, case.nodes, draw.TYPES[case.type])[0])
    for _ in range(60):
        rank = rng.randint(1, len(case.shape))
        shape = [min(n, rng.choice([1, 2, 3, 4, 6])) for n in case.shape[-rank:]]
        other = redraw(rng, case.kind, rng.randint(1, case.nodes), case.type, shape, False)
        size = 1
        for n in shape:
            size *= n
        if size < total:
            yield other


def shrink(case, probe):
    rng, until = random.Random(SEED), time.monotonic() + SHRINK_SECONDS
    best = None
    for _ in range(12):
        for other in simpler(case, rng):
            if time.monotonic() > until:
                return best
            try:
                check(other, probe, False)
            except owners.Refused:  # the text does not serve that grid
                continue
            except Broken as broken:
                case, best = other, (other, broken)
                break
        else:
            return best
    return best


def report(number, case, broken, probe):
    print(f"FAILED case {number}: {case.text} on {case.nodes} nodes, grid {'x'.join(map(str, case.shape))}: {broken}\n"
          f"  again: TEST_DCL={DCL} TEST_SEED={SEED} TEST_CASE={number} {os.path.abspath(__file__)}", file=sys.stderr)
    smaller = shrink(case, probe)
    if smaller is not None:
        case, broken = smaller
        print(f"  smaller: {broken}", file=sys.stderr)
    for line in case.commands():
        print(f"  by hand: {line}", file=sys.stderr)


def main():
    begin, failed = time.monotonic(), 0
    probe = Lines(PROBE, {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}, 60)
    only = os.environ.get("TEST_CASE")
    cases = [int(only)] if only else range(CASES)
    print(f"seed {SEED}: {len(cases)} maps of {len(KINDS)} kinds", flush=True)
    for number in cases:
        case = draw_case(number)
        try:
            check(case, probe)
        except Broken as broken:
            failed += 1
            report(number, case, broken, probe)
            if failed == MOST_FAILURES:
                break
    problem = probe.end()
    if problem:
        failed += 1
        print(f"FAILED at the end: {problem}", file=sys.stderr)
    print(f"{time.monotonic() - begin:.1f} seconds\n{len(cases)} maps, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
