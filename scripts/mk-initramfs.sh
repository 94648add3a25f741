#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mk-initramfs.sh RELEASE [-b "BOOT MODULES"] [-a "OTHER MODULES"] [-p "PROGRAMS"]
# Print the path of a base initramfs (busybox, modules with what they depend
# on, the init of tests/vm) for a cached kernel; made once per set of options.
# -b is loaded at boot, -a is there for modprobe, PROGRAMS are copied from the
# host with their libraries.  A module that the kernel has built in is no error;
# one that does not exist at all is.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

rel=${1:-}
[ -n "$rel" ] || die "usage: $0 RELEASE [-b modules] [-a modules] [-p programs]"
shift
boot="virtio_pci virtio_blk 9pnet_virtio 9p loop"
avail="" progs=""
while getopts b:a:p: o; do
	case $o in
	b) boot=$OPTARG ;;
	a) avail=$OPTARG ;;
	p) progs=$OPTARG ;;
	*) exit 1 ;;
	esac
done
need cpio modinfo xz
busybox=$(command -v busybox) || die "busybox-static is missing; run scripts/setup-host.sh"
md=$(kernel_moddir "$rel") || die "kernel $rel is not in the cache"
vm=$TOP/tests/vm

binfo() { for p in $progs; do stat -Lc '%n %s %Y' "$(command -v "$p")"; done; }
key=$({ echo "$rel|$boot|$avail|$progs"; binfo; cat "$0" "$vm/init.sh" "$vm/report.sh" "$vm/modprobe.sh"
	stat -Lc '%s %Y' "$busybox" "$CACHE/$rel/.complete"; } | sha256sum | cut -c1-16)
out=$CACHE/initramfs/$rel-$key.cpio
if [ -e "$out" ]; then
	touch "$out"
	printf '%s\n' "$out"
	exit 0
fi
mkdir -p "$CACHE/initramfs"
find "$CACHE/initramfs" -name '*.cpio' -mtime +14 -delete

t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
r=$t/root
mkdir -p "$r"/{bin,sbin,m,dev,proc,sys,tmp,mnt,t,etc,usr}
cp "$busybox" "$r/bin/busybox"
"$r/bin/busybox" --list | grep -vxE 'busybox|init|linuxrc|modprobe' |
	while read -r a; do ln -s busybox "$r/bin/$a"; done
# dash as the shell: busybox's own would run applets instead of what PATH has.
# busybox again for its libraries: it need not be the static one.
progs="busybox dash $progs"
install -m 755 "$vm/init.sh" "$r/init"
install -m 755 "$vm/modprobe.sh" "$r/sbin/modprobe"
install -m 644 "$vm/report.sh" "$r/vm-report.sh"
ln -s ../sbin/modprobe "$r/bin/modprobe"
echo 'root:x:0:0:root:/:/bin/sh' >"$r/etc/passwd"
echo 'root:x:0:' >"$r/etc/group"
: >"$r/etc/fstab"
ln -s /proc/mounts "$r/etc/mtab"

find "$md/kernel" -name '*.ko*' >"$t/list"
sed 's#.*/##; s/\.ko$//; s/-/_/g' "$md/modules.builtin" >"$r/m/builtin"

# add NAME: the module with its dependencies; writes m/NAME.dep
add() {
	local name=${1//-/_} f pat d deps=()
	[ ! -e "$r/m/$name.dep" ] || return 0
	pat=${name//_/[-_]}
	f=$(grep -E "/$pat\.ko(\.xz|\.zst|\.gz)?\$" "$t/list" | head -n 1) || true
	if [ -z "$f" ]; then
		grep -qx "$name" "$r/m/builtin" || die "kernel $rel has no module '$name'"
		return 0
	fi
	for d in $(modinfo -F depends "$f" | tr , ' ') $(softdeps "$name"); do
		d=${d//-/_}
		add "$d"
		if [ -e "$r/m/$d.dep" ]; then
			mapfile -t -O ${#deps[@]} deps <"$r/m/$d.dep"
			deps+=("$d")
		fi
	done
	case $f in
	*.xz) xz -dc "$f" ;;
	*.zst) zstd -qdc "$f" ;;
	*.gz) gzip -dc "$f" ;;
	*) cat "$f" ;;
	esac >"$r/m/$name.ko"
	printf '%s\n' "${deps[@]+"${deps[@]}"}" | awk 'NF && !s[$0]++' >"$r/m/$name.dep"
}
# What is found by alias at run time.
softdeps() {
	case $1 in
	ext4 | libcrc32c) ! grep -q '/crc32c_generic\.ko' "$t/list" || echo crc32c_generic ;;
	esac
}
for m in $boot $avail; do add "$m"; done
for m in $boot; do
	m=${m//-/_}
	if [ -e "$r/m/$m.ko" ]; then echo "$m"; fi
done >"$r/boot-modules"

for p in $progs; do
	f=$(command -v "$p") || die "program '$p' is missing on this host"
	f=$(realpath "$f")
	rm -f "$r/bin/$p"
	install -m 755 "$f" "$r/bin/$p"
	{ ldd "$f" 2>/dev/null | grep -o '/[^ ]*' || true; } | while read -r l; do
		[ -e "$r$l" ] || install -D -m 755 "$l" "$r$l"
	done
done
ln -sf dash "$r/bin/sh"
(cd "$r" && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0) >"$out.tmp"
mv "$out.tmp" "$out"
printf '%s\n' "$out"
