/* SPDX-License-Identifier: GPL-2.0 */
/*
 * erofs_fs.h - the on-disk layout: structures and constants, no code.
 *
 * Everything is little-endian and packed.  Documentation/format.md explains
 * the meaning; the section numbers below refer to it.
 */
#ifndef EROFS_FS_H
#define EROFS_FS_H

#include "port.h"

#define EROFS_SUPER_MAGIC		0xE0F5E1E2u
#define EROFS_SUPER_OFFSET		1024
#define EROFS_SB_BASE_SIZE		128
#define EROFS_SB_EXTSLOT_SIZE		16
#define EROFS_MIN_BLKSZBITS		9
#define EROFS_MAX_BLKSZBITS		12

/* feature_compat (3.1) */
#define EROFS_FEATURE_COMPAT_SB_CHKSUM			0x00000001
#define EROFS_FEATURE_COMPAT_MTIME			0x00000002
#define EROFS_FEATURE_COMPAT_XATTR_FILTER		0x00000004
#define EROFS_FEATURE_COMPAT_SHARED_EA_IN_METABOX	0x00000008
#define EROFS_FEATURE_COMPAT_PLAIN_XATTR_PFX		0x00000010
#define EROFS_FEATURE_COMPAT_ISHARE_XATTRS		0x00000020

/* feature_incompat (3.2); three bits are shared by two features each */
#define EROFS_FEATURE_INCOMPAT_LZ4_0PADDING		0x00000001
#define EROFS_FEATURE_INCOMPAT_COMPR_CFGS		0x00000002
#define EROFS_FEATURE_INCOMPAT_BIG_PCLUSTER		0x00000002
#define EROFS_FEATURE_INCOMPAT_CHUNKED_FILE		0x00000004
#define EROFS_FEATURE_INCOMPAT_DEVICE_TABLE		0x00000008
#define EROFS_FEATURE_INCOMPAT_COMPR_HEAD2		0x00000008
#define EROFS_FEATURE_INCOMPAT_ZTAILPACKING		0x00000010
#define EROFS_FEATURE_INCOMPAT_FRAGMENTS		0x00000020
#define EROFS_FEATURE_INCOMPAT_DEDUPE			0x00000020
#define EROFS_FEATURE_INCOMPAT_XATTR_PREFIXES		0x00000040
#define EROFS_FEATURE_INCOMPAT_48BIT			0x00000080
#define EROFS_FEATURE_INCOMPAT_METABOX			0x00000100
#define EROFS_ALL_FEATURE_INCOMPAT			0x000001ff

/* superblock (2), at byte 1024; fields past 128 + 16 * sb_extslots don't exist */
struct erofs_super_block {
	__le32 magic;
	__le32 checksum;
	__le32 feature_compat;
	u8 blkszbits;
	u8 sb_extslots;
	union {
		__le16 rootnid_2b;
		__le16 blocks_hi;
	} rb;
	__le64 inos;
	__le64 epoch;
	__le32 fixed_nsec;
	__le32 blocks_lo;
	__le32 meta_blkaddr;
	__le32 xattr_blkaddr;
	u8 uuid[16];
	u8 volume_name[16];
	__le32 feature_incompat;
	union {
		__le16 available_compr_algs;
		__le16 lz4_max_distance;
	} u1;
	__le16 extra_devices;
	__le16 devt_slotoff;
	u8 dirblkbits;
	u8 xattr_prefix_count;
	__le32 xattr_prefix_start;
	__le64 packed_nid;
	u8 xattr_filter_reserved;
	u8 ishare_xattr_prefix_id;
	u8 reserved[2];
	__le32 build_time;
	__le64 rootnid_8b;
	u8 reserved2[8];
	__le64 metabox_nid;	/* extension slot 1 */
	u8 reserved3[8];
} __packed;
static_assert(sizeof(struct erofs_super_block) == 144, "superblock size");

/* device table slot (5.1) */
#define EROFS_DEVT_SLOT_SIZE		128
struct erofs_deviceslot {
	u8 tag[64];
	__le32 blocks_lo;
	__le32 uniaddr_lo;
	__le16 blocks_hi;
	__le16 uniaddr_hi;
	u8 reserved[52];
} __packed;
static_assert(sizeof(struct erofs_deviceslot) == EROFS_DEVT_SLOT_SIZE, "device slot size");

/* nids (6.1) */
#define EROFS_ISLOTBITS			5
#define EROFS_NID_METABOX		BIT_ULL(63)

/* i_format (6.2) */
#define EROFS_I_EXTENDED		0x0001
#define EROFS_I_LAYOUT_SHIFT		1
#define EROFS_I_LAYOUT_MASK		0x7
#define EROFS_I_NLINK_1			0x0010	/* compact non-directory */
#define EROFS_I_DOT_OMITTED		0x0010	/* directory */
#define EROFS_I_ALL			0x001f

enum {
	EROFS_INODE_FLAT_PLAIN		= 0,
	EROFS_INODE_COMPRESSED_FULL	= 1,
	EROFS_INODE_FLAT_INLINE		= 2,
	EROFS_INODE_COMPRESSED_COMPACT	= 3,
	EROFS_INODE_CHUNK_BASED		= 4,
	EROFS_INODE_LAYOUT_MAX
};

struct erofs_inode_compact {
	__le16 i_format;
	__le16 i_xattr_icount;
	__le16 i_mode;
	__le16 i_nb;
	__le32 i_size;
	__le32 i_mtime;
	__le32 i_u;
	__le32 i_ino;
	__le16 i_uid;
	__le16 i_gid;
	__le32 i_reserved;
} __packed;
static_assert(sizeof(struct erofs_inode_compact) == 32, "compact inode size");

struct erofs_inode_extended {
	__le16 i_format;
	__le16 i_xattr_icount;
	__le16 i_mode;
	__le16 i_nb;
	__le64 i_size;
	__le32 i_u;
	__le32 i_ino;
	__le32 i_uid;
	__le32 i_gid;
	__le64 i_mtime;
	__le32 i_mtime_nsec;
	__le32 i_nlink;
	u8 i_reserved2[16];
} __packed;
static_assert(sizeof(struct erofs_inode_extended) == 64, "extended inode size");

/* chunk-based files (7.3) */
#define EROFS_CHUNK_FORMAT_BLKBITS_MASK	0x001f
#define EROFS_CHUNK_FORMAT_INDEXES	0x0020
#define EROFS_CHUNK_FORMAT_48BIT	0x0040
#define EROFS_CHUNK_FORMAT_ALL		0x007f

struct erofs_inode_chunk_index {
	__le16 startblk_hi;
	__le16 device_id;
	__le32 startblk_lo;
} __packed;

/* directories (8) */
struct erofs_dirent {
	__le64 nid;
	__le16 nameoff;
	u8 file_type;
	u8 reserved;
} __packed;
static_assert(sizeof(struct erofs_dirent) == 12, "dirent size");
#define EROFS_NAME_LEN			255

/* xattrs (10) */
struct erofs_xattr_ibody_header {
	__le32 h_name_filter;
	u8 h_shared_count;
	u8 h_reserved2[7];
} __packed;
static_assert(sizeof(struct erofs_xattr_ibody_header) == 12, "xattr header size");

struct erofs_xattr_entry {
	u8 e_name_len;
	u8 e_name_index;
	__le16 e_value_size;
} __packed;

#define EROFS_XATTR_INDEX_USER			1
#define EROFS_XATTR_INDEX_POSIX_ACL_ACCESS	2
#define EROFS_XATTR_INDEX_POSIX_ACL_DEFAULT	3
#define EROFS_XATTR_INDEX_TRUSTED		4
#define EROFS_XATTR_INDEX_LUSTRE		5
#define EROFS_XATTR_INDEX_SECURITY		6
#define EROFS_XATTR_LONG_PREFIX			0x80
#define EROFS_XATTR_LONG_PREFIX_MASK		0x7f
#define EROFS_XATTR_FILTER_SEED			0x25BBE08Fu

/* compression (4, 11, 12) */
enum {
	Z_EROFS_COMPRESSION_LZ4		= 0,
	Z_EROFS_COMPRESSION_LZMA	= 1,
	Z_EROFS_COMPRESSION_DEFLATE	= 2,
	Z_EROFS_COMPRESSION_ZSTD	= 3,
	Z_EROFS_COMPRESSION_MAX
};

#define Z_EROFS_PCLUSTER_MAX_SIZE	(1024 * 1024)
#define Z_EROFS_PCLUSTER_MAX_DSIZE	(12 * 1024 * 1024)

#define Z_EROFS_ADVISE_COMPACTED_2B		0x0001
#define Z_EROFS_ADVISE_EXTENTS			0x0001
#define Z_EROFS_ADVISE_BIG_PCLUSTER_1		0x0002
#define Z_EROFS_ADVISE_BIG_PCLUSTER_2		0x0004
#define Z_EROFS_ADVISE_EXTRECSZ_SHIFT		1
#define Z_EROFS_ADVISE_EXTRECSZ_MASK		0x3
#define Z_EROFS_ADVISE_INLINE_PCLUSTER		0x0008
#define Z_EROFS_ADVISE_INTERLACED_PCLUSTER	0x0010
#define Z_EROFS_ADVISE_FRAGMENT_PCLUSTER	0x0020

#define Z_EROFS_FRAGMENT_INODE			BIT_ULL(63)

enum {
	Z_EROFS_LCLUSTER_PLAIN		= 0,
	Z_EROFS_LCLUSTER_HEAD1		= 1,
	Z_EROFS_LCLUSTER_NONHEAD	= 2,
	Z_EROFS_LCLUSTER_HEAD2		= 3,
};

#define Z_EROFS_LI_TYPE_MASK		0x0003
#define Z_EROFS_LI_HOLE			0x4000
#define Z_EROFS_LI_PARTIAL_REF		0x8000
#define Z_EROFS_LI_D0_CBLKCNT		0x0800

struct z_erofs_map_header {
	union {
		__le32 h_fragmentoff;
		struct {
			__le16 h_reserved1;
			__le16 h_idata_size;
		};
		__le32 h_extents_lo;
	};
	__le16 h_advise;
	union {
		struct {
			u8 h_algorithmtype;
			u8 h_clusterbits;
		};
		__le16 h_extents_hi;
	};
} __packed;
static_assert(sizeof(struct z_erofs_map_header) == 8, "map header size");

struct z_erofs_lcluster_index {
	__le16 di_advise;
	__le16 di_clusterofs;
	union {
		__le32 blkaddr;
		__le16 delta[2];
	} di_u;
} __packed;
static_assert(sizeof(struct z_erofs_lcluster_index) == 8, "lcluster index size");

/* encoded extents (11.9): the plen word */
#define Z_EROFS_EXTENT_PLEN_MASK	0x001fffff
#define Z_EROFS_EXTENT_PLEN_PARTIAL	0x08000000
#define Z_EROFS_EXTENT_PLEN_FMT_SHIFT	28

struct z_erofs_extent {
	__le32 plen;
	__le32 pstart_lo;
	__le32 pstart_hi;
	__le32 lstart_lo;
	__le32 lstart_hi;
	u8 reserved[12];
} __packed;
static_assert(sizeof(struct z_erofs_extent) == 32, "extent record size");

#endif /* EROFS_FS_H */
