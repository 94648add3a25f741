/* links: zmap.c ondisk.c */
// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_zmap.c - map headers, index records and encoded extents: z_erofs_map_find()
 * has to agree with the naive reader of the unit tests, whatever the cursor saw
 * before.
 *
 * Input: a byte (bits 0-1 log2 of the block size - 9, bit 2 compact layout, bit 3
 * packed inode itself, bit 4 no packed inode, bit 5 no big pcluster feature), the
 * algorithm bits, u16 position of the body, u64 file size, u64 choice of offsets,
 * then the bytes from the body on.
 */
#include <stdio.h>
#include "core.h"
#include "tests/port/memimg.h"
#include "tests/unit/naive_zmap.h"

#define HEAD	20

static void fail(const char *what, u64 off)
{
	fprintf(stderr, "%s at offset %llu\n", what, (unsigned long long)off);
	abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct erofs_super s = { 0 };
	struct erofs_inode_desc d = { 0 };
	struct z_erofs_cursor c;
	struct z_erofs_info zi;
	struct erofs_map map, nmap;
	struct memimg mi;
	u64 rnd, off, imgsize;
	bool is_packed;
	int derr, i;
	u8 *img;

	if (len < HEAD || len > HEAD + 16384)
		return 0;
	s.blkszbits = 9 + (data[0] & 3);
	s.blksz = 1U << s.blkszbits;
	d.layout = data[0] & 4 ? EROFS_INODE_COMPRESSED_COMPACT : EROFS_INODE_COMPRESSED_FULL;
	is_packed = data[0] & 8;
	s.packed_nid = data[0] & 16 ? 0 : 5;
	s.feature_incompat = data[0] & 32 ? 0 : EROFS_FEATURE_INCOMPAT_BIG_PCLUSTER;
	s.algs = data[1] & 0xf;
	d.body = get_unaligned_le16(data + 2) & 0x1ffc;
	d.size = get_unaligned_le64(data + 4) & S64_MAX;
	if (!d.size)
		d.size = 1;
	rnd = get_unaligned_le64(data + 12);

	imgsize = d.body + len - HEAD;
	img = calloc(1, imgsize ? imgsize : 1);
	if (!img)
		abort();
	memcpy(img + d.body, data + HEAD, len - HEAD);

	memimg_init(&mi, img, imgsize, s.blksz);
	memset(&c, 0xa5, sizeof(c));
	z_erofs_cursor_init(&c);
	derr = z_erofs_info_decode(&s, &d, &mi.m, is_packed, &zi);
	off = rnd % d.size;
	for (i = 0; i < 24; i++) {
		int err = derr, naive;

		if (!err)
			err = z_erofs_map_find(&s, &d, &zi, &mi.m, &c, off, &map);
		naive = naive_zmap(&s, &d, img, imgsize, is_packed, off, &nmap);
		if (err && (err != -EFSCORRUPTED && err != -EOPNOTSUPP))
			fail("unexpected error", off);
		if (err && !mi.m.fault.what)
			fail("refused without a reason", off);
		if (!err && (map.la > off || map.llen > d.size - map.la ||
			     off - map.la >= map.llen || map.pa + map.plen < map.pa))
			fail("nonsense", off);
		if (naive == NAIVE_OK && err)
			fail("refused", off);
		if (naive == NAIVE_REJECT && !err)
			fail("accepted", off);
		if (naive == NAIVE_OK && !err &&
		    (map.la != nmap.la || map.llen != nmap.llen || map.pa != nmap.pa ||
		     map.plen != nmap.plen || map.flags != nmap.flags || map.alg != nmap.alg ||
		     map.device_id))
			fail("different extents", off);

		/* half of them one behind the other, the rest anywhere */
		if (!err && (i & 3) != 3 && map.la + map.llen < d.size) {
			off = map.la + map.llen;
		} else {
			rnd = rnd * 6364136223846793005ULL + 1442695040888963407ULL;
			off = (i & 4 ? rnd >> 16 & 0xfffff : rnd >> 1) % d.size;
		}
	}
	memimg_exit(&mi);
	free(img);
	return 0;
}
