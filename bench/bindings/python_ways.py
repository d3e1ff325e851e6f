# SPDX-License-Identifier: Apache-2.0
"""The competitors of `bench/run python`: each is a function of a problem and a number of threads that returns what is
called, and what reads its result as an array of numpy. Where it cannot do a case it raises Refused with the reason."""

import functools
import importlib

import numpy as np

import python_formulas as formulas
import sessions
from native import Refused

COMPILE = {"fullgraph": True, "dynamic": False}


@functools.cache
def library(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Refused(f"cannot be imported: {error}") from error


def written(problem):
    return lambda _result: problem.y


# ---- Tally, and numpy ----

def tally_call(problem, **out):
    case, tally = problem.case, library("tally")
    if case.gradient:
        raise Refused("the plain functions have no gradients")
    operands = {"a": problem.a} if case.has_operand else {}
    if case.formula:
        return functools.partial(tally.kernel(case.word), problem.x, **operands, **out)
    flag = {"exclusive": True} if case.exclusive else {}
    return functools.partial(getattr(tally, case.op), problem.x, axis=case.axis, **flag, **out)


def tally_out(problem, _threads):
    """Of a gradient, which no plain function computes, it is that of tally.torch."""
    if problem.case.gradient:
        return torch_eager(problem, tally_torch(problem.case))
    return tally_call(problem, out=problem.y), written(problem)


def tally_new(problem, _threads):
    return tally_call(problem), np.asarray


def numpy_out(problem, _threads):
    case = problem.case
    if case.gradient:
        raise Refused("has no gradients")
    if case.formula == "recurrence":
        return formulas.recurrence_steps(np, *problem.given, problem.y), written(problem)
    functions = {**formulas.NUMPY, "log_sum_exp": formulas.numpy_log_sum_exp}
    return formulas.steps(case, np, functions, problem.given, problem.y), written(problem)


# ---- torch ----

def tensor(array):
    torch = library("torch")
    if array.dtype == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def torch_read(result):
    result = result.detach()
    return (result.float() if result.dtype == library("torch").bfloat16 else result).numpy()


def torch_whole(case):
    torch = library("torch")
    return formulas.torch_recurrence(torch) if case.formula == "recurrence" else \
        formulas.expression(case, torch, formulas.torch_operator(case, torch))


def tally_torch(case):
    """The case by tally.torch: a function of x, and of a where the case has it."""
    torch = library("tally.torch")
    if case.formula == "recurrence":
        return functools.partial(torch.linrec, dim=case.axis)
    if case.formula:
        return functools.partial(torch.run, f"{case.op}:{case.options}{case.stages}")
    flag = {"exclusive": True} if case.exclusive else {}
    return functools.partial(getattr(torch, case.op), dim=case.axis, **flag)


def torch_eager(problem, whole):
    given = [tensor(array) for array in problem.given]
    if not problem.case.gradient:
        return functools.partial(whole, *given), torch_read
    torch, x, g = library("torch"), given[0].requires_grad_(), tensor(problem.g)
    return lambda: torch.autograd.grad(whole(x), x, g)[0], torch_read


def torch_out(problem, threads):
    """Into a tensor that exists; of a gradient the new one that autograd makes."""
    case, torch = problem.case, library("torch")
    if case.gradient:
        return torch_new(problem, threads)
    given, y = [tensor(array) for array in problem.given], tensor(problem.y)
    if case.formula == "recurrence":
        return formulas.recurrence_steps(torch, *given, y), written(problem)
    if case.dtype == "bool":
        return functools.partial(torch.cumsum, *given, case.axis, dtype=torch.int64, out=y), written(problem)
    return formulas.steps(case, torch, formulas.torch_functions(torch), given, y), written(problem)


def torch_new(problem, _threads):
    return torch_eager(problem, torch_whole(problem.case))


def torch_tally(problem, _threads):
    return torch_eager(problem, tally_torch(problem.case))


def torch_plain(problem, _threads):
    """The plain function on tensors."""
    case, tally = problem.case, library("tally")
    if case.gradient or case.formula:
        raise Refused("what is more than an operator has no plain function")
    library("tally.torch")
    flag = {"exclusive": True} if case.exclusive else {}
    return functools.partial(getattr(tally, case.op), tensor(problem.x), axis=case.axis, **flag), torch_read


# Each of both compiles code of its own, since the compiler keeps what it made with the code.

def compiled(problem, _threads):
    if problem.case.formula == "recurrence":
        raise Refused("needs a thousand steps in one graph, which take minutes to compile")
    whole = torch_whole(problem.case)
    return torch_eager(problem, library("torch").compile(lambda *given: whole(*given), **COMPILE))


def compiled_tally(problem, _threads):
    whole = tally_torch(problem.case)
    return torch_eager(problem, library("torch").compile(lambda *given: whole(*given), **COMPILE))


def forget():
    """What was compiled for earlier cases, which would make all of them versions of one function."""
    try:
        library("torch").compiler.reset()
    except Refused:
        pass  # the ways say so


# ---- JAX ----

def jax_arrays(problem):
    """The problem's own memory, so that all read the same lines of the cache. numpy has no DLPack for bf16: such arrays
    are copied once, and JAX reads the copy with Tally and without."""
    jax = library("jax")
    if problem.of_jax is None:
        arrays = problem.given + ([problem.g] if problem.case.gradient else [])
        problem.of_jax = [jax.numpy.asarray(array) if array.dtype == "bfloat16" else
                          jax.dlpack.from_dlpack(array, copy=False) for array in arrays]
    return problem.of_jax


def jax_call(problem, whole):
    jax, given = library("jax"), jax_arrays(problem)
    jitted = jax.jit(lambda x, g: jax.vjp(whole, x)[1](g)[0]) if problem.case.gradient else jax.jit(whole)
    return lambda: jitted(*given).block_until_ready(), np.asarray


def jax_own(problem, _threads):
    case, jax = problem.case, library("jax")
    return jax_call(problem, formulas.jax_recurrence(jax) if case.formula == "recurrence" else
                    formulas.expression(case, jax.numpy, formulas.jax_operator(case, jax)))


def jax_tally(problem, _threads):
    library("jax")
    case, jax = problem.case, library("tally.jax")
    if case.formula:
        return jax_call(problem, jax.kernel(case.word))
    flag = {"exclusive": True} if case.exclusive else {}
    return jax_call(problem, functools.partial(getattr(jax, case.op), axis=case.axis, **flag))


# ---- ONNX Runtime ----

def onnx_session(problem, threads, prepare=lambda options: None):
    """A run whose inputs and output are bound."""
    case, runtime, onnx = problem.case, library("onnxruntime"), library("onnx")
    model = formulas.onnx_model(case, onnx)
    session = sessions.opened(runtime, model, threads, prepare)
    binding, types = session.io_binding(), onnx.TensorProto
    names = {"float32": types.FLOAT, "float16": types.FLOAT16, "bfloat16": types.BFLOAT16, "bool": types.BOOL,
             "int64": types.INT64}
    for name in "xa" if case.has_operand else "x":
        array = problem.of[name]
        binding.bind_input(name, "cpu", 0, names[array.dtype.name], array.shape, array.ctypes.data)
    y = problem.y
    binding.bind_output("y", "cpu", 0, names[y.dtype.name], y.shape, y.ctypes.data)
    return lambda: session.run_with_iobinding(binding), written(problem)


def onnx_own(problem, threads):
    return onnx_session(problem, threads)


def onnx_tally(problem, threads):
    library("onnxruntime")
    register = library("tally.onnxruntime").register
    return onnx_session(problem, threads, lambda options: register(options, standard_domain=True))


TALLY, NEW = "Tally", "Tally, new result"
# The peers that stand beside Tally's call, and the pairs of a library without Tally and with it.
PEERS = {"numpy": numpy_out, "torch": torch_out, "torch.compile": compiled, "JAX": jax_own,
         "ONNX Runtime": onnx_own}
INSIDE = {"tally on tensors": torch_plain, "tally.torch": torch_tally, "tally.torch, compiled": compiled_tally,
          "tally.jax": jax_tally, "tally.onnxruntime": onnx_tally}
WAYS = {TALLY: tally_out, NEW: tally_new, "torch, new result": torch_new, **PEERS, **INSIDE}
BESIDE = {"tally on tensors": "torch, new result", "tally.torch": "torch, new result",
          "tally.torch, compiled": "torch.compile", "tally.jax": "JAX", "tally.onnxruntime": "ONNX Runtime"}
# What --peers names.
GROUPS = {"numpy": ["numpy"], "torch": ["torch", "torch, new result", "tally on tensors", "tally.torch"],
          "compile": ["torch.compile", "tally.torch, compiled"], "jax": ["JAX", "tally.jax"],
          "onnxruntime": ["ONNX Runtime", "tally.onnxruntime"]}
