// SPDX-License-Identifier: GPL-2.0
/*
 * digest.c - print one line for each object of a tree, so that two trees can be
 * compared with cmp: the source of an image on the host, and the mounted image.
 *
 * Fields, separated by one space; bytes outside 0x21..0x7e, and \ , = are
 * written as \xHH:
 *
 *	 1 path		relative to the top, "." for the top itself
 *	 2 type		f d l c b p s
 *	 3 mode		octal permission bits
 *	 4 uid
 *	 5 gid
 *	 6 size		"-" for directories: every file system counts its own way
 *	 7 mtime	seconds.nanoseconds
 *	 8 nlink
 *	 9 rdev		major:minor or "-"
 *	10 link		for nlink > 1: path of the first name of the same inode, else "-"
 *	11 target	of a symbolic link, else "-"
 *	12 xattrs	name=length:hash, sorted by name, joined with "," or "-"; "=" for
 *			further names of an inode
 *	13 data		hash of the content; "=" for further names of an inode
 *
 * Names are sorted bytewise, parents come before children.  Regular files are
 * read in up to three ways (random small reads, mmap with pages touched in
 * random order, one sequential pass), with the page cache of the file dropped
 * in between; if the ways disagree, or readdir, d_type, seekdir, the listxattr
 * sizes or the bytes behind EOF in the last page are inconsistent, a line with
 * MISMATCH follows.  Files above 64 MiB are sampled: windows around all powers
 * of two, at both ends and at random places.
 *
 * Every failed call gives "!" lines (path, call, errno) instead of an abort.
 * Exit status: 0 complete, 1 errors or mismatches were printed, 2 usage.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "hash128.h"

#define BIG_FILE	(64ULL << 20)	/* larger ones are sampled */
#define WINDOW		65536		/* bytes of one sample */
#define MANY		(1ULL << 20)	/* files above this size get ... */
#define RANDOM_PIECES	96		/* ... so many random reads, then ascending ones */
#define XATTR_MAX	65536

enum { WAY_RAND = 1, WAY_MMAP = 2, WAY_SEQ = 4 };

static int opt_ways = WAY_RAND | WAY_MMAP | WAY_SEQ;
static bool opt_sha, opt_errors, opt_noxattr, opt_dino = true, opt_keep;
static uint64_t opt_seed = 1;

static int trouble;		/* errors or mismatches were printed */
static char late[256];		/* found while a line is being printed */
static char *path;		/* of the current object, escaped only when printed */
static size_t path_len, path_room;
static unsigned char *filebuf;
static size_t filebuf_room;
static size_t page_size;

struct sha256 {
	uint32_t h[8];
	uint64_t total;
	unsigned char part[64];
};

struct sum {			/* the chosen hash */
	struct h128 fast;
	struct sha256 sha;
};

/* ---- SHA-256 (FIPS 180-4) ---- */

static const uint32_t sha_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t ror(uint32_t v, int n)
{
	return v >> n | v << (32 - n);
}

static void sha_block(struct sha256 *s, const unsigned char *p)
{
	uint32_t w[64], v[8], t1, t2;
	int i;

	for (i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | p[4 * i + 1] << 16 | p[4 * i + 2] << 8 |
		       p[4 * i + 3];
	for (; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, s->h, sizeof(v));
	for (i = 0; i < 64; i++) {
		t1 = v[7] + (ror(v[4], 6) ^ ror(v[4], 11) ^ ror(v[4], 25)) +
		     ((v[4] & v[5]) ^ (~v[4] & v[6])) + sha_k[i] + w[i];
		t2 = (ror(v[0], 2) ^ ror(v[0], 13) ^ ror(v[0], 22)) +
		     ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (i = 0; i < 8; i++)
		s->h[i] += v[i];
}

static void sha_init(struct sha256 *s)
{
	static const uint32_t start[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};

	memcpy(s->h, start, sizeof(start));
	s->total = 0;
}

static void sha_update(struct sha256 *s, const void *buf, size_t len)
{
	const unsigned char *p = buf;
	size_t have;

	while (len) {
		size_t n;

		have = s->total % 64;
		n = 64 - have < len ? 64 - have : len;
		memcpy(s->part + have, p, n);
		s->total += n;
		p += n;
		len -= n;
		if (have + n == 64)
			sha_block(s, s->part);
	}
}

static void sha_final(struct sha256 *s)
{
	uint64_t bits = s->total * 8;
	unsigned char end[8];
	int i;

	sha_update(s, "\x80", 1);
	while (s->total % 64 != 56)
		sha_update(s, "", 1);
	for (i = 0; i < 8; i++)
		end[i] = bits >> (56 - 8 * i);
	sha_update(s, end, 8);
}

static void sum_init(struct sum *s)
{
	if (opt_sha)
		sha_init(&s->sha);
	else
		h128_init(&s->fast, 0);
}

static void sum_update(struct sum *s, const void *buf, size_t len)
{
	if (opt_sha)
		sha_update(&s->sha, buf, len);
	else
		h128_update(&s->fast, buf, len);
}

static void sum_final(struct sum *s, char out[65])
{
	uint64_t h[2];
	int i;

	if (opt_sha) {
		sha_final(&s->sha);
		for (i = 0; i < 8; i++)
			sprintf(out + 8 * i, "%08x", s->sha.h[i]);
		return;
	}
	h128_final(&s->fast, h);
	sprintf(out, "%016llx%016llx", (unsigned long long)h[0], (unsigned long long)h[1]);
}

/* ---- output ---- */

static void put_escaped(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		unsigned char c = s[i];

		if (c < 0x21 || c > 0x7e || c == '\\' || c == ',' || c == '=')
			printf("\\x%02x", c);
		else
			putchar(c);
	}
}

static void put_path(void)
{
	if (path_len)
		put_escaped(path, path_len);
	else
		putchar('.');
}

/* a failed system call */
static void report(const char *call, int err)
{
	trouble = 1;
	put_path();
	printf(" !%s %d\n", call, err);
}

static void mismatch(const char *fmt, ...)
{
	va_list ap;

	trouble = 1;
	put_path();
	printf(" MISMATCH ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static void *xrealloc(void *p, size_t n)
{
	p = realloc(p, n ? n : 1);
	if (!p) {
		fprintf(stderr, "digest: out of memory\n");
		exit(2);
	}
	return p;
}

/* ---- content ---- */

/* Drop the file's clean pages so that the next way reads from the image. */
static void forget(int fd)
{
	if (!opt_keep)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static bool read_all(int fd, unsigned char *buf, size_t len, uint64_t pos, int *err)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, buf + done, len - done, pos + done);

		if (n <= 0) {
			*err = n ? errno : ENODATA;	/* early end of file */
			return false;
		}
		done += n;
	}
	return true;
}

static int cmp_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * The file cut into pieces of odd lengths, read in random order into place.  Each
 * random read may decode a whole cluster, which emulated machines are slow at: of
 * a large file only the first pieces are read in that way.
 */
static bool way_rand(int fd, uint64_t size, uint64_t seed, int *err)
{
	size_t n = 0, room = 0, i;
	uint64_t pos = 0, *cut = NULL;
	bool ok = true;

	if (seed & 1)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	while (pos < size) {
		if (n == room) {
			room = room ? 2 * room : 64;
			cut = xrealloc(cut, room * sizeof(*cut));
		}
		cut[n++] = pos;
		pos += 1 + h128_rand(&seed) % (size > (1 << 20) ? 40000 : 9000);
	}
	for (i = n; i > 1; i--) {
		size_t k = h128_rand(&seed) % i;
		uint64_t t = cut[i - 1];

		cut[i - 1] = cut[k];
		cut[k] = t;
	}
	if (size > MANY && n > RANDOM_PIECES)
		qsort(cut + RANDOM_PIECES, n - RANDOM_PIECES, sizeof(*cut), cmp_u64);
	/* the length is recomputed: the next higher cut bounds each piece */
	for (i = 0; i < n && ok; i++) {
		uint64_t end = size;
		size_t k;

		if (size > MANY && i == RANDOM_PIECES)
			posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
		if (n < 512) {
			for (k = 0; k < n; k++)
				if (cut[k] > cut[i] && cut[k] < end)
					end = cut[k];
		} else if (cut[i] + 40000 < size) {
			end = cut[i] + 40000;
		}
		ok = read_all(fd, filebuf + cut[i], end - cut[i], cut[i], err);
	}
	free(cut);
	posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
	return ok;
}

static bool way_seq(int fd, uint64_t size, uint64_t seed, int *err)
{
	uint64_t pos = 0;
	char extra;

	if (lseek(fd, 0, SEEK_SET)) {
		*err = errno;
		return false;
	}
	while (pos < size) {
		size_t want = seed & 2 ? 128 << 10 : 1 + h128_rand(&seed) % 30000;
		ssize_t n = read(fd, filebuf + pos, want < size - pos ? want : size - pos);

		if (n <= 0) {
			*err = n ? errno : ENODATA;
			return false;
		}
		pos += n;
	}
	if (read(fd, &extra, 1) || pread(fd, &extra, 1, size + page_size))
		snprintf(late, sizeof(late), "data behind the end of the file");
	return true;
}

/* Hash through a mapping; *err is never set: a bad page kills with SIGBUS. */
static bool way_mmap(int fd, uint64_t size, uint64_t seed, struct sum *s, int *err)
{
	size_t pages = (size + page_size - 1) / page_size, i, step;
	volatile unsigned char sink;
	unsigned char *m;

	m = mmap(NULL, size, PROT_READ, seed & 4 ? MAP_PRIVATE : MAP_SHARED, fd, 0);
	if (m == MAP_FAILED) {
		*err = errno;
		return false;
	}
	/* A step that shares no factor with the page count visits all pages. */
	step = pages > 3 ? pages / 2 + 1 : 1;
	while (step < pages && !((step % 2 || pages % 2) && (step % 3 || pages % 3) &&
				 (step % 5 || pages % 5) && (step % 7 || pages % 7)))
		step++;
	for (i = 0; i < pages; i++)
		sink = m[i * step % pages * page_size];
	(void)sink;
	sum_update(s, m, size);
	for (i = size; i < pages * page_size; i++)
		if (m[i]) {
			snprintf(late, sizeof(late), "byte %#x behind EOF in the last page", m[i]);
			break;
		}
	munmap(m, size);
	return true;
}

/* Windows that depend on the size only. */
static bool big_sample(int fd, uint64_t size, bool map, struct sum *s, int *err)
{
	uint64_t at, seed = size;
	unsigned int i;

	for (i = 0; i < 48 + 64; i++) {
		uint64_t len = WINDOW;

		if (i == 0)
			at = 0;
		else if (i == 1)
			at = size - WINDOW;
		else if (i < 48)
			at = (1ULL << i) - WINDOW / 2;
		else
			at = h128_rand(&seed) % (size - WINDOW);
		if (i >= 2 && i < 20)
			continue;
		if (at > size - WINDOW)
			continue;
		if (map) {
			uint64_t base = at / page_size * page_size;
			unsigned char *m;

			m = mmap(NULL, at - base + len, PROT_READ, MAP_SHARED, fd, base);
			if (m == MAP_FAILED) {
				*err = errno;
				return false;
			}
			sum_update(s, m + (at - base), len);
			munmap(m, at - base + len);
		} else {
			if (!read_all(fd, filebuf, len, at, err))
				return false;
			sum_update(s, filebuf, len);
		}
	}
	return true;
}

static bool one_way(int way, int fd, uint64_t size, uint64_t seed, char out[65], int *err)
{
	struct sum s;
	bool ok;

	sum_init(&s);
	if (size > BIG_FILE) {
		ok = big_sample(fd, size, way == WAY_MMAP, &s, err);
	} else if (way == WAY_MMAP) {
		ok = !size || way_mmap(fd, size, seed, &s, err);
	} else {
		memset(filebuf, 0xa5, size);
		ok = way == WAY_RAND ? way_rand(fd, size, seed, err) : way_seq(fd, size, seed, err);
		if (ok)
			sum_update(&s, filebuf, size);
	}
	if (ok)
		sum_final(&s, out);
	return ok;
}

/* Page by page, for damaged images: hash of the good pages and a list of bad ones. */
static void put_pages(int fd, uint64_t size)
{
	uint64_t pages = (size + page_size - 1) / page_size, i, from = 0;
	int prev = 0, err;
	bool first = true;
	struct sum s;
	char out[65];

	if (size > BIG_FILE)
		pages = BIG_FILE / page_size;
	/* Backwards first: each page is looked up without what precedes it. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (i = pages; i-- > 0;)
		if (pread(fd, filebuf, 1, i * page_size) < 0)
			continue;
	sum_init(&s);
	for (i = 0; i <= pages; i++) {
		uint64_t left = size - i * page_size;

		err = 0;
		if (i < pages && read_all(fd, filebuf, left < page_size ? left : page_size,
					  i * page_size, &err))
			sum_update(&s, filebuf, left < page_size ? left : page_size);
		if (i == pages || err != prev) {
			if (prev) {
				trouble = 1;
				printf("%s!%d:%llu-%llu", first ? "" : ",", prev,
				       (unsigned long long)from, (unsigned long long)i - 1);
				first = false;
			}
			from = i;
			prev = err;
		}
	}
	sum_final(&s, out);
	printf("%s%s", first ? "" : ",", out);
}

/* Prints field 13 and the line's end. */
static void put_data(int fd, uint64_t size)
{
	static const int order[] = { WAY_RAND, WAY_MMAP, WAY_SEQ };
	char out[3][65], *good = NULL;
	uint64_t seed = opt_seed * 1000003 + size;
	bool differ = false;
	int err[3] = { 0 };
	unsigned int i;

	if (filebuf_room < (size > BIG_FILE ? WINDOW : size) + page_size) {
		filebuf_room = (size > BIG_FILE ? WINDOW : size) + page_size;
		free(filebuf);
		filebuf = xrealloc(NULL, filebuf_room);
	}
	if (!size) {
		struct sum s;
		char byte;

		sum_init(&s);
		sum_final(&s, out[0]);
		printf("%s\n", out[0]);
		if (read(fd, &byte, 1))
			report("read", errno);
		return;
	}
	if (opt_errors) {
		put_pages(fd, size);
		putchar('\n');
		return;
	}
	for (i = 0; i < 3; i++) {
		if (!(opt_ways & order[i]))
			continue;
		/* a mapping of a bad page kills: use it only after good reads */
		if (order[i] == WAY_MMAP && err[0])
			continue;
		if (good)
			forget(fd);
		if (!one_way(order[i], fd, size, seed + i, out[i], &err[i]))
			continue;
		if (good && strcmp(good, out[i]))
			differ = true;
		good = out[i];
	}
	printf("%s\n", good ? good : "-");
	if (*late)
		mismatch("%s", late);
	*late = 0;
	for (i = 0; i < 3; i++)
		if (err[i])
			report(order[i] == WAY_MMAP ? "mmap" : order[i] == WAY_SEQ ? "read" : "pread",
			       err[i]);
	if (differ)
		mismatch("pread %s mmap %s read %s", opt_ways & WAY_RAND ? out[0] : "-",
			 opt_ways & WAY_MMAP ? out[1] : "-", opt_ways & WAY_SEQ ? out[2] : "-");
}

/* ---- xattrs ---- */

static int cmp_str(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* By descriptor where there is one, else by a path that follows no last link. */
static ssize_t list_xattrs(int fd, const char *proc, char *buf, size_t len)
{
	return fd >= 0 ? flistxattr(fd, buf, len) : llistxattr(proc, buf, len);
}

static ssize_t get_xattr(int fd, const char *proc, const char *name, void *buf, size_t len)
{
	return fd >= 0 ? fgetxattr(fd, name, buf, len) : lgetxattr(proc, name, buf, len);
}

/* Prints field 12; trouble is collected in note[] and reported after the line. */
static void put_xattrs(int fd, const char *proc, char *note, size_t note_len)
{
	static unsigned int calls;
	static char list[XATTR_MAX], value[XATTR_MAX];
	char *names[4096], *p;
	ssize_t len, want;
	int n = 0, i;

	*note = 0;
	if (opt_noxattr) {
		putchar('-');
		return;
	}
	want = list_xattrs(fd, proc, NULL, 0);
	/* Most objects have none: the other checks on every 16th of them. */
	if (!want && calls++ % 16) {
		putchar('-');
		return;
	}
	len = list_xattrs(fd, proc, list, sizeof(list));
	if (want != len)
		snprintf(note, note_len, "listxattr(0) %zd, listxattr %zd", want, len);
	if (len < 0) {
		printf("!%d", errno);
		trouble = 1;
		return;
	}
	if (len > 1 && (list_xattrs(fd, proc, value, len - 1) != -1 || errno != ERANGE))
		snprintf(note, note_len, "listxattr into a short buffer is no ERANGE");
	for (p = list; p < list + len && n < 4096; p += strlen(p) + 1)
		names[n++] = p;
	qsort(names, n, sizeof(*names), cmp_str);
	if (!n)
		putchar('-');
	for (i = 0; i < n; i++) {
		struct h128 h;
		uint64_t out[2];

		if (i)
			putchar(',');
		put_escaped(names[i], strlen(names[i]));
		if (i && !strcmp(names[i], names[i - 1]))
			snprintf(note, note_len, "xattr name listed twice");
		want = get_xattr(fd, proc, names[i], NULL, 0);
		len = get_xattr(fd, proc, names[i], value, sizeof(value));
		if (len < 0) {
			printf("=!%d", errno);
			trouble = 1;
			continue;
		}
		if (want != len)
			snprintf(note, note_len, "getxattr(0) %zd, getxattr %zd", want, len);
		h128_init(&h, 0);
		h128_update(&h, value, len);
		h128_final(&h, out);
		printf("=%zd:%016llx", len, (unsigned long long)(out[0] ^ out[1]));
		if (len > 1 &&
		    (get_xattr(fd, proc, names[i], value, len - 1) != -1 || errno != ERANGE))
			snprintf(note, note_len, "getxattr into a short buffer is no ERANGE");
	}
	if (get_xattr(fd, proc, "user.no-such-attribute", value, 1) != -1 ||
	    (errno != ENODATA && errno != EPERM))
		snprintf(note, note_len, "absent xattr: errno %d", errno);
}

/* ---- links ---- */

struct seen {
	uint64_t ino;
	char *path;
};

static struct seen *seen;
static size_t seen_n, seen_room;	/* open addressing, room is a power of two */

static struct seen *seen_slot(struct seen *tab, size_t room, uint64_t ino)
{
	size_t i = h128_mix(ino + 1) & (room - 1);

	while (tab[i].path && tab[i].ino != ino)
		i = (i + 1) & (room - 1);
	return tab + i;
}

/* First path of this inode; NULL if this is the first. */
static const char *seen_find(uint64_t ino)
{
	struct seen *s;
	size_t i;

	if (2 * seen_n >= seen_room) {
		size_t room = seen_room ? 2 * seen_room : 256;
		struct seen *tab = calloc(room, sizeof(*tab));

		if (!tab)
			exit(2);
		for (i = 0; i < seen_room; i++)
			if (seen[i].path)
				*seen_slot(tab, room, seen[i].ino) = seen[i];
		free(seen);
		seen = tab;
		seen_room = room;
	}
	s = seen_slot(seen, seen_room, ino);
	if (s->path)
		return s->path;
	s->ino = ino;
	s->path = strdup(path);
	seen_n++;
	return NULL;
}

/* ---- tree ---- */

static size_t path_push(const char *name)
{
	size_t old = path_len, n = strlen(name);

	if (path_len + n + 2 > path_room) {
		path_room = 2 * (path_len + n + 2);
		path = xrealloc(path, path_room);
	}
	if (path_len)
		path[path_len++] = '/';
	memcpy(path + path_len, name, n + 1);
	path_len += n;
	return old;
}

static void path_pop(size_t old)
{
	path_len = old;
	path[old] = 0;
}

struct entry {
	char *name;
	uint64_t ino;
	unsigned char type;
	long pos;		/* telldir before the entry */
};

static int cmp_entry(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void do_dir(int fd, uint64_t ino, uint64_t parent);

static void do_object(int dirfd, const char *name, const struct entry *e, uint64_t parent)
{
	char proc[64 + 256], note[128];
	const char *first = NULL;
	char type;
	struct stat st;
	int fd = -1;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) {
		report("stat", errno);
		return;
	}
	type = S_ISREG(st.st_mode) ? 'f' : S_ISDIR(st.st_mode) ? 'd' : S_ISLNK(st.st_mode) ? 'l' :
	       S_ISCHR(st.st_mode) ? 'c' : S_ISBLK(st.st_mode) ? 'b' : S_ISFIFO(st.st_mode) ? 'p' :
	       S_ISSOCK(st.st_mode) ? 's' : '?';
	*proc = 0;
	if (type != 'd' && st.st_nlink > 1)
		first = seen_find(st.st_ino);
	if ((type == 'f' && !first) || type == 'd') {
		fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | (type == 'd' ? O_DIRECTORY : 0));
		if (fd < 0)
			report("open", errno);
	}
	if (fd < 0)
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d/%s", dirfd, name);
	put_path();
	printf(" %c %04o %u %u ", type, st.st_mode & 07777, st.st_uid, st.st_gid);
	if (type == 'd')
		printf("-");
	else
		printf("%lld", (long long)st.st_size);
	printf(" %lld.%09ld %llu ", (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
	       (unsigned long long)st.st_nlink);
	if (type == 'c' || type == 'b')
		printf("%u:%u ", major(st.st_rdev), minor(st.st_rdev));
	else
		printf("- ");
	if (type != 'd' && st.st_nlink > 1) {
		put_escaped(first ? first : path, strlen(first ? first : path));
		putchar(' ');
	} else {
		printf("- ");
	}
	if (type == 'l') {
		static char target[65536];
		ssize_t n = readlinkat(dirfd, name, target, sizeof(target));

		if (n < 0) {
			trouble = 1;
			printf("!%d ", errno);
		} else {
			put_escaped(target, n);
			putchar(' ');
		}
	} else {
		printf("- ");
	}
	*note = 0;
	if (first)
		putchar('=');
	else
		put_xattrs(fd, proc, note, sizeof(note));
	putchar(' ');
	if (type == 'f' && first)
		printf("=\n");
	else if (type == 'f' && fd >= 0)
		put_data(fd, st.st_size);
	else
		printf("-\n");
	if (*note)
		mismatch("%s", note);
	if (e && e->type != DT_UNKNOWN && e->type != IFTODT(st.st_mode))
		mismatch("d_type %u, mode %o", e->type, st.st_mode);
	if (e && opt_dino && e->ino != st.st_ino)
		mismatch("d_ino %llu, st_ino %llu", (unsigned long long)e->ino,
			 (unsigned long long)st.st_ino);
	if (type == 'd' && fd >= 0)
		do_dir(fd, st.st_ino, parent);
	else if (fd >= 0)
		close(fd);
}

static void do_dir(int fd, uint64_t ino, uint64_t parent)
{
	struct entry *list = NULL;
	size_t n = 0, room = 0, i, mid;
	int dot = 0, dotdot = 0, repeats = 0;
	struct dirent *d;
	DIR *dir = fdopendir(fd);
	long pos;

	if (!dir) {
		report("opendir", errno);
		close(fd);
		return;
	}
	for (;;) {
		pos = telldir(dir);
		errno = 0;
		d = readdir(dir);
		if (!d)
			break;
		if (!strcmp(d->d_name, ".")) {
			dot++;
			if (opt_dino && d->d_ino != ino)
				mismatch("inode of . differs");
			continue;
		}
		if (!strcmp(d->d_name, "..")) {
			dotdot++;
			if (opt_dino && parent && d->d_ino != parent)
				mismatch("inode of .. differs");
			continue;
		}
		if (n == room) {
			room = room ? 2 * room : 64;
			list = xrealloc(list, room * sizeof(*list));
		}
		list[n].name = strdup(d->d_name);
		list[n].ino = d->d_ino;
		list[n].type = d->d_type;
		list[n++].pos = pos;
		repeats = n > 1 && !strcmp(d->d_name, list[n - 2].name) ? repeats + 1 : 0;
		if (n > 4000000 || repeats > 3) {
			mismatch("endless directory");
			break;
		}
	}
	if (errno)
		report("readdir", errno);
	else if (dot != 1 || dotdot != 1)
		mismatch("%d times . and %d times ..", dot, dotdot);
	if (n) {
		/* continue from a remembered place */
		mid = n / 2;
		seekdir(dir, list[mid].pos);
		d = readdir(dir);
		if (!d || (strcmp(d->d_name, list[mid].name) && *d->d_name != '.'))
			mismatch("seekdir does not come back to its place");
	}
	qsort(list, n, sizeof(*list), cmp_entry);
	for (i = 0; i < n; i++) {
		size_t old = path_push(list[i].name);

		if (i && !strcmp(list[i].name, list[i - 1].name))
			mismatch("name listed twice");
		if (path_len > 100000)
			mismatch("path too deep");
		else
			do_object(fd, list[i].name, &list[i], ino);
		path_pop(old);
	}
	for (i = 0; i < n; i++)
		free(list[i].name);
	free(list);
	closedir(dir);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: digest [-m rand,mmap,seq] [-s] [-e] [-x] [-i] [-k] [-r SEED] DIR\n"
		" -m  ways to read regular files (default: all; \"none\" reads nothing)\n"
		" -s  SHA-256 for contents instead of the fast 128-bit hash\n"
		" -e  read page by page and list the pages that fail, with errno\n"
		" -x  leave xattrs out\n"
		" -i  do not compare d_ino with st_ino (overlayfs)\n"
		" -k  keep the page cache between the ways\n"
		" -r  seed of the random reads\n");
	exit(2);
}

int main(int argc, char **argv)
{
	int c, fd;

	while ((c = getopt(argc, argv, "m:sexikr:")) != -1) {
		switch (c) {
		case 'm':
			opt_ways = (strstr(optarg, "rand") ? WAY_RAND : 0) |
				   (strstr(optarg, "mmap") ? WAY_MMAP : 0) |
				   (strstr(optarg, "seq") ? WAY_SEQ : 0);
			if (!opt_ways && strcmp(optarg, "none"))
				usage();
			break;
		case 's':
			opt_sha = true;
			break;
		case 'e':
			opt_errors = true;
			break;
		case 'x':
			opt_noxattr = true;
			break;
		case 'i':
			opt_dino = false;
			break;
		case 'k':
			opt_keep = true;
			break;
		case 'r':
			opt_seed = strtoull(optarg, NULL, 0);
			break;
		default:
			usage();
		}
	}
	if (optind + 1 != argc)
		usage();
	page_size = sysconf(_SC_PAGESIZE);
	path_room = 256;
	path = xrealloc(NULL, path_room);
	*path = 0;
	fd = open(argv[optind], O_RDONLY | O_DIRECTORY);
	if (fd < 0) {
		report("open", errno);
		return 1;
	}
	if (access("/proc/self/fd", X_OK)) {
		fprintf(stderr, "digest: /proc is not mounted\n");
		return 2;
	}
	do_object(fd, ".", NULL, 0);
	if (fflush(stdout) || ferror(stdout))
		return 2;
	return trouble;
}
