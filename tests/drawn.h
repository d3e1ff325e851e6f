/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One random case of any operator with its tensors in memory, and a second reference for it,
 * written in another way: it walks the input by coordinates, counts in 128 bits, looks for a winner
 * in two passes, and adds from the far end.
 */
#ifndef TLY_DRAWN_H
#define TLY_DRAWN_H

#include "random.h"
#include "reference.h"

typedef struct tly_drawn {
    tally_descriptor d;
    const tly_operation *operation;
    tally_dtype from, to;
    tly_layout layout;
    tly_data data;
    char word[TALLY_WORD_MAX];
    char *in, *out;     /* the tensors' lowest elements */
    char *written;      /* how often each output element was */
    uint64_t *elements; /* a row's, in the order of combination, and how many that are */
    int64_t count;
    int64_t seen, exact;
} tly_drawn;

/* Most elements of a case; a failure ends the Criterion test. */
enum { TLY_DRAWN_MOST = 2000 };

void tly_drawn_open(tly_drawn *c, uint64_t seed, uint32_t draws);
void tly_drawn_close(tly_drawn *c);

/* The pointer that a tensor's indices count from. */
void *tly_drawn_origin(char *low, int64_t index, tally_dtype dtype);

/* Sets `elements` to those of a row; then element k of them as a number. */
void tly_drawn_gather(tly_drawn *c, int64_t row);
double tly_drawn_number(const tly_drawn *c, int64_t k);

/* Whether the reference's result of the row that was gathered is the second one's. */
void tly_drawn_check(tly_drawn *c, const tly_fact *f);

#endif
