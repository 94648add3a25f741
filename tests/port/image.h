/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reader of whole volumes in memory on top of the pure core, for tools and
 * fuzzers: what the driver's glue does, without caches, threads or cleverness.
 *
 * Every piece of metadata, encoded and decoded data has an allocation of its
 * exact size, so that an address sanitizer sees any step outside.
 */
#ifndef EROFS_TESTS_IMAGE_H
#define EROFS_TESTS_IMAGE_H

#include "core.h"

#define IMAGE_MAX_BLOBS		16

struct image;
struct image_file;

/* A metadata space: the primary device, or the content of a hidden file */
struct image_space {
	struct erofs_meta m;		/* first: found from a struct erofs_meta */
	struct image *im;
	struct image_file *file;	/* NULL for the primary device */
	u8 *win;
};

/**
 * struct image_file - an opened inode
 * @zi_err: result of decoding the map header, 0 for uncompressed files
 * @ext, @ext_la, @ext_len: the extent decoded last, owned
 */
struct image_file {
	struct image *im;
	struct erofs_inode_desc d;
	struct z_erofs_info zi;
	struct z_erofs_cursor cur;
	int zi_err;
	u8 *ext;
	u64 ext_la;
	u64 ext_len;
};

/**
 * struct image - an opened volume
 * @budget: what may still be done, in bytes of I/O and output; at 0 everything
 *	fails with -ETIMEDOUT
 * @blob: contents of the extra devices; none = they are in @data
 */
struct image {
	const u8 *data;
	u64 size;
	u64 budget;
	u32 nr_blobs;
	const u8 *blob[IMAGE_MAX_BLOBS];
	u64 blob_size[IMAGE_MAX_BLOBS];

	struct erofs_super s;
	struct erofs_fault fault;	/* of the superblock */
	struct erofs_device_desc *dev;
	struct erofs_xattr_prefix prefix[256];
	char infix[256][255];
	struct image_space prim;
	struct image_space mbox;
	struct image_space pspace;	/* the packed file as a metadata space */
	struct image_file packed;
	struct image_file metabox;
	bool have_packed;
	void *ws[Z_EROFS_COMPRESSION_MAX];
	size_t ws_size[Z_EROFS_COMPRESSION_MAX];
};

static inline int image_file_read(struct image_file *f, u64 off, void *buf, u64 len);

static inline int image_spend(struct image *im, u64 n)
{
	if (n + 64 > im->budget) {
		im->budget = 0;
		return -ETIMEDOUT;
	}
	im->budget -= n + 64;
	return 0;
}

static inline void *image_alloc(u64 n)
{
	void *p = malloc(n ? n : 1);

	if (!p)
		abort();
	return p;
}

/* ---- devices and metadata spaces ------------------------------------------- */

/* @len bytes at @pos of device @id, section 5.3 */
static inline int image_pread(struct image *im, u32 id, u64 pos, void *buf, u64 len)
{
	const u8 *base = im->data;
	u64 size = im->size;
	int err;
	u32 k;

	err = image_spend(im, len);
	if (err)
		return err;
	if (!im->nr_blobs) {
		if (id && check_add_overflow(pos, erofs_blk_pos(&im->s, im->dev[id - 1].uniaddr),
					     &pos))
			return -EIO;
	} else if (id) {
		base = im->blob[id - 1];
		size = im->blob_size[id - 1];
	} else {
		for (k = 0; k < im->nr_blobs; k++) {
			u64 start = erofs_blk_pos(&im->s, im->dev[k].uniaddr);

			if (!start || pos < start ||
			    pos - start >= erofs_blk_pos(&im->s, im->dev[k].blocks))
				continue;
			base = im->blob[k];
			size = im->blob_size[k];
			pos -= start;
			break;
		}
	}
	if (pos > size || len > size - pos)
		return -EIO;
	memcpy(buf, base + pos, len);
	return 0;
}

static inline void image_space_drop(struct image_space *sp)
{
	free(sp->win);
	sp->win = NULL;
	sp->m.base = NULL;
	sp->m.start = 0;
	sp->m.len = 0;
}

static inline int image_space_map(struct erofs_meta *m, u64 off)
{
	struct image_space *sp = (struct image_space *)m;
	struct image *im = sp->im;
	u64 start = off & ~((u64)im->s.blksz - 1);
	u32 n = min_t(u64, im->s.blksz, m->size - start);
	int err;

	image_space_drop(sp);
	err = image_spend(im, 0);
	if (err)
		return err;
	sp->win = image_alloc(n);
	if (sp->file) {
		err = image_file_read(sp->file, start, sp->win, n);
		if (err) {
			image_space_drop(sp);
			return err;
		}
	} else {
		memcpy(sp->win, im->data + start, n);
	}
	m->base = sp->win;
	m->start = start;
	m->len = n;
	return 0;
}

static inline void image_space_init(struct image_space *sp, struct image *im,
				    struct image_file *file, u64 size)
{
	memset(sp, 0, sizeof(*sp));
	sp->im = im;
	sp->file = file;
	sp->m.size = size;
	sp->m.map = image_space_map;
}

static inline struct erofs_meta *image_meta(struct image *im, bool in_metabox)
{
	return in_metabox ? &im->mbox.m : &im->prim.m;
}

/* ---- files -------------------------------------------------------------------- */

/* inodes that have content */
static inline bool image_has_data(const struct erofs_inode_desc *d)
{
	return S_ISREG(d->mode) || S_ISDIR(d->mode) || S_ISLNK(d->mode);
}

static inline int image_file_open(struct image *im, u64 nid, struct image_file *f)
{
	struct erofs_meta *m = image_meta(im, nid & EROFS_NID_METABOX);
	int err;

	memset(f, 0, sizeof(*f));
	f->im = im;
	z_erofs_cursor_init(&f->cur);
	err = image_spend(im, 0);
	if (err)
		return err;
	err = erofs_inode_decode(&im->s, m, nid, &f->d);
	if (err)
		return err;
	if (image_has_data(&f->d) && f->d.size && erofs_layout_compressed(f->d.layout))
		f->zi_err = z_erofs_info_decode(&im->s, &f->d, m, f == &im->packed, &f->zi);
	return 0;
}

static inline void image_file_close(struct image_file *f)
{
	free(f->ext);
	f->ext = NULL;
	f->ext_len = 0;
}

static inline int image_map(struct image_file *f, u64 off, struct erofs_map *map)
{
	struct image *im = f->im;
	struct erofs_meta *m = image_meta(im, f->d.in_metabox);

	if (!erofs_layout_compressed(f->d.layout))
		return erofs_map_flat(&im->s, &f->d, m, off, map);
	if (f->zi_err)
		return f->zi_err;
	return z_erofs_map_find(&im->s, &f->d, &f->zi, m, &f->cur, off, map);
}

/* bytes of the device or, for inline data, of the inode's metadata space */
static inline int image_read_raw(struct image_file *f, const struct erofs_map *map,
				 u64 skip, void *buf, u64 len)
{
	if (map->flags & EROFS_MAP_META)
		return erofs_meta_read(image_meta(f->im, f->d.in_metabox), map->pa + skip,
				       buf, (u32)len);
	return image_pread(f->im, map->device_id, map->pa + skip, buf, len);
}

static inline void *image_workspace(struct image *im, u32 alg, size_t size)
{
	if (im->ws_size[alg] < size) {
		free(im->ws[alg]);
		im->ws[alg] = image_alloc(size);
		im->ws_size[alg] = size;
	}
	return im->ws[alg];
}

static inline int image_decode(struct image *im, const struct erofs_map *map, const u8 *src,
			       u8 *dst, bool partial)
{
	const struct erofs_super *s = &im->s;
	u64 limit = min_t(u64, map->plen, s->blksz - (map->pa & (s->blksz - 1)));
	size_t n = map->plen;
	size_t size;
	u64 skip = 0;

	if (map->alg == Z_EROFS_COMPRESSION_LZ4 && s->lz4_left_aligned)
		return z_erofs_lz4_decode(src, n, dst, map->llen, true);

	while (skip < limit && !src[skip])
		skip++;
	if (skip == limit)
		return -EFSCORRUPTED;
	src += skip;
	n -= skip;

	switch (map->alg) {
	case Z_EROFS_COMPRESSION_LZ4:
		return z_erofs_lz4_decode(src, n, dst, map->llen, partial);
	case Z_EROFS_COMPRESSION_LZMA:
		size = z_erofs_lzma_workspace_size();
		return z_erofs_lzma_decode(image_workspace(im, map->alg, size), s->lzma_dict_size,
					   src, n, dst, map->llen, partial);
	case Z_EROFS_COMPRESSION_DEFLATE:
		size = z_erofs_deflate_workspace_size();
		return z_erofs_deflate_decode(image_workspace(im, map->alg, size),
					      src, n, dst, map->llen, partial);
	case Z_EROFS_COMPRESSION_ZSTD:
		size = z_erofs_zstd_workspace_size(s->zstd_windowlog);
		return z_erofs_zstd_decode(image_workspace(im, map->alg, size), size,
					   s->zstd_windowlog, src, n, dst, map->llen, partial);
	}
	return -EOPNOTSUPP;
}

/* fill f->ext with all of @map */
static inline int image_load_extent(struct image_file *f, const struct erofs_map *map)
{
	u64 bs = f->im->s.blksz;
	u64 k, turn;
	u8 *src;
	int err;

	image_file_close(f);
	err = image_spend(f->im, map->llen);
	if (err)
		return err;
	src = image_alloc(map->plen);
	f->ext = image_alloc(map->llen);
	err = image_read_raw(f, map, 0, src, map->plen);
	if (err) {
		free(src);
		image_file_close(f);
		return err;
	}

	if (map->flags & EROFS_MAP_ENCODED) {
		err = image_decode(f->im, map, src, f->ext, map->flags & EROFS_MAP_PARTIAL);
	} else {
		turn = 0;
		if (map->flags & EROFS_MAP_INTERLACED)
			turn = (bs - (map->la & (bs - 1))) % map->plen;
		for (k = 0; k < map->llen; k++)
			f->ext[k] = src[(k + map->plen - turn) % map->plen];
	}
	free(src);
	if (err) {
		image_file_close(f);
		return err;
	}
	f->ext_la = map->la;
	f->ext_len = map->llen;
	return 0;
}

/* what the core promises about an extent; anything else is its bug */
static inline void image_check_map(const struct image_file *f, u64 off,
				   const struct erofs_map *map)
{
	u64 end;

	if (!map->llen || map->la > off || off - map->la >= map->llen ||
	    map->llen > f->d.size - map->la)
		abort();
	if (map->device_id > f->im->s.extra_devices)
		abort();
	if (!(map->flags & EROFS_MAP_MAPPED)) {
		if (map->flags)
			abort();
		return;
	}
	if (!map->plen || check_add_overflow(map->pa, map->plen, &end))
		abort();
	if (map->flags & EROFS_MAP_ENCODED) {
		if (map->plen > Z_EROFS_PCLUSTER_MAX_SIZE ||
		    map->llen > Z_EROFS_PCLUSTER_MAX_DSIZE ||
		    !(f->im->s.algs >> map->alg & 1))
			abort();
	} else if (map->llen > map->plen) {
		abort();
	}
}

/**
 * image_file_read() - bytes of a file
 * The whole range has to be inside the file, else -EFSCORRUPTED.
 */
static inline int image_file_read(struct image_file *f, u64 off, void *buf, u64 len)
{
	u8 *out = buf;

	if (off > f->d.size || len > f->d.size - off)
		return -EFSCORRUPTED;

	while (len) {
		struct erofs_map map;
		u64 skip, n;
		int err;

		if (f->ext_len && off >= f->ext_la && off - f->ext_la < f->ext_len) {
			n = min_t(u64, len, f->ext_len - (off - f->ext_la));
			memcpy(out, f->ext + (off - f->ext_la), n);
			out += n;
			off += n;
			len -= n;
			continue;
		}

		err = image_spend(f->im, 0);
		if (err)
			return err;
		err = image_map(f, off, &map);
		if (err)
			return err;
		image_check_map(f, off, &map);
		skip = off - map.la;
		n = min_t(u64, len, map.llen - skip);
		if (!(map.flags & EROFS_MAP_MAPPED)) {
			err = image_spend(f->im, n);
			if (!err)
				memset(out, 0, n);
		} else if (map.flags & EROFS_MAP_FRAGMENT) {
			if (!f->im->have_packed || f == &f->im->packed)
				abort();
			err = image_file_read(&f->im->packed, map.pa + skip, out, n);
		} else if (map.flags & (EROFS_MAP_ENCODED | EROFS_MAP_PLAIN)) {
			err = image_load_extent(f, &map);
			n = 0;
		} else {
			err = image_read_raw(f, &map, skip, out, n);
		}
		if (err)
			return err;
		out += n;
		off += n;
		len -= n;
	}
	return 0;
}

/* ---- volumes -------------------------------------------------------------------- */

static inline void image_close(struct image *im)
{
	u32 i;

	image_file_close(&im->packed);
	image_file_close(&im->metabox);
	image_space_drop(&im->prim);
	image_space_drop(&im->mbox);
	image_space_drop(&im->pspace);
	for (i = 0; i < Z_EROFS_COMPRESSION_MAX; i++)
		free(im->ws[i]);
	free(im->dev);
}

static inline int image_load_prefixes(struct image *im)
{
	const struct erofs_super *s = &im->s;
	struct erofs_meta *m = &im->prim.m;
	u64 pos = s->xattr_prefix_pos;
	u32 i;
	int err;

	if (!(s->feature_compat & EROFS_FEATURE_COMPAT_PLAIN_XATTR_PFX)) {
		if (erofs_has_metabox(s))
			m = &im->mbox.m;
		else if (im->have_packed)
			m = &im->pspace.m;
	}
	for (i = 0; i < s->xattr_prefix_count; i++) {
		err = erofs_xattr_prefix_decode(m, &pos, &im->prefix[i].base,
						&im->prefix[i].len, im->infix[i]);
		if (err)
			return err;
		im->prefix[i].infix = im->infix[i];
	}
	return 0;
}

/* a hidden file and the space that its content is */
static inline int image_open_hidden(struct image *im, u64 nid, struct image_file *f,
				    struct image_space *sp)
{
	int err = image_file_open(im, nid, f);

	if (err)
		return err;
	if (!S_ISREG(f->d.mode))
		return -EFSCORRUPTED;
	image_space_init(sp, im, f, f->d.size);
	return 0;
}

/**
 * image_open() - what a mount does
 * @im: @data, @size, @budget and the blobs are filled in, the rest is zero
 * @root: opened, to be closed before the image
 *
 * Close the image in any case.
 */
static inline int image_open(struct image *im, struct image_file *root)
{
	struct erofs_super *s = &im->s;
	u32 i;
	int err;

	memset(root, 0, sizeof(*root));
	if (im->size < EROFS_SUPER_OFFSET)
		return -EINVAL;
	err = erofs_super_decode(im->data + EROFS_SUPER_OFFSET,
				 min_t(u64, im->size - EROFS_SUPER_OFFSET,
				       4096 - EROFS_SUPER_OFFSET), 12, s, &im->fault);
	if (err)
		return err;
	image_space_init(&im->prim, im, NULL, im->size);
	image_space_init(&im->mbox, im, NULL, 0);
	err = erofs_super_decode_cfgs(s, &im->prim.m);
	if (err)
		return err;

	if (im->nr_blobs && im->nr_blobs != s->extra_devices)
		return -EINVAL;
	im->dev = image_alloc(s->extra_devices * sizeof(*im->dev));
	for (i = 0; i < s->extra_devices; i++) {
		err = erofs_device_decode(s, &im->prim.m, i, &im->dev[i]);
		if (err)
			return err;
	}

	if (erofs_has_metabox(s)) {
		err = image_open_hidden(im, s->metabox_nid, &im->metabox, &im->mbox);
		if (err)
			return err;
	}
	if (s->packed_nid) {
		err = image_open_hidden(im, s->packed_nid, &im->packed, &im->pspace);
		if (err)
			return err;
		im->have_packed = true;
	}
	err = image_load_prefixes(im);
	if (err)
		return err;

	err = image_file_open(im, s->root_nid, root);
	if (err)
		return err;
	return S_ISDIR(root->d.mode) ? 0 : -EINVAL;
}

static inline void image_xattr_ctx(struct image_file *f, struct erofs_xattr_ctx *x)
{
	struct image *im = f->im;

	x->s = &im->s;
	x->d = &f->d;
	x->body = image_meta(im, f->d.in_metabox);
	x->shared = image_meta(im, (im->s.feature_compat &
				    EROFS_FEATURE_COMPAT_SHARED_EA_IN_METABOX));
	x->prefixes = im->prefix;
}

/**
 * image_dir_each() - call @fn for each entry of a directory, "." and ".." too
 * @fn: the entry's name is valid during the call; non-zero ends the walk
 */
static inline int image_dir_each(struct image_file *f,
				 int (*fn)(void *priv, const struct erofs_dirent_desc *e),
				 void *priv)
{
	u32 bs = f->im->s.blksz;
	u64 pos;

	for (pos = 0; pos < f->d.size; pos += bs) {
		u32 n = min_t(u64, bs, f->d.size - pos), i;
		struct erofs_dirent_desc e;
		struct erofs_dblk b;
		u8 *blk = image_alloc(n);
		int err;

		err = image_file_read(f, pos, blk, n);
		if (!err)
			err = erofs_dblk_init(&b, blk, n, bs, NULL);
		for (i = 0; !err && i < b.count; i++) {
			err = erofs_dblk_entry(&b, i, &e, NULL);
			if (!err)
				err = fn(priv, &e);
		}
		free(blk);
		if (err)
			return err;
	}
	return 0;
}

/**
 * image_lookup() - find a name as the driver does: binary search over blocks
 * by their first names, then inside the block
 */
static inline int image_lookup(struct image_file *f, const char *name, u32 namelen, u64 *nid)
{
	u32 bs = f->im->s.blksz;
	u64 lo = 0, hi = (f->d.size + bs - 1) / bs;

	while (lo < hi) {
		u64 mid = lo + (hi - lo) / 2;
		u32 n = min_t(u64, bs, f->d.size - mid * bs);
		struct erofs_dirent_desc e;
		struct erofs_dblk b;
		u8 *blk = image_alloc(n);
		u32 at = mid;	/* a guess, as bad as any */
		int err, cmp = 0;

		err = image_file_read(f, mid * bs, blk, n);
		if (!err)
			err = erofs_dblk_init(&b, blk, n, bs, NULL);
		if (!err)
			err = erofs_dblk_find(&b, name, namelen, &at, &e, &cmp, NULL);
		if (!err)
			*nid = e.nid;
		free(blk);
		if (err != -ENOENT)
			return err;
		if (cmp < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return -ENOENT;
}

#endif /* EROFS_TESTS_IMAGE_H */
