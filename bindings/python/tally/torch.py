# SPDX-License-Identifier: Apache-2.0
"""Tally's scans and reductions for PyTorch: functions and operators (torch.ops.tally) that autograd, torch.func,
torch.compile and torch.export know. docs/torch.md explains them.

    y = tally.torch.cumprod(x, 1)                                                # x may require grad
    h = tally.torch.run("linrec:axis=1,map=sig(a)*x,coef=1-sig(a)", x, a=gate)   # any word"""
import torch
import torch.autograd.forward_ad as forward_ad

from . import _tally
from ._dtypes import FLOATS, NAMES as LONG_NAMES
from ._torch_kernels import computed, kernels_in_c
from ._torch_operators import (DTYPES, FLAGS, INDICES, NAMES, PRIVATE, REDUCTIONS, SCANS, Derivative, batch,
                               below_autograd, call, checked, dims_in, dtype_of, empty, examine, in_functorch, library,
                               operators, prepare, refuse, refuse_jagged, through, transforms, usual, word_of)
from ._words import LETTERS, axes_in, axis_in, check_number, complete, dtype_named, fault, number_type, parse

__all__ = [*SCANS, *REDUCTIONS, "linrec", "run"]


# --- kernels ---------------------------------------------------------------------------------------------------------

def by_words(name, by_word):
    """An operator's kernel by a function of a word, a tensor and operands."""
    if name == "run":
        return lambda x, operands, word: by_word(word, x, operands)
    return lambda x, *arguments: through(by_word, name, x, arguments)


def vmap_of(name):
    def by_word(word, x, operands=()):
        return operators["run"](x, list(operands), word)

    def of_word(info, dims, x, operands, word):
        return batch(by_word, (dims[0], *dims[1]), word, x, operands), 0

    def of_arguments(info, dims, x, *arguments):
        return through(lambda word, x: by_word(parse(word).batched(), x), name, x.movedim(dims[0], 0), arguments, 1), 0

    return of_word if name == "run" else of_arguments


# --- derivatives -----------------------------------------------------------------------------------------------------

def wants_derivative(x, operands=()):
    return forward_ad._current_level >= 0 or torch.is_grad_enabled() and (
        x.requires_grad or any(o.requires_grad for o in operands))


def derivative(name, arguments, word, x, operands=()):
    parse(word)
    if transforms():
        raise fault("op", "inside of torch.func an operator has no derivative", f"tally.torch.{name}",
                    NotImplementedError)
    return Derivative.apply(name, arguments, word, x, *operands)


def autograd_of(name):
    """An operator's kernel for tensors that may want a derivative."""
    op = operators[name]

    def of_word(x, operands, word):
        if wants_derivative(x, operands) and parse(word).out in FLOATS:
            return derivative(name, (operands, word), word, x, operands)
        with below_autograd():
            return op(x, operands, word)

    def of_arguments(x, *arguments):
        if not x.requires_grad:
            y = direct(name, x, *(arguments or (None,)))  # a second way through the dispatcher takes 1.7 us
            if y is not None:
                return y
        dtype = dtype_of(x)
        if wants_derivative(x) and name not in INDICES:
            return derivative(name, arguments, word_of(name, dtype, x.ndim, arguments, usual(name, dtype)), x)
        with below_autograd():
            return op(x, *arguments)

    return of_word if name == "run" else of_arguments


def register_public_autograd(name):
    """Derivatives by what torch promises, where a private name is missing. Forward mode would have tangents of zero, so
    functions refuse it."""
    def setup_context(ctx, inputs, output):
        x, *rest = inputs
        operands, word = rest if name == "run" else ((), word_of(name, dtype_of(x), x.ndim, rest))
        wanted = [t.requires_grad for t in (x, *operands)]
        ctx.wanted = [want and parse(word).out in FLOATS for want in wanted]
        prepare(ctx, word, (x, *operands), output, ctx.wanted)

    def backward(ctx, g):
        tensors = dict(zip(ctx.names, ctx.saved_tensors))
        of_x, *others = (ctx.rule.pull(name, tensors, g) if want else None
                         for name, want in zip(ctx.rule.word.tensors, ctx.wanted))
        return (of_x, others, None) if name == "run" else (of_x, *[None] * (len(operators[name]._schema.arguments) - 1))

    torch.library.register_autograd(f"tally::{name}", backward, setup_context=setup_context, lib=library)


# --- registration ----------------------------------------------------------------------------------------------------

try:
    from torch.nested._internal.nested_tensor import NestedTensor as Jagged  # only its own message depends on this name
except ImportError:
    Jagged = None

no_c = kernels_in_c()  # None, or why the kernels are Python's
for _name in operators:
    if no_c:
        library.impl(_name, by_words(_name, computed), "CPU")
    for _key in ("CompositeExplicitAutograd", "NestedTensorCPU", "NestedTensorCUDA"):
        library.impl(_name, refuse, _key)
    if Jagged is not None:
        torch.library.register_torch_dispatch(f"tally::{_name}", Jagged, refuse_jagged, lib=library)
    if PRIVATE:
        library.impl(_name, autograd_of(_name), "Autograd")
    elif _name not in INDICES:
        register_public_autograd(_name)
    torch.library.register_fake(f"tally::{_name}", by_words(_name, empty), lib=library)
    torch.library.register_vmap(f"tally::{_name}", vmap_of(_name), lib=library)


# --- functions -------------------------------------------------------------------------------------------------------

def _direct():
    """What functions try first. It gives None where an operator must be called, and if torch lacks one of the functions
    that tell this, it always does."""
    try:
        autograd = torch._C._autograd
        _tally._direct_unless((torch.is_grad_enabled, in_functorch, torch._C._len_torch_function_stack,
                               torch._C._len_torch_dispatch_stack, torch._C._is_tracing, autograd._profiler_enabled))
    except AttributeError:
        return lambda *_: None
    return _tally._direct if PRIVATE and not no_c else lambda *_: None


direct = _direct()


def _by_name(name, x, dim, *flags):
    arguments = dims_in(name, dim, checked(x).ndim), *flags
    return through(call, name, x, arguments) if transforms() else operators[name](x, *arguments)


def _scan(name, what):
    def function(x, dim, exclusive=False, reverse=False):
        y = direct(name, x, dim, exclusive, reverse)
        return _by_name(name, x, dim, exclusive, reverse) if y is None else y

    function.__doc__ = f"""{what} along `dim`.

    exclusive: an element's result lacks the element itself. reverse: from the end of `dim` to its start.
    Returns a tensor of the shape of x."""
    return function


def _scan_index(name, what):
    def function(x, dim, reverse=False, last=False):
        y = direct(name, x, dim, reverse, last)
        return _by_name(name, x, dim, reverse, last) if y is None else y

    function.__doc__ = f"""The indices of the {what} elements so far along `dim`.

    reverse: from the end of `dim` to its start. last: of equal elements the last one so far counts, as in torch.cummax.
    Returns int64, of the shape of x."""
    return function


def _reduction(name, what):
    def function(x, dim=None, keepdim=False):
        y = direct(name, x, dim, keepdim)
        return _by_name(name, x, dim, keepdim) if y is None else y

    function.__doc__ = f"""{what} over `dim`, a number or several; without it over all dims.

    keepdim: the dims stay, with size 1."""
    return function


def _index(name, what):
    def function(x, dim=None, keepdim=False, last=False):
        y = direct(name, x, dim, keepdim, last)
        return _by_name(name, x, dim, keepdim, last) if y is None else y

    function.__doc__ = f"""The index of the {what} element over `dim`, a number or several; without it over all dims.

    keepdim: the dims stay, with size 1. last: of equal elements the last one counts. Returns int64."""
    return function


cumsum = _scan("cumsum", "The sums of elements so far")
cumprod = _scan("cumprod", "The products of elements so far")
cumlogsumexp = _scan("cumlogsumexp", "The logarithms of the sums of exponentials so far")
cummax = _scan("cummax", "The largest elements so far, without their indices,")
cummin = _scan("cummin", "The smallest elements so far, without their indices,")
cumargmax = _scan_index("cumargmax", "largest")
cumargmin = _scan_index("cumargmin", "smallest")
sum = _reduction("sum", "The sum")
prod = _reduction("prod", "The product")
mean = _reduction("mean", "The mean")
l1 = _reduction("l1", "The sum of magnitudes")
l2 = _reduction("l2", "The square root of the sum of squares")
sum_square = _reduction("sum_square", "The sum of squares")
log_sum = _reduction("log_sum", "The logarithm of the sum")
log_sum_exp = _reduction("log_sum_exp", "The logarithm of the sum of exponentials")
max = _reduction("max", "The largest element")
min = _reduction("min", "The smallest element")
argmax = _index("argmax", "largest")
argmin = _index("argmin", "smallest")
for _name in operators:
    if _name != "run":
        globals()[_name].__name__ = globals()[_name].__qualname__ = _name


def run(word, x, a=None, b=None, c=None, d=None, *, offsets=None, carry_in=None):
    """What a word computes of a tensor and its operands, with gradients for all of them.

    The word may lack the dtype, the sizes and the operands, which the tensors have: "cumsum:axis=1,map=x*a". Operands
    are broadcast against x; numbers serve, too.

    offsets: int32 or int64, which cut the axis into segments; one more than there are segments. carry_in: the states
    that a scan begins with, of the shape of x with size 1, or the number of segments, on the axis. The word may lack
    segments= and carry=in."""
    if not isinstance(word, str):
        raise fault("word", f"{word!r} is no text", kind=TypeError)
    _tensor(x)
    given = [t for t in (a, b, c, d) if t is not None]
    if any(t is not None for t in (a, b, c, d)[len(given):]):
        raise fault("usage", "operands are a, b, c, d in this order, without gaps")
    tensors, operands = [], []
    checked(x)
    for letter, value in zip(LETTERS, given):
        t = _beside(letter, value, x) if isinstance(value, torch.Tensor) else _numbers(letter, value, word, x)
        checked(t)
        if t.ndim > x.ndim:
            raise fault(letter, f"rank {t.ndim} is above that of x, {x.ndim}")
        for _ in range(x.ndim - t.ndim):
            t = t.unsqueeze(0)
        tensors.append(t)
        operands.append((dtype_of(t, letter), t.shape, not isinstance(value, torch.Tensor)))
    more, segments = [], None
    if offsets is not None:
        offsets = torch.as_tensor(offsets)
        segments = dtype_of(offsets, "offsets"), offsets.numel() - 1
        more.append(_beside("offsets", offsets, x))
    if carry_in is not None:
        if not isinstance(carry_in, torch.Tensor):
            raise fault("carry_in", f"{type(carry_in).__name__} is no tensor", "torch.as_tensor", TypeError)
        more.append(_beside("carry_in", carry_in, x))
    word = complete(word, dtype_of(x), x.shape, operands, segments, carry_in is not None)
    return call(word, x, tensors + [checked(t).contiguous() for t in more])


def _tensor(x):
    if not isinstance(x, torch.Tensor):
        raise fault("in", f"{type(x).__name__} is no tensor", "torch.as_tensor(x)", TypeError)
    return x


def _beside(field, t, x):
    if t.device != x.device:
        raise fault(field, f"it is on {t.device}, and the tensor on {x.device}")
    return t


def _numbers(letter, value, word, x):
    """A number, or a list of them, as a tensor."""
    dtype = number_type(word, dtype_of(x), letter)
    check_number(letter, value, dtype)
    return torch.tensor(value, dtype=DTYPES[dtype], device=x.device)


def linrec(x, coef, dim, exclusive=False, reverse=False, *, offsets=None, carry_in=None):
    """The linear recurrence y[i] = coef[i]*y[i-1] + x[i] along `dim`. coef is broadcast against x. `offsets` cut `dim`
    into segments, and `carry_in` are the states to begin with."""
    if checked(_tensor(x)).ndim == 0:
        return linrec(x.unsqueeze(0), coef, dim, exclusive, reverse, offsets=offsets, carry_in=carry_in).squeeze(0)
    flags = ",exclusive" * bool(exclusive) + ",reverse" * bool(reverse)
    return run(f"linrec:axis={axis_in(dim, x.ndim)}{flags}", x, coef, offsets=offsets, carry_in=carry_in)


# --- the plain functions ---------------------------------------------------------------------------------------------

def plain(name, x, options):
    """tally.NAME(x, **options) for tensors that are more than their elements, and where torch traces."""
    try:
        return _plain(name, x, dict(options))
    except RuntimeError as error:  # kernels in C can raise no other
        field, colon, message = str(error).partition(": ")
        if isinstance(error, NotImplementedError) or not (colon and field.isidentifier()):
            raise
        raise fault(field, message) from error


def _plain(name, x, options):
    out, dtype, axis = options.pop("out", None), options.pop("dtype", None), options.pop("axis", None)
    initial, device = options.pop("include_initial", False), options.pop("device", None)
    options.pop("threads", None)
    name = {"cumulative_sum": "cumsum", "cumulative_prod": "cumprod"}.get(name, name)
    if device not in (None, "cpu"):
        raise fault("device", "tensors of torch are computed where they lie", "no device=")
    y = _scanned(name, x, axis, dtype, initial, options) if name in SCANS else _reduced(name, x, axis, dtype, options)
    return y if out is None else _stored(y, out)


def _scanned(name, x, axis, dtype, initial, options):
    if axis is None and x.ndim > 1:
        raise fault("axis", f"an array of rank {x.ndim} needs axis=", "x.reshape(-1) scans all elements")
    rank = x.ndim or 1
    axis = axis_in(0 if axis is None else axis, rank)
    flags = [bool(options.pop(flag, False)) for flag in FLAGS[name]]
    if initial:  # one more element, whose value does not matter, in an exclusive scan
        x = x.unsqueeze(0) if x.ndim == 0 else x
        one = [1 if d == axis % rank else n for d, n in enumerate(x.shape)]
        x, flags[0] = torch.cat([x, x.new_zeros(one)], axis), True
    return _with_options(name, x, (axis, *flags), dtype, options)


def _reduced(name, x, axis, dtype, options):
    dims = None if axis is None else axes_in(axis, checked(x).ndim)
    flags = [bool(options.pop(flag, False)) for flag in FLAGS[name]]
    return _with_options(name, x, (dims, *flags), dtype, options)


def _with_options(name, x, arguments, dtype, options):
    more = [f"{key}={_named(value)}" for key, value in options.items() if value not in (None, "run", "propagate")]
    if dtype is None and not more:
        return _by_name(name, x, *arguments)

    def by_word(word, x):
        return call(word + ("," if word.count(":") == 3 else ":") * bool(more) + ",".join(more), x)

    return through(by_word, name, checked(x), arguments, made=None if dtype is None else dtype_named(_named(dtype)))


PYTHONS = {float: "f64", int: "i64", bool: "bool"}


def _named(value):
    """A dtype as words have it, whichever library names it; other texts as they are."""
    for names in (NAMES, PYTHONS):
        if value in names:
            return names[value]
    name = value if isinstance(value, str) else getattr(value, "name", None) or getattr(value, "__name__", str(value))
    return LONG_NAMES.get(name, name)


def _stored(y, out):
    if not isinstance(out, torch.Tensor):
        raise fault("out", f"{type(out).__name__} is no tensor, and the result is one", kind=TypeError)
    if out.requires_grad or y.requires_grad:
        raise fault("out", "it would have a gradient", "torch.no_grad()")
    if out.dtype != y.dtype or out.shape != y.shape:
        raise fault("out", f"it is {tuple(out.shape)} of {out.dtype}, and the result {tuple(y.shape)} of {y.dtype}")
    return out.copy_(y)


# --- tracing ---------------------------------------------------------------------------------------------------------

def _traced(name):
    """What torch.compile sees in place of a plain function, which it cannot look into."""
    function = getattr(_tally, name, None)
    if function is not None:
        @torch.compiler.substitute_in_graph(function, skip_signature_check=True)
        def traced(x, /, **options):
            return plain(name, x, options)


for _name in (*SCANS, "cumulative_sum", "cumulative_prod", *REDUCTIONS):
    _traced(_name)
torch.compiler.substitute_in_graph(_tally._direct, skip_signature_check=True)(lambda *_: None)
