/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running indices (cumargmax, cumargmin) in each template that has them: those of the plain loop,
 * and of torch.cummax. Cases by hand are in data/semantics_reductions.def.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally/kernel.h>

#include "trials.h"

/* Rows of each length that a template begins or ends with, apart and downwards; columns, few, many
 * and in slices; transposed views, tiles, and views of which nothing is neighbours. */
static const char *const words[] = {
    "cumargmax:f32:5001:axis=0",
    "cumargmin:f64:3x700:axis=1,last",
    "cumargmax:f32>i32:3x700:axis=1,reverse",
    "cumargmin:u8:3x700:axis=1,reverse,last",
    "cumargmax:i8>i32:40x33:axis=1,reverse",
    "cumargmax:u16:40x16:axis=1,last,reverse",
    "cumargmin:f32>i32:100x15:axis=1",
    "cumargmax:f16:100x7:axis=1,nan=ignore",
    "cumargmin:i64:200x2:axis=1",
    "cumargmax:f32>i32:30x70:axis=1,in=140x2",
    "cumargmax:bf16>i32:9x300:axis=1,order=serial",
    "cumargmin:bool:9x300:axis=1,last",
    "cumargmax:f32:300x5:axis=0",
    "cumargmin:u8>i32:200x16:axis=0,reverse",
    "cumargmax:f64>i32:60x300:axis=0,last",
    "cumargmax:i32>i32:5x30x64:axis=1",
    "cumargmin:f32:50x64:axis=1,in=1x50",
    "cumargmax:u32>i32:50x64:axis=1,in=1x50,reverse",
    "cumargmax:f32:20x30x8:axis=1,in=1x20x600",
    "cumargmin:f16>i32:70x33:axis=0,in=1x70,nan=ignore,last",
    "cumargmax:f32:4x9x50:axis=2,in=1000x3x60,out=-450x50x1@1350",
    "cumargmax:u64:1000:axis=0,every=7",
    "cumargmin:f32>i32:100x9:axis=0,every=10,reverse,last",
    "cumargmax:f32:2000:axis=0,every=100,reverse",
};

Test(running, as_the_plain_loop, .timeout = 120)
{
    static const tly_data kinds[] = { TLY_DATA_TIES, TLY_DATA_SPECIAL, TLY_DATA_SORTED };
    CHECK_WORDS(words, kinds, 71);
}

/* Rows in chunks that threads share: in each way of tasks.h, with carries from totals and from
 * scans. Chunks end within ties and behind NaN, and the last one ends within a vector. */
Test(running, threads_share_rows, .timeout = 120)
{
    static const char *const shared[] = {
        "cumargmax:f32>i32:5001:axis=0",        "cumargmin:f64:3x1999:axis=1,last",
        "cumargmax:f32:5001:axis=0,reverse",    "cumargmin:u8>i32:7001:axis=0,reverse,last",
        "cumargmax:i64>i32:5001:axis=0",        "cumargmin:bf16>i64:5001:axis=0,nan=ignore",
        "cumargmax:f16>i32:2x5001:axis=1,last",
    };
    static const tly_data kinds[] = { TLY_DATA_TIES, TLY_DATA_SPECIAL, TLY_DATA_SORTED,
                                      TLY_DATA_ZEROS };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t i = 0; i < COUNT(shared); i++)
        for (size_t k = 0; k < COUNT(kinds); k++)
            tly_trials_check_plan(&t, shared[i], "chunk=1024", kinds[k], 80 + k);
    tly_trials_close(&t);
}

/* ---- torch ---- */

enum { ROWS = 6, LENGTH = 300, COUNT_OF_ALL = ROWS * LENGTH };

/* What torch 2.x does along an axis. */
static void torch_cummax(const float *x, int64_t *index)
{
    float best = x[0];
    int64_t at = 0;
    for (int64_t i = 0; i < LENGTH; i++) {
        if (isnan(x[i]) || (!isnan(best) && x[i] >= best)) {
            best = x[i];
            at = i;
        }
        index[i] = at;
    }
}

Test(running, last_has_the_indices_of_torch)
{
    static float x[COUNT_OF_ALL];
    static int64_t wanted[COUNT_OF_ALL], got[COUNT_OF_ALL];
    tally_descriptor d;
    tly_levels levels;
    tly_random r = tly_random_seed(5, 0);
    tly_require_levels(&levels);
    for (int i = 0; i < COUNT_OF_ALL; i++)
        x[i] = i >= COUNT_OF_ALL / 2 && tly_random_one_in(&r, 200)
                   ? NAN
                   : (float)tly_random_between(&r, -9, 9 + i % LENGTH / 9);
    for (int row = 0; row < ROWS; row++)
        torch_cummax(x + (size_t)row * LENGTH, wanted + (size_t)row * LENGTH);
    cr_assert_eq(tally_descriptor_parse("cumargmax:f32>i64:6x300:axis=1,last", &d, NULL), TALLY_OK);
    for (size_t k = 0; k < levels.level_count; k++) {
        tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
        tally_kernel *kernel = NULL;
        options.device = levels.levels[k].selector;
        cr_assert_eq(tally_kernel_create(levels.context, &d, &options, &kernel, NULL), TALLY_OK);
        memset(got, 0x5a, sizeof got);
        cr_assert_eq(tally_kernel_run(kernel, x, got, NULL), TALLY_OK);
        cr_expect_arr_eq(got, wanted, sizeof got, "%s", options.device);
        tally_kernel_destroy(&kernel);
    }
    tly_levels_close(&levels);
}
