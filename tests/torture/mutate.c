// SPDX-License-Identifier: GPL-2.0
/*
 * mutate.c - knows where the structures of a valid image are and damages them:
 * single fields get values that are likely to be handled wrongly, structures
 * are exchanged, and bytes anywhere are changed blindly.
 *
 * The scanner believes the image; it only takes care not to leave it.
 */
#include <stdlib.h>
#include <string.h>
#include "mutate.h"

static const char *const kind_name[K_NR] = {
	"super", "config", "device", "inode", "dirent", "name", "link", "xattr header", "xattr",
	"prefix", "map header", "index", "pack", "extent", "chunk", "stream"
};

static uint64_t get(const uint8_t *p, int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

static void put(uint8_t *p, int n, uint64_t v)
{
	for (; n--; v >>= 8)
		*p++ = v;
}

/* ---- finding structures -------------------------------------------------------- */

static void *grow(void *p, size_t n, size_t item)
{
	if (n & (n - 1))
		return p;
	p = realloc(p, (n ? 2 * n : 1) * item);
	if (!p)
		abort();
	return p;
}

static void add_struct(struct seed_image *im, enum kind k, uint64_t pos, uint64_t len)
{
	if (!len || pos >= im->size || len > im->size - pos)
		return;
	im->k[k].s = grow(im->k[k].s, im->k[k].ns, sizeof(*im->k[k].s));
	im->k[k].s[im->k[k].ns++] = (struct structure){ pos, len };
}

static void add_field(struct seed_image *im, enum kind k, uint64_t pos, int size, char hint, const char *name)
{
	if (pos >= im->size || (uint64_t)size > im->size - pos)
		return;
	im->k[k].f = grow(im->k[k].f, im->k[k].nf, sizeof(*im->k[k].f));
	im->k[k].f[im->k[k].nf++] = (struct field){ pos, size, hint, name };
}

struct desc {
	uint16_t off;
	uint8_t size;
	char hint;
	const char *name;
};

static const struct desc d_super[] = {
	{ 0, 4, 'v', "magic" }, { 4, 4, 'v', "checksum" }, { 8, 4, 'f', "feature_compat" },
	{ 12, 1, 'v', "blkszbits" }, { 13, 1, 'v', "sb_extslots" }, { 14, 2, 'n', "rootnid_2b" },
	{ 16, 8, 'v', "inos" }, { 24, 8, 'v', "epoch" }, { 32, 4, 'v', "fixed_nsec" },
	{ 36, 4, 'b', "blocks_lo" }, { 40, 4, 'b', "meta_blkaddr" }, { 44, 4, 'b', "xattr_blkaddr" },
	{ 64, 8, 'v', "volume_name" }, { 80, 4, 'f', "feature_incompat" }, { 84, 2, 'f', "algorithms" },
	{ 86, 2, 'v', "extra_devices" }, { 88, 2, 'v', "devt_slotoff" }, { 90, 1, 'v', "dirblkbits" },
	{ 91, 1, 'v', "xattr_prefix_count" }, { 92, 4, 'v', "xattr_prefix_start" },
	{ 96, 8, 'n', "packed_nid" }, { 104, 1, 'v', "xattr_filter_reserved" },
	{ 105, 1, 'v', "ishare_xattr_prefix_id" }, { 108, 4, 'v', "build_time" },
	{ 112, 8, 'n', "rootnid_8b" }, { 128, 8, 'n', "metabox_nid" },
};

static const struct desc d_device[] = {
	{ 0, 4, 'v', "tag" }, { 64, 4, 'b', "blocks_lo" }, { 68, 4, 'b', "uniaddr_lo" },
	{ 72, 2, 'v', "blocks_hi" }, { 74, 2, 'v', "uniaddr_hi" },
};

static const struct desc d_compact[] = {
	{ 0, 2, 'f', "i_format" }, { 0, 2, 'l', "layout" }, { 2, 2, 'v', "i_xattr_icount" },
	{ 4, 2, 'm', "i_mode" }, { 6, 2, 'v', "i_nb" }, { 8, 4, 's', "i_size" }, { 8, 4, 's', "i_size" },
	{ 12, 4, 'v', "i_mtime" }, { 16, 4, 'b', "i_u" }, { 16, 4, 'b', "i_u" }, { 24, 2, 'v', "i_uid" },
};

static const struct desc d_extended[] = {
	{ 0, 2, 'f', "i_format" }, { 0, 2, 'l', "layout" }, { 2, 2, 'v', "i_xattr_icount" },
	{ 4, 2, 'm', "i_mode" }, { 6, 2, 'v', "i_nb" }, { 8, 8, 's', "i_size" }, { 8, 8, 's', "i_size" },
	{ 16, 4, 'b', "i_u" }, { 16, 4, 'b', "i_u" }, { 24, 4, 'v', "i_uid" }, { 32, 8, 'v', "i_mtime" },
	{ 40, 4, 'v', "i_mtime_nsec" }, { 44, 4, 'v', "i_nlink" },
};

static const struct desc d_dirent[] = {
	{ 0, 8, 'n', "nid" }, { 8, 2, 'v', "nameoff" }, { 8, 2, 'v', "nameoff" }, { 10, 1, 'v', "file_type" },
};

static const struct desc d_zheader[] = {
	{ 0, 4, 'v', "h_fragmentoff" }, { 2, 2, 'v', "h_idata_size" }, { 4, 2, 'f', "h_advise" },
	{ 4, 2, 'f', "h_advise" }, { 6, 1, 'v', "h_algorithmtype" }, { 7, 1, 'f', "h_clusterbits" },
	{ 0, 8, 'v', "header" },
};

static const struct desc d_index[] = {
	{ 0, 2, 't', "di_advise" }, { 0, 2, 'f', "di_advise" }, { 2, 2, 'v', "di_clusterofs" },
	{ 4, 4, 'b', "blkaddr" }, { 4, 2, 'd', "delta0" }, { 6, 2, 'd', "delta1" },
};

static const struct desc d_extent[] = {
	{ 0, 4, 'f', "plen" }, { 0, 4, 's', "plen" }, { 3, 1, 'v', "format" }, { 4, 4, 'v', "pstart_lo" },
	{ 8, 4, 'v', "pstart_hi" }, { 12, 4, 's', "lstart_lo" }, { 12, 4, 's', "lstart_lo" },
	{ 16, 4, 'v', "lstart_hi" },
};

static const struct desc d_chunk[] = {
	{ 0, 2, 'v', "startblk_hi" }, { 2, 2, 'v', "device_id" }, { 4, 4, 'b', "startblk_lo" },
};

static void add_desc(struct seed_image *im, enum kind k, uint64_t pos, const struct desc *d, size_t n,
		     uint32_t len)
{
	for (; n--; d++)
		if ((uint32_t)d->off + d->size <= len)
			add_field(im, k, pos + d->off, d->size, d->hint, d->name);
	add_struct(im, k, pos, len);
}

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define ADD(im, k, pos, table, len)	add_desc(im, k, pos, table, COUNT(table), len)

static uint64_t val(const struct seed_image *im, uint64_t pos, int n)
{
	return pos < im->size && im->size - pos >= (uint64_t)n ? get(im->data + pos, n) : 0;
}

static void scan_super(struct seed_image *im)
{
	uint32_t sbsize = 128 + 16 * val(im, 1024 + 13, 1), incompat = val(im, 1024 + 80, 4), i;
	uint64_t pos = 1024 + sbsize;

	ADD(im, K_SUPER, 1024, d_super, sbsize);
	if (incompat & 2) {
		for (i = 0; i < 4; i++) {
			uint32_t len = val(im, pos, 2), o;

			if (!(val(im, 1024 + 84, 2) >> i & 1))
				continue;
			add_field(im, K_CONFIG, pos, 2, 'v', "length");
			for (o = 0; o < 6 && o < len; o++)
				add_field(im, K_CONFIG, pos + 2 + o, o & 1 ? 1 : 2, 'v', "setting");
			add_field(im, K_CONFIG, pos + 2, 4, 'v', "setting");
			add_struct(im, K_CONFIG, pos, 2 + len);
			pos = (pos + 2 + len + 3) & ~3ULL;
		}
	}
	if (incompat & 8)
		for (i = 0; i < val(im, 1024 + 86, 2) && i < 16; i++)
			ADD(im, K_DEVICE, (val(im, 1024 + 88, 2) + i) * 128, d_device, 128);
	pos = val(im, 1024 + 92, 4) * 4;
	/* prefixes kept in hidden files are reached by blind changes */
	if (val(im, 1024 + 8, 4) & 0x10 || !(incompat & 0x120))
		for (i = 0; i < val(im, 1024 + 91, 1); i++) {
			uint32_t len = val(im, pos, 2);

			add_field(im, K_PREFIX, pos, 2, 'v', "length");
			add_field(im, K_PREFIX, pos + 2, 1, 'v', "base index");
			add_field(im, K_PREFIX, pos + 3, 1, 'v', "infix");
			add_struct(im, K_PREFIX, pos, 2 + len);
			pos = (pos + 2 + len + 3) & ~3ULL;
		}
}

/* one xattr entry; returns its length, or 0 when that isn't one */
static uint64_t scan_xentry(struct seed_image *im, uint64_t pos)
{
	uint64_t len = 4 + val(im, pos, 1) + val(im, pos + 2, 2);

	if (pos + len > im->size)
		return 0;
	add_field(im, K_XENTRY, pos, 1, 'v', "e_name_len");
	add_field(im, K_XENTRY, pos + 1, 1, 'v', "e_name_index");
	add_field(im, K_XENTRY, pos + 2, 2, 'v', "e_value_size");
	add_field(im, K_XENTRY, pos + 4, 1, 'v', "name");
	if (val(im, pos + 1, 1) == 2 || val(im, pos + 1, 1) == 3)
		add_field(im, K_XENTRY, pos + 4 + 4 * (len / 4 % 5), 4, 'v', "acl");
	add_struct(im, K_XENTRY, pos, len);
	return (len + 3) & ~3ULL;
}

static void scan_xattrs(struct seed_image *im, uint64_t pos, uint32_t len)
{
	uint64_t end = pos + len, n;
	uint32_t i, shared = val(im, pos + 4, 1);

	add_field(im, K_XHEADER, pos, 4, 'v', "h_name_filter");
	add_field(im, K_XHEADER, pos + 4, 1, 'v', "h_shared_count");
	add_struct(im, K_XHEADER, pos, len);
	pos += 12;
	for (i = 0; i < shared && pos < end; i++, pos += 4) {
		add_field(im, K_XHEADER, pos, 4, 'v', "shared id");
		if (!(val(im, 1024 + 8, 4) & 8))
			scan_xentry(im, (val(im, 1024 + 44, 4) << im->bits) + 4 * val(im, pos, 4));
	}
	for (; pos < end && val(im, pos, 4); pos += n) {
		n = scan_xentry(im, pos);
		if (!n)
			break;
	}
}

static void scan_dir_block(struct seed_image *im, uint64_t pos, uint32_t len)
{
	uint32_t first = val(im, pos + 8, 2), i;

	if (!first || first % 12 || first >= len)
		return;
	for (i = 0; i < first / 12; i++) {
		uint32_t from = val(im, pos + 12 * i + 8, 2);
		uint32_t to = i + 1 < first / 12 ? val(im, pos + 12 * i + 20, 2) : len;

		ADD(im, K_DIRENT, pos + 12 * i, d_dirent, 12);
		if (from < to && to <= len) {
			add_field(im, K_NAME, pos + from, 1, 'c', "name");
			add_field(im, K_NAME, pos + to - 1, 1, 'c', "name");
			add_struct(im, K_NAME, pos + from, to - from);
		}
	}
}

/* a pcluster, or what is probably one */
static void scan_stream(struct seed_image *im, uint64_t pos)
{
	uint32_t i;

	for (i = 0; i < 32; i++)
		add_field(im, K_STREAM, pos + i, 1 + (i & 1), 'v', "head");
	add_struct(im, K_STREAM, pos, 1u << im->bits);
}

static void scan_extents(struct seed_image *im, uint64_t hdr, uint64_t size, uint32_t advise)
{
	uint32_t r = 4 << (advise >> 1 & 3);
	uint64_t base = (hdr + 8 + r - 1) & ~(uint64_t)(r - 1), n, i;

	if (r <= 8)
		n = (size >> (im->bits + (val(im, hdr + 7, 1) & 15))) + 1;
	else
		n = val(im, hdr, 4);
	if (n > 512)
		n = 512;
	if (r == 4) {
		add_field(im, K_EXTENT, base, 8, 'v', "pstart0");
		scan_stream(im, val(im, base, 8));
		base += 8;
	}
	for (i = 0; i < n; i++) {
		ADD(im, K_EXTENT, base + i * r, d_extent, r);
		if (r > 4)
			scan_stream(im, val(im, base + i * r + 4, 4));
	}
}

static void scan_compact(struct seed_image *im, uint64_t ebase, uint64_t size, uint32_t advise)
{
	uint64_t n = (size + (1u << im->bits) - 1) >> im->bits, l = 0, pos;
	uint32_t c4 = (32 - ebase % 32) / 4 % 8, c2 = 0;

	if (advise & 1 && c4 < n)
		c2 = (n - c4) & ~15ULL;
	while (l < n) {
		if (l >= c4 && l < c4 + c2) {
			pos = ebase + 4 * c4 + 2 * (l - c4);
			add_field(im, K_PACK, pos & ~31ULL, 32, 'p', "2-byte pack");
			add_struct(im, K_PACK, pos & ~31ULL, 32);
			l += 16;
		} else {
			pos = ebase + (l < c4 ? 4 * l : 4 * c4 + 2 * c2 + 4 * (l - c4 - c2));
			add_field(im, K_PACK, pos & ~7ULL, 8, 'p', "4-byte pack");
			add_struct(im, K_PACK, pos & ~7ULL, 8);
			scan_stream(im, (val(im, pos | 4, 4) + 1) << im->bits);
			l += 2;
		}
	}
}

static void scan_compressed(struct seed_image *im, uint64_t end, uint64_t size, int layout)
{
	uint64_t hdr = (end + 7) & ~7ULL, n, i;
	uint32_t advise = val(im, hdr + 4, 2);

	ADD(im, K_ZHEADER, hdr, d_zheader, 8);
	if (val(im, hdr + 7, 1) & 0x80)
		return;
	if (layout == 3) {
		scan_compact(im, hdr + 8, size, advise);
	} else if (advise & 1) {
		scan_extents(im, hdr, size, advise);
	} else {
		n = (size + (1u << im->bits) - 1) >> im->bits;
		for (i = 0; i < n && i < 512; i++) {
			uint64_t pos = hdr + 16 + 8 * i;

			ADD(im, K_INDEX, pos, d_index, 8);
			if ((val(im, pos, 2) & 3) == 1)
				scan_stream(im, val(im, pos + 4, 4) << im->bits);
		}
	}
}

static void scan_inode(struct seed_image *im, uint64_t pos)
{
	uint32_t format = val(im, pos, 2), layout = format >> 1 & 7, isize = format & 1 ? 64 : 32;
	uint32_t xcount = val(im, pos + 2, 2), type = val(im, pos + 4, 2) >> 12, bs = 1u << im->bits;
	uint64_t size = val(im, pos + 8, format & 1 ? 8 : 4), u = val(im, pos + 16, 4), i, n;
	uint32_t xsize = xcount ? 12 + 4 * (xcount - 1) : 0;
	uint64_t end = pos + isize + xsize;

	im->inode = grow(im->inode, im->ninode, sizeof(*im->inode));
	im->inode[im->ninode++] = pos;
	if (format & 1)
		ADD(im, K_INODE, pos, d_extended, 64);
	else
		ADD(im, K_INODE, pos, d_compact, 32);
	if (xcount)
		scan_xattrs(im, pos + isize, xsize);
	if (layout == 1 || layout == 3) {
		scan_compressed(im, end, size, layout);
		return;
	}
	if (layout == 4) {
		uint32_t unit = u & 0x20 ? 8 : 4, cbits = im->bits + (u & 31);

		add_field(im, K_CHUNK, pos + 16, 2, 'f', "format");
		end = (end + unit - 1) & ~(uint64_t)(unit - 1);
		for (i = 0; cbits < 40 && i << cbits < size && i < 512; i++) {
			if (unit == 8)
				ADD(im, K_CHUNK, end + 8 * i, d_chunk, 8);
			else
				add_field(im, K_CHUNK, end + 4 * i, 4, 'b', "block");
		}
		return;
	}
	if (type != 4 && type != 10)
		return;
	n = (size + bs - 1) / bs;
	for (i = 0; i < n; i++) {
		uint64_t at = layout == 2 && i == n - 1 ? end : (u + i) << im->bits;
		uint32_t len = size - i * bs < bs ? size - i * bs : bs;

		if (type == 4) {
			scan_dir_block(im, at, len);
		} else {
			add_field(im, K_LINK, at, 1, 'c', "target");
			add_field(im, K_LINK, at + len - 1, 1, 'c', "target");
			add_struct(im, K_LINK, at, len);
		}
	}
}

/* inodes are found by their looks: that also works inside compressed directories */
static int like_inode(const uint8_t *p)
{
	uint32_t format = get(p, 2), type = get(p + 4, 2) >> 12;
	static const uint8_t zero[16];

	if (format >> 5 || (format >> 1 & 7) > 4 || !(0x1556 >> type & 1) || get(p + 2, 2) > 4000)
		return 0;
	if (!get(p + 20, 4) || get(p + 20, 4) > 2000)
		return 0;
	if (format & 1)
		return !memcmp(p + 48, zero, 16) && get(p + 44, 4) < 1000 && get(p + 8, 8) >> 24 == 0;
	return !memcmp(p + 28, zero, 4) && get(p + 8, 4) >> 24 == 0;
}

void image_scan(struct seed_image *im)
{
	size_t pos;

	im->bits = val(im, 1024 + 12, 1);
	im->meta = val(im, 1024 + 40, 4) << im->bits;
	scan_super(im);
	for (pos = 0; pos + 64 <= im->size; pos += 32)
		if (like_inode(im->data + pos))
			scan_inode(im, pos);
}

/* ---- damage ---------------------------------------------------------------------- */

/* what a field may be set to; bits: its width */
static uint64_t value_of(const struct seed_image *im, struct rng *r, char hint, int bits, uint64_t old)
{
	uint64_t top = bits == 64 ? ~0ULL : (1ULL << bits) - 1, bs = 1ULL << im->bits;
	uint64_t blocks = im->size >> im->bits;

	if (hint == 'f' && rnd(r, 3))
		return old ^ 1ULL << rnd(r, bits < 17 || rnd(r, 2) ? bits : 12);
	if (hint == 'l')
		return (old & ~0xeULL) | rnd(r, 5) << 1;
	if (hint == 'm' && rnd(r, 3))
		return (old & 0xfff) | rnd(r, 16) << 12;
	if (hint == 't' && rnd(r, 2))
		return (old & ~3ULL) | rnd(r, 4);
	if (hint == 'c' && rnd(r, 2))
		return "\0/.a\377"[rnd(r, 5)];
	if (hint == 'd' && rnd(r, 3))
		return rnd(r, 2) ? rnd(r, 20) : 0x800 | rnd(r, 0x800);
	if (hint == 'n' && rnd(r, 3) && im->ninode) {
		uint64_t nid = (im->inode[rnd(r, im->ninode)] - im->meta) / 32;

		switch (rnd(r, 6)) {
		case 0:
			return nid | 1ULL << 63;
		case 1:
			return old ^ 1ULL << 63;
		case 2:
			return nid + 1 - rnd(r, 3);
		default:
			return nid;
		}
	}
	if (hint == 'b' && rnd(r, 3)) {
		switch (rnd(r, 5)) {
		case 0:
			return blocks + 1 - rnd(r, 3);
		case 1:
			return old + 1 - rnd(r, 3);
		default:
			return rnd(r, blocks);
		}
	}
	if (hint == 's' && rnd(r, 3)) {
		switch (rnd(r, 8)) {
		case 0:
			return old + rnd(r, 2 * bs) - bs;
		case 1:
			return (old & ~(bs - 1)) + rnd(r, 3) * bs;
		case 2:
			return (12ULL << 20) + rnd(r, 3) - 1;
		case 3:
			return (1ULL << 20) + rnd(r, 3) - 1;
		case 4:
			return rnd(r, 4096);
		case 5:
			return rnd(r, 1 << 22);
		case 6:
			return old + 1 - rnd(r, 3);
		default:
			return im->size + rnd(r, 3) - 1;
		}
	}
	switch (rnd(r, 16)) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return top;
	case 3:
		return top - rnd(r, 4);
	case 4:
		return top / 2 + 1;
	case 5:
		return top / 2 - rnd(r, 2);
	case 6:
		return old + 1;
	case 7:
		return old - 1;
	case 8:
		return old + rnd(r, 64) - 32;
	case 9:
	case 10:
		return old ^ 1ULL << rnd(r, bits);
	case 11:
		return 1ULL << rnd(r, bits);
	case 12:
		return rnd(r, 2) ? old << 1 : old >> 1;
	case 13:
		return rnd(r, 2) ? bs - rnd(r, 2) : rnd(r, bs);
	case 14:
		return rnd(r, 2) ? im->size >> rnd(r, 13) : rnd(r, im->size);
	default:
		return rnd64(r);
	}
}

/* one entry of a pack of compact indexes, or its base */
static void mutate_pack(const struct seed_image *im, struct rng *r, uint8_t *p, int len, FILE *log)
{
	int w = len == 8 ? 16 : 14, nr = len == 8 ? 2 : 16, j = rnd(r, nr), i;
	int lob = im->bits > 12 ? im->bits : 12;
	uint64_t old = 0, new;

	if (!rnd(r, 6)) {
		put(p + len - 4, 4, value_of(im, r, 'b', 32, get(p + len - 4, 4)));
		if (log)
			fprintf(log, " base");
		return;
	}
	for (i = 0; i < w; i++)
		old |= (uint64_t)(p[(w * j + i) / 8] >> (w * j + i) % 8 & 1) << i;
	if (rnd(r, 2))
		new = (old & ((1 << lob) - 1)) | rnd(r, 4) << lob;
	else
		new = (old & ~((1ULL << lob) - 1)) | (value_of(im, r, rnd(r, 2) ? 'd' : 'v', lob, old) &
						     ((1 << lob) - 1));
	for (i = 0; i < w; i++) {
		uint8_t *b = p + (w * j + i) / 8, m = 1 << (w * j + i) % 8;

		*b = new >> i & 1 ? *b | m : *b & ~m;
	}
	if (log)
		fprintf(log, " entry %d: 0x%llx to 0x%llx", j, (unsigned long long)old, (unsigned long long)new);
}

static int choose_kind(const struct seed_image *im, struct rng *r)
{
	int k;

	do
		k = rnd(r, K_NR);
	while (!im->k[k].nf || !im->k[k].ns);
	return k;
}

static void mutate_field(const struct seed_image *im, struct rng *r, uint8_t *d, size_t size, FILE *log)
{
	int k = choose_kind(im, r);
	const struct field *f = &im->k[k].f[rnd(r, im->k[k].nf)];
	uint64_t old, new;

	if (f->pos >= size || f->size > size - f->pos)
		return;
	if (log)
		fprintf(log, "%s %s at %u", kind_name[k], f->name, f->pos);
	if (f->hint == 'p') {
		mutate_pack(im, r, d + f->pos, f->size, log);
		return;
	}
	old = get(d + f->pos, f->size);
	new = value_of(im, r, f->hint, 8 * f->size, old);
	put(d + f->pos, f->size, new);
	if (log)
		fprintf(log, ": 0x%llx to 0x%llx", (unsigned long long)old,
			(unsigned long long)get(d + f->pos, f->size));
}

static void mutate_struct(const struct seed_image *im, struct rng *r, uint8_t *d, size_t size, FILE *log)
{
	int k = choose_kind(im, r), what = rnd(r, 6);
	struct structure a = im->k[k].s[rnd(r, im->k[k].ns)], b = im->k[k].s[rnd(r, im->k[k].ns)];
	uint32_t n = a.len < b.len ? a.len : b.len, i;

	if (a.pos + (uint64_t)a.len > size || b.pos + (uint64_t)b.len > size)
		return;
	if (log)
		fprintf(log, "%s at %u, %u bytes", kind_name[k], a.pos, a.len);
	switch (what) {
	case 0:
	case 1:
		memmove(d + a.pos, d + b.pos, n);
		break;
	case 2:
		for (i = 0; i < n; i++) {
			uint8_t t = d[a.pos + i];

			d[a.pos + i] = d[b.pos + i];
			d[b.pos + i] = t;
		}
		break;
	case 3:
		/* a structure of another kind */
		k = choose_kind(im, r);
		b = im->k[k].s[rnd(r, im->k[k].ns)];
		n = a.len < b.len ? a.len : b.len;
		if (b.pos + (uint64_t)b.len <= size)
			memmove(d + a.pos, d + b.pos, n);
		break;
	case 4:
		memset(d + a.pos, rnd(r, 2) ? 0 : 0xff, a.len);
		break;
	default:
		for (i = 0; i < a.len; i++)
			d[a.pos + i] = rnd64(r);
	}
	if (log)
		fprintf(log, " %s", (const char *[]){ "copied", "copied", "exchanged", "replaced", "filled",
						      "randomised" }[what]);
}

/* a position that is worth it: in metadata, behind an inode, or anywhere */
static size_t any_pos(const struct seed_image *im, struct rng *r, size_t size)
{
	size_t pos = rnd(r, size);
	int k;

	switch (rnd(r, 4)) {
	case 0:
		if (im->ninode)
			pos = im->inode[rnd(r, im->ninode)] + rnd(r, 256);
		break;
	case 1:
		k = choose_kind(im, r);
		pos = im->k[k].s[rnd(r, im->k[k].ns)].pos;
		pos += rnd(r, 64);
	}
	return pos < size ? pos : size - 1;
}

static void mutate_blind(const struct seed_image *im, struct rng *r, uint8_t *d, size_t size, FILE *log)
{
	size_t pos = any_pos(im, r, size), bs = 1u << im->bits, a, b, n, i;
	int what = rnd(r, 8);

	switch (what) {
	case 0:
		d[pos] ^= 1 << rnd(r, 8);
		break;
	case 1:
		d[pos] = rnd64(r);
		break;
	case 2:
		for (i = 2 + rnd(r, 30); i--;)
			d[any_pos(im, r, size)] ^= 1 << rnd(r, 8);
		break;
	case 3:
		n = 1 + rnd(r, 32);
		for (i = 0; i < n && pos + i < size; i++)
			d[pos + i] = rnd64(r);
		break;
	case 4:
		a = rnd(r, size / bs) * bs;
		b = rnd(r, size / bs) * bs;
		for (i = 0; i < bs; i++) {
			uint8_t t = d[a + i];

			d[a + i] = d[b + i];
			d[b + i] = t;
		}
		pos = a;
		break;
	case 5:
		a = rnd(r, size / bs) * bs;
		pos = rnd(r, size / bs) * bs;
		memmove(d + pos, d + a, bs);
		break;
	case 6:
		pos = pos & ~(bs - 1);
		if (pos + bs <= size)
			memset(d + pos, rnd(r, 3) ? 0 : 0xff, bs);
		break;
	default:
		n = 1 + rnd(r, bs);
		pos &= ~3UL;
		for (i = 0; i < n && pos + i < size; i++)
			d[pos + i] = 0;
	}
	if (log)
		fprintf(log, "blind change %d at %zu", what, pos);
}

/* the image gets another length, or a part of it another place */
static void mutate_length(const struct seed_image *im, struct rng *r, uint8_t *d, size_t *size, FILE *log)
{
	size_t pos = any_pos(im, r, *size), n;
	int what = rnd(r, 3);

	if (what == 0) {
		pos = rnd(r, 4) ? rnd(r, *size) : 1024 + rnd(r, 600);
		if (rnd(r, 2))
			pos &= ~511UL;
		if (pos >= 1 && pos < *size)
			*size = pos;
	} else {
		n = rnd(r, 2) ? 1 + rnd(r, 64) : 32 * (1 + rnd(r, 8));
		if (n > *size - pos)
			n = *size - pos;
		if (what == 1)
			memmove(d + pos, d + pos + n, *size - pos - n);
		else
			memmove(d + pos + n, d + pos, *size - pos - n);
	}
	if (log)
		fprintf(log, "%s at %zu", (const char *[]){ "cut off", "bytes taken out", "bytes put in" }[what], pos);
}

static void set_checksum(uint8_t *d, size_t size, uint32_t bits)
{
	uint32_t crc = ~0u, n = bits > 10 ? (1u << bits) - 1024 : 1u << bits, i, j;

	if (bits < 9 || bits > 12 || size < 1024 + n || !(d[1024 + 8] & 1))
		return;
	memset(d + 1024 + 4, 0, 4);
	for (i = 0; i < n; i++) {
		crc ^= d[1024 + i];
		for (j = 0; j < 8; j++)
			crc = crc >> 1 ^ (0x82f63b78 & -(crc & 1));
	}
	put(d + 1024 + 4, 4, crc);
}

int image_mutate(const struct seed_image *im, uint8_t *d, size_t *size, uint64_t seed, uint64_t skip,
		 FILE *log)
{
	struct rng r = rng_of(seed, 1);
	int steps = rnd(&r, 2) ? 1 : rnd(&r, 2) ? 2 : 3 + rnd(&r, 6), i;

	for (i = 0; i < steps; i++) {
		struct rng m = rng_of(seed, 100 + i);
		uint32_t what = rnd(&m, 100);

		if (skip >> i & 1)
			continue;
		if (log)
			fprintf(log, "%d: ", i);
		if (what < 64)
			mutate_field(im, &m, d, *size, log);
		else if (what < 76)
			mutate_struct(im, &m, d, *size, log);
		else if (what < 97)
			mutate_blind(im, &m, d, *size, log);
		else
			mutate_length(im, &m, d, size, log);
		if (log)
			fprintf(log, "\n");
	}
	if (rnd(&r, 40))
		set_checksum(d, *size, *size > 1036 ? d[1024 + 12] : 0);
	return steps;
}
