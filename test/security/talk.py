"""What DCL says over tcp, read and written by hand: ZMTP frames of a recorded stream, and the few forms of MessagePack
that messages are made of (docs/protocol.md). Nothing here is shared with the library."""
import socket
import struct
import threading

import attack

HANDSHAKE = 64  # bytes of a greeting


def frames_of(stream):
    """[(flags, body)] behind the greeting; what is cut off at the end is left out."""
    found, at = [], HANDSHAKE
    while at + 2 <= len(stream):
        flags, size, head = stream[at], stream[at + 1], 2
        if flags & attack.LONG:
            if at + 9 > len(stream):
                break
            size, head = struct.unpack(">Q", stream[at + 1:at + 9])[0], 9
        if at + head + size > len(stream):
            break
        found.append((flags, stream[at + head:at + head + size]))
        at += head + size
    return found


def messages_of(stream):
    """Bodies that are not commands, of one frame, and not empty."""
    return [body for flags, body in frames_of(stream) if not flags & attack.COMMAND and body]


NUMBERS = {0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q", 0xd0: ">b", 0xd1: ">h", 0xd2: ">i", 0xd3: ">q"}
LENGTHS = {0xd9: ">B", 0xda: ">H", 0xdb: ">I", 0xdc: ">H", 0xdd: ">I"}


def unpack(data, at=0):
    """@return (value, the place behind it)."""
    first = data[at]
    at += 1
    if first < 0x80 or first >= 0xe0:
        return struct.unpack("b", bytes([first]))[0], at
    if first in (0xc0, 0xc2, 0xc3):
        return {0xc0: None, 0xc2: False, 0xc3: True}[first], at
    if first in NUMBERS:
        size = struct.calcsize(NUMBERS[first])
        return struct.unpack(NUMBERS[first], data[at:at + size])[0], at + size
    count = first & 0x1f if 0xa0 <= first < 0xc0 else first & 0x0f
    if first in LENGTHS:
        size = struct.calcsize(LENGTHS[first])
        count, at = struct.unpack(LENGTHS[first], data[at:at + size])[0], at + size
    if 0xa0 <= first < 0xc0 or first in (0xd9, 0xda, 0xdb):
        return data[at:at + count].decode(), at + count
    if 0x90 <= first < 0xa0 or first in (0xdc, 0xdd):
        items = []
        for _ in range(count):
            item, at = unpack(data, at)
            items.append(item)
        return items, at
    raise ValueError(f"byte {first:#x} begins nothing that messages are made of")


def strings_in(message):
    """All of them, wherever they stand."""
    def walk(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            for item in value:
                yield from walk(item)
    return list(walk(unpack(message)[0]))


class Conversation:
    """A raw client of a listener that wants a password. What it is told are .answers, unpacked."""

    def __init__(self, port, password, seconds=3.0):
        self.wire = attack.Attacker(port, seconds=seconds).connect()
        self.answers = []
        try:
            self.wire.shake_plain("dcl", password)
        except attack.Ended:
            self.wire.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wire.socket.close()

    def say(self, body):
        self.wire.send(attack.frame(body))

    def hear(self):
        """The next message; attack.Ended when the connection ends instead."""
        while True:
            flags, body = self.wire.read_frame()
            if not flags & attack.COMMAND and body:
                return unpack(body)[0]

    def ends(self, after=None):
        """Whether the other side ends the connection, having said what it may say."""
        try:
            if after is not None:
                self.say(after)
            while True:
                self.answers.append(self.hear())
        except attack.Ended as end:
            return not str(end).startswith("limit")


class Foreigner:
    """A worker on loopback that lets everybody in and answers every message with `body`.

    with Foreigner(b"...") as worker:    # its address is worker.address"""

    def __init__(self, body):
        self.body, self.threads = body, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        self._start(self._accept)
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        self.listener.close()

    def _start(self, work, *arguments):
        self.threads.append(threading.Thread(target=work, args=arguments))
        self.threads[-1].start()

    def _accept(self):
        try:
            while True:
                self._start(self._serve, self.listener.accept()[0])
        except OSError:
            return  # it has been shut down

    def _serve(self, client):
        with client, client.makefile("rb") as stream:
            client.settimeout(30)
            try:
                client.sendall(attack.greeting("PLAIN", as_server=True))
                stream.read(HANDSHAKE)
                for command in (attack.command("WELCOME", b""), attack.command("READY", attack.metadata(Socket_Type="ROUTER"))):
                    self._frame(stream)
                    client.sendall(command)
                while self._frame(stream) is not None:
                    client.sendall(attack.frame(self.body))
            except OSError:
                return  # it has gone

    @staticmethod
    def _frame(stream):
        """@return the body of the next frame of less than 256 bytes; None: there is none."""
        head = stream.read(2)
        return stream.read(head[1]) if len(head) == 2 else None
