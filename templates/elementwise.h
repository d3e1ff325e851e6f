/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise stages: functions of an accumulator, of each in as many lanes as there are. A row of the
 * table of operators' functions (codegen/operator_code.c) names those that elements go through before
 * they are lifted to states, and those that results go through after they are projected.
 */
#ifndef TLY_ELEMENTWISE_H
#define TLY_ELEMENTWISE_H

#include "../codegen/kir/kir.h"

struct tly_build; /* template.h */

typedef enum tly_stage_id {
    TLY_STAGE_END, /* none: ends a list */
    TLY_STAGE_ABS,
    TLY_STAGE_SQUARE,
    TLY_STAGE_EXP,
    TLY_STAGE_LOG,
    TLY_STAGE_SQRT,
    TLY_STAGE_SCALE, /* by one over how many elements there were; integers towards zero, of none 0 */
    TLY_STAGE_CAST,  /* integers to f64, of which the next is a function; floats as they are */
    TLY_STAGE_COUNT
} tly_stage_id;

enum { TLY_MOST_STAGES = 4 }; /* of a list, its end included */

typedef struct tly_stage {
    const char *name;
    kir_value (*make)(struct tly_build *c, kir_value x);
} tly_stage;

extern const tly_stage tly_stages[TLY_STAGE_COUNT];

/* x through all stages of a list, the first of them first. */
kir_value tly_through(struct tly_build *c, const uint8_t *list, kir_value x);

#endif
