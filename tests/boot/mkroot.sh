#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mkroot.sh root|dkms-bookworm|dkms-trixie|docs - print a directory of the cache with
# a Debian that mmdebstrap made: "root" is the system that the boot tests pack as
# their root file system, "dkms-*" are chroots to build packages and modules in,
# "docs" has what the commands of the documents take.
# Made once per list of packages; nothing in it changes afterwards.
#
# Without root rights all files belong to the user: inside "unshare -r" that is
# root again.
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"

what=${1:-}
suite=bookworm
case $what in
root)
	pkgs="systemd-sysv udev dbus kmod login passwd libpam-systemd initramfs-tools busybox
		cryptsetup-bin dmsetup systemd-container bubblewrap libcap2-bin attr util-linux
		mount procps dracut-core"
	;;
dkms-bookworm | dkms-trixie)
	suite=${what#dkms-}
	pkgs="dkms dh-dkms debhelper build-essential lintian kmod bc"
	# What Linux 6.12's and later headers depend on
	pkgs="$pkgs pahole"
	[ "$suite" != trixie ] || pkgs="$pkgs linux-base gcc-14-for-host"
	;;
docs)
	suite=trixie
	pkgs="make gcc gcc-14-for-host git sudo erofs-utils kmod bc pahole linux-base dkms dh-dkms
		debhelper build-essential initramfs-tools dracut-core cryptsetup-bin dmsetup mount
		openssl mokutil man-db procps zstd"
	;;
*) die "usage: $0 root|dkms-bookworm|dkms-trixie|docs" ;;
esac
need mmdebstrap tar
pkgs=$(tr -s ' \t\n' , <<<"$pkgs")
pkgs=${pkgs%,}

key=$(echo "1 $what $suite $pkgs $(id -u)" | sha256sum | cut -c1-12)
dir=$CACHE/boot/$what-$key
if [ -e "$dir.complete" ]; then
	touch "$dir.complete"
	printf '%s\n' "$dir"
	exit 0
fi
lock "boot-$what"
if [ -e "$dir.complete" ]; then
	printf '%s\n' "$dir"
	exit 0
fi
mkdir -p "$CACHE/boot"
# What other lists of packages left behind
find "$CACHE/boot" -maxdepth 1 -name '*.complete' -mtime +14 | while read -r old; do
	rm -rf "${old%.complete}" "${old%.complete}".*
done
uri=$(mirror_uri Debian)
[ -n "$uri" ] || uri=$(mirror_from_sources)
[ -n "$uri" ] || die "apt knows no Debian archive; run apt-get update"
say "making a small Debian ($what, one or two minutes) ..."
rm -rf "$dir" "$dir.tar"
# In its own words if it fails, silent else.
# No password: the tests log in by name.
# shellcheck disable=SC2016  # $1 is for the hooks' shell
if ! mmdebstrap --variant=minbase --include="$pkgs" --dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	--customize-hook='chroot "$1" passwd -q -d root' \
	--customize-hook='echo test >"$1/etc/hostname"' \
	--customize-hook=': >"$1/etc/machine-id"' \
	"$suite" "$dir.tar" "deb $uri $suite main" >"$dir.log" 2>&1; then
	tail -n 20 "$dir.log" >&2
	die "mmdebstrap failed"
fi
mkdir "$dir"
owner=--same-owner
[ "$(id -u)" = 0 ] || owner=--no-same-owner
tar -C "$dir" -x "$owner" --exclude='./dev/*' --xattrs --xattrs-include='*' -f "$dir.tar" 2>>"$dir.log" ||
	tar -C "$dir" -x "$owner" --exclude='./dev/*' -f "$dir.tar"
rm -f "$dir.tar" "$dir.log"
touch "$dir.complete"
printf '%s\n' "$dir"
