/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the linear template share; linear.c says how it works.
 */
#ifndef TLY_LINEAR_H
#define TLY_LINEAR_H

#include "../template.h"

/* ---- pieces (linear_piece.c) ---- */

/* An element, or a vector's elements, or what they come to with those before them in the vector. */
typedef struct tly_piece {
    kir_value state;
    kir_value factor; /* recurrences: what the result before the vector is multiplied by; else 0 */
    kir_value keeps;  /* words with heads: where no state is dropped (linear_piece.c); else 0 */
    kir_value heads;  /* ... and i1s, where one is dropped right before the element */
    kir_value starts; /* words whose segments have states: what they begin with at heads; else 0 */
} tly_piece;

/* Of `lanes` elements x at a place. */
tly_piece tly_piece_of(tly_build *c, const tly_place *at, kir_value x, unsigned lanes);
/* Joins each element with all before it in the vector. */
void tly_piece_scan(tly_build *c, tly_piece *p);
/* What comes before, and the piece behind it. */
kir_value tly_piece_join(tly_build *c, kir_value before, const tly_piece *p);
kir_value tly_spread_last(tly_build *c, kir_value v); /* the last lane, in all lanes */
/* The last element's, in all lanes of a vector; `keeps` is one i1. */
tly_piece tly_piece_last(tly_build *c, const tly_piece *p);

/* ---- the range (linear_range.c) ---- */

/* The bits of floats without their signs. */
kir_value tly_linear_magnitude(tly_build *c, kir_value x);
/* i1: all results of n vectors are finite. */
kir_value tly_linear_finite(tly_build *c, const kir_value *y, unsigned n);
/* Of a vector of products: its elements, what they come to with those before them in the vector,
 * the result before it in all lanes, and its results. */
typedef struct tly_linear_products {
    kir_value elements, products, before, results;
} tly_linear_products;

/* i1: in n vectors no order of combination has left the normal numbers, and results are finite. */
kir_value tly_linear_regular(tly_build *c, const tly_linear_products *v, unsigned n);

/* Bits of each lane, as integers of the accumulator's size, that say what is wrong there with a
 * vector's results. A scan in which an element has all of them, by itself or from elements before
 * it, left the range. */
enum { TLY_LINEAR_FAULTS = 3 };
kir_value tly_linear_faults(tly_build *c, const tly_linear_products *v);

/* ---- a row ---- */

/* What a pass over elements makes. */
typedef enum tly_linear_pass {
    TLY_LINEAR_RESULTS,
    TLY_LINEAR_BOTH, /* results, and beside them what a chunk comes to */
    TLY_LINEAR_TOTAL /* the latter alone */
} tly_linear_pass;

typedef struct tly_linear {
    tly_build *c;
    int64_t chunk;     /* rows are cut in so many elements, each with a total; 0: they are not */
    int apart;         /* 1: the segment that goes on beyond a chunk is scanned apart from others */
    int is_silent;     /* 1: results are not stored */
    int is_stream;     /* 1: rows lie one behind the other in one stream of vectors */
    tly_row row;       /* position 0; of uneven operands, of what is laid */
    tly_row first;     /* the same, of uneven operands as they lie in memory */
    kir_value streams; /* i1: the tensors are larger than the cache */
    kir_value lined;   /* i1: and the row's lines of output go past it */
    kir_value again;   /* i1: heads are marked, as for the row before, which is one block */
    /* The results that the next positions continue (linear_interleaved.c): of rows of one scan the
     * one before, in all lanes of a vector. */
    kir_value last[TLY_LINEAR_MOST_HISTORY];
    unsigned history; /* how many vectors these are */
    tly_linear_pass pass;
    /* Of words whose segments have states (linear_states.c), else 0: i1s, the run has those that
     * they begin with, and those that they end with; and those of the block, by position. */
    kir_value given, wanted, states;
    /* What the chunk's elements so far come to, in all lanes of vectors. */
    tly_piece total;
    kir_value least, most; /* products: bits of each lane's least, largest magnitude; else 0 */
    kir_value steepest;    /* floats: bits of each lane's largest magnitude of a factor; else 0 */
    kir_value addends;     /* TLY_LINEAR_TOTAL of floats: sums of the addends' magnitudes; else 0 */
} tly_linear;

/* A loop or branch carries what the pass makes. */
void tly_linear_carry(tly_linear *k, tly_region *l);

/* Segments' positions in [from, to), a block after another, whose heads are marked before. `next`:
 * the first segment whose head is not before `from`, or, where rows are not cut, 0. */
void tly_linear_scan_segments(tly_linear *k, kir_value from, kir_value to, kir_value next);

/* ---- interleaved scans (linear_interleaved.c) ---- */

unsigned tly_linear_history(const tly_build *c);
/* Bytes of scratch: of the marks of heads, if there are any, and what one by one takes. */
int64_t tly_linear_marks_bytes(const tly_linear *k);
int64_t tly_linear_window_bytes(const tly_linear *k);
/* The results that the next vector's lanes continue, of a vector's results. */
kir_value tly_linear_newest(tly_build *c, kir_value y);
/* The same before the step's vector j. `known`: k->last, and then the results of j vectors. */
kir_value tly_linear_continued(tly_linear *k, const kir_value *known, unsigned j);
/* The same behind a step of n vectors: k->last. */
void tly_linear_move_on(tly_linear *k, const kir_value *known, unsigned n);
/* What an exclusive scan shows of a vector of results. `before`: what it continues. */
kir_value tly_linear_shown_before(tly_linear *k, const tly_place *at, kir_value before,
                                  kir_value y);

/* Positions [from, to) one by one, up to a vector's. */
void tly_linear_scan_interleaved(tly_linear *k, kir_value from, kir_value to);
/* The same of a vector from position `i` on that left the range: its results, and faults. */
void tly_linear_scan_faulty(tly_linear *k, kir_value i, kir_value y, kir_value faults);
/* Of words with a carry: the states that a row's scans go on from, and that they hand on. */
void tly_linear_take_states(tly_linear *k);
void tly_linear_hand_on_states(tly_linear *k);

/* ---- uneven operands (linear_uneven.c) ---- */

/* Bytes of scratch for those of a block. */
int64_t tly_linear_uneven_bytes(const tly_linear *k);
/* Lays those of positions [from, to) as the input lies, a block's at most. `is_first`: i1, the
 * block is the first of the row. */
void tly_linear_lay(tly_linear *k, kir_value is_first, kir_value from, kir_value to);

/* ---- steps (linear_steps.c) ---- */

enum { TLY_LINEAR_LINE = 64 };

kir_value tly_linear_input_at(tly_linear *k, kir_value i);
/* Stores what a scan shows of the element at position i, between two states. */
void tly_linear_show_one(tly_linear *k, kir_value i, kir_value before, kir_value element,
                         kir_value after);
/* The state after an element that comes behind state y; its result is stored. */
kir_value tly_linear_scan_one(tly_linear *k, kir_value i, kir_value y, kir_value element);

/* Positions [from, to) by the plain loop. Their elements have joined the total already. */
void tly_linear_scan_scalars(tly_linear *k, kir_value from, kir_value to);
/* The same by steps, of the pass's kind. */
void tly_linear_scan_span(tly_linear *k, kir_value from, kir_value to);

/* Past the cache, all that n vectors from position i on read is fetched ahead (linear_fetch.c). */
void tly_linear_prefetch(tly_linear *k, kir_value i, unsigned n);

/* ---- states of segments (linear_states.c) ---- */

/* 1: the word has them. */
int tly_linear_has_states(const tly_build *c);
/* 1: elements that are built now have heads that know them. */
int tly_linear_in_states(const tly_build *c);
/* Bytes of scratch for those of a block. */
int64_t tly_linear_states_bytes(const tly_build *c);
/* Before a block that begins at `from` is marked, and after it up to `to` is scanned. `ended`: the
 * segments whose last states are stored. */
void tly_linear_begin_states(tly_linear *k, tly_heads *heads);
void tly_linear_states_from(tly_linear *k, const tly_heads *heads, kir_value from);
void tly_linear_end_states(tly_linear *k, kir_value *ended, kir_value to);
/* How many segments have ended at `from`, before which all heads are of those before `next`. */
kir_value tly_linear_ended(tly_linear *k, kir_value next, kir_value from);
/* Heads among the pieces of n vectors from position `i` on begin with their states. */
void tly_linear_start_pieces(tly_linear *k, kir_value i, tly_piece *p, unsigned n);
/* The same of one element with a head: the state before it, which was y. */
kir_value tly_linear_start_scalar(tly_linear *k, kir_value i, kir_value y, kir_value *element);
/* Keeps the states after n vectors from position `i` on, or after one element. */
void tly_linear_keep_states(tly_linear *k, kir_value i, const kir_value *y, unsigned n);

/* ---- chunks (linear_chunks.c) ---- */

void tly_linear_begin_total(tly_linear *k);
/* A piece whose vector is scanned, or a single element, joins the total. */
void tly_linear_add(tly_linear *k, const tly_piece *p);
/* A step's pieces do, as far as totals are needed beside results. */
void tly_linear_add_step(tly_linear *k, const tly_piece *p, unsigned n);
/* Looks at elements before they are scanned. */
void tly_linear_watch(tly_linear *k, const tly_piece *p);
/* Replaces the last result by the carry after a chunk that began after `base`. */
void tly_linear_end_chunk(tly_linear *k, kir_value base);
/* The carry record that the task begins with, in all lanes. */
kir_value tly_linear_carry_in(tly_linear *k);
/* Stores the carry record after the task's last tile, if it is wanted. */
void tly_linear_carry_out(tly_linear *k);
void tly_linear_store_total(tly_linear *k);
/* The total record of a chunk after which the state is y, whatever comes before it. */
void tly_linear_store_state(tly_linear *k, kir_value y);
/* 1: a chunk's total tells more than that; else it can only be scanned. */
int tly_linear_has_totals(const tly_build *c);
/* Does what TLY_MODE_COMBINE asks for, and returns what the kernel then returns. */
kir_value tly_linear_combine(tly_linear *k);

/* ---- chunks of segments (linear_apart.c) ---- */

void tly_linear_scan_apart(tly_linear *k, kir_value from, kir_value to);
/* The total alone. */
void tly_linear_add_apart(tly_linear *k, kir_value from, kir_value to);

#endif
