# SPDX-License-Identifier: Apache-2.0
"""Measures words with carried states, segments, restarts and recurrences, and words of gradients. They stand
beside moves of the same bytes, plain words of Tally, and torch, numpy and scipy.

A ratio is the best move of all tensors, on as many threads at most and in the same run, over Tally's
median. `--only` measures some of the cases and keeps the others of the last run; `--seconds` goes on with
a run for so long. `python sequences.py RUN.json` prints a run's tables again.
"""

import ctypes
import datetime
import functools
import json
import pathlib
import random
import sys

import numpy as np
import torch

import machine
import native
import part
import peers
import plot
import report
import stage_peers
import stages
from native import Competitor, Refused, repeat
from sequence_cases import CASES, DTYPES, signal
from stage_cases import laid

PLAIN = "Tally, plain"
OPERANDS = "abcd"


class Problem:
    """A case in memory. `tensors` are those that are read, by which a move is made; `of` has all by name."""

    def __init__(self, case):
        self.case = case
        made = case.data(np.random.default_rng(12345), case)
        # Tensors that overlap stay where they are, and a move reads one of them.
        overlap = "a" in made and np.may_share_memory(made["x"], made["a"])
        self.of = made if overlap else {name: laid(array) for name, array in made.items()}
        self.tensors = [self.of["x"]] if overlap else \
            [array for name, array in self.of.items() if name != "carry_out"]
        self.y = laid(case.sizes, DTYPES[case.out_dtype])
        self.bytes = sum(array.nbytes for array in [*self.tensors, self.y])

    def poison(self):
        self.y[...] = 77

    def is_right(self):
        return self.case.right(self.of, self.y, self.case)

    def buffers(self, word):
        buffers = native.Buffers(size=ctypes.sizeof(native.Buffers), input=self.of["x"].ctypes.data,
                                 out=self.y.ctypes.data)
        for index, letter in enumerate(OPERANDS):
            array = self.of.get(letter)
            buffers.operand[index] = array.ctypes.data if array is not None and f",{letter}=" in word else None
        buffers.offsets = self.of["offsets"].ctypes.data if "segments=" in word else None
        for name in ("carry_in", "carry_out") if "carry=" in word else ():
            setattr(buffers, name, self.of[name].ctypes.data)
        return buffers

    def gradient_buffers(self):
        kept = self.of["y"].ctypes.data if "y" in self.of else None
        return native.GradientBuffers(size=ctypes.sizeof(native.GradientBuffers), x=self.of["x"].ctypes.data,
                                      g=self.of["a"].ctypes.data, y=kept, out=self.y.ctypes.data)


def tally_competitors(tally, name, problem, threads):
    """The case's word; as `PLAIN` those by which it is judged, one behind the other."""
    words = problem.case.plain if name == PLAIN else (problem.case.word,)
    run, clock = tally.library.tally_kernel_run_buffers, tally.clock.repeat_buffers
    try:
        kernels = [tally.kernel(word) for word in words]
    except Refused as refused:
        yield Competitor(name, refusal=str(refused))
        return
    all_buffers = [problem.buffers(word) for word in words]

    def once(threads, count=1):
        taken = [clock(run, kernel, ctypes.byref(buffers), threads, ctypes.c_int64(count))
                 for kernel, buffers in zip(kernels, all_buffers)]
        return min(taken) if min(taken) < 0 else sum(taken)

    def seconds(threads, count):
        if len(words) == 1:
            return once(threads, count)
        taken = [once(threads) for _ in range(count)]
        return min(taken) if min(taken) < 0 else sum(taken) / count
    for each in threads:
        # A plain word computes something else, so its result is not looked at.
        yield Competitor(name, each, functools.partial(seconds, each), is_ceiling=name == PLAIN,
                         keep=tuple(all_buffers))


def gradient_competitors(tally, name, problem, threads):
    kernel, buffers = tally.gradient_kernel(problem.case.word), problem.gradient_buffers()
    for each in threads:
        options = native.RunOptions(size=ctypes.sizeof(native.RunOptions), threads=each)
        call = functools.partial(tally.call, "tally_gradient_kernel_run", kernel, ctypes.byref(buffers),
                                 ctypes.byref(options))
        yield Competitor(name, each, repeat(call), keep=(buffers, options))


def own_competitors(tally, name, problem, threads):
    make = gradient_competitors if problem.case.is_gradient else tally_competitors
    return make(tally, name, problem, threads)


def plain_competitors(tally, problem, threads):
    return tally_competitors(tally, PLAIN, problem, threads) if problem.case.plain else ()


def peer_competitors(problem, threads):
    for name, make in problem.case.peers.items():
        call = make(problem.of, problem.y)
        if call is None:
            yield Competitor(name, refusal="scipy is not installed")
            continue
        for count in threads if name.startswith("torch") else (1,):
            yield Competitor(name, count, repeat(call), lambda n=count: torch.set_num_threads(n))


def measured_case(case, makers, options, order, commit):
    problem = Problem(case)
    competitors = [each for make in makers for each in make(problem, options.threads)]
    results = stages.measure(problem, competitors, options.rounds, order)
    for result in results:
        if result["name"] == PLAIN:
            result["ceiling"] = False
    word = f"gradient of {case.word}" if case.is_gradient else case.word
    return {"name": case.name, "word": word, "plain": "; ".join(case.plain),
            "bytes": problem.bytes, "elements": problem.y.size, "exps": 0, "call": False, "commit": commit,
            "threads": options.threads, "targets": {str(threads): case.target for threads in options.threads},
            "results": results}


def main():
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        print(markdown(json.loads(pathlib.Path(sys.argv[1]).read_text())))
        return
    options = part.options_of_cases("sequences", __doc__, 9, "plain,peers")
    chosen = part.chosen_of(CASES, options)
    if not chosen:
        return
    folder = native.compile_all(pathlib.Path(options.build) / "bench")
    tally = native.Tally(folder, native.find_tally(options.build), "cpu")
    makers = [stage_peers.Moves(folder, options.threads).competitors,
              functools.partial(own_competitors, tally, "Tally")]
    if machine.level("cpu") == "avx512":
        narrow = native.Tally(folder, tally.path, "cpu:x86-64-v3")
        makers.append(functools.partial(own_competitors, narrow, stages.AVX2))
    wanted = {"plain": functools.partial(plain_competitors, tally), "peers": peer_competitors}
    makers += [wanted[name] for name in options.peers.split(",") if name]
    pieces = part.Pieces(options)
    last = part.last_run(options, pieces)
    run = {"date": datetime.date.today().isoformat(), "machine": machine.describe(),
           "versions": {"tally": tally.version()} | peers.versions() | machine.versions(),
           "level": machine.level("cpu"), "rounds": options.rounds, "threads": options.threads}
    order = random.Random(1)

    def measured(case):
        return measured_case(case, makers, options, order, run["versions"]["commit"])

    run["cases"] = part.measured_cases(CASES, chosen, options, pieces, last, measured)
    part.write(run, pieces, markdown, draw)


# ---- tables ----

def plain_seconds(case, threads, of):
    """Of the plain words on exactly so many threads."""
    return next((result["seconds"][of] for result in case["results"] if result["name"] == PLAIN
                 and "seconds" in result and result["threads"] == threads), None)


def against_plain(case, threads, of):
    """How many times as long as its plain words a case takes."""
    mine, plain = stages.seconds(case, "Tally", threads, of), plain_seconds(case, threads, of)
    return mine / plain if mine and plain else None


def peers_of(case, threads, of):
    names = {result["name"] for result in case["results"] if not result.get("ceiling")}
    found = []
    for name in sorted(names - {"Tally", stages.AVX2, PLAIN}):
        value = stages.times(case, name, threads, of)
        if value:
            found.append(f"{name} {report.number(value, 1)}")
    return ", ".join(found)


def table(run, threads, of):
    rows = [f"## {threads} thread{'s' if threads > 1 else ''}" + (", shortest times" if of == "min" else ""), "",
            f"| case | move GB/s | Tally | target | {stages.AVX2} | times one thread | times the plain words | peers, times Tally |",
            "|---|---|---|---|---|---|---|---|"]
    for case in run["cases"]:
        move, kind = stages.fastest_move(case, threads, of)
        cells = [case["name"], f"{case['bytes'] / move * 1e-9:.1f} ({kind[5:]})",
                 *(report.number(value) for value in
                   (stages.ratio(case, "Tally", threads, of), case["targets"][str(threads)],
                    stages.ratio(case, stages.AVX2, threads, of), stages.gain(case, "Tally", threads, of),
                    against_plain(case, threads, of))),
                 peers_of(case, threads, of)]
        rows.append("| " + " | ".join(cells) + " |")
    return rows + [""]


def markdown(run):
    lines = [f"# Sequences, {run['date']}", "", *report.facts(run),
             f"- {len(run['cases'])} of {len(CASES)} cases were measured: medians of {run['rounds']} "
             "rounds in random order. Method: docs/benchmark.md",
             f"- scipy {'is' if signal else 'is not'} installed.", "",
             "| case | words | plain words |", "|---|---|---|"]
    lines += [f"| {case['name']} | `{case['word']}` | `{case['plain']}` |" for case in run["cases"]] + [""]
    for threads in run["threads"]:
        lines += table(run, threads, "median") + table(run, threads, "min")
    return "\n".join(lines + report.refusals(run))


def draw(run, path):
    plot.draw(run, path, "Sequences", "move")


if __name__ == "__main__":
    main()
