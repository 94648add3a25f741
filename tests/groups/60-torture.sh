#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Damaged images, mounted and used in a User Mode Linux kernel with KASAN,
# UBSAN, lockdep and kmemleak: kept ones that once caused trouble, and a fixed
# set of new ones.  "make torture N=20000" does more.
# limit: 2400
# parallel: yes
cd "$(dirname "$0")/../.." || exit 1
exec bash tests/torture/run.sh -R -n 1500 -s 1
