# SPDX-License-Identifier: Apache-2.0
"""What scans and reductions of tally.dask do with one chunk."""

import functools
import itertools

import dask.array
import numpy
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import Task, TaskRef

from . import _tally, _calls

_kernel = functools.lru_cache(maxsize=1024)(_tally._kernel)


def lines(x, axis, reverse):
    """The indices of the chunks along each line of the axis, in the direction of a scan."""
    blocks = [range(count) for count in x.numblocks]
    along, blocks[axis] = blocks[axis], [None]
    for others in itertools.product(*blocks):
        yield [others[:axis] + (i,) + others[axis + 1:]
               for i in (reversed(along) if reverse else along)]


def add_task(graph, key, function, *arguments):
    """Adds a call. Arguments may be other tasks."""
    arguments = [TaskRef(a.key) if isinstance(a, Task) else a for a in arguments]
    graph[key] = Task(key, function, *arguments)
    return graph[key]


def scanned_array(graph, name, out, x, *others):
    """The array that a graph makes of x and others, with the chunks of x."""
    graph = HighLevelGraph.from_collections(name, graph, [x, *others])
    return dask.array.Array(graph, name, x.chunks,
                            meta=numpy.empty((0,) * x.ndim, dtype_of(out)))


def graph_array(x):
    """x as an array of dask that has a graph."""
    if dask.array.array_expr_enabled():
        raise NotImplementedError("tally.dask makes graphs, which dask takes if its option "
                                  "array.query-planning is not set")
    return dask.array.asanyarray(x)


def dtype_of(name):
    if name == "bf16":
        import ml_dtypes
        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype(next(long for long, short in _calls.NAMES.items() if short == name))


def result_dtype(op, given, dtype):
    """The dtype of the result; without one asked for, it is that of the plain function."""
    if dtype is not None:
        return _calls.name_of(dtype)
    if op in _calls.INDICES:
        return "i64"
    if _calls.is_float(given):
        return given
    if op in _calls.FLOATS_ONLY and op != "cumlogsumexp":  # which has no kernels of integers at all
        raise TypeError(f"dtype: {op} of integers is no integer; dtype=x.dtype cuts it to one; "
                        "hint: x.astype('f8')")
    wide = "u64" if given[0] == "u" else "i64"
    return "f64" if op == "mean" else wide if op in _calls.ADDS else given


def strides_of(x):
    """The strides of an array as a word has them; empty if it is packed. None if no word has them,
    as elements are not aligned, or strides are no multiples of them."""
    if not x.flags.aligned or any(stride % x.itemsize for stride in x.strides):
        return None
    if x.flags.c_contiguous:
        return ""
    return "x".join(str(stride // x.itemsize) for stride in x.strides)


def fit(coef, x):
    """coef with as many axes as x, and its place in a word."""
    coef = coef.reshape((1,) * (x.ndim - coef.ndim) + coef.shape)
    strides = strides_of(coef) if coef.shape == x.shape else None
    if strides:
        return coef, f"{strides}@0"
    axes = [str(i) for i, size in enumerate(coef.shape) if size != 1]
    return numpy.require(coef, requirements=["C", "A"]), "+".join(axes) or "none"


def run(op, out, x, coef, *options, **buffers):
    """Runs the word of these options on a chunk, wherever it lies."""
    strides = strides_of(x)
    if strides is None:
        x, strides = numpy.require(x, requirements=["C", "A"]), ""
    if strides:
        options += (f"in={strides}",)
    if coef is not None:
        buffers["a"], place = fit(coef, x)
        options += (f"a={_calls.name_of(coef.dtype)}/{place}",)
    word = _calls.join(op, _calls.name_of(x.dtype), out, x.shape, *options)
    return _kernel(word)(x, **buffers)
