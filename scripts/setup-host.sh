#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# setup-host.sh demo|test - install the Debian packages that "make demo" or
# "make test" need and this machine lacks.  Says what it installs.
set -eu

what=${1:-test}
pkgs="make gcc libc6-dev bc cpio kmod xz-utils zstd lz4 busybox-static dash
	qemu-system-x86 debian-archive-keyring ca-certificates util-linux libelf1
	gawk procps pahole"
test_pkgs="git clang clang-format llvm sparse shellcheck codespell perl python3 flex bison libelf-dev
	libssl-dev liblz4-dev zlib1g-dev libzstd-dev liblzma-dev libdeflate-dev
	squashfs-tools e2fsprogs xfsprogs btrfs-progs cryptsetup-bin dmsetup attr acl mount
	fdisk nbd-client nbd-server dosfstools mtools mmdebstrap uidmap libcap2-bin"
case $what in
demo) ;;
test) pkgs="$pkgs $test_pkgs" ;;
*)
	echo "usage: $0 demo|test" >&2
	exit 2
	;;
esac

# The compiler that the release's own kernels are built with, if it has it.
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
case $codename in
bookworm) pkgs="$pkgs gcc-12" ;;
trixie) pkgs="$pkgs gcc-14" ;;
*)
	echo "This is not Debian 12 or 13 ($codename); package names may differ." >&2
	;;
esac

missing() {
	for p in $pkgs; do
		# Renamed in the 64-bit time transition: libelf1 -> libelf1t64.
		for n in "$p" "${p}t64"; do
			if [ "$(dpkg-query -W -f '${db:Status-Status}' "$n" 2>/dev/null)" = installed ]; then
				continue 2
			fi
		done
		echo "$p"
	done
}

need=$(missing | tr '\n' ' ')
[ -n "${need% }" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "Please run as root (or install sudo) to install: $need" >&2
		exit 1
	}
	sudo=sudo
fi
echo "Installing packages for 'make $what': $need"
export DEBIAN_FRONTEND=noninteractive
echo "  package lists ..."
$sudo apt-get -qq update
set --
for p in $need; do
	if apt-cache show "$p" >/dev/null 2>&1; then
		set -- "$@" "$p"
	elif apt-cache show "${p}t64" >/dev/null 2>&1; then
		set -- "$@" "${p}t64"
	else
		echo "no package $p in this release" >&2
		exit 1
	fi
done
# clang's sanitizer run time is a package of its own in some releases.
case " $* " in
*" clang "*)
	v=$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
	if [ -n "$v" ] && apt-cache show "libclang-rt-$v-dev" >/dev/null 2>&1; then
		set -- "$@" "libclang-rt-$v-dev"
	fi
	;;
esac
# Some minutes: a line now and then instead of apt's hundreds.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ $sudo apt-get -y -q -o Dpkg::Use-Pty=0 --no-install-recommends install "$@" 2>&1 || echo "apt-get: failed"; } |
	tee "$log" | awk '
		/ to upgrade, |newly installed/ { print "  " $0; fflush() }
		/^Need to get / { print "  " $0; fflush() }
		/^Fetched / { print "  " $0; fflush() }
		/^Setting up / && ++n % 25 == 0 { print "  " n " packages set up"; fflush() }'
if [ "$(tail -n 1 "$log")" = "apt-get: failed" ]; then
	grep -E '^(E|W|dpkg): ?|^apt-get: ' "$log" >&2
	exit 1
fi
