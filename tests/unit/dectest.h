/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dectest.h - what the decoder tests and fuzzers share: test data, and calls on buffers
 * of exactly the declared size, so that the sanitizer sees any step outside.
 */
#ifndef EROFS_DECTEST_H
#define EROFS_DECTEST_H

#include <stdio.h>
#include "core.h"

#define CHECK(cond, ...) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond); \
		fprintf(stderr, __VA_ARGS__);				\
		fprintf(stderr, "\n");					\
		abort();						\
	}								\
} while (0)

static u64 dt_seed = 0x9e3779b97f4a7c15ULL;

static inline u32 dt_rand(void)
{
	dt_seed ^= dt_seed << 13;
	dt_seed ^= dt_seed >> 7;
	dt_seed ^= dt_seed << 17;
	return (u32)(dt_seed >> 16);
}

enum dt_kind {
	DT_ZERO,	/* one long run */
	DT_NOISE,	/* can't be compressed */
	DT_TEXT,	/* few symbols, short repetitions */
	DT_RECORDS,	/* binary records that differ in some bytes */
	DT_FAR,		/* repetitions from far away, literals between them */
	DT_MIXED,	/* all of these in turn */
	DT_KINDS
};

static inline void dt_fill(u8 *p, size_t len, enum dt_kind kind)
{
	static const char * const words[] = {
		"the ", "block ", "of ", "inode ", "a ", "cluster ", "and ", "read", "ing ", "\n",
	};
	size_t i = 0, n;

	while (i < len) {
		switch (kind) {
		case DT_ZERO:
			p[i++] = 0;
			break;
		case DT_NOISE:
			p[i++] = (u8)dt_rand();
			break;
		case DT_TEXT: {
			const char *w = words[dt_rand() % ARRAY_SIZE(words)];

			while (*w && i < len)
				p[i++] = (u8)*w++;
			break;
		}
		case DT_RECORDS:
			p[i] = i % 24 < 20 && i >= 24 ? p[i - 24] : (u8)(dt_rand() & 31);
			i++;
			break;
		case DT_FAR:
			n = 1 + dt_rand() % 300;
			if (i > 64 && dt_rand() % 3) {
				size_t from = dt_rand() % (i - 32);

				while (n-- && i < len)
					p[i++] = p[from++];
			} else {
				for (n = n % 12 + 1; n-- && i < len; i++)
					p[i] = (u8)(dt_rand() % 96 + 32);
			}
			break;
		default:
			n = min_t(size_t, len - i, 1 + dt_rand() % 9000);
			dt_fill(p + i, n, (enum dt_kind)(dt_rand() % DT_MIXED));
			i += n;
			break;
		}
	}
}

/* decode on fresh exact-size copies; the caller frees *out */
typedef int (*dt_decode_fn)(const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial);

static inline int dt_run(dt_decode_fn fn, const u8 *src, size_t srclen, size_t dstlen,
			 bool partial, u8 **out)
{
	u8 *in = malloc(srclen ? srclen : 1);
	u8 *dst = malloc(dstlen ? dstlen : 1);
	int ret;

	CHECK(in && dst, "out of memory");
	/* a zero sized buffer begins behind its only byte */
	memcpy(srclen ? in : in + 1, src, srclen);
	memset(dst, 0xee, dstlen);
	ret = fn(srclen ? in : in + 1, srclen, dstlen ? dst : dst + 1, dstlen, partial);
	CHECK(ret == 0 || ret == -EFSCORRUPTED, "ret %d", ret);
	free(in);
	if (out)
		*out = dst;
	else
		free(dst);
	return ret;
}

/* expect success and these bytes */
static inline void dt_good(dt_decode_fn fn, const u8 *src, size_t srclen, const u8 *want,
			   size_t dstlen, bool partial)
{
	u8 *out;
	int ret = dt_run(fn, src, srclen, dstlen, partial, &out);

	CHECK(ret == 0, "srclen %zu dstlen %zu partial %d", srclen, dstlen, partial);
	CHECK(!memcmp(out, want, dstlen), "srclen %zu dstlen %zu partial %d",
	      srclen, dstlen, partial);
	free(out);
}

static inline void dt_bad(dt_decode_fn fn, const u8 *src, size_t srclen, size_t dstlen,
			  bool partial)
{
	CHECK(dt_run(fn, src, srclen, dstlen, partial, NULL) == -EFSCORRUPTED,
	      "srclen %zu dstlen %zu partial %d", srclen, dstlen, partial);
}

/*
 * What holds for every algorithm and a valid stream @src that decodes to @len
 * bytes @plain.  @src has room for 8 more bytes.  @marks_end: the stream itself
 * says where it ends.  (LZMA doesn't: a likely symbol more or less may change
 * neither the bytes consumed nor the final state.)
 */
static inline void dt_stream(dt_decode_fn fn, u8 *src, size_t srclen, const u8 *plain,
			     size_t len, bool marks_end)
{
	size_t i, step;

	dt_good(fn, src, srclen, plain, len, false);
	dt_good(fn, src, srclen, plain, len, true);
	for (i = 0; i < 6 && len > 1; i++)
		dt_good(fn, src, srclen, plain, 1 + dt_rand() % len, true);
	dt_good(fn, src, srclen, plain, 1, true);

	/* the stream says more or less than the extent */
	if (marks_end) {
		dt_bad(fn, src, srclen, len + 1, false);
		dt_bad(fn, src, srclen, len + 5000, false);
		dt_bad(fn, src, srclen, len + 1, true);
		dt_bad(fn, src, srclen, len + 5000, true);
	}
	if (marks_end && len > 1) {
		dt_bad(fn, src, srclen, len - 1, false);
		dt_bad(fn, src, srclen, 1 + dt_rand() % (len - 1), false);
	}

	/* bytes behind the end */
	memset(src + srclen, 0, 8);
	dt_bad(fn, src, srclen + 1, len, false);
	dt_bad(fn, src, srclen + 8, len, false);
	dt_good(fn, src, srclen + 8, plain, len, true);

	/* truncated at any (or many) places */
	step = 1 + srclen / (len > 20000 ? 20 : 300);
	for (i = 0; i < srclen; i += step) {
		dt_bad(fn, src, i, len, false);
		dt_run(fn, src, i, 1 + dt_rand() % len, true, NULL);
	}
	dt_bad(fn, src, srclen - 1, len, false);
}

/* damage a copy of a stream: 1 to 3 flipped bits, or a stretch of noise */
static inline u8 *dt_damage(const u8 *src, size_t srclen)
{
	u8 *p = malloc(srclen);
	u32 n;

	CHECK(p, "out of memory");
	memcpy(p, src, srclen);
	if (dt_rand() % 8) {
		for (n = 1 + dt_rand() % 3; n; n--)
			p[dt_rand() % srclen] ^= 1 << dt_rand() % 8;
	} else {
		size_t at = dt_rand() % srclen;

		dt_fill(p + at, min_t(size_t, srclen - at, 1 + dt_rand() % 16), DT_NOISE);
	}
	return p;
}

#endif /* EROFS_DECTEST_H */
