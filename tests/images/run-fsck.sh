#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-fsck.sh [-a] [NAME-PATTERN...] - the second oracle, in user space: what
# fsck.erofs 1.9.4 --extract makes of each image is compared with the source tree
# (names, types, modes, owners, sizes, link targets, contents; xattrs and times
# where it restores them are left to the kernels).  An image on which both agree
# tells that an image and its expected digest are right even if no kernel but ours
# mounts it.
#
# What that program gets wrong is listed in fsck.tab with the reason; an entry that
# no longer fails is a failure too.  Results are kept in the cache, a line an image,
# and go to build/images/fsck-1.9.4.results.  Trees with files of 5 GiB are left out
# without -a: they are unpacked to disk.  What an earlier -a has said of them stays in
# the results as long as the image is the same.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"
mkimages=$here/mkimages.sh

# compare IMAGE EXPECTED DEVICES OFFSET: prints nothing if they agree
if [ "${1:-}" = --one ]; then
	read -r name img exp blobs off key <<<"$2"
	top=$T/$name
	args=()
	[ "$blobs" = - ] || for b in ${blobs//,/ }; do args+=("--device=$b"); done
	[ "$off" = 0 ] || args+=("--offset=$off")
	# names, types and what a file system without xattrs can hold
	# shellcheck disable=SC2016  # a program for awk
	fields='{ print $1, $2, $3, $4, $5, $6, $9, $11, $13 }'
	if ! timeout 300 "$FSCK" "${args[@]+"${args[@]}"}" --extract="$top" "$img" >"$top.log" 2>&1; then
		why="failed: $(grep -a '<E>' "$top.log" | head -n 1 | tr -d '\000' | cut -c1-120)"
	else
		"$DIGEST" -x -m seq "$top" | grep -v ' MISMATCH ' | awk "$fields" >"$top.got"
		why=$(awk "$fields" "$exp" | diff - "$top.got" | grep '^[<>]' | head -n 2 | cut -c1-100 | tr '\n' ';')
		why=${why:+differs: $why}
	fi
	rm -rf "$top"
	if [ -z "$why" ]; then echo "$name ok 0 2"; else echo "$name failed 0 2 $why"; fi >"$key"
	exit 0
fi

logs=$TOP/build/logs
mkdir -p "$logs" "$TOP/build/images"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "not ok fsck/$1 - $2"
	exit 1
}
all=
[ "${1:-}" != -a ] || { all=1; shift; }
images=$("$mkimages" -t 2 -o "$work/manifest" "$@" 2>"$logs/mkimages-fsck.log") ||
	fail images "the images cannot be made: $(tail -n 1 "$logs/mkimages-fsck.log")"
FSCK=$("$TOP/scripts/fetch-tools.sh" 1.9)/fsck.erofs
DIGEST=$("$mkimages" --tool digest)
T=$work/t
export FSCK DIGEST T
self=$({ sed -n '/^if .*--one/,/^fi/p' "$0"; cat "$(dirname "$FSCK")/.complete"; } | sha256sum | cut -c1-8)

: >"$work/todo"
: >"$work/todo-big"
: >"$work/keys"
: >"$work/results"
: >"$work/stale"
while read -r name img exp blobs off _ blocks; do
	todo=$work/todo
	# the expected digest may change with the recipe's "expect" field
	key=$images/${exp%.exp}.fsck-$self-$(sha256sum <"$images/$exp" | cut -c1-8)
	case $blocks in
	tree-huge-* | tree-giant-*)
		if [ -z "$all" ]; then
			cat "$key" >>"$work/results" 2>/dev/null || echo "$name" >>"$work/stale"
			continue
		fi
		todo=$work/todo-big
		;;
	esac
	if [ ! -e "$key" ]; then
		[ "$blobs" = - ] || blobs=$images/${blobs//,/,$images/}
		echo "$name $images/$img $images/$exp $blobs $off $key" >>"$todo"
	fi
	echo "$key" >>"$work/keys"
done <"$work/manifest"
[ -s "$work/keys" ] || fail images "none matches"
if [ -s "$work/todo" ]; then
	say "fsck.erofs reads $(wc -l <"$work/todo") images ..."
	export work
	# shellcheck disable=SC2016  # expanded in there
	unshare -m --propagation private bash -c '
		set -e
		mkdir -p "$T"
		mount -t tmpfs -o size=1g,mode=755 fsck "$T"
		nice xargs -d "\n" -n1 -P2 "$0" --one <"$work/todo"' "$(realpath "$0")" ||
		fail images "the extraction failed"
fi
if [ -s "$work/todo-big" ]; then
	say "fsck.erofs unpacks $(wc -l <"$work/todo-big") large images ..."
	T=$CACHE/fsck-$$
	mkdir -p "$T"
	trap 'rm -rf "$work" "$T"' EXIT
	nice xargs -d '\n' -n1 "$(realpath "$0")" --one <"$work/todo-big"
fi

rc=0
while read -r key; do
	cat "$key" >>"$work/results"
	read -r name res _ _ why <"$key"
	known=$(awk -F'|' -v n="$name" '!/^#/ && $1 == n { print $2 }' "$here/fsck.tab")
	if [ "$res" = ok ] && [ -z "$known" ]; then
		echo "ok fsck/$name"
	elif [ "$res" != ok ] && [ -n "$known" ]; then
		say "fsck.erofs and $name: $known"
	elif [ "$res" = ok ]; then
		echo "not ok fsck/$name - is right now; take it out of fsck.tab ($known)"
		rc=1
	else
		echo "not ok fsck/$name - $why"
		rc=1
	fi
done <"$work/keys"
# What the patterns left out keeps its last result; lines of images that are different
# now, or that have no recipe any more, go.
to=$TOP/build/images/fsck-1.9.4.results
touch "$to"
cut -d'|' -f1 "$here/recipes" >"$work/recipes"
awk 'FILENAME == ARGV[1] { recipe[$1]; next }
	FILENAME == ARGV[2] { stale[$1]; next }
	FILENAME == ARGV[3] { new[$1]; print; next }
	($1 in recipe) && !($1 in stale) && !($1 in new)' \
	"$work/recipes" "$work/stale" "$work/results" "$to" >"$work/merged"
cp "$work/merged" "$to"
exit $rc
