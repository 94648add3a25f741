/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decompressor.h - the table of algorithms and the pool of decoder workspaces
 * as the rest of the module sees them.
 */
#ifndef EROFS_DECOMPRESSOR_H
#define EROFS_DECOMPRESSOR_H

#include <linux/types.h>

/**
 * struct z_erofs_dec_cfg - what one mount declares about its compressed data
 * @algs: bit n set = algorithm n is used and the mount holds its pool
 * @lzma_dict: LZMA dictionary size in bytes
 * @zstd_windowlog: log2 of the largest Zstandard window in bytes, 10 .. 20
 */
struct z_erofs_dec_cfg {
	u32 algs;
	u32 lzma_dict;
	u32 zstd_windowlog;
};

bool z_erofs_alg_supported(unsigned int alg);
const char *z_erofs_alg_name(unsigned int alg);

int __must_check z_erofs_pool_get(u32 algs, u32 lzma_dict, u32 zstd_windowlog);
void z_erofs_pool_put(u32 algs);
unsigned long z_erofs_pool_count(void);
unsigned long z_erofs_pool_shrink(unsigned long nr);
void z_erofs_pool_exit(void);

int __must_check z_erofs_decode(unsigned int alg, const struct z_erofs_dec_cfg *cfg,
				const u8 *src, size_t srclen, u8 *dst, size_t dstlen,
				bool partial);

#endif /* EROFS_DECOMPRESSOR_H */
