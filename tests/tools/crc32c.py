# SPDX-License-Identifier: GPL-2.0
"""crc32c.py - the checksum of superblocks, as the format wants it: not inverted at
the end.  For programs that make or change images, which have it in their keys.
"""


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 & -(crc & 1))
    return crc
