#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Allocations, devices and readers that fail under a mounted image: with the
# checkers of the UML kernel, and on a Debian kernel with four processors, a
# memory cgroup of 32 MiB, and disks that are pulled out.  FAULTS=long does every
# fault and every block of many images, and all Debian kernels (about an hour).
# limit: 1200
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
rc=0
long='' suites='bookworm-backports'
if [ "${FAULTS:-}" = long ]; then long=-l suites='bookworm bookworm-backports trixie-backports'; fi
for target in uml-debug bookworm bookworm-backports trixie-backports; do
	# shellcheck disable=SC2053  # a pattern on purpose
	[[ $target == ${TEST_FILTER:-*} ]] || continue
	# by name, any of them
	[[ " uml-debug $suites ${TEST_FILTER:-} " == *" $target "* ]] || continue
	tests/faults/run.sh $long $target || rc=1
done
exit $rc
