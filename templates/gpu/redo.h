/* SPDX-License-Identifier: Apache-2.0 */
/* A tile that is done again: the turns of its lanes and their results (redo.c, redo_show.c). */
#ifndef TLY_GPU_REDO_H
#define TLY_GPU_REDO_H

#include "gpu.h"

typedef struct tly_redo {
    tly_group *team;
    const tly_gpu_extent *extent; /* of the tile */
    tly_tile *tile;               /* elements and local results */
    kir_value carry;
    kir_value distance;
    kir_value fits, settled; /* i1: the scan's local results fit; its carry is settled */
    unsigned per, all;       /* turns of a cluster in a segment; of the tile */
    kir_value begin, own;    /* in the first segment the cluster's first turn, this lane's */
    kir_value first;         /* the first turn that does not take the local results */
    kir_value begun;         /* rereads: the prefix before it, in the cluster that has it */
    /* As far as the walk through turns has come, and at last: */
    kir_value goes_on; /* i1: turns are left, and the prefix is not settled */
    kir_value stop;    /* the first turn that has not been taken; from there on classes decide */
    kir_value prefix;  /* before it */
    kir_value from[TLY_GPU_MOST_SEGMENTS]; /* the prefixes before this lane's turns */
} tly_redo;

/* A turn of the s-th segment as one of the first segment, so that segments need no registers of
 * their own for turns. It may be negative. */
static inline kir_value brought_back(tly_gpu *g, const tly_redo *r, kir_value turn, unsigned s)
{
    return sub(&g->c, turn, u32(g, s * r->per));
}

/* ---- what it shows (redo_show.c) ---- */

/* The invocation's elements of a segment, from workgroup memory where they are spilled. */
const kir_value *tly_redo_elements(tly_gpu *g, const tly_redo *r, unsigned segment);
/* A tile that has kept its elements: the results of turns that are not late, before the classes are
 * scanned, so that the scan holds neither elements nor local results; then those of late turns. */
void tly_redo_show_turns(tly_gpu *g, const tly_redo *r, kir_value *shown);
void tly_redo_show_late(tly_gpu *g, const tly_redo *r, const tly_tile *rest, kir_value *shown);
/* A tile that has not: stores the results of the turns before the walk, of the walk, and of the
 * turns behind it (late), each as soon as they are known. */
void tly_redo_store_early(tly_gpu *g, const tly_redo *r);
void tly_redo_store_walked(tly_gpu *g, const tly_redo *r);
void tly_redo_store_late(tly_gpu *g, const tly_redo *r, const tly_tile *rest);
/* The classes of late turns, and their prefixes. */
void tly_redo_scan_classes(tly_gpu *g, const tly_redo *r, tly_tile *rest);

#endif
