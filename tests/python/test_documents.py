# SPDX-License-Identifier: Apache-2.0
"""The examples of pages about Python, one after another, as a reader types them."""
import re

import pytest
from conftest import need
from pages import ROOT, run_page


@pytest.mark.parametrize("page, libraries", [("docs/python.md", ()), ("README.md", ()),
                                             ("docs/onnx.md", ("onnx", "onnxruntime")), ("docs/torch.md", ("torch",)),
                                             ("docs/jax.md", ("jax",)), ("docs/dask.md", ("dask",))])
def test_page(page, libraries):
    for library in libraries:
        need(library)
    run_page(page)


def test_every_function_is_named():
    import tally

    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert [name for name in tally.__all__ if f"`{name}`" not in text and f"tally.{name}" not in text] == ["Device"]


def test_every_block_is_of_a_kind():
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    kinds = re.findall(r"^```(\S.*)$", text, re.M)
    assert set(kinds) == {"python", "sh run by tests/consumers/wheel"}
