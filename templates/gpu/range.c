/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What remains known of a stretch of elements whose range guard has failed: its class, and after
 * which carries the class alone decides (docs/range.md). The class is the product of the signs,
 * zeros, infinities and NaNs, or of a sum its infinities and NaNs. It is exact in every order.
 * Recurrences have no classes: the plain loop goes on from an infinity, and a NaN stays a NaN. Nor
 * have scans that begin anew, where nothing stays.
 */
#include "gpu.h"

enum { ZERO, ONE, LEAST_NORMAL, INFINITE, MINUS_INFINITE, MINUS_ONE, HALF, UP_ONCE, UP_AGAIN };

/* In place of the highest result: above every float. */
enum { BAD = 0x7fffffff };

/* As f32 and f64; the last two together take the least subnormal to 1. */
static const uint64_t constants[][2] = {
    [ZERO] = { 0, 0 },
    [ONE] = { 0x3f800000, 0x3ff0000000000000 },
    [LEAST_NORMAL] = { 0x00800000, 0x0010000000000000 },
    [INFINITE] = { 0x7f800000, 0x7ff0000000000000 },
    [MINUS_INFINITE] = { 0xff800000, 0xfff0000000000000 },
    [MINUS_ONE] = { 0xbf800000, 0xbff0000000000000 },
    [HALF] = { 0x3f000000, 0x3fe0000000000000 },
    [UP_ONCE] = { (127ull + 100) << 23, (1023ull + 537) << 52 },
    [UP_AGAIN] = { (127ull + 49) << 23, (1023ull + 537) << 52 },
};

static int is_double(const tly_gpu *g)
{
    return g->c.acc.kind == KIR_F64;
}

static kir_value real(tly_gpu *g, unsigned which)
{
    tly_build *c = &g->c;
    return constant(c, c->acc, constants[which][is_double(g)]);
}

kir_value tly_gpu_finite(tly_gpu *g, kir_value x)
{
    tly_build *c = &g->c;
    kir_value above = olt(c, real(g, MINUS_INFINITE), x);
    return band(c, above, olt(c, x, real(g, INFINITE)));
}

static kir_value is_lost(tly_gpu *g, kir_value x)
{
    return tly_not(&g->c, tly_gpu_finite(g, x));
}

static kir_value regular(tly_gpu *g, kir_value x)
{
    tly_build *c = &g->c;
    return band(c, tly_gpu_finite(g, x), tly_not(c, tly_is_zero(c, x)));
}

/* The upper 32 bits of |x|. They order like |x|. */
static kir_value high_bits(tly_gpu *g, kir_value x)
{
    tly_build *c = &g->c;
    x = bitcast(c, KIR_TYPE(KIR_I32, is_double(g) ? 2 : 1), x);
    return band(c, kir_extract(c->b, x, is_double(g) ? 1 : 0), u32(g, 0x7fffffff));
}

/* i1: the sign, of subnormals too. */
static kir_value is_negative(tly_gpu *g, kir_value x)
{
    tly_build *c = &g->c;
    x = bitcast(c, KIR_TYPE(KIR_I32, is_double(g) ? 2 : 1), x);
    return less(c, kir_extract(c->b, x, is_double(g) ? 1 : 0), u32(g, 0));
}

static kir_value absolute(tly_gpu *g, kir_value x)
{
    tly_build *c = &g->c;
    kir_value size = high_bits(g, x);
    if (is_double(g))
        size = kir_insert(c->b, bitcast(c, KIR_TYPE(KIR_I32, 2), x), size, 1);
    return bitcast(c, c->acc, size);
}

int tly_gpu_has_classes(const tly_gpu *g)
{
    return !tly_checks_windows(&g->c) && tly_window_heads(g->c.p) == 0;
}

kir_value tly_gpu_class(tly_gpu *g, kir_value x)
{
    tly_build *c = &g->c;
    if (!tly_gpu_has_classes(g))
        return tly_neutral_window(c, c->acc);
    if (!tly_checks_products(c))
        return choose(c, tly_gpu_finite(g, x), tly_neutral_window(c, c->acc), x);
    kir_value sign = choose(c, is_negative(g, x), real(g, MINUS_ONE), real(g, ONE));
    return choose(c, regular(g, x), sign, x);
}

/* This asks the magnitude whether it is regular, and classes ask the element. They do so much later
 * in a tile that is done again. If both asked the same question, compilers would keep 16 answers in
 * registers until then. */
kir_value tly_gpu_distance(tly_gpu *g, kir_value x)
{
    tly_build *c = &g->c;
    kir_value size = absolute(g, x), by = sub(c, size, real(g, ONE));
    kir_value between = band(c, tly_not(c, tly_is_zero(c, x)), olt(c, size, real(g, INFINITE)));
    return choose(c, between, high_bits(g, by), u32(g, 0));
}

int tly_gpu_has_distance(const tly_gpu *g)
{
    return tly_checks_products(&g->c) && tly_gpu_has_classes(g);
}

void tly_gpu_summary_begin(tly_gpu *g, kir_value *summary)
{
    tly_build *c = &g->c;
    summary[0] = tly_neutral_window(c, c->acc);
    summary[1] = u32(g, 0);
}

void tly_gpu_summary_add(tly_gpu *g, kir_value *summary, kir_value x)
{
    tly_build *c = &g->c;
    if (!tly_gpu_has_classes(g))
        return;
    summary[0] = tly_combine(c, summary[0], tly_gpu_class(g, x));
    if (tly_gpu_has_distance(g))
        summary[1] = umax(c, summary[1], tly_gpu_distance(g, x));
}

void tly_gpu_summary_fold(tly_gpu *g, tly_group *t, kir_value *summary)
{
    if (!tly_gpu_has_classes(g))
        return;
    summary[0] = tly_group_fold(g, t, tly_combines_by(g->c.p), summary[0]);
    if (tly_gpu_has_distance(g))
        summary[1] = tly_group_fold(g, t, KIR_UMAX, summary[1]);
}

/* The least float above all those with these upper 32 bits. */
static kir_value above(tly_gpu *g, kir_value upper)
{
    tly_build *c = &g->c;
    kir_value v = add(c, upper, u32(g, 1));
    if (is_double(g))
        v = kir_insert(c->b, kir_splat(c->b, u32(g, 0), 2), v, 1);
    return bitcast(c, c->acc, v);
}

/* A subnormal is k times the least one, and k |x| rounds to k where k ||x| - 1| is below 1/2. */
static kir_value stays_put(tly_gpu *g, kir_value carry, kir_value distance)
{
    tly_build *c = &g->c;
    kir_value size = absolute(g, carry);
    kir_value k;
    if (is_double(g))
        k = mul(c, mul(c, size, real(g, UP_ONCE)), real(g, UP_AGAIN));
    else /* its bits, also where multiplying makes zeros of subnormals */
        k = convert(c, KIR_UITOFP, c->acc, high_bits(g, carry));
    kir_value moves_by = mul(c, k, above(g, distance));
    return bor(c, tly_is_zero(c, carry),
               band(c, olt(c, size, real(g, LEAST_NORMAL)), ole(c, moves_by, real(g, HALF))));
}

kir_value tly_gpu_settled(tly_gpu *g, kir_value carry, kir_value distance)
{
    if (tly_window_heads(g->c.p) > 0)
        return i1(&g->c, 0);
    if (!tly_gpu_has_classes(g))
        return uno(&g->c, carry, carry);
    kir_value lost = is_lost(g, carry);
    return tly_gpu_has_distance(g) ? bor(&g->c, lost, stays_put(g, carry, distance)) : lost;
}

kir_value tly_gpu_prevails(tly_gpu *g, kir_value summary)
{
    tly_build *c = &g->c;
    if (!tly_gpu_has_classes(g))
        return i1(c, 0);
    if (!tly_checks_products(c))
        return is_lost(g, summary);
    return bor(c, tly_is_zero(c, summary), uno(c, summary, summary));
}

void tly_gpu_publish(tly_gpu *g, kir_value good, const kir_value *summary, kir_value *total,
                     kir_value *range)
{
    tly_build *c = &g->c;
    *total = choose(c, good, *total, summary[0]);
    range[0] = choose(c, good, range[0], u32(g, BAD));
    if (tly_gpu_has_distance(g))
        range[1] = choose(c, good, range[1], summary[1]);
}

static kir_value is_bad(tly_gpu *g, const kir_value *range)
{
    return is(g, range[0], BAD);
}

/* If classes were published: they decide after this carry. */
static kir_value settled_by(tly_gpu *g, const kir_value *range, kir_value carry)
{
    return tly_gpu_settled(g, carry, tly_gpu_has_distance(g) ? range[1] : 0);
}

kir_value tly_gpu_combines(tly_gpu *g, kir_value total, const kir_value *range, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value bad = is_bad(g, range);
    kir_value decided = bor(c, tly_gpu_prevails(g, total), settled_by(g, range, carry));
    return bor(c, tly_gpu_fits(g, range, carry), band(c, bad, decided));
}

kir_value tly_gpu_combines_all(tly_gpu *g, const kir_value *range, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value settled = band(c, is_bad(g, range), settled_by(g, range, carry));
    return bor(c, tly_gpu_fits(g, range, carry), settled);
}

/* A stretch that is good has published extremes in place of its distance. */
void tly_gpu_summary_join(tly_gpu *g, kir_value *summary, kir_value total, const kir_value *range)
{
    tly_build *c = &g->c;
    if (!tly_gpu_has_classes(g))
        return;
    summary[0] = tly_combine(c, summary[0], tly_gpu_class(g, total));
    if (!tly_gpu_has_distance(g))
        return;
    kir_value distance = choose(c, is_bad(g, range), range[1], u32(g, TLY_GPU_FAR));
    summary[1] = umax(c, summary[1], distance);
}

kir_value tly_gpu_fits(tly_gpu *g, const kir_value *range, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value good = tly_range_is_safe(c, range, carry);
    if (!tly_gpu_has_classes(g)) /* after a NaN all is NaN; after an infinity the loop decides */
        return bor(c, good, band(c, tly_range_is_safe(c, range, 0), uno(c, carry, carry)));
    if (!tly_checks_products(c))
        return good;
    return bor(c, good, band(c, tly_range_is_safe(c, range, 0), is_lost(g, carry)));
}

/* Zero, infinity and NaN are good for every product, and a NaN for every window. */
static kir_value or_lost(tly_gpu *g, kir_value good, kir_value x)
{
    tly_build *c = &g->c;
    x = tly_without_head(c, x);
    if (!tly_gpu_has_classes(g) && kir_parts(c->b, x) == 1)
        return bor(c, good, uno(c, x, x));
    return tly_checks_products(c) ? bor(c, good, is_lost(g, x)) : good;
}

kir_value tly_gpu_fits_any(tly_gpu *g, kir_value carry)
{
    return or_lost(g, tly_range_good_any(&g->c, carry), carry);
}

kir_value tly_gpu_fits_half(tly_gpu *g, kir_value x)
{
    return or_lost(g, tly_range_good_half(&g->c, x), x);
}
