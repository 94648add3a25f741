/* SPDX-License-Identifier: GPL-2.0 */
/* port_zstd.h - the kernel's names of zstd calls on top of the system's libzstd. */
#ifndef EROFS_PORT_ZSTD_H
#define EROFS_PORT_ZSTD_H

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

typedef ZSTD_DCtx zstd_dctx;
typedef ZSTD_DStream zstd_dstream;
typedef ZSTD_inBuffer zstd_in_buffer;
typedef ZSTD_outBuffer zstd_out_buffer;
typedef ZSTD_frameHeader zstd_frame_header;

#define zstd_is_error			ZSTD_isError
#define zstd_dctx_workspace_bound	ZSTD_estimateDCtxSize
#define zstd_init_dctx			ZSTD_initStaticDCtx
#define zstd_decompress_dctx		ZSTD_decompressDCtx
#define zstd_dstream_workspace_bound	ZSTD_estimateDStreamSize
#define zstd_decompress_stream		ZSTD_decompressStream
#define zstd_find_frame_compressed_size	ZSTD_findFrameCompressedSize
#define zstd_get_frame_header		ZSTD_getFrameHeader

/* as in the kernel, the window is bounded by the workspace only */
static inline zstd_dstream *zstd_init_dstream(size_t max_window, void *ws, size_t ws_size)
{
	(void)max_window;
	return ZSTD_initStaticDStream(ws, ws_size);
}

#endif /* EROFS_PORT_ZSTD_H */
