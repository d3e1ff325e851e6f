/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense rows of a few elements as one stream: short.c the batches, short_scan.c the loop over them,
 * short_borders.c where rows begin, short_prescale.c its small products, short_validate.c what left
 * the floating-point range.
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
    /* Fixed: i1s, lanes at least 2^k from their row's start. */
    kir_value borders[TLY_SHORT_BORDERS];
    kir_value table, pad, buffer;
} tly_short;

/* Elements of one piece, whole rows: from where to where. */
typedef struct tly_short_piece {
    kir_value in, count;
    kir_value to;    /* 0: no results are wanted */
    kir_value lines; /* i1: `to` is whole lines past the cache; or 0 */
} tly_short_piece;

/* What a loop shows of a piece beside flags. */
typedef enum tly_short_what {
    TLY_SHORT_WINDOWS, /* the largest of its windows; results are none of its business */
    TLY_SHORT_RESULTS, /* the largest result */
    TLY_SHORT_APART,   /* how far results lie from the lower end of half of the range */
    TLY_SHORT_SCALED,  /* the largest and the least result, all of them made scaled (prescale) */
    TLY_SHORT_NOTHING
} tly_short_what;

typedef struct tly_short_seen {
    kir_value most, least; /* magnitudes as integers, lane-wise, or 0 */
    kir_value last;        /* vector of results (or of windows), as the next one takes it */
} tly_short_seen;

/* Where a vector lies. */
typedef struct tly_short_vector {
    int alone;              /* in a row by itself */
    int is_first;           /* the start of a row of several vectors: before it are neutral ones */
    int is_last;            /* it reaches beyond the row's end, where lanes are neutral */
    int64_t position;       /* of its first lane in the row, where all lanes are the row's or behind
                         its end; or 0 */
    kir_value t;            /* in the stream's table */
    int scaled;             /* its results are */
    const tly_place *place; /* of its elements, unless it is_last, and of its results; or NULL */
} tly_short_vector;

/* ---- short_borders.c ---- */

void tly_short_borders(tly_short *s); /* at a kernel's start */
int64_t tly_short_table_bytes(const tly_short *s);
/* Of a step's k-th vector, where t is its place in the stream's table; and t of the next vector. */
tly_short_vector tly_short_vector_of(const tly_short *s, unsigned k, kir_value t);
kir_value tly_short_next_position(tly_short *s, kir_value t);
/* v where border k is open, lanes at least 2^k from their row's start, else `other`. */
kir_value tly_short_within(tly_short *s, kir_value v, unsigned k, const tly_short_vector *p,
                           kir_value other);
/* That of results a vector before. */
unsigned tly_short_last_border(const tly_short *s);

/* ---- short_scan.c ---- */

int64_t tly_short_element_bytes(const tly_short *s); /* from one element to the next */
int64_t tly_short_pad_bytes(const tly_short *s);
/* Elements of whole steps in `count`. */
kir_value tly_short_steps(const tly_short *s, kir_value count);
/* To be done before the loops over a piece: its last elements, that fill no step. */
void tly_short_fill_pad(tly_short *s, const tly_short_piece *p);
/* Returns what was asked for. */
tly_short_seen tly_short_scan(tly_short *s, const tly_short_piece *p, tly_short_what what);
/* The next vector of states of a row by itself (fixed: of whole rows), as it is shown `at` its
 * place; `y`: its results. `before`: windows and results of the vector before, which its own
 * replace. */
kir_value tly_short_scan_alone(tly_short *s, const tly_place *at, kir_value x, int is_first,
                               kir_value *before, kir_value *y);

/* ---- short_prescale.c: with `prescale`, results as `bits` ---- */

/* What scaled results start from. */
kir_value tly_short_scaled_one(tly_short *s);
/* A vector of them as the next one takes it. */
kir_value tly_short_scaled_carry(tly_short *s, kir_value scaled);
/* The same as accumulators, of which narrowing raises no flag that says they underflowed; seen: */
kir_value tly_short_unscaled(tly_short *s, kir_value scaled, tly_short_seen *seen);
tly_short_seen tly_short_scaled_none(tly_short *s);
/* i1s: out of a scaled product's range, or infinite as an output; so small that a plain scan would
 * have to be done again. */
kir_value tly_short_scaled_out_of_range(tly_short *s, const tly_short_seen *seen);
kir_value tly_short_scaled_fell(tly_short *s, const tly_short_seen *seen);

/* ---- short_validate.c ---- */

/* Scans the rows of a batch; those that left the range once more, into the buffer from `position`
 * on. Returns i1: what it wrote at first stands. `low`, with `prescale`: i1, products are to be
 * scaled at once; then, in the next batch, too. Bits do not depend on it. */
kir_value tly_short_batch(tly_short *s, const tly_short_piece *batch, kir_value rows,
                          kir_value position, kir_value *low);

#endif
