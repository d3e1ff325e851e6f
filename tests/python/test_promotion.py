# SPDX-License-Identifier: Apache-2.0
"""The dtypes of results: by default, and with dtype=."""
import ml_dtypes
import numpy as np
import pytest
from conftest import FLOATS, INTEGERS, tally

import array_api_strict as strict


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "sum", "prod"])
def test_integers_widen_as_numpys_do(name):
    for dtype in INTEGERS + FLOATS:
        x = np.ones(3, dtype)
        assert getattr(tally, name)(x).dtype == getattr(np, name)(x).dtype, dtype
    for name_strict in ("cumulative_sum", "cumulative_prod"):
        for dtype in ("int8", "int32", "uint8", "uint32", "float32"):
            x = strict.ones(3, dtype=getattr(strict, dtype))
            assert getattr(tally, name_strict)(x).dtype == getattr(strict, name_strict)(x).dtype


def test_sums_beyond_the_input():
    assert tally.sum(np.full(300, 255, "u1")) == 300 * 255
    assert tally.cumsum(np.full(3, -128, "i1")).tolist() == [-128, -256, -384]
    assert tally.sum(np.full(3, 2**32 - 1, "u4")) == 3 * (2**32 - 1)
    assert tally.sum(np.full(3, 2**63, "u8")) == 2**63, "modulo 2**64"


def test_everything_else_keeps_the_inputs():
    for dtype in INTEGERS + FLOATS + [ml_dtypes.bfloat16]:
        x = np.ones(3, dtype)
        for name in ("max", "min", "cummax", "cummin"):
            assert getattr(tally, name)(x).dtype == x.dtype
        for name in ("argmax", "argmin", "cumargmax", "cumargmin"):
            assert getattr(tally, name)(x).dtype == np.int64
    for dtype in FLOATS + [ml_dtypes.bfloat16]:
        for name in ("mean", "l1", "l2", "sum_square", "log_sum", "log_sum_exp"):
            assert getattr(tally, name)(np.ones(3, dtype)).dtype == np.dtype(dtype)


def test_floats_of_integers():
    for dtype in INTEGERS:
        assert tally.mean(np.array([0, 1, 1, 1], dtype)) == 0.75
    assert tally.mean(np.array([1, 2], "i4"), dtype="i32") == 1, "cut towards zero"
    assert tally.mean(np.array([1, 2], "i4"), dtype=np.float32).dtype == np.float32
    for name in ("l2", "log_sum", "log_sum_exp"):
        with pytest.raises(TypeError, match=r"hint: x.astype\('f8'\)"):
            getattr(tally, name)(np.array([3, 4]))
        assert getattr(tally, name)(np.array([3, 4]), dtype="i64").dtype == np.int64


def test_names_of_dtypes():
    x = np.ones(3, "f4")
    names = ["f64", "float64", np.float64, np.dtype("f8"), float, strict.float64]
    for name in names:
        assert tally.sum(x, dtype=name).dtype == np.float64
    assert tally.sum(np.ones(3, "i4"), dtype=int).dtype == np.int64
    assert tally.sum(np.ones(3, "f2"), dtype="f32").dtype == np.float32
    assert tally.argmax(x, dtype="u32").dtype == np.uint32
    for wrong in ("f4", "float128", complex, np.dtype("M8[s]"), object(), np.dtype(">f8"), "", 7):
        with pytest.raises(TypeError, match="^dtype: "):
            tally.sum(x, dtype=wrong)


def test_the_other_sign():
    """Sums and products are exact modulo their width, so that the sign of the result is the caller's."""
    x = np.array([250, 10, 200], "u1")
    for dtype in ("i64", "u64", "i32", "u32"):
        assert tally.cumsum(x, dtype=dtype).tolist() == [250, 260, 460]
    negative = np.array([-1, -1], "i4")
    assert tally.sum(negative, dtype="u64") == np.sum(negative, dtype="u8")
    assert tally.cumprod(negative, dtype="u32").tolist() == np.cumprod(negative, dtype="u4").tolist()
    assert tally.sum(np.ones(3, bool), dtype="u64").dtype == np.uint64


def test_pairs_without_a_kernel():
    for x, dtype in ((np.ones(3, "f8"), "f32"), (np.ones(3, "i8"), "i32"), (np.ones(3, "f4"), "i64"),
                     (np.ones(3, "i4"), "bool")):
        with pytest.raises(tally.Unsupported, match="^dtype: ") as e:
            tally.cumsum(x, dtype=dtype)
        assert e.value.status == "TALLY_UNSUPPORTED" and isinstance(e.value, NotImplementedError)
