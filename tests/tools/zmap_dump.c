/* links: zmap.c map.c ondisk.c decompressor_lz4.c decompressor_lzma.c decompressor_deflate.c decompressor_zstd.c; libs: -lz -lzstd */
// SPDX-License-Identifier: GPL-2.0
/*
 * zmap_dump.c - extents of a file in an image, found by the module's own code.
 *
 *	zmap_dump IMAGE NID		list them, in the form of dump.erofs -e
 *	zmap_dump -x IMAGE NID		write the content to the standard output
 *	zmap_dump -t COUNT IMAGE NID	look all of them up COUNT times, to be measured
 *
 * Single-device images; inodes in a metabox are refused.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core.h"

struct image {
	struct erofs_meta m;
	const u8 *p;
	struct erofs_super s;
};

static struct image im;
static void *workspace[Z_EROFS_COMPRESSION_MAX];

static void die(const char *what, int err)
{
	fprintf(stderr, "%s: error %d", what, err);
	if (im.m.fault.what)
		fprintf(stderr, " (%s, at %llu, value %llu)", im.m.fault.what,
			(unsigned long long)im.m.fault.off, (unsigned long long)im.m.fault.value);
	fprintf(stderr, "\n");
	exit(1);
}

static int map_block(struct erofs_meta *m, u64 off)
{
	m->start = off & ~(u64)4095;
	m->len = (u32)min_t(u64, 4096, m->size - m->start);
	m->base = im.p + m->start;
	return 0;
}

static void open_image(const char *name)
{
	struct stat st;
	int fd = open(name, O_RDONLY), err;

	if (fd < 0 || fstat(fd, &st)) {
		perror(name);
		exit(1);
	}
	im.p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (im.p == MAP_FAILED || st.st_size < 4096) {
		fprintf(stderr, "%s: cannot be mapped\n", name);
		exit(1);
	}
	im.m.size = st.st_size;
	im.m.map = map_block;
	err = erofs_super_decode(im.p + 1024, 4096 - 1024, 12, &im.s, &im.m.fault);
	if (!err)
		err = erofs_super_decode_cfgs(&im.s, &im.m);
	if (err)
		die("superblock", err);
}

static void get_inode(u64 nid, struct erofs_inode_desc *d)
{
	int err;

	if (nid & EROFS_NID_METABOX)
		die("inode in the metabox", -EOPNOTSUPP);
	err = erofs_inode_decode(&im.s, &im.m, nid, d);
	if (err)
		die("inode", err);
}

static void *ws(unsigned int alg, size_t size)
{
	if (!workspace[alg])
		workspace[alg] = malloc(size);
	if (!workspace[alg])
		abort();
	return workspace[alg];
}

/* the stream is at the end of the pcluster, behind zeros (section 12) */
static void decode(const struct erofs_map *map, u8 *out)
{
	bool partial = map->flags & EROFS_MAP_PARTIAL;
	const u8 *src = im.p + map->pa;
	size_t len = map->plen, room = im.s.blksz - (map->pa & (im.s.blksz - 1));
	int err;

	if (map->pa > im.m.size || map->plen > im.m.size - map->pa)
		die("pcluster beyond the image", -EIO);
	if (map->alg == Z_EROFS_COMPRESSION_LZ4 && im.s.lz4_left_aligned) {
		partial = true;
	} else {
		while (len && room && !*src) {
			src++;
			len--;
			room--;
		}
		if (!len || !room)
			die("empty pcluster", -EFSCORRUPTED);
	}
	switch (map->alg) {
	case Z_EROFS_COMPRESSION_LZ4:
		err = z_erofs_lz4_decode(src, len, out, map->llen, partial);
		break;
	case Z_EROFS_COMPRESSION_LZMA:
		err = z_erofs_lzma_decode(ws(1, z_erofs_lzma_workspace_size()), im.s.lzma_dict_size,
					  src, len, out, map->llen, partial);
		break;
	case Z_EROFS_COMPRESSION_DEFLATE:
		err = z_erofs_deflate_decode(ws(2, z_erofs_deflate_workspace_size()),
					     src, len, out, map->llen, partial);
		break;
	default: {
		size_t size = z_erofs_zstd_workspace_size(im.s.zstd_windowlog);

		err = z_erofs_zstd_decode(ws(3, size), size, im.s.zstd_windowlog, src, len, out,
					  map->llen, partial);
		break;
	}
	}
	if (err)
		die("decoding", err);
}

/* the first @len bytes of an extent of a compressed file, rotated ones too */
static void plain(const struct erofs_map *map, u8 *out)
{
	const u64 bs = im.s.blksz;
	u64 k, o = bs - map->la % bs;

	if (map->pa > im.m.size || map->plen > im.m.size - map->pa)
		die("pcluster beyond the image", -EIO);
	if (!(map->flags & EROFS_MAP_INTERLACED)) {
		memcpy(out, im.p + map->pa, map->llen);
		return;
	}
	for (k = 0; k < map->llen; k++)
		out[k] = im.p[map->pa + (k + map->plen * 2 - o) % map->plen];
}

/* bytes [off, off + len) of an uncompressed or compressed inode, in pieces to @put */
static void read_inode(u64 nid, bool is_packed, u64 off, u64 len,
		       void (*put)(const u8 *p, u64 n))
{
	struct erofs_inode_desc d;
	struct z_erofs_cursor c;
	struct z_erofs_info zi;
	struct erofs_map map;
	bool z;
	int err = 0;

	get_inode(nid, &d);
	if (off > d.size || len > d.size - off)
		die("range beyond the file", -EFSCORRUPTED);
	z = erofs_layout_compressed(d.layout);
	z_erofs_cursor_init(&c);
	if (z && len)
		err = z_erofs_info_decode(&im.s, &d, &im.m, is_packed, &zi);
	if (err)
		die("map header", err);
	while (len) {
		u64 skip, n;
		u8 *buf;

		err = z ? z_erofs_map_find(&im.s, &d, &zi, &im.m, &c, off, &map) :
			  erofs_map_flat(&im.s, &d, &im.m, off, &map);
		if (err)
			die("extent", err);
		skip = off - map.la;
		n = min_t(u64, len, map.llen - skip);
		if (map.flags & EROFS_MAP_FRAGMENT) {
			read_inode(im.s.packed_nid, true, map.pa + skip, n, put);
		} else if (!z && (map.flags & (EROFS_MAP_MAPPED | EROFS_MAP_META))) {
			if (map.pa > im.m.size || map.plen > im.m.size - map.pa)
				die("data beyond the image", -EIO);
			put(im.p + map.pa + skip, n);
		} else {
			buf = calloc(1, map.llen);
			if (!buf)
				abort();
			if (map.flags & EROFS_MAP_ENCODED)
				decode(&map, buf);
			else if (map.flags & EROFS_MAP_PLAIN)
				plain(&map, buf);
			put(buf + skip, n);
			free(buf);
		}
		off += n;
		len -= n;
	}
}

static void to_stdout(const u8 *p, u64 n)
{
	if (fwrite(p, 1, n, stdout) != n)
		die("write", -EIO);
}

static void list(u64 nid)
{
	struct erofs_inode_desc d;
	struct z_erofs_cursor c;
	struct z_erofs_info zi;
	struct erofs_map map;
	u64 off, i = 0;
	int err;

	get_inode(nid, &d);
	if (!erofs_layout_compressed(d.layout))
		die("not a compressed file", -EINVAL);
	z_erofs_cursor_init(&c);
	err = z_erofs_info_decode(&im.s, &d, &im.m, nid == im.s.packed_nid, &zi);
	if (err)
		die("map header", err);
	printf("kind %u recsz %u advise %x lclusterbits %u\n", zi.kind, zi.recsz, zi.advise,
	       zi.lclusterbits);
	for (off = 0; off < d.size; off = map.la + map.llen) {
		err = z_erofs_map_find(&im.s, &d, &zi, &im.m, &c, off, &map);
		if (err)
			die("extent", err);
		printf("%4llu: %8llu..%8llu | %7llu : %10llu..%10llu | %7llu  # flags %02x alg %u\n",
		       (unsigned long long)i++, (unsigned long long)map.la,
		       (unsigned long long)(map.la + map.llen), (unsigned long long)map.llen,
		       (unsigned long long)map.pa, (unsigned long long)(map.pa + map.plen),
		       (unsigned long long)map.plen, map.flags, map.alg);
	}
}

static void repeat(u64 nid, unsigned long count)
{
	struct erofs_inode_desc d;
	struct z_erofs_cursor c;
	struct z_erofs_info zi;
	struct erofs_map map;
	u64 off, n = 0;

	get_inode(nid, &d);
	if (z_erofs_info_decode(&im.s, &d, &im.m, nid == im.s.packed_nid, &zi))
		die("map header", -EFSCORRUPTED);
	while (count--) {
		z_erofs_cursor_init(&c);
		for (off = 0; off < d.size; off = map.la + map.llen, n++) {
			int err = z_erofs_map_find(&im.s, &d, &zi, &im.m, &c, off, &map);

			if (err)
				die("extent", err);
		}
	}
	printf("%llu lookups\n", (unsigned long long)n);
}

int main(int argc, char **argv)
{
	bool extract = argc == 4 && !strcmp(argv[1], "-x");
	bool timing = argc == 5 && !strcmp(argv[1], "-t");
	struct erofs_inode_desc d;
	u64 nid;

	if (argc != 3 && !extract && !timing) {
		fprintf(stderr, "usage: zmap_dump [-x | -t COUNT] IMAGE NID\n");
		return 2;
	}
	open_image(argv[argc - 2]);
	nid = strtoull(argv[argc - 1], NULL, 0);
	if (timing) {
		repeat(nid, strtoul(argv[2], NULL, 0));
	} else if (extract) {
		get_inode(nid, &d);
		read_inode(nid, nid == im.s.packed_nid, 0, d.size, to_stdout);
	} else {
		list(nid);
	}
	return 0;
}
