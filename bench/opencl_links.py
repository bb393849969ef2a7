#!/usr/bin/python3
"""Writes and reads by the OpenCL driver over a cable of a certain rate, against ZeroMQ alone over the same cable, taking turns.

    opencl_links.py DCL LINKS [PLACE...]    the dcl command, bench/links, and where: 100mbit 1gbit 2500mbit none

A place is the rate of the hosts' cables (bench/links.py); "none" is without a limit. The device is PoCL's, which copies faster
than any of these cables carries, so the cable is the slower stage. Between hosts DCL encrypts (CURVE). ZeroMQ by hand sends
messages of 1 MB, each copied once by the receiver, without encryption and with CURVE. A buffer is moved in transfers of 1 MB,
of 4 MB, and as a whole, without waiting between them. Medians.

At 1gbit it is also measured how far the network hides the device's copies: the tests' fake device takes as long for a chunk of 1 MB as
the cable. With DCL_FAULT=store, transfers are stored and forwarded, for comparison. The stages by themselves are ZeroMQ with CURVE over the
cable, and the same commands on the fake device of this process."""
import contextlib
import os
import statistics
import sys
import tempfile
from unittest import mock

sys.dont_write_bytecode = True  # leave the source folder as it is
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from links import Side, by_hand, numbers_of
from hosts import Hosts
from workers import start_tcp, tcp_place

TURNS, ROUNDS = 3, 2
FREE_TURNS, FREE_ROUNDS = 5, 4  # without a limit: other programs disturb single transfers, and there is no cable to even that out
RATED, CHUNK_MS = "1gbit", 9  # of a chunk of 1 MB, which takes 8.8 ms over this cable
RATED_PLAN = f"gpu; apart; discrete; takes clEnqueueWriteBuffer {CHUNK_MS}; takes clEnqueueReadBuffer {CHUNK_MS}"
MEGABYTES = {"100mbit": 8}  # 64 elsewhere


def measure(dcl, links, name, folder):
    megabytes = MEGABYTES.get(name, 64)
    turns, rounds = (FREE_TURNS, FREE_ROUNDS) if name == "none" else (TURNS, ROUNDS)
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(Hosts(2, None if name == "none" else name))
        os.mkdir(f"{folder}/{name}")
        offers, public = start_tcp(dcl, f"{folder}/{name}", 2, True, stack, hosts)
        place = tcp_place(offers[-1:], {"worker0": public["worker1"]}, f"{folder}/{name}")  # host 0 is the program's
        variables = {**place.variables, "OCL_ICD_VENDORS": os.path.join(os.path.dirname(dcl), "dcl.icd")}
        client, server = Side(hosts, 0), Side(hosts, 1)
        hand, ours = {}, {}
        for _ in range(turns):
            for kind in ("plain", "keys"):
                for what, giver, taker in (("write", client, server), ("read", server, client)):
                    hand.setdefault((what, kind), []).extend(by_hand(links, giver, taker, kind, megabytes, rounds)[0])
            for part in (1, 4, megabytes):
                seconds = numbers_of(client.start([links, "transfers", str(megabytes), str(part * 1024), str(rounds)], variables))
                ours.setdefault(("write", part), []).extend(seconds[::2])
                ours.setdefault(("read", part), []).extend(seconds[1::2])
    hand = {key: statistics.median(values) for key, values in hand.items()}
    for (what, part), seconds in ours.items():
        median = statistics.median(seconds)
        print(f"{name}: {what} {megabytes} MB in transfers of {part} MB: {megabytes * 2**20 / median / 1e6:.1f} MB/s; of ZeroMQ alone "
              f"{hand[what, 'plain'] / median:.3f}, with CURVE {hand[what, 'keys'] / median:.3f}", flush=True)


def measure_stages(dcl, links, folder):
    """How long a transfer takes whose stages take the same time."""
    megabytes, fake = 64, os.path.join(os.path.dirname(dcl), "test", "fake_opencl.so")
    if not os.path.exists(fake):
        print(f"{RATED}, a device as slow as the cable: not measured, because {fake} is not there (make test builds it)")
        return
    os.mkdir(f"{folder}/stages")
    device = {"OCL_ICD_VENDORS": fake, "TEST_OPENCL": RATED_PLAN}
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(Hosts(2, RATED))
        stack.enter_context(mock.patch.dict(os.environ, device))  # of the workers
        offers, public = start_tcp(dcl, f"{folder}/stages", 2, True, stack, hosts)
        place = tcp_place(offers[-1:], {"worker0": public["worker1"]}, f"{folder}/stages")
        ours = {**place.variables, "OCL_ICD_VENDORS": os.path.join(os.path.dirname(dcl), "dcl.icd")}
        client, server = Side(hosts, 0), Side(hosts, 1)
        took = {}
        for _ in range(TURNS):
            for what, giver, taker in (("write", client, server), ("read", server, client)):
                took.setdefault((what, "cable"), []).extend(by_hand(links, giver, taker, "keys", megabytes, ROUNDS)[0])
            for way, part, variables in (("device", 1, device), ("pipelined", megabytes, ours),
                                         ("stored", megabytes, {**ours, "DCL_FAULT": "store"})):
                seconds = numbers_of(client.start([links, "transfers", str(megabytes), str(part * 1024), str(ROUNDS)], variables))
                took.setdefault(("write", way), []).extend(seconds[::2])
                took.setdefault(("read", way), []).extend(seconds[1::2])
    took = {key: statistics.median(values) for key, values in took.items()}
    for what in ("write", "read"):
        cable, device, pipelined, stored = (took[what, way] for way in ("cable", "device", "pipelined", "stored"))
        chunk = min(cable, device) / megabytes
        print(f"{RATED}, a device as slow as the cable: {what} {megabytes} MB in {pipelined:.3f} s, cable {cable:.3f} s, device {device:.3f} s, "
              f"stored and forwarded {stored:.3f} s: of the slower stage and a chunk {pipelined / (max(cable, device) + chunk):.3f}, stored of "
              f"the sum of the stages {stored / (cable + device):.3f}, pipelined of stored {pipelined / stored:.3f}", flush=True)


def main(dcl, links, *places):
    why_not = Hosts.why_not("1gbit")
    if why_not:
        print(f"skipped: {why_not}")
        return 77
    with tempfile.TemporaryDirectory(prefix="dcl-opencl-links-") as folder:
        for place in places or ("100mbit", "1gbit", "2500mbit", "none"):
            measure(os.path.abspath(dcl), os.path.abspath(links), place, folder)
            if place == RATED:
                measure_stages(os.path.abspath(dcl), os.path.abspath(links), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
