# SPDX-License-Identifier: Apache-2.0
"""tally.onnx: the official node tests, and what else the backend interface promises."""
import numpy as np
import pytest
from conftest import need

onnx = need("onnx")

from onnx import TensorProto as T
from onnx import helper

import onnx_cases
import tally
import tally.onnx

CASES = onnx_cases.node_cases()
X = np.array([[2, -1, 3], [5, 4, -6]])


def test_there_are_as_many_cases_as_documented():
    assert len(CASES) == onnx_cases.COUNT


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_node(case):
    prepared = tally.onnx.Backend.prepare(case.model)
    onnx_cases.judge(case, prepared.run)


def node(op, *inputs, **attributes):
    return helper.make_node(op, ["x", *inputs], ["y"], **attributes)


def test_results_have_the_dtype_of_the_input():
    x = X.astype("i4")
    for n, inputs, want in [
        (node("ReduceSum", "a", keepdims=0), [[1]], x.sum(1)),
        (node("ReduceMean", "a", keepdims=0), [[1]], [1, 1]),  # truncated
        (node("ReduceL2", "a", keepdims=0), [[1]], [3, 8]),
        (node("ReduceMax", "a"), [[0]], x.max(0, keepdims=True)),
        (node("CumSum", "a", exclusive=1), [1], [[0, 2, 1], [0, 5, 9]]),
        (node("CumProd", "a", reverse=1), [np.int32(-2)], [[10, -4, -18], [5, 4, -6]]),
    ]:
        y, = tally.onnx.run_node(n, [x, *map(np.asarray, inputs)])
        assert y.dtype == np.int32
        np.testing.assert_array_equal(y, want, n.op_type)


def test_axes_that_are_missing_or_empty():
    for n, inputs, want in [
        (node("ReduceSumSquare", keepdims=0), [], np.square(X).sum()),
        (node("ReduceSumSquare", "a", keepdims=0), [np.zeros(0, "i8")], np.square(X).sum()),
        (node("ReduceSumSquare", "a", noop_with_empty_axes=1), [np.zeros(0, "i8")], np.square(X)),
        (node("ReduceSumSquare", noop_with_empty_axes=1), [], np.square(X)),
    ]:
        y, = tally.onnx.run_node(n, [X, *inputs])
        assert isinstance(y, np.ndarray)
        np.testing.assert_array_equal(y, want)


def test_axes_of_old_opsets_are_an_attribute():
    n = node("ReduceSum", axes=[-1], keepdims=0)
    y, = tally.onnx.run_model(onnx_cases.model([n], [("x", T.INT64, [2, 3])], [("y", T.INT64, [2])], opset=11), [X])
    np.testing.assert_array_equal(y, X.sum(1))


def test_graph_with_constants():
    nodes = [helper.make_node("CumSum", ["x", "axis"], ["s"]), helper.make_node("ReduceMax", ["s"], ["y"], keepdims=0)]
    m = onnx_cases.model(nodes, [("x", T.INT64, [2, 3]), ("axis", T.INT64, [])],
                         [("s", T.INT64, [2, 3]), ("y", T.INT64, [])],
                         constants=[onnx_cases.tensor("axis", 0)])
    prepared = tally.onnx.prepare(m)
    for inputs in ([X], {"x": X}):
        s, y = prepared.run(inputs)
        np.testing.assert_array_equal(s, X.cumsum(0))
        assert y == X.cumsum(0).max()
    s, y = prepared.run([X, np.asarray(1)])  # in place of the constant
    np.testing.assert_array_equal(s, X.cumsum(1))
    for inputs in ([], [X, X, X]):
        with pytest.raises(ValueError, match="inputs"):
            prepared.run(inputs)


def test_what_is_no_operator_is_refused():
    n = helper.make_node("Neg", ["x"], ["y"])
    m = onnx_cases.model([n], [("x", T.INT64, [2, 3])], [("y", T.INT64, [2, 3])])
    assert not tally.onnx.is_compatible(m)
    for refused in (lambda: tally.onnx.run_node(n, [X]), lambda: tally.onnx.prepare(m)):
        with pytest.raises(NotImplementedError, match="ai.onnx.Neg"):
            refused()


def test_compatible():
    m = CASES[0].model
    assert tally.onnx.is_compatible(m)
    assert not tally.onnx.is_compatible(m, "CUDA:0")
    assert tally.onnx.supports_device("CPU") and tally.onnx.supports_device("CPU:0")
    for device in ("CUDA", "CUDA:1", "TPU"):
        assert not tally.onnx.supports_device(device)
        for refused in (lambda: tally.onnx.prepare(m, device),
                        lambda: tally.onnx.run_node(m.graph.node[0], [X], device)):
            with pytest.raises(ValueError, match=f"device: {device} "):
                refused()


def test_opsets_of_nodes():
    old = node("ReduceSum", axes=[1], keepdims=0)
    y, = tally.onnx.run_node(old, [X], opset_version=11)
    np.testing.assert_array_equal(y, X.sum(1))
    with pytest.raises(onnx.checker.ValidationError):
        tally.onnx.run_node(old, [X], opset_version=13)


def test_bad_axis():
    for n, axis in ((node("CumSum", "a"), 2), (node("ReduceSum", "a"), [2**40]), (node("CumSum", "a"), [0, 1])):
        with pytest.raises(tally.Error, match="^axis: "):
            tally.onnx.run_node(n, [X, np.asarray(axis)])
