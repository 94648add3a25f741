/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mutate.h - damaging a valid image on purpose, reproducibly: the same seed
 * image and the same number give the same damage on every machine.
 */
#ifndef MUTATE_H
#define MUTATE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* splitmix64: small, and the same everywhere */
struct rng {
	uint64_t s;
};

static inline uint64_t rnd64(struct rng *r)
{
	uint64_t z = (r->s += 0x9e3779b97f4a7c15ULL);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 .. n-1; n may be 0, which gives 0 */
static inline uint64_t rnd(struct rng *r, uint64_t n)
{
	return n ? rnd64(r) % n : 0;
}

/* independent stream number @b of number @a */
static inline struct rng rng_of(uint64_t a, uint64_t b)
{
	struct rng r = { a * 0xd1342543de82ef95ULL + b * 0x2545f4914f6cdd1dULL + 1 };

	rnd64(&r);
	return r;
}

enum kind {
	K_SUPER, K_CONFIG, K_DEVICE, K_INODE, K_DIRENT, K_NAME, K_LINK, K_XHEADER, K_XENTRY,
	K_PREFIX, K_ZHEADER, K_INDEX, K_PACK, K_EXTENT, K_CHUNK, K_STREAM, K_NR
};

/* one number in a structure; hint: what it means, see value_of() */
struct field {
	uint32_t pos;
	uint8_t size;
	char hint;
	const char *name;
};

struct structure {
	uint32_t pos;
	uint32_t len;
};

/* A valid image and where its structures are. */
struct seed_image {
	char name[64];
	uint8_t *data;
	size_t size;
	uint8_t *dev;		/* extra device, or NULL */
	size_t dev_size;
	uint32_t bits;		/* log2 of the block size */
	uint64_t meta;		/* position of nid 0 */
	struct {
		struct field *f;
		size_t nf;
		struct structure *s;
		size_t ns;
	} k[K_NR];
	uint32_t *inode;	/* positions */
	size_t ninode;
};

/* find the structures of a loaded image (name, data, size are set) */
void image_scan(struct seed_image *im);

/*
 * image_mutate() - damage @d, a copy of the seed's data with room for 64 KiB more
 * @size: its length, changed when the damage changes it
 * @seed: chooses the damage; @skip: bit n set leaves the n-th step out
 * @log: gets one line a step, or NULL
 * Return: number of steps
 */
int image_mutate(const struct seed_image *im, uint8_t *d, size_t *size, uint64_t seed,
		 uint64_t skip, FILE *log);

#define MUTATE_ROOM	65536

#endif
