#!/usr/bin/python3
"""A member of a session that has turned hostile cannot speak for the host: member.c tries, with all that a node of a
session is given, over tcp with keys and with a token."""
import os

import siege

MEMBER = os.path.abspath(os.environ.get("TEST_SECURITY_MEMBER", "build/test/security_member"))
KINDS = "KERNEL OPERATIONS STOP SETUP LOST JOINED SEES COUNT".split()


class Token(siege.Siege):
    def setUp(self):
        super().setUp()
        self.offer, self.way = self.open()

    def open(self):
        offer = self.worker("--peer-ports", "1024-65535")  # the test listens anywhere
        return offer, f"token:{offer.token_path}"

    def tries(self, what):
        """The lines of what was tried; all of it was refused, and the other node works on."""
        done = siege.run([MEMBER, self.offer.address, self.way, what], seconds=150 * siege.SLOW)
        self.assertEqual(done.code, 0, f"{done.text}\nworker: {self.offer.log()}")
        self.assertIn("the other node works on", done.text)
        return done.text

    def test_a_member_is_not_the_host(self):
        self.tries("host")
        self.assertTrue(self.offer.logs("has not shown the host's key claims to be peer 16, the host: cut off"),
                        self.offer.log())
        self.assertTrue(self.offer.logs('refused 127.0.0.1 at "session"'), self.offer.log())

    def test_what_only_the_host_may_say(self):
        text = self.tries("says")
        for number, kind in enumerate(KINDS, 2):
            self.assertRegex(text, f"member: {kind}: .*peer {number} sent a message {kind}, which it must not send")

    def test_what_is_passed_on_is_the_hosts(self):
        for what in ("made", "changed", "guessed", "of-another"):
            with self.subTest(what):
                self.assertRegex(self.tries(what), f"member: {what}: .*must not send, or not without the host's proof")


class Keys(Token):
    def open(self):
        own, program = self.keys("worker", "program")
        return self.worker("--peer-ports", "1024-65535", keys=own), f"keys:{program}"


if __name__ == "__main__":
    siege.main()
