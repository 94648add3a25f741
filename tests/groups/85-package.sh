#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian packages: built, checked by lintian, installed in a clean Debian; DKMS
# builds, depmod prefers the result, removal restores.  PACKAGE_FULL=1: for three
# kernels, and each module loaded in a virtual machine.
# limit: 14400
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
exec bash tests/boot/package.sh "${TEST_FILTER:-*}"
