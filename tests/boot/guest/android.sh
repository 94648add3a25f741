# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# android.sh - part of check.sh: logical partitions of one super device by
# dm-linear, dm-verity on each, EROFS mounted by fstab; labels, capabilities,
# mapped and executed files while memory is short.
super=${SUPER:-/dev/vdd}
A=/tmp/android
mkdir -p $A

fstab=/tmp/fstab.android
: >$fstab
while read -r name extents hash_at root_hash; do
	: >/tmp/table
	start=0
	for e in $(echo "$extents" | tr , ' '); do
		echo "$start ${e#*:} linear $super ${e%:*}" >>/tmp/table
		start=$((start + ${e#*:}))
	done
	check "android-$name-linear" dmsetup create -r "$name" /tmp/table
	check "android-$name-verity" veritysetup open --hash-offset="$hash_at" \
		"/dev/mapper/$name" "$name-verity" "/dev/mapper/$name" "$root_hash"
	mkdir -p $A/"$name"
	# vendor and product as strict as devices have them
	options=ro
	[ "$name" = system ] || options=ro,nosuid,nodev,noatime
	echo "/dev/mapper/$name-verity $A/$name erofs $options 0 0" >>$fstab
done <"$P/super.tab"
check android-fstab mount -a -T $fstab
for name in system vendor product; do
	check "android-$name-content" sh -c "cd $A/$name && sha256sum --quiet -c $P/$name.sums"
done

# A changed block: the file can't be read, and the log says why.
check android-tampered-is-there test -s $A/odm/etc/blob
refuse android-tampered-read cat $A/odm/etc/blob
check android-tampered-log sh -c 'dmesg | grep -q "verity: .*block [0-9]* is corrupted"'

label() { getfattr -h -n security.selinux --only-values "$1" 2>/dev/null | tr '\0' '|'; }
same android-label-dir "$(label $A/system)" 'u:object_r:system_file:s0|'
same android-label-file "$(label $A/system/lib/libc.so.6)" 'u:object_r:system_lib_file:s0|'
same android-label-link "$(label $A/system/etc/link)" 'u:object_r:system_file:s0|'
same android-label-vendor "$(label $A/vendor/bin/tool)" 'u:object_r:vendor_file:s0|'

same android-capability "$(getcap $A/system/bin/capsh)" "$A/system/bin/capsh cap_net_raw,cap_sys_nice=ep"
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
current() { as_nobody "$1" --print | sed -n 's/^Current: *//p'; }
same android-capability-honoured "$(current $A/system/bin/capsh)" cap_net_raw,cap_sys_nice=ep
same android-no-capability "$(current $A/system/bin/plain)" =
mount -o remount,ro,nosuid $A/system
same android-capability-nosuid "$(current $A/system/bin/capsh)" =
mount -o remount,ro,suid $A/system
same android-setuid-mode "$(stat -c %a $A/vendor/bin/tool)" 4755

# Programs and libraries from the image, started over and over, files mapped and
# read, with memory taken away meanwhile.
S=$A/system
run() { "$S/lib/ld-linux-x86-64.so.2" --library-path "$S/lib" "$@"; }
apps() {
	want=$(cut -d' ' -f1 "$P/apps.sum")
	for _ in 1 2 3 4 5 6; do
		got=$(run "$S/bin/cat" $S/etc/init/*.c | run "$S/bin/sort" | run "$S/bin/sha256sum" | cut -d' ' -f1)
		[ "$got" = "$want" ] || return 1
	done
}
cat $S/etc/init/*.c | sort | sha256sum >"$P/apps.sum"
# Without a line end tail keeps all of it: three quarters of what is free
hungry() {
	while :; do
		head -c "$(($(awk '/MemAvailable/ { print $2 }' /proc/meminfo) * 768))" /dev/zero | tail -n 1 | wc -c >/dev/null
		echo 1 >/proc/sys/vm/drop_caches
	done
}
hungry &
eater=$!
apps &
one=$!
apps &
two=$!
check android-mmap "$P/stress" -n 4 -t 10 "$P/system.table" "$S"
check android-exec wait_for $one $two
kill $eater 2>/dev/null
wait $eater 2>/dev/null

for name in odm product vendor system; do
	check "android-$name-umount" umount $A/$name
	check "android-$name-close" sh -c "veritysetup close $name-verity && dmsetup remove $name"
done
