#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""devices.py IMAGE - give an image the largest device table: 65535 slots of one block each.

Owns nothing else.  The table lies behind the image; the devices are parts of the
address space behind that, which a file of full length has.
"""
import os
import struct
import sys

with open(sys.argv[1], "r+b") as f:
    d = bytearray(f.read())
    d += bytes(-len(d) % 4096)
    slots, table = 65535, len(d)
    first = (table + slots * 128 + 4095) // 4096
    for i in range(slots):
        slot = bytearray(128)
        # tag 64, blocks u32, mapped address u32
        struct.pack_into("<II", slot, 64, 1, first + i)
        d += slot
    incompat, = struct.unpack_from("<I", d, 1024 + 80)
    struct.pack_into("<I", d, 1024 + 80, incompat | 8)
    struct.pack_into("<HH", d, 1024 + 86, slots, table // 128)
    compat, = struct.unpack_from("<I", d, 1024 + 8)
    struct.pack_into("<I", d, 1024 + 8, compat & ~1)
    f.seek(0)
    f.write(d)
    f.truncate((first + slots) * 4096)
print(os.path.getsize(sys.argv[1]) >> 20, "MiB", file=sys.stderr)
