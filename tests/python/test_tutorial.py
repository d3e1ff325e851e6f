# SPDX-License-Identifier: Apache-2.0
"""docs/python-tutorial.md computes what it says and draws the pictures that it shows. With --write the pictures of docs/tutorial
are renewed: tests/python/run BUILD/bindings/python --write tests/python/test_tutorial.py"""
import os
import re
import shutil

import pytest
from conftest import need
from pages import ROOT, run_page

os.environ["MPLBACKEND"] = "svg"
matplotlib = need("matplotlib")

PAGE = "docs/python-tutorial.md"
LARGEST = 60_000
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"


def parts(svg):
    """The text between numbers, and the numbers. Names that are hashes of numbers count as text without them."""
    svg = re.sub(r"\b([a-z])[0-9a-f]{10}\b", r"\1", svg)
    return re.split(NUMBER, svg), [float(number) for number in re.findall(NUMBER, svg)]


def same_picture(one, other):
    """Last bits of results depend on the CPU, and no reader sees a hundredth of a point."""
    (text, numbers), (other_text, other_numbers) = parts(one), parts(other)
    return text == other_text and all(abs(a - b) < 0.01 for a, b in zip(numbers, other_numbers, strict=True))


def test_tutorial(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    matplotlib.rcdefaults()  # not those of the user's files
    run_page(PAGE)
    shown = re.findall(r"^!\[.+\]\(tutorial/(.+\.svg)\)$", (ROOT / PAGE).read_text(encoding="utf-8"), re.M)
    assert len(shown) == 5 and sorted(shown) == sorted(path.name for path in tmp_path.iterdir())
    for name in shown:
        drawn, kept = tmp_path / name, ROOT / "docs/tutorial" / name
        assert drawn.stat().st_size < LARGEST
        if request.config.getoption("--write"):
            shutil.copy(drawn, kept)
        assert same_picture(drawn.read_text(), kept.read_text()), f"docs/tutorial/{name} is old: --write renews it"


@pytest.mark.parametrize("old, new, same", [("12.340", "12.341", True), ("12.34", "12.36", False), ("blue", "red", False),
                                            ("#p0123456789", "#pabcdef9876", True), ("1 2", "1 2 3", False)])
def test_the_comparison(old, new, same):
    assert same_picture(f"<path d='M {old}'/>", f"<path d='M {new}'/>") == same
