/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submissions, and waiting for them. Guarantees that nothing of a submission is freed before its
 * fence is signalled or the device is idle, and that nobody waits with a lock held: other threads
 * submit, wait and take slots meanwhile, and a semaphore that one of them signals may be what a
 * submission waits for.
 */
#include "internal.h"

#include "../host/error.h"

#include <stdlib.h>
#include <time.h>

/* --- time ------------------------------------------------------------------------------------ */

#define SECOND UINT64_C(1000000000)

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

uint64_t tly_vk_until(uint64_t nanoseconds)
{
    uint64_t until;
    return __builtin_add_overflow(now(), nanoseconds, &until) ? UINT64_MAX : until;
}

static uint64_t left_of(uint64_t until)
{
    if (until == UINT64_MAX) {
        return UINT64_MAX;
    }
    uint64_t at = now();
    return at < until ? until - at : 0;
}

/* --- one submission -------------------------------------------------------------------------- */

static void lock_queue(tally_vulkan *v, int lock)
{
    if (lock) {
        pthread_mutex_lock(&v->queue_lock);
    }
    if (v->lock_queue != NULL) {
        v->lock_queue(v->lock_user, lock);
    }
    if (!lock) {
        pthread_mutex_unlock(&v->queue_lock);
    }
}

int tly_vk_idle(tally_vulkan *v)
{
    lock_queue(v, 1);
    VkResult result = v->fn.DeviceWaitIdle(v->device);
    lock_queue(v, 0);
    return result == VK_SUCCESS || result == VK_ERROR_DEVICE_LOST;
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
        .commandBufferCount = 1,
        .pCommandBuffers = &slot->commands,
    };
    if (sync != NULL) {
        info.pNext = v->facts.timeline ? &values : NULL;
        info.waitSemaphoreCount = values.waitSemaphoreValueCount = sync->wait != VK_NULL_HANDLE;
        info.pWaitSemaphores = &sync->wait;
        info.pWaitDstStageMask = &all;
        values.pWaitSemaphoreValues = &sync->wait_value;
        info.signalSemaphoreCount = values.signalSemaphoreValueCount = sync->signal !=
                                                                       VK_NULL_HANDLE;
        info.pSignalSemaphores = &sync->signal;
        values.pSignalSemaphoreValues = &sync->signal_value;
    }
    lock_queue(v, 1);
    result = v->fn.QueueSubmit(v->queue, 1, &info, slot->fence);
    lock_queue(v, 0);
    /* A submission that lost the device may have begun; one that lacked memory has not. */
    slot->in_flight = result == VK_SUCCESS || result == VK_ERROR_DEVICE_LOST;
    return result == VK_SUCCESS ? TALLY_OK : tly_vk_fail(v, result, "vkQueueSubmit", error);
}

/* Asks again and again for a fence that could not be waited for. */
static VkResult poll_fence(const tally_vulkan *v, VkFence fence, uint64_t until)
{
    static const struct timespec pause = { 0, 1000000 };
    VkResult result = v->fn.GetFenceStatus(v->device, fence);
    while (result == VK_NOT_READY && left_of(until) > 0) {
        nanosleep(&pause, NULL);
        result = v->fn.GetFenceStatus(v->device, fence);
    }
    return result == VK_NOT_READY ? VK_TIMEOUT : result;
}

/* VK_SUCCESS: it is signalled; VK_TIMEOUT: it was not until then; else nobody could tell. A wait
 * that fails says nothing of the submission, which goes on. */
static VkResult wait_fence(const tally_vulkan *v, VkFence fence, uint64_t until)
{
    VkResult result = v->fn.WaitForFences(v->device, 1, &fence, VK_TRUE, left_of(until));
    if (result == VK_SUCCESS || result == VK_ERROR_DEVICE_LOST ||
        (result == VK_TIMEOUT && left_of(until) == 0)) {
        return result;
    }
    VkResult state = poll_fence(v, fence, until);
    return state < VK_SUCCESS && state != VK_ERROR_DEVICE_LOST && result < VK_SUCCESS ? result
                                                                                      : state;
}

static tally_status report_wait(tally_vulkan *v, VkResult result, tally_error *error)
{
    if (result == VK_TIMEOUT) {
        return tly_fail(error, TALLY_TIMEOUT, "device",
                        "the time limit passed, and %s is still at work", v->facts.name);
    }
    return result == VK_SUCCESS ? TALLY_OK : tly_vk_fail(v, result, "vkWaitForFences", error);
}

tally_status tly_vk_slot_finish(tally_vulkan *v, tly_vk_slot *slot, tally_error *error)
{
    tally_status status = tly_vk_slot_submit(v, slot, NULL, error);
    if (status == TALLY_OK) {
        VkResult result = wait_fence(v, slot->fence, slot->until);
        slot->in_flight = result != VK_SUCCESS;
        status = report_wait(v, result, error);
    }
    return status == TALLY_OK ? tly_vk_slot_begin(v, slot, error) : status;
}

/* --- what is pending ------------------------------------------------------------------------- */

/* Buffers that the pending slots up to the oldest one left cannot use. */
static void free_orphans(tally_vulkan *v, uint64_t oldest)
{
    for (tally_vulkan_buffer **link = &v->orphans; *link != NULL;) {
        tally_vulkan_buffer *b = *link;
        if (b->serial < oldest) {
            *link = b->next;
            tly_vk_buffer_end(b);
            free(b);
        } else {
            link = &b->next;
        }
    }
}

/* Whether nobody waits for its fence, and it is signalled. */
static int landed(const tally_vulkan *v, const tly_vk_slot *s, VkResult *result)
{
    if (s->waiters > 0 || !s->in_flight || atomic_load(&v->stopped)) {
        return s->waiters == 0;
    }
    VkResult state = v->fn.GetFenceStatus(v->device, s->fence);
    *result = state == VK_ERROR_DEVICE_LOST ? state : *result;
    return state == VK_SUCCESS;
}

VkResult tly_vk_slots_reap(tally_vulkan *v)
{
    VkResult result = VK_SUCCESS;
    uint64_t oldest = UINT64_MAX;
    for (tly_vk_slot **link = &v->pending; *link != NULL;) {
        tly_vk_slot *s = *link;
        if (landed(v, s, &result)) {
            *link = s->next;
            s->in_flight = 0;
            if (s->object != NULL) {
                tly_vk_object_drop(v, s->object);
                s->object = NULL;
            }
            s->next = v->slots;
            v->slots = s;
        } else {
            oldest = s->serial < oldest ? s->serial : oldest;
            link = &s->next;
        }
    }
    free_orphans(v, oldest);
    return result;
}

void tly_vk_buffer_leave(tally_vulkan_buffer *buffer)
{
    tally_vulkan *v = buffer->vulkan;
    pthread_mutex_lock(&v->slot_lock);
    buffer->serial = v->serial;
    buffer->next = v->orphans;
    v->orphans = buffer;
    (void)tly_vk_slots_reap(v); /* frees it at once if nothing is pending */
    pthread_mutex_unlock(&v->slot_lock);
}

/* The oldest in flight that is not younger than `last`; the list begins with the youngest. */
static tly_vk_slot *oldest_of(const tally_vulkan *v, uint64_t last)
{
    tly_vk_slot *oldest = NULL;
    for (tly_vk_slot *s = v->pending; s != NULL; s = s->next) {
        oldest = s->in_flight && s->serial <= last ? s : oldest;
    }
    return oldest;
}

tally_status tly_vk_slots_wait(tally_vulkan *v, uint64_t until, tally_error *error)
{
    VkResult result = VK_SUCCESS;
    tly_vk_slot *s;
    pthread_mutex_lock(&v->slot_lock);
    uint64_t last = v->serial;
    while (result == VK_SUCCESS && (s = oldest_of(v, last)) != NULL) {
        s->waiters++;
        pthread_mutex_unlock(&v->slot_lock);
        result = wait_fence(v, s->fence, until);
        pthread_mutex_lock(&v->slot_lock);
        s->waiters--;
        s->in_flight = s->in_flight && result != VK_SUCCESS;
    }
    (void)tly_vk_slots_reap(v);
    pthread_mutex_unlock(&v->slot_lock);
    return report_wait(v, result, error);
}

/* --- the end --------------------------------------------------------------------------------- */

/* Without a limit: whoever ends a device waits for it. */
static void stop(tally_vulkan *v)
{
    if (tly_vk_usable(v, NULL) == TALLY_OK && v->pending != NULL &&
        tly_vk_slots_wait(v, UINT64_MAX, NULL) == TALLY_OK) {
        return;
    }
    if (!atomic_load(&v->stopped) && v->pending != NULL) {
        atomic_store(&v->stopped, tly_vk_idle(v));
    }
}

int tly_vk_slots_end(tally_vulkan *v)
{
    if (tly_vk_alive(v)) {
        stop(v);
        (void)tly_vk_slots_reap(v);
        if (v->pending != NULL) {
            return 0;
        }
    }
    for (tly_vk_slot **list = &v->pending; list != NULL;
         list = list == &v->pending ? &v->slots : NULL) {
        while (*list != NULL) {
            tly_vk_slot *s = *list;
            *list = s->next;
            if (s->object != NULL) { /* in a forked child */
                tly_vk_object_drop(v, s->object);
            }
            tly_vk_slot_free(v, s);
        }
    }
    while (v->orphans != NULL) { /* in a forked child */
        tally_vulkan_buffer *b = v->orphans;
        v->orphans = b->next;
        free(b);
    }
    return 1;
}
