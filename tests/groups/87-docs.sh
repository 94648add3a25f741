#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands in the documents: each one is run by some test, and most of them here.
# limit: 7200
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
exec bash tests/docs/run.sh
