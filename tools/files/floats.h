/* SPDX-License-Identifier: Apache-2.0 */
/* Floats of every width, as numbers and as the shortest decimals that name them. */
#ifndef TLY_FLOATS_H
#define TLY_FLOATS_H

#include <tally.h>

/* The float of a dtype (f64, f32, f16, bf16) at `from`, which need not be aligned. */
double tly_float_load(tally_dtype dtype, const void *from);

/* Rounds the number to the dtype, to nearest even, and stores it. */
void tly_float_store(tally_dtype dtype, double value, void *to);

enum { TLY_MOST_DIGITS = 17 };

/* A finite number without its sign: d.ddd times ten to the exponent. */
typedef struct tly_digits {
    char digit[TLY_MOST_DIGITS + 1]; /* '0' to '9', ended by a zero */
    int count; /* at least 1; none is a zero at the end, except of the number 0 */
    int exponent;
} tly_digits;

/* The fewest digits that name this number among all of its dtype; of several such the nearest. */
tly_digits tly_float_digits(tally_dtype dtype, double value);

/* The number rounded to `count` digits, from 1 to TLY_MOST_DIGITS. */
tly_digits tly_float_rounded(double value, int count);

#endif
