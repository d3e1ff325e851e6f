/*
 * Dense rows of a few elements as one stream: short.c the batches, short_scan.c the loop over them,
 * short_judge.c what left the floating-point range.
 */
#ifndef TLY_SHORT_H
#define TLY_SHORT_H

#include "template.h"

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
    int by_flags;       /* arithmetic's flags say what the main loop met */
    int by_bits;        /* states are one value, of which masks make a choice bit by bit */
    unsigned vectors;   /* a step: a line of output and more */
    int64_t step;       /* elements of it */
    kir_type bits;      /* a vector's lanes as integers; with `by_bits`, states are held so */
    kir_value neutral;
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
    TLY_SHORT_NOTHING
} tly_short_what;

/* ---- short_scan.c ---- */

void tly_short_borders(tly_short *s); /* at a kernel's start */
int64_t tly_short_table_bytes(const tly_short *s);
int64_t tly_short_pad_bytes(const tly_short *s);
/* To be done before the loops over a piece: its last elements, that fill no step. */
void tly_short_fill_pad(tly_short *s, const tly_short_piece *p);
/* Returns the magnitudes asked for, lane-wise, or 0. */
kir_value tly_short_scan(tly_short *s, const tly_short_piece *p, tly_short_what what);
/* The next vector of states of a row by itself (fixed: of whole rows), as it is shown; `y`: its
 * results. `before`: windows and results of the vector before, which its own replace. */
kir_value tly_short_scan_alone(tly_short *s, kir_value x, int is_first, kir_value *before,
                               kir_value *y);

/* ---- short_judge.c ---- */

/* Scans the rows of a batch; those that left the range once more, into the buffer from `position`
 * on. Returns i1: what it wrote at first stands. */
kir_value tly_short_batch(tly_short *s, const tly_short_piece *batch, kir_value rows,
                          kir_value position);

#endif
