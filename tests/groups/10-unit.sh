#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The pure core in user space, gcc and clang, with sanitizers.
# limit: 600
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
exec bash scripts/check.sh "${TEST_FILTER:-}"
