/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of rows. Short ones go several at once: each has a vector of states, and the vectors are
 * folded together, so that results are neighbours. A long one among them has no elements there, and
 * goes by itself afterwards, as do those whose sums may have left the range. The longest are cut
 * in chunks, so that threads can share them (runtime/run/segments.c). The length of a segment alone
 * decides how its elements are combined, so its bits depend on no other segment.
 */
#include "reduce.h"

enum { MOST_ROWS = TLY_REDUCE_MOST_GROUP, LINE = 64, MOST_LINES = 256 };

typedef struct group {
    tly_reduce *r;
    unsigned rows;
    tly_row at[MOST_ROWS]; /* the first elements */
    kir_value counts;      /* i32s: elements; 0 of long ones */
    kir_value is_long;     /* i1: there is a long one */
    /* What is fetched ahead: so many lines a group, from so many bytes behind position 0 on. */
    kir_value lines, fetched;
} group;

/* Elements of a short one at most. */
static int64_t short_count(const tly_build *c)
{
    return (int64_t)c->lanes * TLY_REDUCE_SHORT_VECTORS;
}

kir_value tly_reduce_is_short(const tly_reduce *r, kir_value count)
{
    return less(r->c, count, imm(r->c, short_count(r->c) + 1));
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

static kir_value is_scan(tly_build *c) /* i1: not a part of one segment */
{
    return equal(c, arg(c, KIR_ARG_MODE), imm(c, TLY_MODE_SCAN));
}

static void do_one(tly_reduce *r, const tly_row *row, kir_value segment)
{
    tly_build *c = r->c;
    const tly_row at = tly_reduce_begin_segment(c, row, segment);
    const tly_reduce_span all = tly_reduce_all(c, &at);
    kir_value whole = is_scan(c), most = imm(c, TLY_SEGMENT_CHUNK);
    kir_value chunks = udiv(c, add(c, c->count, imm(c, TLY_SEGMENT_CHUNK - 1)), most);
    tly_region is_cut = { 0 };
    emit_if(c, &is_cut, bor(c, tly_not(c, whole), less(c, most, c->count)));
    tly_reduce_chunks(r, &at, choose(c, whole, imm(c, 0), arg(c, KIR_ARG_BEGIN)),
                      choose(c, whole, chunks, arg(c, KIR_ARG_TASK_END)));
    emit_else(c, &is_cut);
    tly_reduce_finish_row(r, &at, tly_reduce_of_span(r, &all));
    emit_end(c, &is_cut);
}

/* ---- several ---- */

/* Counts are vectors, as so many scalars would not stay in registers. */
static void find(group *g, const tly_row *row, kir_value first)
{
    tly_build *c = g->r->c;
    kir_value counts = tly_segment_counts(c, first, g->rows);
    kir_value is_long = less(c, like(c, counts, (uint64_t)short_count(c)), counts);
    g->is_long = any(c, is_long);
    g->counts = choose(c, is_long, like(c, counts, 0), counts);
    for (unsigned k = 0; k < g->rows; k++) {
        kir_value i = add(c, first, imm(c, k));
        g->at[k] = tly_segment_of(c, row, i).row;
        g->at[k].at[TLY_IN] = ptradd(c, row->at[TLY_IN],
                                     mul(c, tly_segment_border(c, i), tly_step(c, TLY_IN)));
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
    kir_value next = tly_combine(c, state, tly_element(c, &at, x));
    return choose(c, tly_lanes_below(c, left), next, state);
}

/* A vector of each segment, where it has one. */
static void take(group *g, kir_value position, kir_value *state)
{
    tly_build *c = g->r->c;
    kir_value counts = g->counts, from = convert(c, KIR_TRUNC, KIR_TYPE(KIR_I32, 1), position);
    kir_value left = sub(c, counts, kir_splat(c->b, from, g->rows));
    if (c->bytes[TLY_IN] == 2) /* as wide as elements, so that nothing is clamped */
        left = to_kind(c, KIR_TRUNC, KIR_I16, left);
    for (unsigned k = 0; k < g->rows; k++) {
        kir_value some = convert(c, KIR_SEXT, KIR_TYPE(KIR_I64, 1), kir_extract(c->b, left, k));
        state[k] = take_some(g, k, position, some, state[k]);
    }
}

/* Elements of several segments are read side by side, which the machine does not take for streams.
 * So lines are fetched ahead, as many for each group as those about it have: for as many as the
 * group itself has, a branch could not be foreseen. */
static void fetch_ahead(const group *g, const tly_row *row)
{
    tly_build *c = g->r->c;
    if (c->plan->prefetch == 0)
        return;
    kir_value from = ptradd(c, row->at[TLY_IN], g->fetched);
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), g->lines, imm(c, 1));
    kir_prefetch(c->b, ptradd(c, from, mul(c, l.i, imm(c, LINE))), c->plan->prefetch);
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

/* Stores the results of states, a lane each. i1: some may be wrong. */
static kir_value finish(group *g, const tly_row *row, kir_value first, kir_value state)
{
    tly_reduce *r = g->r;
    tly_build *c = r->c;
    kir_value bad = 0, made = 0, all = tly_reduce_check(r, state, &bad, &made);
    tell_counts(g, first);
    kir_value y = tly_reduce_result(r, NULL, all, 0);
    c->nothing = c->real_count = 0;
    kir_value out = ptradd(c, row->at[TLY_OUT], mul(c, first, tly_axis(c, TLY_OUT)));
    tly_reduce_store(r, out, imm(c, 0), y);
    return bad != 0 ? any(c, bad) : i1(c, 0);
}

static kir_value several(group *g, const tly_row *row, kir_value first)
{
    tly_build *c = g->r->c;
    kir_value state[MOST_ROWS], zero = imm(c, 0);
    tly_region l = { 0 };
    find(g, row, first);
    kir_value lanes = imm(c, c->lanes);
    for (unsigned k = 0; k < g->rows; k++)
        state[k] = tly_reduce_neutral(c, c->lanes);
    take(g, zero, state);
    kir_value more = any(c, less(c, like(c, g->counts, c->lanes), g->counts));
    emit_carry(&l, 1, &more);
    emit_carry(&l, g->rows, state);
    emit_for_while(c, &l, lanes, imm(c, short_count(c)), lanes);
    take(g, l.i, state);
    kir_value next = convert(c, KIR_TRUNC, KIR_TYPE(KIR_I32, 1), add(c, l.i, lanes));
    more = any(c, less(c, kir_splat(c->b, next, g->rows), g->counts));
    emit_end(c, &l);
    return fold(g, state);
}

/* The states of segments that have `all` elements together. */
static kir_value states_of(group *g, const tly_row *row, kir_value first, kir_value all)
{
    tly_build *c = g->r->c;
    if (!tly_reduce_has_few(c))
        return several(g, row, first);
    kir_value state, counts = tly_segment_counts(c, first, g->rows), is_long = i1(c, 0);
    const tly_segment s = tly_segment_of(c, row, first);
    tly_region few = { .state = { &state, &is_long } };
    emit_if(c, &few, tly_reduce_are_few(g->r, all, counts));
    state = tly_reduce_few(g->r, &s.row, first, all, counts);
    emit_else(c, &few);
    state = several(g, row, first);
    is_long = g->is_long;
    emit_end(c, &few);
    g->is_long = is_long;
    return state;
}

/* Segments [first, end), several at once if there are as many as a group has, unless most of them
 * are long; then those that are left, one after another. */
static void do_group(group *g, const tly_row *row, kir_value first, kir_value end, kir_value whole)
{
    enum { VECTORS = 6 };
    tly_build *c = g->r->c;
    const int64_t most = (int64_t)g->rows * c->lanes * VECTORS;
    kir_value all = sub(c, tly_segment_border(c, end), tly_segment_border(c, first));
    kir_value alone = i1(c, 1), is_long = i1(c, 0);
    tly_region together = { .state = { &alone, &is_long } }, left = { 0 }, each = { 0 },
               wanted = { 0 };
    emit_if(c, &together, band(c, whole, less(c, all, imm(c, most + 1))));
    fetch_ahead(g, row);
    kir_value state = states_of(g, row, first, all);
    is_long = g->is_long;
    alone = finish(g, row, first, state);
    emit_end(c, &together);
    emit_if(c, &left, bor(c, alone, is_long));
    emit_for(c, &each, first, end, imm(c, 1));
    const tly_segment s = tly_segment_of(c, row, each.i);
    emit_if(c, &wanted, bor(c, alone, tly_not(c, tly_reduce_is_short(g->r, s.count))));
    do_one(g->r, row, each.i);
    emit_end(c, &wanted);
    emit_end(c, &each);
    emit_end(c, &left);
}

/* ---- rows ---- */

/* Of segments [first, end): the lines that a group has on average, and where the first one lies. */
static void begin_fetching(group *g, kir_value first, kir_value end)
{
    tly_build *c = g->r->c;
    kir_value from = tly_segment_border(c, first), axis = tly_axis(c, TLY_IN);
    kir_value bytes = mul(c, sub(c, tly_segment_border(c, end), from), axis);
    kir_value each = udiv(c, mul(c, bytes, imm(c, g->rows)),
                          mul(c, sub(c, end, first), imm(c, LINE)));
    g->lines = tly_min(c, add(c, each, imm(c, 1)), imm(c, MOST_LINES));
    g->fetched = mul(c, from, axis);
}

/* Groups of segments [from, to) of a row. */
static void do_groups(group *g, const tly_row *row, kir_value from, kir_value to)
{
    tly_build *c = g->r->c;
    tly_region l = { .state = { &g->fetched } };
    begin_fetching(g, from, to);
    emit_for(c, &l, from, to, imm(c, g->rows));
    /* The last segment of one size may be shorter than the others. */
    kir_value same = tly_min(c, to, sub(c, arg(c, KIR_ARG_SEGMENTS), imm(c, 1)));
    kir_value end = add(c, l.i, imm(c, g->rows)), whole = less(c, end, add(c, same, imm(c, 1)));
    do_group(g, row, l.i, tly_min(c, end, to), band(c, whole, is_scan(c)));
    g->fetched = add(c, g->fetched, mul(c, g->lines, imm(c, LINE)));
    emit_end(c, &l);
}

/* Segments [from, to) of a row. */
static void do_segments(tly_reduce *r, const tly_row *row, kir_value from, kir_value to)
{
    enum { BLOCK = 1024 };
    tly_build *c = r->c;
    group g = { .r = r, .rows = (unsigned)c->plan->rows_at_once };
    const int64_t step = g.rows > 1 ? BLOCK : 1;
    tly_region l = { 0 };
    emit_for(c, &l, from, to, imm(c, step));
    if (g.rows > 1)
        do_groups(&g, row, l.i, tly_min(c, add(c, l.i, imm(c, step)), to));
    else
        do_one(r, row, l.i);
    emit_end(c, &l);
}

void tly_reduce_segments(tly_reduce *r)
{
    tly_build *c = r->c;
    kir_value one = imm(c, 1), zero = imm(c, 0), whole = is_scan(c);
    kir_value begin = choose(c, whole, arg(c, KIR_ARG_BEGIN), arg(c, KIR_ARG_AHEAD));
    kir_value end = choose(c, whole, arg(c, KIR_ARG_TASK_END), add(c, begin, one));
    kir_value segments = arg(c, KIR_ARG_SEGMENTS);
    kir_value first = udiv(c, begin, segments), last = udiv(c, sub(c, end, one), segments);
    tly_region l = { 0 };
    emit_for(c, &l, first, add(c, last, one), one);
    const tly_row row = tly_row_address(c, l.i);
    kir_value skipped = mul(c, l.i, segments);
    do_segments(r, &row, tly_max(c, sub(c, begin, skipped), zero),
                tly_min(c, sub(c, end, skipped), segments));
    emit_end(c, &l);
}
