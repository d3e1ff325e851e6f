# SPDX-License-Identifier: Apache-2.0
"""tally.torch: words with offsets, `every`, `reset` and states, and their derivatives."""
import pytest
from conftest import SCANS, need

torch = need("torch")
import tally  # noqa: E402
import tally.torch as tt  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

ops, func = torch.ops.tally, torch.func
REFUSED = (RuntimeError, tally.Error, ValueError, TypeError)
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:")

# Segments of several lengths, of one element and of none; the last two leave elements out.
OFFSETS = [0, 3, 3, 4, 9], [2, 2, 5, 6, 8], [4, 4]


def distinct(*shape):
    n = torch.Size(shape).numel()
    order = torch.randperm(n, generator=torch.Generator().manual_seed(5))
    return (order.double() / 17 + 0.3).reshape(shape)


def checks(f, *tensors, twice=True):
    """First derivatives, and second ones: those are words of words, and a few operators have all that can differ."""
    assert gradcheck(f, tensors, check_forward_ad=tt.PRIVATE and twice)
    assert not twice or gradgradcheck(f, tensors)


@pytest.mark.parametrize("offsets, flags", list(zip(OFFSETS, ["", ",exclusive", ",reverse"])))
@pytest.mark.parametrize("name", SCANS)
def test_scans(name, offsets, flags):
    x, offsets = distinct(9, 2), torch.tensor(offsets)
    if name in ("cumsum", "cumprod"):
        x[3, 0] = x[6, 1] = x[7, 1] = 0
    shown = torch.isfinite(tt.run(f"{name}:axis=0{flags}", x, offsets=offsets))
    checks(lambda v: tt.run(f"{name}:axis=0{flags}", v, offsets=offsets)[shown], x.requires_grad_(),
           twice=name == "cumprod")


@pytest.mark.parametrize("offsets", [OFFSETS[1], None])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "l1", "l2", "sum_square", "log_sum", "log_sum_exp", "max", "min"])
def test_reductions(name, offsets):
    x = distinct(2, 9)
    if name == "prod":
        x[0, 1] = x[1, 4] = x[1, 5] = 0
    if offsets is None:
        checks(lambda v: tt.run(f"{name}:axes=1,every=4", v), x.requires_grad_(), twice=False)
    else:
        offsets = torch.tensor(offsets, dtype=torch.int32)
        filled = offsets.diff() > 0
        checks(lambda v: tt.run(f"{name}:axes=1", v, offsets=offsets)[:, filled], x.requires_grad_(), twice=name in ("prod", "mean"))


def test_against_rows():
    """Each segment is a row of its own, and what lies outside of all has neither a result nor a gradient."""
    x = torch.rand(9, dtype=torch.float64, requires_grad=True)
    offsets = torch.tensor([2, 2, 5, 6, 8])
    y, g = tt.run("cumprod:axis=0,exclusive,map=1-x,post=x*y", x, offsets=offsets), torch.rand(9, dtype=torch.float64)
    got, = torch.autograd.grad(y, x, g)
    want, result = torch.zeros(9, dtype=torch.float64), torch.zeros(9, dtype=torch.float64)
    for from_, end in zip(offsets, offsets[1:]):
        row = x.detach()[from_:end].requires_grad_()
        part = row * torch.cat([torch.ones(1), (1 - row).cumprod(0)])[:-1]
        result[from_:end] = part.detach()
        want[from_:end], = torch.autograd.grad(part, row, g[from_:end])
    torch.testing.assert_close(y.detach(), result)
    torch.testing.assert_close(got, want)


WORDS = {
    "mingru": ("linrec:axis=1,map=sig(a)*x,coef=1-sig(a)", [(2, 9), (2, 9)]),
    "weights": ("cumsum:axis=1,exclusive,map=x*a,post=exp(-y)*(1-exp(-x*a))", [(2, 9), (1, 9)]),
    "variance": ("sum:axes=1,map=(x-a)*(x-a),post=y*b", [(2, 9), (2, 1), (1, 1)]),
    "both": ("mean:axes=1,map=x*a,post=y*a", [(2, 9), (2, 1)]),
}


@pytest.mark.parametrize("name", WORDS)
def test_words(name):
    word, shapes = WORDS[name]
    tensors = [(distinct(*shape) / 3).requires_grad_() for shape in shapes]
    checks(lambda *t: tt.run(word, *t, offsets=torch.tensor([1, 4, 5, 8])), *tensors)


def test_restarts():
    x, flags = distinct(9).requires_grad_(), torch.tensor([0, 0, 1, 0, 0, 0, 1, 1, 0], dtype=torch.bool)
    for word in ("cumsum:axis=0,reset=a", "cumprod:axis=0,exclusive,reverse,reset=a", "cumlogsumexp:axis=0,reset=a"):
        checks(lambda v: tt.run(word, v, flags), x, twice="cumprod" in word)


def test_states():
    x, a = distinct(9, 2).requires_grad_(), (distinct(9, 2) / 2).requires_grad_()
    state, states = distinct(1, 2).requires_grad_(), distinct(3, 2).requires_grad_()
    offsets = torch.tensor([1, 4, 4, 8])
    for word in ("linrec:axis=0", "cumprod:axis=0,map=x*a,reverse", "cumsum:axis=0,exclusive,map=x*a"):
        checks(lambda *t: tt.run(word, t[0], t[1], carry_in=t[2]), x, a, state, twice=False)
        checks(lambda *t: tt.run(word, t[0], t[1], carry_in=t[2], offsets=offsets), x, a, states, twice="linrec" in word)
    torch.testing.assert_close(tt.linrec(x, a, 0, carry_in=state)[0], a[0] * state[0] + x[0])


def test_dtypes():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.rand(9).to(dtype).requires_grad_()
        tt.run("log_sum_exp:axes=0", x, offsets=torch.tensor([0, 4, 9])).sum().backward()
        v = x.detach().double()
        want = torch.cat([v[:4].softmax(0), v[4:].softmax(0)])
        assert x.grad.dtype == dtype
        torch.testing.assert_close(x.grad.double(), want, rtol=2e-2, atol=1e-2)


def test_transforms():
    x, offsets = distinct(3, 9), torch.tensor([1, 4, 4, 8])
    f = lambda v: tt.run("cumprod:axis=0", v, offsets=offsets)  # noqa: E731
    torch.testing.assert_close(func.vmap(f)(x), torch.stack([f(row) for row in x]))
    total = lambda v: tt.run("sum:axes=0,map=x*x", v, offsets=offsets).pow(2).sum()  # noqa: E731
    if tt.PRIVATE:
        torch.testing.assert_close(func.vmap(func.grad(total))(x), torch.stack([func.grad(total)(row) for row in x]))
        assert func.hessian(total)(x[0]).shape == (9, 9)
    began = lambda v, s: tt.run("linrec:axis=0,coef=0.5", v, carry_in=s)  # noqa: E731
    s = torch.rand(3, 1, dtype=torch.float64)
    torch.testing.assert_close(func.vmap(began)(x, s), torch.stack([began(v, c) for v, c in zip(x, s)]))
    torch.testing.assert_close(func.vmap(began, (0, None))(x, s[0]), torch.stack([began(v, s[0]) for v in x]))
    with pytest.raises(NotImplementedError, match="^offsets: "):
        func.vmap(lambda v, o: tt.run("cumsum:axis=0", v, offsets=o))(x, offsets.expand(3, -1))


def test_compile():
    x = torch.rand(9, requires_grad=True)
    f = lambda v, o: tt.run("mean:axes=0", v, offsets=o) * 2  # noqa: E731
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    for offsets in (torch.tensor([0, 4, 9]), torch.tensor([0, 1, 5, 9])):
        got, want = (torch.autograd.grad(h(x, offsets).sum(), x)[0] for h in (compiled, f))
        torch.testing.assert_close(got, want)
    torch.library.opcheck(ops.run.default, (x, [torch.tensor([0, 4, 9])], "sum:f32:?:segments=i64/?"))


@pytest.mark.parametrize("call, message", [
    (lambda x: tt.run("cumsum:axis=0,segments=i32/?", x), "segments: .*hint: offsets="),
    (lambda x: tt.run("cumsum:axis=0", x, offsets=torch.tensor([0., 3])), "offsets: they are of f32"),
    (lambda x: tt.run("cumsum:axis=0,segments=i32/1", x, offsets=torch.tensor([0, 3])), "offsets: they are of i64"),
    (lambda x: tt.run("cumsum:axis=0", x, offsets=torch.tensor([0, 4])), "offsets: "),
    (lambda x: tt.run("cumsum:axis=0", x, offsets=torch.tensor([2, 1])), "offsets: "),
    (lambda x: tt.run("cumsum:axis=0", x, offsets=torch.tensor([[0, 3]])), "offsets: "),
    (lambda x: tt.run("cumsum:axis=0", x, offsets=torch.tensor([], dtype=torch.int32)), "(offsets|segments): "),
    (lambda x: tt.run("cumsum:axis=0,carry=in", x), "carry: .*hint: carry_in="),
    (lambda x: tt.run("cumsum:axis=0,carry=in+out", x), "carry: "),
    (lambda x: tt.run("cumsum:axis=0", x, carry_in=torch.rand(2)), "carry_in: "),
    (lambda x: tt.run("cumsum:axis=0", x, carry_in=torch.rand(1).double()), "carry_in: "),
    (lambda x: tt.run("sum", x, carry_in=torch.rand(1)), "carry: "),
    (lambda x: tt.run("sum:keepdims,axes=0", x, offsets=torch.tensor([0, 3])), "keepdims: "),
    (lambda x: tt.run("sum:axes=0,segments=i64/2", x, offsets=torch.tensor([0, 1, 2, 3])), "offsets: .* 3 segments"),
    (lambda x: tt.run("cumsum:axis=0", x, offsets=torch.tensor([0, 3]).to("meta")), "offsets: it is on meta"),
    (lambda x: tt.run("cumsum:axis=0", x, carry_in=torch.rand(1, device="meta")), "carry_in: it is on meta"),
    (lambda x: tt.run("cumsum:axis=0", x, carry_in=[0.5]), "carry_in: list is no tensor"),
    (lambda x: tt.linrec(x, x.to("meta"), 0), "a: it is on meta"),
    (lambda x: tt.run("cumsum:axis=0,out=5", x), "out: .*results are packed"),
    (lambda x: tt.run("cumsum:f32:3:axis=0,in=1@3", x), "in: tensors say how they lie"),
    (lambda x: ops.run(x, [], "cumsum:f32:3:axis=0,in=1@3"), "in: tensors say how they lie|sizes"),
    (lambda x: ops.run(x, [], "cumsum:f32:?:axis=0,out=2"), "out: .*results are packed|strides|sizes"),
])
def test_refusals(call, message):
    for x in (torch.rand(3), torch.rand(3, requires_grad=True)):
        with pytest.raises(REFUSED, match=message):
            call(x)


def test_states_have_a_shape():
    x, offsets, states = torch.rand(4, 3), [0, 1, 2, 3, 4], torch.arange(12.0).reshape(4, 3)
    torch.testing.assert_close(tt.run("cumsum:axis=0", x, offsets=offsets, carry_in=states), x + states)
    for shape in ((3, 4), (12,), (2, 6), (1, 12), (4, 3, 1)):
        with pytest.raises(REFUSED, match="carry_in: "):
            tt.run("cumsum:axis=0", x, offsets=offsets, carry_in=states.reshape(shape))


@pytest.mark.parametrize("op", ["mean", "max", "min", "sum"])
def test_second_derivatives_of_empty_segments(op):
    x, w = torch.rand(4, dtype=torch.double, requires_grad=True), torch.ones(3, dtype=torch.double, requires_grad=True)
    y = tt.run(f"{op}:axes=0,map=x*x", x, offsets=torch.tensor([0, 2, 2, 4])).nan_to_num(0, 0, 0)
    gx, = torch.autograd.grad((w * y).sum(), x, create_graph=True)
    gw, = torch.autograd.grad((gx**2).sum(), w)
    assert gw.isfinite().all() and gw[1] == 0


def test_states_of_pairs_have_no_gradient():
    x, pair = torch.rand(3, requires_grad=True), torch.tensor([[0.0, 1.0]], requires_grad=True)
    with pytest.raises(tally.Unsupported, match="^carry: a state of cumlogsumexp is a pair"):
        tt.run("cumlogsumexp:axis=0", x, carry_in=pair).sum().backward()
    tt.run("cumlogsumexp:axis=0", x, carry_in=pair.detach()).sum().backward()
    assert x.grad.isfinite().all()
