#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# payload-images.sh - guest side of tests/images/run-images.sh: mount each image
# of the manifest, compare its digest with the expected one, unmount; at the end
# unload the module.  $T/conf says where images are and what to do:
#   SHARE    directory with images and expected digests
#   STOCK    1: the kernel's own driver, results are a table and no verdict
#   WAYS     how digest reads regular files of images marked "all" in the manifest
#   WAYS2    and of the others
#   LARGE    files that are read through the share, not copied to memory
#   LIMIT    seconds for one image, far more than it needs
. "$T/conf"
. "$T/guest-lib.sh"
mkdir -p /mnt/i /tmp/images

if [ "$STOCK" = 1 ]; then
	/sbin/modprobe erofs 2>/dev/null || insmod "$STOCK_KO" || exit 1
else
	load || { not_ok load "insmod ended with status $?"; finish; }
fi
[ "$STOCK" = 1 ] || ok load

# A process takes ten milliseconds and more in an emulated machine: there are none
# where the shell will do.

# clock: sets $now to hundredths of a second
clock() {
	read -r now _ </proc/uptime
	now=${now%.*}${now#*.}
}

# at FILE SLOT: sets $file to where it is read from.  Small ones are copied to
# memory first in QEMU guests, whose share answers a request at a time.
at() {
	file=$SHARE/$1
	[ "$VM" = qemu ] || return 0
	case " $LARGE " in
	*" $1 "*) return 0 ;;
	esac
	cp "$file" "/tmp/images/$2" && file=/tmp/images/$2
}

# Reads the image of the current line; sets $why to what is wrong with it, or empty.
one() {
	at "$img" 0
	why="loop device"
	devs=$("$T/lo" "$file" "$off") || return
	opts=ro
	main=$devs
	if [ "$blobs" != - ]; then
		IFS=,
		# shellcheck disable=SC2086  # split at commas
		set -- $blobs
		IFS=$words
		for b; do
			at "$b" $#
			shift
			b=$("$T/lo" "$file") || return
			devs="$devs $b"
			opts=$opts,device=$b
		done
	fi
	if err=$(mount -t erofs -o "$opts" "$main" /mnt/i 2>&1); then
		why=
		timeout "$LIMIT" "$T/digest" -m "$ways" /mnt/i >/tmp/got || why="digest ended with status $?"
		if ! "$T/trymount" -c /tmp/got "$SHARE/$exp"; then
			why="$why, differs: $(diff "$SHARE/$exp" /tmp/got | grep '^[-+<>]' |
				grep -v '^[-+][-+][-+]' | head -n 4 | cut -c1-200 | tr '\n' ';')"
		fi
		umount /mnt/i || why="$why, umount ended with status $?"
	else
		why="mount: $(echo "$err" | sed 's/.*: //' | tail -n 1)"
	fi
	for d in $devs; do "$T/lo" -D "$d" || why="$why, loop device busy"; done
}

# A stock driver may bring the kernel down: say first what is tried, and end at the
# first complaint, since nothing that follows could be trusted.
complaint() {
	[ "$STOCK" = 1 ] || return 1
	dmesg -c >/tmp/klog
	grep -E 'BUG: |WARNING: |Oops|general protection|kernel NULL|blocked for more' /tmp/klog |
		head -n 1 | sed 's/^\[[^]]*\] //' >/tmp/complaint
	[ -s /tmp/complaint ]
}

words=$IFS
clock
begin=$now
while read -r name img exp blobs off tier _ how; do
	clock
	t=$now
	# shellcheck disable=SC2153  # from conf
	if [ "$how" = all ]; then ways=$WAYS; else ways=$WAYS2; fi
	[ "$STOCK" != 1 ] || echo "$name $tier" >"$OUT/current"
	one
	clock
	if complaint; then
		why=$(cat /tmp/complaint)
		echo "$name oops $((now - t)) $tier $why" >>"$OUT/results"
		echo "no $name - $why"
		exit 1
	elif [ -z "$why" ]; then
		ok "$name"
		echo "$name ok $((now - t)) $tier" >>"$OUT/results"
	else
		echo "$name failed $((now - t)) $tier $why" >>"$OUT/results"
		if [ "$STOCK" = 1 ]; then echo "no $name - $why"; else not_ok "$name" "$why"; fi
	fi
done <"$T/manifest"
echo "all images: $((now - begin)) hundredths of a second"
[ "$STOCK" != 1 ] || exit 0

# Good images leave no complaint in the log, and no object behind.  Lines about a
# volume begin with "erofs (DEVICE): "; "erofs: " is the kernel, about loading an
# unsigned module.
if dmesg | grep -E '^(\[[^]]*\] )?erofs \([^)]*\): ' >/tmp/log; then
	not_ok quiet-log "$(head -n 1 /tmp/log)"
else
	ok quiet-log
fi
drop_caches
check unload unload
finish
