# SPDX-License-Identifier: Apache-2.0
"""tally.torch: values, shapes, dtypes, errors, and the tensors that plain functions hand to it."""
import itertools
import resource
from contextlib import nullcontext

import numpy as np
import pytest
from conftest import FOLDS, SCANS, need, tally

torch = need("torch")
import tally.torch as tt  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402

ops = torch.ops.tally
REFUSED = (tally.Error, RuntimeError, TypeError)  # kernels in C have torch's exception, with Tally's message


def wanted(name, x, dim, exclusive=False, reverse=False):
    """By torch."""
    scan = {"cumsum": torch.cumsum, "cumprod": torch.cumprod, "cumlogsumexp": torch.logcumsumexp,
            "cummax": lambda v, d: torch.cummax(v, d)[0], "cummin": lambda v, d: torch.cummin(v, d)[0]}[name]
    first = {"cumsum": 0, "cumprod": 1, "cumlogsumexp": -torch.inf, "cummax": -torch.inf, "cummin": torch.inf}[name]
    x = x.flip(dim) if reverse else x
    y = scan(x, dim)
    if exclusive:
        y = torch.cat([torch.full_like(y.narrow(dim, 0, 1), first), y.narrow(dim, 0, y.shape[dim] - 1)], dim)
    return y.flip(dim) if reverse else y


def wanted_fold(name, x, dim, keepdim):
    dim = list(range(x.ndim)) if dim is None else dim
    return {"sum": lambda: x.sum(dim, keepdim), "mean": lambda: x.mean(dim, keepdim),
            "max": lambda: x.amax(dim, keepdim), "min": lambda: x.amin(dim, keepdim),
            "l1": lambda: x.abs().sum(dim, keepdim),
            "l2": lambda: x.square().sum(dim, keepdim).sqrt(), "sum_square": lambda: x.square().sum(dim, keepdim),
            "log_sum": lambda: x.sum(dim, keepdim).log(), "log_sum_exp": lambda: x.logsumexp(dim, keepdim),
            "prod": lambda: x.double().log().sum(dim, keepdim).exp().to(x.dtype)}[name]()


def views():
    x = torch.rand(4, 6, 5)
    return x, x.transpose(0, 2), x[:, ::2, 1:4], x[:1].expand(3, 6, 5)


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_scans(name, flags):
    for x in views():
        for dim in (0, 1, -1):
            for function in (getattr(ops, name), getattr(tt, name)):
                torch.testing.assert_close(function(x, dim, *flags), wanted(name, x, dim, *flags))
    scalar = torch.tensor(3.0)
    assert getattr(ops, name)(scalar, -1, *flags).shape == ()
    assert getattr(ops, name)(torch.empty(0, 3), 0, *flags).shape == (0, 3)


@pytest.mark.parametrize("name", FOLDS)
def test_reductions(name):
    for x in views():
        for dim, keepdim in ((None, False), (None, True), ([1], False), ([-1, 0], True)):
            got = getattr(ops, name)(x, dim, keepdim)
            torch.testing.assert_close(got, wanted_fold(name, x, dim, keepdim))
    x = views()[0]
    torch.testing.assert_close(getattr(tt, name)(x, 1), wanted_fold(name, x, [1], False))
    torch.testing.assert_close(getattr(tt, name)(x, (0, -1), keepdim=True), wanted_fold(name, x, [0, 2], True))


def test_indices():
    x = torch.tensor([[1.0, 3, 3], [2, 2, 0]])
    assert ops.argmax(x, [1]).tolist() == [1, 0] and ops.argmax(x, [1], True, True).tolist() == [[2], [1]]
    assert ops.argmin(x).item() == 5 and tt.argmin(x, 0, last=True).tolist() == [0, 1, 1]
    assert not tt.argmax(x.clone().requires_grad_(), 1).requires_grad


@pytest.mark.parametrize("name", ["cumargmax", "cumargmin"])
def test_running_indices(name):
    """With `last` they are those of torch.cummax and cummin; without it, those of the elements that come first."""
    theirs = torch.cummax if name == "cumargmax" else torch.cummin
    ours, op, plain = (getattr(m, name) for m in (tt, ops, tally))
    for x in (torch.randint(0, 3, (4, 6, 5)), torch.rand(6, 4).T):
        want = theirs(x, 1)[1]
        back = x.shape[1] - 1 - theirs(x.flip(1), 1)[1].flip(1)
        for got, by_torch in ((ours(x, 1, last=True), want), (op(x, 1, False, True), want), (op(x, 1, True, True), back),
                              (torch.func.vmap(lambda v: ours(v, 0, last=True))(x), want)):
            assert got.dtype == torch.int64 and torch.equal(got, by_torch)
        assert torch.equal(x.gather(1, op(x, 1)), theirs(x, 1)[0]) and (op(x, 1) <= want).all()
    x = torch.rand(3, 4, requires_grad=True)
    assert not op(x, 1).requires_grad and torch.equal(plain(x, axis=1, reverse=True), op(x, 1, True))
    assert plain(x, axis=0, dtype=torch.int32, last=True).dtype == torch.int32
    assert op(torch.tensor(3.0), 0).shape == () and ours(torch.empty(0, 3), 0).shape == (0, 3)
    with pytest.raises(TypeError, match="no option 'exclusive'"):
        plain(x, axis=0, exclusive=True)


@pytest.mark.parametrize("name", ["bool", "int8", "int16", "int32", "int64", "uint8"])
def test_integers_are_widened_as_torchs(name):
    x = torch.tensor([[1, 0, 1], [1, 1, 1]]).to(getattr(torch, name))
    for dim in (0, 1):
        for ours, theirs in ((ops.cumsum, torch.cumsum), (ops.cumprod, torch.cumprod)):
            assert torch.equal(ours(x, dim), theirs(x, dim)) and ours(x, dim).dtype == torch.int64
        assert torch.equal(tt.sum(x, dim), x.sum(dim)) and torch.equal(tt.prod(x, dim), x.prod(dim))
    assert ops.mean(x).dtype == torch.float64
    assert ops.cummax(x, 0).dtype == x.dtype


@pytest.mark.parametrize("name", ["float64", "float16", "bfloat16"])
def test_floats(name):
    x = torch.rand(3, 40).to(getattr(torch, name))
    torch.testing.assert_close(ops.cumsum(x, 1), x.double().cumsum(1).to(x.dtype))


def test_words():
    x, w, b = torch.rand(3, 4), torch.rand(4), torch.rand(3, 1)
    torch.testing.assert_close(tt.run("cumsum:axis=1,map=x*a+b", x, w, b), (x * w + b).cumsum(1))
    torch.testing.assert_close(tt.run("cumsum:f32>f64:3x?:axis=-1,a=f32,map=x*a", x.T.contiguous().T, a=w),
                               (x * w).double().cumsum(1))
    torch.testing.assert_close(tt.run("sum:>f64:axes=1,map=x*a", x, 0.5), x.double().sum(1) / 2)
    torch.testing.assert_close(tt.run("sum:axes=1,a,map=(x-a)*(x-a),post=y/4", x, x.mean(1, True)),
                               x.var(1, unbiased=False))
    assert tt.run("sum:every=2,axes=1", x).shape == (3, 2)
    h, y = torch.zeros(3), []
    for t in range(4):
        h = w[t] * h + x[:, t]
        y.append(h)
    torch.testing.assert_close(tt.linrec(x, w, 1), torch.stack(y, 1))
    mask = torch.tensor([1, 0, 1, 1], dtype=torch.bool)
    torch.testing.assert_close(tt.run("cumsum:axis=1,map=where(a,x,0)", x, mask), (x * mask).cumsum(1))


def test_dims():
    """Those of functions are told apart in Python, whatever calls the operator, and as PyTorch tells them."""
    for x in (torch.rand(2, 3), torch.rand(2, 3, requires_grad=True)):
        calls = tt.cumsum, tt.sum, tt.argmax, lambda x, dim: tt.linrec(x, x, dim), lambda x, dim: tally.cumsum(x, axis=dim)
        for dim, call in itertools.product((2, -3, 2**63), calls):
            with pytest.raises(tally.Error, match=rf"^axis: axis {dim} is not in \[-2, 1\]$"):
                call(x, dim)
        for dim, call in itertools.product((True, 1.0, "1"), calls):
            with pytest.raises(TypeError, match="^axis: .* is (a bool|no integer)"):
                call(x, dim)
        with pytest.raises(tally.Error, match="^axis: axis 1 is named twice$"):
            tt.sum(x, (1, -1))
        assert tt.sum(x, np.int64(1)).equal(tt.sum(x, [1])) and tt.cumsum(x, np.int64(1)).equal(tt.cumsum(x, 1))
        scalar = x[0, 0]
        for dim in (0, -1, [0], None):
            assert tt.sum(scalar, dim) == ops.sum(scalar, [0]) == scalar and tt.argmax(scalar, dim) == 0
        assert tt.linrec(scalar, 0.5, 0) == scalar and tt.linrec(scalar, 0.5, 0).shape == ()
        with pytest.raises(tally.Error, match="^axis: axis 0, and the array has none$"):
            tally.sum(scalar, axis=0)
        assert tally.cumsum(x, axis=1, reverse="yes").equal(tt.cumsum(x, 1, reverse=True))
    assert torch.autograd.grad(tt.sum(scalar, 0), scalar)[0] == 1
    with pytest.raises(TypeError, match="^out: ndarray is no tensor"), torch.no_grad():
        tally.cumsum(torch.randn(5, dtype=torch.cfloat).conj().imag, out=np.ones(5, "f4"))
    with pytest.raises(TypeError, match="^word: None is no text"):
        tt.run(None, x)


@pytest.mark.parametrize("call, message", [
    (lambda x: ops.cumsum(x, 2), r"axis: axis 2 is not in \[-2, 1\]"),
    (lambda x: ops.cumsum(x, 2**40), "axis: axis 1099511627776 is not in"),
    (lambda x: ops.sum(x, [0, -2]), "axis"),
    (lambda x: ops.sum(x, [5]), r"axis 5 is not in \[-2, 1\]"),
    (lambda x: ops.cumsum(x.reshape(1, 1, 1, 1, 1, 1, 1, 2, 3), 0), "sizes: (rank 9 is above 8|more than 8 sizes)"),
    (lambda x: ops.cumsum(x.to(torch.complex64), 0), "dtype: .*no name in Tally"),
    (lambda x: ops.l2(x.long()), "dtype: .*hint: x.double"),
    (lambda x: ops.argmax(x[:0]), "argmax of no elements"),
    (lambda x: tt.run("sum:map=x*b", x), "b: "),
    (lambda x: tt.run("sum:map=x*a", x, x[:, :2]), "a: size 2 of dim 1|a"),
    (lambda x: tt.run("sum:a=f64,map=x*a", x, x), "a: the tensor is of f32, and the word says a=f64"),
    (lambda x: tt.run("sum:a=f32/0,map=x*a", x, x), "a: .*own shape"),
    (lambda x: tt.run("sum:f64:map=x*x", x), "dtype: the tensor is of f32"),
    (lambda x: tt.run("sum:f32:3x4", x), "sizes: "),
    (lambda x: tt.run("sum:map=x*a", x, x[None]), "a: rank 3"),
    (lambda x: tt.run("sum:map=x*b", x, None, x), "usage: "),
    (lambda x: tt.run("linrec:axis=1,coef=where(a,0,1)", x, x.long()), "a: i64 .*; hint: flags of u8 or bool fit"),
    (lambda x: tt.linrec(x, x.long(), 1), "a: i64 .*; hint: flags of u8 or bool fit"),
    (lambda x: tt.run("cumsum:axis=1,reset=a!=x", x, x.long()), "a: i64 .*; hint: .*; flags of u8 or bool fit"),
    (lambda x: tt.run("cumsum:axis=0,carry=in", x), "carry: "),
    (lambda x: tt.run("cumsum:axis=0,segments=i32/2", x), "segments: "),
])
def test_refusals(call, message):
    for x in (torch.rand(2, 3), torch.rand(2, 3, requires_grad=True)):
        with pytest.raises(REFUSED, match=message):
            call(x)


def test_other_tensors_are_refused():
    x = torch.rand(3, 3)
    weighted = tally.kernel("cumsum:f32:3x3:axis=0,a=f32,map=a*x")
    for other, what in ((x.to_sparse(), "sparse_coo tensor on cpu .*; hint: x.to_dense"), (x.to("meta"), "on meta .* here$"),
                        (x.to_mkldnn(), "mkldnn tensor on cpu .*; hint: x.to_dense"),
                        (x.to(torch.float8_e5m2), "of torch.float8_e5m2"), (x.to(torch.cfloat), "of torch.complex64")):
        calls = [lambda y: weighted(y, a=x), lambda y: weighted(x, a=y), lambda y: weighted(x, y, a=x),
                 lambda y: tally.cumsum(x, axis=0, out=y)]
        calls += [] if other.is_meta else [lambda y: tally.cumsum(y, axis=0)]
        for call in calls:
            with pytest.raises((TypeError, NotImplementedError), match=f"^(device|dtype|a|out): .*{what}"):
                call(other)
        with nullcontext() if other.is_meta else pytest.raises(REFUSED, match="^(device|dtype): "):
            ops.cumsum(other, 0)
    quantised = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
    nested = [torch.nested.nested_tensor([x[0], x[0, :2]], layout=layout) for layout in (torch.strided, torch.jagged)]
    calls = (lambda y: tally.cumsum(y, axis=-1), lambda y: tally.mean(y), lambda y: tt.cumsum(y, -1), lambda y: tt.max(y),
             lambda y: tt.run("sum", y), lambda y: tt.run("sum:map=a*x", x, y), lambda y: ops.cumsum(y, -1),
             lambda y: ops.sum(y), lambda y: ops.run(y, [], "sum:f32:?x?"), lambda y: weighted(y, a=x),
             lambda y: ops.run(x, [y], "sum:f32:?x?:a=f32,map=a*x"), lambda y: weighted(x, a=y),
             lambda y: weighted(x, y, a=x), lambda y: tally.cumsum(x, axis=0, out=y), lambda y: tally.sum(x, out=y))
    for call, mode in itertools.product(calls, (False, True)):
        with torch.inference_mode(mode), pytest.raises(TypeError, match="quint8 .*; hint: x.dequantize()"):
            call(quantised)
        for y in (*nested, *(n.clone().requires_grad_() for n in nested)):
            with torch.inference_mode(mode), pytest.raises(NotImplementedError, match="^(in|a|out): nested .*: x.to_padded"):
                call(y)
    hint = "x.to_padded_tensor(0.0), or run(word, x.values(), offsets=x.offsets()) of a jagged one"
    with pytest.raises(NotImplementedError) as refused:
        tt.cumsum(nested[1], -1)
    assert refused.value.hint == hint and nested[1].to_padded_tensor(0.0).shape == (2, 3)
    rows = tt.run("sum:axes=0", nested[1].values(), offsets=nested[1].offsets())
    torch.testing.assert_close(rows, torch.stack([x[0].sum(), x[0, :2].sum()]))
    for key in (torch._C.DispatchKey.CUDA, torch._C.DispatchKey.SparseCPU):
        assert torch._C._dispatch_has_computed_kernel_for_dispatch_key("tally::cumsum", key.name)
    assert ops.cumsum(x.to("meta"), 0).is_meta and tally.cumsum(x.to("meta"), axis=0).is_meta


def unaligned(count):
    return torch.frombuffer(bytearray(4 * count + 4), dtype=torch.float32, offset=1, count=count)


def test_memory_is_returned():
    """Arguments, results and what a call that fails has made."""
    n, peaks = 1 << 17, []
    for _ in range(3):
        for _ in range(30):
            ops.cumsum(torch.rand(n), 0)
            ops.sum(torch.rand(n), [0])
            tt.run("cumsum:axis=0,map=x*a", torch.rand(n), torch.rand(n))
            for call in (lambda: ops.cumsum(torch.rand(n), 1), lambda: ops.cumsum(unaligned(n), 0),
                         lambda: tt.run("cumsum:axis=0,map=x*a", torch.rand(n), torch.rand(3))):
                with pytest.raises(REFUSED, match="^(axis|in|a): "):
                    call()
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert peaks[2] - peaks[1] < 8192  # KiB; each tensor has 512, and a turn makes 30 of each kind


# --- plain functions -------------------------------------------------------------------------------------------------

def test_plain_functions_keep_gradients():
    """DLPack drops the gradient."""
    x = torch.rand(3, 4, requires_grad=True)
    y = tally.cumprod(x, axis=1)
    assert y.requires_grad
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], torch.autograd.grad(x.cumprod(1).sum(), x)[0])
    y = tally.sum(x, axis=(0, 1), keepdims=True)
    assert y.shape == (1, 1) and y.requires_grad
    y = tally.cumsum(x, axis=0, dtype=torch.float64, exclusive=True, order="serial")
    assert y.dtype == torch.float64 and torch.autograd.grad(y.sum(), x)[0][:, 0].tolist() == [2, 1, 0]
    y = tally.cumulative_prod(x, axis=1, include_initial=True)
    torch.testing.assert_close(y, torch.cat([torch.ones(3, 1), x.cumprod(1)], 1))
    assert tally.cumulative_sum(x[:0], axis=0, include_initial=True).tolist() == [[0, 0, 0, 0]]
    parameter = torch.nn.Parameter(torch.ones(3))
    assert tally.cumsum(parameter).requires_grad
    for call in (lambda: tally.cumsum(x, axis=(0,)), lambda: tally.sum(x, axis=[0, 1]), lambda: tally.sum(x, axis=1.0)):
        with pytest.raises(TypeError, match="^axis: .* is no integer; hint: a") as refused:
            call()
        assert refused.value.field == "axis"
    for call in (lambda: tally.cumsum(x), lambda: tally.cumsum(x, axis=2), lambda: tally.sum(x, axis=2),
                 lambda: tally.cumulative_sum(x, axis=2, include_initial=True),
                 lambda: tally.cumsum(x, axis=0, device="vulkan"),
                 lambda: tally.cumsum(x, axis=0, out=torch.empty(3, 4))):
        with pytest.raises(tally.Error):
            call()
    with pytest.raises(TypeError):
        tally.cumsum(x, axis=True)


def test_plain_functions_know_the_negative_bit():
    """DLPack reads such a tensor as if it were not negated."""
    z = torch.randn(5, dtype=torch.complex64).conj().imag
    assert z.is_neg()
    torch.testing.assert_close(tally.cumsum(z), torch.cumsum(z, 0))
    torch.testing.assert_close(ops.cumsum(z, 0), torch.cumsum(z, 0))
    out = torch.empty(5)
    assert tally.cumsum(z, out=out) is out
    torch.testing.assert_close(out, torch.cumsum(z, 0))
    with pytest.raises(tally.Error, match="^out: "):
        tally.cumsum(z, out=torch.empty(4))


@pytest.mark.skipif(not tt.PRIVATE, reason="no forward mode")
def test_plain_functions_keep_tangents():
    """DLPack drops the tangent, and torch.library.register_autograd makes it zero."""
    x, t = torch.rand(4), torch.rand(4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        for y, by_torch in ((tally.cumsum(dual), dual.cumsum(0)), (tally.cumprod(dual), dual.cumprod(0)),
                            (ops.cumsum(dual, 0), dual.cumsum(0)), (tally.mean(dual), dual.mean()),
                            (tally.log_sum_exp(dual), dual.logsumexp(0))):
            torch.testing.assert_close(forward_ad.unpack_dual(y).tangent, forward_ad.unpack_dual(by_torch).tangent)
        assert tally.cumsum(x).tolist() == tt.cumsum(x, 0).tolist()


def test_outputs():
    x, out = torch.rand(3, 4, requires_grad=True), torch.empty(3, 4)
    with torch.no_grad():
        assert tally.cumsum(x, axis=1, out=out) is out
    torch.testing.assert_close(out, x.detach().cumsum(1))
    with pytest.raises(tally.Error, match="^out: "):
        tally.cumsum(x, axis=1, out=out)
    with pytest.raises(tally.Error, match="^out: "):
        tally.cumsum(x.detach(), axis=1, out=torch.empty(3, 4, requires_grad=True))


def test_zeros_without_memory():
    zeros = torch._efficientzerotensor((2, 3))
    assert tally.cumsum(zeros, axis=1).tolist() == ops.cumsum(zeros, 1).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_dtypes_of_other_libraries():
    x = torch.rand(3, requires_grad=True)
    for dtype in (torch.float64, "f64", "float64", np.float64, np.dtype("f8"), float):
        assert tally.cumsum(x, dtype=dtype).dtype == torch.float64
    assert tally.cumsum(x, acc=torch.float64).dtype == torch.float32
    for dtype in ("zz", "i4"):
        with pytest.raises(TypeError, match=f"^dtype: '{dtype}' is no dtype of Tally; hint: names count bits"):
            tally.cumsum(x, dtype=dtype)
    for y in (x, x.detach()):
        with pytest.raises(tally.Error, match="^dtype: .*; hint: kernels of sum exist from f32 to f64 f32$"):
            tally.sum(y, dtype="u32")


def test_subclasses():
    class Sub(torch.Tensor):
        pass

    assert tally.cumsum(torch.ones(3).as_subclass(Sub)).tolist() == [1, 2, 3]


@pytest.mark.parametrize("word, x, numbers, want", [
    ("cumsum:>f64:axis=0,map=x*a", torch.tensor([1, 2, 3], dtype=torch.int32), {"a": 0.5}, [0.5, 1.5, 3]),
    ("sum:>f32:axes=0,map=(x-a)*b", torch.tensor([5, 7, 3], dtype=torch.int8), {"a": 3, "b": 0.5}, 3),
    ("sum:>f32:axes=0,map=x*a", torch.tensor([1, 2, 3], dtype=torch.uint8), {"a": -1}, -6),
    ("sum:>f32:axes=0,map=x*a", torch.tensor([1, 2, 3], dtype=torch.uint8), {"a": 300}, 1800),
    ("sum:>f64:axes=0,map=x*a", torch.tensor([1.0]), {"a": 0.1}, 0.1),
    ("sum:>f32:axes=0,a=f32/none,map=x*a", torch.tensor([1, 2], dtype=torch.int8), {"a": 0.3}, 0.9),
    ("sum:>i32:axes=0,map=x*a", torch.tensor([True, True]), {"a": 1}, 2),
    ("cumargmax:axis=0,map=x*a", torch.tensor([1, 2], dtype=torch.int16), {"a": -1}, [0, 0]),
])
def test_numbers_are_of_the_type_of_expressions(word, x, numbers, want):
    y = tt.run(word, x, **numbers)
    torch.testing.assert_close(y, torch.tensor(want, dtype=y.dtype))


@pytest.mark.parametrize("dtype, number", [("int32", 0.5), ("int64", float("nan")), ("uint8", -1), ("int8", 128),
                                           ("uint8", 256), ("int16", [1, 2, 0.5])])
def test_numbers_that_integers_do_not_hold(dtype, number):
    x = torch.ones(3, dtype=getattr(torch, dtype))
    with pytest.raises(tally.Error, match="^a: .* is no "):
        tt.run("cumsum:axis=0,map=x*a", x, a=number)
    with pytest.raises(tally.Error, match="^a: .* is no "):
        tt.linrec(x, number, 0)
