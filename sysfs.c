// SPDX-License-Identifier: GPL-2.0
/*
 * sysfs.c - /sys/fs/<type>/features, and one directory per mount with its
 * counters, the times that decoding took, and switches.
 */
#include <linux/sysfs.h>
#include "internal.h"

static struct kset *erofs_kset;
static struct kobject *erofs_features;

/* ---- what the driver can do ------------------------------------------------------- */

static ssize_t feature_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "supported\n");
}

#define EROFS_FEATURE(_name) \
static struct kobj_attribute erofs_feature_##_name = { \
	.attr = { .name = #_name, .mode = 0444 }, \
	.show = feature_show, \
}

EROFS_FEATURE(sb_chksum);
EROFS_FEATURE(xattr_filter);
EROFS_FEATURE(zero_padding);
EROFS_FEATURE(compr_cfgs);
EROFS_FEATURE(big_pcluster);
EROFS_FEATURE(chunked_file);
EROFS_FEATURE(device_table);
EROFS_FEATURE(compr_head2);
EROFS_FEATURE(ztailpacking);
EROFS_FEATURE(fragments);
EROFS_FEATURE(dedupe);
EROFS_FEATURE(xattr_prefixes);
EROFS_FEATURE(48bit);
EROFS_FEATURE(metabox);
EROFS_FEATURE(file_backed);

static struct attribute *erofs_feature_attrs[] = {
	&erofs_feature_sb_chksum.attr,
	&erofs_feature_xattr_filter.attr,
	&erofs_feature_zero_padding.attr,
	&erofs_feature_compr_cfgs.attr,
	&erofs_feature_big_pcluster.attr,
	&erofs_feature_chunked_file.attr,
	&erofs_feature_device_table.attr,
	&erofs_feature_compr_head2.attr,
	&erofs_feature_ztailpacking.attr,
	&erofs_feature_fragments.attr,
	&erofs_feature_dedupe.attr,
	&erofs_feature_xattr_prefixes.attr,
	&erofs_feature_48bit.attr,
	&erofs_feature_metabox.attr,
	&erofs_feature_file_backed.attr,
	NULL
};

static const struct attribute_group erofs_feature_group = {
	.attrs = erofs_feature_attrs,
};

/* ---- one mount ------------------------------------------------------------------------ */

/* @stat: for counters, which one */
struct erofs_attr {
	struct attribute attr;
	enum erofs_stat stat;
	ssize_t (*show)(struct erofs_sb_info *sbi, const struct erofs_attr *a, char *buf);
	int (*store)(struct erofs_sb_info *sbi, unsigned int val);
};

static ssize_t counter_show(struct erofs_sb_info *sbi, const struct erofs_attr *a, char *buf)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(sbi->stats, cpu)->v[a->stat]);
	return sysfs_emit(buf, "%llu\n", sum);
}

#define EROFS_COUNTER(_name, _stat) \
static struct erofs_attr erofs_attr_##_name = { \
	.attr = { .name = #_name, .mode = 0444 }, \
	.stat = _stat, \
	.show = counter_show, \
}

EROFS_COUNTER(inplace, EROFS_STAT_INPLACE);
EROFS_COUNTER(direct, EROFS_STAT_DIRECT);
EROFS_COUNTER(bounce, EROFS_STAT_BOUNCE);
EROFS_COUNTER(plain, EROFS_STAT_PLAIN);
EROFS_COUNTER(stash_hits, EROFS_STAT_STASH_HIT);
EROFS_COUNTER(bytes_read, EROFS_STAT_BYTES_READ);
EROFS_COUNTER(bytes_out, EROFS_STAT_BYTES_OUT);
EROFS_COUNTER(errors, EROFS_STAT_ERRORS);

/* a line for each bucket: microseconds that its times are below, and how many there were */
static ssize_t decode_latency_show(struct erofs_sb_info *sbi, const struct erofs_attr *a,
				   char *buf)
{
	int i, cpu, at = 0;

	for (i = 0; i < EROFS_LATENCY_NR; i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(sbi->stats, cpu)->latency[i]);
		if (i < EROFS_LATENCY_NR - 1)
			at += sysfs_emit_at(buf, at, "%u %llu\n", 1U << i, sum);
		else
			at += sysfs_emit_at(buf, at, "inf %llu\n", sum);
	}
	return at;
}

static struct erofs_attr erofs_attr_decode_latency = {
	.attr = { .name = "decode_latency", .mode = 0444 },
	.show = decode_latency_show,
};

static ssize_t share_saved_bytes_show(struct erofs_sb_info *sbi, const struct erofs_attr *a,
				      char *buf)
{
	return sysfs_emit(buf, "%llu\n", erofs_share_saved(sbi));
}

static struct erofs_attr erofs_attr_share_saved_bytes = {
	.attr = { .name = "share_saved_bytes", .mode = 0444 },
	.show = share_saved_bytes_show,
};

static int drop_caches_store(struct erofs_sb_info *sbi, unsigned int val)
{
	if (val < 1 || val > 3)
		return -EINVAL;
	z_erofs_stash_drop(sbi);
	return 0;
}

static struct erofs_attr erofs_attr_drop_caches = {
	.attr = { .name = "drop_caches", .mode = 0200 },
	.store = drop_caches_store,
};

static ssize_t sync_decompress_show(struct erofs_sb_info *sbi, const struct erofs_attr *a,
				    char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(sbi->sync_decompress));
}

static int sync_decompress_store(struct erofs_sb_info *sbi, unsigned int val)
{
	if (val >= EROFS_SYNC_NR)
		return -EINVAL;
	WRITE_ONCE(sbi->sync_decompress, val);
	return 0;
}

static struct erofs_attr erofs_attr_sync_decompress = {
	.attr = { .name = "sync_decompress", .mode = 0644 },
	.show = sync_decompress_show,
	.store = sync_decompress_store,
};

static ssize_t dir_ra_bytes_show(struct erofs_sb_info *sbi, const struct erofs_attr *a, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(sbi->dir_ra_bytes));
}

static int dir_ra_bytes_store(struct erofs_sb_info *sbi, unsigned int val)
{
	WRITE_ONCE(sbi->dir_ra_bytes, val);
	return 0;
}

static struct erofs_attr erofs_attr_dir_ra_bytes = {
	.attr = { .name = "dir_ra_bytes", .mode = 0644 },
	.show = dir_ra_bytes_show,
	.store = dir_ra_bytes_store,
};

static struct attribute *erofs_sb_attrs[] = {
	&erofs_attr_inplace.attr,
	&erofs_attr_direct.attr,
	&erofs_attr_bounce.attr,
	&erofs_attr_plain.attr,
	&erofs_attr_stash_hits.attr,
	&erofs_attr_bytes_read.attr,
	&erofs_attr_bytes_out.attr,
	&erofs_attr_errors.attr,
	&erofs_attr_decode_latency.attr,
	&erofs_attr_share_saved_bytes.attr,
	&erofs_attr_drop_caches.attr,
	&erofs_attr_sync_decompress.attr,
	&erofs_attr_dir_ra_bytes.attr,
	NULL
};
ATTRIBUTE_GROUPS(erofs_sb);

static ssize_t erofs_attr_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	const struct erofs_attr *a = container_of(attr, struct erofs_attr, attr);

	if (!a->show)
		return -EPERM;
	return a->show(container_of(kobj, struct erofs_sb_info, kobj), a, buf);
}

static ssize_t erofs_attr_store(struct kobject *kobj, struct attribute *attr, const char *buf,
				size_t len)
{
	const struct erofs_attr *a = container_of(attr, struct erofs_attr, attr);
	unsigned int val;
	int err;

	if (!a->store)
		return -EPERM;
	err = kstrtouint(buf, 0, &val);
	if (!err)
		err = a->store(container_of(kobj, struct erofs_sb_info, kobj), val);
	return err ?: len;
}

static void erofs_sb_release(struct kobject *kobj)
{
	complete(&container_of(kobj, struct erofs_sb_info, kobj)->kobj_gone);
}

static const struct sysfs_ops erofs_attr_ops = {
	.show	= erofs_attr_show,
	.store	= erofs_attr_store,
};

static const struct kobj_type erofs_sb_ktype = {
	.default_groups	= erofs_sb_groups,
	.sysfs_ops	= &erofs_attr_ops,
	.release	= erofs_sb_release,
};

int erofs_sysfs_add(struct super_block *sb)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	int err;

	init_completion(&sbi->kobj_gone);
	sbi->kobj.kset = erofs_kset;
	err = kobject_init_and_add(&sbi->kobj, &erofs_sb_ktype, NULL, "%s", sb->s_id);
	if (err) {
		/* somebody may be looking already */
		kobject_put(&sbi->kobj);
		wait_for_completion(&sbi->kobj_gone);
		return err;
	}
	sbi->kobj_added = true;
	return 0;
}

void erofs_sysfs_del(struct super_block *sb)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);

	if (!sbi->kobj_added)
		return;
	sbi->kobj_added = false;
	kobject_del(&sbi->kobj);
	kobject_put(&sbi->kobj);
	wait_for_completion(&sbi->kobj_gone);
}

int erofs_sysfs_init(void)
{
	int err = -ENOMEM;

	erofs_kset = kset_create_and_add(EROFS_FSNAME, NULL, fs_kobj);
	if (!erofs_kset)
		return err;
	erofs_features = kobject_create_and_add("features", &erofs_kset->kobj);
	if (!erofs_features)
		goto err_kset;
	err = sysfs_create_group(erofs_features, &erofs_feature_group);
	if (err)
		goto err_features;
	return 0;

err_features:
	kobject_put(erofs_features);
err_kset:
	kset_unregister(erofs_kset);
	return err;
}

void erofs_sysfs_exit(void)
{
	sysfs_remove_group(erofs_features, &erofs_feature_group);
	kobject_put(erofs_features);
	kset_unregister(erofs_kset);
}
