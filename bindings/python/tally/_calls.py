# SPDX-License-Identifier: Apache-2.0
"""What tally.jax and tally.dask share: names of operators, and how a call becomes a word."""

import numpy

from ._dtypes import NAMES
from ._words import dtype_named, fault

ADDS = "sum", "prod", "cumsum", "cumprod"
# These refuse integers unless the caller names the dtype of the result.
FLOATS_ONLY = "l2", "log_sum", "log_sum_exp", "cumlogsumexp"
# Their results are i64 unless the word says more.
INDICES = "argmax", "argmin", "cumargmax", "cumargmin"


def name_of(dtype):
    """The name in Tally of a dtype, which may be its name already."""
    if isinstance(dtype, str):
        return dtype_named(dtype)
    dtype = numpy.dtype(dtype)
    if not dtype.isnative:
        raise fault("dtype", f"elements of format {dtype.str!r} have no name in Tally",
                    "x.astype(x.dtype.newbyteorder('='))", TypeError)
    name = dtype.name
    if name not in NAMES:
        raise TypeError(f"dtype: elements of {name} have no name in Tally")
    return NAMES[name]


def is_float(name):
    return "f" in name


def common(order="run", acc=None, nan="propagate", last=False):
    """The options that scans and reductions share."""
    return ("last" if last else None, f"order={order}" if order != "run" else None,
            f"acc={name_of(acc)}" if acc is not None else None,
            f"nan={nan}" if nan != "propagate" else None)


def join(op, given, out, shape, *options):
    """The word with those options that are neither None nor empty."""
    dtypes = given if out == given and op not in INDICES else f"{given}>{out}"
    sizes = "x".join(map(str, shape)) or "scalar"
    return ":".join(filter(None, (op, dtypes, sizes, ",".join(filter(None, options)))))
