# SPDX-License-Identifier: Apache-2.0
"""Importing the package is quick: it imports no other library and starts no thread."""
import os
import pathlib
import subprocess
import sys

import tally

MOST_US = 5000


def run(code, *options):
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=True)


def test_nothing_else_is_imported():
    code = """
import os, sys
before = set(sys.modules)
import tally
print(sorted(set(sys.modules) - before), len(os.listdir("/proc/self/task")))
maps = open("/proc/self/maps").read()
print([name for name in ("LLVM", "libtally-llvm", "libtally-codegen", "libvulkan", "numpy") if name in maps])
"""
    assert run(code).stdout.splitlines() == ["['tally', 'tally._tally'] 1", "[]"]


def test_it_takes_little_time():
    def once():
        lines = run("import tally", "-X", "importtime").stderr.splitlines()
        return next(int(line.split("|")[1]) for line in lines if line.split("|")[-1].strip() == "tally")

    assert min(once() for _ in range(7)) < MOST_US


def test_the_package():
    assert tally.__version__.count(".") == 2
    assert sorted(tally.__all__) == sorted(set(tally.__all__)) and all(hasattr(tally, name) for name in tally.__all__)
    assert os.path.exists(os.path.join(os.path.dirname(tally.__file__), "py.typed"))


def test_the_command():
    tool = os.environ.get("TALLY_TOOL", "/nowhere/tally")
    ask = [sys.executable, "-m", "tally", "--version"]
    none = subprocess.run(ask, capture_output=True, text=True, check=False, env={**os.environ, "PATH": "/nowhere"})
    beside = pathlib.Path(tally.__file__).with_name("tally").exists()  # as in a wheel
    assert none.returncode == (not beside)
    assert beside or none.stderr.startswith("tally: there is no command at ")
    if os.path.exists(tool):
        path = {**os.environ, "PATH": os.path.dirname(tool)}
        assert subprocess.run(ask, capture_output=True, text=True, check=True, env=path).stdout.startswith("tally ")
