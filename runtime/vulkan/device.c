/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every device has, whoever made it. Guarantees that a device that was opened in part, or is
 * lost, can be freed like any other.
 */
#include "internal.h"

#include "../host/error.h"
#include "../host/fork.h"
#include "memory.h"

#include <stdlib.h>

static tally_status make_layouts(tally_vulkan *v, tally_error *error)
{
    VkDescriptorSetLayoutBinding bindings[TLY_GPU_BINDINGS] = { { 0 } };
    for (uint32_t i = 0; i < TLY_GPU_BINDINGS; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    }
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = TLY_GPU_BINDINGS,
        .pBindings = bindings,
    };
    VkResult result = v->fn.CreateDescriptorSetLayout(v->device, &set, v->allocator,
                                                      &v->set_layout);
    VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(tly_push) };
    for (uint32_t addresses = 0; addresses < 2 && result == VK_SUCCESS; addresses++) {
        VkPipelineLayoutCreateInfo layout = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
            .setLayoutCount = addresses ? 0 : 1,
            .pSetLayouts = &v->set_layout,
            .pushConstantRangeCount = 1,
            .pPushConstantRanges = &push,
        };
        result = v->fn.CreatePipelineLayout(v->device, &layout, v->allocator,
                                            &v->layout[addresses]);
    }
    return result == VK_SUCCESS ? TALLY_OK : tly_vk_fail(v, result, "a pipeline layout", error);
}

tally_vulkan *tly_vk_allocate(tally_context *context, tally_error *error)
{
    tally_vulkan *v = calloc(1, sizeof *v);
    if (v == NULL) {
        tly_out_of_memory(error, "a device", sizeof *v);
        return NULL;
    }
    v->context = context;
    v->pid = getpid();
    atomic_store(&v->limit, UINT64_MAX);
    v->memory.block_bytes = TLY_VK_BLOCK;
    pthread_mutex_init(&v->queue_lock, NULL);
    pthread_mutex_init(&v->pipeline_lock, NULL);
    pthread_mutex_init(&v->slot_lock, NULL);
    pthread_mutex_init(&v->lost_lock, NULL);
    pthread_mutex_init(&v->memory.lock, NULL);
    return v;
}

tally_status tly_vk_complete(tally_vulkan *v, tally_error *error)
{
    tally_status status = tly_vk_device_load(&v->instance_fn, v->device, &v->fn, error);
    if (status != TALLY_OK) {
        return status;
    }
    v->complete = 1;
    if (!v->debug_utils) {
        tly_vk_labels_off(v);
    }
    if (v->fn.GetBufferDeviceAddress == NULL) {
        v->facts.caps.addresses = 0;
    }
    v->staged = v->facts.type != VK_PHYSICAL_DEVICE_TYPE_CPU &&
                v->facts.type != VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    return make_layouts(v, error);
}

/* All but the pipelines, which must go before the layouts and after the slots. */
static void end_device(tally_vulkan *v)
{
    for (int i = 0; i < 2; i++) {
        v->fn.DestroyPipelineLayout(v->device, v->layout[i], v->allocator);
    }
    v->fn.DestroyDescriptorSetLayout(v->device, v->set_layout, v->allocator);
    tly_vk_memory_end(v);
}

void tly_vk_close(tally_vulkan *v)
{
    if (v == NULL) {
        return;
    }
    /* In a forked child the driver's threads are gone: what it holds cannot be freed. */
    int alive = tly_vk_alive(v) && v->device != VK_NULL_HANDLE;
    v->left = !tly_vk_slots_end(v);
    tly_cache_forget(&v->context->cache, v);
    if (v->left) {
        return; /* It may still be at work: lost memory is the lesser fault. */
    }
    if (alive && v->complete) {
        tly_vk_pipelines_close(v);
        end_device(v);
    }
    if (v->owned && alive && v->fn.DestroyDevice != NULL) {
        v->fn.DestroyDevice(v->device, NULL);
    }
    if (v->owned && tly_vk_alive(v)) {
        v->instance_fn.DestroyInstance(v->instance, NULL);
    }
    pthread_mutex_destroy(&v->queue_lock);
    pthread_mutex_destroy(&v->pipeline_lock);
    pthread_mutex_destroy(&v->slot_lock);
    pthread_mutex_destroy(&v->lost_lock);
    pthread_mutex_destroy(&v->memory.lock);
    free(v);
}

void tally_vulkan_destroy(tally_vulkan **vulkan)
{
    if (vulkan == NULL || *vulkan == NULL) {
        return;
    }
    if (tly_fork_enter()) {
        tly_vk_close(*vulkan);
        tly_fork_leave();
    }
    *vulkan = NULL;
}

void tally_vulkan_info(const tally_vulkan *vulkan, tally_vulkan_handles *handles)
{
    if (handles != NULL) {
        *handles = vulkan != NULL
                       ? (tally_vulkan_handles){ vulkan->instance, vulkan->physical, vulkan->device,
                                                 vulkan->queue, vulkan->family }
                       : (tally_vulkan_handles){ .queue_family = 0 };
    }
}
