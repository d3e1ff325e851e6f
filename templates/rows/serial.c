/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain loop, bit for bit: each row is one chain; several rows run side by side to hide the
 * latency of one. Rows of a few elements are unrolled whole, which beats every vector scheme, where
 * states are combined by one operation.
 */
#include "../template.h"

enum { MAX_ROWS = TLY_SERIAL_MOST_ROWS };

typedef struct chains {
    unsigned count;
    tly_row at[MAX_ROWS];
    kir_value y[MAX_ROWS];
} chains;

/* Position i of every chain, at byte offsets `in` and `out` from its position 0. */
static void step_chains(tly_build *c, chains *s, kir_value in, kir_value out)
{
    for (unsigned k = 0; k < s->count; k++) {
        kir_value x = tly_lift(c, tly_load(c, ptradd(c, s->at[k].at[TLY_IN], in), 0, 1));
        kir_value next = tly_combine(c, s->y[k], x);
        kir_value shown = tly_project(c, c->p->exclusive ? s->y[k] : next);
        tly_store(c, ptradd(c, s->at[k].at[TLY_OUT], out), 0, shown, 1, 0);
        s->y[k] = next;
    }
}

static void scan_chains(tly_build *c, kir_value row, unsigned count)
{
    chains s = { .count = count };
    for (unsigned k = 0; k < count; k++) {
        s.at[k] = tly_row_address(c, add(c, row, imm(c, k)));
        s.y[k] = tly_start(c, c->acc);
    }
    /* Not of exponentials: 33 elements of cumlogsumexp took LLVM half a second, as a loop .05. */
    if (c->p->rows.length > 0 && tly_combines_by(c->p) != KIR_CONST) {
        for (unsigned i = 0; i < c->p->rows.length; i++)
            step_chains(c, &s, mul(c, imm(c, i), tly_step(c, TLY_IN)),
                        mul(c, imm(c, i), tly_step(c, TLY_OUT)));
        return;
    }
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), arg(c, KIR_ARG_LENGTH), imm(c, 1), count, s.y);
    for (unsigned k = 0; k < count; k++)
        s.y[k] = l.carried[k];
    step_chains(c, &s, mul(c, l.i, tly_step(c, TLY_IN)), mul(c, l.i, tly_step(c, TLY_OUT)));
    kir_for_end(c->b, &l, s.y);
}

void tly_build_serial(tly_build *c, tly_launch *launch)
{
    unsigned together = (unsigned)c->plan->rows_at_once;
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END);
    kir_value whole = add(c, begin,
                          mul(c, imm(c, together), udiv(c, sub(c, end, begin), imm(c, together))));
    kir_loop l;
    launch->chunk = 0;
    kir_for(c->b, &l, begin, whole, imm(c, together), 0, NULL);
    scan_chains(c, l.i, together);
    kir_for_end(c->b, &l, NULL);
    kir_for(c->b, &l, whole, end, imm(c, 1), 0, NULL);
    scan_chains(c, l.i, 1);
    kir_for_end(c->b, &l, NULL);
    kir_return(c->b, imm(c, 0));
}
