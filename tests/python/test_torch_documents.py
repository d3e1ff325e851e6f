# SPDX-License-Identifier: Apache-2.0
"""docs/torch.md names every function, and the example learns."""
import re
import subprocess
import sys

import test_documents
from conftest import need

torch = need("torch")


def test_every_function_is_named():
    import tally.torch as tt

    text = (test_documents.ROOT / "docs/torch.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in (*tt.SCANS, *tt.REDUCTIONS, "run", "linrec"))


def test_mingru():
    script = test_documents.ROOT / "examples/python/mingru.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    errors = [float(error) for error in re.findall(r"error (\S+)$", done.stdout, re.M)]
    assert len(errors) == 6 and errors[-1] < errors[0] / 50, done.stdout
