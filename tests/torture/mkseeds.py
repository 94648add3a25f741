#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""mkseeds.py DIR VERSION=MKFS... - make the valid images that torture mutates.

Owns the seed images: small (most below 300 KB), one for each way the format
can store the same tree, so that a mounted mutation is read in milliseconds.
MKFS is a mkfs.erofs program of erofs-utils VERSION.  An image NAME.img may
have an extra device beside it, NAME.dev.  The same programs give the same bytes but
for a few that mkfs.erofs 1.9.4 never sets.
Needs root, and for DIR/tree a file system with trusted xattrs and ACLs: tmpfs.
"""
import os
import random
import socket
import stat
import struct
import subprocess
import sys

TIME = 1700000000
UUID = "3d5a1c46-9b0e-4a57-8a0f-6f1f0d6f5e21"
PFX = "--xattr-prefix=user.org.example. --xattr-prefix=trusted.overlay."

# name | versions | arguments (%D: a device file to create)
SEEDS = """
plain | 1.5 | -Eforce-inode-extended
plain-noinline | 1.5 | -Enoinline_data
plain-b512 | 1.9 | -b512
plain-b1024 | 1.9 | -b1024
plain-nocrc | 1.5 | -Enosbcrc
lz4 | 1.5 | -zlz4
lz4hc-full | 1.5 | -zlz4hc -Elegacy-compress
lz4-left | 1.5 | -zlz4 -C16384 -Elegacy-compress --max-extent-bytes=8192
lz4hc-64k | 1.5 | -zlz4hc -C65536
lz4hc-16k-full | 1.9 | -zlz4hc -C16384 -Elegacy-compress
lz4-ztail | 1.5 | -zlz4hc -Eztailpacking
lz4-ztail-16k-full | 1.8 | -zlz4hc -C16384 -Eztailpacking,legacy-compress
lz4-frag | 1.9 | -zlz4 -C16384 -Efragments
lz4-frag-full | 1.8 | -zlz4hc -C8192 -Efragments,legacy-compress
lz4-allfrag | 1.9 | -zlz4hc -Eall-fragments
lz4-dedupe | 1.9 | -zlz4hc -C16384 -Ededupe
lz4-dedupe-frag-ztail | 1.8 | -zlz4hc -C16384 -Ededupe,fragments,ztailpacking
lz4-b512 | 1.9 | -b512 -zlz4hc -C4096
lz4-b512-full-frag | 1.9 | -b512 -zlz4hc -C2048 -Elegacy-compress,fragments
lz4-b1024-ztail | 1.9 | -b1024 -zlz4hc -C8192 -Eztailpacking
lz4-b2048-dedupe | 1.9 | -b2048 -zlz4hc -C8192 -Ededupe,fragments
lzma | 1.8 | -zlzma
lzma-64k-full | 1.9 | -zlzma -C65536 -Elegacy-compress
lzma-ztail-frag | 1.9 | -zlzma -C16384 -Eztailpacking,fragments
deflate | 1.8 | -zdeflate -C8192
deflate-full-ztail | 1.9 | -zdeflate -C4096 -Elegacy-compress,ztailpacking
libdeflate-frag | 1.9 | -zlibdeflate,level=6 -C32768 -Efragments
zstd | 1.8 | -zzstd
zstd-64k-ztail | 1.9 | -zzstd,level=3 -C65536 -Eztailpacking
zstd-full-dedupe | 1.9 | -zzstd,level=3 -C16384 -Elegacy-compress,dedupe,fragments
zstd-b512 | 1.9 | -b512 -zzstd -C4096 -Eztailpacking
two-algs | 1.8 | -zlz4:deflate -C16384 --compress-hints=%H
four-algs | 1.8 | -zlz4hc:lzma:deflate:zstd -C16384 --compress-hints=%H
48bit-zstd | 1.9 | -zzstd -C65536 -E48bit
48bit-zstd-unaligned | 1.9 | -zzstd -C16384 --max-extent-bytes=-8192 -E48bit
48bit-lz4 | 1.9 | -zlz4hc -C16384 -E48bit --max-extent-bytes=-32768
48bit-lz4-noinline | 1.9 | -zlz4hc -C16384 -E48bit,^inline_data --max-extent-bytes=-65536
48bit-frag | 1.9 | -zzstd -C16384 -E48bit,fragments
48bit-dedupe | 1.9 | -zzstd -C16384 -E48bit,dedupe,fragments
48bit-lzma-b1024 | 1.9 | -b1024 -zlzma -C8192 -E48bit
48bit-deflate-b512 | 1.9 | -b512 -zlibdeflate -C4096 -E48bit
48bit-plain | 1.9 | -E48bit,dot-omitted
48bit-chunk | 1.9 | --chunksize=4096 -E48bit,force-chunk-indexes
metabox | 1.9 | -m4096
metabox-b512 | 1.9 | -b512 -m4096 -Edot-omitted
metabox-chunk | 1.9 | --chunksize=4096 -m4096
metabox-lz4 | 1.9 | -zlz4hc -m4096 -E48bit
metabox-zstd-zD | 1.9 | -zzstd -C65536 -m16384 --zD -Efragments
metabox-prefix | 1.9 | -zlz4hc -m4096 %P
zD | 1.9 | -zlz4hc --zD
zD-frag-lzma | 1.9 | -zlzma -C16384 --zD -Eall-fragments
MZ | 1.9 | -zlz4hc --MZ=id
chunk-map | 1.9 | --chunksize=4096 -Eforce-inode-blockmap
chunk-index | 1.8 | --chunksize=4096 -Eforce-chunk-indexes
chunk-b512 | 1.9 | -b512 --chunksize=1024
chunk-dev | 1.8 | --chunksize=4096 --blobdev=%D
chunk-dev-48bit | 1.9 | --chunksize=8192 -E48bit --blobdev=%D
prefix-plain | 1.9 | -Eplain-xattr-prefixes %P
prefix | 1.8 | %P
prefix-packed | 1.9 | -zlz4hc -Efragments %P
xattr-inline | 1.9 | -x100 -E^xattr-name-filter
xattr-shared | 1.9 | -x0 -Eforce-inode-extended
xattr-room | 1.9 | --root-xattr-isize=1000
digest | 1.9 | -zlz4hc --xattr-inode-digest
digest-chunk | 1.9 | --chunksize=4096 --xattr-inode-digest
digest-zstd-frag | 1.9 | -zzstd -C65536 -m4096 -Efragments --xattr-inode-digest
"""


def words(seed, size):
    r = random.Random(seed)
    voc = ["".join(r.choices("etaoinshrdlucmfwyp", k=r.randint(2, 9))) for _ in range(300)]
    out = ""
    while len(out) < size:
        out += " ".join(r.choices(voc, k=50)) + ".\n"
    return out[:size].encode()


def noise(seed, size):
    return random.Random(seed).randbytes(size)


def mixed(seed, size):
    r = random.Random(seed)
    text = words(seed, size)
    out = b""
    while len(out) < size:
        n = r.randint(1, 5000)
        at = r.randrange(len(text))
        out += r.choice([r.randbytes(n), bytes(n), b"abcdefg" * (n // 7), text[at:at + n], text[at:at + n]])
    return out[:size]


def acl(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", t, p, i & 0xffffffff) for t, p, i in entries)


def tree(top):
    os.umask(0o022)
    os.makedirs(top)
    os.chdir(top)

    def put(name, data, **xattrs):
        with open(name, "wb") as f:
            f.write(data)
        attrs(name, xattrs)

    def attrs(name, xattrs):
        for k, v in xattrs.items():
            os.setxattr(name, k.replace("_", ".", 1), v, follow_symlinks=False)

    put("text", words("text", 60000))
    put("again", words("text", 60000)[:30000] + words("more", 9000))
    put("shift", b"x" * 77 + words("text", 60000)[5000:40000])
    put("mixed", mixed("mixed", 50000))
    put("noise", noise("noise", 13000))
    put("zero", bytes(40000))
    put("runs", b"".join(bytes([c]) * (c * 17) for c in range(1, 64)))
    with open("sparse", "wb") as f:
        f.seek(8192)
        f.write(noise("sparse", 4096))
        f.seek(40000)
        f.write(b"end")
    for n in (0, 1, 63, 511, 512, 3000, 4095, 4097, 8192):
        put(f"s{n}", words(f"s{n}", n))
    os.mkdir("dir")
    for i in range(36):
        put(f"dir/entry-{i:03d}-{'n' * (90 + i)}", words(i, i * 6))
    put("dir/" + "l" * 240, b"long")
    os.makedirs("a/b/c")
    put("a/b/c/leaf", words("leaf", 2222))
    put("a/.hidden", b"h")
    os.mkdir("empty")
    os.symlink("a/b/c/leaf", "link")
    os.symlink("x" * 100 + "/" + "y" * 100, "dangling")
    os.symlink(("t" * 99 + "/") * 39, "long-link")
    os.link("s63", "hard")
    for name, kind, dev in (("chr", stat.S_IFCHR, (1, 3)), ("blk", stat.S_IFBLK, (259, 70000)),
                            ("white", stat.S_IFCHR, (0, 0)), ("fifo", stat.S_IFIFO, (0, 0))):
        os.mknod(name, kind | 0o600, os.makedev(*dev))
    s = socket.socket(socket.AF_UNIX)
    s.bind("sock")
    same = {"user_shared": b"the same value everywhere " * 3, "security_selinux": b"sys:obj:bin_t:s0\0"}
    os.mkdir("x")
    for i in range(6):
        put(f"x/shared{i}", words(i, 700 * i), **same)
    put("x/inline", b"i", user_a=b"1", user_second=b"2" * 50, trusted_t=b"t", user_empty=b"")
    put("x/many", b"m", **{f"user_attribute.{i:02d}": words(i, i) for i in range(25)})
    put("x/prefix", b"p", **{"user_org.example.x": b"1", "user_org.example.": b"2",
                             "trusted_overlay.redirect": b"/some/where", "trusted_overlay.metacopy": b""})
    put("x/long", b"n", **{"user_" + "n" * 250: b"v"})
    put("x/big", b"v", user_big=noise("big", 3000))
    put("x/cap", b"#!", security_capability=struct.pack("<IIIII", 0x02000001, 0x400, 0, 0, 0))
    acl1 = acl((1, 7, -1), (2, 5, 1), (2, 4, 70000), (4, 5, -1), (0x10, 7, -1), (0x20, 4, -1))
    put("x/acl", b"a")
    os.setxattr("x/acl", "system.posix_acl_access", acl1)
    os.mkdir("x/acldir")
    os.setxattr("x/acldir", "system.posix_acl_default", acl1)
    put("x/acldir/child", b"c")
    attrs(".", {"user_root": b"root", "trusted_overlay.opaque": b"y"})
    os.chown("s1", 70000, 4000000000)
    os.utime("s511", (12345, 12345))
    for d, dirs, files in os.walk(".", topdown=False):
        for n in files + dirs:
            if n != "s511":
                os.utime(os.path.join(d, n), (TIME, TIME), follow_symlinks=False)
    os.utime(".", (TIME, TIME))
    os.chdir("/")


def main():
    out, mkfs = os.path.abspath(sys.argv[1]), dict(a.split("=", 1) for a in sys.argv[2:])
    tree(out + "/tree")
    with open(out + "/hints", "w") as f:
        f.write("4096 0 ^s\n16384 1 ^text\n8192 1 ^(dir|x)\n16384 %d .*\n" % 0)
    with open(out + "/hints4", "w") as f:
        f.write("4096 0 ^s\n16384 1 ^text\n8192 2 ^(again|dir)\n16384 3 ^(mixed|shift|x)\n8192 0 .*\n")
    total = 0
    for line in SEEDS.strip().split("\n"):
        name, version, args = (f.strip() for f in line.split("|"))
        img = f"{out}/{name}.img"
        args = args.replace("%D", f"{out}/{name}.dev").replace("%P", PFX)
        args = args.replace("%H", out + ("/hints4" if name.startswith("four") else "/hints"))
        if ".dev" in args:
            open(f"{out}/{name}.dev", "wb").close()
        # mkfs.erofs 1.9.4 writes a few bytes that it never set: with one thread
        # and no address randomisation they are nearly always the same ones
        p = subprocess.run(["setarch", "-R", mkfs[version], *args.split(), *(["--workers=1"] if version == "1.9" else []), "-U" + UUID, f"-T{TIME}", img, out + "/tree"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if p.returncode:
            sys.exit(f"{name}: mkfs.erofs {version} {args}: status {p.returncode}\n{p.stdout.decode(errors='replace')}")
        total += os.path.getsize(img)
        if ".dev" in args:
            # the same as one flat device: the table says where the extra one begins
            with open(img, "rb") as f:
                data = f.read()
            slot = struct.unpack_from("<H", data, 1024 + 88)[0] * 128
            at = struct.unpack_from("<I", data, slot + 68)[0] << data[1024 + 12]
            with open(f"{out}/{name}.dev", "rb") as f, open(f"{out}/{name}-flat.img", "wb") as g:
                g.write(data.ljust(at, b"\0") + f.read())
    print(f"{len(SEEDS.strip().splitlines())} seed images, {total >> 10} KiB")


main()
