/* SPDX-License-Identifier: GPL-2.0 */
/*
 * naive_zmap.h - the extent of a compressed file, as slow and as close to the
 * words of the format description as possible.  An oracle for zmap.c; shares no
 * code with it.
 *
 * Where the format leaves open what a reader does with damaged records, this is
 * the rule: a record is judged when one of the steps of 11.6 or 11.7 reads it;
 * a pcluster size anywhere but directly behind a head is damage; a pcluster of
 * 0 blocks reads as zeros; addresses of index records have 32 bits; and an
 * extent that ends at or before the wanted offset is damage.
 */
#ifndef EROFS_NAIVE_ZMAP_H
#define EROFS_NAIVE_ZMAP_H

#include "core.h"

enum {
	NAIVE_OK,
	NAIVE_REJECT,
	NAIVE_UNDEFINED,	/* a table out of order: any answer or error will do */
};

struct naive {
	const struct erofs_super *s;
	const struct erofs_inode_desc *d;
	const u8 *img;
	u64 imgsize;
	u64 H;
	u64 bs;
	u64 n;		/* lclusters */
	unsigned int L;
	unsigned int advise;
	bool compact;
	bool damaged;	/* something unreadable or bad was used */
};

struct naive_rec {
	unsigned int type;
	u64 clusterofs;
	u64 delta0;
	u64 delta1;
	bool has_cblk;
	u64 cblk;
	u64 blkaddr;
	bool partial;
	bool hole;
};

static u64 naive_int(struct naive *v, u64 pos, unsigned int bytes)
{
	u64 x = 0;
	unsigned int i;

	if (pos > v->imgsize || bytes > v->imgsize - pos) {
		v->damaged = true;
		return 0;
	}
	for (i = 0; i < bytes; i++)
		x += (u64)v->img[pos + i] << (8 * i);
	return x;
}

static struct naive_rec naive_full(struct naive *v, u64 l)
{
	struct naive_rec r = { 0 };
	u64 p = v->H + 16 + 8 * l;
	unsigned int adv = naive_int(v, p, 2);

	r.type = adv % 4;
	if (r.type == 2) {
		r.delta0 = naive_int(v, p + 4, 2);
		r.delta1 = naive_int(v, p + 6, 2);
		if (r.delta0 & 2048) {
			r.has_cblk = true;
			r.cblk = r.delta0 - 2048;
			r.delta0 = 1;
			if (!(v->advise & 6))
				v->damaged = true;
		}
	} else {
		r.clusterofs = naive_int(v, p + 2, 2);
		r.blkaddr = naive_int(v, p + 4, 4);
		r.hole = adv & 0x4000;
		r.partial = adv & 0x8000;
		if (r.clusterofs >= 1ULL << v->L)
			v->damaged = true;
	}
	return r;
}

/* entry @j of the pack at @pos: bits w*j and up */
static void naive_entry(struct naive *v, u64 pos, unsigned int w, unsigned int j,
			unsigned int *type, u64 *value)
{
	unsigned int lob = v->L > 12 ? v->L : 12, i;
	u64 bits = 0;

	for (i = 0; i < w; i++) {
		unsigned int bit = w * j + i;

		bits += (naive_int(v, pos + bit / 8, 1) >> (bit % 8) & 1) << i;
	}
	*value = bits % (1ULL << lob);
	*type = bits / (1ULL << lob) % 4;
}

#define NAIVE_CBLK(t, x)	((t) == 2 && ((x) & 2048))

/* where entry @l is: its pack, the pack's size, and its place in the pack */
static void naive_place(struct naive *v, u64 l, u64 *pack, unsigned int *S, unsigned int *j)
{
	u64 ebase = v->H + 8, total = (v->d->size + v->bs - 1) / v->bs, c4, c2 = 0, p;

	c4 = (32 - ebase % 32) / 4 % 8;
	if ((v->advise & 1) && c4 < total)
		c2 = (total - c4) / 16 * 16;
	if (!(v->advise & 1) || l < c4) {
		*S = 8;
		p = ebase + 4 * l;
	} else if (l < c4 + c2) {
		*S = 32;
		p = ebase + 4 * c4 + 2 * (l - c4);
	} else {
		*S = 8;
		p = ebase + 4 * c4 + 2 * c2 + 4 * (l - c4 - c2);
	}
	*pack = p / *S * *S;
	*j = p % *S / (*S == 8 ? 4 : 2);
}

static struct naive_rec naive_compact(struct naive *v, u64 l)
{
	struct naive_rec r = { 0 };
	unsigned int S, j, k, w, last, types[16];
	bool big = v->advise & 2;
	u64 pack, values[16];

	naive_place(v, l, &pack, &S, &j);
	w = S == 8 ? 16 : 14;
	last = S == 8 ? 1 : 15;
	for (k = 0; k <= last; k++)
		naive_entry(v, pack, w, k, &types[k], &values[k]);

	r.type = types[j];
	r.blkaddr = naive_int(v, pack + S - 4, 4);
	if (r.type != 2) {
		r.clusterofs = values[j];
		if (r.clusterofs >= 1ULL << v->L)
			v->damaged = true;
		if (!big) {
			for (k = 0; k <= j; k++)
				r.blkaddr += types[k] != 2;
		} else {
			for (k = 0; k < j; k++) {
				if (NAIVE_CBLK(types[k], values[k]))
					r.blkaddr += values[k] - 2048;
				else if (types[k] != 2 && !NAIVE_CBLK(types[k + 1], values[k + 1]))
					r.blkaddr++;
			}
		}
		return r;
	}

	if (NAIVE_CBLK(types[j], values[j])) {
		r.has_cblk = true;
		r.cblk = values[j] - 2048;
		r.delta0 = 1;
		if (!big)
			v->damaged = true;
	} else if (j < last) {
		r.delta0 = values[j];
		if (big && values[j] <= 1)
			v->damaged = true;
	} else if (types[j - 1] != 2) {
		r.delta0 = 1;
	} else if (NAIVE_CBLK(types[j - 1], values[j - 1])) {
		r.delta0 = 2;
	} else {
		r.delta0 = values[j - 1] + 1;
	}

	for (k = j + 1; k <= last; k++) {
		if (types[k] != 2) {
			r.delta1 = k - j;
			return r;
		}
	}
	if (NAIVE_CBLK(types[last], values[last]))
		r.delta1 = last + 1 - j;
	else
		r.delta1 = last - j + values[last];
	return r;
}

static struct naive_rec naive_read(struct naive *v, u64 l)
{
	return v->compact ? naive_compact(v, l) : naive_full(v, l);
}

static int naive_fragment(u64 pos, struct erofs_map *map)
{
	map->flags = EROFS_MAP_MAPPED | EROFS_MAP_FRAGMENT;
	map->pa = pos;
	map->plen = map->llen;
	return pos > (1ULL << 63) - 1 - map->llen ? NAIVE_REJECT : NAIVE_OK;
}

static int naive_index(struct naive *v, u64 off, struct erofs_map *map)
{
	u64 size = v->d->size, hdr = naive_int(v, v->H, 8), l, k, end, d, start, nblks = 1;
	bool fragment = v->advise & 0x20, inl = false, cblk, big;
	unsigned int alg1 = hdr >> 48 & 15, alg2 = hdr >> 52 & 15;
	u64 idata = hdr >> 16 & 0xffff, idata_pos = 0;
	struct naive_rec r, h;

	if (alg1 >= 4 || alg2 >= 4)
		return NAIVE_REJECT;
	if ((v->advise & 6) && !(v->s->feature_incompat & 2))
		return NAIVE_REJECT;
	if (v->compact) {
		if ((v->advise >> 1 & 1) != (v->advise >> 2 & 1))
			return NAIVE_REJECT;
		if (v->L > 14 || ((v->advise & 1) && v->L > 12))
			return NAIVE_REJECT;
	} else if (v->L > 16) {
		return NAIVE_REJECT;
	}
	v->n = (size + (1ULL << v->L) - 1) >> v->L;

	if ((v->advise & 8) && !fragment && idata) {
		u64 last = (size - 1) >> v->L, pack;
		unsigned int S, j;

		inl = true;
		if (v->compact) {
			naive_place(v, last, &pack, &S, &j);
			idata_pos = pack + S;
		} else {
			idata_pos = v->H + 16 + 8 * (last + 1);
		}
		if (idata_pos % v->bs + idata > v->bs)
			return NAIVE_REJECT;
	}

	/* 11.6, steps 1 and 2 */
	l = off >> v->L;
	r = naive_read(v, l);
	if (v->damaged)
		return NAIVE_REJECT;
	if (r.type == 2 || off % (1ULL << v->L) < r.clusterofs) {
		d = r.type == 2 ? r.delta0 : 1;
		do {
			cblk = r.type == 2 && r.has_cblk;
			if (d == 0 || d > l)
				return NAIVE_REJECT;
			l -= d;
			r = naive_read(v, l);
			if (v->damaged || (cblk && r.type == 2))
				return NAIVE_REJECT;
			d = r.delta0;
		} while (r.type == 2);
	}
	h = r;
	if (l == 0 && h.clusterofs)
		return NAIVE_REJECT;
	/* 3, 4 */
	start = (l << v->L) + h.clusterofs;
	for (k = l + 1, end = size; k < v->n; k += r.delta1 > 1 ? r.delta1 : 1) {
		r = naive_read(v, k);
		if (v->damaged)
			return NAIVE_REJECT;
		if (r.type != 2) {
			end = (k << v->L) + r.clusterofs;
			break;
		}
		if (r.has_cblk && k != l + 1)
			return NAIVE_REJECT;
	}
	if (end > size)
		end = size;
	if (end <= off)
		return NAIVE_REJECT;
	map->la = start;
	map->llen = end - start;

	/* 11.7 */
	if (end == size && inl) {
		map->flags = EROFS_MAP_MAPPED | EROFS_MAP_META;
		map->pa = idata_pos;
		map->plen = idata;
	} else if (end == size && fragment) {
		u64 lo = hdr & U32_MAX;

		return naive_fragment(v->compact ? lo : lo + (h.blkaddr << 32), map);
	} else if (h.hole) {
		return NAIVE_OK;
	} else {
		big = v->advise & (h.type == 1 ? 2 : 4);
		if (big && ((l + 1) << v->L) < size) {
			r = naive_read(v, l + 1);
			if (r.type == 2) {
				if (!r.has_cblk)
					return NAIVE_REJECT;
				nblks = r.cblk;
			}
		}
		map->flags = EROFS_MAP_MAPPED;
		map->pa = h.blkaddr * v->bs;
		map->plen = nblks * v->bs;
		if (h.blkaddr > U32_MAX || map->plen > 1048576)
			return NAIVE_REJECT;
	}
	if (map->llen > 12582912)
		return NAIVE_REJECT;
	if (map->plen == 0) {
		map->pa = 0;
		map->flags = 0;
		return NAIVE_OK;
	}
	if (h.partial)
		map->flags |= EROFS_MAP_PARTIAL;
	if (h.type == 0) {
		map->flags |= EROFS_MAP_PLAIN;
		if ((v->advise & 0x10) && !(map->flags & EROFS_MAP_META))
			map->flags |= EROFS_MAP_INTERLACED;
		return map->llen > map->plen ? NAIVE_REJECT : NAIVE_OK;
	}
	map->flags |= EROFS_MAP_ENCODED;
	map->alg = h.type == 1 ? alg1 : alg2;
	return v->s->algs & (1 << map->alg) ? NAIVE_OK : NAIVE_REJECT;
}

static int naive_extents(struct naive *v, u64 off, struct erofs_map *map)
{
	u64 size = v->d->size, hdr = naive_int(v, v->H, 8), R, base, count, k, i, len;
	u64 limit = v->bs << 48, pstart = 0, lstart, prev = 0, word = 0;
	bool found = false;
	unsigned int f;

	R = 4 << (v->advise >> 1 & 3);
	base = (v->H + 8 + R - 1) / R * R;
	if (R <= 8)
		count = (size + (1ULL << v->L) - 1) >> v->L;
	else
		count = (hdr & U32_MAX) + (hdr >> 48 << 32);
	if (base > v->imgsize || count > v->imgsize || count * R > v->imgsize - base ||
	    (R == 4 && count * R + 8 > v->imgsize - base))
		return NAIVE_REJECT;

	k = 0;
	if (R == 4) {
		k = off >> v->L;
		word = naive_int(v, base + 8 + 4 * k, 4);
		if (!((v->advise & 0x20) && k == count - 1)) {
			pstart = naive_int(v, base, 8);
			if (pstart > limit)
				return NAIVE_REJECT;
			for (i = 0; i < k; i++)
				pstart += naive_int(v, base + 8 + 4 * i, 4) & 0x1fffff;
			if (pstart > limit)
				return NAIVE_REJECT;
		}
		found = true;
	} else if (R == 8) {
		k = off >> v->L;
		word = naive_int(v, base + 8 * k, 4);
		pstart = naive_int(v, base + 8 * k + 4, 4);
		found = true;
	}
	if (R <= 8) {
		map->la = k << v->L;
		map->llen = size - map->la;
		if (map->llen > 1ULL << v->L)
			map->llen = 1ULL << v->L;
	} else {
		map->la = 0;
		map->llen = size;
		for (i = 0; i < count; i++) {
			lstart = naive_int(v, base + R * i + 12, R == 16 ? 4 : 8);
			if ((i && lstart <= prev) || lstart > size)
				return NAIVE_UNDEFINED;
			prev = lstart;
			if (lstart <= off) {
				found = true;
				k = i;
				map->la = lstart;
				map->llen = size - lstart;
				word = naive_int(v, base + R * i, 4);
				pstart = naive_int(v, base + R * i + 4, 8);
			} else if (map->la + map->llen > lstart) {
				map->llen = lstart - map->la;
			}
		}
	}
	if (v->damaged)
		return NAIVE_REJECT;
	if (!found)
		return NAIVE_OK;
	if ((v->advise & 0x20) && k == count - 1)
		return naive_fragment(word + (pstart << 32), map);

	len = word & 0x1fffff;
	f = word >> 28;
	if (len == 0)
		return NAIVE_OK;
	if (len > 1048576 || map->llen > 12582912 || f > 4)
		return NAIVE_REJECT;
	if (pstart > limit || pstart + len > limit)
		return NAIVE_REJECT;
	map->pa = pstart;
	map->plen = len;
	map->flags = EROFS_MAP_MAPPED;
	if (word >> 27 & 1)
		map->flags |= EROFS_MAP_PARTIAL;
	if (f == 0) {
		map->flags |= EROFS_MAP_PLAIN;
		if ((v->advise & 0x10) && pstart % v->bs == 0 && len % v->bs == 0)
			map->flags |= EROFS_MAP_INTERLACED;
		return map->llen > len ? NAIVE_REJECT : NAIVE_OK;
	}
	map->flags |= EROFS_MAP_ENCODED;
	map->alg = f - 1;
	return v->s->algs & (1 << map->alg) ? NAIVE_OK : NAIVE_REJECT;
}

static int naive_zmap(const struct erofs_super *s, const struct erofs_inode_desc *d,
		      const u8 *img, u64 imgsize, bool is_packed, u64 off, struct erofs_map *map)
{
	struct naive v = { .s = s, .d = d, .img = img, .imgsize = imgsize, .bs = s->blksz };
	u64 hdr;

	memset(map, 0, sizeof(*map));
	v.H = (d->body + 7) / 8 * 8;
	hdr = naive_int(&v, v.H, 8);
	if (v.damaged)
		return NAIVE_REJECT;
	if (hdr >> 63) {
		map->llen = d->size;
		if (is_packed || !s->packed_nid)
			return NAIVE_REJECT;
		return naive_fragment(hdr - (1ULL << 63), map);
	}
	v.advise = hdr >> 32 & 0xffff;
	v.L = s->blkszbits + (hdr >> 56 & 15);
	v.compact = d->layout == EROFS_INODE_COMPRESSED_COMPACT;
	if ((v.advise & 0x20) && (is_packed || !s->packed_nid))
		return NAIVE_REJECT;
	if (!v.compact && (v.advise & 1))
		return naive_extents(&v, off, map);
	return naive_index(&v, off, map);
}

#endif /* EROFS_NAIVE_ZMAP_H */
