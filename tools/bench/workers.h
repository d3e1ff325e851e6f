/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the command's own, which share work that comes in pieces. */
#ifndef TLY_WORKERS_H
#define TLY_WORKERS_H

#include <stddef.h>
#include <stdint.h>

/* CPUs that this process may use. */
int32_t tly_workers_cpus(void);

/* Calls work(state) on this thread and on up to threads - 1 others, and returns after all have
 * returned. Where the system gives fewer threads the others do the work: each call takes pieces
 * until there are none. */
void tly_workers_run(size_t threads, void *(*work)(void *state), void *state);

#endif
