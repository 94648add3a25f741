#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-bad.sh [-s] TARGET [NAME-PATTERN] - damaged images (bad.tab) on one kernel:
# the right errno, siblings untouched, a message, nothing left behind.
#   TARGET  a Debian suite (QEMU), or uml-debug, uml-fast
#   -s      the kernel's own driver: a table, no verdict
set -uo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
stock=0
while getopts s o; do
	case $o in
	s) stock=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || die "usage: $0 [-s] TARGET [pattern]"
target=$1 pat=${2:-*}
label=$target-bad
[ $stock = 0 ] || label=$target-bad-stock
work=$TOP/build/images/$label
logs=$TOP/build/logs
bad=$CACHE/bad
mk=$TOP/tests/images/mkimages.sh
rm -rf "$work"
mkdir -p "$work/payload" "$work/out" "$logs" "$bad"
if ! images=$("$mk" -t 3 -o "$work/manifest" 'b-*' 2>"$logs/mkimages-bad.log"); then
	tail -n 5 "$logs/mkimages-bad.log" >&2
	echo "not ok $target/bad - the originals cannot be made, see $logs/mkimages-bad.log"
	exit 1
fi

# Damaged copies, kept as long as neither the original nor the edits change.
n=0
while IFS='|' read -r name base mount affected outcomes edits; do
	case $name in '' | '#'*) continue ;; esac
	# shellcheck disable=SC2254  # a pattern on purpose
	case $name in $pat) ;; *) continue ;; esac
	read -r _ img exp blobs _ < <(grep "^$base " "$work/manifest") || {
		echo "not ok $target/bad/$name - no original $base"
		exit 1
	}
	key=$img-$(echo "$edits" | cat - "$TOP/tests/tools/poke.py" | sha256sum | cut -c1-12)
	if [ "$(cat "$bad/$name.key" 2>/dev/null)" != "$key" ]; then
		# shellcheck disable=SC2086  # a list of edits
		if ! python3 "$TOP/tests/tools/poke.py" "$images/$img" "$bad/$name.img" $edits >&2; then
			echo "not ok $target/bad/$name - cannot be made"
			exit 1
		fi
		echo "$key" >"$bad/$name.key"
	fi
	echo "$name|$exp|$blobs|$mount|$affected|$outcomes" >>"$work/payload/bad.list"
	n=$((n + 1))
done <"$TOP/tests/images/bad.tab"
[ $n -gt 0 ] || die "no damaged image matches '$pat'"

files=(--file "$TOP/tests/vm/guest-lib.sh" --file "$TOP/tests/vm/verdict.awk"
	--file "$("$mk" --tool digest)=digest" --file "$("$mk" --tool lo)=lo"
	--file "$("$mk" --tool trymount)=trymount")
if [ $stock = 0 ]; then
	if ! ko=$("$TOP/scripts/build-module.sh" "$target" - 2>"$logs/module-$target.log"); then
		tail -n 20 "$logs/module-$target.log" >&2
		echo "not ok $target/build - the module does not build"
		exit 1
	fi
	files+=(--file "$ko=erofs.ko")
fi
cp "$TOP/tests/vm/payload-bad.sh" "$work/payload/run"
echo "STOCK=$stock" >"$work/payload/conf"
case $target in
uml-*)
	printf 'IMAGES=%s\nBAD=%s\n' "$images" "$bad" >>"$work/payload/conf"
	run=("$TOP/scripts/run-uml.sh" --flavour "${target##*-}")
	;;
*)
	# One share: hard links, or copies where the cache spans file systems.
	mkdir "$work/share"
	cut -d'|' -f2,3 "$work/payload/bad.list" | tr '|' '\n' | grep -vx -- - | sort -u |
		while read -r f; do cp -l "$images/$f" "$work/share/" 2>/dev/null || cp "$images/$f" "$work/share/"; done
	cut -d'|' -f1 "$work/payload/bad.list" |
		while read -r f; do cp -l "$bad/$f.img" "$work/share/" 2>/dev/null || cp "$bad/$f.img" "$work/share/"; done
	printf 'IMAGES=/share\nBAD=/share\n' >>"$work/payload/conf"
	run=("$TOP/scripts/run-qemu.sh" --suite "$target" --share "$work/share")
	[ $stock = 0 ] || run+=(--stock)
	;;
esac
rc=0
"${run[@]}" --payload "$work/payload" "${files[@]}" --out "$work/out" --log "$logs/$label.log" \
	--timeout "${TIMEOUT:-900}" 2>"$work/status" |
	stdbuf -oL sed "s#^ok #ok $target/bad/#; s#^not ok #not ok $target/bad/#" || rc=$?
tail -n 1 "$work/status" >&2
rm -rf "$work/share"
if [ $stock = 1 ]; then
	cp "$work/out/results" "$TOP/build/images/bad-stock-$target.results"
elif [ $rc != 0 ]; then
	echo "not ok $target/bad - $(tail -n 1 "$work/status")"
fi
exit $rc
