"""programs.py COMMAND FOLDER [NAME...]: programs of others on the OpenCL driver, from the packages of the system.

Each runs natively first, then over local:1, tcp:1 and tcp-keys:1 (with keys). What is right natively has to be right over the driver. Programs that are not
installed are left out, and those without a platform. Prints a row for each program, and fails if one differs. `make programs`, which takes
an hour; NAME chooses some of: clinfo, clpeak, clblast, clfft, pyopencl, hashcat. clblast:xaxpy,xdot chooses routines of clblast.
TEST_WORKERS names the places beside native, if it should not be all."""
import contextlib
import difflib
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(os.path.dirname(HERE), "processes"))
from session import Failed, test_in_folder
import processes
from workers import open_place

NAMES = sys.argv[3:] or ["clinfo", "pyopencl", "clfft", "clblast", "hashcat", "clpeak"]
PLACES = (os.environ.get("TEST_WORKERS") or "local:1 tcp:1 tcp-keys:1").split()
SECONDS = 3000  # for one program: kernels are compiled

# Properties that clinfo --raw may show differently over the driver, and why: the table of docs/remote-opencl.md.
DIFFERENT = {
    "the platform is DCL's": ["CL_PLATFORM_NAME", "CL_PLATFORM_VENDOR", "CL_PLATFORM_VERSION", "CL_PLATFORM_ICD_SUFFIX_KHR", "ICDL"],
    "extensions that need entry points, or features, that the driver does not have": [
        "CL_PLATFORM_EXTENSIONS", "CL_DEVICE_EXTENSIONS", "COMMAND_BUFFER", "CL_DEVICE_SPIR_VERSIONS"],
    "images": ["IMAGE", "CL_DEVICE_MAX_SAMPLERS", "CL_DEVICE_OPENCL_C_FEATURES"],
    "shared virtual memory": ["SVM"],
    "memory of the device is in another process": ["CL_DEVICE_HOST_UNIFIED_MEMORY"],
    "a function of the program cannot run in another process": ["CL_DEVICE_EXECUTION_CAPABILITIES"],
    "built-in kernels": ["BUILT_IN_KERNELS"],
}

RUNS = 100  # of clinfo
MOST_TRIPS = 12  # for one device, over connections that are open
MEMORY = {"POCL_MEMORY_LIMIT": "4"}  # GB: without it, PoCL reports a part of what is free at the moment

BLAS = ["xswap", "xscal", "xcopy", "xaxpy", "xdot", "xdotu", "xdotc", "xnrm2", "xasum", "xamax", "xgemv", "xgbmv", "xhemv", "xhbmv", "xhpmv",
        "xsymv", "xsbmv", "xspmv", "xtrmv", "xtbmv", "xtpmv", "xtrsv", "xger", "xgeru", "xgerc", "xher", "xhpr", "xher2", "xhpr2", "xsyr", "xspr",
        "xsyr2", "xspr2", "xhad", "xomatcopy", "xim2col", "xcol2im", "xaxpybatched", "xgemm", "xsymm", "xhemm", "xsyrk", "xherk", "xsyr2k",
        "xher2k", "xtrmm", "xtrsm", "xgemmbatched", "xgemmstridedbatched", "xconvgemm"]

# Modes of hashcat, those whose kernels compile fastest first. Of each it says an example hash, whose password is "hashcat".
MODES = [0, 900, 1000, 100, 1400, 10, 20, 110, 120, 1100, 1410, 5100, 1700, 6000, 400, 500]
WANTED = 10    # modes that are right natively
MODE_SECONDS = 400  # for one mode: a machine that does other work may compile its kernels for minutes


class Place:
    def __init__(self, name, variables):
        self.name, self.variables = name, variables

    def run(self, argv, variables=None, seconds=SECONDS):
        """@return what it prints on both outputs, its exit code, and how long it took. It runs in a folder of its own."""
        plain = {name: value for name, value in processes.environment().items() if not name.startswith("DCL_")}
        begin = time.monotonic()
        try:
            ended = subprocess.run(argv, env={**plain, **self.variables, **(variables or {})}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=seconds,
                                   cwd=self.folder)
        except subprocess.TimeoutExpired:
            return "", "did not end", seconds
        with open(os.path.join(self.folder, "last"), "w", encoding="utf-8") as file:
            file.write(ended.stdout)
        return ended.stdout, ended.returncode, time.monotonic() - begin


# ---- programs: each is called with a place, and returns what is compared, and what is printed beside it ----

def properties(text):
    found = {}
    for line in text.splitlines():
        if match := re.match(r"\s*(?:\[\S+\]\s+)?(CL_\w+)\s+(.*)", line):
            last = match.group(1)
            found.setdefault(last, []).append(match.group(2))
        elif found:
            found[last].append(line.strip())
    return found


def round_trips(place):
    """Count how often a clinfo sends something over tcp and then receives something: round trips of messages. Each connection has four more
    before its first message, one of tcp and three of ZeroMQ. @return both numbers, for one device; None without strace, or without tcp."""
    trace = os.path.join(place.folder, "trace")
    if shutil.which("strace") is None or not place.name.startswith("tcp"):
        return None
    place.run(["strace", "-f", "-yy", "-e", "trace=sendto,recvfrom", "-o", trace, "clinfo", "--raw"])
    last, trips = {}, 0
    with open(trace, encoding="utf-8", errors="replace") as file:
        for line in file:
            if call := re.match(r"\d+ +(sendto|recvfrom)\(\d+<(TCP\S+)>, .* = [1-9]", line):
                way, connection = call.groups()
                trips += way == "recvfrom" and last.get(connection) == "sendto"
                last[connection] = way
    return trips - 3 * len(last), 4 * len(last)


def clinfo(place):
    text, code, _ = place.run(["clinfo", "--raw"])
    others = [run for run in (place.run(["clinfo", "--raw"])[:2] for _ in range(RUNS - 1)) if run != (text, code)]
    same = RUNS - len(others)
    for line in [] if same == RUNS else difflib.unified_diff(text.splitlines(), others[0][0].splitlines(), n=0, lineterm=""):
        print(f"    {line}")
    found = properties(text)
    if place.name == "native":
        clinfo.native = found
    names = [name for name in {**found, **clinfo.native} if found.get(name) != clinfo.native.get(name)]
    unexplained = [name for name in names if not any(part in name for parts in DIFFERENT.values() for part in parts)]
    said = f"{same} of {RUNS} runs alike, {len(found)} properties, {len(names)} differ"
    if trips := round_trips(place):
        said += f", {trips[0]} round trips and {trips[1]} to connect"
        unexplained += ["round trips"] if trips[0] > MOST_TRIPS else []
    return (code, same, unexplained), said


def clpeak(place):
    text, code, _ = place.run(["clpeak"])
    figures = re.findall(r"^\s+([\w ()-]+?)\s*: ([0-9.]+)(?: us)?$", text, re.M)
    return (code, [name for name, _ in figures]), "; ".join(f"{name} {value}" for name, value in figures)


def clblast(place, routines=()):
    counts = [0, 0, 0]
    for routine in routines or BLAS:
        text, code, _ = place.run([f"clblast_test_{routine}", "-cblas", "1"])
        for number, word in enumerate(("passed", "skipped", "failed")):
            counts[number] += sum(int(found) for found in re.findall(rf"(\d+) test\(s\) {word}", text))
        if code not in (0, 1) or "test(s) passed" not in text:
            return (routine, code), text[-300:]
    return tuple(counts), f"{len(routines or BLAS)} routines: {counts[0]} passed, {counts[1]} skipped, {counts[2]} failed"


def clfft(place):
    verdicts = {}
    for shape in (["-x", "64"], ["-x", "243"], ["-x", "343"], ["-x", "1024"], ["-x", "64", "-y", "60"], ["-x", "16", "-y", "16", "-z", "16"]):
        for more in ([], ["--double"], ["--inv"]) if shape[1] in ("243", "343") else ([],):
            text, code, _ = place.run(["clFFT-client", *shape, *more])
            verdicts[" ".join(shape + more)] = (code, "PASS" in text)
    passed = sum(good for _, good in verdicts.values())
    compared = by_python(place, "with_clfft.py")
    return (verdicts, compared), f"{passed} of {len(verdicts)} PASS; {compared[-1]}"


def by_python(place, name):
    """@return its exit code, what it says is wrong, and its last line; compilers' warnings are left out."""
    text, code, _ = place.run(["/usr/bin/python3", "-W", "ignore", f"{HERE}/{name}"])
    lines = text.strip().splitlines()
    return code, [line for line in lines if line.startswith("WRONG")], next((line for line in reversed(lines) if "generated" not in line), "")


def pyopencl(place):
    found = by_python(place, "with_pyopencl.py")
    return found, found[-1]


def crack(place, mode):
    """@return whether hashcat passes its self-test of the mode, and finds the password of the example; and how long it took."""
    folders = {"XDG_DATA_HOME": f"{place.folder}/data", "XDG_CACHE_HOME": f"{place.folder}/cache"}
    said, _, _ = place.run(["hashcat", "--hash-info", "-m", str(mode)], folders)
    example = re.search(r"Example\.Hash\.*: (\S+)", said)
    if example is None:
        return "no example", 0
    said, code, seconds = place.run(["hashcat", "--potfile-disable", "--restore-disable", "--session", f"dcl{mode}", "--hwmon-disable",
                                     "--backend-ignore-cuda", "--backend-ignore-hip", "--force", "-O", "-m", str(mode), "-a", "3",
                                     example.group(1), "hashc?l?l"], folders, MODE_SECONDS)
    if "self-test failed" in said.lower():  # it always says that it begins one
        return "self-test failed", seconds
    return "right" if code == 0 and ":hashcat" in said else f"not found, exit code {code}", seconds


def hashcat(place):
    """Modes are tried natively until ten are right. Over the driver, these ten have to be."""
    native = place.name == "native"
    if native:
        hashcat.modes = []
    found, times = {}, {}
    for mode in MODES if native else hashcat.modes:
        found[mode], times[mode] = crack(place, mode)
        if native and found[mode] == "right":
            hashcat.modes.append(mode)
        if native and len(hashcat.modes) == WANTED:
            break
    right = [mode for mode, verdict in found.items() if verdict == "right"]
    wrong = "".join(f"; {mode}: {verdict}" for mode, verdict in found.items() if verdict != "right")
    return right, f"{len(right)} of {len(found)} right{wrong}; " + ", ".join(f"{mode} {times[mode]:.0f} s" for mode in found)


NEEDS = {"clinfo": "clinfo", "clpeak": "clpeak", "clblast": "clblast_test_xaxpy", "clfft": "clFFT-client", "hashcat": "hashcat"}


def is_there(name):
    if name == "pyopencl":
        return subprocess.run(["/usr/bin/python3", "-c", "import pyopencl"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    return shutil.which(NEEDS[name]) is not None


def check(dcl, programs, base):
    driver = os.path.join(os.path.dirname(dcl), "dcl.icd")
    wrong = []
    os.mkdir(f"{base}/offers")
    os.environ.update(MEMORY, POCL_CACHE_DIR=f"{base}/kernels")  # one for all places: each kernel is compiled once
    with contextlib.ExitStack() as stack:
        common = {"OCL_ICD_VENDORS": driver, "DCL_PROGRAM": dcl}
        places = [Place("native", {})]
        for kind in PLACES:
            os.mkdir(f"{base}/offers/{kind}")
            served = stack.enter_context(open_place(kind, dcl, f"{base}/offers/{kind}"))
            places.append(Place(kind, {**served.variables, **common}))
        for place in places:
            place.folder = f"{base}/{place.name}"
            os.mkdir(place.folder)
        for chosen in NAMES:
            name, _, parts = chosen.partition(":")
            if not is_there(name):
                print(f"{name}: not installed", flush=True)
                continue
            native = None
            for place in places:
                begin = time.monotonic()
                found, text = globals()[name](place, *([parts.split(",")] if parts else []))
                native = found if place.name == "native" else native
                print(f"{chosen} | {place.name} | {text} | {time.monotonic() - begin:.0f} s{'' if found == native else ' | DIFFERS'}", flush=True)
                if found != native:
                    print(f"    {found}, natively {native}", flush=True)
                    wrong.append(f"{chosen} over {place.name}")
    if wrong:
        raise Failed(f"differ from native: {', '.join(wrong)}")


if __name__ == "__main__":
    sys.exit(test_in_folder("programs", check))
