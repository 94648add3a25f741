#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-uml.sh VERSION FLAVOUR - build a User Mode Linux kernel from Debian's
# linux-source-VERSION package into the cache; print its build directory.
# FLAVOUR is fast or debug (tests/vm/uml-*.config).  The result is keyed by
# package version and configuration, so a second run only prints the path.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# One block, read before it runs: a build takes minutes, and the file may be
# changed or checked out anew meanwhile.
{

usage() { die "usage: $0 6.1|6.12|7.3 fast|debug [--where]"; }
[ $# -ge 2 ] || usage
ver=$1 flavour=$2
case $ver in 6.1 | 6.12 | 7.3) ;; *) usage ;; esac
case $flavour in fast | debug) ;; *) usage ;; esac

frag=$(mktemp)
trap 'rm -f "$frag"' EXIT
# Options that a kernel lacks under the name used in the fragments.
case $ver in
6.1) squash='CONFIG_SQUASHFS_DECOMP_MULTI_PERCPU=y
CONFIG_LIBCRC32C=y' ;;
*) squash='CONFIG_SQUASHFS_COMPILE_DECOMP_SINGLE=n
CONFIG_SQUASHFS_CHOICE_DECOMP_BY_MOUNT=n
CONFIG_SQUASHFS_COMPILE_DECOMP_MULTI_PERCPU=y
CONFIG_EROFS_FS_ZIP_LZMA=y
CONFIG_EROFS_FS_ZIP_DEFLATE=y
CONFIG_EROFS_FS_ZIP_ZSTD=y
CONFIG_EROFS_FS_BACKED_BY_FILE=y' ;;
esac
# Later settings win: one line per symbol.
{
	cat "$TOP/tests/vm/uml-fast.config"
	printf '%s\n' "$squash"
	[ "$flavour" = fast ] || cat "$TOP/tests/vm/uml-$flavour.config"
} | awk -F= '/^CONFIG_/ { v[$1] = $0 } END { for (k in v) print v[k] }' | sort >"$frag"
if grep -q '^CONFIG_EROFS_FS=n' "$frag"; then sed -i '/^CONFIG_EROFS_FS_/d' "$frag"; fi

# Symbols that these versions do not know: not an error if they are missing.
optional='MODULE_FORCE_UNLOAD|UML_TIME_TRAVEL_SUPPORT|LOCALVERSION|PSI|DM_DUST|DEBUG_INFO_NONE|DEBUG_VM_PGFLAGS|COMPACTION'
case $ver in
6.1) optional="$optional|DEBUG_ATOMIC_SLEEP|EROFS_FS_ZIP_.*|EROFS_FS_BACKED_BY_FILE" ;;
7.3) optional="$optional|CRYPTO_CRC32C|LIBCRC32C|UBSAN_.*|CRYPTO_SHA256" ;;
esac

key=$(sha256sum <"$frag" | cut -c1-10)
mkdir -p "$CACHE/uml"
# A warm run asks no lists: any complete build of this version and configuration.
find_ready() {
	local f
	for f in "$CACHE/uml/$ver."*"-$flavour-$key"/.complete; do
		if [ -e "$f" ] && [ -z "${REFRESH:-}" ]; then
			dirname "$f"
			return 0
		fi
	done
	return 1
}
! find_ready || exit 0
[ "${3:-}" != --where ] || exit 1

need make gcc flex bison bc xz
lock "uml-$ver-$flavour"
! find_ready || exit 0

src=$("$TOP/scripts/fetch-source.sh" "$ver")
full=$(make -s -C "$src" kernelversion)
out=$CACHE/uml/$full-$flavour-$key
# An interrupted build is taken up where it stopped.
mkdir -p "$out"
log=$out/build.log
mk=(make -s -C "$src" ARCH=um "O=$out" KBUILD_BUILD_TIMESTAMP=1970-01-01
	KBUILD_BUILD_USER=build KBUILD_BUILD_HOST=build)
say "configuring UML $full $flavour in $out"
kernel_config "$frag" "$out" "$log" "$optional" "${mk[@]}"
jobs=$(nproc)
say "building (some minutes; log: $log)"
start=$SECONDS
nice -n 10 "${mk[@]}" "-j$jobs" linux modules >>"$log" 2>&1 || {
	tail -n 30 "$log" >&2
	die "build failed, see $log"
}
# Objects are no longer needed, headers, scripts and symbol tables are.
find "$out" \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' \) \
	-not -path '*/scripts/*' -not -path '*/tools/*' -delete
make -s -C "$src" ARCH=um "O=$out" kernelrelease >"$out/release"
touch "$out/.complete"
say "UML $full $flavour ready after $((SECONDS - start)) s"
printf '%s\n' "$out"
exit 0
}
