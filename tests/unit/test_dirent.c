/* links: dirent.c */
/* SPDX-License-Identifier: GPL-2.0 */
/* Search and walk inside one directory block. */
#include "core.h"
#include "tests/port/memimg.h"
#include "tests/port/check.h"
#include "tests/unit/golden.h"

#define MAX_NAMES	400

struct name {
	char s[256];
	u32 len;
};

static struct name names[MAX_NAMES];
static u32 nr;
static u8 blk[4096];
static u32 used;
static struct erofs_fault fault;

static void put16(u8 *p, u32 v)
{
	p[0] = (u8)v;
	p[1] = (u8)(v >> 8);
}

static void set_nameoff(u32 i, u32 v)
{
	put16(blk + 12 * i + 8, v);
}

static void add(const char *s, u32 len)
{
	memcpy(names[nr].s, s, len);
	names[nr++].len = len;
}

/* a block of the collected names, in their order; nid = 1000 + i */
static void build(void)
{
	u32 i;

	memset(blk, 0, sizeof(blk));
	used = 12 * nr;
	for (i = 0; i < nr; i++) {
		put16(blk + 12 * i, 1000 + i);
		blk[12 * i + 7] = 0x80;
		set_nameoff(i, used);
		blk[12 * i + 10] = (u8)i;
		blk[12 * i + 11] = 0xee;
		memcpy(blk + used, names[i].s, names[i].len);
		used += names[i].len;
	}
}

/* the block in memory of its exact size */
static u8 *fresh(struct erofs_dblk *b, u32 len, int *err)
{
	u8 *p = malloc(len ? len : 1);

	memcpy(p, blk, len);
	memset(&fault, 0, sizeof(fault));
	*err = erofs_dblk_init(b, p, len, 4096, &fault);
	if (*err)
		CHECK(fault.what);
	return p;
}

static int init_err(u32 len)
{
	struct erofs_dblk b;
	int err;

	free(fresh(&b, len, &err));
	CHECK(err ? !b.count : b.count > 0);
	return err;
}

static int entry_err(u32 len, u32 i)
{
	struct erofs_dirent_desc d;
	struct erofs_dblk b;
	u8 *p;
	int err;

	p = fresh(&b, len, &err);
	CHECK_EQ(err, 0);
	err = erofs_dblk_entry(&b, i, &d, &fault);
	free(p);
	return err;
}

/* does a look at all names at once find nothing wrong? */
static bool scan(u32 len)
{
	struct erofs_dirent_desc d;
	struct erofs_dblk b;
	bool clean;
	u8 *p;
	int err;

	p = fresh(&b, len, &err);
	CHECK_EQ(err, 0);
	erofs_dblk_scan(&b);
	clean = erofs_dblk_next(&b, 0, &d);
	free(p);
	return clean;
}

static u32 guess = U32_MAX;	/* the entry that find_err() has tried first */

static int find_err(u32 len, const char *name, u32 namelen, u64 *nid, int *cmp)
{
	struct erofs_dirent_desc d, e;
	struct erofs_dblk b;
	u32 at;
	u8 *p;
	int err;

	p = fresh(&b, len, &err);
	CHECK_EQ(err, 0);
	at = guess;
	err = erofs_dblk_find(&b, name, namelen, &at, &d, cmp, &fault);
	if (!err) {
		CHECK(at < b.count);
		CHECK(!erofs_dblk_entry(&b, at, &e, &fault) && e.name == d.name && e.nid == d.nid);
		CHECK(d.namelen == namelen && !memcmp(d.name, name, namelen));
		*nid = d.nid;
	}
	free(p);
	return err;
}

static int by_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int c = memcmp(x->s, y->s, x->len < y->len ? x->len : y->len);

	return c ? c : (int)x->len - (int)y->len;
}

/* sort, drop duplicates */
static void sort_names(void)
{
	u32 i, out = 0;

	qsort(names, nr, sizeof(names[0]), by_name);
	for (i = 0; i < nr; i++)
		if (!out || by_name(&names[out - 1], &names[i]))
			names[out++] = names[i];
	nr = out;
}

static bool known(const struct name *n)
{
	return bsearch(n, names, nr, sizeof(names[0]), by_name);
}

/* each name is found, and what isn't there is on the right side of entry 0 */
static void check_block(u32 len)
{
	struct erofs_dirent_desc d;
	struct erofs_dblk b;
	u64 nid = 0;
	int err, cmp;
	u8 *p;
	u32 i;

	p = fresh(&b, len, &err);
	CHECK_EQ(err, 0);
	CHECK_EQ(b.count, nr);
	for (i = 0; i < nr && !err; i++) {
		CHECK_EQ(erofs_dblk_entry(&b, i, &d, &fault), 0);
		CHECK(d.nid == (1000 + i) + (0x80ull << 56));
		CHECK_EQ(d.ftype, (u8)i);
		CHECK(d.namelen == names[i].len && !memcmp(d.name, names[i].s, d.namelen));
	}
	CHECK_EQ(erofs_dblk_entry(&b, nr, &d, &fault), -EFSCORRUPTED);
	/* nothing is easy before the characters were looked at, then all but the last */
	CHECK(!erofs_dblk_next(&b, 0, &d));
	erofs_dblk_scan(&b);
	for (i = 0; i <= nr; i++) {
		CHECK_EQ(erofs_dblk_next(&b, i, &d), i + 1 < nr);
		if (i + 1 >= nr)
			continue;
		CHECK(d.nid == (1000 + i) + (0x80ull << 56));
		CHECK_EQ(d.ftype, (u8)i);
		CHECK(d.namelen == names[i].len && !memcmp(d.name, names[i].s, d.namelen));
	}
	free(p);

	for (i = 0; i < nr; i++) {
		struct name n = names[i];

		/* whatever is tried first: right, wrong, or no entry at all */
		for (guess = i - 2; guess != i + 2; guess++) {
			CHECK_EQ(find_err(len, n.s, n.len, &nid, &cmp), 0);
			CHECK(nid == (1000 + i) + (0x80ull << 56));
			CHECK(cmp >= 0);
		}
		guess = U32_MAX;

		/* its neighbours in the order of all names */
		if (n.len < 255) {
			n.s[n.len++] = 1;
			if (!known(&n)) {
				CHECK_EQ(find_err(len, n.s, n.len, &nid, &cmp), -ENOENT);
				CHECK_EQ(cmp, i == nr - 1);
			}
			n.len--;
		}
		if (n.len > 1 && n.s[n.len - 1] != 1) {
			n.s[n.len - 1]--;
			if (!known(&n)) {
				CHECK_EQ(find_err(len, n.s, n.len, &nid, &cmp), -ENOENT);
				CHECK_EQ(cmp, by_name(&n, &names[0]) < 0 ? -1 :
					      by_name(&n, &names[nr - 1]) > 0);
			}
		}
	}
}

static void test_valid(void)
{
	char s[256];
	u32 round, rnd = 99, i, k;

	/* one entry */
	nr = 0;
	add("..", 2);
	build();
	check_block(used);
	check_block(4096);

	/* bytes around '.', 0x80 and 0xff, prefixes of each other */
	nr = 0;
	add("\x01", 1);
	add("-", 1);
	add(".", 1);
	add("..", 2);
	add("...", 3);
	add("a", 1);
	add("aa", 2);
	add("ab", 2);
	add("b", 1);
	add("\x7f", 1);
	add("\x80", 1);
	add("\xff", 1);
	add("\xff\xff", 2);
	sort_names();
	build();
	check_block(used);		/* a tail ends with its last name */
	check_block(used + 1);		/* or has a terminator */
	check_block(4096);

	/* names of 255 bytes, also as the last one, with and without terminator */
	nr = 0;
	memset(s, 'x', sizeof(s));
	for (i = 0; i < 14; i++) {
		s[254] = (char)('a' + i);
		add(s, 255);
	}
	build();
	check_block(used);
	check_block(used + 1);
	check_block(4096);

	/* a block full to the last byte */
	nr = 0;
	for (i = 0; i < 240; i++) {
		sprintf(s, "%05u", i);
		add(s, 5);
	}
	build();
	CHECK_EQ(used, 240 * 17);
	memcpy(names[239].s, "9abcdefghijklmnopqrstuvwxyz", 21);
	names[239].len = 21;
	build();
	CHECK_EQ(used, 4096);
	check_block(4096);

	for (round = 0; round < 60; round++) {
		u32 room = 4096;

		nr = 0;
		while (nr < MAX_NAMES) {
			u32 len = 1 + memimg_random(&rnd) % (round & 1 ? 255 : 8);

			if (room < len + 12)
				break;
			room -= len + 12;
			for (k = 0; k < len; k++) {
				do {
					s[k] = (char)(round & 2 ? 'a' + memimg_random(&rnd) % 2 :
						      memimg_random(&rnd));
				} while (!s[k] || s[k] == '/');
			}
			add(s, len);
		}
		sort_names();
		build();
		check_block(used);
		check_block(4096);
	}
}

static void test_golden(void)
{
	u8 img[GOLDEN_SIZE];

	golden_image(img);
	memcpy(blk, img + 0x4a0, 0x69);
	{
		struct erofs_dirent_desc d;
		struct erofs_dblk b;
		u32 at = 0;
		int err, cmp;
		u8 *p = fresh(&b, 0x69, &err);

		CHECK_EQ(err, 0);
		CHECK_EQ(b.count, 7);
		CHECK_EQ(erofs_dblk_find(&b, "hard", 4, &at, &d, &cmp, &fault), 0);
		CHECK_EQ(d.nid, 0x2d);
		CHECK_EQ(d.ftype, 1);
		CHECK_EQ(erofs_dblk_find(&b, "link", 4, &at, &d, &cmp, &fault), 0);
		CHECK_EQ(d.nid, 0x30);
		CHECK_EQ(d.ftype, 7);
		CHECK_EQ(erofs_dblk_find(&b, "..", 2, &at, &d, &cmp, &fault), 0);
		CHECK_EQ(d.nid, 36);
		CHECK_EQ(erofs_dblk_find(&b, "lin", 3, &at, &d, &cmp, &fault), -ENOENT);
		CHECK_EQ(cmp, 0);
		CHECK_EQ(erofs_dblk_find(&b, "-", 1, &at, &d, &cmp, &fault), -ENOENT);
		CHECK_EQ(cmp, -1);
		free(p);
	}
}

static void three(void)
{
	nr = 0;
	add("aaa", 3);
	add("bbb", 3);
	add("ccc", 3);
	build();
}

static void test_damage(void)
{
	char s[256];
	u64 nid;
	u32 i;
	int cmp;

	/* 41: the first name offset */
	three();
	CHECK_EQ(init_err(used), 0);
	for (i = 0; i < 65536; i++) {
		bool ok = i && i % 12 == 0 && i < 100;

		set_nameoff(0, i);
		if (init_err(100) != (ok ? 0 : -EFSCORRUPTED))
			CHECK(!"first name offset");
	}
	set_nameoff(0, 4092);
	CHECK_EQ(init_err(4096), 0);
	set_nameoff(0, 4104);
	CHECK_EQ(init_err(4096), -EFSCORRUPTED);
	/* short and overlong blocks */
	three();
	for (i = 1; i <= 36; i++)
		CHECK_EQ(init_err(i), -EFSCORRUPTED);
	CHECK_EQ(init_err(37), 0);
	{
		struct erofs_dblk b;

		CHECK_EQ(erofs_dblk_init(&b, blk, 513, 512, &fault), -EFSCORRUPTED);
		CHECK_EQ(erofs_dblk_init(&b, blk, 0, 512, NULL), -EFSCORRUPTED);
	}

	/* 42: offsets that decrease, repeat or leave the block */
	three();
	set_nameoff(1, 36);
	CHECK_EQ(entry_err(used, 0), -EFSCORRUPTED);
	CHECK_EQ(find_err(used, "aaa", 3, &nid, &cmp), -EFSCORRUPTED);
	set_nameoff(1, 35);
	CHECK_EQ(entry_err(used, 0), -EFSCORRUPTED);
	CHECK_EQ(entry_err(used, 1), -EFSCORRUPTED);
	CHECK_EQ(find_err(used, "bbb", 3, &nid, &cmp), -EFSCORRUPTED);
	set_nameoff(1, 0);
	CHECK_EQ(entry_err(used, 1), -EFSCORRUPTED);
	set_nameoff(1, 42);
	CHECK_EQ(entry_err(used, 1), -EFSCORRUPTED);
	set_nameoff(1, used);
	CHECK_EQ(entry_err(used, 0), -EFSCORRUPTED);
	CHECK_EQ(entry_err(used, 1), -EFSCORRUPTED);
	set_nameoff(1, 65535);
	CHECK_EQ(entry_err(used, 0), -EFSCORRUPTED);
	three();
	set_nameoff(2, used);
	CHECK_EQ(entry_err(used, 2), -EFSCORRUPTED);
	CHECK_EQ(entry_err(used, 1), -EFSCORRUPTED);
	CHECK_EQ(entry_err(used, 0), 0);
	CHECK_EQ(find_err(used, "aaa", 3, &nid, &cmp), -EFSCORRUPTED);

	/* also not believed of the entry that is tried first: behind the end ... */
	guess = 1;
	three();
	set_nameoff(1, used - 1);
	set_nameoff(2, used + 2);
	CHECK_EQ(find_err(used, "cbb", 3, &nid, &cmp), -EFSCORRUPTED);
	/* ... and among the records */
	three();
	blk[30] = 'x';
	blk[31] = 'x';
	set_nameoff(1, 30);
	set_nameoff(2, '!');
	CHECK_EQ(find_err(used, "xx!", 3, &nid, &cmp), -EFSCORRUPTED);
	guess = U32_MAX;

	/* 43: lengths and characters */
	three();
	blk[42] = 0;			/* last name begins with NUL */
	CHECK_EQ(entry_err(used, 2), -EFSCORRUPTED);
	CHECK_EQ(find_err(used, "ccc", 3, &nid, &cmp), -EFSCORRUPTED);
	three();
	blk[43] = 0;			/* is "c" */
	CHECK_EQ(entry_err(used, 2), 0);
	CHECK_EQ(find_err(used, "c", 1, &nid, &cmp), 0);
	CHECK_EQ(find_err(used, "ccc", 3, &nid, &cmp), -ENOENT);
	three();
	blk[40] = 0;			/* NUL in a name that has a length */
	CHECK_EQ(entry_err(used, 1), -EFSCORRUPTED);
	three();
	blk[36] = '/';
	CHECK_EQ(entry_err(used, 0), -EFSCORRUPTED);
	CHECK(!scan(used));
	blk[36] = 'a';
	CHECK(scan(used));
	set_nameoff(2, used);		/* where the last name begins */
	CHECK(!scan(used));
	set_nameoff(2, 42);
	nr = 0;
	add("aaaaaaaaaaaa", 12);
	add("bbbbbbbbbbbb", 12);
	build();
	CHECK(scan(used));
	blk[24 + 5] = '/';		/* among the eight that are looked at together */
	CHECK(!scan(used));
	three();
	blk[44] = '/';
	CHECK_EQ(entry_err(used, 2), -EFSCORRUPTED);

	memset(s, 'n', sizeof(s));
	for (i = 255; i <= 256; i++) {
		nr = 0;
		add("a", 1);
		memcpy(names[1].s, s, 256);
		names[1].len = i;
		nr = 2;
		add("zz", 2);
		build();
		CHECK_EQ(entry_err(used, 1), i == 255 ? 0 : -EFSCORRUPTED);
		/* and at the end, terminated or not */
		nr = 2;
		build();
		CHECK_EQ(entry_err(used, 1), i == 255 ? 0 : -EFSCORRUPTED);
		CHECK_EQ(entry_err(used + 1, 1), i == 255 ? 0 : -EFSCORRUPTED);
		CHECK_EQ(find_err(used, s, 255, &nid, &cmp), i == 255 ? 0 : -EFSCORRUPTED);
	}
	nr = 1;
	build();
	memset(blk + 12, 'q', sizeof(blk) - 12);
	CHECK_EQ(entry_err(4096, 0), -EFSCORRUPTED);

	/* any place in a name of any length, and bytes that only look alike */
	for (i = 1; i <= 255; i++) {
		static const u8 bytes[] = { 0, '/', 0x01, 0x2e, 0x30, 0x80, 0xaf, 0xff };
		u32 at, k;

		nr = 0;
		memset(s, 'n', sizeof(s));
		add(s, i);
		add("zz", 2);
		build();
		for (at = 0; at < i; at++) {
			for (k = 0; k < ARRAY_SIZE(bytes); k++) {
				struct erofs_dirent_desc d;
				struct erofs_dblk b = { .p = blk, .len = used, .count = 2 };
				int err;

				blk[24 + at] = bytes[k];
				err = erofs_dblk_entry(&b, 0, &d, &fault);
				if (err != (k < 2 ? -EFSCORRUPTED : 0))
					CHECK(!"bytes in names");
			}
			blk[24 + at] = 'n';
		}
		CHECK_EQ(entry_err(used, 0), 0);
	}

	/* 44: unsorted and duplicate names; the search ends and doesn't lie */
	nr = 0;
	for (i = 0; i < 100; i++) {
		sprintf(s, "%u", i * 7919 % 50);
		add(s, strlen(s));
	}
	build();
	for (i = 0; i < 100; i++) {
		sprintf(s, "%u", i);
		cmp = find_err(used, s, strlen(s), &nid, &cmp);
		CHECK(i < 50 ? !cmp || cmp == -ENOENT : cmp == -ENOENT);
	}

	/* 47: types are passed on */
	three();
	blk[10] = 255;
	CHECK_EQ(entry_err(used, 0), 0);
}

/* no random block leads outside of it; ASan and UBSan watch */
static void test_random(void)
{
	u32 rnd = 4711, round, i;

	for (round = 0; round < 20000; round++) {
		struct erofs_dirent_desc d;
		struct erofs_dblk b;
		u32 len = 1 + memimg_random(&rnd) % 200;
		u32 at = 0;
		int err, cmp;
		u8 *p;

		for (i = 0; i < len; i++)
			blk[i] = (u8)(memimg_random(&rnd) & (round & 1 ? 0xff : 0x3f));
		if (len > 9 && round % 3)
			put16(blk + 8, 12 * (1 + memimg_random(&rnd) % 8));
		p = fresh(&b, len, &err);
		if (!err) {
			CHECK(b.count && b.count * 12 < len);
			for (i = 0; i < b.count; i++) {
				if (erofs_dblk_entry(&b, i, &d, NULL))
					continue;
				if (!d.namelen || d.namelen > 255 ||
				    (const u8 *)d.name < p + 12 * b.count ||
				    (const u8 *)d.name + d.namelen > p + len ||
				    memchr(d.name, '/', d.namelen) || memchr(d.name, 0, d.namelen))
					CHECK(!"bad entry accepted");
			}
			err = erofs_dblk_find(&b, "abc", 3, &at, &d, &cmp, &fault);
			CHECK(err == -ENOENT || err == -EFSCORRUPTED || !err);
		}
		free(p);
	}
}

int main(void)
{
	CHECK(erofs_name_cmp("a", 1, "b", 1) < 0);
	CHECK(erofs_name_cmp("\x80", 1, "\x7f", 1) > 0);
	CHECK(erofs_name_cmp("ab", 2, "a", 1) > 0);
	CHECK(erofs_name_cmp("a", 1, "ab", 2) < 0);
	CHECK_EQ(erofs_name_cmp("ab", 2, "abc", 2), 0);
	test_valid();
	test_golden();
	test_damage();
	test_random();
	return check_done();
}
