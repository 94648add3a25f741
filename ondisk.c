// SPDX-License-Identifier: GPL-2.0
/*
 * The metadata window, and decoding of the superblock, compression
 * configurations, device slots and inodes.
 *
 * Pure: bytes in, validated host-order structures out.  Every structure is
 * copied out of its window once, and only the copy is looked at.
 */
#include "core.h"

/* ---- metadata window ------------------------------------------------------ */

const void *erofs_meta_ptr_slow(struct erofs_meta *m, u64 off, u32 need)
{
	u64 d;
	int err;

	if (off >= m->size || need > m->size - off) {
		err = erofs_fault_set(&m->fault, -EFSCORRUPTED, "metadata beyond the end",
				      off, need);
		return ERR_PTR(err);
	}

	d = off - m->start;
	if (d >= m->len) {
		err = m->map(m, off);
		if (unlikely(err))
			return ERR_PTR(err);

		d = off - m->start;
		if (unlikely(d >= m->len))
			return ERR_PTR(-EIO);
		/* the last block may be longer than the space */
		if (m->len > m->size - m->start)
			m->len = m->size - m->start;
		if (likely(m->len - d >= need))
			return m->base + d;
	}

	err = erofs_fault_set(&m->fault, -EFSCORRUPTED, "metadata crosses a block", off, need);
	return ERR_PTR(err);
}

int erofs_meta_read(struct erofs_meta *m, u64 off, void *buf, u32 len)
{
	u8 *out = buf;

	if (!len)
		return 0;
	if (off >= m->size || len > m->size - off)
		return erofs_fault_set(&m->fault, -EFSCORRUPTED, "metadata beyond the end",
				       off, len);

	while (len) {
		const void *p = erofs_meta_ptr(m, off, 1);
		u32 n;

		if (IS_ERR(p))
			return PTR_ERR(p);
		n = min_t(u64, len, m->len - (off - m->start));
		memcpy(out, p, n);
		out += n;
		off += n;
		len -= n;
	}
	/* whoever checks the copy must not be given the original again */
	barrier();
	return 0;
}

/* ---- crc32c ---------------------------------------------------------------- */

/* remainders of the 16 nibbles for the reflected polynomial 0x82f63b78 */
static const u32 crc32c_nibble[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
	0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

u32 erofs_crc32c(u32 crc, const void *p, size_t len)
{
	const u8 *s = p;

	while (len--) {
		crc ^= *s++;
		crc = (crc >> 4) ^ crc32c_nibble[crc & 15];
		crc = (crc >> 4) ^ crc32c_nibble[crc & 15];
	}
	return crc;
}

/* ---- superblock ------------------------------------------------------------ */

#define NSEC_MAX	999999999u

/* positions relative to the volume, as faults report them */
#define SB_POS(field)	(EROFS_SUPER_OFFSET + offsetof(struct erofs_super_block, field))

/* the checksum covers the rest of the block, or all of a block that isn't block 0 */
static u32 super_csum_len(u32 blksz)
{
	return blksz > EROFS_SUPER_OFFSET ? blksz - EROFS_SUPER_OFFSET : blksz;
}

/*
 * The part that was copied to @sb is hashed from there, so that what is used
 * later is what was verified.
 */
static u32 super_csum(const struct erofs_super_block *sb, u32 sblen, const u8 *buf, u32 len)
{
	static const u8 zero[sizeof(sb->checksum)];
	const u8 *copy = (const u8 *)sb;
	u32 crc;

	crc = erofs_crc32c(~0u, copy, offsetof(struct erofs_super_block, checksum));
	crc = erofs_crc32c(crc, zero, sizeof(zero));
	crc = erofs_crc32c(crc, copy + 8, sblen - 8);
	return erofs_crc32c(crc, buf + sblen, len - sblen);
}

int erofs_super_decode(const void *buf, size_t len, u32 max_blkszbits,
		       struct erofs_super *s, struct erofs_fault *f)
{
	struct erofs_super_block sb;
	u32 sblen = EROFS_SB_BASE_SIZE;
	u32 n, v;
	u64 nid;

	if (len < EROFS_SB_BASE_SIZE)
		return erofs_fault_set(f, -EINVAL, "no room for a superblock",
				       EROFS_SUPER_OFFSET, len);

	memset(&sb, 0, sizeof(sb));
	memcpy(&sb, buf, EROFS_SB_BASE_SIZE);
	barrier();

	v = le32_to_cpu(sb.magic);
	if (v != EROFS_SUPER_MAGIC)
		return erofs_fault_set(f, -EINVAL, "bad magic", SB_POS(magic), v);

	memset(s, 0, sizeof(*s));
	if (sb.blkszbits < EROFS_MIN_BLKSZBITS || sb.blkszbits > EROFS_MAX_BLKSZBITS ||
	    sb.blkszbits > max_blkszbits)
		return erofs_fault_set(f, -EINVAL, "unsupported block size",
				       SB_POS(blkszbits), sb.blkszbits);
	s->blkszbits = sb.blkszbits;
	s->blksz = 1u << s->blkszbits;

	s->sb_size = EROFS_SB_BASE_SIZE + EROFS_SB_EXTSLOT_SIZE * sb.sb_extslots;
	if (s->sb_size > 4096 - EROFS_SUPER_OFFSET)
		return erofs_fault_set(f, -EINVAL, "superblock too large",
				       SB_POS(sb_extslots), s->sb_size);
	if (s->sb_size > len)
		return erofs_fault_set(f, -EINVAL, "superblock beyond the end",
				       SB_POS(sb_extslots), s->sb_size);
	if (sb.sb_extslots) {
		sblen = sizeof(sb);
		memcpy((u8 *)&sb + EROFS_SB_BASE_SIZE, (const u8 *)buf + EROFS_SB_BASE_SIZE,
		       sizeof(sb) - EROFS_SB_BASE_SIZE);
		barrier();
	}

	s->feature_compat = le32_to_cpu(sb.feature_compat);
	s->feature_incompat = le32_to_cpu(sb.feature_incompat);

	if (s->feature_compat & EROFS_FEATURE_COMPAT_SB_CHKSUM) {
		n = super_csum_len(s->blksz);
		if (n > len)
			return erofs_fault_set(f, -EINVAL, "superblock block beyond the end",
					       EROFS_SUPER_OFFSET, n);
		v = super_csum(&sb, sblen, buf, n);
		if (v != le32_to_cpu(sb.checksum))
			return erofs_fault_set(f, -EBADMSG, "superblock checksum mismatch",
					       SB_POS(checksum), le32_to_cpu(sb.checksum));
	}

	v = s->feature_incompat & ~EROFS_ALL_FEATURE_INCOMPAT;
	if (v)
		return erofs_fault_set(f, -EINVAL, "unknown incompatible features",
				       SB_POS(feature_incompat), v);
	if (sb.dirblkbits)
		return erofs_fault_set(f, -EINVAL, "unsupported directory block size",
				       SB_POS(dirblkbits), sb.dirblkbits);

	s->inos = le64_to_cpu(sb.inos);
	s->epoch = le64_to_cpu(sb.epoch);
	s->build_time = (u64)s->epoch + le32_to_cpu(sb.build_time);
	s->fixed_nsec = min_t(u32, le32_to_cpu(sb.fixed_nsec), NSEC_MAX);
	s->meta_blkaddr = le32_to_cpu(sb.meta_blkaddr);
	s->xattr_blkaddr = le32_to_cpu(sb.xattr_blkaddr);
	memcpy(s->uuid, sb.uuid, sizeof(s->uuid));
	memcpy(s->label, sb.volume_name, sizeof(sb.volume_name));

	s->blocks = le32_to_cpu(sb.blocks_lo);
	nid = le64_to_cpu(sb.rootnid_8b);
	if (nid && (s->feature_incompat & EROFS_FEATURE_INCOMPAT_48BIT)) {
		s->root_nid = nid;
		s->blocks |= (u64)le16_to_cpu(sb.rb.blocks_hi) << 32;
	} else {
		s->root_nid = le16_to_cpu(sb.rb.rootnid_2b);
	}

	if (s->feature_incompat & EROFS_FEATURE_INCOMPAT_FRAGMENTS) {
		s->packed_nid = le64_to_cpu(sb.packed_nid);
		if (s->packed_nid & EROFS_NID_METABOX)
			return erofs_fault_set(f, -EFSCORRUPTED, "packed inode in the metabox",
					       SB_POS(packed_nid), s->packed_nid);
	}

	if (erofs_has_metabox(s)) {
		if (!sb.sb_extslots)
			return erofs_fault_set(f, -EFSCORRUPTED, "no room for the metabox nid",
					       SB_POS(sb_extslots), sb.sb_extslots);
		s->metabox_nid = le64_to_cpu(sb.metabox_nid);
		if (s->metabox_nid & EROFS_NID_METABOX)
			return erofs_fault_set(f, -EFSCORRUPTED, "metabox inode in the metabox",
					       SB_POS(metabox_nid), s->metabox_nid);
	}

	s->xattr_prefix_count = sb.xattr_prefix_count;
	s->xattr_prefix_pos = (u64)le32_to_cpu(sb.xattr_prefix_start) << 2;
	s->xattr_filter = (s->feature_compat & EROFS_FEATURE_COMPAT_XATTR_FILTER) &&
			  !sb.xattr_filter_reserved;
	s->ishare_prefix = -1;
	if (s->feature_compat & EROFS_FEATURE_COMPAT_ISHARE_XATTRS) {
		if (sb.ishare_xattr_prefix_id >= s->xattr_prefix_count)
			return erofs_fault_set(f, -EFSCORRUPTED, "bad fingerprint prefix",
					       SB_POS(ishare_xattr_prefix_id),
					       sb.ishare_xattr_prefix_id);
		s->ishare_prefix = sb.ishare_xattr_prefix_id;
	}

	if (s->feature_incompat & EROFS_FEATURE_INCOMPAT_DEVICE_TABLE) {
		s->extra_devices = le16_to_cpu(sb.extra_devices);
		s->devt_pos = (u64)le16_to_cpu(sb.devt_slotoff) * EROFS_DEVT_SLOT_SIZE;
		/* all ones up to the highest bit of the largest id */
		v = s->extra_devices;
		for (n = 1; n < 16; n <<= 1)
			v |= v >> n;
		s->device_id_mask = v;
	}

	s->lz4_left_aligned = !(s->feature_incompat & EROFS_FEATURE_INCOMPAT_LZ4_0PADDING);
	s->lz4_max_distance = U16_MAX;
	s->lz4_max_pclusterblks = 1;
	if (s->feature_incompat & EROFS_FEATURE_INCOMPAT_COMPR_CFGS) {
		s->algs = le16_to_cpu(sb.u1.available_compr_algs);
		if (s->algs >> Z_EROFS_COMPRESSION_MAX)
			return erofs_fault_set(f, -EOPNOTSUPP, "unknown compression algorithms",
					       SB_POS(u1), s->algs);
	} else {
		/* images of this age use LZ4 without saying so anywhere */
		s->algs = BIT(Z_EROFS_COMPRESSION_LZ4);
		if (sb.u1.lz4_max_distance)
			s->lz4_max_distance = le16_to_cpu(sb.u1.lz4_max_distance);
	}
	return 0;
}

/* ---- compression configurations (section 4) ------------------------------- */

#define CFG_MAX_SIZE	14

/* payload sizes by algorithm; what follows them belongs to later versions */
static const u8 cfg_size[Z_EROFS_COMPRESSION_MAX] = { 14, 14, 6, 6 };

static int cfg_decode(struct erofs_super *s, u32 alg, const u8 *cfg, u64 pos,
		      struct erofs_fault *f)
{
	u32 v;

	switch (alg) {
	case Z_EROFS_COMPRESSION_LZ4:
		v = get_unaligned_le16(cfg);
		s->lz4_max_distance = v ? v : U16_MAX;
		v = get_unaligned_le16(cfg + 2);
		if (v << s->blkszbits > Z_EROFS_PCLUSTER_MAX_SIZE)
			return erofs_fault_set(f, -EINVAL, "LZ4 clusters too large", pos, v);
		s->lz4_max_pclusterblks = v ? v : 1;
		return 0;
	case Z_EROFS_COMPRESSION_LZMA:
		v = get_unaligned_le32(cfg);
		if (v < 4096 || v > 8 * 1024 * 1024)
			return erofs_fault_set(f, -EINVAL, "bad LZMA dictionary size", pos, v);
		s->lzma_dict_size = v;
		v = get_unaligned_le16(cfg + 4);
		if (v)
			return erofs_fault_set(f, -EINVAL, "unknown LZMA format", pos, v);
		return 0;
	case Z_EROFS_COMPRESSION_DEFLATE:
		/* smaller windows, even 0, occur and all decode with the largest */
		if (cfg[0] > 15)
			return erofs_fault_set(f, -EOPNOTSUPP, "DEFLATE window too large",
					       pos, cfg[0]);
		return 0;
	default:
		if (cfg[0])
			return erofs_fault_set(f, -EINVAL, "unknown ZSTD format", pos, cfg[0]);
		if (cfg[1] > 10)
			return erofs_fault_set(f, -EINVAL, "ZSTD window too large", pos, cfg[1]);
		s->zstd_windowlog = 10 + cfg[1];
		return 0;
	}
}

int erofs_super_decode_cfgs(struct erofs_super *s, struct erofs_meta *m)
{
	u64 pos = EROFS_SUPER_OFFSET + s->sb_size;
	u32 alg;

	if (!(s->feature_incompat & EROFS_FEATURE_INCOMPAT_COMPR_CFGS))
		return 0;

	for (alg = 0; alg < Z_EROFS_COMPRESSION_MAX; alg++) {
		u8 cfg[CFG_MAX_SIZE];
		u8 hdr[2];
		u32 len;
		int err;

		if (!(s->algs & BIT(alg)))
			continue;

		pos = round_up(pos, 4);
		if (pos >= m->size || m->size - pos < sizeof(hdr))
			return erofs_fault_set(&m->fault, -EINVAL,
					       "compression record beyond the end", pos, alg);
		err = erofs_meta_read(m, pos, hdr, sizeof(hdr));
		if (err)
			return err;
		pos += sizeof(hdr);

		len = get_unaligned_le16(hdr);
		if (!len)
			len = U16_MAX + 1;
		if (len > m->size - pos)
			return erofs_fault_set(&m->fault, -EINVAL,
					       "compression record beyond the end", pos, len);
		if (len < cfg_size[alg])
			return erofs_fault_set(&m->fault, -EINVAL,
					       "compression record too short", pos, len);

		err = erofs_meta_read(m, pos, cfg, cfg_size[alg]);
		if (err)
			return err;
		err = cfg_decode(s, alg, cfg, pos, &m->fault);
		if (err)
			return err;
		pos += len;
	}
	return 0;
}

/* ---- devices --------------------------------------------------------------- */

int erofs_device_decode(const struct erofs_super *s, struct erofs_meta *m,
			u32 idx, struct erofs_device_desc *d)
{
	u64 pos = s->devt_pos + (u64)idx * EROFS_DEVT_SLOT_SIZE;
	struct erofs_deviceslot slot;
	const void *p;

	p = erofs_meta_ptr(m, pos, sizeof(slot));
	if (IS_ERR(p))
		return PTR_ERR(p);
	memcpy(&slot, p, sizeof(slot));
	barrier();

	d->blocks = le32_to_cpu(slot.blocks_lo);
	d->uniaddr = le32_to_cpu(slot.uniaddr_lo);
	if (s->feature_incompat & EROFS_FEATURE_INCOMPAT_48BIT) {
		d->blocks |= (u64)le16_to_cpu(slot.blocks_hi) << 32;
		d->uniaddr |= (u64)le16_to_cpu(slot.uniaddr_hi) << 32;
	}
	static_assert(sizeof(d->tag) == sizeof(slot.tag) + 1, "room for a terminator");
	memcpy(d->tag, slot.tag, sizeof(slot.tag));
	d->tag[sizeof(slot.tag)] = '\0';
	return 0;
}

/* ---- inodes ---------------------------------------------------------------- */

int erofs_nid_pos(const struct erofs_super *s, u64 nid, u64 *pos, struct erofs_fault *f)
{
	u64 slot = nid & ~EROFS_NID_METABOX;
	u64 base = 0;

	if (!(nid & EROFS_NID_METABOX))
		base = erofs_blk_pos(s, s->meta_blkaddr);
	else if (!erofs_has_metabox(s))
		return erofs_fault_set(f, -EFSCORRUPTED, "metabox nid without metabox", 0, nid);

	/* 60 bits of position are far more than any address can reach */
	if (slot >> (60 - EROFS_ISLOTBITS))
		return erofs_fault_set(f, -EFSCORRUPTED, "nid out of range", 0, nid);
	*pos = base + (slot << EROFS_ISLOTBITS);
	return 0;
}

/* i_u and the high bits @hi (valid if @has_hi) by type and layout, section 6.5 */
static int inode_decode_addr(const struct erofs_super *s, struct erofs_inode_desc *d,
			     u32 i_u, u16 hi, bool has_hi, struct erofs_fault *f)
{
	u64 addr = i_u;

	switch (d->mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
		break;
	case S_IFCHR:
	case S_IFBLK:
		d->rdev = i_u;
		return 0;
	case S_IFIFO:
	case S_IFSOCK:
		return 0;
	default:
		return erofs_fault_set(f, -EFSCORRUPTED, "bad file type", d->iloc, d->mode);
	}

	if (has_hi)
		addr |= (u64)hi << 32;

	switch (d->layout) {
	case EROFS_INODE_FLAT_PLAIN:
		if (addr != (has_hi ? BIT_ULL(48) - 1 : BIT_ULL(32) - 1))
			d->startblk = addr;
		return 0;
	case EROFS_INODE_FLAT_INLINE:
		/* has no form for holes; all ones are common when there are no blocks */
		d->startblk = addr;
		return 0;
	case EROFS_INODE_CHUNK_BASED:
		d->chunk_format = (u16)i_u;
		if (d->chunk_format & ~EROFS_CHUNK_FORMAT_ALL)
			return erofs_fault_set(f, -EOPNOTSUPP, "unknown chunk format",
					       d->iloc, d->chunk_format);
		d->chunk_bits = s->blkszbits +
				(d->chunk_format & EROFS_CHUNK_FORMAT_BLKBITS_MASK);
		return 0;
	default:
		d->cblks = addr;
		if (!s->algs)
			return erofs_fault_set(f, -EFSCORRUPTED,
					       "compressed inode without algorithms",
					       d->iloc, d->layout);
		return 0;
	}
}

/* the slot behind the first one of an extended inode */
struct inode_second_half {
	__le64 i_mtime;
	__le32 i_mtime_nsec;
	__le32 i_nlink;
	u8 i_reserved2[16];
} __packed;
static_assert(offsetof(struct erofs_inode_extended, i_mtime) ==
	      sizeof(struct erofs_inode_extended) - sizeof(struct inode_second_half), "half");

int erofs_inode_decode(const struct erofs_super *s, struct erofs_meta *m,
		       u64 nid, struct erofs_inode_desc *d)
{
	const struct erofs_inode_compact *c;
	u16 fmt, icount, nb;
	bool has_hi;
	u32 i_u;
	u64 pos;
	int err;

	err = erofs_nid_pos(s, nid, &pos, &m->fault);
	if (unlikely(err))
		return err;

	/* slots are as long as a compact inode: neither half crosses a block */
	c = erofs_meta_ptr(m, pos, sizeof(*c));
	if (IS_ERR(c))
		return PTR_ERR(c);
	/* every field is read once, and behind barrier() only the copies are looked at */
	fmt = le16_to_cpu(c->i_format);
	icount = le16_to_cpu(c->i_xattr_icount);
	nb = le16_to_cpu(c->i_nb);
	d->mode = le16_to_cpu(c->i_mode);
	barrier();

	d->layout = (fmt >> EROFS_I_LAYOUT_SHIFT) & EROFS_I_LAYOUT_MASK;
	if (unlikely((fmt & ~EROFS_I_ALL) || d->layout >= EROFS_INODE_LAYOUT_MAX))
		return erofs_fault_set(&m->fault, -EOPNOTSUPP, "unknown inode format", pos, fmt);

	d->nid = nid;
	d->iloc = pos;
	d->in_metabox = nid & EROFS_NID_METABOX;

	if (fmt & EROFS_I_EXTENDED) {
		const struct erofs_inode_extended *e = (const void *)c;
		const struct inode_second_half *h;

		d->isize = sizeof(*e);
		d->size = le64_to_cpu(e->i_size);
		i_u = le32_to_cpu(e->i_u);
		d->uid = le32_to_cpu(e->i_uid);
		d->gid = le32_to_cpu(e->i_gid);
		barrier();

		h = erofs_meta_ptr(m, pos + sizeof(*c), sizeof(*h));
		if (IS_ERR(h))
			return PTR_ERR(h);
		d->mtime = le64_to_cpu(h->i_mtime);
		d->mtime_nsec = le32_to_cpu(h->i_mtime_nsec);
		d->nlink = le32_to_cpu(h->i_nlink);
		barrier();

		has_hi = true;
		if (unlikely(d->mtime_nsec > NSEC_MAX))
			d->mtime_nsec = NSEC_MAX;
		if (unlikely(d->size >> 63))
			return erofs_fault_set(&m->fault, -EFSCORRUPTED, "bad file size",
					       pos, d->size);
	} else {
		d->isize = sizeof(*c);
		d->size = le32_to_cpu(c->i_size);
		i_u = le32_to_cpu(c->i_u);
		d->uid = le16_to_cpu(c->i_uid);
		d->gid = le16_to_cpu(c->i_gid);
		d->mtime = (u64)s->epoch + le32_to_cpu(c->i_mtime);
		barrier();

		d->mtime_nsec = s->fixed_nsec;
		has_hi = (fmt & EROFS_I_NLINK_1) && !S_ISDIR(d->mode);
		d->nlink = has_hi ? 1 : nb;
	}

	d->dot_omitted = (fmt & EROFS_I_DOT_OMITTED) && S_ISDIR(d->mode);
	d->xattr_isize = icount ? sizeof(struct erofs_xattr_ibody_header) + 4 * (icount - 1) : 0;

	/* at most 2^60 + 2^44 + 2^19: see erofs_nid_pos() */
	d->body = pos + d->isize + d->xattr_isize;

	d->startblk = EROFS_NULL_BLK;
	d->cblks = 0;
	d->rdev = 0;
	d->chunk_format = 0;
	d->chunk_bits = 0;
	return inode_decode_addr(s, d, i_u, nb, has_hi, &m->fault);
}
