// SPDX-License-Identifier: GPL-2.0
/*
 * data.c - metadata windows for the core, devices and the unified address
 * space, and the mapping of any file offset to its extent.
 */
#include <linux/sched/signal.h>
#include "internal.h"
#include "trace.h"

/* pages read at once when metadata misses are sequential, or from hidden files */
#define EROFS_META_RA_PAGES	8
#define EROFS_META_RA_STREAK	3
#define EROFS_HIDDEN_RA_PAGES	32

/* ---- metadata windows --------------------------------------------------------- */

static void erofs_metabuf_drop(struct erofs_metabuf *b)
{
	if (!b->folio)
		return;
	kunmap_local(b->kaddr);
	folio_put(b->folio);
	b->folio = NULL;
	b->m.base = NULL;
	b->m.len = 0;
}

/* bytes that the store below a window has now; it may have shrunk since the mount */
static u64 erofs_metabuf_avail(const struct erofs_metabuf *b)
{
	return i_size_read(b->file ? file_inode(b->file) : b->mapping->host);
}

/* read ahead what will probably be asked for next, if this miss looks like a walk */
static void erofs_metabuf_readahead(struct erofs_metabuf *b, pgoff_t idx)
{
	struct erofs_sb_info *sbi = EROFS_SB(b->sb);
	/* 1 at least: a store may shrink to nothing at any time */
	u64 size = max_t(u64, min(b->m.size + b->off, erofs_metabuf_avail(b)), 1);
	u64 last = (size - 1) >> PAGE_SHIFT;
	struct file_ra_state ra = { };
	u32 nr = EROFS_HIDDEN_RA_PAGES;
	DEFINE_READAHEAD(ractl, b->file, &ra, b->mapping, idx);

	if (b->primary) {
		/* racy on purpose: a wrong guess costs a few pages or none */
		u32 streak = READ_ONCE(sbi->meta_next) == idx ? READ_ONCE(sbi->meta_streak) + 1 : 0;

		nr = streak >= EROFS_META_RA_STREAK ? EROFS_META_RA_PAGES : 1;
		WRITE_ONCE(sbi->meta_streak, streak);
		WRITE_ONCE(sbi->meta_next, idx + nr);
	}
	if (idx >= last || nr == 1)
		return;
	/* a window of its own, that nothing else widens; takes the locks on each kernel */
	ra.ra_pages = min_t(u64, nr, last - idx + 1);
	page_cache_sync_ra(&ractl, ra.ra_pages);
}

/* the page isn't there or not read yet; @need as below */
static noinline struct folio *erofs_metabuf_miss(struct erofs_metabuf *b, pgoff_t idx, u64 need)
{
	struct folio *folio;

	/*
	 * Behind the end of a file or device that has shrunk since the mount, or is gone, the
	 * page cache gives zeros, not metadata.
	 */
	if (erofs_metabuf_avail(b) < need)
		return ERR_PTR(-EIO);
	erofs_metabuf_readahead(b, idx);
	folio = read_mapping_folio(b->mapping, idx, b->file);
	/* it may have gone while the page was read */
	if (!IS_ERR(folio) && unlikely(erofs_metabuf_avail(b) < need)) {
		folio_put(folio);
		return ERR_PTR(-EIO);
	}
	return folio;
}

static int erofs_metabuf_map(struct erofs_meta *m, u64 off)
{
	struct erofs_metabuf *b = container_of(m, struct erofs_metabuf, m);
	struct folio *folio;
	u64 pos, start, need;
	pgoff_t idx;

	erofs_metabuf_drop(b);
	/* long walks through hostile tables end with the task that asked */
	if (unlikely(fatal_signal_pending(current)))
		return -EINTR;
	if (check_add_overflow(off, b->off, &pos) || pos > MAX_LFS_FILESIZE)
		return erofs_fault_set(&m->fault, -EFSCORRUPTED, "position overflow", off, 0);
	idx = pos >> PAGE_SHIFT;
	/* the store must go on to here */
	need = min_t(u64, (u64)(idx + 1) << PAGE_SHIFT, m->size + b->off);
	folio = filemap_get_folio(b->mapping, idx);
	if (IS_ERR(folio) || unlikely(!folio_test_uptodate(folio) ||
				      erofs_metabuf_avail(b) < need)) {
		if (!IS_ERR(folio))
			folio_put(folio);
		folio = erofs_metabuf_miss(b, idx, need);
		if (IS_ERR(folio))
			return PTR_ERR(folio);
	}
	start = max_t(u64, (u64)idx << PAGE_SHIFT, b->off);
	b->folio = folio;
	b->kaddr = kmap_local_folio(folio, offset_in_folio(folio, start) & PAGE_MASK);
	m->base = b->kaddr + offset_in_page(start);
	m->start = start - b->off;
	m->len = min_t(u64, PAGE_SIZE - offset_in_page(start), m->size - m->start);
	return 0;
}

static void erofs_metabuf_init(struct erofs_metabuf *b, struct super_block *sb,
			       struct address_space *mapping, u64 size)
{
	b->m.base = NULL;
	b->m.start = 0;
	b->m.len = 0;
	b->m.size = size;
	b->m.map = erofs_metabuf_map;
	b->m.fault.what = NULL;
	b->sb = sb;
	b->mapping = mapping;
	b->folio = NULL;
	b->file = NULL;
	b->off = 0;
	b->primary = false;
}

void erofs_metabuf_primary(struct erofs_metabuf *b, struct super_block *sb)
{
	struct erofs_device *dev = &EROFS_SB(sb)->dev;

	erofs_metabuf_init(b, sb, dev->mapping, dev->bytes);
	b->off = dev->off;
	b->primary = true;
	if (!dev->bdev)
		b->file = dev->file;
}

void erofs_metabuf_inode(struct erofs_metabuf *b, struct inode *inode)
{
	erofs_metabuf_init(b, inode->i_sb, inode->i_mapping, i_size_read(inode));
}

u64 erofs_metabuf_dir(struct erofs_metabuf *b, struct inode *dir)
{
	const struct erofs_inode_desc *d = &EROFS_I(dir)->d;
	u32 blksz = EROFS_SB(dir->i_sb)->s.blksz;

	if (d->layout == EROFS_INODE_FLAT_INLINE && d->size <= blksz &&
	    (d->body & (blksz - 1)) + d->size <= blksz &&
	    !erofs_metabuf_nid(b, dir->i_sb, d->nid))
		return d->body;
	erofs_metabuf_inode(b, dir);
	return 0;
}

int erofs_metabuf_nid(struct erofs_metabuf *b, struct super_block *sb, u64 nid)
{
	struct inode *metabox = EROFS_SB(sb)->metabox;

	if (likely(!(nid & EROFS_NID_METABOX))) {
		erofs_metabuf_primary(b, sb);
		return 0;
	}
	if (!metabox) {
		/* leave something that erofs_metabuf_put() may be called on */
		erofs_metabuf_primary(b, sb);
		return erofs_fault_set(&b->m.fault, -EFSCORRUPTED, "no metabox for this inode",
				       0, nid);
	}
	erofs_metabuf_inode(b, metabox);
	return 0;
}

void erofs_metabuf_put(struct erofs_metabuf *b)
{
	erofs_metabuf_drop(b);
}

/* ---- devices (section 5.3) ------------------------------------------------------ */

int erofs_dev_resolve(struct erofs_sb_info *sbi, u16 id, u64 pa, u64 len,
		      struct erofs_device **dev, u64 *pos)
{
	struct erofs_device *d = &sbi->dev;
	u32 i;

	if (id) {
		if (id > sbi->s.extra_devices || !sbi->extra)
			return -ENODEV;
		if (sbi->separate)
			d = &sbi->extra[id - 1];
		else if (check_add_overflow(pa, sbi->extra[id - 1].ustart, &pa))
			return -EIO;
	} else if (sbi->separate) {
		for (i = 0; i < sbi->s.extra_devices; i++) {
			struct erofs_device *x = &sbi->extra[i];

			if (x->ustart && pa >= x->ustart && pa < x->uend) {
				d = x;
				pa -= x->ustart;
				break;
			}
		}
	}
	if (pa > d->bytes || len > d->bytes - pa)
		return -EIO;
	*dev = d;
	*pos = d->off + pa;
	return 0;
}

/* ---- file offset to extent ------------------------------------------------------- */

const struct z_erofs_info *z_erofs_inode_info(struct inode *inode, struct erofs_metabuf *b)
{
	struct erofs_inode *ei = EROFS_I(inode);
	struct erofs_sb_info *sbi = EROFS_SB(inode->i_sb);
	struct z_erofs_info *zi, *old;
	int err;

	/* pairs with the cmpxchg() below: the contents are there before the pointer */
	zi = smp_load_acquire(&ei->zi);
	if (likely(zi))
		return zi;
	zi = kmalloc(sizeof(*zi), GFP_NOFS);
	if (!zi)
		return ERR_PTR(-ENOMEM);
	err = z_erofs_info_decode(&sbi->s, &ei->d, &b->m, ei->d.nid == sbi->s.packed_nid, zi);
	if (!err && (zi->kind == Z_EROFS_KIND_FRAGMENT ||
		     (zi->advise & Z_EROFS_ADVISE_FRAGMENT_PCLUSTER)) && !sbi->packed)
		err = erofs_fault_set(&b->m.fault, -EFSCORRUPTED, "fragment without packed inode",
				      ei->d.iloc, 0);
	if (err) {
		kfree(zi);
		return ERR_PTR(err);
	}
	/* somebody else may have been faster; both hold the same */
	old = cmpxchg(&ei->zi, NULL, zi);
	if (old) {
		kfree(zi);
		return old;
	}
	return zi;
}

int erofs_map_blocks(struct inode *inode, struct erofs_metabuf *b, struct z_erofs_cursor *c,
		     u64 off, struct erofs_map *map)
{
	struct erofs_inode *ei = EROFS_I(inode);
	const struct erofs_super *s = &EROFS_SB(inode->i_sb)->s;
	int err;

	if (erofs_layout_compressed(ei->d.layout)) {
		const struct z_erofs_info *zi = z_erofs_inode_info(inode, b);

		err = IS_ERR(zi) ? PTR_ERR(zi) :
				   z_erofs_map_find(s, &ei->d, zi, &b->m, c, off, map);
	} else {
		err = erofs_map_flat(s, &ei->d, &b->m, off, map);
	}
	trace_erofs_map_extent(inode, off, map, err);
	if (unlikely(err))
		erofs_fault_report(inode->i_sb, true, ei->d.nid, err, &b->m.fault);
	return err;
}

int erofs_data_init(void)
{
	return erofs_request_init();
}

void erofs_data_exit(void)
{
	erofs_request_exit();
}
