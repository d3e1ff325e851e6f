/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise stages: functions of an accumulator, of each in as many lanes as there are. A row of the
 * table of operators' functions (codegen/operator_code.c) names those that elements go through before
 * they are lifted to states, and those that results go through after they are projected.
 */
#ifndef TLY_ELEMENTWISE_H
#define TLY_ELEMENTWISE_H

#include "../codegen/operator.h"

typedef struct tly_stage {
    const char *name;
    kir_value (*make)(struct tly_build *c, kir_value x);
} tly_stage;

extern const tly_stage tly_stages[TLY_STAGE_COUNT];

/* x through all stages of a list (tly_stage_id), the first of them first. */
kir_value tly_through(struct tly_build *c, const uint8_t *list, kir_value x);

#endif
