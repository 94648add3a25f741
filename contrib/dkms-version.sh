#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# dkms-version.sh VERSION - give the module a version, if its source has none.
# Called by DKMS in its copy of the source (dkms.conf, PRE_BUILD).
set -eu
grep -q '^MODULE_VERSION(' super.c || printf 'MODULE_VERSION("%s");\n' "$1" >>super.c
