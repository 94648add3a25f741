// SPDX-License-Identifier: GPL-2.0
/*
 * surface2.c - questions to a mounted file system that surface.c doesn't ask;
 * the same kind of output.
 *
 *	dax PREFIX FILE REF on|off	is FILE accessed without page cache, and
 *					right however it is read
 *	held PREFIX FILE REF		pages of FILE that a pipe holds outlive the mapping
 *	is-dax FILE			"yes" or "no"
 *	sum PREFIX FILE REF		the same bytes, through a mapping
 *	redirect FILE			its trusted.overlay.redirect
 *	verity FILE			enable fs-verity (SHA-256, blocks of 4096)
 *	dio-dir DIR			errno of open() with O_DIRECT, OK if it works
 *	hold FILE COMMAND...		run COMMAND while FILE is open, then read
 *					all of FILE through that and print a checksum
 *
 * Exit status: 0 nothing failed, 1 something did, 2 usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <linux/fsverity.h>
#include "slurp.h"
#include "uapi.h"

static const char *prefix = "";
static int failures;

static void check(const char *name, bool good)
{
	int e = errno;

	if (good) {
		printf("ok %s/%s\n", prefix, name);
		return;
	}
	failures++;
	printf("not ok %s/%s - %s\n", prefix, name, e ? strerror(e) : "no");
}

static int open_or_die(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0) {
		perror(path);
		exit(2);
	}
	return fd;
}

/* how many pages are mapped at [p, p + len) without faulting them in */
static size_t present(void *p, size_t len)
{
	size_t page = sysconf(_SC_PAGESIZE), i, sum = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t e;

	for (i = 0; i < len; i += page)
		if (pread(fd, &e, 8, ((uintptr_t)p + i) / page * 8) == 8)
			sum += e >> 63;
	close(fd);
	return sum;
}

static int dax(const char *path, const char *refpath, bool on)
{
	size_t size, maplen, page = sysconf(_SC_PAGESIZE), i;
	char *ref = slurp(refpath, &size), *buf = aligned_alloc(4096, (size + 8191) & ~4095UL), *p;
	int fd = open_or_die(path), dfd, p2[2];
	struct statx stx = { };
	ssize_t n;

	maplen = (size + page - 1) / page * page;
	check("statx", !statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &stx));
	check("attribute-known", stx.stx_attributes_mask & STATX_ATTR_DAX);
	errno = 0;
	check("attribute", !(stx.stx_attributes & STATX_ATTR_DAX) == !on);

	/* odd pieces, to the end and over it */
	memset(buf, 0, size);
	for (i = 0; i < size; i += n) {
		n = pread(fd, buf + i, 4099 < size + 1 - i ? 4099 : size + 1 - i, i);
		if (n <= 0)
			break;
	}
	check("pread", i == size && !memcmp(buf, ref, size));
	check("pread-end", !pread(fd, buf, 100, size) && !pread(fd, buf, 100, size + 123456));
	memset(buf, 0, size);
	dfd = open(path, O_RDONLY | O_DIRECT);
	check("direct-open", dfd >= 0);
	for (i = 0; i < size; i += n) {
		n = pread(dfd, buf + i, (size - i + 4095) & ~4095UL, i);
		if (n <= 0)
			break;
	}
	check("direct", i == size && !memcmp(buf, ref, size));
	close(dfd);

	p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	check("mmap", p != MAP_FAILED);
	if (p == MAP_FAILED)
		return 1;
	check("mmap-same", !memcmp(p, ref, size));
	check("mmap-present", present(p, maplen) == maplen / page);
	/* memory of the mapping is a source like any other */
	if (!pipe(p2)) {
		size_t len = size < 30000 ? size : 30000;

		n = write(p2[1], p, len);
		check("mmap-write-from", n == (ssize_t)len && read(p2[0], buf, len) == n &&
		      !memcmp(buf, ref, len));
		close(p2[0]);
		close(p2[1]);
	}
	munmap(p, size);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED) {
		/* some pages are written before they are read, others after */
		for (i = 0; i < size; i += page)
			if (i / page % 3 == 0)
				p[i] ^= 0x55;
			else if (i / page % 3 == 1 && p[i] == ref[i])
				p[i] ^= 0x55;
		for (i = 0; i < size; i++)
			if (p[i] != (char)(ref[i] ^ (i % page == 0 && i / page % 3 < 2 ? 0x55 : 0)))
				break;
		errno = 0;
		check("mmap-private-write", i == size);
		munmap(p, size);
	}
	n = pread(fd, buf, size, 0);
	check("unchanged", n == (ssize_t)size && !memcmp(buf, ref, size));
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check("mmap-shared-write-refused", p == MAP_FAILED && errno == EACCES);
	p = mmap(NULL, size, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
	check("mmap-sync-refused", p == MAP_FAILED && errno == EOPNOTSUPP);
	/* a page behind the end */
	p = mmap(NULL, maplen + page, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		pid_t pid = fork();
		int st = 0;

		if (!pid)
			_exit(p[maplen]);
		waitpid(pid, &st, 0);
		errno = 0;
		check("mmap-behind-end", WIFSIGNALED(st) && WTERMSIG(st) == SIGBUS);
		munmap(p, maplen + page);
	}
	p = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	check("mmap-exec", p != MAP_FAILED && !memcmp(p, ref, size));
	if (p != MAP_FAILED) {
		pid_t pid = fork();
		int st = 0;

		/* a copied address space has its own look at the pages */
		if (!pid)
			_exit(!!memcmp(p, ref, size));
		waitpid(pid, &st, 0);
		errno = 0;
		check("mmap-child", WIFEXITED(st) && !WEXITSTATUS(st));
		munmap(p, size);
	}
	close(fd);
	free(buf);
	free(ref);
	return failures != 0;
}

static int held(const char *path, const char *refpath)
{
	size_t size, len;
	char *ref = slurp(refpath, &size), *p;
	int fd = open_or_die(path), p2[2], drop;
	static char buf[16384];
	struct iovec v;
	ssize_t n;
	pid_t pid;

	len = size < sizeof(buf) ? size : sizeof(buf);
	p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED || pipe(p2)) {
		perror("mmap");
		return 2;
	}
	if (memcmp(p, ref, size))
		return 2;
	v.iov_base = p;
	v.iov_len = len;
	n = vmsplice(p2[1], &v, 1, 0);
	check("vmsplice", n == (ssize_t)len);
	munmap(p, size);
	close(fd);
	/* the inode is wanted gone while the pipe has its pages: that may wait */
	pid = fork();
	if (!pid) {
		drop = open("/proc/sys/vm/drop_caches", O_WRONLY);
		_exit(write(drop, "3", 1) != 1);
	}
	usleep(300000);
	n = read(p2[0], buf, sizeof(buf));
	check("held", n == (ssize_t)len && !memcmp(buf, ref, len));
	waitpid(pid, NULL, 0);
	return failures != 0;
}

static int sum(const char *path, const char *refpath)
{
	size_t size;
	char *ref = slurp(refpath, &size), *p;
	int fd = open_or_die(path);

	p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	check("mapped", p != MAP_FAILED && !memcmp(p, ref, size));
	return failures != 0;
}

static int is_dax(const char *path)
{
	struct statx stx;

	if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &stx)) {
		perror(path);
		return 1;
	}
	puts(stx.stx_attributes & STATX_ATTR_DAX ? "yes" : "no");
	return 0;
}

static int redirect(const char *path)
{
	char buf[4096];
	ssize_t n = getxattr(path, "trusted.overlay.redirect", buf, sizeof(buf) - 1);

	if (n < 0) {
		perror(path);
		return 1;
	}
	buf[n] = '\0';
	puts(buf);
	return 0;
}

static int verity(const char *path)
{
	struct fsverity_enable_arg arg = {
		.version = 1,
		.hash_algorithm = FS_VERITY_HASH_ALG_SHA256,
		.block_size = 4096,
	};

	if (ioctl(open_or_die(path), FS_IOC_ENABLE_VERITY, &arg)) {
		perror(path);
		return 1;
	}
	return 0;
}

static int hold(const char *path, char **cmd)
{
	static char buf[65536];
	int fd = open_or_die(path), st;
	uint64_t sum = 0;
	ssize_t n, i;
	pid_t pid = fork();

	if (!pid) {
		execvp(cmd[0], cmd);
		_exit(127);
	}
	waitpid(pid, &st, 0);
	if (st)
		return 1;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < n; i++)
			sum = sum * 31 + (unsigned char)buf[i];
	if (n < 0) {
		perror(path);
		return 1;
	}
	printf("%016llx\n", (unsigned long long)sum);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 6 && !strcmp(what, "dax")) {
		prefix = argv[2];
		return dax(argv[3], argv[4], !strcmp(argv[5], "on"));
	}
	if (argc == 5 && !strcmp(what, "held")) {
		prefix = argv[2];
		return held(argv[3], argv[4]);
	}
	if (argc == 5 && !strcmp(what, "sum")) {
		prefix = argv[2];
		return sum(argv[3], argv[4]);
	}
	if (argc == 3 && !strcmp(what, "is-dax"))
		return is_dax(argv[2]);
	if (argc == 3 && !strcmp(what, "redirect"))
		return redirect(argv[2]);
	if (argc == 3 && !strcmp(what, "verity"))
		return verity(argv[2]);
	if (argc == 3 && !strcmp(what, "dio-dir")) {
		int fd = open(argv[2], O_RDONLY | O_DIRECT | O_DIRECTORY);

		printf("%s\n", fd < 0 ? strerrorname_np(errno) : "OK");
		return 0;
	}
	if (argc > 3 && !strcmp(what, "hold"))
		return hold(argv[2], argv + 3);
	fprintf(stderr, "usage: see the top of surface2.c\n");
	return 2;
}
