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
    "get_threads", "gradient", "inspect", "kernel", "l1", "l2", "log_sum", "log_sum_exp", "max", "mean", "min", "prod",
    "set_threads", "stats", "sum", "sum_square", "warm"]
