#!/usr/bin/python3
"""Files of workers: those of the folder that --files names, and no others, whatever the path says. What a worker may not
or cannot use itself, the program reads and writes for it, with the same result."""
import os
import pathlib
import threading

import siege  # first: it finds the others

import numpy

EXPECTED = numpy.add.outer(numpy.arange(64, dtype=numpy.float32), numpy.arange(64, dtype=numpy.float32))


class Files(siege.Siege):
    def setUp(self):
        super().setUp()
        self.offered, self.elsewhere = self.inner("offered"), self.inner("elsewhere")
        self.offer = self.worker("--files", self.offered)

    def moves(self, path, way):
        """Saved and loaded again; @return the text of the log of how."""
        done = self.client(self.offer, "open", f"save:{path}", f"load:{path}", "close", DCL_FILES=way, DCL_LOG="debug")
        self.assertEqual(done.code, 0, done.text)
        numpy.testing.assert_array_equal(numpy.load(path), EXPECTED)
        return done.text

    def test_direct_and_streamed_are_the_same(self):
        found = []
        for way in ("auto", "direct", "stream"):
            path = f"{self.offered}/{way}.npy"
            self.moves(path, way)
            found.append(pathlib.Path(path).read_bytes())
        self.assertEqual(len(set(found)), 1)
        self.assertEqual(sorted(os.listdir(self.offered)), ["auto.npy", "direct.npy", "stream.npy"])

    def test_outside_it_is_streamed(self):
        self.moves(f"{self.elsewhere}/a.npy", "auto")
        self.assertEqual(os.listdir(self.elsewhere), ["a.npy"])

    def refused_directly(self, path):
        """@return the text. The file is not there afterwards."""
        done = self.client(self.offer, "open", f"save:{path}", DCL_FILES="direct")
        self.refuses(done, "DCL_ERR_FILE", "folder|files", seconds=10)
        return done.text

    def test_outside_it_is_refused_directly(self):
        numpy.save(f"{self.elsewhere}/there.npy", EXPECTED)
        for path in (f"{self.elsewhere}/a.npy", f"{self.offered}/../elsewhere/a.npy", f"{self.offered}x.npy"):
            with self.subTest(path):
                self.refused_directly(path)
                self.assertFalse(os.path.exists(path))
        done = self.client(self.offer, "open", f"load:{self.elsewhere}/there.npy", DCL_FILES="direct")
        self.refuses(done, "DCL_ERR_FILE", "folder|files", seconds=10)

    def test_links_that_lead_out(self):
        os.symlink(self.elsewhere, f"{self.offered}/out")
        numpy.save(f"{self.elsewhere}/there.npy", EXPECTED)
        os.symlink(f"{self.elsewhere}/there.npy", f"{self.offered}/link.npy")
        before = pathlib.Path(f"{self.elsewhere}/there.npy").stat()
        self.refused_directly(f"{self.offered}/out/a.npy")
        done = self.client(self.offer, "open", f"load:{self.offered}/link.npy", DCL_FILES="direct")
        self.refuses(done, "DCL_ERR_FILE", "folder|files", seconds=10)
        # The program may follow its own links, and read there for the worker.
        done = self.client(self.offer, "open", f"load:{self.offered}/link.npy", "close", DCL_FILES="stream")
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(os.listdir(self.elsewhere), ["there.npy"])
        self.assertEqual(before.st_mtime_ns, pathlib.Path(f"{self.elsewhere}/there.npy").stat().st_mtime_ns)

    def test_a_folder_that_was_exchanged(self):
        """The worker's folder is the one it was started with, whatever has its name now."""
        moved = f"{self.offered}-moved"
        os.rename(self.offered, moved)
        os.symlink(self.elsewhere, self.offered)
        self.refused_directly(f"{self.offered}/a.npy")
        self.assertEqual(os.listdir(self.elsewhere), [])
        self.moves(f"{moved}/a.npy", "direct")
        self.assertEqual(os.listdir(moved), ["a.npy"])
        self.moves(f"{self.offered}/a.npy", "auto")
        self.assertEqual(os.listdir(self.elsewhere), ["a.npy"])

    def test_links_that_are_exchanged_meanwhile(self):
        """A name that leads inside when it is looked at, and outside when it is opened."""
        numpy.save(f"{self.elsewhere}/secret.npy", EXPECTED + 1)
        path, out = f"{self.offered}/a.npy", f"{self.offered}/link.npy"
        numpy.save(path, EXPECTED)
        os.symlink(f"{self.elsewhere}/secret.npy", out)
        stop = threading.Event()

        def exchange():
            while not stop.is_set():
                os.rename(path, f"{self.offered}/b.npy")
                os.rename(out, path)
                os.rename(path, out)
                os.rename(f"{self.offered}/b.npy", path)

        thread = threading.Thread(target=exchange)
        thread.start()
        try:
            for _ in range(8):  # what is loaded is what the program has looked at, or nothing is
                done = self.client(self.offer, "open", f"load:{path}", DCL_FILES="direct")
                self.assertTrue(done.code == 0 or "DCL_ERR_FILE" in done.text, done.text)
        finally:
            stop.set()
            thread.join()

    def test_worker_without_files(self):
        other = self.worker()
        path = f"{self.elsewhere}/a.npy"
        done = self.client(other, "open", f"save:{path}", f"load:{path}", "close", DCL_FILES="auto")
        self.assertEqual(done.code, 0, done.text)
        numpy.testing.assert_array_equal(numpy.load(path), EXPECTED)
        done = self.client(other, "open", f"save:{self.elsewhere}/b.npy", DCL_FILES="direct")
        self.refuses(done, "DCL_ERR_FILE", "files", seconds=10)

    def test_two_workers_of_which_one_may(self):
        other = self.worker()
        if other.token() == self.offer.token():
            self.fail("two workers have the same token")
        for path in (f"{self.offered}/a.npy", f"{self.elsewhere}/a.npy"):
            self.moves(path, "auto")

    def test_not_even_asked(self):
        """A worker that may not use a folder does not open what is there: a pipe would hold it for ever."""
        os.mkfifo(f"{self.elsewhere}/pipe.npy")
        done = self.client(self.offer, "open", f"load:{self.elsewhere}/pipe.npy", DCL_FILES="direct")
        self.refuses(done, "DCL_ERR_FILE", seconds=10)
        self.works(self.offer)


if __name__ == "__main__":
    siege.main()
