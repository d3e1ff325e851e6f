# SPDX-License-Identifier: Apache-2.0
"""The reductions of tally.dask. _dask_states.py has what they compute."""

import functools
import math
import numbers

import dask.array
import numpy

from . import _tally, _calls, _words
from ._dask_chunks import dtype_of, graph_array, result_dtype
from ._dask_states import Plan, accumulator, axes_option, begin, finish, join


def check_split(split_every):
    """dask takes a 0 for its default and anything below 2 for 2, and of axes that have 1 in a dict
    it reduces the first chunk alone."""
    given = list(split_every.values()) if isinstance(split_every, dict) else [split_every]
    for most in given if split_every is not None else ():
        if isinstance(most, bool) or not isinstance(most, numbers.Integral) or most < 2:
            message = f"{split_every!r} is no integer from 2 on, nor a dict of them by axis"
            raise _words.fault("split_every", message, "leave it out for dask's default")


def _reduce(op, x, axis, keepdims, split_every, *, dtype=None, acc=None, nan="propagate",
            last=False):
    x = graph_array(x)
    given = _calls.name_of(x.dtype)
    out = result_dtype(op, given, dtype)
    made = out
    if op in _calls.ADDS and not (_calls.is_float(given) or _calls.is_float(out) or out == "bool"):
        made = ("u" if given[0] == "u" else "i") + out[1:]
    axes = list(range(x.ndim)) if axis is None else _words.axes_in(axis, x.ndim)
    check_split(split_every)
    # One element stands for all: what is refused, is refused before anything runs. An index must
    # have a place in its dtype, and needs elements.
    shape = [size if op in _calls.INDICES and not math.isnan(size) else 1 for size in x.shape]
    _tally._tensors(_calls.join(op, given, made, shape, axes_option(axes),
                                *_calls.common(acc=acc, nan=nan, last=last)))
    acc = None if acc is None else _calls.name_of(acc)
    state = "f64" if given == "f32" and "f64" in (acc, out) else accumulator(given)
    axes = tuple(sorted(axis % x.ndim for axis in axes))
    plan = Plan(op, axes, given, out, made, state, acc, nan, bool(last))
    start, combine, end = (functools.partial(f, plan) for f in (begin, join, finish))
    rank = x.ndim if keepdims else x.ndim - len(axes)
    return dask.array.reduction(
        x, start, end, axis=axes, keepdims=bool(keepdims), dtype=dtype_of(out), combine=combine,
        name=f"tally-{op}", concatenate=False, split_every=split_every,
        meta=numpy.empty((0,) * rank, dtype_of(out)))


# Each computes as the plain function of its name (docs/python.md). split_every is dask's: the most
# states that are joined at once. From here on sum, max and min are these functions.


def sum(x, axis=None, keepdims=False, *, dtype=None, acc=None, split_every=None):
    """Sums over axes of a dask array, as tally.sum has them."""
    return _reduce("sum", x, axis, keepdims, split_every, dtype=dtype, acc=acc)


def prod(x, axis=None, keepdims=False, *, dtype=None, acc=None, split_every=None):
    """Products over axes of a dask array, as tally.prod has them."""
    return _reduce("prod", x, axis, keepdims, split_every, dtype=dtype, acc=acc)


def mean(x, axis=None, keepdims=False, *, dtype=None, acc=None, split_every=None):
    """Means over axes of a dask array, as tally.mean has them."""
    return _reduce("mean", x, axis, keepdims, split_every, dtype=dtype, acc=acc)


def l1(x, axis=None, keepdims=False, *, dtype=None, acc=None, split_every=None):
    """Sums of magnitudes over axes of a dask array, as tally.l1 has them."""
    return _reduce("l1", x, axis, keepdims, split_every, dtype=dtype, acc=acc)


def l2(x, axis=None, keepdims=False, *, dtype=None, acc=None, split_every=None):
    """Roots of sums of squares over axes of a dask array, as tally.l2 has them."""
    return _reduce("l2", x, axis, keepdims, split_every, dtype=dtype, acc=acc)


def sum_square(x, axis=None, keepdims=False, *, dtype=None, acc=None, split_every=None):
    """Sums of squares over axes of a dask array, as tally.sum_square has them."""
    return _reduce("sum_square", x, axis, keepdims, split_every, dtype=dtype, acc=acc)


def log_sum(x, axis=None, keepdims=False, *, dtype=None, split_every=None):
    """Logarithms of sums over axes of a dask array, as tally.log_sum has them."""
    return _reduce("log_sum", x, axis, keepdims, split_every, dtype=dtype)


def log_sum_exp(x, axis=None, keepdims=False, *, dtype=None, split_every=None):
    """Logarithms of sums of exponentials over axes of a dask array."""
    return _reduce("log_sum_exp", x, axis, keepdims, split_every, dtype=dtype)


def max(x, axis=None, keepdims=False, *, nan="propagate", split_every=None):
    """The largest elements over axes of a dask array, as tally.max has them."""
    return _reduce("max", x, axis, keepdims, split_every, nan=nan)


def min(x, axis=None, keepdims=False, *, nan="propagate", split_every=None):
    """The smallest elements over axes of a dask array, as tally.min has them."""
    return _reduce("min", x, axis, keepdims, split_every, nan=nan)


def argmax(x, axis=None, keepdims=False, *, dtype=None, last=False, nan="propagate",
           split_every=None):
    """Indices of the largest elements over axes of a dask array, as tally.argmax has them."""
    return _reduce("argmax", x, axis, keepdims, split_every, dtype=dtype, last=last, nan=nan)


def argmin(x, axis=None, keepdims=False, *, dtype=None, last=False, nan="propagate",
           split_every=None):
    """Indices of the smallest elements over axes of a dask array, as tally.argmin has them."""
    return _reduce("argmin", x, axis, keepdims, split_every, dtype=dtype, last=last, nan=nan)
