# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# doc-lib.sh - for chroot.sh and guest.sh: run commands as the documents have them.

# shellcheck disable=SC2034  # for the scripts that source this
FAILED=0
OUT=/tmp/doc.out	# what the last command printed
ok() { printf 'ok %s\n' "$1"; }
# shellcheck disable=SC2034
not_ok() { FAILED=1; printf 'not ok %s - %s\n' "$1" "$2"; }
check() {
	_n=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then ok "$_n"; else not_ok "$_n" "$* failed: $(tail -n 1 /tmp/check.out)"; fi
}
refuse() {
	_n=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then not_ok "$_n" "$* succeeded"; else ok "$_n"; fi
}

# doc FILE [SED] <<'E' ... E: run the lines, one at a time, in this shell.  They are
# what FILE says, letter by letter (commands.py compares); SED puts a real name where
# a document has to have an invented one.
doc() {
	_file=$1 _sed=${2:-}
	_text=$(cat | sed -e ':a' -e '/\\$/{N;s/\\\n[[:space:]]*//;ba' -e '}')
	while IFS= read -r _line <&3; do
		_run=$(printf '%s\n' "$_line" | sed -e "$_sed")
		_name=$_file:\ $(printf '%s\n' "$_line" | cut -c1-90)
		if eval "$_run" >$OUT 2>&1 </dev/null; then
			ok "$_name"
		else
			not_ok "$_name" "status $?: $(tail -n 1 $OUT)"
			tail -n 20 $OUT
		fi
	done 3<<-EOF
	$_text
	EOF
}

# said NAME REGEX: the last command printed that
said() { check "$1" grep -qE "$2" $OUT; }
