// SPDX-License-Identifier: GPL-2.0
/*
 * inode.c - from a nid to a VFS inode: the inode cache key, operation tables,
 * attributes and symlink targets.
 */
#include <linux/posix_acl.h>
#include "internal.h"

static int erofs_iget_test(struct inode *inode, void *data)
{
	return EROFS_I(inode)->d.nid == *(const u64 *)data;
}

static int erofs_iget_set(struct inode *inode, void *data)
{
	u64 nid = *(const u64 *)data;

	EROFS_I(inode)->d.nid = nid;
	inode->i_ino = erofs_nid_to_ino(EROFS_SB(inode->i_sb), nid);
	return 0;
}

/* spare lookups of ACLs that can't be there, if that costs no I/O */
static void erofs_inode_cache_no_acl(struct inode *inode, struct erofs_metabuf *b)
{
	const struct erofs_super *s = &EROFS_SB(inode->i_sb)->s;
	const struct erofs_inode_desc *d = &EROFS_I(inode)->d;
	u64 in_window = d->iloc + d->isize - b->m.start;
	u32 absent;

	if (d->xattr_isize) {
		__le32 filter;

		if (!s->xattr_filter || in_window >= b->m.len ||
		    b->m.len - in_window < sizeof(filter))
			return;
		memcpy(&filter, b->m.base + in_window, sizeof(filter));
		absent = BIT(erofs_xattr_filter_bit(EROFS_XATTR_INDEX_POSIX_ACL_ACCESS, "", 0)) |
			 BIT(erofs_xattr_filter_bit(EROFS_XATTR_INDEX_POSIX_ACL_DEFAULT, "", 0));
		if ((le32_to_cpu(filter) & absent) != absent)
			return;
	}
	cache_no_acl(inode);
}

static int erofs_symlink_init(struct inode *inode, struct erofs_metabuf *b)
{
	const struct erofs_super *s = &EROFS_SB(inode->i_sb)->s;
	const struct erofs_inode_desc *d = &EROFS_I(inode)->d;
	char *link;
	int err;

	if (!d->size || d->size >= PATH_MAX)
		return erofs_fault_set(&b->m.fault, -EFSCORRUPTED, "bad symlink length", d->iloc,
				       d->size);
	/* anything but a target that is wholly inline is read when it is wanted */
	if (d->layout != EROFS_INODE_FLAT_INLINE || d->size > s->blksz ||
	    (d->body & (s->blksz - 1)) + d->size > s->blksz) {
		inode->i_op = &erofs_symlink_iops;
		inode->i_mapping->a_ops = &erofs_aops;
		inode_nohighmem(inode);
		return 0;
	}
	link = kmalloc(d->size + 1, GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	err = erofs_meta_read(&b->m, d->body, link, d->size);
	if (!err && memchr(link, 0, d->size))
		err = erofs_fault_set(&b->m.fault, -EFSCORRUPTED, "NUL in symlink", d->body, 0);
	if (err) {
		kfree(link);
		return err;
	}
	link[d->size] = 0;
	inode_set_cached_link(inode, link, d->size);
	inode->i_op = &erofs_fast_symlink_iops;
	return 0;
}

/*
 * Pages of the device can be those of a file where the data begins at a page
 * and is nobody else's: a page knows one owner.  Chunks are shared by files
 * that have them in common.  The hidden files are read through their page cache.
 */
static bool erofs_inode_dax(const struct erofs_sb_info *sbi, const struct erofs_inode_desc *d)
{
	return sbi->dax && d->nid != sbi->s.packed_nid && d->nid != sbi->s.metabox_nid &&
	       d->layout == EROFS_INODE_FLAT_PLAIN;
}

static int erofs_inode_fill(struct inode *inode, struct erofs_metabuf *b)
{
	struct erofs_sb_info *sbi = EROFS_SB(inode->i_sb);
	struct erofs_inode_desc *d = &EROFS_I(inode)->d;

	inode->i_mode = d->mode;
	i_uid_write(inode, d->uid);
	i_gid_write(inode, d->gid);
	/* 0 would only make the VFS drop the inode at once */
	set_nlink(inode, d->nlink ?: 1);
	inode->i_size = d->size;
	/* no blocks of its own (a fragment) would mean to archivers that it is one hole */
	inode->i_blocks = erofs_layout_compressed(d->layout) && d->cblks ?
			  erofs_blk_pos(&sbi->s, d->cblks) >> SECTOR_SHIFT :
			  round_up(d->size, sbi->s.blksz) >> SECTOR_SHIFT;
	inode_set_mtime(inode, d->mtime, d->mtime_nsec);
	inode_set_atime(inode, d->mtime, d->mtime_nsec);
	inode_set_ctime(inode, d->mtime, d->mtime_nsec);
	inode->i_generation = 0;

	switch (d->mode & S_IFMT) {
	case S_IFREG:
		inode->i_op = &erofs_file_iops;
		inode->i_fop = &erofs_file_fops;
		if (erofs_inode_dax(sbi, d)) {
			inode->i_flags |= S_DAX;
			inode->i_mapping->a_ops = &erofs_dax_aops;
			return 0;
		}
		inode->i_mapping->a_ops = &erofs_aops;
		inode_nohighmem(inode);
		mapping_set_large_folios(inode->i_mapping);
		return 0;
	case S_IFDIR:
		inode->i_op = &erofs_dir_iops;
		inode->i_fop = &erofs_dir_fops;
		inode->i_mapping->a_ops = &erofs_aops;
		inode_nohighmem(inode);
		return 0;
	case S_IFLNK:
		return erofs_symlink_init(inode, b);
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		inode->i_op = &erofs_special_iops;
		init_special_inode(inode, d->mode, new_decode_dev(d->rdev));
		return 0;
	}
	return erofs_fault_set(&b->m.fault, -EFSCORRUPTED, "bad file type", d->iloc, d->mode);
}

static struct inode *erofs_inode_get(struct super_block *sb, u64 nid, bool report)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	struct erofs_metabuf b;
	struct inode *inode;
	int err;

	inode = iget5_locked(sb, (unsigned long)nid, erofs_iget_test, erofs_iget_set, &nid);
	if (!inode)
		return ERR_PTR(-ENOMEM);
	if (!(inode_state_read_once(inode) & I_NEW))
		return inode;

	err = erofs_metabuf_nid(&b, sb, nid);
	/* others compare d.nid meanwhile: it is only ever set to what it is */
	if (!err)
		err = erofs_inode_decode(&sbi->s, &b.m, nid, &EROFS_I(inode)->d);
	if (!err)
		err = erofs_inode_fill(inode, &b);
	if (unlikely(err)) {
		if (report)
			erofs_fault_report(sb, true, nid, err, &b.m.fault);
		erofs_metabuf_put(&b);
		iget_failed(inode);
		return ERR_PTR(err);
	}
	erofs_inode_cache_no_acl(inode, &b);
	erofs_metabuf_put(&b);
	unlock_new_inode(inode);
	return inode;
}

struct inode *erofs_iget(struct super_block *sb, u64 nid)
{
	return erofs_inode_get(sb, nid, true);
}

struct inode *erofs_iget_untrusted(struct super_block *sb, u64 nid)
{
	return erofs_inode_get(sb, nid, false);
}

int erofs_getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat,
		  u32 request_mask, unsigned int flags)
{
	struct inode *inode = d_inode(path->dentry);
	const struct erofs_inode_desc *d = &EROFS_I(inode)->d;

	stat->attributes |= STATX_ATTR_IMMUTABLE |
			    (erofs_layout_compressed(d->layout) ? STATX_ATTR_COMPRESSED : 0);
	stat->attributes_mask |= STATX_ATTR_COMPRESSED | STATX_ATTR_IMMUTABLE;
	generic_fillattr(idmap, request_mask, inode, stat);
	/* i_ino may be too short for it */
	if (sizeof(inode->i_ino) < sizeof(stat->ino))
		stat->ino = erofs_nid_to_ino(EROFS_SB(inode->i_sb), d->nid);
	/* elsewhere O_DIRECT works too, but through the page cache */
	if (unlikely(request_mask & STATX_DIOALIGN) && S_ISREG(inode->i_mode) &&
	    erofs_can_dio(inode)) {
		struct block_device *bdev = inode->i_sb->s_bdev;

		stat->result_mask |= STATX_DIOALIGN;
		stat->dio_mem_align = bdev_dma_alignment(bdev) + 1;
		stat->dio_offset_align = bdev_logical_block_size(bdev);
	}
	return 0;
}

/* page_get_link() stops at the first NUL; a target with one inside is damaged */
static const char *erofs_symlink_get_link(struct dentry *dentry, struct inode *inode,
					  struct delayed_call *done)
{
	const char *link = page_get_link(dentry, inode, done);

	if (!IS_ERR_OR_NULL(link) && strlen(link) != i_size_read(inode)) {
		do_delayed_call(done);
		clear_delayed_call(done);
		return ERR_PTR(-EFSCORRUPTED);
	}
	return link;
}

const struct inode_operations erofs_file_iops = {
	.getattr	= erofs_getattr,
	.listxattr	= erofs_listxattr,
	.get_inode_acl	= erofs_get_acl,
	.fiemap		= erofs_fiemap,
};

const struct inode_operations erofs_symlink_iops = {
	.get_link	= erofs_symlink_get_link,
	.getattr	= erofs_getattr,
	.listxattr	= erofs_listxattr,
};

const struct inode_operations erofs_fast_symlink_iops = {
	.get_link	= simple_get_link,
	.getattr	= erofs_getattr,
	.listxattr	= erofs_listxattr,
};

const struct inode_operations erofs_special_iops = {
	.getattr	= erofs_getattr,
	.listxattr	= erofs_listxattr,
	.get_inode_acl	= erofs_get_acl,
};
