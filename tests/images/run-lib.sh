# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # variables shared with the callers
#
# run-lib.sh - common part of run-images.sh, run-bad.sh and run-life.sh: images
# and module ready, one guest run.  Source it after scripts/lib.sh.
# Wants $target, $what (bad, images ...), $stock (0 or 1); sets $work, $logs.
# SMP: processors of QEMU guests.  Two that are emulated wait for each other much of
# the time: for work that is done in sequence one is two to five times as fast.

mkimages=$TOP/tests/images/mkimages.sh
logs=$TOP/build/logs
label=$target-$what
[ "$stock" = 0 ] || label=$target-$what-stock
work=$TOP/build/images/$label
rm -rf "$work"
mkdir -p "$work/payload" "$work/out" "$logs"

uml_version=6.12 uml_flavour=
case $target in
uml-*-*) uml_version=${target#uml-} uml_flavour=${target##*-} uml_version=${uml_version%-*} ;;
uml-*) uml_flavour=${target#uml-} ;;
esac

# give_up REASON: one failed result and the end
give_up() {
	echo "not ok $target/$what - $1"
	exit 1
}

# make_images MANIFEST ARGUMENT...: sets $images, the directory
make_images() {
	local manifest=$1
	shift
	if ! images=$("$mkimages" -o "$manifest" "$@" 2>"$logs/mkimages-$label.log"); then
		tail -n 5 "$logs/mkimages-$label.log" >&2
		give_up "the images cannot be made, see $logs/mkimages-$label.log"
	fi
}

# guest SHARE PAYLOAD OPTION...: run tests/vm/PAYLOAD with the module and the
# static tools beside it; SHARE is where the guest finds it as $1 in conf.
# Results are printed with "$target/$what/" before the name.
guest() {
	local share=$1 payload=$2 rc=0 ko t run
	shift 2
	cp "$TOP/tests/vm/$payload" "$work/payload/run"
	echo "STOCK=$stock" >>"$work/payload/conf"
	run=(--payload "$work/payload" --file "$TOP/tests/vm/guest-lib.sh"
		--out "$work/out" --log "$logs/$label.log")
	for t in digest lo stress trymount; do
		run+=(--file "$("$mkimages" --tool $t)=$t")
	done
	if [ "$stock" = 0 ]; then
		if ! ko=$("$TOP/scripts/build-module.sh" "$target" - 2>"$logs/module-$target.log"); then
			tail -n 20 "$logs/module-$target.log" >&2
			give_up "the module does not build"
		fi
		run+=(--file "$ko=erofs.ko")
	fi
	if [ -n "$uml_flavour" ]; then
		# The guest covers these with file systems of its own.
		case $share in
		/tmp/* | /mnt/* | /run/*)
			run+=(--file "$share=share")
			share=\$T/share
			;;
		esac
		echo "SHARE=$share" >>"$work/payload/conf"
		if [ "$stock" = 1 ]; then
			t=$("$TOP/scripts/build-uml.sh" "$uml_version" "$uml_flavour")
			echo "STOCK_KO=$t/fs/erofs/erofs.ko" >>"$work/payload/conf"
		fi
		run=("$TOP/scripts/run-uml.sh" --version "$uml_version" --flavour "$uml_flavour" "${run[@]}" "$@")
	else
		echo "SHARE=/share" >>"$work/payload/conf"
		run=("$TOP/scripts/run-qemu.sh" --suite "$target" --share "$share" "${run[@]}" "$@")
		[ "$stock" = 0 ] || run+=(--stock)
		[ -z "${SMP:-}" ] || run+=(--smp "$SMP")
	fi
	"${run[@]}" 2>"$work/status" |
		stdbuf -oL sed "s#^ok #ok $target/$what/#; s#^not ok #not ok $target/$what/#" || rc=$?
	release=$(sed -n 's/.*VM-BEGIN .* s, //p' "$logs/$label.log" | tr -d '\r' | head -n 1)
	tail -n 1 "$work/status" >&2
	if [ $rc != 0 ] && [ "$stock" = 0 ]; then
		t=$(tail -n 1 "$work/status")
		echo "not ok $target/$what - ${t:-the runner was ended from outside (status $rc)}"
	fi
	return $rc
}
