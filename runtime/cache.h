/*
 * The memory cache of generated code: from a key to code that can be called. Thread-safe; one
 * making for one key however many threads ask at once; bounded, the least recently used code that
 * nobody refers to going first. It knows nothing of how code is made.
 */
#ifndef TLY_CACHE_H
#define TLY_CACHE_H

#include "abi.h"
#include "load.h"
#include "problem.h"

#include <pthread.h>
#include <stdatomic.h>

/* What code depends on, together with the text of plan overrides. No padding: compared and hashed
 * as bytes; zero first, then fill. */
typedef struct tly_key {
    tly_problem problem;
    uint32_t abi, generator; /* versions */
    char level[16];
} tly_key;

_Static_assert(sizeof(tly_key) == sizeof(tly_problem) + 24, "padding in a key");

/* Code, shared by all kernels of its key. */
typedef struct tly_object {
    tly_launch launch;
    tly_code code;
    /* The cache's own: */
    atomic_uint refs; /* the table's one, and one for each holder */
    int state;
    tally_error *failure;
    uint64_t hash;
    struct tly_object *chain;         /* in its bucket */
    struct tly_object *newer, *older; /* by last use */
    tly_key key;
    char plan[];
} tly_object;

/* Makes the code for a key: fills object->launch and object->code. */
typedef tally_status (*tly_make)(void *user, const tly_key *key, const char *plan,
                                 tly_object *object, tally_error *error);

typedef struct tly_cache {
    pthread_mutex_t lock;
    pthread_cond_t made;
    tly_object **buckets;
    size_t bucket_count, bound;
    tly_object *newest, *oldest;
    uint64_t compiled, hits, cached, evicted;
    atomic_int above; /* see tly_cache_above */
    /* Called with the lock held before anything is evicted: drops references that are kept for
     * speed only, and calls tly_cache_touch for those in use. NULL: there are none. */
    void (*release)(void *user);
    void *release_user;
} tly_cache;

/* TALLY_OUT_OF_MEMORY at worst. */
tally_status tly_cache_init(tly_cache *cache, size_t bound, tally_error *error);

/* Code that is still referred to lives on until its last holder drops it. */
void tly_cache_end(tly_cache *cache);

/* Finds or makes; the caller gets a reference. A failed making fails for all who waited for it, and
 * is tried again by the next who asks. */
tally_status tly_cache_get(tly_cache *cache, const tly_key *key, const char *plan, tly_make make,
                           void *user, tly_object **object, tally_error *error);

/* Marks as used now; only within `release`. */
void tly_cache_touch(tly_cache *cache, tly_object *object);

/* Whether there is more than the bound allows, all of it in use when it was last looked at. */
static inline int tly_cache_above(const tly_cache *cache)
{
    return atomic_load_explicit(&cache->above, memory_order_relaxed);
}

/* Evicts what has come out of use since. Within the fork gate. */
void tly_cache_trim(tly_cache *cache);

/* Drops one reference. Takes no lock, so that a kernel can be destroyed anywhere. */
void tly_object_drop(tly_object *object);

#endif
