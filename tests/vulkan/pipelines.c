/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What drivers make of modules, and who keeps it: a device of ours finds its pipelines in the disk
 * cache, and does as well without, or where they are broken; on a device that the program lends
 * they go to the program's pipeline cache, all memory to the program's callbacks, and names to
 * VK_EXT_debug_utils, which is enabled there.
 */
#include "bed.h"

#include <tally/cache.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char word[] = "cumsum:f32:20x3000:axis=1";

static void run_right(tally_vulkan *v, const char *label)
{
    tly_case c;
    tly_case_make(&c, word, TLY_DATA_BENIGN, 3);
    char *out = tly_case_result(&c, v, NULL, 0);
    if (out)
        tly_case_right(&c, out, tly_bed_flushes(v), 0, label);
    free(out);
    tly_case_end(&c);
}

/* ---- a device of ours ---- */

typedef struct found {
    int entries, pipelines;
    char file[256];
} found;

static int look(void *user, const tally_cache_entry *entry)
{
    found *f = user;
    f->entries++;
    if (strcmp(entry->word, "pipelines") == 0) {
        f->pipelines++;
        snprintf(f->file, sizeof f->file, "%s", entry->name);
        tly_expect(!entry->fault && strstr(entry->device, tly_bed_device()), "pipelines of %s: %s",
                   entry->device, entry->fault);
    }
    return 0;
}

/* Opens, runs and closes; returns how many bytes of pipelines were there. */
static size_t turn(const char *folder, int keeps, const char *label)
{
    const tally_context_options options = { .size = sizeof options, .cache_folder = folder };
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    if (!tly_expect(!tally_context_create(&options, &context, &error), "%s: %s", label,
                    error.message))
        return 0;
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    const size_t bytes = v->pipeline_bytes;
    tly_expect((v->pipelines != VK_NULL_HANDLE) == keeps, "%s: a pipeline cache", label);
    run_right(v, label);
    tly_expect(v->pipelines_made == (keeps ? 1 : 0), "%s: %u made", label, v->pipelines_made);
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    return bytes;
}

/* Changes one byte in the middle of the file. */
static void spoil(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r+b");
    if (!tly_expect(file != NULL, "%s cannot be opened", path))
        return;
    fseek(file, -3, SEEK_END);
    const int byte = fgetc(file);
    fseek(file, -3, SEEK_END);
    fputc(byte ^ 1, file);
    fclose(file);
}

static void run_ours(void)
{
    char folder[] = P_tmpdir "/tally-pipelines-XXXXXX";
    found f = { 0 };
    tly_expect(turn("", 0, "without a folder") == 0, "pipelines from nowhere");
    if (!tly_expect(mkdtemp(folder) != NULL, "no folder"))
        return;
    tly_expect(turn(folder, 1, "an empty folder") == 0, "pipelines from an empty folder");
    tally_cache_visit(folder, look, &f, NULL);
    tly_expect(f.pipelines == 1 && f.entries == 3, "%d entries, %d of pipelines", f.entries,
               f.pipelines); /* and a plan, and the modules */
    tly_expect(turn(folder, 1, "the same folder") > 0, "no pipelines from the folder");
    spoil(folder, f.file);
    tly_expect(turn(folder, 1, "a broken entry") == 0, "pipelines from a broken entry");
    tly_expect(turn(folder, 1, "the entry again") > 0, "no pipelines after a broken entry");
    tally_cache_clear(folder, NULL, NULL);
    rmdir(folder);
}

/* ---- a device of the program's ---- */

static struct {
    tly_vk_functions real;
    VkPipelineCache cache;
    int pipelines, others, labels, depth, names;
    long allocated, freed;
} lent;

/* The size lies in front of what is handed out. */
enum { FRONT = 64 };

static VKAPI_ATTR void *VKAPI_CALL allocate(void *user, size_t size, size_t align,
                                            VkSystemAllocationScope scope)
{
    (void)user;
    (void)scope;
    const size_t front = align > FRONT ? align : FRONT;
    char *memory = aligned_alloc(front, (size + 2 * front - 1) / front * front);
    if (!memory)
        return NULL;
    memcpy(memory + front - sizeof size, &size, sizeof size);
    memcpy(memory + front - sizeof size - sizeof front, &front, sizeof front);
    __atomic_add_fetch(&lent.allocated, 1, __ATOMIC_RELAXED);
    return memory + front;
}

static VKAPI_ATTR void VKAPI_CALL release(void *user, void *memory)
{
    (void)user;
    if (!memory)
        return;
    size_t front;
    memcpy(&front, (char *)memory - 2 * sizeof front, sizeof front);
    __atomic_add_fetch(&lent.freed, 1, __ATOMIC_RELAXED);
    free((char *)memory - front);
}

static VKAPI_ATTR void *VKAPI_CALL reallocate(void *user, void *memory, size_t size, size_t align,
                                              VkSystemAllocationScope scope)
{
    void *larger = size ? allocate(user, size, align, scope) : NULL;
    if (memory && larger) {
        size_t before;
        memcpy(&before, (char *)memory - sizeof before, sizeof before);
        memcpy(larger, memory, before < size ? before : size);
    }
    if (larger || !size)
        release(user, memory);
    return larger;
}

static VKAPI_ATTR VkResult VKAPI_CALL make_pipelines(VkDevice device, VkPipelineCache cache,
                                                     uint32_t count,
                                                     const VkComputePipelineCreateInfo *info,
                                                     const VkAllocationCallbacks *allocator,
                                                     VkPipeline *pipelines)
{
    lent.pipelines++;
    lent.others += cache != lent.cache || !allocator || allocator->pfnAllocation != allocate;
    return lent.real.CreateComputePipelines(device, cache, count, info, allocator, pipelines);
}

static VKAPI_ATTR void VKAPI_CALL begin_label(VkCommandBuffer commands,
                                              const VkDebugUtilsLabelEXT *label)
{
    lent.labels += lent.depth++ == 0 && strcmp(label->pLabelName, "cumsum:f32") == 0;
    lent.real.CmdBeginDebugUtilsLabelEXT(commands, label);
}

static VKAPI_ATTR void VKAPI_CALL end_label(VkCommandBuffer commands)
{
    lent.depth--;
    lent.real.CmdEndDebugUtilsLabelEXT(commands);
}

static VKAPI_ATTR VkResult VKAPI_CALL set_name(VkDevice device,
                                               const VkDebugUtilsObjectNameInfoEXT *info)
{
    lent.names += info->objectType == VK_OBJECT_TYPE_PIPELINE &&
                  strcmp(info->pObjectName, "cumsum:f32") == 0;
    return lent.real.SetDebugUtilsObjectNameEXT(device, info);
}

static VkInstance make_instance(PFN_vkGetInstanceProcAddr get)
{
    static const char *const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    const VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                            .apiVersion = VK_API_VERSION_1_2 };
    const VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                        .pApplicationInfo = &application,
                                        .enabledExtensionCount = 1,
                                        .ppEnabledExtensionNames = &extension };
    VkInstance instance = VK_NULL_HANDLE;
    tly_expect(!create(&info, NULL, &instance), "no instance");
    return instance;
}

/* With a queue of its first family, and no features. */
static void make_device(const tly_vk_instance_functions *fn, tally_vulkan_host *host)
{
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueCount = 1,
                                            .pQueuePriorities = &priority };
    const VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                      .queueCreateInfoCount = 1,
                                      .pQueueCreateInfos = &queue };
    uint32_t count = 1;
    tally_error error = TALLY_ERROR_INIT;
    fn->EnumeratePhysicalDevices(host->instance, &count, &host->physical);
    tly_expect(!fn->CreateDevice(host->physical, &info, NULL, &host->device) &&
                   !tly_vk_device_load(fn, host->device, &lent.real, &error),
               "no device: %s", error.message);
    lent.real.GetDeviceQueue(host->device, 0, 0, &host->queue);
}

static void run_on(tally_context *context, const tally_vulkan_host *host)
{
    tally_vulkan *v = NULL;
    tally_error error = TALLY_ERROR_INIT;
    if (!tly_expect(!tally_vulkan_adopt(context, host, &v, &error), "lent: %s", error.message))
        return;
    if (tly_expect(v->fn.CmdBeginDebugUtilsLabelEXT && v->fn.SetDebugUtilsObjectNameEXT,
                   "no debug utils")) {
        v->fn.CmdBeginDebugUtilsLabelEXT = begin_label;
        v->fn.CmdEndDebugUtilsLabelEXT = end_label;
        v->fn.SetDebugUtilsObjectNameEXT = set_name;
    }
    v->fn.CreateComputePipelines = make_pipelines;
    run_right(v, "lent");
    tally_vulkan_destroy(&v);
}

static void run_lent(void)
{
    const VkAllocationCallbacks callbacks = { .pfnAllocation = allocate,
                                              .pfnReallocation = reallocate,
                                              .pfnFree = release };
    tally_vulkan_host host = { .size = sizeof host,
                               .api_version = VK_API_VERSION_1_2,
                               .allocator = &callbacks,
                               .debug_utils = 1 };
    tly_vk_instance_functions fn;
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = tly_bed_context();
    tly_expect(!tly_vk_load(&host.get, &error), "%s", error.message);
    host.instance = make_instance(host.get);
    tly_expect(!tly_vk_instance_load(host.get, host.instance, &fn, &error), "%s", error.message);
    make_device(&fn, &host);
    const VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO
    };
    tly_expect(!lent.real.CreatePipelineCache(host.device, &info, NULL, &lent.cache), "no cache");
    host.pipeline_cache = lent.cache;
    run_on(context, &host);
    tally_context_destroy(&context);
    tly_expect(lent.pipelines > 0 && lent.others == 0,
               "%d pipelines, %d without cache or callbacks", lent.pipelines, lent.others);
    tly_expect(lent.labels == 1 && lent.depth == 0 && lent.names == lent.pipelines,
               "%d labels, depth %d, %d names", lent.labels, lent.depth, lent.names);
    tly_expect(lent.allocated > 0 && lent.allocated == lent.freed, "%ld allocated, %ld freed",
               lent.allocated, lent.freed);
    lent.real.DestroyPipelineCache(host.device, lent.cache, NULL);
    lent.real.DestroyDevice(host.device, NULL);
    fn.DestroyInstance(host.instance, NULL);
}

int main(void)
{
    run_ours();
    run_lent();
    return tly_bed_end("pipelines", 20);
}
