# SPDX-License-Identifier: Apache-2.0
"""One number of threads of `bench/run python`, in a process of its own, since JAX takes the number from the
environment. It reads what is to be measured as JSON from its input, and writes a line of JSON for each case."""

import gc
import json
import os
import random
import sys
import time

import native
import python_cases
import python_ways as ways
import turns

SECONDS = .3        # of a competitor in a case: a slow one gets fewer rounds
LONG = 1e-3         # a call of which the CPU time tells how many threads it had


def environment(threads):
    """What a child is started with."""
    number, flags = str(threads), os.environ.get("XLA_FLAGS", "")
    if threads == 1:
        flags += " --xla_cpu_multi_thread_eigen=false"
    return {**os.environ, "TALLY_THREADS": number, "OMP_NUM_THREADS": number, "OPENBLAS_NUM_THREADS": number,
            "MKL_NUM_THREADS": number, "NPROC": number, "XLA_FLAGS": flags.strip(), "JAX_PLATFORMS": "cpu",
            "TORCHINDUCTOR_COMPILE_THREADS": "1"}


def cpus(call):
    """How many CPUs a call keeps busy."""
    begin, used = time.perf_counter(), time.process_time()
    for _ in range(3):
        call()
    return (time.process_time() - used) / (time.perf_counter() - begin)


def started(name, problem, threads, result):
    """The call of a way whose result is right; None, and the reason in `result`, where there is none."""
    problem.poison()
    try:
        call, read = ways.WAYS[name](problem, threads)
        if problem.is_right(read(call())):
            return call
        result["refused"] = "the result is not numpy's"
    except native.Refused as refused:
        result["refused"] = str(refused)
    except Exception as error:  # of many kinds, each a library's way to refuse
        result["refused"] = (str(error).strip() or repr(error)).splitlines()[0]
    return None


def measured(case, names, threads, rounds, order):
    """The results of the ways, which take turns."""
    problem, results, running = python_cases.Problem(case), [], []
    ways.forget()
    for name in names:
        result = {"name": name, "threads": threads}
        results.append(result)
        call = started(name, problem, threads, result)
        if call:
            competitor = native.Competitor(name, threads, native.repeat(call))
            once = turns.second_look(competitor, competitor.seconds(1))
            running.append((turns.Turns(competitor, once, rounds, SECONDS), result, call))
    gc.collect()
    gc.freeze()  # compilers leave so many objects that a look at all of them takes 20 ms
    turns.take([taken for taken, _, _ in running], rounds, order)
    gc.unfreeze()
    for taken, result, call in running:
        result.update(taken.result(), right=True)
        if result["seconds"]["median"] > LONG:
            result["cpus"] = cpus(call)
    return results


def main():
    given = json.load(sys.stdin)
    threads, order, begin = given["threads"], random.Random(1), time.monotonic()
    sys.path.insert(0, given["package"])
    try:
        ways.library("torch").set_num_threads(threads)
    except native.Refused:
        pass  # its ways say so
    cases = {case.name: case for case in python_cases.CASES}
    for name in given["cases"]:
        if given["seconds"] and time.monotonic() - begin > given["seconds"]:
            break
        results = measured(cases[name], given["ways"], threads, given["rounds"], order)
        # Libraries print to the standard output, so a line begins with a mark.
        print("case", json.dumps({"name": name, "results": results}), flush=True)


if __name__ == "__main__":
    main()
