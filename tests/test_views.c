/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of every kind: lanes and axis lie across, along or apart in each tensor, in all orders of
 * dims and in sizes around those of tiles; judged to the bit, as all of it is the plain loop's
 * order.
 */
#include "trials.h"

#include <stdio.h>

static const char *const dtypes[] = { "f32", "f64", "f16", "bf16", "i32", "u64" };
static const char *const ways[] = { "", ",reverse", ",exclusive", ",exclusive,reverse" };

/* "AxBxC" of the sizes, or, by the order of dims in memory (outermost first), of their strides,
 * with `gap` elements after each run of the innermost. */
static void put(char *text, size_t room, const int64_t *values, int rank)
{
    size_t n = 0;
    for (int i = 0; i < rank && n < room; i++)
        n += (size_t)snprintf(text + n, room - n, "%s%lld", i ? "x" : "", (long long)values[i]);
}

static void strides_of(const int64_t *sizes, const int *order, int rank, int64_t gap,
                       int64_t *strides)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step = step * sizes[order[i]] + (i == rank - 1 ? gap : 0);
    }
}

typedef struct view {
    int rank;
    int64_t sizes[8];
    int in[8], out[8]; /* dims in the order of memory, outermost first */
    int64_t gap;
} view;

static void check_view(tly_trials *t, const view *v, int axis, size_t turn)
{
    char word[512], sizes[96], in[96], out[96];
    int64_t strides[8];
    put(sizes, sizeof sizes, v->sizes, v->rank);
    strides_of(v->sizes, v->in, v->rank, v->gap, strides);
    put(in, sizeof in, strides, v->rank);
    strides_of(v->sizes, v->out, v->rank, turn % 2 ? v->gap : 0, strides);
    put(out, sizeof out, strides, v->rank);
    snprintf(word, sizeof word, "%s:%s:%s:axis=%d%s,in=%s,out=%s,order=serial",
             turn % 3 ? "cumprod" : "cumsum", dtypes[turn % COUNT(dtypes)], sizes, axis,
             ways[turn / 2 % COUNT(ways)], in, out);
    tly_trials_check(t, word, turn % 5 ? TLY_DATA_BITS : TLY_DATA_SPECIAL, turn);
}

/* All orders of three dims in both tensors. */
Test(views, three_dims, .timeout = 280)
{
    static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                      { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    static const int64_t sizes[][3] = {
        { 8, 8, 8 }, { 19, 33, 17 }, { 5, 70, 3 }, { 2, 7, 40 }, { 40, 18, 35 }
    };
    tly_trials t;
    tly_trials_open(&t);
    size_t turn = 0;
    for (size_t i = 0; i < 36; i++)
        for (int axis = 0; axis < 3; axis++, turn++) {
            view v = { .rank = 3, .gap = turn % 4 };
            for (int d = 0; d < 3; d++) {
                v.sizes[d] = sizes[turn % COUNT(sizes)][d];
                v.in[d] = orders[i / 6][d];
                v.out[d] = orders[i % 6][d];
            }
            check_view(&t, &v, axis, turn);
        }
    tly_trials_close(&t);
}

Test(views, eight_dims, .timeout = 280)
{
    static const int orders[][8] = {
        { 7, 6, 5, 4, 3, 2, 1, 0 }, { 0, 2, 4, 6, 1, 3, 5, 7 }, { 4, 5, 6, 7, 0, 1, 2, 3 },
        { 1, 0, 3, 2, 5, 4, 7, 6 }, { 3, 1, 2, 0, 6, 4, 7, 5 },
    };
    static const int64_t sizes[][8] = { { 3, 2, 3, 4, 2, 3, 2, 8 },
                                        { 8, 2, 2, 9, 2, 2, 2, 17 },
                                        { 16, 2, 1, 2, 3, 2, 5, 4 } };
    tly_trials t;
    tly_trials_open(&t);
    size_t turn = 0;
    for (size_t i = 0; i < COUNT(orders); i++)
        for (int axis = 0; axis < 8; axis++, turn++) {
            view v = { .rank = 8, .gap = turn % 3 };
            for (int d = 0; d < 8; d++) {
                v.sizes[d] = sizes[turn % COUNT(sizes)][d];
                v.in[d] = orders[i][d];
                v.out[d] = turn % 4 ? d : orders[(i + 1) % COUNT(orders)][d];
            }
            check_view(&t, &v, axis, turn);
        }
    tly_trials_close(&t);
}

/* Short dims that are whole parts of lines, in tensors without gaps: rows that are written
 * together. */
Test(views, parts_of_lines, .timeout = 280)
{
    static const int orders[][4] = { { 3, 2, 1, 0 }, { 2, 3, 0, 1 }, { 0, 2, 1, 3 } };
    static const int64_t sizes[][4] = {
        { 8, 8, 8, 8 }, { 2, 4, 16, 4 }, { 16, 2, 4, 8 }, { 3, 5, 8, 4 }, { 8, 4, 6, 2 }
    };
    tly_trials t;
    tly_trials_open(&t);
    size_t turn = 0;
    for (size_t i = 0; i < 2 * COUNT(orders) * COUNT(sizes); i++)
        for (int axis = 0; axis < 4; axis++, turn++) {
            view v = { .rank = 4, .out = { 0, 1, 2, 3 } };
            for (int d = 0; d < 4; d++) {
                v.sizes[d] = sizes[i % COUNT(sizes)][d];
                v.in[d] = orders[i % COUNT(orders)][d];
            }
            check_view(&t, &v, axis, turn);
        }
    tly_trials_close(&t);
}

/* Runs of such rows that begin within a line: the first is as far from one as the next, as the test
 * puts the lowest element, which is the last run's, at a line. */
Test(views, runs_within_lines, .timeout = 280)
{
    static const char *const words[] = {
        "cumsum:f32:12x5x2x8:axis=1,in=1000x200x100x1,out=-88x16x8x1@968",
        "cumsum:f32:10x5x4x4:axis=1,in=1000x200x50x1,out=-84x16x4x1@756",
        "cumprod:f64:8x3x2x4:axis=1,in=1000x200x50x1,out=-28x8x4x1@196",
        "cumsum:f16:10x3x4x8:axis=1,in=1000x200x50x1,out=-104x32x8x1@936",
        "cumsum:f32:6x2x8x30:axis=2,in=2000x240x30x1,out=-488x8x1x16@2440",
        "cummax:i8:10x5x8x8:axis=1,in=1000x200x25x1,out=-328x64x8x1@2952",
    };
    static const tly_data data[] = { TLY_DATA_BITS };
    CHECK_WORDS(words, data, 91);
}

/* Rows in and columns out, and the other way round, around the sizes of tiles and lines. */
Test(views, turned, .timeout = 280)
{
    static const int64_t sizes[][2] = { { 16, 16 }, { 17, 16 }, { 31, 9 },  { 32, 8 },
                                        { 33, 65 }, { 64, 32 }, { 100, 7 }, { 15, 40 },
                                        { 8, 100 }, { 9, 5 },   { 2, 33 },  { 128, 130 } };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t d = 0; d < COUNT(dtypes); d++) {
            view v = { .rank = 2, .gap = (int64_t)(i % 2), .in = { 0, 1 }, .out = { 1, 0 } };
            v.sizes[0] = sizes[i][0];
            v.sizes[1] = sizes[i][1];
            if ((i + d) % 3 == 0) {
                v.in[0] = v.out[1] = 1;
                v.in[1] = v.out[0] = 0;
            }
            check_view(&t, &v, 1, 7 * i + d);
        }
    tly_trials_close(&t);
}

/* Rows that are neighbours in the input, lanes in the output: around the sizes of tiles, of
 * lines that rows make together, and of blocks, which have few dims or many rows. */
Test(views, crossed, .timeout = 280)
{
    static const view views[] = {
        { 5, { 8, 9, 3, 4, 8 }, { 2, 4, 3, 1, 0 }, { 0, 1, 2, 3, 4 }, 0 },
        { 5, { 40, 20, 2, 4, 8 }, { 2, 4, 3, 1, 0 }, { 0, 1, 2, 3, 4 }, 0 },
        { 5, { 13, 3, 2, 8, 4 }, { 2, 4, 3, 1, 0 }, { 0, 1, 2, 3, 4 }, 0 },
        { 6, { 16, 5, 7, 2, 4, 4 }, { 3, 5, 4, 2, 1, 0 }, { 0, 1, 2, 3, 4, 5 }, 0 },
        { 6, { 8, 3, 2, 3, 2, 8 }, { 3, 5, 4, 2, 1, 0 }, { 2, 0, 1, 3, 4, 5 }, 0 },
        { 3, { 600, 3, 40 }, { 1, 2, 0 }, { 0, 1, 2 }, 0 },
        { 3, { 37, 5, 100 }, { 1, 2, 0 }, { 0, 1, 2 }, 1 },
        { 3, { 20, 4, 16 }, { 2, 1, 0 }, { 0, 1, 2 }, 0 },
        { 4, { 9, 6, 3, 50 }, { 2, 3, 1, 0 }, { 1, 0, 2, 3 }, 0 },
    };
    static const int axes[] = { 2, 2, 2, 3, 3, 1, 1, 1, 2 };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t i = 0; i < COUNT(views); i++)
        for (size_t d = 0; d < COUNT(dtypes); d++)
            check_view(&t, &views[i], axes[i], 7 * i + d);
    tly_trials_close(&t);
}

/* The same of narrow elements: up to 32 rows make a line. In the input they lie apart, and rows
 * along the first dim are neighbours, some more than fill tiles. */
Test(views, narrow_rows_of_lines, .timeout = 280)
{
    static const char *const words[] = {
        "cummax:u8:3x5x64x2:axis=1,in=1x6x30x3",
        "cummin:i8:33x4x64x2:axis=1,in=1x66x264x33",
        "cummax:bool:9x5x32x2:axis=1,exclusive,in=1x18x90x9",
        "cummax:u8:19x4x32x4:axis=1,in=1x76x304x19",
        "cummin:i8:8x3x16x8:axis=1,exclusive,reverse,in=1x64x192x8",
    };
    static const tly_data data[] = { TLY_DATA_BITS };
    CHECK_WORDS(words, data, 131);
}

/* Tiles of other sizes than the planner's. */
Test(views, forced, .timeout = 280)
{
    static const char *const words[] = {
        "cumsum:f32:100x70:axis=1,in=70x1,out=1x100,order=serial",
        "cumprod:f64:53x49:axis=1,reverse,in=49x1,out=1x53,order=serial",
        "cumprod:f16:70x67:axis=1,exclusive,in=67x1,out=1x70,order=serial",
        "cumsum:f32:37x5x100:axis=1,in=1x3700x37,order=serial",
        "cumsum:f32:8x9x3x4x8:axis=2,in=1x8x2304x72x288,order=serial",
        "cummax:i8:8x9x3x8x8:axis=2,in=1x8x4608x72x576",
    };
    static const char *const plans[] = { "lines=1",         "lines=2",         "rows=8,lines=2",
                                         "rows=16,lines=1", "lanes=4,rows=16", "lanes=4",
                                         "lanes=16",        "lines=0" };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t i = 0; i < COUNT(words); i++)
        for (size_t k = 0; k < COUNT(plans); k++)
            tly_trials_check_plan(&t, words[i], plans[k], TLY_DATA_BITS, 9 * i + k);
    tly_trials_close(&t);
}

/* The narrowest vectors of what is stored as bytes: 32 make a line of output, and of columns
 * four lines of them a pass. */
Test(views, bytes_by_narrow_vectors, .timeout = 120)
{
    tly_trials t;
    tly_trials_open(&t);
    tly_trials_check_plan(&t, "cummin:u8:31x130:axis=1,in=1x31,order=serial", "lanes=2",
                          TLY_DATA_BITS, 1);
    tly_trials_check_plan(&t, "cummax:i8:40x600:axis=0", "lanes=2,lines=4,rows=8", TLY_DATA_BITS,
                          2);
    tly_trials_close(&t);
}
