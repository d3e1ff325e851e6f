/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is not there: the N-th Vulkan object or allocation fails, for every N until all goes
 * well, once or from there on; a tensor is larger than the device takes. The status says so,
 * nothing is written, every object is freed, and the device goes on as if nothing had been.
 */
#include "bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const words[] = { "cumsum:i32:20001:axis=0", "cumsum:f32:70x33:axis=0",
                                     "cumsum:i32:7x9:axis=1,in=20x2,out=20x2" };
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- failing functions ---- */

static tly_vk_functions real;
static long calls, fail_at = -1; /* the call that fails, from 0; -1: none */
static int fail_on, live;        /* fail_on: those behind it, too; live: objects not destroyed */

static int fails(void)
{
    const long call = calls++;
    return fail_at >= 0 && (call == fail_at || (fail_on && call > fail_at));
}

/* Counts what is made and freed. */
#define MAKES(name, info, handle) \
    static VKAPI_ATTR VkResult VKAPI_CALL make_##name(VkDevice d, const info *i, \
                                                      const VkAllocationCallbacks *a, handle *h) \
    { \
        VkResult result = fails() ? VK_ERROR_OUT_OF_DEVICE_MEMORY : real.name(d, i, a, h); \
        live += result == VK_SUCCESS; \
        return result; \
    }
#define FREES(name, handle) \
    static VKAPI_ATTR void VKAPI_CALL free_##name(VkDevice d, handle h, \
                                                  const VkAllocationCallbacks *a) \
    { \
        live -= h != VK_NULL_HANDLE; \
        real.name(d, h, a); \
    }

MAKES(AllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)
MAKES(CreateBuffer, VkBufferCreateInfo, VkBuffer)
MAKES(CreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool)
MAKES(CreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)
MAKES(CreateFence, VkFenceCreateInfo, VkFence)
MAKES(CreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)
FREES(FreeMemory, VkDeviceMemory)
FREES(DestroyBuffer, VkBuffer)
FREES(DestroyCommandPool, VkCommandPool)
FREES(DestroyDescriptorPool, VkDescriptorPool)
FREES(DestroyFence, VkFence)
FREES(DestroyShaderModule, VkShaderModule)
FREES(DestroyPipeline, VkPipeline)

static VKAPI_ATTR VkResult VKAPI_CALL make_CreateComputePipelines(
    VkDevice d, VkPipelineCache c, uint32_t n, const VkComputePipelineCreateInfo *i,
    const VkAllocationCallbacks *a, VkPipeline *p)
{
    VkResult result = fails() ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                              : real.CreateComputePipelines(d, c, n, i, a, p);
    live += result == VK_SUCCESS ? (int)n : 0;
    return result;
}

/* No objects of their own. */
#define ALSO(name, parameters, arguments) \
    static VKAPI_ATTR VkResult VKAPI_CALL make_##name parameters \
    { \
        return fails() ? VK_ERROR_OUT_OF_HOST_MEMORY : real.name arguments; \
    }
ALSO(AllocateCommandBuffers, (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *c),
     (d, i, c))
ALSO(AllocateDescriptorSets, (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *s),
     (d, i, s))
ALSO(BindBufferMemory, (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o), (d, b, m, o))
ALSO(MapMemory,
     (VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f, void **p),
     (d, m, o, s, f, p))
ALSO(BeginCommandBuffer, (VkCommandBuffer c, const VkCommandBufferBeginInfo *i), (c, i))
ALSO(EndCommandBuffer, (VkCommandBuffer c), (c))
ALSO(QueueSubmit, (VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f), (q, n, i, f))

static void replace(tally_vulkan *v)
{
    real = v->fn;
#define MAKER(name) v->fn.name = make_##name
#define FREER(name) v->fn.name = free_##name
    MAKER(AllocateMemory);
    MAKER(CreateBuffer);
    MAKER(CreateCommandPool);
    MAKER(CreateDescriptorPool);
    MAKER(CreateFence);
    MAKER(CreateShaderModule);
    MAKER(CreateComputePipelines);
    MAKER(AllocateCommandBuffers);
    MAKER(AllocateDescriptorSets);
    MAKER(BindBufferMemory);
    MAKER(MapMemory);
    MAKER(BeginCommandBuffer);
    MAKER(EndCommandBuffer);
    MAKER(QueueSubmit);
    FREER(FreeMemory);
    FREER(DestroyBuffer);
    FREER(DestroyCommandPool);
    FREER(DestroyDescriptorPool);
    FREER(DestroyFence);
    FREER(DestroyShaderModule);
    FREER(DestroyPipeline);
}

/* ---- one after the other ---- */

/* Makes, runs on host memory, and on buffers; the first status that is none of success. */
static tally_status use(const tly_case *c, tally_vulkan *v, char *out, tally_error *error)
{
    tally_vulkan_kernel *k = NULL;
    tally_vulkan_buffer *in = NULL, *to = NULL;
    tally_vulkan_buffers buffers = { .size = sizeof buffers };
    tally_status status = tally_vulkan_kernel_create(v, &c->d, NULL, &k, error);
    if (!status)
        status = tally_vulkan_buffer_create(v, c->in_bytes, &in, error);
    if (!status)
        status = tally_vulkan_buffer_create(v, c->out_bytes, &to, error);
    if (!status)
        status = tally_vulkan_buffer_write(in, 0, c->in, c->in_bytes, error);
    if (!status) {
        tally_vulkan_buffer_info(in, &buffers.in);
        tally_vulkan_buffer_info(to, &buffers.out);
        status = tally_vulkan_submit(k, &buffers, NULL, error);
    }
    if (!status)
        status = tally_vulkan_wait(v, error);
    if (!status)
        status = tally_vulkan_run(k, tly_case_in(c), tly_case_out(c, out), error);
    tally_vulkan_buffer_destroy(&in);
    tally_vulkan_buffer_destroy(&to);
    tally_vulkan_kernel_destroy(&k);
    return status;
}

/* Returns whether the N-th call was reached. */
static int fail_nth(tally_context *context, const tly_case *c, const char *expected, long n,
                    int staged)
{
    tally_error error = TALLY_ERROR_INIT;
    char *out = tly_case_blank(c), *blank = tly_case_blank(c);
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    replace(v);
    v->staged = staged;
    v->memory.block_bytes = 1 << 20; /* drivers clear what they allocate */
    calls = live = 0;
    fail_at = n;
    tally_status status = use(c, v, out, &error);
    const int reached = calls > n;
    if (status)
        tly_expect(status == TALLY_OUT_OF_MEMORY && error.message[0],
                   "%s, call %ld fails: status %d: %s", c->word, n, status, error.message);
    tly_expect(!status || !memcmp(out, blank, c->out_bytes), "%s, call %ld fails: it wrote",
               c->word, n);
    tly_expect(reached || !status, "%s: status %d, and nothing failed", c->word, status);
    fail_at = -1;
    memcpy(out, blank, c->out_bytes);
    status = use(c, v, out, &error);
    if (tly_expect(!status, "%s, after call %ld failed: %s", c->word, n, error.message))
        tly_case_same(c, out, expected, "after a failure");
    tally_vulkan_destroy(&v);
    tly_expect(live == 0, "%s, call %ld fails: %d objects are lost", c->word, n, live);
    free(out);
    free(blank);
    return reached;
}

/* Modes: once or from there on, for memory that the host writes or that it does not. */
static void fail_each(tally_context *context, const char *word, int modes)
{
    tly_case c;
    tly_case_make(&c, word, TLY_DATA_BENIGN, 1);
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    char *expected = tly_case_result(&c, v, NULL, 0);
    if (expected && tly_case_right(&c, expected, tly_bed_flushes(v), 0, "alone"))
        for (int mode = 0; mode < modes; mode++) {
            long n = 0;
            fail_on = mode % 2;
            while (fail_nth(context, &c, expected, n, mode / 2))
                n++;
            tly_expect(n > 20, "%s: only %ld calls", word, n);
        }
    tally_vulkan_destroy(&v);
    free(expected);
    tly_case_end(&c);
}

/* ---- too large ---- */

/* Pages that nobody may touch. */
static void *reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void try_large(tally_vulkan *v, const char *word, size_t bytes)
{
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_kernel *k = NULL;
    char *in = reserve(bytes), *out = reserve(bytes);
    tly_expect(in && out && !tally_descriptor_parse(word, &d, &error), "%s: no room", word);
    tally_status status = tally_vulkan_kernel_create(v, &d, NULL, &k, &error);
    if (!status)
        status = tally_vulkan_run(k, in, out, &error);
    const int limited = strstr(error.message, "maxStorageBufferRange") != NULL;
    const int named = status == TALLY_OUT_OF_MEMORY || (status == TALLY_UNSUPPORTED && limited);
    tly_expect(named, "%s: status %d: %s", word, status, error.message);
    tly_expect(strpbrk(error.message, "0123456789") != NULL, "%s: no size in: %s", word,
               error.message);
    tally_vulkan_kernel_destroy(&k);
    munmap(in, bytes);
    munmap(out, bytes);
}

static void expect_well(tally_vulkan *v)
{
    tly_case c;
    tly_case_make(&c, "cumsum:i32:3001:axis=0", TLY_DATA_BITS, 1);
    char *out = tly_case_result(&c, v, NULL, 0);
    if (out)
        tly_case_right(&c, out, 0, 0, "after a failure");
    free(out);
    tly_case_end(&c);
}

static void too_large(tally_context *context)
{
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    tally_error error = TALLY_ERROR_INIT;
    tally_vulkan_buffer *buffer = NULL;
    try_large(v, "cumsum:i32:3000000000:axis=0", (size_t)12 << 30);
    expect_well(v);
    try_large(v, "cumsum:f32:40000x400000:axis=0", (size_t)64 << 30);
    expect_well(v);
    for (size_t bytes = (size_t)1 << 62; bytes > v->facts.largest; bytes /= 2) {
        tally_status status = tally_vulkan_buffer_create(v, bytes, &buffer, &error);
        tly_expect(status == TALLY_OUT_OF_MEMORY && !buffer, "a buffer of %zu bytes: %d", bytes,
                   status);
    }
    v->facts.largest = 64 << 10;
    tly_case c;
    tly_case_make(&c, "cumsum:i32:40000:axis=0", TLY_DATA_BITS, 1);
    tally_vulkan_kernel *k = tly_case_kernel(&c, v, NULL, 0);
    char *out = tly_case_blank(&c), *blank = tly_case_blank(&c);
    tally_status status = tally_vulkan_run(k, tly_case_in(&c), tly_case_out(&c, out), &error);
    tly_expect(status == TALLY_OUT_OF_MEMORY && strstr(error.message, "65536"), "%s: status %d: %s",
               c.word, status, error.message);
    tly_expect(!memcmp(out, blank, c.out_bytes), "%s: it wrote", c.word);
    expect_well(v);
    free(out);
    free(blank);
    tally_vulkan_kernel_destroy(&k);
    tly_case_end(&c);
    tally_vulkan_destroy(&v);
}

int main(void)
{
    tally_context *context = tly_bed_context();
    too_large(context);
    for (size_t k = 0; k < COUNT(words); k++)
        fail_each(context, words[k], k == 0 ? 4 : 1);
    tally_context_destroy(&context);
    return tly_bed_end("no memory", 100);
}
