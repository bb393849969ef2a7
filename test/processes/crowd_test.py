"""A session of very many worker processes, each with the stub driver: crowd_test.py DCL FOLDER DRIVER [NODES]."""
import os
import subprocess
import sys
import tempfile

dcl, folder, driver = sys.argv[1:4]
nodes = sys.argv[4] if len(sys.argv) > 4 else "100"
with tempfile.TemporaryDirectory() as cache:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
    environment.update(OCL_ICD_VENDORS=driver, STUB_OPENCL_CACHE=cache, DCL_PROGRAM=dcl)
    sys.exit(subprocess.run([os.path.join(folder, "crowd"), nodes], env=environment, timeout=500).returncode)
