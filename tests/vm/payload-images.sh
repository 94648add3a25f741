#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# payload-images.sh - guest side of tests/images/run-images.sh: mount each image
# of the manifest, compare its digest with the expected one, unmount; at the end
# unload the module.  $T/conf says where images are and what to do:
#   SHARE    directory with images and expected digests
#   STOCK    1: the kernel's own driver, results are a table and no verdict
#   WAYS     how digest reads regular files
. "$T/conf"
. "$T/guest-lib.sh"
mkdir -p /mnt/i

if [ "$STOCK" = 1 ]; then
	/sbin/modprobe erofs 2>/dev/null || insmod "$STOCK_KO" || exit 1
else
	load || { not_ok load "insmod ended with status $?"; finish; }
fi
[ "$STOCK" = 1 ] || ok load

now() { cut -d' ' -f1 /proc/uptime | tr -d .; }

one() {
	devs=$("$T/lo" "$SHARE/$img" "$off") || { why="loop device"; return 1; }
	opts=ro
	main=$devs
	if [ "$blobs" != - ]; then
		for b in $(echo "$blobs" | tr , ' '); do
			b=$("$T/lo" "$SHARE/$b") || { why="loop device"; return 1; }
			devs="$devs $b"
			opts=$opts,device=$b
		done
	fi
	if err=$(mount -t erofs -o "$opts" "$main" /mnt/i 2>&1); then
		why=
		timeout "$LIMIT" "$T/digest" -m "$WAYS" /mnt/i >/tmp/got || why="digest ended with status $?"
		if ! cmp -s /tmp/got "$SHARE/$exp"; then
			why="$why, differs: $(diff "$SHARE/$exp" /tmp/got | grep '^[-+<>]' |
				grep -v '^[-+][-+][-+]' | head -n 4 | cut -c1-200 | tr '\n' ';')"
		fi
		umount /mnt/i || why="$why, umount ended with status $?"
	else
		why="mount: $(echo "$err" | sed 's/.*: //' | tail -n 1)"
	fi
	for d in $devs; do "$T/lo" -D "$d" || why="$why, loop device busy"; done
	[ -z "$why" ]
}

begin=$(now)
while read -r name img exp blobs off tier _; do
	t=$(now)
	if one; then
		ok "$name"
		echo "$name ok $(($(now) - t)) $tier" >>"$OUT/results"
	else
		echo "$name failed $(($(now) - t)) $tier $why" >>"$OUT/results"
		if [ "$STOCK" = 1 ]; then echo "no $name - $why"; else not_ok "$name" "$why"; fi
	fi
done <"$T/manifest"
echo "all images: $(($(now) - begin)) hundredths of a second"
[ "$STOCK" != 1 ] || exit 0

# Good images leave no complaint in the log, and no object behind.
if dmesg | grep -E 'erofs \(.*(corrupt|error|fail|invalid|unsupported|bogus)' >/tmp/log; then
	not_ok quiet-log "$(head -n 1 /tmp/log)"
else
	ok quiet-log
fi
drop_caches
check unload unload
finish
