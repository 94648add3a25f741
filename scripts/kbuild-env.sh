#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kbuild-env.sh KDIR COMMAND... - run COMMAND where the kernel build tree KDIR
# works: directly if the host can run its build tools and has its compiler,
# else in a small root directory of the right Debian release (mk-toolroot.sh).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || die "usage: $0 KDIR COMMAND..."
kdir=$(realpath "$1")
shift

native() {
	local gcc
	# modpost without arguments fails, but not in the loader.
	if [ -x "$kdir/scripts/mod/modpost" ] &&
		LC_ALL=C "$kdir/scripts/mod/modpost" 2>&1 </dev/null | grep -q 'GLIBC_.*not found'; then
		return 1
	fi
	gcc=$(sed -n 's/^CC = .*\(gcc-[0-9]*\)$/\1/p' "$kdir/.kernelvariables" 2>/dev/null || true)
	[ -z "$gcc" ] || command -v "$gcc" >/dev/null 2>&1
}

! native || exec "$@"

gcc=$(sed -n 's/^CC = .*\(gcc-[0-9]*\)$/\1/p' "$kdir/.kernelvariables" 2>/dev/null || true)
case $gcc in
gcc-12) suite=bookworm ;;
gcc-14) suite=trixie ;;
*) die "no idea which Debian release builds for $kdir" ;;
esac
root=$("$TOP/scripts/mk-toolroot.sh" "$suite")

# The same paths inside: cache, source tree and working directory.
dirs=("$CACHE" "$TOP" "$PWD" ${KBUILD_ENV_DIRS:+"$KBUILD_ENV_DIRS"})
if unshare -m true 2>/dev/null; then
	how=(unshare -m)
elif unshare -m --propagation unchanged true 2>/dev/null; then
	# Inside a chroot the root is no mount point whose propagation can change.
	how=(unshare -m --propagation unchanged)
elif unshare -Urm true 2>/dev/null; then
	how=(unshare -Urm)
elif command -v proot >/dev/null 2>&1; then
	args=(-r "$root" -b /proc -b /dev -w "$PWD")
	for d in "${dirs[@]}"; do args+=(-b "$d"); done
	exec proot "${args[@]}" /usr/bin/env PATH=/usr/sbin:/usr/bin LC_ALL=C "$@"
else
	die "this user may not make mount namespaces; run as root or install proot"
fi
# The mounts vanish with the process.  /proc: objtool reads its stack limit there.
# shellcheck disable=SC2016  # expanded by the inner shells
exec "${how[@]}" sh -c '
	set -e
	root=$1 n=$2 cwd=$3
	shift 3
	mount --bind "$root" "$root"
	mount --make-private "$root"
	cd "$root"
	while [ "$n" -gt 0 ]; do
		mkdir -p "$root$1"
		mount --rbind "$1" "$root$1"
		shift
		n=$((n - 1))
	done
	mount --rbind /proc "$root/proc"
	mount --rbind /dev "$root/dev"
	PATH=/usr/sbin:/usr/bin LC_ALL=C exec chroot "$root" /bin/sh -c '\''cd "$0" && exec "$@"'\'' "$cwd" "$@"
' sh "$root" "${#dirs[@]}" "$PWD" "${dirs[@]}" "$@"
