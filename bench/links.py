#!/usr/bin/python3
"""Elements between two workers over tcp, against ZeroMQ alone between the same hosts, taking turns.

    links.py DCL LINKS [RATE...]     the dcl command, bench/links, and rates of the hosts' cables (1gbit 2500mbit)

Hosts are network namespaces whose cables have a token bucket (tc tbf); "none" is without. Needs root. The slower of
ZeroMQ and a copy within the device's memory is the limit; what DCL reaches is printed as a share of it. Between hosts
DCL's connections are encrypted; ZeroMQ by hand is not."""
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

MEGABYTES, ROUNDS, TURNS = 64, 3, 3


def seconds_of(argv, variables=None):
    done = subprocess.run(argv, env={**processes.environment(), **(variables or {})}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return [float(line) for line in done.stdout.split()]


def by_hand(hosts, links):
    """From host 1 to host 2."""
    address = f"tcp://{hosts.address(1)}:7711"
    giver = hosts.run(1, [links, "give", address, str(MEGABYTES)], stdout=subprocess.PIPE, text=True)
    try:
        giver.stdout.readline()
        return seconds_of(["ip", "netns", "exec", hosts.name(2), links, "take", address, str(MEGABYTES), str(ROUNDS)])
    finally:
        giver.kill()
        giver.wait()


def measure(dcl, links, rate, folder):
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(Hosts(3, None if rate == "none" else rate))
        workers = f"{folder}/{rate}"
        os.mkdir(workers)
        place = tcp_place(*start_tcp(dcl, workers, 3, True, stack, hosts), workers)
        with open(place.variables["DCL_WORKERS"], encoding="ascii") as file:
            lines = file.read().splitlines()
        with open(place.variables["DCL_WORKERS"], "w", encoding="ascii") as file:
            file.write("\n".join(lines[1:]) + "\n")  # host 0 is the program's
        device = statistics.median(seconds_of([links, "device", str(MEGABYTES), "5"]))
        hand, ours = [], []
        for _ in range(TURNS):
            hand += by_hand(hosts, links)
            ours += seconds_of(["ip", "netns", "exec", hosts.name(0), links, "copy", str(MEGABYTES), str(ROUNDS)],
                               place.variables)
        zeromq, dcl_seconds = statistics.median(hand), statistics.median(ours)
        limit = max(zeromq, device)
        print(f"{rate}: {MEGABYTES} MB between two workers: ZeroMQ alone {zeromq:.3f} s "
              f"({MEGABYTES * 2**20 / zeromq / 1e6:.0f} MB/s), the device's copy {device:.3f} s, "
              f"DCL {dcl_seconds:.3f} s: {limit / dcl_seconds:.2f} of the slower", flush=True)


def main(dcl, links, *rates):
    why_not = Hosts.why_not("1gbit")
    if why_not:
        print(f"skipped: {why_not}")
        return 77
    with tempfile.TemporaryDirectory(prefix="dcl-links-") as folder:
        for rate in rates or ("1gbit", "2500mbit", "none"):
            measure(os.path.abspath(dcl), os.path.abspath(links), rate, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
