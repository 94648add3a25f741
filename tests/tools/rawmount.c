// SPDX-License-Identifier: GPL-2.0
/*
 * rawmount.c - the mount(2) call and nothing else: rawmount SOURCE DIR TYPE [DATA].
 * The mount programs put a loop device under a regular file before they ask
 * the kernel; file-backed mounts must be tested without that.  Prints the
 * errno by name and exits with its number, so that a test can tell them apart.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: %s SOURCE DIR TYPE [DATA]\n", argv[0]);
		return 255;
	}
	if (mount(argv[1], argv[2], argv[3], MS_RDONLY, argc > 4 ? argv[4] : "") == 0)
		return 0;
	fprintf(stderr, "%s: %s (%s)\n", argv[1], strerror(errno), strerrorname_np(errno));
	return errno;
}
