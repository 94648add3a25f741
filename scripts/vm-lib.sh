# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# vm-lib.sh - how run-qemu.sh and run-uml.sh judge a run.  Source it after lib.sh.

# Lines of the kernel log that fail a run.
SPLAT='WARNING:|BUG:|kernel BUG at|Oops|general protection fault|[Uu]nable to handle|KASAN|UBSAN'
SPLAT+='|possible (circular|recursive|irq|deadlock)|inconsistent lock state|suspicious RCU|held lock freed'
SPLAT+='|bad unlock balance|blocked for more than|soft lockup|hard LOCKUP|detected stalls|self-detected stall'
SPLAT+='|list_(add|del) corruption|refcount_t:|ODEBUG|VFS: Busy inodes|Bad page|Objects remaining'
SPLAT+='|kmemleak: [0-9]+ new|Kernel panic|sysfs: cannot create duplicate|UAF|scheduling while atomic'

# excerpt LOG: the first bad line of a console log and what follows, else its end
excerpt() {
	local n
	n=$(grep -naE "$SPLAT|^not ok " "$1" 2>/dev/null | head -n 1 | cut -d: -f1)
	if [ -n "$n" ]; then
		sed -n "$((n > 12 ? n - 12 : 1)),$((n + 28))p" "$1"
	else
		tail -n 25 "$1" 2>/dev/null
	fi | cut -c1-160
}

new_nonce() { od -An -v -tx8 -N 16 /dev/urandom | tr -d ' \n'; }

# races LOG: titles of KCSAN's reports that the module under test has a part in
races() {
	sed 's/^\(\[[^]]*\]\)* *//; s/\r$//' "$1" | awk '
		/^BUG: KCSAN: / { done(); title = $0; mine = 0 }
		title && /\[erofs\]/ { mine = 1 }
		function done() { if (title && mine && !seen[title]++) print title; title = "" }
		/^=====/ { done() }
		END { done() }'
}

# judge NONCE LOG ALLOW: 0 and silence if the guest succeeded, else the reason.
# ALLOW is an extended regular expression of log lines that this test expects.
judge() {
	local nonce=$1 log=$2 allow=$3 rc bad n
	if ! grep -q "VM-BEGIN $nonce" "$log"; then
		echo "the guest did not reach its init"
		return 1
	fi
	rc=$(sed -n "s/.*VM-RC $nonce \([0-9]*\).*/\1/p" "$log")
	# A panic or KASAN report stops the guest before it prints its log.
	bad=$(sed -n "/VM-BEGIN $nonce/,\$p" "$log" | grep -aE "$SPLAT" |
		{ if [ -n "$allow" ]; then grep -avE "$allow" || true; else cat; fi; } |
		{ grep -av 'BUG: KCSAN: ' || true; } | head -n 1)
	# The kernel's own data races are none of our business.
	[ -n "$bad" ] || bad=$(races "$log" | head -n 1)
	if [ -n "$bad" ]; then
		echo "kernel log: ${bad//$'\r'/}"
		return 1
	fi
	if [ -z "$rc" ]; then
		echo "the guest died or hung during the test"
		return 1
	fi
	if [ "$rc" != 0 ]; then
		echo "the test ended with status $rc"
		return 1
	fi
	n=$(sed -n "s/.*VM-KMEMLEAK $nonce \([0-9]*\).*/\1/p" "$log")
	if [ -n "$n" ]; then
		# with the first one's heading, owner and callers
		echo "kmemleak: $n objects: $(sed -n "/VM-KMEMLEAK $nonce/,/VM-DMESG-BEGIN/p" "$log" | tr -d '\r' |
			awk '/^unreferenced/ && n++ { exit } n && !/hex dump|^    ([0-9a-f][0-9a-f] ){8}|VM-/ {
				$1 = $1; printf "%s; ", $0 }' | cut -c1-500)"
		return 1
	fi
	if ! grep -q "VM-DMESG-END $nonce" "$log" || ! grep -q "VM-SUCCESS $nonce" "$log"; then
		echo "no success token"
		return 1
	fi
}
