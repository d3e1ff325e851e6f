/* SPDX-License-Identifier: Apache-2.0 */
/* The memory cache; see cache.h. */
#include "cache.h"

#include "../host/error.h"

#include <stdlib.h>
#include <string.h>

/* States of an object. From QUICK on there is code to run, from READY on the full one. */
enum {
    MAKING, /* as new objects are */
    FAILED,
    QUICK,     /* the full one could not be made; the next who asks has it tried again */
    QUEUED,    /* ... is to be made */
    FINISHING, /* ... is being made */
    READY
};

static int is_quick(const tly_object *object)
{
    return object->state >= QUICK && object->state < READY;
}

#define FIRST_BUCKETS 64u /* a power of two, as always */

static void age_unlink(tly_cache *cache, tly_object *object)
{
    *(object->newer != NULL ? &object->newer->older : &cache->newest) = object->older;
    *(object->older != NULL ? &object->older->newer : &cache->oldest) = object->newer;
}

static void age_link(tly_cache *cache, tly_object *object)
{
    object->newer = NULL;
    object->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = object;
    cache->newest = object;
}

void tly_cache_touch(tly_cache *cache, tly_object *object)
{
    /* Code that failed or was evicted has left the list. */
    if (object->state >= QUICK && object != cache->newest) {
        age_unlink(cache, object);
        age_link(cache, object);
    }
}

static tly_object **bucket(const tly_cache *cache, uint64_t hash)
{
    return &cache->buckets[hash & (cache->bucket_count - 1)];
}

static tly_object *find(const tly_cache *cache, uint64_t hash, const tly_key *key)
{
    tly_object *object = *bucket(cache, hash);
    while (object != NULL && (object->hash != hash || !tly_key_equal(&object->key, key))) {
        object = object->chain;
    }
    return object;
}

/* Longer chains are slower, not wrong: without memory the table stays as it is. */
static void widen(tly_cache *cache)
{
    tly_cache wide = { .bucket_count = cache->bucket_count * 2 };
    wide.buckets = calloc(wide.bucket_count, sizeof *wide.buckets);
    if (wide.buckets == NULL) {
        return;
    }
    for (size_t i = 0; i < cache->bucket_count; i++) {
        for (tly_object *object = cache->buckets[i], *next; object != NULL; object = next) {
            next = object->chain;
            tly_object **head = bucket(&wide, object->hash);
            object->chain = *head;
            *head = object;
        }
    }
    free(cache->buckets);
    cache->buckets = wide.buckets;
    cache->bucket_count = wide.bucket_count;
}

static void insert(tly_cache *cache, tly_object *object)
{
    if (cache->cached >= cache->bucket_count) {
        widen(cache);
    }
    tly_object **head = bucket(cache, object->hash);
    object->chain = *head;
    *head = object;
    age_link(cache, object);
    tly_object_hold(object);
    cache->cached++;
}

/* Out of the table; the table's reference goes to the caller. */
static void take_out(tly_cache *cache, tly_object *object)
{
    tly_object **link = bucket(cache, object->hash);
    while (*link != object) {
        link = &(*link)->chain;
    }
    *link = object->chain;
    age_unlink(cache, object);
    cache->cached--;
    cache->quick -= is_quick(object);
}

static void evict(tly_cache *cache)
{
    if (cache->cached <= cache->bound) {
        atomic_store_explicit(&cache->above, 0, memory_order_relaxed);
        return;
    }
    if (cache->release != NULL) {
        cache->release(cache->release_user);
    }
    for (tly_object *object = cache->oldest, *newer; object != NULL && cache->cached > cache->bound;
         object = newer) {
        newer = object->newer;
        /* References are taken under the lock alone, so that a count of one stays one. */
        if (atomic_load_explicit(&object->refs, memory_order_acquire) == 1) {
            take_out(cache, object);
            cache->evicted++;
            tly_object_drop(object);
        }
    }
    atomic_store_explicit(&cache->above, cache->cached > cache->bound, memory_order_relaxed);
}

void tly_cache_trim(tly_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    evict(cache);
    pthread_mutex_unlock(&cache->lock);
}

/* --- from a key to code -------------------------------------------------------------------- */

/* The lock is held, as for all that follow. */
static void count(tly_cache *cache, const tly_origin *origin)
{
    cache->loaded += origin->from < TLY_FROM_MADE;
    cache->compiled += origin->from == TLY_FROM_MADE;
    cache->quick += origin->from == TLY_FROM_QUICK;
}

/* The queue holds a reference to each of its objects. */
static void enqueue(tly_cache *cache, tly_object *object)
{
    tly_object_hold(object);
    object->state = QUEUED;
    object->behind = NULL;
    *cache->last = object;
    cache->last = &object->behind;
}

static void dequeue(tly_cache *cache, tly_object *object)
{
    tly_object **link = &cache->first;
    while (*link != object) {
        link = &(*link)->behind;
    }
    *link = object->behind;
    cache->last = cache->last == &object->behind ? link : cache->last;
    tly_object_drop(object); /* not the last reference: the caller has one */
}

tly_object *tly_cache_next(tly_cache *cache)
{
    tly_object *object = cache->first;
    if (object != NULL) {
        cache->first = object->behind;
        cache->last = cache->first != NULL ? cache->last : &cache->first;
    }
    return object;
}

tally_status tly_cache_finish(tly_cache *cache, tly_object *object, tly_origin *origin,
                              tally_error *error)
{
    object->state = FINISHING;
    pthread_mutex_unlock(&cache->lock);
    tally_status status = tly_lookup(&cache->rules, object, 1, origin, error);
    pthread_mutex_lock(&cache->lock);
    object->state = status == TALLY_OK ? READY : QUICK;
    if (status == TALLY_OK) {
        count(cache, origin);
        cache->quick--;
    }
    pthread_cond_broadcast(&cache->made);
    return status;
}

/* Without a thread for it the full code is made here, and quick code that is all there is goes
 * on. */
static void hand_on(tly_cache *cache, tly_object *object, tly_origin *origin)
{
    if (cache->wake(cache->wake_user)) {
        enqueue(cache, object);
    } else {
        (void)tly_cache_finish(cache, object, origin, NULL);
    }
}

/* Leaves the lock while it is made. */
static void make_ready(tly_cache *cache, tly_object *object, int full, tly_origin *origin)
{
    pthread_mutex_unlock(&cache->lock);
    tally_status status = tly_lookup(&cache->rules, object, full, origin, object->failure);
    pthread_mutex_lock(&cache->lock);
    if (status == TALLY_OK) {
        object->state = origin->from == TLY_FROM_QUICK ? QUICK : READY;
        free(object->failure);
        object->failure = NULL;
        count(cache, origin);
        evict(cache);
    } else {
        object->failure->status = (int32_t)status;
        object->state = FAILED;
        take_out(cache, object);
        tly_object_drop(object);
    }
    pthread_cond_broadcast(&cache->made);
}

/* What an object with quick code needs yet, which the caller refers to. */
static tally_status follow_up(tly_cache *cache, tly_object *object, int full, tly_origin *origin,
                              tally_error *error)
{
    while (full && object->state == FINISHING) {
        pthread_cond_wait(&cache->made, &cache->lock);
    }
    if (full && is_quick(object)) {
        if (object->state == QUEUED) {
            dequeue(cache, object);
        }
        return tly_cache_finish(cache, object, origin, error);
    }
    if (object->state == QUICK) {
        hand_on(cache, object, origin);
    }
    return TALLY_OK;
}

static tally_status get(tly_cache *cache, const tly_key *key, int full, tly_object **found,
                        tly_origin *origin, tally_error *error)
{
    tly_origin whence = { .from = TLY_FROM_MEMORY };
    uint64_t hash = tly_key_hash(key);
    pthread_mutex_lock(&cache->lock);
    tly_object *object = find(cache, hash, key);
    if (object != NULL) {
        tly_object_hold(object);
        while (object->state == MAKING) {
            pthread_cond_wait(&cache->made, &cache->lock);
        }
        if (object->state >= QUICK) {
            cache->hits++;
            tly_cache_touch(cache, object);
        }
    } else {
        object = tly_object_new(hash, key);
        if (object != NULL) {
            insert(cache, object);
            make_ready(cache, object, full, &whence);
        }
    }
    /* The caller's own reference holds it, whatever the table dropped. */
    int usable = object != NULL && object->state >= QUICK; // NOLINT(clang-analyzer-unix.Malloc)
    tally_status status = usable ? follow_up(cache, object, full, &whence, error) : TALLY_OK;
    pthread_mutex_unlock(&cache->lock);
    if (origin != NULL) {
        *origin = whence;
    }
    if (object == NULL) {
        return tly_out_of_memory(error, "a cache entry", tly_object_bytes(key));
    }
    status = usable ? status : tly_error_pass(error, object->failure);
    if (status != TALLY_OK) {
        tly_object_drop(object);
        return status;
    }
    *found = object;
    return TALLY_OK;
}

tally_status tly_cache_get(tly_cache *cache, const tly_key *key, tly_object **object,
                           tly_origin *origin, tally_error *error)
{
    return get(cache, key, 0, object, origin, error);
}

tally_status tly_cache_get_full(tly_cache *cache, const tly_key *key, tly_object **object,
                                tly_origin *origin, tally_error *error)
{
    return get(cache, key, 1, object, origin, error);
}

tly_object *tly_cache_find(tly_cache *cache, const tly_key *key)
{
    uint64_t hash = tly_key_hash(key);
    pthread_mutex_lock(&cache->lock);
    tly_object *object = find(cache, hash, key);
    if (object != NULL && object->state >= QUICK) {
        tly_object_hold(object);
        cache->hits++;
        tly_cache_touch(cache, object);
    } else {
        object = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
    return object;
}

tally_status tly_cache_supports(tly_cache *cache, const tly_key *key, tally_error *error)
{
    uint64_t hash = tly_key_hash(key);
    pthread_mutex_lock(&cache->lock);
    const tly_object *object = find(cache, hash, key);
    const int known = object != NULL && object->state >= QUICK;
    pthread_mutex_unlock(&cache->lock);
    return known ? TALLY_OK : tly_lookup_supports(&cache->rules, key, error);
}

tally_status tly_cache_keep(tly_cache *cache, const tly_key *key, tally_error *error)
{
    tly_object *object = tly_object_new(0, key);
    if (object == NULL) {
        return tly_out_of_memory(error, "a cache entry", tly_object_bytes(key));
    }
    tally_status status = tly_make_and_keep(&cache->rules, object, error);
    tly_object_drop(object);
    return status;
}

/* --- beginning and end --------------------------------------------------------------------- */

tally_status tly_cache_init(tly_cache *cache, size_t bound, tally_error *error)
{
    tly_object **buckets = calloc(FIRST_BUCKETS, sizeof *buckets);
    if (buckets == NULL) {
        return tly_out_of_memory(error, "the kernel cache", FIRST_BUCKETS * sizeof *buckets);
    }
    *cache = (tly_cache){ .buckets = buckets, .bucket_count = FIRST_BUCKETS, .bound = bound };
    cache->last = &cache->first;
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->made, NULL);
    return TALLY_OK;
}

void tly_cache_forget(tly_cache *cache, const void *owner)
{
    pthread_mutex_lock(&cache->lock);
    for (tly_object *object = cache->newest, *older; object != NULL; object = older) {
        older = object->older;
        if (object->key.owner == owner) {
            take_out(cache, object);
            object->key.backend->unload(object);
            tly_object_drop(object);
        }
    }
    pthread_mutex_unlock(&cache->lock);
}

void tly_cache_end(tly_cache *cache)
{
    for (tly_object *object = cache->newest, *older; object != NULL; object = older) {
        older = object->older;
        tly_object_drop(object);
    }
    free(cache->buckets);
    pthread_cond_destroy(&cache->made);
    pthread_mutex_destroy(&cache->lock);
}
