/* SPDX-License-Identifier: Apache-2.0 */
/* Creating kernels through the public API, with a generator that needs no LLVM. */
#include "fake.h"

#include "../runtime/cache/identity.h"
#include "../runtime/cpu/cpu.h"
#include <tally/cache.h>
#include <tally/kir.h>
#include <tally/manifest.h>

#include <criterion/criterion.h>
#include <stdio.h>

static tally_stats stats_of(const tally_context *context)
{
    tally_stats stats = { .size = sizeof stats };
    tally_context_stats(context, &stats);
    return stats;
}

Test(kernel, refuses_reserved_fields)
{
    tally_context_options options = TALLY_CONTEXT_OPTIONS_INIT;
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    options.log_reserved = 7;
    cr_expect_eq(tally_context_create(&options, &context, &error), TALLY_INVALID);
    cr_expect_str_eq(error.field, "usage");
    cr_expect_not_null(strstr(error.message, "log_reserved is 7"), "%s", error.message);
    cr_expect_null(context);
}

Test(kernel, reports_zeros_of_no_context)
{
    tally_stats stats;
    memset(&stats, 0x5a, sizeof stats);
    stats.size = offsetof(tally_stats, quick);
    tally_context_stats(NULL, &stats);
    cr_expect(stats.compiled == 0 && stats.loaded == 0, "zeros");
    cr_expect_eq(stats.quick, UINT64_C(0x5a5a5a5a5a5a5a5a), "beyond the caller's struct");
    tally_context_stats(NULL, NULL);
    tally_context *context = fake_context(NULL);
    tally_context_stats(context, NULL);
    tally_context_destroy(&context);
}

Test(kernel, refuses_devices_by_name)
{
    static const struct {
        const char *word, *device;
        tally_status status;
        const char *field, *message;
    } cases[] = {
        { "cumsum:i64:4:axis=0", "vulkan:63", TALLY_UNSUPPORTED, "device", "vulkan:63" },
        { "cumsum:i64:4:axis=0", "vulkan:99999999999999999999", TALLY_UNSUPPORTED, "device",
          "vulkan:9" },
        { "cumsum:i64:4:axis=0", "vulkan:", TALLY_INVALID, "device", "vulkan:" },
        { "cumsum:i64:4:axis=0", "cpu:x86-64-v9", TALLY_INVALID, "device", "x86-64-v9" },
        { "cumsum:i64:4:axis=0", "", TALLY_INVALID, "device", "no device" },
        { "sum:f32:4", "nowhere", TALLY_INVALID, "device", "nowhere" }, /* judged first */
        { "cumsum:i64:0:axis=0", "vulkan:63", TALLY_UNSUPPORTED, "device", "vulkan:63" },
    };
    tally_context *context = fake_context(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tally_descriptor d;
        tally_error error = TALLY_ERROR_INIT;
        cr_assert_eq(tally_descriptor_parse(cases[i].word, &d, &error), TALLY_OK, "%s: %s",
                     cases[i].word, error.message);
        tally_kernel_options options = { .size = sizeof options, .device = cases[i].device };
        tally_kernel *kernel = NULL;
        tally_status status = tally_kernel_create(context, &d, &options, &kernel, &error);
        cr_assert_eq(status, cases[i].status, "%s", cases[i].word);
        cr_assert_eq(error.status, status);
        cr_assert_null(kernel);
        cr_assert_str_eq(error.field, cases[i].field, "%s: %s", cases[i].word, error.message);
        cr_assert_not_null(strstr(error.message, cases[i].message), "%s", error.message);
    }
    cr_assert_eq(fake_made, 0);
    tally_context_destroy(&context);
}

static tally_status picky_generate(const tly_problem *problem, const char *level, const char *plan,
                                   tly_artifact *artifact, tally_error *error)
{
    if (problem->tensor[TLY_IN].dtype == TALLY_I16)
        return fake_generate(problem, level, plan, artifact, error);
    tly_fail(error, TALLY_UNSUPPORTED, "dtype", "this generator likes i16");
    tly_error_hint(error, "it likes nothing else");
    return TALLY_UNSUPPORTED;
}

/* It may be of another day than libtally, and know less or more than any table here: of words that
 * mean something it alone says what there is, and why not. */
Test(kernel, what_exists_is_the_generators_to_say)
{
    static const struct {
        const char *word;
        int likes;
    } cases[] = {
        { "cumsum:i64:4:axis=0", 0 },
        { "cumsum:f32:4:axis=0", 0 },
        { "cumsum:i16:4:axis=0", 1 },
        { "sum:i16:4", 1 },
        { "cumlogsumexp:i16>u8:4:axis=0", 1 },
        { "cumsum:i16:4:axis=0,order=exact", 1 },
        { "sum:i8>bool:4", 0 },
    };
    tly_generator picky = fake_generator;
    picky.generate = picky_generate;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tally_context *context = fake_context(NULL);
        tally_error error = TALLY_ERROR_INIT;
        tly_context_set_generator(context, &picky);
        tally_kernel *kernel = fake_kernel(context, cases[i].word, &error);
        cr_expect_eq(kernel != NULL, cases[i].likes, "%s: %s", cases[i].word, error.message);
        if (!cases[i].likes) {
            cr_expect_eq(error.status, TALLY_UNSUPPORTED, "%s", cases[i].word);
            cr_expect_str_eq(error.message, "this generator likes i16");
            cr_expect_str_eq(error.hint, "it likes nothing else");
        }
        tally_kernel_destroy(&kernel);
        tally_context_destroy(&context);
    }
}

static int kir_was_read;

static tally_status read_kir(const char *text, size_t bytes, tly_kir **kir, tally_error *error)
{
    (void)text;
    (void)bytes;
    (void)kir;
    kir_was_read = 1;
    return tly_fail(error, TALLY_INVALID, "kir", "nothing of this text");
}

static int write_nothing(void *user, const char *text, size_t bytes)
{
    (void)user;
    (void)text;
    (void)bytes;
    return 0;
}

/* The table of another build's generator may be shorter. */
Test(kernel, kir_is_read_by_a_generator_of_this_build)
{
    tly_generator generator = fake_generator;
    tally_context *context = fake_context(NULL);
    tally_error error = TALLY_ERROR_INIT;
    tly_context_set_generator(context, &generator);
    generator.read_kir = read_kir;
    cr_expect_eq(
        tally_kir_inspect(context, "", 0, NULL, TALLY_STAGE_KIR, write_nothing, NULL, &error),
        TALLY_NO_GENERATOR);
    cr_expect_str_eq(error.message, "this libtally-codegen reads no kernel IR");
    cr_expect_eq(kir_was_read, 0);
    generator.identity = tly_identity;
    cr_expect_eq(
        tally_kir_inspect(context, "", 0, NULL, TALLY_STAGE_KIR, write_nothing, NULL, &error),
        TALLY_INVALID);
    cr_expect_eq(kir_was_read, 1);
    tally_context_destroy(&context);
}

Test(kernel, equal_problems_share_code)
{
    static const char *const words[] = {
        "cumsum:i64:6x100:axis=1",   "cumsum:i64:6x100:axis=-1",  "cumsum:i64:1x6x100:axis=2",
        "cumsum:i64:2x3x100:axis=2", "cumsum:i64:6x1x100:axis=2", "cumsum:i64:9x100:axis=1",
        "cumsum:i64:6x222:axis=1",   "cumsum:u64:6x100:axis=1",
    };
    enum { WORDS = sizeof words / sizeof words[0] };
    tally_context *context = fake_context(NULL);
    tally_kernel *kernels[WORDS];
    for (int i = 0; i < WORDS; i++) {
        kernels[i] = fake_kernel(context, words[i], NULL);
        cr_assert_not_null(kernels[i]);
        cr_assert_eq(kernels[i]->object, kernels[0]->object, "%s", words[i]);
    }
    cr_assert_eq(stats_of(context).compiled, 1);
    cr_assert_eq(stats_of(context).cached, 1);
    cr_assert_eq(stats_of(context).hits, WORDS - 1);
    for (int i = 0; i < WORDS; i++) {
        tally_kernel_destroy(&kernels[i]);
        cr_assert_null(kernels[i]);
    }
    tally_kernel_destroy(&kernels[0]); /* NULL is valid */
    tally_kernel_destroy(NULL);
    tally_context_destroy(&context);
    cr_assert_null(context);
}

/* They differ in one operation, constant, operand's dtype or operand's place. */
Test(kernel, stages_have_code_of_their_own)
{
    static const char *const words[] = {
        "cumsum:f32:6x100:axis=1",
        "cumsum:f32:6x100:axis=1,map=x+1",
        "cumsum:f32:6x100:axis=1,map=x+2",
        "cumsum:f32:6x100:axis=1,map=x*2",
        "cumsum:f32:6x100:axis=1,post=y+2",
        "cumsum:f32:6x100:axis=1,map=x+2,post=y+2",
        "cumsum:f32:6x100:axis=1,a=f32,map=x+a",
        "cumsum:f32:6x100:axis=1,a=f16,map=x+a",
        "cumsum:f32:6x100:axis=1,a=f32,b=f16,map=x+a*b",
        "cumsum:f32:6x100:axis=1,a=f16,b=f32,map=x+a*b",
        "cumsum:f32:6x100:axis=1,a=f32/none,map=x+a",
        "cumsum:f32:6x100:axis=1,a=f32/0,map=x+a",
    };
    enum { WORDS = sizeof words / sizeof words[0] };
    tally_context *context = fake_context(NULL);
    tally_kernel *kernels[WORDS];
    for (int i = 0; i < WORDS; i++) {
        kernels[i] = fake_kernel(context, words[i], NULL);
        cr_assert_not_null(kernels[i]);
        for (int k = 0; k < i; k++) {
            cr_expect_neq(kernels[i]->object, kernels[k]->object, "%s and %s", words[i], words[k]);
        }
    }
    cr_expect_eq(stats_of(context).compiled, WORDS);
    for (int i = 0; i < WORDS; i++) {
        tally_kernel_destroy(&kernels[i]);
    }
    tally_context_destroy(&context);
}

/* Canonical, with sizes, whatever the kernel shares with others. */
Test(kernel, word)
{
    static const struct {
        const char *asked, *word;
    } cases[] = {
        { "cumsum:i64:6x100:axis=-1", "cumsum:i64:6x100:axis=1" },
        { "cumsum:i64:9x100:axis=1", "cumsum:i64:9x100:axis=1" },
        { "cumsum:u64:9x100:axis=1,in=100x1", "cumsum:u64:9x100:axis=1" },
        { "cumsum:i64:9x100:reverse,axis=1", "cumsum:i64:9x100:axis=1,reverse" },
        { "sum:i64:9x100:axes=0+1,in=1x9", "sum:i64:9x100:in=1x9" },
        { "cumsum:i64:0:axis=0", "cumsum:i64:0:axis=0" },
    };
    tally_context *context = fake_context(NULL);
    tally_error error = TALLY_ERROR_INIT;
    char text[TALLY_WORD_MAX];
    size_t length = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tally_kernel *kernel = fake_kernel(context, cases[i].asked, &error);
        cr_assert_not_null(kernel, "%s: %s", cases[i].asked, error.message);
        cr_assert_eq(tally_kernel_word(kernel, text, sizeof text, &length, &error), TALLY_OK);
        cr_expect_str_eq(text, cases[i].word);
        cr_expect_eq(length, strlen(text));
        strcpy(text, "as it was");
        cr_expect_eq(tally_kernel_word(kernel, text, length, &length, &error), TALLY_INVALID);
        cr_expect_str_eq(error.field, "usage");
        cr_expect_str_eq(text, "as it was");
        cr_expect_eq(tally_kernel_word(kernel, text, length + 1, NULL, NULL), TALLY_OK);
        cr_expect_eq(tally_kernel_word(kernel, NULL, 0, NULL, NULL), TALLY_INVALID);
        tally_kernel_destroy(&kernel);
    }
    cr_expect_eq(tally_kernel_word(NULL, text, sizeof text, NULL, &error), TALLY_INVALID);
    tally_context_destroy(&context);
}

Test(kernel, the_same_descriptor_again_is_the_same_kernel)
{
    tally_context *context = fake_context(NULL), *other = fake_context(NULL);
    const char *word = "cumsum:i64:2x3x4x5:axis=1";
    tally_kernel *first = fake_kernel(context, word, NULL);
    for (int i = 0; i < 5; i++) {
        tally_kernel *again = fake_kernel(context, word, NULL);
        cr_assert_eq(again, first);
        tally_kernel_destroy(&again);
    }
    cr_assert_eq(stats_of(context).hits, 5);
    tally_descriptor d;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK);
    d.in_strides[4] = d.out_strides[7] = 1; /* beyond the rank */
    tally_kernel *beyond = NULL;
    cr_assert_eq(tally_kernel_create(context, &d, NULL, &beyond, NULL), TALLY_OK);
    cr_assert_eq(beyond, first);
    tally_kernel_destroy(&beyond);
    tally_kernel *elsewhere = fake_kernel(other, word, NULL);
    cr_assert_neq(elsewhere, first);

    /* Each field that the kernel depends on tells descriptors apart. */
    static const char *const words[] = {
        "cumsum:i64:2x3x4x5:axis=1,reverse",
        "cumsum:i64:2x3x4x5:axis=1,exclusive",
        "cumprod:i64:2x3x4x5:axis=1",
        "cumsum:u64:2x3x4x5:axis=1",
        "cumsum:i64:2x3x4x5:axis=2",
        "cumsum:i64:2x3x5x4:axis=1",
        "cumsum:i64:2x3x4:axis=1",
        "cumsum:i64:2x3x4x5:axis=1,in=60x20x5x-1@4",
        "cumsum:i64:2x3x4x5:axis=1,in=60x20x5x1@4",
        "cumsum:i64:2x3x4x5:axis=1,out=60x20x5x1@4",
        "cumsum:i64:2x3x4x5:axis=1,order=serial",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        tally_kernel *kernel = fake_kernel(context, words[i], NULL);
        cr_assert_not_null(kernel, "%s", words[i]);
        cr_assert_neq(kernel, first, "%s", words[i]);
        tally_kernel_destroy(&kernel);
    }
    /* A descriptor that is refused is not taken for the one that it is like. */
    int64_t *const unflagged[] = { &d.in_strides[0], &d.in_strides[3], &d.in_offset,
                                   &d.out_strides[1], &d.out_offset };
    for (size_t i = 0; i < sizeof unflagged / sizeof unflagged[0]; i++) {
        tally_kernel *kernel = NULL;
        *unflagged[i] = 1;
        cr_assert_eq(tally_kernel_create(context, &d, NULL, &kernel, NULL), TALLY_INVALID);
        *unflagged[i] = 0;
    }
    int host = tly_level_host();
    for (int level = 0; level < TLY_LEVELS; level++) {
        char device[32];
        snprintf(device, sizeof device, "cpu:%s", tly_level_name(level));
        tally_kernel_options options = { .size = sizeof options, .device = device };
        tally_kernel *kernel;
        cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, NULL), TALLY_OK);
        cr_assert_eq(kernel->object == first->object, level == host);
        cr_assert_eq(kernel->level, level);
        tally_kernel_destroy(&kernel);
    }
    tally_kernel_destroy(&first);
    tally_kernel_destroy(&elsewhere);
    tally_context_destroy(&context);
    tally_context_destroy(&other);
}

/* Kernels in threads' own tables do not keep the cache above its bound, and those in use stay. */
Test(kernel, the_bound_holds)
{
    tally_context_options options = { .size = sizeof options, .cache_kernels = 2 };
    tally_context *context = fake_context(&options);
    static const char *const plans[] = { "a=0", "b=0", "c=0", "d=0", "e=0" };
    tally_descriptor d;
    cr_assert_eq(tally_descriptor_parse("cumsum:i64:5:axis=0", &d, NULL), TALLY_OK);
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        tally_kernel *hot = fake_kernel(context, "cumsum:u64:5:axis=0", NULL);
        cr_assert_not_null(hot);
        tally_kernel_destroy(&hot);
        hot = fake_kernel(context, "cumsum:u64:5:axis=0", NULL);
        tally_kernel_destroy(&hot);
        tally_kernel_options with = { .size = sizeof with, .plan = plans[i] };
        tally_kernel *kernel;
        cr_assert_eq(tally_kernel_create(context, &d, &with, &kernel, NULL), TALLY_OK);
        tally_kernel_destroy(&kernel);
        cr_assert_leq(stats_of(context).cached, 2);
    }
    cr_assert_eq(stats_of(context).compiled, 6);
    cr_assert_eq(stats_of(context).evicted, 4);
    tally_context_destroy(&context);
}

/* Kernels that are held may exceed the bound, until the last of them is given back. */
Test(kernel, the_bound_holds_when_the_last_is_gone)
{
    enum { HELD = 5 };
    tally_context_options options = { .size = sizeof options, .cache_kernels = 2 };
    tally_context *context = fake_context(&options);
    static const char *const plans[HELD] = { "a=0", "b=0", "c=0", "d=0", "e=0" };
    tally_kernel *held[HELD];
    tally_descriptor d;
    cr_assert_eq(tally_descriptor_parse("cumsum:i64:5:axis=0", &d, NULL), TALLY_OK);
    for (size_t i = 0; i < HELD; i++) {
        tally_kernel_options with = { .size = sizeof with, .plan = plans[i] };
        cr_assert_eq(tally_kernel_create(context, &d, &with, &held[i], NULL), TALLY_OK);
    }
    tally_kernel *seen = fake_kernel(context, "cumsum:u64:5:axis=0", NULL);
    cr_assert_eq(stats_of(context).cached, HELD + 1);
    for (size_t i = 0; i < HELD; i++) {
        tally_kernel_destroy(&held[i]);
        cr_assert_leq(stats_of(context).cached, i < HELD - 1 ? HELD - i : 2);
    }
    cr_assert_leq(stats_of(context).cached, 2);
    tally_kernel_destroy(&seen);
    cr_assert_leq(stats_of(context).cached, 2);
    tally_context_destroy(&context);
}

/* A kernel needs every size, whatever else is asked for; what is only shown does not. */
Test(kernel, open_sizes_are_refused)
{
    static const char *const devices[] = { NULL, "cpu:aarch64", "vulkan:63" };
    tally_context *context = fake_context(NULL);
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        tally_kernel_options options = { .size = sizeof options, .device = devices[i] };
        tally_descriptor d;
        tally_error error = TALLY_ERROR_INIT;
        tally_kernel *kernel = NULL;
        cr_assert_eq(tally_descriptor_parse("cumsum:i64:?x4:axis=1", &d, NULL), TALLY_OK);
        cr_expect_eq(tally_kernel_create(context, &d, &options, &kernel, &error), TALLY_INVALID);
        cr_expect_str_eq(error.field, "sizes");
        cr_expect_null(kernel);
    }
    tally_context_destroy(&context);
}

static int count_bytes(void *user, const char *text, size_t bytes)
{
    (void)text;
    *(size_t *)user += bytes;
    return 0;
}

static tally_status make_pack(tally_context *context, const tally_descriptor *d, size_t *bytes,
                              tally_error *error)
{
    const tally_function function = { .size = sizeof function, .name = "f", .descriptor = d };
    const char *const devices[] = { "cpu:x86-64-v2" };
    return tally_compile(context, &function, 1, devices, 1, TALLY_FORMAT_OBJECT, count_bytes, bytes,
                         error);
}

/* Words that fuse stages: no way to a kernel makes one, and none takes them for the plain word,
 * whose kernel this thread has seen. */
Test(kernel, stages_are_refused)
{
    static const struct {
        const char *option, *field;
    } cases[] = {
        { "segments=i32/?", "segments" },
    };
    tally_context *context = fake_context(NULL);
    tally_kernel *plain = fake_kernel(context, "cumsum:i64:2x3:axis=1", NULL);
    cr_assert_not_null(plain);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char word[64], text[TALLY_WORD_MAX];
        tally_descriptor d;
        tally_error error = TALLY_ERROR_INIT;
        tally_kernel *kernel = NULL;
        tally_manifest *manifest = NULL;
        size_t bytes = 0;
        snprintf(word, sizeof word, "cumsum:i64:2x3:axis=1,%s", cases[i].option);
        cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s", error.message);
        const tally_status statuses[] = {
            tally_kernel_create(context, &d, NULL, &kernel, &error),
            tally_context_supports(context, &d, NULL, &error),
            tally_context_warm(context, &d, 1, NULL, &error),
            tally_cache_keep(context, &d, NULL, &error),
            tally_manifest_create(context, &d, NULL, &manifest, &error),
            tally_inspect(context, &d, NULL, TALLY_STAGE_PLAN, count_bytes, &bytes, &error),
            tally_kir_run(context, "", 0, &d, NULL, text, text, 0, &error),
            make_pack(context, &d, &bytes, &error),
        };
        for (size_t k = 0; k < sizeof statuses / sizeof *statuses; k++) {
            cr_expect_eq(statuses[k], TALLY_UNSUPPORTED, "%s: way %zu: %d", word, k, statuses[k]);
        }
        cr_expect_str_eq(error.field, cases[i].field);
        cr_expect(kernel == NULL && manifest == NULL && bytes == 0, "%s: something was made", word);
        cr_expect_eq(tally_inspect(context, &d, NULL, TALLY_STAGE_WORD, count_bytes, &bytes, NULL),
                     TALLY_OK);
        cr_expect_eq(bytes, strlen(word) + 1);
    }
    /* A struct of the version before has none of the fields, and what is behind it is not read. */
    tally_descriptor older;
    tally_kernel *same = NULL;
    cr_assert_eq(tally_descriptor_parse("cumsum:i64:2x3:axis=1", &older, NULL), TALLY_OK);
    older.size = offsetof(tally_descriptor, operands);
    strcpy(older.map, "x*2");
    cr_assert_eq(tally_kernel_create(context, &older, NULL, &same, NULL), TALLY_OK);
    cr_expect_eq(same, plain);
    tally_kernel_destroy(&same);
    tally_kernel_destroy(&plain);
    tally_context_destroy(&context);
}

/* status.h: a call that fails leaves all but the error as it was. */
Test(kernel, a_failing_call_leaves_its_outputs)
{
    tally_context *context = fake_context(NULL), *mark = (tally_context *)&context;
    tally_kernel *kernel = (tally_kernel *)&context, *kept = kernel;
    tally_context_options bad = { .size = sizeof bad, .threads = -1 };
    tally_descriptor d = { .size = sizeof d };
    tally_device devices[2];
    memset(devices, 0x5a, sizeof devices);
    devices[0].size = 8;
    size_t count = 77;
    cr_expect_eq(tally_context_create(&bad, &mark, NULL), TALLY_INVALID);
    cr_expect_eq(mark, (tally_context *)&context);
    cr_expect_eq(tally_kernel_create(context, &d, NULL, &kernel, NULL), TALLY_INVALID);
    cr_expect_eq(kernel, kept);
    cr_expect_eq(tally_devices(devices, 2, &count, NULL), TALLY_INVALID);
    cr_expect_eq(tally_devices(NULL, 3, &count, NULL), TALLY_INVALID);
    cr_expect_eq(tally_devices(NULL, 3, NULL, NULL), TALLY_INVALID);
    cr_expect_eq(count, 77);
    cr_expect_eq(devices[1].size, (size_t)UINT64_C(0x5a5a5a5a5a5a5a5a));
    cr_expect_eq(tally_devices(NULL, 0, NULL, NULL), TALLY_OK);
    tally_context_destroy(&context);
}

/* More descriptors than a thread remembers; then a thread that ends gives back what it knew. */
static void *ask_for_many(void *context)
{
    for (int round = 0; round < 2; round++) {
        for (int n = 1; n < 200; n++) {
            char word[64];
            snprintf(word, sizeof word, "cumsum:i64:%dx40:axis=1", n);
            tally_kernel *kernel = fake_kernel(context, word, NULL);
            cr_assert_not_null(kernel);
            cr_assert_eq(kernel->rows, n);
            tally_kernel_destroy(&kernel);
        }
    }
    return NULL;
}

Test(kernel, threads_forget)
{
    tally_context *context = fake_context(NULL);
    ask_for_many(context);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, ask_for_many, context), 0);
    pthread_join(thread, NULL);
    cr_assert_eq(stats_of(context).compiled, 1);
    cr_assert_eq(stats_of(context).hits, 4 * 199 - 1);
    tally_context_destroy(&context);
}

Test(kernel, levels_and_devices)
{
    tally_device devices[8] = { { .size = sizeof(tally_device) } };
    size_t count = TLY_LEVELS;
    cr_assert_eq(tally_devices(devices, TLY_LEVELS, NULL, NULL), TALLY_OK);
    tally_context *context = fake_context(NULL);
    tally_descriptor d;
    cr_assert_eq(tally_descriptor_parse("cumsum:i64:4:axis=0", &d, NULL), TALLY_OK);
    int defaults = 0;
    for (size_t i = 0; i < count; i++) {
        tally_kernel_options options = { .size = sizeof options, .device = devices[i].selector };
        tally_kernel *kernel, *again;
        cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, NULL), TALLY_OK);
        options.device = devices[i].name; /* part of a name selects, too */
        cr_assert_eq(tally_kernel_create(context, &d, &options, &again, NULL), TALLY_OK);
        cr_assert_eq(kernel, again, "%s", devices[i].name);
        tally_kernel_destroy(&again);
        int64_t in[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
        tally_error error = TALLY_ERROR_INIT;
        tally_status status = tally_kernel_run(kernel, in, out, &error);
        cr_assert_eq(status, devices[i].runs_here ? TALLY_OK : TALLY_UNSUPPORTED);
        cr_assert_str_eq(error.field, devices[i].runs_here ? "" : "device");
        cr_assert_eq(out[3], devices[i].runs_here ? 10 : 0);
        cr_assert_str_eq(devices[i].kind, "cpu");
        defaults += devices[i].is_default;
        tally_kernel_destroy(&kernel);
    }
    cr_assert_eq(defaults, 1);
    /* One place only: the rest is untouched. */
    memset(devices, 0x11, sizeof devices);
    devices[0].size = sizeof devices[0];
    cr_assert_eq(tally_devices(devices, 1, &count, NULL), TALLY_OK);
    cr_assert_geq(count, TLY_LEVELS); /* then Vulkan's */
    cr_assert_eq(devices[1].name[0], 0x11);
    tally_context_destroy(&context);
}

Test(kernel, structs_of_other_versions)
{
    struct {
        tally_context_options known;
        char unknown[16];
    } larger = { .known = { .size = sizeof larger } };
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_context_create(&larger.known, &context, &error), TALLY_OK);
    tally_context_destroy(&context);
    larger.unknown[15] = 1;
    cr_assert_eq(tally_context_create(&larger.known, &context, &error), TALLY_INVALID);
    larger.unknown[15] = 0;
    const size_t bad[] = { 0, 7, 5000, SIZE_MAX };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        larger.known.size = bad[i];
        cr_assert_eq(tally_context_create(&larger.known, &context, &error), TALLY_INVALID);
        cr_assert_str_eq(error.field, "usage");
        cr_assert_null(context);
    }
    const int32_t threads[] = { -1, TLY_MAX_THREADS + 1 };
    for (size_t i = 0; i < 2; i++) {
        tally_context_options options = { .size = sizeof options, .threads = threads[i] };
        cr_assert_eq(tally_context_create(&options, &context, &error), TALLY_INVALID);
    }
    /* Shorter: what is missing is zero, whatever lies behind. */
    tally_context_options shorter = { .size = offsetof(tally_context_options, parallel),
                                      .threads = 3,
                                      .generator = (const char *)1 };
    cr_assert_eq(tally_context_create(&shorter, &context, &error), TALLY_OK);
    cr_assert_eq(context->threads, 3);
    cr_assert_null(context->generator_path);
    tally_stats stats;
    memset(&stats, 0x11, sizeof stats);
    stats.size = offsetof(tally_stats, cached);
    tally_context_stats(context, &stats);
    cr_assert_eq(stats.compiled, 0);
    cr_assert_eq(stats.cached, UINT64_C(0x1111111111111111));
    tally_context_destroy(&context);
}

typedef struct text {
    char bytes[256];
    size_t length, room;
} text;

static int append(void *user, const char *bytes, size_t count)
{
    text *t = user;
    if (t->length + count > t->room) {
        return 1;
    }
    memcpy(t->bytes + t->length, bytes, count);
    t->length += count;
    return 0;
}

Test(kernel, inspection)
{
    tally_context *context = fake_context(NULL);
    tally_descriptor d;
    cr_assert_eq(tally_descriptor_parse("cumsum:i64:4x4:axis=-1,in=4x1", &d, NULL), TALLY_OK);
    tally_kernel_options options = { .size = sizeof options,
                                     .device = "cpu:x86-64-v4",
                                     .plan = "unroll=3" };
    static const struct {
        int stage;
        size_t room;
        tally_status status;
        const char *text;
    } cases[] = {
        { TALLY_STAGE_WORD, 200, TALLY_OK, "cumsum:i64:4x4:axis=1\n" },
        { TALLY_STAGE_PLAN, 200, TALLY_OK, "x86-64-v4unroll=3" },
        { TALLY_STAGE_WORD, 3, TALLY_IO, "" },
        { TALLY_STAGE_ASM, 3, TALLY_IO, "" },
        { TALLY_STAGE_SPIRV, 200, TALLY_UNSUPPORTED, "" },
        { TALLY_STAGE_SPVASM, 200, TALLY_UNSUPPORTED, "" },
        { TALLY_STAGE_ORDER + 1, 200, TALLY_INVALID, "" },
        { -1, 200, TALLY_INVALID, "" },
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        text t = { .room = cases[c].room };
        cr_assert_eq(
            tally_inspect(context, &d, &options, (tally_stage)cases[c].stage, append, &t, NULL),
            cases[c].status, "case %zu", c);
        cr_assert_str_eq(t.bytes, cases[c].text);
    }
    tally_context_destroy(&context);
}

Test(kernel, generators_that_fail)
{
    tally_context *context = fake_context(NULL);
    tally_descriptor d;
    cr_assert_eq(tally_descriptor_parse("cumsum:i64:4x4:axis=1", &d, NULL), TALLY_OK);
    static const char *const plans[] = { "fail", "abi" };
    for (size_t i = 0; i < 2; i++) {
        tally_kernel_options options = { .size = sizeof options, .plan = plans[i] };
        tally_kernel *kernel = NULL;
        tally_error error = TALLY_ERROR_INIT;
        cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, &error), TALLY_INTERNAL);
        cr_assert_null(kernel);
        cr_assert_neq(error.message[0], 0);
    }
    tally_context_destroy(&context);

    /* None at all: a clear error, and zero-size scans need none. */
    tally_context_options options = { .size = sizeof options, .generator = "/nowhere/lib.so" };
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_null(fake_kernel(context, "cumsum:i64:4:axis=0", &error));
    cr_assert_eq(error.status, TALLY_NO_GENERATOR);
    cr_assert_not_null(strstr(error.message, "/nowhere/lib.so"), "%s", error.message);
    cr_assert_neq(error.hint[0], 0);
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:0:axis=0", &error);
    cr_assert_eq(tally_kernel_run(kernel, NULL, NULL, NULL), TALLY_OK);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    tally_context_destroy(&context);
    tally_context_destroy(NULL);
}
