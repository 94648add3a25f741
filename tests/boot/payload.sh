#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# payload.sh TREE OUT - make, in the directory OUT, what the guest checks work on,
# apart from the root file system:
#	super.img, super.tab	Android-like: logical partitions, each an EROFS image
#				with a dm-verity hash tree behind it
#	p/			images of layers, an extension image, sums, programs
# TREE is the root directory that mkroot.sh made; programs are taken from there.
# Runs in a mount namespace, as root there.
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
[ $# = 2 ] || die "usage: $0 TREE OUT"
tree=$1 out=$2
mkfs=$(command -v mkfs.erofs || echo "$CACHE/tools/1.5/mkfs.erofs")
mkfs9=$CACHE/tools/sid/mkfs.erofs
need setcap setfattr veritysetup gcc
rm -rf "$out"
mkdir -p "$out/p"
p=$out/p
src=$out/src
mkdir "$src"
sums() { (cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum); }

gcc -O2 -static -o "$p/stress" "$TOP/tests/tools/stress.c" -lpthread

# ---- Android-like -------------------------------------------------------------
# In a tmpfs: there root of a user namespace may set security.* xattrs too.
a=$out/android
mkdir "$a"
mount -t tmpfs android "$a"
# label TREE TYPE: as SELinux stores it, the zero at the end included
label() {
	find "$1" -exec setfattr -h -n security.selinux \
		-v "0x$(printf 'u:object_r:%s:s0\0' "$2" | od -An -v -tx1 | tr -d ' \n')" {} +
}
mkdir -p "$a"/system/{bin,lib,etc/init,framework} "$a"/vendor/{bin,lib/modules,etc} "$a/product/app/Demo" "$a/odm/etc"
cp "$tree"/usr/bin/{sha256sum,sort,cat,find,grep,sed,tar} "$tree/usr/sbin/capsh" "$a/system/bin/"
cp -L "$tree"/usr/lib/x86_64-linux-gnu/{ld-linux-x86-64.so.2,libc.so.6,libselinux.so.1,libpcre2-8.so.0,libacl.so.1,libm.so.6} \
	"$tree"/usr/lib/x86_64-linux-gnu/{libcap.so.2,libpsx.so.2,libcrypto.so.3,libcryptsetup.so.12} "$a/system/lib/"
cp "$TOP"/*.[ch] "$a/system/etc/init/"
# not through links: they are absolute and would leave the tree
find "$tree"/usr/bin/systemd* "$tree"/usr/lib/systemd/systemd-* -maxdepth 0 -type f -exec cat {} + \
	>"$a/system/framework/boot.jar"
ln -s ../bin/capsh "$a/system/etc/link"
cp -r "$TOP"/Documentation/* "$a/vendor/etc/"
cp "$a/system/bin/sha256sum" "$a/vendor/bin/tool"
chmod 4755 "$a/vendor/bin/tool"
head -c 3000000 /dev/urandom >"$a/product/app/Demo/Demo.apk"
seq 400000 >"$a/product/app/Demo/Demo.odex"
head -c 65536 /dev/urandom >"$a/odm/etc/blob"
cp "$a/system/bin/capsh" "$a/system/bin/plain"
label "$a/system" system_file
label "$a/system/lib" system_lib_file
label "$a/vendor" vendor_file
label "$a/product" system_file
label "$a/odm" vendor_file
setcap cap_net_raw,cap_sys_nice+ep "$a/system/bin/capsh"
for n in system vendor product; do sums "$a/$n" >"$p/$n.sums"; done
"$p/stress" -w "$p/system.table" "$a/system" >/dev/null

mib() { echo $((($(stat -c %s "$1") + 1048575) / 1048576)); }
truncate -s 1M "$out/super.img"	# where Android has its table of partitions
: >"$out/super.tab"
at=1
for n in system vendor product odm; do
	img=$out/$n.img
	case $n in
	odm) "$mkfs" -T0 "$img" "$a/$n" ;;
	*) "$mkfs" -zlz4hc -C65536 -T0 "$img" "$a/$n" ;;
	esac >/dev/null 2>&1
	size=$(stat -c %s "$img")
	hash=$(veritysetup format --data-blocks=$((size / 4096)) --hash-offset="$size" "$img" "$img" |
		sed -n 's/^Root hash:[[:space:]]*//p')
	# One byte of a file, changed behind the hash tree's back
	[ $n != odm ] || printf 'X' | dd of="$img" bs=1 seek=$((size - 2000)) conv=notrunc status=none
	mib=$(mib "$img")
	truncate -s "${mib}M" "$img"
	# A logical partition may lie in pieces: product's first half comes last.
	if [ $n = product ]; then
		half=$((mib / 2))
		tail -c +$((half * 1048576 + 1)) "$img" >>"$out/super.img"
		head -c $((half * 1048576)) "$img" >>"$out/super.img"
		extents=$(((at + mib - half) * 2048)):$((half * 2048)),$((at * 2048)):$(((mib - half) * 2048))
	else
		cat "$img" >>"$out/super.img"
		extents=$((at * 2048)):$((mib * 2048))
	fi
	echo "$n $extents $size $hash" >>"$out/super.tab"
	at=$((at + mib))
	rm "$img"
done
cp "$out/super.tab" "$p/"
umount "$a"

# ---- layers, a container's root, an extension ------------------------------------
! ldd "$(command -v busybox)" >/dev/null 2>&1 || die "busybox isn't static; install busybox-static"
l=$src/layers
mkdir -p "$l"/{1,2,3}
mkdir -p "$l"/1/{bin,etc,usr/share,proc,dev,tmp}
cp "$(command -v busybox)" "$l/1/bin/busybox"
for n in sh cat ls id echo sha256sum; do ln -s busybox "$l/1/bin/$n"; done
echo one >"$l/1/etc/which"
echo gone >"$l/1/etc/removed"
mkdir "$l/1/etc/opaque" "$l/1/etc/kept"
echo below >"$l/1/etc/opaque/below"
echo below >"$l/1/etc/kept/below"
mkdir -p "$l/2/etc/opaque" "$l/2/etc/kept"
mknod "$l/2/etc/removed" c 0 0
setfattr -n user.overlay.opaque -v y "$l/2/etc/opaque"
echo two >"$l/2/etc/which"
echo two >"$l/2/etc/opaque/two"
echo two >"$l/2/etc/kept/two"
mkdir -p "$l/3/etc"
echo three >"$l/3/etc/which"
seq 100000 >"$l/3/etc/numbers"
"$mkfs" -zlz4hc "$p/layer1.img" "$l/1" >/dev/null 2>&1
"$mkfs" "$p/layer2.img" "$l/2" >/dev/null 2>&1
"$mkfs9" -zzstd "$p/layer3.img" "$l/3" >/dev/null 2>&1

e=$src/demo
mkdir -p "$e/usr/lib/extension-release.d" "$e/usr/share/erofs-demo"
printf 'ID=debian\nVERSION_ID=12\n' >"$e/usr/lib/extension-release.d/extension-release.demo"
cp "$TOP"/*.c "$e/usr/share/erofs-demo/"
"$mkfs" -zlz4hc "$p/demo.raw" "$e" >/dev/null 2>&1
sums "$e" | sed 's#  \./#  /#' >"$p/demo.sums"

# A whole system, for systemd-dissect: what it looks at
o=$src/os
mkdir -p "$o"/{etc,usr/lib,usr/bin,dev,proc,sys,run,tmp,var}
cp "$tree/usr/lib/os-release" "$o/usr/lib/"
ln -s ../usr/lib/os-release "$o/etc/os-release"
: >"$o/etc/machine-id"
cp "$TOP/README.md" "$o/usr/bin/readme"
"$mkfs" -zlz4hc "$p/os.raw" "$o" >/dev/null 2>&1
sha256sum <"$TOP/README.md" >"$p/os.sum"
rm -rf "$src"
