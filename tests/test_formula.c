/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluator that judges words with operands and expressions, held to docs/word.md by values
 * worked out by hand; and what its judge takes where several results are right.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "fused.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define INF INFINITY

/* ---- floats ---- */

typedef struct real_case {
    tally_dtype type;
    const char *text;
    double x, a, result;
} real_case;

static const real_case reals[] = {
    /* precedence, and from left to right among equals */
    { TALLY_F32, "1+2*3", 0, 0, 7 },
    { TALLY_F32, "(1+2)*3", 0, 0, 9 },
    { TALLY_F32, "7-2-3", 0, 0, 2 },
    { TALLY_F32, "7-(2-3)", 0, 0, 8 },
    { TALLY_F32, "16/4/2", 0, 0, 2 },
    { TALLY_F32, "16/(4/2)", 0, 0, 8 },
    { TALLY_F32, "8/2*3", 0, 0, 12 },
    { TALLY_F32, "-x*a", 3, 2, -6 },
    { TALLY_F32, "x--a", 3, 2, 5 },
    { TALLY_F32, "--x", 3, 0, 3 },
    { TALLY_F32, "-2*x", 3, 0, -6 },
    { TALLY_F32, "1+x<a*2", 2, 2, 1 },
    { TALLY_F32, "(x<a)+(a<x)*10", 1, 2, 1 },
    { TALLY_F64, "1e-1+2.5e1", 0, 0, 0.1 + 25 },
    /* each operation rounds by itself: no fused multiply-add, no regrouping, no wider type */
    { TALLY_F32, "x*x-a", 1 + 0x1p-12, 1 + 0x1p-11, 0 },
    { TALLY_F64, "x*x-a", 1 + 0x1p-12, 1 + 0x1p-11, 0x1p-24 },
    { TALLY_F32, "x+1+1", 16777216, 0, 16777216 },
    { TALLY_F32, "x+(1+1)", 16777216, 0, 16777218 },
    { TALLY_F32, "x/a", 1, 3, 1.0f / 3 },
    { TALLY_F32, "x*a", 3e38, 10, INF },
    { TALLY_F64, "x*a", 3e38, 10, 3e38 * 10 },
    { TALLY_F32, "16777217", 0, 0, 16777216 }, /* a constant is rounded to the type */
    { TALLY_F32, "0.1", 0, 0, 0.1f },
    { TALLY_F64, "0.1", 0, 0, 0.1 },
    /* subnormals stay */
    { TALLY_F32, "x*a", 0x1p-126, 0.25, 0x1p-128 },
    { TALLY_F32, "1e-45", 0, 0, 0x1p-149 },
    /* zeros have signs */
    { TALLY_F32, "-0", 0, 0, -0.0 },
    { TALLY_F32, "-x", 0, 0, -0.0 },
    { TALLY_F32, "0-x", 0, 0, 0 },
    { TALLY_F32, "x*a", -1, 0, -0.0 },
    { TALLY_F32, "1/x", -0.0, 0, -INF },
    { TALLY_F32, "sqrt(x)", -0.0, 0, -0.0 },
    { TALLY_F32, "min(x,a)", 0, -0.0, -0.0 },
    { TALLY_F32, "min(x,a)", -0.0, 0, -0.0 },
    { TALLY_F32, "max(x,a)", 0, -0.0, 0 },
    { TALLY_F32, "max(x,a)", -0.0, 0, 0 },
    { TALLY_F32, "x==a", -0.0, 0, 1 },
    { TALLY_F32, "x<a", -0.0, 0, 0 },
    { TALLY_F32, "abs(x)", -0.0, 0, 0 },
    { TALLY_F32, "round(x)", -0.25, 0, -0.0 },
    { TALLY_F32, "floor(x)", -0.0, 0, -0.0 },
    { TALLY_F32, "where(x,1,2)", -0.0, 0, 2 },
    /* NaN */
    { TALLY_F32, "min(x,a)", NAN, 1, NAN },
    { TALLY_F32, "min(x,a)", 1, NAN, NAN },
    { TALLY_F32, "max(x,a)", 1, NAN, NAN },
    { TALLY_F32, "max(x,a)", NAN, 1, NAN },
    { TALLY_F32, "x<a", NAN, 1, 0 },
    { TALLY_F32, "x>=a", NAN, 1, 0 },
    { TALLY_F32, "x==x", NAN, 0, 0 },
    { TALLY_F32, "x!=x", NAN, 0, 1 },
    { TALLY_F32, "where(nan,1,2)", 0, 0, 1 },
    { TALLY_F32, "where(x==x,x,0)", NAN, 0, 0 },
    { TALLY_F32, "0/x", 0, 0, NAN },
    { TALLY_F32, "inf-inf", 0, 0, NAN },
    { TALLY_F32, "0*inf", 0, 0, NAN },
    { TALLY_F32, "-inf", 0, 0, -INF },
    { TALLY_F32, "sqrt(x)", -1, 0, NAN },
    { TALLY_F32, "exp(x)", NAN, 0, NAN },
    { TALLY_F32, "log(x)", -1, 0, NAN },
    /* ties to even */
    { TALLY_F32, "round(x)", 0.5, 0, 0 },
    { TALLY_F32, "round(x)", 1.5, 0, 2 },
    { TALLY_F32, "round(x)", 2.5, 0, 2 },
    { TALLY_F32, "round(x)", -2.5, 0, -2 },
    { TALLY_F32, "floor(x)", -2.5, 0, -3 },
    { TALLY_F32, "round(x)", 16777217, 0, 16777217 },
    /* exp, log and sig: values that are exact, and ends */
    { TALLY_F32, "exp(x)", 0, 0, 1 },
    { TALLY_F32, "exp(x)", -INF, 0, 0 },
    { TALLY_F32, "exp(x)", INF, 0, INF },
    { TALLY_F32, "exp(x)", 89, 0, INF },
    { TALLY_F64, "exp(x)", 710, 0, INF },
    { TALLY_F32, "exp(x)", -104.5, 0, 0 },
    { TALLY_F32, "log(x)", 1, 0, 0 },
    { TALLY_F32, "log(x)", 0, 0, -INF },
    { TALLY_F32, "log(x)", -0.0, 0, -INF },
    { TALLY_F32, "log(x)", INF, 0, INF },
    { TALLY_F32, "sig(x)", 0, 0, 0.5 },
    { TALLY_F32, "sig(x)", -INF, 0, 0 },
    { TALLY_F32, "sig(x)", 100, 0, 1 },
    { TALLY_F64, "sig(x)", 1, 0, 1 / (1 + 0x1.78b56362cef38p-2) },
};

static double evaluate(const char *text, tally_dtype type, double x, double a)
{
    const tly_scalar names[TLY_NAMES] = {
        [TLY_NAME_X] = { .real = x }, [TLY_NAME_A] = { .real = a }
    };
    tly_formula f;
    int subnormal = 0;
    cr_assert_eq(tly_formula_parse(text, &f), 0, "%s", text);
    return tly_formula_evaluate(&f, type, names, &subnormal).real;
}

static int is_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

Test(formula, floats)
{
    for (size_t k = 0; k < COUNT(reals); k++) {
        const real_case *c = &reals[k];
        const double got = evaluate(c->text, c->type, c->x, c->a);
        cr_expect(is_same(got, c->result), "%s of %a, %a: %a, not %a", c->text, c->x, c->a, got,
                  c->result);
    }
}

/* The promise of docs/elementary.md, which the C library's functions of f64 check for f32. */
Test(formula, exp_and_log)
{
    tly_random r = tly_random_seed(1, 1);
    for (int k = 0; k < 100000; k++) {
        const double unit = (double)(tly_random_next(&r) >> 11) * 0x1p-53;
        const float x = (float)(unit * 200 - 104), y = (float)ldexp(1 + unit, k % 250 - 140);
        const float e = (float)tly_formula_exp(1, x), l = (float)tly_formula_log(1, y);
        const float e_right = (float)exp(x), l_right = (float)log(y);
        cr_assert(e == e_right || e == nextafterf(e_right, INF) || e == nextafterf(e_right, 0),
                  "exp of %a: %a", x, e);
        cr_assert(l == l_right || l == nextafterf(l_right, INF) || l == nextafterf(l_right, -INF),
                  "log of %a: %a", y, l);
        const double wide = unit * 1400 - 700, right = exp(wide);
        cr_assert(fabs(tly_formula_exp(0, wide) - right) <= 0x1p-51 * right, "exp of %a", wide);
        const double grown = ldexp(1 + unit, k % 2000 - 1000), log_right = log(grown);
        cr_assert(fabs(tly_formula_log(0, grown) - log_right) <= 0x1p-51 * fabs(log_right) + 1e-300,
                  "log of %a", grown);
    }
}

/* ---- integers ---- */

typedef struct whole_case {
    tally_dtype type;
    const char *text;
    int64_t x, a, result;
} whole_case;

static const whole_case wholes[] = {
    { TALLY_I8, "x+a", 127, 1, -128 },
    { TALLY_I8, "x*a", 100, 3, 44 },
    { TALLY_I8, "abs(x)", -128, 0, -128 },
    { TALLY_I8, "abs(x)", -5, 0, 5 },
    { TALLY_I8, "-x", -128, 0, -128 },
    { TALLY_I8, "-128", 0, 0, -128 },
    { TALLY_I8, "x<a", -1, 1, 1 },
    { TALLY_U8, "x<a", 255, 1, 0 },
    { TALLY_U8, "x-a", 0, 1, 255 },
    { TALLY_U8, "-x", 1, 0, 255 },
    { TALLY_U8, "abs(x)", 200, 0, 200 },
    { TALLY_U8, "x+a>a", 255, 1, 0 },
    { TALLY_I32, "x*a-x", 1 << 30, 4, -(1 << 30) },
    { TALLY_I32, "min(x,a)*10+max(x,a)", -3, 2, -28 },
    { TALLY_U32, "max(x,a)", 4294967295, 1, 4294967295 },
    { TALLY_I64, "9223372036854775807+x", 1, 0, INT64_MIN },
    { TALLY_I64, "where(x!=a,x,7)", 5, 5, 7 },
    { TALLY_U64, "18446744073709551615", 0, 0, -1 },
    { TALLY_I64, "9007199254740993", 0, 0, 9007199254740993 }, /* which no f64 is */
};

Test(formula, integers)
{
    for (size_t k = 0; k < COUNT(wholes); k++) {
        const whole_case *c = &wholes[k];
        const tly_scalar names[TLY_NAMES] = {
            [TLY_NAME_X] = { .whole = (uint64_t)c->x }, [TLY_NAME_A] = { .whole = (uint64_t)c->a }
        };
        tly_formula f;
        int subnormal = 0;
        cr_assert_eq(tly_formula_parse(c->text, &f), 0, "%s", c->text);
        const uint64_t got = tly_formula_evaluate(&f, c->type, names, &subnormal).whole;
        cr_expect_eq((int64_t)got, c->result, "%s: %lld", c->text, (long long)got);
    }
}

Test(formula, grammar)
{
    static const char *const bad[] = { "",        "x+", "(x",      "x)",     "x y",   "1.",
                                       "01",      "1e", "x<a<b",   "min(x)", "abs",   "z",
                                       "+x",      "e1", "x**a",    "1e+2",   "exp()", "where(x,a)",
                                       "x<a+b<c", ".5", "abs(x,a)" };
    tly_formula f;
    for (size_t k = 0; k < COUNT(bad); k++)
        cr_expect_neq(tly_formula_parse(bad[k], &f), 0, "'%s' was taken", bad[k]);
}

/* ---- intervals ---- */

/* What the expression makes of a number within lies within, and the ends are near what it makes. */
Test(formula, spans_hold_every_value)
{
    static const char *const texts[] = { "x*y",
                                         "y*y",
                                         "1/y",
                                         "y/a",
                                         "sqrt(y)",
                                         "log(y)",
                                         "exp(y)",
                                         "sig(y)",
                                         "floor(y*8)",
                                         "round(y*8)",
                                         "abs(y)-a",
                                         "min(y,a)",
                                         "max(y,x)",
                                         "where(y<a,x,y)",
                                         "(y>=x)+(y!=a)",
                                         "1/(y-a)",
                                         "y*inf",
                                         "0*y",
                                         "where(y==a,nan,y)",
                                         "exp(-y)*(1-exp(-x*a))",
                                         "-y/(y+1)",
                                         "where(log(y),1,2)" };
    tly_random r = tly_random_seed(5, 1);
    for (int n = 0; n < 20000; n++) {
        const char *text = texts[n % (int)COUNT(texts)];
        const int single = n & 1;
        const double specials[] = { 0, -0.0, INF, -INF, 1, 3e38, 1e-42 };
        double ends[2], names_of[2];
        for (int k = 0; k < 2; k++) {
            const double unit = (double)(tly_random_next(&r) >> 11) * 0x1p-53;
            ends[k] = tly_random_one_in(&r, 5) ? specials[tly_random_below(&r, 7)]
                                               : (float)(ldexp(unit, (int)(n / 22 % 20)) - 1);
            names_of[k] = tly_random_one_in(&r, 5) ? specials[tly_random_below(&r, 7)]
                                                   : (float)(unit * 4 - 2);
        }
        const tly_span y = { fmin(ends[0], ends[1]), fmax(ends[0], ends[1]), 0 };
        const double middle = single ? (float)(y.low / 2 + y.high / 2) : y.low / 2 + y.high / 2;
        const double tried[] = { y.low, y.high, middle, -0.0 };
        const tally_dtype type = single ? TALLY_F32 : TALLY_F64;
        tly_scalar names[TLY_NAMES] = {
            [TLY_NAME_X] = { .real = names_of[0] }, [TLY_NAME_A] = { .real = names_of[1] }
        };
        tly_formula f;
        int subnormal = 0;
        cr_assert_eq(tly_formula_parse(text, &f), 0, "%s", text);
        const tly_span span = tly_formula_span(&f, type, names, y);
        for (int k = 0; k < 4; k++) {
            names[TLY_NAME_Y].real = tried[k];
            if (!(tried[k] >= y.low && tried[k] <= y.high))
                continue;
            const double v = tly_formula_evaluate(&f, type, names, &subnormal).real;
            cr_assert(isnan(v) ? span.nan : v >= span.low && v <= span.high,
                      "%s, y %a in [%a, %a], x %a, a %a: %a is not in [%a, %a] nan %d", text,
                      tried[k], y.low, y.high, names_of[0], names_of[1], v, span.low, span.high,
                      span.nan);
        }
    }
}

/* ---- the judge ---- */

enum { MOST = 6 };

typedef struct judged {
    const char *word;
    double in[MOST], a[MOST], out[MOST];
    int wrong;
    const char *why; /* part of the reason; NULL: it is right */
} judged;

static const judged cases[] = {
    /* u to the bit */
    { "sum:f32:3:axes=none,a=f32,map=x*a", { 1, 2, 3 }, { 4, 5, 6 }, { 4, 10, 18 }, 0, NULL },
    { "sum:f32:3:axes=none,a=f32,map=x*a",
      { 1, 2, 3 },
      { 4, 5, 6 },
      { 4, 10, 18.000002 },
      1,
      "bits" },
    { "sum:f32:3:axes=none,map=1-x", { 0.1f, 1, 3 }, { 0 }, { 0.9f, 0, -2 }, 0, NULL },
    { "sum:f32:3:axes=none,a=f32/-1@2,map=x*a", { 1, 2, 3 }, { 4, 5, 6 }, { 6, 10, 12 }, 0, NULL },
    { "sum:f32:3:axes=none,a=f32/0@1,map=x*a", { 1, 2, 3 }, { 4, 5, 6 }, { 5, 10, 15 }, 0, NULL },
    { "sum:f32:3x2:axes=none,a=f32/0,map=x*a",
      { 1, 1, 1, 1, 1, 1 },
      { 4, 5, 6 },
      { 4, 4, 5, 5, 6, 6 },
      0,
      NULL },
    { "sum:f32:3x2:axes=none,a=f32/1,map=x*a",
      { 1, 1, 1, 1, 1, 1 },
      { 4, 5 },
      { 4, 5, 4, 5, 4, 5 },
      0,
      NULL },
    /* narrow words are computed in f32 and rounded once */
    { "sum:f16:2:axes=none,map=x*x-1", { 1 + 0x1p-10, 256 }, { 0 }, { 0x1p-9, 65536. }, 0, NULL },
    { "sum:f16:2:axes=none,map=x*x-1", { 1 + 0x1p-10, 2 }, { 0 }, { 0x1p-8, 3 }, 1, "bits" },
    { "sum:f32>f16:1:axes=none,map=x+1", { 0x1p-11 + 0x1p-23 }, { 0 }, { 1 + 0x1p-10 }, 0, NULL },
    { "sum:f64>f32:1:axes=none,map=x+1", { 0x1p-24 + 0x1p-40 }, { 0 }, { 1 + 0x1p-23 }, 0, NULL },
    { "max:f16:2:map=x*x", { 300, 200 }, { 0 }, { INF }, 0, NULL },
    /* dtypes of operands, integers as floats, and bools that are 1 where they are not 0 */
    { "sum:i8>f32:3:axes=none,a=f32/none,map=(x-a)*0.5",
      { 100, -100, 3 },
      { 1 },
      { 49.5, -50.5, 1 },
      0,
      NULL },
    { "sum:i8:3:axes=none,a=i8/none,map=x*a", { 100, 1, 3 }, { 3 }, { 44, 3, 9 }, 0, NULL },
    { "sum:i8>i64:3:axes=none,a=i8/none,map=x*a", { 100, 1, 3 }, { 3 }, { 300, 3, 9 }, 0, NULL },
    { "cummax:bool:3:axis=0,map=x+x", { 0, 1, 0 }, { 0 }, { 0, 1, 1 }, 0, NULL },
    { "cummax:bool:3:axis=0,post=y*4", { 0, 1, 0 }, { 0 }, { 0, 1, 1 }, 0, NULL },
    /* exclusive: post applies to the identity, map does not; x is that of the place */
    { "cumprod:f32:3:axis=0,exclusive,map=1-x,post=x*y",
      { 0.5, 0.25, 1 },
      { 0 },
      { 0.5, 0.125, 0.375 },
      0,
      NULL },
    { "cumsum:f32:3:axis=0,exclusive,map=x+1,post=y+10",
      { 1, 2, 3 },
      { 0 },
      { 10, 12, 15 },
      0,
      NULL },
    { "cumsum:f32:3:axis=0,reverse,a=f32,post=y*a",
      { 1, 2, 3 },
      { 1, 10, 100 },
      { 6, 50, 300 },
      0,
      NULL },
    /* an operator's own steps lie between */
    { "l2:f32:2:map=x-1,post=y*2", { 4, 5 }, { 0 }, { 10 }, 0, NULL },
    { "sum:f32:2x2:axes=1,a=f32/0,post=y/a", { 1, 2, 3, 5 }, { 3, 4 }, { 1, 2 }, 0, NULL },
    { "sum:f32:2x0:axes=1,a=f32/0,post=y+a", { 0 }, { 3, 4 }, { 3, 4 }, 0, NULL },
    { "argmax:f32:3:map=-x", { 1, -5, 3 }, { 0 }, { 1 }, 0, NULL },
    /* post of what the tolerance takes, and of nothing else */
    { "sum:f32:4:post=y*2", { 0.1f, 0.1f, 0.1f, 0.1f }, { 0 }, { 0.8f }, 0, NULL },
    { "sum:f32:4:post=y*2", { 0.1f, 0.1f, 0.1f, 0.1f }, { 0 }, { 0.80000007f }, 0, NULL },
    { "sum:f32:4:post=y*2", { 0.1f, 0.1f, 0.1f, 0.1f }, { 0 }, { 0.8000004f }, 1, "tolerance" },
    { "sum:f32:4:post=y*2,order=serial",
      { 0.1f, 0.1f, 0.1f, 0.1f },
      { 0 },
      { 0.80000007f },
      1,
      "plain loop" },
    { "sum:f32:2:post=y*2", { 0.1f, 0.1f }, { 0 }, { 0.40000004f }, 1, "plain loop" },
    { "sum:f32:4:post=y*2", { 1, 2, 3, 4 }, { 0 }, { 20.000002 }, 1, "plain loop" },
    /* near a pole, and across a step */
    { "sum:f32:3:post=1/y", { 1e8, 0.1f, -1e8 }, { 0 }, { 1e30 }, 0, NULL },
    { "sum:f32:3:post=1/y", { 1e8, 0.1f, -1e8 }, { 0 }, { INF }, 0, NULL },
    { "sum:f32:3:post=1/y", { 1e8, 0.1f, -1e8 }, { 0 }, { 1e-4 }, 0, NULL },
    { "sum:f32:3:post=1/(y+1e4)", { 1e8, 0.1f, -1e8 }, { 0 }, { 1e-4 }, 0, NULL },
    { "sum:f32:3:post=1/(y+1e4)", { 1e8, 0.1f, -1e8 }, { 0 }, { 2e-4 }, 1, "tolerance" },
    { "sum:f32:3:post=log(y)", { 1e8, 0.1f, -1e8 }, { 0 }, { NAN }, 0, NULL },
    { "sum:f32:3:post=log(y+1e4)", { 1e8, 0.1f, -1e8 }, { 0 }, { NAN }, 1, "tolerance" },
    { "sum:f32:3:post=y>0", { 1e8, 0.1f, -1e8 }, { 0 }, { 1 }, 0, NULL },
    { "sum:f32:3:post=y>0", { 1e8, 0.1f, -1e8 }, { 0 }, { 0 }, 0, NULL },
    { "sum:f32:3:post=y>0", { 1e8, 0.1f, -1e8 }, { 0 }, { 2 }, 1, "tolerance" },
    /* products out of range */
    { "cumprod:f32:4:axis=0,post=-y",
      { 1e-30, 1e-10, 1e10, 1e10 },
      { 0 },
      { -1e-30, -1e-40, 5, 3e38 },
      0,
      NULL },
    { "cumprod:f32:4:axis=0,post=-y",
      { 1e-30, 1e-10, 1e10, 1e10 },
      { 0 },
      { -1e-30, -1e-40, 5, NAN },
      1,
      "tolerance" },
    { "cumprod:f32:3:axis=0,post=-y", { 2, INF, -3 }, { 0 }, { -2, -INF, -INF }, 1, "tolerance" },
};

static void *store_all(tally_dtype dtype, const double *values, int64_t low, int64_t high,
                       char *bytes)
{
    for (int64_t k = low; k <= high; k++)
        tly_bits_store(dtype, bytes, k - low,
                       tly_is_float(dtype) ? tly_encode(dtype, values[k - low])
                                           : (uint64_t)(int64_t)values[k - low]);
    return (void *)((uintptr_t)bytes - (uintptr_t)low * tally_dtype_bytes(dtype));
}

static void check(const judged *c)
{
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    tly_verdict verdict;
    tly_layout l;
    tly_fused_place place;
    char in[8 * MOST], out[8 * MOST], a[8 * MOST];
    cr_assert_eq(tally_descriptor_parse(c->word, &d, &error), TALLY_OK, "%s: %s", c->word,
                 error.message);
    tly_layout_of(&d, &l);
    tly_fused_place_of(&d, 0, &place);
    const void *operands[TALLY_MAX_OPERANDS] = { NULL };
    if (place.dtype) /* `a` is a whole buffer, from index 0 on */
        operands[0] = store_all(place.dtype, c->a, 0, MOST - 1, a);
    const void *in_at = store_all((tally_dtype)d.dtype, c->in, l.in_low, l.in_high, in);
    const void *out_at = store_all(tly_reference_output(&d), c->out, l.out_low, l.out_high, out);
    tly_judge_buffers(&d, in_at, operands, out_at, 0, &verdict);
    cr_expect_eq(verdict.wrong, c->wrong, "%s: %d wrong: %s", c->word, (int)verdict.wrong,
                 verdict.reason ? verdict.reason : "");
    cr_expect(!c->why || (verdict.reason && strstr(verdict.reason, c->why)), "%s: %s", c->word,
              verdict.reason ? verdict.reason : "no reason");
}

Test(formula, judge)
{
    for (size_t k = 0; k < COUNT(cases); k++)
        check(&cases[k]);
}
