#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# package.sh [PATTERN] - Debian packages: built and checked by lintian in a clean
# Debian 12, then installed; DKMS builds for a kernel, depmod prefers the result,
# removing it brings the kernel's own module back, kernels out of range are left
# alone.  By default for Linux 6.1; PACKAGE_FULL=1: for 6.1, 6.12 and 7.3, the
# last in a Debian 13, and for each the same in a virtual machine that runs the
# kernel: DKMS builds there, the package's autopkgtest mounts an image, removal
# brings the kernel's own driver back.  PATTERN selects by the suite of the kernel.
set -uo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
. "$TOP/tests/boot/boot-lib.sh"
pat=${1:-*}
need mmdebstrap dpkg-deb git

suites=bookworm
[ -z "${PACKAGE_FULL:-}" ] || suites="bookworm bookworm-backports trixie-backports"
of() { case $1 in trixie*) echo trixie ;; *) echo bookworm ;; esac; }

if [ -z "${PACKAGE_INSIDE:-}" ]; then
	mkdir -p "$WORK" "$LOGS"
	for s in bookworm $suites; do
		"$TOP/scripts/fetch-kernel.sh" "$s" >/dev/null || exit 1
		"$TOP/tests/boot/mkroot.sh" "dkms-$(of "$s")" >/dev/null ||
			{ echo "not ok chroot - no Debian to build in"; exit 1; }
	done
	# Headers of a backported kernel want that release's linux-base.
	for s in $suites; do
		rm -f "$WORK/linux-base-$s"
		[ "$s" != bookworm-backports ] ||
			(apt_setup "$s" && deb_get linux-base) >"$WORK/linux-base-$s" || exit 1
	done
	# erofs-utils with what a minimal system lacks of its dependencies
	for s in ${PACKAGE_FULL:+$suites}; do
		u=erofs-utils
		[ "$(of "$s")" = bookworm ] || u="erofs-utils libdeflate0"
		# shellcheck disable=SC2086  # a list of words
		(apt_setup "$(of "$s")" && for p in $u; do deb_get $p || exit 1; done) >"$WORK/utils-$s" || exit 1
	done
	ns=(unshare -m)
	[ "$(id -u)" = 0 ] || ns=(unshare -rm)
	export PACKAGE_INSIDE=1
	exec "${ns[@]}" bash "$0" "$pat"
fi

fail=0
ok() { echo "ok $1"; }
not_ok() { fail=1; echo "not ok $1 - $2"; }
check() {
	local n=$1
	shift
	if "$@" >>"$log" 2>&1; then ok "$n"; else not_ok "$n" "$*, see ${log#"$TOP/"}"; fi
}
same() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "'$2' instead of '$3'"; fi; }

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$TOP/dkms.conf")
debs=$WORK/debs

build_packages() {
	rm -rf "$debs"
	mkdir -p "$debs"
	source_copy "$ROOT/build/erofs-lts"
	in_tree sh -c 'cd /build/erofs-lts && dpkg-buildpackage -us -uc -b' >>"$log" 2>&1 ||
		{ not_ok build "dpkg-buildpackage failed, see ${log#"$TOP/"}"; return 1; }
	ok build
	in_tree sh -c 'cd /build && lintian --allow-root --fail-on error,warning --info *.changes' >"$log.lintian" 2>&1 ||
		echo "E: lintian ended with an error" >>"$log.lintian"
	if grep -E '^[EW]: ' "$log.lintian"; then not_ok lintian "see ${log#"$TOP/"}.lintian"; else ok lintian; fi
	cp "$ROOT"/build/*.deb "$debs/" || return 1
	same packages "$(cd "$debs" && echo *.deb)" "erofs-lts-dkms_${version}_all.deb erofs-lts-doc_${version}_all.deb"
	# What boot.md and install.md promise to be in there
	dpkg-deb -c "$debs"/erofs-lts-dkms_*.deb >"$debs/list"
	for f in usr/share/initramfs-tools/hooks/erofs-lts usr/share/initramfs-tools/scripts/local-block/erofs-lts \
		usr/share/initramfs-tools/scripts/local-bottom/erofs-lts usr/lib/dracut/modules.d/90erofs-lts/module-setup.sh \
		usr/share/man/man5/erofs-lts.5.gz "usr/src/erofs-lts-$version/dkms.conf"; do
		grep -q " \./$f\$" "$debs/list" || { not_ok contents "$f is missing"; return 1; }
	done
	ok contents
	dpkg-deb -x "$debs"/erofs-lts-doc_*.deb "$debs/doc"
	if [ ! -s "$debs/doc/usr/share/doc/erofs-lts-doc/README.md" ]; then
		not_ok doc-links "no README.md in the package of documents"
	else
		same doc-links "$(dead_links "$debs/doc")" ""
	fi
	rm -r "$debs/doc"
	[ "$fail" = 0 ]
}

# dead_links DIR: links of Markdown files to files that aren't there
dead_links() {
	find "$1" -name '*.md' | while read -r f; do
		grep -oE '\]\([^)# ]+' "$f" | sed 's/^](//' | grep -v '://' | sort -u | while read -r link; do
			[ -e "$(dirname "$f")/$link" ] || echo "${f#"$1"}: no file for the link $link"
		done
	done
}

# The release script, in a clone
release() {
	local w=$WORK/release v="99.0.1"
	rm -rf "$w"
	git -c safe.directory='*' clone -q "$TOP" "$w" || return 1
	cp "$TOP/scripts/release.sh" "$w/scripts/"
	sed -i "0,/^## /s//## $v (not released)\n\n- Something new.\n\n## /" "$w/CHANGELOG.md"
	git -C "$w" config user.name "Release Test"
	git -C "$w" config user.email "test@example.org"
	git -C "$w" config commit.gpgsign false
	git -C "$w" add CHANGELOG.md scripts/release.sh
	git -C "$w" commit -q -m "before the release"
	"$w/scripts/release.sh" --no-tests "$v" || return 1
	tar -C "$w/build" -xf "$w/build/release/erofs-lts-$v.tar.xz" || return 1
	grep -qx "PACKAGE_VERSION=\"$v\"" "$w/build/erofs-lts-$v/dkms.conf" || return 1
	grep -q "EROFS_LTS_VERSION.*\"$v\"" "$w/build/erofs-lts-$v/internal.h" || return 1
	head -n 1 "$w/build/erofs-lts-$v/debian/changelog" | grep -q "^erofs-lts ($v) unstable" || return 1
	[ "$(git -C "$w" describe)" = "v$v" ] || return 1
	# The same again, and one without a section in CHANGELOG.md
	! "$w/scripts/release.sh" --no-tests "$v" || return 1
	! "$w/scripts/release.sh" --no-tests 99.0.2 || return 1
	rm -rf "$w"
}

# module REL: where modprobe would find the module of that kernel
module() { in_tree modinfo -k "$1" -F filename erofs 2>>"$log" | sed 's#.*/modules/[^/]*/##; s/\.xz$//'; }

# vm_disk SUITE: this root directory, as it is before the package is installed, on a
# disk; with erofs-utils, which the autopkgtest depends on
vm_disk() {
	local d
	mapfile -t list <"$WORK/utils-$1"
	mkdir -p "$ROOT/debs/utils" "$ROOT/autopkgtest"
	cp "${list[@]}" "$ROOT/debs/utils/"
	in_tree sh -c 'dpkg --force-unsafe-io -i /debs/utils/*.deb' >>"$log" 2>&1 || return 1
	cp "$TOP"/debian/tests/* "$ROOT/autopkgtest/"
	rm -f "$WORK/vm.disk"
	truncate -s 2G "$WORK/vm.disk"
	# Not what is mounted there
	for d in proc sys dev tmp; do ! mountpoint -q "$ROOT/$d" || umount -l "$ROOT/$d"; done
	mkfs.ext4 -q -F -O ^has_journal -d "$ROOT" "$WORK/vm.disk" >>"$log" 2>&1
}

dkms_cycle() { # SUITE REL
	local n=$1 rel=$2 out list old=5.10.0-99-amd64 major
	# No kernel package: its modules and headers are enough for DKMS and depmod.
	MODULE_DIRS="fs/erofs fs/netfs lib crypto" module_dir "$rel" "" "$ROOT"
	cp -a "$debs" "$ROOT/debs"
	mapfile -t list < <(grep -E '^linux-(headers|kbuild|base)-' "$CACHE/$rel/.complete")
	[ ! -e "$WORK/linux-base-$n" ] || list+=("$(basename "$(cat "$WORK/linux-base-$n")")")
	for f in "${list[@]}"; do cp "$CACHE/debs/$f" "$ROOT/debs/"; done
	# The compiler's package is there under its own name.
	in_tree dpkg --force-unsafe-io --force-depends -i "${list[@]/#//debs/}" >>"$log" 2>&1 ||
		{ not_ok "$n-headers" "headers do not install, see ${log#"$TOP/"}"; return 1; }
	same "$n-before" "$(module "$rel")" kernel/fs/erofs/erofs.ko
	if [ -n "${PACKAGE_FULL:-}" ]; then
		vm_disk "$n" || { not_ok "$n-vm" "no disk for the virtual machine, see ${log#"$TOP/"}"; return 1; }
	fi
	check "$n-install" in_tree dpkg --force-unsafe-io --force-depends -i /debs/erofs-lts-dkms_"$version"_all.deb
	# What a kernel package's hook calls after the kernel is unpacked
	check "$n-autoinstall" in_tree /etc/kernel/postinst.d/dkms "$rel"
	cat "$ROOT"/var/lib/dkms/erofs-lts/*/build/make.log >>"$log" 2>/dev/null
	same "$n-status" "$(in_tree dkms status -m erofs-lts -k "$rel" | sed 's/, /,/g; s/ (.*//')" \
		"erofs-lts/$version,$rel,x86_64: installed"
	same "$n-preferred" "$(module "$rel")" updates/dkms/erofs.ko
	out=$(in_tree modprobe -S "$rel" --show-depends erofs 2>>"$log" | grep -c '/updates/dkms/erofs\.ko')
	same "$n-modprobe" "$out" 1
	same "$n-vermagic" "$(in_tree modinfo -k "$rel" -F vermagic erofs | cut -d' ' -f1)" "$rel"

	# A kernel that is too old: no build, a reason, no failure of its package
	mkdir -p "$ROOT/usr/lib/modules/$old"
	cp -a "$ROOT/usr/src/linux-headers-$rel" "$ROOT/usr/src/linux-headers-$old"
	ln -s "/usr/src/linux-headers-$old" "$ROOT/usr/lib/modules/$old/build"
	out=$(in_tree dkms build "erofs-lts/$version" -k "$old" 2>&1)
	same "$n-too-old" "$(grep -c BUILD_EXCLUSIVE <<<"$out")" 1
	same "$n-too-old-none" "$(find "$ROOT/usr/lib/modules/$old" -name '*.ko*')" ""
	same "$n-too-old-reason" "$(grep -c 'is not between' <<<"$out" | sed 's/[1-9].*/said/')" said
	# Debian 12's DKMS takes a module that isn't for this kernel for a failure.
	[ "$(of "$n")" = bookworm ] || check "$n-too-old-hook" in_tree /etc/kernel/postinst.d/dkms "$old"
	# EROFS built in: the same, and a word about the way out
	major=${rel%%.*}
	sed -i 's/^CONFIG_EROFS_FS=m/CONFIG_EROFS_FS=y/' "$ROOT/usr/src/linux-headers-$old/.config"
	mv "$ROOT/usr/lib/modules/$old" "$ROOT/usr/lib/modules/$major.3.0-built-in"
	out=$(in_tree dkms build "erofs-lts/$version" -k "$major.3.0-built-in" 2>&1)
	same "$n-built-in" "$(grep -c 'EROFS built in' <<<"$out" | sed 's/[1-9].*/said/')" said
	same "$n-built-in-none" "$(find "$ROOT/usr/lib/modules/$major.3.0-built-in" "$ROOT/var/lib/dkms/erofs-lts" -path '*built-in*' -name '*.ko*')" ""
	[ "$(of "$n")" = bookworm ] || check "$n-built-in-hook" in_tree /etc/kernel/postinst.d/dkms "$major.3.0-built-in"
	rm -rf "$ROOT/usr/lib/modules/$major.3.0-built-in"

	check "$n-purge" in_tree dpkg --force-unsafe-io --force-depends -P erofs-lts-dkms
	same "$n-restored" "$(module "$rel")" kernel/fs/erofs/erofs.ko
	same "$n-source-gone" "$(find "$ROOT/usr/src" -maxdepth 1 -name 'erofs-lts*')" ""
	[ "$fail" = 0 ]
}

begin=$SECONDS
log=$LOGS/package-build.log
: >"$log"
check release release
same version "$(sed -n 's/^#define EROFS_LTS_VERSION[[:space:]]*"\(.*\)"/\1/p' "$TOP/internal.h")" "$version"
with_tree "$("$TOP/tests/boot/mkroot.sh" dkms-bookworm)" build_packages || exit 1
echo "ok build-and-lintian ($((SECONDS - begin)) s)"
for suite in $suites; do
	# shellcheck disable=SC2053  # a pattern on purpose
	[[ $suite == $pat ]] || continue
	begin=$SECONDS
	rel=$("$TOP/scripts/fetch-kernel.sh" "$suite")
	log=$LOGS/package-$suite.log
	: >"$log"
	with_tree "$("$TOP/tests/boot/mkroot.sh" "dkms-$(of "$suite")")" dkms_cycle "$suite" "$rel" || { fail=1; continue; }
	echo "ok $suite-dkms ($((SECONDS - begin)) s)"
	[ -n "${PACKAGE_FULL:-}" ] || continue
	# All of it on the running kernel
	begin=$SECONDS
	if "$TOP/scripts/run-qemu.sh" --suite "$suite" --payload "$TOP/tests/boot/package-guest" --avail ext4 \
		--file "$TOP/tests/vm/guest-lib.sh" --drive-rw "$WORK/vm.disk" --mem 1536 --timeout 5400 --log "$LOGS/package-$suite-vm.log" \
		>"$LOGS/package-$suite-vm.out" 2>&1; then
		sed -n "/^ok on /d; s/^ok /ok $suite-vm-/p" "$LOGS/package-$suite-vm.out"
		ok "$suite-vm ($((SECONDS - begin)) s)"
	else
		sed -n "s/^\(not \)\?ok /&$suite-vm-/p" "$LOGS/package-$suite-vm.out"
		not_ok "$suite-vm" "$(tail -n 1 "$LOGS/package-$suite-vm.out")"
	fi
	rm -f "$WORK/vm.disk"
done
exit $fail
