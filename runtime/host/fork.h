/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surviving fork(). A call that holds locks, workers or LLVM passes a gate, so that a fork knows
 * whether one is in flight. In the child
 *   with none in flight, everything works: whoever has hooked in starts anew;
 *   with one in flight, this process is an orphan for good: nobody will ever release what the
 *   vanished threads held, so existing kernels run on the calling thread alone, creation is
 *   TALLY_BUSY, and what needs a lock is skipped.
 * A run on one thread and a repeated look-up hold nothing that a fork could break: they do not
 * pay for the gate. Work that no call waits for, and of which a program knows nothing, must not
 * make orphans: a fork waits until it is done, and meanwhile none begins.
 */
#ifndef TLY_FORK_H
#define TLY_FORK_H

#include <stdatomic.h>

/* Run in the child, with no call in flight. */
typedef struct tly_fork_hook {
    void (*child)(void *self);
    void *self;
    struct tly_fork_hook *next, **link;
} tly_fork_hook;

extern atomic_int tly_orphaned;

/* 1 in an orphan. */
static inline int tly_fork_orphan(void)
{
    return atomic_load_explicit(&tly_orphaned, memory_order_relaxed);
}

/* Enters the gate: 1, and tly_fork_leave must follow; 0 in an orphan. */
int tly_fork_enter(void);
void tly_fork_leave(void);

/* Around work that no call waits for, on a thread of the library's own, outside of any call. Where
 * it lasts longer than a fork waits for, the child is an orphan. */
void tly_fork_work_begin(void);
void tly_fork_work_end(void);

/* Adds and takes away a hook; it must be in place for as long as it is added. */
void tly_fork_watch(tly_fork_hook *hook);
void tly_fork_unwatch(tly_fork_hook *hook);

#endif
