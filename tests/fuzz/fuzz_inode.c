/* links: ondisk.c map.c */
/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inodes and their flat extents.  The input: eight bytes of settings, then a
 * metadata space.
 *
 *	0	bits 0-1 log2 of the block size - 9, bit 2 metabox, bit 3 noise
 *	1	algorithms
 *	2	extra devices
 *	3	meta_blkaddr
 *	4-7	nid (bit 31 stands for bit 63)
 */
#include "tests/fuzz/fuzz.h"

static void check_inode(const struct erofs_super *s, const struct erofs_inode_desc *d, u64 space)
{
	FUZZ_ASSERT(!(d->size >> 63));
	FUZZ_ASSERT(d->layout < EROFS_INODE_LAYOUT_MAX);
	FUZZ_ASSERT(d->mtime_nsec < 1000000000);
	FUZZ_ASSERT(d->isize == 32 || d->isize == 64);
	FUZZ_ASSERT(d->iloc + d->isize <= space);
	FUZZ_ASSERT(d->body == d->iloc + d->isize + d->xattr_isize);
	FUZZ_ASSERT(d->startblk == EROFS_NULL_BLK || !(d->startblk >> 48));
	FUZZ_ASSERT(d->chunk_bits <= s->blkszbits + 31);
	FUZZ_ASSERT(!d->in_metabox || erofs_has_metabox(s));
}

/* walk all extents as a reader would, as far as a few hundred steps reach */
static void walk(const struct erofs_super *s, const struct erofs_inode_desc *d,
		 struct erofs_meta *m, u64 off)
{
	u32 steps;

	for (steps = 0; steps < 300 && off < d->size; steps++) {
		struct erofs_map map;
		int err = erofs_map_flat(s, d, m, off, &map);

		if (err) {
			FUZZ_ASSERT(err == -EFSCORRUPTED);
			FUZZ_ASSERT(m->fault.what);
			return;
		}
		FUZZ_ASSERT(map.llen && map.la <= off && off - map.la < map.llen);
		FUZZ_ASSERT(map.llen <= d->size - map.la);
		FUZZ_ASSERT(map.device_id <= s->extra_devices);
		if (map.flags & EROFS_MAP_MAPPED) {
			FUZZ_ASSERT(map.plen == map.llen);
			FUZZ_ASSERT(map.pa + map.plen >= map.pa);
			if (map.flags & EROFS_MAP_META)
				FUZZ_ASSERT(map.pa / s->blksz ==
					    (map.pa + map.plen - 1) / s->blksz);
		} else {
			FUZZ_ASSERT(!map.flags);
		}
		off = map.la + map.llen;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct erofs_inode_desc d;
	struct erofs_super s;
	struct memimg mi;
	u64 nid;

	if (size < 8 || size > 1 << 16)
		return 0;
	memset(&s, 0, sizeof(s));
	s.blkszbits = 9 + (data[0] & 3);
	s.blksz = 1u << s.blkszbits;
	if (data[0] & 4)
		s.feature_incompat |= EROFS_FEATURE_INCOMPAT_METABOX;
	s.algs = data[1] & 15;
	s.extra_devices = data[2];
	s.device_id_mask = fuzz_device_mask(s.extra_devices);
	s.meta_blkaddr = data[3];
	s.epoch = S64_MAX - 5;
	nid = get_unaligned_le32(data + 4);
	if (nid >> 31)
		nid ^= 1ULL << 31 | EROFS_NID_METABOX;

	memimg_init(&mi, data + 8, size - 8, s.blksz);
	if (data[0] & 8)
		mi.noise = 77;
	if (!erofs_inode_decode(&s, &mi.m, nid, &d)) {
		check_inode(&s, &d, size - 8);
		if (d.layout != EROFS_INODE_COMPRESSED_FULL &&
		    d.layout != EROFS_INODE_COMPRESSED_COMPACT &&
		    (S_ISREG(d.mode) || S_ISDIR(d.mode) || S_ISLNK(d.mode))) {
			walk(&s, &d, &mi.m, 0);
			walk(&s, &d, &mi.m, d.size / 2);
			if (d.size)
				walk(&s, &d, &mi.m, d.size - 1);
		}
	} else {
		FUZZ_ASSERT(mi.m.fault.what);
	}
	memimg_exit(&mi);
	return 0;
}
