#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A Debian with systemd whose root file system is EROFS on dm-verity, booted with
# the initramfs hook; Android-like partitions, layers, sandboxes, extensions.
# BOOT_FULL=1: three kernels, two compressions, without dm-verity too.
# limit: 4800
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
exec bash tests/boot/run.sh "${TEST_FILTER:-*}"
