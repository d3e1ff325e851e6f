# SPDX-License-Identifier: Apache-2.0
"""tally.run and tally.linrec: words that arrays complete."""
import struct
from functools import lru_cache

from . import _tally
from ._words import LETTERS, axis_in, check_number, complete, fault, number_type, options_of, take_apart

FORMATS = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "i16": "h", "i8": "b", "u64": "Q", "u32": "I", "u16": "H",
           "u8": "B", "bool": "?"}
NOTHING = None, (), None, False

def run(word, x, out, operands, offsets, carry_in, carry_out, threads, device):
    if not isinstance(word, str):
        raise fault("word", f"{word!r} is no text", kind=TypeError)
    seen = _tally._look(x, "in")
    if seen is None:
        return by_torch(word, x, out, operands, offsets, carry_in, carry_out)
    dtype, shape, strides = seen
    call, given, segments = {}, [], None
    for letter, value in zip(LETTERS, operands):
        if value is None:
            break
        is_number = isinstance(value, (int, float))
        call[letter] = number(letter, value, word, dtype) if is_number else value
        given.append((*beside(letter, call[letter], shape), is_number))
    if any(value is not None for value in operands[len(given):]):
        raise fault("usage", "operands are a, b, c, d in this order, without gaps")
    if offsets is not None:
        call["offsets"], segments = offsets, segments_of(offsets)
    for name, states in (("carry_in", carry_in), ("carry_out", carry_out)):
        if states is not None:
            call[name] = states
    states = tuple(name[6:] for name in call if name.startswith("carry"))
    of_out = None if out is None else _tally._look(out, "out")[2]
    kernel = kernel_of(word, dtype, shape, strides, tuple(given), segments, states, of_out, device)
    return kernel(x, out, threads=threads, **call)


def segments_of(offsets):
    """Their dtype, and how many segments there are."""
    if isinstance(offsets, (list, tuple)):
        return "i64", len(offsets) - 1
    dtype, sizes, _ = _tally._look(offsets, "offsets") or refuse("offsets")
    if len(sizes) != 1:
        raise fault("offsets", f"their rank is {len(sizes)}, and not 1")
    return dtype, sizes[0] - 1


@lru_cache(1024)
def kernel_of(word, dtype, shape, strides, operands, segments, states, of_out, device):
    """The kernel of a word that tensors complete. `operands`: dtype, sizes, strides (None: packed), and whether it was
    a number."""
    own = [(dtype_of_it, sizes, is_number) for dtype_of_it, sizes, _, is_number in operands]
    text = complete(without_states(word, dtype, states), dtype, shape, own, segments)
    text = closed(text, shape, segments, operands, states)
    return _tally.kernel(strided(strided(text, "in", strides), "out", of_out), device=device)


def by_torch(word, x, out, operands, offsets, carry_in, carry_out):
    """A tensor that is more than its elements, such as one with a gradient."""
    if out is not None or carry_out is not None:
        raise fault("out", "the tensor has more than its elements, such as a gradient", "x.detach()")
    from . import torch
    return torch.run(word, x, *operands, offsets=offsets, carry_in=carry_in)


def number(letter, value, word, dtype):
    own = number_type(word, dtype, letter)
    check_number(letter, value, own)
    return memoryview(struct.pack(FORMATS[own], value if own[0] == "f" else int(value))).cast(FORMATS[own])


def beside(letter, value, shape):
    """The dtype of an operand, and its sizes and strides beside x: with 1 and 0 where it is the same along a dim."""
    dtype, sizes, strides = _tally._look(value, letter) or refuse(letter)
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
    raise fault(field, "the tensor has more than its elements, such as a gradient", "x.detach()")


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


def closed(text, shape, segments, operands, states):
    """The word with every size, and with the strides of operands that are not packed."""
    op, dtypes, _, *rest = text.split(":", 3)
    apart, options = dict(zip(LETTERS, operands)), []
    for option in options_of(rest[0] if rest else ""):
        _, sizes, strides, _ = apart.get(option[0], NOTHING) if option[1:2] == "=" else NOTHING
        if strides is not None:
            steps = (0 if n == 1 else step for n, step in zip(sizes, strides))
            option = option.partition("/")[0] + "/" + "x".join(map(str, steps)) + "@0"
        options.append(option.replace("/?", f"/{segments[1]}") if option.startswith("segments=") else option)
    options += ["carry=" + "+".join(states)] if states else []
    return ":".join([op, dtypes, "x".join(map(str, shape)) or "scalar"] + ([",".join(options)] if options else []))


def strided(text, name, strides):
    if strides is None:
        return text
    return f"{text}{',' if text.count(':') > 2 else ':'}{name}={'x'.join(map(str, strides))}@0"


def linrec(x, coef, axis, exclusive, reverse, options):
    axis = axis_in(axis, len((_tally._look(x, "in") or ((), x.shape))[1]))
    flags = ",exclusive" * bool(exclusive) + ",reverse" * bool(reverse)
    return run(f"linrec:axis={axis}{flags}", x, operands=(coef, None, None, None), **options)
