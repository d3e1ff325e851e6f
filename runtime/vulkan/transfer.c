/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between host memory and the device's. Gaps between a tensor's elements are neither read nor
 * written: other threads may own them. Where the host sees the buffer, bytes are copied once; else
 * through a staging buffer, dense tensors piece by piece.
 */
#include "internal.h"

#include <string.h>

/* A piece that is staged at a time. */
#define PIECE (UINT64_C(16) << 20)

/* --- layouts --------------------------------------------------------------------------------- */

static int64_t size_of(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* Adds a dim in its place by stride, outermost first. */
static void add_dim(tly_vk_layout *l, int64_t size, int64_t stride)
{
    int32_t at = l->rank;
    stride = size_of(stride);
    if (size <= 1 || stride == 0) {
        return;
    }
    for (; at > 0 && l->stride[at - 1] < stride; at--) {
        l->size[at] = l->size[at - 1];
        l->stride[at] = l->stride[at - 1];
    }
    l->size[at] = size;
    l->stride[at] = stride;
    l->rank++;
}

/* Elements along the axis: of a reduction in segments the output has one for each. */
static int64_t length_of(const tly_problem *p, const tly_geometry *g, int tensor)
{
    const int is_result = tensor == TLY_OUT && tly_reduces(p->form);
    return is_result && p->segmented != TLY_SEGMENTED_NOT ? g->segments : g->length;
}

void tly_vk_layout_read(const tly_problem *p, const tly_geometry *g, int tensor, size_t element,
                        tly_vk_layout *layout)
{
    const int64_t bytes = (int64_t)element;
    const tly_tensor_place *place = &g->tensor[tensor];
    *layout = (tly_vk_layout){ .low = place->low * bytes, .run = bytes };
    if (place->high < place->low) { /* no element is read */
        layout->run = 0;
        return;
    }
    add_dim(layout, length_of(p, g, tensor), place->axis * bytes);
    add_dim(layout, g->inner, place->lane * bytes);
    for (int32_t i = 0; i < g->outer_rank; i++) {
        add_dim(layout, g->outer[i].size, g->outer[i].stride[tensor] * bytes);
    }
    for (int32_t i = 0; i < g->reduced_rank; i++) {
        add_dim(layout, g->reduced[i].size, g->reduced[i].stride[tensor] * bytes);
    }
    while (layout->rank > 0 && layout->stride[layout->rank - 1] <= layout->run) {
        layout->rank--;
        layout->run += layout->stride[layout->rank] * (layout->size[layout->rank] - 1);
    }
}

/* `to` and `from` are where the first run begins. */
static void copy_runs(const tly_vk_layout *l, char *to, const char *from)
{
    int64_t index[TALLY_MAX_RANK + 1] = { 0 };
    int64_t at = 0;
    for (;;) {
        memcpy(to + at, from + at, (size_t)l->run);
        int32_t d = l->rank - 1;
        for (; d >= 0 && index[d] == l->size[d] - 1; d--) {
            at -= l->stride[d] * index[d];
            index[d] = 0;
        }
        if (d < 0) {
            return;
        }
        at += l->stride[d];
        index[d]++;
    }
}

/* --- mapped memory --------------------------------------------------------------------------- */

static char *mapped(const tally_vulkan *v, const tally_vulkan_buffer *b)
{
    /* A GPU's memory that the host sees is slow to read: there, staged even so. */
    char *block = v->staged ? NULL : b->piece.block->mapped;
    return block != NULL ? block + b->piece.offset : NULL;
}

/* Makes the host's writes visible to the device, or the device's to the host. */
static tally_status sync_mapped(tally_vulkan *v, const tally_vulkan_buffer *b, int to_device,
                                tally_error *error)
{
    const tly_vk_piece *p = &b->piece;
    VkMemoryPropertyFlags flags = v->facts.memory.memoryTypes[p->block->type].propertyFlags;
    if (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) {
        return TALLY_OK;
    }
    /* Pieces are whole atoms, aligned to them. */
    VkMappedMemoryRange range = {
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
        .memory = p->block->memory,
        .offset = p->offset,
        .size = p->bytes,
    };
    VkResult result = to_device ? v->fn.FlushMappedMemoryRanges(v->device, 1, &range)
                                : v->fn.InvalidateMappedMemoryRanges(v->device, 1, &range);
    return result == VK_SUCCESS ? TALLY_OK : tly_vk_fail(v, result, "mapped memory", error);
}

/* --- staging --------------------------------------------------------------------------------- */

static tally_status copy_up(tally_vulkan *v, tly_vk_slot *slot, const tally_vulkan_buffer *b,
                            uint64_t at, uint64_t bytes, tally_error *error)
{
    tally_status status = sync_mapped(v, &slot->staging, 1, error);
    if (status != TALLY_OK) {
        return status;
    }
    VkBufferCopy region = { 0, at, bytes };
    v->fn.CmdCopyBuffer(slot->commands, slot->staging.buffer, b->buffer, 1, &region);
    return tly_vk_slot_finish(v, slot, error);
}

static tally_status copy_down(tally_vulkan *v, tly_vk_slot *slot, const tally_vulkan_buffer *b,
                              uint64_t at, uint64_t bytes, tally_error *error)
{
    VkBufferCopy region = { at, 0, bytes };
    v->fn.CmdCopyBuffer(slot->commands, b->buffer, slot->staging.buffer, 1, &region);
    tly_vk_barrier(v, slot->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                   VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    tally_status status = tly_vk_slot_finish(v, slot, error);
    return status == TALLY_OK ? sync_mapped(v, &slot->staging, 0, error) : status;
}

static char *staging(const tly_vk_slot *slot)
{
    return slot->staging.piece.block->mapped + slot->staging.piece.offset;
}

tally_status tly_vk_upload(tally_vulkan *v, tly_vk_slot *slot, const tally_vulkan_buffer *b,
                           uint64_t at, const void *from, uint64_t bytes, tally_error *error)
{
    char *direct = mapped(v, b);
    if (direct != NULL) {
        memcpy(direct + at, from, bytes);
        return sync_mapped(v, b, 1, error);
    }
    uint64_t piece = bytes < PIECE ? bytes : PIECE;
    tally_status status = tly_vk_slot_buffer(v, &slot->staging, piece, 1, error);
    for (uint64_t done = 0; done < bytes && status == TALLY_OK; done += piece) {
        piece = bytes - done < piece ? bytes - done : piece;
        memcpy(staging(slot), (const char *)from + done, piece);
        status = copy_up(v, slot, b, at + done, piece, error);
    }
    return status;
}

tally_status tly_vk_download(tally_vulkan *v, tly_vk_slot *slot, const tally_vulkan_buffer *b,
                             uint64_t at, void *to, uint64_t bytes, tally_error *error)
{
    char *direct = mapped(v, b);
    if (direct != NULL) {
        tally_status status = sync_mapped(v, b, 0, error);
        if (status == TALLY_OK) {
            memcpy(to, direct + at, bytes);
        }
        return status;
    }
    uint64_t piece = bytes < PIECE ? bytes : PIECE;
    tally_status status = tly_vk_slot_buffer(v, &slot->staging, piece, 1, error);
    for (uint64_t done = 0; done < bytes && status == TALLY_OK; done += piece) {
        piece = bytes - done < piece ? bytes - done : piece;
        status = copy_down(v, slot, b, at + done, piece, error);
        if (status == TALLY_OK) {
            memcpy((char *)to + done, staging(slot), piece);
        }
    }
    return status;
}

tally_status tly_vk_upload_tensor(tally_vulkan *v, tly_vk_slot *slot, const tally_vulkan_buffer *b,
                                  uint64_t at, const tly_vk_layout *layout, uint64_t bytes,
                                  const void *from, tally_error *error)
{
    const char *first = (const char *)from + layout->low;
    if (layout->rank == 0) {
        return tly_vk_upload(v, slot, b, at, first, bytes, error);
    }
    char *direct = mapped(v, b);
    if (direct != NULL) {
        copy_runs(layout, direct + at, first);
        return sync_mapped(v, b, 1, error);
    }
    tally_status status = tly_vk_slot_buffer(v, &slot->staging, bytes, 1, error);
    if (status != TALLY_OK) {
        return status;
    }
    copy_runs(layout, staging(slot), first);
    return copy_up(v, slot, b, at, bytes, error);
}

tally_status tly_vk_download_tensor(tally_vulkan *v, tly_vk_slot *slot,
                                    const tally_vulkan_buffer *b, uint64_t at,
                                    const tly_vk_layout *layout, uint64_t bytes, void *to,
                                    tally_error *error)
{
    char *first = (char *)to + layout->low;
    if (layout->rank == 0) {
        return tly_vk_download(v, slot, b, at, first, bytes, error);
    }
    char *direct = mapped(v, b);
    tally_status status = direct != NULL ? sync_mapped(v, b, 0, error)
                                         : tly_vk_slot_buffer(v, &slot->staging, bytes, 1, error);
    if (status == TALLY_OK && direct == NULL) {
        status = copy_down(v, slot, b, at, bytes, error);
    }
    if (status == TALLY_OK) {
        copy_runs(layout, first, direct != NULL ? direct + at : staging(slot));
    }
    return status;
}
