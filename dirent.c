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

	OPTIMIZER_HIDE_VAR(v);	/* the checked value is the used one */
	return v;
}

int erofs_dblk_init(struct erofs_dblk *b, const void *p, u32 len, u32 blksz,
		    struct erofs_fault *f)
{
	u32 nameoff;

	b->p = p;
	b->len = len;
	b->count = 0;
	b->clean = 0;
	if (len < DIRENT_SIZE || len > blksz)
		return erofs_fault_set(f, -EFSCORRUPTED, "bad directory block length", 0, len);

	nameoff = dirent_nameoff(p, 0);
	if (!nameoff || nameoff % DIRENT_SIZE || nameoff >= len)
		return erofs_fault_set(f, -EFSCORRUPTED, "bad first name offset", 0, nameoff);
	b->count = nameoff / DIRENT_SIZE;
	return 0;
}

/* the last name of a block ends at a NUL or with the block */
static noinline u32 dirent_last_end(const u8 *p, u32 blklen, u32 start)
{
	/* one byte more than allowed tells a name that is too long */
	u32 end = min_t(u32, blklen, start + EROFS_NAME_LEN + 1);
	const u8 *nul = memchr(p + start, 0, end - start);

	return nul ? nul - p : end;
}

/* what is wrong with entry @i, whose name goes from @start to @end */
static noinline int dirent_bad(u32 blklen, u32 count, u32 i, u32 start, u32 end,
			       struct erofs_fault *f)
{
	if (start < count * DIRENT_SIZE || start >= blklen)
		return erofs_fault_set(f, -EFSCORRUPTED, "bad name offset", i, start);
	if (i + 1 < count && end >= blklen)
		return erofs_fault_set(f, -EFSCORRUPTED, "bad name offset", i + 1, end);
	return erofs_fault_set(f, -EFSCORRUPTED, "bad name length", i, (u64)end - start);
}

/* where the name of entry @i is: 0 and @off, @len, all inside the block */
static __always_inline int dirent_name(const u8 *p, u32 blklen, u32 count, u32 i, u32 *off,
				       u32 *len, struct erofs_fault *f)
{
	u32 start = dirent_nameoff(p, i);
	u32 end;

	if (likely(i + 1 < count)) {
		end = dirent_nameoff(p, i + 1);
		if (unlikely(end >= blklen))
			return dirent_bad(blklen, count, i, start, end, f);
	} else {
		if (unlikely(start >= blklen))
			return dirent_bad(blklen, count, i, start, start, f);
		end = dirent_last_end(p, blklen, start);
	}
	/* also if it ends before it starts */
	if (unlikely(start < count * DIRENT_SIZE || end - start - 1 >= EROFS_NAME_LEN))
		return dirent_bad(blklen, count, i, start, end, f);
	*off = start;
	*len = end - start;
	return 0;
}

/* is a byte of @v a NUL or a '/'? */
static inline bool has_bad_byte(u64 v)
{
	const u64 ones = 0x0101010101010101ULL;
	u64 slash = v ^ ones * '/';

	return (((v - ones) & ~v) | ((slash - ones) & ~slash)) & ones << 7;
}

/* the same for a name inside the block.  Eight bytes at a time: listing is hot */
static inline bool name_is_bad(const u8 *p, u32 blklen, u32 off, u32 len)
{
	const u8 *s = p + off;
	u32 i;

	if (len >= 8) {
		for (i = 0; i + 8 < len; i += 8)
			if (has_bad_byte(get_unaligned_le64(s + i)))
				return true;
		return has_bad_byte(get_unaligned_le64(s + len - 8));
	}
	if (likely(off + 8 <= blklen))
		return has_bad_byte(get_unaligned_le64(s) | ~0ULL << (8 * len));
	for (i = 0; i < len; i++)
		if (!s[i] || s[i] == '/')
			return true;
	return false;
}

void erofs_dblk_scan(struct erofs_dblk *b)
{
	u32 pos = b->count * DIRENT_SIZE;
	u32 end = dirent_nameoff(b->p, b->count - 1);

	if (end >= b->len)
		return;
	for (; pos + 8 <= end; pos += 8)
		if (has_bad_byte(get_unaligned_le64(b->p + pos)))
			return;
	for (; pos < end; pos++)
		if (!b->p[pos] || b->p[pos] == '/')
			return;
	b->clean = end;
}

/* the first eight bytes of a name, so that their order is that of numbers */
static inline u64 name_key(const u8 *s, u32 len)
{
	u64 key = 0;
	u32 i;

	if (len >= 8)
		return get_unaligned_be64(s);
	for (i = 0; i < len; i++)
		key |= (u64)s[i] << (56 - 8 * i);
	return key;
}

/* names of the same key, or near the end of the block */
static noinline int dirent_cmp_slow(const char *name, u32 namelen, const u8 *s, u32 len)
{
	return erofs_name_cmp(name, namelen, (const char *)s, len);
}

/* erofs_name_cmp() with a name inside the block; @key is the name_key() of @name */
static __always_inline int dirent_cmp(const char *name, u32 namelen, u64 key, const u8 *p,
				      u32 blklen, u32 off, u32 len)
{
	if (likely(off + 8 <= blklen)) {
		u64 v = get_unaligned_be64(p + off);

		if (len < 8)
			v &= ~0ULL << (64 - 8 * len);
		if (v != key)
			return key < v ? -1 : 1;
	}
	return dirent_cmp_slow(name, namelen, p + off, len);
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
	if (unlikely(name_is_bad(b->p, b->len, off, len)))
		return erofs_fault_set(f, -EFSCORRUPTED, "bad character in name", i, off);
	erofs_dirent_fill(b->p, i, off, len, d);
	return 0;
}

int erofs_dblk_cmp_first(const struct erofs_dblk *b, const char *name, u32 namelen, int *cmp,
			 struct erofs_fault *f)
{
	u32 off, len;
	int err;

	err = dirent_name(b->p, b->len, b->count, 0, &off, &len, f);
	if (unlikely(err))
		return err;
	*cmp = erofs_name_cmp(name, namelen, (const char *)b->p + off, len);
	return 0;
}

/*
 * Is it entry @i?  What is wrong with that entry doesn't matter here.  The length of the
 * block's last name isn't at hand, so it is left to the search.
 */
static __always_inline bool dirent_is(const char *name, u32 namelen, u64 key, const u8 *p,
				      u32 blklen, u32 count, u32 i, u32 *off)
{
	u32 start, end;

	if (!count || i >= count - 1)
		return false;
	start = dirent_nameoff(p, i);
	end = dirent_nameoff(p, i + 1);
	if (start < count * DIRENT_SIZE || end >= blklen || end - start != namelen)
		return false;
	*off = start;
	return !dirent_cmp(name, namelen, key, p, blklen, start, namelen);
}

int erofs_dblk_find(const struct erofs_dblk *b, const char *name, u32 namelen, u32 *at,
		    struct erofs_dirent_desc *d, int *where, struct erofs_fault *f)
{
	const u32 count = b->count;
	const u32 blklen = b->len;
	const u8 *p = b->p;
	const u64 key = name_key((const u8 *)name, namelen);
	u32 lo = 0, hi = count, guess;

	*where = 0;
	if (dirent_is(name, namelen, key, p, blklen, count, *at, &guess)) {
		erofs_dirent_fill(p, *at, guess, namelen, d);
		return 0;
	}
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		u32 off, len;
		int err, cmp;

		err = dirent_name(p, blklen, count, mid, &off, &len, f);
		if (unlikely(err))
			return err;

		cmp = dirent_cmp(name, namelen, key, p, blklen, off, len);
		if (!cmp) {
			*at = mid;
			erofs_dirent_fill(p, mid, off, len, d);
			return 0;
		}
		if (cmp < 0)
			hi = mid;
		else
			lo = mid + 1;
	}

	/* to end up at one end the name was compared with the entry there */
	*where = lo == count ? 1 : lo ? 0 : -1;
	return -ENOENT;
}
