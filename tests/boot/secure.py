#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""secure.py LOG LIMIT PASSWORD -- QEMU ARGUMENT...: start a machine whose firmware
has been asked to take a key, and say yes to all that MokManager asks on the serial
console, as a person would.  Exit status 0 if it took the key and restarted."""
import sys
import time

from console import Console

DOWN, ENTER = "\x1b[B", "\r"


def main():
    log, limit, password = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    con = Console(sys.argv[5:], log, limit)

    def key(*keys):
        for k in keys:
            time.sleep(1)
            con.qemu.stdin.write(k.encode())
            con.qemu.stdin.flush()

    def screen(pattern):
        if not con.wait(pattern):
            raise SystemExit("MokManager didn't show '%s'" % pattern.decode())

    try:
        screen(rb"Press any key to perform MOK management")
        key(ENTER)
        screen(rb"Enroll MOK")
        key(DOWN, ENTER)
        screen(rb"View key 0")
        key(DOWN, ENTER)
        screen(rb"Enroll the key")
        key(DOWN, ENTER)
        screen(rb"[Pp]assword")
        key(*password, ENTER)
        screen(rb"Reboot")
        key(ENTER)
        return 0 if con.stop() else "QEMU did not end"
    finally:
        if con.qemu.poll() is None:
            con.qemu.kill()
            con.qemu.wait()
        con.log.close()


sys.exit(main())
