#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# demo.sh - pack a real tree into an EROFS image, boot a Debian kernel in QEMU,
# load this driver, mount the image in three ways and compare every file with
# the sums taken here.  Last line: PASS or FAIL with the log's path.
# DEMO_SUITE chooses the kernel (default bookworm), DEMO_MB the size of the tree.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$TOP"

suite=${DEMO_SUITE:-bookworm}
mb=${DEMO_MB:-120}
work=$TOP/build/demo
log=$TOP/build/logs/demo-$suite.log
mkdir -p "$work" "$TOP/build/logs"
start=$SECONDS
step() { printf '[%3d s] %s\n' $((SECONDS - start)) "$*"; }
trap 'rc=$?; [ $rc = 0 ] || echo "FAIL (log: $log)"' EXIT

step "1/5 kernel of Debian suite $suite"
rel=$(scripts/fetch-kernel.sh "$suite")
echo "        Linux $rel"

step "2/5 building erofs.ko for it"
ko=$(scripts/build-module.sh "$suite" - 2>"$work/build.log") || {
	tail -n 20 "$work/build.log"
	log=$work/build.log
	exit 1
}
echo "        ${ko#"$TOP/"}, $(stat -c %s "$ko") bytes"

step "3/5 collecting a tree of about $mb MB"
# Documentation, programs, then kernel headers if the machine has little of both.
if [ "$(cat "$work/tree.for" 2>/dev/null)" != "$rel $mb" ]; then
	rm -rf "$work/tree"
	mkdir -p "$work/tree"
	# take DIR LIMIT_MB: its files in order up to a size, links and modes kept
	take() {
		(cd "$1" && find . -xdev \( -type f -readable -o -type l \) -printf '%s\t%p\n' | LC_ALL=C sort -t "$(printf '\t')" -k 2 |
			awk -F '\t' -v lim=$(($2 * 1048576)) '{ s += $1 } s <= lim { print $2 }' |
			tr '\n' '\0' | cpio -0 -pdm --quiet "$3")
	}
	mkdir "$work/tree/doc" "$work/tree/bin" "$work/tree/headers"
	take /usr/share/doc $((mb * 4 / 10)) "$work/tree/doc"
	take /usr/bin $((mb * 4 / 10)) "$work/tree/bin"
	have=$(du -sm "$work/tree" | cut -f1)
	for d in "$CACHE/$rel"/usr/src/linux-headers-*-common; do
		[ "$have" -ge "$mb" ] || take "$d" $((mb - have)) "$work/tree/headers"
	done
	printf '%s\n' "$rel $mb" >"$work/tree.for"
fi
(cd "$work/tree" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) >"$work/sums"
(cd "$work/tree" && find . -printf '%y %m %n %U:%G %T@ %l %p\n' | sed 's/\.[0-9]*\( \)/\1/' |
	LC_ALL=C sort) >"$work/meta"
files=$(wc -l <"$work/sums")
echo "        $files files, $(wc -l <"$work/meta") names, $(du -sm --apparent-size "$work/tree" | cut -f1) MB"

step "4/5 mkfs.erofs -zlz4hc, 4 KB clusters"
mkfs=$(scripts/fetch-tools.sh bookworm)/mkfs.erofs
rm -f "$work/demo.img"
"$mkfs" -zlz4hc "$work/demo.img" "$work/tree" >"$work/mkfs.log" 2>&1 || {
	cat "$work/mkfs.log"
	exit 1
}
echo "        demo.img: $(($(stat -c %s "$work/demo.img") / 1048576)) MB"

step "5/5 booting Linux $rel in QEMU"
rm -rf "$work/payload"
mkdir -p "$work/payload"
cp "$TOP/tests/vm/demo-guest.sh" "$work/payload/run"
cp "$work/sums" "$work/meta" "$ko" "$work/payload/"
chmod +x "$work/payload/run"
# mount(8) would put a loop device under a file; this asks the kernel directly.
gcc -O2 -static -o "$work/payload/rawmount" tests/tools/rawmount.c
rc=0
scripts/run-qemu.sh --suite "$suite" --payload "$work/payload" --drive "$work/demo.img" --smp 2 --mem 1024 \
	--progs "sha256sum find ls df" --timeout 600 --kvm auto --log "$log" 2>&1 |
	sed -u '/^ok on /d' || rc=$?

trap - EXIT
if [ $rc = 0 ]; then
	echo "PASS: $files files read three ways are what was packed (log: ${log#"$TOP/"})"
else
	if [ -e "$log" ]; then
		echo "FAIL (log: ${log#"$TOP/"})"
	else
		echo "FAIL (see the message above)"
	fi
fi
exit $rc
