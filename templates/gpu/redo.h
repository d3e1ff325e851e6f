/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a tile that is done again share: whose turn it is, and what has come of the
 * turns. */
#ifndef TLY_GPU_REDO_H
#define TLY_GPU_REDO_H

#include "gpu.h"

typedef struct tly_redo {
    tly_team *team;
    const tly_gpu_extent *extent; /* of the tile */
    tly_tile *tile;               /* elements and local results */
    kir_value carry;
    kir_value distance;
    kir_value fits, settled; /* i1, of the scan: by its own extremes; from the start */
    unsigned per, all;       /* turns of a lane group in a segment; of the tile */
    kir_value begin, own;    /* in the first segment the lane group's first turn, this lane's */
    kir_value first;         /* the first turn that does not take the local results */
    kir_value begun; /* of one that rereads, the prefix before it, in the lane group that has it */
    /* As far as the walk through turns has come, and at last: */
    kir_value goes_on; /* i1: turns are left, and the prefix is not settled */
    kir_value stop;    /* the first turn that has not been taken; from there on classes decide */
    kir_value prefix;  /* before it */
    kir_value from[TLY_GPU_MOST_SEGMENTS]; /* the prefixes before this lane's turns */
} tly_redo;

/* A turn less those by which a segment's are behind the first one's: so a segment needs no turns
 * of its own in registers. May be below 0. */
static inline kir_value brought_back(tly_gpu *g, const tly_redo *r, kir_value turn, unsigned s)
{
    return sub(&g->c, turn, u32(g, s * r->per));
}

/* ---- what it shows (redo_show.c) ---- */

/* The invocation's elements of a segment, from workgroup memory where they are parked. */
const kir_value *tly_redo_elements(tly_gpu *g, const tly_redo *r, unsigned segment);
/* Of a tile that has kept its elements: what turns show that are not late, so that neither
 * elements nor local results are held while the classes are scanned; what late ones show. */
void tly_redo_show_turns(tly_gpu *g, const tly_redo *r, kir_value *shown);
void tly_redo_show_late(tly_gpu *g, const tly_redo *r, const tly_tile *rest, kir_value *shown);
/* Of one that has not, stored as soon as it is known: what turns show before the first one that
 * is walked through, those that are, and late ones. */
void tly_redo_store_early(tly_gpu *g, const tly_redo *r);
void tly_redo_store_walked(tly_gpu *g, const tly_redo *r);
void tly_redo_store_late(tly_gpu *g, const tly_redo *r, const tly_tile *rest);
/* The classes of late turns, and their prefixes. */
void tly_redo_scan_classes(tly_gpu *g, const tly_redo *r, tly_tile *rest);

#endif
