#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-images.sh [-s] [-t TIER] [-w WAYS] TARGET [NAME-PATTERN...] - read the test
# images on one kernel and compare every object with the source tree.
#   TARGET  a Debian suite (QEMU), or uml-debug, uml-fast, uml-6.1-fast
#   -t      1: one image of each kind; 2: the full matrix (default)
#   -w      ways to read: rand,mmap,seq (default) or a subset
#   -s      the kernel's own driver instead of ours: no verdict, only
#           build/images/stock-<release>.results for mkcompat.sh
set -uo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
stock=0 tier=2 ways=rand,mmap,seq
while getopts st:w: o; do
	case $o in
	s) stock=1 ;;
	t) tier=$OPTARG ;;
	w) ways=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || die "usage: $0 [-s] [-t tier] [-w ways] TARGET [pattern...]"
target=$1
shift
label=$target-images
[ $stock = 0 ] || label=$target-stock
work=$TOP/build/images/$label
logs=$TOP/build/logs
rm -rf "$work"
mkdir -p "$work/payload" "$work/out" "$logs"

say "$target: images of tier $tier"
if ! images=$("$TOP/tests/images/mkimages.sh" -t "$tier" -o "$work/payload/manifest" "$@" 2>"$logs/mkimages.log"); then
	tail -n 5 "$logs/mkimages.log" >&2
	echo "not ok $target/images - the images cannot be made, see $logs/mkimages.log"
	exit 1
fi
grep '^no image of' "$logs/mkimages.log" >&2
case $target in
uml-*) kind=uml version=6.12 flavour=${target##*-}
	[[ $target != uml-*-* ]] || { version=${target#uml-}; version=${version%-*}; } ;;
*) kind=qemu ;;
esac
files=(--file "$TOP/tests/vm/guest-lib.sh" --file "$("$TOP/tests/images/mkimages.sh" --tool digest)=digest"
	--file "$("$TOP/tests/images/mkimages.sh" --tool lo)=lo")
if [ $stock = 0 ]; then
	if ! ko=$("$TOP/scripts/build-module.sh" "$target" - 2>"$logs/module-$target.log"); then
		tail -n 20 "$logs/module-$target.log" >&2
		echo "not ok $target/build - the module does not build"
		exit 1
	fi
	files+=(--file "$ko=erofs.ko")
fi
cp "$TOP/tests/vm/payload-images.sh" "$work/payload/run"
cat >"$work/payload/conf" <<C
STOCK=$stock
WAYS=$ways
LIMIT=${LIMIT:-100}
C
run=()
if [ $kind = qemu ]; then
	echo "IMAGES=/share" >>"$work/payload/conf"
	run=("$TOP/scripts/run-qemu.sh" --suite "$target" --share "$images" --mem 1024)
	[ $stock = 0 ] || run+=(--stock)
else
	echo "IMAGES=$images" >>"$work/payload/conf"
	run=("$TOP/scripts/run-uml.sh" --version "$version" --flavour "$flavour" --mem 1024)
	if [ $stock = 1 ]; then
		b=$("$TOP/scripts/build-uml.sh" "$version" "$flavour")
		echo "STOCK_KO=$b/fs/erofs/erofs.ko" >>"$work/payload/conf"
	fi
fi
rc=0
"${run[@]}" --payload "$work/payload" "${files[@]}" --out "$work/out" --log "$logs/$label.log" \
	--timeout "${TIMEOUT:-900}" 2>"$work/status" |
	stdbuf -oL sed "s#^ok #ok $target/images/#; s#^not ok #not ok $target/images/#" || rc=$?
if [ $stock = 1 ]; then
	rel=$(sed -n 's/.*VM-BEGIN .* s, //p' "$logs/$label.log" | tr -d '\r' | head -n 1)
	cp "$work/out/results" "$TOP/build/images/stock-$rel.results"
	say "$target: the kernel's own driver reads $(grep -c ' ok ' "$work/out/results") of $(wc -l <"$work/payload/manifest") images"
elif [ -s "$work/out/results" ]; then
	rel=$(sed -n 's/.*VM-BEGIN .* s, //p' "$logs/$label.log" | tr -d '\r' | head -n 1)
	cp "$work/out/results" "$TOP/build/images/ours-$rel.results"
fi
tail -n 1 "$work/status" >&2
if [ $rc != 0 ]; then
	echo "not ok $target/images - $(tail -n 1 "$work/status")"
fi
exit $rc
