/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the list of dispatches to a command buffer. Barriers stand between the kernel's own passes
 * only; what comes before and after is the caller's.
 */
#include "internal.h"

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

static uint64_t address_of(const tly_vk_place *place)
{
    return place->address + (uint64_t)place->offset;
}

static void find_addresses(const tally_vulkan_kernel *k, const tly_vk_places *places,
                           tly_gpu_bases *bases)
{
    for (int t = 0; t < tly_tensors_of(&k->problem); t++) {
        bases->tensor[t] = address_of(&places->tensor[t]);
    }
    bases->scratch = k->steps.scratch_bytes > 0 ? address_of(&places->scratch) : 0;
}

/* The states that the word names and the run lacks. */
static uint32_t lacking_states(const tly_problem *p, const tly_vk_places *places)
{
    uint32_t lacking = 0;
    for (int t = TLY_FIRST_OPERAND; t < tly_tensors_of(p); t++) {
        lacking |= places->tensor[t].buffer == VK_NULL_HANDLE ? tly_gpu_states_flag(p, t) : 0;
    }
    return lacking;
}

/* Writes the block that a step reads, and zeros behind it, where the step asks for them. Steps
 * before have read and written there. */
static void prepare_scratch(const tally_vulkan_kernel *k, VkCommandBuffer commands, size_t i,
                            const tly_vk_place *scratch, const tly_gpu_bases *bases)
{
    const tally_vulkan *v = k->vulkan;
    const tly_gpu_steps *s = &k->steps;
    const VkDeviceSize at = (VkDeviceSize)scratch->offset;
    if (i > 0) {
        tly_vk_barrier(v, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_TRANSFER_WRITE_BIT);
    }
    if (s->step[i].block) {
        const tly_gpu_block block = tly_gpu_step_block(s, i, bases);
        v->fn.CmdUpdateBuffer(commands, scratch->buffer, at, sizeof block, &block);
    }
    if (s->step[i].zero) {
        v->fn.CmdFillBuffer(commands, scratch->buffer, at + s->zero_first, s->zeroed, 0);
    }
    tly_vk_barrier(v, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

void tly_vk_record(const tally_vulkan_kernel *k, VkCommandBuffer commands, const tly_vk_sets *sets,
                   const tly_vk_places *places)
{
    const tally_vulkan *v = k->vulkan;
    const tly_vk_object *o = k->object;
    tly_gpu_bases b = { .lacking = lacking_states(&k->problem, places) };
    tly_vk_label_begin(k, commands);
    if (o->launch.addresses) {
        find_addresses(k, places, &b);
    } else {
        VkDescriptorSet set = tly_vk_set_write(k, sets, places, &b);
        v->fn.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, o->layout, 0, 1, &set,
                                    0, NULL);
    }
    VkPipeline bound = VK_NULL_HANDLE;
    for (size_t i = 0; i < k->steps.count; i++) {
        const tly_gpu_step *step = &k->steps.step[i];
        if (step->barrier) {
            tly_vk_barrier(v, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                           VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                           VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
        }
        if (step->zero || step->block) {
            prepare_scratch(k, commands, i, &places->scratch, &b);
        }
        if (o->pipeline[step->pass] != bound) {
            bound = o->pipeline[step->pass];
            v->fn.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, bound);
        }
        tly_push push = tly_gpu_step_place(&k->steps, i, &b);
        push.flags |= k->flags;
        v->fn.CmdPushConstants(commands, o->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push,
                               &push);
        v->fn.CmdDispatch(commands, step->x, step->y, 1);
    }
    tly_vk_label_end(k, commands);
}
