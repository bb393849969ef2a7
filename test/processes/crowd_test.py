"""A session of very many worker processes, each with the stub driver: crowd_test.py DCL FOLDER DRIVER [NODES].

Nodes lend batches if that pays (DCL_STEAL=never in the environment: they do not): what is asked, shown and connected for
that must not depend on how many they are."""
import os
import subprocess
import sys
import tempfile

dcl, folder, driver = sys.argv[1:4]
nodes = sys.argv[4] if len(sys.argv) > 4 else "100"
with tempfile.TemporaryDirectory() as cache:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DCL_")}
    environment["DCL_STEAL"] = os.environ.get("DCL_STEAL", "pays")
    environment.update(OCL_ICD_VENDORS=driver, STUB_OPENCL_CACHE=cache, DCL_PROGRAM=dcl)
    sys.exit(subprocess.run([os.path.join(folder, "crowd"), nodes], env=environment, timeout=500).returncode)
