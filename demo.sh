#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Install what the demonstration needs, then run it: an EROFS image, mounted by
# this driver in a virtual machine, compared file by file with its source.
set -eu
cd "$(dirname "$0")"
sh scripts/setup-host.sh demo
exec make demo
