/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows, several at once. reduce_group_rows.c takes elements to states, reduce_group.c folds
 * the states of all rows together, and reduce_group_squares.c finds the sums of squares that must
 * be made once more.
 */
#ifndef TLY_REDUCE_GROUP_H
#define TLY_REDUCE_GROUP_H

#include "reduce.h"

enum { TLY_GROUP_MOST = TLY_REDUCE_MOST_GROUP };

typedef struct tly_row_group {
    tly_reduce *r;
    const tly_reduce_rules *rules;
    unsigned rows;
    int masked;         /* vectors can be loaded in part; otherwise rows are whole vectors */
    int has_steps;      /* a row may have several steps; otherwise it has one */
    kir_value from, to; /* the steps that are taken at once */
    tly_row base;       /* the first of all rows that lie evenly apart, and its result */
    kir_value row_bytes[TLY_TENSOR_COUNT]; /* to the next row */
    kir_value is_packed;                   /* i1: rows lie one behind the other */
    tly_row first;                         /* the first row, in tensors that are read */
    kir_value last;                        /* number of the last row, which stands for all behind */
    tly_row at;                            /* the first row at a step: element 0, ... */
    kir_value index;                       /* ... and its index */
    kir_value length,
        contiguous; /* of a step; `contiguous`: the same, but 0 where rows have gaps */
    /* What is fetched ahead: bytes from the first row; bytes between two lines; and by how much it
     * advances for each byte that a row's loads advance. */
    kir_value ahead, line_stride, rate;
} tly_row_group;

/* Makes the states of the rows, a vector each. */
void tly_row_group_take(tly_row_group *g, kir_value *state);
/* The same of rows so short that a vector holds `parts` of them. If `contiguous`, rows are as
 * long as a part and lie one behind the other. */
void tly_row_group_take_parts(tly_row_group *g, unsigned parts, int contiguous, kir_value *state);

/* ---- reduce_group_squares.c ---- */

/* i1s: some row so far had a tiny sum, a zero, an infinite one. */
enum { TLY_GROUP_MET = 3 };
/* The results `y` as they are stored: those of tiny sums as zeros. So exactly the rows that may
 * have to be done once more are 0 or infinite in the output. */
kir_value tly_row_group_notice(tly_row_group *g, kir_value sums, kir_value y, kir_value *met);
/* Does these rows of [begin, end) once more, if flags say that they are wrong. */
void tly_row_group_redo(tly_row_group *g, kir_value begin, kir_value end, const kir_value *met,
                        tly_reduce_one_row alone);

#endif
