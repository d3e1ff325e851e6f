# SPDX-License-Identifier: Apache-2.0
"""What llvm-mca expects of the hot loops: an estimate of computing alone, as if all data were in L1,
for CPUs that are not at hand. AArch64 is only run under emulation here, so this is all that stands
for its speed.

Of a kernel's innermost loops that multiply and write results past the cache, the one that takes the
fewest cycles an element is the hot one: the others stand beside it for what is rare.
"""

import argparse
import json
import re
import subprocess
import sys

import cases
import record

MODELS = [("aarch64", "neoverse-n1"), ("aarch64", "neoverse-v2"), ("x86-64-v3", "znver3"),
          ("x86-64-v4", "znver4"), ("x86-64-v4", "sapphirerapids")]
NAMES = ["row", "rows of 8", "rows of 128", "axis 0", "axis 0, short rows", "inner 3", "transposed"]
ROUNDS = 200

LABEL = re.compile(r"^(\.L\w+):")
BRANCH = re.compile(r"^\s+(?:j[a-z]+|b|b\.[a-z]+|cbn?z|tbn?z)\s(?:.*,\s*)?(\.L\w+)$")
PAST_CACHE = re.compile(r"^\s+(?:v?movnt(?:ps|pd|dq)\s+%([xyz])mm|stnp\s+([qdsxw])\d+)")
MULTIPLIES = re.compile(r"^\s+(?:fmul|mul|umull|mla|v?mulp[sd]|vpmul)")
BYTES = {"x": 16, "y": 32, "z": 64}
PAIR_BYTES = {"q": 32, "d": 16, "s": 8, "x": 16, "w": 8}


def loops(assembly):
    """The innermost loops, each as its list of instructions."""
    lines = [line.split("//")[0].split("#")[0].rstrip() if "\t#" in line or "//" in line
             else line.rstrip() for line in assembly.splitlines()]
    labels, found = {}, []
    for number, line in enumerate(lines):
        if match := LABEL.match(line):
            labels[match[1]] = number
        elif (match := BRANCH.match(line)) and match[1] in labels:
            found.append((labels[match[1]], number))
    inner = [(first, last) for first, last in found
             if not any(first <= a and b <= last for a, b in found if (a, b) != (first, last))]
    return [[line for line in lines[first:last + 1] if re.match(r"^\s+[a-z]", line)]
            for first, last in inner]


def bytes_written(loop):
    """By stores past the cache; no scratch is written so."""
    matches = [match for line in loop if (match := PAST_CACHE.match(line))]
    return sum(BYTES[match[1]] if match[1] else PAIR_BYTES[match[2]] for match in matches)


def ordinary(match):
    return "vmovdqu64" if match[1] == "dq" else f"vmovu{match[1]}"


def estimate(mca, triple, model, loop):
    """(cycles, instructions) of one trip. Stores are taken as ordinary ones: the models disagree by
    a hundred times about those past the cache, and the question is what computing costs."""
    loop = [re.sub(r"v?movnt(ps|pd|dq)", ordinary, line) for line in loop]
    made = subprocess.run([mca, f"-mtriple={triple}", f"-mcpu={model}", "-json",
                           f"-iterations={ROUNDS}"], input="\n".join(loop) + "\n",
                          capture_output=True, text=True, check=True)
    view = json.loads(made.stdout)["CodeRegions"][0]["SummaryView"]
    return view["TotalCycles"] / ROUNDS, view["Instructions"] / ROUNDS


def hot(options, level, model, case):
    """(cycles, instructions) an element of a kernel's hot loop; None: nothing goes past the cache."""
    made = subprocess.run([f"{options.build}/tools/tally", "inspect", case.word, "--emit", "asm",
                           "--device", f"cpu:{level}"], capture_output=True, text=True, check=True)
    triple = "aarch64-linux-gnu" if level == "aarch64" else "x86_64-linux-gnu"
    item = cases.DTYPE_BYTES[case.dtype]
    estimates = []
    for loop in loops(made.stdout):
        elements = bytes_written(loop) / item
        if elements and any(MULTIPLIES.match(line) for line in loop):
            cycles, count = estimate(options.mca, triple, model, loop)
            estimates.append((cycles / elements, count / elements))
    return min(estimates, default=None)


def generator():
    """The version that kernels are made by, as the source says it."""
    with open("runtime/problem/generator.h", encoding="utf-8") as file:
        return re.search(r"TLY_GENERATOR_VERSION (\d+)u", file.read())[1]


def table(options):
    """Markdown: a row a case, a column a CPU."""
    lines = ["| case | " + " | ".join(f"{model} ({level})" for level, model in MODELS) + " |",
             "|---|" + "---|" * len(MODELS)]
    for case in cases.all_cases():
        if case.op != "cumprod" or case.name.split(", ", 1)[1] not in NAMES:
            continue
        cells = []
        for level, model in MODELS:
            found = hot(options, level, model, case)
            cells.append(f"{found[0]:.2f} ({found[1]:.1f})" if found else "–")
        lines.append(f"| {case.name} | " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="bench/run static", description=__doc__)
    parser.add_argument("--build", default="build", help="Meson's build folder")
    parser.add_argument("--mca", default="llvm-mca-19", help="(%(default)s)")
    record.add_out(parser)
    options = parser.parse_args()
    version = subprocess.run([options.mca, "--version"], capture_output=True, text=True, check=True)
    version = re.search(r"version (\S+)", version.stdout)[1]
    text = f"""# Hot loops by llvm-mca {version}, generator version {generator()}

Estimates, not measurements, by `bench/run static`: cycles an element, and in brackets instructions
an element, with all data in L1. AArch64 kernels are checked under emulation, and this is all that
is known of their speed. A dash: no loop of the kernel multiplies and writes past the cache (f16
along rows is narrowed by a loop of its own). Where small products are made in another way (f32
products along rows, x86-64) the loop holds both ways of a step, and both are counted.

{table(options)}
"""
    (record.folder(options) / "static.md").write_text(text)


main()
