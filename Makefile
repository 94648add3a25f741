# SPDX-License-Identifier: GPL-2.0
#
# Makefile - targets for people; Kbuild says what the module is made of.
# "make help" lists the targets.

KDIR ?= /lib/modules/$(shell uname -r)/build
FSNAME ?= erofs
INSTALL_MOD_DIR ?= updates
# What packagers call it
INSTALL_MOD_PATH ?= $(DESTDIR)

# Release of the kernel to build for; empty if KDIR is no build tree.
KREL = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null)
OUT ?= build/$(KREL)
# Sources are copied here and compiled there, so that several kernels can be
# built side by side and the source tree stays clean.
BUILD = $(abspath $(OUT))/.$(FSNAME)

# Passed on to kbuild as they are: W=1 C=2 CF=... DEBUG=1 KCOV=1 V=1 ARCH=um
kbuild-vars = $(foreach v,ARCH CC W C CF KCFLAGS V DEBUG KCOV CROSS_COMPILE LLVM,\
	$(if $($(v)),$(if $(filter command% environment%,$(origin $(v))),$(v)='$($(v))'))) \
	$(if $(C),KBUILD_CHECKSRC=$(C))
# KBUILD_CHECKSRC: some header packages lack the script that says whether sparse
# works, and kbuild would silently do without it.

.DEFAULT_GOAL := module

# ---- module -----------------------------------------------------------------

module: $(OUT)/$(FSNAME).ko

# kbuild decides what is out of date.
$(OUT)/$(FSNAME).ko: FORCE
	@sh scripts/check-kdir.sh "$(KDIR)"
	@sh scripts/stage.sh "$(BUILD)"
	@sh compat/probe.sh "$(KDIR)" "$(BUILD)/compat_config.h"
	@MAKEFLAGS= $(MAKE) $(if $(V),,--no-print-directory) $(if $(QUIET),-s) \
		$(kbuild-jobs) -C "$(KDIR)" M="$(BUILD)" FSNAME=$(FSNAME) \
		$(kbuild-vars) modules || { echo "This driver does not build for" \
		"Linux $(KREL): see the messages above." >&2; exit 1; }
	@cmp -s "$(BUILD)/$(FSNAME).ko" "$@" || cp -f "$(BUILD)/$(FSNAME).ko" "$@"
	$(if $(QUIET),,@echo "built $@")

kbuild-jobs = -j$(shell nproc)

install: module
	@sh scripts/check-kdir.sh "$(KDIR)"
	install -d "$(INSTALL_MOD_PATH)/lib/modules/$(KREL)/$(INSTALL_MOD_DIR)"
	install -m 644 "$(OUT)/$(FSNAME).ko" \
		"$(INSTALL_MOD_PATH)/lib/modules/$(KREL)/$(INSTALL_MOD_DIR)/"
	depmod $(if $(INSTALL_MOD_PATH),-b "$(INSTALL_MOD_PATH)") "$(KREL)"

# Headers may be gone before the module is.
uninstall: KREL := $(or $(KREL),$(if $(filter file,$(origin KDIR)),$(shell uname -r)))
uninstall:
	@[ -n "$(KREL)" ] || sh scripts/check-kdir.sh "$(KDIR)"
	rm -f "$(INSTALL_MOD_PATH)/lib/modules/$(KREL)/$(INSTALL_MOD_DIR)/$(FSNAME).ko"
	depmod $(if $(INSTALL_MOD_PATH),-b "$(INSTALL_MOD_PATH)") "$(KREL)"

clean:
	rm -rf build compat_config.h

# ---- tests ------------------------------------------------------------------

# Everything, or what matches a pattern: make test T='unit*'
test:
	@bash tests/run.sh $(if $(T),'$(T)')

# Unit tests in user space: no root, no kernel.  make check T=dirent
check:
	@bash scripts/check.sh $(if $(T),'$(T)')

# make fuzz T=dirent S=60
fuzz:
	@bash scripts/fuzz.sh '$(T)' '$(or $(S),60)'

# Damaged images in a kernel with checkers: make torture N=20000 S=1 (first number)
torture:
	@bash tests/torture/run.sh -n '$(or $(N),20000)' -s '$(or $(S),$(shell date +%s)000)' \
		$(if $(TARGET),-t '$(TARGET)')

lint:
	@bash scripts/lint.sh $(T)

# One kernel in a virtual machine: make check-vm SUITE=bookworm
vm-of-bookworm = 6.1
vm-of-bookworm-backports = 6.12
vm-of-trixie-backports = 7.3
check-vm:
	@bash tests/run.sh 'vm-$(vm-of-$(or $(SUITE),bookworm))'

# Several processors, a kernel with checkers: make check-smp S=60
check-smp:
	@$(if $(S),STORM_SECONDS='$(S)') bash tests/smp.sh $(SUITE)

# This driver beside the kernel's own one, squashfs and ext4: make bench T=quick
bench:
	@bash bench/run.sh $(T)

demo:
	@bash scripts/demo.sh

help:
	@sed -n 's/^	//p' scripts/help.txt

FORCE:

.PHONY: module install uninstall clean test check fuzz torture lint check-vm check-smp bench demo help FORCE
