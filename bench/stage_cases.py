# SPDX-License-Identifier: Apache-2.0
"""The words of `bench/run stages`: their arithmetic for numpy and torch, their data, and the part of a
move's speed that Tally must reach. `python stage_cases.py` prints the words, one a line.
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np
import torch
from torch.nn import functional

import values

CLOSE = 1e-4      # of a right result, and
CLOSE_TO_0 = 1e-7


@dataclass(frozen=True)
class Formula:
    """The arithmetic of a word. `before` and `after` are what surrounds the scan or reduction. They call
    functions that numpy and torch (`m`) both have, and write into tensors that exist: t is what is combined,
    c is what combining makes, and y is the result. `whole` is the same as one expression of torch."""
    op: str
    dtypes: str          # of the word
    options: str         # those that the word without stages has, too
    stages: str
    data: Callable       # (random, sizes) -> [x, a, ...]
    whole: Callable      # (x, a, ...)
    before: Callable = None   # (m, t, x, a, ...)
    after: Callable = None    # (m, y, c, t, x, a, ...)
    exps: int = 0        # how many an element has

    @property
    def exclusive(self):
        return "exclusive" in self.options

    @property
    def reduces(self):
        return self.op == "sum"

    @property
    def axis(self):
        return 0 if "=0" in self.options else 1


# ---- data ----

def opacities(random, sizes):
    """About 192 samples of each row have an opacity, of 2.5 % in the mean: no product underflows."""
    x = random.random(sizes, np.float32)
    seen = x < 192 / sizes[1]
    np.multiply(x, sizes[1] / 192 * 0.05, out=x)
    return [np.where(seen, x, np.float32(0)) if sizes[1] > 192 else random.random(sizes, np.float32) / 20]


def opaque(random, sizes):
    """After some twenty samples no light is left: products become subnormal, then 0."""
    return [random.random(sizes, np.float32)]


def densities(random, sizes):
    return [random.random(sizes, np.float32) * 2, random.random(sizes, np.float32) / 50]


def bytes_and_scales(random, sizes):
    """Zero point and scales are such that every order has the same sums."""
    return [random.integers(-128, 128, sizes, np.int8), np.full((), 3, np.float32),
            2.0 ** random.integers(-8, 0, (sizes[0], 1)).astype(np.float32)]


def sevenths(random, sizes):
    return random.integers(-128, 128, sizes, np.int8).astype(np.float32) / 128


def numbers_and(of):
    """A row's operand is computed from the row."""
    def data(random, sizes):
        x = sevenths(random, sizes)
        return [x, of(random, x)]
    return data


# ---- the words ----

def exclusive(scanned, first):
    return functional.pad(scanned[:, :-1], (1, 0), value=first)


def transparencies(m, t, x):
    m.subtract(m.ones((), dtype=m.float32), x, out=t)


def scaled(m, t, x, a):
    m.multiply(x, a, out=t)


def density_weights(m, y, c, t, _x, _a):
    for each in (c, t):
        m.negative(each, out=each)
        m.exp(each, out=each)
    m.subtract(m.ones((), dtype=m.float32), t, out=t)
    m.multiply(c, t, out=y)


def dequantised(m, t, x, a, b):
    m.subtract(x, a, out=t)
    m.multiply(t, b, out=t)


def exps_below(m, t, x, a):
    m.subtract(x, a, out=t)
    m.exp(t, out=t)


def squares(m, t, x, a):
    m.subtract(x, a, out=t)
    m.multiply(t, t, out=t)


def weights(data):
    return Formula("cumprod", "f32", "axis=1,exclusive", "map=1-x,post=x*y", data,
                   lambda x: x * exclusive(torch.cumprod(1 - x, 1), 1.0),
                   transparencies, lambda m, y, c, t, x: m.multiply(x, c, out=y))


WEIGHTS = weights(opacities)
NERF = Formula("cumsum", "f32", "axis=1,exclusive", "a=f32,map=x*a,post=exp(-y)*(1-exp(-x*a))", densities,
               lambda x, a: torch.exp(-exclusive(torch.cumsum(x * a, 1), 0.0)) * (1 - torch.exp(-x * a)),
               scaled, density_weights, exps=2)
DEQUANTISED = Formula("sum", "i8>f32", "axes=1", "a=f32/none,b=f32/0,map=(x-a)*b", bytes_and_scales,
                      lambda x, a, b: torch.sum((x - a) * b, 1), dequantised)
MASKED = Formula("cumsum", "f32", "axis=1", "a=bool,map=where(a,x,0)",
                 numbers_and(lambda random, x: random.random(x.shape, np.float32) < 0.5),
                 lambda x, a: torch.cumsum(torch.where(a, x, 0.0), 1), scaled)
SOFTMAX = Formula("sum", "f32", "axes=1", "a=f32/0,map=exp(x-a)",
                  numbers_and(lambda _, x: x.max(1, keepdims=True)),
                  lambda x, a: torch.sum(torch.exp(x - a), 1), exps_below, exps=1)
CDF = Formula("cumsum", "f32", "axis=1", "a=f32/0,post=y/a",
              lambda random, sizes: [x := np.abs(sevenths(random, sizes)), x.sum(1, keepdims=True)],
              lambda x, a: torch.cumsum(x, 1) / a, after=lambda m, y, c, t, x, a: m.divide(c, a, out=y))
VARIANCE = Formula("sum", "f32", "axes=1", "a=f32/0,map=(x-a)*(x-a),post=y/4096",
                   numbers_and(lambda _, x: x.mean(1, keepdims=True)),
                   lambda x, a: torch.sum((x - a) * (x - a), 1) / 4096, squares,
                   lambda m, y, c, *_: m.divide(c, 4096, out=y))
HALVES = numbers_and(lambda random, x: random.integers(0, 3, x.shape, np.int8) / np.float32(2))
COLUMNS = Formula("cumsum", "f32", "axis=0", "a=f32,map=x*a", HALVES, lambda x, a: torch.cumsum(x * a, 0),
                  scaled)
SCALED = Formula("cumsum", "f32", "axis=1", "a=f32,map=x*a", HALVES, lambda x, a: torch.cumsum(x * a, 1),
                 scaled)
DOT = Formula("sum", "f32", "axes=1", "a=f32,map=x*a", HALVES, lambda x, a: torch.sum(x * a, 1), scaled)


@dataclass(frozen=True)
class Case:
    name: str
    formula: Formula
    sizes: tuple
    target: float | None = None   # of a move's speed; None: none, or by the number of exps

    def word_of(self, dtypes, sizes, stages):
        formula = self.formula
        return f"{formula.op}:{dtypes}:{'x'.join(map(str, sizes))}:{formula.options}" + \
            (f",{stages}" if stages else "")

    @property
    def word(self):
        return self.word_of(self.formula.dtypes, self.sizes, self.formula.stages)

    @property
    def plain(self):
        """The word without stages, of what the stages make of the elements."""
        return self.word_of("f32", self.sizes, "")

    @property
    def result_sizes(self):
        return self.sizes[:1] if self.formula.reduces else self.sizes


ROWS, LONG, READ, AXIS_0 = .70, .80, .85, .90
CASES = [
    Case("weights, rays of 192, in cache", WEIGHTS, (4096, 192)),
    Case("weights, rays of 192", WEIGHTS, (65536, 192), ROWS),
    Case("weights, opaque rays of 192", weights(opaque), (65536, 192), ROWS),
    Case("weights, rows of 1024", WEIGHTS, (16384, 1024), LONG),
    Case("weights, rows of 4096", WEIGHTS, (4096, 4096), LONG),
    Case("weights, one row", WEIGHTS, (1, 1 << 24), LONG),
    Case("weights from densities", NERF, (65536, 192)),
    Case("masked running sums", MASKED, (4096, 4096), LONG),
    Case("normalised distributions", CDF, (4096, 4096), LONG),
    Case("columns", COLUMNS, (4096, 4096), AXIS_0),
    Case("scaled running sums, rows of 500", SCALED, (32768, 500), LONG),
    Case("dot products of rows of 100", DOT, (167772, 100), READ),
    Case("dot products of rows of 10", DOT, (1677720, 10), READ),
    Case("dequantised row sums", DEQUANTISED, (16384, 4096), READ),
    Case("softmax denominators", SOFTMAX, (16384, 1024)),
    Case("variances", VARIANCE, (4096, 4096), READ),
]


# ---- a case in memory ----

def laid(array, dtype=None):
    """A copy on huge pages; without values, if `array` is only sizes."""
    sizes = array if isinstance(array, tuple) else array.shape
    dtype = np.dtype(dtype or array.dtype)
    count = int(np.prod(sizes))
    made = values.buffer(max(64, count * dtype.itemsize))[:count * dtype.itemsize].view(dtype).reshape(sizes)
    if not isinstance(array, tuple):
        made[...] = array
    return made


def numpy_scan(formula):
    """(what is combined, the result)"""
    if formula.reduces:
        return lambda u, out: np.sum(u, formula.axis, out=out)
    ufunc = {"cumsum": np.add, "cumprod": np.multiply}[formula.op]
    if not formula.exclusive:
        return lambda u, out: ufunc.accumulate(u, formula.axis, out=out)

    def shifted(u, out):
        ufunc.accumulate(u[:, :-1], 1, out=out[:, 1:])
        out[:, 0] = ufunc.identity
    return shifted


def compute(m, formula, scan, tensors, t, c, y):
    """The word by the module's functions."""
    combined = tensors[0]
    if formula.before:
        formula.before(m, t, *tensors)
        combined = t
    scan(combined, c if formula.after else y)
    if formula.after:
        formula.after(m, y, c, t, *tensors)


class Problem:
    """`tensors` are the input and the operands, `y` is the output, and `wanted` is numpy's result in f64.
    Competitors that compute in steps keep temporary results in `t` and `c`."""

    def __init__(self, case):
        self.case, formula = case, case.formula
        self.tensors = [laid(array) for array in formula.data(np.random.default_rng(12345), case.sizes)]
        self.t, self.c, self.y = (laid(sizes, np.float32) for sizes in
                                  (case.sizes, case.result_sizes, case.result_sizes))
        self.bytes = sum(array.nbytes for array in [*self.tensors, self.y])
        wide = [array.astype(np.float64) for array in self.tensors]
        t, c, self.wanted = (np.empty(sizes) for sizes in
                             (case.sizes, case.result_sizes, case.result_sizes))
        compute(np, formula, numpy_scan(formula), wide, t, c, self.wanted)

    def poison(self):
        self.y[...], self.result = np.nan, self.y

    def is_right(self):
        """By what is in y, or in the tensor that a competitor made."""
        return bool(np.allclose(self.result, self.wanted, rtol=CLOSE, atol=CLOSE_TO_0))


if __name__ == "__main__":
    for each in CASES:
        print(each.word)
