#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# payload-bad.sh - guest side of tests/images/run-bad.sh: mount damaged images,
# walk them, and judge what was seen (verdict.awk) against the table.  $T/conf:
# SHARE (damaged images, expected digests), STOCK=1 for the kernel's own driver,
# which gives a table without verdict.
. "$T/conf"
. "$T/guest-lib.sh"
mkdir -p /mnt/i
if [ "$STOCK" = 1 ]; then
	/sbin/modprobe erofs 2>/dev/null || insmod "$STOCK_KO" || exit 1
else
	load || { not_ok load "insmod ended with status $?"; finish; }
fi
# How often the kernel spoke of us since the last call.  report.sh shows all of it at
# the end; going through the whole log again for each image would take half the time.
lines() {
	dmesg -c >/tmp/klog.new
	n=0
	while IFS= read -r line; do
		printf '%s\n' "$line"
		case $line in
		*[Ee][Rr][Oo][Ff][Ss]*) n=$((n + 1)) ;;
		esac
	done </tmp/klog.new >>/tmp/klog
}

one() {
	opts=
	devs=$("$T/lo" "$SHARE/$name.img") || { why="loop device"; return 1; }
	main=$devs
	if [ "$blobs" != - ]; then
		b=$("$T/lo" "$SHARE/$blobs") || { why="loop device"; return 1; }
		devs="$devs $b"
		opts=device=$b
	fi
	case ",$outcomes," in
	*,disabled,*) opts=${opts:+$opts,}cache_strategy=disabled ;;
	esac
	err=$("$T/trymount" erofs "$main" /mnt/i "$opts")
	seen="mount=$err"
	case " $mount " in
	*" $err "*) why= ;;
	*) why="mount gives $err, not $mount" ;;
	esac
	if [ "$err" = 0 ]; then
		how=-e
		[ "$affected" != - ] || how=
		timeout 300 "$T/digest" $how /mnt/i >/tmp/got
		rc=$?
		[ $rc -le 1 ] || why="$why; digest ended with status $rc"
		# awk is slow in an emulated machine: give it what there is to say about
		"$T/trymount" -d "$affected" "$SHARE/$exp" /tmp/got /tmp/d.exp /tmp/d.got ||
			why="$why; the digests cannot be compared"
		v=$(awk -v aff="$affected" -v allowed="$outcomes" -f "$T/verdict.awk" /tmp/d.exp /tmp/d.got) ||
			why="$why; ${v#*;}"
		seen=${v%%;*}
		# 16 letters without a terminator
		[ "$name" != label-full ] || [ "$("$T/trymount" -l /mnt/i)" = AAAAAAAAAAAAAAAA ] ||
			why="$why; label is $("$T/trymount" -l /mnt/i)"
		# without an UUID the device has to tell file systems apart
		[ "$name" != uuid-clear ] || [ "$("$T/trymount" -i /mnt/i)" != 0000000000000000 ] ||
			why="$why; f_fsid is 0"
		umount /mnt/i || why="$why; umount failed"
	fi
	for d in $devs; do "$T/lo" -D "$d" || why="$why; loop device busy"; done
	lines
	case " $seen/$outcomes" in
	*,quiet*) ;;
	*=117*/* | *=95*/* | *mount=22/* | *mount=74/*)
		[ "$n" -gt 0 ] || why="$why; $seen, but no line in the kernel log"
		;;
	esac
	[ "$n" -le 20 ] || why="$why; $n lines in the kernel log"
	why=${why#; }
	[ -z "$why" ]
}

lines
while IFS='|' read -r name exp blobs mount affected outcomes; do
	if one; then
		ok "$name"
		echo "$name ok $seen" >>"$OUT/results"
	else
		echo "$name failed $seen - $why" >>"$OUT/results"
		if [ "$STOCK" = 1 ]; then echo "no $name - $why"; else not_ok "$name" "$why"; fi
	fi
done <"$T/bad.list"
[ "$STOCK" != 1 ] || exit 0
drop_caches
check unload unload
finish
