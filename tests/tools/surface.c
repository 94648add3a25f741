// SPDX-License-Identifier: GPL-2.0
/*
 * surface.c - ask a mounted file system everything that programs ask: one
 * subcommand for each area, one "ok NAME" or "not ok NAME - reason" line for
 * each question.  NAME begins with the PREFIX argument.  Where several answers
 * are defensible the answer itself is a fact, appended as "NAME VALUE" to the
 * file named in $FACTS, so that two drivers can be compared with diff.
 *
 *	reads PREFIX FILE REF [STORE]	every way to read FILE; REF has the same
 *					bytes; STORE is what the image lies on
 *	meta PREFIX FILE		attributes, ioctls, refused changes
 *	names PREFIX DIR		readdir against lstat, inode numbers
 *	handles-save DIR LIST		file handles of a tree, to a file
 *	handles-check PREFIX DIR LIST	open all of them again
 *	same PREFIX DIR REF		regular files of REF are in DIR, with the same bytes
 *	idmap PREFIX SRC DST FILE	SRC mounted again at DST, ids shifted
 *	fsmount TYPE SRC DIR [KEY[=VALUE]]...	fsopen() and friends
 *	errno read|open|stat FILE	errno of one call by name, OK if it works
 *	ahead FILE			ask for all of it and don't wait
 *	resident FILE			how many of its pages are in the page cache
 *	extent FILE POS			"physical logical length" of the extent at POS
 *	partial PREFIX FILE REF LO HI ERRNO	pages in [LO, HI) fail with ERRNO, all
 *					others are right, twice
 *
 * Exit status: 0 nothing failed, 1 something did, 2 usage.  fsmount exits with
 * the errno.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/quota.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/mount.h>
#include "slurp.h"
#include "uapi.h"

#ifndef FS_IOC_GETFSUUID
struct fsuuid2 {
	uint8_t len;
	uint8_t uuid[16];
};
#define FS_IOC_GETFSUUID _IOR(0x15, 0, struct fsuuid2)
#endif

static const char *prefix = "";
static int failures;

static void ok(const char *name)
{
	printf("ok %s/%s\n", prefix, name);
}

static void __attribute__((format(printf, 2, 3))) bad(const char *name, const char *fmt, ...)
{
	va_list ap;

	failures++;
	printf("not ok %s/%s - ", prefix, name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* a yes or no question; what is wrong is said with the errno */
static void check(const char *name, bool good)
{
	int e = errno;

	if (good)
		ok(name);
	else
		bad(name, "%s", e ? strerror(e) : "no");
}

static void __attribute__((format(printf, 2, 3))) fact(const char *name, const char *fmt, ...)
{
	const char *path = getenv("FACTS");
	va_list ap;
	FILE *f;

	if (!path)
		return;
	f = fopen(path, "a");
	if (!f)
		exit(2);
	fprintf(f, "%s/%s ", prefix, name);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fprintf(f, "\n");
	fclose(f);
}

static const char *err_name(bool good)
{
	return good ? "OK" : strerrorname_np(errno);
}

/* same sequence in each run */
static uint32_t rnd(uint32_t below)
{
	static uint32_t s = 12345;

	s = s * 1664525 + 1013904223;
	return below ? (uint64_t)s * below >> 32 : 0;
}

static void forget(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* ---- reads ------------------------------------------------------------------ */

static char *ref;
static size_t size;

static void read_plain(int fd)
{
	char *buf = malloc(65537);
	size_t pos = 0;
	ssize_t n;
	int chunk = 1;

	forget(fd);
	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, buf, chunk)) > 0) {
		if (pos + n > size || memcmp(buf, ref + pos, n))
			break;
		pos += n;
		chunk = chunk * 3 % 65537 + 1;
	}
	check("read", n == 0 && pos == size);
	free(buf);
}

static void read_pread(int fd)
{
	char *buf = malloc(50000);
	int i;

	forget(fd);
	for (i = 0; i < 60; i++) {
		size_t pos = rnd(size + 100), len = rnd(50000) + 1;
		size_t want = pos >= size ? 0 : pos + len > size ? size - pos : len;
		ssize_t n = pread(fd, buf, len, pos);

		if (n != (ssize_t)want || memcmp(buf, ref + pos, want))
			break;
	}
	check("pread", i == 60);
	free(buf);
}

static void read_vec(int fd)
{
	size_t len = size < 70000 ? size : 70000, a = len / 7, b = len / 3;
	char *buf = malloc(len + 1);
	struct iovec v[3] = {
		{ buf, a }, { buf + a, b }, { buf + a + b, len - a - b },
	};
	ssize_t n;

	forget(fd);
	lseek(fd, 0, SEEK_SET);
	check("readv", readv(fd, v, 3) == (ssize_t)len && !memcmp(buf, ref, len));
	memset(buf, 0, len);
	n = preadv2(fd, v, 3, 0, RWF_HIPRI);
	check("preadv2", n == (ssize_t)len && !memcmp(buf, ref, len));
	/* what is not there yet is not waited for; what is there comes */
	forget(fd);
	n = preadv2(fd, v, 1, 0, RWF_NOWAIT);
	check("nowait-cold", n >= 0 || errno == EAGAIN || errno == EOPNOTSUPP);
	memset(buf, 0, len);
	pread(fd, buf, len, 0);
	n = preadv2(fd, v, 1, 0, RWF_NOWAIT);
	fact("nowait-warm", "%s", err_name(n >= 0));
	check("nowait-warm", n == (ssize_t)a && !memcmp(buf, ref, a));
	free(buf);
}

static void read_mmap(int fd)
{
	size_t page = sysconf(_SC_PAGESIZE), maplen = (size + page - 1) / page * page, i;
	bool zero = true;
	unsigned char vec[1] = { 0 };
	char *p;

	forget(fd);
	p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	check("mmap-private", p != MAP_FAILED && !memcmp(p, ref, size));
	for (i = size; p != MAP_FAILED && i < maplen; i++)
		zero &= !p[i];
	check("mmap-tail-zero", zero);
	check("mincore", p != MAP_FAILED && !mincore(p, page, vec) && (vec[0] & 1));
	if (p != MAP_FAILED)
		munmap(p, size);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED) {
		char c;

		p[0] ^= 1;
		pread(fd, &c, 1, 0);
		check("mmap-copy-on-write", c == ref[0] && p[0] != c);
		munmap(p, size);
	} else {
		bad("mmap-copy-on-write", "%m");
	}
	forget(fd);
	p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		bool same = true;

		madvise(p, size, MADV_RANDOM);
		for (i = 0; i < 200; i++) {
			size_t pos = rnd(size);

			same &= p[pos] == ref[pos];
		}
		madvise(p, size, MADV_WILLNEED);
		check("mmap-shared", same && !memcmp(p, ref, size));
		munmap(p, size);
	} else {
		bad("mmap-shared", "%m");
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check("mmap-shared-write-refused", p == MAP_FAILED && errno == EACCES);
}

static bool pipe_same(int fd, size_t want)
{
	char *buf = malloc(want);
	size_t got = 0;
	ssize_t n;

	while (got < want && (n = read(fd, buf + got, want - got)) > 0)
		got += n;
	n = got == want && !memcmp(buf, ref, want);
	free(buf);
	return n;
}

static bool tmp_same(int fd)
{
	char *buf = malloc(size + 1);
	bool same = pread(fd, buf, size + 1, 0) == (ssize_t)size && !memcmp(buf, ref, size);

	free(buf);
	return same;
}

static void read_splice(int fd)
{
	size_t want = size < 60000 ? size : 60000, got = 0;
	loff_t off = 0;
	off_t soff = 0;
	ssize_t n = 0;
	int p[2], tmp;

	forget(fd);
	if (pipe(p))
		exit(2);
	while (got < want && (n = splice(fd, &off, p[1], NULL, want - got, 0)) > 0)
		got += n;
	check("splice", got == want && pipe_same(p[0], want));
	close(p[0]);
	close(p[1]);

	forget(fd);
	tmp = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	while ((size_t)soff < size && (n = sendfile(tmp, fd, &soff, size - soff)) > 0)
		;
	check("sendfile", tmp >= 0 && tmp_same(tmp));
	close(tmp);

	tmp = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	off = 0;
	for (;;) {
		n = copy_file_range(fd, &off, tmp, NULL, size, 0);
		if (n <= 0)
			break;
	}
	/* the kernel copies only inside one file system; programs fall back */
	check("copy_file_range", (n == 0 && tmp_same(tmp)) || (n < 0 && errno == EXDEV));
	fact("copy_file_range", "%s", err_name(n == 0));
	close(tmp);
}

/* one request at a time: at once, by a worker of the ring, as a vector, into registered memory, direct */
static void read_uring(int fd, const char *path)
{
	static const struct {
		const char *name;
		uint8_t opcode, flags;
	} ways[] = {
		{ "io_uring", IORING_OP_READ, 0 },
		{ "io_uring-async", IORING_OP_READ, IOSQE_ASYNC },
		{ "io_uring-readv", IORING_OP_READV, 0 },
		{ "io_uring-fixed", IORING_OP_READ_FIXED, 0 },
		{ "io_uring-direct", IORING_OP_READ, 0 },
	};
	struct io_uring_params p = { };
	size_t len = 24 * 4096, want = size < len ? size : len;
	int dfd = open(path, O_RDONLY | O_DIRECT);
	char *buf = aligned_alloc(4096, len);
	struct iovec v = { buf, len };
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	char *sq, *cq;
	int r = syscall(__NR_io_uring_setup, 4, &p);
	unsigned int i;

	if (r < 0) {
		bad("io_uring", "setup: %m");
		return;
	}
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, r,
		  IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*cqe), PROT_READ | PROT_WRITE,
		  MAP_SHARED, r, IORING_OFF_CQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, r,
		   IORING_OFF_SQES);
	check("io_uring-register", !syscall(__NR_io_uring_register, r, IORING_REGISTER_BUFFERS,
					    &v, 1));
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		bool direct = i == sizeof(ways) / sizeof(ways[0]) - 1;
		bool vec = ways[i].opcode == IORING_OP_READV;

		if (direct && dfd < 0)
			break;
		forget(fd);
		memset(buf, 0, len);
		memset(sqe, 0, sizeof(*sqe));
		sqe->opcode = ways[i].opcode;
		sqe->flags = ways[i].flags;
		sqe->fd = direct ? dfd : fd;
		sqe->addr = vec ? (uintptr_t)&v : (uintptr_t)buf;
		sqe->len = vec ? 1 : len;
		*(uint32_t *)(sq + p.sq_off.array + i % p.sq_entries * 4) = 0;
		__atomic_store_n((uint32_t *)(sq + p.sq_off.tail), i + 1, __ATOMIC_RELEASE);
		if (syscall(__NR_io_uring_enter, r, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) {
			bad(ways[i].name, "enter: %m");
			break;
		}
		cqe = (struct io_uring_cqe *)(cq + p.cq_off.cqes) + i % p.cq_entries;
		if (cqe->res == (int)want && !memcmp(buf, ref, want))
			ok(ways[i].name);
		else
			bad(ways[i].name, "result %d", cqe->res);
		__atomic_store_n((uint32_t *)(cq + p.cq_off.head), i + 1, __ATOMIC_RELEASE);
	}
	close(r);
	close(dfd);
	free(buf);
}

static size_t resident(int fd)
{
	size_t page = sysconf(_SC_PAGESIZE), n = (size + page - 1) / page, i, sum = 0;
	unsigned char *vec = calloc(n, 1);
	char *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (p != MAP_FAILED && !mincore(p, size, vec))
		for (i = 0; i < n; i++)
			sum += vec[i] & 1;
	munmap(p, size);
	free(vec);
	return sum;
}

static void read_advice(int fd)
{
	int i;

	/* pages that are being read ahead stay */
	for (i = 0; i < 100 && resident(fd); i++) {
		usleep(20000);
		forget(fd);
	}
	check("fadvise-dontneed", resident(fd) == 0);
	check("readahead", !readahead(fd, 0, size));
	/* the reading may be going on in a worker */
	for (i = 0; i < 100 && !resident(fd); i++)
		usleep(20000);
	check("readahead-fills", resident(fd) > 0);
	forget(fd);
	check("fadvise-willneed", !posix_fadvise(fd, 0, size, POSIX_FADV_WILLNEED));
	for (i = 0; i < 100 && !resident(fd); i++)
		usleep(20000);
	check("fadvise-fills", resident(fd) > 0);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
}

static void read_direct(const char *path)
{
	size_t full = (size + 4095) / 4096 * 4096, pos = 0;
	char *buf = NULL;
	struct statx sx = { };
	bool direct;
	ssize_t n = 0;
	int fd;

	statx(AT_FDCWD, path, 0, STATX_DIOALIGN, &sx);
	fact("statx-dioalign", "%d", !!(sx.stx_mask & STATX_DIOALIGN));
	fd = open(path, O_RDONLY | O_DIRECT);
	fact("dio-open", "%s", err_name(fd >= 0));
	if (fd < 0) {
		check("dio-open", errno == EINVAL);
		return;
	}
	if (posix_memalign((void **)&buf, 4096, full + 4096))
		exit(2);
	/* in pieces that end inside, at, and behind blocks' ends */
	while ((n = pread(fd, buf + pos, pos ? 4096 + full - pos / 4096 * 4096 : 4096,
			  pos)) > 0)
		pos += n;
	check("dio-aligned", n >= 0 && pos == size && !memcmp(buf, ref, size));
	n = pread(fd, buf, 4096, full);
	check("dio-at-end", n == 0);
	n = pread(fd, buf, 8192, (size - 1) / 4096 * 4096);
	check("dio-tail", n == (ssize_t)(size - (size - 1) / 4096 * 4096) &&
	      !memcmp(buf, ref + (size - 1) / 4096 * 4096, n));
	n = pread(fd, buf + 1, 4096, 0);
	fact("dio-odd-memory", "%s", err_name(n >= 0));
	direct = n < 0;
	check("dio-odd-memory", (n < 0 && errno == EINVAL) ||
	      (n == (ssize_t)(size < 4096 ? size : 4096) && !memcmp(buf + 1, ref, n)));
	n = pread(fd, buf, 4096, 100);
	fact("dio-odd-position", "%s", err_name(n >= 0));
	check("dio-odd-position", direct && size > 100 ? n < 0 && errno == EINVAL :
	      n >= 0 && n == (ssize_t)(size < 100 ? 0 : size < 4196 ? size - 100 : 4096) &&
	      !memcmp(buf, ref + 100, n));
	close(fd);
	free(buf);
}

static void read_seek(int fd)
{
	size_t pos = 0, i;
	bool good = true;
	int ranges = 0;

	while (pos < size) {
		off_t d = lseek(fd, pos, SEEK_DATA), h;

		if (d < 0) {
			good &= errno == ENXIO;
			d = size;
		}
		for (i = pos; i < (size_t)d && i < size; i++)
			good &= !ref[i];
		if (d == (off_t)size)
			break;
		h = lseek(fd, d, SEEK_HOLE);
		good &= h > d && h <= (off_t)size;
		if (!good)
			break;
		ranges++;
		pos = h;
	}
	check("seek-data-hole", good);
	fact("data-ranges", "%d", ranges);
	check("seek-behind-end", lseek(fd, size, SEEK_DATA) < 0 && errno == ENXIO);
	check("seek-hole-at-end", lseek(fd, size - 1, SEEK_HOLE) == (off_t)size ||
	      lseek(fd, size - 1, SEEK_HOLE) == (off_t)size - 1);
	check("seek-end", lseek(fd, 0, SEEK_END) == (off_t)size);
}

static void read_fiemap(int fd, const char *store)
{
	struct fiemap *fm = calloc(1, sizeof(*fm) + 4000 * sizeof(struct fiemap_extent));
	uint32_t all, i, seen = 0;
	int dev = store ? open(store, O_RDONLY) : -1;
	uint64_t pos = 0, k, limit = dev >= 0 ? (uint64_t)lseek(dev, 0, SEEK_END) : UINT64_MAX;
	char *buf = malloc(1 << 20);

	fm->fm_length = FIEMAP_MAX_OFFSET;
	if (ioctl(fd, FS_IOC_FIEMAP, fm)) {
		bad("fiemap", "%m");
		return;
	}
	all = fm->fm_mapped_extents;
	fm->fm_flags = FIEMAP_FLAG_SYNC;
	fm->fm_extent_count = 4000;
	if (ioctl(fd, FS_IOC_FIEMAP, fm) || fm->fm_mapped_extents != all || !all || all > 4000) {
		bad("fiemap", "%u extents counted, %u listed (%m)", all, fm->fm_mapped_extents);
		return;
	}
	for (i = 0; i < all; i++) {
		struct fiemap_extent *e = &fm->fm_extents[i];
		uint64_t end = e->fe_logical + e->fe_length;

		if (e->fe_logical < pos || !e->fe_length) {
			bad("fiemap", "extent %u at %llu is not behind %llu", i,
			    (unsigned long long)e->fe_logical, (unsigned long long)pos);
			return;
		}
		for (k = pos; k < e->fe_logical && k < size; k++)
			if (ref[k]) {
				bad("fiemap", "data at %llu in a hole", (unsigned long long)k);
				return;
			}
		pos = end;
		seen |= e->fe_flags;
		if (!!(e->fe_flags & FIEMAP_EXTENT_LAST) != (i == all - 1)) {
			bad("fiemap", "extent %u of %u: flags 0x%x", i, all, e->fe_flags);
			return;
		}
		if (!(e->fe_flags & FIEMAP_EXTENT_UNKNOWN) && e->fe_physical >= limit) {
			bad("fiemap", "physical position %llu is behind the end",
			    (unsigned long long)e->fe_physical);
			return;
		}
		/* what is not encoded is there as it is */
		if (dev >= 0 && !(e->fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_ENCODED))) {
			uint64_t n = end > size ? size - e->fe_logical : e->fe_length;

			if (n > 1 << 20)
				n = 1 << 20;
			if (pread(dev, buf, n, e->fe_physical) != (ssize_t)n ||
			    memcmp(buf, ref + e->fe_logical, n)) {
				bad("fiemap", "extent %u: other bytes at its physical position", i);
				return;
			}
		}
	}
	for (k = pos; k < size; k++)
		if (ref[k]) {
			bad("fiemap", "data at %llu behind the last extent", (unsigned long long)k);
			return;
		}
	ok("fiemap");
	fact("fiemap-flags", "0x%x", seen);
	/* half of it: nothing that ends before, nothing that begins behind */
	fm->fm_start = size / 2;
	fm->fm_length = 1;
	if (ioctl(fd, FS_IOC_FIEMAP, fm) || fm->fm_mapped_extents > 1 ||
	    (fm->fm_mapped_extents && (fm->fm_extents[0].fe_logical > size / 2 ||
	     fm->fm_extents[0].fe_logical + fm->fm_extents[0].fe_length <= size / 2)))
		bad("fiemap-one-byte", "%u extents (%m)", fm->fm_mapped_extents);
	else
		ok("fiemap-one-byte");
	free(fm);
	free(buf);
	if (dev >= 0)
		close(dev);
}

static int do_reads(const char *path, const char *refpath, const char *store)
{
	int fd = open(path, O_RDONLY), r;
	char *same;
	size_t n;

	ref = slurp(refpath, &size);
	if (fd < 0) {
		bad("open", "%m");
		return 1;
	}
	read_plain(fd);
	read_pread(fd);
	read_vec(fd);
	read_mmap(fd);
	read_splice(fd);
	read_uring(fd, path);
	read_advice(fd);
	read_direct(path);
	read_seek(fd);
	read_fiemap(fd, store);
	r = swapon(path, 0);
	check("swapon-refused", r < 0);
	fact("swapon", "%s", err_name(!r));
	close(fd);
	/* nothing of the above has left something wrong in the page cache */
	same = slurp(path, &n);
	check("again", n == size && !memcmp(same, ref, n));
	return !!failures;
}

/* ---- meta ------------------------------------------------------------------- */

static int do_meta(const char *path)
{
	struct statx sx = { };
	struct statfs sf;
	struct statvfs sv;
	struct stat a, b;
	struct fsuuid2 uuid = { };
	struct timespec ts[2] = { };
	struct dqblk dq;
	char label[256] = "", buf[512], c;
	unsigned int fl = 0;
	int fd = open(path, O_RDONLY), in, r;

	if (fd < 0 || stat(path, &a) || statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &sx)) {
		bad("open", "%m");
		return 1;
	}
	check("statx-size", sx.stx_size == (uint64_t)a.st_size && sx.stx_ino == a.st_ino);
	check("statx-blksize", sx.stx_blksize >= 512 && !(sx.stx_blksize & (sx.stx_blksize - 1)));
	fact("blksize", "%u", sx.stx_blksize);
	fact("attributes", "0x%llx of 0x%llx", (unsigned long long)sx.stx_attributes &
	     (STATX_ATTR_COMPRESSED | STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND),
	     (unsigned long long)sx.stx_attributes_mask &
	     (STATX_ATTR_COMPRESSED | STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND));
	check("statx-immutable", sx.stx_attributes & STATX_ATTR_IMMUTABLE);
	check("inode-32-bit", a.st_ino && a.st_ino <= UINT32_MAX);

	check("statfs", !statfs(path, &sf) && sf.f_type == 0xE0F5E1E2 && !sf.f_bfree &&
	      sf.f_namelen == 255 && sf.f_blocks);
	check("statvfs-flags", !statvfs(path, &sv) && (sv.f_flag & ST_RDONLY));
	pread(fd, &c, 1, 0);
	check("noatime", !stat(path, &b) && a.st_atim.tv_sec == b.st_atim.tv_sec &&
	      a.st_atim.tv_nsec == b.st_atim.tv_nsec);

	r = ioctl(fd, FS_IOC_GETFSLABEL, label);
	fact("label", "%s '%s'", err_name(!r), label);
	check("label", !r && !strcmp(label, "surface"));
	r = ioctl(fd, FS_IOC_GETFSUUID, &uuid);
	fact("uuid", "%s %u %02x", err_name(!r), uuid.len, uuid.uuid[0]);
	check("uuid", (!r && uuid.len == 16 && uuid.uuid[0] == 0x5a) || (r && errno == ENOTTY));
	r = ioctl(fd, FS_IOC_GETFLAGS, &fl);
	fact("getflags", "%s 0x%x", err_name(!r), fl);
	r = ioctl(fd, 0x12345678, buf);
	check("unknown-ioctl", r < 0 && errno == ENOTTY);

	check("no-write-open", open(path, O_RDWR) < 0 && errno == EROFS);
	check("no-truncate", truncate(path, 0) < 0 && errno == EROFS);
	check("no-utimens", utimensat(AT_FDCWD, path, ts, 0) < 0 && errno == EROFS);
	check("no-chmod", chmod(path, 0777) < 0 && errno == EROFS);
	check("no-chown", chown(path, 1, 1) < 0 && errno == EROFS);
	check("no-unlink", unlink(path) < 0 && errno == EROFS);
	check("no-setxattr", setxattr(path, "user.x", "y", 1, 0) < 0 && errno == EROFS);
	snprintf(buf, sizeof(buf), "%s.new", path);
	check("no-link", link(path, buf) < 0 && errno == EROFS);
	check("no-create", open(buf, O_CREAT | O_WRONLY, 0600) < 0 && errno == EROFS);
	check("no-mkdir", mkdir(buf, 0700) < 0 && errno == EROFS);
	check("no-fallocate", fallocate(fd, 0, 0, 1) < 0 && errno == EBADF);
	check("access-write", access(path, W_OK) < 0 && errno == EROFS);
	check("listxattr", listxattr(path, buf, sizeof(buf)) >= 0);
	check("getxattr-absent", getxattr(path, "user.none", buf, 10) < 0 && errno == ENODATA);

	in = inotify_init1(IN_NONBLOCK);
	r = inotify_add_watch(in, path, IN_ACCESS | IN_OPEN);
	pread(fd, &c, 1, 0);
	check("inotify", r >= 0 && read(in, buf, sizeof(buf)) > 0);
	close(in);
	check("flock", !flock(fd, LOCK_EX | LOCK_NB) && !flock(fd, LOCK_UN));
	r = fcntl(fd, F_SETLEASE, F_RDLCK);
	check("lease", !r && !fcntl(fd, F_SETLEASE, F_UNLCK));
	r = syscall(__NR_quotactl_fd, fd, QCMD(Q_GETQUOTA, USRQUOTA), 0, &dq);
	check("quota-absent", r < 0);
	check("syncfs", !syncfs(fd));
	fact("fsync", "%s", err_name(!fsync(fd)));
	close(fd);
	return !!failures;
}

/* ---- names ------------------------------------------------------------------ */

static size_t handle_root;	/* length of the name of the tree's top */
static uint64_t inos[100000];
static unsigned int nr_inos;
static bool dtype_good = true, dino_good = true, small_good = true;
static unsigned int nr_names;

static void walk(const char *dir)
{
	char path[4096];
	struct dirent *de;
	struct stat st;
	DIR *d = opendir(dir);

	if (!d) {
		bad("opendir", "%s: %m", dir);
		return;
	}
	while ((de = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, de->d_name);
		if (lstat(path, &st)) {
			bad("lstat", "%s: %m", path);
			continue;
		}
		nr_names++;
		dtype_good &= de->d_type == IFTODT(st.st_mode);
		if (strcmp(de->d_name, "..") || strcmp(dir, "/"))
			dino_good &= de->d_ino == st.st_ino || !strcmp(de->d_name, "..");
		small_good &= st.st_ino <= UINT32_MAX;
		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		if (nr_inos < 100000 && st.st_nlink == 1)
			inos[nr_inos++] = st.st_ino;
		if (S_ISDIR(st.st_mode))
			walk(path);
	}
	closedir(d);
}

static int cmp64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int do_names(const char *dir)
{
	bool unique = true;
	unsigned int i;

	walk(dir);
	qsort(inos, nr_inos, sizeof(inos[0]), cmp64);
	for (i = 1; i < nr_inos; i++)
		unique &= inos[i] != inos[i - 1];
	errno = 0;
	check("names", nr_names > 10);
	check("d_type", dtype_good);
	check("d_ino", dino_good);
	check("inode-unique", unique);
	check("inode-32-bit", small_good);
	return !!failures;
}

static const char *same_dir;
static unsigned int nr_same;

static int same_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	static char a[1 << 16], b[1 << 16];
	char other[4096];
	ssize_t n, m;
	int fd, fd2;

	(void)type;
	(void)ftw;
	if (!S_ISREG(st->st_mode))
		return 0;
	snprintf(other, sizeof(other), "%s%s", same_dir, path + handle_root);
	fd = open(path, O_RDONLY);
	fd2 = open(other, O_RDONLY);
	if (fd < 0 || fd2 < 0) {
		bad("same", "open %s: %m", other);
		return 1;
	}
	do {
		n = read(fd, a, sizeof(a));
		m = read(fd2, b, sizeof(b));
		if (n < 0 || n != m || memcmp(a, b, n)) {
			bad("same", "%s: %m", other);
			return 1;
		}
	} while (n);
	close(fd);
	close(fd2);
	nr_same++;
	return 0;
}

static int do_same(const char *dir, const char *reference)
{
	same_dir = dir;
	handle_root = strlen(reference);
	if (!nftw(reference, same_one, 20, FTW_PHYS))
		check("same", nr_same > 10);
	return !!failures;
}

/* ---- handles ---------------------------------------------------------------- */

struct saved {
	uint64_t ino;
	uint32_t mode;
	uint32_t bytes;
	int32_t type;
	uint8_t data[128];
	char path[256];
};

static FILE *handle_list;

static int save_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct {
		struct file_handle h;
		uint8_t data[128];
	} h = { .h.handle_bytes = 128 };
	struct saved s = { .ino = st->st_ino, .mode = st->st_mode };
	int mnt;

	(void)type;
	(void)ftw;
	if (name_to_handle_at(AT_FDCWD, path, &h.h, &mnt, 0)) {
		perror(path);
		return 1;
	}
	s.bytes = h.h.handle_bytes;
	s.type = h.h.handle_type;
	memcpy(s.data, h.h.f_handle, s.bytes);
	snprintf(s.path, sizeof(s.path), "%s", path + handle_root);
	fwrite(&s, sizeof(s), 1, handle_list);
	return 0;
}

static int do_handles_save(const char *dir, const char *list)
{
	handle_list = fopen(list, "w");
	handle_root = strlen(dir);
	return !handle_list || nftw(dir, save_one, 20, FTW_PHYS | FTW_MOUNT) || fclose(handle_list);
}

static int do_handles_check(const char *dir, const char *list)
{
	struct {
		struct file_handle h;
		uint8_t data[128];
	} h;
	FILE *f = fopen(list, "r");
	int mnt = open(dir, O_RDONLY | O_DIRECTORY), n = 0, fd;
	char link[64], where[4096], want[4096];
	bool same = true, connected = true;
	struct saved s;
	struct stat st;
	ssize_t len;

	if (!f || mnt < 0) {
		perror(list);
		return 2;
	}
	while (fread(&s, sizeof(s), 1, f) == 1) {
		h.h.handle_bytes = s.bytes;
		h.h.handle_type = s.type;
		memcpy(h.h.f_handle, s.data, s.bytes);
		fd = open_by_handle_at(mnt, &h.h, O_PATH | O_NOFOLLOW);
		if (fd < 0) {
			bad("handles", "%s: %m", s.path);
			return 1;
		}
		same &= !fstat(fd, &st) && st.st_ino == s.ino && st.st_mode == s.mode;
		if (S_ISDIR(s.mode)) {
			/* a directory is found again with its way from the root */
			snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
			len = readlink(link, where, sizeof(where) - 1);
			where[len > 0 ? len : 0] = 0;
			snprintf(want, sizeof(want), "%s%s", dir, s.path);
			if (strcmp(where, want)) {
				connected = false;
				printf("# %s is shown as %s\n", want, where);
			}
		}
		close(fd);
		n++;
	}
	errno = 0;
	check("handles", n > 10 && same);
	check("handles-reconnected", connected);
	/* a handle that never was one */
	memset(h.h.f_handle, 0xee, s.bytes);
	fd = open_by_handle_at(mnt, &h.h, O_PATH);
	check("handle-made-up", fd < 0 && errno == ESTALE);
	return !!failures;
}

/* ---- idmap ------------------------------------------------------------------ */

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), n = strlen(text), r;

	if (fd < 0)
		return -1;
	r = write(fd, text, n) == n ? 0 : -1;
	close(fd);
	return r;
}

static int do_idmap(const char *src, const char *dst, const char *name)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	char path[4096];
	int p[2], tree, ns;
	struct stat a, b;
	pid_t pid;
	char c;

	if (pipe(p))
		exit(2);
	pid = fork();
	if (!pid) {
		unshare(CLONE_NEWUSER);
		write(p[1], "x", 1);
		pause();
		_exit(0);
	}
	read(p[0], &c, 1);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (write_file(path, "0 100000 65536"))
		perror(path);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	if (write_file(path, "0 200000 65536"))
		perror(path);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	ns = open(path, O_RDONLY);
	attr.userns_fd = ns;
	tree = syscall(__NR_open_tree, AT_FDCWD, src, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 || syscall(__NR_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr))) {
		bad("idmap", "mount_setattr: %m");
		goto out;
	}
	if (syscall(__NR_move_mount, tree, "", AT_FDCWD, dst, MOVE_MOUNT_F_EMPTY_PATH)) {
		bad("idmap", "move_mount: %m");
		goto out;
	}
	snprintf(path, sizeof(path), "%s/%s", src, name);
	stat(path, &a);
	snprintf(path, sizeof(path), "%s/%s", dst, name);
	if (stat(path, &b))
		bad("idmap", "%s: %m", path);
	else if (b.st_uid != a.st_uid + 100000 || b.st_gid != a.st_gid + 200000)
		bad("idmap", "ids %u:%u became %u:%u", a.st_uid, a.st_gid, b.st_uid, b.st_gid);
	else
		ok("idmap");
out:
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return !!failures;
}

/* ---- fsmount ---------------------------------------------------------------- */

#ifndef FSOPEN_CLOEXEC
#define FSOPEN_CLOEXEC		1
#define FSCONFIG_SET_FLAG	0
#define FSCONFIG_SET_STRING	1
#define FSCONFIG_CMD_CREATE	6
#define FSMOUNT_CLOEXEC		1
#endif

static int do_fsmount(int argc, char **argv)
{
	int fs = syscall(__NR_fsopen, argv[0], FSOPEN_CLOEXEC), mnt = -1, r, e = 0, i;
	char msg[1024];
	ssize_t n;

	if (fs < 0)
		return errno;
	r = syscall(__NR_fsconfig, fs, FSCONFIG_SET_STRING, "source", argv[1], 0);
	for (i = 3; !r && i < argc; i++) {
		char *eq = strchr(argv[i], '=');

		if (eq)
			*eq = 0;
		r = syscall(__NR_fsconfig, fs, eq ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, argv[i],
			    eq ? eq + 1 : NULL, 0);
	}
	if (!r)
		r = syscall(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (r)
		e = errno;
	while ((n = read(fs, msg, sizeof(msg) - 1)) > 0) {
		msg[n] = 0;
		printf("%s\n", msg);
	}
	if (!r) {
		mnt = syscall(__NR_fsmount, fs, FSMOUNT_CLOEXEC, 0);
		if (mnt < 0 || syscall(__NR_move_mount, mnt, "", AT_FDCWD, argv[2],
				       MOVE_MOUNT_F_EMPTY_PATH))
			e = errno;
	}
	if (e)
		printf("%s\n", strerrorname_np(e));
	return e;
}

static int do_errno(const char *what, const char *path)
{
	static char buf[1 << 16];
	struct stat st;
	ssize_t n = 0;
	int fd;

	if (!strcmp(what, "stat")) {
		n = lstat(path, &st);
	} else {
		fd = open(path, O_RDONLY);
		n = fd;
		if (fd >= 0 && !strcmp(what, "read"))
			while ((n = read(fd, buf, sizeof(buf))) > 0)
				;
	}
	printf("%s\n", err_name(n >= 0));
	return n < 0;
}

static int do_resident(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		return 1;
	}
	size = st.st_size;
	printf("%zu\n", resident(fd));
	return 0;
}

static int do_extent(const char *path, uint64_t pos)
{
	struct {
		struct fiemap fm;
		struct fiemap_extent e;
	} f = { .fm.fm_start = pos, .fm.fm_length = 1, .fm.fm_extent_count = 1 };
	int fd = open(path, O_RDONLY);

	if (fd < 0 || ioctl(fd, FS_IOC_FIEMAP, &f) || f.fm.fm_mapped_extents != 1) {
		perror(path);
		return 1;
	}
	printf("%llu %llu %llu\n", (unsigned long long)f.e.fe_physical,
	       (unsigned long long)f.e.fe_logical, (unsigned long long)f.e.fe_length);
	return 0;
}

static int do_partial(const char *path, const char *refpath, uint64_t lo, uint64_t hi,
		      const char *err)
{
	uint64_t page = sysconf(_SC_PAGESIZE), pos;
	int fd = open(path, O_RDONLY), round;
	char buf[65536];

	ref = slurp(refpath, &size);
	for (round = 0; round < 2; round++) {
		int failed = 0;

		/* what is read around a page must not hide or spread its error */
		forget(fd);
		for (pos = 0; pos < size; pos += page) {
			uint64_t want = size - pos < page ? size - pos : page;
			ssize_t n = pread(fd, buf, page, pos);

			if (pos + page <= lo || pos >= hi) {
				if (n != (ssize_t)want || memcmp(buf, ref + pos, want)) {
					bad("others-readable", "%llu: %zd, %m",
					    (unsigned long long)pos, n);
					return 1;
				}
			} else if (n >= 0 || strcmp(strerrorname_np(errno), err)) {
				bad("fails", "%llu: %zd, %m", (unsigned long long)pos, n);
				return 1;
			} else {
				failed++;
			}
		}
		if (!failed) {
			bad("fails", "no page failed");
			return 1;
		}
	}
	ok("fails-and-nothing-else");
	return 0;
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(cmd, "handles-save") && argc == 4)
		return do_handles_save(argv[2], argv[3]);
	if (!strcmp(cmd, "fsmount") && argc >= 5)
		return do_fsmount(argc - 2, argv + 2);
	if (!strcmp(cmd, "errno") && argc == 4)
		return do_errno(argv[2], argv[3]);
	if (!strcmp(cmd, "ahead") && argc == 3)
		return readahead(open(argv[2], O_RDONLY), 0, 1 << 30);
	if (!strcmp(cmd, "resident") && argc == 3)
		return do_resident(argv[2]);
	if (!strcmp(cmd, "extent") && argc == 4)
		return do_extent(argv[2], strtoull(argv[3], NULL, 0));
	if (argc < 4)
		goto usage;
	prefix = argv[2];
	if (!strcmp(cmd, "reads") && argc >= 5)
		return do_reads(argv[3], argv[4], argv[5]);
	if (!strcmp(cmd, "meta"))
		return do_meta(argv[3]);
	if (!strcmp(cmd, "same") && argc == 5)
		return do_same(argv[3], argv[4]);
	if (!strcmp(cmd, "names"))
		return do_names(argv[3]);
	if (!strcmp(cmd, "handles-check") && argc == 5)
		return do_handles_check(argv[3], argv[4]);
	if (!strcmp(cmd, "idmap") && argc == 6)
		return do_idmap(argv[3], argv[4], argv[5]);
	if (!strcmp(cmd, "partial") && argc == 8)
		return do_partial(argv[3], argv[4], strtoull(argv[5], NULL, 0),
				  strtoull(argv[6], NULL, 0), argv[7]);
usage:
	fprintf(stderr, "usage: surface COMMAND ARGUMENT...; see the head of surface.c\n");
	return 2;
}
