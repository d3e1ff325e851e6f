/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every result that an entry point of Vulkan may answer, once and from there on: a program that
 * makes a kernel, moves memory, submits, waits, runs, takes the time and gives all back gets the
 * right status, or the right result where a failure can be made good; nothing is freed that is
 * still in flight, nothing is lost, and the same device works afterwards. tests/vulkan/validated
 * runs it too: the layer knows what is in flight. ./faults MODULE, inject.c's.
 */
#include "bed.h"
#include "inject.h"

#include "../../runtime/cpu/features.h"
#include "../fake_gpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20, LENGTH = 30, COUNT = ROWS * LENGTH, BYTES = 4 * COUNT };
enum { FIRST_OF_DEVICES = TLY_VK_CreateDevice + 1 }; /* in results.def */
static const char word[] = "cumsum:f32:20x30:axis=1";

static const struct {
    const char *name;
    VkResult results[12];
} entries[TLY_VK_ENTRIES] = {
#define ENTRY(name, parameters, arguments, ...) [TLY_VK_##name] = { #name, { __VA_ARGS__ } },
#include "results.def"
};

/* What is said where a failure is passed on. */
static const struct {
    VkResult result;
    tally_status status;
} meanings[] = {
    { VK_ERROR_OUT_OF_HOST_MEMORY, TALLY_OUT_OF_MEMORY },
    { VK_ERROR_OUT_OF_DEVICE_MEMORY, TALLY_OUT_OF_MEMORY },
    { VK_ERROR_TOO_MANY_OBJECTS, TALLY_OUT_OF_MEMORY },
    { VK_ERROR_MEMORY_MAP_FAILED, TALLY_OUT_OF_MEMORY },
    { VK_ERROR_FRAGMENTED_POOL, TALLY_OUT_OF_MEMORY },
    { VK_ERROR_OUT_OF_POOL_MEMORY, TALLY_OUT_OF_MEMORY },
    { VK_ERROR_FRAGMENTATION, TALLY_OUT_OF_MEMORY },
    { VK_ERROR_DEVICE_LOST, TALLY_DEVICE_LOST },
    { VK_ERROR_UNKNOWN, TALLY_INTERNAL },
    { VK_ERROR_INITIALIZATION_FAILED, TALLY_UNSUPPORTED },
    { VK_ERROR_LAYER_NOT_PRESENT, TALLY_UNSUPPORTED },
    { VK_ERROR_EXTENSION_NOT_PRESENT, TALLY_UNSUPPORTED },
    { VK_ERROR_FEATURE_NOT_PRESENT, TALLY_UNSUPPORTED },
    { VK_ERROR_INCOMPATIBLE_DRIVER, TALLY_UNSUPPORTED },
};

static tally_status meaning(VkResult result)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (meanings[i].result == result)
            return meanings[i].status;
    return TALLY_OK; /* no failure */
}

static tly_injector *injector;
static PFN_vkGetInstanceProcAddr get;
static tally_context *context;

/* ---- the program ---- */

typedef struct story {
    tally_vulkan *v;
    tally_vulkan_kernel *kernel; /* with scratch */
    tally_vulkan_buffer *in, *out;
    tally_vulkan_buffers buffers;
    float read[COUNT], run[COUNT];
    tally_error error;
} story;

static tally_status make_all(story *s)
{
    const tally_kernel_options options = { .size = sizeof options, .plan = "cut=17" };
    tally_descriptor d;
    tally_status status = tally_descriptor_parse(word, &d, &s->error);
    if (!status)
        status = tally_vulkan_kernel_create(s->v, &d, &options, &s->kernel, &s->error);
    if (!status)
        status = tally_vulkan_buffer_create(s->v, BYTES, &s->in, &s->error);
    if (!status)
        status = tally_vulkan_buffer_create(s->v, BYTES, &s->out, &s->error);
    return status;
}

static tally_status use_all(story *s)
{
    float ones[COUNT];
    double seconds;
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    tally_status status = tally_vulkan_buffer_write(s->in, 0, ones, BYTES, &s->error);
    s->buffers.size = sizeof s->buffers;
    tally_vulkan_buffer_info(s->in, &s->buffers.in);
    tally_vulkan_buffer_info(s->out, &s->buffers.out);
    if (!status)
        status = tally_vulkan_submit(s->kernel, &s->buffers, NULL, &s->error);
    if (!status)
        status = tally_vulkan_submit(s->kernel, &s->buffers, NULL, &s->error);
    if (!status)
        status = tally_vulkan_wait(s->v, &s->error);
    if (!status)
        status = tally_vulkan_run(s->kernel, ones, s->run, &s->error);
    if (!status)
        status = tally_vulkan_time(s->kernel, &s->buffers, &seconds, &s->error);
    if (!status)
        status = tally_vulkan_buffer_read(s->out, 0, s->read, BYTES, &s->error);
    return status;
}

static void end(story *s)
{
    tally_vulkan_buffer_destroy(&s->in);
    tally_vulkan_buffer_destroy(&s->out);
    tally_vulkan_kernel_destroy(&s->kernel);
    tally_vulkan_destroy(&s->v);
}

static int right(const float *out)
{
    for (int i = 0; i < COUNT; i++)
        if (out[i] != (float)(i % LENGTH + 1))
            return 0;
    return 1;
}

/* On a device that is there already, or a new one; memory staged and not coherent, or neither. */
static tally_status tell(story *s, const tally_vulkan_host *host, int staged)
{
    memset(s, 0, sizeof *s);
    s->error = (tally_error)TALLY_ERROR_INIT;
    tally_status status = host ? tally_vulkan_adopt(context, host, &s->v, &s->error)
                               : tally_vulkan_open(context, tly_bed_device(), &s->v, &s->error);
    if (!status) {
        s->v->memory.block_bytes = 64 << 10; /* drivers clear what they allocate */
        s->v->staged = staged;
        for (uint32_t i = 0; staged && i < VK_MAX_MEMORY_TYPES; i++)
            s->v->facts.memory.memoryTypes[i].propertyFlags &= ~(
                unsigned)VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        status = make_all(s);
    }
    if (!status)
        status = use_all(s);
    end(s);
    return status;
}

/* ---- a device of the test's ---- */

typedef struct lender {
    tly_vk_list *list;
    VkDevice device;
    tly_vk_functions fn;
    VkPhysicalDeviceFeatures2 features;
    tally_vulkan_host host;
} lender;

static void lend(lender *l)
{
    const float priority = 1;
    size_t index = 0;
    tally_error error = TALLY_ERROR_INIT;
    memset(l, 0, sizeof *l);
    if (tly_vk_list_open(&l->list, &error) ||
        tly_vk_choose(l->list, tly_bed_device(), &index, &error)) {
        fprintf(stderr, "FAILED %s\n", error.message);
        exit(2);
    }
    const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueCount = 1,
                                            .queueFamilyIndex = l->list->facts[index].family,
                                            .pQueuePriorities = &priority };
    const VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                      .queueCreateInfoCount = 1,
                                      .pQueueCreateInfos = &queue };
    if (l->list->fn.CreateDevice(l->list->physical[index], &info, NULL, &l->device) ||
        tly_vk_device_load(&l->list->fn, l->device, &l->fn, &error))
        exit(2);
    l->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    l->host = (tally_vulkan_host){ .size = sizeof l->host,
                                   .instance = l->list->instance,
                                   .physical = l->list->physical[index],
                                   .device = l->device,
                                   .get = get,
                                   .api_version = VK_API_VERSION_1_2,
                                   .features = &l->features,
                                   .queue_family = queue.queueFamilyIndex };
    l->fn.GetDeviceQueue(l->device, queue.queueFamilyIndex, 0, &l->host.queue);
}

static void take_back(lender *l)
{
    l->fn.DestroyDevice(l->device, NULL);
    tly_vk_list_close(l->list);
}

/* ---- one failure ---- */

static void explain(const tly_injection *p, int staged, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s answers %d %s call %ld%s%s",
             p->entry < TLY_VK_ENTRIES ? entries[p->entry].name : "everything", (int)p->result,
             p->on ? "from" : "at", p->first, p->done ? ", done" : "", staged ? ", staged" : "");
}

/* Returns whether the call was reached. */
static int fail(const tally_vulkan_host *host, tly_injection *p, int staged)
{
    static story s;
    char what[120];
    explain(p, staged, what, sizeof what);
    p->calls = 0;
    *injector = p;
    const tally_status status = tell(&s, host, staged);
    *injector = NULL;
    const int reached = p->calls > p->first;
    const tally_status expected = reached ? meaning(p->result) : TALLY_OK;
    tly_expect(!status || status == expected, "%s: status %d: %s", what, status, s.error.message);
    if (status)
        tly_expect(s.error.status == status && s.error.message[0], "%s: no message", what);
    else
        tly_expect(right(s.run) && right(s.read), "%s: wrong", what);
    return reached;
}

/* One result for the first calls of an entry point: the first three, and then fewer. */
static void fail_calls(const tally_vulkan_host *host, tly_injection *p, int calls, int staged)
{
    for (p->first = 0; p->first < calls && fail(host, p, staged);)
        p->first += p->first < 3 ? 1 : p->first;
}

/* Every result at the first call, and the first of each kind at others. */
static void fail_each(const tally_vulkan_host *host, int entry, int staged)
{
    for (int r = 0; entries[entry].results[r]; r++) {
        const VkResult result = entries[entry].results[r];
        const int kind = r == 0 || result == VK_ERROR_DEVICE_LOST || result > 0;
        for (int on = 0; on < 2; on++) {
            tly_injection p = { .entry = entry, .result = result, .on = on };
            if (kind || staged)
                fail_calls(host, &p, kind && !on ? 1000 : 1, staged);
        }
        /* What lost the device may have begun. */
        tly_injection p = { .entry = entry, .result = result, .done = 1 };
        if (entry == TLY_VK_QueueSubmit && result == VK_ERROR_DEVICE_LOST)
            fail_calls(host, &p, 1000, staged);
    }
}

/* Leaks are meant where a device is left to its driver. */
extern void __lsan_disable(void) __attribute__((weak));

/* From one call on, nothing works: what is in flight then is left to the driver, with all of the
 * device, unless it is lost. */
static void fail_all(const tally_vulkan_host *host, VkResult result)
{
    tly_injection p = { .entry = TLY_VK_ENTRIES, .result = result, .on = 1 };
    while (fail(host, &p, 1))
        p.first += 3;
}

/* An entry point that is not there. */
static void miss_each(const tally_vulkan_host *host)
{
    static const char *const names[] = {
#define INSTANCE(name) "vk" #name,
#define DEVICE(name) "vk" #name,
#define OPTIONAL(name)
#include "../../runtime/vulkan/functions.def"
    };
    static story s;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tly_injection p = { .entry = TLY_VK_ENTRIES, .missing = names[i] };
        *injector = &p;
        const tally_status status = tell(&s, host, 0);
        *injector = NULL;
        tly_expect(status == TALLY_UNSUPPORTED && strstr(s.error.message, names[i]),
                   "%s is missing: status %d: %s", names[i], status, s.error.message);
    }
}

/* Lists of devices: memory that is short is no missing driver. */
static void fail_lists(int entry)
{
    for (int r = 0; entries[entry].results[r]; r++) {
        tly_injection p = { .entry = entry, .result = entries[entry].results[r] };
        tally_error error = TALLY_ERROR_INIT;
        size_t all = 0, count = 0;
        tly_expect(!tally_devices(NULL, 0, &all, &error) && all > TLY_LEVELS, "%zu devices: %s",
                   all, error.message);
        *injector = &p;
        const tally_status status = tally_devices(NULL, 0, &count, &error);
        *injector = NULL;
        tally_status expected = meaning(p.result);
        expected = expected == TALLY_UNSUPPORTED ? TALLY_OK : expected;
        tly_expect(p.calls > 0 && status == expected, "%s answers %d to a list: status %d: %s",
                   entries[entry].name, (int)p.result, status, error.message);
        tly_expect(status || count == (p.result == VK_INCOMPLETE ? all : TLY_LEVELS), "%zu devices",
                   count);
    }
}

/* Whatever of functions.def can fail is in results.def. */
static void look_through(void)
{
    static const char *const all[] = {
#define INSTANCE(name) #name,
#define DEVICE(name) #name,
#include "../../runtime/vulkan/functions.def"
    };
    static const char *const no_result[] = { "Cmd", "Destroy", "Free", "Get", "Update" };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        int found = 0;
        for (int entry = 0; entry < TLY_VK_ENTRIES; entry++)
            found |= !strcmp(all[i], entries[entry].name);
        for (size_t k = 0; k < sizeof no_result / sizeof no_result[0]; k++)
            found |= !strncmp(all[i], no_result[k], strlen(no_result[k]));
        tly_expect(found, "results.def lacks %s", all[i]);
    }
}

static void begin_context(void)
{
    context = tly_bed_context();
    tly_context_set_generator(context, &fake_gpu_generator);
}

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = module ? dlsym(module, "vkGetInstanceProcAddr") : NULL;
    injector = module ? dlsym(module, "tly_inject") : NULL;
    if (!symbol || !injector) {
        fprintf(stderr, "usage: faults MODULE\n");
        return 2;
    }
    memcpy(&get, &symbol, sizeof get);
    tly_vk_library = argv[1];
    begin_context();
    look_through();
    for (int entry = 0; entry < FIRST_OF_DEVICES; entry++) {
        if (entry != TLY_VK_CreateDevice)
            fail_lists(entry);
        fail_each(NULL, entry, 0);
    }
    lender l;
    lend(&l);
    for (int entry = FIRST_OF_DEVICES; entry < TLY_VK_ENTRIES; entry++)
        for (int staged = 0; staged < 2; staged++)
            fail_each(&l.host, entry, staged);
    miss_each(&l.host);
    fail_all(&l.host, VK_ERROR_DEVICE_LOST);
    take_back(&l);
    tally_context_destroy(&context);
    if (__lsan_disable)
        __lsan_disable();
    begin_context();
    lend(&l);
    fail_all(&l.host, VK_ERROR_OUT_OF_HOST_MEMORY); /* that device is not given back */
    return tly_bed_end("faults", 300);
}
