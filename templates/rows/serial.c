/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans along rows by the plain loop, bit for bit. Several rows run side by side, since one would
 * wait for its own latency. Rows of a few elements are unrolled whole, which is faster than any
 * vector scheme, if one operation combines two states.
 */
#include "../template.h"

enum { MAX_ROWS = TLY_SERIAL_MOST_ROWS };

typedef struct chains {
    unsigned count;
    tly_row row[MAX_ROWS];
    kir_value y[MAX_ROWS];
} chains;

/* Scans one position of every chain. */
static void step_chains(tly_build *c, chains *s, kir_value position)
{
    kir_value out = mul(c, position, tly_step(c, TLY_OUT));
    kir_value in = mul(c, position, tly_step(c, TLY_IN));
    for (unsigned k = 0; k < s->count; k++) {
        const tly_place here = tly_place_in(&s->row[k], position, 0);
        kir_value x = tly_load(c, ptradd(c, s->row[k].at[TLY_IN], in), 0, 1);
        kir_value element = tly_element(c, &here, x);
        kir_value next = tly_advance(c, &here, s->y[k], element);
        kir_value shown = tly_show(c, &here, tly_shown(c, element, s->y[k], next));
        tly_store(c, ptradd(c, s->row[k].at[TLY_OUT], out), 0, shown, 1, 0);
        s->y[k] = next;
    }
}

static void end_chains(tly_build *c, const chains *s)
{
    for (unsigned k = 0; k < s->count; k++) {
        const tly_place first = tly_place_in(&s->row[k], 0, 0);
        tly_end_at(c, &first, s->y[k]);
    }
}

/* Positions [0, length) of rows, whose segments go one after another. */
static void scan_rows(tly_build *c, chains s, kir_value length)
{
    const unsigned count = s.count;
    for (unsigned k = 0; k < count; k++) {
        const tly_place first = tly_place_in(&s.row[k], 0, 0);
        s.y[k] = tly_start_at(c, &first, 1);
    }
    /* Not of exponentials: 33 elements of cumlogsumexp took LLVM half a second, as a loop .05. */
    if (c->p->rows.length > 0 && tly_combines_by(c->p) != KIR_CONST) {
        for (unsigned i = 0; i < c->p->rows.length; i++)
            step_chains(c, &s, imm(c, i));
        end_chains(c, &s);
        return;
    }
    tly_region l = { 0 };
    emit_carry(&l, count, s.y);
    emit_for(c, &l, imm(c, 0), length, imm(c, 1));
    step_chains(c, &s, l.i);
    emit_end(c, &l);
    end_chains(c, &s);
}

static void scan_chains(tly_build *c, kir_value row, unsigned count)
{
    chains s = { .count = count };
    tly_region l = { 0 };
    for (unsigned k = 0; k < count; k++)
        s.row[k] = tly_row_address(c, add(c, row, imm(c, k)));
    if (c->p->segmented == TLY_SEGMENTED_NOT) {
        scan_rows(c, s, arg(c, KIR_ARG_LENGTH));
        return;
    }
    emit_for(c, &l, imm(c, 0), arg(c, KIR_ARG_SEGMENTS), imm(c, 1));
    chains one = s;
    kir_value length = 0;
    for (unsigned k = 0; k < count; k++) {
        const tly_segment segment = tly_segment_of(c, &s.row[k], l.i);
        one.row[k] = segment.row;
        length = segment.count;
        c->from = segment.first;
    }
    scan_rows(c, one, length);
    c->from = 0;
    emit_end(c, &l);
}

void tly_build_serial(tly_build *c, tly_launch *launch)
{
    unsigned together = (unsigned)c->plan->rows_at_once;
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END);
    kir_value whole = add(c, begin,
                          mul(c, imm(c, together), udiv(c, sub(c, end, begin), imm(c, together))));
    tly_region groups = { 0 }, rest = { 0 };
    launch->chunk = 0;
    emit_for(c, &groups, begin, whole, imm(c, together));
    scan_chains(c, groups.i, together);
    emit_end(c, &groups);
    emit_for(c, &rest, whole, end, imm(c, 1));
    scan_chains(c, rest.i, 1);
    emit_end(c, &rest);
    kir_return(c->b, imm(c, 0));
}
