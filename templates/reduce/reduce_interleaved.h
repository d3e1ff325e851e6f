/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of a few outputs side by side, in scratch: rows of as many lanes as `block` steps
 * have, and the way of a chunk's elements to the states of these lanes. What becomes of the states
 * is reduce_interleaved.c's.
 */
#ifndef TLY_REDUCE_INTERLEAVED_H
#define TLY_REDUCE_INTERLEAVED_H

#include "reduce.h"

/* States of lanes side by side, a plane a part. */
typedef struct tly_interleaved_states {
    kir_value p, lanes; /* address; that there is room for */
    kir_value (*neutral)(tly_reduce *r, unsigned lanes);
} tly_interleaved_states;

typedef struct tly_interleaved {
    tly_reduce r;             /* first: what tly_reduce_form's functions are given */
    kir_value outputs, lanes; /* outputs; lanes: `block` times as many */
    kir_value room;           /* outputs that records have room for */
    int ragged;               /* lanes need not fill vectors */
    int drifts;               /* products also go by distances (reduce_drift_lanes.c) */
    kir_value scratch;        /* scratch, of tly_reduce_form */
    kir_value steps;          /* scratch, of indices: the step, from 0, that each lane belongs to */
    tly_interleaved_states running; /* scratch, of all lanes */
    tly_interleaved_states closed;  /* the same, of products that nothing leaves; ... */
    tly_interleaved_states split;   /* of chains whose elements are taken apart */
} tly_interleaved;

kir_value tly_interleaved_load(tly_interleaved *s, const tly_interleaved_states *from,
                               kir_value lane, unsigned n);
void tly_interleaved_store(tly_interleaved *s, const tly_interleaved_states *to, kir_value lane,
                           kir_value v);

/* Lanes [0, count), those that fill vectors and, unless `whole`, the others one by one. */
typedef void (*tly_interleaved_body)(tly_interleaved *s, kir_value lane, unsigned n, void *user);
void tly_interleaved_each(tly_interleaved *s, kir_value count, int whole, tly_interleaved_body body,
                          void *user);

/* The states of a span, whose input begins at `in`; of products in `closed`, by plain chains, or
 * with each element taken apart, which has the same bits where no chain leaves the range. */
void tly_interleaved_walk(tly_interleaved *s, const tly_reduce_span *span, kir_value in, int split);
void tly_interleaved_number(tly_interleaved *s); /* fills `numbers` */

#endif
