// SPDX-License-Identifier: GPL-2.0
/*
 * stat32.c - what a 32-bit program learns about inode numbers: stat32 DIR NAME
 * prints a line for each system call that tells one, "CALL NUMBER" or
 * "CALL errno ERRNO".  Free of libraries, so that any x86 compiler makes it
 * (gcc -m32 -static -nostdlib -ffreestanding); the calls are those of i386.
 */
typedef unsigned int u32;
typedef unsigned long long u64;

__asm__(".globl _start\n"
	"_start:\n"
	"	mov	%esp, %eax\n"
	"	and	$-16, %esp\n"
	"	sub	$12, %esp\n"
	"	push	%eax\n"
	"	call	start\n");

static int call(int nr, long a, long b, long c, long d, long e)
{
	int res;

	__asm__ volatile("int $0x80" : "=a"(res)
			 : "0"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
	return res;
}

static u32 length(const char *s)
{
	u32 n = 0;

	while (s[n])
		n++;
	return n;
}

static int equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static void put(const char *s)
{
	call(4, 1, (long)s, length(s), 0, 0);
}

/* without the library's 64-bit division */
static void put_number(u64 v)
{
	u32 digit[20], n = 0, hi, lo, i;
	char s[24];

	do {
		u32 rest = 0;
		u64 q = 0;

		for (i = 0; i < 64; i++) {
			rest = rest << 1 | (v >> 63 & 1);
			v <<= 1;
			q <<= 1;
			if (rest >= 10) {
				rest -= 10;
				q |= 1;
			}
		}
		digit[n++] = rest;
		v = q;
		hi = v >> 32;
		lo = v;
	} while (hi | lo);
	for (i = 0; i < n; i++)
		s[i] = '0' + digit[n - 1 - i];
	s[n] = '\0';
	put(s);
}

static void answer(const char *name, int res, u64 ino)
{
	put(name);
	put(res < 0 ? " errno " : " ");
	put_number(res < 0 ? (u64)-res : ino);
	put("\n");
}

static u64 get(const char *p, u32 len)
{
	u64 v = 0;

	while (len--)
		v = v << 8 | (unsigned char)p[len];
	return v;
}

/* getdents with @nr: where the inode number of @name is told, or an errno, or 0 */
static int find(int nr, const char *dir, const char *name, u32 ino_len, u32 name_at, u64 *ino)
{
	static char buf[4096];
	int fd = call(5, (long)dir, 0200000, 0, 0, 0), n, at;

	if (fd < 0)
		return fd;
	while ((n = call(nr, fd, (long)buf, sizeof(buf), 0, 0)) > 0) {
		for (at = 0; at < n; at += get(buf + at + 2 * ino_len, 2)) {
			if (!equal(buf + at + name_at, name))
				continue;
			*ino = get(buf + at, ino_len);
			call(6, fd, 0, 0, 0, 0);
			return 1;
		}
	}
	call(6, fd, 0, 0, 0, 0);
	return n < 0 ? n : -2;
}

__attribute__((used)) void start(char **stack)
{
	static char path[4096], buf[512];
	const char *dir = stack[2], *name = stack[3];
	u32 n = 0, i;
	u64 ino = 0;
	int res;

	if ((long)stack[0] != 3)
		call(1, 2, 0, 0, 0, 0);
	for (i = 0; dir[i] && n < 2000; i++)
		path[n++] = dir[i];
	path[n++] = '/';
	for (i = 0; name[i] && n < 4000; i++)
		path[n++] = name[i];
	path[n] = '\0';

	res = call(106, (long)path, (long)buf, 0, 0, 0);
	answer("stat", res, get(buf + 4, 4));
	res = call(195, (long)path, (long)buf, 0, 0, 0);
	answer("stat64", res, get(buf + 88, 8));
	res = call(383, -100, (long)path, 0, 0x7ff, (long)buf);
	answer("statx", res, get(buf + 32, 8));
	res = find(141, dir, name, 4, 10, &ino);
	answer("getdents", res, ino);
	res = find(220, dir, name, 8, 19, &ino);
	answer("getdents64", res, ino);
	call(1, 0, 0, 0, 0, 0);
}
