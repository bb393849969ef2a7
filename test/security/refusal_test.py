#!/usr/bin/python3
"""Who must not come in does not: each refusal is seen by the program, within 3 s and with a sentence that says what to do,
and by the worker, which logs it and serves on."""
import os
import pathlib
import re
import socket
import subprocess
import sys

import siege  # first: it finds the others

import attack
import processes
import proxy
import talk


class Refusal(siege.Siege):
    def refused(self, worker, done, status, words, logged=None, **serves):
        """Seen at the program, seen at the worker, which has started nothing and serves on."""
        self.refuses(done, status, *words)
        if logged:
            self.assertTrue(worker.logs(logged), worker.log())
        self.assertEqual(worker.children(), set())
        self.lists(worker, **serves)


class Keys(Refusal):
    def setUp(self):
        super().setUp()
        self.own, self.program = self.keys("worker", "program")
        self.offer = self.worker(keys=self.own)
        self.allowed = {"DCL_KEYS": self.program}

    def test_with_keys(self):
        self.works(self.offer, **self.allowed)

    def test_unknown_key(self):
        _, stranger = self.keys("other", "stranger")
        self.know(stranger, self.own)
        done = self.client(self.offer, DCL_KEYS=stranger)
        self.refused(self.offer, done, "DCL_ERR_NETWORK", ["wrong key", "own.public"], 'refused 127.0.0.1 at "listener", CURVE',
                     **self.allowed)

    @staticmethod
    def know(folder, server):
        key = pathlib.Path(f"{server}/own.public").read_text(encoding="ascii")
        pathlib.Path(f"{folder}/allowed/127.0.0.1.public").write_text(key, encoding="ascii")

    def test_no_key(self):
        token = f"{self.inner()}/token"
        pathlib.Path(token).write_text("0" * 64 + "\n", encoding="ascii")
        os.chmod(token, 0o600)
        done = self.client(self.offer, DCL_TOKEN=token)
        # which of the two this side sees first differs: that the handshake misfits, or that the connection ends
        self.refused(self.offer, done, "DCL_ERR_NETWORK", ["if it has keys|give its public key", "dcl keys"],
                     **self.allowed)

    def test_no_key_and_no_token(self):
        self.refused(self.offer, self.client(self.offer), "DCL_ERR_FILE", ["there is no token for", "use keys"],
                     **self.allowed)

    def test_wrong_server_key(self):
        other, _ = self.keys("other", "nobody")
        self.know(self.program, other)
        done = self.client(self.offer, **self.allowed)
        self.know(self.program, self.own)
        self.refused(self.offer, done, "DCL_ERR_NETWORK", ["wrong server key|public key is another one"], **self.allowed)

    def test_replayed(self):
        """A recorded client with keys is worth nothing: its handshake does not fit the listener's new keys of the day."""
        with proxy.Proxy(target=("127.0.0.1", self.offer.port)) as way:
            done = self.client(self.offer, DCL_WORKERS=f"tcp://127.0.0.1:{way.port}", **self.allowed)
            pieces = way.recorded()
        self.assertEqual(done.code, 0, done.text)
        self.assertGreater(len(b"".join(pieces)), 500)
        opened = self.offer.log().count("is open")
        _, ended = proxy.replay(pieces, ("127.0.0.1", self.offer.port), seconds=1.0)
        self.assertNotEqual(ended, "open")
        self.assertEqual(self.offer.log().count("is open"), opened)
        self.lists(self.offer, **self.allowed)

    def test_another_key_at_a_session(self):
        """An allowed program's key opens the listener, not the session of another program."""
        client = siege.start([siege.CLIENT, "open", "work", "pause", "work", "close"],
                             **{**self.offer.variables, **self.allowed})
        self.addCleanup(client.communicate)
        siege.line_of(client, "pause DCL_OK")
        (port,) = siege.listening(self.offer.children())
        done = self.client(self.offer, DCL_WORKERS=f"tcp://127.0.0.1:{port}", **self.allowed)
        self.refuses(done, "DCL_ERR_NETWORK", "wrong server key|public key is another one|wrong key")
        text, _ = client.communicate("go on\n", timeout=60)
        self.assertEqual(client.returncode, 0, text)

    def test_folders_that_others_can_read_or_write(self):
        for where, mode, words in (("", 0o777, "mode 0777"), ("own.secret", 0o644, "mode 0644"),
                                   ("own.secret", 0o660, "mode 0660"), ("allowed", 0o777, "mode 0777")):
            with self.subTest(where=where, mode=oct(mode)):
                own, program = self.keys("worker", "program")
                os.chmod(f"{program}/{where}", mode)
                done = self.client(self.offer, DCL_KEYS=program)
                self.refuses(done, "DCL_ERR_FILE", words, "chmod")
                os.chmod(f"{own}/{where}", mode)
                done = siege.run([siege.DCL, "worker", "--listen", siege.LOOPBACK, "--keys", own])
                self.assertEqual(done.code, 1, done.text)
                self.assertRegex(done.text, words)


class Token(Refusal):
    def setUp(self):
        super().setUp()
        self.offer = self.worker()

    def token_file(self, text, mode=0o600):
        path = f"{self.inner()}/token"
        pathlib.Path(path).write_text(text, encoding="ascii")
        os.chmod(path, mode)
        return path

    def test_wrong_token(self):
        done = self.client(self.offer, DCL_TOKEN=self.token_file("0" * 64))
        self.refused(self.offer, done, "DCL_ERR_NETWORK", ["wrong token", "same user"],
                     'refused 127.0.0.1 at "listener", PLAIN')

    def test_token_that_others_can_read(self):
        done = self.client(self.offer, DCL_TOKEN=self.token_file(self.offer.token(), 0o644))
        self.refused(self.offer, done, "DCL_ERR_FILE", ["mode 0644", "chmod"])

    def test_token_of_a_link(self):
        path = f"{self.inner()}/token"
        os.symlink(self.offer.token_path, path)
        self.refused(self.offer, self.client(self.offer, DCL_TOKEN=path), "DCL_ERR_FILE", ["link"])

    def test_keys_where_there_are_none(self):
        _, program = self.keys("worker", "program")
        done = self.client(self.offer, DCL_KEYS=program)
        self.refused(self.offer, done, "DCL_ERR_NETWORK", ["does not accept keys|started with keys"])

    def test_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("running a program as another user needs root")
        prefix = ["setpriv", "--reuid", str(siege.NOBODY), "--regid", str(siege.NOBODY), "--clear-groups"]
        try:
            if siege.run([*prefix, siege.CLIENT]).code != 0:
                self.skipTest(f"another user cannot run {siege.CLIENT}")
        except OSError as error:
            self.skipTest(f"setpriv: {error}")
        workers = {"DCL_WORKERS": self.offer.address, "HOME": "/nonexistent"}
        done = siege.run([siege.CLIENT, "open"], prefix=prefix, **workers)
        self.refuses(done, "DCL_ERR_FILE", "there is no token for", "as this user")
        done = siege.run([siege.CLIENT, "open"], prefix=prefix, DCL_TOKEN=self.offer.token_path, **workers)
        self.refuses(done, "DCL_ERR_FILE", "Permission denied|permission")
        guess = self.token_file("1" * 64)
        os.chown(os.path.dirname(guess), siege.NOBODY, siege.NOBODY)
        os.chown(guess, siege.NOBODY, siege.NOBODY)
        os.chmod(self.folder, 0o711)
        done = siege.run([siege.CLIENT, "open"], prefix=prefix, DCL_TOKEN=guess, **workers)
        self.refused(self.offer, done, "DCL_ERR_NETWORK", ["wrong token"], 'refused 127.0.0.1 at "listener", PLAIN')

    def recorded_client(self):
        """What a real client sent to the listener."""
        with proxy.Proxy(target=("127.0.0.1", self.offer.port)) as way:
            done = self.client(self.offer, DCL_WORKERS=f"tcp://127.0.0.1:{way.port}")
            self.assertEqual(done.code, 0, done.text)
            return way.recorded()

    def opened(self):
        return self.offer.log().count("is open")

    def test_replayed(self):
        """Who can record on loopback has the token anyway. All the same a recording opens nothing."""
        pieces = self.recorded_client()
        self.assertEqual(self.opened(), 1)
        answered, _ = proxy.replay(pieces, ("127.0.0.1", self.offer.port), seconds=1.0)
        self.assertIn(b"has been opened before", answered)
        self.assertEqual(self.opened(), 1)
        self.assertEqual(self.offer.children(), set())
        self.assertTrue(self.offer.logs("has been opened before"), self.offer.log())
        self.works(self.offer)

    def test_same_session_again(self):
        """OPEN of a session that was, and of one that is, over a connection of one's own."""
        first, second = talk.messages_of(b"".join(self.recorded_client()))[:2]
        for _ in range(2):
            with talk.Conversation(self.offer.port, self.offer.token()) as other:
                other.say(first)
                other.hear()
                other.say(second)
                self.assertIn("has been opened before", str(other.hear()))
        self.assertEqual(self.opened(), 1)
        self.works(self.offer)

    def test_other_version(self):
        first = talk.messages_of(b"".join(self.recorded_client()))[0]
        version = first[1]
        for other in (version + 1, 127):
            with talk.Conversation(self.offer.port, self.offer.token()) as old:
                old.say(first[:1] + bytes([other]) + first[2:])
                sentence = str(old.hear())
                self.assertRegex(sentence, f"version {other} of the protocol, this worker version {version}")
                self.assertTrue(old.ends())
        self.assertTrue(self.offer.logs(f"version {version + 1} of the protocol"), self.offer.log())
        self.works(self.offer)

    LISTS_OPENCL = """
import ctypes
opencl, platform, count = ctypes.CDLL("libOpenCL.so.1"), ctypes.c_void_p(), ctypes.c_uint()
opencl.clGetDeviceIDs.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p]
print(opencl.clGetPlatformIDs(1, ctypes.byref(platform), None), opencl.clGetDeviceIDs(platform, 0xffffffff, 0, None, ctypes.byref(count)))
"""

    def test_worker_of_another_version(self):
        """The other side of test_other_version: programs of DCL and OpenCL programs say both numbers."""
        own = attack.own_version()
        for other in (own - 1, own + 1):
            words = f"version {other} of the protocol, this peer version {own}.*same version of DCL"
            with talk.Foreigner(b"\x93" + bytes([other, 10, 0])) as worker:
                variables = {**self.offer.variables, "DCL_WORKERS": worker.address}
                self.refuses(siege.run([siege.CLIENT, "open"], **variables), "DCL_ERR_PROTOCOL", words)
                done = siege.run([sys.executable, "-c", self.LISTS_OPENCL], **variables,
                                 OCL_ICD_VENDORS=f"{os.path.dirname(siege.DCL)}/dcl.icd")
                self.assertEqual(done.out.strip(), "0 -1", done.text)
                self.assertRegex(done.err, f"dcl opencl: .*{words}")

    def test_what_is_no_first_message(self):
        for body in (b"\xc0", b"hello", b"\x93" + bytes([attack.own_version(), 5, 0])):
            with self.subTest(body), talk.Conversation(self.offer.port, self.offer.token()) as other:
                self.assertTrue(other.ends(body))
        self.lists(self.offer)

    def session(self):
        """A client with an open session, the port of its process, and its password."""
        before = siege.listening(self.offer.children())
        way = proxy.Proxy(target=("127.0.0.1", self.offer.port))
        self.addCleanup(way.stop)
        client = siege.start([siege.CLIENT, "open", "work", "pause", "work", "close"],
                             **{**self.offer.variables, "DCL_WORKERS": f"tcp://127.0.0.1:{way.port}"})
        self.addCleanup(client.communicate)
        siege.line_of(client, "pause DCL_OK")
        (port,) = siege.listening(self.offer.children()) - before
        opening = talk.messages_of(b"".join(way.recorded()))[1]
        return client, port, next(text for text in talk.strings_in(opening) if re.fullmatch("[0-9a-f]{32,64}", text))

    def test_port_of_a_session(self):
        """It takes its own session's password: not the listener's token, not another session's."""
        sessions = [self.session() for _ in range(2)]
        passwords = [password for _, _, password in sessions]
        self.assertEqual(len({*passwords, self.offer.token()}), 3)
        for (_, port, _), others in zip(sessions, reversed(passwords)):
            for password in (others, self.offer.token(), ""):
                with self.assertRaisesRegex(attack.Ended, "refused|closed|reset"):
                    talk.Conversation(port, password)
        self.assertTrue(self.offer.logs('refused 127.0.0.1 at "session", PLAIN'), self.offer.log())
        for client, _, _ in sessions:
            text, _ = client.communicate("go on\n", timeout=60)
            self.assertEqual(client.returncode, 0, text)

    def test_same_peer_again(self):
        """Who has the session's password, which is its client alone, cannot be its host a second time."""
        client, port, password = self.session()
        with talk.Conversation(port, password) as other:
            self.assertTrue(other.ends(b"\x93" + bytes([attack.own_version(), 10, 0])))
        text, _ = client.communicate("go on\n", timeout=60)
        self.assertEqual(client.returncode, 0, text)


class Nothing(siege.Siege):
    """Where no port is asked for there is none, and no file."""

    def sees_nothing(self, **variables):
        folder = self.inner()
        before = processes.snapshot(folders=[folder])
        client = siege.start([siege.CLIENT, "open", "work", "pause", "close"], TMPDIR=folder, **variables)
        self.addCleanup(client.communicate)
        siege.line_of(client, "pause DCL_OK")
        pids = {client.pid} | processes.descendants(client.pid)
        held = processes.sockets(pids)
        self.assertEqual([text for text in held if text.startswith("tcp")], [])
        self.assertEqual([text for text in held if text.startswith("unix") and not text.startswith("unix unnamed")], [])
        self.assertEqual(os.listdir(folder), [])
        inodes = {int(target[8:-1]) for pid in pids for target in processes.descriptors_of(pid).values()
                  if target.startswith("socket:[")}
        for table in ("udp", "udp6", "raw", "raw6"):
            lines = pathlib.Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
            self.assertFalse(inodes & {int(line.split()[9]) for line in lines}, table)
        self.assertFalse(self.named_files(pids))
        client.communicate("go on\n", timeout=60)
        self.assertEqual(client.returncode, 0)
        processes.nothing_left(before, 5, folders=[folder])
        return len(pids)

    @staticmethod
    def named_files(pids):
        """Files that these processes can write and that have a name, other than pipes and devices."""
        found = set()
        for pid in pids:
            for number, target in processes.descriptors_of(pid).items():
                flags = re.search(r"flags:\s+(\d+)", processes.read(f"/proc/{pid}/fdinfo/{number}").decode())
                writable = flags and int(flags[1], 8) & 3
                if writable and target.startswith("/") and not target.startswith(("/dev/", "/memfd:")):
                    found.add(target)
        return found

    def test_embedded(self):
        self.assertEqual(self.sees_nothing(), 1)

    def test_local(self):
        self.assertEqual(self.sees_nothing(DCL_WORKERS="local:2"), 3)


class Public(siege.Siege):
    def test_no_keys_beyond_loopback(self):
        for address in ("tcp://0.0.0.0:0", "tcp://*:0", "tcp://[::]:0", f"tcp://{self.address()}:0"):
            with self.subTest(address):
                done = siege.run([siege.DCL, "worker", "--listen", address])
                self.assertEqual(done.code, 1, done.text)
                self.assertRegex(done.text, "dcl keys")
                self.assertLess(done.seconds, 3 * siege.SLOW)

    @staticmethod
    def address():
        """Of this host, beyond loopback; where it has none, any."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            try:
                one.connect(("192.0.2.1", 9))  # nothing is sent
                return one.getsockname()[0]
            except OSError:
                return "0.0.0.0"

    def test_token_is_not_sent_beyond_loopback(self):
        path = f"{self.inner()}/token"
        pathlib.Path(path).write_text("0" * 64, encoding="ascii")
        os.chmod(path, 0o600)
        done = siege.run([siege.CLIENT, "open"], DCL_WORKERS="tcp://192.0.2.1:7700", DCL_TOKEN=path)
        self.refuses(done, "DCL_ERR_INVALID", "keys")


del Refusal

if __name__ == "__main__":
    siege.main()
