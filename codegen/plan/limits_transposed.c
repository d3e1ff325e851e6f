/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of transposed views can be built with. */
#include "limits.h"
#include "shared_keys.h"

#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_plan_key table[] = {
    TLY_KEY_LANES(TLY_LEAST_LANES, TLY_MOST_LANES),
    { KEY_AS("rows", pass_steps), 1, TLY_TRANSPOSED_MOST_STEPS, 1,
      TLY_WHY({ TLY_ELSE,
                "A pass takes so many steps of the axis: whole lines of output, 32 at least." }) },
    TLY_KEY_TILE_LANES(8),
    TLY_KEY_PREFETCH,
    TLY_KEY_SPLIT_BYTES,
};

static const char *refuses(const tly_problem *p)
{
    return p->form != TLY_TRANSPOSED || p->lanes.packing
               ? "transposed: no view of columns as rows upwards"
               : NULL;
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    const char *lanes = tly_fault_of_lanes(p, plan);
    if (lanes != NULL)
        return lanes;
    if (plan->pass_steps % tly_line_elements(p) != 0)
        return "a pass is whole lines of output";
    return plan->tile_lanes % plan->lanes != 0 ? "a tile is whole vectors" : NULL;
}

const tly_template_limits tly_transposed_limits = {
    { "transposed", table, sizeof table / sizeof *table,
      "The input has columns and the output rows. So "
      "columns are scanned in registers and turned there." },
    0,
    tly_choices_of_transposed,
    "*",
    refuses,
    fault,
    NULL,
};
