/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp and log. The argument is brought near 1 exactly, and a polynomial is evaluated there. What
 * the reduction cut off is added where it is smallest. The polynomials are minimax fits (Remez) to
 * the functions in the comments beside them, relative to the result. docs/elementary.md has the
 * errors.
 */
#include "elementary.h"

enum { MOST_TERMS = 11 };

typedef struct polynomial {
    unsigned terms;
    uint64_t of[MOST_TERMS]; /* bits, constant term first */
} polynomial;

/* What the functions must know of a format. Constants are bits. */
typedef struct format {
    uint8_t real, integer; /* kir_kind */
    unsigned mantissa;     /* bits, without the leading one */
    uint64_t bias, one, two, half, infinity, minus_infinity, nan, least_normal;
    uint64_t magic;           /* 1.5 * 2^mantissa: a number added to it is rounded to an integer */
    uint64_t two_to_mantissa; /* 2^mantissa: an integer or'ed to it is added; and times it what is
                                  subnormal is normal */
    uint64_t log2e;
    uint64_t ln2_high, ln2_low; /* products of an exponent and the high part are exact */
    uint64_t exp_low, exp_high; /* below: 0; above: infinity */
    uint64_t exp_normal;        /* below: no normal number */
    uint64_t root_half;         /* mantissas are brought to [root_half, 2 root_half) */
    uint64_t exponent_zero, exponent_zero_tiny; /* two_to_mantissa + bias; + mantissa, too */
    polynomial exp;                             /* of r: (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2 */
    polynomial exp2;                            /* of r: (2^r - 1) / r for |r| <= 1 / 2 */
} format;

static const format formats[] = {
    { .real = KIR_F32,
      .integer = KIR_I32,
      .mantissa = 23,
      .bias = 127,
      .one = 0x3f800000,
      .two = 0x40000000,
      .half = 0x3f000000,
      .infinity = 0x7f800000,
      .minus_infinity = 0xff800000,
      .nan = 0x7fc00000,
      .least_normal = 0x00800000,
      .magic = 0x4b400000,
      .two_to_mantissa = 0x4b000000,
      .log2e = 0x3fb8aa3b,
      .ln2_high = 0x3f318000,
      .ln2_low = 0xb95e8083,
      .exp_low = 0xc2d00000,    /* -104 */
      .exp_normal = 0xc2ae0000, /* -87 */
      .exp_high = 0x42b20000,   /* 89 */
      .root_half = 0x3f3504f3,
      .exponent_zero = 0x4b00007f,
      .exponent_zero_tiny = 0x4b000096,
      .exp = { 5, { 0x3efffffe, 0x3e2aaa49, 0x3d2aac79, 0x3c091cf9, 0x3ab51211 } },
      .exp2 = { 6, { 0x3f317219, 0x3e75fdf1, 0x3d635739, 0x3c1d9386, 0x3aafb97c, 0x3923862c } } },
    { .real = KIR_F64,
      .integer = KIR_I64,
      .mantissa = 52,
      .bias = 1023,
      .one = 0x3ff0000000000000,
      .two = 0x4000000000000000,
      .half = 0x3fe0000000000000,
      .infinity = 0x7ff0000000000000,
      .minus_infinity = 0xfff0000000000000,
      .nan = 0x7ff8000000000000,
      .least_normal = 0x0010000000000000,
      .magic = 0x4338000000000000,
      .two_to_mantissa = 0x4330000000000000,
      .log2e = 0x3ff71547652b82fe,
      .ln2_high = 0x3fe62e42fefa3000,
      .ln2_low = 0x3d53de6af278ece6,
      .exp_low = 0xc087500000000000,    /* -746 */
      .exp_normal = 0xc086200000000000, /* -708 */
      .exp_high = 0x4086300000000000,   /* 710 */
      .root_half = 0x3fe6a09e667f3bcd,
      .exponent_zero = 0x43300000000003ff,
      .exponent_zero_tiny = 0x4330000000000433,
      .exp = { 10,
               { 0x3fe000000000000a, 0x3fc55555555554fa, 0x3fa555555555086e, 0x3f81111111127c31,
                 0x3f56c16c1842d971, 0x3f2a01a012a446b7, 0x3efa0199a023ba06, 0x3ec71df256db9de9,
                 0x3e928ad7cb3ef62a, 0x3e5ad7f5d73c6aa7 } },
      .exp2 = { 11,
                { 0x3fe62e42fefa39f3, 0x3fcebfbdff82c598, 0x3fac6b08d7048f20, 0x3f83b2ab6fba1deb,
                  0x3f55d87fe7bbe328, 0x3f2430913096dcfd, 0x3eeffcbee33f3cd7, 0x3eb62bfd477fdc91,
                  0x3e7b5416eb5c6819, 0x3e3e606472e5aac3, 0x3dfc0639acadaa09 } } },
};

/* Of f: (log(1 + f) - f + f^2 / 2) / f^3 for f in [root_half - 1, 2 root_half - 1]. */
static const polynomial log_single = { 9,
                                       { 0x3eaaaaa3, 0xbe7ffff7, 0x3e4cd2a4, 0xbe2ab173, 0x3e11994d,
                                         0xbdfda150, 0x3df32938, 0xbdf176e4, 0x3d8da1b3 } };

/* Of z: (log((1 + s) / (1 - s)) / s - 2) / z for z = s^2, s = f / (2 + f). */
static const polynomial log_double = { 7,
                                       { 0x3fe5555555555593, 0x3fd999999997fca3, 0x3fd2492494201afa,
                                         0x3fcc71c51faf7a7c, 0x3fc7466420bd5a2d, 0x3fc39a165345422d,
                                         0x3fc2f08ece6db268 } };

/* Of d: 1 / d for d = 2 + f, within 2^-13. */
static const polynomial reciprocal = {
    4, { 0x3fff868792ab9f50, 0xbff72d39be064edb, 0x3fde23f2c950ed87, 0xbfad40d00ccc750c }
};

/* A function being built. */
typedef struct work {
    const tly_build *c;
    const format *f;
    kir_type real, integer;
} work;

static work begin(const tly_build *c, kir_value x)
{
    const kir_type type = type_of(c, x);
    const format *f = &formats[type.kind == KIR_F64];
    return (work){ c, f, KIR_TYPE(f->real, type.lanes), KIR_TYPE(f->integer, type.lanes) };
}

static kir_value real(const work *w, uint64_t bits)
{
    return constant(w->c, w->real, bits);
}

static kir_value integer(const work *w, uint64_t value)
{
    return constant(w->c, w->integer, value);
}

static kir_value as_integer(const work *w, kir_value x)
{
    return bitcast(w->c, w->integer, x);
}

static kir_value as_real(const work *w, kir_value x)
{
    return bitcast(w->c, w->real, x);
}

static kir_value evaluate(const work *w, const polynomial *p, kir_value x)
{
    const tly_build *c = w->c;
    kir_value sum = real(w, p->of[p->terms - 1]);
    for (unsigned i = p->terms - 1; i-- > 0;) {
        sum = add(c, mul(c, sum, x), real(w, p->of[i]));
    }
    return sum;
}

/* ---- exp ---- */

/* y * 2^n in two steps, as 2^n may overflow although the result does not. `biased` is n + 2
 * bias. */
static kir_value scaled(const work *w, kir_value y, kir_value biased)
{
    const tly_build *c = w->c;
    kir_value place = integer(w, w->f->mantissa);
    kir_value first = lshr(c, biased, integer(w, 1)), second = sub(c, biased, first);
    y = mul(c, y, as_real(w, shl(c, first, place)));
    return mul(c, y, as_real(w, shl(c, second, place)));
}

/* e^x = 2^n e^r, n = x / ln 2 rounded. Arguments far below become 0 by a choice, as a product that
 * underflows costs 140 cycles on some CPUs. */
kir_value tly_exp(const tly_build *c, kir_value x)
{
    const work w = begin(c, x);
    const format *f = w.f;
    kir_value zero = real(&w, 0), highest = real(&w, f->exp_high), magic = real(&w, f->magic);
    kir_value vanishes = olt(c, x, real(&w, f->exp_low));
    x = choose(c, vanishes, zero, choose(c, olt(c, highest, x), highest, x));
    kir_value rounded = add(c, mul(c, x, real(&w, f->log2e)), magic);
    kir_value n = sub(c, rounded, magic);
    kir_value biased = sub(c, as_integer(&w, rounded), integer(&w, f->magic - 2 * f->bias));
    kir_value high = sub(c, x, mul(c, n, real(&w, f->ln2_high))); /* exact */
    kir_value low = mul(c, n, real(&w, f->ln2_low)), r = sub(c, high, low);
    kir_value rest = mul(c, mul(c, r, r), evaluate(&w, &f->exp, r));
    kir_value y = add(c, real(&w, f->one), add(c, high, sub(c, rest, low)));
    return choose(c, vanishes, zero, scaled(&w, y, biased));
}

static kir_value pair_at(const work *w, const polynomial *p, unsigned k, kir_value x)
{
    return add(w->c, mul(w->c, x, real(w, p->of[k + 1])), real(w, p->of[k]));
}

/* Horner's scheme in the square of x, with pairs of terms: half as long a chain for one more
 * multiplication. */
static void evaluate_pairs(const work *w, const polynomial *p, const kir_value *x, kir_value *y,
                           unsigned n)
{
    const tly_build *c = w->c;
    kir_value square[KIR_MAX_CARRIED], pair[KIR_MAX_CARRIED];
    unsigned k = (p->terms - 1) / 2 * 2;
    for (unsigned i = 0; i < n; i++)
        square[i] = mul(c, x[i], x[i]);
    for (unsigned i = 0; i < n; i++)
        y[i] = k + 1 < p->terms ? pair_at(w, p, k, x[i]) : real(w, p->of[k]);
    while (k > 0) {
        k -= 2;
        for (unsigned i = 0; i < n; i++)
            pair[i] = pair_at(w, p, k, x[i]);
        for (unsigned i = 0; i < n; i++)
            y[i] = add(c, mul(c, y[i], square[i]), pair[i]);
    }
}

/* 2^(x / ln 2), with x / ln 2 rounded. No result is below the least normal number. */
void tly_exps_below(const tly_build *c, kir_value *x, unsigned n)
{
    const work w = begin(c, x[0]);
    const format *f = w.f;
    kir_value least = real(&w, f->exp_normal), one = real(&w, f->one), log2e = real(&w, f->log2e);
    kir_value magic = real(&w, f->magic + f->bias); /* its lower bits are an exponent's */
    kir_value rounded[KIR_MAX_CARRIED], y[KIR_MAX_CARRIED];
    for (unsigned i = 0; i < n; i++)
        x[i] = choose(c, olt(c, x[i], least), least, x[i]);
    for (unsigned i = 0; i < n; i++)
        x[i] = mul(c, x[i], log2e);
    for (unsigned i = 0; i < n; i++)
        rounded[i] = add(c, x[i], magic);
    for (unsigned i = 0; i < n; i++)
        x[i] = sub(c, x[i], sub(c, rounded[i], magic));
    evaluate_pairs(&w, &f->exp2, x, y, n);
    for (unsigned i = 0; i < n; i++)
        y[i] = add(c, one, mul(c, x[i], y[i]));
    for (unsigned i = 0; i < n; i++) {
        kir_value scale = shl(c, as_integer(&w, rounded[i]), integer(&w, f->mantissa));
        x[i] = mul(c, y[i], as_real(&w, scale));
    }
}

kir_value tly_exp_below(const tly_build *c, kir_value x)
{
    tly_exps_below(c, &x, 1);
    return x;
}

/* ---- log ---- */

/* log(1 + f) + e ln 2. The high part of ln 2 is added last. */
static kir_value log_of_single(const work *w, kir_value f, kir_value e)
{
    const tly_build *c = w->c;
    kir_value square = mul(c, f, f);
    kir_value rest = mul(c, mul(c, evaluate(w, &log_single, f), square), f);
    rest = add(c, rest, mul(c, e, real(w, w->f->ln2_low)));
    rest = sub(c, rest, mul(c, square, real(w, w->f->half)));
    return add(c, add(c, f, rest), mul(c, e, real(w, w->f->ln2_high)));
}

/* By s = f / (2 + f). Two of Newton's steps, from within 2^-13, give the quotient. A thirtieth of
 * its error reaches the result. */
static kir_value log_of_double(const work *w, kir_value f, kir_value e)
{
    const tly_build *c = w->c;
    kir_value two = real(w, w->f->two), d = add(c, f, two);
    kir_value quotient = evaluate(w, &reciprocal, d);
    for (int i = 0; i < 2; i++) {
        quotient = mul(c, quotient, sub(c, two, mul(c, d, quotient)));
    }
    kir_value s = mul(c, f, quotient), z = mul(c, s, s);
    kir_value half = mul(c, mul(c, f, f), real(w, w->f->half));
    kir_value rest = add(c, half, mul(c, z, evaluate(w, &log_double, z)));
    rest = add(c, mul(c, s, rest), mul(c, e, real(w, w->f->ln2_low)));
    rest = sub(c, sub(c, half, rest), f);
    return sub(c, mul(c, e, real(w, w->f->ln2_high)), rest);
}

/* log(x 2^more) = (e + more) ln 2 + log m, m = 1 + f around 1. */
kir_value tly_log_of_product(const tly_build *c, kir_value x, kir_value more)
{
    const work w = begin(c, x);
    const format *f = w.f;
    kir_value zero = real(&w, 0), infinity = real(&w, f->infinity);
    kir_value tiny = olt(c, x, real(&w, f->least_normal));
    kir_value normal = choose(c, tiny, mul(c, x, real(&w, f->two_to_mantissa)), x);
    kir_value bits = add(c, as_integer(&w, normal), integer(&w, f->one - f->root_half));
    kir_value mask = integer(&w, (UINT64_C(1) << f->mantissa) - 1);
    kir_value m = add(c, band(c, bits, mask), integer(&w, f->root_half));
    kir_value exponent = lshr(c, bits, integer(&w, f->mantissa));
    kir_value biased = as_real(&w, bor(c, exponent, integer(&w, f->two_to_mantissa)));
    kir_value zero_at = choose(c, tiny, real(&w, f->exponent_zero_tiny),
                               real(&w, f->exponent_zero));
    kir_value e = sub(c, biased, zero_at);
    if (more != 0)
        e = add(c, e, more);
    kir_value less_one = sub(c, as_real(&w, m), real(&w, f->one));
    kir_value y = (w.real.kind == KIR_F32 ? log_of_single : log_of_double)(&w, less_one, e);
    kir_value none = choose(c, oeq(c, x, zero), real(&w, f->minus_infinity), real(&w, f->nan));
    y = choose(c, ole(c, x, zero), none, y);
    return choose(c, olt(c, x, infinity), y, x);
}

kir_value tly_log(const tly_build *c, kir_value x)
{
    return tly_log_of_product(c, x, 0);
}
