# SPDX-License-Identifier: Apache-2.0
"""Kernels of PyTorch's operators: those of libtally-torch, or Python's where it does not serve."""
import ctypes
import os

from . import _tally
from ._torch_operators import empty, places_of
from ._words import LETTERS, parse


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
    full = parsed.with_places(places_of(o for name, o in named.items() if name in LETTERS)).split(":")
    full[2] = "x".join(map(str, x.shape)) or "scalar"
    if "offsets" in named:
        full[3] = full[3].replace("/?", f"/{len(named['offsets']) - 1}")
        y.zero_()  # outside of all segments nothing is written
    _tally._kernel(":".join(full))(Elements(x), Elements(y), **{name: Elements(o) for name, o in named.items()})
    return y
