# SPDX-License-Identifier: Apache-2.0
"""The official node tests of onnx that concern Tally, and models for the other tests."""
import re

import numpy as np
import onnx.numpy_helper
from onnx import TensorProto, helper
from onnx.backend.test import loader

# Of onnx 1.23.2. Names with _expanded are tests of other operators, which stand for these.
COUNT = 141
WANTED = re.compile(r"test_(cum(sum|prod)|reduce_|argm(ax|in))(?!.*_expanded)[a-z0-9_]*")


def node_cases():
    return sorted((c for c in loader.load_model_tests(kind="node") if WANTED.fullmatch(c.name)), key=lambda c: c.name)


def _array(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def judge(case, run):
    """Compares run(inputs) with the results of each data set."""
    for inputs, wanted in case.data_sets:
        got = run([_array(i) for i in inputs])
        assert len(got) == len(wanted)
        for y, want in zip(got, map(_array, wanted)):
            assert y.dtype == want.dtype and y.shape == want.shape, (case.name, y.dtype, y.shape)
            if want.dtype.kind == "V" or want.dtype.name == "bfloat16":
                y, want = y.astype("f4"), want.astype("f4")
            np.testing.assert_allclose(y, want, rtol=case.rtol, atol=case.atol, err_msg=case.name)


def model(nodes, inputs, outputs, opset=21, constants=(), domains=()):
    """A model. Inputs and outputs are (name, ONNX's type, shape or None)."""
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs], list(constants))
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def tensor(name, values, type=TensorProto.INT64):
    values = np.asarray(values)
    return helper.make_tensor(name, type, values.shape, values.ravel().tolist())


def run_lines(text):
    """The lines of runs among those that TALLY_VERBOSE=1 gives (docs/environment.md)."""
    return [line for line in text.splitlines() if line.startswith("tally,") and line.split(",")[2] == "run"]
