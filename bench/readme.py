#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""readme.py README.md PICTURE.svg [--check]: draws the table of speeds of README.md as bars. With --check the picture is
compared with the one that the table gives, and stays as it is."""
import html
import pathlib
import re
import sys

LEFT, UNIT, ROW, BAR, TOP, RIGHT = 170, 460, 46, 12, 56, 100  # pixels; UNIT is the length of a bar of 1
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; } .small { font-size: 11px; }
.tally { fill: #0969da; } .library { fill: #8c959f; } .c { fill: #d4a72c; } line { stroke: #59636e; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } rect.page { fill: #0d1117; } .tally { fill: #58a6ff; } line { stroke: #9198a1; }
}
rect.page { fill: #ffffff; }
"""


def table(text):
    """Rows of case, Tally, library, name of the library and compiled C."""
    rows = re.findall(r"^\| (.+?) \| `.+?` \| ([\d.]+) \| ([\d.]+) (.+?) \| ([\d.]+) \|$", text, re.M)
    return [(case, float(tally), float(library), name, float(c)) for case, tally, library, name, c in rows]


def bar(y, kind, value, text):
    length = round(value * UNIT, 1)
    return [f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length}" height="{BAR}"/>',
            f'<text class="small" x="{LEFT + length + 4}" y="{y + BAR - 2}">{html.escape(text)}</text>']


def number(value):
    return f"{value:.2f}".removeprefix("0")


def picture(rows):
    width, height = LEFT + int(1.1 * UNIT) + RIGHT, TOP + ROW * len(rows) + 8
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'role="img">', "<title>Speed of Tally, the best library and the best compiled C; a copy or read is 1</title>",
           f"<style>{STYLE}</style>", f'<rect class="page" width="{width}" height="{height}"/>']
    for x, kind, text in (LEFT, "tally", "Tally"), (LEFT + 80, "library", "best library"), (LEFT + 200, "c", "best compiled C"):
        out += [f'<rect class="{kind}" x="{x}" y="10" width="12" height="12"/>', f'<text x="{x + 17}" y="21">{text}</text>']
    out += [f'<line x1="{LEFT + UNIT}" y1="{TOP - 10}" x2="{LEFT + UNIT}" y2="{height - 6}" stroke-dasharray="4 3"/>',
            f'<text class="small" x="{LEFT + UNIT}" y="{TOP - 16}" text-anchor="middle">1 = a copy (scans) or a read</text>']
    for i, (case, tally, library, name, c) in enumerate(rows):
        y = TOP + ROW * i
        out += [f'<text x="{LEFT - 8}" y="{y + 23}" text-anchor="end">{html.escape(case)}</text>']
        out += bar(y, "tally", tally, number(tally)) + bar(y + BAR, "library", library, f"{number(library)} {name}")
        out += bar(y + 2 * BAR, "c", c, number(c))
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    readme, svg = map(pathlib.Path, sys.argv[1:3])
    rows = table(readme.read_text(encoding="utf-8"))
    drawn = picture(rows)
    if sys.argv[3:] == ["--check"]:
        good = len(rows) == 10 and svg.read_text(encoding="utf-8") == drawn
        print("" if good else f"{svg} is not what {readme} gives: bench/readme.py {readme} {svg} draws it")
        return not good
    svg.write_text(drawn, encoding="utf-8")
    return 0


sys.exit(main())
