/* links: decompressor_lz4.c; libs: -llz4 */
// SPDX-License-Identifier: GPL-2.0
/*
 * test_lz4.c - the LZ4 decoder: the same verdict and bytes as liblz4 on good
 * and damaged blocks, every prefix in partial mode, exact bounds, and decoding
 * in place with the smallest margin.  Deterministic.
 */
#define FUZZ_LZ4_CHECKS_ONLY
#include "../fuzz/fuzz_lz4.c"

#define MAX_CONTENT	(256 * 1024)
#define MAX_BLOCK	(2 * MAX_CONTENT)

static u64 rng_state = 88172645463325252ULL;

static u32 rnd(u32 n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (u32)(rng_state >> 32) % n;
}

static u8 content[MAX_CONTENT], block[MAX_BLOCK], damaged[MAX_BLOCK], out[MAX_CONTENT];
static unsigned long accepted, refused;

/* ---- content ------------------------------------------------------------ */

enum kind {
	TEXT, NOISE, RUNS, PERIODS, LONG_LITERALS, LONG_MATCHES, ZEROS, NOISE_TAIL, MIXED, KINDS
};

static void fill_text(u8 *p, size_t n)
{
	static const char *const syl[] = {
		"the ", "of ", "and ", "in", "ter", "nal", "pre", "s ", "to ", "con", "ver",
		"sion", "a ", "\n", "ing ", "er ", "ed, ", "un", "be", "fore ", "noun. ", "[1913 ",
	};
	size_t i = 0, k;

	while (i < n) {
		const char *w = syl[rnd(ARRAY_SIZE(syl))];

		if (!rnd(9)) {
			p[i++] = (u8)('a' + rnd(26));
			continue;
		}
		if (i > 200 && !rnd(4)) {
			size_t len = 4 + rnd(rnd(6) ? 12 : 60), from = rnd((u32)(i - 100));

			for (k = 0; k < len && i < n; k++)
				p[i++] = p[from + k];
			continue;
		}
		while (*w && i < n)
			p[i++] = (u8)*w++;
	}
}

static void fill(u8 *p, size_t n, enum kind kind)
{
	size_t i = 0, k, len, from;

	switch (kind) {
	case TEXT:
		fill_text(p, n);
		break;
	case NOISE:
		for (i = 0; i < n; i++)
			p[i] = (u8)rnd(256);
		break;
	case RUNS:
		while (i < n) {
			u8 c = (u8)rnd(256);

			len = 1 + rnd(rnd(8) ? 40 : 2000);
			while (len-- && i < n)
				p[i++] = c;
		}
		break;
	case PERIODS:	/* distances 1 .. 16, with a break now and then */
		while (i < n) {
			size_t period = 1 + rnd(16), start = i;

			len = period + 4 + rnd(rnd(4) ? 40 : 700);
			for (k = 0; k < len && i < n; k++, i++)
				p[i] = k < period ? (u8)rnd(256) : p[start + k % period];
		}
		break;
	case LONG_LITERALS:
		while (i < n) {
			len = 10 + rnd(rnd(3) ? 60 : 1200);
			from = i > 4000 ? i - 4000 : 0;
			while (len-- && i < n)
				p[i++] = (u8)rnd(256);
			for (k = 0; k < 4 + rnd(30) && i < n; k++, i++)
				p[i] = p[from + k];
		}
		break;
	case LONG_MATCHES:
		while (i < n) {
			len = i ? 15 + rnd(rnd(3) ? 80 : 3000) : 64;
			from = i ? rnd((u32)i) : 0;
			for (k = 0; k < len && i < n; k++, i++)
				p[i] = i < 64 ? (u8)rnd(256) : p[from + k];
			if (i < n)
				p[i++] = (u8)rnd(256);
		}
		break;
	case ZEROS:
		memset(p, 0, n);
		break;
	case NOISE_TAIL:
		fill_text(p, n / 2);
		fill(p + n / 2, n - n / 2, NOISE);
		break;
	default:
		while (i < n) {
			len = min_t(size_t, 1 + rnd(6000), n - i);
			fill(p + i, len, (enum kind)rnd(MIXED));
			i += len;
		}
	}
}

static size_t compress(const u8 *p, size_t n, int level)
{
	int r;

	if (level < 3)
		r = LZ4_compress_fast((const char *)p, (char *)block, (int)n, MAX_BLOCK, 1 + level);
	else
		r = LZ4_compress_HC((const char *)p, (char *)block, (int)n, MAX_BLOCK, level);
	CHECK(r > 0);
	return (size_t)r;
}

/* ---- blocks made by hand ------------------------------------------------- */

static size_t put_len(u8 *p, size_t len)
{
	size_t n = 0;

	for (; len >= 255; len -= 255)
		p[n++] = 255;
	p[n++] = (u8)len;
	return n;
}

/* one sequence with random literals; len 0 = the last one */
static size_t put_sequence(u8 *p, size_t lit, size_t len, size_t dist)
{
	size_t n = 1, k;

	p[0] = (u8)((lit < 15 ? lit : 15) << 4);
	if (lit >= 15)
		n += put_len(p + n, lit - 15);
	for (k = 0; k < lit; k++)
		p[n++] = (u8)(1 + rnd(255));
	if (len) {
		p[0] |= len < 19 ? len - 4 : 15;
		p[n++] = (u8)dist;
		p[n++] = (u8)(dist >> 8);
		if (len >= 19)
			n += put_len(p + n, len - 19);
	} else {
		p[0] |= rnd(16);	/* means nothing */
	}
	return n;
}

/* random sequences; returns the block's length, *dstlen what it decodes to */
static size_t make_block(size_t target, size_t *dstlen)
{
	size_t n = 0, o = 0;
	u32 style = rnd(5);

	while (o < target) {
		size_t lit = rnd(3) ? rnd(9) : rnd(40), len = 4 + rnd(15), dist;

		if (!rnd(style == 1 ? 3 : 20))
			lit = rnd(3) ? rnd(100) : rnd(1000);
		if (!rnd(style == 2 ? 3 : 10))
			len = 19 + (rnd(3) ? rnd(60) : rnd(1200));
		if (style == 4)
			lit = rnd(4) ? 0 : lit;
		if (!o && !lit)
			lit = 1;
		dist = 1 + rnd((u32)min_t(size_t, o + lit, 65535));
		if (style == 3 || !rnd(10))
			dist = 1 + rnd((u32)min_t(size_t, o + lit, 20));
		n += put_sequence(block + n, lit, len, dist);
		o += lit + len;
	}
	style = 8 + rnd(rnd(4) ? 20 : 800);
	n += put_sequence(block + n, style, 0, 0);
	*dstlen = o + style;
	return n;
}

/* ---- tests --------------------------------------------------------------- */

static void note(bool ok)
{
	if (ok)
		accepted++;
	else
		refused++;
}

/* a good block: all modes, and damaged forms of it */
static void try_block(size_t srclen, size_t dstlen, int damages)
{
	size_t k, cut;
	int i;

	CHECK(check_exact(block, srclen, dstlen));
	check_block(block, srclen, dstlen, rnd(100));
	for (k = 0; k < 4; k++)
		CHECK(check_partial(block, srclen, rnd((u32)dstlen + 1)));
	CHECK(!check_exact(block, srclen, dstlen + 1));
	CHECK(!dstlen || !check_exact(block, srclen, dstlen - 1));
	CHECK(!check_exact(block, srclen - 1, dstlen));
	CHECK(!check_partial(block, srclen, dstlen + 1));

	for (i = 0; i < damages; i++) {
		size_t dlen = dstlen;

		memcpy(damaged, block, srclen);
		cut = srclen;
		switch (rnd(6)) {
		case 0:
			cut = rnd((u32)srclen);
			break;
		case 1:
			damaged[rnd((u32)srclen)] ^= 1 << rnd(8);
			break;
		case 2:
			for (k = 0; k < 1 + rnd(8); k++)
				damaged[rnd((u32)srclen)] = (u8)rnd(256);
			break;
		case 3:
			dlen = rnd((u32)dstlen * 2 + 2);
			break;
		case 4:	/* more input than the block has */
			for (k = 0; k < 1 + rnd(40) && cut < MAX_BLOCK; k++)
				damaged[cut++] = (u8)rnd(256);
			break;
		default:
			k = rnd((u32)srclen);
			memset(damaged + k, rnd(2) ? 255 : 0, min_t(size_t, srclen - k, rnd(300)));
		}
		note(check_exact(damaged, cut, dlen));
		note(check_partial(damaged, cut, rnd((u32)dlen + 1)));
		decode_in_place(damaged, cut, dlen, Z_EROFS_LZ4_INPLACE_MARGIN(cut), NULL);
		decode_in_place(damaged, cut, dlen, rnd(64), NULL);
	}
}

static void test_compressed(void)
{
	static const int levels[] = { 0, 1, 3, 9, 12 };
	size_t n, srclen;
	int kind, i;

	for (kind = 0; kind < KINDS; kind++) {
		for (i = 0; i < 60; i++) {
			n = i < 40 ? 1 + rnd(i < 20 ? 400 : 9000) : 1 + rnd(60000);
			fill(content, n, (enum kind)kind);
			srclen = compress(content, n, levels[i % 5]);
			CHECK(!z_erofs_lz4_decode(block, srclen, out, n, false));
			CHECK(!memcmp(out, content, n));
			try_block(srclen, n, i < 40 ? 20 : 4);
		}
		/* more than the largest distance */
		fill(content, MAX_CONTENT, (enum kind)kind);
		srclen = compress(content, MAX_CONTENT, 9);
		CHECK(!z_erofs_lz4_decode(block, srclen, out, MAX_CONTENT, false));
		CHECK(!memcmp(out, content, MAX_CONTENT));
		try_block(srclen, MAX_CONTENT, 4);
	}
}

/* every length of output of partial mode, every length of input of exact mode */
static void test_every_length(void)
{
	size_t n, srclen, dstlen, k;
	int i, r;

	for (i = 0; i < 2 * KINDS; i++) {
		n = 700 + rnd(500);
		if (i < KINDS) {
			fill(content, n, (enum kind)i);
			srclen = compress(content, n, 9);
			dstlen = n;
		} else {
			srclen = make_block(n, &dstlen);
			r = LZ4_decompress_safe((char *)block, (char *)content, (int)srclen,
						MAX_CONTENT);
			CHECK(r == (int)dstlen);
		}
		for (k = 0; k <= dstlen; k++) {
			CHECK(check_partial(block, srclen, k));
			CHECK(!z_erofs_lz4_decode(block, srclen, out, k, true));
			CHECK(!memcmp(out, content, k));
			CHECK(check_exact(block, srclen, k) == (k == dstlen));
		}
		for (k = 0; k < srclen; k++) {
			CHECK(!check_exact(block, k, dstlen));
			check_partial(block, k, rnd((u32)dstlen));
		}
	}
}

static void test_handmade(void)
{
	size_t srclen, dstlen;
	int i;

	for (i = 0; i < 1500; i++) {
		srclen = make_block(1 + rnd(i < 1200 ? 900 : 20000), &dstlen);
		try_block(srclen, dstlen, 12);
	}
}

/* every token at every distance from the ends, with lengths of all classes */
static void test_ends(void)
{
	static const size_t lens[] = { 4, 5, 8, 16, 17, 18, 19, 20, 24, 25, 47, 48, 49, 71, 72, 73,
				       129, 256, 257, 273, 274, 275, 529, 600 };
	static const size_t runs[] = { 0, 1, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 34, 269, 270, 271,
				       300 };
	static const size_t dists[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 24, 31, 40, 300 };
	size_t a, b, c, tail, srclen, dstlen, k;

	for (a = 0; a < ARRAY_SIZE(runs); a++)
		for (b = 0; b < ARRAY_SIZE(lens); b++)
			for (c = 0; c < ARRAY_SIZE(dists); c++) {
				/* short sequences behind it put it into loop 1 */
				tail = rnd(60);
				srclen = put_sequence(block, 310, 4, 1 + rnd(310));
				srclen += put_sequence(block + srclen, runs[a], lens[b], dists[c]);
				dstlen = 314 + runs[a] + lens[b];
				for (k = 0; k < tail; k++) {
					srclen += put_sequence(block + srclen, k & 3, 4 + k % 15, 30);
					dstlen += (k & 3) + 4 + k % 15;
				}
				k = 4 + rnd(20);
				srclen += put_sequence(block + srclen, k, 0, 0);
				dstlen += k;
				note(check_exact(block, srclen, dstlen));
				CHECK(check_partial(block, srclen, dstlen));
				note(check_exact(block, srclen, dstlen - rnd(12)));
				decode_in_place(block, srclen, dstlen - rnd(12), rnd(60), NULL);
			}
}

/*
 * Groups of the largest short sequences and then the largest others, with the
 * ends of the buffers at every distance behind: loop 1 looks at the ends only
 * once a group.
 */
static void test_groups(void)
{
	static const size_t runs[] = { 0, 14, 15, 31, 32, 33 };
	static const size_t lens[] = { 4, 18, 19, 47, 48, 49, 72, 73, 300 };
	static const size_t dists[] = { 1, 7, 8, 40 };
	size_t a, b, c, k, n, o, before, tail;

	for (a = 0; a < ARRAY_SIZE(runs); a++)
		for (b = 0; b < ARRAY_SIZE(lens); b++)
			for (before = 6; before < 17; before++) {
				c = rnd(ARRAY_SIZE(dists));
				n = 0;
				for (k = 0; k < before; k++)
					n += put_sequence(block + n, 14, 18, 14);
				n += put_sequence(block + n, runs[a], lens[b], dists[c]);
				o = before * 32 + runs[a] + lens[b];
				memcpy(damaged, block, n);
				for (tail = 0; tail < 140; tail++) {
					/* plenty of input, few output */
					k = put_sequence(damaged + n, tail, 0, 0);
					note(check_exact(damaged, n + k, o + tail));
					memset(damaged + n, 0x11, 300);
					check_exact(damaged, n + 300, o - 40 + tail);
					check_partial(damaged, n + 300, o - 40 + tail);
					/* plenty of output, few input */
					memset(damaged + n, 0x12, 140);
					check_exact(damaged, n - 3 + tail, o + 2000);
					check_partial(damaged, n - 3 + tail, o + 2000);
					if (n > 50 + tail)
						check_exact(damaged, n - tail, o + 2000);
				}
			}
}

static void test_random_streams(void)
{
	size_t srclen, k;
	int i;

	for (i = 0; i < 60000; i++) {
		srclen = rnd(i & 1 ? 24 : 600);
		for (k = 0; k < srclen; k++)
			damaged[k] = (u8)(rnd(4) ? rnd(256) & rnd(256) : rnd(256));
		if (srclen)
			damaged[0] |= (u8)(rnd(15) << 4);
		note(check_exact(damaged, srclen, rnd(i & 2 ? 40 : 1500)));
		note(check_partial(damaged, srclen, rnd(i & 2 ? 40 : 1500)));
	}
}

static void test_special(void)
{
	static const u8 zero[1] = { 0 }, nibble[1] = { 7 }, one[2] = { 0x10, 'x' };
	static const u8 zero_dist[] = { 0x10, 'x', 0, 0, 0xc0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	u8 *big;
	size_t n;

	CHECK(check_exact(zero, 1, 0));
	CHECK(!check_exact(nibble, 1, 0));
	CHECK(!check_exact(zero, 0, 0));
	CHECK(!check_exact(zero, 0, 5));
	CHECK(!check_exact(one, 2, 0));
	CHECK(check_exact(one, 2, 1));
	CHECK(check_partial(zero, 0, 0));
	CHECK(!check_exact(zero_dist, sizeof(zero_dist), 17));
	CHECK(!check_partial(zero_dist, sizeof(zero_dist), 17));
	CHECK(check_partial(zero_dist, sizeof(zero_dist), 1));

	/* a chain of 255 as long as the input may be: no overflow, no long loop */
	n = 1 << 20;
	big = malloc(n);
	CHECK(big);
	memset(big, 255, n);
	CHECK(z_erofs_lz4_decode(big, n, out, 100, false) == -EFSCORRUPTED);
	CHECK(z_erofs_lz4_decode(big, n, out, 100, true) == -EFSCORRUPTED);
	big[0] = 0x1f;
	big[2] = 1;
	big[3] = 0;
	CHECK(z_erofs_lz4_decode(big, n, out, 100, false) == -EFSCORRUPTED);
	CHECK(z_erofs_lz4_decode(big, n, out, sizeof(out), true) == -EFSCORRUPTED);
	free(big);
}

/* 1 MiB of input, 12 MiB of output, in buffers of just these sizes */
static void test_largest(void)
{
	const size_t dstlen = 12 << 20;
	u8 *want = malloc(dstlen), *dst = malloc(dstlen), *enc = malloc(1 << 20), *src;
	int n;

	CHECK(want && dst && enc);
	memset(want, 'x', dstlen);
	fill(want + 5, 980000, NOISE);
	n = LZ4_compress_default((const char *)want, (char *)enc, (int)dstlen, 1 << 20);
	CHECK(n > 1000000);
	src = malloc((size_t)n);
	CHECK(src);
	memcpy(src, enc, (size_t)n);
	memset(dst, 0xee, dstlen);
	CHECK(!z_erofs_lz4_decode(src, (size_t)n, dst, dstlen, false));
	CHECK(!memcmp(dst, want, dstlen));
	memset(dst, 0xee, dstlen);
	CHECK(!z_erofs_lz4_decode(src, (size_t)n, dst, dstlen - 1, true));
	CHECK(!memcmp(dst, want, dstlen - 1));
	CHECK(z_erofs_lz4_decode(src, (size_t)n, dst, dstlen - 1, false) == -EFSCORRUPTED);
	CHECK(z_erofs_lz4_decode(src, (size_t)n - 1, dst, dstlen, false) == -EFSCORRUPTED);
	free(src);
	free(enc);
	free(dst);
	free(want);
}

/* smallest margin with which the block decodes right in place; all above do too */
static size_t least_margin(size_t srclen, size_t dstlen, const u8 *want)
{
	size_t m = Z_EROFS_LZ4_INPLACE_MARGIN(srclen) + 20;

	for (; m > 0; m--)
		if (!decode_in_place(block, srclen, dstlen, m - 1, want))
			break;
	return m;
}

/*
 * The worst that can be: a wide store right in front of a long run of literals,
 * whose extension bytes have made the gap as small as it gets.
 */
static size_t make_worst(size_t lit, size_t len, size_t *dstlen)
{
	size_t n = put_sequence(block, 40, len, 33);

	n += put_sequence(block + n, lit, 0, 0);
	*dstlen = 40 + len + lit;
	return n;
}

static void test_in_place(void)
{
	static const size_t lens[] = { 4, 18, 19, 20, 24, 48, 49, 72, 73, 300 };
	size_t srclen, dstlen, need, margin, i, k, tight = 0, n;
	u8 *want = malloc(4 << 20);

	CHECK(want);
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (k = 300; k < 2000; k += 1 + rnd(9)) {
			srclen = make_worst(k, lens[i], &dstlen);
			CHECK(ref_decode(block, srclen, want, dstlen, false) == REF_OK);
			margin = Z_EROFS_LZ4_INPLACE_MARGIN(srclen);
			need = least_margin(srclen, dstlen, want);
			CHECK(need <= margin);
			tight += need == margin;
		}
	/*
	 * The test is able to fail: some block needs all of the margin, which
	 * means that with one byte less it does not decode.
	 */
	CHECK(tight);

	for (i = 0; i < 400; i++) {
		if (i & 1) {
			srclen = make_block(400 + rnd(6000), &dstlen);
		} else {
			dstlen = 400 + rnd(i < 300 ? 9000 : 60000);
			fill(content, dstlen, (enum kind)(i / 2 % KINDS));
			srclen = compress(content, dstlen, i & 8 ? 9 : 0);
		}
		CHECK(ref_decode(block, srclen, want, dstlen, false) == REF_OK);
		CHECK(least_margin(srclen, dstlen, want) <= Z_EROFS_LZ4_INPLACE_MARGIN(srclen));
	}

	/* a cluster of the largest size, all but noise */
	for (n = 0; n < 3; n++) {
		u8 *big = malloc((1 << 20) + 8192);

		CHECK(big);
		dstlen = (1 << 20) - 6000 + rnd(500);
		k = dstlen - 40 - 19;
		memset(want, 0, dstlen);
		srclen = put_sequence(big, 40, 19, 33);
		srclen += put_sequence(big + srclen, k, 0, 0);
		CHECK(srclen <= 1 << 20);
		CHECK(ref_decode(big, srclen, want, dstlen, false) == REF_OK);
		CHECK(decode_in_place(big, srclen, dstlen, Z_EROFS_LZ4_INPLACE_MARGIN(srclen), want));
		CHECK(!decode_in_place(big, srclen, dstlen,
				       Z_EROFS_LZ4_INPLACE_MARGIN(srclen) - 2, want));
		free(big);
	}
	free(want);
}

int main(void)
{
	test_special();
	test_largest();
	test_every_length();
	test_compressed();
	test_handmade();
	test_ends();
	test_groups();
	test_random_streams();
	test_in_place();
	/* damage has to be found as well as survived, and some of it does no harm */
	CHECK(accepted > 1000 && refused > 10000);
	printf("ok\n");
	return 0;
}
