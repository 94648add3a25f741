#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# release.sh [--no-tests] VERSION - make a release of what is committed: write the
# version into dkms.conf and internal.h, the dates into CHANGELOG.md and debian/changelog, run
# "make test", commit, tag vVERSION, and pack build/release/erofs-lts-VERSION.tar.xz
# with its SHA256.  Nothing is sent anywhere; "git push --follow-tags" is the last
# step, done by hand.  VERSION: MAJOR.MINOR.PATCH.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

tests=1
if [ "${1:-}" = --no-tests ]; then
	tests=
	shift
fi
version=${1:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "usage: $0 [--no-tests] MAJOR.MINOR.PATCH"
cd "$TOP"
need git xz sha256sum

[ -z "$(git status --porcelain)" ] || die "there are changes that are not committed"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || die "v$version exists already"
old=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
[ "$(printf '%s\n' "$old" "$version" | sort -V | tail -n 1)" = "$version" ] ||
	die "$version is older than $old"
# Said by people, not by a script
head="## $version (not released)"
grep -qxF "$head" CHANGELOG.md || die "CHANGELOG.md has no section '$head'"
sed -n "/^$head\$/,/^## [0-9]/p" CHANGELOG.md | grep '^- ' >/dev/null ||
	die "CHANGELOG.md says nothing about $version"

# After a failure everything is as before.
undo() { git checkout -q -- dkms.conf internal.h CHANGELOG.md debian/changelog; }
trap undo ERR INT TERM

sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"$version\"/" dkms.conf
sed -i "s/^\(#define EROFS_LTS_VERSION[[:space:]]*\).*/\1\"$version\"/" internal.h
sed -i "s/^$head\$/## $version ($(date -u +%F))/" CHANGELOG.md
who="$(git config user.name) <$(git config user.email)>"
{
	printf 'erofs-lts (%s) unstable; urgency=medium\n\n' "$version"
	printf '  * Version %s; CHANGELOG.md says what is new.\n\n' "$version"
	printf ' -- %s  %s\n' "$who" "$(LC_ALL=C date -uR)"
	# An entry that was begun for this or an older version gives way.
	awk '/^erofs-lts \(/ { show = $0 !~ /UNRELEASED/; if (show) print "" } show' debian/changelog
} >debian/changelog.new
mv debian/changelog.new debian/changelog
if [ -n "$tests" ]; then
	make --no-print-directory test
fi
git commit -q -m "release $version" -- dkms.conf internal.h CHANGELOG.md debian/changelog
trap - ERR INT TERM
sign=-a
[ -z "$(git config user.signingkey || true)" ] || sign=-s
git tag $sign -m "erofs-lts $version" "v$version"

out=build/release/erofs-lts-$version.tar.xz
mkdir -p build/release
git archive --prefix="erofs-lts-$version/" "v$version" | xz -9 >"$out"
(cd build/release && sha256sum "${out##*/}" >"${out##*/}.sha256")
say "$out; now: git push --follow-tags"
