#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-bad.sh [-s] TARGET [NAME-PATTERN] - damaged images (bad.tab) on one kernel:
# the right errno, siblings untouched, a message, nothing left behind.
#   TARGET  a Debian suite (QEMU), or uml-debug, uml-fast
# SMP: processors of QEMU guests (1).
#   -s      the kernel's own driver: a table, no verdict (one crash ends it)
# shellcheck disable=SC2034,SC2154  # variables shared with run-lib.sh
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"
stock=0 what=bad
while getopts s o; do
	case $o in
	s) stock=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || die "usage: $0 [-s] TARGET [pattern]"
target=$1 pat=${2:-*}
. "$here/run-lib.sh"
: "${SMP:=1}"
bad=$CACHE/bad
mkdir -p "$bad" "$work/share"
make_images "$work/manifest" -t 3 'b-*'

# Damaged copies, kept as long as neither the original nor the edits change.
take() { cp -l "$1" "$work/share/" 2>/dev/null || cp "$1" "$work/share/"; }
n=0
while IFS='|' read -r name base mount affected outcomes edits; do
	case $name in '' | '#'*) continue ;; esac
	# shellcheck disable=SC2254  # a pattern on purpose
	case $name in $pat) ;; *) continue ;; esac
	read -r _ img exp blobs _ < <(grep "^$base " "$work/manifest") || give_up "no original $base"
	key=$img-$(echo "$edits" | cat - "$TOP"/tests/tools/{poke,crc32c}.py | sha256sum | cut -c1-12)
	if [ "$(cat "$bad/$name.key" 2>/dev/null)" != "$key" ]; then
		rm -f "$bad/$name.img"
		# shellcheck disable=SC2086  # a list of edits
		python3 "$TOP/tests/tools/poke.py" "$images/$img" "$bad/$name.img" $edits >&2 ||
			give_up "$name cannot be made"
		echo "$key" >"$bad/$name.key"
	fi
	echo "$name|$exp|$blobs|$mount|$affected|$outcomes" >>"$work/payload/bad.list"
	take "$bad/$name.img"
	[ -e "$work/share/$exp" ] || take "$images/$exp"
	[ "$blobs" = - ] || [ -e "$work/share/$blobs" ] || take "$images/$blobs"
	n=$((n + 1))
done <"$here/bad.tab"
[ $n -gt 0 ] || give_up "no damaged image matches '$pat'"

cp "$TOP/tests/vm/verdict.awk" "$work/payload/"
guest "$work/share" payload-bad.sh --timeout "${TIMEOUT:-3000}"
rc=$?
rm -rf "$work/share"
exit $rc
