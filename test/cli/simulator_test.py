#!/usr/bin/python3
"""Tests of the simulator as a person meets it: simulator_test.py PATH_TO_DCL

The table, JSON and charts of dcl sim are taken apart; what is wrong on the command line is refused with a sentence."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

DCL = None  # set by main()
SVG = "{http://www.w3.org/2000/svg}"
PROGRAMS = ["add", "transpose", "stencil", "remap", "uneven"]


def run(*arguments):
    env = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
    return subprocess.run([DCL, "sim", *arguments], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120)


def runs(*arguments):
    done = run("--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"]


class Sim(unittest.TestCase):
    def test_json_has_every_run_in_order(self):
        found = runs("--program", ",".join(PROGRAMS), "--nodes", "2-10", "--size", "100K", "--steps", "2")
        self.assertEqual([(run["program"], run["nodes"]) for run in found],
                         [(program, nodes) for program in PROGRAMS for nodes in (2, 4, 8, 10)])
        for of in found:
            self.assertGreaterEqual(of["step_ns"], of["bound_ns"], of)
            self.assertGreaterEqual(of["elements"], 100000 * of["nodes"], of)

    def test_json_has_the_settings(self):
        done = run("--json", "--nodes", "4", "--size", "1K", "--program", "remap,uneven", "--map", "cyclic", "--slow", "3:2",
                   "--jitter", "50", "--tiles", "8", "--cost", "zipf")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual({name: found[name] for name in ("map", "to_map", "slow", "jitter_percent", "tiles", "cost")},
                         {"map": "cyclic", "to_map": None, "slow": [{"node": 3, "factor": 2}], "jitter_percent": 50,
                          "tiles": 8, "cost": "zipf"})

    def test_strong_scaling_has_one_size(self):
        found = runs("--scaling", "strong", "--nodes", "1,16", "--program", "add", "--size", "1M", "--element", "1us")
        self.assertEqual([of["elements"] for of in found], [1000000, 1000000])
        self.assertGreater(found[0]["step_ns"], 15 * found[1]["step_ns"])

    def test_options_change_what_they_say(self):
        def step(*arguments):
            return runs("--nodes", "9", "--size", "1M", "--program", "transpose", *arguments)[0]["step_ns"]

        usual = step()
        for more in (["--bandwidth", "1G"], ["--latency", "1ms"], ["--element", "10ns"], ["--slow", "8:20"],
                     ["--launch", "1ms"], ["--message", "100us"], ["--plan", "5ms"], ["--copy", "1G"],
                     ["--jitter", "50"], ["--map", "block,*"]):
            self.assertGreater(step(*more), usual, more)
        self.assertNotEqual(step("--jitter", "50"), step("--jitter", "50", "--seed", "2"))

    def test_thousand_nodes_plan_their_neighbours_only(self):
        of = runs("--nodes", "1024", "--size", "10K", "--steps", "1")[0]
        self.assertEqual(of["pairs_most"], 4)
        self.assertEqual(of["program_sent_messages"], 16)
        self.assertEqual(of["program_received_messages"], 16)

    def test_table_has_a_row_per_run(self):
        done = run("--nodes", "4,16", "--program", "add,uneven", "--slow", "3:2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("node 3 takes 2 times as long", done.stdout)
        rows = re.findall(r"^ +(\d+) .* %", done.stdout, re.M)
        self.assertEqual(rows, ["4", "16", "4", "16"])
        lengths = {len(line) for line in done.stdout.splitlines()[2:] if line}
        self.assertLessEqual(max(lengths), 120)

    def test_charts_are_svg(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "chart.svg")
            for chart in ("time", "speedup", "share", "messages", "bytes", "planning"):
                done = run("--nodes", "1,4,9", "--program", "add,stencil", "--size", "10K", "--chart", chart, "--svg",
                           str(path))
                self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
                root = xml.etree.ElementTree.parse(path).getroot()
                texts = [text.text for text in root.iter(SVG + "text")]
                for expected in ("add", "stencil", "nodes", "1", "4", "9"):
                    self.assertTrue(any(text.split(",")[0] == expected for text in texts), (chart, texts))
                height = float(root.get("height"))
                for text in root.iter(SVG + "text"):
                    self.assertTrue(0 < float(text.get("y")) < height, (chart, text.text))

    def test_policies_of_stealing_are_compared(self):
        slow = ["--nodes", "2,4", "--program", "uneven", "--cost", "even", "--element", "20ns", "--slow", "0:2", "--steal",
                "never,pays"]
        found = runs(*slow)
        self.assertEqual([(of["steal"], of["nodes"]) for of in found],
                         [("never", 2), ("never", 4), ("pays", 2), ("pays", 4)])
        self.assertEqual([of["lent"] for of in found[:2]], [0, 0])
        for never, pays in zip(found[:2], found[2:]):
            self.assertGreater(never["step_ns"], 1.3 * pays["step_ns"])
            self.assertEqual(pays["lent"], pays["won"] + pays["taken_back"])
        table = run(*slow).stdout
        self.assertEqual(len(re.findall(r"--steal pays: per step [\d.]+ questions, [\d.]+ batches lent", table)), 2)
        self.assertLessEqual(max(len(line) for line in table.splitlines()[2:]), 120)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "chart.svg")
            self.assertEqual(run(*slow, "--svg", str(path)).returncode, 0)
            texts = [text.text for text in xml.etree.ElementTree.parse(path).getroot().iter(SVG + "text")]
            for expected in ("uneven", "uneven, bound", "uneven, work at will", "uneven, stealing"):
                self.assertEqual(texts.count(expected), 1, texts)

    def test_speedup_is_of_elements_per_time(self):
        """Weak scaling of what only computes is ideal: its name stands beside that of the ideal."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "chart.svg")
            for first, label in (("1", "speed-up over one node"), ("4", "speed-up, if 4 nodes have 4")):
                done = run("--nodes", first + ",64", "--program", "add", "--element", "1us", "--chart", "speedup", "--svg",
                           str(path))
                self.assertEqual(done.returncode, 0, done.stderr)
                texts = {text.text: float(text.get("y"))
                         for text in xml.etree.ElementTree.parse(path).getroot().iter(SVG + "text")}
                self.assertIn(label, texts)
                self.assertLessEqual(abs(texts["add"] - texts["ideal"]), 20)

    def test_what_cannot_be_is_refused(self):
        rows = [
            (["--nodes", "3,2"], "--nodes has '2'; expected ascending numbers of nodes from 1 to 16384"),
            (["--nodes", "0"], "--nodes has '0'"),
            (["--nodes", "2-"], "--nodes has '2-'"),
            (["--nodes", "20000"], "--nodes has '20000'"),
            (["--nodes", ","], "--nodes has"),
            (["--program", "stensil"], "the nearest is stencil"),
            (["--program", "add,add"], "--program names add twice"),
            (["--steal", "sometimes"], "--steal is 'sometimes'; expected never, pays or always"),
            (["--steal", "pay"], "the nearest is pays"),
            (["--steal", "pays,pays"], "--steal names pays twice"),
            (["--steal", ","], "--steal is empty"),
            (["--size", "0"], "--size is '0'; expected elements from 1 to 1000T, such as 4M"),
            (["--bandwidth", "fast"], "--bandwidth is 'fast'; expected bytes per second"),
            (["--latency", "5"], "--latency is '5'; expected a time of at most 1000 s with its unit"),
            (["--element", "-1ns"], "--element is '-1ns'"),
            (["--slow", "1"], "--slow is '1'; expected NODE:FACTOR, such as 0:2"),
            (["--slow", "1:0"], "--slow is '1:0'"),
            (["--jitter", "x"], "--jitter is 'x'; expected percent"),
            (["--seed", "-1"], "--seed is '-1'"),
            (["--steps", "0"], "--steps is '0'; expected a whole number from 1 to 1000"),
            (["--to-map", "block"], "--to-map is given, but it is for the program remap only"),
            (["--program", "add,remap", "--tiles", "4"], "--tiles is given, but it is for the program uneven only"),
            (["--cost", "ramp"], "--cost is given, but it is for the program uneven only"),
            (["--chart", "time"], "--chart is given without --svg"),
            (["--svg", "x.svg", "--json"], "--svg and --json are given"),
            (["C(i)"], "'C(i)' is not an option"),
        ]
        for arguments, words in rows:
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr, arguments)
            self.assertIn("Read on: dcl help sim", done.stderr)
        for arguments, words in ((["--slow", "99:2"], "the slow node is 99; expected 0..3"),
                                 (["--size", "1000T"], "the number of elements is"),
                                 (["--program", "add", "--size", "1T", "--element", "1s"],
                                  "the simulated time exceeds 2.31e+09 s"),
                                 (["--map", "foo"], 'map "foo": column 1'),
                                 (["--nodes", "2", "--svg", "/nowhere/x.svg"], "/nowhere/x.svg cannot be written")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(words, done.stderr)

    def test_help(self):
        self.assertIn("--slow NODE:FACTOR", run("--help").stdout)


def main():
    global DCL
    DCL = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()


if __name__ == "__main__":
    main()
