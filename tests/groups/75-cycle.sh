#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# insmod, mounts, rmmod, over and over: memory must not grow.  200 lives on one
# kernel, fewer where the emulator or the checkers make each one slow; CYCLES
# sets the same number for all.
# limit: 2400
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
rc=0
for target in uml-debug bookworm bookworm-backports trixie-backports; do
	# shellcheck disable=SC2053  # a pattern on purpose
	[[ $target == ${TEST_FILTER:-*} ]] || continue
	lives=30
	[ $target != bookworm ] || lives=200
	[ $target != uml-debug ] || lives=60
	CYCLES=${CYCLES:-$lives} tests/images/run-life.sh cycle $target || rc=1
done
exit $rc
