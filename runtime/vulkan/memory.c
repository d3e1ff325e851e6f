/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of device memory; see memory.h. */
#include "memory.h"

#include "../host/error.h"

#include <stdlib.h>
#include <string.h>

#define VISIBLE VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT

/* Memory that needs a feature of its own, or is none. */
#define SPECIAL \
    (VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | \
     VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD)

static int bits_of(VkMemoryPropertyFlags flags)
{
    return __builtin_popcount(flags);
}

/* The types that will do, best first; drivers list equal ones by preference. */
static uint32_t rank_types(const tly_vk_facts *facts, uint32_t allowed, VkMemoryPropertyFlags must,
                           VkMemoryPropertyFlags like, uint32_t ranked[VK_MAX_MEMORY_TYPES])
{
    uint32_t count = 0;
    for (int wanted = bits_of(like); wanted >= 0; wanted--) {
        for (uint32_t i = 0; i < facts->memory.memoryTypeCount; i++) {
            VkMemoryPropertyFlags has = facts->memory.memoryTypes[i].propertyFlags;
            if (allowed >> i & 1 && (has & must) == must && (has & SPECIAL) == 0 &&
                bits_of(has & like) == wanted) {
                ranked[count++] = i;
            }
        }
    }
    return count;
}

static VkResult allocate(tally_vulkan *v, uint64_t bytes, uint32_t type, tly_vk_block *block)
{
    VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    };
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = v->facts.caps.addresses ? &flags : NULL,
        .allocationSize = bytes,
        .memoryTypeIndex = type,
    };
    VkResult result = v->fn.AllocateMemory(v->device, &info, v->allocator, &block->memory);
    if (result != VK_SUCCESS) {
        return result;
    }
    if (v->facts.memory.memoryTypes[type].propertyFlags & VISIBLE) {
        void *mapped;
        result = v->fn.MapMemory(v->device, block->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
        if (result != VK_SUCCESS) {
            v->fn.FreeMemory(v->device, block->memory, v->allocator);
            return result;
        }
        block->mapped = mapped;
    }
    return VK_SUCCESS;
}

/* A new block, in front of the list. */
static VkResult add_block(tally_vulkan *v, uint64_t bytes, uint32_t type, int alone)
{
    tly_vk_block *block = calloc(1, sizeof *block);
    if (block == NULL || !tly_heap_init(&block->heap, bytes)) {
        free(block);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    VkResult result = allocate(v, bytes, type, block);
    if (result != VK_SUCCESS) {
        tly_heap_end(&block->heap);
        free(block);
        return result;
    }
    block->type = type;
    block->alone = alone;
    block->next = v->memory.blocks;
    v->memory.blocks = block;
    return VK_SUCCESS;
}

static int take_from(tly_vk_block *block, uint64_t bytes, uint64_t align, tly_vk_piece *piece)
{
    uint64_t offset = tly_heap_take(&block->heap, bytes, align);
    if (offset == TLY_HEAP_NONE) {
        return 0;
    }
    *piece = (tly_vk_piece){ block, offset, bytes };
    return 1;
}

static VkResult take_of_type(tally_vulkan *v, uint64_t bytes, uint64_t align, uint32_t type,
                             tly_vk_piece *piece)
{
    int alone = bytes > v->memory.block_bytes / 2;
    for (tly_vk_block *b = v->memory.blocks; !alone && b != NULL; b = b->next) {
        if (b->type == type && !b->alone && take_from(b, bytes, align, piece)) {
            return VK_SUCCESS;
        }
    }
    VkResult result = add_block(v, alone ? bytes : v->memory.block_bytes, type, alone);
    if (result != VK_SUCCESS && !alone) {
        /* A whole block may be too much where this piece is not. */
        alone = 1;
        result = add_block(v, bytes, type, alone);
    }
    if (result == VK_SUCCESS && !take_from(v->memory.blocks, bytes, align, piece)) {
        result = VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    return result;
}

static tally_status refuse(const tally_vulkan *v, uint64_t bytes, VkDeviceSize heap,
                           tally_error *error)
{
    return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory",
                    "no device memory for %llu bytes: %s takes %llu at once and has %llu",
                    (unsigned long long)bytes, v->facts.name, (unsigned long long)v->facts.largest,
                    (unsigned long long)heap);
}

tally_status tly_vk_memory_take(tally_vulkan *v, const VkMemoryRequirements *needs,
                                VkMemoryPropertyFlags must, VkMemoryPropertyFlags like,
                                tly_vk_piece *piece, tally_error *error)
{
    uint32_t ranked[VK_MAX_MEMORY_TYPES];
    uint32_t count = rank_types(&v->facts, needs->memoryTypeBits, must, like, ranked);
    /* Whole atoms, so that flushing one piece writes to no other. */
    uint64_t atom = v->facts.atom > 0 ? v->facts.atom : 1;
    uint64_t align = needs->alignment > atom ? needs->alignment : atom;
    uint64_t bytes = (needs->size + atom - 1) / atom * atom;
    VkDeviceSize heap = 0;
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    pthread_mutex_lock(&v->memory.lock);
    for (uint32_t i = 0; i < count && result != VK_SUCCESS; i++) {
        const VkMemoryType *type = &v->facts.memory.memoryTypes[ranked[i]];
        VkDeviceSize has = v->facts.memory.memoryHeaps[type->heapIndex].size;
        heap = heap > has ? heap : has;
        if (bytes <= has && bytes <= v->facts.largest) {
            result = take_of_type(v, bytes, align, ranked[i], piece);
        }
    }
    pthread_mutex_unlock(&v->memory.lock);
    if (result == VK_SUCCESS) {
        return TALLY_OK;
    }
    tally_status status = tly_vk_fail(v, result, "vkAllocateMemory", error);
    return status == TALLY_OUT_OF_MEMORY ? refuse(v, bytes, heap, error) : status;
}

static void free_block(tally_vulkan *v, tly_vk_block *block)
{
    v->fn.FreeMemory(v->device, block->memory, v->allocator);
    tly_heap_end(&block->heap);
    free(block);
}

/* One empty block of a type is kept: the next kernel needs it. */
static int superfluous(const tally_vulkan *v, const tly_vk_block *block)
{
    if (block->heap.taken > 0) {
        return 0;
    }
    for (const tly_vk_block *b = v->memory.blocks; !block->alone && b != NULL; b = b->next) {
        if (b != block && b->type == block->type && !b->alone && b->heap.taken == 0) {
            return 1;
        }
    }
    return block->alone;
}

void tly_vk_memory_give(tally_vulkan *v, tly_vk_piece *piece)
{
    tly_vk_block *block = piece->block;
    if (block == NULL) {
        return;
    }
    pthread_mutex_lock(&v->memory.lock);
    tly_heap_give(&block->heap, piece->offset, piece->bytes);
    if (superfluous(v, block)) {
        tly_vk_block **link = &v->memory.blocks;
        while (*link != block) {
            link = &(*link)->next;
        }
        *link = block->next;
        free_block(v, block);
    }
    pthread_mutex_unlock(&v->memory.lock);
    *piece = (tly_vk_piece){ 0 };
}

void tly_vk_memory_end(tally_vulkan *v)
{
    while (v->memory.blocks != NULL) {
        tly_vk_block *block = v->memory.blocks;
        v->memory.blocks = block->next;
        free_block(v, block);
    }
}
