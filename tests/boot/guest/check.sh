#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# check.sh MODE [again] - what the boot tests ask the booted system; runs there as
# root, beside its payload.  MODE: all (default) or system.  "again": the overlay has
# been written to in an earlier boot.  Result lines come out at
# the end, so that nothing else on the console gets between them.
mode=${1:-all}
# shellcheck disable=SC2034  # for the parts
again=${2:-}
P=$(cd "$(dirname "$0")" && pwd)
cd / || exit 1
dmesg -n 1
echo 1 >/sys/devices/system/cpu/cpu1/online	# see boot-lib.sh
R=$(mktemp)
FAILED=0
ok() { echo "ok $1" >>"$R"; }
not_ok() {
	FAILED=1
	echo "not ok $1 - $2" >>"$R"
}
check() {
	_n=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then
		ok "$_n"
	else
		not_ok "$_n" "$* ended with status $?: $(tail -n 1 /tmp/check.out | tr -d '\r')"
	fi
}
refuse() {
	_n=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then not_ok "$_n" "$* succeeded"; else ok "$_n"; fi
}
wait_for() { for _p in "$@"; do wait "$_p" || return 1; done; }
same() { # NAME GOT WANTED
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "'$2' instead of '$3'"; fi
}
list_tree() {
	(cd "$1" && find . -xdev \( -type d -printf '%p d %m %U %G\n' \) -o \
		-printf '%p %y %m %U %G %s %l\n') | LC_ALL=C sort
}
for part in system android containers; do
	[ "$mode" = all ] || [ "$mode" = $part ] || continue
	# shellcheck disable=SC1090
	. "$P/$part.sh"
done
# For the host, which looks for what a kernel must never say.
echo "--- kernel log"
dmesg --color=never | grep -vE '^\[ *[0-9.]+\] (Command line|Kernel command line)'
echo "--- results"
cat "$R"
exit $FAILED
