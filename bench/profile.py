#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# profile.py DIR [-n LINES] [-t TEST] [-f SYMBOL] - print where the guest
# instructions of each test went.  DIR holds profile (of plugin/profile.c),
# kallsyms and raw.  With -f, the hottest blocks of one function as offsets.
import argparse
import bisect
import collections


def symbols(path):
    best = {}
    for line in open(path, encoding="utf-8"):
        w = line.split()
        addr = int(w[0], 16)
        # Per-CPU offsets and absolute symbols are not code.
        if w[1] not in "tTwW" or addr < 1 << 63:
            continue
        mod = w[3].strip("[]") if len(w) > 3 else ""
        best.setdefault(addr, (w[2], mod))
    addrs = sorted(best)
    return addrs, [best[a] for a in addrs]


def sections(path):
    cur = None
    for line in open(path, encoding="utf-8"):
        if line.startswith("=="):
            if cur is not None:
                yield cur
            cur = []
        elif cur is not None:
            a, s, c = line.split()
            cur.append((int(a, 16), int(s), int(c)))
    if cur is not None:
        yield cur


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir")
    p.add_argument("-n", type=int, default=25)
    p.add_argument("-t", help="only tests whose name or label contains this")
    p.add_argument("-f", help="blocks of this function")
    a = p.parse_args()
    addrs, names = symbols(a.dir + "/kallsyms")
    tests = [l.split() for l in open(a.dir + "/raw", encoding="utf-8") if l[0] in "RS"]
    tests = [t if t[0] == "R" else ["R", t[1], "sum", "0"] for t in tests]
    for test, sec in zip(tests, sections(a.dir + "/profile")):
        if a.t and a.t not in test[1] + ":" + test[2]:
            continue
        insns = collections.Counter()
        calls = collections.Counter()
        blocks = collections.Counter()
        mods = collections.Counter()
        for addr, size, count in sec:
            if addr < 1 << 63:
                key, off = ("(user space)", ""), -1
            else:
                i = bisect.bisect_right(addrs, addr) - 1
                key, off = names[i], addr - addrs[i]
            insns[key] += size * count
            mods[key[1] or ("kernel" if off >= 0 else "user")] += size * count
            if off == 0:
                calls[key] += count
            if a.f == key[0]:
                blocks[off, size] += count
        total = sum(insns.values())
        print(f"\n{test[1]} {test[2]}: {total:,} instructions, clock said {int(test[3]):,}")
        if a.f:
            for (off, size), c in sorted(blocks.items(), key=lambda x: -x[0][1] * x[1])[:a.n]:
                print(f"{size * c:14,} {100 * size * c / total:6.2f}%  +{off:#x} {size} x {c:,}")
            continue
        print("  by module: " + ", ".join(f"{m} {100 * n / total:.1f}%" for m, n in mods.most_common(6)))
        for key, n in insns.most_common(a.n):
            c = calls[key]
            per = f"{n / c:10.1f}/call x {c:,}" if c else ""
            print(f"{n:14,} {100 * n / total:6.2f}%  {key[0]}{' [' + key[1] + ']' if key[1] else ''}  {per}")


main()
