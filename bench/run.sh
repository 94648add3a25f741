#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh - measure this driver beside the kernel's own erofs, squashfs and ext4
# on the same data in one boot.  bench/README.md explains method and figures.
set -euo pipefail
. "$(dirname "$0")/../scripts/lib.sh"
BENCH=$TOP/bench

usage() {
	cat >&2 <<-'E'
	bench/run.sh [options] [SECTION...]
	Sections (default: dict tree):
	  quick     100 MB file, 4K and 64K clusters: sequential, random, cache growth
	  dict      the same on all images of the file, with squashfs and ext4
	  tree      a tree of 9,400 files: ls -lR, lstat, reading all files, tar
	  sizes     clusters and blocks of 4K to 1M
	  extra     mount time, small memory, readahead off, loop device, ext4 inside,
	            container image with overlayfs
	  smp       wall clock: one and four readers on four processors
	  uml       wall clock in User Mode Linux (builds one first)
	Options:
	  -s SUITE  kernel of bookworm (default), bookworm-backports, trixie-backports
	  -p        profile: guest instructions by function, for each test of quick
	  -l "RE"   only labels (corpus/image/driver) that match
	  -n        without this driver: the peers only
	  -o DIR    work directory (build/bench)
	  -r FILE   report (bench/results/<date>-<kernel>.md for dict and tree, else
	            a file in the work directory)
	E
	exit 2
}

suite=bookworm profile= only= ours=1 work=$TOP/build/bench report=
while getopts s:pl:no:r:h o; do
	case $o in
	s) suite=$OPTARG ;;
	p) profile=1 ;;
	l) only=$OPTARG ;;
	n) ours= ;;
	o) work=$OPTARG ;;
	r) report=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- dict tree

need gcc qemu-system-x86_64 python3
rel=$("$TOP/scripts/fetch-kernel.sh" "$suite")
mkdir -p "$work"
work=$(realpath "$work")
pay=$work/payload
rm -rf "$pay"
mkdir -p "$pay"
cp "$BENCH/guest/run" "$pay/run"
gcc -O2 -Wall -static -fno-pie -no-pie -Wl,--section-start=.mark_begin=0x1f000000 \
	-Wl,--section-start=.mark_end=0x1f001000 "$BENCH/meter.c" -o "$pay/meter"
if [ -n "$profile" ]; then
	gcc -O2 -Wall -shared -fPIC "$BENCH/plugin/profile.c" -o "$work/profile.so"
fi
if [ -n "$ours" ]; then
	cp "$("$TOP/scripts/build-module.sh" "$suite" "$work/module-$rel" FSNAME=xerofs QUIET=1)" "$pay/"
fi

# add LABEL TYPE IMAGE TESTS [OPTIONS]: one line of the guest's plan
plan=() images=()
add() {
	local i
	[ "$2" != xerofs ] || [ -n "$ours" ] || return 0
	[[ -z $only || $1 =~ $only ]] || return 0
	for i in "${!images[@]}"; do [ "${images[i]}" != "$3" ] || break; done
	if [ "${#images[@]}" = 0 ] || [ "${images[i]}" != "$3" ]; then
		i=${#images[@]}
		images+=("$3")
	fi
	plan+=("$1 $2 $i ${5:--} $4")
}
# both LABEL IMAGE TESTS [OPTIONS]: the kernel's own erofs and this driver
both() {
	add "$1/stock" erofs "$2" "$3" "${4:-}"
	add "$1/ours" xerofs "$2" "$3" "${4:-}"
}

# boot NAME [run-qemu OPTIONS]: carry the plan out; raw results in NAME/raw
boot() {
	local name=$1 out=$work/$1-$rel drives=() d prof=()
	shift
	[ ${#plan[@]} -gt 0 ] || die "nothing to measure"
	for d in $("$BENCH/corpora.sh" "${images[@]}"); do drives+=(--drive "$d"); done
	printf '%s\n' "${plan[@]}" >"$pay/plan"
	printf "MODS='lz4_decompress erofs squashfs ext4 overlay loop'\n%s\n" "${conf:-}" >"$pay/conf"
	rm -rf "$out"
	mkdir -p "$out"
	[ -z "$profile" ] || prof=(--qemu "-plugin $work/profile.so,out=$out/profile")
	if ! nice -n 5 "$TOP/scripts/run-qemu.sh" --release "$rel" --payload "$pay" --out "$out" \
		--avail "brd erofs squashfs ext4 overlay loop" --progs "ls tar" --mem 1536 \
		--timeout 3000 --log "$out/log" "${drives[@]}" "${prof[@]+"${prof[@]}"}" "$@" >"$out/console" 2>&1; then
		tail -n 30 "$out/console" >&2
		die "$name failed, log: $out/log"
	fi
	plan=() images=() conf=
	raws+=("$out/raw")
	[ -z "$profile" ] || python3 "$BENCH/profile.py" "$out" >"$out/profile.txt"
}

section_quick() {
	local t=seq,rand4k,rand128k,sum
	both dict/4k dict-erofs4k $t
	both dict/64k dict-erofs64k $t
	boot quick --icount
}

section_dict() {
	local t=seq,rand4k,rand128k,sum
	add dict/raw/ext4 ext4 dict-ext4 $t
	both dict/raw dict-erofs $t
	both dict/4k dict-erofs4k $t
	both dict/64k dict-erofs64k $t
	both dict/128k dict-erofs128k $t
	add dict/4k/squashfs squashfs dict-squash4k $t
	add dict/8k/squashfs squashfs dict-squash8k $t
	add dict/128k/squashfs squashfs dict-squash128k $t
	boot dict --icount --mem 2048
}

section_tree() {
	local t=lscold,lswarm,lstatcold,lstatwarm,readall,tar,sum
	add hdr/raw/ext4 ext4 hdr-ext4 $t
	both hdr/raw hdr-erofs $t
	both hdr/4k hdr-erofs4k $t
	both hdr/64k hdr-erofs64k $t
	add hdr/4k/squashfs squashfs hdr-squash4k $t
	add hdr/128k/squashfs squashfs hdr-squash128k $t
	boot tree --icount
}

section_sizes() {
	local t=seq,rand4k,rand128k,sum k
	for k in 4 8 16 32 64 128 256 512 1024; do
		both dict/${k}k dict-erofs${k}k $t
		add dict/${k}k/squashfs squashfs dict-squash${k}k $t
	done
	boot sizes --icount --mem 2560
}

declare -A known=([quick]=1 [dict]=1 [tree]=1 [sizes]=1)
raws=()
for s in "$@"; do
	[ -n "${known[$s]:-}" ] || usage
done
for s in "$@"; do
	say "measuring: $s on $rel ..."
	"section_$s"
done
if [ -z "$report" ]; then
	case " $* " in
	*" dict "* | *" tree "*) report=$BENCH/results/$(date +%Y-%m-%d)-$rel.md ;;
	*) report=$work/$1-$rel/report.md ;;
	esac
	[ -z "$only$profile" ] || report=$work/$1-$rel/report.md
fi
mkdir -p "$(dirname "$report")"
python3 "$BENCH/report.py" -k "$rel" -o "$report" "${raws[@]}"
cat "$report"
say "report: $report"
