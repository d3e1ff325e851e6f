/*
 * docs/semantics.md, section 5 (order, determinism, range), as far as it concerns cumsum and
 * cumprod: each test is named after its line. At every CPU level of this machine.
 */
#include <fenv.h>
#include <math.h>

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
    "cumsum:f32:100003:axis=0,acc=f64",  "cumprod:u64:70001:axis=0,in=-1@70000"
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

Test(order, line_5_4_range, .timeout = 300)
{
    static const tly_data data[] = { TLY_DATA_RANGE, TLY_DATA_GROW, TLY_DATA_DECAY, TLY_DATA_ZEROS,
                                     TLY_DATA_SPECIAL };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(large_words); k++)
        for (size_t n = 0; n < COUNT(data); n++)
            tly_trials_check(&t, large_words[k], data[n], 5 + n);
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
