#!/usr/bin/python3
"""Tests of `dcl loops`: loops_test.py PATH_TO_DCL REGIONS PORTED

REGIONS is the folder with regions_plain and regions_dcl, one program compiled as it is and as the command has written it;
PORTED is the folder of the ported example, likewise. Wrong programs are rows: what is wrong, the program, line and column,
the code, words of the message.
Ends with a line "N passed, M failed" and status 1 when something failed."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

DCL, REGIONS, PORTED = None, None, None


def environment(**more):
    env = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
    env["POCL_DEVICES"] = "pthread pthread"
    env["DCL_DEVICES"] = "cpu"
    env.update(more)
    return env


def run(*command, env=None, folder=None):
    return subprocess.run(command, cwd=folder, env=env or environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)


BEGIN = "#pragma dcl loops in(double x[n]) inout(double y[n])\n"
LOOP = "for (int i = 0; i < n; i++) y[i] += x[i];\n"


def inside(text):
    return "void f(int n, double *x, double *y)\n{\n" + text + "}\n"


WRONG = [
    # what, program, line:column, code, words
    ("no region", "int main(void) { return 0; }\n", None, None, "has no region"),
    ("no end", inside(BEGIN + LOOP), "3:1", "no-end", "this region has no end"),
    ("no begin", inside(LOOP + "#pragma dcl end\n"), "4:1", "no-begin", "no region begins before this end"),
    ("a region in a region", inside(BEGIN + BEGIN + LOOP + "#pragma dcl end\n"), "4:1", "nested",
     "inside of the one of line 3"),
    ("another pragma", inside("#pragma dcl loop in(double x[n])\n"), "3:1", "pragma", "this is no pragma of DCL"),
    ("an unknown clause", inside("#pragma dcl loops inn(double x[n])\n#pragma dcl end\n"), "3:19", "clause",
     "inn is no clause; the nearest is in"),
    ("a clause without parentheses", inside("#pragma dcl loops in double x[n]\n#pragma dcl end\n"), "3:22", "pragma",
     "found double; expected ( after the name of a clause"),
    ("an unknown type", inside("#pragma dcl loops in(real x[n])\n#pragma dcl end\n"), "3:22", "pragma",
     "expected a type"),
    ("no size", inside("#pragma dcl loops in(double x)\n#pragma dcl end\n"), "3:30", "pragma",
     "found ); expected [ and the size of an axis; scalars are in the clause value"),
    ("an empty size", inside("#pragma dcl loops in(double x[])\n#pragma dcl end\n"), "3:31", "pragma",
     "expected a size"),
    ("a size of 0", inside("#pragma dcl loops out(double y[4 - 4])\n y[0] = 1;\n#pragma dcl end\n"), "3:32", "size",
     "this size is 0; expected 1 or more"),
    ("a size that is called", inside("#pragma dcl loops out(double y[f(n)])\n y[0] = 1;\n#pragma dcl end\n"), "3:32",
     "size", "no integer expression"),
    ("an array as scalar", inside("#pragma dcl loops value(double x[n])\n#pragma dcl end\n"), "3:33", "pragma",
     "found [; expected a scalar"),
    ("a clause that does not end", inside("#pragma dcl loops in(double x[n]\n#pragma dcl end\n"), "3:33", "pragma",
     "the pragma ends here; expected , or ) in a clause"),
    ("a name twice", inside("#pragma dcl loops in(double x[n]) out(double x[n])\n#pragma dcl end\n"), "3:46", "twice",
     "x is in two clauses"),
    ("a const output", inside("#pragma dcl loops out(const double x[n])\n#pragma dcl end\n"), "3:36", "pragma",
     "x is const and is written"),
    ("no array", inside("#pragma dcl loops value(double s)\n#pragma dcl end\n"), "3:1", "pragma", "names no array"),
    ("a counter of two declarations", inside("int i;\n" + BEGIN + "for (i = 0; i < n; i++) y[i] = 1;\n"
     "{ int i;\nfor (i = 0; i < n; i++) y[i] += 1; }\n#pragma dcl end\n"), "7:6", "twice",
     "i is a counter that the region declares, and also one that is declared outside"),
    ("too many names", inside(BEGIN + "".join(f"{{ double a{k};\n a{k} = {k}; y[{k}] = a{k}; }}\n" for k in range(65)) +
     "#pragma dcl end\n"), "132:3", "too-large", "the region declares more than 64 names"),
    ("too many counters", inside(BEGIN + "".join(f"for (i{k} = 0; i{k} < n; i{k}++) y[i{k}] = {k};\n" for k in range(65)) +
     "#pragma dcl end\n"), "68:6", "too-large", "the region has more than 64 counters"),
    ("a name without a clause", inside(BEGIN + "for (int i = 0; i < n; i++) y[i] = beta * x[i];\n#pragma dcl end\n"),
     "4:36", "unknown-name", "beta is in no clause of the region"),
    ("a macro of text", "#define TWICE y[i] +\n" + inside(BEGIN + "for (int i = 0; i < n; i++) y[i] = TWICE 1;\n"
     "#pragma dcl end\n"), "5:36", "macro", "TWICE is a macro that stands for no number"),
    ("a macro with arguments", "#define SQUARE(x) ((x) * (x))\n" + inside(BEGIN + "for (int i = 0; i < n; i++) "
     "y[i] = SQUARE(x[i]);\n#pragma dcl end\n"), "5:36", "macro", "SQUARE is a macro"),
    ("a return", inside(BEGIN + "for (int i = 0; i < n; i++) { y[i] = x[i]; return; }\n#pragma dcl end\n"), "4:44",
     "jump", "return leaves a loop of the region, or the region"),
    ("a goto", inside(BEGIN + LOOP + "goto out;\n#pragma dcl end\nout:;\n"), "5:1", "jump", "goto leaves"),
    ("half of a block", inside("if (n > 3) {\n" + BEGIN + LOOP + "}\n#pragma dcl end\n"), "6:1", "place",
     "this brace is opened before the region"),
    ("a block that is not closed", inside(BEGIN + "for (int i = 0; i < n; i++) { y[i] = 1;\n#pragma dcl end\n}\n"),
     "5:1", "place", "is not closed before its end"),
    ("no function", BEGIN + LOOP + "#pragma dcl end\n", "1:1", "place", "the region is in no function"),
    ("behind an if", inside("if (n > 3)\n" + BEGIN + LOOP + "#pragma dcl end\n"), "4:1", "place",
     "does not begin between two statements"),
    ("a wrong nest", inside(BEGIN + "for (int i = 0; i < n; i++)\n\twhile (1) y[i] = 1;\n#pragma dcl end\n"), "5:2",
     "while", "how often this loop runs is not known"),
    ("a directive", inside(BEGIN + "#if 1\n" + LOOP + "#endif\n#pragma dcl end\n"), "4:1", "directive",
     "no preprocessor directives"),
    ("out of bounds", inside("#pragma dcl loops out(double y[10])\nfor (int i = 0; i <= 10; i++) y[i] = 1;\n"
     "#pragma dcl end\n"), "4:31", "out-of-bounds", "subscript 1 of y is 10, outside of 0..9"),
    ("a recurrence", inside("#pragma dcl loops \\\n inout(double y[20000])\nfor (int i = 1; i < 20000; i++) y[i] += y[i-1];\n"
     "#pragma dcl end\n"), "5:41", "carried", "written at i = 1 (line 5), read at i = 2 (line 5)"),
]


class Wrong(unittest.TestCase):
    def test_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            for what, text, place, code, words in WRONG:
                with self.subTest(what):
                    pathlib.Path(folder, "a.c").write_text(text)
                    done = run(DCL, "loops", "a.c", "-o", "b.c", folder=folder)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertEqual(done.stdout, "")
                    self.assertIn(words, done.stderr)
                    self.assertFalse(os.path.exists(os.path.join(folder, "b.c")))
                    if place is None:
                        continue
                    first = done.stderr.splitlines()[0]
                    self.assertTrue(first.startswith(f"a.c:{place}: error: "), done.stderr)
                    self.assertTrue(first.endswith(f" [{code}]"), done.stderr)
                    line, column = map(int, place.split(":"))
                    shown = text.splitlines()[line - 1]
                    blank = "".join("\t" if c == "\t" else " " for c in shown.ljust(column)[:column - 1])
                    self.assertIn(f"    {shown}\n    {blank}^\n", done.stderr)

    def test_all_errors_of_a_program_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            text = inside(BEGIN + "for (int i = 0; i < n; i++) { y[i] = alpha; y[i] = beta; }\n#pragma dcl end\n" +
                          "#pragma dcl loops put(double x[n])\n#pragma dcl end\n" +
                          BEGIN + "for (int i = 0; i < n; i++) { y[i*i] = 1; break; y[i] = 2; }\n#pragma dcl end\n" +
                          BEGIN + "for (int i = 0; i < n; i++) { y[i*i] = 1; while (1) ; }\n#pragma dcl end\n")
            pathlib.Path(folder, "a.c").write_text(text)
            done = run(DCL, "loops", "a.c", "--report", folder=folder)
            places = [line.split(": error")[0] for line in done.stderr.splitlines() if ": error: " in line]
            self.assertEqual(places, ["a.c:4:38", "a.c:4:52", "a.c:6:19", "a.c:9:43", "a.c:12:34", "a.c:12:43"])

    def test_command_lines(self):
        for arguments, words in [([], "no file was given"), (["a.c"], "expected one of --report, --scheme LANGUAGE and -o"),
                                 (["a.c", "--report", "-o", "b.c"], "expected one of --report, --scheme LANGUAGE and -o"),
                                 (["a.c", "-o", "a.c"], "-o is the program itself"),
                                 (["a.c", "b.c", "--report"], "expected one file"),
                                 (["a.c", "-o", "b.c", "--nodes", "2"], "--nodes was given without --report"),
                                 (["a.c", "--report", "--set", "n"], "expected NAME=VALUE"),
                                 (["a.c", "--report", "--set", "n=1.5"], "expected NAME=VALUE"),
                                 (["a.c", "--report", "--set", "n=99999999999999999999"], "a whole number of 64 bits")]:
            with self.subTest(arguments):
                done = run(DCL, "loops", *arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn(words, done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            known = "#define N 9\nvoid f(double *y) {\n#pragma dcl loops out(double y[N])\nfor (int i = 0; i < N; i++) y[i] = i;\n#pragma dcl end\n}\n"
            pathlib.Path(folder, "a.c").write_text(inside(BEGIN + "for (int i = 0; i < n; i++) y[i] = 1;\n#pragma dcl end\n"))
            pathlib.Path(folder, "b.c").write_text(known)
            for arguments, words in [(["a.c", "--report", "--set", "N=9"], "--set is 'N=9', but the regions of a.c have no such size"),
                                     (["a.c", "-o", "c.c", "--set", "n=9", "--set", "i=2"], "expected one of: n"),
                                     (["b.c", "--report", "--set", "N=9"], "all sizes and values of the regions of b.c are known")]:
                with self.subTest(arguments):
                    done = run(DCL, "loops", *arguments, folder=folder)
                    self.assertEqual(done.returncode, 1)
                    self.assertIn(words, done.stderr)
            self.assertFalse(pathlib.Path(folder, "c.c").exists())
            self.assertEqual(run(DCL, "loops", "a.c", "--report", "--set", "n=9", folder=folder).returncode, 0)
        done = run(DCL, "loops", "/none/a.c", "--report")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/none/a.c cannot be read", done.stderr)


class Output(unittest.TestCase):
    def test_the_program_itself_is_not_overwritten(self):
        with tempfile.TemporaryDirectory() as folder:
            text, program = inside(BEGIN + LOOP + "#pragma dcl end\n"), pathlib.Path(folder, "a.c")
            program.write_text(text)
            os.symlink("a.c", os.path.join(folder, "soft.c"))
            os.link(program, os.path.join(folder, "hard.c"))
            for name in ["a.c", "./a.c", str(program), "soft.c", "hard.c"]:
                with self.subTest(name):
                    done = run(DCL, "loops", "a.c", "-o", name, folder=folder)
                    self.assertEqual(done.returncode, 2)
                    self.assertIn("-o is the program itself", done.stderr)
                    self.assertEqual(program.read_text(), text)

    def test_a_file_that_is_there_is_exchanged_as_a_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a.c").write_text(inside(BEGIN + LOOP + "#pragma dcl end\n"))
            pathlib.Path(folder, "b.c").write_text("before")
            os.chmod(os.path.join(folder, "b.c"), 0o640)
            os.symlink("b.c", os.path.join(folder, "link.c"))
            done = run(DCL, "loops", "a.c", "-o", "link.c", folder=folder)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertIn("Written by `dcl loops`", pathlib.Path(folder, "b.c").read_text())
            self.assertEqual(os.stat(os.path.join(folder, "b.c")).st_mode & 0o777, 0o640)
            self.assertEqual(sorted(os.listdir(folder)), ["a.c", "b.c", "link.c"])
            done = run(DCL, "loops", "a.c", "-o", "/dev/stdout", folder=folder)
            self.assertEqual(done.stdout, pathlib.Path(folder, "b.c").read_text())
            done = run(DCL, "loops", "a.c", "-o", "none/b.c", folder=folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("none/b.c cannot be written: No such file", done.stderr)
            done = run(DCL, "loops", "a.c", "-o", "/dev/full", folder=folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("/dev/full cannot be written: No space", done.stderr)

    def test_directives_end_where_they_do_in_c(self):
        text = ("#define GLOB \"src/*.c\"\n#define ESCAPED \"\\\"/*\"\n#define QUOTE '\"'\n#define N 4 // of src/*.c\n"
                "#if 0\n#error don't use \"/* this\ndon't\n#endif\n#define LONG 1 /* over\nlines */ + \\\n 3 // or \\\n /* so\n")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a.c").write_text(text + inside(
                "#pragma dcl loops out(double y[N])\nfor (int i = 0; i < LONG; i++) y[i] = N;\n#pragma dcl end\n"))
            done = run(DCL, "loops", "a.c", "--report", folder=folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("a.c:15: region of lines 15 to 17", done.stdout)


class Report(unittest.TestCase):
    def test_says_why_of_each_loop(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "p.c").write_text(
                "enum { LOW = 2, N = 5 * LOW };\n#define LENGTH (2 * N - 1) // of the product\n"
                "void f(double *a, double *b, double *c, int t, double (*u)[N])\n{\n"
                "#pragma dcl loops in(double a[N], b[N]) inout(double c[LENGTH])\n"
                "    for (int i = 0; i < N; i++)\n        for (int j = 0; j < N; j++)\n"
                "            c[i+j] += a[i] * b[j];\n#pragma dcl end\n"
                "#pragma dcl loops inout(double u[N][N]) value(int t)\n"
                "    for (int s = 0; s < t; s++)\n        for (int i = 1; i < N; i++)\n"
                "            for (int j = 0; j < N; j++)\n                u[i][j] += u[i-1][j];\n#pragma dcl end\n}\n")
            done = run(DCL, "loops", "p.c", "--report", "--set", "t=3", folder=folder)
            self.assertEqual(done.stderr, "")
            self.assertEqual(
                done.stdout,
                "p.c:5: region of lines 5 to 9\n"
                "operation 0\n"
                "  a thread for each c[i + j] (line 8): 19\n"
                "  thread number i + j (line 8): 19; found by Farkas' lemma, by isl's scheduler; verified\n"
                "  loop i (line 6): a reduction: each thread adds up c[i + j] in the order of the loop\n"
                "  loop j (line 7): parallel: its counter follows from the element, so each thread has one iteration\n"
                "verified: 3 dependences, each within a thread or from an earlier step to a later one\n"
                "p.c:10: region of lines 10 to 15\n"
                "loop s (line 11): in order, run by the program\n"
                "  because the iterations of loop j cannot run in parallel: u is written by one iteration and read by a "
                "later one\n"
                "  note: written at s = 0, i = 1, j = 0 (line 14), read at s = 0, i = 2, j = 0 (line 14)\n"
                "  thread number j (line 14): 10; found in the loops as written, by Farkas' lemma, by isl's "
                "scheduler; verified\n"
                "  operation 0\n"
                "    a thread for each line of u[i][j] along axis 0 (line 14): 10\n"
                "    thread number j (line 14): 10; found in the loops as written, by Farkas' lemma, by isl's "
                "scheduler; verified\n"
                "    loop i (line 12): in order: each thread runs all iterations that concern its line\n"
                "    loop j (line 13): parallel: its counter follows from the line, so each thread has one iteration\n"
                "verified: 5 dependences, each within a thread or from an earlier step to a later one\n")
            done = run(DCL, "loops", "p.c", "--report", folder=folder)
            self.assertIn("p.c:10: region of lines 10 to 15, for t = 64 (--set chooses)\n", done.stdout)

    def test_says_what_would_move_between_nodes(self):
        text = ("void f(int n, int m, int steps, double A[n][m], double B[n][m]) {\n"
                "#pragma dcl loops inout(double A[n][m], double B[n][m]) value(int steps)\n"
                "for (int t = 0; t < steps; t++) {\n"
                "    for (int i = 1; i < n - 1; i++) for (int j = 0; j < m; j++) B[i][j] = A[i-1][j] + A[i+1][j];\n"
                "    for (int i = 1; i < n - 1; i++) for (int j = 0; j < m; j++) A[i][j] = B[i][j];\n}\n"
                "#pragma dcl end\n}\n")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a.c").write_text(text)
            set_all = ["--set", "n=4000", "--set", "m=1000", "--set", "steps=10"]
            for nodes, words in [(1, "on one node, nothing moves\n"),
                                 (2, f"between 2 nodes, {10 * 2 * 8000} bytes move; most concern node 0: {10 * 8000}\n"),
                                 (3, f"between 3 nodes, {10 * 4 * 8000} bytes move; most concern node 1: {10 * 2 * 8000}\n")]:
                done = run(DCL, "loops", "a.c", "--report", "--nodes", str(nodes), *set_all, folder=folder)
                self.assertEqual(done.stdout.splitlines(True)[-1], words, done.stderr)


class Scheme(unittest.TestCase):
    def test_says_the_loops_in_three_languages(self):
        text = inside("#pragma dcl loops in(double x[n]) inout(double y[n])\nfor (int i = n - 1; i > 0; i--) {\n"
                      "    double s = 2 * x[i];\n    y[i] += s;\n}\nfor (int i = 0; i < n; i++) x[i] = y[n-1-i];\n"
                      "#pragma dcl end\n").replace("in(double x[n]) inout(", "inout(double x[n], ")
        said = {
            "en": 'For "i" from "n - 1" down, above "0", in parallel:\n    Let "double s" be "2 * x[i]".\n'
                  '    Add "s" to "y[i]".\nEnd of the loop.\nWait for all.\nFor "i" from "0" below "n", in parallel:\n'
                  '    Set "x[i]" to "y[((n - 1) - i)]".\nEnd of the loop.\n',
            "uk": 'Для "i" від "n - 1" униз, більше "0", паралельно:\n    Нехай "double s" дорівнює "2 * x[i]".\n'
                  '    Додати "s" до "y[i]".\nКінець циклу.\nЗачекати на всіх.\n'
                  'Для "i" від "0", менше "n", паралельно:\n    Присвоїти "x[i]" значення "y[((n - 1) - i)]".\n'
                  'Кінець циклу.\n',
            "ru": 'Для "i" от "n - 1" вниз, больше "0", параллельно:\n    Пусть "double s" равно "2 * x[i]".\n'
                  '    Прибавить "s" к "y[i]".\nКонец цикла.\nПодождать всех.\n'
                  'Для "i" от "0", меньше "n", параллельно:\n    Присвоить "x[i]" значение "y[((n - 1) - i)]".\n'
                  'Конец цикла.\n',
        }
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a.c").write_text(text)
            for language, scheme in said.items():
                done = run(DCL, "loops", "a.c", "--scheme", language, "--set", "n=9", folder=folder)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, "a.c:3: region of lines 3 to 9\n" + scheme)
        done = run(DCL, "loops", "a.c", "--scheme", "de")
        self.assertIn("--scheme is 'de'; expected en, uk or ru", done.stderr)


class Written(unittest.TestCase):
    def test_programs_say_the_same_as_before(self):
        for folder, name in [(REGIONS, "regions"), (PORTED, "21_ported")]:
            with self.subTest(name):
                plain, written = (run(os.path.join(folder, program)) for program in (name + "_plain", name))
                self.assertEqual((plain.returncode, plain.stderr), (0, ""))
                self.assertGreater(len(plain.stdout), 100)
                self.assertEqual((written.returncode, written.stdout, written.stderr), (0, plain.stdout, ""))

    def test_what_cannot_run_says_why_and_runs_as_written(self):
        plain = run(os.path.join(REGIONS, "regions_plain"))
        done = run(os.path.join(REGIONS, "regions"), env=environment(DCL_DEVICES="99"))
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout))
        self.assertTrue(done.stderr.startswith("dcl: all loops run as written: dcl_open: devices is \"99\""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        plain = run(os.path.join(REGIONS, "regions_plain"), "wrong")
        done = run(os.path.join(REGIONS, "regions"), "wrong")
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout))
        for words in ["these loops run as written: dcl_loops: ", "[carried]", "written at i = 1 (line ",
                      "these loops run as written: the rows of u have another length"]:
            self.assertEqual(done.stderr.count(words), 1, done.stderr)

    def test_streamed_regions_run_once(self):
        small = environment(DCL_QUOTA_BYTES="100000")
        plain = run(os.path.join(REGIONS, "regions_plain"), "streamed")
        done = run(os.path.join(REGIONS, "regions"), "streamed", env=small)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout))
        self.assertIn("error: the nest needs a copy of next", done.stderr)
        done = run(os.path.join(REGIONS, "regions"), "lost", env=small)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("the results are lost, so the program ends: dcl_loops: the memory of the outputs", done.stderr)


def main():
    global DCL, REGIONS, PORTED
    DCL, REGIONS, PORTED = sys.argv[1:4]
    result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromModule(
        sys.modules[__name__]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    return 1 if failed > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
