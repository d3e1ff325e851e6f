/* SPDX-License-Identifier: Apache-2.0 */
/* Which spans of a block of memory are free: offsets only, nothing of Vulkan. Not thread-safe. */
#ifndef TLY_HEAP_H
#define TLY_HEAP_H

#include <stddef.h>
#include <stdint.h>

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

#endif
