// SPDX-License-Identifier: GPL-2.0
/*
 * Extended attributes as bytes: the walk over inline and shared
 * entries, name matching with long prefixes, the name filter, and the table of
 * long prefixes.
 *
 * What a name means (handlers, privileges, ACLs) is not decided here.
 */
#include "core.h"

/* ---- xxHash, 32 bits -------------------------------------------------------- */

#define XXH_P1	2654435761u
#define XXH_P2	2246822519u
#define XXH_P3	3266489917u
#define XXH_P4	668265263u
#define XXH_P5	374761393u

static inline u32 rotl32(u32 v, u32 n)
{
	return v << n | v >> (32 - n);
}

static inline u32 xxh32_lane(u32 acc, const u8 *p)
{
	return rotl32(acc + get_unaligned_le32(p) * XXH_P2, 13) * XXH_P1;
}

static u32 xxh32_buf(const u8 *p, u32 len, u32 seed)
{
	const u8 *end = p + len;
	u32 h = seed + XXH_P5;

	if (len >= 16) {
		u32 a = seed + XXH_P1 + XXH_P2;
		u32 b = seed + XXH_P2;
		u32 c = seed;
		u32 d = seed - XXH_P1;

		for (; end - p >= 16; p += 16) {
			a = xxh32_lane(a, p);
			b = xxh32_lane(b, p + 4);
			c = xxh32_lane(c, p + 8);
			d = xxh32_lane(d, p + 12);
		}
		h = rotl32(a, 1) + rotl32(b, 7) + rotl32(c, 12) + rotl32(d, 18);
	}

	h += len;
	for (; end - p >= 4; p += 4)
		h = rotl32(h + get_unaligned_le32(p) * XXH_P3, 17) * XXH_P4;
	for (; p < end; p++)
		h = rotl32(h + *p * XXH_P5, 11) * XXH_P1;

	h ^= h >> 15;
	h *= XXH_P2;
	h ^= h >> 13;
	h *= XXH_P3;
	h ^= h >> 16;
	return h;
}

u32 erofs_xattr_filter_bit(u8 index, const char *name, u32 namelen)
{
	return xxh32_buf((const u8 *)name, namelen, EROFS_XATTR_FILTER_SEED + index) & 31;
}

/* ---- long prefixes (section 10.5) ------------------------------------------- */

int erofs_xattr_prefix_decode(struct erofs_meta *m, u64 *pos, u8 *base, u8 *len,
			      char infix[255])
{
	u64 at = round_up(*pos, 4);
	u8 hdr[3];
	u32 n;
	int err;

	/* round_up() of the last bytes of the address space yields 0 */
	if (at < *pos)
		return erofs_fault_set(&m->fault, -EFSCORRUPTED, "xattr prefix out of range",
				       *pos, 0);
	err = erofs_meta_read(m, at, hdr, sizeof(hdr));
	if (err)
		return err;

	n = get_unaligned_le16(hdr);
	if (!n || n > EROFS_NAME_LEN + 1)
		return erofs_fault_set(&m->fault, -EFSCORRUPTED, "bad xattr prefix length", at, n);
	err = erofs_meta_read(m, at + sizeof(hdr), infix, n - 1);
	if (err)
		return err;
	*base = hdr[2];
	*len = n - 1;
	*pos = at + 2 + n;
	return 0;
}

/* ---- where entries are -------------------------------------------------------- */

/* One entry, copied from its header; name and value follow at @pos + 4 */
struct xentry {
	u64 pos;
	u32 value_size;
	u8 name_len;
	u8 index;
};

static int xentry_get(struct erofs_meta *m, u64 pos, struct xentry *e)
{
	const void *p = erofs_meta_ptr(m, pos, sizeof(struct erofs_xattr_entry));
	struct erofs_xattr_entry raw;

	if (IS_ERR(p))
		return PTR_ERR(p);
	memcpy(&raw, p, sizeof(raw));
	barrier();
	e->pos = pos;
	e->name_len = raw.e_name_len;
	e->index = raw.e_name_index;
	e->value_size = le16_to_cpu(raw.e_value_size);
	return 0;
}

static inline u64 xentry_name_pos(const struct xentry *e)
{
	return e->pos + sizeof(struct erofs_xattr_entry);
}

static inline u32 xentry_size(const struct xentry *e)
{
	return round_up((u32)sizeof(struct erofs_xattr_entry) + e->name_len + e->value_size, 4);
}

#define SHARED_BATCH	16

/*
 * The walk over all entries of an inode, inline ones first.  Shared ids are
 * read in small groups: when both windows are one object, going back to the
 * body for every single id would map its block again and again.
 */
struct xwalk {
	const struct erofs_xattr_ctx *x;
	u64 pos;		/* next inline entry */
	u64 end;		/* end of the body */
	u64 id_pos;		/* next shared id to read */
	u32 ids_left;		/* ids still to be read */
	u32 filter;
	u8 have;		/* ids in @id ... */
	u8 used;		/* ... and how many of them are done */
	u8 id[SHARED_BATCH][4];
};

/* Return: 1 if there is a body, 0 if the inode has none, or an errno */
static int xwalk_start(struct xwalk *w, const struct erofs_xattr_ctx *x)
{
	const struct erofs_inode_desc *d = x->d;
	struct erofs_xattr_ibody_header h;
	u64 pos = d->iloc + d->isize;
	const void *p;

	if (!d->xattr_isize)
		return 0;
	if (d->xattr_isize <= sizeof(h))
		return erofs_fault_set(&x->body->fault, -EOPNOTSUPP, "xattr body without entries",
				       pos, d->xattr_isize);

	/* inodes are 32-byte aligned, so that the header is in one block */
	p = erofs_meta_ptr(x->body, pos, sizeof(h));
	if (IS_ERR(p))
		return PTR_ERR(p);
	memcpy(&h, p, sizeof(h));
	barrier();

	w->x = x;
	w->filter = le32_to_cpu(h.h_name_filter);
	w->ids_left = h.h_shared_count;
	w->id_pos = pos + sizeof(h);
	w->pos = w->id_pos + 4 * w->ids_left;
	w->end = pos + d->xattr_isize;
	w->have = 0;
	w->used = 0;
	if (w->pos > w->end)
		return erofs_fault_set(&x->body->fault, -EFSCORRUPTED, "too many shared xattrs",
				       pos, w->ids_left);
	return 1;
}

static int xwalk_next_shared(struct xwalk *w, struct xentry *e)
{
	const struct erofs_xattr_ctx *x = w->x;
	const struct erofs_super *s = x->s;
	u64 pos;
	int err;

	if (w->used == w->have) {
		u32 n = min_t(u32, w->ids_left, SHARED_BATCH);

		if (!n)
			return 0;
		if ((s->feature_compat & EROFS_FEATURE_COMPAT_SHARED_EA_IN_METABOX) &&
		    !erofs_has_metabox(s))
			return erofs_fault_set(&x->body->fault, -EFSCORRUPTED,
					       "shared xattrs in no metabox", w->id_pos, n);
		err = erofs_meta_read(x->body, w->id_pos, w->id, n * 4);
		if (err)
			return err;
		w->id_pos += n * 4;
		w->ids_left -= n;
		w->have = n;
		w->used = 0;
	}

	pos = erofs_blk_pos(s, s->xattr_blkaddr) + 4 * (u64)get_unaligned_le32(w->id[w->used++]);
	err = xentry_get(x->shared, pos, e);
	return err ? err : 1;
}

/*
 * Next entry and the window it is in.  Ends: each inline step moves at least
 * four bytes through a body of at most 256 KiB, and there are at most 255 ids.
 * Return: 1, 0 at the end, or an errno
 */
static int xwalk_next(struct xwalk *w, struct xentry *e, struct erofs_meta **m)
{
	int err;

	if (w->pos >= w->end) {
		*m = w->x->shared;
		return xwalk_next_shared(w, e);
	}

	*m = w->x->body;
	err = xentry_get(*m, w->pos, e);
	if (err)
		return err;
	if (xentry_size(e) > w->end - w->pos)
		return erofs_fault_set(&(*m)->fault, -EFSCORRUPTED, "xattr exceeds its body",
				       e->pos, xentry_size(e));
	w->pos += xentry_size(e);
	return 1;
}

/* ---- names -------------------------------------------------------------------- */

static const struct erofs_xattr_prefix no_prefix = { .infix = "" };

/*
 * Base index and infix of an entry; false for padding and unknown prefixes.
 * Base index 0 comes from long prefixes only.
 */
static bool xentry_prefix(const struct erofs_xattr_ctx *x, const struct xentry *e,
			  u8 *base, const struct erofs_xattr_prefix **pfx)
{
	u32 p;

	if (!(e->index & EROFS_XATTR_LONG_PREFIX)) {
		*base = e->index;
		*pfx = &no_prefix;
		return e->index != 0;
	}

	p = e->index & EROFS_XATTR_LONG_PREFIX_MASK;
	if (p >= x->s->xattr_prefix_count)
		return false;
	*pfx = &x->prefixes[p];
	*base = (*pfx)->base;
	return true;
}

/* Return: 1 if the @len bytes at @pos equal @name, 0 if not, or an errno */
static int xname_equal(struct erofs_meta *m, u64 pos, const char *name, u32 len)
{
	while (len) {
		const void *p = erofs_meta_ptr(m, pos, 1);
		u32 n;

		if (IS_ERR(p))
			return PTR_ERR(p);
		n = min_t(u64, len, m->len - (pos - m->start));
		if (memcmp(p, name, n))
			return 0;
		name += n;
		pos += n;
		len -= n;
	}
	return 1;
}

static int xentry_match(const struct erofs_xattr_ctx *x, struct erofs_meta *m,
			const struct xentry *e, u8 index, const char *name, u32 namelen)
{
	const struct erofs_xattr_prefix *pfx;
	u8 base;

	if (!xentry_prefix(x, e, &base, &pfx) || base != index)
		return 0;
	if ((u32)pfx->len + e->name_len != namelen || memcmp(pfx->infix, name, pfx->len))
		return 0;
	return xname_equal(m, xentry_name_pos(e), name + pfx->len, e->name_len);
}

/* the base indexes that have a name in user space */
static bool index_visible(u8 index)
{
	switch (index) {
	case EROFS_XATTR_INDEX_USER:
	case EROFS_XATTR_INDEX_POSIX_ACL_ACCESS:
	case EROFS_XATTR_INDEX_POSIX_ACL_DEFAULT:
	case EROFS_XATTR_INDEX_TRUSTED:
	case EROFS_XATTR_INDEX_SECURITY:
		return true;
	default:
		return false;
	}
}

/* ACL entries are complete without a name; with one they mean nothing */
static bool index_takes_name(u8 index)
{
	return index != EROFS_XATTR_INDEX_POSIX_ACL_ACCESS &&
	       index != EROFS_XATTR_INDEX_POSIX_ACL_DEFAULT;
}

int erofs_xattr_find(const struct erofs_xattr_ctx *x, u8 index, const char *name, u32 namelen,
		     void *buf, size_t size)
{
	struct erofs_meta *m;
	struct xentry e;
	struct xwalk w;
	int ret;

	if (namelen > EROFS_NAME_LEN || (index && !index_visible(index)))
		return -ENODATA;

	ret = xwalk_start(&w, x);
	if (ret < 0)
		return ret;
	if (!ret)
		return -ENODATA;
	/* a filter of 0 says nothing: don't bother to hash */
	if (x->s->xattr_filter && w.filter &&
	    (w.filter & (1u << erofs_xattr_filter_bit(index, name, namelen))))
		return -ENODATA;

	while ((ret = xwalk_next(&w, &e, &m)) > 0) {
		ret = xentry_match(x, m, &e, index, name, namelen);
		if (ret < 0)
			return ret;
		if (!ret)
			continue;

		if (buf && size) {
			if (size < e.value_size)
				return -ERANGE;
			ret = erofs_meta_read(m, xentry_name_pos(&e) + e.name_len, buf,
					      e.value_size);
			if (ret)
				return ret;
		}
		return e.value_size;
	}
	return ret ? ret : -ENODATA;
}

int erofs_xattr_list(const struct erofs_xattr_ctx *x,
		     int (*fn)(void *priv, u8 index, const char *infix, u32 infixlen,
			       const char *name, u32 namelen),
		     void *priv)
{
	const struct erofs_xattr_prefix *pfx;
	char name[EROFS_NAME_LEN];
	struct erofs_meta *m;
	struct xentry e;
	struct xwalk w;
	u32 total;
	u8 base;
	int ret;

	ret = xwalk_start(&w, x);
	if (ret <= 0)
		return ret;

	while ((ret = xwalk_next(&w, &e, &m)) > 0) {
		if (!xentry_prefix(x, &e, &base, &pfx) || !index_visible(base))
			continue;
		/* names that no request can match don't exist */
		total = (u32)pfx->len + e.name_len;
		if (total > EROFS_NAME_LEN || (total && !index_takes_name(base)))
			continue;

		ret = erofs_meta_read(m, xentry_name_pos(&e), name, e.name_len);
		if (ret)
			return ret;
		ret = fn(priv, base, pfx->infix, pfx->len, name, e.name_len);
		if (ret)
			return ret;
	}
	return ret;
}
