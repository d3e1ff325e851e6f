/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache as the user of a command sees it (tally/cache.h). */
#include <tally/cache.h>

#include "../host/error.h"
#include "../host/hash.h"
#include "entry.h"
#include "folder.h"
#include "pack.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -1 and TALLY_OK: there is none. */
static tally_status open_folder(const char *asked, int *folder, tally_error *error)
{
    char *path;
    const char *why = NULL;
    *folder = -1;
    tally_status status = tly_store_folder(asked, &path, error);
    if (status == TALLY_OK && path != NULL) {
        *folder = tly_folder_open(path, 0, &why);
    }
    if (why != NULL) {
        status = tly_fail(error, TALLY_IO, "file", "the disk cache %.120s is not used: %s", path,
                          why);
        tly_error_hint(error, "the folder must be this user's, and nobody else may write to it");
    }
    free(path);
    return status;
}

static tally_status list(int folder, tly_folder_file **files, size_t *count, tally_error *error)
{
    return tly_folder_list(folder, files, count)
               ? TALLY_OK
               : tly_fail(error, TALLY_IO, "file", "the disk cache cannot be listed");
}

tally_status tally_cache_path(const char *folder, char *text, size_t capacity, tally_error *error)
{
    char *path;
    tally_status status = tly_store_folder(folder, &path, error);
    if (status != TALLY_OK) {
        return status;
    }
    const char *known = path != NULL ? path : "";
    size_t bytes = strlen(known) + 1;
    if (text == NULL || bytes > capacity) {
        status = tly_fail(error, TALLY_INVALID, "usage", "the path needs %zu bytes, there are %zu",
                          bytes, text != NULL ? capacity : 0);
    } else {
        memcpy(text, known, bytes);
    }
    free(path);
    return status;
}

uint64_t tally_cache_limit(void)
{
    return TLY_STORE_LIMIT;
}

/* Bytes from malloc, which are freed, or none, and then a fault; with `hash` their key has it.
 * 0: the visitor wants no more. */
static int show(tally_cache_entry *shown, void *bytes, size_t count, const uint64_t *hash,
                tally_cache_visitor visit, void *user)
{
    tly_stored entry;
    shown->size = sizeof *shown;
    shown->word = shown->device = "";
    if (bytes != NULL) {
        shown->fault = tly_entry_read(bytes, count, &entry);
    }
    if (shown->fault == NULL && hash && tly_hash(0, entry.key, entry.key_bytes) != *hash) {
        shown->fault = "it is not where its key is looked for";
    }
    if (shown->fault == NULL) {
        shown->word = entry.word;
        shown->device = entry.device;
    }
    int more = visit(user, shown) == 0;
    free(bytes);
    return more;
}

static int show_file(int folder, const tly_folder_file *file, tally_cache_visitor visit, void *user)
{
    tally_cache_entry shown = { .name = file->name, .bytes = file->bytes, .used = file->used };
    size_t count;
    void *bytes = tly_folder_read(folder, file->name, 0, &count, &shown.fault);
    /* Else it is gone in the meantime. */
    return bytes != NULL || shown.fault != NULL ? show(&shown, bytes, count, NULL, visit, user) : 1;
}

static tally_status ended(tally_error *error)
{
    return tly_fail(error, TALLY_IO, "file", "the visitor ended the list");
}

tally_status tally_cache_visit(const char *folder, tally_cache_visitor visit, void *user,
                               tally_error *error)
{
    if (visit == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the visitor is NULL");
    }
    int opened;
    tly_folder_file *files = NULL;
    size_t count = 0;
    tally_status status = open_folder(folder, &opened, error);
    if (status != TALLY_OK || opened < 0) {
        return status;
    }
    status = list(opened, &files, &count, error);
    for (size_t i = 0; i < count && status == TALLY_OK; i++) {
        if (!show_file(opened, &files[i], visit, user)) {
            status = ended(error);
        }
    }
    free(files);
    close(opened);
    return status;
}

static int show_slot(tly_pack *pack, uint64_t place, const tly_pack_slot *slot, int64_t when,
                     tally_cache_visitor visit, void *user)
{
    char name[32];
    if (slot->compressed.count == 0) {
        return 1;
    }
    void *bytes = tly_pack_entry(pack, slot);
    tally_cache_entry shown = { .name = name, .bytes = slot->compressed.count, .used = when };
    snprintf(name, sizeof name, "%llu", (unsigned long long)place);
    shown.fault = bytes == NULL ? "it cannot be expanded" : NULL;
    return show(&shown, bytes, slot->count, &slot->hash, visit, user);
}

/* Many slots at once, as most of a large file's may be free. */
static tally_status show_slots(tly_pack *pack, int64_t when, tally_cache_visitor visit, void *user,
                               tally_error *error)
{
    enum { MOST = 4096 };
    tly_pack_slot *slots = malloc(MOST * sizeof *slots);
    tally_status status = slots != NULL ? TALLY_OK
                                        : tly_out_of_memory(error, "slots", MOST * sizeof *slots);
    for (uint64_t place = 0;
         status == TALLY_OK && (place = tly_pack_next(pack, place)) < pack->slots;) {
        const size_t count = tly_pack_slots(pack, place, slots, MOST);
        if (count == 0) {
            status = tly_fail(error, TALLY_IO, "file", "the pack cannot be read");
        }
        for (size_t i = 0; i < count && status == TALLY_OK; i++) {
            if (!show_slot(pack, place + i, &slots[i], when, visit, user)) {
                status = ended(error);
            }
        }
        place += count;
    }
    free(slots);
    return status;
}

tally_status tally_pack_visit(const char *path, tally_cache_visitor visit, void *user,
                              tally_error *error)
{
    if (path == NULL || visit == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the path or the visitor is NULL");
    }
    tly_pack pack;
    struct stat about;
    const char *why = tly_pack_open(&pack, path);
    if (why != NULL) {
        return tly_fail(error, TALLY_IO, "file", "the pack %.120s is not used: %s", path,
                        why[0] != 0 ? why : "there is no such file");
    }
    const int64_t when = fstat(pack.file, &about) == 0 ? (int64_t)about.st_mtime : 0;
    const tally_status status = show_slots(&pack, when, visit, user, error);
    tly_pack_close(&pack);
    return status;
}

tally_status tally_cache_clear(const char *folder, uint64_t *removed, tally_error *error)
{
    int opened;
    size_t count = 0;
    tally_status status = open_folder(folder, &opened, error);
    if (status == TALLY_OK && opened >= 0) {
        count = tly_folder_trim(opened, 0);
        close(opened);
    }
    if (status == TALLY_OK && removed != NULL) {
        *removed = count;
    }
    return status;
}
