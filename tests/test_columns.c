/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of every width around the borders of vectors, lines, registers and templates, judged to
 * the bit, as columns are the plain loop in any order that may be asked for.
 */
#include "trials.h"

#include <stdio.h>

static const struct {
    int first, last;
} widths[] = { { 1, 40 }, { 63, 65 }, { 79, 82 }, { 127, 130 }, { 255, 257 }, { 300, 300 } };

static const char *const dtypes[] = { "f32", "f64", "f16", "bf16", "i32", "i64", "u32", "u64" };
static const char *const ways[] = { "", ",reverse", ",exclusive", ",exclusive,reverse" };

/* One slice that ends anywhere, many of few axis steps, which may be one stream, and more than a
 * block of scratch: of f32 all, of the others one. */
static void check_width(tly_trials *t, int width, int dtype)
{
    static const struct {
        int first, length;
    } shapes[] = { { 1, 37 }, { 31, 2 }, { 2, 9001 } };
    for (size_t s = 0; s < COUNT(shapes); s++) {
        const size_t turn = (size_t)(width + dtype) + s;
        if (dtype > 0 && (size_t)(width + dtype) % COUNT(shapes) != s)
            continue;
        const int length = shapes[s].length < 9000 ? shapes[s].length : 9001 / width + 2;
        char word[128];
        snprintf(word, sizeof word, "%s:%s:%dx%dx%d:axis=1,order=serial%s",
                 turn % 2 ? "cumprod" : "cumsum", dtypes[dtype], shapes[s].first, length, width,
                 ways[turn / 2 % COUNT(ways)]);
        tly_trials_check(t, word, turn % 3 ? TLY_DATA_SIGNED : TLY_DATA_SPECIAL, turn);
    }
}

Test(columns, every_width, .timeout = 280)
{
    tly_trials t;
    tly_trials_open(&t);
    for (size_t r = 0; r < COUNT(widths); r++)
        for (int width = widths[r].first; width <= widths[r].last; width++)
            for (int dtype = 0; dtype < (int)COUNT(dtypes); dtype++)
                if (width > 14 || dtype == width % (int)COUNT(dtypes))
                    check_width(&t, width, dtype);
    tly_trials_close(&t);
}

/* All ways of a few widths that take different paths at each level. */
Test(columns, every_way, .timeout = 280)
{
    static const char *const words[] = {
        "cumprod:f32:211x17:axis=0",
        "cumsum:f32:5x211x48:axis=1",
        "cumprod:f64:211x33:axis=0",
        "cumsum:f16:211x19:axis=0",
        "cumprod:bf16:2x211x79:axis=1",
        "cumprod:i64:211x21:axis=0",
        "cumsum:f32:211x18:axis=0,acc=f64",
        "cumprod:f32:90x203:axis=0,acc=f64",
        "cumsum:bf16:211x31:axis=0,acc=f64",
        "cumsum:u64:150x301:axis=0",
        "cumprod:f16:30x3x1023:axis=1",
        "cumprod:f32:33x1024:axis=0",
        "cumprod:bf16:33x1025:axis=0",
        "cumsum:f32:70x24:axis=0,in=-24x-1@1679,out=-24x-1@1679",
        "cumsum:f32:2x70x24:axis=1,in=3000x24x1,out=1999x24x1",
    };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(words); k++)
        for (size_t w = 0; w < COUNT(ways); w++) {
            char word[128];
            snprintf(word, sizeof word, "%s,order=serial%s", words[k], ways[w]);
            tly_trials_check(&t, word, TLY_DATA_BITS, k);
            tly_trials_check(&t, word, TLY_DATA_RANGE, k + 1);
        }
    tly_trials_close(&t);
}

/* Outer slices side by side past the cache: four of them and some left, narrow and wide rows, and
 * two outer dims, which go one after another. */
Test(columns, slices, .timeout = 280)
{
    static const char *const words[] = {
        "cumprod:f32:5x7x1024:axis=1",        "cumsum:f64:7x9x512:axis=1",
        "cumprod:f16:4x5x2048:axis=1",        "cumsum:bf16:5x6x1024:axis=1",
        "cumsum:i64:6x5x1040:axis=1",         "cumprod:u32:3x6x4x512:axis=2,in=13312x2048x512x1",
        "cumsum:f32:9x7x1024:axis=1,acc=f64", "linrec:f32:5x7x1024:axis=1,coef=inf",
    };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(words); k++) {
        char word[128];
        snprintf(word, sizeof word, "%s,order=serial%s", words[k], ways[k % COUNT(ways)]);
        tly_trials_check(&t, word, TLY_DATA_BITS, k);
        tly_trials_check(&t, word, TLY_DATA_RANGE, k + 1);
    }
    tly_trials_close(&t);
}
