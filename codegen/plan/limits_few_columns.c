/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of narrow columns can be built with. */
#include "limits.h"
#include "operator.h"
#include "shared_keys.h"

#define KEY(field) TLY_KEY(tly_plan, field)
#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_plan_key table[] = {
    TLY_KEY_LANES(TLY_LEAST_LANES, TLY_MOST_LANES),
    { KEY(history), 0, 1, 0,
      TLY_WHY({ 0, "The row before is too long for registers, and stays in scratch." },
              { 1, "The row before stays in registers." }, { TLY_ELSE, "" }) },
    { KEY_AS("unroll", step_lines), 1, TLY_FEW_COLUMNS_MOST_LINES, 1,
      TLY_WHY({ 1, "There is one vector of states, as short rows stand side by side or the order "
                   "is serial." },
              { TLY_ELSE, "A step takes so many lines: about as many vectors as the history holds, "
                          "so that few are moved." }) },
    { KEY_AS("block", kept_results), 8, 8192, 1,
      TLY_WHY({ TLY_ELSE, "Scratch holds 8 KiB of results, which stay in L1 with the input ahead "
                          "(16 KiB .75 of a copy, 8 KiB .97; Zen 4)." }) },
    TLY_KEY_PREFETCH,
    TLY_KEY_SPLIT_BYTES,
};

int32_t tly_few_columns_vectors(const tly_problem *p, const tly_plan *plan)
{
    return (p->lanes.count + plan->lanes - 1) / plan->lanes + p->exclusive;
}

int tly_are_packed(const tly_problem *p)
{
    return p->form == TLY_COLUMNS &&
           (p->lanes.packing == TLY_PACKED_UP || p->lanes.packing == TLY_PACKED_DOWN);
}

/* Whether operands lie as the input does, or are one element; and no result is shown again whose
 * input it may have overwritten. */
static int are_along(const tly_problem *p)
{
    int along = (tly_codes_of(p, TLY_EXPRESSION_POST) >> TLY_POSTFIX_X & 1) == 0;
    for (int t = TLY_FIRST_OPERAND; t < tly_operands_end(p); t++)
        along = along && p->tensor[t].step != TLY_ANY_STEP;
    return along;
}

static const char *refuses(const tly_problem *p)
{
    return !tly_are_packed(p) ? "narrow: the columns are not packed"
           : p->resets        ? "narrow: states are not dropped"
           : tly_has_index(p) ? "narrow: elements do not know their positions"
           : !are_along(p)    ? "narrow: operands lie as the input does, and post needs no x"
                              : NULL;
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    int32_t step = plan->step_lines * tly_line_elements(p);
    const char *lanes = tly_fault_of_lanes(p, plan);
    if (lanes != NULL)
        return lanes;
    if (plan->history &&
        (p->lanes.count == 0 || tly_few_columns_vectors(p, plan) > TLY_FEW_COLUMNS_MOST_HISTORY))
        return "history: too many vectors of results";
    if (plan->kept_results % step != 0)
        return "the block is no multiple of the lines of a step";
    return step > TLY_FEW_COLUMNS_MOST_VECTORS * plan->lanes ? "so many lines are too much" : NULL;
}

const tly_template_limits tly_few_columns_limits = {
    { "narrow", table, sizeof table / sizeof *table,
      "The columns are packed, and too few for passes of their own. So they are one stream, in "
      "which a result is the result one row before it, combined with the input." },
    0,
    tly_choices_of_few_columns,
    "*",
    refuses,
    fault,
    NULL,
};
