#!/usr/bin/python3
"""The benchmarks of reductions, scans, products and stencils in one table: each ratio beside its limit.

    verb_limits.py BENCH [PREFIX...]     the folder of the benchmarks; words before each command, such as chrt -r 20

A ratio above 1 means that DCL is faster than its reference in the same run. "margin": at least 10 % above the limit. "memory" is the rate
at which all processors read in the same rounds, where the benchmark measures it: in virtual machines it changes from minute to minute."""
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # leave the source folder as it is
NUMBER = r"(?P<value>[0-9.]+)"
PLACE = r"(?P<place>one (?:embedded )?node|1 node|local:2)"
# Which program prints a line; the line; how its value becomes a ratio; the limit. The first row that fits a line takes it.
ROWS = [
    ("reduce", rf"(?P<name>sum f32), {PLACE}.*OpenMP / dcl {NUMBER}", None, 0.9),
    ("reduce", rf"(?P<name>sum f64), {PLACE}.*OpenMP / dcl {NUMBER}", None, 0.77),
    ("reduce", rf"(?P<name>sum f(?:32|64), DCL_FAST), {PLACE}.*OpenMP / dcl {NUMBER}", None, 0.97),
    ("reduce", rf"(?P<name>y = A x f(?:32|64)), {PLACE}.*OpenMP / dcl {NUMBER}", None, 0.95),
    ("reduce", rf"(?P<name>sum of one element), {PLACE}.*ratio {NUMBER}", lambda x: 1 / x, 1.0),
    ("scan", rf"(?P<name>scan f(?:32|64)), {PLACE}.*OpenMP / dcl {NUMBER}", None, 1.1),
    ("product", rf"(?P<name>product f32 \d+), {PLACE}: chain.*ratios {NUMBER} and", None, 0.55),
    ("product", rf"(?P<name>product f32 \d+), {PLACE}: chain.*ratios [0-9.]+ and {NUMBER}", None, 0.95),
    ("bodies", rf"(?P<name>histogram), {PLACE}.*OpenMP / dcl {NUMBER}", None, 1.0),
    ("bodies", rf"(?P<name>jacobi waited), {PLACE}.*OpenMP / dcl {NUMBER}", None, 1.0),
    ("bodies", rf"(?P<name>jacobi), {PLACE}.*OpenMP / dcl {NUMBER}", None, 2.0),
    ("bodies", rf"(?P<name>convolution), {PLACE}.*separable / dcl {NUMBER}", None, 1.0),
    ("bodies", rf"(?P<name>convolution in two passes), {PLACE}.*separable / dcl {NUMBER}", None, 1.2),
    ("bodies", rf"(?P<name>permute ...), {PLACE}: dcl [0-9.]+ ms, {NUMBER} GB/s", lambda x: x / 20, 1.0),
    ("bodies", rf"(?P<name>checked (?:row|window)), {PLACE}.*tile kernel / dcl {NUMBER}", None, 0.91),
]
CALLS = [("reduce", []), ("scan", []), ("product", ["4096"]), ("bodies", [])]


def rows_of(program, line):
    """@return name, place, ratio and limit of all rows that a line of a benchmark has."""
    found = []
    for wanted, pattern, ratio, limit in ROWS:
        match = re.match(pattern, line) if wanted == program else None
        if match:
            value = float(match["value"])
            place = "local:2" if match["place"] == "local:2" else "one node"
            found.append((match["name"], place, ratio(value) if ratio else value, limit))
    return found


def chains_of(line):
    """@return place and rate of a product by the chain."""
    match = re.match(rf"product f32 \d+, {PLACE}: chain {NUMBER} GF/s", line)
    return (match["place"], float(match["value"])) if match else None


def show(name, place, ratio, limit, memory):
    verdict = "margin" if ratio >= 1.1 * limit else "met" if ratio >= limit else "NOT MET"
    print(f"{name:28} {place:9} {ratio:6.2f} {limit:6.2f}  {verdict:8} {memory}", flush=True)


def main(folder, prefix):
    print(f"{'':28} {'':9} {'ratio':>6} {'limit':>6}  {'':8} memory, GB/s")
    rates = {}
    for program, words in CALLS:
        with subprocess.Popen([*prefix, f"{folder}/{program}", *words], stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                memory = re.search(r"memory (\d+) GB/s", line)
                for row in rows_of(program, line):
                    show(*row, memory[1] if memory else "")
                chain = chains_of(line)
                if chain:
                    rates[chain[0]] = chain[1]
        if process.returncode != 0:
            sys.exit(f"{program} ended with {process.returncode}")
    if len(rates) == 2:
        show("product, two nodes / one", "", rates["local:2"] / rates["one node"], 0.95, "")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
