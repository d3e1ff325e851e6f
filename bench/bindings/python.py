# SPDX-License-Identifier: Apache-2.0
"""The Python package beside numpy, torch (eager and compiled), JAX and ONNX Runtime, on shapes that people use.

All take turns in one process for each number of threads. A result is compared with numpy's before it is timed; what
has another one, or cannot do a case, is listed with the reason. `--only` measures some of the cases and keeps the
others of the last run; `--seconds` goes on with a run for about so long. `bench/run python RUN.json` prints a run's
tables again.
"""

import ctypes
import datetime
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import machine  # noqa: E402
import native  # noqa: E402
import part  # noqa: E402
import python_child  # noqa: E402
import python_report  # noqa: E402
import python_ways  # noqa: E402
from python_cases import CASES  # noqa: E402


def versions(build):
    library = ctypes.CDLL(str(native.find_tally(build)))
    library.tally_version.restype = ctypes.c_char_p
    found = {"tally": library.tally_version().decode()}
    for name in ("numpy", "torch", "jax", "onnxruntime"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def child(options, threads, names, seconds):
    """Yields the name and the results of each case that a child measured in about `seconds`, 0 for all."""
    groups = [group for group in options.peers.split(",") if group]
    wanted = [python_ways.TALLY, python_ways.NEW, *(way for group in groups for way in python_ways.GROUPS[group])]
    given = {"threads": threads, "cases": names, "rounds": options.rounds, "seconds": seconds, "ways": wanted,
             "package": os.fspath(pathlib.Path(options.build).resolve() / "bindings" / "python")}
    path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
    with subprocess.Popen([sys.executable, str(HERE / "python_child.py")], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE,
                          env={**python_child.environment(threads), "PYTHONPATH": path}) as process:
        process.stdin.write(json.dumps(given))
        process.stdin.close()
        for line in process.stdout:
            if line.startswith("case "):
                made = json.loads(line[5:])
                part.progress(f"{threads} threads, {made['name']}")
                yield made["name"], made["results"]
    if process.returncode:
        print(f"bench: the process of {threads} threads ended with status {process.returncode}", file=sys.stderr)


def measure(options, chosen, pieces, run, last):
    """Fills the run's cases, and keeps those of the last one that are not measured."""
    done = {case["name"]: case for case in last["cases"]}
    for threads in options.threads:
        names = [case.name for case in chosen if not options.seconds or threads not in
                 done.get(case.name, {"threads": []})["threads"]]
        each = options.seconds and options.seconds / len(options.threads)
        left = set(names)
        for name, results in child(options, threads, names, each or 0) if names else ():
            left.discard(name)
            case = done.setdefault(name, {"name": name, "threads": [], "results": []})
            case["commit"] = run["versions"]["commit"]
            case["threads"] = sorted({*case["threads"], threads})
            case["results"] = [result for result in case["results"] if result["threads"] != threads] + results
        pieces.left += len(left)
    words = {case.name: case.word for case in CASES}
    run["cases"] = [{**done[name], "word": words[name]} for name in words if name in done]


def main():
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        print(python_report.markdown(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))))
        return
    options = part.options_of_cases("python", __doc__, 9, ",".join(python_ways.GROUPS))
    unknown = set(filter(None, options.peers.split(","))) - set(python_ways.GROUPS)
    if unknown:
        sys.exit(f"bench: --peers has {', '.join(sorted(unknown))}, which is none of {', '.join(python_ways.GROUPS)}")
    chosen = part.chosen_of(CASES, options)
    if not chosen:
        return
    pieces = part.Pieces(options)
    last = part.last_run(options, pieces)
    run = {"date": datetime.date.today().isoformat(), "machine": machine.describe(),
           "versions": versions(options.build) | machine.versions(), "rounds": options.rounds,
           "threads": sorted({*options.threads, *last.get("threads", [])})}
    measure(options, chosen, pieces, run, last)
    part.write(run, pieces, python_report.markdown, None)
    print(python_report.markdown(run))


if __name__ == "__main__":
    main()
