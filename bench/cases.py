# SPDX-License-Identifier: Apache-2.0
"""The case table: what is measured, and the ratio to the copy ceiling that Tally must reach.

One row of TABLE stands for every combination of its dtypes and operators. Targets are for one and
for two threads, on CPUs with AVX-512 and on those with AVX2 only; a missing second target means
that the first holds for both thread counts, None that there is none. `python cases.py` prints the
words, one a line.
"""

from dataclasses import dataclass
from math import prod

BOTH = "cumprod cumsum"

# name, dtypes, operators, sizes, options, AVX-512 target (1T[, 2T]), AVX2 target (1T[, 2T])
TABLE = [
    ("row", "f32", BOTH, "67108864", "axis=0", (0.97, 0.92), (0.95, 0.92)),
    ("rows of 128", "f32", BOTH, "524288x128", "axis=1", (0.96,), (0.95, 0.96)),
    ("rows of 4096", "f32", BOTH, "16384x4096", "axis=1", (0.96,), (0.95, 0.96)),
    ("rows of 65536", "f32", BOTH, "1024x65536", "axis=1", (0.96,), (0.95, 0.96)),
    ("rows of 8", "f32", BOTH, "1000000x8", "axis=1", (0.96,), (0.95, 0.96)),
    ("axis 0", "f32 f64", BOTH, "4096x16384", "axis=0", (0.97, 0.95), (0.97, 0.95)),
    ("axis 0, short rows", "f32", BOTH, "65536x1024", "axis=0", (0.93,), (0.93,)),
    ("axis 0, odd rows", "f32", BOTH, "4096x16381", "axis=0", (0.88,), (0.88,)),
    ("middle axis", "f32", BOTH, "64x1024x1024", "axis=1", (0.96,), (0.96,)),
    ("short slices", "f32", BOTH, "390000x10x17", "axis=1", (0.90,), (0.75,)),
    ("inner 2", "f32", BOTH, "33554432x2", "axis=0", (0.95,), (0.95,)),
    ("inner 3", "f32", BOTH, "22369621x3", "axis=0", (0.95,), (0.72,)),
    ("inner 5", "f32", BOTH, "13421772x5", "axis=0", (0.95,), (0.72,)),
    ("inner 7", "f32", BOTH, "9586980x7", "axis=0", (0.95,), (0.72,)),
    ("inner 15", "f32", BOTH, "4473924x15", "axis=0", (0.95,), (0.72,)),
    ("every second", "f32", BOTH, "33554432", "axis=0,in=2", (0.90,), (0.90,)),
    ("backwards", "f32", BOTH, "67108864", "axis=0,in=-1@67108863", (0.97,), (0.92,)),
    ("transposed", "f32", BOTH, "8192x8192", "axis=1,in=1x8192", (0.65, 0.75), (0.65, 0.75)),
    ("row", "f64", BOTH, "33554432", "axis=0", (0.95,), (0.95,)),
    ("rows of 4096", "f64", BOTH, "8192x4096", "axis=1", (0.96,), (0.96,)),
    ("row", "i32 u32", "cumprod", "67108864", "axis=0", (0.95,), (0.95,)),
    ("rows of 4096", "i32 u32", "cumprod", "16384x4096", "axis=1", (0.95,), (0.95,)),
    ("axis 0", "i32 u32", "cumprod", "4096x16384", "axis=0", (0.97,), (0.97,)),
    ("row", "i64 u64", "cumprod", "33554432", "axis=0", (0.90,), (0.58,)),
    ("rows of 4096", "i64 u64", "cumprod", "8192x4096", "axis=1", (0.85,), (0.70,)),
    ("axis 0", "i64 u64", "cumprod", "4096x8192", "axis=0", (0.95,), (0.95,)),
    ("row", "f16", "cumprod", "134217728", "axis=0", (0.85,), (0.62,)),
    ("row", "f16", "cumsum", "134217728", "axis=0", (0.78,), (0.58,)),
    ("rows of 4096", "f16", BOTH, "32768x4096", "axis=1", (0.85,), (0.62,)),
    ("axis 0", "f16", BOTH, "4096x32768", "axis=0", (0.97,), (0.95,)),
    ("row", "bf16", BOTH, "134217728", "axis=0", (0.83,), (0.52,)),
    ("rows of 4096", "bf16", BOTH, "32768x4096", "axis=1", (0.83,), (0.50,)),
    ("axis 0", "bf16", BOTH, "4096x32768", "axis=0", (0.97,), (0.93,)),
    ("row in L2", "f32", BOTH, "65536", "axis=0", (0.56, None), (0.42, None)),
    ("axis 0 in L2", "f32", BOTH, "256x256", "axis=0", (0.92, None), (0.80, None)),
]

# The same, but timed as calls: targets in nanoseconds.
CALLS = [
    ("call, 12 elements", "f32", "cumprod", "1x1x3x4", "axis=3", 20),
    ("call, 4096 elements", "f32", BOTH, "4096", "axis=0", 400),
]

DTYPE_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "u64": 8, "u32": 4}


@dataclass(frozen=True)
class Case:
    name: str
    op: str
    dtype: str
    sizes: tuple
    axis: int
    in_strides: tuple
    in_offset: int
    word: str
    targets: dict        # "avx512" and "avx2": {threads: ratio}; calls: {1: nanoseconds}
    is_call: bool

    @property
    def packed(self):
        return self.in_strides == packed_strides(self.sizes)

    @property
    def elements(self):
        return prod(self.sizes)

    @property
    def outer(self):
        return prod(self.sizes[:self.axis])

    @property
    def inner(self):
        return prod(self.sizes[self.axis + 1:])

    @property
    def in_elements(self):
        """Elements between the lowest and the highest one that is read, both included."""
        return 1 + sum((size - 1) * abs(s) for size, s in zip(self.sizes, self.in_strides))

    @property
    def bytes(self):
        """What memory must move: the input's span (a line of it is read for every second element,
        too) and the output."""
        return (self.in_elements + self.elements) * DTYPE_BYTES[self.dtype]


def packed_strides(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def make(name, op, dtype, sizes_text, options, targets, is_call):
    sizes = tuple(int(size) for size in sizes_text.split("x"))
    values = dict(option.split("=") for option in options.split(","))
    strides, offset = packed_strides(sizes), 0
    if "in" in values:
        text, _, at = values["in"].partition("@")
        strides, offset = tuple(int(stride) for stride in text.split("x")), int(at or 0)
    what = {"cumprod": "product", "cumsum": "sum"}[op]
    return Case(f"{dtype} {what}, {name}", op, dtype, sizes, int(values["axis"]), strides, offset,
                f"{op}:{dtype}:{sizes_text}:{options}", targets, is_call)


def by_threads(targets):
    return {1: targets[0], 2: targets[-1]}


def all_cases():
    for name, dtypes, ops, sizes, options, avx512, avx2 in TABLE:
        for dtype in dtypes.split():
            for op in ops.split():
                targets = {"avx512": by_threads(avx512), "avx2": by_threads(avx2)}
                yield make(name, op, dtype, sizes, options, targets, False)
    for name, dtypes, ops, sizes, options, nanoseconds in CALLS:
        for dtype in dtypes.split():
            for op in ops.split():
                targets = {"avx512": {1: nanoseconds}, "avx2": {1: nanoseconds}}
                yield make(name, op, dtype, sizes, options, targets, True)


def select(filters):
    """Cases whose name or word contains one of the texts, which semicolons separate; all
    for None."""
    texts = filters.split(";") if filters else [""]
    return [case for case in all_cases()
            if any(text.strip() in case.name or text.strip() in case.word for text in texts)]


if __name__ == "__main__":
    for each in all_cases():
        print(each.word)
