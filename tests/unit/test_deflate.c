/* links: decompressor_deflate.c; libs: -lz */
// SPDX-License-Identifier: GPL-2.0
/* test_deflate.c - raw DEFLATE streams of all block types, made with zlib or by hand. */
#include "dec_deflate.h"

/* @flush: 0 or the zlib flush value to use every @chunk bytes */
static size_t encode(const u8 *in, size_t len, u8 *out, size_t cap, int level, int wbits,
		     int strategy, int flush, size_t chunk)
{
	z_stream s = { 0 };
	size_t n;

	CHECK(deflateInit2(&s, level, Z_DEFLATED, -wbits, 8, strategy) == Z_OK, "init");
	s.next_in = (Bytef *)(uintptr_t)in;
	s.next_out = out;
	s.avail_out = cap;
	for (; flush && len > chunk; len -= chunk) {
		s.avail_in = chunk;
		CHECK(deflate(&s, flush) == Z_OK && !s.avail_in, "flush");
	}
	s.avail_in = len;
	CHECK(deflate(&s, Z_FINISH) == Z_STREAM_END, "finish");
	n = s.total_out;
	deflateEnd(&s);
	return n;
}

int main(void)
{
	static const struct { int level, wbits, strategy, flush; size_t chunk; } how[] = {
		{ 1, 15, Z_DEFAULT_STRATEGY, 0, 0 },
		{ 6, 15, Z_DEFAULT_STRATEGY, 0, 0 },
		{ 9, 15, Z_DEFAULT_STRATEGY, Z_FULL_FLUSH, 3000 },
		{ 9, 15, Z_DEFAULT_STRATEGY, Z_SYNC_FLUSH, 777 },
		{ 5, 15, Z_DEFAULT_STRATEGY, Z_PARTIAL_FLUSH, 5000 },
		{ 6, 9, Z_DEFAULT_STRATEGY, 0, 0 },
		{ 6, 12, Z_DEFAULT_STRATEGY, Z_FULL_FLUSH, 9000 },
		{ 6, 15, Z_FIXED, 0, 0 },
		{ 6, 15, Z_HUFFMAN_ONLY, 0, 0 },
		{ 6, 15, Z_RLE, 0, 0 },
		{ 0, 15, Z_DEFAULT_STRATEGY, 0, 0 },
	};
	/* "abc" stored; the padding bits of the header are set, as writers do */
	static const u8 stored[] = { 0xf9, 3, 0, 0xfc, 0xff, 'a', 'b', 'c' };
	/* ... non-final, then an empty final block of fixed codes */
	static const u8 two[] = { 0xf8, 3, 0, 0xfc, 0xff, 'a', 'b', 'c', 3, 0 };
	/* fixed codes: match of 3 bytes at distance 1 with nothing before it */
	static const u8 before[] = { 0x03, 0x02, 0x00 };
	/* block type 3 */
	static const u8 type3[] = { 0x07, 0, 0, 0 };
	static u8 plain[300000], enc[600000];
	u8 buf[sizeof(two) + 8];
	size_t i, j, k, n, len;
	u8 *big, *p;

	for (k = 0; k < DT_KINDS; k++) {
		for (i = 0; i < ARRAY_SIZE(how); i++) {
			for (j = 0; j < 3; j++) {
				len = j == 0 ? 1 + dt_rand() % 300 : j == 1 ? 4096 : 100000;
				dt_fill(plain, len, k);
				n = encode(plain, len, enc, sizeof(enc) - 8, how[i].level,
					   how[i].wbits, how[i].strategy, how[i].flush,
					   how[i].chunk);
				dt_stream(decode, enc, n, plain, len, true);
			}
		}
	}
	for (len = 1; len < 40; len++) {
		dt_fill(plain, len, DT_TEXT);
		n = encode(plain, len, enc, sizeof(enc) - 8, 9, 15, 0, 0, 0);
		dt_stream(decode, enc, n, plain, len, true);
	}

	memcpy(buf, stored, sizeof(stored));
	dt_stream(decode, buf, sizeof(stored), (const u8 *)"abc", 3, true);
	memcpy(buf, two, sizeof(two));
	dt_stream(decode, buf, sizeof(two), (const u8 *)"abc", 3, true);
	/* the output is complete, but the stream isn't finished */
	dt_bad(decode, two, 8, 3, false);
	dt_good(decode, two, 8, (const u8 *)"abc", 3, true);
	/* garbage in the part that isn't needed */
	memcpy(buf, two, sizeof(two));
	buf[8] = 0x07;
	dt_bad(decode, buf, sizeof(two), 3, false);
	dt_good(decode, buf, sizeof(two), (const u8 *)"abc", 3, true);
	dt_good(decode, buf, sizeof(two), (const u8 *)"abc", 2, true);
	dt_bad(decode, before, sizeof(before), 3, false);
	dt_bad(decode, before, sizeof(before), 3, true);
	dt_bad(decode, type3, sizeof(type3), 1, true);

	/* damage: same verdict and same bytes as zlib fed piecewise */
	for (i = 0; i < 3000; i++) {
		len = 1 + dt_rand() % 20000;
		dt_fill(plain, len, dt_rand() % DT_KINDS);
		k = dt_rand() % ARRAY_SIZE(how);
		n = encode(plain, len, enc, sizeof(enc) - 8, how[k].level, how[k].wbits,
			   how[k].strategy, how[k].flush, how[k].chunk);
		for (j = 0; j < 4; j++) {
			p = dt_damage(enc, n);
			compare(p, n, len, false);
			compare(p, n, 1 + dt_rand() % len, true);
			compare(p, 1 + dt_rand() % n, len, true);
			free(p);
		}
	}

	/* the farthest match of the format */
	dt_fill(plain, 40000, DT_NOISE);
	memcpy(plain + 32768 - 262, plain, 200);
	len = 33000;
	n = encode(plain, len, enc, sizeof(enc) - 8, 9, 15, 0, 0, 0);
	dt_stream(decode, enc, n, plain, len, true);

	/* the largest sizes */
	big = malloc(12 << 20);
	p = malloc(13 << 20);
	CHECK(big && p, "out of memory");
	memset(big, 'x', 12 << 20);
	dt_fill(big, 700000, DT_NOISE);
	n = encode(big, 12 << 20, p, 13 << 20, 1, 15, 0, 0, 0);
	CHECK(n < 1 << 20, "encoded %zu", n);
	dt_good(decode, p, n, big, 12 << 20, false);
	dt_good(decode, p, n, big, (12 << 20) - 1, true);
	dt_bad(decode, p, n, (12 << 20) - 1, false);
	free(big);
	free(p);

	printf("ok\n");
	return 0;
}
