# SPDX-License-Identifier: Apache-2.0
"""The competitors of `bench/run reductions`, as native.py and peers.py have those of the scans: reads,
plain loops, numpy, torch and ONNX Runtime, each called as its users would call it at its best.
"""

import ctypes
import functools

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto, helper

import native
import peers
import sessions
from native import Competitor, Refused, repeat
from reduction_cases import reduced_last


class Reads(native.Copies):
    """The ceiling: the input's bytes read."""
    READS = 1

    def competitors(self, problem, threads):
        for count in threads:
            for kind in range(self.library.tly_copy_kinds(self.READS)):
                name = self.library.tly_copy_name(self.READS, kind).decode()
                yield Competitor(name, count,
                                 self.timer(self.copiers[count], self.READS, kind,
                                            problem.case.bytes), is_ceiling=True)


class Nest(ctypes.Structure):
    """struct loop_shape of reduce_loops.c."""
    _fields_ = [(name, ctypes.c_int64) for name in ("first", "kept", "second", "lanes")]


class Loops:
    """The plain loops."""
    FILES = {"C -O3": "libreduce.so", "C -Ofast": "libreduce_fast.so"}

    def __init__(self, folder):
        self.libraries = {}
        for name, file in self.FILES.items():
            library = ctypes.CDLL(str(folder / file))
            library.loop_find.restype = ctypes.c_void_p
            self.libraries[name] = library
        self.clock = ctypes.CDLL(str(folder / "libbench.so"))
        self.clock.repeat_loop.restype = ctypes.c_double

    def competitors(self, problem, _threads):
        case, shape = problem.case, Nest(*problem.case.nest)
        for name, library in self.libraries.items():
            run = ctypes.c_void_p(library.loop_find(f"{case.op}_{case.dtype}".encode()))

            def seconds(count, run=run):
                return self.clock.repeat_loop(run, native.address(problem.base),
                                              native.address(problem.y), ctypes.byref(shape),
                                              ctypes.c_int64(count))
            yield Competitor(name, 1, seconds, keep=(shape,)) if run else \
                Competitor(name, refusal="no loop was written")


def numpy_competitors(problem, _threads):
    """What a numpy user writes; float64 temporaries are nobody's wish, so dtypes stay."""
    case, x, y = problem.case, problem.x, problem.y
    if case.op == "argmax":
        def call():
            if len(case.axes) == 1:
                np.argmax(x, case.axes[0], out=y)
            else:
                np.argmax(reduced_last(x, case), -1, out=y)
    elif case.op == "log_sum_exp":
        def call():
            top = x.max(case.axes, keepdims=True)
            y[...] = np.log(np.exp(x - top).sum(case.axes)) + top.reshape(y.shape)
    elif case.op == "l2":
        def call():
            if len(case.axes) == 1:
                y[...] = np.linalg.norm(x, axis=case.axes[0])
            else:
                y[...] = np.sqrt(np.square(x).sum(case.axes))
    else:
        combine = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max}[case.op]
        extra = {"dtype": x.dtype} if case.op in ("sum", "prod", "mean") else {}
        call = functools.partial(combine, x, case.axes, out=y, **extra)
    yield Competitor("numpy", 1, repeat(call))


def torch_competitors(problem, threads):
    case = problem.case
    dtype, axes = {**peers.TORCH_DTYPES, "i8": torch.int8}[case.dtype], case.axes
    x, y = peers.torch_tensor(problem.x), peers.torch_tensor(problem.y)
    flat = x.reshape(-1) if not case.kept else \
        x if len(axes) == 1 else None   # prod and argmax take one axis
    axis = axes[0] if flat is not None and case.kept else 0

    def one(call):
        def several():
            call(reduced_last(x, case), -1)
        return several if flat is None else lambda: call(flat, axis)
    call = {"sum": lambda: torch.sum(x, axes, dtype=dtype, out=y),
            "mean": lambda: torch.mean(x, axes, dtype=dtype, out=y),
            "max": lambda: torch.amax(x, axes, out=y),
            "l2": lambda: torch.linalg.vector_norm(x, 2, axes, out=y),
            "log_sum_exp": lambda: torch.logsumexp(x, axes, out=y),
            "prod": one(lambda t, a: torch.prod(t, a, dtype=dtype, out=y)),
            "argmax": one(lambda t, a: torch.argmax(t, a, out=y))}[case.op]
    try:
        call()
    except (RuntimeError, TypeError) as error:
        yield Competitor("torch", refusal=str(error).splitlines()[0])
        return
    for count in threads:
        yield Competitor("torch", count, repeat(call), lambda n=count: torch.set_num_threads(n))


ONNX_NAMES = {"sum": "ReduceSum", "max": "ReduceMax", "mean": "ReduceMean", "prod": "ReduceProd",
              "l2": "ReduceL2", "log_sum_exp": "ReduceLogSumExp", "argmax": "ArgMax"}


def onnx_model(case, dtype):
    constants, kept = [], case.kept
    if case.op == "argmax":
        if len(case.axes) > 1:
            raise Refused("ArgMax takes one axis")
        node = helper.make_node("ArgMax", ["x"], ["y"], axis=case.axes[0], keepdims=0)
    else:
        constants = [helper.make_tensor("axes", TensorProto.INT64, [len(case.axes)], case.axes)]
        node = helper.make_node(ONNX_NAMES[case.op], ["x", "axes"], ["y"], keepdims=0)
    out = TensorProto.INT64 if case.op == "argmax" else dtype
    graph = helper.make_graph([node], "reduction",
                              [helper.make_tensor_value_info("x", dtype, case.sizes)],
                              [helper.make_tensor_value_info("y", out, kept)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def onnx_competitors(problem, threads):
    case = problem.case
    dtype = {**peers.ONNX_DTYPES, "i8": TensorProto.INT8}[case.dtype]
    for count in threads:
        try:
            session = sessions.opened(onnxruntime, onnx_model(case, dtype), count)
        except Refused as refused:
            yield Competitor("ONNX Runtime", refusal=str(refused))
            return
        binding = session.io_binding()
        binding.bind_input("x", "cpu", 0, dtype, case.sizes, problem.base.ctypes.data)
        binding.bind_output("y", "cpu", 0, TensorProto.INT64 if case.op == "argmax" else dtype,
                            case.kept, problem.y.ctypes.data)
        yield Competitor("ONNX Runtime", count,
                         repeat(functools.partial(session.run_with_iobinding, binding)),
                         keep=(session, binding))
