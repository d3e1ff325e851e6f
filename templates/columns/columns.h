/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the template columns share: a range of lanes that is scanned, and what of it is
 * fetched ahead. */
#ifndef TLY_COLUMNS_H
#define TLY_COLUMNS_H

#include "../template.h"

enum { TLY_MEMORY_LINE = 64 /* of a line of memory */ };

/* What is prefetched, by rows of one tensor. `row` is the bytes of the lanes of a row, negative if
 * lanes go downwards, as is `rest`. */
typedef struct tly_columns_ahead {
    kir_value row, rows, rest;
} tly_columns_ahead;

typedef struct tly_columns {
    tly_build *c;
    kir_value sums;          /* a row of states; lane 0 of this range is the first */
    kir_value streams;       /* i1: lines go past the cache */
    kir_value prefetchw;     /* i1: lines of output are fetched ahead */
    tly_row row;             /* lane 0 of this range at the axis' start */
    kir_value count, length; /* lanes, axis steps */
    kir_value in_axis, out_axis;
    kir_value way; /* 1, or -1: lanes go from the last to the first */
    tly_columns_ahead ahead[TLY_TENSOR_COUNT];
    int direct; /* results are the states */
} tly_columns;

/* What one round of a pass takes: `steps` axis steps of `vectors` vectors. */
typedef struct tly_columns_tile {
    unsigned steps, vectors;
    unsigned pairs;    /* 1: bf16 in pairs; states then lie in the order of pairs, too */
    kir_value streams; /* i1: lines may go past the cache; 0: never */
} tly_columns_tile;

/* Lane 0 at an axis step, and where the states before it lie. */
typedef struct tly_columns_line {
    kir_value step, in, out, sums;
} tly_columns_line;

/* ---- columns_ahead.c ---- */

/* Sets what is prefetched. */
void tly_columns_look_ahead(tly_columns *k);
/* What comes behind the rows of a pass when lane j is taken. */
void tly_columns_prefetch(tly_columns *k, const tly_columns_tile *t, const tly_columns_line *at,
                          kir_value j);
/* Lines of output are fetched ahead where states are stored beside it. `to`: those of each step. */
void tly_columns_prefetchw(tly_columns *k, const tly_columns_tile *t, const kir_value *to);
/* A step's first and last line are fetched ahead if they are written in part: the CPU must read
 * them, and stores past the cache would wait for that. Whole lines are not read by the CPU, so
 * fetching them would only cost. */
void tly_columns_prefetchw_ends(tly_columns *k, tly_columns_line at, unsigned steps);

#endif
