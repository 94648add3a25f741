#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian's Linux 6.1 in QEMU: every case of tests/vm/cases.
# limit: 1500
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
exec bash tests/vm/run-cases.sh bookworm "${TEST_FILTER:-*}"
