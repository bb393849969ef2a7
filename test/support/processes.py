"""What belongs to a test, for finding what it left behind; and signals that reach nothing else.

A process belongs to a test when it was started with environment(), which carries a mark, TEST_MARK=..., and so do its
children, or when it descends from a process given by its id. Nothing here touches a process without the mark.

    before = snapshot(folders=[work])
    client = subprocess.Popen([...], env=environment())
    ...
    wait_until(lambda: not difference(before, snapshot(folders=[work])), 2)

The mark stands in the environment with which a program was executed: a program that is executed without it is found
only by its descent, and one that also lost its parent not at all."""
import collections
import dataclasses
import os
import re
import secrets
import signal as signals
import time

VARIABLE = "TEST_MARK"
MARK = f"{os.getpid()}-{secrets.token_hex(4)}"  # of this test program
TIME_WAIT = "06"  # state of a tcp socket that the kernel keeps for a while, whatever the program did


def environment(mark=MARK, **more):
    """An environment for a process that is to belong to the test."""
    return {**os.environ, VARIABLE: mark, **more}


def settings():
    """Settings of DCL that the variable TEST_SETTINGS forces on the programs of a test: "DCL_STEAL=always DCL_TILE_BYTES=4096". DCL_
    variables of the environment itself are kept from these programs."""
    return dict(word.split("=", 1) for word in os.environ.get("TEST_SETTINGS", "").split())


# ---- processes ------------------------------------------------------------------------------------------------------


def read(path):
    """b"" where the process has ended meanwhile, or is not ours."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat_of(pid):
    """(name, state, parent, start time in ticks) or None. The name stands in brackets and may hold anything."""
    text = read(f"/proc/{pid}/stat").decode(errors="replace")
    name, bracket, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return (name, fields[0], int(fields[1]), int(fields[19])) if bracket else None


def sleeps_of(pid):
    """How often the first thread of a process has given its processor up because it had to wait."""
    found = re.search(rb"^voluntary_ctxt_switches:\s+(\d+)", read(f"/proc/{pid}/status"), re.M)
    return int(found[1]) if found else 0


def environ_of(pid):
    return read(f"/proc/{pid}/environ")


def marked(environ, mark):
    return f"{VARIABLE}={mark}".encode() in environ.split(b"\0")


def has_mark(pid, mark=MARK):
    return marked(environ_of(pid), mark)


def has_mark_soon(pid, mark, seconds=2):
    """The same for a process that may have been started just now: for a moment it has no environment at all."""
    until = time.monotonic() + seconds
    while True:
        environ = environ_of(pid)  # once: what is asked twice may be there the second time only
        if environ:
            return marked(environ, mark)
        stat = stat_of(pid)
        if stat is None or stat[1] == "Z" or time.monotonic() > until:
            return False
        time.sleep(0.002)


def descendants(root):
    children = collections.defaultdict(list)
    for pid in all_pids():
        stat = stat_of(pid)
        if stat is not None:
            children[stat[2]].append(pid)
    found, new = set(), [root]
    while new:
        new = [child for pid in new for child in children[pid] if child not in found]
        found.update(new)
    return found


def belonging(mark=MARK, root=None):
    """Ids of the processes that carry the mark, and of the root and its descendants; zombies too, where they descend.
    This process itself is left out, unless it is the root."""
    pids = {pid for pid in all_pids() if pid != os.getpid() and has_mark(pid, mark)}
    if root is not None:
        pids |= {root} | descendants(root)
    return {pid for pid in pids if stat_of(pid) is not None}


# ---- what they hold -------------------------------------------------------------------------------------------------


def descriptors_of(pid):
    """{descriptor: what it leads to, as in /proc: "socket:[12]", "/memfd:part (deleted)", "/tmp/a"}."""
    found = {}
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return found
    for number in numbers:
        try:
            found[int(number)] = os.readlink(f"/proc/{pid}/fd/{number}")
        except OSError:
            pass  # closed meanwhile
    return found


def kind_of(target):
    """Of a descriptor, without what differs from one to the next: "socket", "memfd part", "[eventfd]"."""
    if target.startswith("/memfd:"):
        return f"memfd {target.removeprefix('/memfd:').removesuffix(' (deleted)')}"
    if target.startswith("anon_inode:"):
        return target.removeprefix("anon_inode:")
    return re.sub(r":\[\d+\]$", "", target)


MAPPING = re.compile(r"^\S+ \S+ \S+ \S+ (\d+)\s+(/\S.*)$", re.MULTILINE)  # address, rights, offset, device, inode, path


def memory_files_of(pid):
    """{(inode, path)} of memfds and files of /dev/shm that the process maps or has open."""
    text = read(f"/proc/{pid}/maps").decode(errors="replace")
    found = {(int(inode), path) for inode, path in MAPPING.findall(text)}
    for number, path in descriptors_of(pid).items():
        if path.startswith("/memfd:") or path.startswith("/dev/shm/"):
            try:
                found.add((os.stat(f"/proc/{pid}/fd/{number}").st_ino, path))
            except OSError:
                pass
    return {(inode, path.removesuffix(" (deleted)")) for inode, path in found
            if path.startswith("/memfd:") or path.startswith("/dev/shm/")}


CRITERIONS = "bxfi_"  # its sandbox's memory


def shared_files(pids):
    """Files of /dev/shm that are this user's and not in use by processes outside `pids`: other programs, and other
    tests, have such files too. Criterion's runners have theirs for moments without using them."""
    others = {path for pid in all_pids() if pid not in pids for _, path in memory_files_of(pid)}
    found = set()
    for name in os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []:
        path = os.path.join("/dev/shm", name)
        try:
            if os.lstat(path).st_uid == os.getuid() and path not in others and not name.startswith(CRITERIONS):
                found.add(path)
        except OSError:
            pass
    return found


def hex_address(text):
    """Of /proc/net/tcp: "0100007F:1F90" is 127.0.0.1:8080; longer ones are IPv6, of which the port is enough."""
    host, port = text.split(":")
    if len(host) != 8:
        return f"[ipv6]:{int(port, 16)}"
    octets = bytes.fromhex(host)[::-1]
    return ".".join(map(str, octets)) + f":{int(port, 16)}"


def tcp_sockets(net):
    """[(inode, local, remote, state)] of a /proc/.../net folder."""
    found = []
    for name in ("tcp", "tcp6"):
        for line in read(f"{net}/{name}").decode().splitlines()[1:]:
            fields = line.split()
            found.append((int(fields[9]), hex_address(fields[1]), hex_address(fields[2]), fields[3]))
    return found


def unix_sockets(net):
    """[(inode, path or "")]; abstract names begin with @."""
    found = []
    for line in read(f"{net}/unix").decode(errors="replace").splitlines()[1:]:
        fields = line.split(maxsplit=7)
        found.append((int(fields[6]), fields[7] if len(fields) > 7 else ""))
    return found


def sockets(pids, ports=()):
    """Texts for the sockets that these processes hold, in whatever network namespace they live, and for the tcp sockets
    that use one of these ports, whoever holds them; those in TIME_WAIT are nobody's."""
    targets = [target for pid in pids for target in descriptors_of(pid).values()]
    held = {int(target[8:-1]) for target in targets if target.startswith("socket:[")}
    folders = {"/proc/self/net"} | {f"/proc/{pid}/net" for pid in pids}
    found = set()
    for net in folders:
        for inode, local, remote, state in tcp_sockets(net):
            near, far = (int(address.rpartition(":")[2]) for address in (local, remote))
            if inode in held or (state != TIME_WAIT and (near in ports or far in ports)):
                found.add(f"tcp {local} listening" if state == "0A" else f"tcp {local} to {remote}")
        found |= {f"unix {path or 'unnamed'} [{inode}]" for inode, path in unix_sockets(net) if inode in held}
    return found


def files_in(folders):
    found = set()
    for folder in folders:
        for where, inner, names in os.walk(folder):
            found |= {os.path.join(where, name) for name in names + inner}
    return found


# ---- snapshots ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Snapshot:
    processes: set  # (pid, start time, name): an id that is used again is another process
    descriptors: collections.Counter  # (pid, name, kind): how many
    memfds: set  # texts: name [inode]
    shared: set  # paths in /dev/shm
    sockets: set  # texts
    files: set  # paths


def snapshot(mark=MARK, root=None, folders=(), ports=()):
    """What belongs to the mark, to the process `root` and its descendants, to the folders and to the tcp ports."""
    pids = belonging(mark, root)
    processes, descriptors, memfds = set(), collections.Counter(), set()
    for pid in pids:
        stat = stat_of(pid)
        if stat is None:
            continue
        name = stat[0] + (" (zombie)" if stat[1] == "Z" else "")
        processes.add((pid, stat[3], name))
        descriptors.update((pid, name, kind_of(target)) for target in descriptors_of(pid).values())
        memfds |= {f"{path.removeprefix('/memfd:')} [{inode}]" for inode, path in memory_files_of(pid)
                   if path.startswith("/memfd:")}
    shared = shared_files(pids | {os.getpid()})
    return Snapshot(processes, descriptors, memfds, shared, sockets(pids, ports), files_in(folders))


@dataclasses.dataclass
class Difference:
    """What there is more than before, as texts by kind. True when there is something."""
    left: dict

    def __bool__(self):
        return any(self.left.values())

    def __str__(self):
        lines = [f"{kind}: {', '.join(texts)}" for kind, texts in self.left.items() if texts]
        return "\n".join(lines) or "nothing"


def counted(items):
    """Of what has a new number each time it is made, only how many there are says something."""
    return collections.Counter(re.sub(r" \[\d+\]$", "", item) for item in items)


def more(after, before):
    return sorted(name if count == 1 else f"{count} x {name}" for name, count in (after - before).items())


def difference(before, after):
    """What `after` has and `before` had not. Descriptors are told of processes that were there before; those of a
    new one are not told apart from it."""
    known = {(pid, name) for pid, _, name in before.processes}
    open_now = collections.Counter({f"{kind} of {name} {pid}": count for (pid, name, kind), count
                                    in after.descriptors.items() if (pid, name) in known})
    open_before = collections.Counter({f"{kind} of {name} {pid}": count for (pid, name, kind), count
                                       in before.descriptors.items()})
    return Difference({
        "processes": sorted(f"{name} {pid}" for pid, _, name in after.processes - before.processes),
        "descriptors": more(open_now, open_before),
        "memfds": more(counted(after.memfds), counted(before.memfds)),
        "shared memory": sorted(after.shared - before.shared),
        "sockets": more(counted(after.sockets), counted(before.sockets)),
        "files": sorted(after.files - before.files),
    })


# ---- waiting and killing --------------------------------------------------------------------------------------------


def slowness():
    """How many times as long as alone a thread takes here for its work, because others use the processors: 1 on a machine
    with a free processor, some 8 where 16 threads share two. Time limits are multiplied by it."""
    start, worked = time.monotonic(), time.thread_time()
    while time.thread_time() - worked < 0.03:
        pass
    return max(1.0, (time.monotonic() - start) / (time.thread_time() - worked))


def is_late(took, limit):
    """Whether `took` is more than a time limit, and would also be if others did not use the processors."""
    return took > limit and took > limit * slowness()


def looks(seconds, every):
    """Yield, once for each look at something that must come true, whether this look is the last one. It begins after the
    time limit: on a busy machine one look may take longer than that."""
    start = time.monotonic()
    until, is_final = start + seconds, False
    while True:
        if time.monotonic() > until and not is_final:
            until, is_final = start + seconds * slowness(), True
        yield time.monotonic() > until
        time.sleep(every)


def within(seconds, wait, late):
    """What wait(seconds) returns. Where it raises `late`, it is called once more, for the time that a busy machine adds."""
    try:
        return wait(seconds)
    except late:
        return wait(seconds * (slowness() - 1))


def wait_until(predicate, seconds, what="the condition", every=0.005):
    """@return the seconds it took. TimeoutError when it did not come true within that time, or slowness() times
    that on a busy machine."""
    start = time.monotonic()
    for last in looks(seconds, every):
        if predicate():
            return time.monotonic() - start
        if last:
            raise TimeoutError(f"{what} did not come true within {seconds} s")


def nothing_left(before, seconds, **of):
    """Wait until a snapshot shows nothing more than `before`; AssertionError with what is left after that time, or
    slowness() times that on a busy machine."""
    for last in looks(seconds, 0.02):
        left = difference(before, snapshot(**of))
        if not left:
            return
        if last:
            raise AssertionError(f"left behind after {seconds} s:\n{left}")


def kill(pid, signal=signals.SIGKILL, mark=MARK):
    """Signal a process that carries the mark; PermissionError for any other, ProcessLookupError when it is gone. The
    descriptor keeps the id from meaning another process between the look and the signal."""
    descriptor = os.pidfd_open(pid)
    try:
        if not has_mark_soon(pid, mark):
            if stat_of(pid) is None or stat_of(pid)[1] == "Z":
                raise ProcessLookupError(f"process {pid} has ended")
            raise PermissionError(f"process {pid} does not carry {VARIABLE}={mark}; it is not this test's")
        signals.pidfd_send_signal(descriptor, signal)
    finally:
        os.close(descriptor)


def kill_random(pids, rng, signal=signals.SIGKILL, mark=MARK):
    """Signal one of these, chosen by rng (a random.Random) among those with the mark. @return its id."""
    candidates = sorted(pid for pid in pids if has_mark_soon(pid, mark))
    while candidates:
        pid = candidates.pop(rng.randrange(len(candidates)))
        try:
            kill(pid, signal, mark)
            return pid
        except ProcessLookupError:
            pass  # it ended by itself
    raise ProcessLookupError(f"none of {sorted(pids)} is alive and carries {VARIABLE}={mark}")


def kill_all(mark=MARK):
    """Clean up after a test that failed: SIGKILL, also to those that are stopped. @return how many there were."""
    count = 0
    for pid in belonging(mark):
        try:
            kill(pid, signals.SIGKILL, mark)
            count += 1
        except (ProcessLookupError, PermissionError):
            pass
    return count


def seconds_to(pid, condition, limit, signal=signals.SIGKILL, mark=MARK):
    """Signal a process; @return the seconds until condition() holds. TimeoutError after `limit` seconds."""
    kill(pid, signal, mark)
    return wait_until(condition, limit, f"what follows signal {int(signal)} to process {pid}", every=0.001)
