/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the list of dispatches to a command buffer. Barriers stand between the kernel's own passes
 * only; what comes before and after is the caller's.
 */
#include "internal.h"

tally_status tly_vk_set_make(tally_vulkan *v, VkDescriptorPool *pool, VkDescriptorSet *set,
                             tally_error *error)
{
    VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, TLY_GPU_BINDINGS };
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = 1,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    VkResult result = v->fn.CreateDescriptorPool(v->device, &info, v->allocator, pool);
    if (result != VK_SUCCESS) {
        *pool = VK_NULL_HANDLE;
        return tly_vk_fail(v, result, "vkCreateDescriptorPool", error);
    }
    VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = *pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &v->set_layout,
    };
    result = v->fn.AllocateDescriptorSets(v->device, &allocate, set);
    if (result != VK_SUCCESS) {
        v->fn.DestroyDescriptorPool(v->device, *pool, v->allocator);
        *pool = VK_NULL_HANDLE;
        return tly_vk_fail(v, result, "vkAllocateDescriptorSets", error);
    }
    return TALLY_OK;
}

void tly_vk_barrier(const tally_vulkan *v, VkCommandBuffer commands, VkPipelineStageFlags from,
                    VkAccessFlags written, VkPipelineStageFlags to, VkAccessFlags access)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = written,
        .dstAccessMask = access,
    };
    v->fn.CmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static VkDescriptorBufferInfo bind(const tally_vulkan *v, const tly_vk_place *place, int64_t low,
                                   int64_t end, uint64_t *base)
{
    tly_gpu_binding b = tly_gpu_bind(place->offset, low, end, v->facts.caps.offset_align);
    *base = b.base;
    return (VkDescriptorBufferInfo){ place->buffer, b.offset, b.range };
}

static tly_gpu_bases write_set(const tally_vulkan_kernel *k, VkDescriptorSet set,
                               const tly_vk_places *places)
{
    const tally_vulkan *v = k->vulkan;
    const tly_gpu_steps *s = &k->steps;
    tly_gpu_bases b = { 0 };
    VkDescriptorBufferInfo info[TLY_GPU_BINDINGS];
    info[TLY_OUT] = bind(v, &places->tensor[TLY_OUT], s->low[TLY_OUT], s->end[TLY_OUT],
                         &b.tensor[TLY_OUT]);
    for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
        /* A tensor without elements is never touched: any buffer will do. */
        info[t] = s->end[t] > s->low[t]
                      ? bind(v, &places->tensor[t], s->low[t], s->end[t], &b.tensor[t])
                      : info[TLY_OUT];
    }
    /* Nor may a scratch be that a module declares. */
    info[TLY_GPU_SCRATCH] = s->scratch_bytes > 0 ? bind(v, &places->scratch, 0,
                                                        (int64_t)s->scratch_bytes, &b.scratch)
                                                 : info[TLY_OUT];
    VkWriteDescriptorSet write = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .dstSet = set,
        .descriptorCount = TLY_GPU_BINDINGS,
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .pBufferInfo = info,
    };
    v->fn.UpdateDescriptorSets(v->device, 1, &write, 0, NULL);
    return b;
}

static uint64_t address_of(const tly_vk_place *place)
{
    return place->address + (uint64_t)place->offset;
}

static tly_gpu_bases addresses_of(const tally_vulkan_kernel *k, const tly_vk_places *places)
{
    tly_gpu_bases b = { 0 };
    for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
        b.tensor[t] = address_of(&places->tensor[t]);
    }
    b.scratch = k->steps.scratch_bytes > 0 ? address_of(&places->scratch) : 0;
    return b;
}

static void zero_scratch(const tally_vulkan_kernel *k, VkCommandBuffer commands, int after,
                         const tly_vk_place *scratch)
{
    const tally_vulkan *v = k->vulkan;
    const VkAccessFlags shader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    if (after) {
        tly_vk_barrier(v, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_TRANSFER_WRITE_BIT);
    }
    v->fn.CmdFillBuffer(commands, scratch->buffer, (VkDeviceSize)scratch->offset, k->steps.zeroed,
                        0);
    tly_vk_barrier(v, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, shader);
}

static void write_block(const tally_vulkan_kernel *k, VkCommandBuffer commands,
                        const tly_vk_place *scratch)
{
    const tally_vulkan *v = k->vulkan;
    v->fn.CmdUpdateBuffer(commands, scratch->buffer, (VkDeviceSize)scratch->offset,
                          sizeof k->steps.block, &k->steps.block);
    tly_vk_barrier(v, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

void tly_vk_record(const tally_vulkan_kernel *k, VkCommandBuffer commands, VkDescriptorSet set,
                   const tly_vk_places *places)
{
    const tally_vulkan *v = k->vulkan;
    const tly_vk_object *o = k->object;
    VkPipelineLayout layout = v->layout[o->launch.addresses];
    tly_gpu_bases b;
    tly_vk_label_begin(k, commands);
    if (o->launch.addresses) {
        b = addresses_of(k, places);
    } else {
        b = write_set(k, set, places);
        v->fn.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                                    NULL);
    }
    if (k->steps.has_block) {
        write_block(k, commands, &places->scratch);
    }
    VkPipeline bound = VK_NULL_HANDLE;
    for (size_t i = 0; i < k->steps.count; i++) {
        const tly_gpu_step *step = &k->steps.step[i];
        if (step->barrier) {
            tly_vk_barrier(v, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                           VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                           VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
        }
        if (step->zero) {
            zero_scratch(k, commands, i > 0, &places->scratch);
        }
        if (o->pipeline[step->pass] != bound) {
            bound = o->pipeline[step->pass];
            v->fn.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, bound);
        }
        tly_push push = tly_gpu_step_place(step, &b);
        push.flags |= k->flags;
        v->fn.CmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push,
                               &push);
        v->fn.CmdDispatch(commands, step->x, step->y, 1);
    }
    tly_vk_label_end(k, commands);
}
