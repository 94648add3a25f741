#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# init.sh - first process of a QEMU guest (inside the initramfs, busybox).
# Loads the base modules, runs /t/run and reports; see tests/README.md.
export PATH=/bin:/sbin
mount -t devtmpfs d /dev
mount -t proc p /proc
mount -t sysfs s /sys
mount -t tmpfs t /tmp
mount -t debugfs d /sys/kernel/debug 2>/dev/null
arg() { tr ' ' '\n' </proc/cmdline | sed -n "s/^$1=//p"; }
# shellcheck disable=SC2034  # for report.sh
nonce=$(arg test.nonce)
for c in /sys/devices/system/cpu/cpu*/online; do
	[ ! -e "$c" ] || [ "$(cat "$c")" = 1 ] || echo 1 >"$c"
done
while read -r m; do
	modprobe "$m" || echo "base module $m does not load"
done </boot-modules

export T=/t OUT=/out DISKS='' KREL VM=qemu
KREL=$(uname -r)
mkdir -p /out
if [ "$(arg test.out)" = 1 ]; then
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 out /out ||
		echo "no 9p share for results"
fi
if [ "$(arg test.share)" = 1 ]; then
	mkdir -p /share
	mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144 share /share ||
		echo "no 9p share"
fi
for d in /dev/vd?; do
	[ ! -b "$d" ] || DISKS="$DISKS $d"
done
. /vm-report.sh
vm_run
poweroff -f
