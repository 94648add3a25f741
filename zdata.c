// SPDX-License-Identifier: GPL-2.0
/*
 * zdata.c - encoded extents of a read request: where their bytes are read to,
 * decoding them, scratch memory, the stash, and the shrinker.
 *
 * In place: the encoded bytes of an extent are read into the last pages that
 * the extent itself will fill, so that they end at a page end, and are decoded
 * from there into the same pages.  Documentation/design.md proves why that is
 * safe; in short:
 *  - regions ascend and don't overlap (erofs_rq.floor), and a region begins at
 *    or behind its extent's first byte, so nothing decoded earlier is hit;
 *  - what lies between the end of the extent and the page end belongs to the
 *    next extents, which are decoded later;
 *  - the decoder never writes outside the extent, and the distance between the
 *    end of the input and the end of the output is checked against its margin.
 * Input and output are always seen through one mapping.
 */
#include <linux/vmalloc.h>
#include <linux/hash.h>
#include <linux/shrinker.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include "internal.h"
#include "request.h"
#include "decompressor.h"
#include "trace.h"

/* ---- scratch memory: a few buffers per CPU that outlive a request ---------- */

#define Z_EROFS_SCRATCH_MAX_BITS	19	/* larger ones are not kept */

/*
 * Slots hold the buffer's address plus log2 of its size: buffers are at least
 * a page long and page aligned.  xchg() makes whoever takes one its owner.
 */
static DEFINE_PER_CPU(unsigned long, z_erofs_scratch[Z_EROFS_SCRATCH_NR]);

static void z_erofs_scratch_free(unsigned long v)
{
	void *p = (void *)(v & PAGE_MASK);

	if (is_vmalloc_addr(p))
		vfree(p);
	else if (p)
		free_pages((unsigned long)p, (v & ~PAGE_MASK) - PAGE_SHIFT);
}

/*
 * Pages, not slab memory: what devices read to may be referenced page by page
 * by the layers below, which kmalloc() memory doesn't take.
 */
static void *z_erofs_scratch_alloc(u8 bits)
{
	gfp_t gfp = GFP_NOFS | __GFP_NOWARN;
	struct page *page;

	if (bits == PAGE_SHIFT)
		return (void *)__get_free_page(gfp);
	page = alloc_pages(gfp | __GFP_COMP | __GFP_NORETRY, bits - PAGE_SHIFT);
	if (likely(page))
		return page_address(page);
	return __vmalloc(1UL << bits, gfp);
}

void *z_erofs_scratch_get(enum z_erofs_scratch_kind kind, u32 size, u8 *bits)
{
	unsigned long v = xchg(raw_cpu_ptr(&z_erofs_scratch[kind]), 0);

	*bits = v & ~PAGE_MASK;
	if (likely(v && size <= 1UL << *bits))
		return (void *)(v & PAGE_MASK);
	z_erofs_scratch_free(v);
	*bits = max_t(u8, order_base_2(size), PAGE_SHIFT);
	return z_erofs_scratch_alloc(*bits);
}

void z_erofs_scratch_put(enum z_erofs_scratch_kind kind, void *p, u8 bits)
{
	unsigned long v = (unsigned long)p;

	if (!p)
		return;
	if (bits <= Z_EROFS_SCRATCH_MAX_BITS)
		v = xchg(raw_cpu_ptr(&z_erofs_scratch[kind]), v | bits);
	else
		v |= bits;
	z_erofs_scratch_free(v);
}

static unsigned long z_erofs_scratch_drop(void)
{
	unsigned long n = 0;
	int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < Z_EROFS_SCRATCH_NR; i++) {
			unsigned long v = xchg(per_cpu_ptr(&z_erofs_scratch[i], cpu), 0);

			n += !!v;
			z_erofs_scratch_free(v);
		}
	return n;
}

/* ---- stash: what was decoded beyond the end of a request -------------------- */

/**
 * struct erofs_stash - the rest of an extent
 * @nid: the file
 * @pos: file offset of data[0]; the request that continues begins there
 * @len: bytes
 * @data: decoded bytes
 *
 * A slot holds one; whoever takes it out with xchg() owns it.
 */
struct erofs_stash {
	u64 nid;
	u64 pos;
	u32 len;
	u8 data[];
};

static struct erofs_stash **z_erofs_stash_slot(struct erofs_sb_info *sbi, u64 nid)
{
	return &sbi->stash[hash_64(nid, ilog2(EROFS_STASH_SLOTS))];
}

bool z_erofs_stash_take(struct erofs_rq *rq, struct erofs_xt *xt, u64 lend)
{
	u64 nid = EROFS_I(rq->inode)->d.nid;
	struct erofs_stash **slot = z_erofs_stash_slot(rq->sbi, nid);
	struct erofs_stash *st = READ_ONCE(*slot);

	if (!st)
		return false;
	st = xchg(slot, NULL);
	if (!st)
		return false;
	if (st->nid != nid || st->pos != rq->start || (lend && st->pos + st->len != lend)) {
		if (cmpxchg(slot, NULL, st))
			kfree(st);
		return false;
	}
	xt->la = st->pos;
	xt->lend = st->pos + st->len;
	xt->how = EROFS_XT_STASH;
	xt->buf = st;
	rq->work_needed = true;
	erofs_stat_add(rq->sbi, EROFS_STAT_STASH_HIT, 1);
	return true;
}

void z_erofs_stash_copy(struct erofs_rq *rq, struct erofs_xt *xt)
{
	struct erofs_stash *st = xt->buf;

	erofs_rq_copy_in(rq, xt->la, st->data, erofs_xt_to(rq, xt) - xt->la);
	kfree(st);
}

static void z_erofs_stash_put(struct erofs_rq *rq, const void *data, u32 len)
{
	struct erofs_stash *st = kmalloc(sizeof(*st) + len, GFP_NOWAIT | __GFP_NOWARN);

	if (!st)
		return;
	st->nid = EROFS_I(rq->inode)->d.nid;
	st->pos = rq->end;
	st->len = len;
	memcpy(st->data, data, len);
	kfree(xchg(z_erofs_stash_slot(rq->sbi, st->nid), st));
}

unsigned long z_erofs_stash_drop(struct erofs_sb_info *sbi)
{
	unsigned long n = 0;
	int i;

	for (i = 0; i < EROFS_STASH_SLOTS; i++) {
		struct erofs_stash *st;

		if (!READ_ONCE(sbi->stash[i]))
			continue;
		st = xchg(&sbi->stash[i], NULL);
		n += !!st;
		kfree(st);
	}
	return n;
}

static LIST_HEAD(z_erofs_mounts);
static DEFINE_SPINLOCK(z_erofs_mounts_lock);

void z_erofs_mount_add(struct erofs_sb_info *sbi)
{
	spin_lock(&z_erofs_mounts_lock);
	list_add(&sbi->mounts, &z_erofs_mounts);
	spin_unlock(&z_erofs_mounts_lock);
}

void z_erofs_mount_del(struct erofs_sb_info *sbi)
{
	spin_lock(&z_erofs_mounts_lock);
	list_del(&sbi->mounts);
	spin_unlock(&z_erofs_mounts_lock);
	z_erofs_stash_drop(sbi);
}

/* ---- planning --------------------------------------------------------------- */

int z_erofs_xt_plan(struct erofs_rq *rq, struct erofs_xt *xt, u32 align)
{
	u64 pgend = round_up(xt->lend, PAGE_SIZE);
	u64 low = max(xt->la, rq->floor);
	u32 blksz = rq->sbi->s.blksz;

	/*
	 * Interlaced: the first piece of the output must not touch the input.
	 * It is the end of a block, or, if the extent is aligned and there are
	 * several, a whole one.
	 */
	if (xt->flags & EROFS_MAP_INTERLACED)
		low = max(low, xt->plen == blksz ? round_up(xt->la, blksz) :
						   round_down(xt->la, blksz) + blksz);
	if (xt->la == xt->from && pgend <= rq->end && pgend - rq->start >= xt->alen &&
	    pgend - xt->alen >= low) {
		xt->rpos = pgend - xt->alen;
		xt->how = EROFS_XT_INPLACE;
		rq->floor = pgend;
		return 0;
	}
	xt->buf = z_erofs_scratch_get(Z_EROFS_SCRATCH_IO, xt->alen, &xt->bits);
	if (!xt->buf)
		return -ENOMEM;
	xt->how = EROFS_XT_BOUNCE;
	rq->bounced += xt->alen;
	return 0;
}

/* ---- finishing ---------------------------------------------------------------- */

/* move bytes inside the request to a lower or equal position */
static void z_erofs_rq_move(struct erofs_rq *rq, u64 to, u64 from, u64 len)
{
	while (len) {
		u32 n = min3(len, (u64)(PAGE_SIZE - offset_in_page(to)),
			     (u64)(PAGE_SIZE - offset_in_page(from)));

		memmove(erofs_rq_addr(rq, to), erofs_rq_addr(rq, from), n);
		to += n;
		from += n;
		len -= n;
	}
}

/* bytes [from, from + len) of the pcluster go to file position @to */
static void z_erofs_plain_piece(struct erofs_rq *rq, struct erofs_xt *xt, const u8 *src,
				u64 to, u64 from, u64 len)
{
	u64 wend = erofs_xt_to(rq, xt), wstart = xt->from;

	if (to < wstart) {
		u64 cut = min(wstart - to, len);

		to += cut;
		from += cut;
		len -= cut;
	}
	if (to >= wend)
		return;
	len = min(len, wend - to);
	if (src)
		erofs_rq_copy_in(rq, to, src + from, len);
	else
		z_erofs_rq_move(rq, to, xt->rpos + xt->skip + from, len);
}

static int z_erofs_plain(struct erofs_rq *rq, struct erofs_xt *xt, const u8 *src)
{
	u64 len = xt->lend - xt->la;
	u64 first;

	erofs_stat_add(rq->sbi, EROFS_STAT_PLAIN, 1);
	if (!(xt->flags & EROFS_MAP_INTERLACED)) {
		z_erofs_plain_piece(rq, xt, src, xt->la, 0, len);
		return 0;
	}
	/* section 11.10: byte k is at (k - first) mod plen */
	first = rq->sbi->s.blksz - (xt->la & (rq->sbi->s.blksz - 1));
	z_erofs_plain_piece(rq, xt, src, xt->la, xt->plen - first, min(first, len));
	if (len > first)
		z_erofs_plain_piece(rq, xt, src, xt->la + first, 0, len - first);
	return 0;
}

/* read [xt) from the packed file, whose own pages hold it decoded */
static int z_erofs_fragment(struct erofs_rq *rq, struct erofs_xt *xt)
{
	u64 from = xt->from, to = erofs_xt_to(rq, xt);
	u64 pos = xt->pa + (from - xt->la);
	struct erofs_metabuf b;
	int err = 0;

	if (WARN_ON_ONCE(!rq->sbi->packed || rq->inode == rq->sbi->packed))
		return -EFSCORRUPTED;
	erofs_metabuf_inode(&b, rq->sbi->packed);
	while (from < to && !err) {
		u32 n = min_t(u64, to - from, PAGE_SIZE - offset_in_page(from));

		err = erofs_meta_read(&b.m, pos, erofs_rq_addr(rq, from), n);
		from += n;
		pos += n;
		if (fatal_signal_pending(current))
			err = err ?: -EINTR;
		cond_resched();
	}
	erofs_fault_report(rq->inode->i_sb, true, EROFS_I(rq->inode)->d.nid, err, &b.m.fault);
	erofs_metabuf_put(&b);
	return err;
}

static int z_erofs_bad(struct erofs_rq *rq, struct erofs_xt *xt, const char *what)
{
	struct erofs_fault f;
	int err = erofs_fault_set(&f, -EFSCORRUPTED, what, xt->la, xt->pa);

	erofs_fault_report(rq->inode->i_sb, true, EROFS_I(rq->inode)->d.nid, err, &f);
	return err;
}

static int z_erofs_decode_xt(struct erofs_rq *rq, struct erofs_xt *xt, const u8 *src)
{
	struct erofs_sb_info *sbi = rq->sbi;
	u64 from = xt->from, to = erofs_xt_to(rq, xt);
	bool left = xt->alg == Z_EROFS_COMPRESSION_LZ4 && sbi->s.lz4_left_aligned;
	u8 *sscr = NULL, *dscr = NULL, sbits = 0, dbits = 0;
	enum erofs_stat how = EROFS_STAT_DIRECT;
	u64 inpos = xt->rpos + xt->skip;	/* file position of the input, INPLACE */
	u32 srclen = xt->plen;
	void *vmap = NULL;
	u32 vpages = 0;
	bool partial, keep;
	u32 dlen, pad;
	u64 ns;
	u8 *dst;
	int err;

	keep = rq->seq && xt->lend > to && to == rq->end && xt->lend - to <= EROFS_STASH_MAX;
	if (keep)
		to = xt->lend;
	dlen = to - xt->la;
	partial = (xt->flags & EROFS_MAP_PARTIAL) || to < xt->lend || left;

	/* where to: the pages themselves if they are one piece, else scratch or a mapping */
	if (likely(from == xt->la && !keep && erofs_rq_contig(rq, from, to))) {
		dst = erofs_rq_addr(rq, from);
	} else if (dlen > 1U << Z_EROFS_SCRATCH_MAX_BITS && from == xt->la && !keep) {
		u32 i = (from - rq->start) >> PAGE_SHIFT;
		unsigned int nofs;

		vpages = ((to - 1 - rq->start) >> PAGE_SHIFT) - i + 1;
		nofs = memalloc_nofs_save();
		vmap = vm_map_ram(rq->pages + i, vpages, NUMA_NO_NODE);
		memalloc_nofs_restore(nofs);
		if (!vmap)
			return -ENOMEM;
		dst = vmap + offset_in_page(from);
	} else {
		dscr = z_erofs_scratch_get(Z_EROFS_SCRATCH_OUT, dlen, &dbits);
		if (!dscr)
			return -ENOMEM;
		dst = dscr;
		how = EROFS_STAT_BOUNCE;
	}

	/* where from */
	if (xt->how == EROFS_XT_INPLACE) {
		bool one = erofs_rq_contig(rq, inpos, inpos + srclen);
		bool safe = dscr ||	/* output is elsewhere */
			    (xt->alg == Z_EROFS_COMPRESSION_LZ4 && !partial &&
			     inpos + srclen >= to + Z_EROFS_LZ4_INPLACE_MARGIN(srclen));

		if (vmap) {
			src = vmap + offset_in_page(from) + (inpos - from);
			one = true;
		} else if (one) {
			src = erofs_rq_addr(rq, inpos);
			/* two pieces of the page cache are one mapping only if nothing gapes */
			if (!dscr && safe)
				safe = erofs_rq_contig(rq, from, inpos + srclen);
		}
		if (!one || !safe) {
			u64 p = inpos;
			u8 *s;

			sscr = z_erofs_scratch_get(Z_EROFS_SCRATCH_IN, srclen, &sbits);
			if (!sscr) {
				err = -ENOMEM;
				goto out;
			}
			for (s = sscr; p < inpos + srclen;) {
				u32 n = min_t(u64, inpos + srclen - p,
					      PAGE_SIZE - offset_in_page(p));

				memcpy(s, erofs_rq_addr(rq, p), n);
				s += n;
				p += n;
			}
			src = sscr;
			how = EROFS_STAT_BOUNCE;
		} else if (!dscr) {
			how = EROFS_STAT_INPLACE;
		}
	}

	pad = 0;
	if (!left) {
		u32 max = min_t(u64, srclen, sbi->s.blksz - (xt->pa & (sbi->s.blksz - 1)));

		while (pad + 8 <= max && !get_unaligned_le64(src + pad))
			pad += 8;
		while (pad < max && !src[pad])
			pad++;
		if (pad == max) {
			err = z_erofs_bad(rq, xt, "cluster holds nothing but zeros");
			goto out;
		}
	}
	ns = local_clock();
	err = z_erofs_decode(xt->alg, &sbi->dec, src + pad, srclen - pad, dst, dlen, partial);
	ns = local_clock() - ns;
	erofs_latency_add(sbi, ns);
	trace_erofs_decode(rq, xt, dlen, how, ns, err);
	if (err) {
		if (err == -EFSCORRUPTED)
			z_erofs_bad(rq, xt, "cluster does not decode");
		goto out;
	}
	erofs_stat_add(sbi, how, 1);
	erofs_stat_add(sbi, EROFS_STAT_BYTES_OUT, dlen);
	if (dscr) {
		u64 end = min(to, rq->end);

		erofs_rq_copy_in(rq, from, dst + (from - xt->la), end - from);
		if (keep)
			z_erofs_stash_put(rq, dst + (end - xt->la), to - end);
	}
out:
	if (vmap) {
		flush_kernel_vmap_range(vmap, vpages << PAGE_SHIFT);
		vm_unmap_ram(vmap, vpages);
	}
	z_erofs_scratch_put(Z_EROFS_SCRATCH_IN, sscr, sbits);
	z_erofs_scratch_put(Z_EROFS_SCRATCH_OUT, dscr, dbits);
	return err;
}

int z_erofs_xt_finish(struct erofs_rq *rq, struct erofs_xt *xt)
{
	struct erofs_metabuf b;
	const u8 *src = NULL;
	int err;

	if (xt->how == EROFS_XT_FRAGMENT)
		return z_erofs_fragment(rq, xt);
	if (xt->how == EROFS_XT_INLINE) {
		err = erofs_metabuf_nid(&b, rq->inode->i_sb, EROFS_I(rq->inode)->d.nid);
		if (err)
			return err;
		src = erofs_meta_ptr(&b.m, xt->pa, xt->plen);
		if (IS_ERR(src)) {
			err = PTR_ERR(src);
			goto out;
		}
	} else if (xt->how == EROFS_XT_BOUNCE) {
		if (is_vmalloc_addr(xt->buf))
			invalidate_kernel_vmap_range(xt->buf, xt->alen);
		src = xt->buf + xt->skip;
	}
	if (xt->flags & EROFS_MAP_ENCODED)
		err = z_erofs_decode_xt(rq, xt, src);
	else
		err = z_erofs_plain(rq, xt, src);
out:
	if (xt->how == EROFS_XT_INLINE)
		erofs_metabuf_put(&b);
	return err;
}

/* ---- shrinker -------------------------------------------------------------------- */

static struct shrinker *z_erofs_shrinker;

/* objects are scratch buffers, stash entries and idle decoders */
static unsigned long z_erofs_shrink_count(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long n = z_erofs_pool_count();
	struct erofs_sb_info *sbi;
	int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < Z_EROFS_SCRATCH_NR; i++)
			n += !!READ_ONCE(*per_cpu_ptr(&z_erofs_scratch[i], cpu));
	spin_lock(&z_erofs_mounts_lock);
	list_for_each_entry(sbi, &z_erofs_mounts, mounts)
		for (i = 0; i < EROFS_STASH_SLOTS; i++)
			n += !!READ_ONCE(sbi->stash[i]);
	spin_unlock(&z_erofs_mounts_lock);
	return n ?: SHRINK_EMPTY;
}

static unsigned long z_erofs_shrink_scan(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long n = z_erofs_scratch_drop();
	struct erofs_sb_info *sbi;

	spin_lock(&z_erofs_mounts_lock);
	list_for_each_entry(sbi, &z_erofs_mounts, mounts)
		n += z_erofs_stash_drop(sbi);
	spin_unlock(&z_erofs_mounts_lock);
	n += z_erofs_pool_shrink(sc->nr_to_scan);
	return n ?: SHRINK_STOP;
}

int z_erofs_init(void)
{
	int err;

	z_erofs_shrinker = erofs_compat_shrinker_alloc();
	if (!z_erofs_shrinker)
		return -ENOMEM;
	z_erofs_shrinker->count_objects = z_erofs_shrink_count;
	z_erofs_shrinker->scan_objects = z_erofs_shrink_scan;
	z_erofs_shrinker->seeks = DEFAULT_SEEKS;
	err = erofs_compat_shrinker_register(z_erofs_shrinker);
	if (err)
		erofs_compat_shrinker_free(z_erofs_shrinker);
	return err;
}

void z_erofs_exit(void)
{
	erofs_compat_shrinker_free(z_erofs_shrinker);
	z_erofs_scratch_drop();
}
