#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-images.sh [-s] [-t TIER] [-e N] [-w WAYS] [-W WAYS] [-o N/K] TARGET [NAME-PATTERN...] -
# read the test images on one kernel and compare every object with the source tree.
#   TARGET  a Debian suite (QEMU), or uml-debug, uml-fast, uml-6.1-fast
#   -t      1: one image of each kind; 2: the full matrix (default)
#   -e      of tier 2 only every N-th image, the same ones for each target
#   -w      ways to read: rand,mmap,seq (default) or a subset
#   -W      the same for images above tier 1 (default: as -w)
#   -o      and for those of tier 1 but the K-th of each N
# SMP: processors of QEMU guests (1).
# LIMIT (one image) and TIMEOUT (all) are in seconds; they only end what hangs.
#   -s      the kernel's own driver instead of ours: no verdict.
# Failures of the kernel's own driver are results too, even if it takes the kernel
# with it: the rest is then read in another guest.
# Results also go to build/images/{ours,stock}-<release>.results, from which
# mkcompat.sh makes the table in Documentation/.
# shellcheck disable=SC2034,SC2154  # variables shared with run-lib.sh
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"
stock=0 tier=2 ways=rand,mmap,seq ways2='' every=1 often=1/0 what=images
while getopts st:e:w:W:o: o; do
	case $o in
	s) stock=1 ;;
	t) tier=$OPTARG ;;
	e) every=$OPTARG ;;
	w) ways=$OPTARG ;;
	W) ways2=$OPTARG ;;
	o) often=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || die "usage: $0 [-s] [-t tier] [-e n] [-w ways] [-W ways] [-o n/k] TARGET [pattern...]"
target=$1
shift
. "$here/run-lib.sh"
: "${SMP:=1}"

make_images "$work/payload/manifest" -t "$tier" "$@"
awk -v n="$every" -v of="${often%/*}" -v first="${often#*/}" '
$6 != 2 || i++ % n == 0 { print $0, $6 == 1 && j++ % of == first ? "all" : "some" }
' "$work/payload/manifest" >"$work/chosen"
mv "$work/chosen" "$work/payload/manifest"
large=$(awk '{ print $2; if ($4 != "-") print $4 }' "$work/payload/manifest" | tr , '\n' |
	(cd "$images" && xargs stat -c '%s %n') | awk '$1 > 50000000 { print $2 }' | paste -sd' ')
grep '^no image of' "$logs/mkimages-$label.log" >&2
printf 'WAYS=%s\nWAYS2=%s\nLIMIT=%s\nLARGE="%s"\n' "$ways" "${ways2:-$ways}" "${LIMIT:-600}" "$large" >"$work/payload/conf"
rc=0
if [ $stock = 0 ]; then
	guest "$images" payload-images.sh --mem 1024 --timeout "${TIMEOUT:-3000}" || rc=$?
else
	# The driver of an old kernel may not survive an image: note which one, go on
	# with the next in a fresh guest.
	cp "$work/payload/manifest" "$work/all"
	: >"$work/out/results"
	while [ -s "$work/payload/manifest" ]; do
		rm -f "$work/out/current"
		guest "$images" payload-images.sh --mem 1024 --timeout "${TIMEOUT:-3000}" && break
		if [ ! -s "$work/out/current" ]; then
			rc=1
			break
		fi
		read -r name t <"$work/out/current"
		grep -q "^$name " "$work/out/results" ||
			echo "$name oops 0 $t the guest ended: $(tail -n 1 "$work/status" | cut -c1-100)" >>"$work/out/results"
		awk 'NR == FNR { done[$1]; next } !($1 in done)' "$work/out/results" "$work/all" >"$work/payload/manifest"
	done
	cp "$work/all" "$work/payload/manifest"
fi
if [ -s "$work/out/results" ]; then
	if [ $stock = 1 ]; then to=stock-$release; else to=ours-$release; fi
	# what this run did not read keeps its last result
	to=$TOP/build/images/$to.results
	touch "$to"
	awk 'NR == FNR { new[$1]; print; next } !($1 in new)' "$work/out/results" "$to" >"$work/merged"
	mv "$work/merged" "$to"
	say "$target: $(grep -c ' ok ' "$work/out/results") of $(wc -l <"$work/payload/manifest") images read back"
fi
exit $rc
