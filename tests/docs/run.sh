#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh - the commands in the documents: first whether each one is run somewhere
# (commands.py), then those that are run here: what builds and installs in a
# chroot of Debian 13 (chroot.sh), what loads and mounts in a guest with that root
# directory and Linux 7.3 (guest.sh), modules without a known signature in a guest
# that wants one (signed.sh).  DOCS_FULL=1: all of chroot.sh, and Secure Boot.
set -uo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
. "$TOP/tests/boot/boot-lib.sh"
need mmdebstrap git python3 mkfs.ext4 qemu-system-x86_64 gcc
suite=trixie-backports

if [ -z "${DOCS_INSIDE:-}" ]; then
	mkdir -p "$WORK" "$LOGS"
	if python3 "$TOP/tests/docs/commands.py" >"$LOGS/docs-commands.log"; then
		echo "ok table"
	else
		cat "$LOGS/docs-commands.log"
		echo "not ok table - commands in the documents that no test runs, or the reverse"
		exit 1
	fi
	"$TOP/scripts/fetch-kernel.sh" $suite >/dev/null || exit 1
	"$TOP/scripts/fetch-tools.sh" sid >/dev/null || exit 1
	# mkcomposefs isn't in Debian 13 yet.
	d=$CACHE/testtools/mkcomposefs
	lock mkcomposefs
	if [ ! -e "$d/.complete" ]; then
		rm -rf "$d"
		mkdir -p "$d"/usr/{bin,sbin,lib,lib64}
		for p in bin sbin lib lib64; do ln -s "usr/$p" "$d/$p"; done
		(apt_setup sid && unpack_closure "$d" composefs) && : >"$d/.complete" || exit 1
	fi
	"$TOP/tests/boot/mkroot.sh" docs >/dev/null || { echo "not ok chroot - no Debian to work in"; exit 1; }
	ns=(unshare -m)
	[ "$(id -u)" = 0 ] || ns=(unshare -rm)
	export DOCS_INSIDE=1
	exec "${ns[@]}" bash "$0"
fi

rel=$("$TOP/scripts/fetch-kernel.sh" $suite) || exit 1
tree=$("$TOP/tests/boot/mkroot.sh" docs) || exit 1
log=$LOGS/docs-chroot.log
disk=$WORK/docs.disk
begin=$SECONDS
fail=0

chroot_part() {
	local list f src=$ROOT/src/erofs-lts
	module_dir "$rel" "" "$ROOT"
	mkdir -p "$ROOT/debs" "$ROOT/src"
	mapfile -t list < <(grep -E '^linux-(headers|kbuild|base)-' "$CACHE/$rel/.complete")
	for f in "${list[@]}"; do cp "$CACHE/debs/$f" "$ROOT/debs/"; done
	in_tree dpkg --force-unsafe-io --force-depends -i "${list[@]/#//debs/}" >"$log" 2>&1 ||
		{ echo "not ok headers - they do not install, see ${log#"$TOP/"}"; return 1; }
	gcc -O2 -shared -fPIC "-DRELEASE=\"$rel\"" -o "$ROOT/usr/lib/uname.so" "$TOP/tests/tools/uname.c" || return 1
	echo /usr/lib/uname.so >"$ROOT/etc/ld.so.preload"
	source_clone "$src"
	layers "$ROOT/src/layers" >>"$log" 2>&1 || { echo "not ok layers - mkfs.erofs failed, see ${log#"$TOP/"}"; return 1; }
	in_tree env "FULL=${DOCS_FULL:-}" HOME=/ DEBIAN_FRONTEND=noninteractive sh /src/erofs-lts/tests/docs/chroot.sh >>"$log" 2>&1
	f=$?
	grep -E '^(not )?ok ' "$log"
	[ "$f" = 0 ] || return 1
	# The rest needs neither compiler nor headers, nor what is mounted here.
	rm -rf "${ROOT:?}"/{debs,etc/ld.so.preload,boot/*,usr/src/*,usr/lib/gcc,usr/include,usr/lib/linux-kbuild-*}
	for f in proc sys dev tmp; do umount -l "$ROOT/$f"; done
	rm -f "$disk"
	truncate -s 2G "$disk"
	mkfs.ext4 -q -F -O ^has_journal -d "$ROOT" "$disk"
}

# layers DIR: three images for overlays, one image that refers to them, and a twin of
# the first with the same UUID
layers() {
	local i lib mkfs=$CACHE/tools/sid/mkfs.erofs u=2f6b0d1e-5a37-4d0c-9d3f-8f5f0c7f6a11
	mkdir -p "$1"
	for i in 1 2 3; do
		mkdir -p "$WORK/layer/$i"
		echo "$i" >"$WORK/layer/$i/$i"
		echo "$i" >"$WORK/layer/$i/which"
		seq $((i * 10000)) >"$WORK/layer/$i/numbers"
		"$mkfs" -Enoinline_data -U "${u%?}$i" "$1/l$i.img" "$WORK/layer/$i" || return 1
	done
	"$mkfs" "$1/merged.img" "$1/l1.img" "$1/l2.img" "$1/l3.img" || return 1
	echo twin >"$WORK/layer/1/which"
	"$mkfs" -U "${u%?}1" "$1/twin.img" "$WORK/layer/1" || return 1
	# a composefs tree: metadata in an image, data in a directory
	mkdir -p "$WORK/layer/1/dir"
	head -c 100000 /dev/urandom >"$WORK/layer/1/dir/large"
	cp -r "$WORK/layer/1" "$1/tree"
	lib=$(echo "$CACHE"/testtools/mkcomposefs/usr/lib/*-linux-gnu)
	"$lib/ld-linux-x86-64.so.2" --library-path "$lib" "$CACHE/testtools/mkcomposefs/usr/bin/mkcomposefs" \
		--digest-store="$1/objects" "$1/tree" "$1/tree.cfs" || return 1
	rm -rf "$WORK/layer"
}

# guest SCRIPT NAME ARGUMENT...: in a guest
guest() {
	local script=$1 name=$2 status=0
	shift 2
	log=$LOGS/docs-$name.log
	echo "$script" >"$WORK/docs-script"
	begin=$SECONDS
	nice -n 5 "$TOP/scripts/run-qemu.sh" --suite $suite --payload "$TOP/tests/docs/guest" \
		--file "$TOP/tests/vm/guest-lib.sh" --file "$WORK/docs-script=script" --avail ext4 --drive-rw "$disk" --mem 1024 --timeout 1800 \
		--log "$log" "$@" >"$log.out" 2>&1 || status=1
	sed -n "/^ok on /d; s/^\(not \)\?ok /&$name\//p" "$log.out"
	[ $status = 0 ] || { echo "not ok $name - $(tail -n 1 "$log.out")"; return 1; }
	echo "ok $name ($((SECONDS - begin)) s)"
}

# First what the README promises first; with less data than a person would want
if DEMO_MB=20 make -C "$TOP" --no-print-directory demo >"$LOGS/docs-demo.log" 2>&1 &&
	grep -q '^PASS: ' "$LOGS/docs-demo.log"; then
	echo "ok demo ($((SECONDS - begin)) s)"
else
	echo "not ok demo - $(tail -n 1 "$LOGS/docs-demo.log")"
	fail=1
fi
begin=$SECONDS
with_tree "$tree" chroot_part || { echo "not ok chroot - see ${log#"$TOP/"}"; exit 1; }
echo "ok chroot ($((SECONDS - begin)) s)"
guest guest.sh guest || fail=1
guest signed.sh signed --append module.sig_enforce=1 || fail=1
[ -z "${DOCS_FULL:-}" ] || bash "$TOP/tests/boot/secure.sh" || fail=1
rm -f "$disk"
exit $fail
