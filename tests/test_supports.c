/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally_context_supports says what tally_kernel_create says, word for word, and makes nothing; what
 * is stored it finds without a generator. With the generator of this build, and with fakes of it.
 */
#include "fake.h"

#include "../runtime/cache/identity.h"
#include "supported.h"

#include <criterion/criterion.h>
#include <stdio.h>

static tally_status both_of_word(tally_context *context, const char *word, const char *device,
                                 const char *plan)
{
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    options.device = device;
    options.plan = plan;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    return both(context, &d, &options, word);
}

Test(supports, what_creation_says)
{
    static const struct {
        const char *word, *device, *plan;
        tally_status status;
    } cases[] = {
        { "cumsum:f32:3x400:axis=1", NULL, NULL, TALLY_OK },
        { "cumsum:f32:3x400:axis=1", "cpu:x86-64-v2", NULL, TALLY_OK },
        { "cumsum:f32:3x400:axis=1", "cpu:aarch64", NULL, TALLY_OK },
        { "cumsum:f32:3x400:axis=1", NULL, "unroll=1", TALLY_OK },
        { "cumsum:f32:3x400:axis=1", NULL, "unroll=77", TALLY_INVALID },
        { "cumsum:f32:3x400:axis=1", NULL, "nothing=1", TALLY_INVALID },
        { "cumsum:f32:3x400:axis=1", "cpu:pdp-11", NULL, TALLY_INVALID },
        { "cumsum:f32:3x400:axis=1", "vulkan:63", NULL, TALLY_UNSUPPORTED },
        { "cumsum:f32:3x400:axis=1", "no such device", NULL, TALLY_INVALID },
        { "cumsum:f32:3x?:axis=1", NULL, NULL, TALLY_INVALID },
        { "cumsum:f32:3x4:axis=1,order=exact", NULL, NULL, TALLY_UNSUPPORTED },
        { "cumsum:i8:3x4:axis=1", NULL, NULL, TALLY_UNSUPPORTED },
        { "cumsum:i8>i16:3x4:axis=1", NULL, NULL, TALLY_UNSUPPORTED },
        { "argmax:bool:3x4:axes=1", NULL, NULL, TALLY_OK },
        { "mean:bool>f32:3x4:axes=1", NULL, NULL, TALLY_OK },
        { "mean:i8:3x4:axes=1", NULL, NULL, TALLY_UNSUPPORTED },
        { "mean:i8:3x4:axes=1,post=y*2", NULL, NULL, TALLY_UNSUPPORTED },
        { "mean:i32>f16:3x4:axes=1", NULL, NULL, TALLY_UNSUPPORTED },
        { "log_sum:i32>f32:3x4:axes=1", NULL, NULL, TALLY_UNSUPPORTED },
        { "l1:f16>f32:3x4:axes=1", NULL, NULL, TALLY_UNSUPPORTED },
        { "cumsum:i8:3x0:axis=1", NULL, NULL, TALLY_OK }, /* nothing to make */
        { "sum:f32:3x0:axes=1", NULL, NULL, TALLY_OK },
    };
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tally_status status = both_of_word(context, cases[i].word, cases[i].device,
                                                 cases[i].plan);
        /* A build without LLVM, or a machine of another kind, has other answers, and both give
         * them. */
        cr_expect(status == cases[i].status || status == TALLY_NO_GENERATOR ||
                      status == TALLY_INVALID,
                  "%s: %s", cases[i].word, tally_status_name(status));
    }
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    cr_expect_eq(both(context, &d, NULL, "no operator"), TALLY_INVALID);
    cr_expect_eq(both(context, NULL, NULL, "no descriptor"), TALLY_INVALID);
    d.size = 3;
    cr_expect_eq(both(context, &d, NULL, "no size"), TALLY_INVALID);
    cr_assert_eq(tally_descriptor_parse("sum:f32:4", &d, NULL), TALLY_OK);
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    options.profile = "nonsense";
    cr_expect_eq(both(context, &d, &options, "no profile"), TALLY_INVALID);
    options.size = 1;
    cr_expect_eq(both(context, &d, &options, "no options"), TALLY_INVALID);
    cr_expect_eq(tally_context_supports(NULL, &d, NULL, &error), TALLY_INVALID);
    cr_expect_str_eq(error.field, "usage");
    tally_context_destroy(&context);
}

/* ---- outputs ---- */

#define BIT(dtype) (1u << TALLY_##dtype)
#define OP(op) (1u << TALLY_##op)
#define FLOATS (BIT(F64) | BIT(F32) | BIT(F16) | BIT(BF16))
#define WIDE (BIT(I64) | BIT(I32) | BIT(U64) | BIT(U32))
#define NARROW (BIT(I16) | BIT(I8) | BIT(U16) | BIT(U8) | BIT(BOOL))
#define TOTALS (OP(CUMSUM) | OP(CUMPROD) | OP(SUM) | OP(PROD) | OP(LINREC))
#define NORMS (OP(L2) | OP(LOG_SUM) | OP(LOG_SUM_EXP))
#define PICKS (OP(CUMMAX) | OP(CUMMIN) | OP(MAX) | OP(MIN))
#define RUNNING (OP(CUMARGMAX) | OP(CUMARGMIN))
#define INDICES (OP(ARGMAX) | OP(ARGMIN) | RUNNING)
#define VALUES (TOTALS | NORMS | PICKS | OP(MEAN) | OP(L1) | OP(SUM_SQUARE) | OP(CUMLOGSUMEXP))

/* Words without expressions, with `map`, and with `post` alone. */
enum { PLAIN = 1, MAPPED = 2, POSTED = 4, FUSED = MAPPED | POSTED, ALWAYS = PLAIN | FUSED };

/* Inputs and outputs of the table in docs/word.md. */
static const struct {
    uint32_t ops;
    int words; /* those that may have such an output */
    uint32_t from, to;
    int same; /* the output is the input's dtype */
} outputs[] = {
    { TOTALS | NORMS | OP(MEAN) | OP(L1) | OP(SUM_SQUARE), ALWAYS, FLOATS | WIDE, FLOATS | WIDE,
      1 },
    { PICKS, ALWAYS, FLOATS | WIDE | NARROW, FLOATS | WIDE | NARROW, 1 },
    { OP(CUMLOGSUMEXP), ALWAYS, FLOATS, FLOATS, 1 },
    { TOTALS, ALWAYS, BIT(I8) | BIT(I16) | BIT(I32) | BIT(BOOL), BIT(I64), 0 },
    { TOTALS, ALWAYS, BIT(U8) | BIT(U16) | BIT(U32), BIT(U64), 0 },
    { TOTALS, ALWAYS, NARROW, BIT(I32), 0 },
    { TOTALS, ALWAYS, BIT(U8) | BIT(U16) | BIT(BOOL), BIT(U32), 0 },
    { TOTALS, ALWAYS, BIT(F32), BIT(F64), 0 },
    { TOTALS | NORMS | OP(MEAN), ALWAYS, BIT(F16) | BIT(BF16), BIT(F32), 0 },
    { OP(MEAN), PLAIN | POSTED, WIDE | NARROW, BIT(F32) | BIT(F64), 0 },
    { INDICES, PLAIN | MAPPED, FLOATS | WIDE | NARROW, BIT(I64) | BIT(I32), 0 },
    { INDICES & ~RUNNING, PLAIN | MAPPED, FLOATS | WIDE | NARROW, BIT(U64) | BIT(U32), 0 },
    { VALUES, FUSED, BIT(F64), BIT(F32) | BIT(F16) | BIT(BF16), 0 },
    { VALUES, FUSED, BIT(F32), BIT(F16) | BIT(BF16), 0 },
    { VALUES, FUSED, NARROW, BIT(F32) | BIT(F64), 0 },
    { VALUES, FUSED, BIT(I32) | BIT(U32), BIT(F64), 0 },
};

static int is_made(int op, int word, int from, int to)
{
    int made = 0;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        made |= (outputs[i].ops >> op & 1) && (outputs[i].words & word) &&
                (outputs[i].from >> from & 1) && (outputs[i].to >> to & 1) &&
                (!outputs[i].same || from == to);
    }
    return made;
}

/* Every operator, pair of dtypes and kind of expression. */
Test(supports, outputs)
{
    static const struct {
        int kind;
        const char *option;
    } words[] = {
        { PLAIN, "" },
        { MAPPED, ",map=abs(x)" },
        { POSTED, ",post=abs(y)" },
        { MAPPED, ",map=abs(x),post=abs(y)" },
    };
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        for (int k = 0; k < TALLY_DTYPE_COUNT * TALLY_DTYPE_COUNT * 4; k++) {
            const int word = k % 4, from = k / 4 % TALLY_DTYPE_COUNT,
                      to = k / 4 / TALLY_DTYPE_COUNT;
            char text[TALLY_WORD_MAX];
            tally_descriptor d = TALLY_DESCRIPTOR_INIT;
            tally_error error = TALLY_ERROR_INIT;
            if (from == 0 || to == 0) {
                continue;
            }
            const int recurs = op == TALLY_LINREC;
            snprintf(text, sizeof text, "%s:%s>%s:3x40:%s%s%s", tally_op_name((tally_op)op),
                     tally_dtype_name((tally_dtype)from), tally_dtype_name((tally_dtype)to),
                     tally_op_is_scan((tally_op)op) ? "axis=1" : "axes=1", recurs ? ",coef=x" : "",
                     words[word].option);
            if (tally_descriptor_parse(text, &d, &error) != TALLY_OK) {
                cr_expect(INDICES >> op & 1, "%s: %s", text, error.message);
                continue; /* no dtype of indices, or `post` */
            }
            const tally_status status = tally_context_supports(context, &d, NULL, &error);
            const int made = is_made(op, recurs ? MAPPED : words[word].kind, from, to);
            if (status == TALLY_NO_GENERATOR || status == TALLY_INVALID) {
                continue; /* as above */
            }
            cr_expect_eq(status, made ? TALLY_OK : TALLY_UNSUPPORTED, "%s: %s", text,
                         error.message);
            cr_expect(made || strcmp(error.field, "dtype") == 0, "%s: %s", text, error.field);
        }
    }
    tally_context_destroy(&context);
}

static tally_status no_plan(const tly_problem *problem, const char *level, const char *plan,
                            tally_error *error)
{
    (void)level;
    (void)plan;
    return problem->tensor[TLY_IN].dtype == TALLY_I64
               ? TALLY_OK
               : tly_fail(error, TALLY_UNSUPPORTED, "dtype", "i64 alone");
}

static tally_status no_library(int gpu, tally_error *error)
{
    return tly_fail(error, TALLY_NO_GENERATOR, "device", "no library %d", gpu);
}

static int asked;

static tally_status count_plan(const tly_problem *problem, const char *level, const char *plan,
                               tally_error *error)
{
    asked++;
    return no_plan(problem, level, plan, error);
}

Test(supports, nothing_is_made)
{
    tly_generator generator = fake_generator;
    generator.identity = tly_identity;
    generator.check = count_plan;
    tally_context *context = fake_context(NULL);
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_stats before = TALLY_STATS_INIT, after = TALLY_STATS_INIT;
    tly_context_set_generator(context, &generator);
    cr_assert_eq(tally_descriptor_parse("cumsum:i64:6x100:axis=1", &d, NULL), TALLY_OK);
    tally_context_stats(context, &before);
    cr_expect_eq(tally_context_supports(context, &d, NULL, &error), TALLY_OK, "%s", error.message);
    cr_expect_eq(asked, 1);
    cr_expect_eq(fake_made, 0);
    tally_context_stats(context, &after);
    cr_expect_eq(memcmp(&before, &after, sizeof after), 0, "a counter changed");
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:6x100:axis=1", NULL);
    cr_assert_not_null(kernel);
    tally_context_stats(context, &before);
    cr_expect_eq(tally_context_supports(context, &d, NULL, NULL), TALLY_OK);
    cr_expect_eq(asked, 1, "what is in memory needs no generator");
    tally_context_stats(context, &after);
    cr_expect_eq(memcmp(&before, &after, sizeof after), 0, "a counter changed");

    cr_assert_eq(tally_descriptor_parse("cumsum:f32:6x100:axis=1", &d, NULL), TALLY_OK);
    cr_expect_eq(tally_context_supports(context, &d, NULL, &error), TALLY_UNSUPPORTED);
    cr_expect_str_eq(error.message, "i64 alone");
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* libtally-codegen is there, and what it opens is not. */
Test(supports, libraries_that_are_missing)
{
    tly_generator generator = fake_generator;
    tally_context *context = fake_context(NULL);
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tly_context_set_generator(context, &generator);
    cr_assert_eq(tally_descriptor_parse("cumsum:i64:6x100:axis=1", &d, NULL), TALLY_OK);
    cr_expect_eq(tally_context_supports(context, &d, NULL, &error), TALLY_OK,
                 "a generator that cannot say");
    generator.open = no_library;
    cr_expect_eq(tally_context_supports(context, &d, NULL, &error), TALLY_OK,
                 "a generator of another build, whose table is not known");
    generator.identity = tly_identity;
    cr_expect_eq(tally_context_supports(context, &d, NULL, &error), TALLY_NO_GENERATOR);
    cr_expect_str_eq(error.message, "no library 0");
    generator.check = no_plan;
    d.dtype = TALLY_F32;
    cr_expect_eq(tally_context_supports(context, &d, NULL, &error), TALLY_UNSUPPORTED,
                 "what is never there goes before what is not there now");
    tally_context_destroy(&context);
}

/* ---- what is stored ---- */

static char key[1 << 12], value[1 << 16];
static size_t key_bytes, value_bytes;

static int load(void *user, const void *k, size_t bytes, tally_write give, void *to)
{
    (void)user;
    return bytes == key_bytes && memcmp(k, key, bytes) == 0 ? give(to, value, value_bytes) : 1;
}

static void save(void *user, const void *k, size_t bytes, const void *data, size_t count)
{
    (void)user;
    memcpy(key, k, key_bytes = bytes);
    memcpy(value, data, value_bytes = count);
}

Test(supports, what_is_stored_without_a_generator)
{
    const tally_compile_mode modes[] = { TALLY_COMPILE_WAIT, TALLY_COMPILE_BACKGROUND,
                                         TALLY_COMPILE_NEVER };
    tally_context_options options = TALLY_CONTEXT_OPTIONS_INIT;
    tly_generator lasting = fake_generator;
    options.cache_load = load;
    options.cache_save = save;
    lasting.identity = tly_identity;
    tally_context *context = fake_context(&options);
    tly_context_set_generator(context, &lasting);
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:6x100:axis=1", NULL);
    cr_assert_not_null(kernel);
    cr_assert_gt(value_bytes, 0u);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);

    options.generator = "/no/such/generator";
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        options.compile = modes[i];
        cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
        cr_expect_eq(both_of_word(context, "cumsum:i64:6x100:axis=1", NULL, NULL), TALLY_OK);
        cr_expect_eq(both_of_word(context, "cumsum:i64:9x200:axis=1", NULL, NULL), TALLY_OK);
        cr_expect_eq(both_of_word(context, "cumsum:i64:9x100:axis=0", NULL, NULL),
                     TALLY_NO_GENERATOR);
        cr_expect_eq(both_of_word(context, "sum:f32:9x100:axes=0", NULL, "unroll=1"),
                     TALLY_NO_GENERATOR);
        tally_context_destroy(&context);
    }
    value[value_bytes / 2] ^= 1; /* damaged: as if it were not there */
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
    cr_expect_eq(both_of_word(context, "cumsum:i64:6x100:axis=1", NULL, NULL), TALLY_NO_GENERATOR);
    tally_context_destroy(&context);
}
