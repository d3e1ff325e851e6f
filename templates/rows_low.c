/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: steps in which a product is small. An instruction that makes or takes a
 * subnormal f32 takes 100 cycles and more on Intel's cores, whether it is flushed to zero or not; f64
 * has no such numbers there, and turning them into f32 costs nothing. So from 2^-60 on, which few
 * steps leave below the normal numbers at once, results are products in f64 of the same windows.
 * docs/range.md has the reasons.
 */
#include "rows.h"

enum {
    LOW = -60,      /* uniform numbers fall by 46 a step of 32 elements */
    NORMAL = -126,  /* f32's least */
    HALF = -127,    /* what is smaller is no normal number in any order */
    NOTHING = -144, /* some least numbers: a scan may stick at one of them for good */
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
    return kir_const(r->c->b, bits_type(r), (uint64_t)(1023 + exponent) << 52);
}

/* Magnitudes less 1, so that a zero becomes the largest. */
static kir_value less_of(tly_rows *r, kir_value z)
{
    kir_builder *b = r->c->b;
    kir_value bits = kir_convert(b, KIR_BITCAST, bits_type(r), z);
    bits = kir_bin(b, KIR_AND, bits, kir_const(b, bits_type(r), INT64_MAX));
    return kir_bin(b, KIR_SUB, bits, kir_const(b, bits_type(r), 1));
}

static kir_value below(tly_rows *r, kir_value less, int exponent)
{
    return kir_cmp(r->c->b, KIR_ULT, less, power(r, exponent));
}

/* By the first lane alone: all that is decided here is which way is faster. To ask all lanes took
 * 10 % more time of benign rows, one as a scalar 6 (f32 from L2, AVX-512, Emerald Rapids). */
kir_value tly_rows_is_low(tly_rows *r, const tly_rows_state *s)
{
    kir_builder *b = r->c->b;
    kir_type word = KIR_TYPE(KIR_I32, 1);
    kir_value v = kir_convert(b, KIR_BITCAST, word, kir_extract(b, s->last[0], 0));
    v = kir_bin(b, KIR_AND, v, kir_const(b, word, INT32_MAX));
    v = kir_bin(b, KIR_SUB, v, kir_const(b, word, 1)); /* a zero is the largest */
    return kir_cmp(b, KIR_ULT, v, kir_const(b, word, (uint64_t)(127 + LOW) << 23));
}

/* As f32. What will be subnormal is rounded to a multiple of the least number before, so that
 * nothing is lost then and no flag is raised. */
static kir_value to_single(tly_rows *r, kir_value z)
{
    kir_builder *b = r->c->b;
    kir_type t = kir_type_of(b, z);
    kir_value magic = kir_const(b, t, (uint64_t)(1023 - 149 + 52) << 52 | UINT64_C(1) << 51);
    kir_value rounded = kir_bin(b, KIR_SUB, kir_bin(b, KIR_ADD, z, magic), magic);
    z = kir_select(b, below(r, less_of(r, z), NORMAL), rounded, z);
    return kir_convert(b, KIR_FPTRUNC, r->c->vec, z);
}

/* The scans z after a step in which one may be subnormal, `least` of magnitudes less 1: y, their
 * results as f32, y[unroll] what comes after it; i1: some are not the plain loop's. That was below
 * the normal numbers, and must stay finite from there on. */
static kir_value sink(tly_rows *r, const kir_value *z, kir_value least, kir_value *y)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_value end = z[r->unroll - 1], most = 0;
    for (unsigned k = 0; k < r->unroll; k++) {
        y[k] = to_single(r, z[k]);
        kir_value bits = tly_watch_bits(c, y[k]);
        most = most ? kir_bin(b, KIR_UMAX, most, bits) : bits;
    }
    kir_value sunk = kir_any(b, below(r, least, HALF));
    kir_value less = less_of(r, end);
    kir_value deep = kir_bin(b, KIR_AND, kir_extract(b, below(r, less, LOW), 0),
                             kir_extract(b, below(r, less, HALF), c->lanes - 1));
    kir_value gone = kir_bin(b, KIR_OR, kir_any(b, below(r, least, NOTHING)),
                             kir_bin(b, KIR_AND, sunk, tly_not(c, deep)));
    kir_value zero = kir_bin(b, KIR_MUL, end, kir_const(b, kir_type_of(b, end), 0));
    zero = kir_convert(b, KIR_FPTRUNC, c->vec, zero);
    y[r->unroll] = kir_select(b, gone, zero, y[r->unroll - 1]);
    return kir_bin(b, KIR_AND, sunk, kir_any(b, tly_watch_endless(c, most)));
}

kir_value tly_rows_join_low(tly_rows *r, const kir_value *parts, tly_rows_state *s,
                            kir_value *shown)
{
    tly_build *c = r->c, wide = as_double(r);
    kir_builder *b = c->b;
    unsigned n = r->unroll;
    kir_value z[MAX_UNROLL], y[MAX_UNROLL + 2], last = s->last[0];
    kir_value now = kir_convert(b, KIR_FPEXT, wide.vec, last), least = less_of(r, now);
    kir_branch sinks;
    for (unsigned k = 0; k < n; k++) {
        z[k] = now = tly_combine(&wide, now, kir_convert(b, KIR_FPEXT, wide.vec, parts[k]));
        least = kir_bin(b, KIR_UMIN, least, less_of(r, now));
    }
    kir_if(b, &sinks, kir_any(b, below(r, least, NORMAL)));
    y[n + 1] = sink(r, z, least, y);
    kir_else(b, &sinks, n + 2, y);
    for (unsigned k = 0; k < n; k++)
        y[k] = kir_convert(b, KIR_FPTRUNC, c->vec, z[k]);
    y[n] = y[n - 1];
    y[n + 1] = kir_const(b, KIR_TYPE(KIR_I1, 1), 0);
    kir_if_end(b, &sinks, n + 2, y);
    for (unsigned k = 0; k < n; k++) {
        shown[k] = sinks.result[k];
        if (c->p->exclusive)
            shown[k] = tly_rows_before(r, k > 0 ? sinks.result[k - 1] : last, shown[k]);
    }
    s->last[0] = sinks.result[n];
    return sinks.result[n + 1];
}
