/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: prescales steps in which a product is small. An instruction that makes or
 * takes a subnormal f32 takes 100 cycles and more on Intel's cores. So if a product is below 2^-60,
 * the step is computed times 2^64, which gives the same bits. If results leave that range, the step
 * is computed in f64, where they are normal numbers, and rounded to f32 by operations that take no
 * longer for subnormal results. Few steps get from 2^-60 to below the normal numbers at once.
 * docs/range.md has the reasons.
 */
#include "rows.h"

enum {
    LOW = -60,      /* uniform numbers fall by 46 a step of 32 elements */
    NORMAL = -126,  /* f32's least */
    HALF = -127,    /* what is smaller is no normal number in any order */
    NOTHING = -144, /* some least numbers: a scan may stick at one of them for good */
    SCALE = 64,
};

/* A build whose accumulators are f64, lane for lane. */
static tly_build as_double(const tly_rows *r)
{
    tly_build c = *r->c;
    c.acc = KIR_TYPE(KIR_F64, 1);
    c.vec = KIR_TYPE(KIR_F64, c.lanes);
    c.acc_bytes = 8;
    return c;
}

static kir_type bits_type(const tly_rows *r)
{
    return KIR_TYPE(KIR_I64, r->c->lanes);
}

static kir_value power(tly_rows *r, int exponent)
{
    return constant(r->c, bits_type(r), (uint64_t)(1023 + exponent) << 52);
}

/* Magnitudes less 1, so that a zero becomes the largest. */
static kir_value less_of(tly_rows *r, kir_value z)
{
    tly_build *c = r->c;
    kir_value bits = bitcast(c, bits_type(r), z);
    bits = band(c, bits, like(c, bits, INT64_MAX));
    return sub(c, bits, like(c, bits, 1));
}

static kir_value below(tly_rows *r, kir_value less, int exponent)
{
    return ult(r->c, less, power(r, exponent));
}

/* Looks at the first lane alone, since the answer decides speed and no bits. To look at all lanes
 * took benign rows 10 % more time, at one lane as a scalar 6 % (f32 from L2, AVX-512, Emerald
 * Rapids). */
kir_value tly_rows_step_is_small(tly_rows *r, const tly_rows_state *s)
{
    tly_build *c = r->c;
    kir_value v = bitcast(c, KIR_TYPE(KIR_I32, 1), kir_extract(c->b, s->last[0], 0));
    v = band(c, v, like(c, v, INT32_MAX));
    v = sub(c, v, like(c, v, 1)); /* a zero is the largest */
    return ult(c, v, r->small);
}

/* Rows that may be prescaled have no such steps. */
void tly_rows_begin_prescale_steps(tly_rows *r)
{
    tly_build *c = r->c;
    r->small = constant(c, KIR_TYPE(KIR_I32, 1), (uint64_t)(127 + LOW) << 23);
    if (r->prescale_rows)
        r->small = choose(c, r->few_steps, like(c, r->small, 0), r->small);
}

/* f64 as f32. Numbers that will be subnormal are rounded to a multiple of the least f32 first, so
 * that the conversion is exact and raises no flag. */
static kir_value to_single(tly_rows *r, kir_value z)
{
    tly_build *c = r->c;
    kir_value magic = like(c, z, (uint64_t)(1023 - 149 + 52) << 52 | UINT64_C(1) << 51);
    kir_value rounded = sub(c, add(c, z, magic), magic);
    z = choose(c, below(r, less_of(r, z), NORMAL), rounded, z);
    return convert(c, KIR_FPTRUNC, c->vec, z);
}

/* Makes f32 results y of a step's f64 results z, some of which may be subnormal as f32. least: the
 * least of their magnitudes less 1. y[unroll]: what the next step continues. Returns i1: some
 * results are not the plain loop's, as one was below the normal numbers and one is infinite. */
static kir_value sink(tly_rows *r, const kir_value *z, kir_value least, kir_value *y)
{
    tly_build *c = r->c;
    kir_value end = z[r->unroll - 1], most = 0;
    for (unsigned k = 0; k < r->unroll; k++) {
        y[k] = to_single(r, z[k]);
        most = accumulate(c, KIR_UMAX, most, tly_check_bits(c, y[k]));
    }
    kir_value sunk = any(c, below(r, least, HALF));
    kir_value less = less_of(r, end);
    kir_value deep = band(c, kir_extract(c->b, below(r, less, LOW), 0),
                          kir_extract(c->b, below(r, less, HALF), c->lanes - 1));
    int nothing = c->p->tensor[TLY_OUT].dtype == TALLY_F16 ? HALF
                                                           : NOTHING; /* f16 shows none of it */
    kir_value gone = bor(c, any(c, below(r, least, nothing)), band(c, sunk, tly_not(c, deep)));
    kir_value zero = mul(c, end, like(c, end, 0));
    zero = convert(c, KIR_FPTRUNC, c->vec, zero);
    y[r->unroll] = choose(c, gone, zero, y[r->unroll - 1]);
    return band(c, sunk, any(c, tly_check_infinite(c, most)));
}

/* Computes the step in f64, which loses no product; y and the returned value are those of `sink`.
 */
static kir_value by_double(tly_rows *r, const kir_value *parts, kir_value last, kir_value *y)
{
    tly_build wide = as_double(r);
    tly_build *c = r->c;
    kir_value z[MAX_UNROLL], now = convert(c, KIR_FPEXT, wide.vec, last);
    kir_value least = less_of(r, now);
    for (unsigned k = 0; k < r->unroll; k++) {
        z[k] = now = tly_combine(&wide, now, convert(c, KIR_FPEXT, wide.vec, parts[k]));
        least = umin(c, least, less_of(r, now));
    }
    return sink(r, z, least, y);
}

/* Multiplies by 2^exponent by adding to the bits, which is right for normal numbers alone. Each
 * step waits for the one before: through f64 it waited 50 cycles. Rows of 3072 of 1 - .05 u in L2
 * took 2.15 of the time of benign ones, and take 1.13 so (AVX-512, Emerald Rapids). */
static kir_value scaled(tly_rows *r, kir_value v, int exponent)
{
    tly_build *c = r->c;
    kir_value bits = bitcast(c, KIR_TYPE(KIR_I32, c->lanes), v);
    return bitcast(c, c->vec, add(c, bits, like(c, bits, (uint32_t)exponent << 23)));
}

/* Results times 2^SCALE have the same bits as long as all of them are normal numbers without the
 * scale. That is checked for all of them, and for what comes before the step: a zero, a subnormal
 * number, an infinity or a NaN is out of that range once its bits are scaled. */
kir_value tly_rows_join_prescaled(tly_rows *r, const kir_value *parts, tly_rows_state *s,
                                  kir_value *shown)
{
    tly_build *c = r->c;
    unsigned n = r->unroll;
    kir_value z[MAX_UNROLL], y[MAX_UNROLL + 1] = { 0 }, bad = 0, last = s->last[0];
    kir_value now = scaled(r, last, SCALE);
    kir_value apart = tly_check_apart(c, 0, now, TLY_CHECK_PART);
    tly_region way = { 0 };
    for (unsigned k = 0; k < n; k++) {
        z[k] = now = tly_combine(c, now, parts[k]);
        apart = tly_check_apart(c, apart, now, TLY_CHECK_PART);
    }
    emit_carry(&way, n + 1, y);
    emit_carry(&way, 1, &bad);
    emit_if(c, &way, any(c, tly_check_out_of_range(c, apart, TLY_CHECK_PART)));
    bad = by_double(r, parts, last, y);
    emit_else(c, &way);
    for (unsigned k = 0; k < n; k++)
        y[k] = scaled(r, z[k], -SCALE);
    y[n] = y[n - 1];
    bad = i1(c, 0);
    emit_end(c, &way);
    for (unsigned k = 0; k < n; k++)
        shown[k] = c->p->exclusive ? tly_rows_before(r, k > 0 ? y[k - 1] : last, y[k]) : y[k];
    s->last[0] = y[n];
    return bad;
}
