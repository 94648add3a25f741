/* SPDX-License-Identifier: GPL-2.0 */
/* port_user.h - the kernel's names for the pure core, on top of libc. */
#ifndef EROFS_PORT_USER_H
#define EROFS_PORT_USER_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

/* little-endian storage; sparse checks the kernel build */
typedef u16 __le16;
typedef u32 __le32;
typedef u64 __le64;

#ifndef U8_MAX
#define U8_MAX		UINT8_MAX
#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define S64_MAX		INT64_MAX
#endif

#define __packed	__attribute__((packed))
#define __must_check	__attribute__((warn_unused_result))
#define __maybe_unused	__attribute__((unused))
#undef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#define noinline	__attribute__((noinline))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define fallthrough	__attribute__((fallthrough))
#define static_assert	_Static_assert
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))
#define BUILD_BUG_ON(c)	_Static_assert(!(c), #c)
#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define barrier()	__asm__ volatile("" ::: "memory")
#define OPTIMIZER_HIDE_VAR(v)	__asm__("" : "=r"(v) : "0"(v))

#define min(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define min_t(t, a, b) ({ t _a = (a); t _b = (b); _a < _b ? _a : _b; })
#define max_t(t, a, b) ({ t _a = (a); t _b = (b); _a > _b ? _a : _b; })
#define round_down(x, y)	((x) & ~((__typeof__(x))(y) - 1))
#define round_up(x, y)		((((x) - 1) | ((__typeof__(x))(y) - 1)) + 1)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d)	DIV_ROUND_UP((u64)(n), (u64)(d))

#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)
#define check_sub_overflow(a, b, d)	__builtin_sub_overflow(a, b, d)
#define check_mul_overflow(a, b, d)	__builtin_mul_overflow(a, b, d)
#define check_shl_overflow(a, s, d) ({					\
	u64 _sa = (a); unsigned int _ss = (s);				\
	*(d) = _ss < 64 ? _sa << _ss : 0;				\
	_ss >= 64 || ((u64)*(d) >> _ss) != _sa; })

static inline u16 get_unaligned_le16(const void *p)
{
	const u8 *b = p;

	return (u16)(b[0] | b[1] << 8);
}

static inline u32 get_unaligned_le32(const void *p)
{
	const u8 *b = p;

	return b[0] | (u32)b[1] << 8 | (u32)b[2] << 16 | (u32)b[3] << 24;
}

static inline u64 get_unaligned_le64(const void *p)
{
	const u8 *b = p;

	return get_unaligned_le32(b) | (u64)get_unaligned_le32(b + 4) << 32;
}

static inline u64 get_unaligned_be64(const void *p)
{
	return __builtin_bswap64(get_unaligned_le64(p));
}

static inline void put_unaligned_le32(u32 v, void *p)
{
	u8 *b = p;

	b[0] = (u8)v;
	b[1] = (u8)(v >> 8);
	b[2] = (u8)(v >> 16);
	b[3] = (u8)(v >> 24);
}

static inline u16 le16_to_cpu(__le16 v) { return get_unaligned_le16(&v); }
static inline u32 le32_to_cpu(__le32 v) { return get_unaligned_le32(&v); }
static inline u64 le64_to_cpu(__le64 v) { return get_unaligned_le64(&v); }

#define MAX_ERRNO	4095
#define IS_ERR_VALUE(x)	((unsigned long)(x) >= (unsigned long)-MAX_ERRNO)
static inline void *ERR_PTR(long e) { return (void *)e; }
static inline long PTR_ERR(const void *p) { return (long)p; }
static inline bool IS_ERR(const void *p) { return IS_ERR_VALUE(p); }

#endif /* EROFS_PORT_USER_H */
