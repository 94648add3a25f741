/* links: zmap.c ondisk.c */
// SPDX-License-Identifier: GPL-2.0
/*
 * test_zmap.c - extents of compressed files: worked examples byte by byte,
 * random files in all forms against what their encoder meant, and damaged files
 * against a second implementation.
 *
 * ZMAP_SEEDS=first,count runs another set of random files.
 */
#include <inttypes.h>
#include "core.h"
#include "tests/port/check.h"
#include "tests/port/memimg.h"
#include "tests/unit/naive_zmap.h"
#include "tests/unit/zmap_gen.h"

/* ---- worked examples ---- */

struct want {
	u64 la, llen, pa, plen;
	unsigned int flags;
};

#define ENC	(EROFS_MAP_MAPPED | EROFS_MAP_ENCODED)
#define PLAIN	(EROFS_MAP_MAPPED | EROFS_MAP_PLAIN)

static void plain_super(struct erofs_super *s, unsigned int blkszbits)
{
	memset(s, 0, sizeof(*s));
	s->blkszbits = blkszbits;
	s->blksz = 1U << blkszbits;
	s->algs = 1;
	s->feature_incompat = EROFS_FEATURE_INCOMPAT_BIG_PCLUSTER;
}

static void expect(const u8 *img, u64 imgsize, u64 body, u64 size, unsigned int layout,
		   const struct want *w, unsigned int n)
{
	struct erofs_super s;
	struct erofs_inode_desc d = { .body = body, .size = size, .layout = layout };
	struct z_erofs_info zi;
	struct z_erofs_cursor c;
	struct erofs_map map;
	struct memimg mi;
	unsigned int i;
	u64 off = 0;

	plain_super(&s, 12);
	memimg_init(&mi, img, imgsize, 4096);
	CHECK_EQ(z_erofs_info_decode(&s, &d, &mi.m, false, &zi), 0);
	z_erofs_cursor_init(&c);
	for (i = 0; i < n; i++) {
		CHECK_EQ(z_erofs_map_find(&s, &d, &zi, &mi.m, &c, off, &map), 0);
		CHECK_EQ(map.la, w[i].la);
		CHECK_EQ(map.llen, w[i].llen);
		CHECK_EQ(map.pa, w[i].pa);
		CHECK_EQ(map.plen, w[i].plen);
		CHECK_EQ(map.flags, w[i].flags);
		CHECK_EQ(map.alg, 0);
		CHECK_EQ(map.device_id, 0);
		/* from its last byte, nothing being cached */
		z_erofs_cursor_init(&c);
		off = w[i].la + w[i].llen - 1;
		CHECK_EQ(z_erofs_map_find(&s, &d, &zi, &mi.m, &c, off, &map), 0);
		CHECK_EQ(map.la, w[i].la);
		CHECK_EQ(map.pa, w[i].pa);
		off = map.la + map.llen;
	}
	CHECK_EQ(off, size);
	memimg_exit(&mi);
}

static void test_compact_small(void)
{
	static const u8 bytes[] = {
		0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
		0x00, 0x10, 0x14, 0x1d, 0x1e, 0x01, 0x00, 0x00,
		0x01, 0x20, 0x88, 0x1b, 0x20, 0x01, 0x00, 0x00,
		0x01, 0x20, 0x98, 0x19, 0x21, 0x01, 0x00, 0x00,
		0x01, 0x20, 0x63, 0x18, 0x22, 0x01, 0x00, 0x00,
		0x01, 0x20, 0xc5, 0x0e, 0x23, 0x01, 0x00, 0x00,
		0x3d, 0x0c, 0x00, 0x00, 0x24, 0x01, 0x00, 0x00,
	};
	static const struct want w[] = {
		{ 0, 7444, 287 * 4096, 4096, ENC },
		{ 7444, 7796, 288 * 4096, 4096, ENC },
		{ 15240, 7696, 289 * 4096, 4096, ENC },
		{ 22936, 7883, 290 * 4096, 4096, ENC },
		{ 30819, 9826, 291 * 4096, 4096, ENC },
		{ 40645, 3448, 292 * 4096, 4096, PLAIN },
	};
	u8 img[32 + sizeof(bytes)] = { 0 };

	memcpy(img + 32, bytes, sizeof(bytes));
	expect(img, sizeof(img), 32, 44093, EROFS_INODE_COMPRESSED_COMPACT, w, ARRAY_SIZE(w));
	/* not aligned: the header is 8 bytes aligned all the same */
	expect(img, sizeof(img), 28, 44093, EROFS_INODE_COMPRESSED_COMPACT, w, ARRAY_SIZE(w));
}

static void test_compact_big(void)
{
	static const u8 front[] = {
		0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00,
		0x00, 0x10, 0x10, 0x28, 0x12, 0x01, 0x00, 0x00,
		0x02, 0x20, 0x30, 0x20, 0x22, 0x01, 0x00, 0x00,
		0x04, 0x20, 0x2e, 0x20, 0x22, 0x01, 0x00, 0x00,
		0x06, 0xe0, 0x01, 0x88, 0x00, 0x26, 0x80, 0x0a, 0xe0, 0x02, 0xc8, 0x00, 0x36, 0x80,
		0x0e, 0xe0, 0x03, 0x08, 0x01, 0x46, 0x80, 0x12, 0xe0, 0x04, 0x48, 0x01, 0x7a, 0x80,
		0x22, 0x01, 0x00, 0x00,
	};
	static const struct want w[] = {
		{ 0, 210513, 274 * 4096, 16 * 4096, ENC },
	};
	struct memimg mi;
	struct gen g = { .table = 32, .L = 12, .imgsize = 512, .kind = Z_EROFS_KIND_COMPACT };
	u8 img[512] = { 0 };
	unsigned int i;

	memcpy(img + 32, front, sizeof(front));
	g.img = img;
	/* second 2B pack: lclusters 22 .. 37 */
	for (i = 0; i < 16; i++)
		gen_put_bits(&g, 96, 14 * i, 14, 2 << 12 | (i < 15 ? 22 + i : 14));
	gen_put(&g, 96 + 28, 290, 4);
	/* 14 trailing ones, the last is the end marker */
	for (i = 38; i < 52; i++) {
		u64 pos = 128 + 4 * (i - 38) / 8 * 8;

		gen_put(&g, pos + 2 * (i & 1), 2 << 12 | (i & 1 ? 51 - i : i), 2);
		gen_put(&g, pos + 4, 290, 4);
	}
	CHECK_EQ(img[176], 0x32);
	CHECK_EQ(img[177], 0x20);
	gen_put(&g, 178, 1617, 2);
	CHECK(!memcmp(img + 176, "\x32\x20\x51\x06\x22\x01\x00\x00", 8));

	memimg_init(&mi, img, 184, 4096);
	expect(img, 184, 32, 210513, EROFS_INODE_COMPRESSED_COMPACT, w, 1);
	/* the last pack has to be there */
	{
		struct erofs_super s;
		struct erofs_inode_desc d = { .body = 32, .size = 210513,
					      .layout = EROFS_INODE_COMPRESSED_COMPACT };
		struct z_erofs_info zi;
		struct z_erofs_cursor c;
		struct erofs_map map;

		plain_super(&s, 12);
		mi.size = 180;
		mi.m.size = 180;
		CHECK_EQ(z_erofs_info_decode(&s, &d, &mi.m, false, &zi), 0);
		z_erofs_cursor_init(&c);
		CHECK_EQ(z_erofs_map_find(&s, &d, &zi, &mi.m, &c, 0, &map), -EFSCORRUPTED);
		CHECK(mi.m.fault.what);
	}
	memimg_exit(&mi);
}

static void test_inline(void)
{
	static const u8 bytes[] = {
		0x00, 0x00, 0xc5, 0x0a, 0x09, 0x00, 0x00, 0x00,
		0x00, 0x10, 0xa4, 0x0a, 0x8b, 0x00, 0x00, 0x00,
	};
	static const struct want w[] = {
		{ 0, 6820, 56 + 16, 2757, ENC | EROFS_MAP_META },
	};
	u8 img[4096] = { 0 };

	memcpy(img + 56, bytes, sizeof(bytes));
	expect(img, sizeof(img), 52, 6820, EROFS_INODE_COMPRESSED_COMPACT, w, 1);
}

/* ---- single faults and the errors they have to give ---- */

struct fix {
	struct erofs_super s;
	struct erofs_inode_desc d;
	struct memimg mi;
	struct z_erofs_info zi;
	struct z_erofs_cursor c;
	struct erofs_map map;
	bool is_packed;
	u8 img[4096];
};

static void fix_init(struct fix *f, unsigned int layout, u64 hdr, u64 size)
{
	unsigned int i;

	memset(f, 0, sizeof(*f));
	plain_super(&f->s, 12);
	f->d.body = 64;
	f->d.size = size;
	f->d.layout = layout;
	for (i = 0; i < 8; i++)
		f->img[64 + i] = (u8)(hdr >> (8 * i));
}

static int fix_decode(struct fix *f)
{
	int err;

	memimg_init(&f->mi, f->img, sizeof(f->img), 4096);
	z_erofs_cursor_init(&f->c);
	err = z_erofs_info_decode(&f->s, &f->d, &f->mi.m, f->is_packed, &f->zi);
	/* every refusal says why */
	if (err)
		CHECK(f->mi.m.fault.what);
	return err;
}

static int fix_find(struct fix *f, u64 off)
{
	int err = fix_decode(f);

	if (!err) {
		err = z_erofs_map_find(&f->s, &f->d, &f->zi, &f->mi.m, &f->c, off, &f->map);
		if (err)
			CHECK(f->mi.m.fault.what);
	}
	memimg_exit(&f->mi);
	return err;
}

static int fix_header(struct fix *f)
{
	int err = fix_decode(f);

	memimg_exit(&f->mi);
	return err;
}

/* full record @l: advise, clusterofs, delta0 and delta1 or block */
static void full(struct fix *f, u64 l, unsigned int adv, unsigned int ofs, u32 v)
{
	u8 *p = f->img + 64 + 16 + 8 * l;
	unsigned int i;

	p[0] = (u8)adv;
	p[1] = (u8)(adv >> 8);
	p[2] = (u8)ofs;
	p[3] = (u8)(ofs >> 8);
	for (i = 0; i < 4; i++)
		p[4 + i] = (u8)(v >> (8 * i));
}

#define HDR(advise, algs, bits)	((u64)(advise) << 32 | (u64)(algs) << 48 | (u64)(bits) << 56)
#define NONHEAD(f, l, d0, d1)	full(f, l, 2, 0, (u32)(d0) | (u32)(d1) << 16)

/* five lclusters, one extent of HEAD1 */
static void one_extent(struct fix *f, unsigned int advise)
{
	u64 l;

	fix_init(f, EROFS_INODE_COMPRESSED_FULL, HDR(advise, 0, 0), 20480);
	full(f, 0, 1, 0, 1000);
	for (l = 1; l < 5; l++)
		NONHEAD(f, l, advise & 2 && l == 1 ? 0x800 | 2 : l, 5 - l);
}

static void test_faults_header(void)
{
	static struct fix f;

	fix_init(&f, EROFS_INODE_COMPRESSED_FULL, HDR(0, 0x04, 0), 4096);
	CHECK_EQ(fix_header(&f), -EOPNOTSUPP);
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(0, 0x40, 0), 4096);
	CHECK_EQ(fix_header(&f), -EOPNOTSUPP);
	/* not announced, but not used either */
	fix_init(&f, EROFS_INODE_COMPRESSED_FULL, HDR(0, 0x33, 0), 4096);
	full(&f, 0, 0, 0, 1000);
	CHECK_EQ(fix_find(&f, 0), 0);
	CHECK_EQ(f.map.flags, PLAIN);
	full(&f, 0, 1, 0, 1000);
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	f.s.algs = 8;
	CHECK_EQ(fix_find(&f, 0), 0);
	CHECK_EQ(f.map.alg, 3);

	fix_init(&f, EROFS_INODE_COMPRESSED_FULL, HDR(2, 0, 0), 4096);
	CHECK_EQ(fix_header(&f), 0);
	f.s.feature_incompat = 0;
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(4, 0, 0), 4096);
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(6, 0, 0), 4096);
	CHECK_EQ(fix_header(&f), 0);

	/* lcluster bits */
	fix_init(&f, EROFS_INODE_COMPRESSED_FULL, HDR(0, 0, 15), 4096);
	CHECK_EQ(fix_header(&f), -EOPNOTSUPP);
	fix_init(&f, EROFS_INODE_COMPRESSED_FULL, HDR(0, 0, 4), 4096);
	CHECK_EQ(fix_header(&f), 0);
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(0, 0, 3), 4096);
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(0, 0, 2), 4096);
	CHECK_EQ(fix_header(&f), 0);
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(1, 0, 1), 4096);
	CHECK_EQ(fix_header(&f), -EOPNOTSUPP);

	/* fragments */
	fix_init(&f, EROFS_INODE_COMPRESSED_FULL, 1ULL << 63 | 4711, 1ULL << 51);
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
	f.s.packed_nid = 5;
	CHECK_EQ(fix_find(&f, 1ULL << 50), 0);
	CHECK_EQ(f.map.flags, EROFS_MAP_MAPPED | EROFS_MAP_FRAGMENT);
	CHECK_EQ(f.map.pa, 4711);
	CHECK_EQ(f.map.llen, 1LL << 51);
	CHECK_EQ(f.map.plen, 1LL << 51);
	f.is_packed = true;
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, U64_MAX, 4096);
	f.s.packed_nid = 5;
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(0x20, 0, 0), 4096);
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
	f.s.packed_nid = 5;
	CHECK_EQ(fix_header(&f), 0);
	f.is_packed = true;
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);

	/* inline data: last index unit ends at 64 + 16 */
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(8, 0, 0) | 4016 << 16, 4096);
	CHECK_EQ(fix_header(&f), 0);
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(8, 0, 0) | 4017 << 16, 4096);
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
	/* FRAGMENT wins */
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(0x28, 0, 0) | 4017 << 16, 4096);
	f.s.packed_nid = 5;
	CHECK_EQ(fix_header(&f), 0);
	CHECK_EQ(f.zi.idata_size, 0);

	/* positions */
	fix_init(&f, EROFS_INODE_COMPRESSED_FULL, 0, 4096);
	f.d.body = U64_MAX - 3;
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
	f.d.body = 4096;
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
}

static void test_faults_index(void)
{
	static struct fix f;

	one_extent(&f, 0);
	CHECK_EQ(fix_find(&f, 9000), 0);
	CHECK_EQ(f.map.la, 0);
	CHECK_EQ(f.map.llen, 20480);
	CHECK_EQ(f.map.plen, 4096);
	CHECK_EQ(f.map.pa, 1000 * 4096);

	/* first record */
	NONHEAD(&f, 0, 1, 1);
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	full(&f, 0, 1, 1, 1000);
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	CHECK_EQ(fix_find(&f, 5), -EFSCORRUPTED);
	CHECK_EQ(fix_find(&f, 5000), -EFSCORRUPTED);

	/* delta0 */
	one_extent(&f, 0);
	NONHEAD(&f, 3, 0, 2);
	CHECK_EQ(fix_find(&f, 3 * 4096), -EFSCORRUPTED);
	CHECK_EQ(fix_find(&f, 2 * 4096), 0);
	NONHEAD(&f, 3, 4, 2);
	CHECK_EQ(fix_find(&f, 3 * 4096), -EFSCORRUPTED);
	NONHEAD(&f, 3, 0x7ff, 2);
	CHECK_EQ(fix_find(&f, 3 * 4096), -EFSCORRUPTED);

	/* delta1: 0 is 1; anything large is the end */
	one_extent(&f, 0);
	NONHEAD(&f, 1, 1, 0);
	NONHEAD(&f, 2, 2, 0);
	CHECK_EQ(fix_find(&f, 0), 0);
	CHECK_EQ(f.map.llen, 20480);
	NONHEAD(&f, 1, 1, 65535);
	CHECK_EQ(fix_find(&f, 0), 0);
	CHECK_EQ(f.map.llen, 20480);

	/* clusterofs */
	one_extent(&f, 0);
	full(&f, 3, 1, 4096, 2000);
	NONHEAD(&f, 1, 1, 2);
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	CHECK_EQ(fix_find(&f, 3 * 4096), -EFSCORRUPTED);
	full(&f, 3, 1, 4095, 2000);
	CHECK_EQ(fix_find(&f, 0), 0);
	CHECK_EQ(f.map.llen, 3 * 4096 + 4095);
	CHECK_EQ(fix_find(&f, 3 * 4096), 0);
	CHECK_EQ(f.map.la, 0);

	/* a head in between that lookups from behind don't see */
	one_extent(&f, 0);
	full(&f, 1, 1, 0, 2000);
	CHECK_EQ(fix_find(&f, 2 * 4096), -EFSCORRUPTED);

	/* pcluster sizes */
	one_extent(&f, 2);
	CHECK_EQ(fix_find(&f, 0), 0);
	CHECK_EQ(f.map.plen, 8192);
	CHECK_EQ(fix_find(&f, 4096), 0);
	CHECK_EQ(f.map.plen, 8192);
	NONHEAD(&f, 1, 1, 4);
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	NONHEAD(&f, 1, 0x800 | 2047, 4);
	CHECK_EQ(fix_find(&f, 0), -EOPNOTSUPP);
	NONHEAD(&f, 1, 0x800 | 256, 4);
	CHECK_EQ(fix_find(&f, 0), 0);
	NONHEAD(&f, 1, 0x800 | 257, 4);
	CHECK_EQ(fix_find(&f, 0), -EOPNOTSUPP);
	NONHEAD(&f, 1, 0x800, 4);
	CHECK_EQ(fix_find(&f, 0), 0);
	CHECK_EQ(f.map.flags, 0);
	one_extent(&f, 0);
	NONHEAD(&f, 1, 0x800 | 2, 4);
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	one_extent(&f, 2);
	NONHEAD(&f, 3, 0x800 | 2, 1);
	CHECK_EQ(fix_find(&f, 3 * 4096), -EFSCORRUPTED);

	/* plain */
	fix_init(&f, EROFS_INODE_COMPRESSED_FULL, HDR(0, 0, 0), 5000);
	full(&f, 0, 0, 0, 1000);
	full(&f, 1, 0, 904, 0);
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	full(&f, 1, 1, 0, 7);
	CHECK_EQ(fix_find(&f, 0), 0);
	CHECK_EQ(f.map.flags, PLAIN);
	CHECK_EQ(f.map.llen, 4096);

	/* addresses have 32 bits; what isn't used may be anything */
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, 0, 8000);
	memcpy(f.img + 72, "\x00\x10\x00\x10\xfd\xff\xff\xff", 8);
	CHECK_EQ(fix_find(&f, 4096), 0);
	CHECK_EQ(f.map.pa, 0xffffffffLL << 12);
	f.img[76] = 0xfe;
	CHECK_EQ(fix_find(&f, 0), 0);
	CHECK_EQ(fix_find(&f, 4096), -EFSCORRUPTED);
	fix_init(&f, EROFS_INODE_COMPRESSED_COMPACT, HDR(0x20, 0, 0), 8000);
	memcpy(f.img + 72, "\x00\x10\x00\x10\xfe\xff\xff\xff", 8);
	f.s.packed_nid = 5;
	CHECK_EQ(fix_find(&f, 4096), 0);
	CHECK_EQ(f.map.flags, EROFS_MAP_MAPPED | EROFS_MAP_FRAGMENT);

	/* holes */
	one_extent(&f, 0);
	full(&f, 0, 0x4001, 0, 0);
	CHECK_EQ(fix_find(&f, 7), 0);
	CHECK_EQ(f.map.flags, 0);
	CHECK_EQ(f.map.llen, 20480);
}

/* huge files: an answer or a refusal without walking far */
static void test_bounds(void)
{
	static struct fix f;
	struct erofs_inode_desc d;
	struct erofs_super s;
	struct z_erofs_info zi;
	struct z_erofs_cursor c;
	struct memimg mi;
	struct erofs_map map;
	const u64 n = 24576 * 4;
	u8 *img = calloc(1, 80 + 8 * n);
	unsigned int compact;
	u64 i;

	if (!img)
		abort();
	/* the table ends soon, the size doesn't say so */
	one_extent(&f, 0);
	f.d.size = 1ULL << 62;
	for (i = 1; 80 + 8 * i < sizeof(f.img); i++)
		NONHEAD(&f, i, 1, 1);
	CHECK(fix_find(&f, 0) == -EFSCORRUPTED);
	CHECK(fix_find(&f, 1ULL << 61) == -EFSCORRUPTED);
	CHECK(f.mi.maps <= 2);

	/* 512-byte lclusters and distances of 1: stop at 12 MiB */
	plain_super(&s, 9);
	for (compact = 0; compact < 2; compact++) {
		memset(&d, 0, sizeof(d));
		memset(img, 0, 80 + 8 * n);
		d.size = n * 512;
		d.layout = compact ? EROFS_INODE_COMPRESSED_COMPACT : EROFS_INODE_COMPRESSED_FULL;
		for (i = 0; i < n; i++) {
			u8 *p = compact ? img + 8 + 8 * (i / 2) + 2 * (i % 2) : img + 16 + 8 * i;

			if (compact) {
				p[0] = i ? 1 : 0;
				p[1] = i ? 0x20 : 0x10;
			} else {
				p[0] = i ? 2 : 1;
				p[4] = 1;
				p[6] = 1;
			}
		}
		memimg_init(&mi, img, 80 + 8 * n, 512);
		CHECK_EQ(z_erofs_info_decode(&s, &d, &mi.m, false, &zi), 0);
		z_erofs_cursor_init(&c);
		mi.maps = 0;
		CHECK_EQ(z_erofs_map_find(&s, &d, &zi, &mi.m, &c, 0, &map), -EOPNOTSUPP);
		CHECK(mi.maps < 24576 * 8 / 512 + 3);
		CHECK_EQ(z_erofs_map_find(&s, &d, &zi, &mi.m, &c, d.size - 1, &map), -EOPNOTSUPP);
		if (compact)
			CHECK(mi.maps < 2 * (24576 * 4 / 512 + 3));
		memimg_exit(&mi);

		/* a fragment may be longer */
		s.packed_nid = 9;
		img[4] = 0x20;
		memimg_init(&mi, img, 80 + 8 * n, 512);
		CHECK_EQ(z_erofs_info_decode(&s, &d, &mi.m, false, &zi), 0);
		z_erofs_cursor_init(&c);
		CHECK_EQ(z_erofs_map_find(&s, &d, &zi, &mi.m, &c, 5000000, &map), 0);
		CHECK_EQ(map.llen, d.size);
		CHECK_EQ(map.flags, EROFS_MAP_MAPPED | EROFS_MAP_FRAGMENT);
		memimg_exit(&mi);
	}
	free(img);
}

static void test_faults_extents(void)
{
	static struct fix f;
	unsigned int i;
	u8 *t = f.img + 80;

#define EXT_INIT(adv, cnt, sz) do {					\
	fix_init(&f, EROFS_INODE_COMPRESSED_FULL, HDR(1 | (adv), 0, 0) | (cnt), sz);	\
	f.s.algs = 0xf;							\
} while (0)
	/* 16 bytes */
	EXT_INIT(4, 0, 1 << 20);
	CHECK_EQ(fix_find(&f, 5), 0);
	CHECK_EQ(f.map.flags, 0);
	CHECK_EQ(f.map.llen, 1 << 20);
	EXT_INIT(4, 1, 1 << 20);
	memcpy(t, "\x00\x10\x00\x10\x34\x12\x00\x00\x00\x00\x00\x00\x64\x00\x00\x00", 16);
	CHECK_EQ(fix_find(&f, 99), 0);
	CHECK_EQ(f.map.flags, 0);
	CHECK_EQ(f.map.llen, 100);
	CHECK_EQ(fix_find(&f, 100), 0);
	CHECK_EQ(f.map.flags, ENC);
	CHECK_EQ(f.map.pa, 0x1234);
	CHECK_EQ(f.map.plen, 4096);
	CHECK_EQ(f.map.llen, (1 << 20) - 100);
	t[3] = 0x50;
	CHECK_EQ(fix_find(&f, 100), -EOPNOTSUPP);
	t[3] = 0x40;
	CHECK_EQ(fix_find(&f, 100), 0);
	CHECK_EQ(f.map.alg, 3);
	f.s.algs = 7;
	CHECK_EQ(fix_find(&f, 100), -EFSCORRUPTED);
	f.s.algs = 15;
	t[2] = 0x10;
	t[1] = 0;
	CHECK_EQ(fix_find(&f, 100), 0);
	CHECK_EQ(f.map.plen, 1 << 20);
	t[0] = 1;
	CHECK_EQ(fix_find(&f, 100), -EOPNOTSUPP);
	t[0] = 0;
	t[11] = 0x10;
	CHECK_EQ(fix_find(&f, 100), -EFSCORRUPTED);
	t[11] = 0x0f;
	CHECK_EQ(fix_find(&f, 100), 0);
	t[14] = 0x10;		/* beyond the file */
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	/* 2^46 records */
	EXT_INIT(4, 0, 1 << 20);
	f.img[64 + 7] = 0x40;
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
	/* length of the extent */
	EXT_INIT(4, 1, 12582913);
	t[1] = 0x10;
	t[3] = 0x10;
	CHECK_EQ(fix_find(&f, 0), -EOPNOTSUPP);
	f.d.size--;
	CHECK_EQ(fix_find(&f, 0), 0);

	/* 4 bytes: position sum */
	EXT_INIT(0, 0, 20 * 4096);
	t = f.img + 72;
	t[7] = 0x10;		/* 2^60 = 2^48 blocks */
	CHECK_EQ(fix_find(&f, 0), 0);
	t[0] = 1;
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	memset(t, 0xff, 7);
	t[7] = 0x0f;
	t[8] = 1;
	t[11] = 0x10;
	CHECK_EQ(fix_find(&f, 0), 0);
	t[8] = 2;
	CHECK_EQ(fix_find(&f, 0), -EFSCORRUPTED);
	memset(t, 0xff, 8);
	CHECK_EQ(fix_find(&f, 4096), -EFSCORRUPTED);
	memset(t, 0, 8);
	for (i = 0; i < 20; i++)
		memcpy(t + 8 + 4 * i, "\x10\x00\x00\x10", 4);
	CHECK_EQ(fix_find(&f, 19 * 4096), 0);
	CHECK_EQ(f.map.pa, 19 * 16);
	f.d.size = 1ULL << 50;
	CHECK_EQ(fix_header(&f), -EFSCORRUPTED);
#undef EXT_INIT
}

/* ---- tables that no memory holds: more than 2^32 records, made up when looked at ---- */

#define VAST_HDR	64
#define VAST_TABLE	96	/* a multiple of the largest record; 8 bytes more with 4-byte ones */
#define VAST_MAX	((u64)1 << 60)

struct vast {
	struct erofs_meta m;
	u64 hdr;
	u64 table;
	u64 n;			/* records, or packs of two */
	unsigned int recsz;
	u32 maps;
	void (*rec)(u8 *p, u64 k);
	u8 win[4096];
};

static void le(u8 *p, u64 v, unsigned int n)
{
	while (n--) {
		*p++ = (u8)v;
		v >>= 8;
	}
}

static int vast_map(struct erofs_meta *m, u64 off)
{
	struct vast *v = (struct vast *)m;
	u64 pos = off & ~4095ULL, at, k;
	u8 rec[32];

	v->maps++;
	if (off >= m->size)
		return -EIO;
	memset(v->win, 0, sizeof(v->win));
	if (!pos)
		le(v->win + VAST_HDR, v->hdr, 8);
	k = pos > v->table ? (pos - v->table) / v->recsz : 0;
	for (; k < v->n; k++) {
		u64 i;

		at = v->table + k * v->recsz;
		if (at >= pos + 4096)
			break;
		v->rec(rec, k);
		for (i = 0; i < v->recsz; i++)
			if (at + i - pos < 4096)
				v->win[at + i - pos] = rec[i];
	}
	m->base = v->win;
	m->start = pos;
	m->len = 4096;
	return 0;
}

/* extents of 1 to 7 bytes */
static u64 vast_lstart(u64 k)
{
	return 5 * k + (k % 3);
}

static void vast_ext32(u8 *p, u64 k)
{
	le(p, (4096 + k % 1000) | 1 << 28, 4);
	le(p + 4, 4096 + 3 * k, 8);
	le(p + 12, vast_lstart(k), 8);
	le(p + 20, 0xa5a5a5a5a5a5a5a5, 8);
	le(p + 28, 0x5a5a5a5a, 4);
}

static void vast_ext8(u8 *p, u64 k)
{
	le(p, (100 + k % 3000) | 4U << 28, 4);
	le(p + 4, (u32)(7 * k), 4);
}

/* an extent begins in each lcluster */
static u32 vast_clusterofs(u64 l)
{
	return 5 * l % 4096;
}

static void vast_full(u8 *p, u64 l)
{
	le(p, 1, 2);
	le(p + 2, vast_clusterofs(l), 2);
	le(p + 4, (u32)(3 * l), 4);
}

static void vast_pack(u8 *p, u64 k)
{
	le(p, 1 << 12 | vast_clusterofs(2 * k), 2);
	le(p + 2, 1 << 12 | vast_clusterofs(2 * k + 1), 2);
	le(p + 4, (u32)(3 * k), 4);
}

/* one lookup without a past: @kind 0 to 3 as in test_vast(); record @k, byte @in of it */
static void vast_check(struct vast *v, const struct erofs_super *s, const struct erofs_inode_desc *d,
		       unsigned int kind, u64 n, u64 k, u64 in)
{
	u64 la, end, off, pa, plen;
	unsigned int alg = 0;
	struct z_erofs_info zi;
	struct z_erofs_cursor c;
	struct erofs_map map;
	u32 maps;

	if (kind == 0) {
		la = vast_lstart(k);
		end = k + 1 < n ? vast_lstart(k + 1) : d->size;
		pa = 4096 + 3 * k;
		plen = 4096 + k % 1000;
	} else if (kind == 1) {
		la = k << 12;
		end = la + 4096;
		pa = (u32)(7 * k);
		plen = 100 + k % 3000;
		alg = 3;
	} else {
		la = (k << 12) + vast_clusterofs(k);
		end = ((k + 1) << 12) + vast_clusterofs(k + 1);
		pa = kind == 2 ? (u64)(u32)(3 * k) << 12 :
				 ((u64)(u32)(3 * (k / 2)) + 1 + k % 2) << 12;
		plen = 4096;
	}
	end = min(end, d->size);
	off = la + in % (end - la);

	memset(&v->m.fault, 0, sizeof(v->m.fault));
	CHECK_EQ(z_erofs_info_decode(s, d, &v->m, false, &zi), 0);
	z_erofs_cursor_init(&c);
	maps = v->maps;
	CHECK_EQ(z_erofs_map_find(s, d, &zi, &v->m, &c, off, &map), 0);
	CHECK_EQ(map.la, la);
	CHECK_EQ(map.llen, end - la);
	CHECK_EQ(map.pa, pa);
	CHECK_EQ(map.plen, plen);
	CHECK_EQ(map.flags, ENC);
	CHECK_EQ(map.alg, alg);
	/* a search in halves, or a step or two */
	CHECK(v->maps - maps <= (kind == 0 ? 40 : 3));
	if (end == d->size)
		return;
	/* and on to the next one */
	CHECK_EQ(z_erofs_map_find(s, d, &zi, &v->m, &c, end, &map), 0);
	CHECK_EQ(map.la, end);
}

static void test_vast(void)
{
	static const struct {
		unsigned int recsz, layout;
		u64 hdr;
		void (*rec)(u8 *p, u64 k);
	} kinds[] = {
		/* h_extents_hi is 2, h_extents_lo 7 */
		{ 32, EROFS_INODE_COMPRESSED_FULL, HDR(7, 2, 0) | 7, vast_ext32 },
		{ 8, EROFS_INODE_COMPRESSED_FULL, HDR(3, 0, 0), vast_ext8 },
		{ 8, EROFS_INODE_COMPRESSED_FULL, HDR(0, 0, 0), vast_full },
		{ 8, EROFS_INODE_COMPRESSED_COMPACT, HDR(0, 0, 0), vast_pack },
	};
	static struct vast v;
	struct erofs_inode_desc d;
	struct erofs_super s;
	unsigned int i, j;
	u32 state = 12345;
	u64 n, k;

	plain_super(&s, 12);
	s.algs = 0xf;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		n = (2ULL << 32) + 7;
		memset(&v, 0, sizeof(v));
		memset(&d, 0, sizeof(d));
		v.m.size = VAST_MAX;
		v.m.map = vast_map;
		v.hdr = kinds[i].hdr;
		v.recsz = kinds[i].recsz;
		v.rec = kinds[i].rec;
		v.n = i == 3 ? n / 2 + 1 : n;
		v.table = i == 0 ? VAST_TABLE : i == 2 ? VAST_HDR + 16 : VAST_HDR + 8;
		d.body = VAST_HDR;
		d.layout = kinds[i].layout;
		d.size = i == 0 ? vast_lstart(n - 1) + 3 : i == 1 ? (n << 12) - 5 :
			 ((n - 1) << 12) + vast_clusterofs(n - 1) + 1;
		for (j = 0; j < 40; j++) {
			static const u64 near[] = {
				0, 1, 6, 7, 8, U32_MAX - 1, U32_MAX, 1ULL << 32, (1ULL << 32) + 1,
				(2ULL << 32) - 1, 2ULL << 32, (2ULL << 32) + 5, (2ULL << 32) + 6,
			};

			k = j < ARRAY_SIZE(near) ? near[j] :
			    ((u64)memimg_random(&state) << 32 | memimg_random(&state)) % n;
			vast_check(&v, &s, &d, i, n, k, memimg_random(&state));
		}
	}
	/* the table ends a record too early */
	v.hdr = kinds[0].hdr;
	d.layout = kinds[0].layout;
	v.m.size = VAST_TABLE + 32 * ((2ULL << 32) + 7) - 1;
	v.m.len = 0;
	{
		struct z_erofs_info zi;

		CHECK_EQ(z_erofs_info_decode(&s, &d, &v.m, false, &zi), -EFSCORRUPTED);
		v.m.size++;
		v.m.len = 0;
		memset(&v.m.fault, 0, sizeof(v.m.fault));
		CHECK_EQ(z_erofs_info_decode(&s, &d, &v.m, false, &zi), 0);
	}
}

/* ---- random files ---- */

static u64 cur_seed;

static bool same(const struct erofs_map *a, const struct erofs_map *b)
{
	return a->la == b->la && a->llen == b->llen && a->flags == b->flags && a->pa == b->pa &&
	       a->plen == b->plen && a->alg == b->alg && a->device_id == b->device_id;
}

static void show(const char *what, const struct erofs_map *m)
{
	fprintf(stderr, "  %s: la %" PRIu64 " llen %" PRIu64 " pa %" PRIu64 " plen %" PRIu64
		" flags %x alg %u\n", what, m->la, m->llen, m->pa, m->plen, m->flags, m->alg);
}

static void must_be(const struct gen *g, u64 off, int err, const struct erofs_map *got,
		    const struct erofs_map *want, const char *how)
{
	bool ok = !err && same(got, want);

	CHECK(ok);
	if (!ok) {
		fprintf(stderr, "seed %" PRIu64 " kind %u off %" PRIu64 " err %d (%s)\n",
			cur_seed, g->kind, off, err, how);
		if (!err)
			show("got", got);
		show("want", want);
		exit(1);
	}
}

struct run {
	struct memimg mi;
	struct z_erofs_info zi;
	struct z_erofs_cursor c;
};

static const struct gen_ext *extent_of(const struct gen *g, u64 off)
{
	u64 lo = 0, hi = g->ne;

	while (hi - lo > 1) {
		u64 mid = (lo + hi) / 2;

		if (g->e[mid].map.la <= off)
			lo = mid;
		else
			hi = mid;
	}
	return &g->e[lo];
}

static void probe(const struct gen *g, struct run *r, u64 off, bool fresh)
{
	const struct gen_ext *e;
	struct erofs_map map;
	int err;

	if (off >= g->d.size)
		return;
	e = extent_of(g, off);
	if (fresh)
		z_erofs_cursor_init(&r->c);
	memset(&map, 0x5a, sizeof(map));
	err = z_erofs_map_find(&g->s, &g->d, &r->zi, &r->mi.m, &r->c, off, &map);
	must_be(g, off, err, &map, &e->map, fresh ? "fresh cursor" : "shared cursor");
}

static void check_file(struct gen *g)
{
	struct run r;
	struct erofs_map map;
	u64 i, off, tries;
	int err;

	memimg_init(&r.mi, g->img, g->imgsize, g->s.blksz);
	err = z_erofs_info_decode(&g->s, &g->d, &r.mi.m, false, &r.zi);
	CHECK_EQ(err, 0);
	CHECK_EQ(r.zi.kind, g->kind);
	if (err) {
		fprintf(stderr, "seed %" PRIu64 ": %s\n", cur_seed, r.mi.m.fault.what);
		exit(1);
	}

	/* ascending: every block of metadata is needed once */
	z_erofs_cursor_init(&r.c);
	r.mi.maps = 0;
	for (i = 0, off = 0; off < g->d.size; i++) {
		err = z_erofs_map_find(&g->s, &g->d, &r.zi, &r.mi.m, &r.c, off, &map);
		must_be(g, off, err, &map, &g->e[i].map, "ascending");
		off = map.la + map.llen;
	}
	CHECK_EQ(i, g->ne);
	if (g->kind == Z_EROFS_KIND_COMPACT)
		CHECK(r.mi.maps <= g->imgsize / g->s.blksz + 1);

	/* both ends of extents and lclusters, anything in between */
	tries = min_t(u64, g->ne, 60);
	for (i = 0; i < tries; i++) {
		const struct erofs_map *e = &g->e[g->ne <= 60 ? i : gen_below(g, g->ne)].map;
		u64 mid = e->la + gen_below(g, e->llen);

		probe(g, &r, e->la, false);
		probe(g, &r, e->la + e->llen - 1, false);
		probe(g, &r, mid, i & 1);
		mid = (mid >> g->L) << g->L;
		probe(g, &r, mid, false);
		probe(g, &r, mid | ((1ULL << g->L) - 1), true);
		probe(g, &r, mid + gen_below(g, 40) * (1ULL << g->L), false);
		probe(g, &r, gen_below(g, g->d.size), false);
		probe(g, &r, g->d.size - 1, i & 2);
	}
	/* the second implementation must be of the same opinion */
	tries = g->ne > 1000 ? 3 : 10;
	for (i = 0; i < tries; i++) {
		off = gen_below(g, g->d.size);
		memset(&map, 0, sizeof(map));
		err = naive_zmap(&g->s, &g->d, g->img, g->imgsize, false, off, &map);
		must_be(g, off, err, &map, &extent_of(g, off)->map, "naive");
	}
	memimg_exit(&r.mi);
}

static u64 n_rejected, n_accepted, n_undefined;

static void sane(const struct gen *g, u64 off, const struct erofs_map *m)
{
	bool ok = m->la <= off && m->llen && m->la < g->d.size && m->llen <= g->d.size - m->la &&
		  off - m->la < m->llen && m->pa + m->plen >= m->pa;

	CHECK(ok);
	if (!ok) {
		fprintf(stderr, "seed %" PRIu64 " off %" PRIu64 "\n", cur_seed, off);
		show("nonsense", m);
		exit(1);
	}
}

/* compare with the naive reader on whatever the bytes are now */
static void check_damaged(struct gen *g)
{
	struct z_erofs_cursor *c;
	struct run r;
	struct erofs_map map, nmap;
	unsigned int i;
	int err, derr, naive;

	memset(&r, 0, sizeof(r));
	memimg_init(&r.mi, g->img, g->imgsize, g->s.blksz);
	derr = z_erofs_info_decode(&g->s, &g->d, &r.mi.m, false, &r.zi);
	c = &r.c;
	z_erofs_cursor_init(c);
	for (i = 0; i < 12; i++) {
		u64 off = gen_below(g, g->d.size);

		if (i & 1)
			off = g->e[gen_below(g, g->ne)].map.la;
		if (i == 5)
			off = g->d.size - 1;
		if (off >= g->d.size)
			off = 0;
		if (i > 8)
			z_erofs_cursor_init(c);
		memset(&map, 0x5a, sizeof(map));
		err = derr;
		if (!err)
			err = z_erofs_map_find(&g->s, &g->d, &r.zi, &r.mi.m, c, off, &map);
		if (!err)
			sane(g, off, &map);
		else
			CHECK(err == -EFSCORRUPTED || err == -EOPNOTSUPP);
		naive = naive_zmap(&g->s, &g->d, g->img, g->imgsize, false, off, &nmap);
		if (naive == NAIVE_UNDEFINED) {
			n_undefined++;
			continue;
		}
		if (naive == NAIVE_OK) {
			n_accepted++;
			must_be(g, off, err, &map, &nmap, "damaged");
			continue;
		}
		n_rejected++;
		CHECK(err);
		if (!err) {
			fprintf(stderr, "seed %" PRIu64 " kind %u off %" PRIu64 "\n", cur_seed,
				g->kind, off);
			show("accepted", &map);
			exit(1);
		}
	}
	memimg_exit(&r.mi);
}

static void damage(struct gen *g)
{
	u64 len = g->imgsize - g->table, at;
	unsigned int n = 1 + gen_below(g, gen_chance(g, 70) ? 2 : 30);

	while (n--) {
		at = g->table + (gen_chance(g, 25) ? gen_below(g, 8) : gen_below(g, len));
		switch (gen_below(g, 4)) {
		case 0:
			g->img[at] ^= (u8)(1 << gen_below(g, 8));
			break;
		case 1:
			g->img[at] = (u8)gen_rand(g);
			break;
		case 2:		/* records moved about */
			memmove(g->img + (at & ~7ULL),
				g->img + g->table + (gen_below(g, len - 7) & ~7ULL),
				min_t(u64, 8, g->imgsize - (at & ~7ULL)));
			break;
		default:
			g->img[at] = gen_chance(g, 50) ? 0 : 0xff;
			break;
		}
	}
}

/* the bytes change from one window to the next: only sane answers count */
static void check_noisy(struct gen *g, u32 seed)
{
	struct run r;
	struct erofs_map map;
	unsigned int i;

	memset(&r, 0, sizeof(r));
	memimg_init_noisy(&r.mi, g->img, g->imgsize, g->s.blksz, seed);
	z_erofs_cursor_init(&r.c);
	if (!z_erofs_info_decode(&g->s, &g->d, &r.mi.m, false, &r.zi)) {
		for (i = 0; i < 8; i++) {
			u64 off = gen_below(g, g->d.size);

			if (!z_erofs_map_find(&g->s, &g->d, &r.zi, &r.mi.m, &r.c, off, &map))
				sane(g, off, &map);
		}
	}
	memimg_exit(&r.mi);
}

/* errors of the window come through; nothing of a failed lookup stays behind */
static void check_io_errors(struct gen *g)
{
	struct run r;
	struct erofs_map map;
	u64 off = gen_below(g, g->d.size);
	unsigned int i;
	int err;

	for (i = 1; i < 6; i++) {
		memset(&r, 0, sizeof(r));
		memimg_init(&r.mi, g->img, g->imgsize, g->s.blksz);
		r.mi.fail_at = i;
		r.mi.fail_err = -EINTR;
		z_erofs_cursor_init(&r.c);
		err = z_erofs_info_decode(&g->s, &g->d, &r.mi.m, false, &r.zi);
		if (err) {
			CHECK_EQ(err, -EINTR);
			memimg_exit(&r.mi);
			continue;
		}
		err = z_erofs_map_find(&g->s, &g->d, &r.zi, &r.mi.m, &r.c, off, &map);
		if (err)
			CHECK_EQ(err, -EINTR);
		r.mi.fail_at = 0;
		probe(g, &r, off, false);
		probe(g, &r, gen_below(g, g->d.size), false);
		memimg_exit(&r.mi);
	}
}

static void random_files(u64 first, u64 count)
{
	u64 seed, kinds[4] = { 0 };
	unsigned int i;
	struct gen g;

	for (seed = first; seed < first + count; seed++) {
		u8 *saved;

		cur_seed = seed;
		gen_file(&g, seed);
		kinds[g.kind]++;
		check_file(&g);
		check_io_errors(&g);
		check_noisy(&g, (u32)seed + 1);
		saved = malloc(g.imgsize);
		if (!saved)
			abort();
		memcpy(saved, g.img, g.imgsize);
		for (i = 0; i < (g.ne > 1000 ? 4 : 24); i++) {
			damage(&g);
			check_damaged(&g);
			if (gen_chance(&g, 80))
				memcpy(g.img, saved, g.imgsize);
		}
		free(saved);
		gen_free(&g);
	}
	/* a test of nothing must not pass */
	if (count >= 200)
		for (i = 0; i < 4; i++)
			CHECK(kinds[i] > 1);
	if (count >= 200)
		CHECK(n_rejected > count && n_accepted > count);
	printf("files: %" PRIu64 " fragment, %" PRIu64 " full, %" PRIu64 " compact, %" PRIu64
	       " extents; damaged lookups: %" PRIu64 " accepted, %" PRIu64 " rejected, %" PRIu64
	       " undefined\n", kinds[0], kinds[1], kinds[2], kinds[3], n_accepted, n_rejected,
	       n_undefined);
}

int main(void)
{
	const char *env = getenv("ZMAP_SEEDS");
	u64 first = 1, count = 3000;

	if (env && sscanf(env, "%" SCNu64 ",%" SCNu64, &first, &count) != 2)
		return 2;
	test_compact_small();
	test_compact_big();
	test_inline();
	test_faults_header();
	test_faults_index();
	test_faults_extents();
	test_bounds();
	test_vast();
	random_files(first, count);
	return check_done();
}
