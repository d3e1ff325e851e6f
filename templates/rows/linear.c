/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows whose elements do more than join the state before them: linear recurrences, y = a*y + u,
 * and elements that begin anew (heads), of segments or by `reset`. Each vector is scanned by
 * itself, and then joined with the result before it. Of recurrences, pairs (A, B) stand for
 * y = A*c + B, where c is that result. Two neighbouring pairs make (A*A', A'*B + B'). Where a head
 * lies between two elements, the former has no part in the latter's result.
 *
 * Other orders than the plain loop's may leave the range of floats. If every result of a step is
 * finite, then nothing did: an infinite A or B makes a result of its own infinite or NaN, and no
 * later factor brings that back. So a step checks its results alone, before it stores them. If one
 * is not finite, the plain loop computes the step once more, from the result before it. A factor
 * that falls below the range loses less than the bound in docs/semantics.md allows.
 */
#include "../template.h"

enum { LINE = 64, MOST_VECTORS = TLY_LINEAR_MOST_VECTORS };

typedef struct linear {
    tly_build *c;
    tly_row row;       /* position 0 */
    kir_value streams; /* i1: the tensors are larger than the cache */
    kir_value lined;   /* i1: and the row's lines of output go past it */
    kir_value last;    /* the result before the next position, in all lanes of a vector */
} linear;

static kir_value spread(const tly_build *c, kir_value v, unsigned lane)
{
    const unsigned n = type_of(c, v).lanes;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)lane;
    return kir_shuffle(c->b, v, v, index, n);
}

/* What an exclusive scan shows before the element at a place: the first one is the identity. */
static kir_value shown_before(tly_build *c, const tly_place *at, kir_value y)
{
    kir_value begins = tly_operator_of(c->p)->applies ? tly_begins(c, at) : 0;
    return begins != 0 ? choose(c, begins, tly_start(c, type_of(c, y)), y) : y;
}

/* ---- one by one ---- */

/* Positions [from, to) by the plain loop. */
static void scan_scalars(linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    kir_value y = kir_extract(c->b, k->last, 0);
    tly_region l = { .state = { &y } };
    emit_for(c, &l, from, to, imm(c, 1));
    const tly_place here = tly_place_in(&k->row, l.i, 0);
    kir_value x = tly_load(c, ptradd(c, k->row.at[TLY_IN], mul(c, l.i, tly_step(c, TLY_IN))), 0, 1);
    kir_value element = tly_element(c, &here, x), next = tly_advance(c, &here, y, element);
    kir_value before = c->p->exclusive ? shown_before(c, &here, y) : y;
    kir_value shown = tly_show(c, &here, tly_shown(c, element, before, next));
    tly_store(c, tly_stored_at(c, k->row.at[TLY_OUT], l.i), 0, shown, 1, 0);
    y = next;
    emit_end(c, &l);
    k->last = kir_splat(c->b, y, c->lanes);
}

/* ---- vectors ---- */

/* A vector's elements, or what they come to with those before them in the vector. */
typedef struct piece {
    kir_value state;
    kir_value factor; /* recurrences: what the result before the vector is multiplied by; else 0 */
    kir_value keeps;  /* words with heads: integers, all ones where no state is dropped; else 0 */
    kir_value heads;  /* ... and i1s, where one is dropped right before the element */
} piece;

static kir_value keeps_state(tly_build *c, kir_value keeps)
{
    return differ(c, keeps, like(c, keeps, 0));
}

/* What comes before, and the piece behind it. */
static kir_value join(tly_build *c, kir_value before, const piece *p)
{
    kir_value joined = p->factor != 0 ? add(c, mul(c, p->factor, before), p->state)
                                      : tly_combine(c, before, p->state);
    return p->keeps != 0 ? choose(c, keeps_state(c, p->keeps), joined, p->state) : joined;
}

/* Each element joined with all before it in the vector. */
static void scan_vector(tly_build *c, piece *p)
{
    kir_value none = tly_neutral(c, c->vec), one = 0, all = 0;
    if (p->factor != 0)
        one = like(c, p->factor, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    if (p->keeps != 0)
        all = like(c, p->keeps, UINT64_MAX);
    for (unsigned apart = 1; apart < c->lanes; apart *= 2) {
        p->state = join(c, tly_shift(c, none, p->state, apart), p);
        if (p->factor != 0)
            p->factor = mul(c, p->factor, tly_shift(c, one, p->factor, apart));
        if (p->keeps != 0)
            p->keeps = band(c, p->keeps, tly_shift(c, all, p->keeps, apart));
    }
}

/* The first element of a row is its addend, whatever comes before it: 1 * -0 + u. */
static kir_value first_factor(tly_build *c, const tly_place *at, kir_value factor)
{
    kir_value begins = tly_begins(c, at);
    if (begins == 0)
        return factor;
    kir_value one = like(c, factor, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    kir_value first = tly_lanes_below(c, choose(c, begins, imm(c, 1), imm(c, 0)));
    return choose(c, first, one, factor);
}

static piece piece_of(tly_build *c, const tly_place *at, kir_value x)
{
    const int recurs = tly_operator_of(c->p)->applies;
    piece p = { .state = tly_element(c, at, x) };
    if (tly_has_heads(c)) {
        kir_type t = KIR_TYPE(integer_of(c->acc_bytes), c->lanes);
        p.heads = tly_take_head(c, &p.state);
        p.keeps = choose(c, p.heads, constant(c, t, 0), constant(c, t, UINT64_MAX));
    }
    if (recurs) {
        p.factor = first_factor(c, at, part(c, p.state, 0));
        p.state = part(c, p.state, 1);
    } else if (p.heads != 0 && c->p->exclusive) { /* the identity takes part */
        p.state = choose(c, p.heads, tly_combine(c, tly_start(c, c->vec), p.state), p.state);
    }
    return p;
}

/* The results before those of a vector, which an exclusive scan shows. */
static kir_value results_before(tly_build *c, const tly_place *at, kir_value last, kir_value y,
                                const piece *p)
{
    kir_value before = tly_shift(c, shown_before(c, at, last), y, 1);
    return p->heads != 0 ? choose(c, p->heads, tly_start(c, c->vec), before) : before;
}

/* ---- the range ---- */

/* i1: all results are finite. */
static kir_value are_finite(tly_build *c, const kir_value *y, unsigned n)
{
    kir_value nothing = 0; /* zeros, or NaN where one is not finite */
    for (unsigned i = 0; i < n; i++)
        nothing = accumulate(c, KIR_ADD, nothing, sub(c, y[i], y[i]));
    return tly_not(c, any(c, uno(c, nothing, nothing)));
}

static kir_value magnitude(tly_build *c, kir_value x)
{
    const int single = c->acc.kind == KIR_F32;
    kir_value bits = to_kind(c, KIR_BITCAST, single ? KIR_I32 : KIR_I64, x);
    return band(c, bits, like(c, bits, single ? INT32_MAX : INT64_MAX));
}

static uint64_t power(const tly_build *c, int exponent)
{
    return c->acc.kind == KIR_F32 ? (uint64_t)(127 + exponent) << 23
                                  : (uint64_t)(1023 + exponent) << 52;
}

/* i1: no product of neighbours in the vector has left the normal numbers. Elements are at most 2^4,
 * so a product of some of them is at most 2^64 times smaller than it was on its way. */
static kir_value are_regular(tly_build *c, kir_value elements, kir_value products, kir_value y)
{
    enum { MOST = 4, LEAST = -60, NORMAL = -126 };
    kir_value large = magnitude(c, elements), small = magnitude(c, products),
              last = magnitude(c, y);
    kir_value good = ule(c, large, like(c, large, power(c, MOST)));
    good = band(c, good, ule(c, like(c, small, power(c, LEAST)), small));
    good = band(c, good, ule(c, like(c, last, power(c, NORMAL)), last));
    return tly_not(c, any(c, tly_not(c, good)));
}

/* ---- steps ---- */

/* `n` vectors from position `i` on. */
static void do_step(linear *k, kir_value i, unsigned n, int lined)
{
    tly_build *c = k->c;
    const int products = tly_checks_products(c);
    const tly_place first = tly_place_in(&k->row, i, 0);
    kir_value y[MOST_VECTORS], before[MOST_VECTORS + 1] = { k->last }, valid = i1(c, 1);
    piece p[MOST_VECTORS];
    kir_value in = ptradd(c, k->row.at[TLY_IN], mul(c, i, tly_step(c, TLY_IN)));
    for (unsigned j = 0; j < n; j++) {
        const tly_place here = tly_place_after(first, (int64_t)j * c->lanes, 0);
        kir_value skip = mul(c, imm(c, (int64_t)j * c->lanes), tly_step(c, TLY_IN));
        p[j] = piece_of(c, &here, tly_load_vector(c, ptradd(c, in, skip)));
        kir_value elements = p[j].state;
        scan_vector(c, &p[j]);
        y[j] = join(c, before[j], &p[j]);
        if (products)
            valid = band(c, valid, are_regular(c, elements, p[j].state, y[j]));
        before[j + 1] = spread(c, y[j], c->lanes - 1);
    }
    if (products || tly_operator_of(c->p)->applies || tly_is_checked_as(c->p, TLY_CHECK_SUMS))
        valid = tly_is_floating(c) ? band(c, valid, are_finite(c, y, n)) : valid;
    tly_region good = { .state = { &k->last } };
    emit_if(c, &good, valid);
    for (unsigned j = 0; j < n; j++) {
        const tly_place here = tly_place_after(first, (int64_t)j * c->lanes, 0);
        y[j] = tly_show(c, &here,
                        c->p->exclusive ? results_before(c, &here, before[j], y[j], &p[j]) : y[j]);
    }
    kir_value to = tly_stored_at(c, k->row.at[TLY_OUT], i);
    const unsigned packed = tly_pack_run(c, y, n, 0);
    tly_region way = { 0 };
    if (lined) {
        emit_if(c, &way, k->lined);
        tly_store_run(c, to, y, packed, KIR_STREAM);
        emit_else(c, &way);
    }
    tly_store_run(c, to, y, packed, 0);
    if (lined)
        emit_end(c, &way);
    k->last = before[n];
    emit_else(c, &good);
    scan_scalars(k, i, add(c, i, imm(c, (int64_t)n * c->lanes)));
    emit_end(c, &good);
}

/* Past the cache, all that the row reads is fetched ahead. */
static void prefetch(linear *k, kir_value i, unsigned n)
{
    tly_build *c = k->c;
    tly_region far = { 0 };
    emit_if(c, &far, k->streams);
    for (int t = 0; t < c->tensors; t++) {
        const int up = c->p->tensor[t].step == 1, down = c->p->tensor[t].step == -1;
        if (t == TLY_OUT || !(up || down))
            continue;
        kir_value from = ptradd(c, k->row.at[t], mul(c, i, tly_step(c, t)));
        const int64_t bytes = (int64_t)n * c->lanes * c->bytes[t];
        for (int64_t byte = 0; byte < bytes; byte += LINE)
            kir_prefetch(c->b, from, (up - down) * (c->plan->prefetch + byte));
    }
    emit_end(c, &far);
}

/* i1: the row's output begins with a line, so that steps store whole lines. No step is moved to
 * reach one, since bits must not depend on where tensors lie. */
static kir_value is_lined(linear *k)
{
    tly_build *c = k->c;
    kir_value at = kir_addr(c->b, k->row.at[TLY_OUT]);
    if (c->p->tensor[TLY_OUT].step < 0)
        at = add(c, at, imm(c, c->bytes[TLY_OUT]));
    return equal(c, band(c, at, imm(c, LINE - 1)), imm(c, 0));
}

/* Positions [from, length), from the state before them on. */
static void scan_span(linear *k, kir_value from, kir_value length)
{
    tly_build *c = k->c;
    const unsigned vectors = (unsigned)c->plan->vectors;
    for (unsigned n = vectors; n > 0; n = n > 1 ? 1 : 0) {
        const int64_t step = (int64_t)n * c->lanes;
        kir_value to = add(c, from, tly_round_down(c, sub(c, length, from), step));
        tly_region l = { .state = { &k->last } };
        emit_for(c, &l, from, to, imm(c, step));
        if (n == vectors)
            prefetch(k, l.i, n);
        do_step(k, l.i, n, n == vectors);
        emit_end(c, &l);
        from = to;
    }
    scan_scalars(k, from, length);
}

/* The positions of all segments, a block after another, whose heads are marked before. */
static void scan_segments(linear *k)
{
    tly_build *c = k->c;
    tly_heads heads = tly_heads_begin(c, arg(c, KIR_ARG_SCRATCH));
    tly_region l = { .state = { &k->last, &heads.next } };
    emit_for(c, &l, heads.first, heads.end, imm(c, TLY_HEADS_BLOCK));
    kir_value to = tly_min(c, add(c, l.i, imm(c, TLY_HEADS_BLOCK)), heads.end);
    tly_heads_mark(c, &heads, l.i, to);
    scan_span(k, l.i, to);
    emit_end(c, &l);
}

static void scan_row(linear *k)
{
    tly_build *c = k->c;
    kir_value length = arg(c, KIR_ARG_LENGTH);
    const tly_place first = tly_place_in(&k->row, imm(c, 0), 0);
    kir_value start = tly_start_at(c, &first, 1), before = start;
    if (tly_operator_of(c->p)->applies)
        before = choose(c, tly_begins(c, &first), tly_neutral(c, c->acc), start);
    k->last = kir_splat(c->b, before, c->lanes);
    k->lined = band(c, k->streams, is_lined(k));
    if (c->p->segmented != TLY_SEGMENTED_NOT) {
        scan_segments(k);
        return;
    }
    scan_span(k, imm(c, 0), length);
    kir_value last = kir_extract(c->b, k->last, 0);
    tly_end_at(c, &first, choose(c, equal(c, length, imm(c, 0)), start, last));
}

void tly_build_linear(tly_build *c, tly_launch *launch)
{
    linear k = { .c = c, .streams = tly_streams(c) };
    tly_region rows = { 0 };
    launch->chunk = 0;
    launch->scratch_bytes = c->p->segmented != TLY_SEGMENTED_NOT ? TLY_HEADS_BYTES : 0;
    emit_for(c, &rows, arg(c, KIR_ARG_BEGIN), arg(c, KIR_ARG_TASK_END), imm(c, 1));
    k.row = tly_row_address(c, rows.i);
    scan_row(&k);
    emit_end(c, &rows);
    tly_fence(c, k.streams);
    kir_return(c->b, imm(c, 0));
}
