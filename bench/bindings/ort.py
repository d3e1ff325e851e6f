# SPDX-License-Identifier: Apache-2.0
"""Sessions of ONNX Runtime with its own kernels and with Tally's, in turns (docs/onnx.md): medians in microseconds.

`--build` names the build folder with the package (-Dpython=true); `--threads` are those of a session; `--rounds` how
often each takes its turn."""
import argparse
import importlib
import os
import pathlib
import statistics
import sys
import time

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

CASES = [  # operator, sizes, axis
    ("CumProd", (2048, 4096), 1), ("CumSum", (2048, 4096), 1), ("CumSum", (2048, 4096), 0),
    ("ReduceSum", (2048, 4096), 1), ("ReduceMax", (2048, 4096), 0), ("ReduceLogSumExp", (2048, 4096), 1),
    ("ArgMax", (2048, 4096), 1), ("CumProd", (3, 4), 1), ("ReduceSum", (3, 4), 1),
]


def session(op, sizes, axis, threads, with_tally):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)
    y = helper.make_tensor_value_info("y", TensorProto.INT64 if op == "ArgMax" else TensorProto.FLOAT, None)
    a = helper.make_tensor("a", TensorProto.INT64, [] if op.startswith("Cum") else [1], [axis])
    node = helper.make_node(op, ["x"], ["y"], axis=axis) if op == "ArgMax" else helper.make_node(op, ["x", "a"], ["y"])
    graph = helper.make_graph([node], "graph", [x], [y], [a])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=10)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if with_tally:
        importlib.import_module("tally.onnxruntime").register(options, standard_domain=True)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=15)
    a = p.parse_args()
    sys.path.insert(0, os.fspath(a.build / "bindings" / "python"))
    print(f"| operator, f32, {a.threads} threads | ONNX Runtime {ort.__version__} | Tally | ratio |\n|---|---|---|---|")
    for op, sizes, axis in CASES:
        small = np.prod(sizes) < 1000
        calls = 2000 if small else 2
        x = (1 + (np.random.default_rng(1).random(sizes) - .5) / 100).astype("f4")
        sessions = [session(op, sizes, axis, a.threads, with_tally) for with_tally in (False, True)]
        times = [[], []]
        for s in sessions:
            s.run(None, {"x": x})
        for _ in range(a.rounds):
            for s, kept in zip(sessions, times):
                start = time.perf_counter()
                for _ in range(calls):
                    s.run(None, {"x": x})
                kept.append((time.perf_counter() - start) / calls * 1e6)
        own, with_tally = map(statistics.median, times)
        name = f"{op} {'x'.join(map(str, sizes))}, axis {axis}"
        print(f"| {name} | {own:.1f} | {with_tally:.1f} | {own / with_tally:.1f} |", flush=True)


if __name__ == "__main__":
    main()
