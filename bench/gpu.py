# SPDX-License-Identifier: Apache-2.0
"""Tally on a GPU beside copies of the same bytes, torch and CUB, case by case in one run.

`gpu.py --tally PROGRAM --device D [--name N] [--out FOLDER] [--quick] [--cases TEXT;TEXT]` writes
gpu.json and gpu.md there; tools/gpu-check calls it. Needs nothing but Python's own library; torch
and cupy are measured where they are installed and see the GPU, and the report says which did not.

Every time is the device's own (timestamps of Vulkan, events of CUDA), of a call whose tensors are
on the device, median of many. A case's competitors are measured one right after the other. The
ceiling is the fastest copy of the case's bytes from one buffer to another, by whomever.
"""

import argparse
import datetime
import json
import math
import pathlib
import platform
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass, field

import record

BIG = 28  # log2 of the elements of the largest tensors


@dataclass
class Case:
    group: str
    word: str

    def __post_init__(self):
        self.op, self.dtype, sizes, options = self.word.split(":")
        self.sizes = [int(size) for size in sizes.split("x")]
        self.options = options.split(",")
        self.axis = int(self.options[0].removeprefix("axis="))
        self.plain = len(self.options) == 1  # no option that the peers lack
        self.count = math.prod(self.sizes)


def cases(big):
    """The table; `big` is log2 of the elements of its largest tensors, 8-byte ones being less."""
    half, rest = big // 2, big - big // 2
    table = []

    def add(group, *words):
        table.extend(Case(group, word) for word in words)

    for dtype in ("f32", "f16", "bf16", "f64", "i32", "i64"):
        size = big if dtype in ("f32", "f16", "i32") else big - 2
        rows, length = 2 ** (size - size // 2), 2 ** (size // 2)
        add("many rows", f"cumsum:{dtype}:{rows}x{length}:axis=1")
        add("one long row", f"cumsum:{dtype}:{2 ** size}:axis=0")
        add("columns", f"cumsum:{dtype}:{length}x{rows}:axis=0")
    for rows in (big - 8, big - 5, big - 10):
        add("many rows", f"cumsum:f32:{2 ** rows}x{2 ** (big - rows)}:axis=1")
    add("many rows", f"cumprod:f32:{2 ** rest}x{2 ** half}:axis=1",
        f"cumsum:f32:{2 ** rest}x{2 ** half}:axis=1,exclusive",
        f"cumsum:f32:{2 ** rest}x{2 ** half}:axis=1,reverse")
    for log2 in range(16, big, 4):
        add("one long row", f"cumsum:f32:{2 ** log2}:axis=0")
    add("one long row", f"cumprod:f32:{2 ** big}:axis=0", f"cumprod:i32:{2 ** big}:axis=0",
        f"cumsum:f32:{2 ** big}:axis=0,exclusive", f"cumsum:f32:{2 ** big}:axis=0,reverse")
    add("columns", f"cumprod:f32:{2 ** half}x{2 ** rest}:axis=0",
        f"cumsum:f32:1024x1024x{2 ** (big - 20)}:axis=1")
    for dtype in ("f32", "f16", "i32"):
        add("chunked columns", f"cumsum:{dtype}:{2 ** (big - 6)}x64:axis=0")
    add("chunked columns", f"cumprod:f32:{2 ** (big - 8)}x256:axis=0")
    for inner in (2, 3, 4, 8):
        add("small inner", f"cumsum:f32:{2 ** (big - 3)}x{inner}:axis=0")
    add("small inner", f"cumsum:f32:4096x{2 ** (big - 14)}x3:axis=1",
        f"cumprod:f32:4096x{2 ** (big - 14)}x4:axis=1", f"cumsum:f16:{2 ** (big - 3)}x4:axis=0")
    unique = {case.word: case for case in table}
    return sorted(unique.values(), key=lambda case: GROUPS.index(case.group))


GROUPS = ["many rows", "one long row", "columns", "chunked columns", "small inner"]


@dataclass
class Result:
    """Seconds of a call and of a copy of the same bytes; or why there are none."""
    seconds: dict = None
    copy: dict = None
    refusal: str = ""
    extra: dict = field(default_factory=dict)


def spread(times):
    return {"min": min(times), "median": statistics.median(times), "max": max(times)}


class Tally:
    name = "Tally"

    def __init__(self, program, device):
        self.program, self.device = program, device
        self.version = self.call("--version").stdout.strip()

    def call(self, *arguments):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True,
                              check=False)

    def measure(self, case):
        done = self.call("bench", case.word, "--device", self.device, "--json")
        if done.returncode != 0:
            lines = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
            return Result(refusal=lines[-1], extra={"status": done.returncode})
        answer = json.loads(done.stdout)
        return Result(answer["seconds"], answer["copy_seconds"],
                      extra={key: answer[key] for key in ("bytes", "runs", "copy", "device")
                             if key in answer})


class Peer:
    """A library that runs on CUDA; subclasses say how to call and to time it."""
    dtypes = {}

    def measure(self, case):
        if not case.plain:
            return Result(refusal=f"has no {', '.join(case.options[1:])}")
        if case.dtype not in self.dtypes:
            return Result(refusal=f"has no {case.dtype}")
        try:
            return self.run(case)
        except Exception as error:  # pylint: disable=broad-except; a peer's fault is its own
            return Result(refusal=f"{type(error).__name__}: {str(error).splitlines()[0][:120]}")
        finally:
            self.release()

    def times(self, call):
        """Seconds of each call, by a pair of events around it; about 0.2 s of calls, 9 to 200. The
        first ones are not counted: libraries are loaded there, memory found, clocks raised."""
        rough = min(self.timed(call) for _ in range(5))
        count = max(9, min(200, int(0.2 / max(rough, 1e-6))))
        for _ in range(count // 4):
            call()
        return spread([self.timed(call) for _ in range(count)])


class Torch(Peer):
    name = "torch"

    def __init__(self):
        import torch  # pylint: disable=import-outside-toplevel
        if not torch.cuda.is_available():
            raise ImportError("no CUDA device")
        self.torch = torch
        self.version = f"torch {torch.__version__}, CUDA {torch.version.cuda}, " \
                       f"{torch.cuda.get_device_name()}"
        self.dtypes = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
                       "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
                       "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8}

    def run(self, case):
        torch, dtype = self.torch, self.dtypes[case.dtype]
        x = torch.ones(case.sizes, dtype=dtype, device="cuda")
        y = torch.empty_like(x)
        scan = getattr(torch, case.op)
        # Without dtype= integers would become int64, a different problem.
        return Result(self.times(lambda: scan(x, case.axis, dtype=dtype, out=y)),
                      self.times(lambda: y.copy_(x)))

    def timed(self, call):
        first, last = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        call()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / 1e3

    def release(self):
        self.torch.cuda.empty_cache()


class Cub(Peer):
    """CUB's device-wide scan, through cupy, which calls it for contiguous flat arrays."""
    name = "CUB (cupy)"

    def __init__(self):
        import cupy  # pylint: disable=import-outside-toplevel
        if cupy.cuda.runtime.getDeviceCount() < 1:
            raise ImportError("no CUDA device")
        cupy._core.set_routine_accelerators(["cub"])  # pylint: disable=protected-access
        self.cupy = cupy
        self.version = f"cupy {cupy.__version__}, CUDA {cupy.cuda.runtime.runtimeGetVersion()}"
        self.dtypes = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4",
                       "i16": "i2", "i8": "i1", "u64": "u8", "u32": "u4", "u16": "u2", "u8": "u1"}

    def run(self, case):
        if len(case.sizes) != 1:
            return Result(refusal="one row only")
        x = self.cupy.ones(case.sizes, dtype=self.dtypes[case.dtype])
        y = self.cupy.empty_like(x)
        scan = getattr(self.cupy, case.op)
        return Result(self.times(lambda: scan(x, dtype=x.dtype, out=y)),
                      self.times(lambda: self.cupy.copyto(y, x)))

    def timed(self, call):
        first, last = (self.cupy.cuda.Event() for _ in range(2))
        first.record()
        call()
        last.record()
        last.synchronize()
        return self.cupy.cuda.get_elapsed_time(first, last) / 1e3

    def release(self):
        self.cupy.get_default_memory_pool().free_all_blocks()


def peers():
    """Those that are here, and a line on each."""
    found, lines = [], {}
    for kind in (Torch, Cub):
        try:
            found.append(kind())
            lines[kind.name] = found[-1].version
        except Exception as error:  # pylint: disable=broad-except; it is not to be had, whyever
            lines[kind.name] = "not measured: " + \
                               (str(error) or type(error).__name__).splitlines()[0]
    return found, lines


# ---- the report ----

def first_lines(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True,
                              timeout=60).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def machine(name):
    cpu = pathlib.Path("/proc/cpuinfo")
    model = re.search(r"model name\s*:\s*(.*)", cpu.read_text()) if cpu.exists() else None
    nvidia = first_lines("nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm",
                         "--format=csv,noheader")
    told = re.findall(r"driver(?:Name|Info)\s*= (\S.*)", first_lines("vulkaninfo", "--summary"))
    return {"gpu": name, "driver": nvidia or ", ".join(told) or "unknown",
            "cpu": model[1] if model else platform.machine(), "system": platform.platform(),
            "python": platform.python_version(),
            "date": datetime.date.today().isoformat()}


def ceiling(case):
    copies = [result["copy"]["median"] for result in case["results"].values() if result["copy"]]
    return min(copies, default=None)


def cell(case, name):
    """Microseconds, and the part of the ceiling's speed."""
    result = case["results"].get(name)
    if not result or not result["seconds"]:
        return "-"
    seconds, copy = result["seconds"]["median"], ceiling(case)
    return f"{seconds * 1e6:,.1f} ({copy / seconds:.2f})" if copy else f"{seconds * 1e6:,.1f}"


def shape_of(word):
    op, dtype, sizes, options = word.split(":")

    def short(match):
        size = int(match[0])
        log2 = size.bit_length() - 1
        return f"2^{log2}" if size == 2 ** log2 and log2 > 4 else match[0]
    return f"{op} {dtype} {re.sub('[0-9]+', short, sizes)} {options}"


def report(run):
    names = ["Tally"] + [name for name, line in run["peers"].items()
                         if not line.startswith("not measured")]
    facts = run["machine"]
    lines = [f"# Tally on {facts['gpu']}", "",
             f"`tools/gpu-check`, {facts['date']}, {run['tally']}. Driver: {facts['driver']}. "
             f"Host: {facts['cpu']}, {facts['system']}.", "",
             "Device time of one call in microseconds, tensors on the device, median; in brackets "
             "the speed as a part of the fastest copy's of the same bytes in the same case (1.00 "
             "reads and writes each element once at copy speed).", ""]
    lines += [f"- {name}: {line}" for name, line in run["peers"].items()]
    for group in GROUPS:
        rows = [case for case in run["cases"] if case["group"] == group]
        if not rows:
            continue
        lines += ["", f"## {group}", "", "| case | copy | " + " | ".join(names) + " |",
                  "|---|" + "---:|" * (len(names) + 1)]
        for case in rows:
            copy = ceiling(case)
            lines.append(f"| {shape_of(case['word'])} | "
                         f"{'-' if copy is None else format(copy * 1e6, ',.1f')} | " +
                         " | ".join(cell(case, name) for name in names) + " |")
    refused = [f"- {case['word']}: {case['results']['Tally']['refusal']}" for case in run["cases"]
               if case["results"]["Tally"]["refusal"]]
    if refused:
        lines += ["", "## Not measured on Tally", ""] + refused
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tally", required=True, help="the command")
    parser.add_argument("--device", default="vulkan")
    parser.add_argument("--name", help="what the report calls the device")
    parser.add_argument("--out", default=".", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="tensors of 2^22 elements")
    parser.add_argument("--cases", default="", help="texts of words or groups, semicolons between")
    options = parser.parse_args()

    texts = [text for text in options.cases.split(";") if text]
    chosen = [case for case in cases(22 if options.quick else BIG)
              if not texts or any(text in case.word or text in case.group for text in texts)]
    tally = Tally(options.tally, options.device)
    found, lines = peers()
    run = {"machine": machine(options.name or options.device), "tally": tally.version,
           "device": options.device, "peers": lines, "cases": []}
    options.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for case in chosen:
        results = {who.name: vars(who.measure(case)) for who in [tally, *found]}
        run["cases"].append({"group": case.group, "word": case.word, "elements": case.count,
                             "results": results})
        # 3 is a refusal of what is not supported, which the report lists; all else is a failure.
        failed += results["Tally"]["extra"].get("status", 3) != 3
        print(f"{case.word}: " + ", ".join(f"{name} {cell(run['cases'][-1], name)}"
                                            for name in results), flush=True)
        # After each case, so that a run that is cut off leaves what it had.
        (options.out / "gpu.json").write_text(record.text(run))
        (options.out / "gpu.md").write_text(report(run))
    measured = sum(bool(case["results"]["Tally"]["seconds"]) for case in run["cases"])
    print(f"gpu.py: {len(chosen)} cases, {measured} measured, {failed} failed")
    return 1 if failed or not measured else 0


if __name__ == "__main__":
    sys.exit(main())
