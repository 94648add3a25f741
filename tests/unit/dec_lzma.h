/* SPDX-License-Identifier: GPL-2.0 */
/* dec_lzma.h - the MicroLZMA decoder and liblzma side by side, for the unit test and the fuzzer. */
#ifndef EROFS_DEC_LZMA_H
#define EROFS_DEC_LZMA_H

#include <lzma.h>
#include "dectest.h"

#define DICT	(1U << 18)

static u32 cur_dict = DICT;

static int decode(const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial)
{
	static size_t ws_size;
	static void *ws;
	size_t size = z_erofs_lzma_workspace_size();

	/* exactly as large as it has to be; what the last call left must not matter */
	if (size != ws_size) {
		free(ws);
		ws = malloc(size);
		ws_size = size;
	}
	CHECK(ws, "out of memory");
	if (dt_rand() % 8 == 0)
		memset(ws, 0xa5, size);
	return z_erofs_lzma_decode(ws, cur_dict, src, srclen, dst, dstlen, partial);
}

/* liblzma's opinion; *out is filled as far as it came */
static int reference(const u8 *src, size_t srclen, u8 *out, size_t dstlen, bool partial)
{
	static lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret r;

	CHECK(lzma_microlzma_decoder(&s, srclen, dstlen, !partial, cur_dict) == LZMA_OK, "init");
	s.next_in = src;
	s.avail_in = srclen;
	s.next_out = out;
	s.avail_out = dstlen;
	r = lzma_code(&s, LZMA_FINISH);
	if (s.avail_out)
		return -EFSCORRUPTED;
	return r == LZMA_STREAM_END || (partial && r == LZMA_OK) ? 0 : -EFSCORRUPTED;
}

static void compare(const u8 *src, size_t srclen, size_t dstlen, bool partial)
{
	u8 *ref = malloc(dstlen), *out;
	int want, got;

	CHECK(ref, "out of memory");
	want = reference(src, srclen, ref, dstlen, partial);
	got = dt_run(decode, src, srclen, dstlen, partial, &out);
	CHECK(want == got, "liblzma %d, here %d: srclen %zu dstlen %zu partial %d",
	      want, got, srclen, dstlen, partial);
	if (!got)
		CHECK(!memcmp(ref, out, dstlen), "different bytes");
	free(ref);
	free(out);
}

#endif /* EROFS_DEC_LZMA_H */
