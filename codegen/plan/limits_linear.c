/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of recurrences along rows can be built with. */
#include "limits.h"
#include "operator.h"
#include "shared_keys.h"

static const tly_plan_key table[] = {
    TLY_KEY_LANES(TLY_LEAST_LANES, TLY_MOST_LANES),
    { TLY_KEY_AS(tly_plan, "unroll", vectors), 1, TLY_LINEAR_MOST_VECTORS, 1,
      TLY_WHY({ TLY_ELSE, "A step takes so many vectors, whose results are checked together." }) },
    TLY_KEY_PREFETCH,
    TLY_KEY_SPLIT_BYTES,
};

static int is_dense(int step)
{
    return step == 1 || step == -1;
}

/* Integers of 64 bits have no fast product of vectors, and a fast one of scalars. Rows that are a
 * literal long are a vector or a few. */
int tly_linear_serves(const tly_problem *p)
{
    const int wide = tly_class_of((tally_dtype)p->acc) != TLY_FLOATING &&
                     tally_dtype_bytes((tally_dtype)p->acc) == 8;
    return tly_operator_of(p)->applies && p->form == TLY_ROWS && !wide &&
           p->order != TALLY_ORDER_SERIAL && p->rows.length == 0 && p->rows.least == 0 &&
           is_dense(p->tensor[TLY_IN].step) && is_dense(p->tensor[TLY_OUT].step);
}

static const char *refuses(const tly_problem *p)
{
    return tly_linear_serves(p) ? NULL : "linear: no recurrence along long rows, or apart";
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    return tly_fault_of_lanes(p, plan);
}

const tly_template_limits tly_linear_limits = {
    { "linear", table, sizeof table / sizeof *table,
      "The axis is innermost, and rows are long. So vectors go along the axis, and each is scanned "
      "as pairs of a factor and an addend." },
    0,
    tly_choices_of_linear,
    " prefetch split_bytes ",
    refuses,
    fault,
    NULL,
};
