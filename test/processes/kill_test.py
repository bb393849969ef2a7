#!/usr/bin/python3
"""Processes of a session are killed and stopped at random moments.

    kill_test.py DCL PROGRAMS     the dcl command, and the folder with `work`

Settings: TEST_WORKERS, a place of support/workers.py (local:3); TEST_WORKER_KILLS, TEST_PROGRAM_KILLS, TEST_WORKER_STOPS,
TEST_PROGRAM_STOPS: rounds (a few); TEST_SILENCE_MS, after which one that is stopped is lost (2000); TEST_SEED (a new one), printed; TEST_ROUND, to run one round again, as it was named."""
import concurrent.futures
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave the source folder as it is
from session import SLOW, Failed, Program, Rounds, processes, workers_of
from workers import Unavailable, open_place

SKIPPED = 77
PLACE = os.environ.get("TEST_WORKERS") or "local:3"
SEED = os.environ.get("TEST_SEED") or str(time.time_ns() % 1000000)
NOTICE_SECONDS = 1.0 * SLOW  # from a death to the log, if a processor is free
SILENCE_MS = int(os.environ.get("TEST_SILENCE_MS") or 2000)
SILENT_SECONDS = SILENCE_MS / 1000  # from a stop on, before the others may notice it
LEFT_SECONDS = 2.0 * SLOW  # until nothing is left of a program that was killed


class Killing:
    def __init__(self, programs, place, folder, rounds):
        self.programs, self.place, self.folder, self.rounds = programs, place, folder, rounds

    def start(self, rng, seconds, saves, **variables):
        argv = [f"{self.programs}/work", str(rng.randrange(1 << 40)), str(seconds)]
        if saves:
            argv.append(f"{self.folder}/saved.npy")
        if saves and not self.place.offers and rng.random() < 0.5:
            argv.append("local:1")
        fanout = {"DCL_FANOUT": rng.choice(["2", "16"])}  # of trees: those of messages, and of partial results
        return Program(argv, {**fanout, **self.place.variables, **variables}, f"{self.folder}/errors", self.place.prefix)

    def watched(self, one):
        """A round that ends with nothing left, whatever happens in it."""
        before = processes.snapshot(folders=[self.folder])
        programs = []
        try:
            one(programs)
        finally:
            for program in programs:
                program.kill()
            for name in ("saved.npy", "errors"):
                if os.path.exists(f"{self.folder}/{name}"):
                    os.remove(f"{self.folder}/{name}")
        processes.nothing_left(before, LEFT_SECONDS, folders=[self.folder])

    def check_sentence(self, sentence, pid):
        """It names node, worker and arrays; and, where it can be known, the process."""
        found = re.match(r"(?:\w+: )?node (\d+) is lost: worker (\d+) \((.*?), device \"", sentence)
        if not found or found[1] != found[2]:
            raise Failed(f"the error does not name node and worker: {sentence}")
        if self.place.offers:
            if not any(offer.address in found[3] for offer in self.place.offers):
                raise Failed(f"the error does not name the worker's address: {sentence}")
        elif f"process {pid} " not in found[3]:
            raise Failed(f"process {pid} was lost, but: {sentence}")
        if "had a part on it" not in sentence:
            raise Failed(f"the error does not say which arrays: {sentence}")

    def follow_loss(self, program, pid, begin_ns, silent, what, words, slowness):
        line = program.next(silent + 20 * SLOW) or ""
        if line.startswith("refused "):  # it was a newcomer
            self.rounds.note("refusal of a newcomer that died", (int(line.split(" ")[1]) - begin_ns) / 1e9)
            if f"process {pid} of this host" not in line and "before it had joined" not in line:
                raise Failed(f"process {pid} was to join, but: {line}")
            self.end_well(program)
            return
        if line.startswith("noticed "):  # its last call had begun before: dcl_close() has told it
            self.check_notice((int(line.split(" ")[1]) - begin_ns) / 1e9, silent + NOTICE_SECONDS * slowness.result(), what)
            self.end_well(program)
            return
        if not line.startswith("lost "):
            raise Failed(f"expected a line 'lost', but: {program.said()}")
        noticed, told, compiled, compiler_ns, sentence = line.split(" ", 5)[1:]
        noticed, told, compiler = (int(noticed) - begin_ns) / 1e9, (int(told) - begin_ns) / 1e9, int(compiler_ns) / 1e9
        if compiled == "0":
            self.rounds.note(f"error after {what}", told)
        self.check_sentence(sentence, pid)
        if not re.search(words, sentence):
            raise Failed(f"expected {words} in: {sentence}")
        program.expect("kept", 20)
        program.expect("again", 20)
        seconds = silent + NOTICE_SECONDS * slowness.result()
        self.check_notice(noticed, seconds, what)
        # The call may wait for a node that compiles: the first batch of a body that a node runs, an own or a borrowed one.
        if compiled == "0" and told > seconds + compiler:
            raise Failed(f"the loss was noticed after {noticed:.3f} s and told after {told:.3f} s; expected "
                         f"{seconds:.3f} s, and at most {compiler:.3f} s for a compiler")
        self.end_well(program)

    def check_notice(self, noticed, seconds, what):
        self.rounds.note(f"notice of {what}", noticed)
        if noticed > seconds:
            raise Failed(f"the loss was noticed after {noticed:.3f} s; expected {seconds:.3f} s")

    @staticmethod
    def end_well(program):
        program.expect("end", 30)
        if program.end(20) != 0:
            raise Failed(f"it ended with {program.process.returncode}: {program.said()}")

    def disturb_worker(self, seed, how, silent, what, words, **variables):
        rng = random.Random(seed)

        def one(programs):
            program = self.start(rng, 2.5 + silent, True, **variables)
            programs.append(program)
            program.expect("ready", 30)
            time.sleep(rng.random() * 1.5)
            workers = workers_of(program, self.place)
            if not workers:
                raise Failed(f"it has no workers: {program.said()}")
            pid = rng.choice(workers)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                begin_ns = time.monotonic_ns()
                processes.kill(pid, how)
                self.follow_loss(program, pid, begin_ns, silent, what, words, pool.submit(processes.slowness))

        self.watched(one)

    def kill_worker(self, seed):
        self.disturb_worker(seed, signal.SIGKILL, 0, "a worker's death", "SIGKILL")

    def stop_worker(self, seed):
        self.disturb_worker(seed, signal.SIGSTOP, SILENT_SECONDS, f"a silence of {SILENCE_MS} ms", "silent",
                            DCL_SILENCE_MS=str(SILENCE_MS))

    def kill_program(self, seed):
        rng = random.Random(seed)

        def one(programs):
            programs.append(self.start(rng, 20, False))
            time.sleep(rng.random() * 2)
            programs[0].kill()  # what is left is looked for by the one who calls

        self.watched(one)

    def stop_program(self, seed):
        """Its own workers it may leave alone for longer than it bears of them."""
        rng = random.Random(seed)

        def one(programs):
            program = self.start(rng, 2, True, DCL_SILENCE_MS=str(SILENCE_MS))
            programs.append(program)
            program.expect("ready", 30)
            time.sleep(rng.random() * 1.5)
            processes.kill(program.pid, signal.SIGSTOP)
            time.sleep(rng.choice([0.3, 1.0, 1.0 if self.place.offers else SILENCE_MS / 1000 + 1]))
            processes.kill(program.pid, signal.SIGCONT)
            if program.expect("end", 30) != "DCL_OK" or program.end(20) != 0:
                raise Failed(f"after it had been stopped: {program.said()}")

        self.watched(one)


def count(name, usual):
    return int(os.environ.get(f"TEST_{name}") or usual)


def main():
    dcl, programs = (os.path.abspath(path) for path in sys.argv[1:3])
    base = tempfile.mkdtemp(prefix="dcl-kill-")
    folder = f"{base}/work"
    os.mkdir(folder)
    os.mkdir(f"{base}/workers")
    rounds = Rounds(SEED)
    print(f"seed {SEED}, {PLACE}", flush=True)
    try:
        with open_place(PLACE, dcl, f"{base}/workers") as place:
            killing = Killing(programs, place, folder, rounds)
            kinds = {"worker-kill": (killing.kill_worker, count("WORKER_KILLS", 2)),
                     "program-kill": (killing.kill_program, count("PROGRAM_KILLS", 3)),
                     "worker-stop": (killing.stop_worker, count("WORKER_STOPS", 1)),
                     "program-stop": (killing.stop_program, count("PROGRAM_STOPS", 1))}
            again = os.environ.get("TEST_ROUND")
            if again:
                rounds.run(again.split("/")[0], 1, lambda _: kinds[again.split("/")[0]][0](again))
            for name, (one, number) in kinds.items() if not again else ():
                rounds.run(name, number, one)
    except Unavailable as why:
        print(f"skipped: {PLACE}: {why}")
        return SKIPPED
    finally:
        processes.kill_all()
        shutil.rmtree(base)
    rounds.summary()
    print(f"{rounds.failed} failed")
    return 1 if rounds.failed else 0


if __name__ == "__main__":
    sys.exit(main())
