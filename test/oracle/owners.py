"""Who owns every element of a grid under a map, and at which offset: element by element, written from the words of
include/dcl/map.h alone. Plain and slow on purpose: runs, pieces and boxes are dealt out one after the other, and a
place is found by counting what was placed before."""
import itertools
import re

PAGE, LINE = 4096, 128  # bytes: the rule of padding


class Refused(Exception):
    """The map does not serve the grid; the text says why."""


# ---- reading the text ---------------------------------------------------------------------------------------------------


def outside_of_brackets(text, separator):
    """Split where no bracket is open."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def sizes(text):
    return [int(n) for n in text.split("x")]


def node_list(text):
    nodes = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        nodes += range(int(first), int(last or first) + 1)
    return nodes


def word_and_brackets(text):
    """block(3) -> block, 3; cyclic -> cyclic, None"""
    word, numbers = re.fullmatch(r"([a-z*]+)(?:\((.*)\))?", text).groups()
    return word, numbers


class Text:
    """A map's text, taken apart. Suffixes that say nothing of owners and places are left aside."""

    def __init__(self, text):
        parts = outside_of_brackets(text.replace(" ", ""), ";")
        self.rule = parts[0]
        self.suffix = dict(part.split("=", 1) for part in parts[1:])


# ---- arranging nodes over axes ------------------------------------------------------------------------------------------


def arrangements(nodes, axes):
    """All ways to write `nodes` as an ordered product of `axes` numbers."""
    if axes == 0:
        return [()] if nodes == 1 else []
    return [(n,) + rest for n in range(1, nodes + 1) if nodes % n == 0 for rest in arrangements(nodes // n, axes - 1)]


def balanced(rules, nodes):
    """Nodes along each axis. The largest number is as small as can be, then the second, ...; larger ones on earlier axes.
    Shares fix the number of their axis."""
    result = [1] * len(rules)
    free = []
    for d, (word, numbers) in enumerate(rules):
        if word == "weighted":
            result[d] = len(numbers.split(":"))
            if nodes % result[d] != 0:
                raise Refused(f"{nodes} nodes are not a multiple of {result[d]} shares")
            nodes //= result[d]
        elif word != "*":
            free.append(d)
    choices = arrangements(nodes, len(free))
    if not choices:
        raise Refused(f"{nodes} nodes cannot be arranged over no axis")
    for d, n in zip(free, min(tuple(sorted(choice, reverse=True)) for choice in choices)):
        result[d] = n
    return result


def axis_rules(text, rank, nodes):
    """The rule of every axis as (word, brackets), and the nodes along each."""
    text, _, numbers = text.partition("@")
    rules = [word_and_brackets(rule) for rule in outside_of_brackets(text, ",")]
    numbers = sizes(numbers) if numbers else None
    if len(rules) == 1:
        if rules[0][0] in ("splits", "weighted"):
            rules += [("*", None)] * (rank - 1)
        else:
            rules *= rank
    if len(rules) != rank:
        raise Refused(f"{len(rules)} rules for a grid of rank {rank}")
    if numbers is None:
        return rules, balanced(rules, nodes)
    if len(numbers) != rank:
        numbers = [1 if word == "*" else numbers.pop(0) for word, _ in rules]
    return rules, numbers


# ---- per axis -----------------------------------------------------------------------------------------------------------


def run_lengths(word, numbers, extent, nodes):
    """Lengths of the runs of an axis, in the order in which they are dealt to its coordinates."""
    if word == "*":
        return [extent]
    if word == "block" and not numbers:
        return [extent // nodes + (c < extent % nodes) for c in range(nodes)]
    if word == "block":
        if int(numbers) * nodes < extent:
            raise Refused(f"{nodes} blocks of {numbers} do not cover {extent}")
        return [int(numbers)] * nodes
    if word == "cyclic":
        return [int(numbers or 1)] * extent
    if word == "splits":
        points = [0] + [int(n) for n in numbers.split(",")]
        return [b - a for a, b in zip(points, points[1:])] + [extent]
    shares = [int(n) for n in numbers.split(":")]
    if len(shares) != nodes:
        raise Refused(f"{len(shares)} shares for {nodes} nodes")
    return [extent * sum(shares[:c + 1]) // sum(shares) - extent * sum(shares[:c]) // sum(shares) for c in range(nodes)]


def deal_axis(rule, extent, nodes):
    """Per index: its coordinate, and its place among the coordinate's indices. Also how many each coordinate has."""
    coordinate, place, has = [], [], [0] * nodes
    for run, length in enumerate(run_lengths(*rule, extent, nodes)):
        for _ in range(min(length, extent - len(coordinate))):
            coordinate.append(run % nodes)
            place.append(has[run % nodes])
            has[run % nodes] += 1
    if len(coordinate) != extent:
        raise Refused(f"{rule} leaves {extent - len(coordinate)} of {extent} indices without a node")
    return coordinate, place, has


def pitch(row, rank, element_bytes):
    """Elements from one row of a local array to the next."""
    length = row * element_bytes
    if rank == 1 or length < PAGE:
        return row
    if length % PAGE < LINE:
        return row + LINE // element_bytes
    if length % PAGE > PAGE - LINE:
        return row + 2 * LINE // element_bytes
    return row


def lay_axes(text, shape, places, element_bytes):
    rank = len(shape)
    rules, along = axis_rules(text, rank, places)
    product = 1
    for n in along:
        product *= n
    if product != places:
        raise Refused(f"{along} nodes along the axes, {places} in the map")
    axes = [deal_axis(rule, extent, n) for rule, extent, n in zip(rules, shape, along)]
    found = []
    for index in itertools.product(*map(range, shape)):
        owner = offset = 0
        for d, x in enumerate(index):
            coordinate, place, has = axes[d]
            here = has[coordinate[x]]
            owner = owner * along[d] + coordinate[x]
            offset = offset * (pitch(here, rank, element_bytes) if d == rank - 1 else here) + place[x]
        found.append((owner, offset))
    storage = []
    for at in itertools.product(*map(range, along)):
        elements = 1
        for d, c in enumerate(at):
            here = axes[d][2][c]
            elements *= pitch(here, rank, element_bytes) if d == rank - 1 else here
        storage.append(elements)
    return found, storage


# ---- dealt --------------------------------------------------------------------------------------------------------------


MASK, GOLDEN = (1 << 64) - 1, 0x9E3779B97F4A7C15


def mix(z):
    """The finalizer of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014)."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def shuffled(number, pieces, seed):
    """At which position a piece comes in the order that a seed makes: rounds on pairs, again while that is no piece."""
    def below(y, r, m):
        key = mix((4 * seed + r + 1) * GOLDEN & MASK)
        return (((y + key) * GOLDEN & MASK) >> 32) * m >> 32

    a = next(n for n in range(1, pieces + 1) if n * n >= pieces)
    b = len(range(0, pieces, a))
    while True:
        left, right = divmod(number, b)
        left = (left + below(right, 0, a)) % a
        right = (right + below(left, 1, b)) % b
        left = (left + below(right, 2, a)) % a
        right = (right + below(left, 3, b)) % b
        number = left * b + right
        if number < pieces:
            return number


def table(text):
    owners = []
    for run in text.split(","):
        node, _, times = run.partition("*")
        owners += [None if node == "-" else int(node)] * int(times or 1)
    return owners


def piece_places(deal, pieces, places, suffix, nodes):
    """Per piece number: (place, slot), or None where the piece is stored nowhere."""
    if deal == "hash":
        order = [shuffled(number, pieces, int(suffix.get("seed", 0))) for number in range(pieces)]
        return [(position % places, position // places) for position in order]
    owners = [number % places for number in range(pieces)]
    if deal == "block":
        owners = [place for place in range(places) for _ in range(pieces // places + (place < pieces % places))]
    elif deal == "table":
        owners = [None if node is None else nodes.index(node) for node in table(suffix["owners"])]
        if len(owners) != pieces:
            raise Refused(f"{len(owners)} owners for {pieces} pieces")
    given, result = [0] * places, []
    for place in owners:
        result.append(None if place is None else (place, given[place]))
        if place is not None:
            given[place] += 1
    return result


def lay_dealt(text, suffix, shape, places, nodes):
    order, _, deal = text.partition(":")
    deal, numbers = word_and_brackets(deal)
    rank = len(shape)
    piece = [min(p, n) for p, n in zip(sizes(numbers) if numbers else [1] * rank, shape)]
    along = [len(range(0, n, p)) for p, n in zip(piece, shape)]
    numbered = list(itertools.product(*map(range, along)))  # by rows: the last axis changes first
    if order == "columns":
        numbered.sort(key=lambda at: at[::-1])
    slot = 1
    for p in piece:
        slot *= p
    at_place = piece_places(deal, len(numbered), places, suffix, nodes)
    where = dict(zip(numbered, at_place))
    found = []
    for index in itertools.product(*map(range, shape)):
        owner = where[tuple(x // p for x, p in zip(index, piece))]
        within = 0
        for x, p in zip(index, piece):
            within = within * p + x % p
        found.append(None if owner is None else (owner[0], owner[1] * slot + within))
    return found, [slot * sum(at is not None and at[0] == place for at in at_place) for place in range(places)]


# ---- boxes --------------------------------------------------------------------------------------------------------------


def box_list(text):
    """[(first per axis, end per axis, node)]"""
    boxes = []
    for item in outside_of_brackets(text, ","):
        ranges, _, node = item.partition("@")
        ends = [[int(n) for n in axis.split(":")] for axis in ranges.strip("[]").split(",")]
        boxes.append(([a for a, _ in ends], [b for _, b in ends], int(node)))
    return boxes


def lay_boxes(text, shape, origin, nodes):
    where, stored = {}, [0] * len(nodes)
    for first, end, node in box_list(text):
        place = nodes.index(node)
        for index in itertools.product(*map(range, first, end)):
            if index in where:
                raise Refused(f"{index} is in two boxes")
            where[index] = place, stored[place]
            stored[place] += 1
    indices = list(itertools.product(*(range(o, o + n) for o, n in zip(origin, shape))))
    if set(indices) != set(where):
        raise Refused("the boxes do not cover the grid")
    return [where[index] for index in indices], stored


# ---- all of it ----------------------------------------------------------------------------------------------------------


def lay(text, shape, origin, nodes, element_bytes):
    """@return (found, storage): per element of the grid, by rows, (node, offset), or None where it is stored nowhere; and
    per node of the cluster the elements it must be able to store."""
    read = Text(text)
    used = node_list(read.suffix["nodes"]) if "nodes" in read.suffix else list(range(nodes))
    if "every" in read.suffix:
        return lay_every(read, shape, nodes, element_bytes)
    if read.rule.startswith("boxes:"):
        found, storage = lay_boxes(read.rule[len("boxes:"):], shape, origin, used)
    elif read.rule.startswith("replicated"):  # the first owns all; copies on others are no storage
        found, storage = lay_axes("*", shape, 1, element_bytes)
        storage += [0] * (len(used) - 1)
    elif ":" in read.rule.partition("(")[0]:
        found, storage = lay_dealt(read.rule, read.suffix, shape, len(used), used)
    else:
        found, storage = lay_axes(read.rule, shape, len(used), element_bytes)
    everyone = [0] * nodes
    for node, elements in zip(used, storage):
        everyone[node] = elements
    return [at and (used[at[0]], at[1]) for at in found], everyone


def lay_every(read, shape, nodes, element_bytes):
    """Of every axis the multiples of its step are laid out, as the grid that they are; the rest is stored nowhere."""
    steps = sizes(read.suffix.pop("every"))
    steps = steps * len(shape) if len(steps) == 1 else steps
    text = ";".join([read.rule] + [f"{key}={value}" for key, value in read.suffix.items()])
    small = [len(range(0, n, s)) for n, s in zip(shape, steps)]
    inner, storage = lay(text, small, [0] * len(shape), nodes, element_bytes)
    where = dict(zip(itertools.product(*map(range, small)), inner))
    found = []
    for index in itertools.product(*map(range, shape)):
        stored = all(x % s == 0 for x, s in zip(index, steps))
        found.append(where[tuple(x // s for x, s in zip(index, steps))] if stored else None)
    return found, storage
