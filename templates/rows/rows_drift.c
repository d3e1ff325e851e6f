/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: corrects products of many elements that are close to 1.
 *
 * Equal windows have equal rounding errors, which add up from vector to vector. The distance of a
 * product from 1 has a rounding error that is smaller than the product's by as much as the distance
 * is below 1. So each lane also keeps the distance of the product of its own elements from 1:
 *
 *     P x - 1 = (P - 1) x + (x - 1)
 *
 * At the end of a block the product of these lanes corrects what the next block continues, and the
 * chunk's total. It does so only if no distance fell below -1/2, and if the correction is no larger
 * than rounding errors can make it. Otherwise the block's own last result counts. An error that is
 * made far above 1 shrinks as the product comes back; one that is made far below 1 grows, so that
 * is ruled out.
 */
#include "rows.h"

/* Bits of an accumulator's f32 or f64. */
typedef struct format {
    uint8_t integer;  /* kir_kind */
    uint64_t half;    /* -.5; farther below 1 a product loses digits */
    uint64_t quarter; /* .25 */
    uint64_t sign;
} format;

static const format *of(const tly_rows *r)
{
    static const format f32 = { KIR_I32, 0xbf000000, 0x3e800000, 0x80000000 };
    static const format f64 = { KIR_I64, 0xbfe0000000000000, 0x3fd0000000000000,
                                0x8000000000000000 };
    return r->c->acc.kind == KIR_F64 ? &f64 : &f32;
}

static kir_type wide(unsigned lanes)
{
    return KIR_TYPE(KIR_F64, lanes);
}

static kir_value widen(tly_rows *r, kir_value v)
{
    unsigned lanes = type_of(r->c, v).lanes;
    return r->c->acc.kind == KIR_F64 ? v : convert(r->c, KIR_FPEXT, wide(lanes), v);
}

static kir_value narrow(tly_rows *r, kir_value v)
{
    return r->c->acc.kind == KIR_F64 ? v : convert(r->c, KIR_FPTRUNC, r->c->acc, v);
}

/* Lanes as bits. */
static kir_value bits_of(tly_rows *r, kir_value v)
{
    return bitcast(r->c, KIR_TYPE(of(r)->integer, type_of(r->c, v).lanes), v);
}

static kir_value integer(tly_rows *r, uint64_t bits)
{
    return constant(r->c, KIR_TYPE(of(r)->integer, r->c->lanes), bits);
}

/* Shorter vectors pay too much, in L2: with AVX2 f32 takes 1.57 of the time without, with SSE 1.35,
 * f64 2 with either; with AVX-512 f32 takes 1.09 and f64 1.23 (Zen 4). f16 and bf16 show little of
 * it: half a unit of the last place of f16 is 5e-4, and 100,000 factors are off by 3e-4. */
int tly_rows_may_drift(const tly_rows *r)
{
    const tly_build *c = r->c;
    enum { LEAST_BYTES = 64 }; /* of a vector */
    return c->plan->scan != TLY_SCAN_SCALARS && c->bytes[TLY_OUT] == c->acc_bytes &&
           c->lanes * c->acc_bytes >= LEAST_BYTES && !r->pairs;
}

tly_rows_distance tly_rows_no_distance(tly_rows *r)
{
    return (tly_rows_distance){ constant(r->c, r->c->vec, 0), integer(r, 0) };
}

/* Bits of negative floats, compared without a sign, are above all others, and order by magnitude.
 */
void tly_rows_add_distance(tly_rows *r, kir_value x, tly_rows_distance *d)
{
    tly_build *c = r->c;
    kir_value own = sub(c, x, tly_neutral(c, c->vec));
    d->lanes = add(c, mul(c, d->lanes, x), own);
    d->lowest = umax(c, d->lowest, bits_of(r, d->lanes));
}

/* i1: the distances of all lanes are good for a correction. */
static kir_value is_close(tly_rows *r, const tly_rows_distance *d)
{
    tly_build *c = r->c;
    kir_value size = band(c, bits_of(r, d->lanes), integer(r, of(r)->sign - 1));
    kir_value far = ult(c, integer(r, of(r)->quarter), size);
    kir_value low = ult(c, integer(r, of(r)->half), d->lowest);
    return tly_not(c, any(c, bor(c, far, low)));
}

/* The distance of the product of all lanes: f64. */
static kir_value fold(tly_rows *r, kir_value lanes)
{
    tly_build *c = r->c;
    uint8_t index[2][64];
    kir_value v = widen(r, lanes);
    for (unsigned n = c->lanes / 2; n > 0; n /= 2) {
        for (unsigned i = 0; i < n; i++) {
            index[0][i] = (uint8_t)i;
            index[1][i] = (uint8_t)(i + n);
        }
        kir_value x = kir_shuffle(c->b, v, v, index[0], n),
                  y = kir_shuffle(c->b, v, v, index[1], n);
        v = add(c, mul(c, x, y), add(c, x, y));
    }
    return v;
}

static kir_value magnitude(tly_rows *r, kir_value v)
{
    kir_value bits = bitcast(r->c, KIR_TYPE(KIR_I64, 1), v);
    return bitcast(r->c, wide(1), band(r->c, bits, like(r->c, bits, INT64_MAX)));
}

/* y, a normal number, or what it should be: `base` and the distance of the block's product. */
static kir_value corrected(tly_rows *r, kir_value distance, kir_value base, kir_value y)
{
    tly_build *c = r->c;
    const int is_wide = c->acc.kind == KIR_F64;
    kir_value least = constant(c, wide(1), (uint64_t)(1023 - (is_wide ? 1022 : 126)) << 52);
    kir_value share = constant(c, wide(1), (uint64_t)(1023 - (is_wide ? 40 : 11)) << 52);
    kir_value before = widen(r, tly_last(c, base)), own = widen(r, tly_last(c, y));
    kir_value right = add(c, before, mul(c, before, distance));
    kir_value off = magnitude(r, sub(c, right, own));
    own = magnitude(r, own);
    kir_value near = ole(c, off, mul(c, own, share));
    near = band(c, near, ole(c, least, own));
    return choose(c, near, kir_splat(c->b, narrow(r, right), c->lanes), y);
}

void tly_rows_correct(tly_rows *r, kir_value count, const tly_rows_distance *d, unsigned n,
                      const kir_value *base, kir_value *const *y)
{
    tly_build *c = r->c;
    tly_region whole = { 0 }, close = { 0 };
    for (unsigned k = 0; k < n; k++) {
        emit_carry(&whole, 1, y[k]);
        emit_carry(&close, 1, y[k]);
    }
    emit_if(c, &whole, tly_not(c, less(c, count, imm(c, r->block))));
    emit_if(c, &close, is_close(r, d));
    kir_value distance = fold(r, d->lanes);
    for (unsigned k = 0; k < n; k++)
        *y[k] = corrected(r, distance, base[k], *y[k]);
    emit_end(c, &close);
    emit_end(c, &whole);
}
