/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vulkan by the caller's hand: buffers, command buffers and semaphores; and what happens when
 * memory, the device or the process goes.
 */
#include "vulkan_bench.h"

#include "../runtime/cpu/features.h"
#include "../runtime/vulkan/internal.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>

/* --- device buffers -------------------------------------------------------------------------- */

/* Functions that only report accept NULL, and report zeros. */
Test(vulkan_device, null_handles)
{
    tally_vulkan_handles handles = { .queue_family = 7 };
    tally_vulkan_facts facts = TALLY_VULKAN_FACTS_INIT;
    tally_vulkan_range range = { .bytes = 7 };
    facts.passes = 7;
    tally_vulkan_info(NULL, &handles);
    tally_vulkan_kernel_facts(NULL, &facts);
    tally_vulkan_buffer_info(NULL, &range);
    cr_expect(handles.queue_family == 0 && handles.device == VK_NULL_HANDLE);
    cr_expect(facts.passes == 0 && facts.size == sizeof facts);
    cr_expect(range.bytes == 0 && range.buffer == VK_NULL_HANDLE);
    tally_vulkan_info(NULL, NULL);
    tally_vulkan_kernel_facts(NULL, NULL);
    tally_vulkan_buffer_info(NULL, NULL);
    tally_vulkan_limit_waits(NULL, 0);
}

Test(vulkan_device, submits_with_timeline_semaphores)
{
    tly_bench b = tly_bench_begin();
    tly_bench_fill(&b);
    PFN_vkCreateSemaphore create;
    PFN_vkDestroySemaphore destroy;
    PFN_vkWaitSemaphores wait;
    PFN_vkSignalSemaphore signal;
    tally_vulkan_handles h;
    tally_vulkan_info(b.v, &h);
    PFN_vkGetDeviceProcAddr get = b.v->instance_fn.GetDeviceProcAddr;
    create = (PFN_vkCreateSemaphore)get(h.device, "vkCreateSemaphore");
    destroy = (PFN_vkDestroySemaphore)get(h.device, "vkDestroySemaphore");
    wait = (PFN_vkWaitSemaphores)get(h.device, "vkWaitSemaphores");
    signal = (PFN_vkSignalSemaphore)get(h.device, "vkSignalSemaphore");
    VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
    };
    VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                   .pNext = &type };
    VkSemaphore before, after;
    cr_assert_eq(create(h.device, &info, NULL, &before), VK_SUCCESS);
    cr_assert_eq(create(h.device, &info, NULL, &after), VK_SUCCESS);
    tally_vulkan_kernel *cut = tly_bench_kernel(b.v, "cut=7"); /* with scratch of Tally's */
    for (uint64_t turn = 1; turn <= 3; turn++) {
        tally_vulkan_sync sync = { sizeof sync, before, turn, after, turn };
        tally_error error = TALLY_ERROR_INIT;
        cr_assert_eq(tally_vulkan_submit(turn == 2 ? cut : b.kernel, &b.buffers, &sync, &error),
                     TALLY_OK, "%s", error.message);
        VkSemaphoreSignalInfo go = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                     .semaphore = before,
                                     .value = turn };
        VkSemaphoreWaitInfo done = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                     .semaphoreCount = 1,
                                     .pSemaphores = &after,
                                     .pValues = &turn };
        cr_assert_eq(signal(h.device, &go), VK_SUCCESS);
        cr_assert_eq(wait(h.device, &done, UINT64_MAX), VK_SUCCESS);
        tly_bench_judge(&b);
    }
    tally_vulkan_kernel_destroy(&cut); /* its pipelines may still be held by a submission */
    cr_assert_eq(tally_vulkan_submit(b.kernel, &b.buffers, NULL, NULL), TALLY_OK);
    cr_assert_eq(tally_vulkan_wait(b.v, NULL), TALLY_OK);
    destroy(h.device, before, NULL);
    destroy(h.device, after, NULL);
    tly_bench_end(&b);
}

Test(vulkan_device, refuses_ranges)
{
    tly_bench b = tly_bench_begin();
    tly_bench_fill(&b);
    static const struct {
        size_t at; /* in tally_vulkan_buffers */
        uint64_t value;
        const char *message;
    } cases[] = {
        { offsetof(tally_vulkan_buffers, in.buffer), 0, "in is NULL" },
        { offsetof(tally_vulkan_buffers, out.buffer), 0, "out is NULL" },
        { offsetof(tally_vulkan_buffers, in.offset), 32, "in needs bytes 32 to 2432" },
        { offsetof(tally_vulkan_buffers, in.offset), 2, "in needs" },
        { offsetof(tally_vulkan_buffers, out.bytes), 2396, "out needs bytes 0 to 2400" },
        { offsetof(tally_vulkan_buffers, in.offset), UINT64_MAX - 3, "in needs" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tally_vulkan_buffers bad = b.buffers;
        tally_error error = TALLY_ERROR_INIT;
        memcpy((char *)&bad + cases[i].at, &cases[i].value, sizeof(uint64_t));
        cr_assert_eq(tally_vulkan_submit(b.kernel, &bad, NULL, &error), TALLY_INVALID, "case %zu",
                     i);
        cr_assert_not_null(strstr(error.message, cases[i].message), "case %zu: %s", i,
                           error.message);
    }
    tally_vulkan_buffers bad = b.buffers;
    tally_vulkan_buffer *wide = NULL;
    cr_assert_eq(tally_vulkan_buffer_create(b.v, 2 * BYTES, &wide, NULL), TALLY_OK);
    tally_vulkan_buffer_info(wide, &bad.in);
    tally_vulkan_buffer_info(wide, &bad.out);
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_vulkan_submit(b.kernel, &bad, NULL, &error), TALLY_OK, "%s", error.message);
    bad.out.offset = BYTES - 4;
    cr_assert_eq(tally_vulkan_submit(b.kernel, &bad, NULL, &error), TALLY_INVALID);
    cr_assert_not_null(strstr(error.message, "overlap"));
    bad.out.offset = BYTES;
    cr_assert_eq(tally_vulkan_submit(b.kernel, &bad, NULL, &error), TALLY_OK, "%s", error.message);
    bad.in.offset = 2;
    bad.in.bytes = 4 * BYTES;
    cr_assert_eq(tally_vulkan_submit(b.kernel, &bad, NULL, &error), TALLY_INVALID);
    cr_assert_not_null(strstr(error.message, "no multiple of 4"), "%s", error.message);
    cr_assert_eq(tally_vulkan_wait(b.v, NULL), TALLY_OK);
    tally_vulkan_buffer_destroy(&wide);
    cr_assert_eq(tally_vulkan_buffer_write(b.in, 2400, &bad, 16, &error), TALLY_INVALID);
    tly_bench_end(&b);
}

/* Sums of an offset and a place in a tensor that exceed 64 bits. */
Test(vulkan_device, refuses_ranges_at_the_end_of_64_bits)
{
    static const struct {
        const char *word;
        uint64_t offset, bytes;
    } cases[] = {
        { "cumsum:f32:4:axis=0,in=1@1152921504606846976", (UINT64_C(1) << 62) - 4, BYTES },
        { "cumsum:f32:4:axis=0,in=1@1152921504606846976", UINT64_C(1) << 62, BYTES },
        { "cumsum:f32:4:axis=0,in=1@1152921504606846976", INT64_MAX - 3, UINT64_MAX },
        { "cumsum:f32:4:axis=0,in=1@2305843009213693947", 0, BYTES },
        { "cumsum:f32:4:axis=0,in=1@2305843009213693947", 12, UINT64_MAX },
        { "cumsum:f32:4:axis=0,in=1@-2305843009213693952", 0, BYTES },
        { "cumsum:f32:4:axis=0,in=1@-2305843009213693952", INT64_MAX - 3, UINT64_MAX },
        { "cumsum:f32:4:axis=0", UINT64_MAX - 3, UINT64_MAX },
        { "cumsum:f32:4:axis=0", INT64_MAX - 3, UINT64_MAX },
    };
    tly_bench b = tly_bench_begin();
    tly_bench_fill(&b);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tally_vulkan_kernel *far = tly_bench_kernel_for(b.v, cases[i].word, NULL);
        tally_vulkan_buffers bad = b.buffers;
        tally_error error = TALLY_ERROR_INIT;
        bad.in.offset = cases[i].offset;
        bad.in.bytes = cases[i].bytes;
        cr_assert_eq(tally_vulkan_submit(far, &bad, NULL, &error), TALLY_INVALID, "case %zu", i);
        cr_assert_not_null(strstr(error.message, "in needs bytes"), "%s", error.message);
        tally_vulkan_kernel_destroy(&far);
    }
    /* The stride alone spans more than a buffer holds. */
    tally_descriptor d;
    tally_vulkan_kernel *far = NULL;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse("cumsum:f32:2:axis=0,in=1152921504606846976", &d, NULL),
                 TALLY_OK);
    cr_assert_eq(tally_vulkan_kernel_create(b.v, &d, NULL, &far, &error), TALLY_UNSUPPORTED);
    cr_assert_not_null(strstr(error.message, "spans"), "%s", error.message);
    tly_bench_end(&b);
}

/* Pipelines in use may exceed the bound, until the last use has ended. */
Test(vulkan_device, the_bound_holds_when_the_last_is_gone)
{
    enum { HELD = 4 };
    static const char *const plans[HELD] = { "cut=7", "cut=8", "cut=9", "cut=10" };
    tally_context_options options = { .size = sizeof options, .cache_kernels = 1 };
    tly_bench b = { 0 };
    cr_assert_eq(tally_context_create(&options, &b.context, NULL), TALLY_OK);
    tly_context_set_generator(b.context, tly_bench_generator);
    cr_assert_eq(tally_vulkan_open(b.context, tly_bench_device(), &b.v, NULL), TALLY_OK);
    tly_bench_fill(&b);
    tally_vulkan_kernel *held[HELD];
    for (size_t i = 0; i < HELD; i++) {
        held[i] = tly_bench_kernel(b.v, plans[i]);
        cr_assert_eq(tally_vulkan_submit(held[i], &b.buffers, NULL, NULL), TALLY_OK);
    }
    cr_assert_eq(b.context->cache.cached, HELD);
    for (size_t i = 0; i < HELD; i++) {
        tally_vulkan_kernel_destroy(&held[i]);
    }
    cr_assert_eq(tally_vulkan_wait(b.v, NULL), TALLY_OK);
    cr_assert_leq(b.context->cache.cached, 1);
    tly_bench_end(&b);
}

/* --- faults ---------------------------------------------------------------------------------- */

static VkResult no_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                          const VkAllocationCallbacks *callbacks, VkDeviceMemory *memory)
{
    (void)device;
    (void)info;
    (void)callbacks;
    *memory = VK_NULL_HANDLE;
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

Test(vulkan_device, out_of_memory)
{
    tly_bench b = tly_bench_begin();
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_buffer *buffer = NULL;
    cr_assert_eq(tally_vulkan_buffer_create(b.v, (size_t)1 << 62, &buffer, &error),
                 TALLY_OUT_OF_MEMORY);
    cr_assert_not_null(strstr(error.message, "4611686018427387904"), "%s", error.message);
    cr_assert_not_null(strstr(error.message, "at once"), "%s", error.message);
    PFN_vkAllocateMemory real = b.v->fn.AllocateMemory;
    b.v->fn.AllocateMemory = no_memory;
    float in[COUNT] = { 0 }, out[COUNT];
    memset(out, 0x11, sizeof out);
    cr_assert_eq(tally_vulkan_run(b.kernel, in, out, &error), TALLY_OUT_OF_MEMORY);
    cr_assert_eq(((unsigned char *)out)[0], 0x11);
    cr_assert_eq(tally_vulkan_buffer_create(b.v, 1000, &buffer, &error), TALLY_OUT_OF_MEMORY);
    cr_assert_null(buffer);
    b.v->fn.AllocateMemory = real;
    tly_bench_fill(&b);
    cr_assert_eq(tally_vulkan_run(b.kernel, in, out, &error), TALLY_OK, "%s", error.message);
    cr_assert_eq(out[COUNT - 1], 0);
    tly_bench_end(&b);
}

/* Blocks are shared, and given back. */
Test(vulkan_device, buffers_share_blocks)
{
    enum { BUFFERS = 300 };
    tly_bench b = tly_bench_begin();
    tally_vulkan_buffer *buffers[BUFFERS], *large;
    for (uint64_t i = 0; i < BUFFERS; i++) {
        cr_assert_eq(tally_vulkan_buffer_create(b.v, 1000 + 64 * i, &buffers[i], NULL), TALLY_OK);
        cr_assert_eq(tally_vulkan_buffer_write(buffers[i], 0, &i, sizeof i, NULL), TALLY_OK);
        cr_assert_eq(tally_vulkan_buffer_write(buffers[i], 992 + 64 * i, &i, sizeof i, NULL),
                     TALLY_OK);
    }
    cr_assert_eq(tally_vulkan_buffer_create(b.v, (size_t)40 << 20, &large, NULL), TALLY_OK);
    int blocks = 0;
    for (const tly_vk_block *k = b.v->memory.blocks; k != NULL; k = k->next) {
        blocks++;
    }
    cr_assert_leq(blocks, 3); /* one of the buffers', one of its own, perhaps one for staging */
    for (uint64_t i = 0; i < BUFFERS; i++) {
        uint64_t first, last;
        cr_assert_eq(tally_vulkan_buffer_read(buffers[i], 0, &first, 8, NULL), TALLY_OK);
        cr_assert_eq(tally_vulkan_buffer_read(buffers[i], 992 + 64 * i, &last, 8, NULL), TALLY_OK);
        cr_assert(first == i && last == i);
        tally_vulkan_buffer_destroy(&buffers[i]);
    }
    tally_vulkan_buffer_destroy(&large);
    for (const tly_vk_block *k = b.v->memory.blocks; k != NULL; k = k->next) {
        cr_assert_eq(k->alone, 0);
    }
    tly_bench_end(&b);
}

static VkResult lost(VkQueue queue, uint32_t count, const VkSubmitInfo *info, VkFence fence)
{
    (void)queue;
    (void)count;
    (void)info;
    (void)fence;
    return VK_ERROR_DEVICE_LOST;
}

/* Once lost, lost for good; all can be destroyed, and the context opens the device anew. */
Test(vulkan_device, a_lost_device)
{
    tly_bench b = tly_bench_begin();
    tly_bench_fill(&b);
    b.v->fn.QueueSubmit = lost;
    tally_error error = TALLY_ERROR_INIT;
    float in[COUNT] = { 0 }, out[COUNT];
    memset(out, 0x11, sizeof out);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(tally_vulkan_run(b.kernel, in, out, &error), TALLY_DEVICE_LOST);
        cr_assert_str_eq(error.field, "device");
        cr_assert_eq(((unsigned char *)out)[0], 0x11);
        cr_assert_eq(tally_vulkan_submit(b.kernel, &b.buffers, NULL, &error), TALLY_DEVICE_LOST);
    }
    tally_vulkan_kernel *none = NULL;
    tally_descriptor d;
    cr_assert_eq(tally_descriptor_parse(TLY_BENCH_WORD, &d, NULL), TALLY_OK);
    cr_assert_eq(tally_vulkan_kernel_create(b.v, &d, NULL, &none, &error), TALLY_DEVICE_LOST);
    tly_bench_end(&b);

    tally_context *context;
    tally_kernel_options options = { .size = sizeof options, .device = tly_bench_device() };
    tally_kernel *kernel, *again;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    tly_context_set_generator(context, tly_bench_generator);
    cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, NULL), TALLY_OK);
    tally_vulkan *v;
    cr_assert_eq(tly_vulkan_find(context, tly_bench_device(), &v, NULL), TALLY_OK);
    v->fn.QueueSubmit = lost;
    cr_assert_eq(tally_kernel_run(kernel, in, out, &error), TALLY_DEVICE_LOST);
    cr_assert_eq(tally_kernel_create(context, &d, &options, &again, NULL), TALLY_OK);
    cr_assert_eq(tally_kernel_run(again, in, out, &error), TALLY_OK, "%s", error.message);
    cr_assert_eq(tally_kernel_run(kernel, in, out, &error), TALLY_DEVICE_LOST);
    tally_kernel_destroy(&kernel);
    tally_kernel_destroy(&again);
    tally_context_destroy(&context);
}

/* A child has no use of its parent's device, nor of any, and may free all. */
static int child(tally_context *context, tally_kernel **kernel, const tally_descriptor *d)
{
    tally_kernel_options options = { .size = sizeof options, .device = tly_bench_device() };
    float in[COUNT] = { 0 }, out[COUNT];
    size_t count = 0;
    if (tally_kernel_run(*kernel, in, out, NULL) != TALLY_DEVICE_LOST) {
        return 1;
    }
    tally_kernel_destroy(kernel);
    tally_status status = tally_kernel_create(context, d, &options, kernel, NULL);
    if (status == TALLY_OK || *kernel != NULL) {
        return 2;
    }
    if (tally_devices(NULL, 0, &count, NULL) != TALLY_OK || count != TLY_LEVELS) {
        return 3;
    }
    tally_context_destroy(&context);
    return 0;
}

Test(vulkan_device, forks)
{
    tally_context *context;
    tally_descriptor d;
    tally_kernel *kernel;
    tally_kernel_options options = { .size = sizeof options, .device = tly_bench_device() };
    float in[COUNT] = { 0 }, out[COUNT];
    cr_assert_eq(tally_descriptor_parse(TLY_BENCH_WORD, &d, NULL), TALLY_OK);
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    tly_context_set_generator(context, tly_bench_generator);
    cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, NULL), TALLY_OK);
    cr_assert_eq(tally_kernel_run(kernel, in, out, NULL), TALLY_OK);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(child(context, &kernel, &d));
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
    cr_assert_eq(tally_kernel_run(kernel, in, out, NULL), TALLY_OK);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* A kernel for a device is waited for in the background's mode, too; warmed, it is there; and where
 * none may be made, neither is its plan. */
Test(vulkan_device, made_ahead_or_never)
{
    tally_context_options modes = { .size = sizeof modes, .compile = TALLY_COMPILE_BACKGROUND };
    const tally_kernel_options options = { .size = sizeof options, .device = tly_bench_device() };
    tally_context *context;
    tally_descriptor d[2];
    tally_kernel *kernel;
    float in[COUNT] = { 1 }, out[COUNT];
    cr_assert_eq(tally_descriptor_parse(TLY_BENCH_WORD, &d[0], NULL), TALLY_OK);
    d[1] = d[0];
    cr_assert_eq(tally_context_create(&modes, &context, NULL), TALLY_OK);
    tly_context_set_generator(context, tly_bench_generator);
    *tly_bench_made = 0;
    cr_assert_eq(tally_context_warm(context, d, 2, &options, NULL), TALLY_OK);
    cr_expect_eq(*tly_bench_made, 1);
    cr_assert_eq(tally_kernel_create(context, &d[0], &options, &kernel, NULL), TALLY_OK);
    cr_expect_eq(*tly_bench_made, 1);
    int32_t used = -1;
    tally_run_options with = { .size = sizeof with, .threads = 2, .threads_used = &used };
    cr_expect_eq(tally_kernel_run_with(kernel, in, out, &with, NULL), TALLY_OK);
    cr_expect_eq(used, 0, "a device has no threads");
    cr_expect_eq(out[29], 1);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);

    tally_error error = TALLY_ERROR_INIT;
    modes.compile = TALLY_COMPILE_NEVER;
    cr_assert_eq(tally_context_create(&modes, &context, NULL), TALLY_OK);
    tly_context_set_generator(context, tly_bench_generator);
    cr_expect_eq(tally_kernel_create(context, d, &options, &kernel, &error), TALLY_NO_GENERATOR);
    cr_expect_not_null(strstr(error.message, "this Vulkan device of cumsum:f32:20x30:axis=1"), "%s",
                       error.message);
    cr_expect_not_null(strstr(error.hint, "tally compile --profile FILE"), "%s", error.hint);
    cr_expect_eq(*tly_bench_made, 1);
    tally_context_destroy(&context);
}
