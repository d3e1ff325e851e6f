/* SPDX-License-Identifier: Apache-2.0 */
/* Stored code first, then new code; see lookup.h. */
#include "lookup.h"

#include "../host/error.h"

#include <stdlib.h>
#include <string.h>

/* 0: what is stored is no such kernel, and a new one takes its place. Any other status than that is
 * no fault of what is stored, and making it anew would not help. */
static int load_stored(tly_store *store, tly_object *object, const tly_store_key *key,
                       tally_status *status, tly_origin *origin, tally_error *error)
{
    tly_piece made = { .bytes = NULL, .stored = 1 };
    if (!tly_store_load(store, key, &made.bytes, &made.count, origin)) {
        return 0;
    }
    *status = object->key.backend->load(object, &made, error);
    free(made.bytes);
    if (*status == TALLY_INTERNAL) {
        origin->disk = "what is stored is no such kernel";
    }
    return *status != TALLY_INTERNAL;
}

static tally_status make_new(tly_store *store, tly_object *object, const tly_store_key *key,
                             int soon, tly_origin *origin, tally_error *error)
{
    const tly_backend *backend = object->key.backend;
    tly_piece made = { .bytes = NULL };
    tally_status status = (soon ? backend->make_quick : backend->make)(object, &made, error);
    if (status != TALLY_OK) {
        return status;
    }
    origin->from = made.quick ? TLY_FROM_QUICK : TLY_FROM_MADE;
    status = backend->load(object, &made, error);
    if (status == TALLY_OK && made.lasting && !made.quick && store != NULL) {
        tly_store_name name = { { 0 }, { 0 } };
        backend->name(object, &name);
        tly_store_save(store, key, &name, made.bytes, made.count);
    }
    free(made.bytes);
    return status;
}

static tally_status refuse(const tly_object *object, tally_error *error)
{
    tly_store_name name = { { 0 }, { 0 } };
    object->key.backend->name(object, &name);
    return tly_fail(error, TALLY_NO_GENERATOR, "device",
                    "compile is never, and neither memory nor a pack nor the disk cache has %s for "
                    "%s",
                    name.word, name.device);
}

tally_status tly_lookup(const tly_lookup_rules *rules, tly_object *object, int full,
                        tly_origin *origin, tally_error *error)
{
    const tly_key *k = &object->key;
    tly_store *store = rules->store;
    tly_store_key key;
    tally_status status = TALLY_OK;
    if (store != NULL &&
        !tly_store_key_make(&key, k->backend->kind, k->facts, k->backend->facts_bytes, k->plan)) {
        store = NULL;
    }
    if (store != NULL && load_stored(store, object, &key, &status, origin, error)) {
        return status;
    }
    if (rules->compile == TALLY_COMPILE_NEVER) {
        return refuse(object, error);
    }
    int soon = !full && rules->quick && k->backend->make_quick != NULL;
    return make_new(store, object, &key, soon, origin, error);
}

tally_status tly_lookup_supports(const tly_lookup_rules *rules, const tly_key *k,
                                 tally_error *error)
{
    tly_piece there = { .bytes = NULL };
    tly_store_key key;
    if (rules->store != NULL &&
        tly_store_key_make(&key, k->backend->kind, k->facts, k->backend->facts_bytes, k->plan) &&
        tly_store_load(rules->store, &key, &there.bytes, &there.count, NULL)) {
        free(there.bytes);
        return TALLY_OK;
    }
    return rules->compile == TALLY_COMPILE_NEVER ? TALLY_NO_GENERATOR : k->backend->check(k, error);
}

/* --- kept by hand --------------------------------------------------------------------------- */

static int is_stored(tly_store *store, const tly_store_key *key, const tly_piece *piece)
{
    tly_piece there = { .bytes = NULL };
    int same = tly_store_load(store, key, &there.bytes, &there.count, NULL) &&
               there.count == piece->count && memcmp(there.bytes, piece->bytes, piece->count) == 0;
    free(there.bytes);
    return same;
}

static int store_as_own(tly_store *store, const tly_object *object, const tly_piece *made)
{
    const tly_key *k = &object->key;
    tly_store_name name = { { 0 }, { 0 } };
    tly_store_key key;
    if (store == NULL || !made->lasting ||
        !tly_store_key_make(&key, k->backend->kind, k->facts, k->backend->facts_bytes, "")) {
        return 0;
    }
    k->backend->name(object, &name);
    if (k->plan[0] != 0) {
        strncat(name.device, " tuned", sizeof name.device - strlen(name.device) - 1);
    }
    tly_store_save(store, &key, &name, made->bytes, made->count);
    return is_stored(store, &key, made);
}

tally_status tly_make_and_keep(const tly_lookup_rules *rules, const tly_object *object,
                               tally_error *error)
{
    tly_piece made = { .bytes = NULL };
    tally_status status = object->key.backend->make(object, &made, error);
    if (status == TALLY_OK && !store_as_own(rules->store, object, &made)) {
        status = tly_fail(error, TALLY_IO, "file", "there is no disk cache that takes the kernel");
        tly_error_hint(error, "tally cache path says which folder it would be");
    }
    free(made.bytes);
    return status;
}
