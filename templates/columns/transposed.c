/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of a transposed view: lanes are neighbours in the input, axis steps in the output. A pass
 * takes as many axis steps of all lanes as fill a few lines of output. A vector of lanes is scanned
 * along the axis in registers, in serial order. The results are transposed in registers and stored
 * as whole lines along the axis. Between passes, one state a lane waits in scratch.
 */
#include "../template.h"

enum { LINE = 64 };

typedef struct transposed {
    tly_build *c;
    tly_row row; /* lane 0 of this range at the axis' start */
    kir_value sums, count, length, in_axis, out_lane;
} transposed;

typedef kir_value line_part[TLY_MOST_LANES]; /* a vector along the axis for each lane */

static void store_lines(transposed *k, kir_value out, line_part *part, unsigned parts,
                        unsigned wide, unsigned flags)
{
    tly_build *c = k->c;
    for (unsigned i = 0; i < c->lanes; i++) {
        for (unsigned q = 0; q < parts; q++)
            kir_store(c->b, out, (int64_t)q * wide, part[q][i], flags ? wide : 1, flags);
        out = ptradd(c, out, k->out_lane);
    }
}

/* One line of output of each lane of a vector, from place `first` on, whose addresses are `in` and
 * `out`. Returns the states after it. */
static kir_value transpose_line(transposed *k, tly_place first, kir_value in, kir_value out,
                                kir_value y, kir_value streams)
{
    tly_build *c = k->c;
    unsigned n = c->lanes, parts = tly_line(c) / n;
    line_part part[TLY_MOST_LINE_VECTORS];
    for (unsigned q = 0; q < parts; q++) {
        kir_value r[TLY_MOST_LANES];
        for (unsigned i = 0; i < n; i++) {
            const tly_place here = tly_place_after(first, q * n + i, 0);
            kir_value x = tly_element(c, &here, tly_load(c, in, 0, n));
            kir_value next = tly_advance(c, &here, y, x);
            r[i] = tly_show(c, &here, tly_shown(c, x, y, next));
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
    tly_region way = { 0 };
    emit_if(c, &way, streams);
    store_lines(k, out, part, count, wide, KIR_STREAM);
    emit_else(c, &way);
    store_lines(k, out, part, count, wide, 0);
    emit_end(c, &way);
    return y;
}

/* Axis steps [from, to) of one lane. */
static void scan_scalars(transposed *k, kir_value lane, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    kir_value sum = tly_states_at(c, k->sums, lane);
    kir_value in = tly_at(c, k->row.at[TLY_IN], lane, c->bytes[TLY_IN]);
    kir_value out = ptradd(c, k->row.at[TLY_OUT], mul(c, lane, k->out_lane));
    kir_value y = tly_states_load(c, sum, 0, 1);
    tly_region l = { .state = { &y } };
    emit_for(c, &l, from, to, imm(c, 1));
    const tly_place here = tly_place_in(&k->row, l.i, lane);
    kir_value x = tly_load(c, ptradd(c, in, mul(c, l.i, k->in_axis)), 0, 1);
    kir_value element = tly_element(c, &here, x), next = tly_advance(c, &here, y, element);
    kir_value shown = tly_show(c, &here, tly_shown(c, element, y, next));
    tly_store(c, tly_at(c, out, l.i, c->bytes[TLY_OUT]), 0, shown, 1, 0);
    y = next;
    emit_end(c, &l);
    tly_states_store(c, sum, 0, y);
}

/* What makes whole lines, of whole vectors of lanes. */
static void transpose_all(transposed *k, kir_value lanes, kir_value steps, kir_value streams)
{
    tly_build *c = k->c;
    unsigned lines = (unsigned)c->plan->pass_steps / tly_line(c);
    int64_t a_pass = c->plan->pass_steps;
    unsigned a_line = LINE / c->bytes[TLY_IN]; /* lanes of a line of input */
    a_line = a_line < c->lanes ? c->lanes : a_line;
    tly_region pass = { 0 }, line = { 0 }, group = { 0 };
    emit_for(c, &pass, imm(c, 0), steps, imm(c, a_pass));
    kir_value in = ptradd(c, k->row.at[TLY_IN], mul(c, pass.i, k->in_axis));
    kir_value out = tly_at(c, k->row.at[TLY_OUT], pass.i, c->bytes[TLY_OUT]);
    emit_for(c, &line, imm(c, 0), lanes, imm(c, a_line));
    kir_value ahead = ptradd(c, tly_at(c, in, line.i, c->bytes[TLY_IN]), imm(c, c->plan->prefetch));
    for (int64_t s = 0; s < a_pass; s++) {
        kir_prefetch(c->b, ahead, 0);
        ahead = ptradd(c, ahead, k->in_axis);
    }
    kir_value end = tly_min(c, lanes, add(c, line.i, imm(c, a_line)));
    emit_for(c, &group, line.i, end, imm(c, c->lanes));
    const tly_place first = tly_place_in(&k->row, pass.i, group.i);
    kir_value sums = tly_states_at(c, k->sums, group.i);
    kir_value from = tly_at(c, in, group.i, c->bytes[TLY_IN]);
    kir_value to = ptradd(c, out, mul(c, group.i, k->out_lane));
    kir_value y = tly_states_load(c, sums, 0, c->lanes);
    for (unsigned s = 0; s < lines; s++) {
        y = transpose_line(k, tly_place_after(first, s * tly_line(c), 0), from, to, y, streams);
        from = ptradd(c, from, mul(c, k->in_axis, imm(c, tly_line(c))));
        to = ptradd(c, to, imm(c, LINE));
    }
    tly_states_store(c, sums, 0, y);
    emit_end(c, &group);
    emit_end(c, &line);
    emit_end(c, &pass);
}

static void transposed_body(tly_build *c, tly_row at, kir_value count, kir_value sums)
{
    transposed k = {
        .c = c,
        .sums = sums,
        .row = at,
        .count = count,
        .length = arg(c, KIR_ARG_LENGTH),
        .in_axis = tly_axis(c, TLY_IN),
        .out_lane = tly_lane(c, TLY_OUT),
    };
    tly_region left = { 0 };
    tly_start_states(c, &at, sums, count);
    kir_value lanes = tly_round_down(c, count, c->lanes);
    kir_value steps = tly_round_down(c, k.length, c->plan->pass_steps), zero = imm(c, 0);
    kir_value where = bor(c, kir_addr(c->b, at.at[TLY_OUT]), k.out_lane);
    kir_value aligned = equal(c, band(c, where, imm(c, LINE - 1)), zero);
    transpose_all(&k, lanes, steps, band(c, tly_streams(c), aligned));
    emit_for(c, &left, zero, count, imm(c, 1));
    scan_scalars(&k, left.i, choose(c, less(c, left.i, lanes), steps, zero), k.length);
    emit_end(c, &left);
    tly_end_states(c, &at, sums, count);
}

void tly_build_transposed(tly_build *c, tly_launch *launch)
{
    tly_each_row_of_lanes(c, launch, transposed_body);
}
