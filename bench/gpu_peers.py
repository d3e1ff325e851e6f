# SPDX-License-Identifier: Apache-2.0
"""Who is measured by bench/gpu.py: Tally's command, and the libraries that run on CUDA."""

import json
import statistics
import subprocess
import time
from dataclasses import dataclass, field

WARM = 0.5  # seconds before anything is counted, as long as tally bench takes (tools/bench/bench_gpu.c)


@dataclass
class Result:
    """Seconds of a call and of its ceiling, a copy or a read of the same bytes; or why there are none."""
    seconds: dict = None
    ceiling: dict = None
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

    def measure(self, case, clock):
        done = self.call("bench", case.word, "--device", self.device, "--json")
        mhz = clock.now()
        if done.returncode != 0:
            lines = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
            return Result(refusal=lines[-1], extra={"status": done.returncode})
        answer = json.loads(done.stdout)
        kind = "copy" if case.scan else "read"
        kept = ("bytes", "runs", "sets", "device", kind)
        return Result(answer["seconds"], answer[kind + "_seconds"],
                      extra={key: answer[key] for key in kept if key in answer} | {"mhz": mhz})


class Peer:
    """A library that runs on CUDA; subclasses say how to call and to time it."""
    dtypes, ops = {}, {}

    def measure(self, case, clock):
        if case.extra:
            return Result(refusal=f"has no {', '.join(case.extra)}")
        if case.dtype not in self.dtypes or case.op not in self.ops:
            return Result(refusal=f"has no {case.op} of {case.dtype}")
        try:
            result = self.run(case)
            result.extra["mhz"] = clock.now()
            return result
        except Exception as error:  # pylint: disable=broad-except; a peer's fault is its own
            return Result(refusal=f"{type(error).__name__}: {str(error).splitlines()[0][:120]}")
        finally:
            self.release()

    def times(self, call, sets, warm=0.0):
        """Seconds of each call(set), by a pair of events around it, every call on the next of so many
        sets of tensors; about 0.2 s of calls, 9 to 200. Those of the first `warm` seconds, five at
        least, are not counted: libraries are loaded there, memory found, clocks raised."""
        end, seen, turn = time.monotonic() + warm, [], 0

        def once():
            nonlocal turn
            turn = (turn + 1) % sets
            return self.timed(call(turn))
        while len(seen) < 5 or time.monotonic() < end:
            seen.append(once())
        return spread([once() for _ in range(max(9, min(200, int(0.2 / max(min(seen), 1e-6)))))])


class Torch(Peer):
    name = "torch"
    # Torch's function, and whether it takes a dtype: without it sums of integers would become int64,
    # a different problem.
    ops = {"cumsum": ("cumsum", True), "cumprod": ("cumprod", True), "sum": ("sum", True),
           "prod": ("prod", True), "argmax": ("argmax", False), "log_sum_exp": ("logsumexp", False)}
    device = "cuda"

    def __init__(self):
        import torch  # pylint: disable=import-outside-toplevel
        if not torch.cuda.is_available():
            raise ImportError("no CUDA device")
        self.version = f"torch {torch.__version__}, CUDA {torch.version.cuda}, " \
                       f"{torch.cuda.get_device_name()}"
        self.use(torch)

    def use(self, torch):
        self.torch = torch
        self.dtypes = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
                       "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32}

    def run(self, case):
        dtype, sets = self.dtypes[case.dtype], case.sets()
        x = self.torch.ones([sets, *case.sizes], dtype=dtype, device=self.device)
        name, typed = self.ops[case.op]
        options = {"dtype": dtype} if typed else {}
        # Of these functions only sums and log-sum-exps take several axes.
        axes = case.axes[0] if len(case.axes) == 1 else case.axes
        function = getattr(self.torch, name)
        y = self.torch.stack([function(x[0], axes, **options)] * sets)

        def call(turn):
            one, out = x[turn], y[turn]
            return lambda: function(one, axes, out=out, **options)

        def copy(turn):
            one, out = x[turn], y[turn]
            return lambda: out.copy_(one)
        return Result(self.times(call, sets, WARM), self.times(copy, sets) if case.scan else None)

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
    """CUB's device-wide scans and reductions, through cupy, which calls them for contiguous flat arrays."""
    name = "CUB (cupy)"
    ops = {"cumsum": True, "cumprod": True, "sum": True, "prod": True, "argmax": False}  # typed

    def __init__(self):
        import cupy  # pylint: disable=import-outside-toplevel
        if cupy.cuda.runtime.getDeviceCount() < 1:
            raise ImportError("no CUDA device")
        cupy._core.set_routine_accelerators(["cub"])  # pylint: disable=protected-access
        cupy._core.set_reduction_accelerators(["cub"])  # pylint: disable=protected-access
        self.cupy = cupy
        self.version = f"cupy {cupy.__version__}, CUDA {cupy.cuda.runtime.runtimeGetVersion()}"
        self.dtypes = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4"}

    def run(self, case):
        if len(case.sizes) != 1:
            return Result(refusal="one row only")
        sets, dtype = case.sets(), self.dtypes[case.dtype]
        options = {"dtype": dtype} if self.ops[case.op] else {}
        function = getattr(self.cupy, case.op)
        x = self.cupy.ones([sets, *case.sizes], dtype=dtype)
        y = self.cupy.stack([function(x[0], **options)] * sets)

        def call(turn):
            one, out = x[turn], y[turn]
            return lambda: function(one, out=out, **options)

        def copy(turn):
            one, out = x[turn], y[turn]
            return lambda: self.cupy.copyto(out, one)
        return Result(self.times(call, sets, WARM), self.times(copy, sets) if case.scan else None)

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
