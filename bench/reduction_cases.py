# SPDX-License-Identifier: Apache-2.0
"""The table of `bench/run reductions`: what is measured, the part of the read ceiling that Tally must
reach, and a case in memory. `python reduction_cases.py` prints the words, one a line.
"""

import math
from dataclasses import dataclass

import numpy as np

import values

OPS = "sum max argmax mean prod log_sum_exp l2"
# name, sizes and reduced axes: all in f32, some in other dtypes
SHAPES = [
    ("rows of 8", "2097152x8", (1,)),
    ("rows of 32", "524288x32", (1,)),
    ("rows of 128", "131072x128", (1,)),
    ("rows of 1024", "16384x1024", (1,)),
    ("rows of 4096", "4096x4096", (1,)),
    ("one row of 16 Mi", "16777216", (0,)),
    ("one row of 64 Mi", "67108864", (0,)),
    ("axis 0", "4096x4096", (0,)),
    ("axis 0, 8 columns", "1048576x8", (0,)),
    ("axis 0, 17 columns", "1048576x17", (0,)),
    ("axis 0, 2 columns", "33554432x2", (0,)),
    ("axes 0 and 2 of 3", "64x256x1024", (0, 2)),
    ("axes 0, 2, 3 of NCHW", "32x64x56x56", (0, 2, 3)),
    ("axes 0 and 2 of NCHW", "32x64x56x56", (0, 2)),
    ("axes 0 and 2, 4,000 steps of 64", "4000x64x64", (0, 2)),
    ("axis 1 of slices of 3x3", "1864135x3x3", (1,)),
    ("axis 1 of slices of 9x100", "18641x9x100", (1,)),
    ("axis 1 of slices of 300x7", "7989x300x7", (1,)),
]
DTYPE_SHAPES = {"rows of 128", "rows of 4096", "one row of 16 Mi", "axis 0"}
DTYPES = {"sum": "f64 f16 bf16 i32", "max": "f64 f16 bf16 i32 i8"}
NUMPY = {**values.DTYPES, "i8": np.int8}
CLOSE = {"f64": 1e-9, "f32": 1e-3, "f16": 1e-2, "bf16": 2e-2}  # of a right result


def target(op, name, avx512, threads):
    """The part of the read ceiling to reach."""
    kind = "rows" if name.startswith("rows") else "all" if name.startswith("one") else "axis 0"
    if op == "log_sum_exp":
        found = {"all": (0.80, 0.50), "rows": (0.76, 0.45), "axis 0": (0.80, 0.42)}[kind]
        return min(0.95, found[not avx512] * threads)
    if op == "argmax":
        return {"all": (0.96, 0.95), "rows": (0.93, 0.90), "axis 0": (0.83, 0.75)}[kind][not avx512]
    if name == "axis 0, 2 columns":
        return 0.95
    return 0.88 if kind == "axis 0" else (0.97, 0.95)[threads > 1]


@dataclass(frozen=True)
class Case:
    name: str
    op: str
    dtype: str
    sizes: tuple
    axes: tuple

    @property
    def word(self):
        axes = "" if len(self.axes) == len(self.sizes) else ":axes=" + "+".join(map(str, self.axes))
        return f"{self.op}:{self.dtype}:{'x'.join(map(str, self.sizes))}{axes}"

    @property
    def elements(self):
        return math.prod(self.sizes)

    @property
    def kept(self):
        return tuple(size for axis, size in enumerate(self.sizes) if axis not in self.axes)

    @property
    def bytes(self):
        return self.elements * np.dtype(NUMPY[self.dtype]).itemsize

    @property
    def nest(self):
        """Packed, as first x kept x second x lanes, of which first and second are reduced."""
        nest, at = [1, 1, 1, 1], 0
        first_kept = min((axis for axis in range(len(self.sizes)) if axis not in self.axes),
                         default=0)
        for axis, size in enumerate(self.sizes):
            reduced = axis in self.axes
            if at == 0 and not (reduced and axis < first_kept and max(self.axes) > first_kept):
                at = 2 if reduced else 1 if max(self.axes) > axis else 3
            elif at == 1 and reduced:
                at = 2
            elif at == 2 and not reduced:
                at = 3
            nest[at] *= size
        return nest


def all_cases():
    for op in OPS.split():
        for dtype in ["f32", *DTYPES.get(op, "").split()]:
            for name, sizes, axes in SHAPES:
                if dtype == "f32" or name in DTYPE_SHAPES:
                    yield Case(name, op, dtype, tuple(map(int, sizes.split("x"))), axes)


class Problem:
    """A case in memory, and what its result must be nearly."""

    def __init__(self, case, flat, out):
        dtype = np.dtype(NUMPY[case.dtype])
        self.case = case
        self.base = flat[:case.bytes].view(dtype)
        self.x = self.base.reshape(case.sizes)
        self.fill()
        results = math.prod(case.kept)
        out_dtype = np.dtype(np.int64 if case.op == "argmax" else dtype)
        self.y = out[:results * out_dtype.itemsize].view(out_dtype).reshape(case.kept)
        self.wanted = self.reference()

    def fill(self):
        """Products of signs; else multiples of 1/128 in [-1, 1); integers."""
        order = np.random.default_rng(12345)
        drawn = order.integers(-128, 128, size=1 << 16, dtype=np.int8)
        if self.case.op == "prod":
            drawn = np.where(drawn < 0, -1, 1).astype(np.int8)
        block = drawn.astype(np.float32)
        if self.case.dtype[0] != "i" and self.case.op != "prod":
            block /= 128
        whole = self.base[:len(self.base) // len(block) * len(block)]
        whole.reshape(-1, len(block))[...] = block.astype(self.base.dtype)
        self.base[len(whole):] = block[:len(self.base) - len(whole)].astype(self.base.dtype)

    def reference(self):
        case, x = self.case, self.x
        if case.op == "argmax":
            return reduced_last(x, case).argmax(-1)
        if case.op == "max":
            return x.max(case.axes).astype(np.float64)
        if case.dtype == "i32":
            return x.sum(case.axes, dtype=np.int64).astype(np.int32).astype(np.float64)
        if case.op == "prod":
            return x.prod(case.axes).astype(np.float64)
        wide = {"dtype": np.float64}
        if case.op == "log_sum_exp":
            return np.log(np.exp(x).sum(case.axes, **wide))
        if case.op == "l2":
            return np.sqrt(np.square(x).sum(case.axes, **wide))
        return getattr(x, case.op)(case.axes, **wide)

    def poison(self):
        self.y.view(np.uint8 if self.y.ndim else self.y.dtype)[...] = 0x5A

    def is_right(self):
        """Where terms cancel, a sum's error is measured by the size of its terms."""
        found = self.y.astype(np.float64)
        with np.errstate(over="ignore"):  # a sum of f16 may be infinite
            wanted = self.wanted.astype(self.y.dtype).astype(np.float64)
        if self.case.op in ("argmax", "max", "prod") or self.case.dtype[0] == "i":
            return bool(np.array_equal(found, wanted))
        length = self.case.elements // max(1, math.prod(self.case.kept))
        scale = {"sum": math.sqrt(length), "mean": 1 / math.sqrt(length)}.get(self.case.op, 1)
        with np.errstate(invalid="ignore"):  # of two infinities
            near = np.abs(found - wanted) <= \
                CLOSE[self.case.dtype] * np.maximum(scale, np.abs(wanted))
        return bool(np.all(near | (found == wanted)))


def reduced_last(array, case):
    """The reduced axes in order as one, behind the kept ones: for who takes one axis only. numpy's
    arrays and torch's tensors."""
    kept = [axis for axis in range(len(case.sizes)) if axis not in case.axes]
    permuted = getattr(array, "permute", array.transpose)(*kept, *case.axes)
    return permuted.reshape(*case.kept, -1)


if __name__ == "__main__":
    for each in all_cases():
        print(each.word)
