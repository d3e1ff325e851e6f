/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run in flight holds: a command buffer, a fence, a descriptor set and buffers, kept for the
 * next run. One thread uses a slot at a time; a slot in an unknown state is thrown away, but never
 * one in flight: that is left to flight.c.
 */
#include "internal.h"

#include "../host/error.h"

#include <stdlib.h>

/* --- making ---------------------------------------------------------------------------------- */

void tly_vk_slot_free(tally_vulkan *v, tly_vk_slot *s)
{
    if (tly_vk_alive(v)) {
        for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
            tly_vk_buffer_end(&s->tensor[t]);
        }
        tly_vk_buffer_end(&s->scratch);
        tly_vk_buffer_end(&s->staging);
        v->fn.DestroyQueryPool(v->device, s->queries, v->allocator);
        v->fn.DestroyDescriptorPool(v->device, s->sets.pool, v->allocator);
        v->fn.DestroyFence(v->device, s->fence, v->allocator);
        v->fn.DestroyCommandPool(v->device, s->pool, v->allocator);
    }
    free(s);
}

static VkResult fill_slot(tally_vulkan *v, tly_vk_slot *s)
{
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = v->family,
    };
    VkResult result = v->fn.CreateCommandPool(v->device, &pool, v->allocator, &s->pool);
    if (result != VK_SUCCESS) {
        s->pool = VK_NULL_HANDLE;
        return result;
    }
    VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = s->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    result = v->fn.AllocateCommandBuffers(v->device, &commands, &s->commands);
    if (result == VK_SUCCESS) {
        VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
        result = v->fn.CreateFence(v->device, &fence, v->allocator, &s->fence);
    }
    if (result != VK_SUCCESS) {
        s->fence = VK_NULL_HANDLE;
    }
    return result;
}

static tally_status make_slot(tally_vulkan *v, tly_vk_slot **slot, tally_error *error)
{
    tly_vk_slot *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tly_out_of_memory(error, "a run", sizeof *s);
    }
    VkResult result = fill_slot(v, s);
    tally_status status = result == VK_SUCCESS ? tly_vk_sets_make(v, &s->sets, error)
                                               : tly_vk_fail(v, result, "a command buffer", error);
    if (status != TALLY_OK) {
        tly_vk_slot_free(v, s);
        return status;
    }
    *slot = s;
    return TALLY_OK;
}

tally_status tly_vk_slot_begin(tally_vulkan *v, tly_vk_slot *s, tally_error *error)
{
    VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VkResult result = v->fn.ResetCommandPool(v->device, s->pool, 0);
    if (result == VK_SUCCESS) {
        result = v->fn.ResetFences(v->device, 1, &s->fence);
    }
    if (result == VK_SUCCESS) {
        result = v->fn.BeginCommandBuffer(s->commands, &info);
    }
    return result == VK_SUCCESS ? TALLY_OK : tly_vk_fail(v, result, "vkBeginCommandBuffer", error);
}

tally_status tly_vk_slot_queries(tally_vulkan *v, tly_vk_slot *s, tally_error *error)
{
    const VkQueryPoolCreateInfo info = { .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                         .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                         .queryCount = 2 };
    if (s->queries != VK_NULL_HANDLE) {
        return TALLY_OK;
    }
    VkResult result = v->fn.CreateQueryPool(v->device, &info, v->allocator, &s->queries);
    if (result != VK_SUCCESS) {
        s->queries = VK_NULL_HANDLE;
        return tly_vk_fail(v, result, "vkCreateQueryPool", error);
    }
    return TALLY_OK;
}

/* --- taking and giving ----------------------------------------------------------------------- */

/* A free slot, or NULL if there is none. */
static VkResult take_free(tally_vulkan *v, tly_vk_slot **slot)
{
    pthread_mutex_lock(&v->slot_lock);
    VkResult result = tly_vk_slots_reap(v);
    *slot = result == VK_SUCCESS ? v->slots : NULL;
    if (*slot != NULL) {
        v->slots = (*slot)->next;
    }
    pthread_mutex_unlock(&v->slot_lock);
    return result;
}

tally_status tly_vk_slot_take(tally_vulkan *v, tly_vk_object *object, tly_vk_slot **slot,
                              tally_error *error)
{
    if (v->queue == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "this device was taken over without a queue: it only records");
    }
    tly_vk_slot *s;
    VkResult result = take_free(v, &s);
    if (result != VK_SUCCESS) {
        return tly_vk_fail(v, result, "vkGetFenceStatus", error);
    }
    tally_status status = s != NULL ? TALLY_OK : make_slot(v, &s, error);
    if (status != TALLY_OK) {
        return status;
    }
    status = tly_vk_slot_begin(v, s, error);
    if (status != TALLY_OK) {
        tly_vk_slot_free(v, s);
        return status;
    }
    if (object != NULL) {
        tly_object_hold(&object->base);
    }
    s->object = object;
    s->until = tly_vk_until(atomic_load(&v->limit));
    *slot = s;
    return TALLY_OK;
}

/* Memory that a large run took is not kept from others. */
static void trim(tally_vulkan_buffer *buffer)
{
    if (buffer->bytes > TLY_VK_BLOCK) {
        tly_vk_buffer_end(buffer);
    }
}

void tly_vk_slot_give(tally_vulkan *v, tly_vk_slot *slot, int keep)
{
    if (!slot->in_flight) {
        if (slot->object != NULL) {
            tly_vk_object_drop(v, slot->object);
            slot->object = NULL;
        }
        if (!keep) {
            tly_vk_slot_free(v, slot);
            return;
        }
        for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
            trim(&slot->tensor[t]);
        }
        trim(&slot->scratch);
        trim(&slot->staging);
    }
    pthread_mutex_lock(&v->slot_lock);
    tly_vk_slot **list = slot->in_flight ? &v->pending : &v->slots;
    slot->serial = slot->in_flight ? ++v->serial : 0;
    slot->next = *list;
    *list = slot;
    pthread_mutex_unlock(&v->slot_lock);
}

tally_status tly_vk_slot_buffer(tally_vulkan *v, tally_vulkan_buffer *buffer, uint64_t bytes,
                                int host, tally_error *error)
{
    if (buffer->bytes >= bytes && buffer->bytes > 0) {
        return TALLY_OK;
    }
    tly_vk_buffer_end(buffer);
    /* Half as much again, so that growing runs do not allocate each time. */
    uint64_t some = bytes < TLY_VK_BLOCK / 2 ? bytes + bytes / 2 : bytes;
    return tly_vk_buffer_make(v, some, host, buffer, error);
}
