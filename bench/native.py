# SPDX-License-Identifier: Apache-2.0
"""The competitors in C: copies, plain loops, and Tally through its public C interface.

Every competitor of the benchmark, here and in peers.py, is a function that makes a list of
Competitor; a competitor that cannot do a case is one whose `refusal` says why.
"""

import ctypes
import json
import pathlib
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Callable

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = HERE.parent / "tools"
COMMON = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-D_GNU_SOURCE", f"-I{TOOLS / 'bench'}",
          f"-I{HERE.parent / 'runtime' / 'include'}"]
SHARED = ["-fPIC", "-shared"]
REDUCE = ["-march=native", "-fno-math-errno"]
PROGRAMS = {  # file: sources, flags; gcc would make calls of memcpy of the loops that copy
    "libbench.so": ([HERE / "repeat.c", *(TOOLS / "bench" / f"bench_{kind}.c" for kind in ("copy", "move", "read"))],
                    ["-O2", "-pthread", *SHARED]),
    "libloops.so": ([HERE / "loops.c"],
                    ["-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno",
                     "-fopenmp-simd", "-fno-tree-loop-distribute-patterns", *SHARED]),
    "libreduce.so": ([HERE / "reduce_loops.c"], [*REDUCE, "-O3", *SHARED, "-lm"]),
    "libreduce_fast.so": ([HERE / "reduce_loops.c"], [*REDUCE, "-Ofast", *SHARED, "-lm"]),
    "libdata.so": ([TOOLS / "common" / "about.c", TOOLS / "files" / "data.c"], ["-O3", *SHARED, "-lm"]),  # loaded beside libtally
    "first": ([HERE / "first.c"], ["-O2", "-ldl"]),
}


@dataclass
class Competitor:
    name: str
    threads: int = 1
    seconds: Callable = None           # (count) -> seconds of a call, over `count` calls in a row
    before: Callable = lambda: None    # runs ahead of the clock
    refusal: str = ""
    is_ceiling: bool = False
    keep: tuple = field(default=())    # what must live as long as `seconds`


class Refused(Exception):
    """A competitor that cannot do a case."""


def repeat(call):
    """The clock of the competitors that are called from Python."""
    def seconds(count):
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count
    return seconds


def compile_all(folder):
    """Builds the C parts with gcc (the inscan loops are gcc's) and returns their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (sources, flags) in PROGRAMS.items():
        subprocess.run(["gcc", *COMMON, *map(str, sources), *flags, "-o", str(folder / name)],
                       check=True)
    return folder


def find_tally(build):
    """libtally.so, in whichever folder the build's layout puts it."""
    found = sorted(pathlib.Path(build).glob("**/libtally.so"), key=lambda path: len(path.parts))
    if not found:
        sys.exit(f"bench: no libtally.so under {build}: build Tally, or name its folder with "
                 "--build, or measure the peers alone with --without-tally")
    return found[0].resolve()


def first_kernels(folder, library, words, runs):
    """The report of first.c; None where it fails."""
    done = subprocess.run([str(folder / "first"), str(library), str(runs)],
                          input="\n".join(words) + "\n", stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


class Shape(ctypes.Structure):
    """struct loop_shape of loops.c."""
    _fields_ = [(name, ctypes.c_int64) for name in
                ("outer", "axis", "inner", "row_stride", "stride")]


class Copies:
    """The ceilings: copies of half the case's bytes from input to output, by the command's own
    copier and by a plain loop, which beats them in the caches."""
    COPIES = 0  # of tly_moves

    def __init__(self, folder, in_buffer, out_buffer, threads):
        self.library = ctypes.CDLL(str(folder / "libbench.so"))
        self.library.tly_copy_name.restype = ctypes.c_char_p
        self.library.tly_copier_start.restype = ctypes.c_void_p
        self.library.repeat_copy.restype = ctypes.c_double
        self.library.repeat_loop.restype = ctypes.c_double
        self.loop = ctypes.CDLL(str(folder / "libloops.so")).loop_copy
        self.buffers = address(in_buffer), address(out_buffer)
        self.copiers = {count: ctypes.c_void_p(self.library.tly_copier_start(count))
                        for count in threads}
        if not all(self.copiers.values()):
            raise MemoryError("no threads for the copies")

    def competitors(self, problem, threads):
        size = problem.case.bytes // 2
        shape = Shape(axis=size // 8)
        yield Competitor("copy loop", 1, self.loop_timer(shape), is_ceiling=True, keep=(shape,))
        for count in threads:
            for kind in range(self.library.tly_copy_kinds(self.COPIES)):
                name = self.library.tly_copy_name(self.COPIES, kind).decode()
                yield Competitor(f"copy {name}", count,
                                 self.timer(self.copiers[count], self.COPIES, kind, size),
                                 is_ceiling=True)

    def loop_timer(self, shape):
        return lambda count: self.library.repeat_loop(self.loop, *self.buffers,
                                                      ctypes.byref(shape), ctypes.c_int64(count))

    def timer(self, copier, moves, kind, size):
        return lambda count: self.library.repeat_copy(copier, moves, kind, *self.buffers,
                                                      ctypes.c_int64(size), ctypes.c_int64(count))


class Loops:
    """The plain loop, and gcc's inscan for contiguous rows."""
    ROWS, COLUMNS, INSCAN = range(3)

    def __init__(self, folder):
        self.library = ctypes.CDLL(str(folder / "libloops.so"))
        self.library.loop_find.restype = ctypes.c_void_p
        self.clock = ctypes.CDLL(str(folder / "libbench.so"))
        self.clock.repeat_loop.restype = ctypes.c_double

    def competitors(self, problem, _threads):
        case = problem.case
        row_stride = case.in_strides[case.axis - 1] if case.axis > 0 else 0
        shape = Shape(case.outer, case.sizes[case.axis], case.inner, row_stride,
                      case.in_strides[case.axis])
        kind = self.ROWS if case.inner == 1 else self.COLUMNS
        yield self.competitor("C loop", kind, problem, shape)
        if case.inner == 1 and shape.stride == 1:
            yield self.competitor("gcc inscan", self.INSCAN, problem, shape)
        else:
            yield Competitor("gcc inscan", refusal="contiguous axis only")

    def competitor(self, name, kind, problem, shape):
        case = problem.case
        run = ctypes.c_void_p(self.library.loop_find(case.op.encode(), case.dtype.encode(), kind))
        first = ctypes.c_void_p(problem.x.ctypes.data)

        def seconds(count):
            return self.clock.repeat_loop(run, first, address(problem.y), ctypes.byref(shape),
                                          ctypes.c_int64(count))
        return Competitor(name, 1, seconds, keep=(shape,))


class Error(ctypes.Structure):
    """tally_error"""
    _fields_ = [("size", ctypes.c_size_t), ("status", ctypes.c_int32),
                ("position", ctypes.c_int32), ("field", ctypes.c_char * 16),
                ("message", ctypes.c_char * 232), ("hint", ctypes.c_char * 120)]


class Operand(ctypes.Structure):
    """tally_operand"""
    _fields_ = [("dtype", ctypes.c_int32), ("place", ctypes.c_int32), ("axes", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("strides", ctypes.c_int64 * 8),
                ("offset", ctypes.c_int64)]


class Descriptor(ctypes.Structure):
    """tally_descriptor"""
    _fields_ = ([("size", ctypes.c_size_t)] +
                [(name, ctypes.c_int32) for name in
                 ("op", "dtype", "out_dtype", "acc", "order", "flags", "rank", "axis", "axes",
                  "axes_given")] +
                [("sizes", ctypes.c_int64 * 8), ("in_strides", ctypes.c_int64 * 8),
                 ("in_offset", ctypes.c_int64), ("out_strides", ctypes.c_int64 * 8),
                 ("out_offset", ctypes.c_int64), ("operands", Operand * 4)] +
                [(name, ctypes.c_char * 128) for name in ("map", "coef", "post", "reset")] +
                [("carry", ctypes.c_int32), ("segment_dtype", ctypes.c_int32),
                 ("segments", ctypes.c_int64), ("every", ctypes.c_int64)])


class KernelOptions(ctypes.Structure):
    """tally_kernel_options"""
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("plan", ctypes.c_char_p)]


class Buffers(ctypes.Structure):
    """tally_buffers"""
    _fields_ = [("size", ctypes.c_size_t), ("input", ctypes.c_void_p), ("out", ctypes.c_void_p),
                ("operand", ctypes.c_void_p * 4), ("offsets", ctypes.c_void_p),
                ("carry_in", ctypes.c_void_p), ("carry_out", ctypes.c_void_p)]


class GradientBuffers(ctypes.Structure):
    """tally_gradient_buffers"""
    _fields_ = [("size", ctypes.c_size_t), ("x", ctypes.c_void_p), ("g", ctypes.c_void_p), ("y", ctypes.c_void_p),
                ("operand", ctypes.c_void_p * 4), ("carry_in", ctypes.c_void_p), ("g_carry", ctypes.c_void_p),
                ("offsets", ctypes.c_void_p), ("out", ctypes.c_void_p)]


class RunOptions(ctypes.Structure):
    """tally_run_options"""
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("reserved", ctypes.c_uint32),
                ("parallel", ctypes.c_void_p), ("parallel_user", ctypes.c_void_p), ("threads_used", ctypes.c_void_p)]


class Kinds:
    """The kinds of data of `tally bench --data`, made by the command's own code."""

    def __init__(self, folder, tally):
        ctypes.CDLL(str(tally.path), mode=ctypes.RTLD_GLOBAL)  # the code asks it for dtypes' sizes
        self.tally, self.library = tally, ctypes.CDLL(str(folder / "libdata.so"))
        self.library.tly_kind_find.restype = ctypes.c_void_p

    def names(self):
        text = ctypes.create_string_buffer(1024)
        self.library.tly_kind_list(text, ctypes.c_size_t(len(text)))
        return text.value.decode().split(", ")

    def fill(self, kind, case, array):
        """The flat buffer of a case's input."""
        descriptor = self.tally.parse(case.word)
        step = case.in_strides[case.axis] if hasattr(case, "axis") else 0  # reductions have none
        self.library.tly_kind_fill(ctypes.c_void_p(self.library.tly_kind_find(kind.encode())),
                                   ctypes.byref(descriptor),
                                   ctypes.c_int64(step), address(array),
                                   ctypes.c_int64(array.size), None)


class Tally:
    """One context for the whole run; kernels are made ahead of the clock."""

    def __init__(self, folder, library, device):
        self.path, self.device = library, device
        self.library = ctypes.CDLL(str(library))
        self.library.tally_version.restype = ctypes.c_char_p
        self.clock = ctypes.CDLL(str(folder / "libbench.so"))
        self.clock.repeat_kernel.restype = ctypes.c_double
        self.clock.repeat_buffers.restype = ctypes.c_double
        self.context = ctypes.c_void_p()
        self.call("tally_context_create", None, ctypes.byref(self.context))

    def parse(self, word):
        descriptor = Descriptor(size=ctypes.sizeof(Descriptor))
        self.call("tally_descriptor_parse", word.encode(), ctypes.byref(descriptor))
        return descriptor

    def call(self, name, *arguments):
        error = Error(size=ctypes.sizeof(Error))
        if getattr(self.library, name)(*arguments, ctypes.byref(error)) != 0:
            raise Refused(f"{error.field.decode()}: {error.message.decode()}")

    def version(self):
        return self.library.tally_version().decode()

    def kernel(self, word):
        return self.made("tally_kernel_create", word)

    def gradient_kernel(self, word):
        with_respect_to_x = ctypes.c_int(1)
        return self.made("tally_gradient_kernel_create", word, with_respect_to_x)

    def made(self, create, word, *more):
        made = ctypes.c_void_p()
        options = KernelOptions(size=ctypes.sizeof(KernelOptions), device=self.device.encode())
        descriptor = self.parse(word)
        self.call(create, self.context, ctypes.byref(descriptor), *more, ctypes.byref(options), ctypes.byref(made))
        return made

    def competitors(self, problem, threads):
        try:
            kernel = self.kernel(problem.case.word)
        except Refused as refused:
            yield Competitor("Tally", refusal=str(refused))
            return
        for count in threads:
            yield Competitor("Tally", count, self.timer(problem, kernel, count), keep=(kernel,))

    def timer(self, problem, kernel, threads):
        run = self.library.tally_kernel_run_threads

        def seconds(count):
            # The descriptor's offset applies to the buffer, so the kernel gets its start.
            return self.clock.repeat_kernel(run, kernel, address(problem.base),
                                            address(problem.y), threads, ctypes.c_int64(count))
        return seconds
