# SPDX-License-Identifier: Apache-2.0
"""Tally's operators in ONNX Runtime: results, in every opset and dtype, and errors."""
import ctypes
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from conftest import need

onnx = need("onnx")
ort = need("onnxruntime")

import onnx.defs
from onnx import TensorProto as T
from onnx import helper

import onnx_cases
from ort_session import session

FOLDER = pathlib.Path(__file__).parent
X = np.array([[2, -1, 3, 4], [5, 4, -6, 1], [7, 8, 9, -2]])
TYPES = {"f4": T.FLOAT, "f8": T.DOUBLE, "f2": T.FLOAT16, "i8": T.INT64, "i4": T.INT32, "i2": T.INT16, "i1": T.INT8,
         "u8": T.UINT64, "u4": T.UINT32, "u2": T.UINT16, "u1": T.UINT8, "?": T.BOOL}


def one(op, x, axis=None, domain="tally", opset=21, shape=None, axis_type="i8", wanted=None, **attributes):
    """What a model of one node computes. An axis is an input unless it is None."""
    x = np.asarray(x)
    inputs = [("x", TYPES[x.dtype.str[1:].replace("b1", "?")], list(x.shape) if shape is None else shape)]
    feed = {"x": x}
    if axis is not None:
        feed["a"] = np.asarray(axis, axis_type)
        inputs.append(("a", TYPES[axis_type], list(feed["a"].shape)))
    out = T.INT64 if op.startswith("Arg") else inputs[0][1]
    node = helper.make_node(op, list(feed), ["y"], domain=domain, **attributes)
    m = onnx_cases.model([node], inputs, [("y", out, None)], opset, domains=[domain] if domain else [])
    y, = session(m, domain).run(None, feed)
    assert y.dtype == (np.int64 if op.startswith("Arg") else x.dtype)
    return y


def test_tally_computes_each_node_case():
    done = subprocess.run([sys.executable, FOLDER / "ort_nodes.py"], stderr=subprocess.PIPE, text=True,
                          env=os.environ | {"TALLY_VERBOSE": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    cases = done.stderr.split("case test_")[1:]
    assert len(cases) == 2 * onnx_cases.COUNT
    for lines in cases:
        assert len(onnx_cases.run_lines(lines)) == 1, lines


def test_scans():
    flip = (slice(None), slice(None, None, -1))
    assert one("CumSum", X, 1).tolist() == X.cumsum(1).tolist()
    assert one("CumSum", X, [-2]).tolist() == X.cumsum(0).tolist()
    assert one("CumProd", X, -1, axis_type="i4", reverse=1).tolist() == X[flip].cumprod(1)[flip].tolist()
    assert one("CumProd", X, 1, exclusive=1)[:, 1:].tolist() == X.cumprod(1)[:, :-1].tolist()
    assert one("CumMax", X, 1).tolist() == np.maximum.accumulate(X, 1).tolist()
    assert one("CumMin", X, 0).tolist() == np.minimum.accumulate(X, 0).tolist()
    x = X.astype("f8")
    np.testing.assert_allclose(one("CumLogSumExp", x, 1), np.logaddexp.accumulate(x, 1))


REDUCTIONS = {
    "ReduceSum": np.sum, "ReduceProd": np.prod, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min,
    "ReduceL1": lambda x, a: np.abs(x).sum(a), "ReduceL2": lambda x, a: np.sqrt(np.square(x).sum(a)),
    "ReduceSumSquare": lambda x, a: np.square(x).sum(a), "ReduceLogSum": lambda x, a: np.log(x.sum(a)),
    "ReduceLogSumExp": lambda x, a: np.log(np.exp(x).sum(a)),
}


# 13 (ReduceSum) and 18 move the axes from an attribute to an input; 28 is onnx 1.23's last.
@pytest.mark.parametrize("opset", [1, 11, 12, 13, 17, 18, 20, 26])
@pytest.mark.parametrize("domain", ["", "tally"])
def test_reductions_of_every_opset(domain, opset):
    x = np.linspace(1, 2, 24).reshape(2, 3, 4)
    for op, want in REDUCTIONS.items():
        by_input = opset >= (13 if op == "ReduceSum" else 18)
        for axes in ([1], [0, -1], [0, 1, 2]):
            where = {"axis": axes} if by_input else {"axes": axes}
            y = one(op, x, domain=domain, opset=opset, keepdims=0, **where)
            np.testing.assert_allclose(y, want(x, tuple(axes)), rtol=1e-12, err_msg=op)
        y = one(op, x, domain=domain, opset=opset)  # all axes, which are kept
        np.testing.assert_allclose(y, np.reshape(want(x, None), (1, 1, 1)), rtol=1e-12, err_msg=op)
    for op, want in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        y = one(op, X, domain=domain, opset=opset, keepdims=0)
        assert y.tolist() == want(X, 0).tolist()


def test_last_of_equal_elements():
    x = np.array([[1, 3, 3], [2, 2, 0]], "f4")
    for last, want in ((0, [[1], [0]]), (1, [[2], [1]])):
        n = helper.make_node("ArgMax", ["x"], ["y"], domain="tally", axis=-1, select_last_index=last)
        m = onnx_cases.model([n], [("x", T.FLOAT, [2, 3])], [("y", T.INT64, None)], domains=["tally"])
        assert session(m).run(None, {"x": x})[0].tolist() == want


@pytest.mark.parametrize("dtype", TYPES)
def test_dtypes(dtype):
    """Of every operator that docs/word.md gives kernels with this dtype; the others are refused."""
    x = np.array([[1, 0, 1, 1], [1, 1, 0, 0]]).astype(dtype)
    wide = dtype not in ("i1", "i2", "u1", "u2", "?")
    for op, want in (("ReduceMax", x.max(1)), ("ReduceMin", x.min(1)), ("ReduceSum", x.sum(1, x.dtype))):
        if wide or op != "ReduceSum":
            assert one(op, x, [1], keepdims=0).tolist() == want.tolist()
        else:
            with pytest.raises(ort.capi.onnxruntime_pybind11_state.NotImplemented, match="tally: "):
                one(op, x, [1])
    assert one("CumMax", x, 1).tolist() == np.maximum.accumulate(x, 1).tolist()
    if wide:
        assert one("CumSum", x, 0).tolist() == x.cumsum(0, x.dtype).tolist()


def test_bf16():
    nodes = [helper.make_node("Cast", ["x"], ["b"], to=T.BFLOAT16), helper.make_node("CumSum", ["b", "a"], ["s"]),
             helper.make_node("Cast", ["s"], ["y"], to=T.FLOAT)]
    m = onnx_cases.model(nodes, [("x", T.FLOAT, [3, 4]), ("a", T.INT64, [])], [("y", T.FLOAT, None)])
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.NotImplemented):
        session(m, None)  # ONNX Runtime has no such kernel
    y, = session(m, "").run(None, {"x": X.astype("f4"), "a": np.array(1)})
    assert y.tolist() == X.cumsum(1).tolist()


SCHEMAS = [s for s in onnx.defs.get_all_schemas_with_history()
           if s.domain == "" and s.name in {"CumSum", "CumProd", "ArgMax", "ArgMin", *REDUCTIONS}]
TOLERANCE = {"bfloat16": 1e-2, "float16": 2e-3, "float32": 1e-6, "float64": 1e-12}


def by_values(model, x):
    """What a session with Tally computes of an array of any dtype, bfloat16 too, of which ONNX Runtime makes none."""
    type = model.graph.input[0].type.tensor_type.elem_type
    value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(x.view(f"u{x.itemsize}"), type)
    y, = session(model, "").run_with_ort_values(["y"], {"x": value})
    dtype = np.dtype("i8") if model.graph.output[0].type.tensor_type.elem_type == T.INT64 else x.dtype
    return np.frombuffer(ctypes.string_at(y.data_ptr(), dtype.itemsize * np.prod(y.shape())), dtype).reshape(y.shape())


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda s: f"{s.name}-{s.since_version}")
def test_types_of_every_schema(schema):
    """All types that ONNX allows, in each version of each operator."""
    for name in schema.type_constraints[0].allowed_type_strs:
        type = getattr(T, name[len("tensor("):-1].upper())
        x = np.array([[1, 2, 3], [3, 1, 1]]).astype(helper.tensor_dtype_to_np_dtype(type))
        wide = x.astype("f8")
        attributes, axes = {"keepdims": 0}, []
        if schema.name in REDUCTIONS:
            want = REDUCTIONS[schema.name](wide, 1)
            if len(schema.inputs) == 1:
                attributes["axes"] = [1]
            else:
                axes = [onnx_cases.tensor("a", [1])]
        elif schema.name.startswith("Arg"):
            attributes["axis"], want = 1, getattr(np, schema.name.lower())(x, 1)
        else:
            attributes, axes = {}, [onnx_cases.tensor("a", 1)]
            want = getattr(np, schema.name.lower())(wide, 1)
        node = helper.make_node(schema.name, ["x", *(a.name for a in axes)], ["y"], **attributes)
        out = T.INT64 if schema.name.startswith("Arg") else type
        m = onnx_cases.model([node], [("x", type, [2, 3])], [("y", out, None)], schema.since_version, axes)
        y = by_values(m, x)
        if y.dtype.kind in "iub":
            want = want.astype(y.dtype)  # truncated
        np.testing.assert_allclose(y.astype("f8"), want.astype("f8"), TOLERANCE.get(y.dtype.name, 0), err_msg=name)


def test_there_are_as_many_schemas_as_documented():
    assert len(SCHEMAS) == 56 and max(s.since_version for s in SCHEMAS) == 28
