# SPDX-License-Identifier: Apache-2.0
"""Arrays as people cut, turn and slice them: functions of the Python package beside numpy's and torch's, every axis,
medians of turns in one process. A table has a line for each layout: how many times as fast as the faster peer Tally is,
in the middle of all functions and axes and in the slowest case. numpy decides what is right before anything is timed.

`--build` names the build folder with the package (-Dpython=true); `--dtype`, `--threads`; `--only` takes some layouts;
`--slowest` lists so many cases."""
import argparse
import importlib
import os
import pathlib
import statistics
import sys
import time
import warnings

import numpy as np
import torch

LAYOUTS = {  # name: shape, the view of an array that has it
    "packed, 17 columns": ((60000, 17), lambda x: x),
    "packed, 3 columns": ((300000, 3), lambda x: x),
    "columns 3 to 59 of 64": ((20000, 64), lambda x: x[:, 3:60]),
    "columns 2 and 3 of 8": ((200000, 8), lambda x: x[:, 2:4]),
    "one column of 8": ((100000, 8), lambda x: x[:, 2]),
    "rows from 10 on": ((3000, 100), lambda x: x[10:]),
    "every 2nd row": ((4000, 500), lambda x: x[::2]),
    "every 2nd column": ((2000, 1000), lambda x: x[:, ::2]),
    "every 7th column": ((2000, 1400), lambda x: x[:, ::7]),
    "columns backwards": ((2000, 500), lambda x: x[:, ::-1]),
    "both backwards": ((2000, 500), lambda x: x[::-1, ::-1]),
    "Fortran order": ((1500, 1500), lambda x: x.T),
    "Fortran order, 8 columns": ((8, 200000), lambda x: x.T),
    "Fortran order, 33 columns": ((33, 40000), lambda x: x.T),
    "a row repeated": ((1, 1000), lambda x: np.broadcast_to(x, (1000, 1000))),
    "a column repeated": ((1000, 1), lambda x: np.broadcast_to(x, (1000, 1000))),
    "a cut of images": ((8, 3, 256, 256), lambda x: x[:, :, 16:240, 16:240]),
    "red of RGB": ((512, 512, 3), lambda x: x[..., 0]),
    "alpha of RGBA": ((512, 512, 4), lambda x: x[..., 3]),
    "NHWC as NCHW": ((16, 128, 128, 3), lambda x: x.transpose(0, 3, 1, 2)),
    "heads before time": ((4, 256, 8, 64), lambda x: x.transpose(0, 2, 1, 3)),
    "features before time": ((8, 512, 256), lambda x: x.transpose(0, 2, 1)),
    "axes 0 and 1 swapped": ((64, 128, 96), lambda x: x.transpose(1, 0, 2)),
    "blocks of 30 by 30": ((100, 30, 100, 30), lambda x: x.transpose(0, 2, 1, 3)),
    "5 axes turned": ((6, 7, 8, 9, 100), lambda x: x.transpose(2, 0, 4, 1, 3)),
}
FUNCTIONS = {  # name: numpy's, torch's, and whether all axes may be taken at once
    "cumsum": (lambda x, axis: np.cumsum(x, axis, x.dtype), lambda x, axis: torch.cumsum(x, axis, dtype=x.dtype), False),
    "cumprod": (lambda x, axis: np.cumprod(x, axis, x.dtype), lambda x, axis: torch.cumprod(x, axis, dtype=x.dtype),
                False),
    "cummax": (np.maximum.accumulate, None, False),
    "sum": (lambda x, axis: np.sum(x, axis, x.dtype), lambda x, axis: torch.sum(x, axis, dtype=x.dtype), True),
    "prod": (lambda x, axis: np.prod(x, axis, x.dtype),
             lambda x, axis: torch.prod(x, axis, dtype=x.dtype) if axis is not None else torch.prod(x, dtype=x.dtype), True),
    "max": (np.max, lambda x, axis: torch.amax(x, () if axis is None else axis), True),
    "mean": (np.mean, torch.mean, True),
    "argmax": (np.argmax, torch.argmax, True),
    "log_sum_exp": (None, lambda x, axis: torch.logsumexp(x, tuple(range(x.ndim)) if axis is None else axis), True),
}
ROUNDS, BUDGET = 9, 0.4


def package(build):
    sys.path.insert(0, os.fspath(pathlib.Path(build).resolve() / "bindings" / "python"))
    return importlib.import_module("tally")


def array(shape, dtype):
    random = np.random.default_rng(7)
    if np.dtype(dtype).kind == "f":
        return (0.9 + 0.2 * random.random(shape)).astype(dtype)
    return random.integers(0, 3, shape).astype(dtype)


def calls(tally, name, x, axis):
    """What computes the same, Tally first."""
    in_numpy, in_torch, _ = FUNCTIONS[name]
    ours = {"dtype": x.dtype} if name in ("cumsum", "cumprod", "sum", "prod") else {}
    yield lambda: getattr(tally, name)(x, axis=axis, **ours)
    if in_numpy is not None:
        yield lambda: in_numpy(x, axis=axis)
    if in_torch is not None and min(x.strides) >= 0:  # of torch, which has no other strides
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of memory that is only read
            tensor = torch.from_numpy(x)
        yield lambda: in_torch(tensor, axis)


def is_right(got, wanted):
    got, wanted = np.asarray(got, "f8"), np.asarray(wanted, "f8")
    return got.shape == wanted.shape and np.allclose(got, wanted, rtol=2e-2, atol=1e-3)


def measure(ways):
    """Medians in microseconds; they take turns."""
    times, begun = [[] for _ in ways], time.perf_counter()
    for turn in range(ROUNDS):
        for way, own in zip(ways, times):
            before = time.perf_counter()
            way()
            own.append(time.perf_counter() - before)
        if turn > 1 and time.perf_counter() - begun > BUDGET:
            break
    return [1e6 * statistics.median(own) for own in times]


def cases(tally, dtype, layout):
    """(ratio, text) of each function along each axis."""
    shape, view = LAYOUTS[layout]
    x = view(array(shape, dtype))
    for name, (_, _, has_all) in FUNCTIONS.items():
        if x.dtype.kind != "f" and name in ("mean", "log_sum_exp"):
            continue
        for axis in [*range(x.ndim), *([None] if has_all and x.ndim > 1 else [])]:
            ways = list(calls(tally, name, x, axis))
            if len(ways) == 1:
                continue
            with np.errstate(all="ignore"):
                results = [way() for way in ways]
                if not is_right(results[0], results[1]) and np.isfinite(results[1]).all():
                    raise SystemExit(f"{name} of {layout}, axis {axis}: not the result of the peer")
                ours, *peers = measure(ways)
            where = "all axes" if axis is None else f"axis {axis}"
            yield min(peers) / ours, f"{name}, {layout}, {where}: {ours:.1f} us, peers {', '.join(f'{p:.1f}' for p in peers)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--slowest", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tally = package(options.build)
    tally.set_threads(options.threads)
    found = []
    print(f"| {options.dtype}, {options.threads} thread{'s' * (options.threads > 1)} | in the middle | slowest |\n|-|-|-|")
    for layout in LAYOUTS:
        if options.only in layout:
            own = sorted(cases(tally, options.dtype, layout))
            print(f"| {layout} | {statistics.median(ratio for ratio, _ in own):.2f} | {own[0][0]:.2f} |", flush=True)
            found += own
    found.sort()
    behind = sum(ratio < 1 for ratio, _ in found)
    print(f"\n{len(found)} cases, {statistics.median(ratio for ratio, _ in found):.2f} in the middle; slower than a peer: "
          f"{behind}\n")
    for ratio, text in found[:options.slowest]:
        print(f"{ratio:.2f}  {text}")


if __name__ == "__main__":
    main()
