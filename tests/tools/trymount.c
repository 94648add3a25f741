// SPDX-License-Identifier: GPL-2.0
/*
 * trymount.c - trymount TYPE DEVICE DIR [OPTIONS]: mount read-only and print
 * "0" or the errno as a number, which mount(8) does not.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mount.h>

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	if (mount(argv[2], argv[3], argv[1], MS_RDONLY, argc > 4 ? argv[4] : NULL)) {
		printf("%d\n", errno);
		return 1;
	}
	printf("0\n");
	return 0;
}
