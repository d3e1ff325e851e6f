/*
 * Devices: one of the caller's, or one with an instance and a queue of its own. Guarantees that a
 * failed opening leaves nothing behind, and that a lost device can be freed like any other.
 */
#include "internal.h"

#include "../error.h"
#include "../fork.h"

#include <stdlib.h>
#include <string.h>

/* --- errors ---------------------------------------------------------------------------------- */

tally_status tly_vk_fail(tally_vulkan *v, VkResult result, const char *what, tally_error *error)
{
    switch ((int)result) {
    case VK_ERROR_DEVICE_LOST:
        atomic_store(&v->lost, 1);
        return tly_fail(error, TALLY_DEVICE_LOST, "device", "%s: %s is lost", what, v->facts.name);
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
        return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory", "%s: %s has no memory left", what,
                        v->facts.name);
    default:
        return tly_fail(error, TALLY_INTERNAL, "device", "%s on %s fails with %d", what,
                        v->facts.name, (int)result);
    }
}

tally_status tly_vk_usable(tally_vulkan *v, tally_error *error)
{
    if (!tly_vk_alive(v)) {
        return tly_fail(error, TALLY_DEVICE_LOST, "device",
                        "this process was forked after %s was opened", v->facts.name);
    }
    if (atomic_load(&v->lost)) {
        return tly_fail(error, TALLY_DEVICE_LOST, "device", "%s is lost", v->facts.name);
    }
    return TALLY_OK;
}

/* --- what every device has ------------------------------------------------------------------- */

static tally_status make_layouts(tally_vulkan *v, tally_error *error)
{
    VkDescriptorSetLayoutBinding bindings[3] = { { 0 } };
    for (uint32_t i = 0; i < 3; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    }
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 3, .pBindings = bindings,
    };
    VkResult result = v->fn.CreateDescriptorSetLayout(v->device, &set, NULL, &v->set_layout);
    VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(tly_push) };
    for (uint32_t addresses = 0; addresses < 2 && result == VK_SUCCESS; addresses++) {
        VkPipelineLayoutCreateInfo layout = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
            .setLayoutCount = addresses ? 0 : 1, .pSetLayouts = &v->set_layout,
            .pushConstantRangeCount = 1, .pPushConstantRanges = &push,
        };
        result = v->fn.CreatePipelineLayout(v->device, &layout, NULL, &v->layout[addresses]);
    }
    return result == VK_SUCCESS ? TALLY_OK : tly_vk_fail(v, result, "a pipeline layout", error);
}

static tally_vulkan *allocate(tally_context *context, tally_error *error)
{
    tally_vulkan *v = calloc(1, sizeof *v);
    if (v == NULL) {
        tly_out_of_memory(error, "a device", sizeof *v);
        return NULL;
    }
    v->context = context;
    v->pid = getpid();
    pthread_mutex_init(&v->queue_lock, NULL);
    pthread_mutex_init(&v->slot_lock, NULL);
    pthread_mutex_init(&v->memory.lock, NULL);
    tly_vk_objects_init(&v->objects, context->cache.bound);
    return v;
}

/* The functions and layouts of v->device. */
static tally_status complete(tally_vulkan *v, tally_error *error)
{
    tally_status status = tly_vk_device_load(&v->instance_fn, v->device, &v->fn, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (v->fn.GetBufferDeviceAddress == NULL) {
        v->facts.caps.addresses = 0;
    }
    v->staged = v->facts.type != VK_PHYSICAL_DEVICE_TYPE_CPU &&
                v->facts.type != VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    return make_layouts(v, error);
}

/* All but the table of pipelines, which must go before the layouts and after the slots. */
static void end_device(tally_vulkan *v)
{
    for (int i = 0; i < 2; i++) {
        v->fn.DestroyPipelineLayout(v->device, v->layout[i], NULL);
    }
    v->fn.DestroyDescriptorSetLayout(v->device, v->set_layout, NULL);
    tly_vk_memory_end(v);
}

void tly_vk_close(tally_vulkan *v)
{
    if (v == NULL) {
        return;
    }
    /* In a forked child the driver's threads are gone: what it holds cannot be freed. */
    int alive = tly_vk_alive(v) && v->device != VK_NULL_HANDLE;
    int complete = alive && v->fn.DestroyPipelineLayout != NULL;
    tly_vk_slots_end(v);
    tly_vk_objects_end(v);
    if (complete) {
        end_device(v);
    }
    if (v->owned && alive && v->fn.DestroyDevice != NULL) {
        v->fn.DestroyDevice(v->device, NULL);
    }
    if (v->owned && tly_vk_alive(v)) {
        v->instance_fn.DestroyInstance(v->instance, NULL);
    }
    pthread_mutex_destroy(&v->queue_lock);
    pthread_mutex_destroy(&v->slot_lock);
    pthread_mutex_destroy(&v->memory.lock);
    free(v);
}

/* --- a device of ours ------------------------------------------------------------------------ */

/* Every feature that kernels may use and the device has; structs of what is missing stay out of
 * the chain. */
typedef struct wanted {
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDeviceBufferDeviceAddressFeatures addresses;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes;
    const char *extensions[4];
    uint32_t extension_count;
} wanted;

static void want(wanted *w, void *link, uint32_t there)
{
    if (there) {
        ((VkBaseOutStructure *)link)->pNext = w->features.pNext;
        w->features.pNext = link;
    }
}

static void want_features(const tly_vk_facts *f, wanted *w)
{
    memset(w, 0, sizeof *w);
    w->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    w->features.features.shaderInt64 = f->caps.int64;
    w->features.features.shaderFloat64 = f->caps.float64;
    w->storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    w->storage16.storageBuffer16BitAccess = f->caps.storage16;
    want(w, &w->storage16, f->caps.storage16);
    w->addresses.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
    w->addresses.bufferDeviceAddress = f->caps.addresses;
    want(w, &w->addresses, f->caps.addresses);
    w->timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    w->timeline.timelineSemaphore = f->timeline;
    want(w, &w->timeline, f->timeline);
    w->sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    w->sizes.subgroupSizeControl = f->size_control;
    w->sizes.computeFullSubgroups = f->full_subgroups;
    want(w, &w->sizes, f->size_control || f->full_subgroups);
    const struct {
        const char *name;
        int wanted;
    } extensions[] = {
        { "VK_KHR_portability_subset", f->portability != 0 },
        { "VK_EXT_subgroup_size_control", f->size_extension != 0 },
        { "VK_KHR_shader_float_controls", f->float_extension != 0 },
        { "VK_KHR_timeline_semaphore", f->timeline && f->api < VK_API_VERSION_1_2 },
    };
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++) {
        if (extensions[i].wanted) {
            w->extensions[w->extension_count++] = extensions[i].name;
        }
    }
}

static tally_status create_device(tally_vulkan *v, tally_error *error)
{
    wanted w;
    want_features(&v->facts, &w);
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = v->family, .queueCount = 1, .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &w.features,
        .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue,
        .enabledExtensionCount = w.extension_count, .ppEnabledExtensionNames = w.extensions,
    };
    VkResult result = v->instance_fn.CreateDevice(v->physical, &info, NULL, &v->device);
    if (result != VK_SUCCESS) {
        v->device = VK_NULL_HANDLE;
        return tly_vk_fail(v, result, "vkCreateDevice", error);
    }
    tally_status status = complete(v, error);
    if (status == TALLY_OK) {
        v->fn.GetDeviceQueue(v->device, v->family, 0, &v->queue);
    }
    return status;
}

tally_status tly_vk_open(tally_context *context, tly_vk_list *list, size_t index,
                         tally_vulkan **vulkan, tally_error *error)
{
    tally_vulkan *v = allocate(context, error);
    if (v == NULL) {
        return TALLY_OUT_OF_MEMORY;
    }
    v->owned = 1;
    v->facts = list->facts[index];
    v->instance_fn = list->fn;
    v->physical = list->physical[index];
    v->family = v->facts.family;
    v->instance = list->instance;
    list->instance = VK_NULL_HANDLE;
    tally_status status = create_device(v, error);
    if (status != TALLY_OK) {
        tly_vk_close(v);
        return status;
    }
    *vulkan = v;
    return TALLY_OK;
}

static tally_status open_chosen(tally_context *context, const char *device, tally_vulkan **vulkan,
                                tally_error *error)
{
    tly_vk_list *list = NULL;
    size_t index;
    tally_status status = tly_vk_list_open(&list, error);
    if (status == TALLY_OK) {
        status = tly_vk_choose(list, device, &index, error);
    }
    if (status == TALLY_OK) {
        status = tly_vk_open(context, list, index, vulkan, error);
    }
    tly_vk_list_close(list);
    return status;
}

tally_status tally_vulkan_open(tally_context *context, const char *device, tally_vulkan **vulkan,
                               tally_error *error)
{
    if (context == NULL || vulkan == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the context or the place is NULL");
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    tally_status status = open_chosen(context, device, vulkan, error);
    tly_fork_leave();
    return status;
}

/* --- a device of the caller's ---------------------------------------------------------------- */

static tally_status take_host(const tally_vulkan_host *host, tally_vulkan_host *known,
                              tally_error *error)
{
    tally_status status =
        tly_struct_take(known, sizeof *known, host, "tally_vulkan_host", error);
    if (status != TALLY_OK) {
        return status;
    }
    if (known->instance == NULL || known->physical == NULL || known->device == NULL ||
        (known->extensions == NULL && known->extension_count > 0)) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "instance, physical, device or extensions is NULL");
    }
    if (known->api_version < VK_API_VERSION_1_1) {
        return tly_fail(error, TALLY_UNSUPPORTED, "device",
                        "the instance was made for Vulkan %u.%u, and 1.1 is needed",
                        VK_API_VERSION_MAJOR(known->api_version),
                        VK_API_VERSION_MINOR(known->api_version));
    }
    return known->get != NULL ? TALLY_OK : tly_vk_load(&known->get, error);
}

static tally_status adopt(tally_context *context, const tally_vulkan_host *h,
                          tally_vulkan **vulkan, tally_error *error)
{
    tally_vulkan *v = allocate(context, error);
    if (v == NULL) {
        return TALLY_OUT_OF_MEMORY;
    }
    tly_vk_enabled enabled = { h->features, h->extensions, h->extension_count };
    v->instance = h->instance;
    v->physical = h->physical;
    v->queue = h->queue;
    v->family = h->queue_family;
    v->lock_queue = h->lock_queue;
    v->lock_user = h->lock_user;
    tally_status status = tly_vk_instance_load(h->get, h->instance, &v->instance_fn, error);
    if (status == TALLY_OK) {
        tly_vk_facts_read(&v->instance_fn, h->physical, h->api_version, &enabled, &v->facts);
        if (v->facts.api < VK_API_VERSION_1_1) {
            status = tly_fail(error, TALLY_UNSUPPORTED, "device", "%s is below Vulkan 1.1",
                              v->facts.name);
        }
    }
    if (status == TALLY_OK) {
        v->device = h->device;
        status = complete(v, error);
    }
    if (status != TALLY_OK) {
        tly_vk_close(v);
        return status;
    }
    *vulkan = v;
    return TALLY_OK;
}

tally_status tally_vulkan_adopt(tally_context *context, const tally_vulkan_host *host,
                                tally_vulkan **vulkan, tally_error *error)
{
    if (context == NULL || host == NULL || vulkan == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the context, host or place is NULL");
    }
    tally_vulkan_host known;
    tally_status status = take_host(host, &known, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    status = adopt(context, &known, vulkan, error);
    tly_fork_leave();
    return status;
}

void tally_vulkan_destroy(tally_vulkan **vulkan)
{
    if (vulkan == NULL || *vulkan == NULL) {
        return;
    }
    if (tly_fork_enter()) {
        tly_vk_close(*vulkan);
        tly_fork_leave();
    }
    *vulkan = NULL;
}

void tally_vulkan_info(const tally_vulkan *vulkan, tally_vulkan_handles *handles)
{
    *handles = (tally_vulkan_handles){ vulkan->instance, vulkan->physical, vulkan->device,
                                       vulkan->queue, vulkan->family };
}
