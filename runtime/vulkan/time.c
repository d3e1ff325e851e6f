/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the device's own clock says that a kernel takes, or a copy of memory: one submission
 * each, waited for, between two timestamps. The host's part is not in it.
 */
#include "internal.h"

#include "../host/error.h"
#include "../host/fork.h"

/* Bits of the family's timestamps; 0: it has no clock. */
static uint32_t clock_bits(const tally_vulkan *v)
{
    VkQueueFamilyProperties families[32];
    uint32_t count = sizeof families / sizeof families[0];
    v->instance_fn.GetPhysicalDeviceQueueFamilyProperties(v->physical, &count, families);
    return v->family < count ? families[v->family].timestampValidBits : 0;
}

static double tick_seconds(const tally_vulkan *v)
{
    VkPhysicalDeviceProperties2 p = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 };
    v->instance_fn.GetPhysicalDeviceProperties2(v->physical, &p);
    return 1e-9 * (double)p.properties.limits.timestampPeriod;
}

/* What is timed: a kernel on its buffers, or a copy. */
typedef struct work {
    const tally_vulkan_kernel *kernel;
    tally_vulkan_buffers buffers;
    uint64_t copy_bytes;
} work;

static tally_status record(tally_vulkan *v, tly_vk_slot *slot, const work *w, tally_error *error)
{
    if (w->kernel != NULL) {
        return tly_vk_record_alone(w->kernel, slot, &w->buffers, error);
    }
    const VkBufferCopy region = { .srcOffset = w->buffers.in.offset,
                                  .dstOffset = w->buffers.out.offset,
                                  .size = w->copy_bytes };
    v->fn.CmdCopyBuffer(slot->commands, w->buffers.in.buffer, w->buffers.out.buffer, 1, &region);
    return TALLY_OK;
}

static tally_status between(tally_vulkan *v, tly_vk_slot *slot, const work *w, double *seconds,
                            tally_error *error)
{
    uint64_t ticks[2];
    v->fn.CmdResetQueryPool(slot->commands, slot->queries, 0, 2);
    v->fn.CmdWriteTimestamp(slot->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, slot->queries, 0);
    tally_status status = record(v, slot, w, error);
    if (status != TALLY_OK) {
        return status;
    }
    v->fn.CmdWriteTimestamp(slot->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, slot->queries, 1);
    status = tly_vk_slot_finish(v, slot, error);
    if (status != TALLY_OK) {
        return status;
    }
    VkResult result = v->fn.GetQueryPoolResults(v->device, slot->queries, 0, 2, sizeof ticks, ticks,
                                                sizeof ticks[0],
                                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    if (result != VK_SUCCESS) {
        return tly_vk_fail(v, result, "vkGetQueryPoolResults", error);
    }
    uint32_t bits = clock_bits(v);
    uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    *seconds = (double)((ticks[1] - ticks[0]) & mask) * tick_seconds(v);
    return TALLY_OK;
}

static tally_status take_time(tally_vulkan *v, const work *w, double *seconds, tally_error *error)
{
    tly_vk_slot *slot;
    if (clock_bits(v) == 0) {
        return tly_fail(error, TALLY_UNSUPPORTED, "device", "the queue has no timestamps");
    }
    tally_status status = tly_vk_slot_take(v, w->kernel != NULL ? w->kernel->object : NULL, &slot,
                                           error);
    if (status != TALLY_OK) {
        return status;
    }
    status = tly_vk_slot_queries(v, slot, error);
    if (status == TALLY_OK) {
        status = between(v, slot, w, seconds, error);
    }
    tly_vk_slot_give(v, slot, status == TALLY_OK);
    return status;
}

static tally_status take_work(tally_vulkan *v, const work *w, double *seconds, tally_error *error)
{
    if (seconds == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "there is no place for the seconds");
    }
    tally_status status = tly_vk_usable(v, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    status = take_time(v, w, seconds, error);
    tly_fork_leave();
    return status;
}

tally_status tally_vulkan_time(const tally_vulkan_kernel *kernel,
                               const tally_vulkan_buffers *buffers, double *seconds,
                               tally_error *error)
{
    work w = { .kernel = kernel };
    if (kernel == NULL || buffers == NULL || kernel->object == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "the kernel or the buffers are NULL, or the tensor is empty");
    }
    tally_status status = tly_struct_take(&w.buffers, sizeof w.buffers, buffers,
                                          "tally_vulkan_buffers", error);
    if (status == TALLY_OK) {
        status = take_work(kernel->vulkan, &w, seconds, error);
    }
    if (status == TALLY_OK) {
        tly_vk_tell(kernel, "time", (uint64_t)(*seconds * 1e9));
    }
    return status;
}

tally_status tally_vulkan_time_copy(tally_vulkan *vulkan, const tally_vulkan_range *from,
                                    const tally_vulkan_range *to, uint64_t bytes, double *seconds,
                                    tally_error *error)
{
    if (vulkan == NULL || from == NULL || to == NULL || bytes == 0 || from->offset > from->bytes ||
        bytes > from->bytes - from->offset || to->offset > to->bytes ||
        bytes > to->bytes - to->offset) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "a copy needs a device and two ranges that hold its bytes");
    }
    work w = { .buffers = { .in = *from, .out = *to }, .copy_bytes = bytes };
    return take_work(vulkan, &w, seconds, error);
}
