/* SPDX-License-Identifier: GPL-2.0 */
/*
 * port_zlib.h - the kernel's inflate calls on top of the system's zlib.
 *
 * The kernel's inflate works in memory that the caller hands over in
 * z_stream.workspace.  zlib asks for memory through hooks; they are pointed at
 * a bump allocator in the same place, so nothing is taken from the heap.
 */
#ifndef EROFS_PORT_ZLIB_H
#define EROFS_PORT_ZLIB_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#define PORT_ZLIB_WORKSPACE	(64 * 1024)

struct port_zstream {
	const unsigned char *next_in;
	unsigned long avail_in;
	unsigned char *next_out;
	unsigned long avail_out;
	void *workspace;
	z_stream z;
	size_t used;		/* bytes handed out of workspace */
};

static inline int zlib_inflate_workspacesize(void)
{
	return PORT_ZLIB_WORKSPACE;
}

static inline voidpf port_zlib_alloc(voidpf opaque, uInt items, uInt size)
{
	struct port_zstream *s = opaque;
	size_t want = ((size_t)items * size + 15) & ~(size_t)15;
	void *p = (char *)s->workspace + s->used;

	if (want > PORT_ZLIB_WORKSPACE - s->used)
		return Z_NULL;
	s->used += want;
	return p;
}

static inline void port_zlib_free(voidpf opaque, voidpf p)
{
	(void)opaque;
	(void)p;
}

static inline int zlib_inflateInit2(struct port_zstream *s, int wbits)
{
	memset(&s->z, 0, sizeof(s->z));
	s->used = 0;
	s->z.zalloc = port_zlib_alloc;
	s->z.zfree = port_zlib_free;
	s->z.opaque = s;
	return inflateInit2(&s->z, wbits);
}

static inline int zlib_inflate(struct port_zstream *s, int flush)
{
	int ret;

	s->z.next_in = (Bytef *)(uintptr_t)s->next_in;
	s->z.avail_in = (uInt)s->avail_in;
	s->z.next_out = s->next_out;
	s->z.avail_out = (uInt)s->avail_out;
	ret = inflate(&s->z, flush);
	s->next_in = s->z.next_in;
	s->avail_in = s->z.avail_in;
	s->next_out = s->z.next_out;
	s->avail_out = s->z.avail_out;
	return ret;
}

static inline int zlib_inflateEnd(struct port_zstream *s)
{
	return inflateEnd(&s->z);
}

/* from here on the name means what it means in the kernel */
#define z_stream		struct port_zstream

#endif /* EROFS_PORT_ZLIB_H */
