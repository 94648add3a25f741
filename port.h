/* SPDX-License-Identifier: GPL-2.0 */
/*
 * port.h - what the pure core needs from its surroundings: integer types,
 * byte order, checked arithmetic, memory primitives and error numbers.
 *
 * The pure core (see core.h) is compiled twice: into the kernel module and
 * into user-space unit tests, fuzzers and tools.  This file is the only place
 * where the two differ.  In user space tests/port/port_user.h supplies the
 * kernel's names on top of libc.
 */
#ifndef EROFS_PORT_H
#define EROFS_PORT_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/err.h>
#include <linux/string.h>
#include <linux/kernel.h>
#include <linux/build_bug.h>
#include <linux/overflow.h>
#include <linux/limits.h>
#include <linux/stat.h>
#include "compat/unaligned.h"
#else
#include "tests/port/port_user.h"
#endif

/*
 * A damaged structure on disk.  The kernel has no EFSCORRUPTED of its own in
 * uapi headers; filesystems agree on EUCLEAN.
 */
#ifndef EFSCORRUPTED
#define EFSCORRUPTED	EUCLEAN
#endif

#endif /* EROFS_PORT_H */
