/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory in pieces. Drivers allow few allocations (4096 by the specification), so that
 * small buffers share blocks of 64 MiB; a heap is the arithmetic of one block, without Vulkan.
 */
#ifndef TLY_VK_MEMORY_H
#define TLY_VK_MEMORY_H

#include "facts.h"

#include <pthread.h>

#define TLY_VK_BLOCK (UINT64_C(64) << 20)
#define TLY_HEAP_NONE UINT64_MAX

typedef struct tly_heap_span {
    uint64_t offset, bytes;
} tly_heap_span;

/* The free spans of a block, ascending, no two adjacent. */
typedef struct tly_heap {
    tly_heap_span *span;
    size_t count, room;
    size_t taken; /* spans in use */
} tly_heap;

/* 0 without memory. */
int tly_heap_init(tly_heap *heap, uint64_t bytes);
void tly_heap_end(tly_heap *heap);

/* The smallest free span that fits; `align` is a power of two. TLY_HEAP_NONE if there is none, or
 * no memory for the list. */
uint64_t tly_heap_take(tly_heap *heap, uint64_t bytes, uint64_t align);

/* Gives back what was taken; cannot fail. */
void tly_heap_give(tly_heap *heap, uint64_t offset, uint64_t bytes);

typedef struct tly_vk_block {
    VkDeviceMemory memory;
    char *mapped; /* NULL: the host does not see it */
    uint32_t type;
    int alone; /* of one piece, freed with it */
    tly_heap heap;
    struct tly_vk_block *next;
} tly_vk_block;

typedef struct tly_vk_memory {
    pthread_mutex_t lock;
    uint64_t block_bytes; /* TLY_VK_BLOCK; tests take less */
    tly_vk_block *blocks;
} tly_vk_memory;

typedef struct tly_vk_piece {
    tly_vk_block *block; /* NULL: none */
    uint64_t offset, bytes;
} tly_vk_piece;

struct tally_vulkan;

/* Memory that fits `needs`: of a type with all of `must`, the more of `like` the better.
 * TALLY_OUT_OF_MEMORY names the size and the limit. Thread-safe. */
tally_status tly_vk_memory_take(struct tally_vulkan *v, const VkMemoryRequirements *needs,
                                VkMemoryPropertyFlags must, VkMemoryPropertyFlags like,
                                tly_vk_piece *piece, tally_error *error);
void tly_vk_memory_give(struct tally_vulkan *v, tly_vk_piece *piece);
void tly_vk_memory_end(struct tally_vulkan *v);

#endif
