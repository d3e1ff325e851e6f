/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, bindings, pipelines and commands of an engine; see vulkan_host.h. */
#include "vulkan_host.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BUFFERS = 8 };

void must(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

/* ---- memory ---- */

void host_allocate(host *h, uint64_t bytes)
{
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkBufferCreateInfo info = { VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO };
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VkPhysicalDeviceMemoryProperties types;
    VkMemoryRequirements needs;
    VkDeviceMemory memory;
    void *mapped;
    MUST(vkCreateBuffer(h->device, &info, NULL, &h->buffer));
    vkGetBufferMemoryRequirements(h->device, h->buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(h->physical, &types);
    VkMemoryAllocateInfo of = { VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
    of.allocationSize = needs.size;
    while (!(needs.memoryTypeBits >> of.memoryTypeIndex & 1) ||
           (types.memoryTypes[of.memoryTypeIndex].propertyFlags & wanted) != wanted) {
        must(++of.memoryTypeIndex < types.memoryTypeCount, "finding memory");
    }
    MUST(vkAllocateMemory(h->device, &of, NULL, &memory));
    MUST(vkBindBufferMemory(h->device, h->buffer, memory, 0));
    MUST(vkMapMemory(h->device, memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    h->memory = mapped;
}

VkDescriptorSet host_bind(const host *h, uint32_t count, const uint32_t *bindings,
                          const VkDescriptorBufferInfo *ranges, VkDescriptorSetLayout *layout)
{
    VkDescriptorSetLayoutBinding each[MOST_BUFFERS];
    VkDescriptorSetLayoutCreateInfo info = { VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO };
    VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count };
    VkDescriptorPoolCreateInfo pool = { VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO };
    VkDescriptorSetAllocateInfo of = { VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO };
    VkDescriptorSet set;
    must(count <= MOST_BUFFERS, "binding so many buffers");
    for (uint32_t i = 0; i < count; i++) {
        each[i] = (VkDescriptorSetLayoutBinding){ bindings[i], VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                                  VK_SHADER_STAGE_COMPUTE_BIT, NULL };
    }
    info.bindingCount = count;
    info.pBindings = each;
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    of.descriptorSetCount = 1;
    of.pSetLayouts = layout;
    MUST(vkCreateDescriptorSetLayout(h->device, &info, NULL, layout));
    MUST(vkCreateDescriptorPool(h->device, &pool, NULL, &of.descriptorPool));
    MUST(vkAllocateDescriptorSets(h->device, &of, &set));
    for (uint32_t i = 0; i < count; i++) {
        VkWriteDescriptorSet write = { VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET };
        write.dstSet = set;
        write.dstBinding = bindings[i];
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &ranges[i];
        vkUpdateDescriptorSets(h->device, 1, &write, 0, NULL);
    }
    return set;
}

/* ---- code ---- */

VkPipelineLayout host_layout(const host *h, VkDescriptorSetLayout set, uint32_t push_bytes)
{
    VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes };
    VkPipelineLayoutCreateInfo info = { VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO };
    VkPipelineLayout layout;
    info.setLayoutCount = 1;
    info.pSetLayouts = &set;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &push;
    MUST(vkCreatePipelineLayout(h->device, &info, NULL, &layout));
    return layout;
}

VkPipeline host_pipeline(const host *h, VkPipelineLayout layout, const char *entry,
                         uint32_t subgroup, const uint32_t *words, uint32_t word_count)
{
    VkShaderModuleCreateInfo code = { VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO };
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO
    };
    VkComputePipelineCreateInfo info = { VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO };
    VkPipeline pipeline;
    code.codeSize = word_count * sizeof *words;
    code.pCode = words;
    size.requiredSubgroupSize = subgroup;
    info.layout = layout;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.pNext = subgroup ? &size : NULL;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.pName = entry;
    MUST(vkCreateShaderModule(h->device, &code, NULL, &info.stage.module));
    MUST(vkCreateComputePipelines(h->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

/* ---- commands ---- */

void host_barrier(const host *h, VkPipelineStageFlags from, VkAccessFlags written,
                  VkPipelineStageFlags to, VkAccessFlags access)
{
    VkMemoryBarrier memory = { VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, written, access };
    vkCmdPipelineBarrier(h->commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

void host_run(const host *h)
{
    VkQueue queue;
    VkSubmitInfo submit = { VK_STRUCTURE_TYPE_SUBMIT_INFO };
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &h->commands;
    MUST(vkEndCommandBuffer(h->commands));
    vkGetDeviceQueue(h->device, h->family, 0, &queue);
    MUST(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    MUST(vkQueueWaitIdle(queue));
}
