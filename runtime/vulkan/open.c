/* SPDX-License-Identifier: Apache-2.0 */
/* Devices with an instance and a queue of their own. A failed opening leaves nothing behind. */
#include "internal.h"

#include "../host/error.h"
#include "../host/fork.h"

#include <string.h>

/* Every feature that kernels may use and the device has; structs of what is missing stay out of
 * the chain. */
typedef struct wanted {
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDevice8BitStorageFeatures storage8;
    VkPhysicalDeviceShaderFloat16Int8Features halves;
    VkPhysicalDeviceBufferDeviceAddressFeatures addresses;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes;
    const char *extensions[6];
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
    w->storage8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
    w->storage8.storageBuffer8BitAccess = f->caps.storage8;
    want(w, &w->storage8, f->caps.storage8);
    w->halves.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    w->halves.shaderFloat16 = f->float16;
    want(w, &w->halves, f->float16);
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
        { "VK_KHR_shader_float16_int8", f->half_extension != 0 },
        { "VK_KHR_8bit_storage", f->byte_extension != 0 },
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
        .queueFamilyIndex = v->family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &w.features,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = w.extension_count,
        .ppEnabledExtensionNames = w.extensions,
    };
    VkResult result = v->instance_fn.CreateDevice(v->physical, &info, NULL, &v->device);
    if (result != VK_SUCCESS) {
        v->device = VK_NULL_HANDLE;
        return tly_vk_fail(v, result, "vkCreateDevice", error);
    }
    tally_status status = tly_vk_complete(v, error);
    if (status == TALLY_OK) {
        tly_vk_pipelines_open(v);
        v->fn.GetDeviceQueue(v->device, v->family, 0, &v->queue);
    }
    return status;
}

tally_status tly_vk_open(tally_context *context, tly_vk_list *list, size_t index,
                         tally_vulkan **vulkan, tally_error *error)
{
    tally_vulkan *v = tly_vk_allocate(context, error);
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
    tally_status status = tly_vk_facts_check(&v->facts, error);
    if (status == TALLY_OK) {
        status = create_device(v, error);
    }
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
