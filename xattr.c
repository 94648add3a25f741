// SPDX-License-Identifier: GPL-2.0
/*
 * xattr.c - extended attributes and ACLs towards the VFS.  What is inside an
 * xattr body is xattr_core.c's.
 */
#include <linux/capability.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include "internal.h"

/* both spaces an inode's attributes can be in */
struct erofs_xattr_bufs {
	struct erofs_metabuf body;
	struct erofs_metabuf shared;
	struct erofs_xattr_ctx x;
};

/* Return: 0 with @x ready and erofs_xattr_bufs_put() due, or errno */
static int erofs_xattr_bufs_get(struct inode *inode, struct erofs_xattr_bufs *p)
{
	struct super_block *sb = inode->i_sb;
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	int err;

	err = erofs_metabuf_nid(&p->body, sb, EROFS_I(inode)->d.nid);
	if (err)
		return err;
	/* without metabox the core refuses shared entries that should be in it */
	if ((sbi->s.feature_compat & EROFS_FEATURE_COMPAT_SHARED_EA_IN_METABOX) && sbi->metabox)
		erofs_metabuf_inode(&p->shared, sbi->metabox);
	else
		erofs_metabuf_primary(&p->shared, sb);
	p->x.s = &sbi->s;
	p->x.d = &EROFS_I(inode)->d;
	p->x.body = &p->body.m;
	p->x.shared = &p->shared.m;
	p->x.prefixes = sbi->prefixes;
	return 0;
}

/* report what was wrong, if anything */
static void erofs_xattr_bufs_put(struct inode *inode, struct erofs_xattr_bufs *p, int err)
{
	u64 nid = EROFS_I(inode)->d.nid;

	if (err < 0) {
		erofs_fault_report(inode->i_sb, true, nid, err, &p->body.m.fault);
		erofs_fault_report(inode->i_sb, true, nid, err, &p->shared.m.fault);
	}
	/* windows are mapped and unmapped like a stack */
	erofs_metabuf_put(&p->shared);
	erofs_metabuf_put(&p->body);
}

int erofs_getxattr(struct inode *inode, u8 index, const char *name, void *buf, size_t size)
{
	struct erofs_xattr_bufs p;
	size_t len = strlen(name);
	int err;

	if (!EROFS_I(inode)->d.xattr_isize)
		return -ENODATA;
	if (len > U8_MAX)
		return -ERANGE;
	err = erofs_xattr_bufs_get(inode, &p);
	if (err)
		return err;
	err = erofs_xattr_find(&p.x, index, name, len, buf, size);
	erofs_xattr_bufs_put(inode, &p, err);
	return err;
}

/* ---- listing ------------------------------------------------------------------------ */

struct erofs_xattr_list_ctx {
	char *buf;		/* NULL: only count */
	size_t size;
	size_t used;
	bool user;
	bool trusted;
	bool acl;
};

/* prefix of an attribute the caller may see, else NULL */
static const char *erofs_xattr_prefix_str(const struct erofs_xattr_list_ctx *l, u8 index)
{
	switch (index) {
	case EROFS_XATTR_INDEX_USER:
		return l->user ? XATTR_USER_PREFIX : NULL;
	case EROFS_XATTR_INDEX_POSIX_ACL_ACCESS:
		return l->acl ? XATTR_NAME_POSIX_ACL_ACCESS : NULL;
	case EROFS_XATTR_INDEX_POSIX_ACL_DEFAULT:
		return l->acl ? XATTR_NAME_POSIX_ACL_DEFAULT : NULL;
	case EROFS_XATTR_INDEX_TRUSTED:
		return l->trusted ? XATTR_TRUSTED_PREFIX : NULL;
	case EROFS_XATTR_INDEX_SECURITY:
		return XATTR_SECURITY_PREFIX;
	}
	return NULL;
}

static int erofs_xattr_list_one(void *priv, u8 index, const char *infix, u32 infixlen,
				const char *name, u32 namelen)
{
	struct erofs_xattr_list_ctx *l = priv;
	const char *prefix = erofs_xattr_prefix_str(l, index);
	bool acl = index == EROFS_XATTR_INDEX_POSIX_ACL_ACCESS ||
		   index == EROFS_XATTR_INDEX_POSIX_ACL_DEFAULT;
	size_t plen, len;
	char *p;

	/* ACLs have no name of their own, everything else has one */
	if (!prefix || acl == (infixlen + namelen > 0))
		return 0;
	plen = strlen(prefix);
	len = plen + infixlen + namelen;
	if (len > XATTR_NAME_MAX)
		return 0;	/* nobody could ask for it */
	if (l->buf) {
		if (l->size - l->used < len + 1)
			return -ERANGE;
		p = l->buf + l->used;
		memcpy(p, prefix, plen);
		memcpy(p + plen, infix, infixlen);
		memcpy(p + plen + infixlen, name, namelen);
		p[len] = 0;
	}
	l->used += len + 1;
	return 0;
}

ssize_t erofs_listxattr(struct dentry *dentry, char *buf, size_t size)
{
	struct inode *inode = d_inode(dentry);
	u32 flags = READ_ONCE(EROFS_SB(inode->i_sb)->opts.flags);
	struct erofs_xattr_list_ctx l = {
		.buf = size ? buf : NULL,
		.size = size,
		.user = flags & EROFS_OPT_XATTR_USER,
		.acl = IS_POSIXACL(inode),
	};
	struct erofs_xattr_bufs p;
	int err;

	if (!EROFS_I(inode)->d.xattr_isize)
		return 0;
	l.trusted = ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
	err = erofs_xattr_bufs_get(inode, &p);
	if (err)
		return err;
	err = erofs_xattr_list(&p.x, erofs_xattr_list_one, &l);
	erofs_xattr_bufs_put(inode, &p, err);
	return err ?: l.used;
}

/* ---- handlers ------------------------------------------------------------------------- */

static int erofs_xattr_handler_get(const struct xattr_handler *handler, struct dentry *dentry,
				   struct inode *inode, const char *name, void *buf, size_t size)
{
	if (handler->flags == EROFS_XATTR_INDEX_USER &&
	    !(READ_ONCE(EROFS_SB(inode->i_sb)->opts.flags) & EROFS_OPT_XATTR_USER))
		return -EOPNOTSUPP;
	return erofs_getxattr(inode, handler->flags, name, buf, size);
}

static bool erofs_xattr_user_list(struct dentry *dentry)
{
	return READ_ONCE(EROFS_SB(dentry->d_sb)->opts.flags) & EROFS_OPT_XATTR_USER;
}

static bool erofs_xattr_trusted_list(struct dentry *dentry)
{
	return ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
}

static const struct xattr_handler erofs_xattr_user_handler = {
	.prefix	= XATTR_USER_PREFIX,
	.flags	= EROFS_XATTR_INDEX_USER,
	.list	= erofs_xattr_user_list,
	.get	= erofs_xattr_handler_get,
};

static const struct xattr_handler erofs_xattr_trusted_handler = {
	.prefix	= XATTR_TRUSTED_PREFIX,
	.flags	= EROFS_XATTR_INDEX_TRUSTED,
	.list	= erofs_xattr_trusted_list,
	.get	= erofs_xattr_handler_get,
};

static const struct xattr_handler erofs_xattr_security_handler = {
	.prefix	= XATTR_SECURITY_PREFIX,
	.flags	= EROFS_XATTR_INDEX_SECURITY,
	.get	= erofs_xattr_handler_get,
};

const struct xattr_handler *erofs_compat_xattr_const erofs_xattr_handlers[] = {
	erofs_compat_acl_access_handler
	erofs_compat_acl_default_handler
	&erofs_xattr_user_handler,
	&erofs_xattr_trusted_handler,
	&erofs_xattr_security_handler,
	NULL
};

/* ---- ACLs ------------------------------------------------------------------------------ */

struct posix_acl *erofs_get_acl(struct inode *inode, int type, bool rcu)
{
	u8 index = type == ACL_TYPE_ACCESS ? EROFS_XATTR_INDEX_POSIX_ACL_ACCESS :
					     EROFS_XATTR_INDEX_POSIX_ACL_DEFAULT;
	struct posix_acl *acl;
	void *value = NULL;
	int len;

	if (rcu)
		return ERR_PTR(-ECHILD);
	len = erofs_getxattr(inode, index, "", NULL, 0);
	if (len > 0) {
		value = kmalloc(len, GFP_KERNEL);
		if (!value)
			return ERR_PTR(-ENOMEM);
		len = erofs_getxattr(inode, index, "", value, len);
	}
	/* a body that has only a header has no ACL either (section 10.1) */
	if (len == -ENODATA || len == -EOPNOTSUPP)
		acl = NULL;
	else if (len < 0)
		acl = ERR_PTR(len);
	else
		acl = posix_acl_from_xattr(&init_user_ns, value, len);
	kfree(value);
	return acl;
}

/* ---- long name prefixes (section 10.5) ------------------------------------------------- */

int erofs_xattr_prefixes_init(struct super_block *sb)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	u32 i, nr = sbi->s.xattr_prefix_count;
	u64 pos = sbi->s.xattr_prefix_pos;
	struct erofs_metabuf b;
	char *infix;
	int err = 0;

	if (!nr)
		return 0;
	infix = kmalloc(U8_MAX, GFP_KERNEL);
	if (!infix)
		return -ENOMEM;
	sbi->prefixes = kcalloc(nr, sizeof(*sbi->prefixes), GFP_KERNEL);
	if (!sbi->prefixes) {
		kfree(infix);
		return -ENOMEM;
	}
	if (sbi->s.feature_compat & EROFS_FEATURE_COMPAT_PLAIN_XATTR_PFX)
		erofs_metabuf_primary(&b, sb);
	else if (sbi->metabox)
		erofs_metabuf_inode(&b, sbi->metabox);
	else if (sbi->packed)
		erofs_metabuf_inode(&b, sbi->packed);
	else
		erofs_metabuf_primary(&b, sb);
	for (i = 0; i < nr; i++) {
		struct erofs_xattr_prefix *p = &sbi->prefixes[i];

		err = erofs_xattr_prefix_decode(&b.m, &pos, &p->base, &p->len, infix);
		if (err) {
			erofs_fault_report(sb, false, 0, err, &b.m.fault);
			break;
		}
		p->infix = kmemdup(infix, max_t(u8, p->len, 1), GFP_KERNEL);
		if (!p->infix) {
			err = -ENOMEM;
			break;
		}
	}
	erofs_metabuf_put(&b);
	kfree(infix);
	return err;
}

void erofs_xattr_prefixes_exit(struct super_block *sb)
{
	struct erofs_sb_info *sbi = EROFS_SB(sb);
	u32 i;

	for (i = 0; sbi->prefixes && i < sbi->s.xattr_prefix_count; i++)
		kfree(sbi->prefixes[i].infix);
	kfree(sbi->prefixes);
	sbi->prefixes = NULL;
}
