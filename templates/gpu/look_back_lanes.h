/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of look-back along lanes share: a workgroup's tile, the spans that its invocations
 * hold, and what a lane waits for. */
#ifndef TLY_GPU_LOOK_BACK_LANES_H
#define TLY_GPU_LOOK_BACK_LANES_H

#include "look_back.h"

/* A tile: `lanes` neighbours, each in `spans` of `steps` positions. An invocation holds one span.
 * Invocations that are left over hold none, and repeat what the first of their lane does. */
typedef struct tly_lanes {
    tly_gpu *g;
    unsigned lanes, spans, steps;
    kir_value local;        /* the invocation */
    kir_value lane, span;   /* its own in the tile */
    kir_value works;        /* i1: it has a piece */
    kir_value exists;       /* i1: of a lane that exists; others read the last one's elements */
    tly_gpu_item item;      /* that lane, and the tile along it */
    tly_gpu_row at;         /* of the tile's first position */
    kir_value count;        /* positions from there to the end of the axis */
    kir_value slots, words; /* workgroup memory: a window, two u32 of each invocation, twice */
    kir_value flags;        /* one for each vote, cleared */
    kir_value found, marks; /* of each lane: what it finds while it looks */
    kir_value stage; /* elements while they are transposed; local results while a tile waits */
    unsigned turn;   /* which slots the next exchange takes */
} tly_lanes;

/* ---- memory (look_back_lanes_tile.c) ---- */

/* The invocation's elements, lifted, neutral beyond the end. */
void tly_lanes_load(tly_lanes *t, kir_value *x);
/* That at a position of its lane, from memory; neutral from the position `end` on, of 1 to
 * `count`. */
kir_value tly_lanes_element(tly_lanes *t, kir_value position, kir_value end);
/* Local results, in workgroup memory while the tile waits, if they are spilled at all. */
void tly_lanes_spill(tly_lanes *t, const kir_value *y);
void tly_lanes_reload(tly_lanes *t, kir_value *y);
/* `when`: i1, of a lane. */
void tly_lanes_store(tly_lanes *t, kir_value when, const kir_value *states);

/* ---- a lane's spans (look_back_lanes_spans.c): uniform flow ---- */

/* `before`: the totals of the spans before this one, combined. `total`: those of all spans. The
 * tree is fixed. Both are corrected by the excess (drift.c), unless that is 0. */
void tly_lanes_scan(tly_lanes *t, kir_value own, kir_value excess, kir_value *before,
                    kir_value *total);
/* The extremes of all spans, or the first alone. */
void tly_lanes_fold(tly_lanes *t, kir_value *range, unsigned count);
/* All spans get the state of the lane's first. */
kir_value tly_lanes_broadcast(tly_lanes *t, kir_value state);
/* What is found while a lane looks, by number: a window and its mark. No barrier. */
void tly_lanes_keep(tly_lanes *t, kir_value number, kir_value v, kir_value mark);
kir_value tly_lanes_kept(tly_lanes *t, kir_value number, kir_value *mark);
/* i1: it holds somewhere in the workgroup. */
typedef enum tly_vote { TLY_VOTE_TOTALS, TLY_VOTE_RESULTS, TLY_VOTES } tly_vote;
kir_value tly_lanes_any(tly_lanes *t, tly_vote vote, kir_value holds);
/* The plain loop from span to span. Returns the prefix before this one; `after`: the state after
 * all. */
kir_value tly_lanes_walk(tly_lanes *t, const kir_value *x, kir_value carry, kir_value *after);

/* ---- what a lane waits for (look_back_lanes_wait.c) ---- */

typedef struct tly_lane_look_back {
    tly_lanes *t;
    kir_value leads;                            /* i1: it speaks for its lane */
    kir_value stalls;                           /* i1 */
    kir_value total, mark;                      /* what is published of the tile */
    kir_value group, first, before, ends, open; /* as in tly_look_back */
} tly_lane_look_back;

tly_lane_look_back tly_lane_look_back_of(tly_lanes *t, kir_value total, kir_value mark);
/* The carry before the tile, for the invocation that leads; others get the neutral state. */
kir_value tly_lane_wait(tly_lane_look_back *s);
/* A carry combined with what was published after it. All invocations combine these alike. */
kir_value tly_lane_join(tly_gpu *g, kir_value carry, kir_value total);
/* Publishes the carry after the tile, which others may need where the range is checked. */
void tly_lane_publish(tly_lane_look_back *s, kir_value when, kir_value after);

#endif
