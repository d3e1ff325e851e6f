# SPDX-License-Identifier: Apache-2.0
"""gpu.md: the tables of a run of bench/gpu.py, as a section of docs/performance.md."""

import re

import gpu_pipelines
from gpu_cases import GROUPS, SCANS


def ceiling(case):
    """Of the fastest copy or read, whoever made it."""
    known = [result["ceiling"]["median"] for result in case["results"].values() if result["ceiling"]]
    return min(known, default=None)


def cell(case, name):
    """Microseconds, and the part of the ceiling's speed."""
    result = case["results"].get(name)
    if not result or not result["seconds"]:
        return "-"
    seconds, best = result["seconds"]["median"], ceiling(case)
    return f"{seconds * 1e6:,.1f} ({best / seconds:.2f})" if best else f"{seconds * 1e6:,.1f}"


def clocks(case):
    """MHz of those that were measured; one number where all had the same."""
    told = [result["extra"].get("mhz") for result in case["results"].values() if result["seconds"]]
    texts = [str(mhz or "-") for mhz in told]
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


def shape_of(word):
    op, dtype, sizes, *options = word.split(":")

    def short(match):
        size = int(match[0])
        log2 = size.bit_length() - 1
        return f"2^{log2}" if size == 2 ** log2 and log2 > 4 else match[0]
    return " ".join([op, dtype, re.sub("[0-9]+", short, sizes), *options])


def table(run, group, names):
    rows = [case for case in run["cases"] if case["group"] == group]
    if not rows:
        return []
    lines = ["", f"#### {group}", "",
             f"| case | {'copy' if group in SCANS else 'read'} | " + " | ".join(names) + " | MHz |",
             "|---|" + "---:|" * (len(names) + 2)]
    for case in rows:
        best = ceiling(case)
        lines.append(f"| {shape_of(case['word'])} | "
                     f"{'-' if best is None else format(best * 1e6, ',.1f')} | " +
                     " | ".join(cell(case, name) for name in names) + f" | {clocks(case)} |")
    return lines


def report(run):
    names = ["Tally"] + [name for name, line in run["peers"].items()
                         if not line.startswith("not measured")]
    facts = run["machine"]
    lines = [f"### {facts['gpu']}, by tools/gpu-check", "",
             f"`tools/gpu-check`, {facts['date']}, {run['tally']}. Driver: {facts['driver']}. "
             f"Host: {facts['cpu']}, {facts['system']}. Clock: {facts['clock']}.", "",
             "Device time of one call in microseconds, tensors on the device, median, behind half a "
             "second of calls that are not counted; so many tensors take turns that no cache holds "
             "the next one. In brackets the speed as a part of the fastest copy's of the same bytes "
             "in the same case (1.00 reads and writes each element once at copy speed), of a "
             "reduction of a kernel's that only reads them. MHz: the GPU's clock at the end of each "
             "measurement, if several differ in the order of the columns.", ""]
    lines += [f"- {name}: {line}" for name, line in run["peers"].items()]
    for group in GROUPS:
        lines += table(run, group, names)
    if run["pipelines"]:
        lines += ["", *gpu_pipelines.report(run["pipelines"])]
    refused = [f"- {case['word']}: {case['results']['Tally']['refusal']}" for case in run["cases"]
               if case["results"]["Tally"]["refusal"]]
    if refused:
        lines += ["", "#### Not measured on Tally", ""] + refused
    return "\n".join(lines) + "\n"
