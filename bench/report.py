#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# report.py - turn raw results of meter.c into Markdown tables with ratios and
# SVG bar charts.  Median where a test ran several times.
import argparse
import collections
import os
import statistics
import sys

NAMES = {
    "seq": "sequential 100 MB", "rand4k": "500 x 4K random", "rand128k": "200 x 128K random",
    "lscold": "ls -lR cold", "lswarm": "ls -lR cached", "lstatcold": "lstat all cold",
    "lstatwarm": "lstat all cached", "readall": "read all files", "tar": "tar",
    "mount": "20 mounts", "par4": "four readers", "cat": "cat 100 MB",
    "rand4kx": "3000 x 4K random", "exec": "start cc1, cold", "execwarm": "start cc1, cached",
}
COLOURS = {"ours": "#1a7f37", "stock": "#6e7781", "squashfs": "#bf8700", "ext4": "#0969da"}


def read(files):
    times = collections.defaultdict(list)
    growth = collections.defaultdict(list)
    memory = collections.defaultdict(list)
    sums = collections.defaultdict(dict)
    counters = collections.defaultdict(dict)
    last = {}
    sizes = {}
    for name in files:
        for line in open(name, encoding="utf-8"):
            w = line.split()
            if w[0] == "R":
                times[w[1], w[2]].append(int(w[3]) / 1e9)
                growth[w[1], w[2]].append(int(w[4]))
                memory[w[1], w[2]].append(int(w[6]))
            elif w[0] == "N":
                last = {k: v for k, v in last.items() if k[0] != w[1]}
            elif w[0] == "I":
                sizes[w[1]] = int(w[2])
            elif w[0] == "S":
                sums[w[1].split("/")[0]][w[1]] = w[2]
            elif w[0] == "C":
                counters[w[1], w[2]][w[3]] = int(w[4]) - last.get((w[1], w[3]), 0)
                last[w[1], w[3]] = int(w[4])
    for corpus, digests in sums.items():
        if len(set(digests.values())) > 1:
            sys.exit(f"the drivers disagree about the data of {corpus}: {digests}")
    return times, growth, memory, counters, sizes


def ratio(a, b):
    """median of the quotients of rounds, which ran close to each other"""
    n = min(len(a), len(b))
    m = f"{statistics.median(x / y for x, y in zip(a[:n], b[:n])):.2f}"
    return m if n < 2 else f"{m} ({min(a) / min(b):.2f})"


def value(v):
    """median, and with several rounds the best"""
    return f"{statistics.median(v):.4f}" + (f" ({min(v):.4f})" if len(v) > 1 else "")


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    out += ["| " + " | ".join(r) + " |" for r in rows]
    return "\n".join(out) + "\n"


def bars(path, title, unit, data):
    """data: list of (label, driver, value)"""
    bar, gap, left, width = 18, 6, 190, 640
    top = max(v for _, _, v in data) or 1
    height = 40 + len(data) * (bar + gap)
    s = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + left + 90}" height="{height}" '
         'font-family="sans-serif" font-size="12">',
         '<rect width="100%" height="100%" fill="white"/>',
         f'<text x="10" y="20" font-size="14">{title} ({unit}; shorter is better)</text>']
    y = 34
    for label, driver, v in data:
        w = v / top * width
        s.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{label}</text>')
        s.append(f'<rect x="{left}" y="{y}" width="{w:.1f}" height="{bar}" '
                 f'fill="{COLOURS.get(driver, "#888")}"/>')
        s.append(f'<text x="{left + w + 5:.1f}" y="{y + 13}">{v:.3g}</text>')
        y += bar + gap
    s.append("</svg>")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(s) + "\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-k", default="?", help="kernel release")
    p.add_argument("-o", required=True, help="report to write")
    p.add_argument("-d", default="?", help="version of the driver")
    p.add_argument("-u", default="1e9 guest instructions", help="unit")
    p.add_argument("raw", nargs="+")
    a = p.parse_args()
    times, growth, memory, counters, sizes = read(a.raw)
    out = [f"# Measured on Linux {a.k}\n", f"Driver: {a.d}. Unit: {a.u}. Smaller is better."]
    if max(len(v) for v in times.values()) > 1:
        out.append("Median of the rounds (best round); quotients: median of the rounds (best by best).")
    out.append("")
    corpora = list(dict.fromkeys(k[0].split("/")[0] for k in times))
    for corpus in corpora:
        labels = list(dict.fromkeys(k[0] for k in times if k[0].startswith(corpus + "/")))
        tests = list(dict.fromkeys(k[1] for k in times if k[0] in labels))
        med = {k: statistics.median(v) for k, v in times.items()}
        rows = []
        for label in labels:
            _, image, driver = label.split("/", 2)
            row = [image, driver]
            row += [value(times[label, t]) if (label, t) in times else "" for t in tests]
            for t in ("seq", "cat"):
                if (label, t) in growth:
                    row += [f"{statistics.median(x[label, t]):.0f}" for x in (growth, memory)]
            row.insert(2, f"{sizes.get(label, 0) / 1e6:.1f}")
            rows.append(row)
        head = ["image", "driver", "MB"] + [NAMES.get(t, t) for t in tests]
        if any(len(r) > len(head) for r in rows):
            head += ["cache growth KiB", "memory used KiB"]
        out += [f"## {corpus}\n", table(head, rows)]
        rows = []
        for label in labels:
            if not label.endswith("/ours"):
                continue
            base, image = label[:-5], label.split("/")[1]
            for peer in [base + "/stock"] + [x for x in labels if x.endswith(("/squashfs", "/ext4"))]:
                if peer not in labels:
                    continue
                rows.append([image, peer.split("/", 1)[1]] +
                            [ratio(times[label, t], times[peer, t])
                             if (label, t) in med and (peer, t) in med else "" for t in tests])
        if rows:
            out += ["Ours divided by a peer:\n",
                    table(["our image", "peer"] + [NAMES.get(t, t) for t in tests], rows)]
        for t in tests:
            data = [("/".join(x.split("/")[1:]), x.rsplit("/", 1)[1], med[x, t])
                    for x in labels if (x, t) in med]
            svg = f"{os.path.splitext(a.o)[0]}-{corpus}-{t}.svg"
            bars(svg, f"{corpus}: {NAMES.get(t, t)}, Linux {a.k}", a.u, data)
    if counters:
        out.append("## Counters of our driver\n")
        names = list(dict.fromkeys(n for c in counters.values() for n in c))
        names = [n for n in names if any(c.get(n) for c in counters.values())]
        out.append(table(["image", "test"] + names,
                         [[x[0], x[1]] + [str(c.get(n, "")) for n in names]
                          for x, c in counters.items() if any(c.values())]))
    out.append("## Raw\n\n```")
    for name in a.raw:
        out += [x.rstrip() for x in open(name, encoding="utf-8") if x[0] in "RI"]
    out.append("```")
    with open(a.o, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


main()
