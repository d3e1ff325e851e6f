/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with threads of its own, as a program that has a pool lends them to Tally: each call takes
 * another order and another number of threads, of which one is as right as the other.
 */
#ifndef TLY_HOST_H
#define TLY_HOST_H

#include <stdint.h>

typedef struct tly_host {
    unsigned calls; /* so far */
} tly_host;

/* A tally_parallel_for; `user` is a tly_host. One call at a time. */
void tly_host_run(void *user, int64_t count, void (*task)(void *state, int64_t index), void *state);

#endif
