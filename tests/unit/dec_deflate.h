/* SPDX-License-Identifier: GPL-2.0 */
/* dec_deflate.h - the DEFLATE decoder and zlib side by side, for the unit test and the fuzzer. */
#ifndef EROFS_DEC_DEFLATE_H
#define EROFS_DEC_DEFLATE_H

#include <zlib.h>
#include "dectest.h"

static int decode(const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial)
{
	static size_t ws_size;
	static void *ws;
	size_t size = z_erofs_deflate_workspace_size();

	/* exactly as large as it has to be; what the last call left must not matter */
	if (size != ws_size) {
		free(ws);
		ws = malloc(size);
		ws_size = size;
	}
	CHECK(ws, "out of memory");
	if (dt_rand() % 8 == 0)
		memset(ws, 0xa5, size);
	return z_erofs_deflate_decode(ws, src, srclen, dst, dstlen, partial);
}

/* zlib with its own memory, a window and output in small pieces */
static int reference(const u8 *src, size_t srclen, u8 *out, size_t dstlen, bool partial)
{
	z_stream s = { 0 };
	size_t left = dstlen;
	int ret = Z_OK;
	bool used_up;

	CHECK(inflateInit2(&s, -15) == Z_OK, "init");
	s.next_in = (Bytef *)(uintptr_t)src;
	s.avail_in = srclen;
	s.next_out = out;
	do {
		s.avail_out = min_t(size_t, left, 257);
		left -= s.avail_out;
		ret = inflate(&s, Z_NO_FLUSH);
	} while (ret == Z_OK && !s.avail_out && left);
	left += s.avail_out;
	used_up = !s.avail_in;
	inflateEnd(&s);
	if (left)
		return -EFSCORRUPTED;
	return partial || (ret == Z_STREAM_END && used_up) ? 0 : -EFSCORRUPTED;
}

static void compare(const u8 *src, size_t srclen, size_t dstlen, bool partial)
{
	u8 *ref = malloc(dstlen), *out;
	int want, got;

	CHECK(ref, "out of memory");
	want = reference(src, srclen, ref, dstlen, partial);
	got = dt_run(decode, src, srclen, dstlen, partial, &out);
	CHECK(want == got, "zlib %d, here %d: srclen %zu dstlen %zu partial %d",
	      want, got, srclen, dstlen, partial);
	if (!got)
		CHECK(!memcmp(ref, out, dstlen), "different bytes");
	free(ref);
	free(out);
}

#endif /* EROFS_DEC_DEFLATE_H */
