#!/usr/bin/python3
"""Tests of traces as a person or another program meets them: trace_test.py PATH_TO_DCL PATH_TO_MANY_EVENTS

What eval --trace writes is loaded by Python's JSON parser and checked against the trace event format; dcl trace reads it,
draws it, and refuses what is no trace."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import numpy

DCL = MANY = None  # set by main()


def environment(**more):
    env = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
    return {**env, "POCL_DEVICES": "pthread pthread", "DCL_DEVICES": "cpu", **more}


def run(*arguments, folder=None, **more):
    return subprocess.run([DCL, *arguments], cwd=folder, env=environment(**more), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)


def load(path, kinds):
    """Check every event of a file, without keeping them; their number by kind is added to `kinds`."""
    ends = {}  # by thread

    def check(item):
        if "ph" not in item:
            return item
        assert isinstance(item["pid"], int) and isinstance(item["name"], str), item
        if item["ph"] == "M":
            assert item["name"] in ("process_name", "process_sort_index", "process_labels", "thread_name",
                                    "thread_sort_index"), item
            return None
        assert item["ph"] == "X" and isinstance(item["tid"], int) and isinstance(item["args"], dict), item
        assert item["ts"] >= 0 and item["dur"] >= 0 and item["args"]["clock"] in ("host", "device", "seen"), item
        # events of a thread lie one after the other, but for rounding
        assert item["ts"] >= ends.get(item["tid"], 0) - 1e-3, item
        ends[item["tid"]] = item["ts"] + item["dur"]
        kinds[item["cat"]] += 1
        return None

    with open(path, encoding="utf-8") as file:
        return json.load(file, object_hook=check)


class Trace(unittest.TestCase):
    def setUp(self):
        self.made = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.made.name)

    def tearDown(self):
        self.made.cleanup()

    def evaluate(self, *more, **variables):
        numpy.save(self.folder / "a.npy", numpy.arange(10000, dtype=numpy.float32).reshape(100, 100))
        done = run("eval", "--trace", "run.json", "--map", "block,*", "C(i,j) = A(i,j) + A(j,i);", "A=a.npy", "C=c.npy",
                   *more, folder=self.folder, **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.folder / "run.json"

    def test_of_an_evaluation(self):
        for workers in ([], ["--workers", "local:2"]):
            kinds = collections.Counter()
            trace = load(self.evaluate("--repeat", "3", *workers, DCL_TRANSFER="send"), kinds)
            self.assertEqual([peer["name"] for peer in trace["dcl_peers"]], ["node 0", "node 1", "the program"])
            self.assertEqual((kinds["kernels"], kinds["load"], kinds["sent"]), (6, 2, 0))
            self.assertEqual(kinds["pack"], kinds["wire"])
            self.assertGreaterEqual(kinds["wire"], 6)
            done = run("trace", "run.json", folder=self.folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("run.json: 2 nodes, ", done.stdout)
            for name in ("node 0", "node 1", "the program"):
                shares = re.search(rf"^{name} +" + 6 * r"([0-9.]+) % *", done.stdout, re.MULTILINE).groups()
                self.assertAlmostEqual(sum(map(float, shares)), 100, delta=0.3)
                self.assertRegex(done.stdout, rf"(?m)^{name} +\|[#s=p. ]{{64}}\|$")
            path = done.stdout[done.stdout.index("Critical path"):done.stdout.index("Timeline")]
            self.assertRegex(path, r"node [01], (compile|launch|kernels|load)")
            self.assertGreater(sum(map(float, re.findall(r"(?m)^ +([0-9.]+) %", path))), 90)

    def test_a_picture_is_drawn(self):
        self.evaluate()
        done = run("trace", "run.json", "--svg", "run.svg", folder=self.folder)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        root = xml.etree.ElementTree.parse(self.folder / "run.svg").getroot()
        texts = [node.text for node in root.iter() if node.tag.endswith("text")]
        for text in ("node 0", "node 1", "the program", "compute", "preparing", "critical path", "computing"):
            self.assertIn(text, texts)
        self.assertTrue(any(text.startswith("time, ") for text in texts))

    def test_a_picture_has_a_bounded_size(self):
        events = [event for n in range(20000) for event in [
            ("node 0", "launch", 10 * n, 10 * n + 4), ("node 0", "kernels", 10 * n + 4, 10 * n + 10)]]
        events += [("node 1", "kernels", n / 10, 200000, {"name": "one text for all"}) for n in range(10000)]
        self.trace_of(events, "--svg", "made.svg")
        self.assertLess((self.folder / "made.svg").stat().st_size, 300000)
        root = xml.etree.ElementTree.parse(self.folder / "made.svg").getroot()
        lines = [node.get("d") for node in root.iter() if node.get("stroke") == "#000000"]
        # below both rows that the path passes, one line all along, and the one of the legend
        self.assertEqual(len(lines), 3)
        self.assertEqual(sum(node.text == "one text for all" for node in root.iter()), 1)  # not one over the other

    def test_a_million_events(self):
        path = self.folder / "many.json"
        subprocess.run([MANY, path, "1333336"], check=True, timeout=120)
        kinds = collections.Counter()
        load(path, kinds)
        self.assertEqual(kinds, dict.fromkeys(("wire", "plan", "kernels"), 333334))  # all that was sent arrived
        done = run("trace", str(path))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("1000002 events", done.stdout)

    def test_what_is_no_trace_is_refused(self):
        head = '{"dcl_trace":1,"dcl_peers":[{"name":"node 0"},{"name":"the program"}],"traceEvents":['
        event = '{"ph":"X","pid":2,"ts":1,"dur":1,"cat":"plan","name":"plan","args":{}}'
        for text, words in [
                ("", "line 1, column 1: expected {\"dcl_trace\":1"),
                ("hello", "line 1, column 1: expected {\"dcl_trace\":1"),
                ('{"traceEvents":[]}', "line 1, column 1: expected {\"dcl_trace\":1"),
                ('{"dcl_trace":2}', "column 14: expected 1, the version"),
                ('{"dcl_trace":1}', "expected traceEvents"),
                ('{"dcl_trace":1,"dcl_peers":[]', "expected at least one peer"),
                ('{"dcl_trace":1,"traceEvents":[]}', "expected dcl_peers before the events"),
                (head, "expected an event: {"),
                (head + event, "expected a comma or ]"),
                (head + event + "]", "expected a comma or }"),
                (head + event + "]}x", "expected the end of the file"),
                (head + "\n" + event.replace("plan", "plot", 1) + "]}", "line 2, column 40: expected a kind of event"),
                (head + event.replace('"pid":2', '"pid":3') + "]}", "expected the number of a process"),
                (head + event.replace('"dur":1', '"dur":-1') + "]}", "expected an event with pid, cat, ts and dur"),
                (head + event.replace('"ts":1', '"ts":"1"') + "]}", "expected a number"),
                (head + event.replace('"ts":1', '"ts":1e999') + "]}", "expected a number"),
                (head + event.replace('"ts":1', '"ts":1.1e14') + "]}", "expected a ts and a dur of at most 3 years"),
                (head + event.replace('"dur":1', '"dur":1.1e14') + "]}", "expected a ts and a dur of at most 3 years"),
                (head.replace('{"name"', '{"clock_error_us":1e300,"name"', 1) + "]}", "expected at most 3 years"),
                (head + event.replace("{}", "[" * 99) + "]}", "expected the arguments of an event"),
                (head + event + '],"traceEvents":[' + ",".join([event] * 3000) + "]}", "expected one list of events"),
                ('{"dcl_trace":1,"x":' + "[" * 99, "fewer arrays within each other")]:
            (self.folder / "x.json").write_text(text)
            done = run("trace", "x.json", folder=self.folder)
            self.assertEqual((done.returncode, done.stdout), (1, ""), text)
            self.assertIn("dcl: x.json is no trace of DCL: ", done.stderr)
            self.assertIn(words, done.stderr)
        for arguments, status, words in [(["none.json"], 1, "none.json cannot be read"), ([], 2, "no file was given"),
                                         (["a", "b"], 2, "two files were given"), (["a", "--x"], 2, "--x")]:
            done = run("trace", *arguments, folder=self.folder)
            self.assertEqual(done.returncode, status)
            self.assertIn(words, done.stderr)

    def trace_of(self, events, *arguments, nodes=2, **peer):
        """Write a trace of events, each (process, kind, begin, end, more arguments), in us, and run dcl trace on it."""
        peers = [{"name": f"node {n}", **peer} for n in range(nodes)] + [{"name": "the program"}]
        number = {peer["name"]: 1 + (n + 1) % len(peers) for n, peer in enumerate(peers)}
        listed = []
        for process, kind, begin, end, *more in events:
            details = dict(more[0]) if more else {}
            if "peer" in details:
                details["peer"] = number[details["peer"]]
            listed.append({"args": details, "ph": "X", "pid": number[process], "ts": begin, "dur": end - begin,
                           "cat": kind, "name": details.pop("name", kind)})
        (self.folder / "made.json").write_text(json.dumps({"dcl_trace": 1, "dcl_peers": peers, "traceEvents": listed}))
        done = run("trace", "made.json", *arguments, folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_times_of_years_are_read(self):
        day = 24 * 3600 * 1e6
        shown = self.trace_of([("node 0", "plan", 0, 10 * day), ("node 0", "kernels", 900 * day, 1000 * day)])
        self.assertIn("made.json: 2 nodes, 86400000 s, 2 events", shown)
        self.assertRegex(shown, r"(?m)^node 0 +\|p {57}#{6}\|$")
        self.trace_of([("node 0", "plan", 1000 * day, 1000 * day)], "--svg", "made.svg")  # a moment far from time 0
        metadata = '{"ph":"M","pid":2,"ts":1e300,"dur":1e300,"name":"process_name","args":{"name":"x"}}'
        (self.folder / "x.json").write_text('{"dcl_trace":1,"dcl_peers":[{}],"traceEvents":['
                                            + metadata.replace('"pid":2', '"pid":1') + "]}")
        self.assertEqual(run("trace", "x.json", folder=self.folder).returncode, 0)

    def test_memory_is_bounded_by_the_file(self):
        def limited(*arguments):
            return subprocess.run(["sh", "-c", 'ulimit -v 1500000; exec "$0" "$@"', DCL, *arguments], cwd=self.folder,
                                  env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=120)

        if limited("help").returncode != 0:
            self.skipTest("the command does not run in 1.5 GB of addresses (address sanitizer)")
        (self.folder / "x.json").write_text(
            '{"dcl_trace":1,"dcl_peers":[' + ",".join(["{}"] * 65536) + '],"traceEvents":[' + ",".join(
                '{"ph":"X","pid":%d,"ts":1,"dur":9,"cat":"wait","name":"","args":{"peer":%d}}' % (n % 3 + 2, n % 5 + 1)
                for n in range(100)) + "]}")
        done = limited("trace", "x.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("65535 nodes, 9 us, 100 events", done.stdout)
        done = limited("trace", "x.json", "--svg", "x.svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_text_of_the_file_does_not_command_the_terminal(self):
        odd = "\x1b[2Ja\x9b2Jb\u202ec\x7fd\u200be\ufefff\U000e0041g\nh"
        text = json.dumps({"dcl_trace": 1, "dcl_peers": [{"name": "node 0 " + odd + 100 * "n", "missing": odd},
                                                         {"name": "the program"}],
                           "traceEvents": [{"ph": "X", "pid": 2, "ts": 0, "dur": 1, "cat": "kernels",
                                            "name": "\u00e4" + odd + "x" + 40 * "\u00e4"}]}, ensure_ascii=False)
        (self.folder / "x.json").write_bytes(text.encode().replace(b"\\nh", b"\xff\xc3h"))
        for arguments in [], ["--svg", "-"]:
            done = subprocess.run([DCL, "trace", "x.json", *arguments], cwd=self.folder, env=environment(),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            shown = done.stdout.decode()  # is UTF-8, also where names are cut
            self.assertEqual([c for c in shown if not c.isprintable() and c != "\n"], [])
            self.assertIn("?[2Ja?2Jb?c?d?e?f?g??h", shown)
            self.assertIn("node 0 ?[2Ja?2Jb?c?d?e?f?g??hnnn", shown)
            self.assertNotIn(10 * "n", shown)

    def test_for_whom_nodes_wait(self):
        waits = [("node 0", "wait", 0, 40, {"peer": "node 1"}), ("node 0", "wait", 40, 50, {"peer": "node 2"}),
                 ("node 0", "wait", 50, 55), ("node 0", "wait", 55, 75, {"peer": "node 2"}),
                 ("node 0", "wait", 75, 77, {"peer": "the program"}), ("node 1", "kernels", 0, 100)]
        shown = self.trace_of(waits, nodes=3)
        self.assertRegex(shown, r"(?m)^node 0 .* 77.0 %     23.0 %  node 1 40.0 %, node 2 30.0 %, elements 5.0 %$")

    def test_batches_of_other_nodes_are_shown_apart(self):
        by = {"peer": "node 1"}
        stolen = [("node 0", "kernels", 0, 30), ("node 0", "stolen", 30, 60, by), ("node 0", "stolen", 60, 80, by),
                  ("node 1", "kernels", 0, 100)]
        shown = self.trace_of(stolen)
        self.assertRegex(shown, r"(?m)^node 0 +30\.0 % +50\.0 % +0\.0 % +0\.0 % +0\.0 % +20\.0 %")
        self.assertIn("\nnode 0 ran 2 loans of node 1, 50 us\n", shown)
        self.assertRegex(shown, r"(?m)^node 0 +\|#{19}s{32} {13}\|$")
        self.trace_of(stolen, "--svg", "made.svg")
        self.assertIn('fill="#7a4fb5"', (self.folder / "made.svg").read_text().partition("moving in")[0])

    def test_dropped_time_is_not_idle(self):
        shown = self.trace_of([("node 0", "kernels", 75, 100), ("the program", "wait", 0, 100)], dropped=3)
        self.assertRegex(shown, r"(?m)^node 0 +25\.0 % +0\.0 % +0\.0 % +0\.0 % +0\.0 % +0\.0 %  75\.0 % dropped$")
        self.assertRegex(shown, r"(?m)^node 0 +\|\?{48}#{16}\|$")
        self.assertRegex(shown, r"(?m)^node 1 .* 100\.0 % dropped$")
        events = [("node 0", "kernels", 0, 100), ("node 0", "kernels", 200, 210), ("node 0", "kernels", 300, 400),
                  ("node 1", "kernels", 0, 400)]
        for arguments in [], ["--from", "120us"], ["--from", "220us", "--to", "290us"]:
            self.assertRegex(self.trace_of(events, *arguments, dropped=3), r"(?m)^node 0 [^d]* %  $")

    def test_arguments_may_come_first(self):
        shown = self.trace_of([("node 1", "kernels", 0, 12), ("node 0", "wire", 12, 20, {"peer": "node 1"}),
                               ("node 0", "kernels", 20, 50)])
        self.assertRegex(shown, r"node 0, wire from node 1\n")

    def test_the_critical_path(self):
        first = {"operation": 1, "batch": 0}
        chunk = [{"operation": 1, "chunk": 3, "peer": f"node {n}", "written": True} for n in range(2)]
        other, lent = {**chunk[0], "chunk": 4}, {"operation": 1, "batch": 3, "chunk": 0, "written": False}
        to, by, program = {"peer": "node 0"}, {"peer": "node 1"}, "the program"
        exchange = [("node 1", "kernels", 0, 40), ("node 1", "pack", 50, 60, chunk[0]),
                    ("node 0", "wire", 60, 70, chunk[1]), ("node 0", "kernels", 70, 300), ("node 0", "wait", 0, 70, by),
                    (program, "wait", 0, 300, to)]
        exchanged = ["230 us node 0, kernels", "40 us node 1, kernels", "10 us node 0, wire from node 1",
                     "10 us node 1, nothing recorded", "10 us node 1, pack"]
        for what, events, expected in [
                ("own work; a launch is still going on when its kernels begin",
                 [("node 0", "plan", 0, 10), ("node 0", "launch", 10, 30, first), ("node 0", "kernels", 25, 100, first)],
                 ["75 us node 0, kernels", "15 us node 0, launch", "10 us node 0, plan"]),
                ("a message",
                 [("node 0", "kernels", 0, 5), ("node 1", "kernels", 0, 10), ("node 1", "pack", 10, 12, to),
                  ("node 0", "wire", 12, 20, by), ("node 0", "kernels", 20, 50), (program, "wait", 0, 50, to)],
                 ["30 us node 0, kernels", "10 us node 1, kernels", "2 us node 1, pack", "8 us node 0, wire from node 1"]),
                ("a wait",
                 [("node 1", "kernels", 0, 60), ("node 0", "kernels", 0, 20), ("node 0", "wait", 20, 62, by),
                  ("node 0", "kernels", 65, 100)],
                 ["60 us node 1, kernels", "35 us node 0, kernels", "3 us node 0, nothing recorded",
                  "2 us the program, nothing recorded"]),
                ("a wait of the program",
                 [("node 1", "kernels", 0, 48), (program, "wait", 0, 50, by), ("node 0", "kernels", 55, 100)],
                 ["48 us node 1, kernels", "45 us node 0, kernels", "5 us the program, nothing recorded",
                  "2 us node 1, nothing recorded"]),
                ("a kernel that runs while a chunk is packed and sent",
                 exchange + [("node 1", "kernels", 45, 195)], exchanged),
                ("a kernel that runs from the begin",
                 exchange + [("node 1", "kernels", 0, 195)], exchanged),
                ("work that ends after the chunk was packed",
                 exchange + [("node 1", "pack", 55, 60, other), ("node 1", "commit", 52, 59.5)], exchanged),
                ("the receiver plans while the chunk arrives",
                 [("node 0", "kernels", 0, 5), ("node 1", "kernels", 0, 90), ("node 0", "wire", 90, 98, by),
                  ("node 0", "wait", 5, 97, by), ("node 0", "plan", 97, 98.5), ("node 0", "kernels", 98.5, 100)],
                 ["90 us node 1, kernels", "7 us node 0, wire from node 1", "1.5 us node 0, kernels",
                  "1.5 us node 0, plan"]),
                ("a chunk of one loan, when another loan of the batch was packed before",
                 [("node 1", "pack", 0, 5, {**lent, "loan": 2, "peer": "node 0"}), ("node 1", "kernels", 5, 30),
                  ("node 1", "pack", 8, 10, {**lent, "loan": 1, "peer": "node 0"}),
                  ("node 0", "wire", 20, 40, {**lent, "loan": 1, "peer": "node 1"}), ("node 0", "stolen", 40, 90)],
                 ["50 us node 0, stolen", "20 us node 0, wire from node 1", "10 us node 1, nothing recorded",
                  "7 us node 1, pack, 2 times, at most 5 us", "3 us the program, nothing recorded"]),
                ("a node without work takes a batch from one that has compiled",
                 [("node 0", "kernels", 0, 10), ("node 1", "compile", 0, 1000), ("node 1", "kernels", 1000, 1200),
                  ("node 0", "plan", 1005, 1007, by), ("node 0", "launch", 1008, 1009, {**first, "batch": 2}),
                  ("node 0", "stolen", 1010, 1215, {**first, "batch": 2, **by})],
                 ["205 us node 0, stolen", "1 ms node 1, compile", "1 us node 0, launch", "2 us node 0, plan",
                  "2 us the program, nothing recorded, 2 times, at most 1 us", "5 us node 1, kernels"]),
                ("a batch of another node that waited for own work",
                 [("node 0", "kernels", 0, 300), ("node 0", "launch", 50, 60, {**first, "batch": 2}),
                  ("node 1", "kernels", 0, 800), ("node 0", "stolen", 500, 900, {**first, "batch": 2, **by})],
                 ["400 us node 0, stolen", "300 us node 0, kernels", "200 us the program, nothing recorded"]),
                ("nothing but work that goes on",
                 [("node 1", "kernels", 0, 90), ("node 0", "wait", 0, 60, by), ("node 0", "kernels", 60, 100)],
                 ["60 us node 1, kernels", "40 us node 0, kernels"]),
                ("equal times, and events without a duration",
                 [("node 0", "kernels", 0, 50), ("node 0", "pass", 40, 50), ("node 0", "plan", 50, 50),
                  ("node 0", "kernels", 50, 100)],
                 ["100 us node 0, kernels, 2 times, at most 50 us"]),
                ("two nodes that wait for each other",
                 [("node 0", "kernels", 0, 10), ("node 0", "wait", 10, 50, by), ("node 0", "kernels", 50, 100),
                  ("node 1", "kernels", 0, 20), ("node 1", "wait", 20, 50, to)],
                 ["50 us node 0, kernels", "30 us node 1, nothing recorded", "20 us node 1, kernels"])]:
            with self.subTest(what):
                self.assertEqual(self.path_of(events), sorted(expected))
        # by another clock, work may seem to end after what depended on it
        events = [("node 1", "kernels", 0, 10), ("node 1", "kernels", 10, 63), ("node 0", "wait", 0, 60, by),
                  ("node 0", "kernels", 60, 100)]
        self.assertEqual(self.path_of(events, clock_error_us=5),
                         ["40 us node 0, kernels", "60 us node 1, kernels, 2 times, at most 50 us"])

    def path_of(self, events, **peer):
        shown = self.trace_of(events, **peer)
        path = shown[shown.index("Critical path"):shown.index("Timeline")]
        return sorted(f"{time} {what}" for time, what in re.findall(r"(?m)^ +[0-9.]+ %  +(\S+ \S+)  ([^:\n]+)", path))

    def test_an_empty_trace_and_other_writers_of_json_are_read(self):
        path = self.evaluate()
        trace = json.loads(path.read_text())
        path.write_text(json.dumps(trace, indent=1))
        done = run("trace", "run.json", "--svg", "-", folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        trace["traceEvents"] = []
        path.write_text(json.dumps(trace))
        done = run("trace", "run.json", folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("0 events", done.stdout)
        self.assertEqual(run("trace", "run.json", "--svg", "run.svg", folder=self.folder).returncode, 0)

    def test_a_part_of_the_time(self):
        events = [("node 0", "kernels", 0, 100), ("node 0", "kernels", 100, 300), ("node 1", "plan", 150, 150),
                  ("node 1", "wait", 200, 400, {"peer": "node 0"}), ("node 1", "kernels", 400, 500)]
        shown = self.trace_of(events, "--from", "0.15ms", "--to", "350us")
        self.assertIn("made.json: 2 nodes, 200 us, 3 events", shown)
        self.assertRegex(shown, r"(?m)^node 0 +75\.0 % +0\.0 % +0\.0 % +0\.0 % +0\.0 % +25\.0 %")
        self.assertRegex(shown, r"(?m)^node 1 +0\.0 % +0\.0 % +0\.0 % +0\.0 % +75\.0 % +25\.0 %  node 0 75\.0 %")
        self.assertRegex(shown, r"(?m)^ +150 us +350 us$")
        self.assertIn("2 nodes, 100 us, 1 event", self.trace_of(events, "--from=400us"))
        self.trace_of(events, "--from", "0.15ms", "--to", "350us", "--svg", "made.svg")
        texts = [node.text for node in xml.etree.ElementTree.parse(self.folder / "made.svg").getroot().iter()]
        self.assertIn("time, us", texts)
        self.assertTrue({"200", "300"} <= set(texts) and "400" not in texts)
        before = (self.folder / "made.json").read_bytes()
        os.link(self.folder / "made.json", self.folder / "linked")
        for arguments, status, words in [
                (["--from", "1s"], 1, "nothing lies between 1 s and its end; expected a part of its time, 0 ns to 500 us"),
                (["--from", "2us", "--to=1us"], 2, "--from is 2 us and --to is 1 us; expected --from before --to"), (["--from", "3"], 2, "'3'; expected a time"),
                (["--to", "nan s"], 2, "'nan s'"), (["--to", "-1s"], 2, "'-1s'"),
                (["--svg", "linked"], 1, "--svg is linked, which is the trace itself")]:
            done = run("trace", "made.json", *arguments, folder=self.folder)
            self.assertEqual((done.returncode, done.stdout), (status, ""))
            self.assertIn(words, done.stderr)
        self.assertEqual((self.folder / "made.json").read_bytes(), before)

    def test_a_file_that_is_no_trace_is_kept(self):
        numpy.save(self.folder / "a.npy", numpy.zeros(10))
        before = (self.folder / "a.npy").read_bytes()
        done = run("eval", "--trace", "a.npy", "C(i) = A(i);", "A=a.npy", "C=c.npy", folder=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("which exists and is no trace", done.stderr)
        self.assertEqual((self.folder / "a.npy").read_bytes(), before)
        self.assertFalse((self.folder / "c.npy").exists())


def main():
    global DCL, MANY
    DCL, MANY = (os.path.abspath(path) for path in sys.argv[1:3])
    result = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
