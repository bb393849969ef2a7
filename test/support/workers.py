"""Where programs find worker processes, by a short text:

    local:3      three that each program starts itself
    tcp:2        two `dcl worker`s on loopback with a token; the first may use files of the test's folder
    tcp-keys:2   the same with keys
    hosts:3      three, each in a network namespace of its own, with keys; programs run in the first one's

    with open_place("tcp:2", dcl, folder) as place:
        subprocess.run([*place.prefix, dcl, "eval", ...], env={**environment, **place.variables})

Unavailable says why a place is not to be had here."""
import contextlib
import dataclasses
import os
import re
import subprocess

import processes
from hosts import Hosts

START_SECONDS = 20
END_SECONDS = 10


class Unavailable(Exception):
    """Not here; the text says why."""


@dataclasses.dataclass
class Place:
    nodes: int
    variables: dict  # of the environment of programs
    prefix: list = dataclasses.field(default_factory=list)  # what their command lines begin with
    offers: list = dataclasses.field(default_factory=list)  # the `dcl worker`s


class Offer:
    """A `dcl worker` that runs until it is stopped. Its address is known when the constructor returns."""

    def __init__(self, argv, log_path, environment):
        self.log_path = log_path
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        self.address = self._listening()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _listening(self):
        for last in processes.looks(START_SECONDS, 0.01):
            found = re.search(r"listening on (tcp://[^\s,;]+)", self.log())
            if found:
                return found[1]
            if self.process.poll() is not None:
                raise RuntimeError(f"dcl worker ended with {self.process.returncode}: {self.log().strip()}")
            if last:
                break
        self.process.kill()
        self.process.wait()
        raise RuntimeError(f"dcl worker did not listen within {START_SECONDS} s: {self.log().strip()}")

    def stop(self):
        """As a person ends it. RuntimeError when it does not end well."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = processes.within(END_SECONDS, self.process.wait, subprocess.TimeoutExpired)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"dcl worker did not end within {END_SECONDS} s: {self.log().strip()}") from None
        if code != 0:
            raise RuntimeError(f"dcl worker ended with {code}: {self.log().strip()}")


def parse(text):
    found = re.fullmatch(r"(local|tcp|tcp-keys|hosts|tree):([1-9][0-9]?)", text)
    if not found:
        raise ValueError(f"a place is \"{text}\"; expected local:N, tree:N (local, a tree of two children each), tcp:N, "
                         "tcp-keys:N or hosts:N")
    return found[1], int(found[2])


def make_keys(dcl, folder, names):
    """A key folder per name, in which all the others are allowed. @return {name: public key}."""
    public = {}
    for name in names:
        done = subprocess.run([dcl, "keys", f"{folder}/{name}"], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"dcl keys failed: {done.stderr.strip()}")
        with open(f"{folder}/{name}/own.public", encoding="ascii") as file:
            public[name] = next(line.split()[-1] for line in file if line.startswith("dcl public "))
    for name in names:
        os.makedirs(f"{folder}/{name}/allowed", exist_ok=True)
        for other in names:
            with open(f"{folder}/{name}/allowed/{other}.public", "w", encoding="ascii") as file:
                file.write(f"dcl public {public[other]}\n")
    return public


def device_environment(environment):
    """Of a worker: one device of PoCL."""
    plain = {name: value for name, value in environment.items() if not name.startswith("DCL_")}
    return {**plain, "POCL_DEVICES": "pthread"}


def start_tcp(dcl, folder, count, with_keys, stack, hosts=None):
    """@return [Offer], {name: public key}."""
    names = [f"worker{n}" for n in range(count)]
    public = make_keys(dcl, folder, ["program", *names]) if with_keys else {}
    environment = device_environment(processes.environment())
    offers = []
    for n, name in enumerate(names):
        where = hosts.address(n) if hosts else "127.0.0.1"
        argv = [dcl, "worker", "--listen", f"tcp://{where}:0"]
        argv += ["--keys", f"{folder}/{name}"] if with_keys else []
        argv += ["--files", os.path.dirname(folder)] if n == 0 and not with_keys else []
        if hosts:
            argv[:0] = ["ip", "netns", "exec", hosts.name(n)]
        offers.append(Offer(argv, f"{folder}/{name}.log", environment))
        stack.callback(offers[-1].stop)
    return offers, public


def tcp_place(offers, public, folder):
    if not public:
        return Place(len(offers), {"DCL_WORKERS": ",".join(offer.address for offer in offers)}, offers=offers)
    list_path = f"{folder}/workers.txt"
    with open(list_path, "w", encoding="ascii") as file:
        for n, offer in enumerate(offers):
            file.write(f"{offer.address} key={public[f'worker{n}']}\n")
    return Place(len(offers), {"DCL_WORKERS": list_path, "DCL_KEYS": f"{folder}/program"}, offers=offers)


@contextlib.contextmanager
def open_place(text, dcl, folder):
    """@param folder  for logs and keys; workers that may use files may use those of the folder it lies in."""
    kind, count = parse(text)
    if kind in ("local", "tree"):
        yield Place(count, {"DCL_WORKERS": f"local:{count}", **({"DCL_FANOUT": "2"} if kind == "tree" else {})})
        return
    why_not = Hosts.why_not() if kind == "hosts" else None
    if why_not:
        raise Unavailable(why_not)
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(Hosts(count)) if kind == "hosts" else None
        place = tcp_place(*start_tcp(dcl, folder, count, kind != "tcp", stack, hosts), folder)
        if hosts:
            place.prefix = ["ip", "netns", "exec", hosts.name(0)]
        yield place
