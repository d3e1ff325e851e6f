# SPDX-License-Identifier: Apache-2.0
"""What Tally's operators promise to sessions of ONNX Runtime: threads, memory, registration, optimised graphs."""
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import need

need("onnx")
ort = need("onnxruntime")

from onnx import TensorProto as T
from onnx import helper

import onnx_cases
import tally.onnxruntime
from ort_session import session

FOLDER = pathlib.Path(__file__).parent
X = np.random.default_rng(1).random((2, 3, 4), "f4")


def chain(ops, shape, domain="tally", axis=1):
    """Nodes one after another, from x to y. A scan takes the constant axis."""
    names = ["x", *(f"t{i}" for i in range(1, len(ops))), "y"]
    nodes = [helper.make_node(op, [i, "axis"] if op.startswith("Cum") else [i], [o],
                              domain=domain if op.startswith("Cum") else "") for op, i, o in zip(ops, names, names[1:])]
    return onnx_cases.model(nodes, [("x", T.FLOAT, shape)], [("y", T.FLOAT, None)],
                            constants=[onnx_cases.tensor("axis", axis)], domains=[domain] if domain else [])


def script(text, **variables):
    """Runs Python code in a process of its own, with this file's names, and returns its standard error."""
    code = "from test_ort_sessions import *\n" + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, cwd=FOLDER,
                          env=os.environ | variables)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


# A named size is equal to itself. Where ONNX Runtime cannot know that shapes are equal, it takes new memory.
@pytest.mark.parametrize("shape, place", [([2, 3, 4], "in place"), (["n", 3, "m"], "in place"),
                                          ([None, 3, 4], "apart"), (None, "apart")])
def test_scans_work_in_place(shape, place):
    probe = os.environ.get("TALLY_TEST_ORT_PROBE")
    if probe is None:
        pytest.skip("TALLY_TEST_ORT_PROBE names no library")
    lines = script(f"""
        y, = session(chain(["Neg", "CumSum", "CumProd", "Neg"], {shape})).run(None, {{"x": X}})
        np.testing.assert_allclose(y, -np.cumprod(np.cumsum(-X, 1), 1), 1e-5)
        """, LD_PRELOAD=probe)
    assert lines.split("\n")[:-1] == [place, place]


def test_in_place_by_binding():
    s = session(chain(["CumSum"], [2, 3, 4]))
    value = ort.OrtValue.ortvalue_from_numpy(X.copy())
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("y", value)
    s.run_with_iobinding(binding)
    np.testing.assert_allclose(value.numpy(), X.cumsum(1), 1e-6)


@pytest.mark.parametrize("shape", [[2, 3, 4], ["n", 3, None], None])
def test_shapes_are_known_behind_scans(shape):
    known = session(chain(["CumSum", "Neg"], shape)).get_outputs()[0].shape
    assert known == (shape if shape and None not in shape else [])


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_runs_use_the_threads_of_the_session():
    lines = script("""
        x = np.ones((2048, 4096), "f4")
        s = session(chain(["CumProd"], [2048, 4096]), intra_op_num_threads=2)
        before = len(os.listdir("/proc/self/task"))
        for _ in range(9):
            y, = s.run(None, {"x": x})
        assert (y == 1).all()
        assert len(os.listdir("/proc/self/task")) == before
        """, TALLY_VERBOSE="1")
    runs = onnx_cases.run_lines(lines)
    assert len(runs) == 9 and all(",threads=2," in line for line in runs)


@pytest.mark.parametrize("threads", [1, 3])
def test_bits_do_not_depend_on_threads(threads):
    x = np.random.default_rng(2).random((4, 100_000), "f4")
    y = [session(chain(["CumSum"], [4, 100_000]), intra_op_num_threads=n).run(None, {"x": x})[0] for n in (1, threads)]
    assert y[0].tobytes() == y[1].tobytes()


def test_threads_that_register_at_once():
    script("""
        import threading
        m = {domain: chain(["CumSum", "CumProd"], [2, 3, 4], domain) for domain in ("tally", "")}
        begin, wrong = threading.Barrier(16), []
        def work(domain):
            begin.wait()
            try:
                y, = session(m[domain], domain).run(None, {"x": X})
                np.testing.assert_allclose(y, X.cumsum(1).cumprod(1), 1e-5)
            except BaseException as e:
                wrong.append(e)
        threads = [threading.Thread(target=work, args=("tally" if i % 2 else "",)) for i in range(16)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert not wrong, wrong
        """)


def test_one_session_in_many_threads():
    script("""
        from concurrent.futures import ThreadPoolExecutor
        s = session(chain(["CumSum", "CumProd"], ["n", 3, 4]))
        def work(n):
            x = np.full((n, 3, 4), .5, "f4")
            y, = s.run(None, {"x": x})
            return (y == x.cumsum(1).cumprod(1)).all()
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(1, 400)))
        """)


def test_both_domains_in_one_session():
    options = ort.SessionOptions()
    tally.onnxruntime.register(options)
    tally.onnxruntime.register(options, standard_domain=True)
    nodes = [helper.make_node("CumSum", ["x", "a"], ["s"]),
             helper.make_node("CumMax", ["s", "a"], ["y"], domain="tally")]
    m = onnx_cases.model(nodes, [("x", T.FLOAT, [3])], [("y", T.FLOAT, None)], constants=[onnx_cases.tensor("a", 0)],
                         domains=["tally"])
    y, = ort.InferenceSession(m.SerializeToString(), options).run(None, {"x": np.array([1, -2, 4], "f4")})
    assert y.tolist() == [1, 1, 3]


def test_a_thousand_sessions_leave_no_memory():
    """ONNX Runtime unloads a library of operators with its last session, and loads it for the next. Every attribute
    that a node lacks is a status of ONNX Runtime's, which must be released: some 4 MiB in all. Allocators may come to
    1 MiB more without them."""
    lines = script("""
        import gc
        m = [chain(["CumSum"] * 20, [4, 8, 2], domain) for domain in ("tally", "")]
        x = np.ones((4, 8, 2), "f4")
        def resident():
            gc.collect()
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        for n in range(1200):
            session(m[n % 2], ("tally", "")[n % 2]).run(None, {"x": x})
            if n == 199:
                before = resident()
        print(resident() - before, file=sys.stderr)
        """)
    assert int(lines) < 2 << 20


def refused(status, words, make):
    error = getattr(ort.capi.onnxruntime_pybind11_state, status)
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)


def test_errors():
    x = {"x": X}
    for axis, shown in ((3, 3), (-4, -4), (2**40, 2**40), (2**32 + 1, 2**32 + 1)):
        s = session(chain(["CumSum"], [2, 3, 4], axis=axis))
        refused("InvalidArgument", f"tally: axis: axis {shown} is not in [-3, 2]", lambda: s.run(None, x))

    def reduce(op, shape=(2, 3, 4), given=None, type=T.FLOAT, **attributes):
        n = helper.make_node(op, ["x"] if given is None else ["x", "a"], ["y"], domain="tally", **attributes)
        out = T.INT64 if op.startswith("Arg") else type
        return session(onnx_cases.model([n], [("x", type, list(shape))], [("y", out, None)],
                                        constants=[] if given is None else [onnx_cases.tensor("a", given)],
                                        domains=["tally"]))

    for given in ({"given": [0, 2**33]}, {"axes": [2**33]}):
        refused("InvalidArgument", f"tally: axes: axis {2**33} is not in [-3, 2]",
                lambda: reduce("ReduceSum", **given).run(None, x))
    refused("InvalidArgument", "tally: axis: axis 3 is not in [-3, 2]", lambda: reduce("ArgMax", axis=3).run(None, x))
    refused("InvalidArgument", "tally: sizes: argmax of no elements has no index",
            lambda: reduce("ArgMax", (0, 2)).run(None, {"x": np.zeros((0, 2), "f4")}))
    refused("NotImplemented", "tally: sizes: rank 9 is not in [0, 8]",
            lambda: reduce("ReduceSum", (1,) * 9).run(None, {"x": np.ones((1,) * 9, "f4")}))
    refused("NotImplemented", "tally: dtype: elements of ONNX's type 8 have no name in Tally",
            lambda: reduce("ReduceMax", (1,), type=T.STRING).run(None, {"x": np.array(["a"])}))
    refused("RuntimeException", "tally: keepdims: the attribute is 2 and must be 0 or 1",
            lambda: reduce("ReduceSum", keepdims=2))
    refused("InvalidArgument", "tally: axis: a scan has one axis, and the input holds 2",
            lambda: session(chain(["CumSum"], [2, 3, 4], axis=[0, 1])).run(None, x))
    refused("InvalidArgument", "tally: sizes: cumsum takes rank 1 to 8, not 0",
            lambda: session(chain(["CumSum"], [], axis=0)).run(None, {"x": np.array(1, "f4")}))


def test_rank_0():
    for op, want in (("ReduceSumSquare", 9), ("ArgMax", 0)):
        for attributes in ({}, {"axes": [-1]}) if op[0] == "R" else ({}, {"axis": -1}):
            n = helper.make_node(op, ["x"], ["y"], domain="tally", **attributes)
            m = onnx_cases.model([n], [("x", T.FLOAT, [])], [("y", T.INT64 if op[0] == "A" else T.FLOAT, None)],
                                 domains=["tally"])
            y, = session(m).run(None, {"x": np.array(3, "f4")})
            assert y == want and np.shape(y) == ()


def reduction(op, x, y, opset, axes, **attributes):
    """A node, whose axes are the constant `axes` where the opset has an input for them."""
    by_input = opset >= (13 if op == "ReduceSum" else 18)
    return helper.make_node(op, [x, "axes"] if by_input else [x], [y], **attributes,
                            **({} if by_input else {"axes": axes}))


def graphs(opset):
    """Graphs that ONNX Runtime rewrites: nodes, axes, and a name."""
    swap = {"perm": [0, 2, 1]}
    for op in ("ReduceSum", "ReduceMean", "ReduceMax"):
        for keep in (0, 1):
            yield [helper.make_node("Transpose", ["x"], ["t"], **swap),
                   reduction(op, "t", "r", opset, [1], keepdims=keep),
                   helper.make_node("Transpose", ["r"], ["y"], **(swap if keep else {}))], [1], f"{op} {keep}"
    yield [helper.make_node("Transpose", ["x"], ["t"], **swap), helper.make_node("ArgMax", ["t"], ["r"], axis=1),
           helper.make_node("Cast", ["r"], ["f"], to=T.FLOAT), helper.make_node("Transpose", ["f"], ["y"], **swap)
           ], [1], "ArgMax"
    yield [reduction("ReduceSum", "constant", "r", opset, [1]), helper.make_node("Add", ["r", "x"], ["y"])
           ], [1], "constant"
    yield [reduction("ReduceMean", "x", "m", opset, [-1]), helper.make_node("Sub", ["x", "m"], ["d"]),
           helper.make_node("Pow", ["d", "two"], ["p"]), reduction("ReduceMean", "p", "v", opset, [-1]),
           helper.make_node("Add", ["v", "small"], ["e"]), helper.make_node("Sqrt", ["e"], ["s"]),
           helper.make_node("Div", ["d", "s"], ["n"]), helper.make_node("Mul", ["n", "scale"], ["w"]),
           helper.make_node("Add", ["w", "scale"], ["y"])], [-1], "layer norm"


@pytest.mark.parametrize("opset", [11, 13, 18, 21])
def test_rewritten_graphs(opset):
    """ONNX Runtime's optimisers ask for opsets and attributes of the operators that Tally replaces."""
    level = ort.GraphOptimizationLevel
    for nodes, axes, name in graphs(opset):
        constants = [onnx_cases.tensor("axes", axes), onnx_cases.tensor("two", 2.0, T.FLOAT),
                     onnx_cases.tensor("small", 1e-5, T.FLOAT), onnx_cases.tensor("scale", [1.0, 2, 3, 4], T.FLOAT),
                     onnx_cases.tensor("constant", X, T.FLOAT)]
        m = onnx_cases.model(nodes, [("x", T.FLOAT, [2, 3, 4])], [("y", T.FLOAT, None)], opset, constants)
        want, = session(m, None, graph_optimization_level=level.ORT_DISABLE_ALL).run(None, {"x": X})
        got, = session(m, "", graph_optimization_level=level.ORT_ENABLE_ALL).run(None, {"x": X})
        assert got.shape == want.shape, name
        np.testing.assert_allclose(got, want, 1e-5, 1e-6, err_msg=name)


def test_nodes_of_subgraphs():
    def branch(op):
        n = helper.make_node(op, ["x", "a"], ["b"], keepdims=0)
        return helper.make_graph([n], op, [], [helper.make_tensor_value_info("b", T.FLOAT, None)])

    n = helper.make_node("If", ["c"], ["y"], then_branch=branch("ReduceSum"), else_branch=branch("ReduceMax"))
    m = onnx_cases.model([n], [("x", T.FLOAT, [2, 3, 4]), ("c", T.BOOL, [])], [("y", T.FLOAT, None)],
                         constants=[onnx_cases.tensor("a", [2])])
    s = session(m, "")
    np.testing.assert_allclose(s.run(None, {"x": X, "c": np.array(True)})[0], X.sum(2), 1e-6)
    np.testing.assert_allclose(s.run(None, {"x": X, "c": np.array(False)})[0], X.max(2))
