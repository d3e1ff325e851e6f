"""What the parts of the benchmark beside run.py share: options, the facts of a run, its files."""

import argparse
import datetime
import json
import math
import pathlib
import sys
import time

import cases
import machine
import native
import record


def parser(name, doc, rounds):
    made = argparse.ArgumentParser(prog=f"bench/run {name}", description=doc)
    made.add_argument("--dtypes", default="f32", help="comma-separated (%(default)s)")
    made.add_argument("--ops", default="cumprod", help="comma-separated (%(default)s)")
    made.add_argument("--elements", type=int, default=1 << 24, help="of a tensor (%(default)s)")
    made.add_argument("--rounds", type=int, default=rounds, help="(%(default)s)")
    made.add_argument("--device", default="cpu", help="Tally's device, such as cpu:x86-64-v3")
    made.add_argument("--build", default="build", help="Meson's build folder, with libtally")
    made.add_argument("--out", default="docs/results", metavar="DIR")
    made.add_argument("--name", default=name, help="of the files in DIR (%(default)s)")
    return made


class Part:
    """One run: Tally and the C parts opened, the clock started, the facts gathered."""

    def __init__(self, options):
        self.options = options
        self.folder = native.compile_all(pathlib.Path(options.build) / "bench")
        self.tally = native.Tally(self.folder, native.find_tally(options.build), options.device)
        self.loops = native.Loops(self.folder)
        self.run = {"date": datetime.date.today().isoformat(), "device": options.device,
                    "machine": machine.describe(), "level": machine.level(options.device),
                    "versions": {"tally": self.tally.version()} | machine.versions(),
                    "rounds": options.rounds, "elements": options.elements}
        self.start = time.monotonic()

    def write(self, markdown, draw):
        self.run["minutes"] = round((time.monotonic() - self.start) / 60, 1)
        path = pathlib.Path(self.options.out) / self.options.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".json").write_text(record.text(self.run))
        path.with_suffix(".md").write_text(markdown(self.run))
        draw(self.run, path.with_suffix(".svg"))
        record.shrink(path.with_suffix(".svg"))
        print(markdown(self.run))


def main(arguments, measure, markdown, draw):
    """A part as a program: a run, or the tables of an earlier one."""
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        with open(sys.argv[1], encoding="utf-8") as stream:
            print(markdown(json.load(stream)))
        return
    made = Part(arguments())
    measure(made)
    made.write(markdown, draw)


def save(figure, path):
    figure.savefig(path, metadata={"Date": None} if str(path).endswith("svg") else None)


def progress(text):
    if sys.stderr.isatty():
        print(text, file=sys.stderr)


def case(op, dtype, sizes, axis):
    """A packed case of no table."""
    return cases.make("", op, dtype, sizes, f"axis={axis}", {}, False)


class Held:
    """A case in memory as the competitors take it: the flat input that `x` is a part of, and the
    output."""

    def __init__(self, held, x, y):
        self.case, self.base = held, x
        self.x = x[:held.elements].reshape(held.sizes)
        shape = getattr(held, "kept", held.sizes)  # of a reduction's result
        self.y = y[:math.prod(shape)].reshape(shape)
