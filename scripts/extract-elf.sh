#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# extract-elf.sh VMLINUZ OUT - unpack the ELF kernel inside an x86 bzImage.
# QEMU starts it directly, which saves unpacking it anew at each boot.
#
# The boot protocol's header says where the payload lies: setup_sects at
# 0x1f1 (8 bit), payload_offset at 0x248 and payload_length at 0x24c (32 bit),
# the offset counted from the first sector after the set-up code.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ $# = 2 ] || die "usage: $0 VMLINUZ OUT"

u8() { od -An -v -tu1 -j "$1" -N 1 "$img" | tr -d ' \n'; }
u32() { od -An -v -tu4 --endian=little -j "$1" -N 4 "$img" | tr -d ' \n'; }

img=$1 out=$2
[ "$(dd if="$img" bs=1 skip=514 count=4 2>/dev/null)" = HdrS ] ||
	die "$img is no x86 bzImage"
sects=$(u8 $((0x1f1)))
[ "$sects" != 0 ] || sects=4
off=$(((sects + 1) * 512 + $(u32 $((0x248)))))
# The last four bytes are the unpacked size, not part of the packed stream
# (except for gzip, whose own trailer is this number).
len=$(u32 $((0x24c)))
magic=$(od -An -v -tx1 -j "$off" -N 4 "$img" | tr -d ' \n')
case $magic in
fd377a58) unpack=(xz -dc) ;;
28b52ffd) unpack=(zstd -qdc) ;;
02214c18) unpack=(lz4 -qdc) ;;
1f8b*) unpack=(gzip -dc) len=$((len + 4)) ;;
*) die "$img: packed by an unknown method (magic $magic)" ;;
esac
need "${unpack[0]}"
dd if="$img" iflag=skip_bytes,count_bytes,fullblock bs=1M skip="$off" count=$((len - 4)) 2>/dev/null |
	"${unpack[@]}" >"$out.tmp"
[ "$(head -c 4 "$out.tmp" | tail -c 3)" = ELF ] || die "$img: payload is no ELF file"
mv "$out.tmp" "$out"
