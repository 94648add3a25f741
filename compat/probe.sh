#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# probe.sh KDIR OUTFILE - find out which form of each kernel interface the
# kernel build tree KDIR has, and write it as #define HAVE_... lines.
#
# Reads compat/probes.tab, one probe a line.  The headers are searched as
# text: comments removed, one statement or directive a line, white space
# squeezed, so that a pattern need not care about line breaks.
set -eu
LC_ALL=C
export LC_ALL

die() { echo "probe.sh: $*" >&2; exit 1; }
[ $# = 2 ] || die "usage: probe.sh KDIR OUTFILE"
here=$(cd "$(dirname "$0")" && pwd)
table=${PROBE_TABLE:-$here/probes.tab}
kdir=$(cd "$1" 2>/dev/null && pwd) || die "no kernel build directory $1"
out=$2

# The source side of the build tree: the same directory, its "source" link
# (O= builds), or what its Makefile includes (distribution header packages).
ksrc=
for d in "$kdir" "$kdir/source"; do
	[ ! -e "$d/include/linux/fs.h" ] || { ksrc=$d; break; }
done
if [ -z "$ksrc" ] && [ -r "$kdir/Makefile" ]; then
	d=$(sed -n 's/^include[[:space:]]\{1,\}\(.*\)\/Makefile$/\1/p' "$kdir/Makefile" | head -n 1)
	[ ! -e "$d/include/linux/fs.h" ] || ksrc=$d
fi
[ -n "$ksrc" ] || die "$kdir has no kernel headers"
[ -r "$kdir/include/generated/autoconf.h" ] || die "$kdir is not configured"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

flatten() {
	awk '
	function flush() { gsub(/[ \t]+/, " ", buf); sub(/^ /, "", buf); if (buf != "" && buf != " ") print buf; buf = "" }
	{
		line = line $0
		if (line ~ /\\$/) { sub(/\\$/, " ", line); next }
		s = line; line = ""
		# comments
		res = ""
		while (s != "") {
			if (incomment) {
				e = index(s, "*/")
				if (!e) { s = ""; break }
				s = substr(s, e + 2); incomment = 0; res = res " "
			} else {
				b = index(s, "/*"); c = index(s, "//")
				if (c && (!b || c < b)) { res = res substr(s, 1, c - 1); s = "" }
				else if (b) { res = res substr(s, 1, b - 1); s = substr(s, b + 2); incomment = 1 }
				else { res = res s; s = "" }
			}
		}
		if (res ~ /^[ \t]*#/) { flush(); buf = res; flush(); next }
		while (match(res, /[;{}]/)) {
			buf = buf " " substr(res, 1, RSTART); flush()
			res = substr(res, RSTART + 1)
		}
		buf = buf " " res
	}
	END { flush() }' "$@"
}

# flat HEADER: path of the flattened text, made once
flat() {
	f=$tmp/$(printf %s "$1" | tr / _)
	if [ ! -e "$f" ]; then
		: >"$f"
		for d in "$ksrc/include" "$kdir/include" "$ksrc/include/uapi"; do
			if [ -e "$d/$1" ]; then
				flatten "$d/$1" >"$f"
				break
			fi
		done
	fi
	printf '%s' "$f"
}

has_symbol() {
	awk -F '\t' -v s="$1" '$2 == s { found = 1; exit } END { exit !found }' "$kdir/Module.symvers"
}

# probe KIND WHERE WHAT: true if the kernel has it
probe() {
	case $1 in
	decl)	# a statement of one of the headers matches the pattern
		for h in $(printf %s "$2" | tr , ' '); do
			! grep -Eq -e "$3" "$(flat "$h")" || return 0
		done
		return 1
		;;
	member)	# struct WHAT(tag:pattern) has a member that matches
		for h in $(printf %s "$2" | tr , ' '); do
			! TAG=${3%%:*} PAT=${3#*:} awk '
			BEGIN { tag = ENVIRON["TAG"]; pat = ENVIRON["PAT"] }
			$0 ~ "(^| )struct " tag "( [a-z_]+)* \\{$" { depth = 1; next }
			depth { if (/\{$/) depth++
				if (/^}/) depth--
				if (depth && $0 ~ pat) { found = 1; exit } }
			END { exit !found }' "$(flat "$h")" || return 0
		done
		return 1
		;;
	file)	# the header exists
		[ -e "$ksrc/include/$2" ] || [ -e "$kdir/include/$2" ]
		;;
	symbol)	# exported to modules
		[ -s "$kdir/Module.symvers" ] && has_symbol "$3"
		;;
	config)	# option built in or module
		grep -Eq "^#define CONFIG_$3(_MODULE)? " "$kdir/include/generated/autoconf.h"
		;;
	*)
		die "unknown kind of probe '$1'"
		;;
	esac
}

{
	echo "/* Written by compat/probe.sh; do not edit. */"
	echo "#ifndef EROFS_COMPAT_CONFIG_H"
	echo "#define EROFS_COMPAT_CONFIG_H"
	while read -r name kind where what; do
		case $name in '' | \#*) continue ;; esac
		if probe "$kind" "$where" "$what"; then
			echo "#define $name 1"
		else
			echo "/* $name: no */"
		fi
	done <"$table"
	echo "#endif"
} >"$tmp/config.h"

# Two control probes: a broken tree or tool must not look like "no" everywhere.
grep -q '^#define HAVE_SANE_HEADERS 1' "$tmp/config.h" ||
	die "the control probe failed: $kdir is not a usable kernel build tree"
! grep -q '^#define HAVE_NO_SUCH_INTERFACE' "$tmp/config.h" ||
	die "the negative control probe succeeded: the probes cannot be trusted"

if ! cmp -s "$tmp/config.h" "$out"; then
	cp "$tmp/config.h" "$out"
fi
