# SPDX-License-Identifier: Apache-2.0
"""Tally on a GPU beside copies and reads of the same bytes, torch and CUB, case by case in one run.

`gpu.py --tally PROGRAM --device D [--name N] [--out FOLDER] [--quick] [--cases TEXT;TEXT]` writes
gpu.json and gpu.md there; tools/gpu-check calls it. Needs nothing but Python's own library; torch
and cupy are measured where they are installed and see the GPU, and the report says which did not.

Every time is the device's own (timestamps of Vulkan, events of CUDA), of a call whose tensors are
on the device, median of many, after half a second of such calls, each on other tensors than the one
before (gpu_cases.py). A case's competitors are measured one right after the other, with the GPU's
clock beside them (gpu_clock.py). The ceiling is the fastest copy of the case's bytes from one buffer
to another, by whomever; of reductions, a kernel of Tally's that reads them and computes next to
nothing. What the first kernel takes is gpu_pipelines.py's.
"""

import argparse
import datetime
import pathlib
import platform
import re
import subprocess
import sys

import gpu_pipelines
import record
from gpu_cases import BIG, PIPELINES, cases
from gpu_clock import Clock
from gpu_peers import Tally, peers
from gpu_report import cell, report


def first_lines(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True,
                              timeout=60).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def machine(name, clock):
    cpu = pathlib.Path("/proc/cpuinfo")
    model = re.search(r"model name\s*:\s*(.*)", cpu.read_text()) if cpu.exists() else None
    nvidia = first_lines("nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm",
                         "--format=csv,noheader")
    told = re.findall(r"driver(?:Name|Info)\s*= (\S.*)", first_lines("vulkaninfo", "--summary"))
    return {"gpu": name, "driver": nvidia or ", ".join(told) or "unknown", "clock": clock.source,
            "cpu": model[1] if model else platform.machine(), "system": platform.platform(),
            "python": platform.python_version(),
            "date": datetime.date.today().isoformat()}


def write(run, folder):
    (folder / "gpu.json").write_text(record.text(run))
    (folder / "gpu.md").write_text(report(run))


def measure(run, chosen, who, clock, folder):
    """All cases, each one written when it is done, so that a run that is cut off leaves what it had.
    How many failed."""
    failed = 0
    for case in chosen:
        results = {each.name: vars(each.measure(case, clock)) for each in who}
        run["cases"].append({"group": case.group, "word": case.word, "elements": case.count,
                             "results": results})
        # 3 is a refusal of what is not supported, which the report lists; all else is a failure.
        failed += results["Tally"]["extra"].get("status", 3) != 3
        print(f"{case.word}: " + ", ".join(f"{name} {cell(run['cases'][-1], name)}"
                                            for name in results), flush=True)
        write(run, folder)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tally", required=True, help="the command")
    parser.add_argument("--device", default="vulkan")
    parser.add_argument("--name", help="what the report calls the device")
    parser.add_argument("--out", default=".", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="tensors of 2^22 elements")
    parser.add_argument("--cases", default="",
                        help="texts of words or groups, semicolons between; pipelines is a group, too")
    options = parser.parse_args()

    texts = [text for text in options.cases.split(";") if text]
    chosen = [case for case in cases(22 if options.quick else BIG)
              if not texts or any(text in case.word or text in case.group for text in texts)]
    tally, clock = Tally(options.tally, options.device), Clock()
    found, lines = peers()
    run = {"machine": machine(options.name or options.device, clock), "tally": tally.version,
           "device": options.device, "peers": lines, "pipelines": [], "cases": []}
    options.out.mkdir(parents=True, exist_ok=True)
    if not texts or "pipelines" in texts:
        run["pipelines"] = gpu_pipelines.measure(tally, PIPELINES)
        write(run, options.out)
    try:
        failed = measure(run, chosen, [tally, *found], clock, options.out)
    finally:
        clock.close()
    measured = sum(bool(case["results"]["Tally"]["seconds"]) for case in run["cases"])
    print(f"gpu.py: {len(chosen)} cases, {measured} measured, {failed} failed")
    return 1 if failed or not measured + len(run["pipelines"]) else 0


if __name__ == "__main__":
    sys.exit(main())
