# SPDX-License-Identifier: Apache-2.0
"""The libraries: numpy, torch and ONNX Runtime, each called as its users would call it at its best:
into an output that exists already, and on the strided input itself where the library takes one.
"""

from functools import partial

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper

import sessions
from native import Competitor, Refused, repeat

OPSET = 26  # the first with CumProd
TORCH_DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
                "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
                "u64": torch.uint64, "u32": torch.uint32}
ONNX_DTYPES = {"f64": TensorProto.DOUBLE, "f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16,
               "bf16": TensorProto.BFLOAT16, "i64": TensorProto.INT64, "i32": TensorProto.INT32,
               "u64": TensorProto.UINT64, "u32": TensorProto.UINT32}


def versions():
    return {"numpy": np.__version__, "torch": torch.__version__,
            "onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__}


def numpy_competitors(problem, _threads):
    case = problem.case
    scan = {"cumprod": np.multiply, "cumsum": np.add}[case.op].accumulate
    x, y, axis = problem.x, problem.y, case.axis
    yield Competitor("numpy", 1, repeat(partial(scan, x, axis, x.dtype, y)))


def torch_tensor(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def torch_competitors(problem, threads):
    case = problem.case
    scan = {"cumprod": torch.cumprod, "cumsum": torch.cumsum}[case.op]
    dtype, axis = TORCH_DTYPES[case.dtype], case.axis
    y = torch_tensor(problem.y)
    if min(case.in_strides) < 0:  # torch has no negative strides, its users flip
        base = torch_tensor(problem.base)

        def call():
            scan(torch.flip(base, (axis,)), axis, dtype=dtype, out=y)
    else:
        call = partial(scan, torch_tensor(problem.x), axis, dtype=dtype, out=y)
    try:
        call()
    except (RuntimeError, TypeError) as error:
        yield Competitor("torch", refusal=str(error).splitlines()[0])
        return
    for count in threads:
        yield Competitor("torch", count, repeat(call), lambda n=count: torch.set_num_threads(n))


def onnx_model(case, base_shape):
    """CumProd or CumSum, behind the nodes that make a strided view of a packed input."""
    dtype = ONNX_DTYPES[case.dtype]
    nodes, constants, name = [], [], "x"

    def constant(label, values):
        constants.append(helper.make_tensor(label, TensorProto.INT64, [len(values)], values))
        return label

    if len(case.sizes) == 2 and not case.packed:
        nodes.append(helper.make_node("Transpose", ["x"], ["view"], perm=[1, 0]))
        name = "view"
    elif not case.packed:
        step = case.in_strides[0]
        start, end = (0, base_shape[0]) if step > 0 else (base_shape[0] - 1, -base_shape[0] - 1)
        nodes.append(helper.make_node(
            "Slice", ["x", constant("start", [start]), constant("end", [end]),
                      constant("axes", [0]), constant("step", [step])], ["view"]))
        name = "view"
    operator = {"cumprod": "CumProd", "cumsum": "CumSum"}[case.op]
    constants.append(helper.make_tensor("axis", TensorProto.INT64, [], [case.axis]))
    nodes.append(helper.make_node(operator, [name, "axis"], ["y"]))
    graph = helper.make_graph(nodes, "scan",
                              [helper.make_tensor_value_info("x", dtype, base_shape)],
                              [helper.make_tensor_value_info("y", dtype, case.sizes)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11)


def onnx_competitors(problem, threads):
    case = problem.case
    shape = case.sizes if case.packed else problem.base.shape
    if len(case.sizes) == 2 and not case.packed:
        shape = case.sizes[::-1]
    dtype = ONNX_DTYPES[case.dtype]
    for count in threads:
        try:
            session = sessions.opened(onnxruntime, onnx_model(case, shape), count)
        except Refused as refused:
            yield Competitor("ONNX Runtime", refusal=str(refused))
            return
        binding = session.io_binding()
        binding.bind_input("x", "cpu", 0, dtype, shape, problem.base.ctypes.data)
        binding.bind_output("y", "cpu", 0, dtype, case.sizes, problem.y.ctypes.data)
        yield Competitor("ONNX Runtime", count,
                         repeat(partial(session.run_with_iobinding, binding)),
                         keep=(session, binding))
