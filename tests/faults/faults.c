// SPDX-License-Identifier: GPL-2.0
/*
 * faults.c - let allocations, devices and readers of a mounted image fail, and
 * look at what is left.  Runs inside a guest, as root.
 *
 *	faults [-l] [-k MODULE] TEST IMAGE...
 *
 * All IMAGEs hold the tree of tests/torture/mkseeds.py.  The first one is read
 * without faults: it says what is right for the others.  IMAGE.dev beside IMAGE.img is
 * its extra device.  -l: the long way, -k: the module's file.  Tests:
 *
 *	nth	the n-th allocation of one access fails, n = 1, 2, ... until the access
 *		needs no more (load, mount, and each kind of access to each kind of object)
 *	chance	allocations of the readers and of kernel threads fail at random
 *	block	each block of the device in turn can't be read
 *	flakey	a device that comes and goes, for all readers at once
 *	slow	a slow device, readers, mounts and listings killed at random moments,
 *		unmounts with requests under way
 *	gone	the device is taken away for good under four readers
 *	bounds	the bounds of Documentation/security.md
 *	race	mount, unmount and rmmod race with readers (-k), with dropped caches
 *	pull	the disk given as IMAGE... is removed (scsi_debug, null_blk)
 *
 * What may be seen: the right data, or one of the errors of the fault.  When the fault is
 * over, the same access has to be right, with what is cached meanwhile.  One
 * result line a test and image.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define WORK	"/tmp/faults"
#define MNT	WORK "/mnt"
#define IMG	WORK "/img"
#define DEV	WORK "/dev"
#define NODE	WORK "/dm"
#define DM_NAME	"faults"
#define PAGE	4096

#define READERS	4

/* mkfs.erofs 1.9 gives it to directories with whiteouts */
#define ORIGIN	"trusted.overlay.origin"

static bool longer;
static const char *module_file;
static const char *test_name, *image_name;
static bool failed;		/* the test under way */
static int failures;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	printf("not ok %s/%s - %s: %s\n", test_name, image_name, what, strerror(errno));
	exit(2);
}

/* the first complaint of a test is its result; counted, so that others are not lost */
static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *fmt, ...)
{
	char buf[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	printf("%s %s/%s%s%s\n", failed ? "  |" : "not ok", test_name, image_name, failed ? ": " : " - ", buf);
	fflush(stdout);
	failed = true;
	failures++;
	if (failures >= 20) {
		printf("too many failures\n");
		exit(1);
	}
}

static void result(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void result(const char *fmt, ...)
{
	static double last;
	va_list ap;

	if (!failed) {
		printf("ok %s/%s (", test_name, image_name);
		va_start(ap, fmt);
		vprintf(fmt, ap);
		va_end(ap);
		/* since the start of the guest, the first time */
		printf("; %.0f s)\n", now() - last);
	}
	last = now();
	fflush(stdout);
	failed = false;
}

static uint64_t rnd_state = 88172645463325252ULL;

static uint64_t rnd(uint64_t n)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return (rnd_state >> 11) % n;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), rc;

	if (fd < 0)
		return -1;
	rc = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return rc;
}

/* to switch faults off may meet one */
static void must_put(const char *path, const char *text)
{
	for (int n = 0; put(path, text); n++)
		if (errno != ENOMEM || n == 1000)
			die(path);
}

static int drop_fd = -1;

static void drop_caches(void)
{
	if (drop_fd < 0)
		drop_fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	if (drop_fd < 0)
		die("drop_caches");
	/* not if this call meets a fault itself */
	if (pwrite(drop_fd, "3", 1, 0) != 1 && errno != ENOMEM)
		die("drop_caches");
}

/* ---- the tree and what is right -------------------------------------------------- */

struct obj {
	char *path;		/* below the root, "" for it */
	mode_t mode;
	uint64_t size;
	uint8_t *data;		/* of a regular file */
	char link[PATH_MAX];
	uint64_t sum;		/* names of a directory */
	uint64_t xsum;		/* xattrs */
};

static struct obj *objs;
static size_t nobjs;

static uint64_t hash(const void *p, size_t n, uint64_t h)
{
	const uint8_t *b = p;

	while (n--)
		h = (h ^ *b++) * 0x100000001b3ULL;
	return h ^ h >> 29;
}

static const char *base = MNT;	/* the mount, or a descriptor of it */

static const char *full(const struct obj *o)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s%s%s", base, *o->path ? "/" : "", o->path);
	return path;
}

/* Each access returns 0 or the errno; wrong data is complained about at once. */

static void wrong(const struct obj *o, const char *op, uint64_t pos)
{
	complain("%s of /%s gives wrong data at %llu", op, o->path, (unsigned long long)pos);
}

static void compare(const struct obj *o, const char *op, const uint8_t *p, uint64_t pos, size_t n)
{
	size_t i;

	if (!memcmp(p, o->data + pos, n))
		return;
	for (i = 0; p[i] == o->data[pos + i]; i++)
		;
	wrong(o, op, pos + i);
}

static int do_stat(const struct obj *o)
{
	struct stat st;

	/* the base may be a link of procfs */
	if (*o->path ? lstat(full(o), &st) : stat(full(o), &st))
		return errno;
	if (st.st_mode != o->mode || (!S_ISDIR(o->mode) && (uint64_t)st.st_size != o->size))
		wrong(o, "stat", 0);
	return 0;
}

/* no name of an absent file may be found, and no fault may become ENOENT for good */
static int do_absent(const struct obj *o)
{
	char path[PATH_MAX + 80];
	struct stat st;

	snprintf(path, sizeof(path), "%s/absent", full(o));
	if (!lstat(path, &st))
		wrong(o, "stat of absent", 0);
	return errno == ENOENT ? 0 : errno;
}

static int do_readdir(const struct obj *o)
{
	static char buf[4096];
	uint64_t sum = 0;
	long n, i;
	int fd = open(full(o), O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return errno;
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (i = 0; i < n; ) {
			struct { uint64_t ino, off; uint16_t len; uint8_t type; char name[]; } *e = (void *)(buf + i);

			if (strcmp(e->name, ".") && strcmp(e->name, ".."))
				sum += hash(e->name, strlen(e->name), e->type);
			i += e->len;
		}
	}
	i = errno;
	close(fd);
	if (n < 0)
		return i;
	if (sum != o->sum)
		wrong(o, "readdir", 0);
	return 0;
}

static int do_read(const struct obj *o)
{
	static uint8_t buf[32768];
	uint64_t pos = 0;
	ssize_t n;
	int fd = open(full(o), O_RDONLY), err = 0;

	if (fd < 0)
		return errno;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		if (pos + n > o->size) {
			wrong(o, "read", o->size);
			break;
		}
		compare(o, "read", buf, pos, n);
		pos += n;
	}
	if (n < 0)
		err = errno;
	else if (pos != o->size)
		wrong(o, "read (too short)", pos);
	close(fd);
	return err;
}

/* one page from the middle, then one before it */
static int do_pread(const struct obj *o)
{
	static uint8_t buf[PAGE];
	int fd = open(full(o), O_RDONLY), err = 0, i;
	uint64_t pos = o->size / 2 & -PAGE;
	ssize_t n;

	if (fd < 0)
		return errno;
	for (i = 0; i < 2 && !err; i++) {
		n = pread(fd, buf, PAGE, pos);
		if (n < 0)
			err = errno;
		else if ((uint64_t)n != (o->size - pos < PAGE ? o->size - pos : PAGE))
			wrong(o, "pread (too short)", pos + n);
		else
			compare(o, "pread", buf, pos, n);
		if (pos)
			pos -= PAGE;
	}
	close(fd);
	return err;
}

static sigjmp_buf bus;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(bus, 1);
}

/* SIGBUS is returned as EFAULT: the kernel says no more about a page that can't be had */
static int do_mmap(const struct obj *o)
{
	static volatile int fd;
	static uint8_t *volatile m;
	static volatile uint64_t pos;
	volatile int err = 0;

	if (!o->size)
		return 0;
	fd = open(full(o), O_RDONLY);
	if (fd < 0)
		return errno;
	m = mmap(NULL, o->size, PROT_READ, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED) {
		err = errno;
		close(fd);
		return err;
	}
	/* backwards: no readahead, each page by itself */
	if (sigsetjmp(bus, 1)) {
		err = EFAULT;
	} else {
		for (pos = (o->size - 1) & -PAGE; ; pos -= PAGE) {
			uint64_t left = o->size - pos, i;

			compare(o, "mmap", m + pos, pos, left < PAGE ? left : PAGE);
			for (i = left; i < PAGE; i++)
				if (m[pos + i]) {
					wrong(o, "mmap behind the end", pos + i);
					break;
				}
			if (!pos)
				break;
		}
	}
	munmap(m, o->size);
	close(fd);
	return err;
}

/* asks and does not look: what it leaves behind is judged by the reads that follow */
static int do_ahead(const struct obj *o)
{
	int fd = open(full(o), O_RDONLY), err = 0;

	if (fd < 0)
		return errno;
	if (readahead(fd, 0, o->size))
		err = errno;
	close(fd);
	return err;
}

static int own_pipe[2];		/* made again by each process, without faults */

static int do_sendfile(const struct obj *o)
{
	/* in one page: a fault there takes nothing out of the pipe */
	static uint8_t buf[PAGE] __attribute__((aligned(PAGE)));
	int *p = own_pipe;
	int fd, err = 0;
	off_t pos = 0;
	ssize_t n;

	fd = open(full(o), O_RDONLY);
	if (fd < 0)
		return errno;
	while ((uint64_t)pos < o->size) {
		off_t at = pos;

		n = sendfile(p[1], fd, &pos, PAGE);
		if (n <= 0) {
			if (n < 0)
				err = errno;
			else
				wrong(o, "sendfile (too short)", pos);
			break;
		}
		/* EFAULT: no page for the buffer at the first try */
		while (read(p[0], buf, n) != n)
			if (errno != EFAULT && errno != EINTR && errno != ENOMEM)
				die("pipe");
		compare(o, "sendfile", buf, at, n);
	}
	close(fd);
	return err;
}

static int do_xattr(const struct obj *o)
{
	static char names[65536];
	static uint8_t value[65536];
	uint64_t sum = 0;
	/* the base may be a link of procfs */
	const char *path = full(o);
	char dir[64];
	ssize_t n, v;
	char *p;

	if (!*o->path) {
		snprintf(dir, sizeof(dir), "%.50s/.", path);
		path = dir;
	}
	n = llistxattr(path, names, sizeof(names));
	if (n < 0)
		return errno;
	for (p = names; p < names + n; p += strlen(p) + 1) {
		if (!strcmp(p, ORIGIN))
			continue;
		v = lgetxattr(path, p, value, sizeof(value));
		if (v < 0)
			return errno;
		sum += hash(value, v, hash(p, strlen(p), 7));
	}
	if (sum != o->xsum)
		wrong(o, "xattrs", 0);
	v = lgetxattr(path, "user.no-such-attribute", value, sizeof(value));
	if (v >= 0)
		wrong(o, "absent xattr", 0);
	/* the VFS answers for what can't have user attributes */
	return errno == ENODATA || errno == EPERM ? 0 : errno;
}

static int do_link(const struct obj *o)
{
	char buf[PATH_MAX];
	ssize_t n = readlink(full(o), buf, sizeof(buf) - 1);

	if (n < 0)
		return errno;
	buf[n] = 0;
	if (strcmp(buf, o->link))
		wrong(o, "readlink", 0);
	return 0;
}

static int do_fiemap(const struct obj *o)
{
	static struct {
		struct fiemap f;
		struct fiemap_extent e[64];
	} m;
	int fd = open(full(o), O_RDONLY), err = 0;
	uint64_t pos = 0;
	off_t hole;
	bool last = false;

	if (fd < 0)
		return errno;
	while (!err && !last && pos < o->size) {
		memset(&m, 0, sizeof(m));
		m.f.fm_start = pos;
		m.f.fm_length = ~0ULL;
		m.f.fm_extent_count = 64;
		if (ioctl(fd, FS_IOC_FIEMAP, &m.f)) {
			err = errno;
			break;
		}
		if (!m.f.fm_mapped_extents)
			break;
		for (unsigned int i = 0; i < m.f.fm_mapped_extents; i++) {
			if (!m.e[i].fe_length || m.e[i].fe_logical + m.e[i].fe_length <= pos) {
				wrong(o, "FIEMAP (does not get on)", pos);
				last = true;
				break;
			}
			pos = m.e[i].fe_logical + m.e[i].fe_length;
			if (m.e[i].fe_flags & FIEMAP_EXTENT_LAST)
				last = true;
		}
	}
	if (!err && o->size) {
		hole = lseek(fd, 0, SEEK_HOLE);
		if (hole < 0)
			err = errno;
		else if ((uint64_t)hole > o->size)
			wrong(o, "SEEK_HOLE", hole);
	}
	close(fd);
	return err;
}

/* far behind the end: nothing, and at once */
static int do_far(const struct obj *o)
{
	static const off_t pos[] = { 0x400160000LL, 19LL << 30, 0x7ffffffffffff000LL };
	int fd = open(full(o), O_RDONLY), err = 0;
	char c;

	if (fd < 0)
		return errno;
	for (size_t i = 0; i < sizeof(pos) / sizeof(*pos) && !err; i++) {
		ssize_t n = pread(fd, &c, 1, pos[i]);

		if (n < 0)
			err = errno;
		else if (n)
			wrong(o, "pread behind the end", pos[i]);
		/* may be refused */
		readahead(fd, pos[i], 1 << 20);
		posix_fadvise(fd, pos[i], 1 << 20, POSIX_FADV_WILLNEED);
	}
	close(fd);
	return err;
}

static int do_statfs(const struct obj *o)
{
	struct statfs s;

	if (statfs(full(o), &s))
		return errno;
	if (s.f_type != 0xe0f5e1e2)
		wrong(o, "statfs", 0);
	return 0;
}

enum { REG = 1, DIR_ = 2, LNK = 4, ANY = 8 };
static const struct access {
	const char *name;
	int (*fn)(const struct obj *o);
	int kinds;
} accesses[] = {
	{ "stat", do_stat, ANY },
	{ "absent", do_absent, DIR_ },
	{ "readdir", do_readdir, DIR_ },
	{ "readahead", do_ahead, REG },
	{ "read", do_read, REG },
	{ "pread", do_pread, REG },
	{ "mmap", do_mmap, REG },
	{ "sendfile", do_sendfile, REG },
	{ "xattr", do_xattr, ANY },
	{ "readlink", do_link, LNK },
	{ "fiemap", do_fiemap, REG },
	{ "far", do_far, REG },
	{ "statfs", do_statfs, DIR_ },
};
#define NACCESS (sizeof(accesses) / sizeof(accesses[0]))

static bool fits(const struct access *a, const struct obj *o)
{
	return a->kinds & ANY || (S_ISREG(o->mode) && a->kinds & REG) || (S_ISDIR(o->mode) && a->kinds & DIR_) ||
	       (S_ISLNK(o->mode) && a->kinds & LNK);
}

static void learn_xattrs(struct obj *o)
{
	static char names[65536];
	static uint8_t value[65536];
	ssize_t n = llistxattr(full(o), names, sizeof(names)), v;
	char *p;

	if (n < 0)
		die(o->path);
	o->xsum = 0;
	for (p = names; p < names + n; p += strlen(p) + 1) {
		if (!strcmp(p, ORIGIN))
			continue;
		v = lgetxattr(full(o), p, value, sizeof(value));
		if (v < 0)
			die(p);
		o->xsum += hash(value, v, hash(p, strlen(p), 7));
	}
}

static void learn(const char *rel)
{
	struct dirent *e;
	struct stat st;
	struct obj *o;
	char path[PATH_MAX];
	size_t me = nobjs;
	ssize_t n;
	DIR *d;
	int fd;

	objs = realloc(objs, (nobjs + 1) * sizeof(*objs));
	o = memset(&objs[nobjs++], 0, sizeof(*o));
	o->path = strdup(rel);
	if (lstat(full(o), &st))
		die(rel);
	o->mode = st.st_mode;
	o->size = st.st_size;
	if (S_ISREG(st.st_mode)) {
		o->data = malloc(st.st_size + 1);
		fd = open(full(o), O_RDONLY);
		if (fd < 0 || read(fd, o->data, st.st_size + 1) != st.st_size)
			die(rel);
		close(fd);
	}
	if (S_ISLNK(st.st_mode)) {
		n = readlink(full(o), o->link, sizeof(o->link) - 1);
		if (n < 0)
			die(rel);
	}
	learn_xattrs(o);
	if (!S_ISDIR(st.st_mode))
		return;
	d = opendir(full(o));
	if (!d)
		die(rel);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		objs[me].sum += hash(e->d_name, strlen(e->d_name), e->d_type);
		snprintf(path, sizeof(path), "%s%s%s", rel, *rel ? "/" : "", e->d_name);
		learn(path);
	}
	closedir(d);
}

/* by its path, or the beginning of it up to a "-" */
static const struct obj *find(const char *path)
{
	for (size_t i = 0; i < nobjs; i++)
		if (!strncmp(objs[i].path, path, strlen(path)) &&
		    (!objs[i].path[strlen(path)] || (*path && path[strlen(path) - 1] == '-')))
			return &objs[i];
	errno = ENOENT;
	die(path);
	return NULL;
}

/* every access to every object, with no fault about: all has to be right */
static void all_right(const char *when)
{
	for (size_t i = 0; i < nobjs && !failed; i++)
		for (size_t k = 0; k < NACCESS; k++) {
			int err;

			if (!fits(&accesses[k], &objs[i]))
				continue;
			err = accesses[k].fn(&objs[i]);
			if (err)
				complain("%s: %s of /%s: %s", when, accesses[k].name, objs[i].path, strerror(err));
		}
}

/* ---- images and devices ------------------------------------------------------------ */

static const char *image_file;
static bool has_dev;
static char dev_loop[32];	/* its extra device as a loop device, or "" */

static void copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_RDWR | O_CREAT | O_TRUNC, 0600);
	static char buf[65536];
	off_t size = 0;
	ssize_t n;

	if (in < 0 || out < 0)
		die(from);
	while ((n = read(in, buf, sizeof(buf))) > 0) {
		if (write(out, buf, n) != n)
			die(to);
		size += n;
	}
	/* whole blocks: devices have no others */
	if (n < 0 || ftruncate(out, (size + 4095) & ~4095L))
		die(to);
	close(in);
	close(out);
}

/* attach @file to a free loop device; the name stays valid until the next call but one */
static const char *loop_attach(const char *file)
{
	static char names[2][32];
	static int turn;
	char *name = names[turn ^= 1];
	struct loop_config c = { .block_size = 512 };
	int ctl = open("/dev/loop-control", O_RDWR), n, fd;

	c.fd = open(file, O_RDWR);
	if (ctl < 0 || (int)c.fd < 0)
		die(file);
	n = ioctl(ctl, LOOP_CTL_GET_FREE);
	if (n < 0)
		die("loop-control");
	snprintf(name, 32, "/dev/loop%d", n);
	fd = open(name, O_RDWR);
	if (fd < 0 || ioctl(fd, LOOP_CONFIGURE, &c))
		die(name);
	close(fd);
	close(ctl);
	close(c.fd);
	return name;
}

static void loop_detach(const char *name)
{
	int fd = open(name, O_RDONLY);

	if (fd < 0 || ioctl(fd, LOOP_CLR_FD, 0))
		complain("%s: %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void name_image(const char *file)
{
	static char name[256];
	const char *b = strrchr(file, '/');
	size_t n;

	snprintf(name, sizeof(name), "%s", b ? b + 1 : file);
	n = strlen(name);
	if (n > 4 && !strcmp(name + n - 4, ".img"))
		name[n - 4] = 0;
	image_name = name;
}

static void take_image(const char *file)
{
	char dev[PATH_MAX];

	name_image(file);
	image_file = file;
	copy(file, IMG);
	snprintf(dev, sizeof(dev), "%.*s.dev", (int)strlen(file) - 4, file);
	if (*dev_loop)
		loop_detach(dev_loop);
	*dev_loop = 0;
	has_dev = !access(dev, R_OK);
	if (has_dev) {
		copy(dev, DEV);
		snprintf(dev_loop, sizeof(dev_loop), "%s", loop_attach(DEV));
	}
}

static uint64_t file_size(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		die(path);
	return st.st_size;
}

static struct dm_ioctl *dm_call(unsigned long cmd, uint32_t flags, const char *table)
{
	static union {
		struct dm_ioctl h;
		char room[16384];
	} u;
	static int ctl = -1;
	char *at = u.room + sizeof(u.h);
	const char *line, *end;
	char text[128];
	int used;

	if (ctl < 0)
		ctl = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (ctl < 0)
		die("/dev/mapper/control");
	memset(&u, 0, sizeof(u));
	u.h.version[0] = 4;
	u.h.data_size = sizeof(u);
	u.h.data_start = sizeof(u.h);
	u.h.flags = flags;
	strcpy(u.h.name, DM_NAME);
	for (line = table; line && *line; line = end + 1) {
		struct dm_target_spec *t = (void *)at;
		unsigned long long start, len;
		size_t n;

		end = strchr(line, '\n');
		snprintf(text, sizeof(text), "%.*s", (int)(end - line), line);
		if (sscanf(text, "%llu %llu %15s %n", &start, &len, t->target_type, &used) < 3)
			die("table");
		memmove(text, text + used, strlen(text + used) + 1);
		strcpy((char *)(t + 1), text);
		t->sector_start = start;
		t->length = len;
		n = (sizeof(*t) + strlen(text) + 1 + 7) & ~7UL;
		t->next = n;
		at += n;
		u.h.target_count++;
	}
	if (ioctl(ctl, cmd, &u))
		return NULL;
	return &u.h;
}

/* put a new table under the device; requests under way may fail or be late, as with a cable */
static void dm_table(const char *table)
{
	uint32_t hard = DM_SKIP_LOCKFS_FLAG | DM_NOFLUSH_FLAG;

	if (!dm_call(DM_TABLE_LOAD, 0, table))
		die("DM_TABLE_LOAD");
	if (!dm_call(DM_DEV_SUSPEND, DM_SUSPEND_FLAG | hard, NULL) || !dm_call(DM_DEV_SUSPEND, hard, NULL))
		die("DM_DEV_SUSPEND");
}

static void dm_create(const char *table)
{
	struct dm_ioctl *d = dm_call(DM_DEV_CREATE, 0, NULL);
	dev_t dev;

	if (!d)
		die("DM_DEV_CREATE");
	dev = makedev((d->dev & 0xfff00) >> 8, (d->dev & 0xff) | (d->dev >> 12 & 0xfff00));
	unlink(NODE);
	if (mknod(NODE, S_IFBLK | 0600, dev))
		die(NODE);
	dm_table(table);
}

static void dm_remove(void)
{
	for (int i = 0; !dm_call(DM_DEV_REMOVE, 0, NULL); i++) {
		if (errno != EBUSY || i == 100) {
			complain("the device is not released: %s", strerror(errno));
			return;
		}
		usleep(100000);
	}
}

static const char *linear(const char *dev, uint64_t sectors)
{
	static char buf[256];

	snprintf(buf, sizeof(buf), "0 %llu linear %s 0\n", (unsigned long long)sectors, dev);
	return buf;
}

static int try_mount(const char *src, const char *more)
{
	char opts[256];

	/* devices are of one kind */
	snprintf(opts, sizeof(opts), "%s%s%s%s", more ?: "", more && has_dev ? "," : "", has_dev ? "device=" : "",
		 !has_dev ? "" : !strcmp(src, IMG) ? DEV : dev_loop);
	return mount(src, MNT, "erofs", MS_RDONLY, opts) ? errno : 0;
}

static void must_mount(const char *src, const char *more)
{
	int err = try_mount(src, more);

	if (err) {
		errno = err;
		die("mount");
	}
}

static void must_umount(void)
{
	for (int i = 0; umount2(MNT, 0); i++) {
		if (errno != EBUSY || i == 100) {
			complain("umount: %s", strerror(errno));
			printf("too bad to go on\n");
			exit(1);
		}
		usleep(50000);
	}
}

/* ---- nth: one allocation fails ----------------------------------------------------- */

static int nth_fd = -1;

static void arm(unsigned int n)
{
	char buf[16];
	int len = snprintf(buf, sizeof(buf), "%u", n);

	if (nth_fd < 0)
		nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0 || pwrite(nth_fd, buf, len, 0) != len)
		die("fail-nth");
}

/* true if the fault came */
static bool disarm(void)
{
	char buf[16] = "";

	if (pread(nth_fd, buf, sizeof(buf) - 1, 0) <= 0)
		die("fail-nth");
	arm(0);
	return atoi(buf) == 0;
}

/*
 * @errs of @fn may be seen for the n-th fault; what is left behind must not hinder it.
 * The short way leaves out more and more of the later ones.
 */
static unsigned int faults_seen, faults_hit;

static bool may(int err, const int *errs)
{
	for (; *errs; errs++)
		if (*errs == err)
			return true;
	return false;
}

static void nth_access(const struct access *a, const struct obj *o, const int *errs)
{
	unsigned int n, misses = 0;
	int err;

	for (n = 1; !failed; n += longer || n < 50 ? 1 : 5) {
		bool hit;

		drop_caches();
		arm(n);
		err = a->fn(o);
		hit = disarm();
		if (err && !hit)
			complain("%s of /%s: %s without a fault", a->name, o->path, strerror(err));
		if (err && !may(err, errs) && !(err == EFAULT && a->fn == do_mmap))
			complain("%s of /%s, fault %u: %s", a->name, o->path, n, strerror(err));
		faults_hit += hit;
		faults_seen += err != 0;
		/* the fault is over; nothing else has changed */
		err = a->fn(o);
		if (err)
			complain("%s of /%s after fault %u: %s", a->name, o->path, n, strerror(err));
		if (S_ISREG(o->mode)) {
			err = do_read(o);
			if (err)
				complain("read of /%s after fault %u of %s: %s", o->path, n, a->name, strerror(err));
		}
		if (!hit && ++misses == 2)
			break;
	}
}

static void nth_mount(const char *src, const char *more, const int *errs)
{
	unsigned int n;
	bool hit = true;
	int err;

	for (n = 1; hit && !failed; n += longer || n < 100 ? 1 : 5) {
		drop_caches();
		arm(n);
		err = try_mount(src, more);
		hit = disarm();
		if (err && !hit)
			complain("mount: %s without a fault", strerror(err));
		if (err && !may(err, errs))
			complain("mount, fault %u: %s", n, strerror(err));
		faults_hit += hit;
		faults_seen += err != 0;
		if (!err) {
			if (do_stat(find("a/b/c/leaf")) || do_read(find("a/b/c/leaf")))
				complain("mounted in spite of fault %u, but not usable", n);
			must_umount();
		}
	}
	if (!failed && n < 10)
		complain("only %u allocations to fail at mount", n);
}

static void nth_load(void)
{
	int fd = open(module_file, O_RDONLY | O_CLOEXEC), err;
	unsigned int n, loaded = 0;
	bool hit = true;

	if (fd < 0)
		die(module_file);
	image_name = "load";
	if (syscall(SYS_delete_module, "erofs", O_NONBLOCK))
		die("rmmod");
	for (n = 1; hit && !failed; n += longer || n < 60 ? 1 : 5) {
		arm(n);
		err = syscall(SYS_finit_module, fd, "", 0) ? errno : 0;
		hit = disarm();
		if (err && err != ENOMEM)
			complain("insmod, fault %u: %s", n, strerror(err));
		faults_hit += hit;
		faults_seen += err != 0;
		loaded += !err;
		if (!err && syscall(SYS_delete_module, "erofs", O_NONBLOCK))
			die("rmmod");
	}
	if (syscall(SYS_finit_module, fd, "", 0))
		complain("insmod after the faults: %s", strerror(errno));
	close(fd);
	if (!loaded || n < 100)
		complain("only %u faults", n);
	result("%u faults, %u seen", faults_hit, faults_seen);
}

static void fault_knobs(const char *probability, const char *filter)
{
	static const char *const dirs[] = { "failslab", "fail_page_alloc" };
	static const char *const knobs[][2] = {
		{ "verbose", "0" }, { "ignore-gfp-wait", "N" }, { "interval", "1" }, { "space", "0" }, { "times", "-1" },
	};
	char path[128];

	for (int d = 0; d < 2; d++) {
		for (size_t i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++) {
			snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dirs[d], knobs[i][0]);
			must_put(path, knobs[i][1]);
		}
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/task-filter", dirs[d]);
		must_put(path, filter);
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/probability", dirs[d]);
		must_put(path, probability);
	}
	must_put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	must_put("/sys/kernel/debug/fail_page_alloc/min-order", "0");
}

/* objects that are stored in different ways */
static const char *const nth_objs[] = {
	"", "dir", "dir/entry-011-",
	"text", "mixed", "long-link", "x/many", "x/acldir", "again", "sparse", "shift", "noise", "s4097",
};

static void test_nth(char **images, int n)
{
	static const int nomem[] = { ENOMEM, 0 }, nomem_io[] = { ENOMEM, EIO, 0 };

	/* no page fault of this program may be the one that fails */
	if (mlockall(MCL_CURRENT))
		die("mlockall");
	fault_knobs("0", "N");
	if (module_file)
		nth_load();
	for (int i = 0; i < n; i++) {
		const char *loop, *extra = NULL;
		char knob[64];

		faults_seen = faults_hit = 0;
		take_image(images[i]);
		if (!strncmp(image_name, "digest", 6))
			extra = "inode_share,domain_id=faults";
		/* some have xattrs of their own */
		must_mount(IMG, NULL);
		for (size_t k = 0; k < nobjs; k++)
			learn_xattrs(&objs[k]);
		must_umount();
		nth_mount(IMG, extra, nomem);
		loop = loop_attach(IMG);
		nth_mount(loop, NULL, nomem);
		must_mount(i & 1 ? IMG : loop, i & 1 ? extra : NULL);
		for (size_t k = 0; k < (longer ? sizeof(nth_objs) / sizeof(*nth_objs) : i ? 5 : 7); k++) {
			const struct obj *o = find(nth_objs[k]);

			for (size_t a = 0; a < NACCESS; a++)
				if (fits(&accesses[a], o))
					nth_access(&accesses[a], o, nomem);
		}
		must_umount();
		/* and requests of the device, too */
		snprintf(knob, sizeof(knob), "/sys/block/%s/make-it-fail", loop + 5);
		must_put(knob, "1");
		must_put("/sys/kernel/debug/fail_make_request/verbose", "0");
		nth_mount(loop, NULL, nomem_io);
		must_mount(loop, NULL);
		for (size_t a = 0; a < NACCESS; a++)
			if (fits(&accesses[a], find("text")))
				nth_access(&accesses[a], find("text"), nomem_io);
		nth_access(&accesses[2], find("dir"), nomem_io);
		must_umount();
		must_put(knob, "0");
		loop_detach(loop);
		if (!failed && (faults_hit < 100 || faults_seen < 20))
			complain("only %u faults, %u seen", faults_hit, faults_seen);
		result("%u faults, %u seen", faults_hit, faults_seen);
	}
}

/* ---- readers -------------------------------------------------------------------------- */

struct shared {
	uint64_t done, errors;
	uint64_t wrong;
	volatile bool pause;	/* leave the mount */
	uint64_t loads;		/* unloads while others read */
};

static struct shared *shared;
static bool (*reader_enter)(void);	/* called before each access, if set */
static int allowed[4];
static bool reader_meets_faults;
static const char *reader_cgroup;

/* a process that does random accesses until it is killed; wrong data ends it with status 1 */
static pid_t reader(uint64_t seed)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	rnd_state ^= seed * 0x9e3779b97f4a7c15ULL;
	drop_caches();
	if (pipe(own_pipe))
		die("pipe");
	if (reader_cgroup)
		must_put(reader_cgroup, "0");
	if (reader_meets_faults)
		must_put("/proc/self/make-it-fail", "1");
	for (;;) {
		const struct obj *o = &objs[rnd(nobjs)];
		const struct access *a = &accesses[rnd(NACCESS)];
		int err;

		if (!rnd(20))
			drop_caches();
		if (!fits(a, o) || (reader_enter && !reader_enter()))
			continue;
		err = a->fn(o);
		if (err && !may(err, allowed) && !(err == EFAULT && a->fn == do_mmap && *allowed))
			complain("reader: %s of /%s: %s", a->name, o->path, strerror(err));
		if (failed) {
			__atomic_add_fetch(&shared->wrong, 1, __ATOMIC_RELAXED);
			_exit(1);
		}
		__atomic_add_fetch(err ? &shared->errors : &shared->done, 1, __ATOMIC_RELAXED);
	}
}

static void allow(int a, int b, int c)
{
	allowed[0] = a;
	allowed[1] = b;
	allowed[2] = c;
	shared->done = shared->errors = shared->wrong = 0;
}

/* for @seconds, and as long as it takes to see something, which is longer on a busy machine */
static bool go_on(double begin, double seconds, bool enough)
{
	double t = now() - begin;

	return t < seconds || (!enough && t < seconds + 120 && !failed);
}

/* kill it and say how long it took to go */
static double reap(pid_t pid)
{
	double begin = now();
	int status;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (now() - begin > 60) {
			char cmd[128];

			complain("a killed process is still there after 60 s");
			snprintf(cmd, sizeof(cmd), "cat /proc/%d/stack /proc/%d/wchan; echo w >/proc/sysrq-trigger", pid, pid);
			if (system(cmd) < 0)
				die("sh");
			exit(1);
		}
		usleep(1000);
	}
	if (!WIFSIGNALED(status))
		complain("a reader ended by itself, status %x", status);
	return now() - begin;
}

/* enter whatever is mounted at this moment; it stays until the next call */
static bool enter_mount(void)
{
	static int fd = -1;
	static char path[64];
	struct statfs s;

	if (fd >= 0) {
		if (rnd(8) && !shared->pause)
			return true;
		close(fd);
	}
	base = MNT;
	if (shared->pause) {
		fd = -1;
		usleep(1000);
		return false;
	}
	fd = open(MNT, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return false;
	if (fstatfs(fd, &s) || s.f_type != 0xe0f5e1e2) {
		close(fd);
		fd = -1;
		usleep(1000);
		return false;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	base = path;
	return true;
}

/* ---- chance: allocations of anybody fail ----------------------------------------------- */

static void mark_workers(const char *on)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char path[300], comm[64];
	int fd;
	ssize_t n;

	while (d && (e = readdir(d))) {
		if (*e->d_name < '0' || *e->d_name > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		n = read(fd, comm, sizeof(comm) - 1);
		close(fd);
		if (n <= 0 || strncmp(comm, "kworker", 7))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/make-it-fail", e->d_name);
		put(path, on);
	}
	closedir(d);
}

static void test_chance(char **images, int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid[READERS];
		const char *loop;
		double begin;

		take_image(images[i]);
		loop = loop_attach(IMG);
		must_mount(i & 1 ? IMG : loop, NULL);
		/* EIO: a request whose device had no memory; EFAULT: no page for the answer */
		allow(ENOMEM, EIO, EFAULT);
		fault_knobs("5", "Y");
		reader_meets_faults = true;
		for (int k = 0; k < READERS; k++)
			pid[k] = reader(i * 100 + k);
		reader_meets_faults = false;
		begin = now();
		while (go_on(begin, longer ? 30 : 2, shared->done >= 20 && shared->errors >= 5)) {
			mark_workers("1");
			usleep(100000);
		}
		mark_workers("0");
		fault_knobs("0", "N");
		for (int k = 0; k < READERS; k++)
			reap(pid[k]);
		all_right("after the faults");
		must_umount();
		loop_detach(loop);
		if (shared->done < 20 || shared->errors < 5)
			complain("%llu accesses and %llu errors only", (unsigned long long)shared->done,
				 (unsigned long long)shared->errors);
		result("%llu accesses, %llu failed", (unsigned long long)shared->done, (unsigned long long)shared->errors);
	}
}

/* ---- devices that fail ------------------------------------------------------------------ */

static void test_block(char **images, int n)
{
	for (int i = 0; i < n; i++) {
		const char *loop;
		uint64_t sectors, b, step, mounts = 0, errors = 0;
		char table[512];

		take_image(images[i]);
		loop = loop_attach(IMG);
		sectors = file_size(IMG) / 512;
		step = longer ? 1 : sectors / 8 / 12 + 1;
		dm_create(linear(loop, sectors));
		for (b = 0; b < sectors / 8 && !failed; b += b < 2 || longer ? 1 : step) {
			char head[128] = "", tail[128] = "";
			int err;

			if (b)
				snprintf(head, sizeof(head), "0 %llu linear %s 0\n", (unsigned long long)b * 8, loop);
			if (b * 8 + 8 < sectors)
				snprintf(tail, sizeof(tail), "%llu %llu linear %s %llu\n", (unsigned long long)b * 8 + 8,
					 (unsigned long long)(sectors - b * 8 - 8), loop, (unsigned long long)b * 8 + 8);
			snprintf(table, sizeof(table), "%s%llu 8 error\n%s", head, (unsigned long long)b * 8, tail);
			dm_table(table);
			drop_caches();
			err = try_mount(NODE, NULL);
			if (err) {
				if (err != EIO && !(b == 0 && err == EINVAL))
					complain("mount without block %llu: %s", (unsigned long long)b, strerror(err));
				dm_table(linear(loop, sectors));
				must_mount(NODE, NULL);
				must_umount();
				errors++;
				continue;
			}
			mounts++;
			for (size_t k = 0; k < nobjs && !failed; k++)
				for (size_t a = 0; a < NACCESS; a++) {
					if (!fits(&accesses[a], &objs[k]))
						continue;
					err = accesses[a].fn(&objs[k]);
					if (err && err != EIO && !(err == EFAULT && accesses[a].fn == do_mmap))
						complain("%s of /%s without block %llu: %s", accesses[a].name,
							 objs[k].path, (unsigned long long)b, strerror(err));
					errors += err != 0;
				}
			/* what failed is read again; what was read stays */
			dm_table(linear(loop, sectors));
			all_right("with all blocks back");
			must_umount();
		}
		dm_remove();
		loop_detach(loop);
		if (!failed && (!mounts || !errors))
			complain("%llu mounts, %llu errors", (unsigned long long)mounts, (unsigned long long)errors);
		result("%llu blocks, %llu mounts, %llu errors", (unsigned long long)(sectors / 8), (unsigned long long)mounts,
		       (unsigned long long)errors);
	}
}

/* lines of the driver in the kernel log since the last call */
static int log_lines(void)
{
	static int fd = -1;
	char buf[8192];
	int lines = 0;
	ssize_t n;

	if (fd < 0) {
		fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			die("/dev/kmsg");
		lseek(fd, 0, SEEK_END);
		return 0;
	}
	while ((n = read(fd, buf, sizeof(buf) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		buf[n] = 0;
		if (strstr(buf, ";erofs"))
			lines++;
	}
	return lines;
}

static void test_flakey(char **images, int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid[READERS];
		const char *loop;
		uint64_t sectors, swaps = 0;
		char table[128];
		double begin, end;
		int lines;

		take_image(images[i]);
		loop = loop_attach(IMG);
		sectors = file_size(IMG) / 512;
		dm_create(linear(loop, sectors));
		must_mount(NODE, NULL);
		allow(EIO, 0, 0);
		log_lines();
		begin = now();
		for (int k = 0; k < READERS; k++)
			pid[k] = reader(i * 100 + k);
		/* up a second, down a second */
		snprintf(table, sizeof(table), "0 %llu flakey %s 0 1 1\n", (unsigned long long)sectors, loop);
		dm_table(table);
		sleep(longer ? 20 : 3);
		/* now and then gone altogether, at any moment */
		end = now();
		while (go_on(end, longer ? 20 : 2, shared->done >= 20 && shared->errors >= 5)) {
			snprintf(table, sizeof(table), "0 %llu error\n", (unsigned long long)sectors);
			dm_table(swaps++ & 1 ? linear(loop, sectors) : table);
			usleep(rnd(60000));
		}
		dm_table(linear(loop, sectors));
		for (int k = 0; k < READERS; k++)
			reap(pid[k]);
		lines = log_lines();
		end = now();
		all_right("with the device back");
		must_umount();
		dm_remove();
		loop_detach(loop);
		if (shared->done < 20 || shared->errors < 5)
			complain("%llu accesses and %llu errors only", (unsigned long long)shared->done,
				 (unsigned long long)shared->errors);
		/* five lines in five seconds, and the line that says how many were left out */
		if (lines > 6 * ((end - begin) / 5 + 2))
			complain("%d lines in the log in %.0f s", lines, end - begin);
		result("%llu accesses, %llu failed, %d log lines", (unsigned long long)shared->done,
		       (unsigned long long)shared->errors, lines);
	}
}

/* ---- slow devices and signals ------------------------------------------------------------ */

static void test_slow(char **images, int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid[READERS];
		const char *loop;
		uint64_t sectors;
		char table[128];
		double begin, slowest = 0, t;
		unsigned int kills = 0, mounts = 0, halfway = 0;

		take_image(images[i]);
		loop = loop_attach(IMG);
		sectors = file_size(IMG) / 512;
		snprintf(table, sizeof(table), "0 %llu delay %s 0 3\n", (unsigned long long)sectors, loop);
		dm_create(table);
		must_mount(NODE, NULL);
		allow(0, 0, 0);
		for (int k = 0; k < READERS; k++)
			pid[k] = reader(i * 100 + k);
		/* nobody's end may be seen by the others */
		begin = now();
		while (go_on(begin, longer ? 30 : 3, shared->done >= 20 && kills >= 10)) {
			int k = rnd(READERS);

			usleep(rnd(40000));
			t = reap(pid[k]);
			slowest = t > slowest ? t : slowest;
			pid[k] = reader(i * 100 + 10 + kills++);
		}
		/* the last ones while each request takes most of a second */
		snprintf(table, sizeof(table), "0 %llu delay %s 0 700\n", (unsigned long long)sectors, loop);
		dm_table(table);
		drop_caches();
		usleep(500000);
		for (int k = 0; k < READERS; k++) {
			t = reap(pid[k]);
			slowest = t > slowest ? t : slowest;
		}
		/* with requests under way */
		drop_caches();
		for (size_t k = 0; k < nobjs; k++)
			if (S_ISREG(objs[k].mode) && objs[k].size > 20000) {
				pid[0] = fork();
				if (!pid[0]) {
					do_ahead(&objs[k]);
					_exit(0);
				}
				usleep(300000);
				kill(pid[0], SIGKILL);
				waitpid(pid[0], NULL, 0);
				break;
			}
		must_umount();
		/* mounting, killed at some moment */
		for (int k = 0; k < (longer ? 40 : 6); k++) {
			snprintf(table, sizeof(table), "0 %llu delay %s 0 %d\n", (unsigned long long)sectors, loop, 5 + k * 7 % 50);
			dm_table(table);
			drop_caches();
			pid[0] = fork();
			if (!pid[0])
				_exit(try_mount(NODE, NULL) == 0 ? 0 : 1);
			usleep(rnd(300000));
			kill(pid[0], SIGKILL);
			waitpid(pid[0], NULL, 0);
			mounts++;
			if (umount2(MNT, 0))
				halfway++;
		}
		dm_table(linear(loop, sectors));
		must_mount(NODE, NULL);
		all_right("after slow times");
		must_umount();
		dm_remove();
		loop_detach(loop);
		/* requests of 0.7 s have to come back; on this machine everything is slow */
		if (slowest > 20)
			complain("a killed reader needed %.1f s to end", slowest);
		if (shared->done < 20 || kills < 10)
			complain("%llu accesses and %u kills only", (unsigned long long)shared->done, kills);
		result("%llu accesses, %u killed, slowest end %.2f s, %u of %u mounts ended halfway",
		       (unsigned long long)shared->done, kills, slowest, halfway, mounts);
	}
}

/* ---- devices that go for good ------------------------------------------------------------- */

static void finish_gone(pid_t *pid)
{
	double begin = now();

	while (go_on(begin, 1, shared->errors))
		usleep(50000);
	for (int k = 0; k < READERS; k++)
		if (waitpid(pid[k], NULL, WNOHANG))
			complain("a reader ended by itself");
	/* no clean end: the tree goes while files are open */
	if (rnd(2)) {
		if (umount2(MNT, MNT_DETACH))
			complain("umount -l: %s", strerror(errno));
		for (int k = 0; k < READERS; k++)
			reap(pid[k]);
	} else {
		for (int k = 0; k < READERS; k++)
			reap(pid[k]);
		must_umount();
	}
}

static void test_gone(char **images, int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid[READERS];
		const char *loop;
		uint64_t sectors, size;
		char table[128];
		int fd;

		take_image(images[i]);
		size = file_size(IMG);
		sectors = size / 512;
		for (int way = 0; way < 3; way++) {
			loop = loop_attach(IMG);
			if (way < 2)
				dm_create(linear(loop, sectors));
			must_mount(way < 2 ? NODE : IMG, NULL);
			allow(EIO, 0, 0);
			reader_enter = enter_mount;
			for (int k = 0; k < READERS; k++)
				pid[k] = reader(i * 100 + way * 10 + k);
			usleep(300000);
			switch (way) {
			case 0:		/* all requests fail from now on */
				snprintf(table, sizeof(table), "0 %llu error\n", (unsigned long long)sectors);
				dm_table(table);
				break;
			case 1:		/* what is left of the device is shorter */
				snprintf(table, sizeof(table), "0 8 linear %s 0\n", loop);
				dm_table(table);
				break;
			case 2:		/* the image file has nothing left; below a loop device it gives zeros */
				if (truncate(IMG, 0))
					die(IMG);
				break;
			}
			finish_gone(pid);
			if (way < 2)
				dm_remove();
			/* the lazy way of detaching: gone with the last user */
			loop_detach(loop);
			take_image(images[i]);
			if (!shared->errors)
				complain("way %d: no reader saw an error", way);
		}
		/* a file that comes back is good again */
		must_mount(IMG, NULL);
		all_right("before the file shrinks");
		drop_caches();
		if (truncate(IMG, 4096))
			die(IMG);
		for (size_t k = 0; k < nobjs; k++) {
			int err = S_ISREG(objs[k].mode) ? do_read(&objs[k]) : 0;

			if (err && err != EIO && err != EUCLEAN)
				complain("read of /%s from a short file: %s", objs[k].path, strerror(err));
		}
		fd = open(image_file, O_RDONLY);
		copy(image_file, WORK "/again");
		close(fd);
		{
			static char buf[65536];
			int in = open(WORK "/again", O_RDONLY), out = open(IMG, O_WRONLY);
			ssize_t got;

			while ((got = read(in, buf, sizeof(buf))) > 0)
				if (write(out, buf, got) != got)
					die(IMG);
			close(in);
			close(out);
		}
		drop_caches();
		all_right("with the file back");
		must_umount();
		/* a loop device whose file was detached while mounted works until the end */
		loop = loop_attach(IMG);
		must_mount(loop, NULL);
		loop_detach(loop);
		all_right("with the loop device detached");
		must_umount();
		result("%llu accesses in the last way", (unsigned long long)shared->done);
	}
}

/* the disk images[1] goes away when images[3] is written to images[2] */
static void test_pull(char **images, int n)
{
	static char buf[65536];
	pid_t pid[READERS];
	double begin;
	int in, out;
	ssize_t got;

	if (n != 4) {
		errno = EINVAL;
		die("arguments");
	}
	take_image(images[0]);
	in = open(IMG, O_RDONLY);
	out = open(images[1], O_WRONLY);
	while ((got = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, got) != got)
			die(images[1]);
	if (got || fsync(out) || close(out))
		die(images[1]);
	close(in);
	drop_caches();
	must_mount(images[1], NULL);
	allow(EIO, ENXIO, ENODEV);
	reader_enter = enter_mount;
	for (int k = 0; k < READERS; k++)
		pid[k] = reader(k);
	begin = now();
	while (go_on(begin, 2, shared->done >= 20))
		usleep(50000);
	if (shared->errors)
		complain("errors before the disk went");
	must_put(images[2], images[3]);
	finish_gone(pid);
	if (!shared->errors)
		complain("no reader saw an error");
	result("%s: %llu accesses, %llu failed", images[1], (unsigned long long)shared->done,
	       (unsigned long long)shared->errors);
}

/* ---- lives that end while others read ------------------------------------------------------ */

static void test_race(char **images, int n)
{
	pid_t pid[READERS], side[3];
	uint64_t mounts = 0, lazy = 0;
	bool mem = !access("/tmp/cgroup/readers/memory.reclaim", W_OK);
	int ko = open(module_file, O_RDONLY | O_CLOEXEC);
	double begin;

	if (ko < 0)
		die(module_file);
	if (access("/tmp/cgroup/readers/cgroup.procs", W_OK))
		die("memory cgroup");
	for (int i = 0; i < n; i++) {
		const char *loop;

		take_image(images[i]);
		loop = loop_attach(IMG);
		allow(0, 0, 0);
		shared->loads = mounts = lazy = 0;
		reader_enter = enter_mount;
		reader_cgroup = "/tmp/cgroup/readers/cgroup.procs";
		for (int k = 0; k < READERS; k++)
			pid[k] = reader(i * 100 + k);
		for (int k = 0; k < 3; k++) {
			side[k] = fork();
			while (!side[k]) {
				usleep(rnd(50000));
				switch (k) {
				case 0:
					drop_caches();
					break;
				case 1:	/* may be refused, if there is nothing left to take */
					if (mem)
						put("/tmp/cgroup/readers/memory.reclaim", "4M");
					break;
				case 2:
					/* out and in again, whenever nobody holds it */
					if (!syscall(SYS_delete_module, "erofs", O_NONBLOCK)) {
						shared->loads++;
						usleep(rnd(3000));
						if (syscall(SYS_finit_module, ko, "", 0)) {
							complain("insmod: %s", strerror(errno));
							_exit(1);
						}
						/* loading takes its time in an emulator */
						usleep(700000);
					}
					break;
				}
			}
		}
		begin = now();
		while (go_on(begin, longer ? 60 : 8, shared->done >= 20 && mounts >= 10 && lazy && shared->loads)) {
			int err = try_mount(rnd(2) ? loop : IMG, NULL);

			/* the module is out at this moment, or on its way */
			if (err == ENODEV || err == EBUSY) {
				usleep(1000);
				continue;
			}
			if (err) {
				complain("mount: %s", strerror(err));
				break;
			}
			mounts++;
			usleep(rnd(100000));
			shared->pause = mounts % 4 == 0;
			if (shared->pause)
				usleep(100000);
			if (umount2(MNT, 0)) {
				if (errno != EBUSY || umount2(MNT, MNT_DETACH))
					complain("umount: %s", strerror(errno));
				lazy++;
			}
			usleep(shared->pause ? 100000 : rnd(20000));
			shared->pause = false;
		}
		for (int k = 0; k < 3; k++)
			reap(side[k]);
		for (int k = 0; k < READERS; k++)
			reap(pid[k]);
		base = MNT;
		if (syscall(SYS_finit_module, ko, "", 0) && errno != EEXIST)
			die("insmod");
		must_mount(loop, NULL);
		all_right("after the race");
		must_umount();
		loop_detach(loop);
		if (shared->done < 20 || mounts < 10 || !lazy || !shared->loads)
			complain("%llu accesses, %llu mounts, %llu busy, %llu loads only", (unsigned long long)shared->done,
				 (unsigned long long)mounts, (unsigned long long)lazy, (unsigned long long)shared->loads);
		result("%llu accesses, %llu mounts, %llu ended while busy, %llu unloads", (unsigned long long)shared->done,
		       (unsigned long long)mounts, (unsigned long long)lazy, (unsigned long long)shared->loads);
	}
	close(ko);
}

/* ---- bounds ------------------------------------------------------------------------------------- */

/* pages that were allocated since the start of the system, whoever asked for them */
static uint64_t pages_allocated(void)
{
	FILE *f = fopen("/proc/vmstat", "r");
	unsigned long long v, sum = 0;
	char name[64];

	while (f && fscanf(f, "%63s %llu", name, &v) == 2)
		if (!strncmp(name, "pgalloc_", 8))
			sum += v;
	if (!f || !sum)
		die("/proc/vmstat");
	fclose(f);
	return sum;
}

static uint64_t most_mount, most_read;
static double slowest_end;
static unsigned int calls_ended;

/* one system call that may last, over and over: what a user can do to an image */
static void last_long(int way)
{
	static uint8_t buf[1 << 20];
	static struct {
		struct fiemap f;
		struct fiemap_extent e[512];
	} m;
	const char *file[] = { MNT "/text", MNT "/page", MNT "/large", MNT "/dir", MNT };
	struct stat st;
	long n;
	int fd;

	for (;;)
		for (size_t i = 0; i < sizeof(file) / sizeof(*file); i++) {
			fd = open(file[i], O_RDONLY);
			if (fd < 0 || fstat(fd, &st)) {
				close(fd);
				continue;
			}
			switch (S_ISDIR(st.st_mode) ? 4 + way % 2 : way) {
			case 0:
				while (read(fd, buf, sizeof(buf)) > 0)
					;
				break;
			case 1:
				memset(&m, 0, sizeof(m));
				m.f.fm_length = ~0ULL;
				/* only counted: one call has to go through all of it */
				m.f.fm_extent_count = rnd(2) ? 512 : 0;
				n = ioctl(fd, FS_IOC_FIEMAP, &m.f);
				break;
			case 2:
				n = lseek(fd, 0, SEEK_HOLE);
				n = lseek(fd, n > 0 ? n : 0, SEEK_DATA);
				break;
			case 3:
				for (int k = 0; k < 64; k++)
					n = pread(fd, buf, PAGE, st.st_size > PAGE ? rnd(st.st_size) : 0);
				break;
			case 4:
				while (syscall(SYS_getdents64, fd, buf, sizeof(buf)) > 0)
					;
				break;
			case 5:
				for (int k = 0; k < 16; k++) {
					snprintf((char *)buf, sizeof(buf), "%s/entry-%d", file[i], k);
					n = lstat((char *)buf, &st);
				}
				break;
			}
			(void)n;
			close(fd);
		}
}

/*
 * @images: any, damaged ones too.  Pages allocated by a mount and by the first read of a page,
 * lines in the log, time from SIGKILL to the end of a process.
 */
static void test_bounds(char **images, int n)
{
	const uint64_t mib = (1 << 20) / PAGE;

	mlockall(MCL_CURRENT);
	for (int i = 0; i < n; i++) {
		static uint8_t page[PAGE];
		double begin = now(), t;
		int lines, err, fd;
		uint64_t a;

		/* in place: some are large */
		name_image(images[i]);
		drop_caches();
		log_lines();
		a = pages_allocated();
		err = try_mount(images[i], NULL);
		a = pages_allocated() - a;
		most_mount = a > most_mount ? a : most_mount;
		/* 65535 devices with the pages of their table are 13 MiB */
		if (a > 24 * mib)
			complain("%llu KiB allocated by mount", (unsigned long long)a * 4);
		if (err) {
			result("no mount: %s, %llu KiB", strerror(err), (unsigned long long)a * 4);
			continue;
		}
		for (int k = 0; k < 6; k++) {
			const char *file[] = { MNT "/text", MNT "/page", MNT "/noise" };
			struct stat st;

			fd = open(file[k % 3], O_RDONLY);
			if (fd < 0)
				continue;
			if (fstat(fd, &st))
				die(file[k % 3]);
			drop_caches();
			a = pages_allocated();
			if (pread(fd, page, PAGE, k < 3 ? 0 : st.st_size / 2) < 0)
				err = errno;
			a = pages_allocated() - a;
			most_read = a > most_read ? a : most_read;
			/* 2 MiB + 1 MiB in, 16 MiB + 12 MiB out, a decoder, metadata */
			if (a > 34 * mib)
				complain("%llu KiB allocated by one read of %s", (unsigned long long)a * 4, file[k % 3]);
			close(fd);
		}
		for (int way = 0; way < 4; way++) {
			pid_t pid = fork();

			if (!pid) {
				last_long(way);
				_exit(0);
			}
			usleep(longer ? 3000000 : 400000);
			t = reap(pid);
			calls_ended++;
			slowest_end = t > slowest_end ? t : slowest_end;
			/* a second, on a machine that is five times slower */
			if (t > 5)
				complain("way %d: %.1f s from SIGKILL to the end", way, t);
		}
		must_umount();
		lines = log_lines();
		t = now() - begin;
		if (lines > 6 * (t / 5 + 2))
			complain("%d lines in the log in %.1f s", lines, t);
		result("%d log lines in %.1f s", lines, t);
	}
	image_name = "all";
	if (!most_read || !most_mount)
		complain("nothing was measured");
	result("at most %llu KiB allocated by a mount, %llu KiB by a read; %u calls ended, the slowest after %.2f s",
	       (unsigned long long)most_mount * 4, (unsigned long long)most_read * 4, calls_ended, slowest_end);
}

/* ---- main ------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(char **images, int n);
	} tests[] = {
		{ "nth", test_nth }, { "chance", test_chance }, { "block", test_block }, { "flakey", test_flakey },
		{ "slow", test_slow }, { "gone", test_gone }, { "race", test_race }, { "pull", test_pull },
		{ "bounds", test_bounds },
	};
	size_t i;
	int c;

	while ((c = getopt(argc, argv, "lk:")) != -1) {
		if (c == 'l')
			longer = true;
		else if (c == 'k')
			module_file = optarg;
		else
			return 2;
	}
	if (optind + 2 > argc)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_name = argv[optind];
	image_name = "start";
	mkdir(WORK, 0700);
	mkdir(MNT, 0700);
	signal(SIGBUS, on_bus);
	if (pipe(own_pipe))
		die("pipe");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		double begin = now();

		if (strcmp(tests[i].name, argv[optind]))
			continue;
		if (tests[i].fn != test_bounds) {
			take_image(argv[optind + 1]);
			must_mount(IMG, NULL);
			learn("");
			must_umount();
		}
		tests[i].fn(argv + optind + 2, argc - optind - 2);
		if (*dev_loop)
			loop_detach(dev_loop);
		printf("%s: %.1f s\n", test_name, now() - begin);
		return failures != 0;
	}
	return 2;
}
