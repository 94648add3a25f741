// SPDX-License-Identifier: GPL-2.0
/*
 * file.c - operations on open regular files: reading, direct I/O, seeking,
 * mapping, DAX, and the report of extents.
 */
#include <linux/iomap.h>
#include <linux/dax.h>
#include <linux/fiemap.h>
#include <linux/uio.h>
#include <linux/huge_mm.h>
#include <linux/sched/signal.h>
#include "internal.h"

/* extents of uncompressed files for direct I/O and DAX; inline data is handed out as a copy */
static int erofs_iomap_begin(struct inode *inode, loff_t offset, loff_t length, unsigned int flags,
			     struct iomap *iomap, struct iomap *srcmap)
{
	struct erofs_sb_info *sbi = EROFS_SB(inode->i_sb);
	u64 size = i_size_read(inode);
	struct erofs_device *dev;
	struct z_erofs_cursor cur;
	struct erofs_metabuf b;
	struct erofs_map map;
	const void *p;
	u64 pos;
	int err;

	iomap->offset = offset;
	iomap->flags = 0;
	iomap->private = NULL;
	iomap->bdev = inode->i_sb->s_bdev;
	iomap->addr = IOMAP_NULL_ADDR;
	if (offset >= size) {
		iomap->type = IOMAP_HOLE;
		iomap->length = length;
		return 0;
	}
	err = erofs_metabuf_nid(&b, inode->i_sb, EROFS_I(inode)->d.nid);
	if (err)
		return err;
	z_erofs_cursor_init(&cur);
	err = erofs_map_blocks(inode, &b, &cur, offset, &map);
	if (err)
		goto out;
	iomap->offset = map.la;
	iomap->length = map.llen;
	if (!(map.flags & EROFS_MAP_MAPPED)) {
		iomap->type = IOMAP_HOLE;
		/* DAX wants whole pages, at the end of the file too */
		iomap->length = round_up(map.llen, sbi->s.blksz);
		goto out;
	}
	iomap->type = IOMAP_MAPPED;
	if (WARN_ON_ONCE(map.flags & ~(EROFS_MAP_MAPPED | EROFS_MAP_META))) {
		err = -EINVAL;
		goto out;
	}
	if (map.flags & EROFS_MAP_META) {
		p = erofs_meta_ptr(&b.m, map.pa, map.llen);
		if (IS_ERR(p)) {
			err = PTR_ERR(p);
			goto out;
		}
		/* a power of two, so that it doesn't cross a page */
		iomap->inline_data = kmalloc(sbi->s.blksz, GFP_NOFS);
		if (!iomap->inline_data) {
			err = -ENOMEM;
			goto out;
		}
		memcpy(iomap->inline_data, p, map.llen);
		iomap->private = iomap->inline_data;
		iomap->type = IOMAP_INLINE;
		goto out;
	}
	err = erofs_dev_resolve(sbi, map.device_id, map.pa, map.llen, &dev, &pos);
	if (err)
		goto out;
	/* an extra device may have larger sectors than the primary one */
	if ((flags & IOMAP_DIRECT) && (pos & (bdev_logical_block_size(dev->bdev) - 1))) {
		err = -EINVAL;
		goto out;
	}
	iomap->bdev = dev->bdev;
	iomap->addr = pos;
	if (flags & IOMAP_DAX) {
		iomap->dax_dev = dev->dax;
		iomap->addr += dev->dax_off;
	}
	/* whole blocks belong to the file; direct I/O may read to their end */
	iomap->length = round_up(map.llen, sbi->s.blksz);
out:
	erofs_metabuf_put(&b);
	return err;
}

static int erofs_iomap_end(struct inode *inode, loff_t pos, loff_t length, ssize_t written,
			   unsigned int flags, struct iomap *iomap)
{
	kfree(iomap->private);
	return written;
}

static const struct iomap_ops erofs_iomap_ops = {
	.iomap_begin	= erofs_iomap_begin,
	.iomap_end	= erofs_iomap_end,
};

/* ---- DAX ----------------------------------------------------------------------- */

const struct address_space_operations erofs_dax_aops = {
	.dirty_folio	= noop_dirty_folio,
};

static ssize_t erofs_dax_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	ssize_t n;

	if (iocb->ki_pos >= i_size_read(inode))
		return 0;
	/* to find out where the data is may take I/O */
	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	/* nothing changes here, but dax_iomap_rw() wants it held */
	inode_lock_shared(inode);
	n = dax_iomap_rw(iocb, to, &erofs_iomap_ops);
	inode_unlock_shared(inode);
	file_accessed(iocb->ki_filp);
	return n;
}

/*
 * One page a fault.  Larger ones would make compound folios of the device's
 * pages, and files of a damaged image may overlap.
 */
static vm_fault_t erofs_dax_fault(struct vm_fault *vmf)
{
	return dax_iomap_fault(vmf, 0, NULL, NULL, &erofs_iomap_ops);
}

static const struct vm_operations_struct erofs_dax_vm_ops = {
	.fault		= erofs_dax_fault,
};

EROFS_COMPAT_DEFINE_MMAP(erofs_file_mmap, &erofs_dax_vm_ops);

/* ---- reading ------------------------------------------------------------------- */

bool erofs_can_dio(struct inode *inode)
{
	struct block_device *bdev = inode->i_sb->s_bdev;

	return bdev && !erofs_layout_compressed(EROFS_I(inode)->d.layout) &&
	       bdev_logical_block_size(bdev) <= EROFS_SB(inode->i_sb)->s.blksz;
}

static ssize_t erofs_file_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	bool nowait = iocb->ki_flags & IOCB_NOWAIT;
	ssize_t n;

	if (!iov_iter_count(to))
		return 0;
	if (IS_DAX(inode))
		return erofs_dax_read_iter(iocb, to);
	if (iocb->ki_flags & IOCB_DIRECT) {
		if (erofs_can_dio(inode)) {
			u32 mask = bdev_logical_block_size(inode->i_sb->s_bdev) - 1;

			/* who reads until nothing comes ends at any position */
			if (iocb->ki_pos >= i_size_read(inode))
				return 0;
			/* to find out where the data is may take I/O */
			if (nowait)
				return -EAGAIN;
			/* the memory has to be as the device wants it, iomap looks at that */
			if ((iocb->ki_pos | iov_iter_count(to)) & mask)
				return -EINVAL;
			return iomap_dio_rw(iocb, to, &erofs_iomap_ops, NULL, 0, NULL, 0);
		}
		/* decoding needs memory anyway: serve it from the page cache */
		iocb->ki_flags &= ~IOCB_DIRECT;
	}
	/*
	 * Readahead may wait and decode, so who must not wait gets what is there
	 * and asks again from a worker.
	 */
	if (nowait)
		iocb->ki_flags |= IOCB_NOIO;
	n = filemap_read(iocb, to, 0);
	if (nowait)
		iocb->ki_flags &= ~IOCB_NOIO;
	return n;
}

/* first byte of data, or of a hole, from @pos on */
static loff_t erofs_seek(struct inode *inode, loff_t pos, bool hole)
{
	loff_t size = i_size_read(inode);
	struct z_erofs_cursor cur;
	struct erofs_metabuf b;
	int err;

	if (pos < 0 || pos >= size)
		return -ENXIO;
	err = erofs_metabuf_nid(&b, inode->i_sb, EROFS_I(inode)->d.nid);
	z_erofs_cursor_init(&cur);
	while (!err && pos < size) {
		struct erofs_map map;

		err = erofs_map_blocks(inode, &b, &cur, pos, &map);
		if (err || !(map.flags & EROFS_MAP_MAPPED) == hole)
			break;
		pos = map.la + map.llen;
		if (fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	erofs_metabuf_put(&b);
	if (err)
		return err;
	if (pos >= size)	/* there is a hole behind the end, and no data */
		return hole ? size : -ENXIO;
	return pos;
}

static loff_t erofs_file_llseek(struct file *file, loff_t offset, int whence)
{
	struct inode *inode = file_inode(file);

	if (whence != SEEK_HOLE && whence != SEEK_DATA)
		return generic_file_llseek_size(file, offset, whence, inode->i_sb->s_maxbytes,
						i_size_read(inode));
	offset = erofs_seek(inode, offset, whence == SEEK_HOLE);
	if (offset < 0)
		return offset;
	return vfs_setpos(file, offset, inode->i_sb->s_maxbytes);
}

static int erofs_reg_open(struct inode *inode, struct file *file)
{
	int err = generic_file_open(inode, file);

	if (err)
		return err;
	file->f_mode |= FMODE_CAN_ODIRECT | FMODE_NOWAIT;
	erofs_share_open(inode, file);
	return 0;
}

int erofs_fiemap(struct inode *inode, struct fiemap_extent_info *fi, u64 start, u64 len)
{
	struct erofs_sb_info *sbi = EROFS_SB(inode->i_sb);
	u64 size = i_size_read(inode), end;
	struct z_erofs_cursor cur;
	struct erofs_metabuf b;
	int err;

	err = fiemap_prep(inode, fi, start, &len, 0);
	if (err)
		return err;
	if (start >= size)
		return 0;
	end = min(start + len, size);
	err = erofs_metabuf_nid(&b, inode->i_sb, EROFS_I(inode)->d.nid);
	if (err)
		return err;
	z_erofs_cursor_init(&cur);
	while (start < end) {
		struct erofs_device *dev;
		struct erofs_map map;
		u64 phys = 0, next;
		u32 flags = 0;

		err = erofs_map_blocks(inode, &b, &cur, start, &map);
		if (err)
			break;
		next = map.la + map.llen;
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
		cond_resched();
		if (!(map.flags & EROFS_MAP_MAPPED)) {
			start = next;
			continue;
		}
		if (map.flags & EROFS_MAP_FRAGMENT)
			flags |= FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_ENCODED |
				 FIEMAP_EXTENT_NOT_ALIGNED;
		else if (map.flags & EROFS_MAP_META)
			flags |= FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_NOT_ALIGNED;
		if (map.flags & (EROFS_MAP_ENCODED | EROFS_MAP_PLAIN))
			flags |= FIEMAP_EXTENT_ENCODED;
		if ((map.la | map.pa) & (sbi->s.blksz - 1))
			flags |= FIEMAP_EXTENT_NOT_ALIGNED;
		if (!(map.flags & (EROFS_MAP_FRAGMENT | EROFS_MAP_META)) &&
		    erofs_dev_resolve(sbi, map.device_id, map.pa, 1, &dev, &phys))
			flags |= FIEMAP_EXTENT_UNKNOWN;
		else if ((map.flags & EROFS_MAP_META) &&
			 !(EROFS_I(inode)->d.nid & EROFS_NID_METABOX))
			phys = sbi->dev.off + map.pa;
		if (next >= size)
			flags |= FIEMAP_EXTENT_LAST;
		err = fiemap_fill_next_extent(fi, map.la, phys, map.llen, flags);
		if (err)
			break;
		start = next;
	}
	erofs_metabuf_put(&b);
	return err == 1 ? 0 : err;
}

const struct file_operations erofs_file_fops = {
	.open		= erofs_reg_open,
	.llseek		= erofs_file_llseek,
	.read_iter	= erofs_file_read_iter,
	.erofs_compat_mmap = erofs_file_mmap,
	.splice_read	= filemap_splice_read,
	.setlease	= generic_setlease,
	.get_unmapped_area = thp_get_unmapped_area,
	.unlocked_ioctl	= erofs_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= compat_ptr_ioctl,
#endif
};
