/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a kernel's code comes from when memory does not have it: the disk cache and packs, then the
 * generator, as the cache's mode allows; what is made in full is stored. The cache's lock is not
 * held meanwhile.
 */
#ifndef TLY_LOOKUP_H
#define TLY_LOOKUP_H

#include "cache.h"

/* Loads what the object's key says, and tells in *origin where it was. `full`: not with quick code,
 * which otherwise comes first where the full code can follow in the background. */
tally_status tly_lookup(const tly_cache *cache, tly_object *object, int full, tly_origin *origin,
                        tally_error *error);

/* See tly_cache_supports; memory has it not. */
tally_status tly_lookup_supports(const tly_cache *cache, const tly_key *key, tally_error *error);

/* See tly_cache_keep; the object is not loaded. */
tally_status tly_make_and_keep(const tly_cache *cache, const tly_object *object,
                               tally_error *error);

#endif
