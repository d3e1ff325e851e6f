/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the templates of reductions share: spans of an output's elements, states, and the rules by
 * which elements become states and states results. README.md says which file does what.
 */
#ifndef TLY_REDUCE_TEMPLATE_H
#define TLY_REDUCE_TEMPLATE_H

#include "../template.h"

/* A kernel that is being built. The operator and the order decide which of these hold. */
typedef struct tly_reduce {
    tly_build *c;
    int indexed; /* a state has an index */
    /* Partial results may leave the range of floats where the result does not. A state that chunks
     * hand on then has a second part: */
    int checks_products; /* an exponent, beside the mantissa */
    int checks_sums;     /* a sum in multiples of 2^64 */
    int checks_squares;  /* the sum of the squares of scaled elements */
    int exact;           /* sums of integers, exact whatever their length */
    int is_i128;         /* along rows, exact sums are handed on as 128 bits */
    kir_value stretch;   /* scaled squares: the power of two that elements are multiplied by */
} tly_reduce;

tly_reduce tly_reduce_begin(tly_build *c);

/* Elements [from, to) of each of the steps [begin, end) of one output. */
typedef struct tly_reduce_span {
    tly_row at; /* element 0 of step 0, in the tensors that are read */
    kir_value begin, end, from, to;
} tly_reduce_span;

/* ---- reduce_element.c ---- */

/* Elements as they lie in memory, at the place `at`, as accumulators: mapped and widened, or, where
 * elements are compared, as integers that order as they do. */
kir_value tly_reduce_loaded(tly_reduce *r, const tly_place *at, kir_value x);
/* The same, and loads them: `lanes` elements a step apart, from p + offset on. */
kir_value tly_reduce_load(tly_reduce *r, const tly_place *at, kir_value p, int64_t offset,
                          unsigned lanes);
/* The same, but reads only the first `count` elements. The other lanes are anything. */
kir_value tly_reduce_load_some(tly_reduce *r, const tly_place *at, kir_value p, kir_value count,
                               unsigned lanes);
/* Sums of what no expression maps: the same, and the other lanes add nothing. */
int tly_reduce_pads(const tly_reduce *r);
kir_value tly_reduce_load_padded(tly_reduce *r, kir_value p, kir_value count, unsigned lanes);
/* The states' results as elements of the output, where they belong to the place `at`. If `unit` is
 * not 0, the states are in multiples of it. */
kir_value tly_reduce_result(tly_reduce *r, const tly_place *at, kir_value state, kir_value unit);
/* The result of a mean whose sum is given as (lower, upper) 64 bits. */
kir_value tly_reduce_result_of_whole(tly_reduce *r, const tly_place *at, kir_value whole);
/* Stores results of outputs side by side, from `lane` on. `out`: address of lane 0. */
void tly_reduce_store(tly_reduce *r, kir_value out, kir_value lane, kir_value y);

/* The place of elements that lie so many positions or lanes (tly_step) behind *at, in the tensors
 * that are read. If `at` is NULL, the place is not known. */
tly_place tly_reduce_place(const tly_row *at, kir_value position, kir_value lane);

/* The indices of `lanes` elements: i64 `index` that of the first, `step` (0 or 1) from each to the
 * next. */
kir_value tly_reduce_indices(tly_reduce *r, kir_value index, unsigned lanes, int step);

/* Templates for GPUs use these, too. Integers of the input as accumulators; a bool is 0 or 1. */
kir_value tly_reduce_integer(tly_build *c, kir_value x);
/* Results that are not floats of the output as integers of type `to`: integers, indices, or f64
 * that the integer type holds. */
kir_value tly_reduce_as(tly_build *c, kir_type to, kir_value y);

/* ---- reduce.c ---- */

/* The elements of a step, and all that an output has. Of segments, those of the one whose output
 * tly_reduce_row began. */
kir_value tly_reduce_length(tly_build *c);
kir_value tly_reduce_count(tly_build *c);
/* The index of a step's first element. */
kir_value tly_reduce_index(tly_build *c, kir_value step);
/* Element 0 of a row, or of a segment of a row, by the number of its output. */
tly_row tly_reduce_row(tly_build *c, kir_value number);
/* The latter by the number of the segment. */
tly_row tly_reduce_begin_segment(tly_build *c, const tly_row *row, kir_value segment);
/* From the state of all elements of a row to the output. */
void tly_reduce_finish_row(tly_reduce *r, const tly_row *row, kir_value state);
/* Chunks [low, high) of the segment that was begun, as the task's mode says. */
void tly_reduce_chunks(tly_reduce *r, const tly_row *row, kir_value low, kir_value high);
/* Element 0 of a step, in the tensors that are read. `at`: that of step 0. */
tly_row tly_reduce_step(tly_build *c, const tly_row *at, kir_value step);
/* All elements of an output. */
tly_reduce_span tly_reduce_all(tly_build *c, const tly_row *at);

/* How a template keeps the states of a tile: as values, or, for outputs side by side, as the
 * address of states in memory. Functions may be NULL where the comment says so. */
typedef struct tly_reduce_form {
    kir_value record_bytes; /* i64: bytes of a tile's states */
    /* Addresses of an output, or of the first of several. NULL: tly_reduce_row. */
    tly_row (*begin)(tly_reduce *r, kir_value output);
    /* A state that is never read, where none exists yet. */
    kir_value (*none)(tly_reduce *r);
    /* Scratch for the states of number `which`, from 0 to 2. NULL: states are values. */
    kir_value (*scratch)(tly_reduce *r, kir_value which);
    kir_value (*make)(tly_reduce *r, const tly_reduce_span *s, kir_value scratch);
    kir_value (*join)(tly_reduce *r, kir_value x, kir_value y, kir_value scratch);
    /* Loads states from a record. NULL: states are addresses, and the record is one. */
    kir_value (*take)(tly_reduce *r, kir_value record);
    /* Stores them there. NULL: they were made there. */
    void (*keep)(tly_reduce *r, kir_value record, kir_value state);
    void (*finish)(tly_reduce *r, const tly_row *row, kir_value state);
} tly_reduce_form;
/* Makes the outputs of all tiles of a task. */
void tly_reduce_outputs(tly_reduce *r, const tly_reduce_form *f);

/* States as chunks hand them on: the operator's, or those of what is checked. */
unsigned tly_reduce_record_bytes(const tly_reduce *r);
int tly_reduce_hands_on(const tly_reduce *r); /* 1: something is checked */
kir_value tly_reduce_none(tly_reduce *r, unsigned lanes);
kir_value tly_reduce_join_records(tly_reduce *r, kir_value x, kir_value y);

/* ---- reduce_lanes.c, reduce_slices.c ---- */

/* i1s: sums are infinite or NaN, or ones of squares may be wrong. */
kir_value tly_reduce_may_stray(tly_reduce *r, kir_value sums);
/* Makes the outputs of a task, each by the plain loop, with states in registers. Tiles with sums
 * that may stray are made by the form. */
void tly_reduce_slices(tly_reduce *r, const tly_reduce_form *f);

/* ---- reduce_rows.c ---- */

/* How a walk over elements makes states, which need not be the operator's. */
typedef struct tly_reduce_rules {
    unsigned vectors; /* vectors of states side by side */
    kir_value (*lift)(tly_reduce *r, kir_value x, const tly_place *at);
    kir_value (*combine)(tly_build *c, kir_value x, kir_value y);
    kir_value (*neutral)(tly_build *c, unsigned lanes);
    /* If not NULL: at the end of a walk states are closed, and joined as what they are then. */
    kir_value (*close)(tly_build *c, kir_value state);
    kir_value (*join)(tly_build *c, kir_value x, kir_value y);
    /* If not 0, and above `vectors`: one state takes so many vectors of elements at once. */
    unsigned loads;
    kir_value (*take)(tly_build *c, kir_value state, const kir_value *x, const tly_place *at,
                      unsigned n);
    int searches; /* those vectors are searched for the one that decides (tly_operator) */
} tly_reduce_rules;

kir_value tly_reduce_neutral(tly_build *c, unsigned lanes); /* the operator's neutral states */
/* The operator's rules; for products that are checked those of short chains. */
tly_reduce_rules tly_reduce_rules_of(const tly_reduce *r);
/* The lower or the upper half of each of `parts` parts of x and, unless y is x, of y. */
kir_value tly_reduce_halves(tly_build *c, kir_value x, kir_value y, unsigned parts, int upper);
enum { TLY_REDUCE_MOST_STATES = TLY_REDUCE_MOST_UNROLL + 1 };
/* Makes the states of a span: rules->vectors vectors, then a scalar where vectors are not loaded in
 * part. Returns how many. */
unsigned tly_reduce_states(tly_reduce *r, const tly_reduce_rules *rules, const tly_reduce_span *s,
                           kir_value *state);
/* Closes these states and joins them in a fixed tree. Overwrites `state`. */
kir_value tly_reduce_fold(tly_reduce *r, const tly_reduce_rules *rules, kir_value *state);
/* Both: the state of a span, by these rules. */
kir_value tly_reduce_walk(tly_reduce *r, const tly_reduce_rules *rules, const tly_reduce_span *s);
/* The state of a span as chunks hand it on. */
kir_value tly_reduce_of_span(tly_reduce *r, const tly_reduce_span *s);

/* ---- reduce_segments.c ---- */

/* Does the segments of a task's rows; where the plan says so, several at once if they are short. */
void tly_reduce_segments(tly_reduce *r);
/* Where several go at once: i1, a segment of so many elements has one vector of states; and its
 * rules. */
enum { TLY_REDUCE_SHORT_VECTORS = 8 };
kir_value tly_reduce_is_short(const tly_reduce *r, kir_value count);
tly_reduce_rules tly_reduce_short_rules(const tly_reduce *r);

/* ---- reduce_segments_few.c ---- */

/* Segments, as many as a vector has lanes, that have few elements together. */
enum { TLY_REDUCE_FEW_VECTORS = 4 };
int tly_reduce_has_few(const tly_build *c); /* 1: there is a way for them */
/* i1: `all` elements are few. `counts`: those of each (tly_segment_counts). */
kir_value tly_reduce_are_few(const tly_reduce *r, kir_value all, kir_value counts);
/* The state of each segment from number `first` on, whose first element is at *at. */
kir_value tly_reduce_few(tly_reduce *r, const tly_row *at, kir_value first, kir_value all,
                         kir_value counts);

/* ---- reduce_group.c ---- */

/* Does one row by itself. `made`, an i1, says whether `state` is its state already; 0: it is
 * not. */
typedef void (*tly_reduce_one_row)(tly_reduce *r, kir_value row, kir_value made, kir_value state);
/* Does rows [begin, end), several at once. Those in doubt are done once more, by `alone`. */
void tly_reduce_group(tly_reduce *r, kir_value begin, kir_value end, tly_reduce_one_row alone);

/* Short rows of several steps. Spans of steps, each no longer than the longest row or chain, are
 * made and joined in groups, as tiles are (reduce.c). So a long sum is no long chain. */
typedef struct tly_reduce_spans {
    kir_value (*make)(tly_reduce *r, void *of, kir_value from, kir_value to);
    kir_value (*join)(tly_build *c, kir_value x, kir_value y);
    void *of;
} tly_reduce_spans;
kir_value tly_reduce_by_spans(tly_reduce *r, const tly_reduce_spans *f, kir_value none);

/* ---- reduce_range.c ---- */

/* The results' states of several rows, a lane each. *bad: i1s, results that may be wrong, or 0:
 * none can be. *made: i1, all states are right, and a result can only be wrong as it is beyond
 * the range; 0: nothing is known. The caller clears the flags before it makes products. */
kir_value tly_reduce_check(tly_reduce *r, kir_value state, kir_value *bad, kir_value *made);

/* From an output's state as chunks hand it on to the element of the output, which belongs to `at`.
 * `step`: bytes from one element of a step to the next. States may have lanes, except those of
 * products. */
kir_value tly_reduce_finish(tly_reduce *r, const tly_reduce_span *all, const tly_place *at,
                            tly_step_of step, kir_value state);

/* ---- reduce_products.c: products as (mantissa, exponent) ---- */

tly_reduce_rules tly_reduce_chains(unsigned vectors); /* rules of short chains */
kir_value tly_reduce_product(tly_reduce *r, const tly_reduce_span *s);
kir_value tly_reduce_join(tly_build *c, kir_value x, kir_value y);
kir_value tly_reduce_one(tly_build *c, unsigned lanes);
kir_value tly_reduce_split(tly_build *c, kir_value x); /* of an element */
/* m * 2^e, multiplied by two exact powers of two; only the second product is rounded. */
kir_value tly_reduce_product_of(tly_build *c, kir_value state);

/* ---- reduce_drift.c, reduce_drift_lanes.c: many factors next to 1 ---- */

int tly_reduce_may_drift(const tly_reduce *r);
/* i1: an output has so many elements that their rounding errors add up. The check would cost
 * outputs of fewer elements too much. */
kir_value tly_reduce_drift_pays(tly_build *c);
/* Products of outputs side by side. A chain of no elements; and with one more element, which is
 * split into mantissa and exponent or not. A chain of split elements begins as
 * tly_reduce_lanes_none. */
kir_value tly_reduce_lanes_chain(tly_reduce *r, unsigned lanes);
kir_value tly_reduce_lanes_take(tly_build *c, kir_value chain, kir_value x, int split);
/* The product of no chains; with one more chain; of both; and as (mantissa, exponent). */
kir_value tly_reduce_lanes_none(tly_reduce *r, unsigned lanes);
kir_value tly_reduce_lanes_close(tly_build *c, kir_value all, kir_value chain, int split);
kir_value tly_reduce_lanes_join(tly_reduce *r, kir_value x, kir_value y);
kir_value tly_reduce_lanes_product(tly_build *c, kir_value all);

/* ---- reduce_sums.c: sums as (sum, the rest in multiples of 2^64) ---- */

/* Of a span whose plain sum is `state`. Elements that are not finite make the sum alone. */
kir_value tly_reduce_parts(tly_reduce *r, const tly_reduce_span *s, kir_value state);
kir_value tly_reduce_join_parts(tly_build *c, kir_value x, kir_value y);
kir_value tly_reduce_no_parts(tly_build *c, unsigned lanes);
/* From (the sum of what is not finite, the rest). */
kir_value tly_reduce_parts_of(tly_build *c, kir_value sums);
/* i1: the sum that was just made is not finite (`lost`), and this thread's flags say that
 * something overflowed. Only a kernel whose sum is lost reads flags. A flag that was set before
 * the call makes it add once more, with the same result. */
kir_value tly_reduce_overflowed(tly_build *c, kir_value lost);
/* i1: one of `flags` (KIR_OVERFLOWED, KIR_UNDERFLOWED) is among those that kir_flags met. */
kir_value tly_reduce_raised(tly_build *c, kir_value met, uint64_t flags);
kir_value tly_reduce_finite(tly_build *c, kir_value v); /* i1s */
/* i1s: infinite as elements of the output, whose range may be smaller than the accumulator's. */
kir_value tly_reduce_infinite(tly_build *c, kir_value v);
/* To multiples of 2^64, whose sums do not overflow; and back. */
kir_value tly_reduce_scale_down(tly_build *c, kir_value x);
kir_value tly_reduce_scale_up(tly_build *c, kir_value x);
/* An element as (itself if it is not finite, else 0; itself in multiples of 2^64). */
kir_value tly_reduce_scaled(tly_build *c, kir_value x);
kir_value tly_reduce_lift_scaled(tly_reduce *r, kir_value x, const tly_place *at);
kir_value tly_reduce_add(tly_build *c, kir_value x, kir_value y); /* tuples, part by part */

/* ---- reduce_squares.c: sums of squares as (sum, sum of scaled squares, or the same sum) ---- */

/* Of a span whose plain sum is `sum`. */
kir_value tly_reduce_squares(tly_reduce *r, const tly_reduce_span *s, kir_value sum);
kir_value tly_reduce_no_squares(tly_build *c, unsigned lanes);
kir_value tly_reduce_join_squares(tly_build *c, kir_value x, kir_value y);
/* i1s: sums that may be wrong. NaNs are among them, and stay NaNs. */
kir_value tly_reduce_suspects(tly_build *c, kir_value sum);
/* i1s: sums that must be made once more: small ones, 0 only if something underflowed (i1s), and
 * infinite ones only if something overflowed (i1s). */
kir_value tly_reduce_wrong_squares(tly_build *c, kir_value sum, kir_value underflowed,
                                   kir_value overflowed);
kir_value tly_reduce_is_plus(tly_build *c, kir_value sum); /* i1s: the sign bit is 0 */
/* The power of two that elements are multiplied by, and its reciprocal, of which the root of the
 * scaled sum is a multiple. */
kir_value tly_reduce_square_scale(tly_build *c, kir_value sum);
kir_value tly_reduce_unit(tly_build *c, kir_value sum);
kir_value tly_reduce_lift_stretched(tly_reduce *r, kir_value x, const tly_place *at);

/* ---- reduce_whole.c: sums of integers as (lower, upper) 64 bits ---- */

kir_value tly_reduce_i128(tly_reduce *r, const tly_reduce_span *s);
/* The same, element by element, of a span of one output among others side by side. */
kir_value tly_reduce_whole_serial(tly_reduce *r, const tly_reduce_span *all, tly_step_of step);
kir_value tly_reduce_no_i128(tly_build *c, unsigned lanes);
kir_value tly_reduce_join_i128(tly_build *c, kir_value x, kir_value y);
/* i1: an output has more elements than a state with lanes counts exactly. */
kir_value tly_reduce_is_beyond(tly_reduce *r);

#endif
