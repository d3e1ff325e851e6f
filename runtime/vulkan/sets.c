/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptor sets of the buffer form, and the layouts of pipelines. A kernel's bindings are the
 * input, the output, the scratch and its other tensors, operands and states, so that there is a
 * layout for each number of these. Devices with few storage buffers lack the larger ones, and no
 * kernel is made for these.
 */
#include "internal.h"

#include "../host/error.h"

/* --- layouts --------------------------------------------------------------------------------- */

/* `more`: tensors behind the output. */
static uint32_t bindings_of(uint32_t more)
{
    return TLY_FIRST_OPERAND + 1 + more;
}

static VkResult make_set_layout(tally_vulkan *v, uint32_t more)
{
    VkDescriptorSetLayoutBinding bindings[TLY_GPU_BINDINGS] = { { 0 } };
    const uint32_t count = bindings_of(more);
    for (uint32_t i = 0; i < count; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    }
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = count,
        .pBindings = bindings,
    };
    return v->fn.CreateDescriptorSetLayout(v->device, &set, v->allocator, &v->set_layout[more]);
}

/* `set` NULL: the layout of kernels that use addresses. */
static VkResult make_layout(tally_vulkan *v, const VkDescriptorSetLayout *set,
                            VkPipelineLayout *layout)
{
    const VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(tly_push) };
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = set != NULL ? 1 : 0,
        .pSetLayouts = set,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push,
    };
    return v->fn.CreatePipelineLayout(v->device, &info, v->allocator, layout);
}

tally_status tly_vk_layouts_make(tally_vulkan *v, tally_error *error)
{
    VkResult result = make_layout(v, NULL, &v->address_layout);
    while (result == VK_SUCCESS && v->layouts < TLY_VK_LAYOUTS &&
           bindings_of(v->layouts) <= tly_gpu_most_bindings(&v->facts.caps)) {
        result = make_set_layout(v, v->layouts);
        if (result == VK_SUCCESS) {
            result = make_layout(v, &v->set_layout[v->layouts], &v->buffer_layout[v->layouts]);
        }
        v->layouts += result == VK_SUCCESS;
    }
    return result == VK_SUCCESS ? TALLY_OK : tly_vk_fail(v, result, "a pipeline layout", error);
}

void tly_vk_layouts_end(tally_vulkan *v)
{
    v->fn.DestroyPipelineLayout(v->device, v->address_layout, v->allocator);
    for (uint32_t i = 0; i < TLY_VK_LAYOUTS; i++) {
        v->fn.DestroyPipelineLayout(v->device, v->buffer_layout[i], v->allocator);
        v->fn.DestroyDescriptorSetLayout(v->device, v->set_layout[i], v->allocator);
    }
}

static int tensors_behind(const tly_problem *p)
{
    return tly_tensors_of(p) - TLY_FIRST_OPERAND;
}

VkPipelineLayout tly_vk_layout_of(const tally_vulkan *v, const tly_problem *problem,
                                  const tly_gpu_launch *launch)
{
    return launch->addresses ? v->address_layout : v->buffer_layout[tensors_behind(problem)];
}

/* --- sets ------------------------------------------------------------------------------------ */

tally_status tly_vk_sets_make(tally_vulkan *v, tly_vk_sets *sets, tally_error *error)
{
    VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0 };
    for (uint32_t i = 0; i < v->layouts; i++) {
        size.descriptorCount += bindings_of(i);
    }
    const VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = v->layouts,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    VkResult result = v->fn.CreateDescriptorPool(v->device, &info, v->allocator, &sets->pool);
    if (result != VK_SUCCESS) {
        sets->pool = VK_NULL_HANDLE;
        return tly_vk_fail(v, result, "vkCreateDescriptorPool", error);
    }
    const VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = sets->pool,
        .descriptorSetCount = v->layouts,
        .pSetLayouts = v->set_layout,
    };
    result = v->fn.AllocateDescriptorSets(v->device, &allocate, sets->set);
    if (result != VK_SUCCESS) {
        v->fn.DestroyDescriptorPool(v->device, sets->pool, v->allocator);
        sets->pool = VK_NULL_HANDLE;
        return tly_vk_fail(v, result, "vkAllocateDescriptorSets", error);
    }
    return TALLY_OK;
}

static VkDescriptorBufferInfo bind(const tally_vulkan *v, const tly_vk_place *place, int64_t low,
                                   int64_t end, uint64_t *base)
{
    tly_gpu_binding b = tly_gpu_bind(place->offset, low, end, v->facts.caps.offset_align);
    *base = b.base;
    return (VkDescriptorBufferInfo){ place->buffer, b.offset, b.range };
}

VkDescriptorSet tly_vk_set_write(const tally_vulkan_kernel *k, const tly_vk_sets *sets,
                                 const tly_vk_places *places, tly_gpu_bases *bases)
{
    const tally_vulkan *v = k->vulkan;
    const tly_gpu_steps *s = &k->steps;
    VkDescriptorBufferInfo info[TLY_GPU_BINDINGS];
    /* What has no bytes, and what the run lacks, is never touched: any buffer will do. All kernels
     * that may have such a tensor have a scratch. Others may declare one that they have no use
     * for. */
    if (s->scratch_bytes > 0) {
        info[TLY_GPU_SCRATCH] = bind(v, &places->scratch, 0, (int64_t)s->scratch_bytes,
                                     &bases->scratch);
    } else {
        info[TLY_GPU_SCRATCH] = bind(v, &places->tensor[TLY_OUT], s->low[TLY_OUT], s->end[TLY_OUT],
                                     &bases->tensor[TLY_OUT]);
    }
    for (int t = 0; t < tly_tensors_of(&k->problem); t++) {
        const tly_vk_place *place = &places->tensor[t];
        const int is_there = place->buffer != VK_NULL_HANDLE && s->end[t] > s->low[t];
        info[tly_gpu_binding_of(t)] = is_there
                                          ? bind(v, place, s->low[t], s->end[t], &bases->tensor[t])
                                          : info[TLY_GPU_SCRATCH];
    }
    const VkWriteDescriptorSet write = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .dstSet = sets->set[tensors_behind(&k->problem)],
        .descriptorCount = tly_gpu_bindings(&k->problem),
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .pBufferInfo = info,
    };
    v->fn.UpdateDescriptorSets(v->device, 1, &write, 0, NULL);
    return write.dstSet;
}
