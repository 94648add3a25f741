/* SPDX-License-Identifier: GPL-2.0 */
/*
 * zmap_gen.h - an encoder of random compressed files: first a list of extents,
 * then the map header and the records that describe them.  Written from the
 * format description; shares no code with zmap.c.
 */
#ifndef EROFS_ZMAP_GEN_H
#define EROFS_ZMAP_GEN_H

#include "core.h"

#define GEN_PACKED_NID	77

/* One extent as it was meant; @map is what a lookup has to say */
struct gen_ext {
	struct erofs_map map;
	unsigned int type;	/* of its head record */
	u64 blk;
	u64 nblks;
	bool hole;
	bool partial;
};

struct gen {
	struct erofs_super s;
	struct erofs_inode_desc d;
	u8 *img;
	u64 imgsize;
	u64 table;		/* position of the header */
	struct gen_ext *e;
	u64 ne;
	u64 seed;
	/* plan */
	unsigned int kind;	/* Z_EROFS_KIND_* */
	unsigned int L;
	unsigned int recsz;
	unsigned int advise;
	unsigned int alg[2];
};

static u64 gen_rand(struct gen *g)
{
	g->seed ^= g->seed << 13;
	g->seed ^= g->seed >> 7;
	g->seed ^= g->seed << 17;
	return g->seed * 0x2545f4914f6cdd1dULL >> 8;
}

/* 0 .. n - 1 */
static u64 gen_below(struct gen *g, u64 n)
{
	return gen_rand(g) % n;
}

static bool gen_chance(struct gen *g, unsigned int percent)
{
	return gen_below(g, 100) < percent;
}

static void gen_put(struct gen *g, u64 pos, u64 v, unsigned int bytes)
{
	unsigned int i;

	if (pos + bytes > g->imgsize)
		abort();
	for (i = 0; i < bytes; i++)
		g->img[pos + i] = (u8)(v >> (8 * i));
}

static void gen_put_bits(struct gen *g, u64 pos, unsigned int bit, unsigned int w, u64 v)
{
	unsigned int i;

	for (i = 0; i < w; i++, bit++) {
		u8 *p = &g->img[pos + bit / 8];

		*p = (u8)((*p & ~(1U << bit % 8)) | (v >> i & 1) << bit % 8);
	}
}

static void gen_free(struct gen *g)
{
	free(g->img);
	free(g->e);
	g->img = NULL;
	g->e = NULL;
}

static struct gen_ext *gen_add(struct gen *g, u64 la, u64 llen)
{
	struct gen_ext *e;

	if (!(g->ne & (g->ne - 1))) {
		g->e = realloc(g->e, (g->ne ? 2 * g->ne : 1) * sizeof(*e));
		if (!g->e)
			abort();
	}
	e = &g->e[g->ne++];
	memset(e, 0, sizeof(*e));
	e->map.la = la;
	e->map.llen = llen;
	return e;
}

static bool gen_is_big(const struct gen *g, unsigned int type)
{
	return g->advise & (type == Z_EROFS_LCLUSTER_HEAD1 ? Z_EROFS_ADVISE_BIG_PCLUSTER_1 :
							     Z_EROFS_ADVISE_BIG_PCLUSTER_2);
}

/* bodies end anywhere in a block; xattrs make them multiples of 4 */
static void gen_place(struct gen *g)
{
	g->d.body = 4 * gen_below(g, 3 * g->s.blksz / 4);
	g->table = (g->d.body + 7) & ~7ULL;
}

/* ---- index records ---- */

/* number of the 4-byte and 2-byte entries at the front */
static void gen_split(const struct gen *g, u64 *c4, u64 *c2)
{
	u64 total = (g->d.size + g->s.blksz - 1) >> g->s.blkszbits;

	*c4 = (32 - (g->table + 8) % 32) / 4 % 8;
	*c2 = 0;
	if (!(g->advise & Z_EROFS_ADVISE_COMPACTED_2B))
		*c4 = 0;
	else if (*c4 < total)
		*c2 = (total - *c4) & ~15ULL;
}

static void gen_pack_of(const struct gen *g, u64 l, u64 *pos, u64 *first, unsigned int *v)
{
	u64 c4, c2;

	gen_split(g, &c4, &c2);
	if (l >= c4 && l < c4 + c2) {
		*v = 16;
		*first = c4 + ((l - c4) & ~15ULL);
		*pos = g->table + 8 + 4 * c4 + 2 * (*first - c4);
	} else {
		*v = 2;
		*first = l & ~1ULL;
		*pos = g->table + 8 + 4 * *first;
		if (l >= c4 + c2)
			*pos -= 2 * c2;
	}
}

/* split the file at random; at most one start per lcluster */
static void gen_index_extents(struct gen *g)
{
	const u64 lsize = 1ULL << g->L, size = g->d.size;
	const bool frag = g->advise & Z_EROFS_ADVISE_FRAGMENT_PCLUSTER;
	const bool inl = !frag && (g->advise & Z_EROFS_ADVISE_INLINE_PCLUSTER);
	const unsigned int style = gen_below(g, 4);
	u64 la = 0, next, blk = 3000 + gen_below(g, 1000000), pack_seen = U64_MAX;

	while (la < size) {
		struct gen_ext *e;
		u64 span, pos, first;
		unsigned int v;
		bool tail, cont;

		switch (style) {
		case 0:
			span = 1 + gen_below(g, 4 * lsize);
			break;
		case 1:
			span = 1 + gen_below(g, 40 * lsize);
			break;
		case 2:
			span = gen_chance(g, 90) ? 1 + gen_below(g, lsize) :
						   gen_below(g, 3000 * lsize);
			break;
		default:
			span = gen_below(g, 3) * lsize + lsize / 2 + gen_below(g, 3);
			break;
		}
		next = la + span;
		if (next >> g->L == la >> g->L)
			next = (next | (lsize - 1)) + 1;
		if (gen_chance(g, 10))
			next &= ~(lsize - 1);
		if (next >> g->L == la >> g->L)
			next += lsize;
		if (next > size)
			next = size;
		/* the head of something else would be at the end marker's place */
		tail = next == size;
		if (next - la > Z_EROFS_PCLUSTER_MAX_DSIZE && !(tail && frag)) {
			next = la + lsize;
			tail = next >= size;
			if (tail)
				next = size;
		}
		e = gen_add(g, la, next - la);
		/* does a NONHEAD record follow the head? */
		cont = next >> g->L > (la >> g->L) + 1;

		e->nblks = 1;
		e->type = gen_chance(g, 60) ? Z_EROFS_LCLUSTER_HEAD1 :
			  gen_chance(g, 50) ? Z_EROFS_LCLUSTER_HEAD2 : Z_EROFS_LCLUSTER_PLAIN;
		if (cont && gen_is_big(g, e->type)) {
			u64 max = min_t(u64, 2047, Z_EROFS_PCLUSTER_MAX_SIZE >> g->s.blkszbits);

			e->nblks = 1 + gen_below(g, gen_chance(g, 80) ? min_t(u64, 8, max) : max);
			if (gen_chance(g, 2))
				e->nblks = 0;
		}
		if (e->type == Z_EROFS_LCLUSTER_PLAIN && !(tail && (frag || inl)) &&
		    e->nblks && e->map.llen > e->nblks << g->s.blkszbits) {
			e->type = Z_EROFS_LCLUSTER_HEAD1;
			if (!cont || !gen_is_big(g, e->type))
				e->nblks = 1;
		}
		if (g->kind == Z_EROFS_KIND_FULL) {
			e->hole = gen_chance(g, 5);
			e->partial = gen_chance(g, 20);
			blk = gen_chance(g, 5) ? U32_MAX - 5000 : 3000 + gen_below(g, 1U << 30);
		} else {
			/* within a pack the addresses are consecutive */
			gen_pack_of(g, la >> g->L, &pos, &first, &v);
			if (first != pack_seen && gen_chance(g, 30))
				blk = 3000 + gen_below(g, 1U << 30);
			pack_seen = first;
		}
		e->blk = blk;
		blk += e->nblks;

		if (tail && inl) {
			e->map.flags = EROFS_MAP_MAPPED | EROFS_MAP_META;
		} else if (tail && frag) {
			if (g->kind == Z_EROFS_KIND_FULL)
				e->blk = gen_chance(g, 50) ? 0 : gen_below(g, 1 << 30);
			if (cont && gen_is_big(g, e->type) && gen_chance(g, 70))
				e->nblks = 0;
			e->map.flags = EROFS_MAP_MAPPED | EROFS_MAP_FRAGMENT;
		} else if (!e->hole && e->nblks) {
			e->map.flags = EROFS_MAP_MAPPED;
			e->map.pa = e->blk << g->s.blkszbits;
			e->map.plen = e->nblks << g->s.blkszbits;
		}
		if (e->map.flags && !(e->map.flags & EROFS_MAP_FRAGMENT)) {
			if (e->partial)
				e->map.flags |= EROFS_MAP_PARTIAL;
			if (e->type == Z_EROFS_LCLUSTER_PLAIN) {
				e->map.flags |= EROFS_MAP_PLAIN;
				if ((g->advise & Z_EROFS_ADVISE_INTERLACED_PCLUSTER) &&
				    !(e->map.flags & EROFS_MAP_META))
					e->map.flags |= EROFS_MAP_INTERLACED;
			} else {
				e->map.flags |= EROFS_MAP_ENCODED;
				e->map.alg = g->alg[e->type == Z_EROFS_LCLUSTER_HEAD2];
			}
		}
		la = next;
	}
}

/* what the record of one lcluster has to say */
struct gen_rec {
	unsigned int type;
	u64 ofs;
	u64 d0;
	u64 d1;
	const struct gen_ext *e;	/* head */
	bool cblk;
};

static void gen_index_records(struct gen *g, struct gen_rec *r, u64 n)
{
	const u64 lsize = 1ULL << g->L;
	u64 i, k, h, next;

	for (i = 0; i < g->ne; i++) {
		const struct gen_ext *e = &g->e[i];
		bool marker = false;

		h = e->map.la >> g->L;
		next = (e->map.la + e->map.llen) >> g->L;
		if (i == g->ne - 1) {
			marker = g->d.size % lsize && next > h;
			if (!marker)
				next = n;
		}
		r[h] = (struct gen_rec){ .type = e->type, .ofs = e->map.la % lsize, .e = e };
		for (k = h + 1; k < next; k++) {
			u64 back = k - h, fwd = next - k;

			r[k].type = Z_EROFS_LCLUSTER_NONHEAD;
			r[k].cblk = k == h + 1 && gen_is_big(g, e->type);
			/* any way that ends at the head is fine */
			r[k].d0 = min_t(u64, back, 2047);
			if (gen_chance(g, 20) && back > 3)
				r[k].d0 = 2 + gen_below(g, r[k].d0 - 1);
			r[k].d1 = min_t(u64, fwd, 2047);
			if (g->kind == Z_EROFS_KIND_FULL && gen_chance(g, 20))
				r[k].d1 = gen_below(g, r[k].d1 + 1);
			if (r[k].cblk)
				r[k].d0 = e->nblks | Z_EROFS_LI_D0_CBLKCNT;
		}
		if (marker)
			r[next] = (struct gen_rec){ .type = Z_EROFS_LCLUSTER_PLAIN,
						    .ofs = g->d.size % lsize };
	}
}

static void gen_compact_packs(struct gen *g, const struct gen_rec *r, u64 n)
{
	const unsigned int lob = max_t(unsigned int, g->L, 12);
	u64 l = 0, total = (g->d.size + g->s.blksz - 1) >> g->s.blkszbits;

	while (l < total) {
		u64 pos, first, base = gen_below(g, 1U << 31), skip = 0;
		unsigned int v, w, j;
		bool have_base = false;

		gen_pack_of(g, l, &pos, &first, &v);
		w = v == 16 ? 14 : 16;
		for (j = 0; j < v; j++) {
			const struct gen_rec *q = &r[first + j];
			u64 val;

			if (first + j >= n) {
				/* not in use: whatever */
				gen_put_bits(g, pos, w * j, w, gen_rand(g));
				continue;
			}
			if (q->type != Z_EROFS_LCLUSTER_NONHEAD)
				val = q->ofs;
			else if (j == v - 1 && !q->cblk)
				val = q->d1;
			else
				val = q->d0;
			gen_put_bits(g, pos, w * j, w, val | (u64)q->type << lob);

			/* the first head with an address decides about the base */
			if (q->cblk && j == 0)
				skip = q->d0 & ~(u64)Z_EROFS_LI_D0_CBLKCNT;
			if (q->e && !have_base &&
			    !(q->e->map.flags & (EROFS_MAP_META | EROFS_MAP_FRAGMENT))) {
				have_base = true;
				base = q->e->blk - skip;
				if (!(g->advise & Z_EROFS_ADVISE_BIG_PCLUSTER_1))
					base = q->e->blk - 1;
			}
		}
		gen_put(g, pos + (v == 16 ? 28 : 4), (u32)base, 4);
		l = first + v;
	}
}

static void gen_index(struct gen *g)
{
	const u64 n = (g->d.size + (1ULL << g->L) - 1) >> g->L;
	const u64 total = (g->d.size + g->s.blksz - 1) >> g->s.blkszbits;
	struct gen_ext *t;
	struct gen_rec *r;
	u64 end, i, hdr;
	unsigned int v;

	gen_place(g);
	gen_index_extents(g);
	t = &g->e[g->ne - 1];
	if (g->kind == Z_EROFS_KIND_FULL) {
		end = g->table + 16 + 8 * n;
	} else {
		u64 pos, first;

		gen_pack_of(g, n - 1, &pos, &first, &v);
		end = pos + (v == 16 ? 32 : 8);
	}
	hdr = (u64)g->advise << 32 | (u64)(g->alg[0] | g->alg[1] << 4) << 48 |
	      (u64)(g->L - g->s.blkszbits) << 56;
	if (t->map.flags & EROFS_MAP_META) {
		u64 room = g->s.blksz - end % g->s.blksz, want = 1;

		if (t->type == Z_EROFS_LCLUSTER_PLAIN)
			want = t->map.llen;
		if (want > room) {
			/* a plain tail which does not fit: let it be a compressed one */
			t->type = Z_EROFS_LCLUSTER_HEAD1;
			t->map.flags &= ~EROFS_MAP_PLAIN;
			t->map.flags |= EROFS_MAP_ENCODED;
			t->map.alg = g->alg[0];
			want = 1;
		}
		t->map.pa = end;
		t->map.plen = want + gen_below(g, room - want + 1);
		hdr |= t->map.plen << 16;
	} else if (t->map.flags & EROFS_MAP_FRAGMENT) {
		u64 lo = gen_rand(g) & U32_MAX;

		hdr |= lo;
		t->map.plen = t->map.llen;
		t->map.pa = lo + (g->kind == Z_EROFS_KIND_FULL ? t->blk << 32 : 0);
	}
	/* behind the last pack that has an entry there may be nothing */
	if (g->kind == Z_EROFS_KIND_COMPACT && total > n) {
		u64 pos, first;

		gen_pack_of(g, total - 1, &pos, &first, &v);
		g->imgsize = pos + (v == 16 ? 32 : 8);
	} else {
		g->imgsize = end;
	}
	g->img = calloc(1, g->imgsize);
	r = calloc(total > n ? total + 16 : n + 16, sizeof(*r));
	if (!g->img || !r)
		abort();
	gen_put(g, g->table, hdr, 8);
	gen_index_records(g, r, n);
	if (g->kind == Z_EROFS_KIND_COMPACT) {
		gen_compact_packs(g, r, n);
	} else {
		gen_put(g, g->table + 8, gen_rand(g), 8);	/* unused */
		for (i = 0; i < n; i++) {
			u64 pos = g->table + 16 + 8 * i;

			gen_put(g, pos, r[i].type, 2);
			if (r[i].type == Z_EROFS_LCLUSTER_NONHEAD) {
				gen_put(g, pos + 2, gen_rand(g), 2);
				gen_put(g, pos + 4, r[i].d0, 2);
				gen_put(g, pos + 6, r[i].d1, 2);
				continue;
			}
			gen_put(g, pos + 2, r[i].ofs, 2);
			if (!r[i].e)
				continue;
			gen_put(g, pos, r[i].type | (r[i].e->hole ? 0x4000 : 0) |
				(r[i].e->partial ? 0x8000 : 0), 2);
			gen_put(g, pos + 4, r[i].e->blk, 4);
		}
	}
	free(r);
}

/* ---- encoded extents ---- */

static void gen_extents(struct gen *g)
{
	const bool frag = g->advise & Z_EROFS_ADVISE_FRAGMENT_PCLUSTER, fixed = g->recsz <= 8;
	const u64 R = g->recsz;
	u64 size = g->d.size, la = 0, pstart0 = gen_below(g, 1ULL << 40), p = pstart0;
	u64 base, i, count, hdr;
	bool front_hole = false;

	gen_place(g);
	if (R == 32 && size > 1 && gen_chance(g, 30)) {
		u64 far = 1ULL << (32 + gen_below(g, 20));

		la = far + gen_below(g, size);
		g->d.size = far + size;
		size = g->d.size;
		gen_add(g, 0, la);
		front_hole = true;
	} else if (!fixed && gen_chance(g, 20) && size > 1) {
		la = 1 + gen_below(g, size - 1);
		gen_add(g, 0, la);
		front_hole = true;
	} else if (!fixed && gen_chance(g, 3)) {
		gen_add(g, 0, size);
		la = size;
		front_hole = true;
	}
	while (la < size) {
		u64 len = fixed ? 1ULL << g->L : 1 + gen_below(g, 1 << (4 + gen_below(g, 18)));
		struct gen_ext *e;
		u64 plen, f;
		bool tail;

		if (len > size - la)
			len = size - la;
		tail = la + len == size;
		e = gen_add(g, la, len);
		la += len;
		if (tail && frag) {
			e->map.flags = EROFS_MAP_MAPPED | EROFS_MAP_FRAGMENT;
			e->map.plen = len;
			e->map.pa = gen_rand(g) & U32_MAX;
			if (R > 4)
				e->map.pa |= gen_below(g, 1 << 30) << 32;
			continue;
		}
		if (gen_chance(g, 10))
			continue;		/* hole, plen 0 */
		plen = 1 + gen_below(g, gen_chance(g, 80) ? 5000 : Z_EROFS_PCLUSTER_MAX_SIZE);
		if (gen_chance(g, 30))
			plen = (plen + g->s.blksz - 1) & ~((u64)g->s.blksz - 1);
		f = gen_below(g, 5);
		if (f == 0 && len > Z_EROFS_PCLUSTER_MAX_SIZE)
			f = 1;
		if (f == 0 && len > plen)
			plen = min_t(u64, Z_EROFS_PCLUSTER_MAX_SIZE, len + gen_below(g, 3));
		if (R == 8)
			p = gen_rand(g) & U32_MAX;
		else if (R > 8)
			p = gen_below(g, 1ULL << gen_below(g, 57));
		if (R > 4 && gen_chance(g, 40))
			p &= ~((u64)g->s.blksz - 1);
		e->partial = gen_chance(g, 20);
		e->map.pa = p;
		e->map.plen = plen;
		e->map.flags = EROFS_MAP_MAPPED | (e->partial ? EROFS_MAP_PARTIAL : 0);
		if (f) {
			e->map.flags |= EROFS_MAP_ENCODED;
			e->map.alg = f - 1;
		} else {
			e->map.flags |= EROFS_MAP_PLAIN;
			if ((g->advise & Z_EROFS_ADVISE_INTERLACED_PCLUSTER) &&
			    p % g->s.blksz == 0 && plen % g->s.blksz == 0)
				e->map.flags |= EROFS_MAP_INTERLACED;
		}
		p += plen;
	}

	count = g->ne - front_hole;
	base = (g->table + 8 + R - 1) & ~(R - 1);
	g->imgsize = base + (R == 4 ? 8 : 0) + R * count;
	g->img = calloc(1, g->imgsize);
	if (!g->img)
		abort();
	hdr = (u64)g->advise << 32;
	if (fixed)
		hdr |= (u64)(g->L - g->s.blkszbits) << 56;
	else
		hdr |= count;
	gen_put(g, g->table, hdr, 8);
	if (R == 4) {
		gen_put(g, base, pstart0, 8);
		base += 8;
	}
	for (i = 0; i < count; i++) {
		const struct gen_ext *e = &g->e[i + front_hole];
		u64 pos = base + R * i, word = e->map.plen, pa = e->map.pa;

		if (e->map.flags & EROFS_MAP_FRAGMENT) {
			word = pa & U32_MAX;
			pa >>= 32;
		} else {
			if (e->map.flags & EROFS_MAP_PARTIAL)
				word |= 1 << 27;
			if (e->map.flags & EROFS_MAP_ENCODED)
				word |= (u64)(e->map.alg + 1) << 28;
			word |= gen_below(g, 64) << 21;		/* reserved */
			if (!(e->map.flags & EROFS_MAP_MAPPED))
				pa = gen_rand(g);
		}
		gen_put(g, pos, word, 4);
		if (R >= 8)
			gen_put(g, pos + 4, pa, 4);
		if (R >= 16) {
			gen_put(g, pos + 8, pa >> 32, 4);
			gen_put(g, pos + 12, e->map.la, R == 16 ? 4 : 8);
		}
		if (R == 32)
			gen_put(g, pos + 20, gen_rand(g), 8);
	}
}

/* ---- a whole random file ---- */

static void gen_file(struct gen *g, u64 seed)
{
	unsigned int extra = 0;

	memset(g, 0, sizeof(*g));
	g->seed = seed * 0x9e3779b97f4a7c15ULL + 1;
	gen_rand(g);
	gen_rand(g);
	g->s.blkszbits = 9 + gen_below(g, 4);
	g->s.blksz = 1U << g->s.blkszbits;
	g->s.algs = 0xf;
	g->s.packed_nid = GEN_PACKED_NID;
	g->s.feature_incompat = EROFS_FEATURE_INCOMPAT_BIG_PCLUSTER;
	g->d.layout = EROFS_INODE_COMPRESSED_FULL;
	g->alg[0] = gen_below(g, 4);
	g->alg[1] = gen_below(g, 4);
	g->advise = gen_below(g, 1024) << 6;	/* reserved bits */

	g->kind = gen_chance(g, 3) ? Z_EROFS_KIND_FRAGMENT :
		  gen_chance(g, 45) ? Z_EROFS_KIND_COMPACT :
		  gen_chance(g, 45) ? Z_EROFS_KIND_FULL : Z_EROFS_KIND_EXTENTS;
	if (gen_chance(g, 40))
		g->advise |= Z_EROFS_ADVISE_INTERLACED_PCLUSTER;
	if (gen_chance(g, 30))
		g->advise |= Z_EROFS_ADVISE_FRAGMENT_PCLUSTER;
	if (gen_chance(g, 30))
		g->advise |= Z_EROFS_ADVISE_INLINE_PCLUSTER;
	if (g->kind == Z_EROFS_KIND_COMPACT) {
		g->d.layout = EROFS_INODE_COMPRESSED_COMPACT;
		if (gen_chance(g, 75))
			g->advise |= Z_EROFS_ADVISE_COMPACTED_2B;
		if (gen_chance(g, 50))
			g->advise |= Z_EROFS_ADVISE_BIG_PCLUSTER_1 | Z_EROFS_ADVISE_BIG_PCLUSTER_2;
		if (gen_chance(g, 25))
			extra = gen_below(g, (g->advise & 1 ? 12 : 14) - g->s.blkszbits + 1);
	} else if (g->kind == Z_EROFS_KIND_FULL) {
		if (gen_chance(g, 30))
			g->advise |= Z_EROFS_ADVISE_BIG_PCLUSTER_1;
		if (gen_chance(g, 30))
			g->advise |= Z_EROFS_ADVISE_BIG_PCLUSTER_2;
		if (gen_chance(g, 25))
			extra = gen_below(g, 16 - g->s.blkszbits + 1);
	} else if (g->kind == Z_EROFS_KIND_EXTENTS) {
		unsigned int r = gen_below(g, 4);

		g->recsz = 4 << r;
		g->advise |= Z_EROFS_ADVISE_EXTENTS | r << 1;
		if (r < 2 && gen_chance(g, 60))
			extra = gen_below(g, 24 - g->s.blkszbits);
	}
	g->L = g->s.blkszbits + extra;
	switch (gen_below(g, 8)) {
	case 0:
		g->d.size = 1 + gen_below(g, 3ULL << g->L);
		break;
	case 1:
		g->d.size = (1 + gen_below(g, 100)) << g->L;
		break;
	case 2:
		g->d.size = 1 + gen_below(g, 6000ULL << g->L);
		break;
	default:
		g->d.size = 1 + gen_below(g, 120ULL << g->L);
		break;
	}

	switch (g->kind) {
	case Z_EROFS_KIND_FRAGMENT: {
		struct gen_ext *e = gen_add(g, 0, g->d.size);

		if (gen_chance(g, 50))
			g->d.layout = EROFS_INODE_COMPRESSED_COMPACT;
		e->map.flags = EROFS_MAP_MAPPED | EROFS_MAP_FRAGMENT;
		e->map.plen = e->map.llen;
		e->map.pa = gen_below(g, 1ULL << gen_below(g, 62));
		gen_place(g);
		g->imgsize = g->table + 8;
		g->img = calloc(1, g->imgsize);
		if (!g->img)
			abort();
		gen_put(g, g->table, e->map.pa | 1ULL << 63, 8);
		break;
	}
	case Z_EROFS_KIND_EXTENTS:
		gen_extents(g);
		break;
	default:
		gen_index(g);
		break;
	}
}

#endif /* EROFS_ZMAP_GEN_H */
