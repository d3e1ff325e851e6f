# SPDX-License-Identifier: Apache-2.0
"""The examples of pages about Python, one after another, as a reader types them."""
import doctest
import pathlib
import re

import pytest
from conftest import need

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page, libraries", [("docs/python.md", ()), ("README.md", ()),
                                             ("docs/onnx.md", ("onnx", "onnxruntime")), ("docs/torch.md", ("torch",)),
                                             ("docs/jax.md", ("jax",)), ("docs/dask.md", ("dask",))])
def test_page(page, libraries):
    for library in libraries:
        need(library)
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python.*\n((?:(?!```).*\n)*)```$", text, re.M)
    assert blocks and all(">>> " in block for block in blocks)
    parser, run, names = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), {}
    for block in blocks:
        test = parser.get_doctest(block, names, page, page, text.count("\n", 0, text.index(block)))
        run.run(test, clear_globs=False)
        names = test.globs
    assert run.failures == 0 and run.tries >= len(blocks)


def test_every_function_is_named():
    import tally

    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert [name for name in tally.__all__ if f"`{name}`" not in text and f"tally.{name}" not in text] == ["Device"]


def test_every_block_is_of_a_kind():
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    kinds = re.findall(r"^```(\S.*)$", text, re.M)
    assert set(kinds) == {"python", "sh run by tests/consumers/wheel"}
