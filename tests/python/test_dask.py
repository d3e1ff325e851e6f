# SPDX-License-Identifier: Apache-2.0
"""tally.dask: chunks beside one kernel, numpy and plain loops, by every scheduler."""
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import SCANS, close, need, plain_scan, tally

dask = need("dask")
import dask.array as da  # noqa: E402

import tally._dask_scans as scans  # noqa: E402
import tally.dask as td  # noqa: E402

RAGGED = ((10, 1, 0, 20, 6), (7, 16))


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def chunked(x, chunks=RAGGED):
    return da.from_array(x, chunks=chunks)


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCANS)
def test_beside_one_kernel(name, rng):
    x = rng.standard_normal((37, 23)).astype("f4")
    for axis, exclusive, reverse, order in itertools.product((0, -1), (False, True), (False, True), ("run", "serial")):
        options = {"exclusive": exclusive, "reverse": reverse, "order": order}
        y = getattr(td, name)(chunked(x), axis, **options)
        got, one = y.compute(), getattr(tally, name)(x, axis=axis, **options)
        assert y.dtype == got.dtype == one.dtype and y.chunks == chunked(x).chunks
        if order == "serial" or name in ("cummax", "cummin"):
            np.testing.assert_array_equal(got, one)
        close(got, plain_scan(name, x.astype("f8"), axis, exclusive, reverse), "f4")


@pytest.mark.parametrize("dtype", ["f8", "f2", "i8", "i4", "i1", "u8", "u2", "?"])
def test_dtypes(dtype, rng):
    x = rng.integers(0, 3, 40).astype(dtype)
    for name in ("cumsum", "cumprod", "cummax", "cummin"):
        y = getattr(td, name)(chunked(x, 7), 0)
        want = getattr(tally, name)(x)
        assert y.dtype == want.dtype
        np.testing.assert_array_equal(y.compute(), want)
    if dtype == "f2":
        assert td.cumsum(chunked(x, 7), 0, dtype="f32").compute().dtype == "f4"


def test_nan():
    x = np.array([1, np.nan, 3, 2, np.nan, np.nan, 5, 1])
    for options in ({}, {"nan": "ignore"}):
        for name in ("cummax", "cummin"):
            for length in (1, 2, 3):
                got = getattr(td, name)(chunked(x, length), 0, **options).compute()
                np.testing.assert_array_equal(got, getattr(tally, name)(x, **options))


def test_bf16(rng):
    ml_dtypes = need("ml_dtypes")
    x = rng.integers(0, 3, 40).astype(ml_dtypes.bfloat16)
    got = td.cumsum(chunked(x, 7), 0).compute()
    assert got.dtype == x.dtype and (got == tally.cumsum(x)).all()
    assert (td.cummax(chunked(x, 7), 0).compute() == tally.cummax(x)).all()


def test_serial_has_numpys_bits(rng):
    for dtype in ("f4", "f8"):
        x = rng.standard_normal((50, 3)).astype(dtype)
        for ours, numpys in ((td.cumsum, np.cumsum), (td.cumprod, np.cumprod)):
            got = ours(chunked(x, ((13, 30, 7), 2)), 0, order="serial").compute()
            np.testing.assert_array_equal(got, numpys(x, 0))


def recurrence(x, coef, axis, exclusive, reverse):
    x, coef = (np.moveaxis(a.astype("f8"), axis, 0) for a in (x, np.broadcast_to(coef, x.shape)))
    x, coef = (x[::-1], coef[::-1]) if reverse else (x, coef)
    y, state = np.empty_like(x), np.zeros(x.shape[1:])
    for i in range(len(x)):
        before, state = state, x[i] + (coef[i] * state if i else 0)
        y[i] = before if exclusive else state
    return np.moveaxis(y[::-1] if reverse else y, 0, axis)


def test_linrec(rng):
    x, c = rng.standard_normal((37, 23)).astype("f4"), rng.uniform(-1.1, 1.1, (37, 23)).astype("f4")
    for coef, axis, order in ((c, 0, "run"), (c, 1, "serial"), (c[:1], 1, "run"), (c[:, :1], 1, "run"), (c[0], 0, "serial"),
                              (np.float32(.5), 0, "run"), (.5, 1, "run"), (da.from_array(c, chunks=(5, 5)), 0, "run")):
        for exclusive, reverse in ((False, False), (True, True)):
            y = td.linrec(chunked(x), coef, axis, order=order, exclusive=exclusive, reverse=reverse)
            assert y.dtype == "f4" and y.chunks == chunked(x).chunks
            np.testing.assert_allclose(y.compute(), recurrence(x, np.asarray(coef), axis, exclusive, reverse), 1e-4, 1e-4)
    n = np.arange(1, 30)
    got = td.linrec(chunked(n, 4), 3, 0).compute()
    assert got.dtype == "i8" and (got == recurrence(n, np.asarray(3), 0, False, False).astype("i8")).all()


def test_linrec_over_many_pieces(rng, monkeypatch):
    """The state behind a chunk is made piece by piece; here they are short."""
    monkeypatch.setattr(scans, "_SCRATCH_BYTES", 50)
    x, c = rng.standard_normal((61, 5)).astype("f4"), rng.uniform(.5, 1, (61, 5)).astype("f4")
    for axis, reverse in ((0, False), (0, True), (1, True)):
        got = td.linrec(chunked(x, (20, 2)), chunked(c, (20, 2)), axis, reverse=reverse).compute()
        np.testing.assert_allclose(got, recurrence(x, c, axis, False, reverse), 1e-4, 1e-4)


def running_index(x, sign, last, ignore):
    """Of one axis, by a plain loop: NaN wins over every number, or, ignored, loses to it."""
    best, indices = 0, []
    for i, element in enumerate(x * sign):
        held = x[best] * sign
        if np.isnan(element) or np.isnan(held):
            equal = np.isnan(element) and np.isnan(held)
            more = not equal and np.isnan(held if ignore else element)
        else:
            equal, more = element == held, element > held
        best = i if more or last and equal else best
        indices.append(best)
    return indices


@pytest.mark.parametrize("name", ["cumargmax", "cumargmin"])
def test_indices(name, rng):
    x = rng.integers(0, 4, (13, 7)).astype("f4")
    holes = np.where(rng.random(x.shape) < .3, np.nan, x)
    holes[:5, 0] = holes[:, 1] = np.nan
    for given in (x, holes.astype("f8"), x.astype("f2"), x.astype("i4"), x.astype("u1"), x > 1):
        chunks, nans = ((3, 0, 5, 1, 4), (2, 5)), ("propagate", "ignore") if given.dtype == "f8" else ("propagate",)
        for axis, reverse, last, nan in itertools.product((0, -1), (False, True), (False, True), nans):
            options = {"reverse": reverse, "last": last, "nan": nan}
            y = getattr(td, name)(chunked(given, chunks), axis, **options)
            got, one = y.compute(), getattr(tally, name)(given, axis=axis, **options)
            assert y.dtype == got.dtype == one.dtype and y.chunks == chunked(given, chunks).chunks
            np.testing.assert_array_equal(got, one, str((given.dtype, axis, options, chunks)))
    for chunks in (1, (13, 7)):
        got = getattr(td, name)(chunked(x, chunks), 0, last=True).compute()
        np.testing.assert_array_equal(got, getattr(tally, name)(x, axis=0, last=True))
    for last, nan in itertools.product((False, True), ("propagate", "ignore")):
        got = getattr(td, name)(chunked(holes, ((4, 9), 3)), 0, last=last, nan=nan).compute()
        want = [running_index(line, 1 if name == "cumargmax" else -1, last, nan == "ignore") for line in holes.T]
        np.testing.assert_array_equal(got, np.transpose(want))


def test_indices_of_chunks_of_unknown_size(rng):
    x = rng.integers(0, 9, 40).astype("f4")
    y = chunked(x, 7)
    y = y[y > 2]
    for reverse in (False, True):
        got = td.cumargmax(y, 0, reverse=reverse, dtype="i32").compute()
        assert got.dtype == "i4" and (got == tally.cumargmax(x[x > 2], reverse=reverse)).all()
    with pytest.raises(tally.Error, match="i32|index"):
        td.cumargmax(da.ones(2**31 + 1, chunks=2**28, dtype="i1"), 0, dtype="i32")
    with pytest.raises(tally.Error):
        td.cumargmax(da.ones(()), 0)
    with pytest.raises(TypeError, match="axis: 1.0 is no integer"):
        td.cumargmin(da.ones(3), 1.0)


# ---- chunks --------------------------------------------------------------------------------------


def views(array, chunks):
    """An array whose chunks are views of this one, with its strides."""
    def view(block, block_info=None):
        return array[tuple(slice(*span) for span in block_info[None]["array-location"])]
    return da.map_blocks(view, da.zeros(array.shape, chunks=chunks), dtype=array.dtype, meta=array[:0])


def test_chunks_wherever_they_lie(rng):
    x = rng.standard_normal((24, 36)).astype("f4")
    for array in (x.T, x[::2, ::-3], np.asfortranarray(x), np.broadcast_to(x[:, :1], (24, 5)), x[:, None, :]):
        for axis in range(array.ndim):
            got = td.cumprod(views(array, 7), axis).compute()
            close(got, np.cumprod(array.astype("f8"), axis), "f4")
    c = rng.uniform(.5, 1, (36, 24)).astype("f4")
    got = td.linrec(views(x.T, 7), views(c[:, ::-1], 7), 0).compute()
    np.testing.assert_allclose(got, recurrence(x.T, c[:, ::-1], 0, False, False), 1e-4, 1e-4)
    records = np.zeros(9, [("a", "i1"), ("b", "f4")])
    records["b"] = range(9)
    for length in (1, 4):
        odd = views(records["b"], length)
        assert td.cumsum(odd, 0).compute()[-1] == td.linrec(odd, odd * 0 + 1, 0).compute()[-1] == 36
    unaligned = np.zeros(33, "u1")[1:].view("f4")
    unaligned[:] = 1
    assert td.linrec(views(unaligned, 3), views(unaligned, 3), 0).compute().tolist() == list(range(1, 9))


def test_unknown_sizes():
    x = da.from_array(np.arange(10.), chunks=3)
    odd = x[x % 2 == 1]
    assert np.isnan(odd.chunks[0][0])
    assert td.cumsum(odd, 0).compute_chunk_sizes().compute().tolist() == [1, 4, 9, 16, 25]


def test_empty_chunks_keep_the_state():
    x = np.array([-0., -0.], "f4")
    got = td.cumsum(da.from_array(x, chunks=((0, 1, 0, 0, 1),)), 0).compute()
    assert np.signbit(got).all(), "no empty chunk adds a zero"
    assert td.cummax(da.ones((0, 3), chunks=((0, 0), 2)), 0).compute().shape == (0, 3)
    assert td.cumlogsumexp(da.ones((4, 0), chunks=(2, 1)), 0).compute().shape == (4, 0)


def test_nothing_is_rechunked():
    x = da.ones((64, 6), chunks=(4, 3), dtype="f4")
    for order in ("run", "serial"):
        y = td.cumprod(x, 0, order=order)
        assert list(y.dask.layers) == [x.name, y.name] and y.chunks == x.chunks
        sizes = []
        from dask.callbacks import Callback
        with Callback(posttask=lambda key, value, *_: sizes.append(getattr(value, "size", 0))):
            y.persist()
        assert max(sizes) == 12


# ---- range ---------------------------------------------------------------------------------------


def loop(x, combine):
    with np.errstate(all="ignore"):
        return np.array(list(itertools.accumulate(x, combine)), x.dtype)


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("name, x", [
    ("cumprod", [1e30, 1e-5, 1e-25, 1e-25, 1e-10, 1e-10, 1e30, 1e30]),  # totals of chunks vanish
    ("cumprod", [1e-30, 1, 1e20, 1e20, 1e25, 1e-30, 1e-30, 1e-5]),  # and overflow
    ("cumprod", [1e-20, 1e-20, 1e20, 1e20, 1e20, 1e20, 1, 1]),  # the loop is lost
    ("cumprod", [1e-20, 0, 1e20, 1e20, 1e20, 1e20, 1, 1]),
    ("cumprod", [2, np.inf, 1e-20, 1e-20, 1e-20, 0, 1, np.nan]),
    ("cumsum", [-3e38, 3e38, 3e38, -3e38, 2e38, 2e38, -3e38, -3e38]),
    ("cumsum", [1, np.inf, 3, 2, -np.inf, 2, 3e38, 3e38]),
    ("cumsum", [-3e38, 2e38, 2e38, -3e38, 1, 1, 1, np.nan]),
])
def test_where_the_loop_is_finite_so_is_the_result(name, x, length):
    x = np.array(x, "f4")
    for shape in ((8,), (8, 1)):
        want = loop(x, np.add if name == "cumsum" else np.multiply)
        got = getattr(td, name)(da.from_array(x.reshape(shape), chunks=(length, 1)[:len(shape)]), 0).compute().reshape(8)
        lost = np.maximum.accumulate((abs(want) < 2.0**-126) & (x != 0)) if name == "cumprod" else np.zeros(8, bool)
        np.testing.assert_allclose(got[~lost], want[~lost], rtol=1e-5)
        assert np.isfinite(got[np.isfinite(want)]).all()
        serial = getattr(td, name)(da.from_array(x, chunks=length), 0, order="serial").compute()
        np.testing.assert_array_equal(serial, want)


def test_range_of_linrec():
    x, c = np.array([1, 2, 3e38, 1, 1, 1, 1, 1], "f4"), np.array([np.nan, 1e30, 1e30, 0, 1e-30, 1e38, 1, 1], "f4")
    want = recurrence(x, c, 0, False, False)
    c[2] = 0  # the loop in f32 stays finite
    want = recurrence(x, c, 0, False, False)
    for length in (1, 2, 3, 5):
        got = td.linrec(da.from_array(x, chunks=length), da.from_array(c, chunks=length), 0).compute()
        np.testing.assert_allclose(got, want, rtol=1e-5)
    x, c = np.array([1, -1, 0, 0, 5, 1], "f4"), np.array([1, 1, 1e30, 1e30, 1, 1], "f4")
    got = td.linrec(da.from_array(x, chunks=2), da.from_array(c, chunks=2), 0).compute()
    assert got.tolist() == [1, 0, 0, 0, 5, 6], "a state of 0 meets a product of factors that is infinite"


def test_only_chunks_that_must_are_chained(rng):
    """A step has results of its own where its total could not be used."""
    def chained(y):
        keys = sorted(key for key in y.dask if isinstance(key, tuple) and key[0].endswith("-step"))
        return [results is not None for _, results in dask.get(dict(y.dask), keys)]

    x = np.full(400, .5, "f4")
    assert chained(td.cumprod(da.from_array(x[:40], chunks=10), 0)) == [False] * 3
    after = chained(td.cumprod(da.from_array(x[:140], chunks=20), 0))
    assert after == [False] * 4 + [True] * 2, "below 2^-60 no total is used"
    assert chained(td.cumprod(da.from_array(x, chunks=100), 0)) == [True, True, False], "all is 0 behind the second"
    assert not any("-step" in str(key) for key in td.cumsum(da.ones(9, chunks=3, dtype="f2"), 0).dask)


# ---- schedulers ----------------------------------------------------------------------------------


def test_same_bits_by_every_scheduler(rng):
    x = chunked(rng.standard_normal((37, 23)).astype("f4"))
    scans = [td.cumsum(x, 0), td.cumlogsumexp(x, 1), td.linrec(x, .9, 0, reverse=True), td.cumprod(x, 0, order="serial")]
    want = dask.compute(*scans)
    for options in ({"scheduler": "threads", "num_workers": 4}, {"scheduler": "processes", "num_workers": 2}):
        for _ in range(1 if options["scheduler"] == "processes" else 5):
            for got, one in zip(dask.compute(*scans, **options), want):
                np.testing.assert_array_equal(got, one)


# ---- errors --------------------------------------------------------------------------------------


def test_query_planning_is_refused():
    """dask reads the option once, so this takes a process of its own."""
    code = "import dask.array as da, tally.dask; tally.dask.cumsum(da.ones(3), 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, DASK_ARRAY__QUERY_PLANNING="True"))
    assert "NotImplementedError: tally.dask makes graphs" in done.stderr


def test_what_is_wrong_is_refused_before_anything_runs():
    x = da.ones((4, 4), chunks=2, dtype="f4")
    for axis, call in itertools.product((5, -3, 2**63), (td.cumsum, td.cumargmax, td.sum)):
        with pytest.raises(tally.Error, match=rf"^axis: axis {axis} is not in \[-2, 1\]$"):
            call(x, axis)
    for axis in (True, 1.0, (0,), [0]):
        with pytest.raises(TypeError, match="^axis: .* is (a bool|no integer)"):
            td.cumsum(x, axis)
    with pytest.raises(tally.Unsupported, match="order=exact"):
        td.cumsum(x, 0, order="exact")
    with pytest.raises(tally.Unsupported, match="from f32 to i8; hint: kernels of .* exist from f32 to f64 f32$"):
        td.cumsum(x, 0, dtype="i8")
    with pytest.raises(TypeError, match="dtype: 'i4' is no dtype of Tally; hint: names count bits: 'f32', "):
        td.cumsum(x, 0, dtype="i4")
    with pytest.raises(TypeError, match="elements of complex128 have no name in Tally"):
        td.cumsum(x.astype("c16"), 0)
    with pytest.raises(ValueError, match="does not broadcast"):
        td.linrec(x, np.ones(3, "f4"), 0)
    with pytest.raises(tally.Error):
        td.cumsum(da.ones((), dtype="f4"), 0)
    with pytest.raises(TypeError, match="elements of format '>f4' have no name in Tally; hint: x.astype"):
        td.cumsum(x.astype(">f4"), 0)
    with pytest.raises(TypeError, match="mask"):
        td.cumsum(da.ma.masked_equal(x, 1), 0).compute()
