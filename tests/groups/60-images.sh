#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Test images of three mkfs.erofs versions, read on every kernel and compared
# with their source trees: the full matrix under KASAN and lockdep (User Mode
# Linux), one image of each kind on Debian's kernels.
# limit: 3000
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
rc=0
# shellcheck disable=SC2053  # a pattern on purpose
want() { [[ $1 == ${TEST_FILTER:-*} ]]; }
! want uml || tests/images/run-images.sh -t 2 uml-debug || rc=1
for suite in bookworm bookworm-backports trixie-backports; do
	! want $suite || tests/images/run-images.sh -t 1 $suite || rc=1
done
exit $rc
