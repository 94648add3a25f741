/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.h - tracepoints: one for each lookup, each extent that is mapped, each
 * read that is sent to a device, each cluster that is decoded.  None is in a
 * loop over pages or bytes.
 *
 * Fields are an interface (erofs-lts(5)): they may be added to, but keep their
 * names and meaning.  The system has the name of the file system type.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM EROFS_TRACE_SYSTEM

#if !defined(EROFS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define EROFS_TRACE_H

#include <linux/tracepoint.h>
#include "request.h"

#define show_erofs_map_flags(flags) \
	__print_flags(flags, "|", \
		      { EROFS_MAP_MAPPED,	"mapped" }, \
		      { EROFS_MAP_META,		"meta" }, \
		      { EROFS_MAP_FRAGMENT,	"fragment" }, \
		      { EROFS_MAP_ENCODED,	"encoded" }, \
		      { EROFS_MAP_PARTIAL,	"partial" }, \
		      { EROFS_MAP_PLAIN,	"plain" }, \
		      { EROFS_MAP_INTERLACED,	"interlaced" })

#define show_erofs_alg(alg) \
	__print_symbolic(alg, \
			 { Z_EROFS_COMPRESSION_LZ4,	"lz4" }, \
			 { Z_EROFS_COMPRESSION_LZMA,	"lzma" }, \
			 { Z_EROFS_COMPRESSION_DEFLATE,	"deflate" }, \
			 { Z_EROFS_COMPRESSION_ZSTD,	"zstd" })

/* what programs that read the formats take the names in them for */
TRACE_DEFINE_ENUM(Z_EROFS_COMPRESSION_LZ4);
TRACE_DEFINE_ENUM(Z_EROFS_COMPRESSION_LZMA);
TRACE_DEFINE_ENUM(Z_EROFS_COMPRESSION_DEFLATE);
TRACE_DEFINE_ENUM(Z_EROFS_COMPRESSION_ZSTD);
TRACE_DEFINE_ENUM(EROFS_STAT_INPLACE);
TRACE_DEFINE_ENUM(EROFS_STAT_DIRECT);
TRACE_DEFINE_ENUM(EROFS_STAT_BOUNCE);

/* @dir: parent's nid; @nid: what was found, 0 if @err; err -2: no such name */
TRACE_EVENT(erofs_lookup,
	TP_PROTO(struct inode *dir, const char *name, u64 nid, int err),
	TP_ARGS(dir, name, nid, err),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, dir)
		__field(u64, nid)
		__field(int, err)
		__string(name, name)
	),
	TP_fast_assign(
		__entry->dev = dir->i_sb->s_dev;
		__entry->dir = EROFS_I(dir)->d.nid;
		__entry->nid = err ? 0 : nid;
		__entry->err = err;
		erofs_compat_assign_str(name, name);
	),
	TP_printk("dev %d:%d dir %llu name %s nid %llu err %d", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->dir, __get_str(name), __entry->nid, __entry->err)
);

/* @off: what was asked for; the rest is 0 if @err */
TRACE_EVENT(erofs_map_extent,
	TP_PROTO(struct inode *inode, u64 off, const struct erofs_map *map, int err),
	TP_ARGS(inode, off, map, err),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, nid)
		__field(u64, off)
		__field(u64, la)
		__field(u64, llen)
		__field(u64, pa)
		__field(u64, plen)
		__field(u32, flags)
		__field(u16, device)
		__field(u8, alg)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->dev = inode->i_sb->s_dev;
		__entry->nid = EROFS_I(inode)->d.nid;
		__entry->off = off;
		__entry->la = err ? 0 : map->la;
		__entry->llen = err ? 0 : map->llen;
		__entry->pa = err ? 0 : map->pa;
		__entry->plen = err ? 0 : map->plen;
		__entry->flags = err ? 0 : map->flags;
		__entry->device = err ? 0 : map->device_id;
		__entry->alg = err ? 0 : map->alg;
		__entry->err = err;
	),
	TP_printk("dev %d:%d nid %llu off %llu la %llu llen %llu pa %llu plen %llu device %u alg %s flags %s err %d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->nid, __entry->off,
		  __entry->la, __entry->llen, __entry->pa, __entry->plen, __entry->device,
		  show_erofs_alg(__entry->alg), show_erofs_map_flags(__entry->flags),
		  __entry->err)
);

/* one bio; @pos: bytes, on the device or in the backing file; @device: 0 is the primary one */
TRACE_EVENT(erofs_submit,
	TP_PROTO(const struct inode *inode, const struct erofs_device *d, u64 pos, u32 len,
		 bool readahead),
	TP_ARGS(inode, d, pos, len, readahead),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, nid)
		__field(u16, device)
		__field(u64, pos)
		__field(u32, len)
		__field(bool, readahead)
		__field(bool, file)
	),
	TP_fast_assign(
		__entry->dev = inode->i_sb->s_dev;
		__entry->nid = EROFS_I(inode)->d.nid;
		__entry->device = d == &EROFS_SB(inode->i_sb)->dev ? 0 :
				  d - EROFS_SB(inode->i_sb)->extra + 1;
		__entry->pos = pos;
		__entry->len = len;
		__entry->readahead = readahead;
		__entry->file = !d->bdev;
	),
	TP_printk("dev %d:%d nid %llu device %u pos %llu len %u%s%s", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->nid, __entry->device, __entry->pos, __entry->len,
		  __entry->readahead ? " readahead" : "", __entry->file ? " file" : "")
);

/* @outlen: bytes wanted of it; @ns: time the decoder took; @place: see the counters in sysfs */
TRACE_EVENT(erofs_decode,
	TP_PROTO(const struct erofs_rq *rq, const struct erofs_xt *xt, u32 outlen,
		 enum erofs_stat place, u64 ns, int err),
	TP_ARGS(rq, xt, outlen, place, ns, err),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, nid)
		__field(u64, la)
		__field(u32, outlen)
		__field(u64, pa)
		__field(u32, plen)
		__field(u8, alg)
		__field(u8, place)
		__field(u64, ns)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->dev = rq->inode->i_sb->s_dev;
		__entry->nid = EROFS_I(rq->inode)->d.nid;
		__entry->la = xt->la;
		__entry->outlen = outlen;
		__entry->pa = xt->pa;
		__entry->plen = xt->plen;
		__entry->alg = xt->alg;
		__entry->place = place;
		__entry->ns = ns;
		__entry->err = err;
	),
	TP_printk("dev %d:%d nid %llu la %llu outlen %u pa %llu plen %u alg %s place %s ns %llu err %d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->nid, __entry->la,
		  __entry->outlen, __entry->pa, __entry->plen, show_erofs_alg(__entry->alg),
		  __print_symbolic(__entry->place,
				   { EROFS_STAT_INPLACE, "inplace" },
				   { EROFS_STAT_DIRECT, "direct" },
				   { EROFS_STAT_BOUNCE, "bounce" }),
		  __entry->ns, __entry->err)
);

#endif /* EROFS_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
