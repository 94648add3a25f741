/* links: ondisk.c xattr_core.c */
/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a mount decodes: superblock, configurations, device slots, prefixes.
 * The input is a volume from byte 1024 on.
 */
#include "tests/fuzz/fuzz.h"

#define SB	EROFS_SUPER_OFFSET

static void check_super(const struct erofs_super *s)
{
	FUZZ_ASSERT(s->blkszbits >= 9 && s->blkszbits <= 12 && s->blksz == 1u << s->blkszbits);
	FUZZ_ASSERT(s->sb_size >= 128 && s->sb_size <= 3072);
	FUZZ_ASSERT(s->fixed_nsec < 1000000000);
	FUZZ_ASSERT(s->ishare_prefix < (int)s->xattr_prefix_count);
	FUZZ_ASSERT(s->device_id_mask == fuzz_device_mask(s->extra_devices));
	FUZZ_ASSERT(!(s->algs >> 4));
	FUZZ_ASSERT(memchr(s->label, 0, sizeof(s->label)));
	FUZZ_ASSERT(!((s->packed_nid | s->metabox_nid) >> 63));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct erofs_super s;
	struct erofs_fault f = { 0 };
	struct memimg mi;
	u32 i, round;
	u8 *img;
	int err;

	if (size > 1 << 16)
		return 0;
	img = calloc(1, SB + size);
	memcpy(img + SB, data, size);
	err = erofs_super_decode(img + SB, min_t(size_t, size, 3072), 12, &s, &f);
	if (err == -EBADMSG) {
		/* forge the checksum: what is behind it matters more */
		u32 bs = 1u << img[SB + 12];
		u32 n = bs > 1024 ? bs - 1024 : bs;

		memset(img + SB + 4, 0, 4);
		put_unaligned_le32(erofs_crc32c(~0u, img + SB, n), img + SB + 4);
		err = erofs_super_decode(img + SB, min_t(size_t, size, 3072), 12, &s, &f);
		FUZZ_ASSERT(err != -EBADMSG);
	}
	if (err) {
		FUZZ_ASSERT(f.what);
		free(img);
		return 0;
	}
	check_super(&s);

	for (round = 0; round < 3; round++) {
		struct erofs_inode_desc ino;
		struct erofs_device_desc d;
		u64 pos = s.xattr_prefix_pos;
		char infix[255];
		u8 base, len;

		if (round)
			memimg_init_noisy(&mi, img, SB + size, s.blksz, round * 12345);
		else
			memimg_init(&mi, img, SB + size, s.blksz);
		if (!erofs_super_decode_cfgs(&s, &mi.m)) {
			FUZZ_ASSERT(s.lz4_max_pclusterblks &&
				    s.lz4_max_pclusterblks << s.blkszbits <= 1 << 20);
			FUZZ_ASSERT(!(s.algs & 8) || s.zstd_windowlog - 10 <= 10);
			FUZZ_ASSERT(!(s.algs & 2) || s.lzma_dict_size - 4096 <= (8 << 20) - 4096);
		}
		for (i = 0; i < s.extra_devices; i++) {
			if (erofs_device_decode(&s, &mi.m, i, &d))
				break;
			FUZZ_ASSERT(!d.tag[64]);
		}
		for (i = 0; i < s.xattr_prefix_count; i++) {
			u64 old = pos;

			if (erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix))
				break;
			FUZZ_ASSERT(pos > old && pos <= SB + size);
		}
		if (!(s.root_nid >> 63) && !erofs_inode_decode(&s, &mi.m, s.root_nid, &ino))
			FUZZ_ASSERT(ino.iloc < SB + size);
		memimg_exit(&mi);
	}
	free(img);
	return 0;
}
