#!/usr/bin/python3
"""A worker withstands raw sockets that send what no library would, and serves others meanwhile.

With the token, libzmq's handshake lets an attacker in, as it would any program of this user; the listener then bounds what it
can make the worker keep."""

import siege  # first: it finds the others

import attack
import processes

LIMIT = 64 << 20 if siege.SLOW == 1 else 512 << 20  # growth in bytes; sanitizers keep what was given back
SERVED = 2.0  # seconds, at most, of a client that comes meanwhile
SECONDS = 3.0 if siege.LONG else 0.35  # of an attack
MANY = 1.5  # of one that takes as long to unfold
HEARTBEAT = 9.0  # a listener's first heartbeat would come before


class Attack(siege.Siege):
    def withstands(self, pid, port, names, serves, **attacker):
        for name in names:
            with self.subTest(name):
                seconds = HEARTBEAT if siege.LONG and name == "same_identity" else SECONDS
                if name.startswith("many_") or name == "long_handshake":
                    seconds = max(seconds, MANY)
                report = attack.withstand(pid, port, name, LIMIT, serves, seconds=seconds, **attacker)
                if siege.LONG:
                    print(report, flush=True)
                self.assertTrue(report.ok, str(report))
                self.assertLess(report.slowest, SERVED * siege.SLOW * processes.slowness(), str(report))


class Listener(Attack):
    def test_from_outside(self):
        worker = self.worker()
        self.withstands(worker.pid, worker.port, attack.OUTSIDE, lambda: self.lists(worker))
        self.assertEqual(worker.children(), set())
        self.works(worker)

    def test_from_inside(self):
        worker = self.worker()
        self.withstands(worker.pid, worker.port, attack.INSIDE, lambda: self.lists(worker), user="dcl",
                        password=worker.token())
        self.assertEqual(worker.children(), set())
        self.works(worker)

    def test_with_keys(self):
        """CURVE is wanted: an attacker has no key, and PLAIN and NULL are not spoken."""
        own, _ = self.keys("worker", "program")
        worker = self.worker(keys=own)
        names = attack.OUTSIDE if siege.LONG else ["endless_multipart", "wrong_mechanism", "silence", "garbage"]
        self.withstands(worker.pid, worker.port, names, lambda: self.lists(worker, DCL_KEYS=f"{own}/../program"))


class Session(Attack):
    def test_port_of_a_session(self):
        """The token of the listener does not admit to a session, so that INSIDE is outside there, too."""
        worker = self.worker()
        client = siege.start([siege.CLIENT, "open", "work", "pause", "work:2", "close"], **worker.variables)
        self.addCleanup(client.communicate)
        siege.line_of(client, "pause DCL_OK")
        (child,) = worker.children()
        (port,) = siege.listening({child})
        self.assertNotEqual(port, worker.port)
        names = attack.ATTACKS if siege.LONG else ["long_handshake", "endless_multipart", "silence", "huge_frame", "garbage",
                                                   "wrong_password", "endless_message", "reads_nothing"]
        self.withstands([worker.pid, child], port, names, lambda: self.lists(worker), user="dcl",
                        password=worker.token())
        text, _ = client.communicate("go on\n", timeout=60)
        self.assertEqual(client.returncode, 0, text)
        self.no_children(worker)


del Attack  # not a test by itself

if __name__ == "__main__":
    siege.main()
