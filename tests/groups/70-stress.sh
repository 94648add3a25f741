#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Readers under memory pressure, unmount and unload right after.
# STRESS_SECONDS sets the same time for all.
# limit: 2400
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
rc=0
for target in uml-debug bookworm bookworm-backports trixie-backports; do
	# shellcheck disable=SC2053  # a pattern on purpose
	[[ $target == ${TEST_FILTER:-*} ]] || continue
	# two minutes where most users are, one where most is checked
	time=24
	[ $target != bookworm ] || time=120
	[ $target != uml-debug ] || time=60
	STRESS_SECONDS=${STRESS_SECONDS:-$time} tests/images/run-life.sh stress $target || rc=1
done
exit $rc
