/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows, several at once: reduce_group.c what becomes of their states, reduce_group_rows.c how
 * elements become these, reduce_group_squares.c what sums of squares leave to do.
 */
#ifndef TLY_REDUCE_GROUP_H
#define TLY_REDUCE_GROUP_H

#include "reduce.h"

enum { TLY_GROUP_MOST = TLY_REDUCE_MOST_GROUP };

typedef struct tly_group {
    tly_reduce *r;
    const tly_reduce_rules *rules;
    unsigned rows;
    int masked;                   /* vectors are loaded in part; else all are whole */
    int has_steps;                /* each row has several; else one */
    kir_value from, to;           /* of these are taken at once */
    kir_value first, row_bytes;   /* address of the first row's element 0; from one to the next, */
    kir_value last;               /* number of the last, behind which all are that one */
    kir_value at, index;          /* of a step: the first row's element 0, and its index */
    kir_value length, contiguous; /* of a step; 0 unless rows lie one behind the other */
    kir_value ahead,
        line_stride; /* what is fetched: bytes before it is needed, and between two lines */
    kir_value rate;  /* how many times as far on it goes as the loads of a row */
} tly_group;

/* States of elements, a vector for each row. */
void tly_group_take(tly_group *g, kir_value *state);
/* The same of rows that fit so many parts of a vector; `packed`: that are as long, one behind the
 * other. */
void tly_group_take_parts(tly_group *g, unsigned parts, int contiguous, kir_value *state);

/* ---- reduce_group_squares.c ---- */

/* i1s: tiny sums, zeros and infinite ones were met in some row. */
enum { TLY_GROUP_MET = 3 };
/* Results `y` of sums of squares as they are to be stored: those of tiny sums as zeros, so that
 * what is 0 or infinite is what was met; and no other is. */
kir_value tly_group_notice(tly_group *g, kir_value sums, kir_value y, kir_value *met);
/* Those of rows [begin, end) once more, if need be. */
void tly_group_redo(tly_group *g, kir_value begin, kir_value end, const kir_value *met,
                    tly_reduce_one_row alone);

#endif
