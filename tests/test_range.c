/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Means, norms and logarithms whose sums leave the range: by every template, in order=serial too,
 * with the same bits whatever flags the host had raised, on however many threads; and means of more
 * integers than 2^32. Cases of a few elements are in data/semantics_reductions.def, others are
 * drawn at random.
 */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "trials.h"

Test(range, line_4_7_every_template, .timeout = 240)
{
    static const char *const words[] = {
        "l2:f32:70001:axes=0",
        "l2:f32:9x300:axes=1",
        "l2:f32:37x20:axes=1",
        "l2:f64:37x3:axes=1",
        "l2:bf16:37x40x20:axes=0+2",
        "l2:f32:70x37:axes=0",
        "l2:f64:9001x67:axes=0,in=0x1",
        "l2:f32:9001x3:axes=0",
        "l2:f32:3x300:axes=1,in=-300x-1@899",
        "l2:f32:300x4:axes=0,in=8x2",
        "l2:f32:9x300:axes=1,order=serial",
        "l2:f64:40x37:axes=0,order=serial",
        "l2:f32:9x60:axes=1,acc=f64",
        "mean:f32:70001:axes=0",
        "mean:f64:37x20:axes=1",
        "mean:bf16:70x37:axes=0",
        "mean:f32:9001x3:axes=0",
        "mean:f32:9x300:axes=1,order=serial",
        "mean:f64:40x37:axes=0,order=serial",
        "log_sum:f32:70001:axes=0",
        "log_sum:bf16:37x20:axes=1",
        "log_sum:f64:70x37:axes=0",
        "log_sum:f32:9001x3:axes=0",
        "log_sum:f32:40x37:axes=0,order=serial",
        "mean:i64:70001:axes=0",
        "mean:u64:37x20:axes=1",
        "mean:i64:37x40x3:axes=0+2",
        "mean:u64:70x37:axes=0",
        "mean:i64:9001x3:axes=0",
        "mean:i64:9x300:axes=1,order=serial",
        "mean:i32:9x300:axes=1,order=serial",
        "l2:i64:9x300:axes=1",
        "l2:u32:70x37:axes=0",
    };
    static const tly_data data[] = { TLY_DATA_SCALED, TLY_DATA_MIXED, TLY_DATA_CANCEL };
    CHECK_WORDS(words, data, 0);
    CHECK_WORDS(words, data, 7);
}

/* ---- flags that were raised before ---- */

static tally_kernel *make(const tly_levels *levels, size_t level, const char *word)
{
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = levels->levels[level].selector };
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s", error.message);
    cr_assert_eq(tally_kernel_create(levels->context, &d, &options, &kernel, &error), TALLY_OK,
                 "%s: %s", word, error.message);
    return kernel;
}

/* Lines of zeros, of tiny and huge numbers and of others, line by line or side by side. */
static void fill(float *x, int64_t lines, int64_t length, int side_by_side)
{
    static const float sizes[] = { 0, 1, 1e-25f, 1e25f, 1e-17f, 0 };
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < length; k++)
            x[side_by_side ? k * lines + i : i * length + k] = sizes[i % (int64_t)COUNT(sizes)] *
                                                               (float)(1 + (i + 3 * k) % 7);
}

Test(range, line_5_1_flags_and_threads, .timeout = 120)
{
    enum { MOST = 120000 };
    static const struct {
        const char *word;
        int lines, length, side_by_side;
    } cases[] = {
        { "l2:f32:100x40:axes=1", 100, 40, 0 },
        { "l2:f32:60x400:axes=1", 60, 400, 0 },
        { "l2:f32:6x20000:axes=1", 6, 20000, 0 },
        { "l2:f32:200x6:axes=0", 6, 200, 1 },
        { "l2:f32:20000x6:axes=0", 6, 20000, 1 },
        { "l2:f32:1000x70:axes=0", 70, 1000, 1 },
        { "l2:f32:100x40:axes=1,order=serial", 100, 40, 0 },
        { "mean:f32:60x400:axes=1", 60, 400, 0 },
        { "log_sum:f32:1000x70:axes=0", 70, 1000, 1 },
    };
    static const int raised[] = { 0, FE_UNDERFLOW, FE_UNDERFLOW | FE_OVERFLOW };
    static float x[MOST], first[100], y[100];
    tly_levels levels;
    tly_require_levels(&levels);
    for (size_t k = 0; k < COUNT(cases); k++) {
        const size_t bytes = sizeof *y * (size_t)cases[k].lines;
        fill(x, cases[k].lines, cases[k].length, cases[k].side_by_side);
        for (size_t l = 0; l < levels.level_count; l++) {
            if (strcmp(levels.levels[l].kind, "cpu") != 0)
                continue;
            tally_kernel *kernel = make(&levels, l, cases[k].word);
            for (size_t r = 0; r < 3 * COUNT(raised); r++) {
                feclearexcept(FE_ALL_EXCEPT);
                feraiseexcept(raised[r % COUNT(raised)]);
                memset(y, 0x55, sizeof y);
                cr_expect_eq(tally_kernel_run_threads(kernel, x, y, 1 + (int)r / 3, NULL),
                             TALLY_OK);
                cr_expect_eq(fetestexcept(raised[r % COUNT(raised)]), raised[r % COUNT(raised)]);
                memcpy(first, r > 0 ? first : y, bytes);
                cr_expect_eq(memcmp(y, first, bytes), 0, "%s, level %d: flags %d, %d threads",
                             cases[k].word, (int)l, raised[r % COUNT(raised)], 1 + (int)r / 3);
            }
            tally_kernel_destroy(&kernel);
        }
    }
    feclearexcept(FE_ALL_EXCEPT);
    tly_levels_close(&levels);
}

/* ---- more than 2^32 elements, which a broadcast makes of few bytes ---- */

/* By the best level, as each takes a second. */
static void check_long(const tly_levels *levels, const char *word, const void *in, uint64_t wanted)
{
    uint64_t got = 0;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = make(levels, levels->level_count - 1, word);
    cr_expect_eq(tally_kernel_run(kernel, in, &got, &error), TALLY_OK, "%s", error.message);
    cr_expect_eq(got, wanted, "%s: %llx", word, (unsigned long long)got);
    tally_kernel_destroy(&kernel);
}

Test(range, line_4_3_beyond_32_bits, .timeout = 240)
{
    enum { ROW = 65536 };
    static union {
        int64_t wide[ROW];
        uint32_t narrow[2 * ROW];
    } in;
    tly_levels levels;
    tly_require_levels(&levels);
    for (int i = 0; i < ROW; i++)
        in.wide[i] = i % 2 ? INT64_MIN : INT64_MIN + 6;
    check_long(&levels, "mean:i64:65537x65536:in=0x1", &in, (uint64_t)(INT64_MIN + 3));
    memset(&in, 0xff, sizeof in);
    check_long(&levels, "mean:u32:65537x65536:in=0x1", &in, UINT32_MAX);
    tly_levels_close(&levels);
}
