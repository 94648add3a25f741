/* SPDX-License-Identifier: GPL-2.0 */
/* uapi.h - constants of the kernel that the C library of a supported Debian lacks. */
#ifndef UAPI_H
#define UAPI_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#ifndef STATX_DIOALIGN
#define STATX_DIOALIGN	0x2000U
#endif
#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX	0x00200000
#endif
#ifndef MAP_SYNC
#define MAP_SYNC	0x80000
#endif
#ifndef MAP_SHARED_VALIDATE
#define MAP_SHARED_VALIDATE 0x03
#endif

#endif /* UAPI_H */
