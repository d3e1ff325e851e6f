/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory cache of kernels' code: from a key to what can be run, for CPUs and Vulkan devices
 * alike. Thread-safe; one making for one key however many threads ask at once; bounded, the least
 * recently used code that nobody refers to going first. What it does not have comes from the disk
 * cache (store.h) or from the generator; how, says the backend. A failed making fails for all who
 * waited for it, and is tried again by the next who asks.
 */
#ifndef TLY_CACHE_H
#define TLY_CACHE_H

#include "store.h"

#include <tally/status.h>

#include <pthread.h>
#include <stdatomic.h>

typedef struct tly_object tly_object;
typedef struct tly_background tly_background;

/* A kernel as the generator made it, in one piece that can be stored: a launch record, then native
 * code without relocations, or SPIR-V modules. */
typedef struct tly_piece {
    void *bytes; /* from malloc */
    size_t count;
    int lasting; /* whether it may be stored: the generator is of this library's build */
    int quick;   /* made for the time until the full one is */
    int stored;  /* it comes from a folder, a pack or the host: judged for what it says, too */
} tly_piece;

/* What code depends on. Compared and hashed as bytes, so without padding. */
typedef struct tly_backend tly_backend;
typedef struct tly_key {
    const tly_backend *backend;
    void *owner;       /* the context, or the device whose objects these are; never stored */
    const void *facts; /* the backend's facts_bytes */
    const char *plan;  /* text of overrides */
} tly_key;

/* What is different from one kind of target to the other. */
struct tly_backend {
    const char *kind; /* in stored keys: for equal facts and plans another kind makes other code */
    size_t object_bytes; /* of the struct that begins with a tly_object */
    size_t facts_bytes;
    /* Has the generator make what the object's key says. */
    tally_status (*make)(const tly_object *object, tly_piece *made, tally_error *error);
    /* The same soon rather than well, where the generator can: the piece says what it is. NULL:
     * there is no such way. */
    tally_status (*make_quick)(const tly_object *object, tly_piece *made, tally_error *error);
    /* Whether `make` would have something to make: plans, and opens what making needs. */
    tally_status (*check)(const tly_key *key, tally_error *error);
    /* Makes it ready to run; after a quick piece called again for the full one, while the object is
     * in use. TALLY_INTERNAL for bytes that cannot be such a kernel's. */
    tally_status (*load)(tly_object *object, const tly_piece *made, tally_error *error);
    /* Frees what `load` made. May be called again then, and for what was never loaded. */
    void (*unload)(tly_object *object);
    /* For people: the word without sizes and the device. */
    void (*name)(const tly_object *object, tly_store_name *name);
};

/* The beginning of a backend's object, which is shared by all kernels of its key. */
struct tly_object {
    tly_key key;
    /* The cache's own: */
    atomic_uint refs; /* the table's one, and one for each holder */
    int state;
    tally_error *failure;
    uint64_t hash;
    tly_object *chain;         /* in its bucket */
    tly_object *behind;        /* in the background's queue */
    tly_object *newer, *older; /* by last use */
};

typedef struct tly_cache {
    pthread_mutex_t lock;
    pthread_cond_t made;
    tly_object **buckets;
    size_t bucket_count, bound;
    tly_object *newest, *oldest;
    uint64_t compiled, loaded, hits, cached, evicted, quick;
    tally_compile_mode compile;
    tly_background *background; /* with TALLY_COMPILE_BACKGROUND alone */
    atomic_int above;           /* see tly_cache_above */
    tly_store *store;           /* NULL: nothing is kept on disk */
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

/* Whether tly_cache_get would have code, without making any: it is in memory or stored, or `check`
 * of the backend finds nothing wrong. Not for backends without one. */
tally_status tly_cache_supports(tly_cache *cache, const tly_key *key, tally_error *error);

/* For background.c, the lock held but not while it is made: makes the full code of an object
 * that is QUEUED and in the queue no more. The caller holds a reference. */
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

static inline void tly_object_hold(tly_object *object)
{
    atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
}

/* Drops one reference. Takes no lock, so that a kernel can be destroyed anywhere. */
void tly_object_drop(tly_object *object);

#endif
