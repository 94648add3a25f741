/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What fuzz targets share: the entry point that libFuzzer (or replay.c) calls,
 * and a check that is there whatever the build flags are.
 */
#ifndef EROFS_TESTS_FUZZ_H
#define EROFS_TESTS_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include "core.h"
#include "tests/port/memimg.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* a broken promise of the code under test */
#define FUZZ_ASSERT(c) do {							\
	if (!(c)) {								\
		fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #c);	\
		abort();							\
	}									\
} while (0)

/* smallest 2^n - 1 that has room for @devices ids, section 5.1 */
static inline u16 fuzz_device_mask(u32 devices)
{
	u32 mask = 0;

	while (mask < devices)
		mask = mask * 2 + 1;
	return (u16)mask;
}

#endif /* EROFS_TESTS_FUZZ_H */
