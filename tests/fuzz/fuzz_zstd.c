/* links: decompressor_zstd.c; libs: -lzstd */
// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_zstd.c - the Zstandard decoder in static memory against libzstd that
 * allocates and is fed piece by piece: same verdict, same bytes.
 *
 * Input: 4 bytes little-endian: bits 0 .. 15 output length - 1, bit 20 partial
 * mode, bit 21 up: window, log2 - 10 (modulo 11); then a frame.
 */
#include "fuzz.h"
#include "tests/unit/dec_zstd.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 head;

	if (size < 5)
		return 0;
	head = get_unaligned_le32(data);
	cur_log = 10 + (head >> 21) % 11;
	compare(data + 4, size - 4, (head & 0xffff) + 1, head & BIT(20));
	return 0;
}
