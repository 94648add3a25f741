#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# lint.sh [CHECK...] - checks that need no kernel to run: style, kernel-doc,
# include rules, shell scripts, spelling; then, for each kernel, a build with
# W=1 and sparse's endian checks, without a single warning.  LINT_FILES, a line each,
# restricts the checks that look at files one by one.
# CHECK: checkpatch clang-format kernel-doc includes kernels words documents shellcheck codespell build
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$TOP" || exit 1
out=$TOP/build/lint
mkdir -p "$out"
fail=0

# result NAME FILE: ok if FILE (complaints) is empty
result() {
	# Exceptions, each with its reason: tests/lint.allow
	sed '/^#/d; /^$/d' "$TOP/tests/lint.allow" >"$out/allow"
	if [ -s "$out/allow" ]; then
		grep -vEf "$out/allow" "$2" >"$2.left" || true
		mv "$2.left" "$2"
	fi
	if [ -s "$2" ]; then
		echo "not ok lint/$1 - $(wc -l <"$2") lines, see ${2#"$TOP/"}"
		head -n 20 "$2"
		fail=1
	else
		echo "ok lint/$1"
	fi
}

# Files of the repository, new ones included; only those in LINT_FILES, if set
# names PATTERN...: in a clone what git knows or would add, in an unpacked release all files
names() {
	local f p
	if [ -e .git ]; then
		# a clone of somebody else's, as with sudo
		git -c safe.directory='*' ls-files -co --exclude-standard -- "$@"
		return
	fi
	find . -type f ! -path './build/*' -printf '%P\n' | while read -r f; do
		for p in "${@:-*}"; do
			# shellcheck disable=SC2254  # a pattern on purpose
			case $f in
			$p)
				printf '%s\n' "$f"
				break
				;;
			esac
		done
	done
}

files() {
	names "$@" |
		{ if [ -n "${LINT_FILES:-}" ]; then grep -Fx -e "$LINT_FILES"; else cat; fi; } |
		while read -r f; do [ ! -f "$f" ] || printf '%s\n' "$f"; done
}

kernel_c() { files '*.c' '*.h' | grep -Ev '^(tests|bench)/'; }
user_c() { files 'tests/*.c' 'tests/*.h' 'bench/*.c' 'bench/*.h'; }
scripts() {
	files | grep -Ev '\.(c|h|md|rst|txt|img|xz)$' | while read -r f; do
		case $f in
		*.sh) echo "$f" ;;
		*) ! head -c 40 "$f" | grep -aqE '^#!/bin/(ba)?sh' || echo "$f" ;;
		esac
	done
}

check_checkpatch() {
	local src
	src=$(scripts/fetch-source.sh 6.12) || die "no kernel source for checkpatch.pl"
	# What only makes sense for a patch to the kernel's own tree:
	# MAINTAINERS entries, IS_ENABLED() advice for our HAVE_ names.
	# Names in mixed case come from the libraries' interfaces.
	local common=FILE_PATH_CHANGES,EMBEDDED_FILENAME,MAINTAINERS,CAMELCASE
	kernel_c | xargs -r perl "$src/scripts/checkpatch.pl" --no-tree --strict --quiet --terse \
		--show-types --max-line-length=100 --ignore "$common" -f >"$out/checkpatch" 2>&1
	# Programs of the tests and benchmarks use libc, not the kernel.
	user_c | xargs -r perl "$src/scripts/checkpatch.pl" --no-tree --quiet --terse --show-types \
		--max-line-length=110 -f --ignore \
		"$common,SPDX_LICENSE_TAG,CAMELCASE,NEW_TYPEDEFS,PREFER_KERNEL_TYPES,SPLIT_STRING,AVOID_EXTERNS,CONSTANT_CONVERSION,PREFER_DEFINED_ATTRIBUTE_MACRO,MACRO_WITH_FLOW_CONTROL,COMPLEX_MACRO,MULTISTATEMENT_MACRO_USE_DO_WHILE,USE_NEGATIVE_ERRNO,ARRAY_SIZE,STRCPY,CONST_STRUCT,INITIALISED_STATIC,GLOBAL_INITIALISERS,SSCANF_TO_KSTRTO,DEEP_INDENTATION,INCLUDE_LINUX,USE_FALLTHROUGH,OPEN_ENDED_LINE,LONG_LINE_STRING,VOLATILE,MINMAX,TRAILING_STATEMENTS,EXECUTE_PERMISSIONS,SPACING,BRACES,LINE_SPACING,EMBEDDED_FUNCTION_NAME,STATIC_CONST_CHAR_ARRAY,UNNECESSARY_ELSE" \
		>>"$out/checkpatch" 2>&1
	sed -i -e '/^total: /d' -e '/^$/d' "$out/checkpatch"
	result checkpatch "$out/checkpatch"
}

check_clang-format() {
	# Event definitions have a layout of their own.
	kernel_c | grep -v '^trace\.h$' | xargs -r python3 scripts/format-check.py >"$out/clang-format" 2>&1
	result clang-format "$out/clang-format"
}

check_kernel-doc() {
	local rel kd
	rel=$(scripts/fetch-kernel.sh bookworm-backports) || die "no kernel"
	kd=$(find "$CACHE/$rel/usr/lib" -name kernel-doc -path '*/scripts/*' | head -n 1)
	[ -n "$kd" ] || die "kernel-doc not found in $rel"
	kernel_c | grep -v '^compat/' | xargs -r perl "$kd" -none -Wall >"$out/kernel-doc" 2>&1
	# What is written must be right; a member or return value whose name
	# says all needs no text.
	sed -i -E '/^[0-9]+ (warnings|errors)/d; /No description found for return value/d; / not described in /d' \
		"$out/kernel-doc"
	result kernel-doc "$out/kernel-doc"
}

check_includes() {
	local f
	{
		# The only reader of the version is the range gate in compat/.
		files '*.c' '*.h' | grep -v '^compat/' |
			xargs -r grep -nE 'linux/version\.h|LINUX_VERSION_CODE|KERNEL_VERSION\(' |
			sed 's/^/version test outside compat: /'
		# Interface differences are hidden there as well.
		files '*.c' '*.h' | grep -Ev '^compat/' | xargs -r grep -nE '^[[:space:]]*#[[:space:]]*(el)?if.*\bHAVE_[A-Z]' |
			grep -v 'tests/' | sed 's/^/probe result used outside compat: /'
		# The pure core sees core.h and nothing of the kernel.
		for f in ondisk.c map.c zmap.c dirent.c xattr_core.c decompressor_*.c; do
			[ ! -e "$f" ] || grep -nE '^[[:space:]]*#[[:space:]]*include' "$f" |
				grep -vE '"(core|port|erofs_fs|decompressor)\.h"' |
				# the libraries that the kernel itself has, and their stand-ins
				grep -vE '^[0-9]+:#include (<linux/(zlib|zstd)\.h>|"tests/port/port_(zlib|zstd)\.h")' |
				sed "s/^/$f: pure file includes: /"
		done
		for f in core.h erofs_fs.h; do
			[ ! -e "$f" ] || grep -nE '#[[:space:]]*include <' "$f" | sed "s/^/$f: pure header includes: /"
		done
		# Tests of the core do not reach into the kernel side.
		files 'tests/unit/*' 'tests/fuzz/*' | xargs -r grep -nE '#[[:space:]]*include "(internal|request|trace|compat/compat)\.h"' |
			sed 's/^/test includes kernel side: /'
	} >"$out/includes"
	result includes "$out/includes"
}

# Each probe that compat/ asks for is defined and is in the table of
# Documentation/kernels.md, with the name that compat/ supplies; and the reverse.
check_kernels() {
	local p what name
	grep -ohE '\bHAVE_[A-Z0-9_]+' compat/*.h Kbuild | sort -u >"$out/used"
	sed -n 's/^\(HAVE_[A-Z0-9_]*\)[[:space:]].*/\1/p' compat/probes.tab | sort >"$out/defined"
	# shellcheck disable=SC2016  # backquotes of Markdown
	sed -nE 's/^\|[^|]*\|[^|]*\| `([A-Z0-9_]+)` \|(.*)\|$/HAVE_\1 \2/p' Documentation/kernels.md >"$out/rows"
	cut -d' ' -f1 "$out/rows" | sort >"$out/documented"
	{
		uniq -d "$out/defined" | sed 's/$/: two probes/'
		uniq -d "$out/documented" | sed 's/$/: two rows in kernels.md/'
		comm -23 "$out/used" "$out/defined" | sed 's/$/: used, but not in probes.tab/'
		comm -23 "$out/used" "$out/documented" | sed 's/$/: used, but not in kernels.md/'
		comm -13 "$out/used" "$out/documented" | sed 's/$/: in kernels.md, but nobody asks for it/'
		while read -r p what; do
			# names in backquotes; "*" stands for a part of it
			# shellcheck disable=SC2016
			grep -oE '`[^`]+`' <<<"$what" | tr -d '`()' | while read -r name; do
				[ -e "$name" ] || grep -qE "\b${name//\*/[a-z_]+}\b" compat/*.h ||
					echo "$p: compat/ has no $name"
			done
		done <"$out/rows"
	} >"$out/kernels"
	result kernels "$out/kernels"
}

check_words() {
	local hosts
	# Mirror hosts and machine paths do not belong into the repository.
	hosts=$(apt-get indextargets --format "\$(SITE)" 2>/dev/null | sed 's#.*//##; s#/.*##; s#\.#\\.#g' |
		sort -u | paste -sd'|')
	local where=--no-index
	[ ! -e .git ] || where=
	# shellcheck disable=SC2086  # none or one
	git -c safe.directory='*' grep $where -nIE "/(work|root|home/[a-z]+)/${hosts:+|$hosts}" -- . ':!LICENSE' ':!scripts/lint.sh' \
		>"$out/words"
	# 1: nothing found
	[ $? -le 1 ] || echo "git grep failed" >>"$out/words"
	# First comment: what the file owns, after the licence.
	for f in $(files '*.c' '*.h' '*.sh'); do
		head -n 5 "$f" | grep -q 'SPDX-License-Identifier: ' || echo "$f: no SPDX line"
	done >>"$out/words"
	result words "$out/words"
}

# Commands that no test runs; pictures that are missing or no SVG
check_documents() {
	local f link
	{
		python3 tests/docs/commands.py
		files '*.svg' | xargs -r python3 -c 'import sys, xml.dom.minidom
for f in sys.argv[1:]:
    try:
        xml.dom.minidom.parse(f)
    except Exception as e:
        print(f"{f}: {e}")'
		# Links to files and pictures
		files '*.md' | while read -r f; do
			grep -oE '\]\([^)# ]+' "$f" | sed 's/^](//' | grep -v '://' | sort -u | while read -r link; do
				[ -e "$(dirname "$f")/$link" ] || echo "$f: no file for the link $link"
			done
		done
	} >"$out/documents" 2>&1
	result documents "$out/documents"
}

check_shellcheck() {
	# 1090, 1091: sourced files are checked on their own.  2317: functions
	# called by a computed name.
	# What runs in a guest handles names of its own making: no notes on quotes.
	{
		scripts | grep -Ev '^(tests/vm/cases|bench)/' |
			xargs -r shellcheck -e SC1090,SC1091,SC2317 -f gcc
		scripts | grep -E '^(tests/vm/cases|bench)/' |
			xargs -r shellcheck -S warning -e SC1090,SC1091,SC2317 -f gcc
	} >"$out/shellcheck" 2>&1
	result shellcheck "$out/shellcheck"
}

check_codespell() {
	files | grep -Ev '^LICENSE$|/corpus/|/regress/|\.(img|xz|bin)$' |
		xargs -r codespell -q 3 -L 'inout,ba,fo,nd,te,ue,ot,parm,iput,upto,lits' >"$out/codespell" 2>&1
	result codespell "$out/codespell"
}

# One build a kernel: W=1, sparse with endian checks, warnings are errors.
check_build() {
	local suite log n
	# __typeof_unqual__: sparse 0.6.4 does not know it, headers since 6.15 use it.
	for suite in bookworm bookworm-backports trixie-backports; do
		log=$out/build-$suite.log
		if ! scripts/build-module.sh "$suite" "$out/$suite" W=1 C=2 CF='-D__CHECK_ENDIAN__ -D__typeof_unqual__=__typeof__' KCFLAGS=-Werror >"$log" 2>&1; then
			echo "not ok lint/build-$suite - see ${log#"$TOP/"}"
			grep -E 'error|warning' "$log" | head -n 15
			fail=1
			continue
		fi
		# Complaints about the kernel's own headers are not ours to mend.
		grep -E '(warning|error):' "$log" | grep -vE '/include/|/arch/|Skipping BTF|^warning: the compiler differs' \
			>"$out/warnings-$suite" || true
		# kbuild goes on without sparse if it thinks that there is none.
		n=$(find . -maxdepth 1 -name '*.c' | wc -l)
		[ "$(grep -c '^  CHECK ' "$log")" -ge "$n" ] ||
			echo "warning: sparse read fewer than $n files, see $log" >>"$out/warnings-$suite"
		result "build-$suite" "$out/warnings-$suite"
	done
}

# Nothing to look at would be green.
names '*.c' | grep -q . || die "no list of files; is git there?"
[ $# -gt 0 ] || set -- checkpatch clang-format kernel-doc includes kernels words documents shellcheck codespell build
# What is missing is said before anything is fetched.
tools=()
for c in "$@"; do
	declare -F "check_$c" >/dev/null || die "unknown check '$c'"
	case $c in
	checkpatch | kernel-doc) tools+=(perl xz zstd) ;;
	clang-format) tools+=(clang-format python3) ;;
	documents) tools+=(python3) ;;
	shellcheck | codespell) tools+=("$c") ;;
	build) tools+=(make gcc sparse xz zstd) ;;
	esac
done
mapfile -t tools < <(printf '%s\n' "${tools[@]+"${tools[@]}"}" | sort -u)
# shellcheck disable=SC2068  # no empty name, if there is none
need ${tools[@]}
for c in "$@"; do
	"check_$c"
done
exit $fail
