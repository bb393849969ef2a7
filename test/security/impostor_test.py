#!/usr/bin/python3
"""Another user's process takes the place of a worker without keys, or of one of its processes, after it was looked whose
the listener is: the listener is of this user, who accepts is not."""
import os
import socket
import subprocess
import sys

import siege  # first: it finds the others

ELSEWHERE = "127.0.0.2"

FORWARDER = """import encodings.idna, os, socket, sys, threading
os.setuid(int(sys.argv[3]))
def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for end in (a, b):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
listener = socket.socket(fileno=int(sys.argv[1]))
while True:
    one, _ = listener.accept()
    two = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for a, b in ((one, two), (two, one)):
        threading.Thread(target=pump, args=(a, b), daemon=True).start()
"""


RECORDER = """import os, socket, sys
os.setuid(int(sys.argv[2]))
listener = socket.create_server((sys.argv[1], int(sys.argv[3])))
print("ready", flush=True)
listener.accept()
print("somebody", flush=True)
"""


class Impostor(siege.Siege):
    def test_who_listens(self):
        """A port of a session at which another user listens is not connected to: a handshake shows the password."""
        if os.geteuid() != 0:
            self.skipTest("needs to be root to run a process as another user")
        with socket.create_server(("127.0.0.1", 0)) as free:
            session_port = free.getsockname()[1]
        worker = self.worker("--ports", f"{session_port}-{session_port}")
        self.forward(worker.port, 0)
        with subprocess.Popen([sys.executable, "-c", RECORDER, ELSEWHERE, str(siege.NOBODY), str(session_port)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as recorder:
            try:
                self.assertEqual(recorder.stdout.readline(), "ready\n")
                worker.variables["DCL_WORKERS"] = f"tcp://{ELSEWHERE}:{worker.port}"
                done = self.client(worker, "open")
            finally:
                recorder.kill()
            self.assertEqual(recorder.stdout.read(), "", "the listener of another user was connected to")
        self.assertIn("open DCL_ERR", done.text)
        self.assertRegex(done.text, "65534's|another user's")

    def forward(self, port, user):
        """What comes to a port of another address goes to the same one of 127.0.0.1, by a process of this user."""
        listener = socket.create_server((ELSEWHERE, port))
        process = subprocess.Popen([sys.executable, "-c", FORWARDER, str(listener.fileno()), str(port), str(user)],
                                   pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL)
        listener.close()
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def test_who_accepts(self):
        if os.geteuid() != 0:
            self.skipTest("needs to be root to run a process as another user")
        for listener, session, status in ((0, 0, "DCL_OK"), (siege.NOBODY, 0, "DCL_ERR"), (0, siege.NOBODY, "DCL_ERR")):
            with self.subTest(f"{listener} {session}"):
                with socket.create_server(("127.0.0.1", 0)) as free:
                    session_port = free.getsockname()[1]
                worker = self.worker("--ports", f"{session_port}-{session_port}")
                self.forward(worker.port, listener)
                self.forward(session_port, session)
                worker.variables["DCL_WORKERS"] = f"tcp://{ELSEWHERE}:{worker.port}"
                done = self.client(worker, "open")
                self.assertIn(f"open {status}", done.text)
                if status != "DCL_OK":
                    self.assertRegex(done.text, "65534's|another user's")


if __name__ == "__main__":
    siege.main()
