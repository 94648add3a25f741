#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# fetch-source.sh VERSION - unpack Debian's linux-source-VERSION (6.1, 6.12 or
# 7.3) into the cache and print the directory.  Used for User Mode Linux
# builds and for checkpatch.pl; nothing of it becomes part of this project.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

case ${1:-} in
6.1) suite=bookworm ;;
6.12) suite=bookworm-backports ;;
7.3) suite=trixie-backports ;;
*) die "usage: $0 6.1|6.12|7.3" ;;
esac
ver=$1
dir=$CACHE/src/linux-source-$ver
if [ -e "$dir/.complete" ] && [ -z "${REFRESH:-}" ]; then
	printf '%s\n' "$dir"
	exit 0
fi
lock "source-$ver"
if [ -e "$dir/.complete" ] && [ -z "${REFRESH:-}" ]; then
	printf '%s\n' "$dir"
	exit 0
fi
need dpkg-deb xz tar
apt_setup "$suite"
deb=$(deb_get "linux-source-$ver")
say "unpacking ${deb##*/} ..."
rm -rf "$dir" "$dir.tmp"
mkdir -p "$dir.tmp"
dpkg-deb --fsys-tarfile "$deb" |
	tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
	xz -dc -T0 | tar -x -C "$dir.tmp" --strip-components=1 \
	--exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/net/*/*.[ch]' \
	--exclude='*/Documentation/devicetree/bindings/*'
mv "$dir.tmp" "$dir"
touch "$dir/.complete"
rm -f "$deb"
printf '%s\n' "$dir"
