#!/usr/bin/python3
"""The page of maps and its pictures: gallery_test.py PATH_TO_DCL

Every picture is what its command draws today, is shown with a caption, and has the owners that `dcl map --owners` prints.
Ends with status 1 when something failed; `make gallery` draws the pictures anew."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import picture_test

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "maps.md"
PICTURES = ROOT / "docs" / "gallery"


def commands():
    """Arguments by the picture's name."""
    lines = re.findall(r"(?m)^    dcl map (.*) --svg gallery/([a-z0-9-]+\.svg)$", PAGE.read_text())
    return [(name, shlex.split(arguments)) for arguments, name in lines]


class Gallery(unittest.TestCase):
    def test_pictures_are_what_is_drawn_now(self):
        with tempfile.TemporaryDirectory(prefix="dcl-gallery-") as folder:
            subprocess.run([ROOT / "scripts" / "gallery", picture_test.DCL, PAGE, folder], check=True, timeout=120,
                           stdin=subprocess.DEVNULL, env=dict(os.environ, DCL_TILE_BYTES="64", DCL_MAP="cyclic"))
            now = {path.name: path.read_text() for path in pathlib.Path(folder, "gallery").iterdir()}
        kept = {path.name: path.read_text() for path in PICTURES.iterdir()}
        self.assertEqual(sorted(kept), sorted(now), "make gallery draws them anew")
        for name, text in kept.items():
            self.assertTrue(text == now[name], f"{name} is not what is drawn now; make gallery draws it anew")

    def test_every_kind_of_map_is_shown(self):
        """The words with which lines of `dcl help maps` begin, and those behind them that are kinds of their own."""
        text = subprocess.run([picture_test.DCL, "help", "maps"], stdout=subprocess.PIPE, text=True, check=True).stdout
        words = re.findall(r"(?m)^  (;?[a-z]+(?::[a-z]+)?|\*)(?=[ (=:;])", text[:text.index("Examples")])
        self.assertLess({"block", "cyclic", "*", "splits", "rows:table", "boxes", ";tile"}, set(words))
        shown = " ".join(word for _, arguments in commands() for word in arguments)
        for word in [*words, "weighted", "columns:cyclic", "columns:block", "replicated", "-*"]:
            self.assertIn(word, shown, "docs/maps.md has no picture of it")

    def test_every_picture_is_shown_once_with_a_caption(self):
        shown = re.findall(r"(?m)^!\[(.{20,})\]\(gallery/(.*)\)$", PAGE.read_text())
        self.assertEqual([name for _, name in shown], [name for name, _ in commands()])
        self.assertEqual(len({caption for caption, _ in shown}), len(shown))

    def test_pictures_have_the_owners_that_are_printed(self):
        for name, arguments in commands():
            if "--body" in arguments:
                continue
            option = dict(zip(arguments[0::2], arguments[1::2]))
            extents = tuple(map(int, option["--grid"].split("x")))
            if max(extents) > 1000:
                continue
            expected = picture_test.owners(extents, int(option["--nodes"]), option["--map"])
            drawn = 0
            for plane in picture_test.planes((PICTURES / name).read_text()):
                for place, fill in plane.fill.items():
                    self.assertEqual(fill, picture_test.fill_of(expected[plane.index(place)]), (name, place))
                    drawn += 1
            self.assertGreater(drawn, 0, name)

    def test_pictures_are_documents_of_their_own(self):
        for path in PICTURES.iterdir():
            root = xml.etree.ElementTree.fromstring(path.read_text())
            self.assertEqual(root.tag, picture_test.SVG + "svg", path)
            self.assertEqual(root[0].tag, picture_test.SVG + "title", path)
            self.assertNotIn("href", path.read_text())


def main():
    if len(sys.argv) != 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("gallery_test.py: expected the path of the dcl command as the only argument")
    picture_test.DCL = os.path.abspath(sys.argv[1])
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Gallery)
    sys.exit(not unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite).wasSuccessful())


if __name__ == "__main__":
    main()
