/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the library's own: those of the pool, and one for a call that needs more stack than
 * its caller's thread has.
 */
#ifndef TLY_THREAD_H
#define TLY_THREAD_H

#include <tally/status.h>

#include <pthread.h>

/* As pthread_create, with 0 `stack_bytes` for the default. The thread takes no signal, but for the
 * faults of its own instructions: handlers for those are the program's. */
int tly_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument);

/* Returns work(state, error), called here if there is stack enough to generate a kernel, else on a
 * thread made for it. TALLY_OUT_OF_MEMORY if there can be none. */
tally_status tly_stack_call(tally_status (*work)(void *state, tally_error *error), void *state,
                            tally_error *error);

/* For what must happen on the caller's own thread: TALLY_OUT_OF_MEMORY, and the message says how
 * much is left, unless there is stack enough to generate a kernel. */
tally_status tly_stack_check(tally_error *error);

#endif
