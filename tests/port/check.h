/* SPDX-License-Identifier: GPL-2.0 */
/* What unit tests say: CHECK() counts, check_done() is the exit status. */
#ifndef EROFS_TESTS_CHECK_H
#define EROFS_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failed;
static int check_passed;

#define CHECK(c) do {								\
	if (c) {								\
		check_passed++;							\
	} else {								\
		check_failed++;							\
		fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #c);	\
	}									\
} while (0)

/* integers; prints both sides */
#define CHECK_EQ(a, b) do {							\
	long long _a = (long long)(a), _b = (long long)(b);			\
										\
	if (_a == _b) {								\
		check_passed++;							\
	} else {								\
		check_failed++;							\
		fprintf(stderr, "%s:%d: %s is %lld (0x%llx), not %s = %lld\n",	\
			__FILE__, __LINE__, #a, _a, (unsigned long long)_a, #b, _b);	\
	}									\
} while (0)

/* last line "ok" and 0 only if something was checked and nothing failed */
static inline int check_done(void)
{
	if (check_failed || !check_passed) {
		printf("FAILED: %d of %d\n", check_failed, check_failed + check_passed);
		return 1;
	}
	printf("%d checks\nok\n", check_passed);
	return 0;
}

#endif /* EROFS_TESTS_CHECK_H */
