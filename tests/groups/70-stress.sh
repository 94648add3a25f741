#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Readers under memory pressure, unmount and unload right after.
# STRESS_SECONDS per kernel, default 120.
# limit: 2400
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
rc=0
for target in uml-debug bookworm bookworm-backports trixie-backports; do
	# shellcheck disable=SC2053  # a pattern on purpose
	[[ $target == ${TEST_FILTER:-*} ]] || continue
	# two minutes where most is checked and where most users are
	time=120
	[ $target = uml-debug ] || [ $target = bookworm ] || time=24
	STRESS_SECONDS=${STRESS_SECONDS:-$time} tests/images/run-life.sh stress $target || rc=1
done
exit $rc
