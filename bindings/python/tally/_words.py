# SPDX-License-Identifier: Apache-2.0
"""Words of which tensors say the sizes: completed, taken apart, and their gradients.

A full word has a `?` for each dim of the tensor, and for each operand its dtype and the dims along which it lies:
linrec:f32:?x?:axis=1,a=f32/1,map=sig(a)*x,coef=1-sig(a). Along all other dims the operand's tensor has size 1."""
import operator
from functools import lru_cache
from typing import NamedTuple

from . import _tally
from ._dtypes import DTYPES, FLOATS, NAMES

LETTERS = "abcd"
OPERANDS = tuple(f"{letter}=" for letter in LETTERS)


def options_of(text):
    """Splits options at commas. A comma in parentheses belongs to an expression."""
    options, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            options.append("")
        else:
            options[-1] += letter
    return options if text else []


def sizes_of(rank):
    return "x".join("?" * rank) if rank else "scalar"


def join(op, dtypes, rank, options):
    return ":".join([op, dtypes, sizes_of(rank)] + ([",".join(options)] if options else []))


def closed(text, shape, segments=None):
    """A full word with sizes in the place of each ?, and the number of segments, if it has some."""
    op, dtypes, _, *options = text.split(":", 3)
    if segments is not None:
        options = [o.replace("/?", f"/{segments}") for o in options]
    return ":".join([op, dtypes, "x".join(map(str, shape)) or "scalar", *options])


def fault(field, message, hint="", kind=None):
    error = (kind or _tally.Error)(f"{field}: {message}" + (f"; hint: {hint}" if hint else ""))
    error.field, error.hint = field, hint
    return error


def dtype_named(name):
    """The name in Tally of a dtype by this name or numpy's long one. Numpy's codes are none: its 'i8' has 8 bytes."""
    if name not in DTYPES and name not in NAMES:
        raise fault("dtype", f"{name!r} is no dtype of Tally", "names count bits: 'f32', 'float32', 'i64', 'int64', ...",
                    TypeError)
    return NAMES.get(name, name)


def index_of(axis, several=""):
    """An axis by its number. `several`: how more than one is written, where that is possible."""
    if isinstance(axis, bool):
        raise fault("axis", f"{axis} is a bool", kind=TypeError)
    try:
        return operator.index(axis)
    except TypeError:
        hint = several or "a scan goes along one axis: axis=1" if isinstance(axis, (tuple, list)) else \
            "axes count from 0: axis=1"
        raise fault("axis", f"{axis!r} is no integer", hint, TypeError) from None


def axis_in(axis, rank, several=""):
    """An axis that an array of this rank has, by its number. Its fault is told here, as that of a word would show the
    word."""
    axis = axis if type(axis) is int else index_of(axis, several)
    if not -rank <= axis < rank:
        raise fault("axis", f"axis {axis} is not in [{-rank}, {rank - 1}]" if rank else
                    f"axis {axis}, and the array has none")
    return axis


def axes_in(axis, rank):
    """Those that a reduction names: one, or a tuple of them."""
    axes = [axis_in(a, rank, "a tuple names several axes: axis=(0, 1)")
            for a in (axis if isinstance(axis, tuple) else (axis,))]
    numbers = [a % rank for a in axes]
    for i, number in enumerate(numbers):
        if number in numbers[:i]:
            raise fault("axis", f"axis {number} is named twice")
    return axes


def operand(letter, dtype, rank, place):
    """The option of an operand that lies along these dims."""
    along = "" if len(place) == rank else "/" + ("+".join(map(str, place)) or "none")
    return f"{letter}={dtype}{along}"


def take_apart(word, dtype):
    """The operator, dtypes, sizes (None: left out) and options of a word for a tensor of a dtype."""
    op, *parts = word.split(":")
    dtypes = parts.pop(0) if parts and parts[0].split(">")[0] in ("", *DTYPES) else dtype
    dtypes = dtype + dtypes if dtypes[:1] == ">" else dtypes
    if dtypes.split(">")[0] != dtype:
        raise fault("dtype", f"the tensor is of {dtype}, and the word of {dtypes.split('>')[0]}")
    sizes = parts.pop(0) if parts and (parts[0][:1] in "0123456789?" or parts[0] == "scalar") else None
    return op, dtypes, sizes, options_of(":".join(parts))


def stated_of(letter, options):
    """The options that say something of an operand."""
    return [o for o in options if o == letter or o[:2] in (letter + "=", letter + "/")]


def bytes_of(dtype):
    return 1 if dtype == "bool" else int(dtype.lstrip("biuf")) // 8


def number_type(word, dtype, letter):
    """The dtype of a number that is given for an operand: the word's, or the type of its expressions (docs/stages.md)."""
    op, dtypes, _, options = take_apart(word, dtype)
    stated = [o for o in stated_of(letter, options) if o[1:2] == "="]
    if stated:
        return stated[0][2:].split("/")[0]
    out = dtype if "arg" in op else dtypes.split(">")[-1]
    made = out if out in FLOATS and dtype not in FLOATS or bytes_of(out) > bytes_of(dtype) else dtype
    if made in FLOATS:
        return "f64" if made == "f64" or "acc=f64" in options else "f32"
    return "u8" if made == "bool" else made


def check_number(letter, value, dtype):
    """Integers hold no other numbers, and none outside of their range."""
    if isinstance(value, (list, tuple)):
        for each in value:
            check_number(letter, each, dtype)
    elif dtype not in FLOATS:
        bits = 1 if dtype == "bool" else 8 * bytes_of(dtype) - (dtype[0] == "i")
        least = -(1 << bits) if dtype[0] == "i" else 0
        if not (least <= value < 1 << bits and value == int(value)):
            raise fault(letter, f"{value} is no {dtype}", "an output of floats, as in cumsum:>f64:axis=0, makes it one")


def complete(word, dtype, shape, operands, offsets=None, carry_in=False):
    """The full word of one that may lack dtype, sizes, operands, segments and carry. Operands are a dtype, a shape and
    whether they were numbers; `offsets` is their dtype and the number of segments, or None; `carry_in`: whether there
    are states."""
    op, dtypes, sizes, options = take_apart(word, dtype)
    if sizes is not None:
        sizes = sizes.split("x") if sizes != "scalar" else []
        if len(sizes) != len(shape) or not all(s in ("?", str(n)) for s, n in zip(sizes, shape)):
            raise fault("sizes", f"the tensor has {list(shape)}, and the word {'x'.join(sizes)}")
    check_places(options)
    for number, letter in enumerate(LETTERS):
        stated = stated_of(letter, options)
        options = [o for o in options if o not in stated]
        if len(stated) > 1:
            raise fault(letter, "the option is given twice")
        if number < len(operands):
            given, sizes, is_number = operands[number]
            check_operand(letter, given, stated, is_number)
            options.append(operand(letter, given, len(shape), [d for d, n in enumerate(sizes) if n != 1]))
        elif stated:
            raise fault(letter, "the word has this operand, and no tensor is given")
    return join(op, dtypes, len(shape), with_states(with_segments(options, offsets), carry_in))


def check_places(options):
    for option in options:
        name = option.partition("=")[0]
        if name in ("in", "out"):
            raise fault(name, "tensors say how they lie, and results are packed", f"leave {option} out",
                        _tally.Unsupported)


def with_segments(options, offsets):
    """Options whose number of segments is open, as the offsets tell it."""
    stated = [o for o in options if o.partition("=")[0] == "segments"]
    if offsets is None:
        if stated:
            raise fault("segments", "the word has them, and no offsets are given", "offsets=")
        return options
    dtype, count = offsets
    if dtype not in ("i32", "i64"):
        raise fault("offsets", f"they are of {dtype}", "offsets of int32 or int64")
    if stated and stated[0] not in (f"segments={dtype}/?", f"segments={dtype}/{count}"):
        raise fault("offsets", f"they are of {dtype} and for {count} segments, and the word says {stated[0]}")
    return [o for o in options if o not in stated] + [f"segments={dtype}/?"]


def with_states(options, carry_in):
    stated = [o for o in options if o.partition("=")[0] == "carry"]
    if stated and stated != ["carry=in"]:
        raise fault("carry", "operators of torch have one result", kind=_tally.Unsupported)
    if stated and not carry_in:
        raise fault("carry", "the word begins with states, and none are given", "carry_in=")
    return options if stated or not carry_in else options + ["carry=in"]


def check_operand(letter, dtype, stated, is_number=False):
    stated = [o.removesuffix("/none") for o in stated] if is_number else stated
    if stated and ("/" in stated[0] or "@" in stated[0]):
        raise fault(letter, "a tensor's own shape and strides say how it lies", f"{letter}={dtype}")
    if stated and stated[0] not in (letter, f"{letter}={dtype}"):
        raise fault(letter, f"the tensor is of {dtype}, and the word says {stated[0]}")


class Word(NamedTuple):
    """A canonical word, and its parts. `axes` are those of a reduction, or the one of a scan."""
    text: str
    op: str
    dtypes: str
    rank: int
    options: tuple
    values: dict  # of options that have one
    out: str      # the result's dtype
    axes: tuple
    places: dict  # the dims along which each operand lies
    tensors: tuple  # the names of what the word reads

    @property
    def is_scan(self):
        return self.op.startswith("cum") or self.op == "linrec"

    @property
    def is_linear(self):
        """Whether the result of a sum is the sum of results, so that a tangent goes the same way, with no tensor but
        the input."""
        others = {"map", "post", "reset", "segments", "carry"}
        return self.op in ("cumsum", "sum", "mean") and others.isdisjoint(self.values)

    @property
    def is_cut(self):
        return "every" in self.values or "segments" in self.values

    @property
    def keepdims(self):
        return "keepdims" in self.options

    def kept(self):
        """The dims of the input that the result has without keepdims."""
        return [d for d in range(self.rank) if self.is_scan or self.is_cut or d not in self.axes]

    def shape(self, sizes, tensors=()):
        """The result's sizes for the input's, which may be symbols, and for the tensors behind the input."""
        if self.is_scan:
            return list(sizes)
        if "segments" in self.values:
            segments = dict(zip(self.tensors[1:], tensors))["offsets"].shape[0] - 1
            return [segments if d in self.axes else n for d, n in enumerate(sizes)]
        if "every" in self.values:
            return [-(-n // int(self.values["every"])) if d in self.axes else n for d, n in enumerate(sizes)]
        return [1 if d in self.axes else n for d, n in enumerate(sizes) if self.keepdims or d not in self.axes]

    def with_places(self, places, options=None, more=0):
        """The word whose operands lie along these dims."""
        letters = dict(zip(LETTERS, places))
        options = [operand(o[0], o[2:].split("/")[0], self.rank + more, letters[o[0]]) if o[:2] in OPERANDS else o
                   for o in (self.options if options is None else options)]
        return join(self.op, self.dtypes, self.rank + more, options)

    def without_keepdims(self, places):
        return self.with_places(places, [o for o in self.options if o != "keepdims"])

    def batched(self, along=()):
        """The word for tensors with one more dim in front, along which these operands lie, too."""
        name = "axis" if self.is_scan else "axes"
        axes = "+".join(str(d + 1) for d in self.axes) or "none"
        options = [o for o in self.options if not o.startswith(name + "=")] + [f"{name}={axes}"]
        places = [[0] * batched + [d + 1 for d in self.places[letter]] for letter, batched in zip(LETTERS, along)]
        return self.with_places(places, options, 1)


@lru_cache(4096)
def parse(text):
    """A word in parts; tally.Error if it is none."""
    canonical, out = _tally._describe(text)
    op, dtypes, sizes, *rest = canonical.split(":")
    rank = 0 if sizes == "scalar" else sizes.count("x") + 1
    options = options_of(rest[0] if rest else "")
    check_places(options)
    values = dict(o.split("=", 1) for o in options if "=" in o)
    if values.get("carry", "in") != "in":
        raise fault("carry", "operators of torch have one result", kind=_tally.Unsupported)
    axes = dims_of(values["axis"]) if "axis" in values else dims_of(values.get("axes"), rank)
    places = {letter: dims_of(values.get(letter, "").partition("/")[2] or None, rank) for letter in LETTERS}
    tensors = ("x", *(letter for letter in LETTERS if letter in values),
               *(name for name, option in (("offsets", "segments"), ("carry_in", "carry")) if option in values))
    return Word(canonical, op, dtypes, rank, tuple(options), values, out, axes, places, tensors)


def dims_of(text, rank=0):
    """The dims that a word lists; all if it lists none."""
    return tuple(range(rank)) if text is None else () if text == "none" else tuple(map(int, text.split("+")))


@lru_cache(4096)
def gradient(text, wrt):
    """The steps of a gradient: a parsed word each, and its sources as _tally._gradient has them."""
    return tuple((parse(word), tuple(sources)) for word, sources in _tally._gradient(text, wrt))
