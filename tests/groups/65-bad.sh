#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Damaged images: the errno of tests/images/bad.tab, nothing else touched.
# limit: 3000
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
rc=0
for target in uml-debug bookworm bookworm-backports trixie-backports; do
	# shellcheck disable=SC2053  # a pattern on purpose
	[[ $target == ${TEST_FILTER:-*} ]] || continue
	tests/images/run-bad.sh $target || rc=1
done
exit $rc
