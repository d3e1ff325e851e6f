/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: chunks, so that several threads can share a row. This file has what a chunk
 * starts from, what it hands on, and how the carry after a chunk follows from the carry before it
 * and the chunk's total. docs/range.md says when a total is valid.
 */
#include "rows.h"

/* ---- records ---- */

/* Lanes of a carry in a record: of one scan it is a scalar, of interleaved ones a vector. */
static unsigned carry_lanes(const tly_rows *r)
{
    return r->interleave == 1 ? 1 : r->c->lanes;
}

/* How many carries a chunk has: one scan has one, interleaved scans all vectors of the state. */
static unsigned carry_count(const tly_rows *r)
{
    return r->chunk == 0 ? 0 : r->interleave == 1 ? 1 : r->history;
}

int64_t tly_rows_record_bytes(const tly_rows *r)
{
    return (int64_t)carry_count(r) * carry_lanes(r) * r->c->state_bytes;
}

static kir_value load_carry(tly_rows *r, kir_value record, unsigned k)
{
    tly_build *c = r->c;
    unsigned lanes = carry_lanes(r);
    return tly_load_state(c, record, (int64_t)k * lanes * c->state_bytes, lanes, c->acc_bytes);
}

static void store_carry(tly_rows *r, kir_value record, unsigned k, kir_value carry)
{
    tly_build *c = r->c;
    tly_store_state(c, record, (int64_t)k * carry_lanes(r) * c->state_bytes, carry, c->acc_bytes);
}

/* If `first` (i1) holds and the task has a carry, replaces what a row starts from by that. */
static void start_carry(tly_rows *r, kir_value first, kir_value *carry)
{
    tly_build *c = r->c;
    kir_value record = arg(c, KIR_ARG_CARRY_IN);
    kir_value given = differ(c, kir_addr(c->b, record), imm(c, 0));
    tly_region has = { 0 };
    emit_carry(&has, carry_count(r), carry);
    emit_if(c, &has, band(c, first, given));
    for (unsigned k = 0; k < carry_count(r); k++)
        carry[k] = load_carry(r, record, k);
    emit_end(c, &has);
}

/* ---- totals ---- */

/* The total of products is kept as a multiple of 2^-66 (f64: 2^-522), so that it underflows where
 * a prefix of the chunk alone is below 2^-60 (2^-500), and a flag tells. */
typedef struct scale {
    uint64_t down, up;
} scale;

static const scale *of(const tly_build *c)
{
    static const scale f32 = { (127 - 66) << 23, (127 + 66) << 23 };
    static const scale f64 = { (uint64_t)(1023 - 522) << 52, (uint64_t)(1023 + 522) << 52 };
    return c->acc.kind == KIR_F64 ? &f64 : &f32;
}

/* Rows of one chunk need no total. Theirs starts from zero, which raises no flags. */
static kir_value start_total(tly_rows *r)
{
    tly_build *c = r->c;
    if (!tly_checks_products(c))
        return tly_neutral(c, c->vec);
    return choose(c, r->is_cut, constant(c, c->vec, of(c)->down), constant(c, c->vec, 0));
}

/* The state at a chunk's start. */
static void start_chunk(tly_rows *r, tly_rows_state *s, kir_value carry)
{
    tly_build *c = r->c;
    s->last[0] = r->interleave == 1 ? kir_splat(c->b, carry, c->lanes) : carry;
    s->base = carry;
    for (unsigned k = 0; k < tly_rows_total_count(r) && r->totals; k++)
        s->total[k] = start_total(r);
    if (r->checks_total)
        s->total_invalid = tly_not(c, r->is_cut);
}

/* At its begin, a row of a word with a carry starts from what its tensor has. */
static void start_row(tly_rows *r, const tly_row *at, kir_value from, kir_value *carry)
{
    tly_build *c = r->c;
    const tly_place first = tly_place_in(at, 0, 0);
    tly_region begins = { .state = { carry } };
    emit_if(c, &begins, band(c, equal(c, from, imm(c, 0)), tly_not(c, r->only_total)));
    *carry = tly_start_at(c, &first, 1);
    emit_end(c, &begins);
}

tly_rows_state tly_rows_start(tly_rows *r, kir_value first, const tly_row *at, kir_value from)
{
    tly_build *c = r->c;
    tly_rows_state s = { 0 };
    for (unsigned k = 0; k < r->history; k++)
        s.last[k] = tly_start(c, r->interleave == 1 ? c->acc : c->vec);
    if (c->p->carry)
        start_row(r, at, from, &s.last[0]);
    if (r->chunk > 0)
        start_carry(r, first, s.last);
    if (r->interleave == 1 || r->totals)
        start_chunk(r, &s, s.last[0]);
    return s;
}

/* i1: after this carry a chunk's total does not tell what the plain loop comes to: a product may
 * fall below the normal numbers within the chunk and come back. Once a carry is 0, nothing can
 * happen any more. */
static kir_value is_small(tly_rows *r, kir_value carry)
{
    tly_build *c = r->c;
    kir_value small = tly_check_below(c, tly_check_bits(c, carry), TLY_SMALL);
    return band(c, tly_check_lanes(c, small), tly_check_not_zero(c, carry));
}

/* i1, of interleaved scans i1s: infinite or NaN. */
static kir_value has_no_end(tly_rows *r, kir_value v)
{
    tly_build *c = r->c;
    kir_value finite = tly_check_below(c, tly_check_bits(c, v), TLY_INFINITE);
    return tly_check_lanes(c, tly_not(c, finite));
}

/* The carry after a chunk, from the carry before it and the chunk's total. *none (i1): the carry
 * cannot be computed so; it is brought up to date. */
static kir_value add_total(tly_rows *r, kir_value carry, kir_value total, kir_value *none)
{
    tly_build *c = r->c;
    if (!r->checks)
        return tly_combine(c, carry, total);
    kir_value before = bor(c, has_no_end(r, carry), has_no_end(r, total));
    if (tly_checks_products(c)) {
        *none = bor(c, *none, is_small(r, carry));
        total = mul(c, total, constant(c, c->acc, of(c)->up));
    }
    kir_value after = tly_combine(c, carry, total);
    kir_value over = band(c, has_no_end(r, after), tly_not(c, before));
    *none = bor(c, *none, over);
    return after;
}

/* The same of interleaved sums. *none: i1s, or 0 for never. Flags do not tell which scan raised
 * them, but what overflowed stays infinite or NaN, so a total that is neither is valid. */
static kir_value add_sums(tly_rows *r, kir_value carry, kir_value total, kir_value *none)
{
    *none = r->checks ? has_no_end(r, total) : 0;
    return tly_combine(r->c, carry, total);
}

/* The carry after a chunk: that before it and its total, so that other threads can have it before
 * the chunk is scanned; or, where that may not be, its last result. */
static kir_value total_carry(tly_rows *r, const tly_rows_state *s, kir_value total)
{
    kir_value last = r->interleave == 1 ? tly_rows_prefix(r, s) : s->last[0],
              none = s->total_invalid, after;
    if (r->interleave == 1)
        after = add_total(r, s->base, total, &none);
    else
        after = add_sums(r, s->base, total, &none);
    return none ? choose(r->c, none, last, after) : after;
}

unsigned tly_rows_begin_outcome(tly_rows *r, kir_value *outcome)
{
    tly_build *c = r->c;
    unsigned carries = carry_count(r), n = carries + (unsigned)r->totals;
    for (unsigned k = 0; k < n; k++)
        outcome[k] = tly_neutral(c, r->interleave == 1 ? c->acc : c->vec);
    if (r->checks_total)
        outcome[n++] = i1(c, 0);
    return n;
}

/* The same of interleaved sums. A row of one chunk needs no carry, which would cost short rows
 * time. */
static void end_sums(tly_rows *r, const tly_rows_state *s, kir_value *outcome)
{
    tly_build *c = r->c;
    tly_region cut = { .state = { &outcome[0], &outcome[1] } };
    outcome[0] = outcome[1] = s->last[0];
    emit_if(c, &cut, r->is_cut);
    outcome[1] = tly_rows_total(r, s->total);
    outcome[0] = total_carry(r, s, outcome[1]);
    emit_end(c, &cut);
}

void tly_rows_end_row(tly_rows *r, const tly_rows_state *s, kir_value *outcome)
{
    if (r->totals && r->interleave > 1) {
        end_sums(r, s, outcome);
        return;
    }
    for (unsigned k = 0; k < r->history; k++)
        outcome[k] = s->last[k];
    if (r->interleave == 1)
        outcome[0] = tly_rows_prefix(r, s);
    if (r->totals) {
        outcome[1] = tly_rows_total(r, s->total);
        outcome[0] = total_carry(r, s, outcome[1]);
        outcome[2] = s->total_invalid;
    }
}

/* i1: a chunk ends there, and something of it was scanned: not at `from`. */
static kir_value is_border(tly_rows *r, kir_value position, kir_value from)
{
    tly_build *c = r->c;
    kir_value chunk = imm(c, r->chunk), border = i1(c, 0);
    tly_region later = { .state = { &border } };
    emit_if(c, &later, less(c, from, position));
    border = equal(c, mul(c, udiv(c, position, chunk), chunk), position);
    emit_end(c, &later);
    return border;
}

void tly_rows_cross_border(tly_rows *r, tly_rows_state *s, kir_value position, kir_value from)
{
    tly_build *c = r->c;
    if (!r->totals)
        return;
    tly_region border = { 0 };
    tly_rows_carry(r, &border, s);
    emit_if(c, &border, is_border(r, position, from));
    start_chunk(r, s, total_carry(r, s, tly_rows_total(r, s->total)));
    emit_end(c, &border);
}

/* Bytes, in a total record. */
static int64_t invalid_at(const tly_rows *r)
{
    return (r->c->state_bytes + 15) / 16 * 16;
}

_Static_assert(TLY_MOST_STATE_BYTES <= TLY_CARRY_BYTES && TLY_CARRY_BYTES < TLY_TOTAL_BYTES,
               "records hold any state, and in totals a word behind it");

/* The carry record after the last tile, or the total record. Of integers a total is the last
 * result, from a start that adds nothing. */
void tly_rows_store_record(tly_rows *r, kir_value totals, const kir_value *outcome)
{
    tly_build *c = r->c;
    kir_value record = arg(c, KIR_ARG_CARRY_OUT);
    unsigned carries = carry_count(r);
    tly_region wanted = { 0 }, total = { 0 };
    emit_if(c, &wanted, differ(c, kir_addr(c->b, record), imm(c, 0)));
    for (unsigned k = 0; k < carries; k++)
        store_carry(r, record, k,
                    r->totals ? choose(c, totals, outcome[carries], outcome[k]) : outcome[k]);
    if (r->checks_total) {
        emit_if(c, &total, totals);
        kir_value total_invalid = convert(c, KIR_ZEXT, KIR_TYPE(KIR_I32, 1), outcome[carries + 1]);
        kir_store(c->b, record, invalid_at(r), total_invalid, 4, 0);
        emit_end(c, &total);
    }
    emit_end(c, &wanted);
}

/* The carry after a chunk, from its record of totals. *none (i1, or 0 for never): some scan's carry
 * cannot be computed so. */
static kir_value add_record(tly_rows *r, kir_value before, kir_value record, kir_value *none)
{
    tly_build *c = r->c;
    kir_type t = KIR_TYPE(KIR_I32, 1);
    kir_value carry = load_carry(r, before, 0), total = load_carry(r, record, 0);
    if (r->checks_total) {
        *none = differ(c, kir_load(c->b, t, record, invalid_at(r), 4), constant(c, t, 0));
        return add_total(r, carry, total, none);
    }
    kir_value after = add_sums(r, carry, total, none);
    *none = *none ? any(c, *none) : 0;
    return after;
}

kir_value tly_rows_combine(tly_rows *r)
{
    tly_build *c = r->c;
    kir_value record = arg(c, KIR_ARG_TOTAL), zero = imm(c, 0), no_total = imm(c, 1), none;
    kir_value before = arg(c, KIR_ARG_CARRY_IN), to = arg(c, KIR_ARG_CARRY_OUT);
    tly_region some = { .state = { &no_total } };
    for (unsigned k = 0; k < carry_count(r) && !r->totals; k++)
        store_carry(r, to, k, tly_combine(c, load_carry(r, before, k), load_carry(r, record, k)));
    if (!r->totals)
        return zero;
    kir_value after = add_record(r, before, record, &none);
    if (!none) {
        store_carry(r, to, 0, after);
        return zero;
    }
    emit_unless(c, &some, none);
    store_carry(r, to, 0, after);
    no_total = zero;
    emit_end(c, &some);
    return no_total;
}
