/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows, several at once: from elements to a vector of states for each row. Rows that fill a
 * part of a vector share one.
 */
#include "reduce_group.h"

static kir_value numbered(const tly_row_group *g, kir_value position)
{
    return g->has_steps ? add(g->r->c, g->index, position) : position;
}

/* Lifts elements of the row *row. NULL: not all lanes have an element. */
static kir_value lifted(tly_row_group *g, const tly_row *row, kir_value x, kir_value position)
{
    tly_place at = tly_reduce_place(row, position, 0);
    if (g->r->indexed)
        at.index = tly_reduce_indices(g->r, numbered(g, position), g->r->c->lanes, 1);
    return g->rules->lift(g->r, x, &at);
}

/* Lines of one tensor, from so many bytes behind the first row on. */
static void fetch_tensor(tly_row_group *g, int tensor, kir_value on, kir_value line_stride,
                         unsigned lines)
{
    tly_build *c = g->r->c;
    kir_value p = ptradd(c, g->at.at[tensor], on);
    for (unsigned i = 0; i < lines; i++, p = ptradd(c, p, line_stride))
        kir_prefetch(c->b, p, 0);
}

/* Bytes of the input as so many elements' bytes of another tensor. */
static kir_value scaled(const tly_build *c, int tensor, kir_value bytes)
{
    const unsigned of = c->bytes[tensor], in = c->bytes[TLY_IN];
    if (of >= in)
        return mul(c, bytes, imm(c, of / in));
    return ashr(c, bytes, imm(c, __builtin_ctz(in / of)));
}

/* Fetches the lines that come next: those of the next rows, or lines further ahead where rows are
 * short. Where rows lie one behind the other, the fetched lines do, too, although the loads go from
 * row to row. Sums of f32 in rows of 20, 64, 128 took 2855, 2104, 1958 us with lines fetched row by
 * row, and 1099, 1847, 1621 so (Zen 5, minima on a busy machine). The elements that fill no vector
 * count as a line: rows of 31, 45, 63 took 4519, 4135, 3158 us without it, and 1703, 1629, 1782
 * with it; rows of 17 and 20 the same and 8 % more (Zen 5, a quiet machine). Operands whose rows
 * lie as the input's do are fetched, too: of a read, sums of x*a past the cache in rows of 10, 33,
 * 100 f32 1.0, .95, .99 for .28, .47, .69; AVX2 33, 64, 100 1.27, .99, .88 for .78, .58, .57
 * (Zen 5). */
static void fetch_ahead(tly_row_group *g, kir_value skipped, unsigned lines)
{
    tly_build *c = g->r->c;
    if (c->plan->prefetch == 0)
        return;
    kir_value on = add(c, mul(c, skipped, g->rate), g->ahead), none = imm(c, 0);
    fetch_tensor(g, TLY_IN, on, g->line_stride, lines);
    for (int t = TLY_FIRST_OPERAND; t < tly_operands_end(c->p); t++) {
        if (c->p->tensor[t].step != 1)
            continue;
        kir_value alike = equal(c, g->row_bytes[t], scaled(c, t, g->row_bytes[TLY_IN]));
        fetch_tensor(g, t, choose(c, alike, scaled(c, t, on), none),
                     choose(c, alike, scaled(c, t, g->line_stride), none), lines);
    }
}

/* The address of each row. Every way through the rows computes its own: addresses that are computed
 * for all ways cost contiguous rows a third of their time. */
static void place_rows(tly_row_group *g, tly_row *rows)
{
    tly_build *c = g->r->c;
    rows[0] = g->at;
    for (unsigned i = 1; i < g->rows; i++) {
        kir_value none = less(c, g->last, imm(c, i));
        rows[i] = rows[i - 1];
        for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t)) {
            kir_value bytes = choose(c, none, imm(c, 0), g->row_bytes[t]);
            rows[i].at[t] = ptradd(c, rows[i - 1].at[t], bytes);
        }
    }
}

/* The first `count` elements from `from` on of a row, the others neutral. */
static kir_value some_of(tly_row_group *g, const tly_row *row, kir_value from, kir_value count)
{
    tly_build *c = g->r->c;
    kir_value x = ptradd(c, row->at[TLY_IN], mul(c, from, imm(c, c->bytes[TLY_IN])));
    const tly_place at = tly_reduce_place(row, from, 0);
    if (!g->masked)
        return lifted(g, row, tly_reduce_load(g->r, &at, x, 0, c->lanes), from);
    x = lifted(g, NULL, tly_reduce_load_some(g->r, &at, x, count, c->lanes), from);
    return choose(c, tly_lanes_below(c, count), x, g->rules->neutral(c, c->lanes));
}

/* The first vector of a step. Before it there is only the state of the steps before. */
static kir_value taken(tly_row_group *g, kir_value state, kir_value x)
{
    return g->has_steps ? g->rules->combine(g->r->c, state, x) : x;
}

/* Takes the first vectors of all rows, then the other whole vectors, then the elements that fill
 * none. */
static void take_rows(tly_row_group *g, unsigned parts, kir_value *state)
{
    (void)parts;
    tly_build *c = g->r->c;
    kir_value whole = tly_round_down(c, g->length, c->lanes), first = imm(c, c->lanes);
    kir_value count = tly_min(c, g->length, first);
    tly_row rows[TLY_GROUP_MOST];
    tly_region l = { 0 }, some = { 0 };
    emit_carry(&l, g->rows, state);
    emit_carry(&some, g->rows, state);
    place_rows(g, rows);
    for (unsigned i = 0; i < g->rows; i++)
        state[i] = taken(g, state[i], some_of(g, &rows[i], imm(c, 0), count));
    fetch_ahead(g, imm(c, 0), g->rows);
    emit_for(c, &l, first, whole, first);
    kir_value skipped = mul(c, l.i, imm(c, c->bytes[TLY_IN]));
    for (unsigned i = 0; i < g->rows; i++) {
        const tly_place at = tly_reduce_place(&rows[i], l.i, 0);
        kir_value from = ptradd(c, rows[i].at[TLY_IN], skipped);
        kir_value x = tly_reduce_load(g->r, &at, from, 0, c->lanes);
        state[i] = g->rules->combine(c, state[i], lifted(g, &rows[i], x, l.i));
    }
    fetch_ahead(g, skipped, g->rows);
    emit_end(c, &l);
    if (!g->masked)
        return;
    count = sub(c, g->length, tly_max(c, whole, first));
    emit_if(c, &some, less(c, imm(c, 0), count));
    for (unsigned i = 0; i < g->rows; i++)
        state[i] = g->rules->combine(c, state[i], some_of(g, &rows[i], whole, count));
    fetch_ahead(g, mul(c, whole, imm(c, c->bytes[TLY_IN])), g->rows);
    emit_end(c, &some);
}

/* The length of a step in every lane. */
static kir_value lengths(const tly_row_group *g, kir_type t)
{
    tly_build *c = g->r->c;
    const kir_type one = KIR_TYPE(t.kind, 1);
    kir_value n = t.kind == KIR_I64 ? g->length : convert(c, KIR_TRUNC, one, g->length);
    return kir_splat(c->b, n, t.lanes);
}

/* Numbers from 0 on in each of so many parts of a vector. */
static kir_value places(tly_row_group *g, kir_type t, unsigned parts)
{
    tly_build *c = g->r->c;
    kir_value all = kir_iota(c->b, t);
    return band(c, all, constant(c, t, t.lanes / parts - 1));
}

static kir_value lifted_parts(tly_row_group *g, tly_place at, kir_value x, unsigned parts)
{
    tly_build *c = g->r->c;
    if (g->r->indexed) {
        at.index = tly_reduce_indices(g->r, g->has_steps ? g->index : imm(c, 0), c->lanes, 0);
        at.index = add(c, at.index, places(g, type_of(c, at.index), parts));
    }
    return g->rules->lift(g->r, x, &at);
}

/* Loads vectors that hold `parts` rows each, one behind the other in memory. */
static void load_parts(tly_row_group *g, unsigned parts, kir_value *state)
{
    tly_build *c = g->r->c;
    unsigned n = g->rows / parts;
    if (g->has_steps)
        fetch_ahead(g, imm(c, 0), n);
    for (unsigned i = 0; i < n; i++) {
        int64_t skipped = (int64_t)i * c->lanes;
        const tly_place at = tly_place_after(tly_reduce_place(&g->at, 0, 0), skipped, 0);
        kir_value x = tly_reduce_load(g->r, &at, g->at.at[TLY_IN], skipped * c->bytes[TLY_IN],
                                      c->lanes);
        state[i] = taken(g, state[i], lifted_parts(g, at, x, parts));
    }
}

/* Vectors of `parts` rows that may lie apart, each loaded by itself. */
static void load_each(tly_row_group *g, unsigned parts, kir_value *of)
{
    tly_build *c = g->r->c;
    uint8_t all[TLY_MOST_VECTOR_BYTES];
    for (unsigned i = 0; i < c->lanes; i++)
        all[i] = (uint8_t)i;
    tly_row rows[TLY_GROUP_MOST];
    place_rows(g, rows);
    for (unsigned i = 0; i < g->rows / parts; i++) {
        kir_value x[TLY_GROUP_MOST];
        for (unsigned k = 0; k < parts; k++) {
            const tly_row *row = &rows[i * parts + k];
            const tly_place at = tly_reduce_place(row, 0, 0);
            x[k] = tly_reduce_load_some(g->r, &at, row->at[TLY_IN], g->length, c->lanes / parts);
        }
        for (unsigned k = parts; k > 1; k /= 2)
            for (unsigned m = 0; m < k / 2; m++)
                x[m] = kir_shuffle(c->b, x[2 * m], x[2 * m + 1], all, 2 * c->lanes / k);
        of[i] = x[0];
    }
}

/* The same of rows that lie one behind the other: a vector is loaded as they lie, and each of them
 * is moved to its part. */
static void load_spread(tly_row_group *g, unsigned parts, kir_value *of)
{
    tly_build *c = g->r->c;
    const kir_type t = KIR_TYPE(integer_of(c->acc_bytes), c->lanes);
    const unsigned size = c->lanes / parts;
    kir_value row = lshr(c, kir_iota(c->b, t), constant(c, t, (uint64_t)__builtin_ctz(size)));
    kir_value from = add(c, mul(c, row, lengths(g, t)), places(g, t, parts));
    kir_value count = mul(c, g->length, imm(c, parts));
    for (unsigned i = 0; i < g->rows / parts; i++) {
        kir_value first = mul(c, count, imm(c, i));
        kir_value p = ptradd(c, g->at.at[TLY_IN], mul(c, first, imm(c, c->bytes[TLY_IN])));
        const tly_place at = tly_reduce_place(&g->at, first, 0);
        kir_value x = tly_reduce_load_some(g->r, &at, p, count, c->lanes);
        of[i] = kir_permute(c->b, x, x, from);
    }
}

/* The same of rows that are shorter than a part, or lie apart. */
static void load_smaller(tly_row_group *g, unsigned parts, kir_value *state)
{
    tly_build *c = g->r->c;
    unsigned n = g->rows / parts;
    kir_type t = tly_lane_numbers(c);
    kir_value there = less(c, places(g, t, parts), lengths(g, t));
    kir_value x[TLY_GROUP_MOST] = { 0 };
    tly_region packed = { 0 };
    fetch_ahead(g, imm(c, 0), n);
    if (c->t->has_permute && c->lanes * c->acc_bytes == (unsigned)c->t->vector_bytes &&
        c->acc_bytes >= 4) {
        emit_carry(&packed, n, x);
        emit_if(c, &packed, equal(c, g->contiguous, g->length));
        load_spread(g, parts, x);
        emit_else(c, &packed);
        load_each(g, parts, x);
        emit_end(c, &packed);
    } else {
        load_each(g, parts, x);
    }
    for (unsigned i = 0; i < n; i++) {
        const tly_place unknown = { 0 };
        kir_value whole = choose(c, there, lifted_parts(g, unknown, x[i], parts),
                                 g->rules->neutral(c, c->lanes));
        state[i] = taken(g, state[i], whole);
    }
}

/* Moves all rows to a step. A later step is fetched ahead, as many bytes on as the plan says; after
 * the last step the first step of the next rows. */
static void go_to_step(tly_row_group *g, kir_value step)
{
    tly_build *c = g->r->c;
    g->at = tly_reduce_step(c, &g->first, step);
    g->index = mul(c, step, g->length);
    kir_value steps = arg(c, KIR_ARG_STEPS), one = imm(c, 1);
    kir_value last = tly_max(c, sub(c, arg(c, KIR_ARG_REDUCED_RANK), one), imm(c, 0));
    kir_value stride = kir_get_at(c->b, KIR_ARG_REDUCED_IN, last);
    kir_value all = mul(c, g->row_bytes[TLY_IN], imm(c, g->rows));
    kir_value further = udiv(c, imm(c, c->plan->prefetch), tly_max(c, all, one));
    further = tly_min(c, add(c, further, one), steps);
    kir_value within = less(c, add(c, step, further), steps);
    kir_value turn = sub(c, all, mul(c, stride, steps));
    g->ahead = add(c, mul(c, stride, further), choose(c, within, imm(c, 0), turn));
}

/* Takes all steps of a fold, rows / parts states. */
static void take_steps(tly_row_group *g,
                       void (*take)(tly_row_group *g, unsigned parts, kir_value *state),
                       unsigned parts, kir_value *state)
{
    tly_build *c = g->r->c;
    unsigned n = g->rows / parts;
    if (!g->has_steps) {
        take(g, parts, state);
        return;
    }
    tly_region l = { 0 };
    emit_carry(&l, n, state);
    for (unsigned i = 0; i < n; i++)
        state[i] = g->rules->neutral(c, c->lanes);
    emit_for(c, &l, g->from, g->to, imm(c, 1));
    go_to_step(g, l.i);
    take(g, parts, state);
    emit_end(c, &l);
}

void tly_row_group_take(tly_row_group *g, kir_value *state)
{
    take_steps(g, take_rows, 1, state);
}

void tly_row_group_take_parts(tly_row_group *g, unsigned parts, int contiguous, kir_value *state)
{
    take_steps(g, contiguous ? load_parts : load_smaller, parts, state);
}
