# SPDX-License-Identifier: Apache-2.0
"""The competitors of `bench/run stages`: moves of the same bytes, Tally with stages in one kernel, its
own plain kernel with numpy around it, numpy, and torch, by single calls and compiled by Inductor.
"""

import ctypes
import functools
import re

import numpy as np
import torch

import native
from native import Competitor, Refused, repeat
from stage_cases import compute, numpy_scan

# The structure below must have as many as the header says, or the loops read beyond it.
MOST_SOURCES = int(re.search(r"TLY_MOST_SOURCES = (\d+)", (native.TOOLS / "bench" / "bench_move.h").read_text())[1])
IN_L2 = 1 << 18  # bytes of a tensor


class Moved(ctypes.Structure):
    """tly_moved of bench_move.h."""
    _fields_ = [("sources", ctypes.c_int), ("source", ctypes.c_void_p * MOST_SOURCES),
                ("bytes", ctypes.c_size_t * MOST_SOURCES), ("to", ctypes.c_void_p),
                ("to_bytes", ctypes.c_size_t)]


class Moves:
    """The ceiling: every tensor read once and the output written, as `tally bench` has it."""
    MOVES = 2  # of tly_moves

    def __init__(self, folder, threads):
        copies = native.Copies(folder, np.empty(1), np.empty(1), threads)
        self.library, self.copiers = copies.library, copies.copiers

    def competitors(self, problem, threads):
        moved = Moved(len(problem.tensors), to=problem.y.ctypes.data, to_bytes=problem.y.nbytes)
        for index, array in enumerate(problem.tensors):
            moved.source[index], moved.bytes[index] = array.ctypes.data, array.nbytes
        for count in threads:
            for kind in range(self.library.tly_copy_kinds(self.MOVES)):
                name = self.library.tly_copy_name(self.MOVES, kind).decode()
                yield Competitor(name, count, functools.partial(self.seconds, moved, problem, count, kind),
                                 is_ceiling=True)

    def seconds(self, moved, problem, threads, kind, count):
        return self.library.repeat_copy(self.copiers[threads], self.MOVES, kind, ctypes.byref(moved),
                                        None, ctypes.c_int64(problem.bytes), ctypes.c_int64(count))


class Tally:
    """Of one level: the word; and the word without stages in the second cache, by which a word with exp
    is judged."""

    def __init__(self, tally, name):
        self.tally, self.name = tally, name

    def competitors(self, problem, threads):
        case, tally = problem.case, self.tally
        buffers = native.Buffers(size=ctypes.sizeof(native.Buffers), input=problem.tensors[0].ctypes.data,
                                 out=problem.y.ctypes.data)
        for index, array in enumerate(problem.tensors[1:]):
            buffers.operand[index] = array.ctypes.data
        try:
            kernel = tally.kernel(case.word)
        except Refused as refused:
            yield Competitor(self.name, refusal=str(refused))
            return
        run = tally.library.tally_kernel_run_buffers

        def seconds(threads, count):
            return tally.clock.repeat_buffers(run, kernel, ctypes.byref(buffers), threads,
                                              ctypes.c_int64(count))
        for each in threads:
            yield Competitor(self.name, each, functools.partial(seconds, each), keep=(buffers,))
        if case.formula.exps:
            yield self.small(problem)

    def small(self, problem):
        case = problem.case
        rows = max(1, IN_L2 // (4 * case.sizes[1]))
        kernel = self.tally.kernel(case.word_of("f32", (rows, case.sizes[1]), ""))
        run = self.tally.library.tally_kernel_run_threads
        result = Competitor(f"{self.name}, plain in L2", 1, lambda count: self.tally.clock.repeat_kernel(
            run, kernel, native.address(problem.t), native.address(problem.c), 1, ctypes.c_int64(count)))
        result.elements = rows * case.sizes[1]
        return result


def plain_competitors(tally, problem, threads):
    """Tally's own kernel without stages; numpy computes what is before and after it."""
    case, run = problem.case, tally.library.tally_kernel_run_threads
    kernel = tally.kernel(case.plain)
    for count in threads:
        def scan(combined, out, count=count):
            run(kernel, native.address(combined), native.address(out), count, None)
        yield Competitor("Tally + numpy", count, repeat(functools.partial(
            compute, np, case.formula, scan, problem.tensors, problem.t, problem.c, problem.y)))


def numpy_competitors(problem, _threads):
    formula = problem.case.formula
    yield Competitor("numpy", 1, repeat(functools.partial(
        compute, np, formula, numpy_scan(formula), problem.tensors, problem.t, problem.c, problem.y)))


def torch_scan(formula):
    if formula.reduces:
        return lambda u, out: torch.sum(u, formula.axis, out=out)
    combine = {"cumsum": torch.cumsum, "cumprod": torch.cumprod}[formula.op]
    if not formula.exclusive:
        return lambda u, out: combine(u, formula.axis, out=out)

    def shifted(u, out):
        combine(u[:, :-1], 1, out=out[:, 1:])
        out[:, 0] = formula.op == "cumprod"
    return shifted


def torch_competitors(problem, threads):
    """The expression that users write, and the same steps at their best, into tensors that exist."""
    formula = problem.case.formula
    t, c, y, *tensors = map(torch.from_numpy, (problem.t, problem.c, problem.y, *problem.tensors))
    steps = functools.partial(compute, torch, formula, torch_scan(formula), tensors, t, c, y)

    def expression():
        problem.result = formula.whole(*tensors)
    for name, call in (("torch", expression), ("torch, out=", steps)):
        for count in threads:
            yield Competitor(name, count, repeat(call), lambda n=count: torch.set_num_threads(n))


def inductor_competitors(problem, threads):
    """Inductor writes the number of threads into the code. So the first call with another number compiles
    again; none is timed."""
    y, *tensors = map(torch.from_numpy, (problem.y, *problem.tensors))
    whole = problem.case.formula.whole
    torch.compiler.reset()  # or the functions of all cases would be versions of one, which are limited

    @torch.compile(fullgraph=True, dynamic=False)
    def compiled(y, *tensors):
        y.copy_(whole(*tensors))
    for count in threads:
        torch.set_num_threads(count)
        try:
            compiled(y, *tensors)
        except Exception as error:  # of many kinds: a missing compiler, or what it refuses
            yield Competitor("Inductor", refusal=str(error).strip().splitlines()[0])
            return
        yield Competitor("Inductor", count, repeat(functools.partial(compiled, y, *tensors)),
                         lambda n=count: torch.set_num_threads(n))
