# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# boot-lib.sh - parts of the boot tests: kernel modules for a root directory, root
# images with their hash trees, initramfs, payload disk, one boot.  Source it
# after lib.sh and vm-lib.sh, in a mount namespace of its own, as root or as
# root of a user namespace.
# shellcheck disable=SC2154  # TOP, CACHE: lib.sh

WORK=$TOP/build/boot
LOGS=$TOP/build/logs

# module_dir REL KO ROOT: /lib/modules/REL of ROOT with what booting and the
# checks need of the kernel's modules (or $MODULE_DIRS), and KO, if given, in
# updates/dkms
module_dir() {
	local rel=$1 ko=$2 root=$3 src dst=$3/usr/lib/modules/$1 d
	src=$(kernel_moddir "$rel")
	mkdir -p "$dst/kernel"
	for d in ${MODULE_DIRS:-arch block crypto fs lib drivers/block drivers/char/hw_random drivers/dax drivers/md drivers/virtio}; do
		[ ! -d "$src/kernel/$d" ] || (cd "$src/kernel" && cp -a --parents "$d" "$dst/kernel/")
	done
	cp "$src"/modules.builtin* "$src"/modules.order "$dst/"
	if [ -n "$ko" ]; then
		install -D -m 644 "$ko" "$dst/updates/dkms/erofs.ko"
	fi
	depmod -b "$root" "$rel" || die "depmod failed for $rel"
	grep -q '/erofs\.ko' "$dst/modules.dep" || die "the modules of $rel are not complete"
	# mkinitramfs looks there for what the kernel can unpack.
	mkdir -p "$root/boot"
	for d in "$CACHE/$rel/boot/config-$rel" "$CACHE/$rel/usr/lib/modules/$rel/config"; do
		[ ! -e "$d" ] || cp "$d" "$root/boot/config-$rel"
	done
}

# with_tree TREE COMMAND...: run COMMAND with $ROOT, a scratch copy of TREE
with_tree() {
	local tree=$1 tmp ROOT rc=0
	shift
	tmp=$(mktemp -d "$WORK/tree.XXXXXX")
	# In memory: package managers wait for the disk after each file.
	mount -t tmpfs -o mode=755 boot-tree "$tmp" || return 1
	mkdir "$tmp/up" "$tmp/work" "$tmp/root"
	ROOT=$tmp/root
	if [ "$(awk '{ print $3 }' /proc/self/uid_map)" = 4294967295 ]; then
		mount -t overlay -o "lowerdir=$tree,upperdir=$tmp/up,workdir=$tmp/work" boot-tree "$ROOT" || return 1
	else
		# An overlay of a user namespace can't rename directories, as dpkg does.
		cp -a "$tree/." "$ROOT/" || return 1
	fi
	# A subshell, because steps end with die.
	("$@") || rc=$?
	umount -R -l "$ROOT" 2>/dev/null || umount -l "$ROOT" 2>/dev/null
	umount -l "$tmp"
	rmdir "$tmp"
	return $rc
}

# in_tree COMMAND...: run COMMAND in $ROOT, with /proc, /sys and /dev
in_tree() {
	mountpoint -q "$ROOT/proc" || {
		mount --rbind /proc "$ROOT/proc"
		mount --rbind /sys "$ROOT/sys"
		mount --rbind /dev "$ROOT/dev"
		mount -t tmpfs tmp "$ROOT/tmp"
	}
	PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C chroot "$ROOT" "$@"
}

# root_image TREE REL KIND: path of an image, without its suffix:
#	.img the image, .hash its hash tree, .roothash, .list and .sums what is in it
# KIND: lz4hc (the host's mkfs.erofs), zstd (that of erofs-utils 1.9)
root_image() {
	local tree=$1 rel=$2 kind=$3 mkfs opts key out
	case $kind in
	lz4hc)
		mkfs=$(command -v mkfs.erofs || echo "$CACHE/tools/1.5/mkfs.erofs")
		opts="-zlz4hc -C65536"
		;;
	zstd)
		mkfs=$CACHE/tools/sid/mkfs.erofs
		opts="-zzstd,6 -C65536 -Efragments,ztailpacking,dedupe"
		;;
	*) die "unknown kind of image '$kind'" ;;
	esac
	key=$({ echo "3 $tree $rel $opts"; "$mkfs" --version 2>&1 | head -n 1; } | sha256sum | cut -c1-12)
	out=$CACHE/boot/img-$kind-$key
	if [ ! -e "$out.complete" ]; then
		say "packing the root file system ($kind) ..."
		with_tree "$tree" pack_root "$rel" "$mkfs" "$opts" "$out" || return 1
	fi
	touch "$out.complete"
	printf '%s\n' "$out"
}

pack_root() {
	local rel=$1 mkfs=$2 opts=$3 out=$4
	module_dir "$rel" "" "$ROOT"
	rm -f "$out".*
	# shellcheck disable=SC2086  # a list of words
	"$mkfs" $opts "$out.img" "$ROOT" >"$out.log" 2>&1 || die "mkfs.erofs failed, see $out.log"
	# size, mode, owner and target of everything; sums of the programs
	list_tree "$ROOT" >"$out.list"
	(cd "$ROOT" && find etc usr/bin usr/sbin -xdev -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) >"$out.sums"
	veritysetup format "$out.img" "$out.hash" | sed -n 's/^Root hash:[[:space:]]*//p' >"$out.roothash"
	if ! grep -q /systemd/systemd "$out.list" || ! grep -q bin/sha256sum "$out.sums"; then
		die "the lists of what is in the root are incomplete"
	fi
	[ -s "$out.roothash" ] || die "veritysetup gave no root hash"
}

# The guest has the same function (guest/check.sh).
list_tree() {
	(cd "$1" && find . -xdev \( -type d -printf '%p d %m %U %G\n' \) -o \
		-printf '%p %y %m %U %G %s %l\n') | LC_ALL=C sort
}

# initramfs TREE REL KO OUT: made by Debian's initramfs-tools with our hook and
# scripts, as a package would install them
initramfs() { with_tree "$1" make_initramfs "$2" "$3" "$4"; }

make_initramfs() {
	local rel=$1 ko=$2 out=$3 d
	module_dir "$rel" "$ko" "$ROOT"
	cp -r "$TOP/contrib/initramfs-tools/." "$ROOT/usr/share/initramfs-tools/"
	# "most" would put drivers for all machines in: slow to unpack here.
	sed -i 's/^MODULES=.*/MODULES=list/' "$ROOT/etc/initramfs-tools/initramfs.conf"
	# ext4: for the overlay's disk
	printf '%s\n' virtio_pci virtio_blk ext4 >>"$ROOT/etc/initramfs-tools/modules"
	mkdir -p "$ROOT/etc/initramfs-tools/conf.d"
	echo EROFS_LTS=y >"$ROOT/etc/initramfs-tools/conf.d/erofs-lts"
	in_tree mkinitramfs -o /tmp/initrd "$rel" >"$out.log" 2>&1 || {
		tail -n 5 "$out.log" >&2
		die "mkinitramfs failed"
	}
	in_tree lsinitramfs /tmp/initrd >"$out.files"
	grep -q 'updates/dkms/erofs\.ko' "$out.files" || die "our module isn't in the initramfs, see $out.files"
	! grep -q 'kernel/fs/erofs/erofs\.ko' "$out.files" || die "the kernel's own module is in the initramfs"
	for d in scripts/local-bottom/erofs-lts scripts/local-block/erofs-lts sbin/veritysetup; do
		grep -q "$d\$" "$out.files" || die "$d isn't in the initramfs"
	done
	cp "$ROOT/tmp/initrd" "$out"
}

# initramfs_dracut TREE REL KO OUT: the same by dracut
initramfs_dracut() { with_tree "$1" make_initramfs_dracut "$2" "$3" "$4"; }

make_initramfs_dracut() {
	local rel=$1 ko=$2 out=$3 d
	module_dir "$rel" "$ko" "$ROOT"
	cp -r "$TOP"/contrib/dracut/* "$ROOT/usr/lib/dracut/modules.d/"
	in_tree dracut --no-hostonly --gzip --no-early-microcode --kver "$rel" \
		--add "systemd-veritysetup erofs-lts" --add-drivers "virtio_pci virtio_blk ext4" \
		--omit "network plymouth nfs btrfs lvm crypt" /tmp/initrd >"$out.log" 2>&1 || {
		tail -n 5 "$out.log" >&2
		die "dracut failed"
	}
	in_tree lsinitrd /tmp/initrd >"$out.files"
	grep -q 'updates/dkms/erofs\.ko' "$out.files" || die "our module isn't in the initramfs, see $out.files"
	for d in pre-pivot/50-overlay.sh systemd-veritysetup-generator; do
		grep -q "$d\$" "$out.files" || die "$d isn't in the initramfs"
	done
	cp "$ROOT/tmp/initrd" "$out"
}

# boot NAME REL INITRD LIMIT "COMMAND" "KERNEL ARGUMENTS" DISK...: one guest; its
# console in build/logs/boot-NAME.log, judged; result lines of the guest on
# stdout.  A DISK with "rw:" in front is writable.  REFUSED=1: it must not come up.
boot() {
	local name=$1 rel=$2 initrd=$3 limit=$4 command=$5 append=$6 nonce log n=0 d ro args rc=0 bad
	shift 6
	log=$LOGS/boot-$name.log
	nonce=$(new_nonce)
	args=(-M q35 -m "${MEM:-512}" -smp 2 -accel "tcg,thread=multi" -cpu max -nodefaults -no-user-config
		-display none -no-reboot -serial stdio -kernel "$CACHE/$rel/vmlinux" -initrd "$initrd"
		-device virtio-rng-pci)
	for d in "$@"; do
		ro=on
		[ "$d" = "${d#rw:}" ] || ro=off
		args+=(-drive "if=none,id=d$n,format=raw,file=${d#rw:},readonly=$ro,file.locking=off"
			-device "virtio-blk-pci,drive=d$n")
		n=$((n + 1))
	done
	append+=" console=ttyS0 quiet panic=-1 nokaslr no_timer_check mitigations=off"
	append+=" rcupdate.rcu_cpu_stall_timeout=150 watchdog_thresh=60"
	# The second processor comes when the system is up; why is told in run-qemu.sh.
	append+=" maxcpus=1 lpj=4000000 tsc=reliable"
	args+=(-append "$append")
	nice -n 5 "$TOP/tests/boot/console.py" --log "$log" --limit "$limit" --nonce "$nonce" \
		--command "$command" ${REFUSED:+--refused} -- qemu-system-x86_64 "${args[@]}" >"$log.status" || rc=$?
	sed 's/\r$//' "$log" | grep -aE '^(not )?ok [a-z]' | sed "s#^\(not \)\?ok #&$name/#"
	if [ $rc != 0 ]; then
		echo "not ok $name - $(tail -n 1 "$log.status"), see ${log#"$TOP/"}"
		return 1
	fi
	say "$name: $(paste -sd, "$log.status" | sed 's/,/, /g')"
	[ -z "${REFUSED:-}" ] || return 0
	bad=$(grep -aE "$SPLAT" "$log" | head -n 1)
	if [ -n "$bad" ]; then
		echo "not ok $name - kernel log: ${bad//$'\r'/}"
		return 1
	fi
	! sed 's/\r$//' "$log" | grep -aqE '^not ok [a-z]'
}
