# SPDX-License-Identifier: Apache-2.0
"""tally.run and tally.linrec: words that arrays complete."""
import numpy as np
import pytest
from conftest import close, tally

import array_api_strict as strict

LAYOUTS = (lambda x: x, np.asfortranarray, lambda x: x[:, ::-1], lambda x: np.repeat(x, 2, 1)[:, ::2],
           lambda x: np.ascontiguousarray(x.T).T)


def recurs(x, a, axis, exclusive=False, reverse=False, first=0):
    x, a = (np.moveaxis(np.broadcast_to(t, x.shape).astype("f8"), axis, 0) for t in (x, a))
    y, state = np.empty_like(x), first
    for t in range(len(x))[::-1 if reverse else 1]:
        after = a[t] * state + x[t]
        y[t] = state if exclusive else after
        state = after
    return np.moveaxis(y, 0, axis)


@pytest.mark.parametrize("of_x", LAYOUTS)
@pytest.mark.parametrize("of_a", LAYOUTS)
@pytest.mark.parametrize("of_out", [None, *LAYOUTS])
def test_any_layout(rng, of_x, of_a, of_out):
    x, a = (of(rng.random((5, 6)).astype("f4")) for of in (of_x, of_a))
    out = None if of_out is None else of_out(np.zeros((5, 6), "f4"))
    y = tally.run("cumsum:axis=0,map=x*a+b", x, a, 0.5, out=out)
    close(y, (x * a + 0.5).astype("f8").cumsum(0), "f4")
    assert out is None or y is out


@pytest.mark.parametrize("shape", [(), (1,), (6,), (1, 6), (5, 1), (1, 1), (5, 6)])
def test_operands_are_broadcast(rng, shape):
    x, a = rng.random((5, 6)), np.asarray(rng.random(shape))
    close(tally.run("sum:axes=1,map=x*a", x, a), (x * a).sum(1), "f8")
    close(tally.run("sum:axes=1,a,map=x*a", x, a), (x * a).sum(1), "f8")


def test_one_element_again_and_again(rng):
    x, a = rng.random((3, 5)), rng.random(5)
    for each in (np.broadcast_to(a, (3, 5)), np.broadcast_to(0.5, (3, 5)), np.broadcast_to(a[:1], (3, 5)),
                 np.broadcast_to(a[::2].repeat(2)[:5], (3, 5)), np.broadcast_to(rng.random((3, 1)), (3, 5))):
        close(tally.run("cumsum:axis=0,map=x*a", x, each), (x * each).cumsum(0), "f8")
        close(tally.linrec(x, each), recurs(x, each, 1), "f8")


def test_numbers(rng):
    x = rng.integers(0, 9, (3, 4)).astype("i4")
    assert (tally.run("cumsum:axis=1,map=x*a", x, 3) == (x * 3).cumsum(1)).all()
    assert (tally.run("cumsum:axis=1,map=x*a", x, True) == x.cumsum(1)).all()
    close(tally.run("cumsum:>f64:axis=1,map=x*a", x, 0.5), (x * 0.5).cumsum(1), "f8")
    assert tally.run("sum", np.float32(3)) == 3
    with pytest.raises(tally.Error, match="a: 2.5 is no i32"):
        tally.run("cumsum:axis=1,map=x*a", x, 2.5)


def test_segments_and_states(rng):
    x = rng.random((2, 6)).astype("f4")
    wanted = np.add.reduceat(x, [0, 2], axis=1)
    close(tally.run("sum:axes=1,segments=i32/2", x, offsets=[0, 2, 6]), wanted, "f4")
    for offsets in ([0, 2, 6], (0, 2, 6), np.array([0, 2, 6], "i4"), np.array([0, 2, 6])):
        close(tally.run("sum:axes=1", x, offsets=offsets), wanted, "f4")
    whole, state = x.cumsum(1), np.zeros((2, 1), "f4")
    parts = [tally.run("cumsum:axis=1", x[:, at:at + 2], carry_in=state, carry_out=state) for at in (0, 2, 4)]
    close(np.concatenate(parts, 1), whole, "f4")
    close(state[:, 0], whole[:, -1], "f4")
    close(tally.run("cumsum:axis=1,carry=in", x, carry_in=state), whole + state, "f4")


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_recurrences(rng, axis, exclusive, reverse):
    x, a = rng.random((40, 50)), rng.random((40, 50))
    for coef in (a, a[:1], a[:, :1], 0.5):
        close(tally.linrec(x, coef, axis=axis, exclusive=exclusive, reverse=reverse),
              recurs(x, coef, axis, exclusive, reverse), "f8")
    out, last = np.empty_like(x), np.empty((1, 50))
    assert tally.linrec(x, a, axis=0, out=out, carry_out=last, threads=1) is out
    close(last, out[-1:], "f8")
    close(tally.linrec(x, a, axis=0, carry_in=last), recurs(x, a, 0, first=out[-1]), "f8")


def test_other_libraries(rng):
    x = rng.random((3, 4))
    y = tally.run("cumprod:axis=1,map=x*a", strict.asarray(x), strict.asarray(x[0]))
    assert type(y) is type(strict.ones(3))
    close(np.from_dlpack(y), (x * x[0]).cumprod(1), "f8")


@pytest.mark.parametrize("call, error, message", [
    (lambda x: tally.run(3, x), TypeError, "word: 3 is no text"),
    (lambda x: tally.run("cumsum:axis=0", {}), TypeError, "is no array"),
    (lambda x: tally.run("cumsum:axis=7", x), tally.Error, r"axis: axis 7 is not in \[-2, 1\]"),
    (lambda x: tally.run("cumsum:f64:axis=0", x), tally.Error, "dtype: the tensor is of f32, and the word of f64"),
    (lambda x: tally.run("cumsum:2x4:axis=0", x), tally.Error, r"sizes: the tensor has \[3, 4\], and the word 2x4"),
    (lambda x: tally.run("cumsum:axis=0,in=1x3@0", x), tally.Unsupported, "in: tensors say how they lie"),
    (lambda x: tally.run("cumsum:axis=0,a,map=x*a", x), tally.Error, "a: the word has this operand"),
    (lambda x: tally.run("cumsum:axis=0,map=x*b", x, None, x), tally.Error, "usage: operands are a, b, c, d in this"),
    (lambda x: tally.run("cumsum:axis=0,map=x*a", x, x[None]), tally.Error, "a: rank 3 is above that of x, 2"),
    (lambda x: tally.run("cumsum:axis=0,map=x*a", x, x[:2]), tally.Error, "a: size 2 of dim 0 is not that of x, 3"),
    (lambda x: tally.run("cumsum:axis=0,map=x*a", x, "q"), TypeError, "is no array"),
    (lambda x: tally.run("cumsum:axis=0,segments=i32/2", x), tally.Error, "segments: the word has them"),
    (lambda x: tally.run("cumsum:axis=0", x, offsets=x), tally.Error, r"offsets: their shape is \(3, 4\), and not one"),
    (lambda x: tally.run("cumsum:axis=0", x, offsets=[]), tally.Error, r"offsets: their shape is \(0,\), and not one"),
    (lambda x: tally.run("cumsum:axis=0,a=f16,map=x*a", x, 1), tally.Error, "a: numbers have no dtype 'f16'"),
    (lambda x: tally.run("cumsum:axis=0,a=zz,map=x*a", x, 1), tally.Error, "a: numbers have no dtype 'zz'"),
    (lambda x: tally.run("cumsum:axis=0,map=x*a", x, 10**400), tally.Error, "a: the number is beyond f32"),
    (lambda x: tally.run("cumsum:axis=0,a=f32,a=f32,map=x*a", x, x), tally.Error, "a: the option is given twice"),
    (lambda x: tally.run("cumsum:axis=0", x, device=[]), TypeError, r"device: \[\] is no text"),
    (lambda x: tally.run("cumsum:axis=0", x, offsets=x[0]), tally.Error, "offsets: they are of f32"),
    (lambda x: tally.run("cumsum:axis=0", x, offsets=[0, 5]), tally.Error, "offsets: offset 1 is 5"),
    (lambda x: tally.run("cumsum:axis=0,carry=in+out", x, carry_in=x[:1]), tally.Error, "carry: .* no carry_out"),
    (lambda x: tally.run("cumsum:axis=0", x, carry_in=x), tally.Error, r"carry_in: the array's shape is \(3, 4\)"),
    (lambda x: tally.run("cumsum:axis=0", x, out=x[:2]), tally.Error, r"out: the array's shape is \(2, 4\)"),
    (lambda x: tally.run("cumsum:axis=0", x, device="nowhere"), tally.Error, "device"),
    (lambda x: tally.run("cumsum:axis=0", x, threads=0), ValueError, "threads"),
    (lambda x: tally.linrec(x, x[:2]), tally.Error, "a: size 2"),
    (lambda x: tally.linrec(x, 0.5, axis=2), tally.Error, r"axis: axis 2 is not in \[-2, 1\]"),
    (lambda x: tally.linrec(x[0, 0], 0.5), tally.Error, "axis: axis -1, and the array has none"),
])
def test_refused(call, error, message):
    x = np.ones((3, 4), "f4")
    with pytest.raises(error, match=message):
        call(x)
    assert (x == 1).all(), "nothing is written"
