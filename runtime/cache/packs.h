/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packs of a context: those that TALLY_PACK names, else those that were installed beside
 * libtally. Opened when a kernel is first looked for; what is not there or not trusted is passed
 * over.
 */
#ifndef TLY_PACKS_H
#define TLY_PACKS_H

#include "../host/log.h"
#include "pack.h"

#include <pthread.h>

enum { TLY_MOST_PACKS = 8, TLY_REFUSED_BYTES = 100 };

typedef struct tly_packs {
    pthread_mutex_t lock;
    int known; /* they have been looked for */
    size_t count;
    tly_pack pack[TLY_MOST_PACKS];
    char refused[TLY_REFUSED_BYTES]; /* the first that is there and not used, and why; "": none */
} tly_packs;

void tly_packs_init(tly_packs *packs);
void tly_packs_end(tly_packs *packs);

/* The bytes of the first entry with this hash, from malloc, or NULL. The log is told, once, of each
 * pack that is named and not used. Thread-safe. */
void *tly_packs_read(tly_packs *packs, const tly_log *log, uint64_t hash, size_t *count);

/* Whether there are any, once they have been looked for. Thread-safe. */
int tly_packs_any(tly_packs *packs);

/* Then: which one is there and not used, and why, cut to what a hint holds; "" if there is none. It
 * stays as it is. Thread-safe. */
const char *tly_packs_refused(tly_packs *packs);

#endif
