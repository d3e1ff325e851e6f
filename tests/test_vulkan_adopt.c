/* SPDX-License-Identifier: Apache-2.0 */
/* Vulkan by the caller's hand: a device that the test owns, adopted by Tally and recorded for. */
#include "vulkan_bench.h"

#include "../runtime/vulkan/internal.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct host {
    tly_vk_list *list;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    tly_vk_functions fn;
    int locked, uses;
} host;

static void lock_queue(void *user, int lock)
{
    host *h = user;
    cr_assert_neq(h->locked, lock);
    h->locked = lock;
    h->uses += lock;
}

static VkPhysicalDevice open_host(host *h, VkPhysicalDeviceFeatures2 *features, size_t *index)
{
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tly_vk_list_open(&h->list, &error), TALLY_OK, "%s", error.message);
    cr_assert_eq(tly_vk_choose(h->list, tly_bench_device(), index, &error), TALLY_OK, "%s",
                 error.message);
    float priority = 0.5f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = h->list->facts[*index].family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = features,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
    };
    VkPhysicalDevice physical = h->list->physical[*index];
    cr_assert_eq(h->list->fn.CreateDevice(physical, &info, NULL, &h->device), VK_SUCCESS);
    cr_assert_eq(tly_vk_device_load(&h->list->fn, h->device, &h->fn, NULL), TALLY_OK);
    h->fn.GetDeviceQueue(h->device, queue.queueFamilyIndex, 0, &h->queue);
    return physical;
}

static void close_host(host *h)
{
    h->fn.DestroyDevice(h->device, NULL);
    tly_vk_list_close(h->list);
}

static VkCommandBuffer begin_commands(host *h, uint32_t family)
{
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .queueFamilyIndex = family };
    cr_assert_eq(h->fn.CreateCommandPool(h->device, &pool, NULL, &h->pool), VK_SUCCESS);
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = h->pool,
        .commandBufferCount = 1,
    };
    VkCommandBufferBeginInfo start = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    VkCommandBuffer commands;
    cr_assert_eq(h->fn.AllocateCommandBuffers(h->device, &info, &commands), VK_SUCCESS);
    cr_assert_eq(h->fn.BeginCommandBuffer(commands, &start), VK_SUCCESS);
    return commands;
}

static void run_commands(host *h, VkCommandBuffer commands)
{
    VkFenceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .commandBufferCount = 1,
                            .pCommandBuffers = &commands };
    VkFence fence;
    cr_assert_eq(h->fn.EndCommandBuffer(commands), VK_SUCCESS);
    cr_assert_eq(h->fn.CreateFence(h->device, &info, NULL, &fence), VK_SUCCESS);
    cr_assert_eq(h->fn.QueueSubmit(h->queue, 1, &submit, fence), VK_SUCCESS);
    cr_assert_eq(h->fn.WaitForFences(h->device, 1, &fence, VK_TRUE, UINT64_MAX), VK_SUCCESS);
    h->fn.DestroyFence(h->device, fence, NULL);
    h->fn.DestroyCommandPool(h->device, h->pool, NULL);
}

/* Twice into one recording, by two kernels, one of them destroyed before it runs. */
Test(vulkan_device, records_on_a_device_of_the_callers)
{
    host h = { 0 };
    tly_bench b = { 0 };
    size_t index;
    VkPhysicalDeviceFeatures2 features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 };
    VkPhysicalDevice physical = open_host(&h, &features, &index);
    tally_vulkan_host theirs = {
        .size = sizeof theirs,
        .instance = h.list->instance,
        .physical = physical,
        .device = h.device,
        .api_version = VK_API_VERSION_1_1,
        .features = &features,
        .queue = h.queue,
        .queue_family = h.list->facts[index].family,
        .lock_queue = lock_queue,
        .lock_user = &h,
    };
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_context_create(NULL, &b.context, NULL), TALLY_OK);
    tly_context_set_generator(b.context, tly_bench_generator);
    cr_assert_eq(tally_vulkan_adopt(b.context, &theirs, &b.v, &error), TALLY_OK, "%s",
                 error.message);
    const tly_caps *caps = tly_vulkan_caps(b.v);
    cr_assert_eq(caps->int64 + caps->float64 + caps->storage16 + caps->storage8 + caps->addresses +
                     caps->rte32,
                 0, "nothing was enabled");
    b.kernel = tly_bench_kernel(b.v, NULL);
    tly_bench_fill(&b);
    tally_vulkan_kernel *cut = tly_bench_kernel(b.v, "cut=7");
    tally_vulkan_facts facts = { .size = sizeof facts };
    tally_vulkan_kernel_facts(cut, &facts);
    cr_assert_eq(facts.scratch_bytes, 80);
    cr_assert(facts.dispatches == 5 && facts.passes == 1 && facts.addresses == 0);
    cr_assert(facts.in_low == 0 && facts.out_end == BYTES);
    cr_assert_str_eq(facts.template_name, "fake");

    tally_vulkan_buffer *scratch;
    tally_vulkan_recording *recording = NULL;
    VkCommandBuffer commands = begin_commands(&h, theirs.queue_family);
    cr_assert_eq(tally_vulkan_record(cut, commands, &b.buffers, &recording, &error), TALLY_INVALID);
    cr_assert_not_null(strstr(error.message, "scratch"), "%s", error.message);
    cr_assert_null(recording);
    cr_assert_eq(tally_vulkan_buffer_create(b.v, 80, &scratch, NULL), TALLY_OK);
    tally_vulkan_buffer_info(scratch, &b.buffers.scratch);
    cr_assert_eq(tally_vulkan_record(cut, commands, &b.buffers, &recording, &error), TALLY_OK, "%s",
                 error.message);
    tally_vulkan_kernel_destroy(&cut);
    run_commands(&h, commands);
    tly_bench_judge(&b);
    float zeros[COUNT] = { 0 };
    cr_assert_eq(tally_vulkan_buffer_write(b.out, 0, zeros, BYTES, NULL), TALLY_OK);
    tally_vulkan_recording *same = recording;
    commands = begin_commands(&h, theirs.queue_family);
    cr_assert_eq(tally_vulkan_record(b.kernel, commands, &b.buffers, &recording, NULL), TALLY_OK);
    cr_assert_eq(recording, same);
    run_commands(&h, commands);
    tly_bench_judge(&b);
    tally_vulkan_recording_destroy(&recording);
    cr_assert_null(recording);
    tally_vulkan_recording_destroy(&recording);
    tally_vulkan_buffer_destroy(&scratch);
    cr_assert_eq(h.locked, 0);
    tly_bench_end(&b);
    close_host(&h);
}

/* Features count where they were enabled; without a queue there is only recording. */
Test(vulkan_device, adopts_what_was_enabled)
{
    host h = { 0 };
    size_t index;
    VkPhysicalDeviceVulkan11Features eleven = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES
    };
    VkPhysicalDeviceVulkan12Features twelve = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &eleven
    };
    VkPhysicalDeviceFeatures2 features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 };
    VkPhysicalDevice physical = open_host(&h, &features, &index);
    /* What the device was made with is not looked at, only what the caller says. */
    const tly_caps *has = &h.list->facts[index].caps;
    features.pNext = &twelve;
    features.features.shaderInt64 = has->int64;
    eleven.storageBuffer16BitAccess = has->storage16;
    twelve.storageBuffer8BitAccess = has->storage8;
    tally_vulkan_host theirs = {
        .size = sizeof theirs,
        .instance = h.list->instance,
        .physical = physical,
        .device = h.device,
        .api_version = VK_API_VERSION_1_2,
        .features = &features,
    };
    tally_context *context;
    tally_vulkan *v = NULL;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    tly_context_set_generator(context, tly_bench_generator);
    cr_assert_eq(tally_vulkan_adopt(context, &theirs, &v, &error), TALLY_OK, "%s", error.message);
    const tly_caps *caps = tly_vulkan_caps(v);
    cr_assert_eq(caps->int64, has->int64);
    cr_assert_eq(caps->storage16, has->storage16);
    cr_assert_eq(caps->storage8, has->storage8);
    cr_assert_eq(caps->float64, 0);
    cr_assert_eq(caps->addresses, 0);
    cr_assert_eq(caps->rte32, has->rte32);
    cr_assert_eq(caps->vendor, has->vendor);
    tally_vulkan_kernel *kernel = tly_bench_kernel(v, NULL);
    float in[COUNT], out[COUNT];
    cr_assert_eq(tally_vulkan_run(kernel, in, out, &error), TALLY_INVALID);
    cr_assert_not_null(strstr(error.message, "only records"), "%s", error.message);
    tally_vulkan_kernel_destroy(&kernel);
    tally_vulkan_destroy(&v);
    theirs.api_version = VK_API_VERSION_1_0;
    cr_assert_eq(tally_vulkan_adopt(context, &theirs, &v, &error), TALLY_UNSUPPORTED);
    theirs.api_version = VK_API_VERSION_1_2;
    theirs.reserved = 1;
    cr_assert_eq(tally_vulkan_adopt(context, &theirs, &v, &error), TALLY_INVALID);
    cr_assert_not_null(strstr(error.message, "reserved is 1"), "%s", error.message);
    theirs.reserved = 0;
    theirs.device = NULL;
    cr_assert_eq(tally_vulkan_adopt(context, &theirs, &v, &error), TALLY_INVALID);
    cr_assert_null(v);
    tally_context_destroy(&context);
    close_host(&h);
}
