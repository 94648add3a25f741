#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""mkhand.py KIND [--blob=FILE1] IMAGE TREE - write an EROFS image by hand.

Owns the images of what the format defines and no mkfs.erofs writes.  TREE is
the tree "hand" of mktree.py: directories, regular files and symlinks of root,
all with the same time.  The symlink "edge" ends where a block ends.  KIND says what is put to the test:

  head2-full, head2-compact   clusters of LZ4 (HEAD1) and DEFLATE (HEAD2) and plain
                ones by turns in one file; full and compact indexes
  lcluster-full, lcluster-compact   logical clusters of two blocks
  longest-full, longest-compact   clusters of almost 1 MiB that decode to 12 MiB, of
                two algorithms; wants the tree "long"
  hole          extents of zeros without a cluster (HOLE), full indexes
  hole-first    the same, at the beginning of files only
  plain-shifted, plain-interlaced   plain clusters of several blocks
  extents-4, -8, -16, -32   each size of extent records, LZ4 and DEFLATE
  fragment-4g   a tail in the packed inode beyond 4 GiB, behind full indexes; a
                whole file across the border; the packed inode is sparse
  device-48     addresses, sizes and starts of two devices above 32 bits: chunks,
                flat files, compressed extents; FILE1 and its sister are written
  device-flat   the same addresses inside the image itself, 2 TiB of which are a hole;
                blocks of 512 bytes
  device-neighbours   chunks that follow each other on disk by sector number, but on
                three devices by turns
  inline-4g     inline clusters (and tails) in a metadata area behind 4 GiB
  shared-metabox   inodes and shared xattrs in an uncompressed metabox
"""
import os
import random
import stat
import struct
import sys
import zlib

sys.dont_write_bytecode = True      # no __pycache__ among the sources
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from crc32c import crc32c

BS = 4096               # 512 for device-flat
PLAIN, HEAD1, NONHEAD, HEAD2 = range(4)
HOLE = 1 << 14
BIG1, BIG2, INLINE, INTERLACED, FRAGMENT = 2, 4, 8, 0x10, 0x20
FOUR_GIB = 1 << 32
GiB = 1 << 30


def up(x, a):
    return -(-x // a) * a


def lz4(data):
    """A valid LZ4 block; greedy."""
    out, table, i, anchor, n = bytearray(), {}, 0, 0, len(data)

    def length(x):
        while x >= 255:
            out.append(255)
            x -= 255
        out.append(x)

    def sequence(lits, match):
        out.append(min(len(lits), 15) << 4 | min(max(match - 4, 0), 15))
        if len(lits) >= 15:
            length(len(lits) - 15)
        out.extend(lits)

    while i < n - 12:
        key = data[i:i + 4]
        at = table.get(key)
        table[key] = i
        if at is None or i - at > 65535:
            i += 1
            continue
        m = 4
        while i + m < n - 4101 and data[at + m:at + m + 4096] == data[i + m:i + m + 4096]:
            m += 4096
        while i + m < n - 5 and data[at + m] == data[i + m]:
            m += 1
        sequence(data[anchor:i], m)
        out += struct.pack("<H", i - at)
        if m - 4 >= 15:
            length(m - 4 - 15)
        i += m
        anchor = i
    sequence(data[anchor:], 0)
    return bytes(out)


def deflate(data):
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    return c.compress(data) + c.flush()


class Node:
    """One inode: form and i_u, what follows it, and where it lies."""

    def __init__(self, path, parent=None):
        self.path, self.st = path, os.lstat(path)
        self.parent = parent or self
        self.kids = {}
        self.xattrs = {k: os.getxattr(path, k, follow_symlinks=False)
                       for k in os.listxattr(path, follow_symlinks=False)}
        self.data = b""
        if stat.S_ISLNK(self.st.st_mode):
            self.data = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(self.st.st_mode):
            with open(path, "rb") as f:
                self.data = f.read()
        self.size = len(self.data)
        self.layout, self.u, self.nb, self.extended = 2, 0xFFFFFFFF, None, False
        self.tail = b""         # behind inode and xattrs, aligned to align
        self.idata = b""        # the end of the tail that lies within one block
        self.align = 1
        self.build = None       # called with the position of the tail
        self.body = b""
        self.pos = 0

    def is_dir(self):
        return stat.S_ISDIR(self.st.st_mode)

    def head(self):
        return (64 if self.extended else 32) + len(self.body)


class Image:
    def __init__(self, kind, blob):
        self.kind, self.blob = kind, blob
        self.first = 4096 // BS         # blocks of superblock and device table
        self.lc = BS << kind.startswith("lcluster-")    # bytes of a logical cluster
        self.narrow = not kind.startswith(("lcluster-", "longest-"))
        self.data = bytearray()         # blocks from block self.first on
        self.devices = [bytearray(), bytearray()]
        self.compat, self.incompat, self.algorithms = 3, 0, 0
        self.packed, self.far_fragment = None, FOUR_GIB + 12345
        self.metabox = kind == "shared-metabox"
        self.shared, self.shared_ids = bytearray(), {}
        self.random = random.Random(kind)

    # ---- data ----

    def blocks(self, data):
        """Appends whole blocks, returns the address of the first."""
        at = self.first + len(self.data) // BS
        self.data += data + bytes(-len(data) % BS)
        return at

    def cut(self, node, fit=None):
        """Cuts a file into (start, length, type, cluster).  At most one extent
        starts in a block; fit=1: no cluster is larger than a block."""
        data, pos, turn, out = node.data, 0, 0, []
        plain = self.kind.startswith("plain")
        holes = self.kind.startswith("hole")
        while pos < len(data):
            left = len(data) - pos
            if holes and left >= BS and not any(data[pos:pos + BS]):
                n = BS
                while n < left and data[pos + n] == 0:
                    n += 1
                if self.kind == "hole-first":
                    n = min(n, self.random.randint(BS, 5 * BS))
                out.append((pos, n, HOLE, b""))
                pos += n
                continue
            holes = self.kind == "hole"
            n = min(left, self.random.randint(2 * BS, 9 * BS))
            if 0 < left - n < 2 * BS:
                n = left
            if self.kind == "hole":
                zeros = data.find(bytes(BS), pos, pos + n)
                n = zeros - pos if zeros > pos + BS else n
            turn += 1
            kind = HEAD1 if turn % 2 else HEAD2
            if plain and turn % 3 == 0 or n < 2 * BS:
                # two blocks or more, or the end of the file
                kind, packed = PLAIN, data[pos:pos + n]
                if n <= BS or not plain:
                    n = min(n, BS)
                    packed = data[pos:pos + n]
            else:
                while True:
                    part = data[pos:pos + n]
                    packed = lz4(part) if kind == HEAD1 or fit else deflate(part)
                    if not fit or len(packed) <= BS or n <= BS:
                        break
                    n = max(BS, n // 2)
                if up(len(packed), BS) >= n:
                    n = min(n, BS)
                    kind, packed = PLAIN, data[pos:pos + n]
                elif fit:
                    kind = HEAD1
            out.append((pos, n, kind, packed))
            pos += n
        return out

    def cut_wide(self, node):
        """The same with extents of two lclusters or more: the size of a cluster is
        stored in the second one."""
        data, pos, out = node.data, 0, []
        while pos < len(data):
            n = min(len(data) - pos, self.random.randint(2 * self.lc, 5 * self.lc))
            if self.kind.startswith("longest"):
                n = min(len(data) - pos, 12 << 20)
            if len(data) - pos - n < 2 * self.lc:
                n = len(data) - pos
            part = data[pos:pos + n]
            kind, packed = (HEAD2, deflate(part)) if len(out) % 2 else (HEAD1, lz4(part))
            if up(len(packed), BS) >= min(n, 1 << 20):
                n = min(n, 1 << 20)
                kind, packed = PLAIN, part[:n]
            out.append((pos, n, kind, packed))
            pos += n
        return out

    def cluster(self, start, kind, packed):
        """Blocks of a cluster: compressed data ends with the last one."""
        size = up(len(packed), BS)
        if kind != PLAIN:
            return bytes(size - len(packed)) + packed
        packed = packed + bytes(size - len(packed))
        if self.kind != "plain-interlaced":
            return packed
        # byte k of the extent is at (k - (bs - o)) mod size, o = start mod bs
        turn = BS - start % BS
        return packed[turn:] + packed[:turn]

    # ---- compressed files ----

    def index(self, node):
        """Records of one lcluster each: lists of (type, clusterofs or delta0,
        delta1, address or None, blocks of the cluster or 0)."""
        small, lsize = self.kind.startswith("hole"), self.lc
        n = -(-node.size // lsize)
        extents = self.cut(node, fit=small) if self.narrow else self.cut_wide(node)
        recs = [None] * n
        tail = None
        if self.kind == "fragment-4g" and len(extents) > 2:
            tail = len(extents) - 1
        for k, (start, length, kind, packed) in enumerate(extents):
            lc = start // lsize
            if k == tail:
                where = self.far_fragment
                self.far_fragment += length + 777
                self.fragment(where, node.data[start:])
                node.fragment = where & 0xFFFFFFFF
                recs[lc] = [HEAD1, start % lsize, 0, where >> 32, 0]
                continue
            if self.kind == "inline-4g" and k == len(extents) - 1 and len(packed) < BS // 2:
                node.idata = packed
                recs[lc] = [kind, start % lsize, 0, 0, 1]
                continue
            if kind == HOLE:
                recs[lc] = [HEAD1 | HOLE, start % lsize, 0, 0, 0]
                continue
            raw = self.cluster(start, kind, packed)
            recs[lc] = [kind, start % lsize, 0, self.blocks(raw), len(raw) // BS]
        ends = [i for i in range(n) if recs[i]] + [n]
        if node.size % lsize and recs[n - 1] is None:
            recs[n - 1] = [PLAIN, node.size % lsize, 0, 0, 0]
            ends = [i for i in range(n) if recs[i]] + [n]
        for i in range(n):
            if recs[i]:
                continue
            head = max(e for e in ends if e < i)
            nxt = min(e for e in ends if e > i)
            count = 0
            if i == head + 1 and not small:
                # a fragment has no blocks of its own
                count = 1 if tail is not None and head == extents[tail][0] // lsize else recs[head][4]
            # bit 11 is taken
            recs[i] = [NONHEAD, min(i - head, 2047), min(nxt - i, 2047), None, count]
        return recs

    def compress(self, node):
        self.incompat |= 1 | 2 | 8
        self.algorithms |= 1 | 4
        compact = self.kind.endswith("-compact")
        recs = self.index(node)
        advise = 0 if self.kind.startswith("hole") else BIG1 | BIG2
        if self.kind == "plain-interlaced":
            advise |= INTERLACED
            self.incompat |= 0x20
        off = getattr(node, "fragment", None)
        if off is not None:
            advise |= FRAGMENT
        if self.kind in ("head2-compact", "longest-compact"):
            advise |= 1     # packs of 2-byte records, too
        if node.idata:
            self.incompat |= 0x10
            advise |= INLINE
            off = len(node.idata) << 16
        head = struct.pack("<IHBB", off or 0, advise, 0x20, self.lc // BS - 1)
        node.layout, node.u, node.align = (3 if compact else 1), 1, 8
        if compact:
            node.build = lambda pos: head + self.packs(recs, pos + 8, advise & 1)
            node.tail = bytes(8 + 8 * len(recs) + 64)
            return
        body = head + bytes(8)
        for kind, a, b, addr, count in recs:
            if kind == NONHEAD:
                body += struct.pack("<HHHH", kind, 0, 0x800 | count if count else a, b)
            else:
                body += struct.pack("<HHI", kind, a, addr)
        node.tail = body + node.idata

    def packs(self, recs, ebase, short):
        """Compact indexes for a table at ebase; short: packs of 2-byte records, too."""
        out, n, i = bytearray(), len(recs), 0
        c4 = (32 - ebase % 32) // 4 % 8
        c2 = (n - c4) // 16 * 16 if short and n > c4 else 0
        low = max(12, self.lc.bit_length() - 1)
        addr = next(r[3] for r in recs if r[0] != NONHEAD)
        while i < n:
            two = c4 <= i < c4 + c2
            count, width, room = (16, 14, 32) if two else (2, 16, 8)
            part, bits = recs[i:i + count], 0
            base = addr
            for j, (kind, a, b, at, blocks) in enumerate(part):
                if kind != NONHEAD:
                    value = a
                    following = recs[i + j + 1] if i + j + 1 < n else None
                    if following is None or not (following[0] == NONHEAD and following[4]):
                        addr += blocks
                elif blocks:
                    value, addr = 0x800 | blocks, addr + blocks
                else:
                    value = b if j == count - 1 else a
                bits |= (value | kind << low) << width * j
            out += bits.to_bytes(room - 4, "little") + struct.pack("<I", base)
            i += count
        return bytes(out)

    def extents(self, node, size):
        """Encoded extents with records of so many bytes."""
        self.incompat |= 1 | 2 | 0x80
        self.algorithms |= 1 | 4
        shift = 2 if size < 16 else 0
        step = BS << shift
        raw, recs = bytearray(), []
        pos = k = 0
        far = 0
        while pos < node.size:
            n = step if size < 16 else self.random.randint(1000, 9 * BS)
            part = node.data[pos:pos + n]
            k += 1
            if not any(part):
                recs.append((0, 0, pos))        # a hole
            else:
                f, packed = (1, lz4(part)) if k % 2 else (3, deflate(part))
                if len(packed) >= len(part):
                    f, packed = 0, part
                # neither position nor length is a multiple of the block
                recs.append((f << 28 | len(packed), len(raw), pos))
                raw += packed
            pos += len(part)
        if self.kind in ("device-48", "device-flat"):
            far = self.far(0, raw) * BS
        else:
            far = self.blocks(raw) * BS
        shape = {4: 1, 8: 3, 16: 5, 32: 7}[size]
        if size < 16:
            head = struct.pack("<IHBB", 0, shape, 0, shift)
        else:
            head = struct.pack("<IHH", len(recs), shape, 0)
        body = struct.pack("<Q", far) if size == 4 else b""
        for plen, at, start in recs:
            at += far
            if size == 4:
                body += struct.pack("<I", plen)
            elif size == 8:
                body += struct.pack("<II", plen, at)
            else:
                body += struct.pack("<IIII", plen, at & 0xFFFFFFFF, at >> 32, start)
                if size == 32:
                    body += struct.pack("<IIII", 0, 0, 0, 0)
        node.layout, node.u, node.align = 1, 1, 8
        # the table begins at a multiple of its record size
        node.tail = bytes(8 + size + len(body))
        node.build = lambda pos: head + bytes(up(pos + 8, size) - pos - 8) + body

    # ---- fragments ----

    def fragment(self, where, data):
        """Puts data at byte where of the packed file."""
        self.incompat |= 0x20
        if self.packed is None:
            self.packed = {}
        chunk = 1 << 20
        while data:
            c, o = where // chunk, where % chunk
            part = data[:chunk - o]
            have = self.packed.setdefault(c, bytearray(chunk))
            have[o:o + len(part)] = part
            data, where = data[len(part):], where + len(part)

    def packed_node(self, top):
        node = Node(top)
        node.size, node.layout, node.extended = 5 * GiB, 4, True
        node.kids, node.xattrs, node.u, node.align = {}, {}, 8, 4
        table = [0xFFFFFFFF] * (5 * GiB >> 20)
        for c, data in self.packed.items():
            table[c] = self.blocks(bytes(data))
        node.tail = struct.pack(f"<{len(table)}I", *table)
        node.mode = 0o100600
        self.incompat |= 4
        return node

    # ---- devices ----

    START = [(1 << 32) + 16, (1 << 34) + 5]     # of the two devices, in blocks
    SIZE = [(1 << 32) + 64, 4096]               # as stated

    def far(self, dev, data, skip=0):
        """Puts data on a device, returns its unified block address."""
        have = self.devices[dev]
        have += bytes(-len(have) % BS + skip * BS)
        at = len(have) // BS
        have += data + bytes(-len(data) % BS)
        return self.START[dev] + at

    def device_file(self, node, turn):
        self.incompat |= 4 | 8 | 0x80
        node.extended = True
        if turn % 3 == 0:
            # beyond the low 32 bits of the stated size
            at = self.far(0, node.data, skip=80)
            node.layout, node.u, node.nb = 0, at & 0xFFFFFFFF, at >> 32
        elif turn % 3 == 1:
            node.layout, node.u, node.align = 4, 0x20 | 0x40 | 1, 8
            for k in range(0, node.size, 2 * BS):
                part = node.data[k:k + 2 * BS]
                dev = self.random.randrange(2)
                at = self.far(dev, part)
                if not any(part):
                    rec = (0xFFFF, 1, 0xFFFFFFFF)
                elif self.random.randrange(2):
                    rec = (0, dev + 1, at - self.START[dev])
                else:
                    rec = (at >> 32, 0, at & 0xFFFFFFFF)
                node.tail += struct.pack("<HHI", *rec)
        else:
            self.extents(node, 16)

    def neighbours_file(self, node):
        """Chunk k lies on device k % 3, and would follow chunk k - 1 on one device."""
        self.incompat |= 4 | 8
        node.layout, node.u, node.align = 4, 0x20, 8
        base = max(1 + len(self.data) // BS, *(len(d) // BS for d in self.devices))
        self.data += self.random.randbytes((base - 1) * BS - len(self.data))
        for d in self.devices:
            d += self.random.randbytes(base * BS - len(d))
        for k in range(0, node.size, BS):
            part = node.data[k:k + BS]
            for i, d in enumerate((self.data, *self.devices)):
                d += part + bytes(BS - len(part)) if i == k // BS % 3 else self.random.randbytes(BS)
            node.tail += struct.pack("<HHI", 0, k // BS % 3, base + k // BS)

    # ---- metadata ----

    def shape(self, node, turn):
        """Decides how the content of a regular file is stored."""
        if node.size <= 2 * BS:
            # small ones: inline
            whole = (node.size - 1) // BS * BS if node.size else 0
            if whole:
                node.u = self.blocks(node.data[:whole])
            node.tail = node.data[whole:]
            if len(node.tail) + 256 > BS:
                node.layout, node.u, node.tail = 0, self.blocks(node.data), b""
        elif self.kind in ("device-48", "device-flat"):
            self.device_file(node, turn)
        elif self.kind == "device-neighbours":
            self.neighbours_file(node)
        elif self.kind == "shared-metabox" or node.size < 2 * self.lc:
            node.layout, node.u = 0, self.blocks(node.data)
        elif self.kind.startswith("extents-"):
            self.extents(node, int(self.kind[8:]))
        elif self.kind == "fragment-4g" and turn % 3 == 2:
            self.incompat |= 1 | 2
            self.algorithms |= 1
            where = FOUR_GIB - 4321 + (turn << 21)
            if where - FOUR_GIB > (1 << 21):
                where = FOUR_GIB + (turn << 21)
            self.fragment(where, node.data)
            node.layout, node.u, node.align = 1, 0, 8
            node.tail = struct.pack("<Q", 1 << 63 | where)
        else:
            self.compress(node)

    def xattr_body(self, node):
        if not node.xattrs:
            return
        index = {"user": 1, "trusted": 4, "security": 6}
        shared, inline = [], b""
        for key, value in sorted(node.xattrs.items()):
            prefix, name = key.split(".", 1)
            entry = struct.pack("<BBH", len(name), index[prefix], len(value)) + name.encode() + value
            entry += bytes(-len(entry) % 4)
            if "shared" in name:
                if entry not in self.shared_ids:
                    self.shared_ids[entry] = len(self.shared) // 4
                    self.shared += entry
                shared.append(self.shared_ids[entry])
            else:
                inline += entry
        node.body = struct.pack("<IB7x", 0, len(shared)) + struct.pack(f"<{len(shared)}I", *shared)
        node.body += inline

    def directory(self, node, nid):
        """One block of entries; nid() gives the locator of a node."""
        items = [(b".", node), (b"..", node.parent)] + list(node.kids.items())
        items.sort(key=lambda i: i[0])
        kinds = {stat.S_IFREG: 1, stat.S_IFDIR: 2, stat.S_IFLNK: 7}
        off, entries, names = 12 * len(items), b"", b""
        for name, child in items:
            entries += struct.pack("<QHBB", nid(child), off + len(names),
                                   kinds[stat.S_IFMT(child.st.st_mode)], 0)
            names += name
        return entries + names

    def write(self, out, top):
        nodes = []

        def walk(path, parent):
            node = Node(path, parent)
            nodes.append(node)
            if node.is_dir():
                for name in sorted(os.listdir(os.fsencode(path))):
                    node.kids[name] = walk(os.path.join(os.fsencode(path), name), node)
            return node

        root = walk(top, None)
        epoch = int(root.st.st_mtime)
        turn = 0
        for node in nodes:
            assert node.st.st_mtime_ns == epoch * 10**9 and not node.st.st_uid, node.path
            self.xattr_body(node)
            if node.is_dir():
                node.tail = self.directory(node, lambda _: 0)
                node.size = len(node.tail)
                assert node.head() + node.size <= BS
            elif stat.S_ISLNK(node.st.st_mode):
                node.tail = node.data
            else:
                self.shape(node, turn)
                turn += node.size > 2 * BS
        packed = None
        if self.packed is not None:
            packed = self.packed_node(top)
            nodes.append(packed)

        # Places: an inline tail does not cross a block.  Nid 0 is left out, since
        # readdir(3) hides entries with inode number 0.
        pos = 32
        for node in nodes:
            pos = up(pos, 32)
            if not node.extended and pos % BS > BS - 32:
                pos = up(pos, BS)
            end = up(pos + node.head(), node.align)
            if node.layout == 2 and end % BS + len(node.tail) > BS:
                pos = up(pos, BS)
                end = up(pos + node.head(), node.align)
            while node.idata and (end + len(node.tail) - len(node.idata)) % BS + len(node.idata) > BS:
                pos += 32
                end = up(pos + node.head(), node.align)
            if os.fsencode(node.path).endswith(b"/edge"):
                pos = up(end + len(node.tail), BS) - len(node.tail) - node.head()
                end = pos + node.head()
                assert pos % 32 == 0
            node.pos = pos
            pos = end + len(node.tail)
        flag = 1 << 63 if self.metabox else 0

        def nid(node):
            return node.pos // 32 | flag

        meta = bytearray(up(pos, BS))
        for node in nodes:
            if node.is_dir() and node is not packed:
                node.tail = self.directory(node, nid)
            mode = getattr(node, "mode", node.st.st_mode)
            links = node.st.st_nlink if not node.is_dir() else \
                2 + sum(k.is_dir() for k in node.kids.values())
            icount = (len(node.body) - 12) // 4 + 1 if node.body else 0
            first = struct.pack("<HHH", node.layout << 1 | node.extended, icount, mode)
            if node.extended:
                ino = first + struct.pack("<HQIIIIQII16x", node.nb or 0, node.size, node.u,
                                          1, 0, 0, epoch, 0, links)
            else:
                ino = first + struct.pack("<HIIIIHH4x", links, node.size, 0, node.u, 1, 0, 0)
            meta[node.pos:node.pos + len(ino)] = ino
            meta[node.pos + len(ino):node.pos + len(ino) + len(node.body)] = node.body
            at = up(node.pos + node.head(), node.align)
            tail = node.build(at) if node.build else node.tail
            meta[at:at + len(tail)] = tail

        shared_blk = len(meta) // BS
        meta += self.shared + bytes(-len(self.shared) % BS)
        fields = {}
        if self.metabox:
            self.incompat |= 0x80 | 0x100
            self.compat |= 8
            start = self.blocks(meta)
            box = struct.pack("<HHHHQIIIIQII16x", 1, 0, 0o100600, 0, len(meta), start, 1, 0, 0,
                              epoch, 0, 1)
            metablk = self.blocks(bytes(32) + box)
            fields = {"root8": nid(root), "box": 1}
        else:
            metablk = FOUR_GIB // BS + 77 if self.kind == "inline-4g" else self.blocks(meta)
            shared_blk += metablk
        self.superblock(out, root, epoch, metablk, shared_blk, len(nodes), packed, fields)
        if self.kind == "inline-4g":
            with open(out, "r+b") as f:
                f.seek(metablk * BS)
                f.write(meta)

    def superblock(self, out, root, epoch, metablk, shared_blk, inodes, packed, fields):
        if self.algorithms:
            self.incompat |= 2
        slots = self.kind.startswith("device-")
        start, size = self.START, self.SIZE
        if self.kind == "device-neighbours":
            size = [len(d) // BS for d in self.devices]
            start = [1 << 20, 1 << 21]
        elif self.kind == "device-flat":
            size = [4096, 4096]
        ext = 1 if "box" in fields else 0
        block = bytearray(self.first * BS)
        total = self.first + len(self.data) // BS
        struct.pack_into("<IIIBBHQqIIII", block, 1024, 0xE0F5E1E2, 0, self.compat,
                         BS.bit_length() - 1, ext, 0 if fields else root.pos // 32, inodes, epoch, 0, total, metablk,
                         shared_blk)
        struct.pack_into("<IHHHBBIQ", block, 1024 + 80, self.incompat, self.algorithms,
                         2 if slots else 0, 16 if slots else 0, 0, 0, 0,
                         packed.pos // 32 if packed else 0)
        struct.pack_into("<Q", block, 1024 + 112, fields.get("root8", 0))
        if ext:
            struct.pack_into("<Q", block, 1024 + 128, fields["box"])
        pos = 1024 + 128 + 16 * ext
        blks = 256 if self.kind.startswith("longest") else 16
        for n, record in ((0, struct.pack("<HHH10x", 14, 65535, blks)), (2, struct.pack("<HB5x", 6, 15))):
            if self.algorithms >> n & 1:
                pos = up(pos, 4)
                block[pos:pos + len(record)] = record
                pos += len(record)
        if slots:
            for i in range(2):
                struct.pack_into("<IIHH", block, (16 + i) * 128 + 64, size[i] & 0xFFFFFFFF,
                                 start[i] & 0xFFFFFFFF, size[i] >> 32, start[i] >> 32)
                if self.kind == "device-flat":
                    continue
                name = self.blob if i == 0 else self.blob[:-1] + "2"
                with open(name, "wb") as f:
                    f.write(self.devices[i])
        # up to the end of the block that the superblock begins in
        struct.pack_into("<I", block, 1028, crc32c(block[1024:up(1025, BS)]))
        with open(out, "wb") as f:
            f.write(block + self.data)
            for i in range(2 if self.kind == "device-flat" else 0):
                f.seek(start[i] * BS)
                f.write(self.devices[i] + bytes(-len(self.devices[i]) % BS))


def main():
    args = sys.argv[1:]
    blob = ""
    if len(args) == 4 and args[1].startswith("--blob="):
        blob = args.pop(1)[7:]
    if len(args) != 3:
        sys.exit("usage: mkhand.py KIND [--blob=FILE1] IMAGE TREE")
    if args[0] == "device-flat":
        global BS
        BS = 512
        Image.START = [(1 << 32) + 16, (1 << 32) + 16 + 4096 + 5]
    Image(args[0], blob).write(args[1], args[2])


main()
