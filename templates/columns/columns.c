/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of lanes that lie side by side. Each lane is scanned by itself in the order of its
 * elements, so the bits are those of the serial order.
 *
 * A row of states in scratch has one state a lane. A pass walks along the lanes: it loads a vector
 * of states, takes one or several axis steps of these lanes, and stores the states once. So rows
 * stream through, whatever their length. Blocks of columns reach .68 to .87 of a copy and walking
 * down columns .72 to .78, which is slower.
 *
 * Past the cache, stores are whole aligned lines. A pass takes several axis steps if rows are long,
 * or the tensor is small, and if all steps have the same alignment. It then begins with the first
 * line that lies wholly in this range. Otherwise each step is cut at its own lines. In cache, and
 * in place, stores are ordinary ones. The bits do not depend on any of this.
 */
#include "columns.h"

enum { MAX_STEPS = TLY_COLUMNS_MOST_STEPS, MAX_VECTORS = TLY_COLUMNS_MOST_VECTORS };

/* In cache, the output of the step before is read as the states if results are states. That saves
 * writing a row (f32 product of 256x256, of a copy: .92 to 1.0; with a row of states .85 to
 * .93). */
static tly_columns_line line_at(tly_columns *k, kir_value step)
{
    tly_build *c = k->c;
    tly_columns_line at = {
        step,
        ptradd(c, k->row.at[TLY_IN], mul(c, step, k->in_axis)),
        ptradd(c, k->row.at[TLY_OUT], mul(c, step, k->out_axis)),
        k->sums,
    };
    if (k->direct) {
        kir_value first = bor(c, k->streams, equal(c, step, imm(c, 0)));
        kir_value before = ptradd(c, at.out, sub(c, imm(c, 0), k->out_axis));
        at.sums = choose(c, first, k->sums, before);
    }
    return at;
}

/* Narrows vectors of results and joins them to whole registers. Returns how many these are. */
static unsigned to_storage(tly_build *c, const tly_columns_tile *t, kir_value *v)
{
    unsigned n = t->vectors;
    if (t->pairs) {
        for (unsigned i = 0; i < n / 2; i++)
            v[i] = tly_narrow_pairs(c, &v[2 * i]);
        return n / 2;
    }
    return tly_pack_run(c, v, n, 0);
}

static void load_step(tly_build *c, const tly_columns_tile *t, kir_value from, kir_value *v)
{
    int64_t bytes = (int64_t)c->lanes * c->p->tensor[TLY_IN].step * c->bytes[TLY_IN];
    for (unsigned i = 0; i < t->vectors; i += 1 + t->pairs) {
        kir_value p = ptradd(c, from, imm(c, i * bytes));
        if (t->pairs)
            tly_load_pairs(c, p, &v[i]);
        else
            v[i] = tly_load_vector(c, p);
    }
}

static void store_sums(tly_columns *k, const tly_columns_tile *t, kir_value sums,
                       const kir_value *y)
{
    tly_build *c = k->c;
    kir_value part[MAX_VECTORS];
    for (unsigned p = 0; p < kir_parts(c->b, sums); p++) {
        for (unsigned i = 0; i < t->vectors; i++)
            part[i] = kir_part(c->b, y[i], p);
        tly_store_run(c, kir_part(c->b, sums, p), part, t->vectors, 0);
    }
}

/* One round, from lane `j` on. All loads come before all stores. */
static void do_tile(tly_columns *k, const tly_columns_tile *t, const tly_columns_line *at,
                    kir_value j)
{
    tly_build *c = k->c;
    kir_value y[MAX_VECTORS], v[MAX_STEPS][MAX_VECTORS] = { 0 }, to[MAX_STEPS];
    kir_value offset = tly_states_offset(c, j, 1);
    kir_value before = tly_states_move(c, at->sums, offset);
    kir_value sums = tly_states_move(c, k->sums, offset);
    kir_value from = ptradd(c, at->in, mul(c, j, tly_step(c, TLY_IN)));
    to[0] = tly_at(c, at->out, j, c->bytes[TLY_OUT]);
    for (unsigned i = 0; i < t->vectors; i++)
        y[i] = tly_states_load(c, before, i * c->lanes, c->lanes);
    for (unsigned s = 0; s < t->steps; s++) {
        load_step(c, t, from, v[s]);
        if (s + 1 < t->steps) {
            from = ptradd(c, from, k->in_axis);
            to[s + 1] = ptradd(c, to[s], k->out_axis);
        }
    }
    const tly_place first = tly_place_in(&k->row, at->step, j);
    unsigned n = 0;
    for (unsigned s = 0; s < t->steps; s++) {
        for (unsigned i = 0; i < t->vectors; i++) {
            const tly_place here = tly_place_after(first, s, (int64_t)i * c->lanes);
            kir_value element = tly_element(c, &here, v[s][i]);
            kir_value next = tly_advance(c, &here, y[i], element);
            v[s][i] = tly_show(c, &here, tly_shown(c, element, y[i], next));
            y[i] = next;
        }
        n = to_storage(c, t, v[s]);
    }
    tly_region way = { 0 };
    if (!k->direct || !t->streams)
        store_sums(k, t, sums, y);
    if (t->streams) {
        emit_if(c, &way, t->streams);
        tly_columns_prefetch(k, t, at, j);
        if (k->direct)
            store_sums(k, t, sums, y);
        for (unsigned s = 0; s < t->steps; s++)
            tly_store_run(c, to[s], v[s], n, KIR_STREAM);
        emit_else(c, &way);
        if (!k->direct)
            tly_columns_prefetchw(k, t, to);
    }
    for (unsigned s = 0; s < t->steps; s++)
        tly_store_run(c, to[s], v[s], n, 0);
    if (t->streams)
        emit_end(c, &way);
}

/* Lanes [from, to), a multiple of the tile's. Where axis steps go downwards in memory lanes do,
 * too: then all that is read is one stream, which the CPU fetches ahead across rows. 16 Mi f32 of
 * 256, 1024, 4096, 16384 columns in ms: upwards 3.0, 2.7, 4.8, 4.7, downwards 2.2, 2.3, 2.6, 2.8;
 * with two operands 8.6, 7.9, 9.4, 8.8 and 6.2, 5.9, 7.2, 6.2 (Zen 5). */
static void pass(tly_columns *k, tly_columns_tile t, const tly_columns_line *at, kir_value from,
                 kir_value to)
{
    tly_build *c = k->c;
    const kir_value lanes = imm(c, (int64_t)t.vectors * c->lanes);
    tly_region l = { 0 };
    emit_for(c, &l, from, to, lanes);
    do_tile(k, &t, at, tly_in_order(c, l.i, from, to, lanes));
    emit_end(c, &l);
}

/* Lanes [from, to) of one axis step, one by one. */
static void pass_scalars(tly_columns *k, const tly_columns_line *at, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    tly_region l = { 0 };
    emit_for(c, &l, from, to, imm(c, 1));
    const tly_place here = tly_place_in(&k->row, at->step, l.i);
    kir_value y = tly_states_load(c, tly_states_at(c, at->sums, l.i), 0, 1);
    kir_value x = tly_load(c, ptradd(c, at->in, mul(c, l.i, tly_step(c, TLY_IN))), 0, 1);
    kir_value element = tly_element(c, &here, x), next = tly_advance(c, &here, y, element);
    tly_states_store(c, tly_states_at(c, k->sums, l.i), 0, next);
    tly_store(c, ptradd(c, at->out, mul(c, l.i, tly_step(c, TLY_OUT))), 0,
              tly_show(c, &here, tly_shown(c, element, y, next)), 1, 0);
    emit_end(c, &l);
}

/* Whether lanes that fill no vector are loaded and stored as a part of one. Of f32 in 57 columns of
 * 64, in cache, of a copy: cumsum .38, so .66; cumlogsumexp 4.3 ms, so .95 (Zen 5). */
static int has_masks(const tly_build *c)
{
    return c->t->vector_bytes == 64 && c->p->tensor[TLY_IN].step == 1 &&
           tly_target_masks(c->t, c->bytes[TLY_IN]) && tly_target_masks(c->t, c->bytes[TLY_OUT]);
}

/* The last lanes as a part of a vector. Their states are in scratch, where the vector is whole:
 * what was stored in part is not there for the next load at once. */
static void pass_part(tly_columns *k, const tly_columns_line *at, kir_value from)
{
    tly_build *c = k->c;
    const kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, c->lanes);
    kir_value sums = tly_states_at(c, k->sums, from), y = tly_states_load(c, sums, 0, c->lanes);
    tly_place here = tly_place_in(&k->row, at->step, from);
    here.count = sub(c, k->count, from);
    kir_value p = tly_at(c, at->in, from, c->bytes[TLY_IN]);
    kir_value x = tly_loaded(c, kir_mload(c->b, t, p, 0, here.count, constant(c, t, 0)));
    kir_value element = tly_element(c, &here, x), next = tly_advance(c, &here, y, element);
    kir_value there = tly_lanes_below(c, here.count); /* behind them may be another part's states */
    tly_states_store(c, sums, 0, choose(c, there, next, y));
    kir_value shown = tly_narrow(c, tly_show(c, &here, tly_shown(c, element, y, next)));
    kir_mstore(c->b, tly_at(c, at->out, from, c->bytes[TLY_OUT]), 0, here.count, shown);
}

/* Lanes before the first line of output at or behind `out`; 0 unless lines go past the cache. */
static kir_value lanes_to_line(tly_columns *k, kir_value out)
{
    tly_build *c = k->c;
    kir_value past = sub(c, imm(c, 0), kir_addr(c->b, out));
    kir_value bytes = band(c, past, imm(c, TLY_MEMORY_LINE - 1));
    kir_value lanes = tly_min(c, k->count, tly_part(c, bytes, c->bytes[TLY_OUT]));
    return choose(c, k->streams, lanes, imm(c, 0));
}

/* The lanes of an axis step that passes took: [from, to). */
typedef struct span {
    kir_value from, to;
} span;

enum { FEW = 2 /* lanes are faster one by one */ };

/* The other lanes of a step: those before the first line one by one, then several lines at once,
 * one line, single vectors, and the rest one by one. Half of the steps of unaligned rows have a
 * single line: if that is stored through the cache, f32 of 2048x2047 is .79 of a copy, past it .90
 * (Emerald Rapids). */
static void scan_rest_of_step(tly_columns *k, unsigned vectors, kir_value step, span done)
{
    tly_build *c = k->c;
    tly_columns_line at = line_at(k, step);
    if (vectors == 0) { /* lanes must go one by one */
        pass_scalars(k, &at, done.to, k->count);
        return;
    }
    tly_columns_prefetchw_ends(k, at, 1);
    kir_value head = tly_max(c, lanes_to_line(k, at.out), done.to);
    kir_value room = sub(c, k->count, head);
    unsigned sizes[] = { vectors, tly_line(c) / c->lanes, 1 }, taken = 0;
    kir_value whole = head;
    for (int i = 0; i < 3; i++) {
        if (sizes[i] == taken)
            continue;
        kir_value to = add(c, head, tly_round_down(c, room, (int64_t)sizes[i] * c->lanes));
        pass(k,
             (tly_columns_tile){ 1, sizes[i], 0,
                                 sizes[i] * c->lanes < tly_line(c) ? 0 : k->streams },
             &at, whole, to);
        whole = to;
        taken = sizes[i];
    }
    kir_value first = choose(c, equal(c, done.to, imm(c, 0)), head, done.from);
    if (has_masks(c)) {
        tly_region some = { 0 };
        kir_value is_part = less(c, add(c, whole, imm(c, FEW)), k->count);
        emit_if(c, &some, is_part);
        pass_part(k, &at, whole);
        emit_end(c, &some);
        whole = choose(c, is_part, k->count, whole);
    }
    kir_value ragged = bor(c, less(c, imm(c, 0), first), less(c, whole, k->count));
    tly_region ends = { 0 }; /* before and after */
    emit_for(c, &ends, imm(c, 0), choose(c, ragged, imm(c, 2), imm(c, 0)), imm(c, 1));
    kir_value after = differ(c, ends.i, imm(c, 0));
    pass_scalars(k, &at, choose(c, after, whole, imm(c, 0)), choose(c, after, k->count, first));
    emit_end(c, &ends);
}

/* i1: passes may take all steps of the tly_columns_tile at once, and that is faster. */
static kir_value takes_several_steps(tly_columns *k, const tly_columns_tile *t)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0), plain = equal(c, zero, zero);
    kir_value lined = equal(c, band(c, k->out_axis, imm(c, TLY_MEMORY_LINE - 1)), zero);
    if (t->steps > 1) {
        kir_value is_long = less(c, imm(c, c->plan->long_row / c->bytes[TLY_IN]), k->count);
        kir_value all = mul(c, k->count, k->length);
        kir_value is_large = less(c, imm(c, c->plan->small / c->bytes[TLY_IN]), all);
        plain = choose(c, is_large, is_long, plain);
        lined = band(c, lined, is_long);
    }
    return choose(c, k->streams, lined, plain);
}

/* Takes the tile's steps together where it may. Other lanes and steps go step by step, `single`
 * vectors at a time. */
static void scan_several_steps(tly_columns *k, tly_columns_tile t, unsigned single)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0), one = imm(c, 1), steps = imm(c, t.steps);
    kir_value together = takes_several_steps(k, &t);
    kir_value group = choose(c, together, steps, k->length); /* otherwise all steps are one group */
    kir_value head = choose(c, together, lanes_to_line(k, k->row.at[TLY_OUT]), zero);
    kir_value room = sub(c, k->count, head);
    kir_value whole = add(c, head, tly_round_down(c, room, (int64_t)t.vectors * c->lanes));
    tly_region l = { 0 }, s = { 0 };
    emit_for(c, &l, zero, k->length, group);
    kir_value here = tly_min(c, group, sub(c, k->length, l.i));
    kir_value full = band(c, together, equal(c, here, steps));
    span done = { choose(c, full, head, zero), choose(c, full, whole, zero) };
    tly_columns_line at = line_at(k, l.i);
    tly_columns_prefetchw_ends(k, at, t.steps);
    pass(k, t, &at, done.from, done.to);
    kir_value part = less(c, sub(c, done.to, done.from), k->count);
    kir_value left = choose(c, part, here, zero);
    emit_for(c, &s, zero, left, one);
    scan_rest_of_step(k, single, add(c, l.i, s.i), done);
    emit_end(c, &s);
    emit_end(c, &l);
}

/* States begin a line where the output does, so that no store of either crosses lines. Scratch has
 * a line to spare for that (TLY_CONGRUENT_BYTES). */
static kir_value align_states(tly_columns *k)
{
    tly_build *c = k->c;
    if (kir_parts(c->b, k->sums) > 1)
        return k->sums;
    kir_value lanes = sub(c, imm(c, 0), lanes_to_line(k, k->row.at[TLY_OUT]));
    lanes = band(c, lanes, imm(c, TLY_MEMORY_LINE / c->state_bytes - 1));
    return tly_states_at(c, k->sums, lanes);
}

/* bf16 goes in pairs only if a pass takes one axis step: after several, the steps that are left go
 * by single vectors, and would find the states in another order. So would a carry. */
static unsigned in_pairs(const tly_build *c)
{
    return tly_plan_pairs(c->p) && c->p->tensor[TLY_IN].step == 1 && c->plan->pass_steps == 1 &&
           !c->p->carry;
}

/* The lanes of a task and their states. */
typedef struct task {
    kir_value count, sums;
} task;

static void scan_segment(tly_build *c, const tly_segment *segment, void *of)
{
    const task *lanes = of;
    kir_value count = lanes->count;
    tly_columns k = {
        .c = c,
        .sums = lanes->sums,
        .streams = tly_streams(c),
        .prefetchw = tly_prefetches_writes(c),
        .row = segment->row,
        .count = count,
        .length = segment->count,
        .in_axis = tly_axis(c, TLY_IN),
        .out_axis = tly_axis(c, TLY_OUT),
        .direct = c->p->tensor[TLY_OUT].step == 1 && c->p->tensor[TLY_OUT].dtype == c->p->acc &&
                  !c->p->exclusive && tly_is_plain(c->p) &&
                  !tly_has_expression(c->p, TLY_EXPRESSION_POST),
    };
    k.way = tly_axis_sign(c);
    k.sums = align_states(&k);
    tly_columns_look_ahead(&k);
    unsigned line = tly_line(c) / c->lanes, single = line * (unsigned)c->plan->pass_lines;
    int by_vectors = tly_loads_vectors(c) && c->p->tensor[TLY_OUT].step == 1;
    kir_value zero = imm(c, 0);
    tly_region l = { 0 };
    tly_start_states(c, &k.row, k.sums, count);
    tly_columns_tile t = { (unsigned)c->plan->pass_steps, single, in_pairs(c), k.streams };
    if (t.steps > 1)
        t.vectors = line;
    if (by_vectors && (t.steps > 1 || t.pairs)) {
        scan_several_steps(&k, t, single);
    } else {
        emit_for(c, &l, zero, k.length, imm(c, 1));
        scan_rest_of_step(&k, by_vectors ? single : 0, l.i, (span){ zero, zero });
        emit_end(c, &l);
    }
    if (c->p->carry) /* which may lie in the output (line_at) */
        tly_end_states(c, &k.row, line_at(&k, k.length).sums, count);
}

static void columns_body(tly_build *c, tly_row at, kir_value count, kir_value sums)
{
    task lanes = { count, sums };
    tly_each_segment(c, &at, scan_segment, &lanes);
}

void tly_build_columns(tly_build *c, tly_launch *launch)
{
    tly_each_row_of_lanes(c, launch, columns_body);
}
