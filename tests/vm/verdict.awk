# SPDX-License-Identifier: GPL-2.0
#
# verdict.awk - compare the digest of a damaged image with the original's.
# -v aff="PATH..." (or "*", "-")  -v allowed="+stat=117,same,..."
# First file: expected, second: seen.  Prints "outcomes; complaint"; status 1
# if there is a complaint.  tests/images/bad.tab says what the words mean.
function is_affected(p,  i) {
	if (aff == "*") return 1
	for (i = 1; i <= naff; i++)
		if (p == affs[i] || index(p, affs[i] "/") == 1) return 1
	return 0
}
function outcome(what, p) {
	if (!(what in seen)) { seen[what] = p; order[++norder] = what }
}
function sibling(p, what) {
	if (complaint == "") complaint = p " is not as in the original: " what
}
function errnos(field, call, p,  rest, n) {
	rest = field
	n = 0
	while (match(rest, /![0-9]+/)) {
		outcome(call "=" substr(rest, RSTART + 1, RLENGTH - 1), p)
		rest = substr(rest, RSTART + RLENGTH)
		n++
	}
	return n
}
BEGIN {
	naff = split(aff, affs, " ")
	nallowed = split(allowed, list, ",")
	for (i = 1; i <= nallowed; i++) {
		w = list[i]
		if (sub(/^\+/, "", w)) { must = 1; wanted[w] = 1 }
		may[w] = 1
	}
}
FNR == NR { exp_line[$1] = $0; next }
$2 ~ /^!/ {
	call = substr($2, 2)
	if (call == "opendir") call = "readdir"
	if (call == "pread" || call == "mmap") call = "read"
	if (is_affected($1)) outcome(call "=" $3, $1)
	else sibling($1, call "=" $3)
	reported[$1] = 1
	next
}
$2 == "MISMATCH" {
	if (is_affected($1)) outcome("mismatch", $1)
	else sibling($1, $0)
	next
}
{
	got[$1] = 1
	if ($0 == exp_line[$1]) {
		if (is_affected($1)) outcome("same", $1)
		next
	}
	if (!is_affected($1)) { sibling($1, $0); next }
	if (errnos($13, "read", $1) + errnos($12, "xattr", $1) + errnos($11, "link", $1) == 0)
		outcome("changed", $1)
}
END {
	for (p in exp_line)
		if (!(p in got) && !(p in reported)) {
			if (is_affected(p)) outcome("gone", p)
			else sibling(p, "gone")
		}
	met = !must
	for (i = 1; i <= norder; i++) {
		printf "%s%s", (i > 1 ? " " : ""), order[i]
		if (order[i] in wanted) met = 1
		if (!(order[i] in may) && complaint == "" && aff != "-")
			complaint = seen[order[i]] ": " order[i] " is none of " allowed
	}
	if (!met && complaint == "") complaint = "none of " allowed
	printf ";%s\n", complaint
	exit complaint != ""
}
