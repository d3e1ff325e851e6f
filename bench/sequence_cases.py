# SPDX-License-Identifier: Apache-2.0
"""The words of `bench/run sequences`: states that are carried, segments, restarts, recurrences and
gradients. Each has its data, what is right, the words beside it and its peers. `python
sequence_cases.py` prints the words, one a line.
"""

import functools
import re
from dataclasses import dataclass, field
from typing import Callable

import ml_dtypes
import numpy as np
import torch

from stage_cases import laid

try:
    from scipy import signal
except ImportError:
    signal = None

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
          "u8": np.uint8, "i32": np.int32}
CLOSE = {"f32": 1e-4, "f16": 4e-3, "bf16": 3e-2}  # of the terms of a result
LONG, AXIS_0 = .80, .90                            # targets, as parts of a move's speed
MEAN_LENGTHS = {3: .65, 32: .75, 1000: .85}
ELEMENTS = 1 << 24
ROW = f"{ELEMENTS}"


@dataclass(frozen=True)
class Case:
    """`plain` are words of the same sizes by which the time is judged. `data` adds tensors to x:
    operands a to d, offsets, carry. `right` tells whether `y` is. If `is_gradient`, what is measured
    is the gradient of the word, operand a is that of its result, and y the result, if it is kept."""
    name: str
    word: str
    data: Callable
    right: Callable              # (tensors, y, case)
    target: float | None = None
    is_gradient: bool = False
    plain: tuple = ()
    peers: dict = field(default_factory=dict)   # name: (tensors, y) -> a call

    @property
    def sizes(self):
        return tuple(map(int, self.word.split(":")[2].split("x")))

    @property
    def dtype(self):
        return self.word.split(":")[1].split(">")[0]

    @property
    def out_dtype(self):
        return self.word.split(":")[1].split(">")[-1]

    @property
    def axis(self):
        return int(re.search(r"axis=(\d+)", self.word)[1])


# ---- data ----

def sevenths(random, case):
    return random.integers(-128, 128, case.sizes, np.int8).astype(np.float32) / 128


def only_x(random, case):
    return {"x": sevenths(random, case)}


def factors(random, case):
    """Powers of two, each followed by its inverse: no product leaves the range."""
    axis = case.axis
    half = list(case.sizes)
    half[axis] //= 2
    powers = 2.0 ** random.integers(-1, 2, half).astype(np.float32)
    return {"x": np.stack([powers, 1 / powers], axis + 1).reshape(case.sizes)}


def ascending(random, case):
    return {"x": np.linspace(0, 1, np.prod(case.sizes), dtype=np.float32).reshape(case.sizes)}


def carried(of):
    def data(random, case):
        state = list(case.sizes)
        state[case.axis] = 1
        return {**of(random, case), "carry_in": np.full(state, 2, np.float32),
                "carry_out": np.zeros(state, np.float32)}
    return data


def gates(random, case):
    """Factors between a half and 1, of the word's dtype."""
    dtype = DTYPES[case.dtype]
    return {"x": sevenths(random, case).astype(dtype),
            "a": (0.5 + random.random(case.sizes, np.float32) / 2).astype(dtype)}


def cut(random, size, mean):
    """Offsets of segments whose lengths spread about the mean as waiting times do, 0 included."""
    inner = np.sort(random.integers(0, size + 1, size // mean - 1))
    return np.concatenate([[0], inner, [size]]).astype(np.int32)


def segmented(mean):
    def data(random, case):
        return {"x": sevenths(random, case), "offsets": cut(random, case.sizes[case.axis], mean)}
    return data


def transmittances(mean):
    """Of packed rays."""
    def data(random, case):
        return {"x": near_one(random, case)["x"], "offsets": cut(random, case.sizes[case.axis], mean)}
    return data


def flagged(density):
    def data(random, case):
        return {"x": sevenths(random, case),
                "a": (random.random(case.sizes, np.float32) < density).astype(np.uint8)}
    return data


def near_one(random, case):
    """Products of some thousand factors stay in the range."""
    return {"x": 1 + sevenths(random, case) / 64, "a": sevenths(random, case)}


def near_one_and_products(random, case):
    tensors = near_one(random, case)
    return tensors | {"y": np.cumprod(tensors["x"], case.axis)}


def rollout(random, case):
    done = (random.random(case.sizes, np.float32) < 1 / 200).astype(np.uint8)
    return {"x": sevenths(random, case), "a": done}


def one_behind(random, case):
    """Operand a is the input, one element back."""
    step = int(np.prod(case.sizes[1:]))
    late = laid((int(np.prod(case.sizes)) + 16,), np.float32)
    late[:16], late[16:] = 0, sevenths(random, case).ravel()
    return {"x": late[16:].reshape(case.sizes), "a": late[16 - step:-step].reshape(case.sizes)}


# ---- what is right ----

def is_near(y, wanted, terms, case):
    return bool(np.all(np.abs(y.astype(np.float64) - wanted) <= CLOSE[case.dtype] * (terms + 1e-3)))


def sums(tensors, y, case):
    wanted = np.cumsum(tensors["x"].astype(np.float64), case.axis) + tensors.get("carry_in", 0)
    return is_near(y, wanted, np.abs(wanted) + 64, case)


def products(tensors, y, case):
    wanted = np.cumprod(tensors["x"].astype(np.float64), case.axis) * tensors.get("carry_in", 1)
    return is_near(y, wanted, np.abs(wanted), case)


def restarted(tensors, y, case):
    """Sums that begin anew: those of the whole axis less what was before the last beginning."""
    x, axis = np.moveaxis(tensors["x"].astype(np.float64), case.axis, 0), case.axis
    whole = np.concatenate([np.zeros((1, *x.shape[1:])), np.cumsum(x, 0)])
    size = x.shape[0]
    starts = np.zeros(x.shape if "a" in tensors else (size, *[1] * (x.ndim - 1)), np.int64)
    index = np.arange(size).reshape(-1, *[1] * (x.ndim - 1))
    if "a" in tensors:
        starts[...] = np.where(np.moveaxis(tensors["a"], axis, 0) != 0, index, 0)
    elif "offsets" in tensors:
        first = tensors["offsets"][:-1]
        first = first[first < size]
        starts[first, ...] = index[first]
    else:
        starts[...] = index // int(case.word.split("every=")[1]) * int(case.word.split("every=")[1])
    starts = np.broadcast_to(np.maximum.accumulate(starts, 0), x.shape)
    wanted = whole[1:] - np.take_along_axis(whole, starts, 0)
    return is_near(np.moveaxis(y, axis, 0), wanted, np.abs(wanted) + 64, case)


def restarted_products(tensors, y, case):
    """The same of products, by their logarithms."""
    return restarted({**tensors, "x": np.log(tensors["x"].astype(np.float64))}, np.log(y), case)


def recurs(tensors, y, case, u=None, a=None):
    """Each result follows from the one before it: with factors below 1, errors do not pile up."""
    y = np.moveaxis(y, case.axis, 0).astype(np.float64)
    u = np.moveaxis(tensors["x"] if u is None else u, case.axis, 0).astype(np.float64)
    a = np.moveaxis(tensors["a"] if a is None else a, case.axis, 0).astype(np.float64)
    if "reverse" in case.word:
        y, u, a = y[::-1], u[::-1], a[::-1]
    terms = np.abs(a[1:] * y[:-1]) + np.abs(u[1:]) + np.abs(y[:-1])
    return is_near(y[:1], u[:1], np.abs(u[:1]), case) and \
        is_near(y[1:], a[1:] * y[:-1] + u[1:], terms, case)


def first_largest(tensors, y, case):
    x, axis = np.moveaxis(tensors["x"], case.axis, 0), case.axis
    index = np.arange(x.shape[0]).reshape(-1, *[1] * (x.ndim - 1))
    beats = x[1:] > np.maximum.accumulate(x, 0)[:-1]
    told = np.concatenate([np.zeros((1, *x.shape[1:]), np.int64), np.where(beats, index[1:], 0)])
    return np.array_equal(np.moveaxis(y, axis, 0), np.maximum.accumulate(told, 0))


def advantages(tensors, y, case):
    return recurs(tensors, y, case, a=0.99 * 0.95 * (1 - tensors["a"].astype(np.float64)))


def layer(tensors, y, case):
    gate = 1 / (1 + np.exp(-tensors["a"].astype(np.float64)))
    return recurs(tensors, y, case, gate * tensors["x"], 1 - gate)


def filtered(tensors, y, case):
    u = 0.25 * tensors["x"].astype(np.float64) + 0.5 * tensors["a"]
    return recurs(tensors, y, case, u, np.full(u.shape, 0.5))


def product_gradient(tensors, y, case):
    x, g = (np.moveaxis(tensors[name].astype(np.float64), case.axis, 0) for name in "xa")
    made = np.cumprod(x, 0)
    wanted = np.cumsum((g * made)[::-1], 0)[::-1] / x   # no x is 0
    return is_near(np.moveaxis(y, case.axis, 0), wanted,
                   np.cumsum(np.abs(g * made)[::-1], 0)[::-1] / np.abs(x), case)


# ---- peers ----

def torch_of(tensors, *names):
    return [torch.from_numpy(tensors[name]) for name in names]


def torch_advantages(tensors, y):
    """A loop over time steps, as users write it."""
    x, a = torch_of(tensors, "x", "a")
    out, factor = torch.from_numpy(y), 0.99 * 0.95

    def call():
        last = torch.zeros(x.shape[1])
        for t in range(x.shape[0] - 1, -1, -1):
            last = x[t] + factor * (1 - a[t].float()) * last
            out[t] = last
    return call


def torch_layer(tensors, y):
    x, a = torch_of(tensors, "x", "a")
    out = torch.from_numpy(y)

    def call():
        z = torch.sigmoid(a)
        u, keep = z * x, 1 - z
        h = torch.zeros(x.shape[0], x.shape[2])
        for t in range(x.shape[1]):
            h = keep[:, t] * h + u[:, t]
            out[:, t] = h
    return call


def torch_gradient(tensors, y):
    """torch's own backward pass, its forward pass included."""
    x, g = torch_of(tensors, "x", "a")
    out = torch.from_numpy(y)

    def call(axis):
        leaf = x.detach().requires_grad_()
        torch.cumprod(leaf, axis).backward(g)
        out.copy_(leaf.grad)
    return call


def torch_padded(tensors, y):
    """Rows are padded to the longest one, added up, and packed again."""
    x, offsets = torch_of(tensors, "x", "offsets")
    lengths = offsets[1:].long() - offsets[:-1].long()
    out, longest = torch.from_numpy(y), int(lengths.max())
    place = torch.arange(longest)[None, :] < lengths[:, None]

    def call():
        padded = torch.zeros(place.shape)
        padded[place] = x
        out.copy_(torch.cumsum(padded, 1)[place])
    return call


def numpy_rows(tensors, y):
    x, offsets = tensors["x"], tensors["offsets"].tolist()

    def call():
        for begin, end in zip(offsets[:-1], offsets[1:]):
            np.add.accumulate(x[begin:end], out=y[begin:end])
    return call


def scipy_filter(tensors, y):
    if signal is None:
        return None
    x = tensors["x"]
    b, a = np.array([0.25, 0.5], np.float32), np.array([1, -0.5], np.float32)

    def call():
        y[...] = signal.lfilter(b, a, x, axis=0)
    return call


# ---- the cases ----

def carry(name, op, sizes, axis, target):
    of, right = (only_x, sums) if op == "cumsum" else (factors, products)
    plain = f"{op}:f32:{sizes}:axis={axis}"
    return Case(f"carry, {op}, {name}", f"{plain},carry=in+out", carried(of), right, target, plain=(plain,))


def linrec(name, dtype, sizes, axis, target, way=""):
    return Case(f"linrec, {dtype}, {name}", f"linrec:{dtype}:{sizes}:axis={axis}{way},a={dtype}", gates, recurs,
                target, plain=(f"cumsum:{dtype}:{sizes}:axis={axis}{way}",))


def pieces(mean, target, peers=None):
    plain = f"cumsum:f32:{ROW}:axis=0"
    return [Case(f"segments, mean length {mean}", f"{plain},segments=i32/{ELEMENTS // mean}",
                 segmented(mean), restarted, target, plain=(plain,), peers=peers or {}),
            Case(f"every {mean}", f"{plain},every={mean}", only_x, restarted, target, plain=(plain,))]


def flags(text, density, sizes, name, target):
    axis = 0 if "columns" in name else 1
    plain = f"cumsum:f32:{sizes}:axis={axis}"
    return Case(f"reset, {name}, density {text}", f"{plain},a=u8,reset=a", flagged(density), restarted, target,
                plain=(plain,))


def gradient(name, sizes, axis, data=near_one):
    begin = f"cumprod:f32:{sizes}:axis={axis}"
    return Case(f"gradient of cumprod, {name}", begin, data, product_gradient, is_gradient=True,
                plain=(begin, f"linrec:f32:{sizes}:axis={axis},a=f32"),
                peers={"torch": lambda tensors, y: functools.partial(torch_gradient(tensors, y), axis)})


SHAPES = [("columns", "4096x4096", 0, AXIS_0), ("one row", f"1x{ROW}", 1, LONG),
          ("rows of 1024", "16384x1024", 1, LONG), ("rows of 64", "262144x64", 1, LONG)]
FEW = ("3 columns", "5600000x3", 0, AXIS_0)
MIDDLE = [("1024 columns", "16384x1024", 0), ("16384 columns", "1000x16384", 0),
          ("slices of 1024 columns", "500x32x1024", 1), ("slices of 64 columns", "8000x32x64", 1)]
RAGGED = {"torch, padded": torch_padded, "numpy, by row": numpy_rows}
CASES = [
    *(carry(name, op, sizes, axis, None) for op in ("cumsum", "cumprod")
      for name, sizes, axis, _ in (*SHAPES, FEW)),
    *(linrec(name, dtype, sizes, axis, target) for dtype in ("f32", "f16", "bf16")
      for name, sizes, axis, target in (*SHAPES, FEW)),
    *(linrec(f"{name}{', reverse' if way else ''}", "f32", sizes, axis, AXIS_0, way)
      for name, sizes, axis in MIDDLE for way in ("", ",reverse")),
    *(case for mean, target in MEAN_LENGTHS.items() for case in pieces(mean, target, RAGGED if mean == 1000 else None)),
    *(Case(f"products of segments, mean length {mean}", f"cumprod:f32:{ROW}:axis=0,segments=i32/{ELEMENTS // mean}",
           transmittances(mean), restarted_products, MEAN_LENGTHS[mean], plain=(f"cumprod:f32:{ROW}:axis=0",))
      for mean in (32, 1000)),
    Case("segments, columns", "cumsum:f32:65536x256:axis=0,segments=i32/2048", segmented(32), restarted, AXIS_0,
         plain=("cumsum:f32:65536x256:axis=0",)),
    Case("every 32, columns", "cumsum:f32:65536x256:axis=0,every=32", only_x, restarted, AXIS_0,
         plain=("cumsum:f32:65536x256:axis=0",)),
    Case("segments of 3 columns, mean length 32", f"cumsum:f32:{FEW[1]}:axis=0,segments=i32/175000",
         segmented(32), restarted, AXIS_0, plain=(f"cumsum:f32:{FEW[1]}:axis=0",)),
    Case("every 7, 3 columns", f"cumsum:f32:{FEW[1]}:axis=0,every=7", only_x, restarted, AXIS_0,
         plain=(f"cumsum:f32:{FEW[1]}:axis=0",)),
    flags("1/16", 1 / 16, FEW[1], FEW[0], AXIS_0),
    *(flags(text, density, sizes, name, target)
      for name, sizes, target in (("one row", f"1x{ROW}", LONG), ("columns", "4096x4096", AXIS_0))
      for text, density in (("0", 0), ("1/16", 1 / 16), ("1", 1))),
    *(Case(f"running indices, one row{kind}", f"cumargmax:f32>i32:1x{ROW}:axis=1", data, first_largest, LONG,
           plain=(f"cummax:f32:1x{ROW}:axis=1",)) for kind, data in (("", only_x), (", ascending", ascending))),
    gradient("rays of 192", "65536x192", 1),
    gradient("rows of 4096", "4096x4096", 1),
    gradient("columns", "4096x4096", 0),
    gradient("columns, result kept", "4096x4096", 0, near_one_and_products),
    gradient("8 slices of 1024 columns", "8x2048x1024", 1),
    gradient("8 slices, result kept", "8x2048x1024", 1, near_one_and_products),
    *(Case(f"advantages, {count} environments", f"linrec:f32:2048x{count}:axis=0,reverse,a=u8,coef=0.99*0.95*(1-a)",
           rollout, advantages, peers={"torch, a step at a time": torch_advantages}) for count in (16, 1024)),
    *(Case(f"minGRU, {name}", f"linrec:f32:{sizes}:axis=1,a=f32,map=sig(a)*x,coef=1-sig(a)", gates, layer,
           peers={"torch, a step at a time": torch_layer})
      for name, sizes in (("one sequence of 256 channels", "1x2048x256"), ("8 of 1024", "8x2048x1024"))),
    *(Case(f"filter of order 1{name}", f"linrec:f32:{sizes}:axis=0,a=f32,map=0.25*x+0.5*a,coef=0.5", one_behind,
           filtered, peers={"scipy": scipy_filter}) for name, sizes in (("", ROW), (", stereo", f"{ELEMENTS // 2}x2"))),
]

if __name__ == "__main__":
    for each in CASES:
        print(each.word)
