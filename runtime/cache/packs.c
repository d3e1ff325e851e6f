/* SPDX-License-Identifier: Apache-2.0 */
/* The packs of a context; see packs.h. */
#include "packs.h"

#include "../host/env.h"
#include "../host/library.h"
#include "../problem/generator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kernels for CPUs, and for Vulkan devices. */
static const char *const installed[] = { "tally.pack", "tally-vulkan.pack" };

/* `named`: by who runs this, who expects it to be there. */
static void add(tly_packs *packs, const char *path, int named, const tly_log *log)
{
    tly_pack *next = &packs->pack[packs->count];
    const char *why = packs->count < TLY_MOST_PACKS ? tly_pack_open(next, path)
                                                    : "there are too many";
    if (why == NULL) {
        packs->count++;
        tly_log_say(log, TALLY_LOG_REASON, "the pack %s is used", path);
    } else {
        const char *reason = why[0] != 0 ? why : "there is no such file";
        const char *slash = strrchr(path, '/');
        tly_log_say(log, TALLY_LOG_WARNING, "the pack %.380s is not used: %s", path, reason);
        if ((named || why[0] != 0) && packs->refused[0] == 0) {
            snprintf(packs->refused, sizeof packs->refused, "the pack %.40s is not used: %s",
                     slash != NULL ? slash + 1 : path, reason);
        }
    }
}

static void add_named(tly_packs *packs, const char *names, const tly_log *log)
{
    char *copy = strdup(names), *rest = copy;
    for (char *name; copy != NULL && (name = strsep(&rest, ":")) != NULL;) {
        if (name[0] != 0) {
            add(packs, name, 1, log);
        }
    }
    free(copy);
}

static void look(tly_packs *packs, const tly_log *log)
{
    const char *names;
    if (tly_env_packs(&names, NULL) != TALLY_OK) {
        return;
    }
    if (names != NULL) {
        add_named(packs, names, log);
        return;
    }
    for (size_t i = 0; i < sizeof installed / sizeof installed[0]; i++) {
        char *path = tly_library_file(installed[i], tly_places);
        if (path != NULL) {
            add(packs, path, 0, log);
        }
        free(path);
    }
}

void tly_packs_init(tly_packs *packs)
{
    *packs = (tly_packs){ .known = 0 };
    pthread_mutex_init(&packs->lock, NULL);
}

void tly_packs_end(tly_packs *packs)
{
    for (size_t i = 0; i < packs->count; i++) {
        tly_pack_close(&packs->pack[i]);
    }
    packs->count = 0;
    pthread_mutex_destroy(&packs->lock);
}

void *tly_packs_read(tly_packs *packs, const tly_log *log, uint64_t hash, size_t *count)
{
    void *bytes = NULL;
    pthread_mutex_lock(&packs->lock);
    if (!packs->known) {
        look(packs, log);
        packs->known = 1;
    }
    pthread_mutex_unlock(&packs->lock);
    /* From here on they stay as they are. */
    for (size_t i = 0; i < packs->count && bytes == NULL; i++) {
        bytes = tly_pack_read(&packs->pack[i], hash, count);
    }
    return bytes;
}

const char *tly_packs_refused(tly_packs *packs)
{
    pthread_mutex_lock(&packs->lock);
    const char *refused = packs->known ? packs->refused : "";
    pthread_mutex_unlock(&packs->lock);
    return refused;
}

int tly_packs_any(tly_packs *packs)
{
    pthread_mutex_lock(&packs->lock);
    const int any = packs->count > 0;
    pthread_mutex_unlock(&packs->lock);
    return any;
}
