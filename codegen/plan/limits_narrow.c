/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of narrow columns can be built with. */
#include "limits.h"

#define KEY(field) TLY_KEY(tly_plan, field)
#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_key table[] = {
    { KEY(lanes), TLY_LEAST_LANES, TLY_MOST_LANES, 1 },
    { KEY(history), 0, 1, 0 },
    { KEY_AS("unroll", step_lines), 1, TLY_NARROW_MOST_LINES, 1 },
    { KEY_AS("block", kept_results), 8, 8192, 1 },
    { KEY(prefetch), 0, 65536, 0 },
    { KEY(split_bytes), 0, 1 << 30, 0 },
};

int32_t tly_narrow_vectors(const tly_problem *p, const tly_plan *plan)
{
    return (p->lanes.count + plan->lanes - 1) / plan->lanes + p->exclusive;
}

int tly_are_packed(const tly_problem *p)
{
    return p->form == TLY_COLUMNS &&
           (p->lanes.packing == TLY_PACKED_UP || p->lanes.packing == TLY_PACKED_DOWN);
}

static const char *refuses(const tly_problem *p)
{
    return tly_are_packed(p) ? NULL : "narrow: the columns are not packed";
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    int32_t step = plan->step_lines * tly_line_elements(p);
    const char *lanes = tly_fault_of_lanes(p, plan);
    if (lanes != NULL)
        return lanes;
    if (plan->history &&
        (p->lanes.count == 0 || tly_narrow_vectors(p, plan) > TLY_NARROW_MOST_HISTORY))
        return "history: too many vectors of results";
    if (plan->kept_results % step != 0)
        return "the block is no multiple of the lines of a step";
    return step > TLY_NARROW_MOST_VECTORS * plan->lanes ? "so many lines are too much" : NULL;
}

const tly_limits tly_narrow_limits = { { "narrow", table, sizeof table / sizeof *table },
                                       refuses,
                                       fault };
