# SPDX-License-Identifier: Apache-2.0
"""The scans of tally.dask.

Nothing is rechunked or concatenated. Each chunk is reduced to its total. Tiny tasks along the axis
make the states between the chunks from these (docs/state.md), and each chunk is scanned from its
state. If a total may not stand for its chunk by docs/range.md, the chunk is scanned for the state
behind it, and the results are kept. With order="serial" this is done in any case.
"""

import dataclasses
import functools
import math

import dask.array
import numpy
from dask.base import tokenize
from dask.task_spec import TaskRef

from . import _tally, _calls, _words
from ._dask_chunks import (add_task, dtype_of, fit, graph_array, lines, result_dtype, run,
                           scanned_array)

# ---- one chunk -----------------------------------------------------------------------------------

# The reduction that makes the total of a chunk; that of linrec is the state behind it.
_TOTALS = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min",
           "cumlogsumexp": "log_sum_exp", "linrec": None}
_FEW = 15  # columns
_SCRATCH_BYTES = 1 << 19  # of results that are discarded, so that they stay in a core's cache


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What all chunks share. dtypes are names of Tally's."""
    op: str
    axis: int
    out: str
    state: str
    exclusive: bool = False
    reverse: bool = False
    order: str = "run"
    nan: str = "propagate"
    guarded: bool = False  # a total may leave the range though the plain loop does not


def _scan(plan, x, coef, state, carry="carry=in", **buffers):
    """The results of a chunk behind a state, which may be None."""
    inner = math.prod(x.shape[plan.axis + 1:])
    if 1 < inner <= _FEW:  # the bits of packed columns are not those of columns that lie apart
        x = numpy.ascontiguousarray(x)
    return run(plan.op, plan.out, x, coef, f"axis={plan.axis}",
                "exclusive" if plan.exclusive else None, "reverse" if plan.reverse else None,
                carry, *_calls.common(plan.order, nan=plan.nan),
                **({"carry_in": state} if state is not None else {}), **buffers)


def _scan_on(plan, x, coef, state):
    """The state behind a chunk, and the chunk's results."""
    shape = [1 if i == plan.axis else size for i, size in enumerate(x.shape)]
    after = numpy.empty(shape + [2] * (plan.op == "cumlogsumexp"), dtype_of(plan.state))
    results = _scan(plan, x, coef, state, "carry=in+out", carry_out=after)
    return after, results


def _add(plan, state, totals):
    """The state behind a chunk whose total may stand for it."""
    if totals is None:
        return state
    one = dataclasses.replace(plan, out=plan.state)
    return _scan_on(one, totals[0], totals[1] if plan.op == "linrec" else None, state)[0]


def _total(plan, x, coef):
    """The total of a chunk, and what _is_usable asks for; None if the chunk has no elements."""
    def reduce(op, coef=None, map=None):
        return run(op, plan.state, x, coef, f"axes={plan.axis}", "keepdims", map,
                    *_calls.common(nan=plan.nan))

    if x.shape[plan.axis] == 0:
        return None
    if plan.op == "linrec":
        coef, _ = fit(coef, x)
        return _state_after(plan, x, coef), reduce("prod", coef, "map=a")
    mark = None
    if plan.op == "cumprod" and plan.guarded:
        mark = reduce("prod", map="map=where(x==0,1,min(abs(x),1))")
    return reduce(_TOTALS[plan.op]), mark


def _state_after(plan, x, coef):
    """linrec: the state behind a chunk, from nothing, by scans of pieces."""
    length, state = x.shape[plan.axis], None
    most = max(1, _SCRATCH_BYTES * length // max(1, x.nbytes))
    for first in range(0, length, most):
        last = min(first + most, length)
        piece = slice(length - last, length - first) if plan.reverse else slice(first, last)
        piece = (slice(None),) * plan.axis + (piece,)
        factors = coef if coef.shape[plan.axis] == 1 else coef[piece]
        state, _ = _scan_on(plan, x[piece], factors, state)
    return state


def _is_usable(plan, state, total, mark):
    """Whether a total may stand for its chunk behind a state, by the limits of docs/range.md.

    The mark of cumprod bounds all products of the chunk that are not exact zeros. That of linrec is
    the factor of the state.
    """
    finite = numpy.isfinite
    least = 2.0**-500 if plan.state == "f64" else 2.0**-60
    with numpy.errstate(all="ignore"):
        if plan.op == "cumsum":
            usable = state is None or ~finite(state) | finite(state + total)
        elif plan.op == "linrec":
            usable = state is None or finite(state) & finite(mark) & finite(state * mark + total)
        else:
            state = 1 if state is None else state
            usable = (state == 0) | (mark >= least) & (
                ~finite(state) | (abs(state) >= least) & finite(state * total))
        return bool(numpy.all(finite(total) & usable))


def _step(plan, x, coef, state, totals):
    """The state behind a chunk, and its results if they were needed for that."""
    if totals is None or _is_usable(plan, state, *totals):
        return _add(plan, state, totals), None
    return _scan_on(plan, x, coef, state)


def _finish(plan, x, coef, state, step):
    return step[1] if step[1] is not None else _scan(plan, x, coef, state)


def _part(plan, step, i):
    return step[i]


# ---- all chunks ----------------------------------------------------------------------------------


def _add_line(graph, plan, name, line):
    """Adds the tasks of the chunks along a line, which are (index, x, coef) in scan direction."""
    def make(kind, function, *arguments):
        return add_task(graph, (name + kind, *index), functools.partial(function, plan), *arguments)

    state = None
    for index, x, coef in line[:-1]:
        before = state
        if plan.order == "serial":
            step = make("-step", _scan_on, x, coef, before)
            state = make("-state", _part, step, 0)
            make("", _part, step, 1)
            continue
        total = make("-total", _total, x, coef)
        if plan.guarded:
            step = make("-step", _step, x, coef, before, total)
            state = make("-state", _part, step, 0)
            make("", _finish, x, coef, before, step)
        else:
            state = make("-state", _add, before, total)
            make("", _scan, x, coef, before)
    index, x, coef = line[-1]
    make("", _scan, x, coef, state, None if len(line) == 1 else "carry=in")


def _coef_index(coef, index):
    """The chunk of coef that a chunk of x meets: coef may have fewer axes, or size 1 on some."""
    index = index[len(index) - coef.ndim:]
    return tuple(0 if size == 1 else i for i, size in zip(index, coef.shape))


def _scan_array(op, x, axis, coef=None, *, dtype=None, exclusive=False, reverse=False, order="run",
                nan="propagate"):
    x = graph_array(x)
    axis = _words.axis_in(axis, x.ndim)
    given = _calls.name_of(x.dtype)
    out = result_dtype(op, given, dtype)
    # A chunk of one element stands for all: what is refused, is refused before anything runs.
    state = dict(map(lambda tensor: tensor[:2], _tally._tensors(_calls.join(
        op, given, out, (1,) * x.ndim, f"axis={axis}", "exclusive" if exclusive else None,
        "reverse" if reverse else None, None if coef is None else "a", "carry=out",
        *_calls.common(order, nan=nan)))))["carry_out"]
    axis %= x.ndim
    is_wider = dtype_of(given).itemsize < dtype_of(state).itemsize
    guarded = _calls.is_float(state) and (op in ("cumprod", "linrec") or
                                          op == "cumsum" and not is_wider)
    plan = _Plan(op, axis, out, state, bool(exclusive), bool(reverse), order, nan, guarded)
    name = f"tally-{op}-{tokenize(x, coef, plan)}"
    graph = {}
    for line in lines(x, axis, reverse):
        factors = [None if coef is None else TaskRef((coef.name, *_coef_index(coef, index)))
                   for index in line]
        chunks = [TaskRef((x.name, *index)) for index in line]
        _add_line(graph, plan, name, list(zip(line, chunks, factors)))
    return scanned_array(graph, name, out, x, *([] if coef is None else [coef]))


def cumsum(x, axis, *, dtype=None, exclusive=False, reverse=False, order="run"):
    """Running sums along an axis of a dask array, as tally.cumsum has them."""
    return _scan_array("cumsum", x, axis, dtype=dtype, exclusive=exclusive, reverse=reverse,
                       order=order)


def cumprod(x, axis, *, dtype=None, exclusive=False, reverse=False, order="run"):
    """Running products along an axis of a dask array, as tally.cumprod has them."""
    return _scan_array("cumprod", x, axis, dtype=dtype, exclusive=exclusive, reverse=reverse,
                       order=order)


def cummax(x, axis, *, exclusive=False, reverse=False, order="run", nan="propagate"):
    """The largest element so far along an axis of a dask array, as tally.cummax has it."""
    return _scan_array("cummax", x, axis, exclusive=exclusive, reverse=reverse, order=order,
                       nan=nan)


def cummin(x, axis, *, exclusive=False, reverse=False, order="run", nan="propagate"):
    """The smallest element so far along an axis of a dask array, as tally.cummin has it."""
    return _scan_array("cummin", x, axis, exclusive=exclusive, reverse=reverse, order=order,
                       nan=nan)


def cumlogsumexp(x, axis, *, exclusive=False, reverse=False, order="run"):
    """Logarithms of running sums of exponentials along an axis of a dask array."""
    return _scan_array("cumlogsumexp", x, axis, exclusive=exclusive, reverse=reverse, order=order)


def linrec(x, coef, axis, *, dtype=None, exclusive=False, reverse=False, order="run"):
    """The recurrence y[i] = coef[i]*y[i-1] + x[i] along an axis of a dask array; y[0] is x[0].

    coef is an array of dask or numpy, or a number, and is broadcast to the shape of x. Its chunks
    become those of x where they differ. Both get the dtype that numpy promotes them to.
    """
    x = dask.array.asanyarray(x)
    number = coef if isinstance(coef, (int, float)) else None
    coef = dask.array.asanyarray(coef)
    common = numpy.result_type(x.dtype, coef.dtype if number is None else number)
    x, coef = x.astype(common), coef.astype(common)
    if coef.ndim > x.ndim or any(size not in (1, whole) for size, whole in
                                 zip(reversed(coef.shape), reversed(x.shape))):
        raise ValueError(f"a: coef of shape {coef.shape} does not broadcast to {x.shape}")
    chunks = x.chunks[x.ndim - coef.ndim:]
    coef = coef.rechunk(tuple((1,) if size == 1 else chunk
                              for size, chunk in zip(coef.shape, chunks)))
    return _scan_array("linrec", x, axis, coef, dtype=dtype, exclusive=exclusive, reverse=reverse,
                       order=order)
