// SPDX-License-Identifier: GPL-2.0
/*
 * trymount.c - trymount TYPE DEVICE DIR [OPTIONS]: mount read-only and print
 * "0" or the errno as a number, which mount(8) does not.
 * trymount -l DIR: print the volume's label.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

int main(int argc, char **argv)
{
	char label[FSLABEL_MAX];

	if (argc == 3 && !strcmp(argv[1], "-l")) {
		if (ioctl(open(argv[2], O_RDONLY | O_DIRECTORY), FS_IOC_GETFSLABEL, label)) {
			printf("errno %d\n", errno);
			return 1;
		}
		printf("%.*s\n", (int)sizeof(label), label);
		return 0;
	}
	if (argc < 4)
		return 2;
	if (mount(argv[2], argv[3], argv[1], MS_RDONLY, argc > 4 ? argv[4] : NULL)) {
		printf("%d\n", errno);
		return 1;
	}
	printf("0\n");
	return 0;
}
