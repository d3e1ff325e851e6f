# SPDX-License-Identifier: Apache-2.0
"""The backend interface of onnx (onnx.backend.base), for graphs of scans and reductions alone.

    y, = tally.onnx.run_model(onnx.load("model.onnx"), [x])

Nodes run one after another on host arrays. Other graphs run in ONNX Runtime, by tally.onnxruntime.
"""
import numpy
import onnx.checker
import onnx.numpy_helper
from onnx import helper
from onnx.backend.base import Backend as _Base
from onnx.backend.base import BackendRep

import tally

__all__ = ["Backend", "Model", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


def _scan(function, x, axis, exclusive=0, reverse=0):
    axes = numpy.ravel(axis)
    if len(axes) != 1:
        raise tally.Error(f"axis: a scan goes along one axis, and the tensor has {len(axes)} numbers")
    return function(x, axis=axes[0], exclusive=exclusive != 0, reverse=reverse != 0, dtype=x.dtype)


# Axes are an input in new opsets and an attribute in old ones.
def _reduce(function, x, given=None, axes=(), keepdims=1, noop_with_empty_axes=0, **typed):
    axes = tuple(numpy.ravel(axes if given is None else given).tolist())
    return function(x, axis=axes if axes or noop_with_empty_axes else None, keepdims=keepdims != 0, **typed)


# ONNX's results have the dtype of the input, and Tally's functions follow numpy.
def _typed(function, x, *inputs, **attributes):
    return _reduce(function, x, *inputs, dtype=x.dtype, **attributes)


def _pick(function, x, axis=0, keepdims=1, select_last_index=0):
    return function(x, axis=axis, keepdims=keepdims != 0, last=select_last_index != 0)


_OPERATORS = {
    "CumSum": (_scan, tally.cumsum),
    "CumProd": (_scan, tally.cumprod),
    "ReduceSum": (_typed, tally.sum),
    "ReduceProd": (_typed, tally.prod),
    "ReduceMean": (_typed, tally.mean),
    "ReduceL1": (_typed, tally.l1),
    "ReduceL2": (_typed, tally.l2),
    "ReduceSumSquare": (_typed, tally.sum_square),
    "ReduceLogSum": (_typed, tally.log_sum),
    "ReduceLogSumExp": (_typed, tally.log_sum_exp),
    "ReduceMax": (_reduce, tally.max),
    "ReduceMin": (_reduce, tally.min),
    "ArgMax": (_pick, tally.argmax),
    "ArgMin": (_pick, tally.argmin),
}


def _known(node):
    return node.domain in ("", "ai.onnx") and node.op_type in _OPERATORS


def _check(node):
    if not _known(node):
        raise NotImplementedError(f"op: {node.domain or 'ai.onnx'}.{node.op_type} is no operator of tally.onnx; "
                                  "hint: run the model in ONNX Runtime with tally.onnxruntime")


def _run(node, inputs):
    convert, function = _OPERATORS[node.op_type]
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return numpy.asarray(convert(function, *inputs, **attributes))


class Model(BackendRep):
    """A model that can be run; Backend.prepare returns it."""

    def __init__(self, model):
        graph = model.graph
        self._constants = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
        self._inputs = [i.name for i in graph.input]
        self._outputs = [o.name for o in graph.output]
        self._nodes = list(graph.node)

    def run(self, inputs, **_):
        """A tuple of the graph's outputs. `inputs` are its inputs in their order, as a sequence or a dict by
        name. Inputs that have an initializer may be left out, all or none of them in a sequence."""
        values = dict(self._constants)
        if not isinstance(inputs, dict):
            names = [n for n in self._inputs if n not in self._constants]
            if len(inputs) != len(names):
                names = self._inputs
            if len(inputs) != len(names):
                raise ValueError(f"the model has {len(names)} inputs, and {len(inputs)} are given")
            inputs = dict(zip(names, inputs))
        values.update((name, numpy.asarray(value)) for name, value in inputs.items())
        for node in self._nodes:
            values[node.output[0]] = _run(node, [values[name] if name else None for name in node.input])
        return tuple(values[name] for name in self._outputs)


class Backend(_Base):
    """The class that onnx.backend.test and other users of the interface take."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **_):
        """Whether Tally computes every node of the model."""
        return cls.supports_device(device) and all(map(_known, model.graph.node))

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        """A Model, whose method `run` takes the inputs."""
        super().prepare(model, device, **kwargs)  # checks it
        cls._check_device(device)
        for node in model.graph.node:
            _check(node)
        return Model(model)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """A tuple of the node's result. `opset_version` says which opset the node is of; otherwise it is the newest."""
        cls._check_device(device)
        super().run_node(node, inputs, device, outputs_info, **kwargs)  # checks it
        _check(node)
        return (_run(node, [None if i is None else numpy.asarray(i) for i in inputs]),)

    @classmethod
    def _check_device(cls, device):
        if not cls.supports_device(device):
            raise ValueError(f"device: {device} is no device of tally.onnx; hint: CPU")

    @classmethod
    def supports_device(cls, device):
        """Whether the device is the CPU: "CPU" or "CPU:0"."""
        return device.partition(":")[0] == "CPU"


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
