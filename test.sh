#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Install what the tests need, then run all of them, or what arguments for make say:
# ./test.sh T=vm-6.1 ("make help" for parts).
set -eu
cd "$(dirname "$0")"
sh scripts/setup-host.sh test
[ "$(id -u)" != 0 ] || exec make --no-print-directory test "$@"
why="the tests need root (device nodes, other owners)"
command -v sudo >/dev/null || {
	echo "$why: please run this as root, or install sudo" >&2
	exit 1
}
echo "$why: going on with sudo"
# The cache is root's then, unless it was put somewhere else.
exec sudo env ${XDG_CACHE_HOME:+"XDG_CACHE_HOME=$XDG_CACHE_HOME"} \
	${EROFS_LTS_CACHE:+"EROFS_LTS_CACHE=$EROFS_LTS_CACHE"} \
	make --no-print-directory test "$@"
