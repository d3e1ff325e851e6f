/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the plan of a kernel for CPUs is chosen: the template (choose_template.c), then its keys one
 * by one, in the order of its table, by functions that name their measurements (choose_rows.c,
 * choose_columns.c, choose_reduce.c). docs/tuning-notes.md has what was tried.
 */
#ifndef TLY_PLAN_CHOOSE_H
#define TLY_PLAN_CHOOSE_H

#include "plan.h"

#include "../../runtime/host/error.h"
#include "limits.h"
#include "operator.h"

/* How a key's value is chosen: by a function, or one number for all. */
typedef struct tly_choice {
    size_t at; /* in a plan; 0 ends a table */
    int32_t (*choose)(const tly_problem *p, const tly_target *t, const tly_plan *plan);
    int32_t always;
} tly_choice;

#define KEY(field) offsetof(tly_plan, field)

tly_template tly_choose_template(const tly_problem *p, const tly_target *t);

/* In this order: each may look at those before it. */
extern const tly_choice tly_choices_of_rows[];
extern const tly_choice tly_choices_of_short[];
extern const tly_choice tly_choices_of_serial[];
extern const tly_choice tly_choices_of_columns[];
extern const tly_choice tly_choices_of_transposed[];
extern const tly_choice tly_choices_of_tiles[];
extern const tly_choice tly_choices_of_narrow[];
extern const tly_choice tly_choices_of_reduce_rows[];
extern const tly_choice tly_choices_of_reduce_lanes[];
extern const tly_choice tly_choices_of_reduce_interleaved[];

/* Of several templates: lanes of a whole vector; elements of a chunk, 0 for none; the least bytes
 * that are worth a second thread, 0 where the machine knows. */
int32_t tly_choose_lanes(const tly_problem *p, const tly_target *t, const tly_plan *plan);
int32_t tly_choose_chunk(const tly_problem *p, const tly_target *t, const tly_plan *plan);
int32_t tly_choose_split(const tly_problem *p, const tly_target *t, const tly_plan *plan);

/* Products of integers; of 64 bits. */
int tly_multiplies_integers(const tly_problem *p);
int tly_is_wide_product(const tly_problem *p);

static inline int32_t tly_larger_of(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

#endif
