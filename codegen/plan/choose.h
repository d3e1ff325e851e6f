/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the plan of a kernel for CPUs is chosen: the keys of its template one by one, in the order of
 * their table, by functions that name their measurements (choose_rows.c, choose_columns.c,
 * choose_reduce.c). docs/tuning-notes.md has what was tried.
 */
#ifndef TLY_PLAN_CHOOSE_H
#define TLY_PLAN_CHOOSE_H

#include "plan.h"

#include "../../runtime/host/error.h"
#include "limits.h"
#include "operator.h"

#define KEY(field) offsetof(tly_plan, field)

/* Of several templates: lanes of a whole vector; elements of a chunk, 0 for none; the least bytes
 * that are worth a second thread, 0 where the machine knows. */
int32_t tly_choose_lanes(const tly_problem *p, const tly_target *t, const tly_plan *plan);
int32_t tly_choose_chunk(const tly_problem *p, const tly_target *t, const tly_plan *plan);
int32_t tly_choose_split(const tly_problem *p, const tly_target *t, const tly_plan *plan);

static inline int32_t tly_larger_of(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

#endif
