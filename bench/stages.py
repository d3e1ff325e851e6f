# SPDX-License-Identifier: Apache-2.0
"""Words with stages beside moves of the same bytes, Tally's plain kernels with numpy, numpy and torch.

A ratio is the best move of all tensors, on as many threads at most and in the same run, over Tally's
median. `--only` measures some of the cases and keeps the others of the last run; `--seconds` goes on with
a run for so long. `python stages.py RUN.json` prints a run's tables again.
"""

import datetime
import json
import pathlib
import random
import sys

import machine
import native
import part
import peers
import plot
import record
import report
import stage_peers
import turns
from stage_cases import CASES, WEIGHTS, Problem

AVX2 = "Tally, AVX2"
OURS = ["Tally", AVX2]
PEERS = ["Tally + numpy", "numpy", "torch", "torch, out=", "Inductor"]
SECONDS = 0.5       # of a competitor in a case: a slow one gets fewer rounds
FIRST_RUNS = 9
MAKING = 1.5        # times the word without stages
EXP = {"Tally": 0.50, AVX2: 0.68}   # ns an element, docs/elementary.md
EXP_SLACK, EXP_TWO = 1.15, 1.7
WEIGHTS_TIMES = {"Tally + numpy": 3, "torch": 8}


# ---- measuring ----

def measure(problem, competitors, rounds, order):
    """A competitor whose result differs from numpy's is not timed."""
    running, results = [], []
    for competitor, result in turns.unrefused(competitors, results):
        competitor.before()
        problem.poison()
        first = competitor.seconds(1)
        small = hasattr(competitor, "elements")
        if first < 0 or not (competitor.is_ceiling or small or problem.is_right()):
            result["refused"] = "the result is not numpy's" if first >= 0 else \
                f"failed with status {int(first)}"
            continue
        result["right"], result["ceiling"] = True, competitor.is_ceiling
        if small:
            result["elements"] = competitor.elements
        once = turns.second_look(competitor, first)
        running.append((turns.Turns(competitor, once, rounds, SECONDS), result))
    turns.take([taken for taken, _ in running], rounds, order)
    for taken, result in running:
        result.update(taken.result())
    return results


def makers_of(options, folder, tally):
    wanted = {"plain": lambda *of: stage_peers.plain_competitors(tally, *of),
              "numpy": stage_peers.numpy_competitors, "torch": stage_peers.torch_competitors,
              "inductor": stage_peers.inductor_competitors}
    makers = [stage_peers.Moves(folder, options.threads).competitors,
              stage_peers.Tally(tally, "Tally").competitors]
    if machine.level("cpu") == "avx512":
        narrow = native.Tally(folder, tally.path, "cpu:x86-64-v3")
        makers.append(stage_peers.Tally(narrow, AVX2).competitors)
    return makers + [wanted[name] for name in options.peers.split(",") if name]


def making(folder, tally):
    """How long kernels take to be made, of each word with stages and without."""
    cases = list({case.formula.stages: case for case in reversed(CASES)}.values())[::-1]
    # Words that differ in sizes alone may have one kernel, which is made once.
    plain = {(case.formula.op, case.formula.options): case.plain for case in cases}
    words = [*plain.values(), *(case.word for case in cases)]
    # The first kernel of a process is no later one.
    found = native.first_kernels(folder, tally.path, ["cummax:f32:1000:axis=0", *words], FIRST_RUNS)
    times = {each["word"]: each for each in found["words"]} if found else {}
    return [{"name": case.name, "word": case.word, "stages": times[case.word],
             "plain": times[plain[case.formula.op, case.formula.options]]}
            for case in cases if case.word in times]


def measured_case(case, makers, options, order, commit):
    problem = Problem(case)
    competitors = [each for make in makers for each in make(problem, options.threads)]
    return {"name": case.name, "word": case.word, "bytes": problem.bytes, "elements": problem.t.size,
            "exps": case.formula.exps, "weights": case.formula.op == WEIGHTS.op, "call": False,
            "commit": commit, "threads": options.threads,
            "targets": {str(threads): case.target for threads in options.threads},
            "results": measure(problem, competitors, options.rounds, order)}


def main():
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        print(markdown(json.loads(pathlib.Path(sys.argv[1]).read_text())))
        return
    options = part.options_of_cases("stages", __doc__, 9, "plain,numpy,torch,inductor")
    chosen = part.chosen_of(CASES, options)
    if not chosen:
        return
    folder = native.compile_all(pathlib.Path(options.build) / "bench")
    tally = native.Tally(folder, native.find_tally(options.build), "cpu")
    makers, pieces = makers_of(options, folder, tally), part.Pieces(options)
    last = part.last_run(options, pieces)
    run = {"date": datetime.date.today().isoformat(), "machine": machine.describe(),
           "versions": {"tally": tally.version()} | peers.versions() | machine.versions(),
           "level": machine.level("cpu"), "rounds": options.rounds, "threads": options.threads,
           "making": last.get("making") or making(folder, tally)}
    order = random.Random(1)

    def measured(case):
        return measured_case(case, makers, options, order, run["versions"]["commit"])

    run["cases"] = part.measured_cases(CASES, chosen, options, pieces, last, measured)
    part.write(run, pieces, markdown, draw)


# ---- tables ----

# `of` is "median" or "min", the shortest times.

def seconds(case, name, threads, of):
    """Of Tally on exactly so many threads, of a peer on at most so many; None if it was not timed."""
    found = [result["seconds"][of] for result in case["results"]
             if result["name"] == name and "seconds" in result
             and (result["threads"] == threads if name in OURS else result["threads"] <= threads)]
    return min(found, default=None)


def fastest_move(case, threads, of):
    """(seconds, name)"""
    return min((result["seconds"][of], result["name"]) for result in case["results"]
               if result.get("ceiling") and result["threads"] <= threads)


def ratio(case, name, threads, of):
    mine = seconds(case, name, threads, of)
    return mine and fastest_move(case, threads, of)[0] / mine


def times(case, name, threads, of):
    """How many times as long as Tally the peer takes."""
    mine, other = seconds(case, "Tally", threads, of), seconds(case, name, threads, of)
    return other / mine if mine and other else None


def gain(case, name, threads, of):
    one, mine = seconds(case, name, 1, of), seconds(case, name, threads, of)
    return one / mine if one and mine else None


def target(case, name, threads, of):
    """As a ratio; with exp by what a scan in the second cache and the exps take. That holds for one
    thread."""
    if not case["exps"]:
        return case["targets"][str(threads)]
    small = next((result for result in case["results"]
                  if result["name"] == f"{name}, plain in L2" and "seconds" in result), None)
    if threads > 1 or not small:
        return None
    each = small["seconds"][of] / small["elements"] + case["exps"] * EXP[name] * 1e-9
    move = fastest_move(case, threads, of)[0]
    return move / (EXP_SLACK * max(move, each * case["elements"]))


def faults(case, name, threads, of):
    value, wanted, gained = (figure(case, name, threads, of) for figure in (ratio, target, gain))
    if value is None:
        return ["not timed"]
    found = ["missed"] if wanted and value < wanted else []
    if case["exps"] and threads > 1 and gained and gained < EXP_TWO:
        found.append(f"below {EXP_TWO} times one thread")
    return found


def verdict(case, threads, of):
    found = faults(case, "Tally", threads, of)
    if any(result["name"] == AVX2 for result in case["results"]):
        found += [f"AVX2 {fault}" for fault in faults(case, AVX2, threads, of)]
    for name in PEERS:
        value = times(case, name, threads, of)
        if value and value < 1:
            found.append(f"slower than {name}")
        elif value and case["weights"] and value < WEIGHTS_TIMES.get(name, 0):
            found.append(f"below {WEIGHTS_TIMES[name]} times {name}")
    return ", ".join(found) or "met"


def table(run, threads, of):
    several = threads > 1
    rows = [f"## {threads} thread{'s' if several else ''}" + (", shortest times" if of == "min" else ""), "",
            f"| case | move GB/s | Tally | target | {AVX2} | target | " +
            ("times one thread | AVX2 | " if several else "") + "verdict | " + " | ".join(PEERS) + " |",
            "|---|---|---|---|---|---|---|" + ("---|---|" if several else "") + "---|" * len(PEERS)]
    for case in run["cases"]:
        move, kind = fastest_move(case, threads, of)
        cells = [case["name"], f"{case['bytes'] / move * 1e-9:.1f} ({kind[5:]})"]
        for name in OURS:
            cells += [report.number(value(case, name, threads, of)) for value in (ratio, target)]
        if several:
            cells += [report.number(gain(case, name, threads, of)) for name in OURS]
        cells += [verdict(case, threads, of)]
        cells += [report.number(times(case, name, threads, of), 1) for name in PEERS]
        rows.append("| " + " | ".join(cells) + " |")
    return rows + [""]


def making_table(run):
    rows = ["## Making kernels, milliseconds", "",
            f"A target is {MAKING} times the word without stages.", "",
            "| case | first kernel of a process | with stages | times | later kernel | with stages | times |",
            "|---|---|---|---|---|---|---|"]
    for each in run["making"]:
        cells = [each["name"]]
        for key in ("first_kernel", "later_miss"):
            plain, stages = each["plain"][key], each["stages"][key]
            cells += [report.number(plain), report.number(stages),
                      report.number(stages / plain if plain and stages else None)]
        rows.append("| " + " | ".join(cells) + " |")
    return rows + [""]


def markdown(run):
    lines = [f"# Stages, {run['date']}", "", *report.facts(run),
             f"- {len(run['cases'])} of {len(CASES)} cases were measured: medians of {run['rounds']} "
             "rounds in random order. Method: docs/benchmark.md",
             "- Columns of Tally are ratios: the fastest move of all tensors, on as many threads at most and "
             "in the same run, over the median. Columns of peers say how many times as long as Tally they "
             "take. numpy computes on one thread. Other work on the machine disturbs the shortest times "
             "less than medians.", ""]
    lines += ["| case | word |", "|---|---|"]
    lines += [f"| {case['name']} | `{case['word']}` |" for case in run["cases"]] + [""]
    for threads in run["threads"]:
        lines += table(run, threads, "median") + table(run, threads, "min")
    return "\n".join(lines + making_table(run) + report.refusals(run))


def draw(run, path):
    plot.draw({**run, "cases": [{**case, "targets": {str(threads): target(case, "Tally", threads, "median")
                                                     for threads in case["threads"]}}
                                for case in run["cases"]]}, path, "Stages", "move")


if __name__ == "__main__":
    main()
