/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache; see store.h. */
#include "store.h"

#include "../host/byte_buffer.h"
#include "../host/env.h"
#include "../host/error.h"
#include "../host/hash.h"
#include "../host/library.h"
#include "entry.h"
#include "folder.h"
#include "identity.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- which --------------------------------------------------------------------------------- */

/* NULL and no folder: there is none. Relative ones count from the current folder, now. */
tally_status tly_store_folder(const char *asked, char **folder, tally_error *error)
{
    const char *below = "";
    tally_status status = TALLY_OK;
    *folder = NULL;
    if (tly_raised()) {
        return TALLY_OK; /* its files would belong to one user and be read by another */
    }
    if (asked == NULL) {
        status = tly_env_cache(&asked, &below, error);
    }
    if (status != TALLY_OK || asked == NULL || asked[0] == 0) {
        return status;
    }
    char here[PATH_MAX] = "";
    int relative = asked[0] != '/';
    if (relative && getcwd(here, sizeof here) == NULL) {
        return TALLY_OK; /* it counts from nowhere */
    }
    if (asprintf(folder, "%s%s%s%s", here, relative ? "/" : "", asked, below) < 0) {
        *folder = NULL;
        status = tly_out_of_memory(error, "a path", strlen(asked) + 1);
    }
    return status;
}

tally_status tly_store_init(tly_store *store, const tally_context_options *options,
                            tally_error *error)
{
    const char *asked = options->cache_folder;
    int functions = options->cache_load != NULL || options->cache_save != NULL;
    *store = (tly_store){ .limit = TLY_STORE_LIMIT };
    tly_packs_init(&store->packs);
    tally_status status = tly_log_init(&store->log, options, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (functions) {
        if (asked != NULL && asked[0] != 0) {
            return tly_fail(error, TALLY_INVALID, "usage",
                            "cache_folder and functions of a cache exclude each other");
        }
        store->load = options->cache_load;
        store->save = options->cache_save;
        store->user = options->cache_user;
        return TALLY_OK;
    }
    return tly_store_folder(asked, &store->folder, error);
}

void tly_store_end(tly_store *store)
{
    tly_packs_end(&store->packs);
    free(store->folder);
}

int tly_store_key_make(tly_store_key *key, const char *kind, const void *facts, size_t count,
                       const char *text)
{
    const struct {
        const void *bytes;
        size_t count;
    } parts[] = {
        { tly_identity, strlen(tly_identity) + 1 },
        { kind, strlen(kind) + 1 },
        { facts, count },
        { text, strlen(text) + 1 },
    };
    key->count = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].count > sizeof key->bytes - key->count) {
            return 0;
        }
        memcpy(key->bytes + key->count, parts[i].bytes, parts[i].count);
        key->count += parts[i].count;
    }
    key->hash = tly_hash(0, key->bytes, key->count);
    return 1;
}

/* --- the host's ---------------------------------------------------------------------------- */

static void *load_from_host(tly_store *store, const tly_store_key *key, size_t *count)
{
    tly_byte_buffer g = { .most = TLY_ENTRY_MOST };
    if (store->load == NULL ||
        store->load(store->user, key->bytes, key->count, tly_byte_buffer_add, &g) != 0 ||
        g.failed) {
        free(g.bytes);
        return NULL;
    }
    *count = g.count;
    return g.bytes;
}

/* --- the folder's -------------------------------------------------------------------------- */

/* Once for each context. */
static void notice(tly_store *store, const char *name, const char *why)
{
    if (why != NULL && !atomic_exchange(&store->noticed, 1)) {
        tly_log_say(&store->log, TALLY_LOG_WARNING, "the disk cache does not use %.380s%s%s: %s",
                    store->folder, name[0] != 0 ? "/" : "", name, why);
    }
}

static void *load_from_folder(tly_store *store, const tly_store_key *key, size_t *count,
                              const char **why)
{
    char name[TLY_FOLDER_NAME] = "";
    int folder = tly_folder_open(store->folder, 0, why);
    void *bytes = NULL;
    if (folder >= 0) {
        tly_folder_name(name, key->hash);
        bytes = tly_folder_read(folder, name, 1, count, why);
        close(folder);
    }
    notice(store, name, *why);
    return bytes;
}

/* At the first entry that a context writes, and whenever it has written a sixteenth of the
 * limit, the oldest go until there is room for another sixteenth: one writer never exceeds the
 * limit, and many at once by little. */
static void trim(tly_store *store, int folder, uint64_t bytes)
{
    const uint64_t share = store->limit / 16;
    uint64_t before = atomic_fetch_add(&store->written, bytes);
    if (before == 0 || before + bytes > share) {
        atomic_store(&store->written, bytes);
        (void)tly_folder_trim(folder, store->limit - share);
    }
}

static void save_to_folder(tly_store *store, const tly_store_key *key, const void *bytes,
                           size_t count)
{
    char name[TLY_FOLDER_NAME];
    const char *why;
    int folder = tly_folder_open(store->folder, 1, &why);
    if (folder < 0) {
        notice(store, "", why);
        return;
    }
    tly_folder_name(name, key->hash);
    trim(store, folder, tly_folder_bytes(count));
    (void)tly_folder_write(folder, name, bytes, count);
    close(folder);
}

/* --- both ---------------------------------------------------------------------------------- */

/* The value of the entry's bytes, moved to their front; NULL, and they are freed, if they are no
 * such entry. *why is left as it is where there are no bytes. */
static void *value_of(void *bytes, const tly_store_key *key, size_t *count, const char **why)
{
    tly_stored entry;
    if (bytes == NULL) {
        return NULL;
    }
    *why = tly_entry_read(bytes, *count, &entry);
    if (*why == NULL &&
        (entry.key_bytes != key->count || memcmp(entry.key, key->bytes, key->count) != 0)) {
        *why = "another kernel has its place";
    }
    if (*why != NULL) {
        free(bytes);
        return NULL;
    }
    *count = entry.value_bytes;
    return memmove(bytes, entry.value, entry.value_bytes);
}

static const char *or_none(const char *why)
{
    return why != NULL ? why : "it is not there";
}

static void *find(tly_store *store, const tly_store_key *key, size_t *count, tly_origin *origin)
{
    void *value;
    if (store->folder != NULL) {
        value = value_of(load_from_folder(store, key, count, &origin->disk), key, count,
                         &origin->disk);
    } else {
        value = value_of(load_from_host(store, key, count), key, count, &origin->disk);
    }
    if (value != NULL) {
        origin->from = store->folder != NULL ? TLY_FROM_DISK : TLY_FROM_HOST;
        return value;
    }
    int asked = store->folder != NULL || store->load != NULL;
    origin->disk = asked ? or_none(origin->disk) : "there is none";
    value = value_of(tly_packs_read(&store->packs, &store->log, key->hash, count), key, count,
                     &origin->pack);
    if (value != NULL) {
        origin->from = TLY_FROM_PACK;
    } else {
        origin->pack = tly_packs_any(&store->packs) ? or_none(origin->pack) : "there is none";
    }
    return value;
}

int tly_store_load(tly_store *store, const tly_store_key *key, void **value, size_t *count,
                   tly_origin *origin)
{
    tly_origin found = { .from = TLY_FROM_NOWHERE };
    *value = find(store, key, count, &found);
    if (origin != NULL) {
        *origin = found;
    }
    return *value != NULL;
}

void tly_store_save(tly_store *store, const tly_store_key *key, const tly_store_name *name,
                    const void *value, size_t count)
{
    size_t all;
    if (store->folder == NULL && store->save == NULL) {
        return;
    }
    void *bytes = tly_entry_write(key, name, value, count, &all);
    if (bytes == NULL) {
        return;
    }
    if (store->folder != NULL) {
        save_to_folder(store, key, bytes, all);
    } else {
        store->save(store->user, key->bytes, key->count, bytes, all);
    }
    free(bytes);
}
