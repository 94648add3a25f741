#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-compat.sh [-n] [SUITE...] - make Documentation/compatibility.md: all images on
# Debian's kernels (default: all three), with our driver and with the kernels' own,
# and fsck.erofs.  -n: run only what has no results in build/images yet.
# About half an hour on two processors.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"
keep=
[ "${1:-}" != -n ] || { keep=1; shift; }
[ $# -gt 0 ] || set -- bookworm bookworm-backports trixie-backports
rc=0
for suite in "$@"; do
	rel=$("$TOP/scripts/fetch-kernel.sh" "$suite")
	for kind in ours stock; do
		if [ -n "$keep" ] && [ -s "$TOP/build/images/$kind-$rel.results" ]; then continue; fi
		args=(-w seq)
		[ $kind = ours ] || args+=(-s)
		"$here/run-images.sh" "${args[@]}" "$suite" || rc=1
	done
done
"$here/run-fsck.sh" -a || rc=1
"$here/mkcompat.sh" >"$TOP/Documentation/compatibility.md.new"
mv "$TOP/Documentation/compatibility.md.new" "$TOP/Documentation/compatibility.md"
say "Documentation/compatibility.md is made"
exit $rc
