"""Maps for generated cases: their text, and who owns what under them, worked out anew from the grammar's description.

Nothing here asks the library. Owners and blocks are NumPy arrays over the grid, element by element."""
import itertools
import os
import sys

import numpy

sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "oracle"))
import draw
import owners

KINDS = ["block", "block(n)", "cyclic", "cyclic(n)", "mixed",
         "rows:cyclic", "rows:cyclic(n)", "rows:block", "rows:block(n)",
         "columns:cyclic", "columns:cyclic(n)", "columns:block", "columns:block(n)"]
MORE = [kind for kind in draw.KINDS if kind not in KINDS + draw.PARTIAL]  # whose pairs with all others are the subject of test/pairs
MOST_PLAIN = 2000  # elements for which maps of these are drawn: their texts grow with pieces, and the oracle is slow
DEFAULT = "default"  # no text: the library's own choice
SMALL_BYTES = 16384
BLOCK_BYTES = 4 << 20


def ceil_div(a, b):
    return -(-a // b)


def arrangements(nodes, axes):
    """All ways to write `nodes` as an ordered product of `axes` numbers."""
    if axes == 0:
        return [()] if nodes == 1 else []
    return [(n,) + rest for n in range(1, nodes + 1) if nodes % n == 0 for rest in arrangements(nodes // n, axes - 1)]


def balanced(nodes, rules):
    """MPI_Dims_create's rule over the divided axes: the largest number as small as can be, then the next; the larger
    ones first."""
    divided = [d for d, rule in enumerate(rules) if rule[0] != "*"]
    best = min(tuple(sorted(a, reverse=True)) for a in arrangements(nodes, len(divided)))
    result = [1] * len(rules)
    for d, n in zip(divided, best):
        result[d] = n
    return result


def divide(rule, nodes, extent):
    """An axis: per index its coordinate, its segment and its place in it; and a segment's largest length."""
    index = numpy.arange(extent)
    kind, size = rule
    if kind == "block" and size == 0:
        base, more = divmod(extent, nodes)
        ends = numpy.cumsum([base + (c < more) for c in range(nodes)])
        segment = numpy.searchsorted(ends, index, side="right")
        starts = numpy.concatenate(([0], ends))
        return segment, segment, index - starts[segment], max(1, base + (more > 0))
    run = min(max(size, 1), max(extent, 1))
    if nodes == 1 or run >= extent:
        return 0 * index, 0 * index, index, max(extent, 1)
    return index // run % nodes, index // run, index % run, run


def mesh(columns, weights):
    """Sum of weight * column over the axes, as an array over the grid."""
    total = numpy.zeros([len(column) for column in columns], dtype=numpy.int64)
    for d, (column, weight) in enumerate(zip(columns, weights)):
        total += (numpy.asarray(column, dtype=numpy.int64) * weight).reshape([-1 if e == d else 1
                                                                            for e in range(len(columns))])
    return total


def strides(counts):
    return [int(numpy.prod(counts[d + 1:], dtype=numpy.int64)) for d in range(len(counts))]


class Map:
    """A map bound to a shape."""

    def __init__(self, text, shape, nodes, rules=None, arrangement=None, dealt=None, block=None):
        self.text, self.shape, self.nodes = text, shape, nodes
        self.rules, self.arrangement, self.dealt, self.block = rules, arrangement, dealt, block

    def _axes(self):
        if self.dealt is not None:
            pieces = [min(p, max(n, 1)) for p, n in zip(self.dealt[2], self.shape)]
            parts = [(None, numpy.arange(n) // p, numpy.arange(n) % p, p) for p, n in zip(pieces, self.shape)]
            return parts, [ceil_div(n, p) for p, n in zip(pieces, self.shape)]
        return [divide(r, n, e) for r, n, e in zip(self.rules, self.arrangement, self.shape)], None

    def owners(self):
        parts, counts = self._axes()
        if self.dealt is None:
            return mesh([part[0] for part in parts], strides(self.arrangement))
        order, deal, _ = self.dealt
        weights = strides(counts) if order == "rows" else strides(counts[::-1])[::-1]
        number = mesh([part[1] for part in parts], weights)
        if deal == "cyclic":
            return number % self.nodes
        base, more = divmod(int(numpy.prod(counts)), self.nodes)
        ends = numpy.cumsum([base + (n < more) for n in range(self.nodes)])
        return numpy.searchsorted(ends, number, side="right")

    def blocks(self, element_bytes, block_bytes):
        """A number per element, equal where the block is; None where the library chooses blocks smaller than segments."""
        parts, _ = self._axes()
        lengths = [part[3] for part in parts]
        grain = self.block or lengths
        if self.block is None and numpy.prod(lengths) * element_bytes > block_bytes:
            return None
        keys = [part[1] * 1000003 + part[2] // min(g, part[3]) for part, g in zip(parts, grain)]
        counts = []
        for d, key in enumerate(keys):  # small numbers, so that their products do not overflow
            _, keys[d] = numpy.unique(key, return_inverse=True)
            counts.append(max(len(self.shape), len(key)) + 1)
        return mesh(keys, strides(counts))


class Drawn:
    """A map of any kind bound to a shape; the oracle knows its owners."""

    def __init__(self, text, shape, origin, nodes, element_bytes):
        self.text, self.shape, self.origin, self.nodes, self.element_bytes = text, shape, origin, nodes, element_bytes

    def owners(self):
        found, _ = owners.lay(self.text, self.shape, self.origin, self.nodes, self.element_bytes)
        return numpy.array([node for node, _ in found]).reshape(self.shape)

    def blocks(self, element_bytes, block_bytes):
        return None  # the oracle knows no blocks


def rule_text(rule):
    return rule[0] + (f"({rule[1]})" if rule[1] else "")


def axes_rule(rng, kind, extent, nodes):
    if kind == "block(n)":
        return ("block", max(1, ceil_div(extent, nodes) + rng.choice([0, 0, 1, 3])))
    if kind == "cyclic(n)":
        return ("cyclic", rng.choice([1, 2, 2, 3, 4, 7, 16]))
    return (kind, 0)


def make_axes(rng, kind, shape, nodes):
    rank = len(shape)
    if kind != "mixed" and rng.random() < 0.5:  # one word for all axes
        rules = [axes_rule(rng, kind, 0, 1)] * rank
        arrangement = balanced(nodes, rules)
        if kind == "block(n)":
            size = max([1] + [ceil_div(e, n) for e, n in zip(shape, arrangement)])
            rules = [("block", size + rng.choice([0, 0, 2]))] * rank
        if rng.random() < 0.3:
            return rule_text(rules[0]) + "@" + "x".join(map(str, arrangement)), rules, arrangement
        return rule_text(rules[0]), rules, arrangement
    arrangement = list(rng.choice(arrangements(nodes, rank)))
    kinds = [kind] * rank
    if kind == "mixed":
        kinds = [rng.choice(["block", "block(n)", "cyclic", "cyclic(n)"] + ["*"] * 2 * (n == 1)) for n in arrangement]
        if len(set(kinds)) == 1 and rank > 1:
            single = arrangement.index(1) if 1 in arrangement else 0
            kinds[single] = "*" if arrangement[single] == 1 and kinds[0] != "*" else "cyclic(n)"
        if all(k == "*" for k in kinds):
            kinds[-1] = "block"
    rules = [axes_rule(rng, k, e, n) for k, e, n in zip(kinds, shape, arrangement)]
    text = ",".join(map(rule_text, rules))
    if arrangement == balanced(nodes, rules) and rank > 1 and rng.random() < 0.5:
        return text, rules, arrangement
    numbers = [n for n, r in zip(arrangement, rules) if r[0] != "*" or rng.random() < 0]
    if rng.random() < 0.5:
        numbers = arrangement
    return text + "@" + "x".join(map(str, numbers)), rules, arrangement


def make(rng, kind, shape, origin, nodes, element_bytes, grains=True):
    """A map of a kind for a grid; its sizes are drawn from `rng`."""
    rank = len(shape)
    if kind in MORE and 0 < numpy.prod(shape, dtype=numpy.int64) <= MOST_PLAIN:
        return Drawn(draw.draw_map(rng, kind, shape, origin, nodes, grains), shape, origin, nodes, element_bytes)
    if kind in MORE:
        kind = rng.choice(KINDS)
    if kind == DEFAULT:
        rules = [("block", 0)] * rank
        if numpy.prod(shape, dtype=numpy.int64) * element_bytes < SMALL_BYTES:
            return Map("", shape, nodes, [("*", 0)] * rank, [1] * rank)
        return Map("", shape, nodes, rules, balanced(nodes, rules))
    block = None
    if ":" in kind:
        order, deal = kind.replace("(n)", "").split(":")
        piece = [1] * rank
        text = f"{order}:{deal}"
        if kind.endswith("(n)"):
            piece = [rng.choice([1, 2, 2, 3, 5, max(1, ceil_div(n, 3)), n + 1]) for n in shape]
            text += "(" + "x".join(map(str, piece)) + ")"
        result = Map(text, shape, nodes, dealt=(order, deal, piece))
    else:
        text, rules, arrangement = make_axes(rng, kind, shape, nodes)
        result = Map(text, shape, nodes, rules, arrangement)
    if grains and rng.random() < 0.5:
        block = [rng.choice([1, 2, 3, 4, 8, 64]) for _ in shape]
        result.text += ";block=" + "x".join(map(str, block))
        result.block = block
    if grains and rng.random() < 0.3:
        result.text += ";tile=" + "x".join(str(rng.choice([1, 2, 3, 5, 8, 64])) for _ in shape)
    return result


def all_pairs(rng):
    pairs = list(itertools.product(KINDS, KINDS))
    rng.shuffle(pairs)
    return pairs
