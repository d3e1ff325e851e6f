/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running on host memory: what tally_kernel_run does on a Vulkan device. Each tensor goes to a
 * buffer of the slot in its own layout, its alignment modulo 16 bytes kept.
 */
#include "internal.h"

#include "../host/checked.h"
#include "../host/clock.h"
#include "../host/error.h"
#include "../host/fork.h"

#define KEPT 16 /* alignment that the device's copy keeps */

typedef struct tensor {
    tly_vk_layout layout;
    uint64_t at, bytes; /* in its buffer */
    int is_there;       /* the run has it */
} tensor;

static tensor describe(const tally_vulkan_kernel *k, const tly_pointers *p, int number)
{
    const int64_t low = k->steps.low[number];
    const tally_dtype dtype = (tally_dtype)k->problem.tensor[number].dtype;
    tensor t = { .is_there = p->at[number] != NULL };
    t.at = (uint64_t)low % KEPT; /* a power of two: right for what is below 0, too */
    t.bytes = (uint64_t)(k->steps.end[number] - low);
    if (tly_gpu_states_flag(&k->problem, number) != 0) { /* packed */
        t.layout = (tly_vk_layout){ .low = low, .run = (int64_t)t.bytes };
    } else {
        tly_vk_layout_read(&k->problem, &k->geometry, number, tally_dtype_bytes(dtype), &t.layout);
    }
    return t;
}

static tly_vk_place place_of(const tally_vulkan_buffer *b, const tensor *t)
{
    int64_t zero = tly_wrap_subtract((int64_t)t->at, t->layout.low);
    return (tly_vk_place){ b->buffer, b->address, zero };
}

static tally_status get_buffers(const tally_vulkan_kernel *k, tly_vk_slot *slot,
                                const tensor *tensors, tally_error *error)
{
    tally_vulkan *v = k->vulkan;
    tally_status status = TALLY_OK;
    for (int t = 0; t < tly_tensors_of(&k->problem) && status == TALLY_OK; t++) {
        if (tensors[t].is_there) {
            status = tly_vk_slot_buffer(v, &slot->tensor[t], tensors[t].at + tensors[t].bytes, 0,
                                        error);
        }
    }
    if (status == TALLY_OK && k->steps.scratch_bytes > 0) {
        status = tly_vk_slot_buffer(v, &slot->scratch, k->steps.scratch_bytes, 0, error);
    }
    return status;
}

static tally_status compute(const tally_vulkan_kernel *k, tly_vk_slot *slot, const tensor *tensors,
                            tally_error *error)
{
    tally_vulkan *v = k->vulkan;
    tly_vk_places places = { .scratch = { slot->scratch.buffer, slot->scratch.address, 0 } };
    for (int t = 0; t < tly_tensors_of(&k->problem); t++) {
        if (tensors[t].is_there) {
            places.tensor[t] = place_of(&slot->tensor[t], &tensors[t]);
        }
    }
    tly_vk_barrier(v, slot->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    tly_vk_record(k, slot->commands, &slot->sets, &places);
    tly_vk_barrier(v, slot->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_WRITE_BIT,
                   VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                   VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_HOST_READ_BIT);
    return tly_vk_slot_finish(v, slot, error);
}

static int is_written(const tally_vulkan_kernel *k, int t)
{
    return tly_is_written(tly_tensor_of(&k->problem, t));
}

/* A scan writes nothing outside of its segments, where the caller's elements stay. */
static int is_kept(const tally_vulkan_kernel *k, int t)
{
    return t == TLY_OUT && k->problem.segmented == TLY_SEGMENTED_OFFSETS &&
           !tly_reduces(k->problem.form);
}

static tally_status upload(const tally_vulkan_kernel *k, tly_vk_slot *slot, const tensor *tensors,
                           const tly_pointers *p, tally_error *error)
{
    tally_status status = TALLY_OK;
    for (int t = 0; t < tly_tensors_of(&k->problem) && status == TALLY_OK; t++) {
        if (tensors[t].is_there && (!is_written(k, t) || is_kept(k, t))) {
            status = tly_vk_upload_tensor(k->vulkan, slot, &slot->tensor[t], tensors[t].at,
                                          &tensors[t].layout, tensors[t].bytes, p->at[t], error);
        }
    }
    return status;
}

static tally_status download(const tally_vulkan_kernel *k, tly_vk_slot *slot, const tensor *tensors,
                             const tly_pointers *p, tally_error *error)
{
    tally_status status = TALLY_OK;
    for (int t = 0; t < tly_tensors_of(&k->problem) && status == TALLY_OK; t++) {
        if (tensors[t].is_there && is_written(k, t)) {
            status = tly_vk_download_tensor(k->vulkan, slot, &slot->tensor[t], tensors[t].at,
                                            &tensors[t].layout, tensors[t].bytes, p->at[t], error);
        }
    }
    return status;
}

static tally_status run(const tally_vulkan_kernel *k, const tly_pointers *p, tally_error *error)
{
    tally_vulkan *v = k->vulkan;
    tensor tensors[TLY_TENSOR_COUNT] = { 0 };
    tly_vk_slot *slot;
    for (int t = 0; t < tly_tensors_of(&k->problem); t++) {
        tensors[t] = describe(k, p, t);
    }
    tally_status status = tly_vk_usable(v, error);
    if (status == TALLY_OK) {
        status = tly_vk_slot_take(v, k->object, &slot, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    status = get_buffers(k, slot, tensors, error);
    if (status == TALLY_OK) {
        status = upload(k, slot, tensors, p, error);
    }
    if (status == TALLY_OK) {
        status = compute(k, slot, tensors, error);
    }
    if (status == TALLY_OK) {
        status = download(k, slot, tensors, p, error);
    }
    tly_vk_slot_give(v, slot, status == TALLY_OK);
    return status;
}

tally_status tly_vulkan_kernel_run(const tally_vulkan_kernel *kernel, const tly_pointers *pointers,
                                   tally_error *error)
{
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    const uint64_t start = tly_clock();
    tally_status status = run(kernel, pointers, error);
    if (status == TALLY_OK) {
        tly_vk_tell(kernel, "run", tly_clock() - start);
    }
    tly_fork_leave();
    return status;
}
