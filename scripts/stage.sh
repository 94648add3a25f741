#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# stage.sh DIR - copy what the kernel build needs into DIR.  A file that is
# the same there keeps its time stamp, so nothing is compiled twice.
set -eu
dst=$1
top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$dst/compat"
cd "$top"
for f in Kbuild *.c *.h compat/*; do
	if [ -f "$f" ] && [ "$f" != compat_config.h ]; then
		cmp -s "$f" "$dst/$f" || cp -f "$f" "$dst/$f"
	fi
done
