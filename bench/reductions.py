# SPDX-License-Identifier: Apache-2.0
"""Reductions beside reads of the same bytes, plain C loops, numpy, torch and ONNX Runtime.

A ratio is the best read of the input's bytes, on as many threads at most and in the same run, over
the competitor's median. `--only` measures some of the cases and keeps the others of the last run;
`--seconds` goes on with a run for so long. `python reductions.py RUN.json` prints a run's tables again.
"""

import datetime
import json
import pathlib
import random
import sys

import matplotlib

import machine
import native
import part
import peers
import plot
import record
import reduction_peers
import report
import turns
import values
from reduction_cases import Problem, all_cases, target

INPUT_BYTES = 1 << 28  # 64 Mi f32
PEERS = ["C -O3", "C -Ofast", "numpy", "torch", "ONNX Runtime"]
AVX2 = "Tally, AVX2"
SECONDS = 0.3  # of a competitor in a case: a slow one gets fewer rounds


# ---- measuring ----

def as_avx2(tally):
    def competitors(problem, threads):
        for competitor in tally.competitors(problem, threads):
            competitor.name = AVX2
            yield competitor
    return competitors


def measure(problem, competitors, rounds, order):
    """As run.py's; but who takes seconds on one thread is not asked again on two."""
    running, results, slow = [], [], set()
    for competitor in competitors:
        result = {"name": competitor.name, "threads": competitor.threads}
        results.append(result)
        if competitor.refusal or competitor.name in slow:
            result["refused"] = competitor.refusal or "slow enough on one thread"
            continue
        competitor.before()
        problem.poison()
        first = competitor.seconds(1)
        if first > SECONDS:
            slow.add(competitor.name)
        if first < 0:
            result["refused"] = f"failed with status {int(first)}"
            continue
        result["right"] = competitor.is_ceiling or problem.is_right()
        result["ceiling"] = competitor.is_ceiling
        running.append((turns.Turns(competitor, turns.second_look(competitor, first), rounds, SECONDS),
                        result))
    turns.take([taken for taken, _ in running], rounds, order)
    for taken, result in running:
        result.update(taken.result())
    return without_slow_reads(results)


def without_slow_reads(results):
    """Of the reads the fastest on so many threads, the only ones that a table asks for."""
    reads = [result for result in results if result.get("ceiling")]
    fastest = [min((read for read in reads if read["threads"] == threads), key=report.median)
               for threads in sorted({read["threads"] for read in reads})]
    return fastest + [result for result in results if not result.get("ceiling")]


def selected(only):
    texts = [text.strip() for text in only.split(";")] if only else [""]
    return [case for case in all_cases()
            if any(text in case.name or case.word.startswith(text) for text in texts)]


def makers_of(options, flat, out):
    folder = native.compile_all(pathlib.Path(options.build) / "bench")
    library = native.find_tally(options.build)
    tally = native.Tally(folder, library, "cpu")
    makers = [reduction_peers.Reads(folder, flat, out, options.threads).competitors, tally.competitors]
    if machine.level("cpu") == "avx512":
        makers.append(as_avx2(native.Tally(folder, library, "cpu:x86-64-v3")))
    wanted = {"loops": reduction_peers.Loops(folder).competitors,
              "numpy": reduction_peers.numpy_competitors,
              "torch": reduction_peers.torch_competitors,
              "onnx": reduction_peers.onnx_competitors}
    return tally, makers + [wanted[name] for name in options.peers.split(",") if name]


def earlier_cases(path, options):
    """{word: case} of the last run, none where all is measured anew."""
    if not (options.only or options.seconds) or not path.exists():
        return {}
    return {case["word"]: case for case in json.loads(path.read_text())["cases"]}


def measured_case(case, results, commit, options):
    level = machine.level("cpu")
    return {"name": f"{case.op} {case.dtype}, {case.name}", "op": case.op, "dtype": case.dtype,
            "word": case.word, "bytes": case.bytes, "call": False, "commit": commit,
            "threads": options.threads,
            "targets": {str(threads): target(case.op, case.name, level == "avx512", threads)
                        for threads in options.threads},
            "results": results}


def main():
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        print(markdown(json.loads(pathlib.Path(sys.argv[1]).read_text())))
        return
    options = part.options_of_cases("reductions", __doc__, 5, "loops,numpy,torch,onnx")
    chosen = selected(options.only)
    if options.list or not chosen:
        print("\n".join(f"{case.name:24} {case.word}" for case in chosen))
        return
    flat, out = values.buffer(INPUT_BYTES), values.buffer(INPUT_BYTES // 2)
    tally, makers = makers_of(options, flat, out)
    pieces = part.Pieces(options)
    done = earlier_cases(pieces.path, options)
    run = {"date": datetime.date.today().isoformat(), "machine": machine.describe(),
           "versions": {"tally": tally.version()} | peers.versions() | machine.versions(),
           "level": machine.level("cpu"), "rounds": options.rounds, "threads": options.threads}
    order = random.Random(1)
    for case in chosen:
        if pieces.skips(options.seconds and case.word in done):
            continue
        if sys.stderr.isatty():
            print(f"{case.word}", file=sys.stderr)
        problem = Problem(case, flat, out)
        competitors = [each for make in makers for each in make(problem, options.threads)]
        done[case.word] = measured_case(case, measure(problem, competitors, options.rounds, order),
                                        run["versions"]["commit"], options)
    run["cases"] = [done[case.word] for case in all_cases() if case.word in done]
    part.write(run, pieces, markdown, draw)


# ---- tables ----

def ratio(case, name, threads):
    """Of the ceiling; Tally's own on so many threads, a peer's on at most so many."""
    if name == AVX2:
        result = next((each for each in case["results"] if each["name"] == AVX2
                       and each["threads"] == threads and "seconds" in each), None)
    else:
        result = report.measured(case, name, threads)
    if result is None:
        return None, True
    return report.median(report.ceiling(case, threads)) / report.median(result), result["right"]


def shortest(case, threads):
    """Tally's ratio by the shortest times, which other work on the machine disturbs less."""
    mine = report.measured(case, "Tally", threads)
    reads = [result["seconds"]["min"] for result in case["results"]
             if result.get("ceiling") and result["threads"] <= threads]
    return mine and min(reads) / mine["seconds"]["min"]


def best_peer(case, threads):
    found = [(value, name) for name in PEERS for value, right in [ratio(case, name, threads)]
             if value is not None and right]
    return max(found, default=(None, ""))


def verdict(case, threads):
    value, right = ratio(case, "Tally", threads)
    if value is None:
        return "no kernel"
    peer = best_peer(case, threads)
    found = [] if right else ["WRONG"]
    found += ["missed"] if value < case["targets"][str(threads)] else []
    found += [f"slower than {peer[1]}"] if peer[0] and peer[0] > value else []
    return ", ".join(found) or "met"


def cell(case, name, threads):
    value, right = ratio(case, name, threads)
    return report.number(value) + ("" if right else "¹")


def table(run, threads):
    rows = [f"## {threads} thread{'s' if threads > 1 else ''}", "",
            f"| case | word | read GB/s | Tally | shortest | {AVX2} | target | verdict | " +
            " | ".join(PEERS) + " |", "|---|---|---|---|---|---|---|---|" + "---|" * len(PEERS)]
    for case in run["cases"]:
        read = report.ceiling(case, threads)
        rows.append(f"| {case['name']} | `{case['word']}` | "
                    f"{case['bytes'] / report.median(read) * 1e-9:.1f} ({read['name'][5:]}) | "
                    f"**{cell(case, 'Tally', threads)}** | "
                    f"{report.number(shortest(case, threads))} | {cell(case, AVX2, threads)} | "
                    f"{case['targets'][str(threads)]:.2f} | {verdict(case, threads)} | " +
                    " | ".join(cell(case, name, threads) for name in PEERS) + " |")
    return rows + [""]


def faster_peers(run):
    """Every case in which a peer's median is below Tally's."""
    rows = ["## Where a peer is faster", "",
            "Tally's time over the peer's, by medians and by the shortest times.", "",
            "| case | threads | peer | medians | shortest |", "|---|---|---|---|---|"]
    for case in run["cases"]:
        for threads in case["threads"]:
            mine = report.measured(case, "Tally", threads)
            for name in PEERS:
                peer = report.measured(case, name, threads)
                if mine and peer and peer["right"] and report.median(peer) < report.median(mine):
                    times = [mine["seconds"][of] / peer["seconds"][of] for of in ("median", "min")]
                    rows.append(f"| `{case['word']}` | {threads} | {name} | {times[0]:.2f} | "
                                f"{times[1]:.2f} |")
    return rows + [""]


def summary(run):
    """How many are met, by thread count."""
    rows = []
    for threads in run["threads"]:
        found = [verdict(case, threads) for case in run["cases"]]
        rows.append(f"- {threads} thread{'s' if threads > 1 else ''}: {found.count('met')} of "
                    f"{len(found)} met; {sum('missed' in each for each in found)} below the target, "
                    f"{sum('slower' in each for each in found)} slower than a peer.")
    commits = dict.fromkeys(case["commit"] for case in run["cases"])
    return rows + ([f"- Commits, in pieces: {', '.join(commits)}."] if len(commits) > 1 else [])


def markdown(run):
    lines = [f"# Reductions, {run['date']}", "", *report.facts(run),
             f"- {len(run['cases'])} of {len(list(all_cases()))} cases were measured. Targets: "
             f"{run['level']}; medians of {run['rounds']} rounds in random order. "
             "Method: docs/benchmark.md",
             "- A ratio is the fastest read of the input's bytes, on as many threads at most and in "
             "the same run, over the competitor's median. Peers that use one thread only stand in "
             "the other table with that time. “missed”: below the target; “slower than”: a peer "
             "is faster. “shortest”: Tally's by the shortest times in place of medians. "
             f"“{AVX2}”: kernels for x86-64-v3 on the same machine. ¹ the result is not "
             "the expected one.", *summary(run), ""]
    for threads in run["threads"]:
        lines += table(run, threads)
    return "\n".join(lines + faster_peers(run) + report.refusals(run))


def draw(run, path):
    matplotlib.rcParams["svg.fonttype"] = "none"  # the names of 134 cases as outlines are half a MB
    plot.draw(run, path, "Reductions", "read")


if __name__ == "__main__":
    main()
