#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""format-check.py FILE... - are the files formatted as .clang-format says?

clang-format decides about indentation, braces and spaces.  People decide where a
line is broken, how what goes on in the next line is aligned, and how tables and
comments at ends of lines are: differences in nothing but that are no complaint.
So the answer depends little on clang-format's version.  Prints
"FILE:LINE: clang-format: TEXT", a line for each place.
"""
import difflib
import re
import subprocess
import sys


def squeeze(text):
    """Lines with their indentation, but one space wherever there are more behind it"""
    out = []
    for line in text.split("\n"):
        body = line.lstrip()
        indent = line[:len(line) - len(body)]
        body = re.sub(r"\s+", " ", body).rstrip()
        # an empty initializer; for loops without a last part
        body = body.replace("{}", "{ }").replace("; )", ";)")
        out.append((indent if body else "") + body)
    return out


def ends(lines):
    """How often a statement or a block begins or ends with a line"""
    return sum(re.search(r"(;|[{}])( ?\\)?( /\*.*\*/)?$", x) is not None for x in lines)


def only_broken_elsewhere(ours, theirs):
    if not ours or not theirs:
        return False
    strip = [re.sub(r"[\s\\]", "", "".join(x)) for x in (ours, theirs)]
    if strip[0] != strip[1]:
        return False
    # elements of a table, several in a line
    if all(x.endswith(",") for x in ours + theirs):
        return True
    return ends(ours) == ends(theirs) and not any(x.strip() == "{" for x in ours)


def goes_on(before):
    """Does a line behind this one belong to the same statement?"""
    before = before.strip()
    return before != "" and not re.search(r"([;{}]|\*/|^#.*|^(case .*|\w+):)( ?\\)?$", before)


def check(name):
    with open(name, encoding="utf-8") as f:
        text = f.read()
    new = subprocess.run(["clang-format", "--style=file", name], check=True,
                         stdout=subprocess.PIPE, encoding="utf-8").stdout
    a, b = squeeze(text), squeeze(new)
    bad = 0
    for tag, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        ours, theirs = a[i:j], b[k:m]
        # macros of several lines are aligned by hand, too
        if all(x.endswith("\\") or (n and a[n - 1].endswith("\\")) for n, x in enumerate(a[i:j], i)) and ours:
            continue
        if only_broken_elsewhere(ours, theirs):
            same_indent = re.match(r"\s*", ours[0]).group() == re.match(r"\s*", theirs[0]).group()
            if same_indent or (i and goes_on(a[i - 1])):
                continue
        print(f"{name}:{i + 1}: clang-format: {(ours or theirs)[0].strip()}")
        bad += 1
    return bad


sys.exit(1 if sum(map(check, sys.argv[1:])) else 0)
