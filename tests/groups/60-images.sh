#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Test images of three mkfs.erofs versions and some written by hand, read on every
# kernel and compared with their source trees.  Debian's kernels read more than a
# hundred of them, the same ones on each, in order, and of those of the first tier
# each kernel another third in all ways; the kernel with KASAN and lockdep (User
# Mode Linux) reads all.  ALL_IMAGES=1: everything everywhere, in all ways.
# Then fsck.erofs as the second oracle, and whether the table in Documentation/
# says what was seen.
# limit: 7200
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
rc=0
# shellcheck disable=SC2053  # a pattern on purpose
want() { [[ $1 == ${TEST_FILTER:-*} ]]; }
if [ -n "${ALL_IMAGES:-}" ]; then some=() uml=(); else uml=(-W rand); fi
! want uml || tests/images/run-images.sh "${uml[@]}" uml-debug || rc=1
k=0
for suite in bookworm bookworm-backports trixie-backports; do
	[ -n "${ALL_IMAGES:-}" ] || some=(-e 3 -W seq -o "3/$k")
	# the newest kernel decodes on two processors
	! want $suite || SMP=$((k < 2 ? 1 : 2)) tests/images/run-images.sh "${some[@]}" $suite || rc=1
	k=$((k + 1))
done
! want fsck || tests/images/run-fsck.sh || rc=1
! want table || tests/images/mkcompat.sh --check || rc=1
exit $rc
