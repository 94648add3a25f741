// SPDX-License-Identifier: GPL-2.0
/*
 * decompressor_zstd.c - one Zstandard frame on top of the kernel's (or the system's) zstd.
 *
 * A whole frame is decoded straight into the output.  A prefix has to go
 * through the streaming decoder, which keeps a window of its own: the one-shot
 * decoder fails when the frame holds more than the output, and may fail before
 * it has written as much as would fit.
 */
#include "core.h"

#ifdef __KERNEL__
#include <linux/zstd.h>
#else
#include "tests/port/port_zstd.h"
#endif

#define ZSTD_LOG_MIN	10
#define ZSTD_LOG_MAX	20

/**
 * z_erofs_zstd_workspace_size() - bytes of working memory one decoder needs
 * @windowlog: log2 of the largest window in bytes, 10 .. 20
 *
 * Return: enough for both modes of z_erofs_zstd_decode(); 0 if @windowlog is out
 * of range
 */
size_t z_erofs_zstd_workspace_size(u32 windowlog)
{
	if (windowlog < ZSTD_LOG_MIN || windowlog > ZSTD_LOG_MAX)
		return 0;
	return max_t(size_t, zstd_dctx_workspace_bound(),
		     zstd_dstream_workspace_bound((size_t)1 << windowlog));
}

static int zstd_decode_frame(void *ws, size_t ws_size, const u8 *src, size_t srclen,
			     u8 *dst, size_t dstlen)
{
	zstd_dctx *dctx;

	/* the decoder would go on with a second frame */
	if (zstd_find_frame_compressed_size(src, srclen) != srclen)
		return -EFSCORRUPTED;
	dctx = zstd_init_dctx(ws, ws_size);
	if (!dctx)
		return -EFSCORRUPTED;
	if (zstd_decompress_dctx(dctx, dst, dstlen, src, srclen) != dstlen)
		return -EFSCORRUPTED;
	return 0;
}

static int zstd_decode_prefix(void *ws, size_t ws_size, size_t window,
			      const u8 *src, size_t srclen, u8 *dst, size_t dstlen)
{
	zstd_in_buffer in = { .src = src, .size = srclen };
	zstd_out_buffer out = { .dst = dst, .size = dstlen };
	zstd_dstream *ds;

	ds = zstd_init_dstream(window, ws, ws_size);
	if (!ds)
		return -EFSCORRUPTED;
	while (out.pos < out.size) {
		size_t in_pos = in.pos, out_pos = out.pos, ret;

		ret = zstd_decompress_stream(ds, &out, &in);
		if (zstd_is_error(ret))
			return -EFSCORRUPTED;
		if (!ret)	/* end of the frame */
			break;
		if (in.pos == in_pos && out.pos == out_pos)
			return -EFSCORRUPTED;
	}
	return out.pos == out.size ? 0 : -EFSCORRUPTED;
}

/**
 * z_erofs_zstd_decode() - decode one Zstandard frame
 * @ws: working memory, aligned to 8; content is irrelevant
 * @ws_size: at least z_erofs_zstd_workspace_size(@windowlog)
 * @windowlog: log2 of the largest window a frame may use, 10 .. 20
 * @src: first byte of the frame (not padding)
 * @srclen: bytes up to the end of the frame
 * @dst: output
 * @dstlen: bytes wanted
 * @partial: stop at @dstlen bytes, the frame may go on
 *
 * Return: 0 or -EFSCORRUPTED; @dst is then undefined
 */
int z_erofs_zstd_decode(void *ws, size_t ws_size, u32 windowlog,
			const u8 *src, size_t srclen, u8 *dst, size_t dstlen, bool partial)
{
	zstd_frame_header fh;

	if (windowlog < ZSTD_LOG_MIN || windowlog > ZSTD_LOG_MAX)
		return -EFSCORRUPTED;
	/* 0 = header complete, an error code or the size wanted otherwise */
	if (zstd_get_frame_header(&fh, src, srclen))
		return -EFSCORRUPTED;
	if (fh.frameType != ZSTD_frame || fh.dictID ||
	    fh.windowSize > (size_t)1 << windowlog)
		return -EFSCORRUPTED;

	if (partial)
		return zstd_decode_prefix(ws, ws_size, (size_t)1 << windowlog,
					  src, srclen, dst, dstlen);
	return zstd_decode_frame(ws, ws_size, src, srclen, dst, dstlen);
}
