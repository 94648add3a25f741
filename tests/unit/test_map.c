/* links: ondisk.c map.c */
/* SPDX-License-Identifier: GPL-2.0 */
/* Extents of uncompressed files. */
#include "core.h"
#include "tests/port/memimg.h"
#include "tests/port/check.h"

#define TABLE	4160		/* position of the chunk tables below */

static u8 img[16384];
static struct erofs_super s;
static struct erofs_inode_desc d;
static struct erofs_map map;
static struct erofs_fault fault;
static u32 maps;

static void put16(u8 *p, u32 v)
{
	p[0] = (u8)v;
	p[1] = (u8)(v >> 8);
}

static void put32(u8 *p, u32 v)
{
	put16(p, v);
	put16(p + 2, v >> 16);
}

static void reset(u8 layout, u64 size)
{
	memset(&s, 0, sizeof(s));
	s.blkszbits = 12;
	s.blksz = 4096;
	memset(&d, 0, sizeof(d));
	d.layout = layout;
	d.size = size;
	d.iloc = 4096;
	d.isize = 32;
	d.body = 4128;
	d.startblk = EROFS_NULL_BLK;
}

static int find(u64 off)
{
	struct memimg mi;
	int err;

	memimg_init(&mi, img, sizeof(img), s.blksz);
	memset(&map, 0xa5, sizeof(map));
	err = erofs_map_flat(&s, &d, &mi.m, off, &map);
	if (!err) {
		CHECK(map.llen > 0);
		CHECK(map.la <= off && off - map.la < map.llen);
		CHECK(map.la + map.llen <= d.size);
		CHECK(!(map.flags & EROFS_MAP_MAPPED) || map.plen == map.llen);
	} else {
		CHECK(mi.m.fault.what);
	}
	fault = mi.m.fault;
	maps = mi.maps;
	memimg_exit(&mi);
	return err;
}

static bool is(u64 la, u64 llen, u64 pa, u32 flags, u32 dev)
{
	bool ok = map.la == la && map.llen == llen && map.flags == flags &&
		  map.device_id == dev && (!flags || map.pa == pa);

	if (!ok)
		fprintf(stderr, "la %llu llen %llu pa %llu flags %x dev %u\n",
			(unsigned long long)map.la, (unsigned long long)map.llen,
			(unsigned long long)map.pa, map.flags, map.device_id);
	return ok;
}

#define M	EROFS_MAP_MAPPED
#define META	(EROFS_MAP_MAPPED | EROFS_MAP_META)

static void test_plain(void)
{
	reset(EROFS_INODE_FLAT_PLAIN, 10000);
	d.startblk = 77;
	CHECK_EQ(find(0), 0);
	CHECK(is(0, 10000, 77 * 4096, M, 0));
	CHECK_EQ(find(9999), 0);
	CHECK(is(0, 10000, 77 * 4096, M, 0));
	CHECK_EQ(maps, 0);
	CHECK_EQ(find(10000), -EFSCORRUPTED);

	/* a hole */
	d.startblk = EROFS_NULL_BLK;
	CHECK_EQ(find(5000), 0);
	CHECK(is(0, 10000, 0, 0, 0));

	/* 48-bit addresses */
	d.startblk = 0xfffffffffffe;
	CHECK_EQ(find(5000), 0);
	CHECK(is(0, 10000, 0xfffffffffffeull << 12, M, 0));

	/* 28, 35: huge size; stays in 64 bits, whoever reads meets the end of the device */
	d.size = S64_MAX;
	CHECK_EQ(find(1ULL << 62), 0);
	CHECK(is(0, S64_MAX, 0xfffffffffffeull << 12, M, 0));

	/* no data */
	d.size = 0;
	CHECK_EQ(find(0), -EFSCORRUPTED);
}

static void test_inline(void)
{
	/* the tail alone */
	reset(EROFS_INODE_FLAT_INLINE, 100);
	d.startblk = U32_MAX;
	CHECK_EQ(find(0), 0);
	CHECK(is(0, 100, 4128, META, 0));
	CHECK_EQ(find(99), 0);

	/* blocks and tail */
	d.size = 3 * 4096 + 5;
	d.startblk = 9;
	CHECK_EQ(find(0), 0);
	CHECK(is(0, 3 * 4096, 9 * 4096, M, 0));
	CHECK_EQ(find(3 * 4096 - 1), 0);
	CHECK(is(0, 3 * 4096, 9 * 4096, M, 0));
	CHECK_EQ(find(3 * 4096), 0);
	CHECK(is(3 * 4096, 5, 4128, META, 0));

	/* a full last block still is the tail */
	d.size = 4 * 4096;
	d.body = 8192;
	CHECK_EQ(find(3 * 4096 + 4095), 0);
	CHECK(is(3 * 4096, 4096, 8192, META, 0));

	/* 34: tail crosses a block; only its own readers are told */
	d.body = 8196;
	CHECK_EQ(find(0), 0);
	CHECK(is(0, 3 * 4096, 9 * 4096, M, 0));
	CHECK_EQ(find(3 * 4096), -EFSCORRUPTED);
	d.size = 3 * 4096 + 4092;
	CHECK_EQ(find(3 * 4096), 0);
	d.size = 3 * 4096 + 4093;
	CHECK_EQ(find(3 * 4096), -EFSCORRUPTED);

	/* the block size counts */
	reset(EROFS_INODE_FLAT_INLINE, 512 + 480);
	s.blkszbits = 9;
	s.blksz = 512;
	d.startblk = 3;
	CHECK_EQ(find(512), 0);
	CHECK(is(512, 480, 4128, META, 0));
	CHECK_EQ(find(511), 0);
	CHECK(is(0, 512, 3 * 512, M, 0));
	d.size++;
	CHECK_EQ(find(512), -EFSCORRUPTED);
	d.size = 0;
	CHECK_EQ(find(0), -EFSCORRUPTED);
}

static void rec4(u32 k, u32 blk)
{
	put32(img + TABLE + 4 * k, blk);
}

static void rec8(u32 k, u64 blk, u32 dev)
{
	put16(img + TABLE + 8 * k, (u32)(blk >> 32));
	put16(img + TABLE + 8 * k + 2, dev);
	put32(img + TABLE + 8 * k + 4, (u32)blk);
}

static void chunk_reset(u32 format, u64 size)
{
	reset(EROFS_INODE_CHUNK_BASED, size);
	d.chunk_format = (u16)format;
	d.chunk_bits = 12 + (format & 31);
	d.body = TABLE - (format & EROFS_CHUNK_FORMAT_INDEXES ? 7 : 3);
	memset(img, 0, sizeof(img));
}

static void test_block_map(void)
{
	/* 7 chunks of 8 KiB, the last one short */
	chunk_reset(1, 6 * 8192 + 100);
	rec4(0, 10);
	rec4(1, 12);
	rec4(2, 15);
	rec4(3, U32_MAX);
	rec4(4, U32_MAX);
	rec4(5, 17);
	rec4(6, 19);
	rec4(7, 21);		/* behind the end: not ours */
	CHECK_EQ(find(0), 0);
	CHECK(is(0, 16384, 10 * 4096, M, 0));
	CHECK_EQ(find(8191), 0);
	CHECK(is(0, 16384, 10 * 4096, M, 0));
	CHECK_EQ(find(8192), 0);
	CHECK(is(8192, 8192, 12 * 4096, M, 0));
	CHECK_EQ(find(16384), 0);
	CHECK(is(16384, 8192, 15 * 4096, M, 0));
	CHECK_EQ(find(3 * 8192), 0);
	CHECK(is(3 * 8192, 16384, 0, 0, 0));
	CHECK_EQ(find(5 * 8192), 0);
	CHECK(is(5 * 8192, 8192 + 100, 17 * 4096, M, 0));
	CHECK_EQ(find(6 * 8192 + 99), 0);
	CHECK(is(6 * 8192, 100, 19 * 4096, M, 0));

	/* a hole at the end is cut at the size */
	rec4(6, U32_MAX);
	CHECK_EQ(find(6 * 8192 + 1), 0);
	CHECK(is(6 * 8192, 100, 0, 0, 0));

	/* the wanted record is looked for in its own block only */
	chunk_reset(0, 4096 * 3000);
	for (u32 i = 0; i < 3000; i++)
		rec4(i, 100 + i);
	CHECK_EQ(find(0), 0);
	CHECK(is(0, 4096 * (4096 - 64) / 4, 100 * 4096, M, 0));
	CHECK_EQ(maps, 1);
	CHECK_EQ(find(4096 * 2000), 0);
	CHECK_EQ(map.pa, 2100 * 4096);
	CHECK_EQ(map.la + map.llen, 4096ull * (3 * 4096 - 64 - 4096) / 4);
	CHECK_EQ(find(4096 * 2999 + 7), 0);
	CHECK(is(4096 * 2999, 4096, 3099ull * 4096, M, 0));
	/* addresses that would wrap in 32 bits don't continue each other */
	rec4(1, U32_MAX - 1);
	rec4(2, U32_MAX);
	rec4(3, 0);
	CHECK_EQ(find(4096), 0);
	CHECK(is(4096, 4096, (u64)(U32_MAX - 1) << 12, M, 0));
}

static void test_indexes(void)
{
	const u32 fmt = EROFS_CHUNK_FORMAT_INDEXES;

	chunk_reset(fmt, 8 * 4096);
	s.extra_devices = 2;
	s.device_id_mask = 3;
	rec8(0, 0x9999000000000005 & 0xffff00000005, 1);	/* high half not valid */
	rec8(1, 6, 1);
	rec8(2, 7, 2);		/* other device */
	rec8(3, 8, 0xfffe);	/* 2 after masking */
	rec8(4, 9, 0);
	rec8(5, U32_MAX, 3);	/* hole, whatever the device */
	rec8(6, 0x1234ffffffff, 1);
	rec8(7, 10, 3);		/* 39: no such device */
	CHECK_EQ(find(0), 0);
	CHECK(is(0, 8192, 5 * 4096, M, 1));
	CHECK_EQ(find(8192), 0);
	CHECK(is(8192, 8192, 7 * 4096, M, 2));
	CHECK_EQ(find(4 * 4096), 0);
	CHECK(is(4 * 4096, 4096, 9 * 4096, M, 0));
	CHECK_EQ(find(5 * 4096), 0);
	CHECK(is(5 * 4096, 8192, 0, 0, 0));
	CHECK_EQ(find(7 * 4096), -EFSCORRUPTED);
	CHECK_EQ(fault.value, 3);
	/* without devices all ids are the primary one */
	s.extra_devices = 0;
	s.device_id_mask = 0;
	CHECK_EQ(find(7 * 4096), 0);
	CHECK(is(7 * 4096, 4096, 10 * 4096, M, 0));

	/* 48 bits */
	chunk_reset(fmt | EROFS_CHUNK_FORMAT_48BIT, 8 * 4096);
	rec8(0, 0x1234fffffffe, 0);
	rec8(1, 0x1234ffffffff, 0);
	rec8(2, 0x123500000000, 0);
	rec8(3, 0xffffffffffff, 7);
	rec8(4, 0xfffffffffffe, 0);
	rec8(5, 0xffffffffffff, 0);
	rec8(6, 0, 0);
	rec8(7, 1, 0);
	CHECK_EQ(find(0), 0);
	CHECK(is(0, 3 * 4096, 0x1234fffffffeull << 12, M, 0));
	CHECK_EQ(find(3 * 4096), 0);
	CHECK(is(3 * 4096, 4096, 0, 0, 0));
	CHECK_EQ(find(4 * 4096), 0);
	CHECK(is(4 * 4096, 4096, 0xfffffffffffeull << 12, M, 0));
	CHECK_EQ(find(6 * 4096), 0);
	CHECK(is(6 * 4096, 8192, 0, M, 0));
}

static void test_table_places(void)
{
	/* 37: 8 TiB chunks */
	chunk_reset(31, S64_MAX);
	CHECK_EQ(d.chunk_bits, 43);
	rec4(0, 1);
	rec4(1, 0x80000001);
	rec4(2, 0x80000001);
	CHECK_EQ(find(1ULL << 42), 0);
	CHECK(is(0, 1ULL << 44, 4096, M, 0));
	CHECK_EQ(find((1ULL << 44) + 5), 0);
	CHECK(is(1ULL << 44, 1ULL << 43, 0x80000001ull << 12, M, 0));
	/* the last of 2^20 records isn't there */
	CHECK_EQ(find(S64_MAX - 1), -EFSCORRUPTED);
	memset(img + TABLE, 0xff, sizeof(img) - TABLE);
	d.size = 3 * (1ULL << 43) + 1;
	CHECK_EQ(find(d.size - 1), 0);
	CHECK(is(3 * (1ULL << 43), 1, 0, 0, 0));

	/* 38: the table begins or ends behind the device */
	chunk_reset(0, 1ULL << 40);
	d.body = sizeof(img);
	CHECK_EQ(find(0), -EFSCORRUPTED);
	d.body = sizeof(img) - 3;
	CHECK_EQ(find(0), -EFSCORRUPTED);
	d.body = sizeof(img) - 4;
	CHECK_EQ(find(0), 0);
	CHECK_EQ(find(4096), -EFSCORRUPTED);
	d.body = U64_MAX - 2;
	CHECK_EQ(find(0), -EFSCORRUPTED);
	d.body = U64_MAX - 7;
	CHECK_EQ(find(4096 * 2), -EFSCORRUPTED);

	/* records in a short last block */
	chunk_reset(0, 4096 * 100);
	for (u32 i = 0; i < 100; i++)
		rec4(i, i);
	{
		struct memimg mi;

		memimg_init(&mi, img, TABLE + 4 * 10, 4096);
		CHECK_EQ(erofs_map_flat(&s, &d, &mi.m, 3 * 4096, &map), 0);
		CHECK(is(3 * 4096, 7 * 4096, 3 * 4096, M, 0));
		CHECK_EQ(erofs_map_flat(&s, &d, &mi.m, 10 * 4096, &map), -EFSCORRUPTED);
		memimg_drop(&mi);
		mi.fail_at = mi.maps + 1;
		mi.fail_err = -EIO;
		CHECK_EQ(erofs_map_flat(&s, &d, &mi.m, 0, &map), -EIO);
		memimg_exit(&mi);
	}
}

/* every offset of random tables against a plain calculation */
static void test_random(void)
{
	u32 rnd = 12345, round;

	for (round = 0; round < 400; round++) {
		u32 bits = memimg_random(&rnd) % 3;
		bool wide = memimg_random(&rnd) & 1;
		u32 n = 1 + memimg_random(&rnd) % 40;
		u32 k, blk = 100;
		u64 off;

		chunk_reset(bits | (wide ? EROFS_CHUNK_FORMAT_INDEXES : 0), 1);
		d.size = ((u64)n << d.chunk_bits) - memimg_random(&rnd) % 4096;
		s.extra_devices = 1;
		s.device_id_mask = 1;
		for (k = 0; k < n; k++) {
			u32 r = memimg_random(&rnd) & 7;

			blk = r == 0 ? U32_MAX : r == 1 ? memimg_random(&rnd) % 1000 :
			      blk + (1u << bits);
			if (wide)
				rec8(k, blk, memimg_random(&rnd) % 9 == 0);
			else
				rec4(k, blk);
		}
		for (off = 0; off < d.size; off += 1000) {
			u64 pos, first = U64_MAX;

			CHECK_EQ(find(off), 0);
			/* check each chunk that the extent claims */
			for (pos = map.la; pos < map.la + map.llen; pos += 1u << d.chunk_bits) {
				const u8 *r = img + TABLE +
					      (pos >> d.chunk_bits) * (wide ? 8 : 4);
				u32 dev = wide ? r[2] & 1 : 0;

				blk = get_unaligned_le32(wide ? r + 4 : r);
				if (first == U64_MAX)
					first = pos;
				if (blk == U32_MAX)
					CHECK_EQ(map.flags, 0);
				else
					CHECK(map.flags == M && map.device_id == dev &&
					      map.pa + (pos - map.la) == (u64)blk << 12);
			}
			CHECK_EQ(first, off >> d.chunk_bits << d.chunk_bits);
		}
	}
}

static void test_noise(void)
{
	u32 seed;

	for (seed = 1; seed < 3000; seed++) {
		struct memimg mi;
		int err;

		chunk_reset(EROFS_CHUNK_FORMAT_INDEXES, 4096 * 1500);
		s.extra_devices = 2;
		s.device_id_mask = 3;
		memimg_init_noisy(&mi, img, sizeof(img), 4096, seed);
		err = erofs_map_flat(&s, &d, &mi.m, 4096ull * (seed % 1500), &map);
		CHECK(err == -EFSCORRUPTED || (!err && map.device_id <= 2));
		memimg_exit(&mi);
	}
}

int main(void)
{
	test_plain();
	test_inline();
	test_block_map();
	test_indexes();
	test_table_places();
	test_random();
	test_noise();

	/* compressed files are somebody else's */
	reset(EROFS_INODE_COMPRESSED_FULL, 100);
	CHECK_EQ(find(0), -EFSCORRUPTED);
	return check_done();
}
