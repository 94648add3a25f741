#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mkcompat.sh - from the results of run-images.sh in build/images, with our driver
# (ours-RELEASE.results) and with the kernels' own ones (stock-RELEASE.results),
# and of run-fsck.sh, print Documentation/compatibility.md.  Nothing is filled in
# that was not run: a missing result shows as "?", and is listed below the table.
# run-compat.sh makes them all.
#
# mkcompat.sh --check: the committed table has a line for every image, and says
# "yes" where the last run of our driver in build/images did (and the reverse).
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
dir=$TOP/build/images
doc=$TOP/Documentation/compatibility.md
recipes=$TOP/tests/images/recipes
shopt -s nullglob

if [ "${1:-}" = --check ]; then
	bad=$(awk -F'|' '
	function word(s) { gsub(/^ +| +$/, "", s); return s }
	FILENAME == ARGV[1] {
		if ($1 !~ /^#/ && NF >= 6 && $3 < 3 && $5 !~ /^refused=/) recipe[$1]
		next
	}
	FILENAME == ARGV[2] {
		if (word($2) == "image") for (i = 4; i < NF; i++) head[i] = word($i)
		name = word($2)
		if (name in recipe) { row[name]; for (i = 4; i < NF; i++) cell[name, head[i]] = word($i) }
		next
	}
	{
		split($0, w, " ")
		k = FILENAME
		sub(/.*\/ours-/, "", k)
		sub(/(\+deb.*|-[0-9]+-amd64)?\.results$/, "", k)
		# point releases come and go: what counts is the column
		split(k, v, ".")
		for (h in head) if (index(head[h], "erofs-lts " v[1] "." v[2] ".") == 1) k = head[h]
		if ((w[1] in recipe) && (cell[w[1], k] == "yes") != (w[2] == "ok"))
			print w[1] " is \"" cell[w[1], k] "\" in the table, " w[2] " in this run (" k ")"
	}
	END { for (n in recipe) if (!(n in row)) print n " is missing" }
	' "$recipes" "$doc" "$dir"/ours-[67].*-amd64.results | sort)
	if [ -n "$bad" ]; then
		echo "not ok compatibility-table - $(head -n 1 <<<"$bad"); $(wc -l <<<"$bad") in all; run tests/images/run-compat.sh"
		exit 1
	fi
	echo "ok compatibility-table"
	exit 0
fi

files=("$dir"/ours-[67].*-amd64.results "$dir"/stock-[67].*-amd64.results "$dir"/fsck-*.results)
[ ${#files[@]} -gt 0 ] || die "no results in build/images; run tests/images/run-images.sh first"

cat <<'E2'
<!-- Made by tests/images/run-compat.sh from test runs; do not edit. -->

# Which driver reads what

Every line is an image of `tests/images/recipes` that was mounted and compared
with its source tree, every byte and every attribute.

| word | meaning |
| --- | --- |
| yes | equal to the source |
| no | the mount was refused |
| wrong | mounted (or unpacked), but objects could not be read or differ |
| oops | the kernel reported an error in itself, or ended |
| slow | not read within ten minutes (an emulated machine) |
| ? | not run |

The columns are this driver on Debian's three kernels, the drivers that those
kernels bring along, and what `fsck.erofs --extract` unpacks (contents and
attributes without xattrs). The reasons for what the last one gets wrong are in
`tests/images/fsck.tab`. To make this file again: `tests/images/run-compat.sh`.

E2
awk -F'|' -v files="${files[*]}" -v recipes="$recipes" '
function column(f,  b) {
	b = f
	sub(/.*\//, "", b)
	sub(/\.results$/, "", b)
	sub(/^ours-/, "erofs-lts ", b)
	sub(/^stock-/, "Linux ", b)
	sub(/^fsck-/, "fsck.erofs ", b)
	# the version is enough
	sub(/\+deb.*|-[0-9]+-amd64$/, "", b)
	return b
}
# versions as numbers, and ours before the others
function rank(f,  b, v) {
	b = column(f)
	split(b, v, /[ .]/)
	if (b ~ /^fsck/) return 1e9
	match(b, /[0-9].*/)
	split(substr(b, RSTART), v, ".")
	return (b ~ /^Linux/) * 1e8 + v[1] * 1e6 + v[2] * 1e3
}
BEGIN {
	n = split(files, list, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && rank(list[j]) < rank(list[j - 1]); j--) {
			t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
		}
	while ((getline line < recipes) > 0) {
		split(line, f, "|")
		if (line !~ /^#/ && f[3] < 3) known[f[1]]
	}
	for (i = 1; i <= n; i++) {
		head[i] = column(list[i])
		while ((getline line < list[i]) > 0) {
			split(line, w, " ")
			if (!(w[1] in known)) continue
			r = w[2] == "ok" ? "yes" : w[2] == "oops" ? "oops" : line ~ / mount: / ? "no" : \
				line ~ /digest ended with status (124|143)/ ? "slow" : "wrong"
			res[i, w[1]] = r
			if (r == "yes") good[i]++
			all[i]++
			if (r == "oops") {
				sub(/^([^ ]+ ){4}/, "", line)
				oops[++no] = head[i] ", " w[1] ": `" line "`"
			}
		}
	}
	printf "| image | made by |"
	for (i = 1; i <= n; i++) printf " %s |", head[i]
	printf "\n| --- | --- |"
	for (i = 1; i <= n; i++) printf " --- |"
	printf "\n"
}
/^#/ || NF < 6 || $3 == 3 { next }
$5 ~ /^refused=/ { skipped[++k] = $0; next }
{
	printf "| %s | %s `%s` |", $1, $2 == "hand" ? "mkhand.py" : $2, $6 == "" ? "-" : $6
	for (i = 1; i <= n; i++) {
		printf " %s |", ((i, $1) in res) ? res[i, $1] : "?"
		if (!((i, $1) in res)) missing[++nm] = $1 ", " head[i]
	}
	printf "\n"
}
END {
	printf "| **read** | |"
	for (i = 1; i <= n; i++) printf " %d of %d |", good[i], all[i]
	printf "\n"
	if (no) {
		print "\nWhat kernels said about themselves:\n"
		for (i = 1; i <= no; i++) print "- " oops[i]
	}
	if (nm) {
		print "\nNot run (?):\n"
		for (i = 1; i <= nm; i++) print "- " missing[i]
	}
	if (k) {
		print "\nArguments without an image, because mkfs.erofs itself fails:\n"
		for (i = 1; i <= k; i++) {
			split(skipped[i], f, "|")
			sub(/^refused=/, "", f[5])
			printf "- mkfs.erofs %s `%s`: %s\n", f[2], f[6], f[5]
		}
	}
}' "$recipes"
