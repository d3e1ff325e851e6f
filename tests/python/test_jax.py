# SPDX-License-Identifier: Apache-2.0
"""JAX's arrays in plain functions. tally.jax has functions that JAX traces."""
import numpy as np
import pytest
from conftest import close, need, tally

jax = need("jax")
jnp = jax.numpy


def test_arrays_come_and_go(rng):
    x = jnp.asarray(rng.random((4, 5)).astype("f4"))
    got = tally.cumprod(x, axis=1, reverse=True)
    assert isinstance(got, jax.Array)
    close(np.asarray(got), np.flip(np.cumprod(np.flip(np.asarray(x).astype("f8"), 1), 1), 1), "f4")
    b = x.astype(jnp.bfloat16)
    got = tally.cumsum(b, axis=0)
    assert got.dtype == jnp.bfloat16 and isinstance(got, jax.Array)
    assert tally.cumsum(jnp.float32(3)).shape == (1,) and tally.sum(x).shape == ()


def test_dtypes_are_jaxs():
    for dtype in ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float16", "bfloat16"):
        x = jnp.ones(3, dtype)
        assert tally.cumsum(x).dtype == jnp.cumulative_sum(x).dtype, dtype
        assert tally.sum(x).dtype == jnp.sum(x).dtype, dtype
        assert tally.argmax(x).dtype == tally.cumargmax(x).dtype == jnp.argmax(x).dtype
    assert tally.mean(jnp.ones(3, "int32")).dtype == jnp.float32


def test_with_64_bits():
    with jax.enable_x64(True):
        x = jnp.ones(3, "int32")
        assert tally.cumsum(x).dtype == jnp.cumulative_sum(x).dtype == jnp.int64
        assert tally.argmax(x).dtype == tally.cumargmin(x).dtype == jnp.int64


def test_outputs_are_read_only():
    with pytest.raises(BufferError, match="out: the array is read-only"):
        tally.cumsum(np.ones(3, "f4"), out=jnp.zeros(3))


def test_tracers_are_refused():
    with pytest.raises(TypeError, match="tally.jax.cumsum"):
        jax.jit(tally.cumsum)(jnp.ones(3))
