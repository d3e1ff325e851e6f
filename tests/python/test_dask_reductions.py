# SPDX-License-Identifier: Apache-2.0
"""tally.dask's reductions: chunks beside numpy's long doubles, by every scheduler."""
import inspect
import itertools
import weakref

import numpy as np
import oracle
import pytest
from conftest import FOLDS, need, tally

dask = need("dask")
import dask.array as da  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import tally.dask as td  # noqa: E402
from test_random import calls, each, judge  # noqa: E402

NAMES = [*FOLDS, "argmax", "argmin"]


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


# ---- values --------------------------------------------------------------------------------------


@st.composite
def chunked_calls(draw, name):
    call = draw(calls(name))
    known = inspect.signature(getattr(td, name)).parameters
    call.options = {option: value for option, value in call.options.items() if option in known}
    most = {0: 1, 1: 50, 2: 8}.get(len(call.shape), 3)
    chunks = []
    for size in call.shape:
        cuts = sorted(draw(st.lists(st.integers(0, size), max_size=most)))
        chunks.append(tuple(b - a for a, b in itertools.pairwise([0, *cuts, size])))
    return call, tuple(chunks), draw(st.sampled_from([None, 2, 3, 16]))


@pytest.mark.parametrize("name", NAMES)
def test_results(name):
    each(12, name, chunked_calls(name), check_results)


def check_results(chunked):
    call, chunks, split_every = chunked
    x, _ = call.array()
    parts = da.from_array(x, chunks=chunks)
    y = getattr(td, call.name)(parts, **call.options, split_every=split_every)
    got = y.compute()
    assert y.shape == got.shape and y.dtype == got.dtype and y._meta.ndim == got.ndim
    judge(call, got, x)


@pytest.mark.parametrize("dtype", ["i8", "u8", "i4", "u1"])
def test_means_of_integers_are_exact(dtype):
    limits = np.iinfo(dtype)
    for values in ([limits.max] * 9, [limits.min] * 9, [limits.max, limits.min, 3, 5], [limits.max - 3, 2, 2]):
        x = np.array(values, dtype)
        for length in (1, 2, 4):
            parts = da.from_array(x, chunks=length)
            assert td.mean(parts).compute() == float(sum(values)) / len(values)
            if dtype != "u1":  # which has no kernels for that
                quotient = abs(sum(values)) // len(values) * (1 if sum(values) >= 0 else -1)
                assert td.mean(parts, dtype=x.dtype).compute() == quotient


def test_indices_count_the_whole_array(rng):
    """Over all reduced axes in C order, whichever chunk a tie is in."""
    for shape, chunks in (((7, 9), ((3, 0, 4), (2, 2, 5))), ((4, 5, 6), (2, (1, 4), 3))):
        x = rng.integers(0, 3, shape).astype("f4")
        x[rng.random(shape) < .1] = np.nan
        for values in (x, np.full(shape, np.nan, "f4"), np.where(x == 0, -0.0, 0.0).astype("f4")):
            parts = da.from_array(values, chunks=chunks)
            for axis, last, nan in itertools.product([None, 0, -1, (0, len(shape) - 1)], [False, True], ["propagate", "ignore"]):
                for name in ("argmax", "argmin"):
                    options = {"last": last, "nan": nan}
                    got = getattr(td, name)(parts, axis, split_every=2, **options).compute()
                    np.testing.assert_array_equal(got, getattr(tally, name)(values, axis=axis, **options))


def test_dtypes():
    x = np.array([1, 0, 1, 1])
    for name, dtype in itertools.product(NAMES, ["f8", "f4", "f2", "i8", "i4", "i1", "u8", "u2", "?"]):
        parts = da.from_array(x.astype(dtype), chunks=3)
        try:
            want = getattr(tally, name)(x.astype(dtype))
        except (TypeError, tally.Unsupported) as error:
            with pytest.raises(type(error)) as e:
                getattr(td, name)(parts)
            assert str(e.value) == str(error)
            continue
        assert getattr(td, name)(parts).dtype == getattr(td, name)(parts).compute().dtype == want.dtype, (name, dtype)


# ---- chunks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_unknown_sizes(name):
    x = np.arange(12.) % 5
    parts = da.from_array(x, chunks=5)
    some = parts[parts > 3]
    assert np.isnan(some.chunks[0][0])
    np.testing.assert_allclose(getattr(td, name)(some).compute(), getattr(tally, name)(x[x > 3]), rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_empty(name):
    parts = da.ones((0, 3), chunks=((0, 0), 2), dtype="f4")
    if name.startswith("arg"):
        with pytest.raises(tally.Error, match="sizes: .* of no elements has no index"):
            getattr(td, name)(parts, 0)
        some = da.ones(4, chunks=2)
        with pytest.raises(tally.Error, match="sizes: .* of no elements has no index"):
            getattr(td, name)(some[some > 1]).compute()
    else:
        np.testing.assert_array_equal(getattr(td, name)(parts, 0).compute(), getattr(tally, name)(np.empty((0, 3), "f4"), axis=0))
    assert getattr(td, name)(parts, 1).compute().shape == (0,)


def test_nothing_is_no_zero():
    """An empty chunk adds no +0, and no identity to NaN that are ignored."""
    x = np.array([-0., -0.], "f4")
    for chunks in ((1, 1), (0, 1, 0, 1), (2, 0)):
        assert np.signbit(td.sum(da.from_array(x, chunks=(chunks,))).compute())
    nothing = da.from_array(np.array([np.nan, np.nan]), chunks=((1, 0, 1),))
    assert np.isnan(td.max(nothing, nan="ignore").compute())


def test_memory_is_bounded():
    """A chunk is gone once it has its state, and few states are joined at once."""
    alive, most = [], []

    class Chunk(np.ndarray):
        pass

    def make(block_info=None):
        chunk = np.full(block_info[None]["chunk-shape"], 1.0, "f4").view(Chunk)
        alive.append(weakref.ref(chunk))
        most.append(sum(one() is not None for one in alive))
        return chunk

    x = da.map_blocks(make, chunks=((50,) * 64, (20, 20)), dtype="f4", meta=np.empty((0, 0), "f4"))
    for name, axis in itertools.product(NAMES, [None, 0]):
        most.clear(), alive.clear()
        y = getattr(td, name)(x, axis, split_every=4)
        y.compute()
        assert len(most) == 128 and max(most) <= 2, name
        assert max(map(len, y.dask.get_all_dependencies().values())) == 4
    assert y.numblocks == (2,)


# ---- range ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("name, dtype, x, want", [
    ("sum", "f4", [-3e38, 3e38, 3e38], 3e38),
    ("sum", "f8", [-1.7e308, 1.7e308, 1.7e308], 1.7e308),
    ("sum", "f4", [3e38, 3e38, np.inf, -3e38], np.inf),
    ("sum", "f2", [6e4, 6e4, -6e4], 6e4),
    ("prod", "f4", [1e30, 1e-5, 1e-25, 1e-25, 1e-10, 1e-10, 1e30, 1e30], 1e15),
    ("prod", "f8", [1e300, 1e-50, 1e-250, 1e-250, 1e-100, 1e-100, 1e300, 1e300], 1e150),
    ("prod", "f4", [1e-30, 1e20, 1e20, 1e25, 0, 1], 0),
    ("mean", "f4", [3e38, 3e38, 3e38], 3e38),
    ("mean", "f8", [1.7e308, 1.7e308, 1.7e308], 1.7e308),
    ("mean", "f4", [3e38, 3e38, -np.inf], -np.inf),
    ("l2", "f4", [3e25, 4e25], 5e25),
    ("l2", "f4", [3e-25, 4e-25], 5e-25),
    ("l2", "f8", [3e200, 4e200], 5e200),
    ("l2", "f8", [3e-200, 4e-200], 5e-200),
    ("l2", "f4", [0, 0, 0], 0),
    ("log_sum", "f4", [3e38, 3e38, 3e38], np.log(9e38)),
    ("log_sum", "f8", [1.5e308, 1.5e308, 1.5e308], np.log(1.5e308) + np.log(3)),
    ("log_sum", "f4", [-1, -1, 3], 0),
    ("log_sum_exp", "f4", [1000, 1000, -1000], 1000 + np.log(2)),
    ("log_sum_exp", "f8", [-np.inf, -np.inf], -np.inf),
    ("log_sum_exp", "f4", [np.inf, -np.inf, np.inf], np.inf),
])
def test_range(name, dtype, x, want, length):
    x = np.array(x, dtype)
    for shape, axis in (((len(x),), 0), ((len(x), 1), 0), ((1, len(x)), None)):
        chunks = [1 if size == 1 else length for size in shape]
        got = getattr(td, name)(da.from_array(x.reshape(shape), chunks=chunks), axis, split_every=2).compute()
        np.testing.assert_allclose(got, np.dtype(dtype).type(want), rtol=1e-3 if dtype == "f2" else 1e-6)


# ---- schedulers and errors -----------------------------------------------------------------------


def test_same_bits_by_every_scheduler(rng):
    x = da.from_array(rng.standard_normal((37, 23)).astype("f4"), chunks=((10, 1, 0, 20, 6), (7, 16)))
    folds = [getattr(td, name)(x, axis) for name in NAMES for axis in (None, 0)]
    want = dask.compute(*folds)
    for options in ({"scheduler": "threads", "num_workers": 4}, {"scheduler": "processes", "num_workers": 2}):
        for _ in range(1 if options["scheduler"] == "processes" else 5):
            for got, one in zip(dask.compute(*folds, **options), want):
                np.testing.assert_array_equal(got, one)
                assert type(got) is type(one)
    assert td.sum(x).name == td.sum(x).name != td.sum(x, acc="f64").name


def test_every_split_joins_two_states_or_more():
    x = da.ones(12, chunks=2, dtype="f4")
    assert len({td.sum(x, split_every=most).compute() for most in (None, 2, np.int64(3), {0: 2}, {})}) == 1
    for most in (0, 1, -1, True, False, 2.5, {0: 1}, {0: 2.5}, {0: 4, 1: 0}):
        with pytest.raises(tally.Error, match="^split_every: .* is no integer from 2 on") as refused:
            td.sum(x, split_every=most)
        assert refused.value.field == "split_every"


def test_what_is_wrong_is_refused_before_anything_runs():
    x = da.ones((4, 4), chunks=2, dtype="f4")
    for axis, message in ((5, "axis 5 is not in"), ((0, -2), "twice"), ((0, 7), "axis 7 is not in")):
        with pytest.raises(tally.Error, match=message):
            td.sum(x, axis)
    with pytest.raises(TypeError, match="axis: True is a bool"):
        td.sum(x, True)
    with pytest.raises(TypeError, match=r"axis: \[0, 1\] is no integer; hint: a tuple names several"):
        td.sum(x, [0, 1])
    with pytest.raises(tally.Unsupported, match="from f32 to i8; hint: kernels of .* exist from f32 to f64 f32$"):
        td.sum(x, dtype="i8")
    with pytest.raises(TypeError, match="dtype: 'i4' is no dtype of Tally; hint: names count bits: 'f32', "):
        td.sum(x, dtype="i4")
    with pytest.raises(TypeError, match="elements of complex128 have no name in Tally"):
        td.max(x.astype("c16"))
    with pytest.raises(tally.Error, match="nan"):
        td.max(x, nan="skip")
    with pytest.raises(tally.Unsupported, match="u8"):
        td.argmax(x, dtype="u8")
    with pytest.raises(tally.Error, match="dtype|out"):
        td.argmax(da.ones(2**31 + 1, chunks=2**28, dtype="i1"), dtype="i32")
    with pytest.raises(TypeError, match="mask"):
        td.sum(da.ma.masked_equal(x, 1)).compute()
