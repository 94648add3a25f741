#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# User Mode Linux 6.12 with KASAN, UBSAN, lockdep and kmemleak: every case.
# limit: 2400
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
exec bash tests/vm/run-cases.sh uml-debug "${TEST_FILTER:-*}"
