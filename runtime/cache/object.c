/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and objects; see object.h. */
#include "object.h"

#include "../host/hash.h"

#include <stdlib.h>
#include <string.h>

uint64_t tly_key_hash(const tly_key *key)
{
    uint64_t hash = tly_hash((uint64_t)(uintptr_t)key->owner, key->facts,
                             key->backend->facts_bytes);
    return tly_hash(hash ^ (uint64_t)(uintptr_t)key->backend, key->plan, strlen(key->plan));
}

int tly_key_equal(const tly_key *a, const tly_key *b)
{
    return a->backend == b->backend && a->owner == b->owner &&
           memcmp(a->facts, b->facts, a->backend->facts_bytes) == 0 &&
           strcmp(a->plan, b->plan) == 0;
}

size_t tly_object_bytes(const tly_key *key)
{
    return key->backend->object_bytes + key->backend->facts_bytes + strlen(key->plan) + 1;
}

tly_object *tly_object_new(uint64_t hash, const tly_key *key)
{
    tly_object *object = calloc(1, tly_object_bytes(key));
    tally_error *failure = malloc(sizeof *failure);
    if (object == NULL || failure == NULL) {
        free(object);
        free(failure);
        return NULL;
    }
    *failure = (tally_error)TALLY_ERROR_INIT;
    char *facts = (char *)object + key->backend->object_bytes;
    char *plan = facts + key->backend->facts_bytes;
    memcpy(facts, key->facts, key->backend->facts_bytes);
    memcpy(plan, key->plan, strlen(key->plan) + 1);
    object->key = (tly_key){ key->backend, key->owner, facts, plan };
    object->failure = failure;
    object->hash = hash;
    atomic_init(&object->refs, 1);
    return object;
}

void tly_object_drop(tly_object *object)
{
    if (atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) == 1) {
        object->key.backend->unload(object);
        free(object->failure);
        free(object);
    }
}
