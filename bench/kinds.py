# SPDX-License-Identifier: Apache-2.0
"""The kinds of data of `tally bench --data`, in shapes that have a range guard, or of a reduction that
look at their data: what each costs beside benign data, beside the plain C loop (of a reduction the faster
of -O3 and -Ofast) and beside torch on the same data.

For each dtype all kinds are in memory at once, and for each shape all kinds and competitors take turns in
one run. `python kinds.py RUN.json` prints a run's tables again.
"""

import random
import sys

import matplotlib
import numpy as np

import native
import part
import reduction_cases
import report
import turns
import values

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402  (the backend comes first)

BENIGN = "safe"
SHAPES = {"rows of 8": (8, 1), "rows of 128": (128, 1), "rows of 1024": (1024, 1),
          "rows of 4096": (4096, 1), "one row": (0, 1), "inner 3": (0, 3)}  # length (0: all), inner
REDUCED = ["rows of 8", "rows of 128", "rows of 4096", "one row", "axis 0", "inner 3"]
REDUCTIONS = reduction_cases.OPS.split()
LEAVING = {"uniform", "normal"}  # products of these leave the range within 65 elements of every row
RULES = {"avx512": (1.3, 1.6), "avx2": (1.6, 2.0)}  # most times the benign time; of LEAVING
REDUCTION_RULE = 1.3  # but for products, which have the scans' rules
COMPETITORS = {"Tally": "Tally", "C loop": "C loop", "torch": "torch",
               "C -O3": "C loop", "C -Ofast": "C loop"}


def rule(level, kind, op):
    return REDUCTION_RULE if op in REDUCTIONS and op != "prod" else RULES[level][kind in LEAVING]


def arguments():
    parser = part.parser("kinds", __doc__, 5)
    part.add_seconds(parser)
    parser.set_defaults(dtypes="f32,f64,f16")
    parser.add_argument("--kinds", help="comma-separated, beside the benign one; left out: all")
    parser.add_argument("--shapes", help="comma-separated; left out: of scans " + ", ".join(SHAPES) +
                        ", of reductions " + ", ".join(REDUCED))
    parser.add_argument("--threads", type=int, default=1, help="(%(default)s)")
    parser.add_argument("--without-torch", action="store_true")
    return parser.parse_args()


def scan_makers(made):
    """Without torch where it is not installed."""
    makers = [made.tally.competitors, made.loops.competitors]
    if made.options.without_torch:
        return makers
    try:
        import peers
    except ImportError as error:
        print(f"bench: without torch: {error}", file=sys.stderr)
        return makers
    made.run["versions"]["torch"] = peers.versions()["torch"]
    return [*makers, peers.torch_competitors]


def reduction_makers(made):
    import reduction_peers  # with the libraries that it needs
    makers = [made.tally.competitors, reduction_peers.Loops(made.folder).competitors]
    if made.options.without_torch:
        return makers
    made.run["versions"]["torch"] = reduction_peers.peers.versions()["torch"]
    return [*makers, reduction_peers.torch_competitors]


def reduction_case(op, dtype, elements, shape):
    if shape == "axis 0":
        side = 1 << (elements.bit_length() - 1) // 2
        sizes, axes = (elements // side, side), (0,)
    elif shape == "inner 3":
        sizes, axes = (elements // 3, 3), (0,)
    else:
        length = SHAPES[shape][0] or elements
        sizes, axes = ((elements // length, length), (1,)) if length < elements else \
            ((elements,), (0,))
    return reduction_cases.Case(shape, op, dtype, sizes, axes)


def shape_case(op, dtype, elements, shape):
    if op in REDUCTIONS:
        return reduction_case(op, dtype, elements, shape)
    length, inner = SHAPES[shape]
    length = length or elements // inner
    if inner > 1:
        return part.case(op, dtype, f"{length}x{inner}", 0)
    if length == elements:
        return part.case(op, dtype, f"{length}", 0)
    return part.case(op, dtype, f"{elements // length}x{length}", 1)


def buffers(kinds, names, dtype, elements):
    """The input of every kind but the benign one, which depends on the shape; and two more: that
    one's, and the output."""
    element = values.DTYPES[dtype]
    made = {name: values.buffer(elements * element().itemsize).view(element)
            for name in [*names, BENIGN]}
    made["output"] = values.buffer(elements * 8)
    flat = part.case("cumprod", dtype, f"{elements}", 0)
    for name in names:
        kinds.fill(name, flat, made[name])
    return made


def measure_shape(held, data, makers, threads, rounds, order):
    """{kind: {competitor: seconds}}"""
    entries = []
    for kind, array in data.items():
        if kind == "output":
            continue
        output = data["output"].view(np.int64 if held.op == "argmax" else array.dtype)
        problem = part.Held(held, array, output)
        for make in makers:
            entries += [(kind, competitor) for competitor in make(problem, [threads])
                        if competitor.name in COMPETITORS]
    seconds = turns.medians([competitor for _, competitor in entries], rounds, order)
    result = {}
    for (kind, competitor), median in zip(entries, seconds):
        if median is not None:
            name, found = COMPETITORS[competitor.name], result.setdefault(kind, {})
            found[name] = min(median, found.get(name, median))
    return result


def measure(made):
    options, order = made.options, random.Random(1)
    kinds = native.Kinds(made.folder, made.tally)
    names = [name for name in (options.kinds.split(",") if options.kinds else kinds.names())
             if name != BENIGN]
    made.run |= {"threads": options.threads, "kinds": [BENIGN] + names,
                 "cases": made.pieces.kept.get("cases", [])}
    done = {case["word"] for case in made.run["cases"]}
    for dtype in options.dtypes.split(","):
        data = None
        for op in options.ops.split(","):
            makers = (reduction_makers if op in REDUCTIONS else scan_makers)(made)
            for shape in options.shapes.split(",") if options.shapes else \
                    REDUCED if op in REDUCTIONS else SHAPES:
                held = shape_case(op, dtype, options.elements, shape)
                if made.pieces.skips(held.word in done):
                    continue
                part.progress(f"{op} {dtype}, {shape}: {held.word}")
                data = data or buffers(kinds, names, dtype, options.elements)
                kinds.fill(BENIGN, held, data[BENIGN])
                made.run["cases"].append(
                    {"op": op, "dtype": dtype, "shape": shape, "word": held.word,
                     "elements": held.elements,
                     "seconds": measure_shape(held, data, makers, options.threads, options.rounds,
                                              order)})


# ---- tables ----

def figures(case, kind):
    """Tally's time as a multiple of its benign one, of the loop's and of torch's; None where one is
    missing."""
    found = case["seconds"].get(kind, {})
    mine = found.get("Tally")
    others = [case["seconds"].get(BENIGN, {}).get("Tally"), found.get("C loop"),
              found.get("torch")]
    return [mine / other if mine and other else None for other in others]


def faults(run, case, kind):
    benign, loop, torch = figures(case, kind)
    limit = rule(run["level"], kind, case["op"])
    found = []
    if benign is not None and benign > limit:
        found.append(f"{benign:.2f} of the benign time, rule {limit}")
    # The loop has one thread; on more it is no peer that could have been slower.
    found += [f"{value:.2f} of {name}'s time" for name, value in
              (("the C loop", loop), ("torch", torch)) if value is not None and value > 1]
    return found


def table(run, op, dtype):
    cases = [case for case in run["cases"] if case["op"] == op and case["dtype"] == dtype]
    rows = [f"## {op} {dtype}", "",
            "| kind | " + " | ".join(case["shape"] for case in cases) + " |",
            "|---|" + "---|" * len(cases)]
    for kind in run["kinds"]:
        cells = []
        for case in cases:
            text = " · ".join(report.number(value) for value in figures(case, kind))
            cells.append(f"**{text}**" if faults(run, case, kind) else text)
        rows.append(f"| {kind} (rule {rule(run['level'], kind, op)}) | " + " | ".join(cells) + " |")
    benign = ["–" if "Tally" not in case["seconds"].get(BENIGN, {}) else
              f"{case['seconds'][BENIGN]['Tally'] * 1e9 / case['elements']:.3f}" for case in cases]
    return rows + [f"| {BENIGN}, ns an element | " + " | ".join(benign) + " |", ""]


def misses(run):
    found = [f"- `{case['word']}`, {kind}: " + "; ".join(each)
             for case in run["cases"] for kind in run["kinds"]
             if (each := faults(run, case, kind))]
    return ["## Beyond the rules", "", *(found or ["None."]), ""]


def markdown(run):
    lines = [f"# Kinds of data, {run['date']}", "", *report.facts(run),
             f"- Tally's device: {run['device']}; {run['threads']} "
             f"thread{'s' if run['threads'] > 1 else ''}; {run['elements']} elements a tensor; "
             f"medians of {run['rounds']} rounds in random order; {run['minutes']} minutes. "
             "Method: docs/benchmark.md",
             "- A cell is Tally's time over its own on benign data · over the plain C loop's on "
             "the same data (one thread) · over torch's. Bold: beyond the kind's rule, or slower than "
             "one of the two.", ""]
    for op, dtype in dict.fromkeys((case["op"], case["dtype"]) for case in run["cases"]):
        lines += table(run, op, dtype)
    return "\n".join(lines + misses(run))


# ---- picture ----

def draw(run, path):
    matplotlib.rcParams["svg.hashsalt"] = "tally"  # the same run draws the same file
    groups = list(dict.fromkeys((case["op"], case["dtype"]) for case in run["cases"]))
    figure, panels = pyplot.subplots(len(groups), 1, squeeze=False,
                                     figsize=(9, 1.2 + 2.6 * len(groups)))
    for axes, (op, dtype) in zip(panels[:, 0], groups):
        cases = [case for case in run["cases"] if (case["op"], case["dtype"]) == (op, dtype)]
        for index, case in enumerate(cases):
            shift = 0.8 * ((index + 0.5) / len(cases) - 0.5)
            points = [(place + shift, figures(case, kind)[0])
                      for place, kind in enumerate(run["kinds"])]
            points = [point for point in points if point[1] is not None]
            if points:
                axes.bar(*zip(*points), width=0.8 / len(cases), color=f"C{index}",
                         label=case["shape"])
        for place, kind in enumerate(run["kinds"]):
            limit = rule(run["level"], kind, op)
            axes.plot([place - 0.45, place + 0.45], [limit, limit], color="black", linewidth=1.2)
        axes.axhline(1, color="#bbbbbb", linewidth=0.8)
        axes.set_xticks(range(len(run["kinds"])), run["kinds"], fontsize=7)
        axes.set_ylabel(f"{op} {dtype}", fontsize=8)
        axes.set_yscale("log")
        axes.set_yticks([0.5, 1, 1.3, 2, 4, 8, 16], ["0.5", "1", "1.3", "2", "4", "8", "16"],
                        fontsize=7)
        axes.set_yticks([], minor=True)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), fontsize=7)
    figure.suptitle("Time over the time on benign data; the lines are the rules: "
                    f"{run['machine']['cpu']}", fontsize=9)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    part.save(figure, path)
    pyplot.close(figure)


if __name__ == "__main__":
    part.main(arguments, measure, markdown, draw)
