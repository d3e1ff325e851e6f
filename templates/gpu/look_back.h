/* SPDX-License-Identifier: Apache-2.0 */
/* Decoupled look-back: what tiles publish for each other in records, and how they wait for it. */
#ifndef TLY_GPU_LOOK_BACK_H
#define TLY_GPU_LOOK_BACK_H

#include "gpu.h"

/* The fields of a record. Record k belongs to tile k and to group k. There are fewer groups than
 * tiles, and neighbouring groups have neighbouring records, as they are read side by side. Totals
 * are windows, carries and bases are states. */
enum { TLY_TOTAL, TLY_CARRY, TLY_GROUP_TOTAL, TLY_GROUP_BASE, TLY_FIELDS };

/* A mark of classes has the upper bits of the distance in its own upper bits. */
enum { TLY_MARK_BITS = 2, TLY_MARK_VALUE = 1, TLY_MARK_CLASSES = 3, TLY_UPPER_BITS = 14 };

kir_value tly_record_at(tly_gpu *g, kir_value number, kir_value field);
unsigned tly_record_words(const tly_gpu *g);
/* One invocation publishes a field once. Its u32 lie `apart` bytes from each other; 0: side by
 * side. */
void tly_record_publish(tly_gpu *g, kir_value at, kir_value apart, kir_value v, kir_value mark);
/* A state or a window, of the parts of `like`, and its mark: 0 unless all of it was there. */
kir_value tly_record_look(tly_gpu *g, kir_value like, kir_value at, kir_value apart,
                          kir_value *mark);

/* ---- tiles of either template (look_back.c) ---- */

/* The workgroup's tile: a ticket that one invocation draws. A barrier. */
kir_value tly_look_draw(tly_gpu *g);
kir_value tly_look_stalls(tly_gpu *g, kir_value tile); /* i1 */
/* What of a distance fits in a mark, and a mark of classes with that. */
kir_value tly_look_upper(tly_gpu *g, kir_value distance);
kir_value tly_look_mark_classes(tly_gpu *g, kir_value upper);

/* ---- a tile and its group (look_back_groups.c) ---- */

typedef struct tly_look_back {
    tly_gpu *g;
    tly_group *team;
    const tly_gpu_item *item;
    const tly_gpu_row *at;   /* of the tile's first position */
    kir_value count;         /* positions from there on */
    kir_value leads, stalls; /* i1 */
    kir_value total, mark;   /* what is published of the tile */
    kir_value group, first;  /* its group, and the first tile of that */
    kir_value before;        /* tiles of the group before it */
    kir_value ends;          /* i1: it is the last of its group */
    kir_value open;          /* i1: it has yet to publish the next group's base */
    kir_value totals, marks; /* of the group's tile of each lane, up to this one */
    kir_value sums;          /* of totals from the group's first to the lane's */
    kir_value sound;         /* a u32, 0 or 1: that sum may be combined with bases */
    kir_value base;          /* of its group */
} tly_look_back;

/* Opens a loop that looks again as long as something is missing: the region's first variable, an
 * i1. */
static inline void tly_look_while(tly_gpu *g, tly_region *r)
{
    emit_for_while(&g->c, r, u32(g, 0), u32(g, INT32_MAX), u32(g, 1));
}

/* The address of a field of the row's k-th record. */
kir_value tly_look_at(const tly_look_back *s, kir_value k, kir_value field);
/* i1: a published total or class of this mark may be combined with a carry, whoever does it;
 * `group`: a group's with its base. */
kir_value tly_look_combines(tly_gpu *g, kir_value carry, kir_value total, kir_value mark,
                            int group);

/* Waits for the totals of the tiles before it in the group, and sums them. */
void tly_look_for_totals(tly_look_back *s);
/* The sum of the group's tiles up to this one, which is its `number`-th, and whether (i1) bases
 * may be combined with it. */
kir_value tly_look_sum(const tly_look_back *s, kir_value number, kir_value *sound);
/* Classes, and of the largest distance what fits in a mark, go on with what a tile has published
 * (look_back_groups.c). */
void tly_look_add_classes(tly_gpu *g, kir_value *classes, kir_value total, kir_value mark);
/* What the group's last tile publishes: the sum, or where that is no use, the classes of all. */
kir_value tly_look_summarise(const tly_look_back *s, kir_value sum, kir_value sound,
                             kir_value *mark);
/* Waits for the base. */
void tly_look_for_base(tly_look_back *s);
/* Waits for the carry where sum and base do not make it. */
kir_value tly_look_for_carry(const tly_look_back *s);

#endif
