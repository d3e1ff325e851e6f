/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of the plain loop can be built with. */
#include "limits.h"

#define KEY(field) TLY_KEY(tly_plan, field)
#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_key table[] = {
    { KEY_AS("unroll", rows_at_once), 1, TLY_SERIAL_MOST_ROWS, 1 },
    { KEY(split_bytes), 0, 1 << 30, 0 },
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

const tly_limits tly_serial_limits = { { "serial", table, sizeof table / sizeof *table },
                                       refuses,
                                       fault };
