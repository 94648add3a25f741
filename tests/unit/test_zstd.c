/* links: decompressor_zstd.c; libs: -lzstd */
// SPDX-License-Identifier: GPL-2.0
/* test_zstd.c - Zstandard frames of all shapes a writer may choose, and those it may not. */
#include "dec_zstd.h"

struct how {
	int level;
	int wlog;
	bool size;	/* content size in the header */
	bool csum;
	bool stream;	/* input in pieces, with flushes */
};

static ZSTD_CCtx *cctx;

static size_t encode(const u8 *in, size_t len, u8 *out, size_t cap, const struct how *h)
{
	ZSTD_outBuffer o = { out, cap, 0 };
	ZSTD_inBuffer i = { in, 0, 0 };

	ZSTD_CCtx_reset(cctx, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(cctx, ZSTD_c_compressionLevel, h->level);
	ZSTD_CCtx_setParameter(cctx, ZSTD_c_windowLog, h->wlog);
	ZSTD_CCtx_setParameter(cctx, ZSTD_c_contentSizeFlag, h->size);
	ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, h->csum);
	if (!h->stream) {
		size_t n = ZSTD_compress2(cctx, out, cap, in, len);

		CHECK(!ZSTD_isError(n), "%s", ZSTD_getErrorName(n));
		return n;
	}
	if (h->size)
		ZSTD_CCtx_setPledgedSrcSize(cctx, len);
	for (i.size = min_t(size_t, len, 1000); i.size < len; i.size += min(len - i.size, 7000UL))
		CHECK(!ZSTD_compressStream2(cctx, &o, &i, ZSTD_e_flush), "flush");
	CHECK(!ZSTD_compressStream2(cctx, &o, &i, ZSTD_e_end), "end");
	return o.pos;
}

int main(void)
{
	static const struct how how[] = {
		{ 1, 17, true, false, false },
		{ 3, 17, false, false, false },
		{ 9, 17, true, true, false },
		{ 19, 17, true, false, false },
		{ 5, 10, true, false, false },
		{ 5, 10, false, true, true },
		{ 3, 12, false, false, true },
		{ 3, 17, true, false, true },
	};
	static u8 plain[300000], enc[400000];
	size_t i, j, k, n, m, len;
	struct how h;
	u8 *big, *p;

	cctx = ZSTD_createCCtx();
	CHECK(cctx, "out of memory");

	CHECK(!z_erofs_zstd_workspace_size(9) && !z_erofs_zstd_workspace_size(21), "window range");
	CHECK(z_erofs_zstd_workspace_size(10) && z_erofs_zstd_workspace_size(20) > 1 << 20,
	      "workspace");

	for (k = 0; k < DT_KINDS; k++) {
		for (i = 0; i < ARRAY_SIZE(how); i++) {
			for (j = 0; j < 3; j++) {
				len = j == 0 ? 1 + dt_rand() % 300 : j == 1 ? 4096 : 100000;
				dt_fill(plain, len, k);
				n = encode(plain, len, enc, sizeof(enc) - 8, &how[i]);
				dt_stream(decode, enc, n, plain, len, true);
			}
		}
	}
	for (len = 1; len < 40; len++) {
		dt_fill(plain, len, DT_TEXT);
		n = encode(plain, len, enc, sizeof(enc) - 8, &how[len & 3]);
		dt_stream(decode, enc, n, plain, len, true);
	}

	/* each window is accepted at its own size, and refused one step below */
	dt_fill(plain, sizeof(plain), DT_FAR);
	for (i = 10; i <= 18; i++) {
		h = (struct how){ .level = 3, .wlog = (int)i };
		n = encode(plain, sizeof(plain), enc, sizeof(enc), &h);
		cur_log = i;
		dt_good(decode, enc, n, plain, sizeof(plain), false);
		dt_good(decode, enc, n, plain, sizeof(plain) - 1, true);
		if (i == 10)
			continue;
		cur_log = i - 1;
		dt_bad(decode, enc, n, sizeof(plain), false);
		dt_bad(decode, enc, n, 1000, true);
	}
	/* a single segment's window is its content */
	h = (struct how){ .level = 3, .wlog = 18, .size = true };
	n = encode(plain, 1 << 16, enc, sizeof(enc), &h);
	cur_log = 16;
	dt_good(decode, enc, n, plain, 1 << 16, false);
	cur_log = 15;
	dt_bad(decode, enc, n, 1 << 16, false);
	dt_bad(decode, enc, n, 1, true);
	cur_log = 17;

	/* two frames, a skippable frame before or behind, a skippable frame alone */
	h = how[0];
	n = encode(plain, 5000, enc, sizeof(enc), &h);
	m = encode(plain + 5000, 5000, enc + n, sizeof(enc) - n, &h);
	dt_bad(decode, enc, n + m, 10000, false);
	dt_bad(decode, enc, n + m, 10000, true);
	dt_bad(decode, enc, n + m, 5000, false);
	dt_good(decode, enc, n + m, plain, 5000, true);
	m = ZSTD_writeSkippableFrame(enc + n, 100, plain, 10, 0);
	dt_bad(decode, enc, n + m, 5000, false);
	dt_bad(decode, enc + n, m, 10, false);
	memmove(enc + m, enc, n);
	ZSTD_writeSkippableFrame(enc, m, plain, 10, 3);
	dt_bad(decode, enc, n + m, 5000, false);
	dt_bad(decode, enc, n + m, 5000, true);

	/* a dictionary id announces something that isn't there */
	h = how[0];
	n = encode(plain, 5000, enc + 8, sizeof(enc) - 8, &h);
	CHECK((enc[12] & 0xe3) == 0x60, "header %#x", enc[12]);	/* single segment, 2-byte size */
	memmove(enc, enc + 8, 5);
	memmove(enc + 6, enc + 13, n - 5);
	enc[4] |= 1;
	enc[5] = 77;
	dt_bad(decode, enc, n + 1, 5000, false);
	dt_bad(decode, enc, n + 1, 1, true);
	enc[5] = 0;	/* id 0: none */
	dt_good(decode, enc, n + 1, plain, 5000, false);

	/* damage: same verdict and same bytes as libzstd's streaming decoder */
	for (i = 0; i < 3000; i++) {
		len = 1 + dt_rand() % 20000;
		dt_fill(plain, len, dt_rand() % DT_KINDS);
		n = encode(plain, len, enc, sizeof(enc), &how[dt_rand() % ARRAY_SIZE(how)]);
		cur_log = i & 1 ? 17 : 12;
		for (j = 0; j < 4; j++) {
			p = dt_damage(enc, n);
			compare(p, n, len, false);
			compare(p, n, 1 + dt_rand() % len, true);
			compare(p, 1 + dt_rand() % n, len, true);
			free(p);
		}
	}

	/* the largest sizes */
	cur_log = 20;
	big = malloc(12 << 20);
	p = malloc(13 << 20);
	CHECK(big && p, "out of memory");
	memset(big, 'x', 12 << 20);
	dt_fill(big, 900000, DT_NOISE);
	h = (struct how){ .level = 1, .wlog = 20 };
	n = encode(big, 12 << 20, p, 13 << 20, &h);
	CHECK(n < 1 << 20, "encoded %zu", n);
	dt_good(decode, p, n, big, 12 << 20, false);
	dt_good(decode, p, n, big, (12 << 20) - 1, true);
	dt_bad(decode, p, n, (12 << 20) - 1, false);
	free(big);
	free(p);
	ZSTD_freeCCtx(cctx);

	printf("ok\n");
	return 0;
}
