# SPDX-License-Identifier: Apache-2.0
"""The states of tally.dask's reductions.

Kernels reduce a chunk to a state, and dask joins states in a tree, a few at a time. The states of
floats are wider than what kernels accumulate in: f64 for f32, f16 and bf16, a long double for f64.
So partial results neither leave the range nor cost accuracy. States of integers are exact or wrap
as the whole would. That of an index also has the element, and counts within the box of chunks that
it stands for.
"""

import dataclasses
import math
from typing import Callable, NamedTuple

import numpy

from . import _calls
from ._dask_chunks import dtype_of, run


def axes_option(axes):
    return "axes=" + ("+".join(map(str, axes)) or "none")


@dataclasses.dataclass(frozen=True)
class Plan:
    """What all chunks share. dtypes are names of Tally's."""
    op: str
    axes: tuple
    given: str
    out: str
    made: str  # by kernels, which keep the sign of integers: out, or that of the other sign
    state: str  # what kernels make of a chunk of floats
    acc: str | None
    nan: str
    last: bool

    @property
    def wide(self):
        return numpy.dtype(numpy.longdouble if self.given == "f64" else "f8")

    def reduce(self, op, out, x, *options):
        """A chunk by one kernel. Its reduced axes stay, with size 1."""
        return run(op, out, x, None, axes_option(self.axes), "keepdims", *options)


@dataclasses.dataclass
class _State:
    """What is known of a box of chunks: its sizes, and arrays that have size 1 along the reduced
    axes; none if the box has no elements."""
    sizes: tuple
    parts: tuple


def accumulator(dtype):
    """The dtype of floats in which kernels of this dtype accumulate."""
    return "f32" if dtype in ("f16", "bf16") else dtype


# ---- chunks --------------------------------------------------------------------------------------


def _total(plan, x):
    """Sums and products. A total of floats out of range, or so small that the product may have
    vanished, is made once more by numpy."""
    maps = {"l1": "map=abs(x)", "sum_square": "map=x*x", "l2": "map=x*x"}
    if not _calls.is_float(plan.given):
        if plan.op in ("mean", "log_sum"):
            return plan.reduce("sum", "u64" if plan.given[0] == "u" else "i64", x),
        return plan.reduce(plan.op, plan.made, x),
    op = "prod" if plan.op == "prod" else "sum"
    acc = plan.acc if plan.state != "f64" else None
    total = plan.reduce(op, plan.state, x, maps.get(plan.op), *_calls.common(acc=acc))
    least = (2.0**-960 if plan.state == "f64" else 2.0**-100) if plan.op in ("prod", "l2") else 0
    if (numpy.isfinite(total) & (abs(total) >= least)).all():
        return total.astype(plan.wide),
    if plan.op == "l2":  # the kernel's norm is right where its sum of squares is not
        return plan.reduce("l2", accumulator(plan.given), x).astype(plan.wide) ** 2,
    if plan.op in maps:  # the plain loop leaves the range as well
        return total.astype(plan.wide),
    ufunc = numpy.multiply if op == "prod" else numpy.add
    return ufunc.reduce(x, axis=plan.axes, dtype=plan.wide, keepdims=True),


def _mean(plan, x):
    """The upper halves of 64-bit integers are added, too: both sums together are exact."""
    if plan.given not in ("i64", "u64"):
        return _total(plan, x)
    halves = x.view([("low", "u4"), ("high", plan.given[0] + "4")])
    return *_total(plan, x), plan.reduce("sum", plan.given, halves["high"])


def _of_floats(begin):
    """Norms and logarithms of integers are those of their values in f64."""
    def of_any(plan, x):
        if _calls.is_float(plan.given):
            return begin(plan, x)
        return begin(dataclasses.replace(plan, given="f64", state="f64"), x.astype("f8"))
    return of_any


def _exponentials(plan, x):
    return plan.reduce("log_sum_exp", plan.state, x).astype(plan.wide),


def _extreme(plan, x):
    return plan.reduce(plan.op[-3:], plan.given, x, *_calls.common(nan=plan.nan)),


def _index(plan, x):
    """The elements of an extreme, and their indices among the reduced elements in C order."""
    index = plan.reduce(plan.op, "i64", x, *_calls.common(nan=plan.nan, last=plan.last))
    at = list(numpy.ogrid[tuple(map(slice, x.shape))])
    if plan.axes:
        for axis, place in zip(plan.axes, numpy.unravel_index(index, _along(plan, x.shape))):
            at[axis] = place
    return numpy.asarray(x[tuple(at)]), index


# ---- boxes of chunks -----------------------------------------------------------------------------


def _along(plan, sizes):
    return [sizes[axis] for axis in plan.axes]


def _with(sizes, axis, size):
    return (*sizes[:axis], size, *sizes[axis + 1:])


def _gather(axes, blocks):
    """The sizes of a box, and its states that have elements, each with where it begins. The blocks
    are states in lists of lists, one level for each axis."""
    if not isinstance(blocks, list):
        return blocks.sizes, [((0,) * len(blocks.sizes), blocks)] if blocks.parts else []
    end, found = 0, []
    for block in blocks:
        sizes, states = _gather(axes[1:], block)
        found += [(_with(start, axes[0], end), state) for start, state in states]
        end += sizes[axes[0]]
    return _with(sizes, axes[0], end), found


def _add(plan, *parts):
    # -0 and not +0 is nothing: a sum of zeros that are all -0 is -0.
    return tuple(numpy.add.reduce(part, axis=plan.axes[0], keepdims=True, dtype=part.dtype,
                                  initial=-part.dtype.type(0)) for part in parts)


def _multiply(plan, part):
    return numpy.multiply.reduce(part, axis=plan.axes[0], keepdims=True, dtype=part.dtype),


def _add_exponentials(plan, part):
    return numpy.logaddexp.reduce(part, axis=plan.axes[0], keepdims=True),


def _extreme_of_all(plan, part):
    return _extreme(plan, part)


def _index_of_all(plan, elements, index):
    best, = _extreme(plan, elements)
    hit = (elements == best) | (elements != elements) & (best != best)
    pick, never = (numpy.maximum, -1) if plan.last else (numpy.minimum, numpy.iinfo("i8").max)
    chosen = pick.reduce(numpy.where(hit, index, never), axis=plan.axes[0], keepdims=True)
    return best, chosen


def _placed(plan, sizes, start, state):
    """The parts of a state within a box of these sizes; an index counts the box's elements."""
    if plan.op not in _calls.INDICES or state.sizes == sizes:
        return state.parts
    elements, index = state.parts
    places = numpy.unravel_index(index, _along(plan, state.sizes))
    places = [place + start[axis] for axis, place in zip(plan.axes, places)]
    return elements, numpy.ravel_multi_index(places, _along(plan, sizes))


# ---- results -------------------------------------------------------------------------------------


def _rounded(plan, count, part):
    return part.astype(dtype_of(plan.out))


def _cut(plan, y):
    """Rounded; to an integer, cut and saturated, where NaN becomes 0."""
    if _calls.is_float(plan.out):
        return y.astype(dtype_of(plan.out))
    limits = numpy.iinfo(dtype_of(plan.out))
    ends = numpy.array([limits.min, limits.max], limits.dtype).astype(numpy.longdouble)  # exact
    return numpy.clip(numpy.trunc(numpy.where(numpy.isnan(y), 0, y)), *ends).astype(limits.dtype)


def _in_accumulator(plan, function, part):
    """A function of a sum, in the dtype of a kernel's, where that holds the sum."""
    narrow = part.astype(dtype_of(plan.state if _calls.is_float(plan.given) else "f64"))
    holds = numpy.isfinite(narrow) & (abs(narrow) >= numpy.finfo(narrow.dtype).tiny) | (part == 0)
    return numpy.where(holds, function(narrow), function(part).astype(narrow.dtype))


def _root(plan, count, part):
    return _cut(plan, _in_accumulator(plan, numpy.sqrt, part))


def _logarithm(plan, count, part):
    return _cut(plan, numpy.log(part if _calls.is_float(plan.given) else part.astype("f8")))


def _unchanged(plan, count, part):
    return _cut(plan, part)


def _quotient(plan, count, total, high=None):
    if _calls.is_float(plan.given):
        return _cut(plan, _in_accumulator(plan, lambda y: y / y.dtype.type(count), total))
    if high is not None and (abs(high.astype("f8")) >= 2.0**30).any():
        low = (total - (high << 32)).view("u8")  # which is below 2^64
        total = high.astype(object) * 2**32 + low.astype(object)
    if _calls.is_float(plan.out):
        return _rounded(plan, count, total.astype("f8") / count)
    quotient = abs(total) // count
    return _rounded(plan, count, numpy.where(total < 0, -quotient, quotient))


def _picked(plan, count, elements, index):
    return index.astype(dtype_of(plan.out))


class _Kind(NamedTuple):
    begin: Callable  # the parts of a chunk's state
    join: Callable  # those of a box, from the parts of its states, which lie along the first axis
    finish: Callable  # the result


_KINDS = {
    "sum": _Kind(_total, _add, _rounded),
    "prod": _Kind(_total, _multiply, _rounded),
    "mean": _Kind(_mean, _add, _quotient),
    "l1": _Kind(_total, _add, _rounded),
    "l2": _Kind(_of_floats(_total), _add, _root),
    "sum_square": _Kind(_total, _add, _rounded),
    "log_sum": _Kind(_total, _add, _logarithm),
    "log_sum_exp": _Kind(_of_floats(_exponentials), _add_exponentials, _unchanged),
    "max": _Kind(_extreme, _extreme_of_all, _rounded),
    "min": _Kind(_extreme, _extreme_of_all, _rounded),
    "argmax": _Kind(_index, _index_of_all, _picked),
    "argmin": _Kind(_index, _index_of_all, _picked),
}


# ---- what dask calls -----------------------------------------------------------------------------


def begin(plan, x, axis, keepdims, computing_meta=False):
    if computing_meta:  # dask wants an array
        return x
    x = numpy.asanyarray(x)  # dask may have a scalar
    if 0 in _along(plan, x.shape):
        return _State(x.shape, ())
    with numpy.errstate(all="ignore"):
        return _State(x.shape, _KINDS[plan.op].begin(plan, x))


def join(plan, blocks, axis, keepdims):
    sizes, found = _gather(plan.axes, blocks)
    parts = [_placed(plan, sizes, *one) for one in found]
    if len(parts) <= 1:
        return _State(sizes, parts[0] if parts else ())
    with numpy.errstate(all="ignore"):
        parts = [numpy.concatenate(part, plan.axes[0]) for part in zip(*parts)]
        return _State(sizes, _KINDS[plan.op].join(plan, *parts))


def finish(plan, blocks, axis, keepdims):
    state = join(plan, blocks, axis, keepdims)
    with numpy.errstate(all="ignore"):
        if state.parts:
            count = math.prod(_along(plan, state.sizes))
            y = _KINDS[plan.op].finish(plan, count, *state.parts)
        else:
            y = plan.reduce(plan.op, plan.made, numpy.empty(state.sizes, dtype_of(plan.given)))
            y = _rounded(plan, 0, y)
    return y if keepdims else numpy.squeeze(y, plan.axes)[()]
