"""endure.py COMMAND FOLDER [ROUNDS]: the OpenCL driver, for long. ROUNDS (100) devices are lost during a kernel, as many while nothing runs,
half as many are stopped, and ten times as many sessions and loads of the driver follow each other. A loss is known within a second, or a second after the silence that
DCL_SILENCE_MS allows; other devices go on, and nothing is left. `make endure`."""
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(os.path.dirname(HERE), "processes"))
from icd_test import kill_one
from session import Failed, Program, SLOW, test_in_folder, workers_of
import processes
from workers import open_place

ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 100
SILENCE_MS = 1000
SECONDS = 60 * SLOW
MOST_GROWTH_KB = 1024  # of memory in all rounds of a test


def resident_kb(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024



def lose_idle(path, variables, place, how, work):
    """@return seconds until the program knew of the loss of its first device."""
    program = Program([path, "idle"], variables, f"{work}/errors")
    try:
        while program.next(SECONDS) != "open":
            pass
        victim = workers_of(program, place)[0]
        begin = time.monotonic()
        os.kill(victim, how)
        line = program.next(SECONDS)
        seconds = time.monotonic() - begin
        if line is None or not line.startswith("ended") or program.next(SECONDS) != "the other goes on":
            raise Failed(program.said())
        if program.end(SECONDS) != 0:
            raise Failed(program.said())
    finally:
        program.kill()
    return seconds


def report(what, took, limit):
    late = [seconds for seconds in took if seconds > limit * SLOW]
    print(f"{what}: {len(took)} of {len(took)} right; known after {1000 * took[len(took) // 2]:.0f} ms (median), "
          f"{1000 * took[-1]:.0f} ms (longest); {len(late)} after more than {limit:g} s", flush=True)


def lose(path, variables, place, how, rounds, limit, what, work):
    before = processes.snapshot(folders=[work])
    took = sorted(lose_idle(path, variables, place, how, work) for _ in range(rounds))
    os.remove(f"{work}/errors")
    processes.nothing_left(before, 3 * SLOW, folders=[work])
    report(what, took, limit)


def lose_at_work(path, variables, place, rounds, work):
    before = processes.snapshot(folders=[work])
    took = sorted(kill_one(path, variables, place, work) for _ in range(rounds))
    os.remove(f"{work}/errors")
    processes.nothing_left(before, 3 * SLOW, folders=[work])
    report("killed during a kernel", took, 1)


def sessions(path, variables, place, rounds, work):
    """Sessions one after another; the worker keeps nothing of them."""
    worker = place.offers[0].process.pid
    held = before_kb = None
    for number in range(rounds):
        program = Program([path, "session"], variables, f"{work}/errors")
        try:
            if program.end(SECONDS) != 0:
                raise Failed(f"session {number}: {program.said()} {program.errors()}")
        finally:
            program.kill()
        if number == 9:
            processes.wait_until(lambda: len(workers_of(program, place)) == 0, 10 * SLOW, "the sessions' ends")
            held, before_kb = len(processes.descriptors_of(worker)), resident_kb(worker)
    processes.wait_until(lambda: len(workers_of(program, place)) == 0, 10 * SLOW, "the sessions' ends")
    processes.wait_until(lambda: len(processes.descriptors_of(worker)) <= held, 10 * SLOW,
                         f"descriptors of the worker: {held} after ten sessions, now {len(processes.descriptors_of(worker))}")
    grown = resident_kb(worker) - before_kb
    if grown > MOST_GROWTH_KB:
        raise Failed(f"the worker has {grown} kB more after {rounds} sessions than after ten; expected at most {MOST_GROWTH_KB}")
    print(f"{rounds} sessions: {held} descriptors of the worker after ten of them and at the end; {grown} kB more memory of {before_kb}", flush=True)


def reload(path, driver, variables, rounds, work):
    program = Program([path, "reload", driver, str(rounds)], variables, f"{work}/errors")
    try:
        lines = [program.next(SECONDS), program.next(SECONDS)]
        if program.end(SECONDS) != 0 or None in lines:
            raise Failed(program.said())
    finally:
        program.kill()
    (*first, first_kb), (*last, last_kb) = ([int(word) for word in line.split()] for line in lines)
    if first != last or last_kb - first_kb > MOST_GROWTH_KB:
        raise Failed(f"descriptors, threads and kB of memory after ten loads and after {rounds}: {lines}")
    print(f"{rounds} loads: descriptors and threads {first} after ten and at the end; {last_kb - first_kb} kB more memory of {first_kb}", flush=True)


def check(dcl, programs, base):
    path, work = f"{programs}/hostile", f"{base}/work"
    driver = os.path.join(os.path.dirname(dcl), "libdcl-opencl.so")
    with open_place("local:2", dcl, f"{base}/workers") as place:
        variables = {**place.variables, "DCL_PROGRAM": dcl}
        loaded = {**variables, "OCL_ICD_VENDORS": os.path.join(os.path.dirname(dcl), "dcl.icd")}
        lose_at_work(f"{programs}/program", loaded, place, ROUNDS, work)
        lose(path, variables, place, signal.SIGKILL, ROUNDS, 1, "killed while nothing runs", work)
        silent = {**variables, "DCL_SILENCE_MS": str(SILENCE_MS)}
        lose(path, silent, place, signal.SIGSTOP, (ROUNDS + 1) // 2, 1 + SILENCE_MS / 1000, "stopped", work)
        reload(path, driver, variables, 10 * ROUNDS, work)
    os.mkdir(f"{base}/offers")
    with open_place("tcp:1", dcl, f"{base}/offers") as place:
        sessions(path, {**place.variables, "DCL_PROGRAM": dcl}, place, 10 * ROUNDS, work)


if __name__ == "__main__":
    sys.exit(test_in_folder("endure", check))
