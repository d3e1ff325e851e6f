/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the elements of a tensor are written, so that they line up as numpy's do. Its elements are
 * seen twice before they are written: the first time to find how large the numbers are, which says
 * whether exponents are written, the second time to find how wide they are. The rules are those of
 * numpy's _core/arrayprint.py.
 */
#ifndef TLY_STYLE_H
#define TLY_STYLE_H

#include <tally.h>

enum { TLY_MOST_WORD = 64 };

/* All zero but for the dtype is the start. */
typedef struct tly_style {
    tally_dtype dtype;
    double least, most;       /* magnitudes of the finite numbers other than zero; most 0: none */
    int not_finite, negative; /* whether there are infinities or NaNs, and -inf among them */
    int exponents;            /* whether numbers are written as 1.5e+10 */
    /* The widest of what stands before the point, behind it, behind it where exponents follow, and
     * in an exponent. */
    int left, right, precision, exponent_digits;
} tly_style;

/* To be called for every element, then again for every element, in this order. */
void tly_style_see_range(tly_style *style, const void *element);
void tly_style_see_width(tly_style *style, const void *element);

/* Writes an element as wide as all others. */
void tly_style_write(const tly_style *style, const void *element, char word[TLY_MOST_WORD]);

/* Writes the element of a tensor of rank 0, which has all of its digits and nothing to line up
 * with. */
void tly_style_write_lone(tally_dtype dtype, const void *element, char word[TLY_MOST_WORD]);

#endif
