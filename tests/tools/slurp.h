/* SPDX-License-Identifier: GPL-2.0 */
/* slurp.h - a whole file in memory, for the programs that question a mount. */
#ifndef SLURP_H
#define SLURP_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *slurp(const char *path, size_t *len)
{
	struct stat st;
	char *buf;
	size_t got = 0;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		exit(2);
	}
	buf = malloc(st.st_size + 1);
	while (got < (size_t)st.st_size) {
		ssize_t n = read(fd, buf + got, st.st_size - got);

		if (n <= 0) {
			perror(path);
			exit(2);
		}
		got += n;
	}
	close(fd);
	*len = got;
	return buf;
}

#endif /* SLURP_H */
