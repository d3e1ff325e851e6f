/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row on its way through the reference: what its elements so far have come to. Each family has
 * functions that begin a row, absorb an element and tell the result; reference.c calls them.
 */
#ifndef TLY_FOLD_H
#define TLY_FOLD_H

#include "reference.h"

/* Holds every sum of 64-bit integers. */
__extension__ typedef __int128 tly_exact_sum;

/* The element picked so far. */
typedef struct tly_pick {
    int started;
    uint64_t bits;
    int64_t index;
} tly_pick;

typedef struct tly_fold {
    const tally_descriptor *d;
    const tly_operation *operation;
    tally_dtype in, out, accumulator;
    int started;   /* something has been combined, or the identity takes part */
    int single;    /* the accumulator is f32 */
    int precision; /* of a float accumulator */
    uint64_t coef; /* recurrences: the factor of the element that comes next, as it is */
    uint64_t integer;
    tly_exact_sum whole; /* sums of integers whose mean is taken */
    int64_t first;       /* the index of the first element that takes part */
    int falls;           /* 1: indices fall from there */
    tly_fact fact;

    long double wide_flushed; /* `wide` of elements whose subnormals are zeros */

    /* Whether nothing rounds. */
    int lowest;        /* sums: exponent of the lowest bit set in any lifted element */
    long double reach; /* sums: of the lifted elements' magnitudes; recurrences: the largest m */
    double odd;        /* products: of the elements' odd parts */

    /* Log sums: the largest element, the sum of exp(x - largest), and in wider arithmetic also the
     * sum of (largest - x) * exp(x - largest). */
    double largest, shifted;
    long double wide_largest, wide_shifted, wide_slope;

    tly_pick pick, flushed; /* the latter of elements whose subnormals are zeros */
} tly_fold;

typedef struct tly_folding {
    void (*begin)(tly_fold *f); /* `fact` is zero but for its row and flags */
    void (*absorb)(tly_fold *f, uint64_t bits);
    void (*tell)(tly_fold *f); /* sets fact.bits and what goes with them */
} tly_folding;

extern const tly_folding tly_fold_floats;   /* sums and products */
extern const tly_folding tly_fold_integers; /* the same of integers */
extern const tly_folding tly_fold_linear_floats;
extern const tly_folding tly_fold_linear_integers;
extern const tly_folding tly_fold_logs;
extern const tly_folding tly_fold_picks; /* indices, too */

/* The least normal number of the accumulator's type, and what becomes of less where subnormals
 * count as zeros. The least normal number itself may be what a subnormal was rounded to. */
double tly_least_normal(const tly_fold *f);
double tly_flush(const tly_fold *f, double x);
int tly_may_flush(const tly_fold *f, double x);

/* Square root or logarithm in the accumulator's type, division by the count, or nothing. */
double tly_fold_project(const tly_fold *f, double sum);
/* The same of a sum that need be no number of that type, rounded to it. */
double tly_fold_project_wide(const tly_fold *f, long double sum);

#endif
