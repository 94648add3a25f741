#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# fetch-kernel.sh SUITE - unpack the current Debian kernel of a suite (image,
# modules, headers, kbuild tools) into the cache, without installing it, and
# print its release.  SUITE: bookworm (6.1), bookworm-backports (6.12),
# trixie-backports (7.3).  The suite is asked again after $LIST_DAYS days
# (default 7) or with REFRESH=1; offline the cached kernel is used.
# smp-VERSION is a kernel of build-smp.sh, which is built if need be.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

suite=${1:-}
case $suite in
bookworm | bookworm-backports | trixie | trixie-backports) ;;
6.1) suite=bookworm ;;
6.12) suite=bookworm-backports ;;
7.3) suite=trixie-backports ;;
smp-*) exec "$TOP/scripts/build-smp.sh" "${suite#smp-}" ;;
*) die "usage: $0 bookworm|bookworm-backports|trixie|trixie-backports|smp-VERSION" ;;
esac
known=$CACHE/kernels/$suite

usable() { [ -n "$1" ] && [ -e "$CACHE/$1/.complete" ] && [ -e "$CACHE/$1/vmlinux" ]; }

rel=$(cat "$known" 2>/dev/null || true)
if usable "$rel" && [ -z "${REFRESH:-}" ] &&
	[ -z "$(find "$known" -mtime "+$LIST_DAYS")" ]; then
	printf '%s\n' "$rel"
	exit 0
fi

lock "kernel-$suite"
rel=$(cat "$known" 2>/dev/null || true)
if usable "$rel" && [ -z "${REFRESH:-}" ] &&
	[ -z "$(find "$known" -mtime "+$LIST_DAYS")" ]; then
	printf '%s\n' "$rel"
	exit 0
fi
need apt-get dpkg-deb xz zstd
mkdir -p "$CACHE/kernels"
# Lists older than the answer we have are of no use for a new one.
if ! (apt_setup "$suite") ; then
	usable "$rel" || exit 1
	say "$suite: archive not reachable, Linux $rel from the cache is used"
	printf '%s\n' "$rel"
	exit 0
fi
apt_setup "$suite"
img=$(kernel_image)
[ -n "$img" ] || die "$suite has no linux-image-amd64"
new=${img#linux-image-} # what uname -r will say
abi=${new%-amd64}

if ! usable "$new"; then
	case $abi in 6.1.*) kb=linux-kbuild-6.1 ;; *) kb=linux-kbuild-$abi ;; esac
	want="linux-headers-$new linux-headers-$abi-common $kb"
	# Since 7.x the image package is empty; its parts have names of their own.
	if apt-cache "${APT_OPTS[@]}" show "linux-binary-$new" >/dev/null 2>&1; then
		want="$want linux-modules-$new linux-binary-$new linux-base-$new"
	else
		want="$want $img"
	fi
	debs=()
	for p in $want; do
		deb=$(deb_get "$p") || exit 1
		debs+=("$deb")
	done
	stamp=$(printf '%s\n' "${debs[@]##*/}" | sort)
	dir=$CACHE/$new
	say "unpacking Linux $new ..."
	mkdir -p "$dir"
	for deb in "${debs[@]}"; do
		dpkg-deb -x "$deb" "$dir"
	done
	# The only absolute paths are in the flavour's Makefile.
	sed -i "s#\([ =]\)[^ =]*/usr/src/#\1$dir/usr/src/#" "$(kernel_kdir "$new")/Makefile"
	vmlinuz=
	for f in "$dir/boot/vmlinuz-$new" "$dir/usr/lib/modules/$new/vmlinuz" "$dir/lib/modules/$new/vmlinuz"; do
		[ ! -e "$f" ] || vmlinuz=$f
	done
	[ -n "$vmlinuz" ] || die "no kernel image in the packages of $new"
	"$TOP/scripts/extract-elf.sh" "$vmlinuz" "$dir/vmlinux"
	printf '%s\n' "$stamp" >"$dir/.complete"
fi
printf '%s\n' "$new" >"$known"
printf '%s\n' "$new"
