#!/usr/bin/python3
"""Tests of the test tools themselves: selftest.py [-v]. A few seconds; prints what was skipped and why."""
import os
import queue
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import attack
import processes
from hosts import Hosts, namespaces
from proxy import Proxy, parse_script, replay

HERE = os.path.dirname(os.path.abspath(__file__))


class Server:
    """Listens on loopback, a thread for each connection, until the `with` block is left."""

    def __init__(self, serve):
        self.serve, self.connections = serve, []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.address = self.listener.getsockname()
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            self.threads.append(threading.Thread(target=self._serve, args=(connection,), daemon=True))
            self.threads[-1].start()

    def _serve(self, connection):
        try:
            self.serve(connection)
        except OSError:
            pass
        connection.close()

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self.threads:
            thread.join(5)
            assert not thread.is_alive()


def echo(connection):
    while data := connection.recv(1 << 16):
        connection.sendall(data)


def read_all(client, most, seconds=2.0):
    """(bytes, how it ended): "enough", "closed", "reset" or "silent"."""
    client.settimeout(seconds)
    data = b""
    try:
        while len(data) < most:
            piece = client.recv(1 << 16)
            if not piece:
                return data, "closed"
            data += piece
    except TimeoutError:
        return data, "silent"
    except OSError:
        return data, "reset"
    return data, "enough"


def exchange(port, text, seconds=2.0):
    """What an echo gives back, as read_all(). A reset may come as early as the connection."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as client:
            client.sendall(text)
            return read_all(client, len(text), seconds)
    except ConnectionError:
        return b"", "reset"


# ---- proxy ----------------------------------------------------------------------------------------------------------

TEXT = bytes(range(256)) * 16  # 4096 bytes

#  script                             bytes that come back   how it ends
ENDS = [
    ("",                              4096, "enough"),
    ("cut fin after 1000 down",       1000, "closed"),
    ("cut fin after 0",                  0, "closed"),
    ("cut rst after 0",                  0, "reset"),
    ("half-open after 1000 up",       1000, "silent"),
    ("half-open after 1000 down",     1000, "silent"),
    ("half-open",                        0, "silent"),
    ("at 0.1 cut rst; half-open",        0, "reset"),
    ("half-open; at 0.1 heal",        4096, "enough"),
    ("half-open; heal up",               0, "silent"),
    ("delay 0.01; throttle 1e6",      4096, "enough"),
]

WRONG_SCRIPTS = [
    ("dely 0.1",                      "command is 'dely 0.1'; expected one of clear"),
    ("delay",                         "a number, 0 or more, is missing"),
    ("delay -1",                      "a number, 0 or more, is missing"),
    ("cut after",                     "a number, 0 or more, is missing"),
    ("cut rst now",                   "'now' is too much"),
    ("corrupt 12",                    "expected: corrupt at OFFSET"),
    ("at 3",                          "or: at SECONDS COMMAND"),
]


class ProxyTest(unittest.TestCase):
    def setUp(self):
        self.echo = self.enterContext(Server(echo))

    def proxy(self, script="", **more):
        return self.enterContext(Proxy(target=self.echo.address, script=script, **more))

    def client(self, proxy):
        client = socket.create_connection(("127.0.0.1", proxy.port), timeout=2)
        self.addCleanup(client.close)
        return client

    def test_ends(self):
        for script, size, ended in ENDS:
            with self.subTest(script=script), Proxy(target=self.echo.address, script=script) as proxy:
                data, how = exchange(proxy.port, TEXT, 0.3)
                self.assertEqual((len(data), how), (size, ended))
                self.assertEqual(data, TEXT[:size])

    def test_what_the_target_gets_before_a_cut(self):
        got = []
        with Server(lambda connection: got.append(read_all(connection, 4096))) as target:
            for i, (kind, ended) in enumerate((("fin", "closed"), ("rst", "reset"))):
                with Proxy(target=target.address, script=f"cut {kind} after 1000 up") as proxy:
                    client = self.client(proxy)
                    client.sendall(TEXT)
                    self.assertEqual(read_all(client, 1), (b"", ended))
                    self.assertEqual(proxy.counters()[0]["up"]["forwarded"], 1000)
                    self.assertEqual(proxy.counters()[0]["down"]["forwarded"], 0)
                    processes.wait_until(lambda: len(got) > i, 2)
        self.assertEqual(got[0], (TEXT[:1000], "closed"))
        self.assertEqual(got[1][1], "reset")

    def test_wrong_scripts(self):
        for script, words in WRONG_SCRIPTS:
            with self.subTest(script=script), self.assertRaises(ValueError) as caught:
                parse_script(script)
            self.assertIn(words, str(caught.exception))

    def test_delay_counts_both_ways(self):
        client = self.client(self.proxy("delay 0.05"))
        start = time.monotonic()
        client.sendall(b"x")
        self.assertEqual(client.recv(1), b"x")
        self.assertGreaterEqual(time.monotonic() - start, 0.1)

    def test_throttle(self):
        client = self.client(self.proxy("throttle 100000 down"))
        start = time.monotonic()
        client.sendall(bytes(30000))
        self.assertEqual(read_all(client, 30000)[1], "enough")
        took = time.monotonic() - start
        self.assertTrue(0.25 < took < 1.5, took)

    def test_corrupt(self):
        client = self.client(self.proxy("corrupt at 3 up; corrupt at 5 down"))
        client.sendall(bytes(10))
        self.assertEqual(client.recv(10), b"\0\0\0\xff\0\xff\0\0\0\0")
        proxy_ = self.proxy("clear")
        client = self.client(proxy_)
        client.sendall(bytes(3))
        self.assertEqual(read_all(client, 3)[0], bytes(3))
        proxy_.do("corrupt in 2 up")
        client.sendall(bytes(4))
        self.assertEqual(read_all(client, 4)[0], b"\0\0\xff\0")
        seen = []
        for seed in (1, 1, 2):
            client = self.client(self.proxy(f"corrupt probability 0.1 seed {seed} up"))
            client.sendall(bytes(4000))
            seen.append(read_all(client, 4000)[0])
        self.assertEqual(seen[0], seen[1])
        self.assertNotEqual(seen[0], seen[2])
        self.assertTrue(250 < seen[0].count(0xFF) < 550, seen[0].count(0xFF))

    def test_one_connection_of_two(self):
        proxy = self.proxy()
        clients = [self.client(proxy), self.client(proxy)]
        for client in clients:
            client.sendall(b"x")
            client.recv(1)
        proxy.do("cut rst", connection=1)
        self.assertEqual(read_all(clients[1], 1)[1], "reset")
        clients[0].sendall(b"y")
        self.assertEqual(clients[0].recv(1), b"y")
        first, second = proxy.counters()
        self.assertEqual((first["state"], first["up"]["forwarded"], first["down"]["read"]), ("open", 2, 2))
        self.assertEqual((second["state"], second["why"]), ("closed", "cut rst on command"))

    def test_a_shut_side_is_passed_on(self):
        client = self.client(self.proxy())
        client.sendall(b"xyz")
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(read_all(client, 10), (b"xyz", "closed"))

    def test_record_and_replay(self):
        proxy = self.proxy()
        client = self.client(proxy)
        for text in (b"one", b"two"):
            client.sendall(text)
            client.recv(10)
        self.client(proxy).sendall(b"of the second connection")
        self.assertEqual(proxy.recorded(), [b"one", b"two"])
        self.assertEqual(replay(proxy.recorded(), self.echo.address, seconds=0.2), (b"onetwo", "open"))

    def test_a_target_that_is_not_there(self):
        with socket.create_server(("127.0.0.1", 0)) as gone:
            address = gone.getsockname()
        with Proxy(target=address) as proxy:
            self.assertEqual(exchange(proxy.port, b"x"), (b"", "reset"))

    def test_nothing_stays(self):
        before, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
        with Proxy(target=self.echo.address, script="half-open") as proxy:
            with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                client.sendall(TEXT)
                processes.wait_until(lambda: len(proxy.counters()) == 1, 1)
        # The echo's end closes a moment later.
        processes.wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before, 1)
        processes.wait_until(lambda: threading.active_count() <= threads, 1)

    def test_its_time_ends(self):
        proxy = self.proxy(seconds=0.1)
        processes.wait_until(lambda: not proxy.running(), 2)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", proxy.port))
        with self.assertRaisesRegex(RuntimeError, "its time is over"):
            proxy.do("heal")

    def test_command(self):
        host, port = self.echo.address
        argv = [sys.executable, os.path.join(HERE, "proxy.py"), "--to", f"{host}:{port}", "--seconds", "20"]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            proxied = int(process.stdout.readline().rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", proxied), timeout=2) as client:
                client.sendall(b"x")
                self.assertEqual(client.recv(1), b"x")
                process.stdin.write("cut fin\n")
                process.stdin.flush()
                self.assertEqual(read_all(client, 1), (b"", "closed"))
            process.terminate()
            self.assertIn('"why": "cut fin on command"', process.stdout.read())


# ---- attack ---------------------------------------------------------------------------------------------------------

PASSWORD = "right"


class ZmtpStub:
    """As much of a ZMTP 3 listener with PLAIN as shows what an attack sends: it answers handshakes, refuses wrong
    passwords, and then reads until the client ends, or ends frames over 1 MiB itself."""

    def __init__(self):
        self.messages = []  # bodies of last frames

    def __call__(self, connection):
        connection.settimeout(5)
        file = connection.makefile("rb")
        hello = file.read(64)
        if len(hello) < 64 or hello[0] != 0xFF or hello[9] != 0x7F or hello[10] < 3:
            return
        connection.sendall(attack.greeting("PLAIN", as_server=True))
        if not hello[12:].startswith(b"PLAIN\0"):
            return
        body = self.read_frame(file)[1]
        if body == attack.hello("", PASSWORD)[2:]:
            connection.sendall(attack.command("WELCOME"))
        else:
            connection.sendall(attack.command("ERROR", b"\x03400"))
            return
        if self.read_frame(file)[1].startswith(b"\x08INITIATE\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0"):
            connection.sendall(attack.command("READY", attack.metadata(Socket_Type="ROUTER")))
            self.take_messages(file)

    def take_messages(self, file):
        while True:
            flags, body = self.read_frame(file)
            if not flags & attack.MORE and len(self.messages) < 1000:
                self.messages.append(body)

    @staticmethod
    def read_frame(file):
        flags, size = file.read(1), file.read(1)
        if not size:
            raise OSError("end")
        size = int.from_bytes(size + file.read(7), "big") if flags[0] & attack.LONG else size[0]
        if size > 1 << 20:
            raise OSError("too long")
        return flags[0], file.read(size)


#  attack                       seconds: few for those that use all of them; how it may end, and ends somehow
ATTACK_ENDS = [
    ("huge_frame",              9, ["closed", "reset"]),
    ("wrong_mechanism",         9, ["closed", "reset"]),
    ("wrong_password",          9, ["refused: 400"]),
    ("silence",               0.3, ["open"]),
    ("greeting_then_silence", 0.3, ["open"]),
    ("half_closed",           0.3, ["open", "closed", "reset"]),
    ("connects_and_resets",     9, ["reset by the attacker", "reset"]),
    ("endless_multipart_null",  9, ["closed", "reset"]),
    ("slow_bytes",            0.3, ["open"]),
    ("endless_message",         9, ["limit of bytes"]),
    ("many_frames",             9, ["open"]),
    ("huge_message",            9, ["closed", "reset"]),
    ("sessions_then_silence", 0.3, ["open"]),
]


class AttackTest(unittest.TestCase):
    def setUp(self):
        self.stub = ZmtpStub()
        self.server = self.enterContext(Server(self.stub))
        self.port = self.server.address[1]

    def attacker(self, **more):
        return attack.Attacker(self.port, **{"seconds": 0.3, "limit_bytes": 4 << 20, "connections": 20,
                                             "password": PASSWORD, **more})

    def test_bytes(self):
        self.assertEqual(attack.greeting("NULL"), b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(48))
        self.assertEqual(attack.frame(b"ab", more=True), b"\x01\x02ab")
        self.assertEqual(attack.header(256), b"\x02" + bytes(6) + b"\x01\x00")
        self.assertEqual(attack.header(1 << 40, attack.MORE), b"\x03\0\0\1\0\0\0\0\0")
        self.assertEqual(attack.hello("me", "pw"), b"\x04\x0c\x05HELLO\x02me\x02pw")

    def test_only_loopback(self):
        for host in ("10.77.0.1", "0.0.0.0", "8.8.8.8", "::"):
            with self.assertRaisesRegex(ValueError, "expected a loopback address"):
                attack.Attacker(self.port, host=host)

    def test_ends(self):
        for name, seconds, ends in ATTACK_ENDS:
            with self.subTest(attack=name):
                outcome = attack.ATTACKS[name](self.attacker(seconds=seconds))
                self.assertTrue(outcome.ended and set(outcome.ended) <= set(ends), outcome)
                self.assertLess(outcome.seconds, seconds + 2)
                self.assertLess(outcome.sent, 5 << 20)

    def test_limit_of_seconds(self):
        outcome = attack.endless_message(self.attacker(seconds=0.5, limit_bytes=1 << 40))
        self.assertEqual(outcome.ended, {"limit of seconds": 1}, outcome)

    def test_bombs_arrive(self):
        outcome = attack.msgpack_bombs(self.attacker(prefix=[b"to"], seconds=1))
        self.assertEqual(outcome.connections, len(attack.bombs()))
        processes.wait_until(lambda: b"\xdd\x10\x00\x00\x00" in self.stub.messages, 1)

    def test_every_attack_says_what_it_does(self):
        for name, function in attack.ATTACKS.items():
            self.assertEqual(function.__name__, name)
            self.assertTrue(function.__doc__)

    def test_withstand_sees_growth_and_refusal(self):
        def eat(_):
            kept.append(b"\1" * (8 << 20))
            time.sleep(0.1)
            return attack.Outcome("eat", 0, 0, 0, 0.0, {})

        kept, calls = [], []
        report = attack.withstand(os.getpid(), self.port, eat, limit_bytes=4 << 20, serves=lambda: calls.append(1))
        self.assertGreater(report.grown, 7 << 20)
        self.assertFalse(report.ok)
        self.assertEqual((report.failures, report.served, report.alive), ([], len(calls), True))
        report = attack.withstand(os.getpid(), self.port, "wrong_mechanism", serves=lambda: 1 / 0, seconds=0.2)
        self.assertIn("ZeroDivisionError", report.failures[0])
        self.assertFalse(report.ok)

    def test_withstand_sees_a_death(self):
        with subprocess.Popen(["sleep", "20"]) as process:
            def murder(_):
                process.kill()
                process.wait()
                return attack.Outcome("murder", 0, 0, 0, 0.0, {})
            report = attack.withstand(process.pid, self.port, murder)
        self.assertFalse(report.alive or report.ok)

    def test_memory_of(self):
        now, most = attack.memory_of(os.getpid())
        self.assertTrue(1 << 20 < now <= most < 1 << 36)
        self.assertIsNone(attack.memory_of(1 << 30))


# ---- hosts ----------------------------------------------------------------------------------------------------------

ECHO_ONCE = """
import socket
listener = socket.create_server(("0.0.0.0", 7700))
print("listens", flush=True)
connection, _ = listener.accept()
while data := connection.recv(65536):
    connection.sendall(data)
"""
ASK = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 7700), timeout=5)
for line in sys.stdin:
    connection.settimeout(float(line))
    connection.sendall(b"x")
    try:
        print(connection.recv(1).decode(), flush=True)
    except TimeoutError:
        print("silence", flush=True)
"""


class HostsTest(unittest.TestCase):
    def setUp(self):
        why_not = Hosts.why_not(rate="100mbit")
        if why_not:
            self.skipTest(why_not)

    def test_joined_cut_healed(self):
        with Hosts(2, rate="100mbit") as hosts:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            server = hosts.run(0, [sys.executable, "-c", ECHO_ONCE], **pipes)
            self.assertEqual(server.stdout.readline(), "listens\n")
            client = hosts.run(1, [sys.executable, "-c", ASK, hosts.address(0)], **pipes)

            def ask(seconds):
                client.stdin.write(f"{seconds}\n")
                client.stdin.flush()
                return client.stdout.readline().strip()

            self.assertEqual(ask(5), "x")
            hosts.cut(0)
            self.assertEqual(ask(0.3), "silence")
            hosts.heal(0)
            self.assertEqual(ask(5), "x")
        for process in (server, client):
            self.assertEqual(process.returncode, -signal.SIGKILL)
            process.stdin.close()
            process.stdout.close()
        self.assertEqual([name for name in namespaces() if name.startswith(hosts.name(0)[:-1])], [])

    def test_removed_after_an_exception(self):
        with self.assertRaises(ZeroDivisionError), Hosts(1) as hosts:
            hosts.run(0, ["sh", "-c", "sleep 30 & sleep 30"])
            self.assertIn(hosts.name(0), namespaces())
            raise ZeroDivisionError
        self.assertNotIn(hosts.name(0), namespaces())

    def test_no_such_host(self):
        with self.assertRaisesRegex(IndexError, "host is 2; expected 0..1"):
            Hosts(2).address(2)


# ---- processes ------------------------------------------------------------------------------------------------------

HOLDER = """
import mmap, os, socket, sys, time
memory = os.memfd_create("part")
os.ftruncate(memory, 4096)
mapped = mmap.mmap(memory, 4096)
os.close(memory)
ring = os.memfd_create("ring")
pair = socket.socketpair()
listener = socket.create_server(("127.0.0.1", 0))
open(sys.argv[1], "w").close()
child = os.fork()
if child:
    print(child, flush=True)
time.sleep(30)
"""


class SettingsTest(unittest.TestCase):
    """What TEST_SETTINGS forces reaches the programs of tests; DCL_ variables of the environment do not."""

    def test_programs_of_tests(self):
        for folder in ("eval", "processes"):
            self.enterContext(unittest.mock.patch.object(sys, "path", [os.path.join(HERE, "..", folder), *sys.path]))
        import drive
        import session
        forced = {"DCL_STEAL": "always", "DCL_TILE_BYTES": "4096"}
        self.enterContext(unittest.mock.patch.dict(
            os.environ, {"TEST_SETTINGS": "DCL_STEAL=always DCL_TILE_BYTES=4096", "DCL_STEAL": "never", "DCL_MAP": "cyclic"}))
        self.assertEqual({k: v for k, v in drive.environment(2).items() if k.startswith("DCL_")}, forced)
        with tempfile.TemporaryDirectory() as folder:
            program = session.Program(["env"], {}, os.path.join(folder, "errors"))
            said = [line for line in iter(lambda: program.next(20), None) if line.startswith("DCL_")]
            program.end(20)
        self.assertEqual(sorted(said), [f"{k}={v}" for k, v in forced.items()])


class ProcessesTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(processes.kill_all)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def start(self, *argv, marked=True):
        environment = processes.environment() if marked else None
        process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_everything_is_seen_and_goes(self):
        of = {"folders": [self.folder]}
        before = processes.snapshot(**of)
        process = self.start(sys.executable, "-c", HOLDER, os.path.join(self.folder, "file"))
        child = int(process.stdout.readline())
        self.assertEqual(processes.belonging(), {process.pid, child})
        left = processes.difference(before, processes.snapshot(**of)).left
        self.assertEqual(len(left["processes"]), 2)
        self.assertEqual(left["memfds"], ["part", "ring"])
        self.assertEqual(left["files"], [os.path.join(self.folder, "file")])
        self.assertRegex(" ".join(left["sockets"]), r"2 x unix unnamed.*127\.0\.0\.1:\d+ listening")
        processes.kill(process.pid)
        process.wait()
        left = processes.difference(before, processes.snapshot(**of))
        self.assertEqual((len(left.left["processes"]), left.left["memfds"]), (1, ["part", "ring"]))
        with self.assertRaisesRegex(AssertionError, "memfds: part, ring"):
            processes.nothing_left(before, 0.05, **of)
        processes.kill_all()
        os.unlink(os.path.join(self.folder, "file"))
        processes.nothing_left(before, 2, **of)

    def test_a_slow_look_is_not_the_last_one(self):
        """What was there when a look began may be gone long before the look ends."""
        before = processes.snapshot(folders=[self.folder])
        path = os.path.join(self.folder, "file")
        open(path, "wb").close()
        looks = []

        def slow(**_):
            looks.append(now := snapshot(folders=[self.folder]))
            if len(looks) == 1:
                os.unlink(path)
                time.sleep(0.1)
            return now

        snapshot = processes.snapshot
        with unittest.mock.patch.object(processes, "snapshot", slow):
            processes.nothing_left(before, 0.05)
        self.assertGreaterEqual(len(looks), 2)
        answers = iter([False, True])

        def answer():
            time.sleep(0.1)
            return next(answers)

        self.assertGreater(processes.wait_until(answer, 0.05), 0.1)

    def test_a_busy_machine_adds_to_a_limit(self):
        lines = queue.Queue()
        threading.Timer(0.3, lines.put, ["line"]).start()
        with unittest.mock.patch.object(processes, "slowness", lambda: 1.0), self.assertRaises(queue.Empty):
            processes.within(0.1, lambda limit: lines.get(timeout=limit), queue.Empty)
        with unittest.mock.patch.object(processes, "slowness", lambda: 50.0):
            self.assertEqual(processes.within(0.1, lambda limit: lines.get(timeout=limit), queue.Empty), "line")
        self.assertGreaterEqual(processes.slowness(), 1)
        self.assertLess(processes.slowness(), 1000)

    def test_descriptors_of_one_that_lives_on(self):
        process = self.start(sys.executable, "-c", "import time\nprint(1, flush=True)\ntime.sleep(30)\n")
        process.stdout.readline()
        before = processes.snapshot()
        self.assertFalse(processes.difference(before, processes.snapshot()))
        pid, name = process.pid, processes.stat_of(process.pid)[0]
        after = processes.snapshot()
        after.descriptors[pid, name, "socket"] += 2
        self.assertEqual(processes.difference(before, after).left["descriptors"], [f"2 x socket of {name} {pid}"])

    def test_shared_memory(self):
        before = processes.snapshot()
        path = f"/dev/shm/selftest-{processes.MARK}"
        with open(path, "w", encoding="ascii"):
            self.addCleanup(os.unlink, path)
        self.assertIn(path, processes.difference(before, processes.snapshot()).left["shared memory"])

    def test_ports(self):
        with Server(echo) as server:
            seen = processes.snapshot(ports=[server.address[1]]).sockets
            self.assertIn(f"tcp 127.0.0.1:{server.address[1]} listening", seen)
        self.assertEqual(processes.snapshot(ports=[server.address[1]]).sockets, set())

    def test_descendants_without_the_mark(self):
        process = self.start("sh", "-c", "env -i sleep 30 & echo; wait", marked=False)
        process.stdout.readline()
        self.assertEqual(processes.belonging(), set())
        self.assertEqual(len(processes.belonging(root=process.pid)), 2)
        for pid in processes.descendants(process.pid):
            with self.assertRaises(PermissionError):
                processes.kill(pid)
        os.kill(next(iter(processes.descendants(process.pid))), signal.SIGKILL)

    def test_only_marked_ones_are_killed(self):
        other, mine = self.start("sleep", "30", marked=False), self.start("sleep", "30")
        for seed in range(5):
            pids = [other.pid, os.getpid(), mine.pid]
            self.assertEqual(processes.kill_random(pids, random.Random(seed), 0), mine.pid)
        with self.assertRaisesRegex(PermissionError, "is not this test's"):
            processes.kill(other.pid)
        processes.kill_random([other.pid, mine.pid], random.Random(1))
        mine.wait(5)
        with self.assertRaises(ProcessLookupError):
            processes.kill_random([other.pid, mine.pid], random.Random(1))
        self.assertIsNone(other.poll())

    def test_time_from_a_kill(self):
        process = self.start("sleep", "30")
        self.assertLess(processes.seconds_to(process.pid, lambda: process.poll() is not None, 5), 1)
        process = self.start("sleep", "30")
        with self.assertRaisesRegex(TimeoutError, "did not come true within 0.05 s"):
            processes.seconds_to(process.pid, lambda: False, 0.05, signal.SIGSTOP)

    def test_addresses(self):
        self.assertEqual(processes.hex_address("0100007F:1F90"), "127.0.0.1:8080")
        self.assertEqual(processes.hex_address("0" * 32 + ":0050"), "[ipv6]:80")


def main():
    program = unittest.main(verbosity=1, exit=False)
    for test, reason in program.result.skipped:
        print(f"skipped: {test.id()}: {reason}")
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()
