/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of the plain loop can be built with. */
#include "limits.h"
#include "why.h"

#define KEY(field) TLY_KEY(tly_plan, field)
#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_key table[] = {
    { KEY_AS("unroll", rows_at_once), 1, TLY_SERIAL_MOST_ROWS, 1,
      TLY_WHY(
          { 1, "There is one vector of states, as short rows stand side by side or the order is "
               "serial." },
          { TLY_ELSE,
            "So many rows go side by side, so that their chains do not wait for themselves." }) },
    { KEY(split_bytes), 0, 1 << 30, 0, TLY_WHY_SPLIT_BYTES },
};

static const char *refuses(const tly_problem *p)
{
    return p->form != TLY_ROWS || p->unit > 1 ? "serial: one scan along each row" : NULL;
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    (void)p;
    (void)plan;
    return NULL;
}

const tly_limits tly_serial_limits = {
    { "serial", table, sizeof table / sizeof *table,
      "The plain loop's order is asked for, or scalar chains side by side are quicker than vectors "
      "that wait for each other." },
    refuses,
    fault
};
