// SPDX-License-Identifier: GPL-2.0
/*
 * A main() for fuzz targets without libFuzzer: runs the target on files and
 * directories of inputs, and on random changes of each of them.
 *
 *	replay [-m CHANGES] [-s SEED] PATH...
 *
 * Prints "ok" and exits with 0 if at least one input was found and the target
 * came back from all of them.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long changes;
static unsigned long inputs;
static unsigned long long seed = 1;

static uint32_t rnd(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

/* exactly as much memory as there is data, so that ASan sees the end of it */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		exit(2);
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static size_t change(uint8_t *data, size_t size)
{
	static const uint8_t edge[] = { 0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x10, 0x40 };
	uint32_t n = 1 + rnd() % 4;

	while (n-- && size) {
		size_t at = rnd() % size;
		size_t from = rnd() % size;
		size_t len;

		switch (rnd() % 5) {
		case 0:
			data[at] ^= (uint8_t)(1u << rnd() % 8);
			break;
		case 1:
			data[at] = (uint8_t)rnd();
			break;
		case 2:
			data[at] = edge[rnd() % sizeof(edge)];
			break;
		case 3:		/* copy a piece over another one */
			len = 1 + rnd() % 16;
			if (at + len <= size && from + len <= size)
				memmove(data + at, data + from, len);
			break;
		default:
			if (rnd() % 8 == 0)
				size = at;
			else
				data[at] = (uint8_t)(data[at] + rnd() % 3 - 1);
		}
	}
	return size;
}

static void replay_file(const char *path, FILE *f, size_t size)
{
	uint8_t *data = malloc(size ? size : 1);
	uint8_t *work = malloc(size ? size : 1);
	unsigned long i;

	if (!data || !work || fread(data, 1, size, f) != size) {
		fprintf(stderr, "%s: can't be read\n", path);
		exit(2);
	}
	inputs++;
	run(data, size);
	for (i = 0; i < changes; i++) {
		memcpy(work, data, size);
		run(work, change(work, size));
	}
	free(work);
	free(data);
}

static void replay(const char *path)
{
	struct stat st;
	FILE *f;

	if (stat(path, &st)) {
		perror(path);
		exit(2);
	}
	if (S_ISDIR(st.st_mode)) {
		struct dirent **list;
		int i, n = scandir(path, &list, NULL, alphasort);

		for (i = 0; i < n; i++) {
			char sub[4096];

			if (list[i]->d_name[0] != '.') {
				snprintf(sub, sizeof(sub), "%s/%s", path, list[i]->d_name);
				replay(sub);
			}
			free(list[i]);
		}
		if (n >= 0)
			free(list);
		return;
	}

	f = fopen(path, "rb");
	if (!f) {
		perror(path);
		exit(2);
	}
	replay_file(path, f, (size_t)st.st_size);
	fclose(f);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-m") && i + 1 < argc)
			changes = strtoul(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "-s") && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 0);
		else
			replay(argv[i]);
	}
	if (!inputs) {
		fprintf(stderr, "no input\n");
		return 2;
	}
	printf("%lu inputs, %lu changes of each\nok\n", inputs, changes);
	return 0;
}
