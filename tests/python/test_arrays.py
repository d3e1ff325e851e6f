# SPDX-License-Identifier: Apache-2.0
"""Every function on numpy's arrays: values, axes, shapes and layouts; and what else is an array."""
import array
import ctypes
import itertools

import ml_dtypes
import numpy as np
import pytest
from conftest import FLOATS, FOLDS, INTEGERS, SCANS, close, plain_fold, plain_scan, tally


def elements(rng, shape, dtype):
    if np.dtype(dtype).kind == "f":
        return (0.5 + rng.random(shape)).astype(dtype)
    return rng.integers(0, 2 if dtype == "?" else 4, shape).astype(dtype)


@pytest.mark.parametrize("name", SCANS)
def test_scans(name, rng):
    for dtype, (axis, exclusive, reverse) in itertools.product(
            FLOATS, [(0, 0, 0), (1, 1, 0), (-1, 0, 1), (2, 1, 1)]):
        x = elements(rng, (3, 4, 5), dtype)
        got = getattr(tally, name)(x, axis=axis, exclusive=exclusive, reverse=reverse)
        assert got.dtype == x.dtype and type(got) is np.ndarray and got.flags.c_contiguous
        close(got, plain_scan(name, x.astype("f8"), axis, exclusive, reverse), dtype)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_scans_of_integers(name, rng):
    for dtype, reverse, exclusive in itertools.product(INTEGERS, [0, 1], [0, 1]):
        x = elements(rng, (6, 7), dtype)
        got = getattr(tally, name)(x, axis=1, reverse=reverse, exclusive=exclusive)
        wide = got.dtype if name in ("cumsum", "cumprod") else x.dtype
        wanted = plain_scan(name, x.astype(wide), 1, exclusive, reverse)
        assert got.dtype == wanted.dtype and (got == wanted).all()


@pytest.mark.parametrize("name", FOLDS)
def test_reductions(name, rng):
    for dtype, axis, keepdims in itertools.product(FLOATS, [None, 0, -1, (0, 2), (1,), ()], [False, True]):
        x = elements(rng, (3, 4, 5), dtype)
        got = getattr(tally, name)(x, axis=axis, keepdims=keepdims)
        assert got.dtype == x.dtype
        close(got, plain_fold(name, x.astype("f8"), axis, keepdims), dtype)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_indices(name, rng):
    for dtype in FLOATS + INTEGERS:
        x = elements(rng, (5, 9), dtype)
        wanted = getattr(np, name)(x, axis=1)
        got = getattr(tally, name)(x, axis=1)
        assert got.dtype == np.int64 and (got == wanted).all()
        last = x.shape[1] - 1 - getattr(np, name)(x[:, ::-1], axis=1)
        assert (getattr(tally, name)(x, axis=1, last=True) == last).all()
        assert getattr(tally, name)(x) == getattr(np, name)(x)
        assert getattr(tally, name)(x, axis=0, keepdims=True).shape == (1, 9)


@pytest.mark.parametrize("name", ["cumargmax", "cumargmin"])
def test_running_indices(name, rng):
    """Elements at the indices are the running extremes; test_random.py has ties, NaN and layouts."""
    for dtype, axis in itertools.product(FLOATS + INTEGERS, [0, -1]):
        x = elements(rng, (5, 9), dtype)
        y = getattr(tally, name)(x, axis=axis)
        assert y.dtype == np.int64 and y.shape == x.shape and y.flags.c_contiguous
        extremes = getattr(tally, name.replace("arg", ""))(x, axis=axis)
        assert (np.take_along_axis(x, y, axis) == extremes).all()
    assert tally.cumargmax([1, 3, 3], dtype="i32", last=True).tolist() == [0, 1, 2]
    assert tally.cumargmax([1, 3, 3], reverse=True).tolist() == [2, 2, 2], "first in the direction of the scan"
    assert tally.cumargmin(3.0).tolist() == [0] and tally.cumargmin(np.empty((0, 3)), axis=0).shape == (0, 3)
    with pytest.raises(tally.Unsupported, match="u32"):
        tally.cumargmax([1, 3], dtype="u32")


def test_rank_0_is_a_scalar():
    for got in (tally.sum(np.ones(3)), tally.sum([1.0, 2.0]), tally.max(array.array("d", [1, 2]))):
        assert isinstance(got, np.float64)
    assert isinstance(tally.sum(np.ones(3), keepdims=True), np.ndarray)
    assert isinstance(tally.argmax(np.ones(3)), np.int64)


def test_nan():
    x = np.array([[1, np.nan, 3, 2]], "f4")
    assert np.isnan(tally.max(x)) and tally.max(x, nan="ignore") == 3
    np.testing.assert_array_equal(tally.cummax(x, axis=1), [[1, np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(tally.cummax(x, axis=1, nan="ignore"), [[1, 1, 3, 3]])
    assert tally.argmin(x, axis=1, nan="ignore") == [0] and tally.argmax(x, axis=1) == [1]


def test_orders_and_accumulators(rng):
    x = (rng.random(100000) - 0.5).astype("f4")
    serial = tally.cumsum(x, order="serial")
    assert (serial == np.cumsum(x)).all(), "the plain loop's bits"
    wide = tally.cumsum(x, acc="f64")
    assert (wide == np.cumsum(x.astype("f8")).astype("f4")).mean() > 0.99
    assert tally.sum(x, acc="float64") == np.float32(np.sum(x.astype("f8")))
    ones = np.ones(4096, "f2")
    assert tally.cumsum(ones)[-1] == 4096, "f16 is accumulated in f32, which numpy does not"


def test_strides_need_no_copy(rng):
    x = rng.random((6, 8, 4)).astype("f4")
    views = [x.T, x[::-1], x[:, ::2], x[::2, ::-3, 1:], np.broadcast_to(x[:1], x.shape), np.asfortranarray(x),
             x[:, :1], x[..., 2], x[2:2], x[:, 4:4]]
    for v in views:
        for axis in range(v.ndim):
            close(tally.cumsum(v, axis=axis), np.cumsum(v.astype("f8"), axis), "f4")
            close(tally.sum(v, axis=axis), np.sum(v.astype("f8"), axis), "f4")


def test_results_have_the_order_of_the_input(rng):
    """As numpy's have."""
    x = elements(rng, (4, 5, 6, 7), "f4")
    for axes in itertools.permutations(range(4)):
        view = x.transpose(axes)
        for axis in range(4):
            assert tally.cumsum(view, axis=axis).strides == np.cumsum(view, axis=axis).strides
            assert tally.max(view, axis=axis).strides == np.max(view, axis=axis).strides
            kept = tally.sum(view, axis=axis, keepdims=True)
            close(kept, view.astype("f8").sum(axis=axis, keepdims=True), "f4")
            assert kept[..., ::2].base is kept and kept.flags.owndata
            initial = tally.cumulative_sum(view, axis=axis, include_initial=True)
            wanted = np.cumulative_sum(view, axis=axis, include_initial=True)
            close(initial, wanted.astype("f8"), "f4")
    for view in (x[:1].T, np.broadcast_to(x[0].T, (3, 7, 6, 5)).transpose(1, 0, 2, 3)):
        assert tally.cumsum(view, axis=0).strides == np.cumsum(view, axis=0).strides
    turned = tally.cumsum(x.T[::-1, ::2], axis=1, out=None)
    close(turned, plain_scan("cumsum", x.T[::-1, ::2].astype("f8"), 1, 0, 0), "f4")
    assert tally.sum(x.T, axis=(0, 3)).flags.f_contiguous
    assert tally.cumsum(np.broadcast_to(x[0], (2, 5, 6, 7)), axis=0).flags.c_contiguous


def test_empty():
    assert tally.cumsum(np.empty((0, 3)), axis=0).shape == (0, 3)
    assert tally.sum(np.empty((0, 3)), axis=0).tolist() == [0, 0, 0]
    assert tally.max(np.empty((0, 2), "f4"), axis=0).tolist() == [-np.inf, -np.inf]
    with pytest.raises(tally.Error, match="sizes"):
        tally.argmax(np.empty((0, 3)), axis=0)


def test_rank_0_in():
    for x in (3.0, np.float32(3), np.array(3)):
        assert tally.cumsum(x).shape == (1,) and tally.cumsum(x, axis=0)[0] == 3 == tally.cumsum(x, axis=-1)[0]
        assert tally.sum(x) == 3 and tally.sum(x, axis=()) == 3
    with pytest.raises(tally.Error, match=r"axis 1 is not in \[-1, 0\]"):
        tally.cumsum(3.0, axis=1)
    with pytest.raises(tally.Error, match="the array has none"):
        tally.sum(3.0, axis=0)


def test_rank_8():
    x = np.ones((1, 2) * 4, "i4")
    assert tally.cumsum(x, axis=7).max() == 2 and tally.sum(x) == 16
    with pytest.raises(tally.Error, match="rank 9 is above 8"):
        tally.cumsum(x[None], axis=0)


def test_include_initial(rng):
    x = rng.random((3, 4, 5)).astype("f4")
    for name, first, ufunc in (("cumulative_sum", 0, np.add), ("cumulative_prod", 1, np.multiply)):
        for axis in range(3):
            got = getattr(tally, name)(x, axis=axis, include_initial=True)
            rest = ufunc.accumulate(x.astype("f8"), axis=axis)
            close(got, np.concatenate([np.full_like(np.take(rest, [0], axis), first), rest], axis), "f4")
            close(getattr(tally, name)(x, axis=axis), rest, "f4")
    assert tally.cumulative_sum(np.empty((2, 0)), axis=1, include_initial=True).tolist() == [[0], [0]]
    assert tally.cumulative_prod(np.empty((0, 2)), axis=1, include_initial=True).shape == (0, 3)
    for dtype in ("f2", ml_dtypes.bfloat16, "i1", "u8"):
        assert tally.cumulative_prod(np.full(2, 3, dtype), include_initial=True).tolist() == [1, 3, 9]


def test_bfloat16(rng):
    x = (0.5 + rng.random((5, 6))).astype(ml_dtypes.bfloat16)
    with pytest.raises(ValueError):
        memoryview(x)
    for got, wanted in ((tally.cumprod(x, axis=1), np.cumprod(x.astype("f8"), 1)), (tally.max(x, axis=0), x.max(0))):
        assert got.dtype == x.dtype
        close(got, wanted, ml_dtypes.bfloat16)
    assert tally.argmax(x) == np.argmax(x.astype("f4"))
    assert tally.sum(x, dtype="f32").dtype == np.float32
    y = np.empty_like(x)
    assert tally.cumsum(x, axis=0, out=y) is y


def test_scalars_of_bfloat16():
    """Whose buffers numpy gives without a format, and by another exception than those of arrays."""
    top = tally.max(np.array([1, 3, 2], ml_dtypes.bfloat16))
    assert type(top) is ml_dtypes.bfloat16 and tally.sum(top) == 3 and tally.cumsum(top).tolist() == [3]
    assert tally.sum(top, dtype="f32").dtype == np.float32
    with pytest.raises(TypeError, match="elements of format 'float8_e4m3' have no name in Tally"):
        tally.sum(ml_dtypes.float8_e4m3(1))


def test_other_arrays():
    buffers = [array.array("f", [1, 2, 3]), memoryview(np.array([1, 2, 3], "f4")), b"\1\2\3",
               np.array([1, 2, 3], "f4").view(np.ndarray), [1.0, 2.0, 3.0], (1, 2, 3)]
    readonly = np.array([1, 2, 3], "f4")
    readonly.flags.writeable = False
    for x in [*buffers, readonly]:
        got = tally.cumsum(x)
        assert type(got) is np.ndarray and got.tolist() == [1, 3, 6]
    numbers = (ctypes.c_float * 3)(1, 2, 3)  # its buffer has no strides
    assert tally.cumsum(numbers).tolist() == [1, 3, 6] and tally.cumsum(numbers, out=numbers)[2] == 6
    assert tally.cumsum((ctypes.c_int * 3 * 2)((1, 2, 3), (4, 5, 6)), axis=1).tolist() == [[1, 3, 6], [4, 9, 15]]
    assert tally.sum(ctypes.c_double(3)) == 3 and tally.cumsum((ctypes.c_int * 0)()).tolist() == []
    deep = ctypes.c_float
    for _ in range(12):
        deep *= 1
    with pytest.raises(tally.Error, match="in: rank 12 is above 8"):
        tally.sum(deep())
    pointers = memoryview(array.array("i", [1, 2, 3, 4])).cast("B").cast("i", (2, 2))
    assert tally.cumsum(pointers, axis=1).tolist() == [[1, 3], [3, 7]]


def test_subclasses():
    matrix = tally.cumsum(np.matrix([[1.0, 2.0]]), axis=1)
    assert isinstance(matrix, np.matrix) and matrix.tolist() == [[1, 3]]

    class Metres(np.ndarray):
        def __array_finalize__(self, other):
            self.unit = getattr(other, "unit", None)

    x = np.array([1.0, 2.0]).view(Metres)
    x.unit = "m"
    got = tally.cumsum(x)
    assert type(got) is Metres and got.unit == "m" and got.tolist() == [1, 3]


def test_what_asarray_reads():
    class HasArray:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0])

    class HasInterface:  # as images of PIL
        __array_interface__ = np.array([1.0, 2.0]).__array_interface__ | {"data": b"\0" * 16}

    assert tally.cumsum(HasArray()).tolist() == [1, 3]
    assert tally.cumsum(HasInterface()).tolist() == [0, 0]


def test_many_types():
    """More types than the table of types has places."""
    for i in range(40):
        kind = type(f"Kind{i}", (np.ndarray,), {})
        x = np.ones(3).view(kind)
        assert type(tally.cumsum(x)) is kind and tally.cumsum([1, 1]).tolist() == [1, 2]


def test_devices():
    devices = tally.devices()
    default = [d for d in devices if d.is_default]
    assert len(default) == 1 and default[0].kind == "cpu" and default[0].runs_here
    x = np.arange(100, dtype="f4")
    for d in devices:
        if d.kind == "cpu" and d.runs_here:
            close(tally.cumsum(x, device=d.selector), np.cumsum(x), "f4")
    with pytest.raises(tally.Error, match="^device: "):
        tally.cumsum(x, device="nowhere")
