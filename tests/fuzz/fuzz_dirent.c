/* links: dirent.c */
/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One directory block.  The input: a byte with the length of a name, the name,
 * and the block.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct erofs_dirent_desc d, prev;
	struct erofs_fault f = { 0 };
	bool sorted = true, valid = true;
	struct erofs_dblk b;
	const char *name;
	u32 namelen, i, at;
	int err, cmp;
	u8 *blk;

	if (size < 2 || size - 1 < data[0] || !data[0])
		return 0;
	namelen = data[0];
	name = (const char *)data + 1;
	data += 1 + namelen;
	size -= 1 + namelen;
	if (!size || size > 4096)
		return 0;

	blk = malloc(size);
	memcpy(blk, data, size);
	err = erofs_dblk_init(&b, blk, (u32)size, 4096, &f);
	if (err) {
		FUZZ_ASSERT(err == -EFSCORRUPTED && f.what);
		free(blk);
		return 0;
	}
	FUZZ_ASSERT(b.count && b.count * 12 < size);

	for (i = 0; i < b.count; i++) {
		if (erofs_dblk_entry(&b, i, &d, &f)) {
			FUZZ_ASSERT(f.what);
			valid = false;
			continue;
		}
		FUZZ_ASSERT(d.namelen && d.namelen <= 255);
		FUZZ_ASSERT((const u8 *)d.name >= blk + 12 * b.count);
		FUZZ_ASSERT((const u8 *)d.name + d.namelen <= blk + size);
		FUZZ_ASSERT(!memchr(d.name, 0, d.namelen) && !memchr(d.name, '/', d.namelen));
		if (i && valid && erofs_name_cmp(prev.name, prev.namelen, d.name, d.namelen) >= 0)
			sorted = false;
		prev = d;
	}

	/* the short way gives the same or nothing, and all but the last in a valid block */
	erofs_dblk_scan(&b);
	for (i = 0; i < b.count; i++) {
		if (!erofs_dblk_next(&b, i, &d)) {
			FUZZ_ASSERT(!valid || i == b.count - 1);
			continue;
		}
		FUZZ_ASSERT(!erofs_dblk_entry(&b, i, &prev, &f));
		FUZZ_ASSERT(d.name == prev.name && d.namelen == prev.namelen &&
			    d.nid == prev.nid && d.ftype == prev.ftype);
	}

	at = (u8)name[namelen - 1];	/* any guess */
	err = erofs_dblk_find(&b, name, namelen, &at, &d, &cmp, &f);
	FUZZ_ASSERT(err == 0 || err == -ENOENT || err == -EFSCORRUPTED);
	if (!err)
		FUZZ_ASSERT(at < b.count && d.namelen == namelen &&
			    !memcmp(d.name, name, namelen));

	/* in a valid block everything is found, and the sides are right */
	if (valid && sorted) {
		FUZZ_ASSERT(err != -EFSCORRUPTED);
		for (i = 0; i < b.count; i++) {
			FUZZ_ASSERT(!erofs_dblk_entry(&b, i, &prev, &f));
			at = i + (u8)name[0] % 3 - 1;
			FUZZ_ASSERT(!erofs_dblk_find(&b, prev.name, prev.namelen, &at, &d, &cmp, &f));
			FUZZ_ASSERT(at == i && d.name == prev.name && d.nid == prev.nid && cmp >= 0);
			if (err == -ENOENT && (!i || i == b.count - 1)) {
				int side = erofs_name_cmp(name, namelen, prev.name, prev.namelen);

				FUZZ_ASSERT(erofs_dblk_find(&b, name, namelen, &at, &d, &cmp,
							    &f) == -ENOENT);
				if (!i)
					FUZZ_ASSERT((cmp < 0) == (side < 0));
				if (i == b.count - 1)
					FUZZ_ASSERT((cmp > 0) == (side > 0));
			}
		}
	}
	free(blk);
	return 0;
}
