/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise stages: functions of an accumulator, lane by lane. The problem names those that
 * elements go through before they are lifted to states, and those that results go through after
 * they are projected.
 */
#ifndef TLY_ELEMENTWISE_H
#define TLY_ELEMENTWISE_H

#include "../../codegen/plan/operator.h"

typedef struct tly_stage {
    const char *name;
    kir_value (*make)(struct tly_build *c, kir_value x);
    /* The same where x is a sum of elements as multiples of `unit`, a power of two, because the sum
     * of the elements is no number. NULL: what comes next is the result of such multiples, too. */
    kir_value (*times)(struct tly_build *c, kir_value x, kir_value unit);
} tly_stage;

extern const tly_stage tly_stages[TLY_STAGE_COUNT];

/* x through all stages of a list (TLY_STAGES), the first of them first. */
kir_value tly_through(struct tly_build *c, unsigned stages, kir_value x);
/* The same of sums of elements as multiples of `unit`, which is 1 or, before a logarithm, 2^64. */
kir_value tly_through_times(struct tly_build *c, unsigned stages, kir_value x, kir_value unit);

/* Means of sums of integers as (lower, upper) 64 bits. */
kir_value tly_mean_of_wide(struct tly_build *c, kir_value lower, kir_value upper);
/* The same sums of states as they were added. */
kir_value tly_whole_of(struct tly_build *c, kir_value state);

#endif
