/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory in pieces. Drivers allow few allocations (4096 by the specification), so small
 * buffers share blocks of TLY_VK_BLOCK bytes, each divided by a heap (heap.h).
 */
#ifndef TLY_VK_MEMORY_H
#define TLY_VK_MEMORY_H

#include "internal.h"

/* Memory that fits `needs`: of a type with all of `must`, the more of `like` the better.
 * TALLY_OUT_OF_MEMORY names the size and the limit. Thread-safe. */
tally_status tly_vk_memory_take(tally_vulkan *v, const VkMemoryRequirements *needs,
                                VkMemoryPropertyFlags must, VkMemoryPropertyFlags like,
                                tly_vk_piece *piece, tally_error *error);

/* Gives a piece back, and sets it to none. Thread-safe. */
void tly_vk_memory_give(tally_vulkan *v, tly_vk_piece *piece);

/* Frees all blocks, when no piece is in use any more. */
void tly_vk_memory_end(tally_vulkan *v);

#endif
