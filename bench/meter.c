// SPDX-License-Identifier: GPL-2.0
/*
 * meter.c - run one timed operation on a mounted filesystem and print one
 * line: "R <label> <test> <ns> <cache growth KiB> <bytes or files> <memory KiB>".
 *
 * Static, so that it needs nothing in a guest.  Time is CLOCK_MONOTONIC; under
 * QEMU's -icount shift=0 a nanosecond is one guest instruction.  Cache growth
 * is Cached + Buffers of /proc/meminfo, after minus before; memory is what
 * MemFree lost meanwhile, for whatever use.  The test "sum" prints a digest of
 * the data instead, "S <label> <digest>".
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUFSZ (128 * 1024)

static char buf[4 << 20] __attribute__((aligned(4096)));
static const char *mount_data;	/* option string of the test "mount" */

/*
 * Executed at the start and end of the timed part.  The linker puts them at
 * fixed addresses of their own, where the profiling plugin looks for them.
 */
__attribute__((section(".mark_begin"), noinline, used)) static void mark_begin(void)
{
	asm volatile("");
}

__attribute__((section(".mark_end"), noinline, used)) static void mark_end(void)
{
	asm volatile("");
}

static void die(const char *what)
{
	fprintf(stderr, "meter: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

struct mem {
	long cached;
	long free;
};

static struct mem mem_now(void)
{
	struct mem m = { 0, 0 };
	char line[256];
	long v;
	FILE *f = fopen("/proc/meminfo", "r");

	if (!f)
		die("/proc/meminfo");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Cached: %ld", &v) == 1 || sscanf(line, "Buffers: %ld", &v) == 1)
			m.cached += v;
		else if (sscanf(line, "MemFree: %ld", &v) == 1)
			m.free = v;
	}
	fclose(f);
	return m;
}

static void drop_caches(void)
{
	int fd, i;

	sync();
	/* Twice: the first round frees what pins pages of the second. */
	for (i = 0; i < 2; i++) {
		fd = open("/proc/sys/vm/drop_caches", O_WRONLY);
		if (fd < 0 || write(fd, "3", 1) != 1)
			die("drop_caches");
		close(fd);
	}
}

/* xorshift64*: the same sequence everywhere */
static uint64_t rng = 88172645463325252ull;

static uint64_t rnd(void)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return rng * 2685821657736338717ull;
}

static uint64_t do_seq(char **a)
{
	size_t size = a[1] ? strtoul(a[1], NULL, 0) : BUFSZ;
	int fd = open(a[0], O_RDONLY);
	uint64_t sum = 0;
	ssize_t n;

	if (fd < 0 || size > sizeof(buf))
		die(a[0]);
	while ((n = read(fd, buf, size)) > 0)
		sum += n;
	if (n < 0)
		die(a[0]);
	close(fd);
	return sum;
}

static uint64_t do_rand(char **a)
{
	long n = strtol(a[1], NULL, 0), i;
	size_t size = strtoul(a[2], NULL, 0);
	int fd = open(a[0], O_RDONLY);
	uint64_t sum = 0, blocks;
	struct stat st;
	ssize_t r;

	if (fd < 0 || size > sizeof(buf) || fstat(fd, &st))
		die(a[0]);
	blocks = st.st_size / size;
	for (i = 0; i < n; i++) {
		r = pread(fd, buf, size, (rnd() >> 11) % blocks * size);
		if (r != (ssize_t)size)
			die(a[0]);
		sum += r;
	}
	close(fd);
	return sum;
}

/* N processes, each reading its own share of the file from front to back */
static uint64_t do_par(char **a)
{
	long n = strtol(a[1], NULL, 0), i;
	struct stat st;
	int status;

	if (stat(a[0], &st))
		die(a[0]);
	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			uint64_t pos = st.st_size / n * i;
			uint64_t end = i == n - 1 ? st.st_size : st.st_size / n * (i + 1);
			int fd = open(a[0], O_RDONLY);

			while (fd >= 0 && pos < end) {
				ssize_t r = pread(fd, buf, BUFSZ, pos);

				if (r <= 0)
					_exit(1);
				pos += r;
			}
			_exit(fd < 0);
		}
	}
	for (i = 0; i < n; i++)
		if (wait(&status) < 0 || status)
			die("reader failed");
	return st.st_size;
}

static char **paths;
static size_t npaths;

static void add_path(const char *p)
{
	if (!(npaths & (npaths + 1))) {
		paths = realloc(paths, (npaths + 1) * 2 * sizeof(*paths));
		if (!paths)
			die("memory");
	}
	paths[npaths++] = strdup(p);
}

/*
 * Walk and lstat everything below path, relative to each directory as find and
 * du do it; with collect, keep the paths of regular files.
 */
static uint64_t walk(int at, const char *name, const char *path, int collect)
{
	char sub[4096] = "";
	struct dirent *d;
	struct stat st;
	uint64_t n = 0;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		die(path);
	while ((d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			die(d->d_name);
		n++;
		if (collect)
			snprintf(sub, sizeof(sub), "%s/%s", path, d->d_name);
		if (S_ISDIR(st.st_mode))
			n += walk(fd, d->d_name, sub, collect);
		else if (collect && S_ISREG(st.st_mode))
			add_path(sub);
	}
	closedir(dir);
	return n;
}

static uint64_t do_lstat(char **a)
{
	return walk(AT_FDCWD, a[0], a[0], 0);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char **)a, *(char **)b);
}

/* All regular files below root, in an order that does not depend on readdir */
static void collect(const char *root)
{
	size_t i, j;

	walk(AT_FDCWD, root, root, 1);
	qsort(paths, npaths, sizeof(*paths), by_name);
	for (i = npaths; i > 1; i--) {
		char *t = paths[i - 1];

		j = (rnd() >> 11) % i;
		paths[i - 1] = paths[j];
		paths[j] = t;
	}
}

static uint64_t do_readall(char **a)
{
	uint64_t sum = 0;
	size_t i;
	ssize_t n;

	(void)a;
	for (i = 0; i < npaths; i++) {
		int fd = open(paths[i], O_RDONLY);

		if (fd < 0)
			die(paths[i]);
		while ((n = read(fd, buf, BUFSZ)) > 0)
			sum += n;
		if (n < 0)
			die(paths[i]);
		close(fd);
	}
	return sum;
}

/* Digest of the data of all files: FNV-1a over words, short reads included. */
static uint64_t do_sum(char **a)
{
	uint64_t h = 0xcbf29ce484222325ull, v;
	size_t i, j;
	ssize_t n;

	(void)a;
	for (i = 0; i < npaths; i++) {
		int fd = open(paths[i], O_RDONLY);

		if (fd < 0)
			die(paths[i]);
		while ((n = read(fd, buf, BUFSZ)) > 0) {
			memset(buf + n, 0, 8);
			for (j = 0; j < (size_t)n; j += 8) {
				memcpy(&v, buf + j, 8);
				h = (h ^ v) * 0x100000001b3ull;
				h ^= h >> 29;
			}
			h += n;
		}
		if (n < 0)
			die(paths[i]);
		close(fd);
	}
	return h;
}

static uint64_t do_run(char **a)
{
	posix_spawn_file_actions_t fa;
	char *env[] = { "LC_ALL=C", "PATH=/bin:/usr/bin:/sbin", NULL };
	int status, rc;
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	rc = posix_spawn(&pid, a[0], &fa, NULL, a, env);
	if (rc) {
		errno = rc;
		die(a[0]);
	}
	if (waitpid(pid, &status, 0) < 0 || status) {
		errno = ECHILD;
		die(a[0]);
	}
	return 0;
}

/* mount and unmount: TYPE DEVICE DIR COUNT */
static uint64_t do_mount(char **a)
{
	long n = strtol(a[3], NULL, 0), i;

	for (i = 0; i < n; i++) {
		if (mount(a[1], a[2], a[0], MS_RDONLY, mount_data))
			die("mount");
		if (umount(a[2]))
			die("umount");
	}
	return n;
}

static const struct {
	const char *name;
	int nargs;
	uint64_t (*fn)(char **a);
} tests[] = {
	{ "seq", 1, do_seq },
	{ "rand", 3, do_rand },
	{ "par", 2, do_par },
	{ "lstat", 1, do_lstat },
	{ "readall", 1, do_readall },
	{ "sum", 1, do_sum },
	{ "run", 1, do_run },
	{ "mount", 4, do_mount },
};

int main(int argc, char **argv)
{
	uint64_t t, amount;
	int cold = 0, o;
	struct mem before, after;
	size_t i;

	while ((o = getopt(argc, argv, "+cs:o:")) != -1) {
		if (o == 'c')
			cold = 1;
		else if (o == 's')
			rng ^= strtoull(optarg, NULL, 0) << 17;
		else if (o == 'o')
			mount_data = optarg;
		else
			return 2;
	}
	argv += optind;
	argc -= optind;
	for (i = 0; argc >= 3 && i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(argv[2], tests[i].name) && argc - 3 >= tests[i].nargs)
			break;
	if (argc < 3 || i == sizeof(tests) / sizeof(tests[0])) {
		fprintf(stderr, "usage: meter [-c] [-s SEED] LABEL NAME TEST ARGUMENTS\n"
			"-c: drop caches first; LABEL and NAME are only printed\n"
			"seq FILE [BUFFER] | rand FILE COUNT SIZE | par FILE READERS | lstat DIR |\n"
			"readall DIR | sum DIR | run PROGRAM ARGS... | [-o OPTIONS] mount TYPE DEVICE DIR COUNT\n");
		return 2;
	}
	/* Fault the buffer in, so that the first test pays no more than others. */
	memset(buf, 1, sizeof(buf));
	if (!strcmp(argv[2], "readall") || !strcmp(argv[2], "sum"))
		collect(argv[3]);
	if (cold)
		drop_caches();
	before = mem_now();
	t = now();
	mark_begin();
	amount = tests[i].fn(argv + 3);
	mark_end();
	t = now() - t;
	after = mem_now();
	if (!strcmp(argv[2], "sum"))
		printf("S %s %016llx\n", argv[0], (unsigned long long)amount);
	else
		printf("R %s %s %llu %ld %llu %ld\n", argv[0], argv[1], (unsigned long long)t,
		       after.cached - before.cached, (unsigned long long)amount,
		       before.free - after.free);
	return 0;
}
