// SPDX-License-Identifier: GPL-2.0
/*
 * backing.c - regular files as backing stores: opening them, and a page cache
 * for the metadata of those that have none of their own.
 */
#include <linux/namei.h>
#include <linux/uio.h>
#include <linux/bvec.h>
#include <linux/cred.h>
#include <linux/workqueue.h>
#include "internal.h"

struct file *erofs_backing_open(const char *path, bool direct)
{
	struct file *file;
	struct path p;
	int err;

	err = kern_path(path, LOOKUP_FOLLOW, &p);
	if (err)
		return ERR_PTR(err);
	/* look before opening: opening a device or a FIFO could block or do something */
	if (S_ISREG(d_inode(p.dentry)->i_mode))
		file = file_open_root(&p, "", O_RDONLY | O_LARGEFILE | (direct ? O_DIRECT : 0), 0);
	else
		file = ERR_PTR(-ENOTBLK);
	path_put(&p);
	if (!IS_ERR(file) && !file->f_op->read_iter) {
		fput(file);
		return ERR_PTR(-EINVAL);
	}
	return file;
}

/*
 * Being read through a file is no level of its own: an image on an overlay can
 * be a layer of an overlay again, as container tools need it.  An image file
 * inside another file-backed mount is one, so that the chain stays bounded.
 */
static int erofs_backing_depth(const struct file *file)
{
	const struct super_block *below = file_inode(file)->i_sb;

	return below->s_stack_depth + (below->s_magic == EROFS_SUPER_MAGIC && !below->s_bdev);
}

static ssize_t erofs_backing_read_here(struct file *file, loff_t pos, const struct bio_vec *bv,
				       unsigned int nr, size_t len)
{
	/* whoever mounted the volume may read the file, whoever reads from the volume needn't */
	const struct cred *old = override_creds(file->f_cred);
	struct kiocb kiocb;
	struct iov_iter iter;
	size_t got = 0;
	ssize_t n = 0;

	iov_iter_bvec(&iter, ITER_DEST, bv, nr, len);
	init_sync_kiocb(&kiocb, file);
	kiocb.ki_pos = pos;
	while (got < len && kiocb.ki_pos < i_size_read(file_inode(file))) {
		n = vfs_iocb_iter_read(file, &kiocb, &iter);
		if (n <= 0)
			break;
		got += n;
	}
	revert_creds(old);
	return n < 0 ? n : got;
}

/*
 * Images on stacked file systems are read by a worker: the stack of one task has
 * no room for three of our read paths, what is between them, and the file system
 * and driver below.  Each mount has a queue of its own.  Who is in it waits for
 * what lies below that mount, loop devices and daemons included, and a mount
 * never lies below itself, so full queues don't wait for each other.
 */
int erofs_backing_attach(struct super_block *sb, const struct file *file)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);

	sb->s_stack_depth = max(sb->s_stack_depth, erofs_backing_depth(file));
	if (!sb->s_stack_depth || sbi->file_wq)
		return 0;
	sbi->file_wq = alloc_workqueue(EROFS_FSNAME "_file/%s", WQ_UNBOUND, 0, sb->s_id);
	return sbi->file_wq ? 0 : -ENOMEM;
}

struct erofs_backing_work {
	struct work_struct work;
	struct completion done;
	struct file *file;
	loff_t pos;
	const struct bio_vec *bv;
	unsigned int nr;
	size_t len;
	ssize_t res;
};

static void erofs_backing_work(struct work_struct *work)
{
	struct erofs_backing_work *w = container_of(work, struct erofs_backing_work, work);

	w->res = erofs_backing_read_here(w->file, w->pos, w->bv, w->nr, w->len);
	complete(&w->done);
}

ssize_t erofs_backing_read(struct erofs_sb_info *sbi, struct file *file, loff_t pos,
			   const struct bio_vec *bv, unsigned int nr, size_t len)
{
	struct erofs_backing_work w = {
		.file = file, .pos = pos, .bv = bv, .nr = nr, .len = len,
	};

	if (!sbi->file_wq)
		return erofs_backing_read_here(file, pos, bv, nr, len);
	INIT_WORK_ONSTACK(&w.work, erofs_backing_work);
	init_completion(&w.done);
	queue_work(sbi->file_wq, &w.work);
	wait_for_completion_io(&w.done);
	destroy_work_on_stack(&w.work);
	return w.res;
}

/* one page, or what the file has of it, through the file's own read operation */
static int erofs_backing_read_folio(struct file *unused, struct folio *folio)
{
	struct inode *inode = folio->mapping->host;
	struct erofs_sb_info *sbi = EROFS_SB(inode->i_sb);
	size_t size = folio_size(folio);
	struct bio_vec bv = { .bv_page = folio_page(folio, 0), .bv_len = size };
	ssize_t n = erofs_backing_read(sbi, sbi->dev.file, folio_pos(folio), &bv, 1, size);

	/* i_size is from the time of the mount: the file has shrunk since */
	if (n >= 0 && n < size && folio_pos(folio) + n < i_size_read(inode))
		n = -EIO;
	if (n >= 0 && n < size)
		folio_zero_segment(folio, n, size);
	folio_end_read(folio, n >= 0);
	return min_t(ssize_t, n, 0);
}

static const struct address_space_operations erofs_backing_aops = {
	.read_folio	= erofs_backing_read_folio,
};

/* mapping.invalidate_lock: inside those of all files, see erofs_get_hidden() */
static struct lock_class_key erofs_backing_key;

int erofs_backing_mapping_init(struct super_block *sb)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	struct address_space *mapping = sbi->dev.file->f_mapping;
	struct inode *inode;

	/* stacked files have a mapping in name only, or are read by a worker */
	if (mapping->a_ops->read_folio && !sbi->file_wq) {
		sbi->dev.mapping = mapping;
		return 0;
	}
	inode = new_inode(sb);
	if (!inode)
		return -ENOMEM;
	inode->i_size = i_size_read(file_inode(sbi->dev.file));
	inode->i_mapping->a_ops = &erofs_backing_aops;
	inode_nohighmem(inode);
	lockdep_set_class(&inode->i_mapping->invalidate_lock, &erofs_backing_key);
	sbi->file_meta = inode;
	sbi->dev.mapping = inode->i_mapping;
	return 0;
}
