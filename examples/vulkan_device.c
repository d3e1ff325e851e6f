/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's choice of a device: by what a kernel needs, never by a name. Each device is compared
 * with all that docs/vulkan.md says a manifest asks for, and of those that have it the fastest kind
 * is taken. If there is none, the program says what each device lacks.
 */
#include "vulkan_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 16, MOST_FAMILIES = 16 };

/* What a device says of itself. Unsupported structs stay zero, so that nothing in them is there. */
typedef struct device {
    VkPhysicalDevice physical;
    uint32_t family; /* of queues that compute; MOST_FAMILIES if none does */
    VkPhysicalDeviceProperties2 basic;
    VkPhysicalDeviceVulkan11Properties p11;
    VkPhysicalDeviceVulkan12Properties p12;
    VkPhysicalDeviceVulkan13Properties p13;
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDeviceVulkan11Features f11;
    VkPhysicalDeviceVulkan12Features f12;
    VkPhysicalDeviceVulkan13Features f13;
} device;

static void find_family(device *d)
{
    VkQueueFamilyProperties families[MOST_FAMILIES];
    uint32_t count = MOST_FAMILIES;
    vkGetPhysicalDeviceQueueFamilyProperties(d->physical, &count, families);
    for (d->family = 0; d->family < count; d->family++) {
        if (families[d->family].queueFlags & VK_QUEUE_COMPUTE_BIT) {
            return;
        }
    }
    d->family = MOST_FAMILIES;
}

static void link_structs(device *d, int has_13)
{
    d->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    d->f11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    d->f12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    d->f13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    d->features.pNext = &d->f11;
    d->f11.pNext = &d->f12;
    d->f12.pNext = has_13 ? &d->f13 : NULL;
    d->basic.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    d->p11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
    d->p12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
    d->p13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
    d->basic.pNext = &d->p11;
    d->p11.pNext = &d->p12;
    d->p12.pNext = has_13 ? &d->p13 : NULL;
}

static void ask(device *d, VkPhysicalDevice physical)
{
    memset(d, 0, sizeof *d);
    d->physical = physical;
    find_family(d);
    vkGetPhysicalDeviceProperties(physical, &d->basic.properties);
    const uint32_t version = d->basic.properties.apiVersion;
    if (version >= VK_API_VERSION_1_2) {
        link_structs(d, version >= VK_API_VERSION_1_3);
        vkGetPhysicalDeviceProperties2(physical, &d->basic);
        vkGetPhysicalDeviceFeatures2(physical, &d->features);
    }
}

/* ---- names ---- */

typedef struct name {
    const char *name;
    VkBool32 *answer;
} name;

/* NULL: no such name. */
static VkBool32 *find(const name *names, size_t count, const char *wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i].name, wanted) == 0) {
            return names[i].answer;
        }
    }
    return NULL;
}

static VkBool32 *find_feature(device *d, const char *wanted)
{
    const name names[] = { { "shaderFloat64", &d->features.features.shaderFloat64 },
                           { "shaderInt64", &d->features.features.shaderInt64 },
                           { "shaderFloat16", &d->f12.shaderFloat16 },
                           { "storageBuffer16BitAccess", &d->f11.storageBuffer16BitAccess },
                           { "storageBuffer8BitAccess", &d->f12.storageBuffer8BitAccess },
                           { "subgroupSizeControl", &d->f13.subgroupSizeControl } };
    return find(names, sizeof names / sizeof *names, wanted);
}

#define CONTROLS(bits) \
    { "shaderDenormPreserveFloat" #bits, &d->p12.shaderDenormPreserveFloat##bits }, \
        { "shaderSignedZeroInfNanPreserveFloat" #bits, \
          &d->p12.shaderSignedZeroInfNanPreserveFloat##bits }, \
    { \
        "shaderRoundingModeRTEFloat" #bits, &d->p12.shaderRoundingModeRTEFloat##bits \
    }

static VkBool32 *find_property(device *d, const char *wanted)
{
    const name names[] = { CONTROLS(16), CONTROLS(32), CONTROLS(64) };
    return find(names, sizeof names / sizeof *names, wanted);
}

/* ---- the comparison ---- */

/* A module may ask for a width between the device's least and most. */
static int has_width(const device *d, uint32_t width)
{
    return d->p13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT &&
           width >= d->p13.minSubgroupSize && width <= d->p13.maxSubgroupSize;
}

/* The first thing that the device lacks; NULL: nothing. */
static const char *lacks(device *d, const host_needs *n)
{
    const VkPhysicalDeviceLimits *limits = &d->basic.properties.limits;
    const int computes_groups = (d->p11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    const struct {
        int there;
        const char *what;
    } facts[] = {
        { d->basic.properties.apiVersion >= VK_API_VERSION_1_2, "Vulkan 1.2" },
        { d->family < MOST_FAMILIES, "a queue that computes" },
        { n->subgroup_size == 0 || d->p11.subgroupSize == n->subgroup_size,
          "subgroups of the kernel's size" },
        { n->required_subgroup == 0 || has_width(d, n->required_subgroup),
          "pipelines with subgroups of the kernel's size" },
        { n->subgroup_operations == 0 || computes_groups, "subgroups in compute shaders" },
        { (n->subgroup_operations & ~d->p11.subgroupSupportedOperations) == 0,
          "an operation of subgroups" },
        { limits->maxComputeWorkGroupInvocations >= n->workgroup &&
              limits->maxComputeWorkGroupSize[0] >= n->workgroup,
          "workgroups that are so large" },
        { limits->maxComputeSharedMemorySize >= n->workgroup_bytes, "so much workgroup memory" },
        { limits->maxStorageBufferRange >= n->buffer_bytes, "storage buffers that are so large" },
        { limits->maxPerStageDescriptorStorageBuffers >= n->storage_buffers,
          "so many storage buffers" },
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!facts[i].there) {
            return facts[i].what;
        }
    }
    for (uint32_t i = 0; i < n->feature_count; i++) {
        const VkBool32 *answer = find_feature(d, n->features[i]);
        if (answer == NULL || !*answer) {
            return n->features[i];
        }
    }
    for (uint32_t i = 0; i < n->property_count; i++) {
        const VkBool32 *answer = find_property(d, n->properties[i]);
        if (answer == NULL || !*answer) {
            return n->properties[i];
        }
    }
    return NULL;
}

/* How fast such a device is expected to be. */
static int rank(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return 2;
    default:
        return 1;
    }
}

static void choose(VkInstance instance, const host_needs *needs, device *best)
{
    VkPhysicalDevice all[MOST_DEVICES];
    uint32_t count = MOST_DEVICES;
    const char *missing[MOST_DEVICES];
    device d;
    best->physical = VK_NULL_HANDLE;
    must(vkEnumeratePhysicalDevices(instance, &count, all) >= VK_SUCCESS, "asking for devices");
    for (uint32_t i = 0; i < count; i++) {
        ask(&d, all[i]);
        missing[i] = lacks(&d, needs);
        if (missing[i] == NULL &&
            (best->physical == VK_NULL_HANDLE ||
             rank(d.basic.properties.deviceType) > rank(best->basic.properties.deviceType))) {
            *best = d;
        }
    }
    for (uint32_t i = 0; i < count && best->physical == VK_NULL_HANDLE; i++) {
        ask(&d, all[i]);
        fprintf(stderr, "%s lacks %s\n", d.basic.properties.deviceName, missing[i]);
    }
    must(best->physical != VK_NULL_HANDLE, "finding a device for the kernel");
}

/* ---- the device ---- */

/* Enables what the kernel needs, and nothing else. */
static VkDevice make_device(const device *chosen, const host_needs *needs)
{
    const float priority = 1;
    static device enabled;
    memset(&enabled, 0, sizeof enabled);
    link_structs(&enabled, chosen->basic.properties.apiVersion >= VK_API_VERSION_1_3);
    for (uint32_t i = 0; i < needs->feature_count; i++) {
        *find_feature(&enabled, needs->features[i]) = VK_TRUE;
    }
    VkDeviceQueueCreateInfo queue = { VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO };
    queue.queueFamilyIndex = chosen->family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info = { VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &enabled.features };
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    VkDevice made;
    MUST(vkCreateDevice(chosen->physical, &info, NULL, &made));
    return made;
}

void host_open(host *h, const host_needs *needs)
{
    VkApplicationInfo application = { VK_STRUCTURE_TYPE_APPLICATION_INFO };
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info = { VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO };
    info.pApplicationInfo = &application;
    VkInstance instance;
    device chosen;
    MUST(vkCreateInstance(&info, NULL, &instance));
    choose(instance, needs, &chosen);
    h->physical = chosen.physical;
    h->family = chosen.family;
    h->device = make_device(&chosen, needs);

    VkCommandPoolCreateInfo pool = { VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
    VkCommandBufferAllocateInfo of = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO };
    VkCommandBufferBeginInfo begin = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    pool.queueFamilyIndex = h->family;
    of.commandBufferCount = 1;
    MUST(vkCreateCommandPool(h->device, &pool, NULL, &of.commandPool));
    MUST(vkAllocateCommandBuffers(h->device, &of, &h->commands));
    MUST(vkBeginCommandBuffer(h->commands, &begin));
}
