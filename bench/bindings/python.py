# SPDX-License-Identifier: Apache-2.0
"""The Python package beside numpy, torch and JAX, in one process and by turns: what a call costs on 12 elements, and large
arrays on one thread. Figures are ratios of medians; above 1 Tally is faster. A peer that is not installed is left out.

`--build` names the build folder with the package (-Dpython=true); `--rounds` how often each takes its turn."""

import argparse
import importlib
import os
import pathlib
import random
import statistics
import sys
import time

SAMPLE_SECONDS = 2e-3
SMALL = [[2, 1, 3, 5], [3, 8, 7, 3], [9, 6, 2, 4]]
LARGE = {"4096 x 4096, axis 1": ((4096, 4096), 1, "f4"), "4096 x 4096, axis 0": ((4096, 4096), 0, "f4"),
         "one row of 2^24": ((1 << 24,), 0, "f4"), "f16, 4096 x 4096, axis 1": ((4096, 4096), 1, "f2"),
         "256 x 256, axis 1": ((256, 256), 1, "f4"), "f16, 256 x 256, axis 1": ((256, 256), 1, "f2")}


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def seconds(call, count):
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count


def medians(calls, rounds):
    """The median of each call, in turns whose order is shuffled anew."""
    counts, times, names = {}, {name: [] for name in calls}, list(calls)
    for name, call in calls.items():
        call()
        counts[name] = max(1, int(SAMPLE_SECONDS / max(seconds(call, 1), 1e-9)))
    order = random.Random(1)
    for _ in range(rounds):
        order.shuffle(names)
        for name in names:
            times[name].append(seconds(calls[name], counts[name]))
    return {name: statistics.median(all_times) for name, all_times in times.items()}


def small(numpy, tally, torch, jax):
    """Pairs of a name and the calls of Tally and of its peer."""
    x = numpy.array(SMALL, "f4")
    out = numpy.empty_like(x)
    yield "numpy.cumprod, a new result", lambda: tally.cumprod(x, axis=1), lambda: numpy.cumprod(x, axis=1)
    yield "numpy.cumprod, out=", lambda: tally.cumprod(x, axis=1, out=out), lambda: numpy.cumprod(x, axis=1, out=out)
    yield "numpy.sum", lambda: tally.sum(x, axis=1), lambda: numpy.sum(x, axis=1)
    if torch:
        t, to = torch.tensor(SMALL, dtype=torch.float32), torch.empty(3, 4)
        yield "torch.cumprod, a new result", lambda: tally.cumprod(t, axis=1), lambda: torch.cumprod(t, 1)
        yield "torch.cumprod, out=", lambda: tally.cumprod(t, axis=1, out=to), lambda: torch.cumprod(t, 1, out=to)
    if jax:
        j, compiled = jax.numpy.asarray(x), jax.jit(lambda v: jax.numpy.cumprod(v, axis=1))
        yield "jax.numpy.cumprod, compiled", lambda: tally.cumprod(j, axis=1), lambda: compiled(j).block_until_ready()


def large(numpy, tally, torch, shape, axis, dtype):
    x = (1 + (numpy.random.default_rng(0).random(shape, "f4") - 0.5) * 0.01).astype(dtype)
    out = numpy.empty_like(x)
    calls = {"tally": lambda: tally.cumprod(x, axis=axis, out=out, threads=1),
             "tally, a new result": lambda: tally.cumprod(x, axis=axis, threads=1),
             "numpy": lambda: numpy.cumprod(x, axis=axis, out=out), "a copy": lambda: numpy.copyto(out, x)}
    if torch:
        t, to = torch.from_numpy(x), torch.from_numpy(numpy.empty_like(x))
        calls["torch"] = lambda: torch.cumprod(t, axis, out=to)
    return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    sys.path.insert(0, os.fspath(options.build / "bindings" / "python"))
    numpy, tally = importlib.import_module("numpy"), importlib.import_module("tally")
    torch, jax = optional("torch"), optional("jax")
    if torch:
        torch.set_num_threads(1)
    print("| 12 elements, beside | the peer's time / Tally's | Tally's time / numpy.cumprod's |\n|---|---|---|")
    base = None
    for name, own, peer in small(numpy, tally, torch, jax):
        found = medians({"own": own, "peer": peer}, options.rounds * 5)
        base = base or found["peer"]
        print(f"| {name} | {found['peer'] / found['own']:.2f} | {found['own'] / base:.2f} |", flush=True)
    names = ["numpy", *(["torch"] if torch else []), "tally, a new result", "a copy"]
    print(f"\n| cumprod, one thread, out= | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for name, (shape, axis, dtype) in LARGE.items():
        found = medians(large(numpy, tally, torch, shape, axis, dtype), options.rounds)
        ratios = [f"{found[other] / found['tally']:.2f}" for other in names]
        print(f"| {name} | {' | '.join(ratios)} |", flush=True)


main()
