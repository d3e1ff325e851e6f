# SPDX-License-Identifier: Apache-2.0
"""Tables of a run, in Markdown: ratios to the copy ceiling of the same run and thread count.

`python report.py RUN.json` prints them again.
"""

import json
import statistics
import sys

LIBRARIES = ["numpy", "torch", "ONNX Runtime"]
PEERS = ["C loop", "gcc inscan"] + LIBRARIES
FIRST_TARGETS = {"first_kernel": 25, "later_miss": 5}


def median(result):
    return result["seconds"]["median"]


def measured(case, name, threads):
    """The result of a competitor that ran on at most so many threads; the faster one of them."""
    found = [result for result in case["results"]
             if result["name"] == name and "seconds" in result and result["threads"] <= threads
             and (name != "Tally" or result["threads"] == threads)]
    return min(found, key=median, default=None)


def ceiling(case, threads):
    """The fastest copy on at most so many threads: every ratio of the case is taken to it."""
    return min((result for result in case["results"]
                if result.get("ceiling") and result["threads"] <= threads), key=median)


def ratio(case, name, threads):
    result = measured(case, name, threads)
    return None if result is None else median(ceiling(case, threads)) / median(result)


def best_peer(case, threads):
    """Name and seconds of the fastest peer, which no case of Tally's may be slower than. A bare C
    loop over a dozen elements is no peer of a call that finds out what it is to do."""
    names = LIBRARIES if case["call"] else PEERS
    found = [(name, measured(case, name, threads)) for name in names]
    found = [(name, median(result)) for name, result in found if result and result["right"]]
    return min(found, key=lambda each: each[1], default=None)


def verdict(case, threads):
    """What is wrong with Tally's figure; empty if nothing is."""
    result, faults = measured(case, "Tally", threads), []
    if result is None:
        return "–"
    if not result["right"]:
        faults.append("WRONG RESULT")
    target = case["targets"].get(str(threads))
    if target is not None:
        met = median(result) * 1e9 <= target if case["call"] \
            else ratio(case, "Tally", threads) >= target
        if not met:
            faults.append("missed")
    peer = best_peer(case, threads)
    if peer and peer[1] < median(result):
        faults.append(f"slower than {peer[0]}")
    return ", ".join(faults) or "met"


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def cell(case, name, threads):
    text = number(ratio(case, name, threads))
    result = measured(case, name, threads)
    return text + ("¹" if result and not result["right"] else "")


def ratio_table(run, threads):
    rows = [f"## {threads} thread{'s' if threads > 1 else ''}", "",
            "| case | word | ceiling GB/s | Tally | target | verdict | " + " | ".join(PEERS) + " |",
            "|---|---|---|---|---|---|" + "---|" * len(PEERS)]
    for case in run["cases"]:
        if case["call"] or threads not in case["threads"]:
            continue
        copy = ceiling(case, threads)
        rows.append(
            f"| {case['name']} | `{case['word']}` | "
            f"{case['bytes'] / median(copy) * 1e-9:.1f} ({copy['name'][5:]}) | "
            f"**{cell(case, 'Tally', threads)}** | {number(case['targets'].get(str(threads)))} | "
            f"{verdict(case, threads)} | "
            + " | ".join(cell(case, name, threads) for name in PEERS) + " |")
    return rows + [""] if len(rows) > 4 else []


def call_table(run):
    rows = ["## Calls of a ready kernel, one thread, nanoseconds", "",
            "| case | word | Tally | target | verdict | " + " | ".join(PEERS) + " |",
            "|---|---|---|---|---|" + "---|" * len(PEERS)]
    for case in run["cases"]:
        if case["call"]:
            cells = []
            for name in ["Tally"] + PEERS:
                result = measured(case, name, 1)
                cells.append("–" if result is None else f"{median(result) * 1e9:.1f}")
            rows.append(f"| {case['name']} | `{case['word']}` | **{cells[0]}** | "
                        f"{case['targets']['1']} | {verdict(case, 1)} | "
                        + " | ".join(cells[1:]) + " |")
    return rows + [""] if len(rows) > 4 else []


def first_table(run):
    rows = ["## Making kernels, milliseconds, files in the page cache", "",
            "| | median over the words | fastest | slowest | target |", "|---|---|---|---|---|"]
    names = {"first_kernel": "first kernel of a cold process, from its fork",
             "first_result": "first result (tensors up to 1 MiB)", "later_miss": "later kernels"}
    for key, label in names.items():
        times = [word[key] for word in run["first"]["words"] if word[key] is not None]
        if times:
            rows.append(f"| {label} | {statistics.median(times):.2f} | {min(times):.2f} | "
                        f"{max(times):.2f} | {FIRST_TARGETS.get(key, '–')} |")
    return rows + [""]


def refusals(run):
    """Who does not do what, each reason once, with its cases."""
    reasons = {}
    for case in run["cases"]:
        for result in case["results"]:
            if "refused" in result:
                reasons.setdefault((result["name"], result["refused"]), {})[case["name"]] = True
    if not reasons:
        return []
    rows = ["## Not measured", ""]
    for (name, reason), names in reasons.items():
        names = list(names)
        shown = "; ".join(names[:3]) + (f"; {len(names) - 3} more" if len(names) > 3 else "")
        rows.append(f"- {name}: {reason} ({shown})")
    return rows + [""]


def facts(run):
    """What was measured, and where."""
    found, versions = run["machine"], run["versions"]
    shown = ", ".join(f"{name} {size}" for name, size in found["caches"].items())
    return [f"- Machine: {found['cpu']}; {found['cpus']} CPUs; {shown}; "
            f"AVX-512: {'yes' if found['avx512'] else 'no'}; {found['memory_mib']} MiB; Linux "
            f"{found['kernel']}; transparent huge pages {found['huge_pages']}; load "
            f"{found['load_at_start']} at the start",
            "- Versions: " + ", ".join(f"{name} {text}" for name, text in versions.items())]


def header(run):
    return [f"# Cumulative sum and product, {run['date']}", "", *facts(run),
            f"- Tally's device: {run['device']}; targets: {run['level']}; {run['rounds']} rounds "
            f"in random order; {run['minutes']} minutes. Method: docs/benchmark.md",
            "- A ratio is the fastest copy of the same bytes, on as many threads at most and in "
            "the same run, over the competitor's median. Peers that use one thread only stand in "
            "the other tables with that time. “missed”: below the target; “slower than”: a peer is "
            "faster. ¹ the result is not the expected one.", ""]


def markdown(run):
    lines = header(run)
    for threads in run["threads"]:
        lines += ratio_table(run, threads)
    lines += call_table(run)
    if run.get("first"):
        lines += first_table(run)
    return "\n".join(lines + refusals(run))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as stream:
        print(markdown(json.load(stream)))
