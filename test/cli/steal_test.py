#!/usr/bin/python3
"""Which nodes lend work under which policy of `dcl eval --steal`: steal_test.py PATH_TO_DCL

Elements cost more the greater their index, so the last node has the most to do. When and how much is lent depends on the
machine's load, so an evaluation in which work must be lent is repeated."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

DCL = None  # set by main()
ATTEMPTS = 20
BODY = "float x = i; for (int n = 0; n < i / 16; n++) x = x * 0.999f + 1; C(i) = x;"


class Steal(unittest.TestCase):
    def setUp(self):
        self.made = tempfile.TemporaryDirectory()
        self.addCleanup(self.made.cleanup)
        self.folder = pathlib.Path(self.made.name)

    def lent(self, policy, devices, *workers):
        """Evaluate. @return (how many batches were lent, the elements)."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
        done = subprocess.run([DCL, "eval", "--steal", policy, *workers, "--repeat", "20", "--stats", BODY,
                               "C=c.npy:32768:float"], cwd=self.folder, timeout=300, stdin=subprocess.DEVNULL, text=True,
                              env={**env, "POCL_DEVICES": devices, "DCL_DEVICES": "cpu"}, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        stats = dict(line.split("=") for line in done.stderr.splitlines() if line.startswith("loans_"))
        return int(stats["loans_won"]), (self.folder / "c.npy").read_bytes()

    def is_lent(self, policy, devices, *workers):
        """Soon; and it does not change the result."""
        _, expected = self.lent("never", devices, *workers)
        for _ in range(ATTEMPTS):
            count, elements = self.lent(policy, devices, *workers)
            self.assertEqual(elements, expected)
            if count > 0:
                return
        self.fail(f"{policy}: nothing was lent in {ATTEMPTS} evaluations of 20 calls")

    def test_work_is_lent_by_default_if_that_pays(self):
        self.assertEqual(self.lent("never", "pthread", "--workers", "local:2")[0], 0)
        self.is_lent("pays", "pthread", "--workers", "local:2")
        self.is_lent("pays", "pthread pthread")

    def test_devices_of_another_kind_compute_nothing_unless_that_is_allowed(self):
        for policy in "always", "pays":
            self.assertEqual(self.lent(policy, "pthread basic")[0], 0)
            self.is_lent(f"{policy},kinds", "pthread basic")


def main():
    global DCL
    DCL = os.path.abspath(sys.argv[1])
    result = unittest.main(argv=sys.argv[:1] + sys.argv[2:], exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
