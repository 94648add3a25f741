// SPDX-License-Identifier: GPL-2.0
/*
 * uname.c - a library for /etc/ld.so.preload of a chroot: uname(2) gives the
 * release that RELEASE was when this was compiled, as if that kernel ran.
 */
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int uname(struct utsname *name)
{
	long ret = syscall(SYS_uname, name);

	if (!ret)
		memcpy(name->release, RELEASE, sizeof(RELEASE));
	return ret;
}
