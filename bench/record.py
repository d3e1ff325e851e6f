# SPDX-License-Identifier: Apache-2.0
"""What a run leaves: the files of the last run only, in the build folder unless --out names another one. docs/performance.md
keeps tables of them, and some of the pictures, so the files are small.

`python record.py FILE...` makes files of earlier runs so.
"""

import json
import pathlib
import re
import sys


def add_out(parser):
    parser.add_argument("--out", metavar="DIR", help="of the files; left out: results in the build folder")


def folder(options):
    """Where the files of a run go; made if it is missing."""
    found = pathlib.Path(options.out or pathlib.Path(options.build) / "results")
    found.mkdir(parents=True, exist_ok=True)
    return found


def short(value):
    """Six digits are more than a run can tell from the next."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    return [short(item) for item in value] if isinstance(value, list) else value


def text(run):
    """JSON with a line a key, and a line an element of long lists."""
    def line(value):
        return json.dumps(short(value), separators=(",", ":"))

    def lines(value):
        if isinstance(value, list) and len(value) > 4:
            return "[\n  " + ",\n  ".join(line(item) for item in value) + "]"
        return line(value)

    return "{" + ",\n ".join(f"{json.dumps(key)}: {lines(value)}" for key, value in run.items()) + "}\n"


def shrink(path):
    """A picture of matplotlib's: hundredths of a point, and a line a group."""
    drawn = pathlib.Path(path)
    if drawn.suffix != ".svg":
        return
    svg = re.sub(r"\s+", " ", drawn.read_text())
    head, body = svg.split("<defs>", 1)  # XML's own numbers stay
    body = re.sub(r"-?\d+\.\d+", lambda n: number(float(n.group())), body)
    svg = re.sub(r"> <", "><", head + "<defs>" + body)
    drawn.write_text(svg.replace("<g id=", "\n<g id=") + "\n")


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) >= 1 else f"{value:.4g}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        shrink(name)
        if name.endswith(".json"):
            file = pathlib.Path(name)
            file.write_text(text(json.loads(file.read_text())))
