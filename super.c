// SPDX-License-Identifier: GPL-2.0
/*
 * super.c - mount options, filling and releasing a superblock, statfs, log
 * lines, and the module's life.
 *
 * A mount's struct erofs_sb_info is born in get_tree, belongs to the fs_context
 * until sget hands it to the super_block, and dies in kill_sb after the generic
 * shutdown.  Inodes and the sysfs entry go in put_super, or at the end of a
 * failed fill, which has no root dentry yet and so gets no put_super.
 */
#include <linux/module.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/seq_file.h>
#include <linux/statfs.h>
#include <linux/backing-dev.h>
#include <linux/panic.h>
#include <linux/dax.h>
#include <linux/posix_acl.h>
#include "internal.h"
#include "decompressor.h"
#define CREATE_TRACE_POINTS
#include "trace.h"

struct kmem_cache *erofs_inode_cachep;

/* ---- log lines ---------------------------------------------------------------- */

void erofs_msg(const struct super_block *sb, const char *level, const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	if (!__ratelimit(&EROFS_SB(sb)->ratelimit))
		return;
	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	_printk("%s" EROFS_FSNAME " (%s): %pV\n", level, sb->s_id, &vaf);
	va_end(args);
}

void erofs_fault_report(struct super_block *sb, bool has_nid, u64 nid, int err,
			struct erofs_fault *f)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	const char *what = f->what;

	if (!what)
		return;
	f->what = NULL;
	erofs_stat_add(sbi, EROFS_STAT_ERRORS, 1);
	/* a volume that can't be mounted is no reason to stop the machine */
	if ((READ_ONCE(sbi->opts.flags) & EROFS_OPT_PANIC) && sb->s_root)
		panic(EROFS_FSNAME " (%s): nid %llu: %s (value 0x%llx, position %llu)\n",
		      sb->s_id, nid, what, f->value, f->off);
	if (has_nid)
		erofs_err(sb, "nid %llu: %s (value 0x%llx, position %llu, error %d)",
			  nid, what, f->value, f->off, err);
	else
		erofs_err(sb, "%s (value 0x%llx, position %llu, error %d)",
			  what, f->value, f->off, err);
}

/*
 * Why a mount failed, to the kernel log and to the log of whoever called
 * fsopen().  Somebody who tries one file system after the other gets no line.
 */
static __printf(3, 4) void erofs_mount_err(struct super_block *sb, struct fs_context *fc,
					   const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	if (!(fc->sb_flags & SB_SILENT)) {
		va_start(args, fmt);
		vaf.va = &args;
		erofs_err(sb, "%pV", &vaf);
		va_end(args);
	}
	if (fc->log.log) {
		va_start(args, fmt);
		vaf.va = &args;
		errorfc(fc, "%pV", &vaf);
		va_end(args);
	}
}

static int erofs_mount_fault(struct super_block *sb, struct fs_context *fc, int err,
			     struct erofs_fault *f)
{
	const char *what = f->what;

	f->what = NULL;
	if (what)
		erofs_mount_err(sb, fc, "%s (value 0x%llx, position %llu)", what, f->value,
				f->off);
	return err;
}

/* ---- options ------------------------------------------------------------------- */

/**
 * struct erofs_mount_ctx - options of one mount or remount
 * @opts: what will be in effect
 * @set: bits EROFS_SET_*: what was given and can't be changed later
 * @nr_paths: devices given
 * @max_paths: room in @paths
 * @paths: device= in the order given
 * @domain: domain_id=
 */
struct erofs_mount_ctx {
	struct erofs_opts opts;
	u32 set;
	u32 nr_paths;
	u32 max_paths;
	char **paths;
	char *domain;
};

#define EROFS_SET_FSOFFSET	0x01
#define EROFS_SET_DIRECT_IO	0x02

enum {
	OPT_USER_XATTR,
	OPT_ACL,
	OPT_CACHE_STRATEGY,
	OPT_DEVICE,
	OPT_FSOFFSET,
	OPT_DIRECTIO,
	OPT_ERRORS,
	OPT_DAX,
	OPT_DAX_ENUM,
	OPT_INODE_SHARE,
	OPT_DOMAIN_ID,
};

static const struct constant_table erofs_cache_names[] = {
	{ "disabled",	EROFS_CACHE_DISABLED },
	{ "readahead",	EROFS_CACHE_READAHEAD },
	{ "readaround",	EROFS_CACHE_READAROUND },
	{ }
};

static const struct constant_table erofs_errors_names[] = {
	{ "continue",	0 },
	{ "panic",	EROFS_OPT_PANIC },
	{ }
};

static const struct constant_table erofs_dax_names[] = {
	{ "always",	EROFS_OPT_DAX },
	{ "never",	EROFS_OPT_DAX_NEVER },
	{ }
};

static const struct fs_parameter_spec erofs_fs_parameters[] = {
	fsparam_flag_no("user_xattr",	OPT_USER_XATTR),
	fsparam_flag_no("acl",		OPT_ACL),
	fsparam_enum("cache_strategy",	OPT_CACHE_STRATEGY, erofs_cache_names),
	fsparam_string("device",	OPT_DEVICE),
	fsparam_u64("fsoffset",		OPT_FSOFFSET),
	fsparam_flag("directio",	OPT_DIRECTIO),
	fsparam_enum("errors",		OPT_ERRORS, erofs_errors_names),
	fsparam_flag("dax",		OPT_DAX),
	fsparam_enum("dax",		OPT_DAX_ENUM, erofs_dax_names),
	fsparam_flag("inode_share",	OPT_INODE_SHARE),
	fsparam_string("domain_id",	OPT_DOMAIN_ID),
	{ }
};

static int erofs_add_device(struct fs_context *fc, struct fs_parameter *param)
{
	struct erofs_mount_ctx *ctx = fc->fs_private;

	if (ctx->nr_paths == U16_MAX)
		return invalfc(fc, "too many devices");
	if (ctx->nr_paths == ctx->max_paths) {
		u32 max = ctx->max_paths ? 2 * ctx->max_paths : 8;
		char **p = krealloc_array(ctx->paths, max, sizeof(*p), GFP_KERNEL);

		if (!p)
			return -ENOMEM;
		ctx->paths = p;
		ctx->max_paths = max;
	}
	ctx->paths[ctx->nr_paths++] = param->string;
	param->string = NULL;
	return 0;
}

static int erofs_fc_parse_param(struct fs_context *fc, struct fs_parameter *param)
{
	struct erofs_mount_ctx *ctx = fc->fs_private;
	struct fs_parse_result res;
	u32 flag = 0;
	int opt;

	opt = fs_parse(fc, erofs_fs_parameters, param, &res);
	if (opt < 0)
		return opt;
	switch (opt) {
	case OPT_USER_XATTR:
		flag = EROFS_OPT_XATTR_USER;
		break;
	case OPT_ACL:
		if (!IS_ENABLED(CONFIG_FS_POSIX_ACL) && !res.negated)
			return invalfc(fc, "this kernel has no POSIX ACLs");
		flag = EROFS_OPT_POSIX_ACL;
		break;
	case OPT_CACHE_STRATEGY:
		ctx->opts.cache = res.uint_32;
		return 0;
	case OPT_DEVICE:
		return erofs_add_device(fc, param);
	case OPT_FSOFFSET:
		if (res.uint_64 & (BIT(EROFS_MIN_BLKSZBITS) - 1))
			return invalfc(fc, "fsoffset is not a multiple of the block size");
		ctx->opts.fsoffset = res.uint_64;
		ctx->set |= EROFS_SET_FSOFFSET;
		return 0;
	case OPT_DIRECTIO:
		ctx->opts.flags |= EROFS_OPT_DIRECT_IO;
		ctx->set |= EROFS_SET_DIRECT_IO;
		return 0;
	case OPT_ERRORS:
		ctx->opts.flags &= ~EROFS_OPT_PANIC;
		ctx->opts.flags |= res.uint_32;
		return 0;
	case OPT_DAX:
		res.uint_32 = EROFS_OPT_DAX;
		fallthrough;
	case OPT_DAX_ENUM:
		if (!IS_ENABLED(CONFIG_FS_DAX) && res.uint_32 == EROFS_OPT_DAX)
			return invalfc(fc, "this kernel has no DAX");
		ctx->opts.flags &= ~EROFS_OPT_DAX_MODES;
		ctx->opts.flags |= res.uint_32;
		return 0;
	case OPT_INODE_SHARE:
		flag = EROFS_OPT_INODE_SHARE;
		break;
	case OPT_DOMAIN_ID:
		if (!*param->string)
			return invalfc(fc, "domain_id is empty");
		kfree(ctx->domain);
		ctx->domain = param->string;
		param->string = NULL;
		return 0;
	}
	if (res.negated)
		ctx->opts.flags &= ~flag;
	else
		ctx->opts.flags |= flag;
	return 0;
}

/* everything a second mount needs to be the same */
static int erofs_show_options(struct seq_file *seq, struct dentry *root)
{
	struct erofs_sb_info *sbi = EROFS_SB(root->d_sb);
	u32 i, flags = READ_ONCE(sbi->opts.flags);

	seq_puts(seq, flags & EROFS_OPT_XATTR_USER ? ",user_xattr" : ",nouser_xattr");
	if (IS_ENABLED(CONFIG_FS_POSIX_ACL))
		seq_puts(seq, flags & EROFS_OPT_POSIX_ACL ? ",acl" : ",noacl");
	seq_show_option(seq, "cache_strategy",
			erofs_cache_names[READ_ONCE(sbi->opts.cache)].name);
	if (flags & EROFS_OPT_DIRECT_IO)
		seq_puts(seq, ",directio");
	if (flags & EROFS_OPT_PANIC)
		seq_puts(seq, ",errors=panic");
	if (flags & EROFS_OPT_DAX_NEVER)
		seq_puts(seq, ",dax=never");
	else if (sbi->dax)
		seq_puts(seq, ",dax=always");
	if (flags & EROFS_OPT_INODE_SHARE)
		seq_puts(seq, ",inode_share");
	if (sbi->domain)
		seq_show_option(seq, "domain_id", sbi->domain);
	if (sbi->opts.fsoffset)
		seq_printf(seq, ",fsoffset=%llu", sbi->opts.fsoffset);
	for (i = 0; sbi->separate && i < sbi->s.extra_devices; i++)
		seq_show_option(seq, "device", sbi->extra[i].path);
	return 0;
}

/* remount tools pass all options of the mount again, so only changes are refused */
static int erofs_fc_reconfigure(struct fs_context *fc)
{
	struct erofs_mount_ctx *ctx = fc->fs_private;
	struct super_block *sb = fc->root->d_sb;
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	u32 i, nr = sbi->separate ? sbi->s.extra_devices : 0;

	if (ctx->opts.fsoffset != sbi->opts.fsoffset)
		return invalfc(fc, "fsoffset can't be changed by a remount");
	if ((ctx->opts.flags ^ sbi->opts.flags) & EROFS_OPT_DIRECT_IO)
		return invalfc(fc, "directio can't be changed by a remount");
	/* never and nothing are the same */
	if ((ctx->opts.flags ^ sbi->opts.flags) & EROFS_OPT_DAX)
		return invalfc(fc, "dax can't be changed by a remount");
	if (((ctx->opts.flags ^ sbi->opts.flags) & EROFS_OPT_INODE_SHARE) ||
	    (ctx->domain && (!sbi->domain || strcmp(ctx->domain, sbi->domain))))
		return invalfc(fc, "inode_share and domain_id can't be changed by a remount");
	if (ctx->nr_paths) {
		for (i = 0; i < ctx->nr_paths && i < nr; i++)
			if (strcmp(ctx->paths[i], sbi->extra[i].path))
				break;
		if (i < ctx->nr_paths || i < nr)
			return invalfc(fc, "devices can't be changed by a remount");
	}
	sync_filesystem(sb);
	WRITE_ONCE(sbi->opts.flags, ctx->opts.flags);
	WRITE_ONCE(sbi->opts.cache, ctx->opts.cache);

	fc->sb_flags |= SB_RDONLY;
	fc->sb_flags_mask |= SB_POSIXACL;
	fc->sb_flags &= ~SB_POSIXACL;
	if (ctx->opts.flags & EROFS_OPT_POSIX_ACL)
		fc->sb_flags |= SB_POSIXACL;
	return 0;
}

/* ---- devices --------------------------------------------------------------------- */

static void erofs_device_close(struct erofs_device *dev)
{
	fs_put_dax(dev->dax, NULL);
	if (dev->bdev)
		erofs_compat_bdev_close(dev->bdev, dev->file);
	else if (dev->file)
		fput(dev->file);
	kfree(dev->path);
}

/* takes the path over */
static int erofs_device_open(struct super_block *sb, struct fs_context *fc,
			     struct erofs_device *dev, char *path)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	int err;

	dev->path = path;
	if (sb->s_bdev) {
		struct block_device *bdev;

		bdev = erofs_compat_bdev_open(path, sb->s_type, &dev->file);
		err = PTR_ERR_OR_ZERO(bdev);
		if (!err) {
			dev->bdev = bdev;
			dev->bytes = bdev_nr_bytes(bdev);
			return 0;
		}
	} else {
		struct file *file;

		file = erofs_backing_open(path, sbi->opts.flags & EROFS_OPT_DIRECT_IO);
		err = PTR_ERR_OR_ZERO(file);
		if (!err) {
			dev->file = file;
			dev->bytes = i_size_read(file_inode(file));
			return erofs_backing_attach(sb, file);
		}
	}
	if (err == -ENOTBLK) {
		erofs_mount_err(sb, fc, "device %s is not of the same kind as the primary one",
				path);
		return -EINVAL;
	}
	erofs_mount_err(sb, fc, "device %s can't be opened (error %d)", path, err);
	return err;
}

/* read the device table and open what the mount named (sections 5.1, 5.2) */
static int erofs_devices_init(struct super_block *sb, struct fs_context *fc)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	struct erofs_mount_ctx *ctx = fc->fs_private;
	u32 i, nr = sbi->s.extra_devices;
	struct erofs_device_desc *desc;
	struct erofs_metabuf b;
	int err = 0;

	sbi->total_blocks = sbi->s.blocks;
	if (ctx->nr_paths && ctx->nr_paths != nr) {
		erofs_mount_err(sb, fc, "%u extra devices given, but the volume has %u",
				ctx->nr_paths, nr);
		return -EINVAL;
	}
	if (!nr)
		return 0;
	/* memory is bounded by what is really there */
	if (sbi->s.devt_pos >= sbi->dev.bytes ||
	    (sbi->dev.bytes - sbi->s.devt_pos) / EROFS_DEVT_SLOT_SIZE < nr) {
		erofs_mount_err(sb, fc, "device table of %u slots is outside the device", nr);
		return -EINVAL;
	}
	desc = kmalloc(sizeof(*desc), GFP_KERNEL);
	if (!desc)
		return -ENOMEM;
	sbi->extra = kvcalloc(nr, sizeof(*sbi->extra), GFP_KERNEL);
	if (!sbi->extra) {
		kfree(desc);
		return -ENOMEM;
	}
	sbi->separate = ctx->nr_paths;
	erofs_metabuf_primary(&b, sb);
	for (i = 0; i < nr; i++) {
		struct erofs_device *dev = &sbi->extra[i];

		err = erofs_device_decode(&sbi->s, &b.m, i, desc);
		if (err) {
			erofs_mount_fault(sb, fc, err, &b.m.fault);
			break;
		}
		/* both are below 2^48 blocks, so nothing overflows */
		if (desc->uniaddr) {
			dev->ustart = erofs_blk_pos(&sbi->s, desc->uniaddr);
			dev->uend = dev->ustart + erofs_blk_pos(&sbi->s, desc->blocks);
		}
		if (check_add_overflow(sbi->total_blocks, desc->blocks, &sbi->total_blocks))
			sbi->total_blocks = U64_MAX;
		if (!sbi->separate)
			continue;
		err = erofs_device_open(sb, fc, dev, ctx->paths[i]);
		ctx->paths[i] = NULL;
		if (err)
			break;
	}
	erofs_metabuf_put(&b);
	kfree(desc);
	return err;
}

/*
 * DAX needs memory under all devices, and pages of a file that are pages of the
 * device.  Without that the mount works as if it hadn't been asked for.
 */
static void erofs_dax_init(struct super_block *sb, struct fs_context *fc)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	struct erofs_device *dev = &sbi->dev;
	u32 i, nr = sbi->separate ? sbi->s.extra_devices : 0;
	const char *why = NULL;

	if (!(sbi->opts.flags & EROFS_OPT_DAX))
		return;
	if (sbi->s.blksz != PAGE_SIZE)
		why = "the block size is not the page size";
	for (i = 0; !why; dev = &sbi->extra[i++]) {
		if (dev->bdev)
			dev->dax = fs_dax_get_by_bdev(dev->bdev, &dev->dax_off, NULL, NULL);
		if (!dev->dax)
			why = "the device doesn't have it";
		if (i == nr)
			break;
	}
	if (!why) {
		sbi->dax = true;
		return;
	}
	erofs_warn(sb, "no DAX: %s", why);
	if (fc->log.log)
		warnfc(fc, "no DAX: %s", why);
}

/* ---- mount ------------------------------------------------------------------------ */

static struct erofs_sb_info *erofs_sbi_alloc(void)
{
	struct erofs_sb_info *sbi = kzalloc(sizeof(*sbi), GFP_KERNEL);

	if (!sbi)
		return NULL;
	sbi->stats = alloc_percpu(struct erofs_stats);
	if (!sbi->stats) {
		kfree(sbi);
		return NULL;
	}
	sbi->dir_ra_bytes = EROFS_DIR_RA_BYTES;
	ratelimit_state_init(&sbi->ratelimit, 5 * HZ, 5);
	return sbi;
}

static void erofs_sbi_free(struct erofs_sb_info *sbi)
{
	u32 i;

	if (!sbi)
		return;
	erofs_request_umount(sbi);
	if (sbi->file_wq)
		destroy_workqueue(sbi->file_wq);
	for (i = 0; sbi->extra && i < sbi->s.extra_devices; i++)
		erofs_device_close(&sbi->extra[i]);
	kvfree(sbi->extra);
	fs_put_dax(sbi->dev.dax, NULL);
	if (sbi->dev.file)
		fput(sbi->dev.file);
	if (sbi->pool_held)
		z_erofs_pool_put(sbi->dec.algs);
	erofs_share_exit(sbi);
	kfree(sbi->domain);
	free_percpu(sbi->stats);
	kfree(sbi);
}

/* before any block size is known: where the volume is */
static int erofs_primary_init(struct super_block *sb, struct fs_context *fc)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	struct erofs_device *dev = &sbi->dev;
	int err;

	if (sb->s_bdev) {
		dev->bdev = sb->s_bdev;
		dev->mapping = erofs_compat_bdev_mapping(dev->bdev);
		dev->bytes = bdev_nr_bytes(dev->bdev);
	} else {
		/* unique while mounted, and the same as in /proc/self/mountinfo */
		snprintf(sb->s_id, sizeof(sb->s_id), "%u:%u", MAJOR(sb->s_dev), MINOR(sb->s_dev));
		sb->s_blocksize = PAGE_SIZE;
		sb->s_blocksize_bits = PAGE_SHIFT;
		/* /sys/class/bdi has that name, too: users set readahead there */
		err = super_setup_bdi_name(sb, "%s", sb->s_id);
		if (err)
			return err;
		err = erofs_backing_attach(sb, dev->file);
		if (!err)
			err = erofs_backing_mapping_init(sb);
		if (err)
			return err;
		dev->bytes = i_size_read(file_inode(dev->file));
	}
	erofs_compat_set_sysfs_name(sb);
	if (sbi->opts.fsoffset >= dev->bytes ||
	    dev->bytes - sbi->opts.fsoffset < EROFS_SUPER_OFFSET + EROFS_SB_BASE_SIZE) {
		erofs_mount_err(sb, fc, "no room for a superblock on the device");
		return -EINVAL;
	}
	dev->off = sbi->opts.fsoffset;
	dev->bytes -= dev->off;
	return 0;
}

static int erofs_read_super(struct super_block *sb, struct fs_context *fc)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	u32 maxbits = min(PAGE_SHIFT, EROFS_MAX_BLKSZBITS);
	u32 len = min_t(u64, sbi->dev.bytes - EROFS_SUPER_OFFSET,
			BIT(EROFS_MAX_BLKSZBITS) - EROFS_SUPER_OFFSET);
	struct erofs_fault f = { };
	struct erofs_metabuf b;
	void *buf;
	int err;

	buf = kmalloc(len, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	erofs_metabuf_primary(&b, sb);
	err = erofs_meta_read(&b.m, EROFS_SUPER_OFFSET, buf, len);
	erofs_metabuf_put(&b);
	if (err)
		erofs_mount_err(sb, fc, "the superblock can't be read (error %d)", err);
	else
		err = erofs_mount_fault(sb, fc, erofs_super_decode(buf, len, maxbits, &sbi->s, &f),
					&f);
	kfree(buf);
	if (err) {
		/* nothing of it may be taken for real when the mount is undone */
		memset(&sbi->s, 0, sizeof(sbi->s));
		return err;
	}
	if (sbi->dev.off & (sbi->s.blksz - 1)) {
		erofs_mount_err(sb, fc, "fsoffset %llu is not a multiple of the block size %u",
				sbi->dev.off, sbi->s.blksz);
		return -EINVAL;
	}

	/* where sectors are larger than blocks, whole sectors are read and picked from */
	if (!sb->s_bdev || sbi->s.blksz < bdev_logical_block_size(sb->s_bdev)) {
		sb->s_blocksize = sbi->s.blksz;
		sb->s_blocksize_bits = sbi->s.blkszbits;
	} else if (!sb_set_blocksize(sb, sbi->s.blksz)) {
		erofs_mount_err(sb, fc, "the device doesn't take block size %u", sbi->s.blksz);
		return -EINVAL;
	}

	erofs_metabuf_primary(&b, sb);
	err = erofs_mount_fault(sb, fc, erofs_super_decode_cfgs(&sbi->s, &b.m), &b.m.fault);
	erofs_metabuf_put(&b);
	if (err)
		erofs_mount_err(sb, fc, "bad compression settings (error %d)", err);
	return err;
}

static int erofs_pool_init(struct super_block *sb, struct fs_context *fc)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	int err;

	err = z_erofs_pool_get(sbi->s.algs, sbi->s.lzma_dict_size, sbi->s.zstd_windowlog);
	if (err) {
		erofs_mount_err(sb, fc, "no decompressor for the algorithms 0x%x (error %d)",
				sbi->s.algs, err);
		return err;
	}
	sbi->pool_held = true;
	sbi->dec.algs = sbi->s.algs;
	sbi->dec.lzma_dict = sbi->s.lzma_dict_size;
	sbi->dec.zstd_windowlog = sbi->s.zstd_windowlog;
	return 0;
}

/*
 * Reading a file ahead may read the hidden files ahead, and the metabox may have
 * fragments in the packed file: mapping.invalidate_lock nests in this order.
 */
static struct lock_class_key erofs_metabox_key, erofs_packed_key;

/* packed and metabox inode: regular files outside the metabox (sections 2, 13) */
static struct inode *erofs_get_hidden(struct super_block *sb, struct fs_context *fc, u64 nid,
				      const char *name, struct lock_class_key *key)
{
	struct inode *inode;

	inode = nid & EROFS_NID_METABOX ? ERR_PTR(-EFSCORRUPTED) : erofs_iget(sb, nid);
	if (!IS_ERR(inode) && !S_ISREG(inode->i_mode)) {
		iput(inode);
		inode = ERR_PTR(-EFSCORRUPTED);
	}
	if (IS_ERR(inode))
		erofs_mount_err(sb, fc, "%s inode at nid %llu can't be used (error %ld)", name, nid,
				PTR_ERR(inode));
	else
		lockdep_set_class(&inode->i_mapping->invalidate_lock, key);
	return inode;
}

static int erofs_hidden_init(struct super_block *sb, struct fs_context *fc)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	struct inode *inode;

	if (erofs_has_metabox(&sbi->s)) {
		inode = erofs_get_hidden(sb, fc, sbi->s.metabox_nid, "metabox",
					 &erofs_metabox_key);
		if (IS_ERR(inode))
			return PTR_ERR(inode);
		sbi->metabox = inode;
	}
	if ((sbi->s.feature_incompat & EROFS_FEATURE_INCOMPAT_FRAGMENTS) && sbi->s.packed_nid) {
		inode = erofs_get_hidden(sb, fc, sbi->s.packed_nid, "packed", &erofs_packed_key);
		if (IS_ERR(inode))
			return PTR_ERR(inode);
		sbi->packed = inode;
	}
	return 0;
}

static int erofs_root_init(struct super_block *sb, struct fs_context *fc)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	struct inode *inode;

	inode = erofs_iget(sb, sbi->s.root_nid);
	if (IS_ERR(inode)) {
		erofs_mount_err(sb, fc, "the root directory can't be read (error %ld)",
				PTR_ERR(inode));
		return PTR_ERR(inode);
	}
	if (!S_ISDIR(inode->i_mode)) {
		erofs_mount_err(sb, fc, "the root inode is not a directory");
		iput(inode);
		return -EINVAL;
	}
	sb->s_root = d_make_root(inode);
	return sb->s_root ? 0 : -ENOMEM;
}

/* undo what fill did, as far as it got; also called twice */
static void erofs_teardown(struct super_block *sb)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);

	erofs_sysfs_del(sb);
	z_erofs_stash_drop(sbi);
	erofs_xattr_prefixes_exit(sb);
	iput(sbi->packed);
	sbi->packed = NULL;
	iput(sbi->metabox);
	sbi->metabox = NULL;
	iput(sbi->file_meta);
	sbi->file_meta = NULL;
}

static const struct super_operations erofs_sops;

static int erofs_fill_super(struct super_block *sb, struct fs_context *fc)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	int err;

	sbi->sb = sb;
	sb->s_magic = EROFS_SUPER_MAGIC;
	sb->s_flags |= SB_RDONLY | SB_NOATIME;
	if (sbi->opts.flags & EROFS_OPT_POSIX_ACL)
		sb->s_flags |= SB_POSIXACL;
	sb->s_maxbytes = MAX_LFS_FILESIZE;
	sb->s_time_gran = 1;
	sb->s_time_min = S64_MIN;
	sb->s_time_max = S64_MAX;
	sb->s_op = &erofs_sops;
	sb->s_xattr = erofs_xattr_handlers;
	sb->s_export_op = &erofs_export_ops;

	err = erofs_primary_init(sb, fc);
	if (err)
		goto fail;
	err = erofs_read_super(sb, fc);
	if (err)
		goto fail;
	if (memchr_inv(sbi->s.uuid, 0, sizeof(sbi->s.uuid)))
		super_set_uuid(sb, sbi->s.uuid, sizeof(sbi->s.uuid));
	err = erofs_devices_init(sb, fc);
	if (err)
		goto fail;
	if (sb->s_stack_depth > FILESYSTEM_MAX_STACK_DEPTH) {
		erofs_mount_err(sb, fc, "too many file systems stacked on each other");
		err = -EINVAL;
		goto fail;
	}
	erofs_dax_init(sb, fc);
	err = erofs_request_mount(sb);
	if (err)
		goto fail;
	err = erofs_pool_init(sb, fc);
	if (err)
		goto fail;
	err = erofs_hidden_init(sb, fc);
	if (err)
		goto fail;
	err = erofs_xattr_prefixes_init(sb);
	if (err) {
		erofs_mount_err(sb, fc, "the xattr name prefixes can't be read (error %d)", err);
		goto fail;
	}
	err = erofs_share_init(sb);
	if (err) {
		erofs_mount_err(sb, fc, "page cache can't be shared (error %d)", err);
		goto fail;
	}
	err = erofs_sysfs_add(sb);
	if (err)
		goto fail;
	err = erofs_root_init(sb, fc);
	if (err)
		goto fail;
	return 0;

fail:
	erofs_teardown(sb);
	return err;
}

/* the source isn't a block device: try it as a regular file */
static int erofs_get_tree_file(struct fs_context *fc, struct erofs_sb_info *sbi)
{
	struct file *file;

	file = erofs_backing_open(fc->source, sbi->opts.flags & EROFS_OPT_DIRECT_IO);
	if (file == ERR_PTR(-ENOTBLK))
		return invalfc(fc, "%s is neither a block device nor a regular file", fc->source);
	if (IS_ERR(file)) {
		errorfc(fc, "%s can't be opened%s", fc->source,
			sbi->opts.flags & EROFS_OPT_DIRECT_IO ? " for direct I/O" : "");
		return PTR_ERR(file);
	}
	sbi->dev.file = file;
	return get_tree_nodev(fc, erofs_fill_super);
}

static int erofs_fc_get_tree(struct fs_context *fc)
{
	struct erofs_mount_ctx *ctx = fc->fs_private;
	struct erofs_sb_info *sbi;
	struct super_block *sb;
	int err;

	if (!fc->source)
		return invalfc(fc, "no source given");
	/* fingerprints come from images, so somebody has to say which images trust each other */
	if ((ctx->opts.flags & EROFS_OPT_INODE_SHARE) && !ctx->domain)
		return invalfc(fc, "inode_share needs domain_id=");
	/* asking for a writable mount is no error; it just isn't one */
	fc->sb_flags |= SB_RDONLY;

	sbi = erofs_sbi_alloc();
	if (!sbi)
		return -ENOMEM;
	sbi->opts = ctx->opts;
	sbi->domain = ctx->domain;
	ctx->domain = NULL;
	fc->s_fs_info = sbi;

	err = erofs_compat_get_tree_bdev(fc, erofs_fill_super);
	/* s_fs_info is still ours only if no super_block took it */
	if (err == -ENOTBLK && fc->s_fs_info)
		return erofs_get_tree_file(fc, sbi);
	if (err || !fc->s_fs_info)
		return err;

	/* this device is mounted already, and its super_block is used again */
	sb = fc->root->d_sb;
	if (EROFS_SB(sb)->opts.fsoffset == ctx->opts.fsoffset)
		return 0;
	errorfc(fc, "%s is mounted with another fsoffset", fc->source);
	dput(fc->root);
	fc->root = NULL;
	deactivate_locked_super(sb);
	return -EBUSY;
}

static void erofs_fc_free(struct fs_context *fc)
{
	struct erofs_mount_ctx *ctx = fc->fs_private;
	u32 i;

	erofs_sbi_free(fc->s_fs_info);
	if (!ctx)
		return;
	for (i = 0; i < ctx->nr_paths; i++)
		kfree(ctx->paths[i]);
	kfree(ctx->paths);
	kfree(ctx->domain);
	kfree(ctx);
}

static const struct fs_context_operations erofs_context_ops = {
	.parse_param	= erofs_fc_parse_param,
	.get_tree	= erofs_fc_get_tree,
	.reconfigure	= erofs_fc_reconfigure,
	.free		= erofs_fc_free,
};

static int erofs_init_fs_context(struct fs_context *fc)
{
	struct erofs_mount_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);

	if (!ctx)
		return -ENOMEM;
	if (fc->purpose == FS_CONTEXT_FOR_RECONFIGURE) {
		ctx->opts = EROFS_SB(fc->root->d_sb)->opts;
	} else {
		ctx->opts.flags = EROFS_OPT_XATTR_USER;
		if (IS_ENABLED(CONFIG_FS_POSIX_ACL))
			ctx->opts.flags |= EROFS_OPT_POSIX_ACL;
		ctx->opts.cache = EROFS_CACHE_READAROUND;
	}
	fc->fs_private = ctx;
	fc->ops = &erofs_context_ops;
	return 0;
}

static void erofs_kill_sb(struct super_block *sb)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);

	/* requests for shared pages hold inodes */
	erofs_request_drain(sbi);
	if (sbi->dev.file)
		kill_anon_super(sb);
	else
		kill_block_super(sb);
	sb->s_fs_info = NULL;
	erofs_sbi_free(sbi);
}

/* ---- super_operations -------------------------------------------------------------- */

static struct inode *erofs_alloc_inode(struct super_block *sb)
{
	struct erofs_inode *ei = alloc_inode_sb(sb, erofs_inode_cachep, GFP_KERNEL);

	if (!ei)
		return NULL;
	ei->zi = NULL;
	ei->share = NULL;
	ei->ra_next = 0;
	ei->dir_hint = 0;
	ei->rest_next = 0;
	return &ei->vfs;
}

static void erofs_evict_inode(struct inode *inode)
{
	if (IS_DAX(inode))
		dax_break_layout_final(inode);
	truncate_inode_pages_final(&inode->i_data);
	clear_inode(inode);
	erofs_share_evict(inode);
}

static void erofs_free_inode(struct inode *inode)
{
	struct erofs_inode *ei = EROFS_I(inode);

	if (inode->i_op == &erofs_fast_symlink_iops)
		kfree(inode->i_link);
	kfree(ei->zi);
	kmem_cache_free(erofs_inode_cachep, ei);
}

static int erofs_statfs(struct dentry *dentry, struct kstatfs *buf)
{
	struct super_block *sb = dentry->d_sb;
	struct erofs_sb_info *sbi = EROFS_SB(sb);

	buf->f_type = sb->s_magic;
	buf->f_bsize = sb->s_blocksize;
	buf->f_blocks = sbi->total_blocks;
	buf->f_files = sbi->s.inos;
	buf->f_namelen = EROFS_NAME_LEN;
	if (uuid_is_null(&sb->s_uuid))
		buf->f_fsid = u64_to_fsid(huge_encode_dev(sb->s_bdev ? sb->s_bdev->bd_dev :
									sb->s_dev));
	else
		buf->f_fsid = uuid_to_fsid(sb->s_uuid.b);
	return 0;
}

static const struct super_operations erofs_sops = {
	.alloc_inode	= erofs_alloc_inode,
	.free_inode	= erofs_free_inode,
	.evict_inode	= erofs_evict_inode,
	.put_super	= erofs_teardown,
	.statfs		= erofs_statfs,
	.show_options	= erofs_show_options,
};

long erofs_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct erofs_sb_info *sbi = EROFS_SB(file_inode(file)->i_sb);

	if (cmd != FS_IOC_GETFSLABEL)
		return -ENOTTY;
	if (copy_to_user((void __user *)arg, sbi->s.label, sizeof(sbi->s.label)))
		return -EFAULT;
	return 0;
}

/* ---- module ------------------------------------------------------------------------- */

static struct file_system_type erofs_fs_type = {
	.owner		= THIS_MODULE,
	.name		= EROFS_FSNAME,
	.init_fs_context = erofs_init_fs_context,
	.parameters	= erofs_fs_parameters,
	.kill_sb	= erofs_kill_sb,
	.fs_flags	= FS_REQUIRES_DEV | FS_ALLOW_IDMAP,
};
MODULE_ALIAS_FS(EROFS_FSNAME);

static void erofs_inode_init_once(void *p)
{
	struct erofs_inode *ei = p;

	inode_init_once(&ei->vfs);
}

static int __init erofs_module_init(void)
{
	int err;

	erofs_inode_cachep = kmem_cache_create(EROFS_FSNAME "_inode", sizeof(struct erofs_inode),
					       0, SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT,
					       erofs_inode_init_once);
	if (!erofs_inode_cachep)
		return -ENOMEM;
	err = erofs_data_init();
	if (err)
		goto err_cache;
	err = z_erofs_init();
	if (err)
		goto err_data;
	err = erofs_sysfs_init();
	if (err)
		goto err_z;
	err = register_filesystem(&erofs_fs_type);
	if (err)
		goto err_sysfs;
	return 0;

err_sysfs:
	erofs_sysfs_exit();
err_z:
	z_erofs_exit();
	z_erofs_pool_exit();
err_data:
	erofs_data_exit();
err_cache:
	kmem_cache_destroy(erofs_inode_cachep);
	return err;
}

static void __exit erofs_module_exit(void)
{
	unregister_filesystem(&erofs_fs_type);
	/* inodes are freed after a grace period */
	rcu_barrier();
	erofs_sysfs_exit();
	z_erofs_exit();
	z_erofs_pool_exit();
	erofs_data_exit();
	kmem_cache_destroy(erofs_inode_cachep);
}

module_init(erofs_module_init);
module_exit(erofs_module_exit);

MODULE_DESCRIPTION("Enhanced Read-Only File System");
MODULE_AUTHOR("erofs-lts contributors");
MODULE_LICENSE("GPL");
MODULE_VERSION(EROFS_LTS_VERSION);
