/* links: ondisk.c xattr_core.c */
/* SPDX-License-Identifier: GPL-2.0 */
/* Extended attributes: walk, match, filter, long prefixes. */
#include "core.h"
#include "tests/port/memimg.h"
#include "tests/port/check.h"
#include "tests/unit/golden.h"

#define BLK		512
#define INO		(BLK * 4 + 480)		/* an extended inode over a boundary */
#define BODY		(INO + 64)
#define SHARED_BLK	16
#define SHARED		(SHARED_BLK * BLK)

static u8 img[BLK * 1024];
static struct erofs_super s;
static struct erofs_inode_desc d;
static struct erofs_xattr_prefix pfx[256];
static u32 end;			/* of the inline entries so far */
static u32 send;		/* of the shared entries so far */
static u32 noise;
static bool two_windows;

static void put16(u8 *p, u32 v)
{
	p[0] = (u8)v;
	p[1] = (u8)(v >> 8);
}

static void put32(u8 *p, u32 v)
{
	put16(p, v);
	put16(p + 2, v >> 16);
}

static void reset(void)
{
	memset(img, 0, sizeof(img));
	memset(&s, 0, sizeof(s));
	s.blkszbits = 9;
	s.blksz = BLK;
	s.xattr_blkaddr = SHARED_BLK;
	memset(&d, 0, sizeof(d));
	d.iloc = INO;
	d.isize = 64;
	end = BODY + 12;
	send = SHARED + 4;	/* so that an id of 0 is no entry */
}

/* room for shared ids must be asked for before the first inline entry */
static void ids(u32 n)
{
	img[BODY + 4] = (u8)n;
	end = BODY + 12 + 4 * n;
}

static void set_id(u32 i, u32 id)
{
	put32(img + BODY + 12 + 4 * i, id);
}

static u32 put_entry(u32 pos, u8 index, const void *name, u32 namelen,
		     const void *value, u32 valuelen)
{
	img[pos] = (u8)namelen;
	img[pos + 1] = index;
	put16(img + pos + 2, valuelen);
	memcpy(img + pos + 4, name, namelen);
	memcpy(img + pos + 4 + namelen, value, valuelen);
	return pos + ((4 + namelen + valuelen + 3) & ~3u);
}

static void add(u8 index, const char *name, const char *value)
{
	end = put_entry(end, index, name, strlen(name), value, strlen(value));
}

/* Return: the id */
static u32 share(u8 index, const char *name, const char *value)
{
	u32 id = (send - SHARED) / 4;

	send = put_entry(send, index, name, strlen(name), value, strlen(value));
	return id;
}

static char buf[70000];
static u32 last_maps;

static int find_n(u8 index, const char *name, u32 namelen, size_t size)
{
	struct erofs_xattr_ctx x;
	struct memimg mi, sh;
	char *exact = malloc(namelen ? namelen : 1);
	void *out = size ? malloc(size) : NULL;
	int ret;

	memcpy(exact, name, namelen);
	d.xattr_isize = end - BODY;
	memimg_init(&mi, img, sizeof(img), BLK);
	memimg_init(&sh, img, sizeof(img), BLK);
	mi.noise = noise;
	sh.noise = noise;
	x.s = &s;
	x.d = &d;
	x.body = &mi.m;
	x.shared = two_windows ? &sh.m : &mi.m;
	x.prefixes = pfx;
	ret = erofs_xattr_find(&x, index, exact, namelen, out, size);
	if (ret > 0 && size) {
		memcpy(buf, out, ret);
		buf[ret] = 0;
	}
	last_maps = mi.maps + sh.maps;
	if (ret == -EFSCORRUPTED || ret == -EOPNOTSUPP)
		CHECK(mi.m.fault.what || sh.m.fault.what);
	memimg_exit(&mi);
	memimg_exit(&sh);
	free(out);
	free(exact);
	return ret;
}

static int find(u8 index, const char *name)
{
	memset(buf, 0, sizeof(buf));
	return find_n(index, name, strlen(name), 65535);
}

/* the list as text: "index:name," */
static char list_text[200000];
static u32 list_stop;

static int list_fn(void *priv, u8 index, const char *infix, u32 infixlen,
		   const char *name, u32 namelen)
{
	u32 *calls = priv;
	char *p = list_text + strlen(list_text);

	if (++*calls == list_stop)
		return 77;
	p += sprintf(p, "%u:", index);
	memcpy(p, infix, infixlen);
	p += infixlen;
	memcpy(p, name, namelen);
	p += namelen;
	*p++ = ',';
	*p = 0;
	return 0;
}

static int list(void)
{
	struct erofs_xattr_ctx x;
	struct memimg mi, sh;
	u32 calls = 0;
	int ret;

	list_text[0] = 0;
	d.xattr_isize = end - BODY;
	memimg_init(&mi, img, sizeof(img), BLK);
	memimg_init(&sh, img, sizeof(img), BLK);
	mi.noise = noise;
	x.s = &s;
	x.d = &d;
	x.body = &mi.m;
	x.shared = two_windows ? &sh.m : &mi.m;
	x.prefixes = pfx;
	ret = erofs_xattr_list(&x, list_fn, &calls);
	memimg_exit(&mi);
	memimg_exit(&sh);
	return ret;
}

#define CHECK_LIST(text) do {							\
	CHECK_EQ(list(), 0);							\
	CHECK(!strcmp(list_text, text));					\
	if (strcmp(list_text, text))						\
		fprintf(stderr, "got %s\n", list_text);				\
} while (0)

#define CHECK_VALUE(index, name, value) do {					\
	CHECK_EQ(find(index, name), (int)strlen(value));			\
	CHECK(!strcmp(buf, value));						\
} while (0)

static void test_hash(void)
{
	static const struct {
		const char *name;
		u8 index, bit;
	} v[] = {
		{ "", 2, 30 }, { "", 3, 21 }, { "selinux", 6, 11 }, { "capability", 6, 29 },
		{ "overlay.opaque", 4, 20 }, { "overlay.metacopy", 4, 31 },
		{ "overlay.redirect", 4, 17 }, { "overlay.origin", 4, 18 }, { "a", 1, 21 },
		{ "erofs.fingerprint.v1", 0, 8 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(v); i++)
		CHECK_EQ(erofs_xattr_filter_bit(v[i].index, v[i].name, strlen(v[i].name)),
			 v[i].bit);
}

static void test_inline_entries(void)
{
	char big[256];

	reset();
	end = BODY;
	CHECK_EQ(find(1, "a"), -ENODATA);
	CHECK_LIST("");

	reset();
	add(1, "a", "first");
	add(6, "selinux", "ctx");
	add(1, "empty", "");
	add(2, "", "acl");
	add(3, "", "dacl");
	add(4, "overlay.opaque", "y");
	add(1, "ab", "second");
	CHECK_VALUE(1, "a", "first");
	CHECK_VALUE(1, "ab", "second");
	CHECK_VALUE(6, "selinux", "ctx");
	CHECK_VALUE(1, "empty", "");
	CHECK_VALUE(2, "", "acl");
	CHECK_VALUE(3, "", "dacl");
	CHECK_VALUE(4, "overlay.opaque", "y");
	CHECK_EQ(find(6, "a"), -ENODATA);
	CHECK_EQ(find(1, ""), -ENODATA);
	CHECK_EQ(find(1, "abc"), -ENODATA);
	CHECK_EQ(find(4, "overlay.opaqu"), -ENODATA);
	CHECK_LIST("1:a,6:selinux,1:empty,2:,3:,4:overlay.opaque,1:ab,");

	/* sizes */
	CHECK_EQ(find_n(1, "a", 1, 0), 5);
	CHECK_EQ(find_n(1, "a", 1, 5), 5);
	CHECK_EQ(find_n(1, "a", 1, 4), -ERANGE);
	CHECK_EQ(find_n(1, "empty", 5, 0), 0);
	CHECK_EQ(find_n(1, "empty", 5, 1), 0);

	/* a callback can end the walk */
	list_stop = 3;
	CHECK_EQ(list(), 77);
	CHECK(!strcmp(list_text, "1:a,6:selinux,"));
	list_stop = 0;

	/* 255-byte names, values over several blocks, everything crossing */
	reset();
	memset(big, 'N', 255);
	big[255] = 0;
	{
		static char value[5000];
		u32 i;

		for (i = 0; i < sizeof(value) - 1; i++)
			value[i] = (char)('a' + i % 23);
		add(1, "pad", value);
		add(1, big, value + 1);
		big[254] = 'M';
		add(1, big, "other");
		CHECK_VALUE(1, "pad", value);
		CHECK_VALUE(1, big, "other");
		big[254] = 'N';
		CHECK_VALUE(1, big, value + 1);
		big[200] = 'x';
		CHECK_EQ(find(1, big), -ENODATA);
		CHECK_EQ(find_n(1, big, 256, 100), -ENODATA);
	}

	/* largest value */
	reset();
	end = put_entry(end, 1, "max", 3, buf, 65535);
	CHECK_EQ(find_n(1, "max", 3, 0), 65535);
	CHECK_EQ(find_n(1, "max", 3, 65535), 65535);
}

static void test_padding_and_unknown(void)
{
	/* 54: indexes that mean nothing; zero bytes are padding */
	reset();
	add(0, "zero", "x");
	end += 16;
	add(5, "lustre", "x");
	add(7, "seven", "x");
	add(0x7f, "max", "x");
	add(0x80, "prefix", "x");
	add(0xff, "prefix", "x");
	add(2, "named", "acl");
	add(1, "good", "value");
	end += 32;
	CHECK_LIST("1:good,");
	CHECK_VALUE(1, "good", "value");
	CHECK_EQ(find(5, "lustre"), -ENODATA);
	CHECK_EQ(find(7, "seven"), -ENODATA);
	CHECK_EQ(find(0x80, "prefix"), -ENODATA);
	CHECK_EQ(find(2, ""), -ENODATA);
	/* index 0 stands for internal attributes, not for padding */
	CHECK_EQ(find(0, ""), -ENODATA);
	CHECK_EQ(find(0, "zero"), -ENODATA);
}

static void set_pfx(u32 i, u8 base, const char *infix)
{
	pfx[i].base = base;
	pfx[i].infix = infix;
	pfx[i].len = (u8)strlen(infix);
}

static void test_prefixes(void)
{
	static char infix[256], name[256];

	reset();
	s.xattr_prefix_count = 5;
	set_pfx(0, 4, "overlay.");
	set_pfx(1, 0, "erofs.fingerprint.v1");
	set_pfx(2, 1, "");
	set_pfx(3, 9, "nine.");
	set_pfx(4, 5, "five.");
	set_pfx(5, 1, "not counted.");
	add(0x80, "opaque", "y");
	add(0x80, "", "just the infix");
	add(0x81, "", "hash");
	add(0x81, "x", "internal");
	add(0x82, "plain", "p");
	add(0x83, "n", "n");
	add(0x84, "n", "n");
	add(0x85, "n", "n");
	CHECK_VALUE(4, "overlay.opaque", "y");
	CHECK_VALUE(4, "overlay.", "just the infix");
	CHECK_VALUE(1, "plain", "p");
	CHECK_VALUE(0, "erofs.fingerprint.v1", "hash");
	CHECK_VALUE(0, "erofs.fingerprint.v1x", "internal");
	CHECK_EQ(find(1, "erofs.fingerprint.v1"), -ENODATA);
	CHECK_EQ(find(4, "overlay"), -ENODATA);
	CHECK_EQ(find(4, "opaque"), -ENODATA);
	CHECK_EQ(find(4, "overlay.opaqu"), -ENODATA);
	CHECK_EQ(find(4, "overlax.opaque"), -ENODATA);
	CHECK_EQ(find(9, "nine.n"), -ENODATA);
	CHECK_EQ(find(5, "five.n"), -ENODATA);
	CHECK_EQ(find(1, "not counted.n"), -ENODATA);
	CHECK_LIST("4:overlay.opaque,4:overlay.,1:plain,");

	/* 55: 255 bytes together are the limit */
	reset();
	s.xattr_prefix_count = 1;
	memset(infix, 'i', 255);
	set_pfx(0, 1, infix);
	memset(name, 'n', 255);
	add(0x80, name, "too long");
	memset(name, 'i', 255);
	add(0x80, "i", "256");
	CHECK_EQ(find_n(1, memset(buf, 'i', 256), 256, 100), -ENODATA);
	memset(name, 'n', 255);
	add(0x80, "", "fits");
	CHECK_EQ(find_n(1, infix, 255, 100), 4);
	CHECK_EQ(find_n(1, name, 255, 100), -ENODATA);
	CHECK_EQ(list(), 0);
	CHECK_EQ(strlen(list_text), 2 + 255 + 1);
}

static void test_shared(void)
{
	u32 i, id;

	for (i = 0; i < 2; i++) {
		two_windows = i;
		reset();
		ids(3);
		set_id(0, share(1, "s1", "shared one"));
		set_id(1, share(1, "dup", "first shared"));
		set_id(2, share(1, "dup", "second shared"));
		add(1, "s1", "inline wins");
		CHECK_VALUE(1, "s1", "inline wins");
		CHECK_VALUE(1, "dup", "first shared");
		CHECK_LIST("1:s1,1:s1,1:dup,1:dup,");
		end -= 20;
		CHECK_VALUE(1, "s1", "shared one");
		CHECK_EQ(find(1, "s2"), -ENODATA);

		/* 255 ids, all in order, without going back and forth for each */
		reset();
		ids(255);
		for (u32 k = 0; k < 255; k++) {
			char name[16];

			sprintf(name, "n%u", k);
			set_id(k, share(6, name, name));
		}
		CHECK_VALUE(6, "n0", "n0");
		CHECK_VALUE(6, "n254", "n254");
		CHECK(last_maps < 60);
		CHECK_EQ(find(6, "n255"), -ENODATA);
		CHECK_EQ(list(), 0);
		CHECK(!strncmp(list_text, "6:n0,6:n1,6:n2,", 15));
		CHECK(strstr(list_text, "6:n253,6:n254,"));
	}
	two_windows = false;

	/* 51: more ids than the body has room for */
	reset();
	ids(1);
	set_id(0, share(1, "a", "b"));
	CHECK_VALUE(1, "a", "b");
	img[BODY + 4] = 2;
	CHECK_EQ(find(1, "a"), -EFSCORRUPTED);
	CHECK_EQ(list(), -EFSCORRUPTED);
	img[BODY + 4] = 255;
	CHECK_EQ(find(1, "a"), -EFSCORRUPTED);

	/* 53: ids and entries behind the end */
	reset();
	ids(1);
	set_id(0, U32_MAX);
	CHECK_EQ(find(1, "a"), -EFSCORRUPTED);
	CHECK_EQ(list(), -EFSCORRUPTED);
	s.xattr_blkaddr = U32_MAX;
	CHECK_EQ(find(1, "a"), -EFSCORRUPTED);
	s.xattr_blkaddr = SHARED_BLK;
	id = (sizeof(img) - SHARED) / 4;
	set_id(0, id);
	CHECK_EQ(find(1, "a"), -EFSCORRUPTED);
	set_id(0, id - 1);	/* the header fits, name or value don't */
	put_entry(sizeof(img) - 4, 1, "", 0, "", 0);
	CHECK_EQ(find(1, ""), 0);
	img[sizeof(img) - 4] = 1;
	CHECK_EQ(find(1, "a"), -EFSCORRUPTED);
	CHECK_EQ(list(), -EFSCORRUPTED);
	img[sizeof(img) - 4] = 0;
	put16(img + sizeof(img) - 2, 5);
	CHECK_EQ(find(1, ""), -EFSCORRUPTED);

	/* shared xattrs in a metabox which isn't there */
	reset();
	ids(1);
	set_id(0, share(1, "a", "b"));
	s.feature_compat = EROFS_FEATURE_COMPAT_SHARED_EA_IN_METABOX;
	CHECK_EQ(find(1, "a"), -EFSCORRUPTED);
	s.feature_incompat = EROFS_FEATURE_INCOMPAT_METABOX;
	CHECK_VALUE(1, "a", "b");
}

static void test_damage(void)
{
	struct erofs_xattr_ctx x = { .s = &s, .d = &d, .prefixes = pfx };
	struct memimg mi;

	/* 50: header only; leaving the device */
	reset();
	end = BODY + 12;
	CHECK_EQ(find(1, "a"), -EOPNOTSUPP);
	CHECK_EQ(list(), -EOPNOTSUPP);
	reset();
	end = BODY + 12 + 4 * 65534;
	CHECK_EQ(find(1, "a"), -ENODATA);	/* all padding */
	d.xattr_isize = 12 + 4 * 65534;
	memimg_init(&mi, img, BODY + 3000, BLK);
	x.body = &mi.m;
	x.shared = &mi.m;
	CHECK_EQ(erofs_xattr_find(&x, 1, "a", 1, NULL, 0), -EFSCORRUPTED);
	memimg_exit(&mi);
	memimg_init(&mi, img, BODY + 11, BLK);
	CHECK_EQ(erofs_xattr_find(&x, 1, "a", 1, NULL, 0), -EFSCORRUPTED);
	memimg_drop(&mi);
	mi.fail_at = mi.maps + 1;
	mi.fail_err = -EIO;
	mi.m.size = U64_MAX;
	CHECK_EQ(erofs_xattr_find(&x, 1, "a", 1, NULL, 0), -EIO);
	memimg_exit(&mi);

	/* 52: entries that exceed the body, by one item or by a lot */
	reset();
	add(1, "ok", "ok");
	add(1, "abc", "defg");
	end -= 4;
	CHECK_VALUE(1, "ok", "ok");
	CHECK_EQ(find(1, "abc"), -EFSCORRUPTED);
	CHECK_EQ(find(1, "none"), -EFSCORRUPTED);
	CHECK_EQ(list(), -EFSCORRUPTED);
	CHECK(!strcmp(list_text, "1:ok,"));
	reset();
	add(1, "abc", "d");
	put16(img + BODY + 12 + 2, 65535);
	CHECK_EQ(find(1, "abc"), -EFSCORRUPTED);

	/* 57: the filter */
	reset();
	add(1, "a", "x");
	put32(img + BODY, 1u << 21);
	CHECK_VALUE(1, "a", "x");		/* feature off */
	s.xattr_filter = true;
	CHECK_EQ(find(1, "a"), -ENODATA);
	CHECK_EQ(last_maps, 1);
	put32(img + BODY, ~(1u << 21));
	CHECK_VALUE(1, "a", "x");
	CHECK_EQ(find(6, "selinux"), -ENODATA);
	CHECK_EQ(last_maps, 1);
	put32(img + BODY, 0);
	CHECK_VALUE(1, "a", "x");
	put32(img + BODY, U32_MAX);
	CHECK_EQ(find(1, "a"), -ENODATA);
	CHECK_LIST("1:a,");
	/* long prefixes: the whole name is hashed with the base index */
	s.xattr_prefix_count = 1;
	set_pfx(0, 4, "overlay.");
	add(0x80, "opaque", "y");
	put32(img + BODY, ~(1u << 20));
	CHECK_VALUE(4, "overlay.opaque", "y");
	put32(img + BODY, 1u << 20);
	CHECK_EQ(find(4, "overlay.opaque"), -ENODATA);
}

static void test_prefix_table(void)
{
	char infix[255];
	struct memimg mi;
	u8 base = 0, len = 0;
	u64 pos;
	u32 i;

	reset();
	memimg_init(&mi, img, sizeof(img), BLK);
	memcpy(img + 100, "\x09\x00\x04overlay.", 11);
	memcpy(img + 112, "\x01\x00\x06", 3);
	memcpy(img + 116, "\x00\x01\x01", 3);
	memset(img + 119, 'z', 255);
	pos = 98;		/* rounded up */
	CHECK_EQ(erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix), 0);
	CHECK(pos == 111 && base == 4 && len == 8 && !memcmp(infix, "overlay.", 8));
	CHECK_EQ(erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix), 0);
	CHECK(pos == 115 && base == 6 && len == 0);
	CHECK_EQ(erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix), 0);
	CHECK(pos == 374 && base == 1 && len == 255 && infix[0] == 'z' && infix[254] == 'z');

	/* 21: 0, and more than 256 */
	for (i = 0; i < 65536; i++) {
		bool ok = i >= 1 && i <= 256;

		memimg_drop(&mi);
		put16(img + 100, i);
		pos = 100;
		if (erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix) !=
		    (ok ? 0 : -EFSCORRUPTED))
			CHECK(!"prefix length");
	}
	/* over a boundary, at the end, and behind it */
	memimg_drop(&mi);
	memcpy(img + 508, "\x09\x00\001abcdefgh", 11);
	pos = 508;
	CHECK_EQ(erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix), 0);
	CHECK(pos == 519 && base == 1 && len == 8 && !memcmp(infix, "abcdefgh", 8));
	memcpy(img + sizeof(img) - 4, "\x02\x00\x01q", 4);
	pos = sizeof(img) - 4;
	CHECK_EQ(erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix), 0);
	CHECK_EQ(erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix), -EFSCORRUPTED);
	memimg_drop(&mi);
	img[sizeof(img) - 4] = 3;
	pos = sizeof(img) - 4;
	CHECK_EQ(erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix), -EFSCORRUPTED);
	memimg_drop(&mi);
	memcpy(img, "\x03\x00\001ab", 5);	/* what a wrapped position would find */
	pos = U64_MAX - 1;
	CHECK_EQ(erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix), -EFSCORRUPTED);
	pos = 0xffffffffull * 4;
	CHECK_EQ(erofs_xattr_prefix_decode(&mi.m, &pos, &base, &len, infix), -EFSCORRUPTED);
	memimg_exit(&mi);
}

static void test_golden(void)
{
	struct erofs_xattr_ctx x = { .s = &s, .d = &d, .prefixes = NULL };
	struct memimg mi;
	u32 calls = 0;

	golden_image(img);
	CHECK_EQ(erofs_super_decode(img + 1024, 3072, 12, &s, NULL), 0);
	memimg_init(&mi, img, GOLDEN_SIZE, 4096);
	x.body = &mi.m;
	x.shared = &mi.m;
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 0x2d, &d), 0);
	CHECK_EQ(erofs_xattr_find(&x, 1, "a", 1, buf, 100), 2);
	CHECK(!memcmp(buf, "v1", 2));
	CHECK_EQ(erofs_xattr_find(&x, 1, "empty", 5, buf, 100), 0);
	CHECK_EQ(erofs_xattr_find(&x, 1, "b", 1, buf, 100), -ENODATA);
	list_text[0] = 0;
	CHECK_EQ(erofs_xattr_list(&x, list_fn, &calls), 0);
	CHECK(!strcmp(list_text, "1:a,1:empty,"));
	CHECK_EQ(erofs_inode_decode(&s, &mi.m, 0x2a, &d), 0);
	CHECK_EQ(erofs_xattr_find(&x, 4, "overlay.opaque", 14, buf, 100), 1);
	CHECK_EQ(buf[0], 'y');
	memimg_exit(&mi);
}

/* 86: the body changes while it is read */
static void test_noise(void)
{
	u32 seed;

	for (seed = 1; seed < 3000; seed++) {
		int ret;

		reset();
		s.xattr_prefix_count = 1;
		set_pfx(0, 4, "overlay.");
		ids(3);
		set_id(0, share(1, "s1", "shared one"));
		set_id(1, share(0x80, "s2", "shared two"));
		set_id(2, share(1, "s3", "shared three"));
		add(1, "a", "x");
		add(0x80, "opaque", "y");
		noise = seed;
		ret = find(1, "s3");
		CHECK(ret >= -EFSCORRUPTED && ret <= 65535);
		ret = list();
		CHECK(ret == 0 || ret == -EFSCORRUPTED);
		noise = 0;
	}
}

int main(void)
{
	test_hash();
	test_inline_entries();
	test_padding_and_unknown();
	test_prefixes();
	test_shared();
	test_damage();
	test_prefix_table();
	test_golden();
	test_noise();
	return check_done();
}
