#!/usr/bin/python3
"""Bad networks between a program and a worker: connections that are cut, fall silent, change bytes or are slow.

The program finds the worker at 127.0.0.2, where proxies listen, one for the listener and one for the port of its session's
process, each with the number of the true port at 127.0.0.1."""
import os
import re
import socket
import time

import siege  # first: it finds the others

import processes
import proxy

SILENCE_MS = int(1000 * siege.SLOW * processes.slowness())
ROUNDS = 400 if siege.LONG else 60
ELSEWHERE = "127.0.0.2"


def free_port():
    """At which nobody listens, on either address."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as one:
            port = one.getsockname()[1]
            try:
                with socket.create_server((ELSEWHERE, port)):
                    return port
            except OSError:
                pass  # taken there


class Link(siege.Siege):
    keys_of = None  # of the worker and the program, in a class with keys

    def setUp(self):
        super().setUp()
        session_port = free_port()
        options = ["--ports", f"{session_port}-{session_port}"]
        own, program = self.make_keys()
        self.offer = self.worker(*options, keys=own)
        self.listener, self.session = (proxy.Proxy(port, ("127.0.0.1", port), listen_host=ELSEWHERE)
                                   for port in (self.offer.port, session_port))
        for way in (self.listener, self.session):
            self.addCleanup(way.stop)
        self.offer.variables.update(DCL_WORKERS=f"tcp://{ELSEWHERE}:{self.offer.port}",
                                    DCL_SILENCE_MS=str(SILENCE_MS), **program)

    def make_keys(self):
        return None, {}

    def begin(self, *commands):
        """A client that has worked through both proxies, and goes on when told to."""
        client = siege.start([siege.CLIENT, "open", "work", "pause", *commands], **self.offer.variables)
        self.addCleanup(client.communicate)
        siege.line_of(client, "pause DCL_OK")
        return client

    def end(self, client, seconds=30):
        """@return (text, seconds from now to its end)."""
        start = time.monotonic()
        text, _ = client.communicate("go on\n", timeout=seconds)
        return text, time.monotonic() - start

    def loses(self, client, words="DCL_ERR_NODE_LOST", within=1.0):
        text, seconds = self.end(client)
        self.assertEqual(client.returncode, 1, text)
        self.assertRegex(text, words)
        self.assertNotIn("wrong result", text)
        self.assertFalse(processes.is_late(seconds, within + 1.0 * siege.SLOW), f"{seconds:.2f} s: {text}")
        return text

    @staticmethod
    def seen(words, direction):
        """What the worker's process noticed comes by way of the listener, where that is soon enough."""
        return words if direction == "down" else f"({words}|cannot be reached)"

    def serves_on(self):
        """Nothing of the lost session is left, and the next client is served."""
        self.no_children(self.offer, 2 * SILENCE_MS / 1000 + 3)
        for way in (self.listener, self.session):
            way.do("clear; heal")
        self.works(self.offer)


class Faults(Link):
    def test_slow_and_late(self):
        for way in (self.listener, self.session):
            way.do("delay 0.02; throttle 2e5")
        done = self.client(self.offer, "open", "work:2", "close")
        self.assertEqual(done.code, 0, done.text)
        self.assertGreater(self.session.counters()[0]["down"]["forwarded"], 2 * 64 * 64 * 4)

    def test_cut_at_once(self):
        for way, name in ((self.session, "session"), (self.listener, "listener")):
            for kind in ("rst", "fin"):
                with self.subTest(f"{name} {kind}"):
                    client = self.begin(f"work:{ROUNDS}", "close")
                    way.do(f"cut {kind}")
                    self.loses(client)
                    self.serves_on()

    def test_cut_in_the_middle_of_a_stream(self):
        for kind, way in (("rst", "down"), ("fin", "up")):
            with self.subTest(f"{kind} {way}"):
                client = self.begin(f"work:{ROUNDS}", "close")
                last = self.session.counters()[-1]
                amount = last[way]["forwarded"] + (20000 if way == "down" else 500)
                self.session.do(f"cut {kind} after {amount} {way}", connection=last["connection"])
                self.loses(client, within=2.0)
                self.serves_on()

    def test_half_open(self):
        """Both ends stay connected and hear nothing: noticed within the configured silence and a second."""
        for way, name in ((self.session, "session"), (self.listener, "listener")):
            with self.subTest(name):
                client = self.begin("work:100000", "close")
                way.do("half-open")
                self.loses(client, within=SILENCE_MS / 1000)
                self.serves_on()

    def test_swallowed_and_then_on(self):
        """What is lost on a connection that lives on is noticed within the silence, in either direction: nobody waits for
        an answer that will never come."""
        for direction in ("up", "down"):
            with self.subTest(direction):
                client = self.begin("work:100", "close")
                before = self.session.counters()[-1][direction]["swallowed"]
                self.session.do(f"swallow {direction}")
                client.stdin.write("go on\n")
                client.stdin.flush()
                start = time.monotonic()
                while self.session.counters()[-1][direction]["swallowed"] < before + 50:
                    self.assertLess(time.monotonic() - start, 20)
                    time.sleep(0.01)
                time.sleep(0.1)  # nothing is on its way any more: what follows begins with a frame
                self.session.do(f"heal {direction}")
                start = time.monotonic()
                text, _ = client.communicate(timeout=30)
                self.assertEqual(client.returncode, 1, text)
                self.assertRegex(text, "DCL_ERR_NODE_LOST.*" + self.seen("messages from peer [0-9]+ are missing", direction))
                took = time.monotonic() - start
                self.assertFalse(processes.is_late(took, SILENCE_MS / 1000 + 2 * siege.SLOW), f"{took:.2f} s: {text}")
                self.serves_on()

    def test_no_worker_behind_the_proxy(self):
        self.offer.stop()
        os.close(os.open(self.offer.token_path, os.O_CREAT | os.O_EXCL, 0o600))
        with open(self.offer.token_path, "w", encoding="ascii") as file:
            file.write("0" * 64)
        done = self.client(self.offer)
        self.assertEqual(done.code, 1, done.text)
        self.assertRegex(done.text, "DCL_ERR_NETWORK")

    def test_changed_bytes_of_what_is_no_data(self):
        """What frames and messages are made of: the connection ends."""
        client = self.begin("work:5", "close")
        last = self.session.counters()[-1]
        self.session.do("corrupt in 0 up", connection=last["connection"])  # a frame's flags
        text, _ = self.end(client)
        self.assertEqual(client.returncode, 1, text)
        self.assertRegex(text, "DCL_ERR_(NODE_LOST|PROTOCOL)")
        self.serves_on()

    def test_changed_elements(self):
        """A byte in the middle of a chunk of elements, in either direction."""
        for direction in ("up", "down"):
            with self.subTest(direction):
                client = self.begin(f"work:{ROUNDS}", "close")
                last = self.session.counters()[-1]
                self.session.do(f"corrupt in 12000 {direction}", connection=last["connection"])
                words = self.seen("have changed on their way .checksum.", direction)
                self.loses(client, f"DCL_ERR_NODE_LOST.*{words}", within=SILENCE_MS / 1000 + 5)
                self.serves_on()

    def test_changed_bytes_at_random(self):
        """Never a hang, never a wrong result, never the end of the worker."""
        for seed in range(8 if siege.LONG else 1):
            with self.subTest(seed):
                for way in (self.listener, self.session):
                    way.do(f"corrupt probability 0.001 seed {seed}")
                done = self.client(self.offer, "open", f"work:{ROUNDS}", "close")
                self.assertEqual(done.code, 1, done.text)
                self.assertRegex(done.text, "DCL_ERR_")
                self.assertNotIn("wrong result", done.text)
                self.serves_on()


class WithKeys(Link):
    test_swallowed_and_then_on = Faults.test_swallowed_and_then_on

    def make_keys(self):
        own, program = self.keys("worker", "program")
        with open(f"{own}/own.public", encoding="ascii") as file:
            key = re.search("dcl public ([0-9a-f]{64})", file.read())[0]
        with open(f"{program}/allowed/{ELSEWHERE}.public", "w", encoding="ascii") as file:
            file.write(key + "\n")
        return own, {"DCL_KEYS": program}

    def test_every_changed_byte_is_noticed(self):
        """In either direction, at the listener and in a session, also where a length becomes another: then by the silence."""
        for way, name in ((self.listener, "listener"), (self.session, "session"))[:2 if siege.LONG else 1]:
            for direction in ("up", "down"):
                with self.subTest(f"{name} {direction}"):
                    client = self.begin("work:100000", "close")
                    last = way.counters()[-1]
                    way.do(f"corrupt in 40 {direction}", connection=last["connection"])
                    self.loses(client, within=SILENCE_MS / 1000)
                    self.serves_on()

    def test_changed_byte_ends_the_connection_at_once(self):
        """Long before anybody is silent, but where the byte is one of a frame's length: then more bytes are waited for. A
        reset after it, and the heartbeats, find everything in order."""
        silence = 6
        self.offer.variables["DCL_SILENCE_MS"] = str(1000 * silence)
        for direction in ("up", "down"):
            took = []
            for offset in range(0, 60, 3 if siege.LONG else 25):
                with self.subTest(f"{direction} {offset}"):
                    client = self.begin("work:100000", "close")
                    last = self.session.counters()[-1]
                    self.session.do(f"corrupt in {offset} {direction}", connection=last["connection"])
                    start = time.monotonic()
                    self.loses(client, within=silence)
                    took.append(time.monotonic() - start)
                    self.no_children(self.offer)
                    self.assertNotIn("Assertion", self.offer.log())
            at_once = sum(not processes.is_late(seconds, 2 * siege.SLOW) for seconds in took)
            self.assertGreaterEqual(at_once, len(took) // 2, f"{direction}: {took}")

    def test_changed_bytes_at_random(self):
        for seed in range(8 if siege.LONG else 1):
            with self.subTest(seed):
                for way in (self.listener, self.session):
                    way.do(f"corrupt probability 0.0005 seed {seed}")
                done = self.client(self.offer, "open", f"work:{ROUNDS}", "close")
                self.assertEqual(done.code, 1, done.text)
                self.assertRegex(done.text, "DCL_ERR_(NETWORK|NODE_LOST|TIMEOUT)")
                self.serves_on()


del Link

if __name__ == "__main__":
    siege.main()
