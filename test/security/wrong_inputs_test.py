#!/usr/bin/python3
"""What people get wrong about workers, a row each: what was given, the status, words of the sentence. None of it hangs."""
import concurrent.futures
import http.server
import os
import pathlib
import socket
import threading

import siege  # first: it finds the others
import processes


INVALID, FILE, NETWORK = "DCL_ERR_INVALID", "DCL_ERR_FILE", "DCL_ERR_NETWORK"

ADDRESSES = [
    # what                        DCL_WORKERS                                       status   words
    ("no port",                   "tcp://127.0.0.1",                                INVALID, "has no port"),
    ("nothing behind the colon",  "tcp://127.0.0.1:",                               INVALID, "has no port"),
    ("port 0",                    "tcp://127.0.0.1:0",                              INVALID, r"port 0, which is not in 1\.\.65535"),
    ("port too large",            "tcp://127.0.0.1:70000",                          INVALID, r"port 70000, which is not in"),
    ("port of many digits",       "tcp://127.0.0.1:" + "9" * 40,                    INVALID, r"which is not in 1\.\.65535"),
    ("negative port",             "tcp://127.0.0.1:-1",                             INVALID, 'has the port "-1"'),
    ("unknown scheme",            "udp://127.0.0.1:7700",                           INVALID, "expected local:N, addresses such as tcp"),
    ("scheme of another",         "tcp://127.0.0.1:7700,ipc://x",                   INVALID, 'begins with "ipc://"'),
    ("no scheme",                 "127.0.0.1:7700",                                 FILE,    "no file that can be read"),
    ("no host",                   "tcp://:7700",                                    INVALID, "has no host"),
    ("any host",                  "tcp://*:7700",                                   INVALID, "character '\\*' in its host"),
    ("IPv6 without brackets",     "tcp://::1:7700",                                 INVALID, "an IPv6 address stands in brackets"),
    ("bracket left open",         "tcp://[::1:7700",                                INVALID, r"no '\]' behind '\['"),
    ("no IPv6 in brackets",       "tcp://[node3]:7700",                             INVALID, '"node3" in brackets'),
    ("IPv6 without port",         "tcp://[::1]",                                    INVALID, "has no port"),
    ("text behind the port",      "tcp://127.0.0.1:7700x",                          INVALID, '"x" behind its port'),
    ("a path behind the port",    "tcp://127.0.0.1:7700/desk",                      INVALID, '"/desk" behind its port'),
    ("a blank",                   "tcp://127.0.0.1 :7700",                          INVALID, "character ' ' in its host"),
    ("the same twice",            "tcp://127.0.0.1:7700,tcp://127.0.0.1:7700",      INVALID, "is named twice"),
    ("a comma at the end",        "tcp://127.0.0.1:7700,",                          INVALID, 'address "" is empty'),
    ("too long",                  "tcp://" + "h" * 300 + ":7700",                   INVALID, "at most 255"),
    ("nobody, locally",           "local:0",                                        INVALID, "N from 1 to 2048"),
    ("less than nobody",          "local:-1",                                       INVALID, "N from 1 to 2048"),
    ("too many",                  "local:9999",                                      INVALID, "N from 1 to 2048"),
    ("no number",                 "local:two",                                      INVALID, "N from 1 to 2048"),
    ("text behind the number",    "local:2x",                                       INVALID, "N from 1 to 2048"),
]

LINES = [
    # what                        the file                                          status   words
    ("empty",                     "",                                               FILE,    "names no worker"),
    ("comments only",             "# none yet\n\n",                                 FILE,    "names no worker"),
    ("bad line with its number",  "# a\n\ntcp://h:1\nnonsense here\n",              INVALID, "line 4: address .nonsense. does not begin"),
    ("bad line behind a long one", f"# {'x' * 5000}\nnonsense\n",                   INVALID, "line 2: address"),
    ("bad port",                  "tcp://h:99999\n",                                INVALID, "line 1: .* has the port 99999"),
    ("key too short",             "tcp://h:1 key=12\n",                             INVALID, 'line 1: "12" is no public key'),
    ("key of other letters",      f"tcp://h:1 key={'x' * 64}\n",                    INVALID, "line 1: .* is no public key"),
    ("something else behind it",  "tcp://h:1 password=x\n",                         FILE,    "line 1: .*expected key="),
    ("the same twice",            "tcp://h:1\ntcp://h:1\n",                         INVALID, "line 2: tcp://h:1 is named twice"),
    ("a line without end",        "tcp://" + "h" * 5000,                            INVALID, "line 1: an address of 5006 bytes"),
]

SETTINGS = [
    # what                        variables                                                          status   words
    ("program that is not there", {"DCL_WORKERS": "local:1", "DCL_PROGRAM": "/none"},                FILE,    "No such file"),
    ("program not to be run",     {"DCL_WORKERS": "local:1", "DCL_PROGRAM": "/etc/passwd"},          FILE,    "Permission denied|no program"),
    ("program of another kind",   {"DCL_WORKERS": "local:1", "DCL_PROGRAM": "/bin/true"},            NETWORK, "did not start: ended by itself"),
    ("no silence at all",         {"DCL_WORKERS": "local:1", "DCL_SILENCE_MS": "0"},                 INVALID, r"expected 100\.\.86400000"),
    ("too many spare ones",       {"DCL_WORKERS": "local:1", "DCL_SPARE": "1000"},                   INVALID, r"expected 0\.\.128"),
    ("no name in any network",    {"DCL_WORKERS": "tcp://no-such-host.invalid:7700"},                "",      "no token|cannot be|could not|resolve|looked up"),
    ("variable with a slip",      {"DCL_WORKER": "local:1"},                                         INVALID, "the nearest is DCL_WORKERS"),
    ("no token to be found",      {"DCL_WORKERS": "tcp://127.0.0.1:1"},                              FILE,    "there is no token for"),
    ("token that is not there",   {"DCL_WORKERS": "tcp://127.0.0.1:1", "DCL_TOKEN": "/none"},        FILE,    "token of a running worker"),
    ("token that is a folder",    {"DCL_WORKERS": "tcp://127.0.0.1:1", "DCL_TOKEN": "/tmp"},         FILE,    "/tmp"),
    ("keys that are not there",   {"DCL_WORKERS": "tcp://127.0.0.1:1", "DCL_KEYS": "/none"},         FILE,    "dcl keys"),
]

WORKER = [
    # what                        options                                            code words
    ("no port",                   ["--listen", "tcp://127.0.0.1"],                   1, "has no port"),
    ("port too large",            ["--listen", "tcp://127.0.0.1:70000"],             1, "which is not in 0..65535"),
    ("unknown scheme",            ["--listen", "ipc://x"],                           1, 'begins with "ipc://"'),
    ("somebody else's address",   ["--listen", "tcp://192.0.2.1:0"],                 1, "dcl keys|address of this machine"),
    ("ports backwards",           ["--ports", "7702-7701"],                          2, "expected 7701-7702"),
    ("ports out of range",        ["--ports", "1-70000"],                            2, "from 1 to 65535"),
    ("folder that is not there",  ["--files", "/none"],                              1, "files is ./none.*No such file"),
    ("folder that is a file",     ["--files", "/etc/passwd"],                        1, "not a folder"),
    ("no such device",            ["--devices", "99"],                               1, "99"),
    ("keys that are not there",   ["--keys", "/none"],                               1, "dcl keys"),
    ("quota of no number",        ["--quota", "much"],                               2, "much"),
    ("no sessions",               ["--sessions", "0"],                               2, "from 1|expected 1"),
]


def echo(connection):
    while data := connection.recv(4096):
        connection.sendall(data)


def silent(connection):
    while connection.recv(4096):
        pass


def talkative(connection):
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    silent(connection)


def rude(connection):
    connection.close()


class Listener:
    """Somebody who listens and is no worker."""

    def __init__(self, talk):
        self.talk, self.server = talk, socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                threading.Thread(target=self.answer, args=[self.server.accept()[0]], daemon=True).start()
            except OSError:
                return  # closed

    def answer(self, connection):
        with connection:
            try:
                self.talk(connection)
            except OSError:
                pass  # the client has had enough


class WrongInputs(siege.Siege):
    def opens(self, **variables):
        return siege.run([siege.CLIENT, "open"], **variables)

    def test_addresses(self):
        for what, workers, status, words in ADDRESSES:
            with self.subTest(what):
                self.refuses(self.opens(DCL_WORKERS=workers), status, words)

    def test_host_files(self):
        path = f"{self.inner()}/hosts"
        for what, text, status, words in LINES:
            with self.subTest(what):
                pathlib.Path(path).write_text(text, encoding="ascii")
                self.refuses(self.opens(DCL_WORKERS=path), status, words)

    def test_host_files_that_are_none(self):
        folder = self.inner()
        self.refuses(self.opens(DCL_WORKERS=f"{folder}/missing"), FILE, "no file that can be read", "No such file")
        self.refuses(self.opens(DCL_WORKERS=folder), FILE, "cannot be read")
        if os.geteuid() != 0:
            os.chmod(folder, 0)
            self.refuses(self.opens(DCL_WORKERS=f"{folder}/hosts"), FILE, "Permission denied")
            os.chmod(folder, 0o700)

    def test_settings(self):
        for what, variables, status, words in SETTINGS:
            with self.subTest(what):
                self.refuses(self.opens(**variables), status, words)

    def test_worker_options(self):
        token = f"{self.inner()}/token"
        for what, options, code, words in WORKER:
            with self.subTest(what):
                listen = [] if "--listen" in options else ["--listen", siege.LOOPBACK]
                keys = [] if "--keys" in options else ["--token", token]
                done = siege.run([siege.DCL, "worker", *listen, *keys, *options])
                self.assertEqual(done.code, code, done.text)
                self.assertRegex(done.text, words)
                self.assertLess(done.seconds, 3 * siege.SLOW)
                self.assertFalse(os.path.exists(token))

    def test_tokens(self):
        worker = self.worker()
        for text, status, words in (("", FILE, "holds no token"), ("short", FILE, "64 hexadecimal digits|holds no token"),
                                    ("0" * 64 + "00", FILE, "holds no token"), ("z" * 64, FILE, "holds no token"),
                                    ("0" * 64, NETWORK, "wrong token")):
            with self.subTest(text):
                path = f"{self.inner()}/token"
                pathlib.Path(path).write_text(text, encoding="ascii")
                os.chmod(path, 0o600)
                self.refuses(self.client(worker, DCL_TOKEN=path), status, words)

    def test_port_of_the_listener_in_use(self):
        worker = self.worker()
        done = siege.run([siege.DCL, "worker", "--listen", worker.address, "--token", f"{self.inner()}/token"])
        self.assertEqual(done.code, 1)
        self.assertRegex(done.text, "is in use; expected a port that nobody listens at")
        self.works(worker)

    def test_ports_of_sessions_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            worker = self.worker("--ports", f"{port}-{port}")
            self.refuses(self.client(worker), NETWORK, f"all ports {port}-{port} of 127.0.0.1 are in use", "larger")
        self.lists(worker)
        self.works(worker)  # the port is free now

    def test_nobody_listens(self):
        worker = self.worker()
        worker.stop()
        path = f"{self.inner()}/token"
        pathlib.Path(path).write_text("0" * 64, encoding="ascii")
        os.chmod(path, 0o600)
        self.refuses(self.client(worker, DCL_TOKEN=path), NETWORK, "connection refused .ECONNREFUSED.", "start it")
        self.refuses(self.client(worker), FILE, "token of a running worker")

    def test_listeners_that_are_no_workers(self):
        worker = self.worker()
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        web.RequestHandlerClass.log_message = lambda *_: None
        threading.Thread(target=web.serve_forever, daemon=True).start()
        self.addCleanup(web.server_close)
        self.addCleanup(web.shutdown)
        listeners = [Listener(talk) for talk in (echo, talkative, rude, silent)]
        for listener in listeners:
            self.addCleanup(listener.server.close)
        ports = [listener.port for listener in listeners] + [web.server_port]
        # At the same time: those who say nothing are given 5 s.
        with concurrent.futures.ThreadPoolExecutor(len(ports)) as pool:
            ends = pool.map(lambda port: self.client(worker, DCL_WORKERS=f"tcp://127.0.0.1:{port}"), ports)
        for what, done in zip(("echo", "ssh", "rude", "silent", "web"), ends):
            with self.subTest(what):
                self.refuses(done, NETWORK, "expected a worker of DCL|check the address|on loopback without keys", seconds=8)

    def test_worker_without_device(self):
        done = siege.run([siege.DCL, "worker", "--listen", siege.LOOPBACK, "--token", f"{self.inner()}/token"],
                         OCL_ICD_VENDORS="/nonexistent")
        self.assertEqual(done.code, 1)
        self.assertRegex(done.text, "no OpenCL (device|platform)|OpenCL")

    def test_worker_with_few_descriptors(self):
        done = siege.run(["bash", "-c", f'ulimit -n 16; exec "$0" worker --listen {siege.LOOPBACK} --token "$1"',
                          siege.DCL, f"{self.inner()}/token"])
        self.assertEqual(done.code, 1, done.text)
        self.assertRegex(done.text, "descriptors|Too many open files")

    def test_worker_that_runs_out_of_descriptors(self):
        """So few that not every connection or session finds one: refused with a sentence, and serving on."""
        worker = self.worker(prefix=["bash", "-c", 'ulimit -n 64; exec "$0" "$@"'])
        few = len(processes.descriptors_of(worker.pid)) + 4
        strangers = [socket.create_connection(("127.0.0.1", worker.port)) for _ in range(100)]
        for stranger in strangers:
            stranger.close()
        ended = lambda: len(processes.descriptors_of(worker.pid)) <= few
        processes.wait_until(ended, 5 * siege.SLOW, "that the strangers' connections end")
        self.lists(worker)
        clients = [siege.start([siege.CLIENT, "open", "work", "close"], **worker.variables) for _ in range(4)]
        texts = [client.communicate(timeout=60)[0] for client in clients]
        for client, text in zip(clients, texts):
            if client.returncode != 0:
                self.assertRegex(text, "descriptors|refuses|ended the connection|Too many", text)
        self.no_children(worker)
        processes.wait_until(ended, 5 * siege.SLOW, "that the connections of all clients end")
        self.works(worker)

    def test_client_with_few_descriptors(self):
        worker = self.worker()
        for variables in (worker.variables, {"DCL_WORKERS": "local:2"}):
            with self.subTest(variables):
                for limit in (12, 20, 30):
                    done = siege.run([siege.CLIENT, "open", "close"], **variables,
                                     prefix=["bash", "-c", f'ulimit -n {limit}; exec "$0" "$@"'])
                    if done.code != 0:
                        self.assertEqual(done.code, 1, f"{limit}: {done.text}")
                        self.assertRegex(done.text, "descriptors|Too many open files", f"limit {limit}")
        self.works(worker)


if __name__ == "__main__":
    siege.main()
