// SPDX-License-Identifier: GPL-2.0
/*
 * hog.c - use more memory than there is: hog MEGABYTES FILE.  Writes all of it,
 * then looks at random pages, which have to be as they were left, and changes
 * them, until there is FILE.  Prints how many it looked at; status 1 if one was wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096
#define WORDS	(PAGE / sizeof(uint64_t))

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

int main(int argc, char **argv)
{
	uint64_t pages, i, k, seen = 0, r = 1;
	uint64_t *mem;
	uint32_t *gen;

	if (argc != 3)
		return 2;
	pages = strtoull(argv[1], NULL, 0) << 8;
	mem = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	gen = calloc(pages, sizeof(*gen));
	if (mem == MAP_FAILED || !gen)
		return 2;
	for (i = 0; i < pages; i++)
		for (k = 0; k < WORDS; k += 8)
			mem[i * WORDS + k] = mix(i << 20 | k);
	do {
		r = mix(r + 1);
		i = r % pages;
		for (k = 0; k < WORDS; k += 8)
			if (mem[i * WORDS + k] != mix((uint64_t)gen[i] << 44 | i << 20 | k)) {
				printf("page %llu is wrong\n", (unsigned long long)i);
				return 1;
			}
		gen[i] = (gen[i] + 1) & 0xfffff;
		for (k = 0; k < WORDS; k += 8)
			mem[i * WORDS + k] = mix((uint64_t)gen[i] << 44 | i << 20 | k);
		seen++;
	} while (seen % 64 || access(argv[2], F_OK));
	printf("%llu pages, looked at %llu\n", (unsigned long long)pages, (unsigned long long)seen);
	return 0;
}
