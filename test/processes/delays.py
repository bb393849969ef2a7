#!/usr/bin/env python3
"""Run the examples on worker processes that lend every batch they may, and stop each process for random times
meanwhile. What they print must be that of a run without stealing and delays.

    delays.py FOLDER_OF_EXAMPLES            TEST_RUNS (30), TEST_SEED (a new one), TEST_WORKERS (local:3)
"""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

RUNS = int(os.environ.get("TEST_RUNS", "30"))
SEED = int(os.environ.get("TEST_SEED", random.randrange(1 << 30)))
WORKERS = os.environ.get("TEST_WORKERS", "local:3")
MOST_STOPPED, MOST_RUNNING, PATIENCE = 0.004, 0.01, 120  # seconds


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
    return {**kept, "DCL_WORKERS": WORKERS, "DCL_TILE_BYTES": "16384", **more}


def descendants(process):
    """Processes that a process, or one of its threads, has started, and those that these have started."""
    found = []
    for listed in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        try:
            for child in listed.read_text().split():
                found += [int(child), *descendants(child)]
        except OSError:  # it has ended meanwhile
            pass
    return found


def without_times(text):
    return re.sub(r"[0-9.]+ (s|ms|us|GB/s)\b", r"TIME \1", text)


def send(process, what):
    """@return whether it is there"""
    try:
        os.kill(process, what)
    except ProcessLookupError:
        return False
    return True


def expected_of(program):
    done = subprocess.run([program], env=environment(DCL_STEAL="never"), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    if done.returncode != 0:
        sys.exit(f"{program.name} fails without delays: {done.stdout}")
    return without_times(done.stdout)


def run_delayed(program, chance):
    """Run a program, and stop its worker processes one after the other.

    @return (exit status, output, number of stops)"""
    stops, begin = 0, time.monotonic()
    with subprocess.Popen([program], env=environment(DCL_STEAL="always"), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as running:
        while running.poll() is None and time.monotonic() - begin < PATIENCE:
            there = descendants(running.pid)
            if there:
                child = chance.choice(there)
                stops += send(child, signal.SIGSTOP)
                time.sleep(chance.uniform(0, MOST_STOPPED))
                send(child, signal.SIGCONT)
            time.sleep(chance.uniform(0, MOST_RUNNING))
        hangs = running.poll() is None
        if hangs:
            running.kill()
        output = running.stdout.read()
    return "hangs" if hangs else running.returncode, without_times(output), stops


def main():
    programs = sorted(path for path in pathlib.Path(sys.argv[1]).iterdir()
                      if path.name[0].isdigit() and os.access(path, os.X_OK) and path.is_file())
    expected, failed, stops = {}, 0, 0
    print(f"{RUNS} runs on {WORKERS} from seed {SEED}", flush=True)
    for run in range(RUNS):
        program, chance = programs[run % len(programs)], random.Random(f"{SEED} {run}")
        if program not in expected:
            expected[program] = expected_of(program)
        status, output, stopped = run_delayed(program, chance)
        stops += stopped
        if (status, output) != (0, expected[program]):
            failed += 1
            print(f"run {run}, {program.name}: ends with {status} and prints\n{output}expected\n{expected[program]}",
                  flush=True)
    print(f"{RUNS - failed} passed, {failed} failed; processes were stopped {stops} times")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
