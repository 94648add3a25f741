# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# guest-lib.sh - for the cases: ". $T/guest-lib.sh".  Works in QEMU guests
# (busybox and dash) and in User Mode Linux (the host's programs).

PASSED=0
FAILED=0

# ok NAME / not_ok NAME REASON: one result
# printf, because echo would take backslashes in names for its own.
ok() { PASSED=$((PASSED + 1)); printf 'ok %s\n' "$1"; }
not_ok() { FAILED=$((FAILED + 1)); printf 'not ok %s - %s\n' "$1" "$2"; }

# check NAME COMMAND...: a result from the command's status
check() {
	_n=$1
	shift
	if "$@" >"/tmp/check.out" 2>&1; then
		ok "$_n"
	else
		not_ok "$_n" "$* ended with status $?: $(tail -n 1 /tmp/check.out)"
	fi
}

# refuse NAME COMMAND...: the command must fail
refuse() {
	_n=$1
	shift
	if "$@" >"/tmp/check.out" 2>&1; then not_ok "$_n" "$* succeeded"; else ok "$_n"; fi
}

# disk N: the N-th disk, counted from 1
disk() {
	_i=$1
	# shellcheck disable=SC2086  # a list of words
	set -- $DISKS
	shift $((_i - 1))
	echo "$1"
}

# disk_root N: the root directory on the N-th disk at $R, with /proc, /sys, /dev and a
# /tmp of its own
disk_root() {
	need_module ext4
	R=/mnt/r
	mkdir -p $R
	mount -t ext4 "$(disk "$1")" $R || return 1
	mount -t proc proc $R/proc
	mount -t sysfs sys $R/sys
	mount --bind /dev $R/dev
	# udev would make it
	ln -s /proc/self/fd /dev/fd
	mount -t tmpfs tmp $R/tmp
}

# inside COMMAND...: in there
inside() {
	# env by its path: busybox would take its own applets for all names.
	chroot "$R" /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/ \
		DEBIAN_FRONTEND=noninteractive "$@"
}

# now: seconds since the start; note TEXT: progress
now() { cut -d. -f1 /proc/uptime; }
note() { echo "($(now) s) $*"; }

load() { insmod "$T/erofs.ko" "$@"; }

# Unmount and unload: a leaked reference shows here.
unload() {
	rmmod erofs
}

# In UML kernel modules of the distribution are built in.
need_module() { [ "$VM" = uml ] || /sbin/modprobe "$@"; }

# small_memory SIZE: a cgroup for readers; its path in $cg
small_memory() {
	mkdir -p /tmp/cgroup
	mount -t cgroup2 none /tmp/cgroup || return 1
	echo +memory >/tmp/cgroup/cgroup.subtree_control || return 1
	cg=/tmp/cgroup/readers
	mkdir $cg || return 1
	echo "$1" >$cg/memory.max
}

drop_caches() { sync; echo 3 >/proc/sys/vm/drop_caches; }

# Last line of a case: fails if a check failed or none was made.
finish() {
	[ "$FAILED" = 0 ] && [ "$PASSED" != 0 ]
	exit
}
