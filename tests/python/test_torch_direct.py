# SPDX-License-Identifier: Apache-2.0
"""Functions of tally.torch that go past torch's dispatcher: where they do, results and errors are the operators', and
where anything wants to see the operator, they do not. The operators' kernels go on the same way."""
import sys
import warnings

import pytest
from conftest import need

torch = need("torch")
import tally.torch as tt  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
          torch.int8, torch.uint64, torch.uint32, torch.uint16, torch.uint8, torch.bool)
NAMES = (*tt.SCANS, *tt.REDUCTIONS)
DIRECT = tt.PRIVATE and tt.no_c is None
needs_direct = pytest.mark.skipif(not DIRECT, reason=f"functions call operators: {tt.no_c}")


def outcome(function, *arguments):
    """The result, or the exception's type and first line."""
    try:
        return function(*arguments)
    except Exception as error:  # whatever it is, both must raise it
        return type(error), str(error).split("\n", maxsplit=1)[0]


def same(a, b):
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return a == b
    facts = [(t.dtype, t.shape, t.stride(), t.device, type(t)) for t in (a, b)]
    return facts[0] == facts[1] and (a.is_meta or bits(a).equal(bits(b)))


def is_wrong_dim(got):
    return isinstance(got, tuple) and got[1].startswith("axis: ") and not issubclass(got[0], RuntimeError)


def bits(t):
    return t.reshape(-1).view(torch.uint8)


def inputs():
    """Some of every dtype, and several layouts of one."""
    yield from ((torch.rand(3, 4) * 5).to(dtype) for dtype in DTYPES)
    x = torch.rand(4, 6, 5) + .5
    yield from (x, x.transpose(0, 2), x[:, ::2, 1:4], x[:1].expand(3, 6, 5), x[0, 0, 0], x[:, :0], x[:0])
    yield from (torch.rand([1] * 9), torch.rand(3, dtype=torch.complex64), torch.rand(3).to_sparse(),
                torch.empty(3, device="meta"))


def watch(monkeypatch, caller):
    """What the functions of this name get without the dispatcher from here on; None each time that it is needed."""
    answers, direct = [], tt.direct

    def watched(*arguments):
        y = direct(*arguments)
        if sys._getframe(1).f_code.co_name == caller:
            answers.append(y)
        return y

    monkeypatch.setattr(tt, "direct", watched)
    return answers


@pytest.fixture
def seen(monkeypatch):
    return watch(monkeypatch, "function")


@pytest.fixture
def seen_by_operators(monkeypatch):
    return watch(monkeypatch, "of_arguments")


def by_dispatcher(operator, *arguments):
    """An operator's result by its kernel for the CPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tt, "direct", lambda *_: None)
        return operator(*arguments)


@pytest.mark.parametrize("name", NAMES)
def test_results_are_the_operators(name, seen):
    function, operator, scan = getattr(tt, name), getattr(torch.ops.tally, name), name in tt.SCANS
    flags = [(True,), (False, True)][:len(tt.FLAGS[name])]
    dims = (1, -1) if scan else (1, None, (1, 0), [-1, 0], ())
    other = (3, None, "0", 1.0, 2**70) if scan else (3, "0", [0, 0], [1.5])
    calls = [(x, dims[i % len(dims)]) for i, x in enumerate(inputs())]
    calls += [(torch.ones(3, 4), 0, *given) for given in [*flags, [True] * len(tt.FLAGS[name]), (1,), (None,)]]
    calls += [(torch.ones(3, 4), dim) for dim in (*dims, *other)]
    wrong = 0
    for x, dim, *given in calls:
        got = outcome(function, x, dim, *given)
        arguments = (operator, x, [dim] if isinstance(dim, int) and not scan else dim, *given)
        wanted = outcome(by_dispatcher, *arguments)
        if is_wrong_dim(got):  # which functions tell in their own words
            assert isinstance(wanted, tuple), (x, dim, wanted)
            wrong += 1
        else:
            assert same(got, wanted), (x, dim, given, got, wanted)
        assert same(outcome(*arguments), wanted), (x, dim, given, wanted)
    assert (sum(answer is not None for answer in seen) > 15) == DIRECT and wrong >= len(other)


@needs_direct
def test_calls_are_direct(seen):
    x = torch.rand(3, 4)
    for name in NAMES:
        getattr(tt, name)(x, dim=1)
    with torch.no_grad():
        tt.cumsum(torch.nn.Parameter(x), 0)
        tt.cumsum(x.clone().requires_grad_(), 0)
    with torch.inference_mode():
        assert tt.cumsum(x, 0).is_inference() and torch.ops.tally.cumsum(x, 0).is_inference()
    assert len(seen) == len(NAMES) + 3 and all(answer is not None for answer in seen)


@needs_direct
def test_operators_go_on_directly(seen_by_operators):
    x = torch.rand(3, 4)
    for name in NAMES:
        torch.library.opcheck(getattr(torch.ops.tally, name), (x, 1 if name in tt.SCANS else [1]))
        seen_by_operators.clear()
        getattr(torch.ops.tally, name)(x, 1 if name in tt.SCANS else [1])
        assert [answer is not None for answer in seen_by_operators] == [True]
    assert torch.ops.tally.sum(x).shape == () and seen_by_operators[-1] is not None  # torch leaves out dim=None
    assert torch.ops.tally.cumprod(x.clone().requires_grad_(), 1).requires_grad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x)
        assert forward_ad.unpack_dual(torch.ops.tally.cumsum(dual, 1)).tangent.equal(tt.cumsum(x, 1))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch.ops.tally.cumsum(x, 0)
    assert "tally::cumsum" in {event.key for event in profile.key_averages()}
    negative = torch.complex(x, x).conj().imag
    torch.testing.assert_close(torch.ops.tally.cumsum(negative, 1), (-x).cumsum(1))


class Seen:
    """A mode that collects what it sees."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def see(self, function, types, arguments=(), options=None):
        self.calls.append(str(function))
        return function(*arguments, **(options or {}))


class Functions(Seen, TorchFunctionMode):
    __torch_function__ = Seen.see


class Dispatches(Seen, TorchDispatchMode):
    __torch_dispatch__ = Seen.see


@pytest.mark.parametrize("mode", [Functions, Dispatches])
def test_modes_see_operators(mode, seen):
    with mode() as m:
        tt.cumsum(torch.ones(3), 0)
    assert any("tally.cumsum" in call for call in m.calls) and seen == [None]


def test_tracers_see_operators(seen):
    x = torch.ones(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "tally::cumsum" in str(torch.jit.trace(lambda v: tt.cumsum(v, 0), x, check_trace=False).graph)
    for mode in ("real", "fake", "symbolic"):
        assert "tally.cumsum" in make_fx(lambda v: tt.cumsum(v, 0), tracing_mode=mode)(x).code
    assert "tally.cumsum" in make_fx(lambda v: tt.cumsum(v, 0), pre_dispatch=True)(x).code
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        tt.cumsum(x, 0)
    assert "tally::cumsum" in {event.key for event in profile.key_averages()}
    assert len(seen) == 6 and not any(answer is not None for answer in seen)


def test_transforms_and_derivatives_go_on(seen):
    x = torch.rand(3, 4)
    torch.func.vmap(lambda v: tt.cumsum(v, 0))(x)
    torch.func.grad(lambda v: tt.cumprod(v, 0).sum())(x[0])
    assert tt.cumprod(x.clone().requires_grad_(), 1).requires_grad
    assert tt.cumprod(torch.nn.Parameter(x), 1).requires_grad
    with forward_ad.dual_level():
        tt.cumsum(x, 0)
    negative = torch.complex(x, x).conj().imag
    assert negative.is_neg()
    torch.testing.assert_close(tt.cumsum(negative, 1), (-x).cumsum(1))
    subclass = x.as_subclass(type("Other", (torch.Tensor,), {}))
    assert type(tt.cumsum(subclass, 1)) is type(subclass)
    tt.cumsum(torch._to_functional_tensor(x), 1)
    tt.cumsum(torch._efficientzerotensor([3]), 0)
    assert len(seen) >= 9 and not any(answer is not None for answer in seen)


def test_a_torch_without_these_functions(monkeypatch):
    monkeypatch.delattr(torch._C, "_is_tracing")
    assert tt._direct()("cumsum", torch.ones(3), 0) is None
