/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of a few outputs side by side. Several steps (plan->steps_at_once) make one row of
 * lanes, each with a state in scratch. reduce_interleaved_walk.c takes a chunk's elements to the
 * states of these lanes, reduce_interleaved.c the states to results.
 */
#ifndef TLY_REDUCE_INTERLEAVED_H
#define TLY_REDUCE_INTERLEAVED_H

#include "reduce.h"

/* States of lanes side by side in scratch. Each part of the states is a plane. */
typedef struct tly_interleaved_states {
    kir_value p, lanes; /* address; lanes that a plane has room for */
    kir_value (*neutral)(tly_reduce *r, unsigned lanes);
} tly_interleaved_states;

typedef struct tly_interleaved {
    tly_reduce r;                   /* first: functions of tly_reduce_form are given its address */
    kir_value outputs, lanes;       /* lanes: steps_at_once times as many */
    kir_value room;                 /* outputs that a record has room for */
    int ragged;                     /* lanes need not fill vectors */
    int drifts;                     /* a chain has a distance from 1, too (reduce_drift_lanes.c) */
    kir_value scratch;              /* three records */
    kir_value steps;                /* where states have indices: the step, from 0, of each lane */
    tly_interleaved_states running; /* the states of all lanes; of products, those of a chain */
    tly_interleaved_states closed;  /* products of all chains so far, which stay in range */
    tly_interleaved_states split;   /* chains whose elements are split */
} tly_interleaved;

kir_value tly_interleaved_load(tly_interleaved *s, const tly_interleaved_states *from,
                               kir_value lane, unsigned n);
void tly_interleaved_store(tly_interleaved *s, const tly_interleaved_states *to, kir_value lane,
                           kir_value v);

/* Lanes [0, count) by vectors. If `whole`, the last vector may pass the end; otherwise the lanes
 * that fill no vector go one by one. */
typedef void (*tly_interleaved_body)(tly_interleaved *s, kir_value lane, unsigned n, void *user);
void tly_interleaved_each(tly_interleaved *s, kir_value count, int whole, tly_interleaved_body body,
                          void *user);

/* Makes the states of a span whose input begins at `in`. Products go to `closed`, by plain
 * chains or, if `split`, with each element split into mantissa and exponent. Both have the same
 * bits where no chain leaves the range. */
void tly_interleaved_walk(tly_interleaved *s, const tly_reduce_span *span, tly_row in, int split);
void tly_interleaved_number(tly_interleaved *s); /* fills `steps` */

#endif
