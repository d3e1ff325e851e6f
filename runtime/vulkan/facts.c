/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a physical device's facts; see facts.h. */
#include "facts.h"

#include <stdlib.h>
#include <string.h>

/* Every struct that may be asked for, in one place so that chains can point into it. */
typedef struct answers {
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDevice8BitStorageFeatures storage8;
    VkPhysicalDeviceShaderFloat16Int8Features halves;
    VkPhysicalDeviceBufferDeviceAddressFeatures addresses;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    VkPhysicalDeviceSubgroupSizeControlFeatures size_control;
    VkPhysicalDeviceProperties2 properties;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceMaintenance3Properties maintenance3;
    VkPhysicalDeviceDriverProperties driver;
    VkPhysicalDeviceFloatControlsProperties floats;
    VkPhysicalDeviceSubgroupSizeControlProperties sizes;
} answers;

/* The extensions of interest; VkExtensionProperties of all would be 60 KiB. */
typedef struct extensions {
    int addresses, timeline, size_control, floats, halves, bytes, driver, portability;
} extensions;

static void note_extension(extensions *e, const char *name)
{
    const struct {
        const char *name;
        int *there;
    } known[] = {
        { "VK_KHR_timeline_semaphore", &e->timeline },
        { "VK_EXT_subgroup_size_control", &e->size_control },
        { "VK_KHR_shader_float_controls", &e->floats },
        { "VK_KHR_shader_float16_int8", &e->halves },
        { "VK_KHR_8bit_storage", &e->bytes },
        { "VK_KHR_driver_properties", &e->driver },
        { "VK_KHR_portability_subset", &e->portability },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) == 0) {
            *known[i].there = 1;
        }
    }
}

/* What the device offers: properties may be asked for, whether or not they are enabled. */
static VkResult offered_extensions(const tly_vk_instance_functions *fn, VkPhysicalDevice physical,
                                   extensions *e)
{
    uint32_t count = 0;
    VkResult result = fn->EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
    if (result < VK_SUCCESS) {
        return result;
    }
    VkExtensionProperties *list = calloc(count > 0 ? count : 1, sizeof *list);
    if (list == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    result = fn->EnumerateDeviceExtensionProperties(physical, NULL, &count, list);
    for (uint32_t i = 0; result >= VK_SUCCESS && i < count; i++) {
        note_extension(e, list[i].extensionName);
    }
    free(list);
    return result < VK_SUCCESS ? result : VK_SUCCESS;
}

static void append(void *chain, void *next)
{
    VkBaseOutStructure *last = chain;
    while (last->pNext != NULL) {
        last = last->pNext;
    }
    last->pNext = next;
}

static int since(uint32_t api, uint32_t minor)
{
    return api >= VK_MAKE_API_VERSION(0, 1, minor, 0);
}

static void ask(const tly_vk_instance_functions *fn, VkPhysicalDevice physical, uint32_t api,
                const extensions *e, answers *a)
{
    memset(a, 0, sizeof *a);
    a->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    a->storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    a->storage8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
    a->halves.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    a->addresses.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
    a->timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    a->size_control.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    a->properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    a->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    a->maintenance3.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
    a->driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    a->floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
    a->sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
    const struct {
        void *chain, *next;
        int there;
    } links[] = {
        { &a->features, &a->storage16, 1 },
        { &a->features, &a->storage8, since(api, 2) || e->bytes },
        { &a->features, &a->halves, since(api, 2) || e->halves },
        { &a->features, &a->addresses, since(api, 2) },
        { &a->features, &a->timeline, since(api, 2) || e->timeline },
        { &a->features, &a->size_control, since(api, 3) || e->size_control },
        { &a->properties, &a->subgroup, 1 },
        { &a->properties, &a->maintenance3, 1 },
        { &a->properties, &a->driver, since(api, 2) || e->driver },
        { &a->properties, &a->floats, since(api, 2) || e->floats },
        { &a->properties, &a->sizes, since(api, 3) || e->size_control },
    };
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        if (links[i].there) {
            append(links[i].chain, links[i].next);
        }
    }
    fn->GetPhysicalDeviceFeatures2(physical, &a->features);
    fn->GetPhysicalDeviceProperties2(physical, &a->properties);
}

/* Puts what the caller's chain says in the place of what the device could do. */
static void restrict_features(const VkPhysicalDeviceFeatures2 *chain, answers *a)
{
    VkPhysicalDeviceFeatures none = { 0 };
    a->features.features = chain != NULL ? chain->features : none;
    a->storage16.storageBuffer16BitAccess = a->addresses.bufferDeviceAddress = VK_FALSE;
    a->storage8.storageBuffer8BitAccess = a->timeline.timelineSemaphore = VK_FALSE;
    a->size_control.subgroupSizeControl = a->size_control.computeFullSubgroups = VK_FALSE;
    a->halves.shaderFloat16 = VK_FALSE;
    const VkBaseInStructure *next = chain != NULL ? chain->pNext : NULL;
    for (; next != NULL; next = next->pNext) {
        const void *link = next;
        switch ((int)next->sType) {
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
            a->storage16.storageBuffer16BitAccess = ((const VkPhysicalDeviceVulkan11Features *)link)
                                                        ->storageBuffer16BitAccess;
            break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
            a->storage16.storageBuffer16BitAccess =
                ((const VkPhysicalDevice16BitStorageFeatures *)link)->storageBuffer16BitAccess;
            break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
            a->storage8.storageBuffer8BitAccess = ((const VkPhysicalDeviceVulkan12Features *)link)
                                                      ->storageBuffer8BitAccess;
            a->halves.shaderFloat16 = ((const VkPhysicalDeviceVulkan12Features *)link)
                                          ->shaderFloat16;
            a->addresses.bufferDeviceAddress = ((const VkPhysicalDeviceVulkan12Features *)link)
                                                   ->bufferDeviceAddress;
            a->timeline.timelineSemaphore = ((const VkPhysicalDeviceVulkan12Features *)link)
                                                ->timelineSemaphore;
            break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
            a->storage8.storageBuffer8BitAccess =
                ((const VkPhysicalDevice8BitStorageFeatures *)link)->storageBuffer8BitAccess;
            break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES:
            a->halves.shaderFloat16 = ((const VkPhysicalDeviceShaderFloat16Int8Features *)link)
                                          ->shaderFloat16;
            break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
            a->addresses.bufferDeviceAddress =
                ((const VkPhysicalDeviceBufferDeviceAddressFeatures *)link)->bufferDeviceAddress;
            break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES:
            a->timeline.timelineSemaphore =
                ((const VkPhysicalDeviceTimelineSemaphoreFeatures *)link)->timelineSemaphore;
            break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
            a->size_control.subgroupSizeControl = ((const VkPhysicalDeviceVulkan13Features *)link)
                                                      ->subgroupSizeControl;
            a->size_control.computeFullSubgroups = ((const VkPhysicalDeviceVulkan13Features *)link)
                                                       ->computeFullSubgroups;
            break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES:
            a->size_control.subgroupSizeControl =
                ((const VkPhysicalDeviceSubgroupSizeControlFeatures *)link)->subgroupSizeControl;
            a->size_control.computeFullSubgroups =
                ((const VkPhysicalDeviceSubgroupSizeControlFeatures *)link)->computeFullSubgroups;
            break;
        default:
            break;
        }
    }
}

/* The features that plans ask for by these names. */
static void note_disabled(const answers *offers, const answers *enabled, tly_vk_facts *facts)
{
    const struct {
        const char *name;
        VkBool32 there, enabled;
    } features[] = {
#define FEATURE(link, name) { #name, offers->link.name, enabled->link.name }
        FEATURE(features.features, shaderInt64),      FEATURE(features.features, shaderFloat64),
        FEATURE(storage16, storageBuffer16BitAccess), FEATURE(storage8, storageBuffer8BitAccess),
        FEATURE(addresses, bufferDeviceAddress),
#undef FEATURE
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        if (features[i].there && !features[i].enabled) {
            facts->disabled[count++] = features[i].name;
        }
    }
}

/* The width that kernels can rely on: fixed, or asked for; 0 where a driver varies it. */
static void set_subgroup(const answers *a, tly_caps *caps)
{
    const VkPhysicalDeviceSubgroupSizeControlProperties *sizes = &a->sizes;
    uint32_t size = a->subgroup.subgroupSize;
    int compute = (a->subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    int fixed = sizes->maxSubgroupSize > 0 && sizes->minSubgroupSize == sizes->maxSubgroupSize;
    int asked = a->size_control.subgroupSizeControl &&
                (sizes->requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    /* Intel's drivers choose a width for each shader. */
    int varies = sizes->maxSubgroupSize > 0 ? !fixed : caps->vendor == 0x8086;
    caps->subgroup_ops = compute ? a->subgroup.supportedOperations : 0;
    caps->size_control = compute && !fixed && asked;
    caps->subgroup = compute && (caps->size_control || !varies) ? size : 0;
}

/* A mode of 16 bits can be asked for beside those of the other widths, which kernels ask for where
 * the device has them. */
static int stands_beside(VkShaderFloatControlsIndependence independence, VkBool32 has32,
                         VkBool32 has64, const answers *a)
{
    int with32 = independence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE || has32;
    int with64 = independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL || has64;
    return with32 && (with64 || !a->features.features.shaderFloat64);
}

static int converts_halves(const answers *a)
{
    const VkPhysicalDeviceFloatControlsProperties *f = &a->floats;
    return a->halves.shaderFloat16 && f->shaderSignedZeroInfNanPreserveFloat16 &&
           f->shaderRoundingModeRTEFloat16 && f->shaderDenormPreserveFloat16 &&
           stands_beside(f->roundingModeIndependence, f->shaderRoundingModeRTEFloat32,
                         f->shaderRoundingModeRTEFloat64, a) &&
           stands_beside(f->denormBehaviorIndependence, f->shaderDenormPreserveFloat32,
                         f->shaderDenormPreserveFloat64, a);
}

static void set_floats(const answers *a, int there, tly_caps *caps)
{
    const VkPhysicalDeviceFloatControlsProperties *f = &a->floats;
    if (!there) {
        return;
    }
    caps->preserve32 = f->shaderSignedZeroInfNanPreserveFloat32;
    caps->rte32 = f->shaderRoundingModeRTEFloat32;
    caps->denorm32 = f->shaderDenormPreserveFloat32;
    caps->preserve64 = f->shaderSignedZeroInfNanPreserveFloat64;
    caps->rte64 = f->shaderRoundingModeRTEFloat64;
    caps->denorm64 = f->shaderDenormPreserveFloat64;
    caps->half_exact = (uint32_t)converts_halves(a);
    caps->denorm_together = f->denormBehaviorIndependence ==
                            VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    caps->rounding_together = f->roundingModeIndependence ==
                              VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void set_limits(const VkPhysicalDeviceLimits *l, tly_caps *caps)
{
    caps->invocations = least(l->maxComputeWorkGroupInvocations, l->maxComputeWorkGroupSize[0]);
    caps->groups_x = l->maxComputeWorkGroupCount[0];
    caps->groups_y = l->maxComputeWorkGroupCount[1];
    caps->shared_bytes = l->maxComputeSharedMemorySize;
    caps->buffer_range = l->maxStorageBufferRange;
    caps->offset_align = (uint32_t)l->minStorageBufferOffsetAlignment;
}

static uint32_t compute_family(const tly_vk_instance_functions *fn, VkPhysicalDevice physical)
{
    VkQueueFamilyProperties families[32];
    uint32_t count = sizeof families / sizeof families[0];
    fn->GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT && families[i].queueCount > 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

VkResult tly_vk_facts_read(const tly_vk_instance_functions *fn, VkPhysicalDevice physical,
                           uint32_t api, const tly_vk_enabled *enabled, tly_vk_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    VkPhysicalDeviceProperties2 first = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 };
    fn->GetPhysicalDeviceProperties2(physical, &first);
    facts->api = least(api, first.properties.apiVersion);
    memcpy(facts->name, first.properties.deviceName, sizeof facts->name);
    facts->name[sizeof facts->name - 1] = 0;
    extensions offered = { 0 };
    VkResult result = offered_extensions(fn, physical, &offered);
    if (result != VK_SUCCESS) {
        return result;
    }
    extensions usable = offered;
    answers a;
    ask(fn, physical, facts->api, &offered, &a);
    if (enabled != NULL) {
        usable = (extensions){ 0 };
        for (uint32_t i = 0; i < enabled->extension_count; i++) {
            note_extension(&usable, enabled->extensions[i]);
        }
        answers offers = a;
        restrict_features(enabled->features, &a);
        note_disabled(&offers, &a, facts);
    }
    const VkPhysicalDeviceProperties *p = &a.properties.properties;
    facts->type = p->deviceType;
    facts->family = compute_family(fn, physical);
    facts->full_subgroups = a.size_control.computeFullSubgroups;
    facts->size_control = a.size_control.subgroupSizeControl;
    facts->timeline = a.timeline.timelineSemaphore;
    facts->float16 = a.halves.shaderFloat16;
    facts->portability = offered.portability;
    facts->size_extension = !since(facts->api, 3) && offered.size_control;
    facts->float_extension = !since(facts->api, 2) && offered.floats;
    facts->half_extension = !since(facts->api, 2) && offered.halves;
    facts->byte_extension = !since(facts->api, 2) && offered.bytes;
    facts->largest = a.maintenance3.maxMemoryAllocationSize;
    facts->atom = p->limits.nonCoherentAtomSize;
    facts->allocations = p->limits.maxMemoryAllocationCount;
    fn->GetPhysicalDeviceMemoryProperties(physical, &facts->memory);

    tly_caps *caps = &facts->caps;
    caps->vendor = p->vendorID;
    caps->driver = (uint32_t)a.driver.driverID;
    caps->int64 = a.features.features.shaderInt64;
    caps->float64 = a.features.features.shaderFloat64;
    caps->storage16 = a.storage16.storageBuffer16BitAccess;
    caps->storage8 = a.storage8.storageBuffer8BitAccess;
    caps->addresses = since(facts->api, 2) && a.addresses.bufferDeviceAddress;
    facts->driver = (tly_vk_driver){
        caps->vendor, p->deviceID, caps->driver, p->driverVersion, { 0 }
    };
    memcpy(facts->driver.pipelines, p->pipelineCacheUUID, sizeof facts->driver.pipelines);
    set_subgroup(&a, caps);
    set_floats(&a, since(facts->api, 2) || usable.floats, caps);
    set_limits(&p->limits, caps);
    tly_vk_quirks(facts);
    return VK_SUCCESS;
}
