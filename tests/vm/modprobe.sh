#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# modprobe.sh - /sbin/modprobe of the QEMU guest: modprobe [OPTIONS] NAME
# [PARAMETER...].  Also called by the kernel, with aliases.  Modules lie in
# /m, the ones each needs, in order, in /m/NAME.dep.
export PATH=/bin
while :; do
	case $1 in
	-*) shift ;;
	*) break ;;
	esac
done
name=$1
shift
case $name in
fs-*) name=${name#fs-} ;;
crypto-crc32c) name=crc32c_generic ;;
devname:*) exit 1 ;;
esac
name=$(echo "$name" | sed 's/-/_/g')
[ -e "/m/$name.dep" ] || {
	# built in, or not there at all: the caller will notice
	[ -d "/sys/module/$name" ] || grep -qx "$name" /m/builtin
	exit
}
while read -r m; do
	[ -d "/sys/module/$m" ] || insmod "/m/$m.ko" 2>/dev/null || [ -d "/sys/module/$m" ] || exit 1
done <"/m/$name.dep"
[ -d "/sys/module/$name" ] || exec insmod "/m/$name.ko" "$@"
