#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# chroot.sh - commands of the documents that build, pack and install; runs in a
# chroot of Debian 13, in a clone of the source.  uname says that the kernel whose
# headers are installed is running.  FULL=1: DKMS, initramfs and packages as well,
# whose parts tests/boot looks at each time.
cd "$(dirname "$0")/../.." || exit 1
. tests/docs/doc-lib.sh
R=$(uname -r)
where() { modinfo -F filename erofs | sed 's#.*/modules/[^/]*/##; s/\.xz$//'; }
is() { check "$1" test "$2" = "$3"; }

# ---- README.md -------------------------------------------------------------------
doc README.md <<'E'
sudo apt-get install make gcc libc6-dev kmod linux-headers-$(uname -r) erofs-utils
make
gcc -o build/rawmount tests/tools/rawmount.c
make help
man -l Documentation/erofs-lts.5
E
said manual 'read-only compressed file system'
doc Documentation/kernels.md "s#\$# build/$R/erofs.ko#" <<'E'
modinfo -F depends
E
is depends "$(cat $OUT)" ""
check module test -s "build/$R/erofs.ko"

# ---- install.md ------------------------------------------------------------------
is own-before "$(where)" kernel/fs/erofs/erofs.ko
doc Documentation/install.md <<'E'
sudo apt-get install make kmod linux-headers-$(uname -r)
make
sudo make install
/sbin/modinfo -F filename erofs
E
said preferred '/updates/erofs\.ko$'
doc Documentation/install.md <<'E'
make FSNAME=xerofs
mok=/var/lib/shim-signed/mok
sudo mkdir -p -m 700 $mok
sudo openssl req -new -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=my modules/" \
    -outform DER -keyout $mok/mok.key -out $mok/mok.der
sudo /usr/src/linux-headers-$(uname -r)/scripts/sign-file sha256 $mok/mok.key $mok/mok.der \
    /lib/modules/$(uname -r)/updates/erofs.ko
E
is signer "$(modinfo -F signer erofs)" "my modules"
# shellcheck disable=SC2154  # set by a command above
is key-mode "$(stat -c %U:%a "$mok/mok.key")" root:600
# for the guest
cp "/lib/modules/$R/updates/erofs.ko" "build/$R/erofs-signed.ko"
doc Documentation/install.md <<'E'
sudo make uninstall
E
is own-again "$(where)" kernel/fs/erofs/erofs.ko
if [ -n "${FULL:-}" ]; then
# ---- install.md: DKMS --------------------------------------------------------------
doc Documentation/install.md <<'E'
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
sudo apt-get install dkms linux-headers-$(uname -r)
sudo mkdir /usr/src/erofs-lts-$version
tar -c --exclude=./.git --exclude=./build --exclude='*.img' . | \
    sudo tar -x --no-same-owner -C /usr/src/erofs-lts-$version
sudo dkms install erofs-lts/$version
sudo dkms status
E
# shellcheck disable=SC2154  # set by the command above
check dkms-installed grep -qF "erofs-lts/$version, $R, x86_64: installed" $OUT
is dkms-preferred "$(where)" updates/dkms/erofs.ko
check dkms-signed test -n "$(modinfo -F signer erofs)"

# ---- boot.md ---------------------------------------------------------------------
# A root file system or a line of fstab would do as well.
mkdir -p /etc/initramfs-tools/conf.d
echo EROFS_LTS=y >/etc/initramfs-tools/conf.d/erofs-lts
# What the installation of a kernel leaves behind
: >"/boot/vmlinuz-$R"
: >"/boot/initrd.img-$R"
mkdir -p /var/lib/initramfs-tools
: >"/var/lib/initramfs-tools/$R"
doc Documentation/boot.md <<'E'
sudo cp -r contrib/initramfs-tools/. /etc/initramfs-tools/
sudo update-initramfs -u
lsinitramfs /boot/initrd.img-$(uname -r) | grep erofs
E
said initramfs 'updates/dkms/erofs\.ko'
rm "/boot/initrd.img-$R"
doc Documentation/boot.md <<'E'
sudo cp -r contrib/dracut/90erofs-lts /usr/lib/dracut/modules.d/
sudo dracut -f --add erofs-lts
lsinitrd | grep erofs
E
said dracut 'updates/dkms/erofs\.ko'

doc Documentation/install.md <<'E'
sudo dkms remove erofs-lts/$version --all
sudo rm -r /usr/src/erofs-lts-$version
E
is dkms-removed "$(where)" kernel/fs/erofs/erofs.ko

# ---- packages --------------------------------------------------------------------
doc Documentation/install.md <<'E'
sudo apt-get install build-essential debhelper dh-dkms
dpkg-buildpackage -us -uc -b
E
# The installation and its removal are the business of tests/boot/package.sh.
check packages sh -c 'ls ../erofs-lts-dkms_*_all.deb ../erofs-lts-doc_*_all.deb'

fi

# ---- kernels.md ------------------------------------------------------------------
doc Documentation/kernels.md <<'E'
sh compat/probe.sh /lib/modules/$(uname -r)/build build/probed.h && cat build/probed.h
E
said probes '^#define HAVE_FOLIO_END_READ'
# The guest needs what was built.
cp -a build ../keep
doc Documentation/troubleshooting.md <<'E'
make clean
E
refuse clean test -e build
mv ../keep build
finish
