#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-images.sh [-s] [-t TIER] [-w WAYS] TARGET [NAME-PATTERN...] - read the test
# images on one kernel and compare every object with the source tree.
#   TARGET  a Debian suite (QEMU), or uml-debug, uml-fast, uml-6.1-fast
#   -t      1: one image of each kind; 2: the full matrix (default)
#   -w      ways to read: rand,mmap,seq (default) or a subset
#   -s      the kernel's own driver instead of ours: no verdict.
# Results also go to build/images/{ours,stock}-<release>.results, from which
# mkcompat.sh makes the table in Documentation/.
# shellcheck disable=SC2034,SC2154  # variables shared with run-lib.sh
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"
stock=0 tier=2 ways=rand,mmap,seq what=images
while getopts st:w: o; do
	case $o in
	s) stock=1 ;;
	t) tier=$OPTARG ;;
	w) ways=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || die "usage: $0 [-s] [-t tier] [-w ways] TARGET [pattern...]"
target=$1
shift
. "$here/run-lib.sh"

make_images "$work/payload/manifest" -t "$tier" "$@"
grep '^no image of' "$logs/mkimages-$label.log" >&2
printf 'WAYS=%s\nLIMIT=%s\n' "$ways" "${LIMIT:-120}" >"$work/payload/conf"
guest "$images" payload-images.sh --mem 1024 --timeout "${TIMEOUT:-1200}"
rc=$?
if [ -s "$work/out/results" ]; then
	if [ $stock = 1 ]; then to=stock-$release; else to=ours-$release; fi
	cp "$work/out/results" "$TOP/build/images/$to.results"
	say "$target: $(grep -c ' ok ' "$work/out/results") of $(wc -l <"$work/payload/manifest") images read back"
fi
exit $rc
