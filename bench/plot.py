# SPDX-License-Identifier: Apache-2.0
"""The picture of a run: one line a case, one mark a competitor, a bar where the target is.

`python plot.py RUN.json OUT.svg` draws it again.
"""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402  (the backend comes first)

import report  # noqa: E402

MARKS = {"Tally": ("o", "#c0392b"), "C loop": ("s", "#7f8c8d"), "gcc inscan": ("D", "#34495e"),
         "C -O3": ("s", "#7f8c8d"), "C -Ofast": ("D", "#34495e"),
         "numpy": ("^", "#2980b9"), "torch": ("v", "#e67e22"), "ONNX Runtime": ("P", "#27ae60"),
         "Tally + numpy": ("X", "#8e44ad"), "Inductor": ("P", "#d35400")}


def panel(axes, run, threads, ceiling):
    shown = [case for case in run["cases"] if not case["call"] and threads in case["threads"]]
    for row, case in enumerate(shown):
        target = case["targets"].get(str(threads))
        if target is not None:
            axes.plot([target, target], [row - 0.4, row + 0.4], color="black", linewidth=1.5,
                      label="target" if row == 0 else None)
    for name, (mark, colour) in MARKS.items():
        points = [(report.ratio(case, name, threads), row) for row, case in enumerate(shown)]
        points = [point for point in points if point[0] is not None]
        if points:
            axes.scatter(*zip(*points), marker=mark, color=colour, label=name, zorder=3,
                         s=44 if name == "Tally" else 20)
    axes.axvline(1, color="#bbbbbb", linewidth=0.8)
    axes.set_yticks(range(len(shown)), [case["name"] for case in shown], fontsize=7)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0, 1.15)
    axes.set_xlabel(f"ratio to the {ceiling} ceiling")
    axes.set_title(f"{threads} thread{'s' if threads > 1 else ''}")
    axes.grid(axis="x", linewidth=0.3)


def draw(run, path, title="Cumulative sum and product", ceiling="copy"):
    matplotlib.rcParams["svg.hashsalt"] = "tally"  # the same run draws the same file
    height = 1.8 + 0.19 * len(run["cases"])
    figure, panels = pyplot.subplots(1, len(run["threads"]), squeeze=False,
                                     figsize=(6.5 * len(run["threads"]), height))
    for axes, threads in zip(panels[0], run["threads"]):
        panel(axes, run, threads, ceiling)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), fontsize=8)
    figure.suptitle(f"{title}: {run['machine']['cpu']}", fontsize=10,
                    y=1 - 0.15 / height)
    figure.tight_layout(rect=(0, 0.6 / height, 1, 1 - 0.3 / height))
    figure.savefig(path, metadata={"Date": None} if str(path).endswith("svg") else None)
    pyplot.close(figure)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as stream:
        draw(json.load(stream), sys.argv[2])
