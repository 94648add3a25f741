// SPDX-License-Identifier: GPL-2.0
/*
 * answers.c - everything that a mounted file system answers about a tree, as
 * lines that can be compared with those of another driver: "answers TAG DIR"
 * prints "TAG KEY NAME ANSWER" for each question to each object.  KEY is what
 * was asked, NAME the object below DIR, ANSWER has no blanks: numbers, names of
 * errors, "N#SUM" for what is long.  Nothing here is right or wrong.
 *
 * With $NO_DIOALIGN in the environment, nothing asks for the alignment of direct I/O.
 * What differs from mount to mount by nature (device numbers, mount ids) is
 * left out, and an inode is asked once.  Changes are tried, too, so DIR has to
 * be on a read-only mount.  Exit status: 0, or 2 if nothing could be asked.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include "uapi.h"

#ifndef FAN_REPORT_DFID_NAME
#define FAN_REPORT_DFID_NAME 0xc00
#endif

static const char *tag, *name;

static void __attribute__((format(printf, 2, 3))) say(const char *key, const char *fmt, ...)
{
	va_list ap;

	printf("%s %s %s ", tag, key, name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* OK or the name of the error */
static const char *err_name(long res)
{
	return res >= 0 ? "OK" : strerrorname_np(errno);
}

static uint64_t sum(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3;
	return h;
}

#define SUM0	0xcbf29ce484222325

/* a number of bytes and what they are, or an error */
static void say_bytes(const char *key, const void *data, ssize_t n)
{
	if (n < 0)
		say(key, "%s", err_name(n));
	else
		say(key, "%zd#%08x", n, (uint32_t)sum(SUM0, data, n));
}

static void ask_stat(const char *path)
{
	uint64_t keep = ~(uint64_t)STATX_ATTR_MOUNT_ROOT;
	unsigned int dio = getenv("NO_DIOALIGN") ? 0 : STATX_DIOALIGN;
	struct statx sx = { };

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME | dio,
		  &sx)) {
		say("statx", "%s", err_name(-1));
		return;
	}
	say("mode", "0%o", sx.stx_mode);
	say("owner", "%u:%u", sx.stx_uid, sx.stx_gid);
	say("nlink", "%u", sx.stx_nlink);
	say("ino", "%llu", (unsigned long long)sx.stx_ino);
	say("size", "%llu", (unsigned long long)sx.stx_size);
	say("blocks", "%llu", (unsigned long long)sx.stx_blocks);
	say("blksize", "%u", sx.stx_blksize);
	say("rdev", "%u:%u", sx.stx_rdev_major, sx.stx_rdev_minor);
	say("mtime", "%lld.%09u", (long long)sx.stx_mtime.tv_sec, sx.stx_mtime.tv_nsec);
	say("ctime", "%lld.%09u", (long long)sx.stx_ctime.tv_sec, sx.stx_ctime.tv_nsec);
	say("atime", "%lld.%09u", (long long)sx.stx_atime.tv_sec, sx.stx_atime.tv_nsec);
	say("btime", "%s", sx.stx_mask & STATX_BTIME ? "yes" : "no");
	say("statx-attributes", "0x%llx", (unsigned long long)(sx.stx_attributes & keep));
	say("statx-attributes-mask", "0x%llx",
	    (unsigned long long)(sx.stx_attributes_mask & keep));
	if (sx.stx_mask & STATX_DIOALIGN)
		say("statx-dioalign", "%u:%u", sx.stx_dio_mem_align, sx.stx_dio_offset_align);
	else
		say("statx-dioalign", "no");
}

static void ask_xattrs(const char *path)
{
	static const char * const probes[] = {
		"user.none", "trusted.none", "security.none", "system.none", "none",
		"nothing.none", "user.", "trusted.", "system.posix_acl_default", "",
	};
	static char list[65536], value[65536];
	ssize_t n = llistxattr(path, list, sizeof(list)), v;
	char key[300];
	unsigned int i;
	char *p;

	if (n < 0) {
		say("xattr-list", "%s", err_name(n));
	} else {
		say("xattr-list-order", "%zd#%08x", n, (uint32_t)sum(SUM0, list, n));
		for (p = list; p < list + n; p += strlen(p) + 1) {
			v = lgetxattr(path, p, value, sizeof(value));
			snprintf(key, sizeof(key), "xattr:%.200s", p);
			say_bytes(key, value, v);
			if (v > 1) {
				v = lgetxattr(path, p, value, v - 1);
				snprintf(key, sizeof(key), "xattr-short:%.200s", p);
				say(key, "%s", err_name(v));
			}
			v = lgetxattr(path, p, NULL, 0);
			snprintf(key, sizeof(key), "xattr-size:%.200s", p);
			say(key, "%zd", v);
		}
		say("xattr-list-size", "%zd", llistxattr(path, NULL, 0));
		if (n > 1) {
			v = llistxattr(path, list, n - 1);
			say("xattr-list-short", "%s", err_name(v));
		}
	}
	for (i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		snprintf(key, sizeof(key), "xattr-probe:%s", probes[i]);
		v = lgetxattr(path, probes[i], value, sizeof(value));
		say(key, "%s", err_name(v));
	}
	memset(key, 'x', 256);
	memcpy(key, "user.", 5);
	key[256] = '\0';
	v = lgetxattr(path, key, value, sizeof(value));
	say("xattr-probe-256", "%s", err_name(v));
	key[255] = '\0';
	v = lgetxattr(path, key, value, sizeof(value));
	say("xattr-probe-255", "%s", err_name(v));
}

static void ask_handle(const char *path)
{
	struct {
		struct file_handle h;
		unsigned char data[128];
	} h = { .h.handle_bytes = 128 };
	unsigned char bytes[128];
	char hex[257] = "";
	unsigned int i;
	int mnt;

	if (name_to_handle_at(AT_FDCWD, path, &h.h, &mnt, 0)) {
		say("handle", "%s", err_name(-1));
		return;
	}
	memcpy(bytes, h.data, sizeof(bytes));
	for (i = 0; i < h.h.handle_bytes; i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
	say("handle", "%d:%s", h.h.handle_type, hex);
	h.h.handle_bytes = 1;
	say("handle-short", "%s:%u",
	    err_name(name_to_handle_at(AT_FDCWD, path, &h.h, &mnt, 0)), h.h.handle_bytes);
}

static void ask_ioctls(int fd)
{
	char buf[512] = "";
	struct fsxattr fsx;
	int n = 0, r;

	r = ioctl(fd, FS_IOC_GETFLAGS, &n);
	say("getflags", "%s:0x%x", err_name(r), r ? 0 : n);
	r = ioctl(fd, FS_IOC_SETFLAGS, &n);
	say("setflags", "%s", err_name(r));
	r = ioctl(fd, FS_IOC_FSGETXATTR, &fsx);
	say("fsgetxattr", "%s", err_name(r));
	r = ioctl(fd, FS_IOC_GETVERSION, &n);
	say("getversion", "%s", err_name(r));
	r = ioctl(fd, FS_IOC_GETFSLABEL, buf);
	say("getfslabel", "%s:%s", err_name(r), buf);
	r = ioctl(fd, FS_IOC_SETFSLABEL, buf);
	say("setfslabel", "%s", err_name(r));
	/* FS_IOC_GETFSUUID */
	r = ioctl(fd, _IOC(_IOC_READ, 0x15, 0, 17), buf);
	say_bytes("getfsuuid", buf, r ? r : 17);
	r = ioctl(fd, FITRIM, buf);
	say("fitrim", "%s", err_name(r));
	r = ioctl(fd, 0x12345678, buf);
	say("unknown-ioctl", "%s", err_name(r));
}

/* how the names come, and that a position is a place to go on from */
static void ask_names(int fd)
{
	static char buf[1 << 20];
	uint64_t order = SUM0, types = SUM0, offs = SUM0;
	long n, at, nr = 0, mid = 0, again = 0;

	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (at = 0; at < n; at += *(uint16_t *)(buf + at + 16)) {
			order = sum(order, buf + at + 19, strlen(buf + at + 19) + 1);
			order = sum(order, buf + at, 8);
			types = sum(types, buf + at + 18, 1);
			offs = sum(offs, buf + at + 8, 8);
			if (++nr == 3)
				mid = *(uint64_t *)(buf + at + 8);
		}
	}
	if (n < 0) {
		say("names", "%s", err_name(n));
		return;
	}
	say("names", "%ld#%08x", nr, (uint32_t)order);
	say("names-types", "%08x", (uint32_t)types);
	say("names-positions", "%08x", (uint32_t)offs);
	lseek(fd, mid, SEEK_SET);
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (at = 0; at < n; at += *(uint16_t *)(buf + at + 16))
			again++;
	say("names-from-third", "%ld", again);
	say("names-seek-end", "%s", lseek(fd, 0, SEEK_END) < 0 ? err_name(-1) : "OK");
	say("names-seek-negative", "%s", err_name(lseek(fd, -1, SEEK_SET)));
	n = lseek(fd, 1 << 30, SEEK_SET);
	n = n < 0 ? n : syscall(SYS_getdents64, fd, buf, sizeof(buf));
	say("names-behind-end", "%ld", n);
	lseek(fd, 0, SEEK_SET);
	n = syscall(SYS_getdents64, fd, buf, 20);
	say("names-no-room", "%s", err_name(n));
}

static void ask_fiemap(int fd, uint64_t size)
{
	struct fiemap *fm = calloc(1, sizeof(*fm) + 4000 * sizeof(struct fiemap_extent));
	uint64_t logical = SUM0, physical = SUM0;
	uint32_t i, all = 0, none = ~0U;
	int r;

	fm->fm_length = FIEMAP_MAX_OFFSET;
	fm->fm_extent_count = 4000;
	r = ioctl(fd, FS_IOC_FIEMAP, fm);
	if (r) {
		say("fiemap", "%s", err_name(r));
	} else {
		for (i = 0; i < fm->fm_mapped_extents; i++) {
			struct fiemap_extent *e = &fm->fm_extents[i];

			logical = sum(logical, &e->fe_logical, 8);
			logical = sum(logical, &e->fe_length, 8);
			physical = sum(physical, &e->fe_physical, 8);
			all |= e->fe_flags;
			none &= e->fe_flags;
		}
		say("fiemap-extents", "%u#%08x", fm->fm_mapped_extents, (uint32_t)logical);
		say("fiemap-physical", "%08x", (uint32_t)physical);
		say("fiemap-flags", "0x%x:0x%x", all, fm->fm_mapped_extents ? none : 0);
	}
	fm->fm_start = size;
	fm->fm_length = 4096;
	r = ioctl(fd, FS_IOC_FIEMAP, fm);
	say("fiemap-behind-end", "%s:%u", err_name(r), fm->fm_mapped_extents);
	fm->fm_start = 0;
	fm->fm_length = 0;
	say("fiemap-nothing", "%s", err_name(ioctl(fd, FS_IOC_FIEMAP, fm)));
	fm->fm_length = FIEMAP_MAX_OFFSET;
	fm->fm_flags = FIEMAP_FLAG_XATTR;
	say("fiemap-xattr", "%s", err_name(ioctl(fd, FS_IOC_FIEMAP, fm)));
	free(fm);
}

static void ask_seek(int fd, uint64_t size)
{
	uint64_t h = SUM0;
	off_t pos = 0;
	int nr = 0;

	while ((pos = lseek(fd, pos, nr & 1 ? SEEK_HOLE : SEEK_DATA)) >= 0 && nr < 10000) {
		h = sum(h, &pos, 8);
		nr++;
	}
	say("seek", "%d#%08x:%s", nr, (uint32_t)h, err_name(-1));
	say("seek-data-at-end", "%s", err_name(lseek(fd, size, SEEK_DATA)));
	say("seek-hole-at-end", "%s", err_name(lseek(fd, size, SEEK_HOLE)));
	say("seek-hole-before-end", "%lld", size ? (long long)lseek(fd, size - 1, SEEK_HOLE) : -1);
	say("seek-negative", "%s", err_name(lseek(fd, -5, SEEK_DATA)));
	say("seek-far", "%s", err_name(lseek(fd, INT64_MAX, SEEK_SET)));
}

static void ask_blocks(int fd, uint64_t size)
{
	int blk = 0, n, r;

	r = ioctl(fd, FIGETBSZ, &blk);
	say("figetbsz", "%s:%d", err_name(r), blk);
	n = 0;
	r = ioctl(fd, FIBMAP, &n);
	say("fibmap-first", "%s:%d", err_name(r), r ? 0 : n);
	n = blk && size ? (size - 1) / blk : 0;
	r = ioctl(fd, FIBMAP, &n);
	say("fibmap-last", "%s:%d", err_name(r), r ? 0 : n);
	n = size / 512 + 10;
	r = ioctl(fd, FIBMAP, &n);
	say("fibmap-behind-end", "%s:%d", err_name(r), r ? 0 : n);
}

static void ask_direct(const char *path, uint64_t size)
{
	static const struct {
		const char *key;
		size_t odd, len;
		off_t pos;
	} reads[] = {
		{ "dio", 0, 8192, 0 },
		{ "dio-memory-1", 1, 8192, 0 },
		{ "dio-memory-512", 512, 8192, 0 },
		{ "dio-length-100", 0, 100, 0 },
		{ "dio-length-512", 0, 512, 0 },
		{ "dio-position-100", 0, 4096, 100 },
		{ "dio-position-512", 0, 4096, 512 },
	};
	uint64_t end = (size + 4095) / 4096 * 4096;
	int fd = open(path, O_RDONLY | O_DIRECT);
	unsigned int i;
	char *buf;
	ssize_t n;

	say("dio-open", "%s", err_name(fd));
	if (fd < 0)
		return;
	buf = aligned_alloc(4096, 65536);
	for (i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		n = pread(fd, buf + reads[i].odd, reads[i].len, reads[i].pos);
		say_bytes(reads[i].key, buf + reads[i].odd, n);
	}
	n = size ? pread(fd, buf, 8192, (size - 1) / 4096 * 4096) : 0;
	say_bytes("dio-tail", buf, n);
	n = pread(fd, buf, 4096, end);
	say_bytes("dio-end", buf, n);
	n = pread(fd, buf, 4096, size);
	say_bytes("dio-at-size", buf, n);
	n = pread(fd, buf, 4096, end + (1 << 20));
	say_bytes("dio-far", buf, n);
	close(fd);
	free(buf);
}

static void ask_file(const char *path, uint64_t size)
{
	static const struct {
		const char *key;
		int flags;
	} flags[] = {
		{ "read-hipri", RWF_HIPRI }, { "read-dsync", RWF_DSYNC },
		{ "read-nowait", RWF_NOWAIT }, { "read-append", RWF_APPEND },
		{ "read-dontcache", 0x80 }, { "read-unknown-flag", 0x4000 },
	};
	char *buf = malloc(size + 4096), *p;
	int fd = open(path, O_RDONLY), r;
	struct iovec v = { buf, size + 4096 };
	unsigned int i;
	ssize_t n;

	say("open", "%s", err_name(fd));
	if (fd < 0)
		return;
	n = pread(fd, buf, size + 4096, 0);
	say_bytes("data", buf, n);
	n = pread(fd, buf, 100, size + 123456789);
	say_bytes("data-behind-end", buf, n);
	n = pread(fd, buf, 100, -1);
	say_bytes("data-negative", buf, n);
	/* all of it is in the page cache by now */
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		n = preadv2(fd, &v, 1, 0, flags[i].flags);
		say_bytes(flags[i].key, buf, n);
	}
	free(buf);
	if (size) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		say("mmap-write", "%s", p == MAP_FAILED ? err_name(-1) : "OK");
		p = mmap(NULL, size, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
		say("mmap-sync", "%s", p == MAP_FAILED ? err_name(-1) : "OK");
		p = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		say("mmap-exec", "%s", p == MAP_FAILED ? err_name(-1) : "OK");
	}
	ask_ioctls(fd);
	ask_fiemap(fd, size);
	ask_seek(fd, size);
	ask_blocks(fd, size);
	say("fsync", "%s", err_name(fsync(fd)));
	say("fdatasync", "%s", err_name(fdatasync(fd)));
	say("fallocate", "%s", err_name(fallocate(fd, 0, 0, 1)));
	say("ftruncate", "%s", err_name(ftruncate(fd, 0)));
	say("flock", "%s", err_name(flock(fd, LOCK_EX | LOCK_NB)));
	r = fcntl(fd, F_SETLEASE, F_RDLCK);
	say("lease", "%s", err_name(r));
	fcntl(fd, F_SETLEASE, F_UNLCK);
	r = fcntl(fd, F_GET_SEALS);
	say("seals", "%s", err_name(r));
	/* a clone of itself */
	say("clone", "%s", err_name(ioctl(fd, FICLONE, fd)));
	close(fd);
	ask_direct(path, size);
	say("open-write", "%s", err_name(open(path, O_RDWR)));
	say("open-append", "%s", err_name(open(path, O_WRONLY | O_APPEND)));
	say("open-truncate", "%s", err_name(open(path, O_RDONLY | O_TRUNC)));
	say("open-directory", "%s", err_name(open(path, O_RDONLY | O_DIRECTORY)));
	say("swapon", "%s", err_name(swapon(path, 0)));
}

/* what somebody without rights may do */
static void ask_rights(const char *path)
{
	int p[2], i, res[4];
	char text[64];

	if (pipe(p))
		exit(2);
	fflush(stdout);
	if (!fork()) {
		if (setgroups(0, NULL) || setgid(1000) || setuid(1000))
			_exit(2);
		for (i = 0; i < 3; i++)
			res[i] = access(path, 1 << i) ? errno : 0;
		res[3] = llistxattr(path, NULL, 0);
		if (write(p[1], res, sizeof(res)) != sizeof(res))
			_exit(2);
		_exit(0);
	}
	if (read(p[0], res, sizeof(res)) != sizeof(res))
		exit(2);
	wait(NULL);
	snprintf(text, sizeof(text), "x%d:w%d:r%d", res[0], res[1], res[2]);
	say("rights", "%s", text);
	say("rights-xattr-list-size", "%d", res[3]);
	close(p[0]);
	close(p[1]);
}

/* true the first time for each inode with several names */
static bool first_time(const struct stat *st)
{
	static uint64_t seen[1000];
	static unsigned int nr;
	unsigned int i;

	if (S_ISDIR(st->st_mode) || st->st_nlink == 1)
		return true;
	for (i = 0; i < nr; i++)
		if (seen[i] == st->st_ino)
			return false;
	if (nr < 1000)
		seen[nr++] = st->st_ino;
	return true;
}

static void walk(const char *dir, const char *below)
{
	char path[4096], rel[4096], text[8192];
	struct dirent **list;
	struct stat st;
	int n = scandir(dir, &list, NULL, alphasort), i, fd;
	ssize_t len;

	for (i = 0; i < n; i++) {
		const char *d = list[i]->d_name;

		if (!strcmp(d, "..") || (!strcmp(d, ".") && *below))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, d);
		snprintf(rel, sizeof(rel), "%s%s%s", below, *below ? "/" : "", d);
		name = rel;
		if (lstat(path, &st)) {
			say("lstat", "%s", err_name(-1));
			continue;
		}
		if (!first_time(&st))
			continue;
		ask_stat(path);
		ask_xattrs(path);
		ask_handle(path);
		if (!S_ISLNK(st.st_mode))
			ask_rights(path);
		if (S_ISLNK(st.st_mode)) {
			len = readlink(path, text, sizeof(text));
			say_bytes("readlink", text, len);
			len = readlink(path, text, 3);
			say_bytes("readlink-short", text, len);
		} else if (S_ISREG(st.st_mode)) {
			ask_file(path, st.st_size);
		} else if (S_ISDIR(st.st_mode)) {
			fd = open(path, O_RDONLY | O_DIRECTORY);
			say("open", "%s", err_name(fd));
			len = read(fd, text, 10);
			say("read-directory", "%s", err_name(len));
			ask_ioctls(fd);
			ask_fiemap(fd, st.st_size);
			ask_blocks(fd, st.st_size);
			ask_names(fd);
			say("fsync", "%s", err_name(fsync(fd)));
			close(fd);
			fd = open(path, O_RDONLY | O_DIRECTORY | O_DIRECT);
			say("dio-open", "%s", err_name(fd));
			close(fd);
			say("tmpfile", "%s", err_name(open(path, O_TMPFILE | O_RDWR, 0600)));
			if (strcmp(d, "."))
				walk(path, rel);
			name = rel;
		} else {
			fd = open(path, O_RDONLY | O_NONBLOCK);
			say("open", "%s", err_name(fd));
			close(fd);
		}
		free(list[i]);
	}
}

/* once for the whole */
static void ask_whole(const char *dir)
{
	char path[4096], buf[4096], long_name[300];
	struct timespec ts[2] = { };
	struct statfs sf;
	struct dqblk dq;
	int fd, fan, r;

	name = "-";
	if (!statfs(dir, &sf)) {
		say("statfs-type", "0x%lx", (long)sf.f_type);
		say("statfs-bsize", "%ld:%ld", (long)sf.f_bsize, (long)sf.f_frsize);
		say("statfs-blocks", "%llu", (unsigned long long)sf.f_blocks);
		say("statfs-free", "%llu:%llu", (unsigned long long)sf.f_bfree,
		    (unsigned long long)sf.f_bavail);
		say("statfs-files", "%llu", (unsigned long long)sf.f_files);
		say("statfs-files-free", "%llu", (unsigned long long)sf.f_ffree);
		say("statfs-fsid", "%08x:%08x", sf.f_fsid.__val[0], sf.f_fsid.__val[1]);
		say("statfs-namelen", "%ld", (long)sf.f_namelen);
		say("statfs-flags", "0x%lx", (long)sf.f_flags);
	}
	memset(long_name, 'n', sizeof(long_name));
	long_name[255] = '\0';
	snprintf(path, sizeof(path), "%s/%s", dir, long_name);
	say("name-255", "%s", err_name(open(path, O_RDONLY)));
	long_name[255] = 'n';
	long_name[256] = '\0';
	snprintf(path, sizeof(path), "%s/%s", dir, long_name);
	say("name-256", "%s", err_name(open(path, O_RDONLY)));
	snprintf(path, sizeof(path), "%s/new", dir);
	say("create", "%s", err_name(open(path, O_CREAT | O_WRONLY, 0600)));
	say("mkdir", "%s", err_name(mkdir(path, 0700)));
	say("mknod", "%s", err_name(mknod(path, S_IFIFO | 0600, 0)));
	say("symlink", "%s", err_name(symlink("x", path)));
	snprintf(buf, sizeof(buf), "%s/tiny", dir);
	say("link", "%s", err_name(link(buf, path)));
	say("rename", "%s", err_name(rename(buf, path)));
	say("unlink", "%s", err_name(unlink(buf)));
	say("chmod", "%s", err_name(chmod(buf, 0600)));
	say("chown", "%s", err_name(chown(buf, 1, 1)));
	say("utimens", "%s", err_name(utimensat(AT_FDCWD, buf, ts, 0)));
	say("truncate", "%s", err_name(truncate(buf, 0)));
	say("setxattr", "%s", err_name(setxattr(buf, "user.x", "y", 1, 0)));
	say("removexattr", "%s", err_name(removexattr(buf, "user.x")));
	snprintf(path, sizeof(path), "%s/tiny/x", dir);
	say("below-file", "%s", err_name(open(path, O_RDONLY)));
	snprintf(path, sizeof(path), "%s/TINY", dir);
	say("other-case", "%s", err_name(open(path, O_RDONLY)));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	r = syscall(__NR_quotactl_fd, fd, QCMD(Q_GETQUOTA, USRQUOTA), 0, &dq);
	say("quota", "%s", err_name(r));
	say("syncfs", "%s", err_name(syncfs(fd)));
	r = ioctl(fd, FIFREEZE, 0);
	say("freeze", "%s", err_name(r));
	if (!r)
		say("thaw", "%s", err_name(ioctl(fd, FITHAW, 0)));
	close(fd);
	/* events that name files by their handles */
	fan = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_DFID_NAME | FAN_NONBLOCK, O_RDONLY);
	r = fanotify_mark(fan, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN | FAN_ACCESS,
			  AT_FDCWD, dir);
	say("fanotify", "%s", err_name(fan < 0 ? fan : r));
	if (fan >= 0 && !r) {
		close(open(buf, O_RDONLY));
		r = read(fan, buf, sizeof(buf));
		say("fanotify-event", "%d", r);
	}
	close(fan);
}

int main(int argc, char **argv)
{
	struct statvfs sv;

	if (argc != 3) {
		fprintf(stderr, "usage: answers TAG DIR\n");
		return 2;
	}
	if (statvfs(argv[2], &sv) || !(sv.f_flag & ST_RDONLY)) {
		fprintf(stderr, "answers: %s is not on a read-only mount\n", argv[2]);
		return 2;
	}
	tag = argv[1];
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	ask_whole(argv[2]);
	walk(argv[2], "");
	return fflush(stdout) ? 2 : 0;
}
