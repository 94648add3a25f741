# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# system.sh - part of check.sh: the system came up whole, from this driver, with
# the overlay (and verity) that the command line asked for.

# Waits for what is still starting.
state=$(systemctl is-system-running --wait)
same system-running "$state" running
[ "$state" = running ] || systemctl --no-legend --plain --failed
check driver test -e /sys/fs/erofs/features/file_backed
same root-type "$(findmnt -n -o FSTYPE /)" overlay
lower=/run/erofs-lts/lower
same lower-type "$(findmnt -n -o FSTYPE $lower)" erofs
case $(findmnt -n -o OPTIONS $lower) in
ro | ro,*) ok lower-read-only ;;
*) not_ok lower-read-only "$(findmnt -n -o OPTIONS $lower)" ;;
esac
# What the overlay consists of is what the command line asked for.
rw=/run/erofs-lts/rw
arg() { sed -n "s/^\(.* \)\?$1=\([^ ]*\).*/\2/p" /proc/cmdline; }
# device NAME: the path of what a command line calls by NAME
device() {
	case $1 in
	PARTUUID=*) readlink -f "/dev/disk/by-partuuid/${1#*=}" ;;
	LABEL=*) readlink -f "/dev/disk/by-label/${1#*=}" ;;
	*) echo "$1" ;;
	esac
}
# Its major and minor number
number() { cat "/sys/class/block/$(basename "$(device "$1")")/dev"; }
overlay=$(arg erofs-lts.overlay)
case $overlay in
/dev/* | LABEL=*)
	same overlay-device "$(findmnt -n -o SOURCE,FSTYPE $rw | tr -s ' ')" "$(device "$overlay") ext4"
	same overlay-kept "$(cat /etc/boot-test 2>/dev/null)" "${again:+written}"
	;;
tmpfs:*M)
	size=${overlay#tmpfs:}
	same overlay-size "$(findmnt -n -b -o FSTYPE,SIZE $rw | tr -s ' ')" "tmpfs $((${size%M} * 1048576))"
	;;
*) same overlay-memory "$(findmnt -n -o FSTYPE $rw)" tmpfs ;;
esac
if grep -q roothash= /proc/cmdline; then
	options=$(dmsetup table root)
	check verity-option-panic test "$options" != "${options%panic_on_corruption*}"
	check verity-option-zero test "$options" != "${options%ignore_zero_blocks*}"
	same verity-devices "$(dmsetup table root | cut -d' ' -f5,6)" \
		"$(number "$(arg systemd.verity_root_data)") $(number "$(arg systemd.verity_root_hash)")"
	same verity-status "$(dmsetup status root | cut -d' ' -f3,4)" "verity V"
	same verity-root "$(readlink -f "$(findmnt -n -o SOURCE $lower)")" "$(readlink -f /dev/mapper/root)"
else
	same root-device "$(findmnt -n -o SOURCE $lower)" "$(device "$(arg root)")"
fi
check writable sh -c 'echo written >/etc/boot-test && rm -f /usr/bin/yes && test ! -e /usr/bin/yes'
check lower-unchanged test -e $lower/usr/bin/yes
refuse lower-refuses-writes touch $lower/etc/boot-test
check content sh -c "cd $lower && sha256sum --quiet -c $P/root.sums"
list_tree $lower >/tmp/root.list
check metadata cmp "$P/root.list" /tmp/root.list
check journal sh -c 'journalctl -b --no-pager | grep -q systemd'
for unit in systemd-journald systemd-udevd systemd-logind dbus; do
	same "unit-$unit" "$(systemctl is-active $unit)" active
done
check errors sh -c '! cat /sys/fs/erofs/*/errors | grep -qv "^0$"'
