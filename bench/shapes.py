# SPDX-License-Identifier: Apache-2.0
"""A sweep of shapes: time per element over the length of rows and over the number of columns, Tally
beside the plain C loop, on data that stay in range. Of reductions (`--ops sum,max`) also over rows that
several steps make, axes 0 and 2 of 3, and beside the faster of the C loops at -O3 and at -Ofast.

The rule: no length takes more than 1.3 times an element's time at the nearest multiple of 16 of
the same tensor size, none below 16 more than 1.5 times that of 16, and none more than the C loop.
Lengths that are held to the same multiple take turns in one run. `python shapes.py RUN.json` prints
a run's tables again.
"""

import math
import random

import matplotlib

import part
import reduction_cases
import report
import turns
import values

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402  (the backend comes first)

STEP = 16
RULE, SHORT_RULE = 1.3, 1.5
POWERS = range(9, 21)
NEIGHBOURS = 3  # lengths beyond the rule that are so near stand in one line of the table
SWEEPS = {"rows": "length of rows", "columns": "columns, axis 0",
          "both": "length of axis 2, axes 0 and 2 of 3"}
SCANNED = ["rows", "columns"]
STEPS = 64  # of axis 0 where axes 0 and 2 are reduced
REDUCTIONS = reduction_cases.OPS.split()


def arguments():
    parser = part.parser("shapes", __doc__, 5)
    part.add_seconds(parser)
    parser.add_argument("--sweeps", default=",".join(SWEEPS), help="comma-separated, "
                        "of scans the first two (%(default)s)")
    parser.add_argument("--lengths", default="1-300,powers", help="ranges and numbers, "
                        "comma-separated; powers: 2^k and its neighbours (%(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="(%(default)s)")
    return parser.parse_args()


def lengths_of(text, elements):
    found = set()
    for item in text.split(","):
        if item == "powers":
            found |= {2 ** k + near for k in POWERS for near in (-1, 0, 1)}
        else:
            first, _, last = item.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return sorted(length for length in found if length <= elements)


def base_of(length):
    """The multiple of 16 that a length is held to."""
    return max(STEP, (length + STEP // 2) // STEP * STEP)


def groups_of(lengths):
    """{base: lengths}, the base among them: what takes turns."""
    found = {}
    for length in lengths:
        found.setdefault(base_of(length), set()).add(length)
    return {base: sorted(members | {base}) for base, members in sorted(found.items())}


def case_of(sweep, op, dtype, elements, length):
    rows, axis = elements // length, 1 if sweep == "rows" else 0
    if op not in REDUCTIONS:
        return part.case(op, dtype, f"{rows}x{length}", axis)
    sizes, axes = ((STEPS, rows // STEPS, length), (0, 2)) if sweep == "both" else \
        ((rows, length), (axis,))
    return reduction_cases.Case("", op, dtype, sizes, axes)


def loops_of(made, op):
    """Makes the compiled loops of a case."""
    if op not in REDUCTIONS:
        return lambda problem: [next(iter(made.loops.competitors(problem, [1])))]
    import reduction_peers  # with the libraries that it needs
    loops = reduction_peers.Loops(made.folder)
    return lambda problem: list(loops.competitors(problem, [1]))


def measure_group(made, loops, case_sets, x, y, order):
    """The seconds of an element of Tally and of the fastest loop for each case."""
    threads, competitors, owners = made.options.threads, [], []
    for index, held in enumerate(case_sets):
        problem = part.Held(held, x, y)
        own = [*made.tally.competitors(problem, [threads]), *loops(problem)]
        competitors += own
        owners += [index] * len(own)
    times = [[] for _ in case_sets]
    for index, seconds in zip(owners, turns.medians(competitors, made.options.rounds, order)):
        times[index].append(seconds)
    return [{"tally": mine and mine / held.elements, "loop": min(others) / held.elements}
            for held, (mine, *others) in zip(case_sets, times)]


def measure(made):
    options, order = made.options, random.Random(1)
    kept = {(sweep["op"], sweep["dtype"], sweep["sweep"]): sweep["points"]
            for sweep in made.pieces.kept.get("sweeps", [])}
    made.run |= {"threads": options.threads, "sweeps": []}
    groups = groups_of(lengths_of(options.lengths, options.elements))
    for dtype in options.dtypes.split(","):
        element = values.DTYPES[dtype]
        x, y = (values.buffer(options.elements * element().itemsize).view(element)
                for _ in range(2))
        x[:] = 1  # in range in every order
        for op in options.ops.split(","):
            loops = loops_of(made, op)
            for sweep in options.sweeps.split(","):
                if op not in REDUCTIONS and sweep not in SCANNED:
                    continue
                points = {point["length"]: point for point in kept.get((op, dtype, sweep), [])}
                most = options.elements // (STEPS if sweep == "both" else 1)
                for members in groups.values():
                    members = [length for length in members if length <= most]
                    if not members or made.pieces.skips(points.keys() >= set(members)):
                        continue
                    part.progress(f"{op} {dtype}, {sweep}: {members[0]} to {members[-1]}")
                    held = [case_of(sweep, op, dtype, options.elements, length)
                            for length in members]
                    for length, times in zip(members,
                                             measure_group(made, loops, held, x, y, order)):
                        points[length] = {"length": length, **times}
                made.run["sweeps"].append({
                    "op": op, "dtype": dtype, "sweep": sweep,
                    "points": list(points.values())})


# ---- the rule ----

def limit_of(sweep, length):
    """The most seconds an element of that length may take by its multiple of 16; None where one was
    not measured."""
    base = next((point["tally"] for point in sweep["points"]
                 if point["length"] == base_of(length)), None)
    return base and base * (SHORT_RULE if length < STEP else RULE)


def faults(sweep, point, threads):
    if point["tally"] is None:
        return ["no kernel"]
    limit, found = limit_of(sweep, point["length"]), []
    if limit and point["tally"] > limit:
        ratio = point["tally"] / limit * (SHORT_RULE if point["length"] < STEP else RULE)
        found.append(f"{ratio:.2f} of {base_of(point['length'])}'s")
    if threads == 1 and point["tally"] > point["loop"]:
        found.append(f"{point['tally'] / point['loop']:.2f} of the C loop's")
    return found


def title(sweep):
    return f"{sweep['op']} {sweep['dtype']}, {SWEEPS[sweep['sweep']]}"


def nanoseconds(seconds):
    return report.number(seconds and seconds * 1e9, 3)


def table(run, sweep):
    broken = [(point, each) for point in sweep["points"]
              if (each := faults(sweep, point, run["threads"]))]
    rows = [f"## {title(sweep)}", "",
            f"{len(sweep['points'])} measured, {len(broken)} beyond the rule.", ""]
    if broken:
        rows += ["| length | ns an element | C loop | rule | what is wrong |",
                 "|---|---|---|---|---|"]
        for run in runs_of(broken):
            point, each = max(run, key=lambda pair: excess(sweep, pair[0]))
            length = point["length"]
            if len(run) > 1:
                length = f"{len(run)} of {run[0][0]['length']} to {run[-1][0]['length']}: {length}"
            rows.append(f"| {length} | {nanoseconds(point['tally'])} | {nanoseconds(point['loop'])} | "
                        f"{nanoseconds(limit_of(sweep, point['length']))} | {'; '.join(each)} |")
        rows.append("")
    return rows


def runs_of(broken):
    """Neighbours among the lengths that are beyond the rule as one."""
    runs = []
    for each in broken:
        if runs and each[0]["length"] - runs[-1][-1][0]["length"] <= NEIGHBOURS:
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs


def excess(sweep, point):
    """Over the tighter of the limit and the loop."""
    limit = limit_of(sweep, point["length"])
    return (point["tally"] or math.inf) / min(limit or math.inf, point["loop"])


def markdown(run):
    lines = [f"# Shapes, {run['date']}", "", *report.facts(run),
             f"- Tally's device: {run['device']}; {run['threads']} "
             f"thread{'s' if run['threads'] > 1 else ''}; {run['elements']} elements a tensor; "
             f"medians of {run['rounds']} rounds in random order; {run['minutes']} minutes. "
             "Method: docs/benchmark.md",
             f"- The rule: {RULE} times an element's time at the nearest multiple of {STEP}, "
             f"{SHORT_RULE} times that of {STEP} below it; and never slower than the C loop (one "
             "thread). Lengths near each other stand in one line, with the figures of the worst.", ""]
    for sweep in run["sweeps"]:
        lines += table(run, sweep)
    return "\n".join(lines)


# ---- picture ----

def panel(axes, run, sweep, near, powers):
    points = [point for point in sweep["points"] if point["tally"] and
              (point["length"] > near) == powers]
    if not points:
        axes.set_visible(False)
        return
    x = [point["length"] for point in points]
    mine = [point["tally"] * 1e9 for point in points]
    limits = [(limit_of(sweep, length) or float("nan")) * 1e9 for length in x]
    style = {"marker": ".", "markersize": 3, "linewidth": 0.8}
    axes.plot(x, [point["loop"] * 1e9 for point in points], color="#7f8c8d", label="C loop",
              **style)
    axes.plot(x, limits, color="black", linewidth=0.8, drawstyle="steps-mid", label="rule")
    axes.plot(x, mine, color="#2980b9", label="Tally", **style)
    over = [(length, time) for length, time, point in zip(x, mine, points)
            if faults(sweep, point, run["threads"])]
    if over:
        axes.scatter(*zip(*over), color="#c0392b", s=10, zorder=3, label="beyond the rule")
    axes.set_title(title(sweep), fontsize=8)
    highest = max(max(mine), max(limits))  # a loop far above is cut off
    axes.set_ylim(0, 1.1 * min(2 * highest, max(highest, *(p["loop"] * 1e9 for p in points))))
    if powers:
        axes.set_xscale("log", base=2)
    axes.tick_params(labelsize=7)
    axes.set_ylabel("ns an element", fontsize=7)


def draw(run, path, near=300):
    matplotlib.rcParams["svg.hashsalt"] = "tally"  # the same run draws the same file
    count = len(run["sweeps"])
    figure, panels = pyplot.subplots(count, 2, squeeze=False, figsize=(13, 0.9 + 3 * count),
                                     width_ratios=(3, 1))
    for row, sweep in zip(panels, run["sweeps"]):
        panel(row[0], run, sweep, near, False)
        panel(row[1], run, sweep, near, True)
    handles = {}
    for axes in panels.flat:
        handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(handles.values(), handles, loc="lower center", ncols=4, fontsize=8)
    figure.suptitle(f"Time of an element by shape: {run['machine']['cpu']}", fontsize=9)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    part.save(figure, path)
    pyplot.close(figure)


if __name__ == "__main__":
    part.main(arguments, measure, markdown, draw)
