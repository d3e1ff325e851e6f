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

Test(judge, by_hand)
{
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const judged *c = &cases[k];
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        double in[MOST], out[MOST];
        tly_verdict verdict;
        cr_assert_eq(tally_descriptor_parse(c->word, &d, NULL), TALLY_OK);
        const tally_dtype dtype = (tally_dtype)d.dtype;
        for (int i = 0; i < MOST; i++) {
            tly_bits_store(dtype, in, i, tly_encode(dtype, c->in[i]));
            tly_bits_store(dtype, out, i, tly_encode(dtype, c->out[i]));
        }
        const int64_t wrong = tly_judge(&d, in, out, 0, &verdict);
        const char *why = verdict.reason ? verdict.reason : "right";
        cr_expect_eq(wrong, c->wrong, "case %zu, %s: %lld wrong, %s", k, c->word, (long long)wrong,
                     why);
        cr_expect(strstr(why, c->why ? c->why : "right"), "case %zu, %s: %s", k, c->word, why);
    }
}
