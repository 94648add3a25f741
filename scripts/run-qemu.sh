#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-qemu.sh - boot a cached Debian kernel in QEMU and run a payload in it.
# Exit status 0 only if the payload succeeded, the guest said so with this
# run's token, and its kernel log is clean.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/vm-lib.sh"

usage() {
	cat >&2 <<-'E'
	run-qemu.sh --suite SUITE|--release REL --payload DIR [options]
	  --payload DIR    copied to /t; its executable "run" is the test (T=/t)
	  --file PATH[=NAME]  put a file or directory beside it as /t/NAME (repeat)
	  --drive FILE     read-only disk (repeat): /dev/vda, /dev/vdb ... in $DISKS
	  --drive-rw FILE  the same, writable
	  --nvdimm FILE    emulated NVDIMM with the file's content (repeat): region0,
	                   region1 ... of libnvdimm; what the guest writes is lost
	  --out DIR        9p share: what the guest writes to $OUT appears here
	  --share DIR      9p share, read-only, /share in the guest
	  --modules "M..." also load these at boot
	  --avail "M..."   also put these in reach of modprobe
	  --progs "P..."   host programs to copy with their libraries
	  --stock          put the kernel's own erofs.ko in reach (/m/erofs.ko)
	  --smp N          processors (2)       --mem MB   memory (768)
	  --icount         count guest instructions: one processor, virtual time
	  --kvm auto|off   use KVM if it works (off)
	  --timeout S      limit (120)          --append "ARGS"  kernel command line
	  --qemu "ARGS"    more arguments for QEMU
	  --allow REGEX    kernel log lines that the test provokes on purpose
	  --log FILE       console log (build/logs/qemu-<payload>-<release>.log)
	  --quiet          do not show the payload's output
	E
	exit 2
}

suite="" rel="" payload="" out="" share="" modules="" avail="" progs="" smp=2 mem=768 icount="" kvm=off
timeout=120 append="" qemu="" allow="" log="" quiet="" stock=""
drives=() nvdimms=() files=()
while [ $# -gt 0 ]; do
	case $1 in
	--suite) suite=$2; shift ;;
	--release) rel=$2; shift ;;
	--payload) payload=$2; shift ;;
	--file) files+=("$2"); shift ;;
	--drive) drives+=("ro:$2"); shift ;;
	--drive-rw) drives+=("rw:$2"); shift ;;
	--nvdimm) nvdimms+=("$2"); shift ;;
	--out) out=$2; shift ;;
	--share) share=$2; shift ;;
	--modules) modules=$2; shift ;;
	--avail) avail=$2; shift ;;
	--progs) progs=$2; shift ;;
	--stock) stock=1 ;;
	--smp) smp=$2; shift ;;
	--mem) mem=$2; shift ;;
	--icount) icount=1 ;;
	--kvm) kvm=$2; shift ;;
	--timeout) timeout=$2; shift ;;
	--append) append=$2; shift ;;
	--qemu) qemu=$2; shift ;;
	--allow) allow=$2; shift ;;
	--log) log=$2; shift ;;
	--quiet) quiet=1 ;;
	*) usage ;;
	esac
	shift
done
[ -n "$payload" ] || usage
[ -n "$suite$rel" ] || usage
[ -x "$payload/run" ] || die "$payload/run is missing or not executable"
need qemu-system-x86_64 cpio timeout
[ -n "$rel" ] || rel=$("$TOP/scripts/fetch-kernel.sh" "$suite")
[ -e "$CACHE/$rel/vmlinux" ] || die "kernel $rel is not in the cache; run scripts/fetch-kernel.sh"
[ -z "$stock" ] || avail="$avail erofs"
base=$("$TOP/scripts/mk-initramfs.sh" "$rel" \
	-b "virtio_pci virtio_blk 9pnet_virtio 9p loop $modules" -a "$avail" -p "$progs")
[ -n "$log" ] || log=$TOP/build/logs/qemu-$(basename "$payload")-$rel.log
mkdir -p "$(dirname "$log")"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/t"
cp -a "$payload/." "$tmp/t/"
for f in "${files[@]+"${files[@]}"}"; do
	name=${f#*=}
	[ "$name" != "$f" ] || name=$(basename "$f")
	cp -a "${f%%=*}" "$tmp/t/$name"
done
(cd "$tmp" && find t | cpio -o -H newc --quiet -R 0:0) >"$tmp/payload.cpio"
cat "$base" "$tmp/payload.cpio" >"$tmp/initrd"

nonce=$(new_nonce)
cmdline="console=ttyS0 quiet panic=-1 nokaslr no_timer_check log_buf_len=4M"
cmdline+=" rcupdate.rcu_cpu_stall_timeout=150 watchdog_thresh=60 test.nonce=$nonce"
machine=q35 memory=$mem
if [ ${#nvdimms[@]} != 0 ]; then
	machine+=,nvdimm=on
	memory+=,slots=${#nvdimms[@]},maxmem=$((mem + 1024 * ${#nvdimms[@]}))M
fi
args=(-M "$machine" -m "$memory" -nodefaults -no-user-config -display none -no-reboot
	-serial "file:$log" -kernel "$CACHE/$rel/vmlinux" -initrd "$tmp/initrd")
n=0
for d in "${nvdimms[@]+"${nvdimms[@]}"}"; do
	args+=(-object "memory-backend-file,id=mem$n,mem-path=$d,size=$(stat -Lc %s "$d"),share=off"
		-device "nvdimm,id=nv$n,memdev=mem$n")
	n=$((n + 1))
done
n=0
for d in "${drives[@]+"${drives[@]}"}"; do
	ro=on
	[ "${d%%:*}" = ro ] || ro=off
	args+=(-drive "if=none,id=d$n,format=raw,file=${d#*:},readonly=$ro,file.locking=off"
		-device "virtio-blk-pci,drive=d$n")
	n=$((n + 1))
done
if [ -n "$out" ]; then
	mkdir -p "$out"
	args+=(-virtfs "local,path=$out,mount_tag=out,security_model=none,id=out")
	cmdline+=" test.out=1"
fi
if [ -n "$share" ]; then
	args+=(-virtfs "local,path=$share,mount_tag=share,security_model=none,id=share,readonly=on")
	cmdline+=" test.share=1"
fi

# A /dev/kvm may be there and hang the first guest.  Asked once per boot of
# this host, with a limit.
kvm_works() {
	local ok
	[ -w /dev/kvm ] || return 1
	ok=$CACHE/kvm-$(cat /proc/sys/kernel/random/boot_id)
	if [ ! -e "$ok" ]; then
		rm -f "$CACHE"/kvm-*
		# in braces, so that bash doesn't report an abort as if it were ours
		{ (timeout -k 1 10 qemu-system-x86_64 -accel kvm -cpu max -M q35 -m 512 -nodefaults \
			-no-user-config -display none -no-reboot -serial "file:$tmp/kvm.log" \
			-kernel "$CACHE/$rel/vmlinux" -initrd "$base" \
			-append "console=ttyS0 panic=-1 test.nonce=kvmprobe" </dev/null >/dev/null 2>&1); } 2>/dev/null || true
		if grep -q 'VM-BEGIN kvmprobe' "$tmp/kvm.log" 2>/dev/null; then echo yes; else echo no; fi >"$ok"
	fi
	[ "$(cat "$ok")" = yes ]
}
if [ -n "$icount" ]; then
	args+=(-accel tcg -icount "shift=0,sleep=off" -smp 1 -cpu "max,-erms,-fsrm")
elif [ "$kvm" = auto ] && kvm_works; then
	args+=(-accel kvm -cpu max -smp "$smp")
	cmdline+=" mitigations=off"
else
	args+=(-accel "tcg,thread=multi" -cpu max -smp "$smp")
	# QEMU may execute the old code of a place that another processor has patched, and
	# kernels patch a lot while they boot: the others come when that is over, see init.sh.
	cmdline+=" mitigations=off maxcpus=1 lpj=4000000 tsc=reliable"
fi
# shellcheck disable=SC2206  # a list of words on purpose
args+=($qemu)

# stuck PID SECONDS: end a guest whose kernel doesn't get to its init in this time
stuck() {
	local i
	for ((i = 0; i < $2; i++)); do
		sleep 1
		if ! kill -0 "$1" 2>/dev/null || grep -q "VM-BEGIN $nonce" "$log"; then
			return
		fi
	done
	kill "$1"
}

# Once in some hundred boots, and more often on a busy host, a kernel hangs or dies
# before its init, where nothing of ours has run.  Such a guest is started again, twice
# at most; what it had said is kept.
start=$SECONDS
patience=$((timeout / 3 > 300 ? 300 : timeout / 3))
rm -f "$log".[0-9]
for try in 1 2 3; do
	: >"$log"
	begin=$SECONDS
	timeout -k 5 "$timeout" qemu-system-x86_64 "${args[@]}" -append "$cmdline $append" \
		</dev/null >"$tmp/qemu.out" 2>&1 &
	pid=$!
	trap 'kill "$pid" 2>/dev/null; rm -rf "$tmp"' EXIT
	[ "$patience" -lt 60 ] || [ "$try" = 3 ] || stuck "$pid" "$patience" &
	if [ -z "$quiet" ]; then
		# Show the payload's part of the console while it runs.
		tail -n +1 -s 0.2 -f --pid="$pid" "$log" 2>/dev/null |
			sed -un "s/\r\$//; /VM-BEGIN $nonce/,/VM-RC $nonce/{/VM-BEGIN\|VM-RC/!p}"
	fi
	qrc=0
	wait "$pid" || qrc=$?
	trap 'rm -rf "$tmp"' EXIT
	if [ "$try" = 3 ] || [ "$qrc" = 1 ] || grep -q "VM-BEGIN $nonce" "$log"; then
		break
	fi
	cp "$log" "$log.$try"
	say "not at its init after $((SECONDS - begin)) s, started again; log: $log.$try"
done
why=
if [ "$qrc" = 124 ] || [ "$qrc" = 137 ]; then
	why="no end within $timeout s"
elif [ "$qrc" != 0 ]; then
	why="QEMU ended with status $qrc: $(tail -n 1 "$tmp/qemu.out")"
fi
reason=$(judge "$nonce" "$log" "$allow") || why=${reason}${why:+ ($why)}
if [ -n "$why" ]; then
	say "FAILED on $rel: $why; log: $log"
	exit 1
fi
say "ok on $rel, $((SECONDS - start)) s"
