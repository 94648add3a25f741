#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [-n COUNT] [-s FIRST] [-t TARGET] [-b IMAGES] [-p PREFIX] [-R] - mount
# COUNT damaged images (numbers FIRST ...) in guests and use them.  TARGET is
# uml-debug or another one of build-module.sh; a guest does IMAGES of them, then
# the next one is booted.  -p takes only seed images with such names.  -R also
# replays tests/torture/regress and reads the undamaged ones.
# Prints results like a test group; what failed is kept in build/torture/.
#
# run.sh -w SEED FILE [MASK]: write the image of a number.
# run.sh -S: make the seed images if need be, print their directory.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"

count=1500 first=1 target=uml-debug batch=3000 regress='' prefix=''
write='' only_seeds=''
while getopts n:s:t:b:p:RwS o; do
	case $o in
	n) count=$OPTARG ;;
	s) first=$OPTARG ;;
	t) target=$OPTARG ;;
	b) batch=$OPTARG ;;
	p) prefix=$OPTARG ;;
	R) regress=1 ;;
	w) write=1 ;;
	S) only_seeds=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
out=$TOP/build/torture
mkdir -p "$out" "$TOP/build/logs"
need gcc python3 unshare xz

# ---- the program and its seed images, both in the cache ------------------------

key=$(cat "$here"/*.[ch] | sha256sum | cut -c1-12)
prog=$CACHE/testtools/torture-$key
if [ ! -x "$prog" ]; then
	mkdir -p "$CACHE/testtools"
	gcc -O2 -static -pthread -Wall -Wextra -o "$prog.$$" "$here/torture.c" "$here/mutate.c" ||
		die "torture.c does not compile"
	mv "$prog.$$" "$prog"
fi

tools=() vers=
for v in 1.5 1.8 1.9; do
	d=$("$TOP/scripts/fetch-tools.sh" "$v") || die "erofs-utils $v could not be fetched"
	tools+=("$v=$d/mkfs.erofs")
	vers="$vers $(cat "$d/.complete")"
done
key=$({ cat "$here/mkseeds.py"; echo "$vers"; } | sha256sum | cut -c1-12)
seeds=$CACHE/torture/$key
if [ ! -e "$seeds/.complete" ]; then
	[ "$(id -u)" = 0 ] || die "root is needed: the tree holds device nodes and trusted xattrs"
	lock torture
	rm -rf "$seeds" && mkdir -p "$seeds/mnt"
	# shellcheck disable=SC2016  # expanded by the inner shell
	unshare -m --propagation private bash -c '
		mount -t tmpfs -o size=256m,mode=755 seeds "$1/mnt" || exit 1
		python3 "$2/mkseeds.py" "$1/mnt" "${@:3}" || exit 1
		cp "$1"/mnt/*.img "$1"/mnt/*.dev "$1/"' - "$seeds" "$here" "${tools[@]}" >"$out/mkseeds.log" 2>&1 ||
		{ tail -n 5 "$out/mkseeds.log" >&2; die "the seed images could not be made"; }
	rmdir "$seeds/mnt"
	touch "$seeds/.complete"
fi

if [ -n "$only_seeds" ]; then
	printf '%s\n' "$seeds"
	exit
fi
if [ -n "$write" ]; then
	[ $# -ge 2 ] || die "usage: $0 -w SEED FILE [MASK]"
	exec "$prog" -d "$seeds" -p "$prefix" -w "$1" -o "$2" -k "${3:-0}"
fi

ko=$("$TOP/scripts/build-module.sh" "$target" - 2>"$TOP/build/logs/module-$target.log") || {
	tail -n 20 "$TOP/build/logs/module-$target.log" >&2
	echo "not ok torture/build - the module does not build"
	exit 1
}

# ---- guests -----------------------------------------------------------------------

guest_pid=
tmp=$(mktemp -d)
# $1 and all it started, children first
kill_tree() {
	local c
	for c in $(ps -o pid= --ppid "$1"); do kill_tree "$c"; done
	kill "$1" 2>/dev/null
}
# shellcheck disable=SC2317  # called by the trap
end_guest() {
	[ -z "$guest_pid" ] || kill_tree "$guest_pid"
	rm -rf "$tmp"
}
trap end_guest EXIT
trap 'exit 130' INT TERM

# boot NAME SECONDS [FILE...]: a guest that does what $tmp/args says.  Its status
# is left in $rc, its console in $log; a guest that is silent is ended.
boot() {
	local name=$1 limit=$2 f size last=-1 since=$SECONDS args
	shift 2
	log=$TOP/build/logs/torture-$target-$name.log
	: >"$log"
	args=(--payload "$here/guest" --file "$ko" --file "$prog=torture" --file "$tmp/args" --file "$seeds=seeds"
		--timeout "$limit" --log "$log" --quiet
		--append "panic_on_warn=1 panic_print=0x20 log_buf_len=1M kasan.stacktrace=on")
	for f in "$@"; do args+=(--file "$f"); done
	case $target in
	uml-*) args=("$TOP/scripts/run-uml.sh" --target "$target" --mem 512 "${args[@]}") ;;
	*) args=("$TOP/scripts/run-qemu.sh" --suite "$target" --modules loop "${args[@]}") ;;
	esac
	"${args[@]}" >"$tmp/console" 2>"$tmp/status" </dev/null &
	guest_pid=$!
	while kill -0 "$guest_pid" 2>/dev/null; do
		sleep 1
		size=$(stat -c %s "$log")
		if [ "$size" != "$last" ]; then
			last=$size since=$SECONDS
		elif [ $((SECONDS - since)) -gt 600 ]; then
			echo "the guest is silent for 600 s: it hangs"
			kill_tree "$guest_pid"
			break
		fi
		progress
	done
	wait "$guest_pid"
	rc=$?
	guest_pid=
}

shown=0
progress() {
	local n
	[ $((SECONDS - shown)) -ge 30 ] || return 0
	shown=$SECONDS
	n=$(grep -c '^@' "$log")
	[ "$n" = 0 ] || echo "  $((done_images + n)) images, $failures failures, $(((done_images + n) * 60 / (SECONDS - begin + 1))) a minute"
}

# why the guest failed, in one line
reason() {
	local r
	# a panic shows the whole log, the report that caused it first
	r=$(grep -aom 1 'BUG: .*\|WARNING: .*\|UBSAN: .*' "$log")
	if [ -n "$r" ]; then
		printf '%s\n' "$r"
		return
	fi
	r=$(tail -n 1 "$tmp/status")
	r=${r#*: }
	printf '%s\n' "${r%; log: *}"
}

failures=0 done_images=0 begin=$SECONDS status=0
if [ -n "$regress" ]; then
	rm -rf "$tmp/regress" && mkdir -p "$tmp/regress"
	imgs=
	for f in "$here"/regress/*.xz; do
		[ -e "$f" ] || continue
		b=$(basename "$f" .xz)
		xz -dc "$f" >"$tmp/regress/$b" || exit 1
		case $b in *.dev) ;; *) imgs="$imgs -i regress/$b" ;; esac
	done
	{
		[ -z "$imgs" ] || echo "$imgs"
		echo "-d seeds -cc"
	} >"$tmp/args"
	boot regress 900 "$tmp/regress"
	grep -a '^FAIL\|^   |' "$log" | tail -n 40
	n=$(find "$tmp/regress" -name '*.img' | wc -l)
	if [ $rc = 0 ] && { [ "$n" = 0 ] || [ "$(grep -ac '^image ' "$log")" != "$n" ]; }; then
		echo "not ok torture/regress - not all of $n images were replayed"
		status=1
	elif [ $rc = 0 ] && grep -qa 'images, .* 0 failures' "$log"; then
		echo "ok torture/regress ($n images, and all undamaged ones, $(reason))"
	else
		echo "not ok torture/regress - $(reason)"
		status=1
	fi
fi

next=$first end=$((first + count)) begin=$SECONDS boots=0
while [ "$next" -lt "$end" ] && [ "$boots" -lt 10 ]; do
	n=$((end - next))
	[ "$n" -le "$batch" ] || n=$batch
	echo "-d seeds ${prefix:+-p $prefix} -s $next -n $n" >"$tmp/args"
	boot "run-$first" $((240 + n))
	last=$(sed -n 's/^@\([0-9]*\)\r*$/\1/p' "$log" | tail -n 1)
	if [ $rc = 0 ]; then
		if [ "$(grep -c '^@' "$log")" != "$n" ]; then
			echo "not ok torture/run-$next - the guest did not do all of its $n images"
			status=1
			break
		fi
		grep -a '^[0-9]* images, ' "$log"
		next=$((next + n)) done_images=$((done_images + n))
		continue
	fi
	status=1
	boots=$((boots + 1))
	cp "$log" "$out/log-${last:-$next}"
	mapfile -t bad < <(sed -n 's/^FAIL seed \([0-9]*\) .*/\1/p' "$log" | awk '!s[$0]++')
	if [ ${#bad[@]} = 0 ] && [ -n "$last" ]; then bad=("$last"); fi
	for s in "${bad[@]+"${bad[@]}"}"; do
		failures=$((failures + 1))
		"$prog" -d "$seeds" -p "$prefix" -w "$s" -o "$out/seed-$s.img" >"$out/seed-$s.txt"
		why=$(grep -a -m 1 "^FAIL seed $s " "$log") || why=$(reason)
		echo "not ok torture/seed-$s - ${why#FAIL }"
	done
	if [ -z "$last" ]; then
		echo "not ok torture/run-$next - $(reason)"
		break
	fi
	done_images=$((done_images + last + 1 - next))
	next=$((last + 1))
done
secs=$((SECONDS - begin + 1))
echo "$done_images damaged images in $secs s, $((done_images * 60 / secs)) a minute, $failures failures"
[ $status != 0 ] || echo "ok torture/damaged ($count images from number $first)"
[ $status = 0 ] || echo "Kept: build/torture/seed-*.img, log-*"
exit $status
