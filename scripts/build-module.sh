#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-module.sh SUITE|uml-fast|uml-debug|uml-6.1-fast|... OUT [MAKE ARGUMENT...]
# Build the module for the cached kernel of a Debian suite (fetch-kernel.sh), for
# one with checkers (smp-VERSION, build-smp.sh), or for a User Mode Linux
# kernel (build-uml.sh) and print the module's path.
# OUT "-" means build/<kernel release>[-uml].
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || die "usage: $0 SUITE|uml[-VERSION]-FLAVOUR OUT [make arguments]"
which=$1 out=$2
shift 2
args=()
case $which in
uml-*-*) which=${which#uml-}; kdir=$("$TOP/scripts/build-uml.sh" "${which%-*}" "${which##*-}") ;;
uml-*) kdir=$("$TOP/scripts/build-uml.sh" 6.12 "${which#uml-}") ;;
*) rel=$("$TOP/scripts/fetch-kernel.sh" "$which"); kdir=$(kernel_kdir "$rel") ;;
esac
case $kdir in
*/uml/*)
	args=(ARCH=um)
	rel=uml-$(cat "$kdir/release")
	[[ $kdir != *-debug-* ]] || args+=(DEBUG=1 KCOV=1)
	;;
esac
[ "$out" != - ] || out=$TOP/build/$rel
name=erofs
for a in "$@"; do
	case $a in FSNAME=*) name=${a#FSNAME=} ;; esac
done
mkdir -p "$out"
out=$(realpath "$out")
cd "$TOP"
# Two groups of tests may want the same module at the same time.
exec 9>"$out/.lock"
flock 9
KBUILD_ENV_DIRS=$out "$TOP/scripts/kbuild-env.sh" "$kdir" \
	make --no-print-directory module "KDIR=$kdir" "OUT=$out" "${args[@]}" "$@" >&2
printf '%s\n' "$out/$name.ko"
