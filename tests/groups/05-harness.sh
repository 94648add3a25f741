#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The machinery itself: what must make a run fail does make it fail.
# limit: 900
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
. scripts/lib.sh
. scripts/vm-lib.sh
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
failed=0
result() { # NAME STATUS
	if [ "$2" = 0 ]; then echo "ok harness/$1"; else echo "not ok harness/$1 - see the script"; failed=1; fi
}

# ---- how a guest's console is judged ----------------------------------------
N=0123456789abcdef
console() { # RC "LOG LINES" SUCCESS-NONCE
	printf '%s\n' "boot noise: WARNING: before the test" "VM-BEGIN $N up 1 s" "payload" "VM-RC $N $1" \
		"VM-DMESG-BEGIN $N" "$2" "VM-DMESG-END $N" ${3:+"VM-SUCCESS $3"}
}
verdict() { # NAME good|bad [ALLOW], console on stdin
	cat >"$t/log"
	if judge $N "$t/log" "${3:-}" >"$t/why"; then got=good; else got=bad; fi
	[ $got = "$2" ]
	result "judge-$1" $?
}
console 0 "quiet" $N | verdict clean good
console 0 "quiet" "" | verdict no-token bad
console 0 "quiet" fedcba9876543210 | verdict token-of-another-run bad
console 1 "quiet" $N | verdict status bad
console 0 "[ 1.0] WARNING: CPU: 0 PID: 1 at fs.c:1" $N | verdict warning bad
console 0 "[ 1.0] BUG: KASAN: use-after-free in x" $N | verdict kasan bad
console 0 "[ 1.0] WARNING: possible circular locking dependency detected" $N | verdict lockdep bad
console 0 "[ 1.0] INFO: task x:1 blocked for more than 120 seconds." $N | verdict hung-task bad
console 0 "[ 1.0] UBSAN: array-index-out-of-bounds in x" $N | verdict ubsan bad
kcsan() { printf '[ 1.0] %s\n' "BUG: KCSAN: data-race in f / g" "read to 0x1 of 4 bytes by task 1 on cpu 0:" " $1" \
	"==================================================================" | sed "$2"; }
console 0 "$(kcsan 'f+0x1/0x2 [erofs]' '')" $N | verdict race bad
console 0 "$(kcsan 'f+0x1/0x2 [erofs]' 's/^\[ 1.0\]/[    1.000000][   T12]/')" $N | verdict race-of-task bad
console 0 "$(kcsan 'f+0x1/0x2 [erofs]' '/====/d')" $N | verdict race-at-the-end bad
console 0 "$(kcsan 'f+0x1/0x2' '')" $N | verdict race-of-others good
console 0 "[ 1.0] WARNING: provoked" $N | verdict allowed good 'WARNING: provoked'
console 0 "[ 1.0] WARNING: another" $N | verdict not-allowed bad 'WARNING: provoked'
console 0 "quiet" $N | sed "s/^VM-RC/VM-KMEMLEAK $N 2\nVM-RC/" | verdict kmemleak bad
console 0 "quiet" $N | sed '/VM-RC/,$d' | verdict died-early bad
printf 'no boot\n' | verdict no-boot bad

# ---- guests that don't reach their init ---------------------------------------
# In the place of QEMU: so many times nothing but a first line, then a good console,
# or one that ends early
mkdir -p "$t/bin" "$t/payload" "$t/cache/0.0"
cat >"$t/bin/qemu-system-x86_64" <<'E'
#!/bin/sh
for a; do
	case $a in
	file:*) log=${a#file:} ;;
	*test.nonce=*) n=${a##*test.nonce=} n=${n%% *} ;;
	esac
done
echo started >>"$FAKE.starts"
echo "boot" >>"$log"
[ "$(wc -l <"$FAKE.starts")" -gt "$FAKE_BAD" ] || exit 0
echo "VM-BEGIN $n" >>"$log"
[ "$FAKE_END" = good ] || exit 0
printf '%s\n' "VM-RC $n 0" "VM-DMESG-BEGIN $n" "VM-DMESG-END $n" "VM-SUCCESS $n" >>"$log"
E
printf '#!/bin/sh\n' >"$t/payload/run"
chmod +x "$t/bin/qemu-system-x86_64" "$t/payload/run"
: >"$t/cache/0.0/vmlinux"
mkdir "$t/top"
cp -r scripts "$t/top/"
printf '#!/bin/sh\necho /dev/null\n' >"$t/top/scripts/mk-initramfs.sh"
# starts NAME TIMES-BAD END EXPECTED-STATUS EXPECTED-STARTS
starts() {
	rm -f "$t/fake.starts"
	PATH=$t/bin:$PATH FAKE=$t/fake FAKE_BAD=$2 FAKE_END=$3 EROFS_LTS_CACHE=$t/cache \
		"$t/top/scripts/run-qemu.sh" --release 0.0 --payload "$t/payload" --log "$t/guest.log" >"$t/out" 2>&1
	[ $? = "$4" ] && [ "$(wc -l <"$t/fake.starts")" = "$5" ]
	result "guest-$1" $?
}
starts at-once 0 good 0 1
starts again 1 good 0 2
starts once-more 2 good 0 3
starts never 3 good 1 3
starts dies-in-test 0 dies 1 1

# ---- apt writes line by line ----------------------------------------------------
cat >"$t/bin/apt-cache" <<'E'
#!/bin/sh
case $* in
*depends*) set -- linux-image-amd64 "  Depends: linux-image-6.1.0-57-amd64" "  Suggests: x" "  Suggests: y" ;;
*) set -- "Package: p" "Version: 1:2" "Architecture: all" "Filename: pool/p.deb" "SHA256: 0" "" "Package: q" "Version: 3" ;;
esac
for l; do
	echo "$l"
	sleep 0.05
done
E
cat >"$t/bin/apt-get" <<'E'
#!/bin/sh
for l in "Debian|http://one/debian/" "Debian|http://two/debian/" "Other|x"; do
	echo "$l"
	sleep 0.05
done
E
chmod +x "$t/bin/apt-cache" "$t/bin/apt-get"
reads_all() { # COMMAND RESULT
	# shellcheck disable=SC2016  # for the other shell
	got=$(PATH=$t/bin:$PATH bash -c 'set -euo pipefail; . scripts/lib.sh; APT_OPTS=(); x=$('"$1"'); echo "$x"') && [ "$got" = "$2" ]
	result "apt-${1%% *}" $?
}
reads_all kernel_image linux-image-6.1.0-57-amd64
reads_all 'deb_name p' p_1%3a2_all.deb
reads_all 'mirror_uri Debian' http://one/debian/

# ---- the driver's counting --------------------------------------------------
counts() { # NAME EXPECTED-LAST-LINE, group script on stdin
	rm -rf "$t/groups"
	mkdir "$t/groups"
	cat >"$t/groups/10-fake.sh"
	GROUPS_DIR=$t/groups LOGS_DIR=$t/logs bash tests/run.sh >"$t/out" 2>&1
	rc=$?
	[ "$(tail -n 1 "$t/out")" = "$2" ] &&
		case $2 in *' 0 failed') [ $rc = 0 ] ;; *) [ $rc != 0 ] ;; esac
	result "driver-$1" $?
}
counts passes '2 passed, 0 failed' <<<'echo "ok a"; echo "ok b"'
counts failure '1 passed, 1 failed' <<<'echo "ok a"; echo "not ok b - x"'
counts skip '1 passed, 1 failed' <<<'echo "ok a"; echo "ok b # skip no tool"'
counts silence '0 passed, 1 failed' <<<'true'
counts crash '1 passed, 1 failed' <<<'echo "ok a"; exit 9'
counts hang '1 passed, 1 failed' <<<'# limit: 1
echo "ok a"; exec sleep 30'
# Which groups a pattern means; what follows the slash is for the group.
rm -rf "$t/groups"
mkdir "$t/groups"
for f in 10-one 11-one-more 12-two; do
	# shellcheck disable=SC2016  # for the group
	echo 'echo "ok $(basename "$0" .sh) $TEST_FILTER"' >"$t/groups/$f.sh"
done
pattern() { # PATTERN RESULT...
	GROUPS_DIR=$t/groups LOGS_DIR=$t/logs bash tests/run.sh "$1" >"$t/out" 2>&1
	[ "$(sed -n 's/^\[.*: ok //p' "$t/out" | paste -sd,)" = "$2" ]
	result "driver-pattern-$1" $?
}
pattern 'one*' '10-one ,11-one-more '
pattern one '10-one ,11-one-more '
pattern one/this '10-one this,11-one-more this'
pattern two '12-two '
pattern three ''

# ---- probes -----------------------------------------------------------------
mkdir -p "$t/k/include/linux" "$t/k/include/generated"
: >"$t/k/include/linux/fs.h"
: >"$t/k/include/generated/autoconf.h"
! sh compat/probe.sh "$t/k" "$t/config.h" >/dev/null 2>&1
result probe-empty-tree $?
printf 'int register_filesystem(struct file_system_type *);\n/* int folio_end_read(x); */\n' >"$t/k/include/linux/fs.h"
printf 'HAVE_SANE_HEADERS decl linux/fs.h register_filesystem\\(\nHAVE_COMMENT decl linux/fs.h folio_end_read\n' >"$t/tab"
PROBE_TABLE=$t/tab sh compat/probe.sh "$t/k" "$t/config.h" && ! grep -q 'define HAVE_COMMENT' "$t/config.h"
result probe-ignores-comments $?
echo 'HAVE_NO_SUCH_INTERFACE decl linux/fs.h register' >>"$t/tab"
! PROBE_TABLE=$t/tab sh compat/probe.sh "$t/k" "$t/config.h" >/dev/null 2>&1
result probe-negative-control $?

# ---- supported range --------------------------------------------------------
range() { # RELEASE good|bad
	echo "#define UTS_RELEASE \"$1\"" >"$t/k/include/generated/utsrelease.h"
	if sh scripts/check-kdir.sh "$t/k" 2>"$t/why"; then got=good; else got=bad; fi
	[ $got = "$2" ] && [ "$(wc -l <"$t/why")" -le 1 ]
	result "range-$1" $?
}
range 6.0.19 bad
range 5.10.0-30-amd64 bad
range 6.1.0-57-amd64 good
range 6.12.95+deb12-amd64 good
range 7.3.4+deb13-amd64 good
range 7.4.0-rc1 bad
range 10.0.1 bad

# What comes of it: make ends with the sentence, for kbuild without make as well;
# and so does a release in the range that the driver no longer builds for.
says() { # NAME LAST-LINE COMMAND...
	local name=$1 want=$2
	shift 2
	! "$@" >"$t/out" 2>&1 && grep -v '^make' "$t/out" | tail -n 1 | grep -qF "$want"
	result "$name" $?
}
echo '#define UTS_RELEASE "7.4.0-rc1"' >"$t/k/include/generated/utsrelease.h"
says build-out-of-range 'Linux 7.4.0-rc1 is not supported: this driver builds for Linux 6.1 to 7.3.' \
	make module "KDIR=$t/k" "OUT=$t/ko"
says kbuild-out-of-range 'Linux 7.4 is not supported: this driver builds for Linux 6.1 to 7.3' \
	make -f Kbuild VERSION=7 PATCHLEVEL=4 src=.
printf 'modules:\n\t@echo "super.c:1: error: too few arguments"\n\t@false\n' >"$t/k/Makefile"
echo '#define UTS_RELEASE "6.12.999+deb12-amd64"' >"$t/k/include/generated/utsrelease.h"
says build-broken-by-release 'This driver does not build for Linux 6.12.999+deb12-amd64: see the messages above.' \
	make module "KDIR=$t/k" "OUT=$t/ko"

# ---- make lint: all that is missing is said at once, and nothing fetched ---------
mkdir "$t/few"
for c in bash git dirname mkdir grep sort; do ln -s "$(command -v $c)" "$t/few/"; done
! PATH=$t/few EROFS_LTS_CACHE=$t/none bash scripts/lint.sh >"$t/out" 2>&1 && [ "$(wc -l <"$t/out")" = 1 ] &&
	grep -q 'missing:.* clang-format .* perl .* xz .*sh scripts/setup-host\.sh test' "$t/out" && [ ! -e "$t/none" ]
result lint-says-what-is-missing $?

# ---- make install ------------------------------------------------------------
make -n -o module install "KDIR=$t/k" "DESTDIR=$t/dest" >"$t/out" 2>&1 &&
	grep -qF "\"$t/dest/lib/modules/6.12.999+deb12-amd64/updates\"" "$t/out" && ! grep -q '"/lib/modules' "$t/out"
result install-destdir $?
# Of a kernel whose headers are gone
mkdir -p "$t/dest/lib/modules/$(uname -r)/updates"
: >"$t/dest/lib/modules/$(uname -r)/updates/erofs.ko"
make uninstall "DESTDIR=$t/dest" >/dev/null 2>&1
[ ! -e "$t/dest/lib/modules/$(uname -r)/updates/erofs.ko" ]
result uninstall-without-headers $?
says uninstall-of-nothing 'No kernel headers in' make uninstall "KDIR=$t/none" "DESTDIR=$t/dest"

# ---- copies of the source ------------------------------------------------------
for f in source_copy source_clone; do
	says $f-of-no-checkout "needs a git checkout, which $t/k is not" eval "(TOP=$t/k; $f $t/copy)"
done

# ---- the pre-commit hook ------------------------------------------------------
# In a clone that has what isn't committed yet, too
source_clone "$t/clone"
g() { git -C "$t/clone" -c user.name=test -c user.email=test@example.org -c commit.gpgsign=false "$@"; }
g add -A
g commit -q --no-verify --allow-empty -m "what is here"
g config core.hooksPath .githooks
# commit NAME [CHECK MESSAGE]: taken, or refused with MESSAGE by that check of
# scripts/lint.sh alone ("git": by git diff --check)
commit() {
	local want=${2:-taken} got=taken rc=1
	g add -A
	g commit -q -m "$1" >"$t/why" 2>&1 || got=$(sed -n 's#^not ok lint/\([a-z-]*\) .*#\1#p' "$t/why" | paste -sd,)
	if [ "${got:=git}" != "$want" ] || { [ "$want" != taken ] && ! grep -qF -e "$3" "$t/why"; }; then
		echo "hook: '$1' was to be $want, is $got:"
		cat "$t/why"
	else
		rc=0
	fi
	result "hook-$1" $rc
	g reset -q --hard
}
cd "$t/clone" || exit 1
echo "Another line." >>README.md
commit good-text
printf 'This is te%s word.\n' h >>README.md
commit misspelt codespell 'te''h ==> the'
printf 'Spaces at the end. \n' >>README.md
commit spaces git 'trailing whitespace.'
# shellcheck disable=SC2016  # as it is
printf '```sh\nmount -o a-command-of-no-test\n```\n' >>README.md
commit command-without-test documents 'no test runs: mount -o a-command-of-no-test'
sed -i '/test: test.sh "/s/ "make / "made /' tests/docs/elsewhere.tab
commit command-of-stale-test documents "test.sh has no line with 'made --no-print-directory test'"
printf '\n/* A comment. */\n' >>map.c
commit good-c
printf 'static inline int f(int a)\n{\n\tif(a) {\n\t\treturn 1;\n\t}\n\treturn 0;\n}\n' >>map.c
commit style checkpatch 'ERROR:SPACING: space required before the open parenthesis'
# shellcheck disable=SC2016
printf '#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0\n# x\nfor f in $(ls); do rm $f; done\n' >scripts/x.sh
commit script shellcheck 'SC2045'
exit $failed
