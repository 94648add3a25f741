#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [PATTERN] - run the test groups (tests/groups/NN-NAME.sh) and count.
# PATTERN selects groups by name (shell pattern, a plain word also matches as
# a prefix); GROUP/TEST hands TEST on to the group.  A group prints one line a
# test, "ok NAME" or "not ok NAME - reason"; everything else is shown as
# progress.  The last line is "N passed, N failed".
set -uo pipefail
. "$(dirname "$0")/../scripts/lib.sh"
. "$(dirname "$0")/../scripts/vm-lib.sh"

pat=${1:-*}
export TEST_FILTER=
case $pat in
*/*) TEST_FILTER=${pat#*/} pat=${pat%%/*} ;;
esac
# The two directories are set by the harness's own tests.
groups=${GROUPS_DIR:-$TOP/tests/groups}
logs=${LOGS_DIR:-$TOP/build/logs}
mkdir -p "$logs"
res=$(mktemp -d)
# Interrupted: end the groups, which have process groups of their own.
stop() {
	local p
	trap - INT TERM
	for p in $(pgrep -P $$) $(pgrep -f "bash $groups/"); do
		kill -TERM -- "-$p" 2>/dev/null || kill -TERM "$p" 2>/dev/null
	done
	exit 130
}
trap stop INT TERM
trap 'rm -rf "$res" "$logs"/group-*.fifo "$logs"/group-*.status' EXIT
start=$SECONDS
export CI_TESTS=1 NEED_ALL_COMPILERS=1
# What "make test T=..." hands on to every make below: with -w among it DKMS 3.0 takes
# "Entering directory" for the name of the compiler.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL

clock() { printf '[%02d:%02d]' $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)); }

# head_of FILE KEY DEFAULT: "# KEY: value" in the first lines of a group
head_of() {
	local v
	v=$(sed -n "1,20s/^# $2: *//p" "$1" | head -n 1)
	printf '%s\n' "${v:-$3}"
}

run_group() {
	local file=$1 name=$2 limit rc line log begin=$SECONDS
	limit=$(head_of "$file" limit 600)
	log=$logs/group-$name.log
	echo "$(clock) $name: started (limit $limit s)"
	# Not by wait: each line below starts processes, and one of them may get the
	# number of a group that has ended, whose status the shell forgets then.
	{
		timeout -k 20 "$limit" bash "$file"
		echo $? >"$log.status"
	} >"$log.fifo" 2>&1 </dev/null &
	while IFS= read -r line; do
		printf '%s\n' "$line" >>"$log"
		case $line in
		'ok '*' # skip'* | 'ok '*' # SKIP'*)
			line="not ok ${line#ok } (skipped counts as failed)"
			;;
		esac
		case $line in
		'ok '* | 'not ok '*) printf '%s\n' "$line" >>"$res/$name" ;;
		esac
		printf '%s %s: %s\n' "$(clock)" "$name" "$line"
	done <"$log.fifo"
	rc=$(cat "$log.status" 2>/dev/null) || rc=unknown
	rm -f "$log.fifo" "$log.status"
	if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
		echo "not ok $name - no end within $limit s" >>"$res/$name"
	elif ! grep -q . "$res/$name" 2>/dev/null; then
		echo "not ok $name - printed no result (status $rc): $(tail -n 1 "$log" 2>/dev/null)" >>"$res/$name"
	elif [ "$rc" != 0 ] && ! grep -q '^not ok ' "$res/$name"; then
		echo "not ok $name - ended with status $rc" >>"$res/$name"
	fi
	echo "$(clock) $name: done after $((SECONDS - begin)) s," \
		"$(grep -c '^ok ' "$res/$name") passed, $(grep -c '^not ok ' "$res/$name") failed"
}

matches() {
	# shellcheck disable=SC2254  # a pattern on purpose
	case $1 in
	$pat | $pat-*) return 0 ;;
	esac
	return 1
}

n=0
pids=()
for f in "$groups"/[0-9]*.sh; do
	name=$(basename "$f" .sh)
	name=${name#[0-9]*-}
	matches "$name" || continue
	n=$((n + 1))
	rm -f "$logs/group-$name.log" "$logs/group-$name.log".{fifo,status}
	mkfifo "$logs/group-$name.log.fifo"
	if [ "$(head_of "$f" parallel no)" = yes ]; then
		# No more than two at a time.
		while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
		run_group "$f" "$name" &
		pids+=($!)
	else
		wait
		run_group "$f" "$name"
	fi
done
wait
if [ $n = 0 ]; then
	echo "no test group matches '$pat'"
	echo "0 passed, 1 failed"
	exit 1
fi
pass=$(cat "$res"/* | grep -c '^ok ')
fail=$(cat "$res"/* | grep -c '^not ok ')
if [ "$fail" != 0 ]; then
	echo
	# What the guest said, for readers who have no more than this output.
	cat "$res"/* | sed -n 's/^not ok .*; log: \([^ ]*\)$/\1/p' | sort -u | head -n 3 |
		while read -r log; do
			echo "--- $(basename "$log")"
			excerpt "$log"
			echo
		done
	echo "Failed:"
	cat "$res"/* | sed -n 's/^not ok /  /p'
	echo "Logs: build/logs/"
fi
echo "Time: $((SECONDS - start)) s"
echo "$pass passed, $fail failed"
[ "$fail" = 0 ] && [ "$pass" != 0 ]
