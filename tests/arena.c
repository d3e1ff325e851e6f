/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: a touch beyond the arena is a signal at once, on either side. */
#include "arena.h"

#include <sys/mman.h>
#include <unistd.h>

#define MARGIN ((size_t)256)

int tly_arena_open(tly_arena *arena, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (bytes + 4 * MARGIN + page - 1) / page * page;
    char *all = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
    if (all == MAP_FAILED)
        return -1;
    if (mprotect(all + page, room, PROT_READ | PROT_WRITE)) {
        munmap(all, room + 2 * page);
        return -1;
    }
    arena->base = all + page;
    arena->bytes = room;
    return 0;
}

void tly_arena_close(tly_arena *arena)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (arena->base)
        munmap(arena->base - page, arena->bytes + 2 * page);
    arena->base = NULL;
}

tly_buffer tly_arena_place(const tly_arena *arena, tly_placement place, size_t shift, size_t bytes)
{
    char *const end = arena->base + arena->bytes;
    tly_buffer b = { .bytes = bytes };
    char *high;

    b.at = place == TLY_PLACE_END     ? end - bytes
           : place == TLY_PLACE_START ? arena->base
                                      : arena->base + MARGIN + shift;
    b.window = (size_t)(b.at - arena->base) > MARGIN ? b.at - MARGIN : arena->base;
    high = (size_t)(end - b.at) > bytes + MARGIN ? b.at + bytes + MARGIN : end;
    b.window_bytes = (size_t)(high - b.window);
    return b;
}

void tly_pattern_fill(char *window, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        window[i] = (char)(0xa5 ^ i * 29 ^ i >> 8);
}
