/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A struct erofs_meta over a memory buffer, for unit tests and fuzzers.
 *
 * It is as unkind as the contract of core.h permits: a window is one block and
 * no more (less at the end), every map moves it to a fresh allocation of just
 * that size, and the former window is freed, so that an address sanitizer sees
 * any read outside and any use of a stale pointer.
 */
#ifndef EROFS_TESTS_MEMIMG_H
#define EROFS_TESTS_MEMIMG_H

#include "core.h"

/**
 * struct memimg - a metadata space in memory
 * @m: hand this to the core
 * @img: the bytes, not owned; @size of them
 * @win: current window, owned
 * @maps: calls of the map callback so far
 * @fail_at: the callback fails with @fail_err in this call (1 is the first); 0 = never
 * @noise: state of a random generator; if not 0, each map returns a window with a
 *	few different bytes, as a device does that is written to meanwhile
 */
struct memimg {
	struct erofs_meta m;
	const u8 *img;
	u64 size;
	u32 blksz;
	u8 *win;
	u32 maps;
	u32 fail_at;
	int fail_err;
	u32 noise;
};

static inline u32 memimg_random(u32 *state)
{
	u32 x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*state = x;
	return x;
}

static inline void memimg_drop(struct memimg *mi)
{
	free(mi->win);
	mi->win = NULL;
	mi->m.base = NULL;
	mi->m.start = 0;
	mi->m.len = 0;
}

static inline int memimg_map(struct erofs_meta *m, u64 off)
{
	struct memimg *mi = (struct memimg *)m;
	u64 start = off & ~((u64)mi->blksz - 1);
	u32 n, i;

	memimg_drop(mi);
	if (++mi->maps == mi->fail_at)
		return mi->fail_err;
	if (off >= mi->size)
		return -EIO;

	n = mi->size - start < mi->blksz ? (u32)(mi->size - start) : mi->blksz;
	mi->win = malloc(n);
	if (!mi->win)
		return -ENOMEM;
	memcpy(mi->win, mi->img + start, n);
	if (mi->noise) {
		for (i = memimg_random(&mi->noise) & 7; i; i--) {
			u32 at = memimg_random(&mi->noise) % n;

			mi->win[at] ^= (u8)memimg_random(&mi->noise);
		}
	}
	m->base = mi->win;
	m->start = start;
	m->len = n;
	return 0;
}

/* @img stays with the caller, who may change it between calls of the core */
static inline void memimg_init(struct memimg *mi, const void *img, u64 size, u32 blksz)
{
	memset(mi, 0, sizeof(*mi));
	mi->img = img;
	mi->size = size;
	mi->blksz = blksz;
	mi->m.size = size;
	mi->m.map = memimg_map;
}

/* the same, but the bytes differ a little each time they are mapped */
static inline void memimg_init_noisy(struct memimg *mi, const void *img, u64 size, u32 blksz,
				     u32 seed)
{
	memimg_init(mi, img, size, blksz);
	mi->noise = seed ? seed : 1;
}

static inline void memimg_exit(struct memimg *mi)
{
	memimg_drop(mi);
}

#endif /* EROFS_TESTS_MEMIMG_H */
