# SPDX-License-Identifier: Apache-2.0
"""Tally's scans and reductions in JAX, on the CPU, under jit, vmap and grad.

    import jax, tally.jax
    f = jax.jit(lambda x: tally.jax.cumprod(x, axis=1, reverse=True))

XLA runs every kernel by one handler, libtally-xla, which gets the kernel's word as an attribute.
The gradient of a word is a few further words (docs/gradients.md). They run by the same handler, so
that they have gradients, too.
"""

import ctypes as _ctypes
import functools as _functools
import pathlib as _pathlib
import re as _re

import jax as _jax
import jax.numpy as _jnp
from jax.custom_derivatives import SymbolicZero as _SymbolicZero

from . import _tally, _calls, _words

# ---- the handler ---------------------------------------------------------------------------------


def _check_version():
    """Raises ImportError unless XLA takes handlers of version 0.1.

    XLA tests the version when it first compiles. After a refusal it compiles nothing on the CPU any
    more, not even without Tally. So the header that jaxlib installs is read before.
    """
    header = _pathlib.Path(_jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
    try:
        text = header.read_text(encoding="utf-8")
    except OSError as error:
        raise ImportError(f"tally.jax: the version of XLA's FFI is unknown: {error}") from error
    found = dict(_re.findall(r"^#define XLA_FFI_API_(MAJOR|MINOR) +(\d+)$", text, _re.MULTILINE))
    version = int(found.get("MAJOR", -1)), int(found.get("MINOR", -1))
    if version[0] != 0 or version[1] < 1:
        raise ImportError(f"tally.jax: XLA's FFI has version {version[0]}.{version[1]}; "
                          "Tally needs 0.1 or a later version of 0")


def _register():
    _check_version()
    library = _ctypes.CDLL(str(_pathlib.Path(__file__).with_name("libtally-xla.so")))
    _jax.ffi.register_ffi_target("tally", _jax.ffi.pycapsule(library.tally_xla), platform="cpu")
    return library  # it stays open


_library = _register()

# ---- words ---------------------------------------------------------------------------------------

_DTYPES = {name: _jnp.dtype(dtype) for dtype, name in _calls.NAMES.items()}
_RESULTS = "out", "carry_out"


@_functools.lru_cache(maxsize=4096)
def _function(word):
    """The differentiable function of a word, of its arrays in, a, b, c, d, offsets, carry_in."""
    options = _words.options_of(word.split(":", 3)[3]) if word.count(":") > 2 else []
    _words.check_places(options)
    given = [tensor for tensor in _tally._tensors(word) if tensor[0] not in _RESULTS]
    results = [_jax.ShapeDtypeStruct(shape, _DTYPES[dtype])
               for name, dtype, shape in _tally._tensors(word) if name in _RESULTS]
    # A batch is one more dimension of the word, but each part has offsets of its own.
    is_cut = any(name == "offsets" for name, _, _ in given)
    call = _jax.ffi.ffi_call("tally", results[0] if len(results) == 1 else results,
                             vmap_method="sequential" if is_cut else "broadcast_all")
    run = _functools.partial(call, word=word)
    if _jnp.issubdtype(results[0].dtype, _jnp.floating):
        run = _jax.custom_vjp(run)
        run.defvjp(_functools.partial(_forward, word), _functools.partial(_backward, word),
                   symbolic_zeros=True)
        prepare = lambda array, shape: array.reshape(shape)
    else:
        prepare = lambda array, shape: _jax.lax.stop_gradient(array).reshape(shape)

    def function(*arrays):
        return run(*(prepare(array, shape) for array, (_, _, shape) in zip(arrays, given)))

    return _jax.jit(function, inline=True)


# ---- gradients -----------------------------------------------------------------------------------

# A last step that only repeats the gradient along reduced axes; XLA does that without a kernel.
_SPREAD = _re.compile(r"sum:[^:]+:[^:]+:axes=none,a=\w+(?:/[0-9+none]+)?,map=a(?:/([0-9]+))?")


@_functools.lru_cache(maxsize=4096)
def _names(word):
    """The tensors that a word reads, by the names that gradients have for them."""
    return ["x" if name == "in" else name for name, _, _ in _tally._tensors(word) if name not in _RESULTS]


def _steps(word, name):
    """The words of a gradient: (number, word, sources, match if it only repeats)."""
    for step, (step_word, sources) in enumerate(_tally._gradient(word, name)):
        spread = _SPREAD.fullmatch(step_word)
        yield step, step_word, sources[1:] if spread else sources, spread


def _forward(word, *arrays):
    values = dict(zip(_names(word), (array.value for array in arrays)))
    wanted = {name: None for name, array in zip(_names(word), arrays) if array.perturbed}
    result = _function(word)(*values.values())
    values["y"] = result[0] if isinstance(result, (list, tuple)) else result
    used = {source for name in wanted for step in _steps(word, name) for source in step[2]}
    kept = {name: value for name, value in values.items() if name in used}
    return result, (wanted, kept, [None] * len(arrays))


def _backward(word, residuals, gradient):
    wanted, kept, gradients = residuals
    given = gradient if isinstance(gradient, (list, tuple)) else [gradient]
    if not all(isinstance(part, _SymbolicZero) for part in given):
        known = {}
        given = [_jnp.zeros(part.shape, part.dtype) if isinstance(part, _SymbolicZero) else part for part in given]
        for name in wanted:
            values = dict(kept, **dict(zip(("g", "gcarry"), given)))
            gradients[_names(word).index(name)] = _differentiate(word, name, values, known)
    return tuple(gradients)


def _differentiate(word, name, values, known):
    """The gradient with respect to a tensor. `known` has the steps that others made before."""
    for step, step_word, sources, spread in _steps(word, name):
        arrays = [values[source] for source in sources]
        key = step_word, *map(id, arrays)
        if key not in known:
            known[key] = (_spread(step_word, arrays[0], spread[1]) if spread else
                          _function(step_word)(*arrays))
        values[step] = known[key]
    shapes = {tensor: shape for tensor, _, shape in _tally._tensors(word)}
    return values[step].reshape(shapes["in" if name == "x" else name])


def _spread(word, gradient, count):
    shapes = {tensor: shape for tensor, _, shape in _tally._tensors(word)}
    gradient = gradient.reshape(shapes["a"])
    gradient = gradient / int(count) if count else gradient
    return _jnp.broadcast_to(gradient, shapes["in"]).astype(_DTYPES[_tally._tensors(word)[-1][1]])


# ---- functions -----------------------------------------------------------------------------------


def kernel(word):
    """Returns the function of a word (docs/word.md), such as

        f = tally.jax.kernel("cumprod:f32:64x192:axis=1,exclusive,map=1-x,post=x*y")

    It takes the arrays that the word has of in, a, b, c, d, offsets and carry_in, in this order,
    and returns out, or out and carry_out. All have the dtypes and shapes of the word; sizes of 1
    may be left out. Strides are refused. The function can be transformed by jit, vmap and grad.
    vmap computes words with segments one after another.
    """
    if not isinstance(word, str):
        raise _words.fault("word", f"{word!r} is no text", kind=TypeError)
    function = _function(word)
    tensors = [tensor for tensor in _tally._tensors(word) if tensor[0] not in _RESULTS]

    def run(*arrays):
        if len(arrays) != len(tensors):
            raise TypeError(f"{word} takes {len(tensors)} arrays, not {len(arrays)}")
        arrays = [_jnp.asarray(array) for array in arrays]
        for (name, dtype, shape), array in zip(tensors, arrays):
            given = _calls.name_of(array.dtype)
            if given != dtype or _without_ones(array.shape) != _without_ones(shape):
                raise ValueError(f"{name}: the word has {dtype} of shape {shape}, and the array is "
                                 f"{given} of shape {array.shape}")
        return function(*arrays)

    return run


def _without_ones(shape):
    return [size for size in shape if size != 1]


def _find_out(op, given, dtype):
    """The dtype of the result. Without one asked for it is that of jnp.cumulative_sum."""
    canonical = _jax.dtypes.canonicalize_dtype
    if dtype is not None:
        return dtype
    if op in _calls.INDICES:
        return canonical(int)
    if _jnp.issubdtype(given, _jnp.floating):
        return given
    if op in _calls.FLOATS_ONLY:
        raise TypeError(f"dtype: {op} of {given} is no {given}; hint: x.astype('float32')")
    if op == "mean":
        return canonical(float)
    wide = canonical("uint64" if _jnp.issubdtype(given, _jnp.unsignedinteger) else "int64")
    return wide if op in _calls.ADDS and given.itemsize < wide.itemsize else given


def _find(op, given, shape, dtype, *options):
    out = _calls.name_of(_find_out(op, given, dtype))
    return _function(_calls.join(op, _calls.name_of(given), out, shape, *options))


# `wide` is jax_enable_x64, on which the dtypes of results depend.
@_functools.lru_cache(maxsize=4096, typed=True)
def _find_scan(wide, op, given, shape, axis, exclusive, reverse, dtype=None, a=None, **others):
    return _find(op, given, shape, dtype, a, f"axis={axis}",
                 "exclusive" if exclusive else None, "reverse" if reverse else None,
                 *_calls.common(**others))


@_functools.lru_cache(maxsize=4096, typed=True)
def _find_reduction(wide, op, given, shape, axis, keepdims, dtype=None, **others):
    named = None if axis is None else "axes=" + ("+".join(map(str, axis)) or "none")
    return _find(op, given, shape, dtype, named, "keepdims" if keepdims else None,
                 *_calls.common(**others))


def _scan(op, x, axis, *options, **others):
    x = x if isinstance(x, _jax.Array) else _jnp.asarray(x)
    x = x if x.ndim > 0 else x.reshape(1)
    return _find_scan(_jax.config.jax_enable_x64, op, x.dtype, x.shape,
                      _words.axis_in(axis, x.ndim), *options, **others)(x)


def _reduce(op, x, axis, *options, **others):
    x = x if isinstance(x, _jax.Array) else _jnp.asarray(x)
    axes = None if axis is None else tuple(_words.axes_in(axis, x.ndim))
    return _find_reduction(_jax.config.jax_enable_x64, op, x.dtype, x.shape, axes, *options,
                           **others)(x)


# Each computes as the kernel of its name (docs/word.md), with the options of the plain function of
# this name (docs/python.md). From here on sum, max and min are these functions.


def cumsum(x, axis=-1, *, exclusive=False, reverse=False, dtype=None, order="run", acc=None):
    """Running sums along an axis."""
    return _scan("cumsum", x, axis, exclusive, reverse, dtype, order=order, acc=acc)


def cumprod(x, axis=-1, *, exclusive=False, reverse=False, dtype=None, order="run", acc=None):
    """Running products along an axis."""
    return _scan("cumprod", x, axis, exclusive, reverse, dtype, order=order, acc=acc)


def cummax(x, axis=-1, *, exclusive=False, reverse=False, order="run", nan="propagate"):
    """The largest element so far, along an axis."""
    return _scan("cummax", x, axis, exclusive, reverse, order=order, nan=nan)


def cummin(x, axis=-1, *, exclusive=False, reverse=False, order="run", nan="propagate"):
    """The smallest element so far, along an axis."""
    return _scan("cummin", x, axis, exclusive, reverse, order=order, nan=nan)


def cumlogsumexp(x, axis=-1, *, exclusive=False, reverse=False, order="run"):
    """Logarithms of running sums of exponentials, along an axis."""
    return _scan("cumlogsumexp", x, axis, exclusive, reverse, order=order)


def cumargmax(x, axis=-1, *, reverse=False, dtype=None, last=False, nan="propagate"):
    """The index of the largest element so far, along an axis."""
    return _scan("cumargmax", x, axis, False, reverse, dtype, last=last, nan=nan)


def cumargmin(x, axis=-1, *, reverse=False, dtype=None, last=False, nan="propagate"):
    """The index of the smallest element so far, along an axis."""
    return _scan("cumargmin", x, axis, False, reverse, dtype, last=last, nan=nan)


def sum(x, axis=None, keepdims=False, *, dtype=None, order="run", acc=None):
    """The sum over axes."""
    return _reduce("sum", x, axis, keepdims, dtype, order=order, acc=acc)


def prod(x, axis=None, keepdims=False, *, dtype=None, order="run", acc=None):
    """The product over axes."""
    return _reduce("prod", x, axis, keepdims, dtype, order=order, acc=acc)


def mean(x, axis=None, keepdims=False, *, dtype=None, order="run", acc=None):
    """The mean over axes."""
    return _reduce("mean", x, axis, keepdims, dtype, order=order, acc=acc)


def l1(x, axis=None, keepdims=False, *, dtype=None, order="run", acc=None):
    """The sum of magnitudes over axes."""
    return _reduce("l1", x, axis, keepdims, dtype, order=order, acc=acc)


def l2(x, axis=None, keepdims=False, *, dtype=None, order="run", acc=None):
    """The root of the sum of squares over axes."""
    return _reduce("l2", x, axis, keepdims, dtype, order=order, acc=acc)


def sum_square(x, axis=None, keepdims=False, *, dtype=None, order="run", acc=None):
    """The sum of squares over axes."""
    return _reduce("sum_square", x, axis, keepdims, dtype, order=order, acc=acc)


def log_sum(x, axis=None, keepdims=False, *, dtype=None, order="run"):
    """The logarithm of the sum over axes."""
    return _reduce("log_sum", x, axis, keepdims, dtype, order=order)


def log_sum_exp(x, axis=None, keepdims=False, *, dtype=None, order="run"):
    """The logarithm of the sum of exponentials over axes."""
    return _reduce("log_sum_exp", x, axis, keepdims, dtype, order=order)


def max(x, axis=None, keepdims=False, *, order="run", nan="propagate"):
    """The largest element over axes."""
    return _reduce("max", x, axis, keepdims, order=order, nan=nan)


def min(x, axis=None, keepdims=False, *, order="run", nan="propagate"):
    """The smallest element over axes."""
    return _reduce("min", x, axis, keepdims, order=order, nan=nan)


def argmax(x, axis=None, keepdims=False, *, dtype=None, last=False, nan="propagate"):
    """The index of the largest element among those of the axes."""
    return _reduce("argmax", x, axis, keepdims, dtype, last=last, nan=nan)


def argmin(x, axis=None, keepdims=False, *, dtype=None, last=False, nan="propagate"):
    """The index of the smallest element among those of the axes."""
    return _reduce("argmin", x, axis, keepdims, dtype, last=last, nan=nan)


def linrec(x, coef, axis=-1, *, exclusive=False, reverse=False, order="run", acc=None):
    """The recurrence y[i] = coef[i]*y[i-1] + x[i] along an axis; y[0] is x[0].

    `coef` is broadcast to the shape of x, without a copy. Both become the dtype that JAX promotes
    them to.
    """
    dtype = _jnp.result_type(x, coef)
    x, coef = _jnp.asarray(x, dtype), _jnp.asarray(coef, dtype)
    x = x if x.ndim > 0 else x.reshape(1)
    sizes = (1,) * (x.ndim - coef.ndim) + coef.shape
    if coef.ndim > x.ndim or any(size not in (1, whole) for size, whole in zip(sizes, x.shape)):
        raise ValueError(f"a: coef of shape {coef.shape} does not broadcast to {x.shape}")
    axes = [str(i) for i, size in enumerate(sizes) if size != 1]
    place = "" if sizes == x.shape else "/" + ("+".join(axes) or "none")
    return _find_scan(_jax.config.jax_enable_x64, "linrec", dtype, x.shape,
                      _words.axis_in(axis, x.ndim), exclusive, reverse, order=order, acc=acc,
                      a=f"a={_calls.name_of(dtype)}{place}")(x, coef)


__all__ = ["argmax", "argmin", "cumargmax", "cumargmin", "cumlogsumexp", "cummax", "cummin",
           "cumprod", "cumsum", "kernel", "l1", "l2", "linrec", "log_sum", "log_sum_exp", "max",
           "mean", "min", "prod", "sum", "sum_square"]
