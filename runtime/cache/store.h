/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk cache: what was made once, for the processes that come later. Values by keys, which this
 * knows nothing of; docs/cache.md is its manual. Guarantees that what it gives is what was stored,
 * by this user or root, under exactly this key by this build of Tally, and that nothing which goes
 * wrong here is more than a miss: no call fails.
 *
 *   entry.c  the bytes of an entry: written, and judged
 *   packs.c  files of many entries, which are only read
 *   folder.c the folder: trusted or not, its entries, the oldest of which go
 *   store.c  all together, or the host's functions in place of the folder
 */
#ifndef TLY_STORE_H
#define TLY_STORE_H

#include "entry.h"
#include "packs.h"

#include <tally/kernel.h>

#include <stdatomic.h>
#include <stdint.h>

typedef struct tly_store {
    tly_packs packs; /* looked through after the folder, where a tuned kernel may be */
    char *folder;    /* absolute; NULL: none */
    tally_cache_load load;
    tally_cache_save save;
    void *user;
    tly_log log;              /* of the whole context */
    uint64_t limit;           /* bytes of all entries */
    _Atomic uint64_t written; /* since the folder was last looked through */
    atomic_int noticed;       /* the log has been told that the folder is not used */
} tly_store;

/* Where a kernel came from. */
typedef enum tly_from {
    TLY_FROM_NOWHERE,
    TLY_FROM_MEMORY,
    TLY_FROM_PACK,
    TLY_FROM_DISK,
    TLY_FROM_HOST, /* what tally_context_options.cache_load handed over */
    TLY_FROM_MADE,
    TLY_FROM_QUICK, /* made, and to be made in full */
    TLY_FROM_COUNT
} tly_from;

typedef struct tly_origin {
    tly_from from;
    const char *pack, *disk; /* why not from there, in a few words; NULL where it was not asked */
} tly_origin;

/* Bytes of all entries. */
#define TLY_STORE_LIMIT ((uint64_t)256 << 20)

/* The folder that `asked` names, NULL the environment's, from malloc; *folder is NULL where
 * there is to be none. TALLY_OUT_OF_MEMORY at worst. */
tally_status tly_store_folder(const char *asked, char **folder, tally_error *error);

/* TALLY_OUT_OF_MEMORY, or TALLY_INVALID for options that contradict each other; the store is empty
 * then. */
tally_status tly_store_init(tly_store *store, const tally_context_options *options,
                            tally_error *error);
void tly_store_end(tly_store *store);

/* The key of a value of some kind, of this build of Tally. 0: it is too long to be stored. */
int tly_store_key_make(tly_store_key *key, const char *kind, const void *facts, size_t count,
                       const char *text);

/* 1, and the value from malloc; *origin (NULL: not wanted) says where it was, and why not before.
 * Both calls: thread-safe, within the fork gate. */
int tly_store_load(tly_store *store, const tly_store_key *key, void **value, size_t *count,
                   tly_origin *origin);
void tly_store_save(tly_store *store, const tly_store_key *key, const tly_store_name *name,
                    const void *value, size_t count);

#endif
