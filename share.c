// SPDX-License-Identifier: GPL-2.0
/*
 * share.c - one page cache for equal files of different mounts.
 *
 * Files whose fingerprints (section 14) and sizes are equal in mounts of one
 * domain form a share.  A share owns an inode of an internal file system, and
 * ->open points file->f_mapping at that inode's mapping.  Pages are filled
 * through whoever asks for them: the address space operations get the open
 * file, and its inode is read, on its own mount.
 *
 * Lifetime.  A share is referenced by each cached inode that was opened since
 * it was read from disk, not by open files: it goes in ->evict_inode of the
 * last of them, and its pages with it.  It refers to no mount, so it doesn't
 * keep one busy; when a mount goes, its inodes let go of their shares and the
 * pages stay for the others.
 *
 * Requests.  A reader has the file open, which pins inode and mount.  An
 * asynchronous request may outlive the open file: the locked folios that would
 * hold up the eviction of an inode with pages of its own are not in its
 * mapping.  So such a request holds the inode, gives it back in a worker, and
 * ->kill_sb waits for the requests before it evicts inodes.
 *
 * Locking.  erofs_share_lock is a leaf: nothing sleeps or allocates under it,
 * so ->evict_inode may take it while memory is reclaimed.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/backing-dev.h>
#include <linux/module.h>
#include "internal.h"

/**
 * struct erofs_share - files with the same content
 * @node: in erofs_shares
 * @refs: inodes that refer to it; 0 only with the lock held, and then it leaves the table
 * @inode: owns the pages
 * @size: i_size of all of them
 * @keylen: bytes of @key
 * @key: domain, NUL, fingerprint
 */
struct erofs_share {
	struct hlist_node node;
	refcount_t refs;
	struct inode *inode;
	u64 size;
	u32 keylen;
	u8 key[];
};

static DEFINE_HASHTABLE(erofs_shares, 10);
static DEFINE_SPINLOCK(erofs_share_lock);

/* the internal file system, mounted while a mount that shares is there */
static DEFINE_MUTEX(erofs_share_mount_lock);
static struct vfsmount *erofs_share_mnt;
static int erofs_share_mounts;

static int erofs_share_init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, EROFS_SUPER_MAGIC) ? 0 : -ENOMEM;
}

static struct file_system_type erofs_share_fs = {
	.owner		= THIS_MODULE,
	.name		= EROFS_FSNAME "_share",
	.init_fs_context = erofs_share_init_fs_context,
	.kill_sb	= kill_anon_super,
};

int erofs_share_init(struct super_block *sb)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	const struct erofs_xattr_prefix *p;
	int err;

	if (!(sbi->opts.flags & EROFS_OPT_INODE_SHARE) || sbi->s.ishare_prefix < 0 ||
	    sbi->s.ishare_prefix >= sbi->s.xattr_prefix_count)
		return 0;
	p = &sbi->prefixes[sbi->s.ishare_prefix];
	sbi->share_xattr = kmemdup_nul(p->infix, p->len, GFP_KERNEL);
	if (!sbi->share_xattr)
		return -ENOMEM;
	mutex_lock(&erofs_share_mount_lock);
	err = simple_pin_fs(&erofs_share_fs, &erofs_share_mnt, &erofs_share_mounts);
	if (!err) {
		sbi->share_pinned = true;
		/* the size of readahead windows comes from here */
		if (erofs_share_mnt->mnt_sb->s_bdi == &noop_backing_dev_info)
			err = super_setup_bdi(erofs_share_mnt->mnt_sb);
	}
	mutex_unlock(&erofs_share_mount_lock);
	return err;
}

void erofs_share_exit(struct erofs_sb_info *sbi)
{
	if (sbi->share_pinned) {
		mutex_lock(&erofs_share_mount_lock);
		simple_release_fs(&erofs_share_mnt, &erofs_share_mounts);
		mutex_unlock(&erofs_share_mount_lock);
	}
	sbi->share_pinned = false;
	kfree(sbi->share_xattr);
	sbi->share_xattr = NULL;
}

/* a share that nobody else knows yet */
static struct erofs_share *erofs_share_alloc(struct inode *inode)
{
	struct erofs_sb_info *sbi = EROFS_SB(inode->i_sb);
	u8 base = sbi->prefixes[sbi->s.ishare_prefix].base;
	size_t dlen = strlen(sbi->domain) + 1;
	struct erofs_share *sh;
	struct inode *pages;
	int len;

	len = erofs_getxattr(inode, base, sbi->share_xattr, NULL, 0);
	if (len <= 0)
		return ERR_PTR(len ?: -ENODATA);
	if (len > sbi->s.blksz)
		return ERR_PTR(-ENODATA);
	sh = kmalloc(struct_size(sh, key, dlen + len), GFP_KERNEL);
	if (!sh)
		return ERR_PTR(-ENOMEM);
	refcount_set(&sh->refs, 1);
	sh->size = i_size_read(inode);
	memcpy(sh->key, sbi->domain, dlen);
	len = erofs_getxattr(inode, base, sbi->share_xattr, sh->key + dlen, len);
	if (len < 0) {
		kfree(sh);
		return ERR_PTR(len);
	}
	/* shorter than before if the volume was changed in between */
	sh->keylen = dlen + len;
	pages = new_inode(erofs_share_mnt->mnt_sb);
	if (!pages) {
		kfree(sh);
		return ERR_PTR(-ENOMEM);
	}
	pages->i_mode = S_IFREG | 0444;
	i_size_write(pages, sh->size);
	pages->i_mapping->a_ops = &erofs_share_aops;
	inode_nohighmem(pages);
	mapping_set_large_folios(pages->i_mapping);
	sh->inode = pages;
	return sh;
}

static void erofs_share_put(struct erofs_share *sh)
{
	bool last;

	if (refcount_dec_not_one(&sh->refs))
		return;
	spin_lock(&erofs_share_lock);
	last = refcount_dec_and_test(&sh->refs);
	if (last)
		hash_del(&sh->node);
	spin_unlock(&erofs_share_lock);
	if (!last)
		return;
	iput(sh->inode);
	kfree(sh);
}

/* the share of @inode with a reference for it */
static struct erofs_share *erofs_share_get(struct inode *inode)
{
	struct erofs_share *new = erofs_share_alloc(inode), *sh;
	u32 hash;

	if (IS_ERR(new))
		return new;
	hash = jhash(new->key, new->keylen, 0);
	spin_lock(&erofs_share_lock);
	hash_for_each_possible(erofs_shares, sh, node, hash) {
		if (sh->size == new->size && sh->keylen == new->keylen &&
		    !memcmp(sh->key, new->key, new->keylen)) {
			refcount_inc(&sh->refs);
			spin_unlock(&erofs_share_lock);
			iput(new->inode);
			kfree(new);
			return sh;
		}
	}
	hash_add(erofs_shares, &new->node, hash);
	spin_unlock(&erofs_share_lock);
	return new;
}

void erofs_share_open(struct inode *inode, struct file *file)
{
	struct erofs_inode *ei = EROFS_I(inode);
	struct erofs_share *sh, *old;

	if (!EROFS_SB(inode->i_sb)->share_pinned || !i_size_read(inode) || IS_DAX(inode))
		return;
	/* pairs with the cmpxchg() below */
	sh = smp_load_acquire(&ei->share);
	if (!sh) {
		sh = erofs_share_get(inode);
		/* without memory now, perhaps with it at the next open; else never */
		if (sh == ERR_PTR(-ENOMEM))
			return;
		old = cmpxchg(&ei->share, NULL, sh);
		if (old) {
			if (!IS_ERR(sh))
				erofs_share_put(sh);
			sh = old;
		}
	}
	if (!IS_ERR(sh))
		file->f_mapping = sh->inode->i_mapping;
}

void erofs_share_evict(struct inode *inode)
{
	struct erofs_share *sh = EROFS_I(inode)->share;

	EROFS_I(inode)->share = NULL;
	if (!IS_ERR_OR_NULL(sh))
		erofs_share_put(sh);
}

struct inode *erofs_share_reader(const struct address_space *mapping, const struct file *file)
{
	/* only erofs_share_open() makes this true */
	return file && file->f_mapping == mapping ? file_inode(file) : NULL;
}

u64 erofs_share_saved(const struct erofs_sb_info *sbi)
{
	struct erofs_share *sh;
	u64 pages = 0;
	size_t dlen;
	int i;

	if (!sbi->share_pinned)
		return 0;
	dlen = strlen(sbi->domain) + 1;
	spin_lock(&erofs_share_lock);
	hash_for_each(erofs_shares, i, sh, node)
		if (sh->keylen > dlen && !memcmp(sh->key, sbi->domain, dlen))
			pages += (u64)sh->inode->i_mapping->nrpages *
				 (refcount_read(&sh->refs) - 1);
	spin_unlock(&erofs_share_lock);
	return pages << PAGE_SHIFT;
}
