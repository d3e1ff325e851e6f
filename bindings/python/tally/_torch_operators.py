# SPDX-License-Identifier: Apache-2.0
"""The operators of tally.torch: their declarations, words, batches and derivatives.

The operator `run` computes any word. All others are made of it wherever more than a kernel is wanted: their gradients,
batches and shapes are those of their words."""
import math
from functools import lru_cache

import torch
import torch.autograd.forward_ad as forward_ad

from . import _tally
from ._dtypes import FLOATS, NAMES as LONG_NAMES
from ._words import LETTERS, axes_in, axis_in, closed, fault, gradient, join, parse

NAMES = {getattr(torch, long): name for long, name in LONG_NAMES.items()}
DTYPES = {name: dtype for dtype, name in NAMES.items()}

SCANS = ("cumsum", "cumprod", "cumlogsumexp", "cummax", "cummin", "cumargmax", "cumargmin")
REDUCTIONS = ("sum", "prod", "mean", "l1", "l2", "sum_square", "log_sum", "log_sum_exp", "max", "min", "argmax",
              "argmin")
INDICES = ("argmax", "argmin", "cumargmax", "cumargmin")  # which have no derivatives
# The options of words that arguments behind `dim` turn on.
FLAGS = (dict.fromkeys(SCANS, ("exclusive", "reverse")) | dict.fromkeys(REDUCTIONS, ("keepdims",)) |
         dict.fromkeys(("cumargmax", "cumargmin"), ("reverse", "last")) |
         dict.fromkeys(("argmax", "argmin"), ("keepdims", "last")))

# Sums and products of narrow integers are wider, as torch's are. Tally's are unsigned where the input is, and torch
# shows their bits as int64. Means of integers are floats.
WIDE = dict.fromkeys(("bool", "i8", "i16", "i32"), "i64") | dict.fromkeys(("u8", "u16", "u32"), "u64")
WIDENED = ("cumsum", "cumprod", "sum", "prod")
FLOATS_ONLY = ("l2", "log_sum", "log_sum_exp")  # Tally truncates those of integers

# Names that torch does not promise. Without one of them, derivatives go by torch.library.register_autograd.
below_autograd = getattr(torch._C, "_AutoDispatchBelowAutograd", None)
in_functorch = getattr(torch._C, "_are_functorch_transforms_active", None)
is_batched = getattr(in_functorch and torch._C._functorch, "is_legacy_batchedtensor", lambda t: False)
dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
PRIVATE = below_autograd is not None and in_functorch is not None and hasattr(forward_ad, "_current_level")

KEPT = ("cumprod", "cumlogsumexp", "linrec")  # whose results gradients may keep; torch keeps no maxima
PLAIN = (torch.Tensor, torch.nn.Parameter)
MOST_BETWEEN = 4 << 20  # bytes between the steps of a gradient, on each thread
MOST_CACHED, MOST_BLOCK = 1 << 19, 1 << 16  # bytes of a tensor, and of one that an axis and what is inside of it have
MOST_COPIED = 1 << 18  # bytes of a tensor

library = torch.library.Library("tally", "FRAGMENT")
operators = {}
for _name in (*SCANS, *REDUCTIONS, "run"):
    _arguments = ["int dim" if _name in SCANS else "int[]? dim=None"]
    _arguments += [f"bool {flag.replace('keepdims', 'keepdim')}=False" for flag in FLAGS.get(_name, ())]
    _arguments = ", ".join(_arguments if _name != "run" else ["Tensor[] operands", "str word"])
    library.define(f"{_name}(Tensor x, {_arguments}) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
    operators[_name] = getattr(torch.ops.tally, _name).default


def dtype_of(x, field="dtype"):
    name = NAMES.get(x.dtype)
    if name is None:
        raise fault(field, f"elements of {x.dtype} have no name in Tally", "x.dequantize()" if x.is_quantized else "",
                    TypeError)
    return name


def checked(x, field="in"):
    """Of nested tensors not even the rank is known. Without private names nothing shows a tangent but this."""
    if x.is_nested:
        raise fault(field, "nested tensors have no kernels",
                    "x.to_padded_tensor(0.0), or run(word, x.values(), offsets=x.offsets()) of a jagged one",
                    NotImplementedError)
    if not PRIVATE and forward_ad.unpack_dual(x).tangent is not None:
        raise fault(field, "this torch shows Tally no way to forward mode", "reverse mode", NotImplementedError)
    return x


def examine(x, field="in"):
    """Raises what is wrong with a tensor that no kernel takes, such as a nested, quantised or sparse one."""
    dtype_of(checked(x, field), "dtype" if field == "in" else field)
    if x.layout is not torch.strided or x.device.type != "cpu":
        hint = "x.to_dense()" if x.layout is not torch.strided else "" if x.is_meta else "x.cpu()"
        raise fault("device", f"a {x.layout} tensor on {x.device} has no kernels here", hint, NotImplementedError)


def refuse(x, *arguments):
    """For every backend that has no kernels, such as CUDA. The first tensor at fault is that of the message."""
    examine(x)
    if arguments and isinstance(arguments[-1], str):  # those of `run`
        operands, word = arguments
        for name, operand in zip(parse(word).tensors[1:], operands):
            examine(operand, name)
    raise fault("device", "torch finds no kernels for these tensors", kind=NotImplementedError)


def refuse_jagged(_class, _operator, _types, args, _named):
    """For jagged tensors, which are of a class that dispatches by itself."""
    refuse(*args)


# --- words -----------------------------------------------------------------------------------------------------------

def word_of(name, dtype, rank, arguments, made=None):
    """The word of an operator's arguments. A scan of rank 0 is one of one element. `made`: the result's dtype."""
    dim, *flags = arguments or (None,)
    options = [option for option, flag in zip(FLAGS[name], flags) if flag]
    if name in SCANS:
        options.insert(0, f"axis={dims_in(name, dim, rank)}")
    elif dim is not None:
        axes = dims_in(name, dim, rank) if rank else ()
        options.insert(0, "axes=" + ("+".join(map(str, axes)) or "none"))
    return join(name, f"{dtype}>{made}" if made not in (None, dtype) else dtype, rank or int(name in SCANS), options)


def dims_in(name, dim, rank):
    """The dims that an operator's argument names. As in PyTorch, a tensor of rank 0 has one."""
    if name in SCANS:
        return axis_in(dim, rank or 1)
    return None if dim is None else axes_in(tuple(dim) if isinstance(dim, list) else dim, rank or 1)


def usual(name, dtype):
    """The dtype of a result if none is asked for; None: the word's own."""
    if name in FLOATS_ONLY and dtype not in FLOATS:
        raise fault("dtype", f"{name} of {dtype} would be truncated", "x.double()", TypeError)
    if name == "mean" and dtype not in FLOATS:
        return "f64"
    return WIDE.get(dtype) if name in WIDENED else None


def through(by_word, name, x, arguments, first=0, made=None):
    """What `by_word`, a function of a word and a tensor, makes of an operator's arguments. The operator's dims follow
    `first` others."""
    scalar, dtype = name in SCANS and x.ndim == first, dtype_of(x)
    word = word_of(name, dtype, x.ndim - first, arguments, made or usual(name, dtype))
    y = by_word(word, x.unsqueeze(first) if scalar else x)
    if made is None and name in WIDENED and y.dtype == torch.uint64 != x.dtype:
        # The bits stay. PyTorch 2.12 has no views of another dtype inside of vmap, where a copy serves.
        y = y.to(torch.int64) if transforms() else y.view(torch.int64)
    return y.squeeze(first) if scalar else y


def call(word, x, operands=()):
    """The operator `run`, with what torch.func needs around it."""
    if transforms():
        return Transformed.apply(word, x, *operands)
    return operators["run"](x, list(operands), word)


def transforms():
    """Whether torch.func is at work. The compiler knows of it by itself."""
    return PRIVATE and not torch.compiler.is_compiling() and in_functorch()


def empty(word, x, operands=()):
    """A result that is not computed."""
    word = parse(word)
    return torch.empty(word.shape(x.shape, operands), dtype=DTYPES[word.out], device=x.device)


def batch(by_word, dims, word, x, operands=()):
    """A batch of calls as one, whose tensors have the batch in front."""
    word, tensors = parse(word), (x, *operands)
    size = next(t.shape[d] for t, d in zip(tensors, dims) if d is not None)
    named = {name: (t, d) for name, t, d in zip(word.tensors, tensors, dims)}
    if "offsets" in named and named["offsets"][1] is not None:
        raise fault("offsets", "a batch has the same segments in all of its parts", kind=NotImplementedError)
    x, *operands = (t if name == "offsets" else t.unsqueeze(0) if d is None else t.movedim(d, 0)
                    for name, (t, d) in named.items())
    if "carry_in" in named:
        operands[-1] = operands[-1].expand(size, *operands[-1].shape[1:]).contiguous()
    text = word.batched([d is not None and size != 1 for name, (_, d) in named.items() if name in LETTERS])
    return by_word(text, x.expand(size, *x.shape[1:]), operands)


def places_of(operands):
    """The dims along which each operand lies."""
    return tuple(tuple(d for d, n in enumerate(o.shape) if n != 1) for o in operands)


# --- derivatives -----------------------------------------------------------------------------------------------------

def differentiated(word, places):
    """The word whose gradient is computed. Operands lie along the dims of their places."""
    word = parse(word)
    text = word.without_keepdims(places)
    return "sum" + text[4:] if is_divided(word) else text


@lru_cache(4096)
def steps_of(word, places, wrt):
    """The words of a gradient."""
    return gradient(differentiated(word, places), wrt)


@lru_cache(256)
def kernels_of(word, places, wrt, shape, segments):
    """The kernels of a gradient of packed tensors."""
    return _tally.gradient(closed(differentiated(word, places), shape, segments), wrt)


def packed(t):
    """A plain tensor without its history, packed; None: it is not plain, or too large for a copy."""
    if type(t) not in PLAIN or is_batched(t) or t.is_neg() or not (t.is_contiguous() or t.nbytes <= MOST_COPIED):
        return None
    return t.detach().contiguous()


def is_watched():
    """Whether a transform, the compiler or a mode of dispatch is at work, which see operators."""
    return not PRIVATE or transforms() or torch.compiler.is_compiling() or dispatch_modes() > 0 or \
        forward_ad._current_level >= 0


def is_divided(word):
    """Whether the gradient is that of a sum, divided by the number of elements, which a word would count."""
    return word.op == "mean" and not word.is_cut and "post" not in word.values


def is_repeated(word, wrt):
    """Whether the gradient is g, once for each element."""
    return wrt == "x" and word.op in ("sum", "mean") and word.is_linear and not word.is_cut


@lru_cache(4096)
def reads_of(word, places, wanted):
    """The tensors that gradients are made of, besides g. `wanted`: one bool for each tensor of the word."""
    tensors = parse(word).tensors
    wanted = [wrt for wrt, want in zip(tensors, wanted) if want and not is_repeated(parse(word), wrt)]
    return sorted({source for wrt in wanted for _, sources in steps_of(word, places, wrt)
                   for source in sources if isinstance(source, str) and source != "g"})


@lru_cache(4096)
def gains_of(word, places, wanted):
    """Whether the result, which tells what lies before each element, would spare gradients a step, the first of two."""
    word, others = parse(word), {"post", "reset", "segments", "every", "carry"}
    return word.op in KEPT and "exclusive" not in word.options and others.isdisjoint(word.values) and \
        any(want and len(steps_of(word.text, places, wrt)) == 2 for wrt, want in zip(word.tensors, wanted))


def is_beyond_caches(word, x):
    """Whether the steps of a gradient are likely to hand on more than a core's cache holds."""
    return x.nbytes > MOST_CACHED and math.prod(x.shape[word.axes[0]:]) * x.itemsize > MOST_BLOCK


class Rule:
    """How a word's derivatives follow from the tensors of a call, which are those of the word, the result y, and g."""

    def __init__(self, word, x, operands):
        self.text, self.word = word, parse(word)
        self.shapes = {name: t.shape for name, t in zip(self.word.tensors, (x, *operands))}
        self.places = places_of(o for name, o in zip(self.word.tensors[1:], operands) if name in LETTERS)

    def natural(self, name, t):
        """With the dims that a gradient's words have: none that keepdims left, and none along which an operand is the
        same; but one where a scan has rank 0."""
        if name in LETTERS:
            place = self.places[LETTERS.index(name)]
            return t if len(place) == t.ndim else t.reshape([t.shape[d] for d in place])
        if name in ("offsets", "carry_in"):
            return t
        if self.word.keepdims and name != "x":
            return t.reshape([t.shape[d] for d in self.word.kept()])
        return t.reshape(1) if t.ndim == 0 and self.word.is_scan else t

    def pull(self, wrt, tensors, g):
        """The gradient of a tensor."""
        g, shape = self.natural("g", g), self.shapes[wrt]
        if is_divided(self.word):
            g = g / (self.shapes["x"].numel() / max(g.numel(), 1))
        if is_repeated(self.word, wrt):
            for d in self.word.axes:
                g = g.unsqueeze(d)
            return g.expand(shape).to(DTYPES[self.word.dtypes.partition(">")[0]])
        at_once = self.at_once(wrt, tensors, g)
        if at_once is not None:
            return at_once.reshape(shape)
        steps = steps_of(self.text, self.places, wrt)
        return self.run(steps, tensors, g)[len(steps) - 1].reshape(shape)

    def at_once(self, wrt, tensors, g):
        """The same by one call, whose steps share what is in the cache. None where something wants to see the steps,
        or they would keep much memory: torch's own is better used again. Of tensors that are not packed small ones are
        copied."""
        if torch.is_grad_enabled() or is_watched():
            return None
        have = {"g": packed(g)} | {name: packed(self.natural(name, t)) for name, t in tensors.items()}
        if any(t is None for t in have.values()) or ("segments" in self.word.values and "offsets" not in have):
            return None
        segments = len(have["offsets"]) - 1 if "offsets" in have else None
        shape = tuple(self.shapes["x"]) or (1,) * self.word.is_scan
        kernels = kernels_of(self.text, self.places, wrt, shape, segments)
        is_spared = "y" in have and "y" in kernels.gains
        return kernels(**have) if is_spared or kernels.memory <= MOST_BETWEEN else None

    def run(self, steps, tensors, g):
        """All results of a gradient's steps, by number, and the tensors that they read, by name."""
        have = {name: self.natural(name, t) for name, t in tensors.items()} | {"g": g}
        for number, (word, sources) in enumerate(steps):
            x, *operands = (have[source] for source in sources)
            have[number] = call(word.text, x, list(spread(word, operands)))
        return have

    def push(self, wrt, tensors, tangent):
        """The tangent of the result. A gradient is linear in g, and this is its transpose: what the gradients of its
        steps hand back to g."""
        steps = steps_of(self.text, self.places, wrt)
        have = self.run(steps, tensors, torch.zeros_like(self.natural("y", tensors["y"])))
        back, from_g = {len(steps) - 1: self.natural(wrt, tangent)}, {"g"}
        for number, (_, sources) in enumerate(steps):
            from_g.update({number} if from_g.intersection(sources) else ())
        for number, (word, sources) in reversed(list(enumerate(steps))):
            x, *operands = (have[source] for source in sources)
            operands = list(spread(word, operands))
            rule, own = Rule(word.text, x, operands), dict(zip(word.tensors, (x, *operands))) | {"y": have[number]}
            for name, source in zip(word.tensors, sources):
                if source in from_g and number in back:
                    part = rule.pull(name, own, back[number]).reshape(have[source].shape)
                    back[source] = back[source] + part if source in back else part
        t = back.get("g", have["g"]).reshape(tensors["y"].shape)
        return t / (self.shapes["x"].numel() / max(t.numel(), 1)) if is_divided(self.word) else t


def spread(word, operands):
    """Operands with the dims along which they are the same, of size 1. States are packed."""
    for name, operand in zip(word.tensors[1:], operands):
        for d in range(word.rank) if name in LETTERS else ():
            operand = operand if d in word.places[name] else operand.unsqueeze(d)
        yield operand.contiguous() if name == "carry_in" else operand


class Backward(torch.autograd.Function):
    """What the two functions below share. Their arguments are a word and tensors, behind others."""

    @staticmethod
    def backward(ctx, g):
        tensors = dict(zip(ctx.names, ctx.saved_tensors))
        wanted = ctx.needs_input_grad
        first = len(wanted) - ctx.count
        return *[None] * first, *(ctx.rule.pull(name, tensors, g) if want else None
                                  for name, want in zip(ctx.rule.word.tensors, wanted[first:]))

    @staticmethod
    def jvp(ctx, *tangents):
        rule, *tensors, y = ctx.rule, *ctx.saved_tensors
        tangents = tangents[-ctx.count:]
        if rule.word.is_linear:
            return call(rule.text, rule.natural("x", tangents[0])).reshape(y.shape)
        names = rule.word.tensors
        named = dict(zip(names, tensors)) | {"y": y}
        return sum(rule.push(name, named, t) for name, t in zip(names, tangents)
                   if t is not None and name != "offsets")


class Derivative(Backward):
    """An operator of these arguments, which has this word; outside of torch.func. It has no setup_context, which would
    cost 10 us a call."""

    @staticmethod
    def forward(ctx, name, arguments, word, *tensors):
        with below_autograd():
            y = operators[name](tensors[0], *arguments)
        prepare(ctx, word, tensors, y, ctx.needs_input_grad[3:])
        return y


class Transformed(Backward):
    """A word inside of torch.func. Forward calls this again, so transforms nest."""

    @staticmethod
    def forward(word, x, *operands):
        return call(word, x, operands)

    @staticmethod
    def setup_context(ctx, inputs, y):
        prepare(ctx, inputs[0], inputs[1:], y, ctx.needs_input_grad[1:])

    @staticmethod
    def jvp(ctx, *tangents):
        if forward_levels() != 1:  # torch would drop the tangents of all levels but one
            raise fault("op", "forward mode has no forward mode inside", "torch.func.grad or jacrev for one of them",
                        NotImplementedError)
        return Backward.jvp(ctx, *tangents)

    @staticmethod
    def vmap(info, dims, word, x, *operands):
        return batch(call, dims[1:], word, x, operands), 0


def forward_levels():
    """How many levels of torch.func's forward mode are open; 0 if torch does not tell."""
    try:
        functorch = torch._C._functorch
        return [level.key() for level in functorch.get_interpreter_stack()].count(functorch.TransformType.Jvp)
    except AttributeError:
        return 0


def prepare(ctx, word, tensors, y, wanted):
    ctx.rule, ctx.count = Rule(word, tensors[0], tensors[1:]), len(tensors)
    named = dict(zip(ctx.rule.word.tensors, tensors)) | {"y": y}
    ctx.names = reads_of(word, ctx.rule.places, tuple(wanted))
    if gains_of(word, ctx.rule.places, tuple(wanted)) and not is_watched() and \
            is_beyond_caches(ctx.rule.word, tensors[0]):
        ctx.names = sorted({*ctx.names, "y"})
    ctx.save_for_backward(*(named[name] for name in ctx.names))
    if PRIVATE and forward_ad._current_level >= 0:
        ctx.save_for_forward(*tensors, y)
