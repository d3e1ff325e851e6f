# SPDX-License-Identifier: Apache-2.0
"""What bench/gpu.py measures: scans and reductions by groups, and the words whose pipelines it times."""

import itertools
import math
from dataclasses import dataclass

BIG = 28  # log2 of the elements of the largest tensors
# Between two uses of a tensor so many bytes go by, as in tools/bench/bench_gpu_sets.c, which says why.
CACHES = 256 << 20
BYTES = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2}


@dataclass
class Case:
    group: str
    word: str

    def __post_init__(self):
        self.op, self.dtype, sizes, *rest = self.word.split(":")
        self.sizes = [int(size) for size in sizes.split("x")]
        self.count = math.prod(self.sizes)
        options = rest[0].split(",") if rest else []
        self.extra = [text for text in options if not text.startswith(("axis=", "axes="))]
        axes = [text.split("=")[1] for text in options if text not in self.extra]
        # Reductions without axes are over all of them.
        self.axes = [int(a) for a in axes[0].split("+")] if axes else list(range(len(self.sizes)))
        self.scan = self.op.startswith("cum")

    def sets(self):
        """How many tensors take turns, so that caches hold nothing of the next one."""
        size = self.count * BYTES[self.dtype] * (2 if self.scan else 1)
        return CACHES // size + 1


def scans(big):
    half, rest = big // 2, big - big // 2
    for dtype in ("f32", "f16", "bf16", "f64", "i32", "i64"):
        size = big if dtype in ("f32", "f16", "i32") else big - 2
        rows, length = 2 ** (size - size // 2), 2 ** (size // 2)
        yield "many rows", f"cumsum:{dtype}:{rows}x{length}:axis=1"
        yield "one long row", f"cumsum:{dtype}:{2 ** size}:axis=0"
        yield "columns", f"cumsum:{dtype}:{length}x{rows}:axis=0"
    for rows in (big - 8, big - 5, big - 10):
        yield "many rows", f"cumsum:f32:{2 ** rows}x{2 ** (big - rows)}:axis=1"
    for word in ("cumprod:f32:{}x{}:axis=1", "cumsum:f32:{}x{}:axis=1,exclusive",
                 "cumsum:f32:{}x{}:axis=1,reverse"):
        yield "many rows", word.format(2 ** rest, 2 ** half)
    for kind, length in (("cumsum:f32", 33), ("cumprod:f32", 257), ("cumsum:f32", 1025), ("cumsum:f16", 257),
                         ("cumsum:f16", 4095), ("cumsum:bf16", 257)):
        yield "odd rows", f"{kind}:{2 ** (big - 2) // length}x{length}:axis=1"
    for log2 in range(16, big, 4):
        yield "one long row", f"cumsum:f32:{2 ** log2}:axis=0"
    for word in ("cumprod:f32:{}:axis=0", "cumprod:i32:{}:axis=0", "cumsum:f32:{}:axis=0,exclusive",
                 "cumsum:f32:{}:axis=0,reverse"):
        yield "one long row", word.format(2 ** big)
    yield "columns", f"cumprod:f32:{2 ** half}x{2 ** rest}:axis=0"
    yield "columns", f"cumsum:f32:1024x1024x{2 ** (big - 20)}:axis=1"
    for dtype in ("f32", "f16", "i32"):
        yield "few columns", f"cumsum:{dtype}:{2 ** (big - 6)}x64:axis=0"
    yield "few columns", f"cumprod:f32:{2 ** (big - 8)}x256:axis=0"
    for inner in (2, 3, 4, 8):
        yield "small inner", f"cumsum:f32:{2 ** (big - 3)}x{inner}:axis=0"
    yield "small inner", f"cumsum:f32:4096x{2 ** (big - 14)}x3:axis=1"
    yield "small inner", f"cumprod:f32:4096x{2 ** (big - 14)}x4:axis=1"
    yield "small inner", f"cumsum:f16:{2 ** (big - 3)}x4:axis=0"


def reductions(big):
    rows, length = 2 ** (big - big // 2), 2 ** (big // 2)
    for kind in ("sum:f32", "argmax:f32", "log_sum_exp:f32", "sum:f16"):
        yield "reduced rows", f"{kind}:{rows}x{length}:axes=1"
        yield "reduced columns", f"{kind}:{length}x{rows}:axes=0"
        yield "reduced to one", f"{kind}:{2 ** big}"
    yield "reduced rows", f"sum:f32:{2 ** (big - 6)}x64:axes=1"
    yield "reduced columns", f"sum:f32:{2 ** (big - 6)}x64:axes=0"
    yield "reduced columns", f"sum:f32:64x1024x{2 ** (big - 16)}:axes=0+2"
    for word in ("sum:f32:65536", "sum:f32:1048576", f"prod:f32:{2 ** big}", f"sum:i32:{2 ** big}"):
        yield "reduced to one", word


SCANS = ["many rows", "odd rows", "one long row", "columns", "few columns", "small inner"]
REDUCTIONS = ["reduced rows", "reduced columns", "reduced to one"]
GROUPS = SCANS + REDUCTIONS

# One of each kind of kernel, of sizes whose files are made at once.
PIPELINES = ["cumsum:f32:1024x4096:axis=1", "cumprod:f32:1024x4096:axis=1",
             "cumsum:f16:1024x4096:axis=1", "cumsum:f32:1024x4096:axis=0",
             "cumprod:f32:4194304:axis=0", "sum:f32:1024x4096:axes=1", "sum:f32:4194304"]


def cases(big):
    """The table; `big` is log2 of the elements of its largest tensors, 8-byte ones being less. The groups
    take turns, so that a run that is cut off has something of each."""
    unique = {word: Case(group, word) for group, word in [*scans(big), *reductions(big)]}
    groups = [[case for case in unique.values() if case.group == group] for group in GROUPS]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*groups))
    return [case for case in turns if case]
