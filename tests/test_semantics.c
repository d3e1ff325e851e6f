/*
 * docs/semantics.md line by line, as far as it concerns cumsum and cumprod: each test is named
 * after its line. At every CPU level of this machine. Lines 3.x and 4.x are small cases that are
 * lifted to every way an axis can lie, and pushed by neutral elements over the borders of vectors,
 * blocks and chunks. Line 2.5 with real addresses is large.c.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "trial.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void open_levels(tly_levels *levels)
{
    char why[256];
    cr_assert(tly_levels_open(levels, why, sizeof why) == 0, "%s", why);
}

static void check_cases(const tly_case *cases, size_t count)
{
    tly_levels levels;
    char why[512];
    open_levels(&levels);
    for (size_t k = 0; k < count; k++)
        cr_expect(tly_case_run(&levels, &cases[k], why, sizeof why) == 0, "%s", why);
    tly_levels_close(&levels);
}

/* ---- one scan, lifted to many shapes ---- */

typedef struct scan_case {
    const char *kernel;   /* op:dtype */
    int length;
    const char *options;  /* with a leading comma; "" */
    const char *in, *out;
    const char *neutral;  /* may stand before the scan's start without a trace; NULL: nothing may */
} scan_case;

/* `before` neutral elements in scan order, then the case, `outer` times, each element `inner`
 * times side by side. */
typedef struct lift {
    int outer, inner, before;
} lift;

static const lift lifts[] = {
    { 1, 1, 0 }, { 7, 1, 0 }, { 1, 2, 0 }, { 1, 5, 0 }, { 3, 15, 0 }, { 1, 20, 0 }, { 3, 33, 0 },
    { 2, 300, 0 }, { 1, 1, 3 }, { 1, 1, 62 }, { 5, 1, 61 }, { 1, 1, 509 }, { 1, 1, 1021 },
    { 2, 1, 2046 }, { 1, 3, 680 }, { 1, 1, 16381 }, { 2, 1, 32765 }, { 1, 4, 8190 },
    { 1, 40, 300 }
};

enum { TEXT = 4096 };

static void repeat_elements(const char *text, int inner, char *to)
{
    char copy[TEXT], *rest = copy, *element;
    snprintf(copy, sizeof copy, "%s", text);
    *to = 0;
    while ((element = strsep(&rest, " ")) != NULL)
        to += sprintf(to, " %s*%d", element, inner);
}

static void lift_text(const scan_case *s, const lift *l, const char *text, int reverse, char *to)
{
    char elements[TEXT], pad[64] = "";
    repeat_elements(text, l->inner, elements);
    if (l->before)
        snprintf(pad, sizeof pad, " %s*%d", s->neutral, l->before * l->inner);
    *to = 0;
    for (int k = 0; k < l->outer; k++)
        to += sprintf(to, "%s%s", reverse ? elements : pad, reverse ? pad : elements);
}

static void check_scan(tly_levels *levels, const scan_case *s, const lift *l, const char *order)
{
    const int reverse = strstr(s->options, "reverse") != NULL;
    char word[160], in[4 * TEXT], out[4 * TEXT], why[512];
    const tly_case c = { word, in, out };

    if (l->before && !s->neutral)
        return;
    snprintf(word, sizeof word, "%s:%dx%dx%d:axis=1%s%s", s->kernel, l->outer,
             s->length + l->before, l->inner, s->options, order);
    lift_text(s, l, s->in, reverse, in);
    lift_text(s, l, s->out, reverse, out);
    cr_expect(tly_case_run(levels, &c, why, sizeof why) == 0, "%s", why);
}

static void check_scans(const scan_case *cases, size_t count)
{
    tly_levels levels;
    open_levels(&levels);
    for (size_t k = 0; k < count; k++)
        for (size_t n = 0; n < COUNT(lifts); n++) {
            check_scan(&levels, &cases[k], &lifts[n], "");
            if (lifts[n].before < 2000)
                check_scan(&levels, &cases[k], &lifts[n], ",order=serial");
        }
    tly_levels_close(&levels);
}

#define CHECK_SCANS(...) \
    do { \
        static const scan_case cases_[] = { __VA_ARGS__ }; \
        check_scans(cases_, COUNT(cases_)); \
    } while (0)

/* ---- words that must or must not be taken ---- */

typedef struct verdict {
    const char *word;
    const char *field; /* that the error names; NULL: the word is right */
} verdict;

static void check_words(const verdict *words, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        tally_error error = TALLY_ERROR_INIT;
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        tally_status status = tally_descriptor_parse(words[k].word, &d, &error);
        cr_expect((status == TALLY_OK) == (words[k].field == NULL), "%s: %s %s", words[k].word,
                  error.field, error.message);
        if (status && words[k].field)
            cr_expect(status == TALLY_INVALID && !strcmp(error.field, words[k].field), "%s: %s %s",
                      words[k].word, error.field, error.message);
    }
}

/* ---- trials: words with random data, run in every way ---- */

enum { MOST_BYTES = 16 << 20 };

typedef struct trials {
    tly_levels levels;
    tly_arena in, out;
} trials;

static void open_trials(trials *t)
{
    open_levels(&t->levels);
    cr_assert(tly_arena_open(&t->in, MOST_BYTES) == 0);
    cr_assert(tly_arena_open(&t->out, MOST_BYTES) == 0);
}

static void close_trials(trials *t)
{
    tly_levels_close(&t->levels);
    tly_arena_close(&t->in);
    tly_arena_close(&t->out);
}

static void check_trial(trials *t, const char *word, tly_data data, uint64_t seed)
{
    tly_trial trial = { .data = data, .plan = "", .random = tly_random_seed(seed, 0),
                        .in = &t->in, .out = &t->out };
    const tly_random start = trial.random;
    cr_assert(tally_descriptor_parse(word, &trial.d, NULL) == 0, "%s", word);
    for (size_t k = 0; k < t->levels.level_count; k++) {
        const char *level = t->levels.levels[k].selector + strlen("cpu:");
        tally_error error = TALLY_ERROR_INIT;
        tly_engine *engines[] = { tly_engine_library(t->levels.context, level, &error),
                                  tly_engine_native(t->levels.context, level, &error) };
        cr_assert(engines[0] && engines[1], "%s", error.message);
        trial.random = start;
        cr_expect(tly_trial_run(&trial, engines, 2) == 0, "%s, %s, %s data: %s", word, level,
                  tly_data_name(data), trial.why);
        engines[0]->close(engines[0]);
        engines[1]->close(engines[1]);
    }
}

/* ---- 2: tensors ---- */

Test(semantics, line_2_1_ranks_and_strides)
{
    static const tly_case cases[] = {
        { "cumsum:i32:3:axis=0", "1 2 3", "1 3 6" },
        { "cumsum:i32:2x3:axis=0", "1 2 3 4 5 6", "1 2 3 5 7 9" },
        { "cumsum:i32:1x2x1x3:axis=1", "1 2 3 4 5 6", "1 2 3 5 7 9" },
        { "cumsum:i32:1x1x1x2x1x1x3x1:axis=3", "1 2 3 4 5 6", "1 2 3 5 7 9" },
        { "cumsum:i32:2x1x2x1x2x1x1x2:axis=4", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
          "1 2 4 6 5 6 12 14 9 10 20 22 13 14 28 30" },
        { "cumsum:i32:5:axis=0,in=0", "3", "3 6 9 12 15" },
        { "cumprod:f32:3x4:axis=0,in=0x1", "1 2 3 4", "1 2 3 4 1 4 9 16 1 8 27 64" },
        { "cumprod:f32:5:axis=0,in=-1@4", "5 4 3 2 1", "1 2 6 24 120" },
        { "cumsum:i32:3:axis=0,in=2", "1 99 2 99 3", "1 3 6" },
        { "cumsum:i32:3:axis=0,in=2@7", "1 99 2 99 3", "1 3 6" },
        { "cumsum:i32:4x6:axis=0,in=1x4",
          "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24",
          "1 5 9 13 17 21 3 11 19 27 35 43 6 18 30 42 54 66 10 26 42 58 74 90" },
        { "cumsum:i32:2x2:axis=1,out=3x1", "1 2 3 4", "1 3 _ 3 7" },
        { "cumsum:i32:3:axis=0,out=-1", "1 2 3", "6 3 1" },
        { "cumsum:i32:3:axis=0,out=-2@4", "1 2 3", "6 _ 3 _ 1" },
        { "cumsum:i32:2x3:axis=1,out=1x2@-9", "1 2 3 4 5 6", "1 4 3 9 6 15" },
        { "cumsum:i32:2x2:axis=0,in=-3x-1,out=-3x-1", "4 3 99 2 1", "6 4 _ 2 1" }
    };
    static const verdict words[] = {
        { "cumsum:f32:1x1x1x1x1x1x1x1:axis=7", NULL },
        { "cumsum:f32:scalar:axis=0", "sizes" },
        { "cumsum:f32:1x1x1x1x1x1x1x1x1:axis=0", "sizes" },
        { "cumsum:f32:3:axis=1", "axis" }, { "cumsum:f32:3:axis=-2", "axis" },
        { "cumsum:f32:3:axis=-1", NULL }, { "cumsum:f32:3:axis=0,in=1x1", "in" }
    };
    check_cases(cases, COUNT(cases));
    check_words(words, COUNT(words));
}

Test(semantics, line_2_2_distinct_output_addresses)
{
    static const verdict words[] = {
        { "cumsum:f32:2x3:axis=1,out=3x1", NULL }, { "cumsum:f32:2x3:axis=1,out=2x1", "out" },
        { "cumsum:f32:2x3:axis=1,out=0x1", "out" }, { "cumsum:f32:2x3:axis=1,out=1x2", NULL },
        { "cumsum:f32:2x3:axis=1,out=1x1", "out" }, { "cumsum:f32:2x3:axis=1,out=-3x1@3", NULL },
        { "cumsum:f32:2x3:axis=1,out=-2x1@3", "out" }, { "cumsum:f32:3:axis=0,out=0", "out" },
        { "cumsum:f32:1x3:axis=1,out=0x1", NULL }, { "cumsum:f32:0x3:axis=1,out=0x0", NULL },
        { "cumsum:f32:2x2x2:axis=1,out=4x1x2", NULL },
        { "cumsum:f32:2x2x2:axis=1,out=3x1x2", "out" }
    };
    check_words(words, COUNT(words));
}

/* A buffer in which input and output may lie in any way; after a refusal it must be as it was. */
static void check_overlap(tly_levels *levels, const char *word, int64_t in, int64_t out, int right)
{
    int32_t buffer[64], before[64];
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_kernel *kernel = NULL;
    tally_error error = TALLY_ERROR_INIT;

    for (int32_t k = 0; k < 64; k++)
        before[k] = buffer[k] = k * k;
    cr_assert(tally_descriptor_parse(word, &d, NULL) == 0, "%s", word);
    cr_assert(tally_kernel_create(levels->context, &d, NULL, &kernel, &error) == 0, "%s: %s", word,
              error.message);
    tally_status status = tally_kernel_run(kernel, buffer + in, buffer + out, &error);
    cr_expect(status == (right ? TALLY_OK : TALLY_INVALID), "%s, %d, %d: %s", word, (int)in,
              (int)out, error.message);
    if (!right)
        cr_expect(memcmp(buffer, before, sizeof buffer) == 0, "%s: written", word);
    tally_kernel_destroy(&kernel);
}

Test(semantics, line_2_3_in_place_and_overlap)
{
    static const struct {
        const char *word;
        int64_t in, out;
        int right;
    } cases[] = {
        { "cumsum:i32:8:axis=0", 0, 0, 1 }, { "cumsum:i32:8:axis=0", 0, 8, 1 },
        { "cumsum:i32:8:axis=0", 8, 0, 1 }, { "cumsum:i32:8:axis=0", 0, 7, 0 },
        { "cumsum:i32:8:axis=0", 7, 0, 0 }, { "cumsum:i32:8:axis=0", 0, 1, 0 },
        { "cumsum:i32:8:axis=0,reverse", 4, 4, 1 }, { "cumsum:i32:8:axis=0,in=-1@7", 0, 0, 0 },
        { "cumsum:i32:8:axis=0,in=-1@7,out=-1@7", 0, 0, 1 },
        { "cumsum:i32:8:axis=0,in=1@1", 0, 0, 0 }, { "cumsum:i32:8:axis=0,in=1@8", 0, 0, 1 },
        { "cumsum:i32:8:axis=0,in=2,out=2", 0, 1, 0 }, /* between each other's elements */
        { "cumsum:i32:8:axis=0,in=2,out=2", 0, 0, 1 }, { "cumsum:i32:2x4:axis=0,in=1x2", 0, 0, 0 }
    };
    tly_levels levels;
    open_levels(&levels);
    for (size_t k = 0; k < COUNT(cases); k++)
        check_overlap(&levels, cases[k].word, cases[k].in, cases[k].out, cases[k].right);
    tly_levels_close(&levels);
}

Test(semantics, line_2_4_no_byte_beyond)
{
    static const char *const words[] = {
        "cumsum:f32:1:axis=0", "cumsum:f32:7:axis=0", "cumprod:f16:1031:axis=0",
        "cumsum:bf16:5x33:axis=1,reverse", "cumprod:i32:3x7x5:axis=1", "cumsum:i64:19x21:axis=0",
        "cumsum:f64:13x37:axis=0,in=1x13", "cumsum:f32:50:axis=0,in=-3@147,out=2",
        "cumsum:u32:9x9:axis=1,out=11x1,exclusive", "cumsum:f32:40x17:axis=1,in=0x1"
    };
    trials t;
    open_trials(&t);
    for (size_t k = 0; k < COUNT(words); k++)
        for (uint64_t seed = 1; seed <= 6; seed++)
            check_trial(&t, words[k], TLY_DATA_EXACT, seed);
    close_trials(&t);
}

Test(semantics, line_2_5_sizes_that_no_int64_holds)
{
    static const verdict words[] = {
        { "cumsum:f32:3037000500x3037000500:axis=0", "sizes" },
        { "cumsum:f64:1152921504606846976:axis=0", "sizes" },
        { "cumsum:f32:3:axis=0,in=9223372036854775807", "in" },
        { "cumsum:f32:3:axis=0,out=4611686018427387904", "out" },
        { "cumsum:f32:4294967297x2:axis=1,in=0x1,out=2x1", NULL }
    };
    check_words(words, COUNT(words));
}

Test(semantics, line_2_6_size_zero)
{
    static const char *const words[] = { "cumsum:f32:0:axis=0", "cumprod:f64:0x5:axis=0",
                                         "cumsum:i32:5x0:axis=0,exclusive",
                                         "cumsum:f16:2x0x3:axis=2,reverse" };
    tly_levels levels;
    open_levels(&levels);
    for (size_t k = 0; k < COUNT(words); k++) {
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        tally_kernel *kernel = NULL;
        tally_error error = TALLY_ERROR_INIT;
        uint64_t in = 1, out = 2;
        cr_assert(tally_descriptor_parse(words[k], &d, NULL) == 0);
        cr_assert(tally_kernel_create(levels.context, &d, NULL, &kernel, &error) == 0, "%s: %s",
                  words[k], error.message);
        cr_expect(tally_kernel_run(kernel, &in, &out, &error) == TALLY_OK, "%s", error.message);
        cr_expect(out == 2, "%s wrote", words[k]);
        tally_kernel_destroy(&kernel);
    }
    tly_levels_close(&levels);
}

/* ---- 3: scans ---- */

Test(semantics, line_3_1_inclusive_exclusive)
{
    CHECK_SCANS(
        { "cumsum:f32", 3, "", "-0 1 2", "-0 1 3", NULL },
        { "cumsum:f32", 1, "", "-0", "-0", NULL },
        { "cumprod:f32", 1, "", "-0", "-0", "1" },
        { "cumsum:f32", 3, ",exclusive", "1 2 nan", "0 1 3", "0" },
        { "cumsum:f32", 3, ",exclusive", "1 inf 2", "0 1 inf", "0" },
        { "cumsum:f16", 3, ",exclusive", "1 inf 2", "0 1 inf", "0" },
        { "cumsum:bf16", 3, ",exclusive", "1 2 nan", "0 1 3", "0" },
        { "cumprod:f64", 3, ",exclusive", "2 3 nan", "1 2 6", "1" },
        { "cumprod:i64", 3, ",exclusive", "2 3 0", "1 2 6", "1" },
        { "cumsum:u32", 3, ",exclusive,reverse", "7 2 3", "5 3 0", "0" });
}

Test(semantics, line_3_2_reverse)
{
    CHECK_SCANS(
        { "cumprod:f32", 3, "", "1 2 3", "1 2 6", "1" },
        { "cumprod:f32", 3, ",exclusive", "1 2 3", "1 1 2", "1" },
        { "cumprod:f32", 3, ",reverse", "1 2 3", "6 6 3", "1" },
        { "cumprod:f32", 3, ",exclusive,reverse", "1 2 3", "6 3 1", "1" },
        { "cumprod:u64", 3, ",reverse", "1 2 3", "6 6 3", "1" },
        { "cumprod:f16", 3, ",exclusive,reverse", "1 2 3", "6 3 1", "1" },
        { "cumsum:i32", 4, ",reverse", "1 2 3 4", "10 9 7 4", "0" });
}

Test(semantics, line_3_3_identities)
{
    CHECK_SCANS(
        { "cumsum:f32", 2, "", "-0 -0", "-0 -0", "-0" },
        { "cumsum:f32", 2, ",exclusive", "-0 -0", "0 0", NULL },
        { "cumsum:f64", 2, "", "-0 -0", "-0 -0", "-0" },
        { "cumsum:f16", 2, "", "-0 -0", "-0 -0", "-0" },
        { "cumsum:bf16", 2, ",reverse", "-0 -0", "-0 -0", "-0" },
        { "cumsum:f64", 2, ",exclusive,reverse", "-0 -0", "0 0", NULL },
        { "cumprod:f32", 2, "", "-0 -0", "-0 0", "1" },
        { "cumprod:f32", 2, ",exclusive", "-0 3", "1 -0", "1" },
        { "cumprod:i32", 1, ",exclusive", "7", "1", "1" });
}

Test(semantics, line_3_4_inf_and_nan)
{
    CHECK_SCANS(
        { "cumprod:f32", 4, "", "2 0 inf 3", "2 0 nan nan", "1" },
        { "cumprod:f64", 4, "", "2 0 inf 3", "2 0 nan nan", "1" },
        { "cumprod:f16", 4, "", "2 0 inf 3", "2 0 nan nan", "1" },
        { "cumprod:bf16", 4, "", "2 0 inf 3", "2 0 nan nan", "1" },
        { "cumsum:f32", 3, "", "inf -inf 1", "inf nan nan", "0" },
        { "cumsum:f64", 3, "", "inf -inf 1", "inf nan nan", "0" },
        { "cumsum:f16", 3, "", "inf -inf 1", "inf nan nan", "0" },
        { "cumsum:bf16", 3, ",reverse", "1 -inf inf", "nan nan inf", "0" });
}

/* ---- 4: arithmetic ---- */

Test(semantics, line_4_1_accumulators)
{
    static const tly_case cases[] = {
        { "cumsum:f16:4096:axis=0", "1*4096", "1 2 3 ?*4092 4096" },
        { "cumsum:f16:4096x20:axis=0", "1*81920", "1*20 2*20 ?*81860 4096*20" },
        { "cumsum:f16:4096x3:axis=0", "1*12288", "1*3 2*3 ?*12279 4096*3" },
        { "cumsum:bf16:512:axis=0", "1*512", "?*255 256 256 258 ?*253 512" },
        { "cumsum:bf16:3x512:axis=1", "1*1536",
          "?*255 256 256 258 ?*253 512 ?*255 256 256 258 ?*253 512 ?*255 256 256 258 ?*253 512" },
        { "cumsum:bf16:512x17:axis=0", "1*8704", "?*4335 256*17 256*17 258*17 ?*4301 512*17" },
        /* in f32 the sum of 2^24 and ones stands still */
        { "cumsum:f32:4:axis=0,order=serial", "16777216 1 1 1", "16777216*4" },
        { "cumsum:f32:4:axis=0,acc=f64", "16777216 1 1 1", "16777216 16777216 16777218 16777220" },
        { "cumsum:f32:4x20:axis=0,acc=f64", "16777216*20 1*60",
          "16777216*40 16777218*20 16777220*20" },
        /* f64 to f16 and bf16 in one rounding: by way of f32 the first would be 1 */
        { "cumsum:f16:3:axis=0,acc=f64", "1 0x1p-11 0x1p-24", "1 1 0x1.004p0" },
        { "cumprod:bf16:2:axis=0,acc=f64", "1.5 1.5", "1.5 2.25" }
    };
    check_cases(cases, COUNT(cases));
    CHECK_SCANS(
        { "cumsum:f16", 3, "", "60000 60000 -60000", "60000 inf 60000", "0" },
        { "cumprod:f16", 3, "", "256 256 0x1p-10", "256 inf 64", "1" },
        { "cumprod:f16", 3, ",acc=f64", "256 256 0x1p-10", "256 inf 64", "1" },
        { "cumprod:f16", 3, "", "0x1p-14 0x1p-14 0x1p14", "0x1p-14 0 0x1p-14", "1" },
        { "cumprod:f32", 3, ",acc=f64", "1e30 1e30 1e-30", "~1e30 inf ~1e30", "1" },
        { "cumsum:f16", 2, "", "2048 1", "2048 2048", "0" },
        { "cumsum:f16", 2, "", "2050 1", "2050 2052", "0" });
}

Test(semantics, line_4_2_integers_wrap)
{
    CHECK_SCANS(
        { "cumprod:i32", 3, "", "65536 65536 3", "65536 0 0", "1" },
        { "cumprod:u32", 3, "", "65536 65537 3", "65536 65536 196608", "1" },
        { "cumsum:i32", 3, "", "2147483647 1 -1", "2147483647 -2147483648 2147483647", "0" },
        { "cumsum:u32", 2, "", "4294967295 2", "4294967295 1", "0" },
        { "cumsum:i64", 2, "", "9223372036854775807 1",
          "9223372036854775807 -9223372036854775808", "0" },
        { "cumsum:u64", 2, "", "18446744073709551615 2", "18446744073709551615 1", "0" },
        { "cumprod:i64", 3, "", "4294967296 4294967297 -3", "4294967296 4294967296 -12884901888",
          "1" },
        { "cumprod:u64", 2, ",reverse", "4294967297 4294967297", "8589934593 4294967297", "1" },
        { "cumprod:i32", 2, "", "-2147483648 -1", "-2147483648 -2147483648", "1" });
}

Test(semantics, line_4_8_subnormals)
{
    CHECK_SCANS(
        { "cumprod:f32", 3, "", "0x1p-126 0.5 0.5", "0x1p-126 0x1p-127 0x1p-128", "1" },
        { "cumsum:f32", 2, "", "0x1p-149 0x1p-149", "0x1p-149 0x1p-148", "0" },
        { "cumprod:f64", 2, "", "0x1p-1022 0.25", "0x1p-1022 0x1p-1024", "1" },
        { "cumsum:f64", 2, "", "0x1p-1074 0x1p-1074", "0x1p-1074 0x1p-1073", "0" },
        { "cumsum:f16", 2, "", "0x1p-24 0x1p-24", "0x1p-24 0x1p-23", "0" },
        { "cumprod:f16", 2, "", "0x1p-14 0.5", "0x1p-14 0x1p-15", "1" },
        { "cumsum:bf16", 2, "", "0x1p-133 0x1p-133", "0x1p-133 0x1p-132", "0" });
}

/* ---- 5: order ---- */

/* One word for each way an axis can lie, large enough for several threads. */
static const char *const large_words[] = {
    "cumsum:f32:150001:axis=0", "cumprod:f32:150001:axis=0,exclusive", "cumprod:f64:3x30011:axis=1",
    "cumsum:f16:200003:axis=0,reverse", "cumprod:bf16:2x90001:axis=1", "cumprod:f32:700x130:axis=1",
    "cumprod:f32:30000x9:axis=1", "cumsum:f32:300x517:axis=0", "cumprod:f32:5x200x131:axis=1",
    "cumprod:f32:50001x3:axis=0", "cumsum:f64:20000x7:axis=0,reverse",
    "cumprod:f32:400x401:axis=1,in=1x400", "cumsum:f32:90001:axis=0,in=2",
    "cumprod:i32:170001:axis=0", "cumsum:f32:100003:axis=0,acc=f64",
    "cumprod:u64:70001:axis=0,in=-1@70000"
};

Test(semantics, line_5_1_run, .timeout = 240)
{
    trials t;
    open_trials(&t);
    for (size_t k = 0; k < COUNT(large_words); k++) {
        check_trial(&t, large_words[k], TLY_DATA_SIGNED, 1);
        check_trial(&t, large_words[k], TLY_DATA_BENIGN, 2);
    }
    close_trials(&t);
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

Test(semantics, line_5_1_host_threads, .timeout = 240)
{
    static const tally_parallel_for hosts[] = { one_after_another, last_first };
    trials t;
    open_trials(&t);
    for (size_t h = 0; h < COUNT(hosts); h++) {
        const tally_context_options options = { .size = sizeof options, .threads = 4,
                                                .parallel = hosts[h] };
        tally_context *host = NULL, *own = t.levels.context;
        cr_assert(tally_context_create(&options, &host, NULL) == 0);
        t.levels.context = host;
        for (size_t k = 0; k < COUNT(large_words); k += 2)
            check_trial(&t, large_words[k], TLY_DATA_SIGNED, 3);
        t.levels.context = own;
        tally_context_destroy(&host);
    }
    close_trials(&t);
}

Test(semantics, line_5_3_serial, .timeout = 240)
{
    static const char *const words[] = {
        "cumsum:f32:70001:axis=0,order=serial", "cumprod:f64:5x3001:axis=1,order=serial",
        "cumprod:f16:40001:axis=0,reverse,order=serial", "cumsum:bf16:9x999:axis=1,order=serial",
        "cumsum:f32:3001x5:axis=0,order=serial", "cumprod:f32:200x301:axis=0,order=serial",
        "cumsum:f32:300x299:axis=1,in=1x300,order=serial", "cumprod:f32:5000x8:axis=1,order=serial",
        "cumsum:f32:50001:axis=0,acc=f64,exclusive,order=serial"
    };
    trials t;
    open_trials(&t);
    for (size_t k = 0; k < COUNT(words); k++)
        for (int data = 0; data < TLY_DATA_COUNT; data++)
            check_trial(&t, words[k], (tly_data)data, 4);
    close_trials(&t);
}

Test(semantics, line_5_4_range_examples, .timeout = 240)
{
    CHECK_SCANS(
        { "cumprod:f32", 5, "", "1e-30 1e10 1e10 1e10 1e10", "~1e-30 ~1e-20 ~1e-10 ~1 ~1e10",
          "1" },
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

Test(semantics, line_5_4_range, .timeout = 300)
{
    static const tly_data data[] = { TLY_DATA_RANGE, TLY_DATA_GROW, TLY_DATA_DECAY,
                                     TLY_DATA_ZEROS, TLY_DATA_SPECIAL };
    trials t;
    open_trials(&t);
    for (size_t k = 0; k < COUNT(large_words); k++)
        for (size_t n = 0; n < COUNT(data); n++)
            check_trial(&t, large_words[k], data[n], 5 + n);
    close_trials(&t);
}
