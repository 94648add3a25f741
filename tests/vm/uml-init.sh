#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# uml-init.sh - first process of a User Mode Linux guest.  The root is the
# host's own tree through hostfs; only $OUT, /tmp, /run and /mnt are writable.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
mount -t proc p /proc
mount -t sysfs s /sys
mount -t tmpfs t /run
mkdir -p /run/t /run/out /run/vm
arg() { tr ' ' '\n' </proc/cmdline | sed -n "s/^$1=//p"; }
# shellcheck disable=SC2034  # for report.sh
nonce=$(arg test.nonce)
mount --bind "$(arg test.payload)" /run/t
mount --bind "$(arg test.out)" /run/out
mount --bind "$(arg test.vm)" /run/vm
mountpoint -q /dev || mount -t devtmpfs d /dev
mkdir -p /dev/shm /dev/mapper
mount -o remount,bind,ro /
mount -t tmpfs t /tmp
mount -t tmpfs t /mnt
mount -t debugfs d /sys/kernel/debug 2>/dev/null
export T=/run/t OUT=/run/out DISKS='' KREL VM=uml
KREL=$(uname -r)
for d in /dev/ubd?; do
	[ ! -b "$d" ] || DISKS="$DISKS $d"
done
. /run/vm/report.sh
vm_run
# not every machine has halt
halt -f -p -n 2>/dev/null || busybox poweroff -f -n
