# SPDX-License-Identifier: Apache-2.0
"""Buffers, inputs and expected results of the cases.

Inputs are chosen so that the right answer does not depend on the order of combination: products of
powers of two and sums of eighths, where every block of eight along the axis is followed by its
inverses, so that no partial result leaves [2^-8, 2^8]; and integers, which wrap. So every
competitor must give the expected bits, whatever order or accumulator it uses, and none meets a
subnormal.
"""

import mmap

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided

import cases

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
          "i64": np.int64, "i32": np.int32, "u64": np.uint64, "u32": np.uint32}
HUGE_PAGE = 2 << 20
BLOCK = 8
POISON = 0xA5


def buffer(size):
    """Bytes on huge pages where the machine has them, so that no competitor pays for page faults or
    table walks that another one does not."""
    memory = mmap.mmap(-1, size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    raw = np.frombuffer(memory, np.uint8)
    start = -raw.ctypes.data % HUGE_PAGE
    raw = raw[start:start + size]
    raw[:] = POISON
    return raw


class Problem:
    """A case in memory: `x` the input as numpy sees it, `y` the packed output, `expected` its bits;
    `base` is the input's buffer as a flat array, `base[case.in_offset]` being element 0."""

    def __init__(self, case, in_buffer, out_buffer):
        dtype = np.dtype(DTYPES[case.dtype])
        self.case = case
        self.base = in_buffer[:case.in_elements * dtype.itemsize].view(dtype)
        self.base[:] = 1
        strides = tuple(stride * dtype.itemsize for stride in case.in_strides)
        self.x = as_strided(self.base[case.in_offset:], case.sizes, strides)
        self.x[...] = values(case, dtype)
        self.y = out_buffer[:case.elements * dtype.itemsize].view(dtype).reshape(case.sizes)
        self.expected = bits(reference(self.x, case))

    def poison(self):
        bits(self.y)[...] = 0

    def is_right(self):
        return np.array_equal(bits(self.y), self.expected)


def bits(array):
    return array.view(f"u{array.dtype.itemsize}")


def reference(x, case):
    """numpy's scan; of the narrow floats in f32, rounded at the end. Long lines are combined line
    by line, which numpy's own scan does not do."""
    combine = {"cumprod": np.multiply, "cumsum": np.add}[case.op]
    wide = np.float32 if x.dtype.itemsize == 2 else x.dtype
    if case.inner < 64:
        return combine.accumulate(x, case.axis, wide).astype(x.dtype, copy=False)
    lines = x.reshape(case.outer, case.sizes[case.axis], case.inner)
    result = np.empty(lines.shape, x.dtype)
    for o in range(case.outer):
        line = lines[o, 0].astype(wide)
        result[o, 0] = line
        for i in range(1, lines.shape[1]):
            combine(line, lines[o, i].astype(wide, copy=False), out=line)
            result[o, i] = line
    return result.reshape(x.shape)


def values(case, dtype):
    random = np.random.default_rng(12345)
    if case.dtype[0] in "iu":
        unsigned = np.dtype(f"u{dtype.itemsize}")
        drawn = random.integers(0, np.iinfo(unsigned).max, size=case.sizes, dtype=unsigned)
        return (drawn | 1).view(dtype)  # odd: a product of even factors would soon be zero

    if case.op == "cumprod":
        table = np.array([2, 2, 2, 0.5, 0.5, 0.5, 1, 1], np.float32)
        inverses = 1 / table
    else:
        table = np.array([1, 2, 3, 5, -1, -2, -3, -5], np.float32) / 8
        inverses = -table
    length = case.sizes[case.axis]
    blocks = -(-length // (2 * BLOCK))
    drawn = random.integers(0, len(table), size=(case.outer, blocks, BLOCK, case.inner),
                            dtype=np.uint8)
    result = np.empty((case.outer, blocks, 2, BLOCK, case.inner), dtype)
    for half, chosen in enumerate((table, inverses)):
        result[:, :, half] = chosen.astype(dtype)[drawn]
    result = result.reshape(case.outer, blocks * 2 * BLOCK, case.inner)[:, :length]
    return result.reshape(case.sizes)


def largest(selected):
    """Bytes of the input and of the output buffer that serve every selected case."""
    def size(count, case):
        return count * cases.DTYPE_BYTES[case.dtype]
    ceiling = max(case.bytes // 2 for case in selected)
    return (max([ceiling] + [size(case.in_elements, case) for case in selected]) + 64,
            max([ceiling] + [size(case.elements, case) for case in selected]) + 64)
