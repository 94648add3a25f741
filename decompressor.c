// SPDX-License-Identifier: GPL-2.0
/*
 * decompressor.c - the table of algorithms, and the memory they decode with.
 *
 * Workspaces are expensive (tens to thousands of KiB) and a decoder must not
 * fail for want of one, so they are pooled per algorithm.  A mount makes sure
 * that one exists; up to one per online CPU is added while readers would have
 * to wait, as far as memory is easily had.  Who finds none waits for one to come
 * back, which needs no memory, so reading makes progress under any pressure.
 *
 * Locks: z_erofs_pool_mutex (mount and umount; allocates) outside pool->lock
 * (a spinlock, nothing below it).  The shrinker entry takes only the latter.
 */
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "core.h"
#include "decompressor.h"

struct z_erofs_ws {
	struct list_head node;		/* in pool->idle, or nowhere while in use */
	size_t size;			/* of data[]; never changes */
	u8 data[] __aligned(16);
};

/*
 * Workspaces smaller than @ws_size are left over from before the pool grew.
 * They are in use, are not counted in @total, and are freed when given back;
 * their users belong to mounts that declared less.
 *
 * @lock: protects all fields but @users and @wait
 * @wait: readers waiting for an idle workspace, exclusively
 * @idle: workspaces of @ws_size, the one used last in front
 * @nr_idle: length of @idle
 * @pending: being allocated; not in @total, or the shrinker would take them for real
 * @total: idle and busy workspaces of @ws_size; at least 1 while there are users
 * @ws_size: the largest any mount since the first one asked for
 * @users: mounts; protected by z_erofs_pool_mutex
 */
struct z_erofs_pool {
	spinlock_t lock;		/* all but wait and users */
	wait_queue_head_t wait;
	struct list_head idle;
	unsigned int nr_idle;
	unsigned int total;
	unsigned int pending;
	size_t ws_size;
	unsigned int users;
};

static DEFINE_MUTEX(z_erofs_pool_mutex);

static struct z_erofs_pool lzma_pool = {
	.lock = __SPIN_LOCK_UNLOCKED(lzma_pool.lock),
	.wait = __WAIT_QUEUE_HEAD_INITIALIZER(lzma_pool.wait),
	.idle = LIST_HEAD_INIT(lzma_pool.idle),
};

static struct z_erofs_pool deflate_pool = {
	.lock = __SPIN_LOCK_UNLOCKED(deflate_pool.lock),
	.wait = __WAIT_QUEUE_HEAD_INITIALIZER(deflate_pool.wait),
	.idle = LIST_HEAD_INIT(deflate_pool.idle),
};

static struct z_erofs_pool zstd_pool = {
	.lock = __SPIN_LOCK_UNLOCKED(zstd_pool.lock),
	.wait = __WAIT_QUEUE_HEAD_INITIALIZER(zstd_pool.wait),
	.idle = LIST_HEAD_INIT(zstd_pool.idle),
};

/*
 * One algorithm.  Those with a workspace have @pool, @ws_size and @decode_ws, the
 * others @decode.  A new algorithm is a new row of z_erofs_algs (and a pool).
 */
struct z_erofs_alg {
	const char *name;
	struct z_erofs_pool *pool;
	size_t (*ws_size)(const struct z_erofs_dec_cfg *cfg);
	int (*decode_ws)(void *ws, size_t ws_size, const struct z_erofs_dec_cfg *cfg,
			 const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial);
	int (*decode)(const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial);
};

static size_t lzma_ws_size(const struct z_erofs_dec_cfg *cfg)
{
	return z_erofs_lzma_workspace_size();
}

static int lzma_decode_ws(void *ws, size_t ws_size, const struct z_erofs_dec_cfg *cfg,
			  const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial)
{
	return z_erofs_lzma_decode(ws, cfg->lzma_dict, src, srclen, dst, dstlen, partial);
}

static size_t deflate_ws_size(const struct z_erofs_dec_cfg *cfg)
{
	return z_erofs_deflate_workspace_size();
}

static int deflate_decode_ws(void *ws, size_t ws_size, const struct z_erofs_dec_cfg *cfg,
			     const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial)
{
	return z_erofs_deflate_decode(ws, src, srclen, dst, dstlen, partial);
}

static size_t zstd_ws_size(const struct z_erofs_dec_cfg *cfg)
{
	return z_erofs_zstd_workspace_size(cfg->zstd_windowlog);
}

static int zstd_decode_ws(void *ws, size_t ws_size, const struct z_erofs_dec_cfg *cfg,
			  const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial)
{
	return z_erofs_zstd_decode(ws, ws_size, cfg->zstd_windowlog, src, srclen,
				   dst, dstlen, partial);
}

static const struct z_erofs_alg z_erofs_algs[Z_EROFS_COMPRESSION_MAX] = {
	[Z_EROFS_COMPRESSION_LZ4] = {
		.name = "lz4",
		.decode = z_erofs_lz4_decode,
	},
	[Z_EROFS_COMPRESSION_LZMA] = {
		.name = "lzma",
		.pool = &lzma_pool,
		.ws_size = lzma_ws_size,
		.decode_ws = lzma_decode_ws,
	},
	[Z_EROFS_COMPRESSION_DEFLATE] = {
		.name = "deflate",
		.pool = &deflate_pool,
		.ws_size = deflate_ws_size,
		.decode_ws = deflate_decode_ws,
	},
	[Z_EROFS_COMPRESSION_ZSTD] = {
		.name = "zstd",
		.pool = &zstd_pool,
		.ws_size = zstd_ws_size,
		.decode_ws = zstd_decode_ws,
	},
};

static struct z_erofs_ws *ws_alloc(size_t size, gfp_t gfp)
{
	struct z_erofs_ws *ws = kvmalloc(sizeof(*ws) + size, gfp);

	if (ws)
		ws->size = size;
	return ws;
}

static void ws_free_list(struct list_head *list)
{
	struct z_erofs_ws *ws, *next;

	list_for_each_entry_safe(ws, next, list, node)
		kvfree(ws);
}

static struct z_erofs_ws *pool_pop(struct z_erofs_pool *pool)
{
	struct z_erofs_ws *ws;

	lockdep_assert_held(&pool->lock);
	ws = list_first_entry_or_null(&pool->idle, struct z_erofs_ws, node);
	if (ws) {
		list_del(&ws->node);
		pool->nr_idle--;
	}
	return ws;
}

static struct z_erofs_ws *pool_trypop(struct z_erofs_pool *pool)
{
	struct z_erofs_ws *ws;

	spin_lock(&pool->lock);
	ws = pool_pop(pool);
	spin_unlock(&pool->lock);
	return ws;
}

/* A workspace for one decoder call.  May sleep, but doesn't fail. */
static struct z_erofs_ws *ws_get(struct z_erofs_pool *pool)
{
	struct z_erofs_ws *ws;
	size_t size = 0;

	spin_lock(&pool->lock);
	ws = pool_pop(pool);
	if (!ws && pool->total + pool->pending < num_online_cpus()) {
		pool->pending++;
		size = pool->ws_size;
	}
	spin_unlock(&pool->lock);
	if (ws)
		return ws;

	if (size) {
		/*
		 * Readers hold locked folios, so reclaim must not enter a
		 * filesystem; and waiting is better than pushing hard.
		 */
		ws = ws_alloc(size, GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN);
		spin_lock(&pool->lock);
		pool->pending--;
		if (ws && size == pool->ws_size)	/* else the count began anew */
			pool->total++;
		spin_unlock(&pool->lock);
		if (ws)
			return ws;
	}

	wait_event_idle_exclusive(pool->wait, (ws = pool_trypop(pool)));
	return ws;
}

static void ws_put(struct z_erofs_pool *pool, struct z_erofs_ws *ws)
{
	spin_lock(&pool->lock);
	if (likely(ws->size == pool->ws_size)) {
		list_add(&ws->node, &pool->idle);
		pool->nr_idle++;
		ws = NULL;
	}
	spin_unlock(&pool->lock);
	if (likely(!ws))
		wake_up(&pool->wait);
	else
		kvfree(ws);
}

/* Take all idle workspaces and restart the count at @size with @ws (or nothing) */
static void pool_restart(struct z_erofs_pool *pool, size_t size, struct z_erofs_ws *ws)
{
	LIST_HEAD(old);

	spin_lock(&pool->lock);
	list_splice_init(&pool->idle, &old);
	pool->nr_idle = 0;
	pool->total = 0;
	pool->ws_size = size;
	if (ws) {
		list_add(&ws->node, &pool->idle);
		pool->nr_idle = 1;
		pool->total = 1;
	}
	spin_unlock(&pool->lock);
	if (ws)
		wake_up(&pool->wait);
	ws_free_list(&old);
}

static int pool_add_user(struct z_erofs_pool *pool, size_t size)
{
	struct z_erofs_ws *ws;

	lockdep_assert_held(&z_erofs_pool_mutex);
	if (!size)
		return -EINVAL;
	/* ws_size changes under the mutex only */
	if (size > pool->ws_size) {
		ws = ws_alloc(size, GFP_KERNEL);
		if (!ws)
			return -ENOMEM;
		pool_restart(pool, size, ws);
	}
	pool->users++;
	return 0;
}

static void pool_drop_user(struct z_erofs_pool *pool)
{
	lockdep_assert_held(&z_erofs_pool_mutex);
	if (WARN_ON_ONCE(!pool->users) || --pool->users)
		return;
	WARN_ON_ONCE(pool->nr_idle != pool->total);	/* a reader outlived its mount */
	pool_restart(pool, 0, NULL);
}

static void pools_drop_users(u32 algs)
{
	unsigned int alg;

	for (alg = 0; alg < Z_EROFS_COMPRESSION_MAX; alg++)
		if (algs & BIT(alg) && z_erofs_algs[alg].pool)
			pool_drop_user(z_erofs_algs[alg].pool);
}

/**
 * z_erofs_pool_get() - make sure a mount can decode
 * @algs: bit n set = algorithm n is used
 * @lzma_dict: LZMA dictionary size in bytes, if used
 * @zstd_windowlog: log2 of the Zstandard window in bytes, if used
 *
 * Afterwards each of the algorithms has a workspace that is large enough, until
 * z_erofs_pool_put() with the same @algs.  Sleeps.
 *
 * Return: 0; -ENOMEM; -EOPNOTSUPP for an algorithm that isn't there; -EINVAL for
 * a window out of range.  Nothing is held after an error.
 */
int z_erofs_pool_get(u32 algs, u32 lzma_dict, u32 zstd_windowlog)
{
	const struct z_erofs_dec_cfg cfg = {
		.algs = algs,
		.lzma_dict = lzma_dict,
		.zstd_windowlog = zstd_windowlog,
	};
	unsigned int alg;
	int err = 0;

	if (algs & ~(BIT(Z_EROFS_COMPRESSION_MAX) - 1))
		return -EOPNOTSUPP;

	mutex_lock(&z_erofs_pool_mutex);
	for (alg = 0; alg < Z_EROFS_COMPRESSION_MAX; alg++) {
		if (!(algs & BIT(alg)) || !z_erofs_algs[alg].pool)
			continue;
		err = pool_add_user(z_erofs_algs[alg].pool, z_erofs_algs[alg].ws_size(&cfg));
		if (err) {
			pools_drop_users(algs & (BIT(alg) - 1));
			break;
		}
	}
	mutex_unlock(&z_erofs_pool_mutex);
	return err;
}

/**
 * z_erofs_pool_put() - undo z_erofs_pool_get()
 * @algs: as given there
 *
 * None of the mount's readers may be decoding any more.  Sleeps.
 */
void z_erofs_pool_put(u32 algs)
{
	mutex_lock(&z_erofs_pool_mutex);
	pools_drop_users(algs);
	mutex_unlock(&z_erofs_pool_mutex);
}

/* Idle workspaces that may go: the last one of a pool stays */
static unsigned int pool_surplus(const struct z_erofs_pool *pool)
{
	unsigned int total = READ_ONCE(pool->total);

	return min(READ_ONCE(pool->nr_idle), total ? total - 1 : 0);
}

/**
 * z_erofs_pool_count() - how many workspaces z_erofs_pool_shrink() could free
 *
 * Return: a momentary count; 0 to about 3 * CPUs
 */
unsigned long z_erofs_pool_count(void)
{
	unsigned long nr = 0;
	unsigned int alg;

	for (alg = 0; alg < Z_EROFS_COMPRESSION_MAX; alg++)
		if (z_erofs_algs[alg].pool)
			nr += pool_surplus(z_erofs_algs[alg].pool);
	return nr;
}

/**
 * z_erofs_pool_shrink() - free idle workspaces
 * @nr: at most so many
 *
 * Takes no sleeping lock and allocates nothing: safe in memory reclaim.
 *
 * Return: the number of workspaces freed
 */
unsigned long z_erofs_pool_shrink(unsigned long nr)
{
	unsigned long freed = 0;
	unsigned int alg;
	LIST_HEAD(old);

	for (alg = 0; alg < Z_EROFS_COMPRESSION_MAX; alg++) {
		struct z_erofs_pool *pool = z_erofs_algs[alg].pool;

		if (!pool)
			continue;
		spin_lock(&pool->lock);
		while (freed < nr && pool_surplus(pool)) {
			list_move(pool->idle.prev, &old);	/* unused for longest */
			pool->nr_idle--;
			pool->total--;
			freed++;
		}
		spin_unlock(&pool->lock);
	}
	ws_free_list(&old);
	return freed;
}

/**
 * z_erofs_pool_exit() - free everything at module exit
 *
 * There are no mounts any more, so there is nothing unless a put was forgotten.
 */
void z_erofs_pool_exit(void)
{
	unsigned int alg;

	for (alg = 0; alg < Z_EROFS_COMPRESSION_MAX; alg++) {
		struct z_erofs_pool *pool = z_erofs_algs[alg].pool;

		if (!pool)
			continue;
		WARN_ON_ONCE(pool->users);
		pool_restart(pool, 0, NULL);
	}
}

/**
 * z_erofs_alg_supported() - whether there is a decoder for an algorithm
 * @alg: any number
 *
 * Return: true if z_erofs_decode() knows it
 */
bool z_erofs_alg_supported(unsigned int alg)
{
	return alg < Z_EROFS_COMPRESSION_MAX && z_erofs_algs[alg].name;
}

/**
 * z_erofs_alg_name() - name of an algorithm for messages
 * @alg: any number
 *
 * Return: static text
 */
const char *z_erofs_alg_name(unsigned int alg)
{
	return z_erofs_alg_supported(alg) ? z_erofs_algs[alg].name : "unknown";
}

/**
 * z_erofs_decode() - decode one stream
 * @alg: algorithm
 * @cfg: the mount's declarations; it holds the pools of cfg->algs
 * @src: first byte of the stream (padding already skipped)
 * @srclen: bytes of the stream
 * @dst: output; must not overlap @src, but see z_erofs_lz4_decode()
 * @dstlen: bytes wanted
 * @partial: stop at @dstlen bytes, the stream may go on
 *
 * Process context; may sleep until a workspace is free.
 *
 * Return: 0; -EFSCORRUPTED for damaged data or an algorithm the mount hasn't
 * declared; -EOPNOTSUPP for an unknown algorithm.  @dst is undefined after an error.
 */
int z_erofs_decode(unsigned int alg, const struct z_erofs_dec_cfg *cfg,
		   const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial)
{
	const struct z_erofs_alg *a;
	struct z_erofs_ws *ws;
	int err;

	/* by far the most frequent; spare it the indirect call */
	if (likely(alg == Z_EROFS_COMPRESSION_LZ4))
		return z_erofs_lz4_decode(src, srclen, dst, dstlen, partial);

	if (!z_erofs_alg_supported(alg))
		return -EOPNOTSUPP;
	a = &z_erofs_algs[alg];
	if (!a->pool)
		return a->decode(src, srclen, dst, dstlen, partial);
	/* without a hold on the pool there might never be a workspace */
	if (!(cfg->algs & BIT(alg)))
		return -EFSCORRUPTED;

	ws = ws_get(a->pool);
	err = a->decode_ws(ws->data, ws->size, cfg, src, srclen, dst, dstlen, partial);
	ws_put(a->pool, ws);
	return err;
}
