/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory cache of kernels' code: from a key to an object that can be run, for CPUs and Vulkan
 * devices alike. Thread-safe. However many threads ask for a key at once, its code is made once. If
 * making fails, it fails for all threads that waited, and the next request tries again. The cache
 * is bounded: the least recently used objects without other references go first. Code that is not
 * in memory is looked up on disk or made by the generator (lookup.h).
 */
#ifndef TLY_CACHE_H
#define TLY_CACHE_H

#include "lookup.h"

#include <pthread.h>

typedef struct tly_cache {
    pthread_mutex_t lock;
    pthread_cond_t made;
    tly_object **buckets;
    size_t bucket_count, bound;
    tly_object *newest, *oldest;
    uint64_t compiled, loaded, hits, cached, evicted, quick;
    tly_lookup_rules rules;    /* where code comes from that the table lacks */
    tly_object *first, **last; /* the queue: quick code whose full code is to be made */
    atomic_int above;          /* see tly_cache_above */
    /* Called with the lock held before an object is queued: wakes whoever calls tly_cache_finish.
     * Returns 0 if that cannot be, and the full code is made at once. NULL without rules.quick. */
    int (*wake)(void *user);
    void *wake_user;
    /* Called with the lock held before anything is evicted: drops references that are kept for
     * speed only, and calls tly_cache_touch for those in use. NULL: there are none. */
    void (*release)(void *user);
    void *release_user;
} tly_cache;

/* TALLY_OUT_OF_MEMORY at worst. */
tally_status tly_cache_init(tly_cache *cache, size_t bound, tally_error *error);

/* Code that is still referred to lives on until its last holder drops it. */
void tly_cache_end(tly_cache *cache);

/* Finds or makes as `compile` says; the caller gets a reference, and in *origin (NULL: not wanted)
 * where it was. */
tally_status tly_cache_get(tly_cache *cache, const tly_key *key, tly_object **object,
                           tly_origin *origin, tally_error *error);

/* The same, never with quick code alone. */
tally_status tly_cache_get_full(tly_cache *cache, const tly_key *key, tly_object **object,
                                tly_origin *origin, tally_error *error);

/* What is in memory and can run; the caller gets a reference. NULL: there is no such code yet.
 * Waits for nothing that is being made. */
tly_object *tly_cache_find(tly_cache *cache, const tly_key *key);

/* Whether tly_cache_get would have code, without making any: it is in memory or stored, or `check`
 * of the backend finds nothing wrong. Not for backends without one. */
tally_status tly_cache_supports(tly_cache *cache, const tly_key *key, tally_error *error);

/* With the lock held: the first of the queue, which leaves it, and whose reference goes to the
 * caller; NULL if the queue is empty. The caller passes it to tly_cache_finish or drops it. */
tly_object *tly_cache_next(tly_cache *cache);

/* Makes the full code of an object that was in the queue, and that the caller holds a reference to.
 * The lock is held before and after, but not while the code is made. */
tally_status tly_cache_finish(tly_cache *cache, tly_object *object, tly_origin *origin,
                              tally_error *error);

/* Has the key's code made, whatever is in memory or on disk, and stores it under the same key
 * without overrides, in place of what was there. TALLY_IO if it is not there afterwards. */
tally_status tly_cache_keep(tly_cache *cache, const tly_key *key, tally_error *error);

/* Marks as used now; only within `release`. */
void tly_cache_touch(tly_cache *cache, tly_object *object);

/* Whether there is more than the bound allows, all of it in use when it was last looked at. */
static inline int tly_cache_above(const tly_cache *cache)
{
    return atomic_load_explicit(&cache->above, memory_order_relaxed);
}

/* Evicts what has come out of use since. Within the fork gate. */
void tly_cache_trim(tly_cache *cache);

/* Forgets and unloads all that an owner has, which ends now, held or not. */
void tly_cache_forget(tly_cache *cache, const void *owner);

#endif
