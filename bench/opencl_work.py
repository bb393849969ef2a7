#!/usr/bin/python3
"""Whole tasks over the network against the same tasks on a device of this host: the table of the paper on virtualized GPUs with pipelined
communication. A task writes its inputs to the device, runs a kernel, and reads its results.

    opencl_work.py [--svg FILE] DCL LINKS [PLACE...]    the dcl command, bench/links, and where: loopback 2500mbit

With --svg it draws the table, too.

On this host's own device the kernels would need the processors that the network needs, so the device is the tests' fake one, whose
commands take a given time and no processor: a copy of 1 MB takes COPY_MS, a product of two n x n matrices of floats 2 n^3 operations, a
Fourier transform of n x n complex numbers 10 n^2 log2(n), at FLOPS. Transfers of less than 1 MB are copied at once. "loopback" is tcp on this host with a
token; other places are the rates of cables between two network namespaces, encrypted (bench/links.py; root). Medians of ROUNDS (one round, if it takes
longer than LONG_S; MANY rounds of tasks of less than 4 MB), and what DCL_FAULT=store makes of the same task: transfers stored and forwarded. All of it takes three quarters of an hour."""
import argparse
import contextlib
import math
import os
import statistics
import sys
import tempfile
from unittest import mock

sys.dont_write_bytecode = True  # leave the source folder as it is
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drawing
from links import Side, numbers_of
from hosts import Hosts
from workers import open_place, start_tcp, tcp_place

ROUNDS, MANY, LONG_S, MOST_S, MB = 3, 15, 5, 900, 1 << 20
COPY_MS = {"loopback": 1, "2500mbit": 4}  # of 1 MB: the network is not slower, as the paper's figures for large transforms imply
FLOPS = {"loopback": 100e9, "2500mbit": 50e9}
SHOWN = {"loopback": "DCL over loopback", "2500mbit": "DCL over a cable of 2.5 Gbit/s"}
# Size: remote pipelined / local, remote stored / local, as the paper has them; None: it does not say.
PRODUCTS = {1024: (0.97, 1.30), 2048: (None, None), 4096: (0.98, None), 8192: (0.99, None), 16384: (1.01, 1.04)}
TRANSFORMS = {8: (2.72, None), 64: (1.67, None), 512: (1.25, None), 1024: (1.14, 2.51), 2048: (1.08, None), 4096: (1.00, None),
              8192: (0.97, 2.49)}


class Task:
    def __init__(self, name, size, bytes_in, bytes_out, operations, paper):
        self.name, self.size, self.bytes_in, self.bytes_out = name, size, bytes_in, bytes_out
        self.operations, self.paper = operations, paper

    def kernel_ms(self, place):
        return round(1000 * self.operations / FLOPS[place])

    def rounds(self, place):
        if self.kernel_ms(place) >= 1000 * LONG_S:
            return 1
        return MANY if self.bytes_in < 4 * MB else ROUNDS

    def plan(self, place):
        kernel_ms = self.kernel_ms(place)
        copies = [f"rate clEnqueue{way}Buffer {MB // (1000 * COPY_MS[place])}" for way, count in (("Write", self.bytes_in), ("Read", self.bytes_out))
                  if count >= MB]
        return "; ".join(["gpu", "apart", "discrete", *copies, *([f"takes work {kernel_ms}"] if kernel_ms > 0 else [])])


def tasks():
    for n, paper in PRODUCTS.items():
        yield Task("product", n, 8 * n * n, 4 * n * n, 2 * n**3, paper)
    for n, paper in TRANSFORMS.items():
        yield Task("transform", n, 8 * n * n, 8 * n * n, 10 * n * n * math.log2(n), paper)


@contextlib.contextmanager
def opened(place, dcl, folder):
    """A worker, and the side on which the program runs."""
    if place == "loopback":
        with open_place("tcp:1", dcl, folder) as worker:
            yield worker, Side(None, 0)
        return
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(Hosts(2, place))
        offers, public = start_tcp(dcl, folder, 2, True, stack, hosts)
        yield tcp_place(offers[-1:], {"worker0": public["worker1"]}, folder), Side(hosts, 0)


def measure(task, place, dcl, links, folder):
    """@return seconds on this host's device, remote, remote stored and forwarded."""
    fake = os.path.join(os.path.dirname(dcl), "test", "fake_opencl.so")
    device = {"OCL_ICD_VENDORS": fake, "TEST_OPENCL": task.plan(place), "POCL_MEMORY_LIMIT": "16"}  # GB: the largest inputs have 2
    os.mkdir(folder)
    with mock.patch.dict(os.environ, device), opened(place, dcl, folder) as (worker, side):
        ours = {**worker.variables, "OCL_ICD_VENDORS": os.path.join(os.path.dirname(dcl), "dcl.icd")}
        whole = max(task.bytes_in, task.bytes_out)
        sizes = [str(task.bytes_in), str(task.bytes_out)]
        return [statistics.median(numbers_of(side.start([links, "work", *sizes, str(part), str(task.rounds(place))], variables), MOST_S))
                for part, variables in ((MB, device), (whole, ours), (whole, {**ours, "DCL_FAULT": "store"}))]


def said(value):
    return "-" if value is None else f"{value:.2f}"


def draw(path, found):
    """@param found  [place] -> task -> (remote / local, stored / local); None: not measured."""
    panels = []
    for name, title, ticks in (("product", "product of n x n floats", (0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6)),
                               ("transform", "Fourier transform of n x n complex numbers", (0.75, 1, 1.5, 2, 3, 4, 6, 8, 12))):
        of_kind = [task for task in tasks() if task.name == name]
        curves = [("the paper", False, {task.size: task.paper[0] for task in of_kind if task.paper[0]}),
                  ("the paper, without pipelining", True, {task.size: task.paper[1] for task in of_kind if task.paper[1]})]
        for place, ratios in found.items():
            mine = {size: pair for (kind, size), pair in ratios.items() if kind == name}
            curves += [(SHOWN[place] + (", stored and forwarded" if stored else ""), stored,
                        {size: pair[stored] for size, pair in mine.items() if pair[stored]}) for stored in (False, True)]
        panels.append((title, "n", curves, ticks, 1))
    with open(path, "w", encoding="utf-8") as file:
        file.write(drawing.chart("Whole tasks over the network", "Inputs written, a kernel, results read; the device sleeps, and the network is no "
                                 "slower than its copies", "time remote / local", panels))


def main(argv):
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--svg")
    parser.add_argument("paths", nargs=2)
    parser.add_argument("places", nargs="*")
    given = parser.parse_args(argv)
    dcl, links = (os.path.abspath(path) for path in given.paths)
    found = {}
    if not os.path.exists(os.path.join(os.path.dirname(dcl), "test", "fake_opencl.so")):
        print("skipped: the fake device is not there; `make test` builds it")
        return 77
    for place in given.places or ("loopback", "2500mbit"):
        why_not = None if place == "loopback" else Hosts.why_not(place)
        if why_not:
            print(f"{place}: skipped: {why_not}")
            continue
        print(f"{place}: device of {MB / COPY_MS[place] / 1e6:.2f} GB/s and {FLOPS[place] / 1e9:.0f} Gflop/s, which sleeps\n"
              f"{'task':<10}{'size':>6}{'local, ms':>12}{'remote / local':>16}{'paper':>8}{'stored / local':>16}{'paper':>8}", flush=True)
        found[place] = {}
        with tempfile.TemporaryDirectory(prefix="dcl-opencl-work-") as folder:
            for number, task in enumerate(tasks()):
                local, remote, stored = measure(task, place, dcl, links, f"{folder}/{number}")
                found[place][task.name, task.size] = remote / local, stored / local
                print(f"{task.name:<10}{task.size:>6}{1000 * local:>12.2f}{remote / local:>16.2f}{said(task.paper[0]):>8}"
                      f"{stored / local:>16.2f}{said(task.paper[1]):>8}", flush=True)
    if given.svg:
        draw(given.svg, found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
