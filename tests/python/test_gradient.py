# SPDX-License-Identifier: Apache-2.0
"""tally.gradient: the kernels of a word's gradient in one call."""
import numpy as np
import pytest
from conftest import tally

import array_api_strict as strict


def differences(f, x, g, step=1e-6):
    """The gradient of (f(x) * g).sum(), in f64."""
    made = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][i] += step
        moved[1][i] -= step
        made[i] = ((f(moved[0]) - f(moved[1])) * g).sum() / (2 * step)
    return made


def test_word_and_what_it_reads():
    dx = tally.gradient("cumprod:f32:3x4:axis=-1")
    assert dx.word == "cumprod:f32:3x4:axis=1" and dx.wrt == "x" and dx.reads == ("x", "g") and dx.memory == 64
    assert repr(dx) == "<tally.Gradient of 'cumprod:f32:3x4:axis=1' for x>"
    assert tally.gradient("cumsum:f32:9:axis=0").memory == 0
    assert tally.gradient("log_sum_exp:f32:9").reads == ("x", "g", "y")
    with pytest.raises(TypeError):
        tally.Gradient("sum:f32:9")


def test_the_result_spares_a_step(rng):
    dx = tally.gradient("cumprod:f32:600x400:axis=0")
    assert dx.gains == ("y",) and dx.reads == ("x", "g") and dx.memory == 600 * 400 * 4
    assert tally.gradient("cumprod:f32:6x4:axis=0").gains == ()
    x, g = (rng.random((600, 400)) / 50 + 0.99).astype("f4"), rng.standard_normal((600, 400)).astype("f4")
    x[300] = 0
    y = tally.cumprod(x, axis=0)
    wanted = dx(g, x=x)
    assert np.allclose(dx(g, x=x, y=y), wanted, 1e-4, 1e-4)
    y[-1] = np.nan
    assert np.array_equal(dx(g, x=x, y=y), dx(g, x=x, y=tally.cumprod(x, axis=0))), "the last result is not read"
    with pytest.raises(ValueError, match="y"):
        dx(g, x=x, y=y[:-1])


def test_values(rng):
    x, g = rng.random((3, 5)) + 0.5, rng.standard_normal((3, 5))
    dx = tally.gradient("cumprod:f64:3x5:axis=1")
    wanted = differences(lambda v: v.cumprod(1), x, g)
    assert np.allclose(dx(g, x=x), wanted, 1e-6, 1e-6)
    out = np.empty_like(x)
    assert dx(g, out, x=x, threads=1) is out and np.allclose(out, wanted, 1e-6, 1e-6)
    assert dx(g=g, x=x, out=out) is out
    g.flags.writeable = x.flags.writeable = False
    assert np.array_equal(dx(g, x=x, y=out, a=out), out), "what is not read is ignored"
    as_strict = dx(strict.asarray(g), x=strict.asarray(x))
    assert type(as_strict) is type(strict.ones(3)) and np.array_equal(np.from_dlpack(as_strict), out)


def test_reductions_and_operands(rng):
    x, a = rng.random((4, 6)), rng.random(6)
    y = tally.log_sum_exp(x, axis=1)
    g = rng.random(4)
    soft = tally.gradient("log_sum_exp:f64:4x6:axes=1")
    assert np.allclose(soft(g, x=x, y=y), g[:, None] * np.exp(x - y[:, None]))
    da = tally.gradient("cumsum:f64:4x6:axis=1,a=f64/1,map=x*a", "a")
    g = rng.random((4, 6))
    assert np.allclose(da(g, x=x, a=a), (g[:, ::-1].cumsum(1)[:, ::-1] * x).sum(0))


def test_strides(rng):
    x, g = rng.random((5, 4)).T, rng.random((4, 5))
    dx = tally.gradient("cumprod:f64:4x5:axis=1,in=1x4@0")
    assert np.allclose(dx(g, x=x), differences(lambda v: v.cumprod(1), x, g), 1e-6, 1e-6)
    with pytest.raises(tally.Error, match="x: the array's strides"):
        dx(g, x=x.copy("C"))


def test_segments_and_states(rng):
    g = rng.random((4, 3)).astype("f4")
    spread = tally.gradient("sum:f32:4x9:axes=1,segments=i32/3")
    made = spread(g, x=np.full((4, 9), np.nan, "f4"), offsets=[1, 3, 3, 8])
    wanted = np.zeros((4, 9), "f4")
    wanted[:, 1:3], wanted[:, 3:8] = g[:, :1], g[:, 2:]
    assert np.array_equal(made, wanted)
    with pytest.raises(tally.Error, match="offset 2 is 2, below the 3"):
        spread(g, x=wanted, offsets=[1, 3, 2, 8])
    a, g, last = rng.random((6, 2)), rng.random((6, 2)), rng.random((1, 2))
    dx = tally.gradient("linrec:f64:6x2:axis=0,a,carry=in+out")
    assert dx.reads == ("g", "a", "gcarry")
    back = [last[0]]
    for t in reversed(range(6)):
        back.append((g[t] + back[-1]) * (a[t] if t else 1))
    with_last, without = dx(g, a=a, gcarry=last), dx(g, a=a)
    h = np.zeros((7, 2))
    h[6] = last[0]
    for t in reversed(range(6)):
        h[t] = g[t] + (a[t + 1] * h[t + 1] if t < 5 else last[0])
    assert np.allclose(with_last, h[:6]) and np.allclose(dx(g, a=a, gcarry=np.zeros((1, 2))), without)
    first = tally.gradient("linrec:f64:6x2:axis=0,a,carry=in", "carry_in")
    of_both = tally.gradient("linrec:f64:6x2:axis=0,a,carry=in+out", "carry_in")
    assert np.array_equal(of_both(g, a=a), of_both(g, a=a, gcarry=np.zeros((1, 2))))
    assert first(g, a=a).shape == (1, 2) and np.allclose(first(g, a=a)[0], (g * a.cumprod(0)).sum(0))


@pytest.mark.parametrize("shape, axis", [((300, 2500), 1), ((2500, 300), 0), ((3, 700, 333), 2), ((1, 700000), 1)])
def test_large(rng, shape, axis):
    """In blocks it has what the steps have, to a few roundings."""
    x, g = (rng.random(shape) * 0.02 + 0.99).astype("f4"), rng.random(shape).astype("f4")
    sizes = "x".join(map(str, shape))
    dx = tally.gradient(f"cumprod:f32:{sizes}:axis={axis}")
    (first, _), (second, _) = tally._tally._gradient(f"cumprod:f32:{sizes}:axis={axis}", "x")
    wanted = tally.kernel(second)(x, a=g, b=tally.kernel(first)(x))
    for threads in (1, 2):
        assert np.allclose(dx(g, x=x, threads=threads), wanted, 1e-4, 1e-4 * abs(wanted).max())


def test_refused(rng):
    g = np.ones((3, 4), "f4")
    dx = tally.gradient("cumprod:f32:3x4:axis=1")
    for call, error, message in (
            (lambda: dx(g), tally.Error, "x: the gradient reads x, and the call has none: pass x="),
            (lambda: dx(x=g), tally.Error, "g: the gradient reads g"),
            (lambda: dx(g, x=g, z=g), TypeError, "'z' is none of"),
            (lambda: dx(g, None, g, x=g), TypeError, "3 arguments were given"),
            (lambda: dx(g, x=g, g=g), TypeError, "g: it is given twice"),
            (lambda: dx(g, x=g[:2]), tally.Error, r"x: the array's shape is \(2, 4\), and the word's \(3, 4\)"),
            (lambda: dx(g, x=g.astype("f8")), tally.Error, "x: the array's dtype is f64, and the word's f32"),
            (lambda: dx(g, g, x=np.ones_like(g)), tally.Error, "out: the regions of g and the result overlap"),
            (lambda: dx(g, x=g, threads=0), ValueError, "threads"),
            (lambda: tally.gradient("cumprod:f32:9:axis=0", None), ValueError, "wrt: None is none of"),
            (lambda: tally.gradient("cumprod:f32:9:axis=0", "g"), ValueError, "wrt: 'g' is none of x, a, b, c, d"),
            (lambda: tally.gradient("cumprod:f32:9:axis=0", "a"), tally.Error, "a: the word has no operand a"),
            (lambda: tally.gradient("cumprod:f32:?:axis=0"), tally.Error, "sizes: a gradient runs with every size"),
            (lambda: tally.gradient("cumsum:i32:9:axis=0"), tally.Error, "dtype: elements are i32"),
            (lambda: tally.gradient("argmax:f32:9"), tally.Error, "op: results of argmax are indices"),
            (lambda: tally.gradient("sum:f32:9", device="nowhere"), tally.Error, "device")):
        with pytest.raises(error, match=message):
            call()
    assert (g == 1).all(), "nothing is written"
