#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Install what the tests need, then run all of them ("make help" for parts).
set -eu
cd "$(dirname "$0")"
sh scripts/setup-host.sh test
exec make --no-print-directory test
