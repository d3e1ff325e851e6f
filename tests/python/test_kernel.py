# SPDX-License-Identifier: Apache-2.0
"""Kernels by words: operands, recurrences, segments, carries; inspection and making ahead."""
import ml_dtypes
import numpy as np
import pytest
from conftest import close, plain_scan, tally

import array_api_strict as strict


def test_word_and_device():
    k = tally.kernel("cumsum:f32:3x4:axis=-1")
    assert k.word == "cumsum:f32:3x4:axis=1" and k.device == "cpu"
    assert repr(k) == "<tally.Kernel 'cumsum:f32:3x4:axis=1' for cpu>"
    default = next(d.selector for d in tally.devices() if d.is_default)
    assert tally.kernel("sum:f32:9", device=default).device == default
    assert tally.kernel("sum:f32:4096", plan="unroll=1").inspect("word") == "sum:f32:4096\n"
    with pytest.raises(TypeError):
        tally.Kernel("sum:f32:9")


def test_plain_words(rng):
    x = rng.random((5, 6)).astype("f4")
    k = tally.kernel("cumprod:f32:5x6:axis=0,exclusive,reverse")
    got = k(x)
    close(got, plain_scan("cumprod", x.astype("f8"), 0, True, True), "f4")
    out = np.empty_like(x)
    assert k(x, out) is out and (out == got).all() and k(x, out=out, threads=1) is out
    assert isinstance(tally.kernel("sum:f32:5x6")(x), np.float32)
    assert type(tally.kernel("sum:f64:3")(strict.ones(3))) is type(strict.ones(3))


def test_operands(rng):
    x, a, b = (rng.random((4, 5)).astype("f4") for _ in range(3))
    k = tally.kernel("cumsum:f32:4x5:axis=1,a,b=f32/1,c=f32/none,map=x*a,post=y*b+c")
    row, one = b[0].copy(), np.float32(0.5)
    wanted = np.cumsum((x * a).astype("f8"), 1) * row + 0.5
    close(k(x, a=a, b=row, c=one), wanted, "f4")
    close(k(x, a=a, b=row[None], c=np.full((1, 1), one)), wanted, "f4")
    close(k(x, a=a, b=row, c=0.5), wanted, "f4")
    close(k(x, a=a, b=row, c=2), wanted + 1.5, "f4")
    counted = tally.kernel("cumsum:i32:2:axis=0,a=i32/none,map=x*a")
    assert list(counted(np.ones(2, "i4"), a=3)) == [3, 6]
    for number in (3.5, 2 ** 40, 10 ** 30, float("nan")):
        with pytest.raises(tally.Error, match="^a: .* is no i32") as e:
            counted(np.ones(2, "i4"), a=number)
        assert e.value.field == "a"
    with pytest.raises(tally.Error, match="a number is one element"):
        k(x, a=a, b=1.0, c=0.5)
    for dtype, of in (("f16", "f2"), ("bf16", ml_dtypes.bfloat16)):
        halved = tally.kernel(f"cumsum:{dtype}:2:axis=0,a={dtype}/none,map=x*a")
        assert list(halved(np.ones(2, of), a=0.5)) == [0.5, 1]
    strided = tally.kernel("cumsum:f32:4x5:axis=1,a=f32/1x4@0,map=x*a")
    close(strided(x, a=np.asfortranarray(a)), np.cumsum((x * a).astype("f8"), 1), "f4")
    masked = tally.kernel("sum:f32:4x5:axes=1,a=bool,map=where(a,x,0)")
    close(masked(x, a=a > 0.5), np.where(a > 0.5, x, 0).sum(1), "f4")


def test_recurrences(rng):
    x, a = rng.random((3, 50)).astype("f4"), rng.random((3, 50)).astype("f4")
    got = tally.kernel("linrec:f32:3x50:axis=1,a")(x, a=a)
    y = np.zeros((3, 50))
    for i in range(50):
        y[:, i] = x[:, i] + (a[:, i] * y[:, i - 1] if i else 0)
    close(got, y, "f4")


@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_between_segments(dtype):
    """A new array has zeros where no segment is; out= keeps what it had. The size is above what
    allocators keep clean."""
    x = np.ones((2, 4096), "f4")
    offsets = np.array([1000, 1003, 1003, 2000], dtype.replace("i", "int"))
    wanted = np.zeros_like(x)
    wanted[:, 1000:1003] = np.arange(1, 4)
    wanted[:, 1003:2000] = np.arange(1, 998)
    kernel = tally.kernel(f"cumsum:f32:2x4096:axis=1,segments={dtype}/3")
    for _ in range(20):
        np.full_like(x, 7)  # memory that the next array may get
        np.testing.assert_array_equal(kernel(x, offsets=offsets), wanted)
    out = np.full_like(x, 7)
    kernel(x, out=out, offsets=offsets)
    wanted[:, :1000] = wanted[:, 2000:] = 7
    np.testing.assert_array_equal(out, wanted)


def test_missing_buffers():
    for word, name in (("cumsum:f32:4:axis=0,segments=i32/2", "offsets"), ("cumsum:f32:4:axis=0,a=f32,map=a*x", "a"),
                       ("cumsum:f32:4:axis=0,carry=in+out", "carry_out")):
        with pytest.raises(tally.Error, match=f"the word has {name}, and the call does not: pass {name}="):
            tally.kernel(word)(np.ones(4, "f4"))
    kernel = tally.kernel("sum:f32:4:segments=i32/2")
    with pytest.raises(tally.Error, match="dtype is i64, and the word's i32") as refused:
        kernel(np.ones(4, "f4"), offsets=np.array([0, 2, 4]))
    assert "segments=i64/N" in refused.value.hint


def test_segments(rng):
    x = rng.random(20).astype("f4")
    offsets = np.array([0, 3, 3, 12, 20], "i4")
    got = tally.kernel("sum:f32:20:segments=i32/4")(x, offsets=offsets)
    close(got, [x[i:j].astype("f8").sum() for i, j in zip(offsets, offsets[1:])], "f4")
    got = tally.kernel("cumsum:f32:20:axis=0,segments=i64/4")(x, offsets=offsets.astype("i8"))
    close(got, np.concatenate([np.cumsum(x[i:j].astype("f8")) for i, j in zip(offsets, offsets[1:])]), "f4")
    with pytest.raises(tally.Error, match="^offsets: "):
        tally.kernel("sum:f32:20:segments=i32/4")(x, offsets=np.array([0, 3, 2, 12, 20], "i4"))
    with pytest.raises(tally.Error, match=r"^offsets: the array's shape is \(4,\), and the word's \(5,\)"):
        tally.kernel("sum:f32:20:segments=i32/4")(x, offsets=offsets[1:])


def test_offsets_may_be_lists():
    x = np.arange(1, 5, dtype="f4")
    for dtype in ("i32", "i64"):
        kernel = tally.kernel(f"sum:f32:4:segments={dtype}/2")
        assert kernel(x, offsets=[0, 3, 4]).tolist() == kernel(x, offsets=(0, 3, 4)).tolist() == [6, 4]
        with pytest.raises(tally.Error, match="^offsets: the array's dtype is f64"):
            kernel(x, offsets=[0, 1.5, 4])
    kernel = tally.kernel("sum:f32:4:segments=i32/2")
    for offsets in ([0, 2, 4 + 2**32], [0, 2, -2**31 - 1]):  # which are 4 and above 4 in 32 bits
        with pytest.raises(tally.Error, match="^offsets: the array's dtype is i64, and the word's i32"):
            kernel(x, offsets=offsets)
    with pytest.raises(tally.Error, match="^offsets: offset 2 is -1, below the 2 before it"):
        kernel(x, offsets=[0, 2, -1])
    with pytest.raises(tally.Error, match="^offsets: the array's shape"):
        kernel(x, offsets=[0, 4])


def test_carries(rng):
    x = rng.random((2, 30)).astype("f4")
    k = tally.kernel("cumsum:f32:2x10:axis=1,carry=in+out")
    state, parts = None, []
    for i in range(0, 30, 10):
        after = np.empty((2, 1), "f4")
        parts.append(k(x[:, i:i + 10].copy(), carry_in=state, carry_out=after))
        state = after
    close(np.concatenate(parts, 1), np.cumsum(x.astype("f8"), 1), "f4")
    with pytest.raises(tally.Error, match="^carry_out: "):
        k(x[:, :10].copy())
    logs = tally.kernel("cumlogsumexp:f32:2x10:axis=1,carry=out")
    logs(x[:, :10].copy(), carry_out=np.empty((2, 1, 2), "f4"))


def test_strides():
    k = tally.kernel("cumsum:f32:3x4:axis=1,in=1x3,out=8x2@1")
    x, around = np.arange(12, dtype="f4").reshape(4, 3).T, np.full((3, 8), 7, "f4")
    out = around[:, 1::2]
    assert k(x, out) is out and (out == np.cumsum(x, 1)).all() and (around[:, ::2] == 7).all()
    backwards = tally.kernel("cumsum:f32:4:axis=0,in=-1@3")
    assert backwards(np.arange(4, dtype="f4")[::-1]).tolist() == [3, 5, 6, 6]
    with pytest.raises(tally.Error, match="in: the array's strides are not the word's"):
        k(x.copy(), out)
    with pytest.raises(tally.Error, match="out: the word has strides.*hint: pass out="):
        k(x)


def test_refused_tensors():
    k = tally.kernel("cumsum:f32:3x4:axis=1,a,map=x*a")
    x = np.ones((3, 4), "f4")
    for options, kind, text in (
            ({}, tally.Error, "a: "),
            ({"a": x.astype("f8")}, tally.Error, "a: the array's dtype is f64, and the word's f32"),
            ({"a": x[:2]}, tally.Error, r"a: the array's shape is \(2, 4\), and the word's \(3, 4\)"),
            ({"a": x[0]}, tally.Error, r"a: the array's shape is \(4,\)"),
            ({"a": x[:, 0].copy()}, tally.Error, r"a: the array's shape is \(3,\)"),
            ({"a": np.ones((3, 4, 2), "f4")}, tally.Error, r"a: the array's shape is \(3, 4, 2\)"),
            ({"a": np.asfortranarray(x)}, tally.Error, "a: .*strides.*hint: numpy.ascontiguousarray"),
            ({"a": x, "b": x}, TypeError, "the kernel's word has no b"),
            ({"a": x, "e": x}, TypeError, "'e' is none of out, threads, a"),
            ({"a": x, "out": x[:2]}, tally.Error, "out: the array's shape")):
        with pytest.raises(kind, match=text):
            k(x, **options)
    with pytest.raises(tally.Error, match="out: .*strides are not the word's; hint: pass an array that is packed"):
        k(x, np.asfortranarray(x), a=x)  # whose copy would be written
    with pytest.raises(TypeError, match="out: it is given twice"):
        k(x, x, out=x, a=x)
    with pytest.raises(tally.Error, match=r"in: the array's shape is \(4, 3\)"):
        k(x.reshape(4, 3), a=x)
    with pytest.raises(TypeError, match="3 arguments were given"):
        k(x, x, x)
    with pytest.raises(TypeError, match="no text"):
        tally.kernel(7)
    with pytest.raises(tally.Error) as e:
        tally.kernel("cumsum:f32:4:axis=0,frob")
    assert e.value.position == 21 and e.value.status == "TALLY_INVALID"


def test_inspect():
    word = "cumsum:f32:64x64:axis=1"
    assert "template = " in tally.inspect(word)
    for stage in ("word", "plan", "kir", "llvm", "asm", "reasons", "launch"):
        text = tally.inspect(word, stage)
        assert isinstance(text, str) and text
        assert tally.kernel(word).inspect(stage) == text
    assert tally.inspect(word, "asm", device="cpu:x86-64-v2") != tally.inspect(word, "asm", device="cpu:x86-64-v4")
    with pytest.raises(ValueError, match="stage: 'frob' is none of word, plan"):
        tally.inspect(word, "frob")
    with pytest.raises(tally.Error):
        tally.inspect("cumsum")


def test_spirv():
    profile = "\n".join(["device = none"])
    with pytest.raises(tally.Error):
        tally.inspect("cumsum:f32:64:axis=0", "spirv", profile=profile)
    with pytest.raises(tally.Error):
        tally.inspect("cumsum:f32:64:axis=0", "spirv", device="cpu")


def test_warm():
    before = tally.stats()["compiled"] + tally.stats()["loaded"]
    words = ["cumsum:f32:77x5:axis=1,map=x*77", "cumprod:f32:77x5:axis=1,reverse"]
    tally.warm(words)
    tally.warm(iter(words))
    tally.warm(words[0])
    made = tally.stats()["compiled"] + tally.stats()["loaded"]
    assert made > before
    tally.kernel(words[0])
    tally.cumprod(np.ones((77, 5), "f4"), axis=1, reverse=True)
    assert tally.stats()["compiled"] + tally.stats()["loaded"] == made
    with pytest.raises(tally.Error):
        tally.warm([words[0], "frob"])
    with pytest.raises(TypeError):
        tally.warm([7])
    with pytest.raises(TypeError):
        tally.warm(7)
