/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of rows. Short ones go several at once: each has a vector of states, and the vectors are
 * folded together, so that results are neighbours. A long one among them has no elements there, and
 * goes by itself afterwards, as do those whose sums may have left the range. The length of a
 * segment alone decides how its elements are combined, so its bits depend on no other segment.
 */
#include "reduce.h"

enum { MOST_ROWS = TLY_REDUCE_MOST_GROUP };

typedef struct group {
    tly_reduce *r;
    unsigned rows;
    tly_row at[MOST_ROWS];      /* the first elements */
    kir_value count[MOST_ROWS]; /* elements; 0 of long ones */
    kir_value most;             /* the largest of them */
    kir_value is_long;          /* i1: there is a long one */
} group;

kir_value tly_reduce_is_short(const tly_reduce *r, kir_value count)
{
    tly_build *c = r->c;
    return less(c, count, imm(c, (int64_t)c->lanes * TLY_REDUCE_SHORT_VECTORS + 1));
}

/* One vector of states. */
tly_reduce_rules tly_reduce_short_rules(const tly_reduce *r)
{
    tly_reduce_rules rules = tly_reduce_rules_of(r);
    rules.vectors = rules.loads = 1;
    rules.searches = 0;
    return rules;
}

/* ---- a segment by itself ---- */

static void do_one(tly_reduce *r, const tly_row *row, kir_value segment)
{
    tly_build *c = r->c;
    const tly_row at = tly_reduce_begin_segment(c, row, segment);
    const tly_reduce_span all = tly_reduce_all(c, &at);
    tly_reduce_finish_row(r, &at, tly_reduce_of_span(r, &all));
}

/* ---- several ---- */

static void find(group *g, const tly_row *row, kir_value first)
{
    tly_build *c = g->r->c;
    g->most = imm(c, 0);
    g->is_long = i1(c, 0);
    for (unsigned k = 0; k < g->rows; k++) {
        const tly_segment s = tly_segment_of(c, row, add(c, first, imm(c, k)));
        kir_value is_short = tly_reduce_is_short(g->r, s.count);
        g->at[k] = s.row;
        g->count[k] = choose(c, is_short, s.count, imm(c, 0));
        g->most = tly_max(c, g->most, g->count[k]);
        g->is_long = bor(c, g->is_long, tly_not(c, is_short));
    }
}

/* Takes the first `left` lanes of a vector, perhaps none. Lanes that add nothing need no second
 * mask. */
static kir_value take_some(group *g, unsigned k, kir_value position, kir_value left,
                           kir_value state)
{
    tly_build *c = g->r->c;
    const tly_place at = tly_reduce_place(&g->at[k], position, 0);
    kir_value p = ptradd(c, g->at[k].at[TLY_IN], mul(c, position, tly_step(c, TLY_IN)));
    if (tly_reduce_pads(g->r)) {
        kir_value x = tly_reduce_load_padded(g->r, p, left, c->lanes);
        return tly_combine(c, state, tly_element(c, &at, x));
    }
    kir_value x = tly_reduce_load_some(g->r, &at, p, left, c->lanes);
    left = tly_max(c, tly_min(c, left, imm(c, c->lanes)), imm(c, 0));
    kir_value next = tly_combine(c, state, tly_element(c, &at, x));
    return choose(c, tly_lanes_below(c, left), next, state);
}

/* A vector of each segment, where it has one. */
static void take(group *g, kir_value position, kir_value *state)
{
    for (unsigned k = 0; k < g->rows; k++)
        state[k] = take_some(g, k, position, sub(g->r->c, g->count[k], position), state[k]);
}

/* Elements of several segments are read side by side, which the machine does not take for streams.
 * So lines are fetched ahead, as many as the group has. */
static void fetch_ahead(group *g)
{
    enum { LINE = 64, MOST = 256 * LINE };
    tly_build *c = g->r->c;
    if (c->plan->prefetch == 0)
        return;
    kir_value from = kir_addr(c->b, g->at[0].at[TLY_IN]);
    kir_value to = kir_addr(c->b, g->at[g->rows - 1].at[TLY_IN]);
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), tly_min(c, sub(c, to, from), imm(c, MOST)), imm(c, LINE));
    kir_prefetch(c->b, ptradd(c, g->at[0].at[TLY_IN], l.i), c->plan->prefetch);
    emit_end(c, &l);
}

/* Two vectors become one whose parts are of twice as many segments, until each segment has one
 * lane. */
static kir_value fold(group *g, kir_value *state)
{
    tly_build *c = g->r->c;
    unsigned parts = 1;
    for (unsigned n = g->rows; n > 1; n /= 2, parts *= 2)
        for (unsigned i = 0; i < n / 2; i++) {
            kir_value x = state[2 * i], y = state[2 * i + 1];
            kir_value low = tly_reduce_halves(c, x, y, parts, 0);
            state[i] = tly_combine(c, low, tly_reduce_halves(c, x, y, parts, 1));
        }
    for (unsigned n = c->lanes; n > g->rows; n /= 2) {
        kir_value low = tly_reduce_halves(c, state[0], state[0], g->rows, 0);
        state[0] = tly_combine(c, low, tly_reduce_halves(c, state[0], state[0], g->rows, 1));
    }
    return state[0];
}

/* What a result says of its number of elements, a lane for each segment. */
static void tell_counts(group *g, kir_value first)
{
    tly_build *c = g->r->c;
    kir_value counts = tly_segment_counts(c, first, g->rows);
    const unsigned bits = c->acc_bytes * 8;
    kir_type real = KIR_TYPE(bits == 64 ? KIR_F64 : KIR_F32, g->rows);
    c->nothing = equal(c, counts, like(c, counts, 0));
    if (tly_is_floating(c))
        c->real_count = convert(c, KIR_SITOFP, real, counts);
}

/* Stores the results of states, a lane each. */
static void finish_several(group *g, const tly_row *row, kir_value first, kir_value state)
{
    tly_reduce *r = g->r;
    tly_build *c = r->c;
    kir_value bad = 0, made = 0, zero = imm(c, 0);
    tly_region redo = { 0 }, each = { 0 }, wanted = { 0 };
    kir_value all = tly_reduce_check(r, state, &bad, &made);
    tell_counts(g, first);
    kir_value y = tly_reduce_result(r, NULL, all, 0);
    c->nothing = c->real_count = 0;
    kir_value out = ptradd(c, row->at[TLY_OUT], mul(c, first, tly_axis(c, TLY_OUT)));
    tly_reduce_store(r, out, zero, y);
    bad = bad != 0 ? any(c, bad) : i1(c, 0);
    emit_if(c, &redo, bor(c, bad, g->is_long));
    emit_for(c, &each, first, add(c, first, imm(c, g->rows)), imm(c, 1));
    const tly_segment s = tly_segment_of(c, row, each.i);
    emit_if(c, &wanted, bor(c, bad, tly_not(c, tly_reduce_is_short(r, s.count))));
    do_one(r, row, each.i);
    emit_end(c, &wanted);
    emit_end(c, &each);
    emit_end(c, &redo);
}

static void do_several(group *g, const tly_row *row, kir_value first)
{
    tly_build *c = g->r->c;
    kir_value state[MOST_ROWS], zero = imm(c, 0);
    tly_region l = { 0 };
    find(g, row, first);
    fetch_ahead(g);
    for (unsigned k = 0; k < g->rows; k++)
        state[k] = tly_reduce_neutral(c, c->lanes);
    take(g, zero, state);
    emit_carry(&l, g->rows, state);
    emit_for(c, &l, imm(c, c->lanes), g->most, imm(c, c->lanes));
    take(g, l.i, state);
    emit_end(c, &l);
    finish_several(g, row, first, fold(g, state));
}

/* One after another. */
static void do_each(tly_reduce *r, const tly_row *row, kir_value from, kir_value to)
{
    tly_build *c = r->c;
    tly_region l = { 0 };
    emit_for(c, &l, from, to, imm(c, 1));
    do_one(r, row, l.i);
    emit_end(c, &l);
}

static void do_few(group *g, const tly_row *row, kir_value first, kir_value all, kir_value counts)
{
    tly_build *c = g->r->c;
    const tly_segment s = tly_segment_of(c, row, first);
    g->is_long = i1(c, 0);
    finish_several(g, row, first, tly_reduce_few(g->r, &s.row, first, all, counts));
}

/* A group's segments, several at once unless most of them are long. */
static void do_group(group *g, const tly_row *row, kir_value first)
{
    enum { VECTORS = 3 };
    tly_build *c = g->r->c;
    tly_region few = { 0 }, together = { 0 };
    kir_value end = add(c, first, imm(c, g->rows));
    kir_value all = sub(c, tly_segment_border(c, end), tly_segment_border(c, first));
    const int64_t most = (int64_t)g->rows * c->lanes * VECTORS;
    if (tly_reduce_has_few(c)) {
        kir_value counts = tly_segment_counts(c, first, g->rows);
        emit_if(c, &few, tly_reduce_are_few(g->r, all, counts));
        do_few(g, row, first, all, counts);
        emit_else(c, &few);
    }
    emit_if(c, &together, less(c, all, imm(c, most + 1)));
    do_several(g, row, first);
    emit_else(c, &together);
    do_each(g->r, row, first, end);
    emit_end(c, &together);
    if (tly_reduce_has_few(c))
        emit_end(c, &few);
}

/* Segments [from, to) of a row. */
static void do_segments(tly_reduce *r, const tly_row *row, kir_value from, kir_value to)
{
    tly_build *c = r->c;
    tly_region groups = { 0 };
    kir_value whole = from;
    if (c->plan->rows_at_once > 1) {
        group g = { .r = r, .rows = (unsigned)c->plan->rows_at_once };
        /* The last segment of one size may be shorter than the others. */
        kir_value most = tly_min(c, to, sub(c, arg(c, KIR_ARG_SEGMENTS), imm(c, 1)));
        kir_value left = tly_max(c, sub(c, most, from), imm(c, 0));
        whole = add(c, from, tly_round_down(c, left, g.rows));
        emit_for(c, &groups, from, whole, imm(c, g.rows));
        do_group(&g, row, groups.i);
        emit_end(c, &groups);
    }
    do_each(r, row, whole, to);
}

void tly_reduce_segments(tly_reduce *r)
{
    tly_build *c = r->c;
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END), one = imm(c, 1);
    kir_value segments = arg(c, KIR_ARG_SEGMENTS), zero = imm(c, 0);
    kir_value first = udiv(c, begin, segments), last = udiv(c, sub(c, end, one), segments);
    tly_region l = { 0 };
    emit_for(c, &l, first, add(c, last, one), one);
    const tly_row row = tly_row_address(c, l.i);
    kir_value skipped = mul(c, l.i, segments);
    do_segments(r, &row, tly_max(c, sub(c, begin, skipped), zero),
                tly_min(c, sub(c, end, skipped), segments));
    emit_end(c, &l);
}
