#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# overlay.sh - dracut hook (pre-pivot): lay a writable overlay over the read-only
# root, if the kernel command line has
#
#	erofs-lts.overlay=tmpfs[:SIZE]	in memory, gone at shutdown
#	erofs-lts.overlay=DEVICE	on a file system (ext4, XFS ...) that stays; a path,
#				or UUID=, LABEL=, PARTUUID=, PARTLABEL=
#
# The parts appear in /run/erofs-lts: lower (the root as it is on the device) and
# rw (upper and work directory).
command -v getarg >/dev/null || . /lib/dracut-lib.sh

erofs_lts_overlay() {
	overlay=$(getarg erofs-lts.overlay=) || return 0
	base=/run/erofs-lts
	mkdir -p "$base/lower" "$base/rw"
	modprobe -q overlay
	case $overlay in
	tmpfs | tmpfs:*)
		size=${overlay#tmpfs}
		mount -t tmpfs -o "mode=0755${size:+,size=${size#:}}" erofs-lts-rw "$base/rw"
		;;
	*)
		device=$(label_uuid_to_dev "$overlay")
		# It may be on a slower disk than the root: 30 seconds.
		left=30
		while [ ! -e "$device" ] && [ "$left" -gt 0 ]; do
			sleep 1
			left=$((left - 1))
		done
		mount -o rw "$device" "$base/rw"
		;;
	esac || die "erofs-lts: can't mount $overlay for the overlay"
	mkdir -p "$base/rw/upper" "$base/rw/work"
	# Not moved: systemd makes mounts shared, and those stay where they are.
	# shellcheck disable=SC2154  # set by dracut
	mount --bind "$NEWROOT" "$base/lower" || die "erofs-lts: can't bind the root"
	# Else the overlay, mounted over the one, would appear on the other.
	mount --make-private "$base/lower" || die "erofs-lts: can't make $base/lower private"
	mount -t overlay -o "lowerdir=$base/lower,upperdir=$base/rw/upper,workdir=$base/rw/work" \
		erofs-lts-root "$NEWROOT" || die "erofs-lts: no overlay over the root"
}

erofs_lts_overlay
