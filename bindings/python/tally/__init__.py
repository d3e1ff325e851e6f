# SPDX-License-Identifier: Apache-2.0
"""Scans and reductions of arrays by kernels that are made for each case.

>>> tally.cumprod(numpy.array([[2, 1, 3], [3, 8, 7]], 'f4'), axis=1)
array([[  2.,   2.,   6.],
       [  3.,  24., 168.]], dtype=float32)

Arrays of numpy, torch, JAX and every library with a buffer or __dlpack__ come and go without a copy.
Importing this module imports none of them. docs/python.md explains all of it; docs/python-tutorial.md is a tutorial.
"""
from ._tally import (
    Device, Error, Gradient, Kernel, Unsupported, __version__, argmax, argmin, cumargmax, cumargmin, cumlogsumexp,
    cummax, cummin, cumprod, cumsum, cumulative_prod, cumulative_sum, devices, get_threads, gradient, inspect, kernel,
    l1, l2, log_sum, log_sum_exp, max, mean, min, prod, set_threads, stats, sum, sum_square, warm)

__all__ = [
    "Device", "Error", "Gradient", "Kernel", "Unsupported", "argmax", "argmin", "cumargmax", "cumargmin",
    "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "devices",
    "get_threads", "gradient", "inspect", "kernel", "l1", "l2", "linrec", "log_sum", "log_sum_exp", "max", "mean",
    "min", "prod", "run", "set_threads", "stats", "sum", "sum_square", "warm"]


def run(word, x, /, a=None, b=None, c=None, d=None, *, out=None, offsets=None, carry_in=None, carry_out=None,
        threads=None, device=None):
    """What a word computes of arrays, which complete it: it may lack the dtype, the sizes and the operands.

    a, b, c, d: operands, broadcast against x; a number serves, too.
    out: an array for the result.
    offsets: where segments begin and end, one more than there are segments.
    carry_in, carry_out: states to begin with, and an array for those at the end.
    threads: at most so many.
    device: as of tally.kernel.

    >>> tally.run('cumprod:axis=0,exclusive,map=1-x,post=x*y', numpy.array([.5, .5, 1], 'f4'))
    array([0.5 , 0.25, 0.25], dtype=float32)
    >>> tally.run('cumsum:axis=1,map=x*a+b', numpy.ones((2, 3)), numpy.array([1., 2, 4]), 0.5)
    array([[1.5, 4. , 8.5],
           [1.5, 4. , 8.5]])"""
    from . import _run
    return _run.run(word, x, out, (a, b, c, d), offsets, carry_in, carry_out, threads, device)


def linrec(x, coef, /, *, axis=-1, exclusive=False, reverse=False, out=None, offsets=None, carry_in=None,
           carry_out=None, threads=None, device=None):
    """The linear recurrence y[i] = coef[i]*y[i-1] + x[i] along an axis. coef is broadcast against x.

    axis: the axis.
    exclusive: y[i] does not include x[i].
    reverse: from the end of the axis to its start.
    out, offsets, carry_in, carry_out, threads, device: as of tally.run.

    >>> tally.linrec(numpy.array([8, 0, 0, 8], 'f4'), 0.5)
    array([8., 4., 2., 9.], dtype=float32)"""
    from . import _run
    return _run.linrec(x, coef, axis, exclusive, reverse, dict(
        out=out, offsets=offsets, carry_in=carry_in, carry_out=carry_out, threads=threads, device=device))
