#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# module-setup.sh - dracut module: put the erofs module, with loop and overlay
# for images in files and writable roots, into an initramfs for an EROFS root.
# Which of several modules of that name is taken is depmod's business.

# 0: take it; 255: only if asked for by name or by another module
check() {
	# shellcheck disable=SC2154  # set by dracut, like host_fs_types below
	[[ $hostonly ]] || [[ ${mount_needs:-} ]] || return 255
	local fs
	# shellcheck disable=SC2154
	for fs in "${host_fs_types[@]}"; do
		[[ $fs != erofs ]] || return 0
	done
	return 255
}

depends() {
	return 0
}

installkernel() {
	# All of them even in an initramfs for this host only; loop and overlay
	# may be built in.
	hostonly='' instmods erofs loop overlay
}

install() {
	# shellcheck disable=SC2154  # set by dracut
	inst_hook pre-pivot 50 "$moddir/overlay.sh"
}
