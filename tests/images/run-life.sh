#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-life.sh stress|cycle|storm TARGET - the module under load and in many lives.
#   stress  pairs of images, eight readers that compare every block, 64 MiB of
#           memory, caches dropped all the time, some readers killed; then
#           umount and rmmod.  STRESS_SECONDS (default 120) is the total.
#   storm   seven mounts at once on all an image can lie on, readers in 32 MiB and
#           outside, caches dropped, memory taken back, mounts that come and go,
#           unmounted and unloaded in the midst of it, again and again for
#           STORM_SECONDS (default 300).  For kernels with several processors.
#   cycle   insmod, mounts (good and refused), rmmod, CYCLES times (default
#           200); memory must not grow.
# shellcheck disable=SC2034,SC2154  # variables shared with run-lib.sh
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"
[ $# = 2 ] || die "usage: $0 stress|cycle|storm TARGET"
what=$1 target=$2 stock=0
. "$here/run-lib.sh"

case $what in
stress)
	list="v18-lz4hc-dedupe v15-big-lz4hc-C65536 v19-zstd-C16384-frag v15-ztail-tails
		v19-metabox-lz4 v18-lzma v19-lz4-C1048576-ztail v19-zstd-48bit-dedupe"
	# shellcheck disable=SC2086  # a list of words
	make_images "$work/all" -t 1 $list
	n=0
	# in this order, two by two
	for name in $list; do
		grep "^$name " "$work/all" >>"$work/payload/manifest" && n=$((n + 1))
	done
	[ $n = 8 ] || give_up "only $n of 8 images are there"
	each=$((${STRESS_SECONDS:-120} / 4))
	[ $each -gt 0 ] || each=1
	printf 'JOB=stress\nSECONDS_EACH=%s\n' "$each" >"$work/payload/conf"
	# A reader that is killed for lack of memory is part of the test.
	guest "$images" payload-life.sh --mem 768 --timeout $((each * 4 + 1500))
	;;
cycle)
	make_images "$work/payload/manifest" -t 3 b-plain b-compact b-allfrag b-metabox b-zstd
	mkdir "$work/share"
	cut -d' ' -f2 "$work/payload/manifest" | while read -r f; do cp "$images/$f" "$work/share/"; done
	poke() {
		local base
		base=$(sed -n "s/^$1 \([^ ]*\) .*/\1/p" "$work/payload/manifest")
		python3 "$TOP/tests/tools/poke.py" "$images/$base" "$work/share/$2" "${@:3}" ||
			give_up "$2 cannot be made"
	}
	poke b-plain r1 sb+12:u8=13
	poke b-plain r2 'ino(/)+4:u16=0'
	poke b-allfrag r3 sb+96:u64=0x0000ffffffffffff
	poke b-metabox r4 sb+112:u64=0x8000000000ffffff
	poke b-zstd r5 cfg+3:u8=255
	printf 'JOB=cycle\nCYCLES=%s\nREFUSED="r1 r2 r3 r4 r5"\n' "${CYCLES:-200}" >"$work/payload/conf"
	guest "$work/share" payload-life.sh --timeout "${TIMEOUT:-3000}"
	;;
storm)
	make_images "$work/all" -t 1 v18-lz4hc-dedupe v19-zstd-C16384-frag v18-lzma v19-zstd-48bit-dedupe v19-metabox-lz4
	mkdir "$work/share"
	# two versions of an image with files in common
	mkdir "$work/pair"
	(cd "$work/pair" && export TOP CACHE && bash "$TOP/tests/vm/cases/share/prepare") >"$logs/$label-pair.log" 2>&1 ||
		give_up "the pair of images cannot be made, see $logs/$label-pair.log"
	while read -r as name; do
		# shellcheck disable=SC2034  # fields of the manifest
		read -r _ img exp blobs off tier blocks <<<"$(grep "^$name " "$work/all")"
		[ "$off$blobs" = 0- ] || give_up "$name is of no use here"
		cp "$images/$img" "$work/share/$as"
		cp "$images/$blocks" "$work/share/$as.blocks"
	done <<-'E'
	dedupe v18-lz4hc-dedupe
	frag v19-zstd-C16384-frag
	lzma v18-lzma
	disk v19-zstd-48bit-dedupe
	meta v19-metabox-lz4
	E
	for as in v1 v2; do
		mkdir "$work/pair/$as"
		cp "$work/pair/img/text" "$work/pair/img/noise" "$work/pair/$as/"
		"$("$mkimages" --tool stress)" -w "$work/share/$as.blocks" "$work/pair/$as"
		mv "$work/pair/img/$as.img" "$work/share/$as"
	done
	rm -r "$work/pair"
	# a disk has whole sectors
	truncate -s %4096 "$work/share/disk"
	total=${STORM_SECONDS:-300}
	round=$((total / 8))
	printf 'TOTAL=%s\nROUND=%s\n' "$total" $((round < 5 ? 5 : round)) >"$work/payload/conf"
	more=()
	[ -n "$uml_flavour" ] || more=(--smp 4 --avail overlay)
	case $target in
	smp-*)
		# what KCSAN has to find
		mkdir "$work/racer"
		cp "$TOP/tests/vm/racer.c" "$work/racer/"
		echo 'obj-m := racer.o' >"$work/racer/Kbuild"
		make -s -C "$(kernel_kdir "$("$TOP/scripts/fetch-kernel.sh" "$target")")" "M=$work/racer" modules \
			>"$logs/racer.log" 2>&1 || give_up "racer.c does not build, see $logs/racer.log"
		more+=(--file "$work/racer/racer.ko")
		;;
	esac
	guest "$work/share" payload-storm.sh --drive "$work/share/disk" --mem 1024 --timeout $((total * 3 + 1500)) \
		--file "$("$mkimages" --tool rawmount)=rawmount" "${more[@]}"
	;;
*) die "usage: $0 stress|cycle|storm TARGET" ;;
esac
