# SPDX-License-Identifier: Apache-2.0
"""tally.jax's gradients, first and second, in f64: beside JAX's own where JAX is right, else beside differences."""
import os

import numpy as np
import pytest
from conftest import need, tally

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = need("jax")
jnp = jax.numpy
from jax.test_util import check_grads  # noqa: E402

import tally.jax as tj  # noqa: E402


@pytest.fixture(autouse=True)
def with_64_bits():
    with jax.enable_x64(True):
        yield


def distinct(rng, *shape):
    """No ties, no zeros: differences are right."""
    return jnp.asarray(rng.permutation(np.arange(1, np.prod(shape) + 1)).reshape(shape) * .37 / np.sqrt(np.prod(shape)))


def check(f, *arrays):
    """First and second derivatives beside differences."""
    check_grads(jax.jit(f), arrays, order=2, modes=["rev"], atol=1e-4, rtol=1e-4)


SCANS = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]
FOLDS = ["sum", "prod", "mean", "l1", "l2", "sum_square", "log_sum", "log_sum_exp", "max", "min"]


@pytest.mark.parametrize("name", SCANS)
def test_scans(name, rng):
    check(getattr(tj, name), distinct(rng, 2, 3))
    if name in ("cumsum", "cumprod"):
        check(lambda v: getattr(tj, name)(v, 0, exclusive=True, reverse=True), distinct(rng, 3, 2))


@pytest.mark.parametrize("name", FOLDS)
def test_reductions(name, rng):
    axis, keepdims = (None, False) if name in ("prod", "max") else (1, name < "m")
    check(lambda v: getattr(tj, name)(v, axis, keepdims), distinct(rng, 2, 3))


def test_linrec(rng):
    x, c = distinct(rng, 2, 3), distinct(rng, 2, 3)[::-1]
    for coef in (c, c[:1]):
        check(lambda v, a: tj.linrec(v, a, 1, reverse=True), x, coef)


def products(v, exclusive=False, reverse=False):
    """By plain multiplications, which JAX differentiates without a division."""
    steps, total, shown = list(v[::-1] if reverse else v), jnp.ones((), v.dtype), []
    for step in steps:
        shown.append(total * (1 if exclusive else step))
        total = total * step
    return jnp.stack(shown[::-1] if reverse else shown)


@pytest.mark.parametrize("zeros", [(), (2,), (1, 3), (0, 1, 4)])
def test_cumprod_at_zeros(zeros, rng):
    x, weights = distinct(rng, 5).at[jnp.asarray(zeros, int)].set(0), jnp.arange(1., 6)
    for exclusive in (False, True):
        for reverse in (False, True):
            ours = jax.grad(lambda v: (tj.cumprod(v, exclusive=exclusive, reverse=reverse) * weights).sum())
            plain = jax.grad(lambda v: (products(v, exclusive, reverse) * weights).sum())
            np.testing.assert_allclose(jax.jit(ours)(x), jax.jit(plain)(x), rtol=1e-12)
            got, want = jax.jit(jax.jacrev(ours))(x), jax.jit(jax.jacrev(plain))(x)
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(jax.grad(tj.prod)(x), jax.grad(lambda v: products(v)[-1])(x), rtol=1e-12)


def test_ties_share():
    x = jnp.asarray([1., 3, 3, 0])
    assert jax.grad(tj.max)(x).tolist() == jax.grad(jnp.max)(x).tolist() == [0, .5, .5, 0]
    assert jax.grad(lambda v: tj.cummax(v).sum())(x).tolist() == [1, 3, 0, 0]


def test_under_transformations(rng):
    x = distinct(rng, 3, 4)
    f = lambda v: tj.cumprod(v).sum()  # noqa: E731
    want = jnp.stack([jax.grad(f)(row) for row in x])
    np.testing.assert_allclose(jax.vmap(jax.grad(f))(x), want, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(f)))(x), want, rtol=1e-12)
    np.testing.assert_allclose(jax.grad(lambda v: jax.vmap(f)(v).sum())(x), want, rtol=1e-12)
    g = jax.vmap(jax.grad(lambda v, a: tj.linrec(v, a).sum(), (0, 1)), (0, None))(x, x[0])
    for i, row in enumerate(x):
        for got, one in zip(g, jax.grad(lambda v, a: tj.linrec(v, a).sum(), (0, 1))(row, x[0])):
            np.testing.assert_allclose(got[i], one, rtol=1e-12)
    scan = jax.grad(lambda v: jax.lax.scan(lambda c, row: (c + tj.cumsum(row), 0.), jnp.zeros(4), v)[0].sum())(x)
    assert scan.tolist() == [[4, 3, 2, 1]] * 3


def test_only_what_is_asked_for_is_computed(rng):
    """The coefficient's gradient has kernels of its own, which a gradient of x does not run."""
    x = distinct(rng, 5)
    text = str(jax.make_jaxpr(jax.grad(lambda v, a: tj.linrec(v, a).sum()))(x, x))
    assert text.count("linrec:f64") == 2 and "post=(x+y)*b" not in text
    text = str(jax.make_jaxpr(jax.grad(lambda v: tj.mean(v) + tj.sum(v)))(x))
    assert "axes=none" not in text, "the gradient of a sum needs no kernel"


def test_narrow_dtypes():
    for dtype in ("float16", "bfloat16", "float32"):
        x = jnp.asarray([.5, 0, 2, 1.5], dtype)
        got = jax.grad(lambda v: tj.cumprod(v).astype("float32").sum())(x)
        assert got.dtype == x.dtype and got.tolist() == [1, 3, 0, 0]
        assert jax.grad(lambda v: tj.mean(v, dtype="f32" if dtype != "float32" else None))(x).dtype == x.dtype


def test_what_has_no_gradient():
    x = jnp.asarray([1., 3, 2])
    assert jax.grad(lambda v: tj.max(v) * tj.argmax(v))(x).tolist() == [0, 1, 0]
    assert jax.grad(lambda v: v[0] * tj.cumsum(jnp.asarray([1, 2]))[1])(x).tolist() == [3, 0, 0]
    pieces = tj.kernel("cumlogsumexp:f64:3:axis=0,carry=in+out")
    with pytest.raises(tally.Unsupported, match="carry: a state of cumlogsumexp is a pair"):
        jax.grad(lambda v: pieces(v, jnp.asarray([[0., 1.]]))[0].sum())(x)


@pytest.mark.parametrize("offsets", [[0, 3, 3, 4, 9], [2, 2, 5, 6, 8]])
def test_segments(rng, offsets):
    """With empty segments, with one element, and with elements outside of all."""
    x, offsets = distinct(rng, 9, 2) / 9, jnp.asarray(offsets, "int32")
    for word in ("cumsum:f64:9x2:axis=0", "cumprod:f64:9x2:axis=0,reverse,exclusive", "sum_square:f64:9x2:axes=0",
                 "mean:f64:9x2:axes=0", "max:f64:9x2:axes=0", "prod:f64:9x2:axes=0"):
        function = tj.kernel(word + ",segments=i32/4")
        filled = jnp.flatnonzero(jnp.diff(offsets) > 0) if "axes" in word else jnp.arange(9)
        check_grads(lambda v: function(v, offsets)[filled], (x,), order=2, modes=["rev"], atol=1e-4, rtol=1e-4)


def test_states(rng):
    x, a, state = distinct(rng, 5, 2) / 9, distinct(rng, 5, 2) / 9, distinct(rng, 1, 2)
    for word in ("linrec:f64:5x2:axis=0,a=f64", "cumprod:f64:5x2:axis=0,a=f64,map=x*a,reverse"):
        check(tj.kernel(word + ",carry=in"), x, a, state)
        pieces = tj.kernel(word + ",carry=in+out")
        check(lambda *t: jnp.concatenate(pieces(*t)), x, a, state)
        check(lambda *t: pieces(*t)[1], x, a, state)


def test_words(rng):
    x, d = distinct(rng, 3, 4) / 9, distinct(rng, 3, 4)
    weights = tj.kernel("cumprod:f64:3x4:axis=1,exclusive,map=1-x,post=x*y")
    plain = lambda v: v * jnp.concatenate([jnp.ones((3, 1)), jnp.cumprod(1 - v, 1)[:, :-1]], 1)  # noqa: E731
    np.testing.assert_allclose(jax.grad(lambda v: (weights(v) * d).sum())(x), jax.grad(lambda v: (plain(v) * d).sum())(x))
    densities = tj.kernel("cumsum:f64:3x4:axis=1,exclusive,a=f64,map=x*a,post=exp(-y)*(1-exp(-x*a))")
    check_grads(jax.jit(densities), (x, d), order=1, modes=["rev"], atol=1e-4, rtol=1e-4)
    scaled = tj.kernel("sum:f64:3x4:axes=1,a=f64/0,b=f64/none,map=(x-a)*b")
    check(scaled, x, d[:, 0], d[0, 0])
