// SPDX-License-Identifier: GPL-2.0
/*
 * lo.c - attach files to loop devices read-only, for guests whose losetup has
 * too few options.
 *
 *	lo [-b BLOCKSIZE] [-d] FILE [OFFSET]	attach and print the device; -d: direct I/O
 *	lo -D DEVICE				detach
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int fail(const char *what)
{
	fprintf(stderr, "lo: %s: %s\n", what, strerror(errno));
	return 1;
}

static int detach(const char *dev)
{
	int fd = open(dev, O_RDONLY);

	if (fd < 0)
		return fail(dev);
	if (ioctl(fd, LOOP_CLR_FD, 0))
		return fail("LOOP_CLR_FD");
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct loop_config conf = { .block_size = 512 };
	int c, ctl, fd, lfd, n, tries;
	char dev[64];

	conf.info.lo_flags = LO_FLAGS_READ_ONLY;
	while ((c = getopt(argc, argv, "b:dD:")) != -1) {
		switch (c) {
		case 'b':
			conf.block_size = atoi(optarg);
			break;
		case 'd':
			conf.info.lo_flags |= LO_FLAGS_DIRECT_IO;
			break;
		case 'D':
			return detach(optarg);
		default:
			return 2;
		}
	}
	if (optind >= argc)
		return 2;
	fd = open(argv[optind], O_RDONLY);
	if (fd < 0)
		return fail(argv[optind]);
	if (optind + 1 < argc)
		conf.info.lo_offset = strtoull(argv[optind + 1], NULL, 0);
	conf.fd = fd;
	ctl = open("/dev/loop-control", O_RDWR);
	if (ctl < 0)
		return fail("/dev/loop-control");
	for (tries = 0; tries < 100; tries++) {
		n = ioctl(ctl, LOOP_CTL_GET_FREE);
		if (n < 0)
			return fail("LOOP_CTL_GET_FREE");
		snprintf(dev, sizeof(dev), "/dev/loop%d", n);
		if (access(dev, F_OK))
			mknod(dev, S_IFBLK | 0600, makedev(7, n));
		lfd = open(dev, O_RDONLY);
		if (lfd < 0)
			return fail(dev);
		if (!ioctl(lfd, LOOP_CONFIGURE, &conf)) {
			printf("%s\n", dev);
			return 0;
		}
		if (errno != EBUSY)	/* another process took it: try again */
			return fail("LOOP_CONFIGURE");
		close(lfd);
	}
	errno = EBUSY;
	return fail("no free loop device");
}
