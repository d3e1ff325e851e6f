/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions: reduce.c tiles and their order, reduce_rows.c a row's tile and its state,
 * reduce_range.c what left the floating-point range, reduce_group.h short rows several at once,
 * reduce_lanes.c outputs side by side, reduce_interleaved.c and reduce_interleaved_walk.c a few of them,
 * reduce_element.c elements in and out.
 */
#ifndef TLY_REDUCE_TEMPLATE_H
#define TLY_REDUCE_TEMPLATE_H

#include "../template.h"

typedef struct tly_reduce {
    tly_build *c;
    int indexed;         /* states have an index */
    int checks_products; /* along rows, products that may leave the range: states have an exponent */
    int checks_sums;     /* along rows, sums that may: states have a part in multiples of 2^64 */
    int checks_squares; /* sums of squares whose root does not: states have one of scaled elements */
    int exact;          /* sums of integers, of whatever length */
    int is_i128;        /* along rows, such sums: states have 128 bits */
    kir_value
        stretch; /* what elements are multiplied by, where they are scaled for their squares */
} tly_reduce;

tly_reduce tly_reduce_begin(tly_build *c);

/* Elements [from, to) of steps [begin, end) of one output. */
typedef struct tly_reduce_span {
    kir_value in; /* address of element 0 of step 0 */
    kir_value begin, end, from, to;
} tly_reduce_span;

/* ---- reduce_element.c ---- */

/* `lanes` elements, side by side in memory, as accumulators: widened; or, where they are compared,
 * as integers in their order. */
kir_value tly_reduce_load(tly_reduce *r, kir_value p, int64_t offset, unsigned lanes);
/* The first `count` of `lanes`; the others are anything. */
kir_value tly_reduce_load_some(tly_reduce *r, kir_value p, kir_value count, unsigned lanes);
/* States as elements of the output, which lie at `at`; of elements as multiples of `unit`, unless
 * that is 0. */
kir_value tly_reduce_result(tly_reduce *r, const tly_place *at, kir_value state, kir_value unit);
/* The mean of a sum as (lower, upper) 64 bits, likewise. */
kir_value tly_reduce_result_of_whole(tly_reduce *r, kir_value whole);
/* Those of outputs side by side, from `lane` on; `out`: of lane 0. */
void tly_reduce_store(tly_reduce *r, kir_value out, kir_value lane, kir_value y);

/* The place of elements that are so many lanes or positions, side by side in memory (tly_step),
 * behind the address *in; `in` NULL: it is not known, as of a part of a vector. Elements of a
 * reduction have a place in the input alone. */
tly_place tly_reduce_place(const kir_value *in, kir_value position, kir_value lane);

/* Indices of `lanes` elements, the first `index`, an i64, `step` (0 or 1) from each other. */
kir_value tly_reduce_indices(tly_reduce *r, kir_value index, unsigned lanes, int step);

/* What templates for GPUs share: integers of the input as accumulators, bools as 0 and 1; and
 * results that are no floats of the output, integers or indices or f64, as integers `to` which
 * it has. */
kir_value tly_reduce_integer(tly_build *c, kir_value x);
kir_value tly_reduce_as(tly_build *c, kir_type to, kir_value y);

/* ---- reduce.c ---- */

/* Address of element 0 of a step. */
kir_value tly_reduce_step(tly_build *c, kir_value in, kir_value step);
/* All of an output. */
tly_reduce_span tly_reduce_all(tly_build *c, kir_value in);

/* How a form keeps the states of its tiles: as values, or, side by side, as addresses of them. The
 * outputs of all tiles of a task are made by tly_reduce_outputs. */
typedef struct tly_reduce_form {
    kir_value record_bytes;                            /* i64, of a tile's states */
    tly_row (*begin)(tly_reduce *r, kir_value output); /* NULL: outputs are rows' */
    kir_value (*none)(tly_reduce *r); /* what no state was combined to yet: anything */
    /* Where states of number `which` are made; NULL: they need no place. */
    kir_value (*scratch)(tly_reduce *r, kir_value which);
    kir_value (*make)(tly_reduce *r, const tly_reduce_span *s, kir_value scratch);
    kir_value (*join)(tly_reduce *r, kir_value x, kir_value y, kir_value scratch);
    kir_value (*take)(tly_reduce *r, kir_value record); /* NULL: it is the states' address */
    void (*keep)(tly_reduce *r, kir_value record, kir_value state); /* NULL: it was made there */
    void (*finish)(tly_reduce *r, const tly_row *row, kir_value state);
} tly_reduce_form;
void tly_reduce_outputs(tly_reduce *r, const tly_reduce_form *f);

/* States as chunks hand them on, with what is watched: of an output, a neutral one, and joined. */
unsigned tly_reduce_record_bytes(const tly_reduce *r);
int tly_reduce_hands_on(const tly_reduce *r); /* 1: something is watched */
kir_value tly_reduce_none(tly_reduce *r, unsigned lanes);
kir_value tly_reduce_join_records(tly_reduce *r, kir_value x, kir_value y);

/* ---- reduce_rows.c ---- */

/* What a walk over elements makes of them: states of any kind, which need not be the operator's. */
typedef struct tly_reduce_rules {
    unsigned vectors; /* states side by side */
    kir_value (*lift)(tly_reduce *r, kir_value x, const tly_place *at);
    kir_value (*combine)(tly_build *c, kir_value x, kir_value y);
    kir_value (*neutral)(tly_build *c, unsigned lanes);
    /* Unless NULL: states become others at the end of a walk, and are joined as those. */
    kir_value (*close)(tly_build *c, kir_value state);
    kir_value (*join)(tly_build *c, kir_value x, kir_value y);
    unsigned loads; /* unless 0: of one state, vectors of elements that are loaded together, and */
    /* taken at once, */
    kir_value (*take)(tly_build *c, kir_value state, const kir_value *x, const tly_place *at,
                      unsigned n);
    int searches; /* or looked at for one that decides (tly_operator) */
} tly_reduce_rules;

kir_value tly_reduce_neutral(tly_build *c, unsigned lanes); /* the operator's */
/* The operator's own, or, of watched products, those of short chains. */
tly_reduce_rules tly_reduce_rules_of(const tly_reduce *r);
/* Integers that number the lanes of states. */
kir_type tly_reduce_numbers(const tly_build *c);
/* i1s: lanes below `count`; vectors are loaded in part only where tly_is_masked (limits.h). */
kir_value tly_reduce_mask(tly_reduce *r, kir_value count);
/* The lower or the upper halves of each of `parts` parts of x and, unless that is x, of y. */
kir_value tly_reduce_halves(tly_build *c, kir_value x, kir_value y, unsigned parts, int upper);
/* The states of a span: `vectors`, and behind them one of scalars where vectors are not loaded
 * in part. Returns how many. */
enum { TLY_REDUCE_MOST_STATES = TLY_REDUCE_MOST_UNROLL + 1 };
unsigned tly_reduce_states(tly_reduce *r, const tly_reduce_rules *rules, const tly_reduce_span *s,
                           kir_value *state);
/* They are closed, and joined in a fixed tree. Overwrites `state`. */
kir_value tly_reduce_fold(tly_reduce *r, const tly_reduce_rules *rules, kir_value *state);
/* The state of a span: both. */
kir_value tly_reduce_walk(tly_reduce *r, const tly_reduce_rules *rules, const tly_reduce_span *s);
kir_value tly_reduce_of_span(tly_reduce *r, const tly_reduce_span *s);

/* ---- reduce_group.c ---- */

/* Rows [begin, end), several at once; `alone` does one by itself, whose state is there where the i1
 * `made` says so; 0: none is. */
typedef void (*tly_reduce_one_row)(tly_reduce *r, kir_value row, kir_value made, kir_value state);
void tly_reduce_group(tly_reduce *r, kir_value begin, kir_value end, tly_reduce_one_row alone);

/* What short rows of several steps are, together or by themselves: spans of steps, no longer
 * than the longest row, or chain, that are made and joined; these in groups, as tiles are
 * (reduce.c), so that long sums are no long chains. */
typedef struct tly_reduce_spans {
    kir_value (*make)(tly_reduce *r, void *of, kir_value from, kir_value to);
    kir_value (*join)(tly_build *c, kir_value x, kir_value y);
    void *of;
} tly_reduce_spans;
kir_value tly_reduce_by_spans(tly_reduce *r, const tly_reduce_spans *f, kir_value none);

/* ---- reduce_range.c, reduce_products.c, reduce_sums.c, reduce_squares.c, reduce_whole.c ---- */

tly_reduce_rules tly_reduce_chains(unsigned vectors); /* rules of short chains of products */
/* States as results', in their lanes; *bad: i1s, those that may be wrong, or 0: none can be;
 * *made: i1, all states are right, and what may be wrong is beyond the range, or 0: nothing is
 * known of them. Flags were cleared before watched products. */
kir_value tly_reduce_check(tly_reduce *r, kir_value state, kir_value *bad, kir_value *made);

/* An output's state as chunks hand it on, as an element of the output: a product's mantissa and
 * exponent, and a sum's parts, become one. `apart`: bytes from one element of a step to the next.
 * But for products states may have lanes. */
kir_value tly_reduce_finish(tly_reduce *r, const tly_reduce_span *all, const tly_place *at,
                            kir_value stride, kir_value state);
/* ---- reduce_drift.c, reduce_drift_lanes.c: many factors next to 1 ---- */

int tly_reduce_may_drift(const tly_reduce *r);
/* i1: an output has so many elements that rounding errors add up; fewer would pay too much. */
kir_value tly_reduce_drift_pays(tly_build *c);
/* Of outputs side by side. A chain of nothing; with one more element, which is taken `apart` or
 * not; and closed chains, of which there are none; with one more; joined; as (mantissa,
 * exponent). Chains whose elements are taken apart begin as closed ones do. */
kir_value tly_reduce_lanes_chain(tly_reduce *r, unsigned lanes);
kir_value tly_reduce_lanes_take(tly_build *c, kir_value chain, kir_value x, int split);
kir_value tly_reduce_lanes_none(tly_reduce *r, unsigned lanes);
kir_value tly_reduce_lanes_close(tly_build *c, kir_value all, kir_value chain, int split);
kir_value tly_reduce_lanes_join(tly_reduce *r, kir_value x, kir_value y);
kir_value tly_reduce_lanes_product(tly_build *c, kir_value all);

/* Products of a span as (mantissa, exponent). */
kir_value tly_reduce_product(tly_reduce *r, const tly_reduce_span *s);
kir_value tly_reduce_join(tly_build *c, kir_value x, kir_value y);
kir_value tly_reduce_one(tly_build *c, unsigned lanes);
/* Sums of a span, `state` as it was added, as (sum, what is beside it in multiples of 2^64); where
 * elements are not finite these are the sum. */
kir_value tly_reduce_parts(tly_reduce *r, const tly_reduce_span *s, kir_value state);
kir_value tly_reduce_join_parts(tly_build *c, kir_value x, kir_value y);
/* i1: a sum that was just made is `lost`, infinite or NaN, and not by its elements alone: something
 * overflowed in this thread. Flags are read alone, and by no kernel whose sums are finite, so that
 * one that was set before the call costs a way in vain, and none the call. */
kir_value tly_reduce_overflowed(tly_build *c, kir_value lost);
kir_value tly_reduce_no_parts(tly_build *c, unsigned lanes);
/* An element in multiples of 2^64; one that is stretched, for its square. */
kir_value tly_reduce_lift_scaled(tly_reduce *r, kir_value x, const tly_place *at);
kir_value tly_reduce_lift_stretched(tly_reduce *r, kir_value x, const tly_place *at);
/* i1: one of these flags (KIR_OVERFLOWED, KIR_UNDERFLOWED) is among those that were `met`, an i32.
 */
kir_value tly_reduce_raised(tly_build *c, kir_value met, uint64_t flags);
/* Sums of squares of a span, `sum` as it was added, as (sum, that which is right: the same, or one
 * of scaled elements); of nothing; and of both. */
kir_value tly_reduce_squares(tly_reduce *r, const tly_reduce_span *s, kir_value sum);
kir_value tly_reduce_no_squares(tly_build *c, unsigned lanes);
kir_value tly_reduce_join_squares(tly_build *c, kir_value x, kir_value y);
/* i1s: sums of squares that may be wrong, NaNs among them, whose elements decide alone. */
kir_value tly_reduce_suspects(tly_build *c, kir_value sum);
/* i1s: those that are to be made once more. A sum of 0 is one only if something underflowed, an
 * infinite one if something overflowed (i1s). */
kir_value tly_reduce_strays(tly_build *c, kir_value sum, kir_value underflowed,
                            kir_value overflowed);
kir_value tly_reduce_is_plus(tly_build *c, kir_value sum); /* i1s: no -0 */
/* What elements are multiplied by then, and the other way round what they are multiples of. */
kir_value tly_reduce_stretch(tly_build *c, kir_value sum);
kir_value tly_reduce_unit(tly_build *c, kir_value sum);

/* Sums of integers as (lower, upper) 64 bits: of a span; of one output's elements, one by one; of
 * nothing; and of both. */
kir_value tly_reduce_whole(tly_reduce *r, const tly_reduce_span *s);
kir_value tly_reduce_whole_serial(tly_reduce *r, const tly_reduce_span *all, kir_value stride);
kir_value tly_reduce_no_whole(tly_build *c, unsigned lanes);
kir_value tly_reduce_join_whole(tly_build *c, kir_value x, kir_value y);
/* i1: so many elements make an output that states with lanes may have lost some of it. */
kir_value tly_reduce_is_beyond(tly_reduce *r);
kir_value tly_reduce_parts_of(tly_build *c, kir_value sums); /* of (what is not finite, the rest) */

/* ---- the same: what templates for GPUs share ---- */

kir_value tly_reduce_finite(tly_build *c, kir_value v); /* i1s */
/* i1s: infinite as elements of the output, in which accumulators may be finite. */
kir_value tly_reduce_endless(tly_build *c, kir_value v);
/* In multiples of 2^64, which add up without overflow; and back. */
kir_value tly_reduce_small(tly_build *c, kir_value x);
kir_value tly_reduce_large(tly_build *c, kir_value x);
/* x as (what is not finite, the rest in multiples of 2^64); sums of tuples, part by part. */
kir_value tly_reduce_scaled(tly_build *c, kir_value x);
kir_value tly_reduce_add(tly_build *c, kir_value x, kir_value y);
/* x as (mantissa, exponent); and m * 2^e, in two exact powers, of which the second rounds. */
kir_value tly_reduce_split(tly_build *c, kir_value x);
kir_value tly_reduce_product_of(tly_build *c, kir_value state);

#endif
