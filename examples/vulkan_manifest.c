/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a kernel that was made ahead of time, on Vulkan, without libtally:
 *
 *   tally compile rows=cumsum:f32:64x1000:axis=1 -o rows.h --device vulkan
 *   cc -DHEADER='"rows.h"' -DKERNEL=rows vulkan_manifest.c -lvulkan
 *   ./a.out IN OUT              # files of elements, as they lie in memory
 *
 * It lets Vulkan end what it has made with the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

#include HEADER

enum { ALIGN = 256, BUFFERS = 3, MODULES = 3 }; /* no device aligns more */

static void must(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

#define MUST(call) must((call) == VK_SUCCESS, #call)

/* The device that the kernel was made for. */
static VkPhysicalDevice find_device(const char *target)
{
    VkApplicationInfo application = { VK_STRUCTURE_TYPE_APPLICATION_INFO };
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info = { VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO };
    info.pApplicationInfo = &application;
    VkInstance instance;
    VkPhysicalDevice all[16];
    VkPhysicalDeviceProperties properties;
    uint32_t count = 16, i = 0;
    MUST(vkCreateInstance(&info, NULL, &instance));
    must(vkEnumeratePhysicalDevices(instance, &count, all) >= VK_SUCCESS, "asking for devices");
    for (; i < count; i++) {
        vkGetPhysicalDeviceProperties(all[i], &properties);
        if (strncmp(properties.deviceName, target, 63) == 0) {
            break;
        }
    }
    must(i < count, target);
    return all[i];
}

/* With the features that the manifest names, and no others. Of its queues, family 0 has compute
 * nearly everywhere. */
static VkDevice make_device(VkPhysicalDevice physical, const tally_manifest *m)
{
    VkPhysicalDeviceVulkan13Features v13 = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES
    };
    VkPhysicalDeviceVulkan12Features v12 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                             &v13 };
    VkPhysicalDeviceVulkan11Features v11 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                             &v12 };
    VkPhysicalDeviceFeatures2 all = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &v11 };
    const struct {
        const char *name;
        VkBool32 *enable;
    } known[] = { { "shaderFloat64", &all.features.shaderFloat64 },
                  { "shaderInt64", &all.features.shaderInt64 },
                  { "shaderFloat16", &v12.shaderFloat16 },
                  { "storageBuffer16BitAccess", &v11.storageBuffer16BitAccess },
                  { "storageBuffer8BitAccess", &v12.storageBuffer8BitAccess },
                  { "subgroupSizeControl", &v13.subgroupSizeControl } };
    for (uint32_t i = 0; i < m->feature_count; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(known[k].name, m->features[i]) != 0) {
            k++;
        }
        must(k < sizeof known / sizeof *known, m->features[i]);
        *known[k].enable = VK_TRUE;
    }
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = { VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO };
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info = { VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &all };
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    VkDevice device;
    MUST(vkCreateDevice(physical, &info, NULL, &device));
    return device;
}

/* One buffer for all that the manifest lists, in memory that the host sees, too: where each
 * begins goes to `at`. Returns the memory. */
static char *make_buffer(VkPhysicalDevice physical, VkDevice device, const tally_manifest *m,
                         VkBuffer *buffer, uint64_t at[BUFFERS])
{
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkBufferCreateInfo info = { VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO };
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        at[i] = info.size;
        info.size += (m->buffers[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    VkPhysicalDeviceMemoryProperties types;
    VkMemoryRequirements needs;
    VkDeviceMemory memory;
    void *mapped;
    MUST(vkCreateBuffer(device, &info, NULL, buffer));
    vkGetBufferMemoryRequirements(device, *buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    VkMemoryAllocateInfo of = { VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
    of.allocationSize = needs.size;
    while (!(needs.memoryTypeBits >> of.memoryTypeIndex & 1) ||
           (types.memoryTypes[of.memoryTypeIndex].propertyFlags & wanted) != wanted) {
        must(++of.memoryTypeIndex < types.memoryTypeCount, "finding memory");
    }
    MUST(vkAllocateMemory(device, &of, NULL, &memory));
    MUST(vkBindBufferMemory(device, *buffer, memory, 0));
    MUST(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    return mapped;
}

static VkDescriptorSet make_set(VkDevice device, const tally_manifest *m, VkBuffer buffer,
                                const uint64_t at[BUFFERS], VkDescriptorSetLayout *layout)
{
    VkDescriptorSetLayoutBinding bindings[BUFFERS];
    VkDescriptorBufferInfo ranges[BUFFERS];
    VkWriteDescriptorSet writes[BUFFERS];
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        const tally_manifest_buffer *b = &m->buffers[i]; /* all are of set 0 */
        bindings[i] = (VkDescriptorSetLayoutBinding){ b->binding, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                      1, VK_SHADER_STAGE_COMPUTE_BIT, NULL };
        ranges[i] = (VkDescriptorBufferInfo){ buffer, at[i], b->bytes };
        writes[i] = (VkWriteDescriptorSet){ VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET };
        writes[i].dstBinding = b->binding;
        writes[i].descriptorCount = 1;
        writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[i].pBufferInfo = &ranges[i];
    }
    VkDescriptorSetLayoutCreateInfo info = { VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO };
    info.bindingCount = m->buffer_count;
    info.pBindings = bindings;
    VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, m->buffer_count };
    VkDescriptorPoolCreateInfo pool = { VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO };
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    VkDescriptorSetAllocateInfo of = { VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO };
    of.descriptorSetCount = 1;
    of.pSetLayouts = layout;
    VkDescriptorSet set;
    MUST(vkCreateDescriptorSetLayout(device, &info, NULL, layout));
    MUST(vkCreateDescriptorPool(device, &pool, NULL, &of.descriptorPool));
    MUST(vkAllocateDescriptorSets(device, &of, &set));
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        writes[i].dstSet = set;
    }
    vkUpdateDescriptorSets(device, m->buffer_count, writes, 0, NULL);
    return set;
}

static VkPipelineLayout make_pipelines(VkDevice device, const tally_manifest *m,
                                       const VkDescriptorSetLayout *set,
                                       VkPipeline pipelines[MODULES])
{
    VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof m->dispatches->push };
    VkPipelineLayoutCreateInfo layout_info = { VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO };
    layout_info.setLayoutCount = 1;
    layout_info.pSetLayouts = set;
    layout_info.pushConstantRangeCount = 1;
    layout_info.pPushConstantRanges = &push;
    VkComputePipelineCreateInfo info = { VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO };
    MUST(vkCreatePipelineLayout(device, &layout_info, NULL, &info.layout));
    for (uint32_t i = 0; i < m->module_count; i++) {
        const tally_manifest_module *module = &m->modules[i];
        VkShaderModuleCreateInfo code = { VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO };
        code.codeSize = module->word_count * sizeof *module->words;
        code.pCode = module->words;
        VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
            VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO
        };
        size.requiredSubgroupSize = module->subgroup;
        info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        info.stage.pNext = module->subgroup ? &size : NULL;
        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        info.stage.pName = module->entry;
        MUST(vkCreateShaderModule(device, &code, NULL, &info.stage.module));
        MUST(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipelines[i]));
    }
    return info.layout;
}

static void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
                    VkPipelineStageFlags to, VkAccessFlags access)
{
    VkMemoryBarrier memory = { VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, written, access };
    vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

/* What is zero first, and each dispatch behind the barrier that it needs. */
static void record(VkCommandBuffer commands, const tally_manifest *m, VkBuffer buffer,
                   const uint64_t at[BUFFERS], const VkPipeline *pipelines, VkPipelineLayout layout)
{
    const VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    const VkAccessFlags shader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    for (uint32_t i = 0; i < m->zero_count; i++) {
        const tally_manifest_zero *z = &m->zeros[i];
        vkCmdFillBuffer(commands, buffer, at[z->buffer] + z->offset, z->bytes, 0);
        barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, compute,
                shader);
    }
    for (uint32_t i = 0; i < m->dispatch_count; i++) {
        const tally_manifest_dispatch *d = &m->dispatches[i];
        if (d->barrier) {
            barrier(commands, compute, VK_ACCESS_SHADER_WRITE_BIT, compute, shader);
        }
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[d->module]);
        vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof d->push,
                           d->push);
        vkCmdDispatch(commands, d->groups[0], d->groups[1], d->groups[2]);
    }
    barrier(commands, compute, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
            VK_ACCESS_HOST_READ_BIT);
}

int main(int count, char **args)
{
    const tally_manifest *m = &KERNEL;
    FILE *in = count == 3 ? fopen(args[1], "rb") : NULL;
    FILE *out = in ? fopen(args[2], "wb") : NULL;
    must(out != NULL, "opening IN and OUT");
    VkPhysicalDevice physical = find_device(m->target);
    VkDevice device = make_device(physical, m);
    VkBuffer buffer;
    VkDescriptorSetLayout set_layout;
    VkPipeline pipelines[MODULES];
    uint64_t at[BUFFERS]; /* "in" is first, then "out", then what the kernel has for itself */
    char *memory = make_buffer(physical, device, m, &buffer, at);
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        if (m->buffers[i].data_bytes > 0) {
            memcpy(memory + at[i], m->buffers[i].data, m->buffers[i].data_bytes);
        }
    }
    must(fread(memory + at[0], 1, m->buffers[0].bytes, in) > 0, "reading");
    VkDescriptorSet set = make_set(device, m, buffer, at, &set_layout);
    VkPipelineLayout layout = make_pipelines(device, m, &set_layout, pipelines);

    VkCommandPoolCreateInfo pool = { VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
    VkCommandBufferAllocateInfo of = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO };
    VkCommandBufferBeginInfo begin = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    VkCommandBuffer commands;
    of.commandBufferCount = 1;
    MUST(vkCreateCommandPool(device, &pool, NULL, &of.commandPool));
    MUST(vkAllocateCommandBuffers(device, &of, &commands));
    MUST(vkBeginCommandBuffer(commands, &begin));
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    record(commands, m, buffer, at, pipelines, layout);
    MUST(vkEndCommandBuffer(commands));

    VkQueue queue;
    VkSubmitInfo submit = { VK_STRUCTURE_TYPE_SUBMIT_INFO };
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    vkGetDeviceQueue(device, 0, 0, &queue);
    MUST(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    MUST(vkQueueWaitIdle(queue));
    must(fwrite(memory + at[1], 1, m->buffers[1].bytes, out) == m->buffers[1].bytes &&
             fclose(out) == 0,
         "writing");
    return 0;
}
