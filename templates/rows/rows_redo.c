/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: does a step again in which lanes left the floating-point range. Such lanes,
 * and later lanes of the same scan, are computed by the plain loop from the true prefix.
 */
#include "rows.h"

static kir_type mask_type(const tly_rows *r)
{
    return KIR_TYPE(r->c->acc_bytes == 8 ? KIR_I64 : KIR_I32, r->c->lanes);
}

/* Lanes of a mask (all ones or 0) and, of each scan, those after them. */
static kir_value and_after(tly_rows *r, kir_value mask)
{
    tly_build *c = r->c;
    kir_value none = constant(c, mask_type(r), 0);
    for (unsigned apart = r->interleave; apart < c->lanes; apart *= 2)
        mask = bor(c, mask, tly_vector_before(c, none, mask, apart, c->lanes));
    return mask;
}

static kir_value as_mask(tly_rows *r, kir_value truth)
{
    return convert(r->c, KIR_SEXT, mask_type(r), truth);
}

/* i1s: lanes whose product is not as good as the plain loop's. If a scan falls below the normal
 * numbers within the step, it does not matter how. `lives`: a mask of the scans that do not. */
static kir_value products_out_of_range(tly_rows *r, const tly_rows_result *y, const kir_value *x,
                                       kir_value lives)
{
    tly_build *c = r->c;
    kir_value one = tly_neutral(c, c->vec), none = constant(c, mask_type(r), 0);
    kir_value zero = tly_not(c, tly_rows_elements_not_zero(r, x));
    kir_value exact = and_after(r, as_mask(r, zero));
    exact = band(c, differ(c, exact, none), tly_rows_is_zero(r, y->part));
    kir_value part = tly_check_apart(c, 0, choose(c, exact, one, y->part), TLY_CHECK_PART);
    exact = bor(c, exact, tly_rows_is_zero(r, y->first));
    kir_value low = tly_check_bits(c, choose(c, exact, one, y->y));
    low = tly_check_lanes(c, tly_check_below(c, low, TLY_TINY));
    low = band(c, low, differ(c, lives, none));
    return bor(c, tly_check_lanes(c, tly_check_out_of_range(c, part, TLY_CHECK_PART)), low);
}

/* Element `lane` of x in the lanes that it has a part in, its own and later ones of its scan; in
 * the others what changes nothing. */
static kir_value spread(tly_rows *r, kir_value x, unsigned lane)
{
    tly_build *c = r->c;
    uint8_t index[64];
    for (unsigned i = 0; i < c->lanes; i++) {
        int part = i >= lane && (i - lane) % r->interleave == 0;
        index[i] = (uint8_t)(part ? lane : c->lanes + i);
    }
    return kir_shuffle(c->b, x, tly_neutral(c, c->vec), index, c->lanes);
}

static kir_value take_lane(tly_rows *r, kir_value from, kir_value v, unsigned lane)
{
    uint8_t index[64];
    for (unsigned i = 0; i < r->c->lanes; i++)
        index[i] = (uint8_t)(i == lane ? i : r->c->lanes + i);
    return kir_shuffle(r->c->b, from, v, index, r->c->lanes);
}

/* Every lane by the plain loop, from what it continues; of pairs, `odd` too. */
static kir_value plain(tly_rows *r, kir_value y, const kir_value *x, kir_value *odd)
{
    tly_build *c = r->c;
    for (unsigned lane = 0; lane < c->lanes; lane++) {
        y = tly_combine(c, y, spread(r, x[0], lane));
        if (r->pairs) {
            *odd = lane == 0 ? y : take_lane(r, y, *odd, lane);
            y = tly_combine(c, y, spread(r, x[1], lane));
        }
    }
    return y;
}

/* One vector of a step with lanes that left the range. */
static void redo_vector(tly_rows *r, kir_value from, const kir_value *x, kir_value lives,
                        tly_rows_state *s, kir_value *shown)
{
    tly_build *c = r->c;
    tly_rows_part p = tly_rows_part_of(r, from, x);
    kir_value first = s->last[0], y = tly_combine(c, first, p.scan), odd = 0, loop_odd = 0;
    tly_rows_result result = { first, p.scan, y };
    kir_value out = lives ? products_out_of_range(r, &result, x, lives)
                          : tly_check_lanes(c, tly_rows_sums_out_of_range(r, &result));
    out = differ(c, and_after(r, as_mask(r, out)), constant(c, mask_type(r), 0));
    if (r->pairs)
        odd = tly_combine(c, tly_rows_before(r, first, y), p.first);
    tly_region some = { .state = { &y, r->pairs ? &odd : NULL } };
    emit_if(c, &some, any(c, out));
    kir_value loop = plain(r, first, x, &loop_odd);
    y = choose(c, out, loop, y);
    if (r->pairs)
        odd = choose(c, out, loop_odd, odd);
    emit_end(c, &some);
    tly_rows_show(r, NULL, tly_rows_before(r, first, y), odd, y, shown);
    s->last[0] = tly_vector_newest(c, y, r->interleave);
}

/* Scratch: results, and masks of scans that live on, vector by vector. */
static int64_t vector_bytes(const tly_rows *r)
{
    return (int64_t)r->c->lanes * r->c->acc_bytes;
}

/* Vectors of a step that is done again. Without a fast mode it may be longer than a safe one. */
static int64_t vectors_again(const tly_rows *r)
{
    return r->unroll > SAFE_UNROLL ? r->unroll : SAFE_UNROLL;
}

int64_t tly_rows_work_bytes(const tly_rows *r)
{
    return vectors_again(r) * (2 + (int64_t)r->pairs) * vector_bytes(r);
}

static kir_value masks_at(tly_rows *r, kir_value k)
{
    kir_value masks = ptradd(r->c, r->work,
                             imm(r->c, vectors_again(r) * (1 + r->pairs) * vector_bytes(r)));
    return tly_at(r->c, masks, k, vector_bytes(r));
}

/* Lanes of the step's last vector whose scan showed an infinity anywhere in the step. */
static kir_value infinities(tly_rows *r, const kir_value *shown)
{
    kir_value mask = 0;
    for (unsigned k = 0; k < r->unroll; k++) {
        kir_value own = as_mask(r, tly_rows_shows_infinity(r, shown, k));
        if (k > 0)
            own = bor(r->c, own, tly_vector_newest(r->c, mask, r->interleave));
        mask = and_after(r, own);
    }
    return mask;
}

/* The same for scans a part of which left the range anywhere in the step. */
static kir_value parts_out_of_range(tly_rows *r, kir_value here)
{
    tly_build *c = r->c;
    kir_value x[2], mask = constant(c, mask_type(r), 0);
    tly_region l = { .state = { &mask } };
    emit_for(c, &l, imm(c, 0), imm(c, r->unroll), imm(c, 1));
    kir_value from = tly_rows_load_step(r, here, l.i, x);
    kir_value own = as_mask(r, tly_rows_part_out_of_range(r, x, tly_rows_part_of(r, from, x).scan));
    mask = and_after(r, bor(c, own, tly_vector_newest(c, mask, r->interleave)));
    emit_end(c, &l);
    return mask;
}

/* A scan that falls below the normal numbers, but showed an infinity before, counts as one that
 * does not fall. So does one a part of which left the range, since it may have fallen because of
 * that. */
static void store_lives(tly_rows *r, kir_value here, kir_value end, kir_value apart,
                        const kir_value *shown)
{
    tly_build *c = r->c;
    kir_value lives = as_mask(r, tly_check_not_tiny(c, end));
    tly_region some = { .state = { &lives } };
    emit_if(c, &some, apart);
    lives = bor(c, lives, parts_out_of_range(r, here));
    emit_end(c, &some);
    if (tly_checks_output(c))
        lives = bor(c, lives, infinities(r, shown));
    for (unsigned k = 0; k < r->unroll; k++)
        kir_store(c->b, masks_at(r, imm(c, k)), 0, tly_rows_end_of(r, lives, k), c->acc_bytes, 0);
}

/* Reads the input again, which even in place nothing has overwritten yet. */
void tly_rows_redo(tly_rows *r, kir_value here, kir_value end, kir_value apart, tly_rows_state *s,
                   kir_value *shown)
{
    tly_build *c = r->c;
    int64_t bytes = vector_bytes(r);
    unsigned each = 1 + r->pairs;
    int products = tly_checks_products(c);
    tly_region l = { .state = { &s->last[0] } };
    if (products)
        store_lives(r, here, end, apart, shown);
    emit_for(c, &l, imm(c, 0), imm(c, r->unroll), imm(c, 1));
    kir_value x[2], result[2], lives = 0;
    kir_value from = tly_rows_load_step(r, here, l.i, x);
    if (products)
        lives = kir_load(c->b, mask_type(r), masks_at(r, l.i), 0, c->acc_bytes);
    redo_vector(r, from, x, lives, s, result);
    kir_value to = tly_at(c, r->work, l.i, bytes * each);
    for (unsigned k = 0; k < each; k++)
        kir_store(c->b, to, k * bytes, result[k], c->acc_bytes, 0);
    emit_end(c, &l);
    s->last[0] = tly_rows_flush(r, s->last[0], s->last[0]);
    for (unsigned k = 0; k < r->unroll * each; k++)
        shown[k] = kir_load(c->b, c->vec, r->work, k * bytes, c->acc_bytes);
}
