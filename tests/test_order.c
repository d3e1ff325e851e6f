/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/semantics.md, section 5 (order, determinism, range), as far as it concerns cumsum and
 * cumprod: each test is named after its line. At every CPU level of this machine.
 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "trials.h"

/* One word for each way an axis can lie, large enough for several threads. */
static const char *const large_words[] = {
    "cumsum:f32:150001:axis=0",          "cumprod:f32:150001:axis=0,exclusive",
    "cumprod:f64:3x30011:axis=1",        "cumsum:f16:200003:axis=0,reverse",
    "cumprod:bf16:2x90001:axis=1",       "cumprod:f32:700x130:axis=1",
    "cumprod:f32:30000x9:axis=1",        "cumsum:f32:300x517:axis=0",
    "cumprod:f32:5x200x131:axis=1",      "cumprod:f32:50001x3:axis=0",
    "cumsum:f64:20000x7:axis=0,reverse", "cumprod:f32:400x401:axis=1,in=1x400",
    "cumsum:f32:90001:axis=0,in=2",      "cumprod:i32:170001:axis=0",
    "cumsum:f32:100003:axis=0,acc=f64",  "cumprod:u64:70001:axis=0,in=-1@70000",
    "cumsum:i32:50001x3:axis=0",         "cummax:f32:30001x5:axis=0,reverse,exclusive",
    "cumsum:i64:9001x15:axis=0",         "cumprod:u32:2x40001x2:axis=1,exclusive",
    "cummin:f64:15001x7:axis=0",         "cumsum:i8>i32:20001x10:axis=0",
    "cumsum:f32:50001x3:axis=0",         "cumsum:f32:2x40001x2:axis=1,exclusive",
    "cumsum:bf16:20001x7:axis=0"
};

Test(order, line_5_1_run, .timeout = 240)
{
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(large_words); k++) {
        tly_trials_check(&t, large_words[k], TLY_DATA_SIGNED, 1);
        tly_trials_check(&t, large_words[k], TLY_DATA_BENIGN, 2);
    }
    tly_trials_close(&t);
}

static void one_after_another(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    (void)user;
    for (int64_t k = 0; k < count; k++)
        task(state, k);
}

static void last_first(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    (void)user;
    while (count--)
        task(state, count);
}

Test(order, line_5_1_host_threads, .timeout = 240)
{
    static const tally_parallel_for hosts[] = { one_after_another, last_first };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t h = 0; h < COUNT(hosts); h++) {
        const tally_context_options options = { .size = sizeof options,
                                                .threads = 4,
                                                .parallel = hosts[h] };
        tally_context *host = NULL, *own = t.levels.context;
        cr_assert(tally_context_create(&options, &host, NULL) == 0);
        t.levels.context = host;
        for (size_t k = 0; k < COUNT(large_words); k += 2)
            tly_trials_check(&t, large_words[k], TLY_DATA_SIGNED, 3);
        t.levels.context = own;
        tally_context_destroy(&host);
    }
    tly_trials_close(&t);
}

Test(order, line_5_3_serial, .timeout = 240)
{
    static const char *const words[] = { "cumsum:f32:70001:axis=0,order=serial",
                                         "cumprod:f64:5x3001:axis=1,order=serial",
                                         "cumprod:f16:40001:axis=0,reverse,order=serial",
                                         "cumsum:bf16:9x999:axis=1,order=serial",
                                         "cumsum:f32:3001x5:axis=0,order=serial",
                                         "cumprod:f32:200x301:axis=0,order=serial",
                                         "cumsum:f32:300x299:axis=1,in=1x300,order=serial",
                                         "cumprod:f32:5000x8:axis=1,order=serial",
                                         "cumsum:f32:50001:axis=0,acc=f64,exclusive,order=serial" };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(words); k++)
        for (int data = 0; data < TLY_DATA_COUNT; data++)
            tly_trials_check(&t, words[k], (tly_data)data, 4);
    tly_trials_close(&t);
}

Test(order, line_5_4_range_examples, .timeout = 240)
{
    CHECK_SCANS(
        { "cumprod:f32", 5, "", "1e-30 1e10 1e10 1e10 1e10", "~1e-30 ~1e-20 ~1e-10 ~1 ~1e10", "1" },
        { "cumprod:f32", 5, "", "0 1e10 1e10 1e10 1e10", "0 0 0 0 0", "1" },
        { "cumprod:f32", 6, "", "1e30 1e-10 1e-10 1e-10 1e-10 1e-10",
          "~1e30 ~1e20 ~1e10 ~1 ~1e-10 ~1e-20", "1" },
        { "cumsum:f32", 3, "", "-3e38 3e38 3e38", "~-3e38 0 ~3e38", "0" },
        { "cumprod:bf16", 5, "", "0 1e10 1e10 1e10 1e10", "0 0 0 0 0", "1" },
        { "cumprod:f64", 5, "", "1e-300 1e100 1e100 1e100 1e100",
          "~1e-300 ~1e-200 ~1e-100 ~1 ~1e100", "1" },
        { "cumsum:f64", 3, ",reverse", "1.7e308 1.7e308 -1.7e308", "~1.7e308 0 ~-1.7e308", "0" },
        { "cumprod:f32", 5, ",exclusive", "1e-30 1e10 1e10 1e10 1e10", "1 ~1e-30 ~1e-20 ~1e-10 ~1",
          "1" },
        { "cumprod:f32", 4, "", "-1e-30 -1e-30 inf 2", "~-1e-30 0 nan nan", "1" });
}

/* Elements 4 and 5 alone underflow, which is no sign that the scan came to nothing in that step;
 * and with 6 it does, whatever 7 makes of it. Beside each other, so that they share vectors. */
Test(order, line_5_4_parts_that_underflow)
{
#define FOUR(x) x " " x " " x " " x " "
    static const tly_case cases[] = {
        { "cumprod:f32:12x4:axis=0",
          FOUR("1e27") FOUR("8e-14") FOUR("-5e-26") FOUR("2e34") FOUR("-4e-26") FOUR("5e-29")
              FOUR("3e-18") FOUR("-1.6e27") FOUR("-4e32") FOUR("1e30") FOUR("1") FOUR("1"),
          FOUR("~1e27") FOUR("~8e13") FOUR("~-4e-12") FOUR("~-8e22") FOUR("~3.2e-3")
              FOUR("~1.6e-31") FOUR("0") FOUR("-0") FOUR("0") FOUR("0") FOUR("0") FOUR("0") },
    };
    tly_check_cases(cases, COUNT(cases));
#undef FOUR
}

/* In the order of memory they overflow. */
Test(order, line_5_4_sums_backwards)
{
    static const tly_case cases[] = {
        { "sum:f32:3x2:axes=0,in=-2x1@4", "3e38 1 3e38 1 -3e38 1", "~3e38 3" },
        { "sum:f32:3:axes=0,in=-1@2", "3e38 3e38 -3e38", "~3e38" },
        { "sum:f64:2x2x2:axes=0+1,in=-4x-2x1@6", "1.7e308 1 1.7e308 1 1 1 -1.7e308 1",
          "~1.7e308 4" },
        { "mean:f32:4x1x2:axes=0,in=-2x2x1@6", "3e38 2 3e38 2 -1e38 2 -3e38 2", "~5e37 2" },
        { "sum:f32:3x2:axes=0,in=-2x1@4", "3e38 1 3e38 1 -inf 1", "-inf 3" },
    };
    tly_check_cases(cases, COUNT(cases));
}

Test(order, line_5_4_range, .timeout = 300)
{
    static const tly_data data[] = { TLY_DATA_RANGE, TLY_DATA_GROW, TLY_DATA_DECAY, TLY_DATA_ZEROS,
                                     TLY_DATA_SPECIAL };
    CHECK_WORDS(large_words, data, 5);
}

/* A scan on its way: where it is, how far an element takes it at most, and where it turns, all
 * exponents of 2. */
typedef struct walk {
    int64_t exponent, most;
    int64_t turns[3];
    int leg;
} walk;

/* The exponent of the walk's next element. */
static int64_t walk_on(walk *w, tly_random *r)
{
    if (w->leg == 3)
        return 0;
    int64_t left = w->turns[w->leg] - w->exponent, size = left < 0 ? -left : left;
    int64_t by = tly_random_between(r, 1, w->most);
    by = by < size ? by : size;
    w->leg += by == size;
    w->exponent += left < 0 ? -by : by;
    return left < 0 ? -by : by;
}

/* Of results that are narrower than their accumulators. */
typedef struct narrow {
    const char *dtype, *more;
    int64_t zero, end, most; /* exponents: below all accumulators, of the output's end, of a step */
} narrow;

enum { SCANS = 180, LONGEST = 256 };

static void fill_walks(const narrow *c, const tally_descriptor *d, tly_random *r, void *in)
{
    const int64_t inner = d->rank == 3 ? d->sizes[2] : 1, length = d->sizes[1];
    for (int64_t s = 0; s < SCANS; s++) {
        walk w = { 0, c->most, { c->zero - tly_random_below(r, 10), c->end, c->zero - 100 }, 0 };
        for (int64_t i = 0; i < length; i++) {
            const int64_t k = d->flags & TALLY_REVERSE ? length - 1 - i : i;
            const double x = i == 0   ? 1.0078125 /* with the next almost 2 */
                             : i == 1 ? 1.984375
                                      : ldexp(1, (int)walk_on(&w, r));
            const int64_t at = s / inner * length * inner + k * inner + s % inner;
            tly_bits_store((tally_dtype)d->dtype, in, at, tly_encode((tally_dtype)d->dtype, x));
        }
    }
}

/* Scans that fall below all normal numbers of the accumulator, where the plain loop stays, but some
 * of the lanes that share its work may not; climb to where the output ends, but not the
 * accumulator; and fall again. */
static void check_narrow(tly_trials *t, const narrow *c, const char *sizes, tly_random *random)
{
    static const char *const plans[] = { "", "careful=1", "scan=1" };
    static double in[SCANS * LONGEST], out[SCANS * LONGEST];
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    char word[96];
    snprintf(word, sizeof word, "cumprod:%s:%s%s", c->dtype, sizes, c->more);
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    fill_walks(c, &d, random, in);
    for (size_t k = 0; k < t->levels.level_count * COUNT(plans); k++) {
        const tally_device *device = &t->levels.levels[k / COUNT(plans)];
        const tally_kernel_options options = { .size = sizeof options,
                                               .device = device->selector,
                                               .plan = plans[k % COUNT(plans)] };
        tally_error error = TALLY_ERROR_INIT;
        tally_kernel *kernel = NULL;
        tly_verdict verdict;
        tally_status status = tally_kernel_create(t->levels.context, &d, &options, &kernel, &error);
        if (status != TALLY_OK) { /* not every template's key, nor every device's dtype */
            cr_expect(*options.plan || tly_refusal_is_right(device, &d, status, &error), "%s: %s",
                      word, error.message);
            continue;
        }
        cr_assert_eq(tally_kernel_run(kernel, in, out, NULL), TALLY_OK);
        cr_expect_eq(tly_judge(&d, in, out, tly_target_flushes(device), &verdict), 0,
                     "%s, %s, %s: %lld wrong, %s", word, options.device, options.plan,
                     (long long)verdict.wrong, verdict.reason);
        tally_kernel_destroy(&kernel);
    }
}

Test(order, line_5_4_narrow_output, .timeout = 240)
{
    static const narrow cases[] = { { "f16", "", -150, 15, 13 },
                                    { "bf16", "", -150, 127, 15 },
                                    { "f32", ",acc=f64", -1075, 128, 120 },
                                    { "bf16", ",acc=f64", -1075, 127, 120 },
                                    { "f16", ",acc=f64", -1075, 15, 14 } };
    static const char *const sizes[] = { "180x256:axis=1", "180x256:axis=1,reverse",
                                         "180x256:axis=1,exclusive", "60x256x3:axis=1",
                                         "180x200:axis=1" };
    tly_random random = tly_random_seed(1, 0);
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(cases); k++)
        for (size_t s = 0; s < COUNT(sizes); s++)
            check_narrow(&t, &cases[k], sizes[s], &random);
    tly_trials_close(&t);
}

/* A total may be made of a segment whose results are there already: in place its input is not. */
Test(order, line_2_3_totals_in_place, .timeout = 240)
{
    static const char *const plans[] = { "", "careful=1", "scan=1" };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(plans); k++) {
        tly_trials_check_plan(&t, "cumsum:f64:40000:axis=0", plans[k], TLY_DATA_EXACT, 3);
        tly_trials_check_plan(&t, "cumprod:f32:40000:axis=0,reverse", plans[k], TLY_DATA_DECAY, 4);
    }
    tly_trials_close(&t);
}

/* A long row that underflows and overflows leaves the host's flags and traps as they were, and no
 * trap of the host's is sprung (docs/range.md). */
Test(order, line_5_4_flags_of_the_host)
{
    enum { LENGTH = 3000 };
    static float x[LENGTH], y[LENGTH];
    static const int raised[] = { 0, FE_OVERFLOW | FE_DIVBYZERO }, traps[] = { 0, FE_ALL_EXCEPT };
    tly_trials t;
    tally_descriptor d;
    tally_kernel *kernel = NULL;
    for (int i = 0; i < LENGTH; i++)
        x[i] = i < LENGTH / 2 ? 2.5f : .3f;
    tly_trials_open(&t);
    cr_assert_eq(tally_descriptor_parse("cumprod:f32:3000:axis=0", &d, NULL), TALLY_OK);
    cr_assert_eq(tally_kernel_create(t.levels.context, &d, NULL, &kernel, NULL), TALLY_OK);
    for (size_t r = 0; r < COUNT(raised); r++)
        for (size_t k = 0; k < COUNT(traps); k++) {
            feclearexcept(FE_ALL_EXCEPT);
            feraiseexcept(raised[r]);
            if (traps[k])
                feenableexcept(FE_UNDERFLOW | FE_INVALID); /* what is raised cannot trap yet */
            const int before = fegetexcept();
            cr_expect_eq(tally_kernel_run(kernel, x, y, NULL), TALLY_OK);
            cr_expect_eq(fetestexcept(FE_ALL_EXCEPT), raised[r]);
            cr_expect_eq(fegetexcept(), before);
            fedisableexcept(FE_ALL_EXCEPT);
        }
    cr_expect(isinf(y[LENGTH - 1]));
    tally_kernel_destroy(&kernel);
    tly_trials_close(&t);
}

/* Subnormal results are kept, bit for bit where they are exact (docs/range.md says down to where),
 * and what comes after them is finite, also where the row grows again. */
Test(order, line_4_8_subnormal_results, .timeout = 120)
{
    enum { LENGTH = 1100, LEAST = 143 };
    static const char *const words[] = {
        "cumprod:f32:128:axis=0",          "cumprod:f32:1100:axis=0",
        "cumprod:f32:3x300:axis=1",        "cumprod:f32:1100:axis=0,exclusive",
        "cumprod:f32:1100:axis=0,reverse", "cumprod:f32:3x200:axis=1"
    };
    static float x[LENGTH], y[LENGTH];
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(words); k++) {
        tally_descriptor d;
        cr_assert_eq(tally_descriptor_parse(words[k], &d, NULL), TALLY_OK);
        const int length = k == 0 ? 128 : k == 2 ? 300 : k == 5 ? 200 : LENGTH;
        const int rows = k == 2 || k == 5 ? 3 : 1;
        for (int i = 0; i < rows * length; i++) {
            const int at = k == 4 ? length - 1 - i % length : i % length;
            x[i] = at < 200 ? -.5f : 8;
        }
        for (int l = 0; l < (int)t.levels.level_count; l++) {
            const tally_device *device = &t.levels.levels[l];
            const tally_kernel_options options = { .size = sizeof options,
                                                   .device = device->selector };
            if (!strcmp(device->kind, "vulkan")) /* some flush */
                continue;
            tally_kernel *kernel = NULL;
            cr_assert_eq(tally_kernel_create(t.levels.context, &d, &options, &kernel, NULL),
                         TALLY_OK);
            cr_assert_eq(tally_kernel_run(kernel, x, y, NULL), TALLY_OK);
            for (int i = 0; i < rows * length; i++) {
                const int at = k == 4 ? length - 1 - i % length : i % length;
                const int power = at + (k != 3);
                cr_expect(isfinite(y[i]), "%s, level %d: [%d] is %g", words[k], l, i, y[i]);
                if (power <= LEAST)
                    cr_expect_eq(y[i], ldexpf(power % 2 ? -1 : 1, -power), "%s, level %d: [%d]",
                                 words[k], l, i);
            }
            tally_kernel_destroy(&kernel);
        }
    }
    tly_trials_close(&t);
}
