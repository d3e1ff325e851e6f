/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full code behind the program's back (TALLY_COMPILE_BACKGROUND): one thread, which begins when
 * first needed and makes the full code of what runs on quick code, one object after the other. The
 * queue, as the objects' states, is guarded by the cache's lock; cache.c makes, this says when.
 */
#ifndef TLY_BACKGROUND_H
#define TLY_BACKGROUND_H

#include "../host/fork.h"
#include "cache.h"

struct tly_background {
    tly_cache *cache;
    pthread_cond_t work; /* something is queued, or stop */
    pthread_t thread;
    int started, stop; /* guarded by the cache's lock, as is the queue */
    tly_object *first, **last;
    tly_fork_hook hook;
};

/* Has the cache give quick code where there is no other. The background must stay in place. */
void tly_background_init(tly_background *background, tly_cache *cache);

/* Waits for what is being made, and gives up the rest. */
void tly_background_end(tly_background *background);

/* Both with the cache's lock held. Adding takes a reference and fails, with 0, if there can be no
 * thread; removing what is queued gives it back. */
int tly_background_add(tly_background *background, tly_object *object);
void tly_background_remove(tly_background *background, tly_object *object);

#endif
