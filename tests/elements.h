/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements as text: blank-separated, in memory order from the lowest index that the strides reach
 * to the highest: decimal or hexadecimal numbers, inf, -inf, nan, -0; "V*N" is N times V. In an
 * output "~V" is V within 1e-5 of it, "_" is no element and must stay untouched, "?" is not looked
 * at.
 */
#ifndef TLY_ELEMENTS_H
#define TLY_ELEMENTS_H

#include <tally/descriptor.h>

typedef struct tly_elements {
    uint64_t *bits;
    char *marks; /* 0, '~', '_' or '?' */
    int64_t count;
} tly_elements;

/* A case written by hand: a word, the input's elements and the output's. */
typedef struct tly_case {
    const char *word, *in, *out;
} tly_case;

/* Returns 0; or -1 if the text has not `count` elements, `elements` then saying how many. Either
 * way to be released. */
int tly_elements_read(tally_dtype dtype, const char *text, int64_t count, tly_elements *elements);
void tly_elements_release(tly_elements *elements);

/* What an untouched element holds. */
uint64_t tly_canary(tally_dtype dtype);

/* Is `got` what element k of an output should be? */
int tly_element_is_right(tally_dtype dtype, const tly_elements *elements, int64_t k, uint64_t got);

#endif
