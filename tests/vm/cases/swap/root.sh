#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# root.sh - the first program of the image that is the root: memory runs
# out, and programs are started and files are read all the while, until there is
# /tmp/stop.
export PATH=/bin LC_ALL=C
cd / || exit 1
rm -f /tmp/iter.* /tmp/wrong /tmp/stop
avail=$(sed -n 's/^MemAvailable: *\([0-9]*\) .*/\1/p' /proc/meminfo)
hog $((avail * 14 / 10240)) /tmp/stop >/tmp/hog 2>&1 &
hog=$!

# worker NUMBER: each turn starts about ten programs
worker() {
	n=0
	lines=$(wc -l </sums)
	while kill -0 $hog 2>/dev/null; do
		n=$((n + 1))
		head -n $(((n * 17 + $1 * 29) % lines + 1)) /sums | tail -n 3 | sha256sum -c --quiet 2>&1 || echo "sums $1 $n" >>/tmp/wrong
		case $((n % 4)) in
		0) [ "$(xz -dc /data/text00.xz | sha256sum)" = "$(sha256sum </data/text00)" ] || echo "xz $n" >>/tmp/wrong ;;
		1) [ "$(zstd -qdc /data/text01.zst | sha256sum)" = "$(sha256sum </data/text01)" ] || echo "zstd $n" >>/tmp/wrong ;;
		2) perl -e 'use POSIX; $s = 0; while (<>) { $s += length } exit($s == -s "/data/text02" ? 0 : 1)' /data/text02 ||
			echo "perl $n" >>/tmp/wrong ;;
		3) bash -c 'find /bin /usr -type f | sort -R | head -n 5 | xargs -r cat | wc -c' 2>/dev/null >/dev/null || : ;;
		esac
		printf x >>"/tmp/iter.$1"
	done
}
for k in 1 2 3; do worker $k & done
wait $hog
rc=$?
wait
cat /tmp/hog
exit $rc
