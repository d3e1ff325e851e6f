# SPDX-License-Identifier: Apache-2.0
"""Tally's scans and reductions of dask arrays, chunk by chunk.

    import dask.array, tally.dask
    y = tally.dask.cumsum(x, axis=0)
    m = tally.dask.mean(x, axis=1)

docs/dask.md explains them.
"""

from ._dask_indices import cumargmax, cumargmin
from ._dask_reductions import (argmax, argmin, l1, l2, log_sum, log_sum_exp, max, mean, min, prod,
                               sum, sum_square)
from ._dask_scans import cumlogsumexp, cummax, cummin, cumprod, cumsum, linrec

__all__ = ["argmax", "argmin", "cumargmax", "cumargmin", "cumlogsumexp", "cummax", "cummin",
           "cumprod", "cumsum", "l1", "l2", "linrec", "log_sum", "log_sum_exp", "max", "mean", "min",
           "prod", "sum", "sum_square"]
