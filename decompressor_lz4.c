// SPDX-License-Identifier: GPL-2.0
/*
 * decompressor_lz4.c - the LZ4 block decoder.
 *
 * Owns the decoding of one raw LZ4 block (format.md section 12.1): contiguous
 * input in, contiguous output out; no allocation, no state, no floating point
 * or vector registers.
 *
 * A block is a row of sequences.  A sequence is a token (high nibble: number of
 * literals, low nibble: match length - 4; 15 = extension bytes follow, each
 * adds its value, the first one below 255 is the last), the literals, a 16 bit
 * match distance, and the extension bytes of the match length.  The last
 * sequence ends after its literals.  A distance of 0 or one that reaches before
 * the start of the output is an error.  In a complete block the last match ends
 * at least 5 bytes, and starts at least 12 bytes before the end of the output.
 *
 * How it is made fast.  In text a sequence yields about ten bytes, so what
 * counts is the number of instructions per sequence and the number of branches
 * that can't be foretold:
 *
 * - Loop 1 looks at the ends of both buffers once per GROUP sequences.  It
 *   stops so early that whatever one sequence does without looking (up to 32
 *   literals, a match of up to 48 bytes, all with copies that run over) stays
 *   inside.
 * - "Short" sequences (at most 14 literals, match at most 18) copy 16 and 24
 *   bytes whatever their lengths are; what is too much will be overwritten by
 *   the next sequence.  One comparison with a table entry finds both long
 *   matches and distances below 8, for which copying by 8 bytes doesn't work.
 *   Long literal runs have a test of their own: folding it into the same
 *   comparison saves two instructions, but a second branch is needed afterwards
 *   which is mispredicted so often that it costs more.
 * - The address of the next token is base + number of literals + 3; keeping the
 *   compiler from adding that up before the load makes the chain from token to
 *   token, which is the critical path, two cycles shorter.
 * - Loop 2 does short sequences near the ends, with a look at the ends each
 *   time; everything else there is done by the careful code, which copies
 *   bytewise where room is short.
 * - Fixed copies instead of loops wherever lengths are seldom larger: the end
 *   of a loop is another branch that can't be foretold.
 *
 * Decoding in place.  Source and destination may be one mapping if the input
 * ends margin bytes or more behind the end of the output.  Let G be the gap
 * between the read and the write position (ip - op) at the start of a sequence.
 *
 * How small G gets: let the rest of the block have sequences 1 .. k with l(i)
 * literals and match length m(i), e(x) being the number of extension bytes.
 * Then rest of the input minus rest of the output is
 *	sum over i <= k of (1 + e(l(i))) + sum over i < k of (2 + e(m(i)) - m(i)).
 * The terms of the second sum are at most -2.  e(l) is 0 for l < 15, otherwise
 * 1 + f, f being the number of extension bytes that are 255.  So a sequence
 * before the last adds at most f and the last one at most f + 2.  Each of the f
 * bytes comes with 255 literals, that is, 256 bytes of input; thus all f together
 * are at most srclen / 256, and
 *	G >= margin - 2 - srclen / 256	at the start of each sequence.
 *
 * How large G has to be so that no store hits input that is still to be read:
 * - Short sequence: 16 bytes are stored at op before the distance at
 *   ip + 1 + l is read: G >= 15.  If the sequence then turns out to need the
 *   careful code its token at ip is read again: G >= 16.  The literals
 *   themselves are read in front of the stores.
 * - Up to 24 bytes are stored for a match of 4 or more: 20 beyond its end,
 *   which is where the gap to the next sequence begins: G >= 20.
 * - 48 bytes are stored for a match of 19 or more: G >= 29.
 * - 72 bytes are stored for a match of 49 or more: G >= 23.  Loops over more
 *   than that run over by at most 15.
 * - Long literal run: the distance is read in front of the stores, 32 bytes are
 *   stored for 15 or more before the extension of the match length is read,
 *   which lies at ip + 4 + l: G >= 13.  Longer ones are moved exactly.
 * - Near match (distance below 8): 24 bytes for a match of 4 or more: G >= 20.
 * - Careful code: literals run over by at most 16 and the token has been read:
 *   G >= 15; matches run over by at most 15, all read: G >= 15.
 *
 * So G >= 29 does, and the margin is srclen / 256 + 31; some blocks need all of
 * it.  Damaged input can break this and then yields garbage, but lengths and
 * distances are checked after they are read, not before, so it can't do other
 * harm.
 */
#include "core.h"

#define GROUP		8	/* sequences per look at the ends in loop 1 */
#define SHORT_IN	17	/* longest short sequence: 1 + 14 + 2 */
#define SHORT_OUT	32	/* and its output: 14 + 18 */

/*
 * Room that loop 1 keeps at the start of each sequence.  Input: token, extension
 * byte, 32 literals, distance, extension byte.  Output: 32 literals, 48 bytes of
 * match, and the last 5 bytes of the block which no match may touch.
 */
#define LOOP1_IN	40
#define LOOP1_OUT	88

/*
 * The same for loop 2, short sequences only: there is more room than this.
 * Input: token and 16 bytes, of which 14 literals leave two for the distance.
 * Output: 14 literals and a copy of 24 bytes.  This includes the rules for the
 * end of the block.
 */
#define LOOP2_IN	16
#define LOOP2_OUT	37

/*
 * struct token_info - what loop 1 and 2 do with a token
 * @far: distances up to this are not for the short path
 * @len: match length
 */
struct token_info {
	u16 far;
	u16 len;
};

/*
 * By the whole token: taking the low nibble out of it would cost more.  An array
 * member and not a pointer to the first row, or else gcc adds up the address.
 */
static const union {
	struct token_info by_nibbles[16][16];
	struct token_info by_token[256];
} token_table = {
	.by_nibbles[0 ... 15] = {
		{ 7, 4 }, { 7, 5 }, { 7, 6 }, { 7, 7 },
		{ 7, 8 }, { 7, 9 }, { 7, 10 }, { 7, 11 },
		{ 7, 12 }, { 7, 13 }, { 7, 14 }, { 7, 15 },
		{ 7, 16 }, { 7, 17 }, { 7, 18 }, { U16_MAX, 19 },
	},
};

/* smallest multiple of the distance (1 .. 7) that is 8 or more */
static const u8 far_multiple[8] = { 0, 8, 8, 9, 8, 10, 12, 14 };

/* keep the compiler from knowing that @var is what it was */
#define HIDE(var)	__asm__("" : "+r" (var))

static __always_inline void copy8(u8 *d, const u8 *s)
{
	u64 v;

	__builtin_memcpy(&v, s, sizeof(v));
	__builtin_memcpy(d, &v, sizeof(v));
}

/* right for d - s >= 8 and for all s >= d: the second load is after the first store */
static __always_inline void copy16(u8 *d, const u8 *s)
{
	copy8(d, s);
	copy8(d + 8, s + 8);
}

/* at least one step; runs over by at most 15 (16 for nothing) */
static __always_inline void copy_over(u8 *d, const u8 *s, const u8 *end)
{
	do {
		copy16(d, s);
		d += 16;
		s += 16;
	} while (d < end);
}

/*
 * One sequence, in loop @n.  Goes to loopN_literals if there are 15 or more, with
 * ip and op as they were and t = *ip; or to loopN_match if the match isn't short
 * or its distance is below 8, likewise, with the literals copied and lit and dist
 * set; or does all of it.  Unless @last, loads the next token to t.
 */
#define SEQUENCE(n, last)							\
	do {									\
		const u8 *q;							\
		u8 *o;								\
										\
		lit = t >> 4;							\
		if (unlikely(lit == 15))					\
			goto loop##n##_literals;				\
		copy16(op, ip + 1);						\
		dist = get_unaligned_le16(ip + 1 + lit);			\
		o = op + lit;							\
		if (unlikely((u16)dist <= token_table.by_token[t].far))		\
			goto loop##n##_match;					\
		q = (const u8 *)((uintptr_t)o - dist);				\
		if (unlikely(q < dst))						\
			goto bad;						\
		op = o + token_table.by_token[t].len;				\
		if (!(last)) {							\
			t = ip[lit + 3];					\
			HIDE(lit);						\
		}								\
		ip += lit + 3;							\
		copy16(o, q);							\
		copy8(o + 16, q + 16);						\
	} while (0)

/*
 * Extension bytes from @p on are added to @sum.  Returns where they end, NULL if
 * that would be behind @end.  One byte of input is 255 bytes of output at most,
 * so that @sum can't overflow, see the check of srclen.
 */
static __always_inline const u8 *extend(const u8 *p, const u8 *end, size_t *sum)
{
	u8 x;

	do {
		if (unlikely(p >= end))
			return NULL;
		x = *p++;
		*sum += x;
	} while (x == 255);
	return p;
}

int z_erofs_lz4_decode(const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial)
{
	const u8 *const iend = src + srclen;
	u8 *const oend = dst + dstlen;
	const u8 *ip = src;		/* next byte to read */
	u8 *op = dst;			/* next byte to write */
	const u8 *ilim, *s;
	u8 *olim, *end;
	size_t t, x, lit, len, dist, room;

	if (unlikely(!dstlen))
		return partial || (srclen == 1 && *src == 0) ? 0 : -EFSCORRUPTED;
	if (unlikely(srclen > SIZE_MAX / 256))
		return -EFSCORRUPTED;

	ilim = src;
	if (likely(srclen > LOOP1_IN + (GROUP - 1) * SHORT_IN))
		ilim = iend - LOOP1_IN - (GROUP - 1) * SHORT_IN;
	olim = dst;
	if (likely(dstlen > LOOP1_OUT + (GROUP - 1) * SHORT_OUT))
		olim = oend - LOOP1_OUT - (GROUP - 1) * SHORT_OUT;

	while (ip < ilim && op < olim) {
		t = *ip;
		SEQUENCE(1, false);
		SEQUENCE(1, false);
		SEQUENCE(1, false);
		SEQUENCE(1, false);
		SEQUENCE(1, false);
		SEQUENCE(1, false);
		SEQUENCE(1, false);
		SEQUENCE(1, true);
		continue;

loop1_literals:
		x = ip[1];
		lit = 15 + x;
		s = ip + 2;
		if (likely(lit <= 32)) {
			ip = s + lit + 2;
			dist = get_unaligned_le16(ip - 2);
			copy16(op, s);
			copy16(op + 16, s + 16);
		} else {
			if (unlikely(x == 255)) {
				s = extend(s, iend, &lit);
				if (unlikely(!s))
					goto bad;
			}
			if (unlikely((size_t)(iend - s) < lit + LOOP1_IN ||
				     (size_t)(oend - op) < lit + LOOP1_OUT))
				break;
			memmove(op, s, lit);
			ip = s + lit + 2;
			dist = get_unaligned_le16(ip - 2);
		}
		op += lit;
		goto match;

loop1_match:
		ip += lit + 3;
		op += lit;
match:
		/* 53 bytes of output and 1 of input are left, or more */
		s = (const u8 *)((uintptr_t)op - dist);
		if (unlikely(s < dst))
			goto bad;
		len = (t & 15) + 4;
		if (likely(len == 19)) {
			x = *ip++;
			len += x;
			if (unlikely(dist < 8))
				goto near_match;
			if (likely(len <= 48)) {
				copy16(op, s);
				copy16(op + 16, s + 16);
				copy16(op + 32, s + 32);
				op += len;
				continue;
			}
			if (x == 255) {
				ip = extend(ip, iend, &len);
				if (unlikely(!ip))
					goto bad;
			}
			if (unlikely((size_t)(oend - op) < len + 32))
				goto careful_match;
			if (len > 256 && dist >= len) {
				memcpy(op, s, len);
				op += len;
				continue;
			}
			copy16(op, s);
			copy16(op + 16, s + 16);
			copy16(op + 32, s + 32);
			copy16(op + 48, s + 48);
			copy8(op + 64, s + 64);
			if (unlikely(len > 72))
				copy_over(op + 72, s + 72, op + len);
			op += len;
			continue;
		}
		if (likely(dist >= 8)) {
			copy16(op, s);
			copy8(op + 16, s + 16);
			op += len;
			continue;
		}
near_match:
		if (unlikely(!dist))
			goto bad;
		if (unlikely(len == 19 + 255)) {	/* extension byte is 255 */
			ip = extend(ip, iend, &len);
			if (unlikely(!ip))
				goto bad;
		}
		if (unlikely((size_t)(oend - op) < len + 32))
			goto careful_match;
		/*
		 * What repeats after dist bytes also repeats after any multiple.
		 * After 8 bytes there is enough of it to go on by 8.
		 */
		op[0] = s[0];
		op[1] = s[1];
		op[2] = s[2];
		op[3] = s[3];
		op[4] = s[4];
		op[5] = s[5];
		op[6] = s[6];
		op[7] = s[7];
		s = op + 8 - far_multiple[dist];
		copy16(op + 8, s);
		if (unlikely(len > 24)) {
			if (dist == 1 && len > 128)
				memset(op + 24, op[0], len - 24);
			else
				copy_over(op + 24, s + 16, op + len);
		}
		op += len;
	}

	ilim = srclen > LOOP2_IN ? iend - LOOP2_IN : src;
	olim = dstlen > LOOP2_OUT ? oend - LOOP2_OUT : dst;
	for (;;) {
		while (ip < ilim && op < olim) {
			t = *ip;
			SEQUENCE(2, true);
		}
loop2_literals:
loop2_match:
		if (unlikely(ip >= iend))
			goto bad;
		t = *ip++;
		lit = t >> 4;
		if (lit == 15) {
			ip = extend(ip, iend, &lit);
			if (unlikely(!ip))
				goto bad;
		}
		room = oend - op;
		if (partial) {
			lit = min(lit, room);
			if (unlikely(lit > (size_t)(iend - ip)))
				goto bad;
			if (lit == room) {
				memmove(op, ip, lit);
				return 0;
			}
			/* goes on, so a distance has to follow */
			if (unlikely((size_t)(iend - ip) - lit < 2))
				goto bad;
		} else if (lit + 12 > room || lit + 8 > (size_t)(iend - ip)) {
			/* no room for a match and what has to follow it */
			if (unlikely(lit != room || lit != (size_t)(iend - ip)))
				goto bad;
			memmove(op, ip, lit);
			return 0;
		}
		if (lit <= 8 && room >= 8 && (size_t)(iend - ip) >= 8) {
			copy8(op, ip);
		} else if (room >= lit + 16 && (size_t)(iend - ip) >= lit + 16) {
			copy_over(op, ip, op + lit);
		} else {
			for (x = 0; x < lit; x++)
				op[x] = ip[x];
		}
		op += lit;
		ip += lit;
		dist = get_unaligned_le16(ip);
		ip += 2;
		len = (t & 15) + 4;
		if (len == 19) {
			ip = extend(ip, iend, &len);
			if (unlikely(!ip))
				goto bad;
		}

careful_match:
		if (unlikely(!dist || dist > (size_t)(op - dst)))
			goto bad;
		room = oend - op;
		if (partial)
			len = min(len, room);
		else if (unlikely(len + 5 > room))
			goto bad;
		s = op - dist;
		end = op + len;
		if (dist >= 8 && room >= len + 16) {
			copy16(op, s);
			if (len > 16)
				copy_over(op + 16, s + 16, end);
			op = end;
		} else {
			do {
				*op++ = *s++;
			} while (op < end);
		}
		if (op == oend)
			return 0;
	}
bad:
	return -EFSCORRUPTED;
}
