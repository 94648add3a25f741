#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [-l] [-t TEST]... TARGET - let allocations, devices and readers fail
# under a mounted image (tests/faults/faults.c says what each TEST does).
# TARGET is uml-debug, where allocations can fail, a Debian suite, which has
# four processors and disks that can be pulled out, or a kernel with several
# processors and checkers (smp-6.12, smp-7.3).  -l: the long way, with
# every fault, every block and more images.  Prints results like a test group.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"

long='' tests=''
while getopts lt: o; do
	case $o in
	l) long=1 ;;
	t) tests="$tests $OPTARG" ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# = 1 ] || die "usage: $0 [-l] [-t TEST]... TARGET"
target=$1
need gcc python3
logs=$TOP/build/logs
work=$TOP/build/faults/$target
rm -rf "$work" && mkdir -p "$work/images" "$logs"

seeds=$("$TOP/tests/torture/run.sh" -S 2>"$logs/faults-seeds.log") || {
	echo "not ok $target/faults - no images, see build/logs/faults-seeds.log"
	exit 1
}
key=$(sha256sum <"$here/faults.c" | cut -c1-12)
prog=$CACHE/testtools/faults-$key
if [ ! -x "$prog" ]; then
	mkdir -p "$CACHE/testtools"
	gcc -O2 -static -Wall -Wextra -o "$prog.$$" "$here/faults.c" || die "faults.c does not compile"
	mv "$prog.$$" "$prog"
fi
ko=$("$TOP/scripts/build-module.sh" "$target" - 2>"$logs/module-$target.log") || {
	tail -n 20 "$logs/module-$target.log" >&2
	echo "not ok $target/build - the module does not build"
	exit 1
}

# ---- what to do ------------------------------------------------------------------

# images NAME...: as the guest sees them
images() {
	local i
	for i in "$@"; do
		cp "$seeds/$i".img "$work/images/"
		[ ! -e "$seeds/$i.dev" ] || cp "$seeds/$i.dev" "$work/images/"
		printf ' images/%s.img' "$i"
	done
}
more() { [ -z "$long" ] || printf '%s ' "$@"; }

# Images with damage or of a size that cost most: poke.py's edits of those of
# tests/images.
bounds_images() {
	local man=$work/manifest dir name base edits mkfs
	dir=$("$TOP/tests/images/mkimages.sh" -t 3 -o "$man" b-plain b-ext b-lz4 b-compact b-48bit b-48bit-16 b-chunk \
		b-allfrag b-lzma 2>"$logs/faults-images.log") || return 1
	while IFS='|' read -r name base edits; do
		[ -n "$name" ] || continue
		base=$dir/$(sed -n "s/^$base \([^ ]*\) .*/\1/p" "$man")
		if [ -n "$edits" ]; then
			# shellcheck disable=SC2086  # a list of words
			python3 "$TOP/tests/tools/poke.py" "$base" "$work/images/$name.img" $edits || return 1
		else
			cp "$base" "$work/images/$name.img"
		fi
		# devices and tables may be anywhere in it
		case $name in
		many-devices) python3 "$here/devices.py" "$work/images/$name.img" || return 1 ;;
		long-sum | long-*) truncate -s 1G "$work/images/$name.img" ;;
		esac
		printf ' images/%s.img' "$name"
	done <<-'E'
	many-devices|b-plain|
	dir-size-2-40|b-ext|ino(/)+8:u64=0x10000000000
	size-2-62|b-ext|ino(/page)+8:u64=0x4000000000000000
	long-index|b-lz4|ino(/text)+8:u64=0x1ffffffffff
	long-compact|b-compact|ino(/text)+8:u64=0x1ffffffffff
	long-sum|b-48bit|ino(/text)+8:u64=0x1ffffffffff
	long-extents|b-48bit-16|map(/text):u32=0xffffffff ino(/text)+8:u64=0x1ffffffffff
	long-chunks|b-chunk|ino(/text)+8:u32=0xffffffff
	large-fragment|b-allfrag|ino(/text)+8:u64=0x0008000000000000
	damaged-clusters|b-lzma|data(/text,0):fill=0,16384
	E
	# the largest clusters and extents
	mkfs=$("$TOP/scripts/fetch-tools.sh" 1.9)/mkfs.erofs
	mkdir "$work/tree"
	python3 - "$work/tree" <<-'E'
	import random, sys
	r = random.Random(1)
	line = bytes(r.choices(b"etaoin shrdlu", k=3000))
	open(sys.argv[1] + "/text", "wb").write((line * 8000)[:24 << 20])
	open(sys.argv[1] + "/page", "wb").write(bytes(24 << 20))
	open(sys.argv[1] + "/noise", "wb").write(bytes(r.choices(b"etaoin shrdlu", k=5 << 20)))
	E
	for name in lz4hc zstd lzma,level=1 deflate; do
		"$mkfs" --quiet -z$name -C1048576 "$work/images/largest-${name%,*}.img" "$work/tree" >/dev/null 2>&1 || return 1
		printf ' images/%s.img' "largest-${name%,*}"
	done
	rm -r "$work/tree"
}

plan=$work/plan
: >"$plan"
want() { [ -z "$tests" ] || [[ " $tests " == *" $1 "* ]]; }
# The right data come from an image without compression.
ref=$(images plain)
opt=${long:+-l}
modules='' avail='' smp=2 mem=512 limit=900
# What the kernel itself does wrong when it has no memory for a module's tracepoints;
# guest/leaks judges what kmemleak has found.
allow='WARNING: .* kernel/trace/trace_events.c|kmemleak: [0-9]+ new suspected'
case $target in
smp-*)
	smp=4 modules="dm_mod dm_flakey dm_delay"
	# shellcheck disable=SC2046  # lists of words
	{
		! want flakey || echo "$opt flakey $ref$(images lz4-dedupe-frag-ztail $(more four-algs))"
		! want slow || echo "$opt slow $ref$(images four-algs $(more metabox-lz4))"
		! want gone || echo "$opt gone $ref$(images zstd-full-dedupe)"
		! want race || echo "$opt -k erofs.ko race $ref$(images lz4-dedupe-frag-ztail four-algs $(more lzma))"
	} >>"$plan"
	;;
uml-*)
	# kinds of indexes, tails, fragments, hidden inodes, decoders, a second device
	all="lz4-dedupe-frag-ztail four-algs metabox-lz4 chunk-dev plain lz4 lz4hc-full lzma deflate zstd 48bit-zstd \
		48bit-frag zstd-b512 metabox-zstd-zD xattr-shared prefix-packed digest lz4-b1024-ztail chunk-map \
		zD-frag-lzma"
	# these, or all of them
	# shellcheck disable=SC2086  # a list of words
	pick() { if [ -n "$long" ]; then images $all; else images "$@"; fi; }
	{
		! want nth || echo "$opt -k erofs.ko nth $ref$(pick lz4-dedupe-frag-ztail four-algs digest)"
		! want chance || echo "$opt chance $ref$(pick lz4-dedupe-frag-ztail four-algs)"
		! want block || echo "$opt block $ref$(pick lz4-dedupe-frag-ztail four-algs metabox-lz4 chunk-dev)"
		! want flakey || echo "$opt flakey $ref$(pick lz4-dedupe-frag-ztail)"
		! want slow || echo "$opt slow $ref$(pick four-algs)"
		! want gone || echo "$opt gone $ref$(pick metabox-lz4)"
	} >>"$plan"
	;;
*)
	smp=4 modules="dm_mod dm_flakey dm_delay sd_mod" avail="scsi_debug null_blk"
	# shellcheck disable=SC2046,SC2086  # lists of words
	{
		! want flakey || echo "$opt flakey $ref$(images lz4-dedupe-frag-ztail $(more four-algs))"
		! want slow || echo "$opt slow $ref$(images four-algs $(more metabox-lz4 zstd-b512))"
		! want gone || echo "$opt gone $ref$(images zstd-full-dedupe)"
		! want pull || echo "$opt pull $ref$(images lz4-dedupe-frag-ztail)"
		! want race || echo "$opt -k erofs.ko race $ref$(images lz4-dedupe-frag-ztail $(more four-algs lzma))"
	} >>"$plan"
	;;
esac
# these are large and sparse, which only the UML guest can take as they are
if want bounds && [ "${target##*-}" = debug ]; then
	list=$(bounds_images) || { echo "not ok $target/bounds - the images can't be made"; exit 1; }
	echo "$opt bounds $ref$list" >>"$plan"
fi
[ -s "$plan" ] || die "$target has no such test"
[ -z "$long" ] || limit=14400

# ---- the guest --------------------------------------------------------------------

log=$logs/faults-$target.log
run=(--payload "$here/guest" --file "$ko=erofs.ko" --file "$prog=faults" --file "$plan" --file "$work/images"
	--file "$TOP/tests/vm/guest-lib.sh" --timeout "$limit" --mem "$mem" --log "$log"
	--allow "$allow")
case $target in
uml-*) run=("$TOP/scripts/run-uml.sh" --target "$target" "${run[@]}") ;;
*) run=("$TOP/scripts/run-qemu.sh" --suite "$target" --smp "$smp" --modules "$modules" --avail "$avail" "${run[@]}") ;;
esac
rc=0
"${run[@]}" 2>"$work/status" | stdbuf -oL sed "s#^ok #ok $target/#; s#^not ok #not ok $target/#" || rc=$?
tail -n 1 "$work/status" >&2
[ $rc = 0 ] || echo "not ok $target/faults - $(tail -n 1 "$work/status")"
exit $rc
