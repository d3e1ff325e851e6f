# SPDX-License-Identifier: Apache-2.0
"""bench/bindings/torch_bridge.py: tally.torch beside PyTorch in one process, one thread, f32 (docs/torch.md). Each line has
Tally's time, PyTorch's, and PyTorch's divided by Tally's. Needs both in PYTHONPATH; takes 40 s."""
import platform
import time

import torch

import tally
import tally.torch as tt

torch.set_num_threads(1)
tally.set_threads(1)
ops = torch.ops.tally


def best(calls, seconds=0.25, rounds=5):
    """The least time of a call, in seconds; the calls take turns."""
    times = dict.fromkeys(calls, float("inf"))
    for name, call in calls.items():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            count, spent, limit = 0, 0.0, seconds / rounds
            begin = time.perf_counter()
            while spent < limit:
                for _ in range(1 if spent == 0 else max(1, int(count * 0.2))):
                    call()
                    count += 1
                spent = time.perf_counter() - begin
            times[name] = min(times[name], spent / count)
    return times


def row(what, ours, theirs):
    times = best({"ours": ours, "theirs": theirs})
    a, b = times["ours"] * 1e6, times["theirs"] * 1e6
    print(f"| {what} | {a:.2f} | {b:.2f} | {b / a:.2f} |", flush=True)


def gradients(f, x):
    return lambda: torch.autograd.grad(f(x).sum(), x)


def main():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    print(f"{cpu}, torch {torch.__version__}, Python {platform.python_version()}, kernels in C: {tt.no_c is None}\n")
    print("| one thread, f32 | Tally µs | PyTorch µs | ratio |\n|---|---|---|---|")
    x = torch.rand(3, 4) + 0.5
    out, wants = torch.empty_like(x), x.clone().requires_grad_()
    row("12 elements, tally.cumprod, new", lambda: tally.cumprod(x, axis=1), lambda: torch.cumprod(x, 1))
    row("12 elements, tally.cumprod, out=", lambda: tally.cumprod(x, axis=1, out=out), lambda: torch.cumprod(x, 1))
    row("12 elements, operator", lambda: ops.cumprod(x, 1), lambda: torch.cumprod(x, 1))
    row("12 elements, function", lambda: tt.cumprod(x, 1), lambda: torch.cumprod(x, 1))
    with torch.inference_mode():
        row("12 elements, operator, inference mode", lambda: ops.cumprod.default(x, 1), lambda: torch.cumprod(x, 1))
    row("12 elements, operator, gradient wanted", lambda: ops.cumprod(wants, 1), lambda: torch.cumprod(wants, 1))
    ours = torch.compile(lambda v: ops.cumprod(v, 1), fullgraph=True)
    theirs = torch.compile(lambda v: torch.cumprod(v, 1), fullgraph=True)
    row("12 elements, compiled", lambda: ours(x), lambda: theirs(x))
    row("12 elements, forward and backward", gradients(lambda v: ops.cumprod(v, 1), wants),
        gradients(lambda v: torch.cumprod(v, 1), wants))
    for name, shape, dim in (("4096², axis 1", (4096, 4096), 1), ("one row of 2^24", (1 << 24,), 0),
                             ("4096², axis 0", (4096, 4096), 0), ("256², axis 1", (256, 256), 1)):
        x = torch.rand(shape) * 0.2 + 0.9
        out = torch.empty_like(x)
        row(f"{name}, cumprod, out=", lambda: tally.cumprod(x, axis=dim, out=out),
            lambda: torch.cumprod(x, dim, out=out))
    for value, zero in ((1.0, "no"), (0.0, "a")):
        x = torch.rand(1024, 1024) * 0.2 + 0.9
        x[5, 100] = value
        x.requires_grad_()
        row(f"1024², axis 1, gradient of cumprod, {zero} zero", gradients(lambda v: ops.cumprod(v, 1), x),
            gradients(lambda v: torch.cumprod(v, 1), x))
    row("1024², axis 1, gradient of cumlogsumexp", gradients(lambda v: ops.cumlogsumexp(v, 1), x),
        gradients(lambda v: torch.logcumsumexp(v, 1), x))
    row("1024², axis 1, gradient of log_sum_exp", gradients(lambda v: ops.log_sum_exp(v, [1]), x),
        gradients(lambda v: torch.logsumexp(v, 1), x))


if __name__ == "__main__":
    main()
