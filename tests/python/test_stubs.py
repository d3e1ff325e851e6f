# SPDX-License-Identifier: Apache-2.0
"""The types in __init__.pyi and the signatures of the functions agree; docstrings' examples are right."""
import ast
import doctest
import inspect
import pathlib
import re

import numpy
import pytest
import tally

STUB = ast.parse(pathlib.Path(tally.__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def of_stub(node):
    """Kind, name and default of each parameter."""
    a = node.args
    missing = [None] * (len(a.posonlyargs) + len(a.args) - len(a.defaults))
    defaults = missing + a.defaults
    for kind, arguments in (("POSITIONAL_ONLY", a.posonlyargs), ("POSITIONAL_OR_KEYWORD", a.args)):
        for argument in arguments:
            default = defaults.pop(0)
            yield kind, argument.arg, default and ast.literal_eval(default)
    for argument, default in zip(a.kwonlyargs, a.kw_defaults):
        yield "KEYWORD_ONLY", argument.arg, default and ast.literal_eval(default)


def of_function(function):
    for p in inspect.signature(function).parameters.values():
        yield p.kind.name, p.name, None if p.default is p.empty else p.default


def test_names():
    assert set(tally.__all__) == FUNCTIONS.keys() | CLASSES.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures(name):
    assert list(of_stub(FUNCTIONS[name])) == list(of_function(getattr(tally, name)))
    assert getattr(tally, name).__module__ in ("tally", "tally._tally")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_options_are_taken(name):
    """A signature names what the function takes: an option that it does not know is a TypeError."""
    for kind, option, default in of_function(getattr(tally, name)):
        if kind == "KEYWORD_ONLY" and name not in ("kernel", "gradient", "inspect", "linrec", "run", "warm"):
            getattr(tally, name)(numpy.ones(3), **{option: default})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_options_are_explained(name):
    text = inspect.getdoc(getattr(tally, name))
    options = [option for kind, option, _ in of_function(getattr(tally, name)) if kind == "KEYWORD_ONLY"]
    assert [option for option in options if not re.search(rf"\b{option}\b", text)] == []


def test_classes():
    for name, node in CLASSES.items():
        for member in node.body:
            if isinstance(member, ast.FunctionDef):
                assert hasattr(getattr(tally, name), member.name)
    fields = [m.target.id for m in CLASSES["Device"].body if isinstance(m, ast.AnnAssign)]
    assert [getattr(tally.devices()[0], f) for f in fields] == list(tally.devices()[0])
    assert [b.id for b in CLASSES["Unsupported"].bases] == [b.__name__ for b in tally.Unsupported.__bases__]


@pytest.mark.parametrize("name", tally.__all__)
def test_docstrings(name):
    thing = getattr(tally, name)
    assert thing.__doc__
    run = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(thing, name, globs={"tally": tally, "numpy": numpy}):
        run.run(test)
    assert run.failures == 0
    assert run.tries > 0 or name in ("Device", "Error", "Gradient", "Kernel", "Unsupported", "devices", "get_threads",
                                     "set_threads", "stats")


def test_the_modules_docstring():
    run = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(tally, "tally", globs={"tally": tally, "numpy": numpy}):
        run.run(test)
    assert run.failures == 0 and run.tries > 0
