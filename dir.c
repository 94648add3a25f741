// SPDX-License-Identifier: GPL-2.0
/*
 * dir.c - listing a directory.
 *
 * The position of an entry is the byte offset of its record in the directory,
 * so it never changes.  A "." that isn't stored is listed last, at position
 * i_size.
 */
#include "internal.h"

/* a listing reads dir_ra_bytes at once, in the usual readahead window at most */
static void erofs_dir_readahead(struct file *file, struct inode *dir, pgoff_t index)
{
	struct file_ra_state *ra = &file->f_ra;
	pgoff_t last = (i_size_read(dir) - 1) >> PAGE_SHIFT;
	pgoff_t nr = READ_ONCE(EROFS_SB(dir->i_sb)->dir_ra_bytes) >> PAGE_SHIFT;

	if (last && nr && !ra_has_index(ra, index)) {
		page_cache_sync_readahead(dir->i_mapping, ra, file, index,
					  min(last - index + 1, nr));
		ra->prev_pos = (loff_t)index << PAGE_SHIFT;
	}
}

/*
 * Entries of one block from ctx->pos on.
 * Return: 0 when the block is done; 1 when the caller's buffer is full; errno
 */
static int erofs_dblk_list(struct inode *dir, struct dir_context *ctx, u64 start,
			   struct erofs_dblk *d, struct erofs_fault *f)
{
	struct erofs_sb_info *sbi = EROFS_SB(dir->i_sb);
	u32 i = DIV_ROUND_UP((u32)(ctx->pos - start), sizeof(struct erofs_dirent));
	struct erofs_dirent_desc de;	/* for registers: nobody knows the address of these */
	struct erofs_dblk c;

	erofs_dblk_scan(d);
	c = *d;
	for (; i < c.count; i++) {
		/* if this entry is damaged, the one before it must not be listed again */
		ctx->pos = start + i * sizeof(struct erofs_dirent);
		if (!erofs_dblk_next(&c, i, &de)) {
			struct erofs_dirent_desc slow;
			int err = erofs_dblk_entry(d, i, &slow, f);

			if (err)
				return err;
			de = slow;
		}
		if (!dir_emit(ctx, de.name, de.namelen, erofs_nid_to_ino(sbi, de.nid),
			      fs_ftype_to_dtype(de.ftype)))
			return 1;
	}
	return 0;
}

static int erofs_iterate(struct file *file, struct dir_context *ctx)
{
	struct inode *dir = file_inode(file);
	struct erofs_inode *ei = EROFS_I(dir);
	u32 blksz = EROFS_SB(dir->i_sb)->s.blksz;
	u64 size = i_size_read(dir);
	struct erofs_metabuf b;
	int err = 0;
	u64 base;

	base = erofs_metabuf_dir(&b, dir);
	while (ctx->pos < size) {
		u64 start = round_down((u64)ctx->pos, blksz);
		u32 len = min_t(u64, blksz, size - start);
		struct erofs_dblk d;
		const void *p;

		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
		if (!base)
			erofs_dir_readahead(file, dir, start >> PAGE_SHIFT);
		p = erofs_meta_ptr(&b.m, base + start, len);
		err = IS_ERR(p) ? PTR_ERR(p) : erofs_dblk_init(&d, p, len, blksz, &b.m.fault);
		if (!err)
			err = erofs_dblk_list(dir, ctx, start, &d, &b.m.fault);
		if (err)
			break;
		ctx->pos = start + len;
		cond_resched();
	}
	if (err < 0)
		erofs_fault_report(dir->i_sb, true, ei->d.nid, err, &b.m.fault);
	erofs_metabuf_put(&b);
	if (err)
		return min(err, 0);
	if (ei->d.dot_omitted && ctx->pos == size && dir_emit_dot(file, ctx))
		ctx->pos = size + 1;
	return 0;
}

/* there is nothing that could be read directly, but the flag does no harm */
static int erofs_dir_open(struct inode *dir, struct file *file)
{
	file->f_mode |= FMODE_CAN_ODIRECT;
	return 0;
}

const struct file_operations erofs_dir_fops = {
	.open		= erofs_dir_open,
	.llseek		= generic_file_llseek,
	.read		= generic_read_dir,
	.iterate_shared	= erofs_iterate,
	.setlease	= generic_setlease,
	.unlocked_ioctl	= erofs_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= compat_ptr_ioctl,
#endif
};
