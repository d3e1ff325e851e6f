# SPDX-License-Identifier: Apache-2.0
"""ort_nodes.py: runs onnx's node tests in ONNX Runtime with Tally's operators, in a process of its own so that
TALLY_VERBOSE holds. Models run as they are, in ONNX's domain, and again with their nodes moved to domain "tally". A
line `case NAME` on standard error precedes the lines of each."""
import sys

import onnxruntime
import onnx_cases
import tally.onnxruntime
from onnx import helper


def run(case, model, standard):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    tally.onnxruntime.register(options, standard)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    print("case", case.name, file=sys.stderr, flush=True)
    onnx_cases.judge(case, lambda inputs: session.run(None, dict(zip(names, inputs))))


for case in onnx_cases.node_cases():
    run(case, case.model, True)
    for node in case.model.graph.node:
        node.domain = "tally"
    case.model.opset_import.append(helper.make_opsetid("tally", 1))
    run(case, case.model, False)
