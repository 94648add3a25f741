#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mk-toolroot.sh bookworm|trixie - unpack compiler, make and the libraries of
# that Debian release into a directory of the cache and print it.  Needed when
# a kernel's build tools want another release than the host's.  Packages are
# only unpacked, never configured, so no root is needed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

suite=${1:-}
base="base-files bash coreutils dash debianutils diffutils findutils grep sed gawk gzip xz-utils zstd tar perl-base libc-bin make bc kmod sparse libc6-dev libelf-dev"
case $suite in
bookworm) pkgs="$base gcc-12 libssl3 pahole" ;;
trixie) pkgs="$base gcc-14 gcc-14-for-host libssl3t64 pahole" ;;
*) die "usage: $0 bookworm|trixie" ;;
esac
root=$CACHE/toolroot/$suite
want="2 $pkgs"
if [ "$(cat "$root/.complete" 2>/dev/null)" = "$want" ]; then
	printf '%s\n' "$root"
	exit 0
fi
lock "root-$suite"
if [ "$(cat "$root/.complete" 2>/dev/null)" = "$want" ]; then
	printf '%s\n' "$root"
	exit 0
fi
apt_setup "$suite"
rm -rf "$root"
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" \
	"$root/proc" "$root/dev" "$root/tmp" "$root/etc"
for d in bin sbin lib lib64; do
	ln -s "usr/$d" "$root/$d"
done
say "unpacking build tools of $suite ..."
# shellcheck disable=SC2086  # a list of words on purpose
unpack_closure "$root" $pkgs
for n in gcc cpp; do
	for f in "$root/usr/bin/$n-1"[0-9]; do
		[ -e "$root/usr/bin/$n" ] || ln -s "${f##*/}" "$root/usr/bin/$n"
	done
done
[ -e "$root/usr/bin/awk" ] || ln -s gawk "$root/usr/bin/awk"
[ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
printf '%s\n' "$want" >"$root/.complete"
printf '%s\n' "$root"
