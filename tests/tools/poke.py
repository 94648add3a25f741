#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""poke.py IMAGE OUT EDIT... - damage an EROFS image at named places.

Owns the way damaged test images are made: a copy of IMAGE with the EDITs
applied and the superblock checksum made right again (unless "nocrc" is one of
the edits).  An edit is PLACE[+OFFSET]:TYPE OP VALUE without blanks, TYPE one of
u8 u16 u32 u64, OP one of = |= &= ^= +=; or PLACE[+OFFSET]:hex=BYTES,
PLACE[+OFFSET]:fill=BYTE,COUNT, PLACE[+OFFSET]:flip=COUNT (inverts bytes);
or truncate=SIZE, nocrc, set NAME=PLACE (printing aid: at=PLACE prints it).

Places (byte positions; paths as in the tree, directories must be uncompressed):
  @N                absolute byte N
  sb                superblock, 1024
  cfg               first compression record
  dev(N)            slot N of the device table, from 0
  ino(PATH)         inode; ino(#packed), ino(#metabox) for the hidden ones
  xattr(PATH)       xattr body
  map(PATH)         compression header
  idx(PATH,K)       full index record of lcluster K
  ext(PATH,K)       encoded extent record K
  chunk(PATH,K)     chunk record K
  data(PATH[,K])    data block K of a flat file, pcluster of lcluster K of a
                    file with full indexes, of extent K with encoded extents
  tail(PATH)        inline tail
  block(PATH,B)     block B of a directory
  dirent(PATH)      entry of PATH in its directory
  name(PATH)        first byte of its name there
  prefix            table of long xattr prefixes
  shared(K)         shared xattr with id K
VALUE may be a number, nid(PATH), blk(PLACE), or end[-N], the image's blocks.
"""
import re
import struct
import sys

sys.dont_write_bytecode = True      # no __pycache__ among the sources
from crc32c import crc32c

TYPES = {"u8": (1, "<B"), "u16": (2, "<H"), "u32": (4, "<I"), "u64": (8, "<Q")}


class Image:
    def __init__(self, data):
        self.d = bytearray(data)
        self.bits = self.d[1024 + 12]
        self.bs = 1 << self.bits
        self.compat, = self.at("<I", 1024 + 8)
        self.incompat, = self.at("<I", 1024 + 80)
        self.meta = self.at("<I", 1024 + 40)[0] * self.bs
        self.root = self.at("<H", 1024 + 14)[0]
        if self.incompat & 0x80 and self.at("<Q", 1024 + 112)[0]:
            self.root, = self.at("<Q", 1024 + 112)

    def at(self, fmt, pos):
        return struct.unpack_from(fmt, self.d, pos)

    def inode(self, nid):
        if nid >> 63:
            raise SystemExit("poke: inode is in the metabox")
        pos = self.meta + 32 * nid
        fmt, count = self.at("<HH", pos)
        ext = fmt & 1
        size = self.at("<Q" if ext else "<I", pos + 8)[0]
        body = 12 + 4 * (count - 1) if count else 0
        return {"pos": pos, "layout": fmt >> 1 & 7, "size": size, "u": self.at("<I", pos + 16)[0],
                "xattr": pos + (64 if ext else 32), "end": pos + (64 if ext else 32) + body}

    def blocks(self, i):
        """(position, length) of each block of an uncompressed inode"""
        n = (i["size"] + self.bs - 1) // self.bs
        for b in range(n):
            left = min(self.bs, i["size"] - b * self.bs)
            if i["layout"] == 2 and b == n - 1:
                yield i["end"], left
            elif i["layout"] in (0, 2):
                yield (i["u"] + b) * self.bs, left
            else:
                raise SystemExit("poke: needs an uncompressed inode")

    def entries(self, i):
        for pos, length in self.blocks(i):
            count = self.at("<H", pos + 8)[0] // 12
            for k in range(count):
                nid, off = self.at("<QH", pos + 12 * k)
                end = self.at("<H", pos + 12 * k + 20)[0] if k + 1 < count else length
                name = bytes(self.d[pos + off:pos + end]).split(b"\0")[0]
                yield (pos + 12 * k, pos + off), nid, name

    def find(self, path):
        """(nid, positions of its directory entry and name)"""
        if path == "#packed":
            return self.at("<Q", 1024 + 96)[0], None
        if path == "#metabox":
            return self.at("<Q", 1024 + 128)[0], None
        nid, entry = self.root, None
        for part in path.encode().split(b"/"):
            if not part:
                continue
            for pos, child, name in self.entries(self.inode(nid)):
                if name == part:
                    nid, entry = child, pos
                    break
            else:
                raise SystemExit(f"poke: no {path}")
        return nid, entry

    def place(self, text):
        m = re.fullmatch(r"@(\d+)|(\w+)(?:\(([^()]*)\))?", text)
        if not m:
            raise SystemExit(f"poke: bad place {text}")
        if m[1]:
            return int(m[1])
        kind, args = m[2], (m[3] or "").split(",")
        k = int(args[-1], 0) if len(args) > 1 or (args[0].isdigit()) else 0
        if kind == "sb":
            return 1024
        if kind == "cfg":
            return 1024 + 128 + 16 * self.d[1024 + 13]
        if kind == "dev":
            return (self.at("<H", 1024 + 88)[0] + k) * 128
        if kind == "prefix":
            return self.at("<I", 1024 + 92)[0] * 4
        if kind == "shared":
            return self.at("<I", 1024 + 44)[0] * self.bs + 4 * k
        nid, entry = self.find(args[0])
        i = self.inode(nid)
        head = i["end"] + 7 & ~7
        if kind == "ino":
            return i["pos"]
        if kind == "xattr":
            return i["xattr"]
        if kind == "dirent":
            return entry[0]
        if kind == "name":
            return entry[1]
        if kind == "tail":
            return i["end"]
        if kind == "block":
            return list(self.blocks(i))[k][0]
        if kind == "chunk":
            unit = 8 if i["u"] & 0x20 else 4
            return (i["end"] + unit - 1 & -unit) + unit * k
        if kind == "map":
            return head
        if kind == "idx":
            return head + 16 + 8 * k
        if kind == "ext":
            rec = 4 << (self.at("<H", head + 4)[0] >> 1 & 3)
            # with 4-byte records the first position comes before them
            return (head + 8 + rec - 1 & -rec) + (8 if rec == 4 else 0) + rec * k
        if kind == "data":
            if i["layout"] in (0, 2):
                return (i["u"] + k) * self.bs
            if i["layout"] == 4:
                p = self.place(f"chunk({args[0]},{k})")
                return self.at("<I", p + (4 if i["u"] & 0x20 else 0))[0] * self.bs
            if self.at("<H", head + 4)[0] & 1:
                if not self.at("<H", head + 4)[0] & 6:
                    return self.at("<Q", head + 8)[0]
                return self.at("<I", self.place(f"ext({args[0]},{k})") + 4)[0]
            return self.at("<I", head + 16 + 8 * k + 4)[0] * self.bs
        raise SystemExit(f"poke: bad place {text}")

    def value(self, text):
        if text.startswith("end"):
            return len(self.d) // self.bs + int(text[3:] or "0")
        m = re.fullmatch(r"(nid|blk)\((.*)\)", text)
        if not m:
            return int(text, 0)
        return self.find(m[2])[0] if m[1] == "nid" else self.place(m[2]) // self.bs

    def edit(self, text):
        m = re.fullmatch(r"(.+?)([+-]\d+)?:(u8|u16|u32|u64|hex|fill|flip)([|&^+]?=)(.+)", text)
        if not m:
            raise SystemExit(f"poke: bad edit {text}")
        pos = self.place(m[1]) + int(m[2] or "0")
        if m[3] == "hex":
            data = bytes.fromhex(m[5])
        elif m[3] == "fill":
            byte, count = m[5].split(",")
            data = bytes([int(byte, 0)]) * int(count, 0)
        elif m[3] == "flip":
            data = bytes(b ^ 0xFF for b in self.d[pos:pos + int(m[5], 0)])
        else:
            size, fmt = TYPES[m[3]]
            old, = self.at(fmt, pos)
            new = self.value(m[5])
            new = {"=": new, "|=": old | new, "&=": old & new, "^=": old ^ new,
                   "+=": old + new}[m[4]]
            data = struct.pack(fmt, new & ((1 << 8 * size) - 1))
        if pos < 0 or pos + len(data) > len(self.d):
            raise SystemExit(f"poke: {text} is outside the image")
        self.d[pos:pos + len(data)] = data

    def checksum(self):
        """Of the region that the block size of the original asks for."""
        if not self.compat & 1 or len(self.d) < 2048:
            return
        n = self.bs - 1024 if self.bs > 1024 else self.bs
        self.d[1028:1032] = bytes(4)
        self.d[1028:1032] = struct.pack("<I", crc32c(self.d[1024:1024 + n]))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as f:
        image = Image(f.read())
    crc, size = True, None
    for text in sys.argv[3:]:
        if text == "nocrc":
            crc = False
        elif text.startswith("truncate="):
            size = int(text[9:], 0)
        elif text.startswith("at="):
            pos = image.place(text[3:])
            print(text[3:], hex(pos), bytes(image.d[pos:pos + 32]).hex(" "))
        else:
            image.edit(text)
    if crc:
        image.checksum()
    with open(sys.argv[2], "wb") as f:
        f.write(image.d[:size])


main()
