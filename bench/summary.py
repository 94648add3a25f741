#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""summary.py - draw Documentation/pictures/speed.svg from bench/results: the newest
report of each kernel, four tests, this driver beside the kernel's own one and
squashfs.  To be run after new reports have been added."""
import glob
import os
import re
import statistics

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# title, test, our image, squashfs image
PANELS = (
    ("read 100 MB from front to back, 64 KiB clusters", "dict", "seq", "64k", "128k"),
    ("500 reads of 4 KiB at random places, 4 KiB clusters", "dict", "rand4k", "4k", "4k"),
    ("read 9,400 files in shuffled order, 4 KiB clusters", "hdr", "readall", "4k", "4k"),
    ("ls -lR of 9,400 files, nothing cached", "hdr", "lscold", "4k", "4k"),
)
WHO = (("ours", "this driver", "#1a7f37"), ("stock", "the kernel's own", "#6e7781"),
       ("squashfs", "squashfs", "#bf8700"))


def newest():
    """Report of each kernel: {"6.12": {(label, test): [instructions]}}"""
    found = {}
    for name in sorted(glob.glob(f"{TOP}/bench/results/*.md")):
        m = re.match(r"[\d-]{11}((\d+\.\d+)\S*)\.md$", os.path.basename(name))
        if not m:
            continue
        times = {}
        with open(name, encoding="utf-8") as f:
            for line in f:
                w = line.split()
                if len(w) == 7 and w[0] == "R":
                    times.setdefault((w[1], w[2]), []).append(int(w[3]))
        if times:
            found[m.group(2)] = times
    return dict(sorted(found.items(), key=lambda k: [int(x) for x in k[0].split(".")]))


def main():
    reports = newest()
    left, bar, width = 70, 13, 300
    block = len(WHO) * bar + 8
    panel = 30 + len(reports) * block
    height = 66 + 2 * (panel + 16)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height}" width="900" '
           f'height="{height}" font-family="sans-serif" font-size="12">',
           "<title>Instructions needed, compared</title>",
           '<rect width="100%" height="100%" fill="#fff"/>',
           '<text x="14" y="22" font-size="14" font-weight="bold">Instructions needed, the '
           "kernel's own driver = 100 % (shorter is better)</text>"]
    x = 14
    for _, name, colour in WHO:
        out.append(f'<rect x="{x}" y="34" width="14" height="12" fill="{colour}"/>')
        out.append(f'<text x="{x + 20}" y="44">{name}</text>')
        x += 60 + 7 * len(name)
    for n, (title, corpus, test, image, other) in enumerate(PANELS):
        x, y = 14 + n % 2 * 450, 66 + n // 2 * (panel + 16)
        out.append(f'<text x="{x}" y="{y + 12}" font-weight="bold">{title}</text>')
        y += 24
        values = {}
        for kernel, times in reports.items():
            for who, _, _ in WHO:
                label = f"{corpus}/{other if who == 'squashfs' else image}/{who}"
                if (label, test) in times:
                    values[kernel, who] = statistics.median(times[label, test])
        share = {(k, w): v / values[k, "stock"] for (k, w), v in values.items() if (k, "stock") in values}
        # A bar that is much longer than the others is cut.
        top = min(max(share.values(), default=1), 2.2)
        for kernel in reports:
            out.append(f'<text x="{x + left - 8}" y="{y + block / 2}" text-anchor="end">Linux {kernel}</text>')
            for who, _, colour in WHO:
                if (kernel, who) in share:
                    v = share[kernel, who]
                    w = min(v, top) / top * width
                    cut = " (cut)" if v > top else ""
                    out.append(f'<rect x="{x + left}" y="{y}" width="{w:.1f}" height="{bar - 2}" fill="{colour}"/>')
                    out.append(f'<text x="{x + left + w + 4:.1f}" y="{y + bar - 3}" font-size="10.5">'
                               f"{100 * v:.0f} %{cut}</text>")
                y += bar
            y += 8
    out.append("</svg>")
    with open(f"{TOP}/Documentation/pictures/speed.svg", "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


main()
