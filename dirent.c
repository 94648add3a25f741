// SPDX-License-Identifier: GPL-2.0
/*
 * Search and walk inside one directory block.
 *
 * A block is never validated as a whole: a lookup checks exactly the entries
 * it touches, so its cost stays logarithmic.
 */
#include "core.h"

#define DIRENT_SIZE	sizeof(struct erofs_dirent)

static u32 dirent_nameoff(const u8 *p, u32 i)
{
	u32 v = get_unaligned_le16(p + i * DIRENT_SIZE + offsetof(struct erofs_dirent, nameoff));

	barrier();	/* the checked value is the used one */
	return v;
}

int erofs_dblk_init(struct erofs_dblk *b, const void *p, u32 len, u32 blksz,
		    struct erofs_fault *f)
{
	u32 nameoff;

	b->p = p;
	b->len = len;
	b->count = 0;
	if (len < DIRENT_SIZE || len > blksz)
		return erofs_fault_set(f, -EFSCORRUPTED, "bad directory block length", 0, len);

	nameoff = dirent_nameoff(p, 0);
	if (!nameoff || nameoff % DIRENT_SIZE || nameoff >= len)
		return erofs_fault_set(f, -EFSCORRUPTED, "bad first name offset", 0, nameoff);
	b->count = nameoff / DIRENT_SIZE;
	return 0;
}

/* where the name of entry @i is: 0 and @off, @len, all inside the block */
static inline int dirent_name(const u8 *p, u32 blklen, u32 count, u32 i, u32 *off, u32 *len,
			      struct erofs_fault *f)
{
	u32 start = dirent_nameoff(p, i);
	u32 end;

	if (unlikely(start < count * DIRENT_SIZE || start >= blklen))
		return erofs_fault_set(f, -EFSCORRUPTED, "bad name offset", i, start);

	if (i + 1 < count) {
		end = dirent_nameoff(p, i + 1);
		if (unlikely(end >= blklen))
			return erofs_fault_set(f, -EFSCORRUPTED, "bad name offset", i + 1, end);
	} else {
		const u8 *nul;

		/* one byte more than allowed tells a name that is too long */
		end = min_t(u32, blklen, start + EROFS_NAME_LEN + 1);
		nul = memchr(p + start, 0, end - start);
		if (nul)
			end = nul - p;
	}

	if (unlikely(end <= start || end - start > EROFS_NAME_LEN))
		return erofs_fault_set(f, -EFSCORRUPTED, "bad name length", i,
				       (u64)end - start);
	*off = start;
	*len = end - start;
	return 0;
}

/* does a byte of @v equal that byte of @pattern? */
static inline u64 has_byte(u64 v, u64 pattern)
{
	v ^= pattern;
	return (v - 0x0101010101010101ULL) & ~v & 0x8080808080808080ULL;
}

/* does the name hold a '/' or a NUL?  Eight bytes at a time: listing is hot */
static bool name_is_bad(const u8 *s, u32 len)
{
	const u64 slash = 0x2f2f2f2f2f2f2f2fULL;
	u32 i;

	if (len < 8) {
		for (i = 0; i < len; i++)
			if (!s[i] || s[i] == '/')
				return true;
		return false;
	}
	for (i = 0; i + 8 < len; i += 8)
		if (has_byte(get_unaligned_le64(s + i), 0) |
		    has_byte(get_unaligned_le64(s + i), slash))
			return true;
	s += len - 8;
	return has_byte(get_unaligned_le64(s), 0) | has_byte(get_unaligned_le64(s), slash);
}

static inline void dirent_fill(const u8 *p, u32 i, u32 off, u32 len,
			       struct erofs_dirent_desc *d)
{
	const u8 *e = p + i * DIRENT_SIZE;

	d->nid = get_unaligned_le64(e + offsetof(struct erofs_dirent, nid));
	d->ftype = e[offsetof(struct erofs_dirent, file_type)];
	d->name = (const char *)p + off;
	d->namelen = len;
	barrier();
}

int erofs_dblk_entry(const struct erofs_dblk *b, u32 i, struct erofs_dirent_desc *d,
		     struct erofs_fault *f)
{
	u32 off, len;
	int err;

	if (unlikely(i >= b->count))
		return erofs_fault_set(f, -EFSCORRUPTED, "no such entry", i, b->count);

	err = dirent_name(b->p, b->len, b->count, i, &off, &len, f);
	if (err)
		return err;
	if (unlikely(name_is_bad(b->p + off, len)))
		return erofs_fault_set(f, -EFSCORRUPTED, "bad character in name", i, off);
	dirent_fill(b->p, i, off, len, d);
	return 0;
}

int erofs_dblk_find(const struct erofs_dblk *b, const char *name, u32 namelen,
		    struct erofs_dirent_desc *d, int *cmp_first, struct erofs_fault *f)
{
	const u32 count = b->count;
	const u32 blklen = b->len;
	const u8 *p = b->p;
	u32 lo = 0, hi = count;

	*cmp_first = 0;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		u32 off, len;
		int err, cmp;

		err = dirent_name(p, blklen, count, mid, &off, &len, f);
		if (unlikely(err))
			return err;

		cmp = erofs_name_cmp(name, namelen, (const char *)p + off, len);
		if (!cmp) {
			dirent_fill(p, mid, off, len, d);
			return 0;
		}
		if (cmp < 0)
			hi = mid;
		else
			lo = mid + 1;
	}

	/* to end up in front of entry 0 the name was compared with it */
	*cmp_first = lo ? 1 : -1;
	return -ENOENT;
}
