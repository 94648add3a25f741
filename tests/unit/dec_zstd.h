/* SPDX-License-Identifier: GPL-2.0 */
/* dec_zstd.h - the Zstandard decoder and libzstd side by side, for the unit test and the fuzzer. */
#ifndef EROFS_DEC_ZSTD_H
#define EROFS_DEC_ZSTD_H

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include "dectest.h"

static u32 cur_log = 17;

static int decode(const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial)
{
	static size_t ws_size;
	static void *ws;
	size_t size = z_erofs_zstd_workspace_size(cur_log);

	/* exactly as large as it has to be; what the last call left must not matter */
	if (size != ws_size) {
		free(ws);
		ws = malloc(size);
		ws_size = size;
	}
	CHECK(ws, "out of memory");
	if (dt_rand() % 8 == 0)
		memset(ws, 0xa5, size);
	return z_erofs_zstd_decode(ws, size, cur_log, src, srclen, dst, dstlen, partial);
}

/* libzstd with memory of its own; the rules on windows and frames stated anew */
static int reference(const u8 *src, size_t srclen, u8 *out, size_t dstlen, bool partial)
{
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ZSTD_outBuffer o = { out, 0, 0 };
	ZSTD_inBuffer i = { src, srclen, 0 };
	size_t ret = 1, before;

	CHECK(d, "out of memory");
	if (srclen < 4 || get_unaligned_le32(src) != 0xfd2fb528 ||
	    ZSTD_getDictID_fromFrame(src, srclen))
		i.size = 0;
	ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, (int)cur_log);
	/* little room at a time: no shortcut for frames that fit the output */
	while (ret && i.size) {
		o.size = min_t(size_t, dstlen, o.pos + 999);
		before = i.pos + o.pos;
		ret = ZSTD_decompressStream(d, &o, &i);
		if (ZSTD_isError(ret) || i.pos + o.pos == before ||
		    (partial && o.pos == dstlen))
			break;
	}
	ZSTD_freeDCtx(d);
	if (o.pos != dstlen || (!partial && (ret || i.pos != srclen)))
		return -EFSCORRUPTED;
	return 0;
}

/*
 * Newer libraries judge some damaged frames (a block that is larger than the
 * window) by how much room there is for the output.  Is this such a frame?
 */
static bool two_minds(const u8 *src, size_t srclen)
{
	unsigned long long bound = ZSTD_decompressBound(src, srclen);
	size_t len, room;
	bool steps;
	u8 *buf;

	if (ZSTD_versionNumber() < 10506)
		return false;
	if (bound == ZSTD_CONTENTSIZE_ERROR)
		return true;
	if (bound > 64 << 20)
		return false;
	room = bound + 1;
	buf = malloc(room);
	CHECK(buf, "out of memory");
	len = ZSTD_decompress(buf, room, src, srclen);
	steps = !ZSTD_isError(len) && !reference(src, srclen, buf, len, false);
	free(buf);
	return !steps;
}

static void compare(const u8 *src, size_t srclen, size_t dstlen, bool partial)
{
	u8 *ref = malloc(dstlen), *out;
	int want, got;

	CHECK(ref, "out of memory");
	want = reference(src, srclen, ref, dstlen, partial);
	got = dt_run(decode, src, srclen, dstlen, partial, &out);
	CHECK(want == got || two_minds(src, srclen),
	      "libzstd %d, here %d: srclen %zu dstlen %zu partial %d",
	      want, got, srclen, dstlen, partial);
	if (!got && !want)
		CHECK(!memcmp(ref, out, dstlen), "different bytes");
	free(ref);
	free(out);
}

#endif /* EROFS_DEC_ZSTD_H */
