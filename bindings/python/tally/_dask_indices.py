# SPDX-License-Identifier: Apache-2.0
"""cumargmax and cumargmin of tally.dask.

Their kernels have no carry. The extreme before a chunk is put in front of the chunk's elements, and
the kernel decides between them: ties and NaN are as in one kernel. Tiny tasks along the axis make
these extremes, with their indices in the whole array, from those of the chunks.
"""

import dataclasses
import functools
import math

import numpy
from dask.base import tokenize
from dask.task_spec import TaskRef

from . import _tally, _calls, _words
from ._dask_chunks import add_task, graph_array, lines, result_dtype, run, scanned_array

# ---- one chunk -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What all chunks share. `out` is a dtype's name in Tally."""
    op: str
    axis: int
    out: str
    reverse: bool
    last: bool
    nan: str

    def chosen(self, x):
        """The indices of the extremes of x, whose elements lie in the direction of the scan."""
        return run(self.op[3:], "i64", x, None, f"axes={self.axis}", "keepdims",
                   *_calls.common(nan=self.nan, last=self.last))


def _end(plan, start, x):
    return start + x.shape[plan.axis]


def _total(plan, x, start):
    """The extreme of a chunk and its index in the whole array; None without elements."""
    if x.shape[plan.axis] == 0:
        return None
    length = x.shape[plan.axis]
    turned = numpy.flip(x, plan.axis) if plan.reverse else x
    index = plan.chosen(turned)
    index = length - 1 - index if plan.reverse else index
    return numpy.take_along_axis(x, index, plan.axis), index + start


def _join(plan, before, total):
    """The extreme behind a chunk."""
    if before is None or total is None:
        return total if before is None else before
    elements, indices = (numpy.concatenate(pair, plan.axis) for pair in zip(before, total))
    index = plan.chosen(elements)
    return tuple(numpy.take_along_axis(part, index, plan.axis) for part in (elements, indices))


def _indices(plan, x, before, start):
    """The results of a chunk."""
    first = 0
    if before is not None:
        x = numpy.concatenate((x, before[0]) if plan.reverse else (before[0], x), plan.axis)
        first = 0 if plan.reverse else 1
    index = run(plan.op, plan.out, x, None, f"axis={plan.axis}",
                "reverse" if plan.reverse else None,
                *_calls.common(nan=plan.nan, last=plan.last))
    if before is None:
        return index + index.dtype.type(start)
    length = x.shape[plan.axis] - 1
    own = (slice(None),) * plan.axis + (slice(first, first + length),)
    index, place = index[own], length if plan.reverse else 0
    return numpy.where(index == place, before[1].astype(index.dtype),
                       index + index.dtype.type(start - first))


# ---- all chunks ----------------------------------------------------------------------------------


def _starts(graph, plan, x, name, line):
    """Where each chunk of a line begins: numbers, or tasks if the sizes of chunks are not known."""
    start, starts = 0, {}
    for index in sorted(line, key=lambda index: index[plan.axis]):
        starts[index] = start
        size = x.chunks[plan.axis][index[plan.axis]]
        if isinstance(start, int) and not math.isnan(size):
            start += size
        else:
            start = add_task(graph, (name + "-end", *index), functools.partial(_end, plan), start,
                             TaskRef((x.name, *index)))
    return starts


def _add_line(graph, plan, x, name, line):
    starts, before = _starts(graph, plan, x, name, line), None
    for index in line:
        chunk, start = TaskRef((x.name, *index)), starts[index]
        add_task(graph, (name, *index), functools.partial(_indices, plan), chunk, before, start)
        if index != line[-1]:
            total = add_task(graph, (name + "-total", *index), functools.partial(_total, plan),
                             chunk, start)
            before = add_task(graph, (name + "-state", *index), functools.partial(_join, plan),
                              before, total)


def _scan_array(op, x, axis, dtype, reverse, last, nan):
    x = graph_array(x)
    axis = _words.axis_in(axis, x.ndim)
    given = _calls.name_of(x.dtype)
    out = result_dtype(op, given, dtype)
    # What is refused, is refused before anything runs. Every index must have a place in the dtype.
    sizes = [1 if math.isnan(size) else size for size in x.shape]
    _tally._tensors(_calls.join(op, given, out, sizes, f"axis={axis}",
                                "reverse" if reverse else None,
                                *_calls.common(nan=nan, last=last)))
    plan = _Plan(op, axis % x.ndim, out, bool(reverse), bool(last), nan)
    name, graph = f"tally-{op}-{tokenize(x, plan)}", {}
    for line in lines(x, plan.axis, plan.reverse):
        _add_line(graph, plan, x, name, line)
    return scanned_array(graph, name, out, x)


def cumargmax(x, axis, *, dtype=None, reverse=False, last=False, nan="propagate"):
    """Indices of the largest elements so far along an axis, as tally.cumargmax has them."""
    return _scan_array("cumargmax", x, axis, dtype, reverse, last, nan)


def cumargmin(x, axis, *, dtype=None, reverse=False, last=False, nan="propagate"):
    """Indices of the smallest elements so far along an axis, as tally.cumargmin has them."""
    return _scan_array("cumargmin", x, axis, dtype, reverse, last, nan)
