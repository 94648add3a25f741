/* links: ondisk.c map.c zmap.c dirent.c xattr_core.c decompressor_lz4.c decompressor_lzma.c decompressor_deflate.c decompressor_zstd.c; libs: -lz -lzstd */
/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read an image with the pure core and print its tree in the format of
 * digest.c, so that it can be compared with the source tree by cmp:
 *
 *	erofs_walk [-q] [-o OFFSET] IMAGE [DEVICE...]
 *
 * Each name is also looked up, and each xattr is read by name.  -q prints
 * nothing but errors; -o: the volume starts at that byte of the image.  Exit status: 0 complete, 1 errors were printed, 2 usage.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core.h"
#include "tests/port/image.h"
#include "tests/tools/hash128.h"

#define BIG_FILE	(64ULL << 20)	/* sampled as in digest.c */
#define WINDOW		65536
#define MAX_DEPTH	2000

static int trouble;
static bool quiet;
static char path[1 << 20];
static size_t path_len;

static void put_escaped(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		u8 c = (u8)s[i];

		if (c < 0x21 || c > 0x7e || c == '\\' || c == ',' || c == '=')
			printf("\\x%02x", c);
		else
			putchar(c);
	}
}

static void report(const char *call, int err)
{
	trouble = 1;
	put_escaped(path_len ? path : ".", path_len ? path_len : 1);
	printf(" !%s %d\n", call, -err);
}

/* ---- content ---------------------------------------------------------------- */

static int hash_range(struct image_file *f, u64 at, u64 len, struct h128 *h)
{
	static u8 buf[WINDOW];

	while (len) {
		u64 n = min_t(u64, len, sizeof(buf));
		int err = image_file_read(f, at, buf, n);

		if (err)
			return err;
		h128_update(h, buf, n);
		at += n;
		len -= n;
	}
	return 0;
}

/* the windows that digest.c looks at */
static int hash_big(struct image_file *f, struct h128 *h)
{
	u64 size = f->d.size, seed = size, at;
	u32 i;
	int err;

	for (i = 0; i < 48 + 64; i++) {
		if (i == 0)
			at = 0;
		else if (i == 1)
			at = size - WINDOW;
		else if (i < 48)
			at = (1ULL << i) - WINDOW / 2;
		else
			at = h128_rand(&seed) % (size - WINDOW);
		if ((i >= 2 && i < 20) || at > size - WINDOW)
			continue;
		err = hash_range(f, at, WINDOW, h);
		if (err)
			return err;
	}
	return 0;
}

static void put_data(struct image_file *f)
{
	struct h128 h;
	u64 out[2];
	int err;

	h128_init(&h, 0);
	if (f->d.size > BIG_FILE)
		err = hash_big(f, &h);
	else
		err = hash_range(f, 0, f->d.size, &h);
	if (err) {
		if (!quiet)
			printf("-\n");
		report("read", err);
		return;
	}
	h128_final(&h, out);
	if (!quiet)
		printf("%016llx%016llx\n", (unsigned long long)out[0], (unsigned long long)out[1]);
}

/* ---- xattrs --------------------------------------------------------------------- */

struct attr {
	u8 index;
	char name[256];
	u32 len;
	char full[320];
};

struct attrs {
	struct attr *v;
	u32 n;
};

static const char *index_prefix(u8 index)
{
	switch (index) {
	case EROFS_XATTR_INDEX_USER:
		return "user.";
	case EROFS_XATTR_INDEX_POSIX_ACL_ACCESS:
		return "system.posix_acl_access";
	case EROFS_XATTR_INDEX_POSIX_ACL_DEFAULT:
		return "system.posix_acl_default";
	case EROFS_XATTR_INDEX_TRUSTED:
		return "trusted.";
	case EROFS_XATTR_INDEX_SECURITY:
		return "security.";
	}
	return "?";
}

static int attr_fn(void *priv, u8 index, const char *infix, u32 infixlen,
		   const char *name, u32 namelen)
{
	struct attrs *a = priv;
	struct attr *n;

	a->v = realloc(a->v, (a->n + 1) * sizeof(*a->v));
	if (!a->v)
		exit(2);
	n = &a->v[a->n++];
	memset(n, 0, sizeof(*n));
	n->index = index;
	n->len = infixlen + namelen;
	memcpy(n->name, infix, infixlen);
	memcpy(n->name + infixlen, name, namelen);
	sprintf(n->full, "%s%s", index_prefix(index), n->name);
	return 0;
}

static int attr_cmp(const void *a, const void *b)
{
	return strcmp(((const struct attr *)a)->full, ((const struct attr *)b)->full);
}

static void put_xattrs(struct image_file *f)
{
	static char value[65536];
	struct erofs_xattr_ctx x;
	struct attrs a = { 0 };
	int err;
	u32 i;

	image_xattr_ctx(f, &x);
	err = erofs_xattr_list(&x, attr_fn, &a);
	if (err)
		report("listxattr", err);
	if (a.n)
		qsort(a.v, a.n, sizeof(*a.v), attr_cmp);
	if (!a.n && !quiet)
		putchar('-');
	for (i = 0; i < a.n; i++) {
		struct attr *n = &a.v[i];
		struct h128 h;
		u64 out[2];
		int ret;

		ret = erofs_xattr_find(&x, n->index, n->name, n->len, value, sizeof(value));
		if (ret < 0) {
			report("getxattr", ret);
			continue;
		}
		h128_init(&h, 0);
		h128_update(&h, value, ret);
		h128_final(&h, out);
		if (quiet)
			continue;
		if (i)
			putchar(',');
		put_escaped(n->full, strlen(n->full));
		printf("=%d:%016llx", ret, (unsigned long long)(out[0] ^ out[1]));
	}
	if (erofs_xattr_find(&x, 1, "no-such-attribute", 17, NULL, 0) != -ENODATA)
		report("getxattr of nothing", 0);
	free(a.v);
}

/* ---- tree --------------------------------------------------------------------------- */

struct seen {
	u64 nid;
	char *path;
	struct seen *next;
};

static struct seen *seen[4096];

static const char *seen_find(u64 nid)
{
	struct seen **b = &seen[h128_mix(nid + 1) % ARRAY_SIZE(seen)], *s;

	for (s = *b; s; s = s->next)
		if (s->nid == nid)
			return s->path;
	s = malloc(sizeof(*s));
	s->nid = nid;
	s->path = strdup(path);
	s->next = *b;
	*b = s;
	return NULL;
}

struct entry {
	u64 nid;
	char *name;
	u8 ftype;
};

struct entries {
	struct entry *v;
	size_t n;
	u32 dots;
};

static int entry_fn(void *priv, const struct erofs_dirent_desc *e)
{
	struct entries *l = priv;

	if (e->namelen <= 2 && !memcmp(e->name, "..", e->namelen)) {
		l->dots |= e->namelen;
		return 0;
	}
	l->v = realloc(l->v, (l->n + 1) * sizeof(*l->v));
	if (!l->v)
		exit(2);
	l->v[l->n].nid = e->nid;
	l->v[l->n].ftype = e->ftype;
	l->v[l->n].name = strndup(e->name, e->namelen);
	l->n++;
	return 0;
}

static int entry_cmp(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void do_dir(struct image_file *f, u32 depth);

static void put_target(struct image_file *f)
{
	static char target[65536];
	int err;

	if (f->d.size >= sizeof(target)) {
		report("readlink", -EFSCORRUPTED);
		return;
	}
	err = image_file_read(f, 0, target, f->d.size);
	if (err)
		report("readlink", err);
	else if (!quiet)
		put_escaped(target, f->d.size);
}

static const char *ftype_letters = "?fdcbpsl";

static char type_letter(u16 mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return 'f';
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFCHR:
		return 'c';
	case S_IFBLK:
		return 'b';
	case S_IFIFO:
		return 'p';
	}
	return 's';
}

static void do_object(struct image_file *f, u8 ftype, u32 depth)
{
	const struct erofs_inode_desc *d = &f->d;
	char type = type_letter(d->mode);
	const char *first = NULL;

	if (type != 'd' && d->nlink > 1)
		first = seen_find(d->nid);
	if (!quiet) {
		put_escaped(path_len ? path : ".", path_len ? path_len : 1);
		printf(" %c %04o %u %u ", type, d->mode & 07777, d->uid, d->gid);
		if (type == 'd')
			printf("- ");
		else
			printf("%llu ", (unsigned long long)d->size);
		printf("%lld.%09u %u ", (long long)d->mtime, d->mtime_nsec, d->nlink);
		if (type == 'c' || type == 'b')
			printf("%u:%u ", d->rdev >> 8 & 0xfff,
			       (d->rdev & 0xff) | (d->rdev >> 12 & 0xfff00));
		else
			printf("- ");
		if (type != 'd' && d->nlink > 1)
			put_escaped(first ? first : path, strlen(first ? first : path));
		else
			printf("-");
		putchar(' ');
	}
	if (type == 'l')
		put_target(f);
	else if (!quiet)
		putchar('-');
	if (!quiet)
		putchar(' ');
	put_xattrs(f);
	if (!quiet)
		putchar(' ');
	if (type == 'f' && !first)
		put_data(f);
	else if (!quiet)
		puts(type == 'f' ? "=" : "-");
	if (ftype && (ftype >= 8 || ftype_letters[ftype] != type))
		report("type of the entry", 0);
	if (type == 'd')
		do_dir(f, depth);
}

static void do_dir(struct image_file *f, u32 depth)
{
	struct entries l = { 0 };
	struct image *im = f->im;
	size_t i, old = path_len;
	u64 nid;
	int err;

	if (depth > MAX_DEPTH) {
		report("depth", -ELOOP);
		return;
	}
	err = image_dir_each(f, entry_fn, &l);
	if (err)
		report("readdir", err);
	else if (l.dots != (f->d.dot_omitted ? 2 : 3))
		report("dots", 0);
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), entry_cmp);
	for (i = 0; i < l.n; i++) {
		struct image_file child;
		size_t n = strlen(l.v[i].name);

		if (path_len + n + 2 > sizeof(path))
			break;
		if (path_len)
			path[path_len++] = '/';
		memcpy(path + path_len, l.v[i].name, n + 1);
		path_len += n;
		err = image_lookup(f, l.v[i].name, n, &nid);
		if (err || nid != l.v[i].nid)
			report("lookup", err);
		err = image_file_open(im, l.v[i].nid, &child);
		if (err)
			report("stat", err);
		else
			do_object(&child, l.v[i].ftype, depth + 1);
		image_file_close(&child);
		path_len = old;
		path[old] = 0;
		free(l.v[i].name);
	}
	/* names that nobody uses, first and last in the order */
	if (!err && l.n && (image_lookup(f, "\x01 no such", 9, &nid) != -ENOENT ||
			    image_lookup(f, "\xff no such", 9, &nid) != -ENOENT))
		report("lookup of nothing", 0);
	free(l.v);
}

static const u8 *load(const char *name, u64 *size)
{
	struct stat st;
	void *p;
	int fd = open(name, O_RDONLY);

	if (fd < 0 || fstat(fd, &st)) {
		perror(name);
		exit(2);
	}
	*size = st.st_size;
	p = mmap(NULL, st.st_size ? st.st_size : 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		perror(name);
		exit(2);
	}
	close(fd);
	return p;
}

int main(int argc, char **argv)
{
	static struct image im;
	struct image_file root;
	u64 offset = 0;
	int i, err, c;

	while ((c = getopt(argc, argv, "qo:")) != -1) {
		if (c == 'q')
			quiet = true;
		else if (c == 'o')
			offset = strtoull(optarg, NULL, 0);
		else
			argc = 0;
	}
	i = optind;
	if (i >= argc || argc - i - 1 > IMAGE_MAX_BLOBS) {
		fprintf(stderr, "usage: erofs_walk [-q] [-o OFFSET] IMAGE [DEVICE...]\n");
		return 2;
	}
	im.data = load(argv[i++], &im.size);
	if (offset > im.size) {
		fprintf(stderr, "erofs_walk: the image is shorter than the offset\n");
		return 2;
	}
	im.data += offset;
	im.size -= offset;
	im.budget = U64_MAX;
	for (; i < argc; i++, im.nr_blobs++)
		im.blob[im.nr_blobs] = load(argv[i], &im.blob_size[im.nr_blobs]);

	err = image_open(&im, &root);
	if (err) {
		const struct erofs_fault *f = im.fault.what ? &im.fault : &im.prim.m.fault;

		report("mount", err);
		fprintf(stderr, "erofs_walk: %s (position %llu, value %llu)\n",
			f->what ? f->what : "can't be mounted", (unsigned long long)f->off,
			(unsigned long long)f->value);
	} else {
		do_object(&root, 0, 0);
	}
	image_file_close(&root);
	image_close(&im);
	if (fflush(stdout) || ferror(stdout))
		return 2;
	return trouble;
}
