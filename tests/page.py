# SPDX-License-Identifier: Apache-2.0
"""What the tests of the page of `tally inspect --html` share: making pages, reading them, and computing by
their drawings. Programs that read this module say with `use` where the command is."""
import json
import os
import re
import struct
import subprocess
import xml.etree.ElementTree as tree

TALLY = PROFILES = None
failures = 0


def use(tally_tool, profiles):
    global TALLY, PROFILES
    TALLY, PROFILES = os.path.realpath(tally_tool), profiles and os.path.realpath(profiles)


def expect(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAILED", what)


def tally(*arguments):
    return subprocess.run([TALLY, *arguments], capture_output=True, check=False)


# ---- a page ----

def make(word, target, *more):
    """The page as text; target is a CPU's selector, or a profile's name."""
    where = ["--profile", profile_of(target)] if "cpu" not in target else ["--device", target]
    ended = tally("inspect", word, "--html", "page.html", *where, *more)
    name = "%s on %s" % (word, target)
    expect(ended.returncode == 0, "%s: %s" % (name, ended.stderr.decode()))
    expect(ended.stdout == b"" and ended.stderr == b"", name + ": something is printed")
    if ended.returncode != 0:
        return None
    with open("page.html", encoding="utf-8") as file:
        text = file.read()
    os.remove("page.html")
    return text


def profile_of(target):
    return os.path.join(PROFILES, target + ".profile")


def text_of(element):
    return "".join(element.itertext())


def by_id(root, name):
    return next((e for e in root.iter() if e.get("id") == name), None)


def check_form(name, text):
    """The page as a tree, all of whose links stay in it."""
    root = tree.fromstring(text.replace("<!DOCTYPE html>", "", 1))
    ids, wanted, outside = [], [], []
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "id":
                ids.append(value)
            elif key in ("aria-labelledby", "aria-describedby", "for"):
                wanted += value.split()
            elif key == "href" and value.startswith("#"):
                wanted.append(value[1:])
            elif key in ("href", "src", "srcset", "data", "action", "poster"):
                outside.append("%s=%s" % (key, value))
    expect(not outside, "%s: %s" % (name, outside[:3]))
    expect(not re.search(r"(url\(\s*['\"]?(?!#)|@import|https?:)", text), name + ": something from outside")
    expect(len(ids) == len(set(ids)), name + ": an id twice")
    expect(set(wanted) <= set(ids), "%s: no id %s" % (name, set(wanted) - set(ids)))
    expect("{{" not in text, name + ": a gap is left")
    return root


def check_plan(name, root):
    rows = [[text_of(e) for e in row] for row in by_id(root, "plan").iter() if row.tag == "tr"][1:]
    expect(len(rows) > 1 and all(len(r[2]) > 20 for r in rows), "%s: a choice without a reason: %s" % (name, rows))
    return {r[0]: r[1] for r in rows}


# ---- drawings ----

def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def add(left, right):
    """A sum of two singles in double is exact enough to be rounded once. None: there is no such value."""
    return right if left is None else left if right is None else single(left + right)


class Net:
    """What is combined with what, as a drawing has it."""

    def __init__(self, figure):
        self.name = figure.get("data-name")
        self.leaves = figure.get("data-leaves").split()
        self.results = figure.get("data-results").split()
        self.levels = json.loads(figure.get("data-levels"))
        self.words = [[e.strip() for e in text_of(li).split(",")] for li in figure.iter("li")]

    def run(self, values):
        """All columns at the end."""
        v = list(values) + [None] * (len(self.leaves) - len(values))
        for level in self.levels:
            before = list(v)
            for column, left, right in level:
                v[column] = before[left] if right < 0 else add(before[left], before[right])
        return v

    def result(self, values):
        """The only one."""
        column = [i for i, r in enumerate(self.results) if r != "-"]
        assert len(column) == 1, (self.name, self.results)
        return self.run(values)[column[0]]

    def goes_along(self):
        """Each column becomes the one before it, combined with itself: so it holds for any number."""
        return self.levels == [[[i + 1, i, i + 1]] for i in range(len(self.leaves) - 1)]

    def takes_all(self):
        """The first column takes one after the other."""
        return self.levels == [[[0, 0, i + 1]] for i in range(len(self.leaves) - 1)]


def check_words(where, net):
    """The words, read as equations, make the same results of the same leaves; names are those of the drawing."""
    values = [single(1 / (i + 3)) for i in range(len(net.leaves))]
    known = dict(zip(net.leaves, values))
    for line in net.words:
        made = {}
        for equation in line:
            name, _, right = equation.partition(" = ")
            parts = right.split(" ⊕ ")
            lacking = [p for p in parts if p not in known]
            if lacking or len(parts) > 2 or name in made:
                expect(False, "%s: '%s' in words of %s" % (where, equation, net.name))
                return
            made[name] = add(*[known[p] for p in parts]) if len(parts) == 2 else known[parts[0]]
        known.update(made)
    ends = net.run(values)
    for column, name in enumerate(net.results):
        expect(name == "-" or known.get(name) == ends[column], "%s: %s of %s in words" % (where, name, net.name))


class Drawings:
    """The drawings of a page: nets by name, tiles that are held, strips of pieces."""

    def __init__(self, root):
        figures = [f for f in root.iter("figure")]
        self.nets = {f.get("data-name"): Net(f) for f in figures if f.get("data-levels")}
        self.all_nets = [Net(f) for f in figures if f.get("data-levels")]
        self.holds = {f.get("data-name"): json.loads(f.get("data-hold")) for f in figures if f.get("data-hold")}
        self.strips = {f.get("data-name"): json.loads(f.get("data-strip")) for f in figures if f.get("data-strip")}


# ---- bits ----

def write_npy(path, shape, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join("%d, " % n for n in shape)
    header = header.encode() + b" " * ((-len(header) - 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        file.write(struct.pack("<%df" % len(values), *values))


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return list(struct.unpack("<%df" % (len(data) // 4), data))
