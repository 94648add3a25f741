#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""commands.py [--list] - is every command in the documents run by a test?

Commands are
- the lines of blocks fenced as "sh" in README.md, Documentation/*.md,
  CONTRIBUTING.md and tests/README.md (each block has to say what it is:
  sh, text or another language),
- the lines of literal blocks in the manual page,
- code inside a line that begins with the name of a program and goes on.

What runs them:
- blocks "doc FILE <<'E'" in tests/docs/chroot.sh and tests/docs/guest.sh,
  which execute the lines as they are written there;
- lines "FILE | COMMAND | REASON" in tests/docs/elsewhere.tab, where REASON is
  'test: PATH "TEXT" ...' (TEXT is in a line of PATH that is no comment) or
  "not: why nothing runs it", and FILE may be "*".
A command that several documents have needs one of these.

A command without an entry is an error, and so is an entry that is in no
document any more.  Prints the complaints, a line each.
"""
import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = set("""apt-get bpftrace blkid cat cp dd depmod dkms dmesg dmsetup dpkg-buildpackage
    dracut dump.erofs echo find fsck.erofs gcc git grep insmod less lsinitramfs lsinitrd lsmod
    losetup make man mkdir mkfs.erofs modinfo modprobe mokutil mount mount.composefs openssl perf
    reboot rm rmmod scripts sh sudo systemd-dissect tar umount update-initramfs
    veritysetup""".split())


def documents():
    names = ["README.md", "CONTRIBUTING.md", "tests/README.md"]
    names += sorted(os.path.relpath(f, TOP) for f in glob.glob(f"{TOP}/Documentation/*.md"))
    return names


def clean(line):
    """A line without its comment and its indentation"""
    line = re.sub(r"(^|\s+)#(\s.*)?$", "", line)
    return re.sub(r"\s+", " ", line).strip()


def lines_of(block):
    """Logical lines: a backslash at the end joins two"""
    text = re.sub(r"\\\n\s*", "", "\n".join(block))
    return [c for c in map(clean, text.split("\n")) if c]


def is_command(span):
    words = span.split()
    if not words:
        return False
    first = words[0].rsplit("/", 1)[-1] if "/" in words[0] else words[0]
    if re.match(r"(\./|scripts/|tests/|bench/)", words[0]):
        return len(words) > 1 and "*" not in words[0] or words[0].startswith("./")
    return first in PROGRAMS and len(words) > 1


def from_markdown(name, complaints):
    """(command) in the order of the file"""
    found, text, block, kind = [], [], None, None
    with open(f"{TOP}/{name}", encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if line.startswith("```"):
                if block is None:
                    block, kind = [], line[3:].strip()
                    if not kind:
                        complaints.append(f"{name}:{number}: a block that doesn't say whether it is sh or text")
                else:
                    if kind == "sh":
                        found += lines_of(block)
                    block = None
            elif block is not None:
                block.append(line)
            else:
                text.append(line)
    for span in re.findall(r"`([^`]+)`", "\n".join(text)):
        span = re.sub(r"\s+", " ", span).strip().replace("\\|", "|")
        if is_command(span):
            found.append(span)
    return found


def from_manual(name):
    found, inside = [], False
    with open(f"{TOP}/{name}", encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith(".Bd"):
                inside = True
            elif line.startswith(".Ed"):
                inside = False
            elif inside and is_command(line):
                found.append(clean(line))
    return found


def from_script(name):
    """(file, command) of the doc blocks"""
    out, block, doc = [], None, None
    with open(f"{TOP}/{name}", encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            start = re.match(r"doc (\S+)( .*)?<<'E'", line)
            if start:
                doc, block = start.group(1), []
            elif line == "E" and block is not None:
                out += [(doc, c) for c in lines_of(block)]
                block = None
            elif block is not None:
                block.append(line)
    return out


def has_text(name, text):
    """Is it in that file, comments aside?"""
    try:
        with open(f"{TOP}/{name}", encoding="utf-8") as f:
            return any(text in line for line in f if not line.lstrip().startswith("#"))
    except OSError:
        return False


def main():
    complaints = []
    wanted = []
    for name in documents():
        wanted += [(name, c) for c in from_markdown(name, complaints)]
    wanted += [("Documentation/erofs-lts.5", c) for c in from_manual("Documentation/erofs-lts.5")]
    if "--list" in sys.argv:
        for name, command in dict.fromkeys(wanted):
            print(f"{name} | {command}")
        return complaints
    have = {}
    for script in ("tests/docs/chroot.sh", "tests/docs/guest.sh"):
        for entry in from_script(script):
            have[entry] = script
    with open(f"{TOP}/tests/docs/elsewhere.tab", encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            at = f"tests/docs/elsewhere.tab:{number}"
            parts = line.split(" | ")
            if len(parts) < 3:
                complaints.append(f"{at}: not FILE | COMMAND | REASON")
                continue
            name, command, reason = parts[0], " | ".join(parts[1:-1]), parts[-1]
            test = re.fullmatch(r'test: (\S+) "([^"]+)"( .*)?', reason)
            if test:
                if not has_text(test[1], test[2]):
                    complaints.append(f"{at}: {test[1]} has no line with '{test[2]}'")
            elif not re.match(r"not: \S+ \S", reason):
                complaints.append(f"{at}: neither 'test: PATH \"TEXT\"' nor 'not: why'")
            if command in {c for _, c in have}:
                complaints.append(f"{at}: there is an entry for this already")
            have[name, command] = at
    there = set(wanted)
    covered = {command for name, command in have}
    for name, command in dict.fromkeys(wanted):
        if command not in covered:
            complaints.append(f"{name}: no test runs: {command}")
    commands = {command for name, command in wanted}
    for (name, command), where in have.items():
        if (name, command) not in there and not (name == "*" and command in commands):
            complaints.append(f"{where}: not in {name}: {command}")
    if len(there) < 50:
        complaints.append(f"only {len(there)} commands found: is the format of the documents different?")
    return complaints


problems = main()
for p in problems:
    print(p)
sys.exit(1 if problems else 0)
