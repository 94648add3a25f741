#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh [PATTERN] - build and run the unit tests (tests/unit/test_*.c) with
# every compiler at hand, under address and undefined-behaviour sanitizers.
# A test passes if it exits with 0 and its last line is "ok".
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/unit-lib.sh"

pat=${1:-}
logs=$TOP/build/check
mkdir -p "$logs"

# one CC TEST: a single test, one line of result
one() {
	local cc=$1 file=$2 name bin log
	name=$(basename "$file" .c)
	bin=$logs/$cc-$name log=$logs/$cc-$name.log
	if ! compile "$cc" "$bin" "$file" -O1 -fno-omit-frame-pointer \
		-fsanitize=address,undefined -fno-sanitize-recover=all >"$log" 2>&1; then
		echo "not ok unit/$cc/${name#test_} - does not compile, see $log"
		head -n 20 "$log" >&2
		echo "Packages missing? sh scripts/setup-host.sh test" >&2
		return
	fi
	# Relative to the top, so that tests find their data files.
	if (cd "$TOP" && ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 timeout 120 "$bin") >"$log" 2>&1; then
		if [ "$(tail -n 1 "$log")" = ok ]; then
			echo "ok unit/$cc/${name#test_}"
		else
			echo "not ok unit/$cc/${name#test_} - last line is not 'ok', see $log"
		fi
	else
		echo "not ok unit/$cc/${name#test_} - status $?, see $log"
		tail -n 25 "$log" >&2
	fi
}

compilers=()
for cc in gcc clang; do
	if command -v "$cc" >/dev/null; then
		compilers+=("$cc")
	elif [ -n "${CI:-}${NEED_ALL_COMPILERS:-}" ]; then
		die "$cc is missing; scripts/setup-host.sh test installs it"
	else
		say "$cc is missing, its half of the tests is not run"
	fi
done
[ ${#compilers[@]} -gt 0 ] || die "no compiler"
tests=()
for f in "$TOP"/tests/unit/test_*.c; do
	# shellcheck disable=SC2254  # a pattern on purpose
	case $(basename "$f" .c) in
	test_${pat:-*}) tests+=("$f") ;;
	esac
done
[ ${#tests[@]} -gt 0 ] || die "no unit test matches '${pat:-*}'"

res=$logs/results
: >"$res"
jobs=$(nproc)
for f in "${tests[@]}"; do
	for cc in "${compilers[@]}"; do
		while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
		one "$cc" "$f" | tee -a "$res" &
	done
done
wait
pass=$(grep -c '^ok ' "$res")
fail=$(grep -c '^not ok ' "$res")
echo "$pass passed, $fail failed"
[ "$fail" = 0 ] && [ "$pass" = $((${#tests[@]} * ${#compilers[@]})) ]
