/*
 * What a run in flight holds: a command buffer, a fence, a descriptor set and buffers, kept for the
 * next run. One thread uses a slot at a time; a slot in an unknown state is thrown away.
 */
#include "internal.h"

#include "../error.h"

#include <stdlib.h>

/* --- making ---------------------------------------------------------------------------------- */

static void free_slot(tally_vulkan *v, tly_vk_slot *s)
{
    if (tly_vk_alive(v)) {
        tally_vulkan_buffer *buffers[] = { &s->in, &s->out, &s->scratch, &s->staging };
        for (int i = 0; i < 4; i++) {
            tly_vk_buffer_end(buffers[i]);
        }
        v->fn.DestroyDescriptorPool(v->device, s->sets, NULL);
        v->fn.DestroyFence(v->device, s->fence, NULL);
        v->fn.DestroyCommandPool(v->device, s->pool, NULL);
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
    VkResult result = v->fn.CreateCommandPool(v->device, &pool, NULL, &s->pool);
    if (result != VK_SUCCESS) {
        s->pool = VK_NULL_HANDLE;
        return result;
    }
    VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = s->pool, .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = 1,
    };
    result = v->fn.AllocateCommandBuffers(v->device, &commands, &s->commands);
    if (result == VK_SUCCESS) {
        VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
        result = v->fn.CreateFence(v->device, &fence, NULL, &s->fence);
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
    tally_status status = result == VK_SUCCESS
                              ? tly_vk_set_make(v, &s->sets, &s->set, error)
                              : tly_vk_fail(v, result, "a command buffer", error);
    if (status != TALLY_OK) {
        free_slot(v, s);
        return status;
    }
    *slot = s;
    return TALLY_OK;
}

static tally_status begin(tally_vulkan *v, tly_vk_slot *s, tally_error *error)
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
    return result == VK_SUCCESS ? TALLY_OK
                                : tly_vk_fail(v, result, "vkBeginCommandBuffer", error);
}

/* --- taking and giving ----------------------------------------------------------------------- */

static void forget_object(tally_vulkan *v, tly_vk_slot *s)
{
    if (s->object != NULL) {
        tly_vk_object_drop(v, s->object);
        s->object = NULL;
    }
}

/* With the lock held: what has completed is free again. */
static void reap(tally_vulkan *v)
{
    for (tly_vk_slot **link = &v->pending; *link != NULL;) {
        tly_vk_slot *s = *link;
        if (v->fn.GetFenceStatus(v->device, s->fence) == VK_SUCCESS) {
            *link = s->next;
            forget_object(v, s);
            s->next = v->slots;
            v->slots = s;
        } else {
            link = &s->next;
        }
    }
}

tally_status tly_vk_slot_take(tally_vulkan *v, tly_vk_slot **slot, tally_error *error)
{
    if (v->queue == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "this device was taken over without a queue: it only records");
    }
    pthread_mutex_lock(&v->slot_lock);
    reap(v);
    tly_vk_slot *s = v->slots;
    if (s != NULL) {
        v->slots = s->next;
    }
    pthread_mutex_unlock(&v->slot_lock);
    tally_status status = s != NULL ? TALLY_OK : make_slot(v, &s, error);
    if (status != TALLY_OK) {
        return status;
    }
    status = begin(v, s, error);
    if (status != TALLY_OK) {
        free_slot(v, s);
        return status;
    }
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
    if (!keep) {
        free_slot(v, slot);
        return;
    }
    trim(&slot->in);
    trim(&slot->out);
    trim(&slot->scratch);
    trim(&slot->staging);
    pthread_mutex_lock(&v->slot_lock);
    slot->next = v->slots;
    v->slots = slot;
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

/* --- submitting ------------------------------------------------------------------------------ */

static VkResult queue_submit(tally_vulkan *v, const VkSubmitInfo *info, VkFence fence)
{
    pthread_mutex_lock(&v->queue_lock);
    if (v->lock_queue != NULL) {
        v->lock_queue(v->lock_user, 1);
    }
    VkResult result = v->fn.QueueSubmit(v->queue, 1, info, fence);
    if (v->lock_queue != NULL) {
        v->lock_queue(v->lock_user, 0);
    }
    pthread_mutex_unlock(&v->queue_lock);
    return result;
}

tally_status tly_vk_slot_submit(tally_vulkan *v, tly_vk_slot *slot, const tally_vulkan_sync *sync,
                                tally_error *error)
{
    static const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkResult result = v->fn.EndCommandBuffer(slot->commands);
    if (result != VK_SUCCESS) {
        return tly_vk_fail(v, result, "vkEndCommandBuffer", error);
    }
    VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
    };
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .commandBufferCount = 1, .pCommandBuffers = &slot->commands,
    };
    if (sync != NULL) {
        info.pNext = v->facts.timeline ? &values : NULL;
        info.waitSemaphoreCount = values.waitSemaphoreValueCount = sync->wait != VK_NULL_HANDLE;
        info.pWaitSemaphores = &sync->wait;
        info.pWaitDstStageMask = &all;
        values.pWaitSemaphoreValues = &sync->wait_value;
        info.signalSemaphoreCount = values.signalSemaphoreValueCount =
            sync->signal != VK_NULL_HANDLE;
        info.pSignalSemaphores = &sync->signal;
        values.pSignalSemaphoreValues = &sync->signal_value;
    }
    result = queue_submit(v, &info, slot->fence);
    return result == VK_SUCCESS ? TALLY_OK : tly_vk_fail(v, result, "vkQueueSubmit", error);
}

static tally_status wait_slot(tally_vulkan *v, const tly_vk_slot *slot, tally_error *error)
{
    VkResult result = v->fn.WaitForFences(v->device, 1, &slot->fence, VK_TRUE, UINT64_MAX);
    return result == VK_SUCCESS ? TALLY_OK : tly_vk_fail(v, result, "vkWaitForFences", error);
}

tally_status tly_vk_slot_finish(tally_vulkan *v, tly_vk_slot *slot, tally_error *error)
{
    tally_status status = tly_vk_slot_submit(v, slot, NULL, error);
    if (status == TALLY_OK) {
        status = wait_slot(v, slot, error);
    }
    return status == TALLY_OK ? begin(v, slot, error) : status;
}

void tly_vk_slot_leave(tally_vulkan *v, tly_vk_slot *slot, tly_vk_object *object)
{
    if (object != NULL) {
        tly_vk_object_hold(v, object);
        slot->object = object;
    }
    pthread_mutex_lock(&v->slot_lock);
    slot->next = v->pending;
    v->pending = slot;
    pthread_mutex_unlock(&v->slot_lock);
}

tally_status tly_vk_slots_wait(tally_vulkan *v, tally_error *error)
{
    tally_status status = TALLY_OK;
    pthread_mutex_lock(&v->slot_lock);
    for (tly_vk_slot *s = v->pending; s != NULL && status == TALLY_OK; s = s->next) {
        status = wait_slot(v, s, error);
    }
    reap(v);
    pthread_mutex_unlock(&v->slot_lock);
    return status;
}

static void free_all(tally_vulkan *v, tly_vk_slot **list)
{
    while (*list != NULL) {
        tly_vk_slot *s = *list;
        *list = s->next;
        s->object = NULL; /* ends with the device, right after */
        free_slot(v, s);
    }
}

void tly_vk_slots_end(tally_vulkan *v)
{
    if (tly_vk_usable(v, NULL) == TALLY_OK) {
        tly_vk_slots_wait(v, NULL);
    }
    free_all(v, &v->pending);
    free_all(v, &v->slots);
}
