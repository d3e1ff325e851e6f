/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of the convenience layer. Element and byte order are the host's: nothing is converted.
 * Devices whose memory is the host's are written directly, others through a staging buffer.
 */
#include "internal.h"

#include "../host/error.h"
#include "../host/fork.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

tally_status tly_vk_buffer_make(tally_vulkan *v, uint64_t bytes, int host,
                                tally_vulkan_buffer *buffer, tally_error *error)
{
    uint64_t rounded = bytes < 16 ? 16 : (bytes + 15) / 16 * 16;
    *buffer = (tally_vulkan_buffer){ .vulkan = v, .bytes = rounded };
    if (bytes > v->facts.largest) {
        *buffer = (tally_vulkan_buffer){ 0 };
        return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory",
                        "no buffer of %llu bytes: %s takes %llu at once", (unsigned long long)bytes,
                        v->facts.name, (unsigned long long)v->facts.largest);
    }
    int addresses = v->facts.caps.addresses && !host;
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = rounded,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 (host ? 0u : (unsigned)VK_BUFFER_USAGE_STORAGE_BUFFER_BIT) |
                 (addresses ? (unsigned)VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0u),
    };
    VkResult result = v->fn.CreateBuffer(v->device, &info, v->allocator, &buffer->buffer);
    if (result != VK_SUCCESS) {
        *buffer = (tally_vulkan_buffer){ 0 };
        return tly_vk_fail(v, result, "vkCreateBuffer", error);
    }
    VkMemoryRequirements needs;
    v->fn.GetBufferMemoryRequirements(v->device, buffer->buffer, &needs);
    const VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    VkMemoryPropertyFlags must = host ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT : 0;
    VkMemoryPropertyFlags like = host ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT |
                                            VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
                                      : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                            (v->staged ? 0 : mapped);
    tally_status status = tly_vk_memory_take(v, &needs, must, like, &buffer->piece, error);
    if (status == TALLY_OK) {
        result = v->fn.BindBufferMemory(v->device, buffer->buffer, buffer->piece.block->memory,
                                        buffer->piece.offset);
        status = result == VK_SUCCESS ? TALLY_OK
                                      : tly_vk_fail(v, result, "vkBindBufferMemory", error);
    }
    if (status != TALLY_OK) {
        tly_vk_buffer_end(buffer);
        return status;
    }
    if (addresses) {
        VkBufferDeviceAddressInfo of = {
            .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
            .buffer = buffer->buffer,
        };
        buffer->address = v->fn.GetBufferDeviceAddress(v->device, &of);
    }
    return TALLY_OK;
}

void tly_vk_buffer_end(tally_vulkan_buffer *buffer)
{
    tally_vulkan *v = buffer->vulkan;
    if (v != NULL && buffer->buffer != VK_NULL_HANDLE) {
        v->fn.DestroyBuffer(v->device, buffer->buffer, v->allocator);
        tly_vk_memory_give(v, &buffer->piece);
    }
    *buffer = (tally_vulkan_buffer){ 0 };
}

/* --- public ---------------------------------------------------------------------------------- */

static tally_status create(tally_vulkan *v, size_t bytes, tally_vulkan_buffer **buffer,
                           tally_error *error)
{
    tally_status status = tly_vk_usable(v, error);
    if (status != TALLY_OK) {
        return status;
    }
    tally_vulkan_buffer *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tly_out_of_memory(error, "a buffer", sizeof *made);
    }
    status = tly_vk_buffer_make(v, bytes, 0, made, error);
    if (status != TALLY_OK) {
        free(made);
        return status;
    }
    *buffer = made;
    return TALLY_OK;
}

tally_status tally_vulkan_buffer_create(tally_vulkan *vulkan, size_t bytes,
                                        tally_vulkan_buffer **buffer, tally_error *error)
{
    if (vulkan == NULL || buffer == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the device or the place is NULL");
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    tally_status status = create(vulkan, bytes, buffer, error);
    tly_fork_leave();
    return status;
}

void tally_vulkan_buffer_destroy(tally_vulkan_buffer **buffer)
{
    if (buffer == NULL || *buffer == NULL) {
        return;
    }
    int left = 0;
    if (tly_fork_enter()) {
        left = tly_vk_alive((*buffer)->vulkan);
        if (left) {
            tly_vk_buffer_leave(*buffer);
        }
        tly_fork_leave();
    }
    if (!left) {
        free(*buffer);
    }
    *buffer = NULL;
}

void tally_vulkan_buffer_info(const tally_vulkan_buffer *buffer, tally_vulkan_range *range)
{
    static const tally_vulkan_range none = { .offset = 0 };
    if (range != NULL) {
        *range = buffer != NULL
                     ? (tally_vulkan_range){ buffer->buffer, 0, buffer->bytes, buffer->address }
                     : none;
    }
}

static tally_status move(tally_vulkan_buffer *b, uint64_t offset, void *to, const void *from,
                         size_t bytes, tally_error *error)
{
    if (b == NULL || (to == NULL && from == NULL && bytes > 0)) {
        return tly_fail(error, TALLY_INVALID, "usage", "the buffer or the memory is NULL");
    }
    if (offset > b->bytes || bytes > b->bytes - offset) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "bytes %llu to %llu are not within the buffer's %llu",
                        (unsigned long long)offset, (unsigned long long)(offset + bytes),
                        (unsigned long long)b->bytes);
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    tally_vulkan *v = b->vulkan;
    tly_vk_slot *slot = NULL;
    tally_status status = tly_vk_usable(v, error);
    if (status == TALLY_OK) {
        status = tly_vk_slot_take(v, NULL, &slot, error);
    }
    if (status == TALLY_OK) {
        status = from != NULL ? tly_vk_upload(v, slot, b, offset, from, bytes, error)
                              : tly_vk_download(v, slot, b, offset, to, bytes, error);
        tly_vk_slot_give(v, slot, status == TALLY_OK);
    }
    tly_fork_leave();
    return status;
}

tally_status tally_vulkan_buffer_write(tally_vulkan_buffer *buffer, uint64_t offset,
                                       const void *from, size_t bytes, tally_error *error)
{
    return move(buffer, offset, NULL, from, bytes, error);
}

tally_status tally_vulkan_buffer_read(tally_vulkan_buffer *buffer, uint64_t offset, void *to,
                                      size_t bytes, tally_error *error)
{
    return move(buffer, offset, to, NULL, bytes, error);
}
