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
	  extra     mount time, readahead off, loop device, ext4 image inside, container
	            image with and without overlayfs, start of a large program
	  lowmem    sequential and random reads with little memory
	  decoder   this driver's LZ4 decoder and liblz4 in user space, per byte
	  smp       wall clock: one and four readers on four processors, 5 rounds
	  classic   wall clock: cat on a virtual disk, four processors, 512 MB
	  uml       wall clock in User Mode Linux 6.1 (built first if need be)
	Options:
	  -s SUITE  kernel of bookworm (default), bookworm-backports, trixie-backports
	  -p        profile: guest instructions by function, for each test of quick
	  -l "RE"   only labels (corpus/image/driver) that match
	  -n        without this driver: the peers only
	  -o DIR    work directory (build/bench)
	  -r FILE   report (bench/results/<date>-<kernel>.md for dict and tree, else
	            one in the work directory; of smp, classic and uml in one file)
	E
	exit 2
}

suite=bookworm profile='' only='' ours=1 work=$TOP/build/bench report=''
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
	ko=$("$TOP/scripts/build-module.sh" "$suite" "$work/module-$rel" FSNAME=xerofs QUIET=1) ||
		die "the module does not build"
	cp "$ko" "$pay/"
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

# record RAW: keep the results, add the sizes of the images; forget the plan
record() {
	local p l i
	for p in "${plan[@]}"; do
		read -r l _ i _ <<<"$p"
		echo "I $l $(stat -c %s "$CACHE/bench/${images[i]}.img")" >>"$1"
	done
	raws+=("$1")
	plan=() images=() conf=
}

# boot NAME [run-qemu OPTIONS]: carry the plan out; raw results in NAME/raw
boot() {
	local name=$1 out=$work/$1-$rel drives=() d prof=()
	shift
	if [ ${#plan[@]} = 0 ]; then
		[ -z "$only" ] || return 0
		die "nothing to measure"
	fi
	for d in $("$BENCH/corpora.sh" "${images[@]}"); do drives+=(--drive "$d"); done
	printf '%s\n' "${plan[@]}" >"$pay/plan"
	printf "MODS='erofs squashfs ext4 overlay loop'\n%s\n" "${conf:-}" >"$pay/conf"
	rm -rf "$out"
	mkdir -p "$out"
	[ -z "$profile" ] || prof=(--qemu "-plugin $work/profile.so,out=$out/profile")
	if ! nice -n 5 "$TOP/scripts/run-qemu.sh" --release "$rel" --payload "$pay" --out "$out" \
		--avail "brd erofs squashfs ext4 overlay loop" --progs "ls tar" --mem 1536 \
		--timeout 3000 --log "$out/log" "${drives[@]}" "${prof[@]+"${prof[@]}"}" "$@" >"$out/console" 2>&1; then
		tail -n 30 "$out/console" >&2
		die "$name failed, log: $out/log"
	fi
	record "$out/raw"
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
	# Like squashfs without ACLs, after which ls stops asking for them.
	both hdr/4k-noacl hdr-erofs4k lscold,lswarm noacl
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

section_extra() {
	local t=mount k
	add hdr/raw/ext4 ext4 hdr-ext4 $t
	both hdr/4k hdr-erofs4k $t
	add hdr/4k/squashfs squashfs hdr-squash4k $t

	t=ra0,seq,rand4k,rand128k
	both ra0/4k dict-erofs4k $t
	both ra0/64k dict-erofs64k $t
	add ra0/4k/squashfs squashfs dict-squash4k $t
	add ra0/128k/squashfs squashfs dict-squash128k $t
	t=vialoop,seq,rand4k,rand128k
	both loop/4k dict-erofs4k $t
	add loop/4k/squashfs squashfs dict-squash4k $t

	t=inner,lscold,readall
	both fold/4k fold-erofs4k $t
	both fold/64k fold-erofs64k $t
	add fold/4k/squashfs squashfs fold-squash4k $t
	add fold/128k/squashfs squashfs fold-squash128k $t

	t=exec,execwarm
	both prog/4k prog-erofs4k $t
	both prog/64k prog-erofs64k $t
	add prog/128k/squashfs squashfs prog-squash128k $t
	add prog/raw/ext4 ext4 prog-ext4 $t
	boot extra --icount --mem 2560

	# The layer of objects must be disk 0.
	add objs/raw/ext4 ext4 objs-ext4 lscold
	t=lscold,lswarm,lstatcold
	both cont/4k cont-erofs4k $t
	add cont/4k/squashfs squashfs cont-squash4k $t
	t=overlay:0,lscold,lswarm,lstatcold,readall
	both ovl/4k cont-erofs4k $t
	add ovl/4k/squashfs squashfs cont-squash4k $t
	boot overlay --icount
}

# One boot for each image, so that it is alone in memory.
section_lowmem() {
	local t=seq,rand4k,rand128k,seq
	both low/4k dict-erofs4k $t
	boot lowmem-e --icount --mem 208
	add low/4k/squashfs squashfs dict-squash4k $t
	boot lowmem-s --icount --mem 212
}

section_smp() {
	local t=par4,seq
	both dict/4k dict-erofs4k $t
	both dict/64k dict-erofs64k $t
	add dict/4k/squashfs squashfs dict-squash4k $t
	add dict/128k/squashfs squashfs dict-squash128k $t
	add dict/raw/ext4 ext4 dict-ext4 $t
	conf="REPS=${REPS:-5}"
	boot smp --smp 4
}

section_classic() {
	local t=cat
	add dict/raw/ext4 ext4 dict-ext4 $t
	both dict/raw dict-erofs $t
	both dict/4k dict-erofs4k $t
	both dict/64k dict-erofs64k $t
	both dict/128k dict-erofs128k $t
	add dict/4k/squashfs squashfs dict-squash4k $t
	add dict/8k/squashfs squashfs dict-squash8k $t
	add dict/128k/squashfs squashfs dict-squash128k $t
	conf="FILL=no REPS=${REPS:-3}"
	boot classic --smp 4 --mem 512
}

section_decoder() {
	local out=$work/decoder-$rel
	# The decoder as in the kernel.
	mkdir -p "$out"
	gcc -O2 -mno-sse -mno-mmx -mno-avx -fno-strict-aliasing -fno-tree-vectorize -I"$TOP" -c \
		"$TOP/decompressor_lz4.c" -o "$out/decompressor_lz4.o"
	gcc -O2 -static -I"$TOP" "$BENCH/lz4_bench.c" "$out/decompressor_lz4.o" -llz4 \
		-o "$pay/lz4_bench"
	head -c "${DECODER_BYTES:-4000000}" "$("$BENCH/corpora.sh" dict/)/dict100M" >"$pay/sample"
	cp "$pay/run" "$work/run.keep"
	printf '#!/bin/sh\ncd "$T" && ./lz4_bench -r 1 -n %s sample\n' "${DECODER_BYTES:-4000000}" >"$pay/run"
	nice -n 5 "$TOP/scripts/run-qemu.sh" --release "$rel" --payload "$pay" --icount --timeout 900 \
		--log "$out/log" >"$out/console" || die "decoder failed, log: $out/log"
	mv "$work/run.keep" "$pay/run"
	rm -f "$pay/sample" "$pay/lz4_bench"
	say "guest instructions per decoded byte:"
	cat "$out/console" >&2
}

section_uml() {
	local t=seq,rand4kx,rand128k out=$work/uml kdir d drives=() f
	kdir=$("$TOP/scripts/build-uml.sh" 6.1 fast)
	# modules of another kernel
	local pay=$work/payload-uml
	rm -rf "$pay"
	cp -r "$work/payload" "$pay"
	rm -f "$pay"/*.ko
	for f in drivers/block/brd fs/erofs/erofs; do cp "$kdir/$f.ko" "$pay/"; done
	if [ -n "$ours" ]; then
		ko=$("$TOP/scripts/build-module.sh" uml-6.1-fast "$work/module-uml" FSNAME=xerofs \
			QUIET=1) || die "the module does not build"
		cp "$ko" "$pay/"
	fi
	both dict/4k dict-erofs4k $t
	# a cluster of 32K holds about as much as a block of 128K
	both dict/32k dict-erofs32k $t
	both dict/64k dict-erofs64k $t
	add dict/4k/squashfs squashfs dict-squash4k $t
	add dict/128k/squashfs squashfs dict-squash128k $t
	add dict/raw/ext4 ext4 dict-ext4 $t
	t=lscold,lswarm,lstatcold,readall
	both hdr/4k hdr-erofs4k $t
	add hdr/4k/squashfs squashfs hdr-squash4k $t
	add hdr/raw/ext4 ext4 hdr-ext4 $t
	if [ ${#plan[@]} = 0 ]; then
		[ -z "$only" ] || return 0
		die "nothing to measure"
	fi
	for d in $("$BENCH/corpora.sh" "${images[@]}"); do drives+=(--drive "$d"); done
	printf '%s\n' "${plan[@]}" >"$pay/plan"
	printf "MODS=erofs\nREPS=%s\n" "${REPS:-5}" >"$pay/conf"
	rm -rf "$out"
	mkdir -p "$out"
	"$TOP/scripts/run-uml.sh" --version 6.1 --flavour fast --payload "$pay" --out "$out" --mem 1536 \
		--timeout 1200 --log "$out/log" "${drives[@]}" >"$out/console" 2>&1 || {
		tail -n 30 "$out/console" >&2
		die "uml failed, log: $out/log"
	}
	record "$out/raw"
}

declare -A known=([quick]=1 [dict]=1 [tree]=1 [sizes]=1 [extra]=1 [lowmem]=1 [decoder]=1 [smp]=1
	[classic]=1 [uml]=1)
raws=()
for s in "$@"; do
	[ -n "${known[$s]:-}" ] || usage
done

# write_report FILE UNIT: from what was recorded
write_report() {
	mkdir -p "$(dirname "$1")"
	python3 "$BENCH/report.py" -k "${kernel:-$rel}" -u "$2" -d "$driver" -o "$1" "${raws[@]}"
	sed '/^## Raw/,$d' "$1"
	say "report: $1"
	raws=()
}
driver=$(git -C "$TOP" describe --always --tags 2>/dev/null || echo unknown)
# older results that this run replaces are no change of the driver
git -C "$TOP" diff --quiet HEAD -- . ':!bench/results' 2>/dev/null || driver+=-dirty
# Wall-clock sections have a report of their own.
counted=() clocked=()
for s in "$@"; do
	say "measuring: $s on $rel ..."
	case $s in
	smp | classic | uml)
		raws=()
		"section_$s"
		kernel=$rel
		[ "$s" != uml ] || kernel=uml-6.1
		write_report "$work/$s-$kernel.md" "seconds, wall clock"
		clocked+=("$s" "$work/$s-$kernel.md")
		kernel=
		;;
	*)
		raws=()
		"section_$s"
		counted+=("${raws[@]+"${raws[@]}"}")
		;;
	esac
done
# joined NAME FILE [NAME FILE...]: one report of several, without their charts
joined() {
	printf '# Wall clock, %s\n\n%s\n' "$(date +%F)" \
		"Sections of bench/run.sh, one after the other, on $(nproc) processors. Believe the quotients."
	while [ $# -gt 0 ]; do
		printf '\n## %s\n' "$1"
		sed '1d; /^!\[/d; s/^##/###/' "$2" | cat -s
		shift 2
	done
}
if [ ${#clocked[@]} -gt 0 ] && [ -n "$report" ]; then
	[ ${#counted[@]} = 0 ] || die "wall-clock sections want a report of their own"
	joined "${clocked[@]}" >"$report"
	say "report: $report"
fi
[ ${#counted[@]} -gt 0 ] || exit 0
raws=("${counted[@]}")
if [ -z "$report" ]; then
	report=$work/$1-$rel.md
	case " $* " in
	*" dict "* | *" tree "*) [ -n "$only$profile" ] || report=$BENCH/results/$(date +%Y-%m-%d)-$rel.md ;;
	esac
fi
write_report "$report" "1e9 guest instructions"
