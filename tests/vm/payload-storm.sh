#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# payload-storm.sh - guest side of "tests/images/run-life.sh storm": rounds of
# everything at once, each with a life of the module.  $T/conf: SHARE, TOTAL
# (seconds), ROUND (seconds), FILES (images and tables by the names used here).
. "$T/conf"
. "$T/guest-lib.sh"
W=/tmp/storm
mkdir -p $W/img $W/low $W/upper $W/work $W/over /mnt/x /mnt/y
dmesg -n 4

# count NAME [N]: events of the side jobs, one character each
count() { printf x >>"$W/count-$1"; }
counted() { if [ -e "$W/count-$1" ]; then stat -c %s "$W/count-$1"; else echo 0; fi; }

# What the mounts lie on; $dev is set up once.
#	dedupe	a loop device		frag	a file
#	lzma	a file on an overlay, read by a worker
#	disk	a real device		meta	a RAM disk, or a loop device on memory
#	v1, v2	files that share their pages
mount_one() {
	case $1 in
	dedupe) mount -t erofs -o ro "$loop1" "/mnt/$1" ;;
	frag) "$T/rawmount" $W/img/frag "/mnt/$1" erofs ;;
	lzma) "$T/rawmount" $W/over/lzma "/mnt/$1" erofs ;;
	disk) mount -t erofs -o ro "$(disk 1)" "/mnt/$1" ;;
	meta) mount -t erofs -o ro "$ram" "/mnt/$1" ;;
	v1 | v2) "$T/rawmount" "$W/img/$1" "/mnt/$1" erofs inode_share,domain_id=here ;;
	esac
}
ALL="dedupe frag lzma disk meta v1 v2"

# ---- side jobs: until $W/stop is there -------------------------------------------

going() { [ ! -e $W/stop ]; }

reclaim() {
	while going; do
		# refused if there is nothing left to take
		# shellcheck disable=SC2154  # small_memory
		echo 4M >"$cg/memory.reclaim" 2>/dev/null && count reclaim
		sleep 0.1
	done
}

# Mounts that come, are read and go; the same image as another mount, the same
# device again, one more that shares pages.
come_and_go() {
	k=$1
	d=$2
	while going; do
		k=$((k + 1))
		case $((k % 5)) in
		0) "$T/rawmount" $W/img/frag "$d" erofs ;;
		1) mount -t erofs -o ro "$loop1" "$d" ;;
		2) "$T/rawmount" "$W/img/v$((k % 2 + 1))" "$d" erofs inode_share,domain_id=here ;;
		3) "$T/rawmount" $W/over/lzma "$d" erofs ;;
		4) mount -t erofs -o ro "$(disk 1)" "$d" ;;
		esac || { echo "mount $k" >>$W/bad; sleep 1; continue; }
		count mount
		# shellcheck disable=SC2012
		f=$(find "$d" -xdev -type f 2>/dev/null | head -n $((k % 7 + 3)) | tail -n 3)
		for n in $f; do
			cat "$n" >/dev/null 2>&1 &
			last=$!
		done
		# now and then at once, with requests under way
		if [ $((k % 3)) = 0 ]; then
			umount "$d" 2>/dev/null || { umount -l "$d" && count lazy; }
			kill "$last" 2>/dev/null
			wait
		else
			wait
			umount "$d" || { echo "umount $k" >>$W/bad; umount -l "$d"; }
		fi
	done
}

# Knobs and numbers of all mounts, lists and attributes.
poke() {
	k=0
	while going; do
		for d in /sys/fs/erofs/*/; do
			[ -e "$d/sync_decompress" ] || continue
			k=$((k + 1))
			echo $((k % 3)) >"$d/sync_decompress"
			[ $((k % 4)) != 0 ] || echo 1 >"$d/drop_caches"
			cat "$d"/[a-ce-z]* "$d/decode_latency" >/dev/null
			count poke
		done 2>/dev/null
		ls -lR /mnt >/dev/null 2>&1
		df >/dev/null 2>&1
		sleep 0.2
	done
}

# ---- rounds ------------------------------------------------------------------------

check memory-cgroup small_memory 32M
check swap-in cp "$SHARE"/frag "$SHARE"/meta "$SHARE"/v1 "$SHARE"/v2 $W/img/
cp "$SHARE/lzma" $W/low/
need_module overlay
check overlay mount -t overlay -o "lowerdir=$W/low,upperdir=$W/upper,workdir=$W/work" o $W/over
if [ -b /dev/ram0 ] && dd if=$W/img/meta of=/dev/ram0 bs=64k 2>/dev/null; then
	ram=/dev/ram0
else
	ram=$("$T/lo" $W/img/meta)
fi
loop1=$("$T/lo" "$SHARE/dedupe")
: >$W/table
for m in $ALL; do
	awk -v m="$m" 'NF > 1 { sub(/ /, " " m "/") } { print }' "$SHARE/$m.blocks" >>$W/table
	mkdir -p "/mnt/$m"
done

# Processors of an emulator get their turn after milliseconds: a watcher has to wait
# that long, or nobody else runs meanwhile.
kcsan=/sys/kernel/debug/kcsan
[ ! -e "$T/racer.ko" ] || check kcsan-there test -e $kcsan
if [ -e $kcsan ]; then
	check racer insmod "$T/racer.ko"
	for _ in $(seq 60); do
		sleep 1
		dmesg | grep -q 'KCSAN: data-race in racer_step' && break
	done
	rmmod racer
	check kcsan-control sh -c "dmesg | grep -q 'KCSAN: data-race in racer_step'"
	echo 1500 >/sys/module/kcsan/parameters/skip_watch
	echo 4000 >/sys/module/kcsan/parameters/udelay_task
fi

begin=$(now) round=0 tries=0 blocks=0
# On a busy machine a run may take longer to have tested anything.
enough() {
	[ "$blocks" -ge 200 ] && [ "$(counted mount)" -ge 5 ] && [ "$(counted reclaim)" -ge 1 ] && [ "$(counted poke)" -ge 5 ]
}
more() {
	t=$(($(now) - begin))
	[ "$FAILED" = 0 ] && { [ $t -lt "$TOTAL" ] || { ! enough && [ $t -lt $((TOTAL + 600)) ]; }; }
}
while more; do
	round=$((round + 1))
	rm -f $W/stop
	load || { not_ok "load-$round" "insmod"; break; }
	for m in $ALL; do
		mount_one "$m" || not_ok "mount-$round" "$m"
	done
	[ "$FAILED" = 0 ] || break
	jobs=
	for j in reclaim "come_and_go $round /mnt/x" "come_and_go $((round + 3)) /mnt/y" poke; do
		$j &
		jobs="$jobs $!"
	done
	# shellcheck disable=SC2153,SC2154  # conf, small_memory
	"$T/stress" -n 8 -t "$ROUND" -r $((round * 1000)) -c "$cg" -k $W/table /mnt >$W/out1 2>&1 &
	s1=$!
	"$T/stress" -n 5 -t "$ROUND" -r $((round * 1000 + 500)) $W/table /mnt >$W/out2 2>&1 &
	s2=$!
	wait $s1 || not_ok "readers-$round" "$(tail -n 1 $W/out1)"
	wait $s2 || not_ok "readers-$round" "$(tail -n 1 $W/out2)"
	cat $W/out1 $W/out2
	: >$W/stop
	# shellcheck disable=SC2086  # a list of words
	wait $jobs
	n=$(sed -n 's/.* readers, \([0-9]*\) blocks.*/\1/p' $W/out1 $W/out2 | awk '{ s += $1 } END { print s }')
	blocks=$((blocks + n))
	# Every other round ends with readers that are still at it.
	if [ $((round % 2)) = 0 ]; then
		# shellcheck disable=SC2046,SC2086  # lists of words
		(cd /mnt && while :; do cat $(find $ALL -type f | head -n 200) || break; done) >/dev/null 2>&1 &
		late=$!
		drop_caches
		sleep 0.3
		for m in $ALL; do umount -l "/mnt/$m" || not_ok "umount-$round" "$m"; done
		kill -9 $late 2>/dev/null
	else
		for m in $ALL; do
			umount "/mnt/$m" 2>/tmp/err || not_ok "umount-$round" "$m: $(cat /tmp/err)"
		done
	fi
	# at once, as soon as the last reader lets it
	until rmmod erofs 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 20000 ] || { not_ok "rmmod-$round" "still in use"; break; }
	done
	wait
done
n=$(now)
echo "storm: $round rounds in $((n - begin)) s, $blocks blocks, $(counted mount) more mounts, $(counted lazy) ended busy," \
	"$(counted reclaim) reclaims, $(counted poke) pokes, rmmod refused $tries times"
if [ -e $W/bad ]; then not_ok side-jobs "$(head -n 1 $W/bad)"; else ok side-jobs; fi
if enough; then
	ok enough
else
	not_ok enough "$blocks blocks, $(counted mount) mounts, $(counted reclaim) reclaims, $(counted poke) pokes only"
fi
if dmesg | grep -E 'erofs \(.*(corrupt|error|fail|invalid)' >/tmp/log; then
	not_ok quiet-log "$(head -n 1 /tmp/log)"
else
	ok quiet-log
fi
if grep -q '^erofs ' /proc/modules; then not_ok unloaded "still there"; else ok unloaded; fi
# A checker that has given up can't complain.
if [ "$VM" = uml ] || [ -e "$T/racer.ko" ]; then
	check lockdep grep -q 'debug_locks: *1' /proc/lockdep_stats
fi
if [ -e $kcsan ]; then
	head -n 20 $kcsan | grep -E '^(enabled|setup_watchpoints|data_races)'
	n=$(sed -n 's/^setup_watchpoints: //p' $kcsan)
	if [ "${n:-0}" -gt 1000 ]; then ok kcsan; else not_ok kcsan "it did not watch: $n"; fi
fi
finish
