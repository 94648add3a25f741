/* links: decompressor_deflate.c; libs: -lz */
// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_deflate.c - the DEFLATE decoder, which makes one call of zlib, against
 * zlib that is fed piece by piece: same verdict, same bytes.
 *
 * Input: 4 bytes little-endian: bits 0 .. 15 output length - 1, bit 20 partial
 * mode; then a stream.
 */
#include "fuzz.h"
#include "tests/unit/dec_deflate.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 head;

	if (size < 5)
		return 0;
	head = get_unaligned_le32(data);
	compare(data + 4, size - 4, (head & 0xffff) + 1, head & BIT(20));
	return 0;
}
