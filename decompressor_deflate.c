// SPDX-License-Identifier: GPL-2.0
/*
 * decompressor_deflate.c - raw DEFLATE on top of the kernel's (or the system's) zlib.
 *
 * The window is always 32 KiB: the configuration record of real images may say
 * 0.  As input and output are contiguous, one call decodes a whole stream.
 */
#include "core.h"

#ifdef __KERNEL__
#include <linux/zlib.h>
#else
#include "tests/port/port_zlib.h"
#endif

/**
 * z_erofs_deflate_workspace_size() - bytes of working memory one decoder needs
 *
 * Return: the size for the largest window
 */
size_t z_erofs_deflate_workspace_size(void)
{
	return zlib_inflate_workspacesize();
}

/**
 * z_erofs_deflate_decode() - decode one raw DEFLATE stream
 * @ws: z_erofs_deflate_workspace_size() bytes, aligned for any type; content is
 *	irrelevant
 * @src: first byte of the stream (not padding)
 * @srclen: bytes up to the end of the stream
 * @dst: output
 * @dstlen: bytes wanted
 * @partial: stop at @dstlen bytes, the stream may go on
 *
 * Return: 0 or -EFSCORRUPTED; @dst is then undefined
 */
int z_erofs_deflate_decode(void *ws, const u8 *src, size_t srclen,
			   u8 *dst, size_t dstlen, bool partial)
{
	z_stream strm = {
		.next_in = src,
		.avail_in = srclen,
		.next_out = dst,
		.avail_out = dstlen,
		.workspace = ws,
	};
	int ret;

	/* zlib counts in 32 bits; real limits are far below */
	if (srclen > INT_MAX || dstlen > INT_MAX)
		return -EFSCORRUPTED;
	if (zlib_inflateInit2(&strm, -MAX_WBITS) != Z_OK)
		return -EFSCORRUPTED;

	/*
	 * Z_SYNC_FLUSH: as much as possible in one go.  With Z_FINISH, a stream
	 * that goes on behind the output would be reported as an error (which
	 * it isn't in partial mode), and nothing would be faster.
	 */
	ret = zlib_inflate(&strm, Z_SYNC_FLUSH);
	zlib_inflateEnd(&strm);

	if (strm.avail_out)
		return -EFSCORRUPTED;
	/*
	 * All bytes are there.  inflate has looked on from here for a symbol
	 * that needs no output, so damage reported now is in unused input.
	 */
	if (partial)
		return 0;
	return ret == Z_STREAM_END && !strm.avail_in ? 0 : -EFSCORRUPTED;
}
