/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine on Vulkan has of its own, whatever it runs: a device and its queue
 * (vulkan_device.c), memory, ways to bind buffers and to make pipelines of modules (vulkan_host.c).
 * vulkan_manifest.c uses it in place of an engine; none of them knows anything of libtally. What it
 * makes ends with the process, and so does the process when anything fails.
 */
#ifndef VULKAN_HOST_H
#define VULKAN_HOST_H

#include <vulkan/vulkan.h>

typedef struct host {
    VkPhysicalDevice physical;
    uint32_t family; /* of the queue */
    VkDevice device;
    VkCommandBuffer commands; /* begun */
    VkBuffer buffer;
    char *memory; /* of the buffer */
} host;

/* What a kernel asks of a device. Names are those of Vulkan's structs of features and properties.
 */
typedef struct host_needs {
    uint32_t feature_count, property_count;
    const char *const *features, *const *properties;
    uint32_t subgroup_size;       /* that the device must have; 0: any */
    uint32_t required_subgroup;   /* that a pipeline must be able to ask for; 0: none */
    uint32_t subgroup_operations; /* VkSubgroupFeatureFlags */
    uint32_t workgroup;           /* invocations */
    uint32_t workgroup_bytes;     /* of workgroup memory */
    uint64_t buffer_bytes;        /* of the largest storage buffer */
    uint32_t storage_buffers;     /* that a stage must be able to have; 0: what every device has */
} host_needs;

/* Ends the process unless `good`. */
void must(int good, const char *what);

#define MUST(call) must((call) == VK_SUCCESS, #call)

/* Opens the fastest kind of device that has all that is needed, with those features enabled and no
 * others. If there is none, what each device lacks is printed. */
void host_open(host *h, const host_needs *needs);

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
