# SPDX-License-Identifier: Apache-2.0
"""Tally's kernels in sessions of ONNX Runtime 1.18 and later, on CPUs.

    options = onnxruntime.SessionOptions()
    tally.onnxruntime.register(options, standard_domain=True)
    session = onnxruntime.InferenceSession("model.onnx", options)

docs/onnx.md lists the operators and how they differ from ONNX Runtime's own.
"""
import os

__all__ = ["library", "register"]


def library(standard_domain: bool = False) -> str:
    """The path of the library that SessionOptions.register_custom_ops_library takes.

    Its operators are in domain "tally". With standard_domain they are in ONNX's own, "", where they
    take the place of ONNX Runtime's, so that models need no change.
    """
    name = "libtally-ort-onnx.so" if standard_domain else "libtally-ort.so"
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    if not os.path.exists(path):
        raise ImportError(f"this build of Tally has no operators for ONNX Runtime: {path} is missing")
    return path


def register(options, standard_domain: bool = False) -> None:
    """Registers Tally's operators for the sessions that are made with `options`, an
    onnxruntime.SessionOptions. Both domains can be registered, each once for the same options."""
    options.register_custom_ops_library(library(standard_domain))
