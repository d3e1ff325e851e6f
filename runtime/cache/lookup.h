/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a kernel's code that is not in memory: in the disk cache and in packs, else by the
 * generator, as the compile mode allows. Full code that was made is stored. Called without the
 * cache's lock; thread-safe.
 */
#ifndef TLY_LOOKUP_H
#define TLY_LOOKUP_H

#include "object.h"
#include "store.h"

#include <tally/kernel.h>

/* Where code may come from. */
typedef struct tly_lookup_rules {
    tally_compile_mode compile;
    int quick;        /* quick code may come first: its full code can follow later */
    tly_store *store; /* NULL: nothing is kept on disk */
} tly_lookup_rules;

/* Loads the code of the object's key, and sets *origin to where it was. `full`: not quick code. */
tally_status tly_lookup(const tly_lookup_rules *rules, tly_object *object, int full,
                        tly_origin *origin, tally_error *error);

/* Whether tly_lookup would find or make the code: it is stored, or the backend's `check` finds
 * nothing wrong. Makes none. */
tally_status tly_lookup_supports(const tly_lookup_rules *rules, const tly_key *key,
                                 tally_error *error);

/* Has the object's code made, whatever is stored, and stores it under the same key without
 * overrides; does not load it. TALLY_IO if it is not stored afterwards. */
tally_status tly_make_and_keep(const tly_lookup_rules *rules, const tly_object *object,
                               tally_error *error);

#endif
