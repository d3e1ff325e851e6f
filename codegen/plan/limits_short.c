/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of short rows can be built with. */
#include "limits.h"
#include "operator.h"
#include "shared_keys.h"

#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_plan_key table[] = {
    TLY_KEY_LANES(TLY_LEAST_LANES, TLY_MOST_LANES),
    { KEY_AS("block", block_elements), 8, 8192, 0,
      TLY_WHY({ TLY_ELSE, "The range is looked at after so many elements." }) },
    TLY_KEY_PREFETCH,
    TLY_KEY_SPLIT_BYTES,
};

static const char *refuses(const tly_problem *p)
{
    int shorter = p->form == TLY_ROWS && (p->rows.length > 0 || p->rows.is_medium);
    return !shorter                         ? "short: rows are dense, of up to 255 elements"
           : p->order == TALLY_ORDER_SERIAL ? "short: the order is not the plain loop's"
           : p->carry || p->resets          ? "short: states of rows go on, and are not dropped"
           : tly_operator_of(p)->applies    ? "short: states of this operator are not combined"
           : tly_has_index(p)               ? "short: elements do not know their positions"
           : tly_shows_otherwise(p)         ? "short: results are stored at once, not from keys"
                                            : NULL;
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    return tly_fault_of_lanes(p, plan);
}

const tly_template_limits tly_short_limits = {
    { "short", table, sizeof table / sizeof *table,
      "Rows are short and lie one behind the other. So they are "
      "one stream of vectors, whatever their length." },
    0,
    tly_choices_of_short,
    " prefetch split_bytes ",
    refuses,
    fault,
    NULL,
};
