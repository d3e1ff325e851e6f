# SPDX-License-Identifier: Apache-2.0
"""Kernels of PyTorch's operators: those of libtally-torch, or Python's where it does not serve."""
import ctypes
import os

from . import _tally
from ._torch_operators import empty, places_of
from ._words import LETTERS, closed, parse


def kernels_in_c():
    """Registers the kernels of libtally-torch. None, or why they do not serve."""
    try:
        start = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "libtally-torch.so")).tally_torch_start
    except OSError as error:
        return str(error)
    start.restype = ctypes.c_char_p
    missing = start()
    return missing and f"torch has no {missing.decode()}"


class Elements:
    """A tensor as nothing but its elements, which the extension takes also where it would ask for a derivative."""

    def __init__(self, t):
        self.t = t.detach().contiguous()

    def __dlpack__(self, **options):
        return self.t.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.t.__dlpack_device__()


def computed(word, x, operands=()):
    """A kernel in Python, of packed copies."""
    y, parsed = empty(word, x, operands), parse(word)
    named = dict(zip(parsed.tensors[1:], operands))
    segments = len(named["offsets"]) - 1 if "offsets" in named else None
    if segments is not None:
        y.zero_()  # outside of all segments nothing is written
    text = parsed.with_places(places_of(o for name, o in named.items() if name in LETTERS))
    elements = {name: Elements(o) for name, o in named.items()}
    _tally._kernel(closed(text, x.shape, segments))(Elements(x), Elements(y), **elements)
    return y
