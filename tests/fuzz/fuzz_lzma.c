/* links: decompressor_lzma.c; libs: -llzma */
// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_lzma.c - the MicroLZMA decoder against liblzma: same verdict, same bytes.
 *
 * Input: 4 bytes little-endian: bits 0 .. 15 output length - 1, bit 20 partial
 * mode, bit 21 small dictionary; then a stream.
 */
#include "fuzz.h"
#include "tests/unit/dec_lzma.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 head;

	if (size < 5)
		return 0;
	head = get_unaligned_le32(data);
	cur_dict = head & BIT(21) ? 4096 : DICT;
	compare(data + 4, size - 4, (head & 0xffff) + 1, head & BIT(20));
	return 0;
}
