"""Programs of these tests, run as a person would run them, and watched: whatever they wait for has an end."""
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(os.path.dirname(HERE), "support"))
import processes
from workers import Unavailable

SKIPPED = 77
SLOW = float(os.environ.get("TEST_SLOW") or 1)  # what may take so many times longer under a sanitizer


class Failed(Exception):
    """What a program did is wrong; the text says how."""


class Program:
    """A running program, whose lines of standard output are looked at one after the other."""

    def __init__(self, argv, variables, errors_path, prefix=()):
        plain = {name: value for name, value in processes.environment().items() if not name.startswith("DCL_")}
        self.errors_path = errors_path
        with open(errors_path, "wb") as errors:
            self.process = subprocess.Popen([*prefix, *argv], env={"POCL_DEVICES": "pthread", **plain, **processes.settings(), **variables},
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.pid = self.process.pid
        self.lines, self.seen = queue.Queue(), []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def errors(self):
        with open(self.errors_path, encoding="utf-8", errors="replace") as file:
            return file.read()[-3000:].strip()

    def said(self):
        return "; ".join(self.seen) + ("; on standard error: " + self.errors() if self.errors() else "")

    def next(self, seconds):
        """The next line; None at the end. Failed when there is none for so long."""
        try:
            line = processes.within(max(0.0, seconds), lambda limit: self.lines.get(timeout=limit), queue.Empty)
        except queue.Empty:
            raise Failed(f"it said nothing for {seconds:.1f} s after: {self.said()}") from None
        if line is not None:
            self.seen.append(line)
            if line.startswith("WRONG"):
                raise Failed(self.said())
        return line

    def expect(self, word, seconds):
        """The rest of the next line, which begins with this word."""
        line = self.next(seconds)
        if line is None or line.split(" ")[0] != word:
            raise Failed(f"expected a line '{word}', but: {self.said()}")
        return line.partition(" ")[2]

    def end(self, seconds):
        """@return the exit code. Failed when it does not end, and it is killed then."""
        try:
            code = processes.within(seconds, self.process.wait, subprocess.TimeoutExpired)
        except subprocess.TimeoutExpired:
            raise Failed(f"it did not end within {seconds} s: {self.said()}") from None
        self.reader.join(5)
        self.process.stdout.close()
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(5)


def run_to_end(argv, words, seconds, variables, prefix, folder):
    """Run a program that begins lines with `words`, one after the other, each within `seconds`, and ends well; nothing is
    left of it. Returns it, and the rest of the last of these lines."""
    before = processes.snapshot(folders=[folder])
    program = Program(argv, variables, f"{folder}/errors", prefix)
    try:
        for word in words:
            rest = program.expect(word, seconds)
        if program.end(20 * SLOW) != 0:
            raise Failed(program.said())
    finally:
        program.kill()
    os.remove(f"{folder}/errors")
    processes.nothing_left(before, 2 * SLOW, folders=[folder])
    return program, rest


def test_in_folder(name, check):
    """Call check(dcl, programs, base) with what the command line names and a folder of its own, in which are `work` and
    `workers`. Returns the status to exit with: 77 where what is needed is not here."""
    dcl, programs = (os.path.abspath(path) for path in sys.argv[1:3])
    base = tempfile.mkdtemp(prefix=f"dcl-{name}-")
    for folder in ("work", "workers"):
        os.mkdir(f"{base}/{folder}")
    try:
        check(dcl, programs, base)
    except Unavailable as why:
        print(f"skipped: {why}")
        return SKIPPED
    except (Failed, AssertionError) as problem:
        print(f"FAILED: {problem}", file=sys.stderr)
        return 1
    finally:
        processes.kill_all()
        shutil.rmtree(base)
    return 0


def workers_of(program, place):
    """Ids of the processes that serve it. Those of supervisors serve any program."""
    roots = [offer.process.pid for offer in place.offers] or [program.pid]
    found = set()
    for root in roots:
        found |= {pid for pid in processes.descendants(root) if (processes.stat_of(pid) or ("",))[0] == "dcl"}
    return sorted(found)


class Rounds:
    """Runs rounds, each from a seed of its own; counts and times."""

    def __init__(self, seed):
        self.seed = seed
        self.failed = 0
        self.times = {}

    def note(self, what, seconds):
        self.times.setdefault(what, []).append(seconds)

    def run(self, name, count, one):
        """one(seed): Failed, AssertionError or TimeoutError when the round went wrong."""
        begin, failed = time.monotonic(), 0
        for number in range(count):
            seed = f"{name}/{self.seed}/{number}"
            try:
                one(seed)
            except (Failed, AssertionError, TimeoutError, ProcessLookupError) as problem:
                failed += 1
                print(f"FAILED {seed}: {problem}", file=sys.stderr, flush=True)
        self.failed += failed
        if count:
            print(f"{name}: {count - failed} of {count} rounds passed in {time.monotonic() - begin:.1f} s", flush=True)

    def summary(self):
        for what, times in self.times.items():
            times.sort()
            print(f"{what}: median {times[len(times) // 2]:.3f} s, longest {times[-1]:.3f} s of {len(times)}")
