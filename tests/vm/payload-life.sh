#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# payload-life.sh - guest side of tests/images/run-life.sh.  $T/conf: SHARE,
# JOB (stress or cycle), SECONDS_EACH, CYCLES.
. "$T/conf"
. "$T/guest-lib.sh"
mkdir -p /mnt/a /mnt/b

# The n-th line of the manifest into name, img, ...
pick() {
	# shellcheck disable=SC2034  # fields of the manifest
	read -r name img exp blobs off tier blocks <<-E
	$(sed -n "$1p" "$T/manifest")
	E
}

attach() {
	dev=$("$T/lo" "$SHARE/$img" "$off") || return 1
	mount -t erofs -o ro "$dev" "$1"
}

stress() {
	load || { not_ok load "insmod ended with status $?"; finish; }
	check memory-cgroup small_memory 64M
	n=$(wc -l <"$T/manifest")
	i=1
	while [ $i -lt "$n" ]; do
		pick $i
		first=$name firstdev='' blocks1=$blocks
		attach /mnt/a || { not_ok "stress/$name" "mount"; break; }
		firstdev=$dev
		pick $((i + 1))
		attach /mnt/b || { not_ok "stress/$name" "mount"; break; }
		# Two mounts at once: the caches of the module are shared.  Readers
		# of the second are killed at random.
		# shellcheck disable=SC2154  # small_memory
		"$T/stress" -n 4 -t "$SECONDS_EACH" -r $i -c "$cg" "$SHARE/$blocks1" /mnt/a >/tmp/a.out 2>&1 &
		"$T/stress" -n 4 -t "$SECONDS_EACH" -r $((i + 100)) -c "$cg" -k "$SHARE/$blocks" /mnt/b >/tmp/b.out 2>&1
		rb=$?
		wait $!
		ra=$?
		cat /tmp/a.out /tmp/b.out
		if [ $ra = 0 ]; then ok "stress/$first"; else not_ok "stress/$first" "$(tail -n 1 /tmp/a.out)"; fi
		if [ $rb = 0 ]; then ok "stress/$name"; else not_ok "stress/$name" "$(tail -n 1 /tmp/b.out)"; fi
		# At once, with the caches full.
		check "umount/$first" umount /mnt/a
		check "umount/$name" umount /mnt/b
		"$T/lo" -D "$firstdev"
		"$T/lo" -D "$dev"
		i=$((i + 2))
	done
	if dmesg | grep -E 'erofs \(.*(corrupt|error|fail|invalid)' >/tmp/log; then
		not_ok quiet-log "$(head -n 1 /tmp/log)"
	else
		ok quiet-log
	fi
	check unload unload
}

# Kernel memory in KiB that must not grow: slab, vmalloc, per-CPU.
kernel_memory() {
	drop_caches
	sleep 1
	drop_caches
	awk '/^(SUnreclaim|SReclaimable|VmallocUsed|Percpu|KernelStack):/ { n += $2 } END { print n }' /proc/meminfo
}
# The best of five readings: pages on lists of single processors come and go.
available() {
	best=0
	for _ in 1 2 3 4 5; do
		drop_caches
		sleep 0.3
		a=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
		[ "$a" -le "$best" ] || best=$a
	done
	echo "$best"
}

# One life of the module: all images, one of them refused.
life() {
	load || return 1
	n=$(wc -l <"$T/manifest")
	k=1
	while [ $k -le "$n" ]; do
		pick $k
		d=$(sed -n "${k}p" /tmp/devs)
		mount -t erofs -o ro "$d" /mnt/a || return 2
		ls -lR /mnt/a >/dev/null
		# the fifo among them would wait for a writer
		cat /mnt/a/text /mnt/a/mixed /mnt/a/tail /mnt/a/victim /mnt/a/dir/* >/dev/null || return 6
		umount /mnt/a || return 3
		k=$((k + 1))
	done
	for d in $refused; do
		"$T/trymount" erofs "$d" /mnt/a >/dev/null && return 4
	done
	unload || return 5
}

cycle() {
	n=$(wc -l <"$T/manifest")
	k=1
	: >/tmp/devs
	while [ $k -le "$n" ]; do
		pick $k
		"$T/lo" "$SHARE/$img" "$off" >>/tmp/devs || { not_ok cycle "loop device"; finish; }
		k=$((k + 1))
	done
	# Refused at different depths: superblock, root inode, packed inode.
	refused=
	# shellcheck disable=SC2153  # set in conf
	for f in $REFUSED; do refused="$refused $("$T/lo" "$SHARE/$f")"; done
	# Short lists of free pages on each processor.
	[ ! -w /proc/sys/vm/percpu_pagelist_high_fraction ] ||
		echo 100000 >/proc/sys/vm/percpu_pagelist_high_fraction
	i=0
	while [ $i -lt "$CYCLES" ]; do
		life
		rc=$?
		[ $rc = 0 ] || { not_ok "life-$i" "step $rc failed"; finish; }
		i=$((i + 1))
		# the first ones fill caches that stay
		[ $i != 20 ] || { m1=$(kernel_memory) a1=$(available); }
	done
	m2=$(kernel_memory) a2=$(available)
	ok "lives"
	rest=$((CYCLES - 20))
	echo "after $CYCLES lives: kernel memory $m1 -> $m2 KiB, available $a1 -> $a2 KiB"
	# 2 KiB a life would be a leaked superblock or page; noise is far below.
	if [ $((m2 - m1)) -le $((rest * 2 + 300)) ]; then
		ok kernel-memory
	else
		not_ok kernel-memory "grew by $((m2 - m1)) KiB in $rest lives"
	fi
	# pages that no counter names; readings differ by up to 5 MiB
	if [ $((a1 - a2)) -le $((rest * 16 + 8192)) ]; then
		ok available-memory
	else
		not_ok available-memory "shrank by $((a1 - a2)) KiB in $rest lives"
	fi
	if grep -q erofs /proc/slabinfo 2>/dev/null; then
		not_ok slabs-gone "$(grep erofs /proc/slabinfo | head -n 1)"
	else
		ok slabs-gone
	fi
	if [ ! -e /sys/fs/erofs ]; then ok sysfs-gone; else not_ok sysfs-gone "/sys/fs/erofs is left"; fi
}

$JOB
finish
