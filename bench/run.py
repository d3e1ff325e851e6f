# SPDX-License-Identifier: Apache-2.0
"""The benchmark: every competitor of every case, interleaved in one process.

bench/run starts it in the virtual environment; docs/benchmark.md is the method. Writes
DIR/NAME.json, DIR/NAME.md and DIR/NAME.svg.
"""

import argparse
import datetime
import pathlib
import random
import sys
import time

import cases
import machine
import native
import peers
import plot
import record
import report
import turns
import values

FIRST_RUNS = 5


def arguments():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    parser.add_argument("--cases", metavar="TEXTS",
                        help="only cases whose name or word has one of the texts, ';'-separated")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", default="1,2", help="thread counts, comma-separated")
    parser.add_argument("--quick", action="store_true", help="3 rounds, no first-kernel times")
    parser.add_argument("--peers", default="numpy,torch,onnx,loops", help="competitors beside "
                        "Tally and the copies, comma-separated; empty for none")
    parser.add_argument("--device", default="cpu", help="Tally's device, such as cpu:x86-64-v3")
    parser.add_argument("--build", default="build", help="Meson's build folder, with libtally")
    parser.add_argument("--without-tally", action="store_true")
    record.add_out(parser)
    parser.add_argument("--name", default="cpu", help="of the files in DIR")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    options = parser.parse_args()
    if options.quick:
        options.rounds = min(options.rounds, 3)
    options.threads = [int(text) for text in options.threads.split(",")]
    return options


def warm(competitor, problem):
    """The first run: its result is checked, its time says how to sample it."""
    competitor.before()
    problem.poison()
    first = competitor.seconds(1)
    right = competitor.is_ceiling or problem.is_right()
    return right, turns.second_look(competitor, first)


def measure(problem, competitors, rounds, order):
    """Samples round robin in random order, and returns the results as they are stored."""
    running, results = [], []
    for competitor, result in turns.unrefused(competitors, results):
        right, once = warm(competitor, problem)
        if once < 0:
            result["refused"] = f"failed with status {int(once)}"
            continue
        result["right"] = right
        result["ceiling"] = competitor.is_ceiling
        running.append((turns.Turns(competitor, once, rounds), result))

    turns.take([taken for taken, _ in running], rounds, order)
    for taken, result in running:
        result.update(taken.result())
    return results


def main():
    options = arguments()
    selected = cases.select(options.cases)
    if options.list or not selected:
        for case in selected:
            print(f"{case.name:32} {case.word}")
        sys.exit(0 if selected else "bench: no such case")

    folder = native.compile_all(pathlib.Path(options.build) / "bench")
    in_bytes, out_bytes = values.largest(selected)
    in_buffer, out_buffer = values.buffer(in_bytes), values.buffer(out_bytes)
    makers = [native.Copies(folder, in_buffer, out_buffer, options.threads).competitors]
    versions = peers.versions()
    library = None
    if not options.without_tally:
        library = native.find_tally(options.build)
        tally = native.Tally(folder, library, options.device)
        makers.append(tally.competitors)
        versions["tally"] = tally.version()
    wanted = {"loops": native.Loops(folder).competitors, "numpy": peers.numpy_competitors,
              "torch": peers.torch_competitors, "onnx": peers.onnx_competitors}
    makers += [make for name, make in wanted.items() if name in options.peers.split(",")]

    run = {"date": datetime.date.today().isoformat(), "device": options.device,
           "machine": machine.describe(), "versions": versions | machine.versions(),
           "rounds": options.rounds, "threads": options.threads, "cases": []}
    run["level"] = machine.level(options.device)
    order = random.Random(1)
    start = time.monotonic()
    for index, case in enumerate(selected):
        if sys.stderr.isatty():
            print(f"[{index + 1}/{len(selected)}] {case.name}", file=sys.stderr)
        threads = [1] if case.is_call else options.threads  # too short to be shared
        problem = values.Problem(case, in_buffer, out_buffer)
        competitors = [each for make in makers for each in make(problem, threads)]
        run["cases"].append({
            "name": case.name, "word": case.word, "bytes": case.bytes, "call": case.is_call,
            "threads": threads,
            "targets": {str(count): target for count, target in case.targets[run["level"]].items()
                        if count in threads},
            "results": measure(problem, competitors, options.rounds, order)})
    if library and not options.quick:
        words = [case["word"] for case in run["cases"] if report.measured(case, "Tally", 1)]
        run["first"] = native.first_kernels(folder, library, words, FIRST_RUNS)
    run["minutes"] = round((time.monotonic() - start) / 60, 1)

    out = record.folder(options)
    text = report.markdown(run)
    (out / f"{options.name}.json").write_text(record.text(run))
    (out / f"{options.name}.md").write_text(text)
    plot.draw(run, out / f"{options.name}.svg")
    record.shrink(out / f"{options.name}.svg")
    print(text)


if __name__ == "__main__":
    main()
