"""icd_test.py COMMAND FOLDER: the OpenCL driver, build/dcl.icd, under programs that have never heard of DCL.

test/icd/program.c prints the same natively and over processes of this host, workers and workers with keys. When the process of a
device is killed during a kernel, the program hears of it within a second, and its other device goes on. What a kernel has printed
arrives before its end, however slowly it is read. test/icd/wrong.c
gives every entry point wrong inputs; test/icd/natively.py explains where PoCL answers otherwise. test/icd/random.c compares random programs with plain loops;
test/icd/hostile.c breaks the protocol beside honest clients."""
import contextlib
import ctypes
import glob
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(os.path.dirname(HERE), "processes"))
import natively
from session import Failed, Program, SLOW, test_in_folder, workers_of
import processes
from workers import open_place

SECONDS = 60
FOUR_UNITS = {"POCL_MAX_PTHREAD_COUNT": "4", "POCL_CPU_MAX_CU_COUNT": "4"}  # of PoCL up to 3, and from 4 on
PLACES = ["local:2", "tcp:2", "tcp-keys:2", "tcp:1"]


def lines_of(program, seconds):
    lines = []
    while (line := program.next(seconds)) is not None:
        lines.append(line)
    return lines


def run(argv, variables, folder):
    """@return what it prints. Failed when it does not end well, or leaves anything."""
    before = processes.snapshot(folders=[folder])
    program = Program(argv, variables, f"{folder}/errors")
    try:
        lines = lines_of(program, SECONDS * SLOW)
        if program.end(20 * SLOW) != 0:
            raise Failed(program.said())
    finally:
        program.kill()
    os.remove(f"{folder}/errors")
    processes.nothing_left(before, 3 * SLOW, folders=[folder])
    return lines


def compare(native, lines, place):
    without_count = lines[1:]
    if without_count != native[1:] or not lines[-1].startswith("all right"):
        raise Failed(f"over {place} it prints {lines}; natively {native}")


def many(lines):
    """More commands that wait for the program than a server takes: one fails, and the rest works."""
    if lines[1] != "250000 commands that wait, then -5" or not lines[2].endswith("right"):
        raise Failed(f"many commands: {lines}")


def kill_at_work(program_path, mode, variables, place, folder):
    """Kill the process that runs a kernel. @return the program, what it prints at once and afterwards, and how long that took."""
    program = Program([program_path, mode, "100000"], variables, f"{folder}/errors")
    try:
        while program.next(SECONDS * SLOW) != "running":
            pass
        time.sleep(0.2)
        victim = workers_of(program, place)[0]
        begin = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        line = program.next(20 * SLOW)
        seconds = time.monotonic() - begin
        rest = lines_of(program, SECONDS * SLOW)
        if program.end(20 * SLOW) != 0:
            raise Failed(program.said())
    finally:
        program.kill()
    # The driver waits 600 ms for a worker to say how the process ended; one on a busy machine may say it later.
    late = len(place.offers) > 0 and "the connection has ended" in program.errors()
    if "was killed by signal 9" not in program.errors() and not late:
        raise Failed(f"the loss is not explained: {program.errors()}")
    return program, line, rest, seconds


def kill_needed(program_path, variables, place, folder):
    """A launch fails whose contents were on a device that is killed. The other device goes on."""
    program, line, rest, seconds = kill_at_work(program_path, "needs", variables, place, folder)
    if line != "wait -14, kernel -2, dependent -14" or rest != ["the other device right"]:
        raise Failed(f"after the loss of what is needed: {program.said()}")
    return seconds


def kill_one(program_path, variables, place, folder):
    """The kernel's event fails, and so does what waits for it."""
    program, line, rest, seconds = kill_at_work(program_path, "spin", variables, place, folder)
    if line is None or not line.startswith("wait -14, finish -") or "kernel -2, dependent -14, available 0" not in line:
        raise Failed(f"after the loss: {program.said()}")
    if place.nodes > 1 and not any(text.endswith("right") and "many launches" in text for text in rest):
        raise Failed(f"the other device does not go on: {program.said()}")
    return seconds


def sever(one, other):
    """End the tcp connections between two processes, as a network does."""
    pidfd_getfd = 438  # number of the system call
    system_call = ctypes.CDLL(None, use_errno=True).syscall
    ends = {one: [], other: []}
    for pid, found in ends.items():
        descriptor = os.pidfd_open(pid)
        for name in os.listdir(f"/proc/{pid}/fd"):
            copy = system_call(pidfd_getfd, descriptor, int(name), 0)
            if copy < 0:
                continue
            if not stat.S_ISSOCK(os.fstat(copy).st_mode):
                os.close(copy)
                continue
            end = socket.socket(fileno=copy)
            with contextlib.suppress(OSError):
                found.append((end, end.getsockname(), end.getpeername()))
        os.close(descriptor)
    mutual = [mine for mine in ends[one] for theirs in ends[other] if mine[1] and mine[1] == theirs[2] and mine[2] == theirs[1]]
    for end, _, _ in mutual:
        end.shutdown(socket.SHUT_RDWR)
    return len(mutual)


def lose_each_other(program_path, variables, place, folder):
    """Two servers lose each other while contents move between them: the read that waits for them fails, and the next one gets them
    through the program."""
    program = Program([program_path, "apart"], variables, f"{folder}/errors")
    stopped = None
    try:
        while program.next(SECONDS * SLOW) != "ready":
            pass
        one, other = workers_of(program, place)
        os.kill(other, signal.SIGSTOP)
        stopped = other
        os.kill(program.pid, signal.SIGUSR1)
        if program.next(SECONDS * SLOW) != "moving":
            raise Failed(program.said())
        if sever(one, other) == 0:
            raise Failed("no connection between the workers is there")
        os.kill(other, signal.SIGCONT)
        stopped = None
        line = program.next(SECONDS * SLOW)
        if program.end(20 * SLOW) != 0 or line != "wait -14, then 0 and right":
            raise Failed(f"servers that lose each other: {program.said()}")
    finally:
        if stopped is not None:
            os.kill(stopped, signal.SIGCONT)
        program.kill()


class Unread(Program):
    """A program whose standard output is read from an event on."""

    def __init__(self, *arguments):
        self.go = threading.Event()
        super().__init__(*arguments)

    def _read(self):
        self.go.wait()
        super()._read()


def print_much(program_path, variables, place, work):
    """A program that ends as soon as its kernel has loses nothing of what this printed. The server has sent as much as it may when the
    kernel ends; it is stopped while the program writes that."""
    lines = 15300
    program = Unread([program_path, "print", str(lines)], variables, f"{work}/errors")
    try:
        servers = []
        for last in processes.looks(20 * SLOW, 0.05):
            if (servers := workers_of(program, place)) or last:
                break
        time.sleep(1.0)
        if not servers:
            raise Failed(f"no process serves it: {program.said()}")
        server = servers[0]
        os.kill(server, signal.SIGSTOP)
        program.go.set()
        time.sleep(0.3)
        os.kill(server, signal.SIGCONT)
        found = lines_of(program, SECONDS * SLOW)
        if program.end(20 * SLOW) != 0:
            raise Failed(program.said())
    finally:
        program.go.set()
        program.kill()
    if [line[:7] for line in found] != [f"{number:06d} " for number in range(lines)]:
        raise Failed(f"{len(found)} of {lines} lines were printed: {program.errors()}")


class Honest:
    """A client that compares what it reads until it is told to end."""

    def __init__(self, path, variables):
        plain = {name: value for name, value in processes.environment().items() if not name.startswith("DCL_")}
        self.process = subprocess.Popen([path, "honest"], env={**plain, **variables}, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if self.process.stdout.readline() != "open\n":
            raise Failed(f"an honest client: {self.end()}")

    def end(self):
        try:
            return self.process.communicate("", timeout=SECONDS * SLOW)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed(f"an honest client did not end: {self.process.communicate()[0]}") from None


def hostile(programs, variables, work):
    """A client that breaks the protocol, or whose kernel crashes or never ends, ends its own session. Two others of the same device go
    on, and read what they have written."""
    path = f"{programs}/hostile"
    before = processes.snapshot(folders=[work])
    honest = [Honest(path, variables) for _ in range(2)]
    names = subprocess.run([path, "list"], capture_output=True, text=True, check=True).stdout.split()
    for name in names:
        limits = {"DCL_KERNEL_MS": "500"} if name == "endless" else {}
        program = Program([path, name], {**variables, **limits}, f"{work}/errors")
        try:
            line = program.next(SECONDS * SLOW)
            if program.end(20 * SLOW) != 0 or line is None or not line.startswith("goes on" if name == "data" else "ended"):
                raise Failed(f"hostile {name}: {program.said()}")
        finally:
            program.kill()
    for client in honest:
        if not (said := client.end()).startswith("right "):
            raise Failed(f"beside a hostile client: {said}")
    os.remove(f"{work}/errors")
    processes.nothing_left(before, 3 * SLOW, folders=[work])
    print(f"{len(names)} hostile clients beside two honest ones")


def few_questions(programs, variables, place, folder):
    """All properties of a device take at most 12 messages of the driver; the rest is answered by what these have brought."""
    (line,) = run([f"{programs}/hostile", "asks"], variables, folder)
    devices, properties, messages = (int(word) for word in re.findall(r"\d+", line))
    if devices != place.nodes or properties < 60 * devices or not devices <= messages <= 12 * devices:
        raise Failed(f"properties of the devices: {line}")


def few_messages(programs, variables, folder):
    """A command and a clFinish() take two messages: what the program needs no more is told with the next command."""
    (line,) = run([f"{programs}/hostile", "finishes"], variables, folder)
    if not 1 <= int(line.split()[0]) <= 2:
        raise Failed(f"a command and clFinish(): {line}")


def rest_beside_commands(dcl, programs, folder, work):
    """A server of a GPU, over tcp and where processors are few, sleeps between its questions for the ends of commands. The device is the tests'
    fake one, each of whose 40 commands takes 20 ms and no processor."""
    fake, processors = os.path.join(os.path.dirname(programs), "fake_opencl.so"), os.sysconf("SC_NPROCESSORS_ONLN")
    reasons = {f"the host has {processors} processors; expected at most 4, so that they are few": processors > 4,
               f"{fake} is not there": not os.path.exists(fake),
               "sanitizers make the server slow": SLOW > 1}
    if why := [reason for reason, holds in reasons.items() if holds]:
        print(f"rest_beside_commands is skipped: {'; '.join(why)}", flush=True)
        return
    with mock.patch.dict(os.environ, {"OCL_ICD_VENDORS": fake, "TEST_OPENCL": "gpu; takes add 20"}), open_place("tcp:1", dcl, folder) as place:
        variables = {**place.variables, "OCL_ICD_VENDORS": os.path.join(os.path.dirname(dcl), "dcl.icd")}
        program = Program([f"{programs}/program", "series"], variables, f"{work}/errors")
        try:
            while program.next(SECONDS) != "launched":
                pass
            (server,) = workers_of(program, place)
            before = processes.sleeps_of(server)
            if program.next(SECONDS) != "ended":
                raise Failed(program.said())
            sleeps = processes.sleeps_of(server) - before
            program.end(SECONDS)
        finally:
            program.kill()
    if sleeps < 120:  # about 6,000 where nothing else runs, and 40 if it sleeps for messages only
        raise Failed(f"a server has slept {sleeps} times during 40 commands of a GPU; expected at least three times in each")


def beside_others(dcl, driver, base, work):
    """A loader that finds the driver beside the host's own asks it for devices also in the processes that serve it."""
    os.mkdir(f"{base}/vendors")
    for path in [driver, *glob.glob("/etc/OpenCL/vendors/*.icd")]:
        shutil.copy(path, f"{base}/vendors")
    variables = {"OCL_ICD_VENDORS": f"{base}/vendors", "DCL_WORKERS": "local:1", "DCL_PROGRAM": dcl}
    lines = run([dcl, "devices"], variables, work)
    if any("DCL" in line for line in lines) or len(lines) < 1:
        raise Failed(f"dcl devices, with the driver beside others: {lines}")


def check(dcl, programs, base):
    driver = os.path.join(os.path.dirname(dcl), "dcl.icd")
    work = f"{base}/work"
    native = run([f"{programs}/program"], {}, work)
    if native[-1] != "all right":
        raise Failed(f"natively: {native}")
    if SLOW == 1:  # sanitizers do not like what PoCL does
        said, wrong = natively.compare(run([f"{programs}/wrong", "compared"], {}, work))
        print(said)
        if wrong:
            raise Failed("wrong inputs natively: " + "; ".join(wrong))
    took = []
    for number, text in enumerate(PLACES):
        folder = f"{base}/workers{number}"
        os.mkdir(folder)
        with open_place(text, dcl, folder) as place:
            variables = {**place.variables, "OCL_ICD_VENDORS": driver}
            direct = {"TEST_DIRECT": "1"} if place.nodes > 1 else {}
            compare(native, run([f"{programs}/program"], {**variables, **direct}, work), text)
            if text == "local:2":
                compare(run([f"{programs}/program", "parts"], FOUR_UNITS, work), run([f"{programs}/program", "parts"], {**variables, **FOUR_UNITS}, work), text)
            few_questions(programs, {**variables, "DCL_PROGRAM": dcl}, place, work)
            few_messages(programs, {**variables, "DCL_PROGRAM": dcl}, work)
            if text == "local:2":
                print(run([f"{programs}/wrong"], variables, work)[-1])
                print(run([f"{programs}/random", "12"], variables, work)[-1])
                many(run([f"{programs}/program", "limits"], variables, work))
                print_much(f"{programs}/program", variables, place, work)
            if text == "tcp:2": # with a worker that is not there, each of the others has a session of its own
                dead = {**variables, "DCL_WORKERS": variables["DCL_WORKERS"] + ",tcp://127.0.0.1:1"}
                compare(native, run([f"{programs}/program"], dead, work), "tcp:2 and one that is not there")
                lose_each_other(f"{programs}/program", variables, place, work)
            if text == "tcp:1":
                compare(native, run([f"{programs}/program"], {**variables, "DCL_FAULT": "store"}, work), "tcp:1, stored and forwarded")
                hostile(programs, variables, work)
            if "keys" not in text:
                took.append(kill_one(f"{programs}/program", variables, place, work))
                if place.nodes > 1:
                    took.append(kill_needed(f"{programs}/program", variables, place, work))
    print("killed during a kernel: known after " + ", ".join(f"{1000 * seconds:.0f} ms" for seconds in took))
    if processes.is_late(max(took), SLOW):
        raise Failed(f"a loss is known after {max(took):.2f} s; expected less than a second")
    beside_others(dcl, driver, base, work)
    os.mkdir(f"{base}/series")
    rest_beside_commands(dcl, programs, f"{base}/series", work)
    alone = Program([f"{programs}/program"], {"OCL_ICD_VENDORS": driver, "DCL_WORKERS": "tcp://127.0.0.1:1"}, f"{work}/errors")
    try:
        line = alone.next(SECONDS)
        if line != "clGetDeviceIDs: -1" or "there is no token for tcp://127.0.0.1:1" not in alone.errors():
            raise Failed(f"without a worker: {alone.said()}")
        alone.end(20)
    finally:
        alone.kill()


if __name__ == "__main__":
    sys.exit(test_in_folder("icd", check))
