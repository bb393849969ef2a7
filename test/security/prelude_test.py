#!/usr/bin/python3
"""A client's text has a worker's compiler read no file: the program refuses it, and so does a worker that is sent it."""
import os
import pathlib

import siege  # first: it finds the others

# The same client, which sends whatever it is given.
UNFILTERED = os.path.abspath(os.environ.get("TEST_SECURITY_UNFILTERED", "build/test/security_client_unfiltered"))


class Prelude(siege.Siege):
    def setUp(self):
        super().setUp()
        self.secret = "fee1dead" + os.urandom(28).hex()
        self.path = f"{self.inner('keys')}/own.secret"
        pathlib.Path(self.path).write_text(self.secret + "\n", encoding="ascii")

    def attempt(self, client, text):
        """What a program with this prelude is told, and how it ended; nobody shows the secret."""
        prelude = f"{self.inner()}/prelude"
        pathlib.Path(prelude).write_text(text.replace("SECRET", self.path), encoding="ascii")
        worker = self.worker()
        done = siege.run([client, "open", f"prelude:{prelude}", "close"], seconds=60 * siege.SLOW, **worker.variables)
        for where in (done.text, worker.log()):
            self.assertNotIn(self.secret[:16], where)
        return done

    def test_program_refuses(self):
        done = self.attempt(siege.CLIENT, 'constant int x =\n#include "SECRET"\n;')
        self.assertRegex(done.text, "prelude:.* DCL_ERR_BODY .*prelude line 2, column 2: #include reads a file")

    def test_worker_refuses(self):
        for text in ('constant int x =\n#include "SECRET"\n;', 'constant int x =\n/* */ %:\\\ninc\\\nlude "SECRET"\n;',
                     '#define J(a, b) a##b\nvoid f(void) { J(as, m)(".incbin \\"SECRET\\""); }\n'):
            done = self.attempt(UNFILTERED, text)
            self.assertRegex(done.text, "prelude:.* DCL_ERR_BODY .*(reads a file|inline assembly)")


if __name__ == "__main__":
    siege.main()
