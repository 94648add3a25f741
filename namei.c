// SPDX-License-Identifier: GPL-2.0
/*
 * namei.c - names and file handles: lookup in a directory, and going from a
 * handle back to a dentry.  What is inside a directory block is dirent.c's.
 */
#include <linux/exportfs.h>
#include "internal.h"
#include "trace.h"

/* a directory that is searched */
struct erofs_dirsearch {
	struct erofs_metabuf b;
	u64 base;		/* of the directory's bytes in @b */
	u64 size;
	u32 blksz;
};

/* make the directory block at @blk available */
static int erofs_dblk_load(struct erofs_dirsearch *ds, u64 blk, struct erofs_dblk *d)
{
	u64 pos = blk * ds->blksz;
	u32 len = min_t(u64, ds->blksz, ds->size - pos);
	const void *p = erofs_meta_ptr(&ds->b.m, ds->base + pos, len);

	if (IS_ERR(p))
		return PTR_ERR(p);
	return erofs_dblk_init(d, p, len, ds->blksz, &ds->b.m.fault);
}

/* entries of a block take so many bits in a hint, the block's number the rest */
#define EROFS_HINT_BITS		9

/* the entry behind number @at of block @blk */
static u32 erofs_dir_hint(const struct erofs_dblk *d, u64 blk, u32 at)
{
	BUILD_BUG_ON((1 << EROFS_MAX_BLKSZBITS) / sizeof(struct erofs_dirent) >=
		     1 << EROFS_HINT_BITS);

	return at + 1 < d->count ? blk << EROFS_HINT_BITS | (at + 1) :
				   (blk + 1) << EROFS_HINT_BITS;
}

/*
 * The last block whose first name isn't behind the wanted one can have it (section 8.2).
 * @hint: the entry behind the one found before.  Walks of a tree look names up in their
 * order, so it is tried first; at worst it divides the blocks unevenly.
 */
static int erofs_dir_find(struct erofs_dirsearch *ds, const struct qstr *name, u32 *hint,
			  struct erofs_dirent_desc *de)
{
	struct erofs_fault *f = &ds->b.m.fault;
	u64 lo = 0, hi = (ds->size + ds->blksz - 1) >> ilog2(ds->blksz);
	u32 guess = READ_ONCE(*hint);
	u32 at = guess & ((1U << EROFS_HINT_BITS) - 1);
	u64 last = guess >> EROFS_HINT_BITS;
	struct erofs_dblk d;
	int err, cmp;

	if (hi > 1 && last < hi) {
		err = erofs_dblk_load(ds, last, &d);
		if (!err)
			err = erofs_dblk_find(&d, name->name, name->len, &at, de, &cmp, f);
		if (!err)
			WRITE_ONCE(*hint, erofs_dir_hint(&d, last, at));
		if (!err || (err == -ENOENT && !cmp))
			return err;
		/* what is wrong there matters to those who ask for its names: search all */
		if (unlikely(err != -ENOENT))
			f->what = NULL;
		else if (cmp < 0)
			hi = last;
		else
			lo = last + 1;
		if (lo >= hi)
			return -ENOENT;
	}
	while (hi - lo > 1) {
		u64 mid = lo + (hi - lo) / 2;

		err = erofs_dblk_load(ds, mid, &d);
		if (!err)
			err = erofs_dblk_cmp_first(&d, name->name, name->len, &cmp, f);
		if (err)
			return err;
		if (cmp < 0)
			hi = mid;
		else
			lo = mid;
	}
	err = erofs_dblk_load(ds, lo, &d);
	if (!err)
		err = erofs_dblk_find(&d, name->name, name->len, &at, de, &cmp, f);
	if (!err)
		WRITE_ONCE(*hint, erofs_dir_hint(&d, lo, at));
	return err;
}

int erofs_namei(struct inode *dir, const struct qstr *name, u64 *nid, u8 *ftype)
{
	struct erofs_dirent_desc de;
	struct erofs_dirsearch ds;
	int err;

	ds.size = i_size_read(dir);
	ds.blksz = EROFS_SB(dir->i_sb)->s.blksz;
	if (!ds.size)
		return -ENOENT;
	ds.base = erofs_metabuf_dir(&ds.b, dir);
	err = erofs_dir_find(&ds, name, &EROFS_I(dir)->dir_hint, &de);
	if (!err) {
		*nid = de.nid;
		*ftype = de.ftype;
	} else if (err != -ENOENT) {
		erofs_fault_report(dir->i_sb, true, EROFS_I(dir)->d.nid, err, &ds.b.m.fault);
	}
	erofs_metabuf_put(&ds.b);
	return err;
}

static struct dentry *erofs_lookup(struct inode *dir, struct dentry *dentry, unsigned int flags)
{
	struct inode *inode = NULL;
	u64 nid = 0;
	u8 ftype;
	int err;

	if (dentry->d_name.len > EROFS_NAME_LEN)
		return ERR_PTR(-ENAMETOOLONG);
	err = erofs_namei(dir, &dentry->d_name, &nid, &ftype);
	trace_erofs_lookup(dir, dentry->d_name.name, nid, err);
	if (!err)
		inode = erofs_iget(dir->i_sb, nid);
	else if (err != -ENOENT)
		return ERR_PTR(err);
	return d_splice_alias(inode, dentry);
}

const struct inode_operations erofs_dir_iops = {
	.lookup		= erofs_lookup,
	.getattr	= erofs_getattr,
	.listxattr	= erofs_listxattr,
	.get_inode_acl	= erofs_get_acl,
	.fiemap		= erofs_fiemap,
};

/*
 * Handles: nid high, nid low, generation (always 0), and the same three words
 * for the parent if one is wanted: what the kernel's driver has made of them
 * since it knows this form, so that handles survive a change of the driver.
 */
#define EROFS_FH_WORDS	3

static int erofs_encode_fh(struct inode *inode, u32 *fh, int *max_len, struct inode *parent)
{
	int len = parent ? 2 * EROFS_FH_WORDS : EROFS_FH_WORDS;
	u64 nid = EROFS_I(inode)->d.nid;

	if (*max_len < len) {
		*max_len = len;
		return FILEID_INVALID;
	}
	*max_len = len;
	fh[0] = upper_32_bits(nid);
	fh[1] = lower_32_bits(nid);
	fh[2] = inode->i_generation;
	if (!parent)
		return FILEID_INO64_GEN;
	nid = EROFS_I(parent)->d.nid;
	fh[3] = upper_32_bits(nid);
	fh[4] = lower_32_bits(nid);
	fh[5] = parent->i_generation;
	return FILEID_INO64_GEN_PARENT;
}

static struct dentry *erofs_fh_to(struct super_block *sb, const u32 *raw)
{
	struct inode *inode;

	if (raw[2])
		return ERR_PTR(-ESTALE);
	inode = erofs_iget_untrusted(sb, raw[1] | (u64)raw[0] << 32);
	if (IS_ERR(inode) && PTR_ERR(inode) != -ENOMEM)
		return ERR_PTR(-ESTALE);
	return d_obtain_alias(inode);
}

static struct dentry *erofs_fh_to_dentry(struct super_block *sb, struct fid *fid, int fh_len,
					 int fh_type)
{
	if ((fh_type != FILEID_INO64_GEN && fh_type != FILEID_INO64_GEN_PARENT) ||
	    fh_len < EROFS_FH_WORDS)
		return NULL;
	return erofs_fh_to(sb, fid->raw);
}

static struct dentry *erofs_fh_to_parent(struct super_block *sb, struct fid *fid, int fh_len,
					 int fh_type)
{
	if (fh_type != FILEID_INO64_GEN_PARENT || fh_len < 2 * EROFS_FH_WORDS)
		return NULL;
	return erofs_fh_to(sb, fid->raw + EROFS_FH_WORDS);
}

static struct dentry *erofs_get_parent(struct dentry *child)
{
	static const struct qstr dotdot = QSTR_INIT("..", 2);
	struct inode *inode;
	u64 nid;
	u8 ftype;
	int err;

	err = erofs_namei(d_inode(child), &dotdot, &nid, &ftype);
	if (err)
		return ERR_PTR(err);
	inode = erofs_iget(child->d_sb, nid);
	if (!IS_ERR(inode) && !S_ISDIR(inode->i_mode)) {
		iput(inode);
		return ERR_PTR(-EFSCORRUPTED);
	}
	return d_obtain_alias(inode);
}

const struct export_operations erofs_export_ops = {
	.encode_fh	= erofs_encode_fh,
	.fh_to_dentry	= erofs_fh_to_dentry,
	.fh_to_parent	= erofs_fh_to_parent,
	.get_parent	= erofs_get_parent,
};
