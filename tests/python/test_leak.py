# SPDX-License-Identifier: Apache-2.0
"""Memory is flat, however many calls there are. TALLY_TEST_CALLS: how many (10,000); docs name figures for 10^6."""
import gc
import os

import numpy as np
import pytest
from conftest import OnlyDlpack, tally

import array_api_strict as strict

CALLS = int(os.environ.get("TALLY_TEST_CALLS", "10000"))


def resident():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * 4


X = np.ones((3, 4), "f4")
STRICT, ALONE, OUT = strict.asarray(X), OnlyDlpack(X), np.empty_like(X)
KERNEL = tally.kernel("cumsum:f32:3x4:axis=1,a,map=x*a")


def error():
    try:
        tally.cumsum(X, axis=9)
    except tally.Error:
        pass


def refused():
    try:
        tally.cumsum(X, axis=1, frob=1)
    except TypeError:
        pass


def capsule():
    ALONE.asked.clear()
    tally.cumsum(ALONE, axis=1)


CASES = {"numpy": lambda: tally.cumsum(X, axis=1), "out": lambda: tally.cumsum(X, axis=1, out=OUT),
         "scalar": lambda: tally.sum(X), "list": lambda: tally.cumsum([1.0, 2.0]), "capsule": capsule,
         "namespace": lambda: tally.cumsum(STRICT, axis=1), "error": error, "type error": refused,
         "dtype": lambda: tally.sum(X, dtype="f64"), "kernel": lambda: KERNEL(X, a=X), "word": lambda: KERNEL.word,
         "initial": lambda: tally.cumulative_sum(X, axis=1, include_initial=True), "stats": tally.stats}


@pytest.mark.parametrize("name", CASES)
def test_calls(name):
    call = CASES[name]
    for _ in range(2000):
        call()
    gc.collect()
    before = resident()
    for _ in range(CALLS):
        call()
    gc.collect()
    assert resident() - before < 256 + CALLS // 1000, "KiB"


def test_shapes():
    """Kernels for new shapes are bounded; see stats()."""
    def some(count):
        for i in range(count):
            tally.cumsum(np.ones((i % 50 + 1, i % 61 + 1), "f4"), axis=i % 2)

    some(3050)
    before = resident()
    some(6100)
    assert resident() - before < 1024
