/* SPDX-License-Identifier: GPL-2.0 */
/* compat/pagecache.h - page cache interfaces of the newest kernel on older ones. */
#ifndef EROFS_COMPAT_PAGECACHE_H
#define EROFS_COMPAT_PAGECACHE_H

#include <linux/pagemap.h>
#include <linux/blkdev.h>
#include <linux/dax.h>

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

/* Linux 6.7: end of a read in one call */
#ifndef HAVE_FOLIO_END_READ
static inline void folio_end_read(struct folio *folio, bool success)
{
	if (likely(success))
		folio_mark_uptodate(folio);
	folio_unlock(folio);
}
#endif

/* Linux 6.8: takes a folio */
#ifndef HAVE_GENERIC_ERROR_REMOVE_FOLIO
static inline int generic_error_remove_folio(struct address_space *mapping, struct folio *folio)
{
	return generic_error_remove_page(mapping, &folio->page);
}
#endif

/* Linux 6.5: reads the page cache into a pipe */
#ifndef HAVE_FILEMAP_SPLICE_READ
#define filemap_splice_read	generic_file_splice_read
#endif

/*
 * Linux 6.17: mapping a file is prepared on a description of the area.  This
 * defines the member erofs_compat_mmap of the file operations as _name: areas
 * of DAX files get _dax_ops.  No file is ever open for writing, so there are no
 * writable shared areas.
 */
#ifdef HAVE_GENERIC_FILE_READONLY_MMAP_PREPARE
#define erofs_compat_mmap		mmap_prepare
#define EROFS_COMPAT_DEFINE_MMAP(_name, _dax_ops)				\
static int _name(struct vm_area_desc *desc)					\
{										\
	if (!IS_DAX(file_inode(desc->file)))					\
		return generic_file_readonly_mmap_prepare(desc);		\
	file_accessed(desc->file);						\
	desc->vm_ops = _dax_ops;						\
	return 0;								\
}
#else
#define erofs_compat_mmap		mmap
#define EROFS_COMPAT_DEFINE_MMAP(_name, _dax_ops)				\
static int _name(struct file *file, struct vm_area_struct *vma)			\
{										\
	if (!IS_DAX(file_inode(file)))						\
		return generic_file_readonly_mmap(file, vma);			\
	file_accessed(file);							\
	vma->vm_ops = _dax_ops;							\
	return 0;								\
}
#endif

/* Linux 6.15: who uses pages of the device must let go of them before the inode does */
#ifndef HAVE_DAX_BREAK_LAYOUT_FINAL
static inline void dax_break_layout_final(struct inode *inode) { }
#endif

#endif /* EROFS_COMPAT_PAGECACHE_H */
