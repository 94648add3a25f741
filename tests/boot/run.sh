#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [PATTERN] - boot a Debian whose root file system is EROFS, log in on the
# serial console, check, power off.  By default one kernel and one image: root
# hash on the command line, overlay on a disk, all checks; then the same image
# with two bytes changed, which must not come up.  BOOT_FULL=1: three kernels, two
# compression algorithms, with and without dm-verity, overlays in memory, a second
# boot with the disk of the first, devices named by PARTUUID= and LABEL=, dracut.
# PATTERN selects by the suite of the kernel.
set -uo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
. "$TOP/scripts/vm-lib.sh"
. "$TOP/tests/boot/boot-lib.sh"
pat=${1:-*}
need qemu-system-x86_64 python3 veritysetup mmdebstrap mkfs.ext4 debugfs sfdisk

suites=bookworm
[ -z "${BOOT_FULL:-}" ] || suites="bookworm bookworm-backports trixie-backports"

if [ -z "${BOOT_INSIDE:-}" ]; then
	# All that has to be fetched or built, before the namespace.
	mkdir -p "$WORK" "$LOGS"
	tree=$("$TOP/tests/boot/mkroot.sh" root) || { echo "not ok tree - no Debian to pack"; exit 1; }
	"$TOP/scripts/fetch-tools.sh" bookworm sid >/dev/null || exit 1
	ns=(unshare -m)
	[ "$(id -u)" = 0 ] || ns=(unshare -rm)
	export BOOT_INSIDE=1 BOOT_TREE=$tree
	exec "${ns[@]}" bash "$0" "$pat"
fi
tree=$BOOT_TREE

fail=0
result() { # NAME STATUS
	if [ "$2" = 0 ]; then echo "ok $1 ($((SECONDS - begin)) s)"; else fail=1; fi
}

"$TOP/tests/boot/payload.sh" "$tree" "$WORK/payload" >"$LOGS/boot-payload.log" 2>&1 || {
	tail -n 5 "$LOGS/boot-payload.log" >&2
	echo "not ok payload - see build/logs/boot-payload.log"
	exit 1
}

# PARTUUIDs of the two partitions of partitions()
ROOT_PART=4f3c1d5e-0b6a-4c8e-9d21-7a5e60b1c2f3
HASH_PART=a81b7c90-52de-4f17-8e3b-1c94d0f6e7a2

# partitions IMAGE DISK: the image and its hash tree on a disk with a GPT
partitions() {
	local img=$1 disk=$2 hash_at=1 root_at size
	# MiB, with room for the table at both ends
	root_at=$((hash_at + ($(stat -c %s "$img.hash") + 1048575) / 1048576))
	size=$((root_at + ($(stat -c %s "$img.img") + 1048575) / 1048576 + 1))
	rm -f "$disk"
	truncate -s "${size}M" "$disk"
	sfdisk -q "$disk" <<-E || return 1
	label: gpt
	start=${hash_at}MiB, size=$((root_at - hash_at))MiB, uuid=$HASH_PART
	start=${root_at}MiB, size=$((size - root_at - 1))MiB, uuid=$ROOT_PART
	E
	dd if="$img.hash" of="$disk" bs=1M seek=$hash_at conv=notrunc,sparse status=none &&
		dd if="$img.img" of="$disk" bs=1M seek=$root_at conv=notrunc,sparse status=none
}

# one NAME SUITE KIND plain|verity[-names] INITRD CHECKS OVERLAY: OVERLAY is what the
# argument on the kernel command line says; "again" is the disk of the boot before.
# With "-names" the root is on the second disk, and no device is given by its path.
one() {
	local name=$1 suite=$2 kind=$3 how=$4 initrd=$5 checks=$6 overlay=$7 rel img p append disks data hash
	local disk=$WORK/overlay.disk
	rel=$("$TOP/scripts/fetch-kernel.sh" "$suite")
	img=$(root_image "$tree" "$rel" "$kind") || return 1
	# The payload as a plain tar file on a disk
	p=$WORK/payload/p
	cp "$TOP"/tests/boot/guest/*.sh "$p/"
	cp "$img.sums" "$p/root.sums"
	cp "$img.list" "$p/root.list"
	tar -C "$WORK/payload" -cf "$WORK/payload.tar" p
	append="rootfstype=erofs ro erofs-lts.overlay=${overlay/again//dev/vde}"
	disks=("$img.img" "$img.hash")
	data=/dev/vda hash=/dev/vdb
	if [ "$how" != "${how%-names}" ]; then
		partitions "$img" "$WORK/partitions.disk" ||
			{ echo "not ok $name - no disk with partitions"; return 1; }
		disks=("$img.hash" "$WORK/partitions.disk")
		data=PARTUUID=$ROOT_PART hash=PARTUUID=$HASH_PART
	fi
	case $how in
	plain*) append+=" root=$data" ;;
	verity*)
		append+=" root=/dev/mapper/root roothash=$(cat "$img.roothash")"
		append+=" systemd.verity_root_data=$data systemd.verity_root_hash=$hash"
		append+=" systemd.verity_root_options=panic-on-corruption,ignore-zero-blocks"
		;;
	esac
	disks+=("$WORK/payload.tar" "$WORK/payload/super.img")
	case $overlay in
	/dev/vde | LABEL=*)
		rm -f "$disk"
		truncate -s 256M "$disk"
		mkfs.ext4 -q -F -L overlay "$disk"
		;;
	esac
	case $overlay in /dev/vde | LABEL=* | again) disks+=("rw:$disk") ;; esac
	[ "$overlay" != again ] || checks+=" again"
	boot "$name" "$rel" "$initrd" "${LIMIT:-900}" \
		"mkdir /tmp/t && tar -C /tmp/t -xf /dev/vdc && sh /tmp/t/p/check.sh $checks" "$append" "${disks[@]}" ||
		return 1
	rm -f "$WORK/partitions.disk"
	case $overlay in
	/dev/vde | LABEL=* | again)
		# What the guest wrote is there after it has gone.
		e2fsck -fp "$disk" >"$LOGS/boot-$name.fsck" 2>&1 || {
			# 1: unmounted for sure, but not cleanly
			[ $? = 1 ] || { echo "not ok $name - e2fsck finds the overlay damaged"; return 1; }
		}
		[ "$(debugfs -R 'cat /upper/etc/boot-test' "$disk" 2>/dev/null)" = written ] || {
			echo "not ok $name - nothing on the disk of the overlay"
			return 1
		}
		;;
	esac
}

# tampered SUITE KIND INITRD: two bytes of the first program changed; dm-verity has
# to notice before anything of it runs
tampered() {
	local suite=$1 kind=$2 initrd=$3 rel img bad at append log rc=0
	rel=$("$TOP/scripts/fetch-kernel.sh" "$suite")
	img=$(root_image "$tree" "$rel" "$kind") || return 1
	bad=$WORK/tampered.img
	at=$("$CACHE/tools/sid/dump.erofs" -e --path=/usr/lib/systemd/systemd "$img.img" 2>/dev/null |
		sed -n 's/^ *0: .*: *\([0-9]*\)\.\..*/\1/p' | head -n 1)
	[ -n "$at" ] || { echo "not ok $suite-tampered - dump.erofs does not say where init is"; return 1; }
	cp --reflink=auto "$img.img" "$bad"
	printf '\377\377' | dd of="$bad" bs=1 seek=$((at + 100)) conv=notrunc status=none
	! cmp -s "$img.img" "$bad" || { echo "not ok $suite-tampered - the byte did not change"; return 1; }
	append="rootfstype=erofs ro erofs-lts.overlay=tmpfs root=/dev/mapper/root roothash=$(cat "$img.roothash")"
	append+=" systemd.verity_root_data=/dev/vda systemd.verity_root_hash=/dev/vdb loglevel=4"
	log=$LOGS/boot-$suite-tampered.log
	REFUSED=1 boot "$suite-tampered" "$rel" "$initrd" "${LIMIT:-900}" true "$append" "$bad" "$img.hash" || rc=1
	rm -f "$bad"
	[ $rc = 0 ] || return 1
	grep -aqE 'verity: .*block [0-9]+ is corrupted' "$log" || {
		echo "not ok $suite-tampered - the log says nothing of a corrupted block"
		return 1
	}
	# init can't start, so a panic is right; nothing else is
	if grep -aE "$SPLAT" "$log" | grep -avq 'Kernel panic'; then
		echo "not ok $suite-tampered - kernel log: $(grep -aE "$SPLAT" "$log" | grep -av 'Kernel panic' | head -n 1)"
		return 1
	fi
}

for suite in $suites; do
	# shellcheck disable=SC2053  # a pattern on purpose
	[[ $suite == $pat ]] || continue
	begin=$SECONDS
	rel=$("$TOP/scripts/fetch-kernel.sh" "$suite") || exit 1
	ko=$("$TOP/scripts/build-module.sh" "$suite" - 2>"$LOGS/module-boot-$suite.log") || {
		echo "not ok $suite-build - the module does not build"
		exit 1
	}
	initrd=$WORK/initrd-$suite
	(initramfs "$tree" "$rel" "$ko" "$initrd")
	rc=$?
	[ $rc = 0 ] || echo "not ok $suite-initramfs - see build/boot/initrd-$suite.log"
	result "$suite-initramfs" $rc
	[ $rc = 0 ] || continue
	begin=$SECONDS
	one "$suite-lz4hc-verity" "$suite" lz4hc verity "$initrd" all /dev/vde
	result "$suite-lz4hc-verity" $?
	begin=$SECONDS
	tampered "$suite" lz4hc "$initrd"
	result "$suite-tampered" $?
	[ -n "${BOOT_FULL:-}" ] || continue
	while read -r c how overlay; do
		begin=$SECONDS
		one "$suite-$c-$how" "$suite" "$c" "$how" "$initrd" system "$overlay" </dev/null
		result "$suite-$c-$how" $?
	done <<-'E'
	lz4hc plain again
	zstd plain-names tmpfs
	zstd verity-names LABEL=overlay
	zstd verity tmpfs:300M
	E
	# What dracut and systemd in the initramfs do is the same on all kernels.
	[ "$suite" = bookworm ] || continue
	begin=$SECONDS
	if (initramfs_dracut "$tree" "$rel" "$ko" "$initrd-dracut"); then
		one "$suite-dracut" "$suite" zstd verity-names "$initrd-dracut" system LABEL=overlay
		result "$suite-dracut" $?
	else
		echo "not ok $suite-dracut - see build/boot/initrd-$suite-dracut.log"
		fail=1
	fi
done
exit $fail
