/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine whose Vulkan device Tally adopts, to record a kernel among the engine's own commands:
 *
 *   cc vulkan_adopt.c $(pkg-config --cflags --libs tally) -lvulkan
 *
 * In a list of particles that is sorted by cells, those of a cell begin at the exclusive sum of the
 * cells' counts. In each frame the engine sets the counts, Tally sums them, the engine copies the
 * sums.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally.h>
#include <tally/vulkan.h>
#include <vulkan/vulkan.h>

static const char word[] = "cumsum:u32:300000:axis=0,exclusive";

enum { CELLS = 300000, BYTES = CELLS * sizeof(uint32_t), FRAMES = 3, LINE = 64, ALIGN = 256 };
enum { COUNTS, BEGINS, COPY, SCRATCH, PARTS }; /* of the engine's one buffer */

typedef struct engine {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkPhysicalDeviceFeatures2 features; /* what is enabled */
    VkPhysicalDevice16BitStorageFeatures halves;
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes;
    VkQueue queue;
    VkPipelineCache pipelines;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t at[PARTS + 1]; /* where its parts begin, and the last one ends */
    const uint32_t *copy;
} engine;

static tally_error error = TALLY_ERROR_INIT;

static void must(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s failed %s\n", what, error.message);
        exit(1);
    }
}

#define MUST(call) must((call) == VK_SUCCESS, #call)
#define MUST_TALLY(call) must((call) == TALLY_OK, #call)

/* The engine's allocator, called from several threads, counts what lives. Before what it hands out
 * lies how many bytes that has; more than a cache line it does not align. */
static atomic_long taken, live;

static void *allocate(void *user, size_t bytes, size_t align, VkSystemAllocationScope scope)
{
    (void)user, (void)scope;
    size_t *block = align <= LINE ? aligned_alloc(LINE, (bytes / LINE + 2) * LINE) : NULL;
    if (block == NULL) {
        return NULL;
    }
    taken++;
    live++;
    *block = bytes;
    return (char *)block + LINE;
}

static void release(void *user, void *memory)
{
    (void)user;
    if (memory != NULL) {
        free((char *)memory - LINE);
        live--;
    }
}

static void *reallocate(void *user, void *memory, size_t bytes, size_t align,
                        VkSystemAllocationScope scope)
{
    void *other = bytes > 0 ? allocate(user, bytes, align, scope) : NULL;
    if (memory != NULL && other != NULL) {
        const size_t old = *(size_t *)((char *)memory - LINE);
        memcpy(other, memory, old < bytes ? old : bytes);
    }
    if (other != NULL || bytes == 0) {
        release(user, memory);
    }
    return other;
}

/* The first device; family 0 of its queues has compute nearly everywhere. Of the features that
 * kernels use, those that the device has are enabled; the word above needs none. Device addresses,
 * for tensors beyond a storage buffer, are left out. */
static void make_device(engine *e)
{
    const char *const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                            .apiVersion = VK_API_VERSION_1_3 };
    const VkInstanceCreateInfo instance = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                            .pApplicationInfo = &application,
                                            .enabledExtensionCount = 1,
                                            .ppEnabledExtensionNames = &extension };
    uint32_t count = 1;
    MUST(vkCreateInstance(&instance, NULL, &e->instance));
    must(vkEnumeratePhysicalDevices(e->instance, &count, &e->physical) >= VK_SUCCESS && count == 1,
         "finding a device");
    e->sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    e->halves.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    e->halves.pNext = &e->sizes;
    e->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    e->features.pNext = &e->halves;
    vkGetPhysicalDeviceFeatures2(e->physical, &e->features);
    const VkPhysicalDeviceFeatures has = e->features.features;
    e->features.features = (VkPhysicalDeviceFeatures){ .shaderInt64 = has.shaderInt64,
                                                       .shaderFloat64 = has.shaderFloat64 };
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueCount = 1,
                                            .pQueuePriorities = &priority };
    const VkDeviceCreateInfo device = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                        .pNext = &e->features,
                                        .queueCreateInfoCount = 1,
                                        .pQueueCreateInfos = &queue };
    MUST(vkCreateDevice(e->physical, &device, NULL, &e->device));
    vkGetDeviceQueue(e->device, 0, 0, &e->queue);

    const VkPipelineCacheCreateInfo cache = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO
    };
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
    };
    VkCommandBufferAllocateInfo of = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                       .commandBufferCount = 1 };
    MUST(vkCreatePipelineCache(e->device, &cache, NULL, &e->pipelines));
    MUST(vkCreateCommandPool(e->device, &pool, NULL, &of.commandPool));
    MUST(vkAllocateCommandBuffers(e->device, &of, &e->commands));
    e->pool = of.commandPool;
}

/* In memory that the host sees, too. */
static void make_buffer(engine *e, uint64_t scratch_bytes)
{
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    for (int i = 0; i < PARTS; i++) {
        const uint64_t bytes = i == SCRATCH ? scratch_bytes : BYTES;
        e->at[i + 1] = e->at[i] + (bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    const VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                      .size = e->at[PARTS],
                                      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                               VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                               VK_BUFFER_USAGE_TRANSFER_DST_BIT };
    VkMemoryAllocateInfo of = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
    VkPhysicalDeviceMemoryProperties types;
    VkMemoryRequirements needs;
    void *mapped;
    MUST(vkCreateBuffer(e->device, &info, NULL, &e->buffer));
    vkGetBufferMemoryRequirements(e->device, e->buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(e->physical, &types);
    of.allocationSize = needs.size;
    while (!(needs.memoryTypeBits >> of.memoryTypeIndex & 1) ||
           (types.memoryTypes[of.memoryTypeIndex].propertyFlags & wanted) != wanted) {
        must(++of.memoryTypeIndex < types.memoryTypeCount, "finding memory");
    }
    MUST(vkAllocateMemory(e->device, &of, NULL, &e->memory));
    MUST(vkBindBufferMemory(e->device, e->buffer, e->memory, 0));
    MUST(vkMapMemory(e->device, e->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    e->copy = (const uint32_t *)mapped + e->at[COPY] / sizeof *e->copy;
}

static void barrier(const engine *e, VkPipelineStageFlags from, VkAccessFlags written,
                    VkPipelineStageFlags to, VkAccessFlags access)
{
    const VkMemoryBarrier memory = { VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, written, access };
    vkCmdPipelineBarrier(e->commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

/* Cells of the first half have one particle each, the others `more`. */
static void run_frame(const engine *e, uint32_t more, const tally_vulkan_kernel *kernel,
                      tally_vulkan_recording **recording)
{
    const VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    const VkPipelineStageFlags transfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
    const tally_vulkan_buffers parts = {
        .size = sizeof parts,
        .in = { e->buffer, e->at[COUNTS], e->at[PARTS], 0 },
        .out = { e->buffer, e->at[BEGINS], e->at[PARTS], 0 },
        .scratch = { e->buffer, e->at[SCRATCH], e->at[PARTS], 0 },
    };
    const VkBufferCopy copy = { e->at[BEGINS], e->at[COPY], BYTES };
    const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    const VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                  .commandBufferCount = 1,
                                  .pCommandBuffers = &e->commands };
    MUST(vkBeginCommandBuffer(e->commands, &begin));
    vkCmdFillBuffer(e->commands, e->buffer, e->at[COUNTS], BYTES / 2, 1);
    vkCmdFillBuffer(e->commands, e->buffer, e->at[COUNTS] + BYTES / 2, BYTES / 2, more);
    /* The kernel goes by shaders, and by transfers to its scratch. */
    barrier(e, transfer, VK_ACCESS_TRANSFER_WRITE_BIT, compute | transfer,
            VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    MUST_TALLY(tally_vulkan_record(kernel, e->commands, &parts, recording, &error));
    barrier(e, compute, VK_ACCESS_SHADER_WRITE_BIT, transfer, VK_ACCESS_TRANSFER_READ_BIT);
    vkCmdCopyBuffer(e->commands, e->buffer, e->buffer, 1, &copy);
    barrier(e, transfer, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
            VK_ACCESS_HOST_READ_BIT);
    MUST(vkEndCommandBuffer(e->commands));
    MUST(vkQueueSubmit(e->queue, 1, &submit, VK_NULL_HANDLE));
    MUST(vkQueueWaitIdle(e->queue));
    for (uint32_t i = 0, sum = 0; i < CELLS; i++) {
        must(e->copy[i] == sum, "comparing");
        sum += i < CELLS / 2 ? 1 : more;
    }
}

int main(void)
{
    const VkAllocationCallbacks allocator = { NULL, allocate, reallocate, release, NULL, NULL };
    engine e = { 0 };
    make_device(&e);
    tally_vulkan_host host = TALLY_VULKAN_HOST_INIT; /* no queue: the engine submits */
    host.instance = e.instance;
    host.physical = e.physical;
    host.device = e.device;
    host.api_version = VK_API_VERSION_1_3;
    host.features = &e.features;
    host.allocator = &allocator;
    host.pipeline_cache = e.pipelines; /* which an engine would save */
    host.debug_utils = 1;
    tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
    tally_vulkan_facts facts = TALLY_VULKAN_FACTS_INIT;
    tally_context *context = NULL;
    tally_vulkan *vulkan = NULL;
    tally_vulkan_kernel *kernel = NULL;
    tally_vulkan_recording *recording = NULL;
    MUST_TALLY(tally_context_create(NULL, &context, &error));
    MUST_TALLY(tally_vulkan_adopt(context, &host, &vulkan, &error));
    MUST_TALLY(tally_descriptor_parse(word, &descriptor, &error));
    MUST_TALLY(tally_vulkan_kernel_create(vulkan, &descriptor, NULL, &kernel, &error));
    tally_vulkan_kernel_facts(kernel, &facts);
    make_buffer(&e, facts.scratch_bytes);
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        run_frame(&e, frame, kernel, &recording); /* which has run when it is used again */
    }
    tally_vulkan_recording_destroy(&recording);
    tally_vulkan_kernel_destroy(&kernel);
    tally_vulkan_destroy(&vulkan);
    tally_context_destroy(&context);

    must(taken > 0 && live == 0, "using the engine's allocator");
    printf("%s: right in %d frames; dispatches in each: %u\n", word, FRAMES, facts.dispatches);
    vkDestroyBuffer(e.device, e.buffer, NULL);
    vkFreeMemory(e.device, e.memory, NULL);
    vkDestroyCommandPool(e.device, e.pool, NULL);
    vkDestroyPipelineCache(e.device, e.pipelines, NULL);
    vkDestroyDevice(e.device, NULL);
    vkDestroyInstance(e.instance, NULL);
    return 0;
}
