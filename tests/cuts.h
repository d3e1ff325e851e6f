/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of segments: the ways in which an axis is cut that tests of segments share. */
#ifndef TLY_CUTS_H
#define TLY_CUTS_H

#include <stdint.h>

enum { TLY_MOST_CUTS = 4096, TLY_CUTS = 7 };

typedef struct tly_cut {
    int64_t count, at[TLY_MOST_CUTS + 1]; /* segments, and their offsets */
} tly_cut;

/* Fills a cut of zeros. */
typedef struct tly_cutting {
    const char *name;
    void (*make)(tly_cut *c, int64_t length);
} tly_cutting;

extern const tly_cutting tly_cuts[TLY_CUTS];

#endif
