# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# containers.sh - part of check.sh: three EROFS layers under one overlay, a shell
# in a sandbox whose root is EROFS, systemd-dissect and system extensions.
C=/tmp/containers
mkdir -p $C/1 $C/2 $C/3 $C/m
for i in 1 2 3; do
	check layer-$i mount -t erofs -o ro,loop "$P/layer$i.img" $C/$i
done
check layers-overlay mount -t overlay -o ro,userxattr,lowerdir=$C/3:$C/2:$C/1 layers $C/m
same layers-top "$(cat $C/m/etc/which)" three
refuse layers-whiteout test -e $C/m/etc/removed
same layers-opaque "$(ls $C/m/etc/opaque)" two
same layers-merged "$(cd $C/m/etc/kept && echo *)" "below two"
same layers-content "$(sha256sum <$C/m/etc/numbers)" "$(seq 100000 | sha256sum)"

# podman and the like do the same with more words
sandbox() { bwrap --unshare-all --ro-bind "$1" / --proc /proc --dev /dev --tmpfs /tmp /bin/sh -c "$2"; }
same sandbox-erofs "$(sandbox $C/1 'cat /etc/which; cat /proc/1/comm >/tmp/x && echo ok')" "one
ok"
same sandbox-layers "$(sandbox $C/m 'cat /etc/which; ls /etc/opaque')" "three
two"
refuse sandbox-read-only sandbox $C/1 'echo x >/etc/which'
check layers-umount umount $C/m
# the same in a user namespace, which needs user.overlay.* and userxattr
same layers-userns "$(unshare -Urm sh -c "mount -t overlay -o ro,userxattr,lowerdir=$C/3:$C/2:$C/1 layers $C/m && cat $C/m/etc/which && ls $C/m/etc/opaque")" "three
two"
for i in 1 2 3; do check layer-$i-umount umount $C/$i; done

check dissect systemd-dissect --no-pager "$P/os.raw"
cp /tmp/check.out /tmp/dissect.out
check dissect-sees-erofs grep -q erofs /tmp/dissect.out
check dissect-mount systemd-dissect --mount --read-only "$P/os.raw" $C/m
same dissect-type "$(findmnt -n -o FSTYPE $C/m)" erofs
same dissect-content "$(sha256sum <$C/m/usr/bin/readme)" "$(cat "$P/os.sum")"
check dissect-umount systemd-dissect --umount $C/m
same dissect-copy "$(systemd-dissect --copy-from "$P/os.raw" /usr/bin/readme - | sha256sum)" "$(cat "$P/os.sum")"

mkdir -p /var/lib/extensions
cp "$P/demo.raw" /var/lib/extensions/
check sysext-merge systemd-sysext merge
check sysext-status sh -c 'systemd-sysext status --no-pager | grep -q demo'
check sysext-content sha256sum --quiet -c "$P/demo.sums"
check sysext-usr-still-there test -x /usr/bin/sha256sum
check sysext-unmerge systemd-sysext unmerge
refuse sysext-gone test -e /usr/share/erofs-demo
rm /var/lib/extensions/demo.raw
