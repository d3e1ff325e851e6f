# SPDX-License-Identifier: Apache-2.0
"""Views: rows in and columns out, permuted 8-D tensors of 8s, permuted 3-D ones; Tally beside torch
and the best packed copy of as many bytes, one thread, on data that stay in range.

The rule: never slower than torch. `python views.py RUN.json` prints a run's tables again.
"""

import math
import random
import types
from functools import partial

import matplotlib
import torch

import cases
import native
import part
import report
import turns
import values

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402  (the backend comes first)

EIGHT = {"reversed": (7, 6, 5, 4, 3, 2, 1, 0), "even, odd": (0, 2, 4, 6, 1, 3, 5, 7),
         "halves": (4, 5, 6, 7, 0, 1, 2, 3), "pairs": (1, 0, 3, 2, 5, 4, 7, 6)}
THREE = {"2, 0, 1": (2, 0, 1), "2, 1, 0": (2, 1, 0)}


def arguments():
    return part.parser("views", __doc__, 5).parse_args()


def permuted(side, order):
    """Sizes and strides of a packed cube whose dims are taken in that order."""
    strides = cases.packed_strides((side,) * len(order))
    return (side,) * len(order), tuple(strides[dim] for dim in order)


def all_views(elements):
    """(name, sizes, input strides, output strides, axis)"""
    side = math.isqrt(elements)
    turned = (1, side)
    packed = cases.packed_strides((side, side))
    yield "rows in, columns out", (side, side), packed, turned, 1
    yield "columns in, rows out", (side, side), turned, packed, 1
    yield "rows in, rows out, axis 0 of the transposed", (side, side), turned, packed, 0
    for axes, orders in (((0, 3, 7), EIGHT), ((0, 1, 2), THREE)):
        rank = axes[-1] + 1
        for name, order in orders.items():
            sizes, strides = permuted(round(elements ** (1 / rank)), order)
            for axis in axes:
                yield (f"{rank}-D, {name}, axis {axis}", sizes, strides,
                       cases.packed_strides(sizes), axis)


class View:
    """A view in memory as the competitors take it."""

    def __init__(self, op, dtype, view, x, y):
        self.name, self.sizes, self.in_strides, self.out_strides, self.axis = view
        text = ["x".join(map(str, numbers)) for numbers in view[1:4]]
        word = f"{op}:{dtype}:{text[0]}:axis={self.axis},in={text[1]},out={text[2]}"
        self.elements = math.prod(self.sizes)
        self.case = types.SimpleNamespace(word=word, bytes=2 * self.elements * x.itemsize)
        self.base, self.y = x[:self.elements], y[:self.elements]


def torch_view(op, view):
    x = torch.as_strided(torch.from_numpy(view.base), view.sizes, view.in_strides)
    y = torch.as_strided(torch.from_numpy(view.y), view.sizes, view.out_strides)
    call = partial(getattr(torch, op), x, view.axis, dtype=x.dtype, out=y)
    return native.Competitor("torch", 1, native.repeat(call), lambda: torch.set_num_threads(1))


def measure(made):
    options, order = made.options, random.Random(1)
    made.run["sweeps"] = []
    for dtype in options.dtypes.split(","):
        element = values.DTYPES[dtype]
        x, y = (values.buffer(options.elements * element().itemsize).view(element)
                for _ in range(2))
        x[:] = 1  # in range in every order
        copies = native.Copies(made.folder, x, y, [1])
        for op in options.ops.split(","):
            points = []
            for each in all_views(options.elements):
                part.progress(f"{op} {dtype}, {each[0]}")
                view = View(op, dtype, each, x, y)
                mine, peer, *copy = turns.medians(
                    [*made.tally.competitors(view, [1]), torch_view(op, view),
                     *copies.competitors(view, [1])], options.rounds, order)
                points.append({"tally": mine, "torch": peer, "copy": min(copy),
                               "name": view.name, "word": view.case.word})
            made.run["sweeps"].append({"op": op, "dtype": dtype, "points": points})


def milliseconds(seconds):
    return report.number(seconds and seconds * 1e3, 2)


def markdown(run):
    lines = [f"# Views, {run['date']}", "", *report.facts(run), "",
             f"{run['elements']} elements, one thread, medians of {run['rounds']} rounds in random "
             "order, in milliseconds."]
    for sweep in run["sweeps"]:
        lines += ["", f"## {sweep['op']} {sweep['dtype']}", "",
                  "| view | Tally | torch | copy | Tally, of a copy | slower than torch |",
                  "|---|---|---|---|---|---|"]
        for p in sweep["points"]:
            lines.append(f"| {p['name']} | {milliseconds(p['tally'])} | {milliseconds(p['torch'])} "
                         f"| {milliseconds(p['copy'])} | {report.number(p['copy'] / p['tally'])} "
                         f"| {'yes' if p['tally'] > p['torch'] else ''} |")
    return "\n".join(lines) + "\n"


def draw(run, path):
    figure, axes = pyplot.subplots(figsize=(8, 7), layout="constrained")
    points = [point for sweep in run["sweeps"] for point in sweep["points"]]
    names = [f"{sweep['op']} {sweep['dtype']}, {point['name']}"
             for sweep in run["sweeps"] for point in sweep["points"]]
    for who in ("tally", "torch", "copy"):
        axes.plot([point[who] * 1e3 for point in points], names, "o", label=who)
    axes.set_xscale("log")
    axes.set_xlabel("ms")
    axes.legend()
    part.save(figure, path)
    pyplot.close(figure)


if __name__ == "__main__":
    part.main(arguments, measure, markdown, draw)
