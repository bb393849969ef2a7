#!/usr/bin/python3
"""Tests of what `dcl map` draws: picture_test.py PATH_TO_DCL

Pictures are taken apart again: the colour of every cell of an SVG, and of a terminal, is compared with `dcl map --owners`
for random maps, lines with what a reader can check by hand, moves with a count over all elements.
TEST_SEED is the seed of the random maps, TEST_CASES their number. Ends with status 1 when something failed."""
import itertools
import json
import math
import os
import pty
import random
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

DCL = None  # the command, set by main()
SEED = int(os.environ.get("TEST_SEED") or random.randrange(1 << 30))
CASES = int(os.environ.get("TEST_CASES") or 20)

# What a node looks like. These are promised: pictures of different days show a node in one colour.
FILLS = ("77aadd ee8866 eedd88 ffaabb 99ddff 44bb99 bbcc33 aaaa00 "
         "24527f 9a4420 806412 a03a58 126a85 0c5c44 586800 4c4c00").split()
TERMINAL = [110, 209, 222, 217, 117, 72, 149, 142, 24, 130, 94, 125, 30, 29, 64, 58]
WEIGHTS = {"0.7": "block", "1.6": "segment", "3.2": "tile"}
SVG = "{http://www.w3.org/2000/svg}"


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}


def run(*arguments, folder=None):
    return subprocess.run([DCL, "map", *arguments], cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)


def good(*arguments):
    done = run(*arguments)
    if (done.returncode, done.stderr) != (0, ""):
        raise AssertionError(f"dcl map {arguments}: {done.returncode}: {done.stderr}")
    return done.stdout


def owners(extents, nodes, rule):
    """Owner by index, as --owners says."""
    text = good("--grid", "x".join(map(str, extents)), "--nodes", str(nodes), "--map", rule, "--owners")
    numbers = (None if word == "-" else int(word) for word in text.split())
    return dict(zip(itertools.product(*map(range, extents)), numbers))


def fill_of(node):
    """None: no node stores it."""
    return "eeeeee" if node is None else FILLS[node % len(FILLS)]


# ---- a picture taken apart ------------------------------------------------------------------------------------------

class Plane:
    """Cells of one plane of an SVG by (row, column), and the lines between them by weight."""

    def __init__(self, group):
        self.width, self.height = map(int, group.get("data-cell").split())
        self.first = list(map(int, group.get("data-first").split()))
        self.steps = list(map(int, group.get("data-steps").split()))
        self.fill, self.lines = {}, {name: set() for name in WEIGHTS.values()}
        for shape in group:
            if shape.tag == SVG + "rect" and shape.get("fill") != "none":
                self.take_rectangle(shape)
            elif shape.tag == SVG + "path" and shape.get("stroke-width") in WEIGHTS:
                self.take_strokes(WEIGHTS[shape.get("stroke-width")], shape.get("d"))

    def take_rectangle(self, shape):
        x, width = (int(shape.get(name)) // self.width for name in ("x", "width"))
        y, height = (int(shape.get(name)) // self.height for name in ("y", "height"))
        for place in itertools.product(range(y, y + height), range(x, x + width)):
            assert place not in self.fill, f"cell {place} is drawn twice"
            self.fill[place] = shape.get("fill").lstrip("#")

    def take_strokes(self, name, text):
        """A line is (row, column, "above" or "left"): before which cell it lies."""
        for x, y, way, length in re.findall(r"M(\d+) (\d+)([hv])(\d+)", text):
            row, column = int(y) // self.height, int(x) // self.width
            for k in range(int(length) // (self.width if way == "h" else self.height)):
                self.lines[name].add((row, column + k, "above") if way == "h" else (row + k, column, "left"))

    def index(self, place):
        """Of the first element of a cell; of a grid of rank 1 there is one row."""
        index = list(self.first)
        if len(index) > 1:
            index[-2] += place[0] * self.steps[0]
        index[-1] += place[1] * self.steps[1]
        return tuple(index)


def planes(text):
    root = xml.etree.ElementTree.fromstring(text)
    return [Plane(group) for group in root.iter(SVG + "g") if group.get("data-cell")]


def texts(text):
    return [node.text for node in xml.etree.ElementTree.fromstring(text).iter(SVG + "text")]


def picture(extents, nodes, rule):
    return good("--grid", "x".join(map(str, extents)), "--nodes", str(nodes), "--map", rule, "--svg", "-")


# ---- random maps ----------------------------------------------------------------------------------------------------

def sizes(draw, rank, most=4):
    return [draw.randint(1, most) for _ in range(rank)]


def joined(numbers):
    return "x".join(map(str, numbers))


def random_axis(draw, extent):
    points = sorted(draw.sample(range(1, extent + 4), draw.randint(1, 3)))
    return draw.choice(["block", "cyclic", f"cyclic({draw.randint(1, 4)})", "*", f"splits({','.join(map(str, points))})"])


def random_axes(draw, extents, nodes, _holes):
    if draw.random() < 0.2:
        shares = [draw.randint(0, 3) for _ in range(nodes)]
        return f"weighted({':'.join(map(str, shares if any(shares) else [1] * nodes))})"
    rules = [random_axis(draw, extent) for extent in extents]
    if all(word == "*" for word in rules):
        rules[draw.randrange(len(rules))] = "cyclic(2)"
    return ",".join(rules)


def random_dealt(draw, extents, nodes, holes):
    piece = sizes(draw, len(extents))
    order = draw.choice(["rows", "columns"])
    if draw.random() < 0.7:
        return f"{order}:{draw.choice(['cyclic', 'block', 'hash'])}({joined(piece)})"
    count = math.prod(-(-extent // min(size, extent)) for extent, size in zip(extents, piece))
    nobody = ["-"] * nodes if holes and draw.random() < 0.5 else []
    listed = [draw.choice([*range(nodes), *nobody]) for _ in range(count)]
    return f"{order}:table({joined(piece)});owners={','.join(map(str, listed))}"


def random_boxes(draw, extents, nodes, _holes):
    """The grid is cut in two, and one part again, and so on."""
    boxes = [[(0, extent) for extent in extents]]
    for _ in range(draw.randint(0, 8)):
        box, axis = draw.randrange(len(boxes)), draw.randrange(len(extents))
        first, end = boxes[box][axis]
        if end - first > 1:
            at, other = draw.randint(first + 1, end - 1), list(boxes[box])
            boxes[box][axis], other[axis] = (first, at), (at, end)
            boxes.append(other)
    return "boxes:" + ",".join("[{}]@{}".format(",".join(f"{first}:{end}" for first, end in box), draw.randrange(nodes))
                               for box in boxes)


def random_map(draw, extents, nodes, holes=True):
    """@param holes: whether elements may be stored nowhere."""
    kind = draw.choice([random_axes, random_axes, random_dealt, random_dealt, random_boxes])
    rule = kind(draw, extents, nodes, holes)
    for grain in ("block", "tile"):
        if draw.random() < 0.4:
            rule += f";{grain}={joined(sizes(draw, len(extents)))}"
    if holes and kind != random_boxes and "table" not in rule and draw.random() < 0.15:
        rule += f";every={joined(sizes(draw, len(extents), 3))}"
    return rule


def random_case(draw):
    rank = draw.choice([1, 2, 2, 2, 3, 3, 4])
    extents = [draw.randint(1, {1: 200, 2: 40, 3: 9, 4: 5}[rank]) for _ in range(rank)]
    nodes = draw.randint(1, 20)
    return extents, nodes, random_map(draw, extents, nodes)


class RandomMaps(unittest.TestCase):
    def each(self, count, check):
        for number in range(count):
            case = random_case(random.Random(SEED * 1000003 + number))
            with self.subTest(case=case, seed=SEED):
                check(*case)

    def check_colours(self, extents, nodes, rule):
        expected, drawn = owners(extents, nodes, rule), planes(picture(extents, nodes, rule))
        self.assertGreater(len(drawn), 0)
        seen = set()
        for plane in drawn:
            for place, fill in plane.fill.items():
                self.assertEqual(fill, fill_of(expected[plane.index(place)]), plane.index(place))
                seen.add(plane.index(place))
        if len(extents) < 3 and all(extent <= 64 for extent in extents):
            self.assertEqual(seen, set(expected))

    def test_every_cell_has_its_owners_colour(self):
        self.each(CASES, self.check_colours)

    def check_lines(self, extents, nodes, rule):
        expected = owners(extents, nodes, rule)
        for plane in planes(picture(extents, nodes, rule)):
            lines = set().union(*plane.lines.values())
            for row, column in plane.fill:
                for way, other in (("above", (row - 1, column)), ("left", (row, column - 1))):
                    if plane.steps == [1, 1] and other in plane.fill and \
                            expected[plane.index((row, column))] != expected[plane.index(other)]:
                        self.assertIn((row, column, way), lines)

    def test_owners_are_always_separated(self):
        self.each(CASES // 2, self.check_lines)

    def check_terminal(self, extents, nodes, rule):
        if len(extents) != 2 or extents[0] > 12 or extents[1] > 20:
            return
        expected = owners(extents, nodes, rule)
        shown = coloured(["--grid", "x".join(map(str, extents)), "--nodes", str(nodes), "--map", rule])
        cells = [re.findall(r"48;5;(\d+)m *(\d+|-)\033\[0m", line) for line in shown.split("\n\r\n")[1].splitlines()]
        rows = [row for row in cells if row]
        self.assertEqual([[None if node == "-" else int(node) for _, node in row] for row in rows],
                         [[expected[i, j] for j in range(extents[1])] for i in range(extents[0])])
        for colour, node in itertools.chain(*rows):
            self.assertEqual(int(colour), 254 if node == "-" else TERMINAL[int(node) % len(TERMINAL)])

    def test_terminal_with_colours_shows_owners(self):
        self.each(CASES, self.check_terminal)


def coloured(arguments):
    """What a terminal gets."""
    main, side = pty.openpty()
    process = subprocess.Popen([DCL, "map", *arguments], stdout=side, env=environment(), stdin=subprocess.DEVNULL)
    os.close(side)
    text = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        text += part
    os.close(main)
    if process.wait(60) != 0:
        raise AssertionError(f"dcl map {arguments} ended with {process.returncode}")
    return text.decode()


# ---- lines, limits, legend ------------------------------------------------------------------------------------------

class Picture(unittest.TestCase):
    def test_lines_by_weight(self):
        """Rows 0-2 and 3-5 are of two nodes; blocks are pairs of columns; a tile is a row of a node and then two."""
        plane, = planes(picture((6, 4), 2, "block,*;block=3x2;tile=2x4"))
        self.assertEqual(plane.lines["segment"], set())  # there are heavier ones on them
        self.assertEqual(plane.lines["block"], {(row, 2, "left") for row in range(6)})
        self.assertEqual(plane.lines["tile"], {(row, column, "above") for row in (2, 3, 5) for column in range(4)})

    def test_lines_where_cells_are_several_elements(self):
        """4 elements a cell: a border at element x lies before the first cell that begins at x or behind it."""
        plane, = planes(picture((3, 200), 3, "block,*;block=1x10;tile=1x50"))
        self.assertEqual((plane.steps, len(plane.fill)), ([1, 4], 150))
        tiles = {-(-x // 4) for x in (50, 100, 150)}
        blocks = {-(-x // 4) for x in range(10, 200, 10)} - tiles
        for row in range(3):
            self.assertEqual({c for r, c, way in plane.lines["tile"] if (r, way) == (row, "left")}, tiles)
            self.assertEqual({c for r, c, way in plane.lines["block"] if (r, way) == (row, "left")}, blocks)

    def test_no_line_for_what_is_not_divided(self):
        plane, = planes(picture((4, 4), 2, "rows:cyclic(2x2)"))
        self.assertEqual((plane.lines["block"], plane.lines["tile"]), (set(), set()))
        self.assertEqual(plane.lines["segment"], {(2, c, "above") for c in range(4)} | {(r, 2, "left") for r in range(4)})

    def test_numbers_and_shares(self):
        found = texts(picture((6, 6), 4, "rows:cyclic(2x2)"))
        self.assertIn("rows:cyclic(2x2)", found)
        self.assertIn("6x6 elements over 4 nodes", found)
        self.assertIn("12 elements, 33.3 %", found)
        self.assertEqual(found.count("8 elements, 22.2 %"), 3)

    def test_nodes_of_the_map_are_shown_by_their_numbers(self):
        for listed in ("3,17", "17,3"):
            plane, = planes(picture((2, 2), 20, f"block,*;nodes={listed}"))
            self.assertEqual([plane.fill[r, 0] for r in range(2)], [FILLS[int(node) % 16] for node in listed.split(",")])

    def test_planes_are_labelled_and_limited(self):
        found = picture((4, 2, 3), 2, "block,*,*")
        self.assertEqual([plane.first for plane in planes(found)], [[0, 0, 0], [2, 0, 0]])
        self.assertIn("i = 0..1", texts(found))
        many = picture((100, 2, 2), 100, "block,*,*")
        self.assertEqual(len(planes(many)), 8)
        self.assertIn("8 of 100 planes are drawn.", texts(many))

    def test_long_line_is_cut_into_stretches_and_a_longer_one_scaled(self):
        self.assertEqual([plane.first for plane in planes(picture((70,), 3, "block"))], [[0], [32], [64]])
        text = picture((9600,), 3, "block")
        self.assertEqual([(plane.steps, len(plane.fill)) for plane in planes(text)], [([1, 100], 96)])
        self.assertTrue(any("1 cell = 100 elements" in words for words in texts(text)))

    def test_large_grids_stay_small_pictures(self):
        for rule in ("rows:cyclic(1000x1000)", "rows:cyclic(1x1)", "cyclic", "block", "columns:block(7x3)"):
            text = picture((1000000, 1000000), 100, rule)
            self.assertLess(len(text), 400000, rule)
            plane, = planes(text)
            self.assertLessEqual(len(plane.fill), 64 * 64)
            self.assertTrue(any("1 cell = " in words or "Only the first" in words for words in texts(text)), rule)

    def test_fine_pattern_is_cropped_and_says_so(self):
        text = picture((6400, 6400), 3, "rows:cyclic(2x2)")
        self.assertTrue(any(words.startswith("Only the first 128 x 128 elements") for words in texts(text)), texts(text))

    def test_file_is_written_and_nothing_printed(self):
        with tempfile.TemporaryDirectory(prefix="dcl-picture-") as folder:
            done = run("--grid", "6x6", "--nodes", "4", "--map", "block", "--svg", "a & b.svg", folder=folder)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            with open(os.path.join(folder, "a & b.svg")) as file:
                self.assertEqual(file.read(), picture((6, 6), 4, "block"))
            self.assertEqual(os.listdir(folder), ["a & b.svg"])


# ---- moves of a body ------------------------------------------------------------------------------------------------

# Bodies, and the elements that one index of C reads of inputs, and writes of outputs beside C.
TRANSPOSED = ("C(i,j) = A(i,j) + B(j,i);", {"A": lambda i, j: [(i, j)], "B": lambda i, j: [(j, i)]}, {})
STENCIL = ("C(i,j) = i > 0 && i < 11 ? A(i-1,j) + A(i+1,j) : 0;",
           {"A": lambda i, j: [(i - 1, j), (i + 1, j)]}, {})
BOTH = ("C(i,j) = A(i,j); D(j,i) = A(i,j);", {"A": lambda i, j: [(i, j)]}, {"D": lambda i, j: [(j, i)]})

# what, body, nodes, shape, maps
MOVES = [
    ("transposed", TRANSPOSED, 3, (12, 12), {"C": "block,*", "A": "block,*", "B": "block,*"}),
    ("transposed, nothing moves", TRANSPOSED, 3, (12, 12), {"C": "block,*", "A": "block,*", "B": "*,block"}),
    ("different maps", TRANSPOSED, 4, (12, 12), {"C": "rows:cyclic(3x3)", "A": "block", "B": "cyclic(2),*"}),
    ("neighbours", STENCIL, 4, (12, 12), {"C": "block,*", "A": "block,*"}),
    ("some nodes only", TRANSPOSED, 12, (12, 12), {"C": "block,*;nodes=2-4", "A": "block,*;nodes=2-4",
                                                   "B": "block,*;nodes=9-11"}),
    ("written to others", BOTH, 3, (12, 12), {"C": "block,*", "D": "block,*", "A": "block,*"}),
    ("read and written", BOTH, 4, (12, 12), {"C": "block,*", "D": "rows:cyclic(5x5)", "A": "*,cyclic(2)"}),
    ("many pairs", TRANSPOSED, 8, (24, 24), {"C": "block,*", "A": "cyclic,*", "B": "cyclic(2),*"}),
]


def expected_moves(extents, nodes, maps, reads, writes):
    """Bytes by (from, to): each element that a node reads or writes and does not own, once per array."""
    owner = {name: owners(extents, nodes, rule) for name, rule in maps.items()}
    moved = set()
    for index, user in owner["C"].items():
        for name, places in itertools.chain(reads.items(), writes.items()):
            for place in places(*index):
                there = owner[name].get(place)
                if there not in (None, user): # what is stored nowhere is known everywhere
                    moved.add((name, place, *((there, user) if name in reads else (user, there))))
    found = {}
    for _, _, source, target in moved:
        found[source, target] = found.get((source, target), 0) + 4
    return found


class Moves(unittest.TestCase):
    def arguments(self, body, nodes, extents, maps):
        names = [word for name, rule in maps.items() for word in ("--map", f"{name}={rule}")]
        return ["--grid", "x".join(map(str, extents)), "--nodes", str(nodes), "--body", body, *names]

    def reported(self, arguments):
        found = {}
        for pair in json.loads(good(*arguments, "--explain=json"))["pairs"]:
            for source, to, size in ((pair["owner"], pair["user"], pair["bytes_read"]),
                                     (pair["user"], pair["owner"], pair["bytes_written"])):
                if size > 0:
                    found[source, to] = found.get((source, to), 0) + size
        return found

    def check(self, body, nodes, extents, maps):
        expected = expected_moves(extents, nodes, maps, *body[1:])
        arguments = self.arguments(body[0], nodes, extents, maps)
        text, svg = good(*arguments), good(*arguments, "--svg", "-")
        self.assertEqual(self.reported(arguments), expected)
        if not expected:
            self.assertIn("Nothing moves.", text)
            self.assertTrue(any("Nothing moves" in words for words in texts(svg)))
        elif len(expected) <= 30:
            found = re.findall(r"(\d+) --> +(\d+) +(\d+) B", text)
            self.assertEqual({(int(a), int(b)): int(size) for a, b, size in found}, expected)
        if 0 < len(expected) <= 14 and nodes <= 8:
            labels = sorted(words for words in texts(svg) if re.fullmatch(r"\d+ B", words))
            self.assertEqual(labels, sorted(f"{size} B" for size in expected.values()))
            self.assertEqual(len(re.findall("<polygon", svg)), len(expected))
        elif len(expected) > 14:
            self.assertIn("from\\to", texts(svg))

    def test_moves_are_those_of_the_elements(self):
        for what, body, nodes, extents, maps in MOVES:
            with self.subTest(what):
                self.check(body, nodes, extents, maps)

    def test_moves_under_random_maps(self):
        for number in range(CASES // 4):
            draw = random.Random(SEED * 1000003 + number)
            extents = (draw.randint(1, 12),) * 2
            body = draw.choice([TRANSPOSED, BOTH])
            nodes = draw.randint(1, 5)
            maps = {name: random_map(draw, extents, nodes, holes=name in body[1]) for name in ("C", *body[2], *body[1])}
            with self.subTest(maps=maps, nodes=nodes, extents=extents, seed=SEED):
                self.check(body, nodes, extents, maps)

    def test_shades_in_a_terminal(self):
        """16 nodes of 4 rows: each needs a row of each of its neighbours, and all rows of its mirror image."""
        done = good("--grid", "64x12", "--nodes", "16", "--map", "block,*", "--body",
                    "C(i,j) = i > 0 && i < 63 ? A(i+1,j) + A(i-1,j) + A(63-i,j) : 0;")
        rows = [line.split()[1:] for line in done.splitlines() if re.fullmatch(r" +\d+( [.\d]){16}", line)]
        self.assertEqual(len(rows), 16, done)
        for source, row in enumerate(rows):
            for to, shade in enumerate(row):
                expected = "9" if to == 15 - source else "3" if abs(to - source) == 1 else "."
                self.assertEqual(shade, expected, (source, to))

    def test_many_nodes_share_rows(self):
        arguments = ["--grid", "1000x1000", "--nodes", "100", "--map", "block,*", "--body", TRANSPOSED[0]]
        svg = good(*arguments, "--svg", "-")
        self.assertIn("1 row or column = 3 nodes", texts(svg))
        self.assertIn("1 row or column = 5 nodes", good(*arguments))
        self.assertLess(len(svg), 300000)

    def test_total_is_what_is_planned(self):
        text = good("--grid", "6x6:double", "--nodes", "4", "--map", "block,*", "--body", TRANSPOSED[0])
        self.assertIn("C: 6x6 double, block,*", text)
        self.assertIn("208 B in 12 blocks between 4 nodes", text)  # 36 elements less 4 + 4 + 1 + 1, in 12 blocks

    def test_explained_in_words(self):
        text = good("--grid", "64x64", "--nodes", "4", "--map", "block,*", "--body", TRANSPOSED[0], "--explain")
        self.assertRegex(text, r"(?m)^ +3 +0 +1 +1024 +1 +1024 +0 +send$")  # 16 x 16 floats of node 3 for node 0
        self.assertIn("with '*,block' for B, 0 instead of 12288 bytes would move", text)

    def test_arrays_alike_are_drawn_once(self):
        svg = good("--grid", "6x6", "--nodes", "2", "--map", "block,*", "--map", "B=*,block", "--body", TRANSPOSED[0],
                   "--svg", "-")
        self.assertEqual(len(planes(svg)), 2)
        self.assertIn("C, A: block,*", texts(svg))
        self.assertIn("B: *,block", texts(svg))

    def test_shapes_are_inferred(self):
        text = good("--grid", "4x6", "--nodes", "2", "--map", "block,*", "--body",
                    "C(i,j) = A(i,j) + B(j,i) + V(j) + u(i-1,j);", "--map", "u=block", "--map", "V=cyclic")
        for words in ("C: 4x6 float", "A: 4x6 float", "B: 6x4 float", "V: 6 float, cyclic", "u: 4x6 float, block"):
            self.assertIn(words, text.replace(", block,*", ""))

    def test_text_of_the_body_is_escaped(self):
        body = "C(i) = i < 3 && 1 > 0 ? A(i) : 0; /* \u00e4 \u20ac \x01 & \"quoted\" */"
        svg = good("--grid", "6", "--nodes", "2", "--map", "block", "--body", body, "--svg", "-")
        self.assertIn("i < 3 && 1 > 0", " ".join(texts(svg)))
        self.assertIn("\u00e4 \u20ac", " ".join(texts(svg)))


# ---- refusals -------------------------------------------------------------------------------------------------------

GRID = ["--grid", "6x6", "--nodes", "4"]
WRONG = [
    # what, arguments, exit status, words of the message
    ("folder of nothing", [*GRID, "--svg", "no/such/map.svg"], 1, ["no/such/map.svg", "cannot be written"]),
    ("a folder", [*GRID, "--svg", "."], 1, [".", "cannot be written"]),
    ("no room", [*GRID, "--svg", "/dev/full"], 1, ["/dev/full", "No space left"]),
    ("two files", [*GRID, "--svg", "a.svg", "--svg", "b.svg"], 2, ["--svg is given twice"]),
    ("file and owners", [*GRID, "--svg", "a.svg", "--owners"], 2, ["--owners", "--svg"]),
    ("explain without a body", [*GRID, "--explain"], 2, ["--explain", "without a body"]),
    ("explain as a picture", [*GRID, "--body", "C(i,j) = 1;", "--explain", "--svg", "-"], 2, ["--explain", "--svg"]),
    ("unknown form of explaining", [*GRID, "--body", "C(i,j) = 1;", "--explain=xml"], 2, ["--explain is 'xml'"]),
    ("body and owners", [*GRID, "--body", "C(i,j) = 1;", "--owners"], 2, ["--owners", "--body"]),
    ("bad map", [*GRID, "--map", "blok", "--svg", "a.svg"], 1, ["blok", "column 1"]),
    ("map of another rank", [*GRID, "--map", "block,block,*", "--svg", "a.svg"], 1, ["rank"]),
    ("too large", ["--grid", "9000000000x9000000000", "--nodes", "2", "--svg", "a.svg"], 1, ["9000000000", "exceeds"]),
    ("nothing to draw", ["--grid", "0x4", "--nodes", "2", "--svg", "a.svg"], 1, ["no elements"]),
    ("two shapes", [*GRID, "--grid", "5x5"], 2, ["--grid is given twice"]),
    ("two maps", [*GRID, "--map", "block", "--map", "cyclic"], 2, ["--map is given twice"]),
    ("two maps of one", [*GRID, "--map", "A=block", "--map", "A=cyclic"], 2, ["--map is given twice for A"]),
    ("unknown type", ["--grid", "6x6:flaot", "--nodes", "4"], 2, ["'flaot'", "float"]),
    ("named without a body", ["--grid", "C=6x6", "--nodes", "4"], 2, ["C is named", "--body"]),
    ("value without a body", [*GRID, "--set", "a=1"], 2, ["--set", "--body"]),
    ("value that is none", [*GRID, "--set", "a=x", "--body", "C(i,j) = a;"], 2, ["a is 'x'"]),
    ("no assignment", [*GRID, "--body", "int n = 3;"], 1, ["assigns to no array"]),
    ("name that does not occur", [*GRID, "--body", "C(i,j) = A(j,i);", "--map", "B=block"], 1, ["B is named", "B(...)"]),
    ("shape that is not known", [*GRID, "--body", "C(i,j) = A(2*i);"], 1, ["shape of A is unknown", "--grid NAME=SHAPE"]),
    ("wrong subscripts", [*GRID, "--body", "C(i) = A(i);"], 1, ["C has 2 axes, but 1 subscripts"]),
    ("not affine", [*GRID, "--body", "C(i,j) = A(i*j, j);", "--grid", "A=9x9"], 1, ["line 1", "column"]),
    ("syntax error", [*GRID, "--body", "C(i,j) = A(i+1,j)"], 1, ["line 1"]),
]


class Wrong(unittest.TestCase):
    """A command that must be refused and leave nothing behind; the tests are made from WRONG."""


def wrong_test(arguments, status, words):
    def test(self):
        with tempfile.TemporaryDirectory(prefix="dcl-picture-") as folder:
            done = run(*arguments, folder=folder)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertRegex(done.stderr, r"(?m)^dcl: ")
            for word in words:
                self.assertIn(word, done.stderr)
            self.assertEqual(os.listdir(folder), [])
    return test


for n, (what, arguments, status, words) in enumerate(WRONG):
    setattr(Wrong, f"test_{n:02}_{what.replace(' ', '_')}", wrong_test(arguments, status, words))


def main():
    global DCL
    if len(sys.argv) != 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("picture_test.py: expected the path of the dcl command as the only argument")
    DCL = os.path.abspath(sys.argv[1])
    load = unittest.defaultTestLoader
    suite = unittest.TestSuite([load.loadTestsFromTestCase(case) for case in (RandomMaps, Picture, Moves, Wrong)])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
