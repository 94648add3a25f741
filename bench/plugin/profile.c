// SPDX-License-Identifier: GPL-2.0
/*
 * profile.c - QEMU plugin: count executed guest instructions by the address of
 * their translation block, between the two marks of meter.c.
 *
 * A block ends at a jump at the latest, so it belongs to one function.  When
 * the guest executes the begin mark all counters are cleared; at the end mark
 * they are appended to the output file: "== N", then "address size count"
 * lines.  size is instructions in the block, count how often it ran.
 * Use with one processor and -icount: then a "rep" instruction counts once an
 * iteration, as it does in guest time.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of QEMU's documented plugin interface (version 1) that is used. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_info;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*cb)(unsigned int, void *),
					  enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, enum qemu_plugin_op op,
					      void *ptr, uint64_t imm);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

#define HASH 65536	/* chains; a boot translates some 100,000 blocks */
#define MARK_BEGIN 0x1f000000u
#define MARK_END 0x1f001000u

struct block {
	struct block *next;
	uint64_t addr;
	uint64_t size;
	uint64_t count;
};

static struct block *table[HASH];
static FILE *out;
static unsigned int sections;

static struct block *find(uint64_t addr, uint64_t size)
{
	uint64_t h = (addr ^ size << 40) * 0x9e3779b97f4a7c15ull >> 48;
	struct block *b;

	for (b = table[h]; b; b = b->next)
		if (b->addr == addr && b->size == size)
			return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->addr = addr;
	b->size = size;
	b->next = table[h];
	table[h] = b;
	return b;
}

static void begin(unsigned int cpu, void *data)
{
	struct block *b;
	unsigned int i;

	(void)cpu;
	(void)data;
	for (i = 0; i < HASH; i++)
		for (b = table[i]; b; b = b->next)
			b->count = 0;
}

static void end(unsigned int cpu, void *data)
{
	struct block *b;
	unsigned int i;

	(void)cpu;
	(void)data;
	fprintf(out, "== %u\n", sections++);
	for (i = 0; i < HASH; i++)
		for (b = table[i]; b; b = b->next)
			if (b->count)
				fprintf(out, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", b->addr, b->size,
					b->count);
	fflush(out);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t addr = qemu_plugin_tb_vaddr(tb);
	struct block *b = find(addr, qemu_plugin_tb_n_insns(tb));

	(void)id;
	if (addr == MARK_BEGIN)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, begin, QEMU_PLUGIN_CB_NO_REGS, NULL);
	else if (addr == MARK_END)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, end, QEMU_PLUGIN_CB_NO_REGS, NULL);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &b->count, 1);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id,
							       const struct qemu_info *info,
							       int argc, char **argv)
{
	const char *name = "profile.out";
	int i;

	(void)info;
	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			name = argv[i] + 4;
	out = fopen(name, "w");
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
