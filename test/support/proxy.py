#!/usr/bin/python3
"""A TCP proxy that makes a network bad: delays, throttles, cuts, half-opens, corrupts, records.

    with Proxy(target=("127.0.0.1", 7700)) as proxy:        # listens on 127.0.0.1:proxy.port
        proxy.do("delay 0.02; throttle 1e6 down")           # for connections that exist and that will come
        proxy.do("cut rst", connection=2)                   # when do() returns, it is done
        print(proxy.counters())

A script is commands separated by ';'. `up` is from the client to the target, `down` the way back, neither is both.

    delay SECONDS [up|down]                 every byte arrives so much later, in order
    throttle BYTES_PER_SECOND [up|down]     0: no limit
    cut [rst|fin] [after N] [up|down]       end both connections, by a reset or (fin) orderly: now, or after N bytes
    half-open [after N] [up|down]           read and forward no more, both connections stay open: now, or after N bytes
    swallow [up|down]                       read on and forward nothing of it, as if it had been
    heal [up|down]                          forward again what was half-open or swallowed
    corrupt at OFFSET [up|down]             flip all bits of the byte at this offset of the stream
    corrupt in N [up|down]                  the same, N bytes after those that were read when the command comes
    corrupt probability P [seed S] [up|down]  flip each byte with this probability
    clear                                   forget all of the above for connections to come
    at SECONDS COMMAND                      give a command so much later

After exactly N bytes the stream is cut: `cut fin` lets these N arrive; a reset may take the last of them back.
A command line does the same, takes further scripts as lines on standard input, and at its end prints the counters:

    proxy.py --listen 127.0.0.1:0 --to 127.0.0.1:7700 --script 'delay 0.02; at 3 cut rst' --seconds 20

One thread serves all; it ends, and with it every socket, when the `with` block does, or after `seconds`."""
import argparse
import json
import math
import os
import random
import select
import selectors
import signal
import socket
import struct
import sys
import threading
import time
from collections import deque

UP, DOWN = "up", "down"
READ_BYTES = 1 << 16
QUEUE_MOST = 4 << 20  # bytes held back in one direction; the sender then feels the network's own backpressure
RECORD_MOST = 16 << 20
CONNECT_SECONDS = 5.0
LINGER_SECONDS = 2.0  # an orderly cut waits so long for the ends to close as well
PIECES_PER_SECOND = 100  # of a throttled stream

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, 0 s: close() sends RST


def parse_address(text):
    """host:port or tcp://host:port."""
    host, colon, port = text.removeprefix("tcp://").rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"address is '{text}'; expected HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


# ---- scripts --------------------------------------------------------------------------------------------------------


class Command:
    """One command of a script: name, kind (rst, fin, at, probability), ways, and numbers."""

    FORMS = {"delay", "throttle", "cut", "half-open", "swallow", "heal", "corrupt", "clear"}

    def __init__(self, text):
        self.text = text.strip()
        words = self.text.split()
        self.later = 0.0  # seconds
        if words[0] == "at":
            self.later, words = self._number(words[1:2]), words[2:]
        if not words or words[0] not in self.FORMS:
            raise ValueError(f"command is '{self.text}'; expected one of {', '.join(sorted(self.FORMS))}, "
                             "or: at SECONDS COMMAND")
        self.name, words = words[0], words[1:]
        self.ways = (UP, DOWN)
        if words and words[-1] in (UP, DOWN):
            self.ways = (words.pop(),)
        self.kind, self.value, self.after, self.seed = None, None, None, 0
        self._parse(words)

    def _number(self, words):
        try:
            value = float(words[0])
        except (IndexError, ValueError):
            value = math.nan
        if not 0 <= value < math.inf:
            raise ValueError(f"command is '{self.text}'; a number, 0 or more, is missing")
        return value

    def _parse(self, words):
        if self.name in ("delay", "throttle"):
            self.value, words = self._number(words), words[1:]
        elif self.name == "cut":
            self.kind = words.pop(0) if words[:1] in (["rst"], ["fin"]) else "fin"
        elif self.name == "corrupt":
            self.kind = words[0] if words else None
            if self.kind not in ("at", "in", "probability"):
                raise ValueError(f"command is '{self.text}'; expected: corrupt at OFFSET, corrupt in N, "
                                 "or: corrupt probability P [seed S]")
            self.value, words = self._number(words[1:]), words[2:]
            if words[:1] == ["seed"]:
                self.seed, words = int(self._number(words[1:])), words[2:]
        if self.name in ("cut", "half-open") and words[:1] == ["after"]:
            self.after, words = int(self._number(words[1:])), words[2:]
        if words:
            raise ValueError(f"command is '{self.text}'; '{' '.join(words)}' is too much")

    @property
    def once(self):
        """Of this moment only: nothing that a later connection should inherit."""
        return self.name in ("heal", "clear") or (self.name == "cut" and self.after is None)


def parse_script(text):
    return [Command(part) for part in text.replace("\n", ";").split(";") if part.strip()]


# ---- one direction of a connection ----------------------------------------------------------------------------------


class Way:
    """Bytes from one socket to the other: a queue with due times."""

    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.queue, self.queued = deque(), 0  # (due time, bytes)
        self.read = self.forwarded = self.corrupted = self.swallowed = 0
        self.swallows = False
        self.delay = self.rate = 0.0
        self.free_at = 0.0  # a throttled stream may go on
        self.cut_after = self.stall_after = None  # forwarded bytes
        self.cut_kind = None
        self.stalled = self.ended = self.end_sent = False  # ended: the source has no more
        self.flips = set()  # offsets
        self.flip_random, self.flip_probability, self.next_flip = None, 0.0, None

    def corrupt(self, command, of):
        if command.kind in ("at", "in"):
            self.flips.add(int(command.value) + (self.read if command.kind == "in" else 0))
        else:
            self.flip_random, self.flip_probability = random.Random(f"{command.seed} {of}"), min(command.value, 1.0)
            self.next_flip = self._flip_behind(self.read - 1)

    def _flip_behind(self, offset):
        """Distances between independent flips are geometric: one draw per flip, not per byte."""
        if self.flip_probability <= 0:
            return None
        if self.flip_probability >= 1:
            return offset + 1
        return offset + 1 + int(math.log(1 - self.flip_random.random()) / math.log1p(-self.flip_probability))

    def _flipped(self, data):
        begin, end = self.read, self.read + len(data)
        hits = {offset for offset in self.flips if begin <= offset < end}
        while self.next_flip is not None and self.next_flip < end:
            hits.add(self.next_flip)
            self.next_flip = self._flip_behind(self.next_flip)
        if not hits:
            return data
        data = bytearray(data)
        for offset in hits:
            data[offset - begin] ^= 0xFF
        self.corrupted += len(hits)
        return bytes(data)

    def take(self, data, now):
        data = self._flipped(data)
        self.read += len(data)
        if self.swallows:
            self.swallowed += len(data)
            return
        self.queue.append((now + self.delay, data))
        self.queued += len(data)

    def left(self):
        """Bytes that may pass until a cut or a stall; None: no end in sight."""
        ends = [end for end in (self.cut_after, self.stall_after) if end is not None]
        return max(0, min(ends) - self.forwarded) if ends else None

    def piece(self, now):
        """What may be written now."""
        if self.stalled or not self.queue or self.queue[0][0] > now or self.free_at > now:
            return b""
        size = len(self.queue[0][1])
        if self.rate > 0:
            size = min(size, max(1, int(self.rate / PIECES_PER_SECOND)))
        left = self.left()
        return self.queue[0][1][:size if left is None else min(size, left)]

    def wrote(self, size, now):
        due, data = self.queue.popleft()
        if size < len(data):
            self.queue.appendleft((due, data[size:]))
        self.queued -= size
        self.forwarded += size
        if self.rate > 0:
            self.free_at = max(self.free_at, now - 1 / PIECES_PER_SECOND) + size / self.rate

    def wants_read(self):
        return not (self.stalled or self.ended) and self.queued < QUEUE_MOST

    def wake_at(self):
        """When time alone lets this way go on."""
        return max(self.queue[0][0], self.free_at) if self.queue and not self.stalled else math.inf

    def counters(self):
        return {"read": self.read, "forwarded": self.forwarded, "corrupted": self.corrupted, "half_open": self.stalled,
                "swallowed": self.swallowed}


# ---- a connection ---------------------------------------------------------------------------------------------------


class Connection:
    """A client's connection and the one to the target. State: connecting, open, ending (an orderly cut), closed."""

    def __init__(self, number, client, family, target, now):
        self.number, self.client = number, client
        self.server = socket.socket(family, socket.SOCK_STREAM)
        for end in (self.client, self.server):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ways = {UP: Way(self.client, self.server), DOWN: Way(self.server, self.client)}
        self.recording = None  # list of bytes
        self.state, self.why = "connecting", None
        self.until = now + CONNECT_SECONDS
        self.server.connect_ex(target)

    def apply(self, command):
        if self.state == "closed":
            return
        if command.name == "cut" and command.after is None:
            self.cut(command.kind, f"cut {command.kind} on command")
        for name in command.ways:
            way = self.ways[name]
            if command.name == "delay":
                way.delay = command.value
            elif command.name == "throttle":
                way.rate = command.value
            elif command.name == "cut" and command.after is not None:
                way.cut_after, way.cut_kind = command.after, command.kind
            elif command.name == "half-open" and command.after is None:
                way.stalled = True
            elif command.name == "half-open":
                way.stall_after = command.after
            elif command.name == "swallow":
                way.swallows = True
            elif command.name == "heal":
                way.stalled, way.stall_after, way.swallows = False, None, False
            elif command.name == "corrupt":
                # An echo would undo the flips of its way if both had the same ones.
                way.corrupt(command, of=f"{self.number} {name}")
        self.check_ends()

    def cut(self, kind, why):
        if self.state in ("closed", "ending"):
            return
        if kind == "rst" or self.state == "connecting":
            self.close(why, reset=kind == "rst")
            return
        self.state, self.why, self.until = "ending", why, time.monotonic() + LINGER_SECONDS
        for way in self.ways.values():
            way.queue.clear()
            way.queued = 0
            shut(way.sink)

    def close(self, why, reset=False):
        for end in (self.client, self.server):
            if reset:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            end.close()
        self.state, self.why = "closed", self.why or why

    def check_ends(self):
        """Carry out the cuts and stalls whose number of bytes has been reached."""
        for name, way in self.ways.items():
            if self.state == "open" and way.cut_after is not None and way.forwarded >= way.cut_after:
                self.cut(way.cut_kind, f"cut {way.cut_kind} after {way.forwarded} bytes {name}")
            if way.stall_after is not None and way.forwarded >= way.stall_after:
                way.stalled = True

    def listens(self, way):
        return self.state == "open" and way.wants_read() or self.state == "ending" and not way.ended

    def read(self, way, now):
        try:
            data = way.source.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            if self.state == "ending":  # the other end is still to get its bytes
                way.ended = True
                return
            self.close(f"reset by {'client' if way.source is self.client else 'target'}: {error}", reset=True)
            return
        if not data:
            way.ended = True
        elif self.state == "open":
            if self.recording is not None and way.source is self.client and way.read < RECORD_MOST:
                self.recording.append(data)
            way.take(data, now)

    def write(self, way, now):
        data = way.piece(now)
        if not data:
            return
        try:
            way.wrote(way.sink.send(data), now)
        except BlockingIOError:
            return
        except OSError as error:
            self.close(f"the receiver was gone: {error}", reset=True)
            return
        self.check_ends()

    def tick(self, now):
        """What follows from the states, without any event."""
        if self.state == "open":
            for way in self.ways.values():
                if way.ended and not way.queue and not way.stalled and not way.end_sent:
                    way.end_sent = True
                    shut(way.sink)
        ways = self.ways.values()
        if self.state in ("open", "ending") and all(way.ended and not way.queue for way in ways):
            if self.state == "ending" or all(way.end_sent for way in ways):
                self.close("closed by both ends")
        elif self.state in ("connecting", "ending") and now >= self.until:
            self.close("the target did not answer", reset=self.state == "connecting")

    def interest(self, now):
        """[(socket, events)] to wait for, and the time until which nothing else happens."""
        if self.state == "connecting":
            return [(self.server, selectors.EVENT_WRITE)], self.until
        events = {self.client: 0, self.server: 0}
        wake = self.until if self.state == "ending" else math.inf
        for way in self.ways.values():
            if self.listens(way):
                events[way.source] |= selectors.EVENT_READ
            if way.piece(now):
                events[way.sink] |= selectors.EVENT_WRITE
            elif way.wake_at() > now:
                wake = min(wake, way.wake_at())
        return [(end, mask) for end, mask in events.items() if mask], wake

    def serve(self, end, mask, now):
        if self.state == "connecting":
            self._connected(end)
        elif self.state != "closed":
            for way in self.ways.values():
                if mask & selectors.EVENT_READ and way.source is end and self.listens(way):
                    self.read(way, now)
                if mask & selectors.EVENT_WRITE and way.sink is end and self.state == "open":
                    self.write(way, now)

    def _connected(self, end):
        error = end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error != 0:
            self.close(f"no connection to the target: errno {error}", reset=True)
        else:
            self.state = "open"
            self.check_ends()

    def counters(self):
        return {"connection": self.number, "state": self.state, "why": self.why,
                UP: self.ways[UP].counters(), DOWN: self.ways[DOWN].counters()}


def shut(end):
    try:
        end.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side was faster


# ---- the proxy ------------------------------------------------------------------------------------------------------


class Proxy:
    """See the text above. Ends by itself `seconds` after its start."""

    def __init__(self, listen_port=0, target=("127.0.0.1", 0), script="", listen_host="127.0.0.1", seconds=120.0):
        found = socket.getaddrinfo(*target, type=socket.SOCK_STREAM)[0]
        self._family, self._target = found[0], found[4]
        self._rules = []  # (connection number or None, command)
        self._later = []  # (time, connection number or None, command)
        self._connections, self._live = [], []
        self._orders, self._lock = deque(), threading.Lock()
        self._stopping, self._until = False, time.monotonic() + seconds
        self.error = None  # of the thread
        self._listener = socket.create_server((listen_host, listen_port), backlog=1024)
        self._listener.setblocking(False)
        self._bell, self._ring = socket.socketpair()
        self._bell.setblocking(False)
        self.port = self._listener.getsockname()[1]
        self._order(None, parse_script(script))
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def do(self, script, connection=None):
        """Carry out a script; with a number only for this connection (0: the first), which may be still to come."""
        done = threading.Event()
        commands = parse_script(script)
        with self._lock:
            self._orders.append((connection, commands, done))
        self._wake()
        while not done.wait(0.1):
            if not self._thread.is_alive():
                raise RuntimeError(f"the proxy has ended: {self.error or 'its time is over'}")

    def counters(self):
        """[{connection, state, why it ended, up: {read, forwarded, corrupted, half_open}, down: {...}}], in order."""
        return [connection.counters() for connection in list(self._connections)]

    def recorded(self, connection=0):
        """What this connection's client sent, as a list of the pieces in which it came."""
        found = list(self._connections)
        return list(found[connection].recording or []) if connection < len(found) else []

    def running(self):
        return self._thread.is_alive()

    def stop(self):
        self._stopping = True
        self._wake()
        self._thread.join(10)
        self._ring.close()
        if self._thread.is_alive():
            raise RuntimeError("the proxy's thread does not end")
        if self.error is not None:
            raise self.error

    def _wake(self):
        try:
            self._ring.send(b"!")
        except OSError:
            pass  # it has ended

    # The rest runs in the thread.

    def _order(self, number, commands):
        for command in commands:
            if command.later > 0:
                self._later.append((time.monotonic() + command.later, number, command))
            else:
                self._apply(number, command)

    def _apply(self, number, command):
        if command.name == "heal":
            self._rules = [rule for rule in self._rules if not self._heals(number, command, *rule)]
        elif command.name == "clear":
            self._rules = []
        elif not command.once:
            self._rules.append((number, command))
        for connection in self._live:
            if number in (None, connection.number):
                connection.apply(command)

    @staticmethod
    def _heals(number, heal, of, rule):
        return rule.name == "half-open" and number in (None, of) and set(rule.ways) <= set(heal.ways)

    def _accept(self, now):
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        connection = Connection(len(self._connections), client, self._family, self._target, now)
        if connection.number == 0:
            connection.recording = []
        self._connections.append(connection)
        self._live.append(connection)
        for number, command in self._rules:
            if number in (None, connection.number):
                connection.apply(command)

    def _obey(self, now):
        try:
            self._bell.recv(4096)
        except BlockingIOError:
            pass
        while self._orders:
            with self._lock:
                number, commands, done = self._orders.popleft()
            self._order(number, commands)
            done.set()
        for entry in [entry for entry in self._later if entry[0] <= now]:
            self._later.remove(entry)
            self._apply(entry[1], entry[2])

    def _wait(self, selector, now):
        """Register what is wanted now, wait, and return [(connection or None, socket, events)]."""
        wanted = {self._listener: (None, selectors.EVENT_READ), self._bell: (None, selectors.EVENT_READ)}
        wake = min([self._until] + [entry[0] for entry in self._later])
        for connection in self._live:
            events, until = connection.interest(now)
            wanted.update({end: (connection, mask) for end, mask in events})
            wake = min(wake, until)
        for key in list(selector.get_map().values()):
            if wanted.get(key.fileobj) != (key.data, key.events):
                selector.unregister(key.fileobj)
        for end, (connection, mask) in wanted.items():
            if end not in selector.get_map():
                selector.register(end, mask, connection)
        ready = selector.select(min(1.0, max(0.0, wake - now)))
        return [(key.data, key.fileobj, mask) for key, mask in ready]

    def _step(self, selector):
        now = time.monotonic()
        for connection, end, mask in self._wait(selector, now):
            now = time.monotonic()
            if end is self._listener:
                self._accept(now)
            elif connection is not None and connection.state != "closed":
                connection.serve(end, mask, now)
        self._obey(now)
        for connection in self._live:
            connection.tick(now)
        self._live = [connection for connection in self._live if connection.state != "closed"]

    def _run(self):
        # poll(), not epoll: a closed socket is then simply not asked about any more.
        with selectors.PollSelector() as selector:
            try:
                while not self._stopping and time.monotonic() < self._until:
                    self._step(selector)
            except Exception as error:
                self.error = error
            finally:
                self._listener.close()
                self._bell.close()
                for connection in self._live:
                    if connection.state != "closed":
                        connection.close("the proxy ended")


# ---- replay ---------------------------------------------------------------------------------------------------------


def replay(pieces, target, pace=0.05, seconds=5.0):
    """Send recorded pieces as a new client, waiting up to `pace` seconds for an answer after each.
    @return (bytes received, "closed", "reset" or "open": how the server left it, with `seconds` to decide)."""
    received, until = bytearray(), time.monotonic() + seconds
    with socket.create_connection(target, timeout=seconds) as client:
        try:
            for piece in pieces:
                client.settimeout(seconds)
                client.sendall(piece)
                client.settimeout(pace)
                try:
                    received += client.recv(READ_BYTES)
                except TimeoutError:
                    pass
            while time.monotonic() < until:
                client.settimeout(max(0.001, until - time.monotonic()))
                data = client.recv(READ_BYTES)
                if not data:
                    return bytes(received), "closed"
                received += data
        except TimeoutError:
            pass
        except OSError:
            return bytes(received), "reset"
    return bytes(received), "open"


def follow_input(proxy):
    """Lines of standard input are scripts; the end of it is not the end of the proxy. Not a thread: one that waits for
    standard input cannot be ended."""
    text, inputs = b"", [sys.stdin.fileno()]
    while proxy.running():
        ready, _, _ = select.select(inputs, [], [], 0.05)
        if not ready:
            continue
        data = os.read(inputs[0], READ_BYTES)
        lines = (text + data).split(b"\n")
        text = lines.pop()
        if not data:
            inputs, lines = [], [text]
        for line in lines:
            try:
                proxy.do(line.decode())
            except (ValueError, RuntimeError) as error:
                print(error, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description="A TCP proxy that makes a network bad.")
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT")
    parser.add_argument("--to", required=True, metavar="HOST:PORT")
    parser.add_argument("--script", default="", help="commands separated by ';'")
    parser.add_argument("--seconds", type=float, default=120.0, help="ends by itself after so long")
    parser.add_argument("--record", metavar="FILE", help="write what the first connection's client sent")
    parser.add_argument("--replay", metavar="FILE", help="send this to the target as a client, instead of listening")
    options = parser.parse_args()
    target = parse_address(options.to)
    if options.replay:
        with open(options.replay, "rb") as file:
            received, ended = replay([file.read()], target)
        print(json.dumps({"received": len(received), "ended": ended}))
        return
    host, port = parse_address(options.listen)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    proxy = Proxy(port, target, options.script, host, options.seconds)
    try:
        print(f"listening on {host}:{proxy.port}", flush=True)
        follow_input(proxy)
    except KeyboardInterrupt:
        pass
    finally:
        counters = proxy.counters()
        proxy.stop()
        if options.record:
            with open(options.record, "wb") as file:
                file.write(b"".join(proxy.recorded()))
        print(json.dumps(counters), flush=True)


if __name__ == "__main__":
    main()
