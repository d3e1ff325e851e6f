# SPDX-License-Identifier: Apache-2.0
"""tally.run and tally.linrec: words that arrays complete."""
import struct
from functools import lru_cache

from . import _tally
from ._words import LETTERS, axis_in, check_number, closed, complete, fault, number_type, options_of, take_apart

FORMATS = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "i16": "h", "i8": "b", "u64": "Q", "u32": "I", "u16": "H",
           "u8": "B", "bool": "?"}
NOTHING = None, (), None, False


def run(word, x, out, operands, offsets, carry_in, carry_out, threads, device):
    if not isinstance(word, str):
        raise fault("word", f"{word!r} is no text", kind=TypeError)
    if not isinstance(device, (str, type(None))):
        raise fault("device", f"{device!r} is no text", kind=TypeError)
    count = next((i for i, value in enumerate(operands) if value is None), len(operands))
    if any(value is not None for value in operands[count:]):
        raise fault("usage", "operands are a, b, c, d in this order, without gaps")
    seen = _tally._look(x, "in")
    named = {name: value for name, value in (*zip(LETTERS, operands), ("carry_in", carry_in)) if value is not None}
    numbers = {name for name, value in named.items() if isinstance(value, (int, float))}
    looks = {name: _tally._look(value, name) for name, value in named.items() if name not in numbers}
    if seen is None or None in looks.values():
        return by_torch(word, x, out, operands[:count], offsets, carry_in, carry_out, device)
    dtype, shape, strides = seen
    given = []
    for letter in LETTERS[:count]:
        if letter in numbers:
            named[letter] = number(letter, named[letter], word, dtype)
            looks[letter] = _tally._look(named[letter], letter)
        named[letter], looks[letter] = narrowed(letter, named[letter], looks[letter])
        given.append((*beside(letter, looks[letter], shape), letter in numbers))
    segments = None if offsets is None else segments_of(offsets, word)
    named |= {name: value for name, value in (("offsets", offsets), ("carry_out", carry_out)) if value is not None}
    states = tuple(name[6:] for name in named if name.startswith("carry"))
    of_out = None if out is None else (_tally._look(out, "out") or refuse("out"))[2]
    kernel = kernel_of(word, dtype, shape, strides, tuple(given), segments, states, of_out, device)
    return kernel(x, out, threads=threads, **named)


def segments_of(offsets, word):
    """Their dtype, and how many segments there are. A list is of the dtype that the word says."""
    if isinstance(offsets, (list, tuple)):
        dtype, sizes = "i32" if "segments=i32" in word else "i64", (len(offsets),)
    else:
        dtype, sizes, _ = _tally._look(offsets, "offsets") or refuse("offsets")
    if len(sizes) != 1 or sizes[0] == 0:
        raise fault("offsets", f"their shape is {tuple(sizes)}, and not one number more than there are segments")
    return dtype, sizes[0] - 1


@lru_cache(1024)
def kernel_of(word, dtype, shape, strides, operands, segments, states, of_out, device):
    """The kernel of a word that tensors complete. `operands`: dtype, sizes, strides (None: packed), and whether it was
    a number."""
    shapes = [(of, sizes, is_number) for of, sizes, _, is_number in operands]
    text = complete(without_states(word, dtype, states), dtype, shape, shapes, segments)
    text = placed(closed(text, shape, segments and segments[1]), operands)
    text = with_option(text, "carry=" + "+".join(states)) if states else text
    return _tally.kernel(strided(strided(text, "in", strides), "out", of_out), device=device)


def by_torch(word, x, out, operands, offsets, carry_in, carry_out, device):
    """For tensors that are more than their elements, such as those with a gradient."""
    import torch

    from . import torch as bridge
    for field, value in (("out", out), ("carry_out", carry_out)):
        if value is not None:
            refuse(field)
    if device is not None:
        raise fault("device", "tensors with a gradient have kernels for this CPU alone", "x.detach()")
    operands = [v if isinstance(v, (int, float, torch.Tensor)) else torch.as_tensor(v) for v in operands]
    carry_in = carry_in if carry_in is None else torch.as_tensor(carry_in)
    return bridge.run(word, torch.as_tensor(x), *operands, offsets=offsets, carry_in=carry_in)


def bfloat16():
    import ml_dtypes
    return ml_dtypes.bfloat16


def number(letter, value, word, dtype):
    own = number_type(word, dtype, letter)
    if own not in FORMATS:
        raise fault(letter, f"numbers have no dtype {own!r}", f"leave {letter}={own} out, or pass an array")
    return number_of(letter, value, own)


def number_of(letter, value, own):
    """An array of one element. Kernels of words call it, too."""
    check_number(letter, value, own)
    if own in ("f16", "bf16"):
        import numpy
        with numpy.errstate(over="ignore"):
            return numpy.array(float(value), "f2" if own == "f16" else bfloat16())
    try:
        value = float(value) if own[0] == "f" else int(value)
        return memoryview(struct.pack(FORMATS[own], value)).cast(FORMATS[own])
    except OverflowError:
        raise fault(letter, f"the number is beyond {own}") from None


def narrowed(letter, value, seen):
    """An array without the dims along which it shows one element again and again: they have size 1."""
    _, sizes, strides = seen
    if strides is None or not any(step == 0 and n > 1 for n, step in zip(sizes, strides)):
        return value, seen
    value = value[tuple(slice(0, 1) if step == 0 and n > 1 else slice(None) for n, step in zip(sizes, strides))]
    return value, _tally._look(value, letter)


def beside(letter, seen, shape):
    """The dtype of an operand, and its sizes and strides beside x: with 1 and 0 where it is the same along a dim."""
    dtype, sizes, strides = seen
    if sizes == (1,) and not shape:
        return dtype, (), None
    if len(sizes) > len(shape):
        raise fault(letter, f"rank {len(sizes)} is above that of x, {len(shape)}")
    more = len(shape) - len(sizes)
    sizes = (1,) * more + sizes
    for d, (n, of_x) in enumerate(zip(sizes, shape)):
        if n not in (1, of_x):
            raise fault(letter, f"size {n} of dim {d} is not that of x, {of_x}")
    return dtype, sizes, None if strides is None else (0,) * more + strides


def refuse(field):
    raise fault(field, "the tensor has more than its elements, such as a gradient", f"{field}.detach()")


def without_states(word, dtype, states):
    """The word without carry=, which the call's states say."""
    op, dtypes, sizes, options = take_apart(word, dtype)
    stated = [o.partition("=")[2].split("+") for o in options if o.startswith("carry=")]
    for name in stated[0] if stated else ():
        if name not in states:
            raise fault("carry", f"the word has carry={'+'.join(stated[0])}, and the call no carry_{name}",
                        f"carry_{name}=")
    options = ",".join(o for o in options if not o.startswith("carry="))
    return ":".join(part for part in (op, dtypes, sizes, options) if part)


def placed(text, operands):
    """The word with the strides of operands that are not packed."""
    head, colon, rest = text.rpartition(":") if text.count(":") > 2 else (text, "", "")
    apart, options = dict(zip(LETTERS, operands)), []
    for option in options_of(rest):
        _, sizes, strides, _ = apart.get(option[0], NOTHING) if option[1:2] == "=" else NOTHING
        if strides is not None:
            steps = (0 if n == 1 else step for n, step in zip(sizes, strides))
            option = option.partition("/")[0] + "/" + "x".join(map(str, steps)) + "@0"
        options.append(option)
    return head + colon + ",".join(options)


def with_option(text, option):
    return f"{text}{',' if text.count(':') > 2 else ':'}{option}"


def strided(text, name, strides):
    return text if strides is None else with_option(text, f"{name}={'x'.join(map(str, strides))}@0")


def linrec(x, coef, axis, exclusive, reverse, options):
    axis = axis_in(axis, len((_tally._look(x, "in") or ((), x.shape))[1]))
    flags = ",exclusive" * bool(exclusive) + ",reverse" * bool(reverse)
    return run(f"linrec:axis={axis}{flags}", x, operands=(coef, None, None, None), **options)
