#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mkimages.sh [-t TIER] [-o MANIFEST] [NAME-PATTERN...] - make the images of
# tests/images/recipes and the digests that a reader must find in them.
# Both are kept in the cache, keyed by everything they are made from.
# mkimages.sh --tool NAME: path of the static program tests/tools/NAME.c.
#
# The manifest has one line an image, relative to the images directory of the
# cache (printed at the end), fields separated by blanks:
#
#   name image expected-digest extra-devices offset tier blocks
#
# extra-devices is "-" or a comma list of files in slot order; offset is the
# byte at which the file system starts in the image file; blocks is a table of
# block hashes of the source tree (tests/tools/stress.c) or "-".
#
# Recipes marked refused= are only counted; TRY_REFUSED=1 tries them.
#
# What an image changes on purpose (field "expect" of a recipe):
#   mt=SEC     all times are SEC
#   mt32       times are cut to 32 bits of seconds, unless the owner asks for an
#              extended inode (mkfs.erofs 1.9.4 with 48BIT)
#   nlink16    link counts are cut to 16 bits (mkfs.erofs 1.9.4 with 48BIT)
#   root=MODE@SEC  mode and time of the root directory
#   owner=U:G  all owners; +U:+G adds to them
#   noxattr    xattrs are left out
#   whiteout   a directory with whiteouts gets an empty trusted.overlay.origin
#   splitlinks hard links become separate inodes
#
# Needs root: the trees are made on a tmpfs in a mount namespace of its own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"

FORMAT=1	# counts changes of this script that change images
dir=$CACHE/images
DIGEST=

# Static programs of tests/tools, keyed by their sources.
tool() {
	local src=$TOP/tests/tools/$1.c key out
	key=$(cat "$src" "$TOP"/tests/tools/*.h | sha256sum | cut -c1-12)
	out=$CACHE/testtools/$1-$key
	if [ ! -x "$out" ]; then
		need gcc
		mkdir -p "$CACHE/testtools"
		gcc -O2 -static -Wall -Wextra -pthread -o "$out.$$" "$src"
		mv "$out.$$" "$out"
	fi
	printf '%s\n' "$out"
}

if [ "${1:-}" = --tool ]; then
	tool "$2"
	exit
fi

# stdin: digest of the source, stdout: digest that the image must give.
# $1 = "expect" field
adjust() {
	awk -v ex="$1" '
	BEGIN {
		n = split(ex, e, ",")
		for (i = 1; i <= n; i++) {
			split(e[i], kv, "=")
			if (kv[1] == "owner") split(kv[2], own, ":")
			opt[kv[1]] = kv[2] == "" ? 1 : kv[2]
		}
	}
	function wrap(t,  p) {
		split(t, p, ".")
		# seconds modulo 2^32, always positive
		p[1] = p[1] % 4294967296
		if (p[1] < 0) p[1] += 4294967296
		return sprintf("%.0f.000000000", p[1])
	}
	function id(old, new) { return new ~ /^\+/ ? sprintf("%.0f", old + substr(new, 2)) : new }
	$10 != "-" && $1 == $10 { first[$1] = $13; firstx[$1] = $12 }
	{
		if ("splitlinks" in opt && $10 != "-") {
			if ($2 == "f") $13 = first[$10]
			$12 = firstx[$10]
			$8 = 1
			$10 = "-"
		}
		if ("mt" in opt) $7 = opt["mt"] ".000000000"
		if ("mt32" in opt && $4 < 65536 && $5 < 65536) $7 = wrap($7)
		if ("owner" in opt) { $4 = id($4, own[1]); $5 = id($5, own[2]) }
		if ("noxattr" in opt && $12 != "=") $12 = "-"
		if ("nlink16" in opt) $8 %= 65536
		if ("root" in opt && $1 == ".") {
			split(opt["root"], m, "@")
			$3 = m[1]
			$7 = m[2] ".000000000"
		}
		if ("whiteout" in opt) {
			# 0:hash is that of an empty value
			if ($2 == "c" && $9 == "0:0") {
				parent = $1
				if (!sub("/[^/]*$", "", parent)) parent = "."
				marked[parent] = 1
			}
			line[NR] = $0
			next
		}
		print
	}
	END {
		for (i = 1; i <= NR && "whiteout" in opt; i++) {
			$0 = line[i]
			if ($1 in marked) {
				x = "trusted.overlay.origin=0:c6c8932e7e963f47"
				$12 = $12 == "-" ? x : $12 "," x
			}
			print
		}
	}'
}

# one NAME...: build single images; called by xargs with the trees in place.
if [ "${1:-}" = --one ]; then
	shift
	# shellcheck disable=SC2153  # exported by the parent
	IFS='|' read -r name _ _ tree _ args <<<"$(grep "^$1|" "$RECIPES")"
	key=$2 mkfs=$3
	img=$dir/$name-$key.img
	src=$TREES/${tree%>*} blobs=- prepend='' flat='' disk=''
	argv=()
	for a in $args; do
		case $a in
		*%BLOB*) a=${a//%BLOB/$img.blob1}; blobs=$img.blob1; : >"$blobs" ;;
		*%HINTS*) a=${a//%HINTS/$TREES/hints} ;;
		%TAR)
			tar -C "$src" --format=pax --xattrs --xattrs-include='*' --numeric-owner --sort=name \
				--pax-option=delete=atime,delete=ctime -cf "$img.tar" .
			src=$img.tar
			continue
			;;
		%DISK)
			# mkfs.erofs maps sources of fragments, and a mapped hole takes memory on tmpfs
			disk=$img.src
			rm -rf "$disk"
			cp -a --sparse=always "$src" "$disk"
			src=$disk
			# the packed file, before it is compressed; /tmp may be in memory
			export TMPDIR=$dir
			continue
			;;
		%FLAT)
			flat=1
			continue
			;;
		%PREPEND:*)
			prepend=${a#*:}
			continue
			;;
		%IMG:*)
			src=
			other=$(sed -n "s/^${a#%IMG:} \([^ ]*\) .*/\1/p" "$MANIFEST")
			cp "$dir/$other" "$TREES/$name-$other"
			argv2+=("$TREES/$name-$other")
			continue
			;;
		esac
		argv+=("$a")
	done
	rm -f "$img" "$img.tmp"
	start=$(date +%s%N)
	rc=0
	"$mkfs" "${argv[@]+"${argv[@]}"}" "$img.tmp" ${src:+"$src"} "${argv2[@]+"${argv2[@]}"}" \
		>"$img.log" 2>&1 </dev/null || rc=$?
	end=$(date +%s%N)
	[ -z "$disk" ] || rm -rf "$disk"
	if [ $rc != 0 ]; then
		rm -f "$img.tmp" "$img.tar"
		echo "$rc $(grep -aiE 'error|invalid|unsupp|not ' "$img.log" | head -n 1 | cut -c1-160)" >"$img.refused"
		exit 0
	fi
	case $args in
	*--tar=i*) mv "$img.tar" "$img.blob1" ;;
	*%IMG:*) i=0; for a in "${argv2[@]}"; do i=$((i + 1)); cp "$a" "$img.blob$i"; done; rm -f "${argv2[@]}" ;;
	*) rm -f "$img.tar" ;;
	esac
	if [ -n "$prepend" ]; then
		{ head -c "$prepend" "$TREES/hints"; head -c "$prepend" /dev/zero; } |
			head -c "$prepend" | cat - "$img.tmp" >"$img"
		rm "$img.tmp"
	else
		mv "$img.tmp" "$img"
	fi
	if [ -n "$flat" ]; then
		# each device starts at the block after the one before
		for b in "$img".blob*; do
			truncate -s %4096 "$img"
			cat "$b" >>"$img"
			rm "$b"
		done
	fi
	printf '%s %d ms, %d bytes\n' "$name" $(((end - start) / 1000000)) "$(stat -c %s "$img")" >>"$dir/build.log"
	exit 0
fi

tier=2 manifest=
while getopts t:o: o; do
	case $o in
	t) tier=$OPTARG ;;
	o) manifest=$OPTARG ;;
	*) die "usage: $0 [-t TIER] [-o MANIFEST] [NAME-PATTERN...]" ;;
	esac
done
shift $((OPTIND - 1))
[ "$(id -u)" = 0 ] || die "root is needed: the trees hold device nodes, owners and trusted xattrs"
need python3 gcc awk sha256sum unshare tar

mkdir -p "$dir"
lock images
DIGEST=$(tool digest)
STRESS=$(tool stress)
# Key of each tree: only what it is made by.
declare -A tkey
# shellcheck disable=SC2046  # a list of words
while read -r t k; do tkey[$t]=$k; done < <("$here/mktree.py" --key $("$here/mktree.py" --list))
[ ${#tkey[@]} -gt 0 ] || die "mktree.py lists no trees"
# Key of a sum or pair of trees, as recipes name them.
treekey() {
	local t k=''
	for t in ${1//[+>]/ }; do k+=${tkey[$t]:?no tree $t}; done
	printf '%s' "$k"
}
digkey=$(sha256sum <"$DIGEST" | cut -c1-8)
export RECIPES=$here/recipes
declare -A mkfs_of ver_of
for v in 1.5 1.8 1.9; do
	d=$("$TOP/scripts/fetch-tools.sh" "$v")
	mkfs_of[$v]=$d/mkfs.erofs
	ver_of[$v]=$(cat "$d/.complete")
done
mkfs_of[hand]=$here/mkhand.py ver_of[hand]=$(cat "$here/mkhand.py" "$here/../tools/crc32c.py" | sha256sum)

wanted() {
	[ "$2" -le "$tier" ] || return 1
	[ ${#pats[@]} -gt 0 ] || return 0
	local p
	for p in "${pats[@]}"; do
		# shellcheck disable=SC2053  # a pattern on purpose
		[[ $1 != $p ]] || return 0
	done
	return 1
}
pats=("$@")

# Pass 1: what is there, what is missing.  An image made of others comes last.
names=() jobs=() late=() trees=() refused=()
declare -A key_of expect_of tree_of args_of tier_of need_of
while IFS='|' read -r name v t tree expect args; do
	case $name in '' | '#'*) continue ;; esac
	key_of[$name]=$(echo "$FORMAT|${ver_of[$v]}|$args|$tree|$(treekey "$tree")" | sha256sum | cut -c1-12)
	expect_of[$name]=$expect tree_of[$name]=$tree args_of[$name]=$args
	tier_of[$name]=$t need_of[$name]=$v
	wanted "$name" "$t" || continue
	case $expect in
	refused=*) [ -n "${TRY_REFUSED:-}" ] || { refused+=("$name: ${expect#refused=}"); continue; } ;;
	esac
	names+=("$name")
	for a in $args; do
		case $a in %IMG:*) names+=("${a#%IMG:}") ;; esac
	done
done <"$RECIPES"
mapfile -t names < <(printf '%s\n' "${names[@]}" | awk '!s[$0]++')
[ ${#names[@]} -gt 0 ] || die "no recipe matches"
for name in "${names[@]}"; do
	img=$dir/$name-${key_of[$name]}.img
	if [ ! -e "$img" ] && [ ! -e "$img.refused" ]; then
		case ${args_of[$name]} in *%IMG:*) late+=("$name") ;; *) jobs+=("$name") ;; esac
	fi
	for t in ${tree_of[$name]//[+>]/ }; do
		[ -e "$dir/tree-$t-${tkey[$t]}-$digkey.digest" ] && [ -e "$dir/tree-$t-${tkey[$t]}.blocks" ] ||
			trees+=("$t")
	done
done
for name in "${jobs[@]+"${jobs[@]}"}"; do trees+=("${tree_of[$name]%>*}"); done
mapfile -t trees < <(printf '%s\n' "${trees[@]+"${trees[@]}"}" | awk 'NF && !s[$0]++')

# Pass 2, in a mount namespace: trees, their digests, images.
TMPM=$(mktemp)
trap 'rm -f "$TMPM"' EXIT
export MANIFEST=$TMPM
all_lines() {
	local name img blobs off blocks t
	for name in "${names[@]}"; do
		img=$name-${key_of[$name]}.img
		[ -e "$dir/$img" ] || continue
		# shellcheck disable=SC2012  # names without blanks
		blobs=$(cd "$dir" && ls "$img".blob* 2>/dev/null | sort -V | paste -sd,) || true
		off=$(sed -n 's/.*%PREPEND:\([0-9]*\).*/\1/p' <<<"${args_of[$name]}")
		t=${tree_of[$name]#*>}
		blocks=tree-$t-${tkey[$t]:-none}.blocks
		[ -e "$dir/$blocks" ] || blocks=-
		echo "$name $img ${img%.img}-$digkey.exp ${blobs:--} ${off:-0} ${tier_of[$name]} $blocks"
	done
}
build() {
	local t name
	mount -t tmpfs -o size=2g,mode=755 trees "$TREES"
	for t in "${trees[@]+"${trees[@]}"}"; do
		mkdir "$TREES/$t"
		python3 "$here/mktree.py" "$t" "$TREES/$t"
		"$DIGEST" "$TREES/$t" >"$TREES/digest" ||
			die "the tree $t itself gives errors or mismatches"
		mv "$TREES/digest" "$dir/tree-$t-${tkey[$t]}-$digkey.digest"
		"$STRESS" -w "$dir/tree-$t-${tkey[$t]}.blocks" "$TREES/$t"
	done
	# text, noise and the rest to different algorithms and cluster sizes
	cat >"$TREES/hints" <<-'H'
	4096 0 ^sizes/
	16384 1 ^data/text
	32768 1 \.*noise
	65536 0 .*
	H
	for name in "${jobs[@]+"${jobs[@]}"}"; do
		echo "$name ${key_of[$name]} ${mkfs_of[${need_of[$name]}]}"
	done | nice xargs -r -L1 -P2 "$here/mkimages.sh" --one
	all_lines >"$MANIFEST"
	for name in "${late[@]+"${late[@]}"}"; do
		"$here/mkimages.sh" --one "$name" "${key_of[$name]}" "${mkfs_of[${need_of[$name]}]}"
	done
}
if [ ${#jobs[@]} -gt 0 ] || [ ${#late[@]} -gt 0 ] || [ ${#trees[@]} -gt 0 ]; then
	say "making ${#trees[@]} trees and $((${#jobs[@]} + ${#late[@]})) images ..."
	export TREES=$CACHE/trees
	mkdir -p "$TREES"
	start=$SECONDS
	# A subshell with a mount namespace of its own: nothing to unmount later.
	declare -p names jobs late trees key_of tree_of args_of tier_of need_of mkfs_of \
		here dir DIGEST STRESS tkey digkey >"$TMPM.env"
	declare -f build all_lines say die >>"$TMPM.env"
	rc=0
	unshare -m --propagation private bash -c "set -euo pipefail; . '$TMPM.env'; build" || rc=$?
	rm -f "$TMPM.env"
	[ $rc = 0 ] || die "making images failed"
	say "made in $((SECONDS - start)) s"
fi

# Pass 3: expected digests, refusals, manifest.
bad=0
for name in "${names[@]}"; do
	img=$dir/$name-${key_of[$name]}.img
	exp=${img%.img}-$digkey.exp
	if [ -e "$img.refused" ]; then
		case ${expect_of[$name]} in
		refused=*) say "$name: refused as known" ;;
		*) say "$name: mkfs.erofs ${need_of[$name]} failed: $(cat "$img.refused")"; bad=1 ;;
		esac
		continue
	fi
	if [ ! -e "$exp" ] || [ "$RECIPES" -nt "$exp" ] || [ "$0" -nt "$exp" ]; then
		t=${tree_of[$name]#*>}
		for t in ${t//+/ }; do
			cat "$dir/tree-$t-${tkey[$t]}-$digkey.digest"
		done | if [[ ${tree_of[$name]} == *+* ]]; then LC_ALL=C sort -k1,1 -u; else cat; fi |
			adjust "${expect_of[$name]}" >"$exp.tmp"
		mv "$exp.tmp" "$exp"
	fi
done
all_lines >"$TMPM"
[ -z "$manifest" ] || cp "$TMPM" "$manifest"
for r in "${refused[@]+"${refused[@]}"}"; do say "no image of $r"; done
say "$(wc -l <"$TMPM") images, $(cd "$dir" && cut -d' ' -f2 "$TMPM" | xargs -r du -ch | tail -n 1 | cut -f1)"

# Images of recipes that are gone, after a week.
{
	for n in "${!key_of[@]}"; do echo "$n-${key_of[$n]}"; done
	for t in "${!tkey[@]}"; do echo "tree-$t-${tkey[$t]}"; done
} >"$TMPM"
find "$dir" -maxdepth 1 -type f -mtime +7 -name '*-*.*' | while read -r f; do
	b=${f##*/}
	b=${b%%.*}
	grep -qxF -- "${b%-????????}" "$TMPM" || grep -qxF -- "$b" "$TMPM" || rm -f "$f"
done
printf '%s\n' "$dir"
[ $bad = 0 ]
