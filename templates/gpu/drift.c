/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Corrects products of many elements next to 1. Equal tiles have equal rounding errors, which add
 * up along a row. The excess of a product, P - 1, is small, and so are its rounding errors:
 *
 *     P x - 1 = (P - 1) x + (x - 1)          P Q - 1 = (P - 1) + (Q - 1) + (P - 1) (Q - 1)
 *
 * An excess is exact enough while its product stays near 1. Otherwise it is FAR, and whatever it is
 * joined with is FAR, too.
 */
#include "gpu.h"

enum { ZERO, ONE, LEAST, MOST, FAR, SMALL, MINUS_SMALL };

/* LEAST -1/2, MOST 1, FAR 64: joined with any excess that is near, FAR stays above MOST. SMALL
 * 2^-100, f64 2^-960. */
static const uint64_t constants[][2] = {
    [ZERO] = { 0, 0 },
    [ONE] = { 0x3f800000, 0x3ff0000000000000 },
    [LEAST] = { 0xbf000000, 0xbfe0000000000000 },
    [MOST] = { 0x3f800000, 0x3ff0000000000000 },
    [FAR] = { 0x42800000, 0x4050000000000000 },
    [SMALL] = { 0x0d800000, 0x03f0000000000000 },
    [MINUS_SMALL] = { 0x8d800000, 0x83f0000000000000 },
};

static kir_value real(tly_build *c, unsigned which)
{
    return constant(c, c->acc, constants[which][c->acc.kind == KIR_F64]);
}

/* The upper 32 bits with the sign. As unsigned integers, those of negative floats are above all
 * others, and order by magnitude. */
static kir_value upper(tly_build *c, kir_value x)
{
    unsigned words = c->acc.kind == KIR_F64 ? 2 : 1;
    x = bitcast(c, KIR_TYPE(KIR_I32, words), x);
    return kir_extract(c->b, x, words - 1);
}

/* Narrower outputs hide these errors, and a product of two elements must be rounded once only. */
int tly_gpu_may_drift(const tly_gpu *g, int64_t count)
{
    const tly_build *c = &g->c;
    return tly_checks_products(c) && tly_window_heads(c->p) == 0 && tly_results_are_states(c->p) &&
           c->bytes[TLY_OUT] == c->acc_bytes && count > 2;
}

tly_excess tly_excess_none(tly_build *c)
{
    return (tly_excess){ real(c, ZERO), constant(c, KIR_TYPE(KIR_I32, 1), 0) };
}

void tly_excess_add(tly_build *c, tly_excess *e, kir_value x)
{
    kir_value own = sub(c, x, real(c, ONE));
    e->product = add(c, mul(c, e->product, x), own);
    e->lowest = umax(c, e->lowest, upper(c, e->product));
}

kir_value tly_excess_far(tly_build *c)
{
    return real(c, FAR);
}

kir_value tly_excess_is_near(tly_build *c, kir_value excess)
{
    kir_value low = ole(c, real(c, LEAST), excess);
    return band(c, low, ole(c, excess, real(c, MOST)));
}

kir_value tly_excess_of(tly_build *c, const tly_excess *e)
{
    kir_value high = ole(c, e->product, real(c, MOST));
    kir_value near = ule(c, e->lowest, upper(c, real(c, LEAST)));
    return choose(c, band(c, near, high), e->product, real(c, FAR));
}

kir_value tly_excess_product(tly_build *c, kir_value x, kir_value y)
{
    return add(c, add(c, x, y), mul(c, x, y));
}

kir_value tly_excess_join(tly_build *c, kir_value x, kir_value y)
{
    kir_value product = tly_excess_product(c, x, y);
    return choose(c, tly_excess_is_near(c, product), product, real(c, FAR));
}

static kir_value is_known(tly_build *c, kir_value excess)
{
    return ole(c, excess, real(c, MOST));
}

kir_value tly_excess_correct(tly_build *c, kir_value excess, kir_value total)
{
    return choose(c, is_known(c, excess), add(c, excess, real(c, ONE)), total);
}

/* carry + carry * excess is rounded otherwise for each tile, as the carry changes: 1 + excess would
 * be rounded alike for all. A carry that is zero, infinite or NaN goes by its class. Small ones do,
 * too: carry * excess may be subnormal, which devices may take for zero. */
kir_value tly_tile_after(tly_gpu *g, const tly_tile *tile, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value after = tly_combine(c, carry, tile->total);
    if (!tile->excess)
        return after;
    kir_value by = add(c, carry, mul(c, carry, tile->excess));
    kir_value large = bor(c, ole(c, real(c, SMALL), carry), ole(c, carry, real(c, MINUS_SMALL)));
    kir_value regular = band(c, tly_gpu_finite(g, carry), large);
    regular = band(c, regular, is_known(c, tile->excess));
    return choose(c, regular, by, after);
}
