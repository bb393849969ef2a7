#!/usr/bin/python3
"""Workers at four hosts, of which some lose the way to each other, or to the program, and what it costs.

    routes_test.py DCL PROGRAMS     the dcl command, and the folder with `routes`"""
import contextlib
import os
import signal
import sys

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, test_in_folder
import processes
from hosts import Hosts, ip
from workers import Unavailable, open_place, start_tcp, tcp_place

SILENCE_MS = int(2000 * SLOW)
TOGETHER_SECONDS = 0.8 * SLOW  # three losses, of which nobody says how they came


def block(hosts, one, other):
    """Nothing gets from one host to the other, and it is told so."""
    ip("-n", hosts.name(one), "route", "replace", "unreachable", f"{hosts.address(other)}/32")


def swallow(hosts, one, other):
    """The same, but nobody is told."""
    ip("-n", hosts.name(one), "route", "replace", "blackhole", f"{hosts.address(other)}/32")


def heal(hosts):
    for one in range(hosts.count):
        for other in range(hosts.count):
            with contextlib.suppress(RuntimeError):
                ip("-n", hosts.name(one), "route", "del", f"{hosts.address(other)}/32")


def kill_unsaid(offers):
    """The workers are stopped first: what becomes of their processes they cannot tell."""
    for offer in offers:
        processes.kill(offer.process.pid, signal.SIGSTOP)
    for offer in offers:
        for pid in processes.descendants(offer.process.pid):
            if (processes.stat_of(pid) or ("",))[0] == "dcl":
                processes.kill(pid)


def play(programs, hosts, place, folder, name, arguments, before, after):
    for act in before:
        act()
    program = Program([f"{programs}/routes", *arguments], {**place.variables, "DCL_SILENCE_MS": str(SILENCE_MS)},
                      f"{folder}/errors", place.prefix)
    try:
        program.expect("ready", 60 * SLOW)
        for act in after:
            act()
        sentence = program.expect("lost", 90 * SLOW)
        took = float(program.expect("end", 60 * SLOW))
        if program.end(20 * SLOW) != 0:
            raise Failed(program.said())
        if "is lost: worker" not in sentence:
            raise Failed(f"the sentence does not name the node: {sentence}")
        print(f"{name}: after {took:.3f} s: {sentence}", flush=True)
        return took
    finally:
        program.kill()
        heal(hosts)


def use_names(dcl, programs, base):
    """Workers that are named by names find each other: they are told numbers."""
    os.mkdir(f"{base}/local")
    with open_place("tcp:2", dcl, f"{base}/local") as place:
        named = place.variables["DCL_WORKERS"].replace("127.0.0.1", "localhost")
        program = Program([f"{programs}/routes"], {"DCL_WORKERS": named}, f"{base}/local/errors")
        try:
            for word in ("ready", "lost", "end"):
                program.expect(word, 60 * SLOW)
            if program.end(20 * SLOW) != 0:
                raise Failed(program.said())
        finally:
            program.kill()
        print(f"{named}: used", flush=True)


def check(dcl, programs, base):
    use_names(dcl, programs, base)
    why_not = Hosts.why_not()
    if why_not:
        raise Unavailable(why_not)
    folder = f"{base}/work"
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(Hosts(4))
        place = tcp_place(*start_tcp(dcl, f"{base}/workers", 4, True, stack, hosts), f"{base}/workers")
        place.prefix = ["ip", "netns", "exec", hosts.name(0)]

        def scene(name, arguments, before=(), after=()):
            return play(programs, hosts, place, folder, name, arguments, before, after)

        scene("node 3 has no route to 1 and 2", ["at-once", "3"],
              before=[lambda: block(hosts, 3, 1), lambda: block(hosts, 3, 2)])
        scene("what node 3 and nodes 1 and 2 send each other is swallowed", ["3"],
              after=[lambda: [swallow(hosts, *pair) for pair in ((3, 1), (3, 2), (1, 3), (2, 3))]])
        took = lose_three(scene, place)
        if took > TOGETHER_SECONDS:  # the machine may be busy with others
            took = lose_three(scene, place)
        if processes.is_late(took, TOGETHER_SECONDS):
            raise Failed(f"three losses were told after {took:.3f} s; expected less than {TOGETHER_SECONDS} s")


def lose_three(scene, place):
    try:
        return scene("nodes 1, 2 and 3 are killed at once, and nobody says how", ["1", "2", "3"],
                     after=[lambda: kill_unsaid(place.offers[1:])])
    finally:
        for offer in place.offers[1:]:
            processes.kill(offer.process.pid, signal.SIGCONT)


if __name__ == "__main__":
    sys.exit(test_in_folder("routes", check))
