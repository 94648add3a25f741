// SPDX-License-Identifier: GPL-2.0
/*
 * torture.c - mount damaged images one after the other and use them in every
 * way a program can.  Runs inside a guest, as root, with the driver loaded.
 *
 *	torture -d SEEDS -s FIRST -n COUNT	the damage of COUNT seed numbers
 *	torture -d SEEDS -c			every undamaged image: all must read well, and
 *						the same in each way of mounting; -cc: with
 *						the options and accesses of damaged ones, too
 *	torture -i FILE [-i FILE ...] [-r TIMES]	these images
 *	torture -d SEEDS -w SEED -o FILE [-k MASK]	only write the image of a seed number
 *						(to FILE, its extra device to FILE.dev); MASK
 *						leaves steps of its damage out
 *	-p PREFIX: only seed images whose names begin so (other numbers mean other images)
 *
 * What may fail is what a damaged image is: an access may end with one of the
 * errors of erofs, and that is all.  A failure is another errno, a file system that
 * can't be unmounted, an access without end, a warning in the kernel log, bytes
 * behind the end of a file, or bytes of other memory in what is read: memory is
 * filled with a known text and freed before the images are read.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include "mutate.h"

#define WORK		"/tmp/torture"
#define MNT		WORK "/mnt"
#define MNT2		WORK "/mnt2"	/* the same image again, with pages shared */
#define IMG		WORK "/img"
#define DEV		WORK "/dev"
#define SECRET		"#SECRET#PAGE#OF#SOMEBODY#ELSE#\n\0"	/* 32 bytes, with the NUL */
#define NEEDLE		"#PAGE#OF#SOMEBODY#"

#define HANG_SECONDS	90
#define MAX_FAILURES	20
#define THREADS		4

/* limits for one image and thread */
#define MAX_ENTRIES	260
#define MAX_DEPTH	10
#define MAX_BYTES	(6 << 20)
#define MAX_FILE_BYTES	(1 << 20)

static struct seed_image *seeds;
static size_t nr_seeds;

/* shared between the supervisor and its worker */
static struct state {
	volatile uint64_t seed;
	volatile uint64_t count;	/* images done */
	volatile uint64_t mounted;
	volatile uint64_t read_errors;
	volatile uint64_t bytes;
	volatile uint64_t slow;		/* milliseconds of CPU of the slowest image ... */
	volatile uint64_t slow_seed;
	volatile uint32_t failures;
} *st;

static bool strict;			/* undamaged image: no error is right */
static char what_now[160];		/* names the image in messages */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void fail(const char *fmt, ...)
{
	char buf[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	__atomic_add_fetch(&st->failures, 1, __ATOMIC_RELAXED);
	printf("FAIL %s: %s\n", what_now, buf);
	fflush(stdout);
	if (st->failures >= MAX_FAILURES) {
		printf("too many failures\n");
		exit(1);
	}
}

static void die(const char *what)
{
	printf("torture: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* ---- judging ---------------------------------------------------------------------- */

/* errors that damage may cause; ENOMEM is none of them: nobody is short of memory here */
static bool error_is_fine(int err)
{
	switch (err) {
	case EUCLEAN:
	case EIO:
	case EOPNOTSUPP:
	case EINVAL:
	case ENODEV:
	case EBADMSG:
		return true;
	}
	return false;
}

/* e: errno of a failed access; also: one more errno that is right here, or 0 */
static void judge_also(const char *op, int also)
{
	int err = errno;

	__atomic_add_fetch(&st->read_errors, 1, __ATOMIC_RELAXED);
	if (also && err == also)
		return;
	if (strict || !error_is_fine(err))
		fail("%s: %s", op, strerror(err));
}

static void judge(const char *op)
{
	judge_also(op, 0);
}

/* the same for calls that look a name up: in an unsorted directory once found is not always found */
static void judge_name(const char *op, int also)
{
	judge_also(op, errno == ENOENT && !strict ? ENOENT : also);
}

static void look_for_secret(const char *op, const void *p, size_t n)
{
	if (memmem(p, n, NEEDLE, sizeof(NEEDLE) - 1))
		fail("%s returned bytes of other memory", op);
}

/* Fill memory with the secret and free it: page cache, anonymous and slab memory. */
static void spread_secret(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sv[2], fd, i;

	if (p == MAP_FAILED)
		return;
	for (size_t o = 0; o + 32 <= bytes; o += 32)
		memcpy(p + o, SECRET, 32);
	fd = open(WORK "/fill", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd >= 0) {
		if (write(fd, p, bytes / 4) < 0)
			die("fill");
		close(fd);
		unlink(WORK "/fill");
	}
	/* socket buffers come from the slabs of kmalloc() */
	if (!socketpair(AF_UNIX, SOCK_DGRAM, 0, sv)) {
		for (i = 0; i < 48; i++)
			if (send(sv[0], p, 40 << (i % 8), MSG_DONTWAIT) < 0)
				break;
		close(sv[0]);
		close(sv[1]);
	}
	munmap(p, bytes);
}

/* The kernel log must stay free of everything but the driver's own lines. */
static int kmsg = -1;

static void check_log(void)
{
	static const char *const bad[] = {
		"WARNING:", "BUG:", "kernel BUG", "Oops", "general protection", "nable to handle", "KASAN",
		"UBSAN", "circular", "recursive locking", "inconsistent lock", "suspicious RCU", "held lock",
		"bad unlock", "blocked for more", "soft lockup", "stall", "corruption", "refcount_t",
		"ODEBUG", "Busy inodes", "Bad page", "Objects remaining", "kmemleak:", "cannot create duplicate",
		"scheduling while atomic", "page allocation failure", "Out of memory", "invoked oom-killer",
		"sleeping function"
	};
	char buf[4096], *text;
	static int tail;
	ssize_t n;
	size_t i;

	for (;;) {
		n = read(kmsg, buf, sizeof(buf) - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			return;
		buf[n] = 0;
		text = strchr(buf, ';');
		text = text ? text + 1 : buf;
		if (!strncmp(text, "erofs (", 7) || !strncmp(text, "erofs: ", 7))
			continue;
		for (i = 0; i < sizeof(bad) / sizeof(bad[0]) && !tail; i++)
			if (strstr(text, bad[i])) {
				fail("kernel log: %.*s", (int)strcspn(text, "\n"), text);
				tail = 60;
			}
		if (tail) {
			printf("   | %.*s\n", (int)strcspn(text, "\n"), text);
			tail--;
		}
	}
}

/* ---- using a mounted image ----------------------------------------------------------- */

struct user {
	const char *mnt;
	struct rng r;
	int entries;
	int64_t bytes;
	int depth;
	bool gentle;		/* undamaged image: read all of it, and add it up */
	uint64_t sum;
	char *buf;		/* 256 KiB */
	char *buf2;
};

#define BUF_SIZE	(256 << 10)

static __thread sigjmp_buf bus_jump;
static __thread volatile sig_atomic_t bus_armed;

static void on_bus(int sig)
{
	if (bus_armed)
		siglongjmp(bus_jump, 1);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void add_up(struct user *u, const void *p, size_t n)
{
	const uint8_t *c = p;
	uint64_t h = u->sum ^ n;

	while (n--)
		h = (h ^ *c++) * 0x100000001b3ULL;
	u->sum = h;
}

static void got(struct user *u, const char *op, const void *p, size_t n)
{
	u->bytes += n;
	__atomic_add_fetch(&st->bytes, n, __ATOMIC_RELAXED);
	look_for_secret(op, p, n);
}

static uint64_t some_offset(struct user *u, uint64_t size)
{
	if (!size)
		return rnd(&u->r, 8192);
	switch (rnd(&u->r, 8)) {
	case 0:
		return size - 1;
	case 1:
		return size - rnd(&u->r, size < 8192 ? size : 8192);
	case 2:
		return size;
	case 3:
		return rnd(&u->r, size) & ~4095ULL;
	case 4:
		return rnd(&u->r, size < 65536 ? size : 65536);
	default:
		return rnd(&u->r, size);
	}
}

/* copy a mapped page; false: the access was a bus error */
static bool touch_page(const void *page, void *to)
{
	if (sigsetjmp(bus_jump, 1)) {
		bus_armed = 0;
		return false;
	}
	bus_armed = 1;
	memcpy(to, page, 4096);
	bus_armed = 0;
	return true;
}

static void use_mmap(struct user *u, int fd, uint64_t size)
{
	uint64_t start = size > (2 << 20) && rnd(&u->r, 2) ? rnd(&u->r, size) & ~4095ULL & INT64_MAX : 0;
	uint64_t len = size - start < (2 << 20) ? size - start : (2 << 20);
	int n = 1 + rnd(&u->r, 8);
	char *p;

	p = mmap(NULL, len, PROT_READ, rnd(&u->r, 2) ? MAP_PRIVATE : MAP_SHARED, fd, start);
	if (p == MAP_FAILED) {
		if (errno != EOVERFLOW)
			judge("mmap");
		return;
	}
	if (!rnd(&u->r, 3))
		madvise(p, len, rnd(&u->r, 2) ? MADV_RANDOM : MADV_WILLNEED);
	while (n--) {
		uint64_t page = (rnd(&u->r, 3) ? rnd(&u->r, len) : len - 1) & ~4095ULL, o;

		if (touch_page(p + page, u->buf)) {
			got(u, "mmap", u->buf, 4096);
			for (o = start + page + 4096 > size ? size - start - page : 4096; o < 4096; o++)
				if (u->buf[o]) {
					fail("mmap: byte %llu behind the end of the file is not 0",
					     (unsigned long long)o);
					break;
				}
		} else if (strict) {
			fail("mmap: SIGBUS");
		}
	}
	munmap(p, len);
}

static void use_fiemap(struct user *u, int fd, uint64_t size)
{
	struct {
		struct fiemap f;
		struct fiemap_extent e[16];
	} m;
	int i, rounds = 0;
	uint64_t at = rnd(&u->r, 2) ? 0 : rnd(&u->r, size);

	do {
		memset(&m, 0, sizeof(m));
		m.f.fm_start = at;
		m.f.fm_length = ~0ULL;
		m.f.fm_extent_count = 16;
		if (ioctl(fd, FS_IOC_FIEMAP, &m)) {
			judge("FIEMAP");
			return;
		}
		for (i = 0; i < (int)m.f.fm_mapped_extents; i++) {
			if (!m.e[i].fe_length || m.e[i].fe_logical + m.e[i].fe_length <= at) {
				fail("FIEMAP: extent %llu+%llu after position %llu",
				     (unsigned long long)m.e[i].fe_logical,
				     (unsigned long long)m.e[i].fe_length, (unsigned long long)at);
				return;
			}
			at = m.e[i].fe_logical + m.e[i].fe_length;
			if (m.e[i].fe_flags & FIEMAP_EXTENT_LAST)
				return;
		}
	} while (m.f.fm_mapped_extents && ++rounds < 8);
	if (strict && rounds < 8 && size && m.f.fm_start == 0 && !m.f.fm_mapped_extents && rounds)
		fail("FIEMAP: no last extent");
}

static void use_seek(struct user *u, int fd, uint64_t size)
{
	off_t at = rnd(&u->r, 2) ? 0 : (off_t)(rnd(&u->r, size) & INT64_MAX), next;
	int whence = SEEK_DATA, rounds = 0;

	while (++rounds < 24) {
		next = lseek(fd, at, whence);
		if (next < 0) {
			judge_also("SEEK_DATA/SEEK_HOLE", ENXIO);
			return;
		}
		if (next < at) {
			fail("SEEK_%s at %lld gives %lld", whence == SEEK_DATA ? "DATA" : "HOLE",
			     (long long)at, (long long)next);
			return;
		}
		if (whence == SEEK_HOLE && (uint64_t)next >= size)
			return;
		at = next;
		whence = whence == SEEK_DATA ? SEEK_HOLE : SEEK_DATA;
	}
}

static void use_file(struct user *u, int dir, const char *name, const struct stat *s)
{
	uint64_t size = s->st_size, at = 0, todo;
	int fd, how = rnd(&u->r, 64), n, out;
	size_t chunk;
	ssize_t len;

	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | (how == 60 && !strict ? O_DIRECT : 0));
	if (fd < 0) {
		judge_name("open", how == 60 ? EINVAL : 0);
		return;
	}
	if (!u->gentle) {
		if (!rnd(&u->r, 6))
			posix_fadvise(fd, 0, 0, rnd(&u->r, 6));
		for (n = rnd(&u->r, 3) ? 0 : 1 + rnd(&u->r, 4); n--;) {
			chunk = 1 + rnd(&u->r, rnd(&u->r, 2) ? 5000 : 70000);
			memset(u->buf, 0x5a, 64);
			len = pread(fd, u->buf, chunk, some_offset(u, size) & INT64_MAX);
			if (len < 0)
				judge("pread");
			else
				got(u, "pread", u->buf, len);
		}
		if (size && !rnd(&u->r, 10))
			use_mmap(u, fd, size);
		if (!rnd(&u->r, 5))
			use_fiemap(u, fd, size);
		if (!rnd(&u->r, 6))
			use_seek(u, fd, size);
		if (how < 2 && size) {
			out = memfd_create("t", 0);
			if (out >= 0) {
				if (sendfile(out, fd, NULL, size < 300000 ? size : 300000) < 0)
					judge("sendfile");
				close(out);
			}
		}
		if (how == 3)
			readahead(fd, rnd(&u->r, size) & INT64_MAX, 1 << 20);
		if (how < 8)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	/* front to back; behind an error somewhere behind it */
	todo = size < MAX_FILE_BYTES ? size : MAX_FILE_BYTES;
	chunk = u->gentle ? 65536 : rnd(&u->r, 4) ? 131072 : 1 + rnd(&u->r, 20000);
	n = 0;
	while (u->bytes < MAX_BYTES && at < todo) {
		len = pread(fd, u->buf, chunk, at);
		if (len < 0) {
			judge("read");
			if (++n > 6)
				break;
			at += 4096 * (1 + rnd(&u->r, 3 * n));
			continue;
		}
		if (!len) {
			fail("read: end of file at %llu of %llu", (unsigned long long)at, (unsigned long long)size);
			break;
		}
		got(u, "read", u->buf, len);
		if (u->gentle)
			add_up(u, u->buf, len);
		at += len;
	}
	close(fd);
}

static void use_xattrs(struct user *u, const char *path)
{
	static const char *const others[] = {
		"user.nope", "security.selinux", "system.posix_acl_access", "trusted.overlay.opaque",
		"user.org.example.", "user.y", "system.posix_acl_default", "security.capability", "trusted.x"
	};
	ssize_t n, v;
	char *p;

	n = llistxattr(path, u->buf, 65536);
	if (n < 0) {
		judge_name("listxattr", ERANGE);
		n = 0;
	}
	got(u, "listxattr", u->buf, n);
	if (u->gentle)
		add_up(u, u->buf, n);
	if (n && u->buf[n - 1])
		fail("listxattr: no NUL at the end");
	for (p = u->buf; p < u->buf + n; p += strlen(p) + 1) {
		v = lgetxattr(path, p, u->buf2, u->gentle || rnd(&u->r, 4) ? 65536 : rnd(&u->r, 40));
		if (v < 0) {
			judge_name("getxattr", errno == ENODATA ? ENODATA : ERANGE);
			continue;
		}
		got(u, "getxattr", u->buf2, v);
		if (u->gentle)
			add_up(u, u->buf2, v);
	}
	p = (char *)others[rnd(&u->r, sizeof(others) / sizeof(others[0]))];
	v = lgetxattr(path, p, u->buf2, 65536);
	if (v < 0)
		/* or switched off by a mount option */
		judge_name("getxattr", errno == EOPNOTSUPP ? EOPNOTSUPP : ENODATA);
	else
		got(u, "getxattr", u->buf2, v);
}

/* inodes by file handle, also by handles that nobody gave out */
static void use_handle(struct user *u, int dir, const char *name)
{
	struct {
		struct file_handle h;
		unsigned char data[128];
	} f;
	int mount_id, fd, i;

	f.h.handle_bytes = 128;
	if (name_to_handle_at(dir, name, &f.h, &mount_id, 0)) {
		judge_name("name_to_handle_at", 0);
		return;
	}
	for (i = !strict && rnd(&u->r, 3) ? 1 + rnd(&u->r, 3) : 0; i; i--)
		f.data[rnd(&u->r, f.h.handle_bytes)] ^= 1 << rnd(&u->r, 8);
	fd = open_by_handle_at(dir, &f.h, O_PATH | O_NOFOLLOW);
	if (fd < 0)
		judge_also("open_by_handle_at", ESTALE);
	else
		close(fd);
}

static void use_dir(struct user *u, const char *path, int dir);

static void use_entry(struct user *u, const char *path, int dir, const char *name)
{
	char full[4600], proc[64];
	struct stat s;
	struct statx sx;
	ssize_t n;
	int fd;

	if (fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW)) {
		/* a name that is listed and can't be found: the order is damaged; ELOOP: alias of a parent */
		judge_also("stat", errno == ENOENT ? ENOENT : errno == ENAMETOOLONG ? ENAMETOOLONG :
			   errno == ESTALE ? ESTALE : ELOOP);
		return;
	}
	if (!rnd(&u->r, 4) && statx(dir, name, AT_SYMLINK_NOFOLLOW, ~0u & 0x7fffffff, &sx))
		judge_name("statx", 0);
	if (u->gentle) {
		add_up(u, name, strlen(name));
		add_up(u, &s.st_mode, sizeof(s.st_mode));
		add_up(u, &s.st_size, S_ISDIR(s.st_mode) ? 0 : sizeof(s.st_size));
	}
	if (!u->gentle && !rnd(&u->r, 12))
		use_handle(u, dir, name);
	if (snprintf(full, sizeof(full), "%s/%s", path, name) < (int)sizeof(full) - 1 &&
	    (u->gentle || !rnd(&u->r, 3)))
		use_xattrs(u, full);
	switch (s.st_mode & S_IFMT) {
	case S_IFLNK:
		n = readlinkat(dir, name, u->buf, 8192);
		if (n < 0) {
			judge_name("readlink", 0);
		} else {
			got(u, "readlink", u->buf, n);
			if (memchr(u->buf, 0, n))
				fail("readlink: NUL inside");
			if (n != s.st_size)
				fail("readlink: %zd of %lld bytes", n, (long long)s.st_size);
			if (u->gentle)
				add_up(u, u->buf, n);
		}
		/* where it leads to is no matter */
		fd = openat(dir, name, O_PATH);
		if (fd >= 0)
			close(fd);
		break;
	case S_IFREG:
		use_file(u, dir, name, &s);
		break;
	case S_IFDIR:
		if (u->depth >= MAX_DEPTH)
			break;
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
		if (fd < 0) {
			judge_name("open directory", errno == ESTALE ? ESTALE : ELOOP);
			break;
		}
		u->depth++;
		/* long paths are shortened through the descriptor */
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
		use_dir(u, strlen(full) > 3000 ? proc : full, fd);
		u->depth--;
		close(fd);
		break;
	default:
		/* never opened: devices and FIFOs do things */
		fd = openat(dir, name, O_PATH | O_NOFOLLOW);
		if (fd >= 0)
			close(fd);
	}
}

struct linux_dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

#define MAX_NAMES	400

static void use_dir(struct user *u, const char *path, int dir)
{
	int count = 0, i, rounds = 0;
	char **names = calloc(MAX_NAMES, sizeof(*names)), junk[300];
	int64_t listed = 0;	/* bytes of entries and names since the last lseek() */
	struct stat own;
	ssize_t n, o;
	struct stat s;

	if (!names)
		die("calloc");
	if (fstat(dir, &own)) {
		judge("fstat");
		own.st_size = INT64_MAX / 4;
	}
	while (count < MAX_NAMES && rounds++ < 200) {
		n = getdents64(dir, u->buf, u->gentle || rnd(&u->r, 2) ? 32768 : 300 + rnd(&u->r, 2000));
		if (n < 0)
			judge("getdents");
		if (n <= 0)
			break;
		got(u, "getdents", u->buf, n);
		for (o = 0; o < n && count < MAX_NAMES;) {
			struct linux_dirent64 *d = (void *)(u->buf + o);

			if (!d->reclen || d->reclen > n - o) {
				fail("getdents: bad record length");
				break;
			}
			if (!d->name[0] || strchr(d->name, '/'))
				fail("getdents: bad name");
			if (strcmp(d->name, ".") && strcmp(d->name, "..")) {
				names[count] = strdup(d->name);
				if (!names[count++])
					die("strdup");
			}
			o += d->reclen;
			/* a listing that ends gives each byte of the directory once */
			listed += 12 + strlen(d->name);
			if (listed > own.st_size * 2 + 512) {
				fail("getdents: %s (%lld bytes) lists on and on, %s again", path,
				     (long long)own.st_size, d->name);
				rounds = 1000;
				break;
			}
			if (!u->gentle && !rnd(&u->r, 40)) {
				listed = 0;
				/* positions that were given, and others */
				lseek(dir, rnd(&u->r, 2) ? d->off : (off_t)(rnd64(&u->r) >> (1 + rnd(&u->r, 60))),
				      SEEK_SET);
				break;
			}
		}
	}
	if (!u->gentle && !rnd(&u->r, 2)) {
		n = rnd(&u->r, 2) ? 1 + rnd(&u->r, 4) : rnd(&u->r, 256);
		for (i = 0; i < n; i++)
			junk[i] = "abcdefghi\001\377-.\200"[rnd(&u->r, 14)];
		junk[n] = 0;
		if (n && fstatat(dir, junk, &s, AT_SYMLINK_NOFOLLOW))
			judge_also("lookup", errno == ENOENT ? ENOENT : ELOOP);
	}
	/* in the order they are stored, or not */
	for (i = 0; i < count && u->entries < MAX_ENTRIES && u->bytes < MAX_BYTES; i++) {
		int j = u->gentle || rnd(&u->r, 4) ? i : (int)rnd(&u->r, count);

		u->entries++;
		use_entry(u, path, dir, names[j]);
	}
	for (i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* number n of the users of an image; their buffers are kept */
static void user_init(struct user *u, uint64_t seed, int n)
{
	static char *bufs[2 * THREADS];
	int i;

	memset(u, 0, sizeof(*u));
	u->r = rng_of(seed, 10 + n);
	for (i = 2 * n; i < 2 * n + 2; i++)
		if (!bufs[i]) {
			bufs[i] = malloc(BUF_SIZE);
			if (!bufs[i])
				die("malloc");
		}
	u->buf = bufs[2 * n];
	u->buf2 = bufs[2 * n + 1];
}

static void use_tree(struct user *u)
{
	int fd = open(u->mnt, O_RDONLY | O_DIRECTORY), sys;
	char label[256] = "";
	struct statfs sf;

	if (fd < 0) {
		judge("open the root");
		return;
	}
	if (fstatfs(fd, &sf))
		judge("statfs");
	if (!u->gentle && !rnd(&u->r, 8) && ioctl(fd, FS_IOC_GETFSLABEL, label) && errno != ENOTTY)
		judge("FS_IOC_GETFSLABEL");
	use_xattrs(u, u->mnt);
	use_dir(u, u->mnt, fd);
	close(fd);
	if (!u->gentle && !rnd(&u->r, 16)) {
		sys = open("/proc/sys/vm/drop_caches", O_WRONLY);
		if (sys >= 0) {
			if (write(sys, rnd(&u->r, 2) ? "3" : "2", 1) < 0)
				die("drop_caches");
			close(sys);
		}
	}
}

static void *use_thread(void *arg)
{
	use_tree(arg);
	return NULL;
}

/* ---- mounting --------------------------------------------------------------------------- */

static void write_file(const char *path, const uint8_t *d, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	size_t done = 0;

	/* undamaged ones are whole sectors, whatever the device's are */
	if (fd < 0 || ftruncate(fd, size) || ftruncate(fd, strict ? (size + 4095) & ~4095UL : size))
		die(path);
	while (done < size) {
		ssize_t n = pwrite(fd, d + done, size - done, done);

		if (n <= 0)
			die(path);
		done += n;
	}
	close(fd);
}

/* where an image is mounted from */
enum { BY_FILE, BY_LOOP, BY_LOOP_4K };

/* changes the image below the mounted file system, where it is likely to hurt */
struct scribbler {
	const char *path;
	bool is_dev;
	const struct seed_image *im;
	struct rng r;
	volatile bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	int fd = open(s->path, O_WRONLY), n;

	/* where mounted devices may not be written to, the file below may */
	if (fd < 0 && errno == EBUSY)
		fd = open(IMG, O_WRONLY);
	if (fd < 0)
		die(s->path);
	for (n = 0; n < 300 && !s->stop; n++) {
		uint64_t v = rnd(&s->r, 3) ? rnd64(&s->r) : rnd(&s->r, 2) ? 0 : ~0ULL;
		uint64_t pos = rnd(&s->r, s->im->size);

		if (rnd(&s->r, 3) && s->im->ninode)
			pos = s->im->inode[rnd(&s->r, s->im->ninode)] + rnd(&s->r, 128);
		/* a device ends where it ends, a file gets longer or shorter */
		if (pwrite(fd, &v, 1 + rnd(&s->r, 8), pos) < 0 && errno != ENOSPC && errno != EIO)
			die(s->path);
		if (!s->is_dev && !rnd(&s->r, 200) && ftruncate(fd, pos))
			die(s->path);
		usleep(100);
	}
	close(fd);
	return NULL;
}

static char loop_of[4][32];	/* loop devices of IMG and DEV, attached once; with 4 KiB sectors */

static const char *loop_attach(int which, const char *file, int how)
{
	char *name = loop_of[which + (how == BY_LOOP_4K ? 2 : 0)];
	struct loop_config c = { };
	int fd;

	if (!*name) {
		int ctl = open("/dev/loop-control", O_RDWR), n, back;

		n = ctl < 0 ? -1 : ioctl(ctl, LOOP_CTL_GET_FREE);
		if (n < 0)
			die("loop-control");
		snprintf(name, 32, "/dev/loop%d", n);
		fd = open(name, O_RDWR);
		back = open(file, O_RDWR);
		c.fd = back;
		c.block_size = how == BY_LOOP_4K ? 4096 : 512;
		if (fd < 0 || back < 0 || ioctl(fd, LOOP_CONFIGURE, &c))
			die(name);
		close(ctl);
		close(back);
	} else {
		/* the file has another length and other bytes now */
		fd = open(name, O_RDONLY);
		if (fd < 0 || ioctl(fd, LOOP_SET_CAPACITY, 0))
			die(name);
	}
	ioctl(fd, BLKFLSBUF, 0);
	close(fd);
	return name;
}

static void loop_detach(void)
{
	for (int i = 0; i < 4; i++) {
		int fd = *loop_of[i] ? open(loop_of[i], O_RDONLY) : -1;

		if (fd >= 0) {
			ioctl(fd, LOOP_CLR_FD, 0);
			close(fd);
		}
	}
}

static void unmount(const char *mnt)
{
	int i, err;

	for (i = 0; umount2(mnt, 0); i++) {
		err = errno;
		if (err != EBUSY || i == 20) {
			fail("umount: %s", strerror(err));
			exit(1);
		}
		usleep(50000);
	}
}

/*
 * Mount IMG, use it, unmount it.  @im: whose bytes may be changed meanwhile, or NULL.
 * Returns the sum of what was read (gentle only).
 */
static uint64_t exercise(uint64_t seed, const struct seed_image *im, bool have_dev, int how, bool gentle)
{
	static const char *const caches[] = { "", "", "cache_strategy=readahead,", "cache_strategy=disabled," };
	struct rng r = rng_of(seed, 2);
	struct user u[THREADS];
	pthread_t t[THREADS];
	const char *src = how != BY_FILE ? loop_attach(0, IMG, how) : IMG;
	char opts[256];
	int threads = gentle ? 1 : rnd(&r, 4) ? 1 : THREADS, i;
	bool share = !gentle && im && !strncmp(im->name, "digest", 6) && rnd(&r, 8), both = share;
	bool dev = have_dev && (strict || rnd(&r, 4));
	struct scribbler scribbler = { src, how != BY_FILE, im, rng_of(seed, 4), false };
	bool scribbled = im && !rnd(&scribbler.r, 8);
	pthread_t writer;
	uint64_t sum = 0;

	snprintf(opts, sizeof(opts), "%s%s%s%s%s%s", share ? "inode_share,domain_id=torture," : "", caches[gentle ? 0 : rnd(&r, 4)],
		 !gentle && !rnd(&r, 16) ? "nouser_xattr," : "", !gentle && !rnd(&r, 16) ? "noacl," : "",
		 !gentle && how == BY_FILE && !rnd(&r, 16) ? "directio," : "", dev ? "device=" : "");
	if (dev)
		strcat(opts, how != BY_FILE ? loop_attach(1, DEV, how) : DEV);
	else if (*opts)
		opts[strlen(opts) - 1] = 0;
	if (mount(src, MNT, "erofs", MS_RDONLY | MS_NODEV | MS_NOSUID, opts)) {
		judge_also("mount", EINVAL);
		return 0;
	}
	st->mounted++;
	if (both && mount(IMG, MNT2, "erofs", MS_RDONLY | MS_NODEV | MS_NOSUID, opts)) {
		judge("mount again");
		both = false;
	}
	if (both && threads == 1)
		threads = 2;
	for (i = 0; i < threads; i++) {
		user_init(&u[i], seed, i);
		u[i].gentle = gentle;
		u[i].mnt = both && i & 1 ? MNT2 : MNT;
	}
	if (scribbled && pthread_create(&writer, NULL, scribble, &scribbler))
		die("pthread_create");
	for (i = 1; i < threads; i++)
		if (pthread_create(&t[i], NULL, use_thread, &u[i]))
			die("pthread_create");
	use_tree(&u[0]);
	for (i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	scribbler.stop = true;
	if (scribbled)
		pthread_join(writer, NULL);
	sum = u[0].sum;
	if (both && rnd(&r, 2)) {
		unmount(MNT2);
		both = false;
	}
	unmount(MNT);
	if (both)
		unmount(MNT2);
	return sum;
}

/* ---- seed images ---------------------------------------------------------------------- */

static uint8_t *load(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat s;
	uint8_t *p;
	ssize_t n;

	if (fd < 0 || fstat(fd, &s))
		return NULL;
	p = malloc(s.st_size + MUTATE_ROOM);
	if (!p)
		die("malloc");
	for (*size = 0; *size < (size_t)s.st_size; *size += n) {
		n = read(fd, p + *size, s.st_size - *size);
		if (n <= 0)
			die(path);
	}
	close(fd);
	return p;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct seed_image *)a)->name, ((const struct seed_image *)b)->name);
}

/* those whose names begin with @prefix */
static void load_seeds(const char *dir, const char *prefix)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[4096];
	size_t i;

	if (!d)
		die(dir);
	while ((e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (n < 5 || n >= sizeof(seeds->name) || strcmp(e->d_name + n - 4, ".img") ||
		    strncmp(e->d_name, prefix, strlen(prefix)))
			continue;
		seeds = realloc(seeds, (nr_seeds + 1) * sizeof(*seeds));
		memset(&seeds[nr_seeds], 0, sizeof(*seeds));
		memcpy(seeds[nr_seeds++].name, e->d_name, n - 4);
	}
	closedir(d);
	if (!nr_seeds) {
		printf("torture: no image in %s\n", dir);
		exit(2);
	}
	qsort(seeds, nr_seeds, sizeof(*seeds), by_name);
	for (i = 0; i < nr_seeds; i++) {
		snprintf(path, sizeof(path), "%s/%s.img", dir, seeds[i].name);
		seeds[i].data = load(path, &seeds[i].size);
		snprintf(path, sizeof(path), "%s/%s.dev", dir, seeds[i].name);
		seeds[i].dev = load(path, &seeds[i].dev_size);
		if (!seeds[i].data)
			die(path);
		image_scan(&seeds[i]);
	}
}

static const struct seed_image *image_of(uint64_t seed)
{
	struct rng r = rng_of(seed, 0);

	return &seeds[rnd(&r, nr_seeds)];
}

/* the damaged image of a seed number, in memory of its own */
static uint8_t *damaged(const struct seed_image *im, uint64_t seed, uint64_t skip, size_t *size, FILE *log)
{
	static uint8_t *buf;
	static size_t have;

	if (have < im->size + MUTATE_ROOM) {
		have = im->size + MUTATE_ROOM;
		buf = realloc(buf, have);
		if (!buf)
			die("realloc");
	}
	memcpy(buf, im->data, im->size);
	memset(buf + im->size, 0, MUTATE_ROOM);
	*size = im->size;
	image_mutate(im, buf, size, seed, skip, log);
	return buf;
}

/* ---- runs -------------------------------------------------------------------------------- */

static uint64_t cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec * 1000 + u.ru_utime.tv_usec / 1000 + u.ru_stime.tv_sec * 1000 +
	       u.ru_stime.tv_usec / 1000;
}

static void run_seeds(uint64_t first, uint64_t count)
{
	char beat[32];
	uint64_t seed, cpu;
	size_t size;
	int n;

	for (seed = first; seed < first + count; seed++) {
		const struct seed_image *im = image_of(seed);
		struct rng r = rng_of(seed, 3);
		uint8_t *d = damaged(im, seed, 0, &size, NULL);
		int how = rnd(&r, 3) ? BY_FILE : rnd(&r, 3) ? BY_LOOP : BY_LOOP_4K;

		if (seed % 12 == 0 || seed == first)
			spread_secret(2 << 20);
		/* whoever looks at the log of a crash has to know where it was */
		n = snprintf(beat, sizeof(beat), "@%llu\n", (unsigned long long)seed);
		if (write(1, beat, n) != n)
			die("stdout");
		snprintf(what_now, sizeof(what_now), "seed %llu (%s)", (unsigned long long)seed, im->name);
		st->seed = seed;
		cpu = cpu_ms();
		write_file(IMG, d, size);
		if (im->dev)
			write_file(DEV, im->dev, im->dev_size);
		exercise(seed, im, im->dev, how, false);
		cpu = cpu_ms() - cpu;
		if (cpu > st->slow) {
			st->slow = cpu;
			st->slow_seed = seed;
		}
		if (cpu > 30000)
			fail("%llu ms of processor time", (unsigned long long)cpu);
		check_log();
		st->count++;
	}
}

/* undamaged: what was read has to be the same each time, and no access may fail */
static void run_control(bool full)
{
	size_t i, how;

	for (i = 0; i < nr_seeds; i++) {
		uint64_t sum = 0, s;

		strict = true;
		write_file(IMG, seeds[i].data, seeds[i].size);
		if (seeds[i].dev)
			write_file(DEV, seeds[i].dev, seeds[i].dev_size);
		for (how = 0; how < (full ? 6 : 3); how++) {
			snprintf(what_now, sizeof(what_now), "undamaged %s, %s", seeds[i].name,
				 (const char *[]){ "file", "loop device", "4 KiB sectors" }[how % 3]);
			s = exercise(i, NULL, seeds[i].dev, how % 3, how < 3);
			if (how == 0)
				sum = s;
			else if (how < 3 && s != sum)
				fail("other contents than through a file");
			check_log();
		}
		strict = false;
		st->count++;
		/* all of them hold the same tree */
		if (full)
			printf("undamaged %s: sum %016llx\n", seeds[i].name, (unsigned long long)sum);
	}
}

static void run_images(char **files, int n, int times)
{
	char dev[4096];
	size_t size, dsize;
	uint8_t *d, *x;
	int i, k;

	for (i = 0; i < n; i++) {
		d = load(files[i], &size);
		snprintf(dev, sizeof(dev), "%s.dev", files[i]);
		x = load(dev, &dsize);
		if (!d)
			die(files[i]);
		spread_secret(2 << 20);
		snprintf(what_now, sizeof(what_now), "image %s", strrchr(files[i], '/') ?: files[i]);
		printf("image %s\n", files[i]);
		fflush(stdout);
		for (k = 0; k < times; k++) {
			write_file(IMG, d, size);
			if (x)
				write_file(DEV, x, dsize);
			exercise(k, NULL, x, k % 3, false);
			check_log();
			st->seed++;
		}
		st->count++;
		free(d);
		free(x);
	}
}

static void show_stacks(pid_t pid)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "for t in /proc/%d/task/*; do cat $t/wchan $t/stack; done; "
		 "echo w >/proc/sysrq-trigger; dmesg | tail -n 80", pid);
	if (system(cmd) < 0)
		die("sh");
}

/* the worker does it all; this one only looks whether it gets on */
static int supervise(pid_t pid, double begin)
{
	uint64_t last = ~0ULL, shown = 0;
	double since = now();
	int status;

	for (;;) {
		pid_t p = waitpid(pid, &status, WNOHANG);

		if (p == pid)
			break;
		if (st->seed != last || st->count < 1) {
			last = st->seed;
			since = now();
		} else if (now() - since > HANG_SECONDS) {
			printf("FAIL seed %llu: no end within %d s\n", (unsigned long long)st->seed, HANG_SECONDS);
			show_stacks(pid);
			return 1;
		}
		if (st->count >= shown + 500) {
			shown = st->count;
			printf("progress %llu images, %.0f a minute, %llu mounted, %llu errors, %llu MiB\n",
			       (unsigned long long)shown, shown * 60 / (now() - begin),
			       (unsigned long long)st->mounted, (unsigned long long)st->read_errors,
			       (unsigned long long)st->bytes >> 20);
			fflush(stdout);
		}
		usleep(200000);
	}
	if (WIFSIGNALED(status)) {
		printf("FAIL seed %llu: killed by signal %d\n", (unsigned long long)st->seed, WTERMSIG(status));
		return 1;
	}
	printf("%llu images, %llu mounted, %llu accesses failed, %llu MiB read, slowest %llu ms (seed %llu), "
	       "%.0f a minute, %u failures\n", (unsigned long long)st->count, (unsigned long long)st->mounted,
	       (unsigned long long)st->read_errors, (unsigned long long)st->bytes >> 20,
	       (unsigned long long)st->slow, (unsigned long long)st->slow_seed,
	       st->count * 60 / (now() - begin), st->failures);
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : st->failures != 0;
}

int main(int argc, char **argv)
{
	uint64_t first = 1, count = 0, skip = 0;
	const char *dir = NULL, *out = NULL, *prefix = "";
	bool replay = false;
	char **files = calloc(argc, sizeof(*files));
	int c, nfiles = 0, times = 9, control = 0;
	size_t size;
	pid_t pid;

	while ((c = getopt(argc, argv, "d:p:s:n:ci:r:w:o:k:")) != -1) {
		switch (c) {
		case 'd':
			dir = optarg;
			break;
		case 'p':
			prefix = optarg;
			break;
		case 's':
			first = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			count = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			control++;
			break;
		case 'i':
			files[nfiles++] = optarg;
			break;
		case 'r':
			times = atoi(optarg);
			break;
		case 'w':
			first = strtoull(optarg, NULL, 0);
			replay = true;
			break;
		case 'o':
			out = optarg;
			break;
		case 'k':
			skip = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	if (dir)
		load_seeds(dir, prefix);
	if (replay) {
		const struct seed_image *im = image_of(first);
		char name[4096];
		uint8_t *d;

		printf("seed %llu: %s\n", (unsigned long long)first, im->name);
		d = damaged(im, first, skip, &size, stdout);
		if (out) {
			write_file(out, d, size);
			snprintf(name, sizeof(name), "%s.dev", out);
			if (im->dev)
				write_file(name, im->dev, im->dev_size);
		}
		return 0;
	}
	if (!nfiles && !dir)
		return 2;

	st = mmap(NULL, sizeof(*st), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (st == MAP_FAILED)
		die("mmap");
	mkdir(WORK, 0700);
	mkdir(MNT, 0700);
	mkdir(MNT2, 0700);
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		die("/dev/kmsg");
	signal(SIGBUS, on_bus);

	double begin = now();

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		if (control)
			run_control(control > 1);
		if (nfiles)
			run_images(files, nfiles, times);
		if (count)
			run_seeds(first, count);
		loop_detach();
		exit(0);
	}
	return supervise(pid, begin);
}
