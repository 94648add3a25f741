#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""mktree.py TREE DIR - fill the empty directory DIR with a deterministic tree.

Owns the source trees of the test images.  Needs root (owners, device nodes,
trusted xattrs) and a file system with 64 KiB xattrs, ACLs and 64-bit times:
tmpfs, as mkimages.sh mounts it.  The same TREE gives the same objects on every
machine; only directory sizes and inode numbers differ.

mktree.py --key TREE prints a word that changes when TREE may have changed: the
hash of this file without the functions of other trees.
"""
import hashlib
import inspect
import os
import random
import socket
import stat
import struct
import sys

BASE_TIME = 1700000000          # mtime of everything that asks for no other
ACL_ACCESS = "system.posix_acl_access"
ACL_DEFAULT = "system.posix_acl_default"


class Tree:
    """Creates objects below one directory; times are set at the end."""

    def __init__(self, top):
        self.top = os.fsencode(top)
        self.times = {b"": BASE_TIME * 10**9}

    def _path(self, name):
        name = os.fsencode(name)
        return name, (self.top + b"/" + name if name else self.top)

    def _done(self, name, path, mode, owner, mtime_ns, xattrs):
        if owner:
            os.chown(path, *owner, follow_symlinks=False)
        if mode is not None:
            os.chmod(path, mode)
        for key, value in (xattrs or {}).items():
            os.setxattr(path, key, value, follow_symlinks=False)
        self.times[name] = BASE_TIME * 10**9 if mtime_ns is None else mtime_ns

    def file(self, name, data=b"", mode=0o644, owner=None, mtime=None, xattrs=None):
        name, path = self._path(name)
        with open(path, "wb") as f:
            f.write(data)
        self._done(name, path, mode, owner, mtime, xattrs)

    def sparse(self, name, size, parts, **kw):
        """parts: {offset: bytes}; the rest is a hole."""
        name, path = self._path(name)
        with open(path, "wb") as f:
            for pos, data in parts.items():
                f.seek(pos)
                f.write(data)
            f.truncate(size)
        self._done(name, path, 0o644, None, kw.get("mtime"), kw.get("xattrs"))

    def dir(self, name, mode=0o755, owner=None, mtime=None, xattrs=None):
        name, path = self._path(name)
        if name:
            os.mkdir(path)
        self._done(name, path, mode, owner, mtime, xattrs)

    def symlink(self, name, target, owner=None, mtime=None, xattrs=None):
        name, path = self._path(name)
        os.symlink(target, path)
        self._done(name, path, None, owner, mtime, xattrs)

    def node(self, name, kind, major=0, minor=0, mode=0o600, owner=None, mtime=None, xattrs=None):
        name, path = self._path(name)
        if kind == stat.S_IFSOCK:
            # the path of a socket address is short: bind relative to its directory
            here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
            os.chdir(os.path.dirname(path))
            s = socket.socket(socket.AF_UNIX)
            s.bind(os.path.basename(path))
            s.close()
            os.fchdir(here)
            os.close(here)
        else:
            os.mknod(path, kind | 0o600, os.makedev(major, minor))
        self._done(name, path, mode, owner, mtime, xattrs)

    def link(self, name, old):
        os.link(self._path(old)[1], self._path(name)[1], follow_symlinks=False)

    def finish(self):
        """Times of directories change while they are filled: children first."""
        for name in sorted(self.times, key=lambda n: n.count(b"/") + (n != b""), reverse=True):
            ns = self.times[name]
            path = self.top + b"/" + name if name else self.top
            os.utime(path, ns=(ns, ns), follow_symlinks=False)


def words(seed, size):
    """Text-like bytes: compress about 2.5 to 1, matches of many lengths."""
    r = random.Random(seed)
    vocabulary = ["".join(r.choices("etaoinshrdlucmfwypvbgkjqxz", k=r.randint(2, 11))).encode()
                  for _ in range(1500)]
    weights = [1 / (i + 3) for i in range(len(vocabulary))]
    out = []
    have = 0
    while have < size:
        chunk = b" ".join(r.choices(vocabulary, weights, k=2000)) + b".\n"
        out.append(chunk)
        have += len(chunk)
    return b"".join(out)[:size]


def noise(seed, size):
    return random.Random(seed).randbytes(size)


def mixed(seed, size, run):
    """Runs of text, noise, zeros and repeats, of lengths around `run`."""
    r = random.Random(seed)
    text = words(seed, min(size, 1 << 20))
    out = bytearray()
    while len(out) < size:
        n = r.randint(1, 2 * run)
        kind = r.randrange(5)
        if kind == 0:
            out += r.randbytes(n)
        elif kind == 1:
            out += bytes(n)
        elif kind == 2:
            out += (r.randbytes(r.randint(1, 9)) * n)[:n]
        else:
            at = r.randrange(max(1, len(text) - n))
            out += text[at:at + n]
    return bytes(out[:size])


def acl(*entries):
    """entries: (tag, perm, id); sorted as the kernel wants them by the caller."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", t, p, i & 0xffffffff)
                                           for t, p, i in entries)


def acl_of(users, groups, mask=7):
    return acl((1, 7, -1), *[(2, 5, u) for u in users], (4, 5, -1),
               *[(8, 4, g) for g in groups], (0x10, mask, -1), (0x20, 4, -1))


def add_sizes(t, top, sizes, kinds):
    t.dir(top)
    for kind in kinds:
        for size in sizes:
            data = {"text": words, "noise": noise, "zero": lambda s, n: bytes(n),
                    "mix": lambda s, n: mixed(s, n, 900),
                    "rep": lambda s, n: (b"abcdefghij\n" * (n // 11 + 1))[:n]}[kind]
            t.file(f"{top}/{kind}-{size}", data(f"{top}{kind}{size}", size))


def add_names(t, top, longest):
    t.dir(top)
    for c in range(1, 256):
        if c not in (ord("/"), ord(".")):
            t.file(os.fsencode(top) + b"/" + bytes([c]))
    for name in ("...", "..x", ".hidden", "-dash", "!", "a", "aa", "aaa", "ab", "b" * (longest - 1), "b" * longest,
                 "c" * longest, "\u00e9t\u00e9", "\u65e5\u672c", " space ", "new\nline", "tab\t", "back\\slash"):
        if len(name) > 1:
            t.file(f"{top}/{name}", name.encode()[:7])
    every = bytes(c for c in range(1, 256) if c != ord("/"))
    t.file(os.fsencode(top) + b"/" + every)


def add_links(t, top):
    t.dir(top)
    for n in (1, 2, 31, 32, 33, 59, 60, 255, 511, 1000, 2047, 3999, 4031, 4032, 4033, 4063, 4064,
              4065, 4094, 4095):
        # components of a path are at most 255 bytes long
        target = (f"len{n:04d}/" + "t" * 99 + "/" + "u" * 90 + "/")
        t.symlink(f"{top}/s{n:04d}", (target * (n // len(target) + 1))[:n])
    t.symlink(f"{top}/to-file", "s0001")
    t.symlink(f"{top}/bytes", b"\x01\xff\xfe name with \\ and \n")
    t.symlink(f"{top}/owned", "x", owner=(70000, 4000000000), mtime=1234567890 * 10**9 + 987654321,
              xattrs={"trusted.on-link": b"value of a link"})
    t.file(f"{top}/first", b"three names")
    t.link(f"{top}/second", f"{top}/first")
    t.symlink(f"{top}/symlink-two-names", "first")
    t.link(f"{top}/symlink-two-names-b", f"{top}/symlink-two-names")


def add_special(t, top):
    t.dir(top)
    for kind, name in ((stat.S_IFCHR, "c"), (stat.S_IFBLK, "b")):
        for major, minor in ((1, 3), (5, 1), (8, 0), (259, 70000), (511, 1048575), (4095, 0xabcde),
                             (0, 1), (255, 255), (256, 256)):
            t.node(f"{top}/{name}-{major}-{minor}", kind, major, minor)
    t.node(f"{top}/fifo", stat.S_IFIFO, mode=0o622)
    t.node(f"{top}/socket", stat.S_IFSOCK, mode=0o777, xattrs={"trusted.s": b"1"})
    t.node(f"{top}/device-xattr", stat.S_IFCHR, 1, 9, xattrs={"trusted.d": b"dev", "security.d": b""})
    t.link(f"{top}/fifo-second", f"{top}/fifo")


def add_owners(t, top):
    t.dir(top)
    for uid, gid in ((0, 0), (1, 2), (65535, 65535), (65536, 65534), (70000, 4000000000),
                     (4294967294, 100000), (1000, 65536)):
        t.file(f"{top}/o-{uid}-{gid}", b"owner", owner=(uid, gid))
    for mode in (0, 0o001, 0o400, 0o777, 0o1777, 0o2755, 0o4755, 0o6711, 0o7777):
        t.file(f"{top}/m-{mode:04o}", b"mode", mode=mode)
        t.dir(f"{top}/d-{mode:04o}", mode=mode)


def add_times(t, top):
    t.dir(top, mtime=BASE_TIME * 10**9 + 999999999)
    for sec, nsec in ((0, 0), (0, 1), (-1, 999999999), (-86400 * 365 * 50, 5), (1, 0),
                      (2**31 - 1, 0), (2**31, 7), (2**32 - 1, 0), (2**32, 123456789),
                      (2**33 + 1, 0), (BASE_TIME, 1), (BASE_TIME, 999999999), (BASE_TIME - 1, 0)):
        t.file(f"{top}/t{sec}.{nsec:09d}", b"time", mtime=sec * 10**9 + nsec)


def add_xattrs(t, top, large=False):
    t.dir(top, xattrs={"user.dir": b"of a directory", "trusted.overlay.opaque": b"y"})
    same = {"user.shared": b"the same value in many files", "security.selinux": b"sys:obj:bin_t:s0\0"}
    for i in range(12):
        t.file(f"{top}/shared{i:02d}", words(i, 100 * i), xattrs=same)
    for i in range(1, 14):      # sizes of the xattr body modulo 8 and 16
        t.file(f"{top}/align{i:02d}", noise(f"al{i}", 5000),
               xattrs={"user." + "k" * i: bytes([64 + i]) * i})
    t.file(f"{top}/empty-value", b"", xattrs={"user.empty": b"", "trusted.empty": b""})
    t.file(f"{top}/capability", b"#!", mode=0o755, xattrs={
        "security.capability": struct.pack("<IIIII", 0x02000001, 0x400, 0, 0, 0)})
    t.file(f"{top}/long-name", b"n", xattrs={"user." + "n" * 250: b"v", "trusted." + "m" * 247: b"w"})
    t.file(f"{top}/both", b"b", xattrs={"user.name": b"1", "trusted.name": b"2", "security.name": b"3"})
    t.file(f"{top}/many", b"m", xattrs={f"user.attribute.{i:03d}": words(i, i) for i in range(60)})
    t.file(f"{top}/prefix", b"p", xattrs={
        "user.overlay.redirect": b"/r", "trusted.overlay.metacopy": b"",
        "trusted.overlay.redirect": b"/some/where", "user.org.example.tag": b"t",
        "user.org.example.": b"empty name after a long prefix", "user.org": b"o"})
    for size in (3000, 3900, 4096, 5000) + ((65535, 32768) if large else ()):
        t.file(f"{top}/value-{size}", b"v", xattrs={"user.big": noise(f"v{size}", size)})
    t.file(f"{top}/acl", b"a", xattrs={ACL_ACCESS: acl_of([1, 70000], [5])})
    t.file(f"{top}/acl-same", b"a", xattrs={ACL_ACCESS: acl_of([1, 70000], [5])})
    t.file(f"{top}/acl-many", b"a", xattrs={ACL_ACCESS: acl_of(range(100, 180), range(50, 90))})
    t.dir(f"{top}/acl-dir", xattrs={ACL_ACCESS: acl_of([3], []), ACL_DEFAULT: acl_of([4], [7])})
    t.file(f"{top}/acl-dir/child", b"c")


def tree_small(t, longest=255):
    """Every kind of object and every border, about 3 MB."""
    t.dir("", mode=0o755, xattrs={"user.root": b"root directory"})
    edge = []
    for block in (512, 1024, 2048, 4096, 8192, 16384):
        edge += [block - 1, block, block + 1]
    add_sizes(t, "sizes", sorted(set([0, 1, 2, 11, 12, 100, 4060, 4064, 4070] + edge +
                                     [12287, 12288, 12289, 20000, 65535, 65536, 65537])), ["text"])
    add_sizes(t, "noise", [1, 511, 4095, 4096, 4097, 8193, 16385, 65536, 70001], ["noise"])
    add_sizes(t, "other", [4096, 8192, 9000, 65536, 100000], ["zero", "rep", "mix"])
    add_names(t, "names", longest)
    add_links(t, "links")
    add_special(t, "special")
    add_owners(t, "owners")
    add_times(t, "times")
    add_xattrs(t, "xattrs")
    t.dir("empty")
    deep = "deep"
    t.dir(deep)
    for i in range(40):
        deep += f"/level{i}"
        t.dir(deep)
    t.file(deep + "/bottom", b"here")
    t.dir("wide")
    for i in range(300):
        t.file(f"wide/entry-{i * 7919 % 300:05d}-{'w' * (i % 40)}", b"" if i % 5 else b"%d" % i)
    t.dir("data")
    t.file("data/text-600k", words("t600", 600000))
    t.file("data/mixed-400k", mixed("m400", 400001, 20000))
    t.file("data/mixed-300k", mixed("m300", 299999, 3000))
    t.file("data/noise-150k", noise("n150", 150000))
    t.file("data/zero-300k", bytes(300000))
    t.file("data/text-then-noise", words("tn", 40000) + noise("tn", 3000))
    t.file("data/noise-then-text", noise("nt", 30000) + words("nt", 60000))
    t.file("data/copy-of-text", words("t600", 600000)[100000:260000])
    t.sparse("data/sparse-200k", 200000, {0: b"start", 70001: b"middle" * 1000, 199990: b"end"})
    t.link("data/third-name", "links/first")


def tree_small15(t):
    """The same for mkfs.erofs 1.5, which mishandles names of 255 bytes."""
    tree_small(t, 254)


def tree_digests(t):
    """What mkfs.erofs --xattr-inode-digest=trusted.digest makes of "small"."""
    tree_small(t)
    done = set()
    for here, _, files in os.walk(t.top):
        for f in files:
            path = here + b"/" + f
            st = os.lstat(path)
            if stat.S_ISREG(st.st_mode) and st.st_size and st.st_ino not in done:
                done.add(st.st_ino)
                with open(path, "rb") as data:
                    value = b"sha256:" + hashlib.sha256(data.read()).digest()
                os.setxattr(path, "trusted.digest", value)


def tree_big(t):
    """Large files and large directories, about 25 MB."""
    t.dir("")
    t.file("text-10m", words("t10", 10 << 20))
    t.file("mixed-6m", mixed("m6", (6 << 20) + 77, 60000))
    t.file("mixed-fine-3m", mixed("m3", (3 << 20) - 5, 1500))
    t.file("noise-3m", noise("n3", 3 << 20))
    t.file("zero-5m", bytes(5 << 20))
    t.file("repeat-2m", (noise("r2", 70000) * 31)[:2 << 20])
    t.dir("5000")       # each object costs about a millisecond in an emulated machine
    for i in range(5000):
        t.file(f"5000/file{i * 7919 % 5000:05d}-{'n' * (i % 50)}", b"" if i % 16 else b"content %d" % i)
    t.dir("dirs")
    for i in range(400):
        t.dir(f"dirs/d{i}")
    deep = "deep"
    t.dir(deep)
    for i in range(200):
        deep += f"/{i:010d}"
        t.dir(deep)
    t.file(deep + "/bottom", b"here")


def tree_giant(t):
    """A sparse file of more than 4 GiB and one that is a single hole."""
    t.dir("")
    end = 5 << 30
    t.sparse("five-gib", end, {0: noise("s0", 5000), (4 << 30) - 10: words("s1", 4103),
                               (4 << 30) + 4093: noise("s2", 20000), end - 3: b"end"})
    t.sparse("hole-6g", 6 << 30, {})
    t.file("small", b"beside them")


def tree_huge(t):
    """More than 5 GiB that compress to little, and files behind them in name order."""
    t.dir("")
    end = 5 << 30
    t.sparse("five-gib", end, {0: words("h0", 5000), (4 << 30) - 10: words("h1", 4103),
                               (4 << 30) + 4093: noise("h2", 20000), end - 3: b"end"})
    t.sparse("a-20m", 20 << 20, {5: words("h3", 50000), 15 << 20: words("h4", 60000)})
    for i in range(5):
        t.file(f"z-after{i}", words(f"h5{i}", 3000 * i + 77))
    t.file("z-after-large", words("h6", 300000))


def tree_long(t):
    """What becomes clusters of almost 1 MiB that decode to 12 MiB, and a bit more."""
    t.dir("")
    t.file("noise-then-zeros", noise("l1", 900000) + bytes(13 << 20))
    t.file("zeros-then-noise", bytes(12 << 20) + noise("l2", 1100000))
    t.file("behind", words("l3", 100000))


def tree_hand(t):
    """Few objects, all with one owner and time, for images written by hand."""
    t.dir("")
    t.dir("sub")
    t.dir("sub/empty")
    t.file("sub/inner", words("y1", 30000))
    t.file("text", words("y2", 150000))
    t.file("text-2", words("y3", 81920))
    t.file("mixed", mixed("y4", 100001, 9000))
    t.file("noise", noise("y5", 40000))
    t.file("with-holes", words("y6", 20000) + bytes(50000) + words("y7", 10000) + bytes(12345))
    t.file("zeros", bytes(65536))
    t.file("hole-first", bytes(41000) + words("y9", 40000) + bytes(9000) + words("y10", 5000))
    t.file("tiny", b"tiny")
    t.file("empty")
    t.symlink("link", "sub/inner")
    t.symlink("edge", "e" * 64)
    for i in range(4):
        t.file(f"attr{i}", words(f"y8{i}", 9000 * i + 100), xattrs={
            "user.shared-by-all": b"the same value" * 3, "user.own": b"%d" % i,
            "trusted.shared-by-two": b"%d" % (i // 2)})


def tree_sparse(t):
    """Holes, and chunk tables behind xattrs of every alignment."""
    t.dir("")
    t.sparse("hole-1m", 1 << 20, {})
    t.sparse("hole-4097", 4097, {})
    t.sparse("hole-end", 300000, {0: words("he", 9000)})
    t.sparse("hole-start", 300000, {290000: words("hs", 10000)})
    t.sparse("comb", 1 << 20, {i * 16384: noise(f"c{i}", 4096) for i in range(64)})
    for i in range(1, 14):
        t.file(f"align{i:02d}", noise(f"al{i}", 5000), xattrs={"user." + "k" * i: bytes([64 + i]) * i})
        t.file(f"long{i:02d}", noise(f"lo{i}", 4096 * i + i), xattrs={"user." + "k" * i: b"z"})
    t.file("text", words("sp", 500000))
    t.file("text-copy", words("sp", 500000))
    t.file("tiny", b"t")
    t.file("empty")


def tree_links(t):
    """One inode with 70001 names: more than 16 bits of link count."""
    t.dir("")
    t.file("file", b"one of 70001 names")
    t.dir("names")
    for i in range(70000):
        t.link(f"names/{i:05d}", "file")


def tree_dedupe(t):
    """Shared pclusters of which two extents use different lengths."""
    t.dir("")
    r = random.Random("dedupe")
    base = words("B", 60000)
    t.file("base", base)
    out = [base]
    for i in range(60):
        a = r.choice([0, 997, 5000, 12345, 30001])
        out.append(words(f"fresh{i}", r.randint(500, 5000)))
        out.append(base[a:a + r.randint(6000, 20000)])
    t.file("pieces", b"".join(out))
    t.file("pieces-2", b"".join(reversed(out)))
    for i in range(30):
        a = r.randrange(40000)
        t.file(f"short{i:02d}", base[a:a + r.randint(1, 15000)])
    t.file("same-1", words("same", 200000))
    t.file("same-2", words("same", 200000))
    t.file("same-shifted", b"shift" + words("same", 200000))
    t.file("noise-1", noise("same", 100000))
    t.file("noise-2", noise("same", 100000))
    t.file("noise-shifted", b"by 7..." + noise("same", 100000))


def tree_tails(t):
    """Sizes around every block border, half repeats and half noise, and noise tails."""
    t.dir("")
    r = random.Random("tails")
    for n in range(1, 41):
        for d in (-1, 0, 1):
            size = n * 4096 + d
            data = bytearray()
            while len(data) < size:
                data += r.randbytes(700) + b"repeat this " * r.randint(20, 120)
            t.file(f"half-{n:02d}{d:+d}", bytes(data[:size]))
    for size in range(4097, 8192, 151):
        t.file(f"noisetail-{size}", words(size, 4096) + noise(size, size - 4096))
    for size in range(3000, 9000, 400):
        t.file(f"text-{size}", words(size, size))


def tree_inodes(t):
    """Inodes and inline data at block edges."""
    t.dir("")
    for i in range(120):
        t.dir(f"d{i:03d}", mtime=(BASE_TIME + i) * 10**9)
        for k in range(i % 37 + 1):
            t.file(f"d{i:03d}/f{k}", b"x" * (k % 3 * 7), mtime=(BASE_TIME - k * 77) * 10**9 + i)
    for i in range(200):
        t.dir(f"e{i:03d}")
        t.symlink(f"link{i:03d}", "t" * (i % 120 + 1), mtime=(BASE_TIME + i) * 10**9)


def tree_xattrs(t):
    """Many and large xattrs."""
    t.dir("", xattrs={"user.root": b"r" * 40})
    add_xattrs(t, "xattrs", large=True)
    t.dir("many")
    for i in range(400):
        t.file(f"many/f{i:03d}", b"" if i % 3 else words(i, 300), xattrs={
            "user.org.example.a": b"%d" % (i % 7), "trusted.overlay.origin": noise(i % 20, 30),
            "user.unique": b"%d" % i, "security.ima": noise(f"ima{i}", 60)})
    for i in range(200):
        t.file(f"many/n{i:03d}", xattrs={"user." + "x" * (i + 1): b"y" * (i % 9)})


def tree_base(t):
    """What the damaged images are made of: few files, each with a purpose."""
    t.dir("")
    t.dir("dir")
    for name in ("a", "b", "middle", "y", "z"):
        t.file(f"dir/{name}", name.encode() * 20)
    t.dir("sub")
    t.dir("sub/sub")
    t.file("sub/sub/leaf", b"leaf")
    t.dir("large")
    for i in range(300):
        t.file(f"large/entry-{i:04d}-{'n' * 20}")
    t.dir("empty")
    t.file("text", words("base", 100000))
    t.file("text2", words("base2", 60000))
    t.file("mixed", mixed("base", 80000, 3000))
    t.file("noise", noise("base", 30000))
    t.file("tail", words("tail", 4096 * 3 + 700))
    t.file("page", noise("page", 4096))
    t.file("inline", b"inline data " * 10)
    t.file("sibling", words("sibling", 20000))
    t.file("victim", b"v", xattrs={"user.a": b"1", "user.second": b"2" * 50, "trusted.t": b"t"})
    for i in range(5):
        t.file(f"shared{i}", b"s", xattrs={"user.shared": b"the same value" * 3})
    t.file("acl", b"a", xattrs={ACL_ACCESS: acl_of([1, 70000], [5])}, owner=(1000, 1000), mode=0o640)
    t.file("prefixed", b"p", xattrs={"user.org.example.x": b"1", "user.org.example.y": b"2"})
    t.symlink("link", "dir/middle")
    t.symlink("long-link", "l" * 4000)
    t.node("null", stat.S_IFCHR, 1, 3)
    t.node("fifo", stat.S_IFIFO)


def tree_whiteouts(t):
    """What overlayfs leaves in an upper directory."""
    t.dir("")
    t.dir("lower")
    t.node("lower/gone", stat.S_IFCHR, 0, 0, mode=0)
    t.node("lower/gone-too", stat.S_IFCHR, 0, 0, mode=0)
    t.file("lower/kept", b"kept")
    t.dir("opaque", xattrs={"trusted.overlay.opaque": b"y"})
    t.file("opaque/new", b"new")
    t.file("escaped", b"", xattrs={"trusted.overlay.overlay.whiteout": b"", "user.overlay.whiteout": b""})
    t.file("metacopy", b"", xattrs={"trusted.overlay.metacopy": b"", "trusted.overlay.redirect": b"/a"})


def main():
    trees = {k[5:]: v for k, v in globals().items() if k.startswith("tree_")}
    if sys.argv[1:] == ["--list"]:
        print("\n".join(trees))
        return
    if sys.argv[1:2] == ["--key"]:
        # trees call others: what is named in the function belongs to it
        with open(__file__, encoding="utf-8") as f:
            source = f.read()
        bodies = {k: inspect.getsource(v) for k, v in trees.items()}
        for name in sys.argv[2:]:
            used, text = {name}, source
            while True:
                more = {k for k in trees if any(f"tree_{k}(" in bodies[u] for u in used)}
                if more <= used:
                    break
                used |= more
            for k in trees:
                if k not in used:
                    text = text.replace(bodies[k], "")
            text = "\n".join(line for line in text.split("\n") if line)
            print(name, hashlib.sha256(text.encode()).hexdigest()[:12])
        return
    if len(sys.argv) != 3 or sys.argv[1] not in trees or os.listdir(sys.argv[2]):
        sys.exit("usage: mktree.py %s EMPTY-DIR" % "|".join(trees))
    os.umask(0o022)
    t = Tree(sys.argv[2])
    trees[sys.argv[1]](t)
    t.finish()


main()
