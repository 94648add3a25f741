/* SPDX-License-Identifier: GPL-2.0 */
/* compat/unaligned.h - get_unaligned_*(), whose header moved in Linux 6.12. */
#ifndef EROFS_COMPAT_UNALIGNED_H
#define EROFS_COMPAT_UNALIGNED_H

#ifdef HAVE_LINUX_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* EROFS_COMPAT_UNALIGNED_H */
