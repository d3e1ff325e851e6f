# SPDX-License-Identifier: Apache-2.0
"""Threads: what two threads, and eight on however few CPUs there are, take of one thread's time, at
every size from what fits the first cache to what fits none, for each way an axis can lie.

The rules: two threads are never slower than one (at least .97 of its speed), and eight take at most
1.15 times as long as one thread or as two, whichever is faster. `python threads.py RUN.json` prints
a run's tables again.
"""

import math
import random

import matplotlib

import part
import report
import turns
import values

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402  (the backend comes first)

THREADS = (1, 2, 8)
LEAST, MOST = 0.97, 1.15
SMALLEST = 16384  # bytes of an input
# (name, sizes of a tensor of so many elements, axis)
SHAPES = [("one row", lambda n: (n,), 0),
          ("rows of 8", lambda n: (n // 8, 8), 1),
          ("rows of 1024", lambda n: (n // 1024, 1024), 1),
          ("axis 0, 1024 columns", lambda n: (n // 1024, 1024), 0),
          ("axis 0, 17 columns", lambda n: (n // 17, 17), 0),
          ("inner 3", lambda n: (n // 3, 3), 0),
          ("middle axis", lambda n: (4, n // 2048, 512), 1)]


def arguments():
    parser = part.parser("threads", __doc__, 7)
    part.add_seconds(parser)
    parser.set_defaults(dtypes="f32,f16", elements=1 << 25)
    return parser.parse_args()


def sizes_in_bytes(most):
    """16 KiB, 32 KiB, ... of input."""
    return [SMALLEST << k for k in range(int(math.log2(most / SMALLEST)) + 1)]


def measure(made):
    options, order = made.options, random.Random(1)
    kept = {(sweep["op"], sweep["dtype"], sweep["shape"]): sweep["points"]
            for sweep in made.pieces.kept.get("sweeps", [])}
    made.run["sweeps"] = []
    for dtype in options.dtypes.split(","):
        element = values.DTYPES[dtype]
        x, y = (values.buffer(options.elements * element().itemsize).view(element)
                for _ in range(2))
        x[:] = 1  # in range in every order
        for op in options.ops.split(","):
            for name, shape, axis in SHAPES:
                points = kept.get((op, dtype, name), [])
                if not made.pieces.skips(points):
                    part.progress(f"{op} {dtype}, {name}")
                    points = [point(made, held, x, y, order) for held in
                              cases_of(op, dtype, shape, axis, x.itemsize, options.elements)]
                made.run["sweeps"].append({"op": op, "dtype": dtype, "shape": name,
                                           "points": points})


def cases_of(op, dtype, shape, axis, bytes_each, elements):
    for size in sizes_in_bytes(elements * bytes_each):
        yield part.case(op, dtype, "x".join(map(str, shape(size // bytes_each))), axis)


def point(made, held, x, y, order):
    """The seconds of each number of threads, which take turns."""
    competitors = made.tally.competitors(part.Held(held, x, y), THREADS)
    seconds = turns.medians(list(competitors), made.options.rounds, order)
    return {"word": held.word, "bytes": 2 * held.elements * x.itemsize, "seconds": seconds}


def faults(each):
    one, two, eight = each["seconds"]
    found = []
    if one / two < LEAST:
        found.append(f"two threads {one / two:.2f} of one's speed")
    if eight / min(one, two) > MOST:
        found.append(f"eight threads {eight / min(one, two):.2f} of the time of "
                     f"{'one' if one < two else 'two'}")
    return found


def size_text(count):
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def markdown(run):
    lines = [f"# Threads, {run['date']}", "", *report.facts(run),
             f"- Tally's device: {run['device']}; medians of {run['rounds']} rounds in random order; "
             f"{run['minutes']} minutes. Method: docs/benchmark.md",
             f"- A cell is the speed on two threads over that on one, and the time on eight over the "
             f"best of one and two. Bold: below {LEAST}, above {MOST}. Columns: bytes read and "
             "written."]
    for op, dtype in dict.fromkeys((sweep["op"], sweep["dtype"]) for sweep in run["sweeps"]):
        mine = [sweep for sweep in run["sweeps"] if (sweep["op"], sweep["dtype"]) == (op, dtype)]
        longest = max(mine, key=lambda sweep: len(sweep["points"]))["points"]
        lines += ["", f"## {op} {dtype}", "",
                  "| shape | " + " | ".join(size_text(2 * SMALLEST << k)
                                            for k in range(len(longest))) + " |",
                  "|---|" + "---|" * len(longest)]
        lines += [f"| {sweep['shape']} | " + " | ".join(map(cell, sweep["points"])) + " |"
                  for sweep in mine]
    return "\n".join(lines) + "\n"


def cell(each):
    one, two, eight = each["seconds"]
    text = f"{one / two:.2f} · {eight / min(one, two):.2f}"
    return f"**{text}**" if faults(each) else text


def draw(run, path):
    matplotlib.rcParams["svg.hashsalt"] = "tally"  # the same run draws the same file
    figure, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    for sweep in run["sweeps"]:
        axes.plot([each["bytes"] for each in sweep["points"]],
                  [each["seconds"][0] / each["seconds"][1] for each in sweep["points"]],
                  marker=".", linewidth=0.8,
                  label=f"{sweep['op']} {sweep['dtype']}, {sweep['shape']}")
    axes.axhline(LEAST, color="black", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("bytes read and written")
    axes.set_ylabel("speed on two threads, of one's")
    axes.legend(fontsize=6)
    part.save(figure, path)
    pyplot.close(figure)


if __name__ == "__main__":
    part.main(arguments, measure, markdown, draw)
