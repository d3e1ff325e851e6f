# SPDX-License-Identifier: Apache-2.0
"""The cases of `bench/run python`: computations and shapes that people use, their inputs, and what numpy makes of
them in f64, by which every competitor's result is judged before it is timed."""

from dataclasses import dataclass

import numpy as np

import values

DTYPES = {**values.DTYPES, "bool": np.bool_}
# The largest error of a result, as a part of the largest element: a library may accumulate in the dtype.
TOLERANCES = {"f32": 2e-4, "f16": 2e-2, "bf16": 2e-1}
SCANS = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cumlogsumexp": np.logaddexp}


@dataclass(frozen=True)
class Case:
    """`formula` names what is more than the operator (python_formulas.py).
    `stages` are what the word then has behind its axis."""
    op: str
    sizes: tuple
    axis: object  # a tuple, for a reduction of several
    dtype: str = "f32"
    exclusive: bool = False
    formula: str = ""
    stages: str = ""
    gradient: bool = False
    title: str = ""

    @property
    def scans(self):
        return self.op in SCANS or self.op == "linrec"

    @property
    def axes(self):
        return self.axis if isinstance(self.axis, tuple) else (self.axis,)

    @property
    def name(self):
        shape = "x".join(map(str, self.sizes))
        along = "" if len(self.sizes) == 1 else f", {'axis' if len(self.axes) == 1 else 'axes'} " \
            + ", ".join(map(str, self.axes))
        what = ("gradient of " if self.gradient else "") + (self.title or self.op)
        kind = ("exclusive " if self.exclusive and not self.formula else "") + what
        return f"{kind}{'' if self.dtype == 'f32' else ' ' + self.dtype} {shape}{along}"

    @property
    def result(self):
        """The dtype of the result."""
        return "i64" if self.op == "argmax" or self.dtype == "bool" else self.dtype

    @property
    def options(self):
        """The word's, behind dtype and sizes."""
        axes = f"axis={self.axis}" if self.scans else f"axes={'+'.join(map(str, self.axes))}"
        return axes + (",exclusive" if self.exclusive else "")

    @property
    def word(self):
        dtype = self.dtype if self.result == self.dtype or self.op == "argmax" else f"{self.dtype}>{self.result}"
        operand = ",a=f32" if self.has_operand else ""
        return f"{self.op}:{dtype}:{'x'.join(map(str, self.sizes))}:{self.options}{operand}{self.stages}"

    @property
    def has_operand(self):
        return self.formula in ("masked", "recurrence")

    @property
    def kept(self):
        """The shape of the result."""
        return self.sizes if self.scans else \
            tuple(size for dim, size in enumerate(self.sizes) if dim not in self.axes)


BIG, WIDE, VOCABULARY = (2048, 4096), (4096, 4096), 50257
IMAGES = (32, 64, 56, 56)

CASES = [
    # Calls, where the way to the kernel is what takes time.
    Case("cumprod", (3, 4), 1), Case("sum", (3, 4), 1), Case("cumsum", (256, 256), 1), Case("cumsum", (256, 256), 0),
    Case("sum", (256, 256), 1), Case("cumsum", (256, 256), 1, "f16"),
    # Scans. Tokens are sampled by the running sums of 8 distributions over a vocabulary; masks count positions.
    Case("cumsum", (8, VOCABULARY), 1), Case("cumsum", (64, 4096), 1, "bool"),
    *(Case(op, sizes, axis) for sizes in (BIG, WIDE) for op in ("cumsum", "cumprod") for axis in (1, 0)),
    Case("cumsum", (1 << 24,), 0), Case("cumprod", (1 << 24,), 0), Case("cumsum", BIG, 1, exclusive=True),
    Case("cumsum", BIG, 1, "f16"), Case("cumsum", BIG, 1, "bf16"), Case("cumsum", BIG, 0, "f16"),
    Case("cumsum", IMAGES, 1), Case("cummax", BIG, 1), Case("cumlogsumexp", BIG, 1),
    # Reductions. Losses and sampling have logits over a vocabulary, batch norms have means of channels.
    *(Case(op, BIG, axis) for op in ("sum", "max", "argmax", "log_sum_exp") for axis in (1, 0)),
    Case("sum", (1 << 24,), 0), Case("max", (1 << 24,), 0), Case("mean", IMAGES, (0, 2, 3)),
    Case("sum", BIG, 1, "f16"), Case("sum", BIG, 1, "bf16"), Case("max", BIG, 1, "bf16"),
    Case("argmax", (8, VOCABULARY), 1), Case("log_sum_exp", (256, VOCABULARY), 1),
    # One word in place of several calls.
    Case("cumprod", (16384, 192), 1, exclusive=True, formula="weights", stages=",map=1-x,post=x*y",
         title="weights of rays"),
    Case("cumsum", BIG, 1, formula="masked", stages=",map=x*a", title="masked cumsum"),
    Case("mean", BIG, 1, formula="squares", stages=",map=x*x", title="mean of squares"),
    Case("linrec", (1024, 1024), 0, formula="recurrence", stages=",coef=a", title="y = a*y + x"),
    # What training computes, with the forward pass.
    Case("cumprod", BIG, 1, gradient=True), Case("log_sum_exp", (256, VOCABULARY), 1, gradient=True),
]


def inputs(case):
    """The tensors that are read: x, the operand a, and of a gradient what comes in, g. Products neither leave the
    range nor drift; sums are exact in f32, as the elements are multiples of 1/128."""
    random = np.random.default_rng(12345)
    if case.dtype == "bool":
        x = random.random(case.sizes) < .9
    elif case.formula == "weights":
        x = random.random(case.sizes, "f4") * .05
    elif case.op == "cumprod":
        x = np.exp((random.random(case.sizes, "f4") - .5) * .01)
    elif case.op in ("cumlogsumexp", "log_sum_exp", "argmax"):
        x = random.standard_normal(case.sizes, "f4") * 3
    else:
        x = random.integers(-128, 128, case.sizes) / 128
    made = {"x": x.astype(DTYPES[case.dtype])}
    if case.formula == "masked":
        made["a"] = (random.random(case.sizes) < .5).astype("f4")
    elif case.formula == "recurrence":
        made["a"] = .5 + random.random(case.sizes, "f4") / 2
    if case.gradient:
        made["g"] = random.random(case.kept, "f4") + .5
    return {name: laid(array) for name, array in made.items()}


def laid(array):
    """A copy on huge pages."""
    made = output(array.shape, array.dtype)
    made[...] = array
    return made


def output(sizes, dtype):
    """An array on huge pages without values."""
    count, each = int(np.prod(sizes)), np.dtype(dtype).itemsize
    return values.buffer(max(64, count * each))[:count * each].view(dtype).reshape(sizes)


def log_sum_exp(x, axis):
    most = x.max(axis, keepdims=True)
    return np.log(np.exp(x - most).sum(axis)) + most.squeeze(axis)


def forward(case, x, a):
    """In f64."""
    if case.formula == "recurrence":
        y = x.copy()
        for step in range(1, len(x)):
            y[step] += a[step] * y[step - 1]
        return y
    if case.formula == "weights":
        return x * np.cumprod(np.concatenate((np.ones_like(x[:, :1]), 1 - x[:, :-1]), 1), 1)
    u = x * a if case.formula == "masked" else x * x if case.formula == "squares" else x
    if case.scans:
        y = SCANS[case.op].accumulate(u, case.axis)
        return y - u if case.exclusive else y
    reduce = {"log_sum_exp": log_sum_exp, "sum": np.sum, "mean": np.mean, "max": np.max, "argmax": np.argmax}[case.op]
    return reduce(u, case.axis)


def expected(case, made):
    x, a, g = (made[name].astype("f8") if name in made else None for name in "xag")
    y = forward(case, x, a)
    if not case.gradient:
        return y
    if case.op == "log_sum_exp":
        return g[:, None] * np.exp(x - y[:, None])
    return np.flip(np.cumsum(np.flip(g * y, 1), 1), 1) / x


class Problem:
    """A case in memory, with the output of those who write into one that exists."""

    def __init__(self, case):
        self.case, self.of = case, inputs(case)
        self.x, self.a, self.g = (self.of.get(name) for name in "xag")
        self.given = [self.x] + ([self.a] if case.has_operand else [])
        self.of_jax = None  # as JAX has them, which a way makes
        self.y = output(case.sizes if case.gradient else case.kept, DTYPES[case.result])
        self.expected = expected(case, self.of)

    def poison(self):
        self.y[...] = 77

    def is_right(self, y):
        """Whether an array is the result."""
        found, wanted = np.asarray(y).astype("f8"), self.expected
        if found.shape != wanted.shape:
            return False
        # A sum over all elements may be near 0; the terms are not.
        most = 0 if self.case.result == "i64" else TOLERANCES[self.case.dtype] * max(np.abs(wanted).max(), 1)
        return bool((np.abs(found - wanted) <= most).all())
