/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels in the caller's hands: recorded into command buffers, submitted on device buffers, or run
 * on host memory, each with its arguments checked.
 */
#include "internal.h"

#include "../host/checked.h"
#include "../host/clock.h"
#include "../host/error.h"
#include "../host/fork.h"

#include <stdlib.h>

/* A place in the making of one command buffer; holds the pipelines, too. */
struct tally_vulkan_recording {
    tally_vulkan *vulkan;
    tly_vk_object *object;
    tly_vk_sets sets;
};

/* --- checks ---------------------------------------------------------------------------------- */

/* One tensor or the scratch: [low, end) bytes from element 0, elements of `align` bytes. */
typedef struct need {
    const char *name;
    int64_t low, end;
    uint64_t align;
} need;

static tally_status take_place(const tally_vulkan_kernel *k, const tally_vulkan_range *r,
                               const need *n, tly_vk_place *place, tally_error *error)
{
    const tally_vulkan *v = k->vulkan;
    if (r->buffer == VK_NULL_HANDLE) {
        return tly_fail(error, TALLY_INVALID, "usage", "the buffer of %s is NULL", n->name);
    }
    int64_t offset = r->offset < INT64_MAX ? (int64_t)r->offset : INT64_MAX;
    int64_t first = tly_add(offset, n->low);
    int64_t last = tly_add(tly_add(offset, n->end), 3); /* bindings end at a multiple of 4 */
    if (last < INT64_MAX) {
        last = last / 4 * 4;
    }
    const int is_somewhere = n->end > n->low; /* what has no bytes may begin anywhere */
    if (is_somewhere && (first < 0 || last == INT64_MAX || (uint64_t)last > r->bytes)) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "%s needs bytes %lld to %lld of a buffer of %llu", n->name,
                        (long long)first, (long long)last, (unsigned long long)r->bytes);
    }
    if (r->offset % n->align != 0) {
        return tly_fail(error, TALLY_INVALID, "usage", "the offset of %s is no multiple of %llu",
                        n->name, (unsigned long long)n->align);
    }
    *place = (tly_vk_place){ r->buffer, r->address, (int64_t)r->offset };
    if (k->object->launch.addresses && place->address == 0) {
        VkBufferDeviceAddressInfo of = {
            .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
            .buffer = r->buffer,
        };
        place->address = v->fn.GetBufferDeviceAddress(v->device, &of);
    }
    return TALLY_OK;
}

/* Stands for a tensor's place as an address: buffers lie far apart, whatever they are. */
static char *as_pointer(const tly_vk_places *p, int t)
{
    int first = 0;
    while (p->tensor[first].buffer != p->tensor[t].buffer) {
        first++;
    }
    return (char *)(uintptr_t)(((uint64_t)(first + 1) << 48) + (uint64_t)p->tensor[t].offset);
}

/* By the rules for pointers, as if each buffer were a part of memory. */
static tally_status check_overlap(const tally_vulkan_kernel *k, const tly_vk_places *places,
                                  tally_error *error)
{
    tly_pointers p = { { NULL } };
    for (int t = 0; t < tly_tensors_of(&k->problem); t++) {
        p.at[t] = places->tensor[t].buffer != VK_NULL_HANDLE ? as_pointer(places, t) : NULL;
    }
    tly_pointers_fill(&p, tly_unread(&k->problem, &k->geometry));
    return tly_acceptable(&k->rules, &p) ? TALLY_OK : tly_refuse_pointers(&k->rules, &p, error);
}

/* Whether a run may do without a tensor that the word names: it has no bytes, or a scan may begin
 * without it. */
static int may_lack(const tally_vulkan_kernel *k, int t)
{
    return k->steps.end[t] <= k->steps.low[t] ||
           tly_gpu_states_flag(&k->problem, t) == TLY_GPU_STATES_IN;
}

/* Whether the word names a tensor; others are not looked at. */
static int is_named(const tally_vulkan_kernel *k, int t)
{
    const uint32_t states = tly_gpu_states_flag(&k->problem, t);
    return states == 0 || (states & k->steps.states) != 0;
}

/* `own` is scratch of ours, where the caller has none. */
static tally_status take_places(const tally_vulkan_kernel *k, const tally_vulkan_buffers *buffers,
                                const tally_vulkan_buffer *own, tly_vk_places *places,
                                tally_error *error)
{
    const tly_gpu_steps *s = &k->steps;
    const tally_vulkan_range *const given[TLY_TENSOR_COUNT] = {
#define GIVEN(T, t, member, is_written, home, meaning) [TLY_##T] = &buffers->member,
        TLY_TENSORS(GIVEN)
#undef GIVEN
    };
    tally_status status = TALLY_OK;
    for (int t = 0; t < tly_tensors_of(&k->problem) && status == TALLY_OK; t++) {
        const int tensor = tly_tensor_of(&k->problem, t);
        const need n = { tly_tensor_name(tensor), s->low[t], s->end[t],
                         (uint64_t)tly_element_bytes(&k->problem, t) };
        if (is_named(k, t) && !(given[tensor]->buffer == VK_NULL_HANDLE && may_lack(k, t))) {
            status = take_place(k, given[tensor], &n, &places->tensor[t], error);
        }
    }
    if (status == TALLY_OK && s->scratch_bytes > 0) {
        const need scratch = { "scratch", 0, (int64_t)s->scratch_bytes, 16 };
        tally_vulkan_range range = buffers->scratch;
        if (own != NULL) {
            tally_vulkan_buffer_info(own, &range);
        }
        status = take_place(k, &range, &scratch, &places->scratch, error);
    }
    return status == TALLY_OK ? check_overlap(k, places, error) : status;
}

static tally_status take_buffers(const tally_vulkan_kernel *kernel,
                                 const tally_vulkan_buffers *buffers, tally_vulkan_buffers *known,
                                 tally_error *error)
{
    if (kernel == NULL || buffers == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the kernel or the buffers are NULL");
    }
    tally_status status = tly_struct_take(known, sizeof *known, buffers, "tally_vulkan_buffers",
                                          error);
    return status == TALLY_OK ? tly_vk_usable(kernel->vulkan, error) : status;
}

/* --- recording ------------------------------------------------------------------------------- */

static void let_go(tally_vulkan_recording *r)
{
    tally_vulkan *v = r->vulkan;
    if (r->object != NULL) {
        tly_vk_object_drop(v, r->object);
    }
    r->object = NULL;
}

static void end_recording(tally_vulkan_recording *r)
{
    let_go(r);
    if (tly_vk_alive(r->vulkan)) {
        r->vulkan->fn.DestroyDescriptorPool(r->vulkan->device, r->sets.pool, r->vulkan->allocator);
    }
    free(r);
}

/* A recording that refers to the kernel's pipelines, new or used before. */
static tally_status get_recording(const tally_vulkan_kernel *k, tally_vulkan_recording **recording,
                                  tally_error *error)
{
    tally_vulkan_recording *r = *recording;
    tally_vulkan *v = k->vulkan;
    if (r == NULL) {
        r = calloc(1, sizeof *r);
        if (r == NULL) {
            return tly_out_of_memory(error, "a recording", sizeof *r);
        }
        r->vulkan = v;
    }
    if (r->sets.pool == VK_NULL_HANDLE && !k->object->launch.addresses) {
        tally_status status = tly_vk_sets_make(v, &r->sets, error);
        if (status != TALLY_OK) {
            if (*recording == NULL) {
                free(r);
            }
            return status;
        }
    }
    tly_object_hold(&k->object->base);
    let_go(r);
    r->object = k->object;
    *recording = r;
    return TALLY_OK;
}

static tally_status record(const tally_vulkan_kernel *k, VkCommandBuffer commands,
                           const tally_vulkan_buffers *buffers, tally_vulkan_recording **recording,
                           tally_error *error)
{
    tly_vk_places places = { 0 };
    if (*recording != NULL && (*recording)->vulkan != k->vulkan) {
        return tly_fail(error, TALLY_INVALID, "usage", "the recording is of another device");
    }
    tally_status status = take_places(k, buffers, NULL, &places, error);
    if (status == TALLY_OK) {
        status = get_recording(k, recording, error);
    }
    if (status == TALLY_OK) {
        tly_vk_record(k, commands, &(*recording)->sets, &places);
    }
    return status;
}

tally_status tally_vulkan_record(const tally_vulkan_kernel *kernel, VkCommandBuffer commands,
                                 const tally_vulkan_buffers *buffers,
                                 tally_vulkan_recording **recording, tally_error *error)
{
    tally_vulkan_buffers known;
    tally_status status = take_buffers(kernel, buffers, &known, error);
    if (status == TALLY_OK && (commands == NULL || recording == NULL)) {
        status = tly_fail(error, TALLY_INVALID, "usage",
                          "the command buffer or the place for the recording is NULL");
    }
    if (status != TALLY_OK || kernel->object == NULL) {
        return status;
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    const uint64_t start = tly_clock();
    status = record(kernel, commands, &known, recording, error);
    if (status == TALLY_OK) {
        tly_vk_tell(kernel, "record", tly_clock() - start);
    }
    tly_fork_leave();
    return status;
}

void tally_vulkan_recording_destroy(tally_vulkan_recording **recording)
{
    if (recording == NULL || *recording == NULL) {
        return;
    }
    if (tly_fork_enter()) {
        end_recording(*recording);
        tly_fork_leave();
    }
    *recording = NULL;
}

/* --- submitting ------------------------------------------------------------------------------ */

tally_status tly_vk_record_alone(const tally_vulkan_kernel *k, tly_vk_slot *slot,
                                 const tally_vulkan_buffers *buffers, tally_error *error)
{
    tally_vulkan *v = k->vulkan;
    int own = buffers->scratch.buffer == VK_NULL_HANDLE && k->steps.scratch_bytes > 0;
    tly_vk_places places = { 0 };
    tally_status status = TALLY_OK;
    if (own) {
        status = tly_vk_slot_buffer(v, &slot->scratch, k->steps.scratch_bytes, 0, error);
    }
    if (status == TALLY_OK) {
        status = take_places(k, buffers, own ? &slot->scratch : NULL, &places, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_TRANSFER_BIT |
                                        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    const VkAccessFlags shader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    const VkAccessFlags transfer = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkAccessFlags written = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    tly_vk_barrier(v, slot->commands, stages, written, stages, shader | transfer);
    tly_vk_record(k, slot->commands, &slot->sets, &places);
    tly_vk_barrier(v, slot->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_WRITE_BIT, stages, shader | transfer);
    return TALLY_OK;
}

static tally_status submit(const tally_vulkan_kernel *k, const tally_vulkan_buffers *buffers,
                           const tally_vulkan_sync *sync, tally_error *error)
{
    tally_vulkan *v = k->vulkan;
    tly_vk_slot *slot;
    tally_status status = tly_vk_slot_take(v, k->object, &slot, error);
    if (status != TALLY_OK) {
        return status;
    }
    /* An empty tensor's semaphores are waited for and signalled all the same. */
    if (k->object != NULL) {
        status = tly_vk_record_alone(k, slot, buffers, error);
    }
    if (status == TALLY_OK) {
        status = tly_vk_slot_submit(v, slot, sync, error);
    }
    tly_vk_slot_give(v, slot, 0);
    return status;
}

tally_status tally_vulkan_submit(const tally_vulkan_kernel *kernel,
                                 const tally_vulkan_buffers *buffers, const tally_vulkan_sync *sync,
                                 tally_error *error)
{
    tally_vulkan_buffers known;
    tally_vulkan_sync around = { .size = sizeof around };
    tally_status status = take_buffers(kernel, buffers, &known, error);
    if (status == TALLY_OK && sync != NULL) {
        status = tly_struct_take(&around, sizeof around, sync, "tally_vulkan_sync", error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    const uint64_t start = tly_clock();
    status = submit(kernel, &known, &around, error);
    if (status == TALLY_OK) {
        tly_vk_tell(kernel, "submit", tly_clock() - start);
    }
    tly_fork_leave();
    return status;
}

tally_status tally_vulkan_wait(tally_vulkan *vulkan, tally_error *error)
{
    return tally_vulkan_wait_for(vulkan, UINT64_MAX, error);
}

void tally_vulkan_limit_waits(tally_vulkan *vulkan, uint64_t nanoseconds)
{
    if (vulkan != NULL) {
        atomic_store(&vulkan->limit, nanoseconds);
    }
}

tally_status tally_vulkan_wait_for(tally_vulkan *vulkan, uint64_t nanoseconds, tally_error *error)
{
    uint64_t until = tly_vk_until(nanoseconds);
    if (vulkan == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the device is NULL");
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    tally_status status = tly_vk_usable(vulkan, error);
    if (status == TALLY_OK) {
        status = tly_vk_slots_wait(vulkan, until, error);
    }
    tly_fork_leave();
    return status;
}

static tally_status run(const tally_vulkan_kernel *kernel, tly_pointers *p, tally_error *error)
{
    if (kernel == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the kernel is NULL");
    }
    if (kernel->object == NULL) {
        return TALLY_OK;
    }
    tly_pointers_place(&kernel->rules, p);
    tly_pointers_fill(p, tly_unread(&kernel->problem, &kernel->geometry));
    return tly_acceptable(&kernel->rules, p) ? tly_vulkan_kernel_run(kernel, p, error)
                                             : tly_refuse_pointers(&kernel->rules, p, error);
}

tally_status tally_vulkan_run(const tally_vulkan_kernel *kernel, const void *in, void *out,
                              tally_error *error)
{
    tly_pointers p = tly_pointers_of(in, out);
    return run(kernel, &p, error);
}

tally_status tally_vulkan_run_buffers(const tally_vulkan_kernel *kernel,
                                      const tally_buffers *buffers, tally_error *error)
{
    tly_pointers p;
    tally_status status = tly_buffers_take(buffers, &p, error);
    return status == TALLY_OK ? run(kernel, &p, error) : status;
}
