#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# signed.sh - in a guest whose kernel wants signatures (module.sig_enforce=1, which
# Secure Boot implies): what has none, or one by a stranger, isn't loaded.
cd "$(dirname "$0")/../.." || exit 1
. tests/docs/doc-lib.sh
b=build/$(uname -r)
check enforced grep -qx Y /sys/module/module/parameters/sig_enforce
check own-signed test -n "$(modinfo -F signer erofs)"
check own-loads modprobe erofs
check own-goes rmmod erofs
refuse unsigned insmod "$b/erofs.ko"
cp /tmp/check.out $OUT
said unsigned-says 'Key was rejected by service|Required key not available'
refuse stranger insmod "$b/erofs-signed.ko"
cp /tmp/check.out $OUT
said stranger-says 'Key was rejected by service'
refuse not-loaded test -e /sys/fs/erofs
finish
