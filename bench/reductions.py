"""Reductions beside reads of the same bytes, plain C loops, numpy, torch and ONNX Runtime.

A ratio is the best read of the input's bytes, on as many threads at most and in the same run, over
the competitor's median. `--only` measures some of the cases and keeps the others of the last run, so
that a run can be made in pieces. `python reductions.py RUN.json` prints a run's tables again.
"""

import argparse
import datetime
import json
import pathlib
import random
import sys
import time

import machine
import native
import peers
import record
import reduction_peers
import report
import turns
import values
from reduction_cases import Problem, all_cases, target

INPUT_BYTES = 1 << 28  # 64 Mi f32
PEERS = ["C -O3", "C -Ofast", "numpy", "torch", "ONNX Runtime"]
AVX2 = "Tally, AVX2"


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
        if first > turns.LIMIT_SECONDS:
            slow.add(competitor.name)
        if first < 0:
            result["refused"] = f"failed with status {int(first)}"
            continue
        result["right"] = competitor.is_ceiling or problem.is_right()
        result["ceiling"] = competitor.is_ceiling
        running.append((turns.Turns(competitor, turns.second_look(competitor, first), rounds),
                        result))
    turns.take([taken for taken, _ in running], rounds, order)
    for taken, result in running:
        result.update(taken.result())
    return results


def arguments():
    parser = argparse.ArgumentParser(prog="bench/run reductions", description=__doc__)
    parser.add_argument("--only", metavar="TEXTS", help="only cases whose name has one of the "
                        "texts, ';'-separated, or whose word begins with one; the last run's "
                        "others stay")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--threads", default="1,2", help="comma-separated (%(default)s)")
    parser.add_argument("--peers", default="loops,numpy,torch,onnx", help="(%(default)s)")
    parser.add_argument("--build", default="build", help="Meson's build folder, with libtally")
    parser.add_argument("--out", default="docs/results", metavar="DIR")
    parser.add_argument("--name", default="reductions", help="of the files in DIR (%(default)s)")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    options = parser.parse_args()
    options.threads = [int(text) for text in options.threads.split(",")]
    return options


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


def earlier_cases(path, only):
    """{word: case} of the last run, none where all is measured anew."""
    if not only or not path.exists():
        return {}
    return {case["word"]: case for case in json.loads(path.read_text())["cases"]}


def main():
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        print(markdown(json.loads(pathlib.Path(sys.argv[1]).read_text())))
        return
    options = arguments()
    chosen = selected(options.only)
    if options.list or not chosen:
        print("\n".join(f"{case.name:24} {case.word}" for case in chosen))
        return
    flat, out = values.buffer(INPUT_BYTES), values.buffer(INPUT_BYTES // 2)
    tally, makers = makers_of(options, flat, out)
    path = pathlib.Path(options.out) / f"{options.name}.json"
    done = earlier_cases(path, options.only)
    run = {"date": datetime.date.today().isoformat(), "machine": machine.describe(),
           "versions": {"tally": tally.version()} | peers.versions() | machine.versions(),
           "level": machine.level("cpu"), "rounds": options.rounds, "threads": options.threads}
    order, start = random.Random(1), time.monotonic()
    for case in chosen:
        if sys.stderr.isatty():
            print(f"{case.word}", file=sys.stderr)
        problem = Problem(case, flat, out)
        competitors = [each for make in makers for each in make(problem, options.threads)]
        done[case.word] = {"name": case.name, "op": case.op, "dtype": case.dtype,
                           "word": case.word, "bytes": case.bytes, "call": False,
                           "results": measure(problem, competitors, options.rounds, order)}
    run["minutes"] = round((time.monotonic() - start) / 60, 1)
    run["cases"] = [done[case.word] for case in all_cases() if case.word in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(record.text(run))
    path.with_suffix(".md").write_text(markdown(run))


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


def best_peer(case, threads):
    found = [(value, name) for name in PEERS for value, right in [ratio(case, name, threads)]
             if value is not None and right]
    return max(found, default=(None, ""))


def verdict(case, threads, level):
    value, right = ratio(case, "Tally", threads)
    if value is None:
        return "no kernel"
    least, peer = target(case["op"], case["name"], level == "avx512", threads), \
        best_peer(case, threads)
    found = [] if right else ["WRONG"]
    found += ["missed"] if value < least else []
    found += [f"slower than {peer[1]}"] if peer[0] and peer[0] > value else []
    return ", ".join(found) or "met"


def cell(case, name, threads):
    value, right = ratio(case, name, threads)
    return report.number(value) + ("" if right else "¹")


def table(run, threads):
    rows = [f"## {threads} thread{'s' if threads > 1 else ''}", "",
            f"| case | word | read GB/s | Tally | {AVX2} | target | verdict | " +
            " | ".join(PEERS) + " |", "|---|---|---|---|---|---|---|" + "---|" * len(PEERS)]
    for case in run["cases"]:
        read = report.ceiling(case, threads)
        least = target(case["op"], case["name"], run["level"] == "avx512", threads)
        rows.append(f"| {case['name']} | `{case['word']}` | "
                    f"{case['bytes'] / report.median(read) * 1e-9:.1f} ({read['name'][5:]}) | "
                    f"**{cell(case, 'Tally', threads)}** | {cell(case, AVX2, threads)} | "
                    f"{least:.2f} | {verdict(case, threads, run['level'])} | " +
                    " | ".join(cell(case, name, threads) for name in PEERS) + " |")
    return rows + [""]


def markdown(run):
    lines = [f"# Reductions, {run['date']}", "", *report.facts(run),
             f"- Targets: {run['level']}; medians of {run['rounds']} rounds in random order. "
             "Method: docs/benchmark.md",
             "- A ratio is the fastest read of the input's bytes, on as many threads at most and in "
             "the same run, over the competitor's median. Peers that use one thread only stand in "
             "the other table with that time. “missed”: below the target; “slower than”: a peer "
             f"is faster. “{AVX2}”: kernels for x86-64-v3 on the same machine. ¹ the result is not "
             "the expected one.", ""]
    for threads in run["threads"]:
        lines += table(run, threads)
    return "\n".join(lines + report.refusals(run))


if __name__ == "__main__":
    main()
