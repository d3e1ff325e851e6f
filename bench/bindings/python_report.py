# SPDX-License-Identifier: Apache-2.0
"""The tables of `bench/run python`, in Markdown. A cell has a figure for each number of threads."""

import python_cases
import python_ways as ways
import report

NOISE = .93     # what two runs of one thing may differ by
BUSY = .15      # of a CPU, beyond the threads


def seconds(case, name, threads, of):
    return next((result["seconds"][of] for result in case["results"]
                 if result["name"] == name and result["threads"] == threads and "seconds" in result), None)


def ratio(case, other, own, threads, of):
    """How many times as long as `own` the other takes; None where one of both was not timed."""
    theirs, mine = seconds(case, other, threads, of), seconds(case, own, threads, of)
    return theirs / mine if theirs and mine else None


def number(value):
    """Two digits."""
    if value is None:
        return "–"
    if value < .995:
        return f".{value * 100:02.0f}"
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def peers(value):
    """Bold where the peer is faster."""
    return f"**{number(value)}**" if value and value < .995 else number(value)


def microseconds(value):
    return "–" if value is None else f"{value * 1e6:.2f}" if value < 1e-5 else f"{value * 1e6:,.0f}"


def table(run, columns):
    """`columns`: a head, and what the cell of a case and a number of threads is."""
    rows = [f"| case | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for case in run["cases"]:
        cells = [[cell(case, threads) for threads in run["threads"]] for cell in columns.values()]
        rows.append(" | ".join([f"| {case['name']}", *("–" if set(each) == {"–"} else " / ".join(each)
                                                       for each in cells)]) + " |")
    return rows + [""]


def beside(run, of):
    """Tally's call with `out=`, and the peers."""
    columns = {"Tally, µs": lambda case, threads: microseconds(seconds(case, ways.TALLY, threads, of)),
               "new result": lambda case, threads: number(ratio(case, ways.NEW, ways.TALLY, threads, of))}
    for name in ways.PEERS:
        columns[name] = lambda case, threads, name=name: peers(ratio(case, name, ways.TALLY, threads, of))
    return table(run, columns)


def inside(run, of):
    """Libraries with and without Tally inside of them."""
    return table(run, {own: lambda case, threads, own=own, other=other: peers(ratio(case, other, own, threads, of))
                       for own, other in ways.BESIDE.items()})


def losses(run, of):
    """Where a peer is faster in either table, beyond what runs differ by."""
    pairs = [(other, ways.TALLY) for other in ways.PEERS] + [(other, own) for own, other in ways.BESIDE.items()]
    lines, timed, lost = [], 0, 0
    for case in run["cases"]:
        for threads in run["threads"]:
            ratios = [(value, other, own) for other, own in pairs if (value := ratio(case, other, own, threads, of))]
            slow = sorted(each for each in ratios if each[0] < NOISE)
            timed, lost = timed + len(ratios), lost + len(slow)
            if slow:
                lines.append(f"- {case['name']}, {threads} thread{'s' if threads > 1 else ''}: " + "; ".join(
                    f"{other} {number(value)} of {own}" for value, other, own in slow))
    return [f"In {lost} of {timed} pairs a peer takes less than {number(NOISE)} of Tally's time.", "", *lines, ""]


def busy(run):
    """Ways that kept more CPUs busy than they had threads."""
    found = {}
    for case in run["cases"]:
        for result in case["results"]:
            if result.get("cpus", 0) > result["threads"] + BUSY:
                found.setdefault((result["name"], result["threads"]), []).append(case["name"])
    return [f"- On {threads} thread{'s' if threads > 1 else ''}, {name} kept more CPUs busy in: " + "; ".join(names)
            for (name, threads), names in found.items()]


def markdown(run):
    commits = dict.fromkeys(case["commit"] for case in run["cases"])
    lines = [
        f"# Python, {run['date']}", "", *report.facts(run),
        f"- {len(run['cases'])} of {len(python_cases.CASES)} cases; {run['rounds']} rounds in random order. Method: "
        "docs/benchmark.md",
        "- A figure is a peer's time divided by Tally's: above 1 Tally is faster. Bold: the peer is. Threads: "
        + " / ".join(map(str, run["threads"])),
        "- Other work on the machine disturbs the shortest times less than medians.",
        *(["- Measured at the commits " + ", ".join(commits)] if len(commits) > 1 else []), *busy(run), ""]
    for of, title in (("median", "medians"), ("min", "shortest times")):
        lines += [f"## Beside Tally's call with `out=`, {title}", "", *beside(run, of),
                  f"## Libraries with and without Tally inside, {title}", "", *inside(run, of),
                  f"## Where a peer is faster, {title}", "", *losses(run, of)]
    return "\n".join(lines + report.refusals(run))
