"""What the tests of this folder share: workers, clients and keys of their own, in folders that nobody else reads.

    class Refused(Siege):
        def test_something(self):
            worker = self.worker()                     # a `dcl worker` on loopback with a token
            done = self.client(worker, "open", "close")
            self.refuses(done, "DCL_ERR_NETWORK", "wrong token")

TEST_DCL is the command, TEST_SECURITY_CLIENT what client.c became; TEST_LONG=1 asks for the long forms."""
import atexit
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

import processes  # noqa: E402
import workers  # noqa: E402

DCL = os.path.abspath(os.environ.get("TEST_DCL", "build/dcl"))
CLIENT = os.path.abspath(os.environ.get("TEST_SECURITY_CLIENT", "build/test/security_client"))
LONG = os.environ.get("TEST_LONG", "0") not in ("", "0")
SLOW = float(os.environ.get("TEST_SLOW", "1"))  # times as long as usual everything takes here
NOBODY = 65534  # a user without rights
LOOPBACK = "tcp://127.0.0.1:0"

atexit.register(processes.kill_all)


@dataclasses.dataclass
class Done:
    """How a program ended."""
    code: int
    out: str
    err: str
    seconds: float

    @property
    def text(self):
        return self.out + self.err


def environment(**variables):
    """Of a program: one device of PoCL and no DCL_ variable but these."""
    return {**workers.device_environment(processes.environment()), **variables}


def run(argv, seconds=30, prefix=(), **variables):
    start = time.monotonic()
    with subprocess.Popen([*prefix, *argv], env=environment(**variables), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        try:
            out, err = processes.within(seconds, lambda limit: process.communicate(timeout=limit),
                                        subprocess.TimeoutExpired)
        finally:
            process.kill()
    return Done(process.returncode, out, err, time.monotonic() - start)


def start(argv, prefix=(), **variables):
    """A program that goes on; its lines are read from .stdout."""
    return subprocess.Popen([*prefix, *argv], env=environment(**variables), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", bufsize=1)


def line_of(process, word, seconds=100):
    """The next line that holds the word, of a program that start() started."""
    until = time.monotonic() + seconds
    seen = []
    while time.monotonic() < until:
        line = process.stdout.readline()
        if not line:
            break
        seen.append(line)
        if word in line:
            return line.rstrip("\n")
    raise AssertionError(f"no line with '{word}': {''.join(seen)}")


class Worker(workers.Offer):
    """A `dcl worker` and what clients need to reach it."""

    def __init__(self, folder, *options, listen=LOOPBACK, keys=None, prefix=(), **variables):
        token = f"{folder}/token"
        self.variables = {} if keys else {"DCL_TOKEN": token}
        more = ["--keys", keys] if keys else ["--token", token]
        super().__init__([*prefix, DCL, "worker", "--listen", listen, *more, *options], f"{folder}/worker.log",
                         environment(**variables))
        self.variables["DCL_WORKERS"] = self.address
        self.token_path = None if keys else token

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        return int(self.address.rpartition(":")[2])

    def token(self):
        return pathlib.Path(self.token_path).read_text(encoding="ascii").strip()

    def children(self):
        return processes.descendants(self.pid)

    def logs(self, words, seconds=2.0):
        """Whether the log holds the words, soon."""
        try:
            processes.wait_until(lambda: re.search(words, self.log()), seconds)
        except TimeoutError:
            return False
        return True


def listening(pids):
    """Ports of 127.0.0.1 and others at which these processes listen."""
    return {int(text.split()[1].rpartition(":")[2]) for text in processes.sockets(pids) if text.endswith(" listening")}


class Siege(unittest.TestCase):
    """A folder of its own per test, mode 0700, and what was started in it ends with the test."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="siege-")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        self.count = 0

    def inner(self, name="", mode=0o700):
        self.count += 1
        path = f"{self.folder}/{name or self.count}"
        os.mkdir(path)
        os.chmod(path, mode)
        return path

    def worker(self, *options, **more):
        worker = Worker(self.inner(), *options, **more)
        self.addCleanup(worker.stop)
        return worker

    def keys(self, *names):
        """A key folder for each, in which all are allowed; addresses on loopback find the key of the first."""
        folder = self.inner()
        public = workers.make_keys(DCL, folder, names)
        for name in names:
            path = f"{folder}/{name}/allowed/127.0.0.1.public"
            pathlib.Path(path).write_text(f"dcl public {public[names[0]]}\n", encoding="ascii")
        return [f"{folder}/{name}" for name in names]

    def client(self, worker, *commands, **variables):
        return run([CLIENT, *(commands or ("open", "close"))], **{**worker.variables, **variables})

    def works(self, worker, **variables):
        """A client is served from beginning to end."""
        done = self.client(worker, "open", "work:2", "close", **variables)
        self.assertEqual(done.code, 0, f"{done.text}\nworker: {worker.log()}")

    def lists(self, worker, **variables):
        done = run([DCL, "workers", "--json"], **{**worker.variables, **variables})
        self.assertEqual(done.code, 0, done.text)
        return done

    def no_children(self, worker, seconds=5.0):
        """Soon its sessions' processes have ended."""
        try:
            processes.wait_until(lambda: not worker.children(), seconds)
        except TimeoutError:
            left = [(pid, *(processes.stat_of(pid) or ["gone"])[:2]) for pid in worker.children()]
            self.fail(f"still there after {seconds} s: {left}\nworker: {worker.log()}")

    def refuses(self, done, status, *words, seconds=3.0):
        self.assertEqual(done.code, 1, done.text)
        self.assertIn(status, done.text)
        for word in words:
            self.assertRegex(done.text, word)
        self.assertLess(done.seconds, seconds * SLOW * processes.slowness(), done.text)


def main():
    if "cpu" not in run([DCL, "devices"]).out:
        print("skipped: there is no CPU among the OpenCL devices")
        sys.exit(77)
    program = unittest.main(verbosity=1, exit=False)
    for test, reason in program.result.skipped:
        print(f"skipped: {test.id()}: {reason}")
    sys.exit(not program.result.wasSuccessful())
