# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries: by __dlpack__, old and new, and by the table of C functions that a type may have."""
import ctypes
import gc
import sys

import ml_dtypes
import numpy as np
import pytest
from conftest import OnlyDlpack, close, tally

import array_api_strict as strict


@pytest.mark.parametrize("old", [False, True])
def test_dlpack_alone(rng, old):
    x = rng.random((4, 5)).astype("f4")
    if old:
        x = x.copy()
    for view in (x, x.T, x[::-1, 1:], x[:0]):
        one = OnlyDlpack(view, old)
        got = tally.cumsum(one, axis=0)
        assert type(got) is np.ndarray
        close(got, np.cumsum(view.astype("f8"), 0), "f4")
        assert one.asked[0] == {"max_version": (1, 3)}, "which always comes first"
        assert one.asked[1:] == ([{}] if old else [])
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?"):
        assert tally.max(OnlyDlpack(np.ones(3, dtype))).dtype == np.dtype(dtype)
    with pytest.raises(TypeError, match="DLPack code 5 with 128 bits"):
        tally.sum(OnlyDlpack(np.ones(3, complex)))


def test_nothing_is_kept():
    x = np.ones(1000)
    before = sys.getrefcount(x)
    one = OnlyDlpack(x)
    for _ in range(10):
        tally.cumsum(one)
        with pytest.raises(tally.Error):
            tally.cumsum(one, axis=3)
    del one
    gc.collect()
    assert sys.getrefcount(x) == before


def test_the_array_apis_namespace(rng):
    x = strict.asarray(rng.random((4, 5)))
    got = tally.cumsum(x, axis=1)
    assert type(got) is type(x) and got.dtype == strict.float64
    close(np.asarray(got), np.cumsum(np.asarray(x), 1), "f8")
    got = tally.cumargmax(x, axis=1)
    assert type(got) is type(x) and got.dtype == strict.int64
    assert tally.sum(x).shape == () and tally.argmax(x, axis=0).shape == (5,)
    wanted = strict.cumulative_sum(x, axis=1, include_initial=True)
    close(np.asarray(tally.cumulative_sum(x, axis=1, include_initial=True)), np.asarray(wanted), "f8")
    out = strict.zeros((4, 5))
    assert tally.cumprod(x, axis=0, out=out) is out
    close(np.asarray(out), np.cumprod(np.asarray(x), 0), "f8")


# --- the table ---------------------------------------------------------------------------------------


class Dtype(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("dtype", Dtype), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("owner", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


Out, Object = ctypes.POINTER(ctypes.c_void_p), ctypes.py_object
ALLOCATE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Tensor), Out, ctypes.c_void_p, ctypes.c_void_p)
FROM = ctypes.PYFUNCTYPE(ctypes.c_int, Object, Out)
TO = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, Out)
VIEW = ctypes.PYFUNCTYPE(ctypes.c_int, Object, ctypes.POINTER(Tensor))


class Table(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p),
                ("allocate", ALLOCATE), ("from_object", FROM), ("to_object", TO), ("view", VIEW),
                ("stream", ctypes.c_void_p)]


class Fake:
    """A tensor of a library of its own, whose type has a table. Counts who asks for what."""

    calls = {"allocate": 0, "from": 0, "to": 0, "view": 0}

    def __init__(self, array):
        self.array = array


CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
alive, made = {}, {}


def describe(x, t):
    keep = (ctypes.c_int64 * x.ndim)(*x.shape), (ctypes.c_int64 * x.ndim)(*(s // x.itemsize for s in x.strides))
    alive[id(x)] = keep
    t.data, t.device_type, t.device_id, t.ndim = x.ctypes.data, 1, 0, x.ndim
    t.dtype = Dtype(CODES[x.dtype.kind], 8 * x.itemsize, 1)
    t.shape, t.strides, t.byte_offset = keep[0], keep[1], 0


@ALLOCATE
def allocate(like, out, user, set_error):
    Fake.calls["allocate"] += 1
    like = like[0]
    kind = {v: k for k, v in CODES.items()}[like.dtype.code]
    array = np.empty([like.shape[i] for i in range(like.ndim)], f"{kind}{like.dtype.bits // 8}" if kind != "b" else "?")
    m = Managed(1, 1, None, None, 0, Tensor())
    describe(array, m.tensor)
    made[ctypes.addressof(m)] = m, array
    out[0] = ctypes.addressof(m)
    return 0


@TO
def to_object(managed, out):
    Fake.calls["to"] += 1
    tensor = Fake(made.pop(managed)[1])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
    out[0] = id(tensor)
    return 0


@FROM
def from_object(x, out):
    Fake.calls["from"] += 1
    m = Managed(1, 1, None, None, 1, Tensor())  # read-only
    describe(x.array, m.tensor)
    made[ctypes.addressof(m)] = m, x.array
    out[0] = ctypes.addressof(m)
    return 0


@VIEW
def view(x, t):
    Fake.calls["view"] += 1
    describe(x.array, t[0])
    return 0


def capsule(table):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(table), b"dlpack_exchange_api", None)


def a_type(*fields):
    table = Table(*fields)
    return type("Tensor", (Fake,), {"__dlpack_c_exchange_api__": capsule(table), "table": table})


def test_a_types_table(rng):
    kind = a_type(1, 3, None, allocate, from_object, to_object, view, None)
    before = dict(Fake.calls)
    x = kind(rng.random((3, 4)).astype("f4"))
    got = tally.cumsum(x, axis=1)
    assert type(got) is Fake
    close(got.array, np.cumsum(x.array.astype("f8"), 1), "f4")
    assert {k: Fake.calls[k] - before[k] for k in before} == {"allocate": 1, "from": 0, "to": 1, "view": 1}
    out = kind(np.empty((3, 4), "f4"))
    assert tally.cumsum(x, axis=0, out=out) is out
    assert tally.argmax(kind(x.array.T), axis=0).array.dtype == np.int64
    assert tally.sum(kind(np.ones((2, 3), "u1"))).array == 6
    with pytest.raises(TypeError, match="DLPack code"):
        odd = kind(np.ones(3))
        odd.array = np.ones(3, ml_dtypes.int4) if False else np.ones(3, "f8").view("i8")
        CODES["i"] = 5
        try:
            tally.sum(odd)
        finally:
            CODES["i"] = 0


def test_a_table_without_views():
    kind = a_type(1, 3, None, allocate, from_object, to_object, VIEW(), None)
    before = Fake.calls["from"]
    x = kind(np.ones(3))
    assert tally.cumsum(x).array.tolist() == [1, 2, 3] and Fake.calls["from"] == before + 1
    with pytest.raises(BufferError, match="out: the array is read-only"):
        tally.cumsum(np.ones(3), out=x)


def test_a_table_of_the_future():
    """Its older table is used; without one the type has none."""
    old = Table(1, 3, None, allocate, from_object, to_object, view, None)
    kind = a_type(2, 0, ctypes.addressof(old), allocate, from_object, to_object, view, None)
    assert tally.sum(kind(np.ones(3))).array == 3
    none = a_type(2, 0, None, allocate, from_object, to_object, view, None)
    with pytest.raises(TypeError, match="is no array"):
        tally.sum(none(np.ones(3)))


def test_a_table_that_fails():
    @VIEW
    def fails(x, t):
        return -1

    kind = a_type(1, 3, None, allocate, from_object, to_object, fails, None)
    kind.fails = fails
    with pytest.raises(BufferError, match="in: the table of its type refuses the array"):
        tally.sum(kind(np.ones(3)))
