/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of the differential driver, held to docs/semantics.md: hand-made results that must be
 * taken, and others that must not. Ranges and orders: sections 5.3, 5.4 and 7.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

enum { MOST = 8 };

typedef struct judged {
    const char *word;
    double in[MOST], out[MOST];
    int wrong;       /* how many elements are */
    const char *why; /* part of the reason; NULL: it is right */
} judged;

#define HUGE 1e38
#define TINY 0x1p-130 /* subnormal in f32 */
#define INF INFINITY

static const judged cases[] = {
    /* within the tolerance while the loop's values are normal */
    { "cumprod:f32:3:axis=0", { 1.1f, 1.1f, 1.1f }, { 1.1f, 1.21f, 1.331f }, 0, NULL },
    { "cumprod:f32:3:axis=0", { 1.1f, 1.1f, 1.1f }, { 1.1f, 1.21f, 1.3311f }, 1, "tolerance" },
    { "cumprod:f32:4:axis=0",
      { 1e-30, 1e-7, 1e20, 1e20 },
      { 1e-30, 1e-37, 1e-17, 0 },
      1,
      "tolerance" },
    /* once the loop's value has been subnormal or underflowed: any finite value */
    { "cumprod:f32:4:axis=0",
      { 1e-30, 1e-10, 1e10, 1e10 },
      { 1e-30, 1e-40, 1e-30, 1e-20 },
      0,
      NULL },
    { "cumprod:f32:4:axis=0", { 1e-30, 1e-10, 1e10, 1e10 }, { 1e-30, 0, 0, 0 }, 0, NULL },
    { "cumprod:f32:4:axis=0", { 1e-30, 1e-10, 1e10, 1e10 }, { 1e-30, 0, -5, 3e38 }, 0, NULL },
    { "cumprod:f32:4:axis=0", { 1e-30, 1e-30, 1e30, 1e30 }, { 1e-30, 0, 1e-30, 1 }, 0, NULL },
    { "cumprod:f32:4:axis=0", { 1e-30, 1e-30, 1e30, 1e30 }, { 1e-30, 0, INF, 1 }, 1, "infinite" },
    { "cumprod:f32:4:axis=0", { 1e-30, 1e-30, 1e30, 1e30 }, { 1e-30, 0, 0, NAN }, 1, "NaN" },
    { "cumprod:f32:3:axis=0", { TINY, 1, 2 }, { TINY, 0, 7 }, 0, NULL },
    { "cumprod:f32:3:axis=0", { TINY, 1, 2 }, { 0, 0, 0 }, 1, "bits" }, /* a copy is exact */
    { "cumprod:f32:3:axis=0,exclusive", { TINY, 1, 2 }, { 1, TINY, 0 }, 0, NULL },
    { "cumprod:f16:3:axis=0,acc=f64",
      { 0x1p-20, 0x1p-10, 0x1p15 },
      { 0x1p-20, 0, 0 },
      1,
      "bits" }, /* subnormal in f16 is normal in the accumulator */
    { "cumprod:f32:3:axis=0,order=serial", { 1e-30, 1e-10, 1e10 }, { 1e-30, 0, 0 }, 2, "bits" },
    /* an input zero gives exact zeros; their sign is open only after an underflow */
    { "cumprod:f32:4:axis=0", { 3, 0, HUGE, HUGE }, { 3, 0, 0, 0 }, 0, NULL },
    { "cumprod:f32:4:axis=0", { 3, 0, HUGE, HUGE }, { 3, 0, 0, NAN }, 1, "bits" },
    { "cumprod:f32:4:axis=0", { 3, 0, HUGE, HUGE }, { 3, 0, 1e-40, 0 }, 1, "bits" },
    { "cumprod:f32:4:axis=0", { 3, 0, -2, 5 }, { 3, 0, 0, 0 }, 2, "bits" },
    { "cumprod:f32:4:axis=0", { 1e-30, 1e-10, 0, -2 }, { 1e-30, 1e-40, -0., 0 }, 0, NULL },
    { "cumprod:f32:4:axis=0", { 1e-30, 1e-10, 0, -2 }, { 1e-30, 1e-40, 1e-40, 0 }, 1, "zero" },
    /* after an input inf or NaN the class is the loop's */
    { "cumprod:f32:3:axis=0", { 2, INF, -3 }, { 2, INF, -INF }, 0, NULL },
    { "cumprod:f32:3:axis=0", { 2, INF, -3 }, { 2, INF, INF }, 1, "class" },
    { "cumprod:f32:3:axis=0", { 2, INF, 0 }, { 2, INF, NAN }, 0, NULL },
    { "cumprod:f32:3:axis=0", { 2, NAN, 3 }, { 2, NAN, INF }, 1, "class" },
    { "cumprod:f32:4:axis=0", { 1e-30, 1e-30, INF, 2 }, { 1e-30, 0, NAN, NAN }, 0, NULL },
    { "cumprod:f32:4:axis=0", { 1e-30, 1e-30, INF, 2 }, { 1e-30, 0, INF, NAN }, 0, NULL },
    { "cumprod:f32:4:axis=0", { 1e-30, 1e-30, INF, 2 }, { 1e-30, 0, 1, NAN }, 1, "class" },
    { "cumsum:f32:3:axis=0", { 1, INF, -INF }, { 1, INF, NAN }, 0, NULL },
    { "cumsum:f32:3:axis=0", { 1, INF, 5 }, { 1, INF, NAN }, 1, "class" },
    /* after an overflow on finite inputs the value of any order */
    { "cumprod:f32:4:axis=0", { HUGE, HUGE, 1e-38, 3 }, { HUGE, INF, INF, INF }, 0, NULL },
    { "cumprod:f32:4:axis=0", { HUGE, HUGE, 1e-38, 3 }, { HUGE, INF, HUGE, NAN }, 0, NULL },
    { "cumprod:f32:4:axis=0", { HUGE, HUGE, 1e-38, -3 }, { HUGE, INF, HUGE, INF }, 1, "sign" },
    { "cumprod:f32:4:axis=0", { HUGE, HUGE, 0, 3 }, { HUGE, INF, 0, NAN }, 0, NULL },
    { "cumprod:f32:4:axis=0", { HUGE, HUGE, 0, 3 }, { HUGE, INF, INF, NAN }, 1, "neither" },
    { "cumsum:f32:4:axis=0", { 3e38, 3e38, -3e38, 0 }, { 3e38, INF, 3e38, 3e38 }, 0, NULL },
    { "cumsum:f32:4:axis=0", { 3e38, 3e38, -3e38, 0 }, { 3e38, INF, 1e38, INF }, 1, "order's" },
    /* sums have their tolerance however small they are */
    { "cumsum:f32:3:axis=0", { TINY, TINY, TINY }, { TINY, 2 * TINY, 0 }, 1, "bits" },
    { "cumsum:f32:4:axis=0", { TINY, 1, 0.1f, 0.1f }, { TINY, 1, 1.1f, 1.2f }, 0, NULL },
    { "cumsum:f32:4:axis=0", { TINY, 1, 0.1f, 0.1f }, { TINY, 1, 1.1f, 1.3f }, 1, "tolerance" },
};

/* Of a reduction, `out` is its one result. */
static const judged reductions[] = {
    { "sum:f32:4", { 0.1f, 0.1f, 0.1f, 0.1f }, { 0.40000004 }, 0, NULL },
    { "sum:f32:4", { 0.1f, 0.1f, 0.1f, 0.1f }, { 0.4000002 }, 1, "tolerance" },
    { "sum:f32:4:order=serial", { 0.1f, 0.1f, 0.1f, 0.1f }, { 0.40000004 }, 1, "bits" },
    { "sum:f32:4", { 1e8, 0.1f, -1e8, 0.1f }, { 40 }, 0, NULL },
    { "sum:f32:4", { 1e8, 0.1f, -1e8, 0.1f }, { 100 }, 1, "tolerance" },
    { "sum:f32:3", { 1, 2, 4 }, { 7.000001 }, 1, "bits" }, /* nothing rounds */
    { "sum:f16:3:acc=f64", { 1, 0x1p-11, 0x1p-24 }, { 1 }, 1, "bits" },
    { "sum:f32>f64:3", { 0.1f, 0.2f, 0.3f }, { 0.6f }, 1, "bits" },
    { "sum:i8>i64:3", { 100, 100, 100 }, { 44 }, 1, "bits" },
    /* range: as of scans */
    { "sum:f32:3", { -3e38, 3e38, 3e38 }, { 3e38 }, 0, NULL },
    { "sum:f32:3", { -3e38, 3e38, 3e38 }, { INF }, 1, "tolerance" },
    { "sum:f32:3", { 3e38, 3e38, -3e38 }, { NAN }, 0, NULL },
    { "sum:f32:3", { 3e38, 3e38, -3e38 }, { 3e38 }, 0, NULL },
    { "sum:f32:3", { 3e38, 3e38, -3e38 }, { 1e38 }, 1, "order's" },
    { "sum:f32:3", { -3e38, -3e38, 3e38 }, { INF }, 0, NULL },
    { "sum:f32:4", { 3e38, -3e38, 3e38, -3e38 }, { 0 }, 0, NULL },
    { "sum:f32:4", { 3e38, -3e38, 3e38, -3e38 }, { -0.0 }, 1, "-0" },
    { "sum:f32:3", { INF, 1, -1 }, { NAN }, 1, "class" },
    { "prod:f32:5", { 1e-30, 1e10, 1e10, 1e10, 1e10 }, { 1e10 }, 0, NULL },
    { "prod:f32:5", { 1e-30, 1e10, 1e10, 1e10, 1e10 }, { INF }, 1, "tolerance" },
    { "prod:f32:5", { 0, 1e10, 1e10, 1e10, 1e10 }, { NAN }, 1, "bits" },
    { "prod:f32:4", { 1e-30, 1e-30, 1e30, 1e30 }, { 7 }, 0, NULL },
    { "prod:f32:4", { 1e-30, 1e-30, 1e30, 1e30 }, { INF }, 1, "infinite" },
    /* over several axes infinity is right where the exact product is that large */
    { "prod:f32:2x2", { 1e-30, 1e-30, 1e30, 1e30 }, { INF }, 1, "infinite" },
    { "prod:f32:2x3", { 1e-30, 1e-30, HUGE, HUGE, HUGE, HUGE }, { INF }, 0, NULL },
    { "prod:f32:6", { 1e-30, 1e-30, HUGE, HUGE, HUGE, HUGE }, { INF }, 1, "infinite" },
    { "prod:f32:4", { HUGE, HUGE, 1e-38, -3 }, { INF }, 1, "sign" },
    { "mean:f32:3", { -3e38, 3e38, 3e38 }, { 1e38 }, 0, NULL },
    { "mean:f32:3", { -3e38, 3e38, 3e38 }, { INF }, 1, "tolerance" },
    /* what ends in range is finite in every order */
    { "mean:f32:3", { 3e38, 3e38, -3e38 }, { 1e38 }, 0, NULL },
    { "mean:f32:3", { 3e38, 3e38, -3e38 }, { INF }, 1, "tolerance" },
    { "mean:f32:3", { 3e38, 3e38, -3e38 }, { 2e38 }, 1, "tolerance" },
    /* means are divisions, roots are rounded once */
    { "mean:f32:4", { 1, 2, 4, 0.1f }, { 1.7750005 }, 0, NULL },
    { "mean:f32:4", { 1, 2, 4, 0.1f }, { 1.77501 }, 1, "tolerance" },
    { "mean:f32:3", { 1, 2, 4 }, { 2.3333335 }, 1, "bits" },
    { "mean:i32:2", { -1, -2 }, { -2 }, 1, "bits" },
    { "l2:f32:3", { 3, 4, 0.1f }, { 5.0010004 }, 0, NULL },
    { "l2:f32:3", { 3, 4, 0.1f }, { 5.00101 }, 1, "tolerance" },
    { "l2:f32:2", { 1, 1 }, { 1.4142137 }, 1, "bits" },
    { "l2:f32:3", { 1e20, 1e20, 1 }, { 1.4142136e20 }, 0, NULL },
    { "l2:f32:3", { 1e20, 1e20, 1 }, { INF }, 1, "tolerance" },
    { "l2:f32:3", { 1e20, 1e20, 1 }, { NAN }, 1, "tolerance" },
    { "l2:f32:3", { 1e20, 1e20, 1 }, { 1e20 }, 1, "tolerance" },
    { "l2:f32:2", { 3e-25, 4e-25 }, { 5e-25 }, 0, NULL },
    { "l2:f32:2", { 3e-25, 4e-25 }, { 0 }, 1, "tolerance" },
    { "l1:f32:3", { 0.1f, -0.2f, 0.4f }, { 0.70000017 }, 0, NULL },
    { "l1:f32:3", { 0.1f, -0.2f, 0.4f }, { 0.700001 }, 1, "tolerance" },
    { "l1:f32:3", { 3e38, -3e38, 1 }, { INF }, 0, NULL },
    { "l1:f32:3", { 3e38, -3e38, 1 }, { -INF }, 1, "order's" },
    { "sum_square:f32:3", { 1e-25, 1e-25, 1.1e-23 }, { 0 }, 0, NULL },
    { "sum_square:f32:3", { 1e-25, 1e-25, 1.1e-23 }, { 1e-43 }, 1, "bits" },
    { "sum_square:f16:3", { 3, 0.1f, 7 }, { 58 }, 0, NULL },
    { "sum_square:f16:3", { 3, 0.1f, 7 }, { 58.5 }, 1, "tolerance" },
    /* logarithms */
    { "log_sum:f32:3", { 1, 2, 4 }, { 1.9459103 }, 0, NULL },
    { "log_sum:f32:3:order=serial", { 1, 2, 4 }, { 1.9459103 }, 0, NULL },
    { "log_sum:f32:3", { 1, 2, 4 }, { 1.94592 }, 1, "tolerance" },
    { "log_sum:f32:4", { 1, 0.1f, -1, -0.1f }, { NAN }, 0, NULL },
    { "log_sum:f32:4", { 1, 0.1f, -1, -0.1f }, { -INF }, 0, NULL },
    { "log_sum:f32:4", { 1, 0.1f, -1, -0.1f }, { -15 }, 0, NULL },
    { "log_sum:f32:4", { 1, 0.1f, -1, -0.1f }, { -1 }, 1, "tolerance" },
    { "log_sum:f32:2", { 1, -2 }, { -INF }, 1, "tolerance" },
    { "log_sum:f32:2", { 1, -1 }, { NAN }, 1, "tolerance" },
    { "log_sum:f32:3", { -3e38, 3e38, 3e38 }, { INF }, 1, "tolerance" },
    { "log_sum:i32:2", { 10, 11 }, { 4 }, 1, "tolerance" },
    { "log_sum:i32:2", { -1, -1 }, { -5 }, 1, "tolerance" },
    { "log_sum_exp:f32:2", { 1000, 1000 }, { 1000.6931 }, 0, NULL },
    { "log_sum_exp:f32:2", { 1000, 1000 }, { 1000.6932 }, 0, NULL },
    { "log_sum_exp:f32:2", { 1000, 1000 }, { 1000.694 }, 1, "tolerance" },
    { "log_sum_exp:f32:2", { 0, 0 }, { 0.6931478 }, 0, NULL },
    { "log_sum_exp:f32:2", { 0, 0 }, { 0.69315 }, 1, "tolerance" },
    { "log_sum_exp:f32:2", { 1000, 1000 }, { INF }, 1, "tolerance" },
    { "log_sum_exp:f32:2", { -1000, -1000 }, { -INF }, 1, "tolerance" },
    { "log_sum_exp:f32:3", { INF, -INF, 1 }, { NAN }, 1, "class" },
    { "log_sum_exp:f32:2", { -INF, -INF }, { NAN }, 1, "class" },
    { "log_sum_exp:f32:2", { NAN, INF }, { INF }, 1, "class" },
    { "log_sum_exp:f16:2", { 1000, 1000 }, { 1000 }, 0, NULL }, /* an ulp is .5 there */
    { "log_sum_exp:f16:2", { 1000, 1000 }, { 999 }, 1, "tolerance" },
    { "log_sum_exp:i32:2", { 1000, 1000 }, { 1001 }, 1, "tolerance" },
    { "log_sum_exp:i32:2", { 1000, 1000 }, { 999 }, 1, "tolerance" },
    /* one element is right */
    { "max:f32:3", { 1, 3, 2 }, { 2 }, 1, "bits" },
    { "max:f32:2", { 0, -0. }, { -0. }, 1, "bits" },
    { "min:i8:3", { 1, -3, 2 }, { 1 }, 1, "bits" },
    { "argmax:f32>i32:3", { 1, 3, 3 }, { 2 }, 1, "bits" },
    { "argmax:f32>i32:3:last", { 1, 3, 3 }, { 2 }, 0, NULL },
};

/* The same where subnormals count as zeros, and that all of it is wrong where they do not. */
static const judged flushed[] = {
    { "max:f32:2", { TINY, -1 }, { 0 }, 0, NULL },
    { "max:f32:2", { TINY, 2 * TINY }, { TINY }, 0, NULL },
    { "max:f32:2", { TINY, -1 }, { -1 }, 1, "bits" },
    { "max:f32:2", { TINY, 1 }, { 0 }, 1, "bits" },
    { "max:f16:2", { 0x1p-24, -1 }, { 0 }, 1, "bits" }, /* no subnormal of f32 */
    { "argmax:f32:2", { 0, TINY }, { 0 }, 0, NULL },
    { "argmin:f32:3", { 0, TINY, -TINY }, { 0 }, 0, NULL },
    { "argmin:f32:3", { 0, 1, -1 }, { 0 }, 1, "bits" },
    { "sum:f32:3", { TINY, TINY, TINY }, { 0 }, 0, NULL },
    { "sum:f32:3", { TINY, TINY, 1e-30 }, { 1e-36 }, 1, "tolerance" },
    { "sum_square:f32:3", { 0x1p-70, 0x1p-70, 0x1p-70 }, { 0 }, 0, NULL },
    { "mean:f32:3", { 0x1p-126, 0x1p-126, 0 }, { 0 }, 0, NULL },
    { "cummin:f32:2:axis=0", { TINY, 1 }, { 0, 0 }, 0, NULL },
    { "linrec:f32:2:axis=0,coef=0.5", { TINY, 1 }, { 0, 1 }, 0, NULL },
    { "linrec:f32:2:axis=0,coef=0.5", { 0x1p-126, 0 }, { 0x1p-126, 0 }, 0, NULL },
    { "linrec:f32:2:axis=0,coef=0.5", { 0x1p-126, 0 }, { 0x1p-126, 0x1p-100 }, 1, "tolerance" },
};

static uint64_t encode(tally_dtype dtype, double value)
{
    return tly_is_float(dtype) ? tly_encode(dtype, value) : (uint64_t)(int64_t)value;
}

static void check(const judged *c, int flushes, int must_be_wrong)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    double in[MOST], out[MOST];
    tly_verdict verdict;
    cr_assert_eq(tally_descriptor_parse(c->word, &d, NULL), TALLY_OK, "%s", c->word);
    const tally_dtype from = (tally_dtype)d.dtype, to = tly_reference_output(&d);
    for (int i = 0; i < MOST; i++) {
        tly_bits_store(from, in, i, encode(from, c->in[i]));
        tly_bits_store(to, out, i, encode(to, c->out[i]));
    }
    const int64_t wrong = tly_judge(&d, in, out, flushes, &verdict);
    const char *why = verdict.reason ? verdict.reason : "right";
    if (must_be_wrong) {
        cr_expect_gt(wrong, 0, "%s: right, %.9g", c->word, c->out[0]);
        return;
    }
    cr_expect_eq(wrong, c->wrong, "%s: %.9g: %lld wrong, %s", c->word, c->out[0], (long long)wrong,
                 why);
    cr_expect(strstr(why, c->why ? c->why : "right"), "%s: %.9g: %s", c->word, c->out[0], why);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

Test(judge, by_hand)
{
    for (size_t k = 0; k < COUNT(cases); k++)
        check(&cases[k], 0, 0);
}

Test(judge, reductions)
{
    for (size_t k = 0; k < COUNT(reductions); k++)
        check(&reductions[k], 0, 0);
}

Test(judge, where_subnormals_are_zeros)
{
    for (size_t k = 0; k < COUNT(flushed); k++) {
        check(&flushed[k], 1, 0);
        check(&flushed[k], 0, 1);
    }
}
