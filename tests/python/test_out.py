# SPDX-License-Identifier: Apache-2.0
"""out=: what may be written to, and what a failing call leaves as it was."""
import array

import numpy as np
import pytest
from conftest import OnlyDlpack, close, tally


def test_is_returned_and_filled(rng):
    x = rng.random((4, 5)).astype("f4")
    for out in (np.empty_like(x), np.empty((4, 10), "f4")[:, ::2], np.empty((5, 4), "f4").T,
                np.empty((4, 5), "f4")[::-1, ::-1], np.empty((8, 9), "f4")[2:6, 3:8]):
        assert tally.cumsum(x, axis=1, out=out) is out
        close(out, np.cumsum(x.astype("f8"), 1), "f4")
    total = np.empty(5, "f4")
    assert tally.sum(x, axis=0, out=total) is total
    close(total, x.sum(0), "f4")
    alone = np.empty((), "f4")
    assert tally.sum(x, out=alone) is alone and abs(alone - x.sum()) < 1e-4


def test_gaps_are_not_written():
    around = np.full((4, 6), 7, "f4")
    tally.cumsum(np.ones((4, 3), "f4"), axis=1, out=around[:, 1:6:2])
    assert (around[:, ::2] == 7).all() and around[0, 1::2].tolist() == [1, 2, 3]


def test_include_initial_into_a_view():
    around = np.full((4, 6), 7, "f4")
    out = around[1:3, ::-2]
    assert tally.cumulative_sum(np.ones((2, 2), "f4"), axis=1, include_initial=True, out=out) is out
    assert out.tolist() == [[0, 1, 2], [0, 1, 2]] and (around[::3] == 7).all() and (around[:, ::2] == 7).all()
    with pytest.raises(tally.Error, match=r"out: its shape is \(2, 2\), and the result's is \(2, 3\)"):
        tally.cumulative_sum(np.ones((2, 2)), axis=1, include_initial=True, out=np.empty((2, 2)))


def test_include_initial_beside_its_input():
    """The first elements, which no kernel writes, are not written into the input either."""
    memory = np.arange(8.0)
    for out in (memory[2:7], memory[:5], memory[3:8], memory[4::-1], memory[6:1:-1]):
        with pytest.raises(tally.Error, match="^out: the regions of input and output overlap"):
            tally.cumulative_sum(memory[2:6], include_initial=True, out=out)
    shared = np.lib.stride_tricks.as_strided(memory, (2, 3), (16, 8))
    with pytest.raises(tally.Error, match="^out: "):
        tally.cumulative_sum(np.ones((2, 2)), axis=1, include_initial=True, out=shared)
    assert (memory == np.arange(8)).all()
    assert tally.cumulative_sum(memory[3:6], include_initial=True, out=memory[2:6]).tolist() == [0, 3, 7, 12]
    assert tally.cumulative_sum(memory[6:], include_initial=True, out=memory[:3]).tolist() == [0, 6, 13]


def test_in_place(rng):
    for x in (rng.random((4, 5)), rng.random((5, 4)).T, rng.random((4, 10))[:, ::-2]):
        wanted = np.cumprod(x, axis=1)
        assert tally.cumprod(x, axis=1, out=x) is x
        close(x, wanted, "f8")


def test_overlaps_are_refused():
    x = np.arange(20.0)
    before = x.copy()
    for view in (x[1:], x[:-1]):
        other = x[:-1] if view.base is x and view[0] == 1 else x[1:]
        with pytest.raises(tally.Error, match="overlap") as refused:
            tally.cumsum(view, out=other)
        assert "the same tensor twice" in refused.value.hint
    square = np.arange(16.0).reshape(4, 4)
    with pytest.raises(tally.Error, match="in place needs a scan, and equal dtypes, strides"):
        tally.cumsum(square, axis=0, out=square.T)
    for row, message in (0, "in place needs a scan"), (1, "overlap"):
        with pytest.raises(tally.Error, match=message) as refused:
            tally.sum(square, axis=0, out=square[row])
        assert refused.value.hint == "pass tensors that do not overlap"
    assert (x == before).all() and (square.ravel() == np.arange(16)).all()


def test_nothing_is_cast_or_resized():
    x = np.ones((3, 4), "f4")
    for out, text in ((np.empty((3, 4)), "its dtype is f64, and the result's is f32"),
                      (np.empty((4, 3), "f4"), r"its shape is \(4, 3\), and the result's is \(3, 4\)"),
                      (np.empty(12, "f4"), r"its shape is \(12,\), and the result's is \(3, 4\)")):
        with pytest.raises(tally.Error, match=f"^out: {text}") as e:
            tally.cumsum(x, axis=1, out=out)
        assert e.value.field == "out"
    with pytest.raises(tally.Error, match="out: its dtype is u8, and the result's is u64; hint: dtype="):
        tally.cumsum(np.ones(3, "u1"), out=np.empty(3, "u1"))


def test_read_only_is_a_buffer_error():
    x = np.ones(4, "f4")
    out = np.empty(4, "f4")
    out.flags.writeable = False
    for refused in (out, np.broadcast_to(np.float32(0), (4,)), bytes(16), memoryview(out), OnlyDlpack(out)):
        with pytest.raises((BufferError, tally.Error)) as e:
            tally.cumsum(x, out=refused)
        assert isinstance(e.value, BufferError) or "dtype" in str(e.value)
    with pytest.raises(TypeError, match="no array that can be written"):
        tally.cumsum(x, out=[0, 0, 0, 0])


def test_no_stride_is_zero():
    out = np.lib.stride_tricks.as_strided(np.empty(1, "f4"), (4,), (0,), writeable=True)
    with pytest.raises(tally.Error, match="^out: "):
        tally.cumsum(np.ones(4, "f4"), out=out)


def test_other_outputs():
    x = np.ones(3, "f4")
    out = array.array("f", [0, 0, 0])
    assert tally.cumsum(x, out=out) is out and out.tolist() == [1, 2, 3]
    under = np.zeros(3, "f4")
    capsule = OnlyDlpack(under)
    assert tally.cumsum(x, out=capsule) is capsule and under.tolist() == [1, 2, 3]
    assert capsule.asked[0]["copy"] is False and capsule.asked[0]["max_version"] == (1, 3)


def test_a_failure_leaves_it():
    out = np.full(4, 7, "f8")
    with pytest.raises(tally.Unsupported):
        tally.cumsum(np.ones(4, "f4"), out=out, dtype="f64", order="exact")
    assert (out == 7).all()
