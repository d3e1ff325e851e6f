/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes full code while the program runs quick code (TALLY_COMPILE_BACKGROUND). One thread takes
 * objects from the cache's queue, one after the other; it starts when the first is queued. The
 * cache's lock guards all that changes here. A child process starts a thread of its own.
 */
#ifndef TLY_BACKGROUND_H
#define TLY_BACKGROUND_H

#include "../host/fork.h"
#include "cache.h"

typedef struct tly_background {
    tly_cache *cache;
    pthread_cond_t work; /* an object is queued, or stop */
    pthread_t thread;
    int started, stop;
    tly_fork_hook hook;
} tly_background;

/* From here on the cache gives quick code where it has no other. The background must stay in place.
 * The cache has a store. */
void tly_background_init(tly_background *background, tly_cache *cache);

/* Waits for the code that is being made, and empties the queue. The cache needs no more code. */
void tly_background_end(tly_background *background);

#endif
