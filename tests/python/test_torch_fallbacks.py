# SPDX-License-Identifier: Apache-2.0
"""tally.torch where a torch lacks what it is built on: the other tests, in a process where these names are gone."""
import os
import subprocess
import sys

from conftest import need

torch = need("torch")

HERE = os.path.dirname(__file__)
NO_C = """
import ctypes
class Missing(ctypes.CDLL):
    def __init__(self, name, *more, **options):
        if "libtally-torch" in str(name):
            raise OSError("no libtally-torch")
        super().__init__(name, *more, **options)
ctypes.CDLL = Missing
"""
# torch itself needs its private names, so they are hidden while tally.torch looks for them.
HIDE = """
import builtins, torch
has, get = hasattr, getattr
builtins.hasattr = lambda thing, name: name != "{0}" and has(thing, name)
builtins.getattr = lambda thing, name, *more: more[0] if name == "{0}" and more else get(thing, name, *more)
"""
SHOW = """
builtins.hasattr, builtins.getattr = has, get
assert not tt.PRIVATE
"""


def run(before, then="", chosen=()):
    tests = f'import pytest; sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *{chosen}]))' if chosen else ""
    code = "\n".join(["import sys", before, "import tally.torch as tt", then, tests])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=HERE, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


def test_kernels_in_python():
    chosen = ["test_torch_operators.py", "test_torch_compile.py::test_compile[word]",
              *(f"test_torch_segments.py::test_{name}" for name in ("against_rows", "words[both]", "refusals"))]
    run(NO_C, "assert tt.no_c == 'no libtally-torch'", chosen)


def test_derivatives_by_what_torch_promises():
    """Also with tangents, which register_autograd would make zero: functions refuse them."""
    chosen = ["test_torch_operators.py", "test_torch_gradients.py::test_scalars_and_widths",
              "test_torch_gradients.py::test_scans[False-True-cumprod]",
              "test_torch_gradients.py::test_reductions[prod]",
              "test_torch_gradients.py::test_words[mingru]", "test_torch_gradients.py::test_ties_and_infinities",
              "test_torch_segments.py::test_against_rows", "test_torch_segments.py::test_words[both]"]
    run(HIDE.format("_AutoDispatchBelowAutograd"), SHOW + """
import pytest
import torch.autograd.forward_ad as forward_ad
import tally
with forward_ad.dual_level():
    dual = forward_ad.make_dual(torch.rand(3), torch.rand(3))
    for call in (lambda: tt.cumsum(dual, 0), lambda: tally.cumsum(dual), lambda: tt.run("sum:map=x*x", dual),
                 lambda: tally.cumsum(dual, order="serial")):
        with pytest.raises(NotImplementedError, match="^in: "):
            call()
""", chosen)


def test_each_private_name():
    for name in ("_are_functorch_transforms_active", "_current_level"):
        run(HIDE.format(name), SHOW + """
x = torch.tensor([2.0, 0.0, 3.0], requires_grad=True)
assert torch.autograd.grad(tt.cumprod(x, 0).sum(), x)[0].tolist() == [1, 8, 0]
""")
