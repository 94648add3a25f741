#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-uml.sh - boot a User Mode Linux kernel (build-uml.sh) on the host's own
# files and run a payload in it.  Judged like run-qemu.sh: token, status, log.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/vm-lib.sh"

usage() {
	cat >&2 <<-'E'
	run-uml.sh --payload DIR [options]
	  --version V      6.12 (default) or 6.1   --flavour debug|fast (debug)
	  --target T       both in one word: uml-FLAVOUR or uml-VERSION-FLAVOUR
	  --payload DIR    its executable "run" is the test; $T is this directory
	  --file PATH[=NAME]  put a file or directory beside it (repeat)
	  --drive FILE     read-only disk (repeat): /dev/ubda, /dev/ubdb ... in $DISKS
	  --drive-rw FILE  the same, writable
	  --out DIR        what the guest writes to $OUT appears here
	  --mem MB         memory (768)            --timeout S  limit (120)
	  --append "ARGS"  kernel command line
	  --allow REGEX    kernel log lines that the test provokes on purpose
	  --log FILE       console log             --quiet      no payload output
	E
	exit 2
}

version=6.12 flavour=debug payload="" out="" mem=768 timeout=120 append="" allow="" log="" quiet=""
drives=() files=()
while [ $# -gt 0 ]; do
	case $1 in
	--version) version=$2; shift ;;
	--flavour) flavour=$2; shift ;;
	--target)
		flavour=${2##*-}
		case $2 in uml-*-*) version=${2#uml-} version=${version%-*} ;; esac
		shift
		;;
	--payload) payload=$2; shift ;;
	--file) files+=("$2"); shift ;;
	--drive) drives+=("r:$2"); shift ;;
	--drive-rw) drives+=(":$2"); shift ;;
	--out) out=$2; shift ;;
	--mem) mem=$2; shift ;;
	--timeout) timeout=$2; shift ;;
	--append) append=$2; shift ;;
	--allow) allow=$2; shift ;;
	--log) log=$2; shift ;;
	--quiet) quiet=1 ;;
	*) usage ;;
	esac
	shift
done
[ -n "$payload" ] || usage
[ -x "$payload/run" ] || die "$payload/run is missing or not executable"
need timeout gcc
build=$("$TOP/scripts/build-uml.sh" "$version" "$flavour")
[ -n "$log" ] || log=$TOP/build/logs/uml-$(basename "$payload")-$version-$flavour.log
mkdir -p "$(dirname "$log")"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/t" "$tmp/shm" "$tmp/out"
cp -a "$payload/." "$tmp/t/"
for f in "${files[@]+"${files[@]}"}"; do
	name=${f#*=}
	[ "$name" != "$f" ] || name=$(basename "$f")
	cp -a "${f%%=*}" "$tmp/t/$name"
done
[ -n "$out" ] || out=$tmp/out
mkdir -p "$out"
out=$(realpath "$out")

# What the kernel lacks on processors with large registers.
xstate=$CACHE/testtools/uml-xstate-$(sha256sum <"$TOP/tests/vm/uml-xstate.c" | cut -c1-12).so
if [ ! -e "$xstate" ]; then
	mkdir -p "$CACHE/testtools"
	gcc -O2 -Wall -Wextra -shared -fPIC -o "$xstate.$$" "$TOP/tests/vm/uml-xstate.c" ||
		die "uml-xstate.c does not compile"
	mv "$xstate.$$" "$xstate"
fi

nonce=$(new_nonce)
args=("mem=${mem}M" root=/dev/root rootfstype=hostfs rw "init=$TOP/tests/vm/uml-init.sh"
	con=null "con0=null,fd:1" quiet panic=-1 log_buf_len=4M
	"test.nonce=$nonce" "test.payload=$tmp/t" "test.out=$out" "test.vm=$TOP/tests/vm")
# The first report decides; after a stray access UML would spin for ever.
[ "$flavour" = fast ] || args+=(kasan.fault=panic)
n=0
for d in "${drives[@]+"${drives[@]}"}"; do
	args+=("ubd$n${d%%:*}=$(realpath "${d#*:}")")
	n=$((n + 1))
done
# shellcheck disable=SC2206  # a list of words on purpose
args+=($append)

# The guest's memory is a sparse file; /dev/shm is small in some containers.
ramdir=/dev/shm
[ "$(df -Pm /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')" -gt $((mem * 2)) ] 2>/dev/null ||
	ramdir=${TMPDIR:-/tmp}

: >"$log"
start=$SECONDS
urc=0
show() {
	if [ -n "$quiet" ]; then
		cat >/dev/null
	else
		sed -un "/VM-BEGIN $nonce/,/VM-RC $nonce/{/VM-BEGIN\|VM-RC/!p}"
	fi
}
set +e
TMPDIR=$ramdir LD_PRELOAD=$xstate timeout -k 5 "$timeout" "$build/linux" "${args[@]}" </dev/null 2>&1 |
	tr -d '\r' | tee "$log" | show
urc=${PIPESTATUS[0]}
set -e
why=
if [ "$urc" = 124 ] || [ "$urc" = 137 ]; then
	why="no end within $timeout s"
elif [ "$urc" = 134 ] && tail -n 1 "$log" | grep -q 'reboot: Power down'; then
	# Seen once, reason unknown: the guest is done, its verdict stands.
	say "UML was aborted after it had powered down"
elif [ "$urc" = 134 ]; then
	why="kernel panic"
elif [ "$urc" != 0 ]; then
	why="UML ended with status $urc"
fi
reason=$(judge "$nonce" "$log" "$allow") || why=${reason}${why:+ ($why)}
if [ -n "$why" ]; then
	say "FAILED on UML $version $flavour: $why; log: $log"
	exit 1
fi
say "ok on UML $version $flavour, $((SECONDS - start)) s"
