# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# doc-lib.sh - for chroot.sh, guest.sh and signed.sh, from the top of the source: run
# commands as the documents have them.
. tests/vm/guest-lib.sh
OUT=/tmp/doc.out	# what the last command printed

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
