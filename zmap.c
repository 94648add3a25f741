// SPDX-License-Identifier: GPL-2.0
/*
 * zmap.c - where the bytes of a compressed file are (format section 11).
 *
 * Owns the map header, full and compact index records and encoded extents:
 * everything between "offset in the file" and "pcluster, flags, algorithm".
 * Reading and decoding the pcluster is somebody else's business.
 *
 * A record is judged when a lookup uses it, not when the group it is in gets
 * parsed: entries behind the end of the file may hold anything, and damage in
 * one place leaves the other extents of the file readable.
 */
#include "core.h"

/* log2 of the first block number that no address may reach (section 11.12) */
#define BLKADDR_BITS		48

/* bytes of a compact index pack */
#define PACK_4B_SIZE		8
#define PACK_2B_SIZE		32

/* largest log2 of an lcluster: full indexes store a clusterofs in 16 bits */
#define LCLUSTERBITS_MAX_FULL		16
#define LCLUSTERBITS_MAX_COMPACT	14
#define LCLUSTERBITS_MAX_2B		12

/*
 * Most records that one lookup reads in either direction.  Extents without a
 * length limit (holes, fragments) are crossed in steps of up to 2047 lclusters
 * by all known writers; even in steps of one this is enough for 512 MiB.
 */
#define INDEX_STEPS_MAX		1048576

/* what an index lookup works on */
struct zlookup {
	const struct erofs_super *s;
	const struct erofs_inode_desc *d;
	const struct z_erofs_info *zi;
	struct erofs_meta *m;
	struct z_erofs_cursor *c;
};

static noinline int corrupt(struct erofs_meta *m, const char *what, u64 off, u64 value)
{
	return erofs_fault_set(&m->fault, -EFSCORRUPTED, what, off, value);
}

static noinline int unsupported(struct erofs_meta *m, const char *what, u64 off, u64 value)
{
	return erofs_fault_set(&m->fault, -EOPNOTSUPP, what, off, value);
}

/*
 * One load: the device may rewrite the bytes at any time, so the compiler must
 * not fetch them again between a check and the use.
 */
static __always_inline u64 load64(const void *p)
{
	u64 v = get_unaligned_le64(p);

	barrier();
	return v;
}

static __always_inline u32 load32(const void *p)
{
	u32 v = get_unaligned_le32(p);

	barrier();
	return v;
}

static u64 pos_limit(const struct erofs_super *s)
{
	return 1ULL << (BLKADDR_BITS + s->blkszbits);
}

static bool alg_usable(const struct erofs_super *s, u32 alg)
{
	return alg < Z_EROFS_COMPRESSION_MAX && (s->algs >> alg & 1);
}

/* ---- map header ------------------------------------------------------------ */

/* Position of the compact pack with record @l, its first record and its size */
static __always_inline u64 pack_pos(const struct z_erofs_info *zi, u64 l, u64 *first, u32 *size)
{
	u64 q = l - zi->c4;	/* huge for the leading 4B packs */

	if (q < zi->c2) {
		q &= ~15ULL;
		*first = zi->c4 + q;
		*size = PACK_2B_SIZE;
		return zi->ebase + 4 * zi->c4 + 2 * q;
	}
	/* c4 and c2 are even, so that 4B packs begin with even records */
	*first = l & ~1ULL;
	*size = PACK_4B_SIZE;
	return zi->ebase + 4 * *first - (l < zi->c4 ? 0 : 2 * zi->c2);
}

/* Position behind the index unit that holds record @l */
static u64 index_unit_end(const struct z_erofs_info *zi, u64 l)
{
	u64 pos, first;
	u32 size;

	if (zi->kind == Z_EROFS_KIND_FULL)
		return zi->ebase + 8 * (l + 1);
	pos = pack_pos(zi, l, &first, &size);
	return pos + size;
}

static int decode_extents(const struct erofs_inode_desc *d, struct erofs_meta *m, u64 h, u64 hpos,
			  struct z_erofs_info *zi)
{
	u64 end;

	zi->kind = Z_EROFS_KIND_EXTENTS;
	zi->recsz = 4 << (zi->advise >> Z_EROFS_ADVISE_EXTRECSZ_SHIFT &
			  Z_EROFS_ADVISE_EXTRECSZ_MASK);
	zi->ebase = round_up(hpos + 8, (u64)zi->recsz);
	if (zi->recsz <= 8) {
		/* at most 12 + 15 bits, no bad shift is possible */
		zi->nrec = (d->size + (1ULL << zi->lclusterbits) - 1) >> zi->lclusterbits;
	} else {
		zi->nrec = (u32)h | (h >> 48) << 32;
	}
	/* below 2^60 + 2^57, no wrap */
	end = zi->ebase + zi->nrec * zi->recsz + (zi->recsz == 4 ? 8 : 0);
	if (end > m->size)
		return corrupt(m, "extent table beyond the metadata", hpos, zi->nrec);
	return 0;
}

static int decode_index(const struct erofs_super *s, const struct erofs_inode_desc *d,
			struct erofs_meta *m, u64 h, u64 hpos, struct z_erofs_info *zi)
{
	const u16 big = Z_EROFS_ADVISE_BIG_PCLUSTER_1 | Z_EROFS_ADVISE_BIG_PCLUSTER_2;
	const u8 lbits = zi->lclusterbits;
	u64 total;

	zi->alg[0] = h >> 48 & 0xf;
	zi->alg[1] = h >> 52 & 0xf;
	if (zi->alg[0] >= Z_EROFS_COMPRESSION_MAX || zi->alg[1] >= Z_EROFS_COMPRESSION_MAX)
		return unsupported(m, "unknown compression algorithm", hpos + 6, h >> 48 & 0xff);
	if ((zi->advise & big) && !(s->feature_incompat & EROFS_FEATURE_INCOMPAT_BIG_PCLUSTER))
		return corrupt(m, "big pclusters without the feature", hpos + 4, zi->advise);

	zi->nrec = (d->size + (1ULL << lbits) - 1) >> lbits;
	if (d->layout == EROFS_INODE_COMPRESSED_FULL) {
		if (lbits > LCLUSTERBITS_MAX_FULL)
			return unsupported(m, "lcluster too large", hpos + 7, lbits);
		zi->kind = Z_EROFS_KIND_FULL;
		zi->ebase = hpos + 16;
	} else {
		if (lbits > LCLUSTERBITS_MAX_COMPACT)
			return corrupt(m, "lcluster too large", hpos + 7, lbits);
		if ((zi->advise & big) && (zi->advise & big) != big)
			return corrupt(m, "contradicting big pcluster flags", hpos + 4,
				       zi->advise);
		zi->kind = Z_EROFS_KIND_COMPACT;
		zi->ebase = hpos + 8;
		/* counted in blocks, even if lclusters are larger */
		total = (d->size + s->blksz - 1) >> s->blkszbits;
		zi->c4 = ((32 - (zi->ebase & 31)) / 4) & 7;
		if (zi->advise & Z_EROFS_ADVISE_COMPACTED_2B) {
			if (lbits > LCLUSTERBITS_MAX_2B)
				return unsupported(m, "lcluster too large for 2-byte records",
						   hpos + 7, lbits);
			if (zi->c4 < total)
				zi->c2 = round_down(total - zi->c4, 16ULL);
		}
	}

	if ((zi->advise & Z_EROFS_ADVISE_INLINE_PCLUSTER) &&
	    !(zi->advise & Z_EROFS_ADVISE_FRAGMENT_PCLUSTER)) {
		u32 room;

		zi->idata_size = h >> 16 & 0xffff;
		zi->idata_pos = index_unit_end(zi, zi->nrec - 1);
		room = s->blksz - (zi->idata_pos & (s->blksz - 1));
		if (zi->idata_size > room)
			return corrupt(m, "inline pcluster crosses a block", zi->idata_pos,
				       zi->idata_size);
	}
	return 0;
}

int z_erofs_info_decode(const struct erofs_super *s, const struct erofs_inode_desc *d,
			struct erofs_meta *m, bool is_packed, struct z_erofs_info *zi)
{
	bool fragment;
	const void *p;
	u64 h, hpos;
	int err;

	memset(zi, 0, sizeof(*zi));
	/* sizes are below 2^63: index positions cannot wrap with this limit */
	if (d->body > pos_limit(s))
		return corrupt(m, "map header out of range", d->body, 0);
	hpos = round_up(d->body, 8ULL);
	p = erofs_meta_ptr(m, hpos, 8);
	if (IS_ERR(p))
		return PTR_ERR(p);
	h = load64(p);

	if (h & Z_EROFS_FRAGMENT_INODE) {
		zi->kind = Z_EROFS_KIND_FRAGMENT;
		zi->fragmentoff = h & ~Z_EROFS_FRAGMENT_INODE;
		fragment = true;
	} else {
		zi->advise = h >> 32 & 0xffff;
		zi->lclusterbits = s->blkszbits + (h >> 56 & 0xf);
		fragment = zi->advise & Z_EROFS_ADVISE_FRAGMENT_PCLUSTER;
		if (fragment)
			zi->fragmentoff = (u32)h;
		if (d->layout == EROFS_INODE_COMPRESSED_FULL &&
		    (zi->advise & Z_EROFS_ADVISE_EXTENTS))
			err = decode_extents(d, m, h, hpos, zi);
		else
			err = decode_index(s, d, m, h, hpos, zi);
		if (err)
			return err;
	}

	if (fragment && is_packed)
		return corrupt(m, "fragment inside the packed inode", hpos, h);
	if (fragment && !s->packed_nid)
		return corrupt(m, "fragment without packed inode", hpos, h);
	return 0;
}

/* ---- results that all kinds share ----------------------------------------- */

static __always_inline void set_hole(struct erofs_map *map)
{
	map->pa = 0;
	map->plen = 0;
	map->device_id = 0;
	map->flags = 0;
	map->alg = 0;
}

static int set_fragment(struct erofs_meta *m, u64 pos, struct erofs_map *map)
{
	if (pos > S64_MAX - map->llen)
		return corrupt(m, "fragment position out of range", map->la, pos);
	map->pa = pos;
	map->plen = map->llen;
	map->device_id = 0;
	map->flags = EROFS_MAP_MAPPED | EROFS_MAP_FRAGMENT;
	map->alg = 0;
	return 0;
}

/* ---- index records ---------------------------------------------------------- */

/* what a NONHEAD has in u; plain shifts leave the record in registers */
static __always_inline u32 rec_delta0(const struct z_erofs_rec *r)
{
	return r->u & 0xffff;
}

/* ancient writers stored 0 */
static __always_inline u32 rec_delta1(const struct z_erofs_rec *r)
{
	return r->u >> 16 ?: 1;
}

static u64 rec_pos(const struct z_erofs_info *zi, u64 l)
{
	u64 first;
	u32 size;

	if (zi->kind == Z_EROFS_KIND_FULL)
		return zi->ebase + 8 * l;
	return pack_pos(zi, l, &first, &size);
}

static noinline int rec_bad(const struct zlookup *q, u64 l, u8 type, u8 flags, u16 val)
{
	const char *what;

	if (type != Z_EROFS_LCLUSTER_NONHEAD)
		what = "clusterofs beyond the lcluster";
	else if (flags & Z_EROFS_REC_CBLKCNT)
		what = "pcluster size without big pclusters";
	else
		what = "pcluster size expected";
	return corrupt(q->m, what, rec_pos(q->zi, l), val);
}

static __always_inline void parse_full(const struct z_erofs_info *zi, u64 v,
				       struct z_erofs_rec *r)
{
	r->flags = 0;
	r->type = v & Z_EROFS_LI_TYPE_MASK;
	r->u = v >> 32;
	if (r->type != Z_EROFS_LCLUSTER_NONHEAD) {
		r->val = v >> 16;
		if (v & Z_EROFS_LI_PARTIAL_REF)
			r->flags |= Z_EROFS_REC_PARTIAL;
		if (v & Z_EROFS_LI_HOLE)
			r->flags |= Z_EROFS_REC_HOLE;
		if (r->val >> zi->lclusterbits)
			r->flags |= Z_EROFS_REC_BAD;
		return;
	}
	r->val = v >> 32;
	if (r->val & Z_EROFS_LI_D0_CBLKCNT) {
		r->val &= ~Z_EROFS_LI_D0_CBLKCNT;
		r->u = (r->u & ~0xffffU) | 1;
		r->flags |= Z_EROFS_REC_CBLKCNT;
		if (!(zi->advise & (Z_EROFS_ADVISE_BIG_PCLUSTER_1 |
				    Z_EROFS_ADVISE_BIG_PCLUSTER_2)))
			r->flags |= Z_EROFS_REC_BAD;
	}
}

/*
 * Parse the @v entries @e of one pack.  Block numbers become sums relative to
 * the base; delta0 of the last entry and delta1 of all others, which are not
 * stored, are derived from the neighbours (section 11.5).
 */
static __always_inline void parse_entries(const struct z_erofs_info *zi, const u16 *e, u32 v,
					  struct z_erofs_rec *rec)
{
	const bool big = zi->advise & Z_EROFS_ADVISE_BIG_PCLUSTER_1;
	const u32 lob = max_t(u32, zi->lclusterbits, 12);
	const u32 mask = (1U << lob) - 1;
	bool after_head = false;
	u32 rel = 0, j, d1;

	for (j = 0; j < v; j++) {
		struct z_erofs_rec *r = &rec[j];

		r->val = e[j] & mask;
		r->type = e[j] >> lob & 3;
		r->flags = 0;
		if (r->type != Z_EROFS_LCLUSTER_NONHEAD) {
			/* one block each, unless a CBLKCNT follows */
			r->u = big ? rel : rel + 1;
			rel++;
			after_head = true;
			if (r->val >> zi->lclusterbits)
				r->flags = Z_EROFS_REC_BAD;
			continue;
		}
		if (r->val & Z_EROFS_LI_D0_CBLKCNT) {
			r->val &= ~Z_EROFS_LI_D0_CBLKCNT;
			r->flags = Z_EROFS_REC_CBLKCNT;
			r->u = 1;
			if (!big)
				r->flags |= Z_EROFS_REC_BAD;
			else
				rel += r->val - after_head;
		} else if (j < v - 1) {
			r->u = r->val;
			if (big && r->val <= 1)
				r->flags = Z_EROFS_REC_BAD;
		} else {
			r->u = after_head ? 1 : rec_delta0(r - 1) + 1;
			r->u |= r->val << 16;
		}
		after_head = false;
	}

	/* in a non-last entry delta1 leads to the next head or out of the pack */
	d1 = rec[v - 1].type == Z_EROFS_LCLUSTER_NONHEAD ? rec_delta1(&rec[v - 1]) : 0;
	for (j = v - 1; j--; ) {
		d1++;
		if (rec[j].type == Z_EROFS_LCLUSTER_NONHEAD)
			rec[j].u |= d1 << 16;
		else
			d1 = 0;
	}
}

/* Parse the pack that holds record @l into the slot not used last */
static noinline struct z_erofs_pack *pack_load(const struct zlookup *q, u64 l)
{
	const struct z_erofs_info *zi = q->zi;
	struct z_erofs_pack *pk;
	u16 e[Z_EROFS_PACK_MAX];
	u8 buf[PACK_2B_SIZE];
	u64 pos, first, v;
	const void *p;
	u32 size, i;

	pos = pack_pos(zi, l, &first, &size);
	p = erofs_meta_ptr(q->m, pos, size);
	if (IS_ERR(p))
		return (void *)p;

	q->c->recent ^= 1;
	pk = &q->c->pack[q->c->recent];
	pk->first = first;
	if (size == PACK_4B_SIZE) {
		v = load64(p);
		e[0] = v;
		e[1] = v >> 16;
		pk->base = v >> 32;
		pk->count = 2;
		parse_entries(zi, e, 2, pk->rec);
		return pk;
	}

	memcpy(buf, p, PACK_2B_SIZE);
	barrier();
	for (i = 0; i < 4; i++) {	/* four entries of 14 bits are 7 bytes */
		v = get_unaligned_le64(buf + 7 * i);
		e[4 * i] = v & 0x3fff;
		e[4 * i + 1] = v >> 14 & 0x3fff;
		e[4 * i + 2] = v >> 28 & 0x3fff;
		e[4 * i + 3] = v >> 42 & 0x3fff;
	}
	pk->base = get_unaligned_le32(buf + 28);
	pk->count = Z_EROFS_PACK_MAX;
	parse_entries(zi, e, Z_EROFS_PACK_MAX, pk->rec);
	return pk;
}

/* Record @l, which is below nrec; @base: what its blk is relative to */
static __always_inline int rec_get(const struct zlookup *q, u64 l, struct z_erofs_rec *r,
				   u32 *base)
{
	if (q->zi->kind == Z_EROFS_KIND_FULL) {
		const void *p = erofs_meta_ptr(q->m, q->zi->ebase + 8 * l, 8);

		if (IS_ERR(p))
			return PTR_ERR(p);
		parse_full(q->zi, load64(p), r);
		*base = 0;
	} else {
		struct z_erofs_cursor *c = q->c;
		struct z_erofs_pack *pk = &c->pack[c->recent];

		if (l - pk->first >= pk->count) {
			pk = &c->pack[c->recent ^ 1];
			if (l - pk->first < pk->count) {
				c->recent ^= 1;
			} else {
				pk = pack_load(q, l);
				if (IS_ERR(pk))
					return PTR_ERR(pk);
			}
		}
		*r = pk->rec[l - pk->first];
		*base = pk->base;
	}
	if (unlikely(r->flags & Z_EROFS_REC_BAD))
		return rec_bad(q, l, r->type, r->flags, r->val);
	return 0;
}

/*
 * Does the limit of 12 MiB apply?  Not to holes, so that going back in a full
 * index it isn't known before the head is.
 */
static bool length_limited(const struct z_erofs_info *zi, u8 head_flags)
{
	return !(zi->advise & Z_EROFS_ADVISE_FRAGMENT_PCLUSTER) &&
	       !(head_flags & Z_EROFS_REC_HOLE);
}

/* A record, its number, and what its blk is relative to */
struct zplace {
	u64 l;
	struct z_erofs_rec rec;
	u32 base;
};

/*
 * From record @at, which is not the head wanted, back to the head.  @dist: the
 * first step.  Ends because each step decreases the number.
 */
static noinline int index_back(const struct zlookup *q, u64 off, u32 dist, struct zplace *at)
{
	const u8 lbits = q->zi->lclusterbits;
	const bool limited = q->zi->kind == Z_EROFS_KIND_COMPACT && length_limited(q->zi, 0);
	struct z_erofs_rec *r = &at->rec;
	bool cblk = r->type == Z_EROFS_LCLUSTER_NONHEAD && (r->flags & Z_EROFS_REC_CBLKCNT);
	u32 steps = 0;
	int err;

	for (;;) {
		if (!dist || dist > at->l || ++steps > INDEX_STEPS_MAX)
			return corrupt(q->m, "bad lookback distance", rec_pos(q->zi, at->l), dist);
		at->l -= dist;
		err = rec_get(q, at->l, r, &at->base);
		if (err)
			return err;
		if (r->type != Z_EROFS_LCLUSTER_NONHEAD)
			return 0;
		if (cblk)
			return corrupt(q->m, "pcluster size not behind a head",
				       rec_pos(q->zi, at->l), rec_delta0(r));
		cblk = r->flags & Z_EROFS_REC_CBLKCNT;
		if (limited && off - (at->l << lbits) >= Z_EROFS_PCLUSTER_MAX_DSIZE)
			return unsupported(q->m, "extent too long", rec_pos(q->zi, at->l),
					   off - (at->l << lbits));
		dist = rec_delta0(r);
	}
}

/*
 * From lcluster @k on, which a NONHEAD before it leads to, to the end of the
 * extent that begins at @start (not clamped).  Ends because each step increases
 * @k.
 */
static noinline int index_forward(const struct zlookup *q, u64 start, bool limited, u64 k,
				  u64 *end)
{
	const u8 lbits = q->zi->lclusterbits;
	struct z_erofs_rec r = { };
	u32 base, steps = 0;
	int err;

	while (k < q->zi->nrec) {
		if (unlikely(++steps > INDEX_STEPS_MAX))
			return corrupt(q->m, "extent of too many records", rec_pos(q->zi, k), k);
		if (unlikely((k << lbits) - start > Z_EROFS_PCLUSTER_MAX_DSIZE) && limited)
			return unsupported(q->m, "extent too long", rec_pos(q->zi, k),
					   (k << lbits) - start);
		err = rec_get(q, k, &r, &base);
		if (err)
			return err;
		if (likely(r.type != Z_EROFS_LCLUSTER_NONHEAD)) {
			*end = (k << lbits) + r.val;
			return 0;
		}
		if (r.flags & Z_EROFS_REC_CBLKCNT)
			return corrupt(q->m, "pcluster size not behind a head",
				       rec_pos(q->zi, k), r.val);
		k += rec_delta1(&r);
	}
	*end = q->d->size;
	return 0;
}

static __always_inline int index_find(const struct zlookup *q, u64 off, struct erofs_map *map)
{
	const struct z_erofs_info *zi = q->zi;
	const u8 lbits = zi->lclusterbits;
	const u64 size = q->d->size;
	u64 l = off >> lbits, start, end = size, blk;
	bool big, need_cblk = false;
	u32 base = 0, base2, nblks = 1;
	struct z_erofs_rec head = { }, r = { };
	int err;

	err = rec_get(q, l, &head, &base);
	if (err)
		return err;
	if (head.type == Z_EROFS_LCLUSTER_NONHEAD || off - (l << lbits) < head.val) {
		struct zplace at = { .l = l, .rec = head, .base = base };

		err = index_back(q, off, head.type == Z_EROFS_LCLUSTER_NONHEAD ? rec_delta0(&head) :
				 1,
				 &at);
		if (err)
			return err;
		l = at.l;
		head = at.rec;
		base = at.base;
	}
	if (!l && head.val)
		return corrupt(q->m, "first extent does not start at 0", rec_pos(zi, 0), head.val);

	start = (l << lbits) + head.val;
	big = zi->advise & (head.type == Z_EROFS_LCLUSTER_HEAD1 ? Z_EROFS_ADVISE_BIG_PCLUSTER_1 :
								  Z_EROFS_ADVISE_BIG_PCLUSTER_2);
	if (l + 1 < zi->nrec) {
		err = rec_get(q, l + 1, &r, &base2);
		if (err)
			return err;
		if (r.type != Z_EROFS_LCLUSTER_NONHEAD) {
			end = ((l + 1) << lbits) + r.val;
		} else {
			if (big) {
				nblks = r.val;
				need_cblk = !(r.flags & Z_EROFS_REC_CBLKCNT);
			}
			err = index_forward(q, start, length_limited(zi, head.flags),
					    l + 1 + rec_delta1(&r), &end);
			if (err)
				return err;
		}
		if (end > size)
			end = size;
	}
	/* a head between this one and @off: they contradict each other */
	if (unlikely(end <= off))
		return corrupt(q->m, "extent ends too early", rec_pos(zi, l), end);

	map->la = start;
	map->llen = end - start;

	if (end == size && zi->idata_size) {
		map->pa = zi->idata_pos;
		map->plen = zi->idata_size;
		map->flags = EROFS_MAP_MAPPED | EROFS_MAP_META;
	} else {
		if (end == size && (zi->advise & Z_EROFS_ADVISE_FRAGMENT_PCLUSTER)) {
			u64 hi = zi->kind == Z_EROFS_KIND_FULL ? head.u : 0;

			return set_fragment(q->m, zi->fragmentoff | hi << 32, map);
		}
		if (head.flags & Z_EROFS_REC_HOLE) {
			set_hole(map);
			return 0;
		}
		if (need_cblk)
			return corrupt(q->m, "pcluster size expected", rec_pos(zi, l + 1), r.val);
		blk = (u64)base + head.u;
		if (blk > U32_MAX)
			return corrupt(q->m, "block address wraps", rec_pos(zi, l), blk);
		map->pa = blk << q->s->blkszbits;
		map->plen = (u64)nblks << q->s->blkszbits;
		map->flags = EROFS_MAP_MAPPED;
		if (map->plen > Z_EROFS_PCLUSTER_MAX_SIZE)
			return unsupported(q->m, "pcluster too large", rec_pos(zi, l), map->plen);
	}
	if (map->llen > Z_EROFS_PCLUSTER_MAX_DSIZE)
		return unsupported(q->m, "extent too long", rec_pos(zi, l), map->llen);
	map->device_id = 0;
	if (!map->plen) {	/* a CBLKCNT of 0 */
		set_hole(map);
		return 0;
	}

	if (head.flags & Z_EROFS_REC_PARTIAL)
		map->flags |= EROFS_MAP_PARTIAL;
	if (head.type == Z_EROFS_LCLUSTER_PLAIN) {
		map->alg = 0;
		map->flags |= EROFS_MAP_PLAIN;
		if ((zi->advise & Z_EROFS_ADVISE_INTERLACED_PCLUSTER) &&
		    !(map->flags & EROFS_MAP_META))
			map->flags |= EROFS_MAP_INTERLACED;
		if (map->llen > map->plen)
			return corrupt(q->m, "plain extent longer than its pcluster",
				       rec_pos(zi, l), map->llen);
		return 0;
	}
	map->alg = zi->alg[head.type == Z_EROFS_LCLUSTER_HEAD2];
	map->flags |= EROFS_MAP_ENCODED;
	if (unlikely(!alg_usable(q->s, map->alg)))
		return corrupt(q->m, "algorithm not announced", rec_pos(zi, l), map->alg);
	return 0;
}

/* ---- encoded extents --------------------------------------------------------- */

/* One parsed extent record */
struct zext {
	u64 pstart;
	u64 lstart;		/* records of 16 and 32 bytes only */
	u32 word;		/* plen with its flags */
};

static __always_inline u64 ext_lstart(const u8 *p, u32 recsz)
{
	return recsz == 16 ? load32(p + 12) : load64(p + 12);
}

/* Start of record @k; 16 and 32 bytes only */
static int ext_lstart_get(const struct z_erofs_info *zi, struct erofs_meta *m, u64 k, u64 *lstart)
{
	const u8 *p = erofs_meta_ptr(m, zi->ebase + k * zi->recsz, zi->recsz);

	if (IS_ERR(p))
		return PTR_ERR(p);
	*lstart = ext_lstart(p, zi->recsz);
	return 0;
}

/* Record @k of 8, 16 or 32 bytes */
static int ext_get(const struct z_erofs_info *zi, struct erofs_meta *m, u64 k, struct zext *x)
{
	const u8 *p = erofs_meta_ptr(m, zi->ebase + k * zi->recsz, zi->recsz);

	if (IS_ERR(p))
		return PTR_ERR(p);
	x->word = load32(p);
	if (zi->recsz == 8) {
		x->pstart = load32(p + 4);
	} else {
		x->pstart = load64(p + 4);
		x->lstart = ext_lstart(p, zi->recsz);
	}
	return 0;
}

/*
 * Position of pcluster @k with 4-byte records: a sum over all records before
 * it, continued from the cursor's in either direction if that is shorter.
 * Bounded by the record count; the sum cannot wrap because it is compared with
 * the limit once per window of less than 2^32 bytes.
 */
static int ext4_sum(const struct erofs_super *s, const struct z_erofs_info *zi,
		    struct erofs_meta *m, struct z_erofs_cursor *c, u64 k, u64 *res)
{
	const u64 limit = pos_limit(s), table = zi->ebase + 8;
	u64 i = c->idx, sum = c->pos;
	const u8 *p;

	if (!i || (k < i && k < i - k)) {
		i = 0;
		p = erofs_meta_ptr(m, zi->ebase, 8);
		if (IS_ERR(p))
			return PTR_ERR(p);
		sum = load64(p);
	}
	while (i > k) {
		u32 len;

		i--;
		p = erofs_meta_ptr(m, table + 4 * i, 4);
		if (IS_ERR(p))
			return PTR_ERR(p);
		len = load32(p) & Z_EROFS_EXTENT_PLEN_MASK;
		if (len > sum)
			return corrupt(m, "position sum wraps", table + 4 * i, sum);
		sum -= len;
	}
	while (i < k) {
		u64 pos = table + 4 * i, n;

		if (sum > limit)
			break;
		p = erofs_meta_ptr(m, pos, 4);
		if (IS_ERR(p))
			return PTR_ERR(p);
		/* all records of this window */
		n = (m->len - (pos - m->start)) / 4;
		if (n > k - i)
			n = k - i;
		i += n;
		for (; n; n--, p += 4)
			sum += load32(p) & Z_EROFS_EXTENT_PLEN_MASK;
	}
	if (sum > limit)
		return corrupt(m, "pcluster position out of range", table + 4 * i, sum);
	c->idx = k;
	c->pos = sum;
	*res = sum;
	return 0;
}

/* 4- and 8-byte records: extents of fixed decoded size */
static int ext_find_fixed(const struct erofs_super *s, const struct erofs_inode_desc *d,
			  const struct z_erofs_info *zi, struct erofs_meta *m,
			  struct z_erofs_cursor *c, u64 off, struct zext *x, u64 *idx,
			  struct erofs_map *map)
{
	u64 k = off >> zi->lclusterbits;
	const u8 *p;
	int err;

	map->la = k << zi->lclusterbits;
	map->llen = min_t(u64, 1ULL << zi->lclusterbits, d->size - map->la);
	*idx = k;
	if (zi->recsz == 8)
		return ext_get(zi, m, k, x);

	p = erofs_meta_ptr(m, zi->ebase + 8 + 4 * k, 4);
	if (IS_ERR(p))
		return PTR_ERR(p);
	x->word = load32(p);
	x->pstart = 0;
	if (k == zi->nrec - 1 && (zi->advise & Z_EROFS_ADVISE_FRAGMENT_PCLUSTER))
		return 0;
	err = ext4_sum(s, zi, m, c, k, &x->pstart);
	if (err)
		return err;
	c->idx = k + 1;
	c->pos = x->pstart + (x->word & Z_EROFS_EXTENT_PLEN_MASK);
	return 0;
}

/*
 * 16- and 32-byte records: sorted by start.  *@idx is U64_MAX for the hole
 * before record 0.
 */
static int ext_find_sorted(const struct erofs_inode_desc *d, const struct z_erofs_info *zi,
			   struct erofs_meta *m, struct z_erofs_cursor *c, u64 off,
			   struct zext *x, u64 *idx, struct erofs_map *map)
{
	u64 lo = 0, hi = zi->nrec, end = d->size, ls = 0;
	int err;

	if (c->idx <= hi) {
		if (off < c->pos) {
			hi = c->idx;
			end = c->pos;
		} else {
			lo = c->idx;
		}
	}
	/* ascending lookups begin where the last extent ended */
	if (off == c->pos && c->idx < zi->nrec) {
		err = ext_get(zi, m, c->idx, x);
		if (err)
			return err;
		if (x->lstart == off) {
			lo = c->idx + 1;
			hi = lo;
			if (lo < zi->nrec) {
				err = ext_lstart_get(zi, m, lo, &end);
				if (err)
					return err;
			}
			goto found;
		}
		lo = 0;
	}
	while (lo < hi) {
		u64 mid = lo + ((hi - lo) >> 1);

		err = ext_lstart_get(zi, m, mid, &ls);
		if (err)
			return err;
		if (ls <= off) {
			lo = mid + 1;
		} else {
			hi = mid;
			end = ls;
		}
	}
	if (lo) {
		err = ext_get(zi, m, lo - 1, x);
	} else {
		memset(x, 0, sizeof(*x));
		err = 0;
	}
	if (err)
		return err;
found:
	/* a table out of order, or one that changed since the search */
	if (x->lstart > off || end <= off || end > d->size)
		return corrupt(m, "extents out of order", zi->ebase + lo * zi->recsz, end);
	c->idx = lo;
	c->pos = end;
	*idx = lo - 1;
	map->la = x->lstart;
	map->llen = end - x->lstart;
	return 0;
}

static noinline int ext_find(const struct erofs_super *s, const struct erofs_inode_desc *d,
			     const struct z_erofs_info *zi, struct erofs_meta *m,
			     struct z_erofs_cursor *c, u64 off, struct erofs_map *map)
{
	struct zext x = { };
	u64 idx = 0, pos;
	u32 len, fmt;
	int err;

	if (zi->recsz <= 8)
		err = ext_find_fixed(s, d, zi, m, c, off, &x, &idx, map);
	else
		err = ext_find_sorted(d, zi, m, c, off, &x, &idx, map);
	if (err)
		return err;
	pos = zi->ebase + idx * zi->recsz + (zi->recsz == 4 ? 8 : 0);

	if ((zi->advise & Z_EROFS_ADVISE_FRAGMENT_PCLUSTER) && zi->nrec && idx == zi->nrec - 1)
		return set_fragment(m, (x.pstart & U32_MAX) << 32 | x.word, map);

	len = x.word & Z_EROFS_EXTENT_PLEN_MASK;
	if (!len) {
		set_hole(map);
		return 0;
	}
	if (len > Z_EROFS_PCLUSTER_MAX_SIZE)
		return unsupported(m, "pcluster too large", pos, len);
	if (map->llen > Z_EROFS_PCLUSTER_MAX_DSIZE)
		return unsupported(m, "extent too long", pos, map->llen);
	if (x.pstart > pos_limit(s) - len)
		return corrupt(m, "pcluster position out of range", pos, x.pstart);
	map->pa = x.pstart;
	map->plen = len;
	map->device_id = 0;
	map->alg = 0;
	map->flags = EROFS_MAP_MAPPED;
	if (x.word & Z_EROFS_EXTENT_PLEN_PARTIAL)
		map->flags |= EROFS_MAP_PARTIAL;

	fmt = x.word >> Z_EROFS_EXTENT_PLEN_FMT_SHIFT;
	if (!fmt) {
		map->flags |= EROFS_MAP_PLAIN;
		if ((zi->advise & Z_EROFS_ADVISE_INTERLACED_PCLUSTER) &&
		    !((x.pstart | len) & (s->blksz - 1)))
			map->flags |= EROFS_MAP_INTERLACED;
		if (map->llen > map->plen)
			return corrupt(m, "plain extent longer than its pcluster", pos, map->llen);
		return 0;
	}
	if (fmt > Z_EROFS_COMPRESSION_MAX)
		return unsupported(m, "unknown compression algorithm", pos, fmt - 1);
	map->alg = fmt - 1;
	map->flags |= EROFS_MAP_ENCODED;
	if (!alg_usable(s, map->alg))
		return corrupt(m, "algorithm not announced", pos, map->alg);
	return 0;
}

int z_erofs_map_find(const struct erofs_super *s, const struct erofs_inode_desc *d,
		     const struct z_erofs_info *zi, struct erofs_meta *m,
		     struct z_erofs_cursor *c, u64 off, struct erofs_map *map)
{
	const struct zlookup q = { .s = s, .d = d, .zi = zi, .m = m, .c = c };

	switch (zi->kind) {
	case Z_EROFS_KIND_FRAGMENT:
		map->la = 0;
		map->llen = d->size;
		return set_fragment(m, zi->fragmentoff, map);
	case Z_EROFS_KIND_EXTENTS:
		return ext_find(s, d, zi, m, c, off, map);
	default:
		return index_find(&q, off, map);
	}
}
