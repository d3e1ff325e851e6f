/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to Vulkan: libvulkan is opened on the first use and never closed, since drivers start
 * threads and register exit handlers. libtally itself links nothing of Vulkan.
 */
#ifndef TLY_LOADER_H
#define TLY_LOADER_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <tally/status.h>

typedef struct tly_vk_instance_functions {
#define INSTANCE(name) PFN_vk##name name;
#include "functions.def"
} tly_vk_instance_functions;

/* Tests replace entries. */
typedef struct tly_vk_functions {
#define DEVICE(name) PFN_vk##name name;
#define OPTIONAL(name) PFN_vk##name name;
#include "functions.def"
} tly_vk_functions;

/* The library's name; tests name one that is missing. */
extern const char *tly_vk_library;

/* The loader's entry. TALLY_UNSUPPORTED, with a hint, without libvulkan (which is not remembered);
 * TALLY_OUT_OF_MEMORY where it cannot be mapped; TALLY_UNSUPPORTED, too, in a child that was
 * forked after the first call. Thread-safe. */
tally_status tly_vk_load(PFN_vkGetInstanceProcAddr *get, tally_error *error);

/* All functions that there are; TALLY_UNSUPPORTED names the first that is missing. */
tally_status tly_vk_instance_load(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                                  tly_vk_instance_functions *fn, tally_error *error);
tally_status tly_vk_device_load(const tly_vk_instance_functions *instance, VkDevice device,
                                tly_vk_functions *fn, tally_error *error);

#endif
