# SPDX-License-Identifier: Apache-2.0
"""How long a program waits for its first kernel on a GPU: the module made or found, the driver's
pipeline made or found; and the first run, since some drivers compile only there.

Each is a process of its own with a cache folder of its own; the driver's caches are off, as far as
variables are known that do it."""

import json
import math
import os
import pathlib
import subprocess
import tempfile

import gpu_cases

OFF = {"__GL_SHADER_DISK_CACHE": "0", "MESA_SHADER_CACHE_DISABLE": "true",
       "CUDA_CACHE_DISABLE": "1"}
NUMPY = {"f32": "<f4", "f16": "<f2", "f64": "<f8", "i32": "<i4"}
STATES = ["all made", "pipeline made", "all found"]


def write_zeros(path, case):
    """A sparse .npy file."""
    head = (f"{{'descr': '{NUMPY[case.dtype]}', 'fortran_order': False, "
            f"'shape': ({', '.join(map(str, case.sizes))},), }}").ljust(117) + "\n"
    start = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
    path.write_bytes(start)
    os.truncate(path, len(start) + math.prod(case.sizes) * gpu_cases.BYTES[case.dtype])


def run(tally, case, files, cache):
    """Seconds of the creation and of the first run, and where the kernel came from."""
    env = os.environ | OFF | {"TALLY_CACHE_DIR": str(cache), "TALLY_PACK": "", "TALLY_VERBOSE": "1"}
    done = subprocess.run([tally.program, "run", case.word, files / "in.npy", "-o", files / "out.npy",
                           "--device", tally.device], env=env, capture_output=True, text=True,
                          check=False)
    lines = [line.split(",", 6) for line in done.stderr.splitlines() if line.startswith("tally,")]
    told = {line[2]: line for line in lines}
    if done.returncode != 0 or not {"create", "run"} <= set(told):
        return {"refusal": (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]}
    return {"create": float(told["create"][5]) / 1e6, "run": float(told["run"][5]) / 1e6,
            "from": told["create"][4]}


def forget_pipelines(tally, cache):
    """Removes what the driver made, and keeps the modules; whether there was such."""
    env = os.environ | {"TALLY_CACHE_DIR": str(cache)}
    listed = json.loads(subprocess.run([tally.program, "cache", "list", "--json"], env=env,
                                       capture_output=True, text=True, check=True).stdout)
    files = [entry["file"] for entry in listed if entry["word"] == "pipelines"]
    for file in files:
        (pathlib.Path(cache) / file).unlink()
    return bool(files)


def measure(tally, words):
    """A dict a word: what `run` says, for each state; without the second one where the driver keeps none."""
    found = []
    for word in words:
        case = gpu_cases.Case("", word)
        with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as cache:
            files = pathlib.Path(work)
            write_zeros(files / "in.npy", case)
            states = {"all made": run(tally, case, files, cache)}
            if "refusal" not in states["all made"]:
                states["all found"] = run(tally, case, files, cache)
                if forget_pipelines(tally, cache):
                    states["pipeline made"] = run(tally, case, files, cache)
            found.append({"word": word} | states)
    return found


def report(found):
    """A table for people."""
    def cell(state):
        if state is None:
            return "-"
        if "refusal" in state:
            return state["refusal"].replace("|", "/")
        return f"{state['create'] * 1e3:.1f} + {state['run'] * 1e3:.1f}"

    return ["#### pipelines", "",
            "Milliseconds of the host's clock: the kernel's creation and its first run on host memory. All made: "
            "no module and no pipeline was there; pipeline made: the module was on disk; all found: "
            "the driver's pipeline cache as well.", "",
            "| kernel | " + " | ".join(STATES) + " |", "|---|" + "---|" * len(STATES)] + [
        f"| {row['word']} | " + " | ".join(cell(row.get(state)) for state in STATES) + " |"
        for row in found]
