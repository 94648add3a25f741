#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# fuzz.sh NAME SECONDS | fuzz.sh --replay - run tests/fuzz/fuzz_NAME.c under
# libFuzzer with address and undefined-behaviour sanitizers, or replay the
# inputs in tests/fuzz/corpus/NAME and tests/fuzz/regress/NAME of all targets.
# A finding is left in build/fuzz/NAME/; fix it, then move it to regress/.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/unit-lib.sh"
need clang
fuzzdir=$TOP/tests/fuzz

build() {
	local work=$TOP/build/fuzz/$1
	mkdir -p "$work/corpus"
	compile clang "$work/fuzz" "$fuzzdir/fuzz_$1.c" -O1 -fno-omit-frame-pointer \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all >"$work/build.log" 2>&1 && return
	cat "$work/build.log" >&2
	return 1
}

if [ "${1:-}" = --replay ]; then
	fail=0
	for f in "$fuzzdir"/fuzz_*.c; do
		[ -e "$f" ] || die "no fuzz targets in tests/fuzz"
		name=$(basename "$f" .c)
		name=${name#fuzz_}
		if ! build "$name"; then
			echo "not ok fuzz-replay/$name - does not compile"
			fail=1
			continue
		fi
		inputs=()
		for d in "$fuzzdir/regress/$name" "$fuzzdir/corpus/$name"; do
			[ ! -d "$d" ] || inputs+=("$d")
		done
		n=0
		[ ${#inputs[@]} = 0 ] || n=$(find "${inputs[@]}" -type f | wc -l)
		if [ "$n" = 0 ]; then
			echo "not ok fuzz-replay/$name - no inputs in corpus/ or regress/"
			fail=1
			continue
		fi
		log=$TOP/build/fuzz/$name/replay.log
		# Replay, then a short burst of new inputs from the same seeds.
		if (cd "$TOP/build/fuzz/$name" && timeout 300 ./fuzz -runs=20000 -max_total_time=10 -timeout=10 \
			-rss_limit_mb=2048 corpus "${inputs[@]}") >"$log" 2>&1; then
			echo "ok fuzz-replay/$name ($n inputs)"
		else
			echo "not ok fuzz-replay/$name - see $log"
			tail -n 30 "$log" >&2
			fail=1
		fi
	done
	exit $fail
fi

name=${1:-}
secs=${2:-60}
[ -e "$fuzzdir/fuzz_$name.c" ] || {
	say "usage: make fuzz T=NAME S=SECONDS; targets:"
	for f in "$fuzzdir"/fuzz_*.c; do
		f=$(basename "$f" .c)
		say "  ${f#fuzz_}"
	done
	exit 1
}
build "$name" || exit 1
inputs=()
for d in "$fuzzdir/corpus/$name" "$fuzzdir/regress/$name"; do
	[ ! -d "$d" ] || inputs+=("$d")
done
cd "$TOP/build/fuzz/$name" || exit 1
exec ./fuzz -max_total_time="$secs" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	corpus "${inputs[@]+"${inputs[@]}"}"
