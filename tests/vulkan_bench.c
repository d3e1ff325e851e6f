/* SPDX-License-Identifier: Apache-2.0 */
/* See vulkan_bench.h. */
#include "vulkan_bench.h"

#include "fake_gpu.h"

#include <criterion/criterion.h>

const tly_generator *const tly_bench_generator = &fake_gpu_generator;
atomic_int *const tly_bench_made = &fake_gpu_made;

const char *tly_bench_device(void)
{
    const char *named = getenv("TALLY_TEST_DEVICES");
    return named != NULL && named[0] != 0 ? named : "vulkan:0";
}

void tly_bench_fill(tly_bench *b)
{
    float ones[COUNT];
    for (int i = 0; i < COUNT; i++) {
        ones[i] = 1;
    }
    cr_assert_eq(tally_vulkan_buffer_create(b->v, BYTES, &b->in, NULL), TALLY_OK);
    cr_assert_eq(tally_vulkan_buffer_create(b->v, BYTES, &b->out, NULL), TALLY_OK);
    cr_assert_eq(tally_vulkan_buffer_write(b->in, 0, ones, BYTES, NULL), TALLY_OK);
    memset(ones, 0, sizeof ones);
    cr_assert_eq(tally_vulkan_buffer_write(b->out, 0, ones, BYTES, NULL), TALLY_OK);
    b->buffers.size = sizeof b->buffers;
    tally_vulkan_buffer_info(b->in, &b->buffers.in);
    tally_vulkan_buffer_info(b->out, &b->buffers.out);
}

tally_vulkan_kernel *tly_bench_kernel_for(tally_vulkan *v, const char *word, const char *plan)
{
    tally_descriptor d;
    tally_vulkan_kernel *kernel = NULL;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel_options options = { .size = sizeof options, .plan = plan };
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK);
    cr_assert_eq(tally_vulkan_kernel_create(v, &d, &options, &kernel, &error), TALLY_OK, "%s",
                 error.message);
    return kernel;
}

tally_vulkan_kernel *tly_bench_kernel(tally_vulkan *v, const char *plan)
{
    return tly_bench_kernel_for(v, TLY_BENCH_WORD, plan);
}

tly_bench tly_bench_begin(void)
{
    tly_bench b = { 0 };
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_context_create(NULL, &b.context, NULL), TALLY_OK);
    tly_context_set_generator(b.context, tly_bench_generator);
    cr_assert_eq(tally_vulkan_open(b.context, tly_bench_device(), &b.v, &error), TALLY_OK, "%s",
                 error.message);
    b.kernel = tly_bench_kernel(b.v, NULL);
    return b;
}

void tly_bench_end(tly_bench *b)
{
    tally_vulkan_kernel_destroy(&b->kernel);
    tally_vulkan_buffer_destroy(&b->in);
    tally_vulkan_buffer_destroy(&b->out);
    tally_vulkan_destroy(&b->v);
    tally_context_destroy(&b->context);
    cr_assert_null(b->kernel);
    cr_assert_null(b->v);
}

void tly_bench_judge(tly_bench *b)
{
    float out[COUNT];
    cr_assert_eq(tally_vulkan_buffer_read(b->out, 0, out, BYTES, NULL), TALLY_OK);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(out[i], i % 30 + 1, "element %d is %g", i, out[i]);
    }
}
