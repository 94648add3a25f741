/* SPDX-License-Identifier: GPL-2.0 */
/*
 * request.h - a read request: a run of locked folios of one file, the extents
 * that fill them, and the I/O those need.  Shared by request.c (life of a
 * request, I/O) and zdata.c (encoded extents).
 */
#ifndef EROFS_REQUEST_H
#define EROFS_REQUEST_H

#include "internal.h"

/* Where the bytes of an extent come from */
enum {
	EROFS_XT_ZERO,		/* hole */
	EROFS_XT_DIRECT,	/* I/O goes straight to its place; nothing left to do */
	EROFS_XT_INPLACE,	/* encoded bytes are read into the tail of the extent's own pages */
	EROFS_XT_BOUNCE,	/* ... into memory of their own */
	EROFS_XT_INLINE,	/* ... are metadata */
	EROFS_XT_FRAGMENT,	/* bytes of the packed file */
	EROFS_XT_STASH,		/* the rest of an extent that the previous request decoded */
	EROFS_XT_ERROR,		/* could not be mapped */
};

/**
 * struct erofs_xt - one extent of a batch
 * @la, @lend: file range of the whole extent; may reach beyond the request at both ends
 * @from: first byte this request takes from it; everything before is done, and
 *	perhaps unlocked.  A damaged index may map extents that overlap
 * @pa, @plen, @flags, @alg, @device_id: as in struct erofs_map
 * @how: EROFS_XT_*
 * @skip: bytes between the start of what was read and the first encoded byte
 * @alen: bytes read, a multiple of the device's sector size
 * @rpos: INPLACE: file position where the read bytes lie; they end at a page end
 * @buf: BOUNCE: scratch memory of 1 << @bits bytes; STASH: struct erofs_stash,
 *	or NULL as long as it was not there yet
 * @err: set by a failed mapping or I/O, by the latter in interrupt context
 */
struct erofs_xt {
	u64 la;
	u64 lend;
	u64 from;
	u64 pa;
	u64 plen;
	u64 rpos;
	void *buf;
	u32 alen;
	u32 skip;
	u16 device_id;
	u8 flags;
	u8 alg;
	u8 how;
	u8 bits;
	int err;
};

/**
 * struct erofs_rq - a read request
 * @start, @end: file range of the locked pages, page aligned; @end may pass @size
 * @size: i_size
 * @pos: mapped up to here; @done: processed up to here
 * @floor: end of the latest in-place region; the next one must not begin before it
 * @bad_end: end of the last extent that failed; folios that begin before it fail too
 * @pages: (@end - @start) >> PAGE_SHIFT pages, all in folios locked by us
 * @next: index of the first page whose folio is still locked
 * @pending: bios under way, plus one while they are being submitted
 * @seq: continues the previous readahead: keep what is decoded beyond @end
 * @sync: whoever submitted waits for the I/O and decodes
 * @held: @inode is referenced: the folios are not in its own mapping
 * @work_needed: completion has more to do than to unlock folios
 *
 * Owned by the submitting task, and after an asynchronous submission by the
 * completion side.  Extents are processed strictly in ascending order; in-place
 * regions rely on that.
 */
struct erofs_rq {
	struct inode *inode;
	struct erofs_sb_info *sbi;
	u64 start;
	u64 end;
	u64 size;
	u64 pos;
	u64 done;
	u64 floor;
	u64 bad_end;
	struct page **pages;	/* kvmalloc'ed, or &one */
	struct page *one;
	u32 nr_pages;
	u32 next;
	atomic_t pending;
	int err;		/* first error, for read_folio */
	bool seq;
	bool sync;
	bool ra;
	bool held;
	bool work_needed;
	bool dropped;		/* a large folio was taken out of the page cache */
	struct completion io_done;
	struct work_struct work;
	struct z_erofs_cursor cur;
	u64 bounced;		/* BOUNCE bytes of this batch */
	u64 produced;		/* bytes this batch will decode */
	u32 nr_xt;
	u32 max_xt;
	struct erofs_xt xt[];
};

/* limits of one batch; a request that needs more is worked off in several */
#define EROFS_RQ_MAX_XT		40
#define EROFS_RQ_MIN_XT		6
#define EROFS_RQ_MAX_BOUNCE	(2 * 1024 * 1024)
#define EROFS_RQ_MAX_OUT	(16 * 1024 * 1024)

static inline void *erofs_rq_addr(const struct erofs_rq *rq, u64 pos)
{
	return page_address(rq->pages[(pos - rq->start) >> PAGE_SHIFT]) + offset_in_page(pos);
}

/* is [from, to) one piece of kernel memory? @to > @from, both inside the request */
static inline bool erofs_rq_contig(const struct erofs_rq *rq, u64 from, u64 to)
{
	u32 i = (from - rq->start) >> PAGE_SHIFT;
	u32 last = (to - 1 - rq->start) >> PAGE_SHIFT;
	const char *p = page_address(rq->pages[i]);

	for (; i < last; i++) {
		p += PAGE_SIZE;
		if (page_address(rq->pages[i + 1]) != p)
			return false;
	}
	return true;
}

/* end of the part of an extent that this request wants */
static inline u64 erofs_xt_to(const struct erofs_rq *rq, const struct erofs_xt *xt)
{
	return min3(xt->lend, rq->end, rq->size);
}

/* copy @len bytes to file position @pos of the request */
void erofs_rq_copy_in(struct erofs_rq *rq, u64 pos, const void *src, u64 len);
void erofs_rq_zero(struct erofs_rq *rq, u64 pos, u64 len);

/* ---- zdata.c ------------------------------------------------------------- */

enum z_erofs_scratch_kind {
	Z_EROFS_SCRATCH_IN,	/* copies of encoded bytes */
	Z_EROFS_SCRATCH_OUT,	/* decoded bytes on their way to scattered pages */
	Z_EROFS_SCRATCH_IO,	/* what a device reads to */
	Z_EROFS_SCRATCH_NR
};

/**
 * z_erofs_scratch_get() - memory for a short time, page aligned, uninitialised
 * @kind: keeps buffers of different size and lifetime apart
 * @size: bytes wanted
 * @bits: log2 of what was given; goes back with z_erofs_scratch_put()
 * Return: a buffer, linear or vmalloc memory, or NULL
 */
void *z_erofs_scratch_get(enum z_erofs_scratch_kind kind, u32 size, u8 *bits);
void z_erofs_scratch_put(enum z_erofs_scratch_kind kind, void *p, u8 bits);

/* decide how an encoded or plain extent is read: INPLACE, BOUNCE or INLINE; may fail (-ENOMEM) */
int z_erofs_xt_plan(struct erofs_rq *rq, struct erofs_xt *xt, u32 align);
/* bytes have arrived: decode or copy them to their place.  Process context */
int z_erofs_xt_finish(struct erofs_rq *rq, struct erofs_xt *xt);
/*
 * Does the stash hold the bytes from rq->start on?  Fills @xt and returns true.
 * @lend: where they must end because later extents are planned from there, or 0
 */
bool z_erofs_stash_take(struct erofs_rq *rq, struct erofs_xt *xt, u64 lend);
void z_erofs_stash_copy(struct erofs_rq *rq, struct erofs_xt *xt);
void z_erofs_stash_free(struct erofs_stash *st);

#endif /* EROFS_REQUEST_H */
