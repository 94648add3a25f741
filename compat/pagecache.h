/* SPDX-License-Identifier: GPL-2.0 */
/* compat/pagecache.h - page cache lookups of the newest kernel on older ones. */
#ifndef EROFS_COMPAT_PAGECACHE_H
#define EROFS_COMPAT_PAGECACHE_H

#include <linux/pagemap.h>
#include <linux/blkdev.h>

/* Linux 7.3 moved plugging to a header of its own */
#if __has_include(<linux/blk_plug.h>)
#include <linux/blk_plug.h>
#endif

/* Linux 6.4: an absent folio is ERR_PTR(-ENOENT), not NULL */
#ifndef HAVE_FILEMAP_GET_FOLIO_ERR_PTR
static inline struct folio *erofs_compat_filemap_get_folio(struct address_space *mapping,
							   pgoff_t index)
{
	struct folio *folio = filemap_get_folio(mapping, index);

	return folio ?: ERR_PTR(-ENOENT);
}

#define filemap_get_folio	erofs_compat_filemap_get_folio
#endif

#endif /* EROFS_COMPAT_PAGECACHE_H */
