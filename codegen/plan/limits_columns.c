/* SPDX-License-Identifier: Apache-2.0 */
/* What the columns template can be built with. */
#include "limits.h"

#define KEY(field) TLY_KEY(tly_plan, field)
#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_key table[] = {
    { KEY(lanes), TLY_LEAST_LANES, TLY_MOST_LANES, 1 },
    { KEY_AS("rows", pass_steps), 1, TLY_COLUMNS_MOST_STEPS, 1 },
    { KEY_AS("lines", pass_lines), 1, TLY_COLUMNS_MOST_LINES, 1 },
    { KEY(slices), 1, TLY_MOST_SLICES, 1 },
    { KEY(tile_lanes), 8, 65536, 1 },
    { KEY(prefetch), 0, 65536, 0 },
    { KEY(long_row), 0, 1 << 30, 0 },
    { KEY(small), 0, 1 << 30, 0 },
    { KEY(split_bytes), 0, 1 << 30, 0 },
};

static const char *refuses(const tly_problem *p)
{
    return p->form != TLY_COLUMNS ? "columns: no dim but the axis is innermost" : NULL;
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    const char *lanes = tly_fault_of_lanes(p, plan);
    if (lanes != NULL)
        return lanes;
    if (plan->slices > 1 && !tly_takes_slices(p))
        return "slices: lanes are few, or not neighbours";
    return plan->tile_lanes % tly_line_elements(p) != 0 ? "a tile is whole lines of output" : NULL;
}

const tly_limits tly_columns_limits = { { "columns", table, sizeof table / sizeof *table },
                                        refuses,
                                        fault };
