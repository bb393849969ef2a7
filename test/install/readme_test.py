#!/usr/bin/python3
"""The C sample of the README, compiled and run where there is no device: readme_test.py PATH_TO_LIBDCL COMPILER [FLAG ...]

It says why there is none, and ends with another status than 0. Ends with status 1 when something failed."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    library, compiler = pathlib.Path(sys.argv[1]), sys.argv[2:]
    sample = re.search(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "sample.c"), pathlib.Path(folder, "sample")
        source.write_text("#include <dcl.h>\n#include <stdio.h>\nint main(void)\n{\n" + sample + "}\n")
        subprocess.run([*compiler, "-Wall", "-Werror", f"-I{ROOT}/include", str(source), str(library),
                        f"-Wl,-rpath,{library.parent}", "-o", str(program)], check=True, timeout=120)
        (pathlib.Path(folder) / "vendors").mkdir()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
        environment["OCL_ICD_VENDORS"] = str(pathlib.Path(folder) / "vendors")
        ended = subprocess.run([str(program)], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    said = ended.stderr.strip()
    if ended.returncode != 1 or not said.startswith("dcl_open: ") or "\n" in said:
        print(f"FAILED: without a device the sample ended with {ended.returncode} and said: {said}", file=sys.stderr)
        return 1
    print(f"the sample without a device: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
