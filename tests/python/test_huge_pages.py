# SPDX-License-Identifier: Apache-2.0
"""New results of 4 MiB and more ask the system for huge pages: their whole pages, and nothing else. If the system
refuses, as it does here, results are the same."""
import os
import subprocess
import sys

import pytest
from conftest import need

COMMON = """
import ctypes, mmap, os
import numpy as np
import tally
probe = ctypes.CDLL(os.environ["LD_PRELOAD"])
calls, start, length = (kind.in_dll(probe, "probe_" + name) for kind, name in (
    (ctypes.c_int, "calls"), (ctypes.c_size_t, "start"), (ctypes.c_size_t, "bytes")))
LEAST, PAGE = 1 << 20, mmap.PAGESIZE  # elements, bytes

def check(function, x, to_numpy, address):
    given, before = to_numpy(x).copy(), calls.value
    y = function(x)
    asked, low, high = calls.value - before, start.value, start.value + length.value
    np.testing.assert_array_equal(to_numpy(y), np.cumsum(given, axis=0))
    assert asked == (given.size >= LEAST), (function, x.shape, asked)
    if asked:
        first, end = address(y), address(y) + given.nbytes
        assert low % PAGE == high % PAGE == 0
        assert 0 <= low - first < PAGE and 0 <= end - high < PAGE

SIZES = 1, 3, 1000, LEAST - 1, LEAST, LEAST + 12345

def ints(n):  # whose sums are the same in any order
    return (np.arange(n) % 5 - 2).astype("f4")
"""
TORCH = """
import torch, tally.torch
for n in SIZES:
    x = torch.from_numpy(ints(n))
    for function in (lambda x: torch.ops.tally.cumsum(x, 0), lambda x: tally.torch.cumsum(x, 0), tally.cumsum):
        check(function, x, torch.Tensor.numpy, torch.Tensor.data_ptr)
    before, out = calls.value, torch.zeros(n)
    tally.cumsum(x, out=out)
    assert calls.value == before  # it is the caller's
"""
JAX = """
import jax, tally.jax
for n in SIZES:
    x = jax.numpy.asarray(ints(n))
    for function in (jax.jit(lambda x: tally.jax.cumsum(x, axis=0)), tally.cumsum):
        jax.block_until_ready(function(x))
        check(lambda x: jax.block_until_ready(function(x)), x, np.asarray, lambda a: a.unsafe_buffer_pointer())
"""


@pytest.mark.parametrize("library,code", [("torch", TORCH), ("jax", JAX)])
def test_asks_for_whole_pages(library, code):
    need(library)
    probe = os.environ.get("TALLY_TEST_MADVISE_PROBE")
    if probe is None:
        pytest.skip("TALLY_TEST_MADVISE_PROBE names no library")
    done = subprocess.run([sys.executable, "-c", COMMON + code], env=os.environ | {"LD_PRELOAD": probe},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
