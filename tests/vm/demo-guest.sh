#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# demo-guest.sh - the demonstration's part inside the guest (scripts/demo.sh).
set -eu

note() { echo "    $*"; }

# Every file's sum, in portions so that progress shows.
compare() {
	n=$(wc -l <"$T/sums")
	part=$(((n + 4) / 5))
	i=0
	while [ $((i * part)) -lt "$n" ]; do
		tail -n +$((i * part + 1)) "$T/sums" | head -n "$part" >/tmp/part
		(cd /mnt && sha256sum -c --quiet --strict /tmp/part)
		i=$((i + 1))
		note "$((i * 100 / 5)) % of $n files equal"
	done
}

# Names, types, modes, owners, times, links.
compare_meta() {
	(cd /mnt && find . -printf '%y %m %n %U:%G %T@ %l %p\n' | sed 's/\.[0-9]*\( \)/\1/' |
		LC_ALL=C sort) >/tmp/meta
	cmp /tmp/meta "$T/meta"
	note "$(wc -l </tmp/meta) names, modes, owners and times equal"
}

counters() {
	for f in "/sys/fs/erofs/$1"/*; do
		case $(stat -c %A "$f"):$f in
		*/decode_latency) ;;	# many lines
		-r*) echo "    $f: $(cat "$f")" ;;
		esac
	done
	[ -d "/sys/fs/erofs/$1" ]
}

note "loading erofs.ko into Linux $KREL"
insmod "$T/erofs.ko"
grep -q 'erofs$' /proc/filesystems

disk=${DISKS# }
disk=${disk%% *}
note "mount -t erofs $disk /mnt"
mount -t erofs -o ro "$disk" /mnt
ls -l /mnt
df -h /mnt
echo "    a few files:"
find /mnt/bin -maxdepth 1 -type f | head -n 5 | xargs ls -l
compare_meta
compare
note "counters of this mount:"
counters "${disk##*/}"
umount /mnt

note "the same image as a file, through a loop device"
cat "$disk" >/tmp/demo.img
loop=$(losetup -f)
losetup -r "$loop" /tmp/demo.img
mount -t erofs -o ro "$loop" /mnt
df -h /mnt | tail -n 1
echo 3 >/proc/sys/vm/drop_caches
compare
counters "${loop##*/}"
umount /mnt
losetup -d "$loop"

note "the same file mounted without a loop device"
"$T/rawmount" /tmp/demo.img /mnt erofs
grep ' /mnt ' /proc/mounts
echo 3 >/proc/sys/vm/drop_caches
compare
umount /mnt

rmmod erofs
note "unmounted and unloaded"
