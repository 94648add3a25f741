/* links: decompressor_lz4.c; libs: -llz4 */
// SPDX-License-Identifier: GPL-2.0
/*
 * lz4_bench.c - time the LZ4 decoder against liblz4 on the clusters of a file.
 *
 *	lz4_bench [-o OFFSET] [-n BYTES] [-l LEVEL] [-r ROUNDS] [-1 ours|lib] FILE
 *
 * Cuts BYTES (10,000,000) of FILE from OFFSET on into clusters as mkfs.erofs
 * -zlz4hc does (as much content as fits into 4 KiB, and 64 KiB), decodes all of
 * them ROUNDS (30) times with both decoders in turn, and prints the shortest
 * round of each in nanoseconds per decoded byte.  The decoder has to be compiled
 * as in the kernel for this to mean anything:
 *
 *	-O2 -mno-sse -mno-mmx -mno-avx -fno-strict-aliasing -fno-tree-vectorize
 *
 * To count instructions, use few bytes, one round and one decoder:
 *
 *	valgrind --tool=callgrind --toggle-collect=decode_ours \
 *		lz4_bench -n 1500000 -r 1 -1 ours FILE
 *
 * (decode_lib for liblz4) and divide by the bytes; both cluster sizes are
 * counted together unless -c SIZE picks one.
 */
#include <getopt.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stdio.h>
#include <time.h>
#include "core.h"

struct cluster {
	u8 *data;
	u32 srclen;
	u32 dstlen;
};

static struct cluster *clusters;
static size_t nr_clusters;
static u8 *out;

static void die(const char *what)
{
	fprintf(stderr, "lz4_bench: %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

noinline void decode_ours(void);
noinline void decode_ours(void)
{
	const struct cluster *c;

	for (c = clusters; c < clusters + nr_clusters; c++)
		if (z_erofs_lz4_decode(c->data, c->srclen, out, c->dstlen, false))
			die("a cluster was refused");
}

noinline void decode_lib(void);
noinline void decode_lib(void)
{
	const struct cluster *c;

	for (c = clusters; c < clusters + nr_clusters; c++)
		if (LZ4_decompress_safe((const char *)c->data, (char *)out, (int)c->srclen,
					(int)c->dstlen) != (int)c->dstlen)
			die("liblz4 refused a cluster");
}

/* returns the bytes of input of all clusters */
static size_t make_clusters(const u8 *p, size_t n, u32 size, int level)
{
	size_t done = 0, total = 0, room = 0;
	char *buf = malloc(size);
	void *state = malloc((size_t)LZ4_sizeofStateHC());

	if (!buf || !state)
		die("out of memory");
	nr_clusters = 0;
	while (done < n) {
		/* more than this never fits and only costs time */
		int srclen = (int)min_t(size_t, n - done, (size_t)size * 64), len;

		len = LZ4_compress_HC_destSize(state, (const char *)p + done, buf, &srclen,
					       (int)size, level);
		if (len <= 0 || srclen <= 0)
			die("compression failed");
		if (nr_clusters == room) {
			room = room * 2 + 64;
			clusters = realloc(clusters, room * sizeof(*clusters));
			if (!clusters)
				die("out of memory");
		}
		clusters[nr_clusters].data = malloc((size_t)len);
		if (!clusters[nr_clusters].data)
			die("out of memory");
		memcpy(clusters[nr_clusters].data, buf, (size_t)len);
		clusters[nr_clusters].srclen = (u32)len;
		clusters[nr_clusters].dstlen = (u32)srclen;
		/* both decoders have to agree with the content */
		if (z_erofs_lz4_decode(clusters[nr_clusters].data, (size_t)len, out,
				       (size_t)srclen, false) ||
		    memcmp(out, p + done, (size_t)srclen))
			die("a cluster decodes wrong");
		nr_clusters++;
		done += (size_t)srclen;
		total += (size_t)len;
	}
	free(buf);
	free(state);
	return total;
}

int main(int argc, char **argv)
{
	static const u32 sizes[] = { 4096, 65536 };
	size_t n = 10000000, packed, k;
	int level = 9, rounds = 30, i, c, r;
	bool ours = true, lib = true;
	double t0, t1, t2, best_ours, best_lib;
	long offset = 0;
	u32 only = 0;
	FILE *f;
	u8 *p;

	while ((c = getopt(argc, argv, "o:n:l:r:c:1:")) != -1) {
		switch (c) {
		case 'o':
			offset = atol(optarg);
			break;
		case 'n':
			n = (size_t)atol(optarg);
			break;
		case 'l':
			level = atoi(optarg);
			break;
		case 'r':
			rounds = atoi(optarg);
			break;
		case 'c':
			only = (u32)atol(optarg);
			break;
		case '1':
			ours = !strcmp(optarg, "ours");
			lib = !ours;
			break;
		default:
			return 2;
		}
	}
	if (optind + 1 != argc || rounds < 1)
		die("usage: lz4_bench [-o OFFSET] [-n BYTES] [-l LEVEL] [-r ROUNDS] [-c SIZE] [-1 ours|lib] FILE");
	f = fopen(argv[optind], "rb");
	if (!f || fseek(f, offset, SEEK_SET))
		die("can't open the file");
	p = malloc(n);
	out = malloc(4 << 20);
	if (!p || !out)
		die("out of memory");
	n = fread(p, 1, n, f);
	fclose(f);
	if (!n)
		die("nothing to read");
	memset(out, 1, 4 << 20);

	for (i = 0; i < (int)ARRAY_SIZE(sizes); i++) {
		if (only && only != sizes[i])
			continue;
		packed = make_clusters(p, n, sizes[i], level);
		best_ours = 1e18;
		best_lib = 1e18;
		for (r = 0; r < rounds; r++) {
			t0 = now();
			if (lib)
				decode_lib();
			t1 = now();
			if (ours)
				decode_ours();
			t2 = now();
			best_lib = min(best_lib, t1 - t0);
			best_ours = min(best_ours, t2 - t1);
		}
		printf("%5u: %zu bytes, %zu encoded, %zu clusters:", sizes[i], n, packed, nr_clusters);
		if (ours)
			printf(" ours %.4f ns/B", best_ours / (double)n);
		if (lib)
			printf(" liblz4 %.4f ns/B", best_lib / (double)n);
		if (ours && lib)
			printf(" ratio %.3f", best_ours / best_lib);
		printf("\n");
		for (k = 0; k < nr_clusters; k++)
			free(clusters[k].data);
	}
	return 0;
}
