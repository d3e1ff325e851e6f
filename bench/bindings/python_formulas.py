# SPDX-License-Identifier: Apache-2.0
"""What the libraries are asked for: a case as steps of numpy or torch into arrays that exist, as an expression of torch
or JAX, which makes new ones, and as a graph of ONNX."""

import functools

import numpy as np

from native import Refused

NUMPY = {"cumsum": np.cumsum, "cumprod": np.cumprod, "cummax": np.maximum.accumulate,
         "cumlogsumexp": np.logaddexp.accumulate, "sum": np.sum, "mean": np.mean, "max": np.max, "argmax": np.argmax}
ONNX = {"cumsum": "CumSum", "cumprod": "CumProd", "sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax",
        "argmax": "ArgMax", "log_sum_exp": "ReduceLogSumExp"}
OPSET = 26  # the first with CumProd


# ---- into arrays that exist ----

def torch_functions(torch):
    """They take the tensor, the axis and `out`."""
    index = []

    def cummax(x, axis, out):
        if not index:
            index.append(torch.empty(x.shape, dtype=torch.int64))
        torch.cummax(x, axis, out=(out, index[0]))
    return {"cumsum": torch.cumsum, "cumprod": torch.cumprod, "cummax": cummax, "cumlogsumexp": torch.logcumsumexp,
            "sum": torch.sum, "mean": torch.mean, "max": torch.amax, "argmax": torch.argmax,
            "log_sum_exp": torch.logsumexp}


def numpy_log_sum_exp(x, axis, out):
    """As scipy computes it, in steps without new arrays of the input's size."""
    most, t = np.max(x, axis, keepdims=True), log_sum_exp_memory(x.shape)
    np.subtract(x, most, out=t)
    np.exp(t, out=t)
    np.sum(t, axis, out=out)
    np.log(out, out=out)
    np.add(out, most.squeeze(axis), out=out)


@functools.lru_cache(1)
def log_sum_exp_memory(sizes):
    return np.empty(sizes, "f4")


def steps(case, library, functions, given, y):
    """A call that writes y of x, and of a where the case has it. `library` is numpy or torch, which share the names."""
    if case.op not in functions:
        raise Refused(f"has no {case.op}")
    function, axis, x, a = functions[case.op], case.axis, given[0], given[-1]
    t, c = (library.empty_like(x if case.formula else x[:0]) for _ in range(2))
    one = library.ones((), dtype=x.dtype)

    def exclusive(x, y):
        y[:, 0] = 0 if case.op == "cumsum" else 1
        function(x[:, :-1], axis, out=y[:, 1:])

    def weights():
        library.subtract(one, x, out=t)
        exclusive(t, c)
        library.multiply(x, c, out=y)

    def masked():
        library.multiply(x, a, out=t)
        function(t, axis, out=y)

    def squares():
        library.multiply(x, x, out=t)
        function(t, axis, out=y)
    if case.formula:
        return {"weights": weights, "masked": masked, "squares": squares}[case.formula]
    if case.exclusive:
        return lambda: exclusive(x, y)
    return functools.partial(function, x, axis, out=y)


def recurrence_steps(library, x, a, y):
    def call():
        y[0] = x[0]
        for step in range(1, len(x)):
            library.multiply(a[step], y[step - 1], out=y[step])
            library.add(y[step], x[step], out=y[step])
    return call


# ---- as expressions ----

def torch_operator(case, torch):
    """The operator along the case's axis. Partial calls cost least, which small calls show."""
    if case.op == "cummax":
        return lambda x: torch.cummax(x, case.axis).values
    return functools.partial(torch_functions(torch)[case.op], dim=case.axis)


def jax_operator(case, jax):
    numpy, lax = jax.numpy, jax.lax
    functions = {"cumsum": numpy.cumsum, "cumprod": numpy.cumprod, "cummax": lax.cummax,
                 "cumlogsumexp": lax.cumlogsumexp, "sum": numpy.sum, "mean": numpy.mean, "max": numpy.max,
                 "argmax": numpy.argmax, "log_sum_exp": jax.nn.logsumexp}
    return functools.partial(functions[case.op], axis=case.axis)


def expression(case, library, operator):
    """A function of x, and of a where the case has it, as users write it. `library` is torch or jax.numpy, which share
    the names."""
    def shifted(x, first):
        return operator(library.concatenate((library.full_like(x[:, :1], first), x[:, :-1]), 1))
    if case.formula:
        return {"weights": lambda x: x * shifted(1 - x, 1), "masked": lambda x, a: operator(x * a),
                "squares": lambda x: operator(x * x)}[case.formula]
    if case.exclusive:
        return lambda x: shifted(x, 0 if case.op == "cumsum" else 1)
    return operator


def torch_recurrence(torch):
    """A step at a time: torch has no scan of pairs."""
    def run(x, a):
        y = [x[0]]
        for step in range(1, len(x)):
            y.append(a[step] * y[-1] + x[step])
        return torch.stack(y)
    return run


def jax_recurrence(jax):
    def combine(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]
    return lambda x, a: jax.lax.associative_scan(combine, (a, x))[1]


# ---- as a graph ----

def onnx_model(case, onnx):
    """A graph of x, and a where the case has it, to y."""
    if case.op not in ONNX or case.gradient:
        raise Refused("has no gradients" if case.gradient else f"has no {case.op}")
    types = {"f32": onnx.TensorProto.FLOAT, "f16": onnx.TensorProto.FLOAT16, "bf16": onnx.TensorProto.BFLOAT16,
             "bool": onnx.TensorProto.BOOL, "i64": onnx.TensorProto.INT64}
    node, tensor = onnx.helper.make_node, onnx.helper.make_tensor
    constants = [tensor("axes", types["i64"], [] if case.scans else [len(case.axes)], case.axes)]
    nodes, name = [], "x"
    if case.dtype == "bool":  # CumSum takes numbers alone
        nodes.append(node("Cast", ["x"], ["u"], to=types["i64"]))
    elif case.formula == "weights":
        constants.append(tensor("one", types["f32"], [], [1]))
        nodes.append(node("Sub", ["one", "x"], ["u"]))
    elif case.formula:
        nodes.append(node("Mul", ["x", "a" if case.has_operand else "x"], ["u"]))
    name = "u" if nodes else "x"
    to = "c" if case.formula == "weights" else "y"
    if case.scans:
        nodes.append(node(ONNX[case.op], [name, "axes"], [to], exclusive=int(case.exclusive)))
    elif case.op == "argmax":
        nodes.append(node("ArgMax", [name], [to], axis=case.axis, keepdims=0))
    else:
        nodes.append(node(ONNX[case.op], [name, "axes"], [to], keepdims=0))
    if case.formula == "weights":
        nodes.append(node("Mul", ["x", "c"], ["y"]))
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes, "case", [value(name, types[case.dtype], case.sizes) for name in ("xa" if case.has_operand else "x")],
        [value("y", types[case.result], case.kept)], [each for each in constants if case.op != "argmax"])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=11)
