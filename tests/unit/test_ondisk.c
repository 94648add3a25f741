/* links: ondisk.c */
/* SPDX-License-Identifier: GPL-2.0 */
/* Metadata windows, superblock, configurations, device slots, inodes. */
#include "core.h"
#include "tests/port/memimg.h"
#include "tests/port/check.h"
#include "tests/unit/golden.h"

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

static void put64(u8 *p, u64 v)
{
	put32(p, (u32)v);
	put32(p + 4, (u32)(v >> 32));
}

/* ---- windows ---------------------------------------------------------------- */

static void test_window(void)
{
	u8 img[1300], buf[1300];
	struct memimg mi;
	const void *p;
	u32 i;

	for (i = 0; i < sizeof(img); i++)
		img[i] = (u8)(i * 7 + (i >> 8));
	memimg_init(&mi, img, sizeof(img), 512);

	p = erofs_meta_ptr(&mi.m, 500, 12);
	CHECK(!IS_ERR(p) && !memcmp(p, img + 500, 12));
	CHECK_EQ(mi.maps, 1);
	p = erofs_meta_ptr(&mi.m, 0, 512);
	CHECK(!IS_ERR(p) && !memcmp(p, img, 512));
	CHECK_EQ(mi.maps, 1);
	/* crosses into the next block */
	CHECK_EQ(PTR_ERR(erofs_meta_ptr(&mi.m, 500, 13)), -EFSCORRUPTED);
	CHECK(mi.m.fault.what && mi.m.fault.off == 500);
	/* the last block is short */
	p = erofs_meta_ptr(&mi.m, 1296, 4);
	CHECK(!IS_ERR(p) && !memcmp(p, img + 1296, 4));
	CHECK_EQ(PTR_ERR(erofs_meta_ptr(&mi.m, 1296, 5)), -EFSCORRUPTED);
	CHECK_EQ(PTR_ERR(erofs_meta_ptr(&mi.m, 1300, 1)), -EFSCORRUPTED);
	CHECK_EQ(PTR_ERR(erofs_meta_ptr(&mi.m, U64_MAX, 1)), -EFSCORRUPTED);
	CHECK_EQ(PTR_ERR(erofs_meta_ptr(&mi.m, U64_MAX - 3, 8)), -EFSCORRUPTED);
	/* before the current window */
	p = erofs_meta_ptr(&mi.m, 3, 1);
	CHECK(!IS_ERR(p) && !memcmp(p, img + 3, 1));

	memset(buf, 0, sizeof(buf));
	CHECK_EQ(erofs_meta_read(&mi.m, 0, buf, sizeof(img)), 0);
	CHECK(!memcmp(buf, img, sizeof(img)));
	memset(buf, 0, sizeof(buf));
	CHECK_EQ(erofs_meta_read(&mi.m, 511, buf, 514), 0);
	CHECK(!memcmp(buf, img + 511, 514) && !buf[514]);
	CHECK_EQ(erofs_meta_read(&mi.m, 1299, buf, 2), -EFSCORRUPTED);
	CHECK_EQ(erofs_meta_read(&mi.m, U64_MAX, buf, 2), -EFSCORRUPTED);
	CHECK_EQ(erofs_meta_read(&mi.m, U64_MAX, buf, 0), 0);

	/* a failing device leaves no window behind */
	mi.fail_at = mi.maps + 2;
	mi.fail_err = -EINTR;
	CHECK_EQ(erofs_meta_read(&mi.m, 0, buf, 1024), -EINTR);
	CHECK_EQ(mi.m.len, 0);
	CHECK_EQ(erofs_meta_read(&mi.m, 0, buf, 1024), 0);

	/* a space of unknown size ends where the callback says so */
	mi.m.size = U64_MAX;
	CHECK_EQ(erofs_meta_read(&mi.m, 1024, buf, 276), 0);
	CHECK_EQ(erofs_meta_read(&mi.m, 2000, buf, 10), -EIO);

	/* windows longer than the space are cut */
	memimg_drop(&mi);
	mi.m.size = 1200;
	CHECK_EQ(PTR_ERR(erofs_meta_ptr(&mi.m, 1199, 2)), -EFSCORRUPTED);
	CHECK(!IS_ERR(erofs_meta_ptr(&mi.m, 1199, 1)));
	CHECK_EQ(PTR_ERR(erofs_meta_ptr(&mi.m, 1199, 2)), -EFSCORRUPTED);
	memimg_exit(&mi);
}

/* ---- crc32c ------------------------------------------------------------------- */

/* bit by bit, nothing shared with the tested one */
static u32 slow_crc32c(u32 crc, const u8 *p, size_t len)
{
	int k;

	while (len--) {
		crc ^= *p++;
		for (k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
	}
	return crc;
}

static void test_crc32c(void)
{
	static const u8 start[8] = { 0xe2, 0xe1, 0xf5, 0xe0, 0, 0, 0, 0 };
	u8 buf[300];
	u32 i;

	CHECK_EQ(erofs_crc32c(~0u, "123456789", 9), 0x1cf96d7c);
	CHECK_EQ(erofs_crc32c(~0u, start, 8), 0x5045b54a);
	CHECK_EQ(erofs_crc32c(0x1234, buf, 0), 0x1234);
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = (u8)(i * i + 3);
	for (i = 0; i < sizeof(buf); i += 13)
		CHECK_EQ(erofs_crc32c(i * 77, buf, i), slow_crc32c(i * 77, buf, i));
}

/* ---- superblock ----------------------------------------------------------------- */

#define SB	1024

/* image of 8 KiB with a plain superblock */
static u8 img[8192];

static void sb_reset(u32 blkszbits)
{
	memset(img, 0, sizeof(img));
	put32(img + SB, EROFS_SUPER_MAGIC);
	img[SB + 12] = (u8)blkszbits;
	put16(img + SB + 14, 36);
	put32(img + SB + 36, 77);
}

static struct erofs_super s;
static struct erofs_fault f;

static int sb_decode(void)
{
	memset(&s, 0xa5, sizeof(s));
	memset(&f, 0, sizeof(f));
	return erofs_super_decode(img + SB, 4096 - SB, 12, &s, &f);
}

static void test_golden_super(void)
{
	static const u8 uuid[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
				     0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };

	golden_image(img);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.blkszbits, 12);
	CHECK_EQ(s.blksz, 4096);
	CHECK_EQ(s.sb_size, 128);
	CHECK_EQ(s.feature_compat, 3);
	CHECK_EQ(s.feature_incompat, 0);
	CHECK_EQ(s.root_nid, 36);
	CHECK_EQ(s.inos, 5);
	CHECK_EQ(s.blocks, 1);
	CHECK_EQ(s.epoch, 1700000000);
	CHECK_EQ(s.build_time, 1700000000);
	CHECK_EQ(s.fixed_nsec, 0);
	CHECK_EQ(s.meta_blkaddr, 0);
	CHECK_EQ(s.xattr_blkaddr, 0);
	CHECK(!memcmp(s.uuid, uuid, 16));
	CHECK_EQ(s.label[0], 0);
	CHECK_EQ(s.extra_devices, 0);
	CHECK_EQ(s.device_id_mask, 0);
	CHECK_EQ(s.ishare_prefix, -1);
	CHECK_EQ(s.algs, 1);
	CHECK(!s.xattr_filter && !erofs_has_metabox(&s));

	/* any flipped bit of the block is noticed */
	img[4095] ^= 1;
	CHECK_EQ(sb_decode(), -EBADMSG);
	img[4095] ^= 1;
	img[SB + 4] ^= 0x80;
	CHECK_EQ(sb_decode(), -EBADMSG);
	img[SB + 4] ^= 0x80;
	img[SB + 100] ^= 1;
	CHECK_EQ(sb_decode(), -EBADMSG);
	img[SB + 100] ^= 1;
	CHECK_EQ(sb_decode(), 0);
	/* the block isn't all there */
	CHECK_EQ(erofs_super_decode(img + SB, 3071, 12, &s, &f), -EINVAL);
}

/* the region that each block size has, with extension slots */
static void test_checksum(void)
{
	static const u32 covered[4] = { 512, 1024, 1024, 3072 };
	u32 bits, i;

	for (bits = 9; bits <= 12; bits++) {
		u32 n = covered[bits - 9];
		u32 ext;

		for (ext = 0; ext <= 20; ext += 10) {
			sb_reset(bits);
			for (i = 128; i < 4000; i++)
				img[SB + i] = (u8)(i * 5);
			img[SB + 13] = (u8)ext;
			put32(img + SB + 8, EROFS_FEATURE_COMPAT_SB_CHKSUM);
			put32(img + SB + 4, slow_crc32c(~0u, img + SB, n));
			CHECK_EQ(sb_decode(), 0);
			CHECK_EQ(s.sb_size, 128 + 16 * ext);
			img[SB + n] ^= 0xff;
			CHECK_EQ(sb_decode(), 0);
			img[SB + n - 1] ^= 0x10;
			CHECK_EQ(sb_decode(), -EBADMSG);
			img[SB + n - 1] ^= 0x10;
			img[SB + 140] ^= 0x10;
			CHECK_EQ(sb_decode(), -EBADMSG);
			img[SB + 140] ^= 0x10;
			/* short device: enough, and one byte less */
			CHECK_EQ(erofs_super_decode(img + SB, n, 12, &s, &f), 0);
			CHECK_EQ(erofs_super_decode(img + SB, n - 1, 12, &s, &f), -EINVAL);
		}
	}
}

static void test_super_errors(void)
{
	u32 i;

	/* 1: magic */
	sb_reset(12);
	CHECK_EQ(sb_decode(), 0);
	img[SB] ^= 1;
	CHECK_EQ(sb_decode(), -EINVAL);
	CHECK(f.what);

	/* 2: too short; ASan watches the buffer */
	sb_reset(12);
	for (i = 0; i < 128; i += 127) {
		u8 *few = malloc(i ? i : 1);

		memcpy(few, img + SB, i);
		CHECK_EQ(erofs_super_decode(few, i, 12, &s, &f), -EINVAL);
		free(few);
	}
	CHECK_EQ(erofs_super_decode(img + SB, 128, 12, &s, &f), 0);
	img[SB + 13] = 1;
	CHECK_EQ(erofs_super_decode(img + SB, 128, 12, &s, &f), -EINVAL);
	CHECK_EQ(erofs_super_decode(img + SB, 143, 12, &s, &f), -EINVAL);
	CHECK_EQ(erofs_super_decode(img + SB, 144, 12, &s, &f), 0);

	/* 3: block sizes */
	for (i = 0; i < 256; i++) {
		sb_reset(i);
		CHECK_EQ(sb_decode(), i >= 9 && i <= 12 ? 0 : -EINVAL);
	}
	sb_reset(12);
	CHECK_EQ(erofs_super_decode(img + SB, 3072, 11, &s, &f), -EINVAL);

	/* 4: without the feature the checksum means nothing */
	sb_reset(12);
	put32(img + SB + 4, 0x12345678);
	CHECK_EQ(sb_decode(), 0);
	put32(img + SB + 8, EROFS_FEATURE_COMPAT_SB_CHKSUM);
	CHECK_EQ(sb_decode(), -EBADMSG);

	/* 5, 6: unknown features */
	for (i = 0; i < 32; i++) {
		sb_reset(12);
		img[SB + 13] = 1;
		put32(img + SB + 80, 1u << i);
		CHECK_EQ(sb_decode(), i < 9 ? 0 : -EINVAL);
		if (i >= 9)
			CHECK_EQ(f.value, 1u << i);
		sb_reset(12);
		put32(img + SB + 8, (1u << i) & ~0x21u);
		CHECK_EQ(sb_decode(), 0);
	}
	sb_reset(12);
	put32(img + SB + 80, 0xc00001ff);
	img[SB + 13] = 1;
	CHECK_EQ(sb_decode(), -EINVAL);
	CHECK_EQ(f.value, 0xc0000000);
	CHECK(!strcmp(f.what, "unknown incompatible features"));

	/* 7 */
	sb_reset(12);
	img[SB + 90] = 1;
	CHECK_EQ(sb_decode(), -EINVAL);

	/* 8 */
	sb_reset(12);
	img[SB + 13] = 184;
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.sb_size, 3072);
	img[SB + 13] = 185;
	CHECK_EQ(sb_decode(), -EINVAL);
	img[SB + 13] = 255;
	CHECK_EQ(sb_decode(), -EINVAL);

	/* 9, 10: metabox and packed nid */
	sb_reset(12);
	put32(img + SB + 80, EROFS_FEATURE_INCOMPAT_METABOX);
	CHECK_EQ(sb_decode(), -EFSCORRUPTED);
	img[SB + 13] = 1;
	put64(img + SB + 128, 0x123456789abcdef);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.metabox_nid, 0x123456789abcdef);
	put64(img + SB + 128, EROFS_NID_METABOX | 5);
	CHECK_EQ(sb_decode(), -EFSCORRUPTED);
	sb_reset(12);
	put64(img + SB + 96, EROFS_NID_METABOX | 5);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.packed_nid, 0);
	put32(img + SB + 80, EROFS_FEATURE_INCOMPAT_FRAGMENTS);
	CHECK_EQ(sb_decode(), -EFSCORRUPTED);
	put64(img + SB + 96, 5);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.packed_nid, 5);

	/* 14: algorithms */
	sb_reset(12);
	put16(img + SB + 84, 0x10);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.algs, 1);
	CHECK_EQ(s.lz4_max_distance, 0x10);
	put32(img + SB + 80, EROFS_FEATURE_INCOMPAT_COMPR_CFGS);
	CHECK_EQ(sb_decode(), -EOPNOTSUPP);
	put16(img + SB + 84, 0x8000);
	CHECK_EQ(sb_decode(), -EOPNOTSUPP);
	put16(img + SB + 84, 0x000f);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.algs, 15);
	put16(img + SB + 84, 0);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.algs, 0);

	/* 22: fingerprint prefix */
	sb_reset(12);
	put32(img + SB + 8, EROFS_FEATURE_COMPAT_ISHARE_XATTRS);
	CHECK_EQ(sb_decode(), -EFSCORRUPTED);
	img[SB + 91] = 200;
	img[SB + 105] = 199;
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.ishare_prefix, 199);
	img[SB + 105] = 200;
	CHECK_EQ(sb_decode(), -EFSCORRUPTED);
	put32(img + SB + 8, 0);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.ishare_prefix, -1);

	/* 23: label */
	sb_reset(12);
	memcpy(img + SB + 64, "0123456789abcdef", 16);
	CHECK_EQ(sb_decode(), 0);
	CHECK(!strcmp(s.label, "0123456789abcdef"));
	memcpy(img + SB + 64, "short\0\0\0\0\0\0\0\0\0\0\0", 16);
	CHECK_EQ(sb_decode(), 0);
	CHECK(!strcmp(s.label, "short"));

	/* 24: statistics */
	sb_reset(12);
	put64(img + SB + 16, U64_MAX);
	put32(img + SB + 36, U32_MAX);
	CHECK_EQ(sb_decode(), 0);
	CHECK(s.inos == U64_MAX && s.blocks == U32_MAX);

	/* a NULL fault is fine */
	img[SB] = 0;
	CHECK_EQ(erofs_super_decode(img + SB, 3072, 12, &s, NULL), -EINVAL);
}

static void test_super_fields(void)
{
	u32 i;

	/* the two root nid forms */
	sb_reset(12);
	put16(img + SB + 14, 0xfffe);
	put64(img + SB + 112, 0x1122334455667788);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.root_nid, 0xfffe);
	CHECK_EQ(s.blocks, 77);
	put32(img + SB + 80, EROFS_FEATURE_INCOMPAT_48BIT);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.root_nid, 0x1122334455667788);
	CHECK_EQ(s.blocks, 0xfffe0000004d);
	put64(img + SB + 112, EROFS_NID_METABOX);
	CHECK_EQ(sb_decode(), 0);
	CHECK(s.root_nid == EROFS_NID_METABOX);
	put64(img + SB + 112, 0);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.root_nid, 0xfffe);
	CHECK_EQ(s.blocks, 77);

	/* times: any epoch, no trap, clamped nanoseconds */
	sb_reset(12);
	put64(img + SB + 24, (u64)-5);
	put32(img + SB + 108, 7);
	put32(img + SB + 32, 999999999);
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.epoch, -5);
	CHECK_EQ(s.build_time, 2);
	CHECK_EQ(s.fixed_nsec, 999999999);
	put64(img + SB + 24, S64_MAX);
	put32(img + SB + 32, U32_MAX);
	CHECK_EQ(sb_decode(), 0);
	CHECK(s.fixed_nsec < 1000000000);

	/* device id mask by number of devices */
	for (i = 0; i <= 65535; i += i < 300 ? 1 : 251) {
		u32 mask = 0;

		while (mask < i)
			mask = mask * 2 + 1;
		sb_reset(12);
		put16(img + SB + 86, i);
		put16(img + SB + 88, 0xffff);
		if (sb_decode() || s.extra_devices || s.device_id_mask)
			CHECK(!"devices without the feature");
		put32(img + SB + 80, EROFS_FEATURE_INCOMPAT_DEVICE_TABLE);
		CHECK_EQ(sb_decode(), 0);
		CHECK_EQ(s.extra_devices, i);
		CHECK_EQ(s.device_id_mask, mask);
		CHECK_EQ(s.devt_pos, 0xffffull * 128);
	}

	/* filter usable only with a zero reserved byte */
	sb_reset(12);
	put32(img + SB + 8, EROFS_FEATURE_COMPAT_XATTR_FILTER);
	CHECK_EQ(sb_decode(), 0);
	CHECK(s.xattr_filter);
	img[SB + 104] = 1;
	CHECK_EQ(sb_decode(), 0);
	CHECK(!s.xattr_filter);

	sb_reset(12);
	put32(img + SB + 40, 0xfffffff0);
	put32(img + SB + 44, 0xfffffff1);
	put32(img + SB + 92, 0xffffffff);
	img[SB + 91] = 3;
	CHECK_EQ(sb_decode(), 0);
	CHECK_EQ(s.meta_blkaddr, 0xfffffff0);
	CHECK_EQ(s.xattr_blkaddr, 0xfffffff1);
	CHECK_EQ(s.xattr_prefix_pos, 0xffffffffull * 4);
	CHECK_EQ(s.xattr_prefix_count, 3);

	/* LZ4 of images without configuration records */
	sb_reset(12);
	CHECK_EQ(sb_decode(), 0);
	CHECK(s.lz4_left_aligned);
	CHECK_EQ(s.algs, 1);
	CHECK_EQ(s.lz4_max_distance, 65535);
	CHECK_EQ(s.lz4_max_pclusterblks, 1);
	put32(img + SB + 80, EROFS_FEATURE_INCOMPAT_LZ4_0PADDING);
	CHECK_EQ(sb_decode(), 0);
	CHECK(!s.lz4_left_aligned);
}

/* ---- compression configurations --------------------------------------------------- */

static int cfg_run(u64 size)
{
	struct memimg mi;
	int err;

	err = sb_decode();
	if (err)
		return err;
	memimg_init(&mi, img, size, s.blksz);
	err = erofs_super_decode_cfgs(&s, &mi.m);
	if (err)
		CHECK(mi.m.fault.what);
	memimg_exit(&mi);
	return err;
}

/* append a record at *@pos */
static void cfg_put(u32 *pos, const void *data, u32 len)
{
	*pos = (*pos + 3) & ~3u;
	put16(img + *pos, len);
	memcpy(img + *pos + 2, data, len);
	*pos += 2 + len;
}

static void cfg_reset(u32 algs)
{
	sb_reset(12);
	put32(img + SB + 80, EROFS_FEATURE_INCOMPAT_COMPR_CFGS);
	put16(img + SB + 84, algs);
}

static const u8 cfg_lz4[14] = { 0xff, 0xff, 0x10, 0 };
static const u8 cfg_lzma[14] = { 0, 0, 4, 0 };
static const u8 cfg_deflate[6] = { 15 };
static const u8 cfg_zstd[6] = { 0, 9 };

/* one record of algorithm @alg with payload @data */
static int cfg_one(u32 alg, const void *data, u32 len)
{
	u32 pos = SB + 128;

	cfg_reset(1u << alg);
	cfg_put(&pos, data, len);
	return cfg_run(sizeof(img));
}

static void test_cfgs(void)
{
	u8 c[32];
	u32 pos, bits;

	/* all four, with the payloads that writers produce */
	cfg_reset(15);
	pos = SB + 128;
	cfg_put(&pos, cfg_lz4, 14);
	cfg_put(&pos, cfg_lzma, 14);
	cfg_put(&pos, cfg_deflate, 6);
	cfg_put(&pos, cfg_zstd, 6);
	CHECK_EQ(cfg_run(sizeof(img)), 0);
	CHECK_EQ(s.lz4_max_distance, 65535);
	CHECK_EQ(s.lz4_max_pclusterblks, 16);
	CHECK_EQ(s.lzma_dict_size, 256 * 1024);
	CHECK_EQ(s.zstd_windowlog, 19);
	/* with the space ending behind the last record, and one byte earlier */
	CHECK_EQ(cfg_run(pos), 0);
	CHECK_EQ(cfg_run(pos - 1), -EINVAL);

	/* records of any later version are longer; odd lengths, extension slots */
	cfg_reset(0xe);
	img[SB + 13] = 2;
	pos = SB + 160;
	memset(c, 0xee, sizeof(c));
	memcpy(c, cfg_lzma, 14);
	cfg_put(&pos, c, 21);
	memcpy(c, cfg_deflate, 6);
	cfg_put(&pos, c, 7);
	memcpy(c, cfg_zstd, 6);
	cfg_put(&pos, c, 9);
	CHECK_EQ(cfg_run(sizeof(img)), 0);
	CHECK_EQ(s.lzma_dict_size, 256 * 1024);
	CHECK_EQ(s.zstd_windowlog, 19);

	/* across a block boundary: 512-byte blocks, record at the end of a block */
	cfg_reset(3);
	img[SB + 12] = 9;
	pos = SB + 128;
	memset(c, 0, sizeof(c));
	memcpy(c, cfg_lz4, 14);
	cfg_put(&pos, c, 14);
	put16(img + SB + 128, 372);	/* next record at 1024 + 504 */
	pos = SB + 504;
	cfg_put(&pos, cfg_lzma, 14);
	CHECK_EQ(cfg_run(sizeof(img)), 0);
	CHECK_EQ(s.lzma_dict_size, 256 * 1024);

	/* length 0 is 65536: further than this device, but not than a larger one */
	cfg_reset(9);
	memcpy(img + SB + 130, cfg_lz4, 14);
	CHECK_EQ(cfg_run(sizeof(img)), -EINVAL);
	{
		u8 *large = calloc(1, 70000);
		struct memimg mi;

		memcpy(large, img, sizeof(img));
		put16(large + SB + 128 + 2 + 65536 + 2, 6);
		memcpy(large + SB + 128 + 2 + 65536 + 4, cfg_zstd, 6);
		CHECK_EQ(sb_decode(), 0);
		memimg_init(&mi, large, 70000, s.blksz);
		CHECK_EQ(erofs_super_decode_cfgs(&s, &mi.m), 0);
		CHECK_EQ(s.zstd_windowlog, 19);
		CHECK_EQ(s.lz4_max_pclusterblks, 16);
		memimg_exit(&mi);
		free(large);
	}
	/* no room for the length itself */
	cfg_reset(1);
	CHECK_EQ(cfg_run(SB + 128), -EINVAL);
	CHECK_EQ(cfg_run(SB + 129), -EINVAL);

	/* 15: too short */
	CHECK_EQ(cfg_one(0, cfg_lz4, 14), 0);
	CHECK_EQ(cfg_one(0, cfg_lz4, 13), -EINVAL);
	CHECK_EQ(cfg_one(1, cfg_lzma, 13), -EINVAL);
	CHECK_EQ(cfg_one(2, cfg_deflate, 5), -EINVAL);
	CHECK_EQ(cfg_one(3, cfg_zstd, 5), -EINVAL);

	/* 16: values */
	for (bits = 9; bits <= 12; bits++) {
		u32 max = (1024 * 1024) >> bits;

		for (pos = max; pos <= max + 1; pos++) {
			u32 at = SB + 128;

			cfg_reset(1);
			img[SB + 12] = (u8)bits;
			memset(c, 0, sizeof(c));
			put16(c + 2, pos);
			cfg_put(&at, c, 14);
			CHECK_EQ(cfg_run(sizeof(img)), pos > max ? -EINVAL : 0);
			if (pos == max) {
				CHECK_EQ(s.lz4_max_pclusterblks, max);
				CHECK_EQ(s.lz4_max_distance, 65535);
			}
		}
	}
	memset(c, 0, sizeof(c));
	CHECK_EQ(cfg_one(0, c, 14), 0);
	CHECK_EQ(s.lz4_max_pclusterblks, 1);
	put16(c + 2, 65535);
	CHECK_EQ(cfg_one(0, c, 14), -EINVAL);

	memset(c, 0, sizeof(c));
	CHECK_EQ(cfg_one(1, c, 14), -EINVAL);
	put32(c, 4095);
	CHECK_EQ(cfg_one(1, c, 14), -EINVAL);
	put32(c, 4096);
	CHECK_EQ(cfg_one(1, c, 14), 0);
	put32(c, 8 << 20);
	CHECK_EQ(cfg_one(1, c, 14), 0);
	CHECK_EQ(s.lzma_dict_size, 8 << 20);
	put32(c, (8 << 20) + 1);
	CHECK_EQ(cfg_one(1, c, 14), -EINVAL);
	put32(c, U32_MAX);
	CHECK_EQ(cfg_one(1, c, 14), -EINVAL);
	put32(c, 65536);
	put16(c + 4, 1);
	CHECK_EQ(cfg_one(1, c, 14), -EINVAL);

	memset(c, 0, sizeof(c));
	CHECK_EQ(cfg_one(2, c, 6), 0);
	c[0] = 16;
	CHECK_EQ(cfg_one(2, c, 6), -EOPNOTSUPP);
	c[0] = 200;
	CHECK_EQ(cfg_one(2, c, 6), -EOPNOTSUPP);

	memset(c, 0, sizeof(c));
	CHECK_EQ(cfg_one(3, c, 6), 0);
	CHECK_EQ(s.zstd_windowlog, 10);
	c[1] = 10;
	CHECK_EQ(cfg_one(3, c, 6), 0);
	CHECK_EQ(s.zstd_windowlog, 20);
	c[1] = 11;
	CHECK_EQ(cfg_one(3, c, 6), -EINVAL);
	c[1] = 255;
	CHECK_EQ(cfg_one(3, c, 6), -EINVAL);
	c[1] = 5;
	c[0] = 1;
	CHECK_EQ(cfg_one(3, c, 6), -EINVAL);

	/* without the feature nothing is read, garbage or not */
	sb_reset(12);
	memset(img + SB + 128, 0xff, 64);
	CHECK_EQ(cfg_run(sizeof(img)), 0);
	CHECK_EQ(s.algs, 1);
	/* no algorithms: no records */
	cfg_reset(0);
	memset(img + SB + 128, 0xff, 64);
	CHECK_EQ(cfg_run(sizeof(img)), 0);
	CHECK_EQ(s.algs, 0);
}

/* ---- devices ---------------------------------------------------------------------- */

static void test_devices(void)
{
	struct erofs_device_desc d;
	struct memimg mi;
	u8 *slot = img + 128 * 40;

	sb_reset(9);
	put32(img + SB + 80, EROFS_FEATURE_INCOMPAT_DEVICE_TABLE);
	put16(img + SB + 86, 65535);
	put16(img + SB + 88, 39);
	CHECK_EQ(sb_decode(), 0);
	memset(slot, 'T', 64);		/* 19: no terminator */
	put32(slot + 64, 0xfffffff1);
	put32(slot + 68, 0xfffffff2);
	put16(slot + 72, 0xabcd);
	put16(slot + 74, 0xef01);

	memimg_init(&mi, img, sizeof(img), s.blksz);
	CHECK_EQ(erofs_device_decode(&s, &mi.m, 1, &d), 0);
	CHECK_EQ(strlen(d.tag), 64);
	CHECK_EQ(d.blocks, 0xfffffff1);
	CHECK_EQ(d.uniaddr, 0xfffffff2);
	s.feature_incompat |= EROFS_FEATURE_INCOMPAT_48BIT;
	CHECK_EQ(erofs_device_decode(&s, &mi.m, 1, &d), 0);
	CHECK_EQ(d.blocks, 0xabcdfffffff1);
	CHECK_EQ(d.uniaddr, 0xef01fffffff2);
	CHECK_EQ(erofs_device_decode(&s, &mi.m, 0, &d), 0);
	CHECK(!d.tag[0] && !d.blocks && !d.uniaddr);

	/* 17: the table leaves the image (64 slots of 128 fit) */
	CHECK_EQ(erofs_device_decode(&s, &mi.m, 63 - 39, &d), 0);
	CHECK_EQ(erofs_device_decode(&s, &mi.m, 64 - 39, &d), -EFSCORRUPTED);
	CHECK_EQ(erofs_device_decode(&s, &mi.m, 65534, &d), -EFSCORRUPTED);
	memimg_exit(&mi);
}

/* ---- inodes ----------------------------------------------------------------------- */

static void test_nids(void)
{
	u64 pos = 1;

	sb_reset(12);
	CHECK_EQ(sb_decode(), 0);
	s.meta_blkaddr = 3;
	CHECK_EQ(erofs_nid_pos(&s, 36, &pos, &f), 0);
	CHECK_EQ(pos, 3 * 4096 + 36 * 32);
	CHECK_EQ(erofs_nid_pos(&s, 0, &pos, &f), 0);
	CHECK_EQ(pos, 3 * 4096);
	s.meta_blkaddr = U32_MAX;
	CHECK_EQ(erofs_nid_pos(&s, 1, &pos, &f), 0);
	CHECK_EQ(pos, 0xffffffffull * 4096 + 32);
	/* 11: 32 * nid overflows */
	CHECK_EQ(erofs_nid_pos(&s, 1ULL << 59, &pos, &f), -EFSCORRUPTED);
	CHECK_EQ(erofs_nid_pos(&s, (1ULL << 63) - 1, &pos, &f), -EFSCORRUPTED);
	/* 30: no metabox */
	CHECK_EQ(erofs_nid_pos(&s, EROFS_NID_METABOX, &pos, &f), -EFSCORRUPTED);
	s.feature_incompat |= EROFS_FEATURE_INCOMPAT_METABOX;
	CHECK_EQ(erofs_nid_pos(&s, EROFS_NID_METABOX, &pos, &f), 0);
	CHECK_EQ(pos, 0);
	CHECK_EQ(erofs_nid_pos(&s, EROFS_NID_METABOX | 7, &pos, &f), 0);
	CHECK_EQ(pos, 7 * 32);
	CHECK_EQ(erofs_nid_pos(&s, U64_MAX, &pos, &f), -EFSCORRUPTED);
}

static void test_golden_inodes(void)
{
	struct erofs_inode_desc d;
	struct memimg mi;

	golden_image(img);
	CHECK_EQ(sb_decode(), 0);
	memimg_init(&mi, img, GOLDEN_SIZE, s.blksz);

	CHECK_EQ(erofs_inode_decode(&s, &mi.m, s.root_nid, &d), 0);
	CHECK_EQ(d.mode, S_IFDIR | 0755);
	CHECK_EQ(d.nlink, 3);
	CHECK_EQ(d.size, 0x69);
	CHECK_EQ(d.layout, EROFS_INODE_FLAT_INLINE);
	CHECK_EQ(d.iloc, 0x480);
	CHECK_EQ(d.body, 0x4a0);
	CHECK_EQ(d.isize, 32);
	CHECK_EQ(d.xattr_isize, 0);
	CHECK_EQ(d.mtime, 1700000000);
	CHECK_EQ(d.mtime_nsec, 0);
	CHECK_EQ(d.uid, 0);
	CHECK_EQ(d.gid, 0);
	CHECK_EQ(d.nid, 36);
	CHECK(!d.dot_omitted && !d.in_metabox);

	/* 17.5: the device number */
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 0x29, &d), 0);
	CHECK_EQ(d.mode, S_IFCHR | 0644);
	CHECK_EQ(d.rdev, 0xabcfffde);
	CHECK_EQ(d.rdev >> 8 & 0xfff, 4095);
	CHECK_EQ((d.rdev & 0xff) | (d.rdev >> 12 & 0xfff00), 0xabcde);

	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 0x2d, &d), 0);
	CHECK_EQ(d.mode, S_IFREG | 0644);
	CHECK_EQ(d.nlink, 2);
	CHECK_EQ(d.xattr_isize, 32);
	CHECK_EQ(d.body, 0x5e0);
	CHECK_EQ(d.size, 17);

	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 0x30, &d), 0);
	CHECK_EQ(d.mode, S_IFLNK | 0777);
	CHECK_EQ(d.size, 4);

	/* 11: outside the device */
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 127, &d), -EFSCORRUPTED);	/* mode 0 */
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 128, &d), -EFSCORRUPTED);
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, (1ULL << 59) - 1, &d), -EFSCORRUPTED);
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, U64_MAX, &d), -EFSCORRUPTED);
	memimg_exit(&mi);
}

static struct erofs_inode_desc d;
static u8 *const in = img + 4096;	/* inode at nid 128 */

static int ino_decode(void)
{
	struct memimg mi;
	int err;

	memset(&d, 0xa5, sizeof(d));
	memimg_init(&mi, img, sizeof(img), s.blksz);
	err = erofs_inode_decode(&s, &mi.m, 128, &d);
	if (err)
		CHECK(mi.m.fault.what);
	else
		CHECK_EQ(mi.maps, 1);
	memimg_exit(&mi);
	return err;
}

static void ino_reset(bool extended, u32 layout, u32 mode)
{
	memset(in, 0, 64);
	put16(in, (extended ? 1 : 0) | layout << 1);
	put16(in + 4, mode);
}

static void test_inode_fields(void)
{
	static const u16 types[] = { S_IFREG, S_IFDIR, S_IFLNK, S_IFCHR, S_IFBLK, S_IFIFO,
				     S_IFSOCK };
	u32 i;

	sb_reset(12);
	CHECK_EQ(sb_decode(), 0);
	s.epoch = 1000;
	s.fixed_nsec = 42;

	/* compact */
	ino_reset(false, 0, S_IFREG | 04711);
	put16(in + 2, 5);
	put16(in + 6, 0xfffe);
	put32(in + 8, 0xfffffff0);
	put32(in + 12, 17);
	put32(in + 16, 0x80000001);
	put32(in + 20, 99);
	put16(in + 24, 0xfff1);
	put16(in + 26, 0xfff2);
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.mode, S_IFREG | 04711);
	CHECK_EQ(d.xattr_isize, 12 + 4 * 4);
	CHECK_EQ(d.nlink, 0xfffe);
	CHECK_EQ(d.size, 0xfffffff0);
	CHECK_EQ(d.mtime, 1017);
	CHECK_EQ(d.mtime_nsec, 42);
	CHECK_EQ(d.startblk, 0x80000001);
	CHECK_EQ(d.uid, 0xfff1);
	CHECK_EQ(d.gid, 0xfff2);
	CHECK_EQ(d.isize, 32);
	CHECK_EQ(d.body, 4096 + 32 + 28);
	CHECK_EQ(d.cblks, 0);
	CHECK_EQ(d.rdev, 0);

	/* NLINK_1: the count gives way to address bits */
	in[0] |= EROFS_I_NLINK_1;
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.nlink, 1);
	CHECK_EQ(d.startblk, 0xfffe80000001);
	CHECK(!d.dot_omitted);

	/* the same bit of a directory */
	put16(in + 4, S_IFDIR | 0755);
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.nlink, 0xfffe);
	CHECK_EQ(d.startblk, 0x80000001);
	CHECK(d.dot_omitted);

	/* extended */
	ino_reset(true, 0, S_IFREG | 0600);
	put16(in + 2, 0xffff);
	put16(in + 6, 0x1234);
	put64(in + 8, 0x7fffffffffffffff);
	put32(in + 16, 0x56789abc);
	put32(in + 24, 0xffffffff);
	put32(in + 28, 0xfffffffe);
	put64(in + 32, (u64)-3);
	put32(in + 40, 999999998);
	put32(in + 44, 0xdeadbeef);
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.isize, 64);
	CHECK_EQ(d.xattr_isize, 12 + 4 * 65534);
	CHECK_EQ(d.body, 4096 + 64 + 12 + 4 * 65534);
	CHECK_EQ(d.size, S64_MAX);
	CHECK_EQ(d.startblk, 0x123456789abc);
	CHECK_EQ(d.uid, 0xffffffff);
	CHECK_EQ(d.gid, 0xfffffffe);
	CHECK_EQ(d.mtime, -3);
	CHECK_EQ(d.mtime_nsec, 999999998);
	CHECK_EQ(d.nlink, 0xdeadbeef);
	/* bit 4 has no meaning here, except for directories */
	in[0] |= 0x10;
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.nlink, 0xdeadbeef);
	CHECK_EQ(d.startblk, 0x123456789abc);
	CHECK(!d.dot_omitted);
	put16(in + 4, S_IFDIR | 0700);
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.startblk, 0x123456789abc);
	CHECK(d.dot_omitted);
	/* 32: nsec */
	put32(in + 40, 1000000000);
	CHECK_EQ(ino_decode(), 0);
	CHECK(d.mtime_nsec < 1000000000);
	put32(in + 40, U32_MAX);
	put32(in + 44, 0);
	CHECK_EQ(ino_decode(), 0);
	CHECK(d.mtime_nsec < 1000000000);
	CHECK_EQ(d.nlink, 0);
	/* 27: size */
	put64(in + 8, 1ULL << 63);
	CHECK_EQ(ino_decode(), -EFSCORRUPTED);

	/* times wrap, they don't trap */
	s.epoch = S64_MAX;
	ino_reset(false, 0, S_IFREG);
	put32(in + 12, 1);
	CHECK_EQ(ino_decode(), 0);

	/* holes: 32 bits of ones, or 48 where there are 48 */
	ino_reset(false, 0, S_IFREG);
	put32(in + 16, U32_MAX);
	put16(in + 6, 1);
	CHECK_EQ(ino_decode(), 0);
	CHECK(d.startblk == EROFS_NULL_BLK);
	in[0] |= EROFS_I_NLINK_1;
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.startblk, 0x1ffffffff);
	put16(in + 6, 0xffff);
	CHECK_EQ(ino_decode(), 0);
	CHECK(d.startblk == EROFS_NULL_BLK);
	ino_reset(true, 0, S_IFREG);
	put32(in + 16, U32_MAX);
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.startblk, U32_MAX);
	put16(in + 6, 0xffff);
	CHECK_EQ(ino_decode(), 0);
	CHECK(d.startblk == EROFS_NULL_BLK);
	/* not with an inline tail */
	ino_reset(false, 2, S_IFREG);
	put32(in + 16, U32_MAX);
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.startblk, U32_MAX);

	/* compressed: blocks */
	ino_reset(false, 1, S_IFREG);
	put32(in + 16, 7);
	put16(in + 6, 3);
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.cblks, 7);
	CHECK_EQ(d.nlink, 3);
	ino_reset(true, 3, S_IFREG);
	put32(in + 16, 7);
	put16(in + 6, 3);
	CHECK_EQ(ino_decode(), 0);
	CHECK_EQ(d.cblks, 0x300000007);
	CHECK(d.startblk == EROFS_NULL_BLK);
	/* 33 */
	s.algs = 0;
	CHECK_EQ(ino_decode(), -EFSCORRUPTED);
	put16(in + 4, S_IFDIR);
	CHECK_EQ(ino_decode(), -EFSCORRUPTED);
	put16(in + 4, S_IFIFO);
	CHECK_EQ(ino_decode(), 0);

	/* chunks */
	ino_reset(false, 4, S_IFREG);
	for (i = 0; i < 65536; i++) {
		put16(in + 16, i);
		put16(in + 18, 0xffff);
		if (i >= 128 && (i & (i - 1)))
			continue;
		CHECK_EQ(ino_decode(), i < 128 ? 0 : -EOPNOTSUPP);	/* 36 */
		if (i < 128) {
			CHECK_EQ(d.chunk_format, i);
			CHECK_EQ(d.chunk_bits, 12 + (i & 31));
		}
	}

	/* 26: types */
	for (i = 0; i < 16; i++) {
		bool known = false;
		u32 k;

		for (k = 0; k < ARRAY_SIZE(types); k++)
			known |= types[k] == i << 12;
		ino_reset(false, 0, i << 12 | 07777);
		put32(in + 16, 0x1234);
		CHECK_EQ(ino_decode(), known ? 0 : -EFSCORRUPTED);
		if (!known)
			continue;
		CHECK_EQ(d.rdev, i << 12 == S_IFCHR || i << 12 == S_IFBLK ? 0x1234 : 0);
		CHECK(d.startblk == 0x1234 || i << 12 == S_IFCHR || i << 12 == S_IFBLK ||
		      i << 12 == S_IFIFO || i << 12 == S_IFSOCK);
	}

	/* 25: format bits */
	for (i = 0; i < 65536; i++) {
		bool bad = i >= 32 || (i >> 1 & 7) > 4;

		if (i > 64 && (i & (i - 1)))
			continue;
		ino_reset(false, 0, S_IFREG);
		s.algs = 1;
		put16(in, i);
		CHECK_EQ(ino_decode(), bad ? -EOPNOTSUPP : 0);
		if (!bad)
			CHECK_EQ(d.layout, i >> 1 & 7);
	}
}

/* an extended inode over a block boundary, and over the end */
static void test_inode_places(void)
{
	struct memimg mi;

	sb_reset(9);
	CHECK_EQ(sb_decode(), 0);
	memset(img + 4096 + 480, 0, 64);
	put16(img + 4096 + 480, 1);
	put16(img + 4096 + 484, S_IFREG);
	put32(img + 4096 + 480 + 44, 5);

	memimg_init(&mi, img, sizeof(img), s.blksz);
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 128 + 15, &d), 0);
	CHECK_EQ(d.nlink, 5);
	CHECK_EQ(mi.maps, 2);
	/* a failing second block */
	memimg_drop(&mi);
	mi.fail_at = mi.maps + 2;
	mi.fail_err = -EIO;
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 128 + 15, &d), -EIO);
	memimg_exit(&mi);

	/* 29: the second half is not there */
	memimg_init(&mi, img, 4096 + 512, s.blksz);
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 128 + 15, &d), -EFSCORRUPTED);
	memimg_exit(&mi);
	memimg_init(&mi, img, 4096 + 512 + 31, s.blksz);
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 128 + 15, &d), -EFSCORRUPTED);
	memimg_exit(&mi);
	memimg_init(&mi, img, 4096 + 512 + 32, s.blksz);
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 128 + 15, &d), 0);
	memimg_exit(&mi);

	/* in the metabox, nid 0 counts from its start */
	s.feature_incompat |= EROFS_FEATURE_INCOMPAT_METABOX;
	s.meta_blkaddr = 12345;
	memimg_init(&mi, img + 4096 + 480, 64, s.blksz);
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, EROFS_NID_METABOX, &d), 0);
	CHECK(d.in_metabox && d.iloc == 0 && d.nid == EROFS_NID_METABOX);
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, EROFS_NID_METABOX | 1, &d), -EFSCORRUPTED);
	memimg_exit(&mi);
}

/* 86: whatever changes between two looks, the outcome is a valid one */
static void test_noise(void)
{
	u32 seed;

	for (seed = 1; seed < 3000; seed++) {
		struct erofs_device_desc dev;
		struct memimg mi;

		cfg_reset(15);
		CHECK_EQ(sb_decode(), 0);
		memset(img + 4096 + 480, 0, 64);
		put16(img + 4096 + 480, 1);
		put16(img + 4096 + 484, S_IFREG);
		s.blkszbits = 9;
		s.blksz = 512;
		memimg_init_noisy(&mi, img, sizeof(img), 512, seed);
		if (!erofs_inode_decode(&s, &mi.m, 128 + 15, &d) &&
		    (d.size >> 63 || d.mtime_nsec > 999999999 || d.layout > 4))
			CHECK(!"invalid inode accepted");
		if (!erofs_super_decode_cfgs(&s, &mi.m) &&
		    (s.lz4_max_pclusterblks << 9 > 1 << 20 || s.zstd_windowlog > 20 ||
		     s.lzma_dict_size > 8 << 20))
			CHECK(!"invalid configuration accepted");
		CHECK_EQ(erofs_device_decode(&s, &mi.m, 3, &dev), 0);
		CHECK_EQ(dev.tag[64], 0);
		memimg_exit(&mi);
	}
}

int main(void)
{
	test_window();
	test_crc32c();
	test_golden_super();
	test_checksum();
	test_super_errors();
	test_super_fields();
	test_cfgs();
	test_devices();
	test_nids();
	test_golden_inodes();
	test_inode_fields();
	test_inode_places();
	test_noise();
	return check_done();
}
