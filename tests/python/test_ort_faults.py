# SPDX-License-Identifier: Apache-2.0
"""Tally's operators when calls of ONNX Runtime fail, or many threads register: by a fake ONNX Runtime that counts."""
import ctypes
import os
import threading
import time

import numpy as np
import pytest

import tally.onnxruntime
from fake_ort import FakeOrt

X = np.array([[2, 1, 3], [4, 5, 6]], "f4")
NODES = {  # operator: inputs, attributes, the result
    b"CumSum": ([X, np.array(1, "i4")], {"reverse": 1}, np.flip(np.flip(X, 1).cumsum(1), 1)),
    b"ReduceSum": ([X, np.array([-2])], {"keepdims": 0}, X.sum(0)),
    b"ReduceProd": ([X, None], {"axes": [0, 1]}, X.prod(keepdims=True)),
    b"ReduceMax": ([X], {"noop_with_empty_axes": 1}, X),
}


@pytest.fixture(params=[False, True], ids=["tally", "onnx"])
def library(request):
    return ctypes.CDLL(tally.onnxruntime.library(request.param))


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("name", NODES)
def test_each_call_fails_in_turn(library, name, constant):
    """The failure is passed on, or taken for a missing attribute, and everything that was handed out comes back."""
    fake = FakeOrt()
    assert fake.register(library) is None
    op = fake.operator(name)
    fake.inputs, fake.attributes, want = NODES[name]
    fake.constant = constant and len(fake.inputs) > 1 and fake.inputs[1] is not None
    passed = 0
    for fail in range(100):
        fake.fail, fake.calls, fake.failure, fake.result = fail, 0, None, None
        node, status = fake.node(op)
        if status is None:
            status = op.compute(node, None)
            op.destroy(node)
        if status is not None:
            assert status == fake.failure
            fake.release_status(status)
            passed += 1
        assert not fake.statuses and not fake.handed
        if fake.failure is None:
            np.testing.assert_array_equal(fake.result, want)
            break
    assert fake.failure is None and passed > 5
    assert not fake.constant or 1 not in fake.asked  # a constant was read when the node was made


def test_registration_fails_and_succeeds_later(library):
    fake = FakeOrt()
    for fail in range(100):
        fake.fail, fake.calls, fake.failure = fail, 0, None
        status = fake.register(library)
        if status is None:
            break
        assert status == fake.failure
        fake.release_status(status)
        assert len(fake.domains) == (fake.failed == "add_domain")
    assert len(fake.domains) == 1 and len(set(fake.registered)) == 1 and not fake.statuses


def test_threads_that_register_at_once_share_a_domain(library):
    fake = FakeOrt()
    slow = fake.create_domain

    def create_domain(name, out):
        time.sleep(.1)
        return slow(name, out)

    fake.create_domain = create_domain
    begin = threading.Barrier(8)

    def work():
        begin.wait()
        assert fake.register(library) is None

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fake.domains) == 1
    assert fake.registered == [len(*fake.operators.values())] * 8


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_a_session_that_lends_no_threads(library):
    fake = FakeOrt()
    assert fake.register(library) is None
    op = fake.operator(b"CumSum")
    fake.inputs, fake.attributes = [np.ones((64, 65536), "f4"), np.array(1, "i4")], {}
    counts = []
    lend = fake.parallel_for
    for fails in (False, True):
        def parallel_for(*arguments):
            counts.append(arguments[2])
            return fake.create_status(1, b"no threads") if fails else lend(*arguments)

        fake.parallel_for = parallel_for
        node, _ = fake.node(op)
        assert op.compute(node, None) is None
        op.destroy(node)
        assert (fake.result[:, -1] == 65536).all() and not fake.statuses
    assert len(counts) == 2 and min(counts) > 1
