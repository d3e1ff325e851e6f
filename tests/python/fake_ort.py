# SPDX-License-Identifier: Apache-2.0
"""A table of functions in place of ONNX Runtime's, which counts what it hands out, and fails when it is told to."""
import ctypes
import itertools
import pathlib
import re

import numpy as np

HEADER = (pathlib.Path(__file__).parents[2] / "bindings/onnxruntime/ort.h").read_text()
PLACES = {name: int(place) for name, place in re.findall(r"^PLACE\((\w+), (\d+)\);", HEADER, re.M)}
VERSION = int(re.search(r"ORT_VERSION = (\d+)", HEADER)[1])
TYPES = {"f4": 1, "i4": 6, "i8": 7}

P, N = ctypes.c_void_p, ctypes.c_size_t
TASK = ctypes.CFUNCTYPE(None, P, N)
ARGUMENTS = {
    "create_status": [ctypes.c_int, ctypes.c_char_p], "create_domain": [ctypes.c_char_p, P], "domain_add": [P, P],
    "add_domain": [P, P], "value_data": [P, P], "shape_type": [P, P], "shape_rank": [P, P],
    "shape_sizes": [P, P, N], "shape_names": [P, P, N], "shape_count": [P, P], "value_shape": [P, P],
    "info_constant": [P, N, P, P], "info_int": [P, ctypes.c_char_p, P], "info_ints": [P, ctypes.c_char_p, P, P],
    "input_count": [P, P],
    "input": [P, N, P], "output": [P, N, P, N, P], "release_status": [P], "release_shape": [P],
    "release_domain": [P], "infer_input": [P, N, P], "infer_output": [P, N, P],
    "parallel_for": [P, TASK, N, N, P],
}


class Base(ctypes.Structure):
    """OrtApiBase."""
    GET = ctypes.CFUNCTYPE(P, ctypes.c_uint32)
    TEXT = ctypes.CFUNCTYPE(ctypes.c_char_p)
    _fields_ = [("get", GET), ("version", TEXT)]


class CustomOp(ctypes.Structure):
    """OrtCustomOp, in so far as the tests call it."""
    _fields_ = [("version", ctypes.c_uint32), ("create_old", P), ("name", ctypes.CFUNCTYPE(ctypes.c_char_p, P)),
                ("unused", P * 6), ("destroy", ctypes.CFUNCTYPE(None, P)), ("unused_too", P * 7),
                ("create", ctypes.CFUNCTYPE(P, P, P, P, P)), ("compute", ctypes.CFUNCTYPE(P, P, P)),
                ("infer", ctypes.CFUNCTYPE(P, P, P))]


def store(at, kind, *values):
    """Writes numbers to where a pointer points."""
    for i, value in enumerate(values):
        kind.from_address(at + i * ctypes.sizeof(kind)).value = value


class FakeOrt:
    """`inputs` are arrays or None, and `attributes` those of the one node that is made. Input 1 is `constant` or
    not. `fail` is the number of a
    call, from 0, that returns a status of its own: `failure`. `failed` is the name of that function."""

    kept = []  # Tally knows a table by its address, which no other may get

    def __init__(self):
        self.kept.append(self)
        self.inputs, self.attributes, self.result = [], {}, None
        self.constant, self.asked = False, set()
        self.statuses, self.domains, self.operators, self.registered = {}, set(), {}, []
        self.handed = {}  # shapes
        self.fresh = itertools.count(16)
        self.fail, self.calls, self.failure, self.failed = None, 0, None, None
        self.functions = [self._wrap(name, kinds) for name, kinds in ARGUMENTS.items()]
        self.table = (P * (max(PLACES.values()) + 1))()
        for name, function in zip(ARGUMENTS, self.functions):
            self.table[PLACES[name]] = ctypes.cast(function, P).value
        self.base = Base(Base.GET(lambda version: ctypes.addressof(self.table)), Base.TEXT(lambda: b"fake"))

    def _wrap(self, name, kinds):
        releases = name.startswith("release_")

        def call(*arguments):
            method = getattr(self, name)  # tests put others in their places
            if releases or name == "create_status":
                return method(*arguments)
            self.calls += 1
            if self.calls - 1 == self.fail:
                self.failed = name
                self.failure = self.create_status(1, b"told to fail")
                return self.failure
            return method(*arguments)

        return ctypes.CFUNCTYPE(None if releases else P, *kinds)(call)

    def register(self, library):
        """RegisterCustomOps; returns a status."""
        library.RegisterCustomOps.restype = P
        library.RegisterCustomOps.argtypes = [P, P]
        return library.RegisterCustomOps(None, ctypes.addressof(self.base))

    def operator(self, name):
        """One of this name, which for scans takes an i32 as the axis."""
        found = (CustomOp.from_address(op) for ops in self.operators.values() for op in ops)
        return next(op for op in found if op.name(ctypes.addressof(op)) == name)

    def node(self, op):
        """A node's handle, or a status: (handle, None) or (None, status)."""
        made = P()
        status = op.create(ctypes.addressof(op), ctypes.addressof(self.table), None, ctypes.addressof(made))
        return made.value, status

    # What ONNX Runtime has in the table.

    def create_status(self, code, text):
        handle = next(self.fresh)
        self.statuses[handle] = (code, text.decode())
        return handle

    def release_status(self, status):
        del self.statuses[status]

    def create_domain(self, name, out):
        handle = next(self.fresh)
        self.domains.add(handle)
        self.operators[handle] = []
        store(out, P, handle)

    def release_domain(self, domain):
        if domain is not None:
            self.domains.remove(domain)
            del self.operators[domain]

    def domain_add(self, domain, op):
        self.operators[domain].append(op)

    def add_domain(self, options, domain):
        self.registered.append(len(self.operators[domain]))

    def _array(self, value):
        return self.result if value == 1 else self.inputs[value - 2]

    def value_data(self, value, out):
        store(out, P, self._array(value).ctypes.data)

    def value_shape(self, value, out):
        handle = next(self.fresh)
        self.handed[handle] = self._array(value)
        store(out, P, handle)

    def release_shape(self, shape):
        del self.handed[shape]

    def shape_type(self, shape, out):
        store(out, ctypes.c_int, TYPES[self.handed[shape].dtype.str[1:]])

    def shape_rank(self, shape, out):
        store(out, N, self.handed[shape].ndim)

    def shape_sizes(self, shape, out, rank):
        store(out, ctypes.c_int64, *self.handed[shape].shape)

    def shape_count(self, shape, out):
        store(out, N, self.handed[shape].size)

    def shape_names(self, shape, out, rank):
        raise AssertionError("no run asks for names")

    infer_input = infer_output = shape_names

    def info_constant(self, info, index, is_constant, out):
        store(is_constant, ctypes.c_int, self.constant)
        if self.constant:
            store(out, P, index + 2)

    def info_int(self, info, name, out):
        value = self.attributes.get(name.decode())
        if not isinstance(value, int):
            return self.create_status(1, b"no such attribute")
        store(out, ctypes.c_int64, value)

    def info_ints(self, info, name, out, count):
        values = self.attributes.get(name.decode())
        if not isinstance(values, list):
            return self.create_status(1, b"no such attribute")
        store(count, N, len(values))
        if out:
            store(out, ctypes.c_int64, *values)

    def input_count(self, call, out):
        store(out, N, len(self.inputs))

    def input(self, call, index, out):
        self.asked.add(index)
        store(out, P, None if self.inputs[index] is None else index + 2)

    def output(self, call, index, sizes, rank, out):
        self.result = np.full([ctypes.c_int64.from_address(sizes + 8 * d).value for d in range(rank)], 7,
                              self.inputs[0].dtype)
        store(out, P, 1)

    def parallel_for(self, call, task, count, batches, user):
        for i in range(count):
            task(user, i)
