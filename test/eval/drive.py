"""Ways to run a case: the dcl command, and case_runner, a program on the public interface."""
import json
import os
import select
import shlex
import subprocess
import time

import numpy

from bodies import DTYPES
from processes import settings

NODES_MOST = 5
TIMEOUT = float(os.environ.get("TEST_TIMEOUT", "120"))  # seconds for one case; it is then taken to hang
REPORTS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:")


class Broken(Exception):
    """A case did not get through; the text says how."""


def environment(nodes):
    """Of a process that finds at least so many devices, of PoCL exactly so many."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
    env.update(settings())
    env["POCL_DEVICES"] = " ".join(["pthread"] * nodes)
    return env


class Devices:
    """What serves as nodes: the CPU several times with PoCL, else the devices there are."""

    def __init__(self, dcl):
        done = subprocess.run([dcl, "devices"], env=environment(NODES_MOST), stdout=subprocess.PIPE, text=True)
        used = [line for line in done.stdout.splitlines()[1:] if line.split()[1:2] == ["yes"]]
        self.numbers = [line.split()[0] for line in used][:NODES_MOST]
        self.pocl = all("Portable Computing Language" in line for line in used)

    def first(self, nodes):
        return ",".join(self.numbers[:nodes])


def write_npy(path, values, fortran=False, swapped=False, version=None):
    if swapped:
        values = values.astype(values.dtype.newbyteorder(">"))
    values = numpy.asarray(values, order="F" if fortran else "C")
    with open(path, "wb") as file:
        numpy.lib.format.write_array(file, values, version=version)


def write_raw(path, values, order):
    """Orders as case_runner.c names them: c, f, r."""
    if order == "r":
        values = values[::-1]
    with open(path, "wb") as file:
        file.write(values.tobytes("F" if order == "f" else "C"))


def read_raw(path, shape, dtype, order):
    values = numpy.fromfile(path, dtype=dtype).reshape(shape, order="F" if order == "f" else "C")
    return values[::-1] if order == "r" else values


def read_npy(path):
    values = numpy.load(path)
    if values.dtype.byteorder == ">":
        raise Broken(f"{path} is saved big-endian")
    return values


def settings_at(place, case):
    """Over tcp nothing is read in place."""
    wishes = dict(case.settings)
    if place and place.offers and wishes.get("move") == "place":
        wishes["move"] = "auto"
    return wishes


# ---- dcl eval -----------------------------------------------------------------------------------------------------------


def text_of(type_name, value):
    return f"{value!r}f" if type_name == "float" else repr(value)


class Command:
    """@param place  of workers (support/workers.py); None: in the program itself."""

    def __init__(self, path, devices, place=None):
        self.path, self.devices = path, devices
        self.variables, self.prefix = (place.variables, place.prefix) if place else ({}, [])
        self.place = place
        self.said = ""  # the last command line, for people

    def call(self, arguments, env, folder):
        settings = [f"{k}={v}" for k, v in env.items() if k.startswith("DCL_") or k == "POCL_DEVICES"]
        self.said = shlex.join(["env", "-C", folder, *settings, *self.prefix, self.path, *arguments])
        try:
            done = subprocess.run([*self.prefix, self.path, *arguments], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            raise Broken(f"dcl did not end within {TIMEOUT:g} seconds") from None
        if done.returncode != 0 or any(word in done.stderr for word in REPORTS):
            raise Broken(f"dcl {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return done

    def run(self, case, folder):
        env = {**environment(case.nodes), **self.variables}
        if not self.devices.pocl:
            env["DCL_DEVICES"] = self.devices.first(case.nodes)
        settings = settings_at(self.place, case)
        env.update({f"DCL_{name.upper()}_BYTES": str(value) for name, value in settings.items() if name != "move"})
        if "move" in settings:
            env["DCL_TRANSFER"] = settings["move"]
        arguments = [case.kernel.text]
        for name in case.shapes:
            field = f"{name}={name}.npy"
            if case.access(name) != "in":
                if not case.inferred:
                    field += ":" + "x".join(map(str, case.shapes[name])) + ":" + case.kernel.type_of(name)
                if case.access(name) == "inout":
                    write_npy(f"{folder}/{name}.npy", case.start[name])
            else:
                write_npy(f"{folder}/{name}.npy", case.start[name], **case.file_form[name])
            arguments.append(field)
            if case.maps[name].text:
                arguments[:0] = ["--map", f"{name}={case.maps[name].text}"]
        for name, (type_name, value) in case.values.items():
            arguments += ["--set", f"{name}={text_of(type_name, value)}"]
        if case.saved_order:
            arguments[:0] = ["--order", case.saved_order]
        for name in case.listed:
            self.check_owners(case, name, env, folder)
        if case.times > 1:
            arguments[:0] = ["--repeat", str(case.times)]
        plan = json.loads(self.call(["eval", "--explain", "--json", *arguments], env, folder).stdout)
        done = self.call(["eval", "--stats", "--json", *arguments], env, folder)
        return self.compare(case, plan, json.loads(done.stdout), done.stderr, folder)

    def check_owners(self, case, name, env, folder):
        shape, map_ = case.shapes[name], case.maps[name]
        if not map_.text:
            return
        done = self.call(["map", "--grid", "x".join(map(str, shape)), "--nodes", str(case.nodes), "--map", map_.text,
                          "--owners"], env, folder)
        if [int(word) for word in done.stdout.split()] != map_.owners().ravel().tolist():
            raise Broken(f"owners of {name} under {map_.text} are {done.stdout!r}; expected {map_.owners().tolist()}")

    def compare(self, case, plan, counted, lines, folder):
        keys = ("tasks", "blocks_moved", "bytes_moved", "approximate", "messages_planned")
        planned, found = ([tuple(row[key] for key in keys) for row in of["per_node"] + [of]] for of in (plan, counted))
        if planned != found:
            raise Broken(f"explain and stats differ ({', '.join(keys)}; per node, total): {planned} and {found}")
        check_pairs(plan)
        stats = dict(line.split("=", 1) for line in lines.splitlines() if "=" in line)
        for key in ("nodes", "tasks", "blocks_moved", "bytes_moved"):
            if stats.get(key) != str(counted[key]):
                raise Broken(f"--stats says {key}={stats.get(key)}, --json {counted[key]}")
        return {name: read_npy(f"{folder}/{name}.npy") for name in case.outputs()}, [row[:4] for row in planned]


# ---- case_runner --------------------------------------------------------------------------------------------------------


def check_pairs(plan):
    """The pairs of a user add up to its counters; the arrays to all that moves."""
    sums = {(node["node"], key): 0 for node in plan["per_node"] for key in ("blocks", "bytes", "messages")}
    for pair in plan["pairs"]:
        if pair["owner"] == pair["user"] or pair["bytes"] > pair["bytes_read"] + pair["bytes_written"]:
            raise Broken(f"explain has the pair {pair}")
        for key in ("blocks", "bytes", "messages"):
            sums[pair["user"], key] += pair[key]
    for node in plan["per_node"]:
        found = [sums[node["node"], key] for key in ("blocks", "bytes", "messages")]
        counted = [node[key] for key in ("blocks_moved", "bytes_moved", "messages_planned")]
        if found != counted:
            raise Broken(f"pairs of node {node['node']} add up to {found} blocks, bytes, messages; counted are {counted}")
    if sum(array["bytes_moved"] for array in plan["arrays"]) != plan["bytes_moved"]:
        raise Broken(f"arrays do not add up to {plan['bytes_moved']} bytes: {plan['arrays']}")


class Runner:
    def __init__(self, path, devices, errors_path, place=None):
        self.path, self.devices, self.errors_path = path, devices, errors_path
        self.variables, self.prefix = (place.variables, place.prefix) if place else ({}, [])
        self.place = place
        self.process = None
        self.said = ""

    def start(self):
        with open(self.errors_path, "wb") as errors:
            self.process = subprocess.Popen([*self.prefix, self.path], env={**environment(NODES_MOST), **self.variables},
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)

    def errors(self):
        with open(self.errors_path, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:].strip()

    def end(self):
        """Close it as a program ends by itself. @return what is wrong with that, or None."""
        if self.process is None:
            return None
        self.process.stdin.close()
        try:
            code = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return f"case_runner did not end within {TIMEOUT:g} seconds after its last case"
        finally:
            self.process.stdout.close()
            self.process = None
        return f"case_runner ended with {code}: {self.errors()}" if code != 0 or any(
            word in self.errors() for word in REPORTS) else None

    def drop(self, why):
        self.process.kill()
        code = self.process.wait()
        self.process = None
        raise Broken(f"{why} (status {code}) {self.errors()}")

    def ask(self, line):
        if self.process is None:
            self.start()
        settings = {"POCL_DEVICES": " ".join(["pthread"] * NODES_MOST), **self.variables}
        command = shlex.join(["env", *[f"{k}={v}" for k, v in settings.items()], *self.prefix, self.path])
        self.said = f"printf '%s\\n' {shlex.quote(line)} | {command}"
        answer, until = b"", time.monotonic() + TIMEOUT
        try:
            self.process.stdin.write(line.replace("\n", " ").encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.drop("case_runner ended before the case")
        while not answer.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            if not ready:
                self.drop(f"case_runner did not answer within {TIMEOUT:g} seconds")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if more == b"":
                time.sleep(0.2)
                self.drop("case_runner died")
            answer += more
        return json.loads(answer)

    def array_field(self, case, name, folder):
        how, path = case.way_in.get(name, "none"), f"{folder}/{name}.in"
        if how == "npy":
            write_npy(path, case.start[name], **case.file_form[name])
        elif how == "same":
            path = case.twin[name]
        elif how != "none":
            write_raw(path, case.start[name], how[0])
        return "|".join([name, case.access(name), case.kernel.type_of(name), ",".join(map(str, case.shapes[name])),
                         ",".join(map(str, case.origins[name])), case.maps[name].text, how, path])

    def run(self, case, folder):
        fields = [f"devices={self.devices.first(case.nodes)}"] + [f"{key}={value}" for key, value in settings_at(self.place, case).items()]
        fields += ["array=" + self.array_field(case, name, folder) for name in case.shapes]
        fields += [f"value={name}|{type_name}|{value!r}" for name, (type_name, value) in case.values.items()]
        if case.kernel.prelude:
            fields.append(f"prelude={case.kernel.prelude}")
        if case.boxed:
            fields.append("box=" + "|".join(",".join(str(axis[n]) for axis in case.box) for n in range(3)))
        fields.append(f"body={case.kernel.text}")
        if case.again:
            fields.append("again=" + "|".join([str(case.again), *case.swapped, *[str(case.spares)] * bool(case.swapped)]))
            for name in case.rewritten:
                write_raw(f"{folder}/{name}.over", numpy.full_like(case.start[name], 99), "c")
                fields.append(f"rewrite={name}|{case.way_over}|{folder}/{name}.over")
        fields += [f"read={name}|{case.way_out[name]}|{folder}/{name}.out" for name in case.outputs()]
        fields += [f"owners={name}" for name in case.listed]
        answer = self.ask("\t".join(fields))
        if answer["status"] != "DCL_OK":
            raise Broken(f"{answer['step']}: {answer['status']}: {answer['error']}")
        if answer["waited"] != case.ends():
            raise Broken(f"dcl_wait gave {answer['waited']} ({answer['waited_error']}); expected {case.ends()}")
        if answer["differs"]:
            raise Broken(answer["differs"])
        for name in case.listed:
            if answer[f"owners_{name}"] != case.maps[name].owners().ravel().tolist():
                raise Broken(f"owners of {name} under {case.maps[name].text or 'the default map'} are "
                             f"{answer[f'owners_{name}']}; expected {case.maps[name].owners().ravel().tolist()}")
        return {name: self.read(case, name, folder) for name in case.outputs()}, [tuple(row) for row in answer["planned"]]

    def read(self, case, name, folder):
        path, how = f"{folder}/{name}.out", case.way_out[name]
        if how.startswith("npy"):
            return read_npy(path)
        return read_raw(path, case.shapes[name], DTYPES[case.kernel.type_of(name)], how[0])
