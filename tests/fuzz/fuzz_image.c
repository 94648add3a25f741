/* links: ondisk.c map.c zmap.c dirent.c xattr_core.c decompressor_lz4.c decompressor_lzma.c decompressor_deflate.c decompressor_zstd.c; libs: -lz -lzstd */
/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whole volumes: mount, walk the tree, look names up, read content and xattrs.
 * The input is an image; its first 1024 bytes are left out.  Work is bounded by
 * a budget, since a small image may describe a lot of data.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/port/image.h"

#define BUDGET		(6ULL << 20)
#define INPUT_MAX	(256 << 10)
#define MAX_DEPTH	12
#define WINDOW		20000

struct walk {
	struct image_file *dir;
	u32 depth;
};

static u8 buf[65536];

static int attr_fn(void *priv, u8 index, const char *infix, u32 infixlen,
		   const char *name, u32 namelen)
{
	struct image_file *f = priv;
	struct erofs_xattr_ctx x;
	char full[255];

	FUZZ_ASSERT(infixlen + namelen <= sizeof(full));
	if (image_spend(f->im, 0))
		return 1;
	memcpy(full, infix, infixlen);
	memcpy(full + infixlen, name, namelen);
	image_xattr_ctx(f, &x);
	return erofs_xattr_find(&x, index, full, infixlen + namelen, buf, sizeof(buf)) < 0;
}

static void read_window(struct image_file *f, u64 at)
{
	u64 n;

	if (at >= f->d.size)
		return;
	n = min_t(u64, WINDOW, f->d.size - at);
	/* what reads return must not depend on what was read before */
	if (!image_file_read(f, at, buf, n) && n > 10) {
		u8 some[10];
		u64 mid = n / 2;

		if (!image_file_read(f, at + mid - 5, some, sizeof(some)))
			FUZZ_ASSERT(!memcmp(some, buf + mid - 5, sizeof(some)));
	}
}

static int entry_fn(void *priv, const struct erofs_dirent_desc *e);

static void visit(struct image_file *f, u32 depth)
{
	struct erofs_xattr_ctx x;
	int ret;

	image_xattr_ctx(f, &x);
	ret = erofs_xattr_list(&x, attr_fn, f);
	FUZZ_ASSERT(ret <= 1);
	ret = erofs_xattr_find(&x, 0, "erofs.fingerprint.v1", 20, buf, sizeof(buf));
	FUZZ_ASSERT(ret <= (int)sizeof(buf));

	if (!image_has_data(&f->d))
		return;
	read_window(f, 0);
	if (f->d.size > WINDOW) {
		read_window(f, f->d.size - 5000);
		read_window(f, f->d.size / 2);
		read_window(f, f->d.size / 3);
	}
	if (S_ISDIR(f->d.mode) && depth < MAX_DEPTH) {
		struct walk w = { .dir = f, .depth = depth + 1 };

		ret = image_dir_each(f, entry_fn, &w);
		FUZZ_ASSERT(ret <= 1);
	}
}

static int entry_fn(void *priv, const struct erofs_dirent_desc *e)
{
	struct walk *w = priv;
	struct image_file child;
	char name[255];
	u64 nid;

	/* the content of the directory's block may go while it is looked up */
	memcpy(name, e->name, e->namelen);
	if (image_spend(w->dir->im, 100))
		return 1;
	image_lookup(w->dir, name, e->namelen, &nid);
	if (e->namelen <= 2 && !memcmp(name, "..", e->namelen))
		return 0;
	if (!image_file_open(w->dir->im, e->nid, &child))
		visit(&child, w->depth);
	image_file_close(&child);
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct image_file root;
	struct image *im;
	u8 *img;
	int err;

	if (size > INPUT_MAX || size < 128)
		return 0;
	im = calloc(1, sizeof(*im));
	img = calloc(1, EROFS_SUPER_OFFSET + size);
	if (!im || !img)
		abort();
	memcpy(img + EROFS_SUPER_OFFSET, data, size);
	/* checksums are tested elsewhere */
	img[EROFS_SUPER_OFFSET + 8] &= (u8)~EROFS_FEATURE_COMPAT_SB_CHKSUM;

	im->data = img;
	im->size = EROFS_SUPER_OFFSET + size;
	im->budget = BUDGET;
	err = image_open(im, &root);
	FUZZ_ASSERT(err <= 0);
	if (!err)
		visit(&root, 0);
	image_file_close(&root);
	image_close(im);
	free(im);
	free(img);
	return 0;
}
