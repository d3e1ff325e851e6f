# SPDX-License-Identifier: Apache-2.0
"""Sessions of ONNX Runtime for the tests."""
import onnxruntime as ort

import tally.onnxruntime


def session(model, domain="tally", **settings):
    """A session with Tally's operators in one domain or in none (None)."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    for name, value in settings.items():
        setattr(options, name, value)
    if domain is not None:
        tally.onnxruntime.register(options, domain == "")
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
