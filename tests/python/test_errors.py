# SPDX-License-Identifier: Apache-2.0
"""What is refused, by which exception, with which message and hint."""
import decimal
import itertools

import numpy as np
import pytest
from conftest import OnlyDlpack, tally

X = np.arange(12, dtype="f4").reshape(3, 4)


def refused(kind, text, call, *arguments, **options):
    with pytest.raises(kind) as e:
        call(*arguments, **options)
    assert type(e.value) is kind, repr(e.value)
    assert text in str(e.value)
    return e.value


def test_the_classes():
    assert issubclass(tally.Error, ValueError) and issubclass(tally.Unsupported, tally.Error)
    assert issubclass(tally.Unsupported, NotImplementedError)
    e = tally.Error("made by hand")
    assert (e.field, e.position, e.hint, e.status) == ("", 0, "", "TALLY_INVALID")


def test_attributes():
    e = refused(tally.Error, "axis: an array of rank 2 needs axis=; hint: x.reshape(-1) scans all elements",
                tally.cumsum, X)
    assert (e.field, e.position, e.status) == ("axis", 0, "TALLY_INVALID") and "reshape" in e.hint
    e = refused(tally.Error, "", tally.kernel, "cumsum:f32:3x4:axis=7")
    assert e.field == "axis" and e.position > 0 and str(e).startswith("axis: ")


def test_axes():
    refused(tally.Error, "axis: axis 5 is not in [-2, 1]", tally.cumsum, X, axis=5)
    refused(tally.Error, "axis: axis -3 is not in [-2, 1]", tally.sum, X, axis=-3)
    refused(tally.Error, "axis: axis 1099511627776 is not in [-2, 1]", tally.cumsum, X, axis=2**40)
    refused(tally.Error, f"axis: axis {10**30} is not in [-2, 1]", tally.sum, X, axis=(0, 10**30))
    refused(tally.Error, "axis: axis 1 is named twice", tally.sum, X, axis=(1, -1))
    refused(TypeError, "axis: True is a bool", tally.cumsum, X, axis=True)
    refused(TypeError, "axis: False is a bool", tally.sum, X, axis=(False,))
    e = refused(TypeError, "axis: 1.0 is no integer; hint: axes count from 0: axis=1", tally.cumsum, X, axis=1.0)
    assert (e.field, e.hint) == ("axis", "axes count from 0: axis=1")
    refused(TypeError, "axis: (0,) is no integer; hint: a scan goes along one axis", tally.cumsum, X, axis=(0,))
    refused(TypeError, "axis: [0, 1] is no integer; hint: a tuple names several axes", tally.sum, X, axis=[0, 1])
    refused(TypeError, "axis: '0' is no integer; hint: axes count from 0", tally.sum, X, axis="0")
    refused(TypeError, "axis: 0.0 is no integer", tally.sum, X, axis=(1, 0.0))

    class Index:
        def __index__(self):
            return 1

    class Broken:
        def __index__(self):
            raise RuntimeError("broken")

    refused(RuntimeError, "broken", tally.cumsum, X, axis=Broken())
    assert (tally.cumsum(X, axis=Index()) == tally.cumsum(X, axis=1)).all()
    assert (tally.sum(X, axis=np.int8(-1)) == tally.sum(X, axis=1)).all()


def test_dtypes():
    hint = "hint: x.astype(x.dtype.newbyteorder('='))"
    e = refused(TypeError, "dtype: elements of format '>f' have no name in Tally", tally.cumsum, np.ones(3, ">f4"))
    assert hint in str(e)
    for x, name in ((np.ones(3, complex), "'Zd'"), (np.array([1, None]), "'O'"), (np.ones(3, np.longdouble), "'g'"),
                    (np.ones(3, "M8[s]"), "datetime64"), (np.array(["a"]), "'1w'"), (np.ones(3, "f4,i4"), "'T{")):
        e = refused(TypeError, "have no name in Tally", tally.cumsum, x)
        assert name in str(e) and str(e).startswith("dtype: "), str(e)
    refused(TypeError, "out: elements", tally.cumsum, np.ones(3), out=np.ones(3, complex))
    hint = "hint: names count bits: 'f32', 'float32', 'i64', 'int64', ..."
    for name in ("i4", "f8", "double", "int", ""):  # numpy's names, whose i8 has 64 bits
        refused(TypeError, f"dtype: {name!r} is no dtype of Tally; {hint}", tally.cumsum, np.ones(3), dtype=name)
    e = refused(tally.Unsupported, "dtype: no kernels of sum exist from f32 to u32", tally.sum, X, dtype="u32")
    assert e.hint == "kernels of sum exist from f32 to f64 f32"
    for call, word in itertools.product((tally.kernel, tally.inspect, tally.warm), ("sum:f32>u32:4", "sum:i8:4")):
        e = refused(tally.Unsupported, "dtype: ", call, word)
        assert e.hint == {"sum:f32>u32:4": "kernels of sum exist from f32 to f64 f32; in a word: 'f32'",
                          "sum:i8:4": "kernels of sum exist from i8 to i64 i32; in a word: 'i8>i64'"}[word]


def test_masked_arrays():
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    refused(TypeError, "in: the mask of a MaskedArray would be ignored; hint: x.filled(...)", tally.sum, masked)
    refused(TypeError, "mask", tally.cumsum, np.ones(2), out=masked)


def test_layouts():
    raw = np.zeros(17, "u1")
    refused(tally.Error, "in: the array is not aligned to its elements; hint: x.copy()", tally.cumsum,
            raw[1:].view("f4"))
    empty = np.frombuffer(raw, "f4", 0, 1)
    assert empty.ctypes.data % 4 and tally.cumsum(empty, out=empty) is empty and tally.sum(empty) == 0
    assert tally.sum(empty.reshape(0, 3), axis=0).tolist() == [0, 0, 0]
    assert tally.kernel("cumsum:f32:0:axis=0,a=f32,map=a*x")(empty, a=empty).shape == (0,)
    records = np.zeros(3, np.dtype([("a", "u1"), ("b", "f4")]))
    refused(tally.Error, "hint: x.copy()", tally.cumsum, records["b"])
    assert tally.cumsum(records["b"].copy()).tolist() == [0, 0, 0]


def test_no_array():
    for x in ({}, {1.0}, object(), None, print, decimal.Decimal):
        refused(TypeError, f"{type(x)} is no array: it has neither a buffer nor __dlpack__", tally.sum, x)


def test_arguments():
    refused(TypeError, "cumsum() has no option 'frob'", tally.cumsum, X, frob=1)
    refused(TypeError, "cummax() has no option 'dtype'", tally.cummax, X, axis=0, dtype="f4")
    refused(TypeError, "cumulative_sum() has no option 'reverse'", tally.cumulative_sum, X, axis=0, reverse=True)
    refused(TypeError, "cumsum() takes one array", tally.cumsum)
    refused(TypeError, "options by name, such as axis=1", tally.cumsum, X, 1)
    refused(ValueError, "order: 'fast' is neither 'run' nor 'serial'", tally.sum, X, order="fast")
    refused(ValueError, "nan: 1 is neither 'propagate' nor 'ignore'", tally.max, X, nan=1)
    refused(ValueError, "threads: 0 is not 1 or more", tally.sum, X, threads=0)
    refused(ValueError, "threads: -1", tally.sum, X, threads=-1)
    for threads in (2.5, "2"):
        e = refused(TypeError, f"threads: {threads!r} is no integer", tally.sum, X, threads=threads)
        assert e.field == "threads"
    refused(TypeError, "acc: 'f5' is no dtype of Tally", tally.sum, X, acc="f5")
    refused(TypeError, "device: 3 is no text", tally.sum, X, device=3)
    refused(ValueError, "has a zero in it", tally.sum, X, device="cpu\0")
    refused(tally.Error, "acc: i32 is no accumulator for f32", tally.sum, X, acc="i32")
    name = "".join(["ax", "is"])  # not interned
    assert (tally.cumsum(X, **{name: 1}) == tally.cumsum(X, axis=1)).all()
    assert tally.sum(X, axis=None, out=None, dtype=None, threads=None, device=None) == X.sum()

    class NoTruth:
        def __bool__(self):
            raise RuntimeError("neither")

    refused(RuntimeError, "neither", tally.cumsum, X, axis=0, reverse=NoTruth())
    refused(RuntimeError, "neither", tally.cumulative_sum, X, axis=0, include_initial=NoTruth())


def test_unsupported():
    e = refused(tally.Unsupported, "order", tally.cumsum, X, axis=0, order="exact")
    assert e.status == "TALLY_UNSUPPORTED"
    refused(tally.Unsupported, "dtype", tally.cumlogsumexp, np.ones(3, "i4"))


def test_devices_are_refused():
    class OnDevice:
        def __dlpack__(self, **options):
            return X.__dlpack__(**options)

    x = OnlyDlpack(X)
    assert tally.sum(x) == X.sum()

    class Strange(OnDevice):
        def __dlpack__(self, **options):
            return "no capsule"

    refused(BufferError, "__dlpack__ returned 'no capsule'", tally.sum, Strange())

    class Fails(OnDevice):
        def __dlpack__(self, **options):
            raise RuntimeError("cannot")

    refused(RuntimeError, "cannot", tally.sum, Fails())


def test_memory():
    huge = np.broadcast_to(np.float32(0), (2**40, 2**10))
    with pytest.raises((MemoryError, tally.Error, ValueError)):
        tally.cumsum(huge, axis=0)
