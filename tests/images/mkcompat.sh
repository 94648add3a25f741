#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mkcompat.sh - from the results of run-images.sh in build/images, with our
# driver (ours-RELEASE.results) and with the kernels' own ones
# (stock-RELEASE.results), print the tables of Documentation/compatibility.md.
# Nothing is filled in that was not run: a missing result shows as "?".
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
dir=$TOP/build/images
shopt -s nullglob
files=("$dir"/ours-*.results "$dir"/stock-*.results)
[ ${#files[@]} -gt 0 ] || die "no results in build/images; run tests/images/run-images.sh first"

cat <<'E2'
<!-- Made by tests/images/mkcompat.sh from test runs; do not edit. -->

# Which driver reads what

Every line is an image of tests/images/recipes that was mounted and compared
with its source tree, every byte and every attribute. "yes": equal; "no": the
mount was refused; "wrong": mounted, but objects could not be read or differ;
"?": not run.

E2
awk -F'|' -v files="${files[*]}" '
function column(f,  b) {
	b = f
	sub(/.*\//, "", b)
	sub(/\.results$/, "", b)
	sub(/^ours-/, "erofs-lts on ", b)
	sub(/^stock-/, "Linux ", b)
	# the version is enough
	sub(/\+deb.*|-[0-9]+-amd64$/, "", b)
	return b
}
BEGIN {
	n = split(files, list, " ")
	for (i = 1; i <= n; i++) {
		head[i] = column(list[i])
		while ((getline line < list[i]) > 0) {
			split(line, w, " ")
			r = w[2] == "ok" ? "yes" : line ~ / mount: / ? "no" : "wrong"
			res[i, w[1]] = r
			if (r == "yes") good[i]++
			all[i]++
		}
	}
	printf "| mkfs.erofs | arguments | tree |"
	for (i = 1; i <= n; i++) printf " %s |", head[i]
	printf "\n| --- | --- | --- |"
	for (i = 1; i <= n; i++) printf " --- |"
	printf "\n"
}
/^#/ || NF < 6 || $3 == 3 { next }
$5 ~ /^refused=/ { skipped[++k] = $0; next }
{
	printf "| %s | `%s` | %s |", $2, $6 == "" ? "(none)" : $6, $4
	for (i = 1; i <= n; i++) printf " %s |", ((i, $1) in res) ? res[i, $1] : "?"
	printf "\n"
}
END {
	printf "| **read** | | |"
	for (i = 1; i <= n; i++) printf " %d of %d |", good[i], all[i]
	printf "\n\n"
	if (k) {
		print "Arguments without an image, because mkfs.erofs itself fails:\n"
		for (i = 1; i <= k; i++) {
			split(skipped[i], f, "|")
			sub(/^refused=/, "", f[5])
			printf "- mkfs.erofs %s `%s`: %s\n", f[2], f[6], f[5]
		}
	}
}' "$TOP/tests/images/recipes"
