#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-smp.sh VERSION - build an x86-64 kernel with lockdep and KCSAN from Debian's
# linux-source-VERSION package (tests/vm/smp.config), put it into the cache beside
# Debian's own kernels, in their layout, and print its release.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# One block, read before it runs: a build takes minutes.
{

ver=${1:-}
case $ver in 6.12 | 7.3) ;; *) die "usage: $0 6.12|7.3" ;; esac

# KCSAN watches the driver under test and the files of the kernel that it shares
# data with; instrumenting all of it would cost most of the time of a run, and
# the kernel's own races would bury the few that count here.
kcsan=(KCSAN_SANITIZE=n)
for f in filemap readahead truncate bio super inode dcache loop backing-dev; do
	kcsan+=("KCSAN_SANITIZE_$f.o=y")
done

frag=$(mktemp)
trap 'rm -f "$frag"' EXIT
grep '^CONFIG_' "$TOP/tests/vm/smp.config" | sort >"$frag"
key=$({ cat "$frag"; echo "${kcsan[*]}"; } | sha256sum | cut -c1-10)
known=$CACHE/kernels/smp-$ver
ready() {
	local rel
	rel=$(sed -n "s/ $key\$//p" "$known" 2>/dev/null)
	[ -n "$rel" ] && [ -e "$CACHE/$rel/.complete" ] && [ -z "${REFRESH:-}" ] && printf '%s\n' "$rel"
}
! ready || exit 0
need make gcc flex bison bc xz
lock "smp-$ver"
! ready || exit 0

src=$("$TOP/scripts/fetch-source.sh" "$ver")
full=$(make -s -C "$src" kernelversion)
rel=$full-smp
dir=$CACHE/$rel
# What scripts/lib.sh takes for the headers of a kernel is its build directory.
out=$dir/usr/src/linux-headers-$rel
# An interrupted build is taken up where it stopped.
mkdir -p "$out" "$CACHE/kernels"
rm -f "$dir/.complete"
log=$dir/build.log
mk=(make -s -C "$src" ARCH=x86 "O=$out" KBUILD_BUILD_TIMESTAMP=1970-01-01
	KBUILD_BUILD_USER=build KBUILD_BUILD_HOST=build "${kcsan[@]}")
say "configuring Linux $rel in $dir"
kernel_config "$frag" "$out" "$log" '' "${mk[@]}"
say "building (some minutes; log: $log)"
start=$SECONDS
"${mk[@]}" "-j$(nproc)" vmlinux modules >>"$log" 2>&1 || {
	tail -n 30 "$log" >&2
	die "build failed, see $log"
}
[ "$("${mk[@]}" kernelrelease)" = "$rel" ] || die "the release is not $rel"
cp "$out/vmlinux" "$dir/vmlinux"
mkdir -p "$dir/lib/modules/$rel/kernel"
cp "$out/modules.builtin" "$out/modules.order" "$dir/lib/modules/$rel/"
# Objects are no longer needed, headers, scripts and symbol tables are.
find "$out" \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' \) \
	-not -path '*/scripts/*' -not -path '*/tools/*' -delete
echo "$key" >"$dir/.complete"
echo "$rel $key" >"$known"
say "Linux $rel ready after $((SECONDS - start)) s"
printf '%s\n' "$rel"
exit 0
}
