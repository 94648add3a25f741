#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# secure.sh - Secure Boot as install.md describes it: firmware with the usual keys
# (OVMF), Debian's shim, GRUB and kernel 6.1.  First a module of a key that nobody
# knows is refused, and the key is given to the firmware (mokutil --import); then
# MokManager takes it; then the module loads, and an unsigned one still doesn't.
# Three starts in emulation, some minutes.
set -uo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
. "$TOP/scripts/vm-lib.sh"
need qemu-system-x86_64 openssl python3 cpio mkfs.vfat mcopy
suite=bookworm
work=$TOP/build/secure
logs=$TOP/build/logs
rm -rf "$work"
mkdir -p "$work" "$logs"
rel=$("$TOP/scripts/fetch-kernel.sh" $suite) || exit 1
ko=$("$TOP/scripts/build-module.sh" $suite - 2>"$logs/module-secure.log") || exit 1

# Firmware, boot loaders and mokutil, unpacked from their packages
efi=$CACHE/efi
lock efi
if [ ! -e "$efi/.complete" ]; then
	rm -rf "$efi"
	mkdir -p "$efi/files" "$efi/mok"/{bin,lib} "$efi/closure"/usr/{bin,sbin,lib,lib64}
	for p in bin sbin lib lib64; do ln -s "usr/$p" "$efi/closure/$p"; done
	apt_setup $suite
	for p in ovmf shim-signed shim-helpers-amd64-signed grub-efi-amd64-signed; do
		deb=$(deb_get $p) || exit 1
		dpkg-deb -x "$deb" "$efi/files" || exit 1
	done
	unpack_closure "$efi/closure" mokutil || exit 1
	lib=$(echo "$efi"/closure/usr/lib/*-linux-gnu)
	cp -L "$lib"/ld-linux-x86-64.so.2 "$efi/mok/lib/ld.so"
	cp "$efi/closure/usr/bin/mokutil" "$efi/mok/bin/" || exit 1
	"$efi/mok/lib/ld.so" --library-path "$lib" --list "$efi/mok/bin/mokutil" |
		sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | while read -r f; do cp -nL "$f" "$efi/mok/lib/"; done
	rm -rf "$efi/closure"
	: >"$efi/.complete"
fi

# The key and the signature as install.md has them
cd "$work" || exit 1
sign=$(find "$CACHE/$rel/usr/lib" -path '*/scripts/sign-file' | head -n 1)
openssl req -new -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=my modules/" \
	-outform DER -keyout mok.key -out mok.der 2>/dev/null || exit 1
cp "$ko" signed.ko
"$sign" sha256 mok.key mok.der signed.ko || { echo "not ok secure/sign - sign-file failed"; exit 1; }

base=$("$TOP/scripts/mk-initramfs.sh" "$rel" -b "virtio_pci" -a "efivarfs") || exit 1
mkdir -p t
cp "$TOP/tests/boot/secure-guest/run" "$TOP/tests/vm/guest-lib.sh" "$ko" signed.ko mok.der t/
cp -r "$efi/mok" t/mokutil
find t | cpio -o -H newc --quiet -R 0:0 >payload.cpio
cat "$base" payload.cpio >initrd
truncate -s 128M esp.img
mkfs.vfat -F 32 esp.img >/dev/null
export MTOOLS_SKIP_CHECK=1
mmd -i esp.img ::EFI ::EFI/BOOT ::EFI/debian
mcopy -i esp.img "$efi/files/usr/lib/shim/shimx64.efi.signed" ::EFI/BOOT/BOOTX64.EFI
mcopy -i esp.img "$efi/files/usr/lib/shim/mmx64.efi.signed" ::EFI/BOOT/mmx64.efi
mcopy -i esp.img "$efi/files/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed" ::EFI/BOOT/grubx64.efi
mcopy -i esp.img "$CACHE/$rel/boot/vmlinuz-$rel" ::vmlinuz
mcopy -i esp.img initrd ::initrd
cp "$efi/files/usr/share/OVMF/OVMF_VARS_4M.ms.fd" vars.fd

machine=(-M "q35,smm=on" -m 1024 -smp 1 -accel tcg -cpu max -nodefaults -no-user-config -display none -no-reboot
	-global "driver=cfi.pflash01,property=secure,value=on"
	-drive "if=pflash,unit=0,format=raw,readonly=on,file=$efi/files/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
	-drive "if=pflash,unit=1,format=raw,file=vars.fd"
	-drive "if=none,id=esp,format=raw,file=esp.img" -device "virtio-blk-pci,drive=esp,bootindex=0")

fail=0
stage() { # N
	local nonce log=$logs/secure-$1.log why
	nonce=$(new_nonce)
	printf 'set timeout=0\nlinux /vmlinuz console=ttyS0 quiet panic=-1 nokaslr no_timer_check rcupdate.rcu_cpu_stall_timeout=150 watchdog_thresh=60 test.nonce=%s stage=%s\ninitrd /initrd\nboot\n' \
		"$nonce" "$1" >grub.cfg
	mcopy -o -i esp.img grub.cfg ::EFI/debian/grub.cfg
	mcopy -o -i esp.img grub.cfg ::EFI/BOOT/grub.cfg
	timeout -k 5 900 nice -n 5 qemu-system-x86_64 "${machine[@]}" -serial "file:$log" </dev/null >"$logs/secure-$1.qemu" 2>&1
	sed "s/\r\$//" "$log" | sed -n "/VM-BEGIN $nonce/,/VM-RC $nonce/s#^\(not \)\?ok #&secure/$1-#p"
	if why=$(judge "$nonce" "$log" ''); then
		echo "ok secure/$1"
	else
		echo "not ok secure/$1 - $why; log: $log"
		fail=1
	fi
}
stage 1
[ $fail = 0 ] || exit 1
if why=$(PYTHONDONTWRITEBYTECODE=1 nice -n 5 python3 "$TOP/tests/boot/secure.py" "$logs/secure-mok.log" 900 open-sesame -- \
	qemu-system-x86_64 "${machine[@]}" -serial stdio 2>&1); then
	echo "ok secure/enrolled"
else
	echo "not ok secure/enrolled - $(tail -n 1 <<<"$why"); log: $logs/secure-mok.log"
	exit 1
fi
stage 2
exit $fail
