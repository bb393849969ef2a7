#!/usr/bin/python3
"""The OpenCL driver by the length of the kernel, the number of servers and the size of the transfers: the tests that are usual for remote OpenCL.

    opencl_figures.py [--svg FILE] DCL LINKS [loop|servers|sizes...]     the dcl command, bench/links; with --svg it draws what it measures

loop     c = a + b, the addition repeated: from a kernel that memory limits to one that computing does. 4 MB per array, on the host's device
         natively, in a process of the host (local:1), and over tcp on loopback.
servers  one program with 1, 2 and 4 servers, against one device of the host. Four servers would share the processors of this host, so the
         devices are the tests' fake ones: they sleep, copy 1.05 GB/s and add 8 elements in a microsecond.
sizes    writes and reads of 64 MB in transfers of 16 KB to 16 MB, natively, over local:1 and tcp, and the same bytes by ZeroMQ alone in messages of that
         size (of at most 1 MB).

Places take turns; medians of ROUNDS."""
import argparse
import os
import statistics
import sys
import tempfile
from unittest import mock

sys.dont_write_bytecode = True  # leave the source folder as it is
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drawing
from links import Side, by_hand, numbers_of
from workers import open_place

TURNS, ROUNDS = 3, 3
LOOP_ELEMENTS, LOOPS = 1 << 20, (1, 8, 64, 256, 1024)
ELEMENTS, SERVERS = 1 << 22, (1, 2, 4)
DEVICE = "gpu; apart; discrete; rate clEnqueueWriteBuffer 1049; rate clEnqueueReadBuffer 1049; rate work 8"  # per us
MEGABYTES, KILOBYTES = 64, (16, 64, 256, 1024, 4096, 16384)


class Bench:
    def __init__(self, dcl, links, folder):
        self.dcl, self.links, self.folder = dcl, links, folder
        self.driver = {"OCL_ICD_VENDORS": os.path.join(os.path.dirname(dcl), "dcl.icd"), "DCL_PROGRAM": dcl}
        self.places = 0

    def opened(self, place):
        self.places += 1
        folder = f"{self.folder}/{self.places}"
        os.mkdir(folder)
        return open_place(place, self.dcl, folder)

    def seconds(self, argv, variables):
        return numbers_of(Side(None, 0).start([self.links, *map(str, argv)], variables))

    def natively_and_remotely(self, argvs):
        """@return argv -> (natively, local:1, tcp:1), each all seconds that `links argv` prints."""
        found = {argv: ([], [], []) for argv in argvs}
        with self.opened("tcp:1") as tcp:
            for _ in range(TURNS):
                for argv in argvs:
                    for seconds, variables in zip(found[argv], ({}, {**self.driver, "DCL_WORKERS": "local:1"}, {**tcp.variables, **self.driver})):
                        seconds += self.seconds(argv, variables)
        return found


def loop(bench):
    ratios = {"local:1": {}, "tcp": {}}
    print(f"{'additions':>10}{'natively, ms':>14}{'local:1':>10}{'tcp':>10}   of the native time", flush=True)
    for (_, _, turns, _), times in bench.natively_and_remotely([("add", LOOP_ELEMENTS, turns, ROUNDS) for turns in LOOPS]).items():
        native, local, tcp = (statistics.median(seconds) for seconds in times)
        ratios["local:1"][turns], ratios["tcp"][turns] = local / native, tcp / native
        print(f"{turns:>10}{1000 * native:>14.1f}{local / native:>10.2f}{tcp / native:>10.2f}", flush=True)
    return "time of additions / natively", "additions of an element", [(name, False, values) for name, values in ratios.items()], 1


def servers(bench):
    fake = os.path.join(os.path.dirname(bench.dcl), "test", "fake_opencl.so")
    device, argv = {"OCL_ICD_VENDORS": fake, "TEST_OPENCL": DEVICE}, ("add", ELEMENTS, 1, ROUNDS)
    ratios = {}
    with mock.patch.dict(os.environ, device):
        local = statistics.median(bench.seconds(argv, device))
        print(f"one device of the host, which sleeps: {1000 * local:.0f} ms", flush=True)
        for count in SERVERS:
            with bench.opened(f"tcp:{count}") as place:
                ratios[count] = local / statistics.median(bench.seconds(argv, {**place.variables, **bench.driver}))
            print(f"{count} servers: {ratios[count]:.2f} times as fast", flush=True)
    return "speed with several servers / one local device", "servers", [("tcp", False, ratios)], 1


def sizes(bench):
    rates = {f"{way}, {name}": {} for way in ("write", "read") for name in ("natively", "local:1", "tcp")}
    rates["ZeroMQ alone"] = {}
    alone = {}
    for size in KILOBYTES:
        with mock.patch.dict(os.environ, {"DCL_CHUNK_BYTES": str(min(size, 1024) << 10)}):
            alone[size] = statistics.median(s for _ in range(TURNS) for s in by_hand(bench.links, Side(None, 0), Side(None, 0), "plain", MEGABYTES, ROUNDS)[0])
    print(f"{'KB':>6}{'ZeroMQ':>9}{'write: natively':>17}{'local:1':>9}{'tcp':>7}{'read: natively':>16}{'local:1':>9}{'tcp':>7}   GB/s", flush=True)
    for (_, _, size, _), times in bench.natively_and_remotely([("transfers", MEGABYTES, size, ROUNDS) for size in KILOBYTES]).items():
        found = [MEGABYTES * 2**20 / statistics.median(seconds[way::2]) / 1e9 for way in (0, 1) for seconds in times]
        rates["ZeroMQ alone"][size] = MEGABYTES * 2**20 / alone[size] / 1e9
        for name, rate in zip(rates, found):
            rates[name][size] = rate
        widths = (17, 9, 7, 16, 9, 7)
        print(f"{size:>6}{rates['ZeroMQ alone'][size]:>9.2f}" + "".join(f"{rate:>{width}.2f}" for rate, width in zip(found, widths)), flush=True)
    return "GB/s of 64 MB in transfers", "KB per transfer", [(name, name.startswith("read"), values) for name, values in rates.items()], None


def ticks_of(curves):
    values = [value for _, _, of_size in curves for value in of_size.values()]
    steps = (0.05, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
    low = max((step for step in steps if step <= min(values)), default=steps[0])
    high = min((step for step in steps if step >= max(values)), default=steps[-1])
    return tuple(step for step in steps if low <= step <= high)


def main(argv):
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--svg")
    parser.add_argument("paths", nargs=2)
    parser.add_argument("parts", nargs="*", choices=["loop", "servers", "sizes", []])
    given = parser.parse_args(argv)
    dcl, links = (os.path.abspath(path) for path in given.paths)
    if not os.path.exists(os.path.join(os.path.dirname(dcl), "test", "fake_opencl.so")):
        print("skipped: the fake device is not there; `make test` builds it")
        return 77
    with tempfile.TemporaryDirectory(prefix="dcl-opencl-figures-") as folder:
        bench = Bench(dcl, links, folder)
        panels = [globals()[part](bench) for part in given.parts or ("loop", "servers", "sizes")]
    if given.svg:
        with open(given.svg, "w", encoding="utf-8") as file:
            file.write(drawing.chart("OpenCL on other hosts", "PoCL on this host's processors, servers with devices that sleep; tcp over loopback", "",
                                     [(title, label, curves, ticks_of(curves), goal) for title, label, curves, goal in panels]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
