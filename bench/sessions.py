# SPDX-License-Identifier: Apache-2.0
"""Sessions of ONNX Runtime, as all parts of the benchmark open them."""

from native import Refused


def opened(runtime, model, threads, prepare=lambda options: None):
    """Of a model; `prepare` may change the session's options. `runtime` is the module onnxruntime."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    # Workers that spin between calls would take the core of whoever is measured next.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    prepare(options)
    try:
        return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no public common class
        raise Refused(str(error).split(" : ")[-1].strip()) from error
