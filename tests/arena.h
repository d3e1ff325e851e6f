/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that notices strangers: a mapping with a page without access on either side, and buffers
 * in it that end at such a page, begin at one, or lie between bytes of a known pattern.
 */
#ifndef TLY_ARENA_H
#define TLY_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct tly_arena {
    char *base; /* the first byte that may be touched */
    size_t bytes;
} tly_arena;

typedef enum tly_placement {
    TLY_PLACE_END,    /* the last byte is the last before the guard */
    TLY_PLACE_START,  /* the first byte is the first after the guard */
    TLY_PLACE_MIDDLE, /* 64-byte aligned, moved up by `shift` bytes */
    TLY_PLACE_COUNT
} tly_placement;

typedef struct tly_buffer {
    char *at; /* the tensor's lowest byte */
    size_t bytes;
    char *window; /* at, with up to 256 bytes on either side */
    size_t window_bytes;
} tly_buffer;

/* Returns 0, or -1 with errno. Room for buffers of `bytes` bytes anywhere. */
int tly_arena_open(tly_arena *arena, size_t bytes);
void tly_arena_close(tly_arena *arena);

tly_buffer tly_arena_place(const tly_arena *arena, tly_placement place, size_t shift, size_t bytes);

/* The pattern is a function of the offset in the window. */
void tly_pattern_fill(char *window, size_t bytes);

#endif
