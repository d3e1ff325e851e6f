/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a physical device answers when it is asked about itself, as Vulkan's own structs; facts.c
 * makes facts of it.
 */
#ifndef TLY_ANSWERS_H
#define TLY_ANSWERS_H

#include "loader.h"

/* Every struct that may be asked for, in one place so that chains can point into it. */
typedef struct tly_vk_answers {
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
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV multiprocessors;
    VkPhysicalDeviceShaderCorePropertiesAMD cores;
    VkPhysicalDeviceShaderCoreProperties2AMD active_cores;
} tly_vk_answers;

/* The extensions of interest; VkExtensionProperties of all would be 60 KiB. */
typedef struct tly_vk_extensions {
    int timeline, size_control, floats, halves, bytes, driver, portability;
    int multiprocessors, cores, active_cores;
} tly_vk_extensions;

/* Notes an extension that is of interest. */
void tly_vk_note_extension(tly_vk_extensions *e, const char *name);

/* What the device offers: properties may be asked for, whether or not they are enabled. */
VkResult tly_vk_offered_extensions(const tly_vk_instance_functions *fn, VkPhysicalDevice physical,
                                   tly_vk_extensions *e);

/* Whether a version that can be used is Vulkan 1.`minor` or later. */
int tly_vk_since(uint32_t api, uint32_t minor);

void tly_vk_ask(const tly_vk_instance_functions *fn, VkPhysicalDevice physical, uint32_t api,
                const tly_vk_extensions *e, tly_vk_answers *a);

/* Puts what the caller's chain says in the place of what the device could do. */
void tly_vk_restrict(const VkPhysicalDeviceFeatures2 *chain, tly_vk_answers *a);

#endif
