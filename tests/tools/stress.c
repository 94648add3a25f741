// SPDX-License-Identifier: GPL-2.0
/*
 * stress.c - concurrent readers that compare what they read with a table of
 * block hashes taken from the source files.
 *
 *	stress -w TABLE DIR	write the table of the regular files below DIR
 *	stress [-n READERS] [-t SECONDS] [-r SEED] [-c CGROUP] [-k] [-p] TABLE DIR
 *
 * A table has one line a file, "size path", then its hashes, one a 4 KiB block,
 * 16 hex digits each.  Reader number i works in way i % 4: random preads,
 * mapped pages in random order, whole files in order, and readahead(2) with
 * single pages in between.  -k kills the readers by SIGKILL at random times and
 * starts new ones.  -p: all readers read single blocks, without readahead, and
 * caches are left alone.  -c puts the readers, not the parent, into a memory cgroup;
 * the parent drops caches all the while.  A reader that is refused memory
 * (ENOMEM) tries again; anything else that differs from the table is an error.
 *
 * Prints one line of counts.  Exit status: 0 all good, 1 wrong data or errors.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "hash128.h"

#define BLOCK	4096
#define MAX_READERS 1024

struct file {
	char *path;
	uint64_t size;
	uint64_t first;		/* index of its first hash */
};

struct shared {			/* visible to the parent */
	uint64_t reads, bytes, nomem, errors;
	char message[512];
};

static struct file *files;
static size_t nfiles;
static uint64_t *hashes;
static size_t nhashes;
static struct shared *shared;
static const char *dir;
static bool single;

static void *grow(void *p, size_t n, size_t size)
{
	if (n & (n - 1))
		return p;
	p = realloc(p, (n ? 2 * n : 1) * size);
	if (!p)
		exit(2);
	return p;
}

static uint64_t block_hash(const void *p, size_t len)
{
	struct h128 h;
	uint64_t out[2];

	h128_init(&h, len);
	h128_update(&h, p, len);
	h128_final(&h, out);
	return out[0] ^ out[1];
}

/* ---- table ---- */

static int write_tree(FILE *f, const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[8192];
	struct stat st;

	if (!d)
		return perror(path), 1;
	while ((e = readdir(d))) {
		int fd;
		uint64_t pos;
		char buf[BLOCK];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (strchr(e->d_name, '\n'))
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (lstat(name, &st))
			return perror(name), 1;
		if (S_ISDIR(st.st_mode)) {
			if (write_tree(f, name))
				return 1;
			continue;
		}
		/* Names of a large tree or a giant file add time, not coverage. */
		if (!S_ISREG(st.st_mode) || !st.st_size || st.st_size > 256 << 20 ||
		    st.st_nlink > 100)
			continue;
		fd = open(name, O_RDONLY);
		if (fd < 0)
			return perror(name), 1;
		fprintf(f, "%llu %s\n", (unsigned long long)st.st_size, name + strlen(dir) + 1);
		for (pos = 0; pos < (uint64_t)st.st_size; pos += BLOCK) {
			ssize_t n = pread(fd, buf, BLOCK, pos);

			if (n <= 0)
				return perror(name), 1;
			fprintf(f, "%016llx\n", (unsigned long long)block_hash(buf, n));
		}
		close(fd);
	}
	closedir(d);
	return 0;
}

static int read_table(const char *name)
{
	FILE *f = fopen(name, "r");
	char *line = NULL;
	size_t room = 0;

	if (!f)
		return perror(name), 1;
	while (getline(&line, &room, f) > 0) {
		unsigned long long size, h;
		uint64_t i;
		int at;

		if (sscanf(line, "%llu %n", &size, &at) != 1)
			return 1;
		line[strcspn(line, "\n")] = 0;
		files = grow(files, nfiles, sizeof(*files));
		files[nfiles].path = strdup(line + at);
		files[nfiles].size = size;
		files[nfiles++].first = nhashes;
		for (i = 0; i * BLOCK < size; i++) {
			if (getline(&line, &room, f) <= 0 || sscanf(line, "%llx", &h) != 1)
				return 1;
			hashes = grow(hashes, nhashes, sizeof(*hashes));
			hashes[nhashes++] = h;
		}
	}
	free(line);
	fclose(f);
	return !nfiles;
}

/* ---- readers ---- */

static void complain(const struct file *f, uint64_t block, const char *what, int err)
{
	if (!__atomic_fetch_add(&shared->errors, 1, __ATOMIC_RELAXED))
		snprintf(shared->message, sizeof(shared->message), "%s block %llu: %s, errno %d",
			 f->path, (unsigned long long)block, what, err);
}

static void check_block(const struct file *f, uint64_t block, const void *p, size_t len)
{
	__atomic_fetch_add(&shared->reads, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->bytes, len, __ATOMIC_RELAXED);
	if (block_hash(p, len) != hashes[f->first + block])
		complain(f, block, "wrong data", 0);
}

static size_t block_len(const struct file *f, uint64_t block)
{
	uint64_t left = f->size - block * BLOCK;

	return left < BLOCK ? left : BLOCK;
}

/* Reads blocks [from, to) with one call; the caller's buffer holds them all. */
static void pread_blocks(int fd, const struct file *f, uint64_t from, uint64_t to, char *buf)
{
	size_t len = (to - from - 1) * BLOCK + block_len(f, to - 1), done = 0;
	uint64_t i;

	while (done < len) {
		ssize_t n = pread(fd, buf + done, len - done, from * BLOCK + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == ENOMEM) {
			__atomic_fetch_add(&shared->nomem, 1, __ATOMIC_RELAXED);
			continue;
		}
		if (n <= 0) {
			complain(f, from, "read", n ? errno : ENODATA);
			return;
		}
		done += n;
	}
	for (i = from; i < to; i++)
		check_block(f, i, buf + (i - from) * BLOCK, block_len(f, i));
}

/* Small files and large ones, each half of the time. */
static const struct file *choose(uint64_t *seed)
{
	size_t lo = 0, hi = nfiles;
	uint64_t k = h128_rand(seed);

	if (k & 1)
		return &files[(k >> 1) % nfiles];
	k = (k >> 1) % nhashes;
	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (files[mid].first <= k)
			lo = mid;
		else
			hi = mid;
	}
	return &files[lo];
}

static void reader(int way, uint64_t seed)
{
	static char buf[64 * BLOCK];

	for (;;) {
		const struct file *f = choose(&seed);
		uint64_t blocks = (f->size + BLOCK - 1) / BLOCK, i, b;
		int fd, dfd = open(dir, O_RDONLY | O_DIRECTORY);

		fd = openat(dfd, f->path, O_RDONLY);
		close(dfd);
		if (fd < 0) {
			if (errno == ENOMEM)
				continue;
			complain(f, 0, "open", errno);
			sleep(1);
			continue;
		}
		if (single)
			posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
		switch (single ? 0 : way) {
		case 0:
			for (i = 0; i < 64; i++) {
				uint64_t n = single ? 1 : 1 + h128_rand(&seed) % 4;

				b = h128_rand(&seed) % blocks;
				pread_blocks(fd, f, b, b + n < blocks ? b + n : blocks, buf);
			}
			break;
		case 1: {
			char *m = mmap(NULL, f->size, PROT_READ, MAP_SHARED, fd, 0);

			if (m == MAP_FAILED) {
				complain(f, 0, "mmap", errno);
				break;
			}
			for (i = 0; i < 64; i++) {
				b = h128_rand(&seed) % blocks;
				check_block(f, b, m + b * BLOCK, block_len(f, b));
			}
			munmap(m, f->size);
			break;
		}
		case 2:
			for (b = 0; b < blocks; b += 64)
				pread_blocks(fd, f, b, b + 64 < blocks ? b + 64 : blocks, buf);
			break;
		case 3:
			for (i = 0; i < 16; i++) {
				b = h128_rand(&seed) % blocks;
				readahead(fd, b * BLOCK, (1 + h128_rand(&seed) % 128) * BLOCK);
				pread_blocks(fd, f, b, b + 1, buf);
			}
			if (h128_rand(&seed) % 4 == 0)
				posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
			break;
		}
		close(fd);
	}
}

static pid_t start(int way, uint64_t seed, const char *cgroup)
{
	pid_t pid = fork();
	char path[512];
	FILE *f;

	if (pid)
		return pid;
	if (cgroup) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
		f = fopen(path, "w");
		if (!f || fprintf(f, "%d\n", getpid()) < 0 || fclose(f)) {
			complain(&files[0], 0, "cgroup", errno);
			_exit(1);
		}
	}
	reader(way, seed);
	_exit(0);
}

static void drop_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	if (fd >= 0) {
		if (write(fd, "3", 1) != 1)
			perror("drop_caches");
		close(fd);
	}
}

int main(int argc, char **argv)
{
	int c, n = 4, seconds = 10, i, status, rc;
	const char *cgroup = NULL, *table = NULL;
	bool kill_some = false;
	unsigned int drops = 0, kills = 0, died = 0;
	uint64_t seed = 1;
	pid_t pid[MAX_READERS];
	struct timespec nap = { .tv_nsec = 200000000 };
	time_t end;

	while ((c = getopt(argc, argv, "w:n:t:r:c:kp")) != -1) {
		switch (c) {
		case 'w':
			table = optarg;
			break;
		case 'n':
			n = atoi(optarg);
			break;
		case 't':
			seconds = atoi(optarg);
			break;
		case 'r':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			cgroup = optarg;
			break;
		case 'k':
			kill_some = true;
			break;
		case 'p':
			single = true;
			break;
		default:
			return 2;
		}
	}
	if (table) {
		FILE *f;

		if (optind + 1 != argc)
			return 2;
		dir = argv[optind];
		f = fopen(table, "w");
		return !f || write_tree(f, dir) || fclose(f);
	}
	if (optind + 2 != argc || n < 1 || n > MAX_READERS)
		return 2;
	dir = argv[optind + 1];
	if (read_table(argv[optind])) {
		fprintf(stderr, "stress: the table cannot be read\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	for (i = 0; i < n; i++)
		pid[i] = start(i % 4, seed++ * 77777, cgroup);
	end = time(NULL) + seconds;
	while (time(NULL) < end) {
		nanosleep(&nap, NULL);
		if (!single) {
			drop_caches();
			drops++;
		}
		/* A dead reader: killed by us, by the memory limit, or by SIGBUS. */
		for (i = 0; i < n; i++) {
			if (waitpid(pid[i], &status, WNOHANG) != pid[i])
				continue;
			if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
				complain(&files[0], 0, "a reader ended by itself", status);
			died++;
			pid[i] = start(i % 4, seed++ * 77777, cgroup);
		}
		if (kill_some && h128_rand(&seed) % 2) {
			kill(pid[h128_rand(&seed) % n], SIGKILL);
			kills++;
		}
	}
	for (i = 0; i < n; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < n; i++)
		waitpid(pid[i], &status, 0);
	rc = shared->errors || !shared->reads;
	printf("stress: %d readers, %llu blocks, %llu MiB, %u drops, %u kills, %u died, %llu ENOMEM, %llu errors\n",
	       n, (unsigned long long)shared->reads, (unsigned long long)(shared->bytes >> 20),
	       drops, kills, died, (unsigned long long)shared->nomem,
	       (unsigned long long)shared->errors);
	if (shared->errors)
		printf("stress: first error: %s\n", shared->message);
	return rc;
}
