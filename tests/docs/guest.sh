#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# guest.sh - commands of the documents that load, mount and look; runs in a guest,
# in the root directory that chroot.sh left, in the clone of the source.
cd "$(dirname "$0")/../.." || exit 1
. tests/docs/doc-lib.sh
export DM_DISABLE_UDEV=1
same() { check "$1" diff -r --no-dereference "$2" "$3"; }

# ---- README.md, troubleshooting.md -------------------------------------------------
# What the kernel would ask for is in this root directory only.
modprobe -a overlay dm_verity
modprobe erofs
check own-driver test -d /sys/fs/erofs
refuse own-has-no-counters ls -d /sys/fs/erofs/features/file_backed
# both at a time
insmod "build/$(uname -r)/xerofs.ko"
mkfs.erofs -zlz4 other.img Documentation >/dev/null 2>&1
doc Documentation/install.md 's#$# -o loop other.img /mnt#' <<'E'
mount -t xerofs
E
check other-name grep -q ' /mnt xerofs ' /proc/mounts
same other-name-data Documentation /mnt
umount /mnt
rmmod xerofs
doc README.md <<'E'
sudo rmmod erofs 2>/dev/null
sudo insmod build/$(uname -r)/erofs.ko
mkfs.erofs --quiet -zlz4hc doc.img /usr/share/doc
loop=$(sudo losetup -r -f --show doc.img)
sudo mount -t erofs -o ro $loop /mnt
ls /mnt
cat /mnt/*/copyright >/dev/null
cat /sys/fs/erofs/${loop#/dev/}/bytes_out
E
said readme-counter '^[1-9][0-9]*$'
same readme-device /usr/share/doc /mnt
doc Documentation/troubleshooting.md <<'E'
ls -d /sys/fs/erofs/features/file_backed
E
doc Documentation/troubleshooting.md <<'E'
modinfo -F filename erofs
grep -l erofs /proc/*/mounts
E
doc Documentation/troubleshooting.md "s#erofs\.ko#build/$(uname -r)/erofs.ko#" <<'E'
modinfo -F vermagic erofs.ko
E
check vermagic test "$(cut -d" " -f1 $OUT)" = "$(uname -r)"
# shellcheck disable=SC2154  # set by the command above
# 2: drop_caches can't be read
doc Documentation/troubleshooting.md "s#DEVICE/\*#${loop#/dev/}/* || test \$? = 2#" <<'E'
grep -s . /sys/fs/erofs/DEVICE/*
E
said counters '/bytes_out:[1-9]'
n=$(stat -c %i /mnt/bash/copyright)
doc Documentation/troubleshooting.md "s#1234#$n#" <<'E'
find /mnt -inum 1234
E
said inode '^/mnt/bash/copyright$'
doc Documentation/tuning.md <<'E'
cat /proc/mounts
echo 3 >/proc/sys/vm/drop_caches
E
doc Documentation/tuning.md 's#/sda/#/vda/#' <<'E'
echo 512 >/sys/block/sda/queue/read_ahead_kb        # devices
E
check readahead grep -qx 512 /sys/block/vda/queue/read_ahead_kb
doc Documentation/troubleshooting.md 's#$# -r -f --show other.img#' <<'E'
losetup --direct-io=on
E
losetup -d "$(cat $OUT)"
doc README.md <<'E'
sudo umount /mnt
sudo losetup -d $loop
sudo mount -t erofs -o ro,loop doc.img /mnt
sudo umount /mnt
sudo mount -t erofs -o ro,X-mount.noloop doc.img /mnt       # Debian 13
E
check no-loop-device sh -c '! losetup -a | grep -q doc.img'
dev=$(mountpoint -d /mnt)
doc Documentation/tuning.md "s#0:45#$dev#" <<'E'
echo 512 >/sys/class/bdi/0:45/read_ahead_kb         # file-backed mounts: number as in sysfs
E
check name-in-sysfs test -e "/sys/fs/erofs/$dev/errors"
# ---- tuning.md: a histogram ----
mount -t tracefs t /sys/kernel/tracing 2>/dev/null
doc Documentation/tuning.md <<'E'
cd /sys/kernel/tracing/events/erofs/erofs_decode
echo 'hist:keys=alg,ns.log2' >trigger
E
cat /mnt/*/copyright >/dev/null
doc Documentation/tuning.md <<'E'
cat hist
E
said histogram 'alg: .*ns: .*hitcount:'
doc Documentation/tuning.md <<'E'
echo '!hist:keys=alg,ns.log2' >trigger
E
cd - >/dev/null || exit 1
umount /mnt
doc README.md <<'E'
sudo build/rawmount doc.img /mnt erofs
E
same readme-file /usr/share/doc /mnt
umount /mnt

# ---- the manual page: its device names are examples ---------------------------------
mkdir -p src
cp -r Documentation src/
dd if=/dev/zero of=part bs=1M count=1 2>/dev/null
# mkfs.erofs 1.8 wants it to exist.
: >blob
mkfs.erofs --chunksize=4096 --blobdev=blob img src >/dev/null 2>&1
cat img >>part
truncate -s %4096 blob
a=$(losetup -r -f --show doc.img)
b=$(losetup -r -f --show part)
c=$(losetup -r -f --show blob)
doc Documentation/erofs-lts.5 "s#/dev/sdb1#$a#" <<'E'
mount -t erofs /dev/sdb1 /mnt
E
umount /mnt
doc Documentation/erofs-lts.5 "s#image.erofs#doc.img#" <<'E'
mount -t erofs -o X-mount.noloop image.erofs /mnt
E
umount /mnt
doc Documentation/erofs-lts.5 "s#/dev/sdb2#$b#; s#/dev/sdc#$c#" <<'E'
mount -t erofs -o fsoffset=1048576,device=/dev/sdc /dev/sdb2 /mnt
E
same manual-devices src /mnt
umount /mnt
losetup -d "$a" "$b" "$c"

# ---- boot.md: integrity ---------------------------------------------------------------
cp doc.img root.img
doc Documentation/boot.md <<'E'
sudo veritysetup format root.img root.hash
E
hash=$(sed -n 's/^Root hash:[[:space:]]*//p' $OUT)
doc Documentation/boot.md "s#<root hash>#$hash#" <<'E'
sudo veritysetup open root.img root root.hash <root hash>   # /dev/mapper/root
sudo mount -t erofs -o ro /dev/mapper/root /mnt
E
same verity /usr/share/doc /mnt
umount /mnt
veritysetup close root

# ---- containers.md ----------------------------------------------------------------------
mkdir -p /lower /data/upper /data/work /merged /erofs /objects
cp doc.img layer.img
doc Documentation/containers.md <<'E'
mount -t erofs -o ro layer.img /lower
mount -t overlay overlay -o lowerdir=/lower,upperdir=/data/upper,workdir=/data/work /merged
E
same overlay /usr/share/doc /merged
# shellcheck disable=SC2016  # for sh
check overlay-write sh -c 'echo x >/merged/bash/copyright && test "$(cat /merged/bash/copyright)" = x'
umount /merged
umount /lower
rm -rf /objects
cp -r ../layers/objects /objects
cp ../layers/tree.cfs .
doc Documentation/containers.md <<'E'
mount -t erofs -o ro tree.cfs /erofs
mount -t overlay overlay -o ro,metacopy=on,redirect_dir=on,lowerdir=/erofs::/objects /mnt
E
same composefs ../layers/tree /mnt
umount /mnt
umount /erofs

# What overlayfs is said to need; ../layers is made by run.sh.
cd ../layers || exit 1
check in-filesystems grep -qx '	erofs' /proc/filesystems
mkdir -p /l1 /l2 /l3 /m
for i in 1 2 3; do mount -t erofs -o ro,loop l$i.img /l$i; done
dmesg -C
check nfs-export mount -t overlay o -o index=on,nfs_export=on,lowerdir=/l3:/l2:/l1,upperdir=/data/upper,workdir=/data/work /m
check nfs-export-on grep -q ' /m overlay .*nfs_export=on' /proc/mounts
refuse nfs-export-complaint sh -c 'dmesg | grep -q "overlayfs: .*falling back"'
check merged-top grep -qx 3 /m/which
check merged-all test "$(cat /m/1 /m/2 /m/3)" = "$(printf '1\n2\n3')"
umount /m
# one image whose data is in the three, which are its devices
check devices mount -t erofs -o X-mount.noloop,ro,device=l1.img,device=l2.img,device=l3.img merged.img /merged
mount -t overlay o -o ro,lowerdir=/l3:/l2:/l1 /m
same devices-data /m /merged
umount /m
umount /merged
a=$(losetup -r -f --show l1.img)
b=$(losetup -r -f --show twin.img)
umount /l1
umount /l2
check uuid-first mount -t erofs -o ro "$a" /l1
check uuid-twin mount -t erofs -o ro "$b" /l2
check uuid-overlay mount -t overlay o -o ro,lowerdir=/l2:/l1 /m
check uuid-data grep -qx twin /m/which
umount /m
umount /l1
umount /l2
umount /l3
losetup -d "$a" "$b"
cd ../erofs-lts || exit 1

# ---- the module -----------------------------------------------------------------------
doc Documentation/troubleshooting.md 's#$# 4096 small.img src#' <<'E'
mkfs.erofs -b
E
doc Documentation/troubleshooting.md 's/IMAGE/small.img/' <<'E'
fsck.erofs IMAGE
dump.erofs -s IMAGE
E
doc README.md <<'E'
sudo rmmod erofs
E
# installed: mount loads the right one
updates=/lib/modules/$(uname -r)/updates
mkdir -p "$updates"
cp "build/$(uname -r)/erofs.ko" "$updates/"
depmod
doc Documentation/install.md <<'E'
sudo modprobe erofs
E
check installed test -e /sys/fs/erofs/features/file_backed
doc Documentation/install.md <<'E'
sudo rmmod erofs
echo erofs | sudo tee /etc/modules-load.d/erofs.conf
E
check modules-load grep -qx erofs /etc/modules-load.d/erofs.conf
rm /etc/modules-load.d/erofs.conf
doc Documentation/containers.md <<'E'
echo erofs >/etc/modules-load.d/erofs.conf
E
check modules-load-root grep -qx erofs /etc/modules-load.d/erofs.conf
rm "$updates/erofs.ko"
depmod
finish
