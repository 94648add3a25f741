/* links: decompressor_lz4.c; libs: -llz4 */
// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_lz4.c - the LZ4 decoder against liblz4 and against a decoder that is
 * written for clarity, with the checks that the unit test uses too.
 *
 * Input: 4 bytes little-endian; bits 0 .. 19 are the output length, bits 20 up
 * shift the in-place layout; the rest is a block.  The same bytes are also
 * taken as content, compressed and decoded in place.
 */
#include <lz4.h>
#include <lz4hc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core.h"

#if defined(__SANITIZE_ADDRESS__)
#define GUARD_MALLOC
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARD_MALLOC
#endif
#endif

#define CHECK(c)								\
	do {									\
		if (!(c)) {							\
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #c); \
			abort();						\
		}								\
	} while (0)

/*
 * A buffer whose last byte is followed by memory that can't be touched.  With
 * the address sanitizer it comes from malloc(), so that both ends are guarded.
 * Otherwise it is the end of one of a few mappings that are made once.
 */
struct guarded {
	u8 *p;
	void *mem;
	int slot;
};

#ifndef GUARD_MALLOC
#define GUARDED_MAX	(8UL << 20)

static u8 *guarded_end[8];
static bool guarded_used[8];
#endif

static struct guarded guarded_alloc(size_t len)
{
	struct guarded g = { .slot = -1 };
#ifdef GUARD_MALLOC
	g.mem = malloc(len ? len : 1);
	CHECK(g.mem);
	g.p = g.mem;
	if (!len)
		g.p++;
#else
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	u8 *map;

	CHECK(len + 64 <= GUARDED_MAX);
	do {
		g.slot++;
		CHECK(g.slot < 8);
	} while (guarded_used[g.slot]);
	if (!guarded_end[g.slot]) {
		map = mmap(NULL, GUARDED_MAX + page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(map != MAP_FAILED);
		CHECK(!mprotect(map + GUARDED_MAX, page, PROT_NONE));
		guarded_end[g.slot] = map + GUARDED_MAX;
	}
	guarded_used[g.slot] = true;
	g.p = guarded_end[g.slot] - len;
	/* something to be found intact by guarded_free() */
	memset(g.p - 64, 0x77, 64);
#endif
	return g;
}

static void guarded_free(struct guarded *g)
{
#ifdef GUARD_MALLOC
	free(g->mem);
#else
	int i;

	guarded_used[g->slot] = false;
	for (i = 1; i <= 64; i++)
		CHECK(g->p[-i] == 0x77);
#endif
}

enum ref_result {
	REF_OK,
	REF_BAD,
	/* the first thing wrong is: */
	REF_ZERO_DISTANCE,	/* a distance of 0 */
	REF_END_RULES,		/* a match too near to the end of the output */
};

/* extension bytes; false = end of input */
static bool ref_extend(const u8 *src, size_t srclen, size_t *i, size_t *sum)
{
	u8 x;

	do {
		if (*i >= srclen)
			return false;
		x = src[(*i)++];
		*sum += x;
	} while (x == 255);
	return true;
}

/* the format, byte by byte */
static enum ref_result ref_decode(const u8 *src, size_t srclen, u8 *dst, size_t dstlen,
				  bool partial)
{
	size_t i = 0, o = 0, k;

	if (!dstlen)	/* as liblz4 has it */
		return partial || (srclen == 1 && !src[0]) ? REF_OK : REF_BAD;
	while (i < srclen) {
		u8 token = src[i++];
		size_t lit = token >> 4, len = (token & 15) + 4, dist;

		if (lit == 15 && !ref_extend(src, srclen, &i, &lit))
			return REF_BAD;
		for (k = 0; k < lit; k++) {
			if (partial && o == dstlen)
				return REF_OK;
			if (i >= srclen || o >= dstlen)
				return REF_BAD;
			dst[o++] = src[i++];
		}
		if (partial && o == dstlen)
			return REF_OK;
		if (i == srclen)
			return !partial && o == dstlen ? REF_OK : REF_BAD;
		if (i + 2 > srclen)
			return REF_BAD;
		dist = src[i] | (size_t)src[i + 1] << 8;
		i += 2;
		if (len == 19 && !ref_extend(src, srclen, &i, &len))
			return REF_BAD;
		if (dist > o || (!partial && o + len > dstlen))
			return REF_BAD;
		if (!dist)
			return REF_ZERO_DISTANCE;
		if (!partial && (o + 12 > dstlen || o + len + 5 > dstlen))
			return REF_END_RULES;
		for (k = 0; k < len; k++) {
			if (partial && o == dstlen)
				return REF_OK;
			dst[o] = dst[o - dist];
			o++;
		}
		if (partial && o == dstlen)
			return REF_OK;
	}
	return REF_BAD;
}

/*
 * Exact mode against both references, any input.  Defined differences: liblz4
 * takes a distance of 0 (and makes up the bytes), and on one of its fast paths
 * it doesn't look whether the last 5 bytes are literals.  The format calls both
 * invalid and so do we.  Returns whether the block was accepted.
 */
static bool check_exact(const u8 *block, size_t srclen, size_t dstlen)
{
	struct guarded src = guarded_alloc(srclen), a = guarded_alloc(dstlen);
	struct guarded b = guarded_alloc(dstlen), c = guarded_alloc(dstlen);
	enum ref_result ref;
	bool lib;
	int ret;

	if (srclen)
		memcpy(src.p, block, srclen);
	if (dstlen) {
		memset(a.p, 0xa5, dstlen);
		memset(b.p, 0x5a, dstlen);
		memset(c.p, 0xcc, dstlen);
	}
	ret = z_erofs_lz4_decode(src.p, srclen, a.p, dstlen, false);
	CHECK(ret == 0 || ret == -EFSCORRUPTED);
	ref = ref_decode(src.p, srclen, b.p, dstlen, false);
	CHECK((ret == 0) == (ref == REF_OK));
	CHECK(ret || !dstlen || !memcmp(a.p, b.p, dstlen));
	lib = LZ4_decompress_safe((char *)src.p, (char *)c.p, (int)srclen, (int)dstlen) ==
		(int)dstlen;
	CHECK(lib || ret);
	CHECK(!lib || !ret || ref == REF_ZERO_DISTANCE || ref == REF_END_RULES);
	CHECK(ret || !dstlen || !memcmp(a.p, c.p, dstlen));
	CHECK(!srclen || !memcmp(src.p, block, srclen));
	guarded_free(&src);
	guarded_free(&a);
	guarded_free(&b);
	guarded_free(&c);
	return !ret;
}

/* partial mode against the clear decoder, any input */
static bool check_partial(const u8 *block, size_t srclen, size_t dstlen)
{
	struct guarded src = guarded_alloc(srclen), a = guarded_alloc(dstlen);
	struct guarded b = guarded_alloc(dstlen);
	int ret;

	if (srclen)
		memcpy(src.p, block, srclen);
	ret = z_erofs_lz4_decode(src.p, srclen, a.p, dstlen, true);
	CHECK(ret == 0 || ret == -EFSCORRUPTED);
	CHECK((ret == 0) == (ref_decode(src.p, srclen, b.p, dstlen, true) == REF_OK));
	CHECK(ret || !dstlen || !memcmp(a.p, b.p, dstlen));
	guarded_free(&src);
	guarded_free(&a);
	guarded_free(&b);
	return !ret;
}

/*
 * Decode with the input in the same buffer, its end @margin bytes behind the
 * end of the output.  @want is what has to come out, NULL for damaged input
 * (then only the bounds count).  Returns whether it came out right.
 */
static bool decode_in_place(const u8 *block, size_t srclen, size_t dstlen, size_t margin,
			    const u8 *want)
{
	size_t lead = srclen > dstlen + margin ? srclen - dstlen - margin : 0;
	struct guarded buf = guarded_alloc(lead + dstlen + margin);
	u8 *dst = buf.p + lead, *src = dst + dstlen + margin - srclen;
	bool right;
	size_t k;
	int ret;

	memset(buf.p, 0xee, lead + dstlen + margin);
	memcpy(src, block, srclen);
	ret = z_erofs_lz4_decode(src, srclen, dst, dstlen, false);
	CHECK(ret == 0 || ret == -EFSCORRUPTED);
	right = want && !ret && (!dstlen || !memcmp(dst, want, dstlen));
	/* nothing behind the output may change */
	for (k = 0; k < margin; k++)
		CHECK(dst[dstlen + k] ==
		      (k + srclen >= margin ? block[k + srclen - margin] : 0xee));
	guarded_free(&buf);
	return right;
}

/* all checks for one block of any quality */
static void check_block(const u8 *block, size_t srclen, size_t dstlen, size_t shift)
{
	bool ok = check_exact(block, srclen, dstlen);

	check_partial(block, srclen, dstlen);
	if (ok) {
		struct guarded want = guarded_alloc(dstlen);

		CHECK(ref_decode(block, srclen, want.p, dstlen, false) == REF_OK);
		CHECK(decode_in_place(block, srclen, dstlen,
				      Z_EROFS_LZ4_INPLACE_MARGIN(srclen), want.p));
		CHECK(decode_in_place(block, srclen, dstlen,
				      Z_EROFS_LZ4_INPLACE_MARGIN(srclen) + shift, want.p));
		guarded_free(&want);
	} else {
		decode_in_place(block, srclen, dstlen, Z_EROFS_LZ4_INPLACE_MARGIN(srclen), NULL);
	}
	/* layouts that must not be used, still no access outside */
	decode_in_place(block, srclen, dstlen, shift, NULL);
}

#ifndef FUZZ_LZ4_CHECKS_ONLY
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	size_t dstlen, shift, bound;
	u8 *block;
	u32 head;
	int n;

	if (size < 4)
		return 0;
	head = get_unaligned_le32(data);
	dstlen = head & 0xfffff;
	shift = head >> 20;
	data += 4;
	size -= 4;
	check_block(data, size, dstlen, shift);
	if (size && size <= 65536) {
		bound = (size_t)LZ4_compressBound((int)size);
		block = malloc(bound);
		CHECK(block);
		if (shift & 1)
			n = LZ4_compress_HC((const char *)data, (char *)block, (int)size,
					    (int)bound, (int)(shift >> 1 & 15));
		else
			n = LZ4_compress_default((const char *)data, (char *)block, (int)size,
						 (int)bound);
		CHECK(n > 0);
		check_block(block, (size_t)n, size, shift);
		CHECK(check_exact(block, (size_t)n, size));
		CHECK(check_partial(block, (size_t)n, size - 1));
		free(block);
	}
	return 0;
}
#endif
