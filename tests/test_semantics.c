/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/semantics.md, sections 2 to 4, as far as they concern cumsum and cumprod: each test is named
 * after its line. At every CPU level of this machine. Section 5 is test_order.c, line 2.5 with
 * real addresses large.c.
 */
#include <stdio.h>
#include <string.h>

#include "trials.h"

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
    static const verdict words[] = { { "cumsum:f32:1x1x1x1x1x1x1x1:axis=7", NULL },
                                     { "cumsum:f32:scalar:axis=0", "sizes" },
                                     { "cumsum:f32:1x1x1x1x1x1x1x1x1:axis=0", "sizes" },
                                     { "cumsum:f32:3:axis=1", "axis" },
                                     { "cumsum:f32:3:axis=-2", "axis" },
                                     { "cumsum:f32:3:axis=-1", NULL },
                                     { "cumsum:f32:3:axis=0,in=1x1", "in" } };
    tly_check_cases(cases, COUNT(cases));
    check_words(words, COUNT(words));
}

Test(semantics, line_2_2_distinct_output_addresses)
{
    static const verdict words[] = { { "cumsum:f32:2x3:axis=1,out=3x1", NULL },
                                     { "cumsum:f32:2x3:axis=1,out=2x1", "out" },
                                     { "cumsum:f32:2x3:axis=1,out=0x1", "out" },
                                     { "cumsum:f32:2x3:axis=1,out=1x2", NULL },
                                     { "cumsum:f32:2x3:axis=1,out=1x1", "out" },
                                     { "cumsum:f32:2x3:axis=1,out=-3x1@3", NULL },
                                     { "cumsum:f32:2x3:axis=1,out=-2x1@3", "out" },
                                     { "cumsum:f32:3:axis=0,out=0", "out" },
                                     { "cumsum:f32:1x3:axis=1,out=0x1", NULL },
                                     { "cumsum:f32:0x3:axis=1,out=0x0", NULL },
                                     { "cumsum:f32:2x2x2:axis=1,out=4x1x2", NULL },
                                     { "cumsum:f32:2x2x2:axis=1,out=3x1x2", "out" } };
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
    } cases[] = { { "cumsum:i32:8:axis=0", 0, 0, 1 },
                  { "cumsum:i32:8:axis=0", 0, 8, 1 },
                  { "cumsum:i32:8:axis=0", 8, 0, 1 },
                  { "cumsum:i32:8:axis=0", 0, 7, 0 },
                  { "cumsum:i32:8:axis=0", 7, 0, 0 },
                  { "cumsum:i32:8:axis=0", 0, 1, 0 },
                  { "cumsum:i32:8:axis=0,reverse", 4, 4, 1 },
                  { "cumsum:i32:8:axis=0,in=-1@7", 0, 0, 0 },
                  { "cumsum:i32:8:axis=0,in=-1@7,out=-1@7", 0, 0, 1 },
                  { "cumsum:i32:8:axis=0,in=1@1", 0, 0, 0 },
                  { "cumsum:i32:8:axis=0,in=1@8", 0, 0, 1 },
                  { "cumsum:i32:8:axis=0,in=2,out=2", 0, 1, 0 }, /* between each other's elements */
                  { "cumsum:i32:8:axis=0,in=2,out=2", 0, 0, 1 },
                  { "cumsum:i32:2x4:axis=0,in=1x2", 0, 0, 0 } };
    tly_levels levels;
    tly_require_levels(&levels);
    for (size_t k = 0; k < COUNT(cases); k++)
        check_overlap(&levels, cases[k].word, cases[k].in, cases[k].out, cases[k].right);
    tly_levels_close(&levels);
}

Test(semantics, line_2_4_no_byte_beyond)
{
    static const char *const words[] = { "cumsum:f32:1:axis=0",
                                         "cumsum:f32:7:axis=0",
                                         "cumprod:f16:1031:axis=0",
                                         "cumsum:bf16:5x33:axis=1,reverse",
                                         "cumprod:i32:3x7x5:axis=1",
                                         "cumsum:i64:19x21:axis=0",
                                         "cumsum:f64:13x37:axis=0,in=1x13",
                                         "cumsum:f32:50:axis=0,in=-3@147,out=2",
                                         "cumsum:u32:9x9:axis=1,out=11x1,exclusive",
                                         "cumsum:f32:40x17:axis=1,in=0x1" };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(words); k++)
        for (uint64_t seed = 1; seed <= 6; seed++)
            tly_trials_check(&t, words[k], TLY_DATA_EXACT, seed);
    tly_trials_close(&t);
}

/* Rows of a few whole vectors or steps: there a window, or the look-ahead of a first step that
 * is the last, would reach back to before the row. One kernel a layout and dtype, whatever the
 * size. */
Test(semantics, line_2_4_no_byte_beyond_short_rows, .timeout = 240)
{
    static const char *const dtypes[] = { "f64", "f32", "f16", "bf16", "i64" };
    static const struct {
        int in, out; /* steps; rows lie apart */
        const char *more;
    } layouts[] = {
        { 1, 1, "" }, { -1, 1, "" }, { 2, 1, "" }, { 1, 1, ",exclusive" }, { 1, -1, "" }
    };
    static const int sizes[] = { 5, 8, 16, 32, 33, 64 };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t l = 0; l < COUNT(layouts); l++)
            for (size_t n = 0; n < COUNT(sizes); n++) {
                const int size = sizes[n], in = layouts[l].in, out = layouts[l].out;
                char word[128];
                snprintf(word, sizeof word, "cumprod:%s:2x%d:axis=1,in=%dx%d@%d,out=%dx%d@%d%s",
                         dtypes[d], size, 2 * size + 3, in, in < 0 ? size - 1 : 0, size + 1, out,
                         out < 0 ? size - 1 : 0, layouts[l].more);
                tly_trials_check(&t, word, TLY_DATA_EXACT, n);
            }
    tly_trials_close(&t);
}

/* Dense rows, few of them and some: what a row's last vector has too much is the next row's, or
 * must not be touched. */
Test(semantics, line_2_4_no_byte_beyond_dense_rows, .timeout = 240)
{
    static const char *const dtypes[] = { "f32", "bf16" };
    static const int sizes[] = { 5, 9, 17, 64, 65, 131, 255, 257 }, rows[] = { 1, 3, 9 };
    static const char *const more[] = { "", ",exclusive,reverse" };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t n = 0; n < COUNT(sizes); n++)
            for (size_t r = 0; r < COUNT(rows); r++)
                for (size_t m = 0; m < COUNT(more); m++) {
                    char word[128];
                    snprintf(word, sizeof word, "cumprod:%s:%dx%d:axis=1%s", dtypes[d], rows[r],
                             sizes[n], more[m]);
                    tly_trials_check(&t, word, TLY_DATA_RANGE, n);
                }
    tly_trials_close(&t);
}

Test(semantics, line_2_5_sizes_that_no_int64_holds)
{
    static const verdict words[] = { { "cumsum:f32:3037000500x3037000500:axis=0", "sizes" },
                                     { "cumsum:f64:1152921504606846976:axis=0", "sizes" },
                                     { "cumsum:f32:3:axis=0,in=9223372036854775807", "in" },
                                     { "cumsum:f32:3:axis=0,out=4611686018427387904", "out" },
                                     { "cumsum:f32:4294967297x2:axis=1,in=0x1,out=2x1", NULL } };
    check_words(words, COUNT(words));
}

Test(semantics, line_2_6_size_zero)
{
    static const char *const words[] = { "cumsum:f32:0:axis=0", "cumprod:f64:0x5:axis=0",
                                         "cumsum:i32:5x0:axis=0,exclusive",
                                         "cumsum:f16:2x0x3:axis=2,reverse" };
    tly_levels levels;
    tly_require_levels(&levels);
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
    CHECK_SCANS({ "cumsum:f32", 3, "", "-0 1 2", "-0 1 3", NULL },
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
    CHECK_SCANS({ "cumprod:f32", 3, "", "1 2 3", "1 2 6", "1" },
                { "cumprod:f32", 3, ",exclusive", "1 2 3", "1 1 2", "1" },
                { "cumprod:f32", 3, ",reverse", "1 2 3", "6 6 3", "1" },
                { "cumprod:f32", 3, ",exclusive,reverse", "1 2 3", "6 3 1", "1" },
                { "cumprod:u64", 3, ",reverse", "1 2 3", "6 6 3", "1" },
                { "cumprod:f16", 3, ",exclusive,reverse", "1 2 3", "6 3 1", "1" },
                { "cumsum:i32", 4, ",reverse", "1 2 3 4", "10 9 7 4", "0" });
}

Test(semantics, line_3_3_identities)
{
    CHECK_SCANS({ "cumsum:f32", 2, "", "-0 -0", "-0 -0", "-0" },
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
    CHECK_SCANS({ "cumprod:f32", 4, "", "2 0 inf 3", "2 0 nan nan", "1" },
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
    tly_check_cases(cases, COUNT(cases));
    CHECK_SCANS({ "cumsum:f16", 3, "", "60000 60000 -60000", "60000 inf 60000", "0" },
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
        { "cumsum:i64", 2, "", "9223372036854775807 1", "9223372036854775807 -9223372036854775808",
          "0" },
        { "cumsum:u64", 2, "", "18446744073709551615 2", "18446744073709551615 1", "0" },
        { "cumprod:i64", 3, "", "4294967296 4294967297 -3", "4294967296 4294967296 -12884901888",
          "1" },
        { "cumprod:u64", 2, ",reverse", "4294967297 4294967297", "8589934593 4294967297", "1" },
        { "cumprod:i32", 2, "", "-2147483648 -1", "-2147483648 -2147483648", "1" });
}

Test(semantics, line_4_8_subnormals)
{
    CHECK_SCANS({ "cumprod:f32", 3, "", "0x1p-126 0.5 0.5", "0x1p-126 0x1p-127 0x1p-128", "1" },
                { "cumsum:f32", 2, "", "0x1p-149 0x1p-149", "0x1p-149 0x1p-148", "0" },
                { "cumprod:f64", 2, "", "0x1p-1022 0.25", "0x1p-1022 0x1p-1024", "1" },
                { "cumsum:f64", 2, "", "0x1p-1074 0x1p-1074", "0x1p-1074 0x1p-1073", "0" },
                { "cumsum:f16", 2, "", "0x1p-24 0x1p-24", "0x1p-24 0x1p-23", "0" },
                { "cumprod:f16", 2, "", "0x1p-14 0.5", "0x1p-14 0x1p-15", "1" },
                { "cumsum:bf16", 2, "", "0x1p-133 0x1p-133", "0x1p-133 0x1p-132", "0" });
}
