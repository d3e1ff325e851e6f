/* SPDX-License-Identifier: Apache-2.0 */
/* The free spans of a block; see heap.h. Taking finds the best fit, and giving back joins a span
 * with its free neighbours at once. */
#include "heap.h"

#include <stdlib.h>
#include <string.h>

int tly_heap_init(tly_heap *heap, uint64_t bytes)
{
    *heap = (tly_heap){ .span = malloc(4 * sizeof *heap->span), .count = 1, .room = 4 };
    if (heap->span == NULL) {
        return 0;
    }
    heap->span[0] = (tly_heap_span){ 0, bytes };
    return 1;
}

void tly_heap_end(tly_heap *heap)
{
    free(heap->span);
    *heap = (tly_heap){ 0 };
}

static uint64_t up(uint64_t n, uint64_t align)
{
    return (n + align - 1) & ~(align - 1);
}

static void insert(tly_heap *heap, size_t at, tly_heap_span span)
{
    memmove(&heap->span[at + 1], &heap->span[at], (heap->count - at) * sizeof span);
    heap->span[at] = span;
    heap->count++;
}

static void take_out(tly_heap *heap, size_t at)
{
    heap->count--;
    memmove(&heap->span[at], &heap->span[at + 1], (heap->count - at) * sizeof heap->span[0]);
}

/* Room for one free span more than spans in use, after one more is: giving back needs none. */
static int make_room(tly_heap *heap)
{
    size_t wanted = heap->taken + 3;
    if (wanted <= heap->room) {
        return 1;
    }
    tly_heap_span *larger = realloc(heap->span, 2 * wanted * sizeof *larger);
    if (larger == NULL) {
        return 0;
    }
    heap->span = larger;
    heap->room = 2 * wanted;
    return 1;
}

uint64_t tly_heap_take(tly_heap *heap, uint64_t bytes, uint64_t align)
{
    size_t best = heap->count;
    for (size_t i = 0; i < heap->count; i++) {
        const tly_heap_span *s = &heap->span[i];
        uint64_t skip = up(s->offset, align) - s->offset;
        if (s->bytes >= skip && s->bytes - skip >= bytes &&
            (best == heap->count || s->bytes < heap->span[best].bytes)) {
            best = i;
        }
    }
    if (best == heap->count || !make_room(heap)) {
        return TLY_HEAP_NONE;
    }
    tly_heap_span s = heap->span[best];
    uint64_t offset = up(s.offset, align);
    tly_heap_span before = { s.offset, offset - s.offset };
    tly_heap_span after = { offset + bytes, s.offset + s.bytes - offset - bytes };
    take_out(heap, best);
    if (after.bytes > 0) {
        insert(heap, best, after);
    }
    if (before.bytes > 0) {
        insert(heap, best, before);
    }
    heap->taken++;
    return offset;
}

void tly_heap_give(tly_heap *heap, uint64_t offset, uint64_t bytes)
{
    size_t at = 0;
    while (at < heap->count && heap->span[at].offset < offset) {
        at++;
    }
    heap->taken--;
    int joins_after = at < heap->count && offset + bytes == heap->span[at].offset;
    int joins_before = at > 0 && heap->span[at - 1].offset + heap->span[at - 1].bytes == offset;
    if (joins_before) {
        heap->span[at - 1].bytes += bytes + (joins_after ? heap->span[at].bytes : 0);
        if (joins_after) {
            take_out(heap, at);
        }
    } else if (joins_after) {
        heap->span[at].offset = offset;
        heap->span[at].bytes += bytes;
    } else {
        insert(heap, at, (tly_heap_span){ offset, bytes });
    }
}
