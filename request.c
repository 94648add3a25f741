// SPDX-License-Identifier: GPL-2.0
/*
 * request.c - reading file data into the page cache: the life of a read
 * request, its I/O on block devices and files, and the address space
 * operations built on it.
 *
 * A request maps its range extent by extent, starts the I/O of a batch of them
 * and, when the bytes are there, processes the extents in file order and
 * unlocks each folio as soon as the last extent that touches it is done.
 * Nothing is shared between requests: two readers that need the same cluster
 * each read it, so no lock order and no state machine ties them together.
 */
#include <linux/backing-dev.h>
#include <linux/hash.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <linux/sched/signal.h>
#include "internal.h"
#include "request.h"
#include "trace.h"

struct erofs_iob {
	struct erofs_rq *rq;
	u32 first;		/* extents that have bytes in this bio */
	u32 last;
	struct bio bio;		/* last: front padding of the bio set */
};

/* readahead windows of up to so many pages are decoded by the reader */
#define EROFS_SYNC_PAGES	16

/* how much larger than the device's the readahead window of encoded files may grow */
#define EROFS_RA_SCALE	4

/*
 * A window that begins so far inside an extent is widened to the extent's
 * start: all that must be decoded anyway, so the next reads may as well have it.
 */
#define EROFS_RA_FRONT_MIN	(192 * 1024)

/* clusters so large are worth a look at the extent even for a read of one page */
#define EROFS_LONG_EXTENTS_MIN	(16 * 1024)

/*
 * How long a request waits for the one before it to decode their common extent,
 * before it does that itself: never so long that waiting could be a deadlock
 */
#define EROFS_REST_WAIT		max(HZ / 20, 1)

/* so often an extent is cut at the edge of a random reader's window before it is read whole */
#define EROFS_CUTS		3

static struct bio_set erofs_bioset;
/* requests of a page or a few, and of a window */
static struct kmem_cache *erofs_rq_cachep[2];

/* Collects adjacent pieces of one batch into bios */
struct erofs_io {
	struct erofs_rq *rq;
	struct erofs_device *dev;
	struct bio *bio;
	u64 next;		/* device position behind the bio */
};

static void erofs_rq_work(struct work_struct *work);
static void erofs_rq_complete(struct erofs_rq *rq);

void erofs_rq_copy_in(struct erofs_rq *rq, u64 pos, const void *src, u64 len)
{
	while (len) {
		u32 n = min_t(u64, len, PAGE_SIZE - offset_in_page(pos));

		memcpy(erofs_rq_addr(rq, pos), src, n);
		pos += n;
		src += n;
		len -= n;
	}
}

void erofs_rq_zero(struct erofs_rq *rq, u64 pos, u64 len)
{
	while (len) {
		u32 n = min_t(u64, len, PAGE_SIZE - offset_in_page(pos));

		memset(erofs_rq_addr(rq, pos), 0, n);
		pos += n;
		len -= n;
	}
}

static void erofs_rq_io_put(struct erofs_rq *rq)
{
	if (!atomic_dec_and_test(&rq->pending))
		return;
	if (rq->sync)
		complete(&rq->io_done);
	else
		erofs_rq_complete(rq);
}

static void erofs_bio_end_io(struct bio *bio)
{
	struct erofs_iob *iob = container_of(bio, struct erofs_iob, bio);
	struct erofs_rq *rq = iob->rq;

	if (unlikely(bio->bi_status)) {
		int err = blk_status_to_errno(bio->bi_status);
		u32 i;

		for (i = iob->first; i <= iob->last; i++)
			WRITE_ONCE(rq->xt[i].err, err);
		/* failed large folios leave the page cache, which may sleep */
		WRITE_ONCE(rq->work_needed, true);
	}
	bio_put(bio);
	erofs_rq_io_put(rq);
}

/* A backing file is read here and now, into the pages that the bio lists */
static void erofs_file_submit(struct erofs_sb_info *sbi, struct erofs_device *dev, struct bio *bio)
{
	u64 pos = bio->bi_iter.bi_sector << SECTOR_SHIFT;
	u32 len = bio->bi_iter.bi_size;
	ssize_t n = erofs_backing_read(sbi, dev->file, pos, bio->bi_io_vec, bio->bi_vcnt, len);

	/* a sector-rounded read may pass the end that the file had at mount, nothing else */
	if (n < 0)
		bio->bi_status = errno_to_blk_status(n);
	else if (n < len && pos + n < dev->off + dev->bytes)
		bio->bi_status = BLK_STS_IOERR;
	bio->bi_end_io(bio);
}

static void erofs_io_submit(struct erofs_io *io)
{
	struct bio *bio = io->bio;

	if (!bio)
		return;
	io->bio = NULL;
	trace_erofs_submit(io->rq->inode, io->dev, bio->bi_iter.bi_sector << SECTOR_SHIFT,
			   bio->bi_iter.bi_size, io->rq->ra);
	if (io->dev->bdev)
		submit_bio(bio);
	else
		erofs_file_submit(io->rq->sbi, io->dev, bio);
}

/*
 * Read @len bytes at @pos of @dev to @off in @page, which may go on in the pages
 * behind it if they are of one folio, for extent number @xi; @left bytes will
 * probably follow.
 */
static void erofs_io_add(struct erofs_io *io, struct erofs_device *dev, u64 pos,
			 struct page *page, u32 off, u32 len, u32 xi, u64 left)
{
	struct erofs_iob *iob;

	if (io->bio && io->dev == dev && io->next == pos &&
	    bio_add_page(io->bio, page, len, off) == len)
		goto out;
	erofs_io_submit(io);
	io->bio = bio_alloc_bioset(dev->bdev, bio_max_segs((left >> PAGE_SHIFT) + 2),
				   REQ_OP_READ | (io->rq->ra ? REQ_RAHEAD : 0), GFP_NOIO,
				   &erofs_bioset);
	io->dev = dev;
	io->bio->bi_iter.bi_sector = pos >> SECTOR_SHIFT;
	io->bio->bi_end_io = erofs_bio_end_io;
	iob = container_of(io->bio, struct erofs_iob, bio);
	iob->rq = io->rq;
	iob->first = xi;
	atomic_inc(&io->rq->pending);
	__bio_add_page(io->bio, page, len, off);
out:
	io->next = pos + len;
	container_of(io->bio, struct erofs_iob, bio)->last = xi;
}

/* read into the request's own pages, a folio at a time */
static void erofs_io_pages(struct erofs_io *io, struct erofs_device *dev, u64 pos, u64 fpos,
			   u64 len, u32 xi)
{
	while (len) {
		struct page *page = io->rq->pages[(fpos - io->rq->start) >> PAGE_SHIFT];
		struct folio *folio = page_folio(page);
		u32 n = min_t(u64, len, folio_pos(folio) + folio_size(folio) - fpos);

		erofs_io_add(io, dev, pos, page, offset_in_page(fpos), n, xi, len);
		pos += n;
		fpos += n;
		len -= n;
	}
}

static void erofs_io_buf(struct erofs_io *io, struct erofs_device *dev, u64 pos, void *buf,
			 u64 len, u32 xi)
{
	bool vmalloc = is_vmalloc_addr(buf);

	while (len) {
		struct page *page = vmalloc ? vmalloc_to_page(buf) : virt_to_page(buf);
		u32 n = min_t(u64, len, PAGE_SIZE - offset_in_page(buf));

		erofs_io_add(io, dev, pos, page, offset_in_page(buf), n, xi, len);
		pos += n;
		buf += n;
		len -= n;
	}
}

static u32 erofs_dev_align(const struct erofs_device *dev)
{
	if (dev->bdev)
		return bdev_logical_block_size(dev->bdev);
	return dev->file->f_flags & O_DIRECT ? PAGE_SIZE : SECTOR_SIZE;
}

/* an uncompressed extent: read it straight to its place if the device can */
static int erofs_xt_plan_direct(struct erofs_rq *rq, struct erofs_xt *xt, struct erofs_io *io,
				u32 xi)
{
	u64 from = xt->from, to = erofs_xt_to(rq, xt);
	u64 pa = xt->pa + (from - xt->la);
	u64 len = to - from;
	struct erofs_device *dev;
	u64 pos;
	u32 align;
	int err;

	/* the end of a file shares its last block with nobody */
	if (to == rq->size)
		len = min_t(u64, round_up(len, rq->sbi->s.blksz), round_up(to, PAGE_SIZE) - from);
	err = erofs_dev_resolve(rq->sbi, xt->device_id, pa, len, &dev, &pos);
	if (err)
		return err;
	erofs_stat_add(rq->sbi, EROFS_STAT_BYTES_READ, len);
	align = erofs_dev_align(dev);
	if (likely(!((pos | len | from) & (align - 1)))) {
		xt->how = EROFS_XT_DIRECT;
		erofs_io_pages(io, dev, pos, from, len, xi);
		return 0;
	}
	/* sectors are larger than blocks: read around it and copy */
	xt->skip = pos & (align - 1);
	xt->alen = round_up(xt->skip + len, align);
	xt->plen = to - from;
	xt->la = from;
	xt->lend = to;
	xt->flags |= EROFS_MAP_PLAIN;
	xt->buf = z_erofs_scratch_get(Z_EROFS_SCRATCH_IO, xt->alen, &xt->bits);
	if (!xt->buf)
		return -ENOMEM;
	xt->how = EROFS_XT_BOUNCE;
	rq->bounced += xt->alen;
	rq->work_needed = true;
	erofs_io_buf(io, dev, pos - xt->skip, xt->buf, xt->alen, xi);
	return 0;
}

static int erofs_xt_plan_encoded(struct erofs_rq *rq, struct erofs_xt *xt, struct erofs_io *io,
				 u32 xi)
{
	struct erofs_device *dev;
	u32 align;
	u64 pos;
	int err;

	rq->work_needed = true;
	if (xt->flags & EROFS_MAP_META) {
		xt->how = EROFS_XT_INLINE;
		return 0;
	}
	err = erofs_dev_resolve(rq->sbi, xt->device_id, xt->pa, xt->plen, &dev, &pos);
	if (err)
		return err;
	align = erofs_dev_align(dev);
	xt->skip = pos & (align - 1);
	xt->alen = round_up(xt->skip + xt->plen, align);
	err = z_erofs_xt_plan(rq, xt, align);
	if (err)
		return err;
	erofs_stat_add(rq->sbi, EROFS_STAT_BYTES_READ, xt->alen);
	if (xt->how == EROFS_XT_INPLACE)
		erofs_io_pages(io, dev, pos - xt->skip, xt->rpos, xt->alen, xi);
	else
		erofs_io_buf(io, dev, pos - xt->skip, xt->buf, xt->alen, xi);
	return 0;
}

/* inline tail of an uncompressed file: it is at hand, so copy it at once */
static int erofs_xt_copy_inline(struct erofs_rq *rq, struct erofs_xt *xt, struct erofs_metabuf *b)
{
	u64 from = xt->from, to = erofs_xt_to(rq, xt);
	const void *p = erofs_meta_ptr(&b->m, xt->pa + (from - xt->la), to - from);

	if (IS_ERR(p))
		return PTR_ERR(p);
	erofs_rq_copy_in(rq, from, p, to - from);
	xt->how = EROFS_XT_ZERO;
	xt->flags |= EROFS_MAP_MAPPED;	/* nothing left to do */
	return 0;
}

static int erofs_xt_plan(struct erofs_rq *rq, struct erofs_xt *xt, struct erofs_io *io, u32 xi,
			 struct erofs_metabuf *b)
{
	struct erofs_map map;
	int err;

	xt->flags = 0;
	if (rq->pos == rq->start && z_erofs_stash_take(rq, xt, 0))
		return 0;

	err = erofs_map_blocks(rq->inode, b, &rq->cur, rq->pos, &map);
	if (err) {
		/* nothing is known about what follows: give up this page only */
		xt->la = rq->pos;
		xt->lend = round_down(rq->pos, PAGE_SIZE) + PAGE_SIZE;
		return err;
	}
	xt->la = map.la;
	xt->lend = map.la + map.llen;
	xt->pa = map.pa;
	xt->plen = map.plen;
	xt->flags = map.flags;
	xt->alg = map.alg;
	xt->device_id = map.device_id;
	if (!(map.flags & EROFS_MAP_MAPPED)) {
		xt->how = EROFS_XT_ZERO;
		/* nothing but this extent writes here in a flat file */
		if (!erofs_layout_compressed(EROFS_I(rq->inode)->d.layout)) {
			erofs_rq_zero(rq, xt->from, erofs_xt_to(rq, xt) - xt->from);
			xt->flags |= EROFS_MAP_MAPPED;
		} else {
			rq->work_needed = true;
		}
		return 0;
	}
	if (map.flags & EROFS_MAP_FRAGMENT) {
		xt->how = EROFS_XT_FRAGMENT;
		rq->work_needed = true;
		return 0;
	}
	if (map.flags & (EROFS_MAP_ENCODED | EROFS_MAP_PLAIN)) {
		/*
		 * The request before this one is probably just decoding it.  Not
		 * if anything went before: in a damaged file the same extent can
		 * show up behind an error, and what is stashed begins at the first
		 * page, which is unlocked by then.
		 */
		if (rq->seq && xi == 0 && rq->pos == rq->start && map.la < rq->start &&
		    (map.flags & EROFS_MAP_ENCODED)) {
			xt->how = EROFS_XT_STASH;
			xt->buf = NULL;
			rq->work_needed = true;
			return 0;
		}
		return erofs_xt_plan_encoded(rq, xt, io, xi);
	}
	if (map.flags & EROFS_MAP_META)
		return erofs_xt_copy_inline(rq, xt, b);
	return erofs_xt_plan_direct(rq, xt, io, xi);
}

/* will this extent leave something in the stash for the request after this one? */
static bool erofs_xt_has_rest(const struct erofs_rq *rq, const struct erofs_xt *xt)
{
	return rq->seq && xt->lend > rq->end && (xt->flags & EROFS_MAP_ENCODED);
}

/* map the next batch of extents and start their I/O */
static void erofs_rq_submit(struct erofs_rq *rq)
{
	struct erofs_io io = { .rq = rq };
	u64 dend = min(rq->end, rq->size);
	struct erofs_metabuf b;
	struct blk_plug plug;
	int err;

	atomic_set(&rq->pending, 1);
	rq->nr_xt = 0;
	rq->bounced = 0;
	rq->produced = 0;
	rq->work_needed = rq->held;	/* an inode is put where one may sleep */
	err = erofs_metabuf_nid(&b, rq->inode->i_sb, EROFS_I(rq->inode)->d.nid);
	blk_start_plug(&plug);
	while (rq->pos < dend && rq->nr_xt < rq->max_xt &&
	       rq->bounced < EROFS_RQ_MAX_BOUNCE && rq->produced < EROFS_RQ_MAX_OUT) {
		struct erofs_xt *xt = &rq->xt[rq->nr_xt];

		int xerr;

		/* from here on a bio that fails may write xt->err at any time */
		xt->err = 0;
		xt->from = rq->pos;
		xerr = err ?: erofs_xt_plan(rq, xt, &io, rq->nr_xt, &b);
		if (unlikely(err)) {
			xt->la = rq->pos;
			xt->lend = dend;
		}
		if (unlikely(xerr)) {
			xt->how = EROFS_XT_ERROR;
			xt->err = xerr;
			rq->work_needed = true;
		}
		if (erofs_xt_has_rest(rq, xt))
			WRITE_ONCE(EROFS_I(rq->inode)->rest_next, rq->end >> PAGE_SHIFT);
		rq->produced += erofs_xt_to(rq, xt) - min(xt->la, rq->pos);
		rq->pos = min(xt->lend, dend);
		rq->nr_xt++;
	}
	if (rq->pos < dend)
		rq->work_needed = true;
	erofs_io_submit(&io);
	blk_finish_plug(&plug);
	erofs_metabuf_put(&b);
}

/* unlock the folios that end at or before @upto */
static void erofs_rq_unlock(struct erofs_rq *rq, u64 upto)
{
	while (rq->next < rq->nr_pages) {
		struct folio *folio = page_folio(rq->pages[rq->next]);
		u64 pos = rq->start + ((u64)rq->next << PAGE_SHIFT);
		u64 size = folio_size(folio);

		if (pos + size > upto)
			return;
		rq->next += size >> PAGE_SHIFT;
		if (likely(rq->bad_end <= pos)) {
			flush_dcache_folio(folio);
			folio_end_read(folio, true);
			continue;
		}
		if (folio_test_large(folio)) {
			/*
			 * One bad cluster must not take its neighbours along:
			 * without the folio they are read again page by page.
			 */
			folio_get(folio);
			generic_error_remove_folio(folio->mapping, folio);
			rq->dropped = true;
			folio_unlock(folio);
			folio_put(folio);
		} else {
			folio_end_read(folio, false);
		}
	}
}

/* the stash did not have it after all: read the cluster now */
static int erofs_xt_read_now(struct erofs_rq *rq, struct erofs_xt *xt)
{
	struct erofs_io io = { .rq = rq };
	int err;

	atomic_set(&rq->pending, 1);
	rq->sync = true;
	reinit_completion(&rq->io_done);
	err = erofs_xt_plan_encoded(rq, xt, &io, xt - rq->xt);
	erofs_io_submit(&io);
	if (!atomic_dec_and_test(&rq->pending))
		wait_for_completion_io(&rq->io_done);
	return err ?: READ_ONCE(xt->err) ?: z_erofs_xt_finish(rq, xt);
}

/* all bytes of an extent have arrived: put them where they belong */
static void erofs_xt_finish(struct erofs_rq *rq, struct erofs_xt *xt)
{
	int err = READ_ONCE(xt->err);

	switch (xt->how) {
	case EROFS_XT_DIRECT:
	case EROFS_XT_ERROR:
		break;
	case EROFS_XT_ZERO:
		if (!(xt->flags & EROFS_MAP_MAPPED))
			erofs_rq_zero(rq, xt->from, erofs_xt_to(rq, xt) - xt->from);
		break;
	case EROFS_XT_STASH:
		if (xt->buf || z_erofs_stash_take(rq, xt, xt->lend))
			z_erofs_stash_copy(rq, xt);
		else
			err = erofs_xt_read_now(rq, xt);
		break;
	default:
		if (!err)
			err = z_erofs_xt_finish(rq, xt);
		break;
	}
	if (xt->how == EROFS_XT_BOUNCE)
		z_erofs_scratch_put(Z_EROFS_SCRATCH_IO, xt->buf, xt->bits);
	if (unlikely(err)) {
		rq->bad_end = max(rq->bad_end, xt->lend);
		if (!rq->err)
			rq->err = err;
	}
}

/* the request before this one may be about to fill the stash; not for long */
static void erofs_rq_await_rest(struct erofs_rq *rq)
{
	struct erofs_inode *ei = EROFS_I(rq->inode);
	pgoff_t idx = rq->start >> PAGE_SHIFT;

	if (READ_ONCE(ei->rest_next) == idx)
		wait_var_event_timeout(&ei->rest_next, READ_ONCE(ei->rest_next) != idx,
				       EROFS_REST_WAIT);
}

/*
 * All I/O of the batch is done: process its extents in file order.  Only what
 * the stash doesn't have yet comes last: the request before this one is still
 * decoding on another processor.  Nothing else is read or written there.
 */
static void erofs_rq_finish(struct erofs_rq *rq)
{
	u64 dend = min(rq->end, rq->size);
	struct erofs_xt *late = NULL;
	u32 i;

	for (i = 0; i < rq->nr_xt; i++) {
		struct erofs_xt *xt = &rq->xt[i];

		if (xt->how == EROFS_XT_STASH && !xt->buf && rq->nr_xt > 1 &&
		    !z_erofs_stash_take(rq, xt, xt->lend))
			late = xt;
		else
			erofs_xt_finish(rq, xt);
		if (erofs_xt_has_rest(rq, xt)) {
			struct erofs_inode *ei = EROFS_I(rq->inode);

			/* done, or failed; after the last unlock the inode may go */
			if (READ_ONCE(ei->rest_next) == rq->end >> PAGE_SHIFT) {
				WRITE_ONCE(ei->rest_next, 0);
				wake_up_var(&ei->rest_next);
			}
		}
		rq->done = min(xt->lend, dend);
		if (!late)
			erofs_rq_unlock(rq, rq->done);
	}
	if (unlikely(late)) {
		erofs_rq_await_rest(rq);
		/* damage behind it fails all these folios; they are read again one by one */
		erofs_xt_finish(rq, late);
		erofs_rq_unlock(rq, rq->done);
	}
	if (rq->done < dend)
		return;
	if (rq->end > rq->size) {
		u64 from = max(rq->size, rq->start);

		erofs_rq_zero(rq, from, rq->end - from);
	}
	erofs_rq_unlock(rq, rq->end);
}

static void erofs_rq_free(struct erofs_rq *rq)
{
	if (rq->pages != &rq->one)
		kvfree(rq->pages);
	kmem_cache_free(erofs_rq_cachep[rq->max_xt != EROFS_RQ_MIN_XT], rq);
}

/* Fill what is left of the request in this context */
static void erofs_rq_run(struct erofs_rq *rq)
{
	while (rq->next < rq->nr_pages) {
		if (unlikely(fatal_signal_pending(current))) {
			rq->bad_end = rq->end;
			rq->err = -EINTR;
			erofs_rq_unlock(rq, rq->end);
			break;
		}
		rq->sync = true;
		reinit_completion(&rq->io_done);
		erofs_rq_submit(rq);
		if (!atomic_dec_and_test(&rq->pending))
			wait_for_completion_io(&rq->io_done);
		erofs_rq_finish(rq);
		cond_resched();
	}
}

static void erofs_in_flight_put(struct erofs_sb_info *sbi)
{
	if (atomic_dec_and_test(&sbi->in_flight))
		wake_up_var(&sbi->in_flight);
}

/* the end of an asynchronous request; nothing of the mount is touched afterwards */
static void erofs_rq_release(struct erofs_rq *rq)
{
	struct erofs_sb_info *sbi = rq->sbi;

	if (rq->held)
		iput(rq->inode);
	erofs_rq_free(rq);
	erofs_in_flight_put(sbi);
}

static void erofs_rq_work(struct work_struct *work)
{
	struct erofs_rq *rq = container_of(work, struct erofs_rq, work);

	erofs_rq_finish(rq);
	erofs_rq_run(rq);
	erofs_rq_release(rq);
}

/* last bio of an asynchronous batch; any context */
static void erofs_rq_complete(struct erofs_rq *rq)
{
	if (READ_ONCE(rq->work_needed)) {
		queue_work(rq->sbi->wq, &rq->work);
		return;
	}
	erofs_rq_finish(rq);
	erofs_rq_release(rq);
}

/*
 * A constructor keeps the allocator from zeroing a request each time where
 * kernels initialise all allocations: erofs_rq_alloc() sets what is read.
 */
static void erofs_rq_ctor(void *p)
{
	memset(p, 0, offsetof(struct erofs_rq, xt));
}

static struct erofs_rq *erofs_rq_alloc(struct inode *inode, u32 nr_pages, gfp_t gfp)
{
	bool small = nr_pages < 4;
	struct erofs_rq *rq;

	rq = kmem_cache_alloc(erofs_rq_cachep[!small], gfp);
	if (!rq)
		return NULL;
	memset(rq, 0, offsetof(struct erofs_rq, cur));
	rq->pages = &rq->one;
	if (nr_pages > 1) {
		rq->pages = kvmalloc_array(nr_pages, sizeof(*rq->pages), gfp);
		if (!rq->pages) {
			kmem_cache_free(erofs_rq_cachep[!small], rq);
			return NULL;
		}
	}
	rq->inode = inode;
	rq->sbi = EROFS_SB(inode->i_sb);
	rq->size = i_size_read(inode);
	rq->max_xt = small ? EROFS_RQ_MIN_XT : EROFS_RQ_MAX_XT;
	z_erofs_cursor_init(&rq->cur);
	init_completion(&rq->io_done);
	INIT_WORK(&rq->work, erofs_rq_work);
	return rq;
}

static void erofs_rq_start(struct erofs_rq *rq, u64 start)
{
	rq->start = start;
	rq->end = start + ((u64)rq->nr_pages << PAGE_SHIFT);
	rq->pos = start;
	rq->done = start;
	rq->floor = start;
}

/* the inode that @mapping is filled from for @file; shared pages are, from whoever asks */
static struct inode *erofs_mapping_inode(struct address_space *mapping, const struct file *file)
{
	if (likely(mapping->a_ops != &erofs_share_aops))
		return mapping->host;
	return erofs_share_reader(mapping, file);
}

static int erofs_read_folio(struct file *file, struct folio *folio)
{
	struct inode *inode = erofs_mapping_inode(folio->mapping, file);
	u32 i, n = folio_nr_pages(folio);
	struct erofs_rq *rq;
	bool dropped;
	int err;

	if (unlikely(!inode)) {
		folio_unlock(folio);
		return -EIO;
	}
	rq = erofs_rq_alloc(inode, n, GFP_NOFS);
	if (!rq) {
		folio_unlock(folio);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		rq->pages[i] = folio_page(folio, i);
	rq->nr_pages = n;
	erofs_rq_start(rq, folio_pos(folio));
	erofs_rq_run(rq);
	err = rq->err;
	dropped = rq->dropped;
	erofs_rq_free(rq);
	/* the pages of a large folio are tried one by one when it is gone */
	return dropped ? AOP_TRUNCATED_PAGE : err;
}

/*
 * An extent cut at the edge of a random reader's window is decoded again by
 * whoever wants the rest of it.  A few times may be chance; then all of it is
 * worth its pages.  Races and collisions cost a wrong guess.
 */
static bool z_erofs_cut_often(struct inode *inode, u64 la)
{
	u32 h = hash_64(EROFS_I(inode)->d.nid + (la << 16), 32);
	u16 *slot = &EROFS_SB(inode->i_sb)->cut[h >> (32 - EROFS_CUT_BITS)];
	u16 tag = h << 3, old = READ_ONCE(*slot);

	if ((old ^ tag) & ~7)
		old = tag;
	if ((old & 7) < EROFS_CUTS) {
		WRITE_ONCE(*slot, old + 1);
		return false;
	}
	return true;
}

/*
 * A window that ends inside an extent: the rest of the extent is decoded by
 * this request anyway.  It goes to the stash; if it is too large for that, the
 * window is widened to its end.  Hidden files (packed, metabox) have no
 * sequence to continue; they are widened to whole extents at both ends.  So are
 * windows of random readers that cut the same extent again and again.
 */
static void z_erofs_ra_expand(struct readahead_control *rac, struct inode *inode, bool seq,
			      bool hidden)
{
	u64 size = i_size_read(inode);
	u64 start = readahead_pos(rac), end = start + readahead_length(rac);
	u64 nstart = start, nend = end;
	struct z_erofs_cursor cur;
	struct erofs_metabuf b;
	struct erofs_map map;
	u64 cut = U64_MAX;
	bool whole;

	if (erofs_metabuf_nid(&b, inode->i_sb, EROFS_I(inode)->d.nid))
		return;
	z_erofs_cursor_init(&cur);
	if (erofs_map_blocks(inode, &b, &cur, start, &map))
		map.flags = 0;
	if ((map.flags & EROFS_MAP_ENCODED) && map.la < start) {
		whole = hidden || start - map.la > EROFS_RA_FRONT_MIN;
		if (!whole && !seq) {
			cut = map.la;
			whole = z_erofs_cut_often(inode, cut);
		}
		/* not for the sake of a page that the extent before it shares */
		if (whole)
			nstart = hidden ? round_down(map.la, PAGE_SIZE) :
					  round_up(map.la, PAGE_SIZE);
	}
	if (seq && start && rac->ra && is_power_of_2(rac->ra->ra_pages)) {
		/* windows that begin aligned are made of few large folios */
		u64 aligned = round_up(end, (u64)rac->ra->ra_pages << PAGE_SHIFT);

		if (aligned - end < end - start)
			nend = min(aligned, round_up(size, PAGE_SIZE));
	}
	if (nend < size && !((map.flags & EROFS_MAP_ENCODED) && nend - map.la < map.llen) &&
	    erofs_map_blocks(inode, &b, &cur, nend - 1, &map))
		map.flags = 0;
	if (nend < size && (map.flags & EROFS_MAP_ENCODED)) {
		u64 lend = map.la + map.llen;

		if (seq || hidden)
			whole = lend - nend > (hidden ? 0 : EROFS_STASH_MAX);
		else if (lend <= nend || lend - nend > EROFS_RA_FRONT_MIN)
			whole = false;
		else if (map.la != cut)
			whole = z_erofs_cut_often(inode, map.la);
		if (whole)
			nend = lend == size || hidden ? round_up(lend, PAGE_SIZE) :
							max(nend, round_down(lend, PAGE_SIZE));
	}
	erofs_metabuf_put(&b);
	if (nstart != start || nend != end)
		readahead_expand(rac, nstart, nend - nstart);
}

static void erofs_run_end_io(struct bio *bio)
{
	struct erofs_sb_info *sbi = bio->bi_private;
	struct folio_iter fi;

	bio_for_each_folio_all(fi, bio) {
		flush_dcache_folio(fi.folio);
		/*
		 * A request reads this again, and drops the folio if it is large.
		 * Another run must not put a large one there again: whoever wants
		 * a page would try for ever.
		 */
		if (unlikely(bio->bi_status))
			WRITE_ONCE(EROFS_I(fi.folio->mapping->host)->no_runs, 1);
		folio_end_read(fi.folio, !bio->bi_status);
	}
	bio_put(bio);
	erofs_in_flight_put(sbi);
}

static void erofs_run_submit(const struct inode *inode, const struct erofs_device *dev,
			     struct bio *bio)
{
	trace_erofs_submit(inode, dev, bio->bi_iter.bi_sector << SECTOR_SHIFT,
			   bio->bi_iter.bi_size, true);
	submit_bio(bio);
}

/*
 * A window of an uncompressed file that lies on a device in one run needs no
 * request: the end of its I/O unlocks the folios.  Returns false if this is
 * none; nothing has been done then.
 */
static bool erofs_readahead_run(struct readahead_control *rac, struct inode *inode)
{
	struct erofs_sb_info *sbi = EROFS_SB(inode->i_sb);
	u64 from = readahead_pos(rac), len = readahead_length(rac), pos;
	struct erofs_device *dev;
	struct erofs_metabuf b;
	struct bio *bio = NULL;
	struct folio *folio;
	struct erofs_map map;
	int err;

	if (from + len > i_size_read(inode) ||
	    unlikely(inode != rac->mapping->host || READ_ONCE(EROFS_I(inode)->no_runs)))
		return false;
	err = erofs_metabuf_nid(&b, inode->i_sb, EROFS_I(inode)->d.nid) ?:
	      erofs_map_flat(&sbi->s, &EROFS_I(inode)->d, &b.m, from, &map);
	erofs_metabuf_put(&b);
	if (err || map.flags != EROFS_MAP_MAPPED || map.la + map.llen < from + len ||
	    erofs_dev_resolve(sbi, map.device_id, map.pa + (from - map.la), len, &dev, &pos) ||
	    !dev->bdev || erofs_dev_align(dev) > PAGE_SIZE || (pos & (erofs_dev_align(dev) - 1)))
		return false;
	trace_erofs_map_extent(inode, from, &map, 0);
	erofs_stat_add(sbi, EROFS_STAT_BYTES_READ, len);
	while ((folio = readahead_folio(rac))) {
		size_t n = folio_size(folio);

		if (!bio || bio_add_page(bio, folio_page(folio, 0), n, 0) != n) {
			if (bio)
				erofs_run_submit(inode, dev, bio);
			/* may sleep, hence does not fail */
			bio = bio_alloc(dev->bdev, bio_max_segs(len >> PAGE_SHIFT),
					REQ_OP_READ | REQ_RAHEAD, GFP_NOFS);
			bio->bi_iter.bi_sector = pos >> SECTOR_SHIFT;
			bio->bi_private = sbi;
			bio->bi_end_io = erofs_run_end_io;
			atomic_inc(&sbi->in_flight);
			__bio_add_page(bio, folio_page(folio, 0), n, 0);
		}
		pos += n;
		len -= n;
	}
	erofs_run_submit(inode, dev, bio);
	return true;
}

/* @inode: what is read; its own mapping is @rac's, or they share pages */
static void erofs_inode_readahead(struct readahead_control *rac, struct inode *inode)
{
	struct erofs_inode *ei = EROFS_I(inode);
	struct erofs_sb_info *sbi = EROFS_SB(inode->i_sb);
	bool hidden = inode == sbi->packed || inode == sbi->metabox;
	bool seq = readahead_index(rac) == READ_ONCE(ei->ra_next);
	struct folio *folio;
	struct erofs_rq *rq;
	u32 i, max;
	u8 how;

	if (erofs_layout_compressed(ei->d.layout) &&
	    (hidden || sbi->opts.cache != EROFS_CACHE_DISABLED) &&
	    (seq || hidden || sbi->long_extents || readahead_count(rac) >= 16)) {
		z_erofs_ra_expand(rac, inode, seq, hidden);
		/*
		 * Encoded data fills a window with a fraction of the I/O, so a
		 * reader that goes on gets larger ones: fewer extents are cut
		 * at an edge, and the folios become larger.
		 */
		if (seq && rac->ra && readahead_count(rac) >= rac->ra->ra_pages)
			rac->ra->ra_pages = max_t(u32, rac->ra->ra_pages,
						  inode->i_sb->s_bdi->ra_pages * EROFS_RA_SCALE);
	}
	max = readahead_count(rac);
	WRITE_ONCE(ei->ra_next, readahead_index(rac) + max);
	if (!max || (!erofs_layout_compressed(ei->d.layout) && erofs_readahead_run(rac, inode)))
		return;
	rq = erofs_rq_alloc(inode, max, GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN);
	if (!rq)
		return;		/* the pages are read one by one when they are wanted */
	while ((folio = readahead_folio(rac))) {
		if (!rq->nr_pages)
			erofs_rq_start(rq, folio_pos(folio));
		for (i = 0; i < folio_nr_pages(folio); i++)
			rq->pages[rq->nr_pages + i] = folio_page(folio, i);
		rq->nr_pages += i;
	}
	erofs_rq_start(rq, rq->start);
	rq->ra = true;
	rq->seq = seq && !hidden && sbi->opts.cache != EROFS_CACHE_DISABLED;
	/*
	 * Somebody waits for a small window, and for hidden files always: a
	 * worker that decodes may need them.
	 */
	how = READ_ONCE(sbi->sync_decompress);
	if (hidden || how == EROFS_SYNC_ALWAYS ||
	    (how == EROFS_SYNC_AUTO && rq->nr_pages <= EROFS_SYNC_PAGES)) {
		erofs_rq_run(rq);
		erofs_rq_free(rq);
		return;
	}
	rq->sync = false;
	if (unlikely(inode != rac->mapping->host)) {
		/* the file may be closed before this is done, and pins nothing of ours */
		ihold(inode);
		rq->held = true;
	}
	atomic_inc(&sbi->in_flight);
	erofs_rq_submit(rq);
	if (!atomic_dec_and_test(&rq->pending))
		return;
	if (how == EROFS_SYNC_NEVER)
		erofs_rq_complete(rq);
	else
		erofs_rq_work(&rq->work);	/* all there already: no need to switch context */
}

static void erofs_readahead(struct readahead_control *rac)
{
	struct inode *inode = erofs_mapping_inode(rac->mapping, rac->file);

	/* what is not taken here is read page by page, if anybody wants it */
	if (likely(inode))
		erofs_inode_readahead(rac, inode);
}

static sector_t erofs_bmap(struct address_space *mapping, sector_t block)
{
	struct inode *inode = mapping->host;
	struct erofs_sb_info *sbi = EROFS_SB(inode->i_sb);
	struct erofs_device *dev;
	struct erofs_metabuf b;
	struct z_erofs_cursor cur;
	struct erofs_map map;
	sector_t res = 0;
	u64 off, pos;

	if (erofs_layout_compressed(EROFS_I(inode)->d.layout) ||
	    check_shl_overflow((u64)block, inode->i_blkbits, &off) || off >= i_size_read(inode))
		return 0;
	if (erofs_metabuf_nid(&b, inode->i_sb, EROFS_I(inode)->d.nid))
		return 0;
	z_erofs_cursor_init(&cur);
	if (!erofs_map_blocks(inode, &b, &cur, off, &map) &&
	    (map.flags & (EROFS_MAP_MAPPED | EROFS_MAP_META)) == EROFS_MAP_MAPPED &&
	    !erofs_dev_resolve(sbi, map.device_id, map.pa + (off - map.la), 1, &dev, &pos) &&
	    dev == &sbi->dev && dev->bdev)
		res = pos >> inode->i_blkbits;
	erofs_metabuf_put(&b);
	return res;
}

const struct address_space_operations erofs_aops = {
	.read_folio	= erofs_read_folio,
	.readahead	= erofs_readahead,
	.bmap		= erofs_bmap,
};

const struct address_space_operations erofs_share_aops = {
	.read_folio	= erofs_read_folio,
	.readahead	= erofs_readahead,
};

/*
 * Workers wait for metadata and for hidden files of their own mount, so mounts
 * that are stacked by loop devices must not wait for each other's workers.
 * Nothing that frees memory depends on a read, hence no rescuer thread.
 */
int erofs_request_mount(struct super_block *sb)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);

	sbi->long_extents = sbi->s.algs & ~BIT(Z_EROFS_COMPRESSION_LZ4) ||
			    (u64)sbi->s.lz4_max_pclusterblks * sbi->s.blksz >=
			    EROFS_LONG_EXTENTS_MIN;
	sbi->wq = alloc_workqueue(EROFS_FSNAME "/%s", WQ_UNBOUND | WQ_HIGHPRI, 0, sb->s_id);
	if (!sbi->wq)
		return -ENOMEM;
	z_erofs_mount_add(sbi);
	return 0;
}

void erofs_request_drain(struct erofs_sb_info *sbi)
{
	wait_var_event(&sbi->in_flight, !atomic_read(&sbi->in_flight));
}

void erofs_request_umount(struct erofs_sb_info *sbi)
{
	erofs_request_drain(sbi);
	if (!sbi->wq)
		return;
	destroy_workqueue(sbi->wq);
	z_erofs_mount_del(sbi);
}

int erofs_request_init(void)
{
	int err = -ENOMEM;

	erofs_rq_cachep[0] = kmem_cache_create(EROFS_FSNAME "_rq_small",
					       struct_size_t(struct erofs_rq, xt, EROFS_RQ_MIN_XT),
					       0, 0, erofs_rq_ctor);
	if (!erofs_rq_cachep[0])
		return -ENOMEM;
	erofs_rq_cachep[1] = kmem_cache_create(EROFS_FSNAME "_rq",
					       struct_size_t(struct erofs_rq, xt, EROFS_RQ_MAX_XT),
					       0, 0, erofs_rq_ctor);
	if (!erofs_rq_cachep[1])
		goto out_small;
	err = bioset_init(&erofs_bioset, 16, offsetof(struct erofs_iob, bio), BIOSET_NEED_BVECS);
	if (!err)
		return 0;
	kmem_cache_destroy(erofs_rq_cachep[1]);
out_small:
	kmem_cache_destroy(erofs_rq_cachep[0]);
	return err;
}

void erofs_request_exit(void)
{
	bioset_exit(&erofs_bioset);
	kmem_cache_destroy(erofs_rq_cachep[1]);
	kmem_cache_destroy(erofs_rq_cachep[0]);
}
