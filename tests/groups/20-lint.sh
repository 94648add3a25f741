#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Style, sparse, warnings, include rules, scripts.
# limit: 900
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
exec bash scripts/lint.sh ${TEST_FILTER:+"$TEST_FILTER"}
