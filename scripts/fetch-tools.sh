#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# fetch-tools.sh [SUITE...] - unpack erofs-utils of Debian suites (bookworm,
# trixie, sid; default all) into the cache with the libraries and loader they
# were built for, so that each version runs on this host uninstalled.  Prints
# one directory a suite; it holds mkfs.erofs, fsck.erofs and dump.erofs.  The
# same directory is also reachable by version, like .../tools/1.5/.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ $# -gt 0 ] || set -- bookworm trixie sid

# The first line of .complete is the form of the wrappers.
form=2
ready() {
	[ "$(head -n 1 "$CACHE/tools/$1/.complete" 2>/dev/null)" = $form ] && [ -z "${REFRESH:-}" ]
}

fetch() {
	local suite=$1 dir=$CACHE/tools/$1 root p ver
	lock "tools-$suite"
	! ready "$suite" || return 0
	apt_setup "$suite"
	rm -rf "$dir.tmp"
	root=$dir.tmp/root
	mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64"
	for p in bin sbin lib lib64; do ln -s "usr/$p" "$root/$p"; done
	say "unpacking erofs-utils of $suite ..."
	unpack_closure "$root" erofs-utils
	rm -rf "${root:?}/usr/share" "${root:?}/etc" "${root:?}/var"
	for p in mkfs.erofs fsck.erofs dump.erofs; do
		[ -x "$root/usr/bin/$p" ] || die "erofs-utils of $suite has no $p"
		cat >"$dir.tmp/$p" <<-'E'
		#!/bin/sh
		# Runs the program with the loader and libraries it was built for.
		d=$(dirname "$(readlink -f "$0")")/root
		# Not lib64/ld-linux*: that may be a link to the host's own loader.
		for l in "$d"/usr/lib/*-linux-gnu/ld-linux-*.so.*; do
			[ ! -e "$l" ] || break
		done
		for a in "$d"/usr/lib/*-linux-gnu; do
			p=${p:+$p:}$a
		done
		E
		printf "exec \"\$l\" --library-path \"\$p\" \"\$d/usr/bin/%s\" \"\$@\"\n" "$p" >>"$dir.tmp/$p"
		chmod +x "$dir.tmp/$p"
	done
	"$dir.tmp/mkfs.erofs" --help >/dev/null 2>&1 || die "mkfs.erofs of $suite does not run here"
	ver=$(apt-cache "${APT_OPTS[@]}" --no-all-versions show erofs-utils |
		sed -n 's/^Version: \([0-9.]*\).*/\1/p')
	printf '%s\n' $form "$ver" >"$dir.tmp/.complete"
	rm -rf "$dir"
	mv "$dir.tmp" "$dir"
	ln -sfn "$suite" "$CACHE/tools/$ver"
}

for s in "$@"; do
	case $s in
	bookworm | trixie | sid) ;;
	1.5) s=bookworm ;;
	1.8*) s=trixie ;;
	1.9*) s=sid ;;
	*) die "usage: $0 [bookworm|trixie|sid]..." ;;
	esac
	if ! ready "$s"; then
		mkdir -p "$CACHE/tools"
		fetch "$s"
	fi
	printf '%s\n' "$CACHE/tools/$s"
done
