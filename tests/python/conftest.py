# SPDX-License-Identifier: Apache-2.0
"""What the tests share. Results are judged by numpy, in f64 or i64, or by plain Python."""
import os

import numpy as np
import pytest

import tally

SCANS = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]
FOLDS = ["sum", "prod", "mean", "l1", "l2", "sum_square", "log_sum", "log_sum_exp", "max", "min"]
FLOATS = ["f8", "f4", "f2"]
INTEGERS = ["i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]


def plain_scan(name, x, axis, exclusive=False, reverse=False):
    """By numpy, along one axis, in the dtype of x."""
    ufuncs = {"cumsum": (np.add, 0), "cumprod": (np.multiply, 1), "cummax": (np.maximum, None),
              "cummin": (np.minimum, None), "cumlogsumexp": (np.logaddexp, -np.inf)}
    ufunc, identity = ufuncs[name]
    if identity is None:
        lowest = name == "cummax"
        if x.dtype.kind == "f":
            identity = -np.inf if lowest else np.inf
        elif x.dtype == bool:
            identity = not lowest
        else:
            identity = (np.iinfo(x.dtype).min if lowest else np.iinfo(x.dtype).max)
    x = np.flip(x, axis) if reverse else x
    y = ufunc.accumulate(x, axis=axis)
    if exclusive:
        first = np.full_like(np.take(y, [0], axis) if y.shape[axis] else y, identity)
        y = np.concatenate([first, np.take(y, range(y.shape[axis] - 1), axis)], axis) if y.shape[axis] else y
    return np.flip(y, axis) if reverse else y


def plain_fold(name, x, axis, keepdims=False):
    options = {"axis": axis, "keepdims": keepdims}
    return {
        "sum": lambda: np.sum(x, **options), "prod": lambda: np.prod(x, **options),
        "mean": lambda: np.mean(x, **options), "l1": lambda: np.sum(np.abs(x), **options),
        "l2": lambda: np.sqrt(np.sum(x * x, **options)), "sum_square": lambda: np.sum(x * x, **options),
        "log_sum": lambda: np.log(np.sum(x, **options)),
        "log_sum_exp": lambda: np.log(np.sum(np.exp(x), **options)),
        "max": lambda: np.max(x, **options), "min": lambda: np.min(x, **options)}[name]()


def close(got, wanted, dtype):
    """Within what rounding in this dtype explains, and of the wanted shape."""
    wanted = np.asarray(wanted)
    got = np.asarray(got)
    assert got.shape == wanted.shape
    name = np.dtype(dtype).name
    tolerance = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}.get(name, 0)
    np.testing.assert_allclose(got.astype("f8"), wanted.astype("f8"), rtol=tolerance, atol=tolerance)


def need(library, because=None):
    """A library that may be missing: 'skipped: NAME' then, or a failure if TALLY_REQUIRE_NAME is 1."""
    try:
        return __import__(library)
    except ImportError:
        if os.environ.get(f"TALLY_REQUIRE_{library.upper()}") == "1":
            raise
        pytest.skip(f"skipped: {library}", allow_module_level=True)


def pytest_addoption(parser):
    parser.addoption("--write", action="store_true", help="renew the pictures of docs/python-tutorial.md")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


class OnlyDlpack:
    """An array that has nothing but __dlpack__. `old`: as producers before DLPack 1.0."""

    def __init__(self, array, old=False):
        self.array, self.old, self.asked = array, old, []

    def __dlpack__(self, **options):
        self.asked.append(options)
        if self.old and options:
            raise TypeError("no options are known")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


__all__ = ["FLOATS", "FOLDS", "INTEGERS", "SCANS", "OnlyDlpack", "close", "need", "plain_fold", "plain_scan", "tally"]
