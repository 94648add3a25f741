# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# unit-lib.sh - how user-space programs are made from the pure core.  The first
# lines of a test say what it needs:
#
#	/* links: zmap.c decompressor_lz4.c; libs: -llz4 */

# links_of FILE: the sources it names; libs_of FILE: its libraries
links_of() { sed -n '1,5s#.*links:\([^;*]*\).*#\1#p' "$1"; }
libs_of() { sed -n '1,5s#.*libs:\([^;*]*\).*#\1#p' "$1"; }

# compile CC OUT FILE [FLAGS...]: program OUT from FILE and what it links
compile() {
	local cc=$1 out=$2 file=$3
	shift 3
	if ! grep -q 'links:' <(head -n 5 "$file"); then
		echo "$file: no 'links:' line in the first five lines" >&2
		return 1
	fi
	# shellcheck disable=SC2046  # lists of words on purpose
	"$cc" -std=gnu11 -g -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Werror -I"$TOP" \
		"$@" -o "$out" "$file" $(cd "$TOP" && links_of "$file" | xargs -r -n 1 printf "$TOP/%s\n") \
		$(libs_of "$file")
}
