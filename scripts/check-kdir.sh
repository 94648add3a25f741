#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# check-kdir.sh KDIR - is this a kernel build tree that the driver supports?
# One plain sentence if not.
set -eu
kdir=$1
f=$kdir/include/generated/utsrelease.h
if [ ! -r "$f" ]; then
	echo "No kernel headers in $kdir: install linux-headers-\$(uname -r) or set KDIR." >&2
	exit 1
fi
# 6.1.0-57-amd64 -> 6 1
rel=$(sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' "$f")
maj=${rel%%.*}
min=${rel#*.}
min=${min%%[!0-9]*}
n=$((maj * 1000 + min))
if [ "$n" -lt 6001 ] || [ "$n" -gt 7003 ]; then
	echo "Linux $rel is not supported: this driver builds for Linux 6.1 to 7.3." >&2
	exit 1
fi
