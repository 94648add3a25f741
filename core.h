/* SPDX-License-Identifier: GPL-2.0 */
/*
 * core.h - the pure core: decoding and validating everything that comes from
 * disk, without locks, allocation, printing or kernel I/O.
 *
 * The core is compiled into the module and, unchanged, into user-space tests
 * and fuzzers.  Metadata reaches it through one callback (struct erofs_meta);
 * what it finds wrong it describes in a struct erofs_fault, which the glue
 * turns into one log line.  Nothing read from disk is believed before a check,
 * and bytes are copied out of a window before they are checked, because the
 * device below may change at any time.
 *
 * Units are bytes unless a name says otherwise (_blks, _bits).
 */
#ifndef EROFS_CORE_H
#define EROFS_CORE_H

#include "port.h"
#include "erofs_fs.h"

/**
 * struct erofs_fault - what the core found wrong
 * @what: static text, e.g. "bad clusterofs"; NULL when nothing was recorded
 * @off: byte position in the metadata space (or file offset where the text says so)
 * @value: the offending value
 */
struct erofs_fault {
	const char *what;
	u64 off;
	u64 value;
};

/**
 * erofs_fault_set() - record a fault and pass an error on
 * @f: may be NULL
 * @err: negative errno to return
 */
static inline int erofs_fault_set(struct erofs_fault *f, int err, const char *what,
				  u64 off, u64 value)
{
	if (f) {
		f->what = what;
		f->off = off;
		f->value = value;
	}
	return err;
}

/**
 * struct erofs_meta - a window on one metadata space
 * @base: memory of the current window; NULL if there is none
 * @start: position of the window's first byte
 * @len: bytes in the window
 * @size: size of the whole space; nothing at or behind it is ever asked for
 * @map: make the window contain byte @off (which is below @size).  Returns 0,
 *	or a negative errno and leaves no window (base = NULL, len = 0).  The
 *	former window's memory may be gone afterwards.  May sleep.
 * @fault: filled by the core when it returns an error of its own making
 *
 * A window is at least one block long and block aligned (except at @size), so
 * a structure which does not cross a block is always in one piece.  @size may
 * be U64_MAX when the space has no known end; the callback then fails.
 */
struct erofs_meta {
	const u8 *base;
	u64 start;
	u32 len;
	u64 size;
	int (*map)(struct erofs_meta *m, u64 off);
	struct erofs_fault fault;
};

/* the range isn't in the window, or leaves it */
const void *erofs_meta_ptr_slow(struct erofs_meta *m, u64 off, u32 need);

/**
 * erofs_meta_ptr() - bytes of a metadata space in place
 * @need: number of contiguous bytes wanted
 *
 * Return: pointer valid until the next call on @m; ERR_PTR(-EFSCORRUPTED) if
 * the range leaves the space or crosses the window although it may not; other
 * ERR_PTR from the callback.
 */
static inline const void *erofs_meta_ptr(struct erofs_meta *m, u64 off, u32 need)
{
	u64 d = off - m->start;	/* wraps to something huge when off < start */

	if (likely(d < m->len && m->len - d >= need))
		return m->base + d;
	return erofs_meta_ptr_slow(m, off, need);
}

/**
 * erofs_meta_read() - copy @len bytes that may cross windows
 * Return: 0, -EFSCORRUPTED when leaving the space, or an errno of the callback
 */
int __must_check erofs_meta_read(struct erofs_meta *m, u64 off, void *buf, u32 len);

/* ---- ondisk.c: superblock, configurations, device table, inodes ---------- */

/**
 * struct erofs_super - the decoded superblock
 *
 * All values are in host order and validated as sections 2 to 4 ask for.
 * @blocks: blocks of the primary device (may be wrong on purpose; statistics,
 *	never a bound for memory)
 * @algs: bit n set = algorithm n may be used by inodes
 * @lz4_left_aligned: LZ4 data is at the start of its cluster (no 0PADDING)
 * @ishare_prefix: index of the fingerprint's long prefix, or -1
 * @device_id_mask: section 5.1
 */
struct erofs_super {
	u32 feature_compat;
	u32 feature_incompat;
	u32 sb_size;
	u8 blkszbits;
	u8 xattr_prefix_count;
	bool xattr_filter;
	bool lz4_left_aligned;
	s16 ishare_prefix;
	u16 algs;
	u16 extra_devices;
	u16 device_id_mask;
	u32 blksz;
	u32 fixed_nsec;
	u32 meta_blkaddr;
	u32 xattr_blkaddr;
	u32 lz4_max_distance;
	u32 lz4_max_pclusterblks;
	u32 lzma_dict_size;
	u32 zstd_windowlog;	/* log2 of the window in bytes, 10 .. 20 */
	u64 root_nid;
	u64 blocks;
	u64 inos;
	s64 epoch;
	s64 build_time;		/* absolute seconds */
	u64 packed_nid;		/* 0 = none */
	u64 metabox_nid;	/* valid if feature METABOX */
	u64 xattr_prefix_pos;	/* byte position of the prefix table in its space */
	u64 devt_pos;		/* byte position of device slot 0 */
	u8 uuid[16];
	char label[17];		/* always NUL terminated */
};

static inline bool erofs_has_metabox(const struct erofs_super *s)
{
	return s->feature_incompat & EROFS_FEATURE_INCOMPAT_METABOX;
}

/* log2 to bytes; the only place that knows how wide the shift may be */
static inline u64 erofs_blk_pos(const struct erofs_super *s, u64 blk)
{
	return blk << s->blkszbits;
}

/**
 * erofs_super_decode() - decode and validate the superblock (sections 2, 3)
 * @buf: bytes of the volume from position 1024 on
 * @len: valid bytes in @buf; must reach at least up to the end of the first
 *	block that covers the superblock (min(4096 - 1024, what the device has))
 * @max_blkszbits: log2 of the page size, at most 12
 * @s: result; on error undefined
 * @f: what was wrong
 *
 * Verifies the checksum when the volume has one.
 * Compression records are not decoded here, see erofs_super_decode_cfgs().
 *
 * Return: 0, -EINVAL (not ours, unknown incompatible bits: fault.value holds
 * the unknown bits), -EBADMSG (checksum), -EFSCORRUPTED, -EOPNOTSUPP
 */
int __must_check erofs_super_decode(const void *buf, size_t len, u32 max_blkszbits,
				    struct erofs_super *s, struct erofs_fault *f);

/**
 * erofs_super_decode_cfgs() - compression configuration records (section 4)
 * @m: the primary device
 *
 * Fills lz4_*, lzma_*, zstd_* of @s; without COMPR_CFGS sets the LZ4 defaults
 * of section 2.3.  Return: 0, -EINVAL, -EOPNOTSUPP, or an errno of @m
 */
int __must_check erofs_super_decode_cfgs(struct erofs_super *s, struct erofs_meta *m);

/* One decoded device slot; @blocks and @uniaddr in blocks, 0 = not mapped */
struct erofs_device_desc {
	u64 blocks;
	u64 uniaddr;
	char tag[65];
};

/**
 * erofs_device_decode() - slot @idx (0-based) of the device table (section 5.1)
 * Return: 0 or an errno of @m / -EFSCORRUPTED for a position outside the device
 */
int __must_check erofs_device_decode(const struct erofs_super *s, struct erofs_meta *m,
				     u32 idx, struct erofs_device_desc *d);

/* No data: the whole flat file is a hole, or there are no blocks */
#define EROFS_NULL_BLK		U64_MAX

/**
 * struct erofs_inode_desc - the decoded inode (section 6)
 * @iloc: position in its metadata space
 * @body: E of section 6.6, the position behind inode and xattr body
 * @startblk: first block of flat layouts; EROFS_NULL_BLK = hole
 * @cblks: blocks a compressed inode says it occupies (statistics)
 * @rdev: on-disk device number, decode with section 9.2
 * @chunk_bits: log2 of the chunk size in bytes (layout 4)
 */
struct erofs_inode_desc {
	u64 nid;
	u64 iloc;
	u64 body;
	u64 size;
	u64 startblk;
	u64 cblks;
	s64 mtime;
	u32 mtime_nsec;
	u32 nlink;
	u32 uid;
	u32 gid;
	u32 rdev;
	u32 xattr_isize;
	u16 mode;
	u16 chunk_format;
	u8 layout;
	u8 chunk_bits;
	u8 isize;		/* 32 or 64 */
	bool in_metabox;
	bool dot_omitted;
};

/**
 * erofs_nid_pos() - position of an inode in its metadata space (section 6.1)
 * Return: 0; -EFSCORRUPTED on overflow or a metabox nid without metabox
 */
int __must_check erofs_nid_pos(const struct erofs_super *s, u64 nid, u64 *pos,
			       struct erofs_fault *f);

/**
 * erofs_inode_decode() - read, decode and validate an inode
 * @m: the metadata space that @nid's bit 63 selects
 *
 * Return: 0; -EOPNOTSUPP for unknown i_format/chunk format bits; -EFSCORRUPTED
 * (section 6.5, section 16: type, size, layout without algorithm); errno of @m
 */
int __must_check erofs_inode_decode(const struct erofs_super *s, struct erofs_meta *m,
				    u64 nid, struct erofs_inode_desc *d);

static inline bool erofs_layout_compressed(u8 layout)
{
	return layout == EROFS_INODE_COMPRESSED_FULL || layout == EROFS_INODE_COMPRESSED_COMPACT;
}

/* crc32c without final inversion, as section 2.2 uses it (table driven) */
u32 erofs_crc32c(u32 crc, const void *p, size_t len);

/* ---- map.c, zmap.c: file offset to extent -------------------------------- */

#define EROFS_MAP_MAPPED	0x01	/* pa/plen are valid; else the range is a hole */
#define EROFS_MAP_META		0x02	/* pa is in the inode's metadata space (inline) */
#define EROFS_MAP_FRAGMENT	0x04	/* pa is a position in the packed file, plen = llen */
#define EROFS_MAP_ENCODED	0x08	/* decode plen bytes to llen; else a straight copy */
#define EROFS_MAP_PARTIAL	0x10	/* the pcluster decodes to more than llen bytes */
#define EROFS_MAP_PLAIN		0x20	/* uncompressed pcluster of a compressed file; see below */
#define EROFS_MAP_INTERLACED	0x40	/* with PLAIN: rotated, section 11.10 */

/**
 * struct erofs_map - one extent
 * @la: first file offset; @llen: bytes, never 0 on success
 * @pa: byte position on device @device_id (see flags); @plen: encoded bytes
 * @alg: algorithm of an ENCODED extent
 *
 * Flat and chunk extents: MAPPED (or META) with plen = llen, both cut at i_size.
 * A hole has flags = 0.  Compressed files: ENCODED, or PLAIN: llen <= plen, byte
 * k at (INTERLACED ? (k - (bs - la mod bs)) mod plen : k) of the pcluster.
 * pa of a pcluster need not be block aligned.  pa + plen doesn't overflow.
 */
struct erofs_map {
	u64 la;
	u64 llen;
	u64 pa;
	u64 plen;
	u16 device_id;
	u8 flags;
	u8 alg;
};

/**
 * erofs_map_flat() - extent of an uncompressed file at @off (section 7)
 * @m: the inode's metadata space (read for chunk tables only)
 * @off: below d->size
 *
 * The longest extent that is known cheaply is returned: all whole blocks of a
 * flat file, the inline tail, or the run of chunks that are adjacent on one
 * device (or all holes) as far as one window of the table reaches.  It begins
 * at or before @off.  Return: 0, -EFSCORRUPTED (inline tail crossing a block,
 * position overflow, device id), errno of @m
 */
int __must_check erofs_map_flat(const struct erofs_super *s, const struct erofs_inode_desc *d,
				struct erofs_meta *m, u64 off, struct erofs_map *map);

/**
 * struct z_erofs_info - decoded map header of a compressed inode (section 11.2)
 * @ebase: position of the first index unit: record 0 (full, extents of 8, 16
 *	and 32 bytes), ebase of section 11.5, or pstart0 (extents of 4 bytes)
 * @nrec: lclusters resp. extent records
 * @fragmentoff: tail fragment (low 32 bits) or whole-file fragment
 * @idata_pos: inline pcluster in the metadata space, if @idata_size != 0
 * @c2: compact: records in 2-byte packs; they follow the first @c4 ones
 * @advise: Z_EROFS_ADVISE_*, of index records or of extents according to @kind
 * @recsz: extents: 4, 8, 16, 32
 * @alg: algorithm of HEAD1 and HEAD2; availability is checked per extent
 *
 * Constant once filled; shared by readers without a lock.
 */
struct z_erofs_info {
	u64 ebase;
	u64 nrec;
	u64 fragmentoff;
	u64 idata_pos;
	u64 c2;
	u16 idata_size;
	u16 advise;
	u8 kind;		/* Z_EROFS_KIND_* */
	u8 lclusterbits;
	u8 recsz;
	u8 c4;
	u8 alg[2];
};

enum {
	Z_EROFS_KIND_FRAGMENT,	/* the whole file is one fragment */
	Z_EROFS_KIND_FULL,
	Z_EROFS_KIND_COMPACT,
	Z_EROFS_KIND_EXTENTS,
};

/**
 * z_erofs_info_decode() - decode and validate the map header
 * @is_packed: the inode is the packed inode itself (fragments are refused)
 *
 * d->size must be > 0.  Return: 0, -EOPNOTSUPP, -EFSCORRUPTED (section 11.2), errno of @m
 */
int __must_check z_erofs_info_decode(const struct erofs_super *s, const struct erofs_inode_desc *d,
				     struct erofs_meta *m, bool is_packed,
				     struct z_erofs_info *zi);

#define Z_EROFS_PACK_MAX	16

/**
 * struct z_erofs_rec - one parsed index record
 * @u: head: first block, relative to the pack's base; NONHEAD: delta0 in the
 *	low, delta1 in the high half (section 11.3)
 * @val: head: clusterofs; NONHEAD with CBLKCNT: blocks of the pcluster
 * @type: Z_EROFS_LCLUSTER_*
 * @flags: Z_EROFS_REC_*
 */
struct z_erofs_rec {
	u32 u;
	u16 val;
	u8 type;
	u8 flags;
};

#define Z_EROFS_REC_PARTIAL	0x01
#define Z_EROFS_REC_HOLE	0x02
#define Z_EROFS_REC_CBLKCNT	0x04	/* NONHEAD that carries the pcluster's blocks */
#define Z_EROFS_REC_BAD		0x80	/* may not be used, @val is the offending value */

/* The compact index pack that covers lclusters first .. first + count - 1 */
struct z_erofs_pack {
	u64 first;
	u32 count;		/* 2, 16, or 0 = empty */
	u32 base;
	struct z_erofs_rec rec[Z_EROFS_PACK_MAX];
};

/**
 * struct z_erofs_cursor - state of successive extent lookups in one inode
 * @pack: the packs used last (compact indexes)
 * @recent: index of the most recently used one
 * @idx: extents: the record behind the last one found
 * @pos: extents of 4 bytes: position of pcluster @idx (unless @idx is 0);
 *	of 16 and 32 bytes: file offset at which record @idx starts
 *
 * With it a run of ascending lookups parses each pack once, adds up each
 * 4-byte record once and needs no search.  Zero it (z_erofs_cursor_init) before
 * the first use; it holds no references, only copies; not shared between
 * threads; belongs to one inode.
 */
struct z_erofs_cursor {
	struct z_erofs_pack pack[2];
	u32 recent;
	u64 idx;
	u64 pos;
};

static inline void z_erofs_cursor_init(struct z_erofs_cursor *c)
{
	c->pack[0].first = 0;
	c->pack[0].count = 0;
	c->pack[1].first = 0;
	c->pack[1].count = 0;
	c->recent = 0;
	c->idx = 0;
	c->pos = 0;
}

/**
 * z_erofs_map_find() - the extent that holds file offset @off (sections 11.3 to 11.11)
 * @off: below d->size
 *
 * The extent is whole: la/llen are exact, llen is cut at d->size.  flags are
 * MAPPED|ENCODED, MAPPED|PLAIN, plus META (inline pcluster; la..la+llen
 * decodes from plen bytes at pa in the inode's metadata space), FRAGMENT
 * (alone with MAPPED), PARTIAL, or 0 for a hole.  The limits of section 11.12
 * are checked, also that the algorithm is available.
 *
 * Return: 0, -EFSCORRUPTED, -EOPNOTSUPP, errno of @m
 */
int __must_check z_erofs_map_find(const struct erofs_super *s, const struct erofs_inode_desc *d,
				  const struct z_erofs_info *zi, struct erofs_meta *m,
				  struct z_erofs_cursor *c, u64 off, struct erofs_map *map);

/* ---- dirent.c: one directory block ---------------------------------------- */

/**
 * struct erofs_dblk - a directory block under examination
 * @p: its bytes (memory that may change below us: fields are copied, then checked)
 * @len: valid bytes, 1 .. block size
 * @count: entries (0 before erofs_dblk_init)
 * @clean: no '/' and no NUL between the records and this offset (erofs_dblk_scan())
 */
struct erofs_dblk {
	const u8 *p;
	u32 len;
	u32 count;
	u32 clean;
};

struct erofs_dirent_desc {
	u64 nid;
	const char *name;	/* inside the block, not terminated */
	u16 namelen;		/* 1 .. 255 */
	u8 ftype;		/* as stored */
};

/* check entry 0 and count the entries (section 8.4) */
int __must_check erofs_dblk_init(struct erofs_dblk *b, const void *p, u32 len, u32 blksz,
				 struct erofs_fault *f);
/* entry @i, fully validated (name range, length, no '/' or NUL) */
int __must_check erofs_dblk_entry(const struct erofs_dblk *b, u32 i, struct erofs_dirent_desc *d,
				  struct erofs_fault *f);
/* look at the characters of all names but the last at once, for erofs_dblk_next() */
void erofs_dblk_scan(struct erofs_dblk *b);
/* how @name compares with entry 0, whose name's characters aren't checked */
int __must_check erofs_dblk_cmp_first(const struct erofs_dblk *b, const char *name, u32 namelen,
				      int *cmp, struct erofs_fault *f);
/**
 * erofs_dblk_find() - binary search in one block
 * @at: in: the entry to try first, any number; out, if found: the one it is
 * @where: out, with -ENOENT: -1 if @name sorts before the block's first entry, 1 if
 *	behind its last one, else 0
 * Return: 0 and @d; -ENOENT; -EFSCORRUPTED.  At most log2(count) + 2 probes.
 */
int __must_check erofs_dblk_find(const struct erofs_dblk *b, const char *name, u32 namelen,
				 u32 *at, struct erofs_dirent_desc *d, int *where,
				 struct erofs_fault *f);
/**
 * erofs_name_cmp() - order of names: bytes are unsigned, a proper prefix is first
 *
 * Section 8.2.  A lookup does it half a dozen times, mostly to find a difference
 * in the first bytes.
 */
static inline int erofs_name_cmp(const char *a, u32 alen, const char *b, u32 blen)
{
	u32 n = min(alen, blen);
	u32 i = 0;

	if (n >= 8) {
		for (;;) {
			u64 x = get_unaligned_be64(a + i);
			u64 y = get_unaligned_be64(b + i);

			if (x != y)
				return x < y ? -1 : 1;
			if (i == n - 8)
				break;
			/* the last step looks at some bytes again */
			i = min(i + 8, n - 8);
		}
	} else {
		for (; i < n; i++)
			if (a[i] != b[i])
				return (u8)a[i] < (u8)b[i] ? -1 : 1;
	}
	return alen < blen ? -1 : alen > blen;
}

/* what is told about entry @i of the block at @p, whose name was checked */
static inline void erofs_dirent_fill(const u8 *p, u32 i, u32 off, u32 len,
				     struct erofs_dirent_desc *d)
{
	const u8 *e = p + i * sizeof(struct erofs_dirent);
	u64 nid = get_unaligned_le64(e + offsetof(struct erofs_dirent, nid));
	u8 ftype = e[offsetof(struct erofs_dirent, file_type)];

	/* both are read once, whatever is done with them */
	OPTIMIZER_HIDE_VAR(nid);
	OPTIMIZER_HIDE_VAR(ftype);
	d->nid = nid;
	d->ftype = ftype;
	d->name = (const char *)p + off;
	d->namelen = len;
}

/**
 * erofs_dblk_next() - entry @i, if that is easy
 *
 * For listing: entries of a block without damage, except its last one.
 *
 * Return: true and what erofs_dblk_entry() would give; false: ask that
 */
static inline bool erofs_dblk_next(const struct erofs_dblk *b, u32 i, struct erofs_dirent_desc *d)
{
	const u32 size = sizeof(struct erofs_dirent);
	const u32 nameoff = offsetof(struct erofs_dirent, nameoff);
	const u8 *e = b->p + i * size;
	u32 start, end;

	if (unlikely(i + 1 >= b->count))
		return false;
	start = get_unaligned_le16(e + nameoff);
	end = get_unaligned_le16(e + size + nameoff);
	/* the checked value is the used one */
	OPTIMIZER_HIDE_VAR(start);
	OPTIMIZER_HIDE_VAR(end);
	if (unlikely(start < b->count * size || end > b->clean ||
		     end - start - 1 >= EROFS_NAME_LEN))
		return false;
	erofs_dirent_fill(b->p, i, start, end - start, d);
	return true;
}

/* ---- xattr_core.c ---------------------------------------------------------- */

/* One long prefix (section 10.5) */
struct erofs_xattr_prefix {
	u8 base;		/* base index; 0 = internal */
	u8 len;			/* infix bytes, 0 .. 255 */
	const char *infix;	/* owned by whoever filled the table */
};

/**
 * erofs_xattr_prefix_decode() - the next record of the prefix table
 * @pos: in: position (rounded up to 4 here); out: position behind the record
 * @infix: receives up to 255 bytes
 */
int __must_check erofs_xattr_prefix_decode(struct erofs_meta *m, u64 *pos, u8 *base, u8 *len,
					   char infix[255]);

/**
 * struct erofs_xattr_ctx - where an inode's xattrs are and how to read them
 * @body: window on the inode's metadata space; @shared: on the space of shared
 *	xattrs (may be the same object)
 * @prefixes: s->xattr_prefix_count entries
 */
struct erofs_xattr_ctx {
	const struct erofs_super *s;
	const struct erofs_inode_desc *d;
	struct erofs_meta *body;
	struct erofs_meta *shared;
	const struct erofs_xattr_prefix *prefixes;
};

/**
 * erofs_xattr_find() - look one attribute up (sections 10.2 to 10.4)
 * @index: base index of the wanted attribute (1 .. 6, or 0 for internal ones)
 * @name: name behind the base prefix, @namelen 0 .. 255
 * @buf: receives the value; NULL or @size 0 asks for the size only
 *
 * Inline entries win over shared ones.  The filter answers first where it is
 * usable.  Return: size of the value; -ENODATA; -ERANGE (buffer too small);
 * -EFSCORRUPTED; -EOPNOTSUPP (header-only body); errno of the windows
 */
int erofs_xattr_find(const struct erofs_xattr_ctx *x, u8 index, const char *name, u32 namelen,
		     void *buf, size_t size);

/**
 * erofs_xattr_list() - call @fn for each visible attribute
 * @fn: gets base index (1 .. 6, never 0 or 5), the infix and the stored name;
 *	both pointers are valid during the call only; a non-zero return ends
 *	the walk and is returned
 */
int erofs_xattr_list(const struct erofs_xattr_ctx *x,
		     int (*fn)(void *priv, u8 index, const char *infix, u32 infixlen,
			       const char *name, u32 namelen),
		     void *priv);

/* the one bit of the filter that stands for a name (section 10.4) */
u32 erofs_xattr_filter_bit(u8 index, const char *name, u32 namelen);

/* ---- decompressor_*.c: one algorithm each ---------------------------------- */
/*
 * Contiguous buffers in, status out; no allocation, no global state, never
 * outside [src, src + srclen) and [dst, dst + dstlen).  @src is the first byte
 * of the stream (padding already skipped).  0, or -EFSCORRUPTED.  Exact mode:
 * output is dstlen bytes and the stream ends with it; @partial: stop as soon
 * as dstlen bytes are there.
 */

/**
 * Z_EROFS_LZ4_INPLACE_MARGIN() - bytes by which the end of the input has to lie
 * behind the end of the output when both share one mapping (exact mode only)
 */
#define Z_EROFS_LZ4_INPLACE_MARGIN(srclen)	(((srclen) >> 8) + 31)
int __must_check z_erofs_lz4_decode(const u8 *src, size_t srclen, u8 *dst, size_t dstlen,
				    bool partial);

size_t z_erofs_lzma_workspace_size(void);
int __must_check z_erofs_lzma_decode(void *ws, u32 dict_size, const u8 *src, size_t srclen,
				     u8 *dst, size_t dstlen, bool partial);
size_t z_erofs_deflate_workspace_size(void);
int __must_check z_erofs_deflate_decode(void *ws, const u8 *src, size_t srclen,
					u8 *dst, size_t dstlen, bool partial);
/* @windowlog: log2 of the largest window, 10 .. 20 */
size_t z_erofs_zstd_workspace_size(u32 windowlog);
int __must_check z_erofs_zstd_decode(void *ws, size_t ws_size, u32 windowlog,
				     const u8 *src, size_t srclen, u8 *dst, size_t dstlen,
				     bool partial);

#endif /* EROFS_CORE_H */
