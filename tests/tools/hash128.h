/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hash128.h - the content hash of the test tools: 128 bits, made for speed
 * under an emulator (two multiplications per 8 bytes, no tables).
 *
 * Four 64-bit lanes take one word each per step.  A step is a bijection of the
 * lane for a fixed word and of the word for a fixed lane, so a change inside
 * one lane's words cannot cancel out at once, and all 256 bits of state go into
 * both halves of the result.  It guards against damage and mix-ups, not against
 * an adversary: "digest -s" uses SHA-256 instead.
 */
#ifndef TESTS_TOOLS_HASH128_H
#define TESTS_TOOLS_HASH128_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define H128_P1	0x9e3779b97f4a7c15ULL
#define H128_P2	0xc2b2ae3d27d4eb4fULL
#define H128_P3	0x165667b19e3779f9ULL

struct h128 {
	uint64_t lane[4];
	uint64_t total;		/* bytes hashed so far */
	unsigned char part[32];	/* bytes that do not fill a step yet */
};

static inline uint64_t h128_rotl(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

static inline uint64_t h128_step(uint64_t lane, uint64_t word)
{
	return h128_rotl(lane + word * H128_P2, 31) * H128_P1;
}

static inline void h128_init(struct h128 *h, uint64_t seed)
{
	h->lane[0] = seed + H128_P1;
	h->lane[1] = seed ^ H128_P2;
	h->lane[2] = seed + H128_P3;
	h->lane[3] = ~seed;
	h->total = 0;
}

static inline void h128_block(struct h128 *h, const unsigned char *p)
{
	uint64_t w[4];

	memcpy(w, p, sizeof(w));
	h->lane[0] = h128_step(h->lane[0], w[0]);
	h->lane[1] = h128_step(h->lane[1], w[1]);
	h->lane[2] = h128_step(h->lane[2], w[2]);
	h->lane[3] = h128_step(h->lane[3], w[3]);
}

static inline void h128_update(struct h128 *h, const void *buf, size_t len)
{
	const unsigned char *p = buf;
	size_t have = h->total % sizeof(h->part), n;

	h->total += len;
	if (have) {
		n = sizeof(h->part) - have;
		if (n > len)
			n = len;
		memcpy(h->part + have, p, n);
		p += n;
		len -= n;
		if (have + n < sizeof(h->part))
			return;
		h128_block(h, h->part);
	}
	for (; len >= sizeof(h->part); len -= sizeof(h->part), p += sizeof(h->part))
		h128_block(h, p);
	memcpy(h->part, p, len);
}

static inline uint64_t h128_mix(uint64_t v)
{
	v ^= v >> 33;
	v *= H128_P2;
	v ^= v >> 29;
	v *= H128_P3;
	return v ^ v >> 32;
}

static inline void h128_final(struct h128 *h, uint64_t out[2])
{
	size_t have = h->total % sizeof(h->part);
	int i;

	memset(h->part + have, 0, sizeof(h->part) - have);
	h128_block(h, h->part);
	out[0] = h->total;
	out[1] = ~h->total;
	for (i = 0; i < 4; i++) {
		out[0] = h128_mix(out[0] ^ h->lane[i]) * H128_P1;
		out[1] = h128_mix(out[1] + h128_rotl(h->lane[3 - i], 17)) * H128_P2;
	}
}

/* xorshift-multiply generator: the same sequence everywhere for a seed */
static inline uint64_t h128_rand(uint64_t *state)
{
	*state += H128_P1;
	return h128_mix(*state);
}

#endif
