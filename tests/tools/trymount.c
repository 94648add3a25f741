// SPDX-License-Identifier: GPL-2.0
/*
 * trymount.c - trymount TYPE DEVICE DIR [OPTIONS]: mount read-only and print
 * "0" or the errno as a number, which mount(8) does not.
 * trymount -l DIR: print the volume's label; trymount -i DIR: its f_fsid.
 * trymount -c FILE FILE: are they equal?  Some cmp(1) read byte by byte.
 * trymount -d PATHS EXPECTED SEEN EXPECTED-OUT SEEN-OUT: copy two digests without
 * the lines that are in both, except those of PATHS and what is below them, and
 * the first line.  PATHS are separated by blanks, "*" is all.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/statfs.h>

/* 0 if the files are equal, 1 if not, 2 if one cannot be read */
static int compare(const char *a, const char *b)
{
	static char x[65536], y[65536];
	FILE *f = fopen(a, "r"), *g = fopen(b, "r");
	size_t n;

	if (!f || !g)
		return 2;
	do {
		n = fread(x, 1, sizeof(x), f);
		if (fread(y, 1, sizeof(y), g) != n || memcmp(x, y, n))
			return 1;
	} while (n);
	return ferror(f) || ferror(g) ? 2 : 0;
}

struct text {
	char **line;		/* in the order of the file */
	char **sorted;
	size_t n;
};

static int cmp_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool load(const char *name, struct text *t)
{
	FILE *f = fopen(name, "r");
	size_t room = 0, len;
	char *buf = NULL;

	t->n = 0;
	t->line = NULL;
	if (!f)
		return false;
	while (getline(&buf, &len, f) > 0) {
		if (t->n == room) {
			room = 2 * room + 64;
			t->line = realloc(t->line, room * sizeof(*t->line));
			if (!t->line)
				return false;
		}
		t->line[t->n++] = strdup(buf);
	}
	if (ferror(f) || !t->n)
		return false;
	fclose(f);
	t->sorted = malloc(t->n * sizeof(*t->line));
	if (!t->sorted)
		return false;
	memcpy(t->sorted, t->line, t->n * sizeof(*t->line));
	qsort(t->sorted, t->n, sizeof(*t->sorted), cmp_line);
	return true;
}

/* is the first word of @line one of @paths or below it? */
static bool affected(const char *line, const char *paths)
{
	size_t n, len = strcspn(line, "\n ");

	if (!strcmp(paths, "*"))
		return true;
	for (; *paths; paths += n + !!paths[n]) {
		n = strcspn(paths, " ");
		if (n && n <= len && !strncmp(line, paths, n) && (n == len || line[n] == '/'))
			return true;
	}
	return false;
}

static bool save(const struct text *t, const struct text *other, const char *first,
		 const char *paths, const char *name)
{
	FILE *f = fopen(name, "w");
	size_t i;

	if (!f)
		return false;
	for (i = 0; i < t->n; i++)
		if (!strcmp(t->line[i], first) || affected(t->line[i], paths) ||
		    !bsearch(&t->line[i], other->sorted, other->n, sizeof(char *), cmp_line))
			fputs(t->line[i], f);
	return !fclose(f);
}

int main(int argc, char **argv)
{
	struct text want, seen;
	char label[FSLABEL_MAX];
	struct statfs sf;

	if (argc == 3 && !strcmp(argv[1], "-l")) {
		if (ioctl(open(argv[2], O_RDONLY | O_DIRECTORY), FS_IOC_GETFSLABEL, label)) {
			printf("errno %d\n", errno);
			return 1;
		}
		printf("%.*s\n", (int)sizeof(label), label);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "-i")) {
		if (statfs(argv[2], &sf)) {
			printf("errno %d\n", errno);
			return 1;
		}
		printf("%08x%08x\n", (unsigned int)sf.f_fsid.__val[0],
		       (unsigned int)sf.f_fsid.__val[1]);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "-c"))
		return compare(argv[2], argv[3]);
	if (argc == 7 && !strcmp(argv[1], "-d"))
		return !load(argv[3], &want) || !load(argv[4], &seen) ||
		       !save(&want, &seen, want.line[0], argv[2], argv[5]) ||
		       !save(&seen, &want, want.line[0], argv[2], argv[6]);
	if (argc < 4)
		return 2;
	if (mount(argv[2], argv[3], argv[1], MS_RDONLY, argc > 4 ? argv[4] : NULL)) {
		printf("%d\n", errno);
		return 1;
	}
	printf("0\n");
	return 0;
}
