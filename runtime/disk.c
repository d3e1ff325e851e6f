/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache as the user of a command sees it (tally/cache.h). */
#include <tally/cache.h>

#include "entry.h"
#include "error.h"
#include "folder.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>
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

/* 0: the visitor wants no more. */
static int show(int folder, const tly_folder_file *file, tally_cache_visitor visit, void *user)
{
    tally_cache_entry shown = { .size = sizeof shown,
                                .name = file->name,
                                .word = "",
                                .device = "",
                                .bytes = file->bytes,
                                .used = file->used };
    tly_stored entry;
    size_t count;
    void *bytes = tly_folder_read(folder, file->name, 0, &count, &shown.fault);
    if (bytes == NULL && shown.fault == NULL) {
        return 1; /* gone in the meantime */
    }
    if (bytes != NULL) {
        shown.fault = tly_entry_read(bytes, count, &entry);
    }
    if (shown.fault == NULL) {
        shown.word = entry.word;
        shown.device = entry.device;
    }
    int more = visit(user, &shown) == 0;
    free(bytes);
    return more;
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
        if (!show(opened, &files[i], visit, user)) {
            status = tly_fail(error, TALLY_IO, "file", "the visitor ended the list");
        }
    }
    free(files);
    close(opened);
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
