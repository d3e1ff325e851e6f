# SPDX-License-Identifier: Apache-2.0
"""The error of sums, means, norms, products and log_sum_exp by length and dtype, beside numpy, torch and
ONNX Runtime, each called as `bench/run reductions` calls it, on one thread. No clock is read.

An error is that of a row's result in units in the last place of the right one, which is known to
twice the digits of f64 (sums, products) or to those of long double (of terms that do not cancel); of
sums that cancel, in those of a number as large as the terms' norm. The largest of several rows counts.
"""

import argparse
import datetime
import math
import pathlib

import ml_dtypes
import numpy as np

import machine
import native
import peers
import record
import reduction_peers
import report
import values
from reduction_cases import NUMPY, Case

ROWS = {100: 20, 10_000: 20, 1_000_000: 4, 10_000_000: 1}  # of each length
DTYPES = ["f64", "f32", "f16", "bf16"]
OPS = ["sum", "mean", "l2", "log_sum_exp", "prod"]
NAMES = ["Tally", "numpy", "torch", "ONNX Runtime"]
BLOCK = 1000


# ---- data ----

def uniform(random, length):
    return random.random(length)


def normal(random, length):
    return random.standard_normal(length)


def growing(random, length):
    """Up to ten powers of two, the largest last."""
    return random.random(length) * np.exp2(10 * np.arange(length) / length)


def balanced(random, length):
    """Factors near 1, a block of them turned over where that brings the product back to 1."""
    logs = random.standard_normal(length) * 0.05
    total = 0.0
    for start in range(0, length, BLOCK):
        block = logs[start:start + BLOCK]
        if block.sum() * total > 0:
            block *= -1
        total += block.sum()
    return np.exp(logs)


KINDS = {"uniform": uniform, "normal": normal, "growing": growing, "balanced": balanced}


def kinds_of(op):
    return ["balanced"] if op == "prod" else ["uniform", "normal", "growing"]


# ---- right results, as a double and what is missing from it ----

def exact_sum(x):
    terms = x.tolist()
    high = math.fsum(terms)
    return high, math.fsum([-high, *terms])


def split(x):
    """In halves of 26 bits, whose products are exact."""
    carried = x * 134217729.0
    high = carried - (carried - x)
    return high, x - high


def exact_product(x):
    """Neighbours multiplied in pairs of doubles, again and again."""
    high, low = x, np.zeros_like(x)
    while len(high) > 1:
        if len(high) % 2:
            high, low = np.append(high, 1.0), np.append(low, 0.0)
        (a, b), (c, d) = (high[::2], low[::2]), (high[1::2], low[1::2])
        product = a * c
        (ah, al), (ch, cl) = split(a), split(c)
        rest = ((ah * ch - product) + ah * cl + al * ch) + al * cl + (a * d + b * c)
        high = product + rest
        low = rest - (high - product)
    return float(high[0]), float(low[0])


def as_pair(value):
    high = float(value)
    return high, float(value - np.longdouble(high))


def exact(op, x):
    """Of the elements as they were rounded to their dtype."""
    x = x.astype(np.float64)
    if op == "prod":
        return exact_product(x)
    if op in ("sum", "mean"):
        high, low = exact_sum(x)
        if op == "sum":
            return high, low
        return as_pair((np.longdouble(high) + np.longdouble(low)) / len(x))
    wide = x.astype(np.longdouble)
    if op == "l2":
        return as_pair(np.sqrt(np.sum(wide * wide)))
    top = wide.max()
    return as_pair(top + np.log(np.sum(np.exp(wide - top))))


def size_of(op, x, result):
    """What errors are held against: the result, or what a sum of terms like these mostly is."""
    if op not in ("sum", "mean"):
        return abs(result)
    norm = float(np.linalg.norm(x.astype(np.float64)))
    return max(abs(result), norm / (len(x) if op == "mean" else 1))


def unit(size, dtype):
    """In the last place of the dtype's number next to the size; None beyond its range."""
    info = ml_dtypes.finfo(NUMPY[dtype])
    if size > float(info.max):
        return None
    return math.ldexp(1.0, max(math.frexp(size)[1] - 1, int(info.minexp)) - int(info.nmant))


# ---- measuring ----

class Row:
    """A case in memory, whose elements change under the competitors that were made for it."""

    def __init__(self, op, dtype, x, makers):
        self.case = Case("row", op, dtype, (len(x),), (0,))
        self.base = self.x = x
        self.y = np.zeros((), x.dtype)
        self.competitors = [each for make in makers for each in make(self, [1])]

    def errors(self):
        """{name: units}, of who refuses None, inf where the result is none."""
        right, found = exact(self.case.op, self.x), {}
        place = unit(size_of(self.case.op, self.x, right[0]), self.case.dtype)
        for competitor in self.competitors:
            found[competitor.name] = None
            if not competitor.refusal:
                self.y[...] = 0
                competitor.before()
                competitor.seconds(1)
                found[competitor.name] = error(float(self.y), right, place)
        return found


def error(value, right, place):
    if place is None:  # beyond the range infinity is right
        return 0.0 if value == math.copysign(math.inf, right[0]) else math.inf
    return abs((value - right[0]) - right[1]) / place if math.isfinite(value) else math.inf


def largest(found):
    return {name: max(each[name] for each in found) if found[0][name] is not None else None
            for name in found[0]}


def measure(most, makers):
    """Rows of the tables: (op, dtype, kind, length, {name: units})."""
    cases = [(dtype, kind, length) for dtype in DTYPES for kind in KINDS for length in ROWS
             if length <= most]
    for dtype, kind, length in cases:
        random, x = np.random.default_rng(12345), np.zeros(length, NUMPY[dtype])
        rows = [Row(op, dtype, x, makers) for op in OPS if kind in kinds_of(op)]
        found = {row.case.op: [] for row in rows}
        for _ in range(ROWS[length]):
            x[...] = KINDS[kind](random, length).astype(x.dtype)
            for row in rows:
                found[row.case.op].append(row.errors())
        for op, each in found.items():
            yield op, dtype, kind, length, largest(each)


# ---- tables ----

def cell(value):
    if value is None:
        return "–"
    return "inf" if math.isinf(value) else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def table(title, heads, rows):
    lines = [f"## {title}", "", "| " + " | ".join([*heads, *NAMES]) + " |",
             "|" + "---|" * (len(heads) + len(NAMES))]
    for heading, found in rows:
        lines.append("| " + " | ".join([*heading, *(cell(found[name]) for name in NAMES)]) + " |")
    return lines + [""]


def tables(rows):
    def of(op, dtype):
        return [row for row in rows if row[:2] == (op, dtype)]
    yield from table("The largest of all", ["", "dtype"], (
        ((op, dtype), largest([row[-1] for row in of(op, dtype)])) for op in OPS for dtype in DTYPES))
    for op in OPS:
        yield from table(op, ["dtype", "data", "length"], (
            ((dtype, kind, f"{length:,}"), found)
            for dtype in DTYPES for _, _, kind, length, found in of(op, dtype)))


def markdown(run, rows):
    counted = ", ".join(f"{count} of {length:,}" for length, count in ROWS.items())
    return "\n".join([
        f"# Accuracy of reductions, {run['date']}", "", *report.facts(run),
        "- The error of a row's result, in units in the last place of the right one; the largest of "
        f"some rows: {counted} elements. 0.5 at most is rounded as well as can be, inf is infinite or "
        "NaN where the right one is not, – is who refuses. On one thread; Tally's bits are the same on "
        "any number. `bench/run accuracy`",
        "- uniform: [0, 1). normal: mean 0, deviation 1; sums and means of them cancel, and their units "
        "are those of a number as large as the norm (of the mean, through the length). growing: uniform "
        "times 1 at the start to 1024 at the end. balanced: factors near 1, whose products stay near 1.",
        "", *tables(rows)])


def main():
    parser = argparse.ArgumentParser(prog="bench/run accuracy", description=__doc__)
    parser.add_argument("--most", type=int, default=max(ROWS), help="elements (%(default)s)")
    parser.add_argument("--device", default="cpu", help="Tally's (%(default)s)")
    parser.add_argument("--build", default="build", help="Meson's build folder, with libtally")
    record.add_out(parser)
    options = parser.parse_args()
    folder = native.compile_all(pathlib.Path(options.build) / "bench")
    tally = native.Tally(folder, native.find_tally(options.build), options.device)
    makers = [tally.competitors, reduction_peers.numpy_competitors,
              reduction_peers.torch_competitors, reduction_peers.onnx_competitors]
    run = {"date": datetime.date.today().isoformat(), "machine": machine.describe(),
           "versions": {"tally": tally.version()} | peers.versions() | machine.versions()}
    with np.errstate(all="ignore"):  # overflow of the narrow dtypes is in the tables
        rows = list(measure(options.most, makers))
    (record.folder(options) / "accuracy.md").write_text(markdown(run, rows))


if __name__ == "__main__":
    main()
