/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine on Vulkan has of its own, whatever it runs: a device and its queue, memory, ways to
 * bind buffers and to make pipelines of modules. vulkan_manifest.c uses it in place of an engine;
 * neither knows anything of libtally. What it makes ends with the process, and so does the process
 * when anything fails.
 */
#ifndef VULKAN_HOST_H
#define VULKAN_HOST_H

#include <vulkan/vulkan.h>

typedef struct host {
    VkPhysicalDevice physical;
    VkDevice device;
    VkCommandBuffer commands; /* begun */
    VkBuffer buffer;
    char *memory; /* of the buffer */
} host;

/* Ends the process unless `good`. */
void must(int good, const char *what);

/* The device of this name, with the features of these names (as Vulkan's structs have them) enabled,
 * and no others. */
void host_open(host *h, const char *name, const char *const *features, uint32_t feature_count);

/* One buffer, in memory that the host sees, too. */
void host_allocate(host *h, uint64_t bytes);

/* Ranges of the buffer as storage buffers of one set. */
VkDescriptorSet host_bind(const host *h, uint32_t count, const uint32_t *bindings,
                          const VkDescriptorBufferInfo *ranges, VkDescriptorSetLayout *layout);

/* Of such a set, and of push constants from offset 0. */
VkPipelineLayout host_layout(const host *h, VkDescriptorSetLayout set, uint32_t push_bytes);

/* `subgroup`: the size to be asked for; 0: any. */
VkPipeline host_pipeline(const host *h, VkPipelineLayout layout, const char *entry,
                         uint32_t subgroup, const uint32_t *words, uint32_t word_count);

/* A memory barrier, from writes of one stage to accesses of another. */
void host_barrier(const host *h, VkPipelineStageFlags from, VkAccessFlags written,
                  VkPipelineStageFlags to, VkAccessFlags access);

/* Runs what was recorded, and waits for it. */
void host_run(const host *h);

#endif
