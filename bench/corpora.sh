#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# corpora.sh IMAGE... - make benchmark images in the cache, print one path a
# line.  Everything comes from Debian packages, so the bytes are the same
# everywhere.  An image name is CORPUS-KIND:
#   dict  one file, the first 100,000,000 bytes of three dictionaries
#   hdr   the tree of the linux-headers-*-common package of the bookworm kernel
#   cont  a container-like root: Debian packages, every file with the overlay
#         redirect and metacopy attributes; objs is what they point to
#   prog  a large program (cc1) with its libraries
#   fold  hdr again, as an ext4 image that is the only file of the filesystem
# and KIND is erofs (uncompressed), erofs4k ... erofs1024k (LZ4HC clusters),
# squash4k ... squash1024k (LZ4HC blocks) or ext4 (no journal).
set -euo pipefail
. "$(dirname "$0")/../scripts/lib.sh"
B=$CACHE/bench
mkdir -p "$B"

# unpack DEB DIR
unpack() { mkdir -p "$2" && dpkg-deb -x "$1" "$2"; }

corpus_dict() {
	local p deb dir=$1
	apt_setup bookworm
	mkdir -p "$dir"
	{
		for p in dict-gcide dict-wn dict-freedict-eng-deu; do
			deb=$(deb_get "$p")
			unpack "$deb" "$dir.pkg"
		done
		for p in gcide wn freedict-eng-deu; do
			zcat <"$dir.pkg/usr/share/dictd/$p.dict.dz"
		done
	} 2>"$dir.err" | head -c 100000000 >"$dir/dict100M"
	rm -rf "$dir.pkg" "$dir.err"
	[ "$(stat -c %s "$dir/dict100M")" = 100000000 ] || die "dictionaries are too small"
}

# The headers of one fixed kernel line; the package of the cached kernel.
corpus_hdr() {
	local rel deb
	rel=$("$TOP/scripts/fetch-kernel.sh" bookworm)
	apt_setup bookworm
	deb=$(deb_get "linux-headers-${rel%-amd64}-common")
	unpack "$deb" "$1.pkg"
	rm -rf "$1"
	mv "$1.pkg/usr/src/linux-headers-${rel%-amd64}-common" "$1"
	rm -rf "$1.pkg"
}

corpus_cont() {
	local p
	apt_setup bookworm
	for p in base-files bash coreutils dash debianutils dpkg apt libc6 libc-bin perl-base perl \
		perl-modules-5.36 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib tzdata; do
		unpack "$(deb_get "$p")" "$1"
	done
	# What image tools write for overlayfs: the data of each file lies in
	# another layer under a name of its digest, this layer has a sparse file.
	python3 - "$1" "$B/corpus-objs" <<-'P'
	import hashlib, os, sys
	for d, _, files in os.walk(sys.argv[1]):
	    for f in files:
	        p = os.path.join(d, f)
	        if os.path.islink(p) or not os.path.isfile(p):
	            continue
	        data = open(p, "rb").read()
	        h = hashlib.sha256(data).hexdigest()
	        obj = f"{sys.argv[2]}/{h[:2]}/{h[2:]}"
	        os.makedirs(os.path.dirname(obj), exist_ok=True)
	        with open(obj, "wb") as o:
	            o.write(data)
	        # A new file, because hard links share their attributes.
	        st = os.stat(p)
	        os.unlink(p)
	        with open(p, "wb") as o:
	            o.truncate(len(data))
	        os.chmod(p, st.st_mode)
	        os.utime(p, (st.st_mtime, st.st_mtime))
	        os.setxattr(p, "trusted.overlay.redirect", f"/{h[:2]}/{h[2:]}".encode())
	        os.setxattr(p, "trusted.overlay.metacopy", b"")
	P
	touch "$B/.corpus-objs"
}

corpus_objs() { corpus cont >/dev/null; mkdir -p "$1"; cp -al "$B/corpus-objs/." "$1/"; }

corpus_prog() {
	local p
	apt_setup bookworm
	for p in cpp-12 libc6 libisl23 libmpc3 libmpfr6 libgmp10 zlib1g libzstd1; do
		unpack "$(deb_get "$p")" "$1.pkg"
	done
	mkdir -p "$1"
	cp "$1.pkg/usr/lib/gcc/x86_64-linux-gnu/12/cc1" "$1/"
	cp -L "$1.pkg"/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$1/ld"
	find "$1.pkg" -name '*.so.*' -exec cp -L -n -t "$1" {} +
	rm -rf "$1.pkg"
}

corpus_fold() {
	mkdir -p "$1"
	cp --sparse=never "$(image hdr-ext4)" "$1/inner.img"
}

corpus() {
	local dir=$B/corpus-$1
	if [ ! -e "$B/.corpus-$1" ]; then
		say "benchmark corpus $1 ..."
		rm -rf "$dir.tmp" "$dir.tmp.pkg"
		"corpus_$1" "$dir.tmp"
		rm -rf "$dir"
		mv "$dir.tmp" "$dir"
		touch "$B/.corpus-$1"
	fi
	printf '%s\n' "$dir"
}

image() {
	local c=${1%%-*} kind=${1#*-} img=$B/$1.img dir size blocks mkfs
	if [ ! -e "$img" ]; then
		dir=$(corpus "$c")
		say "benchmark image $1 ..."
		rm -f "$img.tmp"
		case $kind in
		erofs*)
			mkfs=$("$TOP/scripts/fetch-tools.sh" bookworm)/mkfs.erofs
			size=${kind#erofs}
			size=${size%k}
			case $size in
			'') size=() ;;
			4) size=(-zlz4hc) ;;
			*) size=(-zlz4hc "-C$((size * 1024))") ;;
			esac
			nice "$mkfs" "${size[@]+"${size[@]}"}" -U 00000000-0000-4000-8000-000000000001 \
				"$img.tmp" "$dir" >/dev/null 2>"$img.log"
			;;
		squash*)
			need mksquashfs
			nice mksquashfs "$dir" "$img.tmp" -comp lz4 -Xhc -b "${kind#squash}" -noappend \
				-no-progress -quiet >"$img.log" 2>&1
			;;
		ext4)
			need mkfs.ext4
			blocks=$(($(find "$dir" -type f -printf '%s\n' |
				awk '{ s += int(($1 + 4095) / 4096) } END { print s }') * 21 / 20 + 3000))
			nice mkfs.ext4 -q -O '^has_journal' -m 0 -b 4096 \
				-N "$(($(find "$dir" | wc -l) + 1000))" -d "$dir" "$img.tmp" "$blocks" >"$img.log" 2>&1
			;;
		*) die "unknown image $1" ;;
		esac
		mv "$img.tmp" "$img"
	fi
	printf '%s\n' "$img"
}

need dpkg-deb
lock bench
for i in "$@"; do
	if [[ $i == */ ]]; then corpus "${i%/}"; else image "$i"; fi
done
