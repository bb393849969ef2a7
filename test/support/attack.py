#!/usr/bin/python3
"""A raw-socket attacker of a ZeroMQ listener on loopback: what a peer can send that no library would.

    outcome = endless_multipart(Attacker(port, seconds=2))         # what was sent and how the server ended it
    report = withstand(pid, port, "endless_multipart", serves=one_round_trip)
    assert report.ok, report

attack.py --port 7700 --pid 4242 --password-file token all          # or names of attacks; --list tells them

Every attack is bounded in seconds, bytes and connections by its Attacker. Those in INSIDE shake hands with PLAIN first,
as one who has the password. Sources: ZMTP 3.1 (rfc.zeromq.org/spec/37), 3.0 (23), 2.0 (15), 1.0 (13), PLAIN (24)."""
import argparse
import collections
import dataclasses
import ipaddress
import os
import pathlib
import random
import re
import resource
import socket
import struct
import sys
import threading
import time

MORE, LONG, COMMAND = 1, 2, 4  # flags of a frame
SIGNATURE = b"\xff" + bytes(8) + b"\x7f"
SPARE_DESCRIPTORS = 64  # left to the test program itself
READ_BYTES = 1 << 16


# ---- bytes of the protocol ------------------------------------------------------------------------------------------


def own_version():
    """The number that messages of these sources begin with."""
    header = pathlib.Path(__file__).resolve().parents[2] / "src/net/message.h"
    return int(re.search(r"#define DCLI_PROTOCOL (\d+)", header.read_text(encoding="utf-8"))[1])


def greeting(mechanism="PLAIN", version=(3, 1), as_server=False):
    return SIGNATURE + bytes(version) + mechanism.encode().ljust(20, b"\0") + bytes([as_server]) + bytes(31)


def header(size, flags=0):
    """Of a frame whose body has, or claims to have, so many bytes."""
    if size < 256 and not flags & LONG:
        return struct.pack("BB", flags, size)
    return struct.pack(">BQ", flags | LONG, size)


def frame(body=b"", more=False):
    return header(len(body), MORE if more else 0) + body


def command(name, data=b""):
    body = bytes([len(name)]) + name.encode() + data
    return header(len(body), COMMAND) + body


def metadata(**properties):
    """Socket_Type="DEALER", Identity="": 1 byte length, name, 4 bytes length, value."""
    text = b""
    for name, value in properties.items():
        name = name.replace("_", "-").encode()
        text += bytes([len(name)]) + name + struct.pack(">I", len(value)) + value.encode()
    return text


def hello(user, password):
    user, password = user.encode(), password.encode()
    return command("HELLO", bytes([len(user)]) + user + bytes([len(password)]) + password)


DEALER = metadata(Socket_Type="DEALER", Identity="")


# ---- a connection ---------------------------------------------------------------------------------------------------


class Ended(Exception):
    """The server ended the connection, or the attack's limits did; the text says which."""


class Wire:
    """One connection, counted into its attacker's outcome."""

    def __init__(self, attacker, wait=True):
        self.attacker, self.ended, self.input, self.joined = attacker, None, bytearray(), wait
        self.socket = socket.socket(socket.AF_INET6 if ":" in attacker.host else socket.AF_INET)
        try:
            self.socket.settimeout(max(0.1, attacker.left()) if wait else 0)
            self.socket.connect((attacker.host, attacker.port))
        except BlockingIOError:
            pass  # connected() tells
        except OSError:
            self.socket.close()
            raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def connected(self):
        """Whether it has ever been."""
        try:
            self.joined = self.joined or bool(self.socket.getpeername())
        except OSError:
            pass
        return self.joined

    def end(self, how):
        self.ended = self.ended or how
        raise Ended(self.ended)

    def send(self, data):
        """All of it, reading what comes meanwhile; Ended when the server or a limit ends it."""
        data = memoryview(data)
        while data:
            self.attacker.check()
            try:
                size = self.socket.send(data[:READ_BYTES])
                self.attacker.sent += size
                data = data[size:]
            except BlockingIOError:
                time.sleep(0.001)
            except OSError:
                self.end("reset")
            self.poll()

    def poll(self):
        """Take in what has come. @return whether something has; Ended when the server has closed."""
        try:
            data = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            self.end("reset")
        if not data:
            self.end("closed")
        self.attacker.received += len(data)
        if len(self.input) < READ_BYTES:  # more than a handshake needs is nobody's
            self.input += data
        return True

    def receive(self, size):
        while len(self.input) < size:
            self.attacker.check()
            if not self.poll():
                time.sleep(0.001)
        data = bytes(self.input[:size])
        del self.input[:size]
        return data

    def read_frame(self):
        """@return (flags, body)."""
        flags, size = self.receive(2)
        if flags & LONG:
            size = struct.unpack(">Q", bytes([size]) + self.receive(7))[0]
        if size >= READ_BYTES:
            self.end(f"frame of {size} bytes from the server")
        return flags, self.receive(size)

    def expect(self, name):
        """The body of this command. Ended with the server's reason when it sends ERROR instead."""
        _, body = self.read_frame()
        if body.startswith(bytes([len(name)]) + name.encode()):
            return body[1 + len(name):]
        if body[1:6] == b"ERROR" or body[:5] == b"^RROR":  # libzmq 4.3.4 has it so: its prefix is written "\x05ERROR"
            self.end(f"refused: {body.partition(b'RROR')[2][1:].decode(errors='replace')}")
        self.end(f"unexpected: {body[:20]!r}")

    def shake_null(self):
        self.send(greeting("NULL"))
        self.receive(64)
        self.send(command("READY", DEALER))
        self.expect("READY")

    def shake_plain(self, user, password, metadata=DEALER):
        self.send(greeting("PLAIN"))
        self.receive(64)
        self.send(hello(user, password))
        self.expect("WELCOME")
        self.send(command("INITIATE", metadata))
        self.expect("READY")

    def linger(self, seconds):
        """See for so long whether the server ends it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.poll()
            time.sleep(0.005)


# ---- attacker and outcome -------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    attack: str
    sent: int  # bytes
    received: int  # bytes
    connections: int
    seconds: float
    ended: dict  # how -> connections: "closed", "reset", "open", "limit of ...", "refused: ...", "not accepted"

    def __str__(self):
        ends = ", ".join(f"{count} {how}" for how, count in self.ended.items())
        return (f"{self.attack}: {self.sent} bytes sent, {self.received} received, {self.connections} connections in "
                f"{self.seconds:.2f} s; ended: {ends}")


class Attacker:
    """Whom to attack, and the limits of one attack. Only loopback: anything else is a ValueError.
    user, password: for the attacks of INSIDE. prefix: frames that a message begins with before its bad one."""

    def __init__(self, port, host="127.0.0.1", seconds=3.0, limit_bytes=256 << 20, connections=1000,
                 user="", password="", prefix=(), seed=1):
        if not ipaddress.ip_address(host).is_loopback:
            raise ValueError(f"host is {host}; expected a loopback address: this tool is for one's own machine")
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_DESCRIPTORS
        self.host, self.port, self.seconds, self.limit_bytes = host, port, seconds, limit_bytes
        self.connections = min(connections, most)
        self.user, self.password, self.prefix, self.seed = user, password, tuple(prefix), seed
        self.begin()

    def begin(self):
        self.sent = self.received = self.opened = 0
        self.ends = collections.Counter()
        self.start = time.monotonic()
        self.until = self.start + self.seconds

    def left(self):
        return self.until - time.monotonic()

    def check(self):
        if self.left() < 0:
            raise Ended("limit of seconds")
        if self.sent >= self.limit_bytes:
            raise Ended("limit of bytes")

    def connect(self, wait=True):
        """OSError where the server, or the machine, does not take more."""
        wire = Wire(self, wait)
        self.opened += 1
        return wire

    def alone(self, act):
        """One connection on which act(wire) runs to its end."""
        self.one_by_one([act])

    def one_by_one(self, acts):
        """A connection for each; each has an equal share of the time that is left."""
        for i, act in enumerate(acts):
            self.until = time.monotonic() + (self.start + self.seconds - time.monotonic()) / (len(acts) - i)
            try:
                with self.connect() as wire:
                    act(wire)
                    wire.linger(min(0.3, self.left()))
                    self.ends["open"] += 1
            except Ended as end:
                self.ends[str(end)] += 1
            except OSError as error:
                self.ends[not_accepted(error)] += 1

    def many(self, act):
        """As many connections as allowed, act(wire) on each, held open together until the time is over. None waits for
        another: a full backlog of the server delays those in it only."""
        wires, waiting = [], []
        try:
            while self.left() > 0:
                for _ in range(min(50, self.connections - len(wires))):
                    wires.append(self.connect(wait=False))
                    waiting.append(wires[-1])
                ready = [wire for wire in waiting if wire.connected()]
                waiting = [wire for wire in waiting if wire not in ready]
                for wire in ready:
                    try:
                        act(wire)
                    except Ended:
                        pass  # how_it_is() tells
                time.sleep(0.01)
        except OSError as error:
            self.ends[not_accepted(error)] += 1
        finally:
            self.ends.update(how_it_is(wire) for wire in wires)
            for wire in wires:
                wire.socket.close()

    def outcome(self, name):
        return Outcome(name, self.sent, self.received, self.opened, time.monotonic() - self.start, dict(self.ends))


def not_accepted(error):
    return f"not accepted: {error.strerror or error}"


def how_it_is(wire):
    if wire.ended is None and not wire.connected():
        return "not accepted"
    try:
        while wire.poll():
            pass
    except Ended as end:
        return str(end)
    return wire.ended or "open"


OUTSIDE, INSIDE = {}, {}  # name -> attack(attacker) -> Outcome


def attack(table):
    def enter(function):
        def run(attacker):
            attacker.begin()
            function(attacker)
            return attacker.outcome(function.__name__)
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        table[function.__name__] = run
        return run
    return enter


def endlessly(wire, data):
    """Until the server or a limit ends it."""
    data *= max(1, READ_BYTES // len(data))
    while True:
        wire.send(data)


# ---- without the password -------------------------------------------------------------------------------------------


@attack(OUTSIDE)
def endless_multipart_before_greeting(attacker):
    """Frames that all promise another, from the first byte on."""
    attacker.alone(lambda wire: endlessly(wire, frame(b"x" * 1000, more=True)))


@attack(OUTSIDE)
def endless_multipart_zmtp1(attacker):
    """The same in the framing of ZMTP 1.0, which has no greeting: length with flags, flags, body."""
    attacker.alone(lambda wire: endlessly(wire, b"\xc9\x01" + b"x" * 200))


@attack(OUTSIDE)
def endless_multipart_zmtp2(attacker):
    """ZMTP 2.0: signature, revision 1, socket type DEALER (5), an empty identity, then frames."""
    def act(wire):
        wire.send(SIGNATURE + b"\x01\x05" + frame())
        endlessly(wire, frame(b"x" * 1000, more=True))
    attacker.alone(act)


@attack(OUTSIDE)
def endless_multipart(attacker):
    """Messages at once after a greeting that names the right mechanism, without a handshake."""
    def act(wire):
        wire.send(greeting("PLAIN"))
        endlessly(wire, frame(b"x" * 1000, more=True))
    attacker.alone(act)


@attack(OUTSIDE)
def endless_multipart_null(attacker):
    """A whole handshake without a mechanism, and then never the last frame."""
    def act(wire):
        wire.shake_null()
        endlessly(wire, frame(b"x" * 1000, more=True))
    attacker.alone(act)


@attack(OUTSIDE)
def endless_commands(attacker):
    """Commands that nobody asked for."""
    def act(wire):
        wire.send(greeting("PLAIN"))
        endlessly(wire, command("PING", b"\0\0" + b"x" * 16))
    attacker.alone(act)


def say(attacker, *texts, first=lambda wire: None):
    """Each on a connection of its own."""
    def act(text):
        def run(wire):
            first(wire)
            wire.send(text)
        return run
    attacker.one_by_one([act(text) for text in texts])


def huge_frames():
    """What sizes frames claim, and some of what they promise."""
    return [header(size, flags | LONG) + b"x" * (1 << 18)
            for size in (1 << 40, 1 << 63, (1 << 63) - 1, (1 << 64) - 1) for flags in (0, MORE, COMMAND)]


@attack(OUTSIDE)
def huge_frame(attacker):
    """Headers of messages and commands that announce 2^40 bytes and more, and some of these."""
    say(attacker, *(greeting("PLAIN") + claim for claim in huge_frames()))


@attack(OUTSIDE)
def huge_frame_null(attacker):
    """The same where a handshake without a mechanism is enough."""
    say(attacker, *huge_frames(), first=Wire.shake_null)


@attack(OUTSIDE)
def tiny_frames(attacker):
    """Many thousand empty messages after the greeting."""
    say(attacker, greeting("PLAIN") + frame() * 100000)


@attack(OUTSIDE)
def silence(attacker):
    """Connections that say nothing."""
    attacker.many(lambda wire: None)


@attack(OUTSIDE)
def greeting_then_silence(attacker):
    """Connections that greet and say nothing more."""
    attacker.many(lambda wire: wire.send(greeting("PLAIN")))


@attack(OUTSIDE)
def half_closed(attacker):
    """Connections that greet and close their side."""
    def act(wire):
        wire.send(greeting("PLAIN"))
        wire.socket.shutdown(socket.SHUT_WR)
    attacker.many(act)


@attack(OUTSIDE)
def connects_and_resets(attacker):
    """Connections that end by a reset, half of them within the greeting."""
    for i in range(10 * attacker.connections):
        if attacker.left() < 0:
            break
        try:
            with attacker.connect() as wire:
                if i % 2:
                    wire.send(greeting("PLAIN")[:30])
                wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                attacker.ends["reset by the attacker"] += 1
        except Ended as end:
            attacker.ends[str(end)] += 1
        except OSError as error:
            attacker.ends[not_accepted(error)] += 1


@attack(OUTSIDE)
def wrong_mechanism(attacker):
    """NULL, CURVE and one that does not exist, each with the handshake of NULL. "open": it was let in."""
    def act(mechanism):
        def run(wire):
            wire.send(greeting(mechanism))
            wire.receive(64)
            wire.send(command("READY", DEALER))
            wire.expect("READY")
        return run
    attacker.one_by_one([act(mechanism) for mechanism in ("NULL", "CURVE", "GSSAPI", "NONE")])


@attack(OUTSIDE)
def wrong_password(attacker):
    """Passwords that are empty, near the right one, and too long. "open": it was let in."""
    def act(password):
        return lambda wire: wire.shake_plain(attacker.user, password)
    wrong = ("", "wrong", attacker.password[:-1] + "?", (attacker.password + "x")[:255], "x" * 255)
    attacker.one_by_one([act(password) for password in wrong])


@attack(OUTSIDE)
def broken_hello(attacker):
    """HELLO whose lengths point behind its end, other commands in its place, and INITIATE without HELLO."""
    bad = (command("HELLO", b"\xff"), command("HELLO", b"\x05u"), command("HELLO", b"\0\xff" + b"x" * 20),
           command("HELLO"), command("WELCOME"), command("INITIATE", DEALER), command("READY", DEALER),
           header(0, COMMAND), b"\x04\x01\xff", hello("u", "p") * 50)
    say(attacker, *(greeting("PLAIN") + text for text in bad))


@attack(OUTSIDE)
def long_handshake(attacker):
    """A first command that fills the memory it announces, on one connection after another."""
    def act(size):
        def send(wire):
            wire.send(greeting("PLAIN") + header(size, COMMAND))
            for _ in range(size // READ_BYTES - 1):
                wire.send(bytes(READ_BYTES))
        return send
    attacker.one_by_one([act(size) for size in ((1 << 30) - 1, 1 << 26, 1 << 22, 1 << 20) * 2])


@attack(OUTSIDE)
def many_long_handshakes(attacker):
    """First commands that want 3 bytes to be whole, on many connections at once."""
    size = READ_BYTES - 100
    text = greeting("PLAIN") + header(size, COMMAND) + bytes(size - 3)
    attacker.many(lambda wire: wire.send(text))


@attack(OUTSIDE)
def garbage(attacker):
    """Random bytes, with and without a greeting before them."""
    rng = random.Random(attacker.seed)
    say(attacker, *((greeting("PLAIN") if i % 2 else b"") + rng.randbytes(1 << 14) for i in range(20)))


@attack(OUTSIDE)
def slow_bytes(attacker):
    """A right handshake's beginning, one byte every 100 ms, on many connections at once."""
    text = greeting("PLAIN") + hello("", "wrong")
    wires = [attacker.connect() for _ in range(min(50, attacker.connections))]
    try:
        for i in range(len(text)):
            for wire in wires:
                try:
                    if wire.ended is None:
                        wire.send(text[i:i + 1])
                except Ended:
                    pass  # the server had enough; the others go on
            if attacker.left() < 0.1:
                break
            time.sleep(0.1)
        attacker.ends.update(wire.ended or how_it_is(wire) for wire in wires)
    finally:
        for wire in wires:
            wire.socket.close()


# ---- with the password ----------------------------------------------------------------------------------------------


def shake(wire):
    wire.shake_plain(wire.attacker.user, wire.attacker.password)


def inside(attacker, *texts):
    """Each behind a handshake of its own, and as the last frames of a message that the prefix begins."""
    prefix = b"".join(frame(part, more=True) for part in attacker.prefix)
    say(attacker, *(prefix + text for text in texts), first=shake)


def bombs():
    """Bodies that msgpack unpackers allocate for. An array16/32 or map32 announces items that never come."""
    head = b"\x93" + bytes([own_version(), 1, 0])  # [version, kind 1, epoch 0, so that a reader may go on to what follows
    bare = [b"\xdd\x10\x00\x00\x00", b"\xdd\xff\xff\xff\xff", b"\xdf\x10\x00\x00\x00", b"\xdc\xff\xff",
            b"\xc6\xff\xff\xff\xff", b"\xdb\x7f\xff\xff\xff", b"\xc9\xff\xff\xff\xff\x01",
            b"\xdd\x00\x01\x00\x00" * 200,  # each header alone passes a check against the bytes left
            b"\x91" * 100000,  # depth
            b"\xdc\x10\x00" * 300,
            b"\xdd\x00\x10\x00\x00" + b"\xc0" * (1 << 20),  # 1 MiB of nils, rightly announced
            b"\xc1", b""]
    return bare + [bytes([head[0] + 1]) + head[1:] + bomb for bomb in bare]


@attack(INSIDE)
def msgpack_bombs(attacker):
    """A few bytes that ask for gigabytes, nesting, a MiB of nils."""
    inside(attacker, *(frame(bomb) for bomb in bombs()))


@attack(INSIDE)
def msgpack_garbage(attacker):
    """Messages of random bytes."""
    rng = random.Random(attacker.seed)
    inside(attacker, *(frame(rng.randbytes(rng.randrange(1, 5000))) * 50 for _ in range(20)))


@attack(INSIDE)
def endless_message(attacker):
    """A message that never ends, of middling frames."""
    def act(wire):
        shake(wire)
        endlessly(wire, frame(b"x" * 1000, more=True))
    attacker.alone(act)


@attack(INSIDE)
def endless_empty_frames(attacker):
    """A message that never ends, of empty frames: two bytes here, an object each at the server."""
    def act(wire):
        shake(wire)
        endlessly(wire, frame(more=True))
    attacker.alone(act)


@attack(INSIDE)
def many_unfinished_messages(attacker):
    """Messages of empty frames that never end, none of them long, on many connections at once."""
    text = frame(more=True) * 60000

    def act(wire):
        shake(wire)
        wire.send(text)
    attacker.connections = min(attacker.connections, 200)
    attacker.many(act)


@attack(INSIDE)
def many_frames(attacker):
    """Messages of ten thousand frames that do end."""
    inside(attacker, (frame(more=True) * 9999 + frame()) * 10)


@attack(INSIDE)
def tiny_messages(attacker):
    """Messages of one byte, as many as go in."""
    def act(wire):
        shake(wire)
        endlessly(wire, frame(b"\xc0"))
    attacker.alone(act)


@attack(INSIDE)
def huge_message(attacker):
    """Frames that announce far more than comes, behind a whole handshake."""
    inside(attacker, *huge_frames())


@attack(INSIDE)
def reads_nothing(attacker):
    """Asks on and on and never takes an answer: what the server keeps for it is the server's problem."""
    def act(wire):
        shake(wire)
        while True:
            attacker.check()
            try:
                attacker.sent += wire.socket.send(frame(b"\x91\xc0" * 50) * 100)
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                wire.end("reset")
    attacker.alone(act)


@attack(INSIDE)
def same_identity(attacker):
    """Pairs of peers of one name: the second is not listened to. It sends until reading stops, and resets."""
    twin = metadata(Socket_Type="DEALER", Identity="twin")
    wires = []
    try:
        while attacker.left() > 0:
            for _ in range(2):
                wires.append(attacker.connect())
                wires[-1].shake_plain(attacker.user, attacker.password, twin)
            try:
                wires[-1].send(frame(b"\xc0") * 1000)
                wires[-1].linger(min(0.1, max(0, attacker.left())))
            except Ended:
                pass
            wires[-1].socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wires.pop().socket.close()
            attacker.ends["reset by the attacker"] += 1
            if len(wires) > attacker.connections - 2:
                break
    except Ended as end:
        attacker.ends[str(end)] += 1
    except OSError as error:
        attacker.ends[not_accepted(error)] += 1
    finally:
        for wire in wires:
            wire.socket.close()


@attack(INSIDE)
def sessions_then_silence(attacker):
    """Many peers that shake hands and then say nothing."""
    attacker.many(shake)


ATTACKS = {**OUTSIDE, **INSIDE}


# ---- what it did to the server --------------------------------------------------------------------------------------


def memory_of(pid):
    """(resident now, resident at most since its start) in bytes; None when the process has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            fields = dict(line.split(":", 1) for line in file)
        return tuple(int(fields[name].split()[0]) << 10 for name in ("VmRSS", "VmHWM"))
    except (OSError, KeyError):
        return None


@dataclasses.dataclass
class Report:
    outcome: Outcome
    alive: bool  # every process, afterwards
    grown: int  # bytes at most, of all the processes together
    limit: int
    served: int  # calls of serves() during and after the attack
    failures: list  # texts of those that failed
    slowest: float  # seconds of one call

    @property
    def ok(self):
        return self.alive and self.grown <= self.limit and not self.failures

    def __str__(self):
        state = "alive" if self.alive else "DEAD"
        return (f"{self.outcome}\n    server {state}, grew by {self.grown / 2**20:.1f} of {self.limit >> 20} MiB, "
                f"served {self.served} times, slowest {1000 * self.slowest:.1f} ms"
                + "".join(f"\n    FAILED: {text}" for text in self.failures[:3]))


class Watch:
    """Samples the memory of some processes until stopped. Growth counts from the first sample to the highest one, or to
    a peak between two samples where the kernel has seen a new one."""

    def __init__(self, pids, every=0.01):
        self.pids, self.every = pids, every
        self.first = {pid: memory_of(pid) or (0, 0) for pid in pids}
        self.last, self.grown, self.alive = dict(self.first), 0, True
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _sample(self):
        total = 0
        for pid in self.pids:
            now = memory_of(pid)
            if now is None:
                self.alive = False
                continue
            first = self.first[pid]
            total += (now[1] if now[1] > first[1] else now[0]) - first[0]
        self.grown = max(self.grown, total)

    def _run(self):
        while not self.stopping.wait(self.every):
            self._sample()

    def stop(self):
        self.stopping.set()
        self.thread.join()
        self._sample()


def withstand(pid, port, attack, limit_bytes=64 << 20, serves=None, every=0.1, **attacker):
    """Attack a server while a normal client uses it.
    @param pid      of the server, or several.
    @param attack   name in ATTACKS, or a function of an Attacker.
    @param serves   called again and again, here; it fails by an exception or by returning False. None: nobody calls.
    @param attacker more arguments of Attacker().
    @return Report; .ok says alive, grown by no more than limit_bytes, and never failed to serve."""
    run = ATTACKS[attack] if isinstance(attack, str) else attack
    pids = [pid] if isinstance(pid, int) else list(pid)
    target, outcomes, failures, times = Attacker(port, **attacker), [], [], []

    def call():
        start = time.monotonic()
        try:
            if serves is not None and serves() is False:
                failures.append("serves() returned False")
        except Exception as error:  # whatever a client may raise is a failure of the server
            failures.append(f"{type(error).__name__}: {error}")
        times.append(time.monotonic() - start)

    def go():
        try:
            outcomes.append(run(target))
        except Exception as error:
            failures.append(f"the attack itself failed: {type(error).__name__}: {error}")

    watch, thread = Watch(pids), threading.Thread(target=go, daemon=True)
    thread.start()
    while thread.is_alive():
        call()
        thread.join(every)
    call()
    watch.stop()
    outcome = outcomes[0] if outcomes else target.outcome(getattr(run, "__name__", "attack"))
    return Report(outcome, watch.alive, watch.grown, limit_bytes, len(times), failures, max(times))


def main():
    parser = argparse.ArgumentParser(description="Attack a ZeroMQ listener on this machine.")
    parser.add_argument("attacks", nargs="*", help="names, or: all, outside, inside")
    parser.add_argument("--list", action="store_true", help="print the attacks")
    parser.add_argument("--port", type=int)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--pid", type=int, action="append", default=[], help="watch the memory of this process")
    parser.add_argument("--user", default="")
    parser.add_argument("--password-file", metavar="FILE", help="for the attacks from inside; else they are left out")
    parser.add_argument("--seconds", type=float, default=3.0, help="of one attack")
    parser.add_argument("--limit-mb", type=int, default=64, help="growth that is allowed")
    options = parser.parse_args()
    if options.list or options.port is None:
        for name, function in ATTACKS.items():
            print(f"{name}{' (inside)' if name in INSIDE else ''}: {function.__doc__.strip()}")
        return 0
    password = ""
    if options.password_file:
        with open(options.password_file, encoding="utf-8") as file:
            password = file.read().strip()
    groups = {"outside": OUTSIDE, "inside": INSIDE, "all": ATTACKS if password else OUTSIDE}
    failed = 0
    for name in [name for word in options.attacks or ["all"] for name in groups.get(word, [word])]:
        report = withstand(options.pid, options.port, name, options.limit_mb << 20, host=options.host,
                           seconds=options.seconds, user=options.user, password=password)
        print(report, flush=True)
        failed += not report.ok
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
