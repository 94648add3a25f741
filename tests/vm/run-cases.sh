#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-cases.sh TARGET [PATTERN] - build the module for TARGET (a Debian suite,
# uml-debug or uml-fast) and run the cases in tests/vm/cases/ whose name
# matches, each in a guest of its own.  tests/README.md says what a case is.
set -uo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
[ $# -ge 1 ] || die "usage: $0 TARGET [PATTERN]"
target=$1 pat=${2:-*}
work=$TOP/build/vm
mkdir -p "$work" "$TOP/build/logs"

ko=$("$TOP/scripts/build-module.sh" "$target" - 2>"$TOP/build/logs/module-$target.log") || {
	tail -n 20 "$TOP/build/logs/module-$target.log" >&2
	echo "not ok $target/build - the module does not build"
	exit 1
}
echo "ok $target/build"
case $target in
uml-*) kind=uml ;;
*) kind=qemu ;;
esac

failed=0
ran=0
for dir in "$TOP"/tests/vm/cases/*/; do
	dir=${dir%/}
	name=${dir##*/}
	# shellcheck disable=SC2254  # a pattern on purpose
	case $name in
	$pat) ;;
	*) continue ;;
	esac
	# What a case may set in its conf file.
	where="qemu uml" targets="*" mem=768 smp=2 timeout=240 drives="" drives_rw="" files=""
	modules="" avail="" progs="" allow="" append="" inputs="" panic="" nvdimms=""
	# shellcheck disable=SC1091
	[ ! -e "$dir/conf" ] || . "$dir/conf"
	case " $where " in
	*" $kind "*) ;;
	*) continue ;;
	esac
	# shellcheck disable=SC2254
	case $target in
	$targets) ;;
	*) continue ;;
	esac
	ran=$((ran + 1))
	w=$work/$name
	log=$TOP/build/logs/$target-$name.log
	# Images are made once and shared by all targets.
	if [ -x "$dir/prepare" ]; then
		# shellcheck disable=SC2086  # a list of words on purpose
		key=$(cd "$dir" && cat prepare conf $inputs 2>/dev/null | sha256sum)
		if [ "$(cat "$w/.prepared" 2>/dev/null)" != "$key" ]; then
			rm -rf "$w"
			mkdir -p "$w"
			if ! (cd "$w" && CACHE=$CACHE TOP=$TOP CASE=$dir "$dir/prepare") >"$w/prepare.log" 2>&1; then
				tail -n 20 "$w/prepare.log" >&2
				echo "not ok $target/$name - preparation failed, see $w/prepare.log"
				failed=1
				continue
			fi
			printf '%s\n' "$key" >"$w/.prepared"
		fi
	else
		mkdir -p "$w"
	fi
	args=(--payload "$dir" --file "$ko" --file "$TOP/tests/vm/guest-lib.sh" --log "$log" --timeout "$timeout"
		--mem "$mem" --allow "$allow" --append "$append" --out "$w/out-$target")
	rm -rf "$w/out-$target"
	for d in $drives; do args+=(--drive "$w/$d"); done
	for d in $drives_rw; do
		# Each run starts from the prepared state.
		cp --sparse=always "$w/$d" "$w/$d.$target"
		args+=(--drive-rw "$w/$d.$target")
	done
	for f in $files; do args+=(--file "$w/$f"); done
	if [ $kind = qemu ]; then
		run=("$TOP/scripts/run-qemu.sh" --suite "$target" --smp "$smp" --modules "$modules" --avail "$avail" --progs "$progs")
		for d in $nvdimms; do run+=(--nvdimm "$w/$d"); done
	else
		run=("$TOP/scripts/run-uml.sh" --target "$target")
	fi
	begin=$SECONDS
	# The case's own results carry its name; the guest's status decides the rest.
	"${run[@]}" "${args[@]}" >"$w/console-$target" 2>"$w/status-$target"
	rc=$?
	sed -n "s#^ok #ok $target/$name/#p; s#^not ok #not ok $target/$name/#p" "$w/console-$target"
	if [ -n "$panic" ]; then
		# The first thing that the kernel complains of has to be this panic,
		# and the case has to have come to the point where it is wanted.
		if [ $rc != 0 ] && tail -n 1 "$w/status-$target" |
			grep -qE "kernel log: .*Kernel panic - not syncing: $panic" &&
			grep -qx 'ok before' "$w/console-$target" && ! grep -q '^not ok ' "$w/console-$target"; then
			echo "ok $target/$name/panic"
			rc=0
		elif [ $rc = 0 ]; then
			echo "no panic" >>"$w/status-$target"
			rc=1
		fi
	fi
	# what was strange about a run that counts
	sed -n "s#^\(not at its init\|UML was aborted\)#$target/$name: &#p" "$w/status-$target"
	if [ $rc = 0 ]; then
		if grep -q '^not ok ' "$w/console-$target"; then
			failed=1
		else
			echo "ok $target/$name ($((SECONDS - begin)) s)"
		fi
	else
		failed=1
		grep -avE '^ok ' "$w/console-$target" | tail -n 15 >&2
		echo "not ok $target/$name - $(tail -n 1 "$w/status-$target")"
	fi
	for d in $drives_rw; do rm -f "$w/$d.$target"; done
done
if [ $ran = 0 ]; then
	echo "not ok $target - no case matches '$pat'"
	exit 1
fi
exit $failed
