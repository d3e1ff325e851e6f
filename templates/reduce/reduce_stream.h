/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of a few outputs side by side, in scratch: rows of as many lanes as `block` steps
 * have, and the way of a chunk's elements to the states of these lanes. What becomes of the states
 * is reduce_interleaved.c's.
 */
#ifndef TLY_REDUCE_STREAM_H
#define TLY_REDUCE_STREAM_H

#include "reduce.h"

/* States of lanes side by side, a plane a part. */
typedef struct tly_states {
    kir_value p, lanes; /* address; that there is room for */
    kir_value (*neutral)(tly_reduce *r, unsigned lanes);
} tly_states;

typedef struct tly_reduce_stream {
    tly_reduce r;         /* first: what tly_reduce_form's functions are given */
    kir_value unit, wide; /* outputs; lanes: `block` times as many */
    kir_value room;       /* outputs that records have room for */
    int ragged;           /* lanes need not fill vectors */
    int drifts;           /* products also go by distances (reduce_drift_lanes.c) */
    kir_value places;     /* scratch, of tly_reduce_form */
    kir_value numbers;    /* scratch, of indices: the step, from 0, that each lane belongs to */
    tly_states running;   /* scratch, of all lanes */
    tly_states closed;    /* the same, of products that nothing leaves; ... */
    tly_states apart;     /* of chains whose elements are taken apart */
} tly_reduce_stream;

kir_value tly_stream_load(tly_reduce_stream *s, const tly_states *from, kir_value lane, unsigned n);
void tly_stream_store(tly_reduce_stream *s, const tly_states *to, kir_value lane, kir_value v);

/* Lanes [0, count), those that fill vectors and, unless `whole`, the others one by one. */
typedef void (*tly_stream_body)(tly_reduce_stream *s, kir_value lane, unsigned n, void *user);
void tly_stream_each(tly_reduce_stream *s, kir_value count, int whole, tly_stream_body body,
                     void *user);

/* The states of a span, whose input begins at `in`; of products in `closed`, by plain chains, or
 * with each element taken apart, which has the same bits where no chain leaves the range. */
void tly_stream_walk(tly_reduce_stream *s, const tly_reduce_span *span, kir_value in, int apart);
void tly_stream_number(tly_reduce_stream *s); /* fills `numbers` */

#endif
