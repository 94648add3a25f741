#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# smp.sh [TARGET...] - the driver on several processors under the kernel's
# checkers: the storm of run-life.sh (STORM_SECONDS, default 300), then devices
# that fail, are slow and go, and lives that end under readers (tests/faults).
# TARGET: smp-6.12 (default) or smp-7.3, which are built the first time, or a Debian
# suite.
# Not part of make test.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../scripts/lib.sh"

[ $# -gt 0 ] || set -- smp-6.12
mkdir -p "$TOP/build/logs"
for target; do
	begin=$SECONDS
	"$here/images/run-life.sh" storm "$target"
	rc=$?
	"$here/faults/run.sh" -l -t flakey -t slow -t gone -t race "$target" || rc=1
	if [ $rc = 0 ]; then echo "ok $target ($((SECONDS - begin)) s)"; else echo "not ok $target"; fi
done | tee "$TOP/build/logs/smp.out"
n=$(grep -c '^not ok ' "$TOP/build/logs/smp.out")
echo "$(grep -c '^ok ' "$TOP/build/logs/smp.out") passed, $n failed"
[ "$n" = 0 ] && grep -q '^ok ' "$TOP/build/logs/smp.out"
