/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat/compat.h - every difference between the supported kernels.
 *
 * The driver is written against the newest kernel; what older kernels lack is
 * supplied here under the same name and with the same meaning, or as an
 * erofs_compat_ wrapper where no single name fits.  compat_config.h, written
 * by compat/probe.sh, says what the kernel has.  Both files are included in
 * front of every source file by Kbuild; compat/pagecache.h holds what only the
 * read path needs.
 */
#ifndef EROFS_COMPAT_H
#define EROFS_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_MAJOR < 6 || LINUX_VERSION_MAJOR > 7 || \
	(LINUX_VERSION_MAJOR == 6 && LINUX_VERSION_PATCHLEVEL < 1) || \
	(LINUX_VERSION_MAJOR == 7 && LINUX_VERSION_PATCHLEVEL > 3)
#error This kernel is not supported: the driver builds for Linux 6.1 to 7.3.
#endif

#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/blkdev.h>
#include <linux/exportfs.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/uuid.h>
#ifdef HAVE_FILELOCK_H
#include <linux/filelock.h>
#endif
#ifdef HAVE_BLK_PLUG_H
#include <linux/blk_plug.h>
#endif

/* ---- mounting and devices -------------------------------------------------- */

/*
 * Mount a block device; -ENOTBLK without a message when the source is
 * something else (get_tree_bdev_flags: 6.13, with backports).
 */
static inline int erofs_compat_get_tree_bdev(struct fs_context *fc,
					     int (*fill)(struct super_block *sb,
							 struct fs_context *fc))
{
#ifdef HAVE_GET_TREE_BDEV_FLAGS
	return get_tree_bdev_flags(fc, fill, GET_TREE_BDEV_QUIET_LOOKUP);
#else
	dev_t dev;

	if (fc->source && lookup_bdev(fc->source, &dev) == -ENOTBLK)
		return -ENOTBLK;
	return get_tree_bdev(fc, fill);
#endif
}

/* page cache of a block device (bd_mapping: 6.10) */
static inline struct address_space *erofs_compat_bdev_mapping(struct block_device *bdev)
{
#ifdef HAVE_BD_MAPPING
	return bdev->bd_mapping;
#else
	return bdev->bd_inode->i_mapping;
#endif
}

/*
 * Open a block device for reading; @holder may claim it more than once.
 * @keep is what erofs_compat_bdev_close() wants back (6.9: devices are files).
 */
static inline struct block_device *
erofs_compat_bdev_open(const char *path, void *holder, struct file **keep)
{
#ifdef HAVE_BDEV_FILE_OPEN_BY_PATH
	struct file *file = bdev_file_open_by_path(path, sb_open_mode(SB_RDONLY), holder, NULL);

	if (IS_ERR(file))
		return ERR_CAST(file);
	*keep = file;
	return file_bdev(file);
#else
	*keep = NULL;
	return blkdev_get_by_path(path, FMODE_READ | FMODE_EXCL, holder);
#endif
}

static inline void erofs_compat_bdev_close(struct block_device *bdev, struct file *keep)
{
#if defined(HAVE_BDEV_FPUT)
	bdev_fput(keep);
#elif defined(HAVE_BDEV_FILE_OPEN_BY_PATH)
	fput(keep);
#else
	blkdev_put(bdev, FMODE_READ | FMODE_EXCL);
#endif
}

#ifndef HAVE_SUPER_SET_UUID		/* 6.9 */
static inline void super_set_uuid(struct super_block *sb, const u8 *uuid, unsigned int len)
{
	memcpy(&sb->s_uuid, uuid, min_t(size_t, len, sizeof(sb->s_uuid)));
}
#endif

/* what FS_IOC_GETFSSYSFSPATH tells (6.9) */
static inline void erofs_compat_set_sysfs_name(struct super_block *sb)
{
#ifdef HAVE_SUPER_SET_SYSFS_NAME_BDEV
	super_set_sysfs_name_id(sb);
#endif
}

/* ---- inodes ---------------------------------------------------------------- */

#ifndef HAVE_MNT_IDMAP			/* 6.3 */
#define mnt_idmap	user_namespace
#endif

#ifndef HAVE_GENERIC_FILLATTR_REQUEST_MASK	/* 6.6 */
static inline void erofs_compat_fillattr(struct mnt_idmap *idmap, u32 mask, struct inode *inode,
					 struct kstat *stat)
{
	generic_fillattr(idmap, inode, stat);
}

#define generic_fillattr	erofs_compat_fillattr
#endif

#ifndef HAVE_GET_INODE_ACL		/* 6.2 */
#define get_inode_acl	get_acl
#endif

#ifndef HAVE_INODE_STATE_READ_ONCE	/* 6.19 */
#define inode_state_read_once(inode)	READ_ONCE((inode)->i_state)
#endif

#ifndef HAVE_INODE_SET_CTIME		/* 6.6, with backports */
static inline void inode_set_ctime(struct inode *inode, time64_t sec, long nsec)
{
	inode->i_ctime.tv_sec = sec;
	inode->i_ctime.tv_nsec = nsec;
}
#endif

#ifndef HAVE_INODE_SET_MTIME		/* 6.7 */
static inline void inode_set_mtime(struct inode *inode, time64_t sec, long nsec)
{
	inode->i_mtime.tv_sec = sec;
	inode->i_mtime.tv_nsec = nsec;
}

static inline void inode_set_atime(struct inode *inode, time64_t sec, long nsec)
{
	inode->i_atime.tv_sec = sec;
	inode->i_atime.tv_nsec = nsec;
}
#endif

#ifndef HAVE_INODE_SET_CACHED_LINK	/* 6.14 */
static inline void inode_set_cached_link(struct inode *inode, char *link, int linklen)
{
	inode->i_link = link;
}
#endif

/* qualifier of super_block.s_xattr's elements (6.6) */
/* ACLs are xattrs with handlers up to 6.2, afterwards the VFS asks get_inode_acl() */
#if IS_ENABLED(CONFIG_FS_POSIX_ACL) && defined(HAVE_POSIX_ACL_XATTR_HANDLERS)
#define erofs_compat_acl_access_handler	&posix_acl_access_xattr_handler,
#define erofs_compat_acl_default_handler	&posix_acl_default_xattr_handler,
#else
#define erofs_compat_acl_access_handler
#define erofs_compat_acl_default_handler
#endif

#ifdef HAVE_CONST_XATTR_HANDLERS
#define erofs_compat_xattr_const	const
#else
#define erofs_compat_xattr_const
#endif

/* takes a constant kobj_type (6.2) */
#ifndef HAVE_KOBJ_TYPE_CONST
#define kobject_init_and_add(kobj, ktype, ...) \
	kobject_init_and_add(kobj, (void *)(ktype), __VA_ARGS__)
#endif

/* handles with 64-bit inode numbers (6.7); elsewhere only we look at the type */
#ifndef HAVE_FILEID_INO64_GEN
#define FILEID_INO64_GEN		0x81
#define FILEID_INO64_GEN_PARENT		0x82
#endif

/* in TP_fast_assign(): the source is known from __string() (6.10) */
#ifdef HAVE_ASSIGN_STR_ONE_ARG
#define erofs_compat_assign_str(dst, src)	__assign_str(dst)
#else
#define erofs_compat_assign_str(dst, src)	__assign_str(dst, src)
#endif

/* ---- memory ------------------------------------------------------------------ */

#ifndef HAVE_ALLOC_PAGES_BULK		/* 6.14 */
#define alloc_pages_bulk(gfp, nr, array)	alloc_pages_bulk_array(gfp, nr, array)
#endif

/*
 * A shrinker with default cost: alloc, fill in count_objects and scan_objects,
 * register.  free works for a registered and an unregistered one (6.7).
 */
static inline struct shrinker *erofs_compat_shrinker_alloc(void)
{
#ifdef HAVE_SHRINKER_ALLOC
	return shrinker_alloc(0, EROFS_FSNAME);
#else
	struct shrinker *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (s)
		s->seeks = DEFAULT_SEEKS;
	return s;
#endif
}

static inline int erofs_compat_shrinker_register(struct shrinker *s)
{
#ifdef HAVE_SHRINKER_ALLOC
	shrinker_register(s);
	return 0;
#else
	return register_shrinker(s, EROFS_FSNAME);
#endif
}

static inline void erofs_compat_shrinker_free(struct shrinker *s)
{
#ifdef HAVE_SHRINKER_ALLOC
	shrinker_free(s);
#else
	if (!s)
		return;
	unregister_shrinker(s);		/* does nothing if it isn't registered */
	kfree(s);
#endif
}

#endif /* EROFS_COMPAT_H */
