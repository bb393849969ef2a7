"""Hosts that are network namespaces of this machine, joined by veth pairs to a bridge.

    why_not = Hosts.why_not()
    if why_not: print("skipped:", why_not)
    with Hosts(3, rate="100mbit") as hosts:
        server = hosts.run(0, ["dcl", "worker", "--listen", f"tcp://{hosts.address(0)}:7700"], stdout=subprocess.PIPE)
        hosts.cut(0)         # its cable is pulled: no packet comes or goes, nobody is told
        hosts.heal(0)

The bridge lives in a namespace of its own: this machine's own network is not touched, and addresses are free to be the
same in every test. Leaving the block kills what runs in the namespaces and removes them. What a test that was itself
killed left behind is removed by the next one."""
import os
import secrets
import shutil
import signal
import subprocess
import time

PREFIX = "dcltest"
FIRST = "10.77.0."  # host 0 has 10.77.0.1
MOST = 200  # hosts
NET_ADMIN, SYS_ADMIN = 12, 21  # capabilities(7)


def ip(*arguments):
    """RuntimeError with the command and its words when it fails. @return what it printed."""
    return command("ip", *arguments)


def command(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    if done.returncode != 0:
        raise RuntimeError(f"'{' '.join(argv)}' failed: {done.stderr.strip()}")
    return done.stdout


def missing_capability():
    with open("/proc/self/status", encoding="ascii") as file:
        bits = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    names = {NET_ADMIN: "CAP_NET_ADMIN", SYS_ADMIN: "CAP_SYS_ADMIN"}
    return next((name for bit, name in names.items() if not bits >> bit & 1), None)


def namespaces():
    """Names of those made here, by whichever test."""
    return [line.split()[0] for line in ip("netns", "list").splitlines() if line.startswith(PREFIX + "-")]


def pids_in(name):
    try:
        return [int(pid) for pid in ip("netns", "pids", name).split()]
    except RuntimeError:
        return []


def remove(name):
    """End what runs in the namespace (all of it was started there by a test), then the namespace, its links with it."""
    for _ in range(100):  # a process that forks while it is looked for is found the next time
        pids = pids_in(name)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not pids:
            break
        time.sleep(0.01)
    ip("netns", "del", name)


def remove_stale():
    """Namespaces of tests that are no longer alive. The name holds the test's process id."""
    for name in namespaces():
        pid = name.split("-")[1]
        if not os.path.exists(f"/proc/{pid}") and not pids_in(name):
            remove(name)


class Hosts:
    """`count` hosts. rate: of each one's cable, both ways, as tc writes it ("100mbit"); None: as fast as it goes."""

    _reasons = {}

    def __init__(self, count, rate=None):
        if not 1 <= count <= MOST:
            raise ValueError(f"count is {count}; expected 1..{MOST}")
        self.count, self.rate = count, rate
        self._names, self._processes = [], []
        self._stem = f"{PREFIX}-{os.getpid()}-{secrets.token_hex(3)}"
        self._hub = f"{self._stem}-hub"

    @classmethod
    def why_not(cls, rate=None):
        """A sentence that says why namespaces are not to be had here, or None. Tried once per process."""
        key = rate is not None
        if key not in cls._reasons:
            cls._reasons[key] = cls._find_reason(rate)
        return cls._reasons[key]

    @classmethod
    def _find_reason(cls, rate):
        for program in ("ip",) if rate is None else ("ip", "tc"):
            if shutil.which(program) is None:
                return f"there is no command '{program}' (package iproute2)"
        if os.geteuid() != 0:
            return "network namespaces need root"
        missing = missing_capability()
        if missing is not None:
            return f"network namespaces need the capability {missing}"
        try:
            with cls(1, rate):
                return None
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            return f"network namespaces are not allowed here: {error}"

    def __enter__(self):
        try:
            remove_stale()
            self._make_hub()
            for i in range(self.count):
                self._make_host(i)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def _make_namespace(self, name):
        ip("netns", "add", name)
        self._names.append(name)
        ip("-n", name, "link", "set", "lo", "up")

    def _make_hub(self):
        self._make_namespace(self._hub)
        ip("-n", self._hub, "link", "add", "bridge", "type", "bridge", "stp_state", "0", "forward_delay", "0")
        ip("-n", self._hub, "link", "set", "bridge", "up")

    def _make_host(self, i):
        name, port = self.name(i), self._port(i)
        self._make_namespace(name)
        ip("-n", self._hub, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("-n", self._hub, "link", "set", port, "master", "bridge", "up")
        ip("-n", name, "address", "add", f"{self.address(i)}/16", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        if self.rate is not None:
            for where, device in ((name, "eth0"), (self._hub, port)):
                command("tc", "-n", where, "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate,
                        "burst", "256kb", "latency", "100ms")

    @staticmethod
    def _port(i):
        return f"port{i}"

    def name(self, i):
        """Of the namespace: `ip netns exec NAME ...`."""
        if not 0 <= i < self.count:
            raise IndexError(f"host is {i}; expected 0..{self.count - 1}")
        return f"{self._stem}-{i}"

    def address(self, i):
        self.name(i)
        return f"{FIRST}{i + 1}"

    def run(self, i, argv, **popen):
        """A subprocess.Popen of a program on host i; its pid is the program's. It ends with the block at the latest."""
        process = subprocess.Popen(["ip", "netns", "exec", self.name(i), *argv], **popen)
        self._processes.append(process)
        return process

    def cut(self, i):
        """Pull the cable: connections stay open and hear nothing."""
        self.name(i)
        ip("-n", self._hub, "link", "set", self._port(i), "down")

    def heal(self, i):
        self.name(i)
        ip("-n", self._hub, "link", "set", self._port(i), "up")

    def close(self):
        """Twice is harmless. Goes on past what fails, and tells the first failure."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
        errors = []
        for name in reversed(self._names):
            try:
                remove(name)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                errors.append(error)
        for process in self._processes:
            process.wait(10)
        self._names, self._processes = [], []
        if errors:
            raise errors[0]
