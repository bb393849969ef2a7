#!/usr/bin/python3
"""Tests of the dcl command as a person or a script meets it: cli_test.py PATH_TO_DCL

Everything is compared with NumPy or with text that a reader can check by hand. Wrong inputs are rows: what is wrong, the
command, the exit status, words of the message; afterwards the folder must hold what it held before.
Ends with a line "N passed, M failed" and status 1 when something failed."""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

import numpy

DCL = None  # the command, set by main()
NODES = 3


def environment(**more):
    env = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
    env["POCL_DEVICES"] = " ".join(["pthread"] * NODES)
    env["DCL_DEVICES"] = "cpu"  # also where there is a GPU, whose nodes would be fewer
    env.update(more)
    return env


def run(*arguments, folder=None, env=None):
    return subprocess.run([DCL, *arguments], cwd=folder, env=env or environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)


def has_device():
    return " cpu " in run("devices").stdout


def lines_to_dict(text):
    return dict(line.split("=", 1) for line in text.splitlines())


# ---- dcl map --------------------------------------------------------------------------------------------------------

# The worked example of segmented arrays: a 6 x 6 grid, nine 2 x 2 segments, owners row by row, from 0.
SIX_BY_SIX = [
    ("rows:block", 3, "000000 000000 111111 111111 222222 222222"),
    ("rows:block", 4, "000000 000111 111111 222222 222333 333333"),
    ("columns:block(2x2)", 3, "001122 001122 001122 001122 001122 001122"),
    ("rows:cyclic", 3, "012012 012012 012012 012012 012012 012012"),
    ("rows:cyclic", 4, "012301 230123 012301 230123 012301 230123"),
    ("rows:cyclic(2x2)", 3, "001122 001122 001122 001122 001122 001122"),
    ("rows:cyclic(2x2)", 4, "001122 001122 330011 330011 223300 223300"),
    ("rows:block(2x2)", 3, "000000 000000 111111 111111 222222 222222"),
]

OTHER_OWNERS = [
    ("5", 2, "block", "0 0 0 1 1\n"),
    ("4x4", 4, "block", "0 0 1 1\n0 0 1 1\n2 2 3 3\n2 2 3 3\n"),
    ("2x4", 2, "*,cyclic(1)", "0 1 0 1\n0 1 0 1\n"),
    ("2x2x3", 3, "rows:cyclic", "0 1 2\n0 1 2\n\n0 1 2\n0 1 2\n"),
    ("1x2x1x2", 2, "rows:cyclic", "0 1\n\n0 1\n"),
    ("0x4", 2, "block", ""),
    ("4", 4, "block;nodes=1,3", "1 1 3 3\n"),
    ("2x3", 12, "rows:cyclic;nodes=0,10-11", "0 10 11\n0 10 11\n"),
    ("3", 3, "*;nodes=2", "2 2 2\n"),
]


class Map(unittest.TestCase):
    def test_picture_has_owners_shares_and_title(self):
        done = run("map", "--grid", "6x6", "--nodes", "4", "--map", "rows:cyclic(2x2)")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("rows:cyclic(2x2): 6x6 over 4 nodes", done.stdout)
        self.assertIn("i\\j 0 1 2 3 4 5\n", done.stdout)
        self.assertIn("  2 3 3 0 0 1 1\n", done.stdout)
        self.assertRegex(done.stdout, r"0 +12 +33\.3 % +12\n")
        self.assertNotIn("\033", done.stdout)

    def test_nodes_of_the_map_are_shown_by_their_numbers(self):
        done = run("map", "--grid", "6x6", "--nodes", "12", "--map", "rows:cyclic(2x2);nodes=0-1,11")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(": 6x6 over 3 nodes\n", done.stdout)
        self.assertIn("\n  0  0  0  1  1 11 11\n", done.stdout)
        shares = [line.split() for line in done.stdout[done.stdout.index("storage\n"):].splitlines()[1:]]
        self.assertEqual(shares, [[node, "12", "33.3", "%", "12"] for node in ("0", "1", "11")])

    def test_large_grid_is_scaled_at_borders(self):
        done = run("map", "--grid", "6144x6144", "--nodes", "4", "--map", "rows:cyclic(2048x2048)")
        self.assertIn("1 cell = 256 x 256 elements", done.stdout)
        self.assertIn("2048" + 8 * " 3" + 8 * " 0" + 8 * " 1" + "\n", done.stdout)
        self.assertLess(max(map(len, done.stdout.splitlines())), 80)

    def test_fine_pattern_is_cut_not_sampled(self):
        done = run("map", "--grid", "10000x10000", "--nodes", "2", "--map", "rows:cyclic(1x1)")
        self.assertIn("  0 0 1 0 1", done.stdout)
        self.assertIn("...", done.stdout)

    def test_planes_are_labelled(self):
        done = run("map", "--grid", "4x2x3", "--nodes", "3", "--map", "*,*,block")
        self.assertIn("plane (0..3, *, *)", done.stdout)
        self.assertIn("j\\k 0 1 2\n", done.stdout)

    def test_title_tells_a_default_from_a_map(self):
        arguments = ["map", "--grid", "6x6", "--nodes", "4"]
        self.assertIn("default (block; arrays below 16384 bytes on one node): 6x6", run(*arguments).stdout)
        self.assertIn("block: 6x6", run(*arguments, "--map", "block").stdout.splitlines()[0])
        self.assertEqual(run(*arguments, env=environment(DCL_MAP="*,block")).stdout.splitlines()[0],
                         "*,block: 6x6 over 4 nodes")

    def test_all_owners_are_printed_when_told_so(self):
        arguments = ["map", "--grid", "3333334x3", "--nodes", "1", "--map", "block"]
        refused = run(*arguments, "--owners")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("the grid has 10000002 elements; expected at most 10000000", refused.stderr)
        done = run(*arguments, "--owners=all")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, 3333334 * "0 0 0\n")

    def test_line_and_empty_grid(self):
        self.assertIn("  0 0 0 1 1\n", run("map", "--grid", "4", "--nodes", "2", "--map", "block").stdout)
        self.assertIn("no elements", run("map", "--grid", "0", "--nodes", "2", "--map", "block").stdout)

    def test_terminal_gets_colours(self):
        main, side = pty.openpty()
        subprocess.run([DCL, "map", "--grid", "2x2", "--nodes", "2", "--map", "block,*"], stdout=side,
                       env=environment(), check=True, timeout=60)
        os.close(side)
        text = os.read(main, 65536).decode()
        os.close(main)
        self.assertIn("\033[", text)


def owners_test(grid, nodes, rule, expected):
    def test(self):
        done = run("map", "--grid", grid, "--nodes", str(nodes), "--map", rule, "--owners")
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", expected))
    return test


for n, (rule, nodes, rows) in enumerate(SIX_BY_SIX):
    text = "".join(" ".join(row) + "\n" for row in rows.split())
    setattr(Map, f"test_six_by_six_{n}", owners_test("6x6", nodes, rule, text))
for n, row in enumerate(OTHER_OWNERS):
    setattr(Map, f"test_owners_{n}", owners_test(*row))


# ---- help, version, devices -----------------------------------------------------------------------------------------

COMMANDS = ["eval", "map", "sim", "trace", "devices", "worker", "workers", "keys"]


class Texts(unittest.TestCase):
    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^dcl \d+\.\d+\.\d+\n$")

    def test_help(self):
        for arguments in (["help"], ["--help"], ["help", "eval"], ["eval", "--help"], ["map", "-h"], ["help", "maps"],
                          ["devices", "--help"], ["help", "devices"], ["help", "variables"]):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
            self.assertGreater(len(done.stdout), 100, arguments)
        self.assertIn("--explain", run("help", "eval").stdout)
        self.assertIn("DCL_TILE_BYTES", run("help", "variables").stdout)

    def test_help_has_every_option(self):
        """The tables of options are read from the command's source: each must stand in its command's help."""
        source = pathlib.Path(__file__).resolve().parents[2] / "src" / "cli"
        found = 0
        for file in source.glob("*.c"):
            text = file.read_text()
            for name, value in re.findall(r'^    \{"([a-z-]+)", (NULL|"[^"]*"), (?:CLI_|\.take)', text, re.M):
                command = re.search(r'\{"(\w+)", options, take_plain', text).group(1)
                value = "" if value == "NULL" else value.strip('"')
                words = f"--{name}[{value}]" if value.startswith("=") else f"--{name} {value}".strip()
                line = f"  {words} "
                self.assertIn(line, run("help", command).stdout, command)
                found += 1
        self.assertGreater(found, 20)

    def test_help_and_its_option_are_the_same(self):
        for command in COMMANDS:
            text = run("help", command).stdout
            self.assertIn("\nExamples", text)
            self.assertEqual(run(command, "--help").stdout, text)
            self.assertIn(f"  dcl {command} ", run("help").stdout.replace("\n", " \n"))

    def test_full_disk_is_noticed(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([DCL, "help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("dcl: standard output cannot be written", done.stderr)


# ---- dcl eval -------------------------------------------------------------------------------------------------------

class Folder(unittest.TestCase):
    """A test in a folder of its own, with a few arrays in files."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="dcl-cli-")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        random = numpy.random.default_rng(20)
        self.a = self.put("a.npy", random.standard_normal((37, 53), dtype=numpy.float32))
        self.b = self.put("b.npy", random.standard_normal((53, 37), dtype=numpy.float32))
        self.x = self.put("x.npy", random.standard_normal(100, dtype=numpy.float32))
        self.n = self.put("n.npy", numpy.arange(40, dtype=numpy.int32))

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, array):
        numpy.save(self.path(name), array)
        return array

    def get(self, name):
        return numpy.load(self.path(name))

    def eval(self, *arguments, env=None):
        return run("eval", *arguments, folder=self.folder, env=env)

    def good(self, *arguments):
        done = self.eval(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([name for name in os.listdir(self.folder) if not name.endswith(".npy")], [])
        return done

    def same(self, name, expected):
        found = self.get(name)
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        self.assertEqual(found.tobytes(), expected.tobytes(), name)


def rest(descriptor):
    """What the ended other side of a pipe or terminal has left."""
    try:
        return os.read(descriptor, 4096)
    except OSError:  # a terminal without another side
        return b""


def picture(bytes):
    """The pixels and the comment of a PNG file in shades of grey. Source: ISO/IEC 15948."""
    assert bytes[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(bytes):
        length, kind = struct.unpack(">I4s", bytes[at:at + 8])
        assert struct.unpack(">I", bytes[at + 8 + length:at + 12 + length])[0] == zlib.crc32(bytes[at + 4:at + 8 + length])
        chunks[kind] = chunks.get(kind, b"") + bytes[at + 8:at + 8 + length]
        at += 12 + length
    columns, rows, bits, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert colour == 0
    data, step, pitch = zlib.decompress(chunks[b"IDAT"]), bits // 8, columns * bits // 8
    image = numpy.zeros((rows + 1, pitch + step), numpy.uint8)  # with a row above and a pixel left of it
    for r in range(rows):
        how, line = data[r * (pitch + 1)], data[r * (pitch + 1) + 1:(r + 1) * (pitch + 1)]
        for n in range(pitch):
            left, up, corner = (int(v) for v in (image[r + 1, n], image[r, n + step], image[r, n]))
            paeth = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            add = (0, left, up, (left + up) // 2, paeth)[how]
            image[r + 1, n + step] = (line[n] + add) & 255
    return image[1:, step:].copy().view(">u%d" % step), chunks.get(b"tEXt", b"")


SUM_TRANSPOSED = "C(i,j) = A(i,j) + B(j,i);"
SCALED_SUM = "Y(i) = a*X(i) + Y(i);"


class Eval(Folder):
    def test_sum_with_transposed_and_nothing_printed(self):
        done = self.good(SUM_TRANSPOSED, "A=a.npy", "B=b.npy", "C=c.npy")
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        self.same("c.npy", self.a + self.b.T)

    def test_reductions_are_printed(self):
        text = "float t = A(i,j) * 3; n2 += (double)A(i,j) * A(i,j); /* low += 1; */ if (t > 0) { low min= t; } else up += 1;"
        done = self.good(text, "A=a.npy")
        found = dict(line.split(" = ") for line in done.stdout.splitlines())
        self.assertEqual(sorted(found), ["low", "n2", "up"])
        square = self.a.astype(numpy.float64) ** 2
        tripled = self.a * numpy.float32(3)
        self.assertLess(abs(float(found["n2"]) - square.sum()), 1e-12 * square.sum())
        self.assertEqual(float(found["low"]), float(tripled[tripled > 0].min()))
        self.assertEqual(found["up"], str((tripled <= 0).sum()))
        figures = json.loads(self.good("s -= N(i); most max= N(i); x ^= N(i);", "N=n.npy", "--json").stdout)
        self.assertEqual(figures["results"], {"s": -780, "most": 39, "x": 0})
        self.assertEqual(figures["nodes"], len(figures["per_node"]))
        figures = json.loads(self.good("s += 0 / (A(i) - A(i));", "A=x.npy", "--json").stdout)
        self.assertEqual(figures["results"], {"s": "nan"})
        done = self.eval("s += A(i,j); C(i,j) = A(i,j);", "A=a.npy", "C=c.npy")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the body reduces to s and writes C", done.stderr)
        self.assertIn("or a reduction such as sum += A(i);", self.eval("float s = A(i); s += 1;", "A=x.npy").stderr)

    def test_arrays_are_reduced_and_scanned(self):
        a = numpy.random.default_rng(5).integers(-9, 10, (30, 20))
        bins = a[:, 0] % 4
        nodes = ("--workers", "local:4", "--map", "cyclic")
        self.put("w.npy", a)
        self.put("bins.npy", bins)
        for _ in range(2):  # the second run adds to the file
            self.good("Y(j) += W(i,j);", "W=w.npy", "Y=y2.npy")
        self.same("y2.npy", 2 * a.sum(0))
        self.good(*nodes, "C(i,j) += A(k,i) * B(k,j);", "A=w.npy", "B=w.npy", "C=c.npy")
        self.same("c.npy", a.T @ a)
        self.good("M(i) max= W(i,j);", "W=w.npy", "M=m.npy")
        self.same("m.npy", a.max(1))
        self.good("H(bin(i)) += 1;", "bin=bins.npy", "H=h.npy:4:int32")
        self.same("h.npy", numpy.bincount(bins, minlength=4).astype(numpy.int32))
        for _ in range(2):  # a scan does not count what is there
            self.good("--scan", "j", "--exclusive", "P(i,j) += W(i,j);", "W=w.npy", "P=p.npy")
        self.same("p.npy", a.cumsum(1) - a)
        figures = json.loads(self.good("--explain=json", "Y(i) += W(i,j);", "W=w.npy", "Y=no.npy").stdout)
        self.assertNotIn("no.npy", os.listdir(self.folder))
        self.assertTrue(figures)

    def test_reductions_have_spaces_of_their_own(self):
        self.put("w.npy", numpy.arange(36).reshape(6, 6))
        sums = json.loads(self.good("--json", "t += W(i,i);", "W=w.npy").stdout)["results"]
        self.assertEqual(sums, {"t": 105})
        over = ("--json", "--over", "0 <= i < n", "--set", "n=10")  # n only occurs in the ranges
        self.assertEqual(json.loads(self.good(*over, "s += 0.5 * i; c += 1;").stdout)["results"], {"s": 22.5, "c": 10})
        self.assertIn("the body reduces nothing", self.eval("--over", "0 <= i < 10", "y(i) = 1;").stderr)

    def test_variables_are_no_reduced_indices(self):
        self.good("int k = 3, l = 2; C(i) += A(i) * k * l;", "A=n.npy", "C=c.npy")
        self.same("c.npy", self.n * 6)

    def test_shape_is_inferred_from_two_inputs(self):
        self.put("row.npy", numpy.arange(7, dtype=numpy.int32))
        self.good("C(i,j) = A(i) * B(j);", "A=n.npy", "B=row.npy", "C=c.npy")
        self.same("c.npy", numpy.outer(self.n, numpy.arange(7, dtype=numpy.int32)))

    def test_shape_and_type_are_given(self):
        self.good("C(i,j) = 10*i + j;", "C=c.npy:3x4:int16")
        self.same("c.npy", (10 * numpy.arange(3)[:, None] + numpy.arange(4)).astype(numpy.int16))

    def test_pictures(self):
        rows, columns = numpy.arange(30)[:, None], numpy.arange(41)
        for arguments, name, expected, comment in (
                ([], "c.png:30x41:uint8", 7 * rows + columns, b"black is 0, white is 255"),
                ([], "c.png:30x41:uint16", 7 * rows + columns, b"black is 0, white is 65535"),
                (["--bits", "16", "--grey", "1:-1.5"], "c.png:30x41:float",
                 numpy.floor((1 - (7 * rows + columns)) / 2.5 * 65535 + 0.5), b"black is 1, white is -1.5"),
                (["--workers", "local:2"], "c.png:30x41:int32",
                 numpy.floor((7 * rows + columns) / 243 * 255 + 0.5), b"black is 0, white is 243")):
            done = self.eval(*arguments, "C(i,j) = 7*i + j;", "C=" + name)
            if "without libpng" in done.stderr:
                self.skipTest(done.stderr)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            pixels, text = picture(pathlib.Path(self.path("c.png")).read_bytes())
            self.assertTrue((pixels == numpy.clip(expected, 0, numpy.iinfo(pixels.dtype).max)).all(), name)
            self.assertEqual(text, b"Comment\0" + comment)
            self.assertEqual([name for name in os.listdir(self.folder) if not name.endswith((".npy", ".png"))], [])

    def test_picture_in_capitals(self):
        done = self.eval("C(i,j) = 7*i + j;", "C=c.PGM:2x2:uint8")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(pathlib.Path(self.path("c.PGM")).read_bytes().endswith(b"2 2\n255\n\x00\x01\x07\x08"))

    def test_progress(self):
        """Four evaluations that would take very long, side by side; each is killed when it has been heard."""
        REPEATED = [DCL, "eval", "C(i) = 2*A(i);", "A=n.npy", "C=c.npy", "--repeat", "1000000"]
        runs = {}
        for how, terminal in ((None, True), ("always", False), (None, False), ("never", True)):
            ours, theirs = pty.openpty() if terminal else os.pipe()
            arguments = REPEATED + (["--progress", how] if how else [])
            runs[how, terminal] = ours, subprocess.Popen(arguments, stderr=theirs, stdout=subprocess.DEVNULL,
                                                         cwd=self.folder, env=environment())
            os.close(theirs)
        said = {}
        line = r"dcl: running, \d+ of 1000000 runs, [\d.]+ runs/s, [\dhmins ]+ left, \d+\.\d s"
        for (how, terminal), (ours, _) in list(runs.items())[:2]:
            said[how] = ""
            while not re.search(line, said[how]):  # on a busy machine, loading is told about first
                self.assertTrue(select.select([ours], [], [], 60)[0], said[how])
                said[how] += os.read(ours, 4096).decode()
        for ours, process in runs.values():
            process.kill()
            process.wait()
        self.assertRegex(said[None], r"\r\x1b\[K" + line)
        self.assertRegex(said["always"], "^dcl: .*(\ndcl: .*)*\n$")
        self.assertRegex(said["always"], line)
        self.assertEqual((rest(runs[None, False][0]), rest(runs["never", True][0])), (b"", b""))
        for ours, _ in runs.values():
            os.close(ours)

    def test_progress_is_not_made_up_for(self):
        """After a pause, such as Ctrl-Z, the line is drawn once, not once for every time that was missed."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([DCL, "eval", "C(i) = 2*A(i);", "A=n.npy", "C=c.npy", "--repeat", "1000000"],
                                   stderr=theirs, stdout=subprocess.DEVNULL, cwd=self.folder, env=environment())
        os.close(theirs)
        said = b""
        while b" left, " not in said:
            self.assertTrue(select.select([ours], [], [], 60)[0], said)
            said += os.read(ours, 4096)
        process.send_signal(signal.SIGSTOP)
        time.sleep(3)
        while select.select([ours], [], [], 0)[0]:
            os.read(ours, 4096)
        begin = time.monotonic()
        process.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        after = rest(ours)
        most = 2 + (time.monotonic() - begin) / 0.25
        process.kill()
        process.wait()
        os.close(ours)
        self.assertLessEqual(after.count(b"\r\x1b[K"), most, after)

    def test_progress_does_not_stop_the_work(self):
        """Nobody reads the lines: the result is saved nevertheless."""
        ours, theirs = os.pipe()
        os.set_blocking(theirs, False)
        try:
            while os.write(theirs, b"x" * 4096):
                pass
        except BlockingIOError:
            os.set_blocking(theirs, True)
        body = "long s = n; for (long k = 0; k < n; k++) s = s * 1664525 + i; C(i) = s;"
        process = subprocess.Popen([DCL, "eval", body, "C=c.npy:1000:int64", "--set", "n=1000000", "--repeat", "4",
                                    "--progress", "always"], stderr=theirs, cwd=self.folder, env=environment())
        os.close(theirs)
        for _ in range(600):
            if os.path.exists(self.path("c.npy")):
                break
            time.sleep(0.1)
        saved = os.path.exists(self.path("c.npy"))
        while os.read(ours, 65536):
            pass
        os.close(ours)
        self.assertEqual(process.wait(60), 0)
        self.assertTrue(saved)

    def test_type_alone_is_given(self):
        self.good("C(i) = A(i);", "A=n.npy", "C=c.npy:double")
        self.same("c.npy", self.n.astype(numpy.float64))

    def test_given_shape_takes_the_first_inputs_type(self):
        self.good("C(i) = A(i + 3);", "A=n.npy", "C=c.npy:10")
        self.same("c.npy", self.n[3:13])

    def test_no_inputs_give_float(self):
        self.good("C(i,j) = 10*i + j;", "C=c.npy:3x4")
        self.assertEqual(self.get("c.npy").dtype, numpy.float32)

    def test_file_name_with_colons(self):
        self.put("a:b.npy", self.n)
        self.good("C(i) = A(i);", "A=a:b.npy", "C=c:d.npy")
        self.same("c:d.npy", self.n)

    def test_read_and_written_is_loaded_and_saved_back(self):
        y = self.put("y.npy", numpy.arange(100, dtype=numpy.float32))
        self.good(SCALED_SUM, "X=x.npy", "Y=y.npy", "--set", "a=0.5f")
        self.same("y.npy", numpy.float32(0.5) * self.x + y)

    def test_read_and_written_without_a_file_begins_as_zero(self):
        self.good(SCALED_SUM, "X=x.npy", "Y=y.npy", "--set", "a=0.5f")
        self.same("y.npy", numpy.float32(0.5) * self.x + numpy.float32(0))

    def test_types_of_values(self):
        self.good("C(i) = sizeof(w)*1000000 + sizeof(s)*10000 + sizeof(d)*100 + w;", "C=c.npy:1:int64", "--set", "w=-7",
                  "--set", "s=1.0f", "--set", "d=1e0")
        self.same("c.npy", numpy.array([8040793], numpy.int64))

    def test_two_outputs(self):
        self.good("C(i) = A(i) + 1; D(i) = A(i) * 2;", "A=n.npy", "C=c.npy", "D=d.npy")
        self.same("c.npy", self.n + 1)
        self.same("d.npy", self.n * 2)

    def test_fortran_inputs_give_fortran_output(self):
        self.put("f.npy", numpy.asfortranarray(self.a))
        self.put("g.npy", numpy.asfortranarray(self.b))
        arguments = [SUM_TRANSPOSED, "B=g.npy", "C=c.npy"]
        self.good(*arguments, "A=f.npy")
        self.assertTrue(self.get("c.npy").flags.f_contiguous)
        self.good(*arguments, "A=a.npy")
        self.assertTrue(self.get("c.npy").flags.c_contiguous)
        self.good(*arguments, "A=f.npy", "--order", "C")
        self.assertTrue(self.get("c.npy").flags.c_contiguous)
        self.good(*arguments, "A=a.npy", "--order=F")
        self.assertTrue(self.get("c.npy").flags.f_contiguous)
        numpy.testing.assert_array_equal(self.get("c.npy"), self.a + self.b.T)

    def test_options_stand_anywhere_and_end_at_two_dashes(self):
        self.good("--map=block", SUM_TRANSPOSED, "A=a.npy", "--stats", "B=b.npy", "--", "C=c.npy")
        self.same("c.npy", self.a + self.b.T)

    def test_result_may_replace_an_input(self):
        self.good("C(i) = A(39 - i);", "A=n.npy", "C=n.npy:40")
        self.same("n.npy", self.n[::-1])

    def test_runs_are_repeated_and_one_is_counted(self):
        self.put("y.npy", numpy.zeros(100, numpy.float32))
        once = lines_to_dict(self.good(SCALED_SUM, "X=x.npy", "Y=y.npy", "--set", "a=1.0f", "--stats").stderr)
        four = lines_to_dict(self.good(SCALED_SUM, "X=x.npy", "Y=y.npy", "--set", "a=1.0f", "--stats", "--repeat",
                                       "4").stderr)
        self.assertEqual((once["tasks"], once["repeat"], four["repeat"]), (four["tasks"], "1", "4"))
        expected = numpy.zeros(100, numpy.float32)
        for _ in range(5):
            expected = self.x + expected
        self.same("y.npy", expected)

    def test_every_array_has_its_map(self):
        done = self.good(SUM_TRANSPOSED, "A=a.npy", "B=b.npy", "C=c.npy", "--json", "--map", "block,*", "--map",
                         "B=*,block")
        self.assertEqual(json.loads(done.stdout)["bytes_moved"], 0)
        self.same("c.npy", self.a + self.b.T)


class Workers(Folder):
    """The same on processes of this host, by the option or by the environment; the option wins."""
    ARGUMENTS = [SUM_TRANSPOSED, "A=a.npy", "B=b.npy", "C=c.npy", "--stats"]

    def check(self, done, nodes):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(lines_to_dict(done.stderr)["nodes"], str(nodes))
        self.same("c.npy", self.a + self.b.T)

    def test_option(self):
        self.check(self.eval("--workers", "local:2", *self.ARGUMENTS), 2)

    def test_environment(self):
        self.check(self.eval(*self.ARGUMENTS, env=environment(DCL_WORKERS="local:2")), 2)

    def test_option_over_environment(self):
        self.check(self.eval("--workers=local:2", *self.ARGUMENTS, env=environment(DCL_WORKERS="local:0")), 2)

    def test_some_nodes_only(self):
        done = self.good("C(i) = A(i);", "A=n.npy", "C=c.npy", "--workers", "local:3", "--map", "block;nodes=0,2",
                         "--json")
        self.assertEqual([node["tasks"] > 0 for node in json.loads(done.stdout)["per_node"]], [True, False, True])
        self.same("c.npy", self.n)


class Figures(Folder):
    KEYS = {"seconds", "nodes", "tasks", "blocks_moved", "bytes_moved", "approximate", "bytes_sent", "bytes_copied",
            "launches", "kernels_built"}
    PLANNED = ("tasks", "blocks_moved", "bytes_moved", "messages_planned", "approximate")
    ARGUMENTS = [SUM_TRANSPOSED, "A=a.npy", "B=b.npy", "C=c.npy", "--map", "rows:cyclic(8x8);block=4x4;tile=8x8"]

    def test_stats_are_lines(self):
        done = self.good(*self.ARGUMENTS, "--stats")
        self.assertEqual(done.stdout, "")
        found = lines_to_dict(done.stderr)
        self.assertLessEqual(self.KEYS, set(found))
        self.assertEqual(int(found["nodes"]), NODES)
        self.assertGreater(float(found["seconds"]), 0)
        self.assertGreater(int(found["tasks"]), 0)
        self.assertGreater(int(found["bytes_moved"]), 0)

    def test_json_is_one_object_with_the_same(self):
        done = self.good(*self.ARGUMENTS, "--json", "--stats")
        found, lines = json.loads(done.stdout), lines_to_dict(done.stderr)
        self.assertEqual({key: str(found[key]) for key in self.PLANNED}, {key: lines[key] for key in self.PLANNED})
        self.assertLessEqual(self.KEYS, set(found))
        self.assertEqual(len(found["per_node"]), NODES)
        for key in self.PLANNED[:4]:
            self.assertEqual(sum(node[key] for node in found["per_node"]), found[key], key)

    def test_explain_equals_stats(self):
        planned = json.loads(self.good(*self.ARGUMENTS, "--explain", "--json").stdout)
        self.assertFalse(os.path.exists(self.path("c.npy")))
        counted = json.loads(self.good(*self.ARGUMENTS, "--json").stdout)
        for key in self.PLANNED:
            self.assertEqual(planned[key], counted[key], key)
            self.assertEqual([node[key] for node in planned["per_node"]], [node[key] for node in counted["per_node"]])

    def test_explain_prints_a_row_per_node(self):
        done = self.good(*self.ARGUMENTS, "--explain")
        self.assertEqual(done.stderr, "")
        rows = [line.split() for line in done.stdout.splitlines()[:NODES + 2]]
        self.assertEqual(rows[0], ["node", *self.PLANNED, "elements", "staged_bytes", "arrived_bytes", "copied_bytes", "name"])
        self.assertEqual([row[0] for row in rows[1:]], [*map(str, range(NODES)), "all"])
        for column in (1, 2, 3, 4):
            self.assertEqual(sum(int(row[column]) for row in rows[1:-1]), int(rows[-1][column]))

    def test_explain_says_what_moves_between_whom_and_what_to_do(self):
        case = ["C(i,j) = A(i,j) + B(i,j);", "A=a.npy", "B=a.npy", "C=c.npy", "--map", "block,*", "--map", "B=cyclic,*"]
        text = self.good(*case, "--explain").stdout
        self.assertIn("Between nodes", text)
        self.assertRegex(text, r"(?m)^B +yes +no +1961 +1961 +\d+ +cyclic,\*$")
        self.assertIn("with 'block,*' for B, 0 instead of ", text)
        done = self.good(*case, "--explain=json")
        found = json.loads(done.stdout)
        self.assertEqual(found["advice"], [line[2:] for line in text.splitlines() if line.startswith("- ")])
        for key in ("blocks", "bytes", "messages"):
            name = {"messages": "messages_planned"}.get(key, key + "_moved")
            self.assertEqual(sum(pair[key] for pair in found["pairs"]), found[name])
        self.assertEqual([array["name"] for array in found["arrays"]], ["A", "B", "C"])
        self.assertFalse(os.path.exists(self.path("c.npy")))
        self.assertEqual(self.good(*case, "--explain", "--json").stdout, done.stdout)

    def test_explain_says_when_it_is_approximate(self):
        done = self.good("C(i) = M(i, i);", "M=a.npy", "C=c.npy:37", "--explain")
        self.assertIn("box around what is read", done.stdout)


# ---- dcl keys, dcl worker, dcl workers ------------------------------------------------------------------------------

class Keys(Folder):
    def mode(self, name):
        return stat.S_IMODE(os.stat(self.path(name)).st_mode)

    def public_key(self, name):
        return re.search(r"(?m)^dcl public ([0-9a-f]{64})$", open(self.path(name)).read()).group(1)

    def test_files_and_what_is_said_of_them(self):
        done = run("keys", "mine", folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(self.path("mine"))), ["allowed", "own.public", "own.secret"])
        self.assertEqual([oct(self.mode(name)) for name in ("mine", "mine/own.secret", "mine/own.public")],
                         ["0o700", "0o600", "0o644"])
        self.assertIn("public key " + self.public_key("mine/own.public"), done.stdout)
        secret = re.search(r"(?m)^dcl secret ([0-9a-f]{64})$", open(self.path("mine/own.secret")).read()).group(1)
        self.assertNotIn(secret, done.stdout)
        for words in ("mine/own.public", "mine/allowed", "allowed/HOST.public", "--keys", "DCL_KEYS=mine"):
            self.assertIn(words, done.stdout)

    def test_two_pairs_differ(self):
        run("keys", "a", folder=self.folder)
        run("keys", "b", folder=self.folder)
        self.assertNotEqual(self.public_key("a/own.public"), self.public_key("b/own.public"))

    def test_folder_that_is_there(self):
        os.mkdir(self.path("mine"), 0o755)
        done = run("keys", "mine/", folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(" mine/own.public ", done.stdout)
        self.assertEqual(oct(self.mode("mine/own.secret")), "0o600")

    def test_nothing_is_overwritten(self):
        run("keys", "mine", folder=self.folder)
        before = open(self.path("mine/own.secret")).read()
        done = run("keys", "mine", folder=self.folder)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^dcl: .*mine/own\.")
        self.assertEqual(open(self.path("mine/own.secret")).read(), before)

    def test_folder_that_others_can_write(self):
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        done = run("keys", "open", folder=self.folder)
        self.assertEqual((done.returncode, done.stdout, os.listdir(self.path("open"))), (1, "", []))
        self.assertIn("open", done.stderr)


class Worker(Folder):
    """A worker that runs. It ends with its test, whatever happens there."""

    def start(self, *arguments, env=None, listen="tcp://127.0.0.1:0", **more):
        token = self.path("token")
        self.env = environment(DCL_TOKEN=token)
        arguments = arguments or ("--token", token)
        worker = subprocess.Popen([DCL, "worker", "--listen", listen, *arguments], cwd=self.folder,
                                  env=env or environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, **more)
        for pipe in (worker.stdout, worker.stderr):
            self.addCleanup(pipe.close)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        said = ""
        for line in worker.stderr:
            said += line
            found = re.search(r"listening on (tcp://127\.0\.0\.1:[1-9][0-9]*)", line)
            if found:
                return worker, found.group(1)
        self.fail("it ended: " + said)

    def test_it_is_listed(self):
        _, address = self.start()
        done = run("workers", "--workers", address, env=self.env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"(?m)^{address} +answers ")
        self.assertEqual(done.stdout.count("    device "), NODES)
        row = json.loads(run("workers", "--workers", address, "--json", env=self.env).stdout)["workers"][0]
        self.assertEqual((row["address"], row["answers"], row["device_count"], row["files"]),
                         (address, True, NODES, False))
        self.assertEqual([device["kind"] for device in row["devices"]], ["cpu"] * NODES)
        self.assertGreater(row["round_trip_us"], 0)

    def test_one_of_two_answers(self):
        _, address = self.start()
        done = run("workers", "--workers", f"{address},{NOBODY}", env=self.env)
        self.assertEqual((done.returncode, done.stderr), (1, "dcl: 1 of 2 workers did not answer; expected an answer "
                                                             "from each\n"))
        self.assertRegex(done.stdout, rf"(?m)^{address} +answers ")
        self.assertRegex(done.stdout, rf"(?m)^{NOBODY} +no answer\n    .*{NOBODY}")

    def test_waiting_until_it_answers(self):
        """The worker starts after the question: without waiting nobody answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        token = self.path("token")
        question = ["workers", "--workers", address]
        self.assertEqual(run(*question, env=environment(DCL_TOKEN=token)).returncode, 1)
        waiting = subprocess.Popen([DCL, *question, "--wait", "60"], env=environment(DCL_TOKEN=token),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(waiting.kill)
        time.sleep(0.3)
        self.assertIsNone(waiting.poll())
        self.start("--token", token, listen=address)
        said, _ = waiting.communicate(timeout=60)
        self.assertEqual(waiting.returncode, 0, said)
        self.assertRegex(said, rf"(?m)^{address} +answers ")

    def test_waiting_has_an_end(self):
        begin = time.monotonic()
        done = run("workers", "--workers", NOBODY, "--wait", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 of 1 workers did not answer", done.stderr)
        self.assertGreaterEqual(time.monotonic() - begin, 1)

    def test_the_steps_that_keys_names(self):
        for name in ("worker", "program", "stranger"):
            run("keys", name, folder=self.folder)
        shutil.copy(self.path("program/own.public"), self.path("worker/allowed/anybody.public"))
        for name in ("program", "stranger"):
            shutil.copy(self.path("worker/own.public"), self.path(f"{name}/allowed/127.0.0.1.public"))
        _, address = self.start("--keys", "worker", env=environment(POCL_DEVICES="pthread"))
        arguments = ["--workers", address, SUM_TRANSPOSED, "A=a.npy", "B=b.npy", "C=c.npy", "--keys"]
        done = self.eval(*arguments, "program")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.same("c.npy", self.a + self.b.T)
        self.assertEqual(run("workers", folder=self.folder, env=environment(
            DCL_WORKERS=address, DCL_KEYS="program")).returncode, 0)
        done = self.eval(*arguments, "stranger", env=environment(DCL_KEYS="program"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(address, done.stderr)

    def test_signals_end_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            worker, _ = self.start()
            worker.send_signal(number)
            self.assertEqual(worker.wait(30), 0, number)
            self.assertEqual(worker.stdout.read(), "")

    def test_signal_that_it_was_told_to_ignore(self):
        worker, _ = self.start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        worker.send_signal(signal.SIGHUP)
        with self.assertRaises(subprocess.TimeoutExpired):
            worker.wait(0.3)
        worker.terminate()
        self.assertEqual(worker.wait(30), 0)

    def test_log_that_nobody_reads_any_more(self):
        worker, _ = self.start()
        worker.stderr.close()
        worker.terminate()
        self.assertEqual(worker.wait(30), 0)


# ---- wrong inputs ---------------------------------------------------------------------------------------------------

COPY, FILES = "C(i) = A(i);", ["A=x.npy", "C=c.npy"]
MAP = ["map", "--grid", "6x6", "--nodes", "4"]
NOBODY = "tcp://127.0.0.1:1"
LISTEN = ["worker", "--listen", "tcp://127.0.0.1:0"]

WRONG = [
    # what, arguments, exit status, words of the message
    ("form of explaining", ["eval", "C(i) = 1;", "C=c.npy:10", "--explain=xml"], 2, ["--explain is 'xml'", "=json"]),
    ("no command", [], 2, ["no command"]),
    ("picture as input", ["eval", COPY, "A=x.png", "C=c.npy"], 1, ["reads A", "x.png is a picture", "expected a .npy file"]),
    ("picture read and written", ["eval", "C(i,j) = C(i,j) + 1;", "C=c.pgm:3x3"], 1, ["the body reads C"]),
    ("picture of one axis", ["eval", "C(i) = 1;", "C=c.pgm:10"], 1, ["rank 1; expected 2"]),
    ("grey of no picture", ["eval", COPY, *FILES, "--grey", "0:1"], 1, ["no array is saved as one"]),
    ("grey that is none", ["eval", COPY, *FILES, "--grey", "1:1"], 2, ["--grey is '1:1'", "BLACK:WHITE"]),
    ("grey without white", ["eval", COPY, *FILES, "--grey", "1"], 2, ["--grey is '1'"]),
    ("grey not finite", ["eval", COPY, *FILES, "--grey", "0:inf"], 2, ["--grey is '0:inf'"]),
    ("bits that are none", ["eval", COPY, *FILES, "--bits", "32"], 2, ["--bits is '32'; expected 8 or 16"]),
    ("picture of another format", ["eval", COPY, "A=x.npy", "C=c.jpg"], 2,
     ["the file of C is c.jpg; expected a .npy file, or for a picture .png or .pgm"]),
    ("unknown type of a picture", ["eval", COPY, "A=x.npy", "C=c.pgm:flaot"], 2, ["'flaot'", "float"]),
    ("progress that is none", ["eval", COPY, *FILES, "--progress=maybe"], 2, ["'maybe'", "auto, always or never"]),
    ("unknown command", ["evaluate"], 2, ["'evaluate'", "nearest is eval"]),
    ("unknown help", ["help", "mps"], 2, ["'mps'", "maps"]),
    ("unknown option", ["eval", COPY, *FILES, "--stat"], 2, ["--stat is not known", "--stats"]),
    ("unknown short option", ["eval", "-x", COPY, *FILES], 2, ["x is not known"]),
    ("option without value", ["eval", COPY, *FILES, "--map"], 2, ["--map has no value", "[NAME=]MAP"]),
    ("value where none belongs", ["eval", COPY, *FILES, "--stats=1"], 2, ["--stats", "'1'"]),
    ("no body", ["eval"], 2, ["no body"]),
    ("no array", ["eval", COPY], 2, ["no array"]),
    ("not a pair", ["eval", COPY, "A"], 2, ["'A'", "NAME=FILE"]),
    ("name twice", ["eval", COPY, "A=x.npy", "A=n.npy"], 2, ["A is given twice"]),
    ("value named as an array", ["eval", COPY, *FILES, "--set", "A=1"], 2, ["A is given twice"]),
    ("value that is none", ["eval", COPY, *FILES, "--set", "a=half"], 2, ["'half'", "0.5f"]),
    ("value too large", ["eval", COPY, *FILES, "--set", "a=99999999999999999999"], 2, ["99999999999999999999"]),
    ("float too large", ["eval", COPY, *FILES, "--set", "a=1e39f"], 2, ["1e39f", "float"]),
    ("map of no array", ["eval", COPY, *FILES, "--map", "Q=block"], 2, ["array Q"]),
    ("two maps of one array", ["eval", COPY, *FILES, "--map", "A=block", "--map=A=*"], 2, ["twice for A: block and *"]),
    ("two maps of all arrays", ["eval", COPY, *FILES, "--map", "*", "--map", "block"], 2, ["twice for all", "NAME=block"]),
    ("value not in the body", ["eval", "C(i) = 1.0b * A(i); /* b */", *FILES, "--set", "b=1"], 1, ["body has no b"]),
    ("repeat 0", ["eval", COPY, *FILES, "--repeat", "0"], 2, ["--repeat", "'0'"]),
    ("order", ["eval", COPY, *FILES, "--order", "X"], 2, ["--order", "'X'"]),
    ("bad shape", ["eval", COPY, "A=x.npy", "C=c.npy:3x"], 2, ["'3x'", "100x200"]),
    ("negative shape", ["eval", COPY, "A=x.npy", "C=c.npy:-3"], 2, ["'-3'"]),
    ("overflowing extent", ["eval", COPY, "A=x.npy", "C=c.npy:99999999999999999999"], 2, ["axis 0", "too long"]),
    ("too many axes", ["eval", COPY, "A=x.npy", "C=c.npy:1x1x1x1x1x1x1x1x1"], 2, ["not a shape", "1 to 8"]),
    ("unknown type", ["eval", COPY, "A=x.npy", "C=c.npy:100:flaot"], 2, ["'flaot'", "float"]),
    ("map without grid", ["map", "--nodes", "4"], 2, ["--grid"]),
    ("map without nodes", ["map", "--grid", "6x6"], 2, ["--nodes"]),
    ("map over 0 nodes", ["map", "--grid", "6x6", "--nodes", "0"], 2, ["--nodes", "'0'"]),
    ("owners of some elements", ["map", "--grid", "6x6", "--nodes", "4", "--owners=some"], 2,
     ["--owners is 'some'", "--owners=all"]),
    ("owners of more elements than anybody reads", ["map", "--grid", "1000000x1000000", "--nodes", "4", "--owners"], 1,
     ["1000000000000 elements", "at most 10000000", "a smaller grid", "--owners=all"]),
    ("map with bad grid", ["map", "--grid", "6by6", "--nodes", "4"], 2, ["'6by6'"]),
    ("map with a stray word", [*MAP, "block"], 2, ["'block'"]),
    ("map of the wrong rank", [*MAP, "--map", "block,block,block"], 1, ["rank 3", "rank 2"]),
    ("map that does not parse", [*MAP, "--map", "rows:cyclic(2y2)"], 1, ["column", "2y2"]),
    ("map with wrong count of sizes", [*MAP, "--map", "rows:cyclic(2x2x2)"], 1, ["rank"]),
    ("arrangement of other nodes", [*MAP, "--map", "block,block@3x2"], 1, ["6 nodes", "expected 4"]),
    ("blocks too small", [*MAP, "--map", "block(1),*"], 1, ["block(1)"]),
    ("nodes that are not there", [*MAP, "--map", "block;nodes=2-4"], 1, ["4", "expected"]),
    ("nodes named twice", [*MAP, "--map", "block;nodes=2,1-2"], 1, ["column", "not named before"]),
    ("overflowing grid", ["map", "--grid", "9000000000x9000000000", "--nodes", "4", "--map", "block"], 1,
     ["9000000000"]),
    ("missing file", ["eval", COPY, "A=missing.npy", "C=c.npy"], 1, ["missing.npy"]),
    ("truncated file", ["eval", COPY, "A=truncated.npy", "C=c.npy"], 1, ["truncated.npy"]),
    ("truncated header", ["eval", COPY, "A=stub.npy", "C=c.npy"], 1, ["stub.npy"]),
    ("not a .npy file", ["eval", COPY, "A=text.npy", "C=c.npy"], 1, ["text.npy"]),
    ("objects in the file", ["eval", COPY, "A=objects.npy", "C=c.npy"], 1, ["objects.npy"]),
    ("folder as a file", ["eval", COPY, "A=.", "C=c.npy"], 1, ["."]),
    ("open parenthesis", ["eval", "C(i) = (A(i);", *FILES], 1, ["line 1", "column"]),
    ("empty body", ["eval", "", *FILES], 1, ["body"]),
    ("array of another case", ["eval", "C(i) = a(i);", *FILES], 1, ["the body has a(...), not A(...)", "capital"]),
    ("type that is none", ["eval", COPY, "A=x.npy", "C=c.npy:flot"], 2, ["type 'flot' of C is not known", "float"]),
    ("array not in the body", ["eval", COPY, *FILES, "N=n.npy"], 1, ["N=n.npy", "N(...)"]),
    ("nothing assigned", ["eval", "A(i);", "A=x.npy"], 1, ["assigns"]),
    ("other shape than the file's", ["eval", COPY, "A=x.npy:99", "C=c.npy"], 1, ["99", "100"]),
    ("other type than the file's", ["eval", COPY, "A=x.npy:100:double", "C=c.npy"], 1, ["double", "float"]),
    ("other rank than the body's", ["eval", COPY, "A=x.npy", "C=c.npy:10x10"], 1, ["2 axes", "1"]),
    ("one axis too few", ["eval", "C(i,j) = A(i);", "A=x.npy", "C=c.npy:10"], 1, ["has 1 axis;"]),
    ("shape that cannot be known", ["eval", "C(i) = A(2*i);", *FILES], 1, ["C", "C=c.npy:SHAPE"]),
    ("extents that differ", ["eval", "C(i) = A(i) + B(i);", "A=x.npy", "B=n.npy", "C=c.npy"], 1, ["100", "40"]),
    ("scan of another index", ["eval", "--scan", "ij", COPY, *FILES], 2, ["--scan is 'ij'", "one of i j k"]),
    ("exclusive without scan", ["eval", "--exclusive", COPY, *FILES], 2, ["without --scan", "--scan i"]),
    ("scan to a value", ["eval", "--scan", "i", "s += A(i);", "A=x.npy"], 1, ["reduces to s, but --scan"]),
    ("keys without a shape", ["eval", "H(n(i)) += A(i);", "n=n.npy", "A=x.npy", "H=c.npy"], 1, ["H=c.npy:SHAPE"]),
    ("kept index without a range", ["eval", "C(k) += A(i);", *FILES], 1, ["index k", "C=c.npy:SHAPE"]),
    ("operator that is none", ["eval", "C(i) most= A(i);", *FILES], 1, ["operator or a semicolon is missing"]),
    ("no such folder", ["eval", COPY, "A=x.npy", "C=no/c.npy"], 1, ["no/"]),
    ("output is a folder", ["eval", COPY, "A=x.npy", "C=."], 1, ["C=."]),
    ("workers without value", ["eval", COPY, *FILES, "--workers"], 2, ["--workers has no value"]),
    ("no local worker", ["eval", COPY, *FILES, "--workers", "local:0"], 1, ["local:0", "local:N"]),
    ("local workers without number", ["eval", COPY, *FILES, "--workers", "local:x"], 1, ["local:x", "local:N"]),
    ("no file of workers", ["eval", COPY, *FILES, "--workers", "nosuchfile"], 1, ["nosuchfile", "no file"]),
    ("address without a host", ["eval", COPY, *FILES, "--workers", "tcp://"], 1, ["tcp://", "no host"]),
    ("worker without its token", ["eval", COPY, *FILES, "--workers", NOBODY], 1,
     ["no token", NOBODY]),
    ("no keys of this program", ["eval", COPY, *FILES, "--workers", NOBODY, "--keys", "nosuch"], 1,
     ["nosuch", "cannot be opened"]),
    ("worker without an address", ["worker"], 2, ["--listen", "tcp://127.0.0.1:7700"]),
    ("worker with a stray word", ["worker", "tcp://127.0.0.1:0"], 2, ["'tcp://127.0.0.1:0'", "--listen"]),
    ("worker with an unknown option", [*LISTEN, "--port", "7701-7702"], 2, ["--port is not known", "--ports"]),
    ("worker without a value", ["worker", "--listen"], 2, ["--listen has no value", "ADDRESS"]),
    ("one port", [*LISTEN, "--ports", "7701"], 2, ["'7701'", "A-B", "7701-7716"]),
    ("ports without an end", [*LISTEN, "--ports", "7701-"], 2, ["'7701-'", "A-B"]),
    ("ports without a beginning", [*LISTEN, "--ports", "-7701"], 2, ["'-7701'", "A-B"]),
    ("port 0", [*LISTEN, "--ports", "0-5"], 2, ["'0-5'", "from 1"]),
    ("port too large", [*LISTEN, "--ports", "7701-65536"], 2, ["'7701-65536'", "65535"]),
    ("ports with text behind", [*LISTEN, "--ports", "7701-7702x"], 2, ["'7701-7702x'"]),
    ("ports that overflow", [*LISTEN, "--ports", "1-99999999999999999999"], 2, ["99999999999999999999"]),
    ("ports reversed", [*LISTEN, "--ports", "7716-7701"], 2, ["before it begins", "7701-7716"]),
    ("quota of an unknown unit", [*LISTEN, "--quota", "4X"], 2, ["--quota", "'4X'", "4G"]),
    ("quota with two units", [*LISTEN, "--quota", "4GB"], 2, ["'4GB'"]),
    ("negative quota", [*LISTEN, "--quota", "-1"], 2, ["'-1'"]),
    ("quota too large", [*LISTEN, "--quota", "99999999T"], 2, ["'99999999T'"]),
    ("no sessions", [*LISTEN, "--sessions", "0"], 2, ["--sessions", "'0'"]),
    ("sessions that are no number", [*LISTEN, "--sessions=many"], 2, ["--sessions", "'many'"]),
    ("no thread", [*LISTEN, "--io-threads", "0"], 2, ["--io-threads", "'0'"]),
    ("too many threads", [*LISTEN, "--io-threads", "65"], 2, ["--io-threads", "'65'", "64"]),
    ("unknown level", [*LISTEN, "--log", "inf"], 2, ["--log", "'inf'", "nearest is info"]),
    ("worker at no address", ["worker", "--listen", "7700"], 1, ["7700", "tcp://"]),
    ("worker without a port", ["worker", "--listen", "tcp://127.0.0.1"], 1, ["tcp://127.0.0.1", "port"]),
    ("worker for strangers", ["worker", "--listen", "tcp://0.0.0.0:0"], 1, ["0.0.0.0", "dcl keys"]),
    ("no folder of files", [*LISTEN, "--files", "nosuch"], 1, ["nosuch"]),
    ("files in a file", [*LISTEN, "--files", "x.npy"], 1, ["x.npy"]),
    ("no folder of keys", [*LISTEN, "--keys", "nosuch"], 1, ["nosuch", "cannot be opened"]),
    ("token in a folder of nothing", [*LISTEN, "--token", "no/such/token"], 1, ["no/such"]),
    ("workers in no file", ["workers", "--workers", "nosuchfile"], 1, ["nosuchfile"]),
    ("terms of nobody", ["worker", "--process", "hello"], 1, ["dcl worker --listen"]),
    ("nobody to ask", ["workers"], 2, ["no worker is named", "--workers", "DCL_WORKERS"]),
    ("waiting for no time", ["workers", "--workers", NOBODY, "--wait", "0"], 2, ["--wait", "'0'", "86400"]),
    ("workers as a stray word", ["workers", NOBODY], 2, [f"'{NOBODY}'", "--workers"]),
    ("workers of this program", ["workers", "--workers", "local:2"], 1, ["local:2"]),
    ("keys of nowhere", ["keys"], 2, ["no folder"]),
    ("keys without a name", ["keys", ""], 2, ["no folder"]),
    ("keys in two folders", ["keys", "a", "b"], 2, ["'b'", "expected one"]),
    ("keys with an option", ["keys", "--force", "a"], 2, ["--force is not known"]),
    ("keys in a file", ["keys", "x.npy"], 1, ["x.npy"]),
    ("keys in a folder of nothing", ["keys", "no/keys"], 1, ["no/keys"]),
    ("one file for two outputs", ["eval", "C(i) = A(i); D(i) = A(i);", "A=x.npy", "C=c.npy", "D=c.npy"], 1, ["c.npy"]),
]

# These need a device: what, arguments of eval, words of the message, environment.
WRONG_ON_DEVICE = [
    ("syntax error", ["C(i) = A(i) + ;", *FILES], ["line 1"], {}),
    ("unknown name", ["C(i) = A(i) + q;", *FILES], ["q", "line 1"], {}),
    ("unknown array", ["C(i) = A(i) + Q(i);", *FILES], ["Q", "line 1"], {}),
    ("unknown function on line 2", ["C(i) = A(i);\nC(i) = frobnicate(A(i));", *FILES], ["frobnicate", "line 2"], {}),
    ("product as subscript", ["C(i) = A(i*i);", "A=x.npy", "C=c.npy:10"], ["line 1", "column"], {}),
    ("element as subscript", ["C(i) = A(N(i));", "A=x.npy", "N=n.npy", "C=c.npy:40"], ["line 1", "column"], {}),
    ("wrong number of subscripts", ["C(i) = A(i,i);", "A=x.npy", "C=c.npy:10"], ["A"], {}),
    ("alias", ["Y(i) = Y(99 - i) + X(i);", "X=x.npy", "Y=y.npy"], ["Y"], {}),
    ("reserved name", ["C(i) = float(i);", "float=x.npy", "C=c.npy"], ["float"], {}),
    ("index as a name", ["C(i) = A(i) + i;", *FILES, "--set", "i=3"], ["i"], {}),
    ("index assigned", ["i = 3; C(i) = A(i);", *FILES], ["i", "line 1"], {}),
    ("output at a shifted index", ["C(i+1) = A(i);", "A=x.npy", "C=c.npy:100"], ["C", "line 1"], {}),
    ("read outside", ["C(i) = A(i + 1);", "A=x.npy", "C=c.npy:100"], ["A", "100"], {}),
    ("read below", ["C(i) = A(i - 1);", "A=x.npy", "C=c.npy:100"], ["A", "-1"], {}),
    ("map of the wrong rank", [COPY, *FILES, "--map", "block,block"], ["rank"], {}),
    ("map that does not parse", [COPY, *FILES, "--map", "C=blok"], ["blok", "column"], {}),
    ("arrangement of other nodes", [COPY, *FILES, "--map", "block@2"], ["2", "3"], {}),
    ("blocks too small", [COPY, *FILES, "--map", "block(9)"], ["block(9)", "100"], {}),
    ("overflowing output", ["C(i,j) = i;", "C=c.npy:9000000000x9000000000"], ["9000000000"], {}),
    ("unknown variable", [COPY, *FILES], ["DCL_TYLE_BYTES", "DCL_TILE_BYTES"], {"DCL_TYLE_BYTES": "1M"}),
    ("bad value of a variable", [COPY, *FILES], ["DCL_TRANSFER", "teleport"], {"DCL_TRANSFER": "teleport"}),
    ("bad map of the environment", [COPY, *FILES], ["blok"], {"DCL_MAP": "blok"}),
    ("no such device", [COPY, *FILES], ["99"], {"DCL_DEVICES": "99"}),
    ("no OpenCL device", [COPY, *FILES], ["OpenCL", 'OCL_ICD_VENDORS is "/nonexistent"'],
     {"OCL_ICD_VENDORS": "/nonexistent"}),
    ("no device of PoCL's", [COPY, *FILES], ['POCL_DEVICES is "none"'],
     {"POCL_DEVICES": "none", "OCL_ICD_VENDORS": "/nonexistent"}),
    ("no cache of PoCL's", [COPY, *FILES], ['POCL_CACHE_DIR is "/proc/none"'],
     {"POCL_CACHE_DIR": "/proc/none", "OCL_ICD_VENDORS": "/nonexistent"}),
    ("a value that is not given", ["C(i) = w * A(i);", "A=x.npy", "C=c.npy"], ["if w is a value, give it with --set w="], {}),
    ("a power", ["C(i) = A(i)**2;", "A=x.npy", "C=c.npy"], ["pow(x, y)"], {}),
    ("wrong body to explain", ["C(i) = A(i*i);", "A=x.npy", "C=c.npy:10", "--explain"], ["line 1", "column"], {}),
]


class Refusal(Folder):
    """A command that must be refused and leave nothing behind."""

    def setUp(self):
        super().setUp()
        self.put("y.npy", self.x)
        numpy.save(self.path("objects.npy"), numpy.array([None, "x"], dtype=object), allow_pickle=True)
        whole = open(self.path("x.npy"), "rb").read()
        for name, content in (("truncated.npy", whole[:-4]), ("stub.npy", whole[:20]), ("text.npy", b"1 2 3\n" * 50)):
            with open(self.path(name), "wb") as file:
                file.write(content)

    def contents(self):
        return {name: open(self.path(name), "rb").read() for name in os.listdir(self.folder)}

    def check(self, arguments, status, words, env=None):
        before = self.contents()
        done = run(*arguments, folder=self.folder, env=env)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^dcl: ")
        self.assertNotIn("generated.", done.stderr)  # what a compiler counts
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(self.contents(), before, "something was left behind")


class Wrong(Refusal):
    """Found without a device; the tests are made from WRONG below."""

    def test_variables_matter_to_a_worker(self):
        self.check(LISTEN, 1, ["DCL_TYLE_BYTES", "DCL_TILE_BYTES"], environment(DCL_TYLE_BYTES="1M"))

    def token_of_nobody(self):
        with open(self.path("token"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write("0" * 63 + "7\n")
        return environment(DCL_TOKEN=self.path("token"))

    def test_nobody_at_an_address(self):
        self.check(["eval", COPY, *FILES, "--workers", NOBODY], 1, [NOBODY, "refused"], self.token_of_nobody())

    def test_workers_that_are_not_there(self):
        arguments, env = ["workers", "--workers", NOBODY], self.token_of_nobody()
        done = run(*arguments, env=env)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, rf"(?m)^{NOBODY} +no answer\n    .*{NOBODY}.*refused")
        self.assertIn("dcl: 1 of 1 workers did not answer", done.stderr)
        row = json.loads(run(*arguments, "--json", env=env).stdout)["workers"][0]
        self.assertEqual((row["address"], row["answers"], row["status"]), (NOBODY, False, "DCL_ERR_NETWORK"))
        self.assertIn("refused", row["problem"])

    def test_no_worker_to_ask_in_the_environment(self):
        self.check(["workers"], 2, ["no worker is named"], environment(DCL_WORKERS=""))

    def test_workers_of_the_environment(self):
        self.check(["workers"], 1, ["local:3"], environment(DCL_WORKERS="local:3"))

    def test_remedy_is_of_the_shape_that_is_missing(self):
        self.assertNotIn(":SHAPE", self.eval("C(i) = A(i) + B(i);", "A=x.npy", "B=n.npy", "C=c.npy").stderr)
        self.assertIn("D=d.npy:SHAPE", self.eval("C(i) = A(i); D(j) = A(j);", "A=x.npy", "C=c.npy", "D=d.npy").stderr)


class WrongOnDevice(Refusal):
    def test_failure_of_memory_on_a_node_is_told(self):
        self.check(["eval", COPY, *FILES, "--map", "block"], 1, ["node 1"],
                   environment(DCL_FAULT="alloc node=1 count=2"))

    def test_no_device_to_list(self):
        self.check(["devices"], 1, ["no OpenCL device", "OCL_ICD_VENDORS is"], environment(OCL_ICD_VENDORS="/nonexistent"))


def wrong_test(arguments, status, words, variables):
    return lambda self: self.check(arguments, status, words, environment(**variables))


for n, (what, arguments, status, words) in enumerate(WRONG):
    setattr(Wrong, f"test_{n:02}_{what.replace(' ', '_')}", wrong_test(arguments, status, words, {}))
for n, (what, arguments, words, variables) in enumerate(WRONG_ON_DEVICE):
    setattr(WrongOnDevice, f"test_{n:02}_{what.replace(' ', '_')}", wrong_test(["eval", *arguments], 1, words, variables))


def suite():
    cases = [Map, Texts, Keys, Wrong]
    if has_device():
        cases += [Eval, Figures, Workers, Worker, WrongOnDevice]
    else:
        print("skipped: dcl eval, for there is no CPU among the OpenCL devices: " +
              (run("devices").stderr.strip() or "GPUs only; PoCL makes the processor one"))
    load = unittest.defaultTestLoader
    return unittest.TestSuite([load.loadTestsFromTestCase(case) for case in cases])


def main():
    global DCL
    if len(sys.argv) != 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("cli_test.py: expected the path of the dcl command as the only argument")
    DCL = os.path.abspath(sys.argv[1])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite())
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
