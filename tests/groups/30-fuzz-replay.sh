#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Fuzz targets: all kept inputs and a short run.
# limit: 900
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
exec bash scripts/fuzz.sh --replay
