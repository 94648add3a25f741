// SPDX-License-Identifier: GPL-2.0
/*
 * File offset to extent for uncompressed files: consecutive blocks,
 * blocks with an inline tail, and chunks.
 */
#include "core.h"

static int map_blocks(struct erofs_map *map, const struct erofs_super *s, u64 blk,
		      const struct erofs_inode_desc *d, struct erofs_fault *f)
{
	u64 end;

	map->plen = map->llen;
	map->flags = EROFS_MAP_MAPPED;
	if (check_shl_overflow(blk, s->blkszbits, &map->pa) ||
	    check_add_overflow(map->pa, map->plen, &end))
		return erofs_fault_set(f, -EFSCORRUPTED, "block address out of range",
				       d->iloc, blk);
	return 0;
}

/* all whole blocks at once, or the tail that lies behind the inode */
static int map_inline(struct erofs_map *map, const struct erofs_super *s, u64 off,
		      const struct erofs_inode_desc *d, struct erofs_fault *f)
{
	u64 tail = round_down(d->size - 1, (u64)s->blksz);

	if (off < tail) {
		map->la = 0;
		map->llen = tail;
		return map_blocks(map, s, d->startblk, d, f);
	}

	map->la = tail;
	map->llen = d->size - tail;
	if ((d->body & (s->blksz - 1)) + map->llen > s->blksz)
		return erofs_fault_set(f, -EFSCORRUPTED, "inline data crosses a block",
				       d->body, map->llen);
	map->pa = d->body;
	map->plen = map->llen;
	map->flags = EROFS_MAP_MAPPED | EROFS_MAP_META;
	return 0;
}

/* One parsed chunk record; @blk is EROFS_NULL_BLK and @dev 0 for a hole */
struct chunk {
	u64 blk;
	u16 dev;
};

static struct chunk chunk_parse(const struct erofs_super *s, u16 format, const u8 *rec)
{
	struct chunk c = { .dev = 0 };
	u64 ones = BIT_ULL(32) - 1;

	if (format & EROFS_CHUNK_FORMAT_INDEXES) {
		u64 raw = get_unaligned_le64(rec);

		barrier();	/* one look at the record */
		c.blk = raw >> 32;
		c.dev = (raw >> 16) & s->device_id_mask;
		if (format & EROFS_CHUNK_FORMAT_48BIT) {
			c.blk |= (raw & U16_MAX) << 32;
			ones = BIT_ULL(48) - 1;
		}
	} else {
		c.blk = get_unaligned_le32(rec);
		barrier();
	}

	if (c.blk == ones) {
		c.blk = EROFS_NULL_BLK;
		c.dev = 0;
	}
	return c;
}

static int map_chunks(struct erofs_map *map, const struct erofs_super *s, u64 off,
		      const struct erofs_inode_desc *d, struct erofs_meta *m)
{
	const u16 format = d->chunk_format;
	const u32 unitbits = format & EROFS_CHUNK_FORMAT_INDEXES ? 3 : 2;
	const u64 step = 1ULL << (d->chunk_bits - s->blkszbits);	/* blocks */
	u64 nr = off >> d->chunk_bits;
	u64 left = ((d->size - 1) >> d->chunk_bits) - nr;	/* records behind nr */
	u64 pos = round_up(d->body, 1ULL << unitbits);
	struct chunk c, next;
	const u8 *p;
	u64 run = 1;

	if (pos < d->body || check_add_overflow(pos, nr << unitbits, &pos))
		return erofs_fault_set(&m->fault, -EFSCORRUPTED, "chunk table out of range",
				       d->iloc, nr);
	p = erofs_meta_ptr(m, pos, 1u << unitbits);
	if (IS_ERR(p))
		return PTR_ERR(p);

	c = chunk_parse(s, format, p);
	if (c.dev > s->extra_devices)
		return erofs_fault_set(&m->fault, -EFSCORRUPTED, "bad device id", pos, c.dev);

	left = min_t(u64, left, ((m->len - (pos - m->start)) >> unitbits) - 1);
	for (; run <= left; run++) {
		p += 1u << unitbits;
		next = chunk_parse(s, format, p);
		if (next.dev != c.dev)
			break;
		if (c.blk == EROFS_NULL_BLK ? next.blk != EROFS_NULL_BLK :
					      next.blk != c.blk + run * step)
			break;
	}

	/* sizes are below 2^63 and chunks at most 2^43: rounding up can't wrap */
	map->la = nr << d->chunk_bits;
	map->llen = min(d->size, (nr + run) << d->chunk_bits) - map->la;
	if (c.blk == EROFS_NULL_BLK)
		return 0;
	map->device_id = c.dev;
	return map_blocks(map, s, c.blk, d, &m->fault);
}

int erofs_map_flat(const struct erofs_super *s, const struct erofs_inode_desc *d,
		   struct erofs_meta *m, u64 off, struct erofs_map *map)
{
	memset(map, 0, sizeof(*map));
	if (unlikely(off >= d->size))
		return erofs_fault_set(&m->fault, -EFSCORRUPTED, "offset beyond the file",
				       d->iloc, off);

	switch (d->layout) {
	case EROFS_INODE_FLAT_PLAIN:
		map->llen = d->size;
		if (d->startblk == EROFS_NULL_BLK)
			return 0;
		return map_blocks(map, s, d->startblk, d, &m->fault);
	case EROFS_INODE_FLAT_INLINE:
		return map_inline(map, s, off, d, &m->fault);
	case EROFS_INODE_CHUNK_BASED:
		return map_chunks(map, s, off, d, m);
	default:
		return erofs_fault_set(&m->fault, -EFSCORRUPTED, "not an uncompressed file",
				       d->iloc, d->layout);
	}
}
