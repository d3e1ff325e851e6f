/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the short template share. It scans dense rows of a few elements as
 * one stream. short.c makes batches of rows, short_scan.c loops over them, and short_borders.c says
 * where rows begin. short_validate.c does rows again that left the floating-point range, and
 * short_prescale.c scales small products.
 */
#ifndef TLY_SHORT_H
#define TLY_SHORT_H

#include "../template.h"

enum {
    TLY_SHORT_DOUBLINGS = 4,                    /* up to TLY_MOST_LANES */
    TLY_SHORT_BORDERS = TLY_SHORT_DOUBLINGS + 1 /* and the results a vector before */
};

typedef struct tly_short {
    tly_build *c;
    kir_value length;
    unsigned literal;   /* the length, or 0: a launch argument */
    unsigned doublings; /* windows: of 1, 2, 4, ... elements, the last of a row or a vector */
    int chains;         /* rows are longer than a vector */
    int fixed;          /* each vector begins with a row */
    int by_rows;      /* a step is whole rows, so that it is known where its vectors lie in them */
    int by_flags;     /* arithmetic's flags say what the main loop met */
    int prescale;     /* products that became subnormal are made once more, scaled */
    int row_by_row;   /* where stores are ordinary ones, each row begins with a vector of its own */
    int by_positions; /* the table holds positions in rows, of which comparisons make masks */
    int by_bits;      /* states are one value, of which masks make a choice bit by bit */
    unsigned vectors; /* a step: a line of output and more */
    int64_t step;     /* elements of it */
    kir_type bits;    /* a vector's lanes as integers; with `by_bits`, states are held so */
    kir_value neutral;
    kir_value ending; /* row_by_row: i1s, the lanes of a row's last vector that hold elements */
    /* With `fixed`: i1s, lanes at least 2^k from their row's start. */
    kir_value borders[TLY_SHORT_BORDERS];
    kir_value table, pad, buffer;
    int64_t most; /* elements of a batch */
    /* Words with a carry: the states that rows of a batch start from, and those after them, as rows
     * of states. `by_number`: one for each row. Otherwise one for each element: they are those of a
     * row's first element, and of its last one. */
    kir_value starts, ends;
    int by_number;
    kir_value has_states; /* i1: the run has states to start from */
    /* Builds the problem of the word, and `c` one without expressions, whose input is the mapped
     * elements. Without expressions both are the same. */
    tly_build *word;
    int maps;      /* the word has expressions */
    tly_row batch; /* where the batch lies */
    int is_staged; /* 1: the batch is mapped first, into scratch at `mapped`; 0: in registers */
    kir_value mapped;
} tly_short;

/* A piece is some whole rows: where they are read and stored. */
typedef struct tly_short_piece {
    kir_value in, count;
    kir_value first; /* its first element in the batch */
    kir_value to;    /* 0: no results are wanted */
    kir_value lines; /* i1: `to` is whole lines past the cache; or 0 */
} tly_short_piece;

/* What a loop over a piece finds out, besides the flags that it raises. */
typedef enum tly_short_what {
    TLY_SHORT_WINDOWS, /* the largest of its windows; it computes no results */
    TLY_SHORT_RESULTS, /* the largest result */
    TLY_SHORT_APART,   /* how far results lie from the lower end of half of the range */
    TLY_SHORT_SCALED,  /* the largest and the least result, all of them made scaled (prescale) */
    TLY_SHORT_NOTHING
} tly_short_what;

typedef struct tly_short_seen {
    kir_value most, least; /* magnitudes as integers, lane-wise, or 0 */
    kir_value last;        /* vector of results (or of windows), as the next one takes it */
} tly_short_seen;

/* Where a vector lies in the stream. */
typedef struct tly_short_vector {
    int alone;              /* in a row by itself */
    int is_first;           /* the start of a row of several vectors: before it are neutral ones */
    int is_last;            /* it reaches beyond the row's end, where lanes are neutral */
    int64_t position;       /* of its first lane in the row, where all lanes are the row's or behind
                         its end; or 0 */
    kir_value t;            /* in the stream's table */
    int scaled;             /* its results are */
    kir_value starts;       /* states that join its elements (tly_short_starts), or 0 */
    const tly_place *place; /* of its elements, unless it is_last, and of its results; or NULL */
} tly_short_vector;

/* ---- short_borders.c ---- */

void tly_short_borders(tly_short *s); /* at a kernel's start */
int64_t tly_short_table_bytes(const tly_short *s);
/* Where a step's k-th vector lies, t: its entry in the table; and the entry of the next vector. */
tly_short_vector tly_short_vector_of(const tly_short *s, unsigned k, kir_value t);
kir_value tly_short_next_position(tly_short *s, kir_value t);
/* v in lanes that are at least 2^k elements from their row's start (border k is open); else
 * `other`. */
kir_value tly_short_within(tly_short *s, kir_value v, unsigned k, const tly_short_vector *p,
                           kir_value other);
/* The border for results of the vector before. */
unsigned tly_short_last_border(const tly_short *s);

/* ---- short_scan.c ---- */

int64_t tly_short_element_bytes(const tly_short *s); /* from one element to the next */
int64_t tly_short_pad_bytes(const tly_short *s);
/* `count` rounded down to whole steps. */
kir_value tly_short_steps(const tly_short *s, kir_value count);
/* Copies the last elements of a piece, which fill no step, to scratch; before loops over the piece.
 */
void tly_short_fill_pad(tly_short *s, const tly_short_piece *p);
/* Scans a piece; returns what was asked for. */
tly_short_seen tly_short_scan(tly_short *s, const tly_short_piece *p, tly_short_what what);
/* Of words with expressions, element i of a piece in memory. */
tly_place tly_short_place(tly_short *s, const tly_short_piece *p, kir_value i);
/* Scans the next vector of states of one row, or with `fixed` of whole rows. Returns it as it is
 * shown `at` its place; *y: its results. before: windows and results of the vector before, which
 * its own replace. */
kir_value tly_short_scan_alone(tly_short *s, const tly_place *at, kir_value x, int is_first,
                               kir_value *before, kir_value *y);

/* ---- short_carry.c: words with a carry ---- */

int64_t tly_short_carry_bytes(const tly_short *s); /* of scratch */
/* Prepares the scratch of a task of so many rows. */
void tly_short_begin_carry(tly_short *s, kir_value scratch, kir_value rows);
/* Reads the states that rows of the batch start from; stores those after them. */
void tly_short_take_states(tly_short *s, kir_value rows);
void tly_short_hand_on(tly_short *s, kir_value rows);
/* Copies the states of a piece's last elements, which fill no step; as tly_short_fill_pad. */
void tly_short_pad_states(tly_short *s, const tly_short_piece *p);
/* Where the states of element i of a piece, and of those after it, lie in `starts` and `ends`; from
 * `whole` on, unless it is 0, in the pad. 0: the word has no carry, or the piece stores nothing. */
kir_value tly_short_starts_at(tly_short *s, const tly_short_piece *p, kir_value i, kir_value whole);
kir_value tly_short_ends_at(tly_short *s, const tly_short_piece *p, kir_value i);
/* What a piece of one row starts from (also of words without a carry), and the state after it. */
kir_value tly_short_first_state(tly_short *s, const tly_short_piece *p);
void tly_short_last_state(tly_short *s, const tly_short_piece *p, kir_value state);
/* The states that join a vector, which begins `element` elements behind those whose states lie at
 * `states`: neutral ones where no row starts; 0: none starts in it. Stores those that follow rows
 * that end in the vector, whose states are y. */
kir_value tly_short_starts(tly_short *s, kir_value states, int64_t element,
                           const tly_short_vector *at);
void tly_short_store_ends(tly_short *s, kir_value states, int64_t element,
                          const tly_short_vector *at, kir_value y);

/* ---- short_prescale.c: with `prescale`, results as `bits` ---- */

/* What the scaled results of a row start from. */
kir_value tly_short_scaled_one(tly_short *s);
/* A vector of scaled results as the next vector continues it. */
kir_value tly_short_scaled_carry(tly_short *s, kir_value scaled);
/* Takes the scale out: accumulators, of which narrowing raises no flag of an underflow. `seen` is
 * brought up to date. */
kir_value tly_short_unscaled(tly_short *s, kir_value scaled, tly_short_seen *seen);
tly_short_seen tly_short_scaled_none(tly_short *s);
/* i1s: a scaled product left the range, or is infinite in the output; a product is so small that a
 * plain scan would have to be done again. */
kir_value tly_short_scaled_out_of_range(tly_short *s, const tly_short_seen *seen);
kir_value tly_short_scaled_fell(tly_short *s, const tly_short_seen *seen);

/* ---- short_validate.c ---- */

/* Scans the rows of a batch. If some left the range, scans all of them again, row by row, into the
 * buffer from `position` on. Returns i1: none did. *at_once (i1), with `prescale`: products are
 * scaled from the start; afterwards, whether those of the next batch should be. The bits do not
 * depend on it. */
kir_value tly_short_batch(tly_short *s, const tly_short_piece *batch, kir_value rows,
                          kir_value position, kir_value *at_once);

#endif
