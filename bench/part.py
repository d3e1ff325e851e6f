# SPDX-License-Identifier: Apache-2.0
"""What the parts of the benchmark beside run.py share: options, runs in pieces, the facts of a run,
its files."""

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
    record.add_out(made)
    made.add_argument("--name", default=name, help="of the files in DIR (%(default)s)")
    return made


def add_seconds(parser):
    parser.add_argument("--seconds", type=float, help="measure for about so long what the run's file "
                        "lacks, and keep the rest of it: the same command again goes on")


def options_of_cases(name, doc, rounds, peers):
    """The options of a part whose cases are words with peers beside them."""
    made = argparse.ArgumentParser(prog=f"bench/run {name}", description=doc)
    made.add_argument("--only", metavar="TEXTS", help="only cases whose name has one of the texts, "
                      "';'-separated, or whose word begins with one; the last run's others stay")
    add_seconds(made)
    made.add_argument("--rounds", type=int, default=rounds, help="(%(default)s)")
    made.add_argument("--threads", default="1,2", help="comma-separated (%(default)s)")
    made.add_argument("--peers", default=peers, help="(%(default)s)")
    made.add_argument("--build", default="build", help="Meson's build folder, with libtally")
    record.add_out(made)
    made.add_argument("--name", default=name, help="of the files in DIR (%(default)s)")
    made.add_argument("--list", action="store_true", help="print the cases and stop")
    options = made.parse_args()
    options.threads = [int(text) for text in options.threads.split(",")]
    return options


def chosen_of(cases, options):
    """The cases that `--only` wants; none if they are listed instead."""
    texts = [text.strip() for text in (options.only or "").split(";")]
    chosen = [case for case in cases
              if any(text in case.name or case.word.startswith(text) for text in texts)]
    if not options.list:
        return chosen
    print("\n".join(f"{case.name:40} {case.word}" for case in chosen))
    return []


def last_run(options, pieces):
    """The run that this one goes on with; without cases if it begins anew."""
    keep = (options.only or options.seconds) and pieces.path.exists()
    return json.loads(pieces.path.read_text()) if keep else {"cases": []}


def measured_cases(cases, chosen, options, pieces, last, measure):
    """The cases of the last run, those that are chosen measured again, in the order of `cases`."""
    done = {case["name"]: case for case in last["cases"]}  # two may have one word
    for case in chosen:
        if not pieces.skips(options.seconds and case.name in done):
            progress(case.word)
            done[case.name] = measure(case)
    return [done[case.name] for case in cases if case.name in done]


class Pieces:
    """A run that is made in pieces (`--seconds`): what its file has already, and whether this piece
    has time for more."""

    def __init__(self, options):
        self.path = record.folder(options) / f"{options.name}.json"
        seconds = getattr(options, "seconds", None)
        self.kept = json.loads(self.path.read_text()) if seconds and self.path.exists() else {}
        self.start, self.seconds, self.left = time.monotonic(), seconds or math.inf, 0

    def skips(self, done):
        """Whether what comes next, `done` in an earlier piece or not, is not for this one."""
        if done:
            return True
        late = time.monotonic() - self.start > self.seconds
        self.left += late
        return late

    def minutes(self):
        """Of all pieces."""
        return round((time.monotonic() - self.start) / 60 + self.kept.get("minutes", 0), 1)


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
        self.pieces = Pieces(options)



def write(run, pieces, markdown, draw):
    """The files of a run, or of what there is of it; `draw` may be None."""
    run["minutes"], path = pieces.minutes(), pieces.path
    path.write_text(record.text(run))
    path.with_suffix(".md").write_text(markdown(run))
    if draw:
        draw(run, path.with_suffix(".svg"))
        record.shrink(path.with_suffix(".svg"))
    if pieces.left:
        print(f"bench: {pieces.left} left; the same command again goes on", file=sys.stderr)


def main(arguments, measure, markdown, draw):
    """A part as a program: a run, or the tables of an earlier one."""
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        with open(sys.argv[1], encoding="utf-8") as stream:
            print(markdown(json.load(stream)))
        return
    made = Part(arguments())
    measure(made)
    write(made.run, made.pieces, markdown, draw)
    print(markdown(made.run))


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
