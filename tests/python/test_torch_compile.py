# SPDX-License-Identifier: Apache-2.0
"""tally.torch in torch.compile and torch.export: one graph, right values, and gradients of the same bits."""
import pytest
from conftest import FOLDS, SCANS, need, tally

torch = need("torch")
import tally.torch as tt  # noqa: E402

ops = torch.ops.tally
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


@pytest.mark.parametrize("name", [*SCANS, *FOLDS])
def test_opcheck(name):
    x = torch.rand(3, 4, requires_grad=True)
    torch.library.opcheck(getattr(ops, name).default, (x, 1) if name in SCANS else (x, [1]))


def test_opcheck_of_other_operators():
    x, a = torch.rand(3, 4, requires_grad=True), torch.rand(3, 1, requires_grad=True)
    torch.library.opcheck(ops.argmax.default, (x.detach(), [0], True))
    torch.library.opcheck(ops.cumargmax.default, (x.detach(), 1, True))
    torch.library.opcheck(ops.cumsum.default, (torch.ones(3, dtype=torch.uint8), 0))
    torch.library.opcheck(ops.run.default, (x, [a], "linrec:f32:?x?:axis=1,a=f32,map=sig(a)*x,coef=1-sig(a)"))
    torch.library.opcheck(ops.run.default, (x, [], "cumsum:f32>f64:?x?:axis=0,every=2"))
    torch.library.opcheck(ops.run.default, (x.detach(), [], "sum:f32>f64:?x?:axes=0,every=2"))
    torch.library.opcheck(ops.run.default, (x, [a], "sum:f32:?x?:axes=1,keepdims,a=f32/0,post=y*a"))


def compiled(f, *tensors, **options):
    """In one graph, and compared with the same function without a compiler."""
    first, second = ([t.clone().requires_grad_() for t in tensors] for _ in range(2))
    y = torch.compile(f, fullgraph=True, **options)(*first)
    z = f(*second)
    assert torch.equal(y, z)
    y.sum().backward()
    z.sum().backward()
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(first, second))


FUNCTIONS = {
    "operator": lambda v, a: ops.cumprod(v.sin(), 1) * a,
    "function": lambda v, a: tt.cumlogsumexp(v, 1, reverse=True) * a,
    "reductions": lambda v, a: tt.log_sum_exp(v * a, (0, 1)) + tt.max(v, 1),
    "word": lambda v, a: tt.run("linrec:axis=1,map=sig(a)*x,coef=1-sig(a)", v.sin(), a),
    "number": lambda v, a: tt.run("linrec:axis=1,coef=0.5,map=x*a", v * a, 0.25),
    "linrec": lambda v, a: tt.linrec(v, a, -1),
    "plain": lambda v, a: tally.cumsum(v.sin(), axis=1, reverse=True) * a,
    "plain with options": lambda v, a: tally.cumsum(v * a, axis=1, dtype=torch.float64, order="serial"),
    "plain sum": lambda v, a: tally.sum(v * a, axis=(0, 1), keepdims=True),
    "include_initial": lambda v, a: tally.cumulative_sum(v * a, axis=0, include_initial=True),
    "vmap": lambda v, a: torch.func.vmap(lambda w: tt.cumprod(w, 0))(v * a),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compile(name):
    compiled(FUNCTIONS[name], torch.rand(3, 4), torch.rand(3, 1), backend="aot_eager")


def test_inductor():
    # No loops of inductor's own: those take it half a minute to compile for the first time.
    compiled(lambda v, a: tt.run("linrec:axis=1,map=sig(a)*x,coef=1-sig(a)", tt.cumprod(v, 1), a),
             torch.rand(3, 4), torch.rand(3, 4))


def test_dynamic_dims():
    for call, dim, shape in ((tt.cumsum, 1, (3, 4, 5)), (tt.sum, [0, -1], (4,)),
                             (lambda v, dim: tally.sum(v, axis=dim), (0, 1), (5,))):
        f = torch.compile(call, fullgraph=True, backend="aot_eager", dynamic=True)
        assert f(torch.rand(3, 4, 5), dim).shape == shape


def test_dynamic_shapes():
    f = torch.compile(lambda v, a: tt.run("cumsum:axis=1,map=x*a", tt.cumprod(v, 0), a) + tt.sum(v, 1, True),
                      fullgraph=True, backend="aot_eager", dynamic=True)
    for n, m in ((3, 4), (5, 6), (7, 2)):
        x, a = torch.rand(n, m, requires_grad=True), torch.rand(n, 1)
        y = f(x, a)
        torch.testing.assert_close(y, (x.cumprod(0) * a).cumsum(1) + x.sum(1, True))
        torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0],
                                   torch.autograd.grad(((x.cumprod(0) * a).cumsum(1) + x.sum(1, True)).sum(), x)[0])


def test_no_breaks():
    x = torch.rand(3, 4)
    for f in (lambda v: tally.cumprod(v.sin(), axis=1) * 2, lambda v: tt.cummax(v.sin(), 1) * 2,
              lambda v: tally.argmax(v.sin(), axis=1, last=True) * 2,
              lambda v: tally.cumargmin(v.sin(), axis=1) * 2):
        assert torch._dynamo.explain(f)(x).graph_break_count == 0


def test_export():
    class Module(torch.nn.Module):
        def forward(self, v):
            return tally.cumsum(tt.run("cumprod:axis=1,map=1-x", v), axis=0)

    sizes = {0: torch.export.Dim("n"), 1: torch.export.Dim("m")}
    program = torch.export.export(Module(), (torch.rand(3, 4),), dynamic_shapes=(sizes,))
    calls = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert ops.run.default in calls and ops.cumsum.default in calls
    x = torch.rand(5, 2)
    torch.testing.assert_close(program.module()(x), (1 - x).cumprod(1).cumsum(0))


def test_fakes_refuse_what_kernels_do():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(3, 4)
        assert tally.cumsum(x, axis=1).shape == (3, 4) and ops.sum(x, [0], True).shape == (1, 4)
        assert ops.mean(torch.empty(3, dtype=torch.int32)).dtype == torch.float64
        integers = torch.empty(3, dtype=torch.int32)
        for call in (lambda: ops.cumsum(x, 2), lambda: ops.sum(x, [7]), lambda: ops.l2(integers)):
            with pytest.raises((tally.Error, TypeError)):
                call()
