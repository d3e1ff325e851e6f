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
    return tly_vk_layouts_make(v, error);
}

/* All but the pipelines, which must go before the layouts and after the slots. */
static void end_device(tally_vulkan *v)
{
    tly_vk_layouts_end(v);
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
