/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear template: chunks, so that several threads can share a row. The carry after a chunk is
 * A*c + B, where c is the carry before it and (A, B) its total, the pair of all its elements. Sums
 * with heads have A = 1; after a head c has no part. So other threads can have the carry before the
 * chunk is scanned, and one thread computes the same tree as many.
 *
 * A total counts only where no order of combination leaves the range: every factor is at most 1,
 * so that a product of factors that falls below the range is never magnified again, and all results
 * are finite. Before the chunk is scanned, the magnitudes of the addends and of c tell the latter:
 * together they stay below the largest number. Decays, gates and masks are such factors. Otherwise
 * the carry is the chunk's last result.
 * Integers need no totals beside results, as every order gives the same ones. Nor do chunks from
 * their first head on: the state after it is the result, unless that was computed once more by the
 * plain loop. Where sums were, the total does not count.
 *
 * A total of products counts where those that begin with the chunk are so near to 1, and the carry
 * before it, too, that no product of any elements leaves the range; or where the carry is 0, and
 * elements are finite.
 */
#include "linear.h"

/* 1: words with heads, also before any is marked. */
static int drops_states(const tly_build *c)
{
    return c->p->resets || c->p->segmented != TLY_SEGMENTED_NOT;
}

int tly_linear_has_totals(const tly_build *c)
{
    return tly_operator_of(c->p)->parts == 1 || tly_has_index(c->p);
}

/* ---- totals ---- */

/* Powers of two as the accumulator's bits. */
typedef enum power {
    LEAST_CARRY,
    LEAST_PREFIX,
    ONE,
    MOST_PREFIX,
    MOST_FACTOR,
    MOST_ADDENDS,
    MOST_CARRY,
    INFINITE
} power;

static uint64_t bits_of(const tly_build *c, power p)
{
    static const int16_t single[] = { -65, -60, 0, 60, 66, 119, 125, 128 },
                         twice[] = { -521, -500, 0, 500, 522, 1015, 1021, 1024 };
    return c->acc.kind == KIR_F32 ? (uint64_t)(127 + single[p]) << 23
                                  : (uint64_t)(1023 + twice[p]) << 52;
}

/* i1: no lane's magnitude is above a power of two, or NaN. */
static kir_value is_within(tly_build *c, kir_value bits, power p)
{
    kir_value above = tly_not(c, ule(c, bits, like(c, bits, bits_of(c, p))));
    return tly_not(c, type_of(c, above).lanes > 1 ? any(c, above) : above);
}

/* i1, of a scalar. */
static kir_value is_finite(tly_build *c, kir_value x)
{
    kir_value bits = tly_linear_magnitude(c, x);
    return ule(c, bits, like(c, bits, bits_of(c, INFINITE) - 1));
}

static void carry_totals(tly_linear *k, tly_region *l)
{
    kir_value *const made[] = { &k->total.state, &k->total.factor, &k->total.keeps, &k->least,
                                &k->most };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (*made[i] != 0)
            emit_carry(l, 1, made[i]);
}

void tly_linear_carry(tly_linear *k, tly_region *l)
{
    if (k->pass != TLY_LINEAR_TOTAL)
        emit_carry(l, k->history, k->last);
    if (k->pass == TLY_LINEAR_RESULTS)
        return;
    carry_totals(k, l);
    if (k->steepest != 0)
        emit_carry(l, 1, &k->steepest);
    if (k->addends != 0)
        emit_carry(l, 1, &k->addends);
}

void tly_linear_begin_total(tly_linear *k)
{
    tly_build *c = k->c;
    const int recurs = tly_operator_of(c->p)->applies, products = tly_checks_products(c);
    const int rounds = tly_is_floating(c) && !products;
    const kir_type bits = KIR_TYPE(integer_of(c->acc_bytes), c->lanes);
    k->total = (tly_piece){ .state = tly_neutral(c, c->vec) };
    if (recurs)
        k->total.factor = constant(c, c->vec, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    if (drops_states(c) && !k->apart)
        k->total.keeps = i1(c, 1);
    k->least = k->most = products ? like(c, constant(c, bits, 0), bits_of(c, ONE)) : 0;
    k->addends = rounds && k->pass == TLY_LINEAR_TOTAL ? constant(c, c->vec, 0) : 0;
    k->steepest = rounds && recurs ? constant(c, bits, 0) : 0;
}

static kir_value in_all_lanes(tly_build *c, kir_value v)
{
    return v != 0 && type_of(c, v).lanes == 1 ? kir_splat(c->b, v, c->lanes) : v;
}

/* Of products, all that begin with the chunk's first element are looked at. */
static void add_products(tly_linear *k, const tly_piece *p)
{
    tly_build *c = k->c;
    kir_value y = tly_piece_join(c, k->total.state, p);
    kir_value bits = tly_linear_magnitude(c, y);
    k->least = bin(c, KIR_UMIN, k->least, bits);
    k->most = bin(c, KIR_UMAX, k->most, bits);
    k->total.state = tly_spread_last(c, y);
}

void tly_linear_add(tly_linear *k, const tly_piece *p)
{
    tly_build *c = k->c;
    if (k->least != 0) {
        const tly_piece all = { .state = in_all_lanes(c, p->state) };
        add_products(k, &all);
        return;
    }
    tly_piece last = tly_piece_last(c, p);
    if (last.keeps != 0) {
        k->total.keeps = band(c, last.keeps, k->total.keeps);
        last.keeps = kir_splat(c->b, last.keeps, c->lanes);
    }
    k->total.state = tly_piece_join(c, k->total.state, &last);
    if (last.factor != 0)
        k->total.factor = mul(c, last.factor, k->total.factor);
}

/* 1: totals are the results from a chunk's first head on. */
static int ends_at_head(const tly_linear *k)
{
    return k->pass == TLY_LINEAR_BOTH && drops_states(k->c) && !k->apart;
}

void tly_linear_add_step(tly_linear *k, const tly_piece *p, unsigned n)
{
    tly_region headless = { 0 };
    if (ends_at_head(k)) {
        carry_totals(k, &headless);
        emit_if(k->c, &headless, k->total.keeps);
    }
    for (unsigned j = 0; j < n; j++)
        tly_linear_add(k, &p[j]);
    if (ends_at_head(k))
        emit_end(k->c, &headless);
}

void tly_linear_watch(tly_linear *k, const tly_piece *p)
{
    tly_build *c = k->c;
    if (k->addends != 0) {
        kir_value addend = bitcast(c, c->vec, tly_linear_magnitude(c, in_all_lanes(c, p->state)));
        k->addends = add(c, k->addends, addend);
    }
    if (k->steepest != 0) {
        kir_value factor = tly_linear_magnitude(c, in_all_lanes(c, p->factor));
        k->steepest = choose(c, ule(c, k->steepest, factor), factor, k->steepest);
    }
}

/* What is known of products that begin with a chunk: they are far from the ends of the range, so
 * that all others are within it; or none is infinite or NaN. */
typedef struct reach {
    kir_value is_near, is_finite; /* i1 */
} reach;

static reach reach_of(const tly_linear *k)
{
    tly_build *c = k->c;
    kir_value below = ule(c, k->least, like(c, k->least, bits_of(c, LEAST_PREFIX) - 1));
    kir_value beyond = ule(c, like(c, k->most, bits_of(c, INFINITE)), k->most);
    return (reach){ band(c, tly_not(c, any(c, below)), is_within(c, k->most, MOST_PREFIX)),
                    tly_not(c, any(c, beyond)) };
}

/* i1: with a carry that is 0 nothing can happen any more, with others all stays in the range. */
static kir_value is_reached(tly_build *c, kir_value carry, const reach *r)
{
    kir_value bits = tly_linear_magnitude(c, carry), zero = like(c, bits, 0);
    kir_value is_large = tly_not(c, ule(c, bits, like(c, bits, bits_of(c, LEAST_CARRY) - 1)));
    kir_value is_near = band(c, is_large, is_within(c, bits, MOST_FACTOR));
    return bor(c, band(c, r->is_near, is_near), band(c, r->is_finite, equal(c, bits, zero)));
}

/* The carry after a chunk, as a scalar. *counts: i1, or 0 for always. */
static kir_value carry_after(tly_build *c, kir_value before, const tly_piece *total,
                             kir_value *counts)
{
    kir_value after = tly_piece_join(c, before, total);
    if (*counts != 0)
        *counts = band(c, *counts, is_finite(c, after));
    return after;
}

void tly_linear_end_chunk(tly_linear *k, kir_value base)
{
    tly_build *c = k->c;
    const tly_piece *t = &k->total;
    tly_piece total = { .state = kir_extract(c->b, t->state, 0),
                        .factor = t->factor ? kir_extract(c->b, t->factor, 0) : 0,
                        .keeps = t->keeps };
    kir_value last = kir_extract(c->b, k->last[0], 0);
    if (ends_at_head(k))
        total.state = choose(c, total.keeps, total.state, last);
    kir_value before = kir_extract(c->b, base, 0);
    kir_value counts = is_finite(c, last); /* what is not, stays so until a head */
    if (k->steepest != 0)
        counts = band(c, counts, is_within(c, k->steepest, ONE));
    if (k->least != 0) {
        const reach r = reach_of(k);
        counts = is_reached(c, before, &r);
    }
    kir_value after = carry_after(c, before, &total, &counts);
    k->last[0] = kir_splat(c->b, choose(c, counts, after, last), c->lanes);
}

/* ---- records ---- */

/* Bytes in a total record. A carry record is a state alone. States of two parts have no factor. */
enum { STATE = 0, FACTOR = 8, KEEPS = 16, VALID = 24, FINITE = 28 };

_Static_assert(FINITE + 4 <= TLY_TOTAL_BYTES, "a total record holds it");

static kir_type word_type(void)
{
    return KIR_TYPE(KIR_I32, 1);
}

static kir_value load_flag(tly_build *c, kir_value record, int64_t at)
{
    return differ(c, kir_load(c->b, word_type(), record, at, 4), constant(c, word_type(), 0));
}

static kir_value load_state(tly_build *c, kir_arg record)
{
    return tly_load_state(c, arg(c, record), STATE, 1, c->acc_bytes);
}

static void store_state(tly_build *c, kir_value record, kir_value state)
{
    tly_store_state(c, record, STATE, state, c->acc_bytes);
}

kir_value tly_linear_carry_in(tly_linear *k)
{
    tly_build *c = k->c;
    return kir_splat(c->b, load_state(c, KIR_ARG_CARRY_IN), c->lanes);
}

void tly_linear_carry_out(tly_linear *k)
{
    tly_build *c = k->c;
    kir_value record = arg(c, KIR_ARG_CARRY_OUT);
    tly_region wanted = { 0 };
    emit_if(c, &wanted, differ(c, kir_addr(c->b, record), imm(c, 0)));
    store_state(c, record, kir_extract(c->b, k->last[0], 0));
    emit_end(c, &wanted);
}

static void store_flag(tly_build *c, kir_value record, int64_t at, kir_value flag)
{
    kir_store(c->b, record, at, convert(c, KIR_ZEXT, word_type(), flag), 4, 0);
}

void tly_linear_store_total(tly_linear *k)
{
    tly_build *c = k->c;
    const tly_piece *t = &k->total;
    kir_value record = arg(c, KIR_ARG_CARRY_OUT), valid = i1(c, tly_linear_has_totals(c));
    store_state(c, record, kir_extract(c->b, t->state, 0));
    if (t->factor != 0)
        kir_store(c->b, record, FACTOR, kir_extract(c->b, t->factor, 0), c->acc_bytes, 0);
    if (drops_states(c))
        store_flag(c, record, KEEPS, k->apart ? i1(c, 1) : t->keeps);
    if (k->least != 0) {
        const reach r = reach_of(k);
        valid = r.is_near;
        store_flag(c, record, FINITE, r.is_finite);
    }
    if (k->addends != 0)
        valid = is_within(c, tly_linear_magnitude(c, k->addends), MOST_ADDENDS);
    if (k->steepest != 0)
        valid = band(c, valid, is_within(c, k->steepest, ONE));
    if (tly_is_floating(c))
        store_flag(c, record, VALID, valid);
}

void tly_linear_store_state(tly_linear *k, kir_value y)
{
    tly_build *c = k->c;
    kir_value record = arg(c, KIR_ARG_CARRY_OUT);
    store_state(c, record, y);
    store_flag(c, record, KEEPS, i1(c, 0));
}

/* i1, of floats: the total tells the carry behind one. */
static kir_value tells(tly_build *c, kir_value record, kir_value before)
{
    kir_value valid = load_flag(c, record, VALID);
    if (!tly_checks_products(c))
        return band(c, valid, is_within(c, tly_linear_magnitude(c, before), MOST_CARRY));
    const reach r = { valid, load_flag(c, record, FINITE) };
    return is_reached(c, before, &r);
}

/* The carry after a chunk from the records. *counts: i1, or 0 for always. */
static kir_value total_carry(tly_linear *k, kir_value *counts)
{
    tly_build *c = k->c;
    kir_value record = arg(c, KIR_ARG_TOTAL), before = load_state(c, KIR_ARG_CARRY_IN);
    tly_piece total = { .state = load_state(c, KIR_ARG_TOTAL) };
    kir_value keeps = drops_states(c) ? load_flag(c, record, KEEPS) : 0;
    if (tly_operator_of(c->p)->applies)
        total.factor = kir_load(c->b, c->acc, record, FACTOR, c->acc_bytes);
    if (!k->apart)
        total.keeps = keeps;
    *counts = tly_is_floating(c) ? tells(c, record, before) : 0;
    kir_value after = carry_after(c, before, &total, counts);
    if (!k->apart)
        return after;
    if (*counts != 0)
        *counts = bor(c, *counts, tly_not(c, keeps));
    return choose(c, keeps, after, total.state);
}

kir_value tly_linear_combine(tly_linear *k)
{
    tly_build *c = k->c;
    kir_value refuses = imm(c, 0), counts, after;
    tly_region known = { .state = { &refuses } };
    if (tly_linear_has_totals(c)) {
        after = total_carry(k, &counts);
    } else {
        after = load_state(c, KIR_ARG_TOTAL);
        counts = tly_not(c, load_flag(c, arg(c, KIR_ARG_TOTAL), KEEPS));
    }
    if (counts != 0) {
        refuses = imm(c, 1);
        emit_if(c, &known, counts);
    }
    store_state(c, arg(c, KIR_ARG_CARRY_OUT), after);
    refuses = imm(c, 0);
    if (counts != 0)
        emit_end(c, &known);
    return refuses;
}
