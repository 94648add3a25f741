# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# report.sh - the end of both guest inits (QEMU, User Mode Linux): run the
# payload between two marks, then print its status, the kernel log written
# meanwhile and, only if the payload succeeded, the token with this run's
# nonce.  The host believes nothing but that token.  The caller sets $nonce
# and $T.

# shellcheck disable=SC2154  # $nonce and $T are the caller's
vm_run() {
	dmesg -c >/dev/null
	kmemleak=/sys/kernel/debug/kmemleak
	if [ -e $kmemleak ]; then
		echo scan >$kmemleak
		echo clear >$kmemleak
	fi
	echo "VM-BEGIN $nonce up $(cut -d' ' -f1 /proc/uptime) s, $(uname -r)"
	rc=126
	cd "$T" && [ -x "$T/run" ] && {
		"$T/run"
		rc=$?
	}
	cd /
	echo "VM-RC $nonce $rc"
	if [ -e $kmemleak ]; then
		# An object counts as leaked only when it is older than some
		# seconds; the second scan drops pointers that were in flight.
		sync
		sleep 6
		echo scan >$kmemleak
		sleep 1
		echo scan >$kmemleak
		# the payload may know what the kernel itself loses
		leaks="cat"
		[ ! -e "$T/leaks" ] || leaks=$T/leaks
		$leaks <$kmemleak >/tmp/leaks || echo "unreferenced object: $leaks failed" >>/tmp/leaks
		n=$(grep -c '^unreferenced object' /tmp/leaks)
		if [ "$n" != 0 ]; then
			echo "VM-KMEMLEAK $nonce $n"
			head -n 200 /tmp/leaks
		fi
	fi
	echo "VM-DMESG-BEGIN $nonce"
	# what the payload took out of the log
	[ ! -e /tmp/klog ] || cat /tmp/klog
	dmesg | cat
	echo "VM-DMESG-END $nonce"
	[ "$rc" != 0 ] || echo "VM-SUCCESS $nonce"
	sync
}
