/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a physical device can do: the facts that kernels depend on (caps), and those that only the
 * runtime needs. With a caller's device, only what the caller enabled counts.
 */
#ifndef TLY_FACTS_H
#define TLY_FACTS_H

#include "loader.h"

#include "../problem/caps.h"

#include <tally/kernel.h>

/* What a driver's pipelines are good for. */
typedef struct tly_vk_driver {
    uint32_t vendor, device, driver, version;
    uint8_t pipelines[VK_UUID_SIZE];
} tly_vk_driver;

typedef struct tly_vk_facts {
    tly_caps caps;
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    VkPhysicalDeviceType type;
    uint32_t api;            /* usable: the lesser of instance's and device's */
    uint32_t family;         /* first queue family with compute; UINT32_MAX: none */
    uint32_t full_subgroups; /* computeFullSubgroups */
    uint32_t timeline;       /* timelineSemaphore */
    uint32_t size_control;   /* the feature is there, needed or not */
    uint32_t portability;    /* VK_KHR_portability_subset must be enabled */
    uint32_t float16;        /* shaderFloat16, whether conversions are exact or not */
    /* Needed for what caps say, below 1.3, and 1.2 of the rest. */
    uint32_t size_extension, float_extension, half_extension, byte_extension;
    const char *disabled[5]; /* features that the device has, and its owner did not enable; NULL
                                   beyond */
    uint64_t largest;        /* maxMemoryAllocationSize */
    uint64_t atom;           /* nonCoherentAtomSize */
    uint32_t allocations;    /* maxMemoryAllocationCount */
    tly_vk_driver driver;
    VkPhysicalDeviceMemoryProperties memory;
} tly_vk_facts;

/* What a caller enabled on a device. */
typedef struct tly_vk_enabled {
    const VkPhysicalDeviceFeatures2 *features; /* may be NULL */
    const char *const *extensions;
    uint32_t extension_count;
} tly_vk_enabled;

/* `api` is the version that the instance was made for; `enabled` NULL: all that the device has.
 * What Vulkan says where the extensions cannot be read. */
VkResult tly_vk_facts_read(const tly_vk_instance_functions *fn, VkPhysicalDevice physical,
                           uint32_t api, const tly_vk_enabled *enabled, tly_vk_facts *facts);

/* TALLY_UNSUPPORTED, field device: a driver answers what no device has, so that no plan counts on
 * it. */
tally_status tly_vk_facts_check(const tly_vk_facts *facts, tally_error *error);

/* quirks.c: what drivers do beyond what they say. A saturation that is known stays. */
void tly_vk_quirks(tly_vk_facts *facts);

/* quirks.c: the width of subgroups that is best for kernels where pipelines ask for one, or 0; and
 * whether compute shaders have `size` throughout, though the driver says that it varies. */
uint32_t tly_vk_best_subgroup(const tly_caps *caps);
int tly_vk_keeps_subgroup(const tly_caps *caps, uint32_t size);

/* quirks.c: dtypes and features that the device lacks, blank-separated. */
void tly_caps_lack(const tly_caps *caps, char *text, size_t capacity);

#endif
