/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluator that judges words with operands and expressions, held to docs/word.md by values
 * worked out by hand.
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
