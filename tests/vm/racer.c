// SPDX-License-Identifier: GPL-2.0
/*
 * racer.c - a module with a data race, to see that KCSAN finds it: two threads that
 * increment one number.
 */
#include <linux/module.h>
#include <linux/kthread.h>

static unsigned long counter;
static struct task_struct *threads[2];

static noinline void racer_step(void)
{
	counter++;
}

static int racer(void *unused)
{
	int i;

	while (!kthread_should_stop()) {
		for (i = 0; i < 1000; i++)
			racer_step();
		cond_resched();
	}
	return 0;
}

static int __init racer_init(void)
{
	threads[0] = kthread_run(racer, NULL, "racer0");
	if (IS_ERR(threads[0]))
		return PTR_ERR(threads[0]);
	threads[1] = kthread_run(racer, NULL, "racer1");
	if (!IS_ERR(threads[1]))
		return 0;
	kthread_stop(threads[0]);
	return PTR_ERR(threads[1]);
}

static void __exit racer_exit(void)
{
	kthread_stop(threads[0]);
	kthread_stop(threads[1]);
}

module_init(racer_init);
module_exit(racer_exit);
MODULE_DESCRIPTION("data race, for tests");
MODULE_LICENSE("GPL");
