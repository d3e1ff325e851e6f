# SPDX-License-Identifier: Apache-2.0
"""bindings/onnxruntime/ort.h against the ONNX Runtime that is installed: functions by their places in its table."""
import ctypes
import os
import pathlib
import re

import numpy as np
import pytest
from conftest import need

onnx = need("onnx")
ort = need("onnxruntime")

import tally.onnxruntime
from fake_ort import HEADER, PLACES, VERSION, Base

# Only a session calls what leads to these, and what the operators compute depends on each:
ELSEWHERE = {
    "domain_add": "no session would know the operators",
    "add_domain": "the same",
    "info_int": "test_ort.test_scans: exclusive, reverse",
    "info_ints": "test_ort.test_reductions_of_every_opset: axes of old opsets",
    "info_constant": "test_ort_sessions: the axis of every chain",
    "input_count": "test_ort.test_reductions_of_every_opset: all axes",
    "input": "everything in test_ort",
    "output": "everything in test_ort",
    "infer_input": "test_ort_sessions.test_shapes_are_known_behind_scans",
    "infer_output": "the same",
    "parallel_for": "test_ort_sessions.test_runs_use_the_threads_of_the_session",
}
# Functions that the tests alone call, and their places.
OTHERS = {"GetErrorCode": 1, "GetErrorMessage": 2, "CreateTensorWithDataAsOrtValue": 49, "CreateCpuMemoryInfo": 69,
          "ReleaseMemoryInfo": 94, "ReleaseValue": 96}


def find_base():
    folder = pathlib.Path(ort.__file__).parent / "capi"
    for file in [*folder.glob("libonnxruntime.so*"), *folder.glob("onnxruntime_pybind11_state*.so")]:
        library = ctypes.CDLL(str(file))
        if hasattr(library, "OrtGetApiBase"):
            library.OrtGetApiBase.restype = ctypes.POINTER(Base)
            return library.OrtGetApiBase().contents
    raise AssertionError(f"no library in {folder} has OrtGetApiBase")


BASE = find_base()
TABLE = ctypes.cast(BASE.get(VERSION), ctypes.POINTER(ctypes.c_void_p))
called = set()


def call(name, *arguments, result=ctypes.c_void_p):
    """Calls a function by its name in the header, or in OTHERS; integers are passed as size_t."""
    called.add(name)
    place = PLACES.get(name, OTHERS.get(name))
    function = ctypes.CFUNCTYPE(result)(TABLE[place])
    function.argtypes = None
    return function(*(ctypes.c_size_t(a) if isinstance(a, int) else a for a in arguments))


def out(name, kind, *before, after=()):
    """What a function stores at its output."""
    value = kind()
    assert call(name, *before, ctypes.byref(value), *after) is None
    return value


def test_version():
    assert BASE.version().decode() == ort.__version__


def test_statuses():
    status = ctypes.c_void_p(call("create_status", ctypes.c_int(2), b"text"))
    assert call("GetErrorCode", status, result=ctypes.c_int) == 2
    assert call("GetErrorMessage", status, result=ctypes.c_char_p) == b"text"
    call("release_status", status, result=None)
    text = b"x" * 10_000
    before = resident()
    for _ in range(10_000):
        call("release_status", ctypes.c_void_p(call("create_status", ctypes.c_int(1), text)), result=None)
    assert resident() - before < 10 << 20  # they have 100 MB


def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_domains():
    domain = out("create_domain", ctypes.c_void_p, b"tally.test")
    assert domain.value
    call("release_domain", domain, result=None)


@pytest.mark.parametrize("name", re.findall(r"ORT_(\w+) = \d+,", HEADER[HEADER.index("ORT_F32"):]))
def test_tensors(name):
    names = {"f": "FLOAT", "u": "UINT", "i": "INT", "b": "BFLOAT"}
    kind = name if name == "BOOL" else {"F32": "FLOAT", "F64": "DOUBLE"}.get(
        name, names[name[0].lower()] + re.search(r"\d+", name)[0])
    number = int(re.search(rf"\bORT_{name} = (\d+)", HEADER)[1])
    assert number == getattr(onnx.TensorProto, kind)
    x = np.zeros((2, 3, 8), "u1")
    memory = out("CreateCpuMemoryInfo", ctypes.c_void_p, ctypes.c_int(1), ctypes.c_int(0))
    sizes = (ctypes.c_int64 * 2)(2, 3)
    value = out("CreateTensorWithDataAsOrtValue", ctypes.c_void_p, memory, x.ctypes.data_as(ctypes.c_void_p),
                x.nbytes, sizes, 2, ctypes.c_int(number))
    assert out("value_data", ctypes.c_void_p, value).value == x.ctypes.data
    shape = out("value_shape", ctypes.c_void_p, value)
    assert out("shape_type", ctypes.c_int, shape).value == number
    assert out("shape_rank", ctypes.c_size_t, shape).value == 2
    assert out("shape_count", ctypes.c_size_t, shape).value == 6
    read, texts = (ctypes.c_int64 * 2)(), (ctypes.c_char_p * 2)()
    assert call("shape_sizes", shape, read, 2) is None and list(read) == [2, 3]
    assert call("shape_names", shape, texts, 2) is None and list(texts) == [b"", b""]
    call("release_shape", shape, result=None)
    call("ReleaseValue", value, result=None)
    call("ReleaseMemoryInfo", memory, result=None)


def test_every_place_is_judged():
    test_statuses()
    test_domains()
    test_tensors("F32")
    assert called - set(OTHERS) | set(ELSEWHERE) == set(PLACES)


@pytest.mark.parametrize("standard", [False, True])
def test_older_libraries_are_refused(standard):
    real, version = BASE.get, BASE.version
    old = Base(Base.GET(lambda n: real(n) if n == 1 else None), Base.TEXT(lambda: b"1.17.3"))
    library = ctypes.CDLL(tally.onnxruntime.library(standard))
    library.RegisterCustomOps.restype = ctypes.c_void_p
    status = ctypes.c_void_p(library.RegisterCustomOps(None, ctypes.byref(old)))
    text = call("GetErrorMessage", status, result=ctypes.c_char_p)
    assert text == b"tally: usage: ONNX Runtime 1.17.3 is older than 1.18"
    call("release_status", status, result=None)
