/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the judge of words with operands and expressions takes, where several results are right, and
 * what it refuses: results worked out by hand.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "compare.h"
#include "fused.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define INF INFINITY

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
