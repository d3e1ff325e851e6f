/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows: as many at once as a vector has lanes. Each row has one vector of states. These
 * vectors are folded together, so a level of the tree takes half as many instructions as there are
 * rows, and the results are neighbours. A row's tree is the same as that of a row by itself, so its
 * bits do not depend on how many there are. Where a row has several steps, the results of a few
 * steps are joined. Rows whose results may be wrong are done once more, alone; so are rows that are
 * no whole vectors, where vectors cannot be loaded in part.
 */
#include "reduce_group.h"

enum { CHAIN = 32 /* elements of a state that is not joined yet */ };

/* The number of rows in a vector at which states are closed. A state then has as many elements as a
 * chain of a long row at most. */
static unsigned closing(const tly_row_group *g)
{
    unsigned parts = g->r->c->lanes * g->r->c->acc_bytes * CHAIN /
                     (unsigned)tly_reduced_bytes(g->r->c->p);
    return parts < 1 ? 1 : parts < g->rows ? parts : g->rows;
}

static void close(tly_row_group *g, kir_value *state, unsigned n)
{
    for (unsigned i = 0; g->rules->close != NULL && i < n; i++)
        state[i] = g->rules->close(g->r->c, state[i]);
}

static kir_value fold(tly_row_group *g, kir_value x, kir_value y, unsigned parts)
{
    tly_build *c = g->r->c;
    kir_value low = tly_reduce_halves(c, x, y, parts, 0);
    kir_value high = tly_reduce_halves(c, x, y, parts, 1);
    int joins = g->rules->join != NULL && parts >= closing(g);
    return joins ? g->rules->join(c, low, high) : g->rules->combine(c, low, high);
}

static void fold_pairs(tly_row_group *g, unsigned parts, kir_value *state);

static void fold_halves(tly_row_group *g, unsigned parts, kir_value *state)
{
    fold_pairs(g, parts / 2, state);
    for (unsigned i = 0; i < g->rows / parts; i++)
        state[i] = fold(g, state[2 * i], state[2 * i + 1], parts / 2);
}

/* Rows so short that a vector holds `parts` of them. Combining them at the larger parts would only
 * add neutral elements, so that is left out. */
static void take_parts(tly_row_group *g, unsigned parts, int contiguous, kir_value *state)
{
    tly_row_group_take_parts(g, parts, contiguous, state);
    if (parts > closing(g))
        close(g, state, g->rows / parts);
}

/* i1: a row has at most so many elements, and more than half as many. */
static kir_value fit(const tly_row_group *g, unsigned lanes)
{
    tly_build *c = g->r->c;
    kir_value more = less(c, imm(c, lanes / 2), g->length);
    return band(c, more, less(c, g->length, imm(c, lanes + 1)));
}

/* Folds pairs of rows until one vector has a lane of each row. */
static void fold_pairs(tly_row_group *g, unsigned parts, kir_value *state)
{
    tly_build *c = g->r->c;
    unsigned n = g->rows / parts, length = c->lanes / parts;
    tly_region direct = { 0 }, smaller = { 0 };
    emit_carry(&direct, n, state);
    emit_carry(&smaller, n, state);
    if (parts == 1) {
        tly_row_group_take(g, state);
    } else if (!g->masked) {
        fold_halves(g, parts, state);
    } else {
        emit_if(c, &direct, equal(c, g->contiguous, imm(c, length)));
        take_parts(g, parts, 1, state);
        emit_else(c, &direct);
        if (length > 2) {
            emit_if(c, &smaller, fit(g, length));
            take_parts(g, parts, 0, state);
            emit_else(c, &smaller);
        }
        fold_halves(g, parts, state);
        if (length > 2)
            emit_end(c, &smaller);
        emit_end(c, &direct);
    }
    if (parts == closing(g))
        close(g, state, n);
}

static kir_value fold_rows(tly_row_group *g, kir_value *state)
{
    fold_pairs(g, g->rows, state);
    for (unsigned n = g->r->c->lanes; n > g->rows; n /= 2)
        state[0] = fold(g, state[0], state[0], g->rows);
    return state[0];
}

/* ---- several steps ---- */

kir_value tly_reduce_by_spans(tly_reduce *r, const tly_reduce_spans *f, kir_value none)
{
    enum { GROUP = 32 };
    tly_build *c = r->c;
    int32_t bytes = r->checks_products ? tly_reduced_bytes(c->p) : TLY_REDUCED_MEDIUM_BYTES;
    kir_value steps = arg(c, KIR_ARG_STEPS), one = imm(c, 1), lanes = imm(c, c->lanes);
    kir_value length = add(c, arg(c, KIR_ARG_LENGTH), sub(c, lanes, one));
    kir_value most = imm(c, bytes / (int32_t)(c->lanes * c->acc_bytes));
    kir_value span = udiv(c, most, udiv(c, length, lanes));
    span = tly_max(c, span, one);
    kir_value together = mul(c, span, imm(c, GROUP));
    kir_value all = none, some = 0;
    tly_region group = { .state = { &all } }, each = { .state = { &some } };
    emit_for(c, &group, imm(c, 0), steps, together);
    kir_value end = tly_min(c, add(c, group.i, together), steps);
    some = none;
    emit_for(c, &each, group.i, end, span);
    some = f->join(c, some, f->make(r, f->of, each.i, tly_min(c, add(c, each.i, span), end)));
    emit_end(c, &each);
    all = f->join(c, all, some);
    emit_end(c, &group);
    return all;
}

typedef struct folding {
    tly_row_group *g;
    kir_value *state;
} folding;

static kir_value fold_span(tly_reduce *r, void *of, kir_value from, kir_value to)
{
    folding *f = of;
    (void)r;
    f->g->from = from;
    f->g->to = to;
    return fold_rows(f->g, f->state);
}

static kir_value fold_steps(tly_row_group *g, kir_value *state)
{
    tly_build *c = g->r->c;
    folding of = { g, state };
    if (g->r->checks_products) {
        const tly_reduce_spans products = { fold_span, tly_reduce_join, &of };
        return tly_reduce_by_spans(g->r, &products, tly_reduce_one(c, g->rows));
    }
    const tly_reduce_spans spans = { fold_span, g->rules->combine, &of };
    return tly_reduce_by_spans(g->r, &spans, g->rules->neutral(c, g->rows));
}

/* Stores the results of `count` rows, which may lie apart in the output. */
static void store(tly_row_group *g, kir_value out, kir_value stride, kir_value count, kir_value y)
{
    tly_build *c = g->r->c;
    kir_value scratch = arg(c, KIR_ARG_SCRATCH), one = imm(c, 1);
    kir_value full = equal(c, count, imm(c, g->rows));
    full = band(c, full, equal(c, stride, imm(c, c->bytes[TLY_OUT])));
    tly_region way = { 0 }, l = { 0 };
    emit_if(c, &way, full);
    kir_store(c->b, out, 0, y, 1, 0);
    emit_else(c, &way);
    kir_store(c->b, scratch, 0, y, 1, 0);
    emit_for(c, &l, imm(c, 0), count, one);
    kir_type t = KIR_TYPE(type_of(c, y).kind, 1);
    kir_value v = kir_load(c->b, t, tly_at(c, scratch, l.i, c->bytes[TLY_OUT]), 0, 1);
    kir_store(c->b, ptradd(c, out, mul(c, l.i, stride)), 0, v, 1, 0);
    emit_end(c, &l);
    emit_end(c, &way);
}

/* What is known of several rows. `bad`: i1s, results that may be wrong, or 0: none can be. Of
 * products also `made`, i1: all states are right, so a bad result is beyond the range; and those
 * states. */
typedef struct doubt {
    kir_value bad, made, state;
} doubt;

static void carry_doubt(tly_region *r, doubt *d, int has_states)
{
    emit_carry(r, 1, &d->bad);
    emit_carry(r, has_states, &d->made);
    emit_carry(r, has_states, &d->state);
}

/* Does the rows in doubt once more. Scratch holds a mark for each row, and the states where there
 * are some. */
static void redo(tly_row_group *g, const doubt *d, kir_value first, kir_value count,
                 tly_reduce_one_row alone)
{
    tly_build *c = g->r->c;
    kir_value marks = arg(c, KIR_ARG_SCRATCH), one = imm(c, 1), v[KIR_MAX_PARTS];
    const kir_type mark_type = KIR_TYPE(KIR_I32, 1);
    unsigned parts = d->made != 0 ? kir_parts(c->b, d->state) : 0;
    tly_region again = { 0 }, marked = { 0 }, each = { 0 };
    emit_if(c, &again, any(c, d->bad));
    kir_store(c->b, marks, 0, convert(c, KIR_ZEXT, KIR_TYPE(KIR_I32, g->rows), d->bad), 1, 0);
    for (unsigned i = 0; i < parts; i++)
        kir_store(c->b, marks, (i + 1) * TLY_MOST_VECTOR_BYTES, part(c, d->state, i), 1, 0);
    emit_for(c, &each, imm(c, 0), count, one);
    kir_value mark = kir_load(c->b, mark_type, tly_at(c, marks, each.i, 4), 0, 1);
    emit_if(c, &marked, differ(c, mark, constant(c, mark_type, 0)));
    for (unsigned i = 0; i < parts; i++) {
        kir_type t = KIR_TYPE(type_of(c, part(c, d->state, i)).kind, 1);
        v[i] = kir_load(c->b, t, tly_at(c, marks, each.i, c->acc_bytes),
                        (i + 1) * TLY_MOST_VECTOR_BYTES, 1);
    }
    alone(g->r, add(c, first, each.i), d->made, parts > 0 ? kir_tuple(c->b, parts, v) : 0);
    emit_end(c, &marked);
    emit_end(c, &each);
    emit_end(c, &again);
}

static kir_value place_of(tly_build *c, const tly_place *at, int tensor)
{
    const tly_row *rows = at->of;
    (void)c;
    return rows->at[tensor];
}

/* Rows that lie evenly apart, from *base on. */
static tly_row_group begin_run(tly_reduce *r, const tly_reduce_rules *rules, const tly_row *base)
{
    tly_build *c = r->c;
    tly_row_group g = { .r = r,
                        .rules = rules,
                        .base = *base,
                        .rows = (unsigned)c->plan->rows_at_once,
                        .masked = tly_is_masked(c->p, c->t),
                        .has_steps = c->p->reduced.has_steps,
                        .length = arg(c, KIR_ARG_LENGTH) };
    kir_value dim = tly_max(c, sub(c, arg(c, KIR_ARG_OUTER_RANK), imm(c, 1)), imm(c, 0));
    for (int t = 0; t < c->tensors; t++)
        g.row_bytes[t] = kir_get_at(c->b, TLY_ARG(OUTER_IN, t), dim);
    kir_value in_stride = g.row_bytes[TLY_IN];
    g.is_packed = equal(c, in_stride, mul(c, g.length, imm(c, c->bytes[TLY_IN])));
    for (int t = TLY_FIRST_OPERAND; t < c->tensors; t++) {
        kir_value whole = mul(c, g.length, tly_step(c, t));
        g.is_packed = band(c, g.is_packed, equal(c, g.row_bytes[t], whole));
    }
    /* Of rows with gaps whole rows on, as much would be fetched from the gaps. */
    kir_value all = mul(c, in_stride, imm(c, g.rows)), most = imm(c, c->plan->prefetch);
    kir_value size = tly_max(c, tly_max(c, all, sub(c, imm(c, 0), all)), imm(c, 1));
    kir_value further = udiv(c, add(c, most, sub(c, size, imm(c, 1))), size);
    g.ahead = choose(c, g.is_packed, tly_max(c, all, most), mul(c, all, further));
    g.line_stride = choose(c, g.is_packed, imm(c, (int64_t)c->lanes * c->bytes[TLY_IN]), in_stride);
    g.rate = choose(c, g.is_packed, imm(c, g.rows), imm(c, 1));
    return g;
}

/* The rows from number `row` on, `left` of them at most; `skipped`: rows from the first one on.
 * `met`: what is met of sums of squares; NULL: rows in doubt are done at once. */
static void do_rows(tly_row_group *g, kir_value row, kir_value skipped, kir_value left,
                    kir_value *met, tly_reduce_one_row alone)
{
    tly_reduce *r = g->r;
    tly_build *c = r->c;
    kir_value count = tly_min(c, left, imm(c, g->rows)), state[TLY_GROUP_MOST] = { 0 };
    doubt d = { 0 };
    tly_region fits = { 0 };
    carry_doubt(&fits, &d, r->checks_products);
    tly_row first = { { 0 } };
    for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t))
        first.at[t] = ptradd(c, g->base.at[t], mul(c, skipped, g->row_bytes[t]));
    g->last = sub(c, left, imm(c, 1));
    if (r->checks_products)
        kir_clear_flags(c->b);
    for (int t = TLY_IN; t < c->tensors && r->checks_products; t = tly_next_read(t))
        first.at[t] = kir_keep(c->b, first.at[t]);
    kir_value full = equal(c, count, imm(c, g->rows)), none = imm(c, 0);
    g->contiguous = choose(c, band(c, full, g->is_packed), g->length, none);
    g->first = g->at = first;
    if (!g->masked)
        emit_if(c, &fits, equal(c, tly_round_down(c, g->length, c->lanes), g->length));
    kir_value all = g->has_steps ? fold_steps(g, state) : fold_rows(g, state);
    d.state = all;
    if (met == NULL)
        all = tly_reduce_check(r, all, &d.bad, &d.made);
    const tly_place at = { place_of, &first, .steps = g->row_bytes, .count = count };
    kir_value y = tly_reduce_result(r, c->tensors > TLY_FIRST_OPERAND ? &at : NULL, all, 0);
    if (met != NULL)
        y = tly_row_group_notice(g, all, y, met);
    kir_value out_stride = g->row_bytes[TLY_OUT];
    store(g, ptradd(c, g->base.at[TLY_OUT], mul(c, skipped, out_stride)), out_stride, count, y);
    if (!g->masked) {
        const kir_type truths = KIR_TYPE(KIR_I1, g->rows);
        if (d.bad == 0)
            d.bad = constant(c, truths, 0);
        emit_else(c, &fits);
        d.bad = constant(c, truths, 1); /* rows that are no whole vectors: all of them */
        if (r->checks_products) {
            d.made = i1(c, 0);
            d.state = tly_reduce_one(c, g->rows);
        }
        emit_end(c, &fits);
    }
    if (d.bad != 0)
        redo(g, &d, row, count, alone);
}

static void do_run(tly_reduce *r, const tly_reduce_rules *rules, kir_value begin, kir_value end,
                   tly_reduce_one_row alone)
{
    tly_build *c = r->c;
    const tly_row base = tly_row_address(c, begin);
    tly_row_group g = begin_run(r, rules, &base);
    /* Sums of squares: where vectors can be loaded in part, the results themselves show which rows
     * may be wrong. */
    const int notices = r->checks_squares && g.masked;
    kir_value met[TLY_GROUP_MET] = { i1(c, 0), i1(c, 0), i1(c, 0) };
    tly_region l = { 0 };
    emit_carry(&l, notices ? TLY_GROUP_MET : 0, met);
    emit_for(c, &l, begin, end, imm(c, g.rows));
    do_rows(&g, l.i, sub(c, l.i, begin), sub(c, end, l.i), notices ? met : NULL, alone);
    emit_end(c, &l);
    if (notices)
        tly_row_group_redo(&g, begin, end, met, alone);
}

/* Only rows of the last outer dim lie evenly apart. One dim or none is one run. */
void tly_reduce_group(tly_reduce *r, kir_value begin, kir_value end, tly_reduce_one_row alone)
{
    tly_build *c = r->c;
    const tly_reduce_rules rules = tly_reduce_rules_of(r);
    kir_value rank = arg(c, KIR_ARG_OUTER_RANK), one = imm(c, 1), run = end;
    tly_region several = { .state = { &run } }, l = { 0 };
    emit_if(c, &several, less(c, one, rank));
    run = kir_get_at(c->b, KIR_ARG_OUTER_SIZE, sub(c, rank, one));
    emit_end(c, &several);
    kir_value first = udiv(c, begin, run), last = udiv(c, sub(c, end, one), run);
    emit_for(c, &l, first, add(c, last, one), one);
    kir_value from = mul(c, l.i, run);
    do_run(r, &rules, tly_max(c, begin, from), tly_min(c, end, add(c, from, run)), alone);
    emit_end(c, &l);
}
