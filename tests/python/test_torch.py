# SPDX-License-Identifier: Apache-2.0
"""torch's tensors in plain functions: values, dtypes, and what DLPack alone would get wrong."""
import sys

import numpy as np
import pytest
from conftest import close, need, tally

torch = need("torch")


def has_bridge():
    try:
        import tally.torch  # noqa: F401
    except ImportError:
        return False
    return True


def test_tensors_come_and_go():
    x = torch.rand(4, 5)
    for view in (x, x.T, x[:, ::2], x[:0]):
        got = tally.cumsum(view, axis=1)
        assert type(got) is torch.Tensor
        close(got.numpy(), np.cumsum(view.numpy().astype("f8"), 1), "f4")
    out = torch.empty_like(x)
    assert tally.cumprod(x, axis=0, out=out) is out
    close(out.numpy(), torch.cumprod(x, 0).numpy(), "f4")
    assert tally.cumsum(torch.tensor(3.0)).shape == () and tally.sum(x).shape == ()
    b = torch.rand(6).bfloat16()
    assert tally.cumsum(b).dtype == torch.bfloat16
    assert tally.sum(x, dtype=torch.float64).dtype == torch.float64
    for ours, theirs in ((tally.cumargmax, torch.cummax), (tally.cumargmin, torch.cummin)):
        assert torch.equal(ours(x.round(decimals=1), axis=1, last=True), theirs(x.round(decimals=1), 1)[1])


def test_dtypes_are_torchs():
    for dtype in (torch.bool, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.float16):
        x = torch.ones(3).to(dtype)
        assert tally.cumsum(x).dtype == torch.cumsum(x, 0).dtype and tally.sum(x).dtype == torch.sum(x).dtype
        assert tally.max(x).dtype == dtype and tally.argmax(x).dtype == torch.int64
    assert tally.cumsum(torch.tensor([200, 100], dtype=torch.uint8)).tolist() == [200, 300]


@pytest.mark.skipif(has_bridge(), reason="tally.torch is there")
def test_more_than_elements_is_refused():
    from torch.autograd import forward_ad

    class Sub(torch.Tensor):
        pass

    for x in (torch.ones(3, requires_grad=True), torch.ones(3, dtype=torch.complex64).conj().imag,
              torch.ones(3).as_subclass(Sub)):
        with pytest.raises(tally.Error, match="in: .*hint: x.detach"):
            tally.cumsum(x)
    with forward_ad.dual_level(), pytest.raises(tally.Error, match="in: "):
        tally.cumsum(torch.ones(3))
    assert tally.cumsum(torch.nn.Parameter(torch.ones(3), requires_grad=False)).tolist() == [1, 2, 3]


def test_outputs_with_a_gradient_are_refused():
    with pytest.raises(tally.Error, match="^out: "):
        tally.cumsum(torch.ones(3), out=torch.ones(3, requires_grad=True))


@pytest.mark.skipif(has_bridge(), reason="tally.torch is there")
def test_devices_are_refused():
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        tally.cumsum(torch.ones(3, device="meta"))


def test_new_tensors():
    """They are torch's own, and not views of memory that DLPack describes. An older torch has none but those."""
    if not tally._tally._torch_functions(True):
        pytest.skip("this torch has none but those")
    x = torch.rand(4, 5)
    calls = [lambda: tally.cumsum(x, axis=1), lambda: tally.max(x), lambda: tally.sum(x.int(), axis=0),
             lambda: tally.cumsum(x[:0], axis=0), lambda: tally.cumargmax(x.bfloat16(), axis=-1), lambda: tally.max(x > 0.5)]
    own = [call() for call in calls]
    tally._tally._torch_functions(False)
    try:
        described = [call() for call in calls]
    finally:
        tally._tally._torch_functions(True)
    for a, b in zip(own, described):
        assert torch.equal(a, b) and a.dtype == b.dtype and a.stride() == b.stride() and not a.requires_grad
        assert not b.untyped_storage().resizable()
        assert a.untyped_storage().resizable()
    with torch.inference_mode():
        assert tally.cumsum(x, axis=0).is_inference()


def test_without_the_table(monkeypatch):
    """As torch 2.9 has none: in a process of its own, since types are remembered."""
    import subprocess

    code = """
import torch, tally
if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    del torch.Tensor.__dlpack_c_exchange_api__
x = torch.arange(4.0)
y = tally.cumsum(x)
assert type(y) is torch.Tensor and y.tolist() == [0, 1, 3, 6]
tally.cumsum(x, out=x)
assert x.tolist() == [0, 1, 3, 6]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
