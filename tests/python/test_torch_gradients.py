# SPDX-License-Identifier: Apache-2.0
"""tally.torch: first and second derivatives, forward mode and torch.func, by torch's own checks."""
import pytest
from conftest import FOLDS, SCANS, need

torch = need("torch")
import tally.torch as tt  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

ops, func = torch.ops.tally, torch.func
forward = pytest.mark.skipif(not tt.PRIVATE, reason="no forward mode")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:")


def distinct(*shape):
    """Different elements, whose distances are far above a step of the checks."""
    n = torch.Size(shape).numel()
    order = torch.randperm(n, generator=torch.Generator().manual_seed(3))
    return (order.double() / 7 + 0.3).reshape(shape)


def with_zeros(x):
    """Rows without a zero, with one and with two."""
    x = x.clone()
    x[1, 1] = x[2, 0] = x[2, 2] = 0
    return x.requires_grad_()


def checks(f, *tensors):
    assert gradcheck(f, tensors, check_forward_ad=tt.PRIVATE)
    assert gradgradcheck(f, tensors, check_fwd_over_rev=tt.PRIVATE)


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(name, exclusive, reverse):
    x = distinct(3, 4)
    x = with_zeros(x) if name in ("cumsum", "cumprod") else x.requires_grad_()
    shown = slice(None)
    if exclusive and name not in ("cumsum", "cumprod"):  # whose identity is infinite
        shown = slice(0, -1) if reverse else slice(1, None)
    checks(lambda v: getattr(ops, name)(v, 1, exclusive, reverse)[:, shown], x)


@pytest.mark.parametrize("name", FOLDS)
def test_reductions(name):
    x = distinct(3, 3, 2)
    x = with_zeros(x) if name == "prod" else x.requires_grad_()
    checks(lambda v: getattr(ops, name)(v, [1], True), x)
    checks(lambda v: getattr(ops, name)(v, [0, -1]), x)


WORDS = {
    "mingru": ("linrec:axis=1,map=sig(a)*x,coef=1-sig(a)", [(3, 4), (3, 4)]),
    "reverse": ("linrec:axis=0,reverse,exclusive", [(3, 2), (1, 2)]),
    "densities": ("cumsum:axis=-1,exclusive,map=x*a+b,post=exp(-y)*(1-exp(-x*a))", [(3, 4), (3, 1), ()]),
    "opacities": ("cumprod:axis=1,exclusive,map=1-x,post=x*y", [(2, 4)]),
    "every": ("cumprod:axis=1,every=2,map=x*a", [(2, 5), (5,)]),
    "mean": ("mean:axes=0,keepdims,map=x*x*a", [(3, 2), (3, 1)]),
    "product": ("sum:axes=none,map=x*a*b", [(2, 2), (1, 2), (2, 1)]),
    "variance": ("sum:axes=1,map=(x-a)*(x-a),post=y*b", [(2, 3), (2, 1), (1, 1)]),
}


@pytest.mark.parametrize("name", WORDS)
def test_words(name):
    word, shapes = WORDS[name]
    tensors = [(distinct(*shape) / 3).requires_grad_() for shape in shapes]
    checks(lambda *t: tt.run(word, *t), *tensors)


def test_scalars_and_widths():
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    for name in ("cumsum", "cumprod", "cummax"):
        assert gradcheck(lambda v: getattr(ops, name)(v, 0), (x,))
    x = torch.rand(3, 4, requires_grad=True)
    y = tt.run("cumsum:>f64:axis=1", x)
    assert y.dtype == torch.float64 and torch.autograd.grad(y.sum(), x)[0].dtype == torch.float32
    for dtype in (torch.float16, torch.bfloat16):
        x = (torch.rand(3, 4) + 0.5).to(dtype).requires_grad_()
        got, = torch.autograd.grad(ops.cumprod(x, 1).sum(), x)
        assert got.dtype == dtype
        v = x.detach().double().requires_grad_()
        want, = torch.autograd.grad(v.cumprod(1).sum(), v)
        torch.testing.assert_close(got.double(), want, rtol=2e-2, atol=1e-2)


def test_means_with_post():
    checks(lambda v: tt.run("mean:axes=0,keepdims,map=x*x,post=y*y", v), distinct(3, 2).requires_grad_())


def test_ties_and_infinities():
    x = torch.tensor([2.0, 2.0, 1.0], requires_grad=True)
    assert torch.autograd.grad(ops.max(x), x)[0].tolist() == [0.5, 0.5, 0]
    assert torch.autograd.grad(ops.cummax(x, 0).sum(), x)[0].tolist() == [3, 0, 0]
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert torch.autograd.grad(ops.cumlogsumexp(x, 0, True)[1:].sum(), x)[0].isfinite().all()
    assert torch.autograd.grad(ops.l2(torch.zeros(3).mul(x)), x)[0].tolist() == [0, 0, 0]
    mask = torch.ones(3, dtype=torch.bool)
    x.grad = None
    tt.run("cumsum:axis=0,map=where(a,x,0)", x, mask).sum().backward()
    assert x.grad.tolist() == [3, 2, 1]
    with torch.inference_mode():
        assert not ops.cumsum(torch.ones(3), 0).requires_grad


# --- torch.func ------------------------------------------------------------------------------------------------------

def product(of):
    return lambda v: of.cumprod(v, 0).pow(2).sum()


TRANSFORMS = {
    "grad": lambda f, x: func.grad(f)(x),
    "vmap of grad": lambda f, x: func.vmap(func.grad(f))(torch.stack([x, x.flip(0)])),
    "grad of grad": lambda f, x: func.grad(lambda v: func.grad(f)(v).sum())(x),
    "jacrev of jacrev": lambda f, x: func.jacrev(func.jacrev(f))(x),
    "hessian": lambda f, x: func.hessian(f)(x),
    "jacrev of jacfwd": lambda f, x: func.jacrev(func.jacfwd(f))(x),
    "jvp": lambda f, x: func.jvp(f, (x,), (x + 1,))[1],
    "grad of jvp": lambda f, x: func.grad(lambda v: func.jvp(f, (v,), (x + 1,))[1])(x),
    "grad of jvp of grad": lambda f, x: func.grad(lambda v: func.jvp(func.grad(f), (v,), (x,))[1].sum())(x),
    "vjp": lambda f, x: func.vjp(f, x)[1](torch.tensor(2.0).double())[0],
}


@forward
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    x = torch.tensor([2.0, 0.0, 3.0, -1.0], dtype=torch.float64)
    ours, exact = TRANSFORMS[name](product(tt), x), "jvp" not in name and "jacfwd" not in name
    theirs = TRANSFORMS[name](product(torch), x if exact else x + 1e-9)  # whose forward mode is NaN at a zero
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@forward
def test_what_torch_func_would_get_wrong_is_refused():
    x = torch.rand(3)
    with pytest.raises(NotImplementedError, match="^op: .*hint: tally.torch.cumsum"):
        func.grad(lambda v: ops.cumsum(v, 0).sum())(x)
    for f in (tt.cumprod, tt.cumsum):  # torch would answer 0
        with pytest.raises(NotImplementedError, match="^op: forward mode"):
            func.jvp(lambda v: func.jvp(lambda w: f(w * w, 0), (v,), (x,))[1], (x,), (x,))


@forward
def test_tangents_of_a_gradient():
    from torch.autograd import forward_ad

    def second(f):
        x = torch.tensor([2.0, 3.0, -1.0], dtype=torch.float64, requires_grad=True)
        with forward_ad.dual_level():
            t = forward_ad.unpack_dual(f(forward_ad.make_dual(x, torch.ones_like(x)))).tangent
            return torch.autograd.grad(t.sum(), x)[0]

    torch.testing.assert_close(second(lambda v: ops.cumprod(v, 0)), second(lambda v: v.cumprod(0)))


def test_vmap():
    x, w = torch.rand(3, 4, 5), torch.rand(3, 5)
    scan = lambda v: ops.cumsum(v, 0, True)  # noqa: E731
    torch.testing.assert_close(func.vmap(scan, 1, 1)(x), ops.cumsum(x, 0, True))
    torch.testing.assert_close(func.vmap(func.vmap(scan))(x), ops.cumsum(x, 2, True))
    kept = lambda v: ops.sum(v, [-1], True)  # noqa: E731
    torch.testing.assert_close(func.vmap(kept, 2)(x), x.sum(1, keepdim=True).permute(2, 0, 1))
    torch.testing.assert_close(func.vmap(lambda v: ops.sum(v))(x), x.sum((1, 2)))
    torch.testing.assert_close(func.vmap(lambda v: ops.cumprod(v, 0))(x[0, 0]), x[0, 0])
    weighted = lambda v, a: tt.run("cumsum:axis=-1,map=x*a", v, a)  # noqa: E731
    torch.testing.assert_close(func.vmap(weighted)(x, w), (x * w[:, None]).cumsum(2))
    torch.testing.assert_close(func.vmap(weighted, (None, 0))(x[0], w), (x[0] * w[:, None]).cumsum(2))
    torch.testing.assert_close(func.vmap(weighted, (0, None))(x, w[0]), (x * w[0]).cumsum(2))
    raw = lambda v, a: ops.run(v, [a], "cumsum:f32:?x?:axis=1,a=f32,map=x*a")  # noqa: E731
    torch.testing.assert_close(func.vmap(raw)(x, w[:, None]), (x * w[:, None]).cumsum(2))
    centred = lambda v, a: tt.run("sum:axes=1,map=x*x,post=y*a", v, a)  # noqa: E731
    torch.testing.assert_close(func.vmap(centred)(x, w[:, 0, None, None]), (x * x).sum(2) * w[:, :1])
    assert func.vmap(lambda v: tt.cumsum(v, 0))(torch.ones(2, 3, dtype=torch.uint8)).dtype == torch.int64
    large = torch.full((2, 3), 2**32 - 1, dtype=torch.uint32)  # whose products have the sign's bit
    got = func.vmap(lambda v: tt.cumprod(v, 0))(large)
    assert torch.equal(got, tt.cumprod(large, 1)) and got[0].tolist() == [2**32 - 1, 1 - 2**33, 3 * 2**32 - 1]


@pytest.mark.skipif(not tt.PRIVATE, reason="derivatives go by steps alone")
@pytest.mark.parametrize("word, shapes", [("cumprod:axis=1", [(300, 900)]), ("cumprod:axis=1", [(3, 4)]),
                                          ("mean:axes=1,map=x*x*a,post=exp(y)", [(4, 5), (5,)]),
                                          ("prod:axes=0,keepdims", [(4, 5)]),
                                          ("cumsum:axis=0,map=x*a*b", [(4, 5), (1, 5), ()])])
def test_one_call_has_what_steps_have(monkeypatch, word, shapes):
    from tally._torch_operators import Rule
    tensors = [(torch.rand(s) * 0.02 + 0.99).requires_grad_() for s in shapes]
    y = tt.run(word, *tensors)
    g = torch.rand(y.shape)
    made = torch.autograd.grad(y, tensors, g, retain_graph=True)
    steps, run = [], Rule.run

    def counted(self, *arguments):
        steps.append(self.text)
        return run(self, *arguments)

    monkeypatch.setattr(Rule, "run", counted)
    again = torch.autograd.grad(y, tensors, g, retain_graph=True)
    one_by_one = len(steps)
    wanted = torch.autograd.grad(y, tensors, g, create_graph=True)
    assert len(steps) > one_by_one, "a gradient that has a gradient is made of operators"
    for first, second, third in zip(made, again, wanted):
        assert torch.equal(first, second) and first.shape == third.shape
        torch.testing.assert_close(first, third, rtol=1e-4, atol=1e-4 * float(third.detach().abs().max()))


@pytest.mark.skipif(not tt.PRIVATE, reason="derivatives go by steps alone")
@pytest.mark.parametrize("word, wrt", [("cumprod:axis=0", 0), ("cumlogsumexp:axis=0,reverse", 0),
                                       ("linrec:axis=0,a,map=(1-a)*x", 1)])
def test_a_kept_result_spares_the_memory_of_a_step(monkeypatch, word, wrt):
    from tally._torch_operators import MOST_BETWEEN, Rule
    shape = (1100, 1000)
    assert shape[0] * shape[1] * 4 > MOST_BETWEEN, "without the result steps run as operators"
    tensors = [(torch.rand(shape) * 0.02 + 0.99).requires_grad_() for _ in range(wrt + 1)]
    with torch.no_grad():
        tensors[0][500] = 0
    y, g = tt.run(word, *tensors), torch.rand(shape)
    wanted, = torch.autograd.grad(y, tensors[wrt], g, create_graph=True)
    monkeypatch.setattr(Rule, "run", None)
    made, = torch.autograd.grad(y, tensors[wrt], g, retain_graph=True)
    torch.testing.assert_close(made, wanted.detach(), rtol=1e-4, atol=1e-4 * float(wanted.detach().abs().max()))
    with torch.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(y, tensors[wrt], g)
    maxima = tt.cummax(tensors[0], 0)
    with torch.no_grad():
        maxima.mul_(2)
    monkeypatch.undo()
    torch.autograd.grad(maxima, tensors[0], g)


@pytest.mark.parametrize("name", FOLDS)
def test_backward_of_every_rank(name):
    for shape, dim in (((), None), ((), 0), ((3,), 0), ((2, 3), None), ((2, 3), 1)):
        for keepdim in (False, True):
            x = (torch.rand(shape, dtype=torch.float64) + 0.5).requires_grad_()
            y = getattr(tt, name)(x, dim, keepdim)
            wanted, = torch.autograd.grad(y.sum(), x, create_graph=True)
            made, = torch.autograd.grad(getattr(tt, name)(x, dim, keepdim).sum(), x)
            assert torch.equal(made, wanted.detach()), (name, shape, dim, keepdim)


def test_words_that_arrays_complete():
    import tally
    x, a = torch.rand(3, 4, requires_grad=True), torch.rand(4, requires_grad=True)
    for y in (tally.run("cumsum:axis=1,map=x*a", x, a), tally.run("cumsum:axis=1,map=x*a", x.detach(), a),
              tally.run("cumsum:axis=1,map=x*a", x, a.detach()), tally.linrec(x.detach(), a)):
        assert y.requires_grad
    assert tally.run("cumsum:axis=0", x, carry_in=[[1.0] * 4]).requires_grad
    for options, message in (({"device": "cpu"}, "device: tensors with a gradient"),
                             ({"out": torch.empty(3, 4)}, "out: the tensor has more than its elements")):
        with pytest.raises(tally.Error, match=message):
            tally.run("cumsum:axis=1", x, **options)
    with pytest.raises(tally.Error, match="out: the tensor has more than its elements"):
        tally.run("cumsum:axis=1", x.detach(), out=x)


@pytest.mark.skipif(not tt.PRIVATE, reason="derivatives go by steps alone")
def test_what_watches_operators_sees_steps(monkeypatch):
    from tally._torch_operators import Rule
    from torch.utils._python_dispatch import TorchDispatchMode
    seen, steps, run = [], [], Rule.run

    def counted(self, *arguments):
        steps.append(self.text)
        return run(self, *arguments)

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            seen.append(str(operator))
            return operator(*args, **(kwargs or {}))

    monkeypatch.setattr(Rule, "run", counted)
    x = torch.rand(300, 400, requires_grad=True)
    y = tt.cumprod(x, 1)
    y.backward(torch.ones(300, 400), retain_graph=True)
    (tt.cumprod(x[:3], 1).sum() + tt.cumprod(x[:4, :3].T, 1).sum()).backward()
    assert not steps, "one call, also of small tensors that are not packed"
    for g in (torch.ones(1).expand(300, 400), torch.ones(400, 300).T):
        before = len(steps)
        y.backward(g, retain_graph=True)
        assert len(steps) == before + 1, "g is no packed tensor"
    with Watch():
        y.backward(torch.ones(300, 400))
    assert seen.count("tally.run.default") == 2
    traced = torch.fx.experimental.proxy_tensor.make_fx(
        lambda v: torch.autograd.grad(tt.cumprod(v, 1).sum(), v)[0])(torch.rand(3, 4, requires_grad=True))
    assert sum("run" in str(n.target) for n in traced.graph.nodes) == 2
