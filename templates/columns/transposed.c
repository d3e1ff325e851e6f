/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of a transposed view: the input is contiguous across lanes, the output along the axis.
 * A pass takes a few lines' worth of axis steps of all lanes: lanes are scanned as columns in
 * registers (the serial order), turned there, and leave as whole lines along the axis; one
 * state a lane waits in scratch for the next pass.
 */
#include "../template.h"

enum { LINE = 64 };

typedef struct turned {
    tly_build *c;
    kir_value sums, in, out, count, length, in_axis, out_lane;
} turned;

/* One line of output for each of `lanes` lanes: axis steps from `in` on. Returns the
 * states after it. */
static kir_value turn_line(turned *k, kir_value in, kir_value out, kir_value y, kir_value streams)
{
    tly_build *c = k->c;
    unsigned n = c->lanes, parts = tly_line(c) / n;
    kir_value part[TLY_MOST_LINE_VECTORS][TLY_MOST_LANES];
    for (unsigned q = 0; q < parts; q++) {
        kir_value r[TLY_MOST_LANES];
        for (unsigned i = 0; i < n; i++) {
            kir_value next = tly_combine(c, y, tly_lift(c, tly_load(c, in, 0, n)));
            r[i] = tly_project(c, c->p->exclusive ? y : next);
            y = next;
            in = ptradd(c, in, k->in_axis);
        }
        tly_transpose(c, r, n);
        for (unsigned i = 0; i < n; i++)
            part[q][i] = tly_narrow(c, r[i]);
    }
    unsigned count = parts, wide = n * c->bytes[TLY_OUT];
    for (; count > 1 && wide < (unsigned)c->t->vector_bytes; count /= 2, wide *= 2)
        for (unsigned q = 0; q < count / 2; q++)
            for (unsigned i = 0; i < n; i++)
                part[q][i] = tly_join(c, part[2 * q][i], part[2 * q + 1][i]);
    kir_branch way;
    kir_if(c->b, &way, streams);
    for (unsigned flags = KIR_STREAM;; flags = 0) {
        kir_value to = out;
        for (unsigned i = 0; i < n; i++) {
            for (unsigned q = 0; q < count; q++)
                kir_store(c->b, to, (int64_t)q * wide, part[q][i], flags ? wide : 1, flags);
            to = ptradd(c, to, k->out_lane);
        }
        if (flags == 0)
            break;
        kir_else(c->b, &way, 0, NULL);
    }
    kir_if_end(c->b, &way, 0, NULL);
    return y;
}

/* Lane `lane`, axis steps [from, to), one at a time. */
static void scalars(turned *k, kir_value lane, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    kir_value sum = tly_states_at(c, k->sums, lane);
    kir_value in = tly_at(c, k->in, lane, c->bytes[TLY_IN]);
    kir_value out = ptradd(c, k->out, mul(c, lane, k->out_lane));
    kir_value y = tly_states_load(c, sum, 0, 1);
    kir_loop l;
    kir_for(c->b, &l, from, to, imm(c, 1), 1, &y);
    kir_value x = tly_load(c, ptradd(c, in, mul(c, l.i, k->in_axis)), 0, 1);
    kir_value next = tly_combine(c, l.carried[0], tly_lift(c, x));
    kir_value shown = tly_project(c, c->p->exclusive ? l.carried[0] : next);
    tly_store(c, tly_at(c, out, l.i, c->bytes[TLY_OUT]), 0, shown, 1, 0);
    kir_for_end(c->b, &l, &next);
    tly_states_store(c, sum, 0, l.result[0]);
}

/* Whole lines of whole vectors of lanes. */
static void turn_all(turned *k, kir_value lanes, kir_value steps, kir_value streams)
{
    tly_build *c = k->c;
    unsigned lines = (unsigned)c->plan->pass_steps / tly_line(c);
    int64_t a_pass = c->plan->pass_steps;
    unsigned a_line = LINE / c->bytes[TLY_IN]; /* lanes in a line of input */
    a_line = a_line < c->lanes ? c->lanes : a_line;
    kir_loop pass, line, group;
    kir_for(c->b, &pass, imm(c, 0), steps, imm(c, a_pass), 0, NULL);
    kir_value in = ptradd(c, k->in, mul(c, pass.i, k->in_axis));
    kir_value out = tly_at(c, k->out, pass.i, c->bytes[TLY_OUT]);
    kir_for(c->b, &line, imm(c, 0), lanes, imm(c, a_line), 0, NULL);
    kir_value ahead = ptradd(c, tly_at(c, in, line.i, c->bytes[TLY_IN]), imm(c, c->plan->prefetch));
    for (int64_t s = 0; s < a_pass; s++) {
        kir_prefetch(c->b, ahead, 0);
        ahead = ptradd(c, ahead, k->in_axis);
    }
    kir_value end = tly_min(c, lanes, add(c, line.i, imm(c, a_line)));
    kir_for(c->b, &group, line.i, end, imm(c, c->lanes), 0, NULL);
    kir_value sums = tly_states_at(c, k->sums, group.i);
    kir_value from = tly_at(c, in, group.i, c->bytes[TLY_IN]);
    kir_value to = ptradd(c, out, mul(c, group.i, k->out_lane));
    kir_value y = tly_states_load(c, sums, 0, c->lanes);
    for (unsigned s = 0; s < lines; s++) {
        y = turn_line(k, from, to, y, streams);
        from = ptradd(c, from, mul(c, k->in_axis, imm(c, tly_line(c))));
        to = ptradd(c, to, imm(c, LINE));
    }
    tly_states_store(c, sums, 0, y);
    kir_for_end(c->b, &group, NULL);
    kir_for_end(c->b, &line, NULL);
    kir_for_end(c->b, &pass, NULL);
}

static void transposed_body(tly_build *c, tly_row at, kir_value count, kir_value sums)
{
    turned k = {
        .c = c,
        .sums = sums,
        .in = at.at[TLY_IN],
        .out = at.at[TLY_OUT],
        .count = count,
        .length = arg(c, KIR_ARG_LENGTH),
        .in_axis = tly_axis(c, TLY_IN),
        .out_lane = tly_lane(c, TLY_OUT),
    };
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), tly_round_up(c, count, c->lanes), imm(c, c->lanes), 0, NULL);
    tly_states_store(c, tly_states_at(c, k.sums, l.i), 0, tly_start(c, c->vec));
    kir_for_end(c->b, &l, NULL);

    kir_value lanes = tly_round_down(c, count, c->lanes);
    kir_value steps = tly_round_down(c, k.length, c->plan->pass_steps), zero = imm(c, 0);
    kir_value where = bor(c, kir_addr(c->b, k.out), k.out_lane);
    kir_value aligned = equal(c, band(c, where, imm(c, LINE - 1)), zero);
    turn_all(&k, lanes, steps, band(c, tly_streams(c), aligned));
    kir_for(c->b, &l, zero, count, imm(c, 1), 0, NULL);
    scalars(&k, l.i, choose(c, less(c, l.i, lanes), steps, zero), k.length);
    kir_for_end(c->b, &l, NULL);
}

void tly_build_transposed(tly_build *c, tly_launch *launch)
{
    tly_each_row_of_lanes(c, launch, transposed_body);
}
