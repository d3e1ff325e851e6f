/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear recurrences along rows, y = a*y + u. Each vector is scanned by itself: pairs (A, B) stand
 * for y = A*c + B, where c is the result before the vector. Two neighbouring pairs make
 * (A*A', A'*B + B').
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
    kir_value begins = tly_begins(c, at);
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
    kir_value next = tly_advance(c, &here, y, tly_element(c, &here, x));
    kir_value shown = tly_show(c, &here, c->p->exclusive ? shown_before(c, &here, y) : next);
    tly_store(c, tly_stored_at(c, k->row.at[TLY_OUT], l.i), 0, shown, 1, 0);
    y = next;
    emit_end(c, &l);
    k->last = kir_splat(c->b, y, c->lanes);
}

/* ---- vectors ---- */

/* The pairs of a vector's elements, each joined with all before it in the vector. */
static void scan_vector(tly_build *c, kir_value *factor, kir_value *addend)
{
    const kir_value one = like(c, *factor, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    const kir_value zero = like(c, *addend, tly_value_bits(TLY_MINUS_ZERO, (tally_dtype)c->p->acc));
    for (unsigned apart = 1; apart < c->lanes; apart *= 2) {
        kir_value before = tly_shift(c, zero, *addend, apart);
        kir_value product = tly_shift(c, one, *factor, apart);
        *addend = add(c, mul(c, *factor, before), *addend);
        *factor = mul(c, *factor, product);
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

/* The results before those of a vector, which an exclusive scan shows. */
static kir_value results_before(tly_build *c, const tly_place *at, kir_value last, kir_value y)
{
    return tly_shift(c, shown_before(c, at, last), y, 1);
}

/* i1: all results are finite. */
static kir_value are_finite(tly_build *c, const kir_value *y, unsigned n)
{
    kir_value nothing = 0; /* zeros, or NaN where one is not finite */
    if (!tly_is_floating(c))
        return i1(c, 1);
    for (unsigned i = 0; i < n; i++)
        nothing = accumulate(c, KIR_ADD, nothing, sub(c, y[i], y[i]));
    return tly_not(c, any(c, uno(c, nothing, nothing)));
}

/* `n` vectors from position `i` on. */
static void do_step(linear *k, kir_value i, unsigned n, int lined)
{
    tly_build *c = k->c;
    const tly_place first = tly_place_in(&k->row, i, 0);
    kir_value y[MOST_VECTORS], before[MOST_VECTORS + 1] = { k->last };
    kir_value in = ptradd(c, k->row.at[TLY_IN], mul(c, i, tly_step(c, TLY_IN)));
    for (unsigned j = 0; j < n; j++) {
        const tly_place here = tly_place_after(first, (int64_t)j * c->lanes, 0);
        kir_value skip = mul(c, imm(c, (int64_t)j * c->lanes), tly_step(c, TLY_IN));
        kir_value x = tly_element(c, &here, tly_load_vector(c, ptradd(c, in, skip)));
        kir_value factor = first_factor(c, &here, part(c, x, 0)), addend = part(c, x, 1);
        scan_vector(c, &factor, &addend);
        y[j] = add(c, mul(c, factor, before[j]), addend);
        before[j + 1] = spread(c, y[j], c->lanes - 1);
    }
    tly_region good = { .state = { &k->last } };
    emit_if(c, &good, are_finite(c, y, n));
    for (unsigned j = 0; j < n; j++) {
        const tly_place here = tly_place_after(first, (int64_t)j * c->lanes, 0);
        y[j] = tly_show(c, &here,
                        c->p->exclusive ? results_before(c, &here, before[j], y[j]) : y[j]);
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

static void scan_row(linear *k)
{
    tly_build *c = k->c;
    const unsigned vectors = (unsigned)c->plan->vectors;
    kir_value length = arg(c, KIR_ARG_LENGTH), from = imm(c, 0);
    const tly_place first = tly_place_in(&k->row, imm(c, 0), 0);
    kir_value start = tly_start_at(c, &first, 1);
    kir_value before = choose(c, tly_begins(c, &first), tly_neutral(c, c->acc), start);
    k->last = kir_splat(c->b, before, c->lanes);
    k->lined = band(c, k->streams, is_lined(k));
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
    kir_value last = kir_extract(c->b, k->last, 0);
    tly_end_at(c, &first, choose(c, equal(c, length, imm(c, 0)), start, last));
}

void tly_build_linear(tly_build *c, tly_launch *launch)
{
    linear k = { .c = c, .streams = tly_streams(c) };
    tly_region rows = { 0 };
    launch->chunk = 0;
    emit_for(c, &rows, arg(c, KIR_ARG_BEGIN), arg(c, KIR_ARG_TASK_END), imm(c, 1));
    k.row = tly_row_address(c, rows.i);
    scan_row(&k);
    emit_end(c, &rows);
    tly_fence(c, k.streams);
    kir_return(c->b, imm(c, 0));
}
