/* SPDX-License-Identifier: GPL-2.0 */
/*
 * internal.h - the driver's in-memory objects and the prototypes that cross
 * files, grouped by the .c file that implements them.
 *
 * Lock order and lifetime: everything in struct erofs_sb_info is set up before
 * the root dentry exists and constant until put_super, except counters, the
 * stash and the pool of scratch buffers, which are lock-free.  The only locks
 * taken while reading are folio locks, in ascending order within one mapping;
 * a file's folio may be locked while the metadata, packed or metabox mapping
 * is read, never the other way round.
 */
#ifndef EROFS_INTERNAL_H
#define EROFS_INTERNAL_H

#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/kobject.h>
#include <linux/completion.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/mm.h>
#include <linux/xattr.h>
#include <linux/ratelimit.h>
#include "core.h"
#include "compat/pagecache.h"
#include "decompressor.h"

#ifndef EROFS_FSNAME
#define EROFS_FSNAME	"erofs"
#endif

/* the same in dkms.conf and debian/changelog */
#define EROFS_LTS_VERSION	"0.1.0"

/**
 * struct erofs_device - one backing store
 * @bdev: block device, or NULL if @file is a regular file
 * @file: regular file, or what keeps @bdev open (see compat/); may be NULL for the primary bdev,
 *	which the VFS holds
 * @mapping: page cache for metadata reads (primary only)
 * @off: byte position of the volume inside the store (fsoffset=), multiple of the block size
 * @bytes: bytes of the store behind @off
 * @ustart, @uend: range in the unified address space in bytes, both 0 = not mapped (section 5.3)
 * @dax: access to the memory of @bdev, with a reference, while the mount uses DAX; else NULL
 * @dax_off: byte position of @bdev in @dax
 */
struct erofs_device {
	struct block_device *bdev;
	struct file *file;
	struct address_space *mapping;
	u64 off;
	u64 bytes;
	u64 ustart;
	u64 uend;
	struct dax_device *dax;
	u64 dax_off;
	char *path;
};

enum { EROFS_CACHE_DISABLED, EROFS_CACHE_READAHEAD, EROFS_CACHE_READAROUND };

#define EROFS_OPT_XATTR_USER	0x0001
#define EROFS_OPT_POSIX_ACL	0x0002
#define EROFS_OPT_DIRECT_IO	0x0004	/* open backing files with O_DIRECT */
#define EROFS_OPT_DAX		0x0008	/* dax=always */
#define EROFS_OPT_PANIC		0x0010	/* errors=panic */
#define EROFS_OPT_INODE_SHARE	0x0020	/* page cache shared inside sbi->domain */
#define EROFS_OPT_DAX_NEVER	0x0040	/* dax=never, the same as no dax=, but shown */
#define EROFS_OPT_DAX_MODES	(EROFS_OPT_DAX | EROFS_OPT_DAX_NEVER)

struct erofs_opts {
	u32 flags;
	u8 cache;		/* EROFS_CACHE_* */
	u64 fsoffset;
};

/* per-CPU event counters, summed for sysfs */
enum erofs_stat {
	EROFS_STAT_INPLACE,	/* clusters decoded in place: input and output share pages */
	EROFS_STAT_DIRECT,	/* decoded straight into the page cache from other memory */
	EROFS_STAT_BOUNCE,	/* decoded through a bounce copy of input or output */
	EROFS_STAT_PLAIN,	/* uncompressed clusters copied */
	EROFS_STAT_STASH_HIT,	/* extents whose rest came from the stash */
	EROFS_STAT_BYTES_READ,	/* bytes requested from devices for file data */
	EROFS_STAT_BYTES_OUT,	/* bytes produced by decoders */
	EROFS_STAT_ERRORS,	/* damaged structures or clusters met */
	EROFS_STAT_NR
};

/* decoding times: bucket i has those below 2^i us that no lower one has; the last, all others */
#define EROFS_LATENCY_NR	20

struct erofs_stats {
	u64 v[EROFS_STAT_NR];
	u64 latency[EROFS_LATENCY_NR];
};

/* who decodes; the values are those of the kernel's own driver */
enum { EROFS_SYNC_AUTO, EROFS_SYNC_ALWAYS, EROFS_SYNC_NEVER, EROFS_SYNC_NR };

#define EROFS_DIR_RA_BYTES	(64 * 1024)

#define EROFS_STASH_SLOTS	16
#define EROFS_CUT_BITS		10
#define EROFS_STASH_MAX		(256 * 1024)

struct erofs_stash;

struct erofs_sb_info {
	struct super_block *sb;
	struct erofs_super s;
	struct erofs_opts opts;
	bool dax;			/* all devices have it; S_DAX on uncompressed files */
	struct z_erofs_dec_cfg dec;	/* for z_erofs_decode() */
	struct erofs_device dev;	/* primary */
	struct erofs_device *extra;	/* s.extra_devices slots, or NULL */
	bool separate;			/* extra devices are devices of their own (section 5.2) */
	u64 total_blocks;		/* all devices, for statfs */
	struct workqueue_struct *file_wq;	/* reads files on stacked file systems, or NULL */
	struct inode *file_meta;	/* owns dev.mapping if a backing file has none */
	struct inode *packed;		/* packed inode or NULL */
	struct inode *metabox;		/* metabox inode or NULL */
	struct erofs_xattr_prefix *prefixes;
	struct erofs_stats __percpu *stats;
	struct workqueue_struct *wq;	/* decodes for this mount */
	atomic_t in_flight;		/* asynchronous requests and bios without one */
	struct erofs_stash *stash[EROFS_STASH_SLOTS];	/* owned by zdata.c */
	struct list_head mounts;	/* ... for the shrinker */
	bool long_extents;		/* request.c: extents of many pages are likely */
	u16 cut[1 << EROFS_CUT_BITS];	/* request.c: tags of extents that were cut */
	struct ratelimit_state ratelimit;	/* erofs_msg() */
	u64 meta_next;			/* data.c: page index after the last metadata miss */
	u32 meta_streak;		/* ... and how many misses before it followed each other */
	char *domain;			/* domain_id=, or NULL */
	char *share_xattr;		/* share.c: name of the fingerprints, or NULL */
	bool share_pinned;		/* share.c: files of this mount may be shared */
	u8 sync_decompress;		/* EROFS_SYNC_*, set through sysfs */
	u32 dir_ra_bytes;		/* read ahead in a directory, set through sysfs */
	struct kobject kobj;
	struct completion kobj_gone;
	bool kobj_added;
	bool pool_held;			/* z_erofs_pool_get() succeeded */
};

struct erofs_share;

struct erofs_inode {
	struct erofs_inode_desc d;
	struct z_erofs_info *zi;	/* set once by z_erofs_inode_info() */
	struct erofs_share *share;	/* set once by erofs_share_open(); ERR_PTR: none */
	pgoff_t ra_next;		/* page behind the last readahead; a hint, racy */
	union {				/* owned by request.c */
		pgoff_t rest_next;	/* encoded: page from which a request will stash; a hint */
		pgoff_t no_runs;	/* not encoded: I/O failed, take the path that copes */
	};
	u32 dir_hint;			/* directories: behind the name last found; a hint, racy */
	struct inode vfs;
};

static inline struct erofs_sb_info *EROFS_SB(const struct super_block *sb)
{
	return sb->s_fs_info;
}

static inline struct erofs_inode *EROFS_I(const struct inode *inode)
{
	return container_of(inode, struct erofs_inode, vfs);
}

static inline void erofs_stat_add(struct erofs_sb_info *sbi, enum erofs_stat i, u64 n)
{
	this_cpu_add(sbi->stats->v[i], n);
}

static inline void erofs_latency_add(struct erofs_sb_info *sbi, u64 ns)
{
	/* clocks of different processors may disagree a little */
	u64 us = (s64)ns > 0 ? div_u64(ns, NSEC_PER_USEC) : 0;

	this_cpu_inc(sbi->stats->latency[min(fls64(us), EROFS_LATENCY_NR - 1)]);
}

/* ---- super.c ---------------------------------------------------------------- */

/* one rate-limited line with the device's name in front; no trailing newline in @fmt */
__printf(3, 4) void erofs_msg(const struct super_block *sb, const char *level,
			      const char *fmt, ...);
#define erofs_err(sb, fmt, ...)		erofs_msg(sb, KERN_ERR, fmt, ##__VA_ARGS__)
#define erofs_warn(sb, fmt, ...)	erofs_msg(sb, KERN_WARNING, fmt, ##__VA_ARGS__)
#define erofs_info(sb, fmt, ...)	erofs_msg(sb, KERN_INFO, fmt, ##__VA_ARGS__)

/**
 * erofs_fault_report() - turn what the core found into one rate-limited log line
 * @nid: inode concerned, or 0 with @has_nid false
 * @err: the errno that goes to the caller
 *
 * Prints device, nid, text, offset and value; counts EROFS_STAT_ERRORS; clears
 * @f; does nothing if f->what is NULL.  errors=panic acts here.  Any context
 * that may print.
 */
void erofs_fault_report(struct super_block *sb, bool has_nid, u64 nid, int err,
			struct erofs_fault *f);
/* label of the volume; unlocked_ioctl of files and directories, beside compat_ptr_ioctl */
long erofs_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* ---- backing.c: regular files as backing stores -------------------------------- */

/**
 * erofs_backing_open() - open a regular file as backing store
 * @path: as given to mount
 * @direct: with O_DIRECT
 *
 * Return: file; ERR_PTR(-ENOTBLK) if @path is no regular file (nothing was
 * opened then), other errors of the lookup and the open
 */
struct file *erofs_backing_open(const char *path, bool direct);
/**
 * erofs_backing_read() - read from a backing file into pages
 * @sbi: the mount that @file belongs to
 * @file: backing file
 * @pos: where in the file
 * @bv: @nr segments of @len bytes in all
 * @nr: number of segments
 * @len: bytes wanted
 *
 * May sleep.  Return: bytes read, fewer than @len only at the end of the file; errno
 */
ssize_t erofs_backing_read(struct erofs_sb_info *sbi, struct file *file, loff_t pos,
			   const struct bio_vec *bv, unsigned int nr, size_t len);
/* @file is a store of the mount now: depth in the stack of file systems, worker if need be */
int erofs_backing_attach(struct super_block *sb, const struct file *file);
/* set sbi->dev.mapping for sbi->dev.file */
int erofs_backing_mapping_init(struct super_block *sb);

/* ---- inode.c ---------------------------------------------------------------- */

extern struct kmem_cache *erofs_inode_cachep;
extern const struct inode_operations erofs_dir_iops, erofs_file_iops, erofs_symlink_iops,
				     erofs_fast_symlink_iops, erofs_special_iops;

/**
 * erofs_iget() - the inode of a nid, read from disk if it isn't cached
 * Return: referenced inode or ERR_PTR (errors were reported)
 */
struct inode *erofs_iget(struct super_block *sb, u64 nid);
/* the same for a nid that doesn't come from the volume: errors are not reported */
struct inode *erofs_iget_untrusted(struct super_block *sb, u64 nid);
int erofs_getattr(struct mnt_idmap *idmap, const struct path *path, struct kstat *stat,
		  u32 request_mask, unsigned int flags);
/* inode number shown to user space (section 6.1) */
static inline u64 erofs_nid_to_ino(const struct erofs_sb_info *sbi, u64 nid)
{
	if (likely(!erofs_has_metabox(&sbi->s)))
		return nid;
	/* bit 63 moves to bit 31, so that numbers stay small and unique */
	return (nid & GENMASK_ULL(30, 0)) | ((nid & GENMASK_ULL(62, 31)) << 1) |
	       ((nid >> 63) << 31);
}

/* ---- namei.c, dir.c ----------------------------------------------------------- */

/**
 * erofs_namei() - look a name up in a directory
 * @nid, @ftype: result
 * Return: 0, -ENOENT, or another errno (reported)
 */
int erofs_namei(struct inode *dir, const struct qstr *name, u64 *nid, u8 *ftype);
extern const struct file_operations erofs_dir_fops;
extern const struct export_operations erofs_export_ops;

/* ---- xattr.c ------------------------------------------------------------------ */

extern const struct xattr_handler *erofs_compat_xattr_const erofs_xattr_handlers[];
ssize_t erofs_listxattr(struct dentry *dentry, char *buf, size_t size);
/* value of one attribute by base index; buf NULL asks for the size */
int erofs_getxattr(struct inode *inode, u8 index, const char *name, void *buf, size_t size);
int erofs_xattr_prefixes_init(struct super_block *sb);
void erofs_xattr_prefixes_exit(struct super_block *sb);
struct posix_acl;
struct posix_acl *erofs_get_acl(struct inode *inode, int type, bool rcu);

/* ---- sysfs.c ------------------------------------------------------------------ */

int erofs_sysfs_init(void);		/* /sys/fs/erofs, features */
void erofs_sysfs_exit(void);
int erofs_sysfs_add(struct super_block *sb);	/* /sys/fs/erofs/<dev>/ */
void erofs_sysfs_del(struct super_block *sb);

/* ---- data.c: metadata windows, devices, uncompressed mapping, iomap ------------- */

/**
 * struct erofs_metabuf - a window on kernel memory for the core
 *
 * Lives on the stack of one thread.  Between calls it holds a reference on one
 * folio; erofs_metabuf_put() drops it.  Pointers got through @m die with the
 * next call that moves the window.
 */
struct erofs_metabuf {
	struct erofs_meta m;
	struct super_block *sb;
	struct address_space *mapping;
	struct file *file;	/* backing file of @mapping, if it has one */
	struct folio *folio;
	void *kaddr;
	u64 off;		/* added to positions (fsoffset) */
	bool primary;
};

/* window on the primary device */
void erofs_metabuf_primary(struct erofs_metabuf *b, struct super_block *sb);
/* window on the space of @nid: metabox file if bit 63 is set, else the primary device */
int erofs_metabuf_nid(struct erofs_metabuf *b, struct super_block *sb, u64 nid);
/* window on a file's contents (directories, packed file); size = i_size */
void erofs_metabuf_inode(struct erofs_metabuf *b, struct inode *inode);
/**
 * erofs_metabuf_dir() - window on a directory's contents
 *
 * A small directory is inline data; it is looked at where it lies, so that it
 * needs no page of its own.  Return: what to add to positions in the directory
 */
u64 erofs_metabuf_dir(struct erofs_metabuf *b, struct inode *dir);
void erofs_metabuf_put(struct erofs_metabuf *b);

/**
 * erofs_dev_resolve() - which store holds a data position (section 5.3)
 * @len: bytes wanted; the range must not leave the store
 * @dev, @pos: result; pos includes the store's own offset
 * Return: 0, -ENODEV (no such device), -EIO (range leaves the device)
 */
int erofs_dev_resolve(struct erofs_sb_info *sbi, u16 id, u64 pa, u64 len,
		      struct erofs_device **dev, u64 *pos);

/* extent at a file offset, whatever the layout; reports faults */
int erofs_map_blocks(struct inode *inode, struct erofs_metabuf *b, struct z_erofs_cursor *c,
		     u64 off, struct erofs_map *map);
/* map header of a compressed inode, read once and cached; ERR_PTR on error (reported) */
const struct z_erofs_info *z_erofs_inode_info(struct inode *inode, struct erofs_metabuf *b);

int erofs_data_init(void);
void erofs_data_exit(void);

/* ---- request.c: the read path -------------------------------------------------- */

/* of files; of pages that several mounts share (share.c) */
extern const struct address_space_operations erofs_aops, erofs_share_aops;
int erofs_request_init(void);
void erofs_request_exit(void);
/* workers of a mount; umount after the last inode is gone, also if mount failed */
int erofs_request_mount(struct super_block *sb);
void erofs_request_umount(struct erofs_sb_info *sbi);
/* wait for the asynchronous requests of a mount on which no file is open any more */
void erofs_request_drain(struct erofs_sb_info *sbi);

/* ---- file.c: open regular files -------------------------------------------------- */

extern const struct file_operations erofs_file_fops;
/* of files with S_DAX: they have no page cache */
extern const struct address_space_operations erofs_dax_aops;
/* can this file's data go from the device straight to the caller's memory? */
bool erofs_can_dio(struct inode *inode);
int erofs_fiemap(struct inode *inode, struct fiemap_extent_info *fi, u64 start, u64 len);

/* ---- share.c: page cache of several mounts ------------------------------------------ */

/* make ready for inode_share if options and volume ask for it; after the xattr prefixes */
int erofs_share_init(struct super_block *sb);
/* when the mount has no inodes any more; works after a failed or no init, too */
void erofs_share_exit(struct erofs_sb_info *sbi);
/* from ->open: let @file use shared pages if there is a share for its content */
void erofs_share_open(struct inode *inode, struct file *file);
/* from ->evict_inode; may free the share and its pages */
void erofs_share_evict(struct inode *inode);
/* who fills pages of @mapping: the inode behind the open @file; NULL if it is no user of them */
struct inode *erofs_share_reader(const struct address_space *mapping, const struct file *file);
/* bytes of page cache that would be there again without sharing, in all mounts of the domain */
u64 erofs_share_saved(const struct erofs_sb_info *sbi);

/* ---- zdata.c: encoded extents ----------------------------------------------------- */

int z_erofs_init(void);
void z_erofs_exit(void);
/* free a mount's stash.  Any context that may free memory.  Returns entries freed */
unsigned long z_erofs_stash_drop(struct erofs_sb_info *sbi);
/* let the shrinker know a mount's stash, and forget it together with the stash */
void z_erofs_mount_add(struct erofs_sb_info *sbi);
void z_erofs_mount_del(struct erofs_sb_info *sbi);

#endif /* EROFS_INTERNAL_H */
