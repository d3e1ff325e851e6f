/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions on GPUs: reduce.c the kernels, reduce_span.c which elements an item takes and where
 * they lie, reduce_walk.c their state, reduce_range.c what left the floating-point range,
 * reduce_element.c elements in and out.
 */
#ifndef TLY_GPU_REDUCE_H
#define TLY_GPU_REDUCE_H

#include "../reduce/reduce.h"
#include "gpu.h"

typedef struct tly_gpu_reduce {
    tly_gpu *g;
    /* How the order of these states may leave the range where the loop's does not. */
    tly_range_check watch;
    int is_free; /* states may be combined in any order */
    int whole;   /* sums of integers of whatever length: records have 128 bits */
    /* What elements of each of the outputs side by side are multiplied by, where they are scaled
     * for their squares; and the output whose elements are being taken. */
    kir_value stretch[TLY_GPU_MOST_ELEMENTS];
    unsigned output;
    int indexed;   /* states have an index */
    unsigned rank; /* dims that steps are counted through */
    kir_value steps, length, chunk_length, chunk_steps, each, last; /* words */
    kir_value
        size[TALLY_MAX_RANK]; /* of these dims, words; their offsets in tensors that are read */
    kir_value stride[TLY_TENSOR_COUNT][TALLY_MAX_RANK];
} tly_gpu_reduce;

/* ---- reduce_span.c ---- */

/* What the block tells; `watched`: an output is more than one invocation's. */
tly_gpu_reduce tly_gpu_reduce_begin(tly_gpu *g, int watched);

/* Elements [from, from + part) of `steps` steps from `step` on, all words; the row's input is at
 * element 0 of step 0. Without dims of steps, it is that of the first element, and `from` is 0.
 * Of outputs side by side, the first's. */
typedef struct tly_gpu_span {
    tly_gpu_row row;
    kir_value step, steps, from, part;
    kir_value index; /* of the first element, where states have one: of tly_index_dtype */
} tly_gpu_span;
tly_gpu_span tly_gpu_span_all(tly_gpu_reduce *r, const tly_gpu_row *row);
tly_gpu_span tly_gpu_span_chunk(tly_gpu_reduce *r, const tly_gpu_row *row, kir_value chunk);
/* A word as an index. */
kir_value tly_gpu_reduce_index(tly_gpu_reduce *r, kir_value word);
/* Address of an element of a step in a tensor that is read. */
kir_value tly_gpu_span_at(tly_gpu_reduce *r, const tly_gpu_span *s, int tensor, kir_value step,
                          kir_value position);
/* That of another of the outputs side by side; `output`: a word. */
tly_gpu_span tly_gpu_span_of(tly_gpu_reduce *r, const tly_gpu_span *s, kir_value output);

/* ---- reduce_segments.c ---- */

/* A part of a segment, or all of it. Words, and i1s. */
typedef struct tly_gpu_piece {
    kir_value segment, segment_count; /* its number, and its elements */
    kir_value from, count;            /* the piece's first position, and its elements */
    kir_value exists, is_whole;
    kir_value record; /* of a piece that is not whole: its number among a row's */
} tly_gpu_piece;
static inline int tly_gpu_has_pieces(const tly_gpu *g)
{
    return g->c.p->segmented != TLY_SEGMENTED_NOT;
}
tly_gpu_piece tly_gpu_segment_alone(tly_gpu_reduce *r, kir_value segment);
tly_gpu_piece tly_gpu_piece_of(tly_gpu_reduce *r, kir_value number);
/* All of the segment that is cut first where a cell begins, if there is one. */
tly_gpu_piece tly_gpu_segment_cut_at(tly_gpu_reduce *r, kir_value cell);
/* The records of a segment: `first`, then all others, two apart: next + 2, next + 4, ...; so many
 * in all, or none if the segment is one piece. */
typedef struct tly_gpu_records {
    kir_value first, next, count;
} tly_gpu_records;
tly_gpu_records tly_gpu_records_of(tly_gpu_reduce *r, const tly_gpu_piece *segment);
/* A piece as a span, whose row is at its first element and at its segment's result. From then on
 * counts are those of the segment. */
tly_gpu_span tly_gpu_span_of_piece(tly_gpu_reduce *r, const tly_gpu_row *row,
                                   const tly_gpu_piece *piece);

/* ---- reduce_element.c ---- */

/* `count` neighbours as they are stored, narrow ones as words. By aligned accesses that take
 * several, or one by one. */
void tly_gpu_reduce_fetch(tly_gpu_reduce *r, kir_value p, int64_t offset, kir_value *x,
                          unsigned count, int by_vectors);
/* One, mapped, as an accumulator; where they are compared, as an integer in their order. */
kir_value tly_gpu_reduce_accumulator(tly_gpu_reduce *r, const tly_place *at, kir_value stored);
/* Stores a result, or what there is for no elements, where it belongs. */
void tly_gpu_reduce_store(tly_gpu_reduce *r, const tly_place *at, kir_value y);

/* ---- reduce_walk.c ---- */

/* States of any kind: the operator's, or those of the range. */
typedef struct tly_gpu_rules {
    kir_value (*lift)(tly_gpu_reduce *r, const tly_place *at, kir_value x);
    kir_value (*combine)(tly_build *c, kir_value x, kir_value y);
    kir_value (*neutral)(tly_build *c);
    /* Several elements at once, in whatever order; NULL: one after the other. */
    kir_value (*take)(tly_gpu_reduce *r, kir_value state, const kir_value *x,
                      const kir_value *index, unsigned n);
    int is_rare; /* such walks are seldom needed: short code counts more than speed */
} tly_gpu_rules;

/* The states of a span, one for each output that an item makes: by one invocation in its order, or
 * by a group, of which each has its own. */
void tly_gpu_reduce_serial(tly_gpu_reduce *r, const tly_gpu_rules *rules, const tly_gpu_span *s,
                           kir_value *state);
void tly_gpu_reduce_spread(tly_gpu_reduce *r, const tly_gpu_rules *rules, const tly_gpu_span *s,
                           const tly_group *t, kir_value *state);
/* The group's states as one, in a fixed tree. */
kir_value tly_gpu_reduce_fold(tly_gpu_reduce *r, tly_group *t, const tly_gpu_rules *rules,
                              kir_value state);
/* Invocations of a group, and this one's number among them. */
unsigned tly_gpu_group_size(const tly_group *t);
kir_value tly_gpu_group_member(tly_gpu_reduce *r, const tly_group *t);

/* ---- reduce_range.c ---- */

/* A span's states as records have them, of one invocation (t: NULL) or a group. */
void tly_gpu_reduce_span(tly_gpu_reduce *r, const tly_gpu_span *s, tly_group *t, kir_value *state);
/* What such states are combined by, and bytes of one. */
const tly_gpu_rules *tly_gpu_reduce_records(const tly_gpu_reduce *r);
unsigned tly_gpu_reduce_record_bytes(const tly_gpu *g);
/* Such a state as a result, before it goes through `post`. `all`: what it is of; `at`: where the
 * result goes. */
kir_value tly_gpu_reduce_result(tly_gpu_reduce *r, const tly_gpu_span *all, const tly_place *at,
                                kir_value state);

#endif
