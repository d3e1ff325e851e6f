# SPDX-License-Identifier: Apache-2.0
"""Runs the Python of a page, one block after another, as a reader types it."""
import doctest
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_page(page):
    """Blocks with prompts must print what the page says. Others must run. All share their names, which are returned."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python.*\n((?:(?!```).*\n)*)```$", text, re.M))
    parser, run, names = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), {}
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        if ">>> " in block[1]:
            test = parser.get_doctest(block[1], names, page, page, line)
            run.run(test, clear_globs=False)
            names = test.globs
        else:
            exec(compile("\n" * line + block[1], page, "exec"), names)
    assert run.failures == 0 and run.tries >= sum(">>> " in block[1] for block in blocks) > 0
    return names
