/* links: decompressor_lzma.c; libs: -llzma */
// SPDX-License-Identifier: GPL-2.0
/* test_lzma.c - the MicroLZMA decoder against liblzma. */
#include "dec_lzma.h"

/* Encode as much of @in as fits into @cap bytes; returns the stream's length */
static size_t encode(const u8 *in, size_t *inlen, u8 *out, size_t cap,
		     u32 lc, u32 lp, u32 pb, u32 dict, u32 preset)
{
	static lzma_stream s = LZMA_STREAM_INIT;	/* kept: its memory is reused */
	lzma_options_lzma opt;

	CHECK(!lzma_lzma_preset(&opt, preset), "preset");
	opt.lc = lc;
	opt.lp = lp;
	opt.pb = pb;
	opt.dict_size = dict;
	CHECK(lzma_microlzma_encoder(&s, &opt) == LZMA_OK, "encoder");
	s.next_in = in;
	s.avail_in = *inlen;
	s.next_out = out;
	s.avail_out = cap;
	CHECK(lzma_code(&s, LZMA_FINISH) == LZMA_STREAM_END, "encode");
	*inlen = s.total_in;
	return s.total_out;
}

/* Extents longer or shorter than the stream; most, not all, have to fail */
static void wrong_length(const u8 *src, size_t srclen, size_t len)
{
	compare(src, srclen, len + 1, false);
	compare(src, srclen, len + 1, true);
	compare(src, srclen, len + 2, false);
	compare(src, srclen, len + 5000, true);
	dt_bad(decode, src, srclen, len + 5000, false);
	if (len > 1) {
		compare(src, srclen, len - 1, false);
		compare(src, srclen, 1 + dt_rand() % (len - 1), false);
	}
	if (len > 5000)
		dt_bad(decode, src, srclen, len - 5000, false);
}

int main(void)
{
	static const struct { u8 lc, lp, pb; } props[] = {
		{ 3, 0, 2 }, { 0, 0, 0 }, { 4, 0, 4 }, { 0, 4, 0 }, { 2, 2, 1 }, { 1, 3, 3 },
	};
	static const size_t caps[] = { 6, 64, 4096, 20000 };
	static u8 plain[220000], enc[(1 << 20) + 8];
	size_t i, j, k, n, len;
	u8 *big, *p;

	for (k = 0; k < DT_KINDS; k++) {
		for (i = 0; i < ARRAY_SIZE(props); i++) {
			for (j = 0; j < ARRAY_SIZE(caps); j++) {
				dt_fill(plain, sizeof(plain), k);
				len = j & 1 ? sizeof(plain) : 70000;
				n = encode(plain, &len, enc, caps[j], props[i].lc, props[i].lp,
					   props[i].pb, DICT, (u32)(i + j) % 7);
				/* nothing fits behind 6 bytes of header and flush */
				if (!len)
					continue;
				dt_stream(decode, enc, n, plain, len, false);
				wrong_length(enc, n, len);
			}
		}
	}

	/* tiny files */
	for (len = 1; len < 40; len++) {
		size_t l = len;

		dt_fill(plain, len, DT_TEXT);
		n = encode(plain, &l, enc, 4096, 3, 0, 2, DICT, 6);
		CHECK(l == len, "short");
		dt_stream(decode, enc, n, plain, len, false);
		wrong_length(enc, n, len);
	}

	/* damage: same verdict and same bytes as liblzma */
	for (i = 0; i < 1500; i++) {
		dt_fill(plain, 30000, dt_rand() % DT_KINDS);
		len = 1 + dt_rand() % 30000;
		n = encode(plain, &len, enc, 6 + dt_rand() % (i & 1 ? 100 : 4000), 3, 0, 2,
			   4096, dt_rand() % 3);
		if (!len)
			continue;
		cur_dict = i & 2 ? 4096 : 65536;
		for (j = 0; j < 4; j++) {
			p = dt_damage(enc, n);
			compare(p, n, len, false);
			compare(p, n, 1 + dt_rand() % len, true);
			compare(p, 1 + dt_rand() % n, len, true);
			free(p);
		}
	}
	cur_dict = DICT;

	/* all first bytes, before a stream and before noise */
	dt_fill(plain, 1000, DT_TEXT);
	len = 1000;
	n = encode(plain, &len, enc, 4096, 3, 0, 2, DICT, 6);
	for (i = 0; i < 256; i++) {
		u8 props_byte = 255 - i;

		enc[0] = i;
		compare(enc, n, len, false);
		compare(enc, n, 40, true);
		if (props_byte > 224 || props_byte % 9 + props_byte / 9 % 5 > 4)
			dt_bad(decode, enc, n, 1, true);
	}

	/* matches reach back exactly as far as the dictionary */
	dt_fill(plain, 200000, DT_NOISE);
	memcpy(plain + 100000, plain, 1000);
	len = 101000;
	n = encode(plain, &len, enc, sizeof(enc) - 8, 3, 0, 2, DICT, 6);
	CHECK(len == 101000, "short");
	p = malloc(n);
	CHECK(p, "out of memory");
	len = 100000;
	CHECK(encode(plain, &len, p, n, 3, 0, 2, DICT, 6) + 100 > n, "no far match");
	free(p);
	len = 101000;
	cur_dict = 100000;
	dt_good(decode, enc, n, plain, len, false);
	cur_dict = 99999;
	dt_bad(decode, enc, n, len, false);
	dt_good(decode, enc, n, plain, 100000, true);
	cur_dict = DICT;

	/* the largest sizes */
	big = malloc(12 << 20);
	CHECK(big, "out of memory");
	dt_fill(big, 12 << 20, DT_MIXED);
	len = 12 << 20;
	n = encode(big, &len, enc, 1 << 20, 3, 0, 2, 8 << 20, 0);
	cur_dict = 8 << 20;
	CHECK(n > (1 << 20) - 64, "encoded %zu", n);
	dt_good(decode, enc, n, big, len, false);
	memset(big, 0, 12 << 20);
	len = 12 << 20;
	n = encode(big, &len, enc, 1 << 20, 3, 0, 2, 8 << 20, 0);
	CHECK(len == 12 << 20, "encoded from %zu", len);
	dt_good(decode, enc, n, big, len, false);
	dt_good(decode, enc, n, big, len - 1, true);
	dt_bad(decode, enc, n, len / 2, false);
	free(big);

	printf("ok\n");
	return 0;
}
