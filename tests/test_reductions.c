/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions: docs/semantics.md line by line, as the table has it that the reference is held to;
 * which combinations exist and what is refused; shapes, strides and pointers. At every CPU level of
 * this machine. Random cases are the differential driver's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trials.h"

/* ---- the table ---- */

static const struct {
    const char *line;
    tly_case c;
} rows[] = {
#define CASE(line, word, in, out) { line, { word, in, out } },
#include "data/semantics_reductions.def"
#undef CASE
};

Test(reductions, lines_of_semantics, .timeout = 240)
{
    tly_levels levels;
    char why[512];
    int count = 0;
    tly_require_levels(&levels);
    for (size_t k = 0; k < COUNT(rows); k++) {
        const tly_case *c = &rows[k].c;
        if (!strncmp(c->word, "cum", 3)) /* scans, which have a unit of their own */
            continue;
        count++;
        cr_expect(tly_case_run(&levels, c, why, sizeof why) == 0, "[%s] %s", rows[k].line, why);
        cr_expect(tly_case_run_tasks(&levels, c, why, sizeof why) == 0, "[%s] %s", rows[k].line,
                  why);
    }
    cr_expect_gt(count, 200, "%d rows are of reductions", count);
    tly_levels_close(&levels);
}

/* ---- 1: operators and dtypes, written down here once more ---- */

#define BIT(dtype) (1u << TALLY_##dtype)
#define NUMBERS \
    (BIT(F64) | BIT(F32) | BIT(F16) | BIT(BF16) | BIT(I64) | BIT(I32) | BIT(U64) | BIT(U32))
#define ALL (NUMBERS | BIT(I16) | BIT(I8) | BIT(U16) | BIT(U8) | BIT(BOOL))
#define INDICES (BIT(I64) | BIT(I32) | BIT(U64) | BIT(U32))
#define REALS (BIT(F64) | BIT(F32))

/* Further outputs of inputs. */
static const uint32_t none[TALLY_DTYPE_COUNT];
static const uint32_t wider[TALLY_DTYPE_COUNT] = {
    [TALLY_I8] = BIT(I64) | BIT(I32),
    [TALLY_I16] = BIT(I64) | BIT(I32),
    [TALLY_I32] = BIT(I64),
    [TALLY_BOOL] = BIT(I64) | BIT(I32) | BIT(U32),
    [TALLY_U8] = BIT(U64) | BIT(U32) | BIT(I32),
    [TALLY_U16] = BIT(U64) | BIT(U32) | BIT(I32),
    [TALLY_U32] = BIT(U64),
    [TALLY_F16] = BIT(F32),
    [TALLY_BF16] = BIT(F32),
    [TALLY_F32] = BIT(F64),
};
static const uint32_t single[TALLY_DTYPE_COUNT] = {
    [TALLY_F16] = BIT(F32), [TALLY_BF16] = BIT(F32)
};
static const uint32_t means[TALLY_DTYPE_COUNT] = {
    [TALLY_F16] = BIT(F32), [TALLY_BF16] = BIT(F32), [TALLY_I64] = REALS,  [TALLY_I32] = REALS,
    [TALLY_I16] = REALS,    [TALLY_I8] = REALS,      [TALLY_U64] = REALS,  [TALLY_U32] = REALS,
    [TALLY_U16] = REALS,    [TALLY_U8] = REALS,      [TALLY_BOOL] = REALS,
};

static const struct {
    tally_op op;
    uint32_t inputs;
    uint32_t outputs; /* 0: the input's dtype */
    const uint32_t *further;
} made[] = {
    { TALLY_SUM, NUMBERS, 0, wider },      { TALLY_PROD, NUMBERS, 0, wider },
    { TALLY_L1, NUMBERS, 0, none },        { TALLY_SUM_SQUARE, NUMBERS, 0, none },
    { TALLY_MEAN, NUMBERS, 0, means },     { TALLY_L2, NUMBERS, 0, single },
    { TALLY_LOG_SUM, NUMBERS, 0, single }, { TALLY_LOG_SUM_EXP, NUMBERS, 0, single },
    { TALLY_MAX, ALL, 0, none },           { TALLY_MIN, ALL, 0, none },
    { TALLY_ARGMAX, ALL, INDICES, none },  { TALLY_ARGMIN, ALL, INDICES, none },
};

typedef enum existence {
    NOWHERE,
    IN_TABLE, /* of docs/semantics.md 1 */
    FURTHER,
} existence;

static existence exists(size_t m, int dtype, int out)
{
    const uint32_t same = made[m].inputs & 1u << dtype;
    const uint32_t outputs = same && made[m].outputs ? made[m].outputs : same;
    if (outputs >> out & 1)
        return IN_TABLE;
    return made[m].further[dtype] >> out & 1 ? FURTHER : NOWHERE;
}

/* Rows, columns, a few of them and both, in turn. */
static void check_made(tly_trials *t, const char *op, int dtype, int out)
{
    static const char *const shapes[] = { "3x37:axes=1", "5x70:axes=0", "2x5x3x4:axes=1+3",
                                          "300x7:axes=0" };
    static unsigned turn;
    char word[96];
    snprintf(word, sizeof word, "%s:%s>%s:%s", op, tally_dtype_name((tally_dtype)dtype),
             tally_dtype_name((tally_dtype)out), shapes[turn % COUNT(shapes)]);
    tly_trials_check(t, word, turn / COUNT(shapes) % 2 ? TLY_DATA_SPECIAL : TLY_DATA_BENIGN, turn);
    turn++;
}

static void check_refused(tly_levels *levels, const char *op, int dtype, int out)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    char word[96];
    snprintf(word, sizeof word, "%s:%s>%s:3x5:axes=1", op, tally_dtype_name((tally_dtype)dtype),
             tally_dtype_name((tally_dtype)out));
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s: %s", word, error.message);
    cr_expect_eq(tally_context_supports(levels->context, &d, NULL, &error), TALLY_UNSUPPORTED,
                 "%s is supported", word);
    cr_expect_str_eq(error.field, "dtype", "%s: %s", word, error.message);
}

Test(reductions, every_combination_and_no_other, .timeout = 300)
{
    int count[FURTHER + 1] = { 0 };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t m = 0; m < COUNT(made); m++) {
        const char *op = tally_op_name(made[m].op);
        for (int dtype = 1; dtype < TALLY_DTYPE_COUNT; dtype++)
            for (int out = 1; out < TALLY_DTYPE_COUNT; out++) {
                const existence e = exists(m, dtype, out);
                count[e]++;
                if (e == NOWHERE)
                    check_refused(&t.levels, op, dtype, out);
                else
                    check_made(&t, op, dtype, out);
            }
    }
    cr_expect_eq(count[IN_TABLE], 210 - 16, "%d", count[IN_TABLE]); /* 16 are of scans */
    cr_expect_eq(count[FURTHER], 62, "%d", count[FURTHER]);
    tly_trials_close(&t);
}

/* ---- words that must or must not be taken ---- */

/* What overflows on the way of a few columns and not in the plain loop, and what does there,
 * too. */
Test(reductions, few_columns_in_range, .timeout = 240)
{
    static const char *const words[] = { "sum:f32:700x2:axes=0",      "mean:f64:2x300x9:axes=1",
                                         "log_sum:bf16:999x3:axes=0", "sum:f32:3x40x33:axes=0+1",
                                         "prod:f32:700x2:axes=0",     "prod:f16:2x300x9:axes=1",
                                         "l2:f32:700x2:axes=0",       "l2:f64:2x300x9:axes=1",
                                         "mean:i64:999x3:axes=0" };
    static const tly_data kinds[] = { TLY_DATA_RANGE, TLY_DATA_GROW, TLY_DATA_SPECIAL,
                                      TLY_DATA_SCALED, TLY_DATA_CANCEL };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t i = 0; i < COUNT(words); i++)
        for (unsigned k = 0; k < 8 * COUNT(kinds); k++)
            tly_trials_check(&t, words[i], kinds[k % COUNT(kinds)], k);
    tly_trials_close(&t);
}

static void run_by(tly_trials *t, const char *word, const tally_device *device, const char *plan,
                   const void *x, void *y)
{
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = device->selector,
                                           .plan = plan };
    tally_descriptor d;
    tally_kernel *kernel = NULL;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK);
    cr_assert_eq(tally_kernel_create(t->levels.context, &d, &options, &kernel, &error), TALLY_OK,
                 "%s: %s", word, error.message);
    cr_assert_eq(tally_kernel_run(kernel, x, y, NULL), TALLY_OK);
    tally_kernel_destroy(&kernel);
}

/* Short rows that go side by side have the bits of rows that go one by one. */
Test(reductions, short_rows_side_by_side, .timeout = 240)
{
    static const struct {
        const char *word;
        uint32_t above, random; /* bits of each element */
        int bytes;
    } cases[] = { { "sum:f32:37x32:axes=1", 0x3f000000, 0x7fffff, 4 },
                  { "sum:f32:37x33:axes=1", 0x3f000000, 0x7fffff, 4 },
                  { "prod:f32:21x48:axes=1", 0x3f000000, 0x80ffffff, 4 },
                  { "log_sum_exp:f32:9x16:axes=1,out=2", 0x3f000000, 0x80ffffff, 4 },
                  { "argmin:f32>i32:37x64:axes=1", 0x3f000000, 7, 4 },
                  { "sum:f16:37x128:axes=1,in=130x1", 0x3800, 0x3ff, 2 },
                  { "mean:bf16:37x24:axes=1", 0x3f00, 0x80ff, 2 },
                  { "max:i8:37x64:axes=1", 0, 0xff, 1 } };
    static _Alignas(64) char x[37 * 130 * 4], y[2][37 * 2 * 4];
    tly_trials t;
    tly_trials_open(&t);
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t drawn = 1;
        for (size_t at = 0; at < sizeof x; at += (size_t)cases[i].bytes) {
            drawn = drawn * 1664525 + 1013904223;
            const uint32_t element = cases[i].above ^
                                     ((drawn >> 7 | drawn << 25) & cases[i].random);
            memcpy(x + at, &element, (size_t)cases[i].bytes);
        }
        for (int l = 0; l < (int)t.levels.level_count; l++) {
            const tally_device *device = &t.levels.levels[l];
            if (strcmp(device->kind, "cpu") != 0)
                continue;
            memset(y, 0, sizeof y);
            run_by(&t, cases[i].word, device, "", x, y[0]);
            run_by(&t, cases[i].word, device, "rows=1", x, y[1]);
            cr_expect_eq(memcmp(y[0], y[1], sizeof y[0]), 0, "%s, level %d", cases[i].word, l);
        }
    }
    tly_trials_close(&t);
}

/* Long products of many columns go in chunks: the same, beside each other and lane by lane. */
Test(reductions, long_products_in_range, .timeout = 240)
{
    static const char *const words[] = { "prod:f32:4096x64:axes=0", "prod:f64:2x4101x67:axes=1",
                                         "prod:f16:2x4100x70:axes=0+1",
                                         "prod:bf16:5000x65:axes=0,in=66x1",
                                         "prod:f32:9000x130:axes=0,in=-130x1@1169870" };
    static const tly_data kinds[] = { TLY_DATA_RANGE, TLY_DATA_GROW, TLY_DATA_DECAY, TLY_DATA_LANE,
                                      TLY_DATA_BENIGN };
    CHECK_WORDS(words, kinds, 0);
}

Test(reductions, words)
{
    static const struct {
        const char *word, *field; /* that the error names; NULL: the word is right */
    } words[] = {
        /* Axes and ranks. */
        { "sum:f32:scalar", NULL },
        { "sum:f32:1x1x1x1x1x1x1x1", NULL },
        { "sum:f32:1x1x1x1x1x1x1x1x1", "sizes" },
        { "sum:f32:2x3:axes=-2+1", NULL },
        { "sum:f32:2x3:axes=none", NULL },
        { "sum:f32:2x3:axes=2", "axes" },
        { "sum:f32:2x3:axes=-3", "axes" },
        { "sum:f32:2x3:axes=1+1", "axes" },
        { "sum:f32:2x3:axes=1+-1", "axes" },
        { "sum:f32:scalar:axes=0", "axes" },
        { "sum:f32:2x3:axis=1", "axis" },
        { "cumsum:f32:2x3:axes=1", "axes" },
        /* Options of others. */
        { "sum:f32:2x3:exclusive", "exclusive" },
        { "max:f32:2x3:reverse", "reverse" },
        { "sum:f32:3:nan=ignore", "nan" },
        { "max:i32:3:nan=ignore", "nan" },
        { "max:f32:3:last", "last" },
        { "max:f32:3:acc=f64", "acc" },
        { "argmin:f32:3:acc=f64", "acc" },
        { "log_sum:f32:3:acc=f64", "acc" },
        { "log_sum_exp:f16:3:acc=f64", "acc" },
        { "sum:i32:3:acc=f64", "acc" },
        { "mean:bf16:3:acc=f64", NULL },
        { "sum:f64:3:acc=f64", NULL },
        /* 2.1, 2.2: the output has its own dims. */
        { "sum:f32:2x3:axes=1,out=1", NULL },
        { "sum:f32:2x3:axes=1,out=3x1", "out" },
        { "sum:f32:2x3:axes=1,keepdims,out=3x1", NULL },
        { "sum:f32:2x3:axes=1,keepdims,out=3x0", NULL },
        { "sum:f32:2x3:axes=1,out=0", "out" },
        { "sum:f32:2x3x4:axes=0,out=3x1", "out" },
        { "sum:f32:2x3x4:axes=0,out=4x1", NULL },
        { "sum:f32:2x3x4:axes=0,out=1x3", NULL },
        { "sum:f32:2x3:in=0x0", NULL },
        { "sum:f32:2x3:in=1", "in" },
        /* 2.5: counts that no int64 holds. */
        { "sum:f32:4294967296x4294967296", "sizes" },
        { "sum:f32:4294967296x4294967295:in=0x0", "sizes" },
        { "sum:u8:3037000500x3037000499:in=0x0", NULL },
        { "sum:f32:3:in=4611686018427387904", "in" },
        { "sum:i8>i64:1152921504606846976x2:axes=1,in=0x1", "sizes" },
        /* 4.5, 4.6: indices must fit, and be of something. */
        { "argmax:u8>i32:2147483649:in=0", "dtype" },
        { "argmax:u8>i32:2147483648:in=0", NULL },
        { "argmax:u8>i32:65536x3x32769:axes=0+2,in=0x0x0", "dtype" },
        { "argmax:u8>i32:65536x3x32768:axes=0+2,in=0x0x0", NULL },
        { "argmax:u8>u32:65537x65536:in=0x0", "dtype" },
        { "argmax:u8>u32:65536x65536:in=0x0", NULL },
        { "argmax:u8>i64:9223372036854775806:in=0", NULL },
        { "argmax:u8>u64:9223372036854775806:in=0", NULL },
        { "argmax:u8>i32:65536x65536:axes=1,in=0x0,out=1", NULL },
        { "argmax:u8>i64:65536x65536:in=0x0", NULL },
        { "argmax:f32:0", "sizes" },
        { "argmin:f32:3x0:axes=1", "sizes" },
        { "argmin:f32:3x0:axes=0", NULL },
        { "argmin:f32:0x0:axes=0", NULL },
    };
    for (size_t k = 0; k < COUNT(words); k++) {
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        tally_error error = TALLY_ERROR_INIT;
        const tally_status status = tally_descriptor_parse(words[k].word, &d, &error);
        cr_expect_eq(status, words[k].field ? TALLY_INVALID : TALLY_OK, "%s: %s %s", words[k].word,
                     error.field, error.message);
        if (status && words[k].field)
            cr_expect_str_eq(error.field, words[k].field, "%s: %s", words[k].word, error.message);
    }
}

/* ---- pointers ---- */

static tally_kernel *make(tly_levels *levels, const char *word)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_kernel *kernel = NULL;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    cr_assert_eq(tally_kernel_create(levels->context, &d, NULL, &kernel, &error), TALLY_OK,
                 "%s: %s", word, error.message);
    return kernel;
}

/* Input and output in one buffer, both counted in its elements of 4 bytes. */
Test(reductions, line_2_3_regions_are_apart)
{
    static const struct {
        const char *word;
        int in, out;
        const char *field; /* NULL: right */
    } cases[] = {
        { "sum:i32:8", 0, 8, NULL },
        { "sum:i32:8", 1, 0, NULL },
        { "sum:i32:8", 0, 0, "out" },
        { "sum:i32:8", 0, 7, "out" },
        { "sum:i32:8", 0, 3, "out" },
        { "sum:i32:1", 0, 0, "out" }, /* in place is for scans */
        { "sum:i32:4:axes=none", 0, 0, "out" },
        { "sum:i32:4:axes=none", 0, 4, NULL },
        { "max:i32:scalar", 3, 3, "out" },
        { "max:i32:scalar", 3, 4, NULL },
        { "sum:i32:4x2:axes=0", 0, 7, "out" },
        { "sum:i32:4x2:axes=0", 2, 1, "out" },
        { "sum:i32:4x2:axes=0", 2, 0, NULL },
        { "sum:i32:8:in=0", 0, 1, NULL }, /* a single element */
        { "sum:i32:8:in=-1@7", 0, 7, "out" },
        { "sum:i32:8:in=2", 0, 1, "out" }, /* between the elements */
        { "argmin:i32>u32:3x2:axes=1", 0, 6, NULL },
        { "argmin:i32>u32:3x2:axes=1", 0, 4, "out" },
    };
    tly_levels levels;
    tly_require_levels(&levels);
    for (size_t k = 0; k < COUNT(cases); k++) {
        int32_t buffer[32], before[32];
        tally_error error = TALLY_ERROR_INIT;
        tally_kernel *kernel = make(&levels, cases[k].word);
        for (int i = 0; i < 32; i++)
            before[i] = buffer[i] = i * i;
        const tally_status status = tally_kernel_run(kernel, buffer + cases[k].in,
                                                     buffer + cases[k].out, &error);
        cr_expect_eq(status, cases[k].field ? TALLY_INVALID : TALLY_OK, "%s, %d, %d: %s",
                     cases[k].word, cases[k].in, cases[k].out, error.message);
        if (cases[k].field) {
            cr_expect_str_eq(error.field, cases[k].field, "%s", cases[k].word);
            cr_expect(memcmp(buffer, before, sizeof buffer) == 0, "%s: written", cases[k].word);
        }
        tally_kernel_destroy(&kernel);
    }
    tly_levels_close(&levels);
}

/* Each pointer is aligned to its own elements, which are of different sizes here. */
Test(reductions, alignment)
{
    static const struct {
        const char *word;
        int in, out; /* bytes */
        const char *field;
    } cases[] = { { "argmax:u8>i64:5", 1, 0, NULL },   { "argmax:u8>i64:5", 1, 4, "out" },
                  { "sum:i16>i32:5", 2, 4, NULL },     { "sum:i16>i32:5", 1, 4, "in" },
                  { "sum:i16>i32:5", 2, 2, "out" },    { "argmin:f64>i32:5", 8, 4, NULL },
                  { "argmin:f64>i32:5", 4, 4, "in" },  { "sum:f32:0", 1, 0, "in" },
                  { "max:f16:3x4:axes=0", 2, 2, NULL } };
    tly_levels levels;
    tly_require_levels(&levels);
    for (size_t k = 0; k < COUNT(cases); k++) {
        _Alignas(16) char in[80] = { 0 }, out[80] = { 0 };
        tally_error error = TALLY_ERROR_INIT;
        tally_kernel *kernel = make(&levels, cases[k].word);
        const tally_status status = tally_kernel_run(kernel, in + cases[k].in, out + cases[k].out,
                                                     &error);
        cr_expect_eq(status, cases[k].field ? TALLY_INVALID : TALLY_OK, "%s, %d, %d: %s",
                     cases[k].word, cases[k].in, cases[k].out, error.message);
        if (status && cases[k].field)
            cr_expect_str_eq(error.field, cases[k].field, "%s", cases[k].word);
        tally_kernel_destroy(&kernel);
    }
    tly_levels_close(&levels);
}

/* Where no element is read the input need not be there; where none is written, neither need be. */
Test(reductions, line_4_6_of_nothing_from_nowhere)
{
    static const struct {
        const char *word;
        int32_t result[4];
    } cases[] = {
        { "sum:i32:0", { 0, 7, 7, 7 } },
        { "prod:i32:2x0:axes=1", { 1, 1, 7, 7 } },
        { "max:i32:0x3:axes=0", { INT32_MIN, INT32_MIN, INT32_MIN, 7 } },
        { "min:i32:0x2x5:axes=0+2,out=2", { INT32_MAX, 7, INT32_MAX, 7 } },
        { "mean:i32:5x0:keepdims", { 0, 7, 7, 7 } },
        { "sum:i32:0:in=1@1000", { 0, 7, 7, 7 } },
        { "sum:i32:0x4:axes=1", { 7, 7, 7, 7 } },
        { "sum:i32:0:axes=none", { 7, 7, 7, 7 } },
    };
    tly_levels levels;
    tly_require_levels(&levels);
    for (size_t k = 0; k < COUNT(cases); k++)
        for (int threads = 1; threads <= 2; threads++) {
            int32_t out[4] = { 7, 7, 7, 7 };
            tally_error error = TALLY_ERROR_INIT;
            tally_kernel *kernel = make(&levels, cases[k].word);
            cr_expect_eq(tally_kernel_run_threads(kernel, NULL, out, threads, &error), TALLY_OK,
                         "%s: %s", cases[k].word, error.message);
            cr_expect(memcmp(out, cases[k].result, sizeof out) == 0, "%s: %d %d %d %d",
                      cases[k].word, out[0], out[1], out[2], out[3]);
            const int writes = cases[k].result[0] != 7;
            cr_expect_eq(tally_kernel_run_threads(kernel, NULL, NULL, threads, &error),
                         writes ? TALLY_INVALID : TALLY_OK, "%s", cases[k].word);
            tally_kernel_destroy(&kernel);
        }
    tally_error error = TALLY_ERROR_INIT;
    int32_t out = 7;
    tally_kernel *kernel = make(&levels, "sum:i32:1");
    cr_expect_eq(tally_kernel_run(kernel, NULL, &out, &error), TALLY_INVALID);
    cr_expect_str_eq(error.field, "in");
    cr_expect_eq(out, 7);
    tally_kernel_destroy(&kernel);
    tly_levels_close(&levels);
}

/* ---- shapes ---- */

/* Outputs with gaps, inputs in any order, and what lies beyond them is not looked at. */
Test(reductions, line_2_4_no_byte_beyond, .timeout = 240)
{
    static const char *const words[] = {
        "sum:f32:1",
        "sum:f16:1031",
        "prod:f32:65:in=-1@64",
        "max:u8:5x67:axes=1,out=3",
        "min:i16:5x67:axes=0,out=-2@140",
        "l2:f64:13x37:axes=0,in=1x13",
        "mean:bf16:40x17:axes=1,in=0x1",
        "argmax:f16>u32:9x33:axes=0,out=7@3",
        "argmin:f32:6x5x7:axes=0+2,in=-35x7x1@175",
        "log_sum_exp:f32:3x131:axes=1,in=200x1,out=-1@2",
        "sum:i8>i64:3x5x7:axes=1,in=50x9x1,out=9x1",
        "sum_square:f16:257x3:axes=0",
        "l1:i64:2x3x4x5:axes=1+3,in=60x20x5x1,out=1x2",
    };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(words); k++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            tly_trials_check(&t, words[k], seed == 3 ? TLY_DATA_SPECIAL : TLY_DATA_EXACT, seed);
    tly_trials_close(&t);
}

/* Lanes that fill no vector are loaded in part where a level can do that, and go one by one
 * else. */
Test(reductions, line_2_4_lanes_beside_vectors, .timeout = 240)
{
    static const char *const words[] = {
        "sum:f32:700x65:axes=0",
        "max:f32:19x79:axes=0",
        "argmax:f32:9x97:axes=0,last",
        "argmin:f64>i32:33x67:axes=0",
        "log_sum_exp:f32:17x71:axes=0",
        "prod:f16:9x95:axes=0",
        "sum:i8>i64:3x17x83:axes=1",
        "min:i8:30x127:axes=0",
        "mean:bf16:9x3x77:axes=0",
        "l2:f64:40x65:axes=0,in=80x1",
        "sum:f32:5x1037:axes=0,out=-2@2072",
        "max:u16:70x66:axes=0",
    };
    static const tly_data data[] = { TLY_DATA_EXACT, TLY_DATA_SPECIAL, TLY_DATA_TIES };
    CHECK_WORDS(words, data, 0);
}

/* ---- 4.4, 4.5, 5.4: of several elements at once, what one of them decides ---- */

Test(reductions, line_4_4_several_at_once, .timeout = 240)
{
    static const char *const words[] = {
        "max:f32:5x1031:axes=1",         "min:f64:3x700:axes=1",
        "min:f32:97x83:axes=0",          "max:f64:61x37:axes=0",
        "max:f32:5001x3:axes=0",         "min:f32:4x3x300:axes=0+2",
        "argmax:f32:5x1031:axes=1,last", "argmin:f64:97x35:axes=0",
        "argmax:f32:5001x3:axes=0",      "argmin:f32:33x29:axes=1",
        "sum:f32:9x1031:axes=1",         "sum:f32:33x20:axes=1",
        "mean:f64:700x65:axes=0",        "prod:f32:33x20:axes=1",
        "prod:f32:5x3x40x35:axes=0+2",   "log_sum_exp:f32:5x3x40x35:axes=0+2",
    };
    static const tly_data data[] = { TLY_DATA_ZEROS, TLY_DATA_SIGNED, TLY_DATA_TIES,
                                     TLY_DATA_SPECIAL, TLY_DATA_RANGE };
    CHECK_WORDS(words, data, 0);
}

/* ---- short rows of several steps, several at once ---- */

Test(reductions, line_5_1_rows_of_steps, .timeout = 240)
{
    static const char *const words[] = {
        "sum:f32:5000x9x5:axes=0+2",
        "prod:f64:300x8x7:axes=0+2",
        "argmax:f32:5000x9x3:axes=0+2",
        "l2:bf16:5001x20x16:axes=0+2",
        "sum:f32:5x33x49:axes=0+2",
        "sum:f32:1024x33x9:axes=0+2",
        "mean:bf16:70x40x8:axes=0+2,out=-2@78",
        "prod:f32:70x35x17:axes=0+2",
        "prod:f64:9x37x200:axes=0+2",
        "prod:f16:40x33x4:axes=0+2",
        "max:f64:9x40x12:axes=0+2",
        "min:i8:9x40x65:axes=0+2",
        "argmax:f32:33x37x20:axes=0+2,last",
        "argmin:f16:70x32x5:axes=0+2",
        "argmax:f32:20x35x150:axes=0+2",
        "log_sum_exp:f32:7x45x130:axes=0+2",
        "l2:f64:3x33x31:axes=0+2,in=4000x50x1",
        "l2:f32:37x40x20:axes=0+2",
        "mean:i64:37x40x20:axes=0+2",
        "sum:f32:3x4x33x20:axes=0+1+3,in=5000x700x20x1",
        "argmax:f32:3x4x33x20:axes=0+1+3,in=5000x700x20x1",
    };
    static const tly_data data[] = { TLY_DATA_EXACT,   TLY_DATA_SIGNED, TLY_DATA_TIES,
                                     TLY_DATA_SPECIAL, TLY_DATA_RANGE,  TLY_DATA_GROW,
                                     TLY_DATA_SCALED };
    CHECK_WORDS(words, data, 0);
}

/* Rows of more elements than a chain of a product has: one that is done once more because of a
 * neighbour's has its bits. */
Test(reductions, line_5_1_medium_products, .timeout = 240)
{
    static const char *const words[] = {
        "prod:f32:49x300:axes=1",          "prod:f64:49x250:axes=1",
        "prod:f32>f64:49x248:axes=1",      "prod:f32>f64:248x49:axes=0,in=1x248",
        "prod:f32:49x511:axes=1,in=600x1", "prod:f16:49x333:axes=1",
    };
    static const tly_data data[] = { TLY_DATA_EXACT, TLY_DATA_SIGNED, TLY_DATA_RANGE, TLY_DATA_GROW,
                                     TLY_DATA_BITS };
    CHECK_WORDS(words, data, 0);
}

/* Rows that fit a part of a vector and do not fill it, wherever they lie. */
Test(reductions, line_5_1_rows_within_parts, .timeout = 240)
{
    static const char *const words[] = {
        "sum:f32:33x3:axes=1",         "max:f64:41x3:axes=1",
        "argmax:f32:37x5:axes=1,last", "argmin:f16:40x7:axes=1",
        "prod:f32:50x7:axes=1",        "log_sum_exp:f32:19x6:axes=1",
        "sum:f32:33x3:axes=1,in=5x1",  "max:i32:70x4:axes=1,in=9x1,out=2",
        "sum:f32:5x33x5:axes=0+2",     "prod:f64:9x35x3:axes=0+2",
        "argmax:f32:70x33x5:axes=0+2", "l2:f32:37x6:axes=1",
        "l2:bf16:40x20:axes=1",        "mean:u64:41x3:axes=1",
    };
    static const tly_data data[] = { TLY_DATA_EXACT,   TLY_DATA_SIGNED, TLY_DATA_TIES,
                                     TLY_DATA_SPECIAL, TLY_DATA_RANGE,  TLY_DATA_SCALED };
    CHECK_WORDS(words, data, 0);
}

/* ---- outer slices of few steps ---- */

/* By vectors of lanes whose last one begins where it ends with the slice, and of few lanes those of
 * several slices in a vector. */
Test(reductions, line_5_1_short_slices, .timeout = 240)
{
    static const char *const words[] = {
        "log_sum_exp:f32:21x4x5:axes=1",
        "log_sum_exp:f16:9x3x40:axes=1",
        "sum:f32:37x3x3:axes=1",
        "max:f32:23x4x4:axes=1",
        "prod:f64:19x2x2:axes=1",
        "argmax:f32:31x3x5:axes=1,last",
        "sum:f16:21x9x7:axes=1",
        "mean:bf16:18x5x15:axes=1",
        "min:u8:40x6x9:axes=1",
        "sum:i8>i64:17x4x3:axes=1",
        "mean:f32:23x3x6:axes=1",
        "l2:f32:29x4x3:axes=1",
        "l2:f64:9x7x20:axes=1",
        "mean:f64:9x3x50:axes=1",
        "sum:f32:9x5x17:axes=1",
        "sum:f32:7x6x150:axes=1,in=1000x160x1",
        "argmin:f16>u32:9x4x33:axes=1",
        "prod:f32:6x30x41:axes=1",
        "max:f64:5x3x1100:axes=1",
        "sum:f32:4x2x1029:axes=1",
        "sum:f32:9x5x17:axes=1,in=-85x17x1@680",
        "sum:i32:33x3x3:axes=1,in=-9x3x1@288",
        "mean:i64:9x5x6:axes=1",
        "sum_square:bf16:9x5x6:axes=1,out=7x1",
        "l1:f32:11x5x6:axes=1,order=serial",
        "log_sum:f32:11x2x5:axes=1",
    };
    static const tly_data data[] = { TLY_DATA_EXACT, TLY_DATA_SIGNED,  TLY_DATA_RANGE,
                                     TLY_DATA_TIES,  TLY_DATA_SPECIAL, TLY_DATA_SCALED };
    CHECK_WORDS(words, data, 0);
}

/* ---- few long lanes, whose axis is cut in chunks ---- */

Test(reductions, line_5_1_long_lanes, .timeout = 240)
{
    static const char *const words[] = {
        "sum:f32:40001x3:axes=0",
        "mean:f16:90001x2:axes=0",
        "log_sum:f64:9001x2:axes=0,out=-1@1",
        "log_sum_exp:f32:30011x5:axes=0",
        "argmax:f32:50001x2:axes=0,last",
        "argmin:i8>i32:50001x2:axes=0,in=3x2",
        "max:i8:70001x3:axes=0",
        "prod:f32:50001x3:axes=0",
        "prod:i32:50001x3:axes=0",
        "sum:f32:300x200x3:axes=0+1,in=1000x3x1",
        "l2:f32:3x20001x2:axes=1",
        "l2:f64:20001x70:axes=0,in=0x1",
        "mean:i64:20001x2:axes=0",
        "sum:f32:20001x2:axes=0,order=serial",
    };
    static const tly_data data[] = { TLY_DATA_EXACT, TLY_DATA_SIGNED,  TLY_DATA_RANGE,
                                     TLY_DATA_GROW,  TLY_DATA_SPECIAL, TLY_DATA_SCALED };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(words); k++)
        for (size_t n = 0; n < COUNT(data); n++) {
            tly_trials_check(&t, words[k], data[n], n);
            if (!strstr(words[k], "serial") && strncmp(words[k], "prod:f", 6))
                tly_trials_check_plan(&t, words[k], "chunk=96", data[n], n);
        }
    tly_trials_close(&t);
}

/* A chunk of one lane overflows, the lane does not, and the lane beside it takes no notice; nor
 * is it one chain of additions, which would be off by 1e-2. */
Test(reductions, line_5_4_long_lanes, .timeout = 240)
{
    enum { STEPS = 1 << 20 };
    tly_levels levels;
    tly_require_levels(&levels);
    float *in = malloc(sizeof(float) * 2 * STEPS), first = 0;
    cr_assert(in != NULL);
    tally_kernel *kernel = make(&levels, "sum:f32:1048576x2:axes=0");
    for (int round = 0; round < 4; round++) {
        const int overflows = round & 1, threads = 1 + round;
        float out[2] = { 7, 7 };
        for (int i = 0; i < 2 * STEPS; i++)
            in[i] = i % 2 || !overflows ? .1f : 0;
        if (overflows) {
            in[0] = -3e38f;
            in[2 * STEPS - 4] = in[2 * STEPS - 2] = 3e38f;
        }
        cr_expect_eq(tally_kernel_run_threads(kernel, in, out, threads, NULL), TALLY_OK);
        const double exact = (double).1f * STEPS, off = (double)out[1] / exact - 1;
        cr_expect(off < 5e-5 && off > -5e-5, "off by %g", off);
        cr_expect_eq(out[0], overflows ? 3e38f : out[1], "%g", (double)out[0]);
        first = round ? first : out[1];
        cr_expect_eq(out[1], first, "%d threads: %g", threads, (double)out[1]);
    }
    tally_kernel_destroy(&kernel);
    free(in);
    tly_levels_close(&levels);
}

/* 2.5, 4.5: more than 2^32 elements, and as many as an i32 can be the index of, which broadcasts
 * make of few bytes; once, as they take seconds. */
Test(reductions, line_2_5_beyond_32_bits, .timeout = 240)
{
    enum { ROW = 65536 };
    static const struct {
        const char *word;
        int place;
        int64_t index;
    } cases[] = {
        { "argmax:u8>i64:65537x65536:in=0x1,last", 5, (int64_t)ROW * ROW + 5 },
        { "argmax:u8>i32:32768x65536:in=0x1,last", ROW - 1, INT32_MAX },
    };
    static uint8_t in[ROW];
    tally_error error = TALLY_ERROR_INIT;
    tly_levels levels;
    tly_require_levels(&levels);
    for (size_t k = 0; k < COUNT(cases); k++) {
        tally_kernel *kernel = make(&levels, cases[k].word);
        int64_t index = 0; /* little-endian, whatever the output is */
        memset(in, 0, sizeof in);
        in[cases[k].place] = 1;
        cr_expect_eq(tally_kernel_run(kernel, in, &index, &error), TALLY_OK, "%s", error.message);
        cr_expect_eq(index, cases[k].index, "%s: %lld", cases[k].word, (long long)index);
        tally_kernel_destroy(&kernel);
    }
    tly_levels_close(&levels);
}
