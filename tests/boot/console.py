#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""console.py - work on a guest's serial console like a person: wait for the
login prompt, log in as root, run one command, power off.

    console.py [options] -- QEMU ARGUMENT...     (with -serial stdio)

The command ran if its status appears behind this run's token, which is put
together by the guest's shell, so that the echo of the typing can't pass for it.
Exit status 0: the prompt came, the command ended with 0, and the kernel said
"Power down" before QEMU ended by itself.  With --refused: QEMU ended without a
login prompt.
"""
import argparse
import os
import re
import select
import subprocess
import sys
import time


class Console:
    def __init__(self, argv, log, limit):
        self.start = time.monotonic()
        self.end = self.start + limit
        self.log = open(log, "wb")
        self.text = b""
        self.qemu = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT)

    def seconds(self):
        return int(time.monotonic() - self.start)

    def more(self):
        """Read what is there; False at the end of the guest, or of the time."""
        left = self.end - time.monotonic()
        if left <= 0:
            return False
        ready = select.select([self.qemu.stdout], [], [], left)[0]
        if not ready:
            return False
        data = os.read(self.qemu.stdout.fileno(), 65536)
        if not data:
            return False
        self.log.write(data)
        self.log.flush()
        self.text += data
        return True

    def wait(self, pattern):
        """Wait for PATTERN behind what was matched before; None if it never comes."""
        regex = re.compile(pattern)
        while True:
            found = regex.search(self.text)
            if found:
                self.text = self.text[found.end():]
                return found
            if not self.more():
                return None

    def type(self, line):
        self.qemu.stdin.write(line.encode() + b"\n")
        self.qemu.stdin.flush()

    def stop(self):
        """True if QEMU ended by itself, and well."""
        while self.more():
            pass
        try:
            self.qemu.wait(timeout=max(1, min(10, self.end - time.monotonic())))
        except subprocess.TimeoutExpired:
            self.qemu.kill()
            self.qemu.wait()
            return False
        return self.qemu.returncode == 0


def main():
    arg = argparse.ArgumentParser()
    arg.add_argument("--log", required=True)
    arg.add_argument("--limit", type=int, default=600)
    arg.add_argument("--nonce", required=True)
    arg.add_argument("--command", default="true")
    arg.add_argument("--refused", action="store_true")
    arg.add_argument("qemu", nargs="+")
    opt = arg.parse_args()
    con = Console(opt.qemu, opt.log, opt.limit)
    try:
        login = con.wait(rb"[\r\n][^\r\n ]+ login: ")
        if opt.refused:
            if login:
                return "a login prompt came"
            return None if con.stop() else "no end within %d s" % opt.limit
        if not login:
            return "no login prompt after %d s" % con.seconds()
        print("login prompt after %d s" % con.seconds(), flush=True)
        con.type("root")
        if not con.wait(rb"[#] $"):
            return "no shell after the login"
        con.type("%s; echo \"RC-\"%s-$?" % (opt.command, opt.nonce))
        status = con.wait(b"RC-" + opt.nonce.encode() + rb"-(\d+)")
        if not status:
            return "the command didn't end"
        if status.group(1) != b"0":
            return "the command ended with status %s" % status.group(1).decode()
        print("checked after %d s" % con.seconds(), flush=True)
        con.type("systemctl poweroff")
        if not con.wait(rb"reboot: Power down"):
            return "no shutdown"
        if not con.stop():
            return "QEMU did not end well"
        print("powered off after %d s" % con.seconds(), flush=True)
        return None
    finally:
        if con.qemu.poll() is None:
            con.qemu.kill()
            con.qemu.wait()
        con.log.close()


if __name__ == "__main__":
    why = main()
    if why:
        print(why)
    sys.exit(1 if why else 0)
