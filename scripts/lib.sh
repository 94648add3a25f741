# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# lib.sh - shared by the other scripts: messages, the cache directory, private
# apt lists per Debian suite, checked downloads.  Source it, do not run it.

# shellcheck disable=SC2034  # used by the scripts that source this file
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${EROFS_LTS_CACHE:-${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/erofs-lts}

# Where modinfo, losetup and mkfs are, which a user's PATH need not have.
PATH=$PATH:/usr/sbin:/sbin
export PATH

# Days after which the package lists of a suite are fetched again.
LIST_DAYS=${LIST_DAYS:-7}

say() { printf '%s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

need() {
	local c missing=
	for c in "$@"; do
		command -v "$c" >/dev/null 2>&1 || missing+=" $c"
	done
	[ -z "$missing" ] || die "missing:$missing; sh scripts/setup-host.sh test installs what is needed"
}

# source_copy DIR: what git knows of this checkout or would add, as it is in the work
# tree, in DIR (absolute, made if needed)
source_copy() {
	need git tar
	# .git is a file in a linked work tree.
	[ -e "$TOP/.git" ] || die "copying the source needs a git checkout, which $TOP is not"
	mkdir -p "$1" || return 1
	(
		set -o pipefail
		cd "$TOP" || exit 1
		# a clone of somebody else's, as with sudo
		git -c safe.directory='*' ls-files -z -co --exclude-standard | while IFS= read -r -d '' f; do
			# What is deleted is still in the index.
			if [ -e "$f" ] || [ -L "$f" ]; then printf '%s\0' "$f"; fi
		done | tar -c --null -T - | tar -x -C "$1"
	) || die "the source cannot be copied to $1"
}

# source_clone DIR: the same with the history; HEAD is the last commit
source_clone() {
	need git
	[ -e "$TOP/.git" ] || die "cloning the source needs a git checkout, which $TOP is not"
	git -c safe.directory='*' clone -q --no-checkout "$TOP" "$1" || die "$TOP cannot be cloned"
	source_copy "$1"
	git -C "$1" reset -q || die "no index in $1"
}

# lock NAME: one writer at a time in the cache; held until the script exits.
# Each name gets its own file descriptor, so that nested locks work.
lock() {
	local fd
	mkdir -p "$CACHE/locks"
	exec {fd}>"$CACHE/locks/$1"
	if ! flock -n "$fd"; then
		say "waiting for another run that holds '$1' ..."
		flock "$fd"
	fi
}

# What reads apt's output here reads all of it: apt writes line by line, and a
# pipeline whose first command was ended by SIGPIPE has failed.

# The host's own Debian mirror, as apt knows it: never a fixed name.
# $1 = archive label (Debian, Debian-Security)
mirror_uri() {
	apt-get indextargets --format "\$(LABEL)|\$(REPO_URI)" \
		'Created-By: Packages' 2>/dev/null |
		awk -F'|' -v l="$1" '$1 == l && !n++ { print $2 }'
}

# The same from the source lists, for a host whose lists were cleaned away.
mirror_from_sources() {
	local f
	for f in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list \
		/etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list; do
		[ -r "$f" ] || continue
		sed -n -e 's/^URIs:[[:space:]]*\([^[:space:]]*\).*/\1/p' \
			-e 's/^deb[[:space:]]\+\(\[[^]]*\][[:space:]]*\)\?\([^[:space:]]*\).*/\2/p' "$f"
	done | grep -E '/debian/?$' | sed -n 1p
}

# apt_setup SUITE: lists of one suite in a directory of their own, so that a
# package name has one candidate and the host's apt stays untouched.
# Sets APT_OPTS for apt-get and apt-cache.
apt_setup() {
	local suite=$1 dir=$CACHE/apt/$1 uri sec key k
	mkdir -p "$dir/lists/partial" "$dir/archives/partial" "$CACHE/debs"
	APT_OPTS=(-o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$dir/lists" -o "Dir::Cache::Archives=$dir/archives"
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Dir::State::status="$dir/status"
		-o APT::Sandbox::User=root -o Debug::NoLocking=1 -o Acquire::Retries=3
		-o Acquire::Languages=none)
	[ -e "$dir/status" ] || : >"$dir/status"
	if [ -e "$dir/fresh" ] && [ -z "$(find "$dir/fresh" -mtime "+$LIST_DAYS")" ] &&
		[ -z "${REFRESH:-}" ]; then
		return 0
	fi
	need apt-get
	uri=$(mirror_uri Debian)
	[ -n "$uri" ] || uri=$(mirror_from_sources)
	[ -n "$uri" ] || die "apt knows no Debian archive; run apt-get update"
	key=
	for k in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
		[ ! -r "$k" ] || key=$k
	done
	[ -n "$key" ] || die "no Debian archive keyring; install debian-archive-keyring"
	sec=$(mirror_uri Debian-Security)
	[ -n "$sec" ] || sec=${uri%/}-security/
	say "package lists of $suite ..."
	printf 'deb [signed-by=%s] %s %s main\n' "$key" "$uri" "$suite" >"$dir/sources.list"
	case $suite in
	bookworm | trixie)
		printf 'deb [signed-by=%s] %s %s-security main\n' "$key" "$sec" "$suite" \
			>>"$dir/sources.list"
		;;
	esac
	if apt-get "${APT_OPTS[@]}" -qq --error-on=any update >"$dir/update.log" 2>&1; then
		touch "$dir/fresh"
		return 0
	fi
	if [ -e "$dir/fresh" ]; then
		say "no new package lists of $suite (offline?); the ones in the cache are used"
		return 0
	fi
	cat "$dir/update.log" >&2
	die "cannot read the package lists of $suite"
}

# kernel_image: the package that linux-image-amd64 of the suite depends on
kernel_image() {
	apt-cache "${APT_OPTS[@]}" depends linux-image-amd64 |
		awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9]/ && !n++ { print $2 }'
}

# deb_get PACKAGE: path of the suite's current .deb in the cache, downloaded if
# needed; the SHA256 from the signed lists is compared in every case.
deb_get() {
	local pkg=$1 rec file sum
	rec=$(apt-cache "${APT_OPTS[@]}" --no-all-versions show "$pkg" 2>/dev/null |
		awk 'behind { next } /^Filename:/ { f = $2 } /^SHA256:/ { s = $2 }
		     /^$/ { behind = 1 } END { if (f) print f, s }')
	[ -n "$rec" ] || die "no package '$pkg' in this suite"
	sum=${rec#* }
	file=$(deb_name "$pkg")
	if [ -e "$CACHE/debs/$file" ] && ! sum_ok "$sum" "$CACHE/debs/$file"; then
		say "$file: checksum differs, fetched again"
		rm -f "$CACHE/debs/$file"
	fi
	if [ ! -e "$CACHE/debs/$file" ]; then
		say "fetching $file ..."
		(cd "$CACHE/debs" && apt-get "${APT_OPTS[@]}" -qq download "$pkg" >&2) ||
			die "download of $pkg failed"
		sum_ok "$sum" "$CACHE/debs/$file" || die "$file: SHA256 differs from the signed list"
	fi
	printf '%s\n' "$CACHE/debs/$file"
}

# apt's own file name: package_version_arch.deb, colon of the epoch as %3a
deb_name() {
	apt-cache "${APT_OPTS[@]}" --no-all-versions show "$1" |
		awk 'behind { next } /^Package:/ { p = $2 } /^Version:/ { v = $2; gsub(/:/, "%3a", v) }
		     /^Architecture:/ { a = $2 } /^$/ { behind = 1 } END { print p "_" v "_" a ".deb" }'
}

sum_ok() { [ "$(sha256sum <"$2" | cut -d' ' -f1)" = "$1" ]; }

# Directory with the headers of kernel release $1 (the KDIR to build against)
kernel_kdir() { printf '%s\n' "$CACHE/$1/usr/src/linux-headers-$1"; }

# Module directory of an unpacked kernel package: lib/ up to 6.12, usr/lib/ in 7.x
kernel_moddir() {
	local d
	for d in "$CACHE/$1/usr/lib/modules/$1" "$CACHE/$1/lib/modules/$1"; do
		if [ -d "$d/kernel" ]; then
			printf '%s\n' "$d"
			return 0
		fi
	done
	return 1
}

# unpack_closure DIR PACKAGE...: the packages with all they depend on, as if
# nothing were installed, unpacked into DIR.  apt checks each SHA256 against
# the signed lists before it calls a download complete.
unpack_closure() {
	local dir=$1 arch f deb
	shift
	arch=$(mktemp -d "$CACHE/closure.XXXXXX")
	mkdir -p "$arch/partial"
	# Recommended packages would triple the size.
	if ! apt-get "${APT_OPTS[@]}" -o "Dir::Cache::Archives=$arch" -o Dir::State::status=/dev/null \
		-o APT::Install-Recommends=0 -o APT::Get::Assume-Yes=1 -qq --download-only \
		install "$@" >"$arch/log" 2>&1; then
		cat "$arch/log" >&2
		die "packages could not be fetched: $*"
	fi
	for deb in "$arch"/*.deb; do
		# tar, because dpkg-deb -x would replace the links of a merged
		# /usr by directories.
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$dir" --keep-directory-symlink --no-same-owner ||
			die "cannot unpack ${deb##*/}"
	done
	rm -rf "$arch"
}

# kernel_config FRAGMENT OUT LOG OPTIONAL MAKE...: OUT/.config has what FRAGMENT
# asks for and nothing else that can be left out; symbols that match OPTIONAL (a
# regular expression without CONFIG_) may be missing.
kernel_config() {
	local frag=$1 out=$2 log=$3 optional=$4 bad=0 line sym
	shift 4
	"$@" KCONFIG_ALLCONFIG="$frag" allnoconfig >"$log" 2>&1 || {
		cat "$log" >&2
		die "configuration failed"
	}
	while IFS= read -r line; do
		sym=${line%%=*}
		if [[ $line == *=n ]]; then
			! grep -q "^$sym=" "$out/.config" || { say "wanted off: $sym"; bad=1; }
		elif ! grep -qxF "$line" "$out/.config"; then
			[[ ${sym#CONFIG_} =~ ^($optional)$ ]] || { say "not taken: $line"; bad=1; }
		fi
	done <"$frag"
	[ $bad = 0 ] || die "the configuration lost options that the tests need"
}
