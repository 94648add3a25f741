// SPDX-License-Identifier: GPL-2.0
/*
 * uml-xstate.c - ptrace() for User Mode Linux on processors with large registers.
 *
 * User Mode Linux up to Linux 6.12 has room for 2696 bytes of extended state (up
 * to PKRU), whatever the processor has.  With AMX there are 11008, reads are cut
 * short, and the host refuses to write a part (EFAULT): no program ever starts.
 * Preloaded, this adds the rest when state is written, as zeros.  It holds
 * nothing then: a program has to ask for AMX first, and User Mode Linux has no
 * such call.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* One thread of the kernel traces, and no signal handler of it does. */
static char state[64 * 1024];
/* bytes of the host's state, as the last read tells */
static size_t whole;

static long call(long req, long pid, void *addr, void *data)
{
	return syscall(SYS_ptrace, req, pid, addr, data);
}

static long read_state(long pid, void *addr, struct iovec *iov)
{
	struct iovec all = { state, sizeof(state) };
	long rc = call(PTRACE_GETREGSET, pid, addr, &all);

	if (rc < 0)
		return rc;
	whole = all.iov_len;
	if (iov->iov_len > whole)
		iov->iov_len = whole;
	memcpy(iov->iov_base, state, iov->iov_len);
	return rc;
}

static long write_state(long pid, void *addr, const struct iovec *iov)
{
	struct iovec all = { state, whole };

	memcpy(state, iov->iov_base, iov->iov_len);
	memset(state + iov->iov_len, 0, whole - iov->iov_len);
	return call(PTRACE_SETREGSET, pid, addr, &all);
}

long ptrace(enum __ptrace_request req, ...)
{
	struct iovec *iov;
	void *addr, *data;
	long pid, rc, word;
	va_list ap;

	va_start(ap, req);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);

	iov = data;
	switch (req) {
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
	case PTRACE_PEEKUSER:
		/* the C library returns the word */
		rc = call(req, pid, addr, &word);
		if (rc < 0)
			return rc;
		errno = 0;
		return word;
	case PTRACE_GETREGSET:
		if ((long)addr == NT_X86_XSTATE)
			return read_state(pid, addr, iov);
		break;
	case PTRACE_SETREGSET:
		if ((long)addr == NT_X86_XSTATE && iov->iov_len < whole)
			return write_state(pid, addr, iov);
		break;
	default:
		break;
	}
	return call(req, pid, addr, data);
}
