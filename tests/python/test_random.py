# SPDX-License-Identifier: Apache-2.0
"""Random calls of every function: values, layouts, options and outputs; and calls that are refused.

CI runs the same examples each time. TALLY_TEST_EXAMPLES=N runs N others of each test and function."""
import dataclasses
import math
import os
import zlib

import numpy as np
import oracle
import pytest
from conftest import need, tally
from oracle import DTYPES, FLOATS, INDICES, SCANS

need("hypothesis")
from hypothesis import given, note, seed, settings, strategies as st  # noqa: E402

MORE = int(os.environ.get("TALLY_TEST_EXAMPLES", "0"))
FOLDS = ["sum", "prod", "mean", "l1", "l2", "sum_square", "log_sum", "log_sum_exp", "max", "min"]
NAMES = SCANS + FOLDS + INDICES[:2]
PLAIN_SCANS, INDEX_SCANS, CUMULATIVES = SCANS[:5], SCANS[5:7], SCANS[7:]
KINDS = ["whole", "normal", "special", "equal", "ends"]
SIZES = {0: 1, 1: 3000, 2: 70, 3: 12, 4: 6, 5: 5}  # the most, by rank
PICKS = ["cummax", "cummin", "max", "min", *INDICES]
HAS = {"dtype": [*oracle.ADDS, "mean", "l1", "l2", "sum_square", "log_sum", "log_sum_exp", *INDICES],
       "exclusive": PLAIN_SCANS, "reverse": PLAIN_SCANS + INDEX_SCANS, "keepdims": FOLDS + INDICES[:2], "last": INDICES,
       "nan": PICKS, "include_initial": CUMULATIVES, "order": PLAIN_SCANS + FOLDS,
       "threads": [name for name in NAMES if name not in CUMULATIVES],
       "acc": ["cumsum", "cumprod", "sum", "prod", "mean", "l1", "l2", "sum_square"]}


def each(count, name, strategy, check):
    """Checks examples that are this function's own."""
    check = settings(max_examples=MORE or count, deadline=None, database=None)(given(strategy)(check))
    if not MORE:
        check = seed(zlib.crc32(name.encode()))(check)
    check()


@dataclasses.dataclass
class Layout:
    """A view: of each dimension in memory the elements before it, the step, and those behind it."""
    order: list
    before: list
    steps: list

    def view(self, shape, dtype, fill):
        """The view, and all of the memory that it lies in."""
        sizes = [1 if step == 0 else shape[d] * abs(step) for d, step in zip(self.order, self.steps)]
        memory = np.full([b + s + 1 for b, s in zip(self.before, sizes)], fill, dtype)
        cut = memory[(..., *(slice(b, b + s) for b, s in zip(self.before, sizes)))]
        cut = cut[(..., *(slice(None, None, step or 1) for step in self.steps))]
        wanted = [shape[d] for d in self.order]
        if 0 in self.steps:
            cut = np.lib.stride_tricks.as_strided(
                cut, wanted, [0 if step == 0 else s for step, s in zip(self.steps, cut.strides)])
        return cut.transpose(np.argsort(self.order).astype(int)), memory


@st.composite
def layouts(draw, rank, steps):
    if draw(st.integers(0, 3)) == 0:
        return None
    free = [draw(st.sampled_from(steps)) if i < 3 else 1 for i in range(rank)]
    return Layout(draw(st.permutations(range(rank))), [draw(st.integers(0, 2)) for _ in range(rank)], free)


@dataclasses.dataclass
class Call:
    name: str
    dtype: str
    shape: tuple
    options: dict
    layout: Layout | None
    kind: str
    seed: int
    out: str = "none"
    out_layout: Layout | None = None

    def values(self):
        rng, dtype, shape = np.random.default_rng(self.seed), DTYPES[self.dtype], self.shape
        if self.dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if self.dtype not in FLOATS:
            return integers(rng, self.kind, shape, dtype)
        return floats(rng, self.name, self.kind, shape, dtype)

    def array(self):
        x = self.values()
        if self.layout is None:
            return x, x
        fill = 1 if self.dtype == "bool" else 99  # what must not be read
        view, memory = self.layout.view(self.shape, x.dtype, fill)
        np.lib.stride_tricks.as_strided(view, view.shape, view.strides)[...] = x
        return view, memory

    def result_dtype(self):
        given_dtype = self.options.get("dtype")
        return DTYPES[given_dtype or oracle.default(self.name, self.dtype)]

    def result_shape(self):
        return oracle.shape_of(self.name, self.shape, self.options)

    def run(self, x, **more):
        return getattr(tally, self.name)(x, **{**self.options, **more})


def integers(rng, kind, shape, dtype):
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    if kind == "ends":
        return rng.choice(np.array([least, most, 0, 1], dtype), shape)
    if kind == "normal":
        return rng.integers(least, most, shape, dtype=dtype, endpoint=True)
    return rng.integers(max(least, -3), 4, shape).astype(dtype)


def floats(rng, name, kind, shape, dtype):
    x = rng.integers(-4, 5, shape).astype("f8")
    if kind == "normal":
        x = rng.standard_normal(shape)
        big = {"float16": 5, "float64": 300}.get(dtype.name, 40)
        if name in ("mean", "l2", "log_sum"):
            big = {"float16": 5, "float64": 900}.get(dtype.name, 100)
        big = 5 if "exp" in name else big
        x = x * 2.0 ** rng.choice([0, 0, big, -big])
    elif kind == "equal":
        x = np.full(shape, rng.choice([0.1, 1, -0.0, -3]))
    if "prod" in name and kind == "normal":
        x = rng.choice([-1, 1], shape) * 2.0 ** rng.uniform(-1, 1, shape)
    x = np.abs(x) if name == "log_sum" and kind != "whole" else x
    if kind == "special":
        strange = [v for v in (np.nan, np.inf, -np.inf, 0.0, -0.0) if rng.integers(2)] or [1]
        x = np.where(rng.random(shape) < rng.choice([0.02, 0.3, 1]), rng.choice(strange, shape), x)
    return np.asarray(x).astype(dtype)


@st.composite
def axes_of(draw, name, rank):
    if name in SCANS:
        lowest = -max(rank, 1)
        return draw(st.integers(lowest, -lowest - 1) | st.none()) if rank < 2 else draw(st.integers(-rank, rank - 1))
    if draw(st.booleans()) or rank == 0:
        return draw(st.sampled_from([None, ()]))
    some = draw(st.lists(st.integers(0, rank - 1), min_size=1, unique=True))
    some = [d - rank * draw(st.integers(0, 1)) for d in some]
    return some[0] if len(some) == 1 and draw(st.booleans()) else tuple(some)


@st.composite
def calls(draw, name, least=0):
    pairs = oracle.pairs(name)
    dtype = draw(st.sampled_from(FLOATS) | st.sampled_from(sorted({dtype for dtype, _ in pairs})))
    outs = [out for out in DTYPES if (dtype, out) in pairs]
    out = draw(st.sampled_from([o for o in outs if o in (dtype, oracle.default(name, dtype))]) | st.sampled_from(outs))
    rank = draw(st.integers(0, 5))
    most = min(SIZES[rank], 300 if "exp" in name else 3000)  # what judges those takes the square of it
    sizes = st.integers(1, most) | st.integers(most // 2, most) | st.integers(least, 2)
    shape = tuple(draw(sizes) for _ in range(rank))
    options = {}
    if out != oracle.default(name, dtype) or (name in HAS["dtype"] and draw(st.booleans())):
        options["dtype"] = out
    axis = draw(axes_of(name, rank))
    if axis is not None or draw(st.booleans()):
        options["axis"] = axis
    flags = {"exclusive": [True], "reverse": [True], "keepdims": [True], "last": [True], "include_initial": [True],
             "order": ["serial"], "acc": ["f64"] if dtype in ("f32", "f16", "bf16") else [],
             "nan": ["ignore"] if dtype in FLOATS else [], "threads": [1, 2]}
    for option, values in flags.items():
        if name in HAS[option] and values and draw(st.integers(0, 2)) == 0:
            options[option] = draw(st.sampled_from(values))
    if name in INDICES[:2] and 0 in shape:
        shape = tuple(max(s, 1) for s in shape)
    call = Call(name, dtype, shape, options, draw(layouts(rank, [1, 1, -1, 2, -3, 0])),
                draw(st.sampled_from(["special"] if "nan" in options else KINDS)), draw(st.integers(0, 2**32 - 1)))
    call.out = draw(st.sampled_from(["none", "fresh", "view", "in place"]))
    if call.out == "in place":
        repeated = call.layout is not None and 0 in call.layout.steps
        in_place = name in SCANS and rank > 0 and dtype == out and not repeated and not options.get("include_initial")
        call.out = "in place" if in_place else "fresh"
    return call


@st.composite
def calls_with_outputs(draw, name):
    call = draw(calls(name))
    if call.out == "view":
        call.out_layout = draw(layouts(len(call.result_shape()), [1, 1, -1, 2, -3]))
    return call


def judge(call, got, x):
    out = call.result_dtype()
    low, high = oracle.results(call.name, x, out, call.options)
    assert got.dtype == out and got.shape == low.shape == call.result_shape()
    right = oracle.agree(got, low, high)
    if not right.all():
        at = tuple(np.argwhere(~right)[0])
        note(f"{at}: {np.asarray(got)[at]!r} is not in [{low[at]!r}, {high[at]!r}]")
    assert right.all()


def same_bytes(a, b):
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_results(name):
    each(30, name, calls_with_outputs(name), check_results)


def check_results(call):
    x, memory = call.array()
    before, around = np.array(x), memory.copy()
    if call.out == "none":
        got = call.run(x)
        assert isinstance(got, np.ndarray) == (got.ndim > 0 or call.name in SCANS)
        dense = np.asarray(got)
        outermost_first = sorted(range(dense.ndim), key=lambda axis: -dense.strides[axis])
        assert dense.transpose(outermost_first).flags.c_contiguous
    else:
        shape, dtype, place = call.result_shape(), call.result_dtype(), None
        if call.out == "in place":
            out = x
        elif call.out_layout is None:
            out = np.empty(shape, dtype)
        else:
            out, place = call.out_layout.view(shape, dtype, 1)
        assert call.run(x, out=out) is out
        got = out.copy()
        if place is not None:
            out[...] = 1
            assert (place == 1).all(), "what lies between and behind the elements"
        if call.out == "in place":
            x[...] = before
    assert same_bytes(memory, around)
    judge(call, got, before)
    if call.name in HAS["threads"]:
        assert same_bytes(call.run(x, threads=3), got) or call.out != "none", "no number of threads changes a bit"


# --- what is refused ---------------------------------------------------------------------------------------------


def flaws(call, x, out):
    """Of each way to be wrong that this call can have: the options, the array, the output and the exception."""
    rank, shape, dtype = max(len(call.shape), int(call.name in SCANS)), call.result_shape(), call.result_dtype()
    wrong = [({"axis": rank}, x, out, tally.Error), ({"axis": -rank - 1}, x, out, tally.Error),
             ({"axis": True}, x, out, TypeError), ({"axis": 0.0}, x, out, TypeError),
             ({"frob": 1}, x, out, TypeError), ({}, None, out, TypeError), ({}, {"x": 1}, out, TypeError),
             ({}, np.zeros((1,) * 9), out, tally.Error), ({}, x.astype(complex), out, TypeError),
             ({}, np.ma.masked_array(x), out, TypeError),
             ({}, x, np.full((*shape, 2), 1, dtype), tally.Error),
             ({}, x, np.full(shape, 1, "f4" if dtype == np.float64 else "f8"), tally.Error),
             ({}, x, np.broadcast_to(np.ones((), dtype), shape), BufferError), ({}, x, [1.0], TypeError)]
    for option, values in {"order": ["fast", 1], "nan": ["skip", 1], "threads": [0, -1]}.items():
        kind = ValueError if call.name in HAS[option] else TypeError
        wrong += [({option: value}, x, out, kind) for value in values]
    wrong += [({option: True}, x, out, TypeError)
              for option in ("exclusive", "keepdims", "last", "include_initial") if call.name not in HAS[option]]
    if call.name in HAS["threads"]:
        wrong.append(({"device": 3}, x, out, TypeError))
    if call.name in HAS["dtype"]:
        wrong += [({"dtype": "f4"}, x, out, TypeError), ({"dtype": complex}, x, out, TypeError)]
        less = {"acc": None} if "acc" in call.options else {}  # which is of floats, too
        wrong += [({"dtype": name, **less}, x, np.full(shape, 1, DTYPES[name]), tally.Unsupported)
                  for name in (FLOATS if call.name in INDICES else DTYPES)
                  if (call.dtype, name) not in oracle.pairs(call.name)]
    else:
        wrong.append(({"dtype": call.dtype}, x, out, TypeError))
    if call.name in HAS["acc"]:
        wrong.append(({"acc": "i8"}, x, out, tally.Error))
    if call.name in HAS["order"]:
        wrong.append(({"order": "exact"}, x, out, tally.Unsupported))
    if call.name not in SCANS and rank > 0:
        wrong.append(({"axis": (0, -rank)}, x, out, tally.Error))
    if x.itemsize > 1:
        wrong.append(({}, x.astype(x.dtype.newbyteorder()) if call.dtype != "bf16" else complex(1), out, TypeError))
        raw = np.ones(x.nbytes + 1, "u1")[1:]
        wrong.append(({}, raw.view(x.dtype).reshape(x.shape), out, tally.Error))
    return wrong + overlaps(call, x)


def overlaps(call, x):
    """Outputs in the memory of the input, wherever they are no scan in place."""
    shape, dtype = call.result_shape(), call.result_dtype()
    count = math.prod(shape) * dtype.itemsize
    memory = np.ones(x.nbytes + count + 64, "u1")
    start = memory[-memory.ctypes.data % 32:]
    taken = start[:x.nbytes].view(x.dtype).reshape(x.shape)
    taken[...] = x
    shifts = {0, dtype.itemsize, (x.nbytes - 1) // dtype.itemsize * dtype.itemsize}
    same = dtype == x.dtype or (dtype.itemsize == x.itemsize and {dtype.kind, x.dtype.kind} == {"i", "u"})
    in_place = call.name in SCANS and same and shape == (x.shape or (1,))
    outs = [start[shift:shift + count].view(dtype).reshape(shape) for shift in sorted(shifts)
            if shift < x.nbytes and not (in_place and shift == 0)]
    if in_place and x.ndim and x.shape[-1] > 1:
        outs.append(taken[..., ::-1])
    return [({}, taken, out, tally.Error) for out in outs]


@pytest.mark.parametrize("name", NAMES)
def test_refused(name):
    each(12, name, calls(name, least=1), check_refused)


def check_refused(call):
    x, memory = call.array()
    for options, given_x, given_out, kind in flaws(call, x, np.full(call.result_shape(), 1, call.result_dtype())):
        arrays = [a for a in (memory, given_x, given_out) if isinstance(a, np.ndarray)]
        before = [np.array(a) for a in arrays]
        with pytest.raises(kind) as e:
            call.run(given_x, out=given_out, **options)
        note(f"{options}: {e.value!r}")
        assert type(e.value) is kind and str(e.value)
        assert all(same_bytes(a, b) for a, b in zip(before, arrays)), "a call that fails has written nothing"
