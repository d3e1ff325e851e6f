/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's code in memory, shared by reference: the key that it depends on, and the backend that
 * makes, loads and unloads it. The cache holds objects in its table; see cache.h. Thread-safe: the
 * key never changes, references are atomic, and the cache's lock guards the rest.
 */
#ifndef TLY_OBJECT_H
#define TLY_OBJECT_H

#include "entry.h"

#include <tally/status.h>

#include <stdatomic.h>

typedef struct tly_object tly_object;

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
    atomic_uint refs; /* the table's one, and one for each holder */
    /* The cache's own: */
    int state;
    tally_error *failure;
    uint64_t hash;
    tly_object *chain;         /* in its bucket */
    tly_object *behind;        /* in the queue */
    tly_object *newer, *older; /* by last use */
};

/* Keys with the same bytes are equal, and have the same hash. */
uint64_t tly_key_hash(const tly_key *key);
int tly_key_equal(const tly_key *a, const tly_key *b);

/* Bytes of an object, which has a copy of its key behind itself. */
size_t tly_object_bytes(const tly_key *key);

/* An object without code, its state 0. The caller has its only reference. NULL without memory. */
tly_object *tly_object_new(uint64_t hash, const tly_key *key);

static inline void tly_object_hold(tly_object *object)
{
    atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
}

/* Drops one reference; the last one unloads the code and frees the object. Takes no lock, so that a
 * kernel can be destroyed anywhere. */
void tly_object_drop(tly_object *object);

#endif
