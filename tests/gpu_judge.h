/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests/gpu_whole.c computes: data that are made anew wherever they are needed, and a plain
 * loop that goes along with the output, a piece at a time.
 */
#ifndef TLY_GPU_JUDGE_H
#define TLY_GPU_JUDGE_H

#include <tally.h>

typedef enum tly_whole_data {
    TLY_WHOLE_SIGNED,
    TLY_WHOLE_NEAR1,
    TLY_WHOLE_DECAY,
    TLY_WHOLE_GROW,
    TLY_WHOLE_KINDS
} tly_whole_data;

/* One tensor: rows x length x lanes elements, and a piece of it on the host. */
typedef struct tly_whole {
    tally_descriptor d;
    tly_whole_data data;
    int64_t count, length, lanes;
    size_t element;
    char *piece;
    /* Of every lane of the row that is being checked. */
    uint64_t *integer;
    double *real, *largest;
} tly_whole;

/* The input's elements from `from` on, into the piece. */
void tly_whole_fill(const tly_whole *w, int64_t from, int64_t count);

/* Of a scan, pieces in their order: -1, or the first element of the piece that is wrong. */
int64_t tly_whole_judge(const tly_whole *w, int64_t from, int64_t count);

/* A sum over all has one element of output. */
int tly_whole_judge_sum(const tly_whole *w);

#endif
