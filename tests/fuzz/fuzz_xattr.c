/* links: xattr_core.c ondisk.c */
/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Extended attributes of one inode.  The input: settings, a name, and a space
 * in which everything is.
 *
 *	0	bits 0-1 log2 of the block size - 9, bit 2 filter, bit 3 shared in
 *		the metabox, bit 4 metabox, bit 5 noise, bit 6 two windows
 *	1	number of long prefixes
 *	2-3	position of their table in units of 4
 *	4-5	i_xattr_icount
 *	6-7	position of the inode in slots of 32; its size is 32
 *	8	xattr_blkaddr
 *	9	base index
 *	10	length of the name that follows
 */
#include "tests/fuzz/fuzz.h"

#define SETTINGS	11

struct listing {
	const struct erofs_xattr_ctx *x;
	u32 calls;
	bool stable;		/* the space doesn't change */
};

/* whatever is listed can be asked for */
static int fn(void *priv, u8 index, const char *infix, u32 infixlen,
	      const char *name, u32 namelen)
{
	struct listing *l = priv;

	FUZZ_ASSERT(index >= 1 && index <= 6 && index != 5);
	FUZZ_ASSERT(infixlen + namelen <= 255);
	l->calls++;
	if (l->stable && !(l->calls & (l->calls - 1))) {
		char full[255];
		int ret;

		memcpy(full, infix, infixlen);
		memcpy(full + infixlen, name, namelen);
		ret = erofs_xattr_find(l->x, index, full, infixlen + namelen, NULL, 0);
		FUZZ_ASSERT(ret >= 0);
	}
	return l->calls > 3000;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct erofs_xattr_prefix pfx[256];
	static char infix[256][255];
	struct erofs_inode_desc d;
	struct erofs_xattr_ctx x;
	struct memimg body, shared;
	struct erofs_super s;
	struct listing l;
	u32 i, namelen, icount;
	u8 settings, index;
	const char *name;
	u64 pos;
	u8 *buf;
	int ret, full;

	if (size < SETTINGS || size > 1 << 16 || size - SETTINGS < data[10])
		return 0;
	settings = data[0];
	memset(&s, 0, sizeof(s));
	s.blkszbits = 9 + (settings & 3);
	s.blksz = 1u << s.blkszbits;
	s.xattr_filter = settings & 4;
	if (settings & 8)
		s.feature_compat |= EROFS_FEATURE_COMPAT_SHARED_EA_IN_METABOX;
	if (settings & 16)
		s.feature_incompat |= EROFS_FEATURE_INCOMPAT_METABOX;
	s.xattr_prefix_count = data[1];
	s.xattr_blkaddr = data[8];
	pos = 4 * get_unaligned_le16(data + 2);
	icount = get_unaligned_le16(data + 4);
	memset(&d, 0, sizeof(d));
	d.iloc = 32 * get_unaligned_le16(data + 6);
	d.isize = 32;
	d.xattr_isize = icount ? 12 + 4 * (icount - 1) : 0;
	index = data[9];
	namelen = data[10];
	name = (const char *)data + SETTINGS;
	data += SETTINGS + namelen;
	size -= SETTINGS + namelen;

	memimg_init(&body, data, size, s.blksz);
	memimg_init(&shared, data, size, s.blksz);
	for (i = 0; i < s.xattr_prefix_count; i++) {
		if (erofs_xattr_prefix_decode(&body.m, &pos, &pfx[i].base, &pfx[i].len, infix[i]))
			break;
		FUZZ_ASSERT(pos <= size);
		pfx[i].infix = infix[i];
	}
	s.xattr_prefix_count = (u8)i;
	if (settings & 32) {
		body.noise = 4711;
		shared.noise = 4711;
	}

	x.s = &s;
	x.d = &d;
	x.body = &body.m;
	x.shared = settings & 64 ? &shared.m : &body.m;
	x.prefixes = pfx;
	full = erofs_xattr_find(&x, index, name, namelen, NULL, 0);
	FUZZ_ASSERT(full <= 65535 && full >= -EFSCORRUPTED);
	/* a buffer of the right size, and one that is too small */
	if (full > 0) {
		buf = malloc(full);
		ret = erofs_xattr_find(&x, index, name, namelen, buf, full);
		FUZZ_ASSERT(ret <= full);
		if (!(settings & 32)) {
			FUZZ_ASSERT(ret == full || ret == -EFSCORRUPTED);
			if (full > 1)
				FUZZ_ASSERT(erofs_xattr_find(&x, index, name, namelen, buf,
							     full - 1) == -ERANGE);
		}
		free(buf);
	}

	memset(&l, 0, sizeof(l));
	l.x = &x;
	/* with the filter an entry may be listed and absent */
	l.stable = !(settings & (32 | 4));
	ret = erofs_xattr_list(&x, fn, &l);
	FUZZ_ASSERT(ret == 0 || ret == 1 || ret == -EFSCORRUPTED || ret == -EOPNOTSUPP);
	memimg_exit(&body);
	memimg_exit(&shared);
	return 0;
}
