/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What templates are built of. A template is a function that builds one kernel from stages:
 * addresses, load, combine, in-register scan, range guard, store. It asks the target for facts
 * (vector width, f16 conversion), never for its name, and the plan for every choice.
 */
#ifndef TLY_TEMPLATE_H
#define TLY_TEMPLATE_H

#include "../codegen/plan/limits.h"
#include "../codegen/plan/operator.h"
#include "emit.h"

/* One algorithm each: builds the whole body and says what a launch must know (templates.c). */
#define TLY_TEMPLATE_BUILDER(ID, name, what) \
    void tly_build_##name(tly_build *c, tly_launch *launch);
TLY_TEMPLATES(TLY_TEMPLATE_BUILDER)
#undef TLY_TEMPLATE_BUILDER

/* ---- scalars and addresses (address.c) ---- */

kir_value tly_not(tly_build *c, kir_value truth); /* of i1s */
/* The smaller, the larger of two signed i64. */
kir_value tly_min(tly_build *c, kir_value x, kir_value y);
kir_value tly_max(tly_build *c, kir_value x, kir_value y);
/* x rounded down, up to a multiple of a power of two. */
kir_value tly_round_down(tly_build *c, kir_value x, int64_t multiple);
kir_value tly_round_up(tly_build *c, kir_value x, int64_t multiple);
/* x / size. x is not negative, and size is a power of two. */
kir_value tly_part(tly_build *c, kir_value x, unsigned size);
/* i1: input and output are not one tensor. */
kir_value tly_out_of_place(tly_build *c);
/* `scratch`, moved on by less than a page so that it is congruent to `memory` modulo 4096, in whole
 * lines. A load waits for an earlier store whose address has the same low 12 bits, and stores past
 * the cache stay pending for 2 KiB. If all that is read and written side by side is congruent, a
 * load never meets a store that was just made. Rows reach 1.03 of a copy, otherwise .75; columns
 * 1.1, and .2 if states happen to lie a line behind the input. */
kir_value tly_congruent(tly_build *c, kir_value scratch, kir_value memory);
enum { TLY_CONGRUENT_BYTES = 4096 }; /* more scratch for each use */
/* p + index * bytes. */
kir_value tly_at(tly_build *c, kir_value p, kir_value index, int64_t bytes);
/* i1: the launch uses non-temporal stores and prefetches far ahead. */
kir_value tly_streams(tly_build *c);
/* i1: lines of output that are stored through the cache are fetched ahead. */
kir_value tly_prefetches_writes(tly_build *c);
/* So many bytes ahead of the stores. f32 and f16 of few columns in L2, of a copy: 0 .47, .43;
 * 256 .79, .60; 512 .80, .66; 2048 .78, .59; 4096 .67, .43 (Emerald Rapids). */
enum { TLY_PREFETCHW_AHEAD = 512 };

/* Makes non-temporal stores visible. `streams`, an i1: there may have been some. */
void tly_fence(tly_build *c, kir_value streams);

/* Addresses of position 0 (lane 0) of a row, in each tensor. */
typedef struct tly_row {
    kir_value at[TLY_TENSOR_COUNT];
} tly_row;
tly_row tly_row_address(tly_build *c, kir_value row);
/* The rows of a task: all positions of each but the first and the last one. Tiles are chunks of so
 * many elements, a power of two, or whole rows (0). */
typedef struct tly_task_rows {
    kir_value first_row, end_row, first_position, end_position;
} tly_task_rows;
tly_task_rows tly_rows_of_task(tly_build *c, int64_t chunk);
/* Bytes to outer index `i`, which counts through the first `rank` dims, in each tensor. */
void tly_outer_offsets(tly_build *c, kir_value i, kir_value rank, kir_value *offsets);

/* A segment of a row (segments.c): its first element in each tensor, or, of a reduction's output,
 * its result; where that element lies in the row; and how many elements there are. A row of a
 * problem that is not segmented is one. */
typedef struct tly_segment {
    tly_row row;
    kir_value first, count;
} tly_segment;
tly_segment tly_segment_of(tly_build *c, const tly_row *row, kir_value i);
/* Where segment i begins along the axis, and the one before it ends. */
kir_value tly_segment_border(tly_build *c, kir_value i);
/* i32s: the elements of segments from `first` on. Of those of one size not the last, which may be
 * shorter. Counts beyond 32 bits are cut. */
kir_value tly_segment_counts(tly_build *c, kir_value first, unsigned n);
/* i32s: where segments from `first` on begin, as elements behind the first of them. */
kir_value tly_segment_starts(tly_build *c, kir_value first, unsigned n);

/* Heads: the first elements of segments in scan direction, marked in scratch for a block of
 * positions at a time. Segments lie in positions [first, end). `next`: the segment whose head is
 * marked next, which loops carry. */
enum { TLY_HEADS_BLOCK = 4096, TLY_HEADS_BYTES = TLY_HEADS_BLOCK + 64 };
typedef struct tly_heads {
    kir_value marks, next, first, end;
    kir_value again;         /* i1: the block is marked already, for another row */
    const tly_row *stateful; /* of words with a carry, the row whose states are read; else NULL */
    kir_value given;         /* i1: the run has states to start from */
    kir_value states;        /* the room for those of the block, a row of states */
} tly_heads;
/* Positions of a block, up to `most`: whole steps, and as many of each of interleaved scans. */
int64_t tly_heads_block(const tly_build *c, int64_t most, int64_t step);
/* Marks the heads of rows of `length` elements, one behind the other, up to `end` or as many as a
 * block has: of blocks that begin at a later position of a row, marks are read from there on. */
void tly_heads_mark_rows(tly_build *c, kir_value scratch, kir_value length, kir_value end);
/* Heads before that of segment `next` are left out. */
tly_heads tly_heads_begin(tly_build *c, kir_value scratch, kir_value next, kir_value again);
/* How many segments begin before position `to`, at least `from` of them: by halves. */
kir_value tly_heads_before(tly_build *c, kir_value from, kir_value to);
/* Marks those in [from, to); from then on, elements of these positions know theirs. States that are
 * given are copied to where their heads lie in the row of states; there is none elsewhere. */
void tly_heads_mark(tly_build *c, tly_heads *h, kir_value from, kir_value to);
/* The position of the first element of the segment that comes as number i in scan direction, and a
 * row whose states are those of this segment. */
kir_value tly_segment_head(tly_build *c, kir_value i);
tly_row tly_segment_states(tly_build *c, const tly_row *row, kir_value i);

typedef void (*tly_segment_body)(tly_build *c, const tly_segment *segment, void *of);
void tly_each_segment(tly_build *c, const tly_row *row, tly_segment_body body, void *of);

/* Bytes in a tensor: from one position along the axis to the next, a launch argument; from one lane
 * to the next; and from one element of a vector, whose elements lie along rows or lanes by the
 * form, to the next. The latter are literals where the problem has them. */
kir_value tly_axis(tly_build *c, int tensor);
kir_value tly_lane(tly_build *c, int tensor);
kir_value tly_step(tly_build *c, int tensor);
/* 1, or -1 where axis steps of the input go downwards in memory. What lies beside the axis is taken
 * in this order, too: number `i` of [lo, hi), `step` at a time, i itself or as far from the end. */
kir_value tly_axis_sign(tly_build *c);
kir_value tly_in_order(tly_build *c, kir_value i, kir_value lo, kir_value hi, kir_value step);
/* A row moved on by so many of such steps. */
typedef kir_value (*tly_step_of)(tly_build *c, int tensor);
tly_row tly_row_move(tly_build *c, const tly_row *row, kir_value by, tly_step_of step);
/* The same of the tensors that are read; the output's address stays. */
tly_row tly_read_move(tly_build *c, const tly_row *row, kir_value by, tly_step_of step);
/* Adds the addresses of the tensors that are read to a region's state. */
void tly_carry_read(const tly_build *c, tly_region *r, tly_row *row);

/* Whole body of a kernel whose tiles are blocks of lanes: `body` builds the code for lanes
 * [0, count) of one row from addresses `at` of its first lane, with a row of as many states,
 * `sums`; then fence and return. */
typedef void (*tly_lanes_body)(tly_build *c, tly_row at, kir_value count, kir_value sums);
void tly_each_row_of_lanes(tly_build *c, tly_launch *launch, tly_lanes_body body);

/* Outer slices side by side (slices.c): rows from `first` on, of [first, end), all lanes of each;
 * returns the first row that is left. `scratch`: plan->slices rows of states. */
kir_value tly_scan_slices(tly_build *c, kir_value first, kir_value end, kir_value scratch);

/* ---- the operator (operators.c) ---- */

/* A state is one value or a tuple of up to three; all of its parts have the same lanes. */

/* Where an element lies, or the element that a result belongs to. A place is a description: its
 * address is emitted only where something asks for it, so templates say all that they know. */
typedef struct tly_place {
    /* The address of the first lane in a tensor; NULL: not known, as values come from scratch. */
    kir_value (*address)(tly_build *c, const struct tly_place *at, int tensor);
    const void *of;           /* what the template's `address` starts from: a tly_row, ... */
    kir_value position, lane; /* i64 (GPUs: u32), along the axis and across it; 0: none */
    int64_t more_positions, more_lanes; /* what is added to them */
    /* For operators that look at positions: that of each lane (tly_index_dtype); else 0. Scans tell
     * it of the position that the place counts from; 0: the axis' first one, or the segment's. */
    kir_value index, from;
    const kir_value *steps; /* bytes from a vector's lane to the next, by tensor; NULL: tly_lane */
    /* i64: only so many lanes are there, perhaps none. The others are anything; with `steps` they
     * are the last one again. 0: all are there. */
    kir_value count;
    /* i1s, or one i1: the lanes that lie at the first position of their scan. 0: the position
     * tells, or, of templates for GPUs, `begins`, which is 0 where none does. */
    kir_value first;
    kir_value (*begins)(tly_build *c, const struct tly_place *at);
    /* Of templates for GPUs: its position in the dispatch, a u32. */
    kir_value (*where)(tly_build *c, const struct tly_place *at);
    /* Of an element of a tile whose heads are known: a u32 that is not 0 if it is one; else 0. */
    kir_value head;
    /* By tensor: stored elements at the place that are loaded already. NULL, or 0: they are loaded
     * where an expression asks for them. */
    const kir_value *loaded;
} tly_place;

/* In a row whose address is known, lane 0 of position 0. */
tly_place tly_place_in(const tly_row *row, kir_value position, kir_value lane);
/* The same place, so many positions and lanes on. */
static inline tly_place tly_place_after(tly_place at, int64_t positions, int64_t lanes)
{
    at.more_positions += positions;
    at.more_lanes += lanes;
    return at;
}

/* A stretch of a row as templates of rows read and write it: in memory, or in scratch in the layout
 * that memory has. */
typedef struct tly_stretch {
    kir_value from;  /* where its element 0 is read */
    kir_value to, i; /* its results are stored from element i of `to` on (tly_stored_at) */
} tly_stretch;
tly_place tly_place_along(const tly_stretch *stretch, int64_t element);

/* The indices of the elements at a place, of scans that tell them: they count from the start of the
 * axis, and fall along the scan if it begins at its end. */
kir_value tly_index_at(tly_build *c, const tly_place *at, unsigned lanes);
/* i1s: of such scans, the keys of elements that are told of in the place of those before them. */
kir_value tly_beats(tly_build *c, kir_value key, kir_value before);
/* That of so many positions on. */
kir_value tly_index_after(tly_build *c, kir_value index, kir_value positions);

/* The state of an element that was loaded, and the result of a state, to be stored. NULL: an
 * element or a result whose place is not known; of words with expressions, an element that is
 * mapped already. */
kir_value tly_element(tly_build *c, const tly_place *at, kir_value x);
/* The first half of it, of words with expressions: a loaded element as an accumulator that went
 * through `map`, and, of recurrences, a pair of the factor and that. Where c->is_mapped, templates
 * do this when they load. */
kir_value tly_mapped(tly_build *c, const tly_place *at, kir_value x);
kir_value tly_show(tly_build *c, const tly_place *at, kir_value state);
/* The same of sums of elements as multiples of `unit` (tly_through_times). */
kir_value tly_show_times(tly_build *c, const tly_place *at, kir_value state, kir_value unit);
/* x before y: states, or a window y and a state or a window x. */
kir_value tly_combine(tly_build *c, kir_value x, kir_value y);
/* Whether elements may be heads: then they have one part more, i1s, which is given to an element
 * that is alone, and taken off. */
int tly_has_heads(const tly_build *c);
kir_value tly_element_alone(tly_build *c, const tly_place *at, kir_value x);
kir_value tly_give_head(tly_build *c, kir_value element, kir_value head);
/* i1s: the elements at a place are marked. */
kir_value tly_heads_at(tly_build *c, const tly_place *at, unsigned lanes);
kir_value tly_take_head(tly_build *c, kir_value *element);
/* What a scan shows of an element: the state after it, or, exclusive, the one before. */
kir_value tly_shown(tly_build *c, kir_value element, kir_value before, kir_value after);
/* The state after an element (tly_element) at a place, which the plain loop reaches from the state
 * before it. Of operators that combine states, tly_combine. */
kir_value tly_advance(tly_build *c, const tly_place *at, kir_value state, kir_value element);
/* i1s, or one i1: lanes at the first position of their scan, where no state comes before the
 * element, not even one of a carry. 0: there are none. */
kir_value tly_begins(tly_build *c, const tly_place *at);
/* The same of a vector along rows, of the i1 of its first lane: the next lanes begin, too, where
 * scans are interleaved. */
kir_value tly_lanes_that_begin(tly_build *c, const tly_place *at, kir_value begins);
/* The product with the factor and the sum with the addend, each rounded by itself. The first
 * element of a scan is its addend, whatever its factor is (tly_operator_code.apply). */
kir_value tly_apply_linear(tly_build *c, kir_value state, kir_value element, kir_value first);
/* Windows (A, B): A * y + B of a state y, (A * A', A' * B + B') of a window and a later one. */
kir_value tly_combine_linear(tly_build *c, kir_value x, kir_value y);
/* Whether a window says that there is a head in it; what it is but for that; an element that is one
 * where `is_head` (i1) holds. A window with a head makes the same of every state before it. */
int tly_has_head(const tly_build *c, kir_value x);
kir_value tly_without_head(tly_build *c, kir_value x);
kir_value tly_behind_head(tly_build *c, kir_value is_head, kir_value element);
/* The same, or a window, with this for its first part: a u32 that is 0 where there is no head. */
kir_value tly_with_head(tly_build *c, kir_value head, kir_value x);
kir_value tly_combine_behind_head(tly_build *c, kir_value x, kir_value y);
/* An element as it is combined with the neutral state where it is a scan's first: the addend alone
 * comes out. And the state that an exclusive scan shows before an element: the identity before the
 * first one, whatever the state is. */
kir_value tly_behind_nothing(tly_build *c, const tly_place *at, kir_value element);
kir_value tly_shown_before(tly_build *c, const tly_place *at, kir_value state);
/* A state and n elements after it, each with its place. */
kir_value tly_take(tly_build *c, kir_value state, const kir_value *x, const tly_place *at,
                   unsigned n);
/* States in the lanes of `type`. What combines to nothing: sums: -0.0, so that -0 stays -0. */
kir_value tly_neutral(tly_build *c, kir_type type);
/* Windows: what several elements together do to the state before them. A window has the parts of
 * one element, and is combined with a state or a window before it (tly_combine). Of operators
 * whose elements are states, it is a state. Neutral ones; and a window that makes this state of any
 * state before it, and the state that such a one makes. */
kir_value tly_neutral_window(tly_build *c, kir_type type);
kir_value tly_window_of(tly_build *c, kir_value state);
kir_value tly_state_of(tly_build *c, kir_value window);
/* What a row starts from: the neutral state, or, exclusive, the operator's identity. Scans on CPUs
 * that tell an index begin with that of the first element. */
kir_value tly_start(tly_build *c, kir_type type);
/* A state as one that an element could have made: the neutral one becomes the identity, or a NaN
 * where those are passed over. */
kir_value tly_kept(tly_build *c, kir_value state);
/* The same of lanes at a place: of words with a carry, the states that its tensor has for them, if
 * a run has the tensor. Then tly_end_at stores their states after the last element. (carry.c) */
kir_value tly_start_at(tly_build *c, const tly_place *at, unsigned lanes);
void tly_end_at(tly_build *c, const tly_place *at, kir_value state);
/* i1, of words with a carry: the run has the tensor of states that scans start from. */
kir_value tly_has_states(tly_build *c);
kir_value tly_wants_states(tly_build *c); /* it has the one for their last ones */
/* The same where the run is known to have the tensor. */
kir_value tly_carry_load(tly_build *c, const tly_place *at, unsigned lanes);
void tly_carry_store(tly_build *c, const tly_place *at, kir_value state);
/* The same of lanes [0, count) of a row, whose states lie in a row of states. */
void tly_start_states(tly_build *c, const tly_row *row, kir_value states, kir_value count);
void tly_end_states(tly_build *c, const tly_row *row, kir_value states, kir_value count);
/* Accumulators or stored elements that are lifted to the neutral state: pads blocks. i16 stands for
 * bf16. */
kir_value tly_padding(tly_build *c, kir_type type);

/* States in memory: planes, one a part, each with `lanes` values of its type side by side and
 * room for as many of the widest; lanes * c->state_bytes in all. `align`: what p + offset, and
 * the widest part's bytes, are multiples of. */
kir_value tly_load_state(tly_build *c, kir_value p, int64_t offset, unsigned lanes, unsigned align);
void tly_store_state(tly_build *c, kir_value p, int64_t offset, kir_value state, unsigned align);
/* The same of a window, which tly_store_state stores as well. */
kir_value tly_load_window(tly_build *c, kir_value p, int64_t offset, unsigned lanes,
                          unsigned align);

/* Rows of states that are read and written in vectors anywhere: a plane a part, as a tuple of the
 * addresses of each part's element 0. `p`: that of the first part; so many states lie `before` and
 * `behind` it. All take (before + behind + TLY_MOST_LANES) * c->state_bytes. */
kir_value tly_states_row(tly_build *c, kir_value p, kir_value before, kir_value behind);
/* Bytes to state i of a row, `each` 1, or -1 of rows that run downwards; a row moved by them. */
kir_value tly_states_offset(tly_build *c, kir_value i, int64_t each);
kir_value tly_states_move(tly_build *c, kir_value row, kir_value offset);
static inline kir_value tly_states_at(tly_build *c, kir_value row, kir_value i)
{
    return tly_states_move(c, row, tly_states_offset(c, i, 1));
}
/* Those that lie `skip` states behind a row's first. */
kir_value tly_states_load(tly_build *c, kir_value row, int64_t skip, unsigned lanes);
void tly_states_store(tly_build *c, kir_value row, int64_t skip, kir_value states);
int tly_is_floating(const tly_build *c); /* the accumulator is */
int tly_has_sign(const tly_build *c);    /* it is an integer with a sign */

/* ---- expressions (expression.c, load_at.c) ---- */

/* The elements of a tensor at a place, as they are stored: of devices without narrow arithmetic
 * those of 8 and 16 bits as an i32's lower bits, the others 0. */
kir_value tly_load_at(tly_build *c, const tly_place *at, int tensor, unsigned lanes);
/* The same of `lanes` elements. The first is at p, and each of the others lies `step` bytes behind
 * the one before it. */
kir_value tly_load_lanes(tly_build *c, int tensor, kir_value p, kir_value step, unsigned lanes);

/* A loaded element through `map`: of words with expressions a value of their type, else itself. */
kir_value tly_map(tly_build *c, const tly_place *at, kir_value x);
/* The same of a recurrence, and its factor from the same element, of the same type. */
kir_value tly_map_and_coef(tly_build *c, const tly_place *at, kir_value x, kir_value *coef);
/* i1s: where `reset` drops the state before an element. */
kir_value tly_resets(tly_build *c, const tly_place *at, kir_value x);
/* The input's elements at a place, loaded and mapped: as values of the expressions' type, and as
 * accumulators. */
kir_value tly_mapped_at(tly_build *c, const tly_place *at, unsigned lanes);
kir_value tly_map_at(tly_build *c, const tly_place *at, unsigned lanes);
/* The result of a state before it goes through `post`, an accumulator; and then through it, to be
 * stored. Together they are tly_show. */
kir_value tly_result(tly_build *c, const tly_place *at, kir_value state);
kir_value tly_post(tly_build *c, const tly_place *at, kir_value y);
/* A vector of mapped elements as accumulators, neutral from the place's count on. */
kir_value tly_map_vector(tly_build *c, const tly_place *at);
/* A step is n vectors that begin at a place. Only `left` of its elements are there. tly_map_step
 * loads and maps them, as accumulators; behind the last one they are neutral. tly_post_step takes
 * the step's results through `post`. */
void tly_map_step(tly_build *c, const tly_place *first, kir_value left, kir_value *x, unsigned n);
void tly_post_step(tly_build *c, const tly_place *first, kir_value left, kir_value *y, unsigned n);
/* The second step of an element of the expressions' type. */
kir_value tly_post_element(tly_build *c, const tly_place *at, kir_value y);

/* ---- element types (convert.c): storage to accumulator and back, `lanes` at a time ---- */

/* Stored elements of the input as templates load them: accumulators, or, of words with expressions,
 * values of the expressions' type. */
kir_value tly_loaded(tly_build *c, kir_value storage);
/* Stored elements of any dtype as values of the expressions' type, which has all of them. */
kir_value tly_as_type(tly_build *c, tally_dtype dtype, kir_value storage);
/* That type as kernel IR has it. */
kir_type tly_type_of_values(const tly_build *c, unsigned lanes);
/* A sum, difference or product of two values of that type, which may be computed in more bits. */
kir_value tly_wrap(tly_build *c, kir_value x);
/* An accumulator that is a result, as a value of that type. */
kir_value tly_as_element(tly_build *c, kir_value y);

kir_value tly_load(tly_build *c, kir_value p, int64_t offset, unsigned lanes);
void tly_store(tly_build *c, kir_value p, int64_t offset, kir_value acc, unsigned align,
               unsigned flags);
/* bf16 two at a time: a vector of `lanes` pairs of neighbours, which lie in 32 bits, as the first
 * and the second of each, and back to the order of the output; steps 1 and -1. 14 instructions for
 * 16 elements of AVX2, where widening and narrowing one vector after the other take 19. */
void tly_load_pairs(tly_build *c, kir_value p, kir_value *pair);
kir_value tly_narrow_pairs(tly_build *c, const kir_value *pair);
kir_type tly_storage(tally_dtype dtype, unsigned lanes);
kir_value tly_widen(tly_build *c, kir_value storage);
kir_value tly_narrow(tly_build *c, kir_value acc);
/* 1: narrowing underflows and overflows on its own, and raises flags. Integer code does not. */
int tly_narrow_raises(const tly_build *c);
/* An integer as a bool: 1 where it is not 0. */
kir_value tly_truth(tly_build *c, kir_value x);
/* Integers of the input, as they are or widened already, as accumulators: integers or floats. */
kir_value tly_widen_integer(tly_build *c, kir_value x);
/* The same of elements of 8 and 16 bits that are an i32's lower bits, the others 0. */
kir_value tly_widen_u32(tly_build *c, kir_value bits);
kir_value tly_narrow_u32(tly_build *c, kir_value acc);
/* 1: that takes less where x is known to be no NaN (bf16 of f32), and this is it. */
int tly_narrows_numbers(const tly_build *c);
kir_value tly_narrow_number(tly_build *c, kir_value x);

/* ---- keys of what is compared (keys.c) ---- */

/* Elements as keys, and back: exact. Words are the bits of elements of 8 and 16 bits as an i32's
 * lower bits, the others 0. */
kir_value tly_to_key(tly_build *c, kir_value storage);
kir_value tly_from_key(tly_build *c, kir_value key);
kir_value tly_u32_to_key(tly_build *c, kir_value word);
kir_value tly_key_to_u32(tly_build *c, kir_value key);
uint64_t tly_key_bits(const tly_build *c, uint64_t element); /* of a constant */
/* Integers, of which those below 0 have the bits `below` their sign inverted: from magnitudes with
 * a sign to an order, and back. 0 stands for all of a word's, and is a shift, no constant in a
 * register. */
kir_value tly_order_bits(tly_build *c, kir_value bits, uint64_t below);
/* The bits of a float of a reduction's input, its sign those of the word above it, as a key:
 * NaNs are equal, and where an index is wanted, zeros too. `below`: as above. */
kir_value tly_reduce_key(tly_build *c, kir_value bits, uint64_t below);
/* Whether a reduction's elements stay floats until several, or one, become a key. */
int tly_keys_are_deferred(const tly_build *c);
typedef struct tly_extreme {
    kir_value number; /* the largest or smallest; anything where one of them is NaN */
    kir_value all;    /* i1s: none of them is */
    kir_value key;    /* of what decides */
} tly_extreme;
tly_extreme tly_extreme_of(tly_build *c, const kir_value *x, unsigned n);

/* ---- lanes (lanes.c) ---- */

/* Lanes [n - shift, 2n - shift) of prev, cur: cur moved up by `shift`, filled from prev. */
kir_value tly_shift(tly_build *c, kir_value prev, kir_value cur, unsigned shift);
kir_value tly_reverse(tly_build *c, kir_value v);
/* Integers as wide as accumulators, which can number the lanes of a vector of these. */
kir_type tly_lane_numbers(const tly_build *c);
/* i1s of such a vector: lanes below `count`, an i64 that these integers hold. */
kir_value tly_lanes_below(tly_build *c, kir_value count);
kir_value tly_last(tly_build *c, kir_value v); /* the last lane, a scalar */
/* Two vectors as one of twice the lanes. */
kir_value tly_join(tly_build *c, kir_value low, kir_value high);
/* r[0..n) of n lanes: r[i] lane j becomes r[j] lane i. n: 2, 4, 8, 16. */
void tly_transpose(tly_build *c, kir_value *r, unsigned n);

/* ---- range guard of tiles on GPUs (guard.c): docs/range.md ---- */

/* Extremes of |y| as integer bits, tracked lane-wise: of products the highest and the lowest, of
 * sums the highest, of recurrences those of windows' factors and addends; nothing for integers. */
unsigned tly_range_count(const tly_build *c);        /* values carried: 0, 1 or 2 */
void tly_range_begin(tly_build *c, kir_value *v);    /* v[0..count) */
kir_op tly_range_op(const tly_build *c, unsigned k); /* what joins two of v[k] */
void tly_range_track(tly_build *c, kir_value *v, kir_value y);
/* So are those of a stretch, `s`, that follows a state. */
void tly_range_follow(tly_build *c, kir_value *v, kir_value before, const kir_value *s);
/* Folds the lanes: scalar bits, same count. */
void tly_range_fold(tly_build *c, const kir_value *v, kir_value *scalars);
/* i1: partial results that stayed within these extremes are as good as the plain loop's after
 * `carry` (a scalar accumulator; 0: none but the neutral value). */
kir_value tly_range_is_safe(tly_build *c, const kir_value *scalars, kir_value carry);
kir_value tly_is_zero(tly_build *c, kir_value x); /* i1, of a scalar accumulator */
/* i1: whatever its extremes, a tile that is good with no carry is good after this one. */
kir_value tly_range_good_any(tly_build *c, kir_value carry);
/* Two of them together make one of those. */
kir_value tly_range_good_half(tly_build *c, kir_value x);

/* ---- the check of magnitudes (range_check.c): docs/range.md ---- */

/* Products fall out of the range on both sides, sums on one, and windows, of recurrences, by a
 * factor or an addend. */
static inline int tly_checks_products(const tly_build *c)
{
    return tly_is_checked_as(c->p, TLY_CHECK_PRODUCTS);
}
static inline int tly_checks_windows(const tly_build *c)
{
    return tly_is_checked_as(c->p, TLY_CHECK_LINEAR);
}

kir_value tly_check_bits(tly_build *c, kir_value v); /* magnitudes that order like v's */
/* The same less 1, so that a zero becomes the largest. */
kir_value tly_check_less(tly_build *c, kir_value v);
/* How far v lies from the lower end of one of `parts` parts of the range of products, which is
 * [2^(-120 / parts), 2^(120 / parts)] (f64: 1000); the largest of that and `seen`, unless 0. */
kir_value tly_check_apart(tly_build *c, kir_value seen, kir_value v, unsigned parts);
/* i1s: outside of it. */
kir_value tly_check_out_of_range(tly_build *c, kir_value seen, unsigned parts);
/* i1s, in lanes of v: outside of it, but no zero. */
kir_value tly_check_outside(tly_build *c, kir_value v, unsigned parts);
kir_value tly_check_not_zero(tly_build *c, kir_value v);
/* Magnitudes moved up, still in order, but that infinities and NaNs wrap to the lowest. */
kir_value tly_check_finite(tly_build *c, kir_value bits);
/* i1s: extremes beyond it: the lower of magnitudes less 1, so that zeros do not count; the higher,
 * `finite`, of magnitudes so moved, so that infinities do not either. */
kir_value tly_check_beyond(tly_build *c, kir_value high, kir_value low, unsigned parts, int finite);
/* i1s: a magnitude so moved is TLY_LARGE or more. */
kir_value tly_check_large(tly_build *c, kir_value high);
kir_value tly_check_not_tiny(tly_build *c, kir_value v); /* i1s: not below all normal numbers */
/* 1: the output has less range than the accumulator, be it by rounding alone. */
int tly_checks_output(const tly_build *c);
kir_value tly_check_infinite(tly_build *c, kir_value bits); /* i1s: infinite as an output */
uint32_t tly_check_stored_infinity(const tly_build *c);     /* bits of a narrow infinity */
enum { TLY_CHECK_PART = 2 }; /* half of the range, as windows are quotients of two results */
typedef enum tly_limit {
    TLY_TINY,   /* 2^-127: what is computed to be smaller is no normal number in any order */
    TLY_NORMAL, /* 2^-126 */
    TLY_FAINT,  /* the same (f64: 2^-922) */
    TLY_SMALL,  /* 2^-60 (f64: 2^-500) */
    TLY_LARGE,  /* 2^126: what is smaller overflows in no order */
    TLY_INFINITE,
    TLY_LIMIT_COUNT
} tly_limit;
kir_value tly_check_below(tly_build *c, kir_value bits, tly_limit limit); /* i1s */
/* i1s of magnitudes' lanes as i1s of the accumulators'. */
kir_value tly_check_lanes(tly_build *c, kir_value truth);

/* ---- one vector by itself (vector.c) ---- */

/* Scans of the lanes: `interleave` scans whose elements take turns (length: all lanes), or, if that
 * is 1, of each `length` lanes. */
kir_value tly_vector_scan(tly_build *c, kir_value v, unsigned interleave, unsigned length);
/* Lanes moved up by `interleave` within each `length`, whose first ones are those of `first`. */
kir_value tly_vector_before(tly_build *c, kir_value first, kir_value y, unsigned interleave,
                            unsigned length);
/* For each lane of the vector after y: the last lane of y that belongs to the same scan. */
kir_value tly_vector_newest(tly_build *c, kir_value y, unsigned interleave);

/* Positions [i, i + lanes) that start at `p`, at the input's literal step (1, -1, 0, 2). Nothing
 * beyond them is read. */
kir_value tly_load_vector(tly_build *c, kir_value p);
/* The same in two: the elements in the order that costs least, always the same, and then in their
 * own; what treats lanes alike may come in between. */
kir_value tly_load_unordered(tly_build *c, kir_value p);
kir_value tly_order(tly_build *c, kir_value v);
/* 1 if tly_load_vector knows the input's step. */
int tly_loads_vectors(const tly_build *c);

/* ---- stages of rows (stage_in.c, stage_out.c) ---- */

/* Loads `count` elements from `from` on, mapped, into consecutive accumulators at `to`,
 * then neutral values up to the next multiple of `multiple` elements (a power of two). */
void tly_stage_in(tly_build *c, const tly_row *from, kir_value to, kir_value count,
                  unsigned multiple);

/* Results in storage, in memory and in scratch alike: bytes from one element to the next (negative
 * where output runs backwards; outputs of any step lie side by side in scratch), and addresses. */
int64_t tly_stored_step(const tly_build *c);
kir_value tly_stored_at(tly_build *c, kir_value p, kir_value element);
/* v: n vectors of results (or of pairs, narrowed already) become elements in the order of memory,
 * joined to whole vectors;
 * returns how many. */
unsigned tly_pack_run(tly_build *c, kir_value *v, unsigned n, int narrowed);
/* Those as elements from `to` on. */
void tly_store_run(tly_build *c, kir_value to, const kir_value *v, unsigned n, unsigned flags);

/* The output side: results gather in a buffer and leave it in whole 64-byte lines of output,
 * whatever the alignment. */
typedef struct tly_stream {
    kir_value buffer;  /* constant: scratch, element 0 where a line starts */
    kir_value to;      /* output address of buffer element 0 */
    kir_value pending; /* elements in the buffer */
    kir_value head;    /* leading elements of it that are not ours */
    kir_value sent;    /* lines of it that have been sent to their place; 0: none */
} tly_stream;
unsigned tly_line(const tly_build *c); /* output elements a line */
/* Adds what changes of it to a region's state. */
static inline void tly_carry_stream(tly_region *r, tly_stream *s)
{
    emit_carry(r, 1, &s->to);
    emit_carry(r, 1, &s->pending);
    emit_carry(r, 1, &s->head);
}
/* Starts at output address `out`. */
void tly_stream_begin(tly_build *c, tly_stream *s, kir_value out, kir_value streams);
/* `count` more results: where `written` (i1, or 0 for never) at their place, else in the buffer. */
void tly_stream_advance(tly_build *c, tly_stream *s, kir_value count, kir_value written);
/* Copies a line to its place, past the cache; both begin with it. */
void tly_send_line(tly_build *c, kir_value to, kir_value from);
/* Writes what is complete, past the cache if `streams` (i1), and keeps the rest, less than a line;
 * if `ends` (i1) everything. In place, it writes nothing that has not been read. */
void tly_stream_drain(tly_build *c, tly_stream *s, kir_value streams, kir_value ends);

#endif
