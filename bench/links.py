#!/usr/bin/python3
"""Elements between two workers over tcp, against ZeroMQ alone between the same hosts, taking turns.

    links.py DCL LINKS [PLACE...]    the dcl command, bench/links, and where: 1gbit 2500mbit none loopback loopback-keys

A place is the rate of the hosts' cables or this machine's loopback. Hosts are network namespaces whose cables have a
token bucket (tc tbf), "none" is without; they need root. Between hosts DCL's connections are encrypted; over "loopback"
they are not, but have checksums. ZeroMQ by hand is measured without encryption and, where DCL encrypts, also with it.
The slower of ZeroMQ and a copy within the device's memory is the limit; what DCL reaches is printed as a share of it.
CPU is what both ends use, system calls included, in ms per MB: it hardly depends on what else the machine does."""
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # leave the source folder as it is
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "support"))
import processes
from hosts import Hosts
from workers import start_tcp, tcp_place

MEGABYTES, ROUNDS, TURNS = 64, 3, 5
PORT = 7711


class Side:
    """Where a program runs: in a host's namespace, or here."""

    def __init__(self, hosts, number):
        self.address = hosts.address(number) if hosts else "127.0.0.1"
        self._prefix = ["ip", "netns", "exec", hosts.name(number)] if hosts else []

    def start(self, argv, variables=None):
        return subprocess.Popen([*self._prefix, *argv], env={**processes.environment(), **(variables or {})},
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def numbers_of(process, seconds=300):
    """What it prints until its end, which may take so long."""
    output, _ = process.communicate(timeout=seconds)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(process.args)} ended with {process.returncode}")
    return [float(line) for line in output.split()]


def by_hand(links, giver, taker, security, megabytes=MEGABYTES, rounds=ROUNDS):
    """@return seconds per round, CPU seconds of all rounds by the giver and the taker."""
    address = f"tcp://{giver.address}:{PORT}"
    give = giver.start([links, "give", address, str(megabytes), security])
    try:
        key = give.stdout.readline().strip()
        take = taker.start([links, "take", address, str(megabytes), str(rounds), key])
        *seconds, taken = numbers_of(take)
        (given,) = numbers_of(give)
        return seconds, given, taken
    finally:
        give.kill()
        give.wait()


def cpu_seconds(root):
    """Of a process and its descendants: of all their threads."""
    family, total = {root}, 0
    stats = {pid: processes.stat_of(pid) for pid in processes.all_pids()}
    for pid in sorted(stats):  # a child's number is larger unless numbers have wrapped around
        if stats[pid] is not None and stats[pid][2] in family:
            family.add(pid)
    for pid in family:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                total += int(processes.read(f"/proc/{pid}/task/{thread}/schedstat").split()[0])
    return total * 1e-9


def by_dcl(links, program, place, offers):
    copy = program.start([links, "copy", str(MEGABYTES), str(ROUNDS)], place.variables)
    if copy.stdout.readline() != "ready\n":
        raise RuntimeError("links copy failed")
    before = [cpu_seconds(offer.process.pid) for offer in offers]
    copy.stdin.write("\n")
    copy.stdin.flush()
    seconds = [float(copy.stdout.readline()) for _ in range(ROUNDS)]
    used = [cpu_seconds(offer.process.pid) - start for offer, start in zip(offers, before)]
    numbers_of(copy)
    return seconds, *used


class Results:
    def __init__(self):
        self.seconds, self.cpu = [], []

    def add(self, seconds, given, taken):
        self.seconds += seconds
        self.cpu.append([1000 * used / ROUNDS / MEGABYTES for used in (given, taken)])

    @property
    def median(self):
        return statistics.median(self.seconds)

    def __str__(self):
        given, taken = (statistics.median(side) for side in zip(*self.cpu))
        return (f"{self.median:.4f} s ({MEGABYTES * 2**20 / self.median / 1e6:.0f} MB/s; least {min(self.seconds):.4f} "
                f"s; CPU {given:.2f} + {taken:.2f} ms per MB)")


def measure(dcl, links, name, folder):
    loopback, with_keys = name.startswith("loopback"), name != "loopback"
    with contextlib.ExitStack() as stack:
        hosts = None if loopback else stack.enter_context(Hosts(3, None if name == "none" else name))
        workers = f"{folder}/{name}"
        os.mkdir(workers)
        offers, public = start_tcp(dcl, workers, 2 if loopback else 3, with_keys, stack, hosts)
        offers = offers[-2:]  # host 0 is the program's
        if with_keys:
            public = {f"worker{n}": public[f"worker{n + (not loopback)}"] for n in range(2)}
        place = tcp_place(offers, public, workers)
        if with_keys:
            place.variables["DCL_KEYS"] = f"{workers}/program"
        device = statistics.median(numbers_of(Side(None, 0).start([links, "device", str(MEGABYTES), "5"])))
        kinds = ("plain", "keys") if with_keys else ("plain",)
        hand, ours = {kind: Results() for kind in kinds}, Results()
        for _ in range(TURNS):
            for kind in kinds:
                hand[kind].add(*by_hand(links, Side(hosts, 1), Side(hosts, 2), kind))
            ours.add(*by_dcl(links, Side(hosts, 0), place, offers))
        print(f"{name}: {MEGABYTES} MB between two workers, the device's copy {device:.4f} s, DCL {ours}", flush=True)
        for kind in kinds:
            print(f"    ZeroMQ alone, {'encrypted' if kind == 'keys' else 'plain'}: {hand[kind]}: DCL reaches "
                  f"{max(hand[kind].median, device) / ours.median:.3f} of the slower", flush=True)


def main(dcl, links, *places):
    why_not = Hosts.why_not("1gbit")
    if why_not and not all(place.startswith("loopback") for place in places or ("",)):
        print(f"skipped: {why_not}")
        return 77
    with tempfile.TemporaryDirectory(prefix="dcl-links-") as folder:
        for place in places or ("1gbit", "2500mbit", "none", "loopback", "loopback-keys"):
            measure(os.path.abspath(dcl), os.path.abspath(links), place, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
