// SPDX-License-Identifier: GPL-2.0
/*
 * decompressor_lzma.c - MicroLZMA: an LZMA1 stream without header and end marker.
 *
 * The format is section "LZMA" of the on-disk notes: a range coded stream whose
 * first byte, always zero in plain LZMA, carries the complement of the
 * properties byte instead.  The output buffer is contiguous and holds all bytes
 * a match may refer to, so it serves as the dictionary itself.
 *
 * Input is checked once per symbol, not once per byte: the main loop runs while
 * more bytes are left than any symbol can take.  For the rest a zero padded copy
 * of the last bytes is decoded, where reading past the real end is harmless and
 * noticed after the symbol.
 */
#include "core.h"

/*
 * Range coder.  range is at least 2^24 after rc_normalize(); a probability is
 * the chance of a 0 bit in units of 2^-11 and stays within 31 .. 2017.
 */
#define RC_TOP			0x1000000U
#define RC_PROB_BITS		11
#define RC_PROB_ONE		2048U	/* 1 << RC_PROB_BITS */
#define RC_MOVE_BITS		5
#define RC_INIT_BYTES		5

/*
 * Most input one symbol can take, plus slack.  The longest is a simple match:
 * 22 modelled bits that cost at most log2(2048 / 31) < 6.05 bits each, and 26
 * direct bits: 160 bits, 20 bytes.
 */
#define LZMA_SYMBOL_MAX		24

#define LZMA_PROPS_MAX		224	/* (4 * 5 + 4) * 9 + 8 */
#define LZMA_LCLP_MAX		4
#define LZMA_MATCH_MIN		2
#define LZMA_STATES		12
#define LZMA_POS_STATES		16	/* 1 << pb, pb <= 4 */
#define LZMA_LIT_STATES		7	/* states below: the last symbol was a literal */
#define LZMA_DIST_STATES	4
#define LZMA_SLOTS		64
#define LZMA_SLOT_MODELLED	4	/* first slot with footer bits */
#define LZMA_SLOT_DIRECT	14	/* first slot with direct bits */
#define LZMA_ALIGN_BITS		4

/* One length coder: two choice bits, then 8, 8 or 256 values */
#define LEN_CHOICE		0
#define LEN_CHOICE2		1
#define LEN_LOW			2
#define LEN_MID			(LEN_LOW + (LZMA_POS_STATES << 3))
#define LEN_HIGH		(LEN_MID + (LZMA_POS_STATES << 3))
#define LEN_PROBS		(LEN_HIGH + 256)

/*
 * The model is one flat array of probabilities.  In P_SPECIAL the tree of slot s
 * with base distance b begins at b - s, its root having index 1 as in all trees.
 */
#define P_IS_MATCH		0
#define P_IS_REP		(P_IS_MATCH + LZMA_STATES * LZMA_POS_STATES)
#define P_IS_REP0		(P_IS_REP + LZMA_STATES)
#define P_IS_REP1		(P_IS_REP0 + LZMA_STATES)
#define P_IS_REP2		(P_IS_REP1 + LZMA_STATES)
#define P_IS_REP0_LONG		(P_IS_REP2 + LZMA_STATES)
#define P_SLOT			(P_IS_REP0_LONG + LZMA_STATES * LZMA_POS_STATES)
#define P_SPECIAL		(P_SLOT + LZMA_DIST_STATES * LZMA_SLOTS)
#define P_ALIGN			(P_SPECIAL + 1 + 128 - LZMA_SLOT_DIRECT)
#define P_LEN			(P_ALIGN + (1 << LZMA_ALIGN_BITS))
#define P_REP_LEN		(P_LEN + LEN_PROBS)
#define P_LITERAL		(P_REP_LEN + LEN_PROBS)
#define LZMA_LITERAL_SIZE	0x300U
#define LZMA_PROBS_MAX		(P_LITERAL + (LZMA_LITERAL_SIZE << LZMA_LCLP_MAX))

struct lzma_rc {
	u32 range;
	u32 code;
	const u8 *in;
};

static __always_inline void rc_normalize(struct lzma_rc *rc)
{
	if (rc->range < RC_TOP) {
		rc->range <<= 8;
		rc->code = rc->code << 8 | *rc->in++;
	}
}

/* A bit the caller branches on */
static __always_inline bool rc_bit(struct lzma_rc *rc, u16 *prob)
{
	u32 p = *prob, bound;

	rc_normalize(rc);
	bound = (rc->range >> RC_PROB_BITS) * p;
	if (rc->code < bound) {
		rc->range = bound;
		*prob = p + ((RC_PROB_ONE - p) >> RC_MOVE_BITS);
		return false;
	}
	rc->range -= bound;
	rc->code -= bound;
	*prob = p - (p >> RC_MOVE_BITS);
	return true;
}

/*
 * A bit that only selects the next node.  These bits are close to random, so
 * branches on them would be mispredicted.  Returns all ones for a 0 bit, else 0.
 * The probability moves by floor((2048 - p) / 32) up or floor(p / 32) down; as a
 * signed shift rounds down, the former is -((p - 2048 + 31) >> 5).
 */
static __always_inline u32 rc_bit_mask(struct lzma_rc *rc, u16 *prob)
{
	u32 p = *prob, bound, mask;

	rc_normalize(rc);
	bound = (rc->range >> RC_PROB_BITS) * p;
	mask = 0 - (u32)(rc->code < bound);
	rc->range -= bound;
	rc->range += mask & (bound - rc->range);
	rc->code -= bound & ~mask;
	*prob = p - ((s32)(p - (mask & (RC_PROB_ONE - 31))) >> RC_MOVE_BITS);
	return mask;
}

/* @bits bits from the top, through the tree at @probs; includes the leading 1 */
static __always_inline u32 rc_tree(struct lzma_rc *rc, u16 *probs, unsigned int bits)
{
	u32 sym = 1;

	do {
		sym = (sym << 1) + 1 + rc_bit_mask(rc, probs + sym);
	} while (--bits);
	return sym;
}

/* @bits bits from the bottom */
static __always_inline u32 rc_tree_reverse(struct lzma_rc *rc, u16 *probs, unsigned int bits)
{
	u32 sym = 1, val = 0;
	unsigned int i;

	for (i = 0; i < bits; i++) {
		u32 bit = 1 + rc_bit_mask(rc, probs + sym);

		sym = (sym << 1) + bit;
		val |= bit << i;
	}
	return val;
}

static __always_inline u32 lzma_len(struct lzma_rc *rc, u16 *probs, u32 pos_state)
{
	if (!rc_bit(rc, probs + LEN_CHOICE))
		return LZMA_MATCH_MIN + rc_tree(rc, probs + LEN_LOW + (pos_state << 3), 3) - 8;
	if (!rc_bit(rc, probs + LEN_CHOICE2))
		return LZMA_MATCH_MIN + rc_tree(rc, probs + LEN_MID + (pos_state << 3), 3);
	return LZMA_MATCH_MIN + 16 + rc_tree(rc, probs + LEN_HIGH, 8) - 256;
}

/* Distance of a simple match, 0 = the byte before */
static __always_inline u32 lzma_dist(struct lzma_rc *rc, u16 *probs, u32 len)
{
	u32 st = min_t(u32, len - LZMA_MATCH_MIN, LZMA_DIST_STATES - 1);
	u32 slot = rc_tree(rc, probs + P_SLOT + st * LZMA_SLOTS, 6) - LZMA_SLOTS;
	u32 dist, bits;

	if (slot < LZMA_SLOT_MODELLED)
		return slot;
	bits = (slot >> 1) - 1;
	dist = 2 | (slot & 1);
	if (slot < LZMA_SLOT_DIRECT) {
		dist <<= bits;
		return dist + rc_tree_reverse(rc, probs + P_SPECIAL + dist - slot, bits);
	}
	for (bits -= LZMA_ALIGN_BITS; bits; bits--) {
		u32 mask;

		rc_normalize(rc);
		rc->range >>= 1;
		rc->code -= rc->range;
		mask = 0 - (rc->code >> 31);
		rc->code += rc->range & mask;
		dist = (dist << 1) + 1 + mask;
	}
	return (dist << LZMA_ALIGN_BITS) +
	       rc_tree_reverse(rc, probs + P_ALIGN, LZMA_ALIGN_BITS);
}

/*
 * Copy a match of @len bytes from @dist bytes (at least 1) before @out.  Source
 * and target may overlap; wide copies may write up to 7 bytes behind the match,
 * but not behind @end.
 */
static __always_inline void lzma_copy(u8 *out, size_t dist, size_t len, const u8 *end)
{
	const u8 *from = out - dist;
	u8 *to = out + len;

	if (dist >= 8 && likely((size_t)(end - out) >= len + 7)) {
		do {
			memcpy(out, from, 8);
			out += 8;
			from += 8;
		} while (out < to);
	} else if (dist == 1) {
		memset(out, *from, len);
	} else {
		do {
			*out++ = *from++;
		} while (out < to);
	}
}

static u32 lzma_state_literal(u32 state)
{
	if (state < 4)
		return 0;
	return state < 10 ? state - 3 : state - 6;
}

/**
 * z_erofs_lzma_workspace_size() - bytes of working memory one decoder needs
 *
 * Return: the size for any properties and any dictionary
 */
size_t z_erofs_lzma_workspace_size(void)
{
	return LZMA_PROBS_MAX * sizeof(u16);
}

/**
 * z_erofs_lzma_decode() - decode one MicroLZMA stream
 * @ws: z_erofs_lzma_workspace_size() bytes, aligned for u16; content is irrelevant
 * @dict_size: matches must not reach further back
 * @src: first byte of the stream (not padding)
 * @srclen: bytes up to the end of the stream
 * @dst: output; never read before it is written
 * @dstlen: bytes wanted
 * @partial: stop at @dstlen bytes, the stream may go on
 *
 * Return: 0 or -EFSCORRUPTED; @dst is then undefined
 */
int z_erofs_lzma_decode(void *ws, u32 dict_size, const u8 *src, size_t srclen,
			u8 *dst, size_t dstlen, bool partial)
{
	u16 *probs = ws;
	u8 tail[2 * LZMA_SYMBOL_MAX];
	const u8 *limit;
	u8 *out = dst;
	u8 *const end = dst + dstlen;
	u32 state = 0, rep0 = 0, rep1 = 0, rep2 = 0, rep3 = 0;
	u32 lc, lp_mask, pos_mask, props, i;
	bool in_tail = false;
	struct lzma_rc rc;
	u8 prev = 0;

	if (srclen < RC_INIT_BYTES)
		return -EFSCORRUPTED;
	props = 255 - src[0];
	if (props > LZMA_PROPS_MAX)
		return -EFSCORRUPTED;
	lc = props % 9;
	props /= 9;
	if (lc + props % 5 > LZMA_LCLP_MAX)
		return -EFSCORRUPTED;
	lp_mask = (1U << props % 5) - 1;
	pos_mask = (1U << props / 5) - 1;

	for (i = 0; i < P_LITERAL + (LZMA_LITERAL_SIZE << (lc + props % 5)); i++)
		probs[i] = RC_PROB_ONE / 2;

	rc.range = U32_MAX;
	rc.code = (u32)src[1] << 24 | (u32)src[2] << 16 | (u32)src[3] << 8 | src[4];
	rc.in = src + RC_INIT_BYTES;
	src += srclen;		/* from here on the end of the input */

	/* where the main loop has to leave the input; short ones start in the tail */
	limit = rc.in - 1;
	if (src - rc.in > LZMA_SYMBOL_MAX)
		limit = src - LZMA_SYMBOL_MAX;

	while (out < end) {
		u32 pos_state = (u32)(out - dst) & pos_mask;
		size_t len;

		if (unlikely(rc.in > limit)) {
			if (in_tail)
				return -EFSCORRUPTED;	/* the last symbol ran over the end */
			in_tail = true;
			len = src - rc.in;
			memcpy(tail, rc.in, len);
			memset(tail + len, 0, sizeof(tail) - len);
			rc.in = tail;
			limit = tail + len;
		}

		if (!rc_bit(&rc, probs + P_IS_MATCH + state * LZMA_POS_STATES + pos_state)) {
			u32 ctx = (((u32)(out - dst) & lp_mask) << lc) + (prev >> (8 - lc));
			u16 *lit = probs + P_LITERAL + LZMA_LITERAL_SIZE * ctx;
			u32 sym = 1;

			if (state < LZMA_LIT_STATES) {
				sym = rc_tree(&rc, lit, 8);
			} else {
				u32 match = *(out - rep0 - 1);
				u32 offs = 0x100;

				do {
					u32 bit, mask;

					match <<= 1;
					bit = match & offs;
					mask = rc_bit_mask(&rc, lit + offs + bit + sym);
					sym = (sym << 1) + 1 + mask;
					/* stay in the matched half while bits agree */
					offs &= bit ^ mask;
				} while (sym < 0x100);
			}
			prev = sym;
			*out++ = prev;
			state = lzma_state_literal(state);
			continue;
		}

		if (!rc_bit(&rc, probs + P_IS_REP + state)) {
			rep3 = rep2;
			rep2 = rep1;
			rep1 = rep0;
			len = lzma_len(&rc, probs + P_LEN, pos_state);
			rep0 = lzma_dist(&rc, probs, len);
			state = state < LZMA_LIT_STATES ? 7 : 10;
		} else {
			bool is_short = false;

			if (!rc_bit(&rc, probs + P_IS_REP0 + state)) {
				is_short = !rc_bit(&rc, probs + P_IS_REP0_LONG +
						   state * LZMA_POS_STATES + pos_state);
			} else {
				u32 dist = rep1;

				if (rc_bit(&rc, probs + P_IS_REP1 + state)) {
					dist = rep2;
					if (rc_bit(&rc, probs + P_IS_REP2 + state)) {
						dist = rep3;
						rep3 = rep2;
					}
					rep2 = rep1;
				}
				rep1 = rep0;
				rep0 = dist;
			}
			if (is_short) {
				len = 1;
				state = state < LZMA_LIT_STATES ? 9 : 11;
			} else {
				len = lzma_len(&rc, probs + P_REP_LEN, pos_state);
				state = state < LZMA_LIT_STATES ? 8 : 11;
			}
		}

		if (unlikely(rep0 >= (size_t)(out - dst) || rep0 >= dict_size))
			return -EFSCORRUPTED;
		if (unlikely(len > (size_t)(end - out))) {
			if (!partial)
				return -EFSCORRUPTED;
			len = end - out;
		}
		lzma_copy(out, (size_t)rep0 + 1, len, end);
		out += len;
		prev = out[-1];
	}

	if (partial) {
		/* but not from bytes that aren't there */
		return in_tail && rc.in > limit ? -EFSCORRUPTED : 0;
	}
	rc_normalize(&rc);
	if (rc.code || rc.in != (in_tail ? limit : src))
		return -EFSCORRUPTED;
	return 0;
}
