#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Readers under memory pressure, unmount and unload right after.
# STRESS_SECONDS per kernel, default 120.
# limit: 2400
cd "$(dirname "$0")/../.." || exit 1
rc=0
for target in uml-debug bookworm bookworm-backports trixie-backports; do
	# shellcheck disable=SC2053  # a pattern on purpose
	[[ $target == ${TEST_FILTER:-*} ]] || continue
	tests/images/run-life.sh stress $target || rc=1
done
exit $rc
