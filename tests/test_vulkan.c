/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running on a Vulkan device through the public API, with a generator of one kernel (fake_gpu.h):
 * on host memory, on device buffers, in command buffers of a device that the test owns; and what
 * happens when memory, the device or the process goes. The device is the one that
 * TALLY_TEST_DEVICES names, else vulkan:0.
 */
#include "fake_gpu.h"

#include "../runtime/cpu/features.h"
#include "../runtime/vulkan/internal.h"
#include "supported.h"

#include <criterion/criterion.h>

static const char *device(void)
{
    const char *named = getenv("TALLY_TEST_DEVICES");
    return named != NULL && named[0] != 0 ? named : "vulkan:0";
}

static tally_context *make_context(void)
{
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    tly_context_set_generator(context, &fake_gpu_generator);
    return context;
}

static tally_descriptor read_word(const char *word)
{
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s: %s", word, error.message);
    return d;
}

static tally_kernel *make_kernel(tally_context *context, const char *word, const char *plan)
{
    tally_descriptor d = read_word(word);
    tally_kernel *kernel = NULL;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel_options options = { .size = sizeof options, .device = device(), .plan = plan };
    cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, &error), TALLY_OK, "%s: %s",
                 word, error.message);
    return kernel;
}

static tally_vulkan *open_device(tally_context *context)
{
    tally_vulkan *v = NULL;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_vulkan_open(context, device(), &v, &error), TALLY_OK, "%s", error.message);
    return v;
}

static tally_vulkan_kernel *kernel_on(tally_vulkan *v, const char *word, const char *plan)
{
    tally_descriptor d = read_word(word);
    tally_vulkan_kernel *kernel = NULL;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel_options options = { .size = sizeof options, .plan = plan };
    cr_assert_eq(tally_vulkan_kernel_create(v, &d, &options, &kernel, &error), TALLY_OK, "%s: %s",
                 word, error.message);
    return kernel;
}

/* --- the judge ------------------------------------------------------------------------------- */

/* Room around every tensor; sums of small integers are exact in any order. */
enum { ROOM = 60000, MIDDLE = 20000 };

typedef struct data {
    float in[ROOM], out[ROOM], wanted[ROOM];
} data;

/* The plain loops over a descriptor, from the middle of the room. */
static void expect(const char *word, data *d)
{
    tally_descriptor raw = read_word(word), full;
    cr_assert_eq(tly_descriptor_resolve(&raw, &full, NULL), TALLY_OK);
    for (int i = 0; i < ROOM; i++) {
        d->in[i] = (float)(i * 7 % 11);
        d->out[i] = d->wanted[i] = -1000.0f - (float)i;
    }
    int64_t index[TALLY_MAX_RANK] = { 0 }, total = 1;
    for (int i = 0; i < full.rank; i++) {
        total *= full.sizes[i];
    }
    for (int64_t n = 0; n < total; n++) {
        int64_t in = full.in_offset, out = full.out_offset, back = full.axis;
        for (int i = 0; i < full.rank; i++) {
            in += index[i] * full.in_strides[i];
            out += index[i] * full.out_strides[i];
        }
        int reverse = (full.flags & TALLY_REVERSE) != 0;
        int64_t at = index[back], last = full.sizes[back] - 1;
        float sum = 0;
        for (int64_t i = reverse ? at : 0; i <= (reverse ? last : at); i++) {
            sum += d->in[MIDDLE + in + (i - at) * full.in_strides[back]];
        }
        d->wanted[MIDDLE + out] = sum;
        for (int i = full.rank - 1; i >= 0; i--) {
            if (++index[i] < full.sizes[i]) {
                break;
            }
            index[i] = 0;
        }
    }
}

static void judge(const char *word, const data *d)
{
    for (int i = 0; i < ROOM; i++) {
        cr_assert_eq(d->out[i], d->wanted[i], "%s: element %d: %g, not %g", word, i - MIDDLE,
                     d->out[i], d->wanted[i]);
    }
}

static const char *const words[] = {
    "cumsum:f32:1000:axis=0",
    "cumsum:f32:7x100:axis=1",
    "cumsum:f32:100x70:axis=0",
    "cumsum:f32:5x30x8:axis=1,reverse",
    "cumsum:f32:3:axis=0",
    "cumsum:f32:1:axis=0",
    "cumsum:f32:3x4x50:axis=2,in=1000x200x3,out=900x200x2",
    "cumsum:f32:3x4x50:axis=1,in=-1000x-200x3,out=900x200x-2@150",
    "cumsum:f32:40x3:axis=0,in=0x1",
    "cumsum:f32:6x40:axis=1,in=1x6@-7,out=41x1@3",
};

/* --- host memory ----------------------------------------------------------------------------- */

static data d;

Test(vulkan, runs_on_host_memory)
{
    static const char *const plans[] = { NULL, "cut=3", "cut=64" };
    tally_context *context = make_context();
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        for (int p = 0; p < 3; p++) {
            tally_kernel *k = make_kernel(context, words[w], plans[p]);
            tally_error error = TALLY_ERROR_INIT;
            expect(words[w], &d);
            cr_assert_eq(tally_kernel_run(k, d.in + MIDDLE, d.out + MIDDLE, &error), TALLY_OK,
                         "%s: %s", words[w], error.message);
            judge(words[w], &d);
            tally_kernel_destroy(&k);
        }
    }
    tally_context_destroy(&context);
}

Test(vulkan, in_place_and_other_pointers)
{
    tally_context *context = make_context();
    tally_kernel *k = make_kernel(context, "cumsum:f32:7x100:axis=1", NULL);
    tally_error error = TALLY_ERROR_INIT;
    expect("cumsum:f32:7x100:axis=1", &d);
    memcpy(d.out + MIDDLE, d.in + MIDDLE, 700 * sizeof(float));
    cr_assert_eq(tally_kernel_run(k, d.out + MIDDLE, d.out + MIDDLE, &error), TALLY_OK);
    judge("in place", &d);
    const struct {
        const void *in;
        void *out;
        const char *field;
    } bad[] = {
        { NULL, d.out, "in" },
        { d.in, NULL, "out" },
        { (char *)d.in + 2, d.out, "in" },
        { d.in, d.in + 1, "out" },
        { d.in, (char *)d.out + 1, "out" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(tally_kernel_run(k, bad[i].in, bad[i].out, &error), TALLY_INVALID);
        cr_assert_str_eq(error.field, bad[i].field);
    }
    tally_kernel_destroy(&k);
    int made = fake_gpu_made;
    k = make_kernel(context, "cumsum:f32:7x0:axis=1", NULL);
    cr_assert_eq(tally_kernel_run(k, NULL, NULL, &error), TALLY_OK);
    cr_assert_eq(fake_gpu_made, made, "an empty tensor needs no code");
    tally_kernel_destroy(&k);
    tally_context_destroy(&context);
}

/* As on a GPU whose memory the host does not see, and with more bytes than a piece. */
Test(vulkan, staged)
{
    enum { ROWS = 4099, LENGTH = 1500 };
    tally_context *context = make_context();
    tally_vulkan *v = open_device(context);
    v->staged = 1;
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        tally_vulkan_kernel *k = kernel_on(v, words[w], NULL);
        tally_error error = TALLY_ERROR_INIT;
        expect(words[w], &d);
        cr_assert_eq(tally_vulkan_run(k, d.in + MIDDLE, d.out + MIDDLE, &error), TALLY_OK, "%s: %s",
                     words[w], error.message);
        judge(words[w], &d);
        tally_vulkan_kernel_destroy(&k);
    }
    tally_vulkan_kernel *k = kernel_on(v, "cumsum:f32:4099x1500:axis=1", NULL);
    float *in = malloc(sizeof(float) * ROWS * LENGTH), *out = malloc(sizeof(float) * ROWS * LENGTH);
    for (int i = 0; i < ROWS * LENGTH; i++) {
        in[i] = (float)(i % 5);
    }
    cr_assert_eq(tally_vulkan_run(k, in, out, NULL), TALLY_OK);
    for (int i = 0; i < ROWS * LENGTH; i++) {
        cr_assert_eq(out[i], in[i] + (i % LENGTH ? out[i - 1] : 0), "%d", i);
    }
    free(in);
    free(out);
    tally_vulkan_kernel_destroy(&k);
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
}

/* --- kernels --------------------------------------------------------------------------------- */

static void *create_and_run(void *context)
{
    static const char word[] = "cumsum:f32:31x50:axis=1";
    tally_descriptor descriptor = read_word(word);
    tally_kernel_options options = { .size = sizeof options, .device = device() };
    float in[31 * 50], out[31 * 50];
    for (int i = 0; i < 31 * 50; i++) {
        in[i] = 1;
    }
    for (int turn = 0; turn < 5; turn++) {
        tally_kernel *k = NULL;
        if (tally_kernel_create(context, &descriptor, &options, &k, NULL) != TALLY_OK ||
            tally_kernel_run(k, in, out, NULL) != TALLY_OK) {
            return (void *)word;
        }
        for (int i = 0; i < 31 * 50; i++) {
            if (out[i] != (float)(i % 50 + 1)) {
                return (void *)word;
            }
        }
        tally_kernel_destroy(&k);
    }
    return NULL;
}

Test(vulkan, threads_share_one_device_and_one_making)
{
    enum { THREADS = 6 };
    tally_context *context = make_context();
    pthread_t threads[THREADS];
    int made = fake_gpu_made;
    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, create_and_run, context), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        cr_assert_null(failed);
    }
    cr_assert_eq(fake_gpu_made, made + 1);
    tally_stats stats = { .size = sizeof stats };
    tally_context_stats(context, &stats);
    cr_assert_eq(stats.compiled, 1);
    cr_assert_eq(stats.hits, THREADS * 5 - 1);
    tally_context_destroy(&context);
}

Test(vulkan, creations_that_fail)
{
    static const struct {
        const char *word, *plan;
        tally_status status;
        const char *message;
    } cases[] = {
        { "cumsum:f32:4:axis=0", "fail", TALLY_INTERNAL, "the fake fails" },
        { "cumsum:f32:4:axis=0", "bad", TALLY_INTERNAL, "launch record" },
        { "cumsum:f64:4:axis=0", NULL, TALLY_UNSUPPORTED, "f32 alone" },
        { "cumsum:i8>u16:4:axis=0", NULL, TALLY_UNSUPPORTED, "f32 alone" },
    };
    tally_context *context = make_context();
    tally_vulkan *v = open_device(context);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            tally_descriptor descriptor = read_word(cases[i].word);
            tally_kernel_options options = { .size = sizeof options, .plan = cases[i].plan };
            tally_vulkan_kernel *k = NULL;
            tally_error error = TALLY_ERROR_INIT;
            cr_assert_eq(tally_vulkan_kernel_create(v, &descriptor, &options, &k, &error),
                         cases[i].status);
            cr_assert_null(k);
            cr_assert_not_null(strstr(error.message, cases[i].message), "%s", error.message);
        }
    }
    tally_vulkan_destroy(&v);
    /* A generator without Vulkan, and a profile in place of a device. */
    tly_generator none = fake_gpu_generator;
    none.plan_gpu = NULL;
    tly_context_set_generator(context, &none);
    tally_descriptor descriptor = read_word("cumsum:f32:4:axis=0");
    tally_kernel_options options = { .size = sizeof options, .device = device() };
    tally_kernel *k = NULL;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_kernel_create(context, &descriptor, &options, &k, &error),
                 TALLY_NO_GENERATOR);
    options.profile = "";
    cr_assert_eq(tally_kernel_create(context, &descriptor, &options, &k, &error), TALLY_INVALID);
    cr_assert_str_eq(error.field, "usage");
    options.device = NULL;
    cr_assert_eq(tally_kernel_create(context, &descriptor, &options, &k, &error), TALLY_INVALID);
    cr_assert_not_null(strstr(error.message, "profile, line 1"), "%s", error.message);
    tally_context_destroy(&context);
}

static tally_status both_of_word(tally_context *context, const char *word, const char *plan)
{
    const tally_descriptor descriptor = read_word(word);
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = device(),
                                           .plan = plan };
    return both(context, &descriptor, &options, word);
}

/* By the generator of this build and without one, as tests/test_supports.c has it for CPUs. */
Test(vulkan, supports_what_is_created)
{
    static const struct {
        const char *word, *plan;
        tally_status status;
    } cases[] = {
        { "cumsum:f32:3x400:axis=1", NULL, TALLY_OK },
        { "sum:i32:3x400:axes=0", NULL, TALLY_OK },
        { "cumsum:f32:3x400:axis=1", "workgroup=64", TALLY_OK },
        { "cumsum:f32:3x400:axis=1", "workgroup=65", TALLY_INVALID },
        { "cumsum:f32:3x?:axis=1", NULL, TALLY_INVALID },
        { "cumsum:i8:3x4:axis=1", NULL, TALLY_UNSUPPORTED },
        { "cumsum:f32:3x4:axis=1,order=exact", NULL, TALLY_UNSUPPORTED },
        { "cumsum:f32:3x0:axis=1", NULL, TALLY_OK },
    };
    const tally_compile_mode modes[] = { TALLY_COMPILE_WAIT, TALLY_COMPILE_NEVER };
    tally_context_options without = TALLY_CONTEXT_OPTIONS_INIT;
    tally_context *context = NULL;
    tally_stats stats = TALLY_STATS_INIT;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(both_of_word(context, cases[i].word, cases[i].plan), cases[i].status, "%s",
                     cases[i].word);
    }
    tally_context_destroy(&context);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        without.generator = "/no/such/generator";
        without.compile = modes[i];
        cr_assert_eq(tally_context_create(&without, &context, NULL), TALLY_OK);
        cr_expect_eq(both_of_word(context, "cumsum:f32:3x400:axis=1", NULL), TALLY_NO_GENERATOR);
        cr_expect_eq(both_of_word(context, "cumsum:i8:3x4:axis=1", NULL), TALLY_UNSUPPORTED);
        tally_context_destroy(&context);
    }
    context = make_context();
    const tally_descriptor descriptor = read_word("cumsum:f32:20:axis=0");
    const tally_kernel_options options = { .size = sizeof options, .device = device() };
    cr_expect_eq(tally_context_supports(context, &descriptor, &options, NULL), TALLY_OK);
    tally_context_stats(context, &stats);
    cr_expect(fake_gpu_made == 0 && stats.compiled == 0 && stats.cached == 0);
    tally_context_destroy(&context);
}

/* Kernels that nobody holds go, the oldest first. */
Test(vulkan, the_bound_holds)
{
    tally_context_options options = { .size = sizeof options, .cache_kernels = 2 };
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
    tly_context_set_generator(context, &fake_gpu_generator);
    tally_vulkan *v = open_device(context);
    static const char *const plans[] = { "cut=8", "cut=9", "cut=10", "cut=11" };
    tally_vulkan_kernel *held[4];
    for (int i = 0; i < 4; i++) {
        held[i] = kernel_on(v, "cumsum:f32:20:axis=0", plans[i]);
    }
    cr_assert_eq(context->cache.cached, 4);
    for (int i = 0; i < 4; i++) {
        tally_vulkan_kernel_destroy(&held[i]);
    }
    cr_assert_eq(context->cache.cached, 2);
    int made = fake_gpu_made;
    held[0] = kernel_on(v, "cumsum:f32:20:axis=0", plans[3]);
    cr_assert_eq(fake_gpu_made, made);
    held[1] = kernel_on(v, "cumsum:f32:20:axis=0", plans[0]);
    cr_assert_eq(fake_gpu_made, made + 1);
    tally_vulkan_kernel_destroy(&held[0]);
    tally_vulkan_kernel_destroy(&held[1]);
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
}

static int append(void *user, const char *text, size_t bytes)
{
    strncat(user, text, bytes);
    return 0;
}

Test(vulkan, inspection)
{
    tally_context *context = make_context();
    tally_descriptor descriptor = read_word("cumsum:f32:4:axis=0");
    tally_kernel_options options = { .size = sizeof options, .device = device() };
    char text[256] = "";
    cr_assert_eq(
        tally_inspect(context, &descriptor, &options, TALLY_STAGE_SPVASM, append, text, NULL),
        TALLY_OK);
    cr_assert_eq(strncmp(text, "stage 6, vendor ", 16), 0, "%s", text);
    text[0] = 0;
    cr_assert_eq(
        tally_inspect(context, &descriptor, &options, TALLY_STAGE_WORD, append, text, NULL),
        TALLY_OK);
    cr_assert_str_eq(text, "cumsum:f32:4:axis=0\n");
    tally_context_destroy(&context);
}

Test(vulkan, devices)
{
    tally_device all[64] = { { .size = sizeof all[0] } };
    size_t count = 0;
    cr_assert_eq(tally_devices(all, 64, &count, NULL), TALLY_OK);
    cr_assert_gt(count, TLY_LEVELS);
    for (size_t i = TLY_LEVELS; i < count; i++) {
        char selector[32];
        snprintf(selector, sizeof selector, "vulkan:%zu", i - TLY_LEVELS);
        cr_assert_str_eq(all[i].kind, "vulkan");
        cr_assert_str_eq(all[i].selector, selector);
        cr_assert(all[i].runs_here && !all[i].is_default);
        cr_assert_neq(all[i].name[0], 0);
    }
    /* By selector and by name it is the same device, opened once. */
    tally_context *context = make_context();
    tally_vulkan *first, *second, *third;
    cr_assert_eq(tly_vulkan_find(context, "vulkan:0", &first, NULL), TALLY_OK);
    cr_assert_eq(tly_vulkan_find(context, all[TLY_LEVELS].name, &second, NULL), TALLY_OK);
    cr_assert_eq(tly_vulkan_find(context, "vulkan:0", &third, NULL), TALLY_OK);
    cr_assert(first == second && first == third);
    tally_context_destroy(&context);
}
